"""When Frank-Wolfe looks for features that no optimum uses, decided from counted operations."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from safescreen.hdsl.constraints import Costs
from safescreen.hdsl.screening import SCREENED_LOSSES
from safescreen.hdsl.settings import Settings

SCREENING = ("auto", "always", "none")


class Looks(NamedTuple):
    """The rule that says when to try screening, with the counts that it needs; it is immutable.

    The gap has to halve between two looks. With ``"auto"`` the iterations since the last look have
    also taken `share` times the operations of a look, and one iteration takes at least `least`. A
    look that finds nothing doubles that time for the next.

    Attributes
    ----------
    mode : {"auto", "always", "none"}
    share : float
        Looks take at most one part in so many of all operations.
    least : float
        Operations of an iteration below which calls of compiled code cost more than what they
        compute.
    last_gap : float
        Gap at the last look.
    work, spent : float
        Operations of the last iteration, and of all since the last look.
    wait : float
        How many times longer than `share` says the next look waits.
    """

    mode: str
    share: float = 4.0
    least: float = 3e6
    last_gap: float = math.inf
    work: float = 0.0
    spent: float = 0.0
    wait: float = 1.0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the looks that settings ask for. Those of "auto" need a gap that is a certificate
        in every iteration: that of the exact direction, of all constraints.
        """
        is_able = settings.is_exact and settings.loss in SCREENED_LOSSES
        return cls("none" if settings.screening == "auto" and not is_able else settings.screening)

    def after(self, costs: Costs, n_searched: int) -> Self:
        """Return the looks after an iteration whose direction computed so many rows; only "auto"
        counts.
        """
        if self.mode != "auto":
            return self
        work = costs.bounds + n_searched * costs.row
        return self._replace(work=work, spent=self.spent + work)

    def are_due(self, costs: Costs, gap: float) -> bool:
        """Return whether to look at the iterate of this gap."""
        if self.mode == "none" or not gap <= 0.5 * self.last_gap:
            return False
        is_paid = self.work >= self.least and self.spent >= self.share * self.wait * costs.look
        return self.mode == "always" or is_paid

    def record(self, gap: float, n_excluded: int) -> Self:
        """Return the looks after one at this gap, which excluded so many features."""
        wait = 1.0 if n_excluded else 2.0 * self.wait
        return self._replace(last_gap=gap, spent=0.0, wait=wait)
