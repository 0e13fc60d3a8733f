# %% [markdown]
# # The dome test as SSS14 prints it, and a smaller region
#
# A screening test can have a wrong formula, or a region that is larger than necessary. This notebook shows one example of
# each fault. SSS14 repeats the dome test of SSS13 as its Theorem 11, for a comparison with
# its own tests. In the printed formula one symbol stands for two quantities, and an additional factor $\sqrt2$ makes
# the test unsafe. And the dome, with the right formula, uses only a part of the available knowledge: two balls from the
# same two solutions overlap in a region inside the dome.
#
# At the end you will have seen that
#
# * the printed test decides R correctly, which is its main purpose, but its bound for L is wrong;
# * on two samples it leads to a machine whose objective is more than twice the optimal one;
# * without the factor $\sqrt2$ the test is exact;
# * the overlap of two balls lies inside the dome and screens many more samples, for the same interval
#   of $C$.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import rules, spheres, svm
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# [`36b-dome-test`](36b-dome-test.ipynb) derived the largest margin of a sample $z$ over a dome, the ball $\|w\| \le \|w_b\|$
# beyond the plane through $w_a$. The formula has two cases, and the angle between $z$ and $w_a$ selects one. For a small
# angle the maximum is on the sphere, in the direction of $z$. For a larger angle the maximum is on the rim, where sphere
# and plane meet. The printed theorem changes from one case to the other at the wrong angle.


# %%
def dome_bounds(Z, w_a, B):
    """Return the bounds of <z, w> over |w|^2 <= B, <w_a, w> >= |w_a|^2, for every row z (36b)."""
    A = w_a @ w_a
    q = Z @ w_a
    n = np.linalg.norm(Z, axis=1)
    root = np.sqrt(np.maximum((B - A) / A * (A * n**2 - q**2), 0.0))
    low = np.where(-q * np.sqrt(B) >= A * n, -np.sqrt(B) * n, q - root)
    high = np.where(q * np.sqrt(B) >= A * n, np.sqrt(B) * n, q + root)
    return low, high


def printed(Z, w_a, B, half=False):
    """Return the bounds of SSS14 Theorem 11 as printed, with gamma = |w|^2, or with |w|^2/2."""
    scale = 0.5 if half else 1.0
    gamma_a = scale * (w_a @ w_a)
    gamma_b = scale * B
    q = Z @ w_a
    n = np.linalg.norm(Z, axis=1)
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
excess = curves["printed"][0] / curves["corrected"][0] - 1.0
figures.show(
    "Curves show the largest margin over a dome against the angle between z and w_a. The corrected "
    f"margin is constant up to {edges[1]:.0f} degrees and falls for larger angles. The printed "
    f"margin is {excess:.0%} higher at the start. It is lower than the corrected margin from "
    f"{edges[0]:.0f} to {edges[1]:.0f} degrees, and equal to it for larger angles."
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
# The right formula has no $\sqrt2$. The value and the condition of the first case are right for
# $\gamma = \frac12\|w\|^2$, the objective of SSS13's problem. The root is right for $\gamma = \|w\|^2$. The display seems
# to mix two normalisations. No single meaning of $\gamma$ makes the whole display
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
# Let $\gamma = \|w\|^2$, as the theorem defines it, and divide the conditions by $\|w_a\|$. The right formula
# has the first case for $\tau \ge 1/\kappa$, and the printed formula only for $\tau \ge \sqrt2/\kappa$.
#
# | angle | printed $u$ | right $u$ | verdict |
# |---|---|---|---|
# | $\tau < 1/\kappa$ | rim | rim | right |
# | $1/\kappa \le \tau < \sqrt2/\kappa$ | rim | $\Vert w_b\Vert\,\Vert z\Vert$ | **too low: not a bound** |
# | $\tau \ge \sqrt2/\kappa$ | $\sqrt2\,\Vert w_b\Vert\,\Vert z\Vert$ | $\Vert w_b\Vert\,\Vert z\Vert$ | safe, $\sqrt2$ times too large |

# %% [markdown]
# ### R is safe
#
# By symmetry the printed and the right $\ell$ differ only for
# $\tau \le -1/\kappa$. For these $\tau$, $q < 0$ and both values are negative, so neither is above 1. The printed test
# therefore puts exactly the same samples into R as the right test.

# %% [markdown]
# ### L is not safe
#
# In the middle row the printed value over the right one is
#
# $$\frac{q + \sqrt{\ldots}}{\|w_b\|\,\|z\|} = \frac\tau\kappa + \sqrt{\Big(1 - \frac1{\kappa^2}\Big)(1 - \tau^2)} .$$
#
# With $\tau = \cos\theta$ and $1/\kappa = \cos\varphi$ this ratio is $\cos(\theta - \varphi)$. At
# $\tau = 1/\kappa$ it is 1, and it falls as $z$ turns toward $w_a$. It is smallest for $\kappa = \sqrt2$
# and $z$ parallel to $w_a$: the printed bound is $1/\sqrt2$ of the right one.

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
# The correction has two equivalent forms. The function `dome_bounds` has $\gamma = \|w\|^2$ and no $\sqrt2$. The next
# function has $\gamma = \frac12\|w\|^2$ and the missing factor 2 in the root:


# %%
def corrected(Z, w_a, B):
    """Return the bounds with gamma = |w|^2/2 everywhere, and a factor 2 in the root."""
    gamma_a = 0.5 * (w_a @ w_a)
    gamma_b = 0.5 * B
    q = Z @ w_a
    n = np.linalg.norm(Z, axis=1)
    root = np.sqrt(np.maximum((gamma_b - gamma_a) / gamma_a * (2.0 * gamma_a * n**2 - q**2), 0.0))
    limit = np.sqrt(2.0) * gamma_a / np.sqrt(gamma_b)
    low = np.where(-q / n >= limit, -np.sqrt(2.0 * gamma_b) * n, q - root)
    return low, np.where(q / n >= limit, np.sqrt(2.0 * gamma_b) * n, q + root)


# %% [markdown]
# The next cells draw random domes and samples in two to five dimensions. They count the upper bounds that are too low,
# which are errors, and the upper bounds that are too high, which are valid but not tight. They also count roots of negative
# numbers.


# %%
def judged(bounds, low, high):
    """Count the bounds that are wrong or not tight, and the samples in R without proof."""
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
heads = f"{'u too low':>11}{'u too high':>12}{'l too high':>12}{'not real':>10}{'unproved R':>12}"
print(f"{'of 40000':12}{heads}")
for name, (u_low, u_high, l_high, not_real, unproved) in errors.items():
    print(f"{name:12}{u_low:11}{u_high:12}{l_high:12}{not_real:10}{unproved:12}")
assert errors["as defined"][0] > 1000
assert errors["as defined"][1] > 1000
assert errors["as defined"][4] == 0
assert errors["halves"][4] > 0
assert not np.any(errors["corrected"])

# %% [markdown]
# As defined, the theorem is *safe for R*, *unsafe for L*, and *not tight*. With $\gamma = \frac12\|w\|^2$ (*halves*) it is
# unsafe for R and L. The corrected theorem is exact.
#
# ## The counter-example: two samples on a line
#
# A bound that is too low need not lead to a wrong decision, because the solution may have a smaller margin. This example
# has a wrong decision. It is the machine of [`36a-two-forms-of-the-svm`](36a-two-forms-of-the-svm.ipynb), $z_1 = 1$ and $z_2 = 0.8$, with $w_a = 0.95$ and
# $C_b = 2$, where $w_b = 1.25$.
#
# Both samples are parallel to $w_a$. The rim is the point $w_a$, so the printed upper bound of the margin of
# sample 1 is its margin at $w_a$, 0.95. This bound is below 1, so the printed test decides L for every $C$ up to 2. But
# sample 1 has margin 1.25 at $C_b$ and is in R.


# %% tags=["SSS14-T11"]
def solve(prob, C, rtol=1e-11):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


line = np.array([[1.0], [0.8]])
pair = ss.Problem(ss.Samples(line * [[1], [-1]], [1, -1]), ss.Hinge())
C_a, C_b = 0.95 / 1.8, 2.0
a, b = solve(pair, C_a), solve(pair, C_b)
u_printed, u_right = printed(line, a.x, b.x @ b.x)[1], dome_bounds(line, a.x, b.x @ b.x)[1]
print(f"w_a = {a.x[0]:.4f}, w_b = {b.x[0]:.4f}")
bounds = f"printed bound {u_printed[0]:.4f}, right bound {u_right[0]:.4f}"
print(f"sample 1: margin at C_b {line[0] @ b.x:.4f}, {bounds}")
assert u_printed[0] < 1.0 < line[0] @ b.x <= u_right[0] + 1e-6

# %% [markdown]
# ### The result of the wrong decision
#
# Suppose that a program fixes sample 1 in L, as the printed test says, and trains the reduced problem. The objective at
# $C_b$ is then more than twice the optimal one.


# %% tags=["SSS14-T11"]
def objective(w, C):
    return 0.5 * float(w @ w) + C * float(np.maximum(1.0 - line @ w, 0.0).sum())


fixed_in_L = pair.reduce(np.array([True, False]), np.array([False, False]))
w_wrong = ss.solve(fixed_in_L, 1.0 / C_b, tol=1e-12, screening=()).x
print(f"solution with sample 1 fixed in L: {w_wrong[0]:.4f} in place of {b.x[0]:.4f}")
print(f"objective: {objective(w_wrong, C_b):.4f} in place of {objective(b.x, C_b):.4f}")
assert objective(w_wrong, C_b) > 2.0 * objective(b.x, C_b)

# %% [markdown]
# ## The library call, and does it match?
#
# `svm.dome_test` uses the corrected bounds. It does not put sample 1 into L.


# %% tags=["SSS14-T11"]
def contradictions(screened, at):
    """Count the decisions that a solution contradicts, by a margin or by a dual variable."""
    margins, alpha = at.problem.terms.margins(at.x), at.alpha
    in_R = screened.in_R & ((margins < 1.0 - 1e-6) | (alpha > 1e-6))
    in_L = screened.in_L & ((margins > 1.0 + 1e-6) | (alpha < 1.0 - 1e-6))
    return int(np.sum(in_R) + np.sum(in_L))


by_library = svm.dome_test(pair.terms, a, b)
assert np.allclose(corrected(line, a.x, b.x @ b.x), dome_bounds(line, a.x, b.x @ b.x))
print("sample 1 put into L by the library:", int(by_library.in_L[0]), "(allowed: 0)")
print("decisions that the solution contradicts:", contradictions(by_library, b), "(allowed: 0)")
assert not by_library.in_L[0] and contradictions(by_library, b) == 0

# %% [markdown]
# ### On breast cancer
#
# On breast cancer the printed test decides too many samples: it puts a few samples into L that the right bound
# does not. These samples happen to be in L. The library's masks are the masks of the right bound.

# %% tags=["SSS14-T11", "nbval-ignore-output"]
X, y = datasets.load("breast-cancer", return_X_y=True)
cancer, Z = ss.Problem(ss.Samples(X, y), ss.Hinge()), y[:, None] * X
print(" C_a/C_min  C_b/C_a   L printed  L proved   not proved   R printed  R proved")
n_unproved = 0
for factor, step in ((1.5, 1.3), (1.5, 2.0), (3.0, 1.3), (30.0, 1.1)):
    C_a = factor * svm.c_min(cancer.terms)
    a, b = solve(cancer, C_a), solve(cancer, step * C_a)
    (low_p, high_p), (low, high) = printed(Z, a.x, b.x @ b.x), dome_bounds(Z, a.x, b.x @ b.x)
    found = svm.dome_test(cancer.terms, a, b)
    sure = np.minimum(np.abs(low - 1), np.abs(high - 1)) > 2e-3
    assert np.array_equal(found.in_R[sure], low[sure] > 1)
    assert np.array_equal(found.in_L[sure], high[sure] < 1)
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
# The dome uses that $w_a$ is optimal for *some* $C$. Ball test 1
# ([`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb)) also uses the value of this $C$.
#
# *From $w_a$.* The ball of ball test 1 for $C > C_a$ has the segment from $w_a$ to $\frac C{C_a}w_a$ as a diameter, and
# contains $w(C)$. All these balls touch the plane of the dome in $w_a$, from the far side. The ball for a larger $C$
# contains the balls for smaller $C$. So the ball for $C_b$ contains $w(C)$ for *every* $C$
# in between, and it lies in the half-space.
#
# *From $w_b$.* The ball for $C_a$ has the segment from $\frac{C_a}{C_b}w_b$ to $w_b$ as a diameter. By the
# same argument it contains every $w(C)$ in between. It lies in the ball of the dome, and touches its surface in
# $w_b$.
#
# > **Both balls contain every $w(C)$ in between, and their intersection lies inside the dome.** So the intersection test of
# > the two balls decides every sample that the dome test decides.

# %%
v1, v2, w1, w2, k = sp.symbols("v1 v2 w1 w2 k", real=True)
v, w = sp.Matrix([v1, v2]), sp.Matrix([w1, w2])
in_ball = (w - v).dot(w - k * v)  # at most 0 in the ball over the segment from v to k v
assert sp.expand(in_ball - ((w - v).dot(w - v) - (k - 1) * v.dot(w - v))) == 0
print("in the ball over [v, k v]: |w - v|^2 <= (k - 1) <v, w - v>")
print("so <v, w> >= |v|^2, and a ball with a larger k contains a ball with a smaller k")

# %%
rng = np.random.default_rng(4)
clouds = [rng.normal(center, np.sqrt(0.75), (300, 2)) for center in ([1.5, 1.5], [-1.5, -1.5])]
points = np.vstack(clouds)
toy = ss.Problem(ss.Samples(points, np.repeat([1, -1], 300)), ss.Hinge())
a, b, at = (solve(toy, C) for C in (0.1, 0.2, 0.14))
from_a, from_b = spheres.path_bound(a.x, a.lam, b.lam), spheres.path_bound(b.x, b.lam, a.lam)
marks = {"$w_a$": a.x, "$w_b$": b.x, "optimum": at.x}
named = {"ball from $w_a$": from_a, "ball from $w_b$": from_b}
figures.domes(a.x, np.linalg.norm(b.x), named, marks, title="C from 0.1 to 0.2")
assert all(np.linalg.norm(at.x - ball.center) <= ball.radius for ball in named.values())
figures.show(
    f"The dome of the {len(points)} points lies between a straight edge and an arc. One ball "
    "touches the edge in w_a, and the other ball touches the arc in w_b. The balls overlap in a "
    "lens inside the dome, and the solution for a C in between lies in the lens."
)

# %% [markdown]
# ### How many more samples the two balls decide
#
# No program has exact solutions, so each ball is the relaxed path bound, which contains the ball of the exact solution
# ([`14-path-bounds`](14-path-bounds.ipynb)).

# %%
def dome_and_balls(prob, C_a, C_b):
    """Return the shares that the dome and the two balls decide; assert that the balls decide all
    that the dome decides, and nothing that a solution in between contradicts."""
    a, b = solve(prob, C_a), solve(prob, C_b)
    dome = svm.dome_test(prob.terms, a, b)
    from_a = spheres.relaxed_path_bound(a.x, a.eps, a.lam, b.lam)
    from_b = spheres.relaxed_path_bound(b.x, b.eps, b.lam, a.lam)
    both = rules.intersection(prob, from_a, from_b)
    assert np.all(both.in_L >= dome.in_L) and np.all(both.in_R >= dome.in_R)
    for C in np.linspace(C_a, C_b, 5):
        assert contradictions(both, solve(prob, C)) == 0
    return dome.rate, both.rate


# %%
rows = []
sets = ("600 points", toy, (100.0, 1000.0)), ("breast cancer", cancer, (3.0, 30.0, 300.0))
for name, prob, factors in sets:
    for factor in factors:
        C_a = factor * svm.c_min(prob.terms)
        for step in (1.05, 1.3, 2.0):
            rows.append((name, factor, step, *dome_and_balls(prob, C_a, step * C_a)))

# %% tags=["nbval-ignore-output"]
print("                C_a/C_min  C_b/C_a    dome   two balls")
for name, factor, step, dome, both in rows:
    print(f"{name:16}{factor:9.0f}{step:9.2f}{dome:8.2f}{both:12.2f}")
assert sum(row[4] for row in rows) > 1.5 * sum(row[3] for row in rows)

# %% [markdown]
# ## Exercise
#
# For some $\kappa$ the printed bound is a valid upper bound for every $z$. For which $\kappa$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The printed bound fails for $1/\kappa < \tau < \sqrt2/\kappa$, with $\tau \le 1$. These inequalities have no solution
# only if $\kappa = 1$, when $w_a = w_b$ and the dome is a point. So for every other dome it fails for some
# samples. The error is largest for $\kappa = \sqrt2$.
#
# </details>

# %%
for kappa_ in (1.0, 1.01, 1.4, 3.0):
    fails = printed(fan, e1, kappa_**2)[1] < dome_bounds(fan, e1, kappa_**2)[1] - 1e-9
    print(f"kappa = {kappa_}: printed bound too low at {fails.mean():.0%} of the angles")
    assert fails.any() == (kappa_ > 1.0)

# %% [markdown]
# ## Fine print
#
# * **Fairness.** The theorem recalls SSS13's theorem for a comparison, and SSS14 does not screen with it. SSS13's own
#   formulas, its supplement with the proof and the authors' code were not at hand.
# * **A feasible $\hat w$ that is not optimal**, in place of $w_b$, gives no second ball. The intersection of the first ball
#   with $\|w\| \le \|\hat w\|$ still lies inside the dome.
# * **Widths.** The width of the dome is $\sqrt{(B - A)/A}$, which grows like the square root of the step from $C_a$ to
#   $C_b$. The width of the balls is proportional to the step. Figure 6 of SSS14 shows the effect.
#
# Next: [`36d-path-of-the-s-form`](36d-path-of-the-s-form.ipynb).
#
# ## References
#
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*,
#   ICML 2013: Theorem 2.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014:
#   Theorem 11, appendix B.
