"""Sums of the loss over one product of two lists, without visiting its pairs.

The slack of a triplet is ``tau + s - t`` with one number `s` from the shorter and one `t` from the
longer of an anchor's two lists. The shorter list is sorted into buckets of equal width; where an
entry of the longer one starts to cost, and where its cost becomes linear, is looked up there; what
lies beyond is summed by differences of prefix sums.

The numbers are rounded once to multiples of a power of two, so that counts and sums are sums of
*integers*: they do not cancel, their order does not matter, and the weights of both lists belong to
one and the same set of dual variables ``clip(slack/gamma, 0, 1)``, exactly.

The steps of :func:`product_sums` are compiled into it: called, they would cost 3 to 13 % for lists
of up to 100 numbers."""

import math

import numpy as np

from safescreen._numba import njit

FINER = 2
"""Buckets an entry, or twice as many; the list is looked up faster in more of them."""

FAR = 2**62
"""Above every entry."""


@njit
def sort_keys(keys, start, stop):
    """Sort ``keys[start:stop]`` in place (shell sort)."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for r in range(start + gap, stop):
            key = keys[r]
            at = r
            while at >= start + gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3


@njit
def extremes(values, size):
    """Return the smallest and the largest of ``values[:size]``; four of either, so that none
    waits for the one before.
    """
    a, b, c, d = values[0], values[0], values[0], values[0]
    e = a
    f = a
    g = a
    h = a
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
def count_below(S, starts, least, fine, rounds, limit):
    """Return how many of the sorted S are below `limit`; those with ``(S - least) >> fine == b``
    are at ``starts[b]:starts[b + 1]``.

    None of these runs is as long as ``2**rounds``, and as many large numbers follow the last one:
    bisection without branches."""
    at = starts[min(max((limit - least) >> fine, 0), starts.size - 2)]
    for r in range(rounds):
        half = np.int64(1) << (rounds - 1 - r)
        at += half if S[at + half - 1] < limit else 0
    return at


@njit(inline="always")
def bits_of(p):
    """Return the number of bits, at least 1, of the numbers below p."""
    bits = np.int64(1)
    while (np.int64(1) << bits) < p:
        bits += 1
    return bits


@njit(inline="always")
def bits_to_drop(extent, n_buckets):
    """Return how many bits to drop for all of ``0..extent`` to be below `n_buckets`."""
    fine = np.int64(0)
    while (extent >> fine) >= n_buckets:
        fine += 1
    return fine


@njit(inline="always")
def sort_by_buckets(s, p, center, scale, shift, least, fine, n_buckets, S, starts, keys):
    """Round ``(s - center) scale`` to ``S[:p]``; fill ``keys[:p]`` with the sorted
    ``(S << shift) | place``, and `starts` with where the buckets ``(S - least) >> fine`` begin;
    return how many bits their sizes have, at least 1.
    """
    starts[:] = 0
    for r in range(p):
        S[r] = np.int64(np.rint((s[r] - center) * scale))
        starts[((S[r] - least) >> fine) + 2] += 1
    for b in range(2, n_buckets + 2):
        starts[b] += starts[b - 1]
    for r in range(p):
        b = ((S[r] - least) >> fine) + 1
        keys[starts[b]] = (S[r] << shift) | r
        starts[b] += 1
    rounds = 1
    for b in range(n_buckets):
        if starts[b + 1] - starts[b] > 1:
            sort_keys(keys, starts[b], starts[b + 1])
            while (starts[b + 1] - starts[b]) >> rounds > 0:
                rounds += 1
    return rounds


@njit(inline="always")
def add_up(S, keys, p, shift, prefix, wrapped, squares):
    """Put the sorted numbers into ``S[:p]``, and their prefix sums, those of their squares modulo
    2^64 and in floating point, into the other arrays.
    """
    prefix[0] = 0
    wrapped[0] = 0
    squares[0] = 0.0
    for r in range(p):
        S[r] = keys[r] >> shift
        prefix[r + 1] = prefix[r] + S[r]
        wrapped[r + 1] = wrapped[r] + S[r] * S[r]
        squares[r + 1] = squares[r] + float(S[r]) * float(S[r])


@njit(inline="always")
def count_near(S, p, T, first, farthest):
    """Return how many of the sorted ``S[:p]`` are at most `farthest` from T; those above T begin
    at the place `first`.
    """
    count = 0.0
    r = first
    while r < p and S[r] - T <= farthest:
        count += 1.0
        r += 1
    r = first - 1
    while r >= 0 and T - S[r] <= farthest:
        count += 1.0
        r -= 1
    return count


@njit(inline="always")
def spread_weights(S, keys, p, shift, all_linear, counts, moved, linear, inverse, s_weights):
    """Fill ``s_weights[:p]`` from the differences of what each place of the sorted list adds:
    how many slacks begin or end to be in the quadratic region, the sum of their T, and how many
    begin to be linear.
    """
    mask = (np.int64(1) << shift) - 1
    n_band = np.int64(0)
    n_linear = np.int64(all_linear)
    offset = np.int64(0)
    for r in range(p):
        n_band += counts[r]
        offset += moved[r]
        n_linear += linear[r]
        weight = float(n_linear)
        if n_band > 0:
            weight += (n_band * S[r] - offset) * inverse
        s_weights[keys[r] & mask] = weight


@njit
def room(p, q):
    """Return arrays for :func:`product_sums` to work in, lists of up to p and q numbers, the
    shorter one named first.
    """
    ints = (
        np.empty((6, p + 1), dtype=np.int64),
        np.empty(3 * p + 2, dtype=np.int64),
        np.empty(4 * p + 2, dtype=np.int64),
    )
    return *ints, np.empty((4, q), dtype=np.int64), np.empty(p + 1)


@njit
def product_sums(s, t, p, q, tau, gamma, near, bits, s_weights, t_weights, space, sums):
    """Sums over the product of the lists ``s[:p]`` and ``t[:q]``, slack ``tau + s - t``.

    Fills ``s_weights[:p]`` and ``t_weights[:q]``, the sums of the dual variables of an entry. Adds
    to ``sums`` the loss, the dual variables, their squares, `near` times the number of slacks in
    ``[-near, gamma)`` or ``[-near, near]``, at least (0 if `near` is 0), and the sum of
    ``slack - slack^2/gamma`` over slacks in ``[0, gamma]``. `space` is that of :func:`room`;
    entries are rounded to multiples of ``2**(1 - bits)`` of their range.

    A sum of squares is known modulo 2^64 from integers that wrap around, and up to 2^62 from
    floating-point prefix sums, thus exactly: with entries below ``2**(bits - 1)`` the latter are
    off by ``(p^2 + 14 p) 2**(2 bits - 55)``, which ``bits <= 50`` and ``bits <= 58 - b`` for
    ``p < 2**b`` keep below 2^62."""
    low, high = extremes(s, p)
    t_low, t_high = extremes(t, q)
    bottom = min(low, max(t_low - tau, low - gamma - near))
    top = max(high, min(t_high - tau, high + near))
    extent = top - bottom
    if not extent < 1e300:
        s_weights[:p] = np.nan
        t_weights[:q] = np.nan
        sums[:] = np.nan
        return
    exponent = min(bits - math.frexp(extent)[1], 1000)
    scale = math.ldexp(1.0, exponent)
    unit = math.ldexp(1.0, -exponent)
    center = 0.5 * bottom + 0.5 * top
    width = gamma * scale
    inverse = 1.0 / width if width > 0.0 else 0.0
    step = np.int64(min(max(np.ceil(width), 1.0), 2.0**60))  # alpha = 1 from here on
    farthest = np.int64(min(near * scale, 2.0**60)) + 2  # `near`, and two roundings

    ints, S, starts, longer_ints, squares = space
    keys = ints[0]
    prefix = ints[1]
    wrapped = ints[2]
    counts = ints[3]
    linear = ints[4]
    moved = ints[5]
    middle = longer_ints[0]
    Ts = longer_ints[1]
    firsts = longer_ints[2]
    lasts = longer_ints[3]
    shift = bits_of(p)
    n_buckets = np.int64(FINER) << shift
    starts = starts[: n_buckets + 2]
    least = np.int64(np.rint((low - center) * scale))
    extent = np.int64(np.rint((high - center) * scale)) - least
    fine = bits_to_drop(extent, n_buckets)
    rounds = sort_by_buckets(s, p, center, scale, shift, least, fine, n_buckets, S, starts, keys)
    S[p : p + (1 << rounds)] = FAR
    add_up(S, keys, p, shift, prefix, wrapped, squares)
    for r in range(p + 1):
        counts[r] = 0
        linear[r] = 0
        moved[r] = 0

    n_middle, all_linear = 0, 0
    loss = 0.0
    alpha_sum = 0.0
    alpha_square = 0.0
    curved = 0.0
    close = 0.0
    for c in range(q):
        is_zero = (tau + high) - t[c] <= -near  # no cost against any s
        is_linear = (tau + low) - t[c] >= gamma + near  # linear against every s
        middle[n_middle] = c
        n_middle += 0 if is_zero or is_linear else 1
        t_weights[c] = 0.0
        if is_linear and not is_zero:
            t_weights[c] = p
            all_linear += 1
            loss += p * (((tau + center) - t[c]) - 0.5 * gamma)
    for m in range(n_middle):  # short loops, of which the processor works at several rounds at once
        Ts[m] = np.int64(np.rint(((t[middle[m]] - tau) - center) * scale))
        # the first entry with a slack above 0
        firsts[m] = count_below(S, starts, least, fine, rounds, Ts[m] + 1)
        # the first one with a slack of at least gamma
        lasts[m] = count_below(S, starts, least, fine, rounds, Ts[m] + step)
    for m in range(n_middle):
        c = middle[m]
        T = Ts[m]
        first = firsts[m]
        last = lasts[m]
        n_linear = p - last
        n_band = last - first
        loss += ((prefix[p] - prefix[last]) - n_linear * T) * unit - n_linear * (0.5 * gamma)
        alpha_square += n_linear
        between = prefix[last] - prefix[first]
        band = between - n_band * T
        modulo = wrapped[last] - wrapped[first] - T * (2 * between - n_band * T)
        square = squares[last] - squares[first]
        square -= float(T) * (2.0 * float(between) - float(n_band) * float(T))
        square = float(modulo) + np.rint((square - float(modulo)) * 2.0**-64) * 2.0**64
        weight = float(n_linear) + band * inverse
        ratio = square * inverse
        loss += ratio * (0.5 * unit)
        alpha_square += ratio * inverse
        curved += max(band - ratio, 0.0)
        counts[first] += 1
        moved[first] += T
        counts[last] -= 1
        moved[last] -= T
        linear[last] += 1
        t_weights[c] = weight
        alpha_sum += weight
        if near > 0.0:
            close += n_band
            close += count_near(S, p, T, first, farthest)

    spread_weights(S, keys, p, shift, all_linear, counts, moved, linear, inverse, s_weights)
    sums[0] += loss + all_linear * (prefix[p] * unit)
    sums[1] += alpha_sum + all_linear * float(p)
    sums[2] += alpha_square + all_linear * float(p)
    sums[3] += near * close
    sums[4] += curved * unit
