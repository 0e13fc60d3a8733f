"""A working set around another solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen.problem import Problem
from safescreen.solvers.point import Point
from safescreen.solvers.projected_gradient import ProjectedGradient, Walk
from safescreen.solvers.state import State


class Active(NamedTuple):
    """What the looks remember: the walk of the solver, the terms of the working set, and the lowest
    objective, on all terms, of any look.
    """

    walk: Walk
    members: NDArray
    lowest: float = np.inf


@dataclass(frozen=True)
class ActiveSet:
    """Iterate on terms with non-zero loss, and look at all of them each `freq` iterations
    (Weinberger & Saul 2009).

    The other terms count as zero between two looks. Optimality is always judged on all terms. Where
    the objective on all terms has not fallen no term leaves the working set, which would else go
    round in a circle. A set that has grown to all terms takes the steps of the solver.

    Attributes
    ----------
    solver : ProjectedGradient
    freq : int
    buffer : float
        Terms whose margin exceeds the threshold by less than this stay in the set, so that it does
        not change at every step.
    """

    solver: ProjectedGradient = ProjectedGradient()
    freq: int = 10
    buffer: float = 0.1

    needs = ()
    pace = None

    def init(self, problem: Problem, state: State) -> tuple[Point, Active]:
        """Begin as the solver does."""
        point, walk = self.solver.init(problem, state)
        return point, Active(walk, np.zeros(len(problem), dtype=np.bool_))

    def step(self, problem: Problem, state: State, own: Active) -> tuple[Point, Active] | None:
        """Take `freq` steps, all but the first with the active terms only; fewer where these are
        solved, or the time is up.
        """
        objective = state.evaluation.primal
        has_fallen = objective < own.lowest
        members = self._active(problem, state.evaluation.x)
        if not has_fallen:
            members |= own.members
        walk = own.walk
        most = min(self.freq, state.limits.max_iter - state.n_iter)
        active = problem
        if not has_fallen and members.all():
            most = 1
        else:  # objective values are of the active terms from here on
            walk = walk._replace(recent=())
            active = problem.reduce(np.zeros_like(members), ~members)
        following = self.solver.step(problem, state, walk)
        if following is None:
            return None
        point, walk = following
        n_steps = 1
        while n_steps < most and not state.is_late:
            inner = state.moved(active, point._replace(iterations=0))
            if state.limits.reached(inner.evaluation):
                break
            following = self.solver.step(active, inner, walk)
            if following is None:
                break
            point, walk = following
            n_steps += 1
        own = Active(walk, members, min(objective, own.lowest))
        return point._replace(iterations=n_steps, evaluation=None), own

    def reduce(self, problem: Problem, own: Active, kept: Any) -> Active:
        """Go on as the solver does, with what is left of the working set."""
        return Active(self.solver.reduce(problem, own.walk, kept), own.members[kept])

    def _active(self, problem, x):
        """Return which terms have a loss that is not zero at x, or near it."""
        terms = problem.terms
        is_active = np.zeros(len(problem), dtype=np.bool_)
        products = terms.inner_products(x)
        for start, stop in terms.chunks():
            margins = products.chunk(start, stop)[0]
            is_active[start:stop] = margins < terms.thresholds(start, stop) + self.buffer
        return is_active
