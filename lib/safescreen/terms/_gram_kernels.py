"""Dual coordinate descent over samples with a kernel: working sets, in each of them always the coordinate that gains most.

A step takes the coordinates that promise most, a few hundred, solves for them with their block of the kernel matrix, and adds their rows
to the products of all others: every row serves many updates, and only rows of coordinates that move are ever asked for. Slopes as in
:mod:`safescreen.terms._sample_kernels`.
"""

import numpy as np

from safescreen._numba import njit

WORKING_SET = 512
"""How many coordinates a step is for; all of them where there are no more."""

INNER, INNER_UPDATES = 0.1, 20
"""A working set is solved until its slopes differ by this part of what all did, or for so many updates a coordinate."""

SHRINK = 0.2
"""Coordinates firmly at a bound are left out once they are this part of those looked at."""


def improve(matrix, ids, signs, products, norms, alpha, levels, loss, lam, tolerance, updates, shrinking, goal):
    """Improve a dual point until the projected slopes differ by at most `tolerance`, or the gap is at most `goal`.

    Mutates alpha and `products`, the inner products ``<z_t, H>``; those of coordinates left out are out of date at the end. Returns the
    violation and the gap, both as seen among the coordinates that were looked at last, and the number of updates.
    """
    fixed = (*levels, loss.smoothing, loss.cap, lam)
    active, done = np.arange(ids.size), 0
    gains, firm = np.zeros(ids.size), np.zeros(ids.size, dtype=np.bool_)
    # equal gains, as of all coordinates at first, are taken in this order
    shuffled = np.random.default_rng(0).permutation(ids.size)
    rank = np.argsort(shuffled)
    while True:
        spread, gap = scan(products, norms, alpha, *fixed, active, gains, firm)
        if spread <= tolerance or gap <= goal or done >= updates:
            return spread, gap, done
        if shrinking and done >= ids.size // 4 and np.count_nonzero(firm[active]) > SHRINK * active.size:
            active = active[~firm[active]]
        here = gains[active]
        count = min(WORKING_SET, np.count_nonzero(here))
        if count == 0:
            return spread, gap, done
        chosen = active[np.argpartition(here, -count)[-count:]] if count < active.size else active
        rows = ids[chosen]
        before, moved, block = alpha[chosen], products[chosen], matrix.block(rows, rows)
        tau, tau_step, w, w_step = levels
        tau, w = (v[chosen] if step else v for v, step in ((tau, tau_step), (w, w_step)))
        inner = max(0.5 * tolerance, INNER * spread)
        most = min(INNER_UPDATES * count, updates - done)
        steps = sweep_gram(block, signs[rows], moved, norms[chosen], before, tau, tau_step, w, w_step, *fixed[4:], inner, most)
        change = (before - alpha[chosen]) * (w if w_step else 1.0)
        changed = np.flatnonzero(change)
        alpha[chosen] = before
        if changed.size == 0:
            return spread, gap, done
        sums = np.zeros(active.size)
        matrix.add(rows[changed], signs[rows[changed]] * change[changed], ids[active], sums)
        products[active] += signs[ids[active]] * sums
        done += steps


@njit
def scan(products, norms, alpha, tau, tau_step, w, w_step, g, cap, lam, active, gains, firm):
    """Write what a step in each coordinate alone would gain, and whether it is firmly at a bound; return the violation and the gap."""
    most, least, gap = 0.0, 0.0, 0.0
    for t in active:
        slack = tau[t * tau_step] - products[t] / lam
        slope, gains[t], weight = g * alpha[t] - slack, 0.0, w[t * w_step]
        best = min(max(slack / g, 0.0), cap) if g > 0.0 else (1.0 if slack > 0.0 else 0.0)
        gap += weight * max((best - alpha[t]) * (slack - 0.5 * g * (best + alpha[t])), 0.0)
        if (alpha[t] <= 0.0 and slope > 0.0) or (alpha[t] >= cap and slope < 0.0) or slope == 0.0:
            continue
        most, least = max(most, slope), min(least, slope)
        curvature = weight * norms[t] * norms[t] / lam + g
        if curvature > 0.0:
            move = min(max(alpha[t] - slope / curvature, 0.0), cap) - alpha[t]
            gains[t] = -weight * move * (slope + 0.5 * curvature * move)
    for t in active:
        slope = products[t] / lam - tau[t * tau_step] + g * alpha[t]
        firm[t] = (alpha[t] <= 0.0 and slope > most) or (alpha[t] >= cap and slope < least)
    return most - least, gap


@njit
def sweep_gram(K, signs, products, norms, alpha, tau, tau_step, w, w_step, g, cap, lam, tolerance, updates):
    """Update coordinates until the projected slopes differ by at most `tolerance`; return the number of updates.

    Mutates alpha and `products`, the inner products ``<z_t, H>``.
    """
    n, done = signs.size, 0
    while True:
        most, least, best, pick, step = 0.0, 0.0, -1.0, -1, 0.0
        for t in range(n):
            slope = products[t] / lam - tau[t * tau_step] + g * alpha[t]
            if (alpha[t] <= 0.0 and slope > 0.0) or (alpha[t] >= cap and slope < 0.0) or slope == 0.0:
                continue
            most, least = max(most, slope), min(least, slope)
            weight = w[t * w_step]
            curvature = weight * norms[t] * norms[t] / lam + g
            if curvature > 0.0:
                move = min(max(alpha[t] - slope / curvature, 0.0), cap) - alpha[t]
                gain = -weight * move * (slope + 0.5 * curvature * move)
                if gain > best:
                    best, pick, step = gain, t, move
        if most - least <= tolerance or pick < 0 or step == 0.0 or done >= updates:
            return done
        new = min(max(alpha[pick] + step, 0.0), cap)
        factor = w[pick * w_step] * (new - alpha[pick]) * signs[pick]
        alpha[pick] = new
        row = K[pick]
        for t in range(n):
            products[t] += factor * signs[t] * row[t]
        done += 1
