"""Dual coordinate descent for terms over the whole space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from safescreen.losses import Loss
from safescreen.problem import Problem, conjugates
from safescreen.rounding import TINY, ElementLike
from safescreen.solvers.point import Point
from safescreen.solvers.state import State


@dataclass
class Sweeps:
    """What the solver remembers between sweeps.

    Attributes
    ----------
    alpha : array of shape (T,)
        The dual point.
    near : element
        An element whose sums are known, see :meth:`Terms.sum_near`. It is used for ``H(alpha)``
        when terms leave.
    patience : int or None
        The solver gives up after this many sweeps without a computed gap. None: it never gives up.
    H : element or None
        ``H(alpha)``; None if the last evaluation holds it.
    tolerance : float
        The next sweeps aim at the limits times this factor.
    seed : int
        State of the generator that orders the coordinates.
    has_given_up : bool
    unseen : Point or None
        The start, if the sweeps began from it before its gap was computed.
    """

    alpha: NDArray
    near: ElementLike
    patience: int | None = None
    H: ElementLike | None = None
    tolerance: float = 1.0
    seed: int = 1
    has_given_up: bool = False
    unseen: Point | None = None


class Swept(Protocol):
    """What the solver needs of terms besides sums: the capability "sweeps".

    Attributes
    ----------
    stored : int
        Number of entries that a sweep over all terms reads; 0 if it does not read rows.
    costly : bool
        Whether a sum over all terms costs much more than a sweep.
    """

    stored: int
    costly: bool

    def sweep(
        self,
        alpha: NDArray,
        H: ElementLike,
        lam: float,
        loss: Loss,
        tolerance: float,
        epochs: int,
        state: int,
        shrinking: bool = True,
        goal: tuple[float, float] = (0.0, 0.0),
        is_over: Callable[[], bool] | None = None,
    ) -> Any:
        """Improve a dual point coordinate by coordinate.

        Parameters
        ----------
        alpha : array of shape (T,)
            The dual point, which is overwritten.
        H : element of the space
            ``c + sum_t w_t alpha_t a_t``.
        lam : float > 0
        loss : Loss
        tolerance : float
            The sweeps end when the projected slopes, in units of the margin, differ by no more than
            this.
        epochs : int
            Largest number of sweeps.
        state : int
            State of the random generator that orders the coordinates.
        shrinking : bool
            Leave out, for some time, coordinates that are firmly at a bound.
        goal : pair of float
            The sweeps end when they estimate that the duality gap of the dual point has reached
            this pair: an absolute gap, and a gap relative to the objective.
        is_over : callable, optional
            A function that is called now and then between two sweeps. The sweeps end once it
            returns true. While it returns false it has no effect on them.

        Returns
        -------
        tuple
            ``(H, spread, n_sweeps, state)``; the projected slopes differ by `spread`.
        """
        ...


class SweepStop(NamedTuple):
    """When sweeps end: the estimated duality gap is at most `gap`, a pair of an absolute gap and a
    gap relative to the objective, or the projected slopes differ by at most `spread`. `is_early`
    says that the sweeps end before the limits are reached, so that the policy can screen.
    """

    spread: float
    gap: tuple[float, float]
    is_early: bool


@dataclass(frozen=True)
class CoordinateDescent:
    """Dual coordinate descent with shrinking (Hsieh et al. 2008).

    One dual variable at a time is set to its best value. This works for every loss and for weights,
    thresholds and a linear term. An iteration is a sweep, O(nnz). A sweep estimates the gap between
    its dual point and ``x = H(alpha)/lam``. When the estimate is small enough, the solver computes
    the gap. Shrinking is a heuristic: the solver leaves variables out for a while and takes them
    back. Screening is final. The solver works with both.

    Attributes
    ----------
    shrinking : bool
        Leave variables out for a while.
    sweeps : int
        Largest number of sweeps between two computations of the gap.
    gives_up : bool
        Whether the solver gives up when Newton's method would continue at a lower cost, see
        `patience`.
    patience : int
        Give up after this many sweeps without a computed gap, if a Newton step costs as much as a
        sweep. The number grows in proportion if a Newton step costs more.
    squared_patience : int
        The same number for the squared hinge, for which a handful of Newton steps is enough. This
        number also shrinks in proportion if a Newton step costs less than a sweep.
    most_patience : int
        Give up after this many sweeps, whatever a Newton step costs.
    least : float
        Sweeps also end when the spread of the projected slopes is at most this number times the
        tolerance.
    """

    shrinking: bool = True
    sweeps: int = 1000
    gives_up: bool = False
    patience: int = 60
    squared_patience: int = 10
    most_patience: int = 1000
    least: float = 1e-6

    needs = ("singles", "sweeps")
    pace = 0.3

    def init(self, problem: Problem, state: State) -> tuple[Point, Sweeps]:
        """Begin at the dual point of the start, or at a dual point made from x if the start has
        none.

        Sweeps are made before any gap is computed if x is 0, or along a path if sums are expensive.
        The gap of the start is computed first if a policy screens during the solve, or if Newton
        steps cost less.
        """
        start = state.point
        is_path = (
            start.alpha is not None and swept(problem).costly and problem.loss.smoothing == 0.0
        )
        is_zero = start.alpha is None and problem.cone.magnitude(start.x) == 0.0
        is_first = start.evaluation is None and not state.history
        if not is_first or not (is_path or is_zero):
            return self._begin(problem, state)
        patience = self._patience(problem)
        if state.screens or self._is_beaten(problem, state, patience):
            return self._begin(problem, state)
        limits = state.limits
        stop = SweepStop(self.least, (0.5 * limits.tol, 0.5 * limits.rtol), False)
        if is_path:
            alpha, H = path_alpha(problem, state)
        else:
            alpha = first_alpha(problem, start.x, state.lam)
            H = dual_sum(problem, alpha, start.x)
        own = Sweeps(alpha, start.x, patience)
        own.unseen = start
        return self._swept(problem, state, own, H, stop) or self._begin(problem, state)

    def _begin(self, problem, state):
        start = state.point
        lam = state.lam
        is_costly = swept(problem).costly and problem.cone.magnitude(start.x) == 0.0
        begins_at_x = problem.loss.smoothing > 0.0 and not is_costly
        is_given = start.alpha is not None
        if is_given and not begins_at_x:
            alpha = np.array(start.alpha)
        else:
            alpha = first_alpha(problem, start.x, lam)
        alpha = problem.terms.balanced(alpha, start.x, problem.loss)
        own = Sweeps(alpha, start.x, self._patience(problem))
        if begins_at_x:
            own.has_given_up = self._is_beaten(problem, state, own.patience)
            if is_given:  # x may be a solution, which the given dual point proves
                own.H = dual_sum(problem, alpha, start.x)
            return Point(start.x, alpha=start.alpha, evaluation=start.evaluation), own
        return Point((1.0 / lam) * dual_sum(problem, alpha, start.x), alpha=alpha), own

    def step(self, problem: Problem, state: State, own: Sweeps) -> tuple[Point, Sweeps] | None:
        """Sweep until the gap is to be computed again. Return None if the solver gives up."""
        if own.has_given_up:
            return None
        e = state.evaluation
        unseen = own.unseen
        own.unseen = None
        if unseen is not None and not e.gap <= abs(e.primal):
            # rounding has made the point worse than the start
            return self._begin(problem, state._replace(point=unseen))
        H = e.H if own.H is None else own.H
        stop = self._next_stop(problem, state, own.tolerance)
        return self._swept(problem, state, own, H, stop)

    def _swept(self, problem, state, own, H, stop):
        """Return the point after sweeps, and what the solver remembers. The sweeps begin at
        ``own.alpha``, whose sum is H. Return None if dual variables overflow, which is possible for
        the squared hinge.
        """
        most = min(own.patience or self.sweeps, state.limits.max_iter - state.n_iter)
        options: dict[str, Any] = {"goal": stop.gap}
        if state.limits.max_seconds < math.inf:
            options["is_over"] = lambda: state.is_late
        H, spread, n_sweeps, own.seed = swept(problem).sweep(
            own.alpha,
            H,
            state.lam,
            problem.loss,
            stop.spread,
            most,
            own.seed,
            self.shrinking,
            **options,
        )
        if not np.isfinite(own.alpha).all():
            return None
        if n_sweeps < most and spread <= stop.spread:
            own.tolerance = 0.1 * min(own.tolerance, spread)
        elif n_sweeps < most and not (stop.is_early and n_sweeps):
            own.tolerance *= 0.1  # the estimate of the gap was too low
        is_slow = own.patience is not None and n_sweeps == most
        own.has_given_up = own.tolerance < 1e-16 or is_slow
        x = (1.0 / state.lam) * H
        own.near = H
        own.H = None  # the evaluation computes the sum again, without accumulated rounding errors
        return Point(x, iterations=n_sweeps, alpha=own.alpha), own

    def reduce(self, problem: Problem, own: Sweeps, kept: Any) -> Sweeps:
        """Continue with the remaining terms."""
        own.alpha = np.array(own.alpha[kept])
        own.H = dual_sum(problem, own.alpha, own.near)
        return own

    def _patience(self, problem):
        """Return the number of sweeps after which the solver gives up. The number depends on the
        cost of the matrix factorization in a Newton step, and is large if entries of the matrix are
        expensive. Return None if no other solver takes over.
        """
        terms = swept(problem)
        if not self.gives_up:
            return None
        if not terms.stored:
            if not terms.costly:
                return self.patience
            return min(max(self.patience, len(problem) // 10), self.most_patience)
        factorization = min(len(problem), *problem.cone.shape) ** 3 / 3.0
        sweep = 4.0 * terms.stored
        n_sweeps = factorization / sweep
        if not problem.loss.has_linear_region:
            return int(min(self.squared_patience * n_sweeps, self.most_patience))
        return int(min(self.patience * max(1.0, n_sweeps), self.most_patience))

    def _is_beaten(self, problem, state, patience):
        """Return whether Newton steps for the squared hinge cost less than sweeps from the start.
        They do if a step costs next to nothing, or if Newton's method solved for the neighbouring
        lam and is not expensive.
        """
        if problem.loss.has_linear_region or not swept(problem).stored or patience is None:
            return False
        has_won = state.neighbour.solver not in ("", type(self).__name__)
        return patience == 0 or (has_won and patience < self.most_patience)

    def _next_stop(self, problem, state, tolerance):
        """Return the :class:`SweepStop` that follows the last evaluation.

        Sweeps end at the largest of three gaps: half of `tolerance` times the limits; a quarter of
        the allowance for rounding, if the allowance is above the limits; the gap at which screening
        may decide terms. A ball has the radius ``sqrt(gap/lam)``, up to a factor. It decides few
        terms before the radius times the largest norm is smaller than the width of the margins, 1.
        """
        e = state.evaluation
        limits = state.limits
        factor = 0.5 * tolerance
        longest = float(problem.terms.norms.max(initial=0.0)) if state.screens else 0.0
        decides = 0.5 * factor * e.lam / (longest * longest) if longest > 1e-100 else 0.0
        last = factor * max(limits.tol, limits.rtol * e.dual)
        last = max(last, 0.25 * state.allowance_above_goal)
        is_early = decides > last and e.gap > 2.0 * decides
        gap = (decides if is_early else last, factor * limits.rtol)
        return SweepStop(self.least * tolerance, gap, is_early)


def swept(problem: Problem) -> Swept:
    """Return the terms of a problem, which must offer "sweeps"."""
    terms: Any = problem.terms
    return terms


def dual_sum(problem: Problem, alpha: NDArray, near: ElementLike) -> ElementLike:
    """Return ``H(alpha)``; see :meth:`Terms.sum_near` for the element `near`."""
    total = problem.terms.sum_near(alpha, (near,))[0]
    return total if problem.linear is None else problem.linear + total


def first_alpha(problem: Problem, x: ElementLike, lam: float) -> NDArray:
    """Return a dual point to start from. It is ``alpha(x)``, with two exceptions for x = 0: 0 if
    sums are expensive; otherwise, for the hinge, the best dual point with equal entries.
    """
    if swept(problem).costly and problem.cone.magnitude(x) == 0.0:
        return np.zeros(len(problem))
    if problem.loss.smoothing > 0.0 or problem.cone.norm(x) > 0.0:
        return problem.terms.alpha(x, problem.loss)
    cone = problem.cone
    total = problem.terms.total()[0]
    height = conjugates(problem.terms, problem.loss, np.ones(len(problem)))
    if problem.linear is not None:
        height -= cone.inner(problem.linear, total) / lam
    square = max(TINY, cone.inner(total, total) / lam)
    return np.full(len(problem), min(max(0.0, height / square), 1.0))


def path_alpha(problem: Problem, state: State) -> tuple[NDArray, ElementLike]:
    """Return a dual point of the hinge to start from, and its sum ``H(alpha)``.

    There are two candidates: the dual point of the neighbouring lam, and a dual point with the same
    ``alpha_t/lam`` between the bounds and the same alpha_t at the bounds. The one with the larger
    dual value is returned. As lam decreases, most dual variables at a bound stay at it, and the
    other samples nearly keep their coefficients in x.
    """
    terms = problem.terms
    start = state.point
    last = state.neighbour
    alpha = np.array(start.alpha)
    between = np.flatnonzero((alpha > 0.0) & (alpha < 1.0))
    if between.size and last.lam > 0.0:
        kept = alpha.copy()
        kept[between] = np.minimum(alpha[between] * (state.lam / last.lam), 1.0)
        kept = terms.balanced(kept, start.x, problem.loss)
        H = dual_sum(problem, kept, start.x)
        value = conjugates(terms, problem.loss, kept) + problem.constant
        if value - 0.5 * problem.cone.inner(H, H) / state.lam > last.dual:
            return kept, H
    alpha = terms.balanced(alpha, start.x, problem.loss)
    return alpha, dual_sum(problem, alpha, start.x)
