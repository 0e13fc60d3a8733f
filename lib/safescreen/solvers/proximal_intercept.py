"""The free intercept: a proximal method over penalised ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.drive import drive
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.setup import Setup, Solver
from safescreen.solvers.trace import Start, Trace


@dataclass(frozen=True)
class Centre:
    """Around which intercept the next problem is penalised, the last solution and its dual point
    (None for ``alpha(x)``), the last center and its residual, and between which numbers the best
    center lies; the lowest gap, and how many rounds have not lowered it.
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
    intercept and the thresholds ``tau_t - y_t b_k``, ``rho = lam/constant^2``. Any solver of the
    whole space solves it, from the last solution on. Its dual point has the residual
    ``s = sum_t w_t y_t alpha_t = rho (b_{k+1} - b_k)``, which falls as the center grows, no faster
    than by rho, and is 0 at the best center. So that lies beyond ``b_{k+1}``, and the next center
    is the root of the line through the last two residuals: for losses of linear and quadratic
    pieces they lie on a line near it, and a few rounds are enough. Each x is judged for the free
    intercept with a dual point that is made to balance the classes; that costs little, since s is
    small.

    Attributes
    ----------
    inner : Solver
        Solves the problems with a penalised intercept.
    rough : float
        Relative gap of the first one.
    accuracy : float
        Gap of the others, relative to that of the problem; where a round has not lowered that, a
        higher power of it.
    far : float
        How many times the proximal step the next center may lie away at most.
    stalled : int
        So many rounds without progress end a solve.
    lost : float
        And so does a gap that is so many times as large as the lowest one: then the residual is
        nothing but rounding, and the steps that it asks for have no bound.
    """

    inner: Solver
    rough: float = 1e-2
    accuracy: float = 0.1
    far: float = 10.0
    stalled: int = 8
    lost: float = 1e9

    needs = ("singles", "intercept")
    pace = 1.0

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Centre]:
        """Solve the problem around the best intercept of the start."""
        b = problem.terms.intercept(start.x, problem.loss) or 0.0
        state = Centre(b=b, x=start.x, alpha=start.alpha)
        rough = max(self.rough, trace.limits.rtol)
        return self._solve(problem, trace, state, trace.limits.tol, rough)

    def step(self, problem: Problem, trace: Trace, state: Centre) -> tuple[Point, Centre] | None:
        """Solve around the next center; None after many rounds that brought nothing."""
        gap = trace.evaluation.gap
        n_stalled = 0 if gap < 0.9 * state.lowest else state.n_stalled + 1
        state = replace(state, n_stalled=n_stalled, lowest=min(gap, state.lowest))
        if n_stalled:  # of solutions that were not accurate enough
            state = replace(state, low=-math.inf, high=math.inf)
        if trace.ends_at_rounding:
            return None
        if n_stalled > self.stalled or not gap <= self.lost * trace.best.evaluation.gap:
            return None
        goal = trace.limits.goal(trace.best.evaluation.primal)
        accuracy = self.accuracy ** (1 + n_stalled)
        return self._solve(problem, trace, state, accuracy * max(state.lowest, goal))

    def reduce(self, problem: Problem, state: Centre, kept: Any) -> Centre:
        """Continue with the remaining terms."""
        return state if state.alpha is None else replace(state, alpha=state.alpha[kept])

    def _solve(self, problem, trace, state, tol, rtol=0.0):
        """Solve around the center, and choose the next one."""
        around = penalised(problem, state.b)
        left = trace.limits_left
        limits = Limits(tol, rtol, left.max_iter, left.max_seconds)
        start = Start(x=state.x, lam=trace.lam, alpha=state.alpha)
        outcome = drive(Reduction(around), Setup(limits=limits, solver=self.inner), start)
        x = outcome.evaluation.x
        if outcome.dual_point is None:
            alpha = around.alpha(x)
        else:
            alpha = outcome.dual_point.unpack()
        terms = problem.terms
        s = terms.residual(alpha)[0]
        step = terms.constant * terms.constant * s / trace.lam
        state = replace(self._moved(state, s, step), x=x)
        balanced = terms.balanced(alpha, x, problem.loss)
        point = Point(x, iterations=outcome.n_iter, alpha=balanced)
        return point, replace(state, alpha=alpha)

    def _moved(self, state, s, step):
        """Return the state with the center where the line through the last two residuals is 0, as
        far as that may be the best one; s is the last residual, and `step` the proximal step.
        """
        center = state.b
        nearest = center + step
        low = max(state.low, nearest) if s > 0.0 else state.low
        high = state.high if s > 0.0 else min(state.high, nearest)
        b = nearest
        last = state.last
        if last is not None and (center - last[0]) * (s - last[1]) < 0.0:
            root = center + s * (center - last[0]) / (last[1] - s)
            most = self.far * abs(step)
            b = min(max(root, center - most), center + most)
        if not low <= b <= high and low < high:
            middle = 0.5 * (low + high)
            b = middle if math.isfinite(middle) else nearest
        return replace(state, b=b, last=(center, s), low=low, high=high)


def penalised(problem: Problem, b: float) -> Problem:
    """Return the problem with a penalised intercept around b."""
    return problem.with_terms(problem.terms.penalised(b), problem.loss)
