"""Compiled lower bounds of ``<a, x>`` over intersections, each of them a Lagrangian value at the
best multiplier.

Weak duality makes the bounds safe. The multiplier only decides how tight a bound is, so rounding
errors of the multiplier do not matter. The value at the computed multiplier is evaluated with every
rounding added. A maximum is minus the minimum for ``-a``. ``-inf`` means "no better than the ball".
"""

from typing import NamedTuple

import numpy as np

from safescreen._numba import njit
from safescreen.rounding import FLOOR, UNIT


class Cap(NamedTuple):
    """The part of a ball, ``||x - Q|| <= r``, in a half-space ``<p, x - Q> >= delta``. Here p is a
    normal divided by `scale`, which is at least the length of the normal, and ``root = sqrt(r^2 -
    delta^2)``.
    """

    r: float
    delta: float
    root: float
    scale: float


class TwoBalls(NamedTuple):
    """Two balls with the squared radii `square1` and `square2`. Their centers are `distance` apart,
    and at least ``D = sqrt(distance_square)``. Their surfaces meet at the distance `h` from
    ``(1-t0) Q1 + t0 Q2``.
    """

    square1: float
    square2: float
    distance: float
    distance_square: float
    t0: float
    h: float


@njit
def _over_halfspace(q, e, s, s_error, n, r, delta, root):
    """Return a lower bound of ``<a, x>`` over ``||x - Q|| <= r, <p, x - Q> >= delta``, ``||p|| <=
    1``.

    Inputs: ``q = <a, Q>`` and ``s = <a, p>`` with their error bounds, ``n >= ||a||``,
    ``root = sqrt(r^2 - delta^2)``.

    ``q + k delta - r ||a - k p||`` is a lower bound for every ``k >= 0``. The best k is ``s + delta
    sqrt(n^2 - s^2)/sqrt(r^2 - delta^2)``.
    """
    k = s + delta * np.sqrt(max((n - s) * (n + s), 0.0)) / root
    if not k > 0.0:
        return -np.inf
    square = n * n - 2.0 * k * s + k * k
    square += 2.0 * k * s_error + 16.0 * UNIT * (n * n + 2.0 * k * abs(s) + k * k) + FLOOR
    # the square needs 8 of its 16 units; the other 8 enlarge its root by 4, enough for all of
    # spread
    spread = r * np.sqrt(max(square, 0.0))
    allowance = e + 8.0 * UNIT * (abs(q) + k * abs(delta) + e) + FLOOR
    return q + k * delta - spread - allowance


@njit
def _over_two_balls(q1, e1, q2, e2, n, balls):
    """Return a lower bound of ``<a, x>`` over the intersection of two balls.

    The bound is the minimum over the ball with center ``(1-t) Q1 + t Q2`` and squared radius
    ``(1-t) r1^2 + t r2^2 - t (1-t) D^2``.

    The best t is ``t0 + h f/(D sqrt(1 - f^2))`` with ``f = (q2 - q1)/(n D)``. If it is outside (0,
    1), one ball alone gives the best bound.
    """
    square1, square2, distance, distance_square, t0, h = balls
    f = (q2 - q1) / (n * distance)
    root = np.sqrt(max((1.0 - f) * (1.0 + f), 0.0))
    t = t0 + h * f / (distance * root) if root > 0.0 else -1.0
    if not (t > 0.0 and t < 1.0):
        return -np.inf
    s = 1.0 - t
    square = s * square1 + t * square2 - s * t * distance_square
    square += 16.0 * UNIT * (square1 + square2 + distance_square) + FLOOR
    if not square >= 0.0:
        return -np.inf
    # no radius exceeds the sum of the distance and the other radius, so the square needs at most 9
    # of its 16 units; the other units enlarge its root by 8, enough for all of spread
    spread = n * np.sqrt(square)
    allowance = s * e1 + t * e2
    allowance += 8.0 * UNIT * (s * abs(q1) + t * abs(q2) + allowance) + FLOOR
    return s * q1 + t * q2 - spread - allowance


@njit
def halfspace_kernel(at_center, at_normal, norms, cap, thresholds, in_L, in_R):
    """Decide the terms that are still undecided, by their margins at the center and at the
    normal.
    """
    q, q_errors = at_center
    s, s_errors = at_normal
    r, delta, root, scale = cap
    low, high, step = thresholds
    for t in range(q.size):
        if in_L[t] or in_R[t]:
            continue
        # the 16 units of `_over_halfspace` include the rounding and the underflow of both
        # quotients, since 2 k s_error <= 2 k |s| + k^2 + n^2 wherever it counts
        sp = s[t] / scale
        error = s_errors[t] / scale
        a, b = low[t * step], high[t * step]
        in_R[t] = _over_halfspace(q[t], q_errors[t], sp, error, norms[t], r, delta, root) > b
        below = -_over_halfspace(-q[t], q_errors[t], -sp, error, norms[t], r, delta, root)
        in_L[t] = below < a - 4.0 * UNIT * (abs(a) + abs(b))


@njit
def intersection_kernel(at_center1, at_center2, norms, balls, thresholds, in_L, in_R):
    """Decide the terms that neither of two balls has decided, by their margins at both centers."""
    q1, e1 = at_center1
    q2, e2 = at_center2
    low, high, step = thresholds
    for t in range(q1.size):
        if in_L[t] or in_R[t]:
            continue
        n = norms[t]
        a = low[t * step]
        b = high[t * step]
        in_R[t] = _over_two_balls(q1[t], e1[t], q2[t], e2[t], n, balls) > b
        below = -_over_two_balls(-q1[t], e1[t], -q2[t], e2[t], n, balls)
        in_L[t] = below < a - 4.0 * UNIT * (abs(a) + abs(b))
