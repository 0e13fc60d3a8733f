"""The hinge: a proximal method over smoothed problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safescreen.losses import SmoothedHinge
from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.drive import drive
from safescreen.solvers.limits import Limits
from safescreen.solvers.line_search import best_multiple
from safescreen.solvers.point import Point
from safescreen.solvers.projected_gradient import ProjectedGradient
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.setup import Setup, Solver
from safescreen.solvers.state import State


@dataclass(frozen=True)
class Rounds:
    """What the method remembers: the solution of the last smoothed problem, the dual point (None if
    terms are not numbered one by one), the width of the next smoothed problem, the lowest gap, and
    the number of rounds since it decreased.
    """

    x: ElementLike
    alpha: NDArray | None
    width: float
    step: float | None
    lowest: float | None = None
    n_stalled: int = 0
    iterations: int = 0


@dataclass(frozen=True)
class ProximalHinge:
    """Proximal method of multipliers for the hinge. It is needed because gradient steps on the
    primal alone do not bring the gap of the hinge to zero.

    The dual is made strongly concave around the current dual point:
    ``max D(alpha) - g/2 ||alpha - alpha_k||^2`` is the dual of a smoothed problem: term t has the
    smoothed hinge of width g and the threshold ``tau_t + g alpha_k,t``. The dual solution of this
    problem is the next dual point. The iteration converges for any g (Rockafellar 1976), and every
    pair (x, alpha) of the iteration has a gap for the hinge problem itself. If dual variables are
    not stored one by one, g shrinks from round to round instead. At small lam a small violation
    costs much more than a slightly larger x. So the method takes the best multiple of x if its
    objective is lower than the objective of x.

    A step solves one smoothed problem. The smaller its width and lam are, the nearer the start has
    to be to the solution. So over a cone the first width grows with 1/lam, and from x = 0 the
    method first solves smoothed problems of falling width.

    Attributes
    ----------
    inner : Solver
        Solves the smoothed problems.
    width : float
        First width g.
    accuracy : float
        Gap at which a smoothed problem counts as solved, relative to the gap of the hinge.
    pace : float or None
        Named spheres are used again when the gap has fallen by this factor.
    narrower : float
        The factor by which the width shrinks when the gap falls too slowly.
    slow : float
        A round is too slow if the gap does not fall by this factor.
    narrowest : float
        The smallest width.
    stalled : int
        A solve ends after this many rounds without progress.
    widest, near, rough : float
        The smoothed problems that are solved first from x = 0: the first width divided by
        lam_max/lam, the last width divided by the first, and the relative gap of these problems.
    """

    inner: Solver = ProjectedGradient()
    width: float = 0.1
    accuracy: float = 0.02
    pace: float | None = 1.0
    narrower: float = 0.3
    slow: float = 0.95
    narrowest: float = 1e-6
    stalled: int = 30
    widest: float = 1e-4
    near: float = 0.1
    rough: float = 1e-2

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that the inner solver needs."""
        return self.inner.needs

    def init(self, problem: Problem, state: State) -> tuple[Point, Rounds]:
        """Solve the first smoothed problem."""
        start = state.point
        own = Rounds(x=start.x, alpha=start.alpha, width=self.width, step=start.step)
        if not problem.cone.is_whole_space:
            largest = self.widest * problem.lam_max() / state.lam
            if self.width < largest < np.inf:
                own = replace(own, width=max(self.width, self.near * largest))
                if own.alpha is None and problem.cone.norm(start.x) == 0.0:
                    own = self._come_near(problem, state, own, largest)
        alpha = own.alpha
        if not problem.terms.explicit:
            alpha = None
        elif alpha is None:
            alpha = np.full(len(problem), 0.5)
        own = replace(own, alpha=alpha)
        return self._solve(problem, state, own, state.limits.tol, rtol=1e-3)

    def step(self, problem: Problem, state: State, own: Rounds) -> tuple[Point, Rounds] | None:
        """Solve the next smoothed problem; return None after many rounds without progress."""
        gap = state.evaluation.gap
        is_slow = own.lowest is not None and not gap < self.slow * own.lowest
        has_stalled = own.lowest is not None and not gap < 0.99 * own.lowest
        n_stalled = own.n_stalled + 1 if has_stalled else 0
        if n_stalled >= self.stalled:
            return None
        width = own.width
        explicit = problem.terms.explicit
        if is_slow or not explicit:
            least = self.narrowest if explicit else 1e-3 * self.narrowest
            width = max(width * self.narrower, least)
        lowest = gap if own.lowest is None else min(gap, own.lowest)
        own = replace(own, width=width, lowest=lowest, n_stalled=n_stalled)
        best = state.best
        limits = state.limits
        least_gap = 10.0 * max(limits.tol, limits.rtol * abs(best.primal))
        return self._solve(problem, state, own, self.accuracy * max(best.gap, least_gap))

    def reduce(self, problem: Problem, own: Rounds, kept: Any) -> Rounds:
        """Continue with the remaining terms."""
        return own if own.alpha is None else replace(own, alpha=own.alpha[kept])

    def _solve(self, problem, state, own, tol, rtol=0.0):
        """Solve the smoothed problem around the dual point. Its dual solution is the next dual
        point.
        """
        smoothed = around(problem, own.alpha, own.width)
        own = self._solve_smoothed(smoothed, state, own, tol, rtol)
        explicit = problem.terms.explicit
        alpha = smoothed.alpha(own.x) if explicit else None
        evaluation = evaluate_hinge(problem, own.x, state.lam, alpha, own.width)
        point = Point(
            evaluation.x,
            iterations=own.iterations,
            alpha=alpha,
            width=0.0 if explicit else own.width,
            evaluation=evaluation,
            step=own.step,
        )
        return point, replace(own, alpha=alpha, iterations=0)

    def _solve_smoothed(self, smoothed, state, own, tol, rtol):
        """Solve one smoothed problem, starting from the last solution. Return `own` with the new
        solution.
        """
        left = state.limits_left
        limits = Limits(tol, rtol, left.max_iter - own.iterations, left.max_seconds)
        start = State.begin(Point(own.x, step=own.step), state.lam, limits)
        last = drive(Reduction(smoothed), Setup(limits=limits, solver=self.inner), start)
        iterations = own.iterations + last.n_iter
        return replace(own, x=last.evaluation.x, step=last.point.step, iterations=iterations)

    def _come_near(self, problem, state, own, largest):
        """Solve smoothed problems of decreasing width, beginning with `largest`. Return `own` with
        the dual point of the last problem.
        """
        n_problems = int(np.ceil(np.log(largest / own.width) / -np.log(self.narrower)))
        rtol = max(self.rough, state.limits.rtol)
        for k in range(n_problems, -1, -1):
            smoothed = around(problem, None, own.width * self.narrower**-k)
            own = self._solve_smoothed(smoothed, state, own, state.limits.tol, rtol)
            if state.is_late:
                break
        return replace(own, alpha=smoothed.alpha(own.x)) if problem.terms.explicit else own


def evaluate_hinge(problem, x, lam, alpha, width):
    """Return an evaluation of the hinge. If alpha is an array, the evaluation is at x or at the
    best multiple of x. If alpha is None, it is at x with ``alpha(x)`` of the smoothed hinge of the
    given width.
    """
    if alpha is None:
        return problem.assemble(problem.terms.hinge_sums(x, width), x, lam)
    at_x = problem.evaluate(x, lam, alpha)
    at_multiple = problem.evaluate(best_multiple(problem, x, lam), lam, alpha)
    return at_multiple if at_multiple.primal < at_x.primal else at_x


def around(problem: Problem, alpha: NDArray | None, width: float) -> Problem:
    """Return the smoothed problem. Its dual is the dual of the hinge with a proximal term around
    alpha, or around zero if alpha is None.
    """
    terms = problem.terms
    if alpha is not None:
        threshold = alpha * width
        threshold += terms.threshold
        terms = terms.with_threshold(threshold)
    return problem.with_terms(terms, SmoothedHinge(width))
