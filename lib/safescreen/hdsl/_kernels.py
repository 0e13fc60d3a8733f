"""Kernels of the Frank-Wolfe method. They work on the stored entries of X, and never on d x d
entries.

X and its transpose XT, the n x n matrix B of the weights of the pairs, and ``W = B + B'`` are
:class:`CsrRows`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit


class AnchoredTriplets(NamedTuple):
    """The constraints in the order of their first points. The constraints of point a are
    ``(a, similar[t], different[t])`` for t from ``starts[a]`` to ``starts[a + 1] - 1``. The arrays
    have the shapes (n + 1,), (T,) and (T,).
    """

    starts: NDArray
    similar: NDArray
    different: NDArray


@njit
def _pair_weights(slopes, same, other, weights, near_pair, near_weights):
    """Write the weights of the pairs, which are the entries of
    ``B = sum_t g_t (e_x e_y' - e_x e_z')``, into `weights`, and in the order of `near_pair` into
    `near_weights`.
    """
    weights[:] = 0.0
    for t in range(slopes.size):
        weights[same[t]] += slopes[t]
        weights[other[t]] -= slopes[t]
    for p in range(near_pair.size):
        near_weights[p] = weights[near_pair[p]]


@njit
def _overlaps(B, X, diagonal, row, shared):
    """Add to ``diag(X'BX)``, for each pair, its weight times the products of its points in their
    shared features. Count the shared features in the starts of `shared`, shape (P + 1,).

    If `shared` has room for features and products, list these too. If it has no room, leave out
    pairs of weight 0. The array `row`, shape (d,), is zero before and after.
    """
    ptr, partner, weights = B
    indptr, indices, data = X
    starts, features, products = shared
    place = 0
    for a in range(ptr.size - 1):
        first = indptr[a]
        last = indptr[a + 1] if ptr[a] < ptr[a + 1] else indptr[a]
        for q in range(first, last):
            row[indices[q]] = data[q]
        for p in range(ptr[a], ptr[a + 1]):
            b = partner[p]
            for q in range(
                indptr[b], indptr[b + 1] if features.size > 0 or weights[p] != 0.0 else indptr[b]
            ):
                value = row[indices[q]] * data[q]
                if value != 0.0:
                    if features.size > 0:
                        features[place] = indices[q]
                        products[place] = value
                    diagonal[indices[q]] += weights[p] * value
                    place += 1
            starts[p + 1] = place
        row[indices[first:last]] = 0.0


@njit
def _diagonal_of_overlaps(weights, shared, diagonal):
    """Write ``diag(X'BX)``, computed from the listed shared features of the pairs."""
    starts, features, products = shared
    diagonal[:] = 0.0
    for p in range(weights.size):
        weight = weights[p]
        if weight != 0.0:
            for q in range(starts[p], starts[p + 1]):
                diagonal[features[q]] += weight * products[q]


@njit
def _neighbour_sums(i, W, XT, sums):
    """Add ``W x_i``, where x_i is column i of X, to `sums` (n,)."""
    near_ptr, near, near_weights = W
    colptr, rows, values = XT
    for q in range(colptr[i], colptr[i + 1]):
        b = rows[q]
        for p in range(near_ptr[b], near_ptr[b + 1]):
            sums[near[p]] += near_weights[p] * values[q]


@njit
def _gradient_row(i, W, XT, X, sums, row):
    """Write row i of ``X'WX``, shape (d,). The array `sums`, shape (n,), is zero before and
    after.
    """
    indptr, indices, data = X
    _neighbour_sums(i, W, XT, sums)
    row[:] = 0.0
    for a in range(sums.size):
        if sums[a] != 0.0:
            for q in range(indptr[a], indptr[a + 1]):
                row[indices[q]] += sums[a] * data[q]
            sums[a] = 0.0


@njit
def _best_partner(i, diagonal, row):
    """Return ``(j, sign, value)`` at the maximum of ``diag_i + diag_j + sign row_j`` over j != i.
    Of several maxima the one with the lowest j is taken.
    """
    best = -np.inf
    partner = -1
    for j in range(diagonal.size):
        value = diagonal[j] + abs(row[j])
        if value > best and j != i:
            best = value
            partner = j
    sign = 1 if row[partner] >= 0.0 else -1
    return partner, sign, best + diagonal[i]


@njit
def _atom_scores(i, j, sign, scale, XT, triplets, column, scores):
    """Write the scores ``<A_t, atom>`` of one atom. The array `column`, shape (n,), holds
    ``p = x_i + sign x_j`` in between, and is zero before and after.
    """
    colptr, rows, values = XT
    anchor_ptr, similar, different = triplets
    scores[:] = 0.0
    for c in (i, j):
        for q in range(colptr[c], colptr[c + 1]):
            column[rows[q]] += values[q] if c == i else sign * values[q]
    for c in (i, j):
        for q in range(colptr[c], colptr[c + 1]):
            a = rows[q]
            value = scale * column[a]
            for t in range(anchor_ptr[a], anchor_ptr[a + 1]):
                scores[t] = value * (column[similar[t]] - column[different[t]])
    for c in (i, j):
        column[rows[colptr[c] : colptr[c + 1]]] = 0.0


@njit
def _atom_values(atoms, diagonal, W, XT, column, scores):
    """Write the scores ``diag_i + diag_j + sign x_i'W x_j`` of the active atoms. The array
    `column`, shape (n,), is zero before and after.
    """
    near_ptr, near, near_weights = W
    colptr, rows, values = XT
    for k in range(atoms.shape[0]):
        i, j = atoms[k, 0], atoms[k, 1]
        small = i
        big = j
        if colptr[i + 1] - colptr[i] > colptr[j + 1] - colptr[j]:
            small = j
            big = i
        first = colptr[big]
        last = colptr[big + 1]
        total = 0.0
        for q in range(first, last):
            column[rows[q]] = values[q]
        for q in range(colptr[small], colptr[small + 1]):
            b = rows[q]
            inner = 0.0
            for p in range(near_ptr[b], near_ptr[b + 1]):
                inner += near_weights[p] * column[near[p]]
            total += values[q] * inner
        scores[k] = diagonal[i] + diagonal[j] + atoms[k, 2] * total
        column[rows[first:last]] = 0.0


@njit
def _sum_norms(W, XT, sums, norms):
    """Write ``norms_i = ||W x_i||`` for all features. The array `sums`, shape (n,), is zero before
    and after.
    """
    near_ptr, near, _ = W
    colptr, rows, _ = XT
    for i in range(norms.size):
        total = 0.0
        _neighbour_sums(i, W, XT, sums)
        for q in range(colptr[i], colptr[i + 1]):
            b = rows[q]
            for p in range(near_ptr[b], near_ptr[b + 1]):
                total += sums[near[p]] * sums[near[p]]
                sums[near[p]] = 0.0
        norms[i] = np.sqrt(total)


@njit
def _search_rows(order, bounds, diagonal, W, XT, X, sums, row):
    """Search the rows in the given `order` until the bound of the next row is below the best value.
    Return ``(i, j, sign, value)`` of the best atom.
    """
    best_i = best_j = order.size
    best_sign = 1
    best_value = -np.inf
    for k in range(bounds.size):
        if bounds[k] < best_value:
            break
        i = order[k]
        _gradient_row(i, W, XT, X, sums, row)
        j, sign, value = _best_partner(i, diagonal, row)
        low = min(i, j)
        high = max(i, j)
        is_earlier = low < best_i or (low == best_i and high < best_j)
        if value > best_value or (value == best_value and is_earlier):
            best_i = low
            best_j = high
            best_sign = sign
            best_value = value
    return best_i, best_j, best_sign, best_value
