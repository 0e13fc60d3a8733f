"""Screen with the same tests when the gap has fallen by a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from safescreen.solvers.reduction import Test
from safescreen.solvers.state import Look
from safescreen.terms.base import Terms


@dataclass(frozen=True)
class WhenFallen:
    """The policy that screens when the gap is less than `factor` times the gap of the last
    screening, and at least `pause` iterations have passed since.

    The radius of a ball is proportional to the root of the gap, so it shrinks by the root of
    `factor` between two screenings. The policy is for solvers with few iterations, each of which
    costs as much as screening. A pause keeps a solve that ends after a few iterations from
    screening shortly before its end.
    """

    use: tuple[Test, ...]
    factor: float = 0.3
    pause: int = 0

    def tests(self, now: Look, then: Look, terms: Terms) -> Iterable[Test]:
        """Return the tests if the gap has fallen far enough, and at the first point."""
        is_first = math.isinf(then.gap)
        has_paused = is_first or (now.n_iter or 0) - (then.n_iter or 0) >= self.pause
        return self.use if has_paused and now.gap < self.factor * then.gap else ()
