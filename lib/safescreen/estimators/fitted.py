"""Screening with fitted classifiers, of scikit-learn and of this library.

LinearSVC penalises its intercept, SVC has a free intercept, and SafeSVC can have either kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from safescreen._checks import check_labels, check_lam, check_mask, check_points, check_vector
from safescreen._threads import with_small_blas
from safescreen.estimators._atomic import as_fitted
from safescreen.estimators._data import label
from safescreen.estimators._features import Features
from safescreen.estimators._machines import Machines, last_point, loss_of, tasks_of, whole_of_fit
from safescreen.estimators.hdsl import HDSL
from safescreen.estimators.safe_svc import SafeSVC
from safescreen.estimators.safe_svc_cv import SafeSVCCV
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.estimators.triplet_metric_cv import TripletMetricCV
from safescreen.kernels import KernelSamples
from safescreen.losses import Hinge, SquaredHinge
from safescreen.problem import Problem
from safescreen.rounding import UNIT
from safescreen.screening import Certificate, screen, screen_samples
from safescreen.terms import FreeIntercept, Samples, add_intercept

KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf"}
SHORT = 2.0**-20
"""Value of the constant feature of samples with a free intercept. The feature only helps a solve,
and here nothing is solved. So the value is small, and hardly changes the norms.
"""

USE_KEPT = "if samples were taken out, use kept"


@dataclass(frozen=True, repr=False)
class InterceptCertificate(Certificate):
    """A :class:`~safescreen.Certificate` for a classifier with a free intercept.

    Attributes
    ----------
    intercept : tuple of float
        Lower and upper bound of every optimal intercept; with several problems, one such tuple for
        each problem.
    """

    intercept: tuple = (-np.inf, np.inf)


def screen_fitted(
    model: LinearSVC | SVC | SafeSVC | SafeSVCCV | Pipeline,
    X: ArrayLike,
    y: ArrayLike,
    C: float | None = None,
    *,
    kept: np.ndarray | None = None,
    sample_weight: ArrayLike | None = None,
) -> Certificate:
    """Return which samples are certain for C, from a classifier that was fitted for this or another
    C.

    Parameters
    ----------
    model : sklearn.svm.LinearSVC, sklearn.svm.SVC, SafeSVC, SafeSVCCV or sklearn.pipeline.Pipeline
        Fitted to X and y, accurately or not. LinearSVC with either loss, with or
        without its penalised intercept. SVC with the kernel "linear", "poly" or "rbf". SafeSVC with
        any kernel and loss. SafeSVCCV, which stands for its `best_estimator_`. A Pipeline that ends
        in one of these.
    X : array or CSR matrix of shape (n, d)
        The data to which the model was fitted. For a Pipeline it is the input of its first step;
        for the kernel "precomputed" it is the kernel matrix of all samples.
    y : array of shape (n,)
        Class labels.
    C : float > 0, optional
        The C for which the samples are certain; by default the C of the model.
    kept : boolean mask of shape (n,), optional
        The samples to which the model was fitted, if an earlier certificate has removed the other
        samples. The answer is about all samples. A LinearSVC does not need `kept`.
    sample_weight : array of shape (n,), optional
        Positive weights, with which the model was fitted.

    Returns
    -------
    Certificate
        ``X[~in_R]`` and ``y[~in_R]`` give the same classifier for C as X and y. For a Pipeline this
        holds for its last step: keep the fitted steps before it, and fit the last step to
        ``model[:-1].transform(X)[~in_R]``. A scaler that is fitted to fewer samples scales
        differently.

    Raises
    ------
    ValueError, TypeError
        The model is of another kind, or is not fitted. Or a parameter depends on which samples are
        kept: ``class_weight="balanced"``, or ``gamma="scale"`` of a kernel. Or X, y or
        `sample_weight` are not what the model was fitted to, as far as its support vectors and
        coefficients show. For a metric or a search the TypeError says what to call instead.

    Notes
    -----
    The intercept b of SVC is free. Its dual points satisfy ``sum_i c_i y_i alpha_i = 0``, and so
    does the dual point that LIBSVM returns. In the proof of the midpoint gap bound b only
    multiplies this sum, which is 0. So the proof holds for w.

    The problem is posed again for the given X and y, with :class:`~safescreen.FreeIntercept` for a
    free intercept, and :func:`~safescreen.screen` is called with w and the dual variables of the
    model.

    With a kernel the cost is the kernel matrix of all samples, or for more than 1,000 dense samples
    the rows of the support vectors.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from sklearn.svm import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> found = screen_fitted(SVC(kernel="linear", C=0.1).fit(X, y), X, y, 0.11)
    >>> bool(found.in_R.mean() > 0.5)
    True
    >>> from safescreen import SafeSVC
    >>> bool(screen_fitted(SafeSVC(0.1).fit(X, y), X, y).in_R.mean() > 0.5)
    True
    """
    model, X = _last_step(model, X)
    _check_kind(model)
    if not hasattr(model, "classes_"):
        raise ValueError("model must be fitted: call model.fit(X, y) first")
    X = check_points(X, allow_sparse=True)
    y = check_labels(y, X.shape[0])
    if kept is None:
        numbers = np.arange(y.size)
    else:
        numbers = np.flatnonzero(check_mask(kept, y.size, "kept"))
    given = isinstance(model, SafeSVC) and model.kernel == "precomputed"
    n_columns = numbers.size if given else X.shape[1]
    if not np.isin(y, model.classes_).all() or n_columns != model.n_features_in_:
        raise ValueError(
            "X and y must be what the model was fitted to, found other classes or another "
            "number of columns"
        )
    if not (model.class_weight is None or isinstance(model.class_weight, dict)):
        raise ValueError(
            f"class_weight={model.class_weight!r} would change with the samples that are "
            "left: give it as a dict of numbers"
        )
    factors = model.class_weight or {}
    weights = np.array([float(factors.get(label, 1.0)) for label in model.classes_])[
        np.searchsorted(model.classes_, y)
    ]
    if sample_weight is not None:
        weights *= check_vector(sample_weight, y.size, "sample_weight")
    if not weights.min() > 0.0:
        raise ValueError(
            "sample_weight and class_weight must be positive: leave samples of weight 0 out"
        )
    own = model.C_ if isinstance(model, SafeSVC) else model.C
    C = check_lam(own if C is None else C, "C")
    weights = None if (weights == 1.0).all() else weights
    codes = np.searchsorted(model.classes_, y)
    present = np.unique(codes)
    known = model._present_ if isinstance(model, SafeSVC) else np.arange(model.classes_.size)
    if not np.array_equal(present, known):
        missing = label(model.classes_[np.setxor1d(present, known)[0]])
        text = f"one of both has no sample of class {missing}"
        raise ValueError(f"X and y must be what the model was fitted to, {text}")
    if isinstance(model, LinearSVC):
        screened = _linear
        in_pairs = False
    elif isinstance(model, SafeSVC):
        screened = _safe
        in_pairs = model._are_pairs_
    else:
        screened = _free
        in_pairs = True
    tasks = tasks_of(codes, present, in_pairs and model.classes_.size > 2)
    return _together(screened(model, X, codes, tasks, C, weights, numbers), tasks, y.size)


def _check_kind(model):
    """Raise a TypeError if the model is no support vector machine. The error says what to use."""
    name = type(model).__name__
    if isinstance(model, TripletMetric | TripletMetricCV | HDSL):
        raise TypeError(f"model must be a support vector machine, got {_of_metric(model)}")
    if hasattr(model, "refit"):  # a search
        raise TypeError(f"model must be a classifier, got {name}: use its best_estimator_")
    if not isinstance(model, LinearSVC | SVC | SafeSVC):
        accepted = "a LinearSVC, an SVC, a SafeSVC or a SafeSVCCV, or a Pipeline that ends in one"
        advice = "for another solver use screen(problem, w, 1/C)"
        raise TypeError(f"model must be {accepted}, got {name}: {advice}")


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier at the end of a model, and the points that it was fitted to."""
    if isinstance(model, Pipeline):
        points = model[:-1].transform(X) if len(model) > 1 else X
        return _last_step(model[-1], points)
    if isinstance(model, SafeSVCCV):
        if not hasattr(model, "best_estimator_"):
            advice = "call model.fit(X, y) first, with refit=True"
            raise ValueError(f"model must have a best_estimator_: {advice}")
        return as_fitted(model.best_estimator_), X
    return as_fitted(model) if isinstance(model, SafeSVC) else model, X


def _of_metric(model):
    """Return a text with the name of a metric, and what to call for it instead."""
    name = type(model).__name__
    if isinstance(model, HDSL):
        return f"{name}: Frank-Wolfe screens nothing, its certificate is dual_gap_"
    triplets = "screen_triplets(X, triplets, metric.get_mahalanobis_matrix(), lam)"
    with_problem = "screen(metric.solution_.problem, metric.solution_.x, lam)"
    return f"{name}, which has triplets: use {triplets}, or after keep_problem=True {with_problem}"


def _together(certificates, tasks, n):
    """Return one certificate for all samples from the certificates of all problems."""
    first = certificates[0]
    if len(tasks) == 1 and isinstance(tasks[0].places, slice):
        return first
    in_L = np.ones(n, dtype=bool)
    in_R = np.ones(n, dtype=bool)
    for found, task in zip(certificates, tasks, strict=True):
        in_L[task.places] &= found.in_L
        in_R[task.places] &= found.in_R
    more = {}
    if isinstance(first, InterceptCertificate):
        more["intercept"] = tuple(found.intercept for found in certificates)
    return replace(
        first,
        in_L=in_L,
        in_R=in_R,
        gap=max(found.gap for found in certificates),
        gap_rounding=max(found.gap_rounding for found in certificates),
        balls=tuple(ball for found in certificates for ball in found.balls),
        **more,
    )


@with_small_blas
def _safe(model, X, codes, tasks, C, weights, numbers):
    """Return the certificates of a SafeSVC, from the problems of all samples and their solutions.

    The certificates are safe whatever the solutions are, because the problems are posed again from
    the given X, y, weights and C.
    """
    n = codes.size
    if model.kernel == "precomputed" and X.shape != (n, n):
        raise ValueError(f"X must be the kernel matrix of all {n} samples, got shape {X.shape}")
    if model.kernel not in ("linear", "precomputed"):
        _need_number(model.gamma, model._features_.function.gamma)
    whole = Machines(
        features=Features.of(model, X, whole_of_fit(model, X)),
        numbers=np.arange(n),
        codes=codes,
        present=model._present_,
        weights=weights,
        loss=loss_of(model),
        in_pairs=model._are_pairs_,
        tasks=tasks,
    )
    if model._are_pairs_:  # the fit orders samples by class
        numbers = numbers[np.argsort(codes[numbers], kind="stable")]
    own = replace(
        whole,
        numbers=numbers,
        codes=codes[numbers],
        weights=None if weights is None else weights[numbers],
        tasks=tasks_of(codes[numbers], model._present_, model._are_pairs_),
    )
    points = _last_points(model, own)
    signed = own.table(
        task.signs * point["alpha0"] * model.C_
        for point, task in zip(points, own.tasks, strict=True)
    )
    if own.weights is not None:
        signed *= own.weights
    used = own.used(signed)
    if model.kernel != "precomputed":
        _check_support(X[numbers[used]], model)
    if not np.allclose(signed[:, used], model.dual_coef_, rtol=1e-9, atol=0.0):
        difference = "found other coefficients of support vectors"
        raise ValueError(
            f"y and sample_weight must be what the model was fitted with, {difference}"
        )
    found = []
    for task, its, point in zip(tasks, own.tasks, points, strict=True):
        at = np.isin(whole.numbers[task.places], numbers[its.places])  # both have one order
        alpha = np.zeros(task.signs.size)
        alpha[at] = point["alpha0"]
        x = point["x0"]
        if whole.features.kernel != "linear":
            x = np.zeros(task.signs.size)
            x[at] = point["x0"]
        problem = whole.problem(task)
        judge = _with_intercept if whole.features.is_free else _without_intercept
        found.append(judge(problem, x, C, alpha))
    return found


def _last_points(model, setup):
    """Return the solutions of a SafeSVC. Raise a ValueError if they do not fit the problems of a
    setup.
    """
    points = []
    for k, task in enumerate(setup.tasks):
        size = model._dual_points_[k].packed[0]
        if size != task.signs.size:
            sizes = f"{size} samples, found {task.signs.size}"
            raise ValueError(f"X must be what the model was fitted to, {sizes}; {USE_KEPT}")
        points.append(last_point(model, k, setup.features, task, setup.numbers.size))
    return points


def _coefficients(model):
    """Return the coefficients of a linear machine as a dense array, one row for each problem."""
    coef = model.coef_
    return coef.toarray() if sparse.issparse(coef) else coef


def _need_number(value, number):
    """Raise a ValueError if the gamma of a kernel depends on the samples. The error gives the
    number to use.
    """
    if value == "scale":
        text = "gamma='scale' would change with the samples that are left"
        raise ValueError(f"{text}: fit with the number it stands for, gamma={number:.6g}")


def _check_support(points, model):
    """Raise a ValueError if `points` are not the support vectors of the model."""
    vectors = getattr(model, "support_vectors_", points)  # a copy has no sparse points
    if (
        points.shape != vectors.shape
        or (sparse.csr_array(points) != sparse.csr_array(vectors)).nnz > 0
    ):
        difference = "found other support vectors"
        raise ValueError(f"X must be what the model was fitted to, {difference}; {USE_KEPT}")


def _linear(model, X, codes, tasks, C, weights, numbers):
    if model.penalty != "l2":
        raise ValueError(f"model must have the penalty 'l2', got {model.penalty!r}")
    if model.multi_class != "ovr":
        text = "model must have a problem for each class"
        raise ValueError(f"{text}: multi_class='ovr', got {model.multi_class!r}")
    options = {
        "C0": model.C,
        "intercept_scaling": model.intercept_scaling,
        "sample_weight": weights,
        "loss": Hinge() if model.loss == "hinge" else SquaredHinge(0.5),
    }
    coefs = _coefficients(model)
    intercepts = model.intercept_ if model.fit_intercept else [None] * len(tasks)
    return [
        screen_samples(X, task.signs, w, C, intercept=None if b is None else float(b), **options)
        for task, w, b in zip(tasks, coefs, intercepts, strict=True)
    ]


def _free(model, X, codes, tasks, C, weights, numbers):
    """Return the certificates of an SVC, from the problems of all samples and its coefficients.

    ``w = sum_j coef_j phi_j`` belongs to the dual point ``alpha_j = |coef_j|/(C0 c_j)``.
    """
    if model.kernel not in KERNELS:
        raise ValueError(f"model must have the kernel linear, poly or rbf, got {model.kernel!r}")
    if model.kernel != "linear":
        _need_number(model.gamma, model._gamma)
    inside = model.support_[model.support_ < numbers.size]
    _check_support(X[numbers[inside]], model)
    dual = sparse.csr_array(model.dual_coef_).toarray()
    table = np.zeros((len(dual), codes.size))
    table[:, numbers[model.support_]] = dual
    return [
        _free_of_task(model, X, table[task.rows, task.places] * task.signs, k, task, C, weights)
        for k, task in enumerate(tasks)
    ]


def _free_of_task(model, X, coef, k, task, C, weights):
    """Return the certificate of one problem of an SVC."""
    signs = task.signs
    weights = None if weights is None else weights[task.places]
    largest = np.full(signs.size, model.C) if weights is None else model.C * weights
    if not (np.abs(coef) <= largest * (1.0 + 8.0 * UNIT)).all():
        text = "found a coefficient above C times the weight"
        raise ValueError(f"sample_weight must be what the model was fitted with, {text}")
    if (coef < 0.0).any():
        raise ValueError(
            "y must be what the model was fitted to, found a support vector of the other class"
        )
    points = X[task.places]
    if model.kernel == "linear":
        samples = Samples(add_intercept(points, SHORT), signs, weights=weights)
        # the coefficient of the constant feature is 0
        x = np.append(_coefficients(model)[k], 0.0)
    else:
        kernel = (KERNELS[model.kernel], model._gamma, model.degree, model.coef0)
        options = {"constant": SHORT**2, "weights": weights}
        samples = KernelSamples.from_points(points, signs, *kernel, **options)
        x = coef
    terms = FreeIntercept(samples, signs, SHORT)
    alpha = np.minimum(coef / largest, 1.0)
    return _with_intercept(Problem(terms, Hinge()), x, C, alpha)


def _without_intercept(problem, x, C, alpha):
    """Return the certificate of a problem whose intercept, if any, is penalised."""
    return screen(problem, x, 1.0 / C, alpha)


def _with_intercept(problem, x, C, alpha):
    """Return the certificate of a problem with a free intercept."""
    found = screen(problem, x, 1.0 / C, alpha)
    bounds = problem.terms.intercepts(found.balls[0], problem.loss)
    return InterceptCertificate(**vars(found), intercept=bounds)
