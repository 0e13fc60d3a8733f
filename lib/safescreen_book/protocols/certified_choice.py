"""What a few solutions prove of a choice: the lam of the least held-out error over an interval, and
the margin of each term at the solution without it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen import HeldOut, MarginBounds, solve
from safescreen._checks import check_count, check_lam, check_scalar, check_vector
from safescreen._threads import with_small_blas
from safescreen.problem import Problem, check_problem
from safescreen.rounding import UNIT, ElementLike, upper
from safescreen.rules import sphere
from safescreen.spheres.gap import from_evaluation_mgb, midpoint
from safescreen.validation import ball_margins, check_interval


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

    Bounds of the margins of leave-one-out solutions from one solution are due to Okumura, Suzuki
    and Takeuchi (arXiv 1504.02870); any cone and weights are added here.

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
    low, high = check_interval(low, high)
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
