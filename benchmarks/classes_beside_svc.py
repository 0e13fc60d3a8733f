"""SVC and SafeSVC with several classes, side by side: pairs of classes with the rbf kernel.

    python benchmarks/classes_beside_svc.py            # six data sets, those at hand; some minutes

Four fifths of the rows, standardised, gamma = 1/(d Var(X)), C = 1 and 10, both with their default
tolerance; mnist with 8,000 rows. CPU seconds of one thread, the least of some fits in turn.
Columns: seconds of fit and of predict on the other rows, how many of these get the same class,
errors, and the largest gap that this library certifies, relative to the objective.
"""

import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import datasets

DATA = ("satimage", "usps", "segment", "mnist", "digits", "dna")
MOST = 10_000
ROUNDS = 3


def split(name):
    """Return standardised rows and labels to fit, and others."""
    X, y = datasets.load(name, return_X_y=True)
    X = X.toarray() if sparse.issparse(X) else X
    if y.size > MOST:
        X, _, y, _ = train_test_split(X, y, train_size=MOST, random_state=0, stratify=y)
    X, others, y, labels = train_test_split(X, y, train_size=0.8, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(others), labels


def seconds(works):
    """Return the least CPU seconds of each of some works, done in turn, and what they return."""
    least = [np.inf] * len(works)
    found = [None] * len(works)
    for _ in range(ROUNDS):
        for number, work in enumerate(works):
            start = time.process_time()
            found[number] = work()
            least[number] = min(least[number], time.process_time() - start)
    return least, found


def row(name, C):
    """Return the cells of a data set and a C."""
    X, y, others, labels = split(name)
    options = {"C": C, "kernel": "rbf", "gamma": 1.0 / (X.shape[1] * X.var())}
    theirs = SVC(**options)
    checked = ss.SafeSVC(keep_problem=True, **options).fit(X, y)  # compiles too
    gap = max(s.gap / s.primal for s in checked.solutions_)
    del checked
    ours = ss.SafeSVC(**options)
    fits, _ = seconds((lambda: theirs.fit(X, y), lambda: ours.fit(X, y)))
    predicts, classes = seconds((lambda: theirs.predict(others), lambda: ours.predict(others)))
    errors = [100.0 * np.mean(found != labels) for found in classes]
    cells = [
        f"{name}, {X.shape[0]:,} x {X.shape[1]}, {ours.classes_.size} classes, C = {C:g}",
        *(f"{spent:.3f}" for spent in fits),
        f"{fits[1] / fits[0]:.2f}",
        *(f"{spent:.3f}" for spent in predicts),
        f"{100.0 * np.mean(classes[0] == classes[1]):.2f}",
        *(f"{error:.2f}" for error in errors),
        f"{gap:.0e}",
    ]
    return f"| {' | '.join(cells)} |"


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    heads = ["data", "fit: SVC, s", "SafeSVC, s", "ratio", "predict: SVC, s", "SafeSVC, s"]
    heads += ["same class, %", "error: SVC, %", "SafeSVC, %", "relative gap"]
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    with threadpool_limits(1):
        for name in filter(datasets.available, DATA):
            for C in (1.0, 10.0):
                print(row(name, C), flush=True)


if __name__ == "__main__":
    main()
