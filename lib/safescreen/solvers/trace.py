"""What a solve is told at its start, and what it knows after each point."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from safescreen.problem import Evaluation, Problem
from safescreen.records import Iteration
from safescreen.rounding import ElementLike
from safescreen.solvers.ledger import Ledger
from safescreen.solvers.limits import Limits
from safescreen.solvers.line_search import past_kinks
from safescreen.solvers.point import Point
from safescreen.solvers.solution import DualPoint

ROUNDING = 0.5
"""A gap is taken for rounding where the difference of the objectives is less than this part of it.
"""


@dataclass(frozen=True)
class Start:
    """Where a solve starts, for which lam, and what the neighbouring lam tells it.

    Attributes
    ----------
    x, lam : element, float
    alpha : array, optional
        A dual point of the problem that is left.
    step : float, optional
        Length of the last gradient step for the neighbouring lam.
    evaluation : Evaluation, optional
        That of the problem that is left at x, if it has been made.
    tried : float
        Gap at which the point has been screened already.
    expected : float
        How many iterations the neighbouring lam took, 0 if that is not known.
    dual, last_lam : float
        The dual value of `alpha`, and the neighbouring lam that it belongs to; 0 if that is not
        known.
    lams_to_come : float
        How many lam are still to be solved after this one, as far as is known.
    solver : str
        Which of several solvers solved the neighbouring lam.
    ledger : Ledger
        Operations so far.
    memory : object
        What the policy of screening remembers.
    """

    x: ElementLike
    lam: float
    alpha: NDArray | None = None
    step: float | None = None
    evaluation: Evaluation | None = None
    tried: float = math.inf
    expected: float = 0.0
    dual: float = 0.0
    last_lam: float = 0.0
    lams_to_come: float = 0.0
    solver: str = ""
    ledger: Ledger = Ledger()
    memory: Any = None


class Best(NamedTuple):
    """The evaluation with the lowest gap, its dual point, None for ``alpha(x)``, and what it costs
    to be past the kinks of the hinge, see :func:`past_kinks`.
    """

    evaluation: Evaluation
    dual_point: DualPoint | None
    past: float = 0.0


class Fall(NamedTuple):
    """When the gap fell.

    Attributes
    ----------
    halved_at, fell_at : int
        At which iteration it last fell to half of what it was when that last happened, and by a
        hundredth.
    to_halve, lowest : float
        What it was then.
    """

    halved_at: int = 0
    fell_at: int = 0
    to_halve: float = math.inf
    lowest: float = math.inf

    def after(self, gap: float, n_iter: int, has_new_problem: bool) -> Self:
        """Return the same after another evaluation."""
        fall = self
        if has_new_problem or gap < 0.5 * self.to_halve:
            fall = fall._replace(halved_at=n_iter, to_halve=gap)
        if gap < 0.99 * self.lowest:
            fall = fall._replace(fell_at=n_iter, lowest=gap)
        return fall


class Trial(NamedTuple):
    """The gap and the iteration at which something was tried last; None if it was not."""

    gap: float = math.inf
    n_iter: int | None = None


class Trace(NamedTuple):
    """What is known after a point. The loop makes each one from the one before; solvers and
    policies read it.

    Attributes
    ----------
    start, limits : Start, Limits
        `limits` may ask for a smaller gap than the caller did, see :func:`drive.drive`.
    history : list of Iteration
        All points so far; it grows with the solve.
    started : float
    policy : Policy or None
        Which policy of screening there is.
    n_iter : int
    point, evaluation : Point, Evaluation
        The last point, and its evaluation of the problem that is left.
    best : Best
        The best point of that problem; None before the first one.
    has_new_problem : bool
        Whether the next point is the first one of a problem, and so the best one.
    fall : Fall
    screened, left_out : Trial
        When a policy was asked for tests of terms last, and when features were.
    ledger, memory : Ledger, object
        Operations so far, and what the policy remembers.
    rounds : int
        How often `limits` have been set.
    """

    start: Start
    limits: Limits
    history: list[Iteration]
    started: float
    policy: Any = None
    n_iter: int = 0
    point: Any = None
    evaluation: Any = None
    best: Any = None
    has_new_problem: bool = True
    fall: Fall = Fall()
    screened: Trial = Trial()
    left_out: Trial = Trial()
    ledger: Ledger = Ledger()
    memory: Any = None
    rounds: int = 1

    @classmethod
    def begin(cls, start: Start, limits: Limits, policy: Any = None) -> Self:
        """Return what is known before the first point."""
        memory = start.memory
        if memory is None and policy is not None:
            memory = policy.begin(None)
        return cls(
            start=start,
            limits=limits,
            history=[],
            started=time.perf_counter(),
            policy=policy,
            evaluation=start.evaluation,
            screened=Trial(start.tried),
            ledger=start.ledger,
            memory=memory,
        )

    @property
    def lam(self) -> float:
        """The regularization parameter."""
        return self.start.lam

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_late(self) -> bool:
        """Whether the seconds are over; without a limit no clock is read."""
        return self.limits.max_seconds < math.inf and self.seconds >= self.limits.max_seconds

    @property
    def limits_left(self) -> Limits:
        """The limits with the iterations and seconds that are left."""
        limits = self.limits
        return replace(
            limits,
            max_iter=limits.max_iter - self.n_iter,
            max_seconds=limits.max_seconds - self.seconds,
        )

    @property
    def is_rounding(self) -> bool:
        """Whether most of the lowest gap is an allowance for rounding, so that more iterations
        bring nothing.
        """
        e, _, past = self.best
        return _allowance(e, past) > (1.0 - ROUNDING) * e.gap

    @property
    def ends_at_rounding(self) -> bool:
        """Whether :attr:`is_rounding` holds with an allowance above the gap to reach, and the last
        look has not lowered the gap by a hundredth. A gap that only being past the kinks keeps up
        is given up at once where the allowance without that is above the gap to reach, too.
        """
        if not (self.is_rounding and self.allowance_above_goal > 0.0):
            return False
        e, _, past = self.best
        is_beyond = _allowance(e, 0.0) > self.limits.goal(e.primal)
        has_fallen = 0 < self.n_iter == self.fall.fell_at
        return not has_fallen or (is_beyond and _is_past_kinks(e, past))

    @property
    def allowance_above_goal(self) -> float:
        """What of the lowest gap is an allowance for rounding, if that is above the gap to reach;
        else 0.
        """
        e, _, past = self.best
        allowance = _allowance(e, past)
        return allowance if allowance > self.limits.goal(e.primal) else 0.0

    def moved(self, problem: Problem, point: Point) -> Self:
        """Return what is known after a point of the problem that is left; where rounding at the
        kinks of the hinge is most of a gap that is too large, it is judged past them.
        """
        evaluation = point.evaluated(problem, self.lam)
        past = 0.0
        is_rounding = _allowance(evaluation, 0.0) > (1.0 - ROUNDING) * evaluation.gap
        if point.alpha is not None and is_rounding and not self.limits.reached(evaluation):
            if problem.loss.smoothing == 0.0:
                evaluation, past = past_kinks(problem, evaluation, point.alpha)
        n_iter = self.n_iter + point.iterations
        best: Any = self.best
        is_first = self.has_new_problem
        if is_first or evaluation.gap < best.evaluation.gap:
            best = Best(evaluation, point.dual_point(), past)
        return self._replace(
            n_iter=n_iter,
            point=point,
            evaluation=evaluation,
            best=best,
            has_new_problem=False,
            fall=self.fall.after(evaluation.gap, n_iter, is_first),
            ledger=self.ledger.after(problem, point),
        )

    def reduced(self, problem: Problem, kept: Any) -> Self:
        """Return what is known at the same x of a smaller problem; `kept` are the numbers of its
        terms.
        """
        alpha = None if self.point.alpha is None else self.point.alpha[kept]
        x = problem.cone.with_sum(self.point.x, self.evaluation.H)
        point = self.point._replace(x=x, iterations=0, others=0, alpha=alpha, evaluation=None)
        fewer = self._replace(has_new_problem=True, left_out=Trial())
        return fewer.moved(problem, point)

    def without_features(self) -> Self:
        """Return what is known where features leave: the best point and the last trial belong to a
        problem with more of them.
        """
        return self._replace(has_new_problem=True, screened=Trial())

    def asking_for_more(self) -> Self:
        """Return the same with a tenth of the gap as the one to reach."""
        limits = replace(self.limits, tol=0.1 * self.limits.tol, rtol=0.1 * self.limits.rtol)
        return self._replace(rounds=self.rounds + 1, limits=limits)

    def record(self, n_terms: int, n_L: int, n_R: int) -> None:
        """Append the last point to the history."""
        self.history.append(
            Iteration(
                iteration=self.n_iter,
                primal=self.evaluation.primal,
                gap=self.evaluation.gap,
                n_terms=n_terms,
                n_L=n_L,
                n_R=n_R,
                seconds=self.seconds,
            )
        )

    def iterations_left(self, goal: float) -> float:
        """Return how many iterations are expected before the gap reaches `goal`."""
        return iterations_left(self.history, self.start.expected, self.evaluation.gap, goal)

    def best_start(self) -> Start:
        """Return the best point as the start of another solver."""
        evaluation, dual_point, _ = self.best
        alpha = None
        if dual_point is not None and dual_point.packed:
            alpha = dual_point.unpack()
        return Start(x=evaluation.x, lam=self.lam, alpha=alpha, evaluation=evaluation)


def _allowance(e, past):
    """Return what of a gap is an allowance for rounding."""
    return e.gap if _is_past_kinks(e, past) else e.gap - max(e.primal - e.dual, 0.0)


def _is_past_kinks(e, past):
    """Return whether a gap is hardly more than what it costs to be past the kinks, which stands for
    an allowance.
    """
    return e.gap <= 1.25 * past


def iterations_left(history: list[Iteration], expected: float, gap: float, goal: float) -> float:
    """Return how many iterations are left at the rate at which the gap fell in the second half
    of those done, or of those expected.
    """
    if gap <= goal:
        return 0.0
    if not history:
        return expected
    done = history[-1].iteration
    first = bisect_right(history, done // 2, key=lambda state: state.iteration) - 1
    earlier = history[max(first, 0)]
    if done - earlier.iteration < 3 or not (gap < earlier.gap < math.inf) or goal <= 0.0:
        return max(expected - done, float(done))
    rate = math.log(earlier.gap / gap) / (done - earlier.iteration)
    return min(math.log(gap / goal) / rate, 10.0 * done)
