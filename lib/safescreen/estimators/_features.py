"""The feature space of a support vector classifier: points with a constant feature, or a kernel
matrix.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._blocks import squares
from safescreen._checks import check_lam
from safescreen.kernels import KernelSamples
from safescreen.kernels.checked import check_kernel_matrix, default_error, kernel_matrix
from safescreen.kernels.functions import Kernel, centred, kernel_of
from safescreen.kernels.matrices import TwoRuns, gather
from safescreen.kernels.others import OtherPoints
from safescreen.kernels.working_sets import WORKING_SET
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
"""Names of the kernels of SafeSVC, and the library's names of the same kernels."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """Training points of a SafeSVC or their kernel matrix, which the problems of all classes share.

    Attributes
    ----------
    kernel : str
        One of the library's names in :data:`KERNELS`.
    is_free : bool
        Whether the intercept is free.
    points : array, CSR matrix or None
        The training points; None for a given kernel matrix.
    constant : float
        Value of the constant feature; 0 if there is none.
    data : array, CSR matrix or None
        Points with their constant feature; or the kernel matrix plus the square of the constant; or
        an object that computes entries of this matrix. None if only new points are classified.
    origin : array of shape (d,), or 0.0
        The point that is subtracted from all points before the kernel is computed: the mean of
        dense points for "rbf".
    columns : array or slice
        The columns of the points that the problems use. For wide sparse points these are the
        columns with an entry; w is 0 in all other columns.
    function : Kernel or None
        The kernel function of "rbf" and "polynomial"; None for the other kernels.
    error : float
        Bound of the relative error of the kernel matrix.
    """

    kernel: str
    is_free: bool
    points: Any
    constant: float
    data: Any
    origin: Any
    columns: Any
    function: Kernel | None
    error: float

    @classmethod
    def of(cls, model, points, whole=None):
        """Return the features of the training points of a SafeSVC, or of their kernel matrix.
        `whole` is passed to :func:`~safescreen.kernels.checked.kernel_matrix`.
        """
        kernel = KERNELS[model.kernel]
        is_free = has_free_intercept(model)
        origin = error = 0.0
        columns = slice(None)
        function = None
        if kernel in ("rbf", "polynomial"):
            moved, origin = centred(points, kernel)
            gamma = coefficient(model.gamma, points)
            function = kernel_of(points.shape[1], kernel, gamma, model.degree, model.coef0)
            constant = _constant_of(model, is_free, function.diagonal(squares(moved)))
            function = replace(function, constant=constant**2)
            data, error = kernel_matrix(moved, function, model.max_gigabytes, whole)
        elif kernel == "precomputed":
            constant = _constant_of(model, is_free, np.diagonal(points))
            data = np.ascontiguousarray(points + constant**2)
            error = default_error(data)
            name = f"X + {constant**2:g}" if constant else "X"
            data = check_kernel_matrix(data, error, name)
        else:
            constant = _constant_of(model, is_free, squares(points))
            if sparse.issparse(points):
                used = np.flatnonzero(np.bincount(points.indices)).astype(points.indices.dtype)
                columns = used if 0 < 2 * used.size < points.shape[1] else columns
            data = points[:, columns]
            data = add_intercept(data, constant) if constant else data
        return cls(
            kernel=kernel,
            is_free=is_free,
            points=None if kernel == "precomputed" else points,
            constant=constant,
            data=data,
            origin=origin,
            columns=columns,
            function=function,
            error=error,
        )

    def values(self, X):
        """Return the kernel values of new points with all training points, plus the constant."""
        return self.function.values(self._moved(X), self._moved(self.points))

    def terms(self, signs, weights, places=slice(None)):
        """Return the terms of a problem: the training points at these places, with these signs and
        weights.
        """
        weights = check_weights(weights, len(signs))
        if self.kernel == "linear":
            data = self.data if isinstance(places, slice) else self.data[places]
            terms = Samples(data, signs, weights=weights)
        else:
            terms = KernelSamples.of_matrix(*self._matrix(places), signs, weights)
        return FreeIntercept(terms, signs, self.constant) if self.is_free else terms

    def _matrix(self, places):
        """Return the kernel matrix of the points at these places, and its error."""
        if isinstance(places, slice):
            return self.data, self.error
        if isinstance(self.data, np.ndarray):
            if np.count_nonzero(np.diff(places) != 1) <= 1:
                return TwoRuns(self.data, places), self.error
            own = np.empty((places.size, places.size))  # the points are not in the order of classes
            gather(self.data, places, places, own)
            return own, self.error
        return kernel_matrix(self.data.X[places], self.function, self.data.gigabytes)

    def _moved(self, X):
        if not np.ndim(self.origin):
            return X
        return (X.toarray() if sparse.issparse(X) else X) - self.origin


@dataclass(frozen=True, kw_only=True)
class SharedFeatures(Features):
    """Features of the training points of one fold, taken from the features of all points. All folds
    use the same features of all points.

    Attributes
    ----------
    numbers, test : arrays of int
        The numbers of the training points and of the held-out points among all points.
    beside : array of shape (n, n_test), or None
        The kernel values of the training points with the held-out points. If it is given, `data` is
        the kernel matrix of the training points; if it is None, `data` has all points.
    squares : array of shape (n_test,), or None
        The kernel value of each held-out point with itself; None without `beside`.
    block : array, or None
        The memory that holds `data` and `beside`.
    held_out : list of Terms
        The held-out points as terms, one entry for each problem whose terms have been made. Their
        labels count as 1, so that margins are decision values. Without `beside` the space of a
        problem contains the held-out points too, because an element may be an expansion in any
        point of its space. Each pair of classes has a space of its own.
    """

    numbers: NDArray
    test: NDArray
    beside: NDArray | None = None
    squares: NDArray | None = None
    block: NDArray | None = None
    held_out: list = field(default_factory=list)

    @classmethod
    def part(cls, whole, numbers, test, in_pairs, free):
        """Return the features of one fold, taken from the features of all points.

        If the kernel matrix of all points is in memory, a fold of pairs of classes, or of few
        points, gets a kernel matrix of its own. This matrix takes one of the `free` blocks of
        memory if there is one, because getting memory from the system takes longer than writing the
        matrix.
        """
        known = vars(whole) | {"numbers": numbers, "test": test}
        if whole.points is not None:
            known["points"] = whole.points[numbers]
        is_in_memory = whole.kernel != "linear" and isinstance(whole.data, np.ndarray)
        if is_in_memory and (in_pairs or numbers.size <= WORKING_SET):
            n = numbers.size
            size = n * (n + test.size)
            try:
                block = free.pop()
            except IndexError:
                block = np.empty(max(size, whole.data.size))
            block = block if block.size >= size else np.empty(size)
            known["block"] = block
            known["data"] = block[: n * n].reshape(n, n)
            known["beside"] = block[n * n : size].reshape(n, test.size)
            gather(whole.data, numbers, numbers, known["data"])
            gather(whole.data, numbers, test, known["beside"])
            known["squares"] = np.diagonal(whole.data)[test]
        return cls(**known)

    def terms(self, signs, weights, places=slice(None)):
        """Return the terms of one problem, and append its held-out points to `held_out`."""
        if self.beside is not None:
            terms = super().terms(signs, weights, places)
            rows = np.arange(self.numbers.size)[places]
            self.held_out.append(OtherPoints(terms, self.beside, rows, self.squares))
            return terms
        at = slice(None)
        n = self.data.shape[0]
        own = self.numbers
        others = self.test
        if not self._is_of_all(places):
            # the space has the points of the problem and a further copy of all held-out points
            at = np.concatenate((own[places], others))
            n = at.size
            own = slice(0, n - others.size)
            others = slice(own.stop, n)
        every = np.ones(n)
        every[own] = signs
        is_own = np.zeros(n, dtype=bool)
        is_own[own] = True
        is_held_out = np.zeros(n, dtype=bool)
        is_held_out[others] = True
        if self.kernel == "linear":
            family = Samples(self.data if isinstance(at, slice) else self.data[at], every)
        else:
            family = KernelSamples.of_matrix(*self._matrix(at), every)
        terms = family.select(is_own)
        terms.weights = check_weights(weights, len(signs))
        if not self.is_free:
            self.held_out.append(family.select(is_held_out))
            return terms
        family = FreeIntercept(family, every, self.constant)
        self.held_out.append(family.select(is_held_out))
        return FreeIntercept(terms, signs, self.constant)

    def own(self, x, places):
        """Return the coefficients of the points of a problem from `x`, an element of its space."""
        return x[self.numbers] if self._is_of_all(places) else x[: self.numbers[places].size]

    def _is_of_all(self, places):
        """Return whether the space of a problem has all points, in their order."""
        if not isinstance(places, slice) or self.beside is not None:
            return False
        return not np.isin(self.test, self.numbers).any()


def _constant_of(model, is_free, diagonal):
    """Return the value of the constant feature. For a free intercept it is the root mean square of
    the lengths of the points.
    """
    if is_free:
        return constant_for(diagonal)
    if not model.fit_intercept:
        return 0.0
    return check_lam(model.intercept_scaling, "intercept_scaling")


def coefficient(value, points):
    """Return the coefficient gamma of a kernel. "scale" and "auto" compute it from the points."""
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
    if not isinstance(model.intercept, str) or model.intercept not in ("auto", "free", "penalised"):
        raise ValueError(
            f"intercept must be 'auto', 'free' or 'penalised', got {model.intercept!r}"
        )
    is_free = model.intercept == "free" or (
        model.intercept == "auto" and KERNELS[model.kernel] != "linear"
    )
    return bool(model.fit_intercept) and is_free
