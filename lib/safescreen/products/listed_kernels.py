"""Compiled loops for products of stored lists: pair values and weighted sums of pairs.

A kernel writes its results into its last arguments.
"""

from typing import NamedTuple

import numpy as np

from safescreen._numba import Shared, njit, prange
from safescreen.products.sums import product_sums, room
from safescreen.terms._triplet_kernels import add_pair, pair_value


class Rows(NamedTuple):
    """The points for kernels: X; ``Z = X M``, for values in the metric M; upper bounds of the
    `norms`; and whether the metric is diagonal.
    """

    X: np.ndarray
    Z: np.ndarray
    norms: np.ndarray
    diagonal: bool


class Lists(NamedTuple):
    """Lists stored like CSR rows, one for each anchor: ``same[same_ptr[m]:same_ptr[m + 1]]``
    belongs to the point ``anchors[m]``, which occurs ``copies[m]`` times.
    """

    anchors: np.ndarray
    copies: np.ndarray
    same_ptr: np.ndarray
    same: np.ndarray
    other_ptr: np.ndarray
    other: np.ndarray


@njit
def row_values(X, Z, i, points, out):
    """Write ``out[p] = (x_i - x_j)' (z_i - z_j)`` with ``j = points[p]``."""
    products = np.empty(X.shape[1])
    for p in range(points.size):
        j = points[p]
        out[p] = pair_value(X[i], X[j], Z[i], Z[j], products)


@njit
def pair_values(X, Z, anchors, ptr, points, out):
    """Write the values of all pairs (anchor, point). The points of anchor m are
    ``points[ptr[m]:ptr[m + 1]]``.
    """
    for m in range(anchors.size):
        start = ptr[m]
        stop = ptr[m + 1]
        row_values(X, Z, anchors[m], points[start:stop], out[start:stop])


@njit
def add_row(X, norms, i, points, weights, sign, diagonal, row, Y):
    """Add ``w (x_i - x_j)`` to `row` and subtract it from row j of Y, with ``w = sign weights[p]``
    and ``j = points[p]``; for a diagonal metric add ``w (x_i - x_j)^2``.

    Return ``sum |w| (|x_i| + |x_j|)^2``.
    """
    scale = 0.0
    for p in range(points.size):
        if weights[p] != 0.0:
            j = points[p]
            w = sign * weights[p]
            length = norms[i] + norms[j]
            scale += abs(w) * (length * length)
            add_pair(X[i], X[j], w, diagonal, row, Y[0 if diagonal else j])
    return scale


@njit
def add_anchor(X, norms, i, same, same_weights, other, other_weights, copies, diagonal, row, Y):
    """Add the weighted pairs of the copies of an anchor to Y: to its Laplacian rows, or to ``Y[0]``
    for a diagonal metric. Return the scale of the error.
    """
    row[:] = 0.0
    scale = add_row(X, norms, i, other, other_weights, copies, diagonal, row, Y)
    scale += add_row(X, norms, i, same, same_weights, -copies, diagonal, row, Y)
    target = 0 if diagonal else i
    for k in range(row.size):
        Y[target, k] += row[k]
    return scale


@njit
def anchor_sums(a, b, p, q, tau, gamma, near, bits, same_weights, other_weights, space, sums):
    """Run :func:`product_sums` on the values of the two lists of an anchor, with the shorter list
    first. `a` and `b` may be overwritten by their negatives.
    """
    if p <= q:
        product_sums(a, b, p, q, tau, gamma, near, bits, same_weights, other_weights, space, sums)
    else:  # tau + a - b = tau + (-b) - (-a)
        for r in range(p):
            a[r] = -a[r]
        for c in range(q):
            b[c] = -b[c]
        product_sums(b, a, q, p, tau, gamma, near, bits, other_weights, same_weights, space, sums)


@njit
def longest(lists, first, last):
    """Return the lengths of the longest first list and of the longest second list of the anchors
    ``first:last``. The lengths are at least 1.
    """
    p_max, q_max = 1, 1
    for m in range(first, last):
        p_max = max(p_max, lists.same_ptr[m + 1] - lists.same_ptr[m])
        q_max = max(q_max, lists.other_ptr[m + 1] - lists.other_ptr[m])
    return p_max, q_max


@njit
def chunk_loss_sums(rows, lists, first, last, costs, near, Y, sums):
    """Add the sums of :func:`product_sums` for the anchors ``first:last`` to ``sums[:5]``, and the
    scale of the error of Y, see :func:`add_anchor`, to ``sums[5]``.
    """
    X, Z, norms, diagonal = rows
    anchors, copies, same_ptr, same_points, other_ptr, other_points = lists
    tau, gamma, bits = costs
    p_max, q_max = longest(lists, first, last)
    a = np.empty(p_max)
    b = np.empty(q_max)
    row = np.empty(X.shape[1])
    once = np.empty(5)
    v, w = np.empty(p_max), np.empty(q_max)  # weights
    space = room(min(p_max, q_max), max(p_max, q_max))
    for m in range(first, last):
        i = anchors[m]
        same = same_points[same_ptr[m] : same_ptr[m + 1]]
        other = other_points[other_ptr[m] : other_ptr[m + 1]]
        row_values(X, Z, i, same, a)
        row_values(X, Z, i, other, b)
        once[:] = 0.0
        anchor_sums(a, b, same.size, other.size, tau, gamma, near[m], bits, v, w, space, once)
        for c in range(5):
            sums[c] += copies[m] * once[c]
        sums[5] += add_anchor(X, norms, i, same, v, other, w, copies[m], diagonal, row, Y)


@Shared
def loss_sums(rows, lists, bounds, costs, near, Y, sums):
    """Run :func:`chunk_loss_sums` over chunks of anchors. No anchor is split, so the result has the
    same bits for any number of threads.
    """
    for c in prange(bounds.size - 1):
        chunk_loss_sums(rows, lists, bounds[c], bounds[c + 1], costs, near, Y[c], sums[c])


@njit
def gram(rows, lists, same_weights, other_weights, Y):
    """Add the rows of given pair weights to Y; return the sum of ``|w| (|x_i| + |x_j|)^2``."""
    X, _, norms, diagonal = rows
    row = np.empty(X.shape[1])
    scale = 0.0
    for m in range(lists.anchors.size):
        one = slice(lists.same_ptr[m], lists.same_ptr[m + 1])
        two = slice(lists.other_ptr[m], lists.other_ptr[m + 1])
        scale += add_anchor(
            X,
            norms,
            lists.anchors[m],
            lists.same[one],
            same_weights[one],
            lists.other[two],
            other_weights[two],
            lists.copies[m],
            diagonal,
            row,
            Y,
        )
    return scale
