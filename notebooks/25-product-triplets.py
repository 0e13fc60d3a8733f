# %% [markdown]
# # Half a billion triplets, none of them visited
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$; its solution is $x^\star$ |
# | loss $\ell(u)$ | smoothed hinge: $0$ for $u > 1$; $\tfrac{(1-u)^2}{2\gamma}$ for $1-\gamma \le u \le 1$; $1-u-\tfrac\gamma2$ for $u < 1-\gamma$; the hinge for $\gamma \to 0$ |
# | cone $K$ | semidefinite matrices ($x = M$, $a_t = H_{ijl}$), or vectors $x \ge 0$ (diagonal metrics), or the whole space (support vector machines); $[\,\cdot\,]_K$ projects onto it |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$ with one $\alpha_t \in [0,1]$ a term; $\alpha(x)$ has $\alpha_t = -\ell'(\langle a_t, x\rangle)$ |
# | $x(\alpha)$ | $[H(\alpha)]_K/\lambda$; the dual is $D(\alpha;\lambda) = \sum_t (\alpha_t - \tfrac\gamma2\alpha_t^2) - \tfrac1{2\lambda}\lVert[H(\alpha)]_K\rVert^2$ |
#
# Triplets made from labels are not an arbitrary list. For each anchor they are *all* combinations of a
# point of its class with a point of another class. This notebook sums losses and gradients over such
# products by sorting two short lists, and screens whole rows and columns of them at once.
#
# At the end you will have seen that
#
# * a sum over $p \times q$ triplets of an anchor costs one sort and a few prefix sums, and is the same sum;
# * all 519 439 560 triplets of the 1797 handwritten digits fit into less than a second and some tens of megabytes,
#   and nothing is stored for a pair either, so that $10^{13}$ triplets are a matter of minutes;
# * a ball screens pairs of points, because a norm can be bounded by a sum; what that bound loses, and what
#   goes wrong with a tempting bound that loses nothing;
# * prefix sums cancel, and integers cure it.

# %%
import time
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from sklearn.datasets import load_digits, load_iris, load_wine

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The claim
#
# > **Product triplets.** Let anchor $i$ have the same-class points $J_i$ and the other-class points $L_i$,
# > $p_i$ and $q_i$ of them. With one threshold $\tau$ for all triplets, the loss, the sums of $\alpha$ and
# > $\alpha^2$, and the gradient in $M$, over all $\sum_i p_i q_i$ triplets, cost
# > $O\big(\sum_i (p_i + q_i)(d + \log n) + n d^2\big)$, in memory $O(nd)$ and a block of rows. For a ball
# > of center $Q$ and radius $r$, intervals of squared distances, one a pair, decide whole rows and columns
# > of the products in $O\big(\sum_i (p_i + q_i)\, d\big)$; every decision is one that the sphere rule
# > makes too.
#
# | assumption | used in |
# |---|---|
# | all combinations $J_i \times L_i$ are triplets | the sums, by counting runs |
# | the loss is piecewise quadratic | three prefix sums are enough |
# | one threshold $\tau$ (or a part for $j$ plus a part for $l$) | the slack is a difference of two numbers |
#
# How many are there? The explicit list needs at least 12 bytes a triplet for its indices; products
# need four bytes a pair when lists are short, and none when they are whole classes.

# %%
iris, wine, digits = (f(return_X_y=True) for f in (load_iris, load_wine, load_digits))
wine = ((wine[0] - wine[0].mean(0)) / wine[0].std(0), wine[1])
digits = (digits[0] / 16.0, digits[1])
DATA = {"iris": iris, "wine": wine, "digits": digits}


def sizes(y):
    """Lengths of the two lists of each anchor, when all points are used."""
    counts = np.unique(y, return_counts=True)[1]
    p = counts[np.searchsorted(np.unique(y), y)] - 1
    return p, y.size - 1 - p


for name, (_, y) in DATA.items():
    p, q = sizes(y)
    print(f"{name:7} n = {y.size:5}  pairs {np.sum(p + q):10,}  triplets {np.sum(p * q):12,}", end="")
    print(f"  as a list: {12 * np.sum(p * q) / 1e6:7.1f} MB")

# %% [markdown]
# ## The idea in a picture
#
# One anchor with 14 points of its own class and 18 others; $a_j$ and $b_l$ are their squared distances, both lists sorted.
# The slack of triplet $(j, l)$ is $a_j - T_l$ with $T_l = b_l - \tau$: no loss up to 0, quadratic up to $\gamma$, linear
# from there on.

# %%
rng = np.random.default_rng(7)
a, b = np.sort(rng.gamma(4.0, 0.5, 14)), np.sort(rng.gamma(6.0, 0.6, 18))
tau, gamma = 1.0, 0.8
T = b - tau
first, last = np.searchsorted(a, T, "right"), np.searchsorted(a, T + gamma, "left")
figure, axes = figures.panels(2, width=9.4, height=3.6, gridspec_kw={"width_ratios": (1.15, 1.0)})
one = 2
parts = {"no loss": slice(0, first[one]), "quadratic": slice(first[one], last[one]), "linear": slice(last[one], None)}
tones = (figures.COLOURS["R"], figures.COLOURS["C"], figures.COLOURS["L"])
axes[0].axvspan(T[one], T[one] + gamma, color="#DDDDDD", linewidth=0)
axes[0].plot(b, np.full(b.size, 1.0), "o", color="#BBBBBB", markersize=5)
axes[0].plot(b[one], 1.0, "o", color="black", markersize=6)
for (name, run), tone in zip(parts.items(), tones, strict=True):
    axes[0].plot(a[run], np.zeros(a[run].size), "o", color=tone, markersize=6, label=name)
axes[0].annotate("", (T[one], 1.0), (b[one], 1.0), arrowprops={"arrowstyle": "->"})
axes[0].text((T[one] + b[one]) / 2, 1.08, r"$-\tau$", ha="center")
for at, text in ((T[one], "$T_l$"), (T[one] + gamma, r"$T_l + \gamma$")):
    axes[0].axvline(at, color="#777777", linewidth=0.9)
    axes[0].text(at, 0.5, text, fontsize=9.5)
axes[0].set(yticks=[0, 1], yticklabels=["$a_j$, own class", "$b_l$, others"], ylim=(-0.4, 1.5))
axes[0].set(xlabel="squared distance from the anchor", title="one $b_l$ cuts the sorted $a_j$ into three runs")
axes[0].legend(loc="lower right", ncols=3, handletextpad=0.1)
alpha = np.clip((a[:, None] - T) / gamma, 0.0, 1.0)
axes[1].pcolormesh(np.arange(b.size + 1), np.arange(a.size + 1), alpha, cmap="Blues", vmin=0.0, vmax=1.4)
for line, text, dash in ((last, "last: linear from here on", "-"), (first, "first: no loss below", "--")):
    axes[1].stairs(line, np.arange(b.size + 1), baseline=None, color="black", linewidth=1.4, linestyle=dash, label=text)
axes[1].legend(loc="lower right")
axes[1].set(xlabel="others $l$, sorted", ylabel="own class $j$, sorted", xticks=range(0, 19, 3))
axes[1].set_title(r"$\alpha_{jl}$, and the two pointers")
plt.show()
parts = np.sum(alpha == 1), np.sum((alpha > 0) & (alpha < 1)), np.sum(alpha == 0)
print("{} triplets: {} linear, {} in the band, {} without loss".format(alpha.size, *parts))
assert np.array_equal(first, np.sum(alpha == 0, axis=0)) and np.array_equal(a.size - last, np.sum(alpha == 1, axis=0))

# %% [markdown]
# ## Derivation
#
# ### Two lists
#
# With $a_j = (x_i - x_j)'M(x_i - x_j)$ for $j \in J_i$ and $b_l$ likewise for $l \in L_i$, the margin of a
# triplet is $b_l - a_j$, so its slack is
#
# $$\tau - (b_l - a_j) = a_j - T_l, \qquad T_l = b_l - \tau .$$
#
# Fix $l$ and sort the $a_j$. Those up to $T_l$ cost nothing; those from $T_l + \gamma$ on cost
# $a_j - T_l - \gamma/2$ with $\alpha = 1$; the ones in between cost $(a_j - T_l)^2/2\gamma$ with
# $\alpha = (a_j - T_l)/\gamma$. Each is a contiguous run of the sorted list, and the sums over a run need
# only its number of entries, their sum $s_1$ and the sum of their squares $s_2$:
#
# $$\sum (a_j - T) = s_1 - n T, \qquad \sum (a_j - T)^2 = s_2 - 2 T s_1 + n T^2 .$$
#
# For the weight of $a_j$, its sum of $\alpha$ over $l$, turn the table: $j$ is in the band of those $l$
# with $\mathrm{first}_l \le j < \mathrm{last}_l$. Add $1$ and $T_l$ at first, take them away at last; a
# running sum gives their number and the sum of their $T_l$. For runs of three:

# %%
T, gam, *run = sp.symbols("T gamma a1 a2 a3", real=True)
s1, s2 = sum(run), sum(v**2 for v in run)
assert sp.expand(sum((v - T) ** 2 for v in run) - (s2 - 2 * T * s1 + 3 * T**2)) == 0
assert sp.expand(sum((v - T) / gam for v in run) - (s1 - 3 * T) / gam) == 0
thresholds = sp.symbols("T1:4", real=True)
assert sp.expand(sum((run[0] - t) / gam for t in thresholds) - (3 * run[0] - sum(thresholds)) / gam) == 0
print("sums over a run, and over the runs an entry is in: two numbers and a count")

# %% [markdown]
# ### Back to a matrix
#
# The gradient of the loss is $-\sum \alpha_{jl} H_{ijl}$, and $H_{ijl}$ is a difference of two pairs. So
# only the weights $w_{il} = \sum_j \alpha_{jl}$ and $w_{ij} = \sum_l \alpha_{jl}$ matter, and
#
# $$H(\alpha) = \sum_i \Big( \sum_{l} w_{il} (x_i - x_l)(x_i - x_l)' - \sum_{j} w_{ij} (x_i - x_j)(x_i -
# x_j)' \Big)
# = X'(\Delta - W - W')X ,$$
#
# where $W$ holds $w_{il}$ and $-w_{ij}$, and $\Delta$ is diagonal with the row and column sums of $W$ added.
#
# ## Ten lines of numpy
#
# Sort, prefix sums, bisection. The list to sort is the shorter one in the library; here it is always $a$.

# %%
def product_sums(a, b, tau, gamma):
    """Loss, sum of alpha^2, and the two lists of weights over all pairs of a and b."""
    order, T, n = np.argsort(a), b - tau, a.size
    s = a[order]
    one, two = (np.concatenate(([0], np.cumsum(v))) for v in (s, s * s))
    first, last = np.searchsorted(s, T, "right"), np.searchsorted(s, T + gamma, "left")
    n_linear, n_band = n - last, last - first
    band = one[last] - one[first] - n_band * T
    square = two[last] - two[first] - 2 * T * (one[last] - one[first]) + n_band * T**2
    loss = np.sum(one[n] - one[last] - n_linear * (T + gamma / 2) + square / (2 * gamma))

    def running(at, value):
        return np.cumsum(np.bincount(at, value, minlength=n + 1))[:n]

    inside = running(first, np.ones(T.size)) - running(last, np.ones(T.size))
    weights = np.empty(n)
    weights[order] = (
        running(last, np.ones(T.size)) + (inside * s - running(first, T) + running(last, T)) / gamma
    )
    return loss, np.sum(n_linear + square / gamma**2), weights, n_linear + band / gamma


def every_pair(a, b, tau, gamma):
    """The same from the definition."""
    slack = tau + a[:, None] - b
    alpha = np.clip(slack / gamma, 0.0, 1.0)
    return np.sum(alpha * (slack - gamma / 2 * alpha)), np.sum(alpha**2), alpha.sum(axis=1), alpha.sum(axis=0)


def all_sums(X, y, M, tau=1.0, gamma=0.05):
    """Loss, sum of alpha^2 and H over all triplets of labelled points."""
    n, loss, alpha_square = y.size, 0.0, 0.0
    W, Z = np.zeros((n, n)), X @ M
    for i in range(n):
        distance = np.sum((X[i] - X) * (Z[i] - Z), axis=1)
        other, same = y != y[i], (y == y[i]) & (np.arange(n) != i)
        part, square, w_same, w_other = product_sums(distance[same], distance[other], tau, gamma)
        W[i, other], W[i, same] = w_other, -w_same
        loss, alpha_square = loss + part, alpha_square + square
    return loss, alpha_square, X.T @ ((W.sum(0) + W.sum(1))[:, None] * X - (W + W.T) @ X)


rng = np.random.default_rng(0)
for trial in range(300):
    a, b = (np.abs(rng.standard_normal(rng.integers(1, 30))) for _ in range(2))
    if trial % 3 == 0:
        a, b = np.round(a), np.round(b) + 1.0  # ties, thresholds hit exactly
    width = (0.05, 0.5, 5.0)[trial % 3]
    for fast, slow in zip(product_sums(a, b, 1.0, width), every_pair(a, b, 1.0, width), strict=True):
        assert np.allclose(fast, slow, rtol=1e-11, atol=1e-11)
print("loss, alpha^2 and all weights agree on 300 pairs of lists")

# %% [markdown]
# ## Screening whole rows and columns
#
# The sphere rule puts a triplet into R when $b_l - a_j - r\,\lVert H_{ijl}\rVert > \tau$. The first two terms
# separate into a part of $l$ and a part of $j$; the norm does not. But $H = bb' - aa'$ with
# $b = x_i - x_l$, $a = x_i - x_j$, and the triangle inequality gives a bound that does:
#
# $$\lVert H_{ijl}\rVert \le \lVert bb'\rVert + \lVert aa'\rVert = |x_i - x_l|^2 + |x_i - x_j|^2 .$$
#
# So the rule follows from *intervals*, one a pair, of its squared distance over the ball,
#
# $$\big[\,d_{ij} - r |x_i - x_j|^2,\; d_{ij} + r |x_i - x_j|^2\,\big] = [\,\mathrm{low}_{ij},\,
# \mathrm{high}_{ij}\,] ,$$
#
# which has a meaning of its own: no metric of the ball gives the pair another distance, since
# $\lVert aa'\rVert = |a|^2$. A triplet is in R if $\mathrm{low}_{il} - \mathrm{high}_{ij} > \tau$, in L if
# $\mathrm{high}_{il} - \mathrm{low}_{ij} < \tau - \gamma$. A pair $(i, j)$ is done with *all* its
# triplets as soon as
# it is decided against the extreme end of the other list, and it can leave; then the extremes move, and
# others may follow. What is left is a product of two shorter lists. Two or three rounds do nearly all there is to do; the
# library stops after four (further rounds could only decide more).
#
# The next cell computes by how much the square of the bound exceeds that of the norm, and then writes the screening in
# plain numpy: one anchor on its two lists of intervals, and all anchors.

# %%
aa, bb, ab = sp.symbols("aa bb ab", positive=True)
excess = sp.expand((aa + bb) ** 2 - (aa**2 + bb**2 - 2 * ab**2))
assert sp.expand(excess - 2 * (aa * bb + ab**2)) == 0
print("(|a|^2 + |b|^2)^2 - |H|^2 =", sp.factor(excess), "  (ab is the inner product)")


def screen_lists(same, other, r_same, r_other, low, high):
    """Numbers of triplets in L and in R, and which pairs are left, from squared distances and half widths."""
    left, right = np.ones(same.size, dtype=bool), np.ones(other.size, dtype=bool)
    n_L = n_R = 0
    for _ in range(4):
        for own, mine, half, facing, theirs, width in (
            (left, -same, r_same, right, other, r_other),
            (right, other, r_other, left, -same, r_same),
        ):
            nearest, farthest = np.min((theirs - width)[facing]), np.max((theirs + width)[facing])
            zero, linear = own & (mine - half + nearest > high), own & (mine + half + farthest < low)
            n_R, n_L = n_R + zero.sum() * facing.sum(), n_L + linear.sum() * facing.sum()
            own &= ~(zero | linear)
            if not own.any():
                return n_L, n_R, left, right
    return n_L, n_R, left, right


def screen_plainly(X, index, ball, low, high, diagonal=False):
    """Numbers of triplets in L, in R and left, by :func:`screen_lists`, anchor by anchor."""
    lists, counts = {}, np.zeros(3, dtype=int)
    for i, j, m in index.tolist():
        lists.setdefault(i, (set(), set()))
        lists[i][0].add(j), lists[i][1].add(m)
    for i, members in lists.items():
        diffs = [X[i] - X[sorted(side)] for side in members]
        if diagonal:
            distance = [(d * d) @ ball.center for d in diffs]
            half = [ball.radius * np.linalg.norm(d * d, axis=1) for d in diffs]
        else:
            distance = [np.einsum("ij,jk,ik->i", d, ball.center, d) for d in diffs]
            half = [ball.radius * np.sum(d * d, axis=1) for d in diffs]
        n_L, n_R, left, right = screen_lists(*distance, *half, low, high)
        counts += n_L, n_R, left.sum() * right.sum()
    return counts.tolist()

# %% [markdown]
# ## The library: does it match, is it safe?
#
# `ProductTriplets(X, y, k)` stands for the triplets of `Triplets.from_labels(X, y, k)`, in the same order, and offers the
# same sums to problems, spheres and solvers.
#
# *Sums.* The list, the ten lines and the library on clean and on awkward data: ties, duplicated points, points far from
# the origin, scales $10^{\pm 6}$, the hinge and wide losses, neighbours only, and diagonal metrics.
#
# *Screening.* Random problems, both kinds of metric, all triplets or neighbours only, gap balls around references of all
# qualities. As many triplets are put into L and R as plain numpy puts there. Each that disappears is checked three times: the sphere rule decides it too
# (it knows the exact norm); at the solution no triplet of R has a dual variable above 0 and none of L one below 1; and
# the problem that is left has the same objective, at the solution and elsewhere in the ball.

# %% tags=["NEW-ALL"]
def labelled(kind, rng, n=24, d=3):
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3
    X[:, 0] += y
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[n // 2 :] = X[: n // 2][rng.permutation(n // 2)]
    elif kind == "far away":
        X += 1e5
    elif kind == "unbalanced":
        y = (np.arange(n) > n - 4).astype(int)
    return X * {"large": 1e6, "small": 1e-6}.get(kind, 1.0), y


rng, compared, worst = np.random.default_rng(1), 0, {"loss": 0.0, "alpha_sum": 0.0, "alpha_square": 0.0}
for kind in ("clean", "ties", "duplicates", "far away", "unbalanced", "large", "small"):
    for width in (0.0, 0.05, 1.0, 40.0):
        for k, diagonal in ((None, False), (4, False), (None, True)):
            X, y = labelled(kind, rng)
            terms = [make(X, y, k, diagonal=diagonal) for make in (ss.ProductTriplets, ss.Triplets.from_labels)]
            L = rng.standard_normal((3, 3)) / np.linalg.norm(X - X.mean(0), axis=0).mean() * 3.0
            M = np.diag(L @ L.T).copy() if diagonal else L @ L.T
            product, listed = (t.loss_sums(M, ss.SmoothedHinge(width)) for t in terms)
            assert np.array_equal(terms[0].index, terms[1].index)
            for name in worst:
                one, other = getattr(product, name), getattr(listed, name)
                worst[name] = max(worst[name], abs(one - other) / max(other, 1.0))
            apart = np.linalg.norm(product.adjoint - listed.adjoint)
            room = 0.0 if width == 0.0 else 1e-9 * np.linalg.norm(listed.adjoint)
            assert apart <= product.adjoint_error + listed.adjoint_error + room
            if k is None and not diagonal and width > 0.0 and kind != "far away":
                total, alpha_square, H = all_sums(X, y, M, gamma=width)
                assert np.isclose(total, listed.loss) and np.isclose(alpha_square, listed.alpha_square)
                assert np.linalg.norm(H - listed.adjoint) <= 1e-7 * np.linalg.norm(listed.adjoint)
            compared += 1
print(f"sums over products and over lists, {compared} cases: relative differences below 1e-10:", max(worst.values()) < 1e-10)
assert max(worst.values()) < 1e-10

rng, loss, seen = np.random.default_rng(3), ss.SmoothedHinge(0.05), {"L": 0, "R": 0, "all": 0}
largest, smallest = 0.0, 1.0  # dual variables of R and of L at the solutions
for trial in range(36):
    X, y = labelled(("clean", "ties", "duplicates")[trial % 3], rng)
    X[:, 0] += y
    diagonal, k = trial % 2 == 1, (None, None, 4, 4)[trial % 4]
    listed = ss.Problem(ss.Triplets.from_labels(X, y, k, diagonal=diagonal), loss)
    product = ss.Problem(ss.ProductTriplets(X, y, k, diagonal=diagonal), loss)
    lam = listed.lam_max() * (0.3, 0.05, 0.01)[trial // 3 % 3]
    best = ss.solve(listed, lam, tol=0.0, rtol=1e-13, screening=())
    optimum, room = listed.terms.margins(best.x), best.eps * listed.terms.norms
    for mix in (1.0, 1e-2, 1e-3, 1e-4, 0.0):
        start = product.cone.project(np.ones(3) if diagonal else np.eye(3))
        x = (1 - mix) * best.x + mix * 0.5 * float(np.linalg.norm(best.x)) * start
        ball = ss.spheres.duality_gap_bound(product, x, lam)
        found, rule = product.terms.screen_blocks(ball, loss), ss.rules.sphere(listed, ball)
        assert screen_plainly(X, listed.terms.index, ball, 0.95, 1.0, diagonal) == [found.n_L, found.n_R, len(found.remaining)]
        kept = {tuple(t) for t in found.remaining.index.tolist()} if len(found.remaining) else set()
        gone = np.array([tuple(t) not in kept for t in listed.terms.index.tolist()])
        in_L, in_R = gone & rule.in_L, gone & rule.in_R
        assert np.array_equal(gone, in_L | in_R) and (found.n_L, found.n_R) == (in_L.sum(), in_R.sum())
        largest = max(largest, np.max((1.0 - optimum - room)[in_R], initial=-1.0) / 0.05)
        smallest = min(smallest, np.min((1.0 - optimum + room)[in_L], initial=1.0) / 0.05)
        linear = listed.terms.adjoint(in_L.astype(float))
        assert np.linalg.norm(found.total - linear) <= found.error + 1e-12 * np.linalg.norm(linear)
        left = product.with_linear_part(found.remaining, found.total, found.error, found.n_L * 0.975)
        step = rng.standard_normal(x.shape)
        inside = product.cone.project(x + 0.9 * ball.radius * (step if diagonal else step + step.T) / np.linalg.norm(step) / 2.0)
        for point in (best.x, inside):
            assert np.isclose(left.primal(point, lam), product.primal(point, lam), rtol=1e-10)
        for name, number in (("L", found.n_L), ("R", found.n_R), ("all", gone.size)):
            seen[name] += number
print(f"triplets that left: {seen['L']:,} to L and {seen['R']:,} to R of {seen['all']:,}, as many as in plain numpy")
print(f"dual variables at the solutions: largest in R {max(largest, 0.0):.1f} (bound 0), smallest in L {min(smallest, 1.0):.1f} (bound 1)")
assert largest <= 0.0 and smallest >= 1.0 and seen["L"] + seen["R"] > 0.2 * seen["all"] and min(seen["L"], seen["R"]) > 1000

# %% [markdown]
# ## What it decides
#
# Less than the rule triplet by triplet, for two reasons that can be told apart: the coarser norm, and that a
# pair leaves only as a whole. For balls of growing radius around the solution, all against the same 17 800
# triplets of wine; the middle line is the coarse norm with the rule applied triplet by triplet.

# %%
X, y = wine
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=10), loss)
blocks = ss.Problem(ss.ProductTriplets(X, y, k=10), loss)
lam = 0.02 * problem.lam_max()
center = np.round(ss.solve(problem, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB")).x, 4)  # any center will do; this one is the same on every machine
radii = np.geomspace(1e-3, 0.3, 13)
curves = {"exact norm, each triplet": [], "coarse norm, each triplet": [], "coarse norm, whole pairs": []}
i, j, m = problem.terms.index.T
coarse = np.sum((X[i] - X[j]) ** 2, axis=1) + np.sum((X[i] - X[m]) ** 2, axis=1)
assert np.all(coarse >= problem.terms.norms * (1 - 1e-12))
margins = problem.terms.margins(center)
for radius in radii * np.linalg.norm(center):
    found = ss.rules.sphere(problem, ss.Sphere(center, radius))
    whole_pairs = blocks.terms.screen_blocks(ss.Sphere(center, radius), loss)
    each = np.sum(margins - radius * coarse > 1.0) + np.sum(margins + radius * coarse < 0.95)
    counts = found.n_L + found.n_R, int(each), whole_pairs.n_L + whole_pairs.n_R
    assert counts[0] >= counts[1] >= counts[2]
    for line, count in zip(curves.values(), counts, strict=True):
        line.append(count / len(problem))
figure, axes = figures.panels(1, width=5.8, height=3.2)
labels = {"title": "wine, k = 10", "xlabel": "radius / norm of the solution", "ylabel": "share of triplets decided"}
figures.lines(curves, radii, ax=axes, log="x", share=True, marks=True, **labels)
plt.show()
for k in (0, 6, 12):
    shares = ", ".join(f"{line[k]:.2f}" for line in curves.values())
    print(f"radius {radii[k]:.4f}: {shares}")

# %% [markdown]
# What can be saved at all? A pair can leave if *all* its triplets are certain. At the optimum, and so for the smallest of balls,
# these are the pairs whose every triplet is on one side, and no ball decides more. With all triplets of the digits, pair by pair
# (a sample of anchors, the metric of a solution for a small $\lambda$):

# %%
X, y = digits
small = ss.Problem(ss.ProductTriplets(X[::4], y[::4]), loss)
M = ss.solve(small, 1e-4 * small.lam_max(), tol=0.0, rtol=1e-2, screening=()).x
anchors = np.arange(0, y.size, 60)
out = np.zeros((2, 2))
for i in anchors:
    distance = np.einsum("ij,jk,ik->i", X - X[i], M, X - X[i])
    own = (y == y[i]) & (np.arange(y.size) != i)
    same, other = distance[own], distance[y != y[i]]
    for side, certain in enumerate((other.min() - same > 1.0, other - same.max() > 1.0)):
        out[side] += certain.sum(), certain.size
certain = out[:, 0] / out[:, 1]
print(f"pairs wholly in R: {certain[0]:.1f} of those of the same class, {certain[1]:.1f} of those with others")
print(f"most that leaving them out could gain, were every pair as dear as every other: {1.0 / (1.0 - out[:, 0].sum() / out[:, 1].sum()):.0f}-fold")
assert 0.4 < certain[1] < 0.75 and certain[0] < 0.3

# %% [markdown]
# But pairs are not equally dear. Whoever is certain against the whole other list is noticed in the sums by one comparison with its
# extreme entry, before anything is looked up, so that what such a pair still costs is its distance and its place in two products of
# matrices. With all triplets of *segment* (19 dimensions) and of the digits (64), the pairs that screening would take out are 45 to 55 %
# of all and 20 to 30 % of the time of an evaluation: without them it would be 1.25 and 1.4 times faster at the very best, and a
# screening costs one evaluation and a half. So screening pairs does not pay where all triplets are used, and
# `screening="auto"` counts the operations and leaves it.
#
# For the small radii of a late iteration the coarse norm loses nothing. A pair stays for the sake of one
# undecided triplet, which costs a few percent at first and more later on; at large radii the coarse norm
# takes over. The work is that of the pairs, though, not of the triplets.
#
# ## What it saves
#
# Count operations for one evaluation with all triplets: one a triplet for the list, a sort and two
# bisections, $(p + q)\log_2 (\min(p, q) + 1)$, for the product. (Distances come on top in both cases, $d$
# a pair.)

# %%
n_points = np.unique(np.round(np.geomspace(30, 100_000, 15)).astype(int))
listed, sorted_ = [], []
for n in n_points:
    p, q = sizes(np.arange(n) % 3)
    listed.append(np.sum(p * q))
    sorted_.append(np.sum((p + q) * np.log2(np.minimum(p, q) + 1.0)))
figure, axes = figures.panels(1, width=5.6, height=3.2)
counted = {r"list: $\sum p\,q$": listed, r"product: $\sum (p + q)\,\log_2 \min(p, q)$": sorted_}
labels = {"title": "one evaluation of all triplets", "xlabel": "points, in three classes", "ylabel": "operations"}
figures.lines(counted, n_points, ax=axes, log="xy", marks=True, **labels)
axes.axhline(4e9 / 12, color="#999999", linewidth=0.9)
axes.text(n_points[0], 6e8, "a list of 4 GB", fontsize=8, color="#777777")
plt.show()
for name, (_, y) in DATA.items():
    p, q = sizes(y)
    ratio = np.sum(p * q) / np.sum((p + q) * np.log2(np.minimum(p, q) + 1.0))
    print(f"{name:7} triplets a sorting operation: {ratio:.1f}")

# %% [markdown]
# Times of one evaluation, value and gradient, on this machine (the first call compiles and is not counted): And of all of
# the digits, whose list would take 6 GB for its indices alone.

# %% tags=["nbval-ignore-output"]
def seconds(run, repeat=3):
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


for name in ("iris", "wine"):
    X, y = DATA[name]
    M = np.eye(X.shape[1]) / X.shape[1]
    product, explicit = ss.ProductTriplets(X, y), ss.Triplets.from_labels(X, y)
    fast, slow = (seconds(lambda t=t, M=M: t.loss_sums(M, loss)) for t in (product, explicit))
    print(f"{name}: {len(product):,} triplets, list {1e3 * slow:.1f} ms, product {1e3 * fast:.1f} ms")

X, y = digits
every = ss.ProductTriplets(X, y)
M = np.diag(np.linspace(0.0, 0.1, 64))
whole = every.loss_sums(M, loss)
print(f"{len(every):,} triplets: {seconds(lambda: every.loss_sums(M, loss), repeat=2):.2f} s an evaluation")

# %% [markdown]
# Nobody can look at half a billion slacks, but at some: of three anchors every triplet from the definition
# and by the ten lines, and all anchors by the ten lines.

# %%
Z = X @ M
total = 0.0
for i in range(y.size):
    distance = np.sum((X[i] - X) * (Z[i] - Z), axis=1)
    same, other = distance[(y == y[i]) & (np.arange(y.size) != i)], distance[y != y[i]]
    part = product_sums(same, other, 1.0, 0.05)[0]
    total += part
    if i in (0, 500, 1700):
        assert np.isclose(part, every_pair(same, other, 1.0, 0.05)[0], rtol=1e-9)
print(
    f"{len(every):,} triplets, loss {whole.loss:.6e}; the ten lines agree:",
    np.isclose(total, whole.loss, rtol=1e-9),
)
assert len(every) == 519_439_560 and np.isclose(total, whole.loss, rtol=1e-9)

# %% [markdown]
# ## Prefix sums cancel; integers do not
#
# A run is the difference of two prefix sums. When a list goes up to $3\cdot 10^4$ and the run sits in a band
# of $10^{-3}$ up there, the sums of squares are some $10^{10}$, with 16 digits, and their differences are
# wanted to $10^{-9}$: nothing is left. It gets worse: the weights of the two lists come from different
# prefix sums, and once rounded they do not belong to *any* common $\alpha$, which a dual point must have.
#
# The library therefore rounds the numbers of an anchor, once, to integer multiples of a power of two, a
# grid of $2^{-49}$ of their range, and sums integers. Counts and sums are then exact, in any order, and the
# rounding to the grid is just one more known error of a margin. (A sum of squares can exceed 64 bits:
# integers
# that wrap around give it modulo $2^{64}$, and a floating-point sum tells which multiple.)
#
# With Python's own integers, which never overflow, it is a change of two lines of the ten: round $a$, $T$
# and $\gamma$ to the grid, and divide at the end.

# %%
def product_sums_on_grid(a, b, tau, gamma, bits=49):
    """Sum of alpha^2 and the sums of the two lists of weights, from integers; exact fractions."""
    T, bottom = np.clip(b - tau, a.min() - gamma, a.max()), a.min()
    unit = 2.0 ** (np.ceil(np.log2(np.ptp(a) + gamma)) - bits)
    on_grid = [[int(v) for v in np.rint((values - bottom) / unit)] for values in (np.sort(a), T)]
    s, T = (np.array(values, dtype=object) for values in on_grid)
    g, n = int(np.rint(gamma / unit)), a.size
    one, two = (np.array([0, *np.cumsum(v)], dtype=object) for v in (s, s * s))
    first, last = (np.array([np.sum(s <= t) for t in T - shift]) for shift in (0, 1 - g))
    n_linear, n_band = (n - last).astype(object), (last - first).astype(object)
    band = one[last] - one[first] - n_band * T
    square = two[last] - two[first] - 2 * T * (one[last] - one[first]) + n_band * T * T
    rows = [[t for t, f, e in zip(T, first, last, strict=True) if f <= r < e] for r in range(n)]
    other_way = sum(len(row) * s[r] - sum(row) for r, row in enumerate(rows))
    sums = np.sum(n_linear) + Fraction(np.sum(band), g), np.sum(n_linear) + Fraction(other_way, g)
    return np.sum(n_linear) + Fraction(np.sum(square), g * g), *sums


spread, width = np.linspace(0.0, 1e-3, 12), 2e-3
a = np.r_[np.linspace(0.0, 1.0, 12), 3e4 + spread]
b = 3e4 + 1.0 + spread**2 * 1e3

slack = [[1 + Fraction(v) - Fraction(w) for w in b.tolist()] for v in a.tolist()]
alphas = [min(max(v / Fraction(width), Fraction(0)), Fraction(1)) for row in slack for v in row]
true, (plain, plain_a, plain_b) = float(sum(v * v for v in alphas)), product_sums(a, b, 1.0, width)[1:]
grid, grid_a, grid_b = product_sums_on_grid(a, b, 1.0, width)

print(f"sum of alpha^2, exactly {true:.4f}, from integers {float(grid):.4f}")
print("from the ten lines off by more than a tenth of it:", abs(plain - true) > 0.1 * true)
print(
    "two lists of weights, equal sums: integers",
    grid_a == grid_b,
    "  ten lines",
    plain_a.sum() == plain_b.sum(),
)
assert abs(grid - true) < 1e-5 * true and abs(plain - true) > 0.1 * true
assert grid_a == grid_b and abs(plain_a.sum() - plain_b.sum()) > 1e-9

# %% [markdown]
# The library on such data, points on a line whose squared distances from the first are these lists:

# %%
X = np.r_[0.0, np.sqrt(a[1:]), np.sqrt(b)][:, None]
y = np.r_[np.zeros(a.size, dtype=int), np.ones(b.size, dtype=int)]
narrow = ss.SmoothedHinge(width)
product, explicit = (
    t.loss_sums(np.eye(1), narrow) for t in (ss.ProductTriplets(X, y), ss.Triplets.from_labels(X, y))
)
by_lines = all_sums(X, y, np.eye(1), gamma=width)[1]
print(
    f"sum of alpha^2 over all triplets: list {explicit.alpha_square:.3f}, library {product.alpha_square:.3f}"
)
print(
    "ten lines off by more than 0.01 %:", abs(by_lines - explicit.alpha_square) > 1e-4 * explicit.alpha_square
)
assert abs(product.alpha_square - explicit.alpha_square) < 1e-7 * explicit.alpha_square

# %% [markdown]
# ## A whole path
#
# The path of iris and wine with all triplets, once as a list and once as products with block screening: the
# solutions are the same within their certified accuracies.

# %%
for name in ("iris", "wine"):
    X, y = DATA[name]
    k = 20
    listed = ss.Problem(ss.Triplets.from_labels(X, y, k), loss)
    product = ss.Problem(ss.ProductTriplets(X, y, k), loss)
    lams = 0.3 * listed.lam_max() * 0.8 ** np.arange(12)
    one, other = (ss.path(prob, lams, tol=0.0, rtol=1e-6, screening=("MGB",)) for prob in (listed, product))
    apart = max(np.linalg.norm(p.x - q.x) / (p.eps + q.eps) for p, q in zip(one, other, strict=True))
    shares = [np.mean([(p.n_L + p.n_R) / len(listed) for p in way]) for way in (one, other)]
    print(f"{name}: {len(listed):,} triplets, {len(lams)} values of lam, solutions within their accuracies: {apart <= 1.0};", end=" ")
    print(f"mean share screened {shares[1]:.2f} as products, {shares[0]:.2f} as a list")
    assert apart <= 1.0 and 0.5 < shares[1] <= shares[0] + 0.02

# %% [markdown]
# ## Break it
#
# ### A bound that separates and loses nothing
#
# $\lVert H\rVert$ is the norm of a *difference*, and for two nearly equal vectors the sum
# $|b|^2 + |a|^2$ is far
# too large. Would $\big||b|^2 - |a|^2\big|$ do? It separates as well, and it is exact for parallel
# vectors. But
# the triangle inequality only says that it is a *lower* bound: turn $b$ away from $a$ without changing its
# length, and it stays 0. With it, the rule certifies triplets that fail inside the very ball, at the metric
# $Q - r H/\lVert H\rVert$:

# %%
X, y = wine
i, j, m = problem.terms.index.T
margins, ball = problem.terms.margins(center), ss.Sphere(center, 0.02 * float(np.linalg.norm(center)))
b, a = X[i] - X[m], X[i] - X[j]
difference = np.abs(np.sum(b * b, axis=1) - np.sum(a * a, axis=1))
claimed = np.flatnonzero(margins - ball.radius * difference > 1.0)
false = []
for t in claimed:
    H = np.outer(b[t], b[t]) - np.outer(a[t], a[t])
    worst = ball.center - ball.radius * H / np.linalg.norm(H)
    false.append(b[t] @ worst @ b[t] - a[t] @ worst @ a[t] < 1.0 - 1e-6)
print(
    "certified as R by the difference:",
    len(claimed),
    " of them false at a metric of the ball:",
    int(np.sum(false)),
)
assert np.sum(false) > 100
assert np.all(difference <= problem.terms.norms) and np.all(problem.terms.norms <= coarse * (1 + 1e-12))

# %% [markdown]
# ### A hole in the product
#
# If single triplets were taken out of a product, counts by runs would count them still. That is why
# decisions triplet by triplet cannot shrink a product, and why what a block screening leaves must be, and
# is, a product again. Take one triplet out of five times four: no choice of sublists has the sum that is
# left.

# %%
a, b = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0]), np.sqrt([1.3, 6.0, 10.0, 13.0])
slack = np.maximum(1.0 + a[:, None] - b - 0.025, 0.0)
hole = slack.sum() - slack[2, 1]
choices = [[np.flatnonzero([v >> k & 1 for k in range(n)]) for v in range(2**n)] for n in (5, 4)]
parts = [slack[np.ix_(rows, columns)].sum() for rows in choices[0] for columns in choices[1]]
print("products with the same sum:", int(np.sum(np.isclose(parts, hole, rtol=1e-9))), "of", len(parts))
assert not np.any(np.isclose(parts, hole, rtol=1e-9))

# %% [markdown]
# ## Exercise
#
# How loose is the separated bound? Say for which $a$, $b$ it is exact, for which it is worst, and what the
# ratio $\lVert H\rVert / (|a|^2 + |b|^2)$ is for vectors of equal length at an angle $\theta$. Then
# argue why,
# in many dimensions, block screening loses less than in two.
#
# <details>
# <summary><b>Solution</b></summary>
#
# From $(|a|^2 + |b|^2)^2 - \lVert H\rVert^2 = 2(|a|^2|b|^2 + (a'b)^2)$ it is exact only if $a$ or $b$ is
# zero, and
# nearly so if one is much shorter. For equal lengths $\lVert H\rVert^2 = 2|a|^4(1 - \cos^2\theta)$, so
# the ratio
# is $|\sin\theta|/\sqrt2$: zero for parallel vectors, where $H = 0$ and its margin is the same for all
# metrics, and at best $0.71$. Differences of points in many dimensions tend to be far from parallel
# (for independent ones from a common anchor $\cos\theta$ is about $1/2$), so the ratio
# is rarely near zero; on a line it always can be.
#
# </details>

# %%
theta = np.linspace(0.0, np.pi / 2, 7)
for angle in theta:
    a, b = np.array([1.0, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    ratio = np.linalg.norm(np.outer(b, b) - np.outer(a, a)) / 2.0
    assert np.isclose(ratio, np.sin(angle) / np.sqrt(2.0), atol=1e-15)
for d in (1, 2, 10, 64):
    points = np.random.default_rng(0).standard_normal((3000, d))
    a, b = points[:1000] - points[1000:2000], points[:1000] - points[2000:]
    aa, bb, ab = np.sum(a * a, 1), np.sum(b * b, 1), np.sum(a * b, 1)
    ratio = np.sqrt(np.maximum(aa**2 + bb**2 - 2 * ab**2, 0.0)) / (aa + bb)
    print(f"d = {d:2}: in nine of ten triplets the ratio is above {np.quantile(ratio, 0.1):.2f}")

# %% [markdown]
# ## Fine print
#
# * **Which list is sorted.** The shorter of the two, so an anchor costs $(p + q)\log \min(p, q)$.
#   Distances of whole classes are $a_i + a_j - 2 x_i'Mx_j$, a product of matrices for a block of anchors, whose rounding has the same
#   bound but for a factor $3/2$, $\gamma_{3d+12} |M| (|x_i| + |x_j|)^2$; those of short lists are computed pair by pair.
# * **Rounding.** Margins are charged the pair bound of `24-floating-point`, the grid of $2^{-49}$ of an
#   anchor's
#   range (coarser for lists beyond 255 points), and the accuracy of the cone. The intervals of a
#   screening are
#   widened by the same bounds; comparisons are strict, and an interval that is not finite decides nothing.
# * **Threads.** Anchors are cut into fixed chunks whose results are added in order: the same bits for any
#   number of threads.
# * **What is refused.** Anything that needs one number a triplet (`norms`, `index`, masks, a given
#   $\alpha$) is made
#   on demand up to 50 million triplets, and refused beyond. Explicit triplets remain the choice when
#   triplets come from elsewhere, or when deciding each one matters more than memory.
# * **The hinge** ($\gamma = 0$) has no band: counts of the linear run are all that is needed.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 2.1 (triplets from labels), equation 4.1 (the sphere rule). Neither the
#   summation nor the screening by pairs is in the papers.
# * Joachims, *Training Linear SVMs in Linear Time*, KDD 2006: sums of the hinge over all pairs of two
#   lists, for ranking, by sorting.
