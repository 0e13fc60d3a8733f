"""What the metrics have in common: a factor L, that maps points to where they are compared."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from safescreen._checks import check_vector
from safescreen._threads import with_small_blas
from safescreen.estimators._data import read, read_labelled

__all__ = ["Metric"]


class Metric(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """A metric or similarity with the matrix ``M = L'L``; L is `components_`, and `_neighbors` the labelled points to compare with."""

    components_: Any
    n_features_in_: int
    _min_features = 1

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    @with_small_blas
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            For a similarity a sparse matrix too.
        y : array of shape (n,)
            Class labels; at least two classes, one of them with two points.
        sample_weight : array of shape (n,), optional
            Not negative; a triplet has the weight of its first point, a point set aside its own. Points of weight 0 are left out.

        Returns
        -------
        self
        """
        return self._fit_labels(*self._read(X, y, sample_weight))

    @with_small_blas
    def fit_triplets(self, X: ArrayLike, triplets: ArrayLike, triplet_weight: ArrayLike | None = None) -> Self:
        """Learn from given triplets; there are no classes then, nothing to predict, and no early stopping.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            For a similarity a sparse matrix too.
        triplets : int array of shape (T, 3)
            Rows (i, j, l): point i should be closer, or more similar, to j than to l.
        triplet_weight : array of shape (T,), optional
            Not negative, one of them positive.

        Returns
        -------
        self
        """
        X = read(self, X, reset=True, min_features=self._min_features)
        for name in ("classes_", "_neighbors"):
            self.__dict__.pop(name, None)
        if triplet_weight is not None:
            triplet_weight = check_vector(triplet_weight, len(np.atleast_1d(triplets)), "triplet_weight", low=0.0)
            if not triplet_weight.any():
                raise ValueError("triplet_weight must hold a positive weight, all are 0")
        return self._fit_triplets(X, triplets, triplet_weight)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return L x for each of the points X, shape (n, rank): distances and dot products there are the learned ones."""
        check_is_fitted(self)
        return self._map(read(self, X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return for each of the points X the class most of the nearest, or most similar, training points have, shape (n,)."""
        check_is_fitted(self, "_neighbors", msg="This %(name)s has no classes: it is not fitted with labels yet.")
        return self._vote(read(self, X))

    def pair_distance(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned distances ``sqrt((x - y)'M(x - y))`` of pairs of points, given as an array of shape (n_pairs, 2, d)."""
        check_is_fitted(self)
        pairs = np.asarray(pairs, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}), got {pairs.shape}")
        if not np.isfinite(pairs).all():
            raise ValueError("pairs must be finite, found NaN or infinity")
        return np.linalg.norm(self._map(pairs[:, 0] - pairs[:, 1]), axis=1)

    # ------------------------------------------------------------------ pieces of fit

    def _read(self, X, y, sample_weight):
        """Return labelled points and their weights, None standing for 1; sets `classes_`, those with a positive weight."""
        X, y, weights = read_labelled(self, X, y, sample_weight, self._min_features)
        self.classes_ = np.unique(y if weights is None else y[weights > 0.0])
        return X, y, weights

    def _fit_labels(self, X, y, weights) -> Self:
        raise NotImplementedError

    def _fit_triplets(self, X, triplets, weights) -> Self:
        raise NotImplementedError

    def _vote(self, X):
        raise NotImplementedError

    def _map(self, X):
        """Return points as :meth:`transform` does, after its checks."""
        return X @ self.components_.T
