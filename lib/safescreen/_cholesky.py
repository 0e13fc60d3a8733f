"""Cholesky factors of matrices that are positive definite up to rounding."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

RAISES = (0.0, 1e-14, 1e-11, 1e-8)
"""Numbers that are added to the diagonal of a matrix that rounding has made indefinite, as
fractions of its largest entry. They are tried one after the other, until the matrix is definite.
"""


def cholesky(matrix, lower=True):
    """Return the Cholesky factor of a positive definite matrix in Fortran order; cost d^3/3.

    The lower or the upper triangle is read, and the diagonal is overwritten. The content of the
    other triangle of the factor is undefined. A LinAlgError is raised if the matrix is far from
    definite. The factor of a matrix with NaN is NaN.
    """
    n = len(matrix)
    if n == 0:
        return matrix
    diagonal = matrix.flat[:: n + 1].copy()
    for part in RAISES:
        matrix.flat[:: n + 1] = diagonal + part * diagonal.max()
        factor, failed = lapack.dpotrf(matrix, lower=int(lower), clean=0)
        if not failed:
            return factor
    raise np.linalg.LinAlgError("a matrix to be factorized is not positive definite")


def solve_with(factor, b, lower=True):
    """Return the solution of a linear system with the matrix whose factor :func:`cholesky` has
    returned.
    """
    return lapack.dpotrs(factor, b, lower=int(lower))[0]
