"""What a few solutions prove of held-out terms: for every lam of an interval, and for every term
that is left out.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_count, check_lam, check_scalar, check_vector
from safescreen._repr import brief_repr
from safescreen._threads import with_small_blas
from safescreen.problem import Problem, check_problem
from safescreen.rounding import UNIT, ElementLike, upper
from safescreen.rules import sphere
from safescreen.solvers import Solution, solve
from safescreen.spheres import Sphere
from safescreen.spheres.gap import from_evaluation_mgb, midpoint
from safescreen.terms import Terms
from safescreen.terms.base import check_terms

__all__ = ["HeldOut", "LamChoice", "MarginBounds", "choose_lam", "leave_one_out_bounds"]


@dataclass(frozen=True)
class MarginBounds:
    """Bounds of the margins of some terms at exact solutions. A margin below 0 is an error.

    Attributes
    ----------
    low, high : arrays of shape (T,)
        Lower and upper bounds, rounding included; -inf, inf or NaN where nothing is known.

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
        """Return bounds ``(low, high)`` of the share of errors, by weight.

        A margin that is exactly 0 may count as an error, as none, or as half of one.

        Parameters
        ----------
        weights : array of shape (T,), optional
            Not negative; 1 if left out.
        """
        w = np.ones(self.low.size) if weights is None else np.asarray(weights, dtype=float)
        # the same sum with more summands: rounding keeps the order
        return _share(w, self.are_errors), _share(w, ~self.are_right)

    def __and__(self, other: MarginBounds) -> MarginBounds:
        """Return what both together prove of the same margins."""
        return MarginBounds(np.fmax(self.low, other.low), np.fmin(self.high, other.high))

    def __or__(self, other: MarginBounds) -> MarginBounds:
        """Return what holds if one of the two does, not known which."""
        return MarginBounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _share(weights, mask):
    return float(np.sum(weights * mask) / np.sum(weights))


class HeldOut:
    """Held-out terms, such as validation samples or judgements, and the solutions that bound their
    margins.

    Parameters
    ----------
    prob : Problem
        Of the training terms.
    terms : Terms
        The held-out terms, over the same space; their thresholds and weights are not used. With a
        kernel, select both from one family of samples. With a free intercept, both are
        :class:`FreeIntercept`.
    weights : array of shape (T,), optional
        How much each held-out term counts in the error. Not negative, not all 0; 1 if left out.

    Raises
    ------
    ValueError, TypeError
        The terms are of another space or come in blocks, or `weights` is not as described.

    See Also
    --------
    choose_lam : The lam of the least error over an interval.

    Notes
    -----
    Take one point x of the cone and one dual point, computed for any lam. The midpoint gap bound
    that they give for another lam is the ball of all z with
    ``||z||^2 - <z, x> <= (<z, w> - <x, w> + e)/lam``, where w and e do not depend on lam. For a
    given z the inequality is linear in ``1/lam``. So a z that lies in the ball of a lam between
    ``lam1`` and ``lam2`` lies in the ball of one of these two: the two balls hold the solutions of
    the *whole interval*. What both decide is decided everywhere in between.

    Between two solutions there is a third pair, linear in ``1/lam`` between them. It is as good as
    a solution where no term changes its region, and costs one evaluation.

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
        self._known = {}  # lam: (x, loss sums, alpha)

    def __repr__(self):
        return f"HeldOut({self.problem!r}, {self.terms!r})"

    def keep(self, solution: Solution) -> None:
        """Use a solution of the problem, for any lam and of any accuracy; one evaluation.

        Raises
        ------
        ValueError, TypeError
            It is the solution of another problem, as far as its shapes show.
        """
        prob = self.problem
        x = prob.cone.check_feasible(solution.x, "solution.x")
        alpha = check_vector(
            solution.alpha, len(prob), "solution.alpha", low=0.0, high=prob.loss.cap
        )
        self._known[check_lam(solution.lam)] = x, self._sums(x, alpha), alpha

    def margins(self, low: float, high: float | None = None) -> MarginBounds:
        """Return bounds of the margins at the exact solution of *every* lam in ``[low, high]``.

        Parameters
        ----------
        low, high : float > 0
            The interval; `high` is `low` if left out.

        Returns
        -------
        MarginBounds
            From the nearest solutions on both sides, and the pair between them. Without a solution
            nothing is known.

        Notes
        -----
        Cost: for each reference two balls, and two inner products a held-out term; one evaluation
        of the problem for the pair in between.
        """
        low, high = _interval(low, low if high is None else high)
        unknown = np.full(len(self.terms), np.inf)
        bounds = MarginBounds(-unknown, unknown)
        for reference in self._references(low, high):
            at_low = self._at(reference, low)
            bounds = bounds & (at_low if low == high else at_low | self._at(reference, high))
        return bounds

    def error(self, low: float, high: float | None = None) -> tuple[float, float]:
        """Return bounds of the held-out error, by weight, at the exact solution of *every* lam in
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
        """Return ``(x, loss sums)`` of the pair for lam that is linear in ``C = 1/lam`` between two
        solutions: x and ``C alpha`` are. It is feasible; rounding is clipped.
        """
        x_below, _, alpha_below = self._known[below]
        x_above, _, alpha_above = self._known[above]
        share = (below / lam) * ((above - lam) / (above - below))  # of the solution for `below`
        x = self.problem.cone.project(share * x_below + (1.0 - share) * x_above)
        alpha = share * (lam / below) * alpha_below + (1.0 - share) * (lam / above) * alpha_above
        alpha = np.clip(alpha, 0.0, self.problem.loss.cap)
        return x, self._sums(x, alpha)

    def _at(self, reference, lam):
        """Return the bounds of one ball."""
        x, sums = reference
        prob = self.problem
        ball = from_evaluation_mgb(prob.cone, prob.assemble(sums, x, lam))
        return ball_margins(prob, self.terms, ball)


def ball_margins(prob: Any, terms: Any, ball: Sphere) -> MarginBounds:
    """Return bounds of ``<a_t, x*>`` for terms of the space of a problem whose solution x* lies in
    a ball; with a free intercept those of ``<a_t, x*> + y_t b*``.

    Safe in floating point: each interval is wider by the error bound of its inner product. Cost:
    one inner product and one norm a term.
    """
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
    """Return the bounds with ``y_t b`` for every intercept b of an interval."""
    b_low, b_high = intercepts
    least = np.where(signs > 0.0, b_low, -b_high)
    most = np.where(signs > 0.0, b_high, -b_low)
    return MarginBounds(
        low + least - 4.0 * UNIT * (np.abs(low) + np.abs(least)),
        high + most + 4.0 * UNIT * (np.abs(high) + np.abs(most)),
    )


@with_small_blas
def leave_one_out_bounds(
    prob: Problem, x: ElementLike, lam: float, alpha: ArrayLike | None = None
) -> MarginBounds:
    """Return bounds of the margin of each term at the solution of the problem *without that term*,
    from one solution with all terms.

    With ``s_t = w_t alpha_t ||a_t||/lam``, and q, r, D and E of the midpoint gap bound: its center,
    its radius, ``||x - x(alpha)||`` and ``r^2 - D^2/4``, the margin without term t is between
    ``<a_t, q> - ||a_t|| (s_t/2 + sqrt((D + s_t)^2/4 + E))`` and ``<a_t, q> + r ||a_t||``. At the
    exact solution these are ``<a_t, x> - s_t ||a_t||`` and ``<a_t, x>``.

    Parameters
    ----------
    prob : Problem
        With single terms, over any cone, with or without a free intercept.
    x : element of the cone
        An approximate solution.
    lam : float > 0
    alpha : array of shape (T,), optional
        Its dual point; ``alpha(x)`` if left out. For the hinge pass that of the solver.

    Returns
    -------
    MarginBounds
        ``bounds.error()`` bounds the leave-one-out error. A term of weight w is left out whole.
        With a free intercept only two things are known: a term that is certainly above its
        threshold stays there, and one that is certainly below does not rise.

    Raises
    ------
    ValueError, TypeError
        x is not in the cone, alpha not a dual point, lam not positive, or the terms come in blocks.

    Notes
    -----
    The pair (x, alpha with ``alpha_t = 0``) is feasible for the problem without term t, and makes a
    ball for its solution: the lower bound. Each of the two solutions is the best for its own
    objective. So ``lam ||x* - x||^2 <= w_t (loss(m) - loss(m*))``, where x and m are the solution
    and the margin without term t: it does not rise when its term is left out. This is the upper
    bound.

    Safe in floating point: the radii are rounded up, and each interval is wider by the error bound
    of its inner product. Cost: one evaluation, and one inner product a term. No problem is solved.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [2.0], [-1.0], [0.5]], [1, 1, -1, -1])
    >>> problem = ss.Problem(samples, ss.SmoothedHinge(0.5))
    >>> bounds = leave_one_out_bounds(problem, ss.solve(problem, 1.0, rtol=1e-12).x, 1.0)
    >>> bounds.are_right.tolist(), bounds.are_errors.tolist()
    ([True, True, True, False], [False, False, False, True])
    >>> bounds.error()
    (0.25, 0.25)
    """
    check_problem(prob).terms.require("singles", by="leave_one_out_bounds")
    lam = check_lam(lam)
    x = prob.cone.check_feasible(x)
    if alpha is None:
        alpha = prob.alpha(x)
    alpha = check_vector(alpha, len(prob), "alpha", low=0.0, high=prob.loss.cap)
    e = prob.evaluate(x, lam, alpha)
    ball = from_evaluation_mgb(prob.cone, e)
    with_all = ball_margins(prob, prob.terms, ball)
    if "intercept" in prob.terms.offers:
        return _with_free_intercept(prob, ball, with_all)
    weights = 1.0 if prob.terms.weights is None else prob.terms.weights
    norms = prob.terms.norms
    moved = upper(weights * alpha * norms / lam, 4)  # ||x(alpha) without t - x(alpha)||
    center, error, apart = midpoint(prob.cone, e)
    radii = _roots(upper((apart + moved) ** 2 / 4.0 + e.excess, 8))
    radii = upper(0.5 * moved + radii + error, 8)
    values, errors = prob.terms.inner_products(center).chunk(0, len(prob))
    half_width = errors + radii * norms
    low = values - half_width - 8.0 * UNIT * (np.abs(values) + half_width)
    return MarginBounds(low, with_all.high)


def _roots(squares):
    """Return upper bounds of the roots; NaN, which decides nothing, for a broken bound."""
    return upper(np.sqrt(np.where(squares >= 0.0, squares, np.nan)), 2)


def _with_free_intercept(prob, ball, with_all):
    """Return what is known of each term without it if its margin with all terms is known.

    Above its threshold a term may be left out: the solution stays, and so do all best intercepts,
    since the sums agree near them and are convex. Below it the margin does not rise. In between
    best intercepts that are not unique could change.
    """
    tau = np.broadcast_to(prob.terms.threshold, with_all.low.shape)
    stays = sphere(prob, ball).in_R
    low = np.where(stays, np.fmax(with_all.low, tau), -np.inf)
    high = np.where(with_all.high < tau, with_all.high, np.inf)
    return MarginBounds(low, high)


@dataclass(frozen=True)
class LamChoice:
    """The lam of the least held-out error over an interval, and what is proved of it.

    Attributes
    ----------
    lam : float
        The chosen lam; of equal ones the largest.
    error : tuple of float
        Bounds of the held-out error at its exact solution.
    epsilon : float
        No lam of the interval has an error that is smaller than that of `lam` by more than this.
    lams : array
        What was solved for, in order.
    ends : array of shape (n_cells + 1,)
        The interval in cells; it increases.
    lows : array of shape (n_cells,)
        Lower bounds of the error over the whole of each cell.
    n_solves : int
        Solves, one for each lam and problem.
    """

    lam: float
    error: tuple[float, float]
    epsilon: float
    lams: NDArray
    ends: NDArray
    lows: NDArray
    n_solves: int

    __repr__ = brief_repr


@with_small_blas
def choose_lam(
    folds: HeldOut | Sequence[HeldOut],
    low: float,
    high: float,
    epsilon: float = 0.01,
    *,
    n_splits: int = 4,
    max_lams: int = 100,
    **options: Any,
) -> LamChoice:
    """Return a lam whose held-out error is within `epsilon` of the least error over the *whole*
    interval ``[low, high]``, not only over a grid.

    Parameters
    ----------
    folds : HeldOut or sequence of HeldOut
        The error is the mean of their errors. They keep the solutions.
    low, high : float > 0
        The interval.
    epsilon : float >= 0
        How much larger than the least error the error of the chosen lam may be.
    n_splits : int > 0
        How often a cell is halved, without a solve, before the problems are solved in it.
    max_lams : int > 0
        Solve for at most so many lam. What is proved by then is returned, with its own `epsilon`.
    **options : dict
        For :func:`safescreen.solve`, such as `rtol`.

    Returns
    -------
    LamChoice

    Raises
    ------
    ValueError, TypeError
        A number is out of its range, or `folds` holds something else.

    Notes
    -----
    The problems are solved for both ends. The interval is a cell, and so are its parts. The cell
    with the smallest lower bound of the error is halved, in the logarithm of lam. Where halves of
    halves prove no more, the problems are solved in the middle of the cell. It ends when no lower
    bound is below the error of the best lam by more than `epsilon`.

    With ``epsilon = 0`` it may not come to its end: where one held-out margin turns to the right
    side and another to the wrong side at the same lam, no cell around that lam is decided. It stops
    at cells that are narrower than 1e-6 times lam.

    Safe in floating point, as the balls and the bounds of margins are. Cost: a solve at each lam
    that it comes to, and for each cell two inner products a held-out term.

    Bounds of the validation error over intervals and the choice of lam by them are due to
    Shibagaki, Suzuki, Karasuyama and Takeuchi (arXiv 1502.02344). The balls here are others.

    Examples
    --------
    >>> import safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, 1]), ss.SmoothedHinge(0.5))
    >>> held_out = HeldOut(problem, ss.Samples([[0.4], [-0.1], [0.3]], [1, -1, -1]))
    >>> choice = choose_lam(held_out, 0.1, 10.0, 0.0, rtol=1e-9)
    >>> choice.error == (1 / 3, 1 / 3), choice.epsilon, choice.n_solves
    (True, 0.0, 2)
    """
    if isinstance(folds, HeldOut):
        folds = [folds]
    elif isinstance(folds, Iterable):
        folds = list(folds)
    else:
        folds = []
    if not folds or not all(isinstance(fold, HeldOut) for fold in folds):
        raise TypeError(f"folds must be a HeldOut or several, got {folds!r}")
    low, high = _interval(low, high)
    epsilon = check_scalar(epsilon, "epsilon", low=0.0)
    search = _Search(folds, check_count(n_splits, "n_splits"), options)
    search.solve(high)
    if low < high:
        search.solve(low)
    return search.run(low, high, epsilon, check_count(max_lams, "max_lams"))


class _Search:
    """The cells of an interval, the one with the smallest lower bound first."""

    def __init__(self, folds, n_splits, options):
        self.folds = folds
        self.n_splits = n_splits
        self.options = options
        self.lams = []
        self.best = None  # (upper bound of the error, -lam)

    def solve(self, lam):
        for fold in self.folds:
            fold.keep(solve(fold.problem, lam, **self.options))
        self.lams.append(lam)
        candidate = (self.error(lam, lam)[1], -lam)
        self.best = candidate if self.best is None else min(self.best, candidate)

    def error(self, low, high):
        """Return bounds of the mean error; rounding of the mean keeps the order."""
        bounds = np.array([fold.error(low, high) for fold in self.folds])
        return float(np.mean(bounds[:, 0])), float(np.mean(bounds[:, 1]))

    def cell(self, low, high, depth):
        """Return ``(lower bound, low, high, depth, number of lams when it was computed)``."""
        return self.error(low, high)[0], low, high, depth, len(self.lams)

    def run(self, low, high, epsilon, max_lams):
        """Divide the interval until everything is proved, or nothing more can be."""
        cells = [self.cell(low, high, 0)]
        final = []
        while cells:
            least, start, stop, depth, n_lams = heapq.heappop(cells)
            if least >= self.best[0] - epsilon:
                final.append((start, stop, least))
                continue
            if n_lams < len(self.lams):  # more is known by now
                known = self.cell(start, stop, depth)
                heapq.heappush(cells, (max(least, known[0]), *known[1:]))
                continue
            middle = math.sqrt(start) * math.sqrt(stop)
            is_narrow = not start * (1.0 + 1e-6) < middle < stop
            is_last = depth == self.n_splits
            if is_narrow or (is_last and len(self.lams) >= max_lams):
                final.append((start, stop, least))
                continue
            if is_last:
                self.solve(middle)
            deeper = 0 if is_last else depth + 1
            heapq.heappush(cells, self.cell(start, middle, deeper))
            heapq.heappush(cells, self.cell(middle, stop, deeper))
        return self.choice(sorted(final))

    def choice(self, cells):
        lam = -self.best[1]
        starts, stops, lows = np.array(cells).T
        missed = max(self.best[0] - float(lows.min()), 0.0)
        return LamChoice(
            lam=lam,
            error=self.error(lam, lam),
            epsilon=upper(missed, 2) if missed > 0.0 else 0.0,
            lams=np.array(self.lams),
            ends=np.append(starts, stops[-1]),
            lows=lows,
            n_solves=len(self.lams) * len(self.folds),
        )


def _interval(low, high):
    low = check_lam(low, "low")
    high = check_lam(high, "high")
    if low > high:
        raise ValueError(f"low must not be above high, got {low:g} and {high:g}")
    return low, high
