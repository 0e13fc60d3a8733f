"""Compiled loops that write terms out as rows of coordinates, as few rows as possible.

A term is ``z_o - z_s``, where z holds the coordinates of ``u u'`` for the difference u of a pair.
So the terms are the edges of a graph whose nodes are pairs. In a connected part of V nodes and E
edges ``sum_t k_t a_t a_t' = Z' L Z``, where L is the Laplacian of the part with the weights k of
its edges. Its rank is at most V - 1. So a Cholesky factor ``L = C C'`` gives V - 1 rows ``C' Z``
that replace the E terms: 9 rows instead of 25 for the triplets of 5 and 5 neighbours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit

LARGEST_PART = 300
"""A connected part with more nodes than this is not factorized."""


class GraphParts(NamedTuple):
    """Connected parts of the graph: the terms of part c are ``order[starts[c]:starts[c + 1]]``."""

    starts: NDArray
    order: NDArray


@njit
def coordinates(Y, rows, pair, full, out):
    """Write the coordinates of ``u u'`` for the difference u of a pair: the upper triangle, row by
    row, with a factor sqrt(2) off the diagonal; for a diagonal metric the diagonal.
    """
    i = rows[pair, 0]
    j = rows[pair, 1]
    d = Y.shape[1]
    root = np.sqrt(2.0)
    at = 0
    for a in range(d):
        u = Y[i, a] - Y[j, a]
        out[at] = u * u
        at += 1
        if full:
            v = root * u
            for b in range(a + 1, d):
                out[at] = v * (Y[i, b] - Y[j, b])
                at += 1


@njit
def edge_rows(pairs, edges, weights, full, out):
    """Write ``sqrt(k_t) (z_o - z_s)`` for the terms with the numbers `edges`."""
    z = np.empty(out.shape[1])
    for r in range(edges.size):
        t = edges[r]
        root = np.sqrt(weights[t])
        coordinates(pairs.X, pairs.other_rows, np.int64(pairs.other[t]), full, out[r])
        coordinates(pairs.X, pairs.same_rows, np.int64(pairs.same[t]), full, z)
        for c in range(z.size):
            out[r, c] = root * (out[r, c] - z[c])


@njit
def part_rows(pairs, parts, dense, start, weights, full, out, local):
    """Write the rows ``C' Z`` of the parts ``dense[start:]``, as many as `out` has room for. Return
    the first part that is not written, and the number of rows.

    `local` has one entry for each node, which is -1 before and after the call.
    """
    n_same = pairs.same_rows.shape[0]
    nodes = np.empty(LARGEST_PART, dtype=np.int64)
    Z = np.empty((LARGEST_PART, out.shape[1]))
    n_rows = 0
    at = start
    while at < dense.size:
        terms = parts.order[parts.starts[dense[at]] : parts.starts[dense[at] + 1]]
        n = _number_nodes(pairs, terms, weights, local, nodes)
        fits = n_rows + n <= out.shape[0]
        if fits:
            L = _laplacian(pairs, terms, weights, local, n)
            for k in range(n):
                node = nodes[k]
                if node < n_same:
                    coordinates(pairs.X, pairs.same_rows, node, full, Z[k])
                else:
                    coordinates(pairs.X, pairs.other_rows, node - n_same, full, Z[k])
            n_rows += _factor_rows(L, Z, out, n_rows)
        for k in range(n):
            local[nodes[k]] = -1
        if not fits:
            break
        at += 1
    return at, n_rows


@njit
def _number_nodes(pairs, terms, weights, local, nodes):
    """Number the nodes of the terms of a part in `local`, and list them in `nodes`. Return the
    number of nodes.
    """
    n_same = pairs.same_rows.shape[0]
    n = 0
    for t in terms:
        if weights[t] > 0.0:
            for node in (np.int64(pairs.same[t]), np.int64(n_same + pairs.other[t])):
                if local[node] < 0:
                    local[node] = n
                    nodes[n] = node
                    n += 1
    return n


@njit
def _laplacian(pairs, terms, weights, local, n):
    """Return the Laplacian of a part whose n nodes are numbered."""
    n_same = pairs.same_rows.shape[0]
    L = np.zeros((n, n))
    for t in terms:
        k = weights[t]
        if k > 0.0:
            a = local[pairs.same[t]]
            b = local[n_same + pairs.other[t]]
            L[a, a] += k
            L[b, b] += k
            L[a, b] -= k
            L[b, a] -= k
    return L


@njit
def _factor_rows(L, Z, out, first):
    """Write ``C' Z`` with ``L = C C'``, one row for each pivot that is not zero. L is
    overwritten.
    """
    n = L.shape[0]
    width = Z.shape[1]
    r = first
    for k in range(n):
        # the pivot: the sum of the weights of the node after earlier nodes have been eliminated
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
