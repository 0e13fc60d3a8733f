"""Compiled loops of products of lists: pair values, weighted sums of pairs, and what visits triplets one by one.

Lists are stored like CSR rows, one an anchor: ``same[same_ptr[m]:same_ptr[m + 1]]`` belongs to the point ``anchors[m]``.
Kernels fill the arrays named last.
"""

import numpy as np

from safescreen._numba import njit, prange
from safescreen.terms._product_sums import product_sums
from safescreen.terms._triplet_kernels import pair_value

UNIT = 2.0**-53


@njit
def row_values(X, Z, i, points, start, stop, out):
    """``out[p - start] = (x_i - x_j)' (z_i - z_j)``, ``j = points[p]``, for p in ``start:stop``."""
    products = np.empty(X.shape[1])
    for p in range(start, stop):
        j = points[p]
        out[p - start] = pair_value(X[i], X[j], Z[i], Z[j], products)


@njit
def all_values(X, Z, XT, ZT, i, out):
    """``out[j] = (x_i - x_j)' (z_i - z_j)`` for every point j, from the transposed arrays: the inner loop runs over points."""
    out[:] = 0.0
    for k in range(XT.shape[0]):
        a, b = X[i, k], Z[i, k]
        for j in range(XT.shape[1]):
            out[j] += (a - XT[k, j]) * (b - ZT[k, j])


@njit
def pair_values(X, Z, anchors, ptr, points, out):
    """Values of all pairs (anchor, point), a row of `ptr` an anchor."""
    for m in range(anchors.size):
        row_values(X, Z, anchors[m], points, ptr[m], ptr[m + 1], out[ptr[m] :])


@njit
def add_row(X, norms, i, points, start, stop, weights, sign, row, Y):
    """Add ``sign w (x_i - x_j)`` to `row` and take it from row j of Y, ``w = weights[p - start]``.

    Returns ``sum w (|x_i| + |x_j|)^2``.
    """
    d = X.shape[1]
    scale = 0.0
    for p in range(start, stop):
        if weights[p - start] != 0.0:
            j = points[p]
            w = sign * weights[p - start]
            length = norms[i] + norms[j]
            scale += abs(w) * (length * length)
            for k in range(d):
                u = w * (X[i, k] - X[j, k])
                row[k] += u
                Y[j, k] -= u
    return scale


@njit
def add_row_squares(X, norms, i, points, start, stop, weights, sign, row):
    """Add ``sign w (x_ik - x_jk)^2`` to ``row[k]``; the rest as in :func:`add_row`."""
    d = X.shape[1]
    scale = 0.0
    for p in range(start, stop):
        if weights[p - start] != 0.0:
            j = points[p]
            w = sign * weights[p - start]
            length = norms[i] + norms[j]
            scale += abs(w) * (length * length)
            for k in range(d):
                u = X[i, k] - X[j, k]
                row[k] += w * (u * u)
    return scale


@njit
def add_anchor(X, norms, i, same, s0, s1, same_weights, other, o0, o1, other_weights, diagonal, row, Y):
    """Add one anchor's weighted pairs to Y, its Laplacian rows or (diagonal) ``Y[0]``; return the scale of the error."""
    row[:] = 0.0
    if diagonal:
        scale = add_row_squares(X, norms, i, other, o0, o1, other_weights, 1.0, row)
        scale += add_row_squares(X, norms, i, same, s0, s1, same_weights, -1.0, row)
        i = 0
    else:
        scale = add_row(X, norms, i, other, o0, o1, other_weights, 1.0, row, Y)
        scale += add_row(X, norms, i, same, s0, s1, same_weights, -1.0, row, Y)
    for k in range(row.size):
        Y[i, k] += row[k]
    return scale


@njit
def add_all(X, norms, i, signed, Y):
    """Add to Y of shape (d + 1, n) the rows ``x_i signed'`` and, last, the row and column sums of the weights `signed` of all pairs (i, j).

    Returns ``sum |signed_j| (|x_i| + |x_j|)^2``.
    """
    d = X.shape[1]
    for k in range(d):
        a = X[i, k]
        for j in range(signed.size):
            Y[k, j] += a * signed[j]
    scale = 0.0
    total = 0.0
    for j in range(signed.size):
        w = signed[j]
        Y[d, j] += w
        length = norms[i] + norms[j]
        total += w
        scale += abs(w) * (length * length)
    Y[d, i] += total
    return scale


@njit
def chunk_loss_sums(points, lists, first, last, tau, gamma, near, bits, diagonal, Y, sums):
    """Add to ``sums[:5]`` what :func:`product_sums` gives for the anchors ``first:last``, to ``sums[5]`` the scale of the error of Y.

    `points` are ``(X, Z, XT, ZT, norms)``. With transposed points XT every point is visited and Y is that of :func:`add_all`; without (no
    columns) the listed ones are, and it is that of :func:`add_anchor`.
    """
    X, Z, XT, ZT, norms = points
    anchors, same_ptr, same, other_ptr, other = lists
    p_max, q_max = longest(same_ptr, other_ptr, first, last)
    shorter = min(p_max, q_max) + 1
    dense = XT.shape[1] > 0
    a, b, every = np.empty(p_max), np.empty(q_max), np.empty(XT.shape[1])
    same_weights, other_weights = np.empty(p_max), np.empty(q_max)
    ints, squares = np.empty((7, shorter), dtype=np.int64), np.empty(shorter)
    row = np.empty(X.shape[1])
    for m in range(first, last):
        i = anchors[m]
        s0, s1, o0, o1 = same_ptr[m], same_ptr[m + 1], other_ptr[m], other_ptr[m + 1]
        p, q = s1 - s0, o1 - o0
        if dense:
            all_values(X, Z, XT, ZT, i, every)
            for r in range(p):
                a[r] = every[same[s0 + r]]
            for c in range(q):
                b[c] = every[other[o0 + c]]
        else:
            row_values(X, Z, i, same, s0, s1, a)
            row_values(X, Z, i, other, o0, o1, b)
        if p <= q:
            product_sums(a, b, p, q, tau, gamma, near[m], bits, same_weights, other_weights, ints, squares, sums)
        else:  # tau + a - b = tau + (-b) - (-a)
            for r in range(p):
                a[r] = -a[r]
            for c in range(q):
                b[c] = -b[c]
            product_sums(b, a, q, p, tau, gamma, near[m], bits, other_weights, same_weights, ints, squares, sums)
        if dense:
            every[:] = 0.0
            for r in range(p):
                every[same[s0 + r]] = -same_weights[r]
            for c in range(q):
                every[other[o0 + c]] = other_weights[c]
            sums[5] += add_all(X, norms, i, every, Y)
        else:
            sums[5] += add_anchor(X, norms, i, same, s0, s1, same_weights, other, o0, o1, other_weights, diagonal, row, Y)


@njit
def longest(same_ptr, other_ptr, first, last):
    """Return the lengths of the longest lists of the anchors ``first:last``, at least 1."""
    p_max, q_max = 1, 1
    for m in range(first, last):
        p_max = max(p_max, same_ptr[m + 1] - same_ptr[m])
        q_max = max(q_max, other_ptr[m + 1] - other_ptr[m])
    return p_max, q_max


@njit(parallel=True)
def parallel_loss_sums(points, lists, bounds, tau, gamma, near, bits, diagonal, Y, sums):
    """Run :func:`chunk_loss_sums` over chunks of anchors shared among threads; the same bits as one after the other: none is split."""
    for c in prange(bounds.size - 1):
        chunk_loss_sums(points, lists, bounds[c], bounds[c + 1], tau, gamma, near, bits, diagonal, Y[c], sums[c])


@njit
def gram(X, norms, anchors, same_ptr, same, other_ptr, other, same_weights, other_weights, diagonal, Y, scale):
    """Y of given pair weights; ``scale[0]`` is the sum of ``|w| (|x_i| + |x_j|)^2``."""
    row = np.empty(X.shape[1])
    scale[0] = 0.0
    for m in range(anchors.size):
        s0, s1, o0, o1 = same_ptr[m], same_ptr[m + 1], other_ptr[m], other_ptr[m + 1]
        weights = same_weights[s0:s1], other_weights[o0:o1]
        scale[0] += add_anchor(X, norms, anchors[m], same, s0, s1, weights[0], other, o0, o1, weights[1], diagonal, row, Y)


@njit
def product_weights(same_ptr, other_ptr, offsets, weights, same, other, same_sizes, other_sizes):
    """Add per-triplet weights (float or boolean), and their magnitudes, to their two pairs."""
    for m in range(same_ptr.size - 1):
        t = offsets[m]
        for p in range(same_ptr[m], same_ptr[m + 1]):
            total = 0.0
            size = 0.0
            for o in range(other_ptr[m], other_ptr[m + 1]):
                w = 1.0 * weights[t]
                total += w
                size += abs(w)
                other[o] += w
                other_sizes[o] += abs(w)
                t += 1
            same[p] = total
            same_sizes[p] = size


@njit
def product_fenchel(same_ptr, other_ptr, offsets, same_values, other_values, tau, gamma, alpha, near, sums):
    """Sums for a given alpha: ``(loss, alpha, alpha^2, phi, |a - alpha(m)| near, |a - alpha(m)| (|slack| + gamma))``.

    ``phi = loss(m) + loss*(-a) + a m = (a* - a)(slack - gamma (a* + a)/2) >= 0``, ``a* = alpha(m)``; `near` has one number an anchor.
    """
    half = 0.5 * gamma
    row = np.empty(6)
    for m in range(same_ptr.size - 1):
        t = offsets[m]
        for p in range(same_ptr[m], same_ptr[m + 1]):
            row[:] = 0.0
            for o in range(other_ptr[m], other_ptr[m + 1]):
                slack = tau - (other_values[o] - same_values[p])
                if gamma > 0.0:
                    best = min(max(slack / gamma, 0.0), 1.0)
                else:
                    best = 1.0 if slack > 0.0 else 0.0
                a = alpha[t]
                t += 1
                row[0] += best * (slack - half * best)
                row[1] += a
                row[2] += a * a
                row[3] += max((best - a) * (slack - half * (best + a)), 0.0)
                row[4] += abs(best - a)
                row[5] += abs(best - a) * (abs(slack) + gamma)
            row[4] *= near[m]
            for c in range(6):
                sums[c] += row[c]


@njit
def chunk_products(anchors, same_ptr, same, other_ptr, other, offsets, norms, a, b, relative, m, start, values, errors):
    """Margins of a run of triplets that begins with number `start`, of anchor number m, and bounds of their rounding errors."""
    at = start - offsets[m] if values.size else 0
    for c in range(values.size):
        while at >= offsets[m + 1] - offsets[m]:
            at -= offsets[m + 1] - offsets[m]
            m += 1
        q = other_ptr[m + 1] - other_ptr[m]
        p, o = same_ptr[m] + at // q, other_ptr[m] + at % q
        s = norms[anchors[m]] + norms[same[p]]
        t = norms[anchors[m]] + norms[other[o]]
        values[c] = b[o] - a[p]
        errors[c] = relative * (s * s + t * t) * (1.0 + 8 * UNIT) + 2.0 * UNIT * abs(values[c]) + 1e-300
        at += 1
