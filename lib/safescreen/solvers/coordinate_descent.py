"""Dual coordinate descent with shrinking on the problem that screening leaves, for terms over the
whole space.

One dual variable at a time is set to its best value (Hsieh et al. 2008), whatever the loss,
weights, thresholds and linear term. Leaving variables out for a while is a heuristic that the
solver itself takes back; screening is not, and both are used together."""

from typing import NamedTuple

import numpy as np

from safescreen.solvers.reduction import Reduction
from safescreen.solvers.settings import Descent, Screen, Settings
from safescreen.solvers.solution import DualPoint

SWEEPS = 1000
"""Largest number of sweeps between two looks at the duality gap."""

LEAST = 1e-6
"""Where sweeps have a gap as their goal: what part of the tolerance ends them all the same."""

FEW = 10
"""With ``screening="auto"`` a look before the end is worth its evaluation if the neighbouring
lam took so many sweeps, or is not known.
"""


def minimize_dual(
    reduction: Reduction,
    state: Descent,
    settings: Settings,
    screen: Screen = None,
    *,
    patience: int | None = None,
    shrinking: bool = True,
) -> bool:
    """Run dual coordinate descent until the gap of the problem that is left reaches the limits;
    `state` is updated.

    As :func:`safescreen.solvers.projected_gradient.minimize`, but it starts from the dual point of
    `state` where there is one. The gap is looked at when the projected slopes, in units of the
    margin, have fallen far enough, and screening is tried there; an iteration is a sweep. With
    `patience` it gives up where so many sweeps are not enough for that; `shrinking` leaves
    variables out for a while."""
    problem = reduction.problem
    limits = settings.limits
    lam = state.lam
    smooth = problem.loss.smoothing > 0.0
    if state.alpha is None:
        alpha = _start(problem, state.x, lam)
    else:
        alpha = np.array(reduction.restrict(state.alpha.unpack()))
    tolerance = 1.0
    best = None
    best_alpha = alpha
    seed = 1
    given_up = False
    if smooth and not (problem.terms.costly and problem.cone.magnitude(state.x) == 0.0):
        e = problem.evaluate(state.x, lam)
    else:
        e = problem.evaluate((1.0 / lam) * _dual_sum(problem, alpha), lam, alpha)
    H = e.H
    while True:
        state.record(reduction, e, settings.callback)
        if best is None or e.gap < best.gap:
            best = e
            best_alpha = alpha.copy()
        if limits.reached(best) or state.stopped or given_up or state.n_iter >= limits.max_iter:
            break
        if screen is not None and best.gap < 0.3 * reduction.tried:
            full = reduction.expand(alpha)
            if screen(best):
                alpha = np.array(reduction.restrict(full))
                problem = reduction.problem
                best = None
                H = _dual_sum(problem, alpha)
        sweeps = min(patience or SWEEPS, limits.max_iter - state.n_iter)
        soon_solved = settings.schedule.automatic and 0.0 < state.expected < FEW
        screens = screen is not None and not soon_solved
        stop = _next_stop(problem, limits, best or e, screens, tolerance)
        options = {} if stop.gap is None else {"goal": stop.gap}
        H, spread, done, seed = problem.terms.sweep(
            alpha, H, lam, problem.loss, stop.spread, sweeps, seed, shrinking, **options
        )
        state.n_iter += done
        by_gap = stop.gap is not None and spread > stop.spread
        if done < sweeps and not by_gap:
            tolerance = 0.1 * min(tolerance, spread)
        elif done < sweeps and not (stop.is_early and done):
            tolerance *= 0.1  # the end: sweeps saw the gap less well than it is seen now
        given_up = tolerance < 1e-16 or (patience is not None and done == sweeps)
        e = problem.evaluate((1.0 / lam) * H, lam, None if smooth else alpha)
        H = H if smooth else e.H
    state.evaluation = best
    state.x = best.x
    state.alpha = None if smooth else DualPoint(reduction.expand(best_alpha))
    return limits.reached(best)


class _Stop(NamedTuple):
    """Where sweeps end: where the projected slopes spread by at most `spread`, or, if that is not
    None, where the duality gap is estimated to be at most `gap`, absolute and as a part of the
    loss. `is_early` says that screening is to look at this gap before the limits are reached.
    """

    spread: float
    gap: tuple[float, float] | None
    is_early: bool


def _next_stop(problem, limits, e, screens, tolerance):
    """Return the :class:`_Stop` that follows the evaluation e.

    Only sweeps that are costly end by the gap: at half of `tolerance` times the limits, or before
    that, where screening may decide. Balls have the radius ``sqrt(gap/lam)``, up to a factor, and
    decide little before that is smaller than a width of margins, 1."""
    if not problem.terms.costly:
        return _Stop(tolerance, None, False)
    factor = 0.5 * tolerance
    longest = float(problem.terms.norms.max(initial=0.0)) if screens else 0.0
    decides = 0.5 * factor * e.lam / (longest * longest) if longest > 1e-100 else 0.0
    last = factor * max(limits.tol, limits.rtol * e.dual)
    is_early = decides > last and e.gap > 2.0 * decides
    gap = (decides if is_early else last, factor * limits.rtol)
    return _Stop(LEAST * tolerance, gap, is_early)


def _dual_sum(problem, alpha):
    total = problem.terms.weighted_sum(alpha)[0]
    return total if problem.linear is None else problem.linear + total


def _start(problem, x, lam):
    """Return a dual point to start from: ``alpha(x)``, or for the hinge and x = 0 the best one
    with equal entries.
    """
    if problem.terms.costly and problem.cone.magnitude(x) == 0.0:
        return np.zeros(len(problem))
    if problem.loss.smoothing > 0.0 or problem.cone.norm(x) > 0.0:
        return problem.terms.alpha(x, problem.loss)
    ones = np.ones(len(problem))
    loss = problem.loss
    cone = problem.cone
    total = problem.terms.total()[0]
    height = problem.terms.conjugates(loss, ones)
    square = cone.inner(total, total) / lam
    weight = len(problem) if problem.terms.weights is None else float(problem.terms.weights.sum())
    pull = 0.0 if problem.linear is None else cone.inner(problem.linear, total) / lam
    height += 0.5 * loss.smoothing * weight - pull
    square += loss.smoothing * weight
    entry = min(max(height / square, 0.0), loss.cap) if square > 0.0 else 0.0
    return ones * entry
