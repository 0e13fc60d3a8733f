# %% [markdown]
# # One gap bounds two distances: the midpoint gap bound
#
# A solver has a primal point $x$, a dual point $\alpha$ and their duality gap. The usual gap
# ball (DGB) has its center at $x$ and bounds only the distance of the solution from $x$. But the dual point gives
# a second primal point, $x(\alpha)$, and the solution is close to both points. The gap bounds the sum of the two squared
# distances, so the solution lies in a ball around the *midpoint* whose radius is at most $1/\sqrt2$ times the radius of DGB. This ball needs
# the same projection as DGB, and in addition one margin per term, at the midpoint.
#
# At the end you will have seen
#
# * a derivation of the bound from two inequalities and one completed square, for every cone and every dual point;
# * that the ball lies inside DGB, with at most $1/\sqrt2$ times its radius, and inside RRPB, the ball
#   for another $\lambda$;
# * CDGB, GB, RPB and ball test 2 as special cases;
# * solutions that lie exactly on the surface of the ball, so that the radius cannot be smaller;
# * a wrong ball, from the same formula without the projection onto the cone.
#
# We do not claim that the bound is new. For sparse regression the RYU framework of Tran, Elvira, Dang and Herzet
# (2023) very likely contains it; we could read the abstract and the problem of the paper, but not its theorem. This notebook
# derives the bound for cones and many terms, for ranges of $\lambda$, and for rounded arithmetic.

# %%
import itertools

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import spheres
from safescreen_book import figures

loss = ss.SmoothedHinge(gamma=0.05)

# %% [markdown]
# ## The story in a picture
#
# The left panel shows a support vector machine in the plane of weights. The ball of DGB has its center at $x$ and passes
# through $x(\alpha)$. The midpoint ball (MGB) has the segment from $x$ to $x(\alpha)$ as a diameter. MGB
# contains the solution, lies inside DGB and has half the radius of DGB. The right panel shows metrics, in the plane through $x$, $x(\alpha)$ and
# the solution. The cone of semidefinite matrices removes a part of $H(\alpha)$ here, and therefore MGB is somewhat larger than the ball
# with the segment as a diameter.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)
metric_problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
machine = ss.Problem(ss.Samples(X, 2 * y - 1), loss)
lam = 0.1 * metric_problem.lam_max()
starts = {
    "samples": (machine, np.array([0.2, 0.4]), 0.3 * machine.lam_max()),
    "metrics, a plane of them": (metric_problem, 0.15 * np.eye(2), lam),
}

# %%
figure, axes = figures.panels(2, height=4.1)
narrower = []
for ax, (title, (prob, x, weight)) in zip(axes, starts.items(), strict=True):
    star = ss.solve(prob, weight, tol=1e-11).x
    end = prob.x_of(prob.alpha(x), weight)
    both = {
        "DGB": spheres.duality_gap_bound(prob, x, weight),
        "MGB": spheres.midpoint_gap_bound(prob, x, weight),
    }
    narrower.append(both["MGB"].radius / both["DGB"].radius)
    plane = None if x.ndim == 1 else (x, end, star)
    marks = {"x": x, r"$x(\alpha)$": end, "optimum": star}
    figures.balls(prob.cone, both, marks, plane=plane, ax=ax, title=title)
    assert both["MGB"].contains(star)
    assert both["MGB"].radius <= both["DGB"].radius / np.sqrt(2) * (1 + 1e-9)
figures.show(
    "Each panel shows a plane with the discs of DGB and MGB. The center of DGB is the reference x. "
    "The center of MGB is midway between x and x(alpha). MGB lies inside DGB and contains the "
    f"optimum. The radius of MGB is {narrower[0]:.2f} times the radius of DGB on the left, without "
    f"a cone, and {narrower[1]:.2f} times on the right."
)

# %% [markdown]
# ## The claim
#
# > **Midpoint gap bound.** Let $x$ be any point of the cone $K$ and $\alpha \in [0,1]^T$ any dual point.
# > Then the solution $x^\star$ for $\lambda > 0$ satisfies
# >
# > $$\Big\|x^\star - \tfrac{x + x(\alpha)}{2}\Big\|^2 \;\le\; \tfrac1\lambda\big(P(x;\lambda) - D(\alpha;\lambda)\big) - \tfrac14\|x - x(\alpha)\|^2 .$$
#
# | assumption | used in step |
# |---|---|
# | the loss is convex, smooth or not | 1, 2 |
# | $x \in K$, and $K$ is a closed convex cone | 1, 2 |
# | $\alpha$ lies in the box, where the conjugate is finite | 2 |
#
# The points $x$ and $\alpha$ need not belong together: any dual point is allowed.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $P(x; \lambda)$ | $F(x) + \frac\lambda2\Vert x\Vert^2$, to be minimised over $x \in K$, with $F(x) = \sum_t \ell_t(\langle a_t, x\rangle) - \langle c, x\rangle$ |
# | $\ell_t(u)$ | $\max_{0 \le a \le 1} a(\tau_t - u) - \frac\gamma2 a^2$: hinge for $\gamma = 0$, smoothed hinge for $\gamma > 0$; its conjugate is $\ell_t^*(-a) = \frac\gamma2 a^2 - \tau_t a$ |
# | $K$ | semidefinite matrices (a metric), non-negative vectors (a diagonal metric), everything (support vectors) |
# | $H(\alpha)$, $H_-$ | $c + \sum_t \alpha_t a_t$; $[H]_K - H$, which the projection onto $K$ adds to $H$ |
# | $x(\alpha)$ | $\frac1\lambda [H(\alpha)]_K$ |
# | $D(\alpha; \lambda)$ | $-\sum_t\ell_t^*(-\alpha_t) - \frac\lambda2\Vert x(\alpha)\Vert^2$, never above the smallest $P$ |
# | $G$ | $\frac1\lambda(P(x) - D(\alpha))$, the gap over $\lambda$ |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### Step 1: the solution, seen from the primal point
#
# At $x^\star$ the objective falls in no direction into the cone:
# $F'(x^\star; x - x^\star) + \lambda\langle x^\star, x - x^\star\rangle \ge 0$. The convex function $F$
# lies above its tangents, so $F(x) - F(x^\star)$ is at least the first summand:
#
# $$F(x) - F(x^\star) + \lambda\langle x^\star,\; x - x^\star\rangle \ge 0 . \tag{1}$$
#
# (For samples this is SSS14 Lemma 3. The derivation of the gradient bound in [`11-gradient-bound`](11-gradient-bound.ipynb) replaces $F(x^\star)$ here by a
# tangent at $x$, and needs no second step.)

# %% [markdown]
# ### Step 2: the solution, seen from the dual point
#
# Fenchel's inequality says $\ell_t(u) \ge -\ell_t^*(-\alpha_t) - \alpha_t u$. Insert
# $u = \langle a_t, x^\star\rangle$ and sum over $t$. The projection onto the cone has
# $\langle x^\star, [H]_K - H\rangle \ge 0$ for every $x^\star \in K$. So
#
# $$F(x^\star) \ge -\sum_t \ell_t^*(-\alpha_t) - \langle H(\alpha), x^\star\rangle
# \ge -\sum_t \ell_t^*(-\alpha_t) - \lambda\langle x(\alpha), x^\star\rangle . \tag{2}$$
#
# (Without a cone and for $\alpha \in \{0, 1\}^n$ this is SSS14 Lemma 5.)

# %% [markdown]
# ### Step 3: add, and complete the square
#
# Add (1) and (2). The unknown number $F(x^\star)$ drops out. $F(x)$ and the
# conjugates remain, and they are the gap minus two squares:
# $P(x) - D(\alpha) = F(x) + \frac\lambda2\|x\|^2 + \sum_t \ell^*_t(-\alpha_t) + \frac\lambda2\|x(\alpha)\|^2$.
# Divide by $\lambda$:
#
# $$\|x^\star\|^2 - \langle x^\star,\; x + x(\alpha)\rangle + \tfrac12\|x\|^2 + \tfrac12\|x(\alpha)\|^2 \le G . \tag{3}$$
#
# The left side is $\|x^\star - \frac12(x + x(\alpha))\|^2 + \frac14\|x - x(\alpha)\|^2$, and this proves the
# claim. The left side is also $\frac12\|x^\star - x\|^2 + \frac12\|x^\star - x(\alpha)\|^2$: *the gap bounds the sum of both squared
# distances*. Without the second distance the inequality is DGB.
#
# All expressions are sums over coordinates, so sympy needs only two coordinates:

# %%
# the solution z, the reference x, and w = x(alpha)
z, x_, w = (sp.Matrix(sp.symbols(f"{name}1 {name}2", real=True)) for name in ("z", "x", "w"))
left = z.dot(z) - z.dot(x_ + w) + x_.dot(x_) / 2 + w.dot(w) / 2
middle = z - (x_ + w) / 2
square = middle.dot(middle) + (x_ - w).dot(x_ - w) / 4
halves = ((z - x_).dot(z - x_) + (z - w).dot(z - w)) / 2
print("left side of (3) minus the completed square:", sp.expand(left - square))
print("left side of (3) minus the two halves:", sp.expand(left - halves))
assert sp.expand(left - square) == 0 and sp.expand(left - halves) == 0

# %% [markdown]
# ## The slow version
#
# The slow version computes the formula of the claim. Each row of `A` is one term.


# %%
def midpoint_ball(A, tau, c, project, x, alpha, lam, gamma):
    """Return center and radius of the midpoint gap bound."""
    margin = A @ x
    if gamma:
        slope = np.clip((tau - margin) / gamma, 0.0, 1.0)
    else:
        slope = (margin < tau).astype(float)
    primal = slope @ (tau - margin) - gamma / 2 * slope @ slope - c @ x + lam / 2 * x @ x
    x_alpha = project(c + A.T @ alpha) / lam
    dual = alpha @ tau - gamma / 2 * alpha @ alpha - lam / 2 * x_alpha @ x_alpha
    square = (primal - dual) / lam - (x - x_alpha) @ (x - x_alpha) / 4
    return (x + x_alpha) / 2, np.sqrt(max(square, 0.0))


def nearest_metric(h):
    """Return the projection onto the semidefinite matrices, which are written as vectors."""
    d = round(np.sqrt(h.size))
    values, vectors = np.linalg.eigh(h.reshape(d, d))
    return (vectors * np.maximum(values, 0.0) @ vectors.T).ravel()


def written_out(X, index):
    """Return the matrices of triplets as rows."""
    i, j, other = index.T
    pairs = zip(X[i] - X[other], X[i] - X[j], strict=True)
    return np.array([np.outer(p, p) - np.outer(q, q) for p, q in pairs]).reshape(len(index), -1)


# %% [markdown]
# ## The library call, and does it match?
#
# The next cell compares both on the metric problem of the picture:

# %%
x = 0.15 * np.eye(2)
tau, alpha = np.ones(len(metric_problem)), metric_problem.alpha(x)
A = written_out(X, metric_problem.terms.index)
center, radius = midpoint_ball(
    A, tau, np.zeros(4), nearest_metric, x.ravel(), alpha, lam, loss.gamma
)
ball = spheres.midpoint_gap_bound(metric_problem, x, lam)
dgb = spheres.duality_gap_bound(metric_problem, x, lam)
print(
    f"slow version: radius {radius:.4f}   library: radius {ball.radius:.4f}   DGB: radius "
    f"{dgb.radius:.4f}"
)
assert np.linalg.norm(ball.center.ravel() - center) < 1e-12
assert 0.0 <= ball.radius / radius - 1.0 < 1e-9

# %% [markdown]
# ### Problems with known solutions
#
# The check that a ball contains the solution needs the exact solution, and a solver computes it only
# approximately. So the check builds its problems backwards. It chooses terms, $\lambda$ and a dual point $\alpha^\star$
# with some entries 0, some entries 1 and some between 0 and 1. It sets $x^\star = \frac1\lambda[H(\alpha^\star)]_K$. Then it chooses
# the *thresholds* $\tau_t$ so that every $\alpha^\star_t$ is minus the slope of the loss at $x^\star$. Then the conditions
# of optimality are true, and $x^\star$ is the exact solution.

# %%
PROJECTIONS = {
    "metric": nearest_metric,
    "diagonal metric": lambda h: np.maximum(h, 0.0),
    "support vectors": lambda h: h,
}


def random_terms(kind, rng, T=6):
    """Return T random terms over a cone, and their vectors as rows."""
    if kind == "support vectors":
        A, signs = rng.standard_normal((T, 3)), np.where(np.arange(T) % 2, 1.0, -1.0)
        return ss.Samples(signs[:, None] * A, signs), A
    diagonal = kind == "diagonal metric"
    points = rng.standard_normal((2 * T + 1, 2 + diagonal))
    index = np.array([(0, 1 + t, 1 + T + t) for t in range(T)])
    rows = written_out(points, index)
    return ss.Triplets(points, index, diagonal=diagonal), rows[:, ::4] if diagonal else rows


# %%
def known_problem(kind, rng, T=6):
    """Return a problem, its arrays, its lambda, a dual solution, and the exact solution."""
    terms, A = random_terms(kind, rng)
    c = 0.3 * (A[0] if kind == "metric" else rng.standard_normal(3))
    lam = 10.0 ** rng.uniform(-1, 1)
    gamma = rng.choice([0.0, 0.05, 0.5])
    alpha = np.clip(rng.uniform(-1.0, 2.0, T), 0.0, 1.0)
    star = PROJECTIONS[kind](c + A.T @ alpha) / lam
    away = rng.exponential(0.3, T)
    tau = A @ star + gamma * alpha
    tau += np.where(alpha == 1.0, away, 0.0)
    tau -= np.where(alpha == 0.0, away, 0.0)
    shape = terms.cone.zeros().shape
    terms = terms.with_threshold(tau)
    problem = ss.Problem(terms, ss.SmoothedHinge(gamma), linear=c.reshape(shape))
    return problem, (A, tau, c), lam, alpha, star.reshape(shape)


# %% [markdown]
# The check covers the three cones, points of the cone at small and large distances, and dual points of three kinds: the slopes at $x$, points near
# the dual solution, and points anywhere in the box. For each pair $(x, \alpha)$ the library's ball equals the ball of the
# definition and contains the solution. (A test of the library does the same with more pairs.)


# %%
def random_pair(prob, source, alpha_star, star, rng):
    """Return a point of the cone and a dual point of one of the three kinds."""
    noise = rng.standard_normal(star.shape)
    if star.ndim == 2:
        noise = 0.5 * (noise + noise.T)
    size = (np.linalg.norm(star) + 0.1) * 10.0 ** rng.uniform(-3, 0.5)
    x = prob.cone.project(star + size * noise)
    anywhere = rng.uniform(0.0, 1.0, 6)
    near = np.clip(alpha_star + 0.1 * (anywhere - 0.5), 0.0, 1.0)
    return x, {"slopes": prob.alpha(x), "near": near, "anywhere": anywhere}[source]


pairs = list(itertools.product(PROJECTIONS, ("slopes", "near", "anywhere"), range(20)))

# %% tags=["NEW-MGB"]
rng = np.random.default_rng(7)
relative_distances = {kind: [] for kind in PROJECTIONS}
for kind, source, _ in pairs:
    prob, arrays, l0, alpha_star, star = known_problem(kind, rng)
    x, alpha = random_pair(prob, source, alpha_star, star, rng)
    ball = spheres.midpoint_gap_bound(prob, x, l0, alpha)
    center, radius = midpoint_ball(
        *arrays, PROJECTIONS[kind], x.ravel(), alpha, l0, prob.loss.gamma
    )
    tiny = 1e-7 * (1.0 + np.linalg.norm(x) + np.linalg.norm(center))
    assert np.linalg.norm(ball.center.ravel() - center) < 3 * tiny
    assert abs(ball.radius - radius) < 3 * tiny
    distance = np.linalg.norm(star - ball.center)
    assert distance <= ball.radius + 1e-3 * tiny
    relative_distances[kind].append(distance / (ball.radius + tiny))
for kind, shares in relative_distances.items():
    print(
        f"{kind:16} {len(shares)} solutions inside; the farthest is at {max(shares):.2f} times the "
        "radius"
    )

# %% [markdown]
# ## The ball cannot be smaller
#
# Let $\delta = \|x - x(\alpha)\|$, let $\varphi \ge 0$ be the sum of the Fenchel terms at $(x, \alpha)$,
# and let $H_- = [H]_K - H$. The gap is a sum of three summands, and the squared radius is another sum of three:
#
# $$G = \tfrac12\delta^2 + \tfrac1\lambda\varphi + \tfrac1\lambda\langle x, H_-\rangle, \qquad r^2 = \tfrac14\delta^2 + \tfrac1\lambda\varphi + \tfrac1\lambda\langle x, H_-\rangle .$$
#
# The solution lies *on* the surface when (1) and (2) are equalities. For each summand the table gives an example with
# the hinge and $\lambda = 1$:
#
# | only $\frac14\delta^2$ | with $\varphi$ | with $\langle x, H_-\rangle$ |
# |---|---|---|
# | one sample $z = 1$, $\tau = 3$: $x^\star = 1$ | one sample $z = 1$, $\tau = 1$: $x^\star = 1$, at the kink | $a = \operatorname{diag}(-1, 1)$, $\tau = 1$, $c = \frac12 I$: $x^\star = \operatorname{diag}(0, 1)$, at the kink |
# | $x = 0$, $\alpha = 1$ | $x = 0$, $\alpha = \frac12$ | $x = x^\star + I$, $\alpha = 1$ |
# | $r^2 = \frac14$ | $r^2 = \frac1{16} + \frac12$ | $r^2 = \frac5{16} + \frac12$ |


# %%
def attained_by_samples(kind):
    """Return a pair of the table: problem, x, alpha, the solution, the squared radius."""
    # the second sample is zero: its loss is the same everywhere
    samples = ss.Samples([[1.0], [0.0]], [1, -1])
    x, star = np.zeros(1), np.ones(1)
    if kind == "delta":
        problem = ss.Problem(samples.with_threshold(3.0), ss.Hinge())
        return problem, x, np.ones(2), star, 1 / 4
    return ss.Problem(samples, ss.Hinge()), x, np.array([0.5, 1.0]), star, 9 / 16


def attained_by_triplets(diagonal):
    """Return the last pair of the table, as vectors or as matrices."""
    points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    terms = ss.Triplets(points, [[0, 1, 2]], diagonal=diagonal)
    star, eye = np.array([0.0, 1.0]), np.ones(2)
    if not diagonal:
        star, eye = np.diag(star), np.diag(eye)
    problem = ss.Problem(terms, ss.Hinge(), linear=0.5 * eye)
    return problem, star + eye, np.ones(1), star, 13 / 16


def attained(kind):
    """Return the pair of the table with this name."""
    if kind in ("delta", "phi"):
        return attained_by_samples(kind)
    return attained_by_triplets(diagonal=kind == "cone, diagonal")


# %% tags=["NEW-MGB"]
for kind in ("delta", "phi", "cone, diagonal", "cone, full"):
    prob, x, alpha, star, squared = attained(kind)
    ball = spheres.midpoint_gap_bound(prob, x, 1.0, alpha)
    distance = np.linalg.norm(star - ball.center)
    print(f"{kind:15} distance of the solution {distance:.6f}, radius {ball.radius:.6f}")
    assert distance <= ball.radius < distance * (1 + 1e-6)
    assert abs(ball.radius**2 / squared - 1) < 1e-6

# %% [markdown]
# ## Inside DGB
#
# Write $e$ for the last two summands of $r^2$. Then $r_{\text{MGB}}^2 = \frac14\delta^2 + e$ and
# $r_{\text{DGB}}^2 = 2G = \delta^2 + 2e$. So $r_{\text{MGB}}^2 \le \frac12 r_{\text{DGB}}^2$.
#
# The centers are $\frac12\delta$ apart, so "inside" means
# $\frac12\delta + r_{\text{MGB}} \le r_{\text{DGB}}$. Move $\frac12\delta$ to the right and square both sides. It remains to
# show $\delta^2 + e \ge \delta\sqrt{\delta^2 + 2e}$. Squaring again gives $e^2 \ge 0$.

# %%
d, e, rho, m, t, s = sp.symbols("delta e rho m t s", nonnegative=True)
right_minus_left = (sp.sqrt(d**2 + 2 * e) - d / 2) ** 2 - (d**2 / 4 + e)
assert sp.expand(right_minus_left - (d**2 + e - d * sp.sqrt(d**2 + 2 * e))) == 0
difference = sp.expand((d**2 + e) ** 2 - d**2 * (d**2 + 2 * e))
print("(delta^2 + e)^2 - delta^2 (delta^2 + 2e) =", difference)

# %% [markdown]
# ## At another lambda: inside RRPB
#
# Use the pair $(x_0, \alpha_0)$ of $\lambda_0$ at $\lambda_1 = \lambda_0/\rho$. Then
# $x_{\lambda_1}(\alpha_0) = \rho\, x_{\lambda_0}(\alpha_0)$, and $e$ becomes $\rho e$. The relaxed path
# bound RRPB ([`14-path-bounds`](14-path-bounds.ipynb)) uses $\varepsilon^2 = \delta^2 + 2e$. With $m = \|x_0\|$ the centers are
# $\frac\rho2\delta$ apart, and
#
# $$r_{\text{MGB}} \le \sqrt{\tfrac14(|1-\rho|m + \rho\delta)^2 + \rho e}, \qquad r_{\text{RRPB}} = \tfrac12|1-\rho|m + s, \quad s = \max(1,\rho)\,\varepsilon .$$
#
# Inside means $r_{\text{RRPB}} - \frac\rho2\delta \ge r_{\text{MGB}}$. The squares differ by
# $(s - \rho\delta)(|1-\rho|m + s) - \rho e$. The product is at least
# $s\,(s - \max(1,\rho)\,\delta) = \max(1,\rho)^2\, \varepsilon(\varepsilon - \delta)$, and
# $\varepsilon(\varepsilon - \delta) = \frac{2e\,\varepsilon}{\varepsilon+\delta} \ge e$, because
# $\varepsilon \ge \delta$. And $\max(1,\rho)^2 \ge \rho$. So **MGB lies inside RRPB** for every
# $\lambda_1$. At an exact reference $\delta = e = 0$, and MGB and RRPB are both equal to RPB.

# %%
squares = (t * m / 2 + s - rho * d / 2) ** 2 - (t * m + rho * d) ** 2 / 4  # t stands for |1 - rho|
assert sp.expand(squares - (s - rho * d) * (t * m + s)) == 0
print("difference of the squares:", sp.factor(squares), "- rho e")

# %% [markdown]
# ### Does it match?
#
# For the same random pairs MGB lies inside DGB with at most $1/\sqrt2$ times its radius, and at another $\lambda$ MGB lies inside RRPB. At the
# exact pair MGB is RPB.


# %%
def inside(inner, outer, tiny):
    """Return whether a ball lies inside another one, up to a tiny length."""
    return np.linalg.norm(inner.center - outer.center) + inner.radius <= outer.radius + tiny


def same_ball(one, other, tiny):
    """Return whether centers and radii of two balls agree."""
    apart = np.linalg.norm(one.center - other.center)
    return apart <= tiny and abs(one.radius - other.radius) <= 1e-5 * (1 + other.radius)


# %% tags=["NEW-MGB"]
rng, ratios = np.random.default_rng(9), []
for kind, source, _ in pairs:
    prob, _, l0, alpha_star, star = known_problem(kind, rng)
    x, alpha = random_pair(prob, source, alpha_star, star, rng)
    ball = spheres.midpoint_gap_bound(prob, x, l0, alpha)
    dgb = spheres.duality_gap_bound(prob, x, l0, alpha)
    tiny = 1e-6 * (1.0 + np.linalg.norm(x) + np.linalg.norm(ball.center))
    assert inside(ball, dgb, tiny) and ball.radius <= np.sqrt(0.5) * dgb.radius + tiny
    if dgb.radius > 1e3 * tiny:
        ratios.append(ball.radius / dgb.radius)
    l1 = l0 / rng.choice([0.5, 0.9, 1.1, 2.0, 5.0])
    at_l1 = spheres.midpoint_gap_bound(prob, x, l1, alpha)
    assert inside(at_l1, spheres.relaxed_path_bound(x, dgb.radius, l0, l1), tiny)
    exact = spheres.midpoint_gap_bound(prob, star, l1, alpha_star)
    assert same_ball(exact, spheres.path_bound(star, l0, l1), tiny)
print(
    f"{len(pairs)} pairs inside DGB and RRPB; radius of MGB over radius of DGB from "
    f"{min(ratios):.2f} to {max(ratios):.2f}"
)

# %% [markdown]
# The ratio is near $\frac12$ when $\delta^2$ dominates the gap, and near $1/\sqrt2$ when the Fenchel terms
# dominate.
#
# ## Comparison with PGB
#
# The ball of GB in its general form is $\|x^\star - Q\|^2 \le r^2$ with $Q = \frac12(x + \frac1\lambda H)$
# and $r^2 = \frac14\|x - \frac1\lambda H\|^2 + \frac1\lambda\varphi$. Every $N$ of the dual cone has
# $\langle N, x^\star\rangle \ge 0$, and therefore
# $\|x^\star - (Q + N)\|^2 \le r^2 - \|Q\|^2 + \|Q + N\|^2$. These balls are a family. MGB is the member with
# $N = \frac{1}{2\lambda}H_-$, which the dual value has already computed. The smallest member minimises $\|Q + N\|$. By Moreau's
# theorem it has $Q + N = [Q]_K$, and this ball is PGB ([`12-projected-gradient-bound`](12-projected-gradient-bound.ipynb)). So
#
# $$r_{\text{PGB}} \le \min(r_{\text{GB}}, r_{\text{MGB}})$$
#
# for the same pair. But PGB needs one more eigendecomposition, and it need not lie inside DGB. Without a
# cone GB, PGB and MGB are the same ball.

# %% tags=["NEW-MGB"]
rng = np.random.default_rng(10)
for kind, _ in itertools.product(PROJECTIONS, range(30)):
    prob, _, l0, alpha_star, star = known_problem(kind, rng)
    x, _ = random_pair(prob, "slopes", alpha_star, star, rng)
    ball = spheres.midpoint_gap_bound(prob, x, l0)
    pgb = spheres.projected_gradient_bound(prob, x, l0)
    gb = spheres.gradient_bound(prob, x, l0)
    tiny = 1e-6 * (1.0 + np.linalg.norm(x) + np.linalg.norm(ball.center))
    assert pgb.radius <= ball.radius + tiny
    if kind == "support vectors":
        assert abs(pgb.radius - ball.radius) <= tiny and abs(gb.radius - ball.radius) <= tiny
        assert np.linalg.norm(gb.center - ball.center) <= tiny
print("90 pairs: PGB is never larger than MGB; without a cone PGB, GB and MGB are one ball")

# %% [markdown]
# ## Special cases
#
# * **CDGB** (STS19 Theorem 14) is MGB with $x = x(\alpha)$: the center is $x(\alpha)$, the radius $\sqrt G$. STS19
#   proves CDGB from the strong convexity of the gap.
# * **GB** (STS19 Theorem 1) is MGB without a cone and with $\alpha = \alpha(x)$. Then $x(\alpha) = x - g/\lambda$
#   with the gradient $g$, and $x$ and $x(\alpha)$ are the ends of the diameter in [`11-gradient-bound`](11-gradient-bound.ipynb).
# * **RPB** (STS19 Theorem 5) is MGB with the exact pair of $\lambda_0$.
# * **Ball test 2** (SSS14 Theorem 7) is MGB for the hinge, without a cone and with $\alpha = \hat s \in \{0,1\}^n$.
#   In the notation of SSS14, with $C = 1/\lambda$ and $\tilde\xi$ the loss of $\tilde w$, the center is
#   $m = \frac12(\tilde w + C z_{\hat s})$ and $r^2 = \|m\|^2 + C(\tilde\xi - \hat s^\top \mathbf 1)$. The
#   formula does not use that the entries of $\hat s$ are 0 or 1.
#
# RPB was compared above. The next two cells compare CDGB and ball test 2, also with fractions in $\hat s$:

# %% tags=["NEW-MGB"]
rng = np.random.default_rng(11)
for kind, _ in itertools.product(PROJECTIONS, range(20)):
    prob, _, l0, _, _ = known_problem(kind, rng)
    alpha = rng.uniform(0.0, 1.0, 6)
    cdgb = spheres.constrained_duality_gap_bound(prob, alpha, l0)
    ball = spheres.midpoint_gap_bound(prob, prob.x_of(alpha, l0), l0, alpha)
    assert np.linalg.norm(cdgb.center - ball.center) < 1e-6
    assert abs(cdgb.radius - ball.radius) < 1e-6 * (1 + ball.radius)
# a case with x(alpha) = 1/2: the solution is on the surface of CDGB, at distance 1/2
prob, _, alpha, _, _ = attained("phi")
cdgb = spheres.constrained_duality_gap_bound(prob, alpha, 1.0)
assert 0.5 <= cdgb.radius < 0.5 * (1 + 1e-6) and abs(cdgb.center[0] - 0.5) < 1e-12
print("CDGB is MGB at x(alpha), in 60 random problems and one with the solution on the surface")

# %% tags=["NEW-MGB"]
hinge_machine = ss.Problem(ss.Samples(X, 2 * y - 1), ss.Hinge())
Z = (2 * y - 1)[:, None] * X
C = 0.2
w = np.array([1.5, 0.5])
for s_hat in ((Z @ w < 1).astype(float), np.ones(12), np.linspace(0.0, 1.0, 12)):
    m_ = (w + C * s_hat @ Z) / 2
    radius = np.sqrt(m_ @ m_ + C * (np.maximum(1 - Z @ w, 0).sum() - s_hat.sum()))
    ball = spheres.midpoint_gap_bound(hinge_machine, w, 1 / C, s_hat)
    print(f"ball test 2: radius {radius:.4f}   MGB: {ball.radius:.4f}")
    assert np.linalg.norm(ball.center - m_) < 1e-12 and abs(ball.radius - radius) < 1e-7

# %% [markdown]
# ## Break it: no projection onto the cone
#
# Apply ball test 2 with fractions to metrics without the projection: use $\frac1\lambda H$ in place of
# $x(\alpha) = \frac1\lambda[H]_K$, and keep the gap. Then the two squares in step 3 differ from the squares in
# the gap, and the ball may not contain the solution. The example is one term $a = -1$ on the half-line $x \ge 0$, with
# $\lambda = 1$. The pair $x = 0$, $\alpha = 1$ is optimal and its gap is 0, but the squared radius becomes
# negative.

# %%
line = ss.Problem(ss.Triplets(np.array([[0.0], [1.0], [0.0]]), [[0, 1, 2]], diagonal=True), loss)
gap = line.primal(np.zeros(1), 1.0) - line.dual(np.ones(1), 1.0)
wrong = gap - (0.0 - (-1.0)) ** 2 / 4
print(
    f"gap {abs(gap):.3f}; squared radius with H/lam: {wrong:.2f}, with x(alpha): {abs(gap):.2f}; "
    "the solution is 0"
)
assert wrong < 0.0 and abs(gap) < 1e-12

# %% [markdown]
# ### An infeasible reference, a dual point outside the box
#
# The gap of the same problem at the infeasible $x = -0.5$ is negative. With $\alpha = 1.5$ the conjugate
# is infinite, and the formula without this infinity gives a wrong ball. The library refuses both inputs.


# %%
def refused(x, alpha):
    """Print the library's refusal, if there is one, and return whether there is."""
    try:
        spheres.midpoint_gap_bound(line, x, 1.0, alpha)
    except ValueError as error:
        print("refused:", error)
        return True
    return False


assert refused(np.array([-0.5]), None) and refused(np.zeros(1), np.array([1.5]))
value = 1.0 - (-1.0) * -0.5 - 0.025 + 0.5 * 0.25  # P(-0.5), where the margin is 0.5
print(f"gap from x = -0.5: {value - line.dual(np.ones(1), 1.0):.3f}")
assert value < line.dual(np.ones(1), 1.0)

# %% [markdown]
# ## Exercise
#
# Write the center and the squared radius for the pair $(x_0, \alpha_0)$ of $\lambda_0$ as functions of
# $\lambda$. Which terms are certain for a *range* of $\lambda$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Neither $P_+ = [H(\alpha_0)]_K$ nor $E = \langle x_0, P_+ - H\rangle + \varphi$ contains $\lambda$. So
# $Q(\lambda) = \frac12 x_0 + \frac{1}{2\lambda} P_+$ and
# $r^2(\lambda) = \frac14\|x_0\|^2 + \frac1\lambda\big(E - \frac12\langle x_0, P_+\rangle\big) + \frac{1}{4\lambda^2}\|P_+\|^2$.
# This is the general form of STS19 appendix L. The rule
# $\langle a, Q\rangle - r\|a\| > 1$ is then a linear and a quadratic inequality in $\frac1\lambda$, and it
# needs no $\varepsilon$. [`27-gap-ball-ranges`](27-gap-ball-ranges.ipynb) solves these inequalities.
#
# </details>

# %%
x = 0.15 * np.eye(2)
evaluation = metric_problem.evaluate(x, lam)
P_plus, E = evaluation.plus, np.vdot(x, evaluation.minus) + evaluation.fenchel
a, b, c = np.vdot(x, x) / 4, E - np.vdot(x, P_plus) / 2, np.vdot(P_plus, P_plus) / 4
for l1 in (0.3 * lam, lam, 2.0 * lam):
    ball = spheres.midpoint_gap_bound(metric_problem, x, l1)
    radius = np.sqrt(a + b / l1 + c / l1**2)
    print(
        f"lam {l1:.3f}: radius from numbers computed once {radius:.6f}, library {ball.radius:.6f}"
    )
    assert np.linalg.norm(ball.center - (x + P_plus / l1) / 2) < 1e-12
    assert abs(ball.radius / radius - 1.0) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Cost.** The dual value needs $x(\alpha)$ already, so MGB needs no further eigendecomposition. The center of MGB is
#   not the iterate, so MGB needs one margin per term at its center. DGB does not, because the objective has computed the margins at the iterate.
# * **Cancellation.** If a program computes the squared radius as $G - \frac14\delta^2$, rounding can make the result negative.
#   The library computes $\frac14\delta^2 + e$, a sum of non-negative summands, with an upper bound for each summand.
# * **Thresholds and linear terms** $c$ belong to $F$. So the bound applies to reduced problems, to LMNN's pull term and to
#   a threshold for each term. The problems with known solutions had thresholds and linear terms.
# * **Free choice of $\alpha$.** Any dual point is allowed, and a dual point with a smaller gap may give a smaller radius.
# * **Origin.** RYU treats the dual solution of $f(Ax) + g(x)$, where $f$ has a Lipschitz gradient. Here the
#   roles are exchanged: $f$ is $\frac1{2\lambda}\|[\,\cdot\,]_K\|^2$, and the ball contains the primal
#   solution. We read the abstract and the problem of RYU, but its theorem was not at hand.
#   [`28c-half-spaces-and-the-midpoint-ball`](28c-half-spaces-and-the-midpoint-ball.ipynb) proves what can be said without it: no ball made of the same two inequalities is smaller.
#
# Next: [`28b-midpoint-gap-bound-at-work`](28b-midpoint-gap-bound-at-work.ipynb) measures how many terms it screens.
#
# ## References
#
# * Tran, Elvira, Dang, Herzet, *One to beat them all: "RYU" - a unifying framework for the construction of
#   safe balls*, arXiv 2312.00640, 2023.
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: Theorems 1 to 6 and 14.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv
#   2014: Lemmas 2, 3 and 5, Theorem 7.
# * Zimmert, Schroeder de Witt, Kerg, Kloft, *Safe screening for support vector machines*, NIPS workshop
#   2015: the dual form of CDGB for samples.
