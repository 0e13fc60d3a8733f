"""Rules: from a region that contains the solution to terms whose category is certain."""

from safescreen.rules.ball import sphere
from safescreen.rules.base import Screened

__all__ = ["RULES", "Screened", "sphere"]

RULES = {"sphere": sphere}
