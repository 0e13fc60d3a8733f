"""Exact line searches: the objective along a direction is convex, its slope piecewise linear."""

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike

KINK = 1e-12
"""Width of the smoothed hinge that stands for the hinge on a line."""


def line_search(problem: Problem, e: Evaluation, slack: NDArray, direction: ElementLike) -> float:
    """Return the t > 0 that minimizes the objective at ``x + t direction``, x evaluated, with
    ``slack = tau - margins(x)``; O(T).
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
    """Return the multiple of x, zero or a positive one, with the lowest objective of the hinge;
    O(T) beside the margins of x.
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


@njit
def _line_search(slack, slopes, weights, step, width, cap, down, square):
    """Return the t > 0 that minimizes the objective along a direction, by safeguarded Newton steps
    on its slope.

    ``slope(t) = down + t square - sum_t w_t (alpha_t(slack - t slopes) - alpha_t(slack)) slopes``
    is increasing and piecewise linear; written with differences it does not cancel near the
    solution."""
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
        if following == t or high <= 1e-14:
            break
        t = following
    return t
