"""Sparse similarity learning, with the scale chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone

from safescreen._threads import with_small_blas
from safescreen.estimators._cross_validation import (
    CrossValidation,
    Trial,
    delegated,
    until_interrupted,
)
from safescreen.estimators._data import check_values
from safescreen.estimators.hdsl import HDSL
from safescreen.hdsl import default_scale


class HDSLCV(TransformerMixin, CrossValidation):
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

    predict = delegated(HDSL.predict)
    transform = delegated(HDSL.transform)
    pair_distance = delegated(HDSL.pair_distance)
    pair_score = delegated(HDSL.pair_score)
    score_pairs = delegated(HDSL.score_pairs)
    score_triplets = delegated(HDSL.score_triplets)
    get_metric = delegated(HDSL.get_metric)
    get_mahalanobis_matrix = delegated(HDSL.get_mahalanobis_matrix)
    get_feature_names_out = delegated(HDSL.get_feature_names_out)

    @with_small_blas
    def fit_triplets(
        self,
        X: ArrayLike,
        triplets: ArrayLike | None = None,
        triplet_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the scale by the agreement with held-out judgements, and learn from all of them
        with it.

        Parameters
        ----------
        X, triplets, triplet_weight
            As in :meth:`HDSL.fit_triplets`. `scoring` is a function
            ``(model, X, triplets, triplet_weight=...)``, by default :meth:`HDSL.score_triplets`.
            `cv` splits the triplets; an int or None splits them into runs, so shuffle them if they
            are sorted.
        groups : array of shape (T,), optional
            Group of each triplet, such as the person who judged, for a splitter such as
            ``GroupKFold``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for the prototype, or `groups` are given with triplets of weight 0.

        Examples
        --------
        >>> X = np.array([[2.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.1, 1.0]])
        >>> judgements = [[0, 1, 2], [1, 0, 3], [2, 3, 1], [3, 2, 0]]
        >>> search = HDSLCV(HDSL(max_iter=20), scales=[0.1, 1.0], cv=2).fit_triplets(X, judgements)
        >>> search.scores_.shape, search.score_triplets(X, judgements)
        ((2, 2), 1.0)
        """
        return self._fit_triplets(X, triplets, triplet_weight, groups)

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
