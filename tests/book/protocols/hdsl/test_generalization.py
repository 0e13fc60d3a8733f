"""Complexities against enumeration of all atoms as matrices; bounds against Monte Carlo and
against each other.
"""

import itertools

import numpy as np
import pytest

import safescreen as ss
from safescreen_book.protocols.hdsl.complexity import (
    Bounds,
    largest_at_atoms,
    largest_entry,
    rademacher,
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


def dense(d):
    return lambda n, rng: (rng.choice([-1.0, 1.0], (n, d)), rng.integers(0, 2, n))


def sparse(d):
    return lambda n, rng: (
        rng.uniform(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.1),
        rng.integers(0, 3, n),
    )


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


def test_mixtures_do_not_exceed_atoms():
    rng = np.random.default_rng(0)
    X, y, sigma = rng.standard_normal((30, 4)), rng.integers(0, 2, 30), rng.choice([-1.0, 1.0], 10)
    best = largest_at_atoms(X, y, sigma, 1.0)
    atoms = naive_atoms(4, 1.0)
    G = (
        sum(
            s * np.outer(X[i], X[i + 10] - X[i + 20])
            for i, s in enumerate(sigma)
            if y[i] == y[i + 10] != y[i + 20]
        )
        / 10
    )
    mixtures = np.tensordot(rng.dirichlet(np.ones(len(atoms)), 500), atoms, axes=1)
    assert np.tensordot(mixtures, G).max() <= best + 1e-12
    assert np.tensordot(np.array(atoms), G).max() == pytest.approx(best)


@pytest.mark.parametrize(("make", "entry_bound"), [(dense, 2.0), (sparse, 1.0)])
@pytest.mark.parametrize(("n", "d"), [(9, 2), (30, 20), (150, 60)])
def test_complexity_bound_holds(make, entry_bound, n, d):
    found, bounds = rademacher(make(d), n, 0.5, repeats=100), Bounds(n, d, 0.5, entry_bound)
    assert found.mean + 4 * found.error < bounds.complexity()


def test_printed_bound_fails_for_one_atom():
    found, bounds = rademacher(dense(20), 60, 0.5, loss=LOSS, repeats=100), Bounds(60, 20, 0.5, 2.0)
    assert bounds.printed_complexity(1) == 0.0 < found.mean - 10 * found.error


def test_complexity_bound_is_no_better_than_a_factor():
    found, bounds = rademacher(dense(60), 300, 1.0, repeats=50), Bounds(300, 60, 1.0, 2.0)
    assert found.mean > bounds.complexity() / 4


def test_losses_have_a_smaller_complexity_than_products():
    sample = dense(10)
    assert rademacher(sample, 60, 1.0, loss=LOSS).mean < rademacher(sample, 60, 1.0).mean


@pytest.mark.parametrize("d", [2, 5, 256, 257, 6561])
@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_printed_bound_is_above_the_true_one_exactly_for_many_atoms(d, k):
    bounds = Bounds(300, d, 1.0, 1.0)
    assert (bounds.printed_complexity(k) >= bounds.complexity()) == (k**16 >= d * (d - 1))


@pytest.mark.parametrize("unit", [0.025, 0.1, 3.0])
def test_printed_deviation_is_implied_where_stated(unit):
    bounds = Bounds(300, 200, unit, 1.0)
    for delta in (0.01, 0.3, 0.99):
        assert bounds.deviation(delta) <= bounds.printed_deviation(2, delta)
        assert bounds.excess(delta, 16.0 / 4 * unit**2) <= bounds.printed_excess(2, delta, 1.0)


def test_bounds_shrink_with_n_and_confidence():
    few, many = Bounds(30, 10, 1.0, 1.0), Bounds(3000, 10, 1.0, 1.0)
    assert many.complexity() == pytest.approx(few.complexity() / 10)
    assert many.deviation(0.1) == pytest.approx(few.deviation(0.1) / 10)
    assert few.deviation(0.01) > few.deviation(0.1)
    assert few.excess(0.1, 1.0) == pytest.approx(few.excess(0.1, 0.0) + 1.0)
    assert few.complexity(0.0) == 0.0


def test_largest_entry_is_that_of_all_triplets():
    X = np.random.default_rng(4).standard_normal((7, 3))
    expected = max(np.abs(np.outer(x, v - w)).max() for x in X for v in X for w in X)
    assert largest_entry(X) == pytest.approx(expected)


def test_no_admissible_triplet_is_zero():
    assert largest_at_atoms(np.eye(3), [0, 0, 0], [1.0], 1.0, LOSS) == 0.0
