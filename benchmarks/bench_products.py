"""Triplets that are never listed: one evaluation of half a billion of them, a path over more than a billion; wall and CPU seconds."""

import time

import numba
import numpy as np
import pytest

import safescreen as ss
from cases import LOSS, below, check, facts, load, triplet_path


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("part", [1.0, 1e-2, 1e-4])
def bench_evaluation(timed, small, part, threads):
    """Primal, dual and gradient at the all-linear solution for a part of lam_max; more threads change no bit."""
    if threads > numba.config.NUMBA_NUM_THREADS:
        pytest.skip(f"{threads} threads: numba has {numba.config.NUMBA_NUM_THREADS}")
    X, y = load("digits", 8 if small else 1)
    prob = ss.Problem(ss.ProductTriplets(X, y), LOSS)
    lam = part * prob.lam_max()
    M = prob.all_linear() / lam
    alone = prob.evaluate(M, lam)
    numba.set_num_threads(threads)
    group = f"one evaluation of digits at {part:g} lam_max: {len(prob):,} triplets in {X.shape[1]} dimensions, wall seconds"

    def work():
        return prob.evaluate(M, lam)

    e = timed(group, ("one thread", "two threads")[threads - 1], work, reference="one thread", rounds=7)
    assert e.primal == alone.primal and np.array_equal(e.gradient, alone.gradient)
    assert e.gap >= 0.0


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("screening", [(), ("MGB",)], ids=["none", "MGB"])
def bench_path(timed, small, screening):
    X, y = load("segment", 8 if small else 1)
    lams = below(X, y, 0.5, 10)
    group = f"segment as products: {len(ss.ProductTriplets(X, y)):,} triplets in {X.shape[1]} dimensions, {len(lams)} lam"

    def run(lams):
        return triplet_path(ss.ProductTriplets, X, y, lams, screening)

    name = "+".join(screening) or "no screening"
    path = timed(group, name, lambda: run(lams), reference="no screening", rounds=2, warm=lambda: run(lams[:3]))
    timed.facts.update(facts(path))
    check(path, REFERENCE.setdefault(small, path))


REFERENCE = {}
"""The path that was solved first, by size."""
