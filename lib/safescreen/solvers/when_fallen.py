"""Screen with the same tests when the gap has fallen by a factor."""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.problem import Problem
from safescreen.solvers.drive import Moment
from safescreen.solvers.reduction import Test
from safescreen.solvers.trace import Point, Trace


@dataclass(frozen=True)
class WhenFallen:
    """Use the tests when the gap is less than `factor` of what it was the last time.

    The radius of a ball is the root of the gap, up to a factor: between two screenings it shrinks
    by the root of `factor`. This is for solvers of few iterations, each of which costs as much as
    screening."""

    use: tuple[Test, ...]
    factor: float = 0.3

    is_automatic = False

    def is_due(self, trace: Trace) -> bool:
        """Return whether the gap has fallen that far."""
        return trace.evaluation.gap < self.factor * trace.tried

    def tests(self, moment: Moment) -> tuple[Test, ...]:
        """Return all of them."""
        return self.use

    def learn(self, moment: Moment, problem: Problem) -> None:
        """Do nothing."""

    def count(self, problem: Problem, point: Point) -> None:
        """Do nothing."""
