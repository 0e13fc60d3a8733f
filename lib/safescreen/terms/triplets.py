"""Triplets (anchor, same, other): differences of two pairs that share their first point."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_count, check_flag, check_labels, check_points
from safescreen._threads import with_small_blas
from safescreen.terms import _triplet_kernels as kernels
from safescreen.terms.base import check_weights
from safescreen.terms.differences import PairDifferences
from safescreen.terms.indices import check_triplets
from safescreen.terms.neighbors import AnchorLists, anchor_lists, class_sizes
from safescreen.terms.pairs import PairTable, Points

COLUMNS = ("anchor", "same", "other")


class Triplets(PairDifferences):
    """Triplet terms ``H_ijl = (x_i - x_l)(x_i - x_l)' - (x_i - x_j)(x_i - x_j)'`` (STS19 section
    2.1).

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    index : int array of shape (T, 3)
        One triplet a row: anchor i, point j of the same class, point l of another class.
    diagonal : bool
        Keep only the diagonal of ``H``: the metric is a vector of d non-negative weights (STS19
        section 6.2).
    weights : array of shape (T,), optional
        Positive factors of the losses, 1 if left out.

    Raises
    ------
    ValueError, TypeError
        There is no triplet, an index is out of range or not an integer, the three points of a
        triplet are not different, or a weight is not positive.

    Notes
    -----
    Triplets may repeat and contradict each other, as people's judgements do. The sum counts each
    repetition.

    Cost: O(n d^2 + pairs d + T) for each pass over the terms, where the pairs are the distinct
    pairs of points. Memory: 16 bytes per triplet, and O(pairs + n d). Rounding errors are as for
    :class:`safescreen.terms.differences.PairDifferences`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> triplets = Triplets(X, [[0, 1, 2]])
    >>> triplets.margins(np.eye(2)).tolist()
    [3.0]
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
        index = check_triplets(index, X.shape[0], COLUMNS, "index")
        self._build(X, index[:, :2], index[:, ::2], diagonal, check_weights(weights, len(index)))

    @classmethod
    def from_labels(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        k: int | None = None,
        *,
        diagonal: bool = False,
        weights: ArrayLike | None = None,
        coordinates: ArrayLike | None = None,
    ) -> Self:
        """Return the triplets of labelled points, ordered by anchor, then same, then other.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : array of shape (n,)
            Class labels, at least two classes.
        k : int or None
            The triplets of an anchor are all combinations of its k nearest points in its class and
            its k nearest points in other classes. None takes all points. If a class has fewer than
            k points, all of them are taken.
        diagonal, weights
            As in the constructor.
        coordinates : array of shape (n, r), optional
            The points in the space of the metric, if that is not the space of X. The nearest points
            are those in X in any case.

        Returns
        -------
        Triplets

        Raises
        ------
        ValueError, TypeError
            `X`, `y` or `k` is not valid, no class has two points, or `coordinates` has another
            number of points than `X`.

        Notes
        -----
        Cost: O(n^2 d) for the nearest points, if k is given, and O(T) for the triplets.

        Examples
        --------
        >>> len(Triplets.from_labels(np.arange(6.0).reshape(6, 1), [0, 0, 0, 1, 1, 1]))
        36
        """
        X = check_points(X)
        lists = labelled_lists(X, y, k)
        points = Points(
            check_coordinates(coordinates, X), diagonal=check_flag(diagonal, "diagonal")
        ).merged()
        same = np.empty(lists.n_triplets, dtype=np.int32)
        other = np.empty(lists.n_triplets, dtype=np.int32)
        kernels.fill_products(lists.same_ptr, lists.other_ptr, same, other)
        anchors = np.arange(points.n, dtype=np.int32)
        same_pairs, other_pairs = (PairTable(points, pairs) for pairs in lists.pairs(anchors))
        return cls.of(
            points, same_pairs, other_pairs, same, other, check_weights(weights, same.size)
        )

    @property
    def index(self) -> NDArray:
        """The triplets as an int32 array of shape (T, 3): anchor, same, other."""
        return np.column_stack(
            (self.same_pairs.pairs[self.same], self.other_pairs.pairs[self.other][:, 1])
        )


def check_coordinates(coordinates: ArrayLike | None, X: NDArray) -> NDArray:
    """Return the points in the space of the metric: X if `coordinates` is None. Raise a ValueError
    if X has another number of points.
    """
    if coordinates is None:
        return X
    coordinates = check_points(coordinates, "coordinates")
    if len(coordinates) != len(X):
        raise ValueError(
            f"coordinates must be those of the {len(X)} points of X, got shape {coordinates.shape}"
        )
    return coordinates


def labelled_codes(X: NDArray, y: ArrayLike) -> NDArray:
    """Return the numbers 0, 1, ... of the classes of labelled points. Raise a ValueError if the
    points make no triplet.
    """
    codes = np.unique(check_labels(y, X.shape[0]), return_inverse=True)[1]
    if not np.dot(*class_sizes(codes)):
        raise ValueError(
            "y must have a class with at least two points to make triplets, found one point in "
            "every class"
        )
    return codes


@with_small_blas
def labelled_lists(X: NDArray, y: ArrayLike, k: int | None) -> AnchorLists:
    """Return the :class:`AnchorLists` of labelled points. Raise a ValueError if the points make no
    triplet.
    """
    return anchor_lists(X, labelled_codes(X, y), check_count(k, "k", optional=True))
