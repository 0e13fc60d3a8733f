"""Metric from triplets that chooses its lam by cross-validation along warm, screened paths."""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.metrics import check_scoring

from safescreen.estimators._cross_validation import CrossValidation, delegated
from safescreen.estimators._data import check_values
from safescreen.estimators._search import choose, collect
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.paths import path

__all__ = ["TripletMetricCV"]


class TripletMetricCV(TransformerMixin, CrossValidation):
    """:class:`TripletMetric` with the lam of the best cross-validated score: one warm path with screening a fold.

    All lam are solved for in all folds. A ball around the optimum of a lam that is not solved for says much of the margins of triplets, but
    little of a k-nearest-neighbour classifier, whose error depends on the order of all distances: there is no cheap certificate that a
    lam cannot be the best, as :class:`SafeSVCCV` has for C.

    Parameters
    ----------
    estimator : TripletMetric, optional
        Everything but lam and its path; the last fit is its copy, with its `callback` and `verbose`.
    lams : int or array
        Decreasing; an int stands for so many, equal steps of the logarithm, from 1 to 1e-4 times the lam from which on all triplets are in
        the linear region, of the training points of each fold and of all points.
    cv : int, splitter or iterable, optional
        As everywhere in scikit-learn, ``ShuffleSplit(1)`` for a single validation set; 5 stratified folds if left out.
    scoring : str or callable, optional
        As everywhere in scikit-learn; the accuracy of the nearest neighbours if left out.
    refit : bool
        Come down to the lam chosen with all points.
    n_jobs : int, optional
        Folds that are worked on at the same time.
    verbose : bool
        Show a progress bar of the cross-validation on a terminal.

    Attributes
    ----------
    best_estimator_ : TripletMetric
        With the path of all points down to `lam_`; what :meth:`transform`, :meth:`predict` and others ask. There with `refit` only.
    lam_ : float
        The lam chosen; of equal scores the largest. What the metric is for, should Ctrl-C end the last path before.
    lams_ : array of shape (n_values,)
        For all points.
    scores_ : array of shape (n_folds, n_values)
        NaN where missing after Ctrl-C.
    best_score_ : float
        Mean score of the lam chosen.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    TripletMetric : For one lam.

    Notes
    -----
    Ctrl-C ends the cross-validation with a warning: lam is the best by the scores there are, of values with a score in all folds or of
    folds with all scores, whichever are more, and the metric of all points is learned with it. Without either Ctrl-C is passed on;
    `scores_` has been set by then. Folds in processes of their own count when they are finished. In the last path it ends that path, as in
    :class:`TripletMetric`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = TripletMetricCV(TripletMetric(k=3), lams=5, cv=3).fit(X, y)
    >>> search.scores_.shape, bool(search.best_score_ > 0.9), search.lam_ in search.lams_
    ((3, 5), True, True)
    """

    prototype, chosen = TripletMetric, "lam"

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
        self.estimator, self.lams, self.cv, self.scoring = estimator, lams, cv, scoring
        self.refit, self.n_jobs, self.verbose = refit, n_jobs, verbose

    predict = delegated(TripletMetric.predict)
    transform = delegated(TripletMetric.transform)
    pair_distance = delegated(TripletMetric.pair_distance)
    get_mahalanobis_matrix = delegated(TripletMetric.get_mahalanobis_matrix)
    get_feature_names_out = delegated(TripletMetric.get_feature_names_out)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Choose lam, and learn the metric of all points with it.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        y : array of shape (n,)
            Class labels; at least two classes, one of them with two points.
        sample_weight : array of shape (n,), optional
            Not negative; a triplet has the weight of its anchor, a validation point its own. Points of weight 0 are left out.
        groups : array of shape (n,), optional
            For a splitter that takes them.

        Returns
        -------
        self

        Warns
        -----
        RuntimeWarning
            After Ctrl-C.
        """
        lams = Lams(self.lams)
        model, (X, y, weights), splits = self._begin(X, y, sample_weight, groups)
        scorer = check_scoring(model, scoring=self.scoring)
        quiet = clone(model).set_params(callback=None, verbose=False)
        tasks = (delayed(_fold)(quiet, X, y, weights, train, test, lams, scorer) for train, test in splits)
        self.scores_ = np.full((len(splits), lams.values.size), np.nan)
        with self._bar(len(splits), "fold") as bar:

            def keep(number, found):
                self.scores_[number, : len(found)] = found
                bar.update()

            whole = collect(tasks, keep, self.n_jobs)
        best, self.best_score_, part = choose(self.scores_, whole)
        prob, X, y = model._labelled(X, y, weights)
        self.lams_ = lams.of(prob)
        self.lam_ = float(self.lams_[best])
        self._warn(part, self.lam_)
        if self.refit:
            model._fit_path(prob, self.lams_[: best + 1])
            self.best_estimator_, self.lam_ = model._remember(X, y), model.lam_
        return self


class Lams:
    """A grid as it is given, or, for an int, relative to the lam from which on all triplets of a problem are in the linear region."""

    def __init__(self, lams):
        self.values, self.relative = check_values(lams, "lams", (1.0, 1e-4), "TripletMetric", falling=True), not np.ndim(lams)

    def of(self, prob):
        """Return the values for a problem."""
        top = prob.lam_max() if self.relative else 1.0
        return self.values * (top if 0.0 < top < np.inf else 1.0)


def _fold(model, X, y, weights, train, test, lams, scorer):
    """Return the scores along the path of one fold, and whether that came to its end or was interrupted."""
    model = clone(model)  # folds may be worked on by threads
    prob, points, labels = model._labelled(X, y, weights, train)
    model.classes_, model.n_features_in_ = np.unique(labels), X.shape[1]
    options, scores = {} if weights is None else {"sample_weight": weights[test]}, []

    def judge(progress):
        model._keep(progress.solution)
        scores.append(float(scorer(model._remember(points, labels), X[test], y[test], **options)))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "path interrupted", RuntimeWarning)  # fit says what became of it
        solutions = path(prob, lams.of(prob), keep_masks=False, callback=judge, **model._options())
    return scores, solutions.stop_reason != "interrupted"
