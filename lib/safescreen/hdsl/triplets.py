"""Triplet constraints of labelled points: x should be more similar to a point y of its class than
to a point z of another class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from safescreen._checks import as_array, check_count, check_labels, check_points, check_seed
from safescreen.hdsl.constraints import take_columns
from safescreen.terms.indices import check_index


def nearest_triplets(
    X: Any, y: ArrayLike, n_targets: int = 3, n_impostors: int = 5, block_bytes: int = 1 << 26
) -> np.ndarray:
    """Return the triplets of nearest neighbours: all combinations of the targets and the impostors
    of each point, which are its most similar points by the dot product.

    HDSL19 section 5.2.1.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Labels, at least two classes.
    n_targets, n_impostors : int
        Number of the most similar points of the same class, and of other classes. Of equally
        similar points, points with lower indices are taken first. If there are fewer points, all of
        them are taken.
    block_bytes : int
        Upper bound of the memory of a block of dot products.

    Returns
    -------
    int32 array of shape (T, 3)
        Sorted by x; ``T = n_targets n_impostors n`` unless a class is too small. A point that is
        alone in its class has no triplets.

    Raises
    ------
    ValueError, TypeError
        Every point is alone in its class, or an argument is out of its range.

    Notes
    -----
    Cost: the product ``X X'``, computed block by block. No n x n array and no array of length d is
    made.

    Examples
    --------
    >>> nearest_triplets([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [0, 0, 1], 1, 1).tolist()
    [[0, 1, 2], [1, 0, 2]]
    """
    X = check_points(X, allow_sparse=True)
    X = take_columns(X, np.unique(X.indices)) if sparse.issparse(X) else X
    n = X.shape[0]
    codes = np.unique(check_labels(y, n), return_inverse=True)[1]
    n_targets = check_count(n_targets, "n_targets")
    n_impostors = check_count(n_impostors, "n_impostors")
    step = max(1, check_count(block_bytes, "block_bytes") // (8 * n))
    triplets = []
    for start in range(0, n, step):
        products = X[start : start + step] @ X.T
        products = products.toarray() if sparse.issparse(products) else products
        for i, row in enumerate(products, start):
            same = codes == codes[i]
            same[i] = False
            targets = _largest(row, np.flatnonzero(same), n_targets)
            impostors = _largest(row, np.flatnonzero(codes != codes[i]), n_impostors)
            pairs = np.repeat(targets, impostors.size), np.tile(impostors, targets.size)
            triplets.append(np.column_stack((np.full(pairs[0].size, i), *pairs)))
    return _stack(triplets)


def random_triplets(
    y: ArrayLike, n_per_point: int = 20, random_state: int | np.random.Generator = 0
) -> np.ndarray:
    """Return random triplets. For every x, a point y of its class and a point z of another class
    are drawn uniformly and independently.

    HDSL19 section 5.2.1, where 20 triplets are drawn for each point of dexter. A triplet may be
    drawn more than once.

    Parameters
    ----------
    y : array of shape (n,)
        Labels, at least two classes.
    n_per_point : int
        Number of triplets of every x that is not alone in its class.
    random_state : int or numpy.random.Generator

    Returns
    -------
    int32 array of shape (T, 3)

    Raises
    ------
    ValueError, TypeError
        Every point is alone in its class, or an argument is out of its range.

    Examples
    --------
    >>> random_triplets([0, 0, 1], 2).tolist()
    [[0, 1, 2], [0, 1, 2], [1, 0, 2], [1, 0, 2]]
    """
    y = as_array(y, "y")
    codes = np.unique(check_labels(y, y.size), return_inverse=True)[1]
    count = check_count(n_per_point, "n_per_point")
    rng = check_seed(random_state)
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    outside = [np.flatnonzero(codes != c) for c in range(codes.max() + 1)]
    triplets = []
    for i, c in enumerate(codes):
        own = members[c]
        if own.size > 1:
            draw = own[(np.searchsorted(own, i) + rng.integers(1, own.size, count)) % own.size]
            triplets.append(
                np.column_stack((np.full(count, i), draw, rng.choice(outside[c], count)))
            )
    return _stack(triplets)


def default_scale(X: Any, triplets: ArrayLike) -> float:
    """Return the smallest scale at which a multiple of the dot product has a median margin of 1, in
    absolute value.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    triplets : int array of shape (T, 3)
        Rows (x, y, z).

    Returns
    -------
    float
        The scale; 1 if the median in the notes is 0.

    Notes
    -----
    Let m be the number of features that have entries in X, and ``1/c`` the median of
    ``|<x, y - z>|`` over the triplets. Then ``c I`` over these features is a convex combination of
    atoms of the scale ``c m/2``, and of no smaller scale, because an atom has the trace
    ``2 scale``.

    Examples
    --------
    >>> default_scale([[2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]], [[0, 1, 2]])
    0.25
    """
    X = sparse.csr_array(check_points(X, allow_sparse=True))
    triplets = check_index(triplets, X.shape[0], ("x", "y", "z"), "triplets", what="triplet")
    x, y, z = (X[column] for column in triplets.T)
    margin = float(np.median(np.abs(x.multiply(y - z).sum(axis=1))))
    scale = 0.5 * np.unique(X.indices[X.data != 0.0]).size / margin if margin > 0.0 else 1.0
    return scale if 0.0 < scale < np.inf else 1.0


def _largest(row, candidates, k):
    return candidates[np.argsort(-row[candidates], kind="stable")[:k]]


def _stack(triplets):
    if not any(map(len, triplets)):
        raise ValueError("y must hold a class of at least two points, found none")
    return np.concatenate(triplets).astype(np.int32)
