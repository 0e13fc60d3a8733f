"""Searches: CPU seconds of SafeSVCCV and TripletMetricCV beside those of GridSearchCV.

    python benchmarks/searches.py                        # four tables, the data at hand; hours
    python benchmarks/searches.py rbf magic,usps 2000    # one of its names; data; rows
    python benchmarks/searches.py linear a9a "" 600      # rivals end after so many CPU seconds

Five stratified folds, standardised columns (text as it is), and a last fit of all rows. rbf: C =
0.01 to 100 and gamma = 0.1/d to 10/d, five values of each, classes as they are and so in pairs; the
rivals are SVC and, where scikit-learn-intelex is installed, that of oneDAL. linear: 31 values of C
from 0.001 to 10 and the hinge; the rival is LinearSVC with the hinge. squared: the same with the
squared hinge, as LinearSVC comes. metric: 13 values of lam; the rival is a search over
TripletMetric.

Tolerances are the defaults; the second search of ours is at 1e-3. A row is a data set, and each
search a process of its own. Columns: CPU seconds of each search, of ours with their ratio to the
least of the rivals, and by how many megabytes its memory grows to the peak; the best mean score of
the first rival that ends and what it chooses; the same of ours, with the largest difference of the
two in a mean score, and the mean score of that rival at our choice. Without a kernel the last
column is by how much objectives exceed the least one, relative to it, at most over the classes:
those of LinearSVC and of SafeSVC at its default tolerance, fitted to all rows for C = 0.001, 0.1
and 10. A rival that was ended has the number of the C that it had finished in all folds.
"""

import importlib
import multiprocessing
import resource
import signal
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import datasets

FOLDS = 5
TEXT = "reuters21578"


def rows_of(name, n):
    """Return points and labels, n of them at random if there are more; text as it is, without the
    classes of fewer rows than folds.
    """
    X, y = datasets.load(name, return_X_y=True)
    if name == TEXT:
        classes, counts = np.unique(y, return_counts=True)
        keep = np.isin(y, classes[counts >= FOLDS])
        X, y = sparse.csr_matrix(X[keep]), y[keep]
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y
    X = X.toarray() if sparse.issparse(X) else X
    some = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[some]), y[some]


def one_dal():
    """Return oneDAL's SVC, with one thread, by its name; nothing if it is not installed."""
    try:
        importlib.import_module("daal4py").daalinit(1)
        return {"oneDAL": importlib.import_module("sklearnex.svm").SVC()}
    except ImportError:
        return {}


def kernel_searches(X, y):
    """Return the rivals and ours with the rbf kernel, by name."""
    Cs = np.geomspace(0.01, 100.0, 5)
    gammas = np.geomspace(0.1, 10.0, 5) / X.shape[1]
    rivals = {"SVC": SVC(), **one_dal()}
    models = {"SafeSVCCV": ss.SafeSVC(kernel="rbf"), "1e-3": ss.SafeSVC(kernel="rbf", tol=1e-3)}
    return (
        {name: GridSearchCV(m, {"C": Cs, "gamma": gammas}, cv=FOLDS) for name, m in rivals.items()},
        {name: ss.SafeSVCCV(m, Cs, gammas=gammas, cv=FOLDS) for name, m in models.items()},
    )


def linear_searches(X, y, loss="hinge"):
    """Return the rival and ours without a kernel, by name."""
    Cs = np.geomspace(1e-3, 10.0, 31)
    models = {"SafeSVCCV": ss.SafeSVC(loss=loss), "1e-3": ss.SafeSVC(loss=loss, tol=1e-3)}
    return (
        {"LinearSVC": GridSearchCV(Linear(loss=loss), {"C": Cs}, cv=FOLDS)},
        {name: ss.SafeSVCCV(m, Cs, cv=FOLDS) for name, m in models.items()},
    )


def squared_searches(X, y):
    """Return the same with the squared hinge."""
    return linear_searches(X, y, "squared_hinge")


class Linear(LinearSVC):
    """LinearSVC, whose fits are counted."""

    n_fits = 0

    def fit(self, *args, **options):
        """Fit the model."""
        super().fit(*args, **options)
        Linear.n_fits += 1
        return self


def excesses(loss, X, y):
    """Return the relative excess of the objectives of LinearSVC and of SafeSVC, as text."""
    cells = []
    for C in (1e-3, 0.1, 10.0):
        exact = ss.SafeSVC(C, loss=loss, tol=1e-8, keep_problem=True).fit(X, y)
        found = []
        for model in (LinearSVC(C=C, loss=loss), ss.SafeSVC(C, loss=loss)):
            points = np.column_stack((model.fit(X, y).coef_, model.intercept_))
            found.append(
                max(
                    s.problem.primal(x, s.lam) / (s.primal - s.gap) - 1.0
                    for s, x in zip(exact.solutions_, points, strict=True)
                )
            )
        cells.append("{:.0e}, {:.0e}".format(*found))
    return "; ".join(cells)


def metric_searches(X, y):
    """Return the loop and ours for metrics, by name."""
    lams = ss.TripletMetric(lam_ratio=1.0).fit(X, y).lam_ * np.geomspace(1.0, 1e-4, 13)
    models = {"TripletMetricCV": ss.TripletMetric(), "1e-3": ss.TripletMetric(tol=1e-3)}
    return (
        {"TripletMetric": GridSearchCV(ss.TripletMetric(), {"lam": lams}, cv=FOLDS)},
        {name: ss.TripletMetricCV(m, lams, cv=FOLDS) for name, m in models.items()},
    )


LINEAR = ("phishing", "splice", "magic", "a9a", TEXT, "digits", "segment")

TABLES = {
    "rbf": (kernel_searches, ("magic", "phishing", "usps", "satimage", "splice"), 2000),
    "linear": (linear_searches, LINEAR, None),
    "squared": (squared_searches, LINEAR, None),
    "metric": (metric_searches, ("iris", "wine", "breast-cancer", "segment"), 500),
}
"""By the name of a table its searches, data and rows."""


class TooLong(BaseException):
    """A search takes longer than it may."""


def end(*_):
    """End what is running."""
    raise TooLong


def work(search, X, y, most, pipe):
    """Send the CPU seconds of a search, megabytes, its scores, and the number of fits; the search
    ends after `most` seconds, if that is not 0, and then has no scores.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, most)
    start = time.process_time()
    scores = None
    try:
        scores = scores_of(search.fit(X, y))
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    spent = time.process_time() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000.0
    pipe.send((spent, megabytes, scores, Linear.n_fits))


def apart(search, X, y, most=0.0):
    """Return what `work` sends from a process of its own."""
    own, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=work, args=(search, X, y, most, other)
    )
    process.start()
    other.close()
    found = own.recv()
    process.join()
    return found


def scores_of(search):
    """Return the mean scores by what they belong to."""
    results = search.cv_results_
    return {
        tuple(float(f"{value:.6g}") for value in params.values()): score
        for params, score in zip(results["params"], results["mean_test_score"], strict=True)
    }


def chosen_of(scores):
    """Return the choice as text, and its mean score."""
    choice = max(scores, key=scores.get)
    return ", ".join(f"{value:.3g}" for value in choice), scores[choice]


def row(name, n, make, most=0.0):
    """Return the heads and the cells of a data set."""
    X, y = rows_of(name, n)
    rivals, ours = make(X, y)
    searches = {**rivals, **ours}
    found = {own: apart(search, X, y) for own, search in ours.items()}
    found |= {rival: apart(search, X, y, most) for rival, search in rivals.items()}
    least = min(found[rival][0] for rival in rivals)
    first = next((rival for rival in rivals if found[rival][2]), next(iter(rivals)))
    cells = {"data": f"{name}, {X.shape[0]:,} x {X.shape[1]:,}, {np.unique(y).size} classes"}
    cells |= {f"{rival}, s (MB)": "{:.2f} ({:.0f})".format(*found[rival][:2]) for rival in rivals}
    for own in ours:
        spent, megabytes, *_ = found[own]
        cells[f"{own}, s (ratio; MB)"] = f"{spent:.2f} ({spent / least:.2f}; {megabytes:.0f})"
    _, _, theirs, n_fits = found[first]
    if theirs is None:
        cells[f"{first}: best score"] = f"ended after {n_fits // FOLDS} C"
        for own in ours:
            cells[own] = "{1:.4f} at {0}".format(*chosen_of(found[own][2]))
        return cells
    cells[f"{first}: best score"] = "{1:.4f} at {0}".format(*chosen_of(theirs))
    for own in ours:
        scores = found[own][2]
        choice, score = chosen_of(scores)
        place = max(scores, key=scores.get)
        difference = max(abs(scores[each] - theirs[each]) for each in theirs)
        cells[f"{own}: best score (difference; {first} there)"] = (
            f"{score:.4f} at {choice} ({difference:.4f}; {theirs[place]:.4f})"
        )
    if isinstance(searches[first].estimator, Linear):
        cells["excess"] = excesses(searches[first].estimator.loss, X, y)
    return cells


def main(kind="", names="", n="", most=0.0):
    """Print the tables."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for make, data, rows in [TABLES[kind]] if kind else TABLES.values():
            for search in [*make(*rows_of("iris", None))[1].values()]:
                search.fit(*rows_of("iris", None))  # compiles
            heads = None
            for name in filter(datasets.available, names.split(",") if names else data):
                cells = row(name, int(n) if n else rows, make, float(most))
                if heads is None:
                    heads = list(cells)
                    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
                print(f"| {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
