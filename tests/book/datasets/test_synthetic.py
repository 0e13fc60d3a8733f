"""Synthetic sparse problems, and two classes out of several."""

import numpy as np
import pytest
from scipy import sparse

from safescreen_book import datasets


def test_shape_types_and_rows_of_length_one():
    X, y = datasets.sparse_classification(2000, 3000, 0.004, seed=3)
    assert isinstance(X, sparse.csr_array) and X.shape == (2000, 3000)
    assert (
        X.indices.dtype == X.indptr.dtype == np.int32
        and X.data.dtype == np.float64
        and y.dtype == np.int64
    )
    assert X.has_sorted_indices and X.has_canonical_format
    np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1.0, rtol=1e-12)
    assert set(y.tolist()) == {-1, 1} and abs(y.mean()) < 0.5


def test_seeds():
    first, again, other = (
        datasets.sparse_classification(300, 500, 0.02, seed=seed) for seed in (5, 5, 6)
    )
    assert (first[0] != again[0]).nnz == 0 and (first[1] == again[1]).all()
    assert (first[0] != other[0]).nnz > 0


def test_labels_can_be_learned_and_noise_hurts():
    errors = []
    for noise in (0.0, 3.0):
        X, y = datasets.sparse_classification(3000, 50, 0.2, seed=4, informative=1.0, noise=noise)
        w = np.linalg.lstsq(X.toarray(), y, rcond=None)[0]
        errors.append(np.mean(np.sign(X @ w) != y))
    assert errors[0] < 0.1 and 0.2 < errors[1] < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 0.1), "n must be a positive int, got 0"),
        ((5, 2.5, 0.1), "d must be a positive int, got 2.5"),
        ((5, True, 0.1), "d must be"),
        ((5, 5, 0.0), "density"),
        ((5, 5, 1.5), "density"),
        ((1, 5, 0.5), "n = 1 rows got the same label"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        datasets.sparse_classification(*arguments)


def test_two_classes():
    assert datasets.two_classes(np.array([-1, 1, -1])).tolist() == [-1, 1, -1]
    assert datasets.two_classes([2.5, 0.5]).tolist() == [1, -1]
    assert datasets.two_classes([1, 2, 3, 4, 5, 7]).tolist() == [1, -1, 1, -1, 1, 1]
    assert datasets.two_classes([1, 2]).dtype == np.int64


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1], "two classes or more, found"),
        ([1, 2, 2.5], "integers"),
        ([1, 3, 5], "odd and even"),
        ([1, np.nan, 2], "y must"),
    ],
)
def test_not_two_classes(y, message):
    with pytest.raises(ValueError, match=message):
        datasets.two_classes(y)
