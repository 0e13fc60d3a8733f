"""How a problem is to be solved: one record of settings, checked once, and the state that a solve carries along."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from safescreen._checks import check_callback, check_count, check_scalar
from safescreen.rounding import sqrt_upper, upper
from safescreen.solvers.reduction import Test, parse_screening
from safescreen.solvers.solution import DualPoint, Iteration, Progress

__all__ = ["Descent", "Limits", "Settings"]


@dataclass(frozen=True)
class Limits:
    """When to stop: gap at most ``max(tol, rtol |P|)``, or after ``max_iter`` iterations."""

    tol: float
    rtol: float
    max_iter: int

    @classmethod
    def checked(cls, tol, rtol, max_iter):
        """Return the limits a user asks for."""
        tol, rtol = check_scalar(tol, "tol", low=0.0), check_scalar(rtol, "rtol", low=0.0)
        if tol == 0.0 and rtol == 0.0:
            raise ValueError("tol and rtol must not both be 0")
        return cls(tol, rtol, check_count(max_iter, "max_iter"))

    def goal(self, primal):
        """Return the gap to reach."""
        return max(self.tol, self.rtol * abs(primal))

    def reached(self, evaluation):
        """Return whether the gap at an evaluated point is small enough."""
        return evaluation.gap <= self.goal(evaluation.primal)

    def accuracy(self, primal, lam):
        """Return an upper bound of ``||x - x*||`` for any x whose gap they accept, when its objective is at most `primal`."""
        gap = max(self.tol, self.rtol * (1.0 + 4.0 * self.rtol) * abs(primal))
        return upper(sqrt_upper(2.0 * gap / lam), 8)

    def enlargement(self, evaluation):
        """Return by how much balls are enlarged so that any x the limits will accept lies in them too."""
        return upper(self.accuracy(evaluation.primal, evaluation.lam) + 2.0 * evaluation.x_error, 4)


@dataclass(frozen=True)
class Settings:
    """Everything a solver is told beside the problem.

    Attributes
    ----------
    limits : Limits
    tests : tuple of Test
        Screening while it is solved.
    freq : int
        Iterations from one screening to the next.
    active_set : bool
        Iterate on terms with non-zero loss only, between checks of all terms.
    callback : callable or None
        Gets a :class:`~safescreen.solvers.Progress`.
    keep_masks : bool
        Whether a solution keeps its masks.
    """

    limits: Limits
    tests: tuple[Test, ...] = ()
    freq: int = 10
    active_set: bool = False
    callback: Callable[[Progress], Any] | None = None
    keep_masks: bool = True

    @classmethod
    def checked(cls, prob, tol, rtol, max_iter, screening, freq, active_set=False, callback=None, keep_masks=True):
        """Return the settings a user asks for, for a problem."""
        limits, tests = Limits.checked(tol, rtol, max_iter), parse_screening(screening, prob)
        return cls(limits, tests, check_count(freq, "freq"), bool(active_set), check_callback(callback), bool(keep_masks))


@dataclass
class Descent:
    """State of a solve that survives the rounds it is split into.

    Attributes
    ----------
    x : element
        Current point; at the end of a solver the best one found.
    lam : float
    step : float or None
        Length of the last step.
    n_iter : int
    evaluation : Evaluation or None
        The problem that is left, at x.
    alpha : DualPoint or None
        Dual point of the whole problem that belongs to x, where it is not ``alpha(x)``.
    history : list of Iteration
    stopped : bool
        A callback has said so.
    """

    x: Any
    lam: float
    step: float | None = None
    n_iter: int = 0
    evaluation: Any = None
    alpha: DualPoint | None = None
    history: list = field(default_factory=list)
    stopped: bool = False
    started: float = field(default_factory=time.perf_counter)

    def record(self, reduction, evaluation, callback):
        """Append the state to the history, and show it to the callback."""
        counts = len(reduction.problem), reduction.n_L, reduction.n_R
        now = Iteration(self.n_iter, evaluation.primal, evaluation.gap, *counts, time.perf_counter() - self.started)
        self.history.append(now)
        if callback is not None and callback(Progress(x=evaluation.x, lam=self.lam, **now._asdict())):
            self.stopped = True
