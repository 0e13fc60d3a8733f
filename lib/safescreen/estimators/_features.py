"""The feature space of a support vector classifier: points with a constant feature, or a kernel matrix."""

import math

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from safescreen.estimators._data import check_positive
from safescreen.rounding import UNIT, gamma, upper
from safescreen.terms import KernelSamples, Samples, add_intercept

__all__ = ["KERNELS", "Features", "diagonal", "kernel_error", "squares"]

KERNELS = ("linear", "rbf", "polynomial", "precomputed")


class Features:
    """What the problems of all classes share: training points, or their kernel matrix, in the space that a SafeSVC says.

    Attributes
    ----------
    constant : float
        Value of the constant feature, 0 without.
    data : array or CSR matrix
        Points with their constant feature, or the kernel matrix, the constant included.
    error : float
        Bound of the rounding error of a kernel value ``k(x, x')``, relative to the norms of x and x' in the feature space; of a given
        matrix what :class:`~safescreen.KernelSamples` takes it to be.
    """

    def __init__(self, model, points):
        self.kernel, self.degree, self.coef0 = model.kernel, model.degree, model.coef0
        self.constant = check_positive(model.intercept_scaling, "intercept_scaling") if model.fit_intercept else 0.0
        self.points = None if self.kernel == "precomputed" else points
        self.coefficient = self._coefficient(model.gamma, points)
        self.data = self.rows(points)
        self.error = kernel_error(self.kernel, points, self.coefficient, self.degree)
        if self.kernel != "linear":
            self.error = max(self.error, (4.0 * points.shape[0] + 64.0) * UNIT)

    def rows(self, X):
        """Return new points with their constant feature, or their kernel values with all training points, the constant included.

        With the kernel "precomputed" X holds these values.
        """
        if self.kernel == "linear":
            return add_intercept(X, self.constant) if self.constant else X
        K = X if self.kernel == "precomputed" else self.matrix(X, self.points)
        return np.ascontiguousarray(K + self.constant**2)

    def norms(self, X):
        """Return upper bounds of the norms of points in the feature space, shape (n,); of "precomputed" ones X is ``k(x, x)``."""
        values = np.asarray(X) if self.kernel == "precomputed" else diagonal(self.kernel, X, self.coefficient, self.degree, self.coef0)
        return upper(np.sqrt(np.maximum(values + self.constant**2, 0.0)), 8) * (1.0 + self.error)

    def terms(self, signs, weights):
        """Return the terms of one problem."""
        if self.kernel == "linear":
            return Samples(self.data, signs, weights=weights)
        return KernelSamples(self.data, signs, weights=weights, relative_error=self.error)

    def products(self, rows, x, signs):
        """Return ``<phi, x>`` of new points from their :meth:`rows` for an element x of the space of the problem of those signs."""
        return np.asarray(rows @ x) if self.kernel == "linear" else rows @ (x.coef * signs)

    def rounding(self, prob, ball, lam):
        """Return e: products with any solution for lam in the ball are rounded by at most e times the norm of the point."""
        if self.kernel == "linear":
            size = prob.cone.norm_upper(ball.center) + ball.radius
        else:  # a solution has no larger coefficients than its weights over lam
            size = float(np.sum(prob.terms.norms if prob.terms.weights is None else prob.terms.weights * prob.terms.norms)) / lam
            size += ball.center.scale
        return upper(2.0 * (self.error + gamma(self.data.shape[1] + 16)) * size, 16)

    def matrix(self, A, B):
        """Return the kernel values of points."""
        if self.kernel == "rbf":
            return rbf_kernel(A, B, gamma=self.coefficient)
        return polynomial_kernel(A, B, degree=self.degree, gamma=self.coefficient, coef0=self.coef0)

    def _coefficient(self, value, points):
        if self.kernel in ("linear", "precomputed"):
            return None
        if isinstance(value, str):
            if value not in ("scale", "auto"):
                raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {value!r}")
            if value == "auto":
                return 1.0 / points.shape[1]
            mean = points.mean()
            variance = (points.multiply(points)).mean() - mean**2 if sparse.issparse(points) else points.var()
            return 1.0 / (points.shape[1] * variance) if variance > 0.0 else 1.0
        return check_positive(value, "gamma")


def kernel_error(kernel, points, coefficient, degree):
    """Return a bound of the rounding errors of kernel values of points, relative to the norms in the feature space; none if given."""
    d = points.shape[1]
    if kernel == "rbf":
        exponent = 4.0 * coefficient * gamma(d + 8) * float(squares(points).max())
        return upper(math.expm1(min(exponent, 1.0)) + 8.0 * UNIT, 8)
    return {"linear": gamma(d + 8), "polynomial": gamma(int(degree) * (d + 8) + 8)}.get(kernel, 0.0)


def diagonal(kernel, X, coefficient, degree, coef0):
    """Return ``k(x, x)`` of points."""
    if kernel == "rbf":
        return np.ones(X.shape[0])
    return squares(X) if kernel == "linear" else (coefficient * squares(X) + coef0) ** degree


def squares(X):
    """Return the squared norms of points, dense or sparse."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
