"""Compiled loops of products of lists that are stored: pair values and weighted sums of pairs.

Lists are stored like CSR rows, one an anchor: ``same[same_ptr[m]:same_ptr[m + 1]]`` belongs to the
point ``anchors[m]``. Kernels fill the arrays named last."""

import numpy as np

from safescreen._numba import Shared, njit, prange
from safescreen.terms._product_sums import product_sums, room
from safescreen.terms._triplet_kernels import pair_value


@njit
def row_values(X, Z, i, points, start, stop, out):
    """``out[p - start] = (x_i - x_j)' (z_i - z_j)``, ``j = points[p]``, for p in ``start:stop``."""
    products = np.empty(X.shape[1])
    for p in range(start, stop):
        j = points[p]
        out[p - start] = pair_value(X[i], X[j], Z[i], Z[j], products)


@njit
def pair_values(X, Z, anchors, ptr, points, out):
    """Values of all pairs (anchor, point), a row of `ptr` an anchor."""
    for m in range(anchors.size):
        row_values(X, Z, anchors[m], points, ptr[m], ptr[m + 1], out[ptr[m] :])


@njit
def add_row(X, norms, i, points, start, stop, weights, sign, diagonal, row, Y):
    """Add ``w (x_i - x_j)``, ``w = sign weights[p - start]``, to `row` and take it from row j of Y;
    or (diagonal) add ``w (x_i - x_j)^2``.

    Returns ``sum |w| (|x_i| + |x_j|)^2``.
    """
    d = X.shape[1]
    scale = 0.0
    for p in range(start, stop):
        if weights[p - start] != 0.0:
            j = points[p]
            w = sign * weights[p - start]
            length = norms[i] + norms[j]
            scale += abs(w) * (length * length)
            if diagonal:
                for k in range(d):
                    u = X[i, k] - X[j, k]
                    row[k] += w * (u * u)
            else:
                for k in range(d):
                    u = w * (X[i, k] - X[j, k])
                    row[k] += u
                    Y[j, k] -= u
    return scale


@njit
def add_anchor(
    X, norms, i, same, s0, s1, same_weights, other, o0, o1, other_weights, copies, diagonal, row, Y
):
    """Add the weighted pairs of copies of an anchor to Y, its Laplacian rows or (diagonal)
    ``Y[0]``; return the scale of the error.
    """
    row[:] = 0.0
    scale = add_row(X, norms, i, other, o0, o1, other_weights, copies, diagonal, row, Y)
    scale += add_row(X, norms, i, same, s0, s1, same_weights, -copies, diagonal, row, Y)
    target = 0 if diagonal else i
    for k in range(row.size):
        Y[target, k] += row[k]
    return scale


@njit
def anchor_sums(a, b, p, q, tau, gamma, near, bits, same_weights, other_weights, space, sums):
    """Run :func:`product_sums` on the values of an anchor's two lists, the shorter one first;
    `a` and `b` may change their signs.
    """
    if p <= q:
        product_sums(a, b, p, q, tau, gamma, near, bits, same_weights, other_weights, space, sums)
    else:  # tau + a - b = tau + (-b) - (-a)
        for r in range(p):
            a[r] = -a[r]
        for c in range(q):
            b[c] = -b[c]
        product_sums(b, a, q, p, tau, gamma, near, bits, other_weights, same_weights, space, sums)


@njit
def chunk_loss_sums(points, lists, first, last, tau, gamma, near, bits, diagonal, Y, sums):
    """Add to ``sums[:5]`` what :func:`product_sums` gives for the anchors ``first:last``, to
    ``sums[5]`` the scale of the error of Y.

    `points` are ``(X, Z, norms)``; Y is that of :func:`add_anchor`.
    """
    X, Z, norms = points
    anchors, copies, same_ptr, same, other_ptr, other = lists
    p_max, q_max = longest(same_ptr, other_ptr, first, last)
    a = np.empty(p_max)
    b = np.empty(q_max)
    row = np.empty(X.shape[1])
    once = np.empty(5)
    same_weights, other_weights = np.empty(p_max), np.empty(q_max)
    space = room(min(p_max, q_max), max(p_max, q_max))
    for m in range(first, last):
        i = anchors[m]
        s0 = same_ptr[m]
        s1 = same_ptr[m + 1]
        o0 = other_ptr[m]
        o1 = other_ptr[m + 1]
        row_values(X, Z, i, same, s0, s1, a)
        row_values(X, Z, i, other, o0, o1, b)
        once[:] = 0.0
        anchor_sums(
            a,
            b,
            s1 - s0,
            o1 - o0,
            tau,
            gamma,
            near[m],
            bits,
            same_weights,
            other_weights,
            space,
            once,
        )
        for c in range(5):
            sums[c] += copies[m] * once[c]
        sums[5] += add_anchor(
            X,
            norms,
            i,
            same,
            s0,
            s1,
            same_weights,
            other,
            o0,
            o1,
            other_weights,
            copies[m],
            diagonal,
            row,
            Y,
        )


@njit
def longest(same_ptr, other_ptr, first, last):
    """Return the lengths of the longest lists of the anchors ``first:last``, at least 1."""
    p_max, q_max = 1, 1
    for m in range(first, last):
        p_max = max(p_max, same_ptr[m + 1] - same_ptr[m])
        q_max = max(q_max, other_ptr[m + 1] - other_ptr[m])
    return p_max, q_max


@Shared
def loss_sums(points, lists, bounds, tau, gamma, near, bits, diagonal, Y, sums):
    """Run :func:`chunk_loss_sums` over chunks of anchors; the same bits for any number of
    threads: none is split.
    """
    for c in prange(bounds.size - 1):
        chunk_loss_sums(
            points, lists, bounds[c], bounds[c + 1], tau, gamma, near, bits, diagonal, Y[c], sums[c]
        )


@njit
def gram(
    X,
    norms,
    anchors,
    copies,
    same_ptr,
    same,
    other_ptr,
    other,
    same_weights,
    other_weights,
    diagonal,
    Y,
):
    """Add to Y the rows of given pair weights; return the sum of ``|w| (|x_i| + |x_j|)^2``."""
    row = np.empty(X.shape[1])
    scale = 0.0
    for m in range(anchors.size):
        s0 = same_ptr[m]
        s1 = same_ptr[m + 1]
        o0 = other_ptr[m]
        o1 = other_ptr[m + 1]
        weights = same_weights[s0:s1], other_weights[o0:o1]
        scale += add_anchor(
            X,
            norms,
            anchors[m],
            same,
            s0,
            s1,
            weights[0],
            other,
            o0,
            o1,
            weights[1],
            copies[m],
            diagonal,
            row,
            Y,
        )
    return scale
