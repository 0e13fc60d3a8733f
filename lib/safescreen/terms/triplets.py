"""Triplets (anchor, same, other), factored through the pairs they share: O(n d^2 + pairs d + T) a pass, never d^2 a triplet."""

import numpy as np

from safescreen._checks import check_labels, check_points, check_vector
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.rounding import gamma, norm_upper, upper
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms.base import LossSums, Terms
from safescreen.terms.neighbors import anchor_lists
from safescreen.terms.pairs import PairTable, Points

__all__ = ["Triplets"]


class Triplets(Terms):
    """Triplet terms ``H_ijl = (x_i - x_l)(x_i - x_l)' - (x_i - x_j)(x_i - x_j)'`` (STS19 section 2.1).

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    index : int array of shape (T, 3)
        One triplet a row: anchor i, point j of the same class, point l of another class.
    diagonal : bool
        Keep only the diagonal of ``H``: the metric is a vector of d non-negative weights (STS19 section 6.2).

    Raises
    ------
    ValueError
        No triplets, an index out of range, a point paired with itself, or the contradictory triplets (i, j, l) and (i, l, j).

    Notes
    -----
    Memory: 16 bytes a triplet (two 4-byte pair numbers, one norm) and O(pairs + n d). Margins and their adjoint cost
    O(n d^2 + pairs d + T), with d in place of d^2 for a diagonal metric.

    Rounding: every inner product comes with a bound of its error, proportional to ``||x||`` and to the scale of the two pairs,
    see :class:`safescreen.terms.pairs.PairTable`; points are centred first, which changes no difference by more than that.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> triplets = Triplets(X, [[0, 1, 2]])
    >>> triplets.margins(np.eye(2)).tolist()
    [3.0]
    """

    def __init__(self, X, index, *, diagonal=False):
        X = check_points(X)
        index = _check_index(index, X.shape[0])
        same_pairs, same = _number_pairs(index[:, 0], index[:, 1], X.shape[0])
        other_pairs, other = _number_pairs(index[:, 0], index[:, 2], X.shape[0])
        _check_not_contradictory(same_pairs, other_pairs, same, other, X.shape[0])
        points = Points(X, diagonal=bool(diagonal))
        self._set(points, PairTable(points, same_pairs), PairTable(points, other_pairs), same, other)

    @classmethod
    def from_labels(cls, X, y, k=None, *, diagonal=False):
        """Return the triplets of labelled points.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Class labels.
        k : int or None
            For each anchor, the k nearest points of its class times the k nearest of the other classes; None: all of them.
        diagonal : bool
            As in the constructor.

        Returns
        -------
        Triplets
            Ordered by anchor, then same, then other.

        Examples
        --------
        >>> len(Triplets.from_labels(np.arange(6.0).reshape(6, 1), [0, 0, 0, 1, 1, 1]))
        36
        """
        X = check_points(X)
        lists = labelled_lists(X, y, k)
        points = Points(X, diagonal=bool(diagonal))
        same = np.empty(lists.n_triplets, dtype=np.int32)
        other = np.empty(lists.n_triplets, dtype=np.int32)
        kernels.fill_products(lists.same_ptr, lists.other_ptr, same, other)
        self = cls.__new__(cls)
        self._set(points, PairTable(points, lists.pairs("same")), PairTable(points, lists.pairs("other")), same, other)
        return self

    def _set(self, points, same_pairs, other_pairs, same, other, parent=None, norms=None):
        self._points = points
        self._same_pairs, self._other_pairs = same_pairs, other_pairs
        self._same, self._other = same, other
        self._norms = norms
        self.cone = PSDCone(points.d) if not points.diagonal else NonNegativeCone(points.d)
        if parent is not None:  # bounds of the whole stay bounds of a part
            self._length, self._square = parent._length, parent._square
            return
        counts = [np.bincount(ids, minlength=1) for ids in (same, other)]
        degrees = sum(table.max_degree() for table in (same_pairs, other_pairs))
        self._length = points.n + degrees + int(max(c.max() for c in counts)) + 20
        self._square = 0.0
        for c, table in zip(counts, (same_pairs, other_pairs), strict=True):
            self._square += 2.0 * upper(float(np.dot(c[: len(table)], table.scales**2)), len(table) + 4)

    def __len__(self):
        return self._same.size

    def __repr__(self):
        kind = "diagonal" if self._points.diagonal else "full"
        return f"<{len(self)} triplets of {self._points.n} points in {self._points.d} dimensions, {kind} metric>"

    @property
    def index(self):
        """Triplets as an int32 array of shape (T, 3): anchor, same, other."""
        return np.column_stack(
            (
                self._same_pairs.pairs[self._same, 0],
                self._same_pairs.pairs[self._same, 1],
                self._other_pairs.pairs[self._other, 1],
            )
        )

    @property
    def norms(self):
        """Upper bounds of ``||H_t||``, shape (T,); computed once, O(T d)."""
        if self._norms is None:
            self._norms = np.empty(len(self))
            p = self._points
            args = (self._same_pairs.pairs, self._other_pairs.pairs, self._same, self._other, p.diagonal)
            kernels.triplet_norms(p.X, p.norms, *args, self._norms)
        return self._norms

    def inner_products(self, x):
        """Return the pair values of x, from which chunks of margins are one subtraction a triplet."""
        return TripletProducts(self, x)

    def loss_sums(self, x, loss, alpha=None):
        """Return sums over all triplets; O(n d^2 + pairs d + T), no array of length T."""
        same_values = self._same_pairs.values(x)
        other_values = self._other_pairs.values(x)
        tau = np.atleast_1d(np.asarray(self.threshold, dtype=float))
        step = int(tau.size > 1)
        # a margin's error, the rounding of a feasible x included (terms of scale g move by at most g times ||dx||)
        relative = gamma(34 * self._points.d + 10) * norm_upper(x)
        delta = relative * (self._same_pairs.largest + self._other_pairs.largest)
        delta += gamma(8) * (loss.gamma + float(np.abs(tau).max(initial=0.0)))
        arrays = (self._same, self._other, same_values, other_values, tau, step, loss.gamma)
        fenchel = upper(len(self) * _conjugate_slack(delta, loss.gamma), 8)
        if loss.gamma > 0.0:  # sum of squares over pairs instead of the largest one
            square = 2.0 * relative**2 * self._square + len(self) * 2.0 * (8e-16 * loss.gamma) ** 2
            fenchel = min(fenchel, upper(square / loss.gamma, 8))
        if alpha is None:
            sums = np.empty(4)
            weights = np.empty(len(self._same_pairs)), np.empty(len(self._other_pairs))
            kernels.loss_sums(*arrays, 2.0 * delta, *weights, sums)
            adjoint, error = self._gram(*weights)
            if loss.gamma == 0.0:
                fenchel = upper(float(sums[3]) * 2.0 * delta, 4)
            return LossSums(sums[0], adjoint, error, fenchel, sums[1], sums[2])
        alpha = check_vector(alpha, len(self), "alpha", low=0.0, high=1.0)
        sums = np.empty(6)
        kernels.fenchel_sums(*arrays, alpha, sums)
        adjoint, error = self.weighted_sum(alpha)
        fenchel += upper(float(sums[3] + sums[4] * 2.0 * delta + gamma(16) * sums[5]), len(self) + 8)
        return LossSums(sums[0], adjoint, error, fenchel, sums[1], sums[2])

    def weighted_sum(self, weights):
        """Return ``(sum_t weights_t H_t, error bound)``; O(T + pairs d + n d^2)."""
        same_weights, other_weights = np.empty(len(self._same_pairs)), np.empty(len(self._other_pairs))
        kernels.pair_weights(self._same, self._other, weights, same_weights, other_weights)
        adjoint, error = self._gram(same_weights, other_weights)
        if weights.dtype.kind == "f" and weights.size and weights.min() < 0.0:
            kernels.pair_weights(self._same, self._other, np.abs(weights), same_weights, other_weights)
            error = self._gram_error(same_weights, other_weights)
        return adjoint, error

    def elements(self, numbers):
        """Return ``(H, errors)``: the triplets of those numbers written out, shape (B, d, d) or (B, d), and bounds of their errors.

        For rules that look at single terms: d^2 operations and numbers a triplet. `errors`, shape (B,), bounds the norm of the rounding
        error: differences are off by ``2 u s``, see :class:`safescreen.terms.pairs.PairTable`, their squares by ``4 u s w + u w^2``.
        """
        same, other = self._same[numbers], self._other[numbers]
        X = self._points.X
        u, v = (X[p.T[0]] - X[p.T[1]] for p in (self._other_pairs.pairs[other], self._same_pairs.pairs[same]))
        errors = upper(gamma(12) * (self._other_pairs.scales[other] + self._same_pairs.scales[same])) + 1e-300
        if self._points.diagonal:
            return u * u - v * v, errors
        return u[:, :, None] * u[:, None, :] - v[:, :, None] * v[:, None, :], errors

    def select(self, keep):
        """Return the triplets of the mask `keep`; pairs that none of them uses are dropped once they are many."""
        keep = self._check_keep(keep)
        return self._part(self._same[keep], self._other[keep], self.norms[keep], keep)

    def take(self, ids):
        """Return the triplets with these numbers, ascending; O(numbers + pairs)."""
        return self._part(self._same[ids], self._other[ids], self.norms[ids], ids)

    def tally(self):
        """Return a tally that counts triplets on their pairs, in exact integers."""
        return TripletTally(self)

    def partition(self, status):
        """Return the triplets left, the sum of the linear ones, its error bound, and the numbers of those left; one pass."""
        n = int(np.count_nonzero(status == 0))
        same, other, left = (np.empty(n, dtype=np.int32) for _ in range(3))
        norms = np.empty(n)
        weights = np.empty(len(self._same_pairs)), np.empty(len(self._other_pairs))
        kernels.partition(self._same, self._other, self.norms, status, *weights, same, other, norms, left)
        return self._part(same, other, norms, left), *self._gram(*weights), left

    def _part(self, same, other, norms, where):
        same_pairs, same = self._same_pairs.compact(same)
        other_pairs, other = self._other_pairs.compact(other)
        part = Triplets.__new__(Triplets)
        part._set(self._points, same_pairs, other_pairs, same, other, parent=self, norms=norms)
        part.threshold = self.threshold[where] if np.ndim(self.threshold) else self.threshold
        return part

    def _gram(self, same_weights, other_weights):
        p = self._points
        if p.diagonal:
            adjoint = np.zeros(p.d)
            kernels.add_squares(p.X, self._other_pairs.pairs, other_weights, 1.0, adjoint)
            kernels.add_squares(p.X, self._same_pairs.pairs, same_weights, -1.0, adjoint)
        else:
            Y = np.zeros_like(p.X)
            kernels.add_laplacian(p.X, self._other_pairs.pairs, other_weights, 1.0, Y)
            kernels.add_laplacian(p.X, self._same_pairs.pairs, same_weights, -1.0, Y)
            adjoint = p.X.T @ Y
            adjoint = 0.5 * (adjoint + adjoint.T)
        return adjoint, self._gram_error(same_weights, other_weights)

    def _gram_error(self, same_weights, other_weights):
        # Y sums at most `degree` terms a row, X'Y is a dot product of length n, a weight sums `count` numbers in [0, 1]:
        # the lengths add up to self._length (for a diagonal metric: pairs instead of n, the same bound with more terms)
        length = self._length
        if self._points.diagonal:
            length += len(self._same_pairs) + len(self._other_pairs)
        scale = np.dot(same_weights, self._same_pairs.scales) + np.dot(other_weights, self._other_pairs.scales)
        return upper(gamma(length) * float(scale), len(self._same_pairs) + len(self._other_pairs) + 4)


class TripletProducts:
    """Margins ``<H_t, x>`` of triplets at one x, a chunk at a time."""

    def __init__(self, triplets, x):
        self._triplets = triplets
        self._values = [table.values(x) for table in (triplets._same_pairs, triplets._other_pairs)]
        self._errors = [table.errors(x) for table in (triplets._same_pairs, triplets._other_pairs)]

    def chunk(self, start, stop):
        """Return ``(values, errors)`` of triplets ``start:stop``."""
        values, errors = np.empty(stop - start), np.empty(stop - start)
        ids = self._triplets._same[start:stop], self._triplets._other[start:stop]
        kernels.chunk_products(*ids, *self._values, *self._errors, values, errors)
        return values, errors

    def at(self, ids):
        """Return ``(values, errors)`` of the triplets with these numbers."""
        values, errors = np.empty(ids.size), np.empty(ids.size)
        pairs = self._triplets._same[ids], self._triplets._other[ids]
        kernels.chunk_products(*pairs, *self._values, *self._errors, values, errors)
        return values, errors


class TripletTally:
    """The sum of a changing set of triplets, kept as whole numbers on pairs; a change costs O(changed), the sum O(pairs d + n d^2)."""

    def __init__(self, triplets):
        self._triplets = triplets
        self._weights = np.zeros(len(triplets._same_pairs)), np.zeros(len(triplets._other_pairs))

    def add(self, ids):
        """Take triplets into the set."""
        kernels.count(self._triplets._same, self._triplets._other, ids, 1.0, *self._weights)

    def remove(self, ids):
        """Take triplets out of the set."""
        kernels.count(self._triplets._same, self._triplets._other, ids, -1.0, *self._weights)

    def total(self):
        """Return ``(sum of the set, bound of its rounding error)``."""
        return self._triplets._gram(*self._weights)


def labelled_lists(X, y, k):
    """Return the checked :class:`AnchorLists` of labelled points; ValueError if they make no triplet."""
    y = check_labels(y, X.shape[0])
    if k is not None:
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise TypeError(f"k must be a positive int or None, got {type(k).__name__}")
        if k < 1:
            raise ValueError(f"k must be a positive int or None, got {k}")
    lists = anchor_lists(X, y, k)
    if lists.n_triplets == 0:
        raise ValueError("y must have a class with at least two points to make triplets, found only singletons")
    return lists


def _conjugate_slack(delta, gamma_):
    # loss(m) + loss*(-a) + a m when m is off by at most delta: Lipschitz, and quadratic for gamma > 0
    return delta if gamma_ == 0.0 else min(delta, delta * delta / (2.0 * gamma_))


def _check_index(index, n):
    index = np.asarray(index)
    if index.ndim != 2 or index.shape[1:] != (3,):
        raise ValueError(f"index must have shape (T, 3): anchor, same, other; got {index.shape}")
    if index.shape[0] == 0:
        raise ValueError("index must hold at least one triplet, got none")
    if index.dtype.kind not in "iu":
        raise TypeError(f"index must hold integers, got dtype {index.dtype}")
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= n:
        raise ValueError(f"index must lie in 0..{n - 1}, found {low if low < 0 else high}")
    for a, b, names in ((0, 1, "anchor and same"), (0, 2, "anchor and other"), (1, 2, "same and other")):
        bad = np.flatnonzero(index[:, a] == index[:, b])
        if bad.size:
            raise ValueError(f"index: {names} must be different points, row {bad[0]} is {index[bad[0]].tolist()}")
    return index


def _number_pairs(first, second, n):
    """Return the distinct (first, second) pairs, sorted, as (P, 2) int32, and each row's pair number as int32.

    Row numbers are looked up in pieces: 16 bytes a row at the peak.
    """
    keys = first.astype(np.int64) * n + second
    distinct = np.unique(keys)
    numbers = np.empty(keys.size, dtype=np.int32)
    for start in range(0, keys.size, 1 << 16):
        numbers[start : start + (1 << 16)] = np.searchsorted(distinct, keys[start : start + (1 << 16)])
    return np.column_stack((distinct // n, distinct % n)).astype(np.int32), numbers


def _check_not_contradictory(same_pairs, other_pairs, same, other, n):
    same_keys = same_pairs[:, 0].astype(np.int64) * n + same_pairs[:, 1]
    other_keys = other_pairs[:, 0].astype(np.int64) * n + other_pairs[:, 1]
    both = np.intersect1d(same_keys, other_keys, assume_unique=True)
    if both.size < 2:
        return
    rows = np.flatnonzero(np.isin(same_keys, both)[same] & np.isin(other_keys, both)[other])
    i, j, m = same_pairs[same[rows], 0], same_pairs[same[rows], 1], other_pairs[other[rows], 1]
    code = np.where(j < m, j * np.int64(n) + m, m * np.int64(n) + j) + i * np.int64(n) * n
    order = np.lexsort((j < m, code))
    code, sense = code[order], (j < m)[order]
    bad = np.flatnonzero((code[1:] == code[:-1]) & (sense[1:] != sense[:-1]))
    if bad.size:
        t = order[bad[0]]
        found = f"({i[t]}, {j[t]}, {m[t]}) and ({i[t]}, {m[t]}, {j[t]})"
        raise ValueError(f"index must not hold contradictory triplets, found {found}")
