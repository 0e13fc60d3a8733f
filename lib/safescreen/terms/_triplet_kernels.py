"""Compiled loops for terms that are differences of two pairs.

A term is an *other* pair (k, l) minus a *same* pair (i, j). In a triplet (i, j, l) k is i.
Everything that depends on the metric is computed once for each pair. Then the margin of a term
costs one subtraction, and the weight of a term is added to two pairs. A kernel writes its results
into its last arguments.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen.rounding import UNIT


class PairNumbers(NamedTuple):
    """Terms over the points X, shape (n, d): the two points of each same pair and of each other
    pair, shapes (P, 2) and (Q, 2), and the numbers of the two pairs of each term, both of shape
    (T,).
    """

    X: NDArray
    same_rows: NDArray
    other_rows: NDArray
    same: NDArray
    other: NDArray


class OtherPairs(NamedTuple):
    """The number of the other pair of each term, shape (T,), and the value and the weight of each
    other pair, shape (Q,).
    """

    numbers: NDArray
    values: NDArray
    weights: NDArray


class UndecidedTerms(NamedTuple):
    """The numbers of the two pairs of each undecided term, the norm of the term, and its number
    among all terms. All arrays have the shape (U,).
    """

    same: NDArray
    other: NDArray
    norms: NDArray
    numbers: NDArray


@njit(inline="always")
def pair_value(x, y, u, v, products):
    """Return ``(x - y)' (u - v)``. The array `products` is overwritten.

    The loop over the products has no additions, so it is compiled to vector instructions. The
    function is compiled into its callers, because a call would cost more than the arithmetic of
    twenty dimensions.
    """
    d = x.size
    d_fours = d - d % 4
    for k in range(d):
        products[k] = (x[k] - y[k]) * (u[k] - v[k])
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, d_fours, 4):
        a0 += products[k]
        a1 += products[k + 1]
        a2 += products[k + 2]
        a3 += products[k + 3]
    for k in range(d_fours, d):
        a0 += products[k]
    return (a0 + a1) + (a2 + a3)


@njit
def pair_values_full(X, Z, pairs, out):
    """Write ``out[p] = (x_i - x_j)' (z_i - z_j)`` with ``Z = X M``."""
    products = np.empty(X.shape[1])
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        out[p] = pair_value(X[i], X[j], Z[i], Z[j], products)


@njit
def pair_values_diagonal(X, m, pairs, out):
    """Write ``out[p] = sum_k m_k (x_ik - x_jk)^2``, computed as four partial sums."""
    d = X.shape[1]
    d_fours = d - d % 4
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
        for k in range(0, d_fours, 4):
            u0 = X[i, k] - X[j, k]
            u1 = X[i, k + 1] - X[j, k + 1]
            u2, u3 = X[i, k + 2] - X[j, k + 2], X[i, k + 3] - X[j, k + 3]
            a0 += m[k] * (u0 * u0)
            a1 += m[k + 1] * (u1 * u1)
            a2 += m[k + 2] * (u2 * u2)
            a3 += m[k + 3] * (u3 * u3)
        for k in range(d_fours, d):
            u0 = X[i, k] - X[j, k]
            a0 += m[k] * (u0 * u0)
        out[p] = (a0 + a1) + (a2 + a3)


@njit
def pair_scales(X, point_norms, pairs, out):
    """Write ``out[p] >= s (w + 4 u s)`` with ``w >= ||x_i - x_j||`` and ``s = ||x_i|| + ||x_j||``:
    the scale of the rounding errors of a pair.
    """
    d = X.shape[1]
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        square = 0.0
        for k in range(d):
            u = X[i, k] - X[j, k]
            square += u * u
        s = point_norms[i] + point_norms[j]
        w = np.sqrt(square) * (1.0 + (d + 6) * UNIT)
        out[p] = s * (w + 4.0 * UNIT * s) * (1.0 + 16 * UNIT)


@njit
def term_norms(pairs, point_norms, diagonal, out):
    """Write upper bounds of ``||a_t||``, where ``a = u u' - v v'`` with ``u = x_k - x_l`` (other)
    and ``v = x_i - x_j`` (same).

    With ``p = u - v`` and ``s = u + v`` we have ``a = (p s' + s p')/2`` and
    ``||a||^2 = (|p|^2 |s|^2 + (p's)^2)/2``; for a diagonal metric a is ``p * s``. In this form
    nothing cancels if u and v are nearly equal.

    Rounding errors, with the unit of roundoff e: the error of a centred point is at most ``e |x|``,
    and the error of the difference of two points at most ``2 e (|x| + |y|)``. A difference or sum
    of two differences adds an error of e times the four norms. The total is below ``4 e`` times the
    norms (the code uses ``8 e`` for s). The difference of a point and itself is exact. If the two
    pairs share a point, p is one difference, ``x_j - x_l`` or ``x_k - x_i``.
    """
    X, same_pairs, other_pairs, same, other = pairs
    d = X.shape[1]
    rounding = (d + 8) * UNIT
    for t in range(same.size):
        i, j = same_pairs[same[t], 0], same_pairs[same[t], 1]
        k, m = other_pairs[other[t], 0], other_pairs[other[t], 1]
        shared = i == k or j == m
        a = j if i == k else k
        b = m if i == k else i
        pp, ss, ps, hh = 0.0, 0.0, 0.0, 0.0
        for c in range(d):
            u = X[k, c] - X[m, c]
            v = X[i, c] - X[j, c]
            p = X[a, c] - X[b, c] if shared else u - v
            s = u + v
            pp += p * p
            ss += s * s
            ps += p * s
            hh += (p * s) * (p * s)
        size = _apart(point_norms, k, m) + _apart(point_norms, i, j)
        s_error = 8.0 * UNIT * size
        p_error = 4.0 * UNIT * (_apart(point_norms, a, b) if shared else size)
        p_norm = np.sqrt(pp) * (1.0 + rounding) + p_error
        s_norm = np.sqrt(ss) * (1.0 + rounding) + s_error
        if diagonal:
            norm = np.sqrt(hh) * (1.0 + rounding) + p_norm * s_error + s_norm * p_error
        else:
            dot = abs(ps) + rounding * p_norm * s_norm + p_norm * s_error + s_norm * p_error
            dot = min(dot, p_norm * s_norm)
            norm = np.sqrt(0.5 * ((p_norm * s_norm) * (p_norm * s_norm) + dot * dot))
        out[t] = norm * (1.0 + 16 * UNIT) + 1e-300


@njit
def feature_squares(pairs, weights, step, scales, out):
    """Add to ``out[k]`` the sum of ``w_t (a_tk s_k^2)^2`` over the terms of a diagonal metric, with
    ``s_k = scales[k]``, a power of two that brings the entries of column k below 1.

    There is one weight for each term (``step = 1``), or one weight for all terms (``step = 0``).
    """
    X, same_pairs, other_pairs, same, other = pairs
    for t in range(same.size):
        i, j = same_pairs[same[t], 0], same_pairs[same[t], 1]
        k, m = other_pairs[other[t], 0], other_pairs[other[t], 1]
        w = weights[t * step]
        for c in range(X.shape[1]):
            v = (X[i, c] - X[j, c]) * scales[c]
            u = (X[k, c] - X[m, c]) * scales[c]
            a = u * u - v * v
            out[c] += w * (a * a)


@njit
def _apart(point_norms, a, b):
    """Return ``|x_a| + |x_b|``, the scale of the error of ``x_a - x_b``; 0 if a = b."""
    return point_norms[a] + point_norms[b] if a != b else 0.0


@njit
def chunk_products(
    same, other, same_values, other_values, same_errors, other_errors, values, errors
):
    """Write the margins of consecutive terms, and bounds of their rounding errors."""
    for t in range(same.size):
        s = same[t]
        o = other[t]
        q = other_values[o] - same_values[s]
        values[t] = q
        errors[t] = (other_errors[o] + same_errors[s]) * (1.0 + 4 * UNIT) + 2.0 * UNIT * abs(q)


@njit(inline="always")
def _run_alike(start, stop, value, others, tau, smooth):
    """Sum over consecutive terms that share their same pair and their threshold, and have weight 1,
    see :func:`loss_sums`. Return the weight of the same pair, the loss, ``tau'alpha`` and
    ``alpha'alpha``.
    """
    other, other_values, other_weights = others
    inverse, half, cap = smooth
    loss, weight, square = 0.0, 0.0, 0.0
    for t in range(start, stop):
        o = other[t]
        slack = tau - (other_values[o] - value)
        a = min(max(slack * inverse, 0.0), cap)
        other_weights[o] += a
        weight += a
        loss += a * (slack - half * a)
        square += a * a
    return weight, loss, tau * weight, square


@njit(inline="always")
def _run(start, stop, value, others, tau, weights, smooth):
    """Do the same as :func:`_run_alike` for terms that share only their same pair."""
    other, other_values, other_weights = others
    inverse, half, cap = smooth
    loss, weight, alpha_sum, square = 0.0, 0.0, 0.0, 0.0
    for t in range(start, stop):
        o = other[t]
        slack = tau[t] - (other_values[o] - value)
        a = min(max(slack * inverse, 0.0), cap)
        wa = a if weights is None else weights[t] * a
        other_weights[o] += wa
        weight += wa
        loss += wa * (slack - half * a)
        alpha_sum += tau[t] * wa
        square += wa * a
    return weight, loss, alpha_sum, square


@njit
def loss_sums(terms, values, tau, weights, gamma, cap, pair_weights, sums):
    """Write ``sums = (loss, tau'alpha, alpha'alpha)``, each weighted, and the sum of
    ``w_t alpha_t`` for each pair.

    `terms`, `values` and `pair_weights` hold two arrays each, for same pairs and for other ones.
    `weights` holds one weight for each term; None stands for weights of 1. `gamma` is the smoothing
    of the loss, which is positive, and `cap` its largest slope. The sums of consecutive terms with
    one same pair stay in registers, so terms should be ordered by their same pairs.
    """
    same, other = terms
    same_values, other_values = values
    same_weights, other_weights = pair_weights
    same_weights[:] = 0.0
    other_weights[:] = 0.0
    sums[:] = 0.0
    others = OtherPairs(other, other_values, other_weights)
    smooth = 1.0 / gamma, 0.5 * gamma, cap
    alike = weights is None and tau.strides[0] == 0
    start = 0
    while start < same.size:
        s = same[start]
        stop = start + 1
        while stop < same.size and same[stop] == s:
            stop += 1
        value = same_values[s]
        if alike:
            found = _run_alike(start, stop, value, others, tau[0], smooth)
        else:
            found = _run(start, stop, value, others, tau, weights, smooth)
        same_weights[s] += found[0]
        sums[0] += found[1]
        sums[1] += found[2]
        sums[2] += found[3]
        start = stop


@njit
def pair_weights(same, other, weights, same_weights, other_weights):
    """Write the weight of each pair: the sum of the weights, float or boolean, of its terms."""
    same_weights[:] = 0.0
    other_weights[:] = 0.0
    for t in range(same.size):
        w = weights[t]
        if w != 0.0:
            same_weights[same[t]] += w
            other_weights[other[t]] += w


@njit(inline="always")
def add_pair(x, y, w, diagonal, row, other_row):
    """Add ``w (x - y)`` to one row and subtract it from another; for a diagonal metric add
    ``w (x - y)^2`` to the first.
    """
    if diagonal:
        for k in range(x.size):
            u = x[k] - y[k]
            row[k] += w * (u * u)
    else:
        for k in range(x.size):
            u = w * (x[k] - y[k])
            row[k] += u
            other_row[k] -= u


@njit
def add_pairs(X, pairs, weights, sign, diagonal, Y):
    """Add ``w (x_i - x_j)`` to row i of Y and subtract it from row j, with ``w = sign weights[p]``:
    ``X'Y`` grows by the sum of ``w (x_i - x_j)(x_i - x_j)'``.

    For a diagonal metric Y has one row, to which ``w (x_i - x_j)^2`` is added.
    """
    for p in range(pairs.shape[0]):
        w = sign * weights[p]
        if w != 0.0:
            i, j = pairs[p, 0], pairs[p, 1]
            add_pair(X[i], X[j], w, diagonal, Y[0 if diagonal else i], Y[0 if diagonal else j])


@njit
def fill_products(same_ptr, other_ptr, same, other):
    """Write the pair numbers of all triplets of all anchors. The triplets of an anchor are all
    combinations of its same pairs and its other pairs, and the other pair changes fastest.
    """
    t = 0
    for i in range(same_ptr.size - 1):
        for p in range(same_ptr[i], same_ptr[i + 1]):
            for q in range(other_ptr[i], other_ptr[i + 1]):
                same[t] = p
                other[t] = q
                t += 1


@njit
def partition(same, other, norms, status, same_weights, other_weights, left):
    """Count the terms of status 1 of each pair, which is exact, and gather the terms of status 0 in
    the arrays of `left`.
    """
    left_same, left_other, left_norms, left_numbers = left
    same_weights[:] = 0.0
    other_weights[:] = 0.0
    n = 0
    for t in range(same.size):
        code = status[t]
        if code == 0:
            left_same[n] = same[t]
            left_other[n] = other[t]
            left_norms[n] = norms[t]
            left_numbers[n] = t
            n += 1
        elif code == 1:
            same_weights[same[t]] += 1.0
            other_weights[other[t]] += 1.0
