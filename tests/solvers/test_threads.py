"""One thread and two: the same bits from the kernels, the same answer to rounding from the linear algebra beneath them."""

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import safescreen as ss


def labelled(n, d):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 1.5 * np.eye(d)[y], y


def answers(terms):
    """Solve for one lam and along a path; return the solutions."""
    prob = ss.Problem(terms, ss.SmoothedHinge(0.05))
    lams = prob.lam_max() * np.array([0.1, 0.07])
    return [ss.solve(prob, lams[-1], tol=0.0, rtol=1e-8), *ss.path(prob, lams, tol=0.0, rtol=1e-8)]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this process has one thread")
@pytest.mark.parametrize("k", [None, 150])
@pytest.mark.parametrize("diagonal", [False, True])
def test_threads_of_the_kernels(diagonal, k):
    terms = ss.ProductTriplets(*labelled(330, 8), k=k, diagonal=diagonal)
    assert not terms._products.serial
    before, found = numba.get_num_threads(), []
    try:
        for n in (1, 2):
            numba.set_num_threads(n)
            found.append(answers(terms))
    finally:
        numba.set_num_threads(before)
    assert all(s.converged for s in found[0]) and any(s.n_L + s.n_R for s in found[0])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one.x, two.x)
        for name in ("gap", "eps", "primal", "n_iter", "n_L", "n_R"):
            assert getattr(one, name) == getattr(two, name)


def test_threads_of_the_linear_algebra():
    terms, found = ss.Triplets.from_labels(*labelled(200, 50), k=4), []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            found.append(answers(terms))
    for one, two in zip(*found, strict=True):
        assert one.converged and two.converged
        assert np.linalg.norm(one.x - two.x) <= min(one.eps + two.eps, 1e-3 * np.linalg.norm(one.x))
        assert np.array_equal(one.screened.in_L & two.screened.in_R, np.zeros(len(terms), dtype=bool))
