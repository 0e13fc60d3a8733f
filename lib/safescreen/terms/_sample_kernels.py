"""Compiled sweeps of dual coordinate descent over samples, dense and sparse.

The dual is ``sum_t w_t (tau_t alpha_t - g/2 alpha_t^2) - ||H||^2/(2 lam)`` with
``H = c + sum_t w_t alpha_t z_t``. Divided by ``w_t``, its slope in ``-alpha_t`` is
``<z_t, H>/lam - tau_t + g alpha_t``, and its curvature is ``w_t ||z_t||^2/lam + g``.

A visit of a coordinate adds its share ``w_t (loss(m_t) + loss*(-alpha_t) + alpha_t m_t)`` of the
duality gap at ``x = H/lam`` to a sum. The share is 0 if the coordinate is at its best bound. So a
sweep ends with an estimate of the gap, and of the objective, at almost no cost.

Dense and sparse rows are compiled to separate loops. A common loop would take one and a half to two
times as long for dense rows. The operations on a row are compiled into the sweep. Function calls
would cost 20 % for sparse rows of 14 entries.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit

FIRM = 0.5
"""A coordinate at a bound is left out if its slope is more than this fraction of the largest slope
in the last sweep.
"""


class DualObjective(NamedTuple):
    """What the dual objective consists of besides the samples.

    Attributes
    ----------
    tau, w : arrays
        Threshold and weight of each coordinate.
    smoothing, cap : float
        Smoothing of the loss, and the largest dual variable that it allows.
    lam : float
    """

    tau: NDArray
    w: NDArray
    smoothing: float
    cap: float
    lam: float


class DualSum(NamedTuple):
    """A dual point `alpha`, shape (n,), and its sum ``H = c + sum_t w_t alpha_t z_t``, shape
    (d,).
    """

    alpha: NDArray
    H: NDArray


class UpdateLimits(NamedTuple):
    """When the sweeps end.

    Attributes
    ----------
    tolerance : float
        The sweeps end when the projected slopes differ by at most this.
    gap, relative_gap : float
        The sweeps end when the estimated gap is at most `gap`, or at most `relative_gap` times the
        objective.
    updates : int
        Largest number of updates. Each visit of a coordinate counts.
    """

    tolerance: float
    gap: float
    relative_gap: float
    updates: int


class SweepState(NamedTuple):
    """What a sweep takes over from the one before it.

    Attributes
    ----------
    order : int array of shape (n,)
        The order of the coordinates, which is overwritten.
    memory : array of shape (5,)
        The number of coordinates that are visited, the upper and the lower slope beyond which a
        coordinate is left out, the loss of the coordinates that are left out, and ``||H||^2``. The
        array is overwritten.
    visits : int
        Number of visits so far.
    seed : int
        State of the generator that orders the coordinates.
    """

    order: NDArray
    memory: NDArray
    visits: int
    seed: int


@njit
def _shuffle(order, n, state):
    """Permute the first n entries. Take the state of a linear congruential generator, and return
    its new state.
    """
    for i in range(n - 1, 0, -1):
        state = (state * 25214903917 + 11) & 0xFFFFFFFFFFFF
        j = (
            (state >> 16) * (i + 1)
        ) >> 32  # a division with remainder would take ten times as long
        order[i], order[j] = order[j], order[i]
    return state


@njit
def _judge(slope, a, cap, high, low):
    """Return the projected slope of a coordinate of value `a`, and whether the coordinate may be
    left out for some time.
    """
    if a <= 0.0:
        return min(slope, 0.0), slope > high
    if a >= cap:
        return max(slope, 0.0), slope < low
    return slope, False


@njit(inline="always")
def _inner_product(Z, csr, t, H):
    """Return ``<z_t, H>`` for a dense or a sparse row, see :func:`sweep`."""
    product = 0.0
    if csr is None:
        for j in range(H.size):
            product += Z[t, j] * H[j]
    else:
        starts, columns, values = csr
        for j in range(starts[t], starts[t + 1]):
            product += values[j] * H[columns[j]]
    return product


@njit(inline="always")
def _add_row(Z, csr, t, factor, H):
    """Add ``factor z_t`` to H."""
    if csr is None:
        for j in range(H.size):
            H[j] += factor * Z[t, j]
    else:
        starts, columns, values = csr
        for j in range(starts[t], starts[t + 1]):
            H[columns[j]] += factor * values[j]


@njit(inline="always")
def best_value(slope, a, curvature, cap):
    """Return the best value of one coordinate while the others are fixed. Without curvature it is
    the present value `a`.
    """
    return min(max(a - slope / curvature, 0.0), cap) if curvature > 0.0 else a


@njit(inline="always")
def _gap_and_loss(slope, a, g, cap):
    """Return the share of a coordinate in the gap, and its loss, both divided by its weight. Its
    slope is `slope` and its value `a`.
    """
    slack = g * a - slope
    if g > 0.0:
        best = min(max(slack / g, 0.0), cap)
    else:
        best = 1.0 if slack > 0.0 else 0.0
    gap = max((best - a) * (slack - 0.5 * g * (best + a)), 0.0)
    return gap, best * (slack - 0.5 * g * best)


def begin(n, seed):
    """Return the :class:`SweepState` for the first sweep over n rows."""
    return SweepState(np.arange(n), np.array([n, np.inf, -np.inf, 0.0, 0.0]), 0, seed)


@njit
def sweep(Z, csr, norms, dual, objective, limits, shrinking, state):
    """Sweep over the rows of Z until the projected slopes of all coordinates differ by at most the
    tolerance of the `limits`, or the estimated gap is within the `limits`.

    Sparse rows are given as :class:`CsrRows`, and Z is not read; for dense rows `csr` is None. The
    dual point and its sum are overwritten. A coordinate is left out if it is at a bound with a
    slope beyond `FIRM` times the largest of the last sweep (Hsieh et al. 2008, where that factor is
    1). All coordinates are visited again when the slopes of the visited ones are within the
    tolerance, or their estimated gap is at most half of its limit.

    The last sweep is the one in which the number of visits reaches the largest number of updates.
    Another call may continue from the state after it.

    Return the spread of the projected slopes in the last sweep, whether a limit has been reached,
    the number of visits, and the state of the generator.
    """
    alpha, H = dual
    tau, w, g, cap, lam = objective
    tolerance, goal, relative_goal, most_visits = limits
    order, memory, visits, seed = state
    n = alpha.size
    if visits == 0:
        memory[4] = np.dot(H, H)
    size = int(memory[0])
    high = memory[1]
    low = memory[2]
    loss_outside = memory[3]
    square = memory[4]
    spread = np.inf
    while visits < most_visits:
        seed = _shuffle(order, size, seed)
        is_whole = size == n and high == np.inf and low == -np.inf
        visits += size
        most, least = -np.inf, np.inf
        gap = 0.0
        loss = 0.0
        k = 0
        while k < size:
            t = order[k]
            product = _inner_product(Z, csr, t, H)
            slope = product / lam - tau[t] + g * alpha[t]
            projected, leave = _judge(slope, alpha[t], cap, high, low)
            part, cost = _gap_and_loss(slope, alpha[t], g, cap)
            if leave and shrinking:
                size -= 1
                order[k], order[size] = order[size], order[k]
                loss_outside += w[t] * cost
                continue
            k += 1
            loss += w[t] * cost
            most = max(most, projected)
            least = min(least, projected)
            if projected != 0.0:
                gap += w[t] * part
                new = best_value(slope, alpha[t], w[t] * norms[t] * norms[t] / lam + g, cap)
                move = w[t] * (new - alpha[t])
                _add_row(Z, csr, t, move, H)
                square += move * (2.0 * product + move * norms[t] * norms[t])
                alpha[t] = new
        spread = max(most, 0.0) - min(least, 0.0)
        limit = max(goal, relative_goal * (loss + loss_outside + 0.5 * square / lam))
        if is_whole and (spread <= tolerance or gap <= limit):
            return spread, True, visits, seed
        high = FIRM * most if most > 0.0 else np.inf
        low = FIRM * least if least < 0.0 else -np.inf
        if not is_whole and (spread <= tolerance or gap <= 0.5 * limit):  # visit all again
            size = n
            loss_outside = 0.0
            high, low = np.inf, -np.inf
    memory[0] = size
    memory[1] = high
    memory[2] = low
    memory[3] = loss_outside
    memory[4] = square
    return spread, False, visits, seed
