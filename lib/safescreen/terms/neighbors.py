"""The candidate lists of an anchor: points of its own class, and points of other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from safescreen.memory import NEIGHBORS
from safescreen.rounding import gamma


@dataclass(frozen=True)
class AnchorLists:
    """For every anchor i a list J_i of points of its class and a list L_i of points of other
    classes.

    The lists are stored like CSR rows and sorted by index: the lists of anchor i are at
    ``ptr[i]:ptr[i + 1]``. The pointers are int64 arrays of shape (n + 1,), the points int32 arrays.
    """

    same_ptr: NDArray
    same: NDArray
    other_ptr: NDArray
    other: NDArray

    @classmethod
    def of(cls, same: list[NDArray], other: list[NDArray]) -> Self:
        """Return the lists with the given points. `same` and `other` hold an array of points for
        each anchor.
        """
        empty = np.empty(0, dtype=np.int32)
        return cls(
            _pointers(same),
            np.concatenate([empty, *same]),
            _pointers(other),
            np.concatenate([empty, *other]),
        )

    @property
    def sizes(self) -> tuple[NDArray, NDArray]:
        """Lengths of the lists of points of the same class, and of the lists of points of other
        classes.
        """
        return np.diff(self.same_ptr), np.diff(self.other_ptr)

    def part(self, start: int, stop: int) -> Self:
        """Return the lists of the anchors ``start:stop``."""
        parts = []
        for ptr, members in self.sides:
            parts += ptr[start : stop + 1] - ptr[start], members[ptr[start] : ptr[stop]]
        return type(self)(*parts)

    @property
    def sides(self) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]:
        """Pointers and points of the lists J_i, and pointers and points of the lists L_i."""
        return (self.same_ptr, self.same), (self.other_ptr, self.other)

    @property
    def n_triplets(self) -> int:
        """Number of triplets of the products J_i x L_i."""
        return int(np.dot(*self.sizes))

    def pairs(self, anchors: NDArray) -> list[NDArray]:
        """Return the pairs (anchor, point) of the lists J_i and of the lists L_i, as two int32
        arrays of shape (P, 2). `anchors` holds the point of each anchor.
        """
        return [
            np.column_stack((np.repeat(anchors, np.diff(ptr)), points))
            for ptr, points in self.sides
        ]


def anchor_lists(
    X: NDArray, y: NDArray, k: int | None = None, block_bytes: int = NEIGHBORS
) -> AnchorLists:
    """Return the :class:`AnchorLists` of labelled points. If one list of an anchor is empty, its
    other list is made empty too.

    Each list keeps the k nearest points by Euclidean distance, or all points if k is None. Two
    distances tie if the bounds of their rounding errors overlap; among tied points, points with
    lower indices are taken first. So the lists do not depend on the BLAS kernel, on its threads or
    on `block_bytes`. Cost: O(n^2 d) time for finite k, and O(n k) memory besides a block of
    distances of at most `block_bytes`.
    """
    n, d = X.shape
    codes = np.unique(y, return_inverse=True)[1]
    classes = range(codes.max() + 1)
    members = [np.flatnonzero(codes == c).astype(np.int32) for c in classes]
    outside = [np.flatnonzero(codes != c).astype(np.int32) for c in classes]
    same = []
    other = []
    empty = np.empty(0, dtype=np.int32)
    if k is not None:
        X = X - X.mean(axis=0)  # distances do not change, and their rounding errors are smaller
    squares = np.einsum("ij,ij->i", X, X)
    # the error of |a|^2 + |b|^2 - 2 a'b, relative to |a|^2 + |b|^2; it includes the error of
    # centring
    relative_error = 4.0 * gamma(d + 4)
    step = max(1, block_bytes // (8 * n))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        distances = (
            None if k is None else squares[rows, None] + squares[None, :] - 2.0 * (X[rows] @ X.T)
        )
        for i in range(rows.start, rows.stop):
            same_class = members[codes[i]]
            other_classes = outside[codes[i]]
            same_class = same_class[same_class != i]
            if distances is not None:
                errors = relative_error * (squares[i] + squares)
                same_class = _nearest(distances[i - start], errors, same_class, k)
                other_classes = _nearest(distances[i - start], errors, other_classes, k)
            alone = same_class.size == 0 or other_classes.size == 0
            same.append(empty if alone else same_class)
            other.append(empty if alone else other_classes)
    return AnchorLists.of(same, other)


def class_sizes(codes: NDArray) -> tuple[NDArray, NDArray]:
    """Return two counts for every point: the other points of its class, and the points of other
    classes. If one count is 0, the other is set to 0 too.
    """
    sizes = np.bincount(codes)[codes]
    used = (sizes > 1) & (sizes < codes.size)
    return (sizes - 1) * used, (codes.size - sizes) * used


def _nearest(distances, errors, candidates, k):
    if candidates.size <= k:
        return candidates
    distances = distances[candidates]
    errors = errors[candidates]
    kth = np.argpartition(distances, k - 1)[k - 1]
    apart = errors + errors[kth]
    inside = np.flatnonzero(distances < distances[kth] - apart)
    ties = np.flatnonzero(np.abs(distances - distances[kth]) <= apart)[: k - inside.size]
    return candidates[np.sort(np.concatenate((inside, ties)))]


def _pointers(lists):
    return np.concatenate(([0], np.cumsum([part.size for part in lists]))).astype(np.int64)
