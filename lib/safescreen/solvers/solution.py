"""What a solve returns."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from safescreen.rules import Screened

__all__ = ["Iteration", "Solution"]


class Iteration(NamedTuple):
    """State of a solver at one iteration."""

    iteration: int
    primal: float
    gap: float
    n_terms: int
    n_L: int
    n_R: int
    seconds: float


@dataclass(frozen=True)
class Solution:
    """Solution of a problem for one lam.

    Attributes
    ----------
    x : element of the cone
    alpha : array of shape (T,)
        Dual point; screened terms have exactly 0 or 1.
    lam : float
    gap : float
        Upper bound of the duality gap of the *whole* problem at (x, alpha), rounding included.
    primal, loss : float
        ``P(x; lam)`` and its loss term.
    n_iter : int
    converged : bool
    history : list of Iteration
    n_L, n_R : int
        How many terms were certified by screening to be in the linear and in the zero region.
    screened : Screened or None
        Which they were; None where a path did not keep the masks, or where blocks of terms are screened.
    step : float
        Last step length, a start for neighbouring problems.
    eps : float
        Upper bound of the distance of x from the exact solution.
    """

    x: np.ndarray
    lam: float
    gap: float
    primal: float
    loss: float
    n_iter: int
    converged: bool
    history: list = field(repr=False)
    n_L: int
    n_R: int
    eps: float
    step: float = field(repr=False)
    problem: Any = field(repr=False)
    packed: Any = field(default=None, repr=False)
    fractional: Any = field(default=None, repr=False)

    @property
    def alpha(self):
        """Dual point, shape (T,); computed from x on demand, ``alpha(x)``, except where the hinge needs a stored one."""
        if self.fractional is not None:
            return self.fractional.unpack()
        alpha = self.problem.alpha(self.x)
        screened = self.screened
        if screened is not None:
            alpha[screened.in_L] = 1.0
            alpha[screened.in_R] = 0.0
        return alpha

    @property
    def screened(self):
        """Masks of the screened terms, or None where they were not kept."""
        return None if self.packed is None else self.packed.unpack()

    @property
    def screening_rate(self):
        """Fraction of all terms that was screened."""
        return (self.n_L + self.n_R) / max(1, len(self.problem))


class PackedMasks:
    """Two masks in two bits a term."""

    def __init__(self, status):
        self._n = status.size
        self._L, self._R = np.packbits(status == 1), np.packbits(status == 2)

    def unpack(self):
        """Return the :class:`Screened` masks."""
        L, R = (np.unpackbits(bits, count=self._n).astype(np.bool_) for bits in (self._L, self._R))
        return Screened(L, R)


class PackedDual:
    """A dual point most of whose entries are 0 or 1: two bits a term and the fractional entries."""

    def __init__(self, alpha):
        self._n = alpha.size
        self._ones = np.packbits(alpha == 1.0)
        self._where = np.flatnonzero((alpha != 0.0) & (alpha != 1.0)).astype(np.int32)
        self._values = alpha[self._where]

    def unpack(self):
        """Return alpha, shape (T,)."""
        alpha = np.unpackbits(self._ones, count=self._n).astype(np.float64)
        alpha[self._where] = self._values
        return alpha
