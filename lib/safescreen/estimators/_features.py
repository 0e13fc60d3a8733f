"""The feature space of a support vector classifier: points with a constant feature, or a kernel matrix."""

import numpy as np
from scipy import sparse

from safescreen.cones.kernel_matrix import squares
from safescreen.estimators._data import check_positive
from safescreen.rounding import UNIT, gamma, upper
from safescreen.terms import KernelSamples, Samples, add_intercept
from safescreen.terms._kernel_matrices import kernel_matrix, kernel_of

__all__ = ["KERNELS", "Features"]

KERNELS = ("linear", "rbf", "polynomial", "precomputed")


class Features:
    """What the problems of all classes share: training points, or their kernel matrix, in the space that a SafeSVC says.

    Attributes
    ----------
    constant : float
        Value of the constant feature, 0 without.
    data : array or CSR matrix
        Points with their constant feature, or the kernel matrix, the constant included, or what computes its entries.
    error : float
        Bound of the rounding error of a kernel value ``k(x, x')``, relative to the norms of x and x' in the feature space; of a given
        matrix what :class:`~safescreen.KernelSamples` takes it to be.
    """

    def __init__(self, model, points):
        self.kernel = model.kernel
        self.constant = check_positive(model.intercept_scaling, "intercept_scaling") if model.fit_intercept else 0.0
        self.points = None if self.kernel == "precomputed" else points
        if self.kernel in ("rbf", "polynomial"):
            parameters = self._coefficient(model.gamma, points), model.degree, model.coef0, self.constant**2
            self.function = kernel_of(points.shape[1], self.kernel, *parameters)
            self.data, self.error = kernel_matrix(points, self.function, model.max_gigabytes)
        else:
            self.data, n = self.rows(points), points.shape[0]
            self.error = gamma(self.data.shape[1] + 8) if self.kernel == "linear" else (4.0 * n + 64.0) * UNIT

    def rows(self, X):
        """Return new points with their constant feature, or their kernel values with all training points, the constant included.

        With the kernel "precomputed" X holds these values.
        """
        if self.kernel == "linear":
            return add_intercept(X, self.constant) if self.constant else X
        return np.ascontiguousarray(X + self.constant**2) if self.kernel == "precomputed" else self.function.values(X, self.points)

    def norms(self, X):
        """Return upper bounds of the norms of points in the feature space, shape (n,); of "precomputed" ones X is ``k(x, x)``."""
        if self.kernel in ("rbf", "polynomial"):
            values = self.function.diagonal(squares(X))
        else:
            values = (np.asarray(X) if self.kernel == "precomputed" else squares(X)) + self.constant**2
        return upper(np.sqrt(np.maximum(values, 0.0)), 8) * (1.0 + self.error)

    def terms(self, signs, weights):
        """Return the terms of one problem."""
        if self.kernel == "linear":
            return Samples(self.data, signs, weights=weights)
        if self.kernel == "precomputed":
            return KernelSamples(self.data, signs, weights=weights, relative_error=self.error)
        return KernelSamples.of_matrix(self.data, self.error, signs, weights)

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

    def _coefficient(self, value, points):
        if isinstance(value, str):
            if value not in ("scale", "auto"):
                raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {value!r}")
            if value == "auto":
                return 1.0 / points.shape[1]
            mean = points.mean()
            variance = (points.multiply(points)).mean() - mean**2 if sparse.issparse(points) else points.var()
            return 1.0 / (points.shape[1] * variance) if variance > 0.0 else 1.0
        return check_positive(value, "gamma")
