"""Metric learning from triplets with safe screening."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from safescreen._checks import check_scalar
from safescreen.estimators._common import Stopper, check_positive, positive_weights
from safescreen.losses import SmoothedHinge
from safescreen.paths import path
from safescreen.problem import Problem
from safescreen.solvers import solve
from safescreen.terms import ProductTriplets, Triplets

__all__ = ["TripletMetric"]


class TripletMetric(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Mahalanobis metric from triplets, ``min_M sum_t w_t loss(d_M(i, l) - d_M(i, j)) + lam/2 ||M||^2``, M positive semidefinite.

    STS19 equation 2.2, solved to a certified duality gap. As a transformer it maps x to L x with ``M = L'L``; as a classifier it is the
    k-nearest-neighbour rule in that space.

    Parameters
    ----------
    lam : float > 0, optional
        Regularization; left out, ``lam_ratio`` times the lam from which on all triplets are in the linear region.
    lam_ratio : float > 0
        Used without `lam`: a number that does not depend on the scale of the data or the number of triplets.
    k : int or None
        Triplets of each point: its k nearest of the same class times its k nearest of others; None takes all.
    diagonal : bool
        Learn a weight for each feature instead of a full matrix.
    product : bool
        Keep triplets as the products of lists they are, never listed one by one: for very many triplets. Not with weights.
    gamma : float > 0
        Width of the smoothed hinge.
    tol : float > 0
        Duality gap to reach, relative to the objective.
    with_path : bool
        Come down from ``lam_max`` by factors of `path_ratio` to the lam asked for, with warm starts and screening, and keep the path.
    path_ratio : float in (0, 1)
    screening : tuple of str
        Spheres by name, as in :func:`safescreen.solve`.
    active_set : bool
    max_iter : int
    n_neighbors : int
        Of the classifier.
    warm_start : bool
        Start from the metric of the last ``fit`` if that had the same features.
    callback : callable, optional
        ``callback(iteration, M)``, or with a path ``callback(solution)``; a true value ends the training.
    verbose : bool
        Show a progress bar on a terminal.

    Attributes
    ----------
    components_ : array of shape (rank, d)
        The factor L.
    lam_ : float
    n_iter_ : int
    dual_gap_ : float
        Certified duality gap.
    screening_ : Screened or None
        Which triplets were taken out; None for products.
    path_ : Path or None
    solution_ : Solution
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; no classes after :meth:`fit_triplets`.

    Examples
    --------
    >>> from safescreen import TripletMetric, datasets
    >>> X, y = datasets.load("iris", return_X_y=True)
    >>> metric = TripletMetric(k=5).fit(X, y)
    >>> metric.get_mahalanobis_matrix().shape, bool(metric.score(X, y) > 0.95)
    ((4, 4), True)
    """

    def __init__(
        self,
        lam=None,
        *,
        lam_ratio=0.01,
        k=5,
        diagonal=False,
        product=False,
        gamma=0.05,
        tol=1e-4,
        with_path=False,
        path_ratio=0.8,
        screening=("RRPB", "PGB"),
        active_set=False,
        max_iter=10_000,
        n_neighbors=5,
        warm_start=False,
        callback=None,
        verbose=False,
    ):
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.k = k
        self.diagonal = diagonal
        self.product = product
        self.gamma = gamma
        self.tol = tol
        self.with_path = with_path
        self.path_ratio = path_ratio
        self.screening = screening
        self.active_set = active_set
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Learn the metric from labels.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        y : array of shape (n,)
            Class labels; at least two classes, one of them with two points.
        sample_weight : array of shape (n,), optional
            Not negative; a triplet has the weight of its anchor. Points of weight 0 are left out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        keep, weights = positive_weights(sample_weight, X)
        X, y = X[keep], y[keep]
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(f"y must hold at least two classes with positive weight, got one class: {self.classes_[0]!r}")
        codes = np.searchsorted(self.classes_, y)
        if self.product:
            if weights is not None or self.diagonal:
                raise ValueError("product=True takes neither sample_weight nor diagonal=True")
            terms = ProductTriplets(X, codes, self.k)
        else:
            terms = Triplets.from_labels(X, codes, k=self.k, diagonal=self.diagonal)
            if weights is not None:
                terms = Triplets(X, terms.index, diagonal=self.diagonal, weights=weights[terms.index[:, 0]])
        self._fit(terms)
        self._classifier = KNeighborsClassifier(min(self.n_neighbors, len(X))).fit(self._map(X), y)
        return self

    def fit_triplets(self, X, triplets, triplet_weight=None):
        """Learn the metric from given triplets.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        triplets : int array of shape (T, 3)
            Rows (i, j, l): point i should be closer to j than to l.
        triplet_weight : array of shape (T,), optional
            Positive.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64)
        self._fit(Triplets(X, triplets, diagonal=self.diagonal, weights=triplet_weight))
        return self

    def transform(self, X):
        """Return L x for each point, shape (n, rank); Euclidean distances there are the learned ones.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        check_is_fitted(self)
        return self._map(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X):
        """Return the class most of the nearest neighbours have, shape (n,).

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        check_is_fitted(self, "_classifier", msg="This %(name)s has no classes: it is not fitted with labels yet.")
        return self._classifier.predict(self.transform(X))

    def get_mahalanobis_matrix(self):
        """Return the learned matrix M, shape (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def pair_distance(self, pairs):
        """Return the learned distances of pairs of points, shape (n_pairs,).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, d)
        """
        check_is_fitted(self)
        pairs = np.asarray(pairs, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}), got {pairs.shape}")
        return np.linalg.norm(self._map(pairs[:, 0] - pairs[:, 1]), axis=1)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed features, ``tripletmetric0`` and on."""
        check_is_fitted(self)
        return np.array([f"tripletmetric{i}" for i in range(len(self.components_))], dtype=object)

    # ------------------------------------------------------------------ pieces of fit

    def _fit(self, terms):
        prob = Problem(terms, SmoothedHinge(check_positive(self.gamma, "gamma")))
        tol, largest = check_positive(self.tol, "tol"), prob.lam_max()
        if self.lam is not None:
            lam = check_positive(self.lam, "lam")
        else:
            lam = check_positive(self.lam_ratio, "lam_ratio") * (largest if 0.0 < largest < np.inf else 1.0)
        limits = {"tol": 1e-300, "rtol": tol, "screening": tuple(self.screening), "active_set": self.active_set, "max_iter": self.max_iter}
        self.path_ = None
        if self.with_path:
            ratio = check_scalar(self.path_ratio, "path_ratio", low=0.0, high=1.0, open_low=True)
            steps = int(np.ceil(np.log(lam / largest) / np.log(ratio))) if lam < largest < np.inf and ratio < 1.0 else 0
            lams = np.unique([*(largest * ratio ** np.arange(steps)), lam])[::-1]
            self.path_ = path(prob, lams, callback=self.callback, progress=self.verbose, **limits)
            solution = self.path_[-1]
        else:
            last = getattr(self, "solution_", None) if self.warm_start else None
            start = last.x if last is not None and last.x.shape == prob.cone.zeros().shape else None
            stopper = Stopper(self.callback, self.verbose, "TripletMetric")
            try:
                solution = solve(prob, lam, x0=start, callback=stopper, **limits)
            finally:
                stopper.close()
        self.solution_, self.lam_ = solution, solution.lam
        self.n_iter_, self.dual_gap_, self.screening_ = solution.n_iter, solution.gap, solution.screened
        self.components_ = _factor(solution.x)
        self.__dict__.pop("_classifier", None)

    def _map(self, X):
        return X @ self.components_.T


def _factor(x):
    """Return L with ``L'L = M``, of as many rows as M has positive eigenvalues, at least one."""
    if x.ndim == 1:
        used = np.flatnonzero(x > 0.0) if (x > 0.0).any() else np.zeros(1, dtype=int)
        return np.sqrt(np.maximum(x[used], 0.0))[:, None] * np.eye(x.size)[used]
    values, vectors = np.linalg.eigh(x)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = max(1, int(np.count_nonzero(values > 1e-12 * max(values[0], 0.0))))
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(values.size)] < 0.0, -1.0, 1.0)
    return np.sqrt(np.maximum(values[:rank], 0.0))[:, None] * vectors[:, :rank].T
