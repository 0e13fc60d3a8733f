"""Semismooth Newton steps between the steps of projected gradient, for terms over a cone.

With a step length s, x solves the problem where ``x = [y]_K`` and
``F(y) = (y - x)/s + lam x - H(alpha(x)) = 0`` (Robinson 1992). F is piecewise smooth: with Z, the
derivative of the projection (Sun & Sun 2002), and J, the slope of ``-H(alpha(x))`` at x, the Newton
equation for the change ``w = Z dy`` of x is ``((Z^-1 - I)/s + lam I + J) w = -F`` where Z does not
vanish, symmetric and positive definite. Conjugate gradients solve it with products over the terms
in C only (as Zhao, Sun & Toh 2010)."""

import math
from collections.abc import Callable

import numpy as np

from safescreen.problem import Evaluation, Problem
from safescreen.rounding import TINY, ElementLike
from safescreen.solvers.newton import line_search
from safescreen.solvers.settings import Limits

FIRST = 3
"""Gradient steps before the first Newton step."""

SHORT = 0.01
"""A Newton step has failed where the line search leaves less of it."""

STEPS = 3
"""How many Newton steps are expected: they are tried where expected gradient steps cost more."""

USUAL = 20
"""How many products are expected for the first Newton step."""

ACCURACY = 0.03
"""The residual of conjugate gradients relative to the first one."""

PRODUCTS = 60
"""How many products conjugate gradients may take."""


class NewtonSteps:
    """The Newton steps of one solve: when to take one, and what to do where it fails.

    Where a step lowers neither the objective nor the gap enough the best point on the way there is
    next; where that is next to nothing, gradient steps follow before the next trial, twice as many
    as the last time."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self.wait = 1
        self.next = FIRST
        self.origin: Evaluation | None = None  # where the last Newton step began
        # the first gap, and how many products the last step took
        self.first = math.inf
        self.products = USUAL

    def judge(self, problem: Problem, e: Evaluation, best: float, k: int) -> Evaluation:
        """Return the evaluation to go on from at iteration k, given that of the last step and
        the lowest gap so far.
        """
        origin = self.origin
        self.origin = None
        if k == 0:
            self.first = e.gap
        if origin is None or e.primal < origin.primal or e.gap < 0.5 * best:
            return e
        way = e.x - origin.x
        slack = problem.terms.threshold - problem.terms.margins(origin.x)
        t = line_search(problem, origin, slack, way)
        if t < SHORT:
            self.next = k + self.wait
            self.wait *= 2
        else:
            self.wait = 1
        return problem.evaluate(origin.x + min(t, 1.0) * way, e.lam)

    def step(self, problem: Problem, e: Evaluation, s: float, k: int) -> ElementLike | None:
        """Return the point a Newton step leads to from an evaluated one, or None where gradient
        steps are as good.
        """
        if k < self.next or not e.gap < math.inf:
            return None
        fallen = math.log(self.first / e.gap)
        left = math.log(e.gap / max(self.limits.goal(e.primal), TINY))
        if k * left <= 2 * STEPS * fallen:  # that many gradient steps will do
            return None
        slack = problem.terms.threshold - problem.terms.margins(e.x)
        curved = np.flatnonzero((slack > 0.0) & (slack < problem.loss.width))
        # of a product, over that of a gradient step
        cost = 0.25 + 0.25 * curved.size / max(1, len(problem))
        if k * left <= STEPS * (2.0 + cost * self.products) * fallen:
            self.next = k + FIRST
            return None
        y, self.products = newton_point(
            problem, e, s, problem.terms.curvature(curved, problem.loss.smoothing)
        )
        if not problem.cone.norm(y) < math.inf:  # products of lam and squares have overflowed
            return None
        self.origin = e
        return problem.cone.project(y)


def newton_point(
    problem: Problem, e: Evaluation, s: float, product: Callable
) -> tuple[ElementLike, int]:
    """Return y + dy for the y of the gradient step of length s, and how many products with J
    that took.
    """
    lam = e.lam
    y = e.x - s * e.gradient
    into, back, Z = problem.cone.slope(y)
    way = into(problem.cone.project(y) - e.x)
    F = lam * way + into(product(back(way))) - way / s
    inside = Z > 0.0
    n = 2
    bend = np.where(inside, (1.0 / np.where(inside, Z, 1.0) - 1.0) / s + lam, 0.0)
    w = np.zeros_like(F)
    residual = np.where(inside, -F, 0.0)
    conditioned = Z * residual
    towards = conditioned
    square = float(np.vdot(residual, conditioned))
    goal = ACCURACY * ACCURACY * square
    while square > goal and n < PRODUCTS:
        applied = np.where(inside, bend * towards + into(product(back(towards))), 0.0)
        length = square / float(np.vdot(towards, applied))
        w = w + length * towards
        residual = residual - length * applied
        conditioned = Z * residual
        before = square
        square = float(np.vdot(residual, conditioned))
        towards = conditioned + (square / before) * towards
        n += 1
    return y + back(w - s * (F + lam * w + into(product(back(w))))), n
