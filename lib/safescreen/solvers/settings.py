"""How a problem is to be solved: one record of settings, checked once, and the state that a
solve carries along.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from safescreen._checks import check_callback, check_count, check_scalar
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import FLOOR, ElementLike, sqrt_upper, upper
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.schedule import Schedule, schedule_of
from safescreen.solvers.solution import DualPoint, Iteration, Progress

Screen: TypeAlias = Callable[[Evaluation], bool] | None
"""Screens at an evaluated point; True if the problem that is left has changed."""


RTOL = 1e-6
"""Relative gap to reach where neither `tol` nor `rtol` is given."""


@dataclass(frozen=True)
class Limits:
    """When to stop: gap at most ``max(tol, rtol |P|)``, or after ``max_iter`` iterations."""

    tol: float
    rtol: float
    max_iter: int

    @classmethod
    def checked(cls, tol: float | None, rtol: float | None, max_iter: int) -> Self:
        """Return the limits a user asks for: a tolerance that is left out counts as 0, without
        either ``rtol`` is 1e-6.
        """
        if tol is None and rtol is None:
            rtol = RTOL
        absolute = 0.0 if tol is None else check_scalar(tol, "tol", low=0.0)
        relative = 0.0 if rtol is None else check_scalar(rtol, "rtol", low=0.0)
        if absolute == 0.0 and relative == 0.0:
            raise ValueError(
                f"tol and rtol must not both be 0, got tol={tol} and rtol={rtol}; one left "
                "out counts as 0"
            )
        least = max(absolute, FLOOR)  # an objective of 0 has a gap of what may be lost to underflow
        return cls(least, relative, check_count(max_iter, "max_iter"))

    def goal(self, primal: float) -> float:
        """Return the gap to reach."""
        return max(self.tol, self.rtol * abs(primal))

    def reached(self, evaluation: Evaluation) -> bool:
        """Return whether the gap at an evaluated point is small enough."""
        return evaluation.gap <= self.goal(evaluation.primal)

    def accuracy(self, primal: float, lam: float) -> float:
        """Return an upper bound of ``||x - x*||`` for any x whose gap they accept, when its
        objective is at most `primal`.
        """
        gap = max(self.tol, self.rtol * (1.0 + 4.0 * self.rtol) * abs(primal))
        return upper(sqrt_upper(2.0 * gap / lam), 8)

    def enlargement(self, evaluation: Evaluation) -> float:
        """Return by how much balls are enlarged so that any x the limits will accept lies in
        them too.
        """
        return upper(self.accuracy(evaluation.primal, evaluation.lam) + 2.0 * evaluation.x_error, 4)


@dataclass(frozen=True)
class Settings:
    """Everything a solver is told beside the problem, as in :func:`safescreen.solve`;
    `keep_masks`: a solution keeps those of screening.
    """

    limits: Limits
    schedule: Schedule = field(default_factory=lambda: Schedule(()))
    freq: int = 10
    active_set: bool = False
    callback: Callable[[Progress], Any] | None = None
    keep_masks: bool = True

    @classmethod
    def checked(
        cls,
        prob: Problem,
        tol,
        rtol,
        max_iter,
        screening,
        freq,
        active_set=False,
        callback=None,
        keep_masks=True,
    ) -> Self:
        """Return the settings a user asks for, for a problem."""
        limits = Limits.checked(tol, rtol, max_iter)
        schedule = schedule_of(screening, prob)
        freq = check_count(freq, "freq")  # by itself it looks at every iterate
        freq = freq if active_set or not schedule.automatic else 1
        return cls(
            limits=limits,
            schedule=schedule,
            freq=freq,
            active_set=bool(active_set),
            callback=check_callback(callback),
            keep_masks=bool(keep_masks),
        )


@dataclass
class Descent:
    """State of a solve that survives the rounds it is split into.

    `x` is the current point, at the end of a solver the best one found, and `evaluation` that of
    the problem that is left there; `step` the length of the last step; `alpha` the dual point of
    the whole problem that belongs to x, where it is not ``alpha(x)``; `stopped` says whether a
    callback has said so; `expected` is how many iterations the neighbouring lam took."""

    x: ElementLike
    lam: float
    step: float | None = None
    n_iter: int = 0
    evaluation: Any = None
    alpha: DualPoint | None = None
    history: list[Iteration] = field(default_factory=list)
    stopped: bool = False
    expected: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    def record(
        self,
        reduction: Reduction,
        evaluation: Evaluation,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        """Append the state to the history, and show it to the callback."""
        now = Iteration(
            iteration=self.n_iter,
            primal=evaluation.primal,
            gap=evaluation.gap,
            n_terms=len(reduction.problem),
            n_L=reduction.n_L,
            n_R=reduction.n_R,
            seconds=time.perf_counter() - self.started,
        )
        self.history.append(now)
        if callback is not None and callback(
            Progress(x=evaluation.x, lam=self.lam, **now._asdict())
        ):
            self.stopped = True
