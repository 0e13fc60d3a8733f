# %% [markdown]
# # What an iteration costs
#
# The learned matrix may have a million times a million entries, but an iteration computes only a few of them. This notebook
# counts the operations of an iteration.
#
# At the end you will have seen
#
# * the direction searches of the paper, in a few lines that count their operations, compared with the library;
# * the exponents of the printed table in $s$, $T$, $m$, $k$ and $d$, fitted to counts: all printed exponents are true as
#   upper bounds;
# * what the table leaves out: the away direction with its cost $Tk$ reads six numbers for each triplet and atom, and
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
# The data of this notebook are points with exactly $s$ entries at random places, and random triplets.

# %%
def random_points(n, d, s, seed=0):
    """Return n points with s of d entries each."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([np.sort(rng.choice(d, s, replace=False)) for _ in range(n)])
    values = rng.uniform(0.1, 1.0, n * s)
    return sparse.csr_array((values, columns, np.arange(0, n * s + 1, s)), shape=(n, d))


def some_triplets(n, T, seed=1):
    """Return T random triplets of n points."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n, T)
    first, second = rng.integers(1, n // 2, (2, T))
    return np.column_stack((x, (x + first) % n, (x + n // 2 + second - 1) % n))


# %% [markdown]
# The gradient is a matrix with a row and a column for each of 60 features. A dot is an entry that
# is not 0. Each triplet makes about $s^2$ such entries. The value of an atom depends on three entries:
# the diagonal entries of its two features, and the entry in the row of one feature and the column of the other feature. The
# exact search (left) reads all dots. The heuristic (right) draws a feature. It reads the diagonal and the row of
# this feature, finds the best partner in this row, and then reads the row of the partner. Only these
# entries have to be computed.

# %%
few = random_points(40, 60, 4)
listed = some_triplets(40, 30)
x, y, z = (few.toarray()[column] for column in listed.T)
gradient = -(x.T @ (y - z) + (y - z).T @ x)  # both orders of the two features
first = few.indices[0]
second = np.argmax(np.abs(gradient[first]) * (np.arange(60) != first))
seen = np.eye(60, dtype=bool)
seen[[first, second]] = True

# %%
nonzero = gradient != 0
figure, axes = figures.panels(2, height=4.0)
for ax, read, title in ((axes[0], np.ones_like(seen), "exact"), (axes[1], seen, "heuristic")):
    ax.plot(*np.nonzero(nonzero & ~read)[::-1], "s", color="#CCCCCC", markersize=2)
    ax.plot(*np.nonzero(nonzero & read)[::-1], "s", color=figures.OTHERS[1], markersize=2)
    ax.set(aspect="equal", xlabel="feature", ylabel="feature", ylim=(60, -1), xlim=(-1, 60))
    ax.set_title(f"{title}: {np.sum(nonzero & read)} entries", loc="left", fontsize=10)
figures.show(
    f"Each panel shows a matrix of {seen.shape[0]} by {seen.shape[1]} features, with a dot for "
    f"each of the {np.count_nonzero(gradient)} entries that are not 0. Left, all dots are "
    "coloured, because the exact search reads all of them. Right, the coloured dots are the "
    f"{np.sum(nonzero & seen)} entries that the heuristic reads: the diagonal and a pair of rows."
)

# %% [markdown]
# ## The claim
#
# There are $T$ triplets of points with $s$ entries each, and mini-batches of $m$ triplets (the paper
# writes $M$). HDSL19 Table 1 gives the cost of iteration $k$, without logarithms:
#
# | direction | time | memory |
# |---|---|---|
# | exact | $T s^2 + T k$ | $T s^2 + k$ |
# | mini-batch | $m s^2 + T k$ | $T + m s^2 + k$ |
# | mini-batch and heuristic | $m s + T k$ | $T + m s + k$ |
#
# No cost in the table depends on $d$. The table does not count the points, which are $n s$ numbers.
#
# | assumption | needed for |
# |---|---|
# | points with $s$ entries, $s$ does not grow with $d$ | no cost depends on $d$ |
# | access to an entry of a point in $O(1)$ | $T k$ |
# | at most $k + 1$ atoms after $k$ iterations | $T k$ |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | | |
# |---|---|
# | minimise | $f(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle)$ with $A_t = x_t (y_t - z_t)^\top$ |
# | loss | $\ell(u) = 0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, $\frac12 - u$ for $u \le 0$ |
# | domain | $M \in D_\lambda = \mathrm{conv} \{\lambda (e_i \pm e_j)(e_i \pm e_j)^\top : i \ne j\}$; its corners are the *atoms* |
# | gradient | $G = -\frac1T \sum_t g_t A_t$ with $g_t = -\ell'(\langle A_t, M\rangle)$ |
# | Frank-Wolfe gap | $g(M) = \max_{\text{atoms } B} \langle G, M - B\rangle \ge f(M) - f^\star$ |
#
# </details>

# %% [markdown]
# ## The paper's directions, with counts
#
# The exact search sums $G$ over the triplets, in a dictionary of entries. The heuristic computes
# the diagonal and two rows. To compute the row of a feature, the heuristic needs only the triplets that contain this feature.
# `visits` counts the multiplications and the entries that a search reads. Every triplet has the slope 1.

# %%
def rows_of(X):
    """Return the points as dictionaries."""
    return [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def difference(y, z):
    """Return the difference of two points."""
    step = dict(y)
    for j, value in z.items():
        step[j] = step.get(j, 0.0) - value
    return step


# %%
def exact_counted(points, triplets):
    """Return the best value over all atoms, the visits, and the number of stored entries."""
    G = {}
    visits = 0
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
    """Return the row of a feature in G plus its transpose, and the visits."""
    row = {}
    visits = 0
    for x, step in zip(triplets[:, 0].tolist(), steps, strict=True):
        visits += 2
        for one, other in ((points[x], step), (step, points[x])):
            if feature not in one:
                continue
            for j, b in other.items():
                row[j] = row.get(j, 0.0) + one[feature] * b
                visits += 1
    return row, visits


# %%
def heuristic_counted(points, triplets, first):
    """Return the value of the atom that the heuristic finds from a feature, the visits, and the
    number of stored entries."""
    diagonal = {}
    visits = 0
    steps = [difference(points[y], points[z]) for _, y, z in triplets.tolist()]
    for x, step in zip(triplets[:, 0].tolist(), steps, strict=True):
        for i, a in points[x].items():
            visits += 1
            if i in step:
                diagonal[i] = diagonal.get(i, 0.0) + a * step[i]
    stored = len(diagonal)
    feature = first
    for _ in range(2):
        row, more = row_counted(triplets, points, steps, feature)
        others = (row.keys() | diagonal.keys()) - {feature}
        values = {j: diagonal.get(j, 0.0) + abs(row.get(j, 0.0)) for j in others}
        own = diagonal.get(feature, 0.0)
        feature, value = max(values.items(), key=lambda item: item[1])
        stored = max(stored, len(diagonal) + len(row))
        visits += more + len(values)
    return own + value, visits, stored

# %% [markdown]
# ## Does it match?
#
# We compare the values of the best atom, and the values of the atoms that the heuristic finds from several features.

# %%
class First:
    """Replaces a random generator, and draws the given feature."""

    def __init__(self, feature):
        self.feature = feature

    def integers(self, high):
        return self.feature


X = random_points(60, 80, 8)
triplets = some_triplets(60, 150)
points = rows_of(X)
constraints = Constraints(X, triplets)
constraints.set_slopes(np.ones(len(triplets)))
slow, visits, stored = exact_counted(points, triplets)
assert np.isclose(slow, exact(constraints).value)
firsts = range(0, 80, 8)
for first in firsts:
    value = heuristic_counted(points, triplets, first)[0]
    assert np.isclose(value, heuristic(constraints, First(first)).value)
print(f"best value {slow:.4f} from {visits} visits, {stored} stored entries; ", end="")
print("the library finds the same value")
print(f"from each of {len(firsts)} first features the library's heuristic finds the same value")

# %% [markdown]
# ## Exponents
#
# One of $d$, $s$ and $T$ varies, and the other two are fixed. The exponent is the slope of the logarithm of the
# visits. The heuristic starts at a feature of the first points, so that its row is not empty. Its
# visits are averaged over six such features.

# %%
def exponent(x, y):
    """Return the power of x with which y grows."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def measured(n=150, d=20_000, s=12, T=300):
    """Return visits and stored entries of the exact search, and then of the heuristic."""
    X = random_points(n, d, s)
    triplets = some_triplets(n, T)
    points = rows_of(X)
    _, all_visits, all_stored = exact_counted(points, triplets)
    few = [heuristic_counted(points, triplets, first)[1:] for first in X.indices[:6].tolist()]
    return all_visits, all_stored, *np.mean(few, axis=0)


ranges = {"d": (2_000, 20_000, 200_000, 1_000_000), "s": (5, 10, 20, 40), "T": (100, 200, 400, 800)}
names = (
    "exact: visits", "exact: stored entries", "heuristic: visits", "heuristic: stored entries",
)
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
        limits = np.array((4 * T * s * s, 2 * T * s * s, 12 * T * s, 3 * T * s))
        assert np.all(row <= limits), setting
print("exact search: at most 4 T s^2 visits and 2 T s^2 stored entries; ", end="")
print("heuristic: at most 12 T s visits and 3 T s stored entries")

# %%
figure, axes = figures.panels(3, width=11.0, height=3.2, sharey=True)
spans = []
for ax, key in zip(axes, ranges, strict=True):
    named = {
        "exact": (ranges[key], counts[key][:, 0]),
        "heuristic": (ranges[key], counts[key][:, 2]),
    }
    spans.append(f"Against {key}: {figures.ends(named, '{:.1e}')}")
    labels = {"xlabel": key, "ylabel": "visits", "title": f"against {key}"}
    figures.lines(named, ax=ax, log="xy", marks=True, **labels)
figures.show(
    "Lines show the visits of a direction against the dimension d, the nonzeros s and the "
    "triplets T, on logarithmic axes. From the left end to the right end they change as follows. "
    f"{'. '.join(spans)}."
)

# %% [markdown]
# The heuristic stores at most $3 T s$ entries, and usually fewer. The exact search needs much more memory. For sparse points
# it stores nearly $2 T s^2$ entries, because few entries belong to two triplets.
#
# ## A mini-batch
#
# The search for a direction visits only the triplets of the batch. So $m s^2$ and $m s$ in
# the table are the counts above with $m$ in place of $T$. The line search still needs the
# margins of all $T$ triplets.

# %% tags=["HDSL19-B1"]
X = random_points(150, 20_000, 12)
triplets = some_triplets(150, 3200)
points = rows_of(X)
rng = np.random.default_rng(2)
batches = (100, 200, 400, 800)
by_batch = []
for m in batches:
    batch = triplets[rng.choice(len(triplets), m, replace=False)]
    of_exact = exact_counted(points, batch)[1]
    of_heuristic = [heuristic_counted(points, batch, f)[1] for f in X.indices[:4].tolist()]
    by_batch.append((of_exact, np.mean(of_heuristic)))
powers = [exponent(batches, column) for column in np.array(by_batch).T]
print(f"exponents in m: exact {powers[0]:.2f}, heuristic {powers[1]:.2f}")
assert all(abs(power - 1) < 0.1 for power in powers)

# %% [markdown]
# ## The away direction
#
# The value of an active atom is
# $\langle B, G\rangle = -\frac\lambda T \sum_t g_t\, (x_i \pm x_j)(v_i \pm v_j)$ with $v = y - z$.
# For each of $k$ atoms and each triplet it needs six numbers of three points, so the cost is $T k$. If a point is a list of
# entries that must be searched, the cost is $T k \log s$. The library sums the slopes
# of all triplets in one sparse matrix between points,
#
# $$W = \sum_t g_t\, (e_x e_y^\top - e_x e_z^\top), \qquad -\tfrac{T}{\lambda} \langle B, G\rangle = p^\top W p,
# \qquad p = X (e_i \pm e_j) .$$
#
# For an atom it visits only the points that *have* its features, and their partners in $W$. We count
# these visits for the active atoms of a run:

# %%
def pairs_of(triplets):
    """Return the different pairs (x, y) and (x, z) of the triplets."""
    return np.unique(np.vstack((triplets[:, :2], triplets[:, ::2])), axis=0)


def away_visits(X, triplets, atoms):
    """Count the partners of the points that have the rarer feature of an atom, summed over the
    atoms."""
    partners = np.bincount(pairs_of(triplets).ravel(), minlength=X.shape[0])
    columns = X.tocsc()
    size = np.diff(columns.indptr)
    rarer = np.where(size[atoms[:, 0]] <= size[atoms[:, 1]], atoms[:, 0], atoms[:, 1])
    visits = []
    for i in rarer:
        having = columns.indices[columns.indptr[i] : columns.indptr[i + 1]]
        visits.append(partners[having].sum())
    return np.cumsum(visits)


# %% tags=["HDSL19-B1", "nbval-ignore-output"]
X = random_points(300, 3000, 20)
triplets = some_triplets(300, 3000)
solver = FrankWolfe(30.0, forward="exact", max_iter=120).fit(X, triplets)
atoms = np.random.default_rng(3).permutation(solver.similarity_.atoms)
visits = away_visits(X, triplets, atoms)
k = np.arange(1, len(atoms) + 1)
power = exponent(k[5:], visits[5:])
print(f"{len(atoms)} active atoms after 120 iterations")
print(f"exponent in k: {power:.2f};  visits / (T k): {visits[-1] / (3000 * k[-1]):.4f}")
assert abs(power - 1) < 0.1 and np.all(visits <= 3000 * k)

# %% tags=["HDSL19-B1"]
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
print(f"for {len(atoms)} atoms the library's value is the sum over the triplets, to 1e-5 of it")

# %% [markdown]
# ## Memory
#
# The library stores the points by row and by column, the triplets and the entries of $W$. It also
# stores the shared features of each pair, if their list is no longer than these arrays. It never stores
# $G$. The table shows the size of all its arrays, in numbers of 8 bytes, in total and for each triplet and stored entry:

# %%
def arrays_in(thing):
    """Return the number of bytes of the arrays in an object."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple | list):
        return sum(map(arrays_in, thing))
    if sparse.issparse(thing):
        return sum(map(arrays_in, (thing.indptr, thing.indices, thing.data)))
    return 0


def size_of(n, d, s, T):
    """Return the size of the library's arrays, in numbers of 8 bytes."""
    constraints = Constraints(random_points(n, d, s), some_triplets(n, T))
    return sum(map(arrays_in, vars(constraints).values())) / 8.0


# %% tags=["HDSL19-B1"]
usual = {"n": 300, "d": 10_000, "s": 20, "T": 3000}
changes = (
    {}, {"d": 100_000}, {"d": 1_000_000}, {"s": 40}, {"s": 80}, {"T": 12_000}, {"n": 1200},
)
print("   n        d    s      T   numbers   per (T + nnz)   T s^2")
shown = []
for change in changes:
    setting = usual | change
    n, d, s, T = setting.values()
    numbers = size_of(**setting)
    shown.append(numbers / (T + n * s))
    print(f"{n:4} {d:8} {s:4} {T:6} {numbers:9.0f} {shown[-1]:15.1f} {T * s * s:8}")
assert max(shown) < 20.0 and shown[2] < 1.3 * shown[0]

# %% [markdown]
# The memory is at most a constant times $T + \mathrm{nnz}(X)$, for every $d$. The library does not store $T s^2$ numbers: it
# computes each row of the gradient when it needs this row, and then discards it.
#
# ## Seconds
#
# The next cells measure the processor time of the library, on the machine that made this page. The first table varies $d$,
# for 500 points of 30 entries and 5000 triplets.

# %%
def seconds(function, before, repeats=9):
    """Return the median processor time of a call."""
    times = []
    for _ in range(repeats + 1):
        before()
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return np.median(times[1:])


def timed(n=500, d=10_000, s=30, T=5000):
    """Return the processor times of the heuristic and of the exact search."""
    constraints = Constraints(random_points(n, d, s), some_triplets(n, T))
    rng = np.random.default_rng(0)

    def before():
        constraints.set_slopes(np.ones(T))

    of_heuristic = seconds(lambda: heuristic(constraints, rng), before)
    of_exact = seconds(lambda: exact(constraints), before, 2)
    return of_heuristic, of_exact


# %% tags=["nbval-ignore-output"]
dimensions = (10_000, 100_000, 1_000_000)
by_d = np.array([timed(d=d) for d in dimensions])
iterations = []
for d in dimensions:
    X = random_points(500, d, 30)
    triplets = some_triplets(500, 5000)
    begun = time.process_time()
    FrankWolfe(30.0, max_iter=300).fit(X, triplets)
    iterations.append((time.process_time() - begun) / 300)
print("        d   heuristic   exact   iteration (microseconds)")
for d, (of_heuristic, of_exact), iteration in zip(dimensions, by_d, iterations, strict=True):
    print(f"{d:9} {1e6 * of_heuristic:11.0f} {1e6 * of_exact:7.0f} {1e6 * iteration:11.0f}")
print("time of an iteration at d = 10^6, divided by the time at d = 10^4: ", end="")
print(f"{iterations[-1] / iterations[0]:.2f}")

# %% tags=["nbval-ignore-output"]
larger = {"s": (15, 30, 60, 120), "T": (2500, 5000, 10_000, 20_000)}
by = {key: np.array([timed(**{key: value}) for value in values]) for key, values in larger.items()}
measurements = [("d", dimensions, by_d), *((key, larger[key], by[key]) for key in larger)]
figure, axes = figures.panels(3, width=11.0, height=3.2, sharey=True)
spans = []
for ax, (key, x, y) in zip(axes, measurements, strict=True):
    named = {"exact": (x, 1e3 * y[:, 1]), "heuristic": (x, 1e3 * y[:, 0])}
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
# At these sizes the exponents of the time are smaller than the exponents of the counts, because each call has fixed
# costs and makes passes over all features in use.
#
# ## Break it
#
# The costs do not depend on $d$ only if $s$ does not grow with $d$. For dense points $s = d$, and the exponents in $d$
# are 2 and 1.

# %%
widths = (8, 16, 32, 64)
dense = []
for d in widths:
    points = rows_of(random_points(40, d, d))
    triplets = some_triplets(40, 60)
    dense.append((exact_counted(points, triplets)[1], heuristic_counted(points, triplets, 0)[1]))
powers = [exponent(widths, column) for column in np.array(dense).T]
print(f"dense points, exponents in d: exact {powers[0]:.2f}, heuristic {powers[1]:.2f}")
assert abs(powers[0] - 2) < 0.1 and abs(powers[1] - 1) < 0.15

# %% [markdown]
# The counts of an iteration do not depend on $d$. But the progress of a heuristic iteration
# depends on $d$, as notebook [`43-hdsl-forward-directions`](43-hdsl-forward-directions.ipynb) shows.
#
# ## Exercise
#
# The triplets of the paper combine 3 targets and 5 impostors of each point: $T = 15 n$. How many
# entries does $W$ have? How does the cost of a row of the gradient change with 20 targets and 20 impostors?
#
# <details>
# <summary><b>Solution</b></summary>
#
# A triplet $(x, y, z)$ contributes to the pairs $(x, y)$ and $(x, z)$ only. The triplets of a point with $p$
# targets and $q$ impostors have $p + q$ pairs. So $W$ has at most $8n$ entries for $15 n$ triplets,
# and at most $40 n$ entries for $400 n$ triplets. The cost of a row is proportional to its pairs: 27 times as many triplets
# cost 5 times as much. Only the slopes, a pass over $T$ numbers, grow with $T$.
#
# </details>

# %%
points, labels = datasets.load("digits", return_X_y=True)
for p, q in ((3, 5), (20, 20)):
    triplets = nearest_triplets(points[:200], labels[:200], p, q)
    with_all = np.flatnonzero(np.bincount(triplets[:, 0]) == p * q)
    complete = triplets[np.isin(triplets[:, 0], with_all)]
    print(f"{p:2} targets, {q:2} impostors: {len(triplets) / 200:6.1f} triplets ", end="")
    print(f"and {len(pairs_of(triplets)) / 200:5.1f} pairs for each point")
    assert len(pairs_of(complete)) * p * q == len(complete) * (p + q)

# %% [markdown]
# ## Fine print
#
# * **Slopes.** Triplets with margin 1 or more have slope 0, and the solver skips them. The counts above are for
#   slopes of 1, the worst case.
# * **Exact search in the library.** The library bounds every row by the Cauchy-Schwarz inequality. It searches
#   the rows by decreasing bound until no remaining row can have a better atom. It needs no $T s^2$ entries, but in the worst
#   case it computes many rows of $O(\mathrm{nnz}(X))$ each.
# * **Line search.** It makes a few passes over $T$ numbers.
# * **Logarithms.** The table leaves them out. A look-up in a dictionary takes constant time on
#   average.
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning*, Neurocomputing
#   333, 2019: section 3.2.2, Table 1.
