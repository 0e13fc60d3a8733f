# %% [markdown]
# # The gradient bound (GB)
#
# A point of the cone and a subgradient of the objective at this point determine a ball that contains the unknown solution. This notebook derives the ball, computes it in ten lines of numpy and with the library, draws it, and uses it to screen. Then it breaks the assumptions one by one, to show why the proof needs each.
#
# At the end you will have seen that the gradient bound
#
# * follows from two inequalities and one completed square, the same for a metric, a diagonal metric and
#   a support vector machine;
# * is a ball whose diameter is a segment between two known points, and that the solution can lie on the ball's surface;
# * works with *any* dual point, if the gaps in Fenchel's inequality are added to the squared radius;
# * keeps a positive radius at the solution whenever the cone constraint is active. Therefore the next notebook projects the center.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen.spheres.base import BallReference
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# Our example is a small problem: twelve points of the plane in two classes, their triplets, and a metric $M$ of shape $2 \times 2$. The library solves the problem to a duality gap of $10^{-11}$. The solution $M^\star$ has rank one, so the constraint $M \succeq 0$ is active.

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
# Start from any point $x$ of the cone and go along the negative gradient $-g$ of the objective to the point $x - g/\lambda$. The segment between these two points is the diameter of a ball, and the solution lies in this ball. The gradient bound is this ball.
#
# The left picture shows the plane of $2 \times 2$ matrices through $x$, the solution and $x - g/\lambda$. This plane contains the center, so it cuts the ball in its largest disc. In the shaded region, the cone, the eigenvalues are non-negative. The right picture shows the same data with a diagonal metric; a diagonal metric has two entries, so all of them lie in the plane.

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
    "The left panel shows a plane of matrices and the right panel the plane of diagonal metrics. "
    "In each panel the cone is shaded, and the disc is the gradient bound. The reference x and "
    "the point x minus the gradient over lambda are the ends of a diameter; the optimum lies "
    "inside the disc."
)

# %% [markdown]
# Both pictures show a weakness of this ball: a large part of the ball is outside the cone. In the left picture even the center is outside. The solution cannot lie outside the cone, but the ball does not use this fact.

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
# The theorem does not require that $x$ is near the solution. Any feasible point gives a valid ball, and a point nearer to the solution usually gives a smaller ball.
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
# Write $-\alpha_t$ for a slope of the loss at the margin $\langle a_t, x\rangle$, and $-\alpha^\star_t$ for a slope at $\langle a_t, x^\star\rangle$. A convex function lies above its tangents at both points:
#
# $$\ell(\langle a_t, x^\star\rangle) \ge
# \ell(\langle a_t, x\rangle) - \alpha_t \langle a_t, x^\star - x\rangle, \qquad
# \ell(\langle a_t, x\rangle) \ge
# \ell(\langle a_t, x^\star\rangle) - \alpha^\star_t \langle a_t, x - x^\star\rangle .$$
#
# Add the two inequalities: the losses cancel. Then sum over $t$, with $H(\alpha) = c + \sum_t \alpha_t a_t$:
#
# $$\langle H(\alpha) - H(\alpha^\star),\; x - x^\star\rangle \le 0 . \tag{1}$$
#
# This step uses only that the loss is convex. We check the slopes of the smoothed hinge:

# %%
u, v = np.meshgrid(np.linspace(-1.0, 2.0, 301), np.linspace(-1.0, 2.0, 301))
for gamma in (0.0, 0.05, 1.0):
    alpha = ss.SmoothedHinge(gamma).alpha
    assert np.all((alpha(u) - alpha(v)) * (u - v) <= 0.0)
print("alpha(u) = -loss'(u) never increases with u:", u.size, "pairs, three widths gamma")

# %% [markdown]
# ### Step 2: at the solution the objective decreases in no feasible direction (STS19 eq. C.1)
#
# The subgradient $\lambda x^\star - H(\alpha^\star)$ of $P$ at $x^\star$ has a non-negative inner product with every direction that stays in $K$. The direction towards our reference $x$ stays in $K$, **because** $x \in K$ and $K$ is convex:
#
# $$\langle \lambda x^\star - H(\alpha^\star),\; x - x^\star\rangle \ge 0 . \tag{2}$$

# %%
x_star = solution.x
slope_at_star = lam * x_star - problem.terms.adjoint(problem.alpha(x_star))
feasible = [B @ B.T for B in rng.standard_normal((1000, 2, 2))]
products = np.array([np.vdot(slope_at_star, x - x_star) for x in feasible])

assert products.min() >= -1e-5 * np.linalg.norm(slope_at_star)
print("norm of the gradient at the solution:", round(float(np.linalg.norm(slope_at_star)), 3))
print("smallest inner product with 1000 feasible directions:", round(float(products.min()), 3))

# %% [markdown]
# The gradient at the solution is not zero, because the constraint is active. All 1000 inner products are non-negative.
#
# ### Step 3: the sum of (1) and (2)
#
# Add (1) and (2): $H(\alpha^\star)$ cancels, and $\langle H(\alpha) - \lambda x^\star, x - x^\star\rangle \le 0$ remains. Insert $g = \lambda x - H(\alpha)$, which is a subgradient of $P$ at $x$:
#
# $$\lambda \|x^\star - x\|^2 + \langle g,\, x^\star - x\rangle \le 0 . \tag{3}$$
#
# In (3) only $x^\star$ is unknown, so (3) is a quadratic inequality for the solution. We compute both terms of (3) on the example, with a reference that is far from the solution.

# %%
x = 0.3 * np.eye(2)
g = lam * x - problem.terms.adjoint(problem.alpha(x))
square = lam * np.linalg.norm(x_star - x) ** 2
slope = np.vdot(g, x_star - x)
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
# We can also write (3) as $\langle x^\star - x,\; x^\star - (x - g/\lambda)\rangle \le 0$: seen from $x^\star$, the angle between the points $x$ and $x - g/\lambda = H(\alpha)/\lambda$ is at least 90 degrees. By Thales' theorem $x^\star$ then lies in the ball whose diameter is the segment between these two points. One end of the diameter is the reference. The other end would minimise the objective if all slopes stayed constant and there were no constraint.
#
# sympy expands both forms for symmetric $2 \times 2$ matrices and the Frobenius inner product. (All sides are sums over coordinates, so an identity for three coordinates holds for any number of coordinates.)

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
thales = inner(Z - M, Z - (M - G / ell))  # M and M - G / ell are the ends of a diameter
left_right = sp.expand(left - right)
left_thales = sp.expand(left - thales)
print("left minus right:", left_right, "  left minus Thales:", left_thales)
assert left_right == 0 and left_thales == 0

# %% [markdown]
# ### Step 5: any dual point, with a larger radius
#
# Suppose that $\alpha$ is *not* the vector of slopes at $x$, for example because it comes from another solver or contains rounding errors. Then the line in step 1 may lie above the loss. For every $\alpha_t \in [0, 1]$ it lies above by at most the term's gap in Fenchel's inequality, and we sum these gaps:
#
# $$\varphi = \sum_t \ell(\langle a_t, x\rangle) + \ell^*(-\alpha_t)
# + \alpha_t \langle a_t, x\rangle \;\ge\; 0,$$
#
# with $\varphi = 0$ exactly when all $-\alpha_t$ are slopes at $x$.
#
# With this $\alpha$ the right sides of (1) and (3) are $\varphi$ in place of 0, and step 4 gives
#
# $$Q = x - \tfrac{1}{2\lambda} g, \qquad r^2 = \tfrac{1}{4\lambda^2}\|g\|^2 + \tfrac1\lambda \varphi,
# \qquad g = \lambda x - H(\alpha) . \tag{4}$$
#
# The solver needs (4) for the hinge, because the hinge's dual points are fractional at the kink. The library computes (4), with an upper bound of $\varphi$ that covers the rounding errors of all margins. The next cell prints the Fenchel gap of the smoothed hinge for each of the three pieces of the loss:

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
# On the quadratic piece the Fenchel gap is a square, which is zero exactly at $\alpha = (1 - u)/\gamma$. On the two straight pieces the Fenchel gap is a product. For $u > 1$ this product is non-negative, and zero at $\alpha = 0$. For $u < 1 - \gamma$ it is non-negative on $[0, 1]$, and zero at $\alpha = 1$.
#
# ## Ten lines of numpy
#
# We store a matrix as the vector of its entries, so that the Frobenius inner product is a dot product. Each row of `A` is one term.

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
# ## Does the library match?
#
# The two centers agree up to rounding. The library's radius includes bounds of all rounding errors. So it must not be smaller than the exact radius, and should not be much larger.

# %%
ball = ss.spheres.gradient_bound(problem, x, lam)
difference = np.linalg.norm(ball.center.ravel() - slow_center)
excess = ball.radius / slow_radius - 1.0
print("center", np.round(ball.center.ravel(), 4), " radius", round(ball.radius, 4))
assert difference < 1e-13 and 0.0 < excess < 1e-9
print("the centers differ by less than 1e-13, and the library's radius is larger by less than 1e-9")

# %% [markdown]
# ## One theorem for three cones
#
# Steps 1 to 5 use only that $K$ is a convex cone. We test the theorem on random problems of three kinds, each solved to a tiny gap. The references are zero, random points of the cone near and far, a point half-way to the solution, and the solution itself. We combine each reference with three dual points: the slopes $\alpha(x)$, random numbers in $[0, 1]$, and a mixture of both. We compare the library's ball with the ten lines of numpy. Then we compute $\|x^\star - Q\|/r$, which must be at most 1; here we add to the radius the solver's bound `eps` of the error of the computed $x^\star$.
#
# **Can the solution lie on the surface?** For $\lambda \ge \lambda_{\max}$ all terms are on the linear piece of the loss, both at $x = 0$ and at $x^\star = [H(\mathbf 1)]_K/\lambda$. Then (1) and (2) are equalities. So the solution is on the surface of the ball of the reference $x = 0$, whether the constraint is active or not. For (4) we use one term $a = 1$ on the line, the hinge, and $\lambda = 1$. The solution is $x^\star = 1$, at the kink. For the reference $x = 0$ and the dual point $s$ the center is $s/2$, $\varphi = 1 - s$ and $r = 1 - s/2$. So the solution is on the surface for every $s$, although $\varphi > 0$ for $s < 1$.

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
    """GB from the evaluation of a pair, as a solver computes it."""
    return ss.SPHERES["GB"].build(BallReference(problem, problem.evaluate(x, weight, alpha)))


# %%
def instances(rng, kinds, repeats):
    """Random problems, their terms as rows, a value of lam, and the solution."""
    for kind in kinds:
        for repeat in range(repeats):
            instance = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            units = np.eye(len(instance))
            rows = np.array([instance.terms.adjoint(unit).ravel() for unit in units])
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


# %%
def above_lam_max(instance):
    """Distance of the solution at 1.5 lam_max from the center of the ball of x = 0, in radii."""
    weight = 1.5 * max(instance.lam_max(), 1.0)
    b = ss.spheres.gradient_bound(instance, instance.cone.zeros(), weight)
    return np.linalg.norm(instance.all_linear() / weight - b.center) / b.radius


# %% tags=["STS19-T1"]
rng = np.random.default_rng(11)
kinds = ("metric", "diagonal metric", "support vectors")
count = 0
apart = 0.0
largest = dict.fromkeys(kinds, 0.0)
attained = dict.fromkeys(kinds, 1.0)
for kind, instance, rows, weight, optimum in instances(rng, kinds, 40):
    for reference, alpha in pairs(instance, optimum, rng):
        b = library_ball(instance, reference, weight, alpha)
        center, radius = gradient_ball(rows, reference.ravel(), weight, instance.loss.gamma, alpha)
        size = np.linalg.norm(center) + radius
        apart = max(apart, np.linalg.norm(b.center.ravel() - center) / size)
        apart = max(apart, abs(b.radius - radius) / size)
        distance = np.linalg.norm(optimum.x - b.center)
        assert distance <= b.radius + optimum.eps
        largest[kind] = max(largest[kind], distance / (b.radius + optimum.eps))
        count += 1
    attained[kind] = min(attained[kind], above_lam_max(instance))

print(f"{count} balls; the library and numpy differ by less than 1e-6 of their size")
for kind in kinds:
    print(
        f"{kind:16} largest distance {largest[kind]:.3f} radii (bound 1); above lam_max from "
        f"x = 0 at least {attained[kind]:.6f} radii"
    )
assert apart < 1e-6 and max(largest.values()) <= 1.0 and min(attained.values()) > 1.0 - 1e-6

# %% [markdown]
# For one term with the hinge the solution is on the surface for all eleven dual points:

# %% tags=["STS19-T1"]
# the first sample is the term a = 1; the second sample is zero
one_term = ss.Problem(ss.Samples(np.array([[1.0], [0.0]]), [1, -1]), ss.Hinge())
surface = []
for s in np.linspace(0.0, 1.0, 11):
    b = library_ball(one_term, np.zeros(1), 1.0, np.array([s, 1.0]))
    surface.append(abs(1.0 - b.center[0]) / b.radius)

print(f"one term, hinge, 11 dual points: distance {min(surface):.6f} to {max(surface):.6f} radii")
assert 1.0 - 1e-6 < min(surface) <= max(surface) <= 1.0

# %% [markdown]
# No solution is outside its ball. In each of the three kinds of problems some solutions lie *on* the surface. So no smaller radius would be valid: neither $\|g\|^2/4\lambda^2$ nor $\varphi/\lambda$ in (4) can be reduced.

# %% [markdown]
# ## What it screens
#
# The ball certifies that a triplet has zero loss (R) when $\langle a_t, Q\rangle - r\|a_t\| > 1$. It certifies that a triplet is on the linear piece of the loss (L) when $\langle a_t, Q\rangle + r\|a_t\| < 1 - \gamma$. We take the point half-way to the solution as the reference:

# %%
x_half = 0.5 * (x + x_star)
b = ss.spheres.gradient_bound(problem, x_half, lam)
found = ss.rules.sphere(problem, b)
margins = problem.terms.margins(x_star)

assert np.all(margins[found.in_R] > 1.0) and np.all(margins[found.in_L] < 1.0 - loss.gamma)
assert 0 < found.n_L + found.n_R < len(problem)
print(f"{len(problem)} triplets, certified correctly: {found.n_L} in L, {found.n_R} in R")
figures.terms_on_loss(loss, margins, found, title="margins at the solution, what GB certifies")
figures.show(
    "Dots show the triplets on the loss, at their margins at the solution. The colour shows what "
    f"the gradient bound certifies: {found.n_L} triplets lie on the falling line, "
    f"{found.n_R} lie on the flat part, and {len(problem) - found.n_L - found.n_R} stay undecided."
)

# %% [markdown]
# ## The radius at the solution
#
# Let the reference be $x = x^\star$. The radius is $\|\lambda x^\star - H(\alpha^\star)\| / 2\lambda$, and $\lambda x^\star = [H(\alpha^\star)]_K$, the projection onto the cone. So the radius is $\|[H]_K - H\|/2\lambda$: **it is zero when the constraint is inactive, and positive when the constraint is active.** STS19's Table 1 says that the radius of GB "can be" positive. The projected gradient bound (PGB) has the center $[Q]_K$ and the squared radius $r_{GB}^2 - \|Q - [Q]_K\|^2$, and its radius is zero at the solution. We compute both radii at the iterates of projected gradient:

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
left, right = (figures.ends(radii[title], "{:.1g}") for title in titles)
figures.show(
    "Curves show the radii of the balls against the iteration, on a logarithmic axis. With an "
    f"active constraint (left) the radii change as follows: {left}. "
    f"Without a constraint (right) the balls are equal: {right}."
)

# %%
stuck = np.linalg.norm(slope_at_star) / (2 * lam)
metric, vectors = radii.values()
print(f"metric, last radius: GB {metric['GB'][-1]:.4f}, PGB below 1e-4")
print(f"norm of the gradient at x* over 2 lam: {stuck:.4f}")
print("support vectors, last radius of GB: below 1e-4")
assert abs(metric["GB"][-1] - stuck) < 1e-4 and stuck > 0.01
assert metric["PGB"][-1] < 1e-4 and vectors["GB"][-1] < 1e-4

# %% [markdown]
# ## Break it
#
# ### The reference must be feasible
#
# Step 2 uses that the segment from $x^\star$ to $x$ lies inside the cone. Take one term with $a = -1$ on the half-line $x \ge 0$. The solution is $x^\star = 0$ for every $\lambda$, because the loss increases with $x$. The ball of the infeasible reference $x = -0.5$ does not intersect the cone.

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
# ### The subgradient must be a subgradient at the reference
#
# With a dual point other than $\alpha(x)$, the radius $\|g\|/2\lambda$ is wrong. With the Fenchel gap of step 5 the ball is valid for any dual point. We draw 1000 random dual points at $x = 0$ for a large $\lambda$. For this $\lambda$ we know the solution in closed form, and $\alpha_t(x) = 1$ for every triplet.

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
# The hinge ($\gamma = 0$) has a kink, at which every $\alpha_t \in [0, 1]$ is minus a slope. The proof is valid for each of these $\alpha_t$. We compute the balls of $\alpha(x)$ for four references:

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
# Suppose that a triplet is in R at the solution, but $\langle a_t, x\rangle = 0.9$ at the reference. Can the GB of this reference certify the triplet? Can PGB, or DGB, whose center is $x$? Can the path bound RRPB? Its center is $\frac{\lambda_0 + \lambda_1}{2\lambda_1} x_0$, and its radius is at least $\frac{|\lambda_0 - \lambda_1|}{2\lambda_1} \|x_0\|$.
#
# <details>
# <summary><b>Solution</b></summary>
#
# None of them can. A rule certifies R only if $\langle a_t, z\rangle > 1$ for *every* $z$ of the ball, and each of these balls contains its reference:
#
# * GB: $\|x - Q\| = \|g\|/2\lambda = r$, so the reference is on the surface. DGB: the reference is the center.
# * PGB: the projection brings $Q$ nearer to every point of the cone, so $\|x - [Q]_K\|^2 \le \|x - Q\|^2 - \|Q - [Q]_K\|^2$.
# * RRPB: $\|x_0 - Q\| = \frac{|\lambda_0 - \lambda_1|}{2\lambda_1}\|x_0\|$, which is the radius when
#   $x_0$ is exact.
#
# Screening does not predict the category of a triplet. It *confirms* the category at the reference: the rule proves that the triplet is in the same category at the solution. Therefore a solver screens again when its iterates have improved.
#
# </details>

# %% tags=["nbval-ignore-output"]
x0 = ss.solve(problem, lam / 0.9, tol=1e-6)
n_balls = n_certified = n_new = 0
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
        n_balls += 1
        n_certified += found.n_L + found.n_R
        n_new += int(np.sum(here[found.in_R] <= 1.0))
        n_new += int(np.sum(here[found.in_L] >= 1.0 - loss.gamma))
print(
    f"{n_balls} balls contain their references; {n_certified} triplets certified, {n_new} of them "
    "in another category at the reference"
)
assert n_new == 0 < n_certified

# %% [markdown]
# ## Fine print
#
# * **Cost.** GB needs one pass over the terms for $\alpha(x)$ and $H(\alpha)$, which an iteration of projected gradient computes anyway. It needs an eigendecomposition only for the half-space of the linear rule (`ball.normal`).
# * **Rounding.** The computed $\alpha(x)$ is minus the slope at $x$ only up to rounding. The library therefore uses (4), with an upper bound of $\varphi$ and with bounds of the errors of $H$, of $x$ and of the norm. So its radius is an upper bound of the exact radius.
# * **The linear term** $c$ cancels in step 1. So the ball is valid for reduced problems, whose $c$ contains the triplets that were put in L, and for the pull term of LMNN.
# * **Related bounds.** PGB (STS19 Theorem 2) projects the center, and its radius is zero at the solution. The midpoint gap bound uses an arbitrary dual point in place of $\alpha(x)$, and the dual form of inequality (2) (notebook [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb); it is very likely the RYU ball of sparse regression). GB is the midpoint gap bound for $K$ = whole space.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 3.1, Theorem 1, proof in appendix C (there headed "Theorem 2 (GB)").
# * STS18: the same authors, KDD 2018: Theorem 3.2.
# * For support vector machines: Shibagaki, Suzuki, Karasuyama, Takeuchi, *Regularization path of
#   cross-validation error lower bounds*, NIPS 2015.
