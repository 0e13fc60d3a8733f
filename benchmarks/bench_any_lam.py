"""Triplets at any lam: a path of 50 lam down to 3e-8 of the largest, by gradient steps alone (for
the hinge with Newton steps between), interior-point steps alone, and by what "auto" makes of both:
CPU seconds, one thread.
"""

import time
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import safescreen as ss
from cases import LOSS, facts

pytestmark = pytest.mark.benchmark(timer=time.process_time)

MAX_ITER = 2000
"""Where gradient steps are stopped: they would go on for minutes."""

PROBLEMS = {
    "breast-cancer": (load_breast_cancer, LOSS, {}),
    "breast-cancer, hinge": (load_breast_cancer, ss.Hinge(), {}),
    "breast-cancer, products": (load_breast_cancer, LOSS, {"product": True}),
    "breast-cancer, diagonal": (load_breast_cancer, LOSS, {"diagonal": True}),
    "breast-cancer, columns from 1e-3 to 1e3": (load_breast_cancer, LOSS, {"spread": 3.0}),
    "wine": (load_wine, LOSS, {}),
    "wine, hinge": (load_wine, ss.Hinge(), {}),
    "digits": (load_digits, LOSS, {}),
}


@pytest.mark.parametrize("method", ["gradient", "interior", "auto"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@pytest.mark.parametrize("data", PROBLEMS)
def bench_any_lam(timed, small, data, rtol, method):
    prob = _problem(data, small)
    lams = prob.lam_max() * 0.7 ** np.arange(4 if small else 50)
    by = "semismooth" if method == "gradient" and prob.loss.smoothing == 0.0 else method

    def work(lams=lams):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.ConvergenceWarning)
            return ss.path(prob, lams, rtol=rtol, method=by, max_iter=MAX_ITER)

    group = f"any lam: {data}, {len(prob):,} terms, relative gap {rtol:g}, {len(lams)} lam"
    path = timed(group, method, work, reference="gradient", rounds=1, warm=lambda: work(lams[:1]))
    timed.facts.update({**facts(path), "not converged": sum(not s.converged for s in path)})
    assert small or method == "gradient" or all(s.converged for s in path)


@cache
def _problem(data, small):
    load, loss, options = PROBLEMS[data]
    X, y = load(return_X_y=True)
    if small:
        X = X[::8]
        y = y[::8]
    X = StandardScaler().fit_transform(X)
    if "spread" in options:
        X = X * 10.0 ** np.linspace(-options["spread"], options["spread"], X.shape[1])
    if "product" in options:
        return ss.Problem(ss.ProductTriplets(X, y, k=5), loss)
    terms = ss.Triplets.from_labels(X, y, k=5, diagonal="diagonal" in options)
    return ss.Problem(terms, loss)
