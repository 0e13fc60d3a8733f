"""The feature space of a support vector classifier: points with a constant feature, or a kernel
matrix.
"""

import copy
from dataclasses import replace

import numpy as np
from scipy import sparse

from safescreen._checks import check_lam
from safescreen.cones.kernel_matrix import row_length, squares
from safescreen.rounding import UNIT, gamma, upper
from safescreen.terms import FreeIntercept, KernelSamples, Samples, add_intercept
from safescreen.terms._kernel_matrices import centred, kernel_matrix, kernel_of
from safescreen.terms.free_intercept import constant_for

KERNELS = {
    "linear": "linear",
    "rbf": "rbf",
    "poly": "polynomial",
    "polynomial": "polynomial",
    "precomputed": "precomputed",
}
"""Names of kernels, and what the library calls them."""


class Features:
    """What the problems of all classes share: the training points or their kernel matrix, in the
    space of a SafeSVC.

    Attributes
    ----------
    constant : float
        Value of the constant feature; 0 if there is none.
    origin : array of shape (d,), or 0.0
        What is subtracted from points before the kernel is computed: the mean of dense points for
        "rbf".
    columns : array or slice
        The columns that the problems have. For wide sparse points they are those with an entry; w
        is 0 in all others.
    data : array or CSR matrix
        Points with their constant feature; or the kernel matrix with the constant; or an object
        that computes its entries.
    """

    def __init__(self, model, points):
        self.kernel = KERNELS[model.kernel]
        self.is_free = has_free_intercept(model)
        self.points = None if self.kernel == "precomputed" else points
        self.origin = 0.0
        self.columns = slice(None)
        if self.kernel in ("rbf", "polynomial"):
            moved, self.origin = centred(points, self.kernel)
            gamma_ = self._coefficient(model.gamma, points)
            function = kernel_of(points.shape[1], self.kernel, gamma_, model.degree, model.coef0)
            self.constant = self._constant_of(model, function.diagonal(squares(moved)))
            self.function = replace(function, constant=self.constant**2)
            self.data, self._error = kernel_matrix(moved, self.function, model.max_gigabytes)
            return
        diagonal = np.diagonal(points) if self.kernel == "precomputed" else squares(points)
        self.constant = self._constant_of(model, diagonal)
        if sparse.issparse(points):
            used = np.flatnonzero(np.bincount(points.indices)).astype(points.indices.dtype)
            self.columns = used if 0 < 2 * used.size < points.shape[1] else self.columns
        self.data = self.rows(points)

    def rows(self, X):
        """Return new points with their constant feature, or their kernel values with all training
        points, with the constant.

        With the kernel "precomputed" X holds these values.
        """
        if self.kernel == "linear":
            X = X[:, self.columns]
            return add_intercept(X, self.constant) if self.constant else X
        if self.kernel == "precomputed":
            return np.ascontiguousarray(X + self.constant**2)
        return self.function.values(self._moved(X), self._moved(self.points))

    def norms(self, X):
        """Return upper bounds of the norms of points in the feature space, shape (n,). With the
        kernel "precomputed" X holds ``k(x, x)``.
        """
        if self.kernel in ("rbf", "polynomial"):
            values = self.function.diagonal(squares(self._moved(X)))
        else:
            values = (
                np.asarray(X) if self.kernel == "precomputed" else squares(X)
            ) + self.constant**2
        return upper(np.sqrt(np.maximum(values, 0.0)), 8) * (1.0 + self.error(X))

    def error(self, X):
        """Return a bound of the rounding error of ``k(x, x')`` for new points x, relative to the
        norms of x and x' in the feature space.

        For a given matrix it is the default of :class:`~safescreen.KernelSamples`.
        """
        if self.kernel == "precomputed":
            return (4.0 * self.data.shape[1] + 64.0) * UNIT
        if self.kernel == "linear":
            return gamma(row_length(X) + 8)
        largest = max(
            float(squares(points).max()) for points in (self._moved(X), self._moved(self.points))
        )
        return self.function.error(max(row_length(X), row_length(self.points)), largest)

    def terms(self, signs, weights):
        """Return the terms of the problem with these signs and weights."""
        if self.kernel == "linear":
            terms = Samples(self.data, signs, weights=weights)
        elif self.kernel == "precomputed":
            error = self.error(None)
            terms = KernelSamples(self.data, signs, weights=weights, relative_error=error)
        else:
            terms = KernelSamples.of_matrix(self.data, self._error, signs, weights)
        return FreeIntercept(terms, signs, self.constant) if self.is_free else terms

    def products(self, rows, x, signs):
        """Return ``<phi, x>`` of new points, from their :meth:`rows`, for an element x of the space
        of the problem with these signs.
        """
        return np.asarray(rows @ x) if self.kernel == "linear" else rows @ (x.coef * signs)

    def rounding(self, rows, error, prob, ball, lam):
        """Return e such that the products of new points, from these :meth:`rows`, with any solution
        for lam in the ball are rounded by at most e times the norm of the point.

        `error` is the :meth:`error` of the points.
        """
        if self.kernel == "linear":
            size = prob.cone.norm_upper(ball.center) + ball.radius
        else:  # a solution has no larger coefficients than the largest dual point over lam
            weights = np.ones(len(prob)) if prob.terms.weights is None else prob.terms.weights
            size = (
                float(weights @ prob.terms.norms) * largest_slope(prob.loss, weights) / lam
                + ball.center.scale
            )
        return upper(2.0 * (error + gamma(row_length(rows) + 16)) * size, 16)

    def of_support(self, used):
        """Return features that hold these training points only, to classify new points."""
        support = copy.copy(self)
        support.data = None
        support.points = None if self.points is None else self.points[used]
        return support

    def _constant_of(self, model, diagonal):
        """Return the constant feature; for a free intercept it is as long as the points are on
        average.
        """
        if self.is_free:
            return constant_for(diagonal)
        if not model.fit_intercept:
            return 0.0
        return check_lam(model.intercept_scaling, "intercept_scaling")

    def _moved(self, X):
        if not np.ndim(self.origin):
            return X
        return (X.toarray() if sparse.issparse(X) else X) - self.origin

    def _coefficient(self, value, points):
        if isinstance(value, str):
            if value not in ("scale", "auto"):
                raise ValueError(
                    f"gamma must be a positive number, 'scale' or 'auto', got {value!r}"
                )
            if value == "auto":
                return 1.0 / points.shape[1]
            largest = max(points.max(), -points.min())
            if largest > 0.0 and not 1e-100 < largest < 1e100:
                raise ValueError(
                    "gamma='scale' needs the variance of X, which overflows or underflows: the "
                    f"largest entry of X is {largest:g}; scale X"
                )
            mean = points.mean()
            if sparse.issparse(points):
                variance = (points.multiply(points)).mean() - mean**2
            else:
                variance = points.var()
            return 1.0 / (points.shape[1] * variance) if variance > 0.0 else 1.0
        return check_lam(value, "gamma")


class SharedFeatures(Features):
    """Features of some points whose kernel values are part of a larger matrix, which others use
    too.

    Elements are expansions in all points of the matrix. The labels of the other points count as 1,
    so their inner products with an element are decision values.
    """

    def __init__(self, whole, numbers):
        vars(self).update(vars(whole))
        self.points = whole.points[numbers]
        self._numbers = numbers

    def terms(self, signs, weights):
        """Return the terms of one problem."""
        n = self.data.shape[0]
        every = np.ones(n)
        every[self._numbers] = signs
        keep = np.zeros(n, dtype=bool)
        keep[self._numbers] = True
        terms = KernelSamples.of_matrix(self.data, self._error, every).select(keep)
        terms.weights = weights
        return FreeIntercept(terms, signs, self.constant) if self.is_free else terms


def has_free_intercept(model):
    """Return whether the intercept of a SafeSVC is free."""
    if model.intercept not in ("auto", "free", "penalised"):
        raise ValueError(
            f"intercept must be 'auto', 'free' or 'penalised', got {model.intercept!r}"
        )
    is_free = model.intercept == "free" or (
        model.intercept == "auto" and KERNELS[model.kernel] != "linear"
    )
    return bool(model.fit_intercept) and is_free


def largest_slope(loss, weights):
    """Return an upper bound of every ``alpha_i`` of a solution: the cap of the loss, or a bound
    from the objective at 0 if there is no cap.

    ``w_i smoothing alpha_i^2/2 <= P(x*) <= P(0) = sum_t w_t/(2 smoothing)``, and so
    ``alpha_i <= sqrt(sum_t w_t/w_i)/smoothing``.
    """
    if loss.has_linear_region:
        return loss.cap
    return upper(np.sqrt(weights.sum() / weights.min()) / loss.smoothing, weights.size + 8)
