"""One solver after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from safescreen.problem import Problem
from safescreen.solvers.drive import Solver
from safescreen.solvers.trace import Point, Start, Trace


@dataclass
class Turn:
    """Whose turn it is, and the state of that solver."""

    solver: Solver
    state: Any


@dataclass(frozen=True)
class Hybrid:
    """The first solver until it gives up, then the second one from the best point, unless its gap
    is an allowance for rounding.
    """

    first: Solver
    second: Solver

    @property
    def needs(self) -> tuple[str, ...]:
        """What both need."""
        return (*self.first.needs, *self.second.needs)

    @property
    def pace(self) -> float | None:
        """That of the first."""
        return self.first.pace

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Turn]:
        """Begin with the first solver."""
        point, state = self.first.init(problem, start, trace)
        return point, Turn(self.first, state)

    def step(self, problem: Problem, trace: Trace, state: Turn) -> tuple[Point, Turn] | None:
        """Take a step of the solver whose turn it is; none where an earlier solve has ended at
        what rounding allows.
        """
        if trace.starts_at_rounding:
            return None
        following = state.solver.step(problem, trace, state.state)
        if following is None and state.solver is self.first and not trace.is_rounding:
            state.solver = self.second
            following = self.second.init(problem, trace.best_start(), trace)
        if following is None:
            return None
        point, state.state = following
        return point, state

    def reduce(self, problem: Problem, state: Turn, kept: Any) -> Turn:
        """Go on as the solver whose turn it is does."""
        state.state = state.solver.reduce(problem, state.state, kept)
        return state
