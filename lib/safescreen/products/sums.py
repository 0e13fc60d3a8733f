"""Sums of the loss over one product of two lists, without visiting its pairs.

The slack of a triplet is ``tau + s - t``, with a number `s` from the shorter list of an anchor and
a number `t` from the longer list. The shorter list is sorted into buckets of equal width. For each
entry of the longer list, two places in the sorted list are looked up: the place where the loss
begins to be positive, and the place where it becomes linear. The slacks between the two places are
in the *band*, where the loss is quadratic. The slacks beyond the second place are linear.
Differences of prefix sums give the sums over the two kinds of slacks.

The numbers are rounded once, to multiples of a power of two. So counts and sums are sums of
*integers*, which are exact in any order. The weights of both lists then belong, exactly, to the
same dual variables ``clip(slack/gamma, 0, 1)``.

The steps of :func:`product_sums` are compiled into it. Calls would cost 3 to 13 % for lists of up
to 100 numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from safescreen._numba import njit

FINER = 1
"""There are ``2**FINER`` to ``2**(FINER + 1)`` buckets per entry. With more buckets a number is
looked up faster.
"""

FAR = 2**62
"""An integer above every number of a list."""

KEYS, SORTED, STARTS, SUMS, WRAPPED, JOINED, MOVED, LINEAR = range(8)
"""Rows of the array of :func:`room` that belong to the shorter list.

`KEYS` are its sorted numbers with their places in the list, and `SORTED` its sorted numbers.
`STARTS` are the places where buckets begin. `SUMS` are the sums of the numbers before a place, and
`WRAPPED` the sums of their squares modulo 2^64. The last three rows are changes at a place: of the
number of slacks in the band (`JOINED`), of the sum of their T (`MOVED`), and of the number of
linear slacks (`LINEAR`).
"""

ENTRIES, NUMBERS, FIRSTS, LASTS = range(8, 12)
"""Rows that belong to the longer list. `ENTRIES` are its entries whose slacks with the shorter list
are neither all zero nor all linear. `NUMBERS` are the numbers T of these entries. `FIRSTS` and
`LASTS` are the places where their bands begin and end.
"""


class SlackCosts(NamedTuple):
    """The parameters of the loss of a slack ``tau + s - t``: the threshold tau, and the smoothing
    gamma of the loss. The numbers s and t are rounded to multiples of ``2**(1 - bits)`` of their
    range.
    """

    tau: float
    gamma: float
    bits: int


class Grid(NamedTuple):
    """The grid of the numbers ``center + k unit`` with integers k. `unit` is a power of two, and
    `scale` is ``1/unit``.
    """

    center: float
    unit: float
    scale: float


class Buckets(NamedTuple):
    """The buckets of sorted numbers. A number S is in the bucket ``(S - least) >> fine``, which
    holds fewer than ``2**rounds`` numbers. A key is ``(S << shift) | place``.
    """

    least: int
    fine: int
    rounds: int
    shift: int


class Band(NamedTuple):
    """The band of the loss: the slacks from 0 to `gamma`, which are integers below `step` in units
    of a grid. The dual variable is `inverse` times the slack in units. Slacks of at most `near`, or
    `farthest` in units, count as near 0.
    """

    gamma: float
    inverse: float
    step: int
    near: float
    farthest: int


@njit
def room(p, q):
    """Return the two work arrays of :func:`product_sums`: integers with named rows, and sums of
    squares. The shorter list may have up to p numbers, and the longer list up to q.

    All integers are in one array. With several arrays, counting their references would take half of
    the time that two lists of three numbers take.
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
    """Return the smallest and the largest of ``values[:size]``, or NaN if a value is NaN.

    The loop keeps four minima and four maxima, so that no comparison waits for the one before.
    """
    n_numbers = 0
    for r in range(size):
        n_numbers += values[r] == values[r]  # only NaN differs from itself
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
    """Return the :class:`Buckets` for p numbers from `low` to `high` that are not sorted yet."""
    shift = bits_above(p - 1, 1)
    least = np.int64(np.rint((low - grid.center) * grid.scale))
    extent = np.int64(np.rint((high - grid.center) * grid.scale)) - least
    fine = bits_above(extent >> (shift + FINER - 1), 1) - 1
    return Buckets(least, fine, np.int64(1), shift)


@njit(inline="always")
def sort_by_buckets(s, p, grid, buckets, work):
    """Sort the rounded numbers ``S = (s - center) scale``: write their `KEYS`, and the `STARTS` of
    the buckets. Return the buckets with `rounds`, the number of bits of the largest bucket size.
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
    """Write the `SORTED` numbers, and large numbers after them. Write the sums of the numbers
    before each place, and set the changes at all places to 0.
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
    """Write ``s_weights[:p]``. The weight of a number S of the shorter list is the number of its
    linear slacks plus the sum of ``(S - T)/width`` over the T in whose band S lies. `n_linear`
    entries of the longer list are linear for every S.
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
    """List the entries of the longer list whose slacks with the p numbers of the shorter list are
    neither all zero nor all linear, and set the weights of the other entries. The slacks of an
    entry t run from ``lowest - t`` to ``highest - t``.

    Return the number of listed entries, the number of linear entries, and the loss of the linear
    entries without the sum of the shorter list: ``sum p (tau + center - t - gamma/2)``.
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
    """Return how many of the sorted S are below `limit`, by a bisection without branches in one
    bucket. The bisection may read beyond the last number, where `FAR` is stored.
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
    ):  # the inner loops are short, so the processor executes several iterations at once
        T = np.int64(np.rint(((t[work[ENTRIES, m]] - tau) - grid.center) * grid.scale))
        work[NUMBERS, m] = T
        work[FIRSTS, m] = count_below(T + 1, buckets, work)
        work[LASTS, m] = count_below(T + step, buckets, work)


@njit(inline="always")
def sums_of_band(first, last, T, work, squares):
    """Return ``sum_r (S_r - T)`` and ``sum_r (S_r - T)^2`` over the places ``first:last``. The two
    sums are exact.

    The last 64 bits of the second sum come from integers that wrap around, and its first bits from
    floating-point numbers.
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
    """Return how many of the sorted ``S[:p]`` are at most `farthest` away from T. The numbers above
    T begin at the place `first`.
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
    """Return sums over the listed entries: the loss, to which `loss` is added; the dual variables;
    their squares; ``slack - slack^2/gamma`` over the bands, in units; and at least the number of
    slacks that count as near 0.

    Let n slacks of an entry be linear, let the slacks in its band sum to A, and their squares to B.
    Then its dual variables sum to ``n + A/gamma``, their squares to ``n + B/gamma^2``, and its loss
    is ``(sum of the linear slacks) - n gamma/2 + B/(2 gamma)``. The function writes the weights of
    the entries, and the changes that :func:`spread_weights` adds up.
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
    """Return the :class:`Grid` on which the numbers from `bottom` to `top` have `bits` bits."""
    exponent = min(bits - math.frexp(top - bottom)[1], 1000)
    return Grid(0.5 * bottom + 0.5 * top, math.ldexp(1.0, -exponent), math.ldexp(1.0, exponent))


@njit(inline="always")
def band_on(grid, gamma, near):
    """Return the :class:`Band` of a loss on a grid. On the grid `near` is enlarged by two
    roundings.
    """
    width = gamma * grid.scale
    inverse = 1.0 / width if width > 0.0 else 0.0
    step = np.int64(min(max(np.ceil(width), 1.0), 2.0**60))
    return Band(gamma, inverse, step, near, np.int64(min(near * grid.scale, 2.0**60)) + 2)


@njit
def product_sums(s, t, p, q, tau, gamma, near, bits, s_weights, t_weights, space, sums):
    """Add up the loss and its dual variables over the product of the lists ``s[:p]`` and ``t[:q]``,
    with the slacks ``tau + s - t``.

    The sums of the dual variables of each entry are written into ``s_weights[:p]`` and
    ``t_weights[:q]``. Five numbers are added to ``sums``: the loss; the dual variables; their
    squares; `near` times a bound of the number of slacks in the union of ``[-near, gamma)`` and
    ``[-near, near]``, 0 if `near` is 0; and the sum of ``slack - slack^2/gamma`` over the slacks in
    ``[0, gamma]``. `space` is the result of :func:`room`. Entries are rounded to multiples of
    ``2**(1 - bits)`` of their range.

    A sum of squares is exact: integers that wrap around give it modulo 2^64, and floating-point
    prefix sums give it with an error below 2^62. For entries below ``2**(bits - 1)`` the error of
    the latter is at most ``(p^2 + 14 p) 2**(2 bits - 55)``. This number is below 2^62 because
    ``bits <= 50``, and ``bits <= 58 - b`` for ``p < 2**b``.
    """
    low, high = extremes(s, p)
    t_low, t_high = extremes(t, q)
    bottom = min(low, max(t_low - tau, low - gamma - near))
    top = max(high, min(t_high - tau, high + near))
    if not (low <= high and t_low <= t_high and top - bottom < 1e300):  # or a number is NaN
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
