"""Metric learning from triplets with safe screening."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from safescreen._checks import check_scalar
from safescreen.estimators._common import Stopper, check_classes, check_pairs, check_positive, check_table, label, positive_weights
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
        Triplets of each point: its k nearest of the same class times its k nearest of others, fewer, with a warning, where a class has
        not so many; None takes all.
    diagonal : bool
        Learn a weight for each feature instead of a full matrix.
    product : bool
        Keep triplets as the products of lists they are, never listed one by one: for very many triplets. Without weights.
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
        Of the classifier; all points if there are fewer.
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
        Ctrl-C ends the path: the part that is finished is kept, and the metric is the one of its last lam, `lam_`.
    solution_ : Solution
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; no classes after :meth:`fit_triplets`.

    Examples
    --------
    >>> from safescreen import TripletMetric
    >>> from safescreen_book import datasets
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
        X, y, keep, weights = self._check_rows(X, y, sample_weight)
        X, y = X[keep], y[keep]
        self._fit(self._terms(X, y, weights))
        self._classifier = self._neighbours(X, y)
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
        if self.product:
            raise ValueError("product=True needs labels: use fit, or product=False")
        check_table(X)
        X = validate_data(self, X, dtype=np.float64)
        self.__dict__.pop("classes_", None)
        self.__dict__.pop("_classifier", None)
        self._fit(Triplets(X, triplets, diagonal=self.diagonal, weights=triplet_weight))
        return self

    def transform(self, X):
        """Return L x for each point, shape (n, rank); Euclidean distances there are the learned ones.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        check_is_fitted(self)
        check_table(X)
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
        pairs = check_pairs(pairs, self.n_features_in_)
        return np.linalg.norm(self._map(pairs[:, 0] - pairs[:, 1]), axis=1)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed features, ``tripletmetric0`` and on."""
        check_is_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(len(self.components_))], dtype=object)

    # ------------------------------------------------------------------ pieces of fit

    def _check_rows(self, X, y, sample_weight):
        """Return points, labels, the mask of the rows of positive weight, their weights (None stands for 1); sets `classes_`."""
        check_table(X)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classes(y)
        keep, weights = positive_weights(sample_weight, X)
        self.classes_ = check_classes(y[keep], " with positive weight")
        return X, y, keep, weights

    def _terms(self, X, y, weights):
        """Return the triplets of labelled points; those of a point have its weight."""
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.max() < 2:
            raise ValueError("y must have a class with at least two points to make triplets, found only singletons: is it an identifier?")
        if self.k is not None:
            most = np.minimum(counts - 1, len(y) - counts)
            few = int(np.argmin(np.where(counts > 1, most, len(y))))
            if most[few] < self.k:
                partners = f"{counts[few] - 1} others of the class and {len(y) - counts[few]} outside"
                text = f"k={self.k} is more than rows of class {label(classes[few])} have partners, {partners}: they get fewer triplets"
                warnings.warn(f"{text}; take a smaller k or join small classes", UserWarning, stacklevel=3)
        if self.product:
            if weights is not None:
                raise ValueError("product=True takes no sample_weight: leave it out, or use product=False")
            return ProductTriplets(X, codes, self.k, diagonal=self.diagonal)
        terms = Triplets.from_labels(X, codes, k=self.k, diagonal=self.diagonal)
        if weights is None:
            return terms
        return Triplets(X, terms.index, diagonal=self.diagonal, weights=weights[terms.index[:, 0]])

    def _problem(self, terms):
        return Problem(terms, SmoothedHinge(check_positive(self.gamma, "gamma")))

    def _limits(self):
        limits = {"screening": tuple(self.screening), "active_set": self.active_set, "max_iter": self.max_iter}
        return {"tol": 1e-300, "rtol": check_positive(self.tol, "tol"), **limits}

    def _fit(self, terms):
        prob = self._problem(terms)
        largest = prob.lam_max()
        if self.lam is not None:
            lam = check_positive(self.lam, "lam")
        else:
            lam = check_positive(self.lam_ratio, "lam_ratio") * (largest if 0.0 < largest < np.inf else 1.0)
        self.path_ = None
        if self.with_path:
            ratio = check_scalar(self.path_ratio, "path_ratio", low=0.0, high=1.0, open_low=True)
            steps = int(np.ceil(np.log(lam / largest) / np.log(ratio))) if lam < largest < np.inf and ratio < 1.0 else 0
            self._come_down(prob, np.unique([*(largest * ratio ** np.arange(steps)), lam])[::-1])
            return
        last = getattr(self, "solution_", None) if self.warm_start else None
        start = last.x if last is not None and last.x.shape == prob.cone.zeros().shape else None
        stopper = Stopper(self.callback, self.verbose, type(self).__name__)
        try:
            self._keep(solve(prob, lam, x0=start, callback=stopper, **self._limits()))
        finally:
            stopper.close()

    def _come_down(self, prob, lams):
        self.path_ = path(prob, lams, callback=self.callback, progress=self.verbose, **self._limits())
        if not len(self.path_):
            raise KeyboardInterrupt
        self._keep(self.path_[-1])

    def _keep(self, solution):
        self.solution_, self.lam_ = solution, solution.lam
        self.n_iter_, self.dual_gap_, self.screening_ = solution.n_iter, solution.gap, solution.screened
        self.components_ = _factor(solution.x)

    def _neighbours(self, X, y):
        return KNeighborsClassifier(min(self.n_neighbors, len(X))).fit(self._map(X), y)

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
