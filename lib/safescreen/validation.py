"""Bounds of the margins of held-out terms from a few solutions, for every lam of an interval."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_kind, check_lam, check_vector
from safescreen._repr import brief_repr
from safescreen.problem import Evaluation, Problem, check_problem
from safescreen.rounding import UNIT, ElementLike
from safescreen.solvers import Solution
from safescreen.spheres import Sphere
from safescreen.spheres.gap import from_evaluation_mgb
from safescreen.terms import Terms
from safescreen.terms.base import LossSums, check_terms

__all__ = ["HeldOut", "MarginBounds"]


@dataclass(frozen=True)
class MarginBounds:
    """Bounds of the margins of some terms at exact solutions. A margin below 0 is an error.

    Attributes
    ----------
    low, high : arrays of shape (T,)
        Lower and upper bounds, rounding included; they are -inf, inf or NaN if nothing is known.

    Examples
    --------
    >>> bounds = MarginBounds(np.array([0.5, -2.0, -0.1]), np.array([0.7, -1.0, 0.1]))
    >>> bounds.are_right.tolist(), bounds.are_errors.tolist()
    ([True, False, False], [False, True, False])
    >>> bounds.error([1.0, 2.0, 1.0])
    (0.5, 0.75)
    """

    low: NDArray
    high: NDArray

    __repr__ = brief_repr

    @property
    def are_right(self) -> NDArray:
        """Which margins are certainly positive, shape (T,)."""
        return self.low > 0.0

    @property
    def are_errors(self) -> NDArray:
        """Which margins are certainly negative, shape (T,)."""
        return self.high < 0.0

    def error(self, weights: ArrayLike | None = None) -> tuple[float, float]:
        """Return bounds ``(low, high)`` of the weighted share of errors.

        The bounds hold whether a margin of exactly 0 counts as an error, as no error, or as half an
        error.

        Parameters
        ----------
        weights : array of shape (T,), optional
            Not negative; 1 if left out.
        """
        n = self.low.size
        w = np.ones(n) if weights is None else check_vector(weights, n, "weights", low=0.0)
        # the second sum has the same and more summands: rounding keeps the order
        return _share(w, self.are_errors), _share(w, ~self.are_right)

    def __and__(self, other: MarginBounds) -> MarginBounds:
        """Return the bounds that both prove together for the same margins."""
        return MarginBounds(np.fmax(self.low, other.low), np.fmin(self.high, other.high))

    def __or__(self, other: MarginBounds) -> MarginBounds:
        """Return bounds that hold if at least one of the two holds."""
        return MarginBounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _share(weights, mask):
    return float(np.sum(weights * mask) / np.sum(weights))


class _Known(NamedTuple):
    """A solution with its x, its loss sums and its evaluation."""

    x: ElementLike
    sums: LossSums
    evaluation: Evaluation
    solution: Solution

    @classmethod
    def of(cls, evaluation, solution):
        return cls(evaluation.x, evaluation.sums, evaluation, solution)


def keep_next(held_out: HeldOut, solution: Solution, evaluation: Evaluation | None) -> None:
    """Keep the next solution of a path and the previous solution. An interval between two
    neighbours needs no other solution. Nothing is checked if the evaluation of the problem at the
    solution is given.
    """
    if evaluation is None:
        held_out.keep(solution)
    else:
        held_out._known[evaluation.lam] = _Known.of(evaluation, solution)
    for lam in list(held_out._known)[:-2]:
        del held_out._known[lam]


class HeldOut:
    """Held-out terms, such as validation samples or judgements, with the solutions that bound their
    margins.

    Parameters
    ----------
    prob : Problem
        The problem of the training terms.
    terms : Terms
        The held-out terms, over the same space; their thresholds and weights are not used. With a
        kernel, select both from one family of samples. With a free intercept, both are
        :class:`FreeIntercept`.
    weights : array of shape (T,), optional
        Weight of each held-out term in the error. Not negative, not all 0; 1 if left out.

    Raises
    ------
    ValueError, TypeError
        The terms are of another space or products of lists, or `weights` is not as described.

    Notes
    -----
    Take one point x of the cone and one dual point, computed for any lam. The midpoint gap bound
    that they give for another lam is the ball of all z with ``||z||^2 - <z, x> <= (<z, w> - <x, w>
    + e)/lam``, where w and e do not depend on lam. For a given z the inequality is linear in
    ``1/lam``. So a z that lies in the ball of a lam between ``lam1`` and ``lam2`` lies in the ball
    of one of these two: the two balls together contain the solutions of the *whole interval*. If
    both balls prove that a margin is positive, it is positive everywhere in between; the same holds
    for negative margins.

    Between two solutions a third pair is interpolated, linearly in ``1/lam``. It is as good as a
    solution if no term changes its region, and costs one evaluation.

    Examples
    --------
    >>> import safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, 1]), ss.SmoothedHinge(0.5))
    >>> held_out = HeldOut(problem, ss.Samples([[0.4], [-0.1], [0.3]], [1, -1, -1]))
    >>> held_out.keep(ss.solve(problem, 1.0, rtol=1e-9))
    >>> held_out.error(0.5, 2.0) == (1 / 3, 1 / 3)
    True
    """

    def __init__(self, prob: Problem, terms: Terms, weights: ArrayLike | None = None):
        check_problem(prob)
        check_terms(terms).require("singles", by="HeldOut")
        if "intercept" in prob.terms.offers:
            terms.require("intercept", by="a problem with a free intercept")
        if terms.cone.shape != prob.cone.shape or type(terms.cone) is not type(prob.cone):
            raise ValueError(
                f"terms must be of the space of the problem, {prob.cone!r}, got {terms.cone!r}"
            )
        self.problem = prob
        self.terms = terms
        self.weights = np.ones(len(terms))
        if weights is not None:
            self.weights = check_vector(weights, len(terms), "weights", low=0.0)
        if not self.weights.sum() > 0.0:
            raise ValueError("weights must hold a positive number, found zeros only")
        self._known: dict[float, _Known] = {}  # by lam

    def __repr__(self):
        return f"HeldOut({self.problem!r}, {self.terms!r})"

    def keep(self, solution: Solution) -> None:
        """Add a solution of the problem, for any lam and of any accuracy. The cost is one
        evaluation.

        Raises
        ------
        ValueError, TypeError
            The solution belongs to another problem, as far as its shapes show.
        """
        prob = self.problem
        check_kind(solution, Solution, "solution")
        x = copy.copy(prob.cone.check_feasible(solution.x, "solution.x"))
        alpha = check_vector(
            solution.alpha, len(prob), "solution.alpha", low=0.0, high=prob.loss.cap
        )
        lam = check_lam(solution.lam)
        self._known[lam] = _Known.of(prob.assemble(self._sums(x, alpha), x, lam), solution)

    def margins(self, low: float, high: float | None = None) -> MarginBounds:
        """Return bounds of the margins at the exact solution of *every* lam in ``[low, high]``.

        Parameters
        ----------
        low, high : float > 0
            The interval; `high` is `low` if left out.

        Returns
        -------
        MarginBounds
            They come from the solution for `low` if `high` is the same and this solution is kept.
            Otherwise they come from the nearest solutions on both sides, and from the pair between
            them. Without a solution nothing is known.

        Notes
        -----
        Cost: for each reference two balls, and two inner products for each held-out term; one
        evaluation of the problem for the pair between two solutions.
        """
        low, high = check_interval(low, low if high is None else high)
        unknown = np.full(len(self.terms), np.inf)
        bounds = MarginBounds(-unknown, unknown)
        is_one = low == high
        if is_one and low in self._known:
            return self._inside(self._known[low].evaluation)
        for x, sums in self._references(low, high):
            at_low = self._inside(self.problem.assemble(sums, x, low))
            if is_one:
                bounds = bounds & at_low
            else:
                at_high = self._inside(self.problem.assemble(sums, x, high))
                bounds = bounds & (at_low | at_high)
        return bounds

    def error(self, low: float, high: float | None = None) -> tuple[float, float]:
        """Return bounds of the weighted held-out error at the exact solution of *every* lam in
        ``[low, high]``.

        Parameters
        ----------
        low, high : float > 0
            The interval; `high` is `low` if left out.
        """
        return self.margins(low, high).error(self.weights)

    def _sums(self, x, alpha):
        return self.problem.terms.loss_sums(x, self.problem.loss, alpha)

    def _references(self, low, high):
        """Yield ``(x, loss sums)`` of the points that make balls for an interval."""
        middle = math.sqrt(low) * math.sqrt(high)
        below = max((lam for lam in self._known if lam <= middle), default=None)
        above = min((lam for lam in self._known if lam >= middle), default=None)
        for lam in {below, above} - {None}:
            yield self._known[lam][:2]
        if below is not None and above is not None and below < above:
            yield self._between(below, above, middle)

    def _between(self, below, above, lam):
        """Return ``(x, loss sums)`` of the pair for lam that interpolates two solutions: x and ``C
        alpha`` are linear in ``C = 1/lam``. The pair is feasible; projection and clipping remove
        rounding errors.
        """
        x_below, alpha_below = self._pair(below)
        x_above, alpha_above = self._pair(above)
        share = (below / lam) * ((above - lam) / (above - below))  # of the solution for `below`
        x = self.problem.cone.project(share * x_below + (1.0 - share) * x_above)
        alpha = share * (lam / below) * alpha_below + (1.0 - share) * (lam / above) * alpha_above
        alpha = np.clip(alpha, 0.0, self.problem.loss.cap)
        return x, self._sums(x, alpha)

    def _pair(self, lam):
        """Return x and the dual point of the solution that is kept for lam."""
        known = self._known[lam]
        return known.x, known.solution.alpha

    def _inside(self, evaluation):
        """Return the bounds of one ball."""
        ball = from_evaluation_mgb(self.problem.cone, evaluation)
        return ball_margins(self.problem, self.terms, ball)


def ball_margins(prob: Any, terms: Any, ball: Sphere) -> MarginBounds:
    """Return bounds of ``<a_t, x*>`` for terms in the space of a problem whose solution x* lies in
    a ball. With a free intercept, return bounds of ``<a_t, x*> + y_t b*``.

    Safe in floating point: each interval is wider by the error bound of its inner product. Cost:
    one inner product and one norm per term."""
    products = terms.inner_products(prob.cone.check(ball.center, "ball.center"))
    low = np.empty(len(terms))
    high = np.empty(len(terms))
    norms = terms.norms
    for start, stop in terms.chunks():
        values, errors = products.chunk(start, stop)
        half_width = errors + ball.radius * norms[start:stop]
        half_width = half_width + 8.0 * UNIT * (np.abs(values) + half_width)
        low[start:stop] = values - half_width
        high[start:stop] = values + half_width
    if "intercept" not in terms.offers:
        return MarginBounds(low, high)
    return _with_intercepts(low, high, terms.signs, prob.terms.intercepts(ball, prob.loss))


def _with_intercepts(low, high, signs, intercepts):
    """Return the bounds after adding ``y_t b`` for every intercept b of an interval."""
    b_low, b_high = intercepts
    least = np.where(signs > 0.0, b_low, -b_high)
    most = np.where(signs > 0.0, b_high, -b_low)
    return MarginBounds(
        low + least - 4.0 * UNIT * (np.abs(low) + np.abs(least)),
        high + most + 4.0 * UNIT * (np.abs(high) + np.abs(most)),
    )


def check_interval(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval of lam after checking them."""
    low = check_lam(low, "low")
    high = check_lam(high, "high")
    if low > high:
        raise ValueError(f"low must not be above high, got {low:g} and {high:g}")
    return low, high
