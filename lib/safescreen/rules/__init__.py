"""Rules: from a region that contains the solution to terms whose category is certain.

:data:`RULES` holds the rules of one ball, ``rule(prob, ball) -> Screened``; each screens what
``"sphere"`` screens, and more. The rules of other regions (:func:`halfspace` with a half-space of
one's own, :func:`intersection` of two balls) are called by name, and so is :func:`features`, which
decides coordinates and not terms."""

from safescreen.rules.ball import sphere
from safescreen.rules.base import Screened
from safescreen.rules.features import features
from safescreen.rules.halfspace import cone_halfspace, halfspace
from safescreen.rules.intersection import intersection
from safescreen.rules.semidefinite import semidefinite

__all__ = [
    "RULES",
    "Screened",
    "cone_halfspace",
    "features",
    "halfspace",
    "intersection",
    "semidefinite",
    "sphere",
]

RULES = {"sphere": sphere, "halfspace": cone_halfspace, "semidefinite": semidefinite}
