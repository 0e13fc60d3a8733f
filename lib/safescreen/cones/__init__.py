"""Closed convex cones K, over which the objective is minimised.

Each cone gives the inner product of its space, the decomposition ``H = plus - minus`` with ``plus =
[H]_K`` and ``<plus, minus> = 0``, and bounds of the rounding errors of the decomposition.
"""

from safescreen.cones.base import Cone
from safescreen.cones.free import FreeSpace
from safescreen.cones.nonnegative import NonNegativeCone
from safescreen.cones.psd import PSDCone

__all__ = ["Cone", "FreeSpace", "NonNegativeCone", "PSDCone"]
