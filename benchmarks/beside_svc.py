"""SVC and SafeSVC side by side: the same machine, coefficient by coefficient.

    python benchmarks/beside_svc.py            # six data sets, those at hand; a minute

Two classes, the first of those there are against the second, standardised columns, C = 1, a free
intercept. LIBSVM gets the tolerance 1e-6 and this library a relative duality gap of 1e-10, so that
what differs is what either leaves open. Columns: the largest differences of coefficients
(`coef_`, or `dual_coef_` with a kernel), of the intercept and of decision values; how many
predictions differ; CPU seconds of both with these tolerances, and with their defaults; and the gap
that this library certifies, relative to the objective.
"""

import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import datasets

DATA = ("iris", "wine", "breast-cancer", "digits", "segment", "splice")
ROUNDS = 3


def two_classes(name):
    """Return points and labels of the second and third class, or of the two there are."""
    X, y = datasets.load(name, return_X_y=True)
    X = X.toarray() if sparse.issparse(X) else X
    classes = np.unique(y)[-2:]
    keep = np.isin(y, classes)
    X = StandardScaler().fit_transform(X[keep])
    return X, np.where(y[keep] == classes[1], 1, 0)


def seconds(make, X, y):
    """Return the least CPU seconds of some fits, and the last model; the first fit compiles."""
    make().fit(X, y)
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        model = make().fit(X, y)
        spent.append(time.process_time() - start)
    return min(spent), model


def dual(model, n):
    """Return the signed dual variables of all samples."""
    coef = np.zeros(n)
    coef[model.support_] = np.ravel(model.dual_coef_)
    return coef


def row(name, kernel):
    """Return the cells of a data set and a kernel."""
    X, y = two_classes(name)
    options = {"C": 1.0, "kernel": kernel, "gamma": "scale"}
    theirs_seconds, theirs = seconds(lambda: SVC(tol=1e-6, **options), X, y)
    free = {**options, "intercept": "free"}
    ours_seconds, ours = seconds(lambda: ss.SafeSVC(tol=1e-10, keep_problem=True, **free), X, y)
    usual_theirs, _ = seconds(lambda: SVC(**options), X, y)
    usual_ours, _ = seconds(lambda: ss.SafeSVC(**free), X, y)
    if kernel == "linear":
        coefs = ours.coef_[0] - theirs.coef_[0]
    else:
        coefs = dual(ours, y.size) - dual(theirs, y.size)
    decisions = ours.decision_function(X) - theirs.decision_function(X)
    cells = [
        f"{name}, {kernel}, {X.shape[0]:,} x {X.shape[1]}",
        f"{np.abs(coefs).max():.0e}",
        f"{abs(ours.intercept_[0] - theirs.intercept_[0]):.0e}",
        f"{np.abs(decisions).max():.0e}",
        f"{np.count_nonzero(ours.predict(X) != theirs.predict(X))}",
        f"{theirs_seconds:.3f}",
        f"{ours_seconds:.3f}",
        f"{usual_theirs:.3f}",
        f"{usual_ours:.3f}",
        f"{ours.dual_gap_ / ours.solutions_[0].primal:.0e}",
    ]
    return f"| {' | '.join(cells)} |"


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    heads = ["data", "coefficients", "intercept", "decisions", "predictions that differ"]
    heads += ["SVC, s", "SafeSVC, s", "SVC as it comes", "SafeSVC as it comes", "relative gap"]
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    with threadpool_limits(1):
        for name in filter(datasets.available, DATA):
            for kernel in ("linear", "rbf"):
                print(row(name, kernel), flush=True)


if __name__ == "__main__":
    main()
