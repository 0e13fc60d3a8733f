"""Support vector classifier with safe screening."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from safescreen._checks import check_scalar
from safescreen.estimators._common import Stopper, check_classes, check_positive, check_table, label, positive_weights
from safescreen.estimators._features import KERNELS, Features
from safescreen.losses import SmoothedHinge
from safescreen.paths import path
from safescreen.problem import Problem
from safescreen.solvers import solve

__all__ = ["SafeSVC"]


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
    with_path : bool
        Come up to C by factors of `path_ratio`, from where every sample is at its bound and the solution is known, with warm starts and
        screening, and keep the path.
    path_ratio : float > 1
    screening : tuple of str
        Spheres by name, as in :func:`safescreen.solve`; ``()`` screens nothing.
    method : str
        Solver, as in :func:`safescreen.solve`.
    max_iter : int
    warm_start : bool
        Start from the solution of the last ``fit`` if that had the same number of samples, for instance for another C. Not with a path.
    callback : callable, optional
        ``callback(iteration, w)``, or with a path ``callback(solution)``; a true value ends the training.
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
    path_ : list of Path, or None
        With a path: one a problem. Ctrl-C ends the training there: the part that is finished is kept, and for two classes the model is
        that of the last C of it, `C_`.
    C_ : float
        What the model is for: C, unless a path ended before it.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from safescreen import SafeSVC
    >>> from safescreen_book import datasets
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
        with_path=False,
        path_ratio=2.0,
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
        self.with_path = with_path
        self.path_ratio = path_ratio
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
        X, y = self._check_data(X, y)
        keep, weights = positive_weights(sample_weight, X)
        self._fit(X, y, self.C, keep, weights)
        return self

    def decision_function(self, X):
        """Return f(x), shape (n,), or (n, n_classes) if there are more than two classes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        """
        check_is_fitted(self)
        check_table(X)
        precomputed = self.kernel == "precomputed"
        X = validate_data(self, X, accept_sparse=False if precomputed else "csr", dtype=np.float64, reset=False)
        if self.kernel == "linear":
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        else:
            K = X[:, self._numbers] if precomputed else self._features.matrix(X, self._points)
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

    def _check_data(self, X, y):
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {self.kernel!r}")
        precomputed = self.kernel == "precomputed"
        check_table(X)
        X, y = validate_data(self, X, y, accept_sparse=False if precomputed else "csr", dtype=np.float64)
        check_classes(y)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix, got shape {X.shape}")
        return X, y

    def _fit(self, X, y, C, keep, weights):
        C = check_positive(C, "C")
        self.classes_ = np.unique(y)
        setup = self._setup(X, y, keep, weights)
        last = getattr(self, "solutions_", None) if self.warm_start else None
        stopper = Stopper(self.callback, self.verbose and not self.with_path, "SafeSVC")
        solutions, self.path_ = [], [] if self.with_path else None
        try:
            for number, prob in enumerate(setup.problems):
                if self.with_path:
                    solutions.append(self._come_up(prob, C))
                    continue
                start = None
                if last is not None and len(last) > number and last[number].x.shape == prob.cone.zeros().shape:
                    start = prob.cone.expansion(last[number].x.coef) if hasattr(last[number].x, "coef") else np.asarray(last[number].x)
                solutions.append(solve(prob, 1.0 / C, x0=start, callback=stopper, **self._options()))
        finally:
            stopper.close()
        self._keep(setup, solutions)
        self.C_ = C if solutions[0].lam == 1.0 / C else 1.0 / solutions[0].lam

    def _options(self):
        options = {"screening": tuple(self.screening), "method": self.method, "max_iter": self.max_iter}
        return {"tol": 1e-300, "rtol": check_positive(self.tol, "tol"), **options}

    def _setup(self, X, y, keep, weights):
        """Return the :class:`Setup` of the training points of a mask and their weights, None standing for 1; classes are known."""
        codes = np.searchsorted(self.classes_, y[keep])
        present = np.unique(codes)
        if present.size < 2:
            check_classes(y[keep], " with positive weight")
        points = X[keep][:, keep] if self.kernel == "precomputed" else X[keep]
        features, weights = Features(self, points), self._class_weights(codes, weights)
        loss = SmoothedHinge(check_scalar(self.smoothing, "smoothing", low=0.0))
        signs = [np.where(codes == k, 1.0, -1.0) for k in ([1] if self.classes_.size == 2 else range(self.classes_.size))]
        if present.size < self.classes_.size:
            missing = label(self.classes_[np.setdiff1d(np.arange(self.classes_.size), present)[0]])
            raise ValueError(f"y must hold every class with positive weight, found none of {missing}: leave its rows out altogether")
        return Setup(features, np.flatnonzero(keep), signs, [Problem(features.terms(sign, weights), loss) for sign in signs])

    def _class_weights(self, codes, weights):
        if self.class_weight is None:
            return weights
        present = np.unique(codes)
        factors = compute_class_weight(self.class_weight, classes=self.classes_[present], y=self.classes_[codes], sample_weight=weights)
        full = np.ones(self.classes_.size)
        full[present] = factors
        return full[codes] if weights is None else full[codes] * weights

    def _come_up(self, prob, C):
        """Return the last solution of the path of one problem up to C."""
        ratio, top = check_scalar(self.path_ratio, "path_ratio", low=1.0, open_low=True), prob.lam_max()
        steps = int(np.ceil(np.log(top * C) / np.log(ratio))) if 1.0 < top * C < np.inf else 0
        lams = np.unique([*(top * ratio ** -np.arange(steps, dtype=float)), 1.0 / C])[::-1]
        self.path_.append(path(prob, lams, callback=self.callback, progress=self.verbose, **self._options()))
        if self.path_[-1].stop_reason == "interrupted" and (not len(self.path_[-1]) or self.classes_.size > 2):
            raise KeyboardInterrupt
        return self.path_[-1][-1]

    def _keep(self, setup, solutions):
        features, numbers, signs = setup.features, setup.numbers, setup.signs
        self._features, self.solutions_ = features, solutions
        self.n_iter_ = max(s.n_iter for s in solutions)
        self.dual_gap_ = max(s.gap for s in solutions)
        self.screening_ = [s.screened for s in solutions]
        signed = []
        for solution, sign in zip(solutions, signs, strict=True):
            weights = solution.problem.terms.weights
            signed.append(sign * solution.alpha / solution.lam * (1.0 if weights is None else weights))
        used = [np.flatnonzero(v) for v in signed]
        self.support_ = [numbers[u] for u in used]
        self.dual_coef_ = [v[u] for v, u in zip(signed, used, strict=True)]
        constant = features.constant
        if self.kernel == "linear":
            W = np.array([s.x for s in solutions])
            self.coef_ = W[:, :-1] if constant else W
            self.intercept_ = constant * W[:, -1] if constant else np.zeros(len(W))
            return
        coefs = np.array([np.asarray(s.x) * sign for s, sign in zip(solutions, signs, strict=True)])
        any_used = np.flatnonzero(np.abs(coefs).sum(axis=0))
        self._weights, self._numbers = coefs[:, any_used], numbers[any_used]
        self._points = None if self.kernel == "precomputed" else features.points[any_used]
        self.intercept_ = constant**2 * coefs.sum(axis=1)


@dataclass(frozen=True)
class Setup:
    """Problems over the same training points.

    Attributes
    ----------
    features : Features
    numbers : array of int
        Which samples the points are.
    signs : list of arrays
        Labels of each problem, -1 and 1.
    problems : list of Problem
    """

    features: Features
    numbers: np.ndarray
    signs: list
    problems: list
