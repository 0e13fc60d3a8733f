"""Projected gradient with Barzilai-Borwein steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.point import Point
from safescreen.solvers.state import State

Jump = Callable[[Evaluation, float], "ElementLike | None"]


class Walk(NamedTuple):
    """What the method remembers between steps.

    Attributes
    ----------
    length : float or None
        Length of the last step.
    origin : pair or None
        The last x and the gradient at it.
    recent : tuple of float
        The last objective values.
    n_steps, n_halvings : int
        Number of steps so far, and number of halvings of the last step.
    is_guarded : bool
        Whether steps that raise the objective too far are halved.
    waited : int
        Number of iterations, without halvings of steps, since the gap was last halved.
    counted_at, halved_at : int
        The iteration at which `waited` was counted, and the iteration at which the gap was halved.
    """

    length: float | None
    origin: tuple[ElementLike, ElementLike] | None = None
    recent: tuple[float, ...] = ()
    n_steps: int = 0
    n_halvings: int = 0
    is_guarded: bool = False
    waited: int = 0
    counted_at: int = 0
    halved_at: int = 0

    def at(self, state: State) -> Walk:
        """Return the walk with an updated number of iterations since the gap was last halved."""
        waited = 0
        if state.fall.halved_at == self.halved_at:
            waited = self.waited + state.n_iter - self.counted_at
        return self._replace(waited=waited, counted_at=state.n_iter, halved_at=state.fall.halved_at)

    def forgetting(self) -> Walk:
        """Return the walk without the last point and the recent objective values."""
        return self._replace(origin=None, recent=())


@dataclass(frozen=True)
class ProjectedGradient:
    """Projected gradient: ``x <- [x - s gradient]_K`` (STS19 section 7).

    The length s of a step is the mean of the two Barzilai-Borwein lengths,
    ``|<dx,dg>/<dg,dg> + <dx,dx>/<dx,dg>|/2``, and steps are not checked as long as the gap keeps
    falling. After `patience` iterations that did not halve the gap, the method restarts from the
    best point with guarded steps: a step is halved while the objective exceeds its recent maximum.
    With guarded steps the method converges from any start.

    Cost of a step: one projection, O(d^3) over the semidefinite cone.

    Attributes
    ----------
    memory : int
        A guarded step may not exceed the maximum of this many recent objective values (nonmonotone
        line search).
    halvings : int
        Largest number of halvings of a guarded step.
    patience : int
        Number of iterations to wait until the gap is halved. Once steps are guarded, five times as
        many.
    hopeless : int
        The solver gives up after this many iterations that did not lower the gap by a hundredth, if
        most of the gap is rounding.
    """

    memory: int = 10
    halvings: int = 30
    patience: int = 40
    hopeless: int = 1000

    needs = ()
    pace = None

    def init(self, problem: Problem, state: State) -> tuple[Point, Walk]:
        """Begin at the point of the state."""
        return state.point._replace(alpha=None), Walk(state.point.step)

    def step(
        self, problem: Problem, state: State, own: Walk, jump: Jump | None = None
    ) -> tuple[Point, Walk] | None:
        """Take one step. If ``jump(evaluation, s)`` returns a result, it replaces the gradient
        step.
        """
        e = state.evaluation
        if own.origin is not None and self._is_too_high(e, own):
            back = own.origin[0]
            halfway = back + 0.5 * (e.x - back)
            halved = own._replace(n_halvings=own.n_halvings + 1, counted_at=state.n_iter + 1)
            return Point(halfway, iterations=1, step=own.length), halved
        if state.n_iter - state.fall.fell_at >= self.hopeless and state.is_rounding:
            return None
        own = own.at(state)
        if own.waited >= self.patience * (5 if own.is_guarded else 1):
            e = state.best
            own = own.forgetting()._replace(is_guarded=True, waited=0)
        gradient = e.gradient
        length = _length(problem.cone, own, e.x, gradient, e.lam)
        ahead = None if jump is None else jump(e, length)
        if ahead is None and length == 1.0 / e.lam:
            ahead = e.x_alpha
        elif ahead is None:
            ahead = problem.cone.project(e.x - length * gradient)
        following = own._replace(
            length=length,
            origin=(e.x, gradient),
            recent=(*own.recent[1 - self.memory :], e.primal),
            n_steps=own.n_steps + 1,
            n_halvings=0,
        )
        return Point(ahead, iterations=1, step=length), following

    def reduce(self, problem: Problem, own: Walk, kept: Any) -> Walk:
        """Forget what is valid for the larger problem only."""
        return own.forgetting()

    def _is_too_high(self, e, own):
        if not (own.is_guarded and own.recent) or own.n_halvings >= self.halvings:
            return False
        return e.primal > max(own.recent) * (1.0 + 1e-14)


def _length(cone, own, x, gradient, lam):
    """Return the length of the next step; see :class:`ProjectedGradient`."""
    if own.origin is None:
        return 1.0 / lam if own.length is None else own.length
    dx = x - own.origin[0]
    dg = gradient - own.origin[1]
    xx = cone.inner(dx, dx)
    xg = cone.inner(dx, dg)
    gg = cone.inner(dg, dg)
    if xg <= 0.0 or gg == 0.0:
        return 1.0 / lam
    return 0.5 * (xg / gg + xx / xg)
