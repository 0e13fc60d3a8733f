"""What the benchmarks share: data or the reason why not, grids of lam, facts about a path, and
what must agree.
"""

import gc
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import safescreen as ss
from safescreen_book import datasets

RTOL = 1e-6
"""Relative duality gap to reach."""

ENOUGH = 10.0
"""Seconds of a first call from which on one round is enough."""

LIMITS = {"tol": 1e-300, "rtol": RTOL}
GAMMA = 0.05
LOSS = ss.SmoothedHinge(GAMMA)

GRIDS = {
    "iris": (1, 1.3e7, 0.9, 126),
    "wine": (1, 2.0e7, 0.9, 123),
    "segment": (12, 9.1e7, 0.6, 20),
}
"""Every so many-th point; first lam, ratio and length of the grid, those of STS19 for iris and
wine.
"""


def load(name, every=1):
    """Return every so many-th point and label, scaled as in the papers, or skip where the data
    are not at hand.
    """
    if not datasets.available(name):
        pytest.skip(f"no data: {name} (`make data` lists where it is looked for)")
    X, y = datasets.load(name, return_X_y=True)
    return X[::every].copy(), y[::every]


@cache
def path_case(data, small):
    """Return points, labels and lam of a path in ``GRIDS``."""
    every, start, ratio, length = GRIDS[data]
    if small:
        X, y = load(data, 4 * every)
        return X, y, below(X, y, 0.5, 10)
    return *load(data, every), start * ratio ** np.arange(length)


def triplet_path(family, X, y, lams, screening=(), ranges=False):
    """Build a family of terms from labels and solve the path."""
    prob = ss.Problem(family(X, y), LOSS)
    return ss.path(prob, lams, screening=screening, ranges=ranges, **LIMITS)


def below(X, y, ratio, length):
    """Return a grid of lam from ``lam_max`` down by factors of `ratio`."""
    return ss.Problem(ss.ProductTriplets(X, y), LOSS).lam_max() * ratio ** np.arange(length)


def facts(path):
    """Return iterations, the largest relative gap, and the mean rate of screening in percent."""
    gap = max(s.gap / s.primal for s in path)
    return {
        "iterations": sum(s.n_iter for s in path),
        "gap": gap,
        "screened %": 100.0 * float(np.mean([s.screening_rate for s in path])),
    }


def check(path, reference):
    """Assert that two paths reached the gap and that their primal and dual values enclose the
    same optima.
    """
    for s, r in zip(path, reference, strict=True):
        assert s.lam == r.lam and 0.0 <= s.gap <= RTOL * s.primal
        assert max(s.primal - s.gap, r.primal - r.gap) <= min(s.primal, r.primal) * (1.0 + 1e-12)


def growth(work, small, *args):
    """Return by how many bytes this process grows at its peak in ``work(small, *args)``, once a
    small one has compiled it (Linux).
    """
    work(True, *args)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _resident("VmRSS")
    work(small, *args)
    return _resident("VmHWM") - before


def _resident(name):
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)
    ]
    return 1024 * int(line.split()[1])
