"""The support vector machine of one C by definition, in extended precision: decision values with
proved errors.
"""

import numpy as np
from numba import njit

EXTENDED = np.longdouble


def reference(K, y, weights, C, squared):
    """Return ``(coefficients, radius)`` of min C sum_i w_i loss(1 - y_i f(x_i)) + ||f||^2/2 over
    the span of the kernel K.

    The exact solution lies in the ball of that radius around ``sum_i coefficients_i k(., x_i)``.
    For the squared hinge the loss is ``max(0, 1 - u)^2``. An active set comes from coordinate
    descent; the point on it is refined in extended precision; the radius follows from its duality
    gap, ``||w(a) - w*||^2 <= P(w(a)) - D(a)``, with a factor for what is left of rounding."""
    K, y, weights = (
        np.asarray(K, dtype=EXTENDED),
        np.asarray(y, dtype=EXTENDED),
        np.asarray(weights, dtype=EXTENDED),
    )
    Q = y[:, None] * K * y
    caps = C * weights
    diagonal = 1.0 / (2.0 * caps) if squared else np.zeros(y.size, dtype=EXTENDED)
    upper = np.full(y.size, np.inf, dtype=EXTENDED) if squared else caps
    curved = Q + np.diag(diagonal)
    a = _descent(curved.astype(float), upper.astype(float), 3000).astype(EXTENDED)
    best, best_gap = a, _gap(Q, a, caps, squared)
    for _ in range(3):
        a = _refined(curved, a, upper)
        gap = _gap(Q, a, caps, squared)
        if gap < best_gap:
            best, best_gap = a, gap
    size = caps.sum() + abs(best) @ abs(Q) @ abs(best)
    return best * y, float(np.sqrt(best_gap + 1e3 * y.size * np.finfo(EXTENDED).eps * size))


@njit
def _descent(Q, upper, sweeps):
    a, slope = np.zeros(len(Q)), -np.ones(len(Q))
    for _ in range(sweeps):
        for i in range(len(Q)):
            if Q[i, i] > 0.0:
                new = min(max(a[i] - slope[i] / Q[i, i], 0.0), upper[i])
            else:
                new = upper[i]
            slope += (new - a[i]) * Q[:, i]
            a[i] = new
    return a


def _refined(Q, a, upper):
    """Return the point with those coefficients at their bounds that are near them: least squares
    for the others, in several steps.
    """
    near = 1e-9 * (1.0 + abs(a).max())
    low, high = a <= near, a >= upper - near
    free = ~(low | high)
    a = np.where(low, EXTENDED(0.0), np.where(high, upper, a))
    matrix = np.asarray(Q[np.ix_(free, free)], dtype=float)
    for _ in range(4 if free.any() else 0):
        slope = np.asarray((1.0 - Q @ a)[free], dtype=float)
        a[free] = np.clip(
            a[free] + np.linalg.lstsq(matrix, slope, rcond=1e-12)[0], 0.0, upper[free]
        )
    return a


def _gap(Q, a, caps, squared):
    """Return ``P(w(a)) - D(a)`` as the sum of its non-negative terms."""
    slack = np.maximum(1.0 - Q @ a, 0.0)
    if squared:
        return (caps * slack * slack + a * a / (4.0 * caps) - a * (1.0 - Q @ a)).sum()
    over = np.maximum(Q @ a - 1.0, 0.0)
    return ((caps - a) * slack + a * over).sum()
