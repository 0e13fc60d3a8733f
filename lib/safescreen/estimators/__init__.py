"""Estimators with the conventions of scikit-learn; imported on first use, so that ``import safescreen`` stays light."""

from safescreen.estimators.hdsl import HDSL
from safescreen.estimators.safe_svc import SafeSVC
from safescreen.estimators.safe_svc_cv import SafeSVCCV
from safescreen.estimators.triplet_metric import TripletMetric

__all__ = ["HDSL", "SafeSVC", "SafeSVCCV", "TripletMetric"]
