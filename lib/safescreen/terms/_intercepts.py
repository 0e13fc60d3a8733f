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

    They are infinite where the balance does not reach the target. For the hinge, sums that differ
    by no more than their roundings count as equal. Cost: O(n log n).
    """
    if width > 0.0:
        root = _root_of_pieces(kinks, signs, w, width, cap, target)
        return root, root
    order = np.argsort(kinks)
    ordered = np.concatenate((kinks[order], [np.inf]))
    rest = float(w[signs > 0.0].sum()) - target
    doubt = gamma(kinks.size + 8) * float(w.sum())
    fallen = np.cumsum(w[order])
    low = -np.inf
    if rest > doubt:
        low = float(ordered[np.searchsorted(fallen, rest - doubt)])
    return low, float(ordered[np.searchsorted(fallen, rest + doubt, side="right")])


def best_intercept(kinks, signs, w, width, cap, target):
    """Return the middle of the interval where the balance is `target`, 0 where no end is finite."""
    low, high = root_interval(kinks, signs, w, width, cap, target)
    ends = [b for b in (low, high) if np.isfinite(b)]
    return 0.5 * (ends[0] + ends[-1]) if ends else 0.0


def _root_of_pieces(kinks, signs, w, width, cap, target):
    """Return the root of a balance that is linear between the ends of the quadratic pieces."""
    ends = kinks - signs * (width * cap)
    is_finite = np.isfinite(ends)
    positive = signs > 0.0
    rates = w / width
    # a positive term stops falling at its kink, a negative one starts there
    turns = np.where(positive, rates, -rates)
    points = np.concatenate((kinks, ends[is_finite]))
    order = np.argsort(points)
    points = points[order]
    before = -float(rates[positive & ~is_finite].sum())
    slopes = before + np.cumsum(np.concatenate((turns, -turns[is_finite]))[order])
    first, _ = balance(kinks, signs, w, width, cap, float(points[0]))
    falls = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(points))))
    place = int(np.searchsorted(-(first + falls), -target))
    if place == 0:
        return float(points[0] + (target - first) / before) if before < 0.0 else -np.inf
    start = float(points[place - 1])
    slope = float(slopes[place - 1])
    if not slope < 0.0:
        return np.inf
    root = start + (target - first - float(falls[place - 1])) / slope
    return min(root, float(points[place])) if place < points.size else root


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
