"""How much memory things take: what is refused where there is less, and what a fit is going to
take.
"""

from __future__ import annotations

from safescreen._checks import check_count, check_scalar, free_memory

SHARE = 0.7
"""Part of the memory that is free which a kernel matrix or its cache may take."""

WHOLE = 2000
"""Points, dense or with enough entries to be computed with as dense ones, beyond which only the
rows that a solver asks for are computed: those of support vectors are fewer than all.
"""

BLOCK = 256
"""How many rows of a kernel matrix are computed together."""

NEIGHBORS = 1 << 26
"""Bytes of the largest block of distances."""

KERNELS = ("linear", "rbf", "poly", "polynomial", "precomputed")


def matrix_bytes(n: int, item: int = 8) -> float:
    """Return what a square matrix of n rows takes."""
    return float(item) * n * n


def triplets_bytes(n: float) -> float:
    """Return what n listed triplets take on the way: two pairs, a norm, masks, and what is left of
    them after screening.
    """
    return 40.0 * n


def dense_bytes(n: int, d: int) -> float:
    """Return what a metric of n points takes that are written out."""
    return 24.0 * n * d


def neighbors_bytes(n: int) -> float:
    """Return what the search of neighbours takes: a block of distances, its order, and parts of
    both.
    """
    return 2.5 * min(matrix_bytes(n), float(NEIGHBORS))


def problem_bytes(
    size: int, n_terms: int, *, is_whole_space: bool = False, is_kinked: bool = False
) -> float:
    """Return what a solve takes at least whose elements have so many entries: those that it works
    with, and what it knows of each of the terms that are listed.
    """
    if is_whole_space:
        elements = 10.0
    elif is_kinked:
        elements = 30.0
    else:
        elements = 17.0
    return 8.0 * elements * size + (24.0 if is_kinked else 2.0) * n_terms


def kernel_limit(max_gigabytes: float) -> float:
    """Return how many bytes a kernel matrix or its cache may take now."""
    limit = check_scalar(max_gigabytes, "max_gigabytes", low=0.0, open_low=True)
    return min(1e9 * limit, SHARE * free_memory())


def estimate_memory(
    n: int,
    d: int,
    *,
    kernel: str = "linear",
    n_classes: int = 2,
    n_entries: int | None = None,
    max_gigabytes: float = 4.0,
    n_triplets: int | None = None,
    diagonal: bool = False,
) -> float:
    """Return how many bytes a fit takes at its peak, beside X itself, to a factor of about two.

    Parameters
    ----------
    n, d : int
        Rows and columns of X.
    kernel : {"linear", "rbf", "poly", "precomputed"}
        Of a :class:`SafeSVC`, with whatever loss and method.
    n_classes : int
        Of a :class:`SafeSVC`.
    n_entries : int, optional
        How many entries of sparse rows are not 0; left out, rows are dense.
    max_gigabytes : float
        As for :class:`SafeSVC`. Of more than 2,000 dense rows this is an upper bound: only those
        rows of the kernel matrix are kept that the solver asks for.
    n_triplets : int, optional
        The fit is that of a :class:`TripletMetric` with so many triplets, made from labels; k
        neighbours of each kind make at most ``n * k**2``.
    diagonal : bool
        Of a metric.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        A number out of its range, or another kernel.

    Notes
    -----
    What is refused with a MemoryError is one of the summands, by the same formula: triplets, a
    metric's matrices, a sparse X that is written out. A kernel matrix that does not fit is not
    refused: a cache of its rows takes its place. Triplets are counted with what screening adds; a
    fit that screens none of them takes half of that.

    Cost: none; nothing is allocated.

    Examples
    --------
    >>> import safescreen as ss
    >>> round(ss.estimate_memory(1_000_000, 20) / 1e9, 1)  # linear, dense
    0.8
    >>> round(ss.estimate_memory(1_500, 20, kernel="rbf") / 1e6)
    22
    >>> round(ss.estimate_memory(10_000, 50, n_triplets=250_000) / 1e6)
    191
    """
    n = check_count(n, "n")
    d = check_count(d, "d")
    if n_triplets is not None:
        n_terms = check_count(n_triplets, "n_triplets")
        size = d if diagonal else min(n, d) ** 2
        made = triplets_bytes(n_terms) + neighbors_bytes(n)
        return made + problem_bytes(size, n_terms) + dense_bytes(n, d)
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
    check_scalar(n_classes, "n_classes", low=2)
    n_machines = 1 if n_classes == 2 else n_classes
    vectors = 8.0 * n * (10 + 8 * n_machines)
    if n_entries is None:
        rows = 8.0 * n * (d + 1)
        columns = d
    else:
        rows = 12.0 * (check_count(n_entries, "n_entries") + n)
        columns = min(d, n_entries)
    if kernel == "linear":
        solved = problem_bytes(columns, 0, is_whole_space=True)
        squares = 4.0 * matrix_bytes(d) if n_entries is None and d < n else 0.0
        return 4.0 * rows + vectors + solved + squares + 8.0 * n_machines * (columns + d)
    if kernel == "precomputed":
        return 2.0 * matrix_bytes(n) + vectors
    is_dense = n_entries is None
    item = 4 if is_dense and n > WHOLE else 8
    return (
        min(matrix_bytes(n, item), kernel_limit(max_gigabytes))
        + 8.0 * BLOCK * n
        + 3.0 * rows
        + vectors
    )
