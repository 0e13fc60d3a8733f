"""Triplets that are never listed: one evaluation of half a billion of them, a path over more
than a billion; wall and CPU seconds.
"""

import time

import numba
import numpy as np
import pytest

import safescreen as ss
from cases import LOSS, below, facts, load, triplet_path


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("part", [1.0, 1e-2, 1e-4])
def bench_evaluation(timed, small, part, threads):
    """Primal, dual and gradient at the all-linear solution for a part of lam_max; more threads
    change no bit.
    """
    if threads > numba.config.NUMBA_NUM_THREADS:
        pytest.skip(f"{threads} threads: numba has {numba.config.NUMBA_NUM_THREADS}")
    X, y = load("digits", 8 if small else 1)
    prob = ss.Problem(ss.ProductTriplets(X, y), LOSS)
    lam = part * prob.lam_max()
    M = prob.all_linear() / lam
    alone = prob.evaluate(M, lam)
    numba.set_num_threads(threads)
    group = (
        f"one evaluation of digits at {part:g} lam_max: {len(prob):,} triplets in {X.shape[1]} "
        "dimensions, wall seconds"
    )

    def work():
        return prob.evaluate(M, lam)

    e = timed(
        group, ("one thread", "two threads")[threads - 1], work, reference="one thread", rounds=7
    )
    assert e.primal == alone.primal and np.array_equal(e.gradient, alone.gradient)
    assert e.gap >= 0.0


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("n", [2000, 4000, 8000])
def bench_points(timed, small, n):
    """All triplets of more and more points in 32 dimensions and ten classes: time by pairs,
    memory by points.
    """
    n, rng = n // 8 if small else n, np.random.default_rng(0)
    y = np.arange(n) % 10
    terms = ss.ProductTriplets(rng.standard_normal((n, 32)) + rng.standard_normal((10, 32))[y], y)
    M, group = 0.05 * np.eye(32), "one evaluation of all triplets by points, CPU seconds"
    timed(group, f"n = {n}", lambda: terms.loss_sums(M, LOSS), reference=f"n = {n}", rounds=2)
    timed.facts.update({"triplets": float(len(terms))})


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("family", ["listed", "products"])
def bench_equal_points(timed, small, family):
    """Neighbours among points of which half are repetitions."""
    X, y = load("phishing", 8 if small else 1)
    X = X.toarray() if hasattr(X, "toarray") else X
    terms = (ss.ProductTriplets if family == "products" else ss.Triplets.from_labels)(X, y, 7)
    M = np.eye(X.shape[1]) / X.shape[1]
    group = f"one evaluation of phishing, k = 7: {len(terms):,} triplets"
    timed(group, family, lambda: terms.loss_sums(M, LOSS), reference="listed", rounds=5)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("data", ["segment", "digits"])
def bench_path(timed, small, data):
    X, y = load(data, 8 if small else 1)
    lams = below(X, y, 0.5, 10)
    group = (
        f"{data} as products: {len(ss.ProductTriplets(X, y)):,} triplets in {X.shape[1]} "
        f"dimensions, {len(lams)} lam"
    )

    def run(lams):
        return triplet_path(ss.ProductTriplets, X, y, lams)

    path = timed(
        group,
        "products",
        lambda: run(lams),
        reference="products",
        rounds=2,
        warm=lambda: run(lams[:3]),
    )
    timed.facts.update(facts(path))
    assert all(solution.converged for solution in path)
