"""Inner products of long rows, summed in blocks in a fixed order, so that the bound of their
rounding errors hardly grows with the length.

In a sum of n products that is taken in an unknown order, as by BLAS, or one after the other, a
product may be rounded n times. Here the products of a block of :data:`BLOCK` numbers go to
:data:`LANES` sums (lanes) in turn. The lanes are added two by two, and so are the blocks. So a
product is rounded once by itself, at most ``BLOCK/LANES - 1`` times in its lane (which starts at
0), ``log2(LANES)`` times among the lanes, and ``log2(m)`` times, rounded up, among m blocks.
:func:`roundings` adds these numbers.

BLAS multiplies matrices in blocks of :data:`COLUMNS` columns, and may sum a block in any order. The
blocks are added one after the other. Rows of up to :data:`LONG` numbers are not summed in blocks.
Notebook 24 runs the kernels with numbers that count their own roundings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._numba import njit

LONG = 1024
"""Rows of more numbers are summed in blocks."""

BLOCK = 1024
"""Number of entries in a block of a row."""

LANES = 128
"""Number of sums among which the products of a block are distributed; a power of two that divides
:data:`BLOCK`.
"""

COLUMNS = 256
"""Number of columns in a block of a product of matrices."""


class CsrRows(NamedTuple):
    """Rows of a sparse matrix in the form that kernels take. Row i has ``values[q]`` in the column
    ``columns[q]`` for q from ``starts[i]`` to ``starts[i + 1] - 1``. `starts` has one entry for
    each row and one more; the other arrays have one entry for each stored number.
    """

    starts: NDArray
    columns: NDArray
    values: NDArray


def roundings(length: int) -> int:
    """Return the largest number of roundings of a product in :func:`row_products`, for rows that
    store up to `length` numbers.

    >>> roundings(1000), roundings(20_000), roundings(1_000_000)
    (1000, 20, 25)
    """
    if length <= LONG:
        return length
    n_blocks = -(-length // BLOCK)
    return BLOCK // LANES + (LANES - 1).bit_length() + (n_blocks - 1).bit_length()


def matrix_roundings(d: int) -> int:
    """Return the largest number of roundings of a product in :func:`matrix_products` of d columns.

    >>> matrix_roundings(1000), matrix_roundings(20_000)
    (1000, 334)
    """
    return d if d <= LONG else COLUMNS + -(-d // COLUMNS) - 1


def row_length(A: Any) -> int:
    """Return the largest number of entries that a row stores. An inner product with a row sums no
    more numbers, because zeros bring no rounding.
    """
    return int(np.diff(A.indptr).max(initial=0)) if sparse.issparse(A) else A.shape[1]


def row_products(A: Any, x: NDArray) -> NDArray:
    """Return ``A x`` for dense or CSR rows."""
    length = row_length(A)
    if length <= LONG:
        return np.asarray(A @ x)
    out = np.empty(A.shape[0])
    if sparse.issparse(A):
        _sparse_products(A.data, A.indices, A.indptr, x, out)
    else:
        _dense_products(A, x[None], out)
    return out


def squares(A: Any) -> NDArray:
    """Return the squares of the norms of dense or CSR rows."""
    length = row_length(A)
    if sparse.issparse(A):
        if length <= LONG:
            return np.asarray(A.multiply(A).sum(axis=1)).ravel()
        columns = np.arange(A.nnz)
        rows = sparse.csr_array((A.data, columns, A.indptr), shape=(A.shape[0], A.nnz))
        return row_products(rows, A.data)
    if length <= LONG:
        return np.einsum("ij,ij->i", A, A)
    out = np.empty(A.shape[0])
    _dense_products(A, A, out)
    return out


def matrix_products(A: NDArray, B: NDArray, out: NDArray) -> NDArray:
    """Write ``A B'`` to `out` and return it."""
    first = slice(0, COLUMNS if A.shape[1] > LONG else A.shape[1])
    np.matmul(A[:, first], B[:, first].T, out=out)
    if first.stop == A.shape[1]:
        return out
    part = np.empty_like(out)
    for start in range(COLUMNS, A.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        out += np.matmul(A[:, columns], B[:, columns].T, out=part)
    return out


@njit
def _total(sums, m):
    """Return the sum of the first m entries of `sums`: the second half is added to the first half
    again and again.
    """
    while m > 1:
        half = (m + 1) // 2
        for i in range(m - half):
            sums[i] += sums[half + i]
        m = half
    return sums[0]


@njit
def _dense_products(A, B, out):
    """Write the inner products of the rows of A with the rows of B, or with its only row."""
    d = A.shape[1]
    lanes = np.empty(LANES, A.dtype)
    sums = np.empty(-(-d // BLOCK), A.dtype)
    for t in range(A.shape[0]):
        a = A[t]
        b = B[t if B.shape[0] > 1 else 0]
        for block in range(sums.size):
            k = block * BLOCK
            stop = min(k + BLOCK, d)
            lanes[:] = 0.0
            while k + LANES <= stop:
                for j in range(LANES):
                    lanes[j] += a[k + j] * b[k + j]
                k += LANES
            for j in range(stop - k):
                lanes[j] += a[k + j] * b[k + j]
            sums[block] = _total(lanes, LANES)
        out[t] = _total(sums, sums.size)


@njit
def _sparse_products(values, columns, starts, x, out):
    """Write the inner products of CSR rows with x."""
    lanes = np.empty(LANES, values.dtype)
    sums = np.empty(values.size // BLOCK + 1, values.dtype)
    for t in range(out.size):
        n_blocks = -(-(starts[t + 1] - starts[t]) // BLOCK)
        sums[0] = 0.0
        for block in range(n_blocks):
            k = starts[t] + block * BLOCK
            stop = min(k + BLOCK, starts[t + 1])
            lanes[:] = 0.0
            while k + LANES <= stop:
                for j in range(LANES):
                    lanes[j] += values[k + j] * x[columns[k + j]]
                k += LANES
            for j in range(stop - k):
                lanes[j] += values[k + j] * x[columns[k + j]]
            sums[block] = _total(lanes, LANES)
        out[t] = _total(sums, n_blocks)
