"""Families of loss terms.

A family knows what its terms are. It computes sums over all its terms without d^2 operations for
each term.
"""

from safescreen.terms.base import LossSums, Terms
from safescreen.terms.free_intercept import FreeIntercept
from safescreen.terms.intercept import add_intercept
from safescreen.terms.pair_terms import Pairs, pull
from safescreen.terms.quadruplets import Quadruplets
from safescreen.terms.samples import Samples
from safescreen.terms.triplets import Triplets

__all__ = [
    "FreeIntercept",
    "LossSums",
    "Pairs",
    "Quadruplets",
    "Samples",
    "Terms",
    "Triplets",
    "add_intercept",
    "pull",
]
