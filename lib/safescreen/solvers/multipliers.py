"""The hinge: proximal method of multipliers over smoothed problems.

With ``gamma = 0`` the primal has kinks, and its gradients alone do not bring the gap to zero. The dual is made strongly concave around the
current dual point: ``max D(alpha) - g/2 ||alpha - alpha_k||^2`` is, term by term, the smoothed hinge of width g with the threshold moved to
``tau_t + g alpha_k,t``. Its solution is the next dual point. The iteration converges for any g (Rockafellar 1976), and every pair
(x, alpha) on
the way has a gap of the hinge problem itself. Terms whose dual variables are never stored one by one get narrower and narrower g instead.
"""

import numpy as np

from safescreen.losses import SmoothedHinge
from safescreen.problem import Problem
from safescreen.solvers.projected_gradient import Descent, Limits, minimize
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.solution import PackedDual

__all__ = ["minimize_hinge"]

WIDTH, NARROWER, NARROWEST = 0.1, 0.3, 1e-6
"""First width g, the factor it shrinks by when the gap falls too slowly, and the smallest one."""

ACCURACY, SLOW, STALLED = 0.02, 0.95, 30
"""Inner gap relative to the outer one; what counts as slow; rounds without progress before giving up."""


def minimize_hinge(
    reduction,
    lam,
    state,
    limits,
    alpha=None,
    *,
    inner=minimize,
    width=WIDTH,
    accuracy=ACCURACY,
    screen=None,
    freq=10,
    active_set=False,
    callback=None,
):
    """Solve the problem with the hinge; like :func:`minimize`, and returns the dual point too.

    Parameters
    ----------
    reduction, lam, state, limits, screen, freq, active_set, callback
        As for :func:`safescreen.solvers.projected_gradient.minimize`.
    alpha : array of shape (T,), optional
        Dual point of the whole problem to start from.
    inner : callable
        Solver of the smoothed problems.
    width : float
        First width g of them.
    accuracy : float
        Their gap, relative to the one that is left.

    Returns
    -------
    bool, array or float
        Whether the limits were reached; the dual point of the whole problem, or, for terms that are not explicit, the width g of
        the smoothed hinge whose ``alpha(x)`` it is.
    """
    explicit = reduction.explicit
    if explicit:
        alpha = reduction.restrict(np.full(len(reduction.whole), 0.5) if alpha is None else alpha)
    best, stalled = None, 0
    while True:
        smoothed = _around(reduction.problem, alpha if explicit else None, width)
        alpha = None  # one array of length T less while the inner problem is solved
        descent = Descent(state.x, state.step, state.n_iter)
        tol = limits.tol if best is None else accuracy * max(best.gap, 10.0 * limits.tol, 10.0 * limits.rtol * abs(best.primal))
        target = Limits(tol, 1e-3 if best is None else 0.0, limits.max_iter)
        inner(Reduction(smoothed), lam, descent, target, active_set=active_set, freq=freq)
        state.x, state.step, state.n_iter = descent.x, descent.step, descent.n_iter
        alpha = smoothed.alpha(descent.x) if explicit else width
        smoothed = None
        e = _at(reduction, descent.x, lam, alpha)
        state.record(reduction, e, callback)
        slow = best is not None and e.gap > SLOW * best.gap
        stalled = stalled + 1 if best is not None and e.gap > 0.99 * best.gap else 0
        if best is None or e.gap < best.gap:
            best, packed = e, _pack(reduction, alpha)
        if limits.reached(best.gap, best.primal) or state.stopped or state.n_iter >= limits.max_iter or stalled >= STALLED:
            break
        here = _pack(reduction, alpha)
        if screen is not None and screen(e):
            packed = here
            alpha = reduction.restrict(packed.unpack()) if explicit else alpha
            best = _at(reduction, descent.x, lam, alpha)
        if slow or not explicit:
            width = max(width * NARROWER, NARROWEST if explicit else 1e-3 * NARROWEST)
    state.evaluation, state.x = best, best.x
    return limits.reached(best.gap, best.primal), packed.unpack() if explicit else packed


def _hinge_sums(terms, x, alpha):
    """Return the hinge's loss sums at x for a dual point: an array, or the width g of the smoothed hinge whose ``alpha(x)`` is meant."""
    return terms.loss_sums(x, SmoothedHinge(0.0), alpha) if np.ndim(alpha) else terms.hinge_sums(x, alpha)


def _at(reduction, x, lam, alpha):
    return reduction.problem.assemble(_hinge_sums(reduction.problem.terms, x, alpha), x, lam)


def _pack(reduction, alpha):
    return PackedDual(reduction.expand(alpha)) if reduction.explicit else alpha


def _around(problem, alpha, width):
    """Return the smoothed problem whose dual is the hinge's with a proximal term around alpha (None: around zero)."""
    terms = problem.terms
    if alpha is not None:
        threshold = alpha * width
        threshold += terms.threshold
        terms = terms.with_threshold(threshold)
    smoothed = Problem(terms, SmoothedHinge(width), linear=problem.linear, constant=problem.constant)
    smoothed._linear_error = problem._linear_error
    return smoothed
