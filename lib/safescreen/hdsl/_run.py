"""The loop of Frank-Wolfe: show the iterate, stop, record, step."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from safescreen._progress import progress_bar
from safescreen.hdsl.settings import Settings
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.hdsl.training import Directions, Iterate, Step, Training
from safescreen.records import Progress

ANEW = 500
"""Margins are computed anew after this many iterations, to remove accumulated rounding errors."""


class FrankWolfeIteration(NamedTuple):
    """The state before a step, and the step.

    Attributes
    ----------
    iteration : int
    objective, gap : float
        The mean loss, and the slope of the forward direction.
    n_atoms, n_features : int
        Number of active atoms, and number of features that they use.
    step : str
        "forward", "away", "drop" (an away step that removes its atom), "pairwise", "swap" (a
        pairwise step that removes its atom), or "none".
    size : float
        Length of the step.
    error : float
        The error that the monitor returned; nan if it was not called.
    seconds : float
        Seconds since the start.
    """

    iteration: int
    objective: float
    gap: float
    n_atoms: int
    n_features: int
    step: str
    size: float
    error: float
    seconds: float


class Best(NamedTuple):
    """The first similarity with the smallest error, this error, and the number of calls of the
    monitor since then.
    """

    similarity: SparseSimilarity | None = None
    error: float = math.inf
    stale: int = 0

    def after(self, similarity: SparseSimilarity, error: float) -> Self:
        """Return the record after another similarity."""
        if error < self.error:
            return self._replace(similarity=similarity, error=error, stale=0)
        return self._replace(stale=self.stale + 1)


class Shown(NamedTuple):
    """The results of monitor and callback: the best similarity; the error, nan without a monitor;
    and the reason to stop, "" if there is none.
    """

    best: Best
    error: float = math.nan
    reason: str = ""


@dataclass(frozen=True)
class Observers:
    """A monitor and a callback, which may be None.

    Attributes
    ----------
    training : Training
    monitor, callback : callable or None
    begun : float
        Clock at the start.
    """

    training: Training
    monitor: Callable[[SparseSimilarity], float] | None
    callback: Callable[[Progress], Any] | None
    begun: float

    def see(self, k: int, iterate: Iterate, gap: float, best: Best) -> Shown:
        """Call the monitor and the callback with an iterate, and return their results."""
        if self.monitor is None and self.callback is None:
            return Shown(best)
        training = self.training
        error = math.nan
        reason = ""
        if self.monitor is not None:
            error = float(self.monitor(training.similarity(iterate)))
            best = best.after(training.similarity(iterate), error)
            if best.stale >= training.settings.patience:
                reason = "stalled"
        if self.callback is not None:
            progress = Progress(
                iteration=k,
                x=training.similarity(iterate),
                primal=training.objective(iterate),
                gap=gap,
                n_terms=training.T,
                seconds=time.perf_counter() - self.begun,
                error=None if self.monitor is None else error,
            )
            if self.callback(progress):
                reason = "callback"
        return Shown(best, error, reason)


class Outcome(NamedTuple):
    """How a training ended.

    Attributes
    ----------
    iterate : Iterate
        The last iterate.
    best : SparseSimilarity or None
        The similarity with the smallest error; None if no monitor was called.
    history : list of FrankWolfeIteration
    reason : str
        "converged", "iterations", "time", "callback", "stalled" or "interrupted".
    """

    iterate: Iterate
    best: SparseSimilarity | None
    history: list[FrankWolfeIteration]
    reason: str


def run(
    training: Training,
    iterate: Iterate,
    monitor: Callable[[SparseSimilarity], float] | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Outcome:
    """Train from an iterate until there is a reason to stop, such as Ctrl-C."""
    settings = training.settings
    begun = time.perf_counter()
    observers = Observers(training, monitor, callback, begun)
    best = Best()
    history = []
    gap = math.inf
    goal = settings.goal
    last_exact = -settings.check_every
    try:
        with progress_bar(settings.progress, "Frank-Wolfe", total=settings.max_iter) as bar:
            for k in itertools.count():
                shown = Shown(best)
                if k and (k % settings.check_every == 0 or k == settings.max_iter):
                    shown = observers.see(k, iterate, gap, best)
                    best = shown.best
                reason = _reason_to_stop(settings, k, shown.reason, begun)
                if reason:
                    break
                directions = training.directions(iterate)
                gap = directions.gap
                objective = training.objective(iterate)
                asks = gap <= goal and k - last_exact >= settings.check_every
                if asks:
                    last_exact = k
                is_optimal = _is_optimal(training, iterate, directions, asks)
                if is_optimal:
                    step = Step(iterate, "none", 0.0)
                else:
                    step = training.step(iterate, directions)
                history.append(
                    FrankWolfeIteration(
                        iteration=k,
                        objective=objective,
                        gap=gap,
                        n_atoms=len(iterate.active),
                        n_features=iterate.active.n_features,
                        step=step.kind,
                        size=step.size,
                        error=shown.error,
                        seconds=time.perf_counter() - begun,
                    )
                )
                iterate = step.iterate
                bar.update()
                if is_optimal:
                    reason = "converged"
                    break
                if k % ANEW == ANEW - 1:
                    iterate = training.at(iterate.active)
    except KeyboardInterrupt:
        reason = "interrupted"
    return Outcome(iterate, best.similarity, history, reason)


def _reason_to_stop(settings: Settings, k: int, said: str, begun: float) -> str:
    """Return the reason to stop before an iteration, "" if there is none."""
    if k >= settings.max_iter:
        return "iterations"
    if said or not k or settings.max_seconds == math.inf:
        return said
    if time.perf_counter() - begun >= settings.max_seconds:
        return "time"
    return ""


def _is_optimal(training: Training, iterate: Iterate, directions: Directions, asks: bool) -> bool:
    """Return whether to end as converged. If the iteration `asks` for the exact gap, return whether
    this gap is within the tolerance. Otherwise return whether, with exact gaps, no direction
    decreases the objective.
    """
    settings = training.settings
    if not asks:
        return settings.is_exact and max(directions.gap, directions.away_gap) <= 0.0
    gap = directions.gap if settings.is_exact else training.exact_gap(iterate)
    return gap <= settings.goal
