# %% [markdown]
# # Ranges: for which $\lambda$ is a triplet decided?
#
# A screening rule decides for one $\lambda$ at a time. But the center and the radius of a ball are simple functions of
# $\lambda$, so we can solve the rule for $\lambda$ once. Then each triplet has an interval of $\lambda$. While the
# $\lambda$ of the path is inside this interval, the triplet needs no further test.
#
# At the end you will have seen that
#
# * the center of the ball of the relaxed path bound moves along a ray, and the radius grows as $\lambda$ moves away from
#   $\lambda_0$. A range ends where the ball touches the threshold of a term;
# * both ends are fractions. The paper gives them for the zero part (R). This notebook derives them for the linear part
#   (L) too, where the upper end is often infinite;
# * the lower end is below $\lambda_0$ and the upper end above it, or the range is empty. So it is always clear which
#   interval is meant.

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The data are twelve points of the plane, with a diagonal metric $x = (m_1, m_2)$, so that balls are circles. The
# reference $x_0$ is a solver's result for $\lambda_0$, with a gap of some $10^{-2}$.
#
# The left panel shows the ball of the relaxed path bound (RRPB, [`14-path-bounds`](14-path-bounds.ipynb)) for five values
# of $\lambda$. The center moves on the ray through $x_0$, outwards as $\lambda$ falls. The radius is $\varepsilon$ at
# $\lambda_0$ and grows on both sides. Stars mark the true solutions. On the dashed line the margin of one triplet is at
# its threshold $\tau = 1$. The triplet is in R as long as the ball lies beyond the line. At two values of $\lambda$ the
# ball touches the line.
#
# The right panel shows the margins of this triplet over the ball, as a function of $\lambda$. The smallest margin is
# $\langle a_t, Q\rangle - r n$, where $Q$ is the center, $r$ the radius and $n = \|a_t\|$. While this margin is above the
# threshold, the triplet is in R. So one reference decides the triplet for all $\lambda$ of the shaded interval around
# $\lambda_0$. Theorem 10 says where this interval ends.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)
loss = ss.SmoothedHinge(gamma=0.05)

shifted = X + np.outer(y, [0.0, 1.5])
plane = ss.Problem(ss.Triplets.from_labels(shifted, y, k=3, diagonal=True), loss)
at0 = 0.05 * plane.lam_max()
start = ss.solve(plane, at0, tol=3e-2, screening=())
ranges = ss.ranges.relaxed_path(plane, start.x, start.eps, at0)
t = 26  # the triplet of the picture
a_t = plane.terms.adjoint(np.eye(len(plane))[t])
ends = ranges.R_low[t] / at0, ranges.R_high[t] / at0
balls, path = {}, {}
for part in (0.5, ends[0], 1.0, ends[1], 1.8):
    name = rf"${part:.2f}\,\lambda_0$"
    balls[name] = ss.spheres.relaxed_path_bound(start.x, start.eps, at0, part * at0)
    path[name] = ss.solve(plane, part * at0, tol=1e-10).x


# %%
def draw_balls(ax):
    """The balls for five lam, the solutions (stars), the threshold of the triplet (dashed), and
    the ray of the reference."""
    title = r"the ball slides along the ray of $x_0$ (dot)"
    figures.balls(plane.cone, balls, {}, ax=ax, title=title)
    ax.plot(*start.x, "o", color="black", markersize=4, zorder=6)
    for style, x_star in zip(figures.styles(balls), path.values(), strict=True):
        ax.plot(*x_star, "*", color=style["color"], markersize=9, zorder=5)
    limits = ax.get_xlim(), ax.get_ylim()
    foot = a_t / (a_t @ a_t)  # the point of the threshold nearest to 0
    ax.axline(foot, slope=-a_t[0] / a_t[1], color="#555555", linestyle="--", linewidth=1.2)
    end = 4.0 * start.x
    ax.plot([0.0, end[0]], [0.0, end[1]], color="#BBBBBB", linewidth=0.8, zorder=0)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel="$m_1$", ylabel="$m_2$")


# %%
def draw_margins(ax):
    """The margins of the triplet over the ball, against lam: a band, and where its lower edge is
    above the threshold."""
    grid = np.geomspace(0.3, 3.0, 200)
    along = [ss.spheres.relaxed_path_bound(start.x, start.eps, at0, part * at0) for part in grid]
    middle = np.array([a_t @ ball.center for ball in along])
    width = np.array([ball.radius for ball in along]) * np.linalg.norm(a_t)
    grey, orange = figures.COLOURS["plain"], figures.COLOURS["R"]
    ax.fill_between(grid, middle - width, middle + width, color=grey, alpha=0.35, linewidth=0)
    ax.plot(grid, middle - width, color=orange, label=r"$\langle a_t, Q\rangle - r n$")
    ax.axhline(1.0, color="#555555", linestyle="--", linewidth=1.2, label=r"threshold $\tau$")
    ax.axvspan(*ends, color=orange, alpha=0.12, linewidth=0, label="range of R")
    ax.set(xscale="log", xlim=(3.0, 0.3), ylim=(0.0, 3.0))
    ax.set(title="margins of one triplet over the ball")
    ax.set_xticks([2, 1, 0.5], ["2", "1", "0.5"])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set(xlabel=r"$\lambda/\lambda_0$, from large to small")
    ax.legend(loc="upper left")


# %%
figure, axes = figures.panels(2, width=9.4, height=4.2)
draw_balls(axes[0])
draw_margins(axes[1])
figures.show(
    "Left, discs show RRPB for several lambdas. Their centers lie on the ray of the reference, "
    "and the disc for the lambda of the reference is the smallest. Right, a band shows the "
    "smallest and largest margin of a triplet over the ball against lambda. The lower edge of the "
    "band is above the threshold in a shaded range of lambda, from "
    f"{ends[0]:.2f} to {ends[1]:.2f} times the lambda of the reference."
)
print(f"range of R: from {ends[0]:.3f} to {ends[1]:.3f} lam0")

# %% [markdown]
# ## The claims
#
# Write $h = \langle a_t, x_0\rangle$, $n = \|a_t\|$, $m = \|x_0\|$. The reference $x_0$ is an approximate solution for
# $\lambda_0$ with $\|x_0^\star - x_0\| \le \varepsilon$. The threshold $\tau$ is 1 in the papers. A term is in R (zero
# part) if its margin at the solution is above $\tau$, and in L (linear part) if this margin is below $\tau - \gamma$.
#
# > **Range of RRPB** (STS19 Theorem 10; STS18 Theorem 4.1). If $h - 2\tau + nm > 0$, the triplet is in R at the
# > solution for every $\lambda$ of the open interval $(\lambda_a, \lambda_b)$,
# >
# > $$\lambda_a = \lambda_0\,\frac{nm - h + 2\varepsilon n}{h - 2\tau + nm}, \qquad
# \lambda_b = \lambda_0\,\frac{nm + h}{nm - h + 2\tau + 2\varepsilon n} .$$
#
# > **The same for L** (the papers use such a range too but do not print it; the authors' program computes its lower end).
# > Let $u = \tau - \gamma > 0$, and let the rule put the triplet into L at $\lambda_0$ itself: $h + \varepsilon n < u$.
# > Then the triplet is in L for
# >
# > $$\lambda_0\,\frac{nm + h + 2\varepsilon n}{nm - h + 2u} < \lambda < \lambda_0\,\frac{nm - h}
# {nm + h + 2\varepsilon n - 2u} .$$
# >
# > If the last denominator is not positive, the interval has no upper end.
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
# ## Derivation of Theorem 10
#
# ### Step 1: on either side of $\lambda_0$ the rule is linear in $\lambda$
#
# The rule for R is $\langle a_t, Q\rangle - r\,n > \tau$. Insert the ball of RRPB
# ([`14-path-bounds`](14-path-bounds.ipynb)),
#
# $$Q = \tfrac{\lambda_0 + \lambda}{2\lambda}\, x_0, \qquad r = \tfrac{|\lambda_0 - \lambda|}{2\lambda}\, m +
# \tfrac{\max(\lambda_0, \lambda)}{\lambda}\,\varepsilon ,$$
#
# and multiply by $2\lambda$. The result is linear in $\lambda$ on each side of $\lambda_0$:

# %%
lam, at, h, n, m, tau, err = sp.symbols("lambda lambda_0 h n m tau varepsilon", positive=True)


def rule(radius):
    """Twice lambda times the expression that must be positive by the rule."""
    return sp.expand(2 * lam * ((at + lam) / (2 * lam) * h - radius * n - tau))


below = rule((at - lam) / (2 * lam) * m + at / lam * err)  # for lam <= lam0
above = rule((lam - at) / (2 * lam) * m + err)  # for lam >= lam0
assert sp.expand(below - (lam * (h - 2 * tau + n * m) - at * (n * m - h + 2 * err * n))) == 0
assert sp.expand(above - (at * (n * m + h) - lam * (n * m - h + 2 * tau + 2 * err * n))) == 0
print("lam <= lam0:", sp.collect(below, [lam, at]))
print("lam >= lam0:", sp.collect(above, [lam, at]))

# %% [markdown]
# By Cauchy and Schwarz $|h| \le nm$. So for $\lambda \le \lambda_0$ the constant is $-\lambda_0$ times a non-negative
# number, and the rule can hold only if the factor of $\lambda$ is positive. This is the condition of the theorem. For
# $\lambda \ge \lambda_0$ the factor is negative whenever $\tau \ge 0$. Division gives $\lambda_a$ and $\lambda_b$.
#
# ### Step 2: either both ends are right or the range is empty
#
# The first inequality is valid only for $\lambda \le \lambda_0$, and the second only for $\lambda \ge \lambda_0$. The theorem
# joins both into $(\lambda_a, \lambda_b)$. Suppose $\lambda_a > \lambda_0$, so that no $\lambda \le \lambda_0$ satisfies
# the rule. Could some $\lambda \ge \lambda_0$ satisfy it? Then the printed interval would be wrong.

# %%
lam_a = at * (n * m - h + 2 * err * n) / (h - 2 * tau + n * m)
lam_b = at * (n * m + h) / (n * m - h + 2 * tau + 2 * err * n)
print("lam0 - lam_a =", sp.factor(at - lam_a))
print("lam_b - lam0 =", sp.factor(lam_b - at))
same = 2 * at * (h - err * n - tau)
assert sp.simplify(at - lam_a - same / (h - 2 * tau + n * m)) == 0
assert sp.simplify(lam_b - at - same / (n * m - h + 2 * tau + 2 * err * n)) == 0

# %% [markdown]
# Both differences have the same numerator, $2\lambda_0 (h - \varepsilon n - \tau)$. It is positive exactly if **the rule
# holds at $\lambda_0$ itself**. So there are two cases:
#
# * The rule holds at $\lambda_0$. Then $\lambda_a < \lambda_0 < \lambda_b$. The condition of the theorem follows from
#   $h > \tau$ and $nm \ge h$.
# * The rule does not hold at $\lambda_0$. Then, under the condition, $\lambda_b \le \lambda_0 \le \lambda_a$, and the
#   interval is empty, as it should be.
#
# The theorem is right as printed. (In the second case the condition must be *tested*. "Break it" shows what happens
# without the test.)
#
# ### Step 3: L mirrors R
#
# The rule for L is $\langle a_t, Q\rangle + r n < u$, which is $\langle -a_t, Q\rangle - r\,\|{-a_t}\| > -u$. So replace
# $h$ by $-h$ and $\tau$ by $-u$ in Theorem 10. One thing changes: the new threshold is negative. So the denominator of
# the upper end, $nm + h + 2\varepsilon n - 2u$, can be zero or negative. Then the rule holds for *all*
# $\lambda \ge \lambda_0$. This must be possible, because every triplet is in L for large $\lambda$.
#
# ## Ten lines of numpy
#
# The rest of the notebook uses the full metric of the same points, with 108 triplets.


# %%
def path_ranges(h, n, m, eps, lam0, tau):
    """Open intervals of lam in which RRPB puts terms into R; nan where the interval is empty."""
    holds = h - eps * n > tau
    top, bottom = n * m + h, n * m - h + 2 * tau + 2 * eps * n
    low = lam0 * (n * m - h + 2 * eps * n) / np.where(holds, n * m + h - 2 * tau, 1.0)
    high = np.where(bottom > 0, lam0 * top / np.where(bottom > 0, bottom, 1.0), np.inf)
    return np.where(holds, low, np.nan), np.where(holds, high, np.nan)


problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam0 = 0.1 * problem.lam_max()
reference = ss.solve(problem, lam0, tol=1e-3, screening=())
x0, eps, u = reference.x, reference.eps, 1.0 - loss.gamma
print(f"{problem}; eps = {eps:.3f}")

i, j, k = problem.terms.index.T
far, near = X[i] - X[k], X[i] - X[j]
A = far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]
margin = np.sum(A * x0, axis=(1, 2))
norm = np.linalg.norm(A, axis=(1, 2))
size = np.linalg.norm(x0)
slow = {
    "L": path_ranges(-margin, norm, size, eps, lam0, -u),
    "R": path_ranges(margin, norm, size, eps, lam0, 1.0),
}

# %% [markdown]
# ## The library, and does it match?
#
# The library rounds every end towards $\lambda_0$. So its intervals must lie inside the intervals of the ten lines, and
# differ from them only by rounding.

# %%
ranges = ss.ranges.relaxed_path(problem, x0, eps, lam0)
for side, (low, high) in slow.items():
    ours_low, ours_high = getattr(ranges, f"{side}_low"), getattr(ranges, f"{side}_high")
    some = ~np.isnan(low)
    assert np.array_equal(some, ~np.isnan(ours_low))
    assert np.all(ours_low[some] >= low[some]) and np.all(ours_high[some] <= high[some])
    np.testing.assert_allclose(ours_low, low, rtol=1e-9)
    np.testing.assert_allclose(ours_high, high, rtol=1e-9)
    ends = f"{np.nanmin(low) / lam0:.3f} and {np.nanmax(high) / lam0:.3f} lam0"
    print(f"{side}: {some.sum()} of {len(ranges)} triplets have a range, "
          f"{np.isinf(high).sum()} without an upper end; extreme ends {ends}")
print("every interval is inside the interval of the ten lines; relative difference below 1e-9")

# %% [markdown]
# ## Picture: a range chart
#
# Each row is a triplet, and the triplets with the longest ranges are outermost. Pale colours show the region of the
# triplet at solutions for fifteen values of $\lambda$ (blue: L, orange: R, white: the quadratic piece between L and R).
# Solid colours show the range, computed from one reference at $\lambda_0$ and two fractions for each triplet.

# %%
span = (0.1 * lam0, 6.0 * lam0)
truth = []
for at_lam in np.geomspace(*span, 15):
    margins = problem.terms.margins(ss.solve(problem, at_lam, tol=1e-9).x)
    truth.append((at_lam, ss.Screened(margins < u, margins > 1.0)))
bounds = {
    "DGB": ss.ranges.duality_gap(problem, x0, lam0),
    "RRPB": ranges,
    "MGB": ss.ranges.midpoint_gap(problem, x0, lam0),
}
figure, axes = figures.panels(2, height=4.6)
figures.range_chart(ranges, lam0, span, truth=truth, ax=axes[0], title="RRPB: category by colour")
title = "DGB, what RRPB adds, what MGB adds"
figures.range_chart(bounds, lam0, span, ax=axes[1], title=title)
lowest = {name: np.fmin(found.L_low, found.R_low) for name, found in bounds.items()}
in_turn = (lowest["DGB"] > lowest["RRPB"]) & (lowest["RRPB"] > lowest["MGB"])
figures.show(
    "Each row is a triplet. A bar around the lambda of the reference shows for which lambda the "
    f"triplet is decided. Left, colours show the category by RRPB: "
    f"{np.isfinite(ranges.L_low).sum()} of {len(problem)} rows have a range in L and "
    f"{np.isfinite(ranges.R_low).sum()} have a range in R. Right, colours show the range by DGB, "
    "what RRPB adds to it, and what MGB adds to both. Towards smaller lambda DGB ends first and "
    f"MGB last in {in_turn.sum()} of {np.isfinite(lowest['MGB']).sum()} rows."
)

# %% [markdown]
# No solid bar leaves its pale background, and the bars open like a funnel around $\lambda_0$. Triplets far from their
# threshold have long ranges. The right panel shows the same rows in three layers: the range by DGB, what RRPB adds to it,
# and what the midpoint gap bound MGB adds to both. Towards smaller $\lambda$ the ranges of DGB end first, those of RRPB
# later, and those of MGB last. MGB adds little to RRPB here, but it loses nothing: its ball lies in the balls of the two
# others, so its ranges contain theirs. The notebook [`27-gap-ball-ranges`](27-gap-ball-ranges.ipynb) derives the ranges
# of DGB and MGB.
#
# ## Theorem 10 over three cones
#
# The next cells test intervals of random problems of all kinds, with references of all qualities, for R and L. They test
# three properties of every interval. First, the interval is true: we solve each problem at seven other values of
# $\lambda$ and, for the widest intervals, just inside their ends, and every triplet must be where its interval says.
# Second, the interval agrees with the balls: at these values the masks are the masks of the sphere rule with the ball for
# this $\lambda$. Third, the interval is as long as possible: at each end the decision of the sphere rule changes.


# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    terms = ss.Triplets.from_labels(X, y, k=3, diagonal=kind == "diagonal metric")
    return ss.Problem(terms, ss.SmoothedHinge(gamma))


def check(problem, found, x):
    """Check that all decisions are true at the solution x; return their numbers in L and in R."""
    margins = problem.terms.margins(x)
    assert np.all(margins[found.in_R] > 1.0)
    assert np.all(margins[found.in_L] < 1.0 - problem.loss.gamma)
    return np.array([found.n_L, found.n_R])


# %%
kinds, instances = ("metric", "diagonal metric", "support vectors"), []
rng = np.random.default_rng(20)
for kind in kinds:
    for repeat in range(30):
        gamma, factor = (0.05, 0.5)[repeat % 2], rng.choice([0.5, 0.1, 0.02])
        instance = random_problem(kind, gamma, rng)
        weight = max(instance.lam_max(), 1.0) * factor
        accuracy = rng.choice([1e-2, 1e-3, 1e-6])
        rough = ss.solve(instance, weight, tol=0.0, rtol=accuracy, screening=())
        others = weight * np.array([0.3, 0.7, 0.9, 1.0, 1.2, 2.0, 10.0])
        instances.append((kind, instance, weight, rough, others))
print(len(instances), "problems, each solved at seven values of lam")


# %%
def nearly_at_the_ends(sides, weight):
    """Values of lam just inside the widest ranges of both sides."""
    nearly = []
    for low, high in sides.values():
        if not np.all(np.isnan(low)):
            nearly += [np.nanmin(low) * (1 + 1e-3), np.nanmax(high) * (1 - 1e-3)]
    return [value for value in nearly if 1e-2 * weight < value < 1e2 * weight]


def decides(instance, rough, weight, lam, side, t):
    """Whether the sphere rule puts term t into L or R for lam."""
    ball = ss.spheres.relaxed_path_bound(rough.x, rough.eps, weight, lam)
    return getattr(ss.rules.sphere(instance, ball), f"in_{side}")[t]


def ends_that_turn(instance, rough, weight, side, low, high):
    """Check that the decision of the sphere rule changes at both ends of three ranges of a side;
    return the number of ends tested."""
    rows, turns = np.flatnonzero(~np.isnan(low)), 0
    assert np.all((low[rows] < weight) & (weight < high[rows]))
    for t in rows[:3]:
        for end, outward in ((low[t], 1 - 1e-6), (high[t], 1 + 1e-6)):
            if 1e-6 * weight < end < np.inf:
                assert decides(instance, rough, weight, end / outward, side, t)
                assert not decides(instance, rough, weight, end * outward, side, t)
                turns += 1
    return turns


# %% tags=["STS19-T10", "nbval-ignore-output"]
decisions = {kind: np.zeros(2, dtype=int) for kind in kinds}
turns = solved_ends = 0
for kind, instance, weight, rough, others in instances:
    found = ss.ranges.relaxed_path(instance, rough.x, rough.eps, weight)
    sides = {side: (getattr(found, f"{side}_low"), getattr(found, f"{side}_high")) for side in "LR"}
    nearly = nearly_at_the_ends(sides, weight)
    for other in (*others, *nearly):
        x_star = ss.solve(instance, other, tol=1e-12, rtol=1e-13).x
        decided = found.at(other)
        decisions[kind] += check(instance, decided, x_star)
        ball = ss.spheres.relaxed_path_bound(rough.x, rough.eps, weight, other)
        rule = ss.rules.sphere(instance, ball)
        assert np.array_equal(decided.in_L, rule.in_L) and np.array_equal(decided.in_R, rule.in_R)
    solved_ends += len(nearly)
    for side, (low, high) in sides.items():
        turns += ends_that_turn(instance, rough, weight, side, low, high)
for kind in kinds:
    in_L, in_R = decisions[kind]
    print(f"{kind:16} decisions checked: {in_L} in L, {in_R} in R, none wrong")
    assert decisions[kind].min() > 0
print(f"ends re-solved one part in a thousand inside: {solved_ends}")
print(f"ends at which the sphere rule turns within one part in a million: {turns} of {turns}")
assert turns > 300 and solved_ends > 150

# %% [markdown]
# ## Break it: forget the condition
#
# The condition $h - 2\tau + nm > 0$ seems only to exclude a division by zero. The next cell leaves the condition out.
# A triplet with a *small* norm then has a negative $\lambda_a$ and a positive $\lambda_b$. This interval looks valid,
# but it is wrong.

# %%
top_a, bottom_a = norm * size - margin + 2 * eps * norm, margin - 2 + norm * size
careless_low = lam0 * top_a / bottom_a
careless_high = lam0 * (norm * size + margin) / (norm * size - margin + 2 + 2 * eps * norm)
at_lam = 0.1 * lam0
claimed = (careless_low < at_lam) & (at_lam < careless_high)
margins = problem.terms.margins(ss.solve(problem, at_lam, tol=1e-10).x)
false = claimed & (margins <= 1)
print(f"lam = 0.1 lam0: {claimed.sum()} triplets claimed for R, {false.sum()} of them wrongly")
print("wrong claims that violate the condition:", np.sum(false & (bottom_a <= 0)))
assert np.any(false) and not np.any(false & (bottom_a > 0))

# %% [markdown]
# Step 2 gives a safe form: test the rule at $\lambda_0$, $h - \varepsilon n > \tau$. This test costs one comparison,
# implies the condition, and needs no further distinction of cases.
#
# ## Exercise
#
# A path goes from $\lambda_0$ to $0.9\lambda_0$ and further down. The reference is exact ($\varepsilon = 0$). The triplet
# is *aligned* with the reference, $h = nm$, and its margin is $h = nm > 1$. For which $\lambda$ does RRPB decide that the
# triplet is in R? Now let $x_0$ be nearly orthogonal to the triplet's direction: $nm$ is much larger than $h$, say
# $h = 1.5$ and $nm = 15$. For which $\lambda$ does RRPB decide then?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Aligned: $\lambda_a = \lambda_0 (nm - h)/(\dots) = 0$, and $\lambda_b = \lambda_0 \cdot 2h/2 = \lambda_0 h$. The triplet
# needs no further test on the rest of the path. The reason is that the segment from $x_0$ to
# $\frac{\lambda_0}{\lambda} x_0$ is a diameter of the ball of RPB, and the hyperplane of the triplet's threshold is
# orthogonal to this segment.
#
# Nearly orthogonal: $\lambda_a = \lambda_0 (15 - 1.5)/(1.5 - 2 + 15) = 0.931\,\lambda_0$. The range ends before the next
# step of a path with ratio 0.9, although the triplet is 50 % beyond its threshold. The interval depends on the angle
# much more than on the margin: if $h = nm\cos\theta$ is large, $\lambda_a/\lambda_0 \approx
# (1 - \cos\theta)/(1 + \cos\theta) = \tan^2(\theta/2)$.
#
# </details>

# %%
for h_, nm_ in ((1.5, 1.5), (1.5, 15.0)):
    low, high = path_ranges(np.array([h_]), np.array([nm_]), 1.0, 0.0, 1.0, 1.0)
    print(f"h = {h_}, nm = {nm_}: lam/lam0 from {low[0]:.3f} to {high[0]:.3f}")
angle = sp.Symbol("theta", positive=True)
assert sp.simplify((1 - sp.cos(2 * angle)) / (1 + sp.cos(2 * angle)) - sp.tan(angle) ** 2) == 0

# %% [markdown]
# ## Fine print
#
# * **Cost.** The ranges need the margins at $x_0$, which the last solve has computed, and two fractions for each term.
# * **Rounding.** The library rounds ends towards $\lambda_0$. Margins, norms and thresholds enter with bounds of their
#   errors. So the rule holds, in exact arithmetic, at every number inside an interval.
# * **Reduced problems.** RRPB computes $\varepsilon$ from the gap at $\lambda_0$ alone. At $\lambda_0$ the gap of the
#   reduced problem is also the gap of the original problem. So the ranges of RRPB may be computed after screening without
#   further care. For GB, DGB and MGB this is not true, see
#   [`29-ranges-on-reduced-problems`](29-ranges-on-reduced-problems.ipynb).
# * **Thresholds.** For pairs a threshold may be negative. Then a range for R can also have no upper end.
# * **Numbering.** The statement is Theorem 10 in the text of STS19, and Theorem 11 in its appendix L.2.
# * **On the path.** `ss.path(..., ranges=True)` uses step 1 in the opposite direction. Below $\lambda_0$ the rule is
#   linear in $\lambda$ and positive at $\lambda_0$. So one pass with the ball for the smallest $\lambda$ of a stretch
#   certifies its terms for every $\lambda$ of the stretch, and no rule needs to test them there.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 6.1, Theorem 10, appendix L.2.
# * STS18: the same authors, KDD 2018: section 4, Theorem 4.1, appendix K.
