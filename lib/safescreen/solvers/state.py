"""The state of a solve: what is known after a point. The loop makes each state from the state
before.

:func:`safescreen.solvers.drive.drive` takes a state and returns the last state, from which a path
continues. Solvers and policies read the state. What only a solver needs is in an object that the
solver makes.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple, Self

from safescreen.problem import Problem
from safescreen.records import Iteration
from safescreen.solvers.limits import Limits
from safescreen.solvers.line_search import past_kinks
from safescreen.solvers.point import Point
from safescreen.solvers.solution import DualPoint

ROUNDING = 0.5
"""A gap counts as rounding if primal minus dual value is less than this fraction of it."""


class Look(NamedTuple):
    """The gap and the iteration of a look; `n_iter` is None if the look came before the first
    iteration, or never.
    """

    gap: float = math.inf
    n_iter: int | None = None


class Fall(NamedTuple):
    """When the gap fell.

    Attributes
    ----------
    halved_at, to_halve : int, float
        The last iteration at which the gap had fallen below half of the previous `to_halve`, and
        the gap at that iteration.
    fell_at, lowest : int, float
        The last iteration at which the gap had fallen by a hundredth of the previous `lowest`, and
        the gap at that iteration.
    """

    halved_at: int = 0
    fell_at: int = 0
    to_halve: float = math.inf
    lowest: float = math.inf

    def after(self, gap: float, n_iter: int, has_new_problem: bool) -> Self:
        """Return the record after another evaluation."""
        fall = self
        if has_new_problem or gap < 0.5 * self.to_halve:
            fall = fall._replace(halved_at=n_iter, to_halve=gap)
        if gap < 0.99 * self.lowest:
            fall = fall._replace(fell_at=n_iter, lowest=gap)
        return fall


class Neighbour(NamedTuple):
    """What a solve learns from the solve for the last lam of a path.

    Attributes
    ----------
    lam : float
        The last lam; 0 for the first lam of a path.
    dual : float
        The dual value, for the next lam, of the last dual point.
    n_iter : int
        Number of iterations for the last lam.
    solver : str
        Name of the solver that made the last point, if several solvers take turns.
    """

    lam: float = 0.0
    dual: float = 0.0
    n_iter: int = 0
    solver: str = ""


class State(NamedTuple):
    """What is known after a point, an immutable value.

    Attributes
    ----------
    lam : float
    limits : Limits
        The limits, which may ask for a smaller gap than the caller did; see :func:`drive.drive`.
    point : Point
        The last point.
    neighbour : Neighbour
    screens : bool
        Whether there is a policy that screens terms.
    started : float
    history : list of Iteration
        All points so far; it grows with the solve.
    problem, evaluation : Problem, Evaluation
        The reduced problem, and its evaluation at the last point; at the end, problem and
        evaluation for the best point. The solve for a neighbouring lam makes its reference from
        their sums.
    best : Evaluation
        The evaluation of the reduced problem with the lowest gap.
    best_dual : DualPoint or None
        The dual point of `best`; None stands for ``alpha(x)``.
    past : float
        The share of the gap of the best point that comes from moving it past the kinks of the
        hinge; see :func:`past_kinks`.
    n_iter : int
    has_new_problem : bool
        Whether the next point is the first one of a problem, and so the best one.
    fall : Fall
    screened, left_out : Look
        When terms and when features were screened last.
    rounds : int
        How many times the loop has asked for more accuracy on the reduced problem.
    eps : float
        At the end: an upper bound of the distance of the best point from the optimum.
    reason : str
        At the end: "converged", "iterations", "time", "callback", "interrupted" or "stalled".
    """

    lam: float
    limits: Limits
    point: Point
    neighbour: Neighbour = Neighbour()
    screens: bool = False
    started: float = 0.0
    history: Any = ()
    problem: Any = None
    evaluation: Any = None
    best: Any = None
    best_dual: DualPoint | None = None
    past: float = 0.0
    n_iter: int = 0
    has_new_problem: bool = True
    fall: Fall = Fall()
    screened: Look = Look()
    left_out: Look = Look()
    rounds: int = 0
    eps: float = math.inf
    reason: str = ""

    @classmethod
    def begin(cls, point: Point, lam: float, limits: Limits, **known: Any) -> Self:
        """Return the state before the first point."""
        return cls(lam, limits, point, started=time.perf_counter(), history=[], **known)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_late(self) -> bool:
        """Whether the time is over. Without a time limit no clock is read."""
        return self.limits.max_seconds < math.inf and self.seconds >= self.limits.max_seconds

    @property
    def limits_left(self) -> Limits:
        """The limits with the remaining iterations and seconds."""
        limits = self.limits
        return replace(
            limits,
            max_iter=limits.max_iter - self.n_iter,
            max_seconds=limits.max_seconds - self.seconds,
        )

    @property
    def look(self) -> Look:
        """The gap and the iteration now."""
        return Look(self.evaluation.gap, self.n_iter)

    @property
    def is_rounding(self) -> bool:
        """Whether most of the lowest gap is an allowance for rounding, so that more iterations do
        not help.
        """
        return _allowance(self.best, self.past) > (1.0 - ROUNDING) * self.best.gap

    @property
    def ends_at_rounding(self) -> bool:
        """Whether the solve ends because the gap is rounding: :attr:`is_rounding` holds, the
        allowance is above the gap to reach, and the last point has not lowered the gap by a
        hundredth.

        If the gap is mostly the cost of being past the kinks, the solve ends even if the gap has
        just fallen, provided that the allowance without this cost is also above the gap to reach.
        """
        if not (self.is_rounding and self.allowance_above_goal > 0.0):
            return False
        is_beyond = _allowance(self.best, 0.0) > self.limits.goal(self.best.primal)
        has_fallen = 0 < self.n_iter == self.fall.fell_at
        return not has_fallen or (is_beyond and _is_past_kinks(self.best, self.past))

    @property
    def allowance_above_goal(self) -> float:
        """The allowance for rounding in the lowest gap, if it is above the gap to reach; else 0."""
        allowance = _allowance(self.best, self.past)
        return allowance if allowance > self.limits.goal(self.best.primal) else 0.0

    def moved(self, problem: Problem, point: Point) -> Self:
        """Return the state after a point of the reduced problem. For the hinge, a gap that is too
        large and mostly rounding at the kinks is replaced by the gap past the kinks, see
        :func:`past_kinks`.
        """
        evaluation = point.evaluated(problem, self.lam)
        past = 0.0
        is_rounding = _allowance(evaluation, 0.0) > (1.0 - ROUNDING) * evaluation.gap
        if point.alpha is not None and is_rounding and not self.limits.reached(evaluation):
            if problem.loss.smoothing == 0.0:
                evaluation, past = past_kinks(problem, evaluation, point.alpha)
        n_iter = self.n_iter + point.iterations
        is_first = self.has_new_problem
        after = self._replace(
            n_iter=n_iter,
            point=point,
            problem=problem,
            evaluation=evaluation,
            has_new_problem=False,
            fall=self.fall.after(evaluation.gap, n_iter, is_first),
        )
        if is_first or evaluation.gap < self.best.gap:
            return after._replace(best=evaluation, best_dual=point.dual_point(), past=past)
        return after

    def reduced(self, problem: Problem, kept: Any) -> Self:
        """Return the state at the same x of a smaller problem, whose terms had the numbers `kept`
        in the problem before.
        """
        alpha = None if self.point.alpha is None else self.point.alpha[kept]
        x = problem.cone.with_sum(self.point.x, self.evaluation.H)
        point = self.point._replace(x=x, iterations=0, alpha=alpha, evaluation=None)
        fewer = self._replace(has_new_problem=True, left_out=Look())
        return fewer.moved(problem, point)

    def on_features(self, keep: Any) -> Self:
        """Return the state from which a solve begins again with the features that are kept. The new
        state forgets the best point and the last screening of terms, which belong to the problem
        with more features.
        """
        n_iter = max(self.neighbour.n_iter, self.n_iter)
        return self._replace(
            point=Point(self.evaluation.x[keep], step=self.point.step),
            neighbour=self.neighbour._replace(n_iter=n_iter),
            has_new_problem=True,
            screened=Look(),
        )

    def at_best(self) -> Self:
        """Return the state at the best point, from which another solver starts."""
        alpha = None
        if self.best_dual is not None and self.best_dual.packed:
            alpha = self.best_dual.unpack()
        return self._replace(point=Point(self.best.x, alpha=alpha, evaluation=self.best))

    def asking_for_more(self) -> Self:
        """Return the state with a tenth of the gap to reach."""
        limits = replace(self.limits, tol=0.1 * self.limits.tol, rtol=0.1 * self.limits.rtol)
        return self._replace(rounds=self.rounds + 1, limits=limits)

    def record(self, n_L: int, n_R: int) -> None:
        """Append the last point to the history."""
        self.history.append(
            Iteration(
                iteration=self.n_iter,
                primal=self.evaluation.primal,
                gap=self.evaluation.gap,
                n_terms=len(self.problem),
                n_L=n_L,
                n_R=n_R,
                seconds=self.seconds,
            )
        )


def _allowance(e, past):
    """Return the share of a gap that is an allowance for rounding."""
    return e.gap if _is_past_kinks(e, past) else e.gap - max(e.primal - e.dual, 0.0)


def _is_past_kinks(e, past):
    """Return whether a gap is hardly more than the cost of being past the kinks, which counts as an
    allowance.
    """
    return e.gap <= 1.25 * past
