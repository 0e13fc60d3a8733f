"""Support vector classifier with safe screening."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from safescreen._checks import check_scalar
from safescreen._threads import with_small_blas
from safescreen.estimators._data import check_positive, kept, label, read, read_labelled
from safescreen.estimators._features import KERNELS, Features
from safescreen.estimators._training import solver_options, train
from safescreen.losses import SmoothedHinge
from safescreen.problem import Problem
from safescreen.solvers import Progress

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
    screening : "auto" or tuple of str
        When and with which spheres, as in :func:`safescreen.solve`; ``()`` screens nothing.
    method : str
        Solver, as in :func:`safescreen.solve`.
    max_iter : int
    warm_start : bool
        Start from the solution of the last ``fit`` if that had the same number of samples, for instance for another C. Not with a path.
    callback : callable, optional
        ``callback(progress)`` with a :class:`~safescreen.Progress`, each iteration, or each C of a path; a true value ends the solve or the
        path, of which there is one a problem.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = SafeSVC(C=0.1, screening=("MGB",)).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), bool(model.screening_[0].rate > 0.5)
    (True, True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        smoothing: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict | str | None = None,
        tol: float = 1e-6,
        with_path: bool = False,
        path_ratio: float = 2.0,
        screening: str | tuple[str, ...] = "auto",
        method: str = "auto",
        max_iter: int = 10_000,
        warm_start: bool = False,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
    ):
        self.C, self.kernel, self.gamma, self.degree, self.coef0, self.smoothing = C, kernel, gamma, degree, coef0, smoothing
        self.fit_intercept, self.intercept_scaling, self.class_weight = fit_intercept, intercept_scaling, class_weight
        self.tol, self.with_path, self.path_ratio, self.screening = tol, with_path, path_ratio, screening
        self.method, self.max_iter, self.warm_start, self.callback, self.verbose = method, max_iter, warm_start, callback, verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @with_small_blas
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        return self._fit(*self._read(X, y, sample_weight))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return f(x) of the points X, shape (n,), or (n, n_classes) if there are more than two classes."""
        check_is_fitted(self)
        X = read(self, X)
        if self.kernel == "linear":
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        else:
            K = X[:, self._numbers] if self.kernel == "precomputed" else self._features.matrix(X, self._points)
            scores = K @ self._weights.T + self.intercept_
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class of each of the points X, shape (n,)."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    # ------------------------------------------------------------------ pieces of fit

    def _read(self, X, y, sample_weight):
        """Return points, labels and weights, None standing for 1; sets `classes_`."""
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {self.kernel!r}")
        X, y, weights = read_labelled(self, X, y, sample_weight)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix, got shape {X.shape}")
        self.classes_ = np.unique(y)
        return X, y, weights

    def _fit(self, X, y, weights):
        """Fit the model to what :meth:`_read` returns."""
        C = check_positive(self.C, "C")
        setup, options = self._setup(X, y, *kept(weights, np.arange(y.size))), solver_options(self, "method")
        factor = 1.0 / check_scalar(self.path_ratio, "path_ratio", low=1.0, open_low=True) if self.with_path else None
        last, solutions, self.path_ = self.__dict__.get("solutions_", ()), [], [] if self.with_path else None
        for number, prob in enumerate(setup.problems):
            before = last[number] if number < len(last) else None
            solution, found = train(self, prob, 1.0 / C, factor, before, **options)
            solutions.append(solution)
            if found is not None:
                self.path_.append(found)
                if found.stop_reason == "interrupted" and self.classes_.size > 2:
                    raise KeyboardInterrupt
        self._keep(setup, solutions)
        self.C_ = C if solutions[0].lam == 1.0 / C else 1.0 / solutions[0].lam
        return self

    def _setup(self, X, y, numbers, weights):
        """Return the :class:`Setup` of the training points of those numbers and their weights, None standing for 1; classes are known."""
        codes = np.searchsorted(self.classes_, y[numbers])
        missing = np.setdiff1d(np.arange(self.classes_.size), codes)
        if missing.size:
            text = f"y must hold every class with positive weight, found none of {label(self.classes_[missing[0]])}"
            raise ValueError(f"{text}: leave its rows out altogether")
        features = Features(self, X[np.ix_(numbers, numbers)] if self.kernel == "precomputed" else X[numbers])
        if self.class_weight is not None:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y[numbers], sample_weight=weights)[codes]
            weights = factors if weights is None else factors * weights
        loss = SmoothedHinge(check_scalar(self.smoothing, "smoothing", low=0.0))
        signs = [np.where(codes == k, 1.0, -1.0) for k in ([1] if self.classes_.size == 2 else range(self.classes_.size))]
        return Setup(features, numbers, signs, [Problem(features.terms(sign, weights), loss) for sign in signs])

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


class Setup(NamedTuple):
    """Problems over the same training points, the samples of those numbers; labels of each are its signs."""

    features: Features
    numbers: np.ndarray
    signs: list
    problems: list
