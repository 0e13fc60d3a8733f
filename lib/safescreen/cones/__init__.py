"""Closed convex cones K: where the solution lives.

Each cone gives the inner product of its space, the decomposition ``H = plus - minus`` with
``plus = [H]_K`` and ``<plus, minus> = 0``, and bounds of what rounding does to it."""

from safescreen.cones.base import Cone
from safescreen.cones.free import FreeSpace
from safescreen.cones.nonnegative import NonNegativeCone
from safescreen.cones.psd import PSDCone

__all__ = ["Cone", "FreeSpace", "NonNegativeCone", "PSDCone"]
