"""Ranges of the regularization parameter over which a term's category is certain."""

from safescreen.ranges.general import duality_gap, gradient, midpoint_gap
from safescreen.ranges.path import Ranges, relaxed_path

__all__ = ["Ranges", "duality_gap", "gradient", "midpoint_gap", "relaxed_path"]
