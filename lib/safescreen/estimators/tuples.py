"""Metrics that are learned from tuples of points, and classify tuples.

They follow the conventions of metric-learn, so scikit-learn's searches and scores work on tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from safescreen._checks import as_array, check_kind, check_scalar, check_vector
from safescreen._threads import with_small_blas
from safescreen.estimators._atomic import atomic, of_one_fit
from safescreen.estimators._data import kept, naming
from safescreen.estimators._mahalanobis import Mahalanobis
from safescreen.problem import Problem
from safescreen.records import Progress
from safescreen.terms import Pairs, Quadruplets, Triplets

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")
"""The measures that a threshold can maximise."""


class TupleLearner(ClassifierMixin, Mahalanobis):
    """Base of the learners of this file. They have some of the parameters of
    :class:`TripletMetric`; the other parameters have their defaults.
    """

    _size: int
    """Number of points of a tuple."""
    _what: str
    _labels = "1 for tuples in the right order and -1 for the others"
    """The words for tuples and for their labels in error messages."""
    _nearer: list[int]
    _farther: list[int]
    """The columns of the two pairs that are compared."""

    def __init__(
        self,
        lam: float | None = None,
        *,
        lam_ratio: float | None = None,
        diagonal: bool = False,
        smoothing: float = 0.05,
        tol: float = 1e-4,
        screening: str | tuple[str, ...] = "auto",
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        n_components: int | None = None,
        preprocessor: Any = None,
    ):
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.diagonal = diagonal
        self.smoothing = smoothing
        self.tol = tol
        self.screening = screening
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.callback = callback
        self.n_components = n_components
        self.preprocessor = preprocessor

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags

    @atomic
    @with_small_blas
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from tuples.

        Parameters
        ----------
        X : array of shape (n, size, d), or int array of shape (n, size)
            Points of each tuple; with a `preprocessor` their numbers or names.
        y : array of shape (n,), optional
            1 for a tuple in the right order, -1 for a tuple in the opposite order. By default all
            labels are 1.
        sample_weight : array of shape (n,), optional
            Not negative, and not all 0.

        Returns
        -------
        self
        """
        with naming("X"):
            points, rows = self._read_tuples(X, self._size, self._what, reset=True)
        self._check_sizes(points)
        y = self._signs(y, len(rows))
        numbers, weights = kept(_weights(sample_weight, len(rows)), np.arange(len(rows)))
        self.classes_ = np.array([-1, 1])
        terms = partial(self._terms, y=y[numbers], weights=weights)
        return self._learn(self._of_tuples(points, rows[numbers], terms), points)

    @of_one_fit
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the learned distance of the farther pair minus the learned distance of the nearer
        pair for each tuple, shape (n,).
        """
        check_is_fitted(self)
        with naming("X"):
            points, rows = self._read_tuples(X, self._size, self._what)
        farther = self._apart(points, rows[:, self._farther])
        return farther - self._apart(points, rows[:, self._nearer])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return 1 for tuples in the right order, -1 for others and for ties, shape (n,)."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the weighted fraction of the tuples for which :meth:`predict` is right."""
        predicted = self.predict(X)
        weights = _weights(sample_weight, len(predicted))
        return float(np.average(predicted == self._signs(y, len(predicted)), weights=weights))

    def _signs(self, y, n) -> np.ndarray:
        """Return the labels as an array. Without `y` all labels are 1."""
        if y is None:
            return np.ones(n)
        y = check_vector(y, n, "y")
        if not (np.abs(y) == 1.0).all():
            wrong = y[np.abs(y) != 1.0][0]
            raise ValueError(f"y must hold {self._labels}, found {wrong:g}")
        return y

    def _terms(self, points, rows, y, weights):
        """Return the terms of tuples with the labels y."""
        raise NotImplementedError


class TripletLearner(TupleLearner):
    """Mahalanobis metric learned from triplets (anchor, closer, farther); it classifies triplets
    too.

    The metric is the same as in :meth:`TripletMetric.fit_triplets`. :class:`TripletMetric`
    describes the parameters and attributes. This class takes triplets wherever scikit-learn asks
    for X: in `fit`, `predict`, `decision_function` and `score`. So it works in
    :func:`~sklearn.model_selection.cross_val_score`, in
    :class:`~sklearn.model_selection.GridSearchCV` and in pipelines. :meth:`transform` takes points.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 3))
    >>> rows = np.array([rng.choice(30, 3, replace=False) for _ in range(200)])
    >>> anchor, one, other = np.moveaxis(X[rows], 1, 0)[:, :, 0]  # who judges by the first feature
    >>> y = np.where(np.abs(anchor - one) < np.abs(anchor - other), 1, -1)
    >>> learner = TripletLearner(lam_ratio=0.01, preprocessor=X)
    >>> bool(cross_val_score(learner, rows, y).mean() > 0.9)
    True
    >>> bool(learner.fit(rows, y).score(X[rows], y) > 0.9)  # the points themselves
    True
    """

    _size = 3
    _what = "triplets"
    _nearer = [0, 1]
    _farther = [0, 2]

    def _terms(self, points, rows, y, weights):
        rows = np.where(y[:, None] > 0.0, rows, rows[:, [0, 2, 1]])
        return Triplets(points, rows, diagonal=self.diagonal, weights=weights)


class QuadrupletLearner(TupleLearner):
    """Mahalanobis metric learned from quadruplets (i, j, k, l): points i and j should be nearer to
    each other than points k and l.

    It is used like :class:`TripletLearner`, and its terms are :class:`~safescreen.Quadruplets`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 1.0]])
    >>> learner = QuadrupletLearner(preprocessor=X).fit([[0, 1, 0, 2], [1, 2, 0, 3]])
    >>> learner.predict([[0, 1, 0, 2], [0, 2, 0, 1]]).tolist()
    [1, -1]
    """

    _size = 4
    _what = "quadruplets"
    _nearer = [0, 1]
    _farther = [2, 3]

    def _terms(self, points, rows, y, weights):
        rows = np.where(y[:, None] > 0.0, rows, rows[:, [2, 3, 0, 1]])
        return Quadruplets(points, rows, diagonal=self.diagonal, weights=weights)


class PairLearner(TupleLearner):
    """Mahalanobis metric learned from similar and dissimilar pairs; its terms are
    :class:`~safescreen.Pairs`.

    It is used like :class:`TripletLearner`, with y = 1 for similar pairs and -1 for dissimilar
    pairs. :meth:`predict` returns 1 for pairs up to the distance `threshold_`. :meth:`fit` sets the
    threshold that classifies the most training pairs correctly. :meth:`calibrate_threshold` sets it
    from other pairs, or for another measure.

    Parameters
    ----------
    lam, lam_ratio
        As for :class:`TripletMetric`. `lam_ratio` is relative to the smallest lam at which all
        dissimilar pairs lie in the linear region.
    bounds : (float, float)
        Two squared distances: similar pairs have no loss up to the first, dissimilar pairs have no
        loss above the second. Only their ratio matters: a common factor of both is a factor of the
        metric, up to the smoothing.
    diagonal, smoothing, tol, screening, max_iter, max_seconds, callback, n_components, preprocessor
        As for :class:`TripletMetric`.

    Attributes
    ----------
    threshold_ : float
        The largest distance of a pair that is called similar.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.standard_normal((200, 2, 3))
    >>> y = np.where(np.abs(pairs[:, 0, 0] - pairs[:, 1, 0]) < 1.0, 1, -1)  # of the first feature
    >>> learner = PairLearner(lam_ratio=1e-3).fit(pairs[:100], y[:100])
    >>> bool(learner.score(pairs[100:], y[100:]) > 0.95)  # area under the ROC curve
    True
    >>> bool((learner.predict(pairs[100:]) == y[100:]).mean() > 0.85)
    True
    """

    _size = 2
    _what = "pairs"
    _labels = "1 for similar pairs and -1 for dissimilar ones"

    __metadata_request__fit = {"calibration_params": metadata_routing.UNUSED}

    def __init__(
        self,
        lam: float | None = None,
        *,
        lam_ratio: float | None = None,
        bounds: tuple[float, float] = (1.0, 2.0),
        diagonal: bool = False,
        smoothing: float = 0.05,
        tol: float = 1e-4,
        screening: str | tuple[str, ...] = "auto",
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        n_components: int | None = None,
        preprocessor: Any = None,
    ):
        super().__init__(
            lam,
            lam_ratio=lam_ratio,
            diagonal=diagonal,
            smoothing=smoothing,
            tol=tol,
            screening=screening,
            max_iter=max_iter,
            max_seconds=max_seconds,
            callback=callback,
            n_components=n_components,
            preprocessor=preprocessor,
        )
        self.bounds = bounds

    @atomic
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        calibration_params: dict | None = None,
    ) -> Self:
        """Learn from pairs, and set the threshold.

        Parameters
        ----------
        X : array of shape (n, 2, d), or int array of shape (n, 2)
            Points of each pair; with a `preprocessor` their numbers or names.
        y : array of shape (n,)
            1 for similar pairs, -1 for dissimilar pairs. At least one pair must be dissimilar.
        sample_weight : array of shape (n,), optional
            Not negative, and not all 0.
        calibration_params : dict, optional
            Keywords of :meth:`calibrate_threshold`.

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight)
        if calibration_params is not None:
            check_kind(calibration_params, dict, "calibration_params", "a dict or None")
        return self.calibrate_threshold(X, y, sample_weight, **(calibration_params or {}))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return minus the learned distances of pairs, shape (n,)."""
        with naming("X"):
            return self.pair_score(X)

    @of_one_fit
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return 1 for pairs whose distance is at most `threshold_`, -1 for others, shape (n,)."""
        with naming("X"):
            distances = self.pair_distance(X)
        return np.where(distances <= self.threshold_, 1, -1)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the area under the ROC curve, which does not depend on the threshold."""
        decisions = self.decision_function(X)
        weights = _weights(sample_weight, len(decisions))
        with naming("y"):
            return float(roc_auc_score(y, decisions, sample_weight=weights))

    def set_threshold(self, threshold: float) -> Self:
        """Set the largest distance of pairs that are called similar; return self."""
        check_is_fitted(self)
        self.threshold_ = check_scalar(threshold, "threshold")
        return self

    def calibrate_threshold(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the threshold that is best for these pairs, the smallest of equally good thresholds.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
            The measure that the threshold maximises. "accuracy": the fraction of pairs that are
            classified correctly. "f_beta": the F score. "max_tpr": the fraction of similar pairs
            that are classified correctly, among thresholds that classify a fraction of at least
            `min_rate` of the dissimilar pairs correctly. "max_tnr": the same with similar and
            dissimilar pairs exchanged.
        min_rate : float in [0, 1]
            Smallest rate of the other kind of pairs, for "max_tpr" and "max_tnr".
        beta : float
            For "f_beta": the weight of the true positive rate in the F score.

        Returns
        -------
        self
        """
        with naming("X"):
            distances = self.pair_distance(X)
        y = self._signs(as_array(y, "y"), len(distances))
        weights = np.ones(len(y)) if sample_weight is None else _weights(sample_weight, len(y))
        values, ids = np.unique(distances, return_inverse=True)
        accepted = {}  # by threshold: below all distances, then at each distance
        for sign in (1.0, -1.0):
            counts = np.bincount(ids, weights * (y == sign), minlength=len(values))
            accepted[sign] = np.append(0.0, np.cumsum(counts))
        thresholds = np.append(np.nextafter(values[0], -np.inf), values)
        best = np.argmax(_quality(accepted[1.0], accepted[-1.0], strategy, min_rate, beta))
        self.threshold_ = float(thresholds[best])
        return self

    def _terms(self, points, rows, y, weights):
        similar = y > 0.0
        if similar.all():
            raise ValueError(
                "y must hold a -1 for at least one dissimilar pair, found only 1: without "
                "dissimilar pairs the metric is 0"
            )
        if weights is not None:
            weights = np.append(weights[~similar], weights[similar])
        if not isinstance(self.bounds, tuple | list | np.ndarray) or len(self.bounds) != 2:
            raise TypeError(f"bounds must be two numbers, got {self.bounds!r}")
        upper, lower = (
            check_scalar(value, f"bounds[{i}]", low=0.0) for i, value in enumerate(self.bounds)
        )
        options = {"upper": upper, "lower": lower, "diagonal": self.diagonal, "weights": weights}
        return Pairs(points, rows[similar], rows[~similar], **options)

    def _top(self, prob):
        terms = prob.terms.select(~prob.terms.is_similar)
        return Problem(terms, prob.loss).lam_max()


def _weights(sample_weight, n):
    """Return the weights of n tuples, which must not all be 0; None stays None."""
    if sample_weight is None:
        return None
    weights = check_vector(sample_weight, n, "sample_weight", low=0.0)
    if not weights.any():
        raise ValueError("sample_weight must hold a positive weight, all are 0")
    return weights


def _quality(true, false, strategy, min_rate, beta):
    """Return the quality of thresholds. `true` and `false` are the weights of the similar and of
    the dissimilar pairs that each threshold accepts; the last threshold accepts all pairs.
    """
    tpr = true / max(true[-1], 1e-300)
    tnr = 1.0 - false / max(false[-1], 1e-300)
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise ValueError(
            f"strategy must be 'accuracy', 'f_beta', 'max_tpr' or 'max_tnr', got {strategy!r}"
        )
    if strategy == "accuracy":
        return true - false
    if strategy == "f_beta":
        square = check_scalar(beta, "beta") ** 2
        wrong = square * (true[-1] - true) + false
        return (1.0 + square) * true / np.maximum((1.0 + square) * true + wrong, 1e-300)
    rate = check_scalar(min_rate, "min_rate", low=0.0, high=1.0)
    aim, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return np.where(other >= rate, aim, -1.0)
