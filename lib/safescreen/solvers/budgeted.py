"""A solver until a rival would have been as cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from safescreen.problem import Problem
from safescreen.solvers.drive import Solver
from safescreen.solvers.interior import InteriorPoint
from safescreen.solvers.trace import Point, Start, Trace


@dataclass
class Contest:
    """The state of the solver of cheap steps, and whether its rival solved the neighbouring lam."""

    state: Any
    has_lost: bool


@dataclass(frozen=True)
class Budgeted:
    """A solver of cheap steps that gives up for a rival of dear ones.

    It gives up once it has cost as much as the rival would, and would cost as much again: then
    both together cost at most about twice what the better one alone does. Costs are counted
    operations; how many iterations are left follows from how fast the gap falls. Along a path the
    rival keeps what it has won: where it solved the neighbouring lam it goes on at once.

    Attributes
    ----------
    solver : Solver
    rival : InteriorPoint
    cold, warm : int
        Steps that the rival takes from anywhere, and from a point of a relative gap of at most
        its `near`.
    """

    solver: Solver
    rival: InteriorPoint
    cold: int = 20
    warm: int = 8

    @property
    def needs(self) -> tuple[str, ...]:
        """What the solver needs."""
        return self.solver.needs

    @property
    def pace(self) -> float | None:
        """That of the solver."""
        return self.solver.pace

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Contest]:
        """Begin as the solver does."""
        point, state = self.solver.init(problem, start, trace)
        return point, Contest(state, has_lost=start.expected > 0.0 and start.step is None)

    def step(self, problem: Problem, trace: Trace, state: Contest) -> tuple[Point, Contest] | None:
        """Take a step of the solver; None where the rival is to go on."""
        if self._is_beaten(problem, trace, state):
            return None
        following = self.solver.step(problem, trace, state.state)
        if following is None:
            return None
        point, state.state = following
        return point, state

    def reduce(self, problem: Problem, state: Contest, kept: Any) -> Contest:
        """Go on as the solver does."""
        state.state = self.solver.reduce(problem, state.state, kept)
        return state

    def _is_beaten(self, problem, trace, state):
        if state.has_lost:
            return self.rival.is_able(problem)
        n_iter = max(trace.n_iter, trace.expected)  # of this lam, or of the one before
        if n_iter < self.cold or not self.rival.is_able(problem):
            return False
        best = trace.best
        is_near = best.gap <= self.rival.near * abs(best.primal)
        price = (self.warm if is_near else self.cold) * self.rival.work(problem)
        if n_iter * problem.terms.work < price:
            return False
        left = trace.iterations_left(trace.limits.goal(best.primal))
        return left * problem.terms.work >= price
