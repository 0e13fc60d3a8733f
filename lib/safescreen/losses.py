"""Losses with a zero region and a linear region: what safe screening needs.

The smoothed hinge is ``loss(u) = max_{0 <= a <= 1} a (1 - u) - gamma a^2/2``; the maximiser is ``alpha(u) = -loss'(u)``. It is
0 for ``u > 1``, quadratic in between and linear for ``u < 1 - gamma``. A term with threshold ``tau`` has ``loss(u - tau + 1)``.
"""

from dataclasses import dataclass

import numpy as np

from safescreen._checks import check_scalar

__all__ = ["Hinge", "SmoothedHinge"]


@dataclass(frozen=True)
class SmoothedHinge:
    """Smoothed hinge loss (STS19 equation 2.3); ``gamma = 0`` is the hinge.

    Parameters
    ----------
    gamma : float >= 0
        Width of the quadratic part, in units of the margin.

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

    def __post_init__(self):
        object.__setattr__(self, "gamma", check_scalar(self.gamma, "gamma", low=0.0))

    def value(self, u, tau=1.0):
        """Return ``loss(u - tau + 1)`` elementwise; shape of `u`."""
        slack = tau - np.asarray(u, dtype=float)
        a = self.alpha(u, tau)
        return np.maximum(a * (slack - 0.5 * self.gamma * a), 0.0)

    def alpha(self, u, tau=1.0):
        """Return ``-loss'``, in [0, 1], elementwise; for the hinge 1 below the threshold and 0 from it on."""
        slack = tau - np.asarray(u, dtype=float)
        if self.gamma == 0.0:
            return (slack > 0.0).astype(float)
        with np.errstate(over="ignore"):  # a subnormal gamma: the quotient may be infinite, its clip is 0 or 1
            return np.clip(slack / self.gamma, 0.0, 1.0)

    def conjugate(self, a, tau=1.0):
        """Return ``loss*(-a)`` elementwise: ``gamma a^2/2 - tau a`` on [0, 1], infinite outside."""
        a = np.asarray(a, dtype=float)
        inside = (a >= 0.0) & (a <= 1.0)
        return np.where(inside, a * (0.5 * self.gamma * a - tau), np.inf)


def Hinge():
    """Return the hinge loss ``max(0, 1 - u)``, the smoothed hinge with ``gamma = 0``.

    >>> Hinge() == SmoothedHinge(0)
    True
    """
    return SmoothedHinge(0.0)
