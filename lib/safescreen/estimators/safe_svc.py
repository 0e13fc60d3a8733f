"""Support vector classifier with safe screening."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from safescreen._checks import check_scalar
from safescreen.estimators._common import Stopper, check_positive, positive_weights
from safescreen.losses import SmoothedHinge
from safescreen.problem import Problem
from safescreen.solvers import solve
from safescreen.terms import KernelSamples, Samples

__all__ = ["SafeSVC"]

KERNELS = ("linear", "rbf", "polynomial", "precomputed")


class SafeSVC(ClassifierMixin, BaseEstimator):
    """Support vector classifier, linear or with a kernel, solved to a certified duality gap with safe screening.

    ``min_w ||w||^2/2 + C sum_i weight_i loss(y_i f(x_i))`` with the hinge or the smoothed hinge (SSS14 equation 1), one problem a class
    against the others if there are more than two.

    Parameters
    ----------
    C : float > 0
        Weight of the losses.
    kernel : {"linear", "rbf", "polynomial", "precomputed"}
        With "precomputed" X is the kernel matrix, of training points, or of points against training points.
    gamma : float > 0 or {"scale", "auto"}
        Coefficient of the kernels: ``1/(d Var(X))`` or ``1/d``; not used by the linear one.
    degree, coef0 : int, float
        Of the polynomial kernel.
    smoothing : float >= 0
        Width of the smoothed hinge; 0 is the hinge.
    fit_intercept : bool
        Add a constant feature `intercept_scaling`, whose coefficient is penalised like others. There is no free intercept: the tests rest
        on a problem without one.
    intercept_scaling : float > 0
        The larger, the less the intercept is penalised.
    class_weight : dict, "balanced" or None
        Factors of C by class.
    tol : float > 0
        Duality gap to reach, relative to the objective.
    screening : tuple of str
        Spheres by name, as in :func:`safescreen.solve`; ``()`` screens nothing.
    method : str
        Solver, as in :func:`safescreen.solve`.
    max_iter : int
    warm_start : bool
        Start from the solution of the last ``fit`` if that had the same number of samples, for instance for another C.
    callback : callable, optional
        ``callback(iteration, w)``; a true value ends the training.
    verbose : bool
        Show a progress bar on a terminal.

    Attributes
    ----------
    classes_ : array
    coef_ : array of shape (1 or n_classes, d)
        For the linear kernel only.
    intercept_ : array of shape (1 or n_classes,)
    dual_coef_ : list of arrays
        ``C weight_i alpha_i y_i`` of the support vectors, one array a problem.
    support_ : list of arrays
        Numbers of the support vectors among the training samples.
    n_iter_ : int
        Largest number of iterations of the problems.
    dual_gap_ : float
        Largest certified duality gap of the problems, in units of the objective divided by C.
    screening_ : list of Screened
        Which samples screening took out of each problem.
    solutions_ : list of Solution
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from safescreen import SafeSVC, datasets
    >>> X, y = datasets.load("breast-cancer", return_X_y=True)
    >>> model = SafeSVC(C=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), bool(model.screening_[0].rate > 0.5)
    (True, True)
    """

    def __init__(
        self,
        C=1.0,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1.0,
        smoothing=0.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        tol=1e-6,
        screening=("MGB",),
        method="auto",
        max_iter=10_000,
        warm_start=False,
        callback=None,
        verbose=False,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.tol = tol
        self.screening = screening
        self.method = method
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Factors of C, not negative; samples of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            One class only, or a parameter out of its range.

        Warns
        -----
        ConvergenceWarning
            The tolerance was not reached; the message gives the gap.
        """
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {self.kernel!r}")
        X, y = validate_data(self, X, y, accept_sparse=False if self.kernel == "precomputed" else "csr", dtype=np.float64)
        check_classification_targets(y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix, got shape {X.shape}")
        C, tol = check_positive(self.C, "C"), check_positive(self.tol, "tol")
        keep, weights = positive_weights(sample_weight, X)
        numbers = np.flatnonzero(keep)
        self.classes_ = np.unique(y)
        codes = np.searchsorted(self.classes_, y[keep])
        if np.unique(codes).size < 2:
            raise ValueError(f"y must hold at least two classes with positive weight, got one class: {self.classes_[codes[0]]!r}")
        points = X[keep][:, keep] if self.kernel == "precomputed" else X[keep]
        weights = self._class_weights(codes, weights)
        data = self._prepare(points)
        last = getattr(self, "solutions_", None) if self.warm_start else None
        stopper = Stopper(self.callback, self.verbose, "SafeSVC")
        solutions, signs = [], []
        try:
            for k in [1] if self.classes_.size == 2 else range(self.classes_.size):
                signs.append(np.where(codes == k, 1.0, -1.0))
                prob = Problem(self._terms(data, signs[-1], weights), SmoothedHinge(check_scalar(self.smoothing, "smoothing", low=0.0)))
                start = None
                if last is not None and len(last) > len(solutions) and last[len(solutions)].x.shape == prob.cone.zeros().shape:
                    start = np.asarray(last[len(solutions)].x)
                options = {"screening": tuple(self.screening), "method": self.method, "max_iter": self.max_iter, "callback": stopper}
                solutions.append(solve(prob, 1.0 / C, tol=1e-300, rtol=tol, x0=start, **options))
        finally:
            stopper.close()
        self._keep(points, numbers, solutions, signs)
        return self

    def decision_function(self, X):
        """Return f(x), shape (n,), or (n, n_classes) if there are more than two classes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        """
        check_is_fitted(self)
        precomputed = self.kernel == "precomputed"
        X = validate_data(self, X, accept_sparse=False if precomputed else "csr", dtype=np.float64, reset=False)
        if self.kernel == "linear":
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        else:
            K = X[:, self._numbers] if precomputed else self._kernel(X, self._points)
            scores = K @ self._weights.T + self.intercept_
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X):
        """Return the class of each point, shape (n,).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    # ------------------------------------------------------------------ pieces of fit

    def _class_weights(self, codes, weights):
        if self.class_weight is None:
            return weights
        present = np.unique(codes)
        factors = compute_class_weight(self.class_weight, classes=self.classes_[present], y=self.classes_[codes], sample_weight=weights)
        full = np.ones(self.classes_.size)
        full[present] = factors
        return full[codes] if weights is None else full[codes] * weights

    def _prepare(self, points):
        """Return what the terms of all problems share: points with their constant feature, or a kernel matrix."""
        constant = check_positive(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0
        self._constant = constant
        if self.kernel != "linear":
            self._gamma = self._coefficient(points)
            K = points if self.kernel == "precomputed" else self._kernel(points, points)
            return np.ascontiguousarray(K + constant**2)
        if constant == 0.0:
            return points
        column = np.full((points.shape[0], 1), constant)
        return sparse.csr_array(sparse.hstack([points, column], format="csr")) if sparse.issparse(points) else np.hstack([points, column])

    def _terms(self, data, signs, weights):
        return Samples(data, signs, weights=weights) if self.kernel == "linear" else KernelSamples(data, signs, weights=weights)

    def _coefficient(self, points):
        if self.kernel == "precomputed":
            return None
        if isinstance(self.gamma, str):
            if self.gamma not in ("scale", "auto"):
                raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {self.gamma!r}")
            if self.gamma == "auto":
                return 1.0 / points.shape[1]
            mean = points.mean()
            variance = (points.multiply(points)).mean() - mean**2 if sparse.issparse(points) else points.var()
            return 1.0 / (points.shape[1] * variance) if variance > 0.0 else 1.0
        return check_positive(self.gamma, "gamma")

    def _kernel(self, A, B):
        if self.kernel == "rbf":
            return rbf_kernel(A, B, gamma=self._gamma)
        if self.kernel == "polynomial":
            return polynomial_kernel(A, B, degree=self.degree, gamma=self._gamma, coef0=self.coef0)
        return linear_kernel(A, B)

    def _keep(self, points, numbers, solutions, signs):
        self.solutions_ = solutions
        self.n_iter_ = max(s.n_iter for s in solutions)
        self.dual_gap_ = max(s.gap for s in solutions)
        self.screening_ = [s.screened for s in solutions]
        signed = []
        for solution, sign in zip(solutions, signs, strict=True):
            weights = solution.problem.terms.weights
            signed.append(self.C * sign * solution.alpha * (1.0 if weights is None else weights))
        used = [np.flatnonzero(v) for v in signed]
        self.support_ = [numbers[u] for u in used]
        self.dual_coef_ = [v[u] for v, u in zip(signed, used, strict=True)]
        if self.kernel == "linear":
            W = np.array([s.x for s in solutions])
            self.coef_ = W[:, :-1] if self._constant else W
            self.intercept_ = self._constant * W[:, -1] if self._constant else np.zeros(len(W))
            return
        coefs = np.array([np.asarray(s.x) * sign for s, sign in zip(solutions, signs, strict=True)])
        any_used = np.flatnonzero(np.abs(coefs).sum(axis=0))
        self._weights, self._numbers = coefs[:, any_used], numbers[any_used]
        self._points = None if self.kernel == "precomputed" else points[any_used]
        self.intercept_ = self._constant**2 * coefs.sum(axis=1)
