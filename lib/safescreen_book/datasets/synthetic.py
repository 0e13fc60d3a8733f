"""Made-up data in place of sets that are too large to ship: sparse rows like text or clicks."""

import numpy as np
import scipy.sparse as sp

from safescreen._checks import check_count, check_scalar


def sparse_classification(
    n: int, d: int, density: float, seed: int = 0, *, informative: float = 0.1, noise: float = 0.5
):
    """Draw a sparse two-class problem whose columns are as unequal as words.

    For each row a Poisson number of columns, ``density d`` on average, is drawn by Zipf's law:
    column j with probability ``log((j+2)/(j+1)) / log(d+1)``, about ``1/(j log d)``. A column drawn
    twice counts once, an empty row gets one. Entries are equal and rows have length 1. The label is
    the sign of ``<x, w> + noise sd e``: w is normal in a share `informative` of the columns and 0
    elsewhere, e is standard normal and sd the standard deviation of ``<x, w>`` over the rows.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    density : float in (0, 1]
        Columns drawn for a row, divided by d; what is stored is less where columns repeat.
    seed : int
        Of everything.
    informative : float in (0, 1]
    noise : float >= 0

    Returns
    -------
    X : csr_array of shape (n, d), float64
        Column numbers sorted, 32 bits.
    y : ndarray of shape (n,), int64
        Labels -1 and +1.

    Raises
    ------
    TypeError, ValueError
        If a size or share is out of range, or if all labels are the same, as can happen with very
        few rows.

    Notes
    -----
    Time O(m log m) and some 60 m bytes at the peak, for m stored entries; nothing of size n d.

    Examples
    --------
    >>> X, y = sparse_classification(1000, 5000, 0.002, seed=1)
    >>> X.shape, X.nnz <= 10_000, sorted(set(y.tolist()))
    ((1000, 5000), True, [-1, 1])
    """
    n = check_count(n, "n")
    d = check_count(d, "d")
    density = check_scalar(density, "density", low=0.0, high=1.0, open_low=True)
    informative = check_scalar(informative, "informative", low=0.0, high=1.0, open_low=True)
    noise = check_scalar(noise, "noise", low=0.0)
    rng = np.random.default_rng(seed)
    sizes = np.maximum(rng.poisson(density * d, n), 1)
    columns = np.minimum((d + 1.0) ** rng.random(int(sizes.sum())) - 1.0, d - 1.0).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    starts = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    X = sp.csr_array((np.ones(columns.size), columns, starts), shape=(n, d))
    X.sum_duplicates()
    X.data = np.repeat(1.0 / np.sqrt(np.diff(X.indptr)), np.diff(X.indptr))
    w = rng.standard_normal(d) * (rng.random(d) < informative)
    scores = X @ w
    scores += noise * scores.std() * rng.standard_normal(n) + 1e-9 * rng.standard_normal(n)
    y = np.where(scores > 0.0, 1, -1).astype(np.int64)
    if abs(int(y.sum())) == n:
        raise ValueError(
            f"n = {n} rows got the same label; draw more, or use another seed than {seed!r}"
        )
    return X, y
