"""Base class of all cones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from safescreen._checks import NO_NUMBERS, check_element
from safescreen.rounding import ElementLike, gamma, magnitude, norm, norm_upper


class Cone(ABC):
    """A closed convex cone in a Euclidean space of arrays of shape ``shape``.

    Code that computes with elements uses only ``+``, ``-``, products with numbers and the methods
    below, because an element need not be an array.

    Attributes
    ----------
    projection_error : float
        Bound of :meth:`feasible_error` for elements of norm 1.
    is_whole_space : bool
        Whether the cone constrains nothing.
    nonnegative : {"entries", "eigenvalues", None}
        The numbers of an element that must not be negative if the element lies in the cone; None if
        the cone constrains nothing, or something else. It selects the certificate of the
        semidefinite rule and the scaling of the interior-point method.
    """

    d: int
    is_whole_space: ClassVar[bool] = False
    nonnegative: ClassVar[str | None] = None
    projection_error: float = 0.0

    def __post_init__(self):
        if isinstance(self.d, NO_NUMBERS) or not isinstance(self.d, Integral):
            raise TypeError(f"d must be an int, got {type(self.d).__name__}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an element; ``(d,)`` if it is a vector."""
        return (self.d,)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates of an element in an orthonormal basis."""
        return self.d

    def zeros(self) -> ElementLike:
        """Return the zero element."""
        return np.zeros(self.shape)

    def inner(self, x: ElementLike, y: ElementLike) -> float:
        """Return the inner product of two elements."""
        return float(np.vdot(x, y))

    def norm(self, x: ElementLike) -> float:
        """Return the norm of an element."""
        return norm(x)

    def norm_upper(self, x: ElementLike) -> float:
        """Return an upper bound of the norm of an element, rounding included."""
        return norm_upper(x)

    def norm_lower(self, x: ElementLike) -> float:
        """Return a lower bound of the norm of an element, rounding included."""
        return max(self.norm(x) * (1.0 - gamma(x.size + 16)), 0.0)

    def inner_error(self, x: ElementLike, y: ElementLike) -> float:
        """Return a bound of the rounding error of :meth:`inner`."""
        return gamma(x.size + 2) * self.norm_upper(x) * self.norm_upper(y)

    def magnitude(self, x: ElementLike) -> float:
        """Return a bound of the error of an element whose numbers have each been rounded once, in
        units of roundoff.
        """
        return magnitude(x)

    def largest(self, x: ElementLike) -> float:
        """Return a size of an element, by which it can be scaled into the range of double
        precision. The size is 0 only for the zero element.
        """
        return float(np.abs(x).max())

    def ldexp(self, x: ElementLike, exponent: int) -> ElementLike:
        """Return ``2**exponent x``, exactly unless it underflows."""
        return np.ldexp(x, exponent)

    def check(self, x: Any, name: str = "x") -> ElementLike:
        """Return `x` as an element of the space. Raise a ValueError or TypeError if `x` is no
        element.
        """
        return check_element(x, self.shape, name)

    def project(self, H: ElementLike) -> ElementLike:
        """Return the nearest point of the cone, ``[H]_K``."""
        return self.split(H)[0]

    def with_sum(self, x: ElementLike, total: ElementLike) -> ElementLike:
        """Return x. In a space in which sums of terms are expensive, the returned x stores `total`,
        a known sum of terms, from which sums near x are computed; see :meth:`Terms.sum_near`.
        """
        return x

    @abstractmethod
    def split(self, H: ElementLike) -> tuple[ElementLike, ElementLike]:
        """Return ``(plus, minus)`` with ``H = plus - minus`` and ``plus = [H]_K``."""

    def split_error(self, H: ElementLike) -> float:
        """Return a bound of ``||plus - [H]_K||`` for the computed ``plus`` (the same holds for
        ``minus``); 0 if the split is exact.
        """
        return 0.0

    def slope(self, y: ElementLike) -> tuple[Callable, Callable, ElementLike]:
        """Return ``(into, back, Z)``: the derivative of :meth:`project` at y is
        ``v -> back(Z into(v))``, an elementwise product.

        This method serves cones that project each number by itself. Where the projection of a
        number has no derivative, 0 is taken.
        """
        return np.asarray, np.asarray, (self.project(y) != 0.0).astype(float)

    def violation(self, x: ElementLike) -> float:
        """Return ``||x - [x]_K||``, up to rounding; 0 over the whole space."""
        return 0.0

    def feasible_error(self, x: ElementLike) -> float:
        """Return a bound of the distance between the cone and an `x` that :meth:`split` has
        returned as ``plus``; 0 if the split is exact.
        """
        return 0.0

    def check_feasible(self, x: Any, name: str = "x") -> ElementLike:
        """Return `x` if it lies in the cone up to rounding, and raise a ValueError otherwise. The
        cost is one projection.
        """
        x = self.check(x, name)
        violation = self.violation(x)
        if violation > 2.0 * self.feasible_error(x):
            raise ValueError(
                f"{name} must lie in the {type(self).__name__}, found distance "
                f"{violation:.3g} from it; project it first"
            )
        return x
