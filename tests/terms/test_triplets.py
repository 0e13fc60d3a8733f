"""Triplets against matrices written out; labels; bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import safescreen as ss
from instances import instance
from naive import triplet_elements

X = np.random.default_rng(0).standard_normal((9, 4))
INDEX = np.array([[0, 1, 2], [3, 1, 2], [0, 1, 5], [8, 7, 6], [3, 4, 8], [0, 4, 2]])
metrics = pytest.mark.parametrize("diagonal", [False, True])


def element(d, diagonal, seed=1):
    L = np.random.default_rng(seed).standard_normal((d, d))
    return L @ L.T if not diagonal else np.abs(L[0])


@pytest.mark.nojit
@pytest.mark.boundscheck
@metrics
def test_definition(diagonal):
    terms, A = ss.Triplets(X, INDEX, diagonal=diagonal), triplet_elements(X, INDEX, diagonal)
    x, rng = element(4, diagonal), np.random.default_rng(2)
    assert len(terms) == 6 and np.array_equal(terms.index, INDEX) and terms.index.dtype == np.int32
    assert np.allclose(terms.margins(x), [np.sum(a * x) for a in A], rtol=1e-12, atol=1e-12)
    assert np.allclose(terms.norms, [np.linalg.norm(a) for a in A], rtol=1e-12)
    for weights in (rng.uniform(size=6), rng.standard_normal(6), np.zeros(6)):
        assert np.allclose(
            terms.adjoint(weights), np.tensordot(weights, A, 1), rtol=1e-12, atol=1e-12
        )
    assert np.allclose(terms.total()[0], A.sum(axis=0), atol=1e-12)
    written, errors = terms.elements(np.array([4, 1]))
    assert np.allclose(written, A[[4, 1]], atol=1e-12) and (errors < 1e-12).all()
    assert terms.max_inner_product(x) == terms.margins(x).max()


@pytest.mark.boundscheck
@metrics
def test_sums(diagonal):
    of = instance("diagonal" if diagonal else "full")
    rng, x = np.random.default_rng(0), 0.1 * element(3, diagonal)
    for gamma in (0.0, 0.05, 0.5, 1.0):
        naive, loss = of.naive(gamma), ss.SmoothedHinge(gamma)
        for alpha in (None, rng.uniform(size=len(of.terms))):
            sums = of.terms.loss_sums(x, loss, alpha)
            used = naive.alpha(x) if alpha is None else alpha
            assert sums.loss == pytest.approx(naive.losses(x).sum(), rel=1e-12)
            assert np.allclose(sums.adjoint, naive.H(used), rtol=1e-11, atol=1e-11)
            assert sums.alpha_sum == pytest.approx(used.sum(), rel=1e-12)
            assert sums.alpha_square == pytest.approx(used @ used, rel=1e-12)


@pytest.mark.boundscheck
@metrics
def test_parts_are_the_same_terms(diagonal):
    of = instance("diagonal" if diagonal else "full")
    terms, rng = of.terms, np.random.default_rng(3)
    x = element(3, diagonal)
    for share in (0.9, 0.5, 0.05):
        keep = rng.uniform(size=len(terms)) < share
        part = terms.select(keep)
        assert np.array_equal(part.index, terms.index[keep])
        assert np.array_equal(part.margins(x), terms.margins(x)[keep])
        assert np.array_equal(part.norms, terms.norms[keep])
        smaller = part.select(np.arange(len(part)) % 2 == 0)
        assert np.array_equal(smaller.index, part.index[::2])
        status = np.where(keep, 0, rng.integers(1, 3, len(terms))).astype(np.int8)
        left, total, error, ids = terms.partition(status)
        assert np.array_equal(ids, np.flatnonzero(keep)) and np.array_equal(
            left.index, terms.index[keep]
        )
        assert np.array_equal(total, terms.weighted_sum(status == 1)[0]) and error >= 0.0
    none = terms.select(np.zeros(len(terms), dtype=bool))
    assert len(none) == len(none.select(np.zeros(0, dtype=bool))) == 0, "and none of none"
    assert np.array_equal(
        none.select(np.zeros(0, dtype=bool)).total()[0], np.zeros(terms.cone.shape)
    )


@metrics
def test_thresholds_travel_with_their_terms(diagonal):
    of = instance("diagonal" if diagonal else "full")
    tau = np.linspace(-1.0, 2.0, len(of.terms))
    terms, x = of.terms.with_threshold(tau), 0.1 * element(3, diagonal)
    keep = np.arange(len(terms)) % 3 == 0
    assert np.array_equal(terms.select(keep).threshold, tau[keep])
    naive = of.naive(0.05, tau=tau)
    sums = terms.loss_sums(x, ss.SmoothedHinge(0.05))
    assert sums.loss == pytest.approx(naive.losses(x).sum(), rel=1e-12)
    assert sums.alpha_sum == pytest.approx(naive.alpha(x) @ tau, rel=1e-12)
    assert of.terms.threshold == 1.0


@metrics
def test_points_that_appear_more_than_once(diagonal):
    """They are kept once, and so are the points that screening leaves; the terms are those of
    the points as they came.
    """
    rng = np.random.default_rng(3)
    few = rng.normal(size=(14, 3))
    X, y = few[rng.integers(14, size=40)], rng.integers(2, size=40)
    terms, x = ss.Triplets.from_labels(X, y, 4, diagonal=diagonal), element(3, diagonal)
    assert len(terms.points.X) == len(np.unique(X, axis=0)) <= 14
    assert_terms(terms, X, terms.index, x)
    assert np.array_equal(terms.index, ss.ProductTriplets(X, y, 4, diagonal=diagonal).index)
    keep = np.isin(terms.index, np.flatnonzero(np.isin(X[:, 0], few[:6, 0]))).all(axis=1)
    part = terms.select(keep)
    assert 0 < len(part.points.X) <= 6
    assert np.array_equal(part.index, terms.index[keep])
    assert_terms(part, X, part.index, x)
    again = part.select(np.arange(len(part)) < 2)
    assert len(again.points.X) < len(part.points.X) or len(part.points.X) <= 4
    assert_terms(again, X, again.index, x)


def assert_terms(terms, X, index, x):
    A = triplet_elements(X, index, x.ndim == 1)
    inner = (A * x).reshape(len(A), -1).sum(axis=1)
    values, errors = terms.inner_products(x).chunk(0, len(terms))
    written, _ = terms.elements(np.arange(len(terms)))
    weights = np.arange(1.0, len(terms) + 1)
    assert np.abs(values - inner).max() <= errors.max() + 1e-12
    assert np.allclose(written, A, rtol=0.0, atol=1e-12)
    assert np.allclose(terms.norms, np.linalg.norm(A.reshape(len(A), -1), axis=1), atol=1e-7)
    assert np.allclose(
        terms.weighted_sum(weights)[0], np.tensordot(weights, A, 1), rtol=1e-12, atol=1e-9
    )


def test_a_shift_of_the_points_changes_nothing():
    shifted = ss.Triplets(X + 1e6, INDEX)
    assert np.allclose(
        shifted.margins(np.eye(4)), ss.Triplets(X, INDEX).margins(np.eye(4)), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("k", [1, 3, None])
def test_labels(k):
    rng = np.random.default_rng(1)
    points, y = rng.standard_normal((14, 2)), np.array(list("aabbbbcccccaab"))
    expected = []
    for i in range(14):
        order = sorted(range(14), key=lambda j: (np.sum((points[i] - points[j]) ** 2), j))
        same = [j for j in order if y[j] == y[i] and j != i][:k]
        other = [j for j in order if y[j] != y[i]][:k]
        expected += [(i, j, m) for j in sorted(same) for m in sorted(other)]
    assert ss.Triplets.from_labels(points, y, k=k).index.tolist() == [list(t) for t in expected]


def test_a_class_of_one_point_is_nobodys_anchor():
    index = ss.Triplets.from_labels(np.arange(4.0)[:, None], [0, 0, 0, 1]).index
    assert set(index[:, 0]) == {0, 1, 2} and set(index[:, 2]) == {3}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=12),
    st.booleans(),
    st.integers(1, 3),
)
def test_any_index(rows, diagonal, d):
    index = np.array(rows)
    bad = (index[:, 0] == index[:, 1]) | (index[:, 0] == index[:, 2]) | (index[:, 1] == index[:, 2])
    points = np.round(np.random.default_rng(d).standard_normal((6, d)))
    if bad.any():
        with pytest.raises(ValueError, match="index"):
            ss.Triplets(points, index, diagonal=diagonal)
        return
    terms, A = (
        ss.Triplets(points, index, diagonal=diagonal),
        triplet_elements(points, index, diagonal),
    )
    x = element(d, diagonal)
    assert np.allclose(terms.margins(x), [np.sum(a * x) for a in A], rtol=1e-12, atol=1e-11)
    assert np.allclose(terms.adjoint(np.ones(len(index))), A.sum(axis=0), atol=1e-11)


@pytest.mark.parametrize(
    ("points", "index", "error", "message"),
    [
        (X, [[0, 1, 9]], ValueError, "index must lie in 0..8, found 9"),
        (X, [[0, -1, 2]], ValueError, "index must lie in 0..8, found -1"),
        (X, [[0, 1]], ValueError, r"index must have shape \(T, 3\)"),
        (X, np.empty((0, 3), dtype=int), ValueError, "index must hold at least one triplet"),
        (X, [[0.0, 1.0, 2.0]], TypeError, "index must hold integers"),
        (X, [[0, 0, 2]], ValueError, "anchor and same must be different points"),
        (X, [[0, 2, 2]], ValueError, "same and other must be different points"),
        (np.where(X > 1.0, np.nan, X), INDEX, ValueError, "X must be finite, got nan"),
        (np.where(X > 1.0, np.inf, X), INDEX, ValueError, "X must be finite, got inf"),
        (X[0], INDEX, ValueError, "X must have two dimensions"),
        (X[:, :0], INDEX, ValueError, "X must have at least one row and one column"),
        (X[:0], INDEX, ValueError, "X must have at least one row and one column"),
        (sparse.csr_array(X), INDEX, TypeError, "X must be a dense array here, got a sparse"),
        (X.astype(str), INDEX, TypeError, "X must hold real numbers"),
        (X.astype(object), INDEX, TypeError, "X must hold real numbers"),
        (X * 1j, INDEX, TypeError, "X must hold real numbers"),
    ],
)
def test_bad_input_is_named(points, index, error, message):
    with pytest.raises(error, match=message):
        ss.Triplets(points, index)


@pytest.mark.parametrize(
    ("y", "k", "error", "message"),
    [
        (np.zeros(9), None, ValueError, "y must hold at least two classes"),
        (np.arange(9), None, ValueError, "y must have a class with at least two points"),
        (np.arange(8) % 2, None, ValueError, r"y must have shape \(9,\)"),
        (
            np.where(np.arange(9) == 3, np.nan, np.arange(9) % 2),
            None,
            ValueError,
            "y must be finite, got nan",
        ),
        (np.arange(9) % 2, 0, ValueError, "k must be a positive int"),
        (np.arange(9) % 2, 1.5, TypeError, "k must be a positive int"),
        (np.arange(9) % 2, True, TypeError, "k must be a positive int"),
    ],
)
def test_bad_labels_are_named(y, k, error, message):
    with pytest.raises(error, match=message):
        ss.Triplets.from_labels(X, y, k=k)


def test_bad_weights_and_points_are_named():
    terms = ss.Triplets(X, INDEX)
    with pytest.raises(ValueError, match="alpha must have shape"):
        terms.adjoint(np.ones(5))
    with pytest.raises(ValueError, match="x must have shape"):
        terms.margins(np.ones(4))
    with pytest.raises(TypeError, match="keep must be a boolean mask"):
        terms.select(np.ones(6))
    with pytest.raises(ValueError, match="X must have squared distances that are finite"):
        ss.Triplets(np.array([[1.7e308], [-1.7e308], [0.0]]), [[0, 1, 2]])
    with pytest.raises(ValueError, match="X must have squared distances that are finite"):
        ss.Triplets(np.array([[1e160], [2e160], [0.0]]), [[0, 1, 2]])
