"""The best intercept for given margins, and bounds of every best intercept: roots of a falling sum.

With the kinks ``k_t = y_t (tau_t - <a_t, x>)`` the slack of term t at the intercept b is
``y_t (k_t - b)``. Its dual variable is ``alpha_t(b) = clip(y_t (k_t - b)/g, 0, cap)``, and

    balance(b) = sum_t w_t y_t alpha_t(b)

falls as b grows. At the best b the balance has a target value, which is 0 for a problem without
screened terms. For the hinge, g = 0, the best b is an order statistic of the kinks. The balance
grows with each kink, so bounds of the kinks give bounds of every root.
"""

from __future__ import annotations

import numpy as np

from safescreen._numba import njit
from safescreen.rounding import UNIT, gamma

STEPS = 60
"""How often a bound that is not confirmed is moved outward, each time twice as far as before."""


def root_interval(kinks, signs, w, width, cap, target):
    """Return ``(smallest, largest)`` of the b where the balance is `target`, as computed.

    They are infinite where the balance does not reach the target. Sums that differ by no more than
    their roundings count as equal. Cost: O(n log n).
    """
    turns = turning_points(kinks, signs, width, cap)
    return _roots(kinks, signs, w, width, cap, target, np.argsort(turns))


def best_intercept(kinks, signs, w, width, cap, target):
    """Return the middle of the interval where the balance is `target`, 0 where no end is finite."""
    return _middle(*root_interval(kinks, signs, w, width, cap, target))


@njit
def intercept_of_few(kinks, signs, w, width, cap, target):
    """Return what :func:`best_intercept` does, in a kernel, whose sorting is the slower the more
    terms there are.
    """
    turns = turning_points(kinks, signs, width, cap)
    low, high = _roots(kinks, signs, w, width, cap, target, np.argsort(turns))
    return _middle(low, high)


@njit
def turning_points(kinks, signs, width, cap):
    """Return the kinks; where the loss is smooth, after them the other ends of the quadratic
    pieces, which are infinite without a cap.
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
    """Return the middle of two ends, one of them where the other is infinite, 0 where both are."""
    if not np.isfinite(low):
        low = high
    if not np.isfinite(high):
        high = low
    return 0.5 * (low + high) if np.isfinite(low) else 0.0


@njit
def _roots(kinks, signs, w, width, cap, target, order):
    """Return what :func:`root_interval` does, from the order of the turning points."""
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
    if width > 0.0:  # dual variables between the kinks are at most so large
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
    for t in range(n):  # what falls from the beginning
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
        # a positive term stops falling at its kink, a negative one starts there
        turn = signs[t] * (w[t] / width)
        slope += turn if number < n else -turn
        last = point
    return last + (target - value) / slope if slope < 0.0 else np.inf


def certain_bound(kinks, signs, w, width, cap, target, doubt, side):
    """Return a bound of every b where the balance, for these kinks, is within `doubt` of `target`.

    `side` is -1 for a lower bound and 1 for an upper one. The computed root is moved outward until
    the balance there, which is summed directly, differs from the target by more than `doubt` and
    all roundings: 8 units of a summand, and ``gamma_n`` of the sum. Beyond such a b there is no
    root, since the balance falls. The bound is infinite where nothing is confirmed, as with NaN.
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
    """Return ``sum_t w_t y_t alpha_t(b)`` and ``sum_t w_t alpha_t(b)``; at a kink of the hinge
    alpha is 0.
    """
    total = 0.0
    size = 0.0
    for t in range(kinks.size):
        slack = signs[t] * (kinks[t] - b)
        if not slack <= 0.0:  # a NaN stays one
            alpha = min(slack / width, cap) if width > 0.0 else 1.0 + 0.0 * slack
            total += signs[t] * w[t] * alpha
            size += w[t] * alpha
    return total, size


@njit
def balanced_sum(signs, w, alpha, offset):
    """Return ``offset + sum_t w_t y_t alpha_t`` and ``|offset| + sum_t w_t alpha_t``.

    The sum carries the error of each addition along. So the first result is off by at most
    ``2 u |sum| + (u + gamma_n^2)`` times the second, where u is the rounding of ``w_t alpha_t``.
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
