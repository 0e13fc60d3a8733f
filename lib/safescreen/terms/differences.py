"""Terms that are differences of two pairs, ``u u' - v v'``, factored through the pairs they share.

Triplets, quadruplets and single pairs are cases of it: O(n d^2 + pairs d + T) a pass, never d^2 a
term."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from safescreen._checks import check_mask
from safescreen.losses import Loss
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms.base import InnerProducts, LossSums, Terms
from safescreen.terms.indices import number_pairs
from safescreen.terms.pair_system import PairSystem
from safescreen.terms.pairs import PairTable, Points


class PairDifferences(Terms):
    """Terms ``a_t = u u' - v v'``, u the difference of an *other* pair of points and v that of a
    *same* pair.

    Attributes
    ----------
    points : Points
    same_pairs, other_pairs : PairTable
        The distinct pairs.
    same, other : int32 arrays of shape (T,)
        Numbers of each term's two pairs.

    Notes
    -----
    Memory: 16 bytes a term (two 4-byte pair numbers, one norm), 8 more for weights or thresholds of
    their own, and O(pairs + n d). Margins and their adjoint cost O(n d^2 + pairs d + T), with d in
    place of d^2 for a diagonal metric.

    Rounding: every inner product comes with a bound of its error, proportional to ``||x||`` and to
    the scale of the two pairs, see :class:`safescreen.terms.pairs.PairTable`; points are centred
    first, which changes no difference by more than that."""

    offers = frozenset({"singles", "elements", "curvature", "systems"})

    @classmethod
    def of(
        cls,
        points: Points,
        same_pairs: PairTable,
        other_pairs: PairTable,
        same: NDArray,
        other: NDArray,
        weights: NDArray | None = None,
    ) -> Self:
        """Return the terms of these parts, which are the attributes of that name; nothing is
        checked.
        """
        self = cls.__new__(cls)
        self._set(points, same_pairs, other_pairs, same, other, weights)
        return self

    def _build(self, X, same_index, other_index, diagonal, weights):
        """Set up from two arrays of pairs, shape (T, 2), one row a term."""
        points = Points(X, diagonal=bool(diagonal)).merged()
        same_rows, same = number_pairs(same_index, X.shape[0])
        other_rows, other = number_pairs(other_index, X.shape[0])
        same_pairs = PairTable(points, same_rows)
        other_pairs = PairTable(points, other_rows)
        self._set(points, same_pairs, other_pairs, same, other, weights)

    def _set(self, points, same_pairs, other_pairs, same, other, weights=None):
        self._assign(points, same_pairs, other_pairs, same, other, weights)
        sides = (_Side(same_pairs, same), _Side(other_pairs, other))
        degrees = sum(side.table.max_degree() for side in sides)
        most = max(side.most_terms() for side in sides)
        self._length = points.n + degrees + most + 20
        self._square = sum(side.square(weights, most) for side in sides)

    def _assign(self, points, same_pairs, other_pairs, same, other, weights, norms=None):
        self.points = points
        self.same_pairs = same_pairs
        self.other_pairs = other_pairs
        self.same = same
        self.other = other
        self._norms = norms
        self.weights = weights
        self._total_weight = (
            float(len(self)) if weights is None else upper(float(weights.sum()), len(self) + 2)
        )
        self.cone = points.cone

    def __len__(self):
        return self.same.size

    def __repr__(self):
        return f"<{len(self)} {type(self).__name__.lower()} of {self.points}>"

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||a_t||``, shape (T,); computed once, O(T d)."""
        if self._norms is None:
            self._norms = np.empty(len(self))
            p = self.points
            args = (self.same_pairs.rows, self.other_pairs.rows, self.same, self.other, p.diagonal)
            kernels.term_norms(p.X, p.norms, *args, self._norms)
        return self._norms

    @property
    def longest(self) -> float:
        """Upper bound of the norms: differences are at most twice as long as the points."""
        return 8.0 * float(self.points.norms.max(initial=0.0)) ** 2

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the pair values of x, from which chunks of margins are one subtraction a term."""
        return self._products(x, 2 * self.points.d + 10)

    def _products(self, x, roundings):
        values = self._pair_values(x)
        bounds = [table.errors(x, roundings) for table in (self.same_pairs, self.other_pairs)]

        def chunk(start, stop):
            same, other = self.same[start:stop], self.other[start:stop]
            margins = np.empty(same.size)
            errors = np.empty(same.size)
            kernels.chunk_products(same, other, *values, *bounds, margins, errors)
            return margins, errors

        return InnerProducts(chunk)

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all terms; O(n d^2 + pairs d + T), no array of length T where the
        loss is smooth and alpha is its own.
        """
        # that of a feasible x included: terms of scale g move by at most g times ||dx||
        roundings = 34 * self.points.d + 10
        if alpha is not None or loss.smoothing == 0.0:
            return margin_sums(self, self._products(x, roundings), loss, alpha)
        tau, _ = levels(self)
        farthest = float(np.abs(tau).max(initial=0.0))
        x_norm = norm_upper(x)
        scale = self.same_pairs.largest + self.other_pairs.largest
        relative = gamma(roundings) * x_norm
        # the largest slack where the loss is quadratic
        slack = loss.width if loss.has_linear_region else farthest + x_norm * scale
        delta = relative * scale + gamma(8) * (slack + farthest)
        # loss(m) + loss*(-a) + a m when m is off by at most delta: quadratic, and Lipschitz
        bound = delta * delta / (2.0 * loss.smoothing)
        if loss.has_linear_region:
            bound = min(loss.cap * delta, bound)
        fenchel = upper(self._total_weight * bound, 8)
        # sum of squares over pairs instead of the largest one
        square = (
            2.0 * relative * relative * self._square + self._total_weight * 1.28e-30 * slack * slack
        )
        sums = np.empty(3)
        weights = (np.empty(len(self.same_pairs)), np.empty(len(self.other_pairs)))
        terms = (self.same, self.other)
        values = tuple(self._pair_values(x))
        shape = (loss.smoothing, loss.cap)
        kernels.loss_sums(terms, values, tau, self.weights, *shape, weights, sums)
        adjoint, error = self._gram(*weights)
        return LossSums(
            loss=sums[0],
            adjoint=adjoint,
            adjoint_error=error,
            fenchel=min(fenchel, upper(square / loss.smoothing, 8)),
            alpha_sum=sums[1],
            alpha_square=sums[2],
        )

    def _pair_values(self, x):
        transformed = self.points.transform(x)
        return [table.values(transformed) for table in (self.same_pairs, self.other_pairs)]

    def weighted_sum(self, weights: NDArray) -> tuple[NDArray, float]:
        """Return ``(sum_t w_t weights_t a_t, error bound)``; O(T + pairs d + n d^2)."""
        if self.weights is not None:
            weights = self.weights * weights
        same_weights = np.empty(len(self.same_pairs))
        other_weights = np.empty(len(self.other_pairs))
        kernels.pair_weights(self.same, self.other, weights, same_weights, other_weights)
        adjoint, error = self._gram(same_weights, other_weights)
        if weights.dtype.kind == "f" and weights.size and weights.min() < 0.0:
            kernels.pair_weights(
                self.same, self.other, np.abs(weights), same_weights, other_weights
            )
            error = self._gram_error(same_weights, other_weights)
        return adjoint, error

    def elements(self, numbers: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(a, errors)``: the terms of those numbers written out, shape (B, d, d) or (B,
        d), and bounds of their errors.

        For rules that look at single terms: d^2 operations and numbers a term. `errors`, shape
        (B,), bounds the norm of the rounding error: differences are off by ``2 u s``, see
        :class:`safescreen.terms.pairs.PairTable`, their squares by ``4 u s w + u w^2``."""
        same, other = self.same[numbers], self.other[numbers]
        u = self.other_pairs.differences(other)
        v = self.same_pairs.differences(same)
        errors = (
            upper(gamma(12) * (self.other_pairs.scales[other] + self.same_pairs.scales[same]))
            + 1e-300
        )
        if self.points.diagonal:
            return u * u - v * v, errors
        return u[:, :, None] * u[:, None, :] - v[:, :, None] * v[:, None, :], errors

    def curvature(self, numbers: NDArray, width: float) -> Callable[[NDArray], NDArray]:
        """Return the function ``v -> sum_t w_t/width <a_t, v> a_t`` over the terms of those
        numbers, in O(B + pairs d + n d^2).
        """
        terms = self._part(self.same[numbers], self.other[numbers], None, numbers)
        scales = 1.0 / width if terms.weights is None else terms.weights / width
        weights = np.empty(len(terms.same_pairs)), np.empty(len(terms.other_pairs))

        def product(v):
            same_values, other_values = terms._pair_values(v)
            kernels.pair_weights(
                terms.same,
                terms.other,
                scales * (other_values[terms.other] - same_values[terms.same]),
                *weights,
            )
            return terms._gram(*weights)[0]

        return product

    def system(self) -> PairSystem:
        """Return the :class:`PairSystem` of the terms; O(T)."""
        return PairSystem(self)

    @property
    def system_rows(self) -> int:
        """Number of the terms or of their pairs, whichever is smaller."""
        return min(len(self), len(self.same_pairs) + len(self.other_pairs))

    def select(self, keep: NDArray) -> Self:
        """Return the terms of the mask `keep`; pairs that none of them uses are dropped once
        they are many.
        """
        keep = check_mask(keep, len(self), "keep")
        return self._part(self.same[keep], self.other[keep], self.norms[keep], keep)

    def partition(self, status: NDArray) -> tuple[Self, NDArray, float, NDArray]:
        """Return the terms left, the sum of the linear ones, its error bound, and the numbers of
        those left; one pass.
        """
        n = int(np.count_nonzero(status == 0))
        same = np.empty(n, dtype=np.int32)
        other = np.empty(n, dtype=np.int32)
        numbers = np.empty(n, dtype=np.int32)
        norms = np.empty(n)
        weights = np.empty(len(self.same_pairs)), np.empty(len(self.other_pairs))
        kernels.partition(
            self.same, self.other, self.norms, status, *weights, same, other, norms, numbers
        )
        if self.weights is not None:
            kernels.pair_weights(self.same, self.other, self.weights * (status == 1), *weights)
        undecided = self._part(same, other, norms, numbers)
        total, error = self._gram(*weights)
        return undecided, total, error, numbers

    @property
    def work(self) -> float:
        """Operations of an evaluation: two products with the points, two passes over the pairs,
        one over the terms. ``benchmarks/fit_counts.py`` measures them.
        """
        return self._products_work(4.0) + 2.0 * len(self)

    @property
    def screening_work(self) -> float:
        """Operations of a pass of the sphere rule and of leaving out what it finds."""
        return self._products_work(8.0) + 4.0 * len(self)

    @property
    def preparation_work(self) -> float:
        """Operations of the norms as long as they are not known."""
        return (4.0 * self.points.d + 8.0) * len(self) if self._norms is None else 0.0

    def _products_work(self, a_pair):
        # a vector of weights is not multiplied with the points
        products = 0.0 if self.points.diagonal else 0.06 * self.points.X.size * self.points.d
        n_pairs = len(self.same_pairs) + len(self.other_pairs)
        return products + (self.points.d + a_pair) * n_pairs

    def sample(self) -> Self:
        """Return a part of the terms, see :meth:`Terms.sample`; norms of its own only."""
        numbers = self._spread()
        return self._part(self.same[numbers], self.other[numbers], None, numbers)

    def _part(self, same, other, norms, numbers):
        same_pairs, same = self.same_pairs.compact(same)
        other_pairs, other = self.other_pairs.compact(other)
        part = type(self).__new__(type(self))
        part.threshold, weights = self.levels_of(numbers)
        points = self.points
        if same_pairs is not self.same_pairs or other_pairs is not self.other_pairs:
            points, same_pairs, other_pairs = _compact_points(points, same_pairs, other_pairs)
        part._assign(points, same_pairs, other_pairs, same, other, weights, norms)
        # bounds of the whole stay bounds of a part
        part._length = self._length
        part._square = self._square
        return part

    def _gram(self, same_weights, other_weights):
        p = self.points
        Y = self.points.zero_rows()
        kernels.add_pairs(p.X, self.other_pairs.rows, other_weights, 1.0, p.diagonal, Y)
        kernels.add_pairs(p.X, self.same_pairs.rows, same_weights, -1.0, p.diagonal, Y)
        return p.close(Y), self._gram_error(same_weights, other_weights)

    def _gram_error(self, same_weights, other_weights):
        # Y sums at most `degree` terms a row, X'Y is a dot product of length n, a weight sums
        # `count` products: the lengths add up to self._length (for a diagonal metric: pairs instead
        # of n, the same bound with more terms)
        length = self._length
        if self.points.diagonal:
            length += len(self.same_pairs) + len(self.other_pairs)
        scale = np.dot(same_weights, self.same_pairs.scales) + np.dot(
            other_weights, self.other_pairs.scales
        )
        return upper(gamma(length) * float(scale), len(self.same_pairs) + len(self.other_pairs) + 4)


class _Side(NamedTuple):
    """One of the two pairs that each term has: the table of distinct pairs, and the number in it
    that each term's pair has.
    """

    table: PairTable
    numbers: NDArray

    def counts(self, weights=None):
        """Return how many terms have each pair, or the sum of their weights."""
        return np.bincount(self.numbers, weights, minlength=len(self.table))

    def most_terms(self):
        """Return the largest number of terms that a pair of two different points has."""
        return int((self.counts() * self.table.proper()).max(initial=0))

    def square(self, weights, most):
        """Return an upper bound of twice the sum of the terms' squared scales, each pair having
        at most `most` terms.
        """
        total = float(np.dot(self.counts(weights), self.table.scales**2))
        return 2.0 * upper(total, len(self.table) + most + 4)


def _compact_points(points, *tables):
    """Return points and tables without the points that no pair has, if those are more than a
    third.
    """
    used = np.zeros(len(points.X), dtype=np.bool_)
    for table in tables:
        used[table.rows] = True
    if 3 * np.count_nonzero(used) >= 2 * len(used):
        return points, *tables
    points = points.part(np.flatnonzero(used))
    return points, *(table.among(points) for table in tables)
