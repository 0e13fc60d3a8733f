"""Terms that are differences of two pairs, as the method takes them: products, sums, and the
coordinates of the terms in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from safescreen._threads import matmul
from safescreen.interior import _row_kernels
from safescreen.rounding import ElementLike
from safescreen.terms import Terms
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms.differences import PairDifferences

BLOCK_BYTES = 1 << 23
"""Bytes of memory of a block of rows."""


class PairSystem:
    """Linear maps of the terms ``a_t = u u' - v v'``, without bounds of rounding errors.

    The coordinates of a symmetric matrix are its upper triangle, row by row, with the entries off
    the diagonal times sqrt(2); inner products of matrices are then inner products of coordinates.
    The coordinates of a vector are its entries. `width` is the number of coordinates.

    Parameters
    ----------
    terms : PairDifferences

    Notes
    -----
    Memory: 8 bytes a term for the order of the terms by connected parts, and 16 bytes a pair.
    """

    def __init__(self, terms: PairDifferences):
        self.terms = terms
        self.full = not terms.points.diagonal
        self.width = terms.cone.n_coordinates
        self._weights = (np.empty(len(terms.same_pairs)), np.empty(len(terms.other_pairs)))
        self._part_ptr, self._order = self._parts()

    def _parts(self):
        """Return ``(starts, order)``: an order of the terms by connected parts, and where each part
        begins in it.
        """
        terms = self.terms
        n_same = len(terms.same_pairs)
        n = terms.n_pairs
        edges = (np.ones(len(terms), dtype=np.bool_), (terms.same, terms.other + n_same))
        labels = connected_components(sparse.coo_array(edges, shape=(n, n)), directed=False)[1]
        labels = labels[terms.same]
        order = np.argsort(labels, kind="stable")
        found = labels[order]
        first = np.flatnonzero(np.diff(found, prepend=-1))
        return np.append(first, len(terms)), order

    @property
    def work(self) -> float:
        """Operations of :meth:`products` and :meth:`sums` together; one takes about a
        nanosecond.
        """
        points = self.terms.points
        dense = 0.08 * len(points.X) * points.d**2 if self.full else 0.0
        return (2.0 * points.d + 10.0) * self.terms.n_pairs + dense + 3.0 * len(self.terms)

    def products(self, x: ElementLike) -> NDArray:
        """Return ``<a_t, x>`` for every term, shape (T,); cost O(n d^2 + pairs d + T)."""
        same, other = self._pair_values(x)
        return other[self.terms.other] - same[self.terms.same]

    def squares(self, root: NDArray) -> NDArray:
        """Return upper bounds, up to rounding, of the squared norms of ``root' a_t root``, shape
        (T,); for a vector those of ``root a_t``.
        """
        if self.full:
            same, other = self._pair_values(root @ root.T)
        else:
            same, other = (self._lengths(table, root) for table in self._tables)
        same *= same
        other *= other
        return other[self.terms.other] + same[self.terms.same]

    def _lengths(self, table, root):
        i, j = table.rows.T
        X = self.terms.points.X
        fourth = X[i] - X[j]
        fourth *= fourth
        fourth *= fourth
        return np.sqrt(fourth @ (root * root))

    @property
    def _tables(self):
        return self.terms.same_pairs, self.terms.other_pairs

    def sums(self, values: NDArray) -> ElementLike:
        """Return ``sum_t values_t a_t``; cost O(n d^2 + pairs d + T)."""
        terms = self.terms
        points = terms.points
        same_weights, other_weights = self._weights
        kernels.pair_weights(terms.same, terms.other, values, same_weights, other_weights)
        Y = points.zero_rows()
        add = kernels.add_pairs
        add(points.X, terms.other_pairs.rows, other_weights, 1.0, points.diagonal, Y)
        add(points.X, terms.same_pairs.rows, same_weights, -1.0, points.diagonal, Y)
        return points.close(Y)

    def rows(self, weights: NDArray, root: NDArray) -> tuple[int, Iterator[NDArray]]:
        """Return ``(n, blocks)``: a matrix B of at most n rows of coordinates, block by block, with
        ``B'B = sum_t weights_t b_t b_t'``.

        ``b_t`` holds the coordinates of ``root' a_t root``, or of ``root a_t`` if `root` is a
        vector. Terms of weight 0 are left out. Each block overwrites the one before it, and takes
        at most 8 MB, or 300 rows.
        """
        terms = self.terms
        n_same = len(terms.same_pairs)
        local = np.full(terms.n_pairs, -1, dtype=np.int64)
        edges = np.empty(len(terms), dtype=np.int64)
        dense = np.empty(self._part_ptr.size - 1, dtype=np.int64)
        graph = (self._part_ptr, self._order)
        n_edges, n_dense, n_rows = _row_kernels.plan(
            terms.same, terms.other, n_same, *graph, weights, self.width, edges, dense, local
        )
        edges = edges[:n_edges]
        dense = dense[:n_dense]
        return n_edges + n_rows, self._blocks(edges, dense, n_rows, weights, root, local)

    def _blocks(self, edges, dense, n_rows, weights, root, local):
        terms = self.terms
        X = terms.points.X
        Y = matmul(X, root) if self.full else X * np.sqrt(root)
        most = max(BLOCK_BYTES // (8 * self.width), _row_kernels.LARGEST_PART)
        out = np.empty((min(most, max(edges.size, n_rows, 1)), self.width))
        tables = (Y, terms.same_pairs.rows, terms.other_pairs.rows, terms.same, terms.other)
        for start in range(0, edges.size, len(out)):
            numbers = edges[start : start + len(out)]
            _row_kernels.edge_rows(*tables, numbers, weights, self.full, out)
            yield out[: numbers.size]
        at = 0
        graph = (self._part_ptr, self._order)
        while at < dense.size:
            at, n = _row_kernels.part_rows(
                *tables, *graph, weights, dense, at, self.full, out, local
            )
            yield out[:n]

    def _pair_values(self, x):
        points = self.terms.points
        transformed = points.transform(x)
        return [table.values(transformed) for table in self._tables]


def pair_system(terms: Terms) -> PairSystem:
    """Return the linear maps of terms that offer "differences"; TypeError for others.

    Products of lists are listed first: ValueError beyond 50 million triplets."""
    return PairSystem(terms.differences())
