# %% [markdown]
# # Your own data
#
# You have a table with a column of labels. Which distance between rows puts rows of one label together? In this
# notebook you learn a metric for many weights of the regularization, and choose one of them by validation. You see
# which features the metric uses, which neighbours it changes, and how many triplets screening left out. At the end
# you see whether the metric helps at all, compared with Euclid's distance, NCA and LMNN.
#
# Put your own file and label into the next cell, or a data frame of yours in the place of `table` further down. From
# a terminal: `papermill notebooks/01-your-own-data.ipynb out.ipynb -p file my.csv -p label species`.

# %% tags=["parameters"]
file = ""  # a CSV file with a header, also .csv.gz, .tsv, or a .parquet file; empty: one is written for the example
label = "class"  # the column that holds the classes
drop = ""  # columns to leave out, with commas between them
words = "refuse"  # what to do with columns of words: "refuse", or "encode": a column of 0 and 1 for each word
gaps = "refuse"  # what to do with rows that have gaps: "refuse" or "drop"
k = 5  # triplets of each row: its k nearest of the same class x its k nearest of others
validation = 0.3  # share of the rows that is set aside
most = 1000  # rows for the comparison with other methods, at most: NCA's time grows with the square of their number
seed = 0

# %%
import tempfile
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import MinMaxScaler

import safescreen as ss
from safescreen_book import figures
from safescreen_book.parameters import check_injected

check_injected()  # parameters that papermill has put in

is_example = not file
if is_example:
    example = load_wine(as_frame=True)
    table = example.frame.rename(columns={"target": label})
    table[label] = np.array(example.target_names)[table[label]]
    file = Path(tempfile.mkdtemp()) / "wine.csv"
    table.to_csv(file, index=False)

# %% [markdown]
# ## Read it
#
# You decide what to do with columns that are not numbers, and with rows that have missing values. Nothing is repaired
# without a word.

# %%
if not Path(file).is_file():
    raise FileNotFoundError(f"file: there is no file {str(file)!r} in {Path.cwd()}; give its whole path")
if Path(file).suffix in (".xlsx", ".xls", ".ods"):
    raise ValueError(f"file: {file} is a spreadsheet; save it as CSV")
if Path(file).suffix == ".parquet":
    table = pd.read_parquet(file)  # needs pyarrow
else:
    between = "tabs" if ".tsv" in Path(file).suffixes else "commas"
    try:
        table = pd.read_csv(file, skipinitialspace=True, sep={"commas": ",", "tabs": "\t"}[between])
    except UnicodeDecodeError as error:
        raise ValueError(
            f"file: {file} is not UTF-8 ({error}); save it as UTF-8, or read it with pd.read_csv(file, encoding=...)"
        ) from None
    except (EOFError, OSError, ValueError) as error:
        reason = str(error).rpartition("C error: ")[2].strip()
        raise ValueError(
            f"file: {file} is no table with {between} between its columns: {reason}; "
            "its first line must name the columns, and every other line must hold a value for each of them"
        ) from None
unnamed = [name for name in table.columns if str(name).startswith("Unnamed:") and pd.api.types.is_integer_dtype(table[name])]
numbered = [name for name in unnamed if table[name].is_monotonic_increasing and table[name].is_unique]  # from 0, or from 1 as R does
if numbered:
    print("left out, the numbers of the rows:", ", ".join(numbered))
    table = table.drop(columns=numbered)
given = {"label": [label], "drop": [name.strip() for name in drop.split(",") if name.strip()]}
for parameter, wanted in given.items():
    for name in wanted:
        if name not in table.columns:
            hint = "; is it separated by commas?" if len(table.columns) == 1 else ""
            raise ValueError(f"{parameter}: no column {name!r} in the file, it has {', '.join(table.columns)}{hint}")
table = table.drop(columns=given["drop"])
if table.empty:
    raise ValueError("file: it has no rows")
with_words = [name for name in table.columns.drop(label) if not pd.api.types.is_numeric_dtype(table[name])]
with_gaps = list(table.columns[table.isna().any()])
wrong = []
if with_words and words != "encode":
    wrong.append(f"these columns do not hold numbers; set words to 'encode', or name them in drop: {', '.join(with_words)}")
if with_gaps and gaps != "drop":
    wrong.append(f"these columns have missing values; fill them, name them in drop, or set gaps to 'drop' to leave the rows out: {', '.join(with_gaps)}")
if wrong:
    raise ValueError("\n".join(wrong))
if with_gaps:
    print(f"gaps in {', '.join(with_gaps)}: {table.isna().any(axis=1).sum()} of {len(table)} rows are left out")
    table = table.dropna()
if with_words:
    print("words:", ", ".join(f"{name} ({table[name].nunique()})" for name in with_words))
    table = pd.get_dummies(table, columns=with_words, dtype=float)
rows = table[label].value_counts()
if len(rows) < 2:
    raise ValueError(f"label: {label!r} has the one class {rows.index[0]!r}, and two are needed: take another column")
if rows.min() < 2:
    alone = ", ".join(map(repr, rows.index[rows == 1][:5]))
    raise ValueError(f"label: each class of {label!r} must have two rows; join these classes with others, or drop them: {alone}")
names = list(table.columns.drop(label))
X, y = table[names].to_numpy(float), table[label].to_numpy()
pd.Series(y).value_counts().rename("rows").to_frame()

# %% [markdown]
# If features have very different sizes, the largest decide which rows are near. So each feature is scaled to $[0, 1]$ by
# the rows for training.

# %%
train, test = train_test_split(np.arange(len(y)), test_size=validation, random_state=seed, stratify=y)
scaler = MinMaxScaler().fit(X[train])
A, B = scaler.transform(X[train]), scaler.transform(X[test])
classes, codes = np.unique(y[train], return_inverse=True)
triplets = ss.Triplets.from_labels(A, codes, k=k)
print(f"{len(triplets):,} triplets of {len(A)} rows; each wants a row nearer to one of its own class than to one of another")

# %% [markdown]
# ## Solve a path
#
# For the largest $\lambda$ every triplet is in the linear region, and the solution is known. From there on each solution is
# the start for the next $\lambda$, and proves that most triplets need not be looked at there.

# %%
prob = ss.Problem(triplets, ss.SmoothedHinge(gamma=0.05))
if not prob.lam_max() > 0.0:
    raise ValueError("in no direction are rows farther from other classes than from their own: try another k or other columns")
path = ss.path(prob, prob.lam_max() * np.geomspace(0.9, 1e-5, 25), rtol=1e-4, screening=("RRPB", "PGB"))
assert all(solution.converged for solution in path)

errors = []
for solution in path:
    values, vectors = np.linalg.eigh(solution.x)
    L = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    model = KNeighborsClassifier(3).fit(A @ L.T, y[train])
    errors.append(1.0 - model.score(B @ L.T, y[test]))
before = 1.0 - KNeighborsClassifier(3).fit(A, y[train]).score(B, y[test])
best = int(np.argmin(errors))
print(f"{len(path)} values of lambda; 3-nearest-neighbour error {before:.3f} before, {errors[best]:.3f} at the best of them")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
left.semilogx(path.lams, errors, "o-", label="learned metric")
left.axhline(before, color="0.5", ls="--", label="scaled features")
left.axvline(path.lams[best], color="C3", lw=1)
left.set(xlabel=r"$\lambda$", ylabel="validation error", title="Choosing $\\lambda$")
left.legend()
right.semilogx(path.lams, [s.n_L / len(prob) for s in path], label="proved linear (L)")
right.semilogx(path.lams, [s.n_R / len(prob) for s in path], label="proved zero (R)")
right.semilogx(path.lams, path.path_rates, "k:", label="both, before the first iteration")
right.set(xlabel=r"$\lambda$", ylabel="share of triplets", title="What never had to be looked at", ylim=(0, 1))
right.legend()
figures.show(
    f"Left, the validation error against lambda, with a dashed line at that of the scaled features, {before:.3f}, and the choice marked, {errors[best]:.3f}. "
    "Right, the shares of triplets against lambda that are proved linear and proved zero at the end of each solve, and, dotted, both before its first iteration."
)

# %% [markdown]
# Several values of $\lambda$ often have the same error. Take the largest of them: its metric has the smallest norm, and costs
# the least time.

# %% [markdown]
# ## What the metric looks at

# %%
chosen = path[best]
M = chosen.x
fig, ax = plt.subplots(figsize=(6.2, 4.8), layout="constrained")
size = np.abs(M).max()
image = ax.imshow(M, cmap="RdBu_r", vmin=-size, vmax=size)
ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
ax.set_yticks(range(len(names)), names, fontsize=7)
ax.set_title("The learned matrix M")
fig.colorbar(image)
figures.show(
    f"The learned matrix as a square of {len(names)} by {len(names)} coloured cells, red above zero and blue below, with the names of the features along both sides."
)
order = np.argsort(np.diag(M))[::-1]
print("weighs most:", ", ".join(names[i] for i in order[:3]))

# %% [markdown]
# ## Neighbours before and after
#
# For each validation row, count how many of its seven nearest training rows have its class. The table shows the rows for
# which this number grows most.

# %%
values, vectors = np.linalg.eigh(M)
L = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def own(P, Q):
    """Return, for each row of P, how many of its seven nearest rows of Q have its class."""
    nearest = NearestNeighbors(n_neighbors=min(7, len(Q))).fit(Q).kneighbors(P, return_distance=False)
    return (y[train][nearest] == y[test][:, None]).sum(axis=1)


shares = pd.DataFrame({"row": test, "class": y[test], "before": own(B, A), "after": own(B @ L.T, A @ L.T)})
assert not is_example or shares["after"].mean() > shares["before"].mean()
shares.assign(gain=shares["after"] - shares["before"]).sort_values(["gain", "row"], ascending=[False, True]).head(6)

# %% [markdown]
# ## The same as an estimator
#
# `TripletMetric` does all this in one object with the conventions of scikit-learn, for a pipeline or a grid search. By
# default it screens only where that saves time. For so few triplets it does not, so here `screening` asks for it.

# %%
from sklearn.pipeline import make_pipeline

lam_ratio = float(chosen.lam / prob.lam_max())
metric = ss.TripletMetric(k=k, lam_ratio=lam_ratio, with_path=True, n_neighbors=3, screening=("RRPB", "PGB"))
model = make_pipeline(MinMaxScaler(), metric).fit(X[train], y[train])
assert np.linalg.norm(metric.get_mahalanobis_matrix() - M) <= chosen.eps + np.sqrt(2 * metric.dual_gap_ / metric.lam_)
print(f"validation error {1.0 - model.score(X[test], y[test]):.3f}; {metric.screening_.rate:.0%} of the triplets screened")

# %% [markdown]
# `TripletMetricCV` chooses $\lambda$ too, by cross-validation within the training rows, with one path for each fold. The rows
# that are set aside play no part in the choice, so they are a fair test.

# %%
model = make_pipeline(MinMaxScaler(), ss.TripletMetricCV(ss.TripletMetric(k=k, n_neighbors=3), lams=9, cv=3)).fit(X[train], y[train])
metric = model[-1]
print("cross-validated errors:", " ".join(f"{1.0 - score:.3f}" for score in metric.scores_.mean(axis=0)))
print(f"chosen: {metric.lam_ / metric.lams_[0]:.2g} lambda_max; error on the rows set aside {1.0 - model.score(X[test], y[test]):.3f}")

# %% [markdown]
# ## Does it help?
#
# A single split says little. So every method is tried on the same ten splits (five folds, twice), and makes all its choices
# within the training rows. NCA is that of scikit-learn. LMNN is the problem of this notebook with one more linear term,
# which pulls each row towards its target neighbours ([`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb)). From a
# longer table `most` rows are drawn.


# %% tags=["nbval-ignore-output"]
def euclid(X, y):
    return lambda points: points


def ours(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with fewer than k rows
        return ss.TripletMetricCV(ss.TripletMetric(k=k, n_neighbors=3), lams=7, cv=3).fit(X, y).transform


def nca(X, y):
    return NeighborhoodComponentsAnalysis(max_iter=50, random_state=seed).fit(X, y).transform


def lmnn(X, y):
    lists = ss.Triplets.from_labels(X, y, k=k)
    targets = np.unique(lists.index[:, :2], axis=0)
    problem = ss.Problem(lists, ss.SmoothedHinge(0.05), linear=ss.pull(X, targets))
    values, vectors = np.linalg.eigh(ss.solve(problem, 1e-3 * ss.Problem(lists, problem.loss).lam_max(), tol=0.0, rtol=1e-4).x)
    return lambda points: points @ (vectors * np.sqrt(np.maximum(values, 0.0)))


def compare(methods, splits):
    """Return errors of the 3 nearest neighbours, a row a split, and seconds of each method."""
    errors, seconds = np.zeros((len(splits), len(methods))), np.zeros(len(methods))
    for row, (inside, outside) in enumerate(splits):
        rescale = MinMaxScaler().fit(X[inside])
        P, Q = rescale.transform(X[inside]), rescale.transform(X[outside])
        for column, method in enumerate(methods):
            start = time.perf_counter()
            into = method(P, y[inside])
            seconds[column] += time.perf_counter() - start
            errors[row, column] = 1.0 - KNeighborsClassifier(3).fit(into(P), y[inside]).score(into(Q), y[outside])
    return errors, seconds / len(splits)


methods = (euclid, ours, nca, lmnn)
part = np.arange(len(y))
if len(y) > most:
    part = train_test_split(part, train_size=most, random_state=seed, stratify=y)[0]
    print(f"{most} of {len(y)} rows")
n_folds = max(2, min(5, np.unique(y[part], return_counts=True)[1].min()))
folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=2, random_state=seed).split(part, y[part])
splits = [(part[inside], part[outside]) for inside, outside in folds]
found, seconds = compare(methods, splits)

# folds share training rows: the interval of a mean of differences is widened for that (Nadeau and Bengio 2003)
widening = np.sqrt(1.0 / len(splits) + 1.0 / (n_folds - 1.0))
quantile = stats.t.ppf(0.975, len(splits) - 1)
gains = found[:, :1] - found
half = quantile * widening * gains.std(axis=0, ddof=1)
pd.DataFrame(
    {
        "error": found.mean(axis=0).round(4),
        "less than Euclid's by": [""] + [f"{gain:+.4f} ± {h:.4f}" for gain, h in zip(gains.mean(axis=0)[1:], half[1:], strict=True)],
        "seconds a fit": seconds.round(3),
    },
    index=["Euclid", "TripletMetricCV", "NCA", "LMNN"],
)

# %%
gain, spread = gains.mean(axis=0)[1], half[1]
if gain - spread > 0.0:
    print(f"The metric helps: {gain:.4f} ± {spread:.4f} fewer errors a row.")
elif gain + spread < 0.0:
    print(f"The metric harms: {-gain:.4f} ± {spread:.4f} more errors a row. Use Euclid's, or other features.")
else:
    print(f"No difference can be told: {gain:+.4f} ± {spread:.4f}. Unless you have more rows, Euclid's distance is simpler.")

# %% [markdown]
# ## When something is wrong
#
# Error messages say what was found, and what to do about it.

# %%
data = pd.DataFrame(A, columns=names)
mistakes = {
    "one class only": lambda: ss.TripletMetric().fit(data, np.full(len(A), "red")),
    "a column of words": lambda: ss.TripletMetric().fit(data.assign(colour="red"), codes),
    "gaps": lambda: ss.TripletMetric().fit(data.mask(data > 0.99), codes),
    "a column that is missing later": lambda: ss.TripletMetric(k=k).fit(data, codes).predict(data[names[1:]]),
}
for mistake, run in mistakes.items():
    try:
        run()
    except ValueError as message:
        print(f"{mistake}: {message}\n")
