"""Screen with the same tests each so many iterations."""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.problem import Problem
from safescreen.solvers.drive import Moment
from safescreen.solvers.reduction import Test
from safescreen.solvers.trace import Point, Trace


@dataclass(frozen=True)
class Every:
    """Use the tests at the first point and each `freq` iterations (STS19 Algorithm 1).

    A first point that has been screened already is passed over, unless its gap is less than
    `fallen` of what it was then: the balls would be nearly the same."""

    use: tuple[Test, ...]
    freq: int = 10
    fallen: float = 0.5

    is_automatic = False

    def is_due(self, trace: Trace) -> bool:
        """Return whether `freq` iterations have passed."""
        if trace.tried_at is None and trace.n_iter == 0:
            return trace.evaluation.gap <= self.fallen * trace.tried
        return trace.n_iter - (trace.tried_at or 0) >= self.freq

    def tests(self, moment: Moment) -> tuple[Test, ...]:
        """Return all of them."""
        return self.use

    def learn(self, moment: Moment, problem: Problem) -> None:
        """Do nothing."""

    def count(self, problem: Problem, point: Point) -> None:
        """Do nothing."""
