# %% [markdown]
# # Which links are missing, in a million dimensions?
#
# This notebook runs HDSL19 Figure 3. The points are nodes of a network, described by very many sparse features, and links are signed. A similarity that is
# learned from 1000 links must predict the sign of 1000 others. The number of nodes and links stays the same while the number of features
# grows to a million.
#
# At the end you will have seen how the area under the ROC curve falls with the dimension, and that more triplets per link help. You will
# also have seen that the memory of an iteration depends on the numbers that are stored, not on the dimension, and that its time grows with
# the number of features that occur.
#
# `safescreen run 71-link-prediction --profile paper` runs it at the paper's size.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `ds` | numbers of features | 5 000 to 1 000 000 |
# | `sparsities` | share of entries that are not zero at the first and the last d; a power of d at the others | 0.02, 0.002 |
# | `n`, `n_links` | nodes; links for each of training, validation, test | 500, 1000 |
# | `share` | a link joins a node to one of the most (least) similar nodes, so many percent of all | 5 |
# | `frequent` | the smallest frequency of a feature that the truth uses | 0.1 |
# | `per_link` | triplets per training link | several |
# | `n_bases` | atoms of the truth | 100 |
# | `scales` | $\lambda$, chosen on the validation links together with the iteration | |
# | `max_iter`, `every`, `patience` | largest number of iterations, iterations between checks, and checks without progress before the stop | |
# | `draws`, `seed` | number of independent draws of points, truth and links, and the seed | 5 |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
ds = "2000,20000,200000"
sparsities = "0.03,0.003"
n = 300
n_links = 400
share = 5.0
frequent = 0.1
per_link = "1,5"
n_bases = 30
scales = "10,100"
max_iter = 600
every = 25
patience = 6
draws = 2
seed = 0
output_dir = ""
rows_dir = ""

# %%
import time
import tracemalloc

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from safescreen import hdsl
from safescreen_book import Recorder, figures, wording
from safescreen_book.protocols import hdsl as lab
from safescreen_book.protocols import judging, spread

record = Recorder(output_dir, rows_dir)
print(record.origin())
limits = threadpool_limits(1)
dims = [int(text) for text in ds.split(",")]
counts = [int(text) for text in per_link.split(",")]
grid = [float(text) for text in scales.split(",")]
first, last = (float(text) for text in sparsities.split(","))
exponent = np.log(last / first) / max(np.log(dims[-1] / dims[0]), 1e-9)
density = {d: float(first * (d / dims[0]) ** exponent) for d in dims}

# %% [markdown]
# ## Data, and Figure 3 (a): how often a feature is present
#
# Features are as unequal as words: feature j is present in a share $\min(\frac12, c/j)$ of the nodes. The
# truth uses frequent features only. The learner sees all features and does not know which of them the truth uses.


# %%
def drawn(d, number):
    """Return the truth, the nodes, the links for training, validation and test, the signs that the
    learner may see, and the random state."""
    rng = np.random.default_rng([seed, number, d])
    frequencies = lab.power_law(d, density[d])
    allowed = np.flatnonzero(frequencies >= frequent)
    truth = lab.random_similarity(d, n_bases, features=allowed, random_state=rng)
    points = lab.sparse_points(n, frequencies, random_state=rng)
    links, signs = lab.graded_links(truth(points), 3 * n_links, share / 100, random_state=rng)
    parts = np.split(links, 3)
    for part in parts[1:]:  # the learner must not see the links that judge it
        signs[part[:, 0], part[:, 1]] = signs[part[:, 1], part[:, 0]] = 0
    return truth, points, parts, signs, rng


print("features, frequent features, entries per node:")
for d in dims:
    f = lab.power_law(d, density[d])
    print(f"{d:9d} {np.count_nonzero(f >= frequent):6d} {f.sum():8.0f}")

# %%
middle = dims[len(dims) // 2]
frequencies = lab.power_law(middle, density[middle])
curve = {f"d = {middle}": (np.arange(1, middle + 1), frequencies)}
n_frequent = np.count_nonzero(frequencies >= frequent)
dots = {f"at least {frequent:g}: may matter": ([n_frequent], [frequent])}
labels = {"xlabel": "feature", "ylabel": "frequency"}
title = "Figure 3(a): how often a feature is present"
figure, axes = figures.panels(1, width=4.8, height=3.1)
figures.lines(curve, dots=dots, ax=axes, title=title, log="xy", **labels)
record.figure("frequencies", figure)
figures.show(
    "A line shows the frequency of each feature against its rank, on logarithmic axes. A dot "
    "marks the last feature that is frequent enough for the truth to use it."
)

# %% [markdown]
# ## Run
#
# A link (x1, x2, +) becomes triplets (x1, x2, x3), where x3 is a node with a negative link to x1. A link (x1, x2, -) becomes triplets
# (x1, x3, x2), where x3 is a node with a positive link to x1. The signs of x3 come from all links of the network except the links of the validation and test parts. The best validation
# AUC chooses $\lambda$ and the iteration. The test links judge this choice once. For comparison the table has the plain dot product and the
# truth itself.


# %%
def auc(similarity, points, links):
    """Return the area under the ROC curve of the similarities of linked nodes."""
    a, b, sign = links.T
    if similarity is None:
        scores = np.asarray(points[a].multiply(points[b]).sum(axis=1)).ravel()
    else:
        projected = similarity.transform(points)
        scores = np.asarray(projected[a].multiply(projected[b]).sum(axis=1)).ravel()
    return float(roc_auc_score(sign, scores))


def learn(points, triplets, validation, number):
    """Return the best validation AUC, with its scale and its solver."""
    best = None
    for scale in grid:
        options = {"max_iter": max_iter, "check_every": every, "patience": patience}
        solver = hdsl.FrankWolfe(scale, random_state=number, **options)
        solver.fit(points, triplets, lambda similarity: 1.0 - auc(similarity, points, validation))
        found = auc(solver.similarity_, points, validation)
        if best is None or found > best[0]:
            best = found, scale, solver
    return best


# %%
def of_draw(dimension, draw):
    """Return the tables of a draw in a dimension: a row for each number of triplets per link, and
    the seconds of learning.
    """
    truth, points, (training, validation, test), signs, rng = drawn(dimension, draw)
    common = {"d": dimension, "draw": draw, "threads": 1, "seed": seed, "nnz": points.nnz}
    common |= {"dot": auc(None, points, test), "truth": auc(truth, points, test)}
    learned = []
    seconds = 0.0
    for count in counts:
        triplets = lab.link_triplets(training, signs, count, random_state=rng)
        started = time.process_time()
        found, scale, solver = learn(points, triplets, validation, draw)
        seconds += time.process_time() - started
        similarity = solver.similarity_
        row = {"per_link": count, "n_triplets": len(triplets), "scale": scale}
        row |= {"iterations": solver.n_iter_, "validation": found}
        row |= {"test": auc(similarity, points, test), "n_features": similarity.features.size}
        row["right_features"] = float(np.isin(similarity.features, truth.features).mean())
        learned.append(common | row)
    return {"results": pd.DataFrame(learned), "timings": pd.DataFrame([{"run": seconds}])}


# %%
if record.computes:
    from sklearn.metrics import roc_auc_score

    tables = record.parts(of_draw, dimension=dims, draw=range(draws))
    record.rows("results", tables["results"])
    record.rows("timings", tables["timings"].sum().to_frame().T)

# %%
results = record.read("results")
grouped = results.groupby(["per_link", "d"])
columns = ["dot", "validation", "test", "truth", "n_features", "right_features", "scale"]
table = grouped[columns].mean()
table.insert(3, "+-", grouped["test"].sem())
record.table("table_auc", table.reset_index())
shown = table.drop(columns=["n_features"]).round({"scale": 0})
print(shown.to_string(float_format="{:.2f}".format, na_rep="-"))

# %% [markdown]
# ## Figure 3 (b): links that the learner has not seen

# %%
means = table["test"].unstack("per_link")
figure, axes = figures.panels(1, width=5.4, height=3.6)
curves = {}
for count in counts:
    curves[f"{count} triplet{'s' * (count > 1)} a link"] = dims, means[count].to_numpy()
curves["dot"] = dims, results.groupby("d")["dot"].mean().to_numpy()
labels = {"xlabel": "features $d$", "ylabel": "AUC on the test links"}
title = "Figure 3(b): unseen links"
figures.lines(curves, ax=axes, title=title, log="x", marks=True, **labels)
record.figure("auc", figure)
figures.show(
    "Curves show the area under the ROC curve on unseen links against the number of features, for "
    "each number of triplets per link and for the dot product. Means over the numbers of features: "
    f"{figures.listed(curves)}."
)

# %% [markdown]
# ## The cost of an iteration
#
# The gradient has $d^2$ entries and is never formed. The memory of an iteration grows with the entries of X, the triplets and the atoms. The
# table has the CPU time and the peak memory of a training of fixed length, on the first draw of each dimension, without the memory of the
# points themselves.


# %%
def cost_of(d):
    """Return the row of the cost of a training on the first draw."""
    _, points, (training, _, _), signs, rng = drawn(d, 0)
    triplets = lab.link_triplets(training, signs, counts[-1], random_state=rng)
    solver = hdsl.FrankWolfe(grid[-1], max_iter=100)
    started = time.process_time()
    solver.fit(points, triplets)
    total = time.process_time() - started
    tracemalloc.start()
    hdsl.FrankWolfe(grid[-1], max_iter=3).fit(points, triplets)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return {
        "d": d,
        "nnz": points.nnz,
        "triplets": len(triplets),
        "ms an iteration": 10.0 * total,
        "peak MB": peak,
        "MB of d x d": 8.0 * d * d / 2**20,
        "bytes per stored number": peak * 2**20 / (points.nnz + 3 * len(triplets)),
    }


if record.computes:
    record.rows("costs", pd.DataFrame([cost_of(d) for d in dims]))
costs = record.read("costs")
print(costs.to_string(index=False, float_format="{:.3g}".format))

# %% [markdown]
# In this table the points of more dimensions have more entries. Next we spread the same number of entries and of triplets over $10^4$ or
# over $10^6$ features. Then only the number of features that occur differs, and it is at most nnz(X). The ratio is a median over five pairs of
# trainings; the two trainings of a pair run one after the other.


# %%
def equally_full(d):
    """Return points of about 30 entries, spread over d features, and triplets of these points."""
    points = lab.sparse_points(500, np.full(d, 30 / d), random_state=seed)
    order = np.random.default_rng(seed)
    return points, np.array([order.choice(500, 3, replace=False) for _ in range(5000)])


# %%
if record.computes:
    equal = {d: equally_full(d) for d in (10**4, 10**6)}
    times = {d: [] for d in equal}
    for repeat in range(6):
        for d, (points, triplets) in equal.items():
            started = time.process_time()
            hdsl.FrankWolfe(30.0, max_iter=150, random_state=repeat).fit(points, triplets)
            times[d].append((time.process_time() - started) / 150)
    for d, (points, _) in equal.items():
        m = np.unique(points.indices).size
        microseconds = f"{1e6 * np.median(times[d][1:]):.0f} microseconds per iteration"
        print(f"d = {d:7d}: {points.nnz} entries of {m} features, {microseconds}")
    pairs = np.divide(times[10**6], times[10**4])[1:]
    of = "an iteration at d = 10^6 over one at d = 10^4"
    record.rows("ratios", pd.DataFrame([{"of": of} | spread.kept_ratios(pairs)]))
    print(f"an iteration at d = 10^6 / at d = 10^4: {np.median(pairs):.2f}")

# %% [markdown]
# ## Facts at every size

# %% tags=["HDSL19-F3"]
top = means[counts[-1]]
dot = results.groupby("d")["dot"].mean()
for d in top.index:
    learned = f"{top[d]:.2f} with the most triplets"
    print(f"d = {d}: area under the curve {learned}, {dot[d]:.2f} by the dot product")
assert (results["test"] <= results["truth"] + 1e-12).all(), "links are judged by the truth"
share_of_square = costs["peak MB"].iloc[-1] / costs["MB of d x d"].iloc[-1]
assert share_of_square < 0.01, "nothing of d x d is stored"

# %% [markdown]
# ## A counter-example: links that must not be seen
#
# The nodes x3 are drawn from the network without the validation and test links. With these links in the network some triplets would
# contain a test link. The cell counts these triplets.


# %%
def seen(triplets, hidden):
    """Return the share of the triplets that contain a hidden link."""
    count = 0
    for x, y, z in triplets.tolist():
        count += frozenset((x, y)) in hidden or frozenset((x, z)) in hidden
    return count / len(triplets)


if record.computes:
    truth, points, (training, validation, test), signs, rng = drawn(dims[0], 0)
    _, told = lab.graded_links(truth(points), 2, share / 100)
    leaky = lab.link_triplets(training, told, counts[-1], random_state=rng)
    hidden = {frozenset(pair) for pair in np.concatenate((validation, test))[:, :2].tolist()}
    honest = lab.link_triplets(training, signs, counts[-1], random_state=rng)
    assert seen(honest, hidden) == 0.0 < seen(leaky, hidden)
    print(f"triplets that contain a hidden link: {seen(honest, hidden):.0%}")
    print(f"without the precaution: {seen(leaky, hidden):.0%}")

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. Each draw gives a value. A conclusion is undecided if the 95 % interval of the mean
# value, by Student, covers the bound.
#
# *Slowly*: a fall of at most 0.043 for each factor of ten, which leads from 1 at 5 000 features to 0.9 at a million. *Roughly
# logarithmically*: a straight line in $\log d$ explains more of the variance over the dimensions than a line in $d$. *Tends to
# improve*: the mean over the dimensions improves, within a draw.

# %%
by = results.pivot(index="draw", columns=["per_link", "d"], values="test")
best = by[counts[-1]]
of_most = results[results["per_link"] == counts[-1]]
dot = of_most.pivot(index="draw", columns="d", values="dot")
log_d = np.log10(dims)


def explained(positions):
    """Return the share of the variance over the dimensions that a line in these positions
    explains, for each draw."""
    shares = []
    for values in best[dims].to_numpy():
        varies = np.ptp(values) > 0.0
        shares.append(np.corrcoef(positions, values)[0, 1] ** 2 if varies else 0.0)
    return np.array(shares)


# %%
values = {
    "highest dimension": best[dims[-1]],
    "over the dot product": (best - dot).min(axis=1),
    "iteration at a million": spread.again_ratios(record.read("ratios").loc[0]),
}
if len(dims) > 1:
    values["fall"] = best[dims[0]] - best[dims[-1]]
    values["fall for each factor of ten"] = values["fall"] / (log_d[-1] - log_d[0])
if len(dims) > 2:
    values["explained by the logarithm"] = explained(log_d) - explained(np.array(dims, dtype=float))
if len(counts) > 1:
    values["more triplets"] = (by[counts[-1]] - by[counts[0]]).mean(axis=1)
words = {"fewest": f"{dims[0]:,}", "most": f"{dims[-1]:,}"}
words["per_link"] = f"{counts[-1]} triplets a link"
words |= {"fewest_triplets": counts[0], "most_triplets": counts[-1]}
conclusions = judging.judge(
    "71-link-prediction", f"up to {dims[-1]} features", {"values": values}, words=words
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = []
for count in counts:
    for d in dims:
        row = table.loc[(count, d)]
        comparison.append({
            "quantity": f"AUC at {d} features, {count} triplets a link",
            "paper": "above 0.9" if d == 10**6 else "-",
            "ours": f"{row['test']:.3f}",
            "note": f"standard error {row['+-']:.3f}, {draws} draws",
        })
record.table("comparison", pd.DataFrame(comparison))

# %%
low = costs.iloc[0]
high = costs.iloc[-1]
seconds = (
    f"An iteration takes {low['ms an iteration']:.1f} ms at d = {dims[0]} and "
    f"{high['ms an iteration']:.1f} ms at d = {dims[-1]}"
)
stored = f"where {costs['nnz'].iloc[-1]} numbers are stored instead of {costs['nnz'].iloc[0]}"
square = f"a matrix of d x d would take {high['MB of d x d'] / 1024:.0f} GB"
memory = f"peak memory {high['peak MB']:.0f} MB, {square}."
record.summary(
    timings={"run": round(float(record.read("timings").loc[0, "run"]), 3)},
    explanation=[f"{seconds}, {stored}; {memory}"],
)
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Fine print
#
# The paper shows its feature frequencies as a curve without a formula. It does not say from which nodes x3 is drawn, which $\lambda$ it tried,
# nor how many triplets it takes per link. The table of parameters has our choices. Half of the links of every part are positive.
#
# K. Liu, A. Bellet, *Escaping the curse of dimensionality in similarity learning: efficient Frank-Wolfe
# algorithm and generalization bounds*, Neurocomputing 2019, section 5.1.2. Library:
# `safescreen_book.protocols.hdsl.graded_links`, `safescreen_book.protocols.hdsl.link_triplets`.
