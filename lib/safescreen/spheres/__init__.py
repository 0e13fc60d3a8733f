"""Balls that contain the optimum.

Each family of balls is a function of a problem and a reference point. :data:`SPHERES` holds the
same families by name, in the form that solvers use: each ball is built from an evaluation that the
solver has made already.
"""

from safescreen.spheres.base import Sphere
from safescreen.spheres.families import SPHERES
from safescreen.spheres.gap import (
    constrained_duality_gap_bound,
    duality_gap_bound,
    midpoint_gap_bound,
)
from safescreen.spheres.gradient import gradient_bound, projected_gradient_bound
from safescreen.spheres.path import path_bound, relaxed_path_bound

__all__ = [
    "SPHERES",
    "Sphere",
    "constrained_duality_gap_bound",
    "duality_gap_bound",
    "gradient_bound",
    "midpoint_gap_bound",
    "path_bound",
    "projected_gradient_bound",
    "relaxed_path_bound",
]
