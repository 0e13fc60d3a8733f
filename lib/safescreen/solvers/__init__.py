"""Solvers: projected gradient with dynamic screening, and the proximal method of multipliers for the hinge."""

from safescreen.solvers.solution import Iteration, Solution
from safescreen.solvers.solve import ConvergenceWarning, solve

__all__ = ["ConvergenceWarning", "Iteration", "Solution", "solve"]
