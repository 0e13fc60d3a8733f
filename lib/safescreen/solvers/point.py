"""The next point of a solver."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.solution import DualPoint


class Point(NamedTuple):
    """The next point of a solver, and the number of iterations that led to it.

    Attributes
    ----------
    x : element
    iterations : int
        Iterations since the last point.
    alpha : array, optional
        The dual point of the reduced problem that belongs to x; None stands for ``alpha(x)``.
    width : float
        Takes the place of `alpha` if terms are not numbered one by one: the dual point is
        ``alpha(x)`` of the smoothed hinge of this width.
    evaluation : Evaluation, optional
        The evaluation of the problem at x, if the solver has made one.
    step : float, optional
        Length of the last gradient step.
    solver : str
        The name of the solver that made the point, if several solvers take turns.
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
        """Return the stored :class:`DualPoint`, or None, which stands for ``alpha(x)``."""
        if self.width > 0.0:
            return DualPoint(width=self.width)
        return None if self.alpha is None else DualPoint(self.alpha)
