"""The solvers: one loop for all of them (:mod:`safescreen.solvers.drive`), and a file for each
solver and each policy.
"""

from safescreen.records import ConvergenceWarning, Iteration, Progress
from safescreen.solvers.dual_points import dual_point
from safescreen.solvers.solution import Solution
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
