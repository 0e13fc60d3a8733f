"""What a solve is told at its start, and what it has seen so far."""

from __future__ import annotations

import copy
import math
import time
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from safescreen.problem import Evaluation, Problem
from safescreen.records import Iteration
from safescreen.rounding import ElementLike
from safescreen.solvers.limits import Limits
from safescreen.solvers.solution import DualPoint

ROUNDING = 0.5
"""A gap is taken for rounding where the difference of the objectives is less than this part of it.
"""


@dataclass(frozen=True)
class Start:
    """Where a solve starts, and for which lam.

    Attributes
    ----------
    x, lam : element, float
    alpha : array, optional
        A dual point of the problem that is left.
    step : float, optional
        Length of the last gradient step for a neighbouring lam.
    evaluation : Evaluation, optional
        That of the problem that is left at x, if it has been made.
    tried : float
        Gap at which the point has been screened already.
    expected : float
        How many iterations the neighbouring lam took, 0 if that is not known.
    lams_to_come : float
        How many lam are still to be solved after this one, as far as is known.
    """

    x: ElementLike
    lam: float
    alpha: NDArray | None = None
    step: float | None = None
    evaluation: Evaluation | None = None
    tried: float = math.inf
    expected: float = 0.0
    lams_to_come: float = 0.0


class Point(NamedTuple):
    """Where a solver goes on to, and after how many iterations.

    `alpha` is the dual point of the problem that is left that belongs to x; without it that is
    ``alpha(x)``. Terms that have no numbers give a `width` in its place: ``alpha(x)`` of the
    smoothed hinge of that width is meant. `evaluation` is given if the solver has made it. `step`
    is the length of its last gradient step. `others` is how many evaluations of all terms went into
    it besides one an iteration."""

    x: ElementLike
    iterations: int = 0
    others: int = 0
    alpha: NDArray | None = None
    width: float = 0.0
    evaluation: Evaluation | None = None
    step: float | None = None

    def evaluated(self, problem: Problem, lam: float) -> Evaluation:
        """Return the evaluation of a problem at this point."""
        if self.evaluation is not None:
            return self.evaluation
        if self.width > 0.0:
            return problem.assemble(problem.terms.hinge_sums(self.x, self.width), self.x, lam)
        return problem.evaluate(self.x, lam, self.alpha)

    def dual_point(self) -> DualPoint | None:
        """Return the dual point as it is stored, None for ``alpha(x)``."""
        if self.width > 0.0:
            return DualPoint(width=self.width)
        return None if self.alpha is None else DualPoint(self.alpha)


class Trace:
    """What the loop has seen so far; it writes, solvers and policies read.

    Attributes
    ----------
    lam, limits : float, Limits
        `limits` may ask for a smaller gap than the caller did, see :func:`drive.drive`.
    point : Point
        The last one.
    latest : Evaluation
        The last one made. After a screening it may be that of the problem before it;
        :attr:`evaluation` never is.
    n_iter : int
    history : list of Iteration
    halved_at, fell_at : int
        At which iteration the gap last fell to half of what it was when that last happened, and by
        a hundredth.
    tried, tried_at : float, int or None
        Gap and iteration at which a policy was asked last.
    expected, lams_to_come : float
        As in :class:`Start`.
    rounds : int
        How often `limits` have been set.
    policy : Policy or None
        Which policy of screening there is.
    """

    def __init__(self, start: Start, limits: Limits, policy: Any = None):
        self.lam = start.lam
        self.limits = limits
        self.expected = start.expected
        self.lams_to_come = start.lams_to_come
        self.policy = policy
        self.history: list[Iteration] = []
        self.n_iter = 0
        self.tried = start.tried
        self.tried_at: int | None = None
        self.halved_at = 0
        self.fell_at = 0
        self.latest: Any = start.evaluation
        self.point: Any = None
        self.best_dual_point: DualPoint | None = None
        self._problem: Any = None
        self._is_evaluated = False
        self.rounds = 1
        self._best: Evaluation | None = None
        self._to_halve = math.inf
        self._lowest = math.inf
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def limits_left(self) -> Limits:
        """The limits with the iterations and seconds that are left."""
        limits = self.limits
        return Limits(
            tol=limits.tol,
            rtol=limits.rtol,
            max_iter=limits.max_iter - self.n_iter,
            max_seconds=limits.max_seconds - self.seconds,
        )

    @property
    def evaluation(self) -> Evaluation:
        """That of the problem that is left at the last point."""
        if not self._is_evaluated:
            self.latest = self.point.evaluated(self._problem, self.lam)
            self._is_evaluated = True
            self._compare(self.latest)
        return self.latest

    @property
    def best(self) -> Evaluation:
        """The evaluation of the problem that is left with the lowest gap."""
        current = self.evaluation
        return current if self._best is None else self._best

    @property
    def is_rounding(self) -> bool:
        """Whether most of the lowest gap is an allowance for rounding, so that more iterations
        bring nothing.
        """
        return max(self.best.primal - self.best.dual, 0.0) < ROUNDING * self.best.gap

    @property
    def starts_at_rounding(self) -> bool:
        """Whether nothing has been iterated, and :attr:`is_rounding` holds with an allowance above
        the gap to reach: an earlier solve has ended there.
        """
        if self.n_iter > 0 or not self.is_rounding:
            return False
        allowance = self.best.gap - max(self.best.primal - self.best.dual, 0.0)
        return allowance > self.limits.goal(self.best.primal)

    def move(self, problem: Problem, point: Point) -> None:
        """Go on to a point of the problem that is left."""
        self._problem = problem
        self.point = point
        self.n_iter += point.iterations
        self._is_evaluated = False

    def reduce(self, problem: Problem, kept: Any) -> None:
        """Go on with a smaller problem, at the same x; `kept` are the numbers of its terms."""
        alpha = None if self.point.alpha is None else self.point.alpha[kept]
        self.move(
            problem, self.point._replace(iterations=0, others=0, alpha=alpha, evaluation=None)
        )
        self._best = None

    def forget(self) -> None:
        """Forget the best point and the last trial: they belong to a problem with more features."""
        self._best = None
        self.tried = math.inf
        self.tried_at = None

    def at(self, problem: Problem, point: Point) -> Self:
        """Return a trace of a solve that goes on at a point of another problem; this one does not
        change.
        """
        elsewhere = copy.copy(self)
        elsewhere.move(problem, point._replace(iterations=0, others=0))
        return elsewhere

    def note_trial(self) -> None:
        """Note that a policy is asked at the last point."""
        self.tried = self.evaluation.gap
        self.tried_at = self.n_iter

    def record(self, n_terms: int, n_L: int, n_R: int) -> None:
        """Append the last point to the history."""
        evaluation = self.evaluation
        self.history.append(
            Iteration(
                iteration=self.n_iter,
                primal=evaluation.primal,
                gap=evaluation.gap,
                n_terms=n_terms,
                n_L=n_L,
                n_R=n_R,
                seconds=self.seconds,
            )
        )

    def ask_for_more(self) -> None:
        """Ask for a tenth of the gap."""
        self.rounds += 1
        limits = self.limits
        self.limits = replace(limits, tol=0.1 * limits.tol, rtol=0.1 * limits.rtol)

    def iterations_left(self, goal: float) -> float:
        """Return how many iterations are expected before the gap reaches `goal`."""
        return iterations_left(self.history, self.expected, self.latest.gap, goal)

    def best_start(self) -> Start:
        """Return the best point as the start of another solver."""
        best = self.best
        alpha = None
        if self.best_dual_point is not None and self.best_dual_point.packed:
            alpha = self.best_dual_point.unpack()
        return Start(x=best.x, lam=self.lam, alpha=alpha, evaluation=best)

    def _compare(self, e):
        if self._best is None or e.gap < self._best.gap:
            if self._best is None or e.gap < 0.5 * self._to_halve:
                self._to_halve = e.gap
                self.halved_at = self.n_iter
            self._best = e
            self.best_dual_point = self.point.dual_point()
        if e.gap < 0.99 * self._lowest:
            self._lowest = e.gap
            self.fell_at = self.n_iter


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
