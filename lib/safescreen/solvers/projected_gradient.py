"""Projected gradient with Barzilai-Borwein steps on the problem that screening leaves."""

import numpy as np

from safescreen.problem import Evaluation
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.semismooth import NewtonSteps
from safescreen.solvers.settings import Descent, Screen, Settings

MEMORY = 10
"""How many recent objective values a guarded step may not exceed (nonmonotone line search)."""

BUFFER = 0.1
"""Terms whose margin exceeds the threshold by less than this stay in the active set, so that it
does not change at every step.
"""

PATIENCE = 40
"""After so many iterations that did not halve the gap, restart from the best point with guarded
steps.
"""

STALLED = 1000
"""After so many iterations that did not lower the gap by a hundredth a solve is given up, if
most of the gap is rounding.
"""


def minimize(
    reduction: Reduction,
    state: Descent,
    settings: Settings,
    screen: Screen = None,
    *,
    newton: bool = False,
) -> bool:
    """Run projected gradient until the gap of the problem that is left reaches the limits; return
    whether it did.

    `state` is updated: its evaluation and x are those of the best point found. `screen` is called
    each ``settings.freq`` iterations. With ``settings.active_set`` only the terms with non-zero
    loss are used between two such rounds (Weinberger & Saul); optimality is always judged on all
    terms that are left.

    The step is the mean of the two Barzilai-Borwein lengths,
    ``|<dx,dg>/<dg,dg> + <dx,dx>/<dx,dg>|/2`` (STS19 section 7), taken freely as long as the gap
    keeps falling; after :data:`PATIENCE` iterations without progress it is halved along the
    feasible direction while the objective exceeds its recent maximum, which makes the method
    converge from anywhere. With `newton` semismooth Newton steps come between where they are worth
    their cost (not with an active set)."""
    limits = settings.limits
    lam = state.lam
    freq = settings.freq
    active_set = settings.active_set
    project = reduction.problem.cone.project
    state.alpha = None
    x = state.x
    recent = []
    guarded = False
    halvings = 0
    origin: tuple = ()  # the last x and its gradient
    steps = NewtonSteps(limits) if newton and not active_set else None
    working = reduction.problem
    watch = _Watch()
    k = 0
    known = state.evaluation if state.evaluation is not None and state.evaluation.x is x else None
    while True:
        on_all = not active_set or k % freq == 0
        e = known or (reduction.problem if on_all else working).evaluate(x, lam)
        known = None
        if guarded and recent and halvings < 30 and e.primal > max(recent) * (1.0 + 1e-14):
            x = origin[0] + 0.5 * (x - origin[0])
            halvings += 1
            state.n_iter += 1
            if state.n_iter < limits.max_iter:
                continue
        halvings = 0
        if steps is not None:
            e = steps.judge(reduction.problem, e, watch.best_gap, k)
            x = e.x
        if not on_all and limits.reached(e):
            e = reduction.problem.evaluate(x, lam)
            on_all = True
        if on_all:
            state.record(reduction, e, settings.callback)
            if screen is not None and k % freq == 0 and not limits.reached(e) and screen(e):
                e = reduction.problem.evaluate(x, lam)
                watch.best = None
                recent = []
                origin = ()
            best = watch.see(e, k, freq if active_set else 1)
            is_over = state.stopped or state.n_iter >= limits.max_iter
            if limits.reached(best) or is_over or watch.is_stalled(k):
                break
            if watch.since_halved >= PATIENCE * (1 + 4 * guarded):
                e = best
                x = best.x
                guarded = True
                watch.since_halved = 0
                recent = []
                origin = ()
            if active_set:
                working = _active(reduction.problem, x)
                # the step's memory stays: the gradient at x is the same
                e = working.evaluate(x, lam)
                recent = []
        state.n_iter += 1
        k += 1
        gradient = e.gradient
        state.step = step = _step(reduction.problem.cone, state.step, origin, x, gradient, lam)
        ahead = None if steps is None else steps.step(reduction.problem, e, step, k - 1)
        if ahead is None:
            ahead = e.x_alpha if step == 1.0 / lam else project(x - step * gradient)
        origin = (x, gradient)
        recent = [*recent[1 - MEMORY :], e.primal]
        x = ahead
    state.evaluation = best
    state.x = best.x
    return limits.reached(best)


class _Watch:
    """The best evaluation so far, None before the first one, and how long its gap has not fallen:
    `since_halved` counts iterations.
    """

    def __init__(self):
        self.best: Evaluation | None = None
        self.since_halved = 0
        self._to_halve = np.inf
        self._lowest = np.inf
        self._lowest_at = 0

    @property
    def best_gap(self):
        """The lowest gap."""
        return np.inf if self.best is None else self.best.gap

    def see(self, e: Evaluation, k: int, n_iter: int) -> Evaluation:
        """Take the evaluation at iteration k into account, which comes `n_iter` after the last;
        return the best one.
        """
        self.since_halved += n_iter
        best = self.best
        if best is None or e.gap < best.gap:
            if best is None or e.gap < 0.5 * self._to_halve:
                self._to_halve = e.gap
                self.since_halved = 0
            best = e
        self.best = best
        if e.gap < 0.99 * self._lowest:
            self._lowest = e.gap
            self._lowest_at = k
        return best

    def is_stalled(self, k):
        """Return whether more iterations bring nothing: the gap has not fallen for long, and is
        rounding.
        """
        return k - self._lowest_at >= STALLED and _is_rounding(self.best)


def _is_rounding(e):
    """Return whether most of the gap at an evaluated point is allowance for rounding, so that
    more steps bring nothing.
    """
    return max(e.primal - e.dual, 0.0) < 0.5 * e.gap


def _step(cone, last, origin, x, gradient, lam):
    if not origin:
        return 1.0 / lam if last is None else last
    dx = x - origin[0]
    dg = gradient - origin[1]
    xx = cone.inner(dx, dx)
    xg = cone.inner(dx, dg)
    gg = cone.inner(dg, dg)
    if xg <= 0.0 or gg == 0.0:
        return 1.0 / lam
    return 0.5 * (xg / gg + xx / xg)


def _active(problem, x):
    """Return the problem of the terms whose loss at x, or near it, is not zero; the others count
    as zero until the next check.
    """
    keep = np.zeros(len(problem), dtype=np.bool_)
    products = problem.terms.inner_products(x)
    for start, stop in problem.terms.chunks():
        keep[start:stop] = (
            products.chunk(start, stop)[0] < problem.terms.thresholds(start, stop) + BUFFER
        )
    return problem.reduce(np.zeros_like(keep), ~keep)
