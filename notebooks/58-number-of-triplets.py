# %% [markdown]
# # How many triplets?
#
# STS19 Figure 12 varies k, the number of neighbours that make triplets. With k neighbours of either kind an instance has $k^2$ triplets. A larger k costs time. Does a larger k reduce the error
# of a nearest-neighbour classifier with the learned metric? Panel (a) has the time of the path with the active set, without and with
# screening. Panels (b) to (d) have the test error with 10, 20 and 30 neighbours; validation data choose $\lambda$.
#
# We add triplets as products, which need no list of length $k^2$, and the error of the Euclidean metric.
#
# `safescreen run 58-number-of-triplets --profile laptop` runs it at another size.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `n_max` | data set; the largest number of instances (0: no limit) | phishing, all |
# | `ks` | numbers of neighbours | 2 to 15 or so |
# | `lam_high`, `lam_low`, `ratio` | the grid of $\lambda$; `lam_high` = 0: begin where all triplets are in L | $10^5$ to 0.1 |
# | `neighbours` | numbers of neighbours of the classifiers | 10, 20, 30 |
# | `draws`, `seed` | random splits 60/20/20, and the seed | 10 |
# | `timed` | the number of splits whose paths are timed (0: all); other splits give errors only, and are solved only at the $\lambda$ that are judged | all |
# | `every` | the validation data judge every so many solutions of the path | |
# | `gamma` | width of the smoothed hinge | 0.05 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | 0, $10^{-6}$ |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
dataset = "breast-cancer"
n_max = 0
ks = "2,6"
lam_high = 0.0
lam_low = 10.0
ratio = 0.5
neighbours = "10,20,30"
draws = 2
timed = 0
seed = 0
every = 1
gamma = 0.05
rtol = 0.0
tol = 1e-6
output_dir = ""
rows_dir = ""

# %%
import time

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, figures, wording
from safescreen_book.protocols import judging, path_runs

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(1)
limits = threadpool_limits(1)
k_list = [int(text) for text in ks.split(",")]
nn_list = [int(text) for text in neighbours.split(",")]
METHODS = {
    "ActiveSet": {"screening": (), "active_set": True},
    "ActiveSet+RRPB": {"screening": ("RRPB",), "active_set": True, "ranges": True},
    "product": {"screening": ()},
}

if record.computes:
    X_all, y_all = path_runs.draw(dataset, seed=seed, n_max=n_max)
    _, y_all = np.unique(y_all, return_inverse=True)
    print(f"{len(y_all)} instances, {X_all.shape[1]} features, {y_all.max() + 1} classes")

# %% [markdown]
# ## The classifier
#
# The classifier takes the majority among the nearest instances of the training part, by distances in the learned metric. If two classes
# have equally many votes, the smaller class number wins.


# %%
def vote_errors(M, train, other):
    """Return the error of the vote of each number of neighbours, shape (len(nn_list),)."""
    X, y = train
    Z, z = other
    XM = X @ M
    square = np.einsum("ij,ij->i", XM, X)
    distances = square - 2.0 * (Z @ XM.T)  # up to a constant in each row
    largest = max(nn_list)
    nearest = np.argpartition(distances, largest, axis=1)[:, :largest]
    order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
    labels = y[np.take_along_axis(nearest, order, axis=1)]
    votes = np.cumsum(labels[:, :, None] == np.arange(y_all.max() + 1), axis=1)
    return np.array([np.mean(votes[:, n - 1].argmax(axis=1) != z) for n in nn_list])


def split(number):
    """Return the training, validation and test part: 60, 20, 20 %."""
    order = np.random.default_rng(seed + number).permutation(len(y_all))
    cuts = np.split(order, [round(0.6 * len(order)), round(0.8 * len(order))])
    return [(X_all[rows], y_all[rows]) for rows in cuts]


# %% [markdown]
# ## Run
#
# For each split and k we time the path without and with screening, in processor seconds of one thread; at the largest k we also time the
# path with products. Then we compute the errors of the solutions. For each number of neighbours the smallest validation error chooses
# $\lambda$, the largest one if several have this error, and only the test error at this $\lambda$ counts. The paper does not print the
# ratio of its grid; we use 0.9, the ratio of its other paths.


# %%
compiled = set()


def timed_problems(number, k, lists, train):
    """Return the problems whose paths are timed in a split, by method."""
    if number >= (timed or draws):
        return {}
    problems = {"ActiveSet": lists, "ActiveSet+RRPB": lists}
    if k == k_list[-1]:
        products = ss.ProductTriplets(*train, k)
        problems["product"] = ss.Problem(products, ss.SmoothedHinge(gamma))
    return problems


def timed_path(name, problem, lams):
    """Return a path and its processor seconds. Before the first path of a method, a part of it is
    run to compile."""
    options = {"rtol": rtol, "tol": tol, "keep_masks": False, "extrapolate": False}
    options |= path_runs.algorithm(problem)
    options |= METHODS[name]
    if name not in compiled:
        ss.path(problem, lams[::4], **options)
        compiled.add(name)
    started = time.process_time()
    path = ss.path(problem, lams, **options)
    return path, time.process_time() - started


# %%
def spread_of(paths):
    """Return the largest difference of objectives, in units of what two gaps allow."""
    primal = [[s.primal for s in path] for path in paths]
    allowed = 2.0 * np.maximum(rtol * np.min(primal, axis=0), tol)
    return float(np.max(np.ptp(primal, axis=0) / allowed))


def chosen_errors(judged, train, validation, test):
    """Return the test error and lam that the validation error chooses for each classifier."""
    best = np.array([vote_errors(s.x, train, validation) for s in judged]).argmin(axis=0)
    chosen = {}
    for place, n in enumerate(nn_list):
        solution = judged[best[place]]
        chosen[f"error_{n}"] = vote_errors(solution.x, train, test)[place]
        chosen[f"lam_{n}"] = solution.lam
    return chosen


# %% [markdown]
# A part of the run is a split with one k. For k = 0 the metric is Euclidean.


# %%
def of_metric(draw, k):
    """Return the row of learned metrics, and the differences of the objectives of timed paths."""
    train, validation, test = split(draw)
    lists = ss.Problem(ss.Triplets.from_labels(*train, k), ss.SmoothedHinge(gamma))
    top = lam_high or 0.999 * lists.lam_max()
    lams = top * ratio ** np.arange(1 + int(np.log(lam_low / top) / np.log(ratio)))
    row = {"triplets": len(lists)}
    paths = {}
    for name, problem in timed_problems(draw, k, lists, train).items():
        paths[name], row[name] = timed_path(name, problem, lams)
    if paths:
        judged = paths["ActiveSet+RRPB"][::every]
    else:
        judged = ss.path(lists, lams[::every], rtol=rtol, tol=tol, keep_masks=False)
    spreads = [spread_of(list(paths.values()))] if paths else []
    return row | chosen_errors(judged, train, validation, test), spreads


def of_euclidean(draw):
    """Return the row of the Euclidean metric."""
    train, _, test = split(draw)
    errors = vote_errors(np.eye(X_all.shape[1]), train, test)
    return {f"error_{n}": error for n, error in zip(nn_list, errors, strict=True)}


# %%
COLUMNS = [*(f"error_{n}" for n in nn_list), *METHODS, *(f"lam_{n}" for n in nn_list)]


def of_k(draw, at_k):
    """Return the tables of a split and k: its row, and the differences of objectives."""
    row = {"draw": draw, "k": at_k, "triplets": 0} | dict.fromkeys(COLUMNS, np.nan)
    spreads = []
    if at_k == 0:
        row |= of_euclidean(draw)
    else:
        more, spreads = of_metric(draw, at_k)
        row |= more
    return {"results": pd.DataFrame([row]), "spreads": pd.DataFrame({"spread": spreads})}


if record.computes:
    tables = record.parts(of_k, draw=range(draws), at_k=[0, *k_list])
    record.rows("results", tables["results"].assign(dataset=dataset, seed=seed, threads=1))
    largest = tables["spreads"]["spread"].max()
    note = f"{largest:.1e} of what two gaps allow"
    fact = {"fact": "optimum", "holds": largest <= 1.0 + 1e-3, "note": note}
    record.rows("facts", pd.DataFrame([fact]))
    print("paths timed:", tables["results"][list(METHODS)].count().sum())

# %% [markdown]
# ## Errors, and the number of triplets

# %% tags=["STS19-F12"]
results = record.read("results")
optimum = record.read("facts").set_index("fact").loc["optimum"]
print(f"largest difference of the objectives of all methods: {optimum['note']}, at most 1 allowed")
mean = results.groupby("k").mean(numeric_only=True)
columns = [f"error_{n}" for n in nn_list]
print(mean[["triplets", *columns]].to_string(float_format="{:.3f}".format))
small = k_list[0]
large = k_list[-1]
growth = mean.loc[large, "triplets"] / mean.loc[small, "triplets"]
limit = (large / small) ** 2
assert 1.0 < growth <= limit, growth
print(f"triplets at k = {large} over triplets at k = {small}: {growth:.0f}, at most {limit:.0f}")

# %% [markdown]
# ## Figure 12

# %%
deviation = results.groupby("k")[columns].std(ddof=0)


def draw_seconds(ax, curves):
    """Draw the seconds of the path with each method against k."""
    labels = {"xlabel": "k", "ylabel": "CPU seconds of the path", "title": f"{dataset}: time"}
    figures.lines(curves, k_list, ax=ax, marks=True, **labels)
    ax.set_ylim(0.0, None)
    ax.set_xticks(k_list)


def draw_errors(ax, n):
    """Draw the test errors of n neighbours with their standard errors, and the Euclidean error."""
    values = mean.loc[k_list, f"error_{n}"]
    bars = deviation.loc[k_list, f"error_{n}"] / np.sqrt(draws)
    ax.errorbar(k_list, values, bars, fmt="-o", color="black", markersize=3.5)
    euclidean = mean.loc[0, f"error_{n}"]
    ax.axhline(euclidean, color="#555555", linewidth=0.9, linestyle=":")
    above = {"xytext": (0, 2), "textcoords": "offset points", "ha": "right"}
    ax.annotate("Euclidean", (k_list[-1], euclidean), color="#555555", **above)
    ax.set(xlabel="k", ylabel="test error", title=f"{n}-NN", xticks=k_list)
    ax.margins(y=0.15)


# %%
plt.rcParams.update(figures.STYLE)
rows = -(-(1 + len(nn_list)) // 2)
figure, axes = plt.subplots(rows, 2, figsize=(6.6, 2.5 * rows), layout="constrained")
axes = axes.ravel()
curves = {name: mean.loc[k_list, name] for name in ("ActiveSet", "ActiveSet+RRPB")}
draw_seconds(axes[0], curves)
for ax, n in zip(axes[1:], nn_list, strict=False):
    draw_errors(ax, n)
record.figure("triplets", figure)
figures.show(
    "Curves are drawn against k, the number of neighbours that make triplets. The first panel "
    "shows the CPU seconds of the path with each method: the means are "
    f"{figures.listed(curves)}. The other panels show the test error of nearest neighbours with "
    "standard errors, and dotted lines the error with the Euclidean distance."
)
print(mean.loc[k_list, list(METHODS)].to_string(float_format="{:.2f}".format, na_rep="-"))

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. Each split gives a value. A conclusion is undecided if the 95 % interval of the mean
# value, by Student, covers the bound.
#
# "k matters" compares the k that the paper found best for the classifier (6, 12 and 15; the nearest k that we ran) with the smallest k, and
# with the mean of the others. So our test errors choose nothing. The paper reads from its figure that the active set alone reaches k = 4, 8
# and 9 in the time that the best k take with screening: the next k that we ran has to take longer. Data sets other than phishing have
# conclusions of our own.

# %%
K_OF_PAPER = {10: 6, 20: 12, 30: 15}
"""For each classifier, the k of its smallest test error in the paper."""
K_WITHOUT = {10: 4, 20: 8, 30: 9}
"""The k that takes as long without screening as the best k takes with screening, in the paper."""
by_k = results[results["k"] > 0].pivot(index="draw", columns="k")
clocked = by_k.iloc[: timed or draws]
euclid = results[results["k"] == 0].set_index("draw")
seconds = {}
for name in METHODS:
    seconds |= {f"{name}, k = {number}": clocked[name, number] for number in k_list}
factors = {}
for number in k_list:
    factors[f"k = {number}"] = clocked["ActiveSet", number] / clocked["ActiveSet+RRPB", number]


# %%
def errors_of(n, chosen):
    """Return the errors of a classifier in each split, in percent, by k and of other choices."""
    errors = 100.0 * by_k[f"error_{n}"]
    return {f"k = {number}": errors[number] for number in k_list} | {
        "mean of the others": errors.drop(columns=chosen).mean(axis=1),
        "mean": errors.mean(axis=1),
        "Euclidean": 100.0 * euclid[f"error_{n}"],
    }


tables = {"seconds": seconds, "factors": factors}
words = {"small": small, "large": large}
for n, without in zip(nn_list, K_WITHOUT.values(), strict=False):
    wanted = K_OF_PAPER.get(n, n // 2)
    chosen = min(k_list, key=lambda k, wanted=wanted: abs(k - wanted))
    further = [k for k in k_list if without < k < chosen]
    words[f"best_{n}"] = chosen if chosen != small else "none"
    words[f"next_{n}"] = further[0] if further else "none"
    tables[f"{n}-NN"] = errors_of(n, chosen)

# %%
is_paper = dataset == "phishing" and not n_max and gamma == 0.05
conclusions = judging.judge(
    "58-number-of-triplets",
    dataset,
    tables,
    facts={"optimum": (optimum["holds"], optimum["note"])},
    words=words,
    whose=path_runs.whose(is_paper, rtol, tol),
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = []
for n in nn_list:
    best = int(mean.loc[k_list, f"error_{n}"].idxmin())
    quantity = f"k of the smallest test error, {n}-NN"
    euclidean = f"Euclidean {mean.loc[0, f'error_{n}']:.4f}"
    note = f"error {mean.loc[best, f'error_{n}']:.4f}, {euclidean}"
    comparison.append((quantity, K_OF_PAPER.get(n, "-"), best, note))
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(results[list(METHODS)].sum().sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The paper's numbers are for phishing. On other data the curves of the error differ.
#
# Time grows with k, but not with $k^2$. A pass over listed triplets computes 2k distances for each instance, each of cost d, and then one
# subtraction for each of $k^2$ triplets. As long as k is small compared with 2d, the distances take most of the time. Screening saves a
# distance only if all triplets of its pair are screened. Products need the distances too (2k distances and a sort). In the paper each
# triplet costs a matrix product.
