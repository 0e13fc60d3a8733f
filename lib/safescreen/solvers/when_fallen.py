"""Screen with the same tests when the gap has fallen by a factor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from safescreen.solvers.reduction import Test
from safescreen.solvers.state import Look
from safescreen.terms.base import Terms


@dataclass(frozen=True)
class WhenFallen:
    """Use the tests when the gap is less than `factor` times the gap at the last screening.

    The radius of a ball is the root of the gap, up to a factor: between two screenings it shrinks
    by the root of `factor`. This suits solvers that take few iterations, each as expensive as
    screening.
    """

    use: tuple[Test, ...]
    factor: float = 0.3

    def tests(self, now: Look, then: Look, terms: Terms) -> Iterable[Test]:
        """Return the tests if the gap has fallen that far."""
        return self.use if now.gap < self.factor * then.gap else ()
