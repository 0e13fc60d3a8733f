"""An active-set method that takes the steps of another solver."""

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
    """What the method remembers between two passes over all terms: what the inner solver remembers,
    the mask of the working set, and the lowest objective on all terms so far.
    """

    walk: Walk
    members: NDArray
    lowest: float = np.inf


@dataclass(frozen=True)
class ActiveSet:
    """A method that iterates on the terms with a non-zero loss, and evaluates all terms every
    `freq` iterations (Weinberger & Saul 2009).

    Between two evaluations of all terms the loss of the other terms counts as zero. Optimality is
    always judged on all terms. While the objective on all terms does not fall, no term leaves the
    working set; otherwise the method could cycle. Once the set holds all terms, the method takes
    the steps of the inner solver.

    Attributes
    ----------
    solver : ProjectedGradient
    freq : int
    buffer : float
        Terms whose margin exceeds the threshold by less than this are in the set too, so that the
        set does not change at every step.
    """

    solver: ProjectedGradient = ProjectedGradient()
    freq: int = 10
    buffer: float = 0.1

    needs = ()
    pace = None

    def init(self, problem: Problem, state: State) -> tuple[Point, Active]:
        """Begin as the inner solver does."""
        point, walk = self.solver.init(problem, state)
        return point, Active(walk, np.zeros(len(problem), dtype=np.bool_))

    def step(self, problem: Problem, state: State, own: Active) -> tuple[Point, Active] | None:
        """Take up to `freq` steps: the first on all terms, the others on the active terms only.
        Stop earlier when the problem with the active terms is solved or the time is over.
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
        else:  # from now on the objective values are those of the active terms only
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
        """Let the inner solver continue with the remaining terms, and restrict the working set to
        them.
        """
        return Active(self.solver.reduce(problem, own.walk, kept), own.members[kept])

    def _active(self, problem, x):
        """Return the mask of the terms whose margin at x is below the threshold plus `buffer`."""
        terms = problem.terms
        is_active = np.zeros(len(problem), dtype=np.bool_)
        products = terms.inner_products(x)
        for start, stop in terms.chunks():
            margins = products.chunk(start, stop)[0]
            is_active[start:stop] = margins < terms.thresholds(start, stop) + self.buffer
        return is_active
