"""Screening with fitted classifiers, of scikit-learn and of this library.

The intercept of LinearSVC and SafeSVC is penalised, that of SVC is free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from safescreen._checks import check_labels, check_lam, check_mask, check_points, check_vector
from safescreen._threads import with_small_blas
from safescreen.cones.kernel_matrix import Kernel, row_length, squares
from safescreen.estimators._features import Features
from safescreen.estimators.hdsl import HDSL
from safescreen.estimators.hdsl_cv import HDSLCV
from safescreen.estimators.safe_svc import SafeSVC
from safescreen.estimators.safe_svc_cv import SafeSVCCV
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.estimators.triplet_metric_cv import TripletMetricCV
from safescreen.losses import Hinge, SquaredHinge
from safescreen.problem import Problem
from safescreen.rounding import UNIT, gamma, sqrt_upper, upper
from safescreen.screening import Certificate, screen, screen_samples
from safescreen.spheres import Sphere

KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf"}
USE_KEPT = "if samples were taken out, use kept"


@dataclass(frozen=True, repr=False)
class InterceptCertificate(Certificate):
    """A :class:`~safescreen.Certificate` for a classifier with a free intercept.

    Attributes
    ----------
    intercept : tuple of float
        Bounds of every optimal intercept. The center of the one ball holds the coefficients of the support vectors.
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
    """Return which samples are certain for C, from a classifier fitted for this or another C.

    Parameters
    ----------
    model : sklearn.svm.LinearSVC, sklearn.svm.SVC, SafeSVC, SafeSVCCV or sklearn.pipeline.Pipeline
        Fitted to X and y, two classes; accurate or not. LinearSVC with either loss, with or without its penalised intercept; SVC with the
        kernel "linear", "poly" or "rbf"; SafeSVC with any kernel and loss; SafeSVCCV, for its
        `best_estimator_`; a Pipeline that ends in one of these.
    X : array or CSR matrix of shape (n, d)
        What the model was fitted to: for a Pipeline what its first step got, for the kernel
        "precomputed" the kernel matrix of all samples.
    y : array of shape (n,)
    C : float > 0, optional
        What the answer is for; the model's own if left out.
    kept : boolean mask of shape (n,), optional
        Which of the samples the model was fitted to, if an earlier certificate had taken others out. Decided anew are all.
        LinearSVC does not need it.
    sample_weight : array of shape (n,), optional
        Positive; what the model was fitted with.

    Returns
    -------
    Certificate
        ``X[~in_R]``, ``y[~in_R]`` give the same classifier for C as X and y. For a Pipeline that
        holds of its last step: keep the steps before it as they are fitted, and fit the last one to
        ``model[:-1].transform(X)[~in_R]``. A scaler fitted to fewer samples is another scaler.

    Raises
    ------
    ValueError, TypeError
        Another model, more than two classes, or a parameter that depends on which samples are left: ``class_weight="balanced"``, and
        ``gamma="scale"`` of a kernel. Of metrics a TypeError that says what to call.

    Notes
    -----
    With the intercept b of SVC free, dual points obey ``sum_i c_i y_i alpha_i = 0``, as LIBSVM's does, and the proof of the midpoint gap
    bound goes through for w, for b meets only that sum. Given w the optimal b is an order statistic: 0 lies in the subdifferential
    ``sum_i c_i y_i alpha_i(y_i (f_i + b))``, which falls by ``c_i`` at each ``y_i - f_i``, just where the weights of those below add
    up to that of the positive class. Each ``f_i`` is known up to ``r ||x_i||``, hence b is, and each margin. With the linear kernel the
    norms are those of centered points, which a free intercept allows.

    Of a SafeSVC the problem is posed again, for X and y as they are given, and
    :func:`~safescreen.screen` is asked with the solution of the model.

    Cost: the decision values of all samples. SafeSVC with a kernel computes the kernel matrix, as
    its fit does; SVC needs none.

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
    if isinstance(model, TripletMetric | TripletMetricCV | HDSL | HDSLCV):
        raise TypeError(f"model must be a support vector machine, got {_of_metric(model)}")
    if not isinstance(model, LinearSVC | SVC | SafeSVC):
        accepted = "a LinearSVC, an SVC, a SafeSVC or a SafeSVCCV, or a Pipeline that ends in one"
        advice = "for another solver use screen(problem, w, 1/C)"
        raise TypeError(f"model must be {accepted}, got {type(model).__name__}: {advice}")
    if not hasattr(model, "classes_"):
        raise ValueError("model must be fitted: call model.fit(X, y) first")
    if model.classes_.size != 2:
        raise ValueError(f"model must have two classes, got {model.classes_.size}: fit and screen one against the others")
    X = check_points(X, allow_sparse=True)
    y = check_labels(y, X.shape[0])
    if kept is None:
        numbers = np.arange(y.size)
    else:
        numbers = np.flatnonzero(check_mask(kept, y.size, "kept"))
    given = isinstance(model, SafeSVC) and model.kernel == "precomputed"
    n_columns = numbers.size if given else X.shape[1]
    if not np.isin(y, model.classes_).all() or n_columns != model.n_features_in_:
        raise ValueError("X and y must be what the model was fitted to, found other classes or another number of columns")
    if not (model.class_weight is None or isinstance(model.class_weight, dict)):
        raise ValueError(f"class_weight={model.class_weight!r} would change with the samples that are left: give it as a dict of numbers")
    factors = model.class_weight or {}
    weights = np.array([float(factors.get(label, 1.0)) for label in model.classes_])[np.searchsorted(model.classes_, y)]
    if sample_weight is not None:
        weights *= check_vector(sample_weight, y.size, "sample_weight")
    if not weights.min() > 0.0:
        raise ValueError("sample_weight and class_weight must be positive: leave samples of weight 0 out")
    own = model.C_ if isinstance(model, SafeSVC) else model.C
    C, signs = check_lam(own if C is None else C, "C"), np.where(y == model.classes_[1], 1.0, -1.0)
    weights = None if (weights == 1.0).all() else weights
    if isinstance(model, LinearSVC):
        return _linear(model, X, signs, C, weights)
    if isinstance(model, SafeSVC):
        return _safe(model, X, signs, C, weights, numbers)
    return _free(model, X, signs, C, weights, numbers)


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return what classifies in the end, and the points as it was fitted to them."""
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
    if isinstance(model, HDSL | HDSLCV):
        return f"{name}: Frank-Wolfe screens nothing, its certificate is dual_gap_"
    triplets = "screen_triplets(X, triplets, metric.get_mahalanobis_matrix(), lam)"
    kept = "screen(metric.solution_.problem, metric.solution_.x, lam)"
    return f"{name}, which has triplets: use {triplets}, or after keep_problem=True {kept}"


@with_small_blas
def _safe(model, X, signs, C, weights, numbers):
    """Return the certificate of a SafeSVC, from the problem of all samples and its solution.

    Any solution is safe: the problem is that of X, signs, weights and C as they are given.
    """
    n = signs.size
    if model.kernel == "precomputed" and X.shape != (n, n):
        raise ValueError(f"X must be the kernel matrix of all {n} samples, got shape {X.shape}")
    if model.kernel not in ("linear", "precomputed"):
        _need_number(model.gamma, model._features.function.gamma)
    solution = model.solutions_[0]
    known = np.asarray(solution.alpha)
    if known.size != numbers.size:
        sizes = f"{known.size} samples, found {numbers.size}"
        raise ValueError(f"X must be what the model was fitted to, {sizes}; {USE_KEPT}")
    if model.kernel != "precomputed":
        used = numbers[np.flatnonzero(known)]
        by_class = used[np.argsort(signs[used], kind="stable")]
        _check_support(X[by_class], model.support_vectors_)
    features = Features(model, X)
    if features.kernel == "linear":
        x = model.coef_[0][features.columns]
        if features.constant:
            x = np.append(x, model.intercept_[0] / features.constant)
    else:
        x = np.zeros(n)
        x[numbers] = np.asarray(solution.x)
    alpha = np.zeros(n)
    alpha[numbers] = known
    problem = Problem(features.terms(signs, weights), model._loss())
    return screen(problem, x, 1.0 / C, alpha)


def _need_number(value, number):
    """Raise a ValueError, with the number it was, where a kernel's gamma depends on the samples."""
    if value == "scale":
        text = "gamma='scale' would change with the samples that are left"
        raise ValueError(f"{text}: fit with the number it stands for, gamma={number:.6g}")


def _check_support(points, support_vectors):
    """Raise a ValueError if these are not the support vectors."""
    same = points.shape == support_vectors.shape
    if same:
        same = (sparse.csr_array(points) != sparse.csr_array(support_vectors)).nnz == 0
    if not same:
        found = "found other support vectors"
        raise ValueError(f"X must be what the model was fitted to, {found}; {USE_KEPT}")


def _linear(model, X, signs, C, weights):
    if model.penalty != "l2":
        raise ValueError(f"model must have the penalty 'l2', got {model.penalty!r}")
    b = float(model.intercept_[0]) if model.fit_intercept else None
    options = {"C0": model.C, "intercept": b, "intercept_scaling": model.intercept_scaling, "sample_weight": weights}
    return screen_samples(X, signs, model.coef_[0], C, loss=Hinge() if model.loss == "hinge" else SquaredHinge(0.5), **options)


def _free(model, X, signs, C, weights, numbers):
    if model.kernel not in KERNELS:
        raise ValueError(f"model must have the kernel linear, poly or rbf, got {model.kernel!r}")
    if model.kernel != "linear":
        _need_number(model.gamma, model._gamma)
    inside = model.support_[model.support_ < numbers.size]
    _check_support(X[numbers[inside]], model.support_vectors_)
    n, C0, c = signs.size, float(model.C), np.ones(signs.size) if weights is None else weights
    b, coef, support = float(model.intercept_[0]), sparse.csr_array(model.dual_coef_).toarray()[0], numbers[model.support_]
    f = model.decision_function(X) - b
    kernel, values = Kernel(KERNELS[model.kernel], model._gamma, model.degree, model.coef0), squares(X)
    error, values = kernel.error(row_length(X), float(values.max())), kernel.diagonal(values)
    norms = upper(np.sqrt(np.maximum(values, 0.0)), 8) * (1.0 + error)
    size = upper(float(np.abs(coef) @ norms[support]), n)  # at least ||w||
    errors = norms * upper(size * (error + gamma(coef.size + 16)), 8) + 4.0 * UNIT * (np.abs(f) + abs(b))
    longest, moved = float(norms.max()), 0.0
    if model.kernel == "linear":
        norms, moved = _around_mean(X, norms)

    # objectives, divided by C; alpha in [0, 1] up to an error of w(alpha)
    alpha = np.zeros(n)
    alpha[support] = np.minimum(np.abs(coef) / (C0 * c[support]), 1.0)
    square, sizes = float(coef @ f[support]), np.abs(coef)
    rounding = float(sizes @ errors[support]) + gamma(n + 16) * float(sizes @ np.abs(f[support]))
    margins = signs * (f + b)
    loss = float(np.sum(c * np.maximum(1.0 - margins, 0.0)))
    height = float(c @ alpha)
    imbalance = abs(math.fsum(coef)) / C0 + 8.0 * UNIT * height
    reach = 1.0 + sqrt_upper(2.0 * C * (loss + square / C + float(c @ errors))) * longest  # at least |b| for any optimal b
    allowance = float(c @ errors) + (0.5 / C + 0.5 * C / C0**2) * rounding + imbalance * reach
    allowance += gamma(n + 64) * (loss + height + square / C + C * square / C0**2) + 16.0 * UNIT * C * size**2 / C0**2
    gap = upper(max(loss + 0.5 * square / C - height + 0.5 * C * square / C0**2, 0.0) + allowance, 16)
    shrink = 0.25 * (1.0 - C / C0) ** 2 * max(square - rounding, 0.0)
    radius = upper(sqrt_upper(max(C * gap - shrink, 0.0) + 8.0 * UNIT * (C * gap + shrink)), 8)

    scale = 0.5 * (1.0 + C / C0)
    values, spread = scale * f, upper(radius * norms + scale * errors + 8.0 * UNIT * scale * np.abs(f), 8)
    low, high = values - spread, values + spread
    positive = float(c[signs > 0.0].sum())
    doubt = 0.0 if weights is None else gamma(n + 8) * float(c.sum())
    b_low, b_high = _statistic(signs - high, c, positive - doubt, False), _statistic(signs - low, c, positive + doubt, True)
    least = np.where(signs > 0.0, low + b_low, -high - b_high)
    most = np.where(signs > 0.0, high + b_high, -low - b_low)
    edge = 16.0 * UNIT * (np.abs(low) + np.abs(high) + abs(b_low) + abs(b_high) + 1.0)
    ball = Sphere(scale * coef, radius, None, "MGB")
    moved = upper(radius * moved + 16.0 * UNIT * (abs(b_low) + abs(b_high)), 4)  # so much <w, mean> may differ from that of the center
    bounds = (b_low - moved, b_high + moved)
    return InterceptCertificate(most + edge < 1.0, least - edge > 1.0, 1.0 / C, gap, allowance, (ball,), bounds)


def _statistic(values, weights, level, strictly):
    """Return the first of the sorted values at which the sum of the weights reaches the level, or exceeds it."""
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), level, side="right" if strictly else "left")
    return float(values[order[min(place, order.size - 1)]])


def _around_mean(X, norms):
    """Return upper bounds of the distances of points from their mean, and of its norm.

    Of sparse points by ``|x|^2 - 2 <x, m> + |m|^2``, whose roundings sum to at most ``gamma_{d+8} (|x| + |m|)^2``.
    """
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = float(mean @ mean)
    length = upper(math.sqrt(square), mean.size + 8)
    if not sparse.issparse(X):
        return upper(np.sqrt(squares(X - mean)), mean.size + 8) + 4.0 * UNIT * norms, length
    values = np.maximum(squares(X) - 2.0 * (X @ mean) + square, 0.0) + gamma(mean.size + 8) * (norms + length) ** 2
    return upper(np.sqrt(values), 8), length
