"""Compiled loops that screen whole rows and columns of products of lists.

A pair (i, j) stands for the interval ``d_ij -+ (e_ij + r |x_i - x_j|^2)`` of its squared distances
over a ball. Since ``||H_ijl|| <= |x_i - x_l|^2 + |x_i - x_j|^2``, the margins of a triplet over the
ball lie between the differences of the ends of its two intervals.
"""

import numpy as np

from safescreen._numba import Shared, njit, prange
from safescreen.products.listed_kernels import longest, row_values
from safescreen.rounding import UNIT

ROUNDS = 4


@njit(inline="always")
def pair_size(x, y, s, diagonal):
    """Return an upper bound of the norm of ``(x - y)(x - y)'``, or, for a diagonal metric, of
    ``(x - y)^2``; s is ``|x| + |y|``.
    """
    size = 0.0
    for k in range(x.size):
        u = x[k] - y[k]
        size += (u * u) * (u * u) if diagonal else u * u
    size = np.sqrt(size) if diagonal else size
    return size * (1.0 + (x.size + 12) * UNIT) + 8.0 * UNIT * (s * s) + 1e-150


@njit
def row_intervals(rows, i, members, sign, radius, relative, low, high):
    """Write the ends of the intervals, times `sign`, of the pairs (i, j) with ``j = members[p]``.
    Return whether they are all finite.
    """
    X, Z, norms, diagonal = rows
    finite = True
    row_values(X, Z, i, members, low)
    for p in range(members.size):
        j = members[p]
        s = norms[i] + norms[j]
        size = pair_size(X[i], X[j], s, diagonal)
        value = sign * low[p]
        half = (
            (relative * (s * s) + radius * size) * (1.0 + 8.0 * UNIT)
            + 8.0 * UNIT * abs(value)
            + 1e-300
        )
        low[p] = value - half
        high[p] = value + half
        if not half < np.inf:
            finite = False
    return finite


@njit
def extremes(low, high, out, size):
    """Return the smallest of `low` and the largest of `high` among the pairs whose flags in `out`
    are not set.
    """
    least = np.inf
    greatest = -np.inf
    for r in range(size):
        if not out[r]:
            least = min(least, low[r])
            greatest = max(greatest, high[r])
    return least, greatest


@njit
def certainly_above(a, b, limit):
    """Return whether ``a - b > limit`` in exact arithmetic."""
    return (a - b) - 4.0 * UNIT * (abs(a) + abs(b) + abs(limit)) > limit


@njit
def take_out(own, size, others, n_others, from_others, low, high, counts):
    """Set the flags of the pairs of a list that are decided against the extreme ends of the
    remaining pairs of the other list.

    The margin of a triplet is the sum of one number from each list. Weights are as in
    :func:`screen_anchor`: `from_others` pairs of the other list have left as linear, and `n_others`
    remain. Return how many pairs left, and how many of them as linear.
    """
    lows, highs, out, weights = own
    least, greatest = extremes(*others)
    n, n_linear = 0, 0
    for r in range(size):
        if out[r]:
            continue
        linear = certainly_above(-highs[r], greatest, -low)
        if linear or certainly_above(lows[r], -least, high):
            out[r] = True
            weights[r] = from_others + (n_others if linear else 0)
            counts[0 if linear else 1] += n_others
            n += 1
            n_linear += 1 if linear else 0
    return n, n_linear


@njit
def screen_anchor(same, other, p, q, low, high, counts):
    """Screen the pairs of one anchor that are decided against all remaining pairs of its other
    list.

    `same` and `other` are ``(lows, highs, out, weights)``; the ends of `same` have the opposite
    sign. The flags ``out[:p]`` and ``out[:q]`` of pairs that leave are set. The weight of a pair is
    the number of its triplets that are certain to be linear.
    ``counts += (number of linear triplets, number of zero ones)``.
    """
    n_same, n_other = p, q
    from_same = (
        0  # pairs (i, j) that left as linear when the pairs (i, l) left now were still there
    )
    from_other = 0  # the reverse
    for _ in range(ROUNDS):
        first, linear = take_out(
            same, p, (other[0], other[1], other[2], q), n_other, from_other, low, high, counts
        )
        n_same -= first
        from_same += linear
        if n_same == 0:
            break
        second, linear = take_out(
            other, q, (same[0], same[1], same[2], p), n_same, from_same, low, high, counts
        )
        n_other -= second
        from_other += linear
        if n_other == 0 or first + second == 0:
            break
    for r in range(p):
        if not same[2][r]:
            same[3][r] = from_other
    for c in range(q):
        if not other[2][c]:
            other[3][c] = from_same
    if n_same == 0 or n_other == 0:
        same[2][:p] = True
        other[2][:q] = True


@njit
def screen_chunk(rows, lists, first, last, radius, relative, low, high, flags_and_weights, counts):
    """Run :func:`screen_anchor` over the anchors ``first:last``; `flags_and_weights` must be
    zero.
    """
    anchors, copies, same_ptr, same, other_ptr, other = lists
    same_out, other_out, same_weights, other_weights = flags_and_weights
    p_max, q_max = longest(lists, first, last)
    a = np.empty(p_max)
    b = np.empty(p_max)
    c = np.empty(q_max)
    d = np.empty(q_max)
    once = np.empty(2, dtype=np.int64)
    for m in range(first, last):
        s0 = same_ptr[m]
        s1 = same_ptr[m + 1]
        o0 = other_ptr[m]
        o1 = other_ptr[m + 1]
        finite = row_intervals(rows, anchors[m], same[s0:s1], -1.0, radius, relative, a, b)
        finite &= row_intervals(rows, anchors[m], other[o0:o1], 1.0, radius, relative, c, d)
        if finite:
            once[:] = 0
            same_side = (a, b, same_out[s0:s1], same_weights[s0:s1])
            other_side = (c, d, other_out[o0:o1], other_weights[o0:o1])
            screen_anchor(same_side, other_side, s1 - s0, o1 - o0, low, high, once)
            counts += copies[m] * once


@Shared
def screen(rows, lists, bounds, radius, relative, low, high, flags_and_weights, counts):
    """Run :func:`screen_chunk` over chunks of anchors; chunk c counts in ``counts[c]``. The result
    has the same bits for any number of threads.
    """
    for c in prange(bounds.size - 1):
        screen_chunk(
            rows,
            lists,
            bounds[c],
            bounds[c + 1],
            radius,
            relative,
            low,
            high,
            flags_and_weights,
            counts[c],
        )
