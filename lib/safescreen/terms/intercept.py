"""A penalised intercept as the coefficient of an additional feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._checks import PointsLike, check_points, check_scalar


def add_intercept(X: PointsLike, scale: float = 1.0) -> NDArray | sparse.csr_array:
    """Return `X` with a constant column of value `scale` as its last one (SSS14 section II,
    footnote 1).

    The solution of the larger problem has the intercept ``b = scale * w[-1]``, penalised by
    ``b^2/(2 scale^2)``. A larger scale makes the penalty weaker. It also makes all vectors longer,
    which weakens every test. For a *free* intercept, as in LIBSVM, see
    :class:`~safescreen.FreeIntercept`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    scale : float > 0

    Returns
    -------
    array or CSR array of shape (n, d + 1)

    Raises
    ------
    ValueError, TypeError
        `X` is not finite or has no row, or `scale` is not positive.

    Examples
    --------
    >>> add_intercept([[1.0], [2.0]], 10.0).tolist()
    [[1.0, 10.0], [2.0, 10.0]]
    """
    X = check_points(X, allow_sparse=True)
    column = np.full((X.shape[0], 1), check_scalar(scale, "scale", low=0.0, open_low=True))
    if sparse.issparse(X):
        ends = X.indptr[1:]
        values = np.insert(X.data, ends, column[:, 0])
        columns = np.insert(X.indices, ends, X.shape[1])
        starts = X.indptr + np.arange(X.shape[0] + 1, dtype=X.indptr.dtype)
        return sparse.csr_array((values, columns, starts), shape=(X.shape[0], X.shape[1] + 1))
    return np.hstack([X, column])
