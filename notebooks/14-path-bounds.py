# %% [markdown]
# # The path bounds (RPB and RRPB)
#
# The solution for one $\lambda$ restricts the solution for another $\lambda$. If we know the first solution, the second solution lies in a ball whose center and radius we compute from the first solution alone: we need no gradient, no dual value and no pass over the triplets. This notebook derives the ball, and computes exactly how far the second solution is from the surface. Then it extends the ball to solutions that are not exact, and shows which errors occur without this extension.
#
# At the end you will have seen that
#
# * the diameter of the regularization path bound (RPB) is the segment from $x_0^\star$ to $\frac{\lambda_0}{\lambda_1} x_0^\star$, and the bound follows from the optimality of two dual solutions;
# * RPB with an *inexact* reference may not contain the next solution, and then screens triplets wrongly;
# * the relaxed bound (RRPB) for a reference with error $\varepsilon$ has a radius that is larger by $\max(1, \lambda_0/\lambda_1)\,\varepsilon$. At $\lambda_1 = \lambda_0$ RRPB is the duality gap bound.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# Our example is the small problem of [`11-gradient-bound`](11-gradient-bound.ipynb): twelve points of the plane, their triplets and a $2 \times 2$ metric. We solve it for two values of $\lambda$ to a gap of $10^{-11}$. The subscripts 0 and 1 denote the two values and their solutions.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)

loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam0 = 0.1 * problem.lam_max()
lam1 = 0.7 * lam0
x0 = ss.solve(problem, lam0, tol=1e-11).x
x1 = ss.solve(problem, lam1, tol=1e-11).x
print(problem)
print("x0* =", np.round(x0, 4).tolist())
print("x1* =", np.round(x1, 4).tolist())

# %% [markdown]
# The picture uses a support vector machine of the same points, because its weights have two components and can be drawn in the plane. We know only one solution, $x_0^\star$ for $\lambda_0$. The grey line is the ray from 0 through $x_0^\star$. For each new $\lambda_1$ the segment of the ray from $x_0^\star$ to $\frac{\lambda_0}{\lambda_1} x_0^\star$ is the diameter of a ball, and the solution for $\lambda_1$, a star, lies in this ball. All balls touch each other in $x_0^\star$. As $\lambda_1$ decreases, the far end of the diameter moves away from $x_0^\star$, and the solution moves away more slowly.

# %%
flat = ss.Problem(ss.Samples(X, 2 * y - 1), loss)
start = 0.7 * flat.lam_max()
at = ss.solve(flat, start, tol=1e-11).x
factors = (0.8, 0.6, 0.45)
solutions = [ss.solve(flat, f * start, tol=1e-11).x for f in factors]
balls = {}
for f in factors:
    balls[rf"$\lambda_1 = {f}\,\lambda_0$"] = ss.spheres.path_bound(at, start, f * start)
points = {"$0$": np.zeros(2), "$x_0^*$": at, "optimum": solutions[-1]}
figure, ax = figures.panels(1, width=6.4, height=4.0)
figures.balls(flat.cone, balls, points, ax=ax, title=r"RPB, three new $\lambda$")
ax.plot(*np.array(solutions).T, "*", color="black", markersize=9, zorder=5)
ax.plot(*np.outer(at, [0.0, 1.0 / factors[-1]]), color="#555555", linewidth=0.8, zorder=1)
figures.show(
    "Each disc is the RPB for one new lambda, and all discs touch each other in the reference. "
    "Their centers lie on the ray from 0 through the reference. Each disc contains the solution "
    "for its lambda, which is marked by a star."
)

# %% [markdown]
# ## The claims
#
# > **Regularization path bound** (STS19 Theorem 5; STS18 Theorem 3.7). Let $x_0^\star$ be the solution
# > for $\lambda_0$. Then the solution $x_1^\star$ for $\lambda_1$ satisfies
# >
# > $$\Big\| x_1^\star - \tfrac{\lambda_0+\lambda_1}{2\lambda_1}\, x_0^\star \Big\| \le
# \tfrac{|\lambda_0-\lambda_1|}{2\lambda_1}\, \|x_0^\star\| .$$
#
# > **Relaxed path bound** (STS19 Theorem 6; STS18 Theorem 3.10). Let $x_0$ be any point with
# > $\|x_0^\star - x_0\| \le \varepsilon$. Then
# >
# > $$\Big\| x_1^\star - \tfrac{\lambda_0+\lambda_1}{2\lambda_1}\, x_0 \Big\| \le
# \tfrac{|\lambda_0-\lambda_1|}{2\lambda_1}\, \|x_0\| +
# \tfrac{|\lambda_0-\lambda_1| + \lambda_0 + \lambda_1}{2\lambda_1}\, \varepsilon .$$
#
# | assumption | used in step |
# |---|---|
# | $x_0^\star$ and $x_1^\star$ are solutions of the *same* problem, for two $\lambda > 0$ | 1 |
# | the conjugate of the loss is convex | 1 |
# | $K$ is a convex cone | 2 |
# | RPB: the reference is exact. RRPB: its error is at most $\varepsilon$ | 3; 4 |
#
# Both $\lambda_1 < \lambda_0$ (as on a path) and $\lambda_1 > \lambda_0$ are allowed.
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
# ### Step 1: two dual solutions, two variational inequalities (STS19 appendix G)
#
# The dual objective (after the maximisation over the multiplier of the cone) and its gradient are
#
# $$\begin{gathered} D(\alpha;\lambda) = \tau^\top\alpha - \tfrac\gamma2 \|\alpha\|^2 - \tfrac1{2\lambda} \|[H(\alpha)]_K\|^2, \\
# \partial_t D = \tau_t - \gamma\alpha_t - \langle a_t,\, x(\alpha;\lambda)\rangle,
# \qquad x(\alpha;\lambda) = \tfrac1\lambda [H(\alpha)]_K . \end{gathered}$$
#
# Here $\tau_t$ is the threshold of term $t$, which is 1 in this notebook. $\alpha_0$ maximises $D(\cdot\,;\lambda_0)$ over the box, so $D$ does not increase from $\alpha_0$ towards $\alpha_1$. The same argument applies to $\alpha_1$ and $\lambda_1$:
#
# $$\langle \nabla D(\alpha_0;\lambda_0),\, \alpha_1 - \alpha_0\rangle \le 0, \qquad
# \langle \nabla D(\alpha_1;\lambda_1),\, \alpha_0 - \alpha_1\rangle \le 0 .$$
#
# Add the two inequalities. The thresholds cancel, and with $\sum_t (\alpha_1 - \alpha_0)_t a_t = H_1 - H_0$
#
# $$\gamma\|\alpha_1 - \alpha_0\|^2 \;\le\; \langle H_1 - H_0,\; x_0^\star - x_1^\star\rangle . \tag{1}$$
#
# ### Step 2: the cone
#
# Split $H_i = \lambda_i x_i^\star - N_i$, where $N_i = [H_i]_K - H_i$ is the part that the projection removes. $N_i$ is orthogonal to $x_i^\star$, and has a non-negative inner product with every element of $K$ (Moreau). So
#
# $$\langle H_1 - H_0, x_0^\star - x_1^\star\rangle = \langle \lambda_1 x_1^\star - \lambda_0 x_0^\star,\; x_0^\star -
# x_1^\star\rangle - \langle N_1, x_0^\star\rangle - \langle N_0, x_1^\star\rangle . \tag{2}$$
#
# (1) and (2) give
#
# $$\langle \lambda_1 x_1^\star - \lambda_0 x_0^\star,\; x_0^\star - x_1^\star\rangle \;\ge\;
# \gamma\|\alpha_1 - \alpha_0\|^2 + \langle N_1, x_0^\star\rangle + \langle N_0, x_1^\star\rangle \;\ge\; 0 . \tag{3}$$
#
# The next cell computes the two inequalities of step 1 and both sides of (3):

# %%
alpha0, alpha1 = problem.alpha(x0), problem.alpha(x1)
gradient0 = 1.0 - loss.gamma * alpha0 - problem.terms.margins(x0)
gradient1 = 1.0 - loss.gamma * alpha1 - problem.terms.margins(x1)
vi0 = gradient0 @ (alpha1 - alpha0)
vi1 = gradient1 @ (alpha0 - alpha1)

N0 = problem.evaluate(x0, lam0).minus
N1 = problem.evaluate(x1, lam1).minus
left = np.vdot(lam1 * x1 - lam0 * x0, x0 - x1)
right = loss.gamma * np.sum((alpha1 - alpha0) ** 2) + np.vdot(N1, x0) + np.vdot(N0, x1)
print(f"two variational inequalities: {vi0:.3f} and {vi1:.3f}, neither positive")
print(f"(3): {left:.3f} >= {right:.3f} >= 0")
assert vi0 <= 1e-6 and vi1 <= 1e-6 and left >= right - 1e-4 and right >= 0.0
assert abs((left - right) + (vi0 + vi1)) < 1e-4

# %% [markdown]
# The last assertion is stronger than (3): the difference of the two sides of (3) is exactly minus the sum of the two left sides of step 1.
#
# ### Step 3: complete the square
#
# $\langle \lambda_1 x_1 - \lambda_0 x_0,\; x_0 - x_1\rangle \ge 0$, divided by $-\lambda_1$, reads $\langle x_1 - \tfrac{\lambda_0}{\lambda_1} x_0,\; x_1 - x_0\rangle \le 0$: seen from $x_1^\star$, the angle between the points $x_0^\star$ and $\frac{\lambda_0}{\lambda_1} x_0^\star$ is at least 90 degrees. By Thales' theorem $x_1^\star$ lies in the ball whose diameter is the segment between these two points. sympy checks the algebra for symmetric matrices:

# %%
def symmetric(name):
    a, b, c = sp.symbols(f"{name}11 {name}12 {name}22", real=True)
    return sp.Matrix([[a, b], [b, c]])


def inner(A, B):
    return (A.T * B).trace()


Z, M0 = symmetric("z"), symmetric("m")  # the solutions for lam1 and for lam0
l0, l1 = sp.symbols("lambda0 lambda1", positive=True)
thales = inner(Z - l0 / l1 * M0, Z - M0)
Q = (l0 + l1) / (2 * l1) * M0
r_squared = ((l0 - l1) / (2 * l1)) ** 2 * inner(M0, M0)
difference = sp.expand(thales - (inner(Z - Q, Z - Q) - r_squared))
print("<z - (lam0/lam1) m, z - m>  -  (|z - Q|^2 - r^2)  =", difference)
assert difference == 0

# %% [markdown]
# **This is Theorem 5**. By (3) we also know how far $x_1^\star$ is from the surface:
#
# $$r^2 - \|x_1^\star - Q\|^2 = \tfrac1{\lambda_1} \langle \lambda_1 x_1^\star - \lambda_0 x_0^\star,\; x_0^\star - x_1^\star\rangle
# \ge \tfrac1{\lambda_1} \big( \gamma\|\alpha_1 - \alpha_0\|^2 + \langle N_1, x_0^\star\rangle + \langle N_0, x_1^\star\rangle \big) .$$
#
# With $\gamma > 0$ the solution is *away* from the surface if some dual variables change. With a cone it is also away from the surface if the active constraint changes.
#
# ### Step 4: a reference that is not exact (STS19 appendix H)
#
# We know only $x_0$, with $\|x_0^\star - x_0\| \le \varepsilon$. If we use $x_0$ in place of $x_0^\star$, the center moves by at most
# $\frac{\lambda_0+\lambda_1}{2\lambda_1}\varepsilon$, and the unknown $\|x_0^\star\|$ is at most
# $\|x_0\| + \varepsilon$:
#
# $$\|x_1^\star - Q(x_0)\| \le \|x_1^\star - Q(x_0^\star)\| + \|Q(x_0^\star) - Q(x_0)\| \le
# \tfrac{|\lambda_0-\lambda_1|}{2\lambda_1} \big(\|x_0\| + \varepsilon\big) + \tfrac{\lambda_0+\lambda_1}{2\lambda_1}\varepsilon .$$
#
# **This is Theorem 6.** The coefficient of $\varepsilon$ can be simplified: $|\lambda_0 - \lambda_1| + \lambda_0 + \lambda_1 = 2\max(\lambda_0, \lambda_1)$, so
#
# $$r_{\text{RRPB}} = \tfrac{|\lambda_0-\lambda_1|}{2\lambda_1}\,\|x_0\| + \max\!\big(1, \tfrac{\lambda_0}{\lambda_1}\big)\, \varepsilon .$$

# %%
coefficient = (sp.Abs(l0 - l1) + l0 + l1) / (2 * l1)
assert sp.simplify(coefficient.rewrite(sp.Max, sp.Abs).subs(l1, l0 / 2) - 2) == 0
assert sp.simplify(coefficient.subs(l1, 3 * l0) - 1) == 0
print("coefficient of eps at lam1 = lam0/2:", sp.simplify(coefficient.subs(l1, l0 / 2)))
print("coefficient of eps at lam1 = 3 lam0:", sp.simplify(coefficient.subs(l1, 3 * l0)))

# %% [markdown]
# We can always use the radius of the duality gap bound at $x_0$ for $\lambda_0$ as $\varepsilon$: $\varepsilon^2 = 2\,(P(x_0;\lambda_0) - D(\alpha_0;\lambda_0))/\lambda_0$ (STS19 equation 3.2). The solver returns this $\varepsilon$ as `solution.eps`.
#
# ## Ten lines of numpy

# %%
def path_ball(x0, eps, lam0, lam1):
    """Center and radius of RRPB, or of RPB if eps = 0."""
    center = (lam0 + lam1) / (2 * lam1) * x0
    step = abs(lam0 - lam1)
    radius = step / (2 * lam1) * np.linalg.norm(x0) + (step + lam0 + lam1) / (2 * lam1) * eps
    return center, radius


slow_center, slow_radius = path_ball(x0, 0.0, lam0, lam1)
relaxed_center, relaxed_radius = path_ball(x0, 0.01, lam0, lam1)
print("RPB : center", np.round(slow_center, 4).tolist(), " radius", round(float(slow_radius), 4))
print("RRPB with eps = 0.01: the same center, radius", round(float(relaxed_radius), 4))

# %% [markdown]
# ## Does the library match?
#
# The centers agree up to rounding. The library's radii are upper bounds, which exceed numpy's radii only by rounding.

# %%
rpb = ss.spheres.path_bound(x0, lam0, lam1)
rrpb = ss.spheres.relaxed_path_bound(x0, 0.01, lam0, lam1)
for name, ball, center, radius in (
    ("RPB", rpb, slow_center, slow_radius),
    ("RRPB", rrpb, relaxed_center, relaxed_radius),
):
    print(f"{name:4} center {np.round(ball.center, 4).tolist()}, radius {ball.radius:.4f}")
    assert np.linalg.norm(ball.center - center) < 1e-14 * np.linalg.norm(center)
    assert 0.0 <= ball.radius / radius - 1.0 < 1e-12

# %% [markdown]
# ## RPB over three cones
#
# We draw random problems with a full metric, a diagonal metric and a support vector machine. We solve each problem for $\lambda_0$ and for a $\lambda_1$ between $0.3\,\lambda_0$ and $2\lambda_0$, to nearly full floating-point accuracy. We print the distance of the solution from the center in radii, so that 1 is the surface. To the radius we add the error bounds of the two computed solutions, which follow from their gaps. Above $\lambda_{\max}$ the solution is $[\sum_t a_t]_K/\lambda$ in closed form. Then no dual variable changes, both inequalities in (3) are equalities, and each solution must be *on* the surface.

# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    triplets = ss.Triplets.from_labels(X, y, k=3, diagonal=kind == "diagonal metric")
    return ss.Problem(triplets, ss.SmoothedHinge(gamma))


# %%
def pairs_of_solutions(rng, repeats=40):
    for kind in ("metric", "diagonal metric", "support vectors"):
        for repeat in range(repeats):
            prob = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            a = max(prob.lam_max(), 1.0) * rng.choice([2.0, 0.5, 0.1, 0.02])
            b = a * rng.choice([0.3, 0.7, 0.9, 0.99, 1.2, 2.0])
            at_a = ss.solve(prob, a, rtol=1e-13, tol=1e-12)
            at_b = ss.solve(prob, b, rtol=1e-13, tol=1e-12)
            yield kind, prob, at_a, at_b


def above_lam_max(prob):
    """Distances in radii of the solutions above lam_max, for a smaller and for a larger lam1."""
    total = prob.all_linear()
    if not np.any(total):
        return []
    high = max(prob.lam_max(), 1.0)
    distances = []
    for a, b in ((3.0 * high, 1.5 * high), (1.5 * high, 3.0 * high)):
        ball = ss.spheres.path_bound(total / a, a, b)
        distances.append(np.linalg.norm(total / b - ball.center) / ball.radius)
    return distances


# %% tags=["STS19-T5"]
solved = list(pairs_of_solutions(np.random.default_rng(11)))
print("pairs of solutions:", len(solved))
largest = {}
surface = []
shrunk = 0
for kind, prob, at0, at1 in solved:
    ball = ss.spheres.path_bound(at0.x, at0.lam, at1.lam)
    center, radius = path_ball(at0.x, 0.0, at0.lam, at1.lam)
    assert np.allclose(ball.center, center, rtol=1e-13, atol=0.0)
    assert radius <= ball.radius <= radius * (1.0 + 1e-9) + 1e-300
    granted = at1.eps + max(1.0, at0.lam / at1.lam) * at0.eps
    distance = np.linalg.norm(at1.x - ball.center)
    assert distance <= ball.radius + granted
    largest[kind] = max(largest.get(kind, 0.0), distance / (ball.radius + granted))
    shrunk += distance > 0.98 * ball.radius + granted
    surface += above_lam_max(prob)
for kind, value in largest.items():
    print(f"{kind:16} largest distance {value:.3f} radii (bound 1)")
print(f"above lam_max: {len(surface)} balls, distance {min(surface):.6f} to {max(surface):.6f}")
print(f"with a 2 % smaller radius more than {shrunk // 10 * 10} solutions are outside their balls")
assert shrunk > 10 and 1.0 - 1e-9 < min(surface) <= max(surface) <= 1.0

# %% [markdown]
# Some solutions lie on the surface. This happens whenever no dual variable changes between $\lambda_0$ and $\lambda_1$. Then $H$ does not change either, so $x_1^\star = \frac{\lambda_0}{\lambda_1} x_0^\star$ is the far end of the diameter.
#
# ## How near to the surface the solution is
#
# For the full metric we compute the distance of the solution from the center, over the radius.

# %%
grid = np.geomspace(0.2, 0.995, 25)
needed = []
for f in grid:
    ball = ss.spheres.path_bound(x0, lam0, f * lam0)
    best = ss.solve(problem, f * lam0, tol=1e-9).x
    needed.append(np.linalg.norm(best - ball.center) / ball.radius)
labels = {"xlabel": r"$\lambda_1/\lambda_0$", "ylabel": "distance of the solution / radius"}
title = "how much of the ball is needed"
ax = figures.lines({"RPB": needed}, grid, title=title, legend=None, **labels)
ax.set_ylim(0, 1.05)
ax.invert_xaxis()
figures.show(
    "The curve shows the distance of the solution from the center over the radius, against lambda "
    f"1 over lambda 0. The values are between {min(needed):.2f} and {max(needed):.2f}."
)

# %% [markdown]
# ## What RPB screens, and its cost
#
# With an exact reference the rule decides a triplet from two numbers: a multiple of the margin $\langle a_t, x_0\rangle$, which the last solve has computed, and the radius times $\|a_t\|$.

# %%
found = ss.rules.sphere(problem, rpb)
margins = problem.terms.margins(x1)
assert np.all(margins[found.in_R] > 1.0) and np.all(margins[found.in_L] < 1.0 - loss.gamma)
assert 0 < found.n_L + found.n_R < len(problem)
print(f"{len(problem)} triplets, decided correctly: {found.n_L} in L, {found.n_R} in R")

# %% [markdown]
# ## Break it: RPB with an inexact reference
#
# Theorem 5 requires $x_0^\star$. A solver computes only an approximation, as STS19 says before it relaxes the bound. What happens if we use this approximation as $x_0^\star$? We stop the solver for $\lambda_0$ at several gaps, treat its result as exact, and go to the next $\lambda$ of a path with steps of 1 % (as in STS19's larger experiments). We compare with a solution whose relative gap is $10^{-12}$.

# %%
features, labels = datasets.load("iris", return_X_y=True)
larger = ss.Problem(ss.Triplets.from_labels(features, labels, k=5), loss)
a = 0.1 * larger.lam_max()
b = 0.99 * a
truth = ss.solve(larger, b, tol=0.0, rtol=1e-12)
true_margin = larger.terms.margins(truth.x)


def wrong(found):
    """Number of terms that the rule puts in a wrong region."""
    wrong_R = found.in_R & ~(true_margin > 1.0)
    wrong_L = found.in_L & ~(true_margin < 1.0 - loss.gamma)
    return np.sum(wrong_R) + np.sum(wrong_L)


# %% tags=["nbval-ignore-output"]
print(f"iris, {len(larger)} triplets, lam1 = 0.99 lam0")
print("relative gap   RPB: distance/r  wrong     RRPB: distance/r  wrong")
for rtol in (1e-1, 1e-2, 1e-3, 1e-6):
    at = ss.solve(larger, a, tol=0.0, rtol=rtol, screening=())
    RPB = ss.spheres.path_bound(at.x, a, b)
    RRPB = ss.spheres.relaxed_path_bound(at.x, at.eps, a, b)
    row = []
    for ball in (RPB, RRPB):
        row.append(np.linalg.norm(truth.x - ball.center) / ball.radius)
        row.append(wrong(ss.rules.sphere(larger, ball)))
    print(f"{rtol:9.0e}      {row[0]:14.1f} {row[1]:6d} {row[2]:20.1f} {row[3]:6d}")
    assert row[2] <= 1.0 and row[3] == 0
    if rtol >= 1e-3:
        assert row[0] > 1.0 and row[1] > 0

# %% [markdown]
# With a reference whose gap is a thousandth of the objective, the solution for $\lambda_1$ is several radii away from the center of RPB. The rule then discards triplets that have a loss: the "safe" decisions are wrong, without a warning. The radius decreases with the step $|\lambda_0 - \lambda_1|$, but the error of the reference does not. How small the gap must be for correct decisions with RPB depends on the step, on $\lambda$ and on the data, and we do not know it beforehand. The balls of RRPB all contain the solution, and all decisions with RRPB are correct.
#
# The extreme case is $\lambda_1 = \lambda_0$. Then the radius of RPB is 0 for every reference, and only the exact solution is in the ball:

# %%
rough = ss.solve(larger, a, tol=0.0, rtol=1e-3, screening=())
point = ss.spheres.path_bound(rough.x, a, a)
exact = ss.solve(larger, a, tol=0.0, rtol=1e-12).x
away = np.linalg.norm(exact - point.center)
print(f"lam1 = lam0: radius of RPB {point.radius:.6f}, distance of the solution {away:.3f}")
assert away > 1e3 * point.radius


# %% [markdown]
# ## RRPB over three cones
#
# We use the random problems of the RPB check again, now with inexact references. Some references are the exact solution plus a vector of known length $\varepsilon$, in a random direction or along $\pm x_0^\star$. They need not be feasible. The direction $-x_0^\star$ is the least favourable one. The other references are results of a solver that stops early, with $\varepsilon$ from their duality gap. The family `SPHERES["RRPB"]`, which solvers use, must give the same balls.
#
# **No smaller radius is valid for this center.** Suppose that we know only $\|x_0^\star - x_0\| \le \varepsilon$. The true solution may be $x_0^\star = x_0 + \varepsilon x_0/\|x_0\|$, and the next solution may be at the far end of the diameter of *its* RPB, because no dual variable changes. One term on a line is an example for $\lambda_1 < \lambda_0$: for $a = 1$ and $\lambda \ge 1/(1-\gamma)$ we have $x^\star = 1/\lambda$. For $\lambda_1 > \lambda_0$ the next solution must be at the near end, $x_1^\star = x_0^\star$. An example is the hinge with $\lambda \le 1$, for which $x^\star = 1$ is at the kink.

# %%
def references_around(prob, at0, rng):
    """References x with bounds eps of their errors: in three directions from the solution, and
    the result of a solver that stops early."""
    size = np.linalg.norm(at0.x)
    for share in (1e-3, 0.03, 0.3):
        for direction in (rng.standard_normal(at0.x.shape), at0.x, -at0.x):
            if direction.ndim == 2:
                direction = direction + direction.T
            eps = share * size
            yield at0.x + eps * direction / np.linalg.norm(direction), eps + at0.eps
    early = ss.solve(prob, at0.lam, tol=0.0, rtol=1e-2, screening=())
    yield early.x, early.eps


def family_ball(prob, evaluation, x, eps, lam0):
    """RRPB from an evaluation and the solution for another lam, as a solver computes it."""
    path = PathReference(x0=x, lam0=lam0, eps=eps)
    return ss.SPHERES["RRPB"].build(BallReference(prob, evaluation, path))


# %% tags=["STS19-T6"]
rng = np.random.default_rng(2)
count = without = 0
closest = {}
for kind, prob, at0, at1 in solved:
    if not np.any(at0.x):
        continue
    evaluation = prob.evaluate(at1.x, at1.lam)
    for x, eps in list(references_around(prob, at0, rng)):
        ball = ss.spheres.relaxed_path_bound(x, eps * (1 + 1e-12), at0.lam, at1.lam)
        center, radius = path_ball(x, eps, at0.lam, at1.lam)
        assert np.allclose(ball.center, center, rtol=1e-13, atol=0.0)
        assert radius <= ball.radius <= radius * (1.0 + 1e-9) + 1e-300
        same = family_ball(prob, evaluation, x, eps * (1 + 1e-12), at0.lam)
        assert np.array_equal(same.center, ball.center) and same.radius == ball.radius
        distance = np.linalg.norm(at1.x - ball.center)
        assert distance <= ball.radius + at1.eps
        closest[kind] = max(closest.get(kind, 0.0), distance / (ball.radius + at1.eps))
        without += distance > ss.spheres.path_bound(x, at0.lam, at1.lam).radius + at1.eps
        count += 1

# %% tags=["STS19-T6"]
for kind, value in closest.items():
    print(f"{kind:16} largest distance {value:.3f} radii (bound 1)")
print(
    f"all {count} balls of RRPB contain the solution; RPB with the same references loses it in "
    f"{100 * without / count:.0f} % of the cases"
)
assert 3 * without > count

# %% [markdown]
# At $\lambda_1 = \lambda_0$ RRPB has the same center and the same radius as DGB. The family `SPHERES["RRPB"]` without a path reference is DGB as well, and the accuracy of a path's reference is its radius of DGB.

# %% tags=["STS19-T6"]
dgb_ratios = []
for _, prob, at0, _ in solved[::7]:
    x = prob.cone.project(1.2 * at0.x)
    dgb = ss.spheres.duality_gap_bound(prob, x, at0.lam)
    evaluation = prob.evaluate(x, at0.lam)
    rrpb = ss.spheres.relaxed_path_bound(x, dgb.radius, at0.lam, at0.lam)
    in_solver = ss.SPHERES["RRPB"].build(BallReference(prob, evaluation))
    for same in (rrpb, in_solver):
        assert np.array_equal(dgb.center, same.center)
        dgb_ratios.append(same.radius / dgb.radius)
    dgb_ratios.append(reference_accuracy(evaluation) / dgb.radius)  # the eps of a solution
print(
    f"RRPB at lam1 = lam0 with the eps of DGB: {min(dgb_ratios):.9f} to {max(dgb_ratios):.9f} "
    "times the radius of DGB"
)
assert abs(np.array(dgb_ratios) - 1.0).max() < 1e-9

# %% [markdown]
# For one term on a line the next solution is on the surface, for four pairs of $\lambda$ with three $\varepsilon$ each:

# %% tags=["STS19-T6"]
one_term = ss.Samples(np.array([[1.0], [0.0]]), [1, -1])
surface = []
for width, old, new in ((0.05, 2.0, 1.25), (0.05, 3.0, 1.1), (0.0, 0.5, 0.9), (0.0, 0.2, 0.8)):
    line = ss.Problem(one_term, ss.SmoothedHinge(width))
    exact0 = 1.0 / max(old, 1.0)
    exact1 = 1.0 / max(new, 1.0)
    for lam, exact in ((old, exact0), (new, exact1)):
        assert abs(ss.solve(line, lam, tol=1e-13).x[0] - exact) < 1e-6
    for eps in (0.01, 0.1, 0.3):
        ball = ss.spheres.relaxed_path_bound(np.array([exact0 - eps]), eps, old, new)
        surface.append(abs(exact1 - ball.center[0]) / ball.radius)
print(f"one term on a line: distance {min(surface):.9f} to {max(surface):.9f} radii")
assert abs(np.array(surface) - 1.0).max() < 1e-9

# %% [markdown]
# ## How much larger RRPB is
#
# The radius of RRPB has two parts, one for the step and one for the error of the reference. With small steps and inexact references the second part dominates. We use iris and three accuracies of the reference (relative gaps). The left picture shows the radius against $\lambda_1/\lambda_0$, and the right picture shows the share of triplets that the balls screen. `RPB` uses a reference with a relative gap of $10^{-12}$, which is nearly exact.

# %% tags=["nbval-ignore-output"]
ratios = np.linspace(0.5, 0.999, 40)
references = {"RPB": ss.solve(larger, a, tol=0.0, rtol=1e-12)}
for rtol in (1e-4, 1e-3, 1e-2):
    inexact = ss.solve(larger, a, tol=0.0, rtol=rtol, screening=())
    references[f"RRPB, gap {rtol:.0e}"] = inexact
radii, rates = {}, {}
for name, at in references.items():
    eps = 0.0 if name == "RPB" else at.eps
    spheres = [ss.spheres.relaxed_path_bound(at.x, eps, a, f * a) for f in ratios]
    radii[name] = [s.radius for s in spheres]
    rates[name] = [ss.rules.sphere(larger, s).rate for s in spheres]

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.4)
xlabel = r"$\lambda_1 / \lambda_0$"
figures.lines(radii, ratios, ax=axes[0], xlabel=xlabel, ylabel="radius", legend="best")
label = "share of triplets screened"
figures.lines(rates, ratios, ax=axes[1], xlabel=xlabel, ylabel=label, legend=None)
for ax in axes:
    ax.set_ylim(0, None)
    ax.invert_xaxis()
radii_from_left = {name: values[::-1] for name, values in radii.items()}
rates_from_left = {name: values[::-1] for name, values in rates.items()}
figures.show(
    "On the left of each panel the new lambda is nearly equal to the old lambda; on the right it "
    f"is {ratios[0]:g} times the old lambda. The left panel shows radii: "
    f"{figures.ends(radii_from_left)}. The right panel shows the share of triplets screened: "
    f"{figures.ends(rates_from_left)}."
)

# %% [markdown]
# ## A smaller ball from the same pair
#
# If we know only $\varepsilon$, the radius of RRPB cannot be reduced. But we know more: we have computed $\varepsilon$ from a pair $(x_0, \alpha_0)$. For $\lambda_1$ this pair also gives the midpoint gap bound MGB (notebook [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb); it is very likely the RYU ball of sparse regression). At an exact reference MGB *is* RPB. MGB needs no $\varepsilon$ and always lies inside RRPB:

# %% tags=["nbval-ignore-output"]
print("relative gap   radius: RRPB      MGB   share screened: RRPB    MGB")
for rtol in (1e-2, 1e-3, 1e-4, 1e-6):
    at = ss.solve(larger, a, tol=0.0, rtol=rtol, screening=())
    eps = ss.spheres.duality_gap_bound(larger, at.x, a).radius
    relaxed = ss.spheres.relaxed_path_bound(at.x, eps, a, b)
    middle = ss.spheres.midpoint_gap_bound(larger, at.x, b)
    relaxed_rate = ss.rules.sphere(larger, relaxed).rate
    middle_rate = ss.rules.sphere(larger, middle).rate
    radii_text = f"{relaxed.radius:14.3f} {middle.radius:8.3f}"
    print(f"{rtol:12.0e} {radii_text} {relaxed_rate:22.2f} {middle_rate:6.2f}")
    assert np.linalg.norm(relaxed.center - middle.center) + middle.radius <= relaxed.radius

# %% [markdown]
# ## Exercise
#
# Suppose that a path has steps $\lambda_1 = (1 - \delta)\lambda_0$, and that you solve each problem to an accuracy $\varepsilon$. For which $\varepsilon$ are the two parts of the radius of RRPB equal? Which tolerance should a solver have on a path with steps of 1 %?
#
# <details>
# <summary><b>Solution</b></summary>
#
# With $\lambda_1 < \lambda_0$ the two parts are $\frac{\delta}{2(1-\delta)}\|x_0\|$ and $\frac{1}{1-\delta}\varepsilon$;
# they are equal at $\varepsilon = \frac{\delta}{2}\|x_0\|$. For steps of 1 % the error of the solution should be at most half a percent of its norm. Since $\varepsilon = \sqrt{2\,\text{gap}/\lambda_0}$, the gap should be at most $\frac{\delta^2}{4} \cdot \frac{\lambda_0}{2}\|x_0\|^2$, a fraction $2.5 \cdot 10^{-5}$ of the regularizer. With smaller steps the tolerance must decrease with the *square* of the step. Otherwise the part for the error dominates, and a smaller step hardly reduces the radius.
#
# </details>

# %%
for step in (0.1, 0.01):
    eps = step / 2 * np.linalg.norm(x0)
    full = ss.spheres.relaxed_path_bound(x0, eps, lam0, (1 - step) * lam0).radius
    half = ss.spheres.path_bound(x0, lam0, (1 - step) * lam0).radius
    print(f"step {step:4.0%}: radius of RRPB over radius of RPB {full / half:.3f}")
    assert abs(full / half - 2.0) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Cost.** The center is a multiple of $x_0$, so the margins at the center are the margins of the last solve times one number. Therefore STS19 finds that RRPB is the cheapest ball on a path, although other balls screen as much.
# * **Fixed during a solve.** $x_0$, $\varepsilon$ and the ball do not improve during the solve for $\lambda_1$; the balls GB, PGB, DGB and MGB do. With the iterate as reference and $\lambda_0 = \lambda_1$, RRPB *is* DGB.
# * **The hinge** ($\gamma = 0$) is included: step 1 uses only the dual problem, and the term $\gamma\|\alpha_1 - \alpha_0\|^2$ is zero.
# * **Rounding.** The library rounds the products and norms in its radii upwards. `solution.eps` is an upper bound of the distance from the solution, and includes the rounding error of the gap. `path_bound` does not check that the reference is exact.
# * **Letters.** STS19 writes $M_0^\star$ for the solution and $M_0$ for the approximation.
# * **Related tests.** For $K$ = whole space, RPB is the ball of the DVI test of Wang et al. and a special case of ball test 1 of SSS14:
#   [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb).
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: sections 3.4 and 3.5, Theorems 5 and 6, proofs in appendices G and H (there headed
#   "Theorem 6" and "Theorem 7").
# * STS18: the same authors, KDD 2018: Theorems 3.7 and 3.10.
# * Wang, Wonka, Ye, *Scaling SVM and least absolute deviations via exact data reduction*, ICML 2014: the same
#   argument for samples.
