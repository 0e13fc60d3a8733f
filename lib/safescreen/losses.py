"""Losses with a zero region and, except for the squared hinge, a linear region. Safe screening uses
both regions.

All losses have the form ``loss(u) = max_{0 <= a <= cap} a (1 - u) - smoothing a^2/2``; the
maximiser is ``alpha(u) = -loss'(u)``. With ``cap = 1`` the loss is the smoothed hinge: it is 0 for
``u > 1``, linear for ``u < 1 - smoothing``, and quadratic in between. With ``cap = inf`` the loss
is the squared hinge, which has no linear region. A term with threshold ``tau`` has ``loss(u - tau +
1)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_scalar

__all__ = ["Hinge", "Loss", "SmoothedHinge", "SquaredHinge"]


class Loss:
    """Base class with the formulas of all losses. The formulas depend on `gamma` and on `cap`, the
    largest slope, which may be infinite.
    """

    gamma: float
    cap: float

    @property
    def smoothing(self) -> float:
        """Factor of ``a^2/2`` in the conjugate, gamma; 0 for a loss with a kink."""
        return self.gamma

    @property
    def width(self) -> float:
        """Width of the quadratic piece, ``smoothing cap``: the loss is linear for margins below
        ``tau - width``. The width is infinite if there is no linear region.
        """
        return self.smoothing * self.cap

    @property
    def has_linear_region(self) -> bool:
        """Whether the loss has a linear region, so that terms can be in L."""
        return math.isfinite(self.cap)

    def value(self, u: ArrayLike, tau: ArrayLike = 1.0) -> NDArray:
        """Return ``loss(u - tau + 1)`` elementwise; shape of `u`."""
        slack = np.subtract(tau, u, dtype=float)
        a = self.alpha(u, tau)
        return np.maximum(a * (slack - 0.5 * self.smoothing * a), 0.0)

    def alpha(self, u: ArrayLike, tau: ArrayLike = 1.0) -> NDArray:
        """Return ``-loss'``, in [0, cap], elementwise. For the hinge it is 1 below the threshold,
        and 0 at and above the threshold.
        """
        slack = np.subtract(tau, u, dtype=float)
        if self.smoothing == 0.0:
            return (slack > 0.0).astype(float)
        # with a subnormal smoothing the quotient may be infinite; clipping makes it 0 or cap
        with np.errstate(over="ignore"):
            return np.clip(slack / self.smoothing, 0.0, self.cap)

    def conjugate(self, a: ArrayLike, tau: ArrayLike = 1.0) -> NDArray:
        """Return ``loss*(-a)`` elementwise: ``smoothing a^2/2 - tau a`` on [0, cap], infinite
        outside.
        """
        a = np.asarray(a, dtype=float)
        inside = (a >= 0.0) & (a <= self.cap)
        return np.where(inside, a * (0.5 * self.smoothing * a - np.asarray(tau)), np.inf)


@dataclass(frozen=True)
class SmoothedHinge(Loss):  # numpydoc ignore=PR02
    """Smoothed hinge loss (STS19 equation 2.3); ``gamma = 0`` is the hinge.

    Parameters
    ----------
    gamma : float >= 0
        Width of the quadratic part, in units of the margin; the gamma of STS19.

    Attributes
    ----------
    smoothing, width : float
        Both are gamma.
    cap : float
        The largest slope, 1.

    Notes
    -----
    Conjugate: ``loss*(-a) = gamma a^2/2 - tau a`` on ``0 <= a <= 1``, infinite elsewhere.

    Examples
    --------
    >>> loss = SmoothedHinge(gamma=0.5)
    >>> loss.value([2.0, 1.0, 0.5, 0.0]).tolist()
    [0.0, 0.0, 0.25, 0.75]
    >>> loss.alpha([2.0, 1.0, 0.5, 0.0]).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    gamma: float = 0.05
    cap = 1.0

    def __post_init__(self):
        object.__setattr__(self, "gamma", check_scalar(self.gamma, "gamma", low=0.0))


@dataclass(frozen=True)
class SquaredHinge(Loss):  # numpydoc ignore=PR02
    """Squared hinge loss ``max(0, 1 - u)^2/(2 gamma)`` (STS19 section 6.3).

    The loss has no linear region, so no term is ever in L. Screening only finds terms in R,
    ``lam_max()`` is infinite, and a path needs its `lams`. Dual variables are ``alpha = max(0, 1 -
    u)/gamma``, not bounded by 1.

    Parameters
    ----------
    gamma : float > 0
        Inverse of the curvature.

    Attributes
    ----------
    smoothing : float
        Factor of ``a^2/2`` in the conjugate: gamma.
    cap, width : float
        Both are infinite.

    Notes
    -----
    All spheres stay valid, because their proofs use only convexity, Fenchel's inequality and
    ``alpha >= 0``.

    Examples
    --------
    >>> loss = SquaredHinge(gamma=0.5)
    >>> loss.value([2.0, 1.0, 0.5, 0.0]).tolist()
    [0.0, 0.0, 0.25, 1.0]
    >>> loss.alpha([2.0, 1.0, 0.5, 0.0]).tolist()
    [0.0, 0.0, 1.0, 2.0]
    """

    gamma: float = 1.0
    cap = math.inf

    def __post_init__(self):
        gamma = check_scalar(self.gamma, "gamma", low=0.0, open_low=True)
        if not math.isfinite(1.0 / gamma):
            raise ValueError(f"gamma must have a finite inverse, got {gamma:g}")
        object.__setattr__(self, "gamma", gamma)


def Hinge() -> SmoothedHinge:
    """Return the hinge loss ``max(0, 1 - u)``, the smoothed hinge with ``gamma = 0``.

    >>> Hinge() == SmoothedHinge(0)
    True
    """
    return SmoothedHinge(0.0)
