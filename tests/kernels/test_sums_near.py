"""Sums of samples with a kernel that are computed from a sum that an element is made of: it saves
columns of the matrix.
"""

import numpy as np

import safescreen as ss

N = 200


def integer_samples():
    """Samples of integer points, whose images are exact, and their matrix Q."""
    rng = np.random.default_rng(5)
    X = rng.integers(-4, 5, (N, 3)).astype(float)
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    return ss.KernelSamples.from_points(X, y, "linear"), np.outer(y, y) * (X @ X.T)


class Counting:
    """A space that counts the columns of its matrix that products look at."""

    def __init__(self, space):
        self.columns = 0
        self._product = space.product
        space.product = self.product

    def product(self, used, values, at=None):
        self.columns += used.size
        return self._product(used, values, at)


def test_few_changes_cost_few_columns():
    """A sum near a multiple of another one is computed from that one."""
    samples, Q = integer_samples()
    rng = np.random.default_rng(6)
    count = Counting(samples.cone)
    alpha = rng.integers(0, 2**20, N) * 2.0**-20
    other = samples.adjoint(rng.integers(0, 2**20, N) * 2.0**-20)
    x = samples.adjoint(alpha) / 3.0
    start = count.columns
    for _ in range(30):
        alpha[rng.integers(N, size=3)] = 2.0 ** -rng.integers(1, 20, 3)
        H, error = samples.sum_near(alpha, (other, x))
        assert error == 0.0
        assert np.array_equal(H.coef, alpha) and np.array_equal(H.image, Q @ alpha)
        x = H / 3.0
    assert count.columns - start <= 30 * 3
    assert samples.sum_near(alpha, (x,))[0] is H


def test_a_sum_is_computed_from_what_it_is_told_alone():
    samples, _ = integer_samples()
    alpha = np.random.default_rng(7).uniform(size=N)
    count = Counting(samples.cone)
    samples.adjoint(alpha)
    samples.adjoint(alpha)
    assert count.columns == 2 * N


def test_what_is_left_is_summed_from_the_whole():
    """A solver has summed H; what it is without the terms that have left costs no column. Twice
    terms leave.
    """
    samples, Q = integer_samples()
    count = Counting(samples.cone)
    rng = np.random.default_rng(8)
    numbers = np.arange(N)
    left = samples
    linear = samples.cone.zeros()
    alpha = rng.integers(0, 2**20, N) * 2.0**-20
    for _ in range(2):
        status = rng.integers(0, 3, len(left)).astype(np.int8)
        alpha[numbers[status == 1]] = 1.0
        alpha[numbers[status == 2]] = 0.0
        left, total, _, kept = left.partition(status)
        H = samples.adjoint(alpha)
        linear = linear + total
        numbers = numbers[kept]
        before = count.columns
        found, error = left.sum_near(alpha[numbers], (0.5 * H,))
        assert count.columns == before
        coef = np.zeros(N)
        coef[numbers] = alpha[numbers]
        assert np.array_equal(found.coef, coef)
        assert np.array_equal(found.image[numbers], (Q @ coef)[numbers])
        assert np.array_equal((linear + found).image[numbers], (Q @ alpha)[numbers])
        assert error == 0.0
    assert numbers.size > 10
