"""Points and tables of point pairs, the factors that terms share."""

import numpy as np

from safescreen.rounding import gamma, norm_upper, upper
from safescreen.terms import _triplet_kernels as kernels

__all__ = ["PairTable", "Points"]


class Points:
    """Points shared by all tables, centred at their mean (differences do not change), with norms.

    Attributes
    ----------
    X : array of shape (n, d)
    norms : array of shape (n,)
        Upper bounds of the norms of the centred points.
    diagonal : bool
        Whether the metric is a vector of weights.
    """

    def __init__(self, X, diagonal):
        with np.errstate(over="ignore", invalid="ignore"):
            self.X = np.ascontiguousarray(X - X.mean(axis=0))
            square = np.einsum("ij,ij->i", self.X, self.X)
        if not square.max() < 1e300:  # NaN compares false
            raise ValueError("X must allow squared distances in double precision, found entries whose squares overflow; scale it")
        self.n, self.d = X.shape
        self.diagonal = diagonal
        self.norms = np.sqrt(square) * (1.0 + gamma(self.d + 4)) + 1e-160


class PairTable:
    """Distinct pairs (i, j) of points; the values ``(x_i - x_j)' M (x_i - x_j)`` and bounds of their rounding errors.

    With ``w = ||x_i - x_j||``, ``s = ||x_i|| + ||x_j||`` (centred points) and the unit roundoff u, the computed value is off by at
    most ``gamma_{2d+10} g ||M||``, ``g = s (w + 4 u s)``: the differences of centred points are off by ``2 u s``, the rows of
    ``X M`` by ``gamma_d ||M|| s``, the closing dot product by ``gamma_d``. The same `g` scales the error of the adjoint.
    """

    def __init__(self, points, pairs, scales=None):
        self.points = points
        self.pairs = np.ascontiguousarray(pairs, dtype=np.int32)
        if scales is None:
            scales = np.empty(len(self.pairs))
            kernels.pair_scales(points.X, points.norms, self.pairs, scales)
        self.scales = scales
        self.largest = float(scales.max(initial=0.0))

    def __len__(self):
        return self.pairs.shape[0]

    def values(self, x):
        """Return the squared distances of all pairs in the metric x, shape (P,); O(n d^2 + P d), diagonal O(P d)."""
        out = np.empty(len(self))
        if self.points.diagonal:
            kernels.pair_values_diagonal(self.points.X, x, self.pairs, out)
        else:
            kernels.pair_values_full(self.points.X, self.points.X @ x, self.pairs, out)
        return out

    def errors(self, x):
        """Return bounds of the rounding errors of :meth:`values`, shape (P,)."""
        return self.scales * (upper(gamma(2 * self.points.d + 10) * norm_upper(x), 4)) + 1e-300

    def compact(self, ids):
        """Return ``(table, ids)`` restricted to the pairs in use if they are less than two thirds, else this very table."""
        used = np.zeros(len(self), dtype=np.bool_)
        used[ids] = True
        n_used = int(used.sum())
        if 3 * n_used > 2 * len(self):
            return self, ids
        numbers = np.cumsum(used, dtype=np.int32)
        numbers -= 1
        return PairTable(self.points, self.pairs[used], self.scales[used]), numbers[ids]

    def proper(self):
        """Return the mask of pairs of two different points; the others are zero, exactly, and bring no rounding errors."""
        return self.pairs[:, 0] != self.pairs[:, 1]

    def max_degree(self):
        """Return the largest number of pairs that any point is in."""
        return int(np.bincount(self.pairs[self.proper()].ravel(), minlength=1).max())
