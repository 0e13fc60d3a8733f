"""Frank-Wolfe for sparse similarities (HDSL19): forward directions and kinds of steps, CPU
seconds of so many iterations.
"""

import time
from functools import cache

import pytest

from cases import load
from safescreen import SmoothedHinge, hdsl
from safescreen_book import datasets

pytestmark = pytest.mark.benchmark(timer=time.process_time)

METHODS = {
    "exact, away": {"forward": "exact"},
    "heuristic, away": {},
    "heuristic, pairwise": {"variant": "pairwise"},
    "heuristic, plain": {"variant": "plain"},
}
SCALE = 100.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", ["topics", "dexter"])
def bench_frank_wolfe(timed, small, data, method):
    X, triplets = _case(data)
    n_iter = 100 if small else 1000
    group = f"{data}: {len(triplets):,} triplets in {X.shape[1]:,} dimensions, {n_iter} iterations"

    def fit(max_iter):
        return hdsl.FrankWolfe(SCALE, max_iter=max_iter, random_state=0, **METHODS[method]).fit(
            X, triplets
        )

    solver = timed(
        group, method, lambda: fit(n_iter), reference="exact, away", rounds=2, warm=lambda: fit(20)
    )
    objective = float(SmoothedHinge(1.0).value(solver.similarity_.margins(X, triplets)).mean())
    timed.facts.update(
        {
            "objective": objective,
            "gap": solver.gap_,
            "features": int(solver.similarity_.features.size),
        }
    )
    assert (
        solver.n_iter_ == n_iter and solver.gap_ >= 0.0 and objective < solver.history_[0].objective
    )
    found = SEEN.setdefault((data, small), [])
    found.append((objective, solver.gap_))
    assert max(value - gap for value, gap in found) <= min(value for value, _ in found) * (
        1.0 + 1e-9
    )


SEEN = {}
"""Objectives and exact gaps of the methods so far: they enclose the same minimum."""


@cache
def _case(data):
    if data == "topics":
        X, y = datasets.sparse_topics(600, 5000, 60, 0, n_classes=4, n_words=60, share=0.15)
        return X, hdsl.nearest_triplets(X, y)
    X, y = load(data)
    return X, hdsl.random_triplets(y, 20, 0)
