"""The cone of positive semidefinite matrices: full metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from safescreen._threads import large_blas
from safescreen.cones.base import Cone
from safescreen.rounding import SAFETY, TINY, UNIT, norm_upper

_BACKWARD = 16.0
"""Constant of the backward error of the symmetric eigendecomposition, see
:meth:`PSDCone.split_error`.
"""


@dataclass(frozen=True)
class PSDCone(Cone):
    """Symmetric positive semidefinite d x d matrices in the Frobenius inner product.

    >>> PSDCone(2).project(np.array([[1.0, 0.0], [0.0, -2.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """

    d: int
    nonnegative = "eigenvalues"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of an element, ``(d, d)``."""
        return (self.d, self.d)

    @property
    def n_coordinates(self) -> int:
        """Number of entries of the upper triangle, ``d (d + 1)/2``."""
        return self.d * (self.d + 1) // 2

    @property
    def projection_error(self) -> float:
        """Bound of :meth:`feasible_error` for elements of norm 1."""
        return _BACKWARD * self.d * UNIT * SAFETY

    def check(self, x: Any, name: str = "x") -> NDArray:
        """Return the symmetric part of `x`. Raise a ValueError if `x` is not symmetric up to
        rounding.
        """
        x = super().check(x, name)
        asymmetry = float(np.abs(x - x.T).max())
        if asymmetry > 1e-12 * float(np.abs(x).max()):
            raise ValueError(
                f"{name} must be symmetric, found entries that differ by {asymmetry:.3g}"
            )
        return _symmetric(x) if asymmetry > 0.0 else x

    def split(self, H: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(H_+, H_-)`` with ``H = H_+ - H_-`` (STS19 section 1.1, with the opposite sign
        of ``H_-``); O(d^3).
        """
        values, vectors = eigh(H)
        n_negative = int(np.searchsorted(values, 0.0))
        if n_negative == 0:
            return _symmetric(H), np.zeros(self.shape)
        if n_negative == self.d:
            return np.zeros(self.shape), _symmetric(-H)
        plus = _gram(vectors[:, n_negative:], values[n_negative:])
        minus = _gram(vectors[:, :n_negative], -values[:n_negative])
        return plus, minus

    def split_error(self, H: NDArray) -> float:
        """Return a bound of the error of either part in the Frobenius norm.

        The computed decomposition is the exact decomposition of ``H + E`` with ``||E|| <= p(d) u
        ||H||``, where p is a modest polynomial (LAPACK Users' Guide, section 4.7). Here ``p = 16
        d``, ten times the errors that are seen; a test compares them with 50-digit arithmetic. The
        vectors are orthogonal to the same precision, and projections onto convex cones do not
        expand distances.
        """
        return _BACKWARD * self.d * UNIT * norm_upper(H)

    def slope(self, y: NDArray) -> tuple[Callable, Callable, NDArray]:
        """Return ``(into, back, Z)``, see :meth:`Cone.slope`. `into` and `back` change to the basis
        of the eigenvectors of y and back; O(d^3).

        ``Z_ij`` is 1 if both eigenvalues are positive, 0 if neither is, and ``p/(p + n)`` for the
        eigenvalues p > 0 and -n <= 0 (Sun & Sun 2002).
        """
        values, vectors = eigh(y)
        positive = np.maximum(values, 0.0)
        negative = np.maximum(-values, 0.0)
        plus = np.maximum.outer(positive, positive)
        minus = np.maximum.outer(negative, negative)
        both = np.logical_and.outer(values > 0.0, values > 0.0)
        mixed = np.logical_xor.outer(values > 0.0, values > 0.0)
        Z = np.where(mixed, plus / (plus + minus + TINY), both)
        return lambda v: vectors.T @ v @ vectors, lambda v: _symmetric(vectors @ v @ vectors.T), Z

    def violation(self, x: NDArray) -> float:
        """Return the norm of the negative eigenvalues; O(d^3)."""
        return float(np.linalg.norm(np.minimum(np.linalg.eigvalsh(x), 0.0)))

    def feasible_error(self, x: NDArray) -> float:
        """Return a bound of the distance of a computed ``plus`` from the cone, the error bound of
        its split.
        """
        return self.split_error(x)


def eigh(H):
    """Return eigenvalues (ascending) and eigenvectors of a symmetric matrix. LAPACK ``dsyevd``
    computes them, or ``dsyev`` if the first does not converge.

    Raise a ``numpy.linalg.LinAlgError`` if neither converges.
    """
    with large_blas(len(H)):
        values, vectors, info = lapack.dsyevd(H, lower=1)
        if info != 0:
            values, vectors, info = lapack.dsyev(H, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the eigendecomposition of a symmetric matrix did not converge")
    return values, vectors


def _gram(vectors, values):
    root = vectors * np.sqrt(values)
    with large_blas(len(root)):
        return root @ root.T


def _symmetric(H):
    return 0.5 * (H + H.T)
