"""The whole space: sample screening for support vector machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safescreen.cones.base import Cone


@dataclass(frozen=True)
class FreeSpace(Cone):
    """R^d without a constraint; projection is the identity.

    >>> FreeSpace(2).project(np.array([-1.0, 1.0])).tolist()
    [-1.0, 1.0]
    """

    d: int
    is_whole_space = True

    def split(self, H: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(H, 0)``; nothing is computed."""
        return H, np.zeros(self.shape)
