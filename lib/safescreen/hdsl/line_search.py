"""Minimise the mean loss along a segment: a convex piecewise quadratic of one variable."""

import numpy as np

from safescreen._numba import njit

__all__ = ["LINE_SEARCHES", "bisection", "exact"]


def exact(margins: np.ndarray, direction: np.ndarray, top: float, smoothing: float, weights: np.ndarray | None = None) -> float:
    """Return the minimiser over ``[0, top]`` of ``mean w loss(margins + step direction)``, exact up to rounding.

    It is `top` if the derivative is not positive there; 0 if the direction is not one of descent. The derivative is continuous, piecewise
    linear and increasing; Newton's method inside a bracket ends on the right piece, after a handful of steps of cost O(T).

    Parameters
    ----------
    margins, direction : arrays of shape (T,)
    top : float
        Largest step.
    smoothing : float > 0
        Width of the quadratic part of the smoothed hinge.
    weights : array of shape (T,), optional
        Not negative; all equal if left out.

    Examples
    --------
    >>> round(exact(np.array([0.0, 1.0]), np.array([2.0, -1.0]), 1.0, 1.0), 12)
    0.4
    >>> round(exact(np.array([0.0, 1.0]), np.array([2.0, -1.0]), 1.0, 1.0, np.array([1.0, 4.0])), 12)
    0.25
    """
    return _newton(margins, direction, *_strided(weights), top, smoothing)


def bisection(
    margins: np.ndarray, direction: np.ndarray, top: float, smoothing: float, tol: float = 1e-8, weights: np.ndarray | None = None
) -> float:
    """Return the minimiser found by halving ``[0, top]`` on the sign of the derivative (HDSL19 section 3.2.2).

    Arguments as of :func:`exact`; `tol` is the length of the last bracket relative to `top`. The step is the lower end of the last
    bracket, so that the mean loss never increases; `top` if the derivative is negative there. Cost O(T log(1/tol)).
    """
    fixed = margins, direction, *_strided(weights)
    if _slopes(*fixed, top, smoothing)[0] <= 0.0:
        return top
    low, high = 0.0, top
    while high - low > tol * top:
        middle = low + 0.5 * (high - low)
        if _slopes(*fixed, middle, smoothing)[0] <= 0.0:
            low = middle
        else:
            high = middle
    return low


LINE_SEARCHES = {"exact": exact, "bisection": bisection}


def _strided(weights):
    """Return weights and the distance of two of them: a single 1 stands for no weights."""
    return (np.ones(1), 0) if weights is None else (weights, 1)


@njit
def _slopes(margins, direction, weights, stride, step, smoothing):
    """Return first and second derivative of the summed loss at `step`."""
    first, second = 0.0, 0.0
    for t in range(margins.size):
        v = direction[t]
        slack = 1.0 - margins[t] - step * v
        if slack > 0.0:
            weight = weights[t * stride]
            if slack >= smoothing:
                first -= weight * v
            else:
                first -= weight * (slack / smoothing * v)
                second += weight * (v * v / smoothing)
    return first, second


@njit
def _newton(margins, direction, weights, stride, top, smoothing):
    low, high = 0.0, top
    if _slopes(margins, direction, weights, stride, top, smoothing)[0] <= 0.0:
        return top
    first, second = _slopes(margins, direction, weights, stride, 0.0, smoothing)
    if first >= 0.0:
        return 0.0
    step = 0.0
    for _ in range(200):
        new = step - first / second if second > 0.0 else low
        if second > 0.0 and abs(new - step) <= 1e-15 * top:  # the root, though it may round to an end of the bracket
            return new
        if not low < new < high:
            new = low + 0.5 * (high - low)
        if new == step or high - low <= 1e-15 * top:
            return new
        step = new
        first, second = _slopes(margins, direction, weights, stride, step, smoothing)
        if first == 0.0:
            return step
        if first < 0.0:
            low = step
        else:
            high = step
    return step
