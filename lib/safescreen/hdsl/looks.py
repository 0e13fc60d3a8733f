"""When Frank-Wolfe looks for features that no optimum uses, decided from counted operations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from safescreen.hdsl.constraints import Constraints

SCREENING = ("auto", "always", "none")


@dataclass
class Looks:
    """Decides before which iterations to look.

    A look has to be able to exclude something: at least an atom without any margins, which takes
    ``<G, M> < -sqrt(gap/smoothing)`` times the norm of the margins that matter. The gap has halved
    since the last look. With ``"auto"`` the iterations since the last look have also taken `share`
    times the operations of a look, and one iteration takes at least `least`. A look that finds
    nothing doubles `share` for the next.

    Attributes
    ----------
    mode : {"auto", "always", "none"}
    share : float
        Looks take at most one part in so many of all operations.
    least : float
        Operations of an iteration below which calls of compiled code cost more than what they
        compute.
    """

    mode: str
    share: float = 4.0
    least: float = 3e6
    last_gap: float = math.inf
    spent: float = 0.0
    wait: float = field(init=False)

    def __post_init__(self):
        self.wait = self.share

    def is_due(self, constraints: Constraints, gap, inner, norm) -> bool:
        """Say whether to look now, and count the iteration that follows.

        `gap` is that of the iteration, `inner` is ``-<G, M>``, `norm` the root of the mean of
        ``[u]^2`` over the smoothing, of the margins u that matter."""
        if self.mode == "none":
            return False
        work = constraints.iteration_work
        self.spent += work
        if not gap <= 0.5 * self.last_gap or not inner > math.sqrt(max(gap, 0.0)) * norm:
            return False
        if self.mode == "always":
            return True
        return work >= self.least and self.spent >= self.wait * look_work(constraints)

    def record(self, gap, n_excluded):
        """Note that there was a look at this gap, and how many features it excluded."""
        self.last_gap = gap
        self.spent = 0.0
        self.wait = self.share if n_excluded else 2.0 * self.wait


def look_work(constraints: Constraints) -> float:
    """Return an upper bound of the operations of a look: three products with the entries of X,
    and the rows of all features.
    """
    degrees = np.diff(constraints._near[0])
    colptr, points, _ = constraints._columns
    reached = np.add.reduceat(np.append(degrees[points], 0), colptr[:-1]) * (np.diff(colptr) > 0)
    lengths = np.diff(constraints.X.indptr)
    rows = np.minimum(reached, constraints.n) * float(lengths.mean())
    return 3.0 * constraints.search_work + 4.0 * float(rows.sum())
