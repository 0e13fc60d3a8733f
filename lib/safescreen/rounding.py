"""Bounds of rounding errors, in one place.

With the unit of roundoff ``u = 2**-53`` every floating-point operation returns its exact result
times ``1 + delta``, ``|delta| <= u``, unless it underflows. ``n`` such factors multiply to ``1 +
theta`` with ``|theta| <= gamma_n = n u / (1 - n u)`` (Higham, *Accuracy and Stability of Numerical
Algorithms*, Lemma 3.1), and a dot product of length ``n``, summed in any order, is off by at most
``gamma_n |x|'|y|``.

The functions below are themselves evaluated in floating point, so every bound is made a little too
large (:data:`SAFETY`). This factor covers the few operations that evaluate the bound, not the
errors of the bounded quantity.
"""

import math
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Element",
    "ElementLike",
    "FLOOR",
    "SAFETY",
    "TINY",
    "UNIT",
    "gamma",
    "magnitude",
    "norm",
    "norm_upper",
    "sqrt_upper",
    "upper",
]

UNIT = 2.0**-53
"""Unit roundoff of double precision."""

FLOOR = 1e-300
"""Absorbs what underflow can take away from a product."""

TINY = 2.0**-1022 * 2.0
"""Twice the smallest normal number: absorbs what underflow can take away from a bound."""

SAFETY = 1.0 + 64 * UNIT
"""Factor that makes the evaluation of a bound itself an upper bound."""


class Element:
    """Element of a space that is not an array, and computes its own norms. The class is no ABC,
    because instance checks of an ABC are slow.
    """

    space: Any
    """The space of the element; its method ``check(x, name)`` checks the element."""

    def norm(self) -> float:
        """Return the norm, as computed."""
        raise NotImplementedError

    def norm_upper(self) -> float:
        """Return an upper bound of the norm, rounding included."""
        raise NotImplementedError

    def magnitude(self) -> float:
        """Return a bound, in units of roundoff, of how far the element moves when each of its
        numbers is rounded once.
        """
        raise NotImplementedError


ElementLike: TypeAlias = Any
"""An element of the space of a problem: a float64 array of the shape of its cone, or an
:class:`Element`.
"""


def norm(x: ElementLike) -> float:
    """Return the norm of an element, as computed."""
    return x.norm() if isinstance(x, Element) else float(np.linalg.norm(x))


def gamma(n: float) -> float:
    """Return ``gamma_n = n u/(1 - n u)``, rounded up; ``inf`` once ``n u >= 1/2``.

    >>> gamma(2) > 2 * 2.0**-53
    True
    """
    nu = n * UNIT
    return math.inf if nu >= 0.5 else nu / (1.0 - nu) * SAFETY


def upper(value: Any, n_ops: int = 4) -> Any:
    """Return an upper bound of a non-negative exact value computed with ``n_ops`` roundings.

    >>> upper(1.0) > 1.0
    True
    """
    return value * (1.0 + gamma(n_ops)) * SAFETY + TINY


def sqrt_upper(value: float) -> float:
    """Return an upper bound of the square root of a number known to be at most ``value``.

    A ``value`` that is negative or NaN is no valid bound: NaN is returned, and a radius of NaN
    screens nothing.

    >>> sqrt_upper(4.0) >= 2.0
    True
    >>> math.isnan(sqrt_upper(-1e-30))
    True
    """
    if not value >= 0.0:
        return math.nan
    return upper(math.sqrt(value), 2)


def norm_upper(x: ElementLike) -> float:
    """Return an upper bound of the Euclidean (Frobenius) norm of the array `x`; O(size).

    If squares would overflow or underflow, the entries are scaled by their largest magnitude. An
    :class:`Element` computes its bound itself.

    >>> norm_upper(np.array([3.0, 4.0])) >= 5.0
    True
    """
    if type(x) is not np.ndarray:
        if isinstance(x, Element):
            return x.norm_upper()
        x = np.asarray(x)
    square = float(np.vdot(x, x))
    # no overflow; squares that underflow are far below the rounding of the other squares
    if 1e-250 < square < 1e280:
        return upper(math.sqrt(square), x.size + 2)
    scale = float(np.max(np.abs(x), initial=0.0))
    if scale == 0.0 or not math.isfinite(scale):
        return scale
    return upper(float(np.linalg.norm(x / scale)) * scale, 2 * x.size + 8)


def magnitude(x: ElementLike) -> float:
    """Return a bound, in units of roundoff, of how far `x` moves when each of its numbers is
    rounded once. The distance is in the norm of the space of `x`.

    For an array the bound is its norm. If the numbers are coefficients of elements that are not
    orthogonal, the bound can be much larger than the norm.

    >>> magnitude(np.array([3.0, 4.0])) >= 5.0
    True
    """
    return x.magnitude() if isinstance(x, Element) else norm_upper(x)
