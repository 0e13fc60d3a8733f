"""Compiled loops of products of lists that are not stored: all points are in the order of their classes, and classes are the lists.

An array W has a row an anchor and a column a point: first values of pairs, then weights of them, negative for pairs of the same class.
The anchor of row m stands at ``rows[m]``, its class at ``lows[m]:highs[m]``, and pairs are those whose entry of `keep`, of the shape of W,
is set; where `keep` has no columns they are all pairs of two points. ``place`` is the tuple ``(rows, lows, highs, keep)``.
"""

import numpy as np

from safescreen._numba import njit, prange
from safescreen.terms._product_kernels import anchor_sums
from safescreen.terms._product_screening import all_sizes, row_intervals, screen_anchor
from safescreen.terms._product_sums import extremes, room

TILE, SPAN, GROUP = 512, 2048, 4
"""Columns that are worked at together, and columns and anchors that a thread takes at once."""


@njit
def multiply_add(A, B, C, start, stop):
    """``C[:, start:stop] += A @ B[:, start:stop]``; every entry is summed in the same order, whatever the columns."""
    n, d = A.shape
    for left in range(start, stop, TILE):
        right = min(left + TILE, stop)
        for m in range(0, n, 2):
            b = min(m + 1, n - 1)
            c, e = C[m, left:right], C[b, left:right]
            for k in range(0, d, 4):
                u, v, w, z = B[k, left:right], B[min(k + 1, d - 1), left:right], B[min(k + 2, d - 1), left:right], B[min(k + 3, d - 1), left:right]
                p0, p1, p2, p3 = A[m, k], 0.0, 0.0, 0.0
                q0, q1, q2, q3 = A[b, k], 0.0, 0.0, 0.0
                if k + 1 < d:
                    p1, q1 = A[m, k + 1], A[b, k + 1]
                if k + 2 < d:
                    p2, q2 = A[m, k + 2], A[b, k + 2]
                if k + 3 < d:
                    p3, q3 = A[m, k + 3], A[b, k + 3]
                if b == m:
                    for j in range(c.size):
                        c[j] += (p0 * u[j] + p1 * v[j]) + (p2 * w[j] + p3 * z[j])
                else:
                    for j in range(c.size):
                        c[j] += (p0 * u[j] + p1 * v[j]) + (p2 * w[j] + p3 * z[j])
                        e[j] += (q0 * u[j] + q1 * v[j]) + (q2 * w[j] + q3 * z[j])


@njit(parallel=True)
def parallel_multiply_add(A, B, C):
    """Run :func:`multiply_add` over runs of columns shared among threads; the same bits."""
    for t in prange((C.shape[1] + SPAN - 1) // SPAN):
        multiply_add(A, B, C, t * SPAN, min((t + 1) * SPAN, C.shape[1]))


@njit
def split_row(row, m, place, a, b):
    """Fill `a` with the entries of the row at the anchor's pairs of the same class, `b` with the others; return how many there are."""
    rows, lows, highs, keep = place
    p, q = 0, 0
    for start, stop, is_same in ((0, lows[m], False), (lows[m], highs[m], True), (highs[m], row.size, False)):
        out, at = (a, p) if is_same else (b, q)
        if keep.shape[1] > 0:
            for j in range(start, stop):
                out[at] = row[j]
                at += keep[m, j]
        elif is_same:
            for j in range(start, rows[m]):
                out[at + j - start] = row[j]
            for j in range(rows[m] + 1, stop):
                out[at + j - 1 - start] = row[j]
            at += stop - start - 1
        else:
            for j in range(start, stop):
                out[at + j - start] = row[j]
            at += stop - start
        p, q = (at, q) if is_same else (p, at)
    return p, q


@njit
def join_row(row, m, place, a, b, norms):
    """Write ``-a`` and `b` where :func:`split_row` takes them from, 0 elsewhere; return ``sum |row_j| (|x_i| + |x_j|)^2``."""
    rows, lows, highs, keep = place
    p, q, n = 0, 0, row.size
    own, masked = norms[rows[m]], keep.shape[1] > 0
    for j in range(lows[m]):
        row[j] = b[q] if not masked or keep[m, j] else 0.0
        q += not masked or keep[m, j]
    for j in range(lows[m], highs[m]):
        here = keep[m, j] if masked else j != rows[m]
        row[j] = -a[p] if here else 0.0
        p += here
    for j in range(highs[m], n):
        row[j] = b[q] if not masked or keep[m, j] else 0.0
        q += not masked or keep[m, j]
    s, t = 0.0, 0.0
    for j in range(0, n - 1, 2):
        s += abs(row[j]) * ((own + norms[j]) * (own + norms[j]))
        t += abs(row[j + 1]) * ((own + norms[j + 1]) * (own + norms[j + 1]))
    return s + t + (abs(row[n - 1]) * ((own + norms[n - 1]) * (own + norms[n - 1])) if n % 2 else 0.0)


@njit
def sum_rows(W, place, norms, tau, gamma, near, bits, first, last, sums):
    """Turn values into weights in the rows ``first:last``; fill ``sums[m]`` as :func:`product_sums` says, scale of the error last."""
    n = W.shape[1]
    a, b, same_weights, other_weights, space = np.empty(n + 1), np.empty(n + 1), np.empty(n), np.empty(n), room(n // 2 + 1, n)
    for m in range(first, last):
        p, q = split_row(W[m], m, place, a, b)
        anchor_sums(a, b, p, q, tau, gamma, near[m], bits, same_weights, other_weights, space, sums[m])
        sums[m, 5] = join_row(W[m], m, place, same_weights, other_weights, norms)


@njit(parallel=True)
def parallel_sum_rows(W, place, norms, tau, gamma, near, bits, sums):
    """Run :func:`sum_rows` over runs of anchors shared among threads; the same bits."""
    for t in prange((W.shape[0] + GROUP - 1) // GROUP):
        sum_rows(W, place, norms, tau, gamma, near, bits, t * GROUP, min((t + 1) * GROUP, W.shape[0]), sums)


@njit
def total_rows(W, place, norms, sums):
    """Write the weights of ``sum_t a_t`` into W, the scales of its error into ``sums[:, 5]``."""
    a, b = np.empty(W.shape[1] + 1), np.empty(W.shape[1] + 1)
    for m in range(W.shape[0]):
        p, q = split_row(W[m], m, place, a, b)
        a[:p], b[:q] = q, p
        sums[m, 5] = join_row(W[m], m, place, a, b, norms)


@njit
def widest_margin(W, place):
    """Return the largest difference of a value of the others and one of the same class, of any row."""
    a, b, widest = np.empty(W.shape[1] + 1), np.empty(W.shape[1] + 1), -np.inf
    for m in range(W.shape[0]):
        p, q = split_row(W[m], m, place, a, b)
        widest = max(widest, extremes(b, q)[1] - extremes(a, p)[0])
    return widest


@njit
def screen_rows(W, place, points, radius, relative, low, high, diagonal, first, last, left, counts, scales):
    """Run :func:`screen_anchor` over the rows ``first:last`` of values, and put the weights of linear triplets in their place.

    `points` are ``(X, XT, norms)``; sets the flags `left` of pairs that are left, and ``counts[m]`` to the numbers of linear and of zero
    triplets and of pairs of the same class and of others that are left, ``scales[m]`` to the scale of the error of the weights.
    """
    rows, lows, highs, keep = place
    X, XT, norms = points
    n = W.shape[1]
    numbers, same, other = np.arange(n), np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    sizes, ends = np.empty(n), np.empty((6, n + 1))
    for m in range(first, last):
        i, row = rows[m], W[m]
        p, q = split_row(numbers, m, place, same, other)
        all_sizes(X, XT, i, diagonal, sizes)
        for r in range(p):
            ends[0, r], ends[2, r] = row[same[r]], sizes[same[r]]
        for c in range(q):
            ends[3, c], ends[5, c] = row[other[c]], sizes[other[c]]
        finite = row_intervals(X.shape[1], norms, i, same, 0, p, radius, relative, ends[2], ends[0], ends[1])
        finite &= row_intervals(X.shape[1], norms, i, other, 0, q, radius, relative, ends[5], ends[3], ends[4])
        outs = np.zeros(p, dtype=np.bool_), np.zeros(q, dtype=np.bool_)
        weights = np.zeros(p), np.zeros(q)
        if finite:
            screen_anchor((ends[0], ends[1], ends[3], ends[4]), p, q, low, high, (*outs, *weights), counts[m])
        for r in range(p):
            left[m, same[r]] = not outs[0][r]
            counts[m, 2] += not outs[0][r]
        for c in range(q):
            left[m, other[c]] = not outs[1][c]
            counts[m, 3] += not outs[1][c]
        scales[m] = join_row(row, m, place, *weights, norms)


@njit(parallel=True)
def parallel_screen_rows(W, place, points, radius, relative, low, high, diagonal, left, counts, scales):
    """Run :func:`screen_rows` over runs of anchors shared among threads; the same bits."""
    for t in prange((W.shape[0] + GROUP - 1) // GROUP):
        last = min((t + 1) * GROUP, W.shape[0])
        screen_rows(W, place, points, radius, relative, low, high, diagonal, t * GROUP, last, left, counts, scales)
