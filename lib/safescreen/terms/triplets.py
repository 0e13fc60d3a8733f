"""Triplets (anchor, same, other): differences of two pairs that share their first point."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_count, check_labels, check_points
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
        Positive factors of the losses.

    Raises
    ------
    ValueError
        No triplets, an index out of range, or a point paired with itself.

    Notes
    -----
    Triplets may repeat and contradict each other, as people's judgements do: the sum counts each of
    them. Memory, cost and rounding are those of
    :class:`safescreen.terms.differences.PairDifferences`: 16 bytes for each triplet,
    O(n d^2 + pairs d + T) for each pass.

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
        y : array of shape (n,)
            Class labels.
        k : int or None
            For each anchor, the k nearest points of its class times the k nearest of the other
            classes; None: all of them. A class with fewer points gives fewer: k is a limit, and
            never refused for its size.
        diagonal, weights
            As in the constructor.
        coordinates : array of shape (n, r), optional
            The points in the space of the metric; X if left out, which chooses the nearest in any
            case.

        Examples
        --------
        >>> len(Triplets.from_labels(np.arange(6.0).reshape(6, 1), [0, 0, 0, 1, 1, 1]))
        36
        """
        X = check_points(X)
        lists = labelled_lists(X, y, k)
        points = Points(check_coordinates(coordinates, X), diagonal=bool(diagonal)).merged()
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
        """Triplets as an int32 array of shape (T, 3): anchor, same, other."""
        return np.column_stack(
            (self.same_pairs.pairs[self.same], self.other_pairs.pairs[self.other][:, 1])
        )


def check_coordinates(coordinates: ArrayLike | None, X: NDArray) -> NDArray:
    """Return the points in the space of the metric, which are X itself for None; ValueError if
    they are not as many.
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
    """Return the numbers 0, 1, ... of the classes of labelled points; ValueError if they make no
    triplet.
    """
    codes = np.unique(check_labels(y, X.shape[0]), return_inverse=True)[1]
    if not np.dot(*class_sizes(codes)):
        raise ValueError(
            "y must have a class with at least two points to make triplets, found only singletons"
        )
    return codes


@with_small_blas
def labelled_lists(X: NDArray, y: ArrayLike, k: int | None) -> AnchorLists:
    """Return the checked :class:`AnchorLists` of labelled points; ValueError if they make no
    triplet.
    """
    return anchor_lists(X, labelled_codes(X, y), check_count(k, "k", optional=True))
