"""Ranges of lam over which the category of a term at the optimum is certain."""

from safescreen.ranges.general import duality_gap, gradient, midpoint_gap
from safescreen.ranges.path import Ranges, relaxed_path

__all__ = ["Ranges", "duality_gap", "gradient", "midpoint_gap", "relaxed_path"]
