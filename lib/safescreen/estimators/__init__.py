"""Estimators with the conventions of scikit-learn.

An estimator is imported on first use. So ``import safescreen`` is fast, and a classifier does not
wait for modules that only metrics need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safescreen.estimators.fitted import InterceptCertificate, screen_fitted
    from safescreen.estimators.hdsl import HDSL
    from safescreen.estimators.safe_svc import SafeSVC
    from safescreen.estimators.safe_svc_cv import SafeSVCCV
    from safescreen.estimators.triplet_metric import TripletMetric
    from safescreen.estimators.triplet_metric_cv import TripletMetricCV
    from safescreen.estimators.tuples import PairLearner, QuadrupletLearner, TripletLearner

__all__ = [
    "HDSL",
    "InterceptCertificate",
    "PairLearner",
    "QuadrupletLearner",
    "SafeSVC",
    "SafeSVCCV",
    "TripletLearner",
    "TripletMetric",
    "TripletMetricCV",
    "screen_fitted",
]

MODULES = {
    "HDSL": "hdsl",
    "InterceptCertificate": "fitted",
    "PairLearner": "tuples",
    "QuadrupletLearner": "tuples",
    "SafeSVC": "safe_svc",
    "SafeSVCCV": "safe_svc_cv",
    "TripletLearner": "tuples",
    "TripletMetric": "triplet_metric",
    "TripletMetricCV": "triplet_metric_cv",
    "screen_fitted": "fitted",
}
"""The module of this package that defines each name."""

if not TYPE_CHECKING:

    def __getattr__(name):
        if name in MODULES:
            return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
