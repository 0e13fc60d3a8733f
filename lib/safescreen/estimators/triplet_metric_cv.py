"""Metric learning from triplets, with lam chosen by cross-validation along paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from safescreen.estimators._cross_validation import MetricSearch, Trial, delegated
from safescreen.estimators._data import check_values
from safescreen.estimators._training import solver_options
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.paths import path


class TripletMetricCV(MetricSearch):
    """:class:`TripletMetric` with the lam of the best cross-validated score. Each fold is one path,
    in which each solution is the start for the next lam.

    All lam are solved for in all folds. :class:`SafeSVCCV` proves that a C cannot be the best
    without solving for it. That would gain little here: a ball around the optimum bounds the
    margins of triplets, but a k-nearest-neighbour classifier depends on the order of all distances.

    Parameters
    ----------
    estimator : TripletMetric, optional
        Everything but lam and its path. The last fit is a copy of it, with its `callback` and
        `verbose`.
    lams : int or array
        Values of lam in any order; `lams_` decreases. An int n stands for n values with equal steps
        of the logarithm, from 1 to 1e-4 times the lam from which on all triplets are in the linear
        region. That lam is the one of the training points of each fold, and of all points for
        `lams_`.
    cv, scoring, refit, n_jobs, verbose
        As in :class:`SafeSVCCV`; ``cv=ShuffleSplit(1)`` is a single validation set.

    Attributes
    ----------
    best_estimator_ : TripletMetric
        The metric of all points, with the path down to `lam_`. :meth:`transform`, :meth:`predict`
        and the other methods use it. It exists only with `refit`.
    lam_ : float
        The chosen lam; of equal scores the largest. If Ctrl-C ends the last path early, it is the
        lam of the metric.
    lams_ : array of shape (n_values,)
        The values of lam for all points.
    scores_ : array of shape (n_folds, n_values)
        NaN where a score is missing after Ctrl-C.
    best_score_ : float
        Mean score of the chosen lam.
    best_index_, best_params_, cv_results_, n_splits_
        As in :class:`sklearn.model_selection.GridSearchCV`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    TripletMetric : For one lam.

    Notes
    -----
    `scores_` belong to the metrics as computed, to the `tol` of the estimator. They are not
    certified: a classifier by nearest neighbours may change within `tol`. So a single fit for one
    of the lams, which has another start, may score a point or two differently.

    Ctrl-C ends the cross-validation as in :class:`SafeSVCCV`. In the last path it ends that path,
    as in :class:`TripletMetric`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = TripletMetricCV(TripletMetric(k=3), lams=5, cv=3).fit(X, y)
    >>> search.scores_.shape, bool(search.best_score_ > 0.9), search.lam_ in search.lams_
    ((3, 5), True, True)
    """

    prototype = TripletMetric
    chosen = "lam"

    def __init__(
        self,
        estimator: TripletMetric | None = None,
        lams: int | ArrayLike = 13,
        *,
        cv: Any = None,
        scoring: str | Callable | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose

    predict_proba = delegated(TripletMetric.predict_proba)
    get_mahalanobis_matrix = delegated(TripletMetric.get_mahalanobis_matrix)

    def _grid(self, model, data):
        return Lams(self.lams)

    @staticmethod
    def _fold(model, X, y, weights, train, test, grid, judge):
        model = clone(model)  # folds may be worked on by threads
        posed = model.pose(X, y, weights, train)
        model.n_features_in_ = X.shape[1]
        trials = []
        ended = [perf_counter()]  # when each trial ended

        def score(progress):
            solved = perf_counter()
            model.keep(posed, progress.solution)
            value = judge(posed.complete(), test)
            ended.append(perf_counter())
            trials.append(Trial(value, solved - ended[-2], ended[-1] - solved))

        with warnings.catch_warnings():
            # fit warns of it
            warnings.filterwarnings("ignore", "path interrupted", RuntimeWarning)
            lams = grid.of(posed.problem)
            solutions = path(
                posed.problem,
                lams,
                keep_masks=False,
                callback=score,
                **solver_options(model, "active_set"),
            )
        return trials, solutions.reason != "interrupted"

    def _settle(self, model, data, grid, best):
        posed = model.pose(*data)
        self.lams_ = grid.of(posed.problem)

        def refit():
            model.fit_path(posed, self.lams_[: best + 1])
            return posed.complete()

        return {self.chosen: self.lams_}, refit


class Lams:
    """A grid of lam: given values, or, for an int, values relative to the lam from which on all
    triplets of a problem are in the linear region.
    """

    def __init__(self, lams):
        self.values = check_values(lams, "lams", (1.0, 1e-4), "TripletMetric", falling=True)
        self.relative = not np.ndim(lams)

    def __len__(self):
        return len(self.values)

    def of(self, prob):
        """Return the values for a problem."""
        top = prob.lam_max() if self.relative else 1.0
        return self.values * (top if 0.0 < top < np.inf else 1.0)
