"""Metric learning from triplets, with lam chosen by cross-validation along paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.model_selection import check_cv

from safescreen._threads import with_small_blas
from safescreen.estimators._atomic import atomic
from safescreen.estimators._cross_validation import CrossValidation, delegated
from safescreen.estimators._data import check_values
from safescreen.estimators._folds import Fold, Proof, counted
from safescreen.estimators._mahalanobis import dense, keep
from safescreen.estimators._training import solver_options, warn_of_metric
from safescreen.estimators.triplet_metric import TripletMetric, fit_path, pose
from safescreen.paths import begin_path
from safescreen.terms import Triplets
from safescreen.validation import HeldOut


class TripletMetricCV(TransformerMixin, CrossValidation):
    """:class:`TripletMetric` with the lam of the best cross-validated score. Each fold is one path,
    in which each solution is the start for the next lam.

    Scores and choice are the same as in ``GridSearchCV(TripletMetric(...), {"lam": lams})``, up to
    differences that `tol` allows.

    Parameters
    ----------
    estimator : TripletMetric, optional
        The prototype: all parameters except lam and its path. The last fit uses a copy of it, with
        its `callback` and `verbose`.
    lams : int or array
        Values of lam in any order; `lams_` decreases. An int n stands for n values with equal steps
        of the logarithm, from 1 to 1e-4 times the smallest lam at which all triplets lie in the
        linear region. Each fold takes this lam from its training points; `lams_` takes it from all
        points.
    cv, scoring, refit, error_score, n_jobs, verbose
        As in :class:`SafeSVCCV`; ``cv=ShuffleSplit(1)`` is a single validation set.
    intervals : int, optional
        Number of cells into which each interval between two neighbouring `lams` is divided for
        `interval_bounds_` and `epsilon_`. The two attributes need no further solve. `intervals`
        needs :meth:`fit_triplets`, the agreement with held-out judgements as the score, and a
        diagonal metric or at least as many points as features.

    Attributes
    ----------
    best_estimator_ : TripletMetric
        The metric of all points, with the path down to `lam_`. :meth:`transform`, :meth:`predict`
        and the other methods use it. It exists only with `refit`.
    lam_ : float
        The chosen lam: the largest lam with the largest mean score. If Ctrl-C ends the last path
        early, it is the lam of the metric.
    lams_ : array of shape (n_values,)
        The values of lam for all points.
    scores_ : array of shape (n_folds, n_values)
        The scores by which lam is chosen. NaN where a score is missing after Ctrl-C.
    score_bounds_ : array of shape (2, n_folds, n_values)
        Lower and upper bounds of the scores of the exact solutions; -inf and inf without
        `intervals`.
    certified_ : bool
        Whether the bounds prove that `lam_` is the best of `lams_` at the exact solutions, and the
        largest of equally good ones. Always False without `intervals`.
    interval_bounds_ : array of shape (2, n_values - 1)
        Only with `intervals`. Lower and upper bounds of the mean score of the exact solutions for
        *every* lam between two neighbouring `lams_`. If `lams` is an int, lam is relative to the
        largest lam of each fold.
    epsilon_ : float
        Only with `intervals`. No lam from the largest to the smallest of `lams_` has a mean score
        that exceeds the mean score of `lam_` by more than `epsilon_`.
    best_score_ : float
        Mean score of the chosen lam. It does not exist if `refit` is a function.
    best_index_, best_params_, cv_results_, n_splits_, scorer_, multimetric_, refit_time_
        As in :class:`sklearn.model_selection.GridSearchCV`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    TripletMetric : For one lam.

    Notes
    -----
    `scores_` belong to the metrics as computed, with the `tol` of the estimator. They are not
    certified: the predictions of a nearest-neighbour classifier may change within `tol`. So a
    single fit for one of the lams, which has another start, may score a point or two differently.
    For judgements, `intervals` certifies the agreement with the held-out judgements, see
    :class:`~safescreen.HeldOut` and notebook 48.

    Ctrl-C ends the cross-validation as in :class:`SafeSVCCV`. During the last path it ends this
    path, as in :class:`TripletMetric`.

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
    _warn = staticmethod(warn_of_metric)

    def __init__(
        self,
        estimator: TripletMetric | None = None,
        lams: int | ArrayLike = 13,
        *,
        cv: Any = None,
        scoring: Any = None,
        refit: bool | str | Callable = True,
        error_score: float | str = np.nan,
        n_jobs: int | None = None,
        verbose: bool = False,
        intervals: int | None = None,
    ):
        self.estimator = estimator
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.error_score = error_score
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.intervals = intervals

    predict = delegated(TripletMetric.predict)
    predict_proba = delegated(TripletMetric.predict_proba)
    transform = delegated(TripletMetric.transform)
    pair_distance = delegated(TripletMetric.pair_distance)
    pair_score = delegated(TripletMetric.pair_score)
    score_pairs = delegated(TripletMetric.score_pairs)
    score_triplets = delegated(TripletMetric.score_triplets)
    get_metric = delegated(TripletMetric.get_metric)
    get_feature_names_out = delegated(TripletMetric.get_feature_names_out)
    get_mahalanobis_matrix = delegated(TripletMetric.get_mahalanobis_matrix)

    @atomic
    @with_small_blas
    def fit_triplets(
        self,
        X: ArrayLike,
        triplets: ArrayLike | None = None,
        triplet_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose lam by the agreement with held-out judgements, and learn from all judgements with
        this lam.

        Parameters
        ----------
        X, triplets, triplet_weight
            As in :meth:`TripletMetric.fit_triplets`. `scoring` is a function ``(model, X, triplets,
            triplet_weight=...)``, by default :meth:`TripletMetric.score_triplets`. `cv` splits the
            triplets. With an int or None each fold holds out consecutive triplets, so shuffle
            sorted triplets first.
        groups : array of shape (T,), optional
            The group of each triplet, such as the person who has judged it, for a splitter such as
            ``GroupKFold``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The prototype refuses the data or a parameter, or some triplets have weight 0 and groups
            are given.

        Examples
        --------
        >>> X = np.array([[2.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.1, 1.0]])
        >>> judgements = [[0, 1, 2], [1, 0, 3], [2, 3, 1], [3, 2, 0]]
        >>> search = TripletMetricCV(lams=[10.0, 1.0], cv=2).fit_triplets(X, judgements)
        >>> search.scores_.shape, search.score_triplets(X, judgements)
        ((2, 2), 1.0)
        """
        model = clone(self._prototype())
        data = X, triplets, weights = model._read_triplets(X, triplets, triplet_weight)
        scorer = self.prototype.score_triplets if self.scoring is None else self.scoring
        if not callable(scorer):
            raise TypeError(f"scoring must be a function or None for triplets, got {scorer!r}")
        params = {} if weights is None else {"triplet_weight": weights}
        splits = check_cv(self.cv).split(triplets, groups=groups)
        return self._choose(model, data, splits, params, scorer)

    def _candidates(self, model, data):
        values = check_values(self.lams, "lams", (1.0, 1e-4), "TripletMetric", falling=True)
        posed = pose(model, *data)
        self.lams_ = values if np.ndim(self.lams) else values * largest_lam(posed.problem)

        def refit(best):
            fit_path(model, posed, self.lams_[: best + 1])
            return posed.complete()

        return [{"lam": lam} for lam in self.lams_.tolist()], refit

    def _rounds(self, model, data, splits, judge, n_cells):
        if n_cells and (data[1].ndim == 1 or self.scoring is not None):
            raise ValueError(
                "intervals are for fit_triplets without scoring: a k-nearest-neighbour classifier "
                "depends on the order of all distances, which no ball decides"
            )
        is_relative = not np.ndim(self.lams)
        yield (
            np.arange(self.lams_.size),
            self.lams_ / self.lams_[0] if is_relative else self.lams_,
            [_MetricFold(model, data, split, is_relative, n_cells) for split in splits],
        )


def largest_lam(problem):
    """Return the smallest lam at which all triplets of a problem lie in the linear region, 1 if
    there is none.
    """
    top = problem.lam_max()
    return top if 0.0 < top < np.inf else 1.0


class _MetricFold(Fold):
    """Fold with a path through decreasing lam. With `is_relative` the values are fractions of the
    largest lam of the fold.
    """

    def __init__(self, model, data, split, is_relative, n_cells):
        super().__init__(model, *split)
        self.data = data
        self.is_relative = is_relative
        self.n_cells = n_cells
        self.path = None
        self.unit = 1.0

    def _pose(self):
        X, y, weights = self.data
        self.model = clone(self.model)  # threads may work on several folds
        self.posed = pose(self.model, X, y, weights, self.train)
        self.model.n_features_in_ = X.shape[1]
        problem = self.posed.problem
        if self.is_relative:
            self.unit = largest_lam(problem)
        options = solver_options(self.model, "active_set")
        self.path = begin_path(problem, keep_masks=False, **options)
        if not self.n_cells:
            return
        if self.posed.basis is not None:
            raise ValueError(
                "intervals need at least as many points as features, or diagonal=True: reduce the "
                "features (PCA), or leave intervals out"
            )
        test, counts = counted(self.test, weights)
        terms = Triplets(dense(X), y[test], diagonal=self.model.diagonal)
        right = np.ones(test.size, dtype=int)  # a positive margin predicts the second class
        self.proof = Proof([HeldOut(self.path.prob, terms)], right, counts, self.n_cells)

    def solve(self, value, n_to_come):
        if self.path is None:
            self._pose()
        lam = float(value * self.unit)
        solution, _ = self.path.step(lam, self.path.setup.limits.max_seconds)
        self.solutions = [solution]
        self.evaluations = [self.path.evaluation]
        keep(self.model, self.posed, solution)
        return self.posed.complete()
