"""Memory that operations take. An operation is refused if less memory is free."""

from __future__ import annotations

from safescreen._checks import check_scalar, free_memory

SHARE = 0.7
"""Fraction of the free memory that a kernel matrix or its cache may take."""

WHOLE = 1000
"""Largest number of points, dense or used as dense points, whose kernel matrix is computed in full.
With more points only the rows that a solver uses are computed, because the support vectors have
fewer rows than all points.
"""

BLOCK = 256
"""Number of rows of a kernel matrix that are computed together."""

NEIGHBORS = 1 << 26
"""Bytes of the largest block of distances."""


def matrix_bytes(n: int) -> float:
    """Return the bytes of a square matrix of n rows."""
    return 8.0 * n * n


def triplets_bytes(n: float) -> float:
    """Return the bytes that n listed triplets take during a solve: two pairs, a norm, masks, and a
    copy of the triplets that remain after screening.
    """
    return 40.0 * n


def dense_bytes(n: int, d: int) -> float:
    """Return the bytes of a metric of n dense points, which are written out."""
    return 24.0 * n * d


def problem_bytes(
    size: int, n_terms: int, *, is_whole_space: bool = False, is_kinked: bool = False
) -> float:
    """Return the bytes that a solve takes at least: for its elements, which have `size` entries
    each, and for what it stores for each of `n_terms` listed terms.
    """
    if is_whole_space:
        elements = 10.0
    elif is_kinked:
        elements = 30.0
    else:
        elements = 17.0
    return 8.0 * elements * size + (24.0 if is_kinked else 2.0) * n_terms


def kernel_limit(max_gigabytes: float) -> float:
    """Return the number of bytes that a kernel matrix or its cache may take now."""
    limit = check_scalar(max_gigabytes, "max_gigabytes", low=0.0, open_low=True)
    return min(1e9 * limit, SHARE * free_memory())
