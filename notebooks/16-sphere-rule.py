# %% [markdown]
# # The sphere rule, and the cost of rules
#
# If a ball contains the solution, one inner product, one norm and one comparison decide a triplet. This notebook derives this rule in three lines. Then it answers two questions of computation: how to compute the norm without cancellation of digits, and how many multiplications the rule needs when triplets share their pairs.
#
# At the end you will have seen that
#
# * the smallest and the largest value of $\langle H, X\rangle$ over a ball are $\langle H, Q\rangle \mp r\|H\|$;
# * the textbook formula for $\|H\|$ can return 0 for a triplet whose norm is not 0, and then the rule screens falsely;
# * the paper counts $O(d^2)$ operations per triplet. If $T$ triplets of $n$ points share $P$ pairs, $O(nd^2 + Pd + T)$ operations are enough for all triplets, and for some balls the products are already known;
# * the semidefinite rule needs $O(d^3)$ operations per step, and the linear rule needs twice as many operations as the sphere rule.

# %%
import sys
import time

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

plt.rcParams.update(figures.STYLE)

# %% [markdown]
# ## The idea in a picture
#
# The solution is somewhere in a ball with center $Q$ and radius $r$. The margin of a triplet $H$ is $\langle H, X\rangle$. Its level lines are parallel, and perpendicular to $H$. Two level lines touch the ball, at $Q \mp rH/\|H\|$; they belong to the smallest and the largest margin over the ball. In the picture the line of level 1 lies below the ball. So the margin of this triplet is above 1 at every point of the ball, also at the solution, and the triplet is in R.

# %%
figure, ax = figures.panels(1, width=4.6, height=3.4)
direction = np.array([np.cos(0.9), np.sin(0.9)])
turn = np.linspace(0, 2 * np.pi, 200)
ax.fill(np.cos(turn), np.sin(turn), color=figures.OTHERS[1], alpha=0.1, linewidth=0)
ax.plot(np.cos(turn), np.sin(turn), color=figures.OTHERS[1])
side = np.array([-direction[1], direction[0]])
colour_R = figures.COLOURS["R"]
lines = ((-1.0, "min", "#333333"), (1.0, "max", "#333333"), (-1.35, "level 1", colour_R))
for level, label, colour in lines:
    ends = np.stack([level * direction - 1.3 * side, level * direction + 1.3 * side])
    ax.plot(*ends.T, color=colour, linewidth=1.0)
    ax.text(*(ends[0] + [0.05, 0.0]), label, fontsize=8.5, color=colour)
ax.plot(*np.stack([-direction, direction]).T, "o", color="black", markersize=4)
ax.annotate("", 0.7 * direction, (0, 0), arrowprops={"arrowstyle": "->"})
ax.text(*(0.75 * direction + [0.03, -0.12]), "$H$")
ax.text(-0.2, 0.02, "$Q$")
ax.set(xlim=(-2.1, 2.2), ylim=(-2.0, 1.7), aspect="equal", xticks=[], yticks=[])
ax.set_title("a triplet in R")
figures.show(
    "The disc has its center in Q, and the arrow shows the direction H of a triplet. The "
    "lines with the smallest and the largest margin touch the disc on opposite sides. The line of "
    "level 1 does not meet the disc: all margins over the disc are above 1, so the triplet is in R."
)

# %% [markdown]
# We check the picture. The smallest and largest margin over the disc differ by 1 from the margin at the center. The rule puts the triplet in R only if the whole disc is above the level.

# %% tags=["STS19-F3"]
samples = ss.Samples(np.stack([direction, -direction]), [1, -1])
drawn = ss.Problem(samples.with_threshold(np.full(2, -1.35)), ss.Hinge())
levels = np.stack([np.cos(turn), np.sin(turn)], axis=1) @ direction  # of H on the ball
# the lines of min and max are at -1 and 1
assert abs(levels.min() + 1.0) < 1e-3 and abs(levels.max() - 1.0) < 1e-3
print(f"extreme values over a ball of radius 1: {levels.min():.3f} and {levels.max():.3f}")
# all of the ball is above the level
assert ss.rules.sphere(drawn, ss.Sphere(np.zeros(2), 1.0)).in_R.all()
assert not ss.rules.sphere(drawn, ss.Sphere(np.zeros(2), 1.36)).in_R.any()

# %% [markdown]
# ## The claim
#
# > **Sphere rule** (STS19 section 4.1, SSS14 Lemma 1). If $\|M^\star - Q\| \le r$, then
# >
# > $$\langle H, Q\rangle - r\|H\| \ \le\ \langle H, M^\star\rangle \ \le\ \langle H, Q\rangle + r\|H\| .$$
# >
# > So $\langle H, Q\rangle - r\|H\| > 1$ puts the triplet into R, and
# > $\langle H, Q\rangle + r\|H\| < 1 - \gamma$ into L.
#
# > **Cost** (STS19 section 5). $\langle H, Q\rangle$ needs $O(d^2)$ operations per triplet, and $\|H\|$ needs $O(d)$ operations once. For DGB, RPB and RRPB the product is known from the objective, so the rule needs $O(1)$ operations. The linear rule needs $O(d^2)$ operations, and the semidefinite rule $O(d^3)$ in each iteration.
#
# | assumption | reason |
# |---|---|
# | the ball contains the solution | otherwise the bounds need not be true |
# | the inequalities are strict | a margin of exactly $1$ or $1 - \gamma$ belongs to neither region |
# | the computed $\Vert H\Vert$ and $r$ are not below the exact values | otherwise rounding can cause false decisions |
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
#
# ## Derivation
#
# Write $X = Q + Y$ with $\|Y\| \le r$. Then $\langle H, X\rangle = \langle H, Q\rangle + \langle H,
# Y\rangle$, and by Cauchy and Schwarz $|\langle H, Y\rangle| \le r\|H\|$, with equality at $Y = \mp rH/\|H\|$. This proves the rule. The proof uses no property of $H$, so it is also valid for samples, diagonal metrics and quadruplets. We compare the minimum with cvxpy's:

# %%
rng = np.random.default_rng(0)
worst = 0.0
for _ in range(20):
    d = int(rng.integers(1, 4))
    u, v = rng.standard_normal((2, d))
    H = np.outer(u, u) - np.outer(v, v)
    B = rng.standard_normal((d, d))
    r = rng.uniform(0.1, 2.0)
    Q = B + B.T
    X = cp.Variable((d, d), symmetric=True)
    margin = cp.sum(cp.multiply(H, X))
    outside = cp.Problem(cp.Minimize(margin), [cp.norm(X - Q, "fro") <= r])
    outside.solve(solver="CLARABEL")
    lowest = Q - r * H / np.linalg.norm(H)  # where the minimum is attained
    assert np.isclose(np.linalg.norm(lowest - Q), r)
    worst = max(worst, abs(np.vdot(H, lowest) - outside.value) / (1.0 + np.linalg.norm(H)))
    assert np.isclose(np.vdot(H, lowest), np.vdot(H, Q) - r * np.linalg.norm(H))
print("20 balls: cvxpy's minimum differs from the formula by less than 1e-6, relative to 1 + |H|")
assert worst < 1e-6

# %% [markdown]
# ## The norm of a triplet
#
# Let $u = x_i - x_l$ and $v = x_i - x_j$, so that $H = uu' - vv'$. We need not form $H$ to compute its norm, because
#
# $$\|H\|^2 = |u|^4 + |v|^4 - 2(u'v)^2 . \tag{1}$$
#
# Formula (1) subtracts nearly equal numbers when $u \approx v$. This happens when $x_j$ and $x_l$ are near each other and far from $x_i$, that is, when the anchor $x_i$ is an outlier. With $p = u - v = x_j - x_l$ and $s = u + v$,
#
# $$H = \tfrac12 (p s' + s p'), \qquad \|H\|^2 = \tfrac12\big(|p|^2|s|^2 + (p's)^2\big), \tag{2}$$
#
# which is a sum of non-negative numbers, so no digits cancel.

# %%
u = sp.Matrix(sp.symbols("u1:4", real=True))
v = sp.Matrix(sp.symbols("v1:4", real=True))
p, s = u - v, u + v
H_s = u * u.T - v * v.T
square = (H_s.T * H_s).trace()
one = u.dot(u) ** 2 + v.dot(v) ** 2 - 2 * u.dot(v) ** 2
two = (p.dot(p) * s.dot(s) + p.dot(s) ** 2) / 2
assert sp.expand(square - one) == 0 and sp.expand(square - two) == 0
assert sp.expand(H_s - (p * s.T + s * p.T) / 2) == sp.zeros(3, 3)
print("squared norm minus formula (1):", sp.expand(square - one))
print("squared norm minus formula (2):", sp.expand(square - two))


# %%
def norm_1(u, v):
    """Equation (1)."""
    return np.sqrt(max((u @ u) ** 2 + (v @ v) ** 2 - 2 * (u @ v) ** 2, 0.0))


def norm_2(u, v):
    """Equation (2)."""
    p, s = u - v, u + v
    return np.sqrt(((p @ p) * (s @ s) + (p @ s) ** 2) / 2)


print("distance of x_j and x_l   formula (2)    library   error of formula (1)")
anchor = np.array([0.0, 0.0, 0.0])
x_j = np.array([4.0, 2.0, 1.0])
for distance, accurate in ((1e-2, True), (1e-5, True), (1e-8, False)):
    x_l = x_j + distance * np.array([0.0, 1.0, -1.0])
    u, v = anchor - x_l, anchor - x_j
    library = ss.Triplets(np.array([anchor, x_j, x_l]), [[0, 1, 2]]).norms[0]
    close = bool(abs(norm_1(u, v) / norm_2(u, v) - 1) < 0.01)
    off = "less than 1 %" if close else "more than 1 %"
    print(f"{distance:23.0e} {norm_2(u, v):13.2e} {library:10.2e}   {off}")
    assert close == accurate
    assert norm_2(u, v) * (1 - 1e-14) <= library <= norm_2(u, v) * (1 + 1e-6)

# %% [markdown]
# If the computed norm is too small, the rule may decide triplets falsely. The library computes *upper bounds* of (2) that include rounding errors. The section "Break it" shows false decisions with formula (1).
#
# ## Ten lines of numpy

# %%
def sphere_rule(X, index, Q, r, gamma):
    """Masks (L, R). Each triplet needs O(d^2) operations."""
    L, R = [], []
    for i, j, m in index:
        u, v = X[i] - X[m], X[i] - X[j]
        q = u @ Q @ u - v @ Q @ v
        n = norm_2(u, v)
        L.append(q + r * n < 1.0 - gamma)
        R.append(q - r * n > 1.0)
    return np.array(L), np.array(R)


loss = ss.SmoothedHinge(gamma=0.05)
wine = datasets.load("wine")
problem = ss.Problem(ss.Triplets.from_labels(wine.X, wine.y, k=5), loss)
lam = 0.05 * problem.lam_max()
x0 = ss.solve(problem, lam / 0.9, rtol=1e-8)
ball = ss.spheres.projected_gradient_bound(problem, x0.x, lam)
slow_L, slow_R = sphere_rule(wine.X, problem.terms.index, ball.center, ball.radius, loss.gamma)


# %% [markdown]
# ## Does the library match?
#
# The library's rule must change its decision *at* the extreme value: it must decide a term if the threshold is a billionth inside of the extreme value, and must not decide it if the threshold is a billionth beyond. We test this for matrices, diagonal metrics and samples, for L and for R. Then we test thresholds that all terms share.

# %%
def terms_of(kind, rng):
    """Triplets or samples of twelve random points, and their elements as rows."""
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    if kind == "samples":
        terms = ss.Samples(X, 2 * y - 1)
    else:
        terms = ss.Triplets.from_labels(X, y, k=2, diagonal=kind == "diagonal")
    a = terms.elements(np.arange(len(terms)))[0].reshape(len(terms), -1)
    return terms, a


def turning(terms, ball, extremes, mask, inside):
    """Numbers of terms that the rule decides, for thresholds a billionth inside of the extreme
    values and a billionth beyond."""
    up = loss.gamma * (mask == "in_L")  # L is below threshold - gamma
    decided = []
    for shift in (inside * 1e-9, -inside * 1e-9):
        shifted = terms.with_threshold(extremes + up + shift * (1.0 + np.abs(extremes)))
        screened = ss.rules.sphere(ss.Problem(shifted, loss), ball)
        decided.append(getattr(screened, mask).sum())
    return decided


def between(*values):
    """The midpoints of neighbouring values."""
    levels = np.sort(np.concatenate(values))
    return 0.5 * (levels[1:] + levels[:-1])[np.diff(levels) > 1e-6]


# %%
def random_ball(terms, a, rng):
    """A ball, and the smallest and largest margin of each term over it."""
    center = rng.standard_normal(terms.cone.shape)
    if center.ndim == 2:
        center = center + center.T
    radius = 0.7
    length = np.linalg.norm(a, axis=1)
    at_center = a @ center.ravel()
    return ss.Sphere(center, radius), at_center - radius * length, at_center + radius * length


# %% tags=["STS19-D4.1"]
rng = np.random.default_rng(41)
turned = np.zeros(2, dtype=int)
n_terms = shared = 0
for kind in ("full", "diagonal", "samples"):
    terms, a = terms_of(kind, rng)
    region, lows, highs = random_ball(terms, a, rng)
    turned += turning(terms, region, lows, "in_R", -1.0)
    turned += turning(terms, region, highs, "in_L", 1.0)
    n_terms += 2 * len(terms)
    for level in between(lows, highs, highs + loss.gamma):
        at = terms.with_threshold(level)
        found = ss.rules.sphere(ss.Problem(at, loss), region)
        assert np.array_equal(found.in_R, lows > level)
        assert np.array_equal(found.in_L, highs < level - loss.gamma)
        curved = ss.rules.sphere(ss.Problem(at, ss.SquaredHinge(1.0)), region)
        assert not curved.in_L.any()  # this loss has no linear part
        assert np.array_equal(curved.in_R, lows > level)
        shared += 1
print(
    f"decided a billionth inside of the extreme value: {turned[0]} of {n_terms}; a billionth "
    f"beyond: {turned[1]} of {n_terms}"
)
print(f"{shared} thresholds shared by all terms: the masks agree with the inequalities")
assert turned[0] == n_terms and turned[1] == 0

# %% [markdown]
# On wine the library decides the same triplets as the slow rule, and every decision is correct at the solution:

# %% tags=["STS19-D4.1"]
found = ss.rules.sphere(problem, ball)
star = ss.solve(problem, lam, rtol=1e-11, tol=0.0).x
margins = problem.terms.margins(star)


def n_false(screened, margins):
    """Number of false decisions, judged by the margins at the solution."""
    false_R = np.sum(screened.in_R & (margins <= 1.0))
    false_L = np.sum(screened.in_L & (margins >= 1.0 - loss.gamma))
    return int(false_R + false_L)


false = n_false(found, margins)
differ = np.sum(found.in_L != slow_L) + np.sum(found.in_R != slow_R)
print(
    f"wine, {len(problem)} triplets: L {found.n_L}, R {found.n_R}, share decided {found.rate:.2f}; "
    f"different from the slow rule {differ}, false {false}"
)
assert differ == false == 0
assert found.rate > 0.5
assert np.isclose(found.rate, (slow_L | slow_R).mean())

# %% [markdown]
# The decisions must also be correct on random problems over three cones, with three balls each. We compare every decision with a solution that is far more accurate than the balls. To show that this test can fail, we also use half of each radius.

# %%
def random_problem(kind, rng):
    """Triplets or samples of fourteen random points."""
    X, y = rng.standard_normal((14, 3)), np.arange(14) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, 3)
    if kind == "samples":
        terms = ss.Samples(X, 2 * y - 1)
    else:
        terms = ss.Triplets.from_labels(X, y, k=3, diagonal=kind == "diagonal")
    return ss.Problem(terms, loss)




spheres = ss.spheres.gradient_bound, ss.spheres.duality_gap_bound, ss.spheres.midpoint_gap_bound

# %% tags=["STS19-D4.1"]
rng = np.random.default_rng(16)
decisions = false = false_half = 0
for repeat in range(90):
    small = random_problem(("full", "diagonal", "samples")[repeat % 3], rng)
    weight = max(small.lam_max(), 1.0) * rng.choice([0.5, 0.1, 0.02])
    best = ss.solve(small, weight, rtol=1e-13, tol=1e-12).x
    at_best = small.terms.margins(best)
    near = rng.uniform(0.3, 1.0) * best
    for bound in spheres:
        b = bound(small, near, weight)
        masks = ss.rules.sphere(small, b)
        decisions += masks.n_L + masks.n_R
        false += n_false(masks, at_best)
        half = ss.rules.sphere(small, ss.Sphere(b.center, 0.5 * b.radius))
        false_half += n_false(half, at_best)
print(
    f"decisions checked {round(decisions, -2)} (rounded), false {false}; with half the radius "
    f"{false_half // 10 * 10} or more are false"
)
assert false == 0 and decisions > 1000 and false_half > 20

# %% [markdown]
# ## The cost of the rule
#
# ### Triplets share pairs
#
# $\langle H_{ijl}, Q\rangle = \mathrm{d}_Q(x_i, x_l) - \mathrm{d}_Q(x_i, x_j)$ is the difference of two squared distances, and each distance belongs to a pair of points. An anchor with $k$ neighbours of either kind has $k^2$ triplets but only $2k$ pairs. So we compute $Z = XQ$ once ($nd^2$ multiplications), then one distance for each distinct pair ($d$ multiplications each, from the rows of $X$ and $Z$), and then one subtraction for each triplet. The two functions of the next cell compute the margins, and count their multiplications from the shapes of the arrays.


# %%
def one_by_one(X, index, Q):
    """Margins as the paper counts them: two quadratic forms per triplet."""
    u = X[index[:, 0]] - X[index[:, 2]]
    v = X[index[:, 0]] - X[index[:, 1]]
    n_terms, d = u.shape
    other = np.einsum("td,de,te->t", u, Q, u, optimize=True)
    same = np.einsum("td,de,te->t", v, Q, v, optimize=True)
    return other - same, 2 * n_terms * (d * d + d)


def by_pairs(X, index, Q):
    """Margins from the distances of distinct pairs."""
    n, d = X.shape
    n_terms = len(index)
    ends = np.concatenate([index[:, 2], index[:, 1]]).astype(np.int64)  # others, then same
    keys, number = np.unique(np.tile(index[:, 0], 2) * n + ends, return_inverse=True)
    pairs = np.stack([keys // n, keys % n], axis=1)
    Z = X @ Q
    first, second = pairs.T
    distance = np.sum((X[first] - X[second]) * (Z[first] - Z[second]), axis=1)
    margins = distance[number[:n_terms]] - distance[number[n_terms:]]
    return margins, n * d * d + len(pairs) * d, len(pairs)


# %% [markdown]
# The next cell counts the multiplications of both functions on four data sets, and checks that both functions and the library return the same margins.

# %% tags=["STS19-D5"]
print("                                               multiplications per triplet")
print("                   n   d   k  triplets   pairs        paper   by pairs")
saving = {}
cases = (("iris", 5), ("wine", 5), ("breast-cancer", 5), ("breast-cancer", 20), ("digits", 5))
for name, k in cases:
    data = datasets.load(name)
    terms = ss.Triplets.from_labels(data.X, data.y, k=k)
    B = rng.standard_normal((data.X.shape[1],) * 2)
    Q, index = B @ B.T, terms.index
    slow, paper = one_by_one(data.X, index, Q)
    fast, ours, n_pairs = by_pairs(data.X, index, Q)
    # the library computes the same number of distances
    assert len(terms.same_pairs) + len(terms.other_pairs) == n_pairs
    assert np.allclose(slow, fast, rtol=1e-9, atol=1e-9 * np.abs(slow).max())
    assert np.allclose(terms.margins(Q), fast, rtol=1e-9, atol=1e-9 * np.abs(slow).max())
    saving[name, k] = paper / ours
    n, d = data.X.shape
    print(
        f"{name:14} {n:5} {d:3} {k:3} {len(terms):9} {n_pairs:7} {paper / len(terms):12.0f} "
        f"{ours / len(terms):10.1f}"
    )

# %% tags=["STS19-D5"]
print(
    f"sharing pairs saves a factor of {min(saving.values()):.0f} to {max(saving.values()):.0f} in "
    "multiplications"
)
assert min(saving.values()) > 9 and saving["breast-cancer", 20] > 300


# %% [markdown]
# The semidefinite rule computes one eigendecomposition per step. It tries only triplets that the cheaper rules and the projected center leave undecided, and stops as soon as a triplet is decided. We count the decompositions in a call of the library with Python's profiler, which sees every call of numpy's `eigh`.

# %%
def decompositions(action, *args, **options):
    """The result of a call, and the number of matrices that the call decomposes."""
    counted = []

    def watch(frame, event, _):
        """Record the number of matrices in each call of numpy's eigh."""
        if event != "call" or frame.f_code.co_name != "eigh":
            return
        if frame.f_globals["__name__"].startswith("numpy"):
            Z = frame.f_locals["a"]
            counted.append(len(Z) if np.ndim(Z) == 3 else 1)

    sys.setprofile(watch)
    try:
        return action(*args, **options), sum(counted)
    finally:
        sys.setprofile(None)


# %% tags=["STS19-D5"]
gb = ss.spheres.gradient_bound(problem, 0.95 * star, lam)
_, by_sphere = decompositions(ss.rules.sphere, problem, gb)
linear, by_linear = decompositions(ss.rules.cone_halfspace, problem, gb)
at_plus = problem.terms.margins(problem.cone.project(gb.center))
open_terms = ~(linear.in_L | linear.in_R)
tried = np.sum(open_terms & (at_plus > 1.0)) + np.sum(open_terms & (at_plus < 1.0 - loss.gamma))
_, one_step = decompositions(ss.rules.semidefinite, problem, gb, max_iter=1)
cone, all_steps = decompositions(ss.rules.semidefinite, problem, gb)
gained = (cone.in_L | cone.in_R) & open_terms
_, when_certain = decompositions(ss.rules.semidefinite, problem, gb, skip=~gained)
print(
    f"decompositions: sphere rule {by_sphere}, linear rule {by_linear}, semidefinite rule with "
    f"one step {one_step / tried:.2f} per triplet tried"
)
print(
    f"semidefinite rule, per triplet: {all_steps / tried:.0f} with up to 20 steps (bound 5), "
    f"{when_certain / gained.sum():.1f} for a triplet that becomes certain (bound 3)"
)
assert by_sphere == by_linear == 0
assert abs(one_step - tried) <= 2
assert all_steps <= 5 * tried
assert when_certain <= 3 * gained.sum()
assert cone.n_L + cone.n_R >= linear.n_L + linear.n_R

# %% [markdown]
# ### How the cost grows
#
# We count the multiplications on random data, change one size at a time, and print the exponent $e$ of multiplications $\sim \text{size}^e$. With shared pairs only the subtractions depend on the number of triplets, and the factor $d^2$ is per *point*.


# %% tags=["STS19-D5"]
def counts(n, d, k):
    """Multiplications (paper, by pairs) and number of triplets, for n random points in d
    dimensions with k neighbours of either kind."""
    rng = np.random.default_rng(n + d + k)
    X = rng.standard_normal((n, d))
    index = ss.Triplets.from_labels(X, np.arange(n) % 2, k=k).index
    _, ours, n_pairs = by_pairs(X, index, np.eye(d))
    return 2 * len(index) * (d * d + d), ours, len(index)


def exponents(sizes, rows):
    logs = np.log(np.array(rows, dtype=float))
    return [float(np.polyfit(np.log(sizes), logs[:, c], 1)[0]) for c in range(2)]


neighbours, dimensions, points = (4, 8, 16, 32), (64, 128, 256, 512), (100, 200, 400)
growth = {
    "neighbours k": exponents(neighbours, [counts(200, 16, k) for k in neighbours]),
    "dimension d": exponents(dimensions, [counts(60, d, 3) for d in dimensions]),
    "points n": exponents(points, [counts(n, 16, 5) for n in points]),
}
print("exponent of           paper   by pairs")
for name, (paper, ours) in growth.items():
    print(f"{name:20} {paper:6.1f} {ours:9.1f}")
assert abs(growth["neighbours k"][0] - 2.0) < 0.01 and growth["neighbours k"][1] < 1.0
assert growth["dimension d"][0] > 1.9 and abs(growth["points n"][1] - 1.0) < 0.05

# %% [markdown]
# ### Products that are already known
#
# The centers of DGB, RPB and RRPB are multiples of the reference $M$. So their products are multiples of the margins that the objective has computed, and the rule needs $O(1)$ operations per triplet, as the paper says. The centers of GB and PGB are not multiples of $M$: the center of GB is $M - g/2\lambda$, and the center of PGB is its projection. These two balls need one more pass over the pairs.

# %% tags=["STS19-D5"]
at_M = problem.terms.margins(x0.x)
lam0 = x0.lam
balls = {
    "DGB": ss.spheres.duality_gap_bound(problem, x0.x, lam),
    "RRPB": ss.spheres.relaxed_path_bound(x0.x, x0.eps, lam0, lam),
    "GB": ss.spheres.gradient_bound(problem, x0.x, lam),
    "PGB": ball,
}
reusable = {}
for name, b in balls.items():
    product = problem.terms.margins(b.center)
    multiple = np.vdot(product, at_M) / np.vdot(at_M, at_M) * at_M
    tolerance = 1e-9 * np.abs(product).max()
    reusable[name] = bool(np.allclose(product, multiple, rtol=1e-9, atol=tolerance))
    differ = "less" if reusable[name] else "more"
    print(f"{name:5} products differ from a multiple of the margins at M by {differ} than 1e-9")
assert reusable == {"DGB": True, "RRPB": True, "GB": False, "PGB": False}
assert np.allclose(balls["RRPB"].center, (lam0 + lam) / (2 * lam) * x0.x)

# %% [markdown]
# ### The other rules
#
# | rule | for all triplets | for each undecided triplet |
# |---|---|---|
# | sphere | $nd^2 + Pd$ multiplications, then $T$ subtractions and comparisons | |
# | linear | twice the sphere rule's multiplications, and two square roots per triplet | |
# | two balls | twice the sphere rule's multiplications, and three square roots per triplet | |
# | semidefinite | twice the sphere rule's multiplications | an eigendecomposition per step, $O(d^3)$ |
#
# The next cell measures the time per call of the library's rules on random data of increasing dimension, with the same number of triplets (720). For the semidefinite rule it prints the time per triplet. (These times depend on the machine; the cell asserts nothing.)


# %%
def seconds(action, *args, repeats=5):
    action(*args)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action(*args)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def two_balls(d):
    """A random problem in d dimensions, and a GB and a DGB for one lam."""
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((80, d)), np.arange(80) % 2
    X[:, 0] += 2.0 * y
    timed = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
    at = 0.05 * timed.lam_max()
    b = ss.spheres.gradient_bound(timed, ss.solve(timed, at / 0.9, rtol=1e-6).x, at)
    other = ss.spheres.duality_gap_bound(timed, ss.solve(timed, at / 0.95, rtol=1e-6).x, at)
    return timed, b, other


# %% tags=["nbval-ignore-output"]
print("d      sphere     linear  two balls, ms    semidefinite, ms for each undecided triplet")
for d in (8, 16, 32, 64):
    timed, b, other = two_balls(d)
    row = [
        seconds(ss.rules.sphere, timed, b),
        seconds(ss.rules.cone_halfspace, timed, b),
        seconds(ss.rules.intersection, timed, b, other),
    ]
    first = ss.rules.sphere(timed, b)
    skip = np.arange(len(timed)) % 18 > 0  # we measure every eighteenth triplet
    undecided = np.sum(~(first.in_L | first.in_R | skip))
    start = time.perf_counter()
    ss.rules.semidefinite(timed, b, max_iter=10, skip=skip)
    cone = (time.perf_counter() - start) / undecided
    print(f"{d:3} " + " ".join(f"{1e3 * t:10.2f}" for t in row) + f" {1e3 * cone:18.2f}")

# %% [markdown]
# The picture shows the saving in multiplications for the data sets of the table:

# %%
shown = {f"{name}, k = {k}": value for (name, k), value in saving.items()}
xlabel = "multiplications: paper's count / by pairs"
figures.bars(shown, title="what sharing pairs saves", xlabel=xlabel, number="{:.0f}")
figures.show(
    "Bars show the paper's count of multiplications over the count by pairs, for each data set "
    f"and number k of neighbours: {figures.listed(shown, '{:.0f}')}."
)

# %% [markdown]
# ## Break it
#
# ### A norm that rounds to zero
#
# The anchor $x_i$ is far from $x_j$ and $x_l$, the points $x_j$ and $x_l$ are near each other, and the ball is large. The norm by formula (1) is wrong. If it is far too small, $r\|H\|$ is far too small as well. Then a rule with formula (1) decides the triplet, although the ball contains matrices that contradict the decision. The first cell shows one triplet, and the second cell counts the false decisions among 400 triplets.

# %%
x_i, x_j = np.array([1000.0, 1000.0]), np.array([0.1, 0.2])
X = np.array([x_i, x_j, x_j + 2e-9 * np.array([-1.0, -1.0])])
u, v = X[0] - X[2], X[0] - X[1]
Q = 0.5 * np.eye(2) * 4e5
q = u @ Q @ u - v @ Q @ v
r = 1e12
n_bad, n_good = norm_1(u, v), norm_2(u, v)
print(f"<H, Q> = {q:.1f};  |H| by formula (2) {n_good:.1e}, error of formula (1) above 1 %")
lowest = q - r * n_good
far = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), loss)
n_R = ss.rules.sphere(far, ss.Sphere(Q, r)).n_R
print(f"minimum over the ball: {lowest:.1e}, threshold 1; triplets in R by the library: {n_R}")
assert n_R == 0 and lowest < 1.0 and abs(n_bad / n_good - 1) > 0.01

# %%
bold = cautious = 0
rng = np.random.default_rng(2)
for _ in range(400):
    x_j = rng.uniform(-1.0, 1.0, 2)
    X = np.array([rng.uniform(500.0, 1500.0, 2), x_j, x_j - 3e-9 * rng.uniform(0.5, 1.0, 2)])
    u, v = X[0] - X[2], X[0] - X[1]
    Q, r = 1e6 * np.eye(2), 1e7
    q = 1e6 * ((u - v) @ (u + v))
    truly = q - r * norm_2(u, v) > 1.0
    bold += (q - r * norm_1(u, v) > 1.0) and not truly
    single = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), loss)
    decided = ss.rules.sphere(single, ss.Sphere(Q, r)).in_R[0]
    cautious += decided and not truly
count = "more than 20" if bold > 20 else bold
print(f"400 triplets, false decisions: formula (1) {count}, library {cautious}")
assert bold > 20 and cautious == 0

# %% [markdown]
# ### At the threshold
#
# A margin of exactly 1 is in neither region, because the flat piece of the loss begins at this margin. A ball of radius 0 shows that the comparison is strict. The library also adds an allowance for rounding, so that it does not decide a margin of exactly 1 whose computed value is slightly above 1.

# %%
exact = ss.Triplets(np.array([[0.0], [1.0], [2.0]]), [[0, 1, 2]])  # H = 4 - 1 = 3
for center, expected in ((1.0 / 3.0, False), (0.34, True)):
    got = ss.rules.sphere(ss.Problem(exact, loss), ss.Sphere(np.array([[center]]), 0.0))
    print(f"margin {3 * center:.2f}, radius 0: triplets in R {got.n_R}")
    assert got.in_R[0] == expected

# %% [markdown]
# ## Exercise
#
# A rule for *blocks* of triplets needs a bound of $\|H\|$ with one summand for each pair: $\|H\| \le |u|^2 + |v|^2$. Prove this bound. When is it an equality? By what factor can the bound be too large if $u \perp v$, and if $u$ and $v$ are nearly equal?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The bound follows from the triangle inequality for $uu' - vv'$, or from (1): $|u|^4 + |v|^4 - 2(u'v)^2 \le (|u|^2 + |v|^2)^2$. The difference of the two sides is $2|u|^2|v|^2 + 2(u'v)^2$, so equality requires $u = 0$ or $v = 0$, that is, a duplicated point. For $u \perp v$ the factor is $(a + b)/\sqrt{a^2 + b^2} \le \sqrt 2$ with $a = |u|^2$, $b = |v|^2$. For $u \to v$ the factor increases without bound, because $\|H\| \to 0$. So a rule for blocks does not decide triplets whose anchor is an outlier, but decides most of the others.
#
# </details>

# %%
i, j, m = problem.terms.index.T
far = np.sum((wine.X[i] - wine.X[m]) ** 2, axis=1)
near = np.sum((wine.X[i] - wine.X[j]) ** 2, axis=1)
factor = (far + near) / problem.terms.norms
least, median, most = np.percentile(factor, [0, 50, 100])
print(f"wine, bound over norm: smallest {least:.2f}, median {median:.2f}, largest {most:.2f}")
assert factor.min() >= 1.0
u, v = rng.standard_normal((2, 2))
v = np.array([-u[1], u[0]]) * 0.7
assert (u @ u + v @ v) / norm_2(u, v) <= np.sqrt(2.0)

# %% [markdown]
# ## Fine print
#
# * **Rounding.** The library bounds the error of every product, in proportion to $\|Q\|$ and to the scale of the two pairs. Norms and radius are upper bounds, and the rounding errors of the test are added. A comparison with NaN is false, so a triplet with NaN stays undecided.
# * **Memory.** The library stores two pair numbers of four bytes and one norm per triplet, and no matrix $H$.
# * **Fewer than $T$ operations.** With the separable bound of the exercise a rule can sort the values of the pairs and decide blocks of triplets, without a subtraction for each triplet.
# * **The paper's $O(d^2)$** is right for a single triplet. It does not include the saving from shared pairs.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 4.1, equation 4.1; section 5.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014: Lemma 1.
