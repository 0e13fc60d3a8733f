# %% [markdown]
# # Your own data
#
# You have a table with a column of labels. Which distance brings rows with the same label near each other? In this notebook you learn a metric for many weights of the regularization, and choose one of them by validation. You see whether the metric helps, compared with Euclid's distance, NCA and LMNN. You also see which features the metric uses, which neighbours it changes, and how many triplets were screened.
#
# Write your file and label into the next cell, or assign your own data frame to `frame` in the section "Read the table". You can also run the notebook from a terminal: `papermill notebooks/01-your-own-data.ipynb out.ipynb -p file my.csv -p label species`. Use `-r` for a name that looks like a number: `-r label 4`.

# %% tags=["parameters"]
file = ""  # .csv or other text with a header, also compressed, or .parquet; empty: an example
label = "class"  # the column of classes
drop = ""  # columns that are not used, separated by commas
keep = ""  # columns to use although they look like row numbers, names or dates
words = "refuse"  # columns of words: "refuse", "encode" (0 and 1 for each word) or "drop"
gaps = "refuse"  # rows with gaps: "refuse" or "drop"
missing = ""  # words that mean a gap, separated by commas; empty values, NA and null always do
sep = ""  # separator: a character, "tab" or "blanks"; empty: guessed, as are the next three
decimal = ""  # the decimal mark, such as ","
thousands = ""  # the mark between thousands
encoding = ""  # such as "utf-8" or "cp1252"
k = 5  # triplets of each row: its k nearest of the same class x its k nearest of other classes
validation = 0.3  # share of the rows for validation
most = 5000  # largest number of rows; the notebook draws as many from a longer table
compared = 600  # largest number of rows for the comparison with other methods
seconds = 40.0  # approximate time for all learning; what takes longer ends early and says so
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

check_injected()  # parameters from papermill

# %% [markdown]
# If you give no file, the notebook writes an example.

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
# The example is the wine data of scikit-learn, in the form in which a laboratory might export them. The thirteen measurements and the classes are real. Real tables often have further columns, so the example has four invented columns: the number of the bottle, the day of bottling, the laboratory and the closure. These four columns contain no information about the class.

# %% [markdown]
# ## Read the table
#
# The notebook guesses the encoding, the separator, the format of numbers, and which columns are dates or row numbers. It prints each guess together with the parameter that overrules it. You decide what the notebook does with columns of words and with rows that have gaps.

# %%
frame, notes = tables.read_any(file, sep=sep, encoding=encoding)
columns = {"drop": drop, "keep": keep, "words": words, "gaps": gaps, "missing": missing}
table = tables.prepare(frame, label, decimal=decimal, thousands=thousands, **columns)
train, test, drawn = tables.split(table.y, validation, seed, most)
print(*notes, *table.notes, *drawn, table.size, sep="\n")
X, y, names = table.X, table.y, table.names
pd.Series(y).value_counts().rename("rows").to_frame()

# %% [markdown]
# ## Learn a metric
#
# If features have very different scales, the features with the largest values decide which rows are near. So we scale each feature to $[0, 1]$ on the training rows. Each triplet demands that a row is nearer to a row of its own class than to a row of another class. For large $\lambda$ every triplet is in the linear region, and we know the solution. We follow a path of decreasing $\lambda$: each solution is the starting point for the next $\lambda$, and screens most of the triplets for it. If the table has more features than rows, we search the metric in the span of the rows, which contains the optimum.

# %% tags=["nbval-ignore-output"]
scaler = MinMaxScaler().fit(X[train])
A, B = scaler.transform(X[train]), scaler.transform(X[test])
classes, codes = np.unique(y[train], return_inverse=True)
k = min(k, len(train) - 1)
coordinates, basis = span(A)  # A and None if A has more rows than features
triplets = ss.Triplets.from_labels(A, codes, k=k, coordinates=coordinates)
prob = ss.Problem(triplets, ss.SmoothedHinge(gamma=0.05))
if not prob.lam_max() > 0.0:
    raise ValueError(
        "k: in no direction are rows farther from other classes than from their own; "
        "try another k or other columns"
    )
lams = prob.lam_max() * np.geomspace(0.9, 1e-5, 25)
warm_up()  # compiles the kernels, so that the time limit does not include this
with warnings.catch_warnings():
    # if the time ends, the last solution is not accurate; the next cell says so
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    path = ss.path(prob, lams, rtol=1e-4, screening=("RRPB", "PGB"), max_seconds=seconds / 6)

# %% [markdown]
# We judge each metric of the path by the error of the three nearest neighbours on the validation rows.


# %%
def validated(P, Q):
    """Return the error of nearest neighbours among P for the rows of Q, balanced for uneven
    classes."""
    model = KNeighborsClassifier(min(3, len(P))).fit(P, y[train])
    return error_of(model.predict(Q), y[test], is_balanced=table.is_uneven)


def less_accurate(path):
    """Return in words how many solutions of a path are less accurate than asked, if any."""
    count = sum(not solution.converged for solution in path)
    return f"; less accurate than asked: {count} of {len(path)} solutions" if count else ""


# %% tags=["nbval-ignore-output"]
what = "balanced validation error" if table.is_uneven else "validation error"
errors = []
for solution in path:
    L = factor_of(solution.x, basis)
    errors.append(validated(A @ L.T, B @ L.T))
before = validated(A, B)
best = int(np.argmin(errors))
chosen = path[best]
L = factor_of(chosen.x, basis)
found = f"{len(path)} values of lambda{less_accurate(path)}"
print(f"{len(triplets):,} triplets of {len(A):,} rows; {found}")
print(
    f"{what} of the 3 nearest neighbours: {before:.3f} with scaled features, {errors[best]:.3f} "
    "with the best metric"
)
if path.reason == "time":
    last = f"{path.lams[-1]:.3g}"
    print(f"the time ended at lambda {last}; raise seconds to try smaller values of lambda")

# %%
shown = sorted(pd.Series(y).value_counts().index[:8])
is_shown = np.isin(y[test], shown)
whose = "" if is_shown.all() else f" of the {len(shown)} largest of {len(classes)} classes"
planes = {
    "Scaled features": PCA(2 if A.shape[1] > 1 else 1).fit(A).components_,
    "Learned metric": L[:2],
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
colours = plt.color_sequences["petroff10"]
for ax, (title, plane) in zip(axes, planes.items(), strict=True):
    points = np.column_stack((B @ plane.T, np.zeros(len(B))))[:, :2]
    for each, colour, marker in zip(shown, colours, "os^DvP<>", strict=False):
        style = {"s": 16, "color": colour, "marker": marker, "label": str(each)[:20]}
        ax.scatter(*points[y[test] == each].T, **style)
    ax.set(title=title, xlabel="first direction", ylabel="second direction")
handles, texts = axes[0].get_legend_handles_labels()
fig.legend(handles, texts, loc="outside right upper", title=label, frameon=False)
figures.show(
    f"Dots show the {is_shown.sum():,} validation rows{whose}, coloured by class. The axes of the "
    "left panel are the directions in which the scaled features vary most. The axes of the right "
    "panel are the directions to which the learned metric gives the largest weights."
)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
left.semilogx(path.lams, errors, "o-", color=figures.OTHERS[0], label="learned metric")
left.axhline(before, color="0.5", ls="--", label="scaled features")
left.axvline(path.lams[best], color=figures.COLOURS["R"], lw=1, label="choice")
left.set(xlabel=r"$\lambda$", ylabel=what, title="Choosing $\\lambda$")
share_L = [solution.n_L / len(prob) for solution in path]
share_R = [solution.n_R / len(prob) for solution in path]
right.semilogx(path.lams, share_L, color=figures.COLOURS["L"], label="proved linear (L)")
right.semilogx(path.lams, share_R, color=figures.COLOURS["R"], label="proved zero (R)")
right.semilogx(path.lams, path.path_rates, "k:", label="both, before the start")
right.set(xlabel=r"$\lambda$", ylabel="share of triplets", title="Screened triplets", ylim=(0, 1))
for ax in (left, right):
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 3}
    ax.legend(**place, frameon=False, fontsize=8, handlelength=1.5)
figures.show(
    f"The curve in the left panel shows the {what} against lambda. The dashed line marks the "
    f"{what} with scaled features, {before:.3f}, and the vertical line marks the choice, with "
    f"{errors[best]:.3f}. In the right panel solid curves show the shares of triplets that are "
    "proved linear and proved zero at the end of each solve, and the dotted curve shows the sum "
    "of both shares before the first iteration."
)

# %% [markdown]
# Several values of $\lambda$ often have the same error. The notebook chooses the largest of these values: its metric has the smallest norm, and the solver needs the least time for it.

# %% [markdown]
# ## Does the metric help?
#
# The error on a single split is not reliable. So we compare all methods on the same ten splits (five folds, twice; fewer folds if a class is small). Each method makes all its choices with the training rows. `TripletMetricCV` chooses $\lambda$ by cross-validation, and NCA is scikit-learn's. LMNN is the problem of this notebook with one more linear term, which pulls each row towards its three nearest rows of the same class ([`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb)); it pushes all rows of other classes away. The first line of the table is for a method that always answers the most frequent class. If the largest class has more than three times as many rows as the smallest class, we use *balanced* errors: the mean of the errors of the classes, so that rare and frequent classes have equal weight.

# %% tags=["nbval-ignore-output"]
part, drawn = tables.drawn(y, compared, seed)
options = {"k": k, "seconds": 0.6 * seconds, "seed": seed, "is_balanced": table.is_uneven}
result = compare(X[part], y[part], shown=not is_example, **options)
for line in drawn:
    print(line.replace("most", "compared"))
for line in result.remarks():
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
    # the error of always answering the most frequent class
    ax.axvline(constant, color="0.5", ls="--", lw=1)
ax.set_yticks(range(methods.shape[1]), methods)
ax.set(xlabel=f"{result.measure}, one grey dot per split")
title = f"The most frequent class as the answer every time: {constant:.3f}"
ax.set_title(title, fontsize=10, loc="left")
ax.invert_yaxis()
ax.margins(y=0.15)
figures.show(
    f"Each grey dot shows the {result.measure} of a method in one split. The diamonds show the "
    f"means: {figures.listed(result.errors.mean().to_dict(), '{:.3f}')}."
)
print(result.verdict())

# %% [markdown]
# This paragraph is about the example, not about a table of your own. The example shows when a metric helps. Its laboratory and its closure are encoded as columns of 0 and 1. If two of its rows have different laboratories or closures, their squared distance increases by 2, but a measurement adds at most 1. The metric of the example gives the encoded columns almost no weight. If you write `"drop"` in place of `"encode"` in the cell that writes the example, these columns are not used, and the methods do not differ measurably.
#
# The next table shows, for each class, the share of its rows that the nearest neighbours classify correctly:

# %% tags=["nbval-ignore-output"]
result.found.drop(columns="most frequent class").round(3)

# %% [markdown]
# ## Which features the metric uses

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
title = "The learned matrix M"
if len(largest) < len(names):
    title += f", {len(largest)} largest of {len(names):,}"
ax.set_title(title, fontsize=10)
fig.colorbar(image, shrink=0.7)
figures.show(
    f"The {len(largest)} by {len(largest)} coloured cells show the entries of the learned matrix. "
    "Positive entries are red and negative entries are blue. The names of the features are on "
    "both axes."
)
if len(names) < 6:
    print("weights, the largest first:", ", ".join(names[i] for i in order))
else:
    print("largest weights:", ", ".join(names[i] for i in order[:3]))
    print("smallest weights:", ", ".join(sorted(names[i] for i in order[-3:])))

# %% [markdown]
# ## Neighbours before and after
#
# For each validation row we count how many of its seven nearest training rows have its class. The table shows the rows for which the learned metric increases this count most. The column `row` has the number of the row in the file, counted as in a spreadsheet: the first line of the file is row 1, and blank lines count. For a Parquet file or a data frame of your own it has the index.


# %% tags=["nbval-ignore-output"]
def own(P, Q):
    """Return, for each row of P, how many of its seven nearest rows of Q have its class."""
    neighbours = NearestNeighbors(n_neighbors=min(7, len(Q))).fit(Q)
    nearest = neighbours.kneighbors(P, return_distance=False)
    return (y[train][nearest] == y[test][:, None]).sum(axis=1)


counts = pd.DataFrame({"row": list(table.rows[test]), "class": y[test]})
counts["before"] = own(B, A)
counts["after"] = own(B @ L.T, A @ L.T)
counts["gain"] = counts["after"] - counts["before"]
assert not is_example or counts["gain"].mean() > 0.0
counts.sort_values("gain", ascending=False, kind="stable").head(6)

# %% [markdown]
# ## The same as an estimator
#
# The estimator `TripletMetric` learns the metric and classifies with it. It follows the conventions of scikit-learn, so that you can use it in a pipeline or a grid search. By default it screens a list of triplets with the ball MGB each time the duality gap has fallen to a tenth, at the earliest ten iterations after the last time. We set `screening` to the balls of the path above. If the time ends before this $\lambda$, the estimator has another metric, and a line below says so.

# %% tags=["nbval-ignore-output"]
from sklearn.pipeline import make_pipeline

n_neighbors = min(3, len(A))
lam_ratio = float(chosen.lam / prob.lam_max())
options = {"k": k, "n_neighbors": n_neighbors, "max_seconds": seconds / 6}
with warnings.catch_warnings():
    # warnings of a class with fewer than k rows, and of inaccurate solutions, which we count
    warnings.simplefilter("ignore")
    balls = ("RRPB", "PGB")
    metric = ss.TripletMetric(lam_ratio=lam_ratio, with_path=True, screening=balls, **options)
    model = make_pipeline(MinMaxScaler(), metric).fit(X[train], y[train])
solution = metric.solution_
if np.isclose(solution.lam, chosen.lam):
    accuracy = np.sqrt(2 * solution.gap / solution.lam)
    assert np.linalg.norm(solution.x - chosen.x) <= chosen.eps + accuracy
else:
    print(
        f"another metric: the time ended at lambda {solution.lam:.3g}, before the chosen "
        f"{chosen.lam:.3g}; raise seconds"
    )
error = error_of(model.predict(X[test]), y[test], is_balanced=table.is_uneven)
screened = f"{solution.screening_rate:.0%} of the triplets screened"
print(f"{what} {error:.3f}; {screened}{less_accurate(metric.path_)}")

# %% [markdown]
# `TripletMetricCV` also chooses $\lambda$, by cross-validation within the training rows, with one path for each fold. It does not use the rows set aside for validation, so the error on these rows is a fair test. Its `max_seconds` limit each $\lambda$ of each fold.

# %% tags=["nbval-ignore-output"]
cv = min(3, int(np.bincount(codes).max()))
options |= {"k": max(1, min(k, len(A) // 2 - 1)), "n_neighbors": min(3, len(A) // 2)}
options["max_seconds"] = seconds / 50
if cv < 3 or np.sort(np.bincount(codes))[-2] < 2:
    print("the classes have too few rows to choose by cross-validation")
else:
    scoring = "balanced_accuracy" if table.is_uneven else "accuracy"
    search = ss.TripletMetricCV(ss.TripletMetric(**options), lams=9, cv=cv, scoring=scoring)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make_pipeline(MinMaxScaler(), search).fit(X[train], y[train])
    for each in caught:
        if issubclass(each.category, ss.ConvergenceWarning):
            print(f"less accurate than asked: {each.message}")
    kind = "balanced errors" if table.is_uneven else "errors"
    cross_validated = 1.0 - search.scores_.mean(axis=0)
    print(f"cross-validated {kind}:", " ".join(f"{each:.3f}" for each in cross_validated))
    error = error_of(model.predict(X[test]), y[test], is_balanced=table.is_uneven)
    print(f"chosen lambda: {search.lam_ / search.lams_[0]:.2g} lambda_max")
    print(f"{what} on the rows set aside: {error:.3f}")

# %% [markdown]
# ## When something is wrong
#
# The library's error messages say what is wrong, and what you can do.

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
