"""Exact line searches. The objective along a direction is convex, and its slope is piecewise
linear.
"""

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import UNIT, ElementLike

PAST = 3.0
"""A computed margin counts as certainly past a kink if it lies this many error bounds beyond the
kink: an evaluation counts the bound twice, and the computed value of a margin at the kink may lie
one bound before the kink.
"""

KINK = 1e-12
"""Width of the smoothed hinge that replaces the hinge in a line search."""


def line_search(problem: Problem, e: Evaluation, slack: NDArray, direction: ElementLike) -> float:
    """Return the t > 0 that minimizes the objective at ``x + t direction``, where e is the
    evaluation at x, and ``slack = tau - margins(x)``. Cost: O(T).
    """
    terms = problem.terms
    loss = problem.loss
    inner = problem.cone.inner
    down = inner(e.gradient, direction)
    square = e.lam * inner(direction, direction)
    weights = np.ones(1) if terms.weights is None else terms.weights
    slopes = terms.margins(direction)
    return _line_search(
        slack,
        slopes,
        weights,
        int(terms.weights is not None),
        loss.smoothing,
        loss.cap,
        down,
        square,
    )


def best_multiple(problem: Problem, x: ElementLike, lam: float) -> ElementLike:
    """Return the nonnegative multiple of x with the lowest objective of the hinge. Cost: O(T), and
    the margins of x.
    """
    terms = problem.terms
    inner = problem.cone.inner
    weights = np.ones(1) if terms.weights is None else terms.weights
    margins = terms.margins(x)
    slack = np.broadcast_to(terms.threshold, margins.shape)
    down = -float(np.sum(weights * margins, where=slack > 0.0)) - (
        0.0 if problem.linear is None else inner(problem.linear, x)
    )
    return x * _line_search(
        slack, margins, weights, int(terms.weights is not None), KINK, 1.0, down, lam * inner(x, x)
    )


def past_kinks(problem: Problem, e: Evaluation, alpha: NDArray) -> tuple[Evaluation, float]:
    """Return the evaluation of the hinge at ``(1 + nu) x``, where margins at a kink are certainly
    past the kink, and the cost of this move. Return the evaluation at x and 0 if the move does not
    lower the gap.

    At the solution a term with ``0 < alpha_t < 1`` has its margin at the kink tau_t. If the
    computed margin is not certainly past the kink, the gap includes a part of the margin's error
    e_t. At ``(1 + nu) x``, ``nu >= 3 e_t/tau_t``, the gap includes ``alpha_t (nu tau_t + 2 e_t)``
    instead. The sum of these numbers is a small fraction of the objective for every lam, since
    ``sum_t w_t tau_t alpha_t <= 2 P``. Cost: an evaluation, and the margins at x.
    """
    terms = problem.terms
    sizes = np.broadcast_to(terms.threshold, alpha.shape)
    inside = (alpha > 0.0) & (alpha < 1.0) & (sizes > 0.0)
    if not inside.any():
        return e, 0.0
    sizes = sizes[inside]
    chunk = terms.inner_products(e.x).chunk
    errors = [chunk(start, stop)[1][inside[start:stop]] for start, stop in terms.chunks()]
    errors = np.concatenate(errors)
    errors += 16.0 * UNIT * sizes  # the loss sums add the same error
    nu = PAST * float(np.max(errors / sizes))
    if not nu < 1.0:
        return e, 0.0
    larger = problem.evaluate((1.0 + nu) * e.x, e.lam, alpha)
    if not larger.gap < e.gap:
        return e, 0.0
    charged = alpha[inside] * (nu * sizes + 2.0 * errors)
    weights = 1.0 if terms.weights is None else terms.weights[inside]
    return larger, float(np.sum(weights * charged))


@njit
def _line_search(slack, slopes, weights, step, width, cap, down, square):
    """Return the t > 0 that minimizes the objective along a direction, by safeguarded Newton steps
    on its slope.

    ``slope(t) = down + t square - sum_t w_t (alpha_t(slack - t slopes) - alpha_t(slack)) slopes``
    is increasing and piecewise linear. In this form, as a sum of differences, it does not cancel
    near the solution.
    """
    low = 0.0
    high = np.inf
    t = 1.0
    for _ in range(100):
        value = down + t * square
        curvature = square
        for i in range(slack.size):
            before = min(max(slack[i], 0.0), width * cap)
            moved = slack[i] - t * slopes[i]
            after = min(max(moved, 0.0), width * cap)
            w = weights[i * step] * slopes[i] / width
            if after == moved and before == slack[i]:
                value += w * t * slopes[i]
            else:
                value -= w * (after - before)
            if moved > 0.0 and moved < width * cap:
                curvature += w * slopes[i]
        if value > 0.0:
            high = t
        else:
            low = t
        if not curvature > 0.0:
            break
        following = t - value / curvature
        if abs(following - t) <= 1e-12 * t:
            return max(following, 0.0)
        if not (following > low and following < high):
            following = 0.5 * (low + high) if high < np.inf else 2.0 * t
        if following == t:
            break
        t = following
    return t
