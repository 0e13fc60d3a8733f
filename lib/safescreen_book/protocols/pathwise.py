"""The path of SSS13 (Algorithm 2), which screens for a whole interval of C at once, and the s-form,
on which it rests.
"""

import numpy as np

from safescreen._checks import check_count, check_grid, check_scalar
from safescreen.paths import Path
from safescreen.rounding import TINY
from safescreen.rules import Screened
from safescreen.solvers import solve, solve_screened
from safescreen.svm.balls import ball_1
from safescreen.svm.dome import dome_test
from safescreen.svm.references import as_reference, c_min, problem_of
from safescreen.svm.totals import norm_of_ball, s_bounds, total_loss


def feasible_between(terms, reference_a, reference_T, s, loss=None):
    """Return the shortest point between two solutions whose total loss is certainly at most `s`
    (SSS13 section 4.1).

    On ``w_a + v (w_T - w_a)`` the total loss H is convex and the norm grows with v. Bisection finds
    the smallest v with ``H <= s``. Margins are linear in v, so a step costs O(n). The test
    ``H <= s`` includes rounding.

    Returns
    -------
    element or None
        None if not even the total loss of ``w_T`` is certainly at most s.
    """
    a, T = as_reference(reference_a, "reference_a"), as_reference(reference_T, "reference_T")
    prob = problem_of(terms, loss, a, T)
    s = check_scalar(s, "s", low=0.0)
    start = terms.margins(a.w)
    step = terms.margins(T.w) - terms.margins(a.w)
    weights = 1.0 if terms.weights is None else terms.weights
    tau = terms.threshold
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


def safe_screening_path(terms, Cs, loss=None, *, M=5, tol=None, rtol=None, screening=(), **options):
    """Solve for an increasing sequence of C with one rule for every M of them (SSS13 Algorithm 2).

    The problems for the first and the last C are solved without screening. Then the C are taken M
    at a time, and the last of the M is solved first. Its rule lies between the loss ``s_a`` of the
    solution before and a certified ``s_b <= s(C)`` (from :func:`safescreen.svm.s_bounds`; by trial
    and error in SSS13), with a feasible point from :func:`feasible_between`. Its solution is then a
    reference too, and one rule between the two references serves for all C in between.

    Parameters
    ----------
    terms : Samples or other terms
    Cs : array
        Strictly increasing, two at least.
    loss : SmoothedHinge, optional
        The hinge if left out.
    M : int
        Number of solutions for each rule.
    tol, rtol, screening, **options
        As for :func:`safescreen.svm.path`. `screening` is done in addition to the rules of the
        paper; there is none by default.

    Returns
    -------
    Path
        ``path_rates`` are the rates of the rules, 0 for the first and the last C. Solutions are in
        the order of C.
    """
    Cs = check_grid(Cs, "Cs")
    prob = problem_of(terms, loss)
    M = check_count(M, "M")
    if Cs.size < 2:
        raise ValueError(f"Cs must hold at least two values, got {Cs.size}")

    def solve(C, screened, start=None):
        """Solve what is left for C."""
        known = () if start is None else (start.x, start.alpha)
        return solve_screened(
            prob,
            1.0 / float(C),
            screened,
            *known,
            tol=tol,
            rtol=rtol,
            screening=screening,
            **options,
        )

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
    """Return what is certain for all of ``[C_a, C]`` by the best of the upper bounds of the norm
    that are at hand.
    """
    terms, cone = prob.terms, prob.cone
    bounds = [
        norm_of_ball(cone, ball_1(terms, at, r, loss=prob.loss))[1]
        for at, r in ((C, a), (C, T), (T.C, T))
    ]
    feasible = feasible_between(terms, a, T, s_bounds(terms, C, [a, T], prob.loss)[0], prob.loss)
    if feasible is not None:
        bounds.append(cone.norm_upper(feasible))
    return dome_test(terms, a, min(bounds), prob.loss)


def C_of_s(terms, s, loss=None, *, rtol=1e-6, max_solves=60, **options):
    """Solve the s-form by the C-form: return a C whose solution has the total loss `s`, and that
    solution.

    ``s(C)`` is continuous and falls. The root is found by secants of s in log C and bisection in
    turn, from ``C_min`` on. With the hinge s is constant on some intervals, and any C of such an
    interval is right.

    Parameters
    ----------
    terms : Samples or other terms
    s : float
        Below ``H(0)``, where w = 0 is the solution, and above the smallest total loss.
    loss : SmoothedHinge, optional
    rtol : float
        Accuracy of s relative to ``H(0)``. The solves are accurate to its square, because the error
        of s is like the square root of the gap.
    max_solves : int
    **options
        For :func:`safescreen.solve`.

    Returns
    -------
    C : float
    solution : Solution

    Raises
    ------
    ValueError
        No C with this s: s is not below ``H(0)``, or not reached in `max_solves`.
    """
    prob = problem_of(terms, loss)
    s = check_scalar(s, "s", low=0.0)
    at_zero = total_loss(terms, prob.cone.zeros(), prob.loss)[1]
    if s >= at_zero:
        raise ValueError(f"s must be below the total loss {at_zero:g} of w = 0, got {s:g}")
    if prob.lam_max() == 0.0:
        raise ValueError(
            f"s must be the total loss {at_zero:g} of w = 0, which solves this problem for "
            f"every C; got {s:g}"
        )
    start = c_min(terms, prob.loss)
    C = start if start > 0.0 else 1.0
    x = None
    below = None
    above = None
    for k in range(max_solves):
        solution = solve(prob, 1.0 / C, tol=0.0, rtol=max(rtol * rtol, 1e-12), x0=x, **options)
        x, found = solution.x, solution.loss
        if abs(found - s) <= rtol * at_zero:
            return C, solution
        if found > s:
            below = np.log(C), found
        else:
            above = np.log(C), found
        if below is None:
            C *= 0.1
        elif above is None:
            C *= 10.0
        else:
            t0, s0 = below
            t1, s1 = above
            part = 0.5 if k % 2 else min(max((s0 - s) / max(s0 - s1, TINY), 0.05), 0.95)
            C = float(np.exp(t0 + (t1 - t0) * part))
    raise ValueError(
        f"s = {s:g} was not reached in {max_solves} solves: the last, for C = {C:g}, has "
        f"total loss {found:g}"
    )
