"""The data that STS19 draws, and its numbers of neighbours."""

import math

import numpy as np

from safescreen._checks import check_scalar
from safescreen_book import datasets

K_OF_PAPER = {
    "segment": 20,
    "satimage": 15,
    "phishing": 7,
    "a9a": 5,
    "mnist": 5,
    "usps": 10,
    "madelon": 20,
    "gisette_valid": 15,
}
"""Neighbours of either kind in Tables 2 and 4 of STS19; all of them for the sets that are not
here.
"""


def whose(theirs, rtol, tol):
    """Return whose accuracy a run has: "paper" for the gap that STS19 prints, "program" for the gap
    of its authors' program, "own" if not `theirs`.

    >>> whose(True, 0.0, 1e-6), whose(True, 1e-6, 0.0)
    ('paper', 'program')
    >>> whose(True, 1e-4, 0.0), whose(False, 0.0, 1e-6)
    ('own', 'own')
    """
    return (
        {(0.0, 1e-6): "paper", (1e-6, 0.0): "program"}.get((rtol, tol), "own") if theirs else "own"
    )


def draw(name, fraction=1.0, seed=0, *, n_components=0, n_max=0):
    """Return ``(X, y)`` of a data set, dense: rows drawn at random, reduced to principal components
    if `n_components` is not 0.

    STS19 section 7 draws "90 %" of the rows. By the numbers of triplets in its Table 2 these are
    ``floor(0.9 n) + 1`` rows.

    Parameters
    ----------
    name : str
    fraction : float
        1 for all rows; otherwise ``floor(fraction n) + 1`` are drawn.
    seed : int
    n_components : int
        Principal components kept (of all rows, centered, not scaled); 0 keeps the features.
    n_max : int
        The largest number of rows; 0 for no limit.
    """
    X, y = datasets.load(name, next(iter(datasets.info(name).parts)), return_X_y=True)
    X = X.toarray() if hasattr(X, "toarray") else X
    if n_components:
        X = X - X.mean(axis=0)
        _, vectors = np.linalg.eigh(X.T @ X)
        X = np.ascontiguousarray(X @ vectors[:, : -n_components - 1 : -1])
    n = len(y)
    fraction = check_scalar(fraction, "fraction", low=0.0, high=1.0, open_low=True)
    rows = n if fraction == 1.0 else math.floor(fraction * n) + 1
    rows = min(rows, n_max or n, n)
    return datasets.subsample(X, y, rows / n, seed)
