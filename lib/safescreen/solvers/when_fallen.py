"""Screen with the same tests when the gap has fallen by a factor."""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.solvers.named import Named
from safescreen.solvers.trace import Trace


@dataclass(frozen=True)
class WhenFallen(Named):
    """Use the tests when the gap is less than `factor` of what it was the last time.

    The radius of a ball is the root of the gap, up to a factor: between two screenings it shrinks
    by the root of `factor`. This is for solvers of few iterations, each of which costs as much as
    screening."""

    factor: float = 0.3

    def is_due(self, trace: Trace) -> bool:
        """Return whether the gap has fallen that far."""
        return trace.evaluation.gap < self.factor * trace.screened.gap
