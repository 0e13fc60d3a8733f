"""A solver of cheap steps, then one of dear steps."""

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
    """The number of the solver whose turn it is, and what that knows."""

    number: int
    own: Any


@dataclass(frozen=True)
class Relay:
    """The cheap solver until it gives up, then the dear one from the best point, unless its gap is
    an allowance for rounding.

    With `early` the cheap solver also hands over where it is slow. Say that it has taken n steps,
    in which the gap has fallen by the factor ``exp(f)``, and that it has to fall by ``exp(g)``. At
    this pace it takes ``n g/f`` steps more. The dear solver takes over where these are more than
    `half` of the steps that its own solve is worth, but not before n is `first` of them. The cheap
    solver takes back what rounding keeps the dear one from solving.

    Attributes
    ----------
    cheap, dear : Solver
        With `early`, `dear` is an :class:`~safescreen.interior.InteriorPoint`, which knows what it
        is able to solve, and how many gradient steps that is worth.
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
        """What both need."""
        return (*self.cheap.needs, *self.dear.needs)

    @property
    def pace(self) -> float | None:
        """That of the cheap solver."""
        return self.cheap.pace

    @property
    def _legs(self):
        legs = (self.cheap, self.dear)
        return (*legs, self.cheap) if self.early else legs

    def init(self, problem: Problem, state: State) -> tuple[Point, Leg]:
        """Begin with the cheap solver; where it takes steps for its first point it takes no more
        than it needs to be judged by.
        """
        if self.early and self.dear.is_able(problem):
            most = state.n_iter + math.ceil(self.first * self.dear.worth(problem))
            limits = replace(state.limits, max_iter=min(most, state.limits.max_iter))
            state = state._replace(limits=limits)
        return self._on(0, self.cheap.init(problem, state))

    def step(self, problem: Problem, state: State, own: Leg) -> tuple[Point, Leg] | None:
        """Take a step of the solver whose turn it is; none where rounding allows none."""
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
        """Continue as the solver whose turn it is does."""
        solver = self._legs[own.number]
        return Leg(own.number, solver.reduce(problem, own.own, kept))

    def _on(self, number, following):
        """Return a point and what is known with the number and the name of their solver."""
        point, own = following
        name = type(self._legs[number]).__name__
        return point._replace(solver=name), Leg(number, own)

    def _goes_over(self, problem, state):
        """Return whether the dear solver takes over although the cheap one has not given up."""
        if not self.early or not self.dear.is_able(problem):
            return False
        worth = self.dear.worth(problem)
        if state.n_iter < self.first * worth:
            return False
        now = math.log(max(state.best.gap, TINY))
        fallen = math.log(state.history[0].gap) - now
        to_fall = now - math.log(state.limits.goal(state.best.primal))
        return state.n_iter * to_fall > self.half * worth * fallen
