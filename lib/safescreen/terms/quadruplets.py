"""Quadruplets (i, j, k, l): points k and l should be farther apart than points i and j."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_points
from safescreen.terms.base import check_weights
from safescreen.terms.differences import PairDifferences
from safescreen.terms.indices import check_different, check_index, pair_codes

COLUMNS = ("i", "j", "k", "l")


class Quadruplets(PairDifferences):
    """Quadruplet terms ``C_ijkl = (x_k - x_l)(x_k - x_l)' - (x_i - x_j)(x_i - x_j)'`` (STS19
    section 6.3).

    The triplet (i, j, l) is the quadruplet (i, j, i, l).

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    index : int array of shape (T, 4)
        One quadruplet a row: the pair (k, l) should be farther apart than the pair (i, j).
    diagonal, weights
        As for :class:`Triplets`.

    Raises
    ------
    ValueError, TypeError
        There is no quadruplet, an index is out of range or not an integer, a pair holds one point
        twice, the two pairs of a row are the same, or a weight is not positive.

    Notes
    -----
    Memory, cost and rounding errors are as for
    :class:`safescreen.terms.differences.PairDifferences`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 2.0]])
    >>> Quadruplets(X, [[0, 1, 2, 3]]).margins(np.eye(2)).tolist()
    [8.0]
    """

    def __init__(
        self,
        X: ArrayLike,
        index: ArrayLike,
        *,
        diagonal: bool = False,
        weights: ArrayLike | None = None,
    ):
        X = check_points(X)
        index = check_index(index, X.shape[0], COLUMNS, what="quadruplet")
        check_different(index, COLUMNS, ((0, 1), (2, 3)))
        weights = check_weights(weights, len(index))
        bad = np.flatnonzero(pair_codes(index[:, :2], len(X)) == pair_codes(index[:, 2:], len(X)))
        if bad.size:
            raise ValueError(
                f"index must compare different pairs, row {bad[0]} is {index[bad[0]].tolist()}"
            )
        self._build(X, index[:, :2], index[:, 2:], diagonal, weights)

    @property
    def index(self) -> NDArray:
        """The quadruplets as an int32 array of shape (T, 4): i, j, k, l."""
        return np.hstack((self.same_pairs.pairs[self.same], self.other_pairs.pairs[self.other]))
