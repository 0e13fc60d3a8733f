"""The forward direction: the atom whose inner product with the gradient is the most negative, or
one whose product is nearly so.

The slopes must have been set, see :meth:`Constraints.set_slopes`.
"""

from typing import NamedTuple

import numpy as np

from safescreen.hdsl import _kernels as kernels
from safescreen.hdsl.constraints import Constraints


class Direction(NamedTuple):
    """An atom ``(e_i + sign e_j)(e_i + sign e_j)'`` with i < j, and its ``value = -T <G, atom>``.

    ``value`` is ``(X'BX)_ii + (X'BX)_jj + sign (X'(B + B')X)_ij``.

    Attributes
    ----------
    i, j : int
        Places in ``constraints.features``.
    sign : int
        -1 or 1.
    value : float
    """

    i: int
    j: int
    sign: int
    value: float

    @property
    def atom(self) -> tuple[int, int, int]:
        """The atom as ``(i, j, sign)``."""
        return self.i, self.j, self.sign


def exact(constraints: Constraints, rng: np.random.Generator | None = None) -> Direction:
    """Return the best of all atoms (HDSL19 Algorithm 3, line 3). Of equally good atoms the one with
    the lowest i is taken, then the one with the lowest j.

    Let ``W = B + B'``, and ``c_i = ||W x_i|| ||x_i||`` for the columns x_i of X. The Cauchy-Schwarz
    inequality, used once on each side, gives ``|x_i'W x_j| <= sqrt(c_i c_j) <= (c_i + c_j)/2``. So
    the value of an atom is at most ``h_i + h_j`` with ``h_i = x_i'B x_i + c_i/2``. Rows are
    searched in the order of decreasing h, until the sum of the next two h is below the best value
    so far. Then no remaining pair can be better.

    Cost: O(P s + m log m) for the bounds, with P pairs of points that have s features each, and at
    most O(nnz(X)) for each row that is searched. `rng` is not used.
    """
    diagonal = constraints.diagonal()
    norms = np.empty(constraints.features.size)
    kernels._sum_norms(constraints._near, constraints._columns, constraints._sums, norms)
    halves = diagonal + 0.5 * norms * constraints.column_norms
    order = np.argsort(-halves, kind="stable")
    halves = halves[order]
    bounds = halves[:-1] + halves[1:] + 1e-12 * np.abs(halves).max()
    i, j, sign, value = kernels._search_rows(
        order,
        bounds,
        diagonal,
        constraints._near,
        constraints._columns,
        constraints._rows,
        constraints._sums,
        constraints._row,
    )
    return Direction(i, j, sign, value)


def heuristic(constraints: Constraints, rng: np.random.Generator) -> Direction:
    """Return a good atom: the best partner j of a random feature, then the best partner of j
    (HDSL19 section 3.2.3).

    The feature is drawn uniformly from all d features, whether they have stored entries or not.
    Cost: at most O(P s + nnz(X)), which does not depend on d.
    """
    diagonal = constraints.diagonal()
    first = constraints.compact(rng.integers(constraints.d))
    second = kernels._best_partner(first, diagonal, constraints.row(first))[0]
    partner, sign, value = kernels._best_partner(second, diagonal, constraints.row(second))
    return Direction(min(second, partner), max(second, partner), sign, value)


FORWARD = {"exact": exact, "heuristic": heuristic}
