"""Terms that are differences of two pairs, ``u u' - v v'``, computed from the pairs that they
share.

Triplets, quadruplets and single pairs are such terms. A pass over all terms costs O(n d^2 + pairs d
+ T), and never d^2 for each term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from safescreen._checks import check_flag, check_mask
from safescreen.losses import Loss
from safescreen.rounding import FLOOR, UNIT, ElementLike, gamma, norm_upper, upper
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms.base import InnerProducts, LossSums, Terms, levels_of
from safescreen.terms.indices import number_pairs
from safescreen.terms.pairs import PairTable, Points


class PairDifferences(Terms):
    """Terms ``a_t = u u' - v v'``: u is the difference of an *other* pair of points, v the
    difference of a *same* pair.

    Attributes
    ----------
    points : Points
    same_pairs, other_pairs : PairTable
        The distinct pairs.
    same, other : int32 arrays of shape (T,)
        Numbers of the two pairs of each term.

    Notes
    -----
    Memory: 16 bytes per term (two pair numbers of 4 bytes and one norm), 8 more for weights, 8 more
    for thresholds that differ by term, and O(pairs + n d). Cost: O(n d^2 + pairs d + T) for all
    margins, or for a sum over all terms; d takes the place of d^2 for a diagonal metric.

    Rounding: every inner product has a bound of its error, which is proportional to ``||x||`` and
    to the scale of the two pairs, see :class:`safescreen.terms.pairs.PairTable`. Points are centred
    first; that changes no difference by more than this bound allows.
    """

    offers = frozenset({"singles", "elements", "curvature", "differences"})

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
        """Return the terms with the attributes that have the names of the arguments. Nothing is
        checked.
        """
        self = cls.__new__(cls)
        self._set(points, same_pairs, other_pairs, same, other, weights)
        return self

    def _build(self, X, same_index, other_index, diagonal, weights):
        """Set up the terms from two arrays of pairs, shape (T, 2), one row per term."""
        points = Points(X, diagonal=check_flag(diagonal, "diagonal")).merged()
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
        self._feature_norms: NDArray | None = None
        self.weights = weights
        if points.diagonal:
            self.offers = type(self).offers | {"features"}
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
        """Upper bounds of ``||a_t||``, shape (T,). They are computed once, in O(T d)."""
        if self._norms is None:
            self._norms = np.empty(len(self))
            p = self.points
            kernels.term_norms(self._pair_numbers(), p.norms, p.diagonal, self._norms)
        return self._norms

    @property
    def longest(self) -> float:
        """Upper bound of all norms, computed without the norms."""
        return self.points.longest

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the inner products with x. This call computes the values of the pairs. A margin is
        then one subtraction.
        """
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
        """Return sums over all terms; cost O(n d^2 + pairs d + T).

        No array of length T is made if the loss is smooth and `alpha` is not given.
        """
        # 32 d roundings are for the error of a feasible x: the margin of a term of scale g moves by
        # at most g ||dx||
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
        # loss(m) + loss*(-a) + a m, if the error of m is at most delta: quadratic in delta, and at
        # most linear
        bound = delta * delta / (2.0 * loss.smoothing)
        if loss.has_linear_region:
            bound = min(loss.cap * delta, bound)
        fenchel = upper(self._total_weight * bound, 8)
        # a second bound: the sum of the squares over the pairs, in place of the number of terms
        # times the largest square
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
        """Return ``(sum_t w_t weights_t a_t, error bound)``; cost O(T + pairs d + n d^2)."""
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
        """Return ``(a, errors)``: some terms written out, shape (B, d, d) or (B, d), and bounds of
        their errors.

        Rules that look at single terms call this method. It takes d^2 operations and numbers per
        term. `errors`, shape (B,), bounds the norm of the rounding error: the error of a difference
        is at most ``2 u s``, see :class:`safescreen.terms.pairs.PairTable`, and the error of its
        square at most ``4 u s w + u w^2``.
        """
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
        """Return the function ``v -> sum_t w_t/width <a_t, v> a_t`` over some terms; a call costs
        O(B + pairs d + n d^2).
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

    def differences(self) -> Self:
        """Return the terms themselves."""
        return self

    @property
    def n_pairs(self) -> int:
        """The number of distinct pairs."""
        return len(self.same_pairs) + len(self.other_pairs)

    def select(self, keep: NDArray) -> Self:
        """Return the terms of the mask `keep`. If many pairs are no longer used by any term, the
        unused pairs are dropped.
        """
        keep = check_mask(keep, len(self), "keep")
        return self._part(self.same[keep], self.other[keep], self.norms[keep], keep)

    def partition(
        self, status: NDArray, near: Iterable[Any] = ()
    ) -> tuple[Self, NDArray, float, NDArray]:
        """Return the result of :meth:`Terms.partition`, in one pass over the terms."""
        n = int(np.count_nonzero(status == 0))
        left = kernels.UndecidedTerms(
            same=np.empty(n, dtype=np.int32),
            other=np.empty(n, dtype=np.int32),
            norms=np.empty(n),
            numbers=np.empty(n, dtype=np.int32),
        )
        weights = np.empty(len(self.same_pairs)), np.empty(len(self.other_pairs))
        kernels.partition(self.same, self.other, self.norms, status, *weights, left)
        if self.weights is not None:
            kernels.pair_weights(self.same, self.other, self.weights * (status == 1), *weights)
        undecided = self._part(*left)
        total, error = self._gram(*weights)
        return undecided, total, error, left.numbers

    @property
    def feature_norms(self) -> NDArray:
        """Upper bounds of ``sqrt(sum_t w_t a_tj^2)``, shape (d,), for a diagonal metric. They are
        computed once, in O(T d).

        Notes
        -----
        A column is scaled by a power of two s, such that its entries z are less than 1. A
        difference of two entries is at most 2, with an error of at most 4 u. The error of its
        square is at most 24 u, and the error of the difference of two squares at most 52 u. By the
        triangle inequality the error of the root of the sum is at most ``52 u sqrt(sum_t w_t)``.
        """
        self.require("features", by="feature_norms")
        if self._feature_norms is not None:
            return self._feature_norms
        p = self.points
        exponents = np.maximum(np.frexp(np.abs(p.X).max(axis=0, initial=0.0))[1], -500)
        scales = np.ldexp(1.0, -exponents)
        weights = np.ones(1) if self.weights is None else self.weights
        squares = np.zeros(p.d)
        step = int(self.weights is not None)
        kernels.feature_squares(self._pair_numbers(), weights, step, scales, squares)
        lengths = np.sqrt(upper(squares, len(self) + 8))
        lengths += 64.0 * UNIT * np.sqrt(self._total_weight)
        with np.errstate(over="ignore"):
            norms = upper(np.ldexp(lengths, 2 * exponents), 8) + FLOOR
        self._feature_norms = norms
        return norms

    def on_features(self, keep: NDArray) -> Self:
        """Return the terms restricted to the coordinates of the mask `keep`, with their norms in
        these coordinates.
        """
        self.require("features", by="leaving features out")
        keep = check_mask(keep, self.points.d, "keep")
        points = self.points.on_features(keep)
        fewer = type(self).__new__(type(self))
        fewer.threshold = self.threshold
        same_pairs = PairTable(points, self.same_pairs.pairs)
        other_pairs = PairTable(points, self.other_pairs.pairs)
        fewer._assign(points, same_pairs, other_pairs, self.same, self.other, self.weights)
        # bounds for all coordinates are bounds for some of them
        fewer._length = self._length
        fewer._square = self._square
        return fewer

    def _pair_numbers(self):
        return kernels.PairNumbers(
            X=self.points.X,
            same_rows=self.same_pairs.rows,
            other_rows=self.other_pairs.rows,
            same=self.same,
            other=self.other,
        )

    def _part(self, same, other, norms, numbers):
        same_pairs, same = self.same_pairs.compact(same)
        other_pairs, other = self.other_pairs.compact(other)
        part = type(self).__new__(type(self))
        part.threshold, weights = levels_of(self, numbers)
        points = self.points
        if same_pairs is not self.same_pairs or other_pairs is not self.other_pairs:
            points, same_pairs, other_pairs = _compact_points(points, same_pairs, other_pairs)
        part._assign(points, same_pairs, other_pairs, same, other, weights, norms)
        # bounds for all terms are bounds for some of them
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
        # A row of Y is a sum of at most `degree` terms, X'Y has dot products of length n, and the
        # weight of a pair is a sum of `most` terms: these lengths add up to self._length. A
        # diagonal metric sums over pairs instead of over points, so it needs a larger length.
        length = self._length
        if self.points.diagonal:
            length += self.n_pairs
        scale = np.dot(same_weights, self.same_pairs.scales) + np.dot(
            other_weights, self.other_pairs.scales
        )
        return upper(gamma(length) * float(scale), self.n_pairs + 4)


class _Side(NamedTuple):
    """One of the two pairs of each term: the table of the distinct pairs, and for each term the
    number of its pair in that table.
    """

    table: PairTable
    numbers: NDArray

    def counts(self, weights=None):
        """Return the number of terms of each pair, or the sum of their weights."""
        return np.bincount(self.numbers, weights, minlength=len(self.table))

    def most_terms(self):
        """Return the largest number of terms that share a pair of two different points."""
        return int((self.counts() * self.table.proper()).max(initial=0))

    def square(self, weights, most):
        """Return an upper bound of twice the sum of the terms' squared scales. No pair has more
        than `most` terms.
        """
        total = float(np.dot(self.counts(weights), self.table.scales**2))
        return 2.0 * upper(total, len(self.table) + most + 4)


def _compact_points(points, *tables):
    """Return the points and the tables without the points that are in no pair, if more than a third
    of all points are in no pair.
    """
    used = np.zeros(len(points.X), dtype=np.bool_)
    for table in tables:
        used[table.rows] = True
    if 3 * np.count_nonzero(used) >= 2 * len(used):
        return points, *tables
    points = points.part(np.flatnonzero(used))
    return points, *(table.among(points) for table in tables)
