"""The s-form, ``min ||w||^2/2`` subject to a total loss of at most s, and bounds of ``s(C)`` (SSS13
section 4).

The solution for C solves the s-form for ``s(C) = sum_i loss(<z_i, w(C)>)``. As C grows, s(C) falls
and ``||w(C)||`` grows (SSS13 Lemma 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from safescreen._checks import check_lam
from safescreen.cones import Cone
from safescreen.losses import Loss
from safescreen.rounding import TINY, UNIT, ElementLike, gamma, upper
from safescreen.spheres import Sphere
from safescreen.spheres.gap import from_evaluation_mgb
from safescreen.svm.references import ReferenceLike, as_reference, problem_of
from safescreen.terms import Terms


def total_loss(terms: Terms, w: ElementLike, loss: Loss | None = None) -> tuple[float, float]:
    """Return ``(low, high)``, bounds of the total loss ``H(w) = sum_i loss(<z_i, w>)`` that include
    rounding.

    Parameters
    ----------
    terms : Samples or other terms
    w : element of the space
    loss : SmoothedHinge, optional
        The hinge if left out.

    Returns
    -------
    tuple of float

    Raises
    ------
    TypeError
        `terms` have a free intercept, on which the loss of a sample depends.

    Notes
    -----
    The loss falls as the margin grows, so margins moved by their error bounds give bounds of the
    sum. Cost: one product with the data.

    Examples
    --------
    >>> import safescreen as ss
    >>> low, high = total_loss(ss.Samples([[1.0], [-2.0]], [1, -1]), np.array([0.25]))
    >>> low <= 1.25 <= high, high - low < 1e-12
    (True, True)
    """
    prob = problem_of(terms, loss)
    w = prob.cone.check(w, "w")
    low = 0.0
    high = 0.0
    products = terms.inner_products(w)
    for start, stop in terms.chunks():
        margins, errors = products.chunk(start, stop)
        tau = terms.thresholds(start, stop)
        weights = 1.0 if terms.weights is None else terms.weights[start:stop]
        margin_errors = errors + 4.0 * UNIT * (np.abs(margins) + np.abs(tau))
        low += float(np.sum(weights * prob.loss.value(margins + margin_errors, tau)))
        high += float(np.sum(weights * prob.loss.value(margins - margin_errors, tau)))
    rounding = gamma(len(terms) + 64)
    return max(low * (1.0 - rounding) - TINY, 0.0), high * (1.0 + rounding) + TINY


def s_bounds(
    terms: Terms,
    C: float,
    references: ReferenceLike | Sequence[ReferenceLike],
    loss: Loss | None = None,
) -> tuple[float, float]:
    """Return ``(low, high)`` with ``low <= s(C) <= high``. The bounds hold however inaccurate the
    references are.

    Parameters
    ----------
    terms : Samples or other terms
    C : float > 0
    references : Reference, Solution, or a sequence of them
        For any C.
    loss : SmoothedHinge, optional
        If left out, the loss of the first reference that has one; if none has, the hinge.

    Returns
    -------
    tuple of float

    Raises
    ------
    ValueError, TypeError
        `C` is not positive, or no reference is given.

    Notes
    -----
    ``s(C) = P* - ||w(C)||^2/(2 C)``, where ``P*`` is the optimal value. So `low` comes from a lower
    bound of ``P*`` and an upper bound of the norm::

        s(C) >= max_r (H(w_r) + ||w_r||^2/(2 C) - gap_r) - U^2/(2 C),   U = min_r (||m_r|| + r_r)

    Here reference r has the gap ``gap_r`` and the midpoint gap bound ``(m_r, r_r)`` at C. `high`
    follows in the same way from an upper bound of ``P*`` and a lower bound of the norm. A reference
    for a larger C adds ``s(C) >= s(C_r)``, and a reference for a smaller C adds ``s(C) <= s(C_r)``.
    SSS13 finds its ``s_b`` by trial and error; this function makes that search unnecessary.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> low, high = s_bounds(samples, 0.125, ss.svm.solution_below_c_min(samples, 0.125))
    >>> low <= 0.875 <= high, high - low < 1e-6
    (True, True)
    """
    C = check_lam(C, "C")
    given = references if isinstance(references, list | tuple) else [references]
    several = [as_reference(r, "references") for r in given]
    if not several:
        raise ValueError("references must hold at least one, got none")
    prob = problem_of(terms, loss, *several)
    low, high = _total(C, [_optimum(prob, C, r) for r in several])
    for r in several:
        if r.C != C:
            low_at_r, high_at_r = _total(r.C, [_optimum(prob, r.C, r)])
            if r.C > C:
                low = max(low, low_at_r)
            else:
                high = min(high, high_at_r)
    return low, high


def _optimum(prob, C, reference):
    """Return bounds ``(P_low, P_high, norm_low, norm_high)`` of the optimal value and of the norm
    of the optimum for C.
    """
    cone = prob.cone
    lam = 1.0 / C
    w = cone.check_feasible(reference.w, "reference.w")
    e = prob.evaluate(w, lam, reference.alpha)
    low, high = total_loss(prob.terms, w, prob.loss)
    shortest = cone.norm_lower(w)
    longest = cone.norm_upper(w)
    square_low = 0.5 * lam * (shortest * shortest)
    square_high = 0.5 * lam * (longest * longest)
    allowance = 8.0 * UNIT * (high + square_high + e.gap)
    P_low = low + square_low - e.gap - allowance
    P_high = high + square_high + allowance
    norm_low, norm_high = norm_of_ball(cone, from_evaluation_mgb(cone, e))
    return P_low, P_high, norm_low, norm_high


def _total(C, bounds):
    """Return bounds of ``s(C) = P* - ||w(C)||^2/(2 C)`` from the bounds that :func:`_optimum` gives
    for each reference.
    """
    P_lows, P_highs, norm_lows, norm_highs = zip(*bounds, strict=True)
    P_low = max(P_lows)
    P_high = min(P_highs)
    norm_low = max(norm_lows)
    norm_high = min(norm_highs)
    square_low = 0.5 * (norm_low * norm_low) / C
    square_high = 0.5 * (norm_high * norm_high) / C
    low = P_low - square_high - 8.0 * UNIT * (abs(P_low) + square_high)
    high = P_high - square_low + 8.0 * UNIT * (P_high + square_low)
    return max(low, 0.0), high


def norm_of_ball(cone: Cone, ball: Sphere) -> tuple[float, float]:
    """Return bounds ``(low, high)`` of the norms of the points of a ball."""
    low = cone.norm_lower(ball.center) - ball.radius
    high = upper(cone.norm_upper(ball.center) + ball.radius, 2)
    return max(low - 4.0 * UNIT * abs(low), 0.0), high
