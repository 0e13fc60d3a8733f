"""Nearest neighbours by a similarity: predictions, and their error as a monitor of a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safescreen._checks import (
    as_array,
    check_count,
    check_labels,
    check_points,
    check_vector,
    unique_labels,
)
from safescreen.hdsl.similarity import SparseSimilarity


def predict_neighbors(products: ArrayLike, y: ArrayLike, k: int = 3) -> np.ndarray:
    """Return, for each row of similarities, the most frequent class of the k most similar points.

    Points that are as similar as the k-th point share the remaining votes, so the order of the
    points does not matter. Of classes with equal votes the class with the larger sum of
    similarities of its voters is taken, and then the class with the lower label.

    Parameters
    ----------
    products : array of shape (m, n)
        Similarities of m points to n labelled ones.
    y : array of shape (n,)
        Labels, at least two classes.
    k : int
        Number of neighbours; n if n is less than k.

    Returns
    -------
    array of shape (m,)

    Raises
    ------
    ValueError, TypeError
        `products` or `y` has another shape, or k is not a positive int.

    Examples
    --------
    >>> products = np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    >>> predict_neighbors(products, [1, 0, 0, 0], k=1).tolist()
    [1, 0]
    """
    products = check_points(products, "products")
    classes, codes = np.unique(check_labels(y, products.shape[1]), return_inverse=True)
    k = min(check_count(k, "k"), products.shape[1])
    members = np.eye(classes.size)[codes]
    kth = np.partition(products, -k, axis=1)[:, -k][:, None]
    above = products > kth
    tied = products == kth
    votes = above + tied * (
        (k - above.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True)
    )
    counts = np.round(votes @ members, 9)
    sums = (votes * products) @ members
    leading = counts == counts.max(axis=1, keepdims=True)
    return classes[np.argmax(np.where(leading, sums, -np.inf), axis=1)]


class NeighborError:
    """The error of k nearest neighbours on fixed data as a function of the similarity (HDSL19 Table
    3, k = 3): a monitor for :class:`FrankWolfe`.

    Parameters
    ----------
    X, y : points of shape (n, d) and their labels
    X_new, y_new : points of shape (m, d) and their labels
    k : int
        Number of neighbours.
    block_bytes : int
        Upper bound of the memory of a block of similarities.
    weights : array of shape (m,), optional
        Non-negative weights of the new points: the error is a weighted mean. Equal if left out.

    Examples
    --------
    >>> NeighborError(np.eye(2), [0, 1], np.array([[2.0, 1.0]]), [0], k=1)(None)
    0.0
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        X_new: Any,
        y_new: ArrayLike,
        k: int = 3,
        block_bytes: int = 1 << 26,
        weights: ArrayLike | None = None,
    ):
        self.X = check_points(X, allow_sparse=True)
        self.X_new = check_points(X_new, "X_new", allow_sparse=True)
        self.block_bytes = check_count(block_bytes, "block_bytes")
        self.y = check_labels(y, np.shape(X)[0])
        self.y_new = as_array(y_new, "y_new")
        unique_labels(self.y_new, "y_new")
        self.k = check_count(k, "k")
        if self.y_new.shape != (np.shape(X_new)[0],):
            raise ValueError(
                f"y_new must have shape ({np.shape(X_new)[0]},), got {self.y_new.shape}"
            )
        if weights is None:
            self.weights = np.ones(self.y_new.size)
        else:
            self.weights = check_vector(weights, self.y_new.size, "weights", low=0.0)
        if not self.weights.any():
            raise ValueError("weights must hold a positive weight, all are 0")

    def __call__(self, similarity: Callable[..., np.ndarray] | None) -> float:
        """Return the error of a similarity, in [0, 1]; None stands for the dot product."""
        step = max(1, self.block_bytes // (8 * np.shape(self.X)[0]))
        left = self.X_new
        right = self.X
        if isinstance(similarity, SparseSimilarity):
            left = similarity.transform(left)
            right = similarity.transform(right)
            similarity = None
        similarity = similarity or _dot
        wrong = np.empty(self.y_new.size, dtype=bool)
        for start in range(0, self.y_new.size, step):
            products = similarity(left[start : start + step], right)
            wrong[start : start + step] = (
                predict_neighbors(products, self.y, self.k) != self.y_new[start : start + step]
            )
        return float(self.weights @ wrong / self.weights.sum())


def _dot(X1, X2):
    products = X1 @ X2.T
    return products.toarray() if hasattr(products, "toarray") else products
