"""Frank-Wolfe for sparse similarities (HDSL19): forward directions and kinds of steps, CPU
seconds of so many iterations.
"""

import time
import warnings
from functools import cache

import pytest

from cases import load
from safescreen import ConvergenceWarning, SmoothedHinge, hdsl
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


STOPS = {
    "dexter, scale 10, gap 1e-4": ("dexter", 10.0, 1e-4),
    "dexter, scale 10, gap 1e-8": ("dexter", 10.0, 1e-8),
    "dexter, scale 30, gap 1e-5": ("dexter", 30.0, 1e-5),
    "dorothea, scale 1, gap 1e-3": ("dorothea", 1.0, 1e-3),
    "dorothea, scale 1, gap 1e-6": ("dorothea", 1.0, 1e-6),
    "wide topics, scale 2, gap 1e-3": ("wide topics", 2.0, 1e-3),
    "wide topics, scale 2, gap 1e-7": ("wide topics", 2.0, 1e-7),
    "topics, scale 100, gap 1e-3": ("topics", 100.0, 1e-3),
}
"""Data, scale and gap of fits that screen atoms or do not."""


@pytest.mark.parametrize("screening", ["none", "auto"])
@pytest.mark.parametrize("case", STOPS)
def bench_atoms(timed, small, case, screening):
    data, scale, tol = STOPS[case]
    X, triplets = _case(data)

    def fit(max_iter):
        solver = hdsl.FrankWolfe(
            scale,
            forward="exact",
            variant="pairwise",
            tol=tol,
            max_iter=max_iter,
            screening=screening,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solver.fit(X, triplets)

    solver = timed(
        f"atoms: {case}",
        screening,
        lambda: fit(30 if small else 600),
        reference="none",
        rounds=2,
        warm=lambda: fit(5),
    )
    timed.facts.update({"iterations": solver.n_iter_, "gap": solver.gap_})
    assert small or solver.gap_ <= tol or solver.n_iter_ == 600


SEEN = {}
"""Objectives and exact gaps of the methods so far: they enclose the same minimum."""


@cache
def _case(data):
    if data == "topics":
        X, y = datasets.sparse_topics(600, 5000, 60, 0, n_classes=4, n_words=60, share=0.15)
        return X, hdsl.nearest_triplets(X, y)
    if data == "wide topics":
        X, y = datasets.sparse_topics(600, 1_000_000, 60, 0, n_classes=4, n_words=60, share=0.15)
        return X, hdsl.nearest_triplets(X, y)
    X, y = load(data)
    return X, hdsl.random_triplets(y, 20, 0)
