"""Checks of index arrays, and numbers for the distinct pairs in them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import as_array, check_vector

JUDGED = ("anchor", "closer", "farther")


def check_index(
    index: ArrayLike,
    n: int,
    columns: Sequence[str],
    name: str = "index",
    *,
    what: str | None = None,
) -> NDArray:
    """Return `index` as an int array of shape (T, len(columns)) with entries in ``0..n-1``.

    `columns` are the names of the entries of a row, and `what` is the name of a row. Without `what`
    the array may have no rows.
    """
    index = as_array(index, name)
    if what is None and index.shape in ((0,), (0, len(columns))):
        return np.empty((0, len(columns)), dtype=np.int32)
    if index.ndim != 2 or index.shape[1] != len(columns):
        raise ValueError(
            f"{name} must have shape (T, {len(columns)}): {', '.join(columns)}; got {index.shape}"
        )
    if index.shape[0] == 0:
        raise ValueError(f"{name} must hold at least one {what}, got none")
    if index.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold integers, the rows of X counted from 0, got dtype {index.dtype}"
        )
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= n:
        raise ValueError(f"{name} must lie in 0..{n - 1}, found {low if low < 0 else high}")
    return index


def check_different(
    index: NDArray, columns: Sequence[str], pairs: Sequence[tuple[int, int]], name: str = "index"
) -> None:
    """Raise a ValueError if a row of `index` holds one point in two columns that must differ;
    `pairs` lists the pairs of such columns.
    """
    for a, b in pairs:
        bad = np.flatnonzero(index[:, a] == index[:, b])
        if bad.size:
            points = index[bad[0]].tolist()
            raise ValueError(
                f"{name}: {columns[a]} and {columns[b]} must be different points, row "
                f"{bad[0]} is {points}"
            )


def check_triplets(
    triplets: ArrayLike, n: int, columns: Sequence[str] = JUDGED, name: str = "triplets"
) -> NDArray:
    """Return triplets as an int array of shape (T, 3) with entries in ``0..n-1``. The three points
    of a row must differ.
    """
    triplets = check_index(triplets, n, columns, name, what="triplet")
    check_different(triplets, columns, ((0, 1), (0, 2), (1, 2)), name)
    return triplets


def check_judgements(
    triplets: ArrayLike, triplet_weight: ArrayLike | None, n: int
) -> tuple[NDArray, NDArray | None]:
    """Return triplets over n points, and their weights or None. Triplets may repeat and contradict
    each other; weights must be non-negative and not all 0.
    """
    triplets = check_triplets(triplets, n)
    if triplet_weight is not None:
        triplet_weight = check_vector(triplet_weight, len(triplets), "triplet_weight", low=0.0)
        if not triplet_weight.any():
            raise ValueError("triplet_weight must hold a positive weight, all are 0")
    return triplets, triplet_weight


def pair_codes(pairs: NDArray, n: int) -> NDArray:
    """Return a number for each row of `pairs`. The number is the same for (i, j) and (j, i)."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    return low.astype(np.int64) * n + high


def number_pairs(rows: NDArray, n: int) -> tuple[NDArray, NDArray]:
    """Return the distinct pairs in `rows`, sorted, shape (P, 2), and the number of the pair of each
    row. Both arrays are int32.

    The numbers are looked up in chunks, so the peak of memory is 16 bytes per row.
    """
    keys = rows[:, 0].astype(np.int64) * n + rows[:, 1]
    distinct = np.unique(keys)
    numbers = np.empty(keys.size, dtype=np.int32)
    for start in range(0, keys.size, 1 << 16):
        numbers[start : start + (1 << 16)] = np.searchsorted(
            distinct, keys[start : start + (1 << 16)]
        )
    return np.column_stack((distinct // n, distinct % n)).astype(np.int32), numbers
