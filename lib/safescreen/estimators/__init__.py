"""Estimators with the conventions of scikit-learn.

They are imported on first use, so that ``import safescreen`` is fast.
"""

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
