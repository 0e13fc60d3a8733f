# %% [markdown]
# # Your own data
#
# You have a table with a column of labels. Which distance between rows puts rows of one label together? In this
# notebook you learn a metric for many weights of the regularization, and choose one of them by validation. You see
# whether the metric helps at all, compared with Euclid's distance, NCA and LMNN, which features it uses, which
# neighbours it changes, and how many triplets screening left out.
#
# Put your own file and label into the next cell, or a data frame of yours in the place of `frame` further down. From
# a terminal: `papermill notebooks/01-your-own-data.ipynb out.ipynb -p file my.csv -p label species`. A name or a word that
# looks like a number is given with `-r`: `-r label 4`.

# %% tags=["parameters"]
file = ""  # text with a line of names and then a row a line, also .gz, .bz2, .xz, .zip, or a .parquet file; empty: one is written for the example
label = "class"  # the column that holds the classes
drop = ""  # columns to leave out, with commas between them
keep = ""  # columns to use although they look like numbers of rows, names of rows or dates, or have many words
words = "refuse"  # what to do with columns of words: "refuse", "encode" (a column of 0 and 1 for each word) or "drop"
gaps = "refuse"  # what to do with rows that have gaps: "refuse" or "drop"
missing = ""  # words that stand for a gap, with commas between them, beside an empty value, NA, null and the like
sep = ""  # what stands between two values: a character, "tab" or "blanks"; empty: it is found out, as are the next three
decimal = ""  # the decimal mark, such as ","
thousands = ""  # the mark between thousands
encoding = ""  # such as "utf-8" or "cp1252"
k = 5  # triplets of each row: its k nearest of the same class x its k nearest of others
validation = 0.3  # share of the rows that is set aside
most = 5000  # rows to learn from and to validate with, at most; of a longer table so many are drawn
compared = 600  # rows for the comparison with other methods, at most
seconds = 40.0  # for all that is learned, about; what takes longer ends early, and that is said
seed = 0

# %%
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import MinMaxScaler

import safescreen as ss
from safescreen_book import figures
from safescreen_book.datasets import tables
from safescreen_book.parameters import check_injected
from safescreen_book.protocols.neighbours import compare, error_of, factor_of, span, warm_up

check_injected()  # parameters that papermill has put in

# %% [markdown]
# Without a file of your own, the notebook writes an example.

# %%
is_example = not file
if is_example:
    words = "encode"
    seconds = 1e6  # no clock ends the example early, so that its numbers are the same everywhere
    wine = load_wine(as_frame=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(wine.target))
    frame = wine.data.iloc[rows]
    frame.insert(0, "bottle", 10_001 + np.arange(len(rows)))
    frame.insert(1, "bottled", pd.date_range("2024-03-01", periods=len(rows)).date)
    frame["laboratory"] = rng.choice(["north", "south"], len(rows))
    frame["closure"] = rng.choice(["cork", "glass", "screw cap"], len(rows))
    frame[label] = wine.target_names[wine.target[rows]]
    file = Path(tempfile.mkdtemp()) / "wine.csv"
    frame.to_csv(file, index=False)

# %% [markdown]
# The example is the wine data of scikit-learn, in the form in which a laboratory might export them. The thirteen
# measurements and the classes are real. Four columns are made up, as real tables have such columns too: the number of the
# bottle, the day of bottling, the laboratory and the closure. They say nothing about the class.

# %% [markdown]
# ## Read it
#
# What the file does not say is found out: the encoding, what stands between the values, how numbers are written, and which
# columns are dates or number the rows. Nothing is repaired without a word: each line below that begins with a parameter
# says what was found, and that parameter overrules it. You decide what to do with columns of words and with rows that have
# gaps.

# %%
frame, notes = tables.read_any(file, sep=sep, encoding=encoding)
table = tables.prepare(frame, label, drop=drop, keep=keep, words=words, gaps=gaps, missing=missing,
                       decimal=decimal, thousands=thousands)
train, test, drawn = tables.split(table.y, validation, seed, most)
print(*notes, *table.notes, *drawn, f"{table.X.shape[0]:,} rows, {table.X.shape[1]:,} features",
      sep="\n")
X, y, names = table.X, table.y, table.names
pd.Series(y).value_counts().rename("rows").to_frame()

# %% [markdown]
# ## Learn a metric
#
# If features have very different sizes, the largest decide which rows are near. So each feature is scaled to $[0, 1]$ by the
# rows for training. Each triplet wants a row nearer to one of its own class than to one of another. For the largest
# $\lambda$ every triplet is in the linear region, and the solution is known. From there on each solution is the start for
# the next $\lambda$, and proves that most triplets need not be looked at there. With more features than rows the metric is
# sought in the span of the rows, where the optimum lies.

# %% tags=["nbval-ignore-output"]
scaler = MinMaxScaler().fit(X[train])
A, B = scaler.transform(X[train]), scaler.transform(X[test])
classes, codes = np.unique(y[train], return_inverse=True)
k = min(k, len(train) - 1)
coordinates, basis = span(A)  # the rows themselves, and None, if there are more rows than features
triplets = ss.Triplets.from_labels(A, codes, k=k, coordinates=coordinates)
prob = ss.Problem(triplets, ss.SmoothedHinge(gamma=0.05))
if not prob.lam_max() > 0.0:
    raise ValueError(
        "k: in no direction are rows farther from other classes than from their own; "
        "try another k or other columns"
    )
with warnings.catch_warnings():
    # if the time is over, the last solution is not accurate
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    lams = prob.lam_max() * np.geomspace(0.9, 1e-5, 25)
    warm_up()  # the first time on a machine kernels are compiled, which is not to count as learning
    path = ss.path(prob, lams, rtol=1e-4, screening=("RRPB", "PGB"), max_seconds=seconds / 6)

# %% [markdown]
# Each metric of the path is judged by the error of the three nearest neighbours on the rows that
# are set aside.


# %% tags=["nbval-ignore-output"]
def validated(L):
    """Return the error of the neighbours after the map L, balanced if classes are uneven."""
    model = KNeighborsClassifier(min(3, len(A))).fit(A @ L.T, y[train])
    return error_of(model.predict(B @ L.T), y[test], is_balanced=table.is_uneven)


what = "balanced validation error" if table.is_uneven else "validation error"
errors = [validated(factor_of(solution.x, basis)) for solution in path]
before = error_of(
    KNeighborsClassifier(min(3, len(A))).fit(A, y[train]).predict(B),
    y[test],
    is_balanced=table.is_uneven,
)
best = int(np.argmin(errors))
chosen = path[best]
L = factor_of(chosen.x, basis)
print(f"{len(triplets):,} triplets of {len(A):,} rows; {len(path)} values of lambda")
print(
    f"{what} of the 3 nearest neighbours: {before:.3f} before, {errors[best]:.3f} at the best "
    "lambda"
)
if path.reason == "time":
    print(
        f"the time is over at lambda {path.lams[-1]:.3g}, and smaller ones are not tried; raise "
        "seconds"
    )

# %%
shown = sorted(pd.Series(y).value_counts().index[:8])
planes = {
    "Scaled features": PCA(2 if A.shape[1] > 1 else 1).fit(A).components_,
    "Learned metric": L[:2],
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
for ax, (title, plane) in zip(axes, planes.items(), strict=True):
    points = np.column_stack((B @ plane.T, np.zeros(len(B))))[:, :2]
    for each, colour, marker in zip(
        shown, plt.color_sequences["petroff10"], "os^DvP<>", strict=False
    ):
        ax.scatter(
            *points[y[test] == each].T, s=16, color=colour, marker=marker, label=str(each)[:20]
        )
    ax.set(title=title, xlabel="first direction", ylabel="second direction")
fig.legend(
    *axes[0].get_legend_handles_labels(), loc="outside right upper", title=label, frameon=False
)
figures.show(
    f"Dots are the {len(test):,} rows for validation, coloured by class. Left, they lie along the "
    "leading directions in which the scaled features vary most. "
    "Right, they lie along the leading directions to which the learned metric gives "
    "the largest weights."
)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
left.semilogx(path.lams, errors, "o-", color=figures.OTHERS[0], label="learned metric")
left.axhline(before, color="0.5", ls="--", label="scaled features")
left.axvline(path.lams[best], color=figures.COLOURS["R"], lw=1, label="choice")
left.set(xlabel=r"$\lambda$", ylabel=what, title="Choosing $\\lambda$")
right.semilogx(path.lams, [s.n_L / len(prob) for s in path], color=figures.COLOURS["L"],
               label="proved linear (L)")
right.semilogx(path.lams, [s.n_R / len(prob) for s in path], color=figures.COLOURS["R"],
               label="proved zero (R)")
right.semilogx(path.lams, path.path_rates, "k:", label="both, before the start")
right.set(xlabel=r"$\lambda$", ylabel="share of triplets", title="What never had to be looked at",
          ylim=(0, 1))
for ax in (left, right):
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, fontsize=8,
              handlelength=1.5)
figures.show(
    f"Left, a curve shows the {what} against lambda; a dashed line marks the {what} "
    "with scaled features, "
    f"{before:.3f}, and a vertical one the choice, {errors[best]:.3f}. Right, curves "
    "show the shares of "
    "triplets that are proved linear and proved zero at the end of each solve, and "
    "a dotted one shows "
    "both before its first iteration."
)

# %% [markdown]
# Several values of $\lambda$ often have the same error. Take the largest of them: its metric has the smallest norm, and costs
# the least time.

# %% [markdown]
# ## Does it help?
#
# A single split says little. So every method is tried on the same ten splits (five folds, twice; fewer folds where a class
# is small), and makes all its choices within the training rows. `TripletMetricCV` chooses $\lambda$ by cross-validation, and
# NCA is that of scikit-learn. LMNN is the problem of this notebook with one more linear term, which pulls each row towards
# its three nearest rows of the same class ([`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb)); all rows of
# other classes are pushed away. The first row answers with the most frequent class every time. If the largest class has
# more than three times the rows of the smallest, errors are *balanced*: the mean of the errors of the classes, so that a
# rare class counts as much as a frequent one.

# %% tags=["nbval-ignore-output"]
part, drawn = tables.drawn(y, compared, seed)
options = {"k": k, "seconds": 0.6 * seconds, "seed": seed, "is_balanced": table.is_uneven}
result = compare(X[part], y[part], shown=not is_example, **options)
for line in [*(line.replace("most", "compared") for line in drawn), *result.remarks()]:
    print(line)
result.table()

# %% tags=["nbval-ignore-output"]
methods = result.errors.drop(columns="most frequent class")
constant = result.errors["most frequent class"].mean()
fig, ax = plt.subplots(figsize=(7.5, 1.1 + 0.4 * methods.shape[1]), layout="constrained")
for row, method in enumerate(methods):
    ax.plot(methods[method], np.full(len(methods), row), "o", ms=4, color="0.75")
    ax.plot(methods[method].mean(), row, "D", ms=8, color=figures.COLOURS["L"])
if constant < 1.2 * methods.to_numpy().max():
    # where the most frequent class is always answered
    ax.axvline(constant, color="0.5", ls="--", lw=1)
ax.set(yticks=range(methods.shape[1]), yticklabels=methods,
       xlabel=f"{result.measure}, a grey dot a split")
ax.set_title(
    f"The most frequent class as the answer every time: {constant:.3f}", fontsize=10, loc="left"
)
ax.invert_yaxis()
ax.margins(y=0.15)
figures.show(
    f"A grey dot shows the {result.measure} of a method in a split, and a diamond their mean: "
    f"{figures.listed(result.errors.mean().to_dict(), '{:.3f}')}."
)
print(result.verdict())

# %% [markdown]
# The example shows when a metric helps. The laboratory and the closure are written as columns of 0 and 1. If two rows
# differ in one of them, their squared distance grows by 2; a measurement adds at most 1. The learned metric gives these
# columns almost no weight. Without them no difference can be told for the wines: put `"drop"` in place of `"encode"` in the
# second cell.
#
# For each class, the share of its rows that got their class from the nearest neighbours:

# %% tags=["nbval-ignore-output"]
result.found.drop(columns="most frequent class").round(3)

# %% [markdown]
# ## What the metric looks at

# %%
weights = (L * L).sum(axis=0)  # the diagonal of M = L'L
order = np.argsort(-weights, kind="stable")
largest = np.sort(order[:20])
M = L[:, largest].T @ L[:, largest]
side = 2.6 + 0.17 * len(largest)
fig, ax = plt.subplots(figsize=(side + 1.0, side), layout="constrained")
size = np.abs(M).max()
image = ax.imshow(M, cmap="RdBu_r", vmin=-size, vmax=size)
ax.set_xticks(range(len(largest)), [names[i][:30] for i in largest], rotation=90, fontsize=7)
ax.set_yticks(range(len(largest)), [names[i][:30] for i in largest], fontsize=7)
ax.set_title(
    "The learned matrix M"
    + f", {len(largest)} largest of {len(names):,}" * (len(largest) < len(names)),
    fontsize=10,
)
fig.colorbar(image, shrink=0.7)
figures.show(
    f"A square of {len(largest)} by {len(largest)} coloured cells shows the learned matrix, red "
    "above zero and blue below, with the names of the features along both sides."
)
print("weighs most:", ", ".join(names[i] for i in order[:3]))
print("weighs least:", ", ".join(sorted(names[i] for i in order[-3:])))

# %% [markdown]
# ## Neighbours before and after
#
# For each validation row, count how many of its seven nearest training rows have its class. The table shows the rows for
# which this number grows most.


# %% tags=["nbval-ignore-output"]
def own(P, Q):
    """Return, for each row of P, how many of its seven nearest rows of Q have its class."""
    nearest = (
        NearestNeighbors(n_neighbors=min(7, len(Q))).fit(Q).kneighbors(P, return_distance=False)
    )
    return (y[train][nearest] == y[test][:, None]).sum(axis=1)


shares = pd.DataFrame(
    {"row": test, "class": y[test], "before": own(B, A), "after": own(B @ L.T, A @ L.T)}
)
assert not is_example or shares["after"].mean() > shares["before"].mean()
shares.assign(gain=shares["after"] - shares["before"]).sort_values(
    ["gain", "row"], ascending=[False, True]
).head(6)

# %% [markdown]
# ## The same as an estimator
#
# `TripletMetric` does all this in one object with the conventions of scikit-learn, for a pipeline or a grid search. By
# default it screens only where that saves time. For so few triplets it does not, so here `screening` asks for it.

# %% tags=["nbval-ignore-output"]
from sklearn.pipeline import make_pipeline

n_neighbors = min(3, len(A))
lam_ratio = float(chosen.lam / prob.lam_max())
options = {"k": k, "n_neighbors": n_neighbors, "max_seconds": seconds / 12}
with warnings.catch_warnings():
    # of a class with fewer than k rows, and of a path that ends early
    warnings.simplefilter("ignore")
    metric = ss.TripletMetric(
        lam_ratio=lam_ratio, with_path=True, screening=("RRPB", "PGB"), **options
    )
    model = make_pipeline(MinMaxScaler(), metric).fit(X[train], y[train])
solution = metric.solution_
if np.isclose(solution.lam, chosen.lam):
    assert np.linalg.norm(solution.x - chosen.x) <= chosen.eps + np.sqrt(
        2 * solution.gap / solution.lam
    )
error = error_of(model.predict(X[test]), y[test], is_balanced=table.is_uneven)
print(f"{what} {error:.3f}; {solution.screening_rate:.0%} of the triplets screened")

# %% [markdown]
# `TripletMetricCV` chooses $\lambda$ too, by cross-validation within the training rows, with one path for each fold. The rows
# that are set aside play no part in the choice, so they are a fair test.

# %% tags=["nbval-ignore-output"]
cv = min(3, int(np.bincount(codes).max()))
options |= {"k": max(1, min(k, len(A) // 2 - 1)), "n_neighbors": min(3, len(A) // 2)}
options["max_seconds"] = seconds / 40
if cv < 3 or np.sort(np.bincount(codes))[-2] < 2:
    print("the classes have too few rows to choose by cross-validation")
else:
    scoring = "balanced_accuracy" if table.is_uneven else "accuracy"
    search = ss.TripletMetricCV(ss.TripletMetric(**options), lams=9, cv=cv, scoring=scoring)
    with warnings.catch_warnings():
        # of a class with fewer rows than folds, and of paths that end early
        warnings.simplefilter("ignore")
        model = make_pipeline(MinMaxScaler(), search).fit(X[train], y[train])
    kind = "balanced errors" if table.is_uneven else "errors"
    print(
        f"cross-validated {kind}:",
        " ".join(f"{1.0 - score:.3f}" for score in search.scores_.mean(axis=0)),
    )
    error = error_of(model.predict(X[test]), y[test], is_balanced=table.is_uneven)
    print(
        f"chosen: {search.lam_ / search.lams_[0]:.2g} lambda_max; {what} on the rows "
        f"set aside {error:.3f}"
    )

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
    "a column that is missing later": lambda: (
        ss.TripletMetric(k=k).fit(data, codes).predict(data[names[1:]])
    ),
}
if is_example:
    for mistake, run in mistakes.items():
        try:
            run()
        except ValueError as message:
            print(f"{mistake}: {message}\n")
else:
    print("These are shown for the example.")
