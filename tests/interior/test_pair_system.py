"""The linear maps of terms that are differences of pairs, against the terms written out."""

import numpy as np
import pytest

import safescreen as ss
from safescreen.cones import NonNegativeCone
from safescreen.interior.pair_system import pair_system


def coordinates(terms):
    """Return the terms, one a row, in coordinates in which inner products are those of vectors."""
    return in_coordinates(terms.elements(np.arange(len(terms)))[0])


def in_coordinates(a):
    if a.ndim == 2:
        return a
    i, j = np.triu_indices(a.shape[1])
    return a[:, i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def symmetric(cone, rng):
    v = rng.standard_normal(cone.shape)
    return v if v.ndim == 1 else v + v.T


def points(n=20, d=6):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 2.0 * np.eye(3, d)[y], y


def families():
    X, y = points()
    rng = np.random.default_rng(0)
    for diagonal in (False, True):
        name = "diagonal" if diagonal else "full"
        yield f"neighbours {name}", ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal)
        yield f"all {name}", ss.Triplets.from_labels(X[:, :5], y, diagonal=diagonal)
        pairs = rng.integers(0, len(X), (40, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        args = dict(similar=pairs[::2], dissimilar=pairs[1::2], upper=1.0, lower=4.0)
        yield f"pairs {name}", ss.Pairs(X, diagonal=diagonal, **args)


FAMILIES = dict(families())


@pytest.mark.parametrize("name", FAMILIES)
def test_system_is_that_of_the_terms(name):
    terms = FAMILIES[name]
    rng = np.random.default_rng(1)
    system = pair_system(terms)
    a = coordinates(terms)
    v = symmetric(terms.cone, rng)
    weights = rng.standard_normal(len(terms))
    np.testing.assert_allclose(
        system.products(v), a @ in_coordinates(v[None])[0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        in_coordinates(system.sums(weights)[None])[0], weights @ a, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("dropped", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_have_the_products_of_the_terms(name, dropped):
    terms = FAMILIES[name]
    rng = np.random.default_rng(2)
    d = terms.cone.d
    diagonal = isinstance(terms.cone, NonNegativeCone)
    root = rng.uniform(0.5, 2.0, d) if diagonal else rng.standard_normal((d, d))
    weights = 10.0 ** rng.uniform(-6, 6, len(terms)) * (rng.uniform(size=len(terms)) >= dropped)
    a = terms.elements(np.arange(len(terms)))[0]
    b = in_coordinates(a * root if diagonal else root.T @ a @ root)
    system = pair_system(terms)
    n, blocks = system.rows(weights, root)
    rows = np.concatenate([np.empty((0, system.width)), *(block.copy() for block in blocks)])
    assert (
        len(rows) <= n <= np.count_nonzero(weights) + len(terms.same_pairs) + len(terms.other_pairs)
    )
    expected = (weights[:, None] * b).T @ b
    np.testing.assert_allclose(rows.T @ rows, expected, atol=1e-12 * np.abs(expected).max())
    squares = system.squares(root)
    assert (squares >= (1.0 - 1e-12) * np.einsum("ij,ij->i", b, b)).all()


def test_neighbours_take_fewer_rows_than_terms():
    terms = ss.Triplets.from_labels(*points(90), k=5)
    n, blocks = pair_system(terms).rows(np.ones(len(terms)), np.eye(terms.cone.d))
    # 9 for the 25 of each anchor
    assert sum(len(block) for block in blocks) == 9 * 90 <= n < len(terms)


@pytest.mark.parametrize("k", [3, None])
def test_products_of_lists_are_listed(k):
    products = ss.ProductTriplets(*points(12), k=k)
    v = symmetric(products.cone, np.random.default_rng(1))
    system = pair_system(products)
    assert len(system.terms) == len(products)
    np.testing.assert_allclose(system.products(v), products.to_triplets().margins(v), atol=1e-12)


def test_terms_that_are_no_differences():
    terms = ss.Samples([[1.0], [-2.0]], [1, -1])
    with pytest.raises(TypeError, match="a Newton system in coordinates needs"):
        pair_system(terms)
    with pytest.raises(TypeError, match="method='interior' needs terms that are differences of"):
        ss.solve(ss.Problem(terms, ss.SmoothedHinge(0.5)), 1.0, method="interior")
