"""Safe screening of whole stretches of a path in the s-form (SSS13 Algorithms 1 and 2)."""

import numpy as np

from safescreen._checks import check_count, check_grid, check_scalar
from safescreen.paths import Path
from safescreen.rules import Screened
from safescreen.solvers import solve_screened
from safescreen.svm.balls import ball_1
from safescreen.svm.dome import dome_test
from safescreen.svm.references import as_reference, problem_of
from safescreen.svm.totals import norm_of_ball, s_bounds, total_loss

__all__ = ["feasible_between", "safe_screening", "safe_screening_path"]


def safe_screening(terms, reference_a, feasible, loss=None):
    """Screen for every s from the total loss of a point up to that of the solution w_a (SSS13 Theorem 2, Algorithm 1).

    Parameters
    ----------
    terms : Samples or other terms
    reference_a : Reference or Solution
        The solution for the larger s, exact or not.
    feasible : element
        ``w^``: no solution for an ``s >= H(w^)`` is longer than it, so that this is :func:`dome_test` with ``R = ||w^||``.
    loss : SmoothedHinge, optional

    Returns
    -------
    Screened

    Notes
    -----
    Algorithm 1 tries R only where ``<z_i, w_a> > 1``: as ``w_a`` lies in the region, nothing is lost by that, or won.
    """
    a = as_reference(reference_a, "reference_a")
    prob = problem_of(terms, loss, a)
    return dome_test(terms, a, prob.cone.norm_upper(prob.cone.check_feasible(feasible, "feasible")), prob.loss)


def feasible_between(terms, reference_a, reference_T, s, loss=None):
    """Return the shortest point between two solutions whose total loss is certainly at most `s` (SSS13 section 4.1).

    On ``w_a + v (w_T - w_a)`` the total loss is convex and the norm grows with v, so the smallest v with ``H <= s`` is found by bisection;
    margins are linear in v, so a step costs O(n). Rounding is included in ``H <= s``.

    Returns
    -------
    element or None
        None where not even ``w_T`` is certain to have a total loss of at most s.
    """
    a, T = as_reference(reference_a, "reference_a"), as_reference(reference_T, "reference_T")
    prob, s = problem_of(terms, loss, a, T), check_scalar(s, "s", low=0.0)
    start, step = terms.margins(a.w), terms.margins(T.w) - terms.margins(a.w)
    weights, tau = 1.0 if terms.weights is None else terms.weights, terms.threshold
    low, high = 0.0, 1.0
    if total_loss(terms, T.w, prob.loss)[1] > s:
        return None
    while high - low > 1e-6:
        v = 0.5 * (low + high)
        if float(np.sum(weights * prob.loss.value(start + v * step, tau))) <= s:
            high = v
        else:
            low = v
    for v in (high, high + 1e-9, min(high + 1e-6, 1.0)):
        w = a.w + v * (T.w - a.w)
        if total_loss(terms, w, prob.loss)[1] <= s:
            return w
    return T.w


def safe_screening_path(terms, Cs, loss=None, *, M=5, rtol=1e-6, tol=0.0, screening=(), **options):
    """Solve for an increasing sequence of C with one rule for every M of them (SSS13 Algorithm 2).

    The problems for the first and the last C are solved whole. Of each next M the last is solved first, with the rule between the last
    solution before, ``s_a``, and a certified ``s_b <= s(C)`` (:func:`safescreen.svm.s_bounds`; trial and error in SSS13), for a
    feasible point from :func:`feasible_between`. Then it is a reference itself, and one rule between the two serves for those in between.

    Parameters
    ----------
    terms : Samples or other terms
    Cs : array
        Strictly increasing, two at least.
    loss : SmoothedHinge, optional
        The hinge if left out.
    M : int
        Solutions a rule.
    rtol, tol, screening, **options
        As for :func:`safescreen.svm.path`; `screening` beside the rules of the paper, none by default.

    Returns
    -------
    Path
        ``path_rates`` are the rates of the rules, 0 for the first and the last C. Solutions are in the order of C.
    """
    Cs, prob, M = check_grid(Cs, "Cs"), problem_of(terms, loss), check_count(M, "M")
    if Cs.size < 2:
        raise ValueError(f"Cs must hold at least two values, got {Cs.size}")

    def solve(C, screened, start=None):
        """Solve what is left for C."""
        known = () if start is None else (start.x, start.alpha)
        return solve_screened(prob, 1.0 / float(C), screened, *known, rtol=rtol, tol=tol, screening=screening, **options)

    nothing = Screened(np.zeros(len(prob), dtype=bool), np.zeros(len(prob), dtype=bool))
    solutions, rates = [solve(Cs[0], nothing)], [0.0]
    last = solve(Cs[-1], nothing, solutions[0])
    between = Cs[1:-1]
    for group in (between[i : i + M] for i in range(0, between.size, M)):
        a = as_reference(solutions[-1])
        first = _rule(prob, a, as_reference(last), float(group[-1]))
        far = solve(group[-1], first, solutions[-1])
        screened = dome_test(terms, a, far, prob.loss)
        for C in group[:-1]:
            solutions.append(solve(C, screened, solutions[-1]))
            rates.append(screened.rate)
        solutions.append(far)
        rates.append(first.rate)
    return Path([*solutions, last], [*rates, 0.0], "grid")


def _rule(prob, a, T, C):
    """Return what is certain for all of ``[C_a, C]`` by the best of the upper bounds of the norm that are at hand."""
    terms, cone = prob.terms, prob.cone
    bounds = [norm_of_ball(cone, ball_1(terms, at, r, loss=prob.loss))[1] for at, r in ((C, a), (C, T), (T.C, T))]
    feasible = feasible_between(terms, a, T, s_bounds(terms, C, [a, T], prob.loss)[0], prob.loss)
    if feasible is not None:
        bounds.append(cone.norm_upper(feasible))
    return dome_test(terms, a, min(bounds), prob.loss)
