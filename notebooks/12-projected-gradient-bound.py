# %% [markdown]
# # The projected gradient bound (PGB)
#
# The ball of the gradient bound (GB) may have its center outside the cone, and its radius stays large even when the reference is the solution. This notebook cuts off a part of the ball that cannot contain the solution, and puts a new ball around the remaining part.
#
# At the end you will have seen that the projected gradient bound
#
# * is the *smallest* ball around the part of GB in a half-space that contains the cone;
# * has radius zero only at the solution, and only with a suitable subgradient;
# * requires a choice of the subgradient for the hinge: at the kink the point does not determine the slope, but the dual solution does;
# * should be computed as a sum, because in floating point the difference of squares loses its correct digits near the solution.

# %%
from fractions import Fraction

import numpy as np
import sympy as sp
from sklearn.datasets import load_wine

import safescreen as ss
from safescreen.spheres.base import BallReference
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# Our example is the small problem of the notebook on GB: twelve points of the plane, and a solution of rank one.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)

loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam = 0.1 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-11)
x_star = solution.x
x = np.diag([0.3, 0.02])
print(problem, " eigenvalues of the solution:", np.round(np.abs(np.linalg.eigvalsh(x_star)), 4))

# %% [markdown]
# A part of the ball of GB is outside the cone (shaded), and its center $Q$ is outside as well. The dotted line touches the cone at the projection $Q_+$ of the center. The cone lies to the left of the dotted line. So the solution lies in the cap of GB to the left of the line. PGB is the smallest ball around this cap, and its center is $Q_+$.
#
# Both pictures show the plane through $Q$, $Q_+$ and the solution. In the left picture the reference $x$ of GB is far from the solution. In the right picture the reference is much nearer.

# %%
figure, axes = figures.panels(2, height=4.0)
sizes_of = []
for ax, reference, title in (
    (axes[0], x, "from a far reference"),
    (axes[1], x_star + 0.15 * (x - x_star), "nearer to the solution"),
):
    pair = {
        "GB": ss.spheres.gradient_bound(problem, reference, lam),
        "PGB": ss.spheres.projected_gradient_bound(problem, reference, lam),
    }
    sizes_of.append(pair["PGB"].radius / pair["GB"].radius)
    plane = (pair["PGB"].center, pair["GB"].center, x_star)
    figures.balls(
        problem.cone, pair, {"optimum": x_star, "x": reference}, plane=plane, ax=ax, title=title
    )
    ax.axvline(0.0, color="#555555", linewidth=1.0, linestyle=":")
figures.show(
    "The left panel is for a reference far from the solution, the right panel for a near "
    "reference. The cone is shaded. The center of GB's disc is outside the cone, the center of "
    "PGB's smaller disc is on the edge of the cone, and the optimum lies in both discs. The "
    f"radius of PGB is {sizes_of[0]:.2f} times the radius of GB in the left panel, and "
    f"{sizes_of[1]:.2f} times in the right panel."
)

# %% [markdown]
# The dotted line is a plane in the space of metrics. It touches the cone at the projection of the center of GB, and the
# cone lies on one side of it:

# %% tags=["STS19-F4"]
normal = pair["PGB"].center - pair["GB"].center
metrics = [B @ B.T for B in np.random.default_rng(4).standard_normal((2000, 2, 2))]
held = sum(np.vdot(normal, metric) >= 0.0 for metric in metrics)
print(
    f"the half-space contains {held} of {len(metrics)} random metrics and the optimum, but not "
    "the center of GB"
)
assert abs(np.vdot(normal, pair["PGB"].center)) < 1e-9 and held == len(metrics)
assert np.vdot(normal, pair["GB"].center) < 0.0 <= np.vdot(normal, x_star)

# %% [markdown]
# ## The claims
#
# Let $Q = x - \frac{1}{2\lambda}g$ and $r_{GB} = \frac1{2\lambda}\|g\|$ be the gradient bound at a point $x \in K$ with
# a subgradient $g$ (notebook [`11-gradient-bound`](11-gradient-bound.ipynb)), and split $Q = Q_+ - Q_-$ with $Q_+ = [Q]_K$.
#
# > **Projected gradient bound** (STS19 Theorem 2; STS18 Theorem 3.3). The solution $x^\star$ satisfies
# >
# > $$\|x^\star - Q_+\| \le r_{PGB}, \qquad r_{PGB}^2 = r_{GB}^2 - \|Q_-\|^2 .$$
# > The intersection of the ball of GB and the half-space $\{X : \langle Q_-, X\rangle \ge 0\}$ is contained in the ball of PGB.
#
# > **Radius at the solution** (STS19 Theorem 3; STS18 Theorem 3.4). At $x = x^\star$ some subgradient makes $r_{PGB} = 0$.
#
# The claims need the assumptions of GB, and that $K$ is a closed convex **cone**. (For the ball alone we could project onto any closed convex set that contains $x^\star$; the half-space through the origin needs a cone.) STS19 writes $Q_-$ with the
# opposite sign, so that $Q = Q_+ + Q_-$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$; its solution is $x^\star$ |
# | loss $\ell(u)$ | smoothed hinge: $0$ for $u > 1$; $\tfrac{(1-u)^2}{2\gamma}$ for $1-\gamma \le u \le 1$; $1-u-\tfrac\gamma2$ for $u < 1-\gamma$; the hinge for $\gamma \to 0$ |
# | cone $K$ | semidefinite matrices ($x = M$, $a_t = H_{ijl}$), or vectors $x \ge 0$ (diagonal metrics), or the whole space (support vector machines); $[\,\cdot\,]_K$ projects onto it |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$ with one $\alpha_t \in [0,1]$ a term; $\alpha(x)$ has $\alpha_t = -\ell'(\langle a_t, x\rangle)$ |
# | $x(\alpha)$ | $[H(\alpha)]_K/\lambda$; the dual is $D(\alpha;\lambda) = \sum_t (\alpha_t - \tfrac\gamma2\alpha_t^2) - \tfrac1{2\lambda}\lVert[H(\alpha)]_K\rVert^2$ |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### Step 1: the distance from the projection (STS19 appendix D)
#
# The projection splits $Q = Q_+ - Q_-$ into two orthogonal parts. Expand the distance of any $X$ from $Q$:
#
# $$\|X - Q\|^2 = \|X - Q_+\|^2 + 2\langle X, Q_-\rangle + \|Q_-\|^2 \qquad \text{as } \langle Q_+,
# Q_-\rangle = 0 . \tag{1}$$
#
# Sympy checks (1) for $2\times2$ matrices in the eigenbasis of $Q$, in which $Q_+ = \mathrm{diag}(p, 0)$ and
# $Q_- = \mathrm{diag}(0, q)$:

# %%
z11, z12, z22, p, q, ell = sp.symbols("z11 z12 z22 p q lambda", real=True)
Z = sp.Matrix([[z11, z12], [z12, z22]])
plus = sp.diag(p, 0)
minus = sp.diag(0, q)

def inner(A, B):
    return (A.T * B).trace()


def square(A):
    return inner(A, A)


assert inner(plus, minus) == 0
difference = square(Z - plus + minus) - (square(Z - plus) + 2 * inner(Z, minus) + square(minus))
print("left side of (1) minus right side:", sp.expand(difference))
assert sp.expand(difference) == 0

# %% [markdown]
# ### Step 2: the cone lies in a half-space
#
# $Q_-$ is in the dual cone, so $\langle X, Q_-\rangle \ge 0$ for every $X \in K$. (For matrices, $X$ and $Q_-$ are positive semidefinite.) With this inequality (1) gives $\|X - Q_+\|^2 \le \|X-Q\|^2 - \|Q_-\|^2$. The
# solution is in $K$ and in the ball of GB, so
#
# $$\|x^\star - Q_+\|^2 \le r_{GB}^2 - \|Q_-\|^2 .$$
#
# **This is Theorem 2.** The proof uses the cone only for $\langle x^\star, Q_-\rangle \ge 0$. So every point that is in the ball of GB *and* in the half-space is in the ball of PGB: the cap, which is the intersection of GB and the half-space, is contained in PGB. If $Q_- \ne 0$ and $r_{PGB} > 0$, the cap is strictly smaller than PGB, because PGB then contains points outside the half-space. An example is $Q_+ - sQ_-$ with $0 < s\|Q_-\| \le r_{PGB}$, whose inner product with $Q_-$ is $-s\|Q_-\|^2 < 0$. If $Q_- = 0$, the half-space is the whole space, and GB, PGB and the cap are equal.
#
# ### Step 3: the geometry of the new ball
#
# The boundary of the half-space goes through $Q_+$ and is perpendicular to $Q_-$. It cuts the ball of GB in a disc with
# center $Q_+$. A right triangle with hypotenuse $r_{GB}$ and leg $\|Q_-\|$ shows that the radius of the disc is
# $r_{PGB}$. The center $Q$ lies outside the half-space. So the cap is less than half of GB, and the disc is its widest part. **PGB is the ball with this disc as its equator**, so no smaller ball contains the cap. We check PGB with points on the rim of the disc and with random points of the cap:

# %%
ball = ss.spheres.gradient_bound(problem, x, lam)
projected = ss.spheres.projected_gradient_bound(problem, x, lam)
Q_minus = projected.center - ball.center
towards = Q_minus / np.linalg.norm(Q_minus)


def rim_and_cap(count, rng):
    """Random points on the rim of the disc, and `count` random points of the cap."""
    rim = []
    cap = []
    while len(cap) < count:
        B = rng.standard_normal((2, 2))
        direction = B + B.T
        side = direction - np.vdot(direction, towards) * towards
        rim.append(projected.center + projected.radius * side / np.linalg.norm(side))
        radius = ball.radius * rng.random() ** (1 / 3)
        inside = ball.center + radius * direction / np.linalg.norm(direction)
        if np.vdot(Q_minus, inside) >= 0.0:
            cap.append(inside)
    return rim, cap


# %%
rim, cap = rim_and_cap(2000, rng)
from_GB = np.array([np.linalg.norm(P - ball.center) for P in rim]) / ball.radius
from_PGB = np.array([np.linalg.norm(P - projected.center) for P in cap]) / projected.radius

print(
    f"radius of GB {ball.radius:.4f}, radius of PGB {projected.radius:.4f}, |Q_-| = "
    f"{np.linalg.norm(Q_minus):.4f}"
)
print(
    f"rim of the disc, distance from the center of GB in radii: {from_GB.min():.6f} to "
    f"{from_GB.max():.6f}"
)
print(
    f"{len(cap)} points of the cap, largest distance from the center of PGB in radii: "
    f"{from_PGB.max():.2f}"
)
assert np.allclose(from_GB, 1.0, atol=1e-8) and from_PGB.max() <= 1.0

# %% [markdown]
# ### Step 4: the radius without a difference
#
# Insert $X = x$ into (1). The left side is $r_{GB}^2$, because $x - Q = g/2\lambda$. So
#
# $$r_{PGB}^2 = r_{GB}^2 - \|Q_-\|^2 = \|x - Q_+\|^2 + 2\langle x, Q_-\rangle . \tag{2}$$
#
# The right side is a sum of non-negative numbers, and the library computes this sum. If the dual point $\alpha$ is not $\alpha(x)$, we add the Fenchel term $\varphi/\lambda \ge 0$ of notebook [`11-gradient-bound`](11-gradient-bound.ipynb) to both sides. A solver for the hinge has such dual points.
#
# ### Step 5: when is the radius zero?
#
# By (2) the radius is zero exactly when $x = Q_+$, because then $\langle x, Q_-\rangle = 0$ as well. With
# $g = \lambda x - H(\alpha)$, $Q = \frac12\big(x + H(\alpha)/\lambda\big)$:
#
# * **At the solution with the dual solution**, $H(\alpha^\star) = \lambda x^\star - H_-$ with
#   $\langle x^\star, H_-\rangle = 0$. So $Q = x^\star - \frac1{2\lambda}H_-$, whose projection is $x^\star$: the radius
#   is zero. **This is Theorem 3**, for every loss and every cone.
# * **Conversely**, $x = [x - \frac1{2\lambda}g]_K$ implies that no feasible direction has a positive inner product with $-g$, so $x$ *is* the solution.
#
# So $r_{PGB}$ is zero only at the solution. Sympy checks the first statement in the common eigenbasis of the orthogonal pair $x^\star = \mathrm{diag}(p, 0)$ and $H_- = \mathrm{diag}(0, h)$:

# %%
pos, h, weight = sp.symbols("p h lambda", positive=True)
optimum, H_minus = sp.diag(pos, 0), sp.diag(0, h)
Q = (optimum + (weight * optimum - H_minus) / weight) / 2
Q_plus = Q.applyfunc(lambda entry: sp.Max(entry, 0))
print("Q =", Q.tolist(), "  [Q]_K =", Q_plus.tolist())
assert Q_plus == optimum
r_GB = sp.sqrt(square(optimum - Q))
r_PGB = sp.sqrt(sp.simplify(r_GB**2 - square(Q - Q_plus)))
print("at the solution: radius of GB", r_GB, "  radius of PGB", r_PGB)

# %% [markdown]
# ## Ten lines of numpy

# %%
def projected_ball(A, x, lam, gamma, project, alpha=None):
    """Center and radius by equation (2), with the Fenchel gaps. Each row of A is a term."""
    margin = A @ x
    slope = np.clip((1.0 - margin) / gamma, 0.0, 1.0)
    value = slope * (1.0 - margin) - gamma * slope**2 / 2
    alpha = slope if alpha is None else alpha
    fenchel = np.sum(np.maximum(value + gamma * alpha**2 / 2 - alpha + alpha * margin, 0.0))
    Q = (x + A.T @ alpha / lam) / 2
    plus = project(Q)
    return plus, np.sqrt(np.sum((x - plus) ** 2) + 2 * max(x @ (plus - Q), 0.0) + fenchel / lam)


# %%
def semidefinite(Q):
    """The projection of a matrix. Argument and result are vectors of the entries."""
    d = round(np.sqrt(Q.size))
    values, V = np.linalg.eigh(Q.reshape(d, d))
    return (V * np.maximum(values, 0.0) @ V.T).ravel()


projections = {
    "metric": semidefinite,
    "diagonal metric": lambda Q: np.maximum(Q, 0.0),
    "support vectors": lambda Q: Q,
}
i, j, k = problem.terms.index.T
far, near = X[i] - X[k], X[i] - X[j]
A = far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]
A = A.reshape(len(problem), 4)
slow_center, slow_radius = projected_ball(A, x.ravel(), lam, loss.gamma, semidefinite)
print("numpy:  center", np.round(slow_center, 4) + 0.0, " radius", round(float(slow_radius), 4))

# %% [markdown]
# ## Does the library match?

# %%
center = np.round(projected.center.ravel(), 4) + 0.0
print("library: center", center, " radius", round(projected.radius, 4))
assert np.allclose(projected.center.ravel(), slow_center, atol=1e-13)
assert 0.0 <= projected.radius / slow_radius - 1.0 < 1e-9
as_printed = np.sqrt(ball.radius**2 - np.linalg.norm(Q_minus) ** 2)
print(f"radius by the formula of the theorem: {as_printed:.4f}")
assert np.isclose(as_printed, slow_radius, rtol=1e-9)

# %% [markdown]
# ## Three cones, many references
#
# We draw random problems over three cones and references far from and near to the solution. The dual points of a reference $x$ are the slopes $\alpha(x)$, random numbers in $[0, 1]$, and a mixture of both. The library's PGB must equal numpy's ball, contain the solution, and be no larger than GB. Also, the rule with GB and its half-space must screen every term that PGB screens.
#
# For $\lambda \ge \lambda_{\max}$ and the reference $x = 0$ we have $Q = H/2\lambda$ and $x^\star = H_+/\lambda = 2Q_+$, and by (2) $r_{PGB} = \|Q_+\|$. So the solution is on the surface, opposite to the origin, and no smaller radius would be safe.

# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    diagonal = kind == "diagonal metric"
    return ss.Problem(
        ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal), ss.SmoothedHinge(gamma)
    )


def references(problem, x_star, rng):
    yield problem.cone.zeros()
    for size in (0.1, 1.0, 10.0):
        H = rng.standard_normal(x_star.shape)
        x = problem.cone.project(H + H.T if H.ndim == 2 else H)
        yield x * size * np.linalg.norm(x_star) / max(np.linalg.norm(x), 1e-12)
    yield 0.5 * (x + x_star)
    yield x_star + 0.01 * (x - x_star)
    yield x_star


def library_ball(name, problem, x, weight, alpha):
    """A ball from the evaluation of a pair, as a solver computes it."""
    return ss.SPHERES[name].build(BallReference(problem, problem.evaluate(x, weight, alpha)))


# %%
def instances(rng, kinds, repeats):
    """Random problems, their terms as rows, a value of lam, and the solution."""
    for kind in kinds:
        for repeat in range(repeats):
            instance = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            units = np.eye(len(instance))
            rows = np.array([instance.terms.adjoint(unit).ravel() for unit in units])
            weight = max(instance.lam_max(), 1.0) * rng.choice([2.0, 0.5, 0.1, 0.02])
            yield kind, instance, rows, weight, ss.solve(instance, weight, rtol=1e-13, tol=1e-12)


def pairs(problem, optimum, rng):
    """References x and dual points alpha: the slopes at x, random ones, and a mixture."""
    for reference in references(problem, optimum.x, rng):
        slopes = problem.alpha(reference)
        noise = rng.uniform(0.0, 1.0, len(problem))
        for alpha in (slopes, noise, 0.9 * slopes + 0.1 * noise):
            yield reference, alpha


# %%
def checked(instance, GB, PGB, best, size):
    """Check the claims about both balls. Return the numbers of terms that GB, PGB, and GB with
    its half-space screen."""
    distance = np.linalg.norm(best.x - PGB.center)
    assert distance <= PGB.radius + best.eps
    assert PGB.radius <= GB.radius + 1e-6 * np.linalg.norm(best.x)  # roundings of two sums
    assert np.vdot(GB.normal, best.x) >= -best.eps * np.linalg.norm(GB.normal)
    assert np.allclose(GB.normal, PGB.center - GB.center, atol=1e-9 * size)
    by_GB = ss.rules.sphere(instance, GB)
    by_PGB = ss.rules.sphere(instance, PGB)
    by_cap = ss.rules.halfspace(instance, GB, GB.normal)
    assert np.all(by_cap.in_L >= by_PGB.in_L) and np.all(by_cap.in_R >= by_PGB.in_R)
    return [screened.n_L + screened.n_R for screened in (by_GB, by_PGB, by_cap)]


# %%
def from_numpy(PGB, center, radius, size):
    """The larger relative difference of center and radius between the library and numpy."""
    center_apart = np.linalg.norm(PGB.center.ravel() - center) / size
    return max(center_apart, abs(PGB.radius - radius) / size)


# %% tags=["STS19-T2"]
rng = np.random.default_rng(12)
kinds = tuple(projections)
count, apart = 0, 0.0
counts = np.zeros(3, dtype=int)
largest, smaller = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0)
for kind, instance, rows, weight, best in instances(rng, kinds, 30):
    for reference, alpha in pairs(instance, best, rng):
        GB = library_ball("GB", instance, reference, weight, alpha)
        PGB = library_ball("PGB", instance, reference, weight, alpha)
        x_row, gamma = reference.ravel(), instance.loss.gamma
        center, radius = projected_ball(rows, x_row, weight, gamma, projections[kind], alpha)
        size = np.linalg.norm(center) + np.linalg.norm(reference) + GB.radius
        apart = max(apart, from_numpy(PGB, center, radius, size))
        counts += checked(instance, GB, PGB, best, size)
        distance = np.linalg.norm(best.x - PGB.center)
        largest[kind] = max(largest[kind], distance / (PGB.radius + best.eps))
        smaller[kind] += PGB.radius < 0.99 * GB.radius
        count += 1
print(f"{count} balls; the library and numpy differ by less than 1e-6 of their size")
assert apart < 1e-6

# %% tags=["STS19-T2"]
for kind in kinds:
    print(
        f"{kind:16} largest distance {largest[kind]:.3f} radii (bound 1), PGB is smaller than GB "
        f"in {smaller[kind]} of {count // 3}"
    )
n_GB, n_PGB, n_cap = (f"{n / 1000:.1f} thousand" for n in counts)
print(f"terms screened in all: GB {n_GB}, PGB {n_PGB}, GB and half-space {n_cap}")
assert max(largest.values()) <= 1.0
assert counts[0] < counts[1] < counts[2] and smaller["support vectors"] == 0

# %% [markdown]
# Above $\lambda_{\max}$ the solution is on the surface of the ball of the reference $x = 0$, in every problem:

# %% tags=["STS19-T2"]
rng = np.random.default_rng(13)
attained = dict.fromkeys(kinds, 1.0)
for kind, instance, *_ in instances(rng, kinds, 30):
    above = 1.5 * max(instance.lam_max(), 1.0)
    on_the_surface = instance.all_linear() / above
    b = ss.spheres.projected_gradient_bound(instance, instance.cone.zeros(), above)
    if np.any(on_the_surface):  # otherwise the ball is the point 0
        distance = np.linalg.norm(on_the_surface - b.center)
        attained[kind] = min(attained[kind], distance / b.radius)
for kind, value in attained.items():
    print(f"{kind:16} at 1.5 lam_max: at least {value:.6f} radii from the center")
assert min(attained.values()) > 1.0 - 1e-6

# %% [markdown]
# Without a constraint (support vectors) $Q_- = 0$, so PGB *is* GB.
#
# ### How much tighter in practice?
#
# We compare the bounds along a path of wine (13 standardised features, 1602 triplets). The reference for each $\lambda$ is the solution for $\lambda/0.9$.

# %%
features, labels = load_wine(return_X_y=True)
points = (features - features.mean(axis=0)) / features.std(axis=0)
wine = ss.Problem(ss.Triplets.from_labels(points, labels, k=3), loss)
lams = wine.lam_max() * 0.9 ** np.arange(8, 60, 2)
share = {"GB": [], "PGB": [], "GB and half-space": []}
sizes = {"GB": [], "PGB": []}
ranks = []
start = None
for weight in lams:
    before = ss.solve(wine, weight / 0.9, rtol=1e-9, x0=start, screening=())
    start = before.x
    GB = ss.spheres.gradient_bound(wine, before.x, weight)
    PGB = ss.spheres.projected_gradient_bound(wine, before.x, weight)
    share["GB"].append(ss.rules.sphere(wine, GB).rate)
    share["PGB"].append(ss.rules.sphere(wine, PGB).rate)
    share["GB and half-space"].append(ss.rules.halfspace(wine, GB, GB.normal).rate)
    for name, b in (("GB", GB), ("PGB", PGB)):
        sizes[name].append(b.radius / np.linalg.norm(before.x))
    eigenvalues = np.linalg.eigvalsh(before.x)
    ranks.append(int(np.sum(eigenvalues > 1e-5 * np.linalg.norm(before.x))))

# %%
figure, axes = figures.panels(2, height=3.2)
title = "wine, before the first iteration"
figures.lines(
    share, lams, ax=axes[0], title=title, ylabel="share of terms screened", path=True, share=True
)
title = "radius of the balls"
figures.lines(sizes, lams, ax=axes[1], title=title, ylabel=r"radius / $\|x_0\|$", path=True)
axes[1].set(ylim=(0.0, None))
figures.show(
    "Both panels show a path of wine, on which lambda decreases to the right. The curves in the "
    f"left panel show the share of terms screened: {figures.ends(share, '{:.1f}')}. The curves in "
    "the right panel show the radius over the norm of the reference: "
    f"{figures.ends(sizes)}."
)

# %%
for name, values in share.items():
    print(
        f"{name:18} share screened: mean {np.mean(values):.2f}, at the smallest lambda "
        f"{values[-1]:.2f}"
    )
print("rank of the solution, of 13: from", max(ranks), "to", min(ranks))
print(
    f"radius of PGB over the norm of its reference: {min(sizes['PGB']):.3f} to "
    f"{max(sizes['PGB']):.3f}"
)
assert np.all(np.array(share["GB and half-space"]) >= share["PGB"])
assert share["PGB"][-1] > share["GB"][-1] + 0.1

# %% [markdown]
# GB becomes larger when more eigenvalues of the solution are zero, and PGB then screens many more terms than GB. The half-space screens few terms in addition, and needs two inner products per triplet in place of one. The radius of PGB over the norm of its reference is constant, $\frac{1 - 0.9}{2 \cdot 0.9} = 0.0556$. The reason is STS19 Theorem 7: if the reference is the exact solution for another $\lambda$, PGB *is* the regularization path bound (notebook [`15-relations-between-spheres`](15-relations-between-spheres.ipynb)).
#
# ## The radius at the solution
#
# With the smoothed hinge the point determines the slope, so by step 5 the radius is zero at the solution. How fast does the radius go to zero? By (2) it is at least $\sqrt{2\langle x, Q_-\rangle}$, the square root of a small number. So it decreases slowly if the reference is *inside* the cone and the solution is on the boundary. If the reference is on the same face of the cone as the solution, such as $x(\alpha(x)) = [H]_K/\lambda$, then $\langle x, Q_-\rangle$ is much smaller or zero.

# %%
steps = 10.0 ** -np.arange(1, 7)
inside = [x_star + s * (x - x_star) for s in steps]
on_face = [problem.x_of(problem.alpha(z), lam) for z in inside]
slopes = {}
for name, family in (("inside the cone", inside), ("on the face", on_face)):
    radii = [ss.spheres.projected_gradient_bound(problem, z, lam).radius for z in family]
    apart = [np.linalg.norm(z - x_star) for z in family]
    slopes[name] = np.polyfit(np.log(apart[2:6]), np.log(radii[2:6]), 1)[0]
    print(f"reference {name:16} radius ~ distance^{slopes[name]:.1f}")
stuck = ss.spheres.gradient_bound(problem, x_star, lam).radius
closed = ss.spheres.projected_gradient_bound(problem, x_star, lam).radius
print(f"at the solution: GB {stuck:.4f}, PGB below 1e-5")
assert closed < 1e-5
assert abs(slopes["inside the cone"] - 0.5) < 0.1 and abs(slopes["on the face"] - 1.0) < 0.1

# %% [markdown]
# ## The hinge: which subgradient?
#
# With $\gamma = 0$ and a triplet at the kink, $\langle a_t, x^\star\rangle = 1$, we may choose any $\alpha_t \in [0, 1]$, and the radius depends on the choice. In our example two triplets are at the kink.

# %%
hinge = ss.Problem(problem.terms, ss.Hinge())
lam_hinge = 0.05 * problem.lam_max()
at_hinge = ss.solve(hinge, lam_hinge, tol=1e-9)
alpha_star = at_hinge.alpha
kink = np.flatnonzero((alpha_star > 1e-3) & (alpha_star < 1.0 - 1e-3))
margins_at_kink = np.round(hinge.terms.margins(at_hinge.x)[kink], 4)
print("margins at the kink:", margins_at_kink, " dual solution:", np.round(alpha_star[kink], 3))


# %%
def radius_with(first, second):
    alpha = alpha_star.copy()
    alpha[kink] = first, second
    return library_ball("PGB", hinge, at_hinge.x, lam_hinge, alpha).radius


grid = np.linspace(0.0, 1.0, 41)
rows = []
for second in grid:
    rows.append([radius_with(first, second) for first in grid])
surface = np.array(rows)
smallest_corner = min(surface[0, 0], surface[0, -1], surface[-1, 0], surface[-1, -1])
at_corners = np.floor(100.0 * smallest_corner) / 100.0  # rounded down
figure, axes = figures.panels(1, width=5.0, height=3.8)
drawn = axes.contourf(grid, grid, surface, levels=16, cmap="cividis")
axes.plot(*alpha_star[kink], "*", color="white", markersize=12)
axes.set(xlabel="dual variable of the first", ylabel="dual variable of the second")
axes.set_title("radius of PGB at the solution, hinge", loc="left", fontsize=10)
figure.colorbar(drawn)
figures.show(
    "The axes show the dual variables of the triplets at the kink. The shade shows the radius of "
    "PGB at the solution; dark means small. At the star, the dual optimum, the radius is 0. At "
    f"the corners of the square it is at least {at_corners:.2f}, and its maximum is "
    f"{surface.max():.2f}."
)

# %% [markdown]
# Only one choice makes the radius zero (the star). This choice is the dual solution, which we cannot compute from $x^\star$ alone. At a corner of the square both dual variables are 0 or 1, and the radius is positive. A computed solution is never exactly at the kink, so $\alpha(x)$ *is* such a corner. The solver returns its fractional dual point as `Solution.alpha`, and with this dual point the radius of PGB goes to zero:

# %% tags=["STS19-T3"]
corners = [radius_with(first, second) for first in (0.0, 1.0) for second in (0.0, 1.0)]
by_point = ss.spheres.projected_gradient_bound(hinge, at_hinge.x, lam_hinge).radius
by_dual = library_ball("PGB", hinge, at_hinge.x, lam_hinge, alpha_star)
print(
    f"four corners: {np.round(corners, 3)}; alpha(x) is one of them, the smallest is "
    f"{min(corners):.3f}"
)
print("from the dual solution: below 1e-4")
assert min(*corners, by_point) > 0.02
assert by_dual.radius < 1e-4
assert min(abs(by_point - r) for r in corners) < 1e-3
assert ss.rules.sphere(hinge, by_dual).rate > 0.9

# %% [markdown]
# The same is true for random problems with the hinge and with two smoothed hinges:

# %% tags=["STS19-T3"]
rng = np.random.default_rng(13)
worst = {}
closed = 0
for kind in kinds:
    for gamma in (0.0, 0.05, 0.5):
        for _ in range(5):
            instance = random_problem(kind, gamma, rng)
            weight = max(instance.lam_max(), 1.0) * rng.choice([0.5, 0.1])
            best = ss.solve(instance, weight, tol=1e-10, rtol=1e-11)
            unit = ss.spheres.gradient_bound(instance, instance.cone.zeros(), weight).radius
            size = library_ball("PGB", instance, best.x, weight, best.alpha).radius / unit
            worst[gamma] = max(worst.get(gamma, 0.0), size)
            closed += 1
print(
    f"{closed} random problems, gamma in {list(worst)}: radius below 1e-3 times the "
    "radius of GB at x = 0"
)
assert max(worst.values()) < 1e-3

# %% [markdown]
# The accuracy of the computed solutions limits how small these radii are.
#
# ## Break it
#
# ### The difference of squares in floating point
#
# The formula of the theorem is exact in real numbers. Near the solution the leading digits of $r_{GB}$ and $\|Q_-\|$ are equal, and the computed $r_{GB}^2 - \|Q_-\|^2$ consists of rounding errors. For a diagonal metric we can compute the radius exactly, in fractions, and compare both formulas with the exact radius. In our data the second feature is useless: its weight at the solution is zero. We give the second feature in centimetres and the first in metres, which makes $Q_-$ large.

# %%
def exact_square(x, H, lam):
    """r_PGB^2 by equation (2) in exact arithmetic, K = non-negative vectors."""
    x = [Fraction(float(v)) for v in x]
    H = [Fraction(float(w)) for w in H]
    lam = Fraction(float(lam))
    Q = [(v + w / lam) / 2 for v, w in zip(x, H, strict=True)]
    plus = [max(v, Fraction(0)) for v in Q]
    return sum((v - w) ** 2 + 2 * v * (w - u) for v, w, u in zip(x, plus, Q, strict=True))


# %%
index = ss.Triplets.from_labels(X, y, k=3, diagonal=True).index
diagonal = ss.Problem(ss.Triplets(X * [1.0, 100.0], index, diagonal=True), loss)
weight = 0.1 * problem.lam_max()
best = ss.solve(diagonal, weight, tol=1e-10, method="gradient")
print("solution:", np.round(best.x, 4))
assert best.x[1] == 0.0

# %%
rng = np.random.default_rng(1)
outcome = {"wrong": 0, "too small": 0}
sums_apart = 0.0
for _ in range(300):
    z = best.x * (1.0 + 1e-9 * rng.standard_normal(best.x.size))
    H = diagonal.terms.adjoint(diagonal.alpha(z))
    Q = 0.5 * (z + H / weight)
    plus = np.maximum(Q, 0.0)
    printed = np.sum((z - Q) ** 2) - np.sum((plus - Q) ** 2)
    as_sum = np.sum((z - plus) ** 2) + 2 * z @ (plus - Q)
    exact = float(exact_square(z, H, weight))
    outcome["wrong"] += abs(printed - exact) > 0.5 * exact
    outcome["too small"] += printed < 0.5 * exact
    sums_apart = max(sums_apart, abs(as_sum - exact) / exact)
print(f"|Q_-| = {np.linalg.norm(plus - Q):.0f}")
print(f"difference of squares wrong by more than half: {outcome['wrong']} of 300 references")
print("difference of squares less than half the exact value: more than 50 references")
print("sum (2): relative error below 1e-4")
assert outcome["wrong"] == 300
assert outcome["too small"] > 50
assert sums_apart < 1e-4

# %% [markdown]
# With a squared radius that is too large, the rules screen fewer terms. A squared radius that is too small is unsafe, because the ball may not contain the solution.
#
# ### The projection must be onto a set that contains the solution
#
# Suppose that a user wants invertible metrics and projects onto $\{X \succeq 0.05\, I\}$. The solution has rank one, so it is not in this set, and step 2 is not valid. The squared radius is then smaller than the squared distance between center and solution.

# %%
reference = x_star + 0.05 * (x - x_star)
GB = ss.spheres.gradient_bound(problem, reference, lam)
values, V = np.linalg.eigh(GB.center)
onto = V * np.maximum(values, 0.05) @ V.T
shrunk = GB.radius**2 - np.linalg.norm(GB.center - onto) ** 2
away = np.linalg.norm(x_star - onto)
print(f"'squared radius' {shrunk:.5f}, squared distance of the solution {away**2:.4f}")
assert shrunk < away**2
good = ss.spheres.projected_gradient_bound(problem, reference, lam)
print(
    f"with the cone itself: squared radius {good.radius**2:.4f}, squared distance "
    f"{np.linalg.norm(x_star - good.center) ** 2:.4f}"
)

# %% [markdown]
# ## Exercise
#
# Is the ball of PGB contained in the ball of GB? Can we project the center of *any* ball that contains the solution, for example the duality gap bound DGB (center $x$), and reduce the radius in the same way?
#
# <details>
# <summary><b>Solution</b></summary>
#
# PGB is not contained in GB, unless $Q_- = 0$ or $r_{PGB} = 0$. The two surfaces intersect in the rim of the disc of step 3. Inside the half-space, PGB is a half ball of height $r_{PGB}$. The height of the cap of GB is only $r_{GB} - \|Q_-\|$, which is less than $r_{PGB} = \sqrt{(r_{GB} - \|Q_-\|)(r_{GB} + \|Q_-\|)}$. Outside the half-space, PGB is inside GB. The cap is contained in PGB, so a rule that uses GB with the half-space screens every triplet that PGB screens. But a rule that uses GB alone may screen a triplet that PGB does not screen.
#
# Steps 1 and 2 are valid for any ball: the new center is $[Q]_K$ and the new squared radius is $r^2 - \|Q_-\|^2$. But if the center lies in the cone, then $Q_- = 0$ and the ball does not change. The centers of DGB, CDGB, MGB and the path bounds lie in the cone.
#
# </details>

# %%
height = ball.radius - np.linalg.norm(Q_minus)
r_PGB = projected.radius
tip = projected.center + projected.radius * towards
beyond = np.linalg.norm(tip - ball.center) / ball.radius
print(
    f"height of the cap {height:.4f}, radius of PGB {r_PGB:.4f}; the distance of the tip of PGB "
    f"from the center of GB is {beyond:.2f} radii of GB"
)
assert height < r_PGB and beyond > 1.01
for bound in (ss.spheres.duality_gap_bound, ss.spheres.midpoint_gap_bound):
    assert problem.cone.violation(bound(problem, x, lam).center) < 1e-12

# %% [markdown]
# ## Fine print
#
# * **Cost.** PGB needs one more projection (an eigendecomposition) than GB, once for all triplets. A projected gradient step of size $1/2\lambda$ computes the same projection.
# * **Theorem 3 as printed** says that a subgradient with radius zero exists. Step 5 adds three statements: exactly the dual solutions give such a subgradient, it exists for any convex loss, and a zero radius proves optimality.
# * **Rounding.** The library adds bounds of the rounding errors in $H$, in the projection and in the products to the sum (2).
# * **The half-space** $\langle Q_-, X\rangle \ge 0$ is stored with the ball of `gradient_bound` as `ball.normal`. The rule `rules.halfspace` uses it; a solver applies this rule with `screening=("GB+halfspace",)`.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 3.2, Theorems 2 and 3; proofs in appendix D (there headed "Theorem 3 (PGB)") and appendix I.
# * STS18: the same authors, KDD 2018: Theorems 3.3 and 3.4.
