"""The feature space of a support vector classifier: points with a constant feature, or a kernel
matrix.
"""

import copy
from dataclasses import replace

import numpy as np
from scipy import sparse

from safescreen._blocks import squares
from safescreen._checks import check_lam
from safescreen.kernels import KernelSamples
from safescreen.kernels.checked import check_kernel_matrix, default_error, kernel_matrix
from safescreen.kernels.functions import centred, kernel_of
from safescreen.terms import FreeIntercept, Samples, add_intercept
from safescreen.terms.base import check_weights
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
            gamma_ = coefficient(model.gamma, points)
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
        if self.kernel == "precomputed":
            self._error = default_error(self.data)
            self.data = check_kernel_matrix(self.data, self._error)

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

    def terms(self, signs, weights):
        """Return the terms of the problem with these signs and weights."""
        weights = check_weights(weights, len(signs))
        if self.kernel == "linear":
            terms = Samples(self.data, signs, weights=weights)
        else:
            terms = KernelSamples.of_matrix(self.data, self._error, signs, weights)
        return FreeIntercept(terms, signs, self.constant) if self.is_free else terms

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


class SharedFeatures(Features):
    """Features of the training points of a fold, as a part of the features of all points, which
    other folds use too.

    Attributes
    ----------
    held_out : list of Terms
        The held-out points in the space of the terms that have been made, one for each problem.
        Their labels count as 1, so that margins are decision values. So do those of other points in
        the kernel matrix, in all of which an element is an expansion.
    """

    def __init__(self, whole, numbers, test):
        vars(self).update(vars(whole))
        self.points = None if whole.points is None else whole.points[numbers]
        self.held_out = []
        self._numbers = numbers
        self._test = test

    def terms(self, signs, weights):
        """Return the terms of one problem, and keep the held-out ones."""
        n = self.data.shape[0]
        every = np.ones(n)
        every[self._numbers] = signs
        if self.kernel == "linear":
            family = Samples(self.data, every)
        else:
            family = KernelSamples.of_matrix(self.data, self._error, every)
        is_held_out = np.zeros(n, dtype=bool)
        is_held_out[self._test] = True
        is_own = np.zeros(n, dtype=bool)
        is_own[self._numbers] = True
        terms = family.select(is_own)
        terms.weights = check_weights(weights, len(signs))
        if not self.is_free:
            self.held_out.append(family.select(is_held_out))
            return terms
        family = FreeIntercept(family, every, self.constant)
        self.held_out.append(family.select(is_held_out))
        return FreeIntercept(terms, signs, self.constant)


def coefficient(value, points):
    """Return the coefficient of a kernel, which "scale" and "auto" take from the points."""
    if isinstance(value, str):
        if value not in ("scale", "auto"):
            raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {value!r}")
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
