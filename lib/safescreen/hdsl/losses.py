"""Losses of a margin for Frank-Wolfe, which are convex and differentiable (HDSL19 section 3.1 and
Remark 1).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from safescreen.losses import SmoothedHinge, SquaredHinge

LOSSES = {
    "smoothed_hinge": SmoothedHinge,
    "squared_hinge": SquaredHinge,
    "log_loss": None,
    "exponential": None,
}


@dataclass(frozen=True)
class MarginLoss:
    """A loss of margins u, given by its name. Here ``s = max(0, 1 - u)`` is the slack, and w the
    smoothing.

    "smoothed_hinge" is ``s^2/2w`` up to ``s = w`` and ``s - w/2`` beyond. "squared_hinge" is
    ``s^2/2w`` everywhere. "log_loss" is ``log(1 + e^-u)``, and "exponential" is ``e^-u``. The
    slopes of the last two losses are never 0, so every triplet counts in every iteration. With
    these losses nothing could be screened, so a :class:`~safescreen.Problem` does not offer them.

    Examples
    --------
    >>> loss = MarginLoss("log_loss")
    >>> margins = np.array([-1e6, 0.0])
    >>> loss.value(margins).round(3).tolist(), loss.alpha(margins).tolist()
    ([1000000.0, 0.693], [1.0, 0.5])
    """

    name: str = "smoothed_hinge"
    smoothing: float = 1.0

    @property
    def code(self):
        """The number of the loss and its smoothing, for kernels."""
        return list(LOSSES).index(self.name), self.smoothing

    def value(self, u):
        """Return ``loss(u)`` elementwise; an entry that overflows is infinite."""
        if self.name == "log_loss":
            return np.logaddexp(0.0, -u)
        with np.errstate(over="ignore"):
            if self.name == "exponential":
                return np.exp(-u)
            return LOSSES[self.name](self.smoothing).value(u)

    def alpha(self, u):
        """Return ``-loss'(u)`` elementwise."""
        if self.name == "log_loss":
            return expit(-u)
        if self.name == "exponential":
            return self.value(u)
        return LOSSES[self.name](self.smoothing).alpha(u)

    def curvature(self, low):
        """Return the largest ``loss''`` for margins of at least `low`. HDSL19 Proposition 1 holds
        with this number in its constant ``L``.
        """
        if self.name == "log_loss":
            return float(expit(max(low, 0.0)) * expit(-max(low, 0.0)))
        return (
            float(self.value(np.array(low))) if self.name == "exponential" else 1.0 / self.smoothing
        )
