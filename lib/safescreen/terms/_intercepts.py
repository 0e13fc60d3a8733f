"""The best intercept for given margins, and bounds of every best intercept: roots of a decreasing
sum.

With the kinks ``k_t = y_t (tau_t - <a_t, x>)`` the slack of term t at the intercept b is
``y_t (k_t - b)``. Its dual variable is ``alpha_t(b) = clip(y_t (k_t - b)/g, 0, cap)``, and

    balance(b) = sum_t w_t y_t alpha_t(b)

decreases as b grows. At the best b the balance has a target value, which is 0 for a problem without
screened terms. For the hinge, g = 0, the best b is an order statistic of the kinks. The balance
increases with each kink, so bounds of the kinks give bounds of every root.
"""

from __future__ import annotations

import numpy as np

from safescreen._numba import njit
from safescreen.rounding import UNIT, gamma

STEPS = 60
"""How many times a bound that is not confirmed is moved outward. Each move is twice as long as the
last one.
"""


def root_interval(kinks, signs, w, width, cap, target):
    """Return the smallest and the largest b at which the computed balance is `target`.

    An end is infinite where the balance does not reach the target. Sums that differ by no more than
    their rounding errors count as equal. Cost: O(n log n).
    """
    turns = turning_points(kinks, signs, width, cap)
    return _roots(kinks, signs, w, width, cap, target, np.argsort(turns))


def best_intercept(kinks, signs, w, width, cap, target):
    """Return the middle of the interval in which the balance is `target`; the finite end if the
    other end is infinite, and 0 if both are.
    """
    return _middle(*root_interval(kinks, signs, w, width, cap, target))


@njit
def intercept_of_few(kinks, signs, w, width, cap, target):
    """Return the result of :func:`best_intercept`. This kernel is for few terms: its sort is slow
    for many.
    """
    turns = turning_points(kinks, signs, width, cap)
    low, high = _roots(kinks, signs, w, width, cap, target, np.argsort(turns))
    return _middle(low, high)


@njit
def turning_points(kinks, signs, width, cap):
    """Return the kinks. If the loss is smooth, the other ends of the quadratic pieces follow; they
    are infinite without a cap.
    """
    n = kinks.size
    points = np.empty(2 * n if width > 0.0 else n)
    for t in range(n):
        points[t] = kinks[t]
    for t in range(points.size - n):
        points[n + t] = kinks[t] - signs[t] * (width * cap)
    return points


@njit
def _middle(low, high):
    """Return the middle of two ends; the finite end if the other end is infinite, and 0 if both
    are.
    """
    if not np.isfinite(low):
        low = high
    if not np.isfinite(high):
        high = low
    return 0.5 * (low + high) if np.isfinite(low) else 0.0


@njit
def _roots(kinks, signs, w, width, cap, target, order):
    """Return the result of :func:`root_interval`, given the order of the turning points."""
    rest = -target
    total = 0.0
    first = np.inf
    last = -np.inf
    for t in range(kinks.size):
        total += w[t]
        rest += w[t] if signs[t] > 0.0 else 0.0
        first = min(first, kinks[t])
        last = max(last, kinks[t])
    doubt = UNIT * (kinks.size + 16) * total
    if width > 0.0:  # the largest dual variable between the kinks
        doubt *= cap if np.isfinite(cap) else (last - first) / width
        low = _root_of_pieces(kinks, signs, w, width, cap, target + doubt, order)
        return low, _root_of_pieces(kinks, signs, w, width, cap, target - doubt, order)
    low = -np.inf
    fallen = 0.0
    is_above = rest <= doubt  # whether the balance was still above the target
    for t in order:
        fallen += w[t]
        if not is_above and fallen >= rest - doubt:
            is_above = True
            low = kinks[t]
        if fallen > rest + doubt:
            return low, kinks[t]
    return low if is_above else np.inf, np.inf


@njit
def _root_of_pieces(kinks, signs, w, width, cap, target, order):
    """Return the root of a balance that is linear between the ends of the quadratic pieces."""
    n = kinks.size
    slope = 0.0
    for t in range(n):  # the slope before the first turning point
        if signs[t] > 0.0 and not np.isfinite(cap):
            slope -= w[t] / width
    value = 0.0
    last = -np.inf
    for number in order:
        t = number % n
        point = kinks[t] if number < n else kinks[t] - signs[t] * (width * cap)
        if not np.isfinite(point):
            continue
        if last == -np.inf:
            value, _ = balance(kinks, signs, w, width, cap, point)
            if value <= target:
                return point + (target - value) / slope if slope < 0.0 else -np.inf
        else:
            fallen = value + slope * (point - last)
            if fallen <= target:
                return min(last + (target - value) / slope, point) if slope < 0.0 else np.inf
            value = fallen
        # the share of a positive term stops decreasing at its kink, the share of a negative term
        # starts there
        turn = signs[t] * (w[t] / width)
        slope += turn if number < n else -turn
        last = point
    return last + (target - value) / slope if slope < 0.0 else np.inf


def certain_bound(kinks, signs, w, width, cap, target, doubt, side):
    """Return a bound of every b where the balance, for these kinks, is within `doubt` of `target`.

    `side` is -1 for a lower bound and 1 for an upper one. The computed root is moved outward until
    the balance there, which is summed directly, differs from the target by more than `doubt` and
    all rounding errors: 8 units for a summand, and ``gamma_n`` for the sum. Beyond such a b there
    is no root, since the balance decreases. The bound is infinite if no b is confirmed, for example
    because of NaN.
    """
    b = root_interval(kinks, signs, w, width, cap, target)[max(side, 0)]
    if not np.isfinite(b):
        return side * np.inf
    relative = gamma(kinks.size + 16)
    step = 4.0 * UNIT * (abs(b) + 1.0)
    for _ in range(STEPS):
        value, size = balance(kinks, signs, w, width, cap, b)
        beyond = side * (target - value)
        if beyond > (doubt + relative * (size + abs(target) + doubt)) * (1.0 + 16.0 * UNIT):
            return b
        b += side * step
        step *= 2.0
    return side * np.inf


@njit
def balance(kinks, signs, w, width, cap, b):
    """Return ``sum_t w_t y_t alpha_t(b)`` and ``sum_t w_t alpha_t(b)``; at a kink of the hinge,
    ``alpha_t`` is 0.
    """
    total = 0.0
    size = 0.0
    for t in range(kinks.size):
        slack = signs[t] * (kinks[t] - b)
        if not slack <= 0.0:  # NaN is kept
            alpha = min(slack / width, cap) if width > 0.0 else 1.0 + 0.0 * slack
            total += signs[t] * w[t] * alpha
            size += w[t] * alpha
    return total, size


@njit
def balanced_sum(signs, w, alpha, offset):
    """Return ``offset + sum_t w_t y_t alpha_t`` and ``|offset| + sum_t w_t alpha_t``.

    The sum is compensated: the error of each addition is summed too. So the error of the first
    result is at most ``2 u |sum| + (u + gamma_n^2) size``, where size is the second result. The
    second u is for the rounding of ``w_t alpha_t``.
    """
    total = offset
    carried = 0.0
    size = abs(offset)
    for t in range(alpha.size):
        value = w[t] * alpha[t]
        size += value
        value *= signs[t]
        moved = total + value
        back = moved - total
        carried += (total - (moved - back)) + (value - back)
        total = moved
    return total + carried, size
