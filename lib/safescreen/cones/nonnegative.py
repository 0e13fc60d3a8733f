"""The non-negative orthant: diagonal metrics (STS19 section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safescreen.cones.base import Cone
from safescreen.rounding import norm_upper


@dataclass(frozen=True)
class NonNegativeCone(Cone):
    """Vectors of R^d with no negative entry; projection takes ``max(x, 0)``, exactly.

    >>> NonNegativeCone(2).project(np.array([-1.0, 1.0])).tolist()
    [0.0, 1.0]
    """

    d: int
    nonnegative = "entries"

    def split(self, H: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(max(H, 0), max(-H, 0))``; O(d)."""
        return np.maximum(H, 0.0), np.maximum(-H, 0.0)

    def violation(self, x: NDArray) -> float:
        """Return the norm of the negative part, which is never 0 if an entry is negative."""
        return norm_upper(np.minimum(x, 0.0))
