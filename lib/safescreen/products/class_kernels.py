"""Compiled loops for products of lists that are not stored. All points are in the order of their
classes, and the classes are the lists.

An array W has one row for each anchor and one column for each point. It first holds the values of
the pairs. Then the weights of the pairs overwrite the values. The weights are negative for pairs of
one class. The anchor of row m is point ``rows[m]``, and its class is ``lows[m]:highs[m]``;
``place`` is the tuple ``(rows, lows, highs)``.
"""

import numpy as np

from safescreen._numba import Shared, njit, prange
from safescreen.products.listed_kernels import anchor_sums
from safescreen.products.sums import room

TILE = 256
"""Number of columns that are computed together."""

SPAN = 2048
"""Number of columns that a thread takes at a time."""

GROUP = 4
"""Number of anchors that a thread takes at a time."""


@njit
def multiply_columns(A, B, C, start, stop):
    """Compute ``C[:, start:stop] += A @ B[:, start:stop]``. The order of summation of an entry does
    not depend on the range of columns.
    """
    n, d = A.shape
    for left in range(start, stop, TILE):
        right = min(left + TILE, stop)
        for m in range(0, n, 2):
            b = min(m + 1, n - 1)
            c, e = C[m, left:right], C[b, left:right]
            for k in range(0, d - d % 4, 4):
                u = B[k, left:right]
                v = B[k + 1, left:right]
                w = B[k + 2, left:right]
                z = B[k + 3, left:right]
                p0 = A[m, k]
                p1 = A[m, k + 1]
                p2 = A[m, k + 2]
                p3 = A[m, k + 3]
                q0 = A[b, k]
                q1 = A[b, k + 1]
                q2 = A[b, k + 2]
                q3 = A[b, k + 3]
                for j in range(c.size):
                    c[j] += (p0 * u[j] + p1 * v[j]) + (p2 * w[j] + p3 * z[j])
                    if b > m:
                        e[j] += (q0 * u[j] + q1 * v[j]) + (q2 * w[j] + q3 * z[j])
            for k in range(d - d % 4, d):
                for j in range(left, right):
                    C[m, j] += A[m, k] * B[k, j]
                    if b > m:
                        C[b, j] += A[b, k] * B[k, j]


@Shared
def multiply_add(A, B, C):
    """Compute ``C += A @ B``. The order of summation of an entry does not depend on the number of
    threads.
    """
    for t in prange((C.shape[1] + SPAN - 1) // SPAN):
        multiply_columns(A, B, C, t * SPAN, min((t + 1) * SPAN, C.shape[1]))


@njit
def copy(source, first, target, start, count):
    """Copy `count` numbers from one array to another. An assignment of slices would take two
    seconds to compile, because it contains the text of an error.
    """
    for j in range(count):
        target[start + j] = source[first + j]


@njit
def join_row(row, i, low, high, same_weights, other_weights, norms):
    """Write the weights of the pairs of an anchor into its row, and return
    ``sum_j |row_j| (|x_i| + |x_j|)^2``.
    """
    copy(other_weights, 0, row, 0, low)
    copy(other_weights, low, row, high, row.size - high)
    for j in range(low, high):
        row[j] = -same_weights[j - low - (j > i)] if j != i else 0.0
    s = 0.0
    t = 0.0
    odd = row.size % 2
    for j in range(0, row.size - odd, 2):
        s += abs(row[j]) * ((norms[i] + norms[j]) * (norms[i] + norms[j]))
        t += abs(row[j + 1]) * ((norms[i] + norms[j + 1]) * (norms[i] + norms[j + 1]))
    return s + t + odd * abs(row[-1]) * ((norms[i] + norms[-1]) * (norms[i] + norms[-1]))


@njit
def sum_some(W, place, norms, costs, near, first, last, sums):
    """Do the work of :func:`sum_rows` for the rows ``first:last``."""
    tau, gamma, bits = costs
    n = W.shape[1]
    a = np.empty(n)
    b = np.empty(n)
    same_weights = np.empty(n)
    other_weights = np.empty(n)
    space = room(n // 2 + 1, n)
    for m in range(first, last):
        row = W[m]
        i = place[0][m]
        low = place[1][m]
        high = place[2][m]
        p = high - low - 1
        q = n - (high - low)
        if bits > 0:
            copy(row, low, a, 0, i - low)
            copy(row, i + 1, a, i - low, high - i - 1)
            copy(row, 0, b, 0, low)
            copy(row, high, b, low, n - high)
            anchor_sums(
                a, b, p, q, tau, gamma, near[m], bits, same_weights, other_weights, space, sums[m]
            )
        else:
            same_weights[:p] = q
            other_weights[:q] = p
        sums[m, 5] = join_row(row, i, low, high, same_weights, other_weights, norms)


@Shared
def sum_rows(W, place, norms, costs, near, sums):
    """Replace the values of the pairs by their weights, and write the sums of :func:`product_sums`
    for each anchor m into ``sums[m]``. The last entry of ``sums[m]`` is the scale of the error.

    If the number of bits is 0, write the weights of ``sum_t a_t``, and do not read the values.
    """
    for t in prange((W.shape[0] + GROUP - 1) // GROUP):
        last = min((t + 1) * GROUP, W.shape[0])
        sum_some(W, place, norms, costs, near, t * GROUP, last, sums)
