"""Dual coordinate descent over samples with a kernel, in working sets in which two coordinates move
at a time.

A step takes the thousand or more coordinates that promise the largest gain. It solves for these
coordinates with their block of the kernel matrix. Then it updates the products of all other
coordinates with the rows of the coordinates that have moved. Most coordinates move from one bound
to the other only once: their rows are computed, added and forgotten. The row of a coordinate that
moves again is kept. Slopes are as in :mod:`safescreen.terms._sample_kernels`.

Steps in a single coordinate converge slowly: if the samples have something in common, such as a
constant added to the kernel, the step changes the products of all others. Two coordinates that move
together hardly change most of these products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen._threads import stop_if_asked
from safescreen.kernels.quadratic import minimise
from safescreen.rounding import UNIT
from safescreen.terms._intercepts import best_intercept
from safescreen.terms._sample_kernels import DualObjective, UpdateLimits, best_value

WORKING_SET = 1024
"""Number of coordinates of a step. If there are fewer coordinates, a step takes all of them."""

LARGEST_SET = 4096
"""Largest number of coordinates of a step if more than half of :data:`WORKING_SET` are free."""

KEPT = 0.75
"""Largest fraction of a working set that is reserved for free coordinates, whether they gain or
not. If the other coordinates moved without the free ones, the free ones would have to move later.
"""

INNER = 0.1
"""A working set is solved until no coordinate gains more than this fraction of the average gain at
its start.
"""

INNER_UPDATES = 20
"""Largest number of updates of a working set, per coordinate."""

SLACK = 8.0
"""Largest rounding error of a slope, in units of roundoff of ``|tau_t| + |<z_t, H>|/lam``."""

SHRINK = 0.5
"""Coordinates firmly at a bound are left out once they are more than this fraction of the active
coordinates.
"""


class WorkingPoint(NamedTuple):
    """A dual point, its samples and its products.

    Attributes
    ----------
    matrix : GivenMatrix or KernelRows
    ids : int array
        The number in the matrix of each coordinate.
    signs : array
        The labels of all samples of the matrix.
    products : array
        The inner products ``<z_t, H>``.
    norms, alpha : arrays
    has_moved : boolean array
        Which coordinates have moved since the start.
    objective : DualObjective
    is_balanced : bool
        Whether the sum of ``w_t y_t alpha_t`` must not change. Slopes and gap are then computed
        with the intercept that is best for this sum.
    """

    matrix: Any
    ids: NDArray
    signs: NDArray
    products: NDArray
    norms: NDArray
    alpha: NDArray
    has_moved: NDArray
    objective: DualObjective
    is_balanced: bool

    def forces(self, numbers):
        """Return the slope of the dual objective in each coordinate of `numbers`."""
        tau, _, smoothing, _, lam = self.objective
        return tau[numbers] - self.products[numbers] / lam - smoothing * self.alpha[numbers]

    def around_intercept(self, active):
        """Return the objective. For a balanced point its thresholds are ``tau_t - y_t b``, where b
        is the intercept that is best for the present sum of ``w_t y_t alpha_t`` over the `active`
        coordinates.
        """
        if not self.is_balanced:
            return self.objective
        tau, w, smoothing, cap, lam = self.objective
        signs = self.signs[self.ids]
        its_signs = signs[active]
        kinks = its_signs * (tau[active] - self.products[active] / lam)
        total = float(its_signs @ (w[active] * self.alpha[active]))
        b = best_intercept(kinks, its_signs, w[active], smoothing, cap, total)
        return self.objective._replace(tau=tau - signs * b)

    def solve_for(self, chosen, active, enough, updates):
        """Solve for the coordinates `chosen` until none gains more than `enough`, and update the
        products of the `active` coordinates. Return the number of updates, or 0 if no coordinate
        has moved, and the increase of the dual value.

        The working set is solved in the coefficients ``v_t = y_t w_t alpha_t``. In these
        coefficients the curvature of lam times the dual objective is the kernel matrix itself.
        """
        _, w, smoothing, cap, lam = self.objective
        rows = self.ids[chosen]
        signs = self.signs[rows]
        weights = w[chosen]
        Q = self.matrix.light_block(rows)
        if smoothing > 0.0:
            Q[np.diag_indices(rows.size)] += lam * smoothing / weights
        slopes = -lam * signs * self.forces(chosen)
        rounded = lam * self._rounded(chosen)
        enough = max(lam * enough, rounded * (rounded / (4.0 * float(np.diagonal(Q).max()))))
        before = signs * weights * self.alpha[chosen]
        slopes_before = slopes.copy()
        v = before.copy()
        largest = weights * cap
        low = np.where(signs > 0.0, 0.0, -largest)
        high = np.where(signs > 0.0, largest, 0.0)
        steps = minimise(Q, slopes, v, low, high, enough, updates, self.is_balanced)
        used = np.flatnonzero(v != before)
        if used.size == 0:
            return 0, 0.0
        moved = chosen[used]
        size = np.abs(v[used])
        alpha = np.minimum(size / weights[used], cap)
        self.alpha[moved] = np.where(size < largest[used], alpha, cap)
        at = self.ids[active]
        sums = np.zeros(active.size)
        is_at_bound = (self.alpha[moved] <= 0.0) | (self.alpha[moved] >= cap)
        passing = is_at_bound & ~self.has_moved[moved]
        self.matrix.add(rows[used], (v - before)[used], at, sums, passing)
        self.has_moved[moved] = True
        self.products[active] += self.signs[at] * sums
        return steps, 0.5 * float((slopes_before + slopes) @ (before - v)) / lam

    def _rounded(self, chosen):
        """Return an upper bound of slopes that would be 0 without rounding."""
        tau, *_, lam = self.objective
        sizes = np.abs(tau[chosen]) + np.abs(self.products[chosen]) / lam
        return SLACK * UNIT * float(sizes.max())


def improve(point: WorkingPoint, limits: UpdateLimits, dual: float, shrinking: bool, is_over=None):
    """Improve a dual point until a limit is reached. `dual` is its dual value, a lower bound of the
    objective.

    alpha and the products of the point are overwritten. At the end the products of coordinates that
    were left out are out of date. `is_over` is called after each working set, and the function
    returns once `is_over` returns true. Return the spread of the slopes of the coordinates that
    were scanned last, and the number of updates.
    """
    ids = point.ids
    done = 0
    rest = 0.0
    active = np.arange(ids.size)
    gains = np.zeros(ids.size)
    firm = np.zeros(ids.size, dtype=np.bool_)
    rng = np.random.default_rng(0)
    while True:
        stop_if_asked()
        objective = point.around_intercept(active)
        its = point.products, point.norms, point.alpha, objective
        spread, gap, cost = scan(*its, active, gains, firm)
        wanted = max(limits.gap, limits.relative_gap * max(rest + cost, dual))
        if spread <= limits.tolerance or gap <= wanted or done >= limits.updates:
            return spread, done
        may_leave = shrinking and done >= ids.size // 4
        if may_leave and np.count_nonzero(firm[active]) > SHRINK * active.size:
            out = active[firm[active]]
            active = active[~firm[active]]
            rest += scan(*its, out, gains, firm)[2]
            firm[out] = True
        chosen = _choose(active, gains, firm, point, rng)
        if not chosen.size:
            return spread, done
        most = min(INNER_UPDATES * chosen.size, limits.updates - done)
        enough = INNER * float(gains[chosen].mean())
        steps, gained = point.solve_for(chosen, active, enough, most)
        if steps == 0:
            return spread, done
        done += steps
        dual += gained
        if is_over is not None and is_over():
            return spread, done


def _choose(active, gains, firm, point, rng):
    """Return the working set: free coordinates, other coordinates that gain, and coordinates of
    both classes that would gain if a constant were added to the products of one class and
    subtracted from the products of the other class. Coordinates are drawn at random, with a
    probability that grows with their gain.

    Without the coordinates of both classes, all coordinates that gain may belong to one class. Then
    a few steps move the intercept too far, and later steps have to reverse this move.
    """
    is_below = (point.alpha < point.objective.cap)[active]
    is_above = (point.alpha > 0.0)[active]
    free = np.flatnonzero(is_below & is_above)
    size = max(WORKING_SET, min(2 * free.size, LARGEST_SET))
    size = min(size, point.matrix.most_rows)
    if active.size <= size:
        may_gain = ~firm[active] if point.is_balanced else gains[active] > 0.0
        return active[(is_below & is_above) | may_gain]
    kept = free[rng.permutation(free.size)[: int(KEPT * size)]]
    room = (size - kept.size) // 4
    signs = point.signs[point.ids[active]]
    forces = signs * point.forces(active)
    can_rise = np.where(signs > 0.0, is_below, is_above)
    can_fall = np.where(signs > 0.0, is_above, is_below)
    above = forces - balance(forces, can_rise, can_fall)
    luck = rng.random(active.size)
    sets = [kept]
    if point.is_balanced:  # a pair that gains, if such a pair exists
        sets.append([np.argmax(np.where(can_rise, forces, -np.inf))])
        sets.append([np.argmin(np.where(can_fall, forces, np.inf))])
    for score, count in (
        (gains[active], 2 * room),
        (np.where(can_rise, above, 0.0), room),
        (np.where(can_fall, -above, 0.0), room),
    ):
        best = np.argpartition(-luck * score, count)[:count]
        sets.append(best[score[best] > 0.0])
    return active[np.unique(np.concatenate(sets))]


@njit
def balance(forces, can_rise, can_fall):
    """Return a level such that about as many coordinates with larger forces can rise as coordinates
    with smaller forces can fall.
    """
    low = forces.min()
    high = forces.max()
    for _ in range(10):
        level = 0.5 * (low + high)
        rising = 0
        for t in range(forces.size):
            rising += can_rise[t] and forces[t] > level
            rising -= can_fall[t] and forces[t] < level
        if rising > 0:
            low = level
        else:
            high = level
    return 0.5 * (low + high)


@njit
def _step(slope, a, weight, norm, lam, g, cap):
    """Return the best step of a coordinate alone, and its gain; both are 0 if the coordinate is
    held at a bound.
    """
    curvature = weight * norm * norm / lam + g
    if curvature <= 0.0 or (a <= 0.0 and slope > 0.0) or (a >= cap and slope < 0.0):
        return 0.0, 0.0
    move = best_value(slope, a, curvature, cap) - a
    return move, -weight * move * (slope + 0.5 * curvature * move)


@njit
def scan(products, norms, alpha, objective, active, gains, firm):
    """Write the gain of a step in each coordinate alone, and whether the coordinate is firmly at a
    bound. Return the spread of the slopes, the gap and the loss.
    """
    tau, w, g, cap, lam = objective
    most, least, gap, cost = 0.0, 0.0, 0.0, 0.0
    for t in active:
        slack = tau[t] - products[t] / lam
        weight = w[t]
        slope = g * alpha[t] - slack
        if g > 0.0:
            best = min(max(slack / g, 0.0), cap)
        else:
            best = 1.0 if slack > 0.0 else 0.0
        cost += weight * best * (slack - 0.5 * g * best)
        gap += weight * max((best - alpha[t]) * (slack - 0.5 * g * (best + alpha[t])), 0.0)
        gains[t] = _step(slope, alpha[t], weight, norms[t], lam, g, cap)[1]
        if not ((alpha[t] <= 0.0 and slope > 0.0) or (alpha[t] >= cap and slope < 0.0)):
            most = max(most, slope)
            least = min(least, slope)
    for t in active:
        slope = products[t] / lam - tau[t] + g * alpha[t]
        firm[t] = (alpha[t] <= 0.0 and slope > most) or (alpha[t] >= cap and slope < least)
    return most - least, gap, cost
