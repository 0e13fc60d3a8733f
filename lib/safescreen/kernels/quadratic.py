"""The quadratic problem of a working set, ``min d'Qd/2 + slopes'd`` over ``low <= v + d <= high``:
steps in pairs of coordinates, and Newton steps in the coordinates that are strictly between their
bounds.

A balanced problem also has the constraint ``sum d = 0``. Then the two coordinates of a pair move
equally far in opposite directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from safescreen._numba import njit
from safescreen.kernels.matrices import GivenMatrix

NEARLY = 1e-10
"""Lower bound that is used for the determinant of two coordinates, or for the curvature along the
pair, relative to the numbers that are subtracted to compute it. A smaller value, for rows that are
nearly equal up to sign, is replaced by the bound.
"""

FACTORED = 1.0 / 30.0
"""A factorization of n rows costs as much as this number times ``n^3/m`` updates of m
coordinates.
"""

FARTHEST = 2.0
"""The minimum of a quadratic function along its Newton step is at the step length 1. A computed
best length of at least this number is due to rounding.
"""

RIDGE = 64.0
"""Before Q is factorized, the mean of its diagonal times this many units of its precision is added
to the diagonal.
"""


class End(NamedTuple):
    """When exchanges end.

    Attributes
    ----------
    spread : float
        Exchanges end when the slopes of coordinates that can fall exceed the slopes of coordinates
        that can rise by at most this.
    gain : float
        Exchanges end when the best pair gains at most this.
    updates : int
        Largest number of updates.
    """

    spread: float
    gain: float
    updates: int


class BoxPoint(NamedTuple):
    """A point `v`, its bounds, the slopes of the objective at `v`, and the diagonal of Q. All
    arrays have the shape (m,).
    """

    slopes: NDArray
    v: NDArray
    low: NDArray
    high: NDArray
    diagonal: NDArray


def minimise(
    Q: NDArray,
    slopes: NDArray,
    v: NDArray,
    low: NDArray,
    high: NDArray,
    enough: float,
    updates: int,
    is_balanced: bool = False,
) -> int:
    """Solve a working set until no coordinate, or with `is_balanced` no pair, gains more than
    `enough`. Return the number of updates.

    `v` and `slopes` are overwritten. Steps in pairs determine which coordinates are free. Then a
    Newton step moves along directions of little curvature, in which pairs are slow. A Newton step
    is tried whenever steps in pairs have cost as much as it costs, and half as often after a Newton
    step that bounds have shortened.
    """
    done = 0
    patience = 1
    while True:
        n_free = np.count_nonzero((v > low) & (v < high))
        share = patience * max(v.size, int(FACTORED * n_free**3 / v.size))
        most = min(share, updates - done)
        if is_balanced:
            steps = solve_balanced(Q, slopes, v, low, high, enough, most)
        else:
            steps = solve_box(Q, slopes, v, low, high, enough, most)
        done += steps
        if steps < most or done >= updates:
            return done
        part = newton_step(Q, slopes, v, low, high, is_balanced)
        patience = 1 if part >= 1.0 else 2 * patience


def newton_step(
    Q: NDArray, slopes: NDArray, v: NDArray, low: NDArray, high: NDArray, is_balanced: bool = False
) -> float:
    """Move from `v` towards the minimum over the coordinates strictly between their bounds, until a
    coordinate reaches its bound. Return the length of this step as a fraction of the Newton step,
    or 0 if no step was made.
    """
    free = np.flatnonzero((v > low) & (v < high))
    if free.size < 2:
        return 0.0
    A = Q[np.ix_(free, free)]
    ridge = RIDGE * np.finfo(A.dtype).eps * float(np.trace(A)) / free.size
    A[np.diag_indices(free.size)] += ridge
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return 0.0
    way = -cho_solve(factor, slopes[free], check_finite=False).astype(np.float64)
    if is_balanced:
        ones = cho_solve(factor, np.ones(free.size), check_finite=False).astype(np.float64)
        way -= ones * (way.sum() / ones.sum())
    change = Q[:, free] @ way
    fall = -float(slopes[free] @ way)
    curvature = float(change[free] @ way)
    if not 0.0 < fall < FARTHEST * curvature:
        return 0.0
    ends = np.where(way > 0.0, high[free], low[free])
    room = np.full(free.size, np.inf)
    np.divide(ends - v[free], way, out=room, where=way != 0.0)
    most = float(room.min())
    part = min(fall / curvature, most)
    moved = v[free] + part * way
    v[free] = np.where(room <= part, ends, np.clip(moved, low[free], high[free]))
    slopes += part * change
    return part if part < most else min(part, 0.5)


@njit
def solve_box(Q, slopes, v, low, high, enough, updates):
    """Take steps in pairs of coordinates until no coordinate alone gains more than `enough`. Return
    the number of updates.

    The first coordinate of a pair is the one that gains most alone, and the second is the one with
    which the pair gains most (Steinwart, Hush & Scovel 2011). `v` and `slopes` are overwritten.
    """
    n = slopes.size
    gains = np.empty(n)
    diagonal = np.empty(n)
    for t in range(n):
        diagonal[t] = Q[t, t]
    inverse = np.where(diagonal > 0.0, 1.0 / diagonal, 0.0)
    point = BoxPoint(slopes=slopes, v=v, low=low, high=high, diagonal=diagonal)
    done = 0
    i = 0
    j = 0
    move_i = 0.0
    move_j = 0.0
    while True:
        _follow(Q[i], move_i, Q[j], move_j, point, inverse, gains)
        i = _largest(gains)
        if gains[i] <= enough or done >= updates:
            return done
        _pair_gains(Q[i], i, point, inverse[i], gains)
        j = _largest(gains)
        move_i, move_j = _pair(i, j, Q[i, j], point, inverse[i])
        v[i] = min(max(v[i] + move_i, low[i]), high[i])
        if j != i:
            v[j] = min(max(v[j] + move_j, low[j]), high[j])
        done += 2


@njit(inline="always")
def _pair(i, t, product, point, inverse):
    """Return the steps of two coordinates: the best joint step without bounds, clipped first in
    coordinate t and then in coordinate i. If i = t, the first result is the step of this coordinate
    alone.
    """
    slopes, v, low, high, diagonal = point
    largest = diagonal[i] * diagonal[t]
    determinant = max(largest - product * product, NEARLY * largest, 1e-300)
    step = (slopes[i] * product - slopes[t] * diagonal[i]) / determinant
    step = min(max(v[t] + step, low[t]), high[t]) - v[t]
    move = -(slopes[i] + product * step) * inverse
    return min(max(v[i] + move, low[i]), high[i]) - v[i], step


@njit
def _pair_gains(row, i, point, inverse, gains):
    slopes, diagonal = point.slopes, point.diagonal
    for t in range(gains.size):
        move, step = _pair(i, t, row[t], point, inverse)
        gains[t] = -move * (slopes[i] + 0.5 * diagonal[i] * move + row[t] * step) - step * (
            slopes[t] + 0.5 * diagonal[t] * step
        )


@njit
def _follow(row, move, other_row, other_move, point, inverse, gains):
    """Update the slopes after steps of two coordinates, whose rows of Q are given, and write the
    gain of each coordinate alone.
    """
    slopes, v, low, high, diagonal = point
    for t in range(gains.size):
        slopes[t] += move * row[t] + other_move * other_row[t]
        step = min(max(v[t] - slopes[t] * inverse[t], low[t]), high[t]) - v[t]
        gains[t] = -step * (slopes[t] + 0.5 * diagonal[t] * step)


@njit
def _largest(values):
    best = values[0]
    place = 0
    for t in range(1, values.size):
        if values[t] > best:
            best = values[t]
            place = t
    return place


def solve_balanced(
    Q: NDArray,
    slopes: NDArray,
    v: NDArray,
    low: NDArray,
    high: NDArray,
    enough: float,
    updates: int,
) -> int:
    """Take steps that do not change ``sum v``, until no pair of coordinates gains more than
    `enough`. Return the number of updates, which is even.
    """
    end = End(spread=0.0, gain=float(enough), updates=updates + updates % 2)
    return exchange(GivenMatrix(Q).parts(), np.zeros(v.size), slopes, v, low, high, end)


@njit
def exchange(parts, ridge, slopes, v, low, high, end):
    """Minimise ``v'(K + diag(ridge))v/2 - ...`` over ``low <= v <= high`` in steps that do not
    change ``sum v``. Return the number of updates.

    The first coordinate of a pair is the one with the lowest slope among those that can rise, and
    the second is the one with the largest gain when it falls as far (Fan, Chen & Lin 2005).
    `slopes` and `v` are overwritten. The coordinates are the first ones of the matrix whose `parts`
    are given.
    """
    K, ids, runs, own_squares = parts
    n = slopes.size
    diagonal = np.empty(n)
    fall = np.empty(n)  # -inf for coordinates that cannot fall, which excludes them
    score = np.empty(n)
    for t in range(n):
        diagonal[t] = own_squares[t] + ridge[t]
        fall[t] = 0.0 if v[t] > low[t] else -np.inf
    done = 0
    while done + 2 <= end.updates:
        i = 0
        least = np.inf
        for t in range(n):
            if slopes[t] < least and v[t] < high[t]:
                least = slopes[t]
                i = t
        row = K[ids[i]]
        own = diagonal[i]
        for run in runs:
            _score(run, row, own, least, slopes, fall, diagonal, score)
        j = i
        best = 0.0
        most = -np.inf
        for t in range(n):
            if score[t] > best:
                best = score[t]
                j = t
            if slopes[t] > most and v[t] > low[t]:
                most = slopes[t]
        if not most - least > end.spread or not 0.5 * best > end.gain:
            return done
        other = K[ids[j]]
        size = own + diagonal[j]
        step = (slopes[j] - least) / max(size - 2.0 * row[ids[j]], NEARLY * size + 1e-300)
        step = min(step, high[i] - v[i], v[j] - low[j])
        v[i] = high[i] if step >= high[i] - v[i] else v[i] + step
        v[j] = low[j] if step >= v[j] - low[j] else v[j] - step
        for run in runs:
            _move(run, row, other, step, slopes)
        slopes[i] += step * ridge[i]
        slopes[j] -= step * ridge[j]
        fall[i] = 0.0 if v[i] > low[i] else -np.inf
        fall[j] = 0.0 if v[j] > low[j] else -np.inf
        done += 2
    return done


@njit
def _score(run, row, own, least, slopes, fall, diagonal, score):
    """Write twice the gain of each coordinate in a run when it falls as far as the coordinate of
    the row rises.
    """
    start, stop, shift = run
    shift = np.uintp(shift)
    for t in range(np.uintp(start), np.uintp(min(stop, slopes.size))):  # others may be left out
        gap = max(slopes[t] + fall[t] - least, 0.0)
        size = own + diagonal[t]
        score[t] = gap * gap / max(size - 2.0 * row[t + shift], NEARLY * size + 1e-300)


@njit
def _move(run, row, other_row, step, slopes):
    """Update the slopes of a run after a step of the pair whose rows are given."""
    start, stop, shift = run
    shift = np.uintp(shift)
    for t in range(np.uintp(start), np.uintp(min(stop, slopes.size))):  # others may be left out
        slopes[t] += step * (row[t + shift] - other_row[t + shift])
