"""Where a solver goes on to."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.solution import DualPoint


class Point(NamedTuple):
    """Where a solver goes on to, and after how many iterations.

    Attributes
    ----------
    x : element
    iterations : int
        Iterations since the last point.
    alpha : array, optional
        The dual point of the problem that is left that belongs to x; without it that is
        ``alpha(x)``.
    width : float
        In place of `alpha` where terms have no numbers: ``alpha(x)`` of the smoothed hinge of that
        width is meant.
    evaluation : Evaluation, optional
        That of the problem at x, if the solver has made it.
    step : float, optional
        Length of the last gradient step.
    solver : str
        Of several solvers, which one has made the point.
    """

    x: ElementLike
    iterations: int = 0
    alpha: NDArray | None = None
    width: float = 0.0
    evaluation: Evaluation | None = None
    step: float | None = None
    solver: str = ""

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
