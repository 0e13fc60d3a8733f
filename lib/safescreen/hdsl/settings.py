"""The settings of a training by Frank-Wolfe."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from safescreen.hdsl.forward import FORWARD, exact


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked parameters of a :class:`~safescreen.hdsl.FrankWolfe`.

    Attributes
    ----------
    scale, forward, variant, line_search, loss, smoothing, batch
        The domain, how steps are computed, and what is minimised.
    max_iter, max_seconds, tol, check_every, patience
        When to stop; `max_seconds` is infinite without a limit.
    random_state, progress
        As for :class:`~safescreen.hdsl.FrankWolfe`.
    """

    scale: float
    forward: str
    variant: str
    line_search: str
    loss: str
    smoothing: float
    batch: int | None
    max_iter: int
    max_seconds: float
    tol: float | None
    check_every: int
    patience: int
    random_state: int | np.random.Generator
    progress: bool

    @classmethod
    def of(cls, solver: Any) -> Self:
        """Return a copy of the present settings of a solver."""
        return cls(**{field.name: getattr(solver, field.name) for field in fields(cls)})

    @property
    def is_exact(self) -> bool:
        """Whether the gap of an iteration is a certificate."""
        return FORWARD[self.forward] is exact and self.batch is None

    @property
    def goal(self) -> float:
        """The training may end at this gap; an iteration with a gap above it does not ask for the
        exact gap.
        """
        if self.tol is not None:
            return self.tol
        return -math.inf if self.is_exact else 0.0
