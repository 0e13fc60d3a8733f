"""The hinge: proximal method of multipliers over smoothed problems.

With ``gamma = 0`` the primal has kinks, and its gradients alone do not bring the gap to zero. The
dual is made strongly concave around the current dual point:
``max D(alpha) - g/2 ||alpha - alpha_k||^2`` is, term by term, the smoothed hinge of width g with
the threshold moved to ``tau_t + g alpha_k,t``. Its solution is the next dual point. The iteration
converges for any g (Rockafellar 1976), and every pair (x, alpha) on the way has a gap of the hinge
problem itself. Terms whose dual variables are never stored one by one get narrower and narrower g
instead. At small lam, where the terms are nearly fulfilled, a small violation costs much more than
a slightly larger x: the gap is that of the best multiple of x."""

from dataclasses import replace

import numpy as np

from safescreen.losses import SmoothedHinge
from safescreen.solvers.newton import best_multiple
from safescreen.solvers.projected_gradient import minimize
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.settings import Descent, Limits, Screen, Settings
from safescreen.solvers.solution import DualPoint

__all__ = ["minimize_hinge"]

WIDTH = 0.1
"""First width g of the smoothed hinge."""

NARROWER = 0.3
"""The factor by which the width shrinks when the gap falls too slowly."""

NARROWEST = 1e-6
"""The smallest width."""

WIDEST = 1e-4
"""On the way from x = 0: the first width over lam_max/lam."""

NEAR = 0.1
"""On the way from x = 0: the last width over the first."""

ROUGH = 1e-2
"""On the way from x = 0: the relative gap to which those problems are solved."""

ACCURACY = 0.02
"""Inner gap relative to the outer one."""

SLOW = 0.95
"""A round is slow where the gap does not fall by this factor."""

STALLED = 30
"""Rounds without progress before the solver gives up."""


def minimize_hinge(
    reduction: Reduction,
    state: Descent,
    settings: Settings,
    screen: Screen = None,
    *,
    inner=minimize,
    width=WIDTH,
    accuracy=ACCURACY,
) -> bool:
    """Solve the problem with the hinge, like
    :func:`safescreen.solvers.projected_gradient.minimize`.

    The dual point of `state` is updated too, and the start where there is one. `inner` solves the
    smoothed problems, the first one of width g = `width`, to a gap of `accuracy` relative to the
    one that is left. The narrower they are and the smaller lam, the nearer a start has to be: over
    a cone the width grows with 1/lam, and from x = 0 smoothed hinges of falling width lead to it.
    """
    explicit = reduction.explicit
    limits = settings.limits
    lam = state.lam
    if "sweeps" not in reduction.whole.terms.offers:
        largest = WIDEST * reduction.problem.lam_max() / lam
        if width < largest < np.inf:
            width = max(width, NEAR * largest)
            if state.alpha is None and reduction.whole.cone.norm(state.x) == 0.0:
                _come_near(reduction, state, settings, inner, width, largest)
    alpha = None
    best = None
    stalled = 0
    if explicit:
        alpha = reduction.restrict(
            np.full(len(reduction.whole), 0.5) if state.alpha is None else state.alpha.unpack()
        )
    while True:
        smoothed = _around(reduction.problem, alpha, width)
        alpha = None  # one array of length T less while the inner problem is solved
        descent = Descent(state.x, lam, state.step, state.n_iter)
        if best is None:
            tol = limits.tol
        else:
            tol = accuracy * max(best.gap, 10.0 * limits.tol, 10.0 * limits.rtol * abs(best.primal))
        target = Limits(tol, 1e-3 if best is None else 0.0, limits.max_iter)
        inner(Reduction(smoothed), descent, replace(settings, limits=target, callback=None))
        state.x = descent.x
        state.step = descent.step
        state.n_iter = descent.n_iter
        alpha = smoothed.alpha(descent.x) if explicit else None
        smoothed = None
        here = DualPoint(width=width) if alpha is None else DualPoint(reduction.expand(alpha))
        e = _at(reduction, descent.x, lam, alpha, width)
        state.record(reduction, e, settings.callback)
        slow = best is not None and not e.gap < SLOW * best.gap  # so is one that is not finite
        stalled = stalled + 1 if best is not None and not e.gap < 0.99 * best.gap else 0
        if best is None or e.gap < best.gap:
            best = e
            state.alpha = here
        if (
            limits.reached(best)
            or state.stopped
            or state.n_iter >= limits.max_iter
            or stalled >= STALLED
        ):
            break
        if screen is not None and screen(e):
            alpha = reduction.restrict(here.unpack()) if explicit else None
            state.alpha = here if alpha is None else DualPoint(reduction.expand(alpha))
            best = _at(reduction, descent.x, lam, alpha, width)
        if slow or not explicit:
            width = max(width * NARROWER, NARROWEST if explicit else 1e-3 * NARROWEST)
    state.evaluation = best
    state.x = best.x
    return limits.reached(best)


def _come_near(reduction, state, settings, inner, width, largest):
    """Move a start near the solution, by smoothed hinges from the largest width down, and give
    it the dual point of the last one.
    """
    steps = int(np.ceil(np.log(largest / width) / -np.log(NARROWER)))
    limits = replace(settings.limits, rtol=max(ROUGH, settings.limits.rtol))
    for k in range(steps, -1, -1):
        smoothed = _around(reduction.problem, None, width * NARROWER**-k)
        descent = Descent(state.x, state.lam, state.step, state.n_iter)
        inner(Reduction(smoothed), descent, replace(settings, limits=limits, callback=None))
        state.x = descent.x
        state.step = descent.step
        state.n_iter = descent.n_iter
    if reduction.explicit:
        state.alpha = DualPoint(reduction.expand(smoothed.alpha(state.x)))


def _at(reduction, x, lam, alpha, width):
    """Return the evaluation at x and ``alpha(x)`` of the smoothed hinge of that width, or at x
    or its best multiple and an array alpha.
    """
    problem = reduction.problem
    if alpha is None:
        return problem.assemble(problem.terms.hinge_sums(x, width), x, lam)
    points = x, best_multiple(problem, x, lam)
    found = [
        problem.assemble(problem.terms.loss_sums(point, SmoothedHinge(0.0), alpha), point, lam)
        for point in points
    ]
    return found[1] if found[1].primal < found[0].primal else found[0]


def _around(problem, alpha, width):
    """Return the smoothed problem whose dual is the hinge's with a proximal term around alpha
    (None: around zero).
    """
    terms = problem.terms
    if alpha is not None:
        threshold = alpha * width
        threshold += terms.threshold
        terms = terms.with_threshold(threshold)
    return problem.with_terms(terms, SmoothedHinge(width))
