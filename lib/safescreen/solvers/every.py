"""Screen with the same tests each so many iterations."""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.solvers.named import Named
from safescreen.solvers.trace import Trace


@dataclass(frozen=True)
class Every(Named):
    """Use the tests at the first point and each `freq` iterations (STS19 Algorithm 1).

    A first point that has been screened already is passed over, unless its gap is less than
    `fallen` of what it was then: the balls would be nearly the same."""

    freq: int = 10
    fallen: float = 0.5

    def is_due(self, trace: Trace) -> bool:
        """Return whether `freq` iterations have passed."""
        last = trace.screened
        if last.n_iter is None and trace.n_iter == 0:
            return trace.evaluation.gap <= self.fallen * last.gap
        return trace.n_iter - (last.n_iter or 0) >= self.freq
