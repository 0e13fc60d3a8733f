"""A working set around another solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from safescreen.problem import Problem
from safescreen.solvers.point import Point
from safescreen.solvers.projected_gradient import ProjectedGradient, Walk
from safescreen.solvers.trace import Start, Trace


@dataclass(frozen=True)
class ActiveSet:
    """Iterate on terms with non-zero loss, and look at all of them each `freq` iterations
    (Weinberger & Saul 2009).

    The other terms count as zero between two looks. Optimality is always judged on all terms.

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

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Walk]:
        """Begin as the solver does."""
        return self.solver.init(problem, start, trace)

    def step(self, problem: Problem, trace: Trace, state: Walk) -> tuple[Point, Walk] | None:
        """Take `freq` steps, all but the first with the active terms only; fewer where these are
        solved, or the time is up.
        """
        # objective values are of the active terms from here on
        following = self.solver.step(problem, trace, replace(state, recent=()))
        if following is None:
            return None
        active = self._active(problem, trace.evaluation.x)
        point, state = following
        n_steps = 1
        most = min(self.freq, trace.limits.max_iter - trace.n_iter)
        while n_steps < most and not trace.is_late:
            inner = trace.moved(active, point._replace(iterations=0, others=0))
            if trace.limits.reached(inner.evaluation):
                break
            following = self.solver.step(active, inner, state)
            if following is None:
                break
            point, state = following
            n_steps += 1
        return point._replace(iterations=n_steps, evaluation=None), state

    def reduce(self, problem: Problem, state: Walk, kept: Any) -> Walk:
        """Go on as the solver does."""
        return self.solver.reduce(problem, state, kept)

    def _active(self, problem, x):
        """Return the problem of the terms whose loss at x, or near it, is not zero."""
        terms = problem.terms
        keep = np.zeros(len(problem), dtype=np.bool_)
        products = terms.inner_products(x)
        for start, stop in terms.chunks():
            margins = products.chunk(start, stop)[0]
            keep[start:stop] = margins < terms.thresholds(start, stop) + self.buffer
        return problem.reduce(np.zeros_like(keep), ~keep)
