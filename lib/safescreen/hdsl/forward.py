"""The forward direction: the atom with the most negative product with the gradient, exactly or
nearly, once the slopes are set.
"""

from typing import NamedTuple

import numpy as np

from safescreen.hdsl import _kernels as kernels
from safescreen.hdsl.constraints import Constraints


class Direction(NamedTuple):
    """An atom ``(e_i + sign e_j)(e_i + sign e_j)'`` with i < j, and its ``value = -T <G, atom>``.

    ``value`` is ``(X'BX)_ii + (X'BX)_jj + sign (X'(B + B')X)_ij``; `i`, `j` are places in
    ``constraints.features``."""

    i: int
    j: int
    sign: int
    value: float


def exact(constraints: Constraints, rng: np.random.Generator | None = None) -> Direction:
    """Return the best atom of all (HDSL19 Algorithm 3, line 3), ties to the lower i, then j; `rng`
    is not used.

    With ``W = B + B'`` and ``c_i = ||W x_i|| ||x_i||`` for the columns x_i of X, the Cauchy-Schwarz
    inequality, used once from each side, gives ``|x_i'W x_j| <= sqrt(c_i c_j) <= (c_i + c_j)/2``.
    So an atom's value is at most ``h_i + h_j`` with ``h_i = x_i'B x_i + c_i/2``. Rows are searched
    by decreasing h until the sum of the next two is below the best value found: no pair of the rest
    can be better. Bounds cost O(P s + m log m) for P pairs of points with s features each, a
    searched row O(nnz(X)) at most."""
    diagonal = constraints.diagonal()
    norms = np.empty(constraints.features.size)
    kernels._sum_norms(*constraints._near, *constraints._columns, constraints._sums, norms)
    halves = diagonal + 0.5 * norms * constraints.column_norms
    order = np.argsort(-halves, kind="stable")
    halves = halves[order]
    best = np.array([np.inf, np.inf, 1.0, -np.inf, 0.0])
    bounds = halves[:-1] + halves[1:] + 1e-12 * np.abs(halves).max()
    work = (
        *constraints._near,
        *constraints._columns,
        *constraints._rows,
        constraints._sums,
        constraints._row,
    )
    kernels._search_rows(order, bounds, diagonal, *work, best)
    constraints.n_searched = int(best[4])
    return Direction(int(best[0]), int(best[1]), int(best[2]), float(best[3]))


def heuristic(constraints: Constraints, rng: np.random.Generator) -> Direction:
    """Return a good atom: the best partner j of a random feature, then the best partner of j
    (HDSL19 section 3.2.3).

    The feature is drawn uniformly from all d, stored entries or not. Cost O(P s + nnz(X)) at most,
    whatever d is."""
    diagonal = constraints.diagonal()
    first = constraints.draw(rng)
    second = kernels._best_partner(first, diagonal, constraints.row(first))[0]
    partner, sign, value = kernels._best_partner(second, diagonal, constraints.row(second))
    return Direction(min(second, partner), max(second, partner), sign, value)


FORWARD = {"exact": exact, "heuristic": heuristic}
