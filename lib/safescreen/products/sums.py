"""Sums of the loss over one product of two lists, without visiting its pairs.

The slack of a triplet is ``tau + s - t``, with one number `s` from the shorter and one number `t`
from the longer of the two lists of an anchor. The shorter list is sorted into buckets of equal
width. For each entry of the longer list, two places are looked up there: where it begins to cost,
and where its cost becomes linear. The slacks between them are in the *band*, where the cost is
quadratic; the slacks beyond are linear. Both are summed by differences of prefix sums.

The numbers are rounded once, to multiples of a power of two. So counts and sums are sums of
*integers*: they do not cancel, and their order does not matter. The weights of both lists then
belong, exactly, to one and the same set of dual variables ``clip(slack/gamma, 0, 1)``.

The steps of :func:`product_sums` are compiled into it. Calls would cost 3 to 13 % for lists of up
to 100 numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from safescreen._numba import njit

FINER = 1
"""There are ``2**FINER`` buckets per entry, up to twice as many; with more buckets a number is
found faster.
"""

FAR = 2**62
"""Above every number."""

KEYS, SORTED, STARTS, SUMS, WRAPPED, JOINED, MOVED, LINEAR = range(8)
"""Rows of the array of :func:`room` that belong to the shorter list.

Its sorted numbers with and without their places; the places where buckets begin; sums of the
numbers in front of a place, and of their squares modulo 2^64; and how many more slacks are in the
band from a place on, by how much the sum of their T is larger, and how many more slacks are linear.
"""

ENTRIES, NUMBERS, FIRSTS, LASTS = range(8, 12)
"""Rows that belong to the longer list: its entries that are neither zero nor linear against all of
the shorter one, the numbers T that they stand for, and where their bands begin and end.
"""


class SlackCosts(NamedTuple):
    """What a slack ``tau + s - t`` costs: its threshold tau, and the smoothing gamma of the loss.
    The numbers s and t are rounded to multiples of ``2**(1 - bits)`` of their range.
    """

    tau: float
    gamma: float
    bits: int


class Grid(NamedTuple):
    """A grid: the multiples of `unit`, a power of two, counted from `center`; `scale` is
    ``1/unit``.
    """

    center: float
    unit: float
    scale: float


class Buckets(NamedTuple):
    """Where a sorted number S is: in the bucket ``(S - least) >> fine``, which holds fewer than
    ``2**rounds`` numbers. A key is ``(S << shift) | place``.
    """

    least: int
    fine: int
    rounds: int
    shift: int


class Band(NamedTuple):
    """The slacks from 0 to `gamma`, in units of a grid below `step`. The dual variable is the slack
    in units times `inverse`. Slacks up to `near`, in units up to `farthest`, count as near 0.
    """

    gamma: float
    inverse: float
    step: int
    near: float
    farthest: int


@njit
def room(p, q):
    """Return an array of integers with named rows, and one for sums of squares.
    :func:`product_sums` works in them on lists of up to p and q numbers; p belongs to the shorter
    one.

    All integers are in one array: with several, counting their references would take half of the
    time that two lists of three numbers take.
    """
    return np.empty((12, max(4 * p + 2, q)), dtype=np.int64), np.empty(p + 1)


# ------------------------------------------------------------------------------- the shorter list


@njit
def sort_keys(work, start, stop):
    """Sort ``work[KEYS, start:stop]`` in place (shell sort)."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for r in range(start + gap, stop):
            key = work[KEYS, r]
            at = r
            while at >= start + gap and work[KEYS, at - gap] > key:
                work[KEYS, at] = work[KEYS, at - gap]
                at -= gap
            work[KEYS, at] = key
        gap //= 3


@njit
def extremes(values, size):
    """Return the smallest and the largest of ``values[:size]``, NaN if one of them is NaN.

    It keeps four of each, so that no comparison waits for the one before.
    """
    n_numbers = 0
    for r in range(size):
        n_numbers += values[r] == values[r]  # only a NaN differs from itself
    if n_numbers < size:
        return np.nan, np.nan
    a, b, c, d = values[0], values[0], values[0], values[0]
    e, f, g, h = values[0], values[0], values[0], values[0]
    for r in range(0, size - size % 4, 4):
        a = min(a, values[r])
        b = min(b, values[r + 1])
        c = min(c, values[r + 2])
        d = min(d, values[r + 3])
        e = max(e, values[r])
        f = max(f, values[r + 1])
        g = max(g, values[r + 2])
        h = max(h, values[r + 3])
    for r in range(size - size % 4, size):
        a = min(a, values[r])
        e = max(e, values[r])
    return min(min(a, b), min(c, d)), max(max(e, f), max(g, h))


@njit(inline="always")
def bits_above(n, least):
    """Return the number of bits of n, but at least `least`."""
    bits = np.int64(least)
    while (n >> bits) > 0:
        bits += 1
    return bits


@njit(inline="always")
def buckets_for(p, low, high, grid):
    """Return the :class:`Buckets` of p numbers from `low` to `high`, before they are sorted."""
    shift = bits_above(p - 1, 1)
    least = np.int64(np.rint((low - grid.center) * grid.scale))
    extent = np.int64(np.rint((high - grid.center) * grid.scale)) - least
    fine = bits_above(extent >> (shift + FINER - 1), 1) - 1
    return Buckets(least, fine, np.int64(1), shift)


@njit(inline="always")
def sort_by_buckets(s, p, grid, buckets, work):
    """Fill `STARTS` and `KEYS` with the sorted numbers ``S = (s - center) scale``, rounded. Return
    the buckets with the number of bits of their sizes.
    """
    least, fine, rounds, shift = buckets
    n_buckets = np.int64(1) << (shift + FINER)
    for b in range(n_buckets + 2):
        work[STARTS, b] = 0
    for r in range(p):
        work[SORTED, r] = np.int64(np.rint((s[r] - grid.center) * grid.scale))
        work[STARTS, ((work[SORTED, r] - least) >> fine) + 2] += 1
    for b in range(2, n_buckets + 2):
        work[STARTS, b] += work[STARTS, b - 1]
    for r in range(p):
        b = ((work[SORTED, r] - least) >> fine) + 1
        work[KEYS, work[STARTS, b]] = (work[SORTED, r] << shift) | r
        work[STARTS, b] += 1
    for b in range(n_buckets):
        if work[STARTS, b + 1] - work[STARTS, b] > 1:
            sort_keys(work, work[STARTS, b], work[STARTS, b + 1])
            rounds = bits_above(work[STARTS, b + 1] - work[STARTS, b], rounds)
    return Buckets(least, fine, rounds, shift)


@njit(inline="always")
def add_up(p, buckets, work, squares):
    """Write the numbers without their places one after the other, and large numbers after them.
    Fill the sums of the numbers in front of each place, and set the changes at all places to 0.
    """
    work[SUMS, 0] = 0
    work[WRAPPED, 0] = 0
    squares[0] = 0.0
    for r in range(p):
        work[SORTED, r] = work[KEYS, r] >> buckets.shift
        work[SUMS, r + 1] = work[SUMS, r] + work[SORTED, r]
        work[WRAPPED, r + 1] = work[WRAPPED, r] + work[SORTED, r] * work[SORTED, r]
        squares[r + 1] = squares[r] + float(work[SORTED, r]) * float(work[SORTED, r])
    for r in range(p, p + (1 << buckets.rounds)):
        work[SORTED, r] = FAR
    for r in range(p + 1):
        work[JOINED, r] = 0
        work[MOVED, r] = 0
        work[LINEAR, r] = 0


@njit(inline="always")
def spread_weights(p, shift, n_linear, inverse, work, s_weights):
    """Fill ``s_weights[:p]``. The weight of a number S of the shorter list is ``n_linear`` plus the
    sum of ``(S - T)/width`` over the T in whose band S lies.
    """
    mask = (np.int64(1) << shift) - 1
    n_band = np.int64(0)
    offset = np.int64(0)
    n_linear = np.int64(n_linear)
    for r in range(p):
        n_band += work[JOINED, r]
        offset += work[MOVED, r]
        n_linear += work[LINEAR, r]
        weight = float(n_linear)
        if n_band > 0:
            weight += (n_band * work[SORTED, r] - offset) * inverse
        s_weights[work[KEYS, r] & mask] = weight


# -------------------------------------------------------------------------------- the longer list


@njit(inline="always")
def set_apart(t, q, p, lowest, highest, center, band, work, t_weights):
    """List the entries of the longer list that are neither zero nor linear against all p numbers of
    the shorter one, and set the weights of the others. The slacks of an entry t run from
    ``lowest - t`` to ``highest - t``.

    Return the number of listed entries, the number of linear ones, and the loss of the latter
    without the sum of the shorter list: ``sum p (tau + center - t - gamma/2)``.
    """
    n_listed = 0
    n_linear = 0
    loss = 0.0
    for c in range(q):
        is_zero = highest - t[c] <= -band.near
        is_linear = lowest - t[c] >= band.gamma + band.near
        work[ENTRIES, n_listed] = c
        n_listed += 0 if is_zero or is_linear else 1
        t_weights[c] = 0.0
        if is_linear and not is_zero:
            t_weights[c] = p
            n_linear += 1
            loss += p * ((center - t[c]) - 0.5 * band.gamma)
    return n_listed, n_linear, loss


@njit(inline="always")
def count_below(limit, buckets, work):
    """Return how many of the sorted S are below `limit`, by a bisection without branches in its
    bucket. At least as many large numbers follow the bucket.
    """
    last = np.int64(1) << (buckets.shift + FINER)
    at = work[STARTS, min(max((limit - buckets.least) >> buckets.fine, 0), last)]
    for r in range(buckets.rounds):
        half = np.int64(1) << (buckets.rounds - 1 - r)
        at += half if work[SORTED, at + half - 1] < limit else 0
    return at


@njit(inline="always")
def find_bands(t, n_listed, tau, grid, step, buckets, work):
    """Write the number T of each listed entry, and the ends of its band: the places where
    ``0 < S - T < step``.
    """
    for m in range(
        n_listed
    ):  # the loops are short, so the processor works at several rounds at once
        T = np.int64(np.rint(((t[work[ENTRIES, m]] - tau) - grid.center) * grid.scale))
        work[NUMBERS, m] = T
        work[FIRSTS, m] = count_below(T + 1, buckets, work)
        work[LASTS, m] = count_below(T + step, buckets, work)


@njit(inline="always")
def sums_of_band(first, last, T, work, squares):
    """Return ``sum_r (S_r - T)`` and ``sum_r (S_r - T)^2`` over the places ``first:last``, both
    exactly.

    For the second sum, integers that wrap around have the last 64 bits, and floating-point numbers
    have the first ones.
    """
    n = last - first
    total = work[SUMS, last] - work[SUMS, first]
    modulo = work[WRAPPED, last] - work[WRAPPED, first] - T * (2 * total - n * T)
    square = squares[last] - squares[first]
    square -= float(T) * (2.0 * float(total) - float(n) * float(T))
    square = float(modulo) + np.rint((square - float(modulo)) * 2.0**-64) * 2.0**64
    return total - n * T, square


@njit(inline="always")
def count_near(work, p, T, first, farthest):
    """Return how many of the sorted ``S[:p]`` are at most `farthest` away from T; those above T
    begin at the place `first`.
    """
    count = 0.0
    r = first
    while r < p and work[SORTED, r] - T <= farthest:
        count += 1.0
        r += 1
    r = first - 1
    while r >= 0 and T - work[SORTED, r] <= farthest:
        count += 1.0
        r -= 1
    return count


@njit(inline="always")
def sum_bands(n_listed, p, band, unit, loss, work, squares, t_weights):
    """Return sums over the listed entries, with `loss` added to the first: the loss, the dual
    variables, their squares, ``slack - slack^2/gamma`` over the bands in units, and how many slacks
    count as near 0.

    Let n slacks of an entry be linear, let the slacks in its band sum to A, and their squares to B.
    Then its dual variables sum to ``n + A/gamma``, their squares to ``n + B/gamma^2``, and its loss
    is ``(sum of the linear slacks) - n gamma/2 + B/(2 gamma)``. The weights of the entries are
    written, and the changes that :func:`spread_weights` adds up.
    """
    alpha_sum = 0.0
    alpha_square = 0.0
    curved = 0.0
    close = 0.0
    for m in range(n_listed):
        T = work[NUMBERS, m]
        first = work[FIRSTS, m]
        last = work[LASTS, m]
        n = p - last
        total, square = sums_of_band(first, last, T, work, squares)
        ratio = square * band.inverse
        beyond = work[SUMS, p] - work[SUMS, last]
        loss += (beyond - n * T) * unit - n * (0.5 * band.gamma)
        loss += ratio * (0.5 * unit)
        alpha_square += n
        alpha_square += ratio * band.inverse
        curved += max(total - ratio, 0.0)
        weight = float(n) + total * band.inverse
        t_weights[work[ENTRIES, m]] = weight
        alpha_sum += weight
        work[JOINED, first] += 1
        work[MOVED, first] += T
        work[JOINED, last] -= 1
        work[MOVED, last] -= T
        work[LINEAR, last] += 1
        if band.near > 0.0:
            close += last - first
            close += count_near(work, p, T, first, band.farthest)
    return loss, alpha_sum, alpha_square, curved, close


# ------------------------------------------------------------------------------------ the product


@njit(inline="always")
def grid_for(bottom, top, bits):
    """Return the :class:`Grid` on which the numbers from `bottom` to `top` have so many bits."""
    exponent = min(bits - math.frexp(top - bottom)[1], 1000)
    return Grid(0.5 * bottom + 0.5 * top, math.ldexp(1.0, -exponent), math.ldexp(1.0, exponent))


@njit(inline="always")
def band_on(grid, gamma, near):
    """Return the :class:`Band` of a loss on a grid; `near` is wider there by two roundings."""
    width = gamma * grid.scale
    inverse = 1.0 / width if width > 0.0 else 0.0
    step = np.int64(min(max(np.ceil(width), 1.0), 2.0**60))
    return Band(gamma, inverse, step, near, np.int64(min(near * grid.scale, 2.0**60)) + 2)


@njit
def product_sums(s, t, p, q, tau, gamma, near, bits, s_weights, t_weights, space, sums):
    """Add up the loss and its dual variables over the product of the lists ``s[:p]`` and ``t[:q]``,
    with the slacks ``tau + s - t``.

    ``s_weights[:p]`` and ``t_weights[:q]`` are filled with the sums of the dual variables of each
    entry. Five numbers are added to ``sums``: the loss; the dual variables; their squares; `near`
    times at least the number of slacks in ``[-near, gamma)`` or ``[-near, near]``, 0 if `near` is
    0; and the sum of ``slack - slack^2/gamma`` over the slacks in ``[0, gamma]``. `space` is that
    of :func:`room`. Entries are rounded to multiples of ``2**(1 - bits)`` of their range.

    A sum of squares is exact: integers that wrap around give it modulo 2^64, and floating-point
    prefix sums up to 2^62. For entries below ``2**(bits - 1)`` the latter are off by
    ``(p^2 + 14 p) 2**(2 bits - 55)``, which is below 2^62 because ``bits <= 50``, and
    ``bits <= 58 - b`` for ``p < 2**b``.
    """
    low, high = extremes(s, p)
    t_low, t_high = extremes(t, q)
    bottom = min(low, max(t_low - tau, low - gamma - near))
    top = max(high, min(t_high - tau, high + near))
    if not (low <= high and t_low <= t_high and top - bottom < 1e300):  # or one is NaN
        s_weights[:p] = np.nan
        t_weights[:q] = np.nan
        sums[:] = np.nan
        return
    work, squares = space
    grid = grid_for(bottom, top, bits)
    band = band_on(grid, gamma, near)
    buckets = sort_by_buckets(s, p, grid, buckets_for(p, low, high, grid), work)
    add_up(p, buckets, work, squares)
    n_listed, n_linear, loss = set_apart(
        t, q, p, tau + low, tau + high, tau + grid.center, band, work, t_weights
    )
    find_bands(t, n_listed, tau, grid, band.step, buckets, work)
    loss, alpha_sum, alpha_square, curved, close = sum_bands(
        n_listed, p, band, grid.unit, loss, work, squares, t_weights
    )
    spread_weights(p, buckets.shift, n_linear, band.inverse, work, s_weights)
    sums[0] += loss + n_linear * (work[SUMS, p] * grid.unit)
    sums[1] += alpha_sum + n_linear * float(p)
    sums[2] += alpha_square + n_linear * float(p)
    sums[3] += near * close
    sums[4] += curved * grid.unit
