# %% [markdown]
# # Screening pairs of points
#
# [`25-product-triplets`](25-product-triplets.ipynb) sums over all triplets of an anchor without visiting one.
# A screening of such products must not visit single triplets either, and the triplets that it keeps must again be products.
# Therefore it decides *pairs* of points. A ball of metrics gives each pair an interval of squared distances. If the
# interval of a pair is far enough from all intervals of the other list, all triplets of the pair are screened.
#
# At the end you will have seen
#
# * why a sum over the two pairs of a triplet bounds its norm, and how intervals follow from the sum;
# * the screening in plain numpy, and compiled loops that put the same numbers of triplets into L and R without an error;
# * how many triplets fewer it decides than the rule for single triplets, and why the library does without it: where
#   screening saves time, listed triplets are faster;
# * another bound that splits into one summand for each pair: it would lose nothing, but it is false.

# %%
import time

import numpy as np
import sympy as sp
from sklearn.datasets import load_digits, load_iris, load_wine

import safescreen as ss
from safescreen_book import figures
from safescreen_book.protocols.block_screening import screen_blocks

loss = ss.SmoothedHinge(0.05)  # no loss above margin 1, linear below 0.95

# %% [markdown]
# ## The story in a picture
#
# The picture shows one anchor $x_i$. The points $j$ of its class have squared distances $a_j$ in the metric at the center of a ball, and the
# points $l$ of other classes have squared distances $b_l$. Over the ball each squared distance varies within an interval. A triplet $(j, l)$
# has no loss when the interval of $l$ lies more than 1 to the right of the interval of $j$. The nearest points $j$
# are so close that even the nearest point $l$ is far enough: all triplets of these $j$ are decided. The farthest points
# $l$ are so far that even the farthest $j$ is near enough: all triplets of these $l$ are decided too.

# %%
same = np.linspace(0.3, 3.2, 12)
other = np.linspace(2.2, 6.0, 14)
half_same, half_other = 0.08 * same, 0.08 * other
done_same = same + half_same + 1.0 < np.min(other - half_other)
done_other = other - half_other - 1.0 > np.max(same + half_same)
assert done_same.any() and done_other.any() and not done_same.all()


# %%
def draw_intervals(ax, at, half, done, level):
    """Draw the intervals of a list at a level, in one colour if decided and another if not."""
    height = level + np.linspace(-0.18, 0.18, at.size)
    for key, chosen in (("R", done), ("C", ~done)):
        style = {"fmt": "o", "markersize": 3.5, "color": figures.COLOURS[key]}
        ax.errorbar(at[chosen], height[chosen], xerr=half[chosen], **style)


# %%
figure, ax = figures.panels(1, width=7.4, height=3.0)
draw_intervals(ax, same, half_same, done_same, 0.0)
draw_intervals(ax, other, half_other, done_other, 1.0)
ax.axvline(np.min(other - half_other) - 1.0, color="#777777", linewidth=0.9, linestyle="--")
ax.axvline(np.max(same + half_same) + 1.0, color="#777777", linewidth=0.9, linestyle=":")
ax.set(
    yticks=[0, 1],
    yticklabels=["own class", "others"],
    ylim=(-0.5, 1.5),
    xlabel="squared distance from the anchor",
)
figures.show(
    "Intervals show squared distances: the lower row shows the anchor's class, the upper row "
    "shows the other classes. The dashed line lies 1 to the left of the nearest interval of the "
    f"upper row; to its left {done_same.sum()} of {same.size} intervals of the lower row are "
    "decided. The dotted line lies 1 to the right of the farthest interval of the lower row; to "
    f"its right {done_other.sum()} of {other.size} intervals of the upper row are decided."
)

# %% [markdown]
# ## The claim
#
# > **Screening of pairs.** Let a ball of metrics have center $Q$ and radius $r$. The squared distance of a
# > pair lies in
# >
# > $$\begin{gathered} \big[\,d_{ij} - r |x_i - x_j|^2,\; d_{ij} + r |x_i - x_j|^2\,\big] = [\,\mathrm{low}_{ij},\, \mathrm{high}_{ij}\,], \\
# > d_{ij} = (x_i - x_j)^\top Q\,(x_i - x_j) , \end{gathered}$$
# >
# > for every metric of the ball. If $\mathrm{low}_{il} - \mathrm{high}_{ij} > \tau$, triplet $(i, j, l)$ is
# > in R; if $\mathrm{high}_{il} - \mathrm{low}_{ij} < \tau - \gamma$, it is in L. The sphere rule makes every one of these decisions too. A round over all pairs costs $O\big(\sum_i (p_i + q_i)\, d\big)$.
#
# | assumption | used in |
# |---|---|
# | the optimum lies in the ball | the decisions are right for the optimum |
# | one threshold $\tau$ for all triplets | a pair is compared with the extreme interval of a list |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a = x_i - x_j$, $b = x_i - x_l$ | differences to a point of the own class and to another one |
# | $H = bb^\top - aa^\top$ | the triplet; its margin is $\langle H, M\rangle = b^\top M b - a^\top M a$ |
# | $p_i$, $q_i$ | lengths of the lists of anchor $i$ |
# | $\tau$, $\gamma$ | no loss above margin $\tau$, linear loss below $\tau - \gamma$ |
# | R, L | triplets without loss at the optimum, and with linear loss |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### A norm bounded by a sum
#
# The sphere rule ([`16-sphere-rule`](16-sphere-rule.ipynb)) puts a triplet into R when $b^\top Q b - a^\top Q a - r\,\|H\| > \tau$.
# The first summand depends on $l$ alone and the second on $j$ alone; the norm depends on both. The triangle
# inequality bounds the norm by a sum that separates:
#
# $$\|H\| \le \|bb^\top\| + \|aa^\top\| = |b|^2 + |a|^2 .$$
#
# Insert the sum into the rule, and collect what depends on $l$ and what depends on $j$: $(b^\top Q b - r|b|^2) - (a^\top Q a + r|a|^2) > \tau$. The
# two brackets are $\mathrm{low}_{il}$ and $\mathrm{high}_{ij}$.
#
# The interval also has a direct meaning: every metric of the ball gives the pair a squared distance in its interval,
# because $\|aa^\top\| = |a|^2$.

# %% [markdown]
# ### What the sum loses
#
# The squares of the two sides of the bound differ by $2(|a|^2|b|^2 + (a^\top b)^2)$:

# %%
aa, bb, ab = sp.symbols("aa bb ab", positive=True)  # |a|^2, |b|^2 and the inner product
difference = sp.expand((aa + bb) ** 2 - (aa**2 + bb**2 - 2 * ab**2))
print("(|a|^2 + |b|^2)^2 - |H|^2 =", sp.factor(difference))
assert sp.expand(difference - 2 * (aa * bb + ab**2)) == 0

# %% [markdown]
# ### Whole pairs, and rounds
#
# One comparison with the extreme interval of the other list decides *all* triplets of a pair $(i, j)$. For R it compares
# $\mathrm{high}_{ij}$ with the smallest $\mathrm{low}_{il}$, for L it compares $\mathrm{low}_{ij}$
# with the largest $\mathrm{high}_{il}$. A decided pair leaves its list, the extremes of the list may then move, and
# pairs of the other list may be decided next. The remaining triplets are a product of two shorter lists. Two or three
# rounds decide nearly all pairs that can be decided. The code stops after four rounds.

# %% [markdown]
# ## The slow version
#
# The function screens the pairs of one anchor, given its two lists of squared distances and half widths. It numbers the
# lists 0 (the anchor's class, with the sign reversed) and 1 (other classes), so that the margin of a triplet is a sum of two values:


# %%
def screen_lists(same, other, half_same, half_other, low, high):
    """Return the numbers of triplets in L and in R, and which pairs of each list remain."""
    values, halves = [-same, other], [half_same, half_other]
    kept = [np.ones(same.size, dtype=bool), np.ones(other.size, dtype=bool)]
    n_L = n_R = 0
    for turn in range(8):  # four rounds
        own, facing = turn % 2, 1 - turn % 2
        least = np.min((values[facing] - halves[facing])[kept[facing]])
        greatest = np.max((values[facing] + halves[facing])[kept[facing]])
        zero = kept[own] & (values[own] - halves[own] + least > high)
        linear = kept[own] & (values[own] + halves[own] + greatest < low)
        n_R += zero.sum() * kept[facing].sum()
        n_L += linear.sum() * kept[facing].sum()
        kept[own] &= ~(zero | linear)
        if not kept[own].any():
            break
    return n_L, n_R, kept[0], kept[1]


# %% [markdown]
# The next function adds the counts of all anchors:


# %%
def screen_plainly(X, index, ball, low=0.95, high=1.0):
    """Return the numbers of triplets in L, in R and in neither, added up over the anchors."""
    counts = np.zeros(3, dtype=int)
    for i in np.unique(index[:, 0]):
        mine = index[index[:, 0] == i]
        differences = [X[i] - X[np.unique(mine[:, column])] for column in (1, 2)]
        distances = [np.einsum("ij,jk,ik->i", d, ball.center, d) for d in differences]
        halves = [ball.radius * np.sum(d * d, axis=1) for d in differences]
        n_L, n_R, kept_same, kept_other = screen_lists(*distances, *halves, low, high)
        counts += n_L, n_R, kept_same.sum() * kept_other.sum()
    return counts.tolist()


# %% [markdown]
# ## Compiled loops, and do they match?
#
# `screen_blocks(terms, ball, loss)` of the book screens the pairs of `ProductTriplets` in compiled loops. The check
# draws random points of three classes, solves the problem, and builds gap balls around references from poor to exact. The
# compiled loops put as many triplets into L and R as plain numpy does, and the sphere rule decides all their triplets too.


# %%
def random_problem(seed):
    """Return points, and their problem with listed triplets and with products."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((24, 3)), np.arange(24) % 3
    X[:, 0] += 2 * y
    if seed % 3 == 1:
        X = np.round(X)  # ties
    k = (None, 4)[seed % 2]
    listed = ss.Problem(ss.Triplets.from_labels(X, y, k), loss)
    product = ss.Problem(ss.ProductTriplets(X, y, k), loss)
    return X, listed, product


def balls_of(product, best, lam):
    """Return gap balls around mixtures of the solution and a poor metric."""
    poor = 0.5 * float(np.linalg.norm(best.x)) * np.eye(3)
    return [
        ss.spheres.duality_gap_bound(product, (1 - mix) * best.x + mix * poor, lam)
        for mix in (1.0, 1e-2, 1e-3, 1e-4, 0.0)
    ]


# %% [markdown]
# One ball is checked like this: the three counts of the loops are the counts of plain numpy; each screened triplet is
# in the same region by the sphere rule; and its margin at the optimum lies in this region.


# %%
def screened_triplets(index, remaining):
    """Return which rows of the list are not among the remaining triplets."""
    if not len(remaining):
        return np.ones(len(index), dtype=bool)
    kept = {tuple(t) for t in remaining.index.tolist()}
    return np.array([tuple(t) not in kept for t in index.tolist()])


def compare(X, listed, product, best, ball):
    """Compare the compiled loops with plain numpy and the sphere rule; return their L and R."""
    index = listed.terms.index
    blocks = screen_blocks(product.terms, ball, loss)
    counts = [blocks.n_L, blocks.n_R, len(blocks.remaining)]
    assert screen_plainly(X, index, ball) == counts
    rule = ss.rules.sphere(listed, ball)
    gone = screened_triplets(index, blocks.remaining)
    in_L, in_R = gone & rule.in_L, gone & rule.in_R
    assert np.array_equal(gone, in_L | in_R)
    assert (blocks.n_L, blocks.n_R) == (in_L.sum(), in_R.sum())
    margins, room = listed.terms.margins(best.x), best.eps * listed.terms.norms
    assert np.all((margins + room)[in_R] >= 1.0)
    assert np.all((margins - room)[in_L] <= 0.95)
    return blocks.n_L, blocks.n_R


# %% tags=["pairs"]
n_L = n_R = n_all = n_balls = 0
for seed in range(6):
    X, listed, product = random_problem(seed)
    lam = listed.lam_max() * (0.3, 0.05, 0.01)[seed // 2 % 3]
    best = ss.solve(listed, lam, tol=0.0, rtol=1e-13, screening=())
    for ball in balls_of(product, best, lam):
        more_L, more_R = compare(X, listed, product, best, ball)
        n_L += more_L
        n_R += more_R
        n_all += len(listed)
        n_balls += 1
print(
    f"{n_balls} balls, {n_all:,} triplets: {n_L / 1000:.0f} thousand in L and "
    f"{n_R / 1000:.0f} thousand in R, the same numbers in plain numpy, 0 wrong"
)
assert n_L + n_R > 0.2 * n_all and min(n_L, n_R) > 1000

# %% [markdown]
# ### A path
#
# The next cell solves paths of twelve values of $\lambda$ for iris and wine with twenty neighbours: once with a list of
# triplets and the rule for single triplets, once with products and without screening. The solutions agree within their certified
# accuracies. The printed shares are means over balls, one for each $\lambda$ around the solution for the previous $\lambda$.

# %%
iris, wine, digits = (f(return_X_y=True) for f in (load_iris, load_wine, load_digits))
wine = ((wine[0] - wine[0].mean(0)) / wine[0].std(0), wine[1])
digits = (digits[0] / 16.0, digits[1])


def largest_distance(path, other):
    """Return the largest distance of two solutions over the sum of their accuracies."""
    pairs = zip(path, other, strict=True)
    return max(np.linalg.norm(p.x - q.x) / (p.eps + q.eps) for p, q in pairs)


# %%
for name, (X, y) in {"iris": iris, "wine": wine}.items():
    listed = ss.Problem(ss.Triplets.from_labels(X, y, 20), loss)
    product = ss.Problem(ss.ProductTriplets(X, y, 20), loss)
    lams = 0.3 * listed.lam_max() * 0.8 ** np.arange(12)
    by_list = ss.path(listed, lams, tol=0.0, rtol=1e-9, screening=("MGB",))
    by_products = ss.path(product, lams, tol=0.0, rtol=1e-9)
    apart = largest_distance(by_list, by_products)
    before = [solution.x for solution in by_list][:-1]
    steps = zip(before, lams[1:], strict=True)
    balls = [ss.spheres.midpoint_gap_bound(listed, x, lam) for x, lam in steps]
    by_triplet = np.mean([ss.rules.sphere(listed, ball).rate for ball in balls])
    blocks = [screen_blocks(product.terms, ball, loss) for ball in balls]
    by_pair = np.mean([(block.n_L + block.n_R) / len(listed) for block in blocks])
    print(
        f"{name}: {len(listed):,} triplets, solutions at most {np.ceil(apart):.0f} times the sum "
        f"of their accuracies apart; share screened: triplets {by_triplet:.2f}, pairs {by_pair:.2f}"
    )
    assert apart <= 1.0 and by_pair <= by_triplet

# %% [markdown]
# ## What the screening of pairs decides, and what it loses
#
# The screening of pairs decides fewer triplets than the rule for single triplets, for two reasons: its bound of the norm is coarser, and it
# decides all triplets of a pair or none. The next picture separates the two reasons, with the triplets of wine for ten neighbours and balls
# of growing radius around the solution. The middle curve applies the coarse norm to single triplets.

# %%
X, y = wine
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=10), loss)
blocks = ss.Problem(ss.ProductTriplets(X, y, k=10), loss)
solution = ss.solve(
    problem, 0.02 * problem.lam_max(), tol=0.0, rtol=1e-12, screening=("RRPB", "PGB")
).x
center = np.round(solution, 4)  # rounded: the same center on every machine
i, j, m = problem.terms.index.T
coarse = np.sum((X[i] - X[j]) ** 2, axis=1) + np.sum((X[i] - X[m]) ** 2, axis=1)
assert np.all(coarse >= problem.terms.norms * (1 - 1e-12))

# %%
radii = np.geomspace(1e-3, 0.3, 13)
margins = problem.terms.margins(center)
curves = {
    "exact norm, each triplet": [],
    "coarse norm, each triplet": [],
    "coarse norm, pairs": [],
}
for radius in radii * np.linalg.norm(center):
    ball = ss.Sphere(center, radius)
    exact = ss.rules.sphere(problem, ball)
    in_R, in_L = margins - radius * coarse > 1.0, margins + radius * coarse < 0.95
    pairs = screen_blocks(blocks.terms, ball, loss)
    counts = exact.n_L + exact.n_R, int(np.sum(in_R | in_L)), pairs.n_L + pairs.n_R
    assert counts[0] >= counts[1] >= counts[2]
    for curve, count in zip(curves.values(), counts, strict=True):
        curve.append(count / len(problem))
for k in (0, 6, 12):
    print(f"radius {radii[k]:.4f}: " + ", ".join(f"{curve[k]:.2f}" for curve in curves.values()))

# %% tags=["nbval-ignore-output"]
labels = {
    "title": "wine, k = 10",
    "xlabel": "radius / norm of the solution",
    "ylabel": "share of triplets decided",
}
figures.lines(curves, radii, log="x", share=True, marks=True, **labels)
figures.show(
    "Curves show the share of the triplets that are decided against the radius of the ball, on a "
    f"logarithmic axis. From the smallest radius to the largest: {figures.ends(curves)}. "
    f"Means: {figures.listed(curves)}."
)

# %% [markdown]
# For the small radii of a late iteration the coarse norm loses nothing. One undecided triplet keeps all triplets of its
# pair: this loses some triplets even at the smallest radius, and more at larger ones. At large radii the coarse norm loses the most.
#
# ## When the screening of pairs saves no time
#
# How many pairs can be decided at most? A pair is decided only if *all* its triplets lie in one region at the optimum,
# and no ball decides more pairs. The next cell counts the pairs whose triplets are all in R for a sample of anchors, with all
# triplets of the digits and the metric of a solution for a small $\lambda$:

# %%
X, y = digits
part = ss.Problem(ss.ProductTriplets(X[::4], y[::4]), loss)
M = ss.solve(part, 1e-4 * part.lam_max(), tol=0.0, rtol=1e-2, screening=()).x
certain = np.zeros((2, 2))
for i in range(0, y.size, 60):
    distance = np.einsum("ij,jk,ik->i", X - X[i], M, X - X[i])
    same = distance[(y == y[i]) & (np.arange(y.size) != i)]
    other = distance[y != y[i]]
    certain[0] += np.sum(other.min() - same > 1.0), same.size
    certain[1] += np.sum(other - same.max() > 1.0), other.size
shares = certain[:, 0] / certain[:, 1]
print(
    f"share of the pairs with all triplets in R: {shares[0]:.1f} within a class, "
    f"{shares[1]:.1f} between classes"
)
assert 0.4 < shares[1] < 0.75 and shares[0] < 0.3

# %% [markdown]
# But pairs do not all cost the same time. The sums recognise a point that is decided against the other list by one comparison.
# Such a point costs hardly more than the computation of its distance. The next cell measures the seconds of one evaluation with all pairs, of one evaluation with
# the pairs that remain after screening with a tiny ball, and of the screening.


# %% tags=["nbval-ignore-output"]
def seconds(run, repeat=2):
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


every = ss.ProductTriplets(X, y)
ball = ss.Sphere(M, 1e-9)
remaining = screen_blocks(every, ball, loss).remaining
all_pairs = seconds(lambda: every.loss_sums(M, loss))
fewer_pairs = seconds(lambda: remaining.loss_sums(M, loss))
screening = seconds(lambda: screen_blocks(every, ball, loss), repeat=1)
print(
    f"digits: the screening decides {1 - len(remaining) / len(every):.0%} of {len(every):,} "
    "triplets, the most that any ball around this metric decides"
)
print(
    f"an evaluation takes {all_pairs:.2f} s with all triplets and {fewer_pairs:.2f} s with the "
    f"remaining ones, the screening {screening:.2f} s"
)

# %% [markdown]
# Here screening costs more time than it saves: an evaluation with the remaining triplets is at best somewhat faster, and
# a screening costs more than an evaluation. Earlier versions of the library screened pairs, and their speed was measured:
#
# * **All triplets** of iris, wine and segment: paths with screening ran at 0.44 to 0.64 times the speed of paths
#   without.
# * **k neighbours**, one small $\lambda$ ([`57-fixed-lambda`](57-fixed-lambda.ipynb)): screening made products 1.0 to 1.8 times as fast on segment, satimage and phishing. A list of triplets with screening was faster still, by
#   factors of 1.3 to 1.5. On iris and wine products without screening are the fastest way, and screening made products slower.
#
# So wherever screening saves time, listed triplets are faster than products. Therefore the library sums products and screens lists.
#
# ## Break it: a bound that separates and loses nothing
#
# $\|H\|$ is the norm of a *difference*, and for two nearly equal vectors the sum $|b|^2 + |a|^2$ is far too
# large. Could the difference $\big||b|^2 - |a|^2\big|$ replace the sum? The difference separates too, and it is exact for parallel vectors. But
# the triangle inequality only says that the difference is a *lower* bound of the norm: if $|a| = |b|$, the difference is 0 for
# every angle between $a$ and $b$. A rule with the difference certifies triplets for R whose margin is below 1 at a metric of the ball,
# $Q - r H/\|H\|$:

# %%
X, y = wine
i, j, m = problem.terms.index.T
b, a = X[i] - X[m], X[i] - X[j]
false_bound = np.abs(np.sum(b * b, axis=1) - np.sum(a * a, axis=1))
radius = 0.02 * float(np.linalg.norm(center))
claimed = np.flatnonzero(margins - radius * false_bound > 1.0)
n_false = 0
for t in claimed:
    H = np.outer(b[t], b[t]) - np.outer(a[t], a[t])
    worst = center - radius * H / np.linalg.norm(H)
    n_false += b[t] @ worst @ b[t] - a[t] @ worst @ a[t] < 1.0 - 1e-6
print(
    f"triplets that the difference certifies as R: {len(claimed)}; "
    f"of these, margin below 1 at a metric of the ball: {n_false}"
)
assert n_false > 100
assert np.all(false_bound <= problem.terms.norms)
assert np.all(problem.terms.norms <= coarse * (1 + 1e-12))

# %% [markdown]
# ## Exercise
#
# How loose is the separated bound? Find the vectors $a$, $b$ for which it is exact and those for which it is worst. Compute the
# ratio $\|H\| / (|a|^2 + |b|^2)$ for vectors of equal length at an angle $\theta$. Then argue why
# the screening of pairs loses less in many dimensions than in two.
#
# <details>
# <summary><b>Solution</b></summary>
#
# From $(|a|^2 + |b|^2)^2 - \|H\|^2 = 2(|a|^2|b|^2 + (a^\top b)^2)$: the bound is exact only if $a$ or $b$ is zero, and nearly exact if one vector is much shorter than the other. For equal lengths $\|H\|^2 = 2|a|^4(1 - \cos^2\theta)$, so the ratio
# is $|\sin\theta|/\sqrt2$. It is zero for parallel vectors, where $H = 0$ and the margin is the same for all
# metrics, and it is at most $0.71$. In many dimensions two differences of points are rarely close to parallel (for
# independent points and a common anchor $\cos\theta$ is about $1/2$), so the ratio is rarely near zero. In one dimension all
# differences are parallel, and the ratio is near zero more often.
#
# </details>

# %%
for angle in np.linspace(0.0, np.pi / 2, 7):
    a, b = np.array([1.0, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    ratio = np.linalg.norm(np.outer(b, b) - np.outer(a, a)) / 2.0
    assert np.isclose(ratio, np.sin(angle) / np.sqrt(2.0), atol=1e-15)

# %%
for d in (1, 2, 10, 64):
    points = np.random.default_rng(0).standard_normal((3000, d))
    a, b = points[:1000] - points[1000:2000], points[:1000] - points[2000:]
    aa, bb, ab = np.sum(a * a, 1), np.sum(b * b, 1), np.sum(a * b, 1)
    ratio = np.sqrt(np.maximum(aa**2 + bb**2 - 2 * ab**2, 0.0)) / (aa + bb)
    print(f"d = {d:2}: nine of ten triplets have a ratio above {np.quantile(ratio, 0.1):.2f}")

# %% [markdown]
# ## Fine print
#
# * **Rounding.** `screen_blocks` widens the intervals by bounds of the rounding errors of the distances
#   ([`24-floating-point`](24-floating-point.ipynb)). Comparisons are strict, and an interval that is not finite decides nothing.
# * **Diagonal metrics.** The vector of a pair is $a \circ a$, the squares of the entries of $a$, and the half width of the
#   interval is $r\,\|a \circ a\|$.
# * **Listed triplets** are needed when the triplets are no product of two lists, or when a decision for each triplet matters more than memory.
# * **Experiment [`66-all-triplets`](66-all-triplets.ipynb)** measures sums over products on larger data.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: equation 4.1 (the sphere rule). The screening of pairs is not in the papers.
