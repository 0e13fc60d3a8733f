"""Line searches: minimise the mean loss along a segment. The mean loss is a convex function of one
variable, and piecewise quadratic for the hinges.
"""

from __future__ import annotations

import numpy as np

from safescreen._numba import njit
from safescreen.hdsl.losses import MarginLoss


def exact(
    margins: np.ndarray,
    direction: np.ndarray,
    top: float,
    loss: MarginLoss,
    weights: np.ndarray | None = None,
) -> float:
    """Return the minimiser over ``[0, top]`` of ``mean w loss(margins + step direction)``, exact up
    to rounding.

    The minimiser is `top` if the derivative at `top` is not positive, and 0 if the loss does not
    decrease in this direction.

    Parameters
    ----------
    margins, direction : arrays of shape (T,)
    top : float
        Largest step.
    loss : MarginLoss
    weights : array of shape (T,), optional
        Non-negative weights; equal if left out.

    Returns
    -------
    float

    Notes
    -----
    The derivative is continuous and increasing. Newton's method inside a bracket ends after a
    handful of steps of cost O(T); for the hinges it ends when it is on the right quadratic piece.

    Examples
    --------
    >>> margins, direction = np.array([0.0, 1.0]), np.array([2.0, -1.0])
    >>> round(exact(margins, direction, 1.0, MarginLoss()), 12)
    0.4
    >>> round(exact(margins, direction, 1.0, MarginLoss(), np.array([1.0, 4.0])), 12)
    0.25
    """
    return _newton(margins, direction, weights, top, *loss.code)


def bisection(
    margins, direction, top, loss: MarginLoss, tol: float = 1e-8, weights: np.ndarray | None = None
) -> float:
    """Return the minimiser to the tolerance `tol`, by repeated halving of ``[0, top]`` according to
    the sign of the derivative (HDSL19 section 3.2.2).

    Parameters
    ----------
    margins, direction, top, loss
        As for :func:`exact`.
    tol : float
        Length of the last bracket, relative to `top`.
    weights : array of shape (T,), optional
        As for :func:`exact`.

    Returns
    -------
    float
        The lower end of the last bracket, so that the mean loss never increases; `top` if the
        derivative at `top` is not positive.

    Notes
    -----
    Cost: O(T log(1/tol)).
    """
    fixed = margins, direction, weights
    if _slopes(*fixed, top, *loss.code)[0] <= 0.0:
        return top
    low = 0.0
    high = top
    while high - low > tol * top:
        middle = low + 0.5 * (high - low)
        if _slopes(*fixed, middle, *loss.code)[0] <= 0.0:
            low = middle
        else:
            high = middle
    return low


LINE_SEARCHES = {"exact": exact, "bisection": bisection}


@njit
def _slopes(margins, direction, weights, step, kind, smoothing):
    """Return the first and the second derivative of the summed loss at `step`. If `weights` is
    None, all weights are 1. `kind` is the number of the loss.
    """
    first = 0.0
    second = 0.0
    cap = smoothing if kind == 0 else np.inf
    for t in range(margins.size):
        v = direction[t]
        weight = 1.0 if weights is None else weights[t]
        slack = 1.0 - margins[t] - step * v
        if kind >= 2:
            e = np.exp(-(margins[t] + step * v)) if kind == 3 else np.exp(margins[t] + step * v)
            first -= weight * (v * e if kind == 3 else v / (1.0 + e))
            second += weight * (
                v * v * e if kind == 3 else v * v / (1.0 + e) * (1.0 - 1.0 / (1.0 + e))
            )
        elif slack >= cap:
            first -= weight * v
        elif slack > 0.0:
            first -= weight * (slack / smoothing * v)
            second += weight * (v * v / smoothing)
    return first, second


@njit
def _newton(margins, direction, weights, top, kind, smoothing):
    low = 0.0
    high = top
    step = 0.0
    if _slopes(margins, direction, weights, top, kind, smoothing)[0] <= 0.0:
        return top
    first, second = _slopes(margins, direction, weights, 0.0, kind, smoothing)
    if first >= 0.0:
        return 0.0
    for k in range(200):
        new = step - first / second if second > 0.0 else low
        # this is the root, even if it rounds to an end of the bracket
        if second > 0.0 and abs(new - step) <= 1e-15 * top:
            return new
        # now and then halve the bracket, because Newton's steps are short for an exponential loss
        if not low < new < high or k % 16 == 15:
            new = low + 0.5 * (high - low)
        if new == step or high - low <= 1e-15 * top:
            return new
        step = new
        first, second = _slopes(margins, direction, weights, step, kind, smoothing)
        if first == 0.0:
            return step
        if first < 0.0:
            low = step
        else:
            high = step
    return step
