"""Compiled sweeps of dual coordinate descent over samples, dense and sparse.

The dual is ``sum_t w_t (tau_t alpha_t - g/2 alpha_t^2) - ||H||^2/(2 lam)`` with
``H = c + sum_t w_t alpha_t z_t``. Divided by ``w_t``, its slope in ``-alpha_t`` is
``<z_t, H>/lam - tau_t + g alpha_t``, and its curvature is ``w_t ||z_t||^2/lam + g``.

When a coordinate is visited, its part ``w_t (loss(m_t) + loss*(-alpha_t) + alpha_t m_t)`` of the
duality gap at ``x = H/lam`` is added up; it is 0 if the coordinate is at the right bound. So a
sweep ends with an estimate of the gap, and of the objective, at almost no cost.

Dense and sparse rows have loops of their own. One loop for both would take one and a half to two
times as long for dense rows. The operations on a row are compiled into the sweep. Calls would cost
20 % for sparse rows of 14 entries.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit

FIRM = 0.5
"""A coordinate at a bound is left out if its slope is more than this part of the largest slope in
the last sweep.
"""


class DualObjective(NamedTuple):
    """The parts of the dual objective beside the samples.

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
    """When the work ends.

    Attributes
    ----------
    tolerance : float
        The projected slopes differ by at most this.
    gap, relative_gap : float
        The gap is at most this number, or this part of the objective.
    updates : int
        Largest number of updates; a sweep counts its visits of coordinates.
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
        The order of the coordinates. It is overwritten.
    memory : array of shape (5,)
        How many coordinates are visited, the slopes beyond which one is left out, the loss of those
        that are, and ``||H||^2``. It is overwritten.
    visits : int
        How many visits there were.
    seed : int
        State of the generator that orders the coordinates.
    """

    order: NDArray
    memory: NDArray
    visits: int
    seed: int


@njit
def _shuffle(order, n, state):
    """Permute the first n entries; `state` is the state of a linear congruential generator."""
    for i in range(n - 1, 0, -1):
        state = (state * 25214903917 + 11) & 0xFFFFFFFFFFFF
        j = (
            (state >> 16) * (i + 1)
        ) >> 32  # a division with remainder would take ten times as long
        order[i], order[j] = order[j], order[i]
    return state


@njit
def _judge(slope, a, cap, high, low):
    """Return the projected slope, and whether the coordinate may be left out for some time."""
    if a <= 0.0:
        return min(slope, 0.0), slope > high
    if a >= cap:
        return max(slope, 0.0), slope < low
    return slope, False


@njit(inline="always")
def _inner_product(Z, csr, t, H):
    """Return ``<z_t, H>`` of a row in either form, see :func:`sweep`."""
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
    """Return the best value of a coordinate alone; its present value if it has no curvature."""
    return min(max(a - slope / curvature, 0.0), cap) if curvature > 0.0 else a


@njit(inline="always")
def _gap_and_loss(slope, a, g, cap):
    """Return what a coordinate of this slope and value adds to the gap, and its loss, both divided
    by its weight.
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
    """Sweep over the rows of Z until the projected slopes of the coordinates that still move differ
    by at most the tolerance of the `limits`, or the gap is estimated to be within them.

    Sparse rows are given as :class:`CsrRows`, and Z is not read; for dense rows `csr` is None. The
    dual point and its sum are overwritten. A coordinate is left out if it is at a bound with a
    slope beyond `FIRM` times the largest of the last sweep (Hsieh et al. 2008, where that factor is
    1). All coordinates are visited again when the others are half as far from the goal.

    The work ends with the sweep in which the number of visits reaches the largest number of
    updates, and may go on from there.

    Return the largest violation seen in the last sweep, whether one of the goals is reached, the
    number of visits, and the state of the generator.
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
