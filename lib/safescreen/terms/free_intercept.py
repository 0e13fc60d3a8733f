"""Samples with an intercept that no term of the objective penalises."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._blocks import squares
from safescreen._checks import (
    PointsLike,
    check_kernel_parameters,
    check_mask,
    check_points,
    check_scalar,
)
from safescreen.losses import Loss
from safescreen.rounding import UNIT, ElementLike, gamma, upper
from safescreen.terms._intercepts import balanced_sum, best_intercept, certain_bound
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms.base import (
    InnerProducts,
    LossSums,
    Terms,
    check_signs,
    check_terms,
)
from safescreen.terms.intercept import add_intercept
from safescreen.terms.samples import Samples

REPAIRS = 4
"""Largest number of moves of a dual point that balance the classes. Each further move removes the
rounding error of the one before.
"""


class FreeIntercept(Terms):
    """Samples whose margins contain the intercept b that is best for each x.

    ::

        L(x) = min_b sum_t w_t loss(<a_t, x> + y_t b)
        dual points: 0 <= alpha_t <= cap, sum_t w_t y_t alpha_t = 0

    L is convex, and ``L(x) + lam/2 ||x||^2`` is the problem of scikit-learn's SVC, minimised over
    b. In the formulas of the gap and of the balls b occurs only as a factor of
    ``sum_t w_t y_t alpha_t``. This sum is 0 for a dual point that balances the classes, so these
    formulas hold as they are. Since the margins contain b, the rules need more than a ball: they
    also use bounds of every best b (:meth:`regions_in`).

    Parameters
    ----------
    terms : Samples or KernelSamples
        The samples with one more feature, which is constant. Its coefficient is a penalised
        intercept, with which solvers work. The feature changes no result, because its coefficient
        is 0 at the solution.
    y : array of shape (n,)
        The labels of `terms`, -1 and +1.
    constant : float > 0
        Value of the constant feature; with a kernel, the square root of the constant that was added
        to it.

    Attributes
    ----------
    penalised_terms : Terms
        `terms`.
    offset : float
        ``sum_t w_t y_t`` over the terms that have been screened into L. The sum
        ``sum_t w_t y_t alpha_t`` over the remaining terms has to be ``-offset``.

    Raises
    ------
    ValueError, TypeError
        `terms` are not samples, `y` holds other values than -1 and +1 or only one of the two, or
        `constant` is not positive.

    Notes
    -----
    Cost: a sum costs as much as a sum over `terms`, plus O(n log n) for b. Screened terms leave as
    in every family, see :meth:`partition`. The thresholds of `terms` apply to the margins with the
    intercept.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = FreeIntercept.from_points([[0.0], [1.0], [3.0]], [-1, -1, 1])
    >>> solution = ss.solve(ss.Problem(samples, ss.Hinge()), 0.01, rtol=1e-10)
    >>> round(float(solution.x[0]), 4), round(solution.intercept, 4)
    (1.0, -2.0)
    """

    stored = 0

    def __init__(self, terms: Terms, y: ArrayLike, constant: float):
        check_terms(terms).require("sweeps", by="FreeIntercept")
        signs = check_signs(y, len(terms))
        constant = check_scalar(constant, "constant", low=0.0, open_low=True)
        self._set(terms, signs, constant)

    @classmethod
    def from_points(
        cls,
        X: PointsLike,
        y: ArrayLike,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        *,
        weights: ArrayLike | None = None,
        max_gigabytes: float = 4.0,
    ) -> Self:
        """Return the samples of given points, with a constant feature that is as long as the points
        are on average.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        y : array of shape (n,)
            Labels -1 and +1; both must occur.
        kernel : {"linear", "rbf", "polynomial"}
            With "linear" an element of the space has a coefficient for each column of `X` and one
            for the constant feature. With a kernel it is an expansion in the samples.
        gamma, degree, coef0, weights, max_gigabytes
            As for :meth:`KernelSamples.from_points`.

        Returns
        -------
        FreeIntercept

        Examples
        --------
        >>> len(FreeIntercept.from_points([[0.0], [1.0]], [1, -1], "rbf"))
        2
        """
        X = check_points(X, allow_sparse=True)
        if not isinstance(kernel, str) or kernel not in WITH_CONSTANT:
            known = ", ".join(sorted(WITH_CONSTANT))
            raise ValueError(f"kernel must be one of {known}, got {kernel!r}")
        check_kernel_parameters(gamma, degree, coef0)
        terms, constant = WITH_CONSTANT[kernel](
            X,
            y,
            kernel,
            gamma,
            degree,
            coef0,
            weights=weights,
            max_gigabytes=max_gigabytes,
        )
        return cls(terms, y, constant)

    def _set(self, terms, signs, constant, spreads=None, offset=0.0, offset_error=0.0):
        self.penalised_terms = terms
        self.signs = signs
        self.constant = constant
        self.offset = offset
        self._offset_error = offset_error
        self._spreads = spreads
        self.cone = terms.cone
        self.threshold = terms.threshold
        self.weights = terms.weights
        self.costly = terms.costly

    def __len__(self):
        return len(self.penalised_terms)

    def __repr__(self):
        return f"<{self.penalised_terms!r} with a free intercept>"

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||a_t||``, shape (n,), with the constant feature."""
        return self.penalised_terms.norms

    @property
    def spreads(self) -> NDArray:
        """Upper bounds of the distances of the terms from one common point, shape (n,). The point
        is the mean of the samples. For kernel samples, whose mean is expensive, the point has only
        the constant feature, and the bounds are the norms without this feature. They are computed
        once.
        """
        if self._spreads is None:
            if self.costly:
                self._spreads = _without_constant(self.norms, self.constant)
            else:
                self._spreads = self._around_mean()
        return self._spreads

    def _around_mean(self):
        """Return upper bounds of ``||y_t a_t - m||``, whose squares are
        ``||a_t||^2 - 2 y_t <a_t, m> + ||m||^2``.

        Any m will do, so the rounding error of the computed mean does not matter. 16 units of the
        three summands cover the rounding errors of the summands and of the sum. All terms must use
        the same m: taking the smaller of this distance and the norm, term by term, would be wrong.
        """
        if not len(self):
            return np.zeros(0)
        total = float(len(self) if self.weights is None else self.weights.sum())
        mean = self.weighted_sum(self.signs / total)[0]
        values, errors = self._values(mean)
        squares_ = self.norms**2
        length = self.cone.norm_upper(mean) ** 2
        parts = squares_ + 2.0 * np.abs(values) + length
        rest = squares_ - 2.0 * self.signs * values + length + 2.0 * errors + 16.0 * UNIT * parts
        return upper(np.sqrt(np.maximum(rest, 0.0)), 4)

    def prepared(self, x: ElementLike) -> ElementLike:
        """Return x in the form that the penalised samples need."""
        return self.penalised_terms.prepared(x)

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return ``<a_t, x>``, without the intercept."""
        return self.penalised_terms.inner_products(x)

    def weighted_sum(self, weights: NDArray) -> tuple[ElementLike, float]:
        """Return ``(sum_t w_t weights_t a_t, error bound)``."""
        return self.penalised_terms.weighted_sum(weights)

    def sum_near(self, weights: NDArray, near: Iterable[Any]) -> tuple[ElementLike, float]:
        """Return the result of :meth:`Terms.sum_near`."""
        return self.penalised_terms.sum_near(weights, near)

    # ------------------------------------------------------------------ the intercept

    def intercept(self, x: ElementLike, loss: Loss) -> float:
        """Return the best intercept at x. If an interval of intercepts is best, return its middle.
        Cost: O(n log n).
        """
        return self._best(self._values(x)[0], loss)

    def penalised(self, b: float) -> Terms:
        """Return the terms with an intercept that is penalised for its distance from b: their
        thresholds are ``tau_t - y_t b``.
        """
        tau, _ = levels(self)
        return self.penalised_terms.with_threshold(tau - self.signs * b)

    def residual(self, alpha: NDArray) -> tuple[float, float]:
        """Return ``sum_t w_t y_t alpha_t``, screened terms included, and the sum of the absolute
        values of its summands, where the screened terms count as one summand.
        """
        _, w = levels(self)
        return balanced_sum(self.signs, w, alpha, self.offset)

    def balanced(self, alpha: NDArray, x: ElementLike, loss: Loss) -> NDArray:
        """Return a dual point near `alpha` that balances the classes up to rounding. It moves the
        entries whose move worsens the gap at x the least.
        """
        alpha = np.asarray(alpha, dtype=float)
        if self._is_balanced(*self.residual(alpha)):
            return alpha
        margins, _ = self._margins(self._values(x), loss)
        return self._balanced(alpha, levels(self)[0] - margins, loss)

    def intercepts(self, ball, loss: Loss) -> tuple[float, float]:
        """Return bounds ``(low, high)`` of every optimal intercept, given a ball that contains the
        optimum.
        """
        views = (self._values(self.cone.check(ball.center)),)
        return self._bounds(views, (float(ball.radius),), self.norms, loss)

    def _values(self, x):
        return self.inner_products(x).chunk(0, len(self))

    def _best(self, values, loss):
        """Return the best intercept for given inner products."""
        if not len(self):
            return 0.0
        tau, w = levels(self)
        kinks = self.signs * (tau - values)
        return best_intercept(kinks, self.signs, w, loss.smoothing, loss.cap, -self.offset)

    def _margins(self, products, loss):
        """Return the margins with the best intercept, and a pair of this intercept and bounds of
        the margins' errors.
        """
        values, errors = products
        b = self._best(values, loss)
        margins = values + self.signs * b
        return margins, (b, errors + 2.0 * UNIT * np.abs(margins))

    def _is_balanced(self, total, size):
        """Return whether a residual is only rounding, given the sum of the absolute values of its
        summands.
        """
        return not abs(total) > 2.0 * UNIT * size or not len(self)

    def _balanced(self, alpha, slack, loss):
        """Return a dual point that balances the classes, given the slacks at the best intercept.

        Variables are moved to their bounds until the sum is 0. The order is by the cost of a unit
        move, ``|slack - g alpha|``, with the lowest cost first. The last variable is moved only as
        far as needed.
        """
        _, w = levels(self)
        for _ in range(REPAIRS):
            total, size = self.residual(alpha)
            if self._is_balanced(total, size):
                break
            falls = self.signs * total > 0.0
            room = w * np.where(falls, alpha, loss.cap - alpha)
            cost = np.where(room > 0.0, np.abs(slack - loss.smoothing * alpha), np.inf)
            order = np.argsort(cost, kind="stable")
            reached = np.cumsum(room[order])
            n_whole = int(np.searchsorted(reached, abs(total)))
            alpha = alpha.copy()
            whole = order[:n_whole]
            alpha[whole] = np.where(falls[whole], 0.0, loss.cap)
            if n_whole < order.size:
                last = order[n_whole]
                rest = abs(total) - (reached[n_whole - 1] if n_whole else 0.0)
                step = rest / w[last]
                moved = alpha[last] - step if falls[last] else alpha[last] + step
                alpha[last] = min(max(moved, 0.0), loss.cap)
        return alpha

    def alpha(self, x: ElementLike, loss: Loss) -> NDArray:
        """Return the balanced dual point that belongs to x with its best intercept, shape (n,)."""
        margins, _ = self._margins(self._values(x), loss)
        tau, _ = levels(self)
        return self._balanced(loss.alpha(margins, tau), tau - margins, loss)

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return the sums at x with its best intercept, for a dual point that balances the classes.
        An `alpha` that does not balance the classes is moved until it does.

        Notes
        -----
        Let s be a bound of the balanced sum, which is not exactly 0 because of rounding. Some dual
        point alpha' balances the classes exactly, with ``sum_t w_t |alpha_t - alpha'_t| <= s``:
        variables can move on towards their bounds until the sum is 0, because a feasible dual point
        exists. The gap belongs to alpha'. The adjoint of alpha' differs by at most
        ``s max ||a_t||``, and its Fenchel terms by at most s times their largest slope,
        ``|slack_t| + g alpha``.
        """
        margins, (b, errors) = self._margins(self._values(x), loss)
        tau, w = levels(self)
        n = len(self)
        slack = tau - margins
        given = loss.alpha(margins, tau) if alpha is None else np.asarray(alpha, dtype=float)
        balanced = self._balanced(given, slack, loss)
        sums = margin_sums(self, InnerProducts.of(margins, errors), loss, balanced, near=(x,))
        total, size = self.residual(balanced)
        rest = abs(total) * (1.0 + 4.0 * UNIT) + (2.0 * UNIT + gamma(n + 4) ** 2) * size
        rest = upper(rest + self._offset_error, 8)
        steepest = 0.0
        if n:
            steepest = float((np.abs(slack) + errors).max())
            if loss.smoothing > 0.0:
                steepest += loss.smoothing * (float(balanced.max()) + rest / float(w.min()))
        return LossSums(
            loss=sums.loss - b * self.offset,
            adjoint=sums.adjoint,
            adjoint_error=upper(sums.adjoint_error + rest * self.longest, 8),
            fenchel=upper(sums.fenchel + upper(rest * steepest, 8), 4),
            alpha_sum=sums.alpha_sum,
            alpha_square=sums.alpha_square,
            intercept=b,
        )

    @property
    def longest(self) -> float:
        """Upper bound of the norms of the penalised samples, with the constant feature."""
        return self.penalised_terms.longest

    def _bounds(self, views, radii, norms, loss):
        """Return bounds of every best intercept at the optimum x*. In each view, ``<a_t, x*>``
        differs from the inner product of the view by at most ``radius norms_t``.

        A kink ``y_t (tau_t - <a_t, x*>)`` is as uncertain as its inner product; 8 units of
        ``|tau_t| + |<a_t, Q>|`` cover the rounding errors of its two bounds.
        """
        tau, w = levels(self)
        low = -np.inf
        high = np.inf
        fixed = (self.signs, w, loss.smoothing, loss.cap, -self.offset, self._offset_error)
        for (values, errors), radius in zip(views, radii, strict=True):
            spread = (errors + radius * norms) * (1.0 + 16.0 * UNIT)
            spread += 8.0 * UNIT * (np.abs(tau) + np.abs(values)) + 1e-300
            kinks = self.signs * (tau - values)
            low = max(low, certain_bound(kinks - spread, *fixed, -1))
            high = min(high, certain_bound(kinks + spread, *fixed, 1))
        return low, high

    def thresholds(self, start: int = 0, stop: int | None = None):
        """Raise a TypeError: the smallest margin at which a term costs nothing depends on the
        intercept, and only :meth:`regions_in` bounds this margin.
        """
        raise TypeError(
            "ranges of lam and total losses need terms with fixed thresholds; those of samples "
            "with a free intercept depend on the intercept"
        )

    def regions(self, loss: Loss) -> Iterator[tuple[int, int, NDArray, NDArray]]:
        """Raise the TypeError of :meth:`thresholds`."""
        return self.thresholds()

    def regions_in(self, loss, views, radii, norms):
        """Yield the thresholds of :meth:`Terms.regions_in`. They hold for ``tau_t - y_t b`` with
        every b that may be optimal.
        """
        views = [view.chunk(0, len(self)) for view in views]
        b_low, b_high = self._bounds(views, radii, norms, loss)
        tau, _ = levels(self)
        width = loss.width if loss.has_linear_region else 0.0
        nearer = np.where(self.signs > 0.0, b_low, -b_high)  # the least y_t b
        farther = np.where(self.signs > 0.0, b_high, -b_low)
        high = tau - nearer
        low = tau - width - farther
        high += 4.0 * UNIT * (np.abs(tau) + np.abs(nearer))
        low -= 8.0 * UNIT * (np.abs(tau) + width + np.abs(farther))
        for start, stop in self.chunks():
            yield start, stop, low[start:stop], high[start:stop]

    # ------------------------------------------------------------------ sweeps

    @property
    def offers(self) -> frozenset:
        """The capabilities of the family. Only samples with a kernel have sweeps, which change two
        dual variables at a time and so keep the classes in balance.
        """
        own = frozenset({"singles", "intercept"})
        return own | {"sweeps"} if self.costly else own

    def sweep(
        self,
        alpha: NDArray,
        H: ElementLike,
        lam: float,
        loss: Loss,
        *limits: Any,
        **options: Any,
    ) -> tuple[ElementLike, float, int, int]:
        """Improve a dual point by :meth:`KernelSamples.sweep`, two dual variables at a time, which
        keeps the classes in balance. An `alpha` that is not in balance is moved first.
        """
        H = self._bring_into_balance(alpha, H, lam, loss)
        H, *found = self.penalised_terms.sweep(
            alpha, H, lam, loss, *limits, is_balanced=True, **options
        )
        return self._bring_into_balance(alpha, H, lam, loss), *found

    def _bring_into_balance(self, alpha, H, lam, loss):
        """Balance a dual point in place, and return its H."""
        total, size = self.residual(alpha)
        if not abs(total) > 2.0 * UNIT * size:
            return H
        before = alpha.copy()
        alpha[:] = self.balanced(alpha, (1.0 / lam) * H, loss)
        return H + self.weighted_sum(alpha - before)[0]

    # ------------------------------------------------------------------ parts

    def _part(self, terms, numbers, offset, offset_error):
        selected = copy.copy(self)
        spreads = None if self._spreads is None else self._spreads[numbers]
        selected._set(terms, self.signs[numbers], self.constant, spreads, offset, offset_error)
        selected.threshold = levels(self)[0][numbers] if np.ndim(self.threshold) else self.threshold
        return selected

    def select(self, keep: NDArray) -> FreeIntercept:
        """Return the samples of the mask `keep`. The offset does not change."""
        keep = check_mask(keep, len(self), "keep")
        part = self.penalised_terms.select(keep)
        return self._part(part, keep, self.offset, self._offset_error)

    def partition(
        self, status: NDArray, near: Iterable[Any] = ()
    ) -> tuple[FreeIntercept, ElementLike, float, NDArray]:
        """Return the result of :meth:`Terms.partition`. The samples of status 1 are added to the
        offset.
        """
        undecided, total, error, numbers = self.penalised_terms.partition(status, near)
        _, w = levels(self)
        offset, size = balanced_sum(self.signs, w, (status == 1).astype(float), self.offset)
        rounding = 4.0 * UNIT * abs(offset) + (2.0 * UNIT + gamma(len(self) + 4) ** 2) * size
        if self.weights is None and offset == np.rint(offset) and size < 2.0**50:
            rounding = 0.0  # a sum of integers is exact
        offset_error = self._offset_error + upper(rounding, 4)
        return self._part(undecided, numbers, offset, offset_error), total, error, numbers


def _linear(X, y, *_, weights, **__):
    constant = constant_for(squares(X))
    return Samples(add_intercept(X, constant), y, weights=weights), constant


WITH_CONSTANT: dict[str, Callable[..., tuple[Terms, float]]] = {"linear": _linear}
"""Functions that make samples with a constant feature from points, by the name of the kernel. A
function takes the arguments of :meth:`FreeIntercept.from_points` and returns the samples and the
constant. Families with a kernel add their functions.
"""


def constant_for(diagonal: NDArray) -> float:
    """Return the value of a constant feature: the root mean square of the lengths of the points,
    whose squared lengths are given.
    """
    mean = float(np.mean(diagonal))
    return float(np.sqrt(mean)) if 1e-200 < mean < 1e200 else 1.0


def _without_constant(norms, constant):
    """Return upper bounds of the norms without a feature of the value `constant`: the root of
    ``norm^2 - constant^2`` plus 8 units of the two squares.
    """
    square = norms * norms
    rest = square - constant * constant + 8.0 * UNIT * (square + constant * constant)
    return np.minimum(norms, upper(np.sqrt(np.maximum(rest, 0.0)), 4))
