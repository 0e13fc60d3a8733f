"""Screening with fitted classifiers, of scikit-learn and of this library.

The intercept of LinearSVC is penalised, that of SVC is free, and that of SafeSVC is either.
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
from safescreen.estimators.safe_svc import SafeSVC, checksum
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
        Lower and upper bound of every optimal intercept. The center of the one ball in `balls`
        holds the coefficients of the support vectors.
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

    For a given w the optimal b is an order statistic: 0 lies in the subdifferential
    ``sum_i c_i y_i alpha_i(y_i (f_i + b))``. It falls by ``c_i`` at each ``y_i - f_i``. It is 0
    where the weights of the values below add up to the weight of the positive class. Each ``f_i``
    is known up to ``r ||x_i||``. So b is known up to an interval, and each margin too. With the
    linear kernel the norms are those of centred points, which a free intercept allows.

    For a SafeSVC the problem is posed again for the given X and y, and :func:`~safescreen.screen`
    is called with the solution of the model.

    Cost: the decision values of all samples. SafeSVC with a kernel computes the kernel matrix, as
    its fit does. SVC needs none.

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
    if isinstance(model, TripletMetric | TripletMetricCV | HDSL | HDSLCV):
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
    if isinstance(model, HDSL | HDSLCV):
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
    solution = model.solutions_[0]
    fitted_alpha = np.asarray(solution.alpha)
    if fitted_alpha.size != numbers.size:
        sizes = f"{fitted_alpha.size} samples, found {numbers.size}"
        raise ValueError(f"X must be what the model was fitted to, {sizes}; {USE_KEPT}")
    alpha = np.zeros(n)
    alpha[numbers] = fitted_alpha
    coef = signs * alpha / solution.lam * (1.0 if weights is None else weights)
    used = np.flatnonzero(coef)
    by_class = used[np.argsort(signs[used], kind="stable")]
    if model.kernel != "precomputed":
        _check_support(X[by_class], model)
    if not np.allclose(coef[by_class], model.dual_coef_[0], rtol=1e-9, atol=0.0):
        difference = "found other coefficients of support vectors"
        raise ValueError(
            f"y and sample_weight must be what the model was fitted with, {difference}"
        )
    features = Features(model, X)
    if features.kernel == "linear":
        x = _coefficients(model)[features.columns]
        if features.constant:
            b = 0.0 if features.is_free else model.intercept_[0]
            x = np.append(x, b / features.constant)
    else:
        x = np.zeros(n)
        x[numbers] = np.asarray(solution.x)
    problem = Problem(features.terms(signs, weights), model._loss())
    found = screen(problem, x, 1.0 / C, alpha)
    if not features.is_free:
        return found
    bounds = problem.terms.intercepts(found.balls[0], problem.loss)
    return InterceptCertificate(**vars(found), intercept=bounds)


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
    vectors = getattr(model, "support_vectors_", None)
    if vectors is None:  # a copy of a sparse model
        same = checksum(points) == model._support_checksum_
    elif same := points.shape == vectors.shape:
        same = (sparse.csr_array(points) != sparse.csr_array(vectors)).nnz == 0
    if not same:
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
    if model.kernel not in KERNELS:
        raise ValueError(f"model must have the kernel linear, poly or rbf, got {model.kernel!r}")
    if model.kernel != "linear":
        _need_number(model.gamma, model._gamma)
    inside = model.support_[model.support_ < numbers.size]
    _check_support(X[numbers[inside]], model)
    machine = _machine(model, X, signs, weights, numbers)
    norms = machine.norms
    moved = 0.0
    if model.kernel == "linear":
        norms, moved = _around_mean(X, norms)
    gap, allowance = machine.gap(C)
    radius = machine.radius(C, gap)
    low, high, scale = machine.reach(C, radius * norms)
    bounds = _intercepts(signs, machine.weights, low, high)
    ball = Sphere(scale * machine.coef, radius, None, "MGB")
    moved = upper(radius * moved, 4)  # <w, mean> may differ by this much from that of the center
    return InterceptCertificate(
        *_decided(signs, low, high, bounds),
        lam=1.0 / C,
        gap=gap,
        gap_rounding=allowance,
        balls=(ball,),
        intercept=(bounds[0] - moved, bounds[1] + moved),
    )


@dataclass(frozen=True)
class _Machine:
    """A classifier ``<phi(x), w> + b`` with ``w = sum_j coef_j phi(x_j)``, and bounds for all
    samples.

    Attributes
    ----------
    signs, weights : arrays of shape (n,)
        Labels -1 and +1, and the factors c of C0.
    C0 : float
        The C that it was fitted with.
    b : float
        Its intercept.
    coef, support : arrays of shape (n_SV,)
        The coefficients of w, and the numbers of their samples.
    values, errors : arrays of shape (n,)
        ``<phi_i, w>`` as computed, and bounds of their errors.
    norms : array of shape (n,)
        Upper bounds of ``||phi_i||``.
    """

    signs: np.ndarray
    weights: np.ndarray
    C0: float
    b: float
    coef: np.ndarray
    support: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    norms: np.ndarray

    def square(self):
        """Return ``||w||^2`` and a bound of its error."""
        values = self.values[self.support]
        sizes = np.abs(self.coef)
        rounding = float(sizes @ self.errors[self.support])
        rounding += gamma(self.signs.size + 16) * float(sizes @ np.abs(values))
        return float(self.coef @ values), rounding

    def gap(self, C):
        """Return an upper bound of the duality gap for C, divided by C, and the part of it that is
        rounding.

        The dual point is ``alpha_i = |coef_i|/(C0 c_i)``, exactly: ``sum_i c_i alpha_i y_i phi_i``
        is ``w/C0`` and ``sum_i c_i alpha_i`` is ``sum_i |coef_i|/C0``, without an error. It may
        exceed 1 by the roundings of ``C0 c_i``, 10 u. This costs 10 u times the loss at the
        optimum, which is at most ``P(w)``, and is part of ``gamma_{n + 64} P(w)``. If
        ``sum_i c_i alpha_i y_i`` is not 0, that costs ``|b|`` times the sum, and no optimal b is
        outside the range of ``y_i - f_i``.
        """
        n = self.signs.size
        C0 = self.C0
        c = self.weights
        square, rounding = self.square()
        margins = self.signs * (self.values + self.b)
        loss = float(np.sum(c * np.maximum(1.0 - margins, 0.0)))
        height = float(np.abs(self.coef).sum()) / C0
        unsure = float(c @ self.errors)
        # at least that of the optimal w
        length = sqrt_upper(2.0 * C * (loss + unsure) + square + rounding)
        largest = 1.0 + length * float(self.norms.max())  # at least |b| for any optimal b
        allowance = unsure + (0.5 / C + 0.5 * C / C0**2) * rounding
        allowance += abs(math.fsum(self.coef)) / C0 * largest
        allowance += gamma(n + 64) * (loss + height + square / C + C * square / C0**2)
        gap = max(loss + 0.5 * square / C - height + 0.5 * C * square / C0**2, 0.0)
        return upper(gap + allowance, 16), allowance

    def radius(self, C, gap):
        """Return the radius of the midpoint gap bound, whose center is ``(1 + C/C0)/2 w``."""
        square, rounding = self.square()
        shrink = 0.25 * (1.0 - C / self.C0) ** 2 * max(square - rounding, 0.0)
        rest = max(C * gap - shrink, 0.0) + 8.0 * UNIT * (C * gap + shrink)
        return upper(sqrt_upper(rest), 8)

    def reach(self, C, reach):
        """Return bounds of ``<phi_i, w*>`` at the given distance from the center, and the factor of
        w in the center.
        """
        scale = 0.5 * (1.0 + C / self.C0)
        values = scale * self.values
        spread = upper(reach + scale * self.errors + 8.0 * UNIT * np.abs(values), 8)
        return values - spread, values + spread, scale


def _machine(model, X, signs, weights, numbers):
    """Return the :class:`_Machine` of an SVC that was fitted to the numbered samples."""
    c = np.ones(signs.size) if weights is None else weights
    b = float(model.intercept_[0])
    support = numbers[model.support_]
    coef = sparse.csr_array(model.dual_coef_).toarray()[0]
    if not (np.abs(coef) <= model.C * c[support] * (1.0 + 8.0 * UNIT)).all():
        text = "found a coefficient above C times the weight"
        raise ValueError(f"sample_weight must be what the model was fitted with, {text}")
    if (coef * signs[support] < 0.0).any():
        raise ValueError(
            "y must be what the model was fitted to, found a support vector of the other class"
        )
    f = model.decision_function(X) - b
    kernel = Kernel(KERNELS[model.kernel], model._gamma, model.degree, model.coef0)
    values = squares(X)
    error = kernel.error(row_length(X), float(values.max()))
    values = kernel.diagonal(values)
    norms = upper(np.sqrt(np.maximum(values, 0.0)), 8) * (1.0 + error)
    size = upper(float(np.abs(coef) @ norms[support]), signs.size)  # at least ||w||
    errors = norms * upper(size * (error + gamma(coef.size + 16)), 8)
    errors += 4.0 * UNIT * (np.abs(f) + abs(b))  # f + b was rounded, then b was subtracted
    return _Machine(
        signs=signs,
        weights=c,
        C0=float(model.C),
        b=b,
        coef=coef,
        support=support,
        values=f,
        errors=errors,
        norms=norms,
    )


def _intercepts(signs, weights, low, high):
    """Return bounds of every optimal intercept, given that each ``f_i`` lies in
    ``[low_i, high_i]``.

    They are the values of ``y_i - f_i`` at which the weights of the values below add up to the
    weight of the positive class. If two sums are equal, any b up to the next value is optimal. So
    the weight is made smaller for the one bound and larger for the other, by more than its
    rounding.
    """
    positive = float(weights[signs > 0.0].sum())
    doubt = gamma(signs.size + 8) * float(weights.sum())
    b_low = _statistic(signs - high, weights, positive - doubt)
    b_high = _statistic(signs - low, weights, positive + doubt)
    rounding = 4.0 * UNIT * max(abs(b_low), abs(b_high))
    return b_low - rounding, b_high + rounding


def _decided(signs, low, high, bounds):
    """Return the masks ``(in_L, in_R)`` of the margins that are certain to be below and above 1.

    Rounding is monotone and 1 is a floating-point number, so a sum that is rounded to less than 1
    is less than 1.
    """
    least = np.where(signs > 0.0, low + bounds[0], -high - bounds[1])
    most = np.where(signs > 0.0, high + bounds[1], -low - bounds[0])
    return most < 1.0, least > 1.0


def _statistic(values, weights, level):
    """Return the first of the sorted values at which the sum of the weights reaches the level."""
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), level)
    return float(values[order[min(place, order.size - 1)]])


def _around_mean(X, norms):
    """Return upper bounds of the distances of points from their mean m, and of the norm of m.

    Any center serves, so m is the mean as computed, and differences from it are rounded once. For
    sparse points the squares are ``|x|^2 - 2 <x, m> + |m|^2``, rounded by
    ``gamma_{d+8} (|x| + |m|)^2``.
    """
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = float(mean @ mean)
    length = upper(math.sqrt(square), mean.size + 8)
    if not sparse.issparse(X):
        return upper(np.sqrt(squares(X - mean)), mean.size + 8), length
    values = (
        np.maximum(squares(X) - 2.0 * (X @ mean) + square, 0.0)
        + gamma(mean.size + 8) * (norms + length) ** 2
    )
    return upper(np.sqrt(values), 8), length
