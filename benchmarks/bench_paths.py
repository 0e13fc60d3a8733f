"""Paths of triplet metric learning against the plain baseline on grids of STS19: CPU seconds on
one thread, building included.
"""

import time
from functools import cache

import pytest

import safescreen as ss
from baseline import plain_path
from cases import GAMMA, GRIDS, RTOL, check, facts, path_case, triplet_path

pytestmark = pytest.mark.benchmark(timer=time.process_time)

TRIPLETS = ["", "GB", "PGB", "DGB", "MGB", "RRPB", "RRPB+PGB", "RRPB ranges"]
METHODS = [
    "plain",
    "plain RRPB",
    *(f"triplets {s}".strip() for s in TRIPLETS),
    "products",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", GRIDS)
def bench_path(timed, small, data, method):
    X, y, lams = path_case(data, small)
    group = (
        f"{data}: {len(ss.ProductTriplets(X, y)):,} triplets in {X.shape[1]} dimensions, "
        f"{len(lams)} lam"
    )
    once = (
        {"warm": lambda: _run(method, *path_case(data, True)), "rounds": 1}
        if method.startswith("plain")
        else {}
    )
    path = timed(group, method, lambda: _run(method, X, y, lams), reference="plain", **once)
    timed.facts.update(facts(path))
    check(path, _reference(data, small))
    assert (timed.facts["screened %"] > 0.0) == (" " in method)


def _run(method, X, y, lams):
    family, _, rest = method.partition(" ")
    if family == "plain":
        return plain_path(
            X, ss.Triplets.from_labels(X, y).index, lams, GAMMA, RTOL, screening=bool(rest)
        )
    screening = tuple(rest.removesuffix(" ranges").split("+")) if rest else ()
    terms = ss.ProductTriplets if family == "products" else ss.Triplets.from_labels
    return triplet_path(terms, X, y, lams, screening, rest.endswith("ranges"))


@cache
def _reference(data, small):
    return _run("products", *path_case(data, small))
