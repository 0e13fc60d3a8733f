"""Growth of memory at the peak: explicit triplets with a path over them, and products with an
evaluation; Linux, whole processes.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import safescreen as ss
from cases import LOSS, growth, load, path_case, triplet_path

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc"
)

METHODS = {
    "no screening": ((), False),
    "RRPB": (("RRPB",), False),
    "RRPB+PGB": (("RRPB", "PGB"), False),
    "RRPB ranges": (("RRPB",), True),
}


@pytest.mark.parametrize("method", METHODS)
def bench_triplets(timed, small, method):
    n = len(ss.ProductTriplets(*path_case("iris", small)[:2]))
    group = f"memory of a path over iris: {n:,} explicit triplets"
    grown = _measure(timed, group, method, n, _path, small, *METHODS[method])
    assert small or grown > 12 * n, "three 32-bit integers each"


def bench_products(timed, small):
    n = len(ss.ProductTriplets(*load("digits", 8 if small else 1)))
    group = f"memory of an evaluation of digits: {n:,} triplets as products"
    assert _measure(timed, group, "products", n, _evaluation, small) < max(n, 1e7)


def _measure(timed, group, method, n, work, *args):
    def grown():
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(growth, work, *args).result()

    found = timed(
        group, method, grown, reference="no screening", rounds=1, warm=lambda: None, ratio_of="MB"
    )
    timed.facts.update({"MB": found / 1e6, "bytes a triplet": found / n})
    return found


def _path(small, screening, ranges):
    triplet_path(ss.Triplets.from_labels, *path_case("iris", small), screening, ranges)


def _evaluation(small):
    X, y = load("digits", 8 if small else 1)
    prob = ss.Problem(ss.ProductTriplets(X, y), LOSS)
    lam = 0.01 * prob.lam_max()
    prob.evaluate(prob.all_linear() / lam, lam)
