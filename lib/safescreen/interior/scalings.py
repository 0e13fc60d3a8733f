"""Nesterov-Todd scalings: coordinates in which a point x of a cone and its slack S are equal.

``x = G X G'`` and ``S = G^-T X G^-1`` with the same diagonal X (Nesterov & Todd 1998); over the
non-negative orthant G is a diagonal matrix too. Directions scale like the points, and the equation
``x S = mu`` becomes symmetric. Elements in scaled coordinates are arrays of the shape of the cone;
`into` and `back` convert elements to and from vectors of coordinates in the basis of the system, in
which ``G'G`` is diagonal.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safescreen._cholesky import cholesky
from safescreen.cones import Cone


class SemidefiniteScaling:
    """Nesterov-Todd scaling of two positive definite matrices; O(d^3)."""

    def __init__(self, x: NDArray, S: NDArray):
        L = _lower_factor(x)
        R = _lower_factor(S)
        _, values, V = np.linalg.svd(R.T @ L)
        self.values = np.maximum(values, 1e-150)
        self.G = L @ V.T / np.sqrt(self.values)
        Q, scales, self._turn = np.linalg.svd(self.G)
        self.root = Q * scales
        self._inverse = (self._turn.T / scales) @ Q.T
        self._squares = scales * scales
        self._rows, self._columns = np.triu_indices(len(x))
        self._factors = np.where(self._rows == self._columns, 1.0, np.sqrt(2.0))

    @staticmethod
    def central(h: NDArray, lam: float, mu: float) -> tuple[NDArray, NDArray]:
        """Return the x and S inside the cone with ``lam x - S = h`` and ``x S = mu``."""
        values, Q = np.linalg.eigh(h)
        x, S = OrthantScaling.central(values, lam, mu)
        return (Q * x) @ Q.T, (Q * S) @ Q.T

    def ridge(self, lam: float) -> NDArray:
        """Return the diagonal matrix that the cone and the square norm add to the system, as a
        vector.
        """
        return 1.0 + lam * self._squares[self._rows] * self._squares[self._columns]

    def into(self, v: NDArray) -> NDArray:
        """Return the coordinates of an element of the space of slacks."""
        return self._vector(self.root.T @ v @ self.root)

    def back(self, y: NDArray) -> NDArray:
        """Return the element of the space of points that has the coordinates y."""
        M = np.empty(self.root.shape)
        M[self._rows, self._columns] = y / self._factors
        M[self._columns, self._rows] = M[self._rows, self._columns]
        M = self.root @ M @ self.root.T
        return 0.5 * (M + M.T)

    def turned(self, scaled: NDArray) -> NDArray:
        """Return the coordinates of a scaled element."""
        return self._vector(self._turn @ scaled @ self._turn.T)

    def scaled(self, dx: NDArray, dS: NDArray) -> tuple[NDArray, NDArray]:
        """Return a step of the point and a step of the slack, in scaled coordinates."""
        return self._inverse @ dx @ self._inverse.T, self.G.T @ dS @ self.G

    def longest(self, change: NDArray) -> float:
        """Return the length of the longest step along a scaled change that stays in the cone."""
        scale = 1.0 / np.sqrt(self.values)
        low = float(np.linalg.eigvalsh(scale[:, None] * change * scale)[0])
        return -1.0 / low if low < 0.0 else np.inf

    def products(self, dx: NDArray, dS: NDArray, length: float) -> NDArray:
        """Return the symmetric product of point and slack after a step of this length."""
        X = np.diag(self.values)
        product = (X + length * dx) @ (X + length * dS)
        return 0.5 * (product + product.T)

    def towards(self, mu: float, dx: NDArray, dS: NDArray) -> NDArray:
        """Return the sum of the scaled changes of point and slack that makes their product mu,
        including the second-order product of the given changes.
        """
        product = dx @ dS
        goal = mu * np.eye(len(self.values)) - np.diag(self.values**2)
        return self._divided(goal - 0.5 * (product + product.T))

    def correct(self, dx: NDArray, dS: NDArray, length: float, low: float, high: float) -> NDArray:
        """Return a correction of the sum of the scaled changes. It brings the eigenvalues of the
        product after the step back between `low` and `high`.
        """
        values, Q = np.linalg.eigh(self.products(dx, dS, length))
        change = back_between(values, low, high)
        return self._divided((Q * change) @ Q.T)

    def affine(self) -> NDArray:
        """Return the sum of the scaled changes that makes the product vanish, to first order."""
        return np.diag(-self.values)

    def _divided(self, product):
        return product / (0.5 * (self.values[:, None] + self.values))

    def _vector(self, M):
        return M[self._rows, self._columns] * self._factors


class OrthantScaling:
    """Nesterov-Todd scaling of two positive vectors; O(d)."""

    def __init__(self, x: NDArray, S: NDArray):
        self.values = np.sqrt(x * S)
        self.root = np.sqrt(x / S)
        if not min(self.values.min(), self.root.min()) > 0.0:
            raise np.linalg.LinAlgError("a coordinate has underflowed")

    @staticmethod
    def central(h: NDArray, lam: float, mu: float) -> tuple[NDArray, NDArray]:
        """As :meth:`SemidefiniteScaling.central`."""
        # the larger of lam x and S, and the smaller of both without cancellation
        large = 0.5 * (np.abs(h) + np.sqrt(h * h + 4.0 * lam * mu))
        small = lam * mu / large
        return np.where(h > 0.0, large, small) / lam, np.where(h > 0.0, small, large)

    def ridge(self, lam: float) -> NDArray:
        """As :meth:`SemidefiniteScaling.ridge`."""
        return 1.0 + lam * self.root * self.root

    def into(self, v: NDArray) -> NDArray:
        """As :meth:`SemidefiniteScaling.into`."""
        return self.root * v

    def back(self, y: NDArray) -> NDArray:
        """As :meth:`SemidefiniteScaling.back`."""
        return self.root * y

    def turned(self, scaled: NDArray) -> NDArray:
        """As :meth:`SemidefiniteScaling.turned`."""
        return scaled

    def scaled(self, dx: NDArray, dS: NDArray) -> tuple[NDArray, NDArray]:
        """As :meth:`SemidefiniteScaling.scaled`."""
        return dx / self.root, dS * self.root

    def longest(self, change: NDArray) -> float:
        """As :meth:`SemidefiniteScaling.longest`."""
        low = float((change / self.values).min())
        return -1.0 / low if low < 0.0 else np.inf

    def towards(self, mu: float, dx: NDArray, dS: NDArray) -> NDArray:
        """As :meth:`SemidefiniteScaling.towards`."""
        return (mu - self.values**2 - dx * dS) / self.values

    def correct(self, dx: NDArray, dS: NDArray, length: float, low: float, high: float) -> NDArray:
        """As :meth:`SemidefiniteScaling.correct`."""
        v = (self.values + length * dx) * (self.values + length * dS)
        return back_between(v, low, high) / self.values

    def affine(self) -> NDArray:
        """As :meth:`SemidefiniteScaling.affine`."""
        return -self.values


Scaling: TypeAlias = SemidefiniteScaling | OrthantScaling
"""Scaling of a semidefinite or of a non-negative cone."""


SCALINGS: dict[str | None, type[SemidefiniteScaling] | type[OrthantScaling]] = {
    "eigenvalues": SemidefiniteScaling,
    "entries": OrthantScaling,
}
"""Scalings by the value of :attr:`safescreen.cones.Cone.nonnegative`."""


def scaling_of(cone: Cone, x: NDArray, S: NDArray) -> Scaling:
    """Return the scaling of a point and a slack inside the cone."""
    return SCALINGS[cone.nonnegative](x, S)


def central(cone: Cone, h: NDArray, lam: float, mu: float) -> tuple[NDArray, NDArray]:
    """Return the x and S inside the cone with ``lam x - S = h`` and ``x S = mu``."""
    return SCALINGS[cone.nonnegative].central(h, lam, mu)


def identity(cone: Cone) -> NDArray:
    """Return the identity matrix, or the vector of ones."""
    return np.eye(cone.d) if cone.nonnegative == "eigenvalues" else np.ones(cone.d)


def back_between(products: NDArray, low: float, high: float) -> NDArray:
    """Return the changes that bring products back between `low` and `high`, each at least -high
    (Gondzio 1996).
    """
    return np.maximum(np.clip(products, low, high) - products, -high)


def _lower_factor(A):
    return np.tril(cholesky(np.array(A, order="F")))
