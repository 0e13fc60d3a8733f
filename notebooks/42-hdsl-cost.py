# %% [markdown]
# # What an iteration costs
#
# The matrix to be learned has a million times a million entries, and an iteration takes about a
# millisecond. This notebook counts where the work is.
#
# At the end you will have seen
#
# * the direction search of the paper, in a few lines that count what they do, and the library beside
#   it;
# * the exponents of the printed table in $s$, $T$, $m$, $k$ and $d$, fitted to counts: all of them
#   hold as upper bounds;
# * what the table leaves out: the $Tk$ of the away direction looks up six numbers a triplet, and
#   needs random access to the entries of the points;
# * why the library needs less memory than $T s^2$ and less time than $T k$: it works with pairs of
#   points in place of triplets;
# * that the search for a heuristic direction costs the same at $d = 10^6$ as at $d = 10^4$.

# %%
import time

import numpy as np
from scipy import sparse

from safescreen.hdsl import FrankWolfe, nearest_triplets
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact, heuristic
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# Data for this notebook: points with exactly $s$ entries at random places, and triplets at random.

# %%
def random_points(n, d, s, seed=0):
    rng = np.random.default_rng(seed)
    columns = np.concatenate([np.sort(rng.choice(d, s, replace=False)) for _ in range(n)])
    return sparse.csr_array(
        (rng.uniform(0.1, 1.0, n * s), columns, np.arange(0, n * s + 1, s)), shape=(n, d)
    )


def some_triplets(n, T, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n, T)
    first, second = rng.integers(1, n // 2, (2, T))
    return np.column_stack((x, (x + first) % n, (x + n // 2 + second - 1) % n))


# %% [markdown]
# The gradient is a matrix with a row and a column for each feature, here 60. A dot is an entry that
# is not 0, and a triplet makes some $s^2$ of them. The value of an atom depends on three entries:
# those of its two features on the diagonal, and the one that they share. The exact search (left)
# looks at all dots. The heuristic (right) draws a feature, looks at the diagonal and at the row of
# this feature, finds the best partner there, and then looks at the row of the partner. Only these
# entries have to be computed.

# %%
few, listed = random_points(40, 60, 4), some_triplets(40, 30)
x, y, z = (few.toarray()[column] for column in listed.T)
gradient = -(x.T @ (y - z) + (y - z).T @ x)  # both orders of the two features
first = few.indices[0]
second = np.argmax(np.abs(gradient[first]) * (np.arange(60) != first))
seen = np.eye(60, dtype=bool)
seen[[first, second]] = True
figure, axes = figures.panels(2, height=4.0)
for ax, looked_at, title in ((axes[0], np.ones_like(seen), "exact"), (axes[1], seen, "heuristic")):
    for mask, colour in (
        ((gradient != 0) & ~looked_at, "#CCCCCC"),
        ((gradient != 0) & looked_at, figures.OTHERS[1]),
    ):
        ax.plot(*np.nonzero(mask)[::-1], "s", color=colour, markersize=2)
    ax.set(aspect="equal", xlabel="feature", ylabel="feature", ylim=(60, -1), xlim=(-1, 60))
    ax.set_title(f"{title}: {np.sum((gradient != 0) & looked_at)} entries", loc="left", fontsize=10)
figures.show(
    f"Both panels show a matrix of {seen.shape[0]} by {seen.shape[1]} features, with "
    "a dot for each of "
    f"the {np.count_nonzero(gradient)} entries that are not 0. Left, all dots are "
    "coloured: the exact "
    f"search looks at all. Right, {np.sum((gradient != 0) & seen)} are coloured, on the "
    "diagonal and on a "
    "pair of rows, which the heuristic looks at."
)

# %% [markdown]
# ## The claim
#
# There are $T$ triplets of points with $s$ entries each and mini-batches of $m$ triplets (the paper
# writes $M$). HDSL19 Table 1 has the cost of iteration $k$, without logarithms:
#
# | direction | time | memory |
# |---|---|---|
# | exact | $T s^2 + T k$ | $T s^2 + k$ |
# | mini-batch | $m s^2 + T k$ | $T + m s^2 + k$ |
# | mini-batch and heuristic | $m s + T k$ | $T + m s + k$ |
#
# No entry depends on $d$. The points themselves, $n s$ numbers, are not counted.
#
# | assumption | needed for |
# |---|---|
# | points with $s$ entries, $s$ not growing with $d$ | "no $d$" |
# | an entry of a point found in $O(1)$ | $T k$ |
# | $k$ iterations leave at most $k + 1$ atoms | $T k$ |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | | |
# |---|---|
# | minimise | $f(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle)$ with $A_t = x_t (y_t - z_t)^\top$ |
# | loss | $\ell(u) = 0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, $\frac12 - u$ below |
# | domain | $M \in D_\lambda = \mathrm{conv} \{\lambda (e_i \pm e_j)(e_i \pm e_j)^\top : i \ne j\}$, its corners are the *atoms* |
# | gradient | $G = -\frac1T \sum_t g_t A_t$ with $g_t = -\ell'(\langle A_t, M\rangle)$ |
# | Frank-Wolfe gap | $g(M) = \max_{\text{atoms } B} \langle G, M - B\rangle \ge f(M) - f^\star$ |
#
# </details>

# %% [markdown]
# ## The paper's directions, counting
#
# The exact search adds up $G$ triplet by triplet in a dictionary of entries. The heuristic computes
# the diagonal, a row and another row, and for a row it needs only the triplets that have its feature.
# `visits` counts the multiplications and the entries that are looked at.

# %%
def rows_of(X):
    """The points as dictionaries."""
    return [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def difference(y, z):
    step = dict(y)
    for j, value in z.items():
        step[j] = step.get(j, 0.0) - value
    return step


# %%
def exact_counted(points, triplets):
    """Best value over all atoms for slopes 1, visits, entries kept."""
    G, visits = {}, 0
    for x, y, z in triplets.tolist():
        step = difference(points[y], points[z])
        for i, a in points[x].items():
            for j, b in step.items():
                G[i, j] = G.get((i, j), 0.0) + a * b
                visits += 1
    diagonal = sorted((value for (i, j), value in G.items() if i == j), reverse=True) + [0.0, 0.0]
    best = diagonal[0] + diagonal[1]
    for (i, j), value in G.items():
        if i != j:
            cross = abs(value + G.get((j, i), 0.0))
            best = max(best, G.get((i, i), 0.0) + G.get((j, j), 0.0) + cross)
        visits += 1
    return best, visits, len(G)


# %%
def row_counted(triplets, points, steps, feature):
    """The row of a feature in G plus its transpose, for slopes 1, and visits."""
    row, visits = {}, 0
    for x, step in zip(triplets[:, 0].tolist(), steps, strict=True):
        visits += 2
        for one, other in ((points[x], step), (step, points[x])):
            for j, b in other.items() if feature in one else ():
                row[j] = row.get(j, 0.0) + one[feature] * b
                visits += 1
    return row, visits


# %%
def heuristic_counted(points, triplets, first):
    """Value of the atom found from a feature for slopes 1, visits, entries kept."""
    diagonal, visits = {}, 0
    steps = [difference(points[y], points[z]) for _, y, z in triplets.tolist()]
    for x, step in zip(triplets[:, 0].tolist(), steps, strict=True):
        for i, a in points[x].items():
            visits += 1
            if i in step:
                diagonal[i] = diagonal.get(i, 0.0) + a * step[i]
    kept, feature = len(diagonal), first
    for _ in range(2):
        row, more = row_counted(triplets, points, steps, feature)
        visits += more
        values = {
            j: diagonal.get(j, 0.0) + abs(row.get(j, 0.0))
            for j in row.keys() | diagonal.keys()
            if j != feature
        }
        here = diagonal.get(feature, 0.0)
        feature, value = max(values.items(), key=lambda item: item[1])
        kept, visits = max(kept, len(diagonal) + len(row)), visits + len(values)
    return here + value, visits, kept

# %% [markdown]
# ## Does it match?
#
# We compare the value of the best atom, and the value of the atom that the heuristic finds from each
# of several features.

# %%
class First:
    """Stands for a random generator, and draws the feature it is told."""

    def __init__(self, feature):
        self.feature = feature

    def integers(self, high):
        return self.feature


X, triplets = random_points(60, 80, 8), some_triplets(60, 150)
points, constraints = rows_of(X), Constraints(X, triplets)
constraints.set_slopes(np.ones(len(triplets)))
slow, visits, kept = exact_counted(points, triplets)
assert np.isclose(slow, exact(constraints).value)
for first in range(0, 80, 8):
    assert np.isclose(
        heuristic_counted(points, triplets, first)[0], heuristic(constraints, First(first)).value
    )
print(
    f"best value {slow:.4f} from {visits} visits, {kept} entries kept; library: equal, "
    "from 10 first features, too"
)

# %% [markdown]
# ## Exponents
#
# One of $d$, $s$, $T$ varies and the others stay. The exponent is the slope of the logarithm of the
# visits. The heuristic starts at a feature of the first points, so that its row is not empty, and its
# visits are averaged over six such features.

# %%
def exponent(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def measured(n=150, d=20_000, s=12, T=300):
    X, triplets = random_points(n, d, s), some_triplets(n, T)
    points = rows_of(X)
    _, all_visits, all_kept = exact_counted(points, triplets)
    few = [heuristic_counted(points, triplets, first)[1:] for first in X.indices[:6].tolist()]
    return all_visits, all_kept, *np.mean(few, axis=0)


ranges = {"d": (2_000, 20_000, 200_000, 1_000_000), "s": (5, 10, 20, 40), "T": (100, 200, 400, 800)}
names = ("exact: visits", "exact: entries kept", "heuristic: visits", "heuristic: entries kept")
counts = {
    key: np.array([measured(**{key: value}) for value in values]) for key, values in ranges.items()
}
fitted = {
    key: [exponent(ranges[key], counts[key][:, column]) for column in range(4)] for key in ranges
}
print(f"{'exponents in':24}      d      s      T")
for column, name in enumerate(names):
    print(f"{name:24} " + " ".join(f"{fitted[key][column]:6.2f}" for key in ranges))

# %% tags=["HDSL19-B1"]
expected = {"d": (0, 0, 0), "s": (2, 2, 1), "T": (1, 1, 1)}
for key, powers in expected.items():
    for column, power in enumerate(powers):
        assert fitted[key][column] < power + 0.12, (key, names[column])
assert abs(fitted["s"][0] - 2) < 0.1 and abs(fitted["T"][0] - 1) < 0.1
assert abs(fitted["s"][2] - 1) < 0.25
assert abs(fitted["T"][2] - 1) < 0.1
assert abs(fitted["d"][2]) < 0.1
for key, values in ranges.items():
    for value, row in zip(values, counts[key], strict=True):
        setting = {"d": 20_000, "s": 12, "T": 300} | {key: value}
        T, s = setting["T"], setting["s"]
        assert np.all(row <= np.array((4 * T * s * s, 2 * T * s * s, 12 * T * s, 3 * T * s))), (
            setting
        )
print("exact ~ T s^2, heuristic ~ T s, neither with d: confirmed")

# %%
figure, axes = figures.panels(3, width=11.0, height=3.2, sharey=True)
spans = []
for ax, key in zip(axes, ranges, strict=True):
    named = {
        "exact": (ranges[key], counts[key][:, 0]),
        "heuristic": (ranges[key], counts[key][:, 2]),
    }
    spans.append(f"Against {key}: {figures.ends(named, '{:.1e}')}")
    figures.lines(
        named, ax=ax, log="xy", marks=True, xlabel=key, ylabel="visits", title=f"against {key}"
    )
figures.show(
    "Lines show the visits of a direction against the dimension d, the nonzeros s and the "
    "triplets T, on logarithmic axes. From the left end to the right end they change as follows. "
    f"{'. '.join(spans)}."
)

# %% [markdown]
# The heuristic keeps at most $3 T s$ entries, and mostly fewer. The exact search needs much memory
# for the entries that it keeps. When points are sparse there are nearly $2 T s^2$ of them, because
# hardly any two triplets share one.
#
# ## A mini-batch
#
# The search for a direction visits only the triplets of the batch. So the $m s^2$ and the $m s$ of
# the table are the counts from above with $m$ in place of $T$. The line search still needs the
# margins of all $T$ triplets.

# %% tags=["HDSL19-B1"]
X, triplets = random_points(150, 20_000, 12), some_triplets(150, 3200)
points, rng, batches = rows_of(X), np.random.default_rng(2), (100, 200, 400, 800)
by_batch = []
for m in batches:
    batch = triplets[rng.choice(len(triplets), m, replace=False)]
    by_batch.append(
        (
            exact_counted(points, batch)[1],
            np.mean([heuristic_counted(points, batch, f)[1] for f in X.indices[:4].tolist()]),
        )
    )
powers = [exponent(batches, column) for column in np.array(by_batch).T]
print(f"exponents in m: exact {powers[0]:.2f}, heuristic {powers[1]:.2f}")
assert all(abs(power - 1) < 0.1 for power in powers)

# %% [markdown]
# ## The away direction
#
# The value of an active atom is
# $\langle B, G\rangle = -\frac\lambda T \sum_t g_t\, (x_i \pm x_j)(v_i \pm v_j)$ with $v = y - z$.
# For each of $k$ atoms it needs six numbers of three points a triplet, which is $T k$ in all, or
# $T k \log s$ if a point is a list of entries that must be searched. The library adds up the slopes
# of all triplets in one sparse matrix between points,
#
# $$W = \sum_t g_t\, (e_x e_y^\top - e_x e_z^\top), \qquad -\tfrac{T}{\lambda} \langle B, G\rangle = p^\top W p,
# \qquad p = X (e_i \pm e_j) ,$$
#
# For an atom it visits only the points that *have* its features, and their partners in $W$. We count
# these visits for the active atoms of a real run:

# %%
def pairs_of(triplets):
    return np.unique(np.vstack((triplets[:, :2], triplets[:, ::2])), axis=0)


def away_visits(X, triplets, atoms):
    """Partners of the points that have the rarer feature of an atom, summed over the atoms."""
    partners = np.bincount(pairs_of(triplets).ravel(), minlength=X.shape[0])
    columns = X.tocsc()
    size = np.diff(columns.indptr)
    rarer = np.where(size[atoms[:, 0]] <= size[atoms[:, 1]], atoms[:, 0], atoms[:, 1])
    touched = np.array(
        [partners[columns.indices[columns.indptr[i] : columns.indptr[i + 1]]].sum() for i in rarer]
    )
    return np.cumsum(touched)


# %% tags=["HDSL19-B1", "nbval-ignore-output"]
X, triplets = random_points(300, 3000, 20), some_triplets(300, 3000)
solver = FrankWolfe(30.0, forward="exact", max_iter=120).fit(X, triplets)
atoms = np.random.default_rng(3).permutation(solver.similarity_.atoms)
visits, k = away_visits(X, triplets, atoms), np.arange(1, len(atoms) + 1)
print(f"{len(atoms)} active atoms after 120 iterations")
print(
    f"exponent in k: {exponent(k[5:], visits[5:]):.2f};  visits / (T k): "
    f"{visits[-1] / (3000 * k[-1]):.4f}"
)
assert abs(exponent(k[5:], visits[5:]) - 1) < 0.1 and np.all(visits <= 3000 * k)
values = np.empty(len(atoms))
constraints = Constraints(X, triplets)
slopes = np.random.default_rng(4).uniform(size=3000)
constraints.set_slopes(slopes[constraints.order])
compact = np.column_stack((np.searchsorted(constraints.features, atoms[:, :2]), atoms[:, 2]))
x, near, far = (X[triplets[:, c]].toarray() for c in range(3))
v = near - far
by_triplets = [
    slopes @ ((x[:, i] + sign * x[:, j]) * (v[:, i] + sign * v[:, j]))
    for i, j, sign in atoms
]
assert np.allclose(constraints.atom_values(compact, values), by_triplets)
print("library and sum over triplets: equal")

# %% [markdown]
# ## Memory
#
# The library stores the points by row and by column, the triplets and the entries of $W$. It also
# stores the shared features of each pair, if that list is no longer than these arrays. It never stores
# $G$. Here is the size of all its arrays, in numbers of 8 bytes for each triplet and stored entry:

# %% tags=["HDSL19-B1"]
def arrays_in(thing):
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple | list):
        return sum(map(arrays_in, thing))
    return (
        sum(map(arrays_in, (thing.indptr, thing.indices, thing.data)))
        if sparse.issparse(thing)
        else 0
    )


def size_of(n=300, d=10_000, s=20, T=3000):
    constraints = Constraints(random_points(n, d, s), some_triplets(n, T))
    return sum(map(arrays_in, vars(constraints).values())) / 8.0


print("   n        d    s      T   numbers   per (T + nnz)   T s^2")
shown = []
for change in ({}, {"d": 100_000}, {"d": 1_000_000}, {"s": 40}, {"s": 80}, {"T": 12_000},
               {"n": 1200}):
    setting = {"n": 300, "d": 10_000, "s": 20, "T": 3000} | change
    n, d, s, T = setting.values()
    numbers = size_of(**setting)
    shown.append(numbers / (T + n * s))
    print(f"{n:4} {d:8} {s:4} {T:6} {numbers:9.0f} {shown[-1]:15.1f} {T * s * s:8}")
assert max(shown) < 20.0 and shown[2] < 1.3 * shown[0]

# %% [markdown]
# The memory is a constant times $T + \mathrm{nnz}(X)$, whatever $d$ is. The $T s^2$ of the table does
# not occur, because the rows of the gradient are computed on demand and not stored.
#
# ## Seconds
#
# Here is the processor time of the library, on the machine that made this page. First against $d$,
# for 500 points of 30 entries and 5000 triplets.

# %%
def seconds(function, before, repeats=9):
    """Median processor time of a call."""
    found = []
    for _ in range(repeats + 1):
        before()
        begun = time.process_time()
        function()
        found.append(time.process_time() - begun)
    return np.median(found[1:])


def timed(n=500, d=10_000, s=30, T=5000):
    constraints, rng = (
        Constraints(random_points(n, d, s), some_triplets(n, T)),
        np.random.default_rng(0),
    )

    def before():
        constraints.set_slopes(np.ones(T))

    return seconds(lambda: heuristic(constraints, rng), before), seconds(
        lambda: exact(constraints), before, 2
    )


# %% tags=["nbval-ignore-output"]
dimensions = (10_000, 100_000, 1_000_000)
by_d = np.array([timed(d=d) for d in dimensions])
iterations = []
for d in dimensions:
    X, triplets = random_points(500, d, 30), some_triplets(500, 5000)
    begun = time.process_time()
    FrankWolfe(30.0, max_iter=300).fit(X, triplets)
    iterations.append((time.process_time() - begun) / 300)
print("        d   heuristic   exact   iteration (microseconds)")
for d, (short, long), whole in zip(dimensions, by_d, iterations, strict=True):
    print(f"{d:9} {1e6 * short:11.0f} {1e6 * long:7.0f} {1e6 * whole:11.0f}")
print(f"an iteration at d = 10^6 / at d = 10^4: {iterations[-1] / iterations[0]:.2f}")

# %% tags=["nbval-ignore-output"]
larger = {"s": (15, 30, 60, 120), "T": (2500, 5000, 10_000, 20_000)}
by = {key: np.array([timed(**{key: value}) for value in values]) for key, values in larger.items()}
figure, axes = figures.panels(3, width=11.0, height=3.2, sharey=True)
spans = []
for ax, (key, x, y) in zip(
    axes, (("d", dimensions, by_d), *((key, larger[key], by[key]) for key in larger)), strict=True
):
    named = {name: (x, 1e3 * y[:, column]) for column, name in ((1, "exact"), (0, "heuristic"))}
    spans.append(f"Against {key}: {figures.ends(named, '{:.2g}')}")
    figures.lines(named, ax=ax, log="xy", marks=True, xlabel=key, ylabel="ms",
                  title=f"processor time against {key}")
figures.show(
    "Lines show the processor time of a direction in milliseconds against d, s and T, on "
    "logarithmic axes. From the left end to the right end they change as follows. "
    f"{'. '.join(spans)}."
)
for key in larger:
    powers = [exponent(larger[key], by[key][:, column]) for column in (0, 1)]
    print(f"exponent of the time in {key}: heuristic {powers[0]:.2f}, exact {powers[1]:.2f}")

# %% [markdown]
# At these sizes the exponents of the time are below those of the counts, because each call has fixed
# costs and makes passes over all features in use.
#
# ## Break it
#
# "No $d$" assumes that $s$ does not grow with $d$. For dense points $s = d$, and the exponents in $d$
# are 2 and 1.

# %%
widths = (8, 16, 32, 64)
dense = []
for d in widths:
    X, triplets = random_points(40, d, d), some_triplets(40, 60)
    points = rows_of(X)
    dense.append((exact_counted(points, triplets)[1], heuristic_counted(points, triplets, 0)[1]))
powers = [exponent(widths, column) for column in np.array(dense).T]
print(f"dense points, exponents in d: exact {powers[0]:.2f}, heuristic {powers[1]:.2f}")
assert abs(powers[0] - 2) < 0.1 and abs(powers[1] - 1) < 0.15

# %% [markdown]
# Only the cost of an iteration does not depend on $d$. What an iteration of the heuristic achieves
# depends on it, as notebook [`43-hdsl-forward-directions`](43-hdsl-forward-directions.ipynb) shows.
#
# ## Exercise
#
# The triplets of the paper combine 3 targets and 5 impostors of each point: $T = 15 n$. How many
# entries has $W$? What does that mean for the cost of a row of the gradient if there were 20 of each?
#
# <details>
# <summary><b>Solution</b></summary>
#
# A triplet $(x, y, z)$ contributes to the pairs $(x, y)$ and $(x, z)$ only. The triplets of $p$
# targets and $q$ impostors have $p + q$ pairs. So $W$ has at most $8n$ entries for $15 n$ triplets,
# and $40 n$ for $400 n$. A row costs as much as its pairs: 27 times as many triplets cost 5 times as
# much. Only the slopes, a pass over $T$ numbers, grow with $T$.
#
# </details>

# %%
points, labels = datasets.load("digits", return_X_y=True)
for p, q in ((3, 5), (20, 20)):
    triplets = nearest_triplets(points[:200], labels[:200], p, q)
    full = np.bincount(triplets[:, 0])
    whole = triplets[np.isin(triplets[:, 0], np.flatnonzero(full == p * q))]
    print(
        f"{p:2} x {q:2}: {len(triplets) / 200:6.1f} triplets and "
        f"{len(pairs_of(triplets)) / 200:5.1f} pairs a point"
    )
    assert len(pairs_of(whole)) * p * q == len(whole) * (p + q)

# %% [markdown]
# ## Fine print
#
# * **Slopes.** Triplets with margin 1 or more have slope 0 and are skipped; the counts above are for
#   slopes of 1, the worst case.
# * **Exact search in the library.** It bounds every row by the Cauchy-Schwarz inequality and searches
#   the rows by decreasing bound until no other row can win. It needs no $T s^2$ entries, but in bad
#   cases it computes many rows of $O(\mathrm{nnz}(X))$ each.
# * **Line search.** It makes a few passes over $T$ numbers.
# * **Logarithms** are left out of the table. A look-up in a dictionary takes constant time on
#   average.
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning*, Neurocomputing
#   333, 2019: section 3.2.2, Table 1.
