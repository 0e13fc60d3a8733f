# %% [markdown]
# # The gradient bound (GB)
#
# One point and one slope of the objective there are enough to fence the unknown solution in a ball. This
# notebook derives the ball, computes it in ten lines of numpy and with the library, draws it, uses it to
# screen, and breaks its assumptions one by one to see what each is for.
#
# At the end you will have seen that the gradient bound
#
# * follows from two inequalities and one completed square, the same for a metric, a diagonal metric and
#   a support vector machine;
# * is a ball with a diameter you can point at, and that the solution can lie on its very surface;
# * works with *any* dual point, for the price of the gaps in Fenchel's inequality;
# * keeps a positive radius at the solution whenever the cone constraint is active, which is why the next
#   notebook projects it.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen.spheres.base import BallReference
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# A small problem to look at while we go: twelve points of the plane in two classes, their triplets, and a metric $M$ of
# shape $2 \times 2$. Its solution $M^\star$ is computed to a duality gap of $10^{-11}$. It has rank one, so the constraint
# $M \succeq 0$ is active.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)

loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam = 0.1 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-11)

print(problem)
print("eigenvalues of the solution:", np.round(np.abs(np.linalg.eigvalsh(solution.x)), 4))

# %% [markdown]
# Stand at any point $x$ of the cone and follow the negative slope of the objective to the point $x - g/\lambda$. The
# segment between the two is the diameter of a ball, and the solution lies in this ball. That is the gradient bound.
#
# Left, $2 \times 2$ matrices: the plane through $x$, the solution and $x - g/\lambda$. It contains the center, so it cuts
# the ball in its largest disc. The cone (shaded) is the part of this plane with non-negative eigenvalues. Right, the same
# points with a diagonal metric, where the plane is the whole space.

# %%
x = 0.3 * np.eye(2)
diagonal = ss.Problem(ss.Triplets.from_labels(X, y, k=3, diagonal=True), loss)
figure, axes = figures.panels(2, height=4.0)
for ax, prob, start, title in (
    (axes[0], problem, x, "2 x 2 matrices, a plane of them"),
    (axes[1], diagonal, np.array([0.3, 0.3]), "diagonal metrics"),
):
    best = ss.solve(prob, lam, tol=1e-11).x
    b = ss.spheres.gradient_bound(prob, start, lam)
    points = {"x": start, "optimum": best, r"$x - g/\lambda$": 2 * b.center - start}
    plane = None if start.ndim == 1 else (best, start, b.center)
    figures.balls(prob.cone, {"GB": b}, points, plane=plane, ax=ax, title=title)
figures.show(
    "Left is a plane of matrices, right the plane of diagonal metrics, each with the cone shaded "
    "and a disc, the gradient bound. The reference x "
    "and the point x minus the gradient over lambda are the ends of a diameter; the "
    "optimum lies inside."
)

# %% [markdown]
# Both pictures show what is wrong with this ball: a good part of it is outside the cone, on the left
# even its center. The solution cannot be there, yet the ball does not know.

# %% [markdown]
# ## The claim
#
# > **Gradient bound** (STS19 Theorem 1; STS18 Theorem 3.2). Let $x$ be any point of the cone $K$ and $g$ any
# > subgradient of the objective $P(\cdot\,;\lambda)$ at $x$. Then the solution $x^\star$ satisfies
# >
# > $$\|x^\star - Q\| \le r, \qquad Q = x - \tfrac{1}{2\lambda}\, g, \qquad r = \tfrac{1}{2\lambda}\,\|g\| .$$
#
# | assumption | used in step |
# |---|---|
# | the loss $\ell$ is convex (smooth or not) | 1 |
# | $x$ lies in the cone $K$, and $K$ is convex | 2 |
# | $g$ is a subgradient of $P$ **at** $x$ (step 5 shows what to do when it is not) | 1, 3 |
# | $\lambda > 0$ | 4 |
#
# Nothing is asked about how good $x$ is: any feasible point will do, and a better one usually gives a
# smaller ball.
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
# ### Step 1: slopes of a convex function do not decrease (STS19 eq. C.3)
#
# Write $-\alpha_t$ for a slope of the loss at the margin $\langle a_t, x\rangle$ and $-\alpha^\star_t$
# for one at $\langle a_t, x^\star\rangle$. A convex function lies above its tangents, at either point:
#
# $$\ell(\langle a_t, x^\star\rangle) \ge
# \ell(\langle a_t, x\rangle) - \alpha_t \langle a_t, x^\star - x\rangle, \qquad
# \ell(\langle a_t, x\rangle) \ge
# \ell(\langle a_t, x^\star\rangle) - \alpha^\star_t \langle a_t, x - x^\star\rangle .$$
#
# Adding the two cancels the losses, and summing over $t$ with $H(\alpha) = c + \sum_t \alpha_t a_t$
# leaves
#
# $$\langle H(\alpha) - H(\alpha^\star),\; x - x^\star\rangle \le 0 . \tag{1}$$
#
# It is the loss that has to be convex here, nothing else. For the smoothed hinge:

# %%
u, v = np.meshgrid(np.linspace(-1.0, 2.0, 301), np.linspace(-1.0, 2.0, 301))
for gamma in (0.0, 0.05, 1.0):
    alpha = ss.SmoothedHinge(gamma).alpha
    assert np.all((alpha(u) - alpha(v)) * (u - v) <= 0.0)
print("alpha(u) = -loss'(u) never increases with u:", u.size, "pairs, three widths gamma")

# %% [markdown]
# ### Step 2: at the solution no feasible direction goes down (STS19 eq. C.1)
#
# Some subgradient of $P$ at $x^\star$, namely $\lambda x^\star - H(\alpha^\star)$, has a non-negative
# inner product with every direction that stays in $K$. The direction towards our reference $x$ is one of
# them, **because** $x \in K$ and $K$ is convex:
#
# $$\langle \lambda x^\star - H(\alpha^\star),\; x - x^\star\rangle \ge 0 . \tag{2}$$

# %%
x_star = solution.x
slope_at_star = lam * x_star - problem.terms.adjoint(problem.alpha(x_star))
feasible = [B @ B.T for B in rng.standard_normal((1000, 2, 2))]
products = np.array([np.vdot(slope_at_star, x - x_star) for x in feasible])

assert products.min() >= -1e-5 * np.linalg.norm(slope_at_star)
print("norm of the slope at the solution:", round(float(np.linalg.norm(slope_at_star)), 3))
print("smallest inner product with 1000 feasible directions:", round(float(products.min()), 3))

# %% [markdown]
# The slope at the solution is not zero: the constraint holds it up. All 1000 inner products are
# non-negative.
#
# ### Step 3: the two together
#
# Add (1) and (2): $H(\alpha^\star)$ drops out, $\langle H(\alpha) - \lambda x^\star, x - x^\star\rangle
# \le 0$. Put in $g = \lambda x - H(\alpha)$, which is a subgradient of $P$ at $x$:
#
# $$\lambda \|x^\star - x\|^2 + \langle g,\, x^\star - x\rangle \le 0 . \tag{3}$$
#
# Everything unknown about the solution has gone into one quadratic inequality for $x^\star$ itself. We
# can look at both terms on the example, from a reference that is far off.

# %%
x = 0.3 * np.eye(2)
g = lam * x - problem.terms.adjoint(problem.alpha(x))
square, slope = lam * np.linalg.norm(x_star - x) ** 2, np.vdot(g, x_star - x)
print(f"lam |x* - x|^2 = {square:.3f},  <g, x* - x> = {slope:.3f},  sum {square + slope:.3f}")
assert square + slope <= 0.0

# %% [markdown]
# ### Step 4: complete the square
#
# The left side of (3), divided by $\lambda$, is the square of a distance minus a constant:
#
# $$\|x^\star - x\|^2 + \tfrac1\lambda \langle g, x^\star - x\rangle =
# \|x^\star - (x - \tfrac{g}{2\lambda})\|^2 - \tfrac{\|g\|^2}{4\lambda^2} .$$
#
# So (3) says $\|x^\star - Q\|^2 - r^2 \le 0$ with the $Q$ and $r$ of the claim. **This is the theorem.**
#
# The same inequality reads $\langle x^\star - x,\; x^\star - (x - g/\lambda)\rangle \le 0$: from
# $x^\star$ the two points $x$ and $x - g/\lambda = H(\alpha)/\lambda$ are seen under an angle of at
# least 90 degrees. By Thales' theorem that is the ball with the segment between them as its diameter.
# One end is where we stand, the other is where we would jump if all slopes stayed as they are.
#
# sympy expands both for symmetric $2 \times 2$ matrices and the Frobenius inner product. (All sides are
# sums over coordinates, so what holds for three coordinates holds for any number.)

# %%
def symmetric(name):
    a, b, c = sp.symbols(f"{name}11 {name}12 {name}22", real=True)
    return sp.Matrix([[a, b], [b, c]])


def inner(A, B):
    return (A.T * B).trace()


Z, M, G = symmetric("z"), symmetric("m"), symmetric("g")  # x*, x and g
ell = sp.symbols("lambda", positive=True)

left = inner(Z - M, Z - M) + inner(G, Z - M) / ell
Q = M - G / (2 * ell)
right = inner(Z - Q, Z - Q) - inner(G, G) / (4 * ell**2)
thales = inner(Z - M, Z - (M - G / ell))  # seen from the two ends of a diameter
print(
    "left minus right:", sp.expand(left - right), "  left minus Thales:", sp.expand(left - thales)
)
assert sp.expand(left - right) == 0 and sp.expand(left - thales) == 0

# %% [markdown]
# ### Step 5: any dual point, at a price
#
# What if $\alpha$ is *not* the vector of slopes at $x$? For example because it comes from another
# solver, or because rounding has touched it? Then the tangent in step 1 may cut above the loss, by at
# most the gap of Fenchel's inequality (whichever $\alpha_t \in [0, 1]$ is used):
#
# $$\varphi = \sum_t \ell(\langle a_t, x\rangle) + \ell^*(-\alpha_t)
# + \alpha_t \langle a_t, x\rangle \;\ge\; 0,$$
#
# with $\varphi = 0$ exactly when all $-\alpha_t$ are slopes at $x$.
#
# Carrying it along, (1) gets $\varphi$ on its right side, (3) too, and step 4 ends with
#
# $$Q = x - \tfrac{1}{2\lambda} g, \qquad r^2 = \tfrac{1}{4\lambda^2}\|g\|^2 + \tfrac1\lambda \varphi,
# \qquad g = \lambda x - H(\alpha) . \tag{4}$$
#
# The solver needs this for the hinge, whose dual points are fractional at the kink. It is what the library
# computes, with an upper bound of $\varphi$ that covers the rounding of every margin. The Fenchel gap of the smoothed hinge in closed form, for each of the three pieces of the loss:

# %%
m, a, gam = sp.symbols("u alpha gamma", positive=True)
conjugate = gam * a**2 / 2 - a
pieces = {
    "zero      (u > 1)": sp.Integer(0),
    "quadratic": (1 - m) ** 2 / (2 * gam),
    "linear    (u < 1 - gamma)": 1 - m - gam / 2,
}
for name, value in pieces.items():
    print(f"{name:26} {sp.factor(value + conjugate + a * m)}")
square = (1 - m - gam * a) ** 2 / (2 * gam)
assert sp.simplify(pieces["quadratic"] + conjugate + a * m - square) == 0

# %% [markdown]
# On the quadratic piece it is a square, zero exactly at $\alpha = (1 - u)/\gamma$. On the other two it
# is a product: for $u > 1$ non-negative, and zero at $\alpha = 0$; for $u < 1 - \gamma$ non-negative on
# $[0, 1]$, and zero at $\alpha = 1$.
#
# ## Ten lines of numpy
#
# A matrix is the vector of its entries, then the Frobenius inner product is a dot product. `A` holds one
# term a row.

# %%
def gradient_ball(A, x, lam, gamma, alpha=None):
    """Center and radius by equation (4), straight from the definitions."""
    margin = A @ x
    slope = np.clip((1.0 - margin) / gamma, 0.0, 1.0)
    value = slope * (1.0 - margin) - gamma * slope**2 / 2
    alpha = slope if alpha is None else alpha
    g = lam * x - A.T @ alpha
    fenchel = np.sum(np.maximum(value + gamma * alpha**2 / 2 - alpha + alpha * margin, 0.0))
    return x - g / (2 * lam), np.sqrt(g @ g / (4 * lam**2) + fenchel / lam)


i, j, k = problem.terms.index.T
far, near = X[i] - X[k], X[i] - X[j]
A = far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]
A = A.reshape(len(problem), 4)
slow_center, slow_radius = gradient_ball(A, x.ravel(), lam, loss.gamma)
print("center", np.round(slow_center, 4), " radius", round(float(slow_radius), 4))

# %% [markdown]
# ## The library, and does it match?
#
# The centers agree to rounding. The library's radius must not be smaller than the exact one, since it
# includes the rounding of the whole computation, and it should not be much larger.

# %%
ball = ss.spheres.gradient_bound(problem, x, lam)
difference = np.linalg.norm(ball.center.ravel() - slow_center)
excess = ball.radius / slow_radius - 1.0
print("center", np.round(ball.center.ravel(), 4), " radius", round(ball.radius, 4))
assert difference < 1e-13 and 0.0 < excess < 1e-9
print("the centers differ by less than 1e-13, and the radius is larger, by less than a part in 1e9")

# %% [markdown]
# ## One theorem for three cones
#
# Steps 1 to 5 never asked what $K$ is. Here are random problems of all three kinds, each solved to a
# tiny gap, and references of all qualities: zero, points of the cone drawn at random near and far, a
# point half-way to the solution, the solution itself. Each goes with three dual points: its own slopes
# $\alpha(x)$, random numbers of $[0, 1]$, and a mixture of the two. The library's ball is compared with
# the ten lines of numpy, and its distance from the solution $\|x^\star - Q\|/r$ with 1, the surface (the
# accuracy of the computed $x^\star$, which the solver reports as `eps`, is granted to the ball).
#
# **Is the surface reached?** From $\lambda_{\max}$ on all terms are on the linear piece of the loss, at
# $x = 0$ as well as at $x^\star = [H(\mathbf 1)]_K/\lambda$. Then (1) is an equality, and so is (2): every
# such solution is on the surface of the ball around $x = 0$, whether the constraint is active or not. And
# for (4): one term $a = 1$ on the line, the hinge, $\lambda = 1$. The solution is $x^\star = 1$, at the
# kink. From $x = 0$ with the dual point $s$ the center is $s/2$, $\varphi = 1 - s$ and $r = 1 - s/2$: the
# solution is on the surface for every $s$, with a $\varphi$ that is not 0.

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
    yield x_star


def library_ball(problem, x, weight, alpha):
    """GB as a solver has it: from the evaluation of a pair."""
    return ss.SPHERES["GB"].build(BallReference(problem, problem.evaluate(x, weight, alpha)))


# %%
def instances(rng, kinds, repeats):
    """Random problems, their terms as rows, a lam, and the solution."""
    for kind in kinds:
        for repeat in range(repeats):
            instance = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            rows = np.array(
                [instance.terms.adjoint(unit).ravel() for unit in np.eye(len(instance))]
            )
            lam_max = max(instance.lam_max(), 1.0)
            weight = lam_max * rng.choice([2.0, 0.5, 0.1, 0.02])
            optimum = ss.solve(instance, weight, rtol=1e-13, tol=1e-12)
            yield kind, instance, rows, weight, optimum


def pairs(problem, optimum, rng):
    """References x and dual points alpha: the slopes at x, random ones, and a mixture."""
    for reference in references(problem, optimum.x, rng):
        slopes = problem.alpha(reference)
        noise = rng.uniform(0.0, 1.0, len(problem))
        for alpha in (slopes, noise, 0.9 * slopes + 0.1 * noise):
            yield reference, alpha


# %% tags=["STS19-T1"]
rng = np.random.default_rng(11)
kinds, count, apart = ("metric", "diagonal metric", "support vectors"), 0, 0.0
largest, attained = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 1.0)
for kind, instance, rows, weight, optimum in instances(rng, kinds, 40):
    for reference, alpha in pairs(instance, optimum, rng):
        b = library_ball(instance, reference, weight, alpha)
        center, radius = gradient_ball(rows, reference.ravel(), weight, instance.loss.gamma, alpha)
        size = np.linalg.norm(center) + radius
        apart = max(
            apart, np.linalg.norm(b.center.ravel() - center) / size, abs(b.radius - radius) / size
        )
        distance = np.linalg.norm(optimum.x - b.center)
        assert distance <= b.radius + optimum.eps
        largest[kind], count = max(largest[kind], distance / (b.radius + optimum.eps)), count + 1
    above = 1.5 * max(instance.lam_max(), 1.0)
    b = ss.spheres.gradient_bound(instance, instance.cone.zeros(), above)
    on_the_surface = instance.all_linear() / above
    attained[kind] = min(attained[kind], np.linalg.norm(on_the_surface - b.center) / b.radius)

print(f"{count} balls; the library and numpy differ by less than 1e-6 of their size")
for kind in kinds:
    print(
        f"{kind:16} largest distance {largest[kind]:.3f} (bound 1); at 1.5 lam_max from x = 0: "
        f"{attained[kind]:.6f} in all"
    )
assert apart < 1e-6 and max(largest.values()) <= 1.0 and min(attained.values()) > 1.0 - 1e-6

# %% [markdown]
# The one term with the hinge: for all eleven dual points the solution is on the surface.

# %% tags=["STS19-T1"]
# a = 1, and a sample of zeros
one_term = ss.Problem(ss.Samples(np.array([[1.0], [0.0]]), [1, -1]), ss.Hinge())
surface = []
for s in np.linspace(0.0, 1.0, 11):
    b = library_ball(one_term, np.zeros(1), 1.0, np.array([s, 1.0]))
    surface.append(abs(1.0 - b.center[0]) / b.radius)

print(f"one term, hinge, 11 dual points: distance {min(surface):.6f} to {max(surface):.6f}")
assert 1.0 - 1e-6 < min(surface) <= max(surface) <= 1.0

# %% [markdown]
# None is outside. In every family some solutions lie *on* the surface: nothing can be taken away from the
# radius, neither from the part of the slope nor from the part of $\varphi$.

# %% [markdown]
# ## What it screens
#
# A triplet is certified to cost nothing (R) when $\langle a_t, Q\rangle - r\|a_t\| > 1$, and to be on
# the linear piece of the loss (L) when $\langle a_t, Q\rangle + r\|a_t\| < 1 - \gamma$. Half-way to the
# solution:

# %%
x_half = 0.5 * (x + x_star)
b = ss.spheres.gradient_bound(problem, x_half, lam)
found = ss.rules.sphere(problem, b)
margins = problem.terms.margins(x_star)

assert np.all(margins[found.in_R] > 1.0) and np.all(margins[found.in_L] < 1.0 - loss.gamma)
assert 0 < found.n_L + found.n_R < len(problem)
print(f"{len(problem)} triplets, certified: {found.n_L} in L, {found.n_R} in R; rightly so")
figures.terms_on_loss(loss, margins, found, title="margins at the solution, what GB certifies")
figures.show(
    "Dots are the triplets on the loss, at their margins at the solution, coloured by what the "
    "gradient bound certifies: "
    f"{found.n_L} are certain to lie on the falling line, {found.n_R} on the flat part, and "
    f"{len(problem) - found.n_L - found.n_R} stay undecided."
)

# %% [markdown]
# ## The radius at the solution
#
# Put $x = x^\star$. The radius is $\|\lambda x^\star - H(\alpha^\star)\| / 2\lambda$, and $\lambda
# x^\star = [H(\alpha^\star)]_K$, the projection onto the cone. So it is half of $\|[H]_K - H\|/\lambda$:
# **zero when the constraint is inactive, positive when it is active.** STS19's Table 1 says of GB that
# its radius "can be" positive; the projected gradient bound, whose center is $[Q]_K$ and
# $r^2 = r_{GB}^2 - \|Q - [Q]_K\|^2$, does not have this defect. Along the iterates of projected gradient:

# %% tags=["nbval-ignore-output"]
bounds = {"GB": ss.spheres.gradient_bound, "PGB": ss.spheres.projected_gradient_bound}
machine = ss.Problem(ss.Samples(X, 2 * y - 1), loss)
cases = {
    "metric of rank one: constraint active": (problem, lam, x),
    "support vectors: no constraint": (machine, 0.3 * machine.lam_max(), np.zeros(2)),
}
radii = {}
titles = list(cases)
figure, axes = figures.panels(2, height=3.2)
for ax, (title, (prob, weight, start)) in zip(axes, cases.items(), strict=True):
    visited = []
    keep = {"callback": lambda progress, to=visited: to.append(progress.x)}
    ss.solve(prob, weight, 1e-9, x0=start, screening=(), method="gradient", **keep)
    radii[title] = {
        name: [bound(prob, z, weight).radius for z in visited] for name, bound in bounds.items()
    }
    figures.lines(
        radii[title], ax=ax, title=title, xlabel="iteration", ylabel="radius", log="y", marks=True
    )
figures.show(
    "Curves show the radii of the balls against the iteration, on a logarithmic axis. "
    f"Left, with an active constraint: {figures.ends(radii[titles[0]], '{:.1g}')}. Right, without "
    "a constraint, where the balls are equal: "
    f"{figures.ends(radii[titles[1]], '{:.1g}')}."
)

# %%
stuck = np.linalg.norm(slope_at_star) / (2 * lam)
metric, vectors = radii.values()
print(f"metric, last radius: GB {metric['GB'][-1]:.4f}, PGB below 1e-4")
print(f"norm of the slope at x* over 2 lam: {stuck:.4f}")
print("support vectors, last radius of GB: below 1e-4")
assert abs(metric["GB"][-1] - stuck) < 1e-4 and stuck > 0.01
assert metric["PGB"][-1] < 1e-4 and vectors["GB"][-1] < 1e-4

# %% [markdown]
# ## Break it
#
# ### The reference must be feasible
#
# Step 2 walks from $x^\star$ to $x$ inside the cone. Take one term with $a = -1$ on the half-line $x \ge
# 0$: whatever $\lambda$, the solution is $x^\star = 0$, because the loss grows with $x$. From the
# infeasible $x = -0.5$ the ball ends before it reaches the cone at all.

# %%
center, radius = gradient_ball(np.array([[-1.0]]), np.array([-0.5]), 1.0, 0.05)
print(
    f"ball from x = -0.5: [{center[0] - radius:.2f}, {center[0] + radius:.2f}], the solution is 0"
)
assert center[0] + radius < 0.0

line = ss.Problem(
    ss.Triplets(np.array([[0.0], [1.0], [0.0]]), [[0, 1, 2]], diagonal=True), loss
)
assert line.terms.margins(np.ones(1))[0] == -1.0
try:
    ss.spheres.gradient_bound(line, np.array([-0.5]), 1.0)
except ValueError as error:
    print("the library refuses:", error)

# %% [markdown]
# ### The slope must be one at the reference
#
# With a dual point that is not $\alpha(x)$, the radius $\|g\|/2\lambda$ is simply wrong. With the
# Fenchel gap of step 5 added, any dual point is right again. Here are 1000 random dual points at $x = 0$
# and a large $\lambda$, where the right one is $\alpha = 1$ for every triplet and the solution is known
# in closed form.

# %%
rng = np.random.default_rng(5)
weight = 1.5 * problem.lam_max()
exact = problem.all_linear().ravel() / weight
outside = {"without": 0, "with": 0}
for _ in range(1000):
    alpha = rng.uniform(0.0, 1.0, len(problem))
    center, radius = gradient_ball(A, np.zeros(4), weight, loss.gamma, alpha)
    distance = np.linalg.norm(exact - center)
    outside["without"] += distance > np.linalg.norm(center)  # at x = 0 the center is -g/(2 lam)
    outside["with"] += distance > radius
print(
    f"solution outside the ball: {outside['without']} of 1000 without the Fenchel gap, "
    f"{outside['with']} with it"
)
assert outside["with"] == 0 and outside["without"] > 900

# %% [markdown]
# ### The loss must be convex, but not smooth
#
# The hinge itself ($\gamma = 0$) has a kink, where every $\alpha_t \in [0, 1]$ is a slope. The proof takes
# whichever is offered. Here are the balls of $\alpha(x)$, from four points:

# %%
hinge = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.Hinge())
at_hinge = ss.solve(hinge, lam, tol=1e-8)
ratios = []
for point in (hinge.cone.zeros(), x, x_half, at_hinge.x):
    b = ss.spheres.gradient_bound(hinge, point, lam)
    ratios.append(np.linalg.norm(at_hinge.x - b.center) / (b.radius + at_hinge.eps))
print("hinge, distance in radii:", np.round(ratios, 3))
assert max(ratios) <= 1.0

# %% [markdown]
# ## Exercise
#
# Suppose a triplet is in R at the solution, but $\langle a_t, x\rangle = 0.9$ at the reference. Can GB,
# built from this reference, ever certify it? Can DGB, whose ball is centered at $x$? PGB? The path bound
# RRPB, whose center is $\frac{\lambda_0 + \lambda_1}{2\lambda_1} x_0$ and whose radius is at least
# $\frac{|\lambda_0 - \lambda_1|}{2\lambda_1} \|x_0\|$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# None of them. A rule certifies R only if $\langle a_t, z\rangle > 1$ for *every* $z$ of the ball, and
# each of these balls contains its reference:
#
# * GB: $\|x - Q\| = \|g\|/2\lambda = r$, the reference is on the surface. DGB: it is the center.
# * PGB: projecting $Q$ moves it towards every point of the cone,
#   $\|x - [Q]_K\|^2 \le \|x - Q\|^2 - \|Q - [Q]_K\|^2$.
# * RRPB: $\|x_0 - Q\| = \frac{|\lambda_0 - \lambda_1|}{2\lambda_1}\|x_0\|$, which is the radius when
#   $x_0$ is exact.
#
# Screening does not predict, it *confirms*: it finds the triplets that are already in the right category
# at the reference and proves that they stay there. That is why it pays to screen again as iterates improve.
#
# </details>

# %% tags=["nbval-ignore-output"]
x0 = ss.solve(problem, lam / 0.9, tol=1e-6)
n_balls, n_certified, n_new = 0, 0, 0
for point in (x, x_half, x_star, x0.x):
    of_point = {
        "GB": ss.spheres.gradient_bound(problem, point, lam),
        "PGB": ss.spheres.projected_gradient_bound(problem, point, lam),
        "DGB": ss.spheres.duality_gap_bound(problem, point, lam),
        "MGB": ss.spheres.midpoint_gap_bound(problem, point, lam),
    }
    if point is x0.x:
        of_point["RRPB"] = ss.spheres.relaxed_path_bound(point, x0.eps, lam / 0.9, lam)
    here = problem.terms.margins(point)
    for name, b in of_point.items():
        found = ss.rules.sphere(problem, b)
        assert b.contains(point), name
        n_balls, n_certified = n_balls + 1, n_certified + found.n_L + found.n_R
        n_new += int(np.sum(here[found.in_R] <= 1.0) + np.sum(here[found.in_L] >= 1.0 - loss.gamma))
print(
    f"{n_balls} balls hold their references; {n_certified} triplets certified, {n_new} of them "
    "not there yet at the reference"
)
assert n_new == 0 < n_certified

# %% [markdown]
# ## Fine print
#
# * **Cost.** One pass over the terms for $\alpha(x)$ and $H(\alpha)$, which an iteration of projected
#   gradient has made anyway. It needs no eigendecomposition, except for the half-space that the linear rule wants (`ball.normal`).
# * **Rounding.** The computed $\alpha(x)$ is the slope at $x$ up to rounding only. Equation (4) with an
#   upper bound of $\varphi$, and bounds of the errors of $H$, of $x$ and of the norm, make the radius of
#   the library an upper bound of one that is exactly right.
# * **The linear term** $c$ cancels in step 1. That is why the ball holds for reduced problems, whose $c$
#   collects the triplets known to be in L, and for the pull term of LMNN.
# * **Where it leads.** Projecting the center removes the defect at the solution (PGB, STS19 Theorem 2).
#   Replacing the reference's own slopes by an arbitrary dual point and the inequality (2) by its dual
#   form gives the midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb), very likely the RYU ball of sparse regression), of
#   which GB is the special case $K$ = whole space.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 3.1, Theorem 1, proof in appendix C (there headed "Theorem 2 (GB)").
# * STS18: the same authors, KDD 2018: Theorem 3.2.
# * For support vector machines: Shibagaki, Suzuki, Karasuyama, Takeuchi, *Regularization path of
#   cross-validation error lower bounds*, NIPS 2015.
