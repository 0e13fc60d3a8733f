"""Compiled sweeps of dual coordinate descent over samples, dense and sparse.

The dual is ``sum_t w_t (tau_t alpha_t - g/2 alpha_t^2) - ||H||^2/(2 lam)`` with
``H = c + sum_t w_t alpha_t z_t``. Divided by ``w_t``, its slope in ``-alpha_t`` is
``<z_t, H>/lam - tau_t + g alpha_t``, its curvature ``w_t ||z_t||^2/lam + g``.

Rows of either kind are compiled apart: one loop for both takes one and a half to two times as long
for dense rows. What is done with a row is compiled into the sweep: called, it would cost 20 % for
sparse rows of 14 entries."""

import numpy as np

from safescreen._numba import njit


@njit
def _shuffle(order, n, state):
    """Permute the first n entries; `state` is the state of a linear congruential generator."""
    for i in range(n - 1, 0, -1):
        state = (state * 25214903917 + 11) & 0xFFFFFFFFFFFF
        j = (state >> 16) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return state


@njit
def _judge(slope, a, cap, high, low):
    """Return (projected slope, whether the coordinate may be left out for now)."""
    if a <= 0.0:
        return min(slope, 0.0), slope > high
    if a >= cap:
        return max(slope, 0.0), slope < low
    return slope, False


@njit(inline="always")
def _inner_product(Z, values, columns, starts, t, H):
    """Return ``<z_t, H>`` of a row in either form, see :func:`sweep`."""
    product = 0.0
    if starts is None:
        for j in range(H.size):
            product += Z[t, j] * H[j]
    else:
        for j in range(starts[t], starts[t + 1]):
            product += values[j] * H[columns[j]]
    return product


@njit(inline="always")
def _add_row(Z, values, columns, starts, t, factor, H):
    """Add ``factor z_t`` to H."""
    if starts is None:
        for j in range(H.size):
            H[j] += factor * Z[t, j]
    else:
        for j in range(starts[t], starts[t + 1]):
            H[columns[j]] += factor * values[j]


@njit(inline="always")
def best_value(slope, a, curvature, cap):
    """Return the best value of a coordinate alone; as it is where it has no curvature."""
    return min(max(a - slope / curvature, 0.0), cap) if curvature > 0.0 else a


@njit
def sweep(
    Z,
    values,
    columns,
    starts,
    norms,
    alpha,
    H,
    tau,
    w,
    g,
    cap,
    lam,
    tolerance,
    epochs,
    state,
    shrinking,
):
    """Sweep over the rows of Z until the projected slopes of those that still move differ by at
    most `tolerance`.

    Rows in compressed form are given by their `values`, `columns` and `starts`, which are None for
    dense ones, and Z is not looked at. Mutates alpha and H. Coordinates that sit at a bound with a
    slope beyond those of the last sweep are left out (Hsieh et al. 2008). Returns the largest
    violation seen in the last sweep, the number of sweeps and the state of the generator."""
    order = np.arange(alpha.size)
    size = alpha.size
    high, low = np.inf, -np.inf
    spread = np.inf
    done = 0
    while done < epochs:
        done += 1
        state = _shuffle(order, size, state)
        is_whole = size == alpha.size and high == np.inf and low == -np.inf
        most, least = -np.inf, np.inf
        k = 0
        while k < size:
            t = order[k]
            slope = _inner_product(Z, values, columns, starts, t, H)
            slope = slope / lam - tau[t] + g * alpha[t]
            projected, leave = _judge(slope, alpha[t], cap, high, low)
            if leave and shrinking:
                size -= 1
                order[k], order[size] = order[size], order[k]
                continue
            k += 1
            most = max(most, projected)
            least = min(least, projected)
            if projected != 0.0:
                new = best_value(slope, alpha[t], w[t] * norms[t] * norms[t] / lam + g, cap)
                _add_row(Z, values, columns, starts, t, w[t] * (new - alpha[t]), H)
                alpha[t] = new
        spread = max(most, 0.0) - min(least, 0.0)
        if spread <= tolerance and is_whole:
            break
        if spread <= tolerance:  # of a part: look at all again
            size = alpha.size
            most, least = 0.0, 0.0
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return spread, done, state
