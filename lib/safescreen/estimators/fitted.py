"""Screening with fitted classifiers, of scikit-learn and of this library.

The intercept of LinearSVC is penalised, that of SVC is free, and that of SafeSVC is either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from safescreen._checks import check_labels, check_lam, check_mask, check_points, check_vector
from safescreen._threads import with_small_blas
from safescreen.estimators._features import Features
from safescreen.estimators._machines import last_point, loss_of
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
"""The constant feature that samples with a free intercept have; without a solve it need not help
one, and lengthens the norms by nothing.
"""

USE_KEPT = "if samples were taken out, use kept"


@dataclass(frozen=True, repr=False)
class InterceptCertificate(Certificate):
    """A :class:`~safescreen.Certificate` for a classifier with a free intercept.

    Attributes
    ----------
    intercept : tuple of float
        Lower and upper bound of every optimal intercept.
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
        Fitted to X and y with two classes, accurately or not. LinearSVC with either loss, with or
        without its penalised intercept. SVC with the kernel "linear", "poly" or "rbf". SafeSVC with
        any kernel and loss. SafeSVCCV, which stands for its `best_estimator_`. A Pipeline that ends
        in one of these.
    X : array or CSR matrix of shape (n, d)
        What the model was fitted to. For a Pipeline it is the input of its first step; for the
        kernel "precomputed" it is the kernel matrix of all samples.
    y : array of shape (n,)
        Class labels.
    C : float > 0, optional
        The C that the answer is for; that of the model if left out.
    kept : boolean mask of shape (n,), optional
        The samples that the model was fitted to, if others had been taken out by an earlier
        certificate. All samples are decided anew. LinearSVC does not need it.
    sample_weight : array of shape (n,), optional
        Positive; the weights that the model was fitted with.

    Returns
    -------
    Certificate
        ``X[~in_R]`` and ``y[~in_R]`` give the same classifier for C as X and y. For a Pipeline this
        holds for its last step: keep the fitted steps before it, and fit the last step to
        ``model[:-1].transform(X)[~in_R]``. A scaler that is fitted to fewer samples is another
        scaler.

    Raises
    ------
    ValueError, TypeError
        The model is another one, is not fitted, or has more than two classes. Or a parameter
        depends on which samples are left: ``class_weight="balanced"``, or ``gamma="scale"`` of a
        kernel. Or X, y or `sample_weight` are not what the model was fitted to, as far as its
        support vectors and coefficients show. For a metric or a search the TypeError says what to
        call instead.

    Notes
    -----
    The intercept b of SVC is free. Its dual points have ``sum_i c_i y_i alpha_i = 0``, and so has
    the one that LIBSVM returns. The proof of the midpoint gap bound then holds for w, because b is
    only a factor of that sum.

    The problem is posed again for the given X and y, with :class:`~safescreen.FreeIntercept` for a
    free intercept, and :func:`~safescreen.screen` is called with w and the dual variables of the
    model.

    Cost: with a kernel, up to 2,000 rows, the kernel matrix of all samples; for more the rows of
    the support vectors.

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
    if model.classes_.size != 2:
        raise ValueError(
            f"model must have two classes, got {model.classes_.size}: fit and screen each class "
            "against the others"
        )
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
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    weights = None if (weights == 1.0).all() else weights
    if isinstance(model, LinearSVC):
        return _linear(model, X, signs, C, weights)
    if isinstance(model, SafeSVC):
        return _safe(model, X, signs, C, weights, numbers)
    return _free(model, X, signs, C, weights, numbers)


def _check_kind(model):
    """Raise a TypeError for what is no support vector machine; it says what to use instead."""
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
        return model.best_estimator_, X
    return model, X


def _of_metric(model):
    """Return what a metric is, and what to call for it."""
    name = type(model).__name__
    if isinstance(model, HDSL):
        return f"{name}: Frank-Wolfe screens nothing, its certificate is dual_gap_"
    triplets = "screen_triplets(X, triplets, metric.get_mahalanobis_matrix(), lam)"
    with_problem = "screen(metric.solution_.problem, metric.solution_.x, lam)"
    return f"{name}, which has triplets: use {triplets}, or after keep_problem=True {with_problem}"


@with_small_blas
def _safe(model, X, signs, C, weights, numbers):
    """Return the certificate of a SafeSVC, from the problem of all samples and its solution.

    It is safe whatever the solution is: the problem is that of the given X, signs, weights and C.
    """
    n = signs.size
    if model.kernel == "precomputed" and X.shape != (n, n):
        raise ValueError(f"X must be the kernel matrix of all {n} samples, got shape {X.shape}")
    if model.kernel not in ("linear", "precomputed"):
        _need_number(model.gamma, model._features_.function.gamma)
    features = Features.of(model, X)
    last = last_point(model, 0, features, signs[numbers])
    if last["alpha0"].size != numbers.size:
        sizes = f"{last['alpha0'].size} samples, found {numbers.size}"
        raise ValueError(f"X must be what the model was fitted to, {sizes}; {USE_KEPT}")
    alpha = np.zeros(n)
    alpha[numbers] = last["alpha0"]
    coef = signs * alpha * model.C_ * (1.0 if weights is None else weights)
    used = np.flatnonzero(coef)
    by_class = used[np.argsort(signs[used], kind="stable")]
    if model.kernel != "precomputed":
        _check_support(X[by_class], model)
    if not np.allclose(coef[by_class], model.dual_coef_[0], rtol=1e-9, atol=0.0):
        difference = "found other coefficients of support vectors"
        raise ValueError(
            f"y and sample_weight must be what the model was fitted with, {difference}"
        )
    x = last["x0"]
    if features.kernel != "linear":
        x = np.zeros(n)
        x[numbers] = last["x0"]
    problem = Problem(features.terms(signs, weights), loss_of(model))
    if not features.is_free:
        return screen(problem, x, 1.0 / C, alpha)
    return _with_intercept(problem, x, C, alpha)


def _coefficients(model):
    """Return the coefficients of a linear machine, shape (d,), which may be sparsified."""
    coef = model.coef_
    return coef.toarray()[0] if sparse.issparse(coef) else coef[0]


def _need_number(value, number):
    """Raise a ValueError if the gamma of a kernel depends on the samples; it says which number to
    use.
    """
    if value == "scale":
        text = "gamma='scale' would change with the samples that are left"
        raise ValueError(f"{text}: fit with the number it stands for, gamma={number:.6g}")


def _check_support(points, model):
    """Raise a ValueError if these are not the support vectors."""
    vectors = getattr(model, "support_vectors_", points)  # of sparse points a copy has none
    if (
        points.shape != vectors.shape
        or (sparse.csr_array(points) != sparse.csr_array(vectors)).nnz > 0
    ):
        difference = "found other support vectors"
        raise ValueError(f"X must be what the model was fitted to, {difference}; {USE_KEPT}")


def _linear(model, X, signs, C, weights):
    if model.penalty != "l2":
        raise ValueError(f"model must have the penalty 'l2', got {model.penalty!r}")
    b = float(model.intercept_[0]) if model.fit_intercept else None
    options = {
        "C0": model.C,
        "intercept": b,
        "intercept_scaling": model.intercept_scaling,
        "sample_weight": weights,
    }
    return screen_samples(
        X,
        signs,
        _coefficients(model),
        C,
        loss=Hinge() if model.loss == "hinge" else SquaredHinge(0.5),
        **options,
    )


def _free(model, X, signs, C, weights, numbers):
    """Return the certificate of an SVC, from the problem of all samples and its coefficients.

    ``w = sum_j coef_j phi_j`` belongs to the dual point ``alpha_j = |coef_j|/(C0 c_j)``.
    """
    if model.kernel not in KERNELS:
        raise ValueError(f"model must have the kernel linear, poly or rbf, got {model.kernel!r}")
    if model.kernel != "linear":
        _need_number(model.gamma, model._gamma)
    inside = model.support_[model.support_ < numbers.size]
    _check_support(X[numbers[inside]], model)
    support = numbers[model.support_]
    coef = sparse.csr_array(model.dual_coef_).toarray()[0] * signs[support]
    largest = model.C if weights is None else model.C * weights[support]
    if not (np.abs(coef) <= largest * (1.0 + 8.0 * UNIT)).all():
        text = "found a coefficient above C times the weight"
        raise ValueError(f"sample_weight must be what the model was fitted with, {text}")
    if (coef < 0.0).any():
        raise ValueError(
            "y must be what the model was fitted to, found a support vector of the other class"
        )
    if model.kernel == "linear":
        samples = Samples(add_intercept(X, SHORT), signs, weights=weights)
    else:
        kernel = (KERNELS[model.kernel], model._gamma, model.degree, model.coef0)
        samples = KernelSamples.from_points(X, signs, *kernel, constant=SHORT**2, weights=weights)
    terms = FreeIntercept(samples, signs, SHORT)
    alpha = np.zeros(signs.size)
    alpha[support] = np.minimum(coef / largest, 1.0)
    if model.kernel == "linear":
        x = np.append(_coefficients(model), 0.0)  # the constant feature has no coefficient
    else:
        x = np.zeros(signs.size)
        x[support] = coef
    return _with_intercept(Problem(terms, Hinge()), x, C, alpha)


def _with_intercept(problem, x, C, alpha):
    """Return the certificate of a problem with a free intercept."""
    found = screen(problem, x, 1.0 / C, alpha)
    bounds = problem.terms.intercepts(found.balls[0], problem.loss)
    return InterceptCertificate(**vars(found), intercept=bounds)
