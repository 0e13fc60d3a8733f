"""Linear maps of terms that are differences of two pairs: products, sums, and the coordinates of
the terms in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from safescreen._threads import matmul
from safescreen.interior._row_kernels import (
    LARGEST_PART,
    GraphParts,
    edge_rows,
    part_rows,
)
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
    Memory: 8 bytes per term for the order of the terms by connected parts, and 16 bytes per pair.
    """

    def __init__(self, terms: PairDifferences):
        self.terms = terms
        self.full = not terms.points.diagonal
        self.width = terms.cone.n_coordinates
        self._weights = (np.empty(len(terms.same_pairs)), np.empty(len(terms.other_pairs)))
        self._part_of_pair = self._connected()
        n_terms = np.bincount(self._part_of_term, minlength=self._n_parts)
        starts = np.append(0, np.cumsum(n_terms))
        self._parts = GraphParts(starts, np.argsort(self._part_of_term, kind="stable"))

    def _connected(self):
        """Return the number of the connected part of each pair."""
        terms = self.terms
        other = terms.other + len(terms.same_pairs)
        edges = (np.ones(len(terms), dtype=np.bool_), (terms.same, other))
        graph = sparse.coo_array(edges, shape=(self.terms.n_pairs, self.terms.n_pairs))
        return connected_components(graph, directed=False)[1]

    @property
    def _n_parts(self):
        return int(self._part_of_pair.max(initial=-1)) + 1

    @property
    def _part_of_term(self):
        return self._part_of_pair[self.terms.same]

    @property
    def work(self) -> float:
        """Operations of :meth:`products` and :meth:`sums` together; an operation takes about a
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
        (T,); for a vector, of ``root a_t``.
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
        vector. Terms of weight 0 are left out. Each block overwrites the previous block, and takes
        at most 8 MB, or at most 300 rows if 300 rows take more.
        """
        edges, dense, n_rows = self._plan(weights)
        return edges.size + n_rows, self._blocks(edges, dense, n_rows, weights, root)

    def _plan(self, weights):
        """Choose for each part whether its terms are written out one by one, or as a factor.

        Return the numbers of the terms to write one by one, the numbers of the other parts, and the
        largest number of rows of their factors.
        """
        terms = self.terms
        part = self._part_of_term
        is_used = weights > 0.0
        n_terms = np.bincount(part[is_used], minlength=self._n_parts)
        in_use = np.zeros(self.terms.n_pairs, dtype=np.bool_)
        in_use[terms.same[is_used]] = True
        in_use[terms.other[is_used] + len(terms.same_pairs)] = True
        n_nodes = np.bincount(self._part_of_pair[in_use], minlength=self._n_parts)
        # number of multiplications; they are about ten times faster in products of matrices
        square = 0.1 * self.width * self.width
        factor = n_nodes * n_nodes * (n_nodes / 3.0 + 0.5 * self.width) + n_nodes * square
        is_dense = (n_nodes <= LARGEST_PART) & (factor < n_terms * (square + 2.0 * self.width))
        order = self._parts.order
        edges = order[(is_used & ~is_dense[part])[order]]
        return edges, np.flatnonzero(is_dense), int(n_nodes[is_dense].sum())

    def _blocks(self, edges, dense, n_rows, weights, root):
        terms = self.terms
        X = terms.points.X
        Y = matmul(X, root) if self.full else X * np.sqrt(root)
        most = max(BLOCK_BYTES // (8 * self.width), LARGEST_PART)
        out = np.empty((min(most, max(edges.size, n_rows, 1)), self.width))
        pairs = kernels.PairNumbers(
            X=Y,
            same_rows=terms.same_pairs.rows,
            other_rows=terms.other_pairs.rows,
            same=terms.same,
            other=terms.other,
        )
        for start in range(0, edges.size, len(out)):
            numbers = edges[start : start + len(out)]
            edge_rows(pairs, numbers, weights, self.full, out)
            yield out[: numbers.size]
        local = np.full(self.terms.n_pairs, -1, dtype=np.int64)
        at = 0
        while at < dense.size:
            at, n = part_rows(pairs, self._parts, dense, at, weights, self.full, out, local)
            yield out[:n]

    def _pair_values(self, x):
        points = self.terms.points
        transformed = points.transform(x)
        return [table.values(transformed) for table in self._tables]


class Listed(Protocol):
    """Terms with the capability "differences": they are differences of pairs."""

    def differences(self) -> PairDifferences:
        """Return the same terms with their pairs listed."""
        ...


def pair_system(terms: Terms) -> PairSystem:
    """Return the linear maps of terms that offer "differences". Raise a TypeError for other terms.

    Products of lists are listed first; a ValueError is raised beyond 50 million triplets.
    """
    terms.require("differences", by="a Newton system in coordinates")
    return PairSystem(cast(Listed, terms).differences())
