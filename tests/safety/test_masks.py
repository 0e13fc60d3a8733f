"""Masks, not only gaps: what rough and fine solves and paths screened, against certified optima, terms at a kink of the loss included."""

from functools import lru_cache

import numpy as np
import pytest

import safescreen as ss
from instances import WITH_KERNEL, instance
from naive.harness import truth

GRID = 0.9 ** np.arange(2, 22)
TOLERANCES = (0.1, 0.01, 1e-4, 1e-8)
"""Relative gaps: the roughest are those of a user who wants a metric quickly."""
SCREENINGS = (("RRPB", "PGB"), ("RRPB",), ("MGB&RRPB",), ("GB+halfspace", "DGB"))


def problem_of(kind, gamma):
    """Return an instance with its problem and the lam of a path from where most terms are linear to where many are zero."""
    of = instance(kind, n=24 if kind in ("full", "diagonal") else 60, k=4, seed=3)
    return of, of.problem(gamma), of.lam(1.0) * GRID


@lru_cache
def optima(kind, gamma):
    """Return the certified optimum of each lam."""
    of, prob, lams = problem_of(kind, gamma)
    return [truth(prob, of.exact(gamma), lam)[1] for lam in lams]


def check(solution, known, prob, goal):
    """The masks are those of the optimum, and of x itself; the gap is that of the whole problem."""
    screened, x, lam = solution.screened, solution.x, solution.lam
    assert (screened.n_L, screened.n_R) == (solution.n_L, solution.n_R)
    assert known.right(screened), (lam, goal)
    assert (solution.alpha[screened.in_L] == 1.0).all() and (solution.alpha[screened.in_R] == 0.0).all()
    whole = prob.gap(x, lam, solution.alpha if prob.loss.smoothing == 0.0 else None)
    assert whole <= solution.gap * (1.0 + 1e-9) + 1e-12 * abs(solution.primal), (lam, goal)
    assert not solution.converged or whole <= goal * abs(solution.primal) * (1.0 + 1e-6)


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_paths_at_any_tolerance(kind, gamma, ranges):
    _, prob, lams = problem_of(kind, gamma)
    counted = 0
    for rtol in TOLERANCES:
        for screening in SCREENINGS:
            for dynamic in (None, ()):
                path = ss.path(prob, lams, tol=0.0, rtol=rtol, screening=screening, dynamic=dynamic, ranges=ranges)
                for solution, known in zip(path, optima(kind, gamma), strict=True):
                    check(solution, known, prob, rtol)
                    counted += solution.n_L + solution.n_R
    assert counted > 0.2 * len(prob) * len(lams) * len(TOLERANCES) * len(SCREENINGS)


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_solves_at_any_tolerance(kind, gamma):
    _, prob, lams = problem_of(kind, gamma)
    for lam, known in list(zip(lams, optima(kind, gamma), strict=True))[::6]:
        for rtol in TOLERANCES:
            for screening in (("GB",), ("PGB",), ("DGB",), ("CDGB",), ("MGB",), ("MGB&PGB",), ("PGB+halfspace",)):
                for freq in (1, 7):
                    check(ss.solve(prob, lam, tol=0.0, rtol=rtol, screening=screening, freq=freq), known, prob, rtol)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_terms_at_the_kink_are_counted(kind):
    """Support vectors on the margin: a mask that takes one of them is found out, though its margin is 1 to the last digit."""
    found = 0
    for known in optima(kind, 0.0):
        neither = ~known.may_L & ~known.may_R
        found += neither.sum()
        for t in np.flatnonzero(neither):
            only = np.arange(neither.size) == t
            assert not known.right(ss.rules.Screened(only, ~only & False))
            assert not known.right(ss.rules.Screened(~only & False, only))
    assert found >= 10
