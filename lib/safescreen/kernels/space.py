"""The feature space of a kernel. Its elements are expansions in the samples, known only through the
kernel matrix.

With ``Q = diag(y) K diag(y)`` the inner products of the elements ``z_i = y_i phi(x_i)``, all that
is needed of ``w = sum_j c_j z_j`` follows from its coefficients c and its image ``Q c``:
``<z_i, w> = (Q c)_i`` and ``<w, w> = c'Q c`` (SSS14 section IV-D). The image of a sum or multiple
of expansions is the sum or multiple of their images, so only new coefficients cost a product with
Q. Coefficients that differ from known ones in k entries cost k columns of Q
(:meth:`KernelSpace.expansion`). If the matrix is not in memory, an image is computed only at the
samples where it is needed; :meth:`Expansion.known_at` returns another expansion with the image at
more samples.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_element
from safescreen.cones.base import Cone
from safescreen.kernels.matrices import GivenMatrix, KernelRows
from safescreen.rounding import TINY, UNIT, Element, gamma, sqrt_upper, upper

DRIFT = 8.0
"""Largest error of an updated image, relative to the error of a fresh product."""

WORN = 32.0
"""Largest error of the image of H in a step, relative to the error of a fresh product."""


@dataclass(frozen=True, eq=False, repr=False)
class Expansion(Element):
    """An element ``w = sum_j c_j z_j`` of a :class:`KernelSpace`; the stored coefficients are
    exact.

    Sums, differences and multiples by numbers cost O(n). :meth:`KernelSpace.expansion` makes
    expansions.

    Attributes
    ----------
    space : KernelSpace
    coef : array of shape (n,)
        Coefficients c.
    image : array of shape (n,)
        Computed inner products ``<z_i, w>``. They are NaN at samples where they have not been
        needed, see :meth:`known_at`.
    error : float
        ``|image_i - <z_i, w>| <= ||z_i|| error`` for all entries of `image` that are not NaN.
    scale : float
        At least ``sum_j ||z_j|| |c_j|``, and so at least ``||w||``.
    near : Expansion, optional
        The sum of which this element is a multiple, as ``H(alpha)/lam`` is a multiple of
        ``H(alpha)``. Sums for nearby dual points are computed from `near`.

    Notes
    -----
    Let ``c = fl(a + b)`` and S its scale. Rounding the coefficients moves the exact image of i by
    at most ``||z_i|| u S``, rounding its image by ``u |image_i| <= ||z_i|| u (S + error)``: hence
    ``error = error_a + error_b + 2 u S``, and ``|t| error_a + 2 u S`` for a multiple, up to a
    factor ``1 + u``.

    Examples
    --------
    >>> import safescreen as ss
    >>> space = ss.KernelSamples([[2.0, 1.0], [1.0, 2.0]], [1, -1]).cone
    >>> w = 2.0 * space.expansion([1.0, 1.0]) - space.expansion([1.0, 0.0])
    >>> w.coef.tolist(), w.image.tolist(), space.inner(w, w)
    ([1.0, 2.0], [0.0, 3.0], 6.0)
    """

    space: KernelSpace
    coef: np.ndarray
    image: np.ndarray
    error: float
    scale: float
    near: Expansion | None = None

    __array_ufunc__ = None  # numpy scalars leave the arithmetic to this class

    def __array__(self, dtype=None, copy=None):
        return np.array(self.coef, dtype=dtype, copy=copy)

    def __copy__(self):
        near = copy.copy(self.near)
        return replace(self, coef=self.coef.copy(), image=self.image.copy(), near=near)

    def __len__(self):
        return self.coef.size

    def __repr__(self):
        return f"<expansion in {np.count_nonzero(self.coef)} of {len(self)} samples>"

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.coef.size

    @property
    def shape(self) -> tuple[int]:
        """Shape of the coefficients."""
        return self.coef.shape

    def known_at(self, ids: NDArray | None = None) -> Expansion:
        """Return the same element with an image that is known at the samples with the numbers
        `ids`, or at all samples if `ids` is None.

        Missing values are computed, and have another error. The error of the result is the larger
        of the two errors.
        """
        values = self.image if ids is None else self.image[ids]
        if not math.isnan(float(values.sum())):  # much faster than a mask
            return self
        missing = np.flatnonzero(np.isnan(values))
        if not missing.size:
            return self
        missing = missing if ids is None else ids[missing]
        used = np.flatnonzero(self.coef)
        image = self.image.copy()
        image[missing] = self.space.product(used, self.coef[used], missing)[missing]
        error = max(self.error, self.space.product_error(used.size, self.scale))
        return replace(self, image=image, error=error)

    def norm(self) -> float:
        """Return the computed ``||w||``; O(n)."""
        return math.sqrt(max(self.space.inner(self, self), 0.0))

    def norm_upper(self) -> float:
        """Return an upper bound of ``||w||``; NaN if the kernel matrix turns out to be indefinite.
        O(n).
        """
        return self._bounds()[1]

    def norm_lower(self) -> float:
        """Return a lower bound of ``||w||``; O(n)."""
        return self._bounds()[0]

    def magnitude(self) -> float:
        """Return `scale`: the unit of roundoff times this number bounds how far rounding the
        coefficients moves the element.
        """
        return self.scale

    def _bounds(self):
        if not self.scale < 1e120:
            if not math.isfinite(self.scale):
                return 0.0, self.scale
            exponent = math.frexp(self.scale)[1]
            low, high = self.space.ldexp(self, -exponent)._bounds()
            return math.ldexp(low, exponent) * (1.0 - 2.0 * UNIT), upper(
                math.ldexp(high, exponent), 2
            )
        square = self.space.inner(self, self)
        # at least TINY, which no underflow exceeds, however small the element is
        error = self.space.inner_error(self, self)
        low = math.sqrt(max(square - error, 0.0)) * (1.0 - 4.0 * UNIT)
        return low, min(sqrt_upper(upper(square + error, 4)), self.scale)

    def _combine(self, operation, other):
        if not isinstance(other, Expansion):
            return NotImplemented
        if other.space is not self.space:
            raise ValueError(
                "elements must belong to one and the same space, got expansions of two "
                "kernel matrices"
            )
        coef = operation(self.coef, other.coef)
        scale = self.space.scale(coef)
        error = upper(self.error + other.error + 2.0 * UNIT * scale, 8)
        image = operation(self.image, other.image)
        near = other.near if self.near is None else self.near
        return Expansion(self.space, coef, image, error, scale, near)

    def _multiple(self, operation, number, factor):
        coef = operation(self.coef, number)
        scale = self.space.scale(coef)
        error = upper(factor * self.error + 2.0 * UNIT * scale + self.space.underflow, 8)
        image = operation(self.image, number)
        return Expansion(self.space, coef, image, error, scale, self.sum_near)

    @property
    def sum_near(self) -> Expansion:
        """The sum of which this element is a multiple, or the element itself if it is a sum."""
        return self if self.near is None else self.near

    @property
    def known_sums(self) -> tuple[Expansion, ...]:
        """The expansions from which sums near this element may be computed, with the best one
        first.
        """
        return (self,) if self.near is None else (self.near, self)

    def __add__(self, other):
        return self._combine(np.add, other)

    def __sub__(self, other):
        return self._combine(np.subtract, other)

    def __neg__(self):
        return Expansion(self.space, -self.coef, -self.image, self.error, self.scale)

    def __mul__(self, number):
        if isinstance(number, numbers.Real):
            return self._multiple(np.multiply, number, abs(float(number)))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, number):
        if isinstance(number, numbers.Real):
            return self._multiple(np.divide, number, 1.0 / abs(float(number)))
        return NotImplemented


class KernelSpace(Cone):
    """The feature space of n samples with a kernel matrix, as a cone without a constraint: the
    projection is the identity.

    Parameters
    ----------
    K : C-contiguous array of shape (n, n), or KernelRows
        Kernel matrix, or an object that computes its entries. It is not copied, and is assumed to
        be symmetric.
    signs : array of shape (n,)
        Labels -1.0 and 1.0.
    relative_error : float
        u with ``|K_ij - k(x_i, x_j)| <= u ||phi(x_i)|| ||phi(x_j)||`` for a kernel k that is
        exactly positive semidefinite.

    Attributes
    ----------
    norms : array of shape (n,)
        Upper bounds of ``||z_i||``.

    Notes
    -----
    The error of a product of Q with k coefficients of scale S is at most
    ``||z_i|| (gamma_k (1 + u) + u) S``, in any order of summation. The error of an updated image
    includes the error of the image from which it is computed. If the sum of errors exceeds eight
    times the error of a fresh image, the image is computed anew.
    """

    is_whole_space = True

    def __init__(self, K: NDArray | KernelRows, signs: NDArray, relative_error: float):
        self.K = K
        self.signs = signs
        self.relative_error = relative_error
        self.matrix = GivenMatrix(K) if isinstance(K, np.ndarray) else K
        self.norms = lengths(self.matrix.diagonal(), relative_error)
        positive = self.norms[self.norms > 0.0]
        total = float(self.norms.sum())
        self.underflow = TINY * (
            total + (positive.size / float(positive.min()) if positive.size else 0.0)
        )

    @property
    def shape(self) -> tuple[int]:
        """Shape of the coefficients, ``(n,)``."""
        return self.signs.shape

    def __repr__(self):
        return f"KernelSpace({self.signs.size} samples)"

    # ------------------------------------------------------------------ elements

    def scale(self, coef: NDArray, used: NDArray | slice = slice(None)) -> float:
        """Return an upper bound of ``sum_j ||z_j|| |c_j|`` over all samples, or over the samples
        `used`. The bound is 0 only for the zero element.
        """
        total = float(self.norms[used] @ np.abs(coef))
        return upper(total, coef.size + 4) if total != 0.0 or coef.any() else 0.0

    def zeros(self) -> Expansion:
        """Return the zero element."""
        return Expansion(self, np.zeros(self.shape), np.zeros(self.shape), 0.0, 0.0)

    def expansion(
        self, coef: ArrayLike, at: NDArray | None = None, known: Iterable[Expansion] = ()
    ) -> Expansion:
        """Return ``sum_j coef_j z_j``. It is computed from the nearest known expansion if that is
        cheaper and accurate enough; `coef` is copied.

        Cost: O(n) times the number of coefficients that are not 0, or that differ from the
        coefficients of the known expansion. If the matrix is not in memory, the image is computed
        at the samples `at` only.
        """
        coef = np.array(coef, dtype=np.float64)
        used = np.flatnonzero(coef)
        if used.size == 0:
            return self.zeros()
        nearest = min(known, key=partial(n_changes, coef), default=None)
        if nearest is not None and 2 * n_changes(coef, nearest) <= used.size:
            updated = self.updated(nearest, coef, at)
            if updated is not None:
                return updated
        scale = self.scale(coef)
        image = self.product(used, coef[used], at)
        return Expansion(self, coef, image, self.product_error(used.size, scale), scale)

    def updated(
        self, known: Expansion, coef: ArrayLike, at: NDArray | None = None
    ) -> Expansion | None:
        """Return the result of :meth:`expansion`, computed from a known expansion. Return None if
        its error would be too large.

        Cost: O(n) times the number of coefficients that differ."""
        coef = np.array(coef, dtype=np.float64)
        changed = np.flatnonzero(coef != known.coef)
        if changed.size == 0:
            return known
        scale = self.scale(coef)
        steps = coef[changed] - known.coef[changed]
        moved = self.scale(steps, changed)
        error = upper(
            known.error + self.product_error(changed.size + 2, moved) + 2.0 * UNIT * scale, 8
        )
        if not error <= DRIFT * self.product_error(np.count_nonzero(coef), scale):
            return None
        image = known.image + self.product(changed, steps, at)
        return Expansion(self, coef, image, error, scale)

    def drifted(self, x: Expansion) -> float:
        """Return the largest error that an element with the coefficients of x may have when it is
        computed from known expansions.
        """
        return DRIFT * self.product_error(np.count_nonzero(x.coef), x.scale)

    def product(self, used: NDArray, values: NDArray, at: NDArray | None = None) -> NDArray:
        """Return ``Q c``, where c has the coefficients `values` at the samples `used`. Entries at
        other samples than `at` may be NaN.
        """
        return self.signs * self.matrix.product(used, self.signs[used] * values, at)

    def product_error(self, n_used: int | np.integer, scale: float) -> float:
        """Return a bound of the error of a product, divided by the norm of the sample. `n_used` is
        the number of coefficients, and `scale` their scale.
        """
        u = self.relative_error
        return upper((gamma(n_used + 4) * (1.0 + u) + u) * scale + self.underflow, 8)

    # ------------------------------------------------------------------ what a cone offers

    def inner(self, x: Expansion, y: Expansion) -> float:
        """Return the inner product, computed from the image with the smaller error; O(n)."""
        return self._paired(x, y)[2]

    def inner_error(self, x: Expansion, y: Expansion) -> float:
        """Return a bound of the rounding error of :meth:`inner`; O(n)."""
        coef, image, _, error = self._paired(x, y)
        return upper(error + gamma(x.size + 4) * float(np.abs(coef) @ np.abs(image)), 8)

    def _paired(self, x, y):
        """Return the coefficients of one element and the image of the other, their product, and a
        bound of the error of the product due to the image. The choice makes this error small.
        Coefficients that are 0 need no image.
        """
        one, other = self._ordered(x, y)
        coef = one.coef
        image = other.image
        total = float(coef @ image)
        if math.isnan(total):
            used = np.flatnonzero(coef)
            known = other.known_at(used)
            if known.error > other.error:  # the other image may have the smaller error now
                return self._paired(one, known)
            coef = coef[used]
            image = known.image[used]
            total = float(coef @ image)
        return coef, image, total, one.scale * other.error

    @staticmethod
    def _ordered(x, y):
        return (x, y) if x.scale * y.error <= y.scale * x.error else (y, x)

    def norm_lower(self, x: Expansion) -> float:
        """Return a lower bound of the norm of an element, rounding included."""
        return x.norm_lower()

    def largest(self, x: Expansion) -> float:
        """Return the scale of an element. Return 0 also if the element is only the rounding error
        of larger elements.
        """
        return x.scale if x.scale > 1e-250 and x.error < 1e30 * x.scale else 0.0

    def ldexp(self, x: Expansion, exponent: int) -> Expansion:
        """Return ``2**exponent x``, exactly unless it underflows."""
        coef = np.ldexp(x.coef, exponent)
        image = np.ldexp(x.image, exponent)
        error = upper(math.ldexp(x.error, exponent) + self.underflow, 2)
        return Expansion(self, coef, image, error, self.scale(coef))

    def check(self, x: Any, name: str = "x") -> Expansion:
        """Return `x` if it is an expansion of this space; a vector of coefficients is expanded,
        which costs O(n) for each coefficient that is not 0.
        """
        if not isinstance(x, Expansion):
            return self.expansion(check_element(x, self.shape, name))
        if x.space is not self:
            raise ValueError(
                f"{name} must be an element of this space, got an expansion of another "
                "kernel matrix"
            )
        if not math.isfinite(x.scale + x.error):
            raise ValueError(f"{name} must be finite, got coefficients of total size {x.scale:g}")
        return x

    def with_sum(self, x: Expansion, total: Expansion) -> Expansion:
        """Return x with the information that sums near x are computed from `total`."""
        return replace(x, near=total.sum_near)

    def split(self, H: Expansion) -> tuple[Expansion, Expansion]:
        """Return ``(H, 0)``. If the error of the image of H has become too large, the image is
        computed anew.
        """
        if H.error > WORN * self.product_error(np.count_nonzero(H.coef), H.scale):
            H = self.expansion(H.coef, np.flatnonzero(~np.isnan(H.image)))
        return H, self.zeros()


def lengths(squares: NDArray, relative_error: float) -> NDArray:
    """Return upper bounds of norms from diagonal entries of a kernel matrix."""
    return np.sqrt(squares / (1.0 - relative_error)) * (1.0 + gamma(8))


def n_changes(coef: NDArray, known: Expansion) -> int:
    """Return the number of coefficients in which a sum differs from a known expansion."""
    return int(np.count_nonzero(coef != known.coef))
