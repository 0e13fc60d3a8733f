"""A solver with cheap steps, followed by a solver with expensive steps."""

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
    """The number of the active solver, and what this solver remembers."""

    number: int
    own: Any


@dataclass(frozen=True)
class Relay:
    """A cheap solver until it gives up, then an expensive solver from the best point. The expensive
    solver does not start if the gap of the best point is an allowance for rounding.

    With `early` the cheap solver also hands over if it is slow. Suppose that the cheap solver has
    taken n steps, that the gap has fallen by the factor ``exp(f)``, and that the gap still has to
    fall by the factor ``exp(g)``. At this pace the cheap solver takes ``n g/f`` more steps. Suppose
    that a solve by the expensive solver costs as much as N steps of the cheap solver. The expensive
    solver takes over when n is at least ``first N`` and ``n g/f`` exceeds ``half N``. The cheap
    solver takes over again if the expensive solver can make no more progress.

    Along a path, the expensive solver begins if it ended the solve for the last lam and N is at
    most `again`. If N is larger, screening during cheap steps makes the expensive steps cheaper.

    Attributes
    ----------
    cheap, dear : Solver
        The two solvers. With `early`, `dear` is an :class:`~safescreen.interior.InteriorPoint`,
        which says which problems it can solve, and the number N.
    early : bool
    first, half, again : float
    """

    cheap: Solver
    dear: Any
    early: bool = False
    first: float = 0.2
    half: float = 0.5
    again: float = 2000.0

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that the two solvers need."""
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
        """Begin with the cheap solver, or along a path with the solver that ended the last lam. If
        the cheap solver takes steps before its first point, limit their number to the steps after
        which it may hand over.
        """
        if self.early and self.dear.is_able(problem):
            worth = self.dear.worth(problem)
            if state.neighbour.solver == type(self.dear).__name__ and worth <= self.again:
                return self._on(1, self.dear.init(problem, state))
            most = state.n_iter + math.ceil(self.first * worth)
            limits = replace(state.limits, max_iter=min(most, state.limits.max_iter))
            state = state._replace(limits=limits)
        return self._on(0, self.cheap.init(problem, state))

    def step(self, problem: Problem, state: State, own: Leg) -> tuple[Point, Leg] | None:
        """Take a step of the active solver. Return None if rounding prevents any further
        progress.
        """
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
        """Let the active solver continue with the remaining terms."""
        solver = self._legs[own.number]
        return Leg(own.number, solver.reduce(problem, own.own, kept))

    def _on(self, number, following):
        """Return the next point with the name of its solver, and a leg with the number of that
        solver.
        """
        point, own = following
        name = type(self._legs[number]).__name__
        return point._replace(solver=name), Leg(number, own)

    def _goes_over(self, problem, state):
        """Return whether the expensive solver takes over now, before the cheap solver gives up."""
        if not self.early or not self.dear.is_able(problem):
            return False
        worth = self.dear.worth(problem)
        if state.n_iter < self.first * worth:
            return False
        now = math.log(max(state.best.gap, TINY))
        fallen = math.log(state.history[0].gap) - now
        to_fall = now - math.log(state.limits.goal(state.best.primal))
        return state.n_iter * to_fall > self.half * worth * fallen
