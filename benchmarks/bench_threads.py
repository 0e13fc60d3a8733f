"""Threads as they come: wall seconds in fresh processes with no setting at all, and with one and
two threads of BLAS.

Alone, beside a process that keeps a core busy, and in ``GridSearchCV(n_jobs=2)``, where two do the
work at a time. The clock runs from when a small part of the work has loaded the compiled kernels.
Small cases, which are not to be quoted, take no process of their own."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV

import safescreen as ss
from cases import below, load, triplet_path

SETTINGS = {
    "default": {},
    "1 thread": {"OPENBLAS_NUM_THREADS": "1"},
    "2 threads": {"OPENBLAS_NUM_THREADS": "2"},
}


def products(X, y, n_lams):
    """Solve a path of products."""
    triplet_path(ss.ProductTriplets, X, y, below(X, y, 0.9, n_lams))


def machine(X, y):
    """Solve a path over 50 C up to 10."""
    prob = ss.Problem(ss.Samples(X, np.where(y == np.unique(y)[0], -1.0, 1.0)), ss.Hinge())
    ss.path(prob, np.geomspace(0.98 * prob.lam_max(), 0.1, 50), rtol=1e-3, tol=0.0)


CASES = {
    "TripletMetric on digits": ("digits", lambda X, y: ss.TripletMetric().fit(X, y)),
    "segment path, 60 lam": ("segment", lambda X, y: products(X[::3], y[::3], 60)),
    "wine path": ("wine", lambda X, y: products(X, y, 123)),
    "SVM path on shuttle": ("shuttle", machine),
    "SVM path on phishing": ("phishing", machine),
}


class Work(BaseEstimator):
    """An estimator that does the work of a case, whatever it is given; its score is the seconds
    that took.
    """

    def __init__(self, name, every=1):
        self.name, self.every = name, every

    def fit(self, X, y=None):
        data, work = CASES[self.name]
        work(*load(data, 24))
        (X, y), started = load(data, self.every), time.perf_counter()
        work(X, y)
        self.seconds_ = time.perf_counter() - started
        return self

    def score(self, X, y=None):
        return self.seconds_


@pytest.mark.parametrize("situation", ["alone", "busy", "search"])
@pytest.mark.parametrize("name", CASES)
def bench_threads(timed, small, name, situation):
    load(CASES[name][0])  # or skip
    seconds = {setting: np.inf for setting in list(SETTINGS)[: 1 if small else 3]}

    def work():
        for setting in () if small else seconds:
            environment = {
                key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")
            }
            environment |= {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                **SETTINGS[setting],
            }
            command = [sys.executable, __file__, name, situation]
            seconds[setting] = min(
                float(subprocess.check_output(command, env=environment)), seconds[setting]
            )
        if small:
            seconds["default"] = measure(name, situation, 24)

    other = (
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        if situation == "busy"
        else None
    )
    try:
        timed(
            "threads, wall seconds",
            f"{name}, {situation}",
            work,
            reference="",
            rounds=2,
            warm=lambda: None,
        )
    finally:
        if other is not None:
            other.kill()
            other.wait()
    timed.facts.update({**seconds, "default/best": seconds["default"] / min(seconds.values())})


def measure(name, situation, every=1):
    """Return the seconds of a case, in this process or in two of a search."""
    if situation != "search":
        return Work(name, every).fit(None).seconds_
    search = GridSearchCV(
        Work(name), {"every": [every]}, cv=2, refit=False, n_jobs=2, error_score="raise"
    )
    return search.fit(np.zeros((4, 1))).cv_results_["mean_test_score"][0]


if __name__ == "__main__":
    print(measure(*sys.argv[1:]))
