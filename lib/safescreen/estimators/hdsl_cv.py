"""Sparse similarity learning, with the scale chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from safescreen.estimators._cross_validation import (
    MetricSearch,
    Trial,
    delegated,
    until_interrupted,
)
from safescreen.estimators._data import check_values
from safescreen.estimators.hdsl import HDSL
from safescreen.hdsl import default_scale


class HDSLCV(MetricSearch):
    """:class:`HDSL` with the scale of the best cross-validated score.

    Parameters
    ----------
    estimator : HDSL, optional
        Everything but the scale. The last fit is a copy of it, with its `callback` and `verbose`.
    scales : int or array
        Values in any order; `scales_` increases. An int n stands for n values with equal steps of
        the logarithm, from 1/30 to 30 times the default scale of HDSL.
    cv, scoring, refit, n_jobs, verbose
        As in :class:`SafeSVCCV`; ``cv=ShuffleSplit(1)`` is a single validation set.

    Attributes
    ----------
    best_estimator_ : HDSL
        Fitted to all points. :meth:`transform`, :meth:`predict` and the other methods use it. It
        exists only with `refit`.
    scale_ : float
        The chosen scale; of equal scores the smallest.
    scales_ : array of shape (n_values,)
    scores_ : array of shape (n_folds, n_values)
        NaN where a score is missing after Ctrl-C, which ends the cross-validation as in
        :class:`SafeSVCCV`.
    best_score_ : float
        Mean score of the chosen scale.
    best_index_, best_params_, cv_results_, n_splits_
        As in :class:`sklearn.model_selection.GridSearchCV`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn. There are no classes after :meth:`fit_triplets`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> search = HDSLCV(HDSL(max_iter=100), scales=3, cv=3).fit(X[:300], y[:300])
    >>> search.scores_.shape, bool(search.best_score_ > 0.8), search.scale_ in search.scales_
    ((3, 3), True, True)
    """

    prototype = HDSL
    chosen = "scale"

    def __init__(
        self,
        estimator: HDSL | None = None,
        scales: int | ArrayLike = 7,
        *,
        cv: Any = None,
        scoring: str | Callable | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.scales = scales
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose

    get_mahalanobis_matrix = delegated(HDSL.get_mahalanobis_matrix)

    def _grid(self, model, data):
        grid = check_values(self.scales, "scales", (1.0 / 30.0, 30.0), "HDSL")
        X, y, _ = data
        if not np.ndim(self.scales):
            grid = grid * default_scale(X, y if y.ndim == 2 else model._constraints(X, y, 0))
        self.scales_ = grid
        return grid

    @staticmethod
    def _fold(model, X, y, weights, train, test, grid, judge):
        weights = None if weights is None else weights[train]

        def trial(scale):
            start = perf_counter()
            fitted = clone(model).set_params(scale=float(scale))
            if y.ndim == 2:
                fitted.fit_triplets(X, y[train], weights)
            else:
                fitted.fit(X[train], y[train], weights)
            if np.isnan(fitted.dual_gap_):
                raise KeyboardInterrupt
            solved = perf_counter()
            return Trial(judge(fitted, test), solved - start, perf_counter() - solved)

        return until_interrupted(trial, grid)

    def _settle(self, model, data, grid, best):
        model.set_params(scale=float(grid[best]))
        fit = model._fit_triplets if data[1].ndim == 2 else model._fit_labels
        return {self.chosen: grid}, lambda: fit(*data)
