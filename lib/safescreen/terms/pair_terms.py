"""Single pairs of points, each of which should be nearer or farther apart than a threshold, and the
linear term that pulls pairs together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_flag, check_points, check_scalar
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms.base import check_weights
from safescreen.terms.differences import PairDifferences
from safescreen.terms.indices import check_different, check_index, number_pairs
from safescreen.terms.pairs import Points

COLUMNS = ("i", "j")


class Pairs(PairDifferences):
    """Pair terms: ``C_il`` with threshold `lower` for dissimilar pairs, ``-C_ij`` with threshold
    ``-upper`` for similar ones, where ``C_ij = (x_i - x_j)(x_i - x_j)'``.

    STS19 section 6.3, after Davis et al. (2007). The squared distance should be at least `lower`
    for dissimilar points, and at most `upper` for similar ones. The terms of `dissimilar` come
    before the terms of `similar`.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    similar, dissimilar : int arrays of shape (S, 2) and (D, 2)
        One pair a row; one of the two arrays may be empty.
    upper, lower : float >= 0
        Thresholds U and L of squared distances in the learned metric.
    diagonal : bool
        As for :class:`Triplets`.
    weights : array of shape (D + S,), optional
        Positive factors of the losses, dissimilar pairs first; 1 if left out.

    Raises
    ------
    ValueError, TypeError
        There is no pair, an index is out of range or not an integer, a pair holds one point twice,
        a threshold is negative, or a weight is not positive.

    Notes
    -----
    Each term has its own threshold. The loss of a similar pair is zero for a small metric, so no
    lam makes all terms linear. Therefore ``lam_max()`` is infinite with similar pairs, and the
    `lams` of a path have to be given. Memory, cost and rounding errors are as for
    :class:`safescreen.terms.differences.PairDifferences`. The second pair of a term holds one point
    twice.

    Examples
    --------
    >>> X, similar, dissimilar = np.array([[0.0], [1.0], [4.0]]), [[0, 1]], [[0, 2], [1, 2]]
    >>> pairs = Pairs(X, similar=similar, dissimilar=dissimilar, upper=2.0, lower=3.0)
    >>> pairs.margins(np.eye(1)).tolist(), pairs.threshold.tolist()
    ([16.0, 9.0, -1.0], [3.0, 3.0, -2.0])
    """

    def __init__(
        self,
        X: ArrayLike,
        similar: ArrayLike,
        dissimilar: ArrayLike,
        upper: float,
        lower: float,
        *,
        diagonal: bool = False,
        weights: ArrayLike | None = None,
    ):
        X = check_points(X)
        upper = check_scalar(upper, "upper", low=0.0)
        lower = check_scalar(lower, "lower", low=0.0)
        lists = []
        for rows, name in ((dissimilar, "dissimilar"), (similar, "similar")):
            rows = check_index(rows, X.shape[0], COLUMNS, name)
            check_different(rows, COLUMNS, ((0, 1),), name)
            lists.append(rows)
        D, S = (len(rows) for rows in lists)
        if D + S == 0:
            raise ValueError("similar and dissimilar must hold at least one pair, got none")
        # a term has one pair; its second pair is this point twice, because its errors are smallest
        middle = np.argmin(Points(X, diagonal=True).norms)
        same, other = np.full((2, D + S, 2), middle)
        other[:D], same[D:] = lists
        self._build(X, same, other, diagonal, check_weights(weights, D + S))
        self.threshold = np.repeat([lower, -upper], [D, S])

    @property
    def is_similar(self) -> NDArray:
        """Which terms are similar pairs: a boolean array of shape (T,)."""
        return self.same_pairs.proper()[self.same]

    @property
    def index(self) -> NDArray:
        """The pairs as an int32 array of shape (T, 2)."""
        rows = self.other_pairs.pairs[self.other], self.same_pairs.pairs[self.same]
        return np.where(self.is_similar[:, None], rows[1], rows[0])


def pull(
    X: ArrayLike, pairs: ArrayLike, *, weights: ArrayLike | None = None, diagonal: bool = False
) -> NDArray:
    """Return the linear term ``c = -sum w_ij (x_i - x_j)(x_i - x_j)'`` that pulls pairs together,
    as in LMNN (STS19 section 6.3).

    ``Problem(triplets, ss.Hinge(), linear=ss.pull(X, pairs))`` adds
    ``sum w_ij (x_i - x_j)' M (x_i - x_j)`` to the objective.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    pairs : int array of shape (P, 2)
        Target neighbours: point i and a neighbour j of the same class. A pair may occur more than
        once.
    weights : array of shape (P,), optional
        Positive factors, 1 if left out.
    diagonal : bool
        Keep only the diagonal, for a metric that is a vector of weights (STS19 section 6.2).

    Returns
    -------
    array of shape (d, d), or (d,) for a diagonal metric

    Raises
    ------
    ValueError, TypeError
        There is no pair, an index is out of range or not an integer, a pair holds one point twice,
        or a weight is not positive.

    Notes
    -----
    A problem takes the entries of its linear term to be exact. So its certificates hold for the
    array that is returned here, which differs from the exact sum by rounding. Cost: O(n d^2 + P d).

    Examples
    --------
    >>> pull(np.array([[0.0, 1.0], [2.0, 1.0]]), [[0, 1]]).tolist()
    [[-4.0, 0.0], [0.0, 0.0]]
    """
    X = check_points(X)
    pairs = check_index(pairs, X.shape[0], COLUMNS, "pairs", what="pair")
    check_different(pairs, COLUMNS, ((0, 1),), "pairs")
    weights = check_weights(weights, len(pairs))
    points = Points(X, diagonal=check_flag(diagonal, "diagonal"))
    distinct, ids = number_pairs(pairs, len(X))
    Y = points.zero_rows()
    kernels.add_pairs(
        points.X, distinct, np.bincount(ids, weights).astype(np.float64), -1.0, points.diagonal, Y
    )
    return points.close(Y)
