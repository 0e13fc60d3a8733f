"""Kernels as functions ``k(x, x')`` of two points: linear, polynomial and rbf, and bounds of their
rounding errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._blocks import matrix_products, matrix_roundings, row_length, squares
from safescreen._checks import PointsLike, check_kernel_parameters, check_scalar
from safescreen._numba import njit
from safescreen.rounding import UNIT, gamma, upper

KERNELS = ("linear", "polynomial", "rbf")

SPARSER = 32
"""Sparse points are converted to dense points if dense products take at most this many times as
many multiplications, since dense multiplications are faster by this factor.
"""

FEW = 6
"""Sparse points stay sparse in products if dense products take at least this many times as many
multiplications.
"""


@dataclass(frozen=True)
class Kernel:
    """A kernel, given by its name and its parameters; `constant` is added to its values.

    If a number is rounded at most d times in an inner product, ``x'x'`` is computed up to
    ``gamma_d |x| |x'|``. This holds for rows that store d numbers, because zeros are exact. For the
    polynomial, ``g |x| |x'| + c <= sqrt((g |x|^2 + c)(g |x'|^2 + c))`` by Cauchy and Schwarz, so
    the base has a relative error of ``gamma_{d+4}``, and its p-th power, computed by p - 1
    products, a relative error of ``gamma_{p (d+6)}``. For rbf the error of the squared distance is
    at most ``gamma_{d+5} (|x| + |x'|)^2``. The points of rbf may be differences ``fl(x - m)``,
    whose rounding errors have size ``u |x - m|``. These errors change a distance by at most
    ``u (|x| + |x'|)``, and its square by ``gamma_3 (|x| + |x'|)^2``. So the exponent moves by at
    most ``4 g gamma_{d+9} max |x|^2``. The error of the exponential is less than 4 units. Adding
    the constant rounds ``k(x, x')``, constant included, once. The bound for rbf includes 8 units
    for these two errors. The bound for the polynomial is larger than needed by as much.
    """

    name: str
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0
    constant: float = 0.0

    def error(self, d: int, largest: float, unit: float = UNIT) -> float:
        """Return u with ``|computed - k(x, x')| <= u sqrt(k(x, x) k(x', x'))`` for inner products
        with d :func:`roundings`, and for ``|x|^2 <= largest``.
        """
        units = unit / UNIT
        if self.name != "rbf":
            return gamma(units * ((1 if self.name == "linear" else self.degree) * (d + 8) + 8))
        shift = upper(4.0 * self.gamma * gamma(units * (d + 12)) * largest, 8)
        return upper(math.expm1(min(shift, 1.0)) + 8.0 * unit, 8)

    def diagonal(self, squares: NDArray) -> NDArray:
        """Return ``k(x, x)`` for points with the given squared norms."""
        if self.name == "rbf":
            return np.full(squares.size, 1.0 + self.constant)
        return self.apply(squares[:, None].copy(), squares, squares[:1])[:, 0]

    def values(
        self,
        A: Any,
        B: Any,
        a: NDArray | None = None,
        b: NDArray | None = None,
        out: NDArray | None = None,
    ) -> NDArray:
        """Return the values at the points A and B, which are both dense or both sparse, in `out`. a
        and b are their squared norms.
        """
        out = np.empty((A.shape[0], B.shape[0])) if out is None else out
        if sparse.issparse(A) or sparse.issparse(B):
            product = dense_if_full(A) @ B.T
            out[:] = product.toarray() if sparse.issparse(product) else product
        else:
            matrix_products(A, B, out)
        return self.apply(out, squares(A) if a is None else a, squares(B) if b is None else b)

    def apply(self, tile: NDArray, rows: NDArray, columns: NDArray) -> NDArray:
        """Replace the inner products in `tile` by values of the kernel. `rows` and `columns` are
        the squared norms of the points.
        """
        if self.name == "rbf":
            evaluate = _light_gaussians if tile.dtype == np.float32 else _gaussians
            evaluate(tile, rows, columns.astype(tile.dtype), self.gamma, self.constant)
        elif self.name == "linear":
            _powers(tile, 1.0, 0.0, 1, self.constant)
        else:
            _powers(tile, self.gamma, self.coef0, self.degree, self.constant)
        return tile


def kernel_of(d, kernel, gamma_, degree, coef0, constant=0.0):
    """Return the :class:`Kernel` of checked parameters, for points with d columns. If gamma is left
    out, it is ``1/d``.
    """
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
    g, p, c = check_kernel_parameters(gamma_, degree, coef0)
    return Kernel(
        name=kernel,
        gamma=1.0 / d if g is None else g,
        degree=p,
        coef0=c,
        constant=check_scalar(constant, "constant", low=0.0),
    )


def centred(X, kernel):
    """Return the points minus their mean, and the mean, for "rbf" and dense points, where this
    changes no kernel value. Otherwise return the points, and 0.
    """
    if kernel != "rbf" or sparse.issparse(X):
        return X, 0.0
    origin = X.mean(axis=0)
    return X - origin, origin


def roundings(X: PointsLike) -> int:
    """Return the largest number of times that a product of two entries is rounded in the inner
    products for the kernel matrix of these points.
    """
    length = row_length(X)
    if sparse.issparse(X) and (has_few(X) or not is_dense(X)):
        return length
    return min(length, matrix_roundings(X.shape[1]))


def is_dense(X: PointsLike) -> bool:
    """Return whether products of points are computed densely."""
    return not sparse.issparse(X) or X.shape[0] * X.shape[1] <= SPARSER * X.nnz


def has_few(X):
    """Return whether sparse points have so few entries that dense products would be slower."""
    return sparse.issparse(X) and is_dense(X) and FEW * X.nnz <= X.shape[0] * X.shape[1]


def dense_if_full(X):
    """Return points, converted to dense points if they have enough entries."""
    return X.toarray() if sparse.issparse(X) and is_dense(X) else X


@njit(nogil=True)
def _powers(tile, g, c, p, constant):
    for i in range(tile.shape[0]):
        row = tile[i]
        for j in range(row.size):
            base = g * row[j] + c
            value = base
            for _ in range(p - 1):
                value *= base
            row[j] = value + constant


@njit(nogil=True)
def _gaussians(tile, rows, columns, g, constant):
    """Write ``exp(-g |x - x'|^2) + constant``. The error of the exponential is less than 4 units.

    Let k be the integer next to ``x/log 2`` and ``r = x - k log 2``, so that ``|r| < 0.347``.
    ``log 2`` is stored as a sum of two numbers, and the product of k and the first number is exact.
    So the rounding of r costs half a unit. The result is ``2^k`` times the Taylor polynomial of
    degree 13, whose remainder is less than ``r^14/14! < 0.1`` units. In ``1 + (r + r^2 q)``, which
    is at least 0.706, the rounding errors of the two sums are at most 1.42 and 0.42 units of 1, and
    the error of ``r^2 q`` is less than 0.4.
    """
    for i in range(tile.shape[0]):
        row = tile[i]
        square = rows[i]
        for j in range(row.size):
            x = max(-g * max((square + columns[j]) - 2.0 * row[j], 0.0), -700.0)
            # 1.5 * 2^52: the last bits of the sum are the bits of k
            shifted = x * 1.4426950408889634 + 6755399441055744.0
            k = shifted - 6755399441055744.0
            r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
            r2 = r * r
            r4 = r2 * r2
            q = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (
                1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
            )
            q = (
                (1.0 / 720.0 + r * (1.0 / 5040.0))
                + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0))
                + r4 * q
            )
            q = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0)) + r4 * q
            power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
            row[j] = (1.0 + (r + r2 * q)) * power + constant


@njit(nogil=True)
def _light_gaussians(tile, rows, columns, g, constant):
    """Do the same as :func:`_gaussians` in single precision, with degree 6. Only the solver uses
    the result, not a test or a certificate.
    """
    one = np.float32(1.0)
    g = np.float32(g)
    constant = np.float32(constant)
    for i in range(tile.shape[0]):
        row = tile[i]
        square = np.float32(rows[i])
        for j in range(row.size):
            x = max(
                -g * max((square + columns[j]) - (row[j] + row[j]), np.float32(0.0)),
                np.float32(-80.0),
            )
            shifted = x * np.float32(1.4426950408889634) + np.float32(12582912.0)
            k = shifted - np.float32(12582912.0)
            r = (x - k * np.float32(0.693359375)) + k * np.float32(2.12194440e-4)
            v = r * np.float32(1.0 / 720.0) + np.float32(1.0 / 120.0)
            v = (v * r + np.float32(1.0 / 24.0)) * r + np.float32(1.0 / 6.0)
            v = ((v * r + np.float32(0.5)) * r + one) * r + one
            power = np.int32(
                (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
            ).view(np.float32)
            row[j] = v * power + constant
