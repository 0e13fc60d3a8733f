"""Semismooth Newton steps between the steps of projected gradient, for terms over a cone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safescreen.problem import Evaluation, Problem
from safescreen.rounding import TINY, ElementLike
from safescreen.solvers.line_search import line_search
from safescreen.solvers.point import Point
from safescreen.solvers.projected_gradient import ProjectedGradient, Walk
from safescreen.solvers.state import State


class Curved(Protocol):
    """What Newton steps over a cone need of terms besides sums: the capability "curvature"."""

    def curvature(self, numbers: NDArray, width: float) -> Callable[[ElementLike], ElementLike]:
        """Return the function ``v -> sum_t w_t/width <a_t, v> a_t`` over some terms."""
        ...


@dataclass
class NewtonWalk:
    """What the method remembers.

    Attributes
    ----------
    walk : Walk
        The walk of the gradient steps.
    products : int
        Number of products that the last Newton step took.
    next : int
        Number of gradient steps, from the start, before the next Newton step is tried.
    wait : int
        Number of gradient steps to wait after a failed Newton step.
    origin : Evaluation or None
        The evaluation at which the last Newton step began.
    gap_before : float
        The lowest gap before the last Newton step.
    first_gap : float or None
        The gap of the first point.
    """

    walk: Walk
    products: int
    next: int
    wait: int = 1
    origin: Evaluation | None = None
    gap_before: float = math.inf
    first_gap: float | None = None


@dataclass(frozen=True)
class Semismooth:
    """Projected gradient with semismooth Newton steps in between when they are worth their cost.

    For a step length s, x solves the problem if there is a y with ``x = [y]_K`` and
    ``F(y) = (y - x)/s + lam x - H(alpha(x)) = 0`` (Robinson 1992). F is piecewise smooth. Let Z be
    the derivative of the projection (Sun & Sun 2002), J the slope of ``-H(alpha(x))`` at x, and
    ``w = Z dy`` the change of x. If Z is invertible, the Newton equation is
    ``((Z^-1 - I)/s + lam I + J) w = -F``, which is symmetric and positive definite. Conjugate
    gradients solve it. Their products are sums over the terms in C only (as in Zhao, Sun & Toh
    2010).

    If a Newton step lowers neither the objective nor the gap enough, the method goes back to the
    best point between the ends of the step. If this point is hardly beyond the start of the step,
    gradient steps follow before the next trial, twice as many as the last time. Cost of a step: two
    projections, and two sums over the terms in C per product.

    Attributes
    ----------
    gradient : ProjectedGradient
    first : int
        Gradient steps before the first Newton step.
    short : float
        A Newton step has failed if the line search shortens it to less than this fraction.
    steps : int
        Expected number of Newton steps. They are tried if the expected gradient steps cost more.
    usual : int
        Expected number of products for the first Newton step.
    accuracy : float
        Conjugate gradients end when the residual, relative to the first residual, is at most this.
    products : int
        Largest number of products that conjugate gradients take.
    """

    gradient: ProjectedGradient = ProjectedGradient()
    first: int = 3
    short: float = 0.01
    steps: int = 3
    usual: int = 20
    accuracy: float = 0.03
    products: int = 60

    needs = ("curvature",)
    pace = None

    def init(self, problem: Problem, state: State) -> tuple[Point, NewtonWalk]:
        """Begin with gradient steps."""
        point, walk = self.gradient.init(problem, state)
        return point, NewtonWalk(walk, products=self.usual, next=self.first)

    def step(
        self, problem: Problem, state: State, own: NewtonWalk
    ) -> tuple[Point, NewtonWalk] | None:
        """Take a Newton step or a gradient step, or shorten the last Newton step."""
        e = state.evaluation
        if own.first_gap is None:
            own.first_gap = e.gap
        origin = own.origin
        own.origin = None
        if origin is not None and not self._is_good(e, origin, own):
            return self._part(problem, e, origin, own)

        def jump(e, length):
            return self._jump(problem, state, own, e, length)

        following = self.gradient.step(problem, state, own.walk, jump)
        if following is None:
            return None
        point, own.walk = following
        return point, own

    def reduce(self, problem: Problem, own: NewtonWalk, kept: Any) -> NewtonWalk:
        """Forget the last Newton step, and let the gradient steps continue with the remaining
        terms.
        """
        own.walk = self.gradient.reduce(problem, own.walk, kept)
        own.origin = None
        return own

    def _is_good(self, e, origin, own):
        return e.primal < origin.primal or e.gap < 0.5 * own.gap_before

    def _part(self, problem, e, origin, own):
        """Go back to the best point between the ends of the last Newton step."""
        way = e.x - origin.x
        slack = problem.terms.threshold - problem.terms.margins(origin.x)
        t = line_search(problem, origin, slack, way)
        if t < self.short:
            own.next = own.walk.n_steps + own.wait
            own.wait *= 2
        else:
            own.wait = 1
        return Point(origin.x + min(t, 1.0) * way, step=own.walk.length), own

    def _jump(self, problem, state, own, e, length):
        """Return the result of a Newton step from an evaluated point, or None if a gradient step is
        to be taken.
        """
        n_steps = own.walk.n_steps
        if n_steps < own.next or not e.gap < math.inf:
            return None
        fallen = math.log(own.first_gap / e.gap)
        left = math.log(e.gap / max(state.limits.goal(e.primal), TINY))
        if n_steps * left <= 2 * self.steps * fallen:  # gradient steps are cheaper
            return None
        slack = problem.terms.threshold - problem.terms.margins(e.x)
        curved = np.flatnonzero((slack > 0.0) & (slack < problem.loss.width))
        # the cost of a product, in gradient steps
        cost = 0.25 + 0.25 * curved.size / max(1, len(problem))
        if n_steps * left <= self.steps * (2.0 + cost * own.products) * fallen:
            own.next = n_steps + self.first
            return None
        terms: Any = problem.terms  # Curved
        product = terms.curvature(curved, problem.loss.smoothing)
        y, own.products = self.newton_point(problem, e, length, product)
        if not problem.cone.norm(y) < math.inf:  # a product of lam and a square has overflowed
            return None
        own.origin = e
        own.gap_before = state.best.gap
        return problem.cone.project(y)

    def newton_point(
        self, problem: Problem, e: Evaluation, s: float, product: Callable
    ) -> tuple[ElementLike, int]:
        """Return y + dy, where y comes from the gradient step of length s, and the number of
        products with J.
        """
        lam = e.lam
        y = e.x - s * e.gradient
        into, back, Z = problem.cone.slope(y)
        way = into(problem.cone.project(y) - e.x)
        F = lam * way + into(product(back(way))) - way / s
        n = 2
        # if an entry of Z is 0, so is the entry of `towards`
        bend = (1.0 / np.where(Z > 0.0, Z, 1.0) - 1.0) / s + lam
        w = np.zeros_like(F)
        residual = -F
        conditioned = Z * residual
        towards = conditioned
        square = float(np.vdot(residual, conditioned))
        goal = self.accuracy * self.accuracy * square
        while square > goal and n < self.products:
            applied = bend * towards + into(product(back(towards)))
            length = square / float(np.vdot(towards, applied))
            w = w + length * towards
            residual = residual - length * applied
            conditioned = Z * residual
            before = square
            square = float(np.vdot(residual, conditioned))
            towards = conditioned + (square / before) * towards
            n += 1
        return y + back(w - s * (F + lam * w + into(product(back(w))))), n
