"""What samples with a kernel remember: it saves columns of the matrix, and no solve sees what
others left behind.
"""

import pickle

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
    samples, Q = integer_samples()
    rng = np.random.default_rng(6)
    count = Counting(samples.cone)
    s = (rng.uniform(size=N) < 0.5).astype(float)
    alpha = rng.integers(0, 2**20, N) * 2.0**-20
    samples.adjoint(s)
    samples.adjoint(alpha)
    start = count.columns
    for _ in range(30):  # two sequences that take turns
        s[rng.integers(N)] = rng.integers(2)
        alpha[rng.integers(N, size=3)] = 2.0 ** -rng.integers(1, 20, 3)
        pair = samples.adjoint(s), samples.adjoint(alpha)
        for x, coef in zip(pair, (s, alpha), strict=True):
            assert np.array_equal(x.coef, coef) and np.array_equal(x.image, Q @ coef)
    assert count.columns - start <= 30 * 4
    assert samples.adjoint(s) is pair[0]


def test_what_begins_afresh_remembers_nothing_and_leaves_nothing():
    samples, _ = integer_samples()
    samples.adjoint(np.ones(N))
    known = samples._recent.expansions
    for others in (samples.afresh(), pickle.loads(pickle.dumps(samples))):
        assert others._recent.expansions == [] and len(others) == N
        others.adjoint(np.ones(N))
    assert samples.afresh().cone is samples.cone
    problem = ss.Problem(samples, ss.Hinge())
    solution = ss.solve(problem, 0.5 * problem.lam_max())
    path = ss.path(problem, problem.lam_max() * np.array([0.5, 0.25]))
    assert samples._recent.expansions[: len(known)] == known
    assert solution.problem.terms._recent.expansions and path[-1].problem.terms is not samples
    assert len(samples._recent.expansions) == 1, "of lam_max() alone"


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
        samples.weighted_sum(alpha)
        linear = linear + total
        numbers = numbers[kept]
        before = count.columns
        found, error = left.weighted_sum(alpha[numbers])
        assert count.columns == before
        coef = np.zeros(N)
        coef[numbers] = alpha[numbers]
        assert np.array_equal(found.coef, coef)
        assert np.array_equal(found.image[numbers], (Q @ coef)[numbers])
        assert np.array_equal((linear + found).image[numbers], (Q @ alpha)[numbers])
        assert error == 0.0
    assert numbers.size > 10
