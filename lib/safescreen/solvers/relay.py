"""A solver of cheap steps, then one of dear steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from safescreen.problem import Problem
from safescreen.solvers.point import Point
from safescreen.solvers.setup import Solver
from safescreen.solvers.trace import Start, Trace


class Leg(NamedTuple):
    """The number of the solver whose turn it is, and its state."""

    number: int
    state: Any


@dataclass(frozen=True)
class Relay:
    """The cheap solver until it gives up, then the dear one from the best point, unless its gap is
    an allowance for rounding.

    If `counted`, the cheap solver also hands over once it has cost as much as the dear one would,
    and would cost as much again: both together then cost at most about twice what the better one
    alone does, if the dear one takes no more steps than expected. Costs are counted operations; how
    many iterations are left follows from how fast the gap falls. Along a path the dear solver keeps
    what it has won: where it solved the neighbouring lam it goes on at once. The cheap one takes
    back what rounding keeps the dear one from solving.

    Attributes
    ----------
    cheap : Solver
    dear : Solver
        If `counted`, an :class:`~safescreen.interior.InteriorPoint`, which knows what its
        steps cost.
    counted : bool
    cold, warm : int
        Steps that the dear solver is expected to take from anywhere, and from a point of a relative
        gap of at most its `near`.
    """

    cheap: Solver
    dear: Any
    counted: bool = False
    cold: int = 20
    warm: int = 8

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
        return (self.cheap, self.dear, self.cheap) if self.counted else (self.cheap, self.dear)

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Leg]:
        """Begin with the cheap solver."""
        return self._on(0, self.cheap.init(problem, start, trace))

    def step(self, problem: Problem, trace: Trace, state: Leg) -> tuple[Point, Leg] | None:
        """Take a step of the solver whose turn it is; none where rounding allows none."""
        if trace.ends_at_rounding:
            return None
        number = state.number
        following = None
        if number > 0 or not self._is_beaten(problem, trace):
            following = self._legs[number].step(problem, trace, state.state)
        if following is None and number + 1 < len(self._legs) and not trace.is_rounding:
            number += 1
            following = self._legs[number].init(problem, trace.best_start(), trace)
        return None if following is None else self._on(number, following)

    def reduce(self, problem: Problem, state: Leg, kept: Any) -> Leg:
        """Continue as the solver whose turn it is does."""
        solver = self._legs[state.number]
        return Leg(state.number, solver.reduce(problem, state.state, kept))

    def _on(self, number, following):
        """Return a point and a state with the number and the name of their solver."""
        point, state = following
        name = type(self._legs[number]).__name__
        return point._replace(solver=name), Leg(number, state)

    def _is_beaten(self, problem, trace):
        """Return whether the dear solver is the cheaper way on."""
        if not self.counted:
            return False
        has_won = trace.start.solver == type(self.dear).__name__
        n_iter = max(trace.n_iter, trace.start.expected)  # of this lam, or of the one before
        if not (has_won or n_iter >= self.cold) or not self.dear.is_able(problem):
            return False
        if has_won:
            return True
        best = trace.best.evaluation
        is_near = best.gap <= self.dear.near * abs(best.primal)
        price = (self.warm if is_near else self.cold) * self.dear.work(problem)
        work = problem.terms.costs().evaluation
        if n_iter * work < price:
            return False
        return trace.iterations_left(trace.limits.goal(best.primal)) * work >= price
