"""Base of all metrics: a factor L, which maps points to the space in which they are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from safescreen._threads import with_small_blas
from safescreen._warnings import warn
from safescreen.estimators._atomic import atomic, of_one_fit
from safescreen.estimators._data import (
    check_dimensions,
    formed,
    kept,
    naming,
    read,
    read_labelled,
    read_unnamed,
    tuples_of,
)
from safescreen.estimators._parameters import Estimator
from safescreen.terms.indices import check_judgements

LARGEST = 1e30
"""Largest allowed entry of points, and the inverse of the smallest allowed difference."""

TRIPLETS = "for triplets call fit_triplets: (X) of shape (T, 3, d), or (points, rows of triplets)"
"""Advice for data without labels, which `fit` does not take."""


class LinearMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Estimator with a factor L of ``M = L'L`` in `components_`, and the distances of points that L
    defines.
    """

    components_: Any
    n_features_in_: int
    preprocessor: Any
    _min_features = 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    @of_one_fit
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return L x for each of the points X, shape (n, rank).

        Distances and dot products of the results are the learned distances and dot products.
        """
        check_is_fitted(self)
        return self._map(self._read_points(X))

    @of_one_fit
    def pair_distance(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned distances ``sqrt((x - y)'M(x - y))`` of pairs of points.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, d), or (n_pairs, 2)
            The two points of each pair; with a `preprocessor` their numbers or names.

        Returns
        -------
        array of shape (n_pairs,)
        """
        check_is_fitted(self)
        return self._apart(*self._read_tuples(pairs, 2, "pairs"))

    def pair_score(self, pairs: ArrayLike) -> np.ndarray:
        """Return a score for each pair of points, shape (n_pairs,): minus the distance, or the
        similarity. The closer the points, the larger is the score.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, d), or (n_pairs, 2)
            As for :meth:`pair_distance`.
        """
        return -self.pair_distance(pairs)

    def score_pairs(self, pairs: ArrayLike) -> np.ndarray:
        """Return :meth:`pair_distance`, and give a FutureWarning. metric-learn used this name
        before its version 0.7.
        """
        text = "score_pairs is an old name: use pair_distance, or pair_score, which is minus that"
        warn(text, FutureWarning)
        return self.pair_distance(pairs)

    @of_one_fit
    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function ``metric(x, y, squared=False)`` of two points.

        Later fits do not change the function. It raises a ValueError if a point has more than one
        dimension, or if the lengths of the two points differ.
        """
        check_is_fitted(self)
        factor = self._factor()

        def metric(x, y, squared=False):
            x, y = (np.atleast_1d(np.squeeze(point)) for point in (x, y))
            if x.ndim > 1 or x.shape != y.shape:
                raise ValueError(
                    f"x and y must be two points of one size, got shapes {x.shape} and {y.shape}"
                )
            apart = factor @ (x - y)
            square = float(apart @ apart)
            return square if squared else math.sqrt(square)

        return metric

    # ------------------------------------------------------------------ pieces

    def _read_points(self, X, reset=False):
        """Return points. With a `preprocessor` X may hold numbers or names of points."""
        check_dimensions(X, "score_triplets takes triplets of points, pair_distance takes pairs")
        X = formed(X, self.preprocessor, 1)
        return read(self, X, reset=reset, min_features=self._min_features if reset else 1)

    def _read_tuples(self, tuples, size, what, reset=False):
        """Return points, and the rows that make up each tuple, int array of shape (n, size)."""
        X, rows = tuples_of(tuples, size, what, self.preprocessor)
        if np.ndim(tuples) == 3 and not reset:
            return read_unnamed(self, X), rows
        least = self._min_features if reset else 1
        return read(self, X, reset=reset, min_features=least), rows

    def _check_sizes(self, X):
        """Raise a ValueError if fourth powers of differences would overflow or vanish. The squared
        norms of triplets are such fourth powers.
        """
        largest = np.abs(X.data if sparse.issparse(X) else X).max(initial=0.0)
        apart = largest if sparse.issparse(X) or largest > LARGEST else np.ptp(X, axis=0).max()
        if largest > LARGEST or 0.0 < apart < 1.0 / LARGEST:
            size = largest if largest > LARGEST else apart
            raise ValueError(
                f"X must have entries of at most {LARGEST:g} and differences of at least "
                f"{1.0 / LARGEST:g}, found {size:.3g}: scale X"
            )

    def _apart(self, X, pairs):
        """Return the distances of pairs of points; `pairs` holds the two rows of each pair."""
        return np.linalg.norm(self._map(X[pairs[:, 0]] - X[pairs[:, 1]]), axis=1)

    def _factor(self):
        """Return a copy of L, in the form that multiplies fastest."""
        return self.components_.copy()

    def _map(self, X):
        """Return L x for each point, without the checks of :meth:`transform`."""
        return X @ self.components_.T


class Metric(ClassifierMixin, LinearMap):
    """Metric or similarity that is learned from labels or from triplets. `_neighbors_` holds the
    labelled points with which new points are compared.
    """

    @atomic
    @with_small_blas
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from labels. To learn from triplets, call :meth:`fit_triplets`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Points.
        y : array of shape (n,)
            Class labels, which must be given: at least two classes, one of them with at least two
            points.
        sample_weight : array of shape (n,), optional
            Not negative. A triplet has the weight of its first point. A point that :class:`HDSL`
            sets aside for early stopping has its own weight. Points of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The data are not finite numbers, `y` is missing or makes no triplet, or a parameter is
            out of its range.
        MemoryError
            The fit needs more memory than is free.

        Notes
        -----
        A repeated point is not the same as a point of weight 2, because the copy is the nearest
        neighbour of the point. On iris and wine, standardized, with weights of 1 to 3, M differed
        from the M of repeated rows by 12 to 30 % of its norm for TripletMetric (k=5,
        lam_ratio=0.1), by 1 to 6 % with k=None, and by 25 to 53 % for HDSL. The certified gaps (of
        TripletMetric, relative gaps of at most 1e-6) explain 0.4 % of the norm; the different
        triplets explain the rest. The predictions for 92 to 100 % of held-out points were the same.
        """
        return self._fit_labels(*self._read(X, y, sample_weight))

    @atomic
    @with_small_blas
    def fit_triplets(
        self,
        X: ArrayLike,
        triplets: ArrayLike | None = None,
        triplet_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from judgements. There are then no classes, nothing to predict, and no early
        stopping.

        Judgements may repeat and contradict each other, as judgements of people do. The loss of
        each one counts.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d), or array of shape (T, 3, d)
            Points; or the three points of each triplet, and then no `triplets`.
        triplets : int array of shape (T, 3)
            Rows (anchor, closer, farther): the first point should be closer, or more similar, to
            the second than to the third.
        triplet_weight : array of shape (T,), optional
            Not negative, and not all 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The data are not finite numbers, a row of `triplets` holds a number that is out of range
            or one point twice, or a parameter is out of its range.

        Examples
        --------
        >>> from safescreen import TripletMetric
        >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> triplets = [[0, 1, 2], [0, 1, 2], [0, 2, 1]]
        >>> metric = TripletMetric(lam=1.0).fit_triplets(X, triplets)
        >>> metric.transform(X).round(2).tolist(), metric.score_triplets(X, triplets) == 2 / 3
        ([[0.0], [0.0], [0.98]], True)
        """
        return self._fit_triplets(*self._read_triplets(X, triplets, triplet_weight))

    @of_one_fit
    def score_triplets(
        self,
        X: ArrayLike,
        triplets: ArrayLike | None = None,
        triplet_weight: ArrayLike | None = None,
    ) -> float:
        """Return the weighted fraction of judgements with which the metric agrees. A tie counts one
        half.

        Parameters
        ----------
        X, triplets, triplet_weight
            As in :meth:`fit_triplets`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X, triplets, weights = self._read_triplets(X, triplets, triplet_weight, reset=False)
        anchor, closer, farther = np.moveaxis(self._map(X)[triplets], 1, 0)
        apart = self._score(anchor, closer) - self._score(anchor, farther)
        return float(np.average(0.5 + 0.5 * np.sign(apart), weights=weights))

    @of_one_fit
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the predicted class of each of the points X, shape (n,): the class of most of its
        nearest, or most similar, training points.
        """
        return self._vote(self._compared(X))

    # ------------------------------------------------------------------ pieces of fit

    def _read(self, X, y, sample_weight):
        """Return labelled points and their weights. Weights of 1 are returned as None. Set
        `classes_` to the classes with a positive weight.
        """
        check_dimensions(X, TRIPLETS)
        if y is None:
            missing = "requires y to be passed, but the target y is None"
            raise ValueError(f"This {type(self).__name__} estimator {missing}; {TRIPLETS}")
        X = formed(X, self.preprocessor, 1)
        X, y, weights = read_labelled(self, X, y, sample_weight, self._min_features)
        self._check_sizes(X)
        self.classes_ = np.unique(y if weights is None else y[weights > 0.0])
        return X, y, weights

    def _read_triplets(self, X, triplets, triplet_weight, reset=True):
        """Return points, the triplets of positive weight, and their weights. Weights of 1 are
        returned as None.
        """
        with naming("X"):
            ndim = np.ndim(X)
        if ndim == 3 and (np.shape(X)[1] != 3 or triplets is not None):
            raise ValueError(
                "X must have shape (T, 3, d) without triplets, or (n, d) with them, "
                f"got {np.shape(X)}"
            )
        if triplets is not None:
            X = self._read_points(X, reset)
        elif ndim == 3 or self.preprocessor is not None:
            X, triplets = self._read_tuples(X, 3, "X", reset)
        else:
            raise ValueError(
                "triplets must be given with points X of shape (n, d); without them X has "
                "shape (T, 3, d)"
            )
        triplets, weights = check_judgements(triplets, triplet_weight, X.shape[0])
        if reset:
            self._check_sizes(X)
        numbers, weights = kept(weights, np.arange(len(triplets)))
        return X, triplets[numbers], weights

    def _compared(self, X):
        """Return points that are to be compared with labelled points. Raise an error if the model
        is not fitted with labels.
        """
        check_is_fitted(
            self,
            "_neighbors_",
            msg="This %(name)s has no classes: it is not fitted with labels yet.",
        )
        return self._read_points(X)

    def _fit_labels(self, X, y, weights) -> Self:
        raise NotImplementedError

    def _fit_triplets(self, X, triplets, weights) -> Self:
        raise NotImplementedError

    def _vote(self, X):
        raise NotImplementedError

    def _score(self, first, second):
        """Return a score for each pair of transformed points. The closer the points, the larger is
        the score.
        """
        return -np.linalg.norm(first - second, axis=1)
