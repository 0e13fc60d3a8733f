"""When a solve ends: a duality gap, a number of iterations, a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from safescreen._checks import check_count, check_scalar
from safescreen.problem import Evaluation
from safescreen.rounding import FLOOR, sqrt_upper, upper

RTOL = 1e-6
"""Relative gap to reach if neither `tol` nor `rtol` is given."""


@dataclass(frozen=True)
class Limits:
    """When to stop: at a gap of at most ``max(tol, rtol |P|)``, after ``max_iter`` iterations, or
    with the first iteration that ends after ``max_seconds``.
    """

    tol: float
    rtol: float
    max_iter: int
    max_seconds: float = math.inf

    @classmethod
    def checked(
        cls,
        tol: float | None,
        rtol: float | None,
        max_iter: int,
        max_seconds: float | None = None,
    ) -> Self:
        """Return the limits that a user asks for. A missing tolerance counts as 0; if both are
        missing, ``rtol`` is 1e-6. Without `max_seconds` no clock is read.
        """
        if tol is None and rtol is None:
            rtol = RTOL
        absolute = 0.0 if tol is None else check_scalar(tol, "tol", low=0.0)
        relative = 0.0 if rtol is None else check_scalar(rtol, "rtol", low=0.0)
        if absolute == 0.0 and relative == 0.0:
            raise ValueError(
                f"tol and rtol must not both be 0, got tol={tol} and rtol={rtol}; one left "
                "out counts as 0"
            )
        seconds = math.inf
        if max_seconds is not None:
            seconds = check_scalar(max_seconds, "max_seconds", low=0.0)
        return cls(
            tol=max(absolute, FLOOR),  # at an objective of 0 the gap is what underflow may lose
            rtol=relative,
            max_iter=check_count(max_iter, "max_iter"),
            max_seconds=seconds,
        )

    def goal(self, primal: float) -> float:
        """Return the gap to reach."""
        return max(self.tol, self.rtol * abs(primal))

    def reached(self, evaluation: Evaluation) -> bool:
        """Return whether the gap at an evaluated point is within the limits."""
        return bool(evaluation.gap <= self.goal(evaluation.primal))

    def accuracy(self, primal: float, lam: float) -> float:
        """Return an upper bound of ``||x - x*||`` for every x whose gap the limits accept and whose
        objective is at most `primal`.
        """
        gap = max(self.tol, self.rtol * (1.0 + 4.0 * self.rtol) * abs(primal))
        return upper(sqrt_upper(2.0 * gap / lam), 8)

    def enlargement(self, evaluation: Evaluation) -> float:
        """Return the number by which the radius of a ball is enlarged. The enlarged ball contains
        every x that the limits will accept.
        """
        return upper(self.accuracy(evaluation.primal, evaluation.lam) + 2.0 * evaluation.x_error, 4)

    def slope_enlargement(self, evaluation: Evaluation, smoothing: float) -> float:
        """Return the number by which the radius of a ball of slopes is enlarged. The enlarged ball
        contains the slopes at every x that the limits will accept, because their distance from the
        optimal slopes is at most ``sqrt(gap/smoothing)``.
        """
        lam = evaluation.lam
        accuracy = self.accuracy(evaluation.primal, lam)
        return upper(accuracy * sqrt_upper(upper(0.5 * lam / smoothing, 2)), 4)
