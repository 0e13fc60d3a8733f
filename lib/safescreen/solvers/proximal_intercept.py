"""The free intercept: a proximal method that solves problems with a penalised intercept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.drive import drive
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.setup import Setup, Solver
from safescreen.solvers.state import State
from safescreen.terms.base import Terms


class Freed(Protocol):
    """What the method needs of terms besides sums: the capability "intercept"."""

    constant: float

    def penalised(self, b: float) -> Terms:
        """Return the terms with an intercept and a penalty on its distance from b."""
        ...

    def residual(self, alpha: NDArray) -> tuple[float, float]:
        """Return ``sum_t w_t y_t alpha_t``, and the sum of the absolute values of its summands."""
        ...


@dataclass(frozen=True)
class Centre:
    """What the method remembers.

    Attributes
    ----------
    b : float
        The next center: the penalty is on the distance of the intercept from b.
    x : element
        The last solution.
    alpha : array or None
        The dual point of `x`; None stands for ``alpha(x)``.
    last : pair of float or None
        The last center and its residual.
    low, high : float
        The best center lies between these numbers.
    lowest : float
        The lowest gap.
    n_stalled : int
        Number of rounds since the lowest gap decreased.
    """

    b: float
    x: ElementLike
    alpha: NDArray | None
    last: tuple[float, float] | None = None
    low: float = -math.inf
    high: float = math.inf
    lowest: float = math.inf
    n_stalled: int = 0


@dataclass(frozen=True)
class ProximalIntercept:
    """Proximal point method for the intercept.

    ``b_{k+1} = argmin_b min_x P(x, b) + rho/2 (b - b_k)^2`` is the problem with a penalised
    intercept and the thresholds ``tau_t - y_t b_k``, ``rho = lam/constant^2``. Any solver for the
    whole space solves it, starting from the last solution. The dual point of the solution has the
    residual ``s = sum_t w_t y_t alpha_t = rho (b_{k+1} - b_k)``. As the center grows, s decreases
    at a rate of at most rho, and s is 0 at the best center. So the best center lies at ``b_{k+1}``
    or beyond it. The next center is the root of the line through the last two residuals. Near the
    best center the residuals of a loss with linear and quadratic pieces lie on a line, so a few
    rounds are enough. The gap of the free intercept needs a dual point that balances the classes.
    The method balances the dual point of each round, which costs little since s is small.

    Attributes
    ----------
    inner : Solver
        Solves the problems with a penalised intercept.
    rough : float
        Relative gap of the first problem.
    accuracy : float
        Gap of the other problems relative to the gap for the free intercept. The gap is multiplied
        by this number again for each round that does not lower the gap for the free intercept.
    far : float
        Largest distance of the next center, in proximal steps.
    stalled : int
        A solve ends after more than this many rounds without progress.
    lost : float
        A solve also ends when the gap exceeds the lowest gap by this factor. Then the residual is
        only rounding, and steps made from it have no bound.
    """

    inner: Solver
    rough: float = 1e-2
    accuracy: float = 0.1
    far: float = 10.0
    stalled: int = 8
    lost: float = 1e9

    needs = ("singles", "intercept")
    pace = 1.0

    def init(self, problem: Problem, state: State) -> tuple[Point, Centre]:
        """Return the first point. A start with a dual point may be a solution. So it is the first
        point, unless it comes from a neighbouring lam. For any other start, the first point solves
        the problem around the best intercept of the start. If the objective at the start is above
        the objective at 0, this intercept would be far from the solution, and the best intercept at
        0 is used instead.
        """
        start = state.point
        own = self._around(problem, start.x, start.alpha)
        if state.neighbour.lam == 0.0 and problem.cone.norm(start.x) > 0.0:
            zero = problem.cone.zeros()
            if problem.primal(start.x, state.lam) > problem.primal(zero, state.lam):
                own = self._around(problem, zero, None)
            if start.alpha is not None:
                alpha = problem.terms.balanced(start.alpha, start.x, problem.loss)
                return Point(start.x, alpha=alpha, evaluation=start.evaluation), own
        rough = max(self.rough, state.limits.rtol)
        return self._solve(problem, state, own, state.limits.tol, rough)

    def _around(self, problem, x, alpha):
        """Return what the method remembers, with the best intercept of x as the center."""
        b = problem.terms.intercept(x, problem.loss) or 0.0
        return Centre(b=b, x=x, alpha=alpha)

    def step(self, problem: Problem, state: State, own: Centre) -> tuple[Point, Centre] | None:
        """Solve around the next center; return None after many rounds without progress."""
        gap = state.evaluation.gap
        n_stalled = 0 if gap < 0.9 * own.lowest else own.n_stalled + 1
        own = replace(own, n_stalled=n_stalled, lowest=min(gap, own.lowest))
        if n_stalled:  # the bounds came from solutions that were not accurate enough
            own = replace(own, low=-math.inf, high=math.inf)
        if state.ends_at_rounding:
            return None
        if n_stalled > self.stalled or not gap <= self.lost * state.best.gap:
            return None
        goal = state.limits.goal(state.best.primal)
        accuracy = self.accuracy ** (1 + n_stalled)
        return self._solve(problem, state, own, accuracy * max(own.lowest, goal))

    def reduce(self, problem: Problem, own: Centre, kept: Any) -> Centre:
        """Continue with the remaining terms."""
        return own if own.alpha is None else replace(own, alpha=own.alpha[kept])

    def _solve(self, problem, state, own, tol, rtol=0.0):
        """Solve the problem around the center, and choose the next center."""
        around = penalised(problem, own.b)
        left = state.limits_left
        limits = Limits(tol, rtol, left.max_iter, left.max_seconds)
        start = State.begin(Point(own.x, alpha=own.alpha), state.lam, limits)
        last = drive(Reduction(around), Setup(limits=limits, solver=self.inner), start)
        x = last.evaluation.x
        alpha = around.alpha(x) if last.best_dual is None else last.best_dual.unpack()
        terms: Any = problem.terms  # Freed
        s = terms.residual(alpha)[0]
        step = terms.constant * terms.constant * s / state.lam
        own = replace(self._moved(own, s, step), x=x)
        balanced = terms.balanced(alpha, x, problem.loss)
        point = Point(x, iterations=last.n_iter, alpha=balanced)
        return point, replace(own, alpha=alpha)

    def _moved(self, own, s, step):
        """Return `own` with the next center: the root of the line through the last two residuals,
        restricted to the interval in which the best center may lie. s is the last residual, and
        `step` the proximal step.
        """
        center = own.b
        nearest = center + step
        low = max(own.low, nearest) if s > 0.0 else own.low
        high = own.high if s > 0.0 else min(own.high, nearest)
        b = nearest
        last = own.last
        if last is not None and (center - last[0]) * (s - last[1]) < 0.0:
            root = center + s * (center - last[0]) / (last[1] - s)
            most = self.far * abs(step)
            b = min(max(root, center - most), center + most)
        if not low <= b <= high and low < high:
            middle = 0.5 * (low + high)
            b = middle if math.isfinite(middle) else nearest
        return replace(own, b=b, last=(center, s), low=low, high=high)


def penalised(problem: Problem, b: float) -> Problem:
    """Return the problem with an intercept and a penalty on its distance from b."""
    terms: Any = problem.terms  # Freed
    return problem.with_terms(terms.penalised(b), problem.loss)
