"""Corners of a grid of C and gamma: seconds of SafeSVC beside those of SVC.

    python benchmarks/corners.py                # seven data sets, those at hand; ten minutes
    python benchmarks/corners.py magic,usps 1000,2000

The rbf kernel, C = 1, 100 and 1,000, and gamma = 0.1, 1 and 10 over the number of columns; classes
in two halves, rows at random, standardised columns, `tol=1e-3` for both. There it is a relative
duality gap; LIBSVM's is the largest violation of a condition of optimality. A row is a data set and
a number of rows. Columns: CPU seconds of the nine fits of both, and their ratio; the largest ratio
of a single fit, and which that is; the largest relative duality gap of both.
"""

import itertools
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import datasets

DATA = ("magic", "phishing", "splice", "usps", "satimage", "ijcnn1", "a9a")
ROWS = (1000, 2000, 6000)
GRID = tuple(itertools.product((1.0, 100.0, 1000.0), (0.1, 1.0, 10.0)))
TOL = 1e-3
ENOUGH = 0.15
"""Fits are repeated until they have taken so many seconds, or five times."""


def some_rows(name, n):
    """Return n points and labels of a data set with two classes, of which either is half of the
    classes; fewer if there are not so many.
    """
    X, y = datasets.load(name, return_X_y=True)
    X = X.toarray() if sparse.issparse(X) else X
    numbers = np.searchsorted(np.unique(y), y)
    some = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[some]), numbers[some] * 2 > numbers.max()


def seconds(make, X, y):
    """Return the least CPU seconds of some fits, and the last model."""
    spent = []
    while not spent or (sum(spent) < ENOUGH and len(spent) < 5):
        start = time.process_time()
        model = make().fit(X, y)
        spent.append(time.process_time() - start)
    return min(spent), model


def gap_of(model, X, y, C, gamma):
    """Return the relative duality gap of the dual point of an SVC."""
    prob = ss.Problem(ss.FreeIntercept.from_points(X, np.where(y, 1, -1), "rbf", gamma), ss.Hinge())
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.minimum(np.abs(model.dual_coef_[0]) / C, 1.0)
    e = prob.evaluate(prob.x_of(alpha, 1.0 / C), 1.0 / C, alpha)
    return e.gap / e.primal


def row(name, n):
    """Return the cells of a data set and a number of rows."""
    X, y = some_rows(name, n)
    ours, theirs, gaps, ratios = [], [], [], []
    for C, factor in GRID:
        gamma = factor / X.shape[1]
        options = {"C": C, "kernel": "rbf", "gamma": gamma, "tol": TOL}
        spent, model = seconds(lambda o=options: ss.SafeSVC(keep_problem=True, **o), X, y)
        rival_spent, rival = seconds(lambda o=options: SVC(**o), X, y)
        ours.append(spent)
        theirs.append(rival_spent)
        gaps.append((model.dual_gap_ / model.solutions_[0].primal, gap_of(rival, X, y, C, gamma)))
        where = f"C = {C:g}, {factor:g}/d: {spent:.3f} and {rival_spent:.3f}"
        ratios.append((spent / rival_spent, where))
    worst, where = max(ratios)
    our_gap, their_gap = np.max(gaps, axis=0)
    total, rival_total = sum(ours), sum(theirs)
    cells = [f"{name}, {len(y):,} x {X.shape[1]}", f"{total:.2f}", f"{rival_total:.2f}"]
    cells += [f"{total / rival_total:.2f}", f"{worst:.2f} ({where})"]
    cells += [f"{our_gap:.0e}", f"{their_gap:.0e}"]
    return f"| {' | '.join(cells)} |"


def main(names="", sizes=""):
    """Print the table."""
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    heads = ["data", "SafeSVC, s", "SVC, s", "ratio", "largest ratio of a fit (seconds)"]
    heads += ["gap of SafeSVC", "gap of SVC"]
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 3))
    with threadpool_limits(1):
        for C in (1.0, 1000.0):  # so that nothing is compiled or loaded later
            ss.SafeSVC(C, kernel="rbf", tol=TOL).fit(X, X[:, 0] > rng.standard_normal(1200))
        for name in filter(datasets.available, names.split(",") if names else DATA):
            for n in map(int, sizes.split(",")) if sizes else ROWS:
                if n <= 1.1 * len(datasets.load(name, return_X_y=True)[1]):
                    print(row(name, n), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
