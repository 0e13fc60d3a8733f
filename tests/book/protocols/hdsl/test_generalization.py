"""Complexities against enumeration of all atoms as matrices; bounds against Monte Carlo and
against each other.
"""

import itertools

import numpy as np
import pytest

import safescreen as ss
from safescreen_book.protocols.hdsl.complexity import (
    largest_at_atoms,
    largest_entry,
)

LOSS = ss.SmoothedHinge(gamma=1.0)


def naive_atoms(d, scale):
    eye = np.eye(d)
    return [
        scale * np.outer(v, v)
        for a, b in itertools.combinations(range(d), 2)
        for v in (eye[a] + eye[b], eye[a] - eye[b])
    ]


def naive_largest(X, y, sigma, scale, loss):
    m, values = len(X) // 3, []
    for atom in naive_atoms(X.shape[1], scale):
        total = 0.0
        for i in range(m):
            if y[i] == y[i + m] != y[i + 2 * m]:
                product = np.vdot(np.outer(X[i], X[i + m] - X[i + 2 * m]), atom)
                total += sigma[i] * (product if loss is None else loss.value(product))
        values.append(total / m)
    return max(values)


@pytest.mark.parametrize("loss", [None, LOSS])
@pytest.mark.parametrize(("n", "d"), [(3, 2), (10, 3), (23, 6)])
def test_supremum_is_that_of_an_enumeration(n, d, loss):
    rng = np.random.default_rng(n)
    for scale in (0.1, 3.0):
        for _ in range(5):
            X, y, sigma = (
                rng.standard_normal((n, d)),
                rng.integers(0, 2, n),
                rng.choice([-1.0, 1.0], n // 3),
            )
            expected = naive_largest(X, y, sigma, scale, loss)
            assert largest_at_atoms(X, y, sigma, scale, loss) == pytest.approx(
                expected, rel=1e-12, abs=1e-13
            )


def test_largest_entry_is_that_of_all_triplets():
    X = np.random.default_rng(4).standard_normal((7, 3))
    expected = max(np.abs(np.outer(x, v - w)).max() for x in X for v in X for w in X)
    assert largest_entry(X) == pytest.approx(expected)
