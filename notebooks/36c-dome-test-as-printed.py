# %% [markdown]
# # The dome test as SSS14 prints it, and a smaller region
#
# A screening test can fail in two ways. Its formula can be wrong, or its region can be larger than it has
# to be. This notebook finds one of each. SSS14 repeats the dome test of SSS13 as its Theorem 11, to compare
# its own tests with. In that display one symbol stands for two quantities, and a $\sqrt2$ too many makes
# the test unsafe. And the dome itself, with the right formula, wastes what it knows: two balls made of the
# same two solutions overlap in a region that lies inside it.
#
# At the end you will have seen that
#
# * the printed test is right about R, the samples it is chiefly meant for, and not a bound for L;
# * on two samples it leads to a machine whose objective is more than twice the optimal one;
# * striking the $\sqrt2$ makes it exact;
# * the overlap of two balls lies inside the dome and screens more than ten times as much, for the same interval
#   of $C$.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import rules, spheres, svm
from safescreen_book import datasets, figures

# %% [markdown]
# ## The story in a picture
#
# [`36b-dome-test`](36b-dome-test.ipynb) derived the largest margin of a sample $z$ over a dome: the ball $\|w\| \le \|w_b\|$
# beyond the plane through $w_a$. As $z$ turns away from $w_a$, two formulas take turns. While $z$ points
# into the dome, the maximum is where the ball ends. Then it is on the rim, where ball and plane meet. The
# printed theorem changes from one formula to the other at the wrong angle.


# %%
def dome_bounds(Z, w_a, B):
    """Smallest and largest <z, w> over |w|^2 <= B, <w_a, w> >= |w_a|^2, for every row z (36b)."""
    A, q, n = w_a @ w_a, Z @ w_a, np.linalg.norm(Z, axis=1)
    root = np.sqrt(np.maximum((B - A) / A * (A * n**2 - q**2), 0.0))
    low = np.where(-q * np.sqrt(B) >= A * n, -np.sqrt(B) * n, q - root)
    high = np.where(q * np.sqrt(B) >= A * n, np.sqrt(B) * n, q + root)
    return low, high


def printed(Z, w_a, B, half=False):
    """SSS14 Theorem 11 as printed, with gamma = |w|^2 as it says, or with gamma = |w|^2/2."""
    scale = 0.5 if half else 1.0
    gamma_a, gamma_b, q, n = scale * (w_a @ w_a), scale * B, Z @ w_a, np.linalg.norm(Z, axis=1)
    square = (gamma_b - gamma_a) / gamma_a * (gamma_a * n**2 - q**2)
    root = np.where(square >= 0.0, np.sqrt(np.abs(square)), np.nan)
    limit = np.sqrt(2.0) * gamma_a / np.sqrt(gamma_b)
    low = np.where(-q / n >= limit, -np.sqrt(2.0 * gamma_b) * n, q - root)
    return low, np.where(q / n >= limit, np.sqrt(2.0 * gamma_b) * n, q + root)


# %%
angle = np.linspace(0.0, np.pi / 2, 400)
fan = np.stack([np.cos(angle), np.sin(angle)], axis=1)
e1, B = np.array([1.0, 0.0]), 1.7**2
curves = {"corrected": dome_bounds(fan, e1, B)[1], "printed": printed(fan, e1, B)[1]}
labels = {"xlabel": "angle between z and $w_a$, degrees", "ylabel": "largest margin"}
too_low = curves["printed"] < curves["corrected"] - 1e-9
edges = np.degrees(angle)[np.flatnonzero(too_low)[[0, -1]]]
figures.lines(curves, np.degrees(angle), title=r"$\|w_b\| = 1.7\,\|w_a\|$, $\|z\| = 1$", **labels)
figures.show(
    "Curves show the largest margin over a dome against the angle between z and w_a. The "
    "corrected one is constant up to "
    f"{edges[1]:.0f} degrees and falls from there. The printed one starts "
    f"{curves['printed'][0] / curves['corrected'][0] - 1.0:.0%} higher, lies below "
    "the corrected one "
    f"from {edges[0]:.0f} degrees on, and joins it at {edges[1]:.0f}."
)

# %% [markdown]
# ## The claim as printed
#
# > **SSS14 Theorem 11, as printed.** With $\gamma_a = \|w_a\|^2$, $\gamma_b = \|w_b\|^2$,
# > $q = \langle z, w_a\rangle$,
# >
# > $$\ell = \begin{cases} -\sqrt{2\gamma_b}\,\|z\| & \text{if } -q/\|z\| \ge \sqrt2\,\gamma_a/\sqrt{\gamma_b}, \\
# q - \sqrt{\tfrac{\gamma_b - \gamma_a}{\gamma_a}(\gamma_a\|z\|^2 - q^2)} & \text{otherwise,}\end{cases}
# \qquad u(z) = -\ell(-z).$$
# >
# > Samples with $\ell > 1$ are in R and samples with $u < 1$ are in L, for every $C$ in $[C_a, C_b]$.
# >
# > *Assumptions.* $w_a$ and $w_b$ are the solutions for $C_a \le C_b$, exactly.
#
# The right formula has no $\sqrt2$ anywhere. The value and the condition of the first case are right for
# $\gamma = \frac12\|w\|^2$, the objective of SSS13's problem. The root is right for $\gamma = \|w\|^2$. It
# looks as if two normalisations had met in one display. No single meaning of $\gamma$ makes all of it
# right.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $z = y x$ | a sample with its label multiplied in; $\langle z, w\rangle$ is its margin |
# | $w_a$, $w_b$ | solutions of $\min \frac12\lVert w\rVert^2 + C\sum_i\max(0, 1 - \langle z_i, w\rangle)$ for $C_a$ and $C_b$; $C = 1/\lambda$ in the rest of the book |
# | $\ell(z)$, $u(z)$ | smallest and largest margin of $z$ over the dome |
# | $\tau = q/(\lVert w_a\rVert\,\lVert z\rVert)$ | cosine of the angle between $z$ and $w_a$ |
# | $\kappa = \lVert w_b\rVert/\lVert w_a\rVert \ge 1$ | shape of the dome |
# | L, R | samples with margin below 1 and above 1 at the solution |
#
# </details>

# %% [markdown]
# ## What the printed formula says, angle by angle
#
# Take $\gamma = \|w\|^2$, as the theorem defines it. Divide the conditions by $\|w_a\|$: the right formula
# takes the first case for $\tau \ge 1/\kappa$, the printed one only for $\tau \ge \sqrt2/\kappa$.
#
# | angle | printed $u$ | right $u$ | verdict |
# |---|---|---|---|
# | $\tau < 1/\kappa$ | rim | rim | right |
# | $1/\kappa \le \tau < \sqrt2/\kappa$ | rim | $\Vert w_b\Vert\,\Vert z\Vert$ | **too low: not a bound** |
# | $\tau \ge \sqrt2/\kappa$ | $\sqrt2\,\Vert w_b\Vert\,\Vert z\Vert$ | $\Vert w_b\Vert\,\Vert z\Vert$ | safe, $\sqrt2$ times too large |

# %% [markdown]
# ### R is safe
#
# The lower bound $\ell$ is the mirror image. Printed and right $\ell$ differ only where
# $\tau \le -1/\kappa$. There $q < 0$, both values are negative, and neither is above 1. So the printed test
# puts exactly the same samples into R as the right one.

# %% [markdown]
# ### L is not safe, and by how much
#
# In the middle row the printed value over the right one is
#
# $$\frac{q + \sqrt{\ldots}}{\|w_b\|\,\|z\|} = \frac\tau\kappa + \sqrt{\Big(1 - \frac1{\kappa^2}\Big)(1 - \tau^2)} .$$
#
# With $\tau = \cos\theta$ and $1/\kappa = \cos\varphi$ this is $\cos(\theta - \varphi)$. At
# $\tau = 1/\kappa$ it is 1, and it falls as $z$ turns toward $w_a$. The worst dome has $\kappa = \sqrt2$
# and $z$ parallel to $w_a$: the printed bound is $1/\sqrt2$ of the truth.

# %%
kappa, tau = sp.symbols("kappa tau", positive=True)
ratio = tau / kappa + sp.sqrt((1 - kappa**-2) * (1 - tau**2))
angles = {tau: np.cos(0.4), kappa: 1 / np.cos(0.9)}
assert abs(float(ratio.subs(angles)) - np.cos(0.4 - 0.9)) < 1e-12
worst = sp.simplify(ratio.subs({tau: 1, kappa: sp.sqrt(2)}))
on_grid = []
for k in np.linspace(1.0, 4.0, 301):
    t = np.linspace(1 / k, min(1.0, np.sqrt(2) / k), 60)
    on_grid.append(np.min(t / k + np.sqrt(np.maximum((1 - k**-2) * (1 - t**2), 0.0))))
print(
    f"printed / right: {worst} for z parallel to w_a and kappa = sqrt 2; smallest on a grid "
    f"{min(on_grid):.3f}"
)
assert min(on_grid) >= float(worst) - 1e-12 and abs(min(on_grid) - float(worst)) < 1e-2

# %% [markdown]
# ## Three readings, forty thousand samples
#
# The correction has two equivalent forms. Keep $\gamma = \|w\|^2$ and strike the $\sqrt2$, which is
# `dome_bounds`. Or take $\gamma = \frac12\|w\|^2$ and put the missing 2 into the root:


# %%
def corrected(Z, w_a, B):
    """The theorem with gamma = |w|^2/2 throughout, which puts a 2 into the root."""
    gamma_a, gamma_b, q, n = 0.5 * (w_a @ w_a), 0.5 * B, Z @ w_a, np.linalg.norm(Z, axis=1)
    root = np.sqrt(np.maximum((gamma_b - gamma_a) / gamma_a * (2.0 * gamma_a * n**2 - q**2), 0.0))
    limit = np.sqrt(2.0) * gamma_a / np.sqrt(gamma_b)
    low = np.where(-q / n >= limit, -np.sqrt(2.0 * gamma_b) * n, q - root)
    return low, np.where(q / n >= limit, np.sqrt(2.0 * gamma_b) * n, q + root)


# %% [markdown]
# Random domes and samples in two to five dimensions. An upper bound that is too low is an error, one that
# is too high is a waste. A root of a negative number is counted too.


# %%
def judged(bounds, low, high):
    """How often bounds err against the right ones, and how many samples they put into R without
    proof."""
    low_, high_ = bounds
    real = ~(np.isnan(low_) | np.isnan(high_))
    return np.array([
        np.sum(high_[real] < high[real] - 1e-9),
        np.sum(high_[real] > high[real] + 1e-9),
        np.sum(low_[real] > low[real] + 1e-9),
        np.sum(~real),
        np.sum((low_ > 1.0) & (low <= 1.0 - 1e-9)),
    ])  # fmt: skip


# %%


rng = np.random.default_rng(5)
errors = {name: np.zeros(5, dtype=int) for name in ("as defined", "halves", "corrected")}
for _ in range(400):
    d = int(rng.integers(2, 6))
    w_a = rng.standard_normal(d)
    B = w_a @ w_a * rng.uniform(1.0, 4.0)
    Z = rng.standard_normal((100, d)) * rng.uniform(0.2, 3.0, (100, 1))
    right = dome_bounds(Z, w_a, B)
    errors["as defined"] += judged(printed(Z, w_a, B), *right)
    errors["halves"] += judged(printed(Z, w_a, B, half=True), *right)
    errors["corrected"] += judged(corrected(Z, w_a, B), *right)

# %% tags=["SSS14-T11"]
print(
    f"{'of 40000':12}{'u too low':>11}{'u too high':>12}{'l too high':>12}{'not real':>10}{'unproved R':>12}"
)
for name, (u_low, u_high, l_high, not_real, unproved) in errors.items():
    print(f"{name:12}{u_low:11}{u_high:12}{l_high:12}{not_real:10}{unproved:12}")
assert errors["as defined"][0] > 1000
assert errors["as defined"][1] > 1000
assert errors["as defined"][4] == 0
assert errors["halves"][4] > 0
assert not np.any(errors["corrected"])

# %% [markdown]
# So: as defined, the theorem is *safe for R*, *unsafe for L*, and *not tight*. With halves it is unsafe for
# both. Corrected it is exact.
#
# ## The counter-example: two samples on a line
#
# A bound that fails is not yet a wrong answer, because the solution need not be where it fails. Here it is.
# Take $z_1 = 1$ and $z_2 = 0.8$, the machine of [`36a-two-forms-of-the-svm`](36a-two-forms-of-the-svm.ipynb), with $w_a = 0.95$ and
# $C_b = 2$, where $w_b = 1.25$.
#
# Everything is parallel to $w_a$. The rim is $w_a$ itself, so the printed upper bound of the margin of
# sample 1 is its margin at $w_a$, 0.95. That is below 1: "L, for every $C$ up to 2". In truth sample 1 has
# margin 1.25 at $C_b$ and is in R.


# %% tags=["SSS14-T11"]
def solve(prob, C, rtol=1e-11):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


line = np.array([[1.0], [0.8]])
pair = ss.Problem(ss.Samples(line * [[1], [-1]], [1, -1]), ss.Hinge())
C_a, C_b = 0.95 / 1.8, 2.0
a, b = solve(pair, C_a), solve(pair, C_b)
u_printed, u_right = printed(line, a.x, b.x @ b.x)[1], dome_bounds(line, a.x, b.x @ b.x)[1]
print(f"w_a = {a.x[0]:.4f}, w_b = {b.x[0]:.4f}")
print(
    f"sample 1: margin at C_b {line[0] @ b.x:.4f}, printed bound {u_printed[0]:.4f}, right bound "
    f"{u_right[0]:.4f}"
)
assert u_printed[0] < 1.0 < line[0] @ b.x <= u_right[0] + 1e-6

# %% [markdown]
# ### What the wrong decision costs
#
# Believe the printed test: hold sample 1 in L and train what is left. The objective at $C_b$ is more than
# twice the optimal one.


# %% tags=["SSS14-T11"]
def objective(w, C):
    return 0.5 * float(w @ w) + C * float(np.maximum(1.0 - line @ w, 0.0).sum())


held_in_L = pair.reduce(np.array([True, False]), np.array([False, False]))
w_wrong = ss.solve(held_in_L, 1.0 / C_b, tol=1e-12, screening=()).x
print(f"solution with sample 1 held in L: {w_wrong[0]:.4f} in place of {b.x[0]:.4f}")
print(f"objective: {objective(w_wrong, C_b):.4f} in place of {objective(b.x, C_b):.4f}")
assert objective(w_wrong, C_b) > 2.0 * objective(b.x, C_b)

# %% [markdown]
# ## The library call, and does it match?
#
# `svm.dome_test` uses the corrected bounds. It does not put sample 1 into L.


# %% tags=["SSS14-T11"]
def contradictions(screened, at):
    """Decisions that a solution contradicts, by a margin or by a dual variable."""
    margins, alpha = at.problem.terms.margins(at.x), at.alpha
    in_R = screened.in_R & ((margins < 1.0 - 1e-6) | (alpha > 1e-6))
    in_L = screened.in_L & ((margins > 1.0 + 1e-6) | (alpha < 1.0 - 1e-6))
    return int(np.sum(in_R) + np.sum(in_L))


by_library = svm.dome_test(pair.terms, a, b)
assert np.allclose(corrected(line, a.x, b.x @ b.x), dome_bounds(line, a.x, b.x @ b.x))
print(
    "the library puts sample 1 into L:",
    bool(by_library.in_L[0]),
    "  contradictions:",
    contradictions(by_library, b),
)
assert not by_library.in_L[0] and contradictions(by_library, b) == 0

# %% [markdown]
# ### On breast cancer
#
# On real data the printed test decides too much as well: it puts a few samples into L that the right bound
# does not. Here they happen to be in L. The masks of the library are those of the right bound.

# %% tags=["SSS14-T11", "nbval-ignore-output"]
X, y = datasets.load("breast-cancer", return_X_y=True)
cancer, Z = ss.Problem(ss.Samples(X, y), ss.Hinge()), y[:, None] * X
print(" C_a/C_min  C_b/C_a   L printed  L proved   not proved   R printed  R proved")
n_unproved = 0
for factor, step in ((1.5, 1.3), (1.5, 2.0), (3.0, 1.3), (30.0, 1.1)):
    C_a = factor * svm.c_min(cancer.terms)
    a, b = solve(cancer, C_a), solve(cancer, step * C_a)
    (low_p, high_p), (low, high) = printed(Z, a.x, b.x @ b.x), dome_bounds(Z, a.x, b.x @ b.x)
    found, sure = (
        svm.dome_test(cancer.terms, a, b),
        np.minimum(np.abs(low - 1), np.abs(high - 1)) > 2e-3,
    )
    assert np.array_equal(found.in_R[sure], low[sure] > 1) and np.array_equal(
        found.in_L[sure], high[sure] < 1
    )
    assert not np.any(found.in_R & (low <= 1) | found.in_L & (high >= 1))
    assert contradictions(found, b) == 0
    assert np.array_equal(low_p > 1, low > 1) and np.all((Z @ b.x)[high_p < 1] < 1)
    unproved = np.sum((high_p < 1) & (high >= 1))
    n_unproved += unproved
    row = np.sum(high_p < 1), np.sum(high < 1), unproved, np.sum(low_p > 1), np.sum(low > 1)
    print(f"{factor:10.1f}{step:9.1f}{row[0]:12}{row[1]:10}{row[2]:13}{row[3]:12}{row[4]:10}")
assert n_unproved > 0
print(f"breast cancer: {n_unproved} unproved decisions of the printed test, all of them right")

# %% [markdown]
# ## A smaller region: two balls inside the dome
#
# The dome uses that $w_a$ is optimal for *some* $C$. It does not ask which. Ball test 1
# ([`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb)) does.
#
# *From $w_a$.* Its ball for $C > C_a$ has the segment from $w_a$ to $\frac C{C_a}w_a$ for a diameter and
# contains $w(C)$. All these balls touch the plane of the dome in $w_a$, from the far side, and a larger $C$
# makes a larger ball around the smaller ones. So the ball for $C_b$ contains $w(C)$ for *every* $C$
# between, and it lies in the half-space.
#
# *From $w_b$.* Its ball for $C_a$ has the segment from $\frac{C_a}{C_b}w_b$ to $w_b$ for a diameter. By the
# same argument it contains every $w(C)$ between, and it lies in the ball of the dome, which it touches in
# $w_b$.
#
# > **Both balls contain every $w(C)$ between, and their intersection lies inside the dome.** Whatever the
# > dome test decides, the intersection test of the two balls decides.

# %%
v1, v2, w1, w2, k = sp.symbols("v1 v2 w1 w2 k", real=True)
v, w = sp.Matrix([v1, v2]), sp.Matrix([w1, w2])
in_ball = (w - v).dot(w - k * v)  # at most 0 in the ball over the segment from v to k v
assert sp.expand(in_ball - ((w - v).dot(w - v) - (k - 1) * v.dot(w - v))) == 0
print(
    "in the ball over [v, k v]:  |w - v|^2 <= (k - 1) <v, w - v>,  so  <v, w> >= |v|^2,  and a "
    "larger k asks for less"
)

# %%
rng = np.random.default_rng(4)
points = np.vstack(
    [rng.normal(center, np.sqrt(0.75), (300, 2)) for center in ([1.5, 1.5], [-1.5, -1.5])]
)
toy = ss.Problem(ss.Samples(points, np.repeat([1, -1], 300)), ss.Hinge())
a, b, at = (solve(toy, C) for C in (0.1, 0.2, 0.14))
from_a, from_b = spheres.path_bound(a.x, a.lam, b.lam), spheres.path_bound(b.x, b.lam, a.lam)
marks = {"$w_a$": a.x, "$w_b$": b.x, "optimum": at.x}
named = {"ball from $w_a$": from_a, "ball from $w_b$": from_b}
figures.domes(a.x, np.linalg.norm(b.x), named, marks, title="C from 0.1 to 0.2")
assert all(np.linalg.norm(at.x - ball.center) <= ball.radius for ball in named.values())
figures.show(
    f"The dome of the {len(points)} points is a slice between a straight edge and an arc. A ball "
    "touches the edge in w_a, another touches the arc in w_b. "
    "The region in which the balls overlap is a lens in the middle of the slice; the solution for "
    "a C between lies in it."
)

# %% [markdown]
# ### How much more they screen
#
# Exact solutions are not to be had, so each ball is the relaxed path bound, which contains the exact one
# ([`14-path-bounds`](14-path-bounds.ipynb)).

# %%
rows = []
for name, prob, factors in (
    ("600 points", toy, (100.0, 1000.0)),
    ("breast cancer", cancer, (3.0, 30.0, 300.0)),
):
    for factor, step in [(factor, step) for factor in factors for step in (1.05, 1.3, 2.0)]:
        C_a = factor * svm.c_min(prob.terms)
        a, b = solve(prob, C_a), solve(prob, step * C_a)
        dome = svm.dome_test(prob.terms, a, b)
        from_a = spheres.relaxed_path_bound(a.x, a.eps, a.lam, b.lam)
        from_b = spheres.relaxed_path_bound(b.x, b.eps, b.lam, a.lam)
        both = rules.intersection(prob, from_a, from_b)
        assert np.all(both.in_L >= dome.in_L) and np.all(both.in_R >= dome.in_R)
        assert all(
            contradictions(both, solve(prob, C)) == 0 for C in np.linspace(C_a, step * C_a, 5)
        )
        rows.append((name, factor, step, dome.rate, both.rate))

# %% tags=["nbval-ignore-output"]
print("                C_a/C_min  C_b/C_a    dome   two balls")
for name, factor, step, dome, both in rows:
    print(f"{name:16}{factor:9.0f}{step:9.2f}{dome:8.2f}{both:12.2f}")
assert sum(row[4] for row in rows) > 1.5 * sum(row[3] for row in rows)

# %% [markdown]
# ## Exercise
#
# The printed bound is a valid upper bound for some domes whatever $z$ is. For which $\kappa$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# It fails for $1/\kappa < \tau < \sqrt2/\kappa$, with $\tau \le 1$. That range is empty only for
# $\kappa = 1$, when $w_a = w_b$ and the dome is a point. So for every dome that is not a point there are
# samples for which it fails; most of all for $\kappa = \sqrt2$.
#
# </details>

# %%
for kappa_ in (1.0, 1.01, 1.4, 3.0):
    fails = printed(fan, e1, kappa_**2)[1] < dome_bounds(fan, e1, kappa_**2)[1] - 1e-9
    print(f"kappa = {kappa_}: printed bound too low at some angle: {bool(fails.any())}")
    assert fails.any() == (kappa_ > 1.0)

# %% [markdown]
# ## Fine print
#
# * **Fairness.** The theorem recalls SSS13's for a comparison; SSS14 does not screen with it. SSS13's own
#   formulas, its supplement with the proof and the authors' code were not at hand.
# * **A merely feasible $\hat w$** in place of $w_b$ gives no second ball. The first ball cut with
#   $\|w\| \le \|\hat w\|$ still lies inside the dome.
# * **Widths.** The dome is as wide as $\sqrt{(B - A)/A}$, the square root of the step from $C_a$ to $C_b$;
#   the balls are as wide as the step. Figure 6 of SSS14 shows the effect.
#
# Next: [`36d-path-of-the-s-form`](36d-path-of-the-s-form.ipynb).
#
# ## References
#
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*,
#   ICML 2013: Theorem 2.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014:
#   Theorem 11, appendix B.
