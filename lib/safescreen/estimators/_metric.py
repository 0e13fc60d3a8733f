"""What the metrics have in common: a factor L, that maps points to where they are compared."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from safescreen.estimators._data import read, read_labelled

__all__ = ["Metric"]


class Metric(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """A metric or similarity with the matrix ``M = L'L``; L is `components_`, and `_neighbors` the labelled points to compare with."""

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return L x for each point, shape (n, rank): distances and dot products there are the learned ones.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Of a similarity a sparse matrix too.
        """
        check_is_fitted(self)
        return self._map(read(self, X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class most of the nearest, or most similar, training points have, shape (n,).

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Of a similarity a sparse matrix too.
        """
        check_is_fitted(self, "_neighbors", msg="This %(name)s has no classes: it is not fitted with labels yet.")
        return self._vote(read(self, X))

    def pair_distance(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned distances ``sqrt((x - y)'M(x - y))`` of pairs of points, shape (n_pairs,).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, d)
        """
        check_is_fitted(self)
        pairs = np.asarray(pairs, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}), got {pairs.shape}")
        if not np.isfinite(pairs).all():
            raise ValueError("pairs must be finite, found NaN or infinity")
        return np.linalg.norm(self._map(pairs[:, 0] - pairs[:, 1]), axis=1)

    # ------------------------------------------------------------------ pieces of fit

    def _read(self, X, y, sample_weight, **options):
        """Return labelled points and their weights, None standing for 1; sets `classes_`, those with a positive weight."""
        X, y, weights = read_labelled(self, X, y, sample_weight, **options)
        self.classes_ = np.unique(y if weights is None else y[weights > 0.0])
        return X, y, weights

    def _read_unlabelled(self, X, **options):
        """Return points, and forget the classes of an earlier fit."""
        X = read(self, X, reset=True, **options)
        for name in ("classes_", "_neighbors"):
            self.__dict__.pop(name, None)
        return X

    def _map(self, X):
        return X @ self.components_.T

    def _vote(self, X):
        raise NotImplementedError
