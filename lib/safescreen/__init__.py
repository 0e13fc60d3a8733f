"""Safe screening: prove, before solving, that a term of a learning problem cannot matter, and leave it out."""

from safescreen import _numba as _numba  # first: chooses the compile cache before numba is imported
from safescreen import ranges, rules, spheres
from safescreen.cones import FreeSpace, NonNegativeCone, PSDCone
from safescreen.losses import Hinge, SmoothedHinge
from safescreen.paths import Path, path
from safescreen.problem import Problem
from safescreen.rules import Screened
from safescreen.solvers import ConvergenceWarning, Solution, solve
from safescreen.spheres import SPHERES, Sphere
from safescreen.terms import ProductTriplets, Samples, Triplets

__version__ = "0.1.0"

__all__ = [
    "SPHERES",
    "ConvergenceWarning",
    "FreeSpace",
    "Hinge",
    "NonNegativeCone",
    "PSDCone",
    "Path",
    "Problem",
    "ProductTriplets",
    "Samples",
    "Screened",
    "SmoothedHinge",
    "Solution",
    "Sphere",
    "Triplets",
    "path",
    "ranges",
    "rules",
    "solve",
    "spheres",
]
