"""Screening of pairs: whole rows and columns of products of lists (notebook 25b).

A pair (i, j) stands for the interval ``d_ij -+ (e_ij + r |x_i - x_j|^2)`` of its squared distances
over a ball. Since ``||H_ijl|| <= |x_i - x_l|^2 + |x_i - x_j|^2``, the margins of a triplet over the
ball lie between the differences of the ends of its two intervals.

It is safe. Where it makes a solve faster, listed triplets with screening are faster still. So the
library has none of it.
"""

from typing import NamedTuple

import numpy as np

from safescreen import Problem, ProductTriplets
from safescreen._numba import njit
from safescreen.products.listed import ListedProducts
from safescreen.products.listed_kernels import Lists, Rows, gram, longest, row_values
from safescreen.rounding import UNIT, gamma, norm_upper, upper
from safescreen.terms.neighbors import AnchorLists

ROUNDS = 4
"""How often the pairs of an anchor are looked at; two or three rounds find nearly all."""


class BlockScreening(NamedTuple):
    """What :func:`screen_blocks` has decided.

    Attributes
    ----------
    remaining : ProductTriplets
        The undecided triplets, as products of shorter lists; there are none if its length is 0.
    total : element of the space
        The sum of the triplets that are certain to be linear.
    error : float
        Bound of the rounding error of `total`.
    n_L, n_R : int
        How many triplets are certain to be in the linear and in the zero region.
    """

    remaining: ProductTriplets
    total: np.ndarray
    error: float
    n_L: int
    n_R: int


class Decided(NamedTuple):
    """For each pair of either list whether it leaves, and its weight: how many triplets it is in
    that are certain to be linear.
    """

    same_out: np.ndarray
    other_out: np.ndarray
    same_weights: np.ndarray
    other_weights: np.ndarray


def screen_blocks(terms, ball, loss):
    """Screen whole blocks. A block is one pair with all remaining pairs of the anchor's other list;
    it is screened if all its triplets are certain. No triplet is looked at by itself.

    The sphere rule (STS19 equation 4.1) with the bound
    ``||H_ijl|| <= |x_i - x_l|^2 + |x_i - x_j|^2`` separates: it follows from one interval for each
    of the two distances. A pair is compared with the extreme ends of the other list's intervals, so
    a call costs O(pairs d). Comparisons are strict, and the intervals include the rounding errors
    of distances, sizes and differences. A ball whose radius is NaN, infinite or negative screens
    nothing.
    """
    center = terms.cone.check(ball.center, "ball.center")
    radius = float(ball.radius)
    nothing = BlockScreening(remaining=terms, total=terms.cone.zeros(), error=0.0, n_L=0, n_R=0)
    if len(terms) == 0 or not 0.0 <= radius < np.inf:
        return nothing
    points = terms.points
    lists = terms.products.lists
    relative = upper(gamma(3 * points.d + 12) * norm_upper(center), 4)
    tau = float(terms.threshold)
    low = np.nextafter(tau - loss.smoothing, -np.inf)
    decided = Decided(
        same_out=np.zeros(lists.same.size, dtype=np.bool_),
        other_out=np.zeros(lists.other.size, dtype=np.bool_),
        same_weights=np.zeros(lists.same.size),
        other_weights=np.zeros(lists.other.size),
    )
    counts = np.zeros(2, dtype=np.int64)
    arrays = arrays_of(points, terms.anchors, lists)
    Z = points.X * center if points.diagonal else points.X @ center
    rows = Rows(points.X, Z, points.norms, points.diagonal)
    screen(rows, arrays, radius, relative, low, tau, decided, counts)
    n_L, n_R = counts.tolist()
    if n_L + n_R == 0:
        return nothing
    remaining = ProductTriplets.of(ListedProducts(points, terms.anchors, without(lists, decided)))
    remaining.threshold = terms.threshold
    total, error = sum_of_linear(points, arrays, decided)
    return BlockScreening(remaining=remaining, total=total, error=error, n_L=n_L, n_R=n_R)


def reduced(problem, screening):
    """Return what is left of a problem without a linear term. The triplets that are certain to be
    linear are in the linear term now, and ``tau - gamma/2`` of each in the constant (STS19 Lemma
    1).
    """
    terms = screening.remaining
    constant = screening.n_L * (float(terms.threshold) - 0.5 * problem.loss.smoothing)
    left = Problem(terms, problem.loss, linear=screening.total, constant=constant)
    left.linear_error = screening.error
    return left


def arrays_of(points, anchors, lists):
    """Return the lists in the form that kernels take, with rows of points; each anchor counts
    once.
    """
    rows = np.arange(points.n, dtype=np.int32) if points.rows is None else points.rows
    return Lists(
        anchors=rows[anchors],
        copies=np.ones(anchors.size, dtype=np.int64),
        same_ptr=lists.same_ptr,
        same=rows[lists.same],
        other_ptr=lists.other_ptr,
        other=rows[lists.other],
    )


def without(lists, decided):
    """Return the lists without the pairs that leave."""
    kept = ~decided.same_out, ~decided.other_out
    return AnchorLists(
        same_ptr=np.concatenate(([0], np.cumsum(kept[0])))[lists.same_ptr],
        same=lists.same[kept[0]],
        other_ptr=np.concatenate(([0], np.cumsum(kept[1])))[lists.other_ptr],
        other=lists.other[kept[1]],
    )


def sum_of_linear(points, arrays, decided):
    """Return the sum of the triplets that are certain to be linear, and a bound of its rounding
    error.
    """
    Y = points.zero_rows()
    rows = Rows(points.X, points.X, points.norms, points.diagonal)
    scale = gram(rows, arrays, decided.same_weights, decided.other_weights, Y)
    # a row of Y is a sum over a row of pairs and over anchors; X'Y has dot products of length n
    n_anchors = arrays.anchors.size
    length = points.n + n_anchors + sum(longest(arrays, 0, n_anchors)) + 25
    return points.close(Y), upper(gamma(length) * scale, length)


# ------------------------------------------------------------------------------- compiled loops


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
def screen(rows, lists, radius, relative, low, high, decided, counts):
    """Run :func:`screen_anchor` over all anchors; the arrays of `decided` must be zero."""
    p_max, q_max = longest(lists, 0, lists.anchors.size)
    same_low = np.empty(p_max)
    same_high = np.empty(p_max)
    other_low = np.empty(q_max)
    other_high = np.empty(q_max)
    for m in range(lists.anchors.size):
        i = lists.anchors[m]
        s = slice(lists.same_ptr[m], lists.same_ptr[m + 1])
        o = slice(lists.other_ptr[m], lists.other_ptr[m + 1])
        same = lists.same[s]
        other = lists.other[o]
        finite = row_intervals(rows, i, same, -1.0, radius, relative, same_low, same_high)
        finite &= row_intervals(rows, i, other, 1.0, radius, relative, other_low, other_high)
        if finite:
            same_side = (same_low, same_high, decided.same_out[s], decided.same_weights[s])
            other_side = (other_low, other_high, decided.other_out[o], decided.other_weights[o])
            screen_anchor(same_side, other_side, same.size, other.size, low, high, counts)
