"""Semismooth Newton steps, and what "auto" does, against gradient steps alone, triplets at small
lam, relative and absolute gap: CPU seconds, one thread.
"""

import time
import warnings
from functools import cache

import numpy as np
import pytest

import safescreen as ss
from cases import LOSS, facts, load

pytestmark = pytest.mark.benchmark(timer=time.process_time)

STOPS = {"relative": {"tol": 0.0, "rtol": 1e-6}, "absolute": {"tol": 1e-6}}
PROBLEMS = {"segment": (1, 20, LOSS), "phishing": (2, 7, LOSS), "wine": (1, 5, ss.Hinge())}
"""Every so many-th point, neighbours of each, and the loss."""

SPANS = {"segment": (1e-3, 1e-6), "phishing": (1e-1, 1e-4), "wine": (1e-4, 1e-7)}
"""Parts of lam_max that paths of 20 lam start and end at."""


@pytest.mark.parametrize("method", ["gradient", "semismooth", "auto"])
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("data", PROBLEMS)
def bench_newton(timed, small, data, stop, method):
    prob, lams = _case(data, small)

    def work(lams=lams):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.ConvergenceWarning)
            return ss.path(prob, lams, method=method, **STOPS[stop])

    group = f"newton: {data}, {len(prob):,} terms, {stop} gap, {len(lams)} lam"
    path = timed(group, method, work, reference="gradient", rounds=1, warm=lambda: work(lams[:1]))
    timed.facts.update({**facts(path), "not converged": sum(not s.converged for s in path)})
    assert small or method == "gradient" or all(s.converged for s in path)


@cache
def _case(data, small):
    every, k, loss = PROBLEMS[data]
    X, y = load(data, every * (4 if small else 1))
    prob = ss.Problem(
        ss.Triplets.from_labels(X.toarray() if hasattr(X, "toarray") else X, y, k), loss
    )
    return prob, prob.lam_max() * np.geomspace(*SPANS[data], 4 if small else 20)
