"""Dual coordinate descent over samples with a kernel: working sets, in each of them always the
coordinate that gains most.

A step takes the coordinates that promise most, a few hundred, solves for them with their block of
the kernel matrix, and adds their rows to the products of all others: every row serves many updates,
and only rows of coordinates that move are ever asked for. Slopes as in
:mod:`safescreen.terms._sample_kernels`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen.terms._sample_kernels import best_value

WORKING_SET = 512
"""How many coordinates a step is for; all of them where there are no more."""

KEPT = 0.75
"""At most this part of a working set comes from the last one: variables that would swing back if
the others moved without them.
"""

INNER = 0.1
"""A working set is solved until its slopes differ by this part of what they did."""

INNER_UPDATES = 20
"""A working set is left after so many updates a coordinate."""

SHRINK = 0.5
"""Coordinates firmly at a bound are left out once they are this part of those looked at."""


def improve(
    matrix,
    ids,
    signs,
    products,
    norms,
    alpha,
    levels,
    loss,
    lam,
    tolerance,
    updates,
    shrinking,
    goal,
):
    """Improve a dual point until the projected slopes differ by at most `tolerance`, or the gap is
    at most `goal`.

    Mutates alpha and `products`, the inner products ``<z_t, H>``; those of coordinates left out are
    out of date at the end. A goal is a number and a part of the loss. Returns the violation as seen
    among the coordinates looked at last, and the number of updates."""
    fixed = (*levels, loss.smoothing, loss.cap, lam)
    point = _Point(matrix, ids, signs, products, norms, alpha, fixed)
    done = 0
    rest = 0.0
    chosen = np.empty(0, dtype=np.intp)
    active = np.arange(ids.size)
    gains = np.zeros(ids.size)
    firm = np.zeros(ids.size, dtype=np.bool_)
    rng = np.random.default_rng(0)
    while True:
        spread, gap, cost = scan(products, norms, alpha, *fixed, active, gains, firm)
        if spread <= tolerance or gap <= max(goal[0], goal[1] * (rest + cost)) or done >= updates:
            return spread, done
        may_leave = shrinking and done >= ids.size // 4
        if may_leave and np.count_nonzero(firm[active]) > SHRINK * active.size:
            out = active[firm[active]]
            active = active[~firm[active]]
            rest += scan(products, norms, alpha, *fixed, out, gains, firm)[2]
            firm[out] = True
        free = (alpha > 0.0) & (alpha < loss.cap)
        chosen = _choose(active, gains, chosen[~firm[chosen]], free, rng)
        most = min(INNER_UPDATES * chosen.size, updates - done)
        steps = point.solve_for(chosen, active, 0.5 * tolerance, most)
        if steps == 0:
            return spread, done
        done += steps


class _Point(NamedTuple):
    """A dual point and what belongs to it, see :func:`improve`; `fixed` are thresholds, weights,
    smoothing and cap of the loss, and lam.
    """

    matrix: Any
    ids: NDArray
    signs: NDArray
    products: NDArray
    norms: NDArray
    alpha: NDArray
    fixed: tuple

    def solve_for(self, chosen, active, tolerance, updates):
        """Solve for the coordinates `chosen`, and keep the products of the `active` ones up to
        date; return the number of updates, 0 where none of them has moved.
        """
        tau, w, *shape = self.fixed
        rows = self.ids[chosen]
        signs = self.signs
        alpha = self.alpha[chosen]
        steps = sweep_gram(
            self.matrix.block(rows, rows),
            signs[rows],
            self.products[chosen],
            self.norms[chosen],
            alpha,
            tau[chosen],
            w[chosen],
            *shape,
            tolerance,
            updates,
        )
        change = (alpha - self.alpha[chosen]) * w[chosen]
        used = np.flatnonzero(change)
        if used.size == 0:
            return 0
        self.alpha[chosen] = alpha
        sums = np.zeros(active.size)
        at = self.ids[active]
        self.matrix.add(rows[used], signs[rows[used]] * change[used], at, sums)
        self.products[active] += signs[at] * sums
        return steps


def _choose(active, gains, last, free, rng):
    """Return the working set: of the last one what is not firmly at a bound, free coordinates
    first, and at random others that gain.
    """
    if active.size <= WORKING_SET:
        return active
    from_last = last[np.argsort(~free[last], kind="stable")][: int(KEPT * WORKING_SET)]
    score = (gains[active] + 1e-9 * gains[active].max()) * rng.random(active.size)
    score[np.searchsorted(active, from_last)] = np.inf
    return np.sort(active[np.argpartition(-score, WORKING_SET)[:WORKING_SET]])


@njit
def _step(slope, a, weight, norm, lam, g, cap):
    """Return the best step of a coordinate alone, and its gain: both 0 where it is at a bound
    that holds it.
    """
    curvature = weight * norm * norm / lam + g
    if curvature <= 0.0 or (a <= 0.0 and slope > 0.0) or (a >= cap and slope < 0.0):
        return 0.0, 0.0
    move = best_value(slope, a, curvature, cap) - a
    return move, -weight * move * (slope + 0.5 * curvature * move)


@njit
def scan(products, norms, alpha, tau, w, g, cap, lam, active, gains, firm):
    """Write what a step in each coordinate alone would gain, and whether it is firmly at a
    bound; return violation, gap and loss.
    """
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


@njit
def sweep_gram(K, signs, products, norms, alpha, tau, w, g, cap, lam, tolerance, updates):
    """Update coordinates until the slopes differ by `tolerance` or the part :data:`INNER` of what
    they do; return the number of updates.

    Mutates alpha and `products`, the inner products ``<z_t, H>``.
    """
    done = 0
    while True:
        most = 0.0
        least = 0.0
        best = -1.0
        pick = -1
        step = 0.0
        for t in range(signs.size):
            slope = products[t] / lam - tau[t] + g * alpha[t]
            if (
                (alpha[t] <= 0.0 and slope > 0.0)
                or (alpha[t] >= cap and slope < 0.0)
                or slope == 0.0
            ):
                continue
            most = max(most, slope)
            least = min(least, slope)
            move, gain = _step(slope, alpha[t], w[t], norms[t], lam, g, cap)
            if gain > best:
                best = gain
                pick = t
                step = move
        # of this set, not of all: the widest slope may be of one that has no way to go
        if done == 0:
            tolerance = max(tolerance, INNER * (most - least))
        if most - least <= tolerance or step == 0.0 or done >= updates:
            return done
        new = min(max(alpha[pick] + step, 0.0), cap)
        factor = w[pick] * (new - alpha[pick]) * signs[pick]
        alpha[pick] = new
        row = K[pick]
        for t in range(signs.size):
            products[t] += factor * signs[t] * row[t]
        done += 1
