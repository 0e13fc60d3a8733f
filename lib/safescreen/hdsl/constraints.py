"""Triplet constraints in the form that Frank-Wolfe needs: the stored entries of X by row and by
column, and the distinct pairs of points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from safescreen._blocks import CsrRows
from safescreen._checks import check_points, check_vector
from safescreen.hdsl import _kernels as kernels
from safescreen.terms.indices import check_triplets, number_pairs


def check_sparse_points(X: Any, name: str = "X") -> sparse.csr_array:
    """Return points as a CSR array without stored zeros; a dense array is converted."""
    X = sparse.csr_array(check_points(X, name, allow_sparse=True))
    parts = (X.data, X.indices, X.indptr)  # with integers of one type, as scipy requires
    X = sparse.csr_array(parts, X.shape, copy=not X.data.all())
    X.eliminate_zeros()
    return X


def take_columns(X: sparse.csr_array, features: np.ndarray) -> sparse.csr_array:
    """Return ``X[:, features]`` of a CSR array, where `features` are sorted. (Indexing by scipy
    would make an array of length d.)

    Cost: O(nnz(X) log m) time for m features, and O(nnz(X)) memory.

    Examples
    --------
    >>> X = sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]])
    >>> take_columns(X, np.array([0, 2])).toarray().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    if not features.size:
        return sparse.csr_array((X.shape[0], 0))
    places = np.minimum(np.searchsorted(features, X.indices), features.size - 1)
    used = features[places] == X.indices
    indptr = np.concatenate(([0], np.cumsum(used)))[X.indptr]
    return sparse.csr_array((X.data[used], places[used], indptr), shape=(X.shape[0], features.size))


class Constraints:
    """Constraints ``A_t = x_t (y_t - z_t)'`` over points X, and the entries of the gradient of
    their mean loss, computed on demand (HDSL19 section 3.2).

    Let ``g_t = -w_t loss'(<A_t, M>)`` be the slopes, with weights w_t of mean 1, and
    ``B = sum_t g_t (e_x e_y' - e_x e_z')`` an n x n matrix. The gradient is ``G = -X'BX/T``. B has
    one entry for each distinct pair (x, y) or (x, z), and only these entries are stored.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    triplets : int array of shape (T, 3)
        Rows (x, y, z): x should be more similar to y than to z.
    weights : array of shape (T,), optional
        Non-negative weights, not all 0. Only their ratios count. Constraints of weight 0 are left
        out.
    used : int array, optional
        Features to keep even if X has no entries in them.

    Attributes
    ----------
    features : int array of shape (m,)
        The features with a stored entry, the features in `used`, and up to two others, which stand
        for all remaining features. Without `used`, m <= nnz(X) + 2.
    order : int array of shape (T,)
        The constraints are sorted by x; ``order[t]`` is the row of `triplets` of constraint t.
    factors : array of shape (T,) or None
        Weights of the constraints divided by their mean; None if all weights are equal.

    Notes
    -----
    Memory: O(T + nnz(X)). No array has the length d. The shared features of the pairs are stored if
    there are at most ``8 (T + nnz(X))`` of them.

    Examples
    --------
    >>> constraints = Constraints([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[0, 1, 2]])
    >>> constraints.atom_scores(0, 1, 1, 1.0).tolist()
    [1.0]
    """

    def __init__(
        self, X: Any, triplets: ArrayLike, weights: ArrayLike | None = None, used: ArrayLike = ()
    ):
        X = check_sparse_points(X)
        self.n, self.d = X.shape
        if self.d < 2:
            raise ValueError(
                f"X must have at least two features, as atoms pair two of them, got shape {X.shape}"
            )
        index = check_triplets(triplets, self.n)
        if weights is None:
            rows = np.arange(len(index))
            factors = None
        else:
            rows, factors = _factors(weights, len(index))
        X, features = self._compact(X, np.asarray(used, dtype=np.int64))
        self._number(index[rows])
        self.order = rows[self.order]
        self.factors = None if factors is None else factors[self.order]
        self._column, self._sums = np.zeros((2, self.n))
        self.X = X
        self.features = features
        self._rows = _arrays(X)
        self._columns = _arrays(X.tocsc())
        self.column_norms = np.sqrt(np.bincount(X.indices, X.data**2, minlength=features.size))
        self._row, self._diagonal = np.zeros((2, features.size))
        self._overlaps = self._listed_overlaps(8 * (len(self) + X.nnz))
        self._diagonal[:] = 0.0

    def __len__(self) -> int:
        return self.order.size

    def _compact(self, X, used):
        present = np.union1d(np.unique(X.indices), used)
        gaps = np.setdiff1d(np.arange(min(self.d, present.size + 2)), present)[:2]
        features = np.union1d(present, gaps).astype(np.int64)
        self._absent = int(np.searchsorted(features, gaps[0])) if gaps.size else -1
        indices = np.searchsorted(features, X.indices)
        return sparse.csr_array((X.data, indices, X.indptr), (self.n, features.size)), features

    def _listed_overlaps(self, room):
        """Return the shared features of the pairs, or None if they need more than `room`
        entries.
        """
        needed = self._add_overlaps(np.ones(self.weights.size), 0).starts[-1] + 1
        return self._add_overlaps(self.weights, needed) if needed <= room else None

    def _number(self, index):
        self.order = np.argsort(index[:, 0], kind="stable")
        index = index[self.order]
        x, similar, different = (np.ascontiguousarray(column, dtype=np.int32) for column in index.T)
        self._triplets = kernels.AnchoredTriplets(_pointers(x, self.n), similar, different)
        pairs, numbers = number_pairs(np.concatenate((index[:, :2], index[:, ::2])), self.n)
        self._same, self._other = np.split(numbers, 2)
        self._pair_ptr = _pointers(pairs[:, 0], self.n)
        self._partner = np.ascontiguousarray(pairs[:, 1])
        ends, near = np.concatenate((pairs, pairs[:, ::-1])).T
        by_end = np.argsort(ends, kind="stable")
        self._near_pair = (by_end % len(pairs)).astype(np.int32)
        self._near = CsrRows(_pointers(ends[by_end], self.n), near[by_end], np.zeros(ends.size))
        self.weights = np.zeros(len(pairs))

    def _add_overlaps(self, weights, room):
        self._row[:] = self._diagonal[:] = 0.0
        starts = np.zeros(weights.size + 1, np.int64)
        shared = CsrRows(starts, np.empty(room, np.int32), np.empty(room))
        B = CsrRows(self._pair_ptr, self._partner, weights)
        kernels._overlaps(B, self._rows, self._diagonal, self._row, shared)
        return shared

    def compact(self, feature: int) -> int:
        """Return the place of a feature of X in `features`. A feature without entries has the place
        of the feature that stands for it.
        """
        place = int(np.searchsorted(self.features, feature))
        is_used = place < self.features.size and self.features[place] == feature
        return place if is_used else self._absent

    def set_slopes(self, slopes: np.ndarray) -> None:
        """Set the weights of the pairs from the slopes ``g_t``, shape (T,). The other methods use
        these weights.
        """
        kernels._pair_weights(
            slopes, self._same, self._other, self.weights, self._near_pair, self._near.values
        )
        if self._overlaps is not None:
            kernels._diagonal_of_overlaps(self.weights, self._overlaps, self._diagonal)
        else:
            self._add_overlaps(self.weights, 0)

    def diagonal(self) -> np.ndarray:
        """Return ``diag(X'BX)``, shape (m,). The next call of :meth:`set_slopes` overwrites it."""
        return self._diagonal

    def row(self, i: int) -> np.ndarray:
        """Return row i of ``X'(B + B')X``, shape (m,). The next call overwrites it."""
        kernels._gradient_row(i, self._near, self._columns, self._rows, self._sums, self._row)
        return self._row

    def atom_scores(self, i: int, j: int, sign: int, scale: float) -> np.ndarray:
        """Return ``<A_t, scale (e_i + sign e_j)(e_i + sign e_j)'>``, shape (T,); i and j are places
        in `features`.
        """
        out = np.empty(len(self))
        kernels._atom_scores(i, j, sign, scale, self._columns, self._triplets, self._column, out)
        return out

    def atom_values(self, atoms: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write ``p_k' B p_k`` into ``out[k]`` for each atom k, and return these entries of `out`.
        Here ``p_k = X(e_i + sign e_j)``, so the value is ``-T/scale <G, atom k>``.
        """
        kernels._atom_values(atoms, self.diagonal(), self._near, self._columns, self._column, out)
        return out[: len(atoms)]


def _factors(weights, T):
    """Return the rows of positive weight, and all weights divided by the mean of the positive ones.
    If the positive weights are equal, the second result is None.
    """
    weights = check_vector(weights, T, "weights", low=0.0)
    top = weights.max()
    if not top > 0.0:
        raise ValueError("weights must hold a positive weight, all are 0")
    shares = weights / top  # so that the sum does not overflow
    positive = shares > 0.0
    equal = (shares[positive] == 1.0).all()
    return np.flatnonzero(positive), None if equal else shares * (
        np.count_nonzero(positive) / shares.sum()
    )


def _arrays(X):
    """Return the :class:`CsrRows` of a CSR array, or of the transpose of a CSC array."""
    return CsrRows(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)


def _pointers(sorted_ids, n):
    return np.searchsorted(sorted_ids, np.arange(n + 1)).astype(np.int64)
