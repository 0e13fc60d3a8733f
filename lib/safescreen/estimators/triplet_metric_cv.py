"""Metric learning from triplets, with lam chosen by cross-validation along paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from safescreen._checks import check_count
from safescreen.estimators._cross_validation import (
    MetricSearch,
    Trial,
    cells,
    delegated,
    most_missed,
)
from safescreen.estimators._data import check_values
from safescreen.estimators._folds import is_best
from safescreen.estimators._mahalanobis import dense
from safescreen.estimators._training import solver_options
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.paths import path
from safescreen.terms import Triplets
from safescreen.validation import HeldOut


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
    intervals : int, optional
        Into how many cells each interval between two neighbouring `lams` is divided for
        `interval_bounds_` and `epsilon_`, which nothing is solved for. Only for
        :meth:`fit_triplets`, the agreement with held-out judgements as the score, and at least as
        many points as features.

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
    score_bounds_ : array of shape (2, n_folds, n_values)
        Only with `intervals`. Lower and upper bounds of the scores of the exact solutions.
    certified_ : bool
        Only with `intervals`. Whether the bounds prove that `lam_` is the best of `lams_` at the
        exact solutions, of equal ones the largest.
    interval_bounds_ : array of shape (2, n_values - 1)
        Only with `intervals`. Lower and upper bounds of the mean score of the exact solutions for
        *every* lam between two neighbouring `lams_`. If `lams` is an int, lam is relative to the
        largest of each fold.
    epsilon_ : float
        Only with `intervals`. No lam from the largest to the smallest of `lams_` has a mean score
        that is larger than that of `lam_` by more than this.
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
    of the lams, which has another start, may score a point or two differently. For judgements,
    `intervals` certifies the agreement with those that are held out, see
    :class:`~safescreen.HeldOut` and notebook 48.

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
        intervals: int | None = None,
    ):
        self.estimator = estimator
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.intervals = intervals

    predict_proba = delegated(TripletMetric.predict_proba)
    get_mahalanobis_matrix = delegated(TripletMetric.get_mahalanobis_matrix)

    def _count_cells(self, judge):
        n_cells = check_count(self.intervals, "intervals", optional=True)
        if n_cells and (judge.y.ndim == 1 or self.scoring is not None):
            raise ValueError(
                "intervals are for fit_triplets without scoring: a k-nearest-neighbour classifier "
                "depends on the order of all distances, which no ball decides"
            )
        return n_cells or 0

    def _grid(self, model, data):
        return Lams(self.lams, self.intervals or 0)

    def _validate(self, model, data, splits, grid, judge, scores):
        is_complete = super()._validate(model, data, splits, grid, judge, scores)
        if self.intervals is not None:
            self.score_bounds_ = np.array([scores.low, scores.high])
            self.interval_bounds_ = scores.mean_between()[:, 1:]
        return is_complete

    @staticmethod
    def _fold(model, X, y, weights, train, test, grid, judge):
        model = clone(model)  # folds may be worked on by threads
        posed = model.pose(X, y, weights, train)
        model.n_features_in_ = X.shape[1]
        certificate = None
        if grid.n_cells:
            certificate = _Agreement(posed, X, y[test], weights, test, model.diagonal, grid)
        trials = []
        ended = [perf_counter()]  # when each trial ended

        def score(progress):
            solved = perf_counter()
            model.keep(posed, progress.solution)
            value = judge(posed.complete(), test)
            ended.append(perf_counter())
            bounds = () if certificate is None else certificate.add(progress.solution)
            trials.append(Trial(value, solved - ended[-2], ended[-1] - solved, *bounds))

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
        if self.intervals is not None:
            low, high = self.score_bounds_.mean(axis=1)
            self.certified_ = is_best(*self.score_bounds_, best)
            self.epsilon_ = most_missed(self.interval_bounds_, high, low[best])

        def refit():
            model.fit_path(posed, self.lams_[: best + 1])
            return posed.complete()

        return {self.chosen: self.lams_}, refit


class _Agreement:
    """Bounds of the agreement with the held-out judgements of a fold, along its path."""

    def __init__(self, posed, X, triplets, weights, test, diagonal, grid):
        if posed.basis is not None:
            raise ValueError(
                "intervals need at least as many points as features, or diagonal=True: reduce the "
                "features (PCA), or leave intervals out"
            )
        terms = Triplets(dense(X), triplets, diagonal=diagonal)
        weights = None if weights is None else weights[test]
        self.held_out = HeldOut(posed.problem, terms, weights)
        self.n_cells = grid.n_cells
        self.last = None

    def add(self, solution):
        """Return ``(low, high, between)`` for the :class:`Trial` of a solution: bounds of the
        agreement at its lam, and in the cells between the last lam and this one.
        """
        self.held_out.keep(solution)
        lam = float(solution.lam)
        between = None
        if self.last is not None:
            ends = cells(lam, self.last, self.n_cells)
            pairs = zip(ends[:-1], ends[1:], strict=True)
            between = np.array([self._bounds(*pair) for pair in pairs]).T
        self.last = lam
        return *self._bounds(lam, lam), between

    def _bounds(self, low, high):
        least, most = self.held_out.error(low, high)
        return 1.0 - most, 1.0 - least


class Lams:
    """A grid of lam: given values, or, for an int, values relative to the lam from which on all
    triplets of a problem are in the linear region. Between two values there are `n_cells` cells.
    """

    def __init__(self, lams, n_cells=0):
        self.n_cells = n_cells
        self.values = check_values(lams, "lams", (1.0, 1e-4), "TripletMetric", falling=True)
        self.relative = not np.ndim(lams)

    def __len__(self):
        return len(self.values)

    def of(self, prob):
        """Return the values for a problem."""
        top = prob.lam_max() if self.relative else 1.0
        return self.values * (top if 0.0 < top < np.inf else 1.0)
