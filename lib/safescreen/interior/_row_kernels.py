"""Compiled loops that write terms out as rows of coordinates, as few rows as possible.

A term is ``z_o - z_s``, where z holds the coordinates of ``u u'`` for the difference u of a pair.
So the terms are the edges of a graph whose nodes are pairs. In a connected part of V nodes and E
edges ``sum_t k_t a_t a_t' = Z' L Z``, where L is the Laplacian of the part with the weights k of
its edges. Its rank is at most V - 1. So a Cholesky factor ``L = C C'`` gives V - 1 rows ``C' Z`` in
place of the E terms: 9 in place of 25 for the triplets of 5 and 5 neighbours.
"""

import numpy as np

from safescreen._numba import njit

LARGEST_PART = 300
"""A part of more nodes than this is not factorized."""


@njit
def plan(same, other, n_same, part_ptr, order, weights, width, edges, dense, local):
    """Choose for each part whether its terms are written out one by one, or as a factor.

    The terms of part c are ``order[part_ptr[c]:part_ptr[c + 1]]``; those of weight 0 are left out.
    The numbers of the terms that are written one by one go into `edges`, and the numbers of the
    other parts into `dense`. Return how many there are of each, and the largest number of rows of
    the factors. `local`, one entry a node, holds -1 before and after.
    """
    n_edges = 0
    n_dense = 0
    n_rows = 0
    for c in range(part_ptr.size - 1):
        nodes = 0
        count = 0
        for e in range(part_ptr[c], part_ptr[c + 1]):
            t = order[e]
            if weights[t] > 0.0:
                count += 1
                for node in (np.int64(same[t]), np.int64(n_same + other[t])):
                    if local[node] < 0:
                        local[node] = 0
                        nodes += 1
        for e in range(part_ptr[c], part_ptr[c + 1]):
            t = order[e]
            local[same[t]] = -1
            local[n_same + other[t]] = -1
        # number of multiplications; those of products of matrices are about ten times faster
        square = 0.1 * width * width
        factor = nodes * nodes * (nodes / 3.0 + 0.5 * width) + nodes * square
        if nodes <= LARGEST_PART and factor < count * (square + 2.0 * width):
            dense[n_dense] = c
            n_dense += 1
            n_rows += nodes
        else:
            for e in range(part_ptr[c], part_ptr[c + 1]):
                t = order[e]
                if weights[t] > 0.0:
                    edges[n_edges] = t
                    n_edges += 1
    return n_edges, n_dense, n_rows


@njit(inline="always")
def coordinates(u, full, out):
    """Write the coordinates of ``u u'``: its upper triangle, row by row, with a factor sqrt(2) off
    the diagonal; for a diagonal metric its diagonal.
    """
    d = u.size
    if not full:
        for i in range(d):
            out[i] = u[i] * u[i]
        return
    root = np.sqrt(2.0)
    k = 0
    for i in range(d):
        out[k] = u[i] * u[i]
        k += 1
        v = root * u[i]
        for j in range(i + 1, d):
            out[k] = v * u[j]
            k += 1


@njit
def edge_rows(Y, same_rows, other_rows, same, other, edges, weights, full, out):
    """Write ``sqrt(k_t) (z_o - z_s)`` for the terms with the numbers `edges`."""
    d = Y.shape[1]
    width = out.shape[1]
    u = np.empty(d)
    z = np.empty(width)
    for r in range(edges.size):
        t = edges[r]
        root = np.sqrt(weights[t])
        i, j = other_rows[other[t], 0], other_rows[other[t], 1]
        for c in range(d):
            u[c] = Y[i, c] - Y[j, c]
        coordinates(u, full, out[r])
        i, j = same_rows[same[t], 0], same_rows[same[t], 1]
        for c in range(d):
            u[c] = Y[i, c] - Y[j, c]
        coordinates(u, full, z)
        for c in range(width):
            out[r, c] = root * (out[r, c] - z[c])


@njit
def part_rows(
    Y, same_rows, other_rows, same, other, part_ptr, order, weights, dense, start, full, out, local
):
    """Write the rows ``C' Z`` of the parts ``dense[start:]``, as many as `out` has room for. Return
    the first part that is not written, and the number of rows.
    """
    d = Y.shape[1]
    width = out.shape[1]
    n_same = same_rows.shape[0]
    nodes = np.empty(LARGEST_PART, dtype=np.int64)
    Z = np.empty((LARGEST_PART, width))
    u = np.empty(d)
    n_rows = 0
    at = start
    while at < dense.size:
        terms = order[part_ptr[dense[at]] : part_ptr[dense[at] + 1]]
        n = _number_nodes(same, other, n_same, terms, weights, local, nodes)
        fits = n_rows + n <= out.shape[0]
        if fits:
            L = _laplacian(same, other, n_same, terms, weights, local, n)
            for k in range(n):
                node = nodes[k]
                pair = same_rows[node] if node < n_same else other_rows[node - n_same]
                for c in range(d):
                    u[c] = Y[pair[0], c] - Y[pair[1], c]
                coordinates(u, full, Z[k])
            n_rows += _factor_rows(L, Z, out, n_rows)
        for k in range(n):
            local[nodes[k]] = -1
        if not fits:
            break
        at += 1
    return at, n_rows


@njit
def _number_nodes(same, other, n_same, terms, weights, local, nodes):
    """Number the nodes of the terms of a part, in `local`, and list them; return how many there
    are.
    """
    n = 0
    for t in terms:
        if weights[t] > 0.0:
            for node in (np.int64(same[t]), np.int64(n_same + other[t])):
                if local[node] < 0:
                    local[node] = n
                    nodes[n] = node
                    n += 1
    return n


@njit
def _laplacian(same, other, n_same, terms, weights, local, n):
    """Return the Laplacian of a part whose n nodes are numbered."""
    L = np.zeros((n, n))
    for t in terms:
        k = weights[t]
        if k > 0.0:
            a = local[same[t]]
            b = local[n_same + other[t]]
            L[a, a] += k
            L[b, b] += k
            L[a, b] -= k
            L[b, a] -= k
    return L


@njit
def _factor_rows(L, Z, out, first):
    """Write ``C' Z`` with ``L = C C'``, one row for each pivot that is not zero; L is
    overwritten.
    """
    n = L.shape[0]
    width = Z.shape[1]
    r = first
    for k in range(n):
        # a pivot: the sum of the node's weights that is left when earlier nodes are eliminated
        left = 0.0
        for i in range(k + 1, n):
            left -= L[i, k]
        if left <= 0.0:
            continue
        # the rows of a Laplacian sum to zero, so nothing cancels
        root = np.sqrt(left)
        for col in range(width):
            out[r, col] = root * Z[k, col]
        for i in range(k + 1, n):
            v = L[i, k]
            if v != 0.0:
                f = v / root
                for col in range(width):
                    out[r, col] += f * Z[i, col]
                scale = v / left
                for j in range(k + 1, n):
                    L[i, j] -= scale * L[j, k]
        r += 1
    return r - first
