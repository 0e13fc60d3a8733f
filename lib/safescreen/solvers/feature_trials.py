"""When a solve asks which features are 0."""

from __future__ import annotations

import math

from safescreen.problem import Problem
from safescreen.solvers.trace import Point, Trace


class FeatureTrials:
    """Ask when the gap has fallen or terms have left, and the iterations since the last time have
    cost as much as asking does.

    So all trials together cost at most as much as the iterations. Along a path the first trial of
    a lam is paid for by the iterations that the neighbouring lam took.

    Attributes
    ----------
    fallen : float
        To what part the gap has to fall before another trial.
    """

    def __init__(self, expected: float = 0.0, fallen: float = 0.5):
        self.fallen = fallen
        self.tried = math.inf
        self._done = 0.0
        self._expected = expected

    def count(self, problem: Problem, point: Point) -> None:
        """Add up the operations of what was evaluated for a point."""
        self._done += (self._expected + point.iterations + point.others) * problem.terms.work
        self._expected = 0.0

    def terms_left(self) -> None:
        """Note that terms have left: what remains may decide more features."""
        self.tried = math.inf

    def are_due(self, problem: Problem, trace: Trace) -> bool:
        """Return whether to ask at the last point; if so, that is noted."""
        if trace.evaluation.gap >= self.fallen * self.tried:
            return False
        if self._done < problem.terms.features_work:
            return False
        self.tried = trace.evaluation.gap
        self._done = 0.0
        return True
