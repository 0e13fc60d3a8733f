"""Sums over one product of two lists, against all of its pairs: on a grid of integers, exactly."""

import numpy as np
import pytest

import safescreen as ss
from safescreen.products.sums import extremes, product_sums, room

RANGE, BITS = 16, 5
"""Lists from 0 to 16, rounded to five bits: the grid is the integers."""


def sums_of(s, t, tau, gamma, near, bits):
    """Return the weights of both lists and the sums."""
    p, q = len(s), len(t)
    s_weights, t_weights, sums = np.full(p, np.nan), np.full(q, np.nan), np.zeros(5)
    args = (np.array(s, float), np.array(t, float), p, q, tau, gamma, near, bits)
    product_sums(*args, s_weights, t_weights, room(p, q), sums)
    return s_weights, t_weights, sums


def all_pairs(s, t, gamma):
    """Return the same from every pair."""
    slack = np.subtract.outer(s, t)
    alpha = np.clip(slack / gamma, 0.0, 1.0)
    loss = alpha * (slack - 0.5 * gamma * alpha)
    curved = np.where((slack > 0.0) & (slack < gamma), slack - alpha * slack, 0.0)
    sums = [loss.sum(), alpha.sum(), (alpha * alpha).sum(), 0.0, curved.sum()]
    return alpha.sum(axis=1), alpha.sum(axis=0), np.array(sums)


@pytest.mark.parametrize("gamma", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 7), (5, 5), (9, 40), (40, 90)])
def test_sums_over_integers_are_exact(sizes, gamma):
    rng = np.random.default_rng(sizes[0])
    p, q = sizes
    for _ in range(20):
        s = rng.integers(0, RANGE + 1, p)
        t = rng.integers(0, RANGE + 1, q)
        s[:2] = t[:2] = 0, RANGE
        found = sums_of(s, t, 0.0, gamma, 0.0, BITS)
        for one, other in zip(found, all_pairs(s, t, gamma), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("size", range(1, 14))
def test_extremes_of_a_list(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        values = rng.permutation(20).astype(float)
        assert extremes(values, size) == (values[:size].min(), values[:size].max())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_a_list_with_a_nan_has_no_extremes_and_no_sums(size):
    """Wherever it is: its place among the others would be out of the arrays."""
    good = np.arange(20.0)
    for place in range(size):
        bad = good[:size].copy()
        bad[place] = np.nan
        assert np.isnan(extremes(bad, size)).all()
        for lists in ((bad, good), (good[:1], bad), (bad, bad)):
            assert all(np.isnan(part).all() for part in sums_of(*lists, 1.0, 0.05, 0.0, 50))


def test_lists_that_are_too_wide_have_no_sums():
    assert all(np.isnan(part).all() for part in sums_of([0.0, 1e308], [1.0], 1.0, 0.05, 0.0, 50))


@pytest.mark.parametrize("k", [None, 2])
def test_a_metric_that_overflows_for_some_pairs_has_no_sums(k):
    """Distances of the outer points are inf - inf, those of the inner ones are numbers."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 2.0], [1e8, -1e8], [-1e8, 1e8]])
    terms = ss.ProductTriplets(X, [0, 1, 0, 1, 0, 1], k)
    x = 1e300 * np.array([[1.0, 1.0], [1.0, 1.0]])
    for loss in (ss.SmoothedHinge(0.05), ss.Hinge()):
        with np.errstate(all="ignore"):
            sums = terms.loss_sums(x, loss)
        assert not np.isfinite(sums.loss)
