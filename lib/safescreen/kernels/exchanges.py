"""Exchanges between two coordinates of a balanced problem whose kernel matrix is in memory: one
rises as far as another falls (Platt 1999; Fan, Chen & Lin 2005).

For a thousand coordinates these are the cheapest steps: they read two rows of the matrix, and
nothing is copied, chosen or factorized before the first one."""

from __future__ import annotations

import numpy as np

from safescreen._numba import njit
from safescreen.kernels.matrices import copy_row

NEARLY = 1e-10
"""Smallest curvature along a pair, relative to what it is a difference of."""


@njit
def exchange(parts, ridge, slopes, v, low, high, spread, updates):
    """Minimise ``v'(K + diag(ridge))v/2 - ...`` over ``low <= v <= high`` at the same ``sum v``,
    until the slopes of coordinates that can fall exceed those of coordinates that can rise by at
    most `spread`; return the number of updates.

    The first of a pair is the coordinate that would rise most, the second the one that gains most
    by falling as far. `slopes` and `v` are overwritten. The coordinates are the first ones of K,
    of which `parts` are given: its rows are copied when they are wanted."""
    K, known, whole, ids = parts
    n = slopes.size
    diagonal = np.empty(n)
    rise = np.empty(n)  # the slopes of coordinates that can rise, others are infinite
    fall = np.empty(n)
    score = np.empty(n)
    for t in range(n):
        diagonal[t] = whole[ids[t], ids[t]] + ridge[t]
        rise[t] = 0.0 if v[t] < high[t] else np.inf
        fall[t] = 0.0 if v[t] > low[t] else -np.inf
    done = 0
    while done + 2 <= updates:
        i = 0
        least = np.inf
        for t in range(n):
            s = slopes[t] + rise[t]
            if s < least:
                least = s
                i = t
        if not known[i]:
            copy_row(K, known, whole, ids, i)
        row = K[i]
        own = diagonal[i]
        for t in range(n):
            gap = max(slopes[t] + fall[t] - least, 0.0)
            size = own + diagonal[t]
            score[t] = gap * gap / max(size - 2.0 * row[t], NEARLY * size + 1e-300)
        j = i
        best = 0.0
        most = -np.inf
        for t in range(n):
            if score[t] > best:
                best = score[t]
                j = t
            most = max(most, slopes[t] + fall[t])
        if not most - least > spread or j == i:
            return done
        if not known[j]:
            copy_row(K, known, whole, ids, j)
        other = K[j]
        size = own + diagonal[j]
        step = (slopes[j] - least) / max(size - 2.0 * row[j], NEARLY * size + 1e-300)
        step = min(step, high[i] - v[i], v[j] - low[j])
        v[i] = high[i] if step >= high[i] - v[i] else v[i] + step
        v[j] = low[j] if step >= v[j] - low[j] else v[j] - step
        for t in range(n):
            slopes[t] += step * (row[t] - other[t])
        slopes[i] += step * ridge[i]
        slopes[j] -= step * ridge[j]
        rise[i] = 0.0 if v[i] < high[i] else np.inf
        fall[i] = 0.0
        rise[j] = 0.0
        fall[j] = 0.0 if v[j] > low[j] else -np.inf
        done += 2
    return done
