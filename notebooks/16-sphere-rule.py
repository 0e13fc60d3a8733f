# %% [markdown]
# # The sphere rule, and what rules cost
#
# Once a ball holds the solution, one inner product, one norm and one comparison decide a triplet. This notebook derives
# the rule in three lines. Then it answers two questions that the lines leave open: how to compute the norm without
# losing its digits, and what a million of these tests cost when triplets share their pairs.
#
# At the end you will have seen that
#
# * the extreme values of $\langle H, X\rangle$ over a ball are $\langle H, Q\rangle \mp r\|H\|$, and are attained;
# * the textbook formula for $\|H\|$ can return 0 for a triplet whose norm is not 0, and then the rule screens falsely;
# * the paper counts $O(d^2)$ a triplet. With $P$ pairs that $T$ triplets of $n$ points share, it is $O(nd^2 + Pd + T)$
#   for all of them, and for some balls the products are known already;
# * the semidefinite rule costs $O(d^3)$ a step, and the linear rule twice as much as the sphere rule.

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
# ## The story in a picture
#
# The solution is somewhere in a ball with center $Q$ and radius $r$. The margin of a triplet $H$ is
# $\langle H, X\rangle$: its levels are parallel lines, perpendicular to $H$. Over the ball it takes all values between
# those of the two lines that touch the ball, at $Q \mp rH/\|H\|$. Here the line of level 1 lies below the ball. So the
# margin of this triplet is above 1 at the solution, wherever in the ball that is, and the triplet is in R.

# %%
figure, ax = figures.panels(1, width=4.6, height=3.4)
direction = np.array([np.cos(0.9), np.sin(0.9)])
turn = np.linspace(0, 2 * np.pi, 200)
ax.fill(np.cos(turn), np.sin(turn), color=figures.OTHERS[1], alpha=0.1, linewidth=0)
ax.plot(np.cos(turn), np.sin(turn), color=figures.OTHERS[1])
side = np.array([-direction[1], direction[0]])
for level, label, colour in ((-1.0, "min", "#333333"), (1.0, "max", "#333333"),
                             (-1.35, "level 1", figures.COLOURS["R"])):
    ends = np.stack([level * direction - 1.3 * side, level * direction + 1.3 * side])
    ax.plot(*ends.T, color=colour, linewidth=1.0)
    ax.text(*(ends[0] + [0.05, 0.0]), label, fontsize=8.5, color=colour)
ax.plot(*np.stack([-direction, direction]).T, "o", color="black", markersize=4)
ax.annotate("", 0.7 * direction, (0, 0), arrowprops={"arrowstyle": "->"})
ax.text(*(0.75 * direction + [0.03, -0.12]), "$H$")
ax.text(-0.2, 0.02, "$Q$")
ax.set(
    aspect="equal", xticks=[], yticks=[], xlim=(-2.1, 2.2), ylim=(-2.0, 1.7), title="a triplet in R"
)
figures.show(
    "A disc has its center in Q, and an arrow shows the direction H of a triplet. The lines on "
    "which the margin is largest and smallest touch the disc on opposite "
    "sides. The line of level 1 lies beyond the smallest, so the triplet is in R."
)

# %% [markdown]
# Are the lines where they belong? The extreme margins over the disc are 1 away from its center, and the triplet is in R
# only while all of the disc is above the level.

# %% tags=["STS19-F3"]
drawn = ss.Problem(
    ss.Samples(np.stack([direction, -direction]), [1, -1]).with_threshold(np.full(2, -1.35)),
    ss.Hinge(),
)
levels = np.stack([np.cos(turn), np.sin(turn)], axis=1) @ direction  # of H on the ball
# where the lines of min and max are
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
# > **Cost** (STS19 section 5). $\langle H, Q\rangle$ takes $O(d^2)$ operations a triplet and $\|H\|$
# > takes $O(d)$, once; for DGB, RPB and RRPB the product is known from the objective, which leaves
# > $O(1)$. The linear rule takes $O(d^2)$, the semidefinite one $O(d^3)$ in each iteration.
#
# | assumption | what for |
# |---|---|
# | the ball holds the solution | everything |
# | the inequalities are strict | a margin of exactly $1$ or $1 - \gamma$ belongs to neither region |
# | the computed $\Vert H\Vert$ and $r$ are not below the true ones | rounding, below |
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
# Y\rangle$, and by Cauchy and Schwarz $|\langle H, Y\rangle| \le r\|H\|$, with equality at $Y = \mp
# rH/\|H\|$. That is all. The same three lines serve samples, diagonal metrics and quadruplets; nothing
# about $H$ is used.

# %%
rng = np.random.default_rng(0)
worst = 0.0
for _ in range(20):
    d = int(rng.integers(1, 4))
    u, v = rng.standard_normal((2, d))
    H, B, r = np.outer(u, u) - np.outer(v, v), rng.standard_normal((d, d)), rng.uniform(0.1, 2.0)
    Q = B + B.T
    X = cp.Variable((d, d), symmetric=True)
    outside = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(H, X))), [cp.norm(X - Q, "fro") <= r]
    ).solve(solver="CLARABEL")
    lowest = Q - r * H / np.linalg.norm(H)  # where the minimum is attained
    assert np.isclose(np.linalg.norm(lowest - Q), r)
    worst = max(worst, abs(np.vdot(H, lowest) - outside) / (1.0 + np.linalg.norm(H)))
    assert np.isclose(np.vdot(H, lowest), np.vdot(H, Q) - r * np.linalg.norm(H))
print(f"20 balls: cvxpy's minimum is within {max(worst, 1e-7):.0e} of it (bound 1e-6)")
assert worst < 1e-6

# %% [markdown]
# ## The norm of a triplet
#
# $H = uu' - vv'$ with $u = x_i - x_l$ and $v = x_i - x_j$. Nobody forms $H$ for its norm: expanding gives
#
# $$\|H\|^2 = |u|^4 + |v|^4 - 2(u'v)^2 . \tag{1}$$
#
# That subtracts nearly equal numbers when $u \approx v$, that is when $x_j$ and $x_l$ are close together
# and far from $x_i$: the triplet of an outlying anchor. With the difference and the sum of the two, $p =
# u - v = x_j - x_l$ and $s = u + v$,
#
# $$H = \tfrac12 (p s' + s p'), \qquad \|H\|^2 = \tfrac12\big(|p|^2|s|^2 + (p's)^2\big), \tag{2}$$
#
# a sum of squares, in which nothing cancels.

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
print("square of the norm less formula (1):", sp.expand(square - one), "  less formula (2):",
      sp.expand(square - two))


# %%
def norm_1(u, v):
    """Equation (1)."""
    return np.sqrt(max((u @ u) ** 2 + (v @ v) ** 2 - 2 * (u @ v) ** 2, 0.0))


def norm_2(u, v):
    """Equation (2)."""
    p, s = u - v, u + v
    return np.sqrt(((p @ p) * (s @ s) + (p @ s) ** 2) / 2)


print("distance of x_j and x_l   formula (2)    library   formula (1) is off by")
anchor, x_j = np.array([0.0, 0.0, 0.0]), np.array([4.0, 2.0, 1.0])
for distance, holds in ((1e-2, True), (1e-5, True), (1e-8, False)):
    x_l = x_j + distance * np.array([0.0, 1.0, -1.0])
    u, v = anchor - x_l, anchor - x_j
    library = ss.Triplets(np.array([anchor, x_j, x_l]), [[0, 1, 2]]).norms[0]
    close = bool(abs(norm_1(u, v) / norm_2(u, v) - 1) < 0.01)
    off = "less than 1 %" if close else "more than 1 %"
    print(f"{distance:23.0e} {norm_2(u, v):13.2e} {library:10.2e}   {off}")
    assert close == holds and norm_2(u, v) * (1 - 1e-14) <= library <= norm_2(u, v) * (1 + 1e-6)

# %% [markdown]
# With a norm that is too small the rule decides too much. The library computes *upper bounds* of (2), with rounding.
# The end of this notebook shows what can happen without them.
#
# ## Ten lines of numpy

# %%
def sphere_rule(X, index, Q, r, gamma):
    """Masks (L, R), one triplet at a time: O(d^2) each."""
    L, R = [], []
    for i, j, m in index:
        u, v = X[i] - X[m], X[i] - X[j]
        q, n = u @ Q @ u - v @ Q @ v, norm_2(u, v)
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
# ## The library, and does it match?
#
# The rule must turn *at* the extreme value: a threshold a billionth inside of it decides, and one a billionth
# beyond does not. Matrices, diagonal metrics and samples are tried, for L and R, with a threshold for each term
# and with one for all.

# %%
def terms_of(kind, rng):
    """Triplets or samples of twelve random points, and their elements as rows."""
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    terms = (
        ss.Samples(X, 2 * y - 1)
        if kind == "samples"
        else ss.Triplets.from_labels(X, y, k=2, diagonal=kind == "diagonal")
    )
    a = terms.elements(np.arange(len(terms)))[0].reshape(len(terms), -1)
    return terms, a


def turning(terms, ball, extremes, mask, inside):
    """Numbers of terms decided with a threshold a billionth inside of the extreme value, and
    beyond."""
    up = loss.gamma * (mask == "in_L")  # L is below tau - gamma
    decided = []
    for shift in (inside * 1e-9, -inside * 1e-9):
        at = terms.with_threshold(extremes + up + shift * (1.0 + np.abs(extremes)))
        decided.append(getattr(ss.rules.sphere(ss.Problem(at, loss), ball), mask).sum())
    return decided


def between(*values):
    """Numbers between two neighbours of some values."""
    levels = np.sort(np.concatenate(values))
    return 0.5 * (levels[1:] + levels[:-1])[np.diff(levels) > 1e-6]


# %% tags=["STS19-D4.1"]
rng, turned, n_terms, shared = np.random.default_rng(41), np.zeros(2, dtype=int), 0, 0
for kind in ("full", "diagonal", "samples"):
    terms, a = terms_of(kind, rng)
    center, radius = rng.standard_normal(terms.cone.shape), 0.7
    center, length = center + center.T if kind == "full" else center, np.linalg.norm(a, axis=1)
    region = ss.Sphere(center, radius)
    lows, highs = (a @ center.ravel() + sign * radius * length for sign in (-1.0, 1.0))
    turned += turning(terms, region, lows, "in_R", -1.0)
    turned += turning(terms, region, highs, "in_L", 1.0)
    n_terms += 2 * len(terms)
    for level in between(lows, highs, highs + loss.gamma):
        at = terms.with_threshold(level)
        found = ss.rules.sphere(ss.Problem(at, loss), region)
        assert np.array_equal(found.in_R, lows > level)
        assert np.array_equal(found.in_L, highs < level - loss.gamma)
        curved = ss.rules.sphere(ss.Problem(at, ss.SquaredHinge(1.0)), region)
        # no linear part, no L
        assert not curved.in_L.any() and np.array_equal(curved.in_R, lows > level)
        shared += 1
print(
    f"decided a billionth inside of the extreme value: {turned[0]} of {n_terms}; a billionth "
    f"beyond: {turned[1]} of {n_terms}"
)
print(
    f"{shared} thresholds shared by all terms, between two extreme values each: the masks are "
    "those of the inequalities"
)
assert turned[0] == n_terms and turned[1] == 0

# %% [markdown]
# On wine the library decides what the slow rule decides, and every decision is true at the solution:

# %% tags=["STS19-D4.1"]
found = ss.rules.sphere(problem, ball)
star = ss.solve(problem, lam, rtol=1e-11, tol=0.0).x
margins = problem.terms.margins(star)
false = np.sum(found.in_R & (margins <= 1.0)) + np.sum(found.in_L & (margins >= 1.0 - loss.gamma))
differ = np.sum(found.in_L != slow_L) + np.sum(found.in_R != slow_R)
print(
    f"wine, {len(problem)} triplets: L {found.n_L}, R {found.n_R}, decided {found.rate:.2f}; "
    f"unlike the slow rule {differ}, false {false}"
)
assert differ == false == 0
assert found.rate > 0.5
assert np.isclose(found.rate, (slow_L | slow_R).mean())

# %% [markdown]
# The same must hold on random problems over three cones with several balls each. We compare every decision with a
# solution that is far more accurate than the balls. To see whether this test can fail, we also try half of each radius.

# %% tags=["STS19-D4.1"]
rng = np.random.default_rng(16)
decisions = false = false_half = 0
for repeat in range(90):
    kind = ("full", "diagonal", "samples")[repeat % 3]
    X, y = rng.standard_normal((14, 3)), np.arange(14) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, 3)
    terms = (
        ss.Samples(X, 2 * y - 1)
        if kind == "samples"
        else ss.Triplets.from_labels(X, y, k=3, diagonal=kind == "diagonal")
    )
    small = ss.Problem(terms, loss)
    weight = max(small.lam_max(), 1.0) * rng.choice([0.5, 0.1, 0.02])
    best = ss.solve(small, weight, rtol=1e-13, tol=1e-12).x
    at_best = small.terms.margins(best)
    near = rng.uniform(0.3, 1.0) * best
    for bound in (ss.spheres.gradient_bound, ss.spheres.duality_gap_bound,
                  ss.spheres.midpoint_gap_bound):
        b = bound(small, near, weight)
        for radius in (b.radius, 0.5 * b.radius):
            masks = ss.rules.sphere(small, ss.Sphere(b.center, radius))
            wrong = np.sum(masks.in_R & (at_best <= 1.0)) + np.sum(
                masks.in_L & (at_best >= 1.0 - loss.gamma)
            )
            if radius == b.radius:
                decisions, false = decisions + masks.n_L + masks.n_R, false + int(wrong)
            else:
                false_half += int(wrong)
print(
    f"decisions checked {round(decisions, -2)} (rounded), false {false}; with half the radius "
    f"{false_half // 10 * 10} or more are false"
)
assert false == 0 and decisions > 1000 and false_half > 20

# %% [markdown]
# ## What it costs
#
# ### Triplets share pairs
#
# $\langle H_{ijl}, Q\rangle = \mathrm{d}_Q(x_i, x_l) - \mathrm{d}_Q(x_i, x_j)$, two squared distances,
# one a pair. With $k$ neighbours of either kind an anchor has $k^2$ triplets but $2k$ pairs. So compute
# $Z = XQ$ once ($nd^2$ multiplications), one distance a distinct pair ($d$ each, from the rows of $X$ and
# $Z$), and one subtraction a triplet. The functions below count their multiplications from the shapes
# they multiply.


# %%
def one_by_one(X, index, Q):
    """Margins as the paper counts them: two quadratic forms a triplet."""
    u, v = X[index[:, 0]] - X[index[:, 2]], X[index[:, 0]] - X[index[:, 1]]
    n_terms, d = u.shape
    margins = np.einsum("td,de,te->t", u, Q, u, optimize=True) - np.einsum(
        "td,de,te->t", v, Q, v, optimize=True
    )
    return margins, 2 * n_terms * (d * d + d)


def by_pairs(X, index, Q):
    """Margins through distinct pairs."""
    n, d = X.shape
    n_terms = len(index)
    ends = np.concatenate([index[:, 2], index[:, 1]]).astype(np.int64)  # others, then same
    keys, number = np.unique(np.tile(index[:, 0], 2) * n + ends, return_inverse=True)
    pairs = np.stack([keys // n, keys % n], axis=1)
    Z = X @ Q
    distance = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) * (Z[pairs[:, 0]] - Z[pairs[:, 1]]), axis=1)
    return (
        distance[number[:n_terms]] - distance[number[n_terms:]],
        n * d * d + len(pairs) * d,
        len(pairs),
    )


# %% [markdown]
# And the semidefinite rule: one eigendecomposition a step, only for triplets that the cheaper rules and the
# projected center leave open, and only until one is certain. The last two lines count, by watching numpy, how
# many decompositions a call of the library takes.

# %% tags=["STS19-D5"]
print(
    f"{'':14} {'n':>5} {'d':>3} {'k':>3} {'triplets':>9} {'pairs':>7}  multiplications a triplet: "
    "paper, by pairs"
)
saving = {}
for name, k in (("iris", 5), ("wine", 5), ("breast-cancer", 5), ("breast-cancer", 20), ("digits",
                                                                                        5)):
    data = datasets.load(name)
    terms = ss.Triplets.from_labels(data.X, data.y, k=k)
    B = rng.standard_normal((data.X.shape[1],) * 2)
    Q, index = B @ B.T, terms.index
    slow, paper = one_by_one(data.X, index, Q)
    fast, ours, n_pairs = by_pairs(data.X, index, Q)
    # the library measures so many distances
    assert len(terms.same_pairs) + len(terms.other_pairs) == n_pairs
    assert np.allclose(slow, fast, rtol=1e-9, atol=1e-9 * np.abs(slow).max())
    assert np.allclose(terms.margins(Q), fast, rtol=1e-9, atol=1e-9 * np.abs(slow).max())
    saving[name, k] = paper / ours
    n, d = data.X.shape
    print(
        f"{name:14} {n:5} {d:3} {k:3} {len(terms):9} {n_pairs:7} {paper / len(terms):33.0f} "
        f"{ours / len(terms):8.1f}"
    )
print(
    f"sharing pairs saves a factor of {min(saving.values()):.0f} to {max(saving.values()):.0f} in "
    "multiplications"
)
assert min(saving.values()) > 9 and saving["breast-cancer", 20] > 300


# %% [markdown]
# The decompositions, counted by a profile of the calls:

# %%
def decompositions(action, *args, **options):
    """How many matrices a call decomposes."""
    counted = []

    def watch(frame, event, _):
        """Note each call of numpy's eigh, and of how many matrices."""
        if (
            event == "call"
            and frame.f_code.co_name == "eigh"
            and frame.f_globals["__name__"].startswith("numpy")
        ):
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
at_plus, open_terms = (
    problem.terms.margins(problem.cone.project(gb.center)),
    ~(linear.in_L | linear.in_R),
)
tried = np.sum(open_terms & (at_plus > 1.0)) + np.sum(open_terms & (at_plus < 1.0 - loss.gamma))
_, one_step = decompositions(ss.rules.semidefinite, problem, gb, max_iter=1)
cone, all_steps = decompositions(ss.rules.semidefinite, problem, gb)
gained = (cone.in_L | cone.in_R) & open_terms
_, when_certain = decompositions(ss.rules.semidefinite, problem, gb, skip=~gained)
print(
    f"decompositions: sphere rule {by_sphere}, linear rule {by_linear}, semidefinite rule "
    f"{one_step / tried:.2f} a triplet tried with one step,"
)
print(
    f"                {all_steps / tried:.0f} with up to 20 (bound 5), "
    f"{when_certain / gained.sum():.1f} for one that becomes certain (bound 3)"
)
assert by_sphere == by_linear == 0
assert abs(one_step - tried) <= 2
assert all_steps <= 5 * tried
assert when_certain <= 3 * gained.sum()
assert cone.n_L + cone.n_R >= linear.n_L + linear.n_R

# %% [markdown]
# ### How it grows
#
# The same counts on random data, one size changed at a time, as exponents: multiplications $\sim
# \text{size}^e$. By pairs nothing depends on the number of triplets but the subtraction, and $d$ enters
# through $d^2$ a *point*.


# %% tags=["STS19-D5"]
def counts(n, d, k):
    """(paper, by pairs, triplets) for n random points in d dimensions with k neighbours of
    either kind."""
    rng = np.random.default_rng(n + d + k)
    X = rng.standard_normal((n, d))
    index = ss.Triplets.from_labels(X, np.arange(n) % 2, k=k).index
    _, ours, n_pairs = by_pairs(X, index, np.eye(d))
    return 2 * len(index) * (d * d + d), ours, len(index)


def exponents(sizes, rows):
    logs = np.log(np.array(rows, dtype=float))
    return [float(np.polyfit(np.log(sizes), logs[:, c], 1)[0]) for c in range(2)]


growth = {
    "neighbours k": exponents([4, 8, 16, 32], [counts(200, 16, k) for k in (4, 8, 16, 32)]),
    "dimension d": exponents([64, 128, 256, 512], [counts(60, d, 3) for d in (64, 128, 256, 512)]),
    "points n": exponents([100, 200, 400], [counts(n, 16, 5) for n in (100, 200, 400)]),
}
print("exponent of           paper   by pairs")
for name, (paper, ours) in growth.items():
    print(f"{name:20} {paper:6.1f} {ours:9.1f}")
assert abs(growth["neighbours k"][0] - 2.0) < 0.01 and growth["neighbours k"][1] < 1.0
assert growth["dimension d"][0] > 1.9 and abs(growth["points n"][1] - 1.0) < 0.05

# %% [markdown]
# ### Products that are there already
#
# The centers of DGB, RPB and RRPB are multiples of the reference $M$, so their products are multiples of
# the margins that the objective has just computed: $O(1)$ a triplet, as the paper says. The center of the
# gradient bound is $M - g/2\lambda$, whose direction is new; the center of PGB is a projection. These need one
# more pass.

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
    factor = np.vdot(product, at_M) / np.vdot(at_M, at_M)
    reusable[name] = bool(
        np.allclose(product, factor * at_M, rtol=1e-9, atol=1e-9 * np.abs(product).max())
    )
    print(f"{name:5} products are a multiple of the margins at M: {reusable[name]}")
assert reusable == {"DGB": True, "RRPB": True, "GB": False, "PGB": False}
assert np.allclose(balls["RRPB"].center, (lam0 + lam) / (2 * lam) * x0.x)

# %% [markdown]
# ### The other rules
#
# | rule | for all triplets | for each undecided one |
# |---|---|---|
# | sphere | $nd^2 + Pd$ multiplications, then $T$ subtractions and comparisons | |
# | linear | twice that, and two square roots a triplet | |
# | two balls | twice that, and three square roots a triplet | |
# | semidefinite | twice the sphere rule's | an eigendecomposition a step, $O(d^3)$ |
#
# Time per call of the library's rules on random data of growing dimension, with the same number of
# triplets (720), and of the semidefinite rule for one triplet. (These figures depend on the machine;
# nothing is asserted.)


# %%
def seconds(action, *args, repeats=5):
    action(*args)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action(*args)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


# %% tags=["nbval-ignore-output"]
print("d      sphere     linear  two balls, ms    semidefinite, ms for each undecided triplet")
for d in (8, 16, 32, 64):
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((80, d)), np.arange(80) % 2
    X[:, 0] += 2.0 * y
    timed = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
    at = 0.05 * timed.lam_max()
    b = ss.spheres.gradient_bound(timed, ss.solve(timed, at / 0.9, rtol=1e-6).x, at)
    other = ss.spheres.duality_gap_bound(timed, ss.solve(timed, at / 0.95, rtol=1e-6).x, at)
    row = [
        seconds(ss.rules.sphere, timed, b),
        seconds(ss.rules.cone_halfspace, timed, b),
        seconds(ss.rules.intersection, timed, b, other),
    ]
    first = ss.rules.sphere(timed, b)
    skip = np.arange(len(timed)) % 18 > 0  # every eighteenth triplet is enough to know
    undecided = np.sum(~(first.in_L | first.in_R | skip))
    start = time.perf_counter()
    ss.rules.semidefinite(timed, b, max_iter=10, skip=skip)
    cone = (time.perf_counter() - start) / undecided
    print(f"{d:3} " + " ".join(f"{1e3 * t:10.2f}" for t in row) + f" {1e3 * cone:18.2f}")

# %% [markdown]
# The multiplications that sharing saves, for the data sets of the table:

# %%
shown = {f"{name}, k = {k}": value for (name, k), value in saving.items()}
figures.bars(shown, title="what sharing pairs saves",
             xlabel="multiplications: paper's count / by pairs", number="{:.0f}")
figures.show(
    "Bars show the paper's count of multiplications over the count by pairs, for "
    "data sets and numbers "
    f"of neighbours: {figures.listed(shown, '{:.0f}')}."
)

# %% [markdown]
# ## Break it
#
# ### A norm that rounds to zero
#
# Anchor far away, $x_j$ and $x_l$ close together, a ball that says next to nothing ($r$ large). Formula
# (1) loses the norm, so that $r\|H\|$ is far too small, and the triplet is "decided" although the ball contains
# matrices that contradict it.

# %%
x_i, x_j = np.array([1000.0, 1000.0]), np.array([0.1, 0.2])
X = np.array([x_i, x_j, x_j + 2e-9 * np.array([-1.0, -1.0])])
u, v = X[0] - X[2], X[0] - X[1]
Q = 0.5 * np.eye(2) * 4e5
q, r = u @ Q @ u - v @ Q @ v, 1e12
n_bad, n_good = norm_1(u, v), norm_2(u, v)
print(f"<H, Q> = {q:.1f};  |H| by formula (2) {n_good:.1e}, formula (1) is off by more than 1 %")
lowest = q - r * n_good
far = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), loss)
n_R = ss.rules.sphere(far, ss.Sphere(Q, r)).n_R
print(
    f"minimum over the ball: {lowest:.1e}, threshold 1; the library puts {n_R} of 1 triplets into R"
)
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
    decided = ss.rules.sphere(ss.Problem(ss.Triplets(X, [[0, 1, 2]]), loss), ss.Sphere(Q, r)).in_R[
        0
    ]
    cautious += decided and not truly
print(
    "of 400, decisions that the ball contradicts: formula (1) "
    f"{'more than 20' if bold > 20 else bold}, library {cautious}"
)
assert bold > 20 and cautious == 0

# %% [markdown]
# ### At the threshold
#
# A margin of exactly 1 is in neither region: there the loss bends. A ball of radius 0 around the solution
# shows whether the comparison is strict, and the rounding allowance makes sure that "a little above" is not
# "exactly" in disguise.

# %%
exact = ss.Triplets(np.array([[0.0], [1.0], [2.0]]), [[0, 1, 2]])  # H = 4 - 1 = 3
for center, expected in ((1.0 / 3.0, False), (0.34, True)):
    got = ss.rules.sphere(ss.Problem(exact, loss), ss.Sphere(np.array([[center]]), 0.0))
    print(f"margin {3 * center:.2f}, radius 0: in R {bool(got.in_R[0])}")
    assert got.in_R[0] == expected

# %% [markdown]
# ## Exercise
#
# Screening *blocks* of triplets needs a bound that separates into pairs: $\|H\| \le |u|^2 + |v|^2$. Show
# it. When is it an equality, and by what factor can it be too large if $u \perp v$? If $u$ and $v$ are
# nearly the same?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The triangle inequality for $uu' - vv'$, or (1): $|u|^4 + |v|^4 - 2(u'v)^2 \le (|u|^2 + |v|^2)^2$. The
# difference of the two sides is $2|u|^2|v|^2 + 2(u'v)^2$, so equality needs $u = 0$ or $v = 0$: a
# duplicated point. For $u \perp v$ the factor is $(a + b)/\sqrt{a^2 + b^2} \le \sqrt 2$ with $a = |u|^2$, $b = |v|^2$. For $u \to v$ it
# grows without bound: $\|H\| \to 0$. Blocks lose the triplets of outlying anchors, and little elsewhere.
#
# </details>

# %%
i, j, m = problem.terms.index.T
separable = np.sum((wine.X[i] - wine.X[m]) ** 2, axis=1) + np.sum(
    (wine.X[i] - wine.X[j]) ** 2, axis=1
)
factor = separable / problem.terms.norms
print("wine: the separable bound is too large by a factor of",
      np.round(np.percentile(factor, [0, 50, 100]), 2), "(least, median, most)")
assert factor.min() >= 1.0
u, v = rng.standard_normal((2, 2))
v = np.array([-u[1], u[0]]) * 0.7
assert (u @ u + v @ v) / norm_2(u, v) <= np.sqrt(2.0)

# %% [markdown]
# ## Fine print
#
# * **Rounding.** Every product comes with an error bound, proportional to $\|Q\|$ and to the scale of the two pairs;
#   norms and radius are upper bounds; the roundings of the test itself are added. NaN compares false and leaves a
#   triplet undecided.
# * **Memory.** Two pair numbers of four bytes and one norm a triplet, no matrix $H$ anywhere.
# * **Fewer than $T$.** With the separable bound of the exercise, sorted values of pairs decide whole blocks of
#   triplets, without a subtraction for each triplet.
# * **The paper's $O(d^2)$** is right for one triplet on its own. It does not count that triplets share their pairs.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 4.1, equation 4.1; section 5.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014: Lemma 1.
