"""A solver with cheap steps, then one with expensive steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from safescreen.problem import Problem
from safescreen.rounding import TINY
from safescreen.solvers.point import Point
from safescreen.solvers.setup import Solver
from safescreen.solvers.state import State


class Leg(NamedTuple):
    """The number of the solver whose turn it is, and what this solver remembers."""

    number: int
    own: Any


@dataclass(frozen=True)
class Relay:
    """The cheap solver until it gives up, then the expensive one from the best point, unless the
    gap there is an allowance for rounding.

    With `early` the cheap solver also hands over where it is slow. Suppose that it has taken n
    steps, in which the gap has fallen by the factor ``exp(f)``, and that the gap has to fall by the
    factor ``exp(g)``. At this pace the cheap solver takes ``n g/f`` more steps. A solve by the
    expensive solver costs as much as N of them. The expensive solver takes over when n is at least
    ``first N`` and ``n g/f`` exceeds ``half N``. The cheap solver takes over again if rounding
    stops the expensive one.

    Attributes
    ----------
    cheap, dear : Solver
        With `early`, `dear` is an :class:`~safescreen.interior.InteriorPoint`, which knows which
        problems it can solve, and the number N of gradient steps.
    early : bool
    first, half : float
    """

    cheap: Solver
    dear: Any
    early: bool = False
    first: float = 0.2
    half: float = 0.5

    @property
    def needs(self) -> tuple[str, ...]:
        """What both solvers need."""
        return (*self.cheap.needs, *self.dear.needs)

    @property
    def pace(self) -> float | None:
        """The pace of the cheap solver."""
        return self.cheap.pace

    @property
    def _legs(self):
        legs = (self.cheap, self.dear)
        return (*legs, self.cheap) if self.early else legs

    def init(self, problem: Problem, state: State) -> tuple[Point, Leg]:
        """Begin with the cheap solver. If it takes steps before its first point, limit their number
        to the steps after which it may hand over.
        """
        if self.early and self.dear.is_able(problem):
            most = state.n_iter + math.ceil(self.first * self.dear.worth(problem))
            limits = replace(state.limits, max_iter=min(most, state.limits.max_iter))
            state = state._replace(limits=limits)
        return self._on(0, self.cheap.init(problem, state))

    def step(self, problem: Problem, state: State, own: Leg) -> tuple[Point, Leg] | None:
        """Take a step of the solver whose turn it is; return None where rounding allows none."""
        if state.ends_at_rounding:
            return None
        number = own.number
        following = None
        if number > 0 or not self._goes_over(problem, state):
            following = self._legs[number].step(problem, state, own.own)
        if following is None and number + 1 < len(self._legs) and not state.is_rounding:
            number += 1
            following = self._legs[number].init(problem, state.at_best())
        return None if following is None else self._on(number, following)

    def reduce(self, problem: Problem, own: Leg, kept: Any) -> Leg:
        """Reduce the solver whose turn it is."""
        solver = self._legs[own.number]
        return Leg(own.number, solver.reduce(problem, own.own, kept))

    def _on(self, number, following):
        """Return a point with the name of its solver, and a leg with its number."""
        point, own = following
        name = type(self._legs[number]).__name__
        return point._replace(solver=name), Leg(number, own)

    def _goes_over(self, problem, state):
        """Return whether the expensive solver takes over before the cheap one gives up."""
        if not self.early or not self.dear.is_able(problem):
            return False
        worth = self.dear.worth(problem)
        if state.n_iter < self.first * worth:
            return False
        now = math.log(max(state.best.gap, TINY))
        fallen = math.log(state.history[0].gap) - now
        to_fall = now - math.log(state.limits.goal(state.best.primal))
        return state.n_iter * to_fall > self.half * worth * fallen
