"""Compiled loops over the terms of an interior-point method.

A term has three numbers, the rows of `duals`: its dual variable alpha in [0, cap], the multiplier
`above` of ``alpha <= cap`` and the multiplier `below` of ``alpha >= 0``. With its slack ``r = tau -
m`` they solve ``r = g alpha + above - below``, and the products ``above (cap - alpha)`` and ``below
alpha`` are to become equal to mu. If cap is infinite there is no `above`. Weights are an array with
a step, which is 0 if all terms share one number.
"""

import numpy as np

from safescreen._numba import njit


@njit
def center(slacks, g, cap, mu, pull, towards, duals):
    """Write the central duals for the given slacks: both of their products are mu.

    With ``pull > 0`` they solve ``r = g alpha + pull (alpha - towards) + above - below``."""
    g += pull
    for t in range(slacks.size):
        r = slacks[t]
        if pull > 0.0:
            r += pull * towards[t]
        if cap == np.inf:
            # g a - mu/a = r
            root = np.sqrt(r * r + 4.0 * g * mu)
            a = 0.5 * (r + root) / g if r > 0.0 else 2.0 * mu / (root - r)
            duals[0, t] = a
            duals[1, t] = 0.0
            duals[2, t] = mu / a
            continue
        # b: the distance of alpha from the nearer end
        middle = r - 0.5 * g
        b = nearer(abs(middle), g, mu)
        if middle > 0.0:
            duals[0, t] = 1.0 - b
            duals[1, t] = mu / b
            duals[2, t] = mu / (1.0 - b)
        else:
            duals[0, t] = b
            duals[1, t] = mu / (1.0 - b)
            duals[2, t] = mu / b


@njit
def nearer(goal, g, mu):
    """Return the b in (0, 1/2] with ``g (1/2 - b) + mu/b - mu/(1 - b) = goal``, by safeguarded
    Newton steps.
    """
    low = 0.0
    high = 0.5
    # f > 0 here, and f is convex: steps stay on this side of the root, up to rounding
    b = mu / (goal + 2.0 * mu)
    for _ in range(60):
        f = g * (0.5 - b) + mu / b - mu / (1.0 - b) - goal
        if f > 0.0:
            low = b
        else:
            high = b
        following = b + f / (g + mu / (b * b) + mu / ((1.0 - b) * (1.0 - b)))
        if not (following > low and following < high):
            following = 0.5 * (low + high)
        if abs(following - b) <= 1e-10 * b:
            return following
        b = following
    return b


@njit
def eliminate(slacks, weights, step, g, cap, duals, scales, residuals):
    """Write the residuals of ``r = g alpha + above - below``, and the scales: a change dm of the
    margin lowers the weighted dual variable by ``scale dm``. Return the weighted sum of all
    products.
    """
    total = 0.0
    for t in range(slacks.size):
        a = duals[0, t]
        below = duals[2, t]
        q = g + below / a
        r = slacks[t] - g * a + below
        product = below * a
        if cap < np.inf:
            above = duals[1, t]
            q += above / (cap - a)
            r -= above
            product += above * (cap - a)
        w = weights[t * step]
        scales[t] = w / q
        residuals[t] = r
        total += w * product
    return total


@njit
def direct(duals, goal, moves, weights, step, cap, direction):
    """Write the step of the duals that belongs to the changes `moves` of the weighted alpha.

    Return the longest step length, and the coefficients of t and t^2 in the sum of the products
    after a step of length t.
    """
    inverse = 0.0
    first = 0.0
    second = 0.0
    for t in range(moves.size):
        a = duals[0, t]
        below = duals[2, t]
        w = weights[t * step]
        da = moves[t] / w
        db = (goal[1, t] - below * da) / a
        direction[0, t] = da
        direction[1, t] = 0.0
        direction[2, t] = db
        inverse = max(inverse, -da / a, -db / below)
        first += w * (below * da + a * db)
        second += w * da * db
        if cap < np.inf:
            above = duals[1, t]
            room = cap - a
            dc = (goal[0, t] + above * da) / room
            direction[1, t] = dc
            inverse = max(inverse, da / room, -dc / above)
            first += w * (room * dc - above * da)
            second -= w * da * dc
    return (1.0 / inverse if inverse > 0.0 else np.inf), first, second
