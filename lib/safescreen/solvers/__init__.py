"""Solvers: projected gradient, dual coordinate descent, Newton's method and a method of
multipliers, all with dynamic screening.
"""

from safescreen.solvers.dual_points import dual_point
from safescreen.solvers.run import ConvergenceWarning
from safescreen.solvers.solution import Iteration, Progress, Solution
from safescreen.solvers.solve import solve, solve_screened

__all__ = [
    "ConvergenceWarning",
    "Iteration",
    "Progress",
    "Solution",
    "dual_point",
    "solve",
    "solve_screened",
]
