"""Compiled dual coordinate descent over samples with a kernel: always the coordinate that gains most.

An update costs a row of the kernel matrix, so that looking at all slopes before it costs nothing extra; slopes as in
:mod:`safescreen.terms._sample_kernels`.
"""

import numpy as np

from safescreen._numba import njit


@njit
def _catch_up(K, ids, signs, moved, products, order, size):
    """Bring the products of the coordinates that are left out up to date; `moved` is what the others have changed by since."""
    n = order.size
    for i in range(n):
        if moved[i] != 0.0:
            row, factor = K[ids[i]], moved[i] * signs[ids[i]]
            for k in range(size, n):
                j = ids[order[k]]
                products[order[k]] += factor * signs[j] * row[j]
            moved[i] = 0.0


@njit
def sweep_gram(K, ids, signs, products, norms, alpha, tau, tau_step, w, w_step, g, cap, lam, tolerance, updates, shrinking):
    """Update coordinates until the projected slopes differ by at most `tolerance`.

    Mutates alpha and `products`, the inner products ``<z_t, H>``; those of coordinates left out may be out of date at the end. Returns the
    violation and the number of updates.
    """
    n = ids.size
    order, moved = np.arange(n), np.zeros(n)
    size, done, spread = n, 0, np.inf
    while True:
        most, least, best, pick, step = 0.0, 0.0, -1.0, -1, 0.0
        for k in range(size):
            t = order[k]
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
        spread = most - least
        if spread <= tolerance or pick < 0 or step == 0.0 or done >= updates:
            if size == n or done >= updates:
                break
            _catch_up(K, ids, signs, moved, products, order, size)
            size = n
            continue
        new = min(max(alpha[pick] + step, 0.0), cap)
        change = w[pick * w_step] * (new - alpha[pick])
        alpha[pick] = new
        if size < n:
            moved[pick] += change
        row, factor = K[ids[pick]], change * signs[ids[pick]]
        for k in range(size):
            t = order[k]
            products[t] += factor * signs[ids[t]] * row[ids[t]]
        done += 1
        if shrinking and done % n == 0:
            _catch_up(K, ids, signs, moved, products, order, size)
            k = 0
            while k < size:
                t = order[k]
                slope = products[t] / lam - tau[t * tau_step] + g * alpha[t]
                if (alpha[t] <= 0.0 and slope > most) or (alpha[t] >= cap and slope < least):
                    size -= 1
                    order[k], order[size] = order[size], order[k]
                else:
                    k += 1
    return spread, done
