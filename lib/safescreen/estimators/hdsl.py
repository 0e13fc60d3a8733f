"""Sparse similarity learning by Frank-Wolfe as an estimator."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from safescreen._checks import check_vector
from safescreen.estimators._common import check_classes, check_pairs, check_table, positive_weights
from safescreen.hdsl import FrankWolfe, NeighborError, nearest_triplets, predict_neighbors, random_triplets
from safescreen.hdsl.triplets import check_triplets

__all__ = ["HDSL"]


class HDSL(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Sparse bilinear similarity ``x'My`` for very many features, learned by Frank-Wolfe with away steps (HDSL19).

    As a transformer it maps x to the coordinates in which the similarity is the dot product, one for each atom of M; as a classifier it
    is the k-nearest-neighbour rule of the similarity.

    Parameters
    ----------
    scale : float > 0
        Size of the domain, the lambda of the paper.
    n_targets, n_impostors : int
        Constraints of each point: its targets of the same class times its impostors of others, the most similar by the dot product.
    triplets : {"nearest", "random"}
        How they are chosen; "random" draws ``n_targets * n_impostors`` a point, uniformly whatever the weights.
    forward : {"heuristic", "exact"}
    variant : {"away", "pairwise", "plain"}
    max_iter : int
    tol : float, optional
        Frank-Wolfe gap to stop at.
    early_stopping : bool
        Keep the similarity with the smallest neighbour error on a part of the training points that is set aside.
    validation_fraction : float in (0, 1)
    patience, check_every : int
        Iterations between two looks at that error, and how many without a gain end the training.
    n_neighbors : int
        Of the classifier; all points if there are fewer.
    random_state : int, RandomState or None
    warm_start : bool
        Start from the similarity of the last fit, with other atoms for another `scale`, if that had the same number of features.
    callback : callable, optional
        ``callback(similarity)``, every `check_every` iterations; an exception or Ctrl-C in it ends the training.
    verbose : bool
        Show a progress bar on a terminal.

    Attributes
    ----------
    similarity_ : SparseSimilarity
    components_ : CSR array of shape (n_atoms, d)
        Factor L of ``M = L'L``.
    features_ : array of int
        Features that M uses.
    n_iter_ : int
    dual_gap_ : float
        Exact Frank-Wolfe gap of the last iterate, an upper bound of how far its objective is from the optimum; nan if Ctrl-C ended the
        training there, which leaves a model.
    history_ : list
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; no classes after :meth:`fit_triplets`.

    Examples
    --------
    >>> from safescreen import HDSL
    >>> from safescreen_book import datasets
    >>> X, y = datasets.load("digits", return_X_y=True)
    >>> model = HDSL(10.0, max_iter=300).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:600], y[300:600]) > 0.8)
    True
    """

    def __init__(
        self,
        scale=1.0,
        *,
        n_targets=3,
        n_impostors=5,
        triplets="nearest",
        forward="heuristic",
        variant="away",
        max_iter=1000,
        tol=None,
        early_stopping=False,
        validation_fraction=0.2,
        patience=20,
        check_every=50,
        n_neighbors=3,
        random_state=0,
        warm_start=False,
        callback=None,
        verbose=False,
    ):
        self.scale = scale
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.triplets = triplets
        self.forward = forward
        self.variant = variant
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.check_every = check_every
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learn the similarity from labels.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Class labels; at least two classes, one of them with two points.
        sample_weight : array of shape (n,), optional
            Not negative; a triplet has the weight of its x, a point set aside its own. Points of weight 0 are left out.

        Returns
        -------
        self
        """
        check_table(X)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_features=2)
        if self.triplets not in ("nearest", "random"):
            raise ValueError(f"triplets must be 'nearest' or 'random', got {self.triplets!r}")
        check_classes(y)
        keep, weights = positive_weights(sample_weight, X)
        if not keep.all():
            X, y = X[keep], y[keep]
        self.classes_ = check_classes(y, " with positive weight")
        if self.classes_.size == y.size:
            raise ValueError("y must have a class with at least two points to make triplets, found only singletons: is it an identifier?")
        codes = np.searchsorted(self.classes_, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        train, monitor = np.arange(X.shape[0]), self.callback
        if self.early_stopping:
            train, held = train_test_split(train, test_size=self.validation_fraction, random_state=seed, stratify=codes)
            shares = None if weights is None else weights[held]
            error = NeighborError(X[train], codes[train], X[held], codes[held], self.n_neighbors, weights=shares)
            monitor = error if self.callback is None else _Both(error, self.callback)
        if self.triplets == "nearest":
            index = nearest_triplets(X[train], codes[train], self.n_targets, self.n_impostors)
        else:
            index = random_triplets(codes[train], self.n_targets * self.n_impostors, seed)
        weights = None if weights is None else weights[train][index[:, 0]]
        self._fit(X[train], index, weights, seed, monitor if self.early_stopping or monitor is None else _Watching(monitor))
        self._X, self._codes = X, codes
        return self

    def fit_triplets(self, X, triplets, triplet_weight=None):
        """Learn the similarity from given triplets; there is no early stopping, and nothing to predict.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        triplets : int array of shape (T, 3)
            Rows (x, y, z): point x should be more similar to y than to z.
        triplet_weight : array of shape (T,), optional
            Not negative, one of them positive.

        Returns
        -------
        self
        """
        check_table(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_features=2)
        if triplet_weight is not None:
            triplet_weight = check_vector(triplet_weight, len(check_triplets(triplets, X.shape[0])), "triplet_weight", low=0.0)
            if not triplet_weight.any():
                raise ValueError("triplet_weight must hold a positive weight, all are 0")
        for name in ("classes_", "_X", "_codes"):
            self.__dict__.pop(name, None)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._fit(X, triplets, triplet_weight, seed, None if self.callback is None else _Watching(self.callback))
        return self

    def _fit(self, X, index, weights, seed, monitor):
        solver = FrankWolfe(
            self.scale,
            forward=self.forward,
            variant=self.variant,
            max_iter=self.max_iter,
            tol=self.tol,
            check_every=self.check_every,
            patience=self.patience,
            random_state=seed,
            progress=self.verbose,
        )
        last = getattr(self, "similarity_", None) if self.warm_start else None
        start = replace(last, scale=solver.scale) if last is not None and last.d == X.shape[1] else None
        solver.fit(X, index, monitor, weights=weights, start=start)
        self.similarity_, self.history_ = solver.similarity_, solver.history_
        self.components_, self.features_ = self.similarity_.factor(), self.similarity_.features
        self.n_iter_, self.dual_gap_ = solver.n_iter_, solver.gap_

    def transform(self, X):
        """Return L x for each point, shape (n, n_atoms); dot products there are the similarities.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        """
        check_is_fitted(self)
        check_table(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return _dense(self.similarity_.transform(X))

    def predict(self, X):
        """Return the class most of the most similar training points have, shape (n,).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        """
        check_is_fitted(self, "_codes", msg="This %(name)s has no classes: it is not fitted with labels yet.")
        check_table(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        products = self.similarity_(X, self._X)
        return self.classes_[predict_neighbors(products, self._codes, min(self.n_neighbors, self._codes.size))]

    def get_mahalanobis_matrix(self):
        """Return the learned matrix M as a CSR array of shape (d, d)."""
        check_is_fitted(self)
        return self.similarity_.to_sparse()

    def pair_distance(self, pairs):
        """Return ``sqrt((x - y)'M(x - y))`` of pairs of points, shape (n_pairs,).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, d)
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs, self.n_features_in_)
        return np.linalg.norm(_dense(self.similarity_.transform(pairs[:, 0] - pairs[:, 1])), axis=1)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed features, ``hdsl0`` and on."""
        check_is_fitted(self)
        return np.array([f"hdsl{i}" for i in range(self.components_.shape[0])], dtype=object)


class _Both:
    """The validation error, shown to a callback too."""

    def __init__(self, error, callback):
        self.error, self.callback = error, callback

    def __call__(self, similarity):
        self.callback(similarity)
        return self.error(similarity)


class _Watching:
    """A callback in place of an error: the last similarity is always the best."""

    def __init__(self, callback):
        self.callback, self.value = callback, 0.0

    def __call__(self, similarity):
        self.callback(similarity)
        self.value -= 1.0
        return self.value


def _dense(Z):
    return Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
