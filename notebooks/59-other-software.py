# %% [markdown]
# # The same task with other people's software
#
# The task is to learn a Mahalanobis metric from labels, and then to classify by the nearest neighbours in this metric. metric-learn (LMNN,
# SCML, NCA), PyLMNN, mlpack (LMNN) and scikit-learn (NCA) do this too. At the end you will have seen the error of each method on the same
# splits, the processor time that each takes, and what each can say about its own result. You will also have seen whether other settings of
# `TripletMetric` bring it closer to the best of the other methods.
#
# `pip install -c constraints.txt --group bench --group rivals` in the checkout installs metric-learn, PyLMNN and mlpack. Without a package
# its methods have no row, and everything else runs.
#
# `safescreen run 59-other-software --profile laptop` runs it at another size.

# %% [markdown]
# ## Parameters
#
# | name | meaning |
# |---|---|
# | `dataset`, `n_max` | data set; the largest number of instances (0: no limit) |
# | `draws`, `seed` | the number of splits into 60 % training, 20 % validation, 20 % test, and the first seed |
# | `n_neighbors` | number of neighbours of the classifier |
# | `targets` | number of neighbours of the same class that LMNN and SCML pull, or from which our triplets are built |
# | `max_iter` | largest number of iterations of LMNN and of NCA |
# | `methods` | the methods that are run, a row each |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any |

# %% tags=["parameters"]
dataset = "iris"
n_max = 0
draws = 2
seed = 0
n_neighbors = 5
targets = 3
max_iter = 200
methods = (
    "Euclid,NCA (scikit-learn),NCA (metric-learn),LMNN (metric-learn),SCML (metric-learn),LMNN "
    "(PyLMNN),LMNN (mlpack),"
    "TripletMetric,TripletMetric all triplets,TripletMetric k chosen,TripletMetric finer "
    "lam,TripletMetric second round"
)
output_dir = ""
rows_dir = ""

# %%
import functools
import sys
import time
import types
import warnings
from pathlib import Path

import numba
import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, figures, wording
from safescreen_book.protocols import judging, path_runs

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(1)

if record.computes:
    from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
    from sklearn.preprocessing import StandardScaler

# %% [markdown]
# ## The other packages
#
# metric-learn 0.7.0 gives scikit-learn the argument `force_all_finite`. Since 1.6 scikit-learn calls it `ensure_all_finite`, and since 1.8 it
# refuses the old name. PyLMNN 1.6.4 imports GPyOpt, which its metadata do not name and its metric does not use. It also gives SciPy a matrix
# as the starting point, where SciPy asks for a vector since 1.11. As published, neither package runs with current versions. The functions
# below pass arguments on under their new names and shapes, and change no computation. mlpack runs as published.

# %%
missing = {}


def renamed(check):
    """Pass an argument of scikit-learn with an old name on under its new name."""

    @functools.wraps(check)
    def call(*args, force_all_finite=True, **options):
        return check(*args, ensure_all_finite=force_all_finite, **options)

    return call


def flat(minimize):
    """Give SciPy's minimize its starting point as a vector; the objective reshapes it."""

    @functools.wraps(minimize)
    def call(fun, x0, **options):
        options["options"].pop("disp", None)  # deprecated
        return minimize(fun, np.ravel(x0), **options)

    return call


# %%
def load_metric_learn():
    """Return the module metric_learn."""
    import metric_learn
    from metric_learn import _util

    _util.check_X_y = renamed(_util.check_X_y)
    _util.check_array = renamed(_util.check_array)
    return metric_learn


def load_pylmnn():
    """Return the module pylmnn."""
    # GPyOpt serves its search over hyper-parameters only, which we do not use
    for name in ("GPyOpt", "GPyOpt.methods"):
        module = sys.modules.setdefault(name, types.ModuleType(name))
        module.BayesianOptimization = None
    import pylmnn
    from pylmnn import lmnn

    lmnn.minimize = flat(lmnn.minimize)
    return pylmnn


def load_mlpack():
    """Return the module mlpack."""
    import mlpack

    return mlpack


# %%
def attempt(name, load):
    """Load a package, or note in `missing` why it cannot be loaded."""
    try:
        return load()
    except ImportError as error:
        missing[name] = f"{type(error).__name__}: {error}"
        return None


metric_learn = None
pylmnn = None
mlpack = None
if record.computes:
    metric_learn = attempt("metric-learn", load_metric_learn)
    pylmnn = attempt("PyLMNN", load_pylmnn)
    mlpack = attempt("mlpack", load_mlpack)
    packages = {name: missing.get(name, "") for name in ("metric-learn", "PyLMNN", "mlpack")}
    record.rows("packages", pd.DataFrame(packages.items(), columns=["package", "missing"]))
limits = threadpool_limits(1)  # also of the libraries that the packages have loaded

# %% [markdown]
# ## Methods and their candidates
#
# Every method has six candidates. They differ in the one setting that limits how closely the method fits the training part: a weight, or
# the number of iterations for NCA, which has no such weight. `TripletMetric` solves a path of six $\lambda$ from $10^{-0.75}\lambda_{\max}$ to
# $10^{-4.5}\lambda_{\max}$ (the paper's paths end near $10^{-6}\lambda_{\max}$), and each solve starts from the previous solution. The other
# methods are trained six times. mlpack minimises by L-BFGS here, for at most `max_iter` iterations, like the other implementations of LMNN.
# We do not use its default, AMSGrad for 50 passes, which takes longer.
#
# The last three rows are `TripletMetric` with one change each. The validation part chooses their parameters, as in all rows. Some of them
# have more than six candidates:
#
# * **k chosen**: triplets from 1, 3, 5 or 10 neighbours, 24 candidates.
# * **finer lam**: a path of 16 $\lambda$ from $10^{-0.375}\lambda_{\max}$ to $10^{-6}\lambda_{\max}$.
# * **second round**: the metric that the validation part chooses defines new neighbours, of the same class and of other classes, and a path
#   is learned from their triplets. LMNN also chooses new impostors in the learned metric.

# %%
WEIGHTS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
STEPS = np.unique(np.geomspace(5, max_iter, 6).astype(int)).tolist()
TARGETS = (1, 3, 5, 10)


# %%
def ours(step=-0.75, lowest=-4.5, screening=("RRPB", "PGB"), **options):
    """Return a function from training data to the metrics of a path and its certificates."""

    def learn(X, y, judge):
        grid = {"lam_ratio": 10**lowest, "path_ratio": 10**step, "with_path": True}
        model = ss.TripletMetric(tol=1e-4, screening=screening, **grid, **options)
        with warnings.catch_warnings():
            # the gap tells what has not converged; k may be too large for a class
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return candidates_of(model.path_)

    return learn


def candidates_of(path):
    """Return the candidates of a path, its solutions after the first, which is at lam_max."""
    kept = []
    for s in path[1:]:
        last = s.history[-1]
        screened = (last.n_L + last.n_R) / s.n_terms
        kept.append((f"lam = {s.lam / path[0].lam:.3g} lam_max", s.x, s.gap / s.primal, screened))
    return kept


# %%
def of_each_k(X, y, judge):
    """Return the metrics of a path for each number of neighbours."""
    found = []
    for k in TARGETS:
        found += [(f"k = {k}, {label}", *rest) for label, *rest in ours(k=k)(X, y, judge)]
    return found


def second_round(X, y, judge):
    """Return the metrics of a path from the triplets of neighbours in the metric that has the
    smallest error by `judge` on the first path.
    """
    first = ours(k=targets)(X, y, judge)
    errors = [judge(M) for _, M, _, _ in first]
    L = factor(first[int(np.argmin(errors))][1])
    triplets = ss.Triplets.from_labels(X @ L, y, targets, coordinates=X)
    problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    lams = problem.lam_max() * 10.0 ** np.arange(0.0, -4.6, -0.75)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap tells what has not converged
        return candidates_of(ss.path(problem, lams, rtol=1e-4, screening=("RRPB", "PGB")))


def factor(M):
    """Return L of shape (d, d) with M = LL'."""
    values, vectors = np.linalg.eigh(M)
    return np.sqrt(np.maximum(values, 0.0)) * vectors


# %%
def theirs(package, make, candidates):
    """Return a function from training data to the metrics of an estimator, one for each
    candidate; None without the package. `make` returns the estimator of a candidate.
    """

    def learn(X, y, judge):
        found = []
        for candidate in candidates:
            with warnings.catch_warnings():
                # not converged, or fewer bases than features: the error judges the result
                warnings.simplefilter("ignore")
                L = make(candidate).fit(X, y).components_
            found.append((f"{candidate:g}", L.T @ L, np.nan, np.nan))
        return found

    return learn if package is not None else None


def of_mlpack(X, y, judge):
    """Return the metrics of mlpack's LMNN, one for each weight of pushing."""
    found = []
    for push in WEIGHTS:
        options = {"k": targets, "regularization": push, "max_iterations": max_iter, "seed": 1}
        L = mlpack.lmnn(X, labels=y, optimizer="lbfgs", **options)["output"]
        found.append((f"{push:g}", L.T @ L, np.nan, np.nan))
    return found


# %%
def nca_of_scikit_learn(steps):
    """Return an estimator that stops after some steps."""
    return NeighborhoodComponentsAnalysis(init="identity", max_iter=steps, random_state=0)


def nca_of_metric_learn(steps):
    """Return an estimator that stops after some steps."""
    return metric_learn.NCA(init="identity", max_iter=steps, random_state=0)


def lmnn_of_metric_learn(push):
    """Return an estimator with a weight of pushing."""
    options = {"max_iter": max_iter, "random_state": 0}
    return metric_learn.LMNN(n_neighbors=targets, regularization=push, **options)


def scml_of_metric_learn(beta):
    """Return an estimator with a weight of its regulariser."""
    options = {"k_genuine": targets, "k_impostor": 10, "random_state": 0}
    return metric_learn.SCML_Supervised(beta=beta, **options)


def lmnn_of_pylmnn(push):
    """Return an estimator with a weight of pushing."""
    options = {"n_neighbors": targets, "max_iter": max_iter, "random_state": 0}
    return pylmnn.LargeMarginNearestNeighbor(init="identity", weight_push_loss=push, **options)


# %%
LEARN = {
    "Euclid": lambda X, y, judge: [("-", np.eye(X.shape[1]), np.nan, np.nan)],
    "NCA (scikit-learn)": theirs(True, nca_of_scikit_learn, STEPS),
    "NCA (metric-learn)": theirs(metric_learn, nca_of_metric_learn, STEPS),
    "LMNN (metric-learn)": theirs(metric_learn, lmnn_of_metric_learn, WEIGHTS),
    "SCML (metric-learn)": theirs(
        metric_learn, scml_of_metric_learn, (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
    ),
    "LMNN (PyLMNN)": theirs(pylmnn, lmnn_of_pylmnn, WEIGHTS),
    "LMNN (mlpack)": of_mlpack if mlpack is not None else None,
    "TripletMetric": ours(k=targets),
    "TripletMetric all triplets": ours(k=None, product=True, screening="auto"),
    "TripletMetric k chosen": of_each_k,
    "TripletMetric finer lam": ours(k=targets, step=-0.375, lowest=-6.0),
    "TripletMetric second round": second_round,
}

# %% [markdown]
# For each method we say what it certifies, and when it stops.

# %%
CERTIFIES = {
    "Euclid": "nothing to certify",
    "NCA (scikit-learn)": "nothing: not convex, a stationary point at best",
    "NCA (metric-learn)": "nothing: not convex, a stationary point at best",
    "LMNN (metric-learn)": (
        "nothing: gradient steps on a factor, stopped by the change of the objective"
    ),
    "SCML (metric-learn)": (
        "nothing: convex, but sampled triplets and a fixed number of steps, no gap"
    ),
    "LMNN (PyLMNN)": "nothing: L-BFGS on a factor, stopped by a gradient norm",
    "LMNN (mlpack)": "nothing: L-BFGS on a factor, stopped by a gradient norm",
    "TripletMetric": (
        "a bound of the distance to the optimum, and triplets that are certainly in L or in R"
    ),
    "TripletMetric all triplets": "a bound of the distance to the optimum",
    "TripletMetric k chosen": "as TripletMetric",
    "TripletMetric finer lam": "as TripletMetric",
    "TripletMetric second round": "as TripletMetric, for the triplets of the second round",
}
OURS = ("TripletMetric", "TripletMetric all triplets")  # six candidates each, like the others
CHANGED = {
    "TripletMetric k chosen": "another number of neighbours",
    "TripletMetric finer lam": "a finer path of lam",
    "TripletMetric second round": "a second round with neighbours by the learned metric",
}

# %%
of_candidate = f"the iterations of the candidate, {STEPS[0]} to {STEPS[-1]}"
STOPS = {
    "Euclid": "-",
    "NCA (scikit-learn)": f"tolerance 1e-5 of L-BFGS, or {of_candidate}",
    "NCA (metric-learn)": f"default of L-BFGS, or {of_candidate}",
    "LMNN (metric-learn)": f"objective changes by less than 1e-3, or {max_iter} iterations",
    "SCML (metric-learn)": "10,000 steps",
    "LMNN (PyLMNN)": f"gradient 1e-5, or {max_iter} iterations",
    "LMNN (mlpack)": f"gradient 1e-7, or {max_iter} iterations",
} | dict.fromkeys((*OURS, *CHANGED), "relative duality gap 1e-4")

# %% [markdown]
# The run uses the methods that the parameter `methods` names.

# %%
asked = [name.strip() for name in methods.split(",")]
unknown = sorted(set(asked) - set(LEARN))
if unknown:
    raise ValueError(f"methods: unknown {unknown}, the known ones are {', '.join(LEARN)}")

# %%
if record.computes:
    for package, reason in missing.items():
        print(f"without {package} ({reason})")
    print("rows:", ", ".join(name for name in asked if LEARN[name] is not None))

# %% [markdown]
# ## Run
#
# The training part standardises the features. All methods use the same three parts. The candidate with the smallest validation error is kept,
# or the first of several (the most regularised one, where the order is known), and only its test error counts. Neighbours are always points
# of the training part. Seconds are processor seconds of one thread for all candidates, without compilation.


# %%
def labelled(X, y):
    """Return points, and their classes as numbers from 0."""
    return X, np.unique(y, return_inverse=True)[1]


def split(number):
    """Return the training, validation and test part, standardised by the training part."""
    order = np.random.default_rng(seed + number).permutation(len(y_all))
    parts = np.split(order, [round(0.6 * len(order)), round(0.8 * len(order))])
    scaler = StandardScaler().fit(X_all[parts[0]])
    return [(scaler.transform(X_all[rows]), y_all[rows]) for rows in parts]


def error(M, train, other):
    """Return the error of the vote of the nearest training instances in the metric M."""
    L = factor(M)
    nearest = KNeighborsClassifier(n_neighbors).fit(train[0] @ L, train[1])
    return float(np.mean(nearest.predict(other[0] @ L) != other[1]))


# %%
def learned(name, train, validation, test):
    """Return the columns of a method: its time, the chosen candidate, and its errors."""
    judge = functools.partial(error, train=train, other=validation)
    started = time.process_time()
    candidates = LEARN[name](*train, judge)
    seconds = time.process_time() - started
    judged = [judge(M) for _, M, _, _ in candidates]
    label, M, gap, screened = candidates[int(np.argmin(judged))]
    return {
        "seconds": seconds,
        "candidates": len(candidates),
        "chosen": label,
        "validation_error": min(judged),
        "test_error": error(M, train, test),
        "train_error": error(M, train, train),
        "relative_gap": gap,
        "screened": screened,
        "rank": int(np.linalg.matrix_rank(M, tol=1e-8 * np.linalg.norm(M))),
        "n_train": len(train[1]),
        "n_test": len(test[1]),
    }


# %%
@functools.cache
def compile_first(name):
    """Learn iris with a method once, so that no measured time includes its compilation."""
    LEARN[name](*labelled(*path_runs.draw("iris")), judge=lambda M: 0.0)


def of_method(draw, method):
    """Return the row of a method on a split, and the sizes of its parts."""
    compile_first(method)
    parts = split(draw)
    which = {"dataset": dataset, "method": method, "draw": draw}
    labels = {"d": X_all.shape[1], "threads": 1, "seed": seed + draw}
    sizes = [[len(classes) for _, classes in parts]]
    return {
        "results": pd.DataFrame([which | learned(method, *parts) | labels]),
        "sizes": pd.DataFrame(sizes, columns=["train", "validation", "test"]),
    }


if record.computes:
    X_all, y_all = labelled(*path_runs.draw(dataset, seed=seed, n_max=n_max))
    runnable = [name for name in asked if LEARN[name] is not None]
    tables = record.parts(of_method, draw=range(draws), method=runnable)
    record.rows("results", tables["results"], digits=15)  # so that a replay has equal errors
    sizes = f"train, validation, test: {tables['sizes'].iloc[-1].tolist()}"
    print(f"{len(y_all)} instances, {X_all.shape[1]} features, {y_all.max() + 1} classes; {sizes}")

# %% [markdown]
# ## Error, time, certificate
#
# The column `error` is the mean over the splits, and `se` its standard error from the number of test instances of all splits. The columns
# `low` and `high` are the ends of Student's 95 % interval over at least three splits. The test parts of two splits share instances, so the
# interval is somewhat too narrow for new data. The column `slower` is the median over the splits of a ratio: the seconds of the method over
# the seconds of `TripletMetric` on the same split. It compares methods in one run, each with its own stop.


# %%
def interval(values):
    """Return the half width of Student's 95 % interval; NaN for fewer than three values."""
    return stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) if len(values) > 2 else np.nan


# %%
results = record.read("results")
names = results["method"].unique().tolist()
seconds = results.pivot(index="draw", columns="method", values="seconds")
grouped = results.groupby("method", sort=False)
table = grouped.agg(
    error=("test_error", "mean"),
    validation=("validation_error", "mean"),
    training=("train_error", "mean"),
    seconds=("seconds", "median"),
    rank=("rank", "median"),
    relative_gap=("relative_gap", "max"),
    screened=("screened", "mean"),
)
n_test = int(results.drop_duplicates("draw")["n_test"].sum())
smallest = np.maximum(table["error"], 1.0 / n_test)
table.insert(1, "se", np.sqrt(smallest * (1.0 - smallest) / n_test))
half = grouped["test_error"].agg(interval)

# %%
table.insert(2, "low", (table["error"] - half).clip(lower=0.0))
table.insert(3, "high", table["error"] + half)
if "TripletMetric" in names:
    table.insert(7, "slower", seconds.div(seconds["TripletMetric"], axis=0).median())
table["stops"] = [STOPS[name] for name in table.index]
table["certifies"] = [CERTIFIES[name] for name in table.index]
record.table("table_software", table.reset_index())

# %%
texts = {"relative_gap": "{:.0e}", "rank": "{:.0f}", "slower": "{:.1f}"}
formats = {"formatters": {name: text.format for name, text in texts.items()}, "na_rep": "-"}
numbers = table.drop(columns=["certifies", "stops"])
print(numbers.to_string(float_format="{:.3f}".format, **formats))
absent = record.read("packages").dropna().set_index("package")["missing"].to_dict()
for name in asked:
    if name not in names and any(package in name for package in absent):
        print(f"{name:28} no row: the package is not installed")
print()
for name in table.index:
    print(f"{name:28} certifies {CERTIFIES[name]}; stops: {STOPS[name]}")

# %%
percent = 100.0 * table["error"]
# fewer than three splits: two standard errors
spread = 100.0 * half.fillna(2.0 * table["se"]).reindex(table.index)
learning = table["seconds"].drop("Euclid", errors="ignore").to_dict()


def draw_errors(ax):
    """Draw the test error of each method with its interval."""
    labels = {"title": f"{dataset}: {n_neighbors}-NN, test error"}
    labels["xlabel"] = "per cent, mean of the splits, with 95 % interval"
    figures.bars(percent.to_dict(), ax=ax, number="{:.1f}", **labels)
    thin = {"fmt": "none", "ecolor": "#333333", "elinewidth": 1.0}
    ax.errorbar(percent, range(len(table)), xerr=spread, **thin)
    for label, end in zip(ax.texts, percent + spread, strict=True):
        label.xy = (end, label.xy[1])  # beyond the error bar
    ax.set_xlim(0.0, 1.3 * (percent + spread).max())


# %%
figure, axes = figures.panels(2, width=11.0, height=4.6)
draw_errors(axes[0])
labels = {"title": "time to learn all candidates", "xlabel": "CPU seconds, median of the splits"}
figures.bars(learning, ax=axes[1], **labels)
record.figure("software", figure)
figures.show(
    "In the left panel bars show the test error of each method in per cent, with intervals: "
    f"{figures.listed(percent.to_dict(), '{:.1f}')}. In the right panel bars show the CPU seconds "
    f"to learn all candidates: {figures.listed(learning)}."
)

# %% [markdown]
# ## Certificates, and the error without a metric

# %%
mine = [name for name in names if name.startswith("TripletMetric")]
gaps = results.loc[results["method"].isin(mine), "relative_gap"]
certified = bool((gaps <= 1e-4).all())
print(f"chosen metrics of TripletMetric: {len(gaps)}")
print(f"of these with a relative gap above 1e-4: {int((gaps > 1e-4).sum())}")
listed = results.loc[results["method"] == "TripletMetric", "screened"]
if not listed.empty:
    print(f"share of the triplets that TripletMetric screens: {listed.mean():.0%}")
if mine and "Euclid" in names:
    plain = table.loc["Euclid"]
    print(f"error of the best of them {table.loc[mine, 'error'].min():.3f}")
    print(f"error without a metric {plain['error']:.3f}, its standard error {plain['se']:.3f}")

# %% [markdown]
# ## Conclusions
#
# The papers have no such conclusions. Rules and their histories are in `conclusions.yml`. We take differences of errors, in points, and ratios of
# times, each within a split. A conclusion is undecided if the 95 % interval of their mean, by Student, covers the bound, or if there is one
# split. The method that represents a group is the same for all splits: for errors the method with the smallest mean validation error, for times
# the fastest. `TripletMetric` has six candidates here, like the others. The three changed rows are compared with it, and with mlpack's LMNN.

# %%
same = [name for name in names if name in OURS]
others = [name for name in names if name not in (*mine, "Euclid")]
errors = 100.0 * results.pivot(index="draw", columns="method", values="test_error")
facts = {}
words = {}
if mine:
    largest = table.loc[mine, "relative_gap"].max()
    facts["certified"] = certified, f"largest relative gap {largest:.0e}; the others state none"
if same and others:
    words["best"] = table.loc[same, "validation"].idxmin()
    words["rival"] = table.loc[others, "validation"].idxmin()
    words["fastest"] = table.loc[same, "seconds"].idxmin()
    words["fastest_rival"] = table.loc[others, "seconds"].idxmin()
if same or others:
    words["any"] = table.loc[[*same, *others], "validation"].idxmin()
tables = {"errors": errors, "seconds": seconds}
conclusions = judging.judge("59-other-software", dataset, tables, facts=facts, words=words)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = []
for name in names:
    ours_of = round(100.0 * float(table.loc[name, "error"]), 2)
    note = f"{table.loc[name, 'seconds']:.2f} CPU s; {CERTIFIES[name]}"
    comparison.append((f"{name}: {n_neighbors}-NN test error, %", "-", ours_of, note))
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
timings = {"run": round(float(results["seconds"].sum()), 3)}
record.summary(timings=timings, missing=absent)
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The records have twenty splits of iris, wine, breast-cancer and segment, and five of digits. The first table has the test errors in percent,
# means over the splits. The second table has the seconds of each method over the seconds of `TripletMetric`, medians over the splits.

# %%
records = {}
for file in sorted(Path("../outputs/paper/59-other-software").glob("*/table_software.csv")):
    records[file.parent.name] = pd.read_csv(file).set_index("method")
if records:
    test_errors = {name: 100.0 * rows["error"] for name, rows in records.items()}
    slower = {name: rows["slower"] for name, rows in records.items()}
    print(pd.DataFrame(test_errors).to_string(float_format="{:.1f}".format))
    print(pd.DataFrame(slower).to_string(float_format="{:.1f}".format))

# %% [markdown]
# * **Error.** A test part of iris, wine or breast-cancer has 30 to 114 instances. On these sets most methods lie within the intervals of each
#   other. This shows that a method is not broken, and does not show that it is better. On segment and digits learning lowers the error.
# * **mlpack.** Its LMNN takes many times the CPU time of `TripletMetric` on segment, breast-cancer and digits. On breast-cancer and digits the
#   splits decide that its error is larger than the error of `TripletMetric`; on the other sets they do not decide.
# * **Other settings.** The last three rows test whether other settings lower the error. On no set does another number of neighbours, a finer path or a
#   second round with neighbours by the learned metric lower it by more than its interval. So `TripletMetric` has no parameter for rounds; the
#   function `second_round` above shows how to make them.
# * **Overtuning.** A validation part of iris has 30 instances. The smallest of six validation errors is then smaller than the test error,
#   mostly where many candidates are alike. The table of the run has both errors.
# * **Time.** The metrics of a path from few triplets take little time where screening removes the triplets that are decided early, as on
#   segment. On digits and wine the fastest of the other methods takes less time. "All triplets" has a hundred times as many terms or more,
#   and lowers the error by no more than chance explains.
# * **Certificates.** Only a convex problem with a dual has a certificate: a bound of the distance of each metric from the optimum for its $\lambda$. The
#   other methods stop when little changes. A small gap says that the problem is solved, and does not say that it was the right problem: on
#   iris methods without any certificate have the smallest errors.
