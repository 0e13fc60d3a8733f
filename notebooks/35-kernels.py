# %% [markdown]
# # Kernels: every quantity, its cost, and its rounding
#
# A support vector machine with a kernel lives in a space in which nobody can write down a vector. All that is known
# of the samples is $Q_{ij} = \langle z_i, z_j\rangle = y_i y_j K(x_i, x_j)$. The ball tests and the intersection test
# need norms of centers, radii and margins of centers; this notebook gets all of them from $Q$, counts what that
# costs, and looks at what floating point does to it.
#
# At the end you will have seen that
#
# * seven identities carry the tests over, and each agrees with an explicit feature map;
# * with $Q\alpha_0$ at hand BT1 costs $O(n)$; BT2 and IT cost $O(n)$ more for every $\hat s_i$ that changes, and
#   along a path **all changes together are about as many however fine the path is**;
# * the printed form of $\|m_1 - m_2\|$ is a difference of large numbers that can come out negative, and a kernel
#   matrix is positive semidefinite up to rounding only; the library works with coefficients and error bounds instead;
# * everything of the linear machine (path, intersection test, screening during the solve) runs on a kernel unchanged.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The claim
#
# The reference is $w_0 = \sum_i a_i z_i$ for $C_0$, with the dual solution $a \in [0, C_0]^n$ in the scale of the
# paper; $m_1 = \frac{C + C_0}{2C_0} w_0$, $m_2 = \frac12(w_0 + C\sum_i s_i z_i)$.
#
# > **Kernel form** (SSS14 section IV-D). With $\rho = \frac{C + C_0}{2 C_0}$,
# >
# > $$\|z_i\| = \sqrt{Q_{ii}},\quad \|w_0\| = \sqrt{a^\top Q a},\quad \langle z_i, m_1\rangle = \rho\,(Qa)_i,\quad
# \langle z_i, m_2\rangle = \tfrac12 (Qa)_i + \tfrac C2 (Qs)_i,$$
# >
# > $$\|m_1\| = \rho\sqrt{a^\top Q a},\quad \|m_2\| = \tfrac12\sqrt{(a + Cs)^\top Q (a + Cs)},\quad
# \langle m_1, m_2\rangle = \tfrac\rho2\,(a^\top Q a + C\, a^\top Q s) .$$
#
# > **Cost** (SSS14 Table I). For all $n$ samples, $d_s$ non-zero features each, $\Delta s$ the change of $\hat s$
# > since the last $C$:
#
# | | linear | kernel | kernel, with $Qa$ and $Qs$ of the last $C$ |
# |---|---|---|---|
# | BT1 | $O(n d_s)$ | $O(n^2)$ | $O(n)$ |
# | BT2, IT | $O(n d_s)$ | $O(n^2)$ | $O(n \lVert\Delta s\rVert_0)$ |
#
# | here | SSS14 | the book and the library |
# |---|---|---|
# | $a$ | $\alpha_{[C_{ref}]}$ | $C_0\,\alpha$, $\alpha \in [0,1]^n$ |
# | $w = \sum_j c_j z_j$ | | `Expansion`: `coef` is $c$, `image` is $Qc$ |
# | $\gamma$ | kernel parameter | also the smoothing of the loss, elsewhere |
#
# ## Derivation
#
# ### Step 1: everything is an expansion
#
# $w_0$, both centers and their difference are combinations of the $z_j$. For $u = \sum_j c_j z_j$ and
# $v = \sum_j e_j z_j$,
#
# $$\langle z_i, u\rangle = (Qc)_i, \qquad \langle u, v\rangle = c^\top Q e . \tag{1}$$
#
# The coefficients are $a$ for $w_0$, $\rho a$ for $m_1$, $\frac12(a + Cs)$ for $m_2$. Put them in: these are the
# seven identities. The total loss needs margins only, $\xi = \sum_i \max(0, 1 - (Qa)_i)$, so the radii follow too.
#
# ### Step 2: two vectors are enough
#
# All of it is made of $g = Qa$ and $h = Qs$: $a^\top Q a = a^\top g$, $a^\top Q s = s^\top g$,
# $s^\top Q s = s^\top h$. The rest is $O(n)$. A solver keeps $g$, its gradient. When $s$ changes, $h$ changes by the
# columns of $Q$ at the changed places. That is the table; only that $O(n\|\Delta s\|_0)$ cannot be meant literally
# when nothing changes, since $n$ bounds are still computed: $O(n\,(1 + \|\Delta s\|_0))$.
#
# ## Ten lines of numpy


# %%
def both_balls(Q, g, h, a, s, C, C0):
    """Margins of the centers, radii and ||m1 - m2||^2 from g = Qa and h = Qs alone, as printed."""
    rho, aQa = (C + C0) / (2 * C0), a @ g
    loss, mixed = np.maximum(1 - g, 0).sum(), s @ g
    m2_square = (aQa + 2 * C * mixed + C**2 * (s @ h)) / 4
    m1_square, m1_m2 = rho**2 * aQa, rho / 2 * (aQa + C * mixed)
    r1, r2 = (C - C0) / (2 * C0) * np.sqrt(aQa), np.sqrt(m2_square + C * (loss - s.sum()))
    return rho * g, r1, (g + C * h) / 2, r2, m1_square + m2_square - 2 * m1_m2


# %% [markdown]
# ## Does it match?
#
# The polynomial kernel $(x^\top x' + 1)^2$ in the plane has six features. The same machine twice: by the features,
# where every vector can be written down, and by $Q$.


# %% tags=["SSS14-DIVD"]
def features(X):
    """The map of (x'z + 1)^2 for points of the plane."""
    x1, x2 = X.T
    return np.stack(
        [np.ones_like(x1), np.sqrt(2) * x1, np.sqrt(2) * x2, x1**2, x2**2, np.sqrt(2) * x1 * x2], axis=1
    )


rng = np.random.default_rng(35)
worst = dict.fromkeys(
    ("Q", "|z|", "|w0|", "<z, m1>", "<z, m2>", "|m1|", "|m2|", "<m1, m2>", "r1", "r2"), 0.0
)
same = 0
for _ in range(40):
    y = np.where(np.arange(30) % 2, 1, -1)
    X = rng.standard_normal((30, 2)) * 0.8
    X[y == 1] *= 1.8
    Z = y[:, None] * features(X)
    kernel = ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2)
    Q = y[:, None] * ((X @ X.T + 1) ** 2) * y
    C0 = ss.svm.c_min(kernel) * 10.0 ** rng.uniform(0.3, 3)
    C, rho = 1.25 * C0, 2.25 / 2
    old = ss.solve(ss.Problem(kernel, ss.Hinge()), 1 / C0, rtol=1e-11)
    a = C0 * old.alpha
    w0 = a @ Z  # explicit
    m1 = rho * w0
    s = (1 - Z @ m1 > 0).astype(float)
    m2 = (w0 + C * s @ Z) / 2
    loss = np.maximum(1 - Z @ w0, 0).sum()
    c = (a + C * s) / 2
    for name, printed, explicit in (
        ("Q", Q, Z @ Z.T),
        ("|z|", np.sqrt(np.diag(Q)), np.linalg.norm(Z, axis=1)),
        ("|w0|", np.sqrt(a @ Q @ a), np.linalg.norm(w0)),
        ("<z, m1>", rho * (Q @ a), Z @ m1),
        ("<z, m2>", (Q @ a) / 2 + C / 2 * (Q @ s), Z @ m2),
        ("|m1|", rho * np.sqrt(a @ Q @ a), np.linalg.norm(m1)),
        ("|m2|", np.sqrt((a + C * s) @ Q @ (a + C * s)) / 2, np.linalg.norm(m2)),
        ("<m1, m2>", rho / 2 * (a @ Q @ a + C * a @ Q @ s), m1 @ m2),
        ("r1", both_balls(Q, Q @ a, Q @ s, a, s, C, C0)[1], np.linalg.norm(m1 - w0)),
        ("r2", both_balls(Q, Q @ a, Q @ s, a, s, C, C0)[3], np.sqrt(m2 @ m2 + C * (loss - s.sum()))),
    ):
        worst[name] = max(worst[name], np.max(np.abs(printed - explicit)) / np.max(np.abs(explicit)))
    assert abs(np.linalg.norm(m2) ** 2 - c @ Q @ c) < 1e-9 * (c @ Q @ c)
    plain = ss.Samples(features(X), y)
    explicit = ss.svm.Reference(plain.adjoint(a), old.alpha, C0)
    for test in (ss.svm.ball_test_1, ss.svm.intersection_test):
        one, two = test(kernel, C, old), test(plain, C, explicit)
        same += np.array_equal(one.in_L, two.in_L) and np.array_equal(one.in_R, two.in_R)
for name, value in worst.items():
    print(f"{name:9} differs by less than a part in 1e9: {value < 1e-9}")
print("the library decides the same samples by kernel and by features:", same, "of 80 tests")
assert max(worst.values()) < 1e-9 and same >= 78

# %% [markdown]
# (A sample whose bound is within rounding of 1 may be decided by one and not by the other, so a few tests may
# differ.)
#
# The labels belong into $Q$. With $K$ in its place everything has the wrong length:

# %%
K = Q * y[:, None] * y
print(
    "with K for Q:  |w0|",
    round(float(np.sqrt(a @ K @ a)), 3),
    "instead of",
    round(float(np.linalg.norm(w0)), 3),
)
assert abs(np.sqrt(a @ K @ a) - np.linalg.norm(w0)) > 0.01

# %% [markdown]
# ## What it costs
#
# Operations, not seconds: how many entries of $Q$ are read. `Counted` stands for $Q$ and counts them; the tests are
# the ten lines above. "Cold" computes $Qa$ and $Qs$ from their non-zero entries; "warm" has $Qa$ from the solver and
# $Qs$ from the last $C$, and reads the columns that changed.


# %%
class Counted:
    """A matrix that counts the entries read."""

    def __init__(self, Q):
        self.Q, self.read = Q, 0

    def times(self, v):
        used = np.flatnonzero(v)
        self.read += used.size * len(v)
        return self.Q[:, used] @ v[used]


def path_cost(Q, terms, Cs):
    """Entries read per step by BT1 and IT, cold and warm, along a path; and the changes of s."""
    counted, prob, last_s, h = Counted(Q), ss.Problem(terms, ss.Hinge()), None, None
    cold, warm, changes = [], [], []
    for C0, C in zip(Cs[:-1], Cs[1:], strict=True):
        a = C0 * ss.solve(prob, 1 / C0, rtol=1e-10).alpha
        counted.read = 0
        g = counted.times(a)
        first = counted.read
        s = (1 - (C + C0) / (2 * C0) * g > 0).astype(float)
        fresh = counted.times(s)
        cold.append((first, counted.read))
        counted.read = 0
        h = fresh if last_s is None else h + counted.times(s - last_s)
        assert np.allclose(h, fresh, rtol=0, atol=1e-9 * len(s))
        if last_s is not None:
            warm.append((0, counted.read))  # BT1 reads nothing: g is the solver's
            changes.append(np.count_nonzero(s != last_s))
        last_s = s
    return np.array(cold), np.array(warm), np.array(changes)


X, y = datasets.load("digits", return_X_y=True)
y = np.where(y % 2 == 1, 1, -1)
order = np.random.default_rng(0).permutation(len(X))
sizes, rows = (60, 120, 240, 480), []
for n in sizes:
    chosen = order[:n]
    terms = ss.KernelSamples.from_points(X[chosen], y[chosen], "rbf", gamma=1 / 64)
    Q = terms.gram(np.arange(n))
    cold, warm, changes = path_cost(Q, terms, ss.svm.c_min(terms) * np.geomspace(1.0, 1e3, 31))
    rows.append(
        (cold[1:, 0].mean(), cold[1:, 1].mean(), warm[:, 1].mean(), changes.mean(), changes.sum())
    )
rows = np.array(rows)
print("entries of Q read per step, in units of n^2; changes of s per step and in all, in units of n")
print(f"{'n':>5}{'BT1 cold':>10}{'IT cold':>9}{'IT warm':>9}{'changes':>9}{'in all':>8}")
for n, row in zip(sizes, rows, strict=True):
    print(
        f"{n:5}{row[0] / n**2:10.2f}{row[1] / n**2:9.2f}{row[2] / n**2:9.3f}{row[3] / n:9.3f}{row[4] / n:8.2f}"
    )

# %% [markdown]
# Fitted exponents in $n$. A warm BT1 reads nothing of $Q$ at all, it is $n$ additions.

# %% tags=["SSS14-B1"]
slopes = [np.polyfit(np.log(sizes), np.log(rows[:, column]), 1)[0] for column in range(3)]
for label, slope in zip(("BT1 cold", "IT cold", "IT warm"), slopes, strict=True):
    print(f"{label:9} n^{slope:.1f}")
assert 1.7 < slopes[0] < 2.1 and 1.7 < slopes[1] < 2.1  # n |alpha|_0 and n (|alpha|_0 + |s|_0)
assert np.allclose(rows[:, 2], np.array(sizes) * rows[:, 3])  # warm: exactly n |ds|
assert np.all(rows[:, 1] / rows[:, 2] > 10)

# %% [markdown]
# $O(n^2)$ without caches is right, with the number of non-zero weights for one of the $n$. Warm, a step reads exactly
# $n\|\Delta s\|_0$ entries. For a fixed grid of $C$ that is $n^2$ again, with a small constant: a twentieth of the
# samples or less changes side in a step. What the table does not say:
#
# ### A finer path costs no more
#
# $\hat s_i$ is 1 where the margin at $m_1$ is below 1. Along a path most margins cross 1 once. So the changes of the
# *whole* path are about $n$, and refining the path spreads them thinner.

# %% tags=["SSS14-B1"]
chosen = order[:240]
terms = ss.KernelSamples.from_points(X[chosen], y[chosen], "rbf", gamma=1 / 64)
Q, counts = terms.gram(np.arange(240)), {}
for steps in (8, 16, 32, 64, 128):
    cold, warm, changes = path_cost(Q, terms, ss.svm.c_min(terms) * np.geomspace(1.0, 1e3, steps + 1))
    counts[steps] = cold[:, 1].sum() / 240**2, (warm[:, 1].sum() + cold[0, 1] - cold[0, 0]) / 240**2
print("steps   whole path, IT cold   IT warm   (in units of n^2)")
for steps, (one, two) in counts.items():
    print(f"{steps:5}{one:19.2f}{two:12.2f}")
assert counts[128][0] > 10 * counts[8][0] and counts[128][1] < 2 * counts[8][1]

# %%
curves = {
    "IT, cold": [value[0] for value in counts.values()],
    "IT, warm": [value[1] for value in counts.values()],
}
labels = {"xlabel": "steps of the path", "ylabel": "in units of $n^2$"}
figures.lines(curves, list(counts), title="entries of Q read by a whole path", log="xy", **labels)
plt.show()

# %% [markdown]
# The linear column: margins are $n d_s$ products and a sum of samples is another $n d_s$ at most, with $w$ in hand no
# cache is needed. Counted on sparse samples, by their stored numbers:

# %% tags=["SSS14-B1"]
from scipy import sparse

rng = np.random.default_rng(1)
for n, d_s in ((1000, 5), (4000, 5), (1000, 20)):
    X_sparse = sparse.random(n, 500, density=d_s / 500, format="csr", random_state=int(rng.integers(100)))
    y_ = np.where(np.arange(n) % 2, 1, -1)
    C0 = 2 * ss.svm.c_min(ss.Samples(X_sparse, y_))
    old = ss.solve(ss.Problem(ss.Samples(X_sparse, y_), ss.Hinge()), 1 / C0, rtol=1e-8)
    s = ss.svm.choose_s(ss.Samples(X_sparse, y_), 1.2 * C0, old)
    margins, sum_of_s = X_sparse.nnz, X_sparse[s > 0].nnz
    print(
        f"n = {n}, d_s = {d_s:2}: products for BT1 {margins / (n * d_s):.2f} n d_s, for IT {(2 * margins + sum_of_s) / (n * d_s):.2f} n d_s"
    )
    assert margins == n * d_s and sum_of_s <= margins

# %% [markdown]
# ### And the library?
#
# It keeps the images of a few recent expansions, and makes a new one from the nearest of them. For $\hat s$ that may be
# $\alpha_0$ itself: they differ in the samples with a fractional weight and in those that change sides. Here its columns
# are counted, for tests at two neighbouring $C$ on 1797 digits.

# %% tags=["SSS14-B1"]
whole = ss.KernelSamples.from_points(X, y, "rbf", gamma=1 / 64)
C0 = 100 * ss.svm.c_min(whole)
old = ss.solve(ss.Problem(whole, ss.Hinge()), 1 / C0, rtol=1e-6)
columns, product = [], whole.cone.product
whole.cone.product = lambda used, values: columns.append(used.size) or product(used, values)
reads = {}
for test in (ss.svm.ball_test_1, ss.svm.intersection_test):
    for C in (1.2 * C0, 1.22 * C0):
        columns.clear()
        test(whole, C, old)
        reads[test.__name__] = sum(columns)
whole.cone.product = product
apart = np.count_nonzero(ss.svm.choose_s(whole, 1.22 * C0, old) != old.alpha)
used = np.count_nonzero(old.alpha) + np.count_nonzero(ss.svm.choose_s(whole, 1.22 * C0, old))
print("columns read at the second C by BT1:", reads["ball_test_1"])
few = reads["intersection_test"] <= 2 * apart
print("by IT, at most twice the places where s and the reference differ:", few)
print("and less than half of what it would read cold:", reads["intersection_test"] < used / 2)
assert reads["ball_test_1"] == 0 and few and reads["intersection_test"] < used / 2

# %% [markdown]
# In seconds, of the library on this machine: one test of 1797 digits, references solved before, medians of 7. "Warm"
# means that the test has just been made for a $C$ nearby.


# %% tags=["nbval-ignore-output"]
def seconds(action, *args):
    times = []
    for _ in range(7):
        start = time.process_time()
        action(*args)
        times.append(time.process_time() - start)
    return np.median(times[1:])


product = seconds(lambda: whole.cone.K @ np.ones(len(whole)))
bt1 = seconds(ss.svm.ball_test_1, whole, 1.2 * C0, old)
it = seconds(ss.svm.intersection_test, whole, 1.2 * C0, old)
print(f"product with K {1e3 * product:.2f} ms,  BT1 warm {1e3 * bt1:.2f} ms,  IT warm {1e3 * it:.2f} ms")

# %% [markdown]
# ## Everything at once
#
# Two interleaved arcs, a Gaussian kernel, a path of $C$ with the intersection test before each solve and the midpoint
# gap bound during it. Left, the path; right, the machine at one $C$ with what had been decided *before* solving for
# it (pale).

# %%
rng = np.random.default_rng(4)
n = 200
y = np.where(np.arange(n) % 2, 1, -1)
turn = rng.uniform(0, np.pi, n)
X = np.stack([np.cos(turn), np.sin(turn)], axis=1)
X[y == 1] = [1.0, 0.35] - X[y == 1]
X += 0.17 * rng.standard_normal((n, 2))
arcs = ss.KernelSamples.from_points(X, y, "rbf", gamma=3.0)
prob = ss.Problem(arcs, ss.Hinge())
Cs = ss.svm.c_min(arcs) * np.geomspace(1.0, 1e4, 41)
curves, finals = {}, {}
for test in ("BT1", "BT2", "IT"):
    path = ss.svm.path(arcs, Cs, test, screening=("MGB",), rtol=1e-7)
    assert all(solution.converged for solution in path)
    curves[test] = np.array(path.path_rates, dtype=float)
    finals[test] = path[-1]
plain = ss.svm.path(arcs, Cs, None, screening=(), rtol=1e-7)[-1]
for last in finals.values():
    values = [prob.primal(x.x, x.lam) for x in (plain, last)]
    assert abs(values[0] / values[1] - 1) < 1e-6
print("same objective at the end with every test and without:", True)

where = 24
old, star = (ss.solve(prob, 1 / C, rtol=1e-11) for C in Cs[where - 1 : where + 1])
found = ss.svm.intersection_test(arcs, Cs[where], old)
margin, room = arcs.margins(star.x), star.eps * arcs.norms
assert np.all((margin + room)[found.in_R] > 1) and np.all((margin - room)[found.in_L] < 1)


def decision(points):
    """f at points, from the coefficients of the expansion."""
    apart = ((points[:, None, :] - X[None]) ** 2).sum(axis=2)
    return np.exp(-3.0 * apart) @ (star.x.coef * y)


figure, axes = figures.panels(2, height=3.8)
steps = Cs[1:] / Cs[0]
labels = {"title": "before each solve", "xlabel": "$C/C_{min}$", "ylabel": "share of samples screened"}
figures.lines({k: v[-len(steps) :] for k, v in curves.items()}, steps, ax=axes[0], log="x", **labels)
figures.samples(X, y, decision, found, ax=axes[1], title=f"{found.rate:.0%} decided before solving")
axes[1].get_legend().remove()
plt.show()
assert np.all(curves["IT"][-len(steps) :] >= curves["BT2"][-len(steps) :] - 0.02)

# %% [markdown]
# On the left, the jump of IT is the one that `33-intersection-test` predicts: from there on the kernel separates the
# arcs, the reference has no loss, both balls touch in one point, and every sample that is not a support vector is
# decided. BT1 alone never notices.

# %% [markdown]
# ## Break it: squares that are differences
#
# The intersection test needs $\|m_1 - m_2\|$. The printed quantities give it as
# $\|m_1\|^2 + \|m_2\|^2 - 2\langle m_1, m_2\rangle$, which cancels when the centers are near. The library subtracts
# the *coefficients*, $\rho a - \frac12(a + Cs)$, and the result is as good as $Q$ is. References just below
# $C_{\min}$, where the exact difference is zero or small:

# %%
rng = np.random.default_rng(8)
negative = bad = 0
for _ in range(300):
    n = 40
    y_ = np.where(np.arange(n) % 2, 1, -1)
    X_ = rng.standard_normal((n, 3)) + 0.5 * y_[:, None]
    small = ss.KernelSamples.from_points(X_, y_, "rbf", gamma=0.3)
    Q = small.gram(np.arange(n))
    C0 = rng.uniform(0.3, 1.0) * ss.svm.c_min(small)
    C, a = C0 * rng.uniform(1.001, 1.3), np.full(n, C0)
    s = (1 - (C + C0) / (2 * C0) * (Q @ a) > 0).astype(float)
    square = both_balls(Q, Q @ a, Q @ s, a, s, C, C0)[4]
    c = (C + C0) / (2 * C0) * a - (a + C * s) / 2
    exact = max(c @ Q @ c, 0.0)
    negative += square < 0
    bad += abs(square - exact) > 1e-6 * exact
    found = ss.svm.intersection_test(small, C, ss.svm.solution_below_c_min(small, C0))
    alone = ss.svm.ball_test_1(small, C, ss.svm.solution_below_c_min(small, C0))
    assert np.all(found.in_L >= alone.in_L) and not found.in_R.any()
print("printed square of the distance negative:", "in more than 5 of 300" if negative > 5 else "seldom")
print("wrong by more than a part in a million: ", "in more than 30 of 300" if bad > 30 else "seldom")
assert negative > 5 and bad > 30

# %% [markdown]
# ## Break it: positive semidefinite up to rounding
#
# The linear kernel of 569 samples in 30 dimensions has rank 30, and 539 eigenvalues that are zero on paper. Computed,
# some are negative. A combination of samples along such an eigenvector has a *negative squared length*, and the
# square root in $\|w\|$ is NaN. `KernelSamples` therefore carries a bound: there is a true, positive semidefinite
# kernel within a part of `relative_error` of each entry, and every norm that a safety claim uses is an upper or a
# lower bound for that kernel.

# %%
X_c, y_c = datasets.load("breast-cancer", return_X_y=True)
linear = ss.KernelSamples.from_points(X_c, y_c, "linear")
values, vectors = np.linalg.eigh(linear.gram(np.arange(len(linear))))
v = vectors[:, 0]
element = linear.adjoint(v)
print("eigenvalues that come out negative: more than 100:", bool(np.sum(values < 0) > 100))
print(
    "the smallest is below zero by less than 1e-14 of the largest:",
    bool(0 < -values[0] < 1e-14 * values[-1]),
)
print(
    "library, length of the combination: at least",
    element.norm_lower(),
    " at most something positive:",
    element.norm_upper() > 0,
)
print(
    "bound of the entries, between 1 and 100 units of roundoff:",
    1 < linear.cone.relative_error / 2.0**-53 < 100,
)
assert values[0] < 0 and element.norm_lower() == 0.0 and element.norm_upper() > np.sqrt(-values[0])

# %% [markdown]
# What is not a kernel up to rounding is refused, for the balls are then not balls and nothing is certain:

# %%
points = np.random.default_rng(0).standard_normal((30, 2))
sigmoid = np.tanh(points @ points.T - 0.5)
np.fill_diagonal(sigmoid, np.abs(sigmoid).max(axis=0) + 0.1)
print(
    "eigenvalues of the sigmoid matrix: smallest below -0.1:", bool(np.linalg.eigvalsh(sigmoid)[0] < -0.1)
)
try:
    ss.KernelSamples(sigmoid, np.where(np.arange(30) % 2, 1, -1))
    refused = False
except ValueError as error:
    refused = True
    print("refused:", str(error).split(",")[0])
assert refused

# %% [markdown]
# ## Exercise
#
# A Gaussian kernel with a very large $\gamma$: $K$ is nearly the unit matrix. What are $C_{\min}$ and the solution
# for every $C$, and from which $C$ on does screening have nothing to do?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $Q = I$: the samples are orthogonal, $(Q\mathbf 1)_i = 1$, so $C_{\min} = 1$. Up to there $a = C\mathbf 1$,
# everything in L. Beyond, $a = \mathbf 1$ and every margin is exactly 1: every sample is on the corner, none can be
# screened, and $w$ never changes again. The reference has no loss: the intersection test knows $w$
# (`33-intersection-test`), and decides nothing, for there is nothing to decide.
#
# </details>

# %%
alone = ss.KernelSamples(np.eye(60), y_c[:60])
for C in (0.5, 2.0):
    solution = ss.solve(ss.Problem(alone, ss.Hinge()), 1 / C, rtol=1e-9)
    found = ss.svm.intersection_test(alone, 1.2 * C, solution)
    print(
        f"C = {C}: a = {np.unique(np.round(C * solution.alpha, 6))}, decided for 1.2 C: {found.rate:.0%}"
    )
assert abs(ss.svm.c_min(alone) - 1) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Reading is not computing.** The table counts entries of a kernel matrix that is there. Where it does not fit,
#   each cold column costs $n$ kernel evaluations, $O(n d)$.
# * **The library's cache.** A kernel space remembers the last few expansions and makes a new one from the one that
#   differs in the fewest coefficients, be it the last $\hat s$ or the reference itself; the error of an image grows
#   with every update, and beyond eight times that of a fresh product it is computed anew.
# * **Without caches on both sides** the papers' $O(n^2)$ is $n(\|\alpha\|_0 + \|s\|_0)$.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: sections IV-D and IV-E, Table I.
