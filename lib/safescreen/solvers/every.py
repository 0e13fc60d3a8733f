"""Screen with the same tests every so many iterations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from safescreen.solvers.reduction import Test
from safescreen.solvers.state import Look
from safescreen.terms.base import Terms


@dataclass(frozen=True)
class Every:
    """Use the tests at the first point and every `freq` iterations (STS19 Algorithm 1).

    A first point that was screened before is not screened again, because the balls would be nearly
    the same, unless its gap is now less than `fallen` times the gap at that time."""

    use: tuple[Test, ...]
    freq: int = 10
    fallen: float = 0.5

    def tests(self, now: Look, then: Look, terms: Terms) -> Iterable[Test]:
        """Return the tests if `freq` iterations have passed."""
        if then.n_iter is None and now.n_iter == 0:
            is_due = now.gap <= self.fallen * then.gap
        else:
            is_due = (now.n_iter or 0) - (then.n_iter or 0) >= self.freq
        return self.use if is_due else ()
