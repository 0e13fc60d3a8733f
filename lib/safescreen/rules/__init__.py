"""Rules: which terms are certain if a region contains the optimum.

:data:`RULES` holds the rules for one ball, ``rule(prob, ball) -> Screened``. Each of them screens
what ``"sphere"`` screens, and more. The other rules are functions of their own: :func:`halfspace`
for a ball and any half-space, :func:`intersection` for two balls, and :func:`features`, which
decides coordinates instead of terms.
"""

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
