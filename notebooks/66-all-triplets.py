# %% [markdown]
# # All triplets of a data set
#
# Each point forms a triplet with each other point of its class and each point of another class: 5.2 × 10⁸ triplets for
# the 1797 digits of scikit-learn, 1.9 × 10¹³ for MNIST. A list of them does not fit into memory, so the papers take k
# neighbours of either kind. In the product form ([`25-product-triplets`](25-product-triplets.ipynb)) all triplets need only the
# points and a block of distances. At the end you will have seen the memory that both forms need, the cost of one evaluation,
# metrics learned from *all* triplets with a certified gap, and whether these metrics improve a nearest-neighbour classifier.
#
# `safescreen run 66-all-triplets --profile paper` runs it on MNIST.

# %% [markdown]
# ## Parameters
#
# | name | meaning | MNIST |
# |---|---|---|
# | `dataset`, `n_max` | data set; the largest number of points (0: no limit) | mnist, 0 |
# | `n_components` | principal components of the training part (0: the features as they are) | 32 |
# | `held_out`, `draws`, `seed` | share of the points that are held out for testing, the number of random splits, and the first seed | 1/6 |
# | `fractions` | the two $\lambda$, as fractions of $\lambda_{\max}$; we chose them before we saw any error | |
# | `k` | neighbours of either kind of the smaller problems, and of the classifier | |
# | `gamma`, `rtol` | width of the smoothed hinge; duality gap relative to the objective | |
# | `nca_max`, `nca_iter` | the largest number of points that train NCA, and of its iterations | 2000 |
# | `cluster`, `n_shards` | whether to evaluate on a Dask cluster on this machine too, and in how many shards | |
# | `threads` | number of threads of the evaluation; the results do not depend on it | |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
dataset = "digits"
n_max = 0
n_components = 0
held_out = 0.5
draws = 2
seed = 0
fractions = "0.01,0.0001"
k = 5
gamma = 0.05
rtol = 1e-3
nca_max = 2000
nca_iter = 30
cluster = False
n_shards = 8
threads = 1
output_dir = ""
rows_dir = ""

# %%
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, datasets, figures, wording
from safescreen_book.protocols import judging, path_runs

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(threads)
limits = threadpool_limits(threads)
loss = ss.SmoothedHinge(gamma)
parts = [float(text) for text in fractions.split(",")]


# %%
def split(draw):
    """Return the points, the rows of the test part and the rows of the training part. With
    `n_components` the points are projected on principal components of the training part.
    """
    order = np.random.default_rng(seed + draw).permutation(len(y))
    test, train = np.split(order, [round(held_out * len(y))])
    if not n_components:
        return everything, test, train
    centred = everything - everything[train].mean(axis=0)
    _, directions = np.linalg.eigh(centred[train].T @ centred[train])
    return centred @ directions[:, : -n_components - 1 : -1], test, train


if record.computes:
    from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

    everything, y = path_runs.draw(dataset, seed=seed, n_max=n_max)
    _, y = np.unique(y, return_inverse=True)
    X, test, train = split(0)
    n, d = X.shape
    print(f"{n} points, {len(train)} of them for training, {d} features, {y.max() + 1} classes")

# %% [markdown]
# ## How many triplets, and the memory they need
#
# A point of a class of $n_c$ points is the anchor of $(n_c - 1)(n - n_c)$ triplets. A list needs three numbers of four bytes for each
# triplet. The product form stores the points, and nothing for a triplet or a pair: it computes distances for a block of anchors at a time,
# of at most 64 MB.


# %%
def count(labels):
    """Return how many triplets labelled points form."""
    sizes = np.bincount(labels).astype(object)  # Python's integers do not overflow
    return int(np.sum(sizes * (sizes - 1) * (len(labels) - sizes)))


if record.computes:
    products = ss.ProductTriplets(X, y)
    sizes = {"list": 12 * count(y), "product": X.nbytes + products.n_bytes}
    print(f"{len(products):,} triplets, {count(y[train]):,} of the training part")
    print(f"bytes of a list: {sizes['list']:,}; of the points: {X.nbytes:,}")
    print(f"bytes stored for each pair: {products.n_bytes}")
    assert len(products) == count(y)
    assert products.n_bytes == 0

# %% [markdown]
# ## The same sums
#
# For 300 of the points a list fits into memory. Its loss and its gradient are equal to the loss and the gradient of the product form, up
# to the bounds of the rounding errors that both forms state.

# %%
if record.computes:
    few = np.sort(np.random.default_rng(seed).permutation(n)[:300])
    M = np.eye(d) / np.mean(np.sum((X[few] - X[few].mean(axis=0)) ** 2, axis=1))
    listed = ss.Triplets.from_labels(X[few], y[few]).loss_sums(M, loss)
    product = ss.ProductTriplets(X[few], y[few]).loss_sums(M, loss)
    difference = np.linalg.norm(product.adjoint - listed.adjoint)
    assert np.isclose(product.loss, listed.loss, rtol=1e-10)
    assert difference <= product.adjoint_error + listed.adjoint_error
    print(f"{count(y[few]):,} triplets: relative difference of the losses below 1e-10")
    print("difference of the gradients over its bound: at most 1")

# %% [markdown]
# ## One evaluation
#
# An evaluation computes the primal and dual objective, the gradient and the duality gap of all triplets of all points, at the Euclidean
# metric scaled as above. On Linux the system tells how much memory the process uses, and we print by how much it grows to its peak. Small
# blocks fit into memory that the process already has.


# %%
def resident(name):
    """Return a number of bytes of this process from the system; NaN where it does not tell."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return np.nan
    lines = [line for line in status.read_text().splitlines() if line.startswith(name)]
    return 1024 * int(lines[0].split()[1]) if lines else np.nan


def measured(work):
    """Return what `work()` returns, its seconds (wall, processor), and by how many bytes the
    process grew at its peak."""
    before = resident("VmRSS")
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    wall = time.perf_counter()
    cpu = time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu, resident("VmHWM") - before


if record.computes:
    problem = ss.Problem(products, loss)
    lam = 1e-3 * len(products)
    here, wall, cpu, growth = measured(lambda: problem.evaluate(M, lam))
    assert here.gap >= 0.0
    assert np.isclose(here.primal - here.dual, here.gap, rtol=1e-6)
    print("primal - dual and the gap: relative difference below 1e-6")

# %%
if record.computes:
    evaluation = {
        "dataset": dataset, "n": n, "d": d, "triplets": len(products),
        "list_bytes": sizes["list"], "stored_bytes": sizes["product"],
        "wall": wall, "cpu": cpu, "growth_bytes": growth, "threads": threads,
    }
    record.rows("evaluation", pd.DataFrame([evaluation]))
evaluation = record.read("evaluation").loc[0]
wall = evaluation["wall"]
in_parallel = f"{evaluation['cpu']:.2f} s of the processor on {threads} thread(s)"
print(f"{wall:.2f} s, {in_parallel}; {evaluation['triplets'] / wall:.1e} triplets per second")
print(f"memory grew by {evaluation['growth_bytes'] / 1e6:.0f} MB at its peak")
print(f"a list: {evaluation['list_bytes'] / 1e6:,.0f} MB")

# %% [markdown]
# ### On a cluster
#
# With `cluster` one worker makes the same evaluation, and then two workers, each in its own process on this machine. The anchors are cut
# into `n_shards` shards, and the sums of the shards are added in the order of the shards. So the result has the same bits, whichever worker
# computes a shard.


# %%
def on_workers(n_workers):
    """Return the evaluation by some workers."""
    options = {"host": "127.0.0.1", "dashboard_address": ":0", "threads_per_worker": 1}
    with (
        LocalCluster(n_workers=n_workers, **options) as local,
        Client(local, set_as_default=False) as client,
    ):
        shards = ss.ShardedTriplets.from_labels(client, X, y, None, n_shards, products=True)
        return ss.Problem(shards, loss).evaluate(M, lam)


if record.computes and cluster:
    from distributed import Client, LocalCluster

    one = on_workers(1)
    two = on_workers(2)
    assert (one.primal, one.dual, one.gap) == (two.primal, two.dual, two.gap)
    assert np.array_equal(one.gradient, two.gradient)
    assert np.isclose(one.primal, here.primal, rtol=1e-9)
    print("one worker and two: the same bits")
    print("relative difference from the evaluation above: below 1e-9")
else:
    print("no cluster was asked for")

# %% [markdown]
# ## Learn from all triplets
#
# On the training part of each split we solve the problem of all triplets for two $\lambda$, until the duality gap is at most `rtol` of the
# objective. The solve for the smaller $\lambda$ starts from the solution for the larger one. Products are not screened here: with all
# triplets, looking at pairs costs more time than it saves ([`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb)). Three other methods
# learn a metric from the same points:
#
# * **k-neighbour triplets** use the k nearest points of either kind, at the same fractions of *their* $\lambda_{\max}$.
# * **LMNN** is solved as a problem of the library ([`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb)). The k-neighbour
#   triplets push impostors away, and a linear term of the same weight pulls the k target neighbours. The impostors are the k nearest points
#   by the Euclidean distance and stay the same, whereas LMNN looks for new ones. A small $\lambda$, 10⁻³ of the $\lambda_{\max}$ of the
#   triplets, makes the solution unique.
# * **NCA** of scikit-learn stores a number for every pair of points, so we train it on the first `nca_max` points of the training part.
#
# Each metric is judged by the vote of the k nearest points of the training part on the points held out.


# %%
def solved(problem, lam, x0=None):
    """Return the metric of a problem, and the row of its solve."""
    started = time.process_time()
    s = ss.solve(problem, lam, tol=0.0, rtol=rtol, x0=x0)
    took = {
        "lam": lam,
        "triplets": len(problem),
        "iterations": s.n_iter,
        "relative_gap": s.gap / s.primal,
        "screened": s.screening_rate,
        "seconds": time.process_time() - started,
    }
    return s.x, took


def nca_of(X, some):
    """Return the metric of NCA on some points, and the row of its training."""
    started = time.process_time()
    nca = NeighborhoodComponentsAnalysis(init="identity", max_iter=nca_iter, random_state=0)
    nca.fit(X[some], y[some])
    took = {"triplets": 0, "iterations": nca.n_iter_, "seconds": time.process_time() - started}
    return nca.components_.T @ nca.components_, took


# %%
def learn(X, train):
    """Return the metrics of a split by name, each with its row."""
    metrics = {"Euclid": (np.eye(X.shape[1]), {"triplets": 0})}
    neighbours = ss.ProductTriplets(X[train], y[train], k)
    families = {
        "all triplets": ss.ProductTriplets(X[train], y[train]),
        f"k = {k}": neighbours,
    }
    for kind, terms in families.items():
        problem = ss.Problem(terms, loss)
        x = None
        for part in parts:
            metrics[f"{kind}, {part:g}"] = solved(problem, part * problem.lam_max(), x)
            x, _ = metrics[f"{kind}, {part:g}"]
    targets = np.unique(neighbours.index[:, :2], axis=0)
    pull = ss.pull(X[train], targets, weights=np.ones(len(targets)))
    pulled = ss.Problem(neighbours, loss, linear=pull)
    metrics[f"LMNN, k = {k}"] = solved(pulled, 1e-3 * problem.lam_max())
    some = train[:nca_max]
    name = "NCA" if len(some) == len(train) else f"NCA, {len(some)} points"
    metrics[name] = nca_of(X, some)
    return metrics


# %%
def error(M, X, test, train):
    """Return the share of the held-out points that the vote in the metric M misclassifies."""
    values, vectors = np.linalg.eigh(M)
    L = np.sqrt(np.maximum(values, 0.0)) * vectors
    voters = KNeighborsClassifier(k).fit(X[train] @ L, y[train])
    return float(np.mean(voters.predict(X[test] @ L) != y[test]))


if record.computes:
    learned = []
    for draw in range(draws):
        X, test, train = split(draw)
        for name, (M, took) in learn(X, train).items():
            row = {"draw": draw, "method": name, "error": error(M, X, test, train)}
            row["rank"] = int(np.linalg.matrix_rank(M, tol=1e-8 * np.linalg.norm(M)))
            learned.append(row | took)
    sizes = {"n_train": len(train), "n_test": len(test), "d": d, "k": k}
    results = pd.DataFrame(learned).assign(dataset=dataset, **sizes, seed=seed, threads=threads)
    record.rows("results", results)
    print(f"{count(y[train]):,} triplets in the last training part")

# %%
results = record.read("results")
worst = float(results["relative_gap"].max())
certified = worst <= rtol
assert certified
print(f"relative gap of all metrics but NCA: at most {rtol:g}")

# %% [markdown]
# ## Errors of nearest neighbours, and the bytes stored
#
# The columns `smallest` and `largest` are the extreme errors over the splits. The other columns are means.

# %%
grouped = results.groupby("method", sort=False)
table = grouped[["triplets", "iterations", "relative_gap", "rank", "seconds"]].mean()
errors = 100.0 * results.pivot(index="draw", columns="method", values="error")[list(table.index)]
table.insert(0, "error, %", errors.mean())
table.insert(1, "smallest", errors.min())
table.insert(2, "largest", errors.max())
record.table("table_errors", table.reset_index())
formats = {"relative_gap": "{:.0e}", "iterations": "{:.0f}", "triplets": "{:,.0f}"}
formatters = {name: text.format for name, text in (formats | {"rank": "{:.0f}"}).items()}
print(table.to_string(formatters=formatters, float_format="{:.2f}".format, na_rep="-"))

# %%
mean = errors.mean()


def draw_errors(ax):
    """Draw the error of each method in each split, and the mean."""
    splits = f"{draws} split{'s' * (draws > 1)}"
    title = f"{dataset}: {k}-NN error, {splits}, all and their mean"
    figures.dots(mean.to_dict(), ax=ax, title=title)
    for place, values in enumerate(errors.to_numpy().T):
        at = np.full(draws, place)
        ax.plot(values, at, "|", color="#555555", markersize=9, zorder=1)
    ax.set(xscale="linear", xlabel="per cent", xlim=(0.0, None))


def draw_bytes(ax):
    """Draw the bytes of a list and of products against the number of points."""
    n = np.geomspace(1e2, 1e5, 30)
    c = datasets.info(dataset).classes
    forms = {"list": 12.0 * n * (n / c - 1.0) * (n - n / c), "product": 8.0 * n * evaluation["d"]}
    here = [evaluation["n"]] * 2, [evaluation["list_bytes"], evaluation["stored_bytes"]]
    labels = {"xlabel": f"points, in {c} classes", "ylabel": "bytes"}
    labels["title"] = "what is stored, counted"
    figures.lines(forms, n, ax=ax, dots={dataset: here}, log="xy", **labels)


# %%
plt.rcParams.update(figures.STYLE)
figure, axes = figures.panels(2, width=11.0, height=3.6)
draw_errors(axes[0])
draw_bytes(axes[1])
record.figure("errors", figure)
figures.show(
    "In the left panel a tick shows the test error of nearest neighbours in a split, in per cent, "
    f"and a dot the mean of a method: {figures.listed(mean.to_dict(), '{:.1f}')}. In the right "
    "panel lines show the bytes stored against the number of points, on logarithmic axes, for the "
    "list of triplets and for products."
)

# %% [markdown]
# ## Conclusions
#
# The papers have no such conclusions. Rules and their histories are in `conclusions.yml`. We take differences of the error within a split,
# in points. A conclusion is undecided if the 95 % interval of the mean difference, by Student, covers 0, or if there is one split. Of the
# two $\lambda$ of a kind we take the one with the smaller mean error, which favours both kinds.

# %%
def best_of(head):
    """Return the method with the smallest mean error, of those whose names begin with `head`."""
    return mean[[name for name in mean.index if name.startswith(head)]].idxmin()


facts = {"certified": (certified, f"largest {worst:.1e}")}
words = {"all": best_of("all"), "near": best_of("k =")}
conclusions = judging.judge(
    "66-all-triplets", dataset, {"errors": errors}, facts=facts, words=words
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = []
for name, row in table.iterrows():
    note = f"{row['smallest']:.2f} to {row['largest']:.2f}"
    comparison.append((f"{name}: {k}-NN error, %", "-", round(row["error, %"], 2), note))
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
run = round(float(results["seconds"].sum()), 3)
record.summary(timings={"run": run, "evaluation": round(float(wall), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The records are five splits each of digits, breast-cancer and a tenth of MNIST, and one split of all of MNIST. The first table has the
# cost of an evaluation of all triplets of all points: seconds, nanoseconds for each pair of points, and the bytes by which the process
# grew. The second table has the errors in percent, means over the splits.

# %%
costs = []
errors_of = {}
for folder in sorted(Path("../outputs/paper/66-all-triplets").glob("*/evaluation.csv")):
    each = pd.read_csv(folder).loc[0]
    cost = {"record": folder.parent.name, "n": each["n"], "d": each["d"]}
    cost |= {"triplets": each["triplets"], "seconds": each["wall"]}
    cost |= {"ns per pair": 1e9 * each["wall"] / each["n"] ** 2, "MB": each["growth_bytes"] / 1e6}
    costs.append(cost)
    methods = pd.read_csv(folder.with_name("table_errors.csv")).set_index("method")
    errors_of[folder.parent.name] = methods["error, %"]
if costs:
    formatters = {"triplets": "{:.1e}".format}
    print(pd.DataFrame(costs).to_string(index=False, formatters=formatters, float_format="%.2f"))
    print(pd.DataFrame(errors_of).round(1).to_string(na_rep="-"))

# %% [markdown]
# * **All triplets fit into memory.** The bytes stored grow with n, the bytes of a list with $n^3$. An evaluation computes $n^2$ distances,
#   and its time does not depend on the number of triplets. The table under "Errors of nearest neighbours" has the iterations
#   of each solve. A metric that is certified to 10⁻³ takes few iterations.
# * **All triplets do not improve** a nearest-neighbour classifier. On digits and a tenth of MNIST the error is larger than with the
#   Euclidean metric and with five neighbours, by more than chance explains, although the test points choose the better of two $\lambda$. On
#   breast-cancer nothing is decided. On all of MNIST, in one split, the error is larger too. The points of most triplets are far apart. So
#   the metric has to draw *every* pair of a class together, even two ways of writing a digit, and it uses few directions for this purpose
#   (its rank is below the rank with five neighbours). The vote depends on the nearest points only.
# * So k neighbours are not only a way to save memory: they pose the better problem. The loss over all triplets can now be computed, and
#   compared with the loss over k neighbours. A small gap says that a problem is solved, and does not say that it was the right problem.
# * Nothing was tuned. With $\lambda$ chosen on validation data, as in [`58-number-of-triplets`](58-number-of-triplets.ipynb) and
#   [`59-other-software`](59-other-software.ipynb), all rows may improve.
