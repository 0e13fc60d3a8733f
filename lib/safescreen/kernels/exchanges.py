"""Exchanges for a balanced problem whose kernel matrix is in memory: one coordinate rises as far as
another one falls (Platt 1999; Fan, Chen & Lin 2005).

For a thousand coordinates exchanges are the cheapest steps: an exchange reads two rows of the
matrix, and needs no copy, no working set and no factorization.
"""

from __future__ import annotations

import numpy as np

from safescreen._numba import njit
from safescreen._threads import stop_if_asked
from safescreen.kernels.matrices import GivenMatrix
from safescreen.kernels.quadratic import End, exchange
from safescreen.kernels.working_sets import LARGEST_SET, SLACK, WorkingPoint, scan
from safescreen.rounding import UNIT
from safescreen.terms._intercepts import intercept_of_few
from safescreen.terms._sample_kernels import DualObjective, UpdateLimits

EXCHANGES = 20
"""Largest number of updates per coordinate by exchanges, before the first working set."""

ALL_EXCHANGES = 4000
"""Largest total number of updates by exchanges; one update per coordinate if that is more. With a
thousand coordinates or more, a few exchanges are cheap and enough for most problems, but many
exchanges cost more than working sets.
"""

FALL = 0.1
"""Exchanges end when the slopes differ by at most this fraction of their first difference, or of
:data:`FIRST` if that is less.
"""

FIRST = 0.01
"""While slopes differ by more than this, the gap is hardly ever small enough. It is not computed
then, because that takes as long as many exchanges.
"""

AT_ONCE = 2e7
"""Number of products (updates times coordinates) between two calls of `is_over`."""


def can_exchange(matrix, ids):
    """Return whether exchanges are possible: the coordinates are the first rows of a
    :class:`GivenMatrix`, and not too many.
    """
    is_first = 0 < ids.size <= LARGEST_SET and ids[-1] == ids.size - 1
    return is_first and isinstance(matrix, GivenMatrix)


def improve_by_exchanges(point: WorkingPoint, limits: UpdateLimits, dual: float, is_over=None):
    """Improve a balanced dual point as :func:`~safescreen.kernels.working_sets.improve` does, but
    by exchanges only, and only as long as they are few. The products of the point are up to date at
    the end.

    Return the spread of the slopes, the number of updates, and whether the tolerance or a gap is
    reached.
    """
    n = point.alpha.size
    most = min(EXCHANGES * n, max(ALL_EXCHANGES, n), limits.updates)
    part = max(2 * n, int(AT_ONCE / n))
    its = point.products, point.norms, point.alpha, point.objective
    done = 0
    while True:
        stop_if_asked()
        now = limits._replace(updates=min(part, most - done))
        spread, steps, dual, is_enough = _exchange_until(
            point.matrix.parts(), point.signs[:n], *its, now, dual
        )
        done += steps
        if is_enough or steps == 0 or done >= most or (is_over is not None and is_over()):
            return spread, done, is_enough


@njit
def _exchange_until(parts, signs, products, norms, alpha, objective, limits, dual):
    """Make exchanges until a limit is reached. Return the spread of the slopes, the number of
    updates, the dual value, and whether the tolerance or a gap is reached.

    The coordinates are ``v_t = y_t w_t alpha_t/lam``, so the slopes are in units of the margin.
    """
    tau, w, g, cap, lam = objective
    n = alpha.size
    everything = np.arange(n)
    ridge = np.empty(n)
    low = np.zeros(n)
    high = np.zeros(n)
    v = np.empty(n)
    slopes = np.empty(n)
    total = 0.0
    rounded = 0.0
    for t in range(n):
        ridge[t] = g * lam / w[t]
        v[t] = signs[t] * w[t] * alpha[t] / lam
        if signs[t] > 0.0:
            high[t] = w[t] * (cap / lam)
        else:
            low[t] = -w[t] * (cap / lam)
        slopes[t] = signs[t] * (products[t] / lam + g * alpha[t] - tau[t])
        total += signs[t] * w[t] * alpha[t]
        rounded = max(rounded, SLACK * UNIT * (abs(tau[t]) + abs(products[t]) / lam))
    gains = np.empty(n)
    firm = np.empty(n, dtype=np.bool_)
    done = 0
    while True:
        b = intercept_of_few(ridge * v - slopes, signs, w, g, cap, total)
        around = DualObjective(tau - signs * b, w, g, cap, lam)
        spread, gap, cost = scan(products, norms, alpha, around, everything, gains, firm)
        wanted = max(limits.gap, limits.relative_gap * max(cost, dual))
        is_enough = spread <= limits.tolerance or gap <= wanted
        if is_enough or done >= limits.updates:
            return spread, done, dual, is_enough
        few = max(limits.tolerance, FALL * min(spread, FIRST), rounded)
        before = v.copy()
        slopes_before = slopes.copy()
        end = End(few, 0.0, min(2 * n, limits.updates - done))
        steps = exchange(parts, ridge, slopes, v, low, high, end)
        if steps == 0:
            return spread, done, dual, False
        done += steps
        for t in range(n):
            change = v[t] - before[t]
            moved = slopes[t] - slopes_before[t]
            dual -= 0.5 * lam * (slopes_before[t] + slopes[t]) * change
            products[t] += lam * signs[t] * (moved - ridge[t] * change)
            if change != 0.0:
                is_free = low[t] < v[t] < high[t] or v[t] == 0.0
                alpha[t] = min(abs(v[t]) * lam / w[t], cap) if is_free else cap
