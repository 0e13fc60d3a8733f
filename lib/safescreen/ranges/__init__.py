"""Ranges of the regularization parameter over which a term's category is certain."""

from safescreen.ranges.path import Ranges, relaxed_path

__all__ = ["Ranges", "relaxed_path"]
