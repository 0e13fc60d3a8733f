"""Screen with the same tests after a fixed number of iterations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from safescreen.solvers.reduction import Test
from safescreen.solvers.state import Look
from safescreen.terms.base import Terms


@dataclass(frozen=True)
class Every:
    """The policy that screens at the first point and every `freq` iterations (STS19 Algorithm 1).

    If the first point was screened before the solve, the balls would be nearly the same. It is
    screened again only if its gap is at most `fallen` times the gap at that time.
    """

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
