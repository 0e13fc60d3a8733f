# %% [markdown]
# # Half a billion triplets, and none is visited
#
# The 1797 handwritten digits have 519 439 560 triplets. Each consists of an anchor, a point of the anchor's class and a
# point of another class. A list of these triplets needs 6 gigabytes before any computation. But the triplets of an anchor
# are not an arbitrary list. They are *all combinations* of two short lists. This notebook computes sums of losses and
# gradients over such a product by sorting the short lists. It visits no triplet.
#
# At the end you will have seen
#
# * how one sort and a few prefix sums give the loss and the gradient of $p \times q$ triplets;
# * a proof of the cost, with operations and memory counted;
# * how long an evaluation of all triplets of the digits takes;
# * data on which prefix sums of floating-point numbers lose all their digits, and sums of integers that lose none.

# %%
import itertools
import time
import tracemalloc
from fractions import Fraction
from functools import cmp_to_key

import numpy as np
import sympy as sp
from sklearn.datasets import load_digits, load_iris, load_wine

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# One anchor has 14 points of its class and 18 points of other classes. Let $a_j$ be the squared distances from the anchor
# to the points of its class, and $b_l$ the squared distances to the other points, in a metric $M$. A triplet $(j, l)$ has
# no loss if $b_l$ exceeds $a_j$ by at least $\tau = 1$. Its *slack* is
#
# $$\tau - (b_l - a_j) = a_j - T_l, \qquad T_l = b_l - \tau .$$
#
# Sort both lists. Then one $b_l$ cuts the sorted $a_j$ into three runs. Up to $T_l$ the loss is 0, from $T_l + \gamma$ on
# it is linear, and between these values it is quadratic. Two searches in the sorted list give the lengths of the runs,
# without a visit to any triplet.

# %%
rng = np.random.default_rng(7)
a, b = np.sort(rng.gamma(4.0, 0.5, 14)), np.sort(rng.gamma(6.0, 0.6, 18))
tau, gamma = 1.0, 0.8
one = 2  # the b that the picture shows
T = b - tau
first, last = np.searchsorted(a, T, "right"), np.searchsorted(a, T + gamma, "left")

# %%
def draw_runs(ax):
    """The sorted distances, and the runs of the own class that one b cuts out."""
    ax.axvspan(T[one], T[one] + gamma, color="#DDDDDD", linewidth=0)
    ax.plot(b, np.ones(b.size), "o", color="#BBBBBB", markersize=5)
    ax.plot(b[one], 1.0, "o", color="black", markersize=6)
    runs = {
        "no loss": ("R", a[: first[one]]),
        "quadratic": ("C", a[first[one] : last[one]]),
        "linear": ("L", a[last[one] :]),
    }
    for name, (key, run) in runs.items():
        colour = figures.COLOURS[key]
        ax.plot(run, np.zeros(run.size), "o", color=colour, markersize=6, label=name)
    ax.annotate("", (T[one], 1.0), (b[one], 1.0), arrowprops={"arrowstyle": "->"})
    ax.text(T[one], 0.5, "$T_l$", fontsize=9.5)
    ax.text(T[one] + gamma, 0.5, r"$T_l + \gamma$", fontsize=9.5)
    ax.set(yticks=[0, 1], yticklabels=["$a_j$, own class", "$b_l$, others"], ylim=(-0.4, 1.5))
    ax.set(xlabel="squared distance from the anchor")
    ax.legend(loc="lower right", ncols=3, handletextpad=0.1)


# %%
figure, ax = figures.panels(1, width=7.0, height=3.0)
draw_runs(ax)
figures.show(
    f"Dots lie in rows on an axis of squared distances: {b.size} points of other classes in the "
    f"upper row, {a.size} points of the own class in the lower row. An upper dot minus tau is T. "
    f"In the lower row a run of {first[one]} dots up to T has no loss, a run of "
    f"{last[one] - first[one]} dots up to T + gamma has a quadratic loss, and a run of "
    f"{a.size - last[one]} dots has a linear loss."
)

# %% [markdown]
# The next picture shows all $l$ together. The table of the slopes $\alpha_{jl}$ has a region of ones, a narrow band and a
# region of zeros. Two pointers move along the edges of the band.

# %%
alpha = np.clip((a[:, None] - T) / gamma, 0.0, 1.0)
n_linear, n_none = np.sum(alpha == 1), np.sum(alpha == 0)
n_band = np.sum((alpha > 0) & (alpha < 1))
print(f"{alpha.size} triplets: {n_linear} linear, {n_band} in the band, {n_none} without loss")
assert np.array_equal(first, np.sum(alpha == 0, axis=0))
assert np.array_equal(a.size - last, np.sum(alpha == 1, axis=0))

# %%
figure, ax = figures.panels(1, width=5.0, height=3.4)
ax.pcolormesh(np.arange(b.size + 1), np.arange(a.size + 1), alpha, cmap="Blues", vmin=0.0, vmax=1.4)
edges = (last, "last: linear from here on", "-"), (first, "first: no loss below", "--")
for line, text, dash in edges:
    ax.stairs(line, np.arange(b.size + 1), baseline=None, color="black", linewidth=1.4,
              linestyle=dash, label=text)
ax.legend(loc="lower right")
ax.set(xlabel="others $l$, sorted", ylabel="own class $j$, sorted")
ax.set(xticks=range(0, 19, 3), title=r"slopes $\alpha_{jl}$")
figures.show(
    f"The table of slopes has {a.size} rows and {b.size} columns. In the upper left corner, above "
    f"a staircase, {n_linear} slopes are 1. In the lower right corner, below another staircase, "
    f"{n_none} slopes are 0. In the band between the staircases {n_band} slopes lie between 0 "
    "and 1."
)

# %% [markdown]
# ## The claim
#
# > **Product triplets.** Let the two lists of anchor $i$ have $p_i$ points of its class and $q_i$ other points, and let
# > all triplets have one threshold $\tau$. Then the loss, the sums of $\alpha$ and $\alpha^2$, and the gradient in $M$,
# > over all $\sum_i p_i q_i$ triplets of $n$ points in $d$ dimensions, cost
# >
# > $$O\Big(\sum_i (p_i + q_i)(d + \log n) + n d^2\Big)$$
# >
# > operations and $O(nd)$ memory.
#
# | assumption | used in |
# |---|---|
# | all combinations of the two lists are triplets | runs can be counted |
# | the loss is piecewise quadratic | two prefix sums are enough |
# | one threshold $\tau$ (or a part for $j$ plus a part for $l$) | the slack is a difference of two numbers |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $M$ | the metric, a semidefinite matrix; $a_j = (x_i - x_j)^\top M (x_i - x_j)$, and $b_l$ likewise |
# | $\ell$ | smoothed hinge: in the slack $v$ it is $0$ for $v < 0$, $\frac{v^2}{2\gamma}$ for $0 \le v \le \gamma$, $v - \frac\gamma2$ beyond |
# | $\alpha_{jl}$ | slope of the loss in the slack: $v/\gamma$ cut to $[0, 1]$ |
# | $H_{ijl}$ | $(x_i - x_l)(x_i - x_l)^\top - (x_i - x_j)(x_i - x_j)^\top$; the margin of a triplet is $\langle H_{ijl}, M\rangle$ |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### The sums over a run need two numbers and a count
#
# Let a run contain $n$ of the sorted $a_j$, with sum $s_1$ and sum of squares $s_2$. Then
#
# $$\sum (a_j - T) = s_1 - n T, \qquad \sum (a_j - T)^2 = s_2 - 2 T s_1 + n T^2 .$$
#
# The loss and $\alpha$ need no other sums. For every run $s_1$ and $s_2$ are differences of two prefix sums. sympy
# confirms the formulas for a run of three:

# %%
T_, gam, *run = sp.symbols("T gamma a1 a2 a3", real=True)
s1, s2 = sum(run), sum(v**2 for v in run)
assert sp.expand(sum((v - T_) ** 2 for v in run) - (s2 - 2 * T_ * s1 + 3 * T_**2)) == 0
assert sp.expand(sum((v - T_) / gam for v in run) - (s1 - 3 * T_) / gam) == 0
print("the sums over a run of three follow from two numbers and a count")

# %% [markdown]
# ### The weight of a point of the own class
#
# The gradient needs $w_l = \sum_j \alpha_{jl}$ for each $l$, which is a sum over runs as above. It also needs
# $w_j = \sum_l \alpha_{jl}$ for each $j$. For $w_j$ consider a row of the table: entry $j$ is in the band of each $l$ with
# $\mathrm{first}_l \le j < \mathrm{last}_l$. Add $1$ and $T_l$ at position $\mathrm{first}_l$, subtract them at position
# $\mathrm{last}_l$, and form running sums. At position $j$ the running sums are the number of these $l$ and the sum of
# their $T_l$. Again two numbers and a count are enough:

# %%
thresholds = sp.symbols("T1:4", real=True)
one_by_one = sum((run[0] - t) / gam for t in thresholds)
together = (3 * run[0] - sum(thresholds)) / gam
assert sp.expand(one_by_one - together) == 0
print("the sum over three thresholds follows from their sum, their count and the entry")

# %% [markdown]
# ### From weights of pairs to a matrix
#
# The gradient of the loss is $-\sum \alpha_{jl} H_{ijl}$, and $H_{ijl}$ is a difference of two matrices, each of one
# pair. So only the weights of pairs matter:
#
# $$\sum_{jl} \alpha_{jl} H_{ijl} = \sum_{l} w_{il} (x_i - x_l)(x_i - x_l)^\top - \sum_{j} w_{ij} (x_i - x_j)(x_i - x_j)^\top .$$
#
# Let $W$ be the matrix with the weights of all anchors: $w_{il}$ for the points of other classes and $-w_{ij}$ for the
# points of the own class. Multiply out:
#
# $$H(\alpha) = \sum_{ik} W_{ik} (x_i - x_k)(x_i - x_k)^\top = X^\top (\Delta - W - W^\top) X,$$
#
# where $\Delta$ is diagonal and contains the row sums of $W$ plus its column sums. Row $i$ of $W$ is needed only once, so
# $W$ is never stored.

# %% [markdown]
# ## From the definition, and by sorting
#
# From the definition the sums need a table of all pairs:


# %%
def every_pair(a, b, tau, gamma):
    """Loss, sum of alpha^2, and the weights of a and of b, from the p x q table."""
    slack = tau + a[:, None] - b
    alpha = np.clip(slack / gamma, 0.0, 1.0)
    loss = np.sum(alpha * (slack - gamma / 2 * alpha))
    return loss, np.sum(alpha**2), alpha.sum(axis=1), alpha.sum(axis=0)


# %% [markdown]
# By sorting, with prefix sums and searches, they need a few more lines:


# %%
def product_sums(a, b, tau, gamma):
    """The same values without the table."""
    order, T, n = np.argsort(a), b - tau, a.size
    s = a[order]
    one, two = (np.concatenate(([0], np.cumsum(v))) for v in (s, s * s))  # prefix sums
    first, last = np.searchsorted(s, T, "right"), np.searchsorted(s, T + gamma, "left")
    n_linear, n_band = n - last, last - first
    band = one[last] - one[first] - n_band * T
    square = two[last] - two[first] - 2 * T * (one[last] - one[first]) + n_band * T**2
    loss = np.sum(one[n] - one[last] - n_linear * (T + gamma / 2) + square / (2 * gamma))

    def running(at, value):
        return np.cumsum(np.bincount(at, value, minlength=n + 1))[:n]

    n_in_band = running(first, np.ones(T.size)) - running(last, np.ones(T.size))
    weights = np.empty(n)
    of_band = n_in_band * s - running(first, T) + running(last, T)
    weights[order] = running(last, np.ones(T.size)) + of_band / gamma
    return loss, np.sum(n_linear + square / gamma**2), weights, n_linear + band / gamma


# %%
def all_sums(X, y, M, tau=1.0, gamma=0.05):
    """Loss, sum of alpha^2 and H over all triplets of labelled points, with one row of W in
    memory."""
    n, loss, alpha_square = y.size, 0.0, 0.0
    Z, WX, degrees = X @ M, np.zeros(X.shape), np.zeros(n)
    for i in range(n):
        distance = np.sum((X[i] - X) * (Z[i] - Z), axis=1)
        other, same = y != y[i], (y == y[i]) & (np.arange(n) != i)
        of_anchor = product_sums(distance[same], distance[other], tau, gamma)
        w = np.zeros(n)
        w[other] = of_anchor[3]
        w[same] = -of_anchor[2]
        WX[i] += w @ X
        WX += np.outer(w, X[i])
        degrees[i] += w.sum()
        degrees += w
        loss += of_anchor[0]
        alpha_square += of_anchor[1]
    return loss, alpha_square, X.T @ (degrees[:, None] * X - WX)


# %% [markdown]
# ### Does it match?
#
# The next cell compares both versions on three hundred pairs of random lists, with ties and with slacks that are exactly
# at a threshold.

# %%
rng = np.random.default_rng(0)
for trial in range(300):
    a_, b_ = (np.abs(rng.standard_normal(rng.integers(1, 30))) for _ in range(2))
    if trial % 3 == 0:
        a_, b_ = np.round(a_), np.round(b_) + 1.0
    width = (0.05, 0.5, 5.0)[trial % 3]
    fast, slow = product_sums(a_, b_, 1.0, width), every_pair(a_, b_, 1.0, width)
    for ours, definition in zip(fast, slow, strict=True):
        assert np.allclose(ours, definition, rtol=1e-11, atol=1e-11)
print("300 pairs of lists: loss, alpha^2 and all weights agree to 1e-11, absolute plus relative")

# %% [markdown]
# ## The library call
#
# `ProductTriplets(X, y, k)` represents the triplets of `Triplets.from_labels(X, y, k)`, in the same order. It gives the
# same sums to problems, spheres and solvers. The next cells compare it with the list and with `all_sums`. The data are
# clean, or have ties, duplicated points, a tiny class, or scales of $10^{\pm 6}$. We use all points or only neighbours,
# and full or diagonal metrics.


# %% tags=["NEW-ALL"]
def labelled(kind, rng, n=24, d=3):
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3
    X[:, 0] += y
    if kind == "ties":
        X = np.round(X)
    if kind == "duplicates":
        X[n // 2 :] = X[: n // 2][rng.permutation(n // 2)]
    if kind == "unbalanced":
        y = (np.arange(n) > n - 4).astype(int)
    return X * {"large": 1e6, "small": 1e-6}.get(kind, 1.0), y


def assert_same_sums(X, y, k, diagonal, M, width):
    loss = ss.SmoothedHinge(width)
    product = ss.ProductTriplets(X, y, k, diagonal=diagonal).loss_sums(M, loss)
    listed = ss.Triplets.from_labels(X, y, k, diagonal=diagonal).loss_sums(M, loss)
    for name in ("loss", "alpha_sum", "alpha_square"):
        ours, theirs = getattr(product, name), getattr(listed, name)
        assert abs(ours - theirs) < 1e-10 * max(theirs, 1.0)
    assert np.linalg.norm(product.adjoint - listed.adjoint) <= 1e-7 * np.linalg.norm(listed.adjoint)
    return product


# %% tags=["NEW-ALL"]
rng, n_compared = np.random.default_rng(1), 0
kinds = ("clean", "ties", "duplicates", "unbalanced", "large", "small")
neighbours = ((None, False), (4, False), (None, True))  # k, and whether the metric is diagonal
cases = itertools.product(kinds, (0.0, 0.05, 1.0, 40.0), neighbours)
for kind, width, (k, diagonal) in cases:
    X, y = labelled(kind, rng)
    L = rng.standard_normal((3, 3)) / np.linalg.norm(X - X.mean(0), axis=0).mean() * 3.0
    M = np.diag(L @ L.T).copy() if diagonal else L @ L.T
    product = assert_same_sums(X, y, k, diagonal, M, width)
    if k is None and not diagonal and width > 0.0:
        loss, alpha_square, H = all_sums(X, y, M, gamma=width)
        assert np.isclose(loss, product.loss) and np.isclose(alpha_square, product.alpha_square)
        assert np.linalg.norm(H - product.adjoint) <= 1e-7 * np.linalg.norm(product.adjoint)
    n_compared += 1
print(n_compared, "cases: sums over products, over lists and by all_sums agree")

# %% [markdown]
# ## What it costs: the proof
#
# We count the operations of each line of `all_sums`, for an anchor with lists of $p$ and $q$ entries. The *shorter*
# list is sorted. The two lists can exchange their roles, because the slack is $a_j - T_l$ in both cases. With
# $m = \min(p, q)$:
#
# | step | operations |
# |---|---|
# | $Z = XM$, once | $n d^2$ |
# | squared distances $(x_i - x_j)^\top(z_i - z_j)$ | $(p + q)\, d$ |
# | sorting the shorter list, by merging | $m \lceil\log_2 m\rceil$ |
# | two searches for each entry of the longer list | $2 \max(p, q)\,\lceil\log_2(m + 1)\rceil$ |
# | prefix sums, differences, running sums | $O(p + q)$ |
# | row $i$ of $W$ times $X$, and its outer product with $x_i$ | $2(p + q)\,d$ |
# | $X^\top(\ldots)$, once | $n d^2$ |
#
# Sum over the anchors, with
# $m \lceil\log_2 m\rceil + 2\max(p, q)\lceil\log_2(m + 1)\rceil \le 2(p + q)\lceil\log_2(m + 1)\rceil$ and
# $m < n$. This gives the claim. The *memory* at any time contains $X$, $Z$ and $WX$ with $nd$ numbers each, one row of
# $W$, and the lists of one anchor. This is $O(nd)$.
#
# A list of triplets costs $\sum_i p_i q_i$ operations and at least 12 bytes for each triplet.

# %% [markdown]
# ### The numbers: comparisons, counted
#
# The next cells count the comparisons of a merge sort and of binary searches, and compare the counts with the bound
# $2(p + q)\lceil\log_2(m + 1)\rceil$ of the proof.


# %%
def comparisons(a, b, tau, gamma):
    """Comparisons of sorting the shorter list and of two searches for each entry of the longer
    list."""
    short, long = sorted((a, b), key=len)
    counter = itertools.count()

    def compare(u, v):
        next(counter)
        return (u > v) - (u < v)

    ordered = sorted(short.tolist(), key=cmp_to_key(compare))
    for value in np.concatenate([long - tau, long - tau + gamma]):
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            next(counter)
            if ordered[middle] <= value:
                low = middle + 1
            else:
                high = middle
    return next(counter)


# %%
rng = np.random.default_rng(2)
print("   p    q    triplets   comparisons   bound")
for p, q in ((5, 5), (10, 100), (50, 100), (180, 1617), (500, 1000)):
    counted = comparisons(rng.gamma(4.0, 0.5, p), rng.gamma(6.0, 0.6, q), 1.0, 0.05)
    bound = 2 * (p + q) * int(np.ceil(np.log2(min(p, q) + 1)))
    print(f"{p:4} {q:4} {p * q:11,} {counted:13,} {bound:7,}")
    assert counted <= bound

# %% [markdown]
# ### The numbers: operations against triplets
#
# Twice as many points give eight times as many triplets, but little more than four times as many operations.


# %%
def sizes(y):
    """Lengths of the two lists of each anchor, when all points are used."""
    counts = np.unique(y, return_counts=True)[1]
    p = counts[np.searchsorted(np.unique(y), y)] - 1
    return p, y.size - 1 - p


def operations(y):
    p, q = sizes(y)
    return np.sum(p * q), np.sum(2.0 * (p + q) * np.log2(np.minimum(p, q) + 1.0))


small, double = operations(np.arange(3000) % 3), operations(np.arange(6000) % 3)
more_triplets, more_operations = np.array(double) / np.array(small)
print("from 3000 to 6000 points:")
print(f"{more_triplets:.1f} times as many triplets, {more_operations:.1f} times as many operations")
assert 7.9 < more_triplets < 8.1 and 4.0 < more_operations < 4.5

# %%
n_points = np.unique(np.round(np.geomspace(30, 100_000, 15)).astype(int))
listed, by_sorting = np.array([operations(np.arange(n) % 3) for n in n_points]).T
counted = {"a list": listed, "products": by_sorting}
figures.lines(counted, n_points, log="xy", marks=True, title="one evaluation of all triplets",
              xlabel="points, in three classes", ylabel="operations, without distances")
figures.show(
    "Lines show the operations of one evaluation against the number of points, from "
    f"{n_points[0]} to {n_points[-1]:,}, on logarithmic axes: "
    f"{figures.ends(counted, '{:.1g}')}. For the largest number of points the list needs "
    f"{listed[-1] / by_sorting[-1]:.0f} times as many operations as the products."
)

# %% [markdown]
# ### The numbers: memory
#
# The next cell measures the peak memory of `all_sums` on 300, 600 and 1200 points in ten dimensions. The peak doubles
# with the points. A matrix $W$ would need four times as much memory for twice as many points.

# %%
peaks = []
for n in (300, 600, 1200):
    X, y = np.random.default_rng(0).standard_normal((n, 10)), np.arange(n) % 3
    tracemalloc.start()
    all_sums(X, y, np.eye(10))
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
growth = [after / before for before, after in itertools.pairwise(peaks)]
print("growth of the peak memory when the points double: 2.3 times or less")
assert max(growth) < 2.3

# %% [markdown]
# ## All triplets of the digits
#
# The next cell shows three data sets, and the memory that a list of indices alone would need.

# %%
iris, wine, digits = (f(return_X_y=True) for f in (load_iris, load_wine, load_digits))
wine = ((wine[0] - wine[0].mean(0)) / wine[0].std(0), wine[1])
digits = (digits[0] / 16.0, digits[1])
DATA = {"iris": iris, "wine": wine, "digits": digits}
for name, (_, y) in DATA.items():
    n_triplets, n_operations = operations(y)
    memory = f"as a list {12 * n_triplets / 1e6:7.1f} MB"
    share = f"triplets for each operation {n_triplets / n_operations:5.1f}"
    print(f"{name:7} n = {y.size:5}  triplets {n_triplets:12,}  {memory}  {share}")

# %% [markdown]
# The next cells measure the seconds of one evaluation of value and gradient on this machine. The first call compiles, and
# its time is not counted.

# %%
hinge = ss.SmoothedHinge(0.05)


def seconds(run, repeat=3):
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


# %% tags=["nbval-ignore-output"]
def evaluation(terms, M):
    return lambda: terms.loss_sums(M, hinge)


for name in ("iris", "wine"):
    X, y = DATA[name]
    M = np.eye(X.shape[1]) / X.shape[1]
    fast = seconds(evaluation(ss.ProductTriplets(X, y), M))
    slow = seconds(evaluation(ss.Triplets.from_labels(X, y), M))
    print(f"{name}: list {1e3 * slow:.1f} ms, product {1e3 * fast:.1f} ms")
X, y = digits
every, M = ss.ProductTriplets(X, y), np.diag(np.linspace(0.0, 0.1, 64))
once = seconds(evaluation(every, M), repeat=2)
print(f"digits, {len(every):,} triplets: {once:.2f} s for one evaluation")

# %% [markdown]
# A check of half a billion slacks one by one is too expensive. The next cell computes every triplet of three anchors from
# the definition, and the loss of all anchors by `product_sums`.

# %%
Z, total = X @ M, 0.0
for i in range(y.size):
    distance = np.sum((X[i] - X) * (Z[i] - Z), axis=1)
    same = distance[(y == y[i]) & (np.arange(y.size) != i)]
    other = distance[y != y[i]]
    of_anchor = product_sums(same, other, 1.0, 0.05)[0]
    total += of_anchor
    if i in (0, 500, 1700):
        assert np.isclose(of_anchor, every_pair(same, other, 1.0, 0.05)[0], rtol=1e-9)
by_library = every.loss_sums(M, hinge).loss
print(f"{len(every):,} triplets, loss {by_library:.6e}")
print("relative difference of product_sums and library: 1e-9 or less")
assert len(every) == 519_439_560 and np.isclose(total, by_library, rtol=1e-9)

# %% [markdown]
# ## Break it: prefix sums cancel
#
# The sum over a run is the difference of two prefix sums. Let the list extend to $3\cdot 10^4$, with a run in a band of width
# $10^{-3}$ at its upper end. The sums of squares are some $10^{10}$, and a float has 16 digits. The difference must be
# accurate to $10^{-9}$, but it has no correct digit. A second error is worse. The two lists of weights come from
# different prefix sums. After rounding they do not belong to *any* common $\alpha$, although the weights of a dual point
# must belong to one $\alpha$.

# %%
spread, width = np.linspace(0.0, 1e-3, 12), 2e-3
a = np.r_[np.linspace(0.0, 1.0, 12), 3e4 + spread]
b = 3e4 + 1.0 + spread**2 * 1e3
slack = [[1 + Fraction(v) - Fraction(w) for w in b.tolist()] for v in a.tolist()]
alphas = [min(max(v / Fraction(width), Fraction(0)), Fraction(1)) for row in slack for v in row]
true = float(sum(v * v for v in alphas))
plain, weights_a, weights_b = product_sums(a, b, 1.0, width)[1:]
print(f"sum of alpha^2, exactly {true:.4f}; relative error of prefix sums: more than 0.1")
print("the two lists of weights have equal sums; with prefix sums they differ by more than 1e-9")
assert abs(plain - true) > 0.1 * true and abs(weights_a.sum() - weights_b.sum()) > 1e-9

# %% [markdown]
# ### The cure: integers
#
# The library rounds the numbers of an anchor once to integer multiples of a power of two, $2^{-49}$ of their range, and
# sums integers. Counts and sums are then exact, in any order. The rounding to the grid is one more known error of a
# margin. The next cell shows this with Python's own integers, which never overflow.


# %%
def runs_on_grid(a, b, tau, gamma, bits):
    """The sorted a, the thresholds and gamma as integers on a grid, and the ends of the runs."""
    T, bottom = np.clip(b - tau, a.min() - gamma, a.max()), a.min()
    unit = 2.0 ** (np.ceil(np.log2(np.ptp(a) + gamma)) - bits)
    on_grid = [[int(v) for v in np.rint((values - bottom) / unit)] for values in (np.sort(a), T)]
    s, T = (np.array(values, dtype=object) for values in on_grid)
    g = int(np.rint(gamma / unit))
    first = np.array([np.sum(s <= t) for t in T])
    last = np.array([np.sum(s <= t) for t in T - (1 - g)])
    return s, T, g, first, last


def product_sums_on_grid(a, b, tau, gamma, bits=49):
    """Sum of alpha^2 and the sums of the two lists of weights, from integers; exact fractions."""
    s, T, g, first, last = runs_on_grid(a, b, tau, gamma, bits)
    one, two = (np.array([0, *np.cumsum(v)], dtype=object) for v in (s, s * s))
    n_linear, n_band = (a.size - last).astype(object), (last - first).astype(object)
    band = one[last] - one[first] - n_band * T
    square = two[last] - two[first] - 2 * T * (one[last] - one[first]) + n_band * T * T
    by_rows = 0
    for r in range(a.size):
        in_band = [t for t, f, e in zip(T, first, last, strict=True) if f <= r < e]
        by_rows += len(in_band) * s[r] - sum(in_band)
    total = np.sum(n_linear)
    weights_b, weights_a = total + Fraction(np.sum(band), g), total + Fraction(by_rows, g)
    return total + Fraction(np.sum(square), g * g), weights_b, weights_a


# %%
grid, grid_b, grid_a = product_sums_on_grid(a, b, 1.0, width)
print(f"sum of alpha^2, exactly {true:.4f}, from integers {float(grid):.4f}")
print(f"the sums of the two lists of weights differ by {float(grid_b - grid_a):g}")
assert abs(grid - true) < 1e-5 * true and grid_a == grid_b

# %% [markdown]
# The next cell tests the library on such data. The data are points on a line whose squared distances from the first point
# are these lists.

# %% tags=["NEW-ALL"]
X = np.r_[0.0, np.sqrt(a[1:]), np.sqrt(b)][:, None]
y = np.r_[np.zeros(a.size, dtype=int), np.ones(b.size, dtype=int)]
narrow = ss.SmoothedHinge(width)
product = ss.ProductTriplets(X, y).loss_sums(np.eye(1), narrow).alpha_square
explicit = ss.Triplets.from_labels(X, y).loss_sums(np.eye(1), narrow).alpha_square
by_prefix_sums = all_sums(X, y, np.eye(1), gamma=width)[1]
print(f"sum of alpha^2 over all triplets: list {explicit:.3f}, library {product:.3f}")
print("relative error of prefix sums of floats: more than 0.01 %")
assert abs(product - explicit) < 1e-7 * explicit
assert abs(by_prefix_sums - explicit) > 1e-4 * explicit

# %% [markdown]
# ## Break it: a hole in the product
#
# The claim needs *all* combinations. Take the product of five points and four points, and remove one triplet. No choice
# of two sublists has the same sum as the remaining triplets. So decisions on single triplets cannot make a product
# smaller. For this reason [`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb) decides pairs.

# %%
def sublists(n):
    """All choices from n entries."""
    return [list(s) for r in range(n + 1) for s in itertools.combinations(range(n), r)]


a, b = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0]), np.sqrt([1.3, 6.0, 10.0, 13.0])
slack = np.maximum(1.0 + a[:, None] - b - 0.025, 0.0)
hole = slack.sum() - slack[2, 1]
choices = itertools.product(sublists(5), sublists(4))
sums = [slack[np.ix_(rows, columns)].sum() for rows, columns in choices]
n_equal = np.count_nonzero(np.isclose(sums, hole, rtol=1e-9))
print("products with the same sum:", n_equal, "of", len(sums))
assert n_equal == 0

# %% [markdown]
# ## Exercise
#
# For the hinge, $\gamma \to 0$, the band is empty. Which parts of `product_sums` remain, and which prefix sum is no longer
# needed?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Only the linear run remains: $\mathrm{first} = \mathrm{last}$, the loss is the sum of $a_j - T_l$ over the entries above
# $T_l$, and every weight is a count. The sums of squares are not needed.
#
# </details>


# %%
def hinge_sums(a, b, tau):
    s, T = np.sort(a), b - tau
    suffix = np.concatenate([np.cumsum(s[::-1])[::-1], [0.0]])
    at = np.searchsorted(s, T, "right")
    return np.sum(suffix[at] - (a.size - at) * T)


rng = np.random.default_rng(3)
a_, b_ = rng.gamma(4.0, 0.5, 40), rng.gamma(6.0, 0.6, 70)
print(f"hinge over {a_.size * b_.size} triplets: {hinge_sums(a_, b_, 1.0):.6f}")
assert np.isclose(hinge_sums(a_, b_, 1.0), np.maximum(1.0 + a_[:, None] - b_, 0.0).sum())

# %% [markdown]
# ## Fine print
#
# * **Distances of entire classes** are $x_i^\top M x_i + x_j^\top M x_j - 2 x_i^\top M x_j$. The library computes them by a product of matrices
#   for a block of anchors. Their rounding bound is larger by a factor $3/2$, $\gamma_{3d+12} |M| (|x_i| + |x_j|)^2$. The
#   library computes the distances of short lists pair by pair.
# * **Rounding.** The error bound of a margin contains the pair bound of
#   [`24-floating-point`](24-floating-point.ipynb), the grid of an anchor (coarser than $2^{-49}$ for lists of more than
#   255 points), and the accuracy of the cone.
# * **Squares beyond 64 bits.** A sum of squares can exceed 64 bits. Integer arithmetic with overflow gives the sum modulo
#   $2^{64}$, and a floating-point sum determines the multiple of $2^{64}$.
# * **Threads.** The library divides the anchors into fixed chunks and adds the results of the chunks in order. So the
#   result has the same bits for any number of threads.
# * **Limits.** Some results need one number for each triplet (`norms`, `index`, masks, a given $\alpha$). The library
#   computes them on demand for up to 50 million triplets, and raises an error for more.
# * **Memory.** If the lists contain all points, the library stores nothing for a pair. With $k$ neighbours it stores four
#   bytes for each pair.
#
# Next: [`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb).
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 2.1 (triplets from labels). The summation is not in the papers.
# * Joachims, *Training Linear SVMs in Linear Time*, KDD 2006: sums of the hinge over all pairs of two
#   lists, for ranking, by sorting.
