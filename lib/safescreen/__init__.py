"""Safe screening: prove before a problem is solved that the loss of a term is zero or linear at the
optimum, and take the term out.
"""

from typing import TYPE_CHECKING

from safescreen import hdsl, ranges, rules, spheres, svm
from safescreen.cluster import ShardedTriplets
from safescreen.cones import FreeSpace, NonNegativeCone, PSDCone
from safescreen.kernels import KernelSamples
from safescreen.losses import Hinge, Loss, SmoothedHinge, SquaredHinge
from safescreen.paths import Path, path
from safescreen.problem import Problem
from safescreen.products import ProductTriplets
from safescreen.records import ConvergenceWarning, Progress
from safescreen.rules import Screened
from safescreen.screening import Certificate, screen, screen_samples, screen_triplets
from safescreen.solvers import Solution, solve
from safescreen.spheres import SPHERES, Sphere
from safescreen.terms import (
    FreeIntercept,
    Pairs,
    Quadruplets,
    Samples,
    Triplets,
    pull,
)
from safescreen.validation import (
    HeldOut,
    MarginBounds,
)

__version__ = "0.5.0"

__all__ = [
    "HDSL",
    "SPHERES",
    "Certificate",
    "ConvergenceWarning",
    "FreeIntercept",
    "FreeSpace",
    "HeldOut",
    "Hinge",
    "KernelSamples",
    "Loss",
    "MarginBounds",
    "NonNegativeCone",
    "PSDCone",
    "PairLearner",
    "Pairs",
    "Path",
    "Problem",
    "ProductTriplets",
    "Progress",
    "QuadrupletLearner",
    "Quadruplets",
    "SafeSVC",
    "SafeSVCCV",
    "Samples",
    "Screened",
    "ShardedTriplets",
    "SmoothedHinge",
    "Solution",
    "Sphere",
    "SquaredHinge",
    "TripletLearner",
    "TripletMetric",
    "TripletMetricCV",
    "Triplets",
    "hdsl",
    "path",
    "pull",
    "ranges",
    "rules",
    "screen",
    "screen_fitted",
    "screen_samples",
    "screen_triplets",
    "solve",
    "spheres",
    "svm",
]


if TYPE_CHECKING:
    from safescreen.estimators import (
        HDSL,
        PairLearner,
        QuadrupletLearner,
        SafeSVC,
        SafeSVCCV,
        TripletLearner,
        TripletMetric,
        TripletMetricCV,
        screen_fitted,
    )
else:

    def __getattr__(name):
        """Import the estimators, and with them scikit-learn, only when one of them is used."""
        if name in __all__:
            from safescreen import estimators

            return getattr(estimators, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
