"""Points and tables of point pairs, which many terms share."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from safescreen._threads import matmul
from safescreen.cones import Cone, NonNegativeCone, PSDCone
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms import _triplet_kernels as kernels


class Points:
    """Points that all tables share. Their mean is subtracted, which changes no difference of
    points.

    Attributes
    ----------
    n, d : int
        Number of points, and number of coordinates.
    X : array of shape (m, d)
        The centred points. After :meth:`merged` equal points share a row, so m may be smaller than
        n.
    rows : int32 array of shape (n,) or None
        The row of X of each point; None if point i is row i.
    norms : array of shape (m,)
        Upper bounds of the norms of the rows of X.
    diagonal : bool
        Whether the metric is a vector of weights.
    """

    rows: NDArray | None

    def __init__(self, X: NDArray, diagonal: bool):
        with np.errstate(over="ignore", invalid="ignore"):
            self.X = np.ascontiguousarray(X - X.mean(axis=0))
            square = np.einsum("ij,ij->i", self.X, self.X)
        if not square.max() < 1e300:  # also true if square.max() is NaN
            raise ValueError(
                "X must have squared distances that are finite in double precision, found entries "
                "whose squares overflow: scale X"
            )
        self.n, self.d = X.shape
        self.rows = None
        self.diagonal = diagonal
        self.norms = self._norms(square)

    def __str__(self):
        return (
            f"{self.n} points in {self.d} dimensions, {'diagonal' if self.diagonal else 'full'} "
            "metric"
        )

    @property
    def longest(self) -> float:
        """Upper bound of the norm of ``d d' - e e'`` for differences d and e of points. Such a
        difference is at most twice as long as the longest point.
        """
        norm = float(self.norms.max(initial=0.0))
        return 8.0 * norm * norm

    @property
    def cone(self) -> Cone:
        """The cone of the metrics."""
        return NonNegativeCone(self.d) if self.diagonal else PSDCone(self.d)

    def merged(self) -> Self:
        """Return points whose X holds equal points once. If fewer than a tenth of the points are
        repetitions, return this object. Cost: O(n d).
        """
        first = {}
        rows = np.empty(self.n, dtype=np.int32)
        for i, x in enumerate(self.X):
            same = first.setdefault(hash(x.tobytes()), i)
            rows[i] = same if same < i and np.array_equal(self.X[same], x) else i
        if np.count_nonzero(rows != np.arange(self.n)) >= 0.1 * self.n:
            return self.part(np.unique(rows), rows)
        return self

    def part(self, numbers: NDArray, rows: NDArray | None = None) -> Self:
        """Return points whose X holds the rows `numbers`, which are increasing, of this X. If
        `rows` is given, it replaces the row of each point.
        """
        part = copy.copy(self)
        part.X = self.X[numbers]
        part.norms = self.norms[numbers]
        place = np.full(len(self.X), -1, dtype=np.int32)
        place[numbers] = np.arange(len(numbers), dtype=np.int32)
        rows = self.rows if rows is None else rows
        part.rows = place if rows is None else place[rows]
        return part

    def on_features(self, keep: NDArray) -> Self:
        """Return the points restricted to the coordinates of the mask `keep`, with the norms that
        remain; O(n d).
        """
        points = copy.copy(self)
        points.X = np.ascontiguousarray(self.X[:, keep])
        points.d = points.X.shape[1]
        points.norms = points._norms(np.einsum("ij,ij->i", points.X, points.X))
        return points

    def _norms(self, square):
        return np.sqrt(square) * (1.0 + gamma(self.d + 4)) + 1e-160

    def transform(self, x: NDArray) -> NDArray:
        """Return what :meth:`PairTable.values` needs for a metric x: ``X x``, in O(n d^2), or x
        itself if x is a vector.
        """
        return x if self.diagonal else matmul(self.X, x)

    def zero_rows(self) -> NDArray:
        """Return an array of zeros in which Laplacian rows ``sum_j w_ij (x_i - x_j)`` can be
        summed. For a diagonal metric it has one row only.
        """
        return np.zeros((1, self.d) if self.diagonal else self.X.shape)

    def close(self, rows: NDArray) -> NDArray:
        """Return the sum of terms that belongs to Laplacian rows: ``X' rows``, made symmetric, or
        the only row for a diagonal metric.
        """
        if self.diagonal:
            return rows[0]
        product = matmul(self.X.T, rows)
        return 0.5 * (product + product.T)


class PairTable:
    """Distinct pairs (i, j) of points, with the values ``(x_i - x_j)' M (x_i - x_j)`` and bounds of
    their rounding errors.

    With centred points, ``w = ||x_i - x_j||``, ``s = ||x_i|| + ||x_j||`` and the unit of roundoff
    u, the error of the computed value is at most ``gamma_{2d+10} g ||M||``, where
    ``g = s (w + 4 u s)``. The error of a difference of centred points is at most ``2 u s``, the
    error of the rows of ``X M`` at most ``gamma_d ||M|| s``, and the relative error of the last dot
    product at most ``gamma_d``. The error of the adjoint is proportional to the same `g`.
    """

    def __init__(self, points: Points, pairs: NDArray, scales: NDArray | None = None):
        self.points = points
        self.pairs = np.ascontiguousarray(pairs, dtype=np.int32)
        self.rows = self.pairs if points.rows is None else points.rows[self.pairs]
        if scales is None:
            scales = np.empty(len(self.pairs))
            kernels.pair_scales(points.X, points.norms, self.rows, scales)
        self.scales = scales
        self.largest = float(scales.max(initial=0.0))

    def __len__(self):
        return self.pairs.shape[0]

    def values(self, transformed: NDArray) -> NDArray:
        """Return the squared distances of all pairs in a metric, shape (P,). `transformed` is the
        result of :meth:`Points.transform` for the metric. Cost: O(P d).
        """
        out = np.empty(len(self))
        kernel = kernels.pair_values_diagonal if self.points.diagonal else kernels.pair_values_full
        kernel(self.points.X, transformed, self.rows, out)
        return out

    def differences(self, numbers: NDArray) -> NDArray:
        """Return ``x_i - x_j`` for some of the pairs, shape (B, d)."""
        i, j = self.rows[numbers].T
        return self.points.X[i] - self.points.X[j]

    def errors(self, x: ElementLike, roundings: int) -> NDArray:
        """Return bounds of the errors of :meth:`values` for a metric x, shape (P,). `roundings` is
        the number of roundings in a row.
        """
        return self.scales * (upper(gamma(roundings) * norm_upper(x), 4)) + 1e-300

    def compact(self, ids: NDArray) -> tuple[PairTable, NDArray]:
        """Return a table of the pairs whose numbers occur in `ids`, and `ids` with the new numbers.
        If more than two thirds of the pairs occur, return this table and `ids`.
        """
        used = np.zeros(len(self), dtype=np.bool_)
        used[ids] = True
        n_used = int(used.sum())
        if 3 * n_used > 2 * len(self):
            return self, ids
        numbers = np.cumsum(used, dtype=np.int32)
        numbers -= 1
        return PairTable(self.points, self.pairs[used], self.scales[used]), numbers[ids]

    def among(self, points: Points) -> PairTable:
        """Return this table over some of its points, which must include the points of all its
        pairs.
        """
        return PairTable(points, self.pairs, self.scales)

    def proper(self) -> NDArray:
        """Return the mask of pairs of two different points. The values of the other pairs are
        exactly 0, without rounding errors.
        """
        return self.pairs[:, 0] != self.pairs[:, 1]

    def max_degree(self) -> int:
        """Return the largest number of pairs that contain the same row of X."""
        return int(np.bincount(self.rows[self.proper()].ravel(), minlength=1).max())
