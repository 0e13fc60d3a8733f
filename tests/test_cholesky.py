"""Cholesky factors of matrices that rounding has made indefinite."""

import numpy as np
import pytest

from safescreen._cholesky import RAISES, cholesky


def product(matrix, lower):
    factor = cholesky(np.asfortranarray(matrix), lower)
    return np.tril(factor) @ np.tril(factor).T if lower else np.triu(factor).T @ np.triu(factor)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_matrix_is_raised_as_little_as_makes_it_definite(size, lower):
    A = size * np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
    np.testing.assert_allclose(product(A, lower), A, atol=1e-15 * size)
    for lowest, shift in ((-2e-15, 1e-14), (-1e-12, 1e-11), (-1e-9, 1e-8)):
        assert RAISES[0] == 0.0 and shift in RAISES
        A = np.diag(np.array([1.0, lowest, 0.5]) * size)
        raised = np.diag(product(A, lower) - A) / size
        np.testing.assert_allclose(raised, shift, rtol=1e-3, atol=3e-16)


@pytest.mark.parametrize("lower", [True, False])
def test_half_of_the_matrix_is_read(lower):
    A = np.random.default_rng(1).standard_normal((5, 5))
    A = A @ A.T + np.eye(5)
    half = np.tril(A) if lower else np.triu(A)
    np.testing.assert_allclose(product(half, lower), A, atol=1e-12)
    assert cholesky(np.empty((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("wrong", [-1e-3, -np.inf])
def test_a_matrix_that_is_not_definite(wrong):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky(np.asfortranarray(np.diag([1.0, wrong])))
