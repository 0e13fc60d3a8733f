"""The forward direction: the atom with the most negative product with the gradient, exactly or nearly."""

from typing import NamedTuple

import numpy as np

from safescreen.hdsl import _kernels as kernels

__all__ = ["FORWARD", "Direction", "exact", "heuristic", "upper_bound"]


class Direction(NamedTuple):
    """An atom ``(e_i + sign e_j)(e_i + sign e_j)'`` with i < j, and its ``value = -T <G, atom>``.

    ``value`` is ``(X'BX)_ii + (X'BX)_jj + sign (X'(B + B')X)_ij``; `i`, `j` are places in ``constraints.features``.
    """

    i: int
    j: int
    sign: int
    value: float


def exact(constraints, rng=None):
    """Return the best atom of all (HDSL19 Algorithm 3, line 3), ties to the lower i, then j; `rng` is not used.

    With ``R = X'(B + B')X`` the value of row i is at most ``R_ii/2 + max_j (R_jj/2 + ||(B + B')x_i|| ||x_j||)`` by the
    Cauchy-Schwarz inequality. Rows are searched by decreasing bound, until the bound is below the best value found.

    Parameters
    ----------
    constraints : Constraints
        With their slopes set.
    rng : numpy.random.Generator, optional

    Returns
    -------
    Direction

    Notes
    -----
    Bounds cost O(P s + m log m) for P pairs of points with s features each, and a row O(nnz(X)) at most.
    """
    diagonal = constraints.diagonal()
    bounds = _row_bounds(constraints, diagonal)
    order = np.argsort(-bounds, kind="stable")
    best = np.array([np.inf, np.inf, 1.0, -np.inf, 0.0])
    slack = 1e-12 * (np.abs(bounds).max() + np.abs(diagonal).max())
    kernels._search_rows(
        order,
        bounds,
        slack,
        diagonal,
        constraints.weights,
        *constraints._near,
        *constraints._columns,
        *constraints._rows,
        constraints._sums,
        constraints._row,
        best,
    )
    return Direction(int(best[0]), int(best[1]), int(best[2]), float(best[3]))


def upper_bound(constraints):
    """Return an upper bound of the value of every atom, for the price of the diagonal and the bounds of :func:`exact`."""
    return float(_row_bounds(constraints, constraints.diagonal()).max())


def heuristic(constraints, rng):
    """Return a good atom: the best partner j of a random feature, then the best partner of j (HDSL19 section 3.2.3).

    Parameters
    ----------
    constraints : Constraints
        With their slopes set.
    rng : numpy.random.Generator
        Draws the first feature uniformly from all d, stored entries or not.

    Returns
    -------
    Direction

    Notes
    -----
    Cost O(P s + nnz(X)) at most, whatever d is.
    """
    diagonal = constraints.diagonal()
    first = constraints.compact(rng.integers(constraints.d))
    second = kernels._best_partner(first, diagonal, constraints.row(first))[0]
    partner, sign, value = kernels._best_partner(second, diagonal, constraints.row(second))
    return Direction(min(second, partner), max(second, partner), sign, value)


FORWARD = {"exact": exact, "heuristic": heuristic}


def _row_bounds(constraints, diagonal):
    """Return ``D_i + max_j (D_j + ||sums_i|| ||x_j||)`` for all i: the upper envelope of lines, looked up at ``||sums_i||``."""
    sums, norms = constraints._sums, np.empty(diagonal.size)
    sums[:] = 0.0
    kernels._sum_norms(constraints.weights, *constraints._near, *constraints._columns, sums, norms)
    slopes = constraints.column_norms
    order = np.lexsort((diagonal, slopes))
    hull = []
    for k in order[np.append(slopes[order][1:] != slopes[order][:-1], True)]:  # of equal slopes only the highest line
        while hull and diagonal[k] >= diagonal[hull[-1]] or len(hull) > 1 and _hidden(slopes, diagonal, *hull[-2:], k):
            hull.pop()
        hull.append(k)
    a, b = slopes[hull], diagonal[hull]
    crossings = (b[:-1] - b[1:]) / (a[1:] - a[:-1])
    where = np.searchsorted(crossings, norms)
    return diagonal + b[where] + a[where] * norms


def _hidden(slopes, heights, first, middle, last):
    """Whether the middle one of three lines of increasing slope is nowhere above both others."""
    left = (heights[first] - heights[middle]) * (slopes[last] - slopes[middle])
    return left >= (heights[middle] - heights[last]) * (slopes[middle] - slopes[first])
