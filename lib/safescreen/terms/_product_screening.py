"""Compiled loops that screen whole rows and columns of products of lists.

A pair (i, j) stands for the interval ``d_ij -+ (e_ij + r |x_i - x_j|^2)`` of its squared distances over a ball. As ``||H_ijl|| <= |x_i -
x_l|^2 + |x_i - x_j|^2``, the margins of a triplet over the ball lie between the differences of the ends of its two intervals.
"""

import numpy as np

from safescreen._numba import Shared, njit, prange
from safescreen.rounding import UNIT
from safescreen.terms._product_kernels import longest, row_values

ROUNDS = 4


@njit
def row_sizes(X, i, points, start, stop, diagonal, out):
    """``out[p - start] = |x_i - x_j|^2``, ``j = points[p]``, or (diagonal) the norm of the squared differences."""
    for p in range(start, stop):
        j = points[p]
        size = 0.0
        for k in range(X.shape[1]):
            u = X[i, k] - X[j, k]
            size += (u * u) * (u * u) if diagonal else u * u
        out[p - start] = np.sqrt(size) if diagonal else size


@njit
def row_intervals(d, norms, i, points, start, stop, radius, relative, sizes, low, high):
    """Widen the values in `low` to intervals; return whether they are all finite."""
    finite = True
    for p in range(start, stop):
        s = norms[i] + norms[points[p]]
        size = sizes[p - start] * (1.0 + (d + 12) * UNIT) + 8.0 * UNIT * (s * s) + 1e-150
        value = low[p - start]
        half = (relative * (s * s) + radius * size) * (1.0 + 8.0 * UNIT) + 8.0 * UNIT * abs(value) + 1e-300
        low[p - start] = value - half
        high[p - start] = value + half
        if not half < np.inf:
            finite = False
    return finite


@njit
def extremes(low, high, out, size):
    """Return the smallest of `low` and the largest of `high` whose flags in `out` are not set."""
    least, greatest = np.inf, -np.inf
    for r in range(size):
        if not out[r]:
            least, greatest = min(least, low[r]), max(greatest, high[r])
    return least, greatest


@njit
def certainly_above(a, b, limit):
    """Whether ``a - b > limit`` in exact arithmetic."""
    return (a - b) - 4.0 * UNIT * (abs(a) + abs(b) + abs(limit)) > limit


@njit
def screen_anchor(ends, p, q, low, high, found, counts):
    """Take from the lists of one anchor what is decided against everything left in the other list.

    Sets the flags ``same_out[:p]`` and ``other_out[:q]`` of pairs that leave; weights are the numbers of triplets certified
    to be linear that a pair is in; ``counts += (number of linear triplets, number of zero ones)``.
    """
    same_low, same_high, other_low, other_high = ends
    same_out, other_out, same_weights, other_weights = found
    n_same, n_other = p, q
    from_same, from_other = 0, 0  # pairs (i, j) that left as linear while the pairs (i, l) left now were there, and the reverse
    changed, rounds = True, 0
    while changed and n_same > 0 and rounds < ROUNDS:
        changed = False
        rounds += 1
        nearest, farthest = extremes(other_low, other_high, other_out, q)
        for r in range(p):
            if same_out[r]:
                continue
            linear = certainly_above(-farthest, -same_low[r], -low)
            if linear or certainly_above(nearest, same_high[r], high):
                same_out[r] = True
                same_weights[r] = from_other + (n_other if linear else 0)
                counts[0 if linear else 1] += n_other
                from_same += 1 if linear else 0
                n_same -= 1
                changed = True
        if n_same == 0:
            break
        nearest, farthest = extremes(same_low, same_high, same_out, p)
        for c in range(q):
            if other_out[c]:
                continue
            linear = certainly_above(-other_high[c], -nearest, -low)
            if linear or certainly_above(other_low[c], farthest, high):
                other_out[c] = True
                other_weights[c] = from_same + (n_same if linear else 0)
                counts[0 if linear else 1] += n_same
                from_other += 1 if linear else 0
                n_other -= 1
                changed = True
        if n_other == 0:
            break
    for r in range(p):
        if not same_out[r]:
            same_weights[r] = from_other
    for c in range(q):
        if not other_out[c]:
            other_weights[c] = from_same
    if n_same == 0 or n_other == 0:
        same_out[:p] = True
        other_out[:q] = True


@njit
def screen_chunk(points, lists, first, last, radius, relative, low, high, diagonal, found, counts):
    """Run :func:`screen_anchor` over the anchors ``first:last``; `points` are ``(X, Z, norms)``, `found` is zero on entry."""
    X, Z, norms = points
    anchors, copies, same_ptr, same, other_ptr, other = lists
    same_out, other_out, same_weights, other_weights = found
    p_max, q_max = longest(same_ptr, other_ptr, first, last)
    same_low, same_high, same_size = np.empty(p_max), np.empty(p_max), np.empty(p_max)
    other_low, other_high, other_size = np.empty(q_max), np.empty(q_max), np.empty(q_max)
    d, once = X.shape[1], np.empty(2, dtype=np.int64)
    for m in range(first, last):
        i = anchors[m]
        s0, s1, o0, o1 = same_ptr[m], same_ptr[m + 1], other_ptr[m], other_ptr[m + 1]
        row_values(X, Z, i, same, s0, s1, same_low)
        row_values(X, Z, i, other, o0, o1, other_low)
        row_sizes(X, i, same, s0, s1, diagonal, same_size)
        row_sizes(X, i, other, o0, o1, diagonal, other_size)
        finite = row_intervals(d, norms, i, same, s0, s1, radius, relative, same_size, same_low, same_high)
        finite &= row_intervals(d, norms, i, other, o0, o1, radius, relative, other_size, other_low, other_high)
        if finite:
            ends = same_low, same_high, other_low, other_high
            here = same_out[s0:s1], other_out[o0:o1], same_weights[s0:s1], other_weights[o0:o1]
            once[:] = 0
            screen_anchor(ends, s1 - s0, o1 - o0, low, high, here, once)
            counts += copies[m] * once


@Shared
def screen(points, lists, bounds, radius, relative, low, high, diagonal, found, counts):
    """Run :func:`screen_chunk` over chunks of anchors, chunk c counting in ``counts[c]``; the same bits for any number of threads."""
    for c in prange(bounds.size - 1):
        screen_chunk(points, lists, bounds[c], bounds[c + 1], radius, relative, low, high, diagonal, found, counts[c])
