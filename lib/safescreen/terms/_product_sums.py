"""Sums of the loss over one product of two lists, without visiting its pairs.

The slack of a triplet is ``tau + s - t`` with one number `s` from the shorter and one `t` from the longer of an anchor's two lists. The
shorter list is sorted; where an entry of the longer one starts to cost, and where its cost becomes linear, is found by bisection; what
lies beyond is summed by differences of prefix sums.

The numbers are rounded once to multiples of a power of two, so that counts and sums are sums of *integers*: they do not cancel, their
order does not matter, and the weights of both lists belong to one and the same set of dual variables ``clip(slack/gamma, 0, 1)``, exactly.
"""

import math

import numpy as np

from safescreen._numba import njit


@njit
def sort_keys(keys, size):
    """Sort ``keys[:size]`` in place (shell sort)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for r in range(gap, size):
            key = keys[r]
            at = r
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3


@njit
def product_sums(s, t, p, q, tau, gamma, near, bits, s_weights, t_weights, ints, squares, sums):
    """Sums over the product of the lists ``s[:p]`` and ``t[:q]``, slack ``tau + s - t``.

    Fills ``s_weights[:p]`` and ``t_weights[:q]``, the sums of the dual variables of an entry. Adds to ``sums`` the loss, the dual
    variables, their squares, `near` times the number of slacks in ``[-near, gamma)`` (0 if `near` is 0), and the sum of
    ``slack - slack^2/gamma`` over slacks in ``[0, gamma]``. `ints` of shape (7, p + 1) and `squares` of shape (p + 1,) are scratch;
    entries are rounded to multiples of ``2**(1 - bits)`` of their range.

    A sum of squares is known modulo 2^64 from integers that wrap around, and up to 2^62 from floating-point prefix sums, thus exactly:
    with entries below ``2**(bits - 1)`` the latter are off by ``(p^2 + 14 p) 2**(2 bits - 55)``, which ``bits <= 50`` and
    ``bits <= 58 - b`` for ``p < 2**b`` keep below 2^62.
    """
    low, high = s[0], s[0]
    for r in range(1, p):
        low = min(low, s[r])
        high = max(high, s[r])
    t_low, t_high = t[0], t[0]
    for c in range(1, q):
        t_low = min(t_low, t[c])
        t_high = max(t_high, t[c])
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
    step = np.int64(min(max(np.ceil(width), 1.0), 2.0**60))  # alpha = 1 from here on
    reach = np.int64(min(near * scale, 2.0**60)) + 2

    keys, S, prefix, wrapped = ints[0], ints[1], ints[2], ints[3]
    counts, linear, moved = ints[4], ints[5], ints[6]
    shift = np.int64(1)
    while (np.int64(1) << shift) < p:
        shift += 1
    for r in range(p):
        keys[r] = (np.int64(np.rint((s[r] - center) * scale)) << shift) | r
    sort_keys(keys, p)
    mask = (np.int64(1) << shift) - 1
    prefix[0], wrapped[0], squares[0] = 0, 0, 0.0
    for r in range(p):
        S[r] = keys[r] >> shift
        prefix[r + 1] = prefix[r] + S[r]
        wrapped[r + 1] = wrapped[r] + S[r] * S[r]
        squares[r + 1] = squares[r] + float(S[r]) * float(S[r])
    for r in range(p + 1):
        counts[r], linear[r], moved[r] = 0, 0, 0

    all_linear = 0
    loss, alpha_sum, alpha_square, curved, close = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(q):
        if (tau + high) - t[c] <= -near:  # no cost against any s
            t_weights[c] = 0.0
            continue
        if (tau + low) - t[c] >= gamma + near:  # linear against every s
            t_weights[c] = p
            all_linear += 1
            loss += p * (((tau + center) - t[c]) - 0.5 * gamma)
            continue
        T = np.int64(np.rint(((t[c] - tau) - center) * scale))
        first = 0  # the first entry with a slack above 0
        last = 0  # the first one with a slack of at least gamma
        size = p
        while size > 1:
            half = size >> 1
            first += half if S[first + half - 1] <= T else 0
            last += half if S[last + half - 1] < T + step else 0
            size -= half
        first += 1 if S[first] <= T else 0
        last += 1 if S[last] < T + step else 0
        n_linear = p - last
        n_band = last - first
        loss += ((prefix[p] - prefix[last]) - n_linear * T) * unit - n_linear * (0.5 * gamma)
        alpha_square += n_linear
        weight = float(n_linear)
        if n_band > 0:
            between = prefix[last] - prefix[first]
            band = between - n_band * T
            part = wrapped[last] - wrapped[first] - T * (2 * between - n_band * T)
            square = squares[last] - squares[first]
            square -= float(T) * (2.0 * float(between) - float(n_band) * float(T))
            square = float(part) + np.rint((square - float(part)) * 2.0**-64) * 2.0**64
            weight += band / width
            ratio = square / width
            loss += ratio * (0.5 * unit)
            alpha_square += ratio / width
            curved += max(band - ratio, 0.0) * unit
            counts[first] += 1
            moved[first] += T
            counts[last] -= 1
            moved[last] -= T
        linear[last] += 1
        t_weights[c] = weight
        alpha_sum += weight
        if near > 0.0:
            close += n_band
            r = first
            while r < p and S[r] - T <= reach:
                close += 1.0
                r += 1
            r = first - 1
            while r >= 0 and T - S[r] <= reach:
                close += 1.0
                r -= 1

    n_band, n_linear, offset = np.int64(0), np.int64(all_linear), np.int64(0)
    for r in range(p):
        n_band += counts[r]
        offset += moved[r]
        n_linear += linear[r]
        weight = float(n_linear)
        if n_band > 0:
            weight += (n_band * S[r] - offset) / width
        s_weights[keys[r] & mask] = weight
    sums[0] += loss + all_linear * (prefix[p] * unit)
    sums[1] += alpha_sum + all_linear * float(p)
    sums[2] += alpha_square + all_linear * float(p)
    sums[3] += near * close
    sums[4] += curved
