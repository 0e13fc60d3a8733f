"""One thread and two: the same bits; BLAS has one while a solve runs and its own back
afterwards.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen._threads import (
    LARGE_PRODUCT,
    _Libraries,
    matmul,
)


def labelled(n, d):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 1.5 * np.eye(d)[y], y


def answers(terms, screening):
    """Solve for one lam and along a path; return the solutions."""
    prob = ss.Problem(terms, ss.SmoothedHinge(0.05))
    lams = prob.lam_max() * np.array([0.1, 0.07])
    return [
        ss.solve(prob, lams[-1], tol=0.0, rtol=1e-8, screening=screening),
        *ss.path(prob, lams, tol=0.0, rtol=1e-8, screening=screening),
    ]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this process has one thread")
@pytest.mark.parametrize("k", [None, 150])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.slow
def test_threads_of_the_kernels(diagonal, k):
    terms = ss.ProductTriplets(*labelled(330, 8), k=k, diagonal=diagonal)
    assert not terms.products.serial
    before, found = numba.get_num_threads(), []
    try:
        for n in (1, 2):
            numba.set_num_threads(n)
            found.append(answers(terms, ()))
    finally:
        numba.set_num_threads(before)
    assert all(s.converged for s in found[0])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one.x, two.x)
        for name in ("gap", "eps", "primal", "n_iter"):
            assert getattr(one, name) == getattr(two, name)


def test_threads_of_the_linear_algebra():
    terms, found = ss.Triplets.from_labels(*labelled(200, 50), k=4), []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            found.append(answers(terms, ("RRPB", "PGB")))
    for one, two in zip(*found, strict=True):
        assert one.converged and two.converged
        assert np.array_equal(one.x, two.x) and one.gap == two.gap
        assert np.array_equal(one.screened.in_L, two.screened.in_L) and np.array_equal(
            one.screened.in_R, two.screened.in_R
        )


class Library:
    """A BLAS library, as seen from outside."""

    threads = 2

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, n):
        self.threads = n


@pytest.fixture
def blas(monkeypatch):
    library = Library()
    monkeypatch.setattr(_Libraries, "controllers", [library])
    return library


def test_blas_has_one_thread_in_a_solve(blas):
    prob, seen = ss.Problem(ss.Triplets.from_labels(*labelled(20, 3)), ss.SmoothedHinge(0.05)), []
    ss.solve(
        prob, 1.0, callback=lambda progress: seen.append(blas.threads), screening=("RRPB", "PGB")
    )
    ss.path(
        prob,
        [2.0, 1.0],
        callback=lambda progress: seen.append(blas.threads),
        screening=("RRPB", "PGB"),
    )
    assert set(seen) == {1} and blas.threads == 2
    with pytest.raises(ValueError, match="lam"):
        ss.solve(prob, -1.0, screening=("RRPB", "PGB"))
    assert blas.threads == 2


def test_large_products_are_shared(blas, monkeypatch):
    rng = np.random.default_rng(0)
    A, B, seen = rng.standard_normal((7000, 200)), rng.standard_normal((200, 200)), []
    assert A.shape[0] * B.size >= LARGE_PRODUCT
    product = np.matmul
    monkeypatch.setattr(
        np,
        "matmul",
        lambda *args, **options: (seen.append(blas.threads), product(*args, **options))[1],
    )
    found = []
    for n in (1, 2):
        blas.threads = n
        with threadpool_limits(1, user_api="blas"):
            found.append((matmul(A, B), matmul(A.T, A[:, :150])))
    assert len(seen) > 8 and set(seen) == {1}
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)
    for result, (left, right) in zip(found[0], ((A, B), (A.T, A[:, :150])), strict=True):
        assert (
            np.abs(result - left @ right).max()
            <= 1e-13 * np.abs(left).max() * np.abs(right).max() * right.shape[0]
        )


def test_kernel_samples_do_not_remember_other_solves():
    """A problem that others solve too, before or meanwhile, gives the bits of one that nobody
    else has seen.
    """
    X, y = labelled(150, 4)
    samples = lambda: ss.KernelSamples.from_points(X, np.where(y == 0, -1, 1), gamma=0.3)  # noqa: E731
    lams, shared = [1.0, 0.99, 0.98, 0.97], ss.Problem(samples(), ss.Hinge())
    alone = [ss.solve(ss.Problem(samples(), ss.Hinge()), lam, tol=0.0, rtol=1e-8) for lam in lams]
    with ThreadPoolExecutor(2) as pool:
        meanwhile = list(pool.map(lambda lam: ss.solve(shared, lam, tol=0.0, rtol=1e-8), lams * 5))
    for solution, expected in zip(meanwhile, alone * 5, strict=True):
        assert np.array_equal(solution.x.coef, expected.x.coef) and solution.gap == expected.gap
    again = pickle.loads(pickle.dumps(shared))
    assert np.array_equal(ss.solve(again, 1.0, tol=0.0, rtol=1e-8).x.coef, alone[0].x.coef)
