"""Support vector classifier with safe screening."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safescreen._progress import progress_bar
from safescreen._threads import with_small_blas
from safescreen.estimators import _votes
from safescreen.estimators._atomic import as_fitted, atomic, keep_parameters, of_one_fit
from safescreen.estimators._data import kept, read, read_labelled
from safescreen.estimators._features import KERNELS
from safescreen.estimators._keywords import ABSENT, GONE, check_C, check_kernel, check_keywords
from safescreen.estimators._machines import pose, starts_of
from safescreen.estimators._parameters import Estimator
from safescreen.estimators._training import (
    collect,
    deadline_of,
    quiet,
    seconds_until,
    solver_options,
    train,
    warn_of,
    watching,
)
from safescreen.records import Progress
from safescreen.solvers.solution import DualPoint

ROWS = 1024
"""Number of points that are classified at a time with a kernel."""

DEFINING = (
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "loss",
    "smoothing",
    "fit_intercept",
    "intercept",
    "intercept_scaling",
    "class_weight",
    "multi_class",
)
"""The parameters that say which problem a fit has solved."""


def __getattr__(name):
    if name == "_Packed":  # pickles of version 0.3 ask for it
        raise ValueError("a SafeSVC pickled by safescreen 0.3 cannot be read: fit it again")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_linear(model):
    """Return whether an estimator has a coefficient for each column."""
    return as_fitted(model).kernel == "linear"


class SafeSVC(ClassifierMixin, Estimator):
    """Support vector classifier, linear or with a kernel, solved to a certified duality gap with
    safe screening.

    ``min_w ||w||^2/2 + C sum_i weight_i loss(y_i f(x_i))`` with the hinge, smoothed or squared
    (SSS14 equation 1). With more than two classes, a machine with a kernel has one such problem for
    each pair of classes, as in SVC. A linear machine has one for each class against all others, as
    in LinearSVC. Columns of very different scales, or far from 0, make the problem hard for any
    solver: put a StandardScaler before it.

    Parameters
    ----------
    C : float > 0
        Weight of the losses.
    kernel : {"linear", "rbf", "poly", "precomputed"}
        "polynomial" is another name for "poly". With "precomputed" X is the kernel matrix: of the
        training points with each other, or of new points with the training points. With "rbf" dense
        points are centred first, which changes no distance and makes rounding errors smaller.
    gamma : float > 0 or {"scale", "auto"}
        Coefficient of the kernels "rbf" and "poly". "scale" stands for ``1/(d Var(X))``, where X
        has the samples of positive weight, and "auto" for ``1/d``.
    degree : int
        Degree of the polynomial kernel.
    coef0 : float >= 0
        Constant in the polynomial kernel.
    loss : {"hinge", "squared_hinge"}
        As in LinearSVC. The squared hinge has no linear piece, so screening finds only samples
        whose loss is 0.
    smoothing : float >= 0
        Width of the smoothed hinge; 0 is the hinge.
    fit_intercept : bool
        Whether there is an intercept.
    intercept : {"auto", "free", "penalised"}
        "free": the objective does not penalise it, as in SVC. "penalised": it is the coefficient of
        a constant feature `intercept_scaling`, as in LinearSVC. "auto" is "free" with a kernel and
        "penalised" without.
    intercept_scaling : float > 0
        The larger it is, the less a penalised intercept is penalised.
    class_weight : dict, "balanced" or None
        Factors of C by class. "balanced" stands for ``n/(n_classes n_k)``, where n_k is the number
        of samples of class k, and n of all samples. Without a kernel both numbers are sums of
        `sample_weight`, as in LinearSVC.
    tol : float > 0
        Duality gap to reach, relative to the objective; the `rtol` of :func:`safescreen.solve`. On
        nine data sets, 1e-4 instead of 1e-8 changed at most 0.2 % of the predicted classes, about
        as many as LinearSVC changes, and none for text. 1e-6 takes up to twice as long. Classes of
        a few points among thousands may need less than 1e-4: on shuttle, 1 to 3 % of the
        predictions differ.
    screening : "auto", str or tuple of str
        When to screen, and with which spheres, as in :func:`safescreen.solve`; ``()`` and "auto"
        screen nothing during the fit. With a kernel, spheres that are given by name mostly cost
        more time than they save: a path took up to 2.7 times as long.
    method : str
        Solver, as in :func:`safescreen.solve`.
    max_iter : int
        Largest number of iterations; -1 sets no limit, as in SVC.
    max_seconds : float, optional
        End the training of all classes with the first iteration after this many seconds. Each
        problem then has its best coefficients so far, with their certified gap, and `reason_` is
        "time".
    max_gigabytes : float
        Size of the largest kernel matrix that is kept; the limit is lower if less memory is free. A
        larger matrix is not kept, and mostly not the matrix of more than 1,000 dense points. Its
        rows are computed when they are needed, with a cache of this size for each thread.
    warm_start : bool
        Start from the solution of the last ``fit`` if the number of samples is the same, for
        instance with another C.
    callback : callable, optional
        ``callback(progress)`` with a :class:`~safescreen.Progress`, each time the solver has a new
        point and its gap. That may be once in a fit: with a kernel an iteration is a whole working
        set, and without one many iterations may pass between two points. A true return value ends
        the solve of the current problem.
    verbose : bool
        Show a progress bar on a terminal.
    n_jobs : int, optional
        Number of problems of several classes that are solved at the same time, in threads unless
        :func:`joblib.parallel_config` says otherwise.
    keep_problem : bool
        Keep the solutions with their problems, which hold the training data or their kernel matrix.
    multi_class : {"auto", "ovr", "ovo"}
        How more than two classes are trained: "ovr" trains each class against the others, "ovo"
        trains pairs of classes. "auto" is "ovo" with a kernel and "ovr" without.
    decision_function_shape : {"ovr", "ovo"}
        For pairs of classes, whether :meth:`decision_function` has a column for each class ("ovr")
        or for each pair ("ovo").
    break_ties : bool
        Whether the decision values break ties between classes with equal votes of pairs. Otherwise
        the first of these classes is predicted.
    penalty, probability : "l2", False
        Keywords of SVC and LinearSVC with one supported value. The error for another value says
        what to do instead.
    dual, shrinking, cache_size, random_state
        Keywords of SVC and LinearSVC that have no effect here: `method` chooses the solver,
        `max_gigabytes` is the size of its cache, and nothing is random.

    Attributes
    ----------
    classes_ : array
        The labels of y. A class whose samples all have weight 0 has no problem and is never
        predicted: its decision value is 1 less than the smallest decision value of the other
        classes.
    coef_ : array of shape (n_problems, d)
        Only for the linear kernel. It may be changed; predictions use the changed coefficients. It
        is a CSR matrix after :meth:`sparsify`.
    intercept_ : array of shape (n_problems,)
        Two classes have one problem. Pairs of classes have one problem each, in the order of SVC:
        (0, 1), (0, 2), ..., (1, 2), .... In the problem of a pair, positive decision values stand
        for the first class.
    dual_coef_ : array of shape (n_rows, n_SV)
        ``C weight_i alpha_i y_i`` of the support vectors. There is one row for each problem; for
        pairs of classes, as in SVC, one row for each class with which the class of the support
        vector is paired. The coefficients belong to the dual point. Predictions use the primal
        point, whose distance from the linear combination with these coefficients is at most
        ``sqrt(2 C dual_gap_)``.
    support_, support_vectors_ : arrays of shape (n_SV,) and (n_SV, d)
        The support vectors of all problems, class by class: their numbers among the training
        samples, and the points. With "precomputed" there are no points. Copies and pickles of a
        linear machine of sparse points X leave the points out; ``X[model.support_]`` gives them.
    n_support_ : array of shape (n_classes,)
        Number of support vectors of each class.
    n_iter_ : int or array of shape (n_problems,)
        The largest number of iterations of a problem, as in LinearSVC. With a kernel or a free
        intercept, the number of iterations of each problem, as in SVC.
    reason_ : str
        Why the training ended, see :class:`safescreen.Solution`: "converged", or the reason of the
        first problem that did not converge.
    dual_gap_ : float
        Largest certified duality gap of the problems, in units of the objective divided by C.
    relative_gap_ : float
        Largest certified duality gap of a problem relative to its objective, in the unit of `tol`.
    screening_ : list of Screened
        The samples that are certain at the exact optimum of each problem. Some were screened during
        the fit; the ball of the solution decides the others at the end.
    solutions_ : list of Solution
        One solution for each problem, only with `keep_problem`. For wide sparse points, x has only
        the columns with an entry.
    C_ : float
        The C of the model.
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
        loss: str = "hinge",
        smoothing: float = 0.0,
        fit_intercept: bool = True,
        intercept: str = "auto",
        intercept_scaling: float = 1.0,
        class_weight: dict | str | None = None,
        tol: float = 1e-4,
        screening: str | tuple[str, ...] = "auto",
        method: str = "auto",
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        max_gigabytes: float = 4.0,
        warm_start: bool = False,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        keep_problem: bool = False,
        multi_class="auto",
        decision_function_shape="ovr",
        break_ties=False,
        penalty="l2",
        probability=False,
        dual="auto",
        shrinking=True,
        cache_size=200,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.smoothing = smoothing
        self.n_jobs = n_jobs
        self.keep_problem = keep_problem
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.tol = tol
        self.screening = screening
        self.method = method
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.max_gigabytes = max_gigabytes
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.penalty = penalty
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability
        self.dual = dual
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.random_state = random_state

    @classmethod
    def _instead(cls, name):
        return GONE.get(name) or super()._instead(name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __getattr__(self, name):
        hint = f": {ABSENT[name]}" if name in ABSENT else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __getstate__(self):
        """Return the attributes that are pickled. A linear machine leaves out sparse support
        vectors, and the columns of wide coefficients that are 0.
        """
        state = {**super().__getstate__()}
        coef = state.get("coef_")
        if coef is not None and sparse.issparse(state.get("support_vectors_")):
            del state["support_vectors_"]
        if isinstance(coef, np.ndarray):
            columns = np.flatnonzero(coef.any(axis=0))
            if 2 * columns.size < coef.shape[1]:
                state["coef_"] = columns, coef[:, columns]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if isinstance(state.get("coef_"), tuple):
            columns, values = state["coef_"]
            self.coef_ = np.zeros((len(values), self.n_features_in_))
            self.coef_[:, columns] = values

    @atomic
    @with_small_blas
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Points, or the kernel matrix of shape (n, n) with ``kernel="precomputed"``.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Factors of C. Samples of weight 0 or less are left out, as in SVC. ``gamma="scale"``
            does not count them either, and SVC counts them. With a kernel
            ``class_weight="balanced"`` counts them, as in SVC.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            There is only one class with positive weight, the data are not finite numbers, or a
            parameter is out of its range.

        Warns
        -----
        ConvergenceWarning
            The tolerance was not reached. The warning is both scikit-learn's and the library's
            ConvergenceWarning. The message says which gap was reached, and why the solver stopped.
        """
        return self._fit(*self._read(X, y, sample_weight))

    @of_one_fit
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the decision values f(x) of the points X, shape (n,).

        With more than two classes the shape is (n, n_classes). The values are the decision values
        of each class against the others; or, for pairs of classes, the votes for each class plus a
        number between -1/3 and 1/3 that orders classes with equal votes.
        ``decision_function_shape="ovo"`` returns the decision values of the pairs, shape (n,
        n_classes (n_classes - 1)/2).
        """
        check_is_fitted(self)
        return self._decide(read(self, X))

    def _decide(self, points):
        """Return the result of :meth:`decision_function` for points that have been checked."""
        return self._decisions(self._scores(points))

    def _decisions(self, scores):
        """Return the result of :meth:`decision_function` from decision values of the problems."""
        if self.classes_.size == 2:
            return scores[:, 0]
        if not self._are_pairs_:
            return self._of_classes(scores)
        if self.decision_function_shape == "ovo":
            return self._of_pairs(scores)
        return self._of_classes(_votes.confidences(scores, self._present_.size))

    def _scores(self, points):
        """Return the decision values of the problems, shape (n, n_problems)."""
        if self.kernel == "linear":
            return safe_sparse_dot(points, self.coef_.T, dense_output=True) + self.intercept_
        if self.kernel == "precomputed":
            return self._sums(points[:, self._numbers_]) + self.intercept_
        parts = [points[start : start + ROWS] for start in range(0, points.shape[0], ROWS)]
        sums = [self._sums(self._features_.values(part)) for part in parts]
        return np.concatenate(sums) + self._free_intercepts_

    def _sums(self, values):
        """Return the sums of kernel values with the coefficients of each problem."""
        if not self._are_pairs_:
            return values @ self._weights_.T
        # the coefficients of a class have one row for each other class
        ends = np.searchsorted(self._classes_of_weights_, [*self._present_, self.classes_.size])
        own = [slice(*pair) for pair in pairwise(ends)]
        sums = [values[:, columns] @ self._weights_[:, columns].T for columns in own]
        pairs = zip(*_votes.pairs(self._present_.size), strict=True)
        return np.column_stack([sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs])

    def _of_classes(self, scores):
        """Return a decision value for each of at least three classes. `scores` are the decision
        values of the problems, or of the classes that have a sample of positive weight.

        The value of a class without a sample of positive weight is the smallest other value minus
        1, so that the class is never predicted.
        """
        present = self._present_
        if present.size == self.classes_.size:
            return scores
        known = np.hstack((-scores, scores)) if scores.shape[1] == 1 else scores
        every = np.repeat(known.min(axis=1, keepdims=True) - 1.0, self.classes_.size, axis=1)
        every[:, present] = known
        return every

    def _of_pairs(self, scores):
        """Return a decision value for each pair of classes. `scores` are the values of the pairs of
        classes that both have a sample of positive weight. A pair with only one such class gets 1
        or -1 in favour of this class, and a pair without any gets 0.
        """
        n_classes = self.classes_.size
        is_there = np.isin(np.arange(n_classes), self._present_)
        first, second = _votes.pairs(n_classes)
        every = np.tile(is_there[first] * 1.0 - is_there[second], (len(scores), 1))
        every[:, is_there[first] & is_there[second]] = scores
        return every

    @of_one_fit
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class of each of the points X, shape (n,): the class with the largest decision
        value or, for pairs of classes, with the most votes. Among classes with equal votes it is
        the first class, or with `break_ties` the class with the largest value of
        :meth:`decision_function`.
        """
        check_is_fitted(self)
        self._check_break_ties()
        return self._vote(read(self, X))

    def _check_break_ties(self):
        if self._are_pairs_ and self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _vote(self, points):
        """Return the result of :meth:`predict` for points that have been checked."""
        self._check_break_ties()
        return self._named(self._scores(points))

    def _named(self, scores):
        """Return the predicted classes from the decision values of the problems."""
        if self._are_pairs_ and not self.break_ties:
            scores = self._of_classes(_votes.votes(scores, self._present_.size))
        else:
            scores = self._decisions(scores)
        return self.classes_[
            (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        ]

    @available_if(_is_linear)
    def sparsify(self) -> Self:
        """Make `coef_` a CSR matrix and return self. It is smaller if most entries are 0, as for
        text.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    @available_if(_is_linear)
    def densify(self) -> Self:
        """Make `coef_` an array again and return self."""
        check_is_fitted(self, "coef_")
        self.coef_ = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
        return self

    # ------------------------------------------------------------------ pieces of fit

    def _read(self, X, y, sample_weight):
        """Return points, labels and weights, and set `classes_`. Weights of 1 become None."""
        check_kernel(self.kernel, list(KERNELS))
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: use X.toarray()")
        X, y, weights = read_labelled(self, X, y, sample_weight, non_negative=False)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix, got shape {X.shape}")
        self.classes_ = np.unique(y)
        check_keywords(self, self.classes_.size)
        return X, y, weights

    def _fit(self, X, y, weights):
        """Fit the model to what :meth:`_read` returns."""
        C = check_C(self.C)
        setup = pose(self, X, y, *kept(weights, np.arange(y.size)))
        starts = starts_of(self, setup) if self.warm_start else {}
        deadline = deadline_of(self)
        tasks = setup.tasks
        bar = progress_bar(self.verbose and len(tasks) > 1, type(self).__name__, total=len(tasks))
        solutions = []

        def take(number, solution):
            solutions.append(solution)
            bar.update()

        work = (
            delayed(_train)(self, setup, task, C, starts.get(k), deadline)
            for k, task in enumerate(tasks)
        )
        with quiet(), bar as bar:
            if not collect(work, take, self.n_jobs):
                raise KeyboardInterrupt
        self._keep(setup, solutions)
        warn_of(self, solutions, X)
        self.C_ = C
        return self

    def _keep(self, setup, solutions):
        """Set the coefficients and all other attributes of a fit, from the solutions of a setup."""
        if self.keep_problem:
            self.solutions_ = solutions
        self._keep_ends(setup, solutions)
        used = self._keep_dual_points(setup, solutions)
        if setup.features.kernel == "linear":
            self._keep_linear(setup, solutions)
        else:
            self._keep_expansions(setup, solutions, used)

    def _keep_ends(self, setup, solutions):
        """Set the attributes that say how the solves of the problems ended."""
        n_iter = np.array([s.n_iter for s in solutions], dtype=np.int32)
        as_in_svc = setup.features.kernel != "linear" or setup.features.is_free
        self.n_iter_ = n_iter if as_in_svc else int(n_iter.max())
        self.reason_ = next((s.reason for s in solutions if not s.converged), "converged")
        self.dual_gap_ = max(s.gap for s in solutions)
        self.relative_gap_ = max(s.relative_gap for s in solutions)
        self.screening_ = [s.screened for s in solutions]

    def _keep_dual_points(self, setup, solutions):
        """Set the dual points and the support vectors. Return the places of the support vectors
        among the points.
        """
        points = setup.features.points
        alphas = [s.alpha for s in solutions]
        self._dual_points_ = [DualPoint(alpha) for alpha in alphas]
        signed = setup.table(
            task.signs * alpha / s.lam
            for s, alpha, task in zip(solutions, alphas, setup.tasks, strict=True)
        )
        if setup.weights is not None:
            signed *= setup.weights
        used = setup.used(signed)
        self.support_ = setup.numbers[used]
        self.dual_coef_ = signed[:, used]
        self.n_support_ = np.bincount(setup.codes[used], minlength=self.classes_.size)
        self.support_vectors_ = np.empty((0, 0)) if points is None else points[used]
        return used

    def _keep_classes(self, setup):
        """Set the attributes that say which problems the fit has solved."""
        keep_parameters(self, DEFINING)
        self._present_ = setup.present
        self._are_pairs_ = setup.in_pairs

    def _keep_linear(self, setup, solutions):
        """Set the attributes with which a linear machine predicts."""
        self._keep_classes(setup)
        features = setup.features
        constant = features.constant
        elements = np.array([np.asarray(s.x) for s in solutions])
        self.coef_ = np.zeros((len(solutions), self.n_features_in_))
        self.coef_[:, features.columns] = elements[:, :-1] if constant else elements
        self.intercept_ = _free_intercepts(solutions)
        if constant:
            self.intercept_ += constant * elements[:, -1]

    def _keep_expansions(self, setup, solutions, used):
        """Set the attributes with which a machine with a kernel predicts. `used` are the places of
        the support vectors.
        """
        self._keep_classes(setup)
        features = setup.features
        own = [np.asarray(s.x) * task.signs for s, task in zip(solutions, setup.tasks, strict=True)]
        coefs = setup.table(own)
        others = setup.used(coefs)  # mostly the same as for the dual point
        self._weights_ = coefs[:, others]
        self._places_ = others
        self._numbers_ = setup.numbers[others]
        self._classes_of_weights_ = setup.codes[others]
        points = self.support_vectors_
        if features.points is not None and not np.array_equal(used, others):
            points = features.points[others]
        self._features_ = replace(features, points=points, data=None)
        self._free_intercepts_ = _free_intercepts(solutions)
        sums = np.array([c.sum() for c in own])
        self.intercept_ = features.constant**2 * sums + self._free_intercepts_


def _free_intercepts(solutions):
    """Return the free intercept of each solution, 0 if there is none."""
    return np.array([s.intercept or 0.0 for s in solutions])


def _train(model, setup, task, C, start, deadline):
    """Return the solution of a task, and True because the training is complete."""
    options = {**solver_options(model, "method"), **watching(model)}
    options["max_seconds"] = seconds_until(deadline)
    if len(setup.tasks) > 1:
        options["bar"] = ""  # one bar shows the progress of all problems
    with quiet():
        return train(setup.problem(task), 1.0 / C, start, **options), True
