"""The hinge: proximal method of multipliers over smoothed problems.

With ``gamma = 0`` the primal has kinks, and its gradients alone do not bring the gap to zero. The dual is made strongly concave around the
current dual point: ``max D(alpha) - g/2 ||alpha - alpha_k||^2`` is, term by term, the smoothed hinge of width g with the threshold moved to
``tau_t + g alpha_k,t``. Its solution gives the next dual point; the iteration converges for any g, and fast for small ones
(Rockafellar 1976), and every pair (x, alpha) on the way has a gap of the hinge problem itself.
"""

import numpy as np

from safescreen.losses import SmoothedHinge
from safescreen.problem import Problem
from safescreen.solvers.projected_gradient import Descent, Limits, minimize
from safescreen.solvers.reduction import Reduction

__all__ = ["minimize_hinge"]

WIDTH, SHRINK_WIDTH, SMALLEST = 0.1, 0.2, 1e-5


def minimize_hinge(reduction, lam, state, limits, alpha=None, *, screen=None, freq=10, active_set=False, callback=None):
    """Solve the problem with the hinge; like :func:`minimize`, and returns the dual point too.

    Parameters
    ----------
    reduction, lam, state, limits, screen, freq, active_set, callback
        As for :func:`safescreen.solvers.projected_gradient.minimize`.
    alpha : array of shape (T,), optional
        Dual point of the whole problem to start from.

    Returns
    -------
    bool, array or None
        Whether the limits were reached; the dual point of the whole problem (None for terms that are not explicit).
    """
    if not reduction.explicit:
        return _minimize_smoothing(reduction, lam, state, limits, screen=screen, freq=freq, callback=callback)
    if alpha is None:
        alpha = np.full(len(reduction.whole), 0.5)
    alpha = reduction.restrict(alpha)
    width, best, stalled = WIDTH, None, 0
    while True:
        problem = reduction.problem
        smoothed = _around(problem, alpha, width)
        inner = Descent(state.x, state.step, state.n_iter)
        target = limits.tol if best is None else max(0.02 * best.gap, 0.1 * max(limits.tol, limits.rtol * abs(best.primal)))
        relative = 1e-3 if best is None else 0.0
        minimize(Reduction(smoothed), lam, inner, Limits(target, relative, limits.max_iter), active_set=active_set, freq=freq)
        state.x, state.step, state.n_iter = inner.x, inner.step, inner.n_iter
        alpha = smoothed.alpha(inner.x)
        e = problem.evaluate(inner.x, lam, alpha)
        state.record(reduction, e, callback)
        stalled = 0 if best is None or e.gap < 0.9 * best.gap else stalled + 1
        if best is None or e.gap < best.gap:
            best, best_alpha = e, reduction.expand(alpha)
        if limits.reached(best.gap, best.primal) or state.stopped or state.n_iter >= limits.max_iter or stalled >= 12:
            break
        if screen is not None:
            full = reduction.expand(alpha)
            if screen(e):
                alpha = reduction.restrict(full)
                e = reduction.problem.evaluate(inner.x, lam, alpha)
                best, best_alpha = e, reduction.expand(alpha)
        width = max(width * SHRINK_WIDTH, SMALLEST)
    state.evaluation, state.x = best, best.x
    return limits.reached(best.gap, best.primal), best_alpha


def _around(problem, alpha, width):
    """Return the smoothed problem whose dual is the hinge's with a proximal term around alpha."""
    terms = problem.terms.with_threshold(problem.terms.threshold + width * alpha)
    smoothed = Problem(terms, SmoothedHinge(width), linear=problem.linear, constant=problem.constant)
    smoothed._linear_error = problem._linear_error
    return smoothed


def _minimize_smoothing(reduction, lam, state, limits, *, screen, freq, callback):
    """Terms that are not explicit: narrower and narrower smoothed hinges, without multipliers."""
    raise ValueError("loss: the hinge (gamma = 0) needs explicit terms here; use to_triplets(), or a small gamma")
