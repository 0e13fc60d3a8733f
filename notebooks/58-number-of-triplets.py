# %% [markdown]
# # How many triplets?
#
# STS19 Figure 12: k neighbours of either kind make $k^2$ triplets an instance. A larger k costs time. Does it pay in the
# error of a nearest-neighbour classifier with the learned metric? (a) time of the path with the active set, without and
# with screening; (b)-(d) test error with 10, 20 and 30 neighbours, $\lambda$ chosen on validation data.
#
# Added here: triplets as products, which have no list of length $k^2$, and the error of the Euclidean metric.
#
# Run it at another size with `safescreen run 58-number-of-triplets --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `n_max` | data set; no more instances than that (0: no limit) | phishing, all |
# | `ks` | numbers of neighbours | 2 to 15 or so |
# | `lam_high`, `lam_low`, `ratio` | the grid of $\lambda$; 0 for `lam_high`: where all triplets are linear | $10^5$ to 0.1 |
# | `neighbours` | of the classifiers | 10, 20, 30 |
# | `draws`, `seed` | random splits 60/20/20, and the seed | 10 |
# | `timed` | in how many of them paths are timed (0: all); the rest, solved only where they are judged, are for the errors | all |
# | `every` | each so-many-th solution is judged on the validation data | |
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
# Majority among the nearest instances of the training part, distances in the learned metric; of equally many votes the
# smaller class number wins.


# %%
def vote_errors(M, train, other):
    """Error of the vote of each number of neighbours, shape (len(nn_list),)."""
    (X, y), (Z, z) = train, other
    XM = X @ M
    square = np.einsum("ij,ij->i", XM, X)
    distances = square - 2.0 * (Z @ XM.T)  # up to a constant a row
    nearest = np.argpartition(distances, max(nn_list), axis=1)[:, : max(nn_list)]
    order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
    labels = y[np.take_along_axis(nearest, order, axis=1)]
    votes = np.cumsum(labels[:, :, None] == np.arange(y_all.max() + 1), axis=1)
    return np.array([np.mean(votes[:, n - 1].argmax(axis=1) != z) for n in nn_list])


def split(number):
    """Training, validation and test part: 60, 20, 20 %."""
    order = np.random.default_rng(seed + number).permutation(len(y_all))
    cuts = np.split(order, [round(0.6 * len(order)), round(0.8 * len(order))])
    return [(X_all[rows], y_all[rows]) for rows in cuts]


# %% [markdown]
# ## Run
#
# For each split and k: the path without and with screening, at the largest k by products too, timed (processor seconds of one thread),
# then the errors of their solutions. The $\lambda$ of the smallest validation error is chosen for each number of neighbours, the largest
# such $\lambda$ if there are several, and only its test error counts. The ratio of the grid is not printed in the paper; 0.9 is that of
# its other paths.


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
    """Return a path and its processor seconds; the first of a method is run in part before."""
    options = {
        "rtol": rtol, "tol": tol, "keep_masks": False, "extrapolate": False,
        **path_runs.algorithm(problem), **METHODS[name]
    }
    if name not in compiled:
        ss.path(problem, lams[::4], **options)
        compiled.add(name)
    started = time.process_time()
    path = ss.path(problem, lams, **options)
    return path, time.process_time() - started


def spread_of(paths):
    """Return the largest difference of objectives, in units of what two gaps allow."""
    primal = [[s.primal for s in path] for path in paths]
    allowed = 2.0 * np.maximum(rtol * np.min(primal, axis=0), tol)
    return float(np.max(np.ptp(primal, axis=0) / allowed))


def chosen_errors(judged, train, validation, test):
    """Return the test error and lam that the validation error chooses for each classifier."""
    best = np.array([vote_errors(s.x, train, validation) for s in judged]).argmin(axis=0)
    found = {}
    for place, n in enumerate(nn_list):
        solution = judged[best[place]]
        found[f"error_{n}"] = vote_errors(solution.x, train, test)[place]
        found[f"lam_{n}"] = solution.lam
    return found


def of_k(draw, at_k):
    """Return the tables of a split and k: its row, and how far the objectives of its paths are from each other. For k = 0 the metric is
    Euclidean.
    """
    row = {"draw": draw, "k": at_k, "triplets": 0} | dict.fromkeys(COLUMNS, np.nan)
    train, validation, test = parts = split(draw)
    spreads = []
    if at_k == 0:
        euclid = vote_errors(np.eye(X_all.shape[1]), train, test)
        row |= {f"error_{n}": error for n, error in zip(nn_list, euclid, strict=True)}
    else:
        lists = ss.Problem(ss.Triplets.from_labels(*train, at_k), ss.SmoothedHinge(gamma))
        top = lam_high or 0.999 * lists.lam_max()
        lams = top * ratio ** np.arange(1 + int(np.log(lam_low / top) / np.log(ratio)))
        row["triplets"] = len(lists)
        paths = {}
        for name, problem in timed_problems(draw, at_k, lists, train).items():
            paths[name], row[name] = timed_path(name, problem, lams)
        if paths:
            spreads.append(spread_of(list(paths.values())))
            judged = paths["ActiveSet+RRPB"][::every]
        else:
            judged = ss.path(lists, lams[::every], rtol=rtol, tol=tol, keep_masks=False)
        row |= chosen_errors(judged, *parts)
    return {"results": pd.DataFrame([row]), "spreads": pd.DataFrame({"spread": spreads})}


COLUMNS = [*(f"error_{n}" for n in nn_list), *METHODS, *(f"lam_{n}" for n in nn_list)]
if record.computes:
    tables = record.parts(of_k, draw=range(draws), at_k=[0, *k_list])
    record.rows("results", tables["results"].assign(dataset=dataset, seed=seed, threads=1))
    largest = tables["spreads"]["spread"].max()
    note = f"{largest:.1e} of what two gaps allow"
    fact = {"fact": "optimum", "holds": largest <= 1.0 + 1e-3, "note": note}
    record.rows("facts", pd.DataFrame([fact]))
    print("paths timed:", tables["results"][list(METHODS)].count().sum())

# %% [markdown]
# ## What holds without a clock

# %% tags=["STS19-F12", "nbval-ignore-output"]
results = record.read("results")
optimum = record.read("facts").set_index("fact").loc["optimum"]
print("all methods reach the same objectives:", bool(optimum["holds"]))
mean = results.groupby("k").mean(numeric_only=True)
columns = [f"error_{n}" for n in nn_list]
print(mean[["triplets", *columns]].to_string(float_format="{:.3f}".format))
growth = mean.loc[k_list[-1], "triplets"] / mean.loc[k_list[0], "triplets"]
assert 1.0 < growth <= (k_list[-1] / k_list[0]) ** 2, growth
print(f"triplets from the smallest to the largest k: x {growth:.0f}")

# %% [markdown]
# ## Figure 12

# %% tags=["nbval-ignore-output"]
plt.rcParams.update(figures.STYLE)
rows = -(-(1 + len(nn_list)) // 2)
figure, axes = plt.subplots(rows, 2, figsize=(6.6, 2.5 * rows), layout="constrained")
axes = axes.ravel()
curves = {name: mean.loc[k_list, name] for name in ("ActiveSet", "ActiveSet+RRPB")}
labels = {"xlabel": "k", "ylabel": "CPU seconds of the path", "title": f"{dataset}: time"}
figures.lines(curves, k_list, ax=axes[0], marks=True, **labels)
axes[0].set_ylim(0.0, None)
axes[0].set_xticks(k_list)
deviation = results.groupby("k")[columns].std(ddof=0)
for ax, n in zip(axes[1:], nn_list, strict=False):
    values = mean.loc[k_list, f"error_{n}"]
    ax.errorbar(
        k_list,
        values,
        deviation.loc[k_list, f"error_{n}"] / np.sqrt(draws),
        fmt="-o",
        color="black",
        markersize=3.5,
    )
    euclidean = mean.loc[0, f"error_{n}"]
    ax.axhline(euclidean, color="#555555", linewidth=0.9, linestyle=":")
    ax.annotate("Euclidean", (k_list[-1], euclidean), (0, 2), textcoords="offset points",
                ha="right", color="#555555")
    ax.set(xlabel="k", ylabel="test error", title=f"{n}-NN", xticks=k_list)
    ax.margins(y=0.15)
record.figure("triplets", figure)
figures.show(
    "Curves go over k, the number of neighbours that triplets are made of. The first "
    "panel shows the CPU "
    f"seconds of the path with each method: the means are {figures.listed(curves)}. "
    "The others show the "
    "test error of nearest neighbours with standard errors; a dotted line is the error with the "
    "Euclidean distance."
)
print(mean.loc[k_list, list(METHODS)].to_string(float_format="{:.2f}".format, na_rep="-"))

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. Each split gives a value. A conclusion is undecided where the 95 % interval of their mean, by Student, covers the bound. "k matters" compares the k that the paper found best for the classifier (6, 12 and 15; the nearest one that was run) with the
# smallest one and with the mean of the others, so that nothing is chosen by looking at the test errors. The paper reads off its figure that
# the active set alone gets to k = 4, 8 and 9 in the time that these take with screening: the next k that was run has to take longer.
# Other data than phishing have rows of our own.

# %% tags=["nbval-ignore-output"]
# the k of its smallest test error, and below that it takes as long without screening with 4, 8 and 9
K_OF_PAPER = {10: 6, 20: 12, 30: 15}
best = {n: int(mean.loc[k_list, f"error_{n}"].idxmin()) for n in nn_list}
by_k = results[results["k"] > 0].pivot(index="draw", columns="k")
small = k_list[0]
large = k_list[-1]
clocked = by_k.iloc[: timed or draws]
euclid = results[results["k"] == 0].set_index("draw")
methods_at_k = [(name, number) for name in METHODS for number in k_list]
tables = {
    "seconds": {f"{name}, k = {number}": clocked[name, number] for name, number in methods_at_k},
    "factors": {
        f"k = {number}": clocked["ActiveSet", number] / clocked["ActiveSet+RRPB", number]
        for number in k_list
    },
}
words = {"small": small, "large": large}
for n, without in zip(nn_list, (4, 8, 9), strict=False):
    errors = 100.0 * by_k[f"error_{n}"]
    chosen = min(k_list, key=lambda k, n=n: abs(k - K_OF_PAPER.get(n, n // 2)))
    further = [k for k in k_list if without < k < chosen]
    words |= {
        f"best_{n}": chosen if chosen != small else "none",
        f"next_{n}": further[0] if further else "none",
    }
    tables[f"{n}-NN"] = {f"k = {number}": errors[number] for number in k_list} | {
        "mean of the others": errors.drop(columns=chosen).mean(axis=1),
        "mean": errors.mean(axis=1),
        "Euclidean": 100.0 * euclid[f"error_{n}"],
    }
whose = path_runs.whose(dataset == "phishing" and not n_max and gamma == 0.05, rtol, tol)
facts = {"optimum": (optimum["holds"], optimum["note"])}
conclusions = judging.judge(
    "58-number-of-triplets", dataset, tables, facts=facts, words=words, whose=whose
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = [
    {"quantity": f"k of the smallest test error, {n}-NN", "paper": K_OF_PAPER.get(n, "-"), "ours": best[n],
     "note": f"error {mean.loc[best[n], f'error_{n}']:.4f}, Euclidean "
             f"{mean.loc[0, f'error_{n}']:.4f}"}
    for n in nn_list
]  # fmt: skip
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(results[list(METHODS)].sum().sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The paper's numbers are for phishing. On other data the curves of the error differ. Time grows with k, but not with
# $k^2$: a pass over listed triplets computes 2k distances an instance, each of cost d, and then one subtraction for
# each of $k^2$ triplets. As long as k is small against 2d, most of the time goes into the distances. Screening saves a
# distance only if all triplets of its pair are gone, and products (2k distances and a sort) need the distances too. In
# the paper each triplet costs a matrix product.
