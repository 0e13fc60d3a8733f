"""Screening by itself against none and against always, on problems where it pays and where it
does not: CPU seconds on one thread.
"""

import time
from functools import cache

import numpy as np
import pytest

import safescreen as ss
from cases import LOSS, load

pytestmark = pytest.mark.benchmark(timer=time.process_time)

RELATIVE, ABSOLUTE = {"tol": 0.0, "rtol": 1e-6}, {"tol": 1e-6}
METHODS = {"none": (), "auto": "auto", "MGB": ("MGB",), "RRPB+PGB": ("RRPB", "PGB")}


def _triplets(name, every, k, stop, length, loss=LOSS):
    def make(small):
        X, y = load(name, every * (4 if small else 1))
        X = X.toarray() if hasattr(X, "toarray") else X
        prob = ss.Problem(ss.Triplets.from_labels(X, y, k), loss)
        return prob, prob.lam_max() * 0.9 ** np.arange(8 if small else length), stop

    return make


def _samples(name, length, loss=LOSS, kernel=False, every=1):
    def make(small):
        X, y = load(name, every * (8 if small else 1))
        y = np.where(y == np.unique(y)[0], -1.0, 1.0)
        terms = ss.KernelSamples.from_points(X, y) if kernel else ss.Samples(X, y)
        return (
            ss.Problem(terms, loss),
            1.0 / np.geomspace(0.01, 100.0, 6 if small else length),
            RELATIVE,
        )

    return make


CASES = {
    "segment, relative gap": _triplets("segment", 1, 20, RELATIVE, 60),
    "segment, absolute gap": _triplets("segment", 1, 20, ABSOLUTE, 60),
    "iris, relative gap": _triplets("iris", 1, None, RELATIVE, 120),
    "iris, absolute gap": _triplets("iris", 1, None, ABSOLUTE, 120),
    "wine, relative gap": _triplets("wine", 1, None, RELATIVE, 120),
    "wine, hinge": _triplets("wine", 1, 5, RELATIVE, 30, ss.Hinge()),
    "phishing, triplets": _triplets("phishing", 2, 7, RELATIVE, 40),
    "shuttle": _samples("shuttle", 20),
    "ijcnn1": _samples("ijcnn1", 20),
    "a9a, sparse": _samples("a9a", 12),
    "a9a, hinge": _samples("a9a", 8, ss.Hinge(), every=3),
    "breast-cancer": _samples("breast-cancer", 50),
    "shuttle, kernel": _samples("shuttle", 10, LOSS, kernel=True, every=20),
    "ijcnn1, kernel, hinge": _samples("ijcnn1", 10, ss.Hinge(), kernel=True, every=20),
    "satimage, rows of a kernel": _samples("satimage", 25, ss.Hinge(), kernel=True),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def bench_screening(timed, small, case, method):
    time_path(timed, small, case, method, METHODS[method], reference="none", group="auto")


def time_path(timed, small, case, method, screening, *, reference, group):
    """Time a path of one of `CASES`; the row is called `method`."""
    prob, lams, stop = _case(case, small)

    def solve():
        if isinstance(prob.terms, ss.Triplets):
            prob.terms._norms = None  # what only screening needs is part of its cost
        return ss.path(prob, lams, screening=screening, **stop)

    path = timed(
        f"{group}: {case}, {len(prob):,} terms, {len(lams)} lam", method, solve, reference=reference
    )
    rate = float(np.mean([s.screening_rate for s in path]))
    timed.facts.update({"iterations": sum(s.n_iter for s in path), "screened %": 100.0 * rate})
    assert all(s.converged for s in path)


@cache
def _case(case, small):
    return CASES[case](small)
