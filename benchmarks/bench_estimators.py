"""Estimators beside those of scikit-learn as they come, by rows: CPU seconds with one thread,
and growth of memory at the peak.
"""

import time
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from cases import growth

pytestmark = pytest.mark.benchmark(timer=time.process_time)

TASKS = {
    "linear machine": {"LinearSVC": LinearSVC, "SafeSVC": lambda: ss.SafeSVC(tol=1e-4)},
    "rbf machine": {
        "SVC": lambda: SVC(cache_size=1000),
        "SafeSVC": lambda: ss.SafeSVC(kernel="rbf", tol=1e-3, max_gigabytes=1.0),
    },
    "metric": {
        "NCA": lambda: NeighborhoodComponentsAnalysis(random_state=0),
        "TripletMetric": ss.TripletMetric,
    },
}
"""By task the reference and ours, each at about the accuracy of its defaults."""

LARGEST = {"NCA": 1000}
"""Rows beyond which a method would take hours or more memory than there is."""

ROWS = (1000, 10_000, 60_000)
CASES = [
    (task, n, name)
    for task, names in TASKS.items()
    for n in ROWS
    for name in names
    if n <= LARGEST.get(name, n)
]


@pytest.mark.parametrize(("task", "n", "name"), CASES)
def bench_estimators(timed, small, task, n, name):
    n, reference = n // 20 if small else n, next(iter(TASKS[task]))

    def work(small=False):
        X, y = _data(300 if small else n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return TASKS[task][name]().fit(X, y)

    model = timed(
        f"estimators: {task}, {n} rows",
        name,
        work,
        reference=reference,
        rounds=1,
        warm=lambda: work(True),
    )
    X, y = _data(2 * n)
    rows = slice(n, n + min(n, 5000))
    if task == "metric":
        model = KNeighborsClassifier(5).fit(model.transform(X[:n]), y[:n]), model.transform
    score = (
        model[0].score(model[1](X[rows]), y[rows])
        if task == "metric"
        else model.score(X[rows], y[rows])
    )
    timed.facts.update({"score": float(score), "MB": growth(work, small) / 1e6})
    assert score > 0.6


@cache
def _data(n):
    """Return points in 20 dimensions in two classes, with a curved border and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, (
        np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + X[:, 2] - 0.4 > rng.standard_normal(n) * 0.3
    ).astype(int)
