"""Measure how well a learned similarity finds the features and entries of the true one (HDSL19
section 5.1.1).
"""

from typing import NamedTuple

import numpy as np


class Recovery(NamedTuple):
    """Areas under the ROC curves. The area is 1 if all active features or entries rank before all
    others, and 1/2 by chance.
    """

    features: float
    entries: float


def recovery_auc(similarity, truth):
    """Return how well ``|M_ij|``, i < j, of a similarity ranks the entries of the true one first,
    and the row sums of ``|M|`` its features.

    Diagonal entries do not count. Every atom has diagonal entries, so even a similarity learned
    from nothing would rank the diagonal of the truth, which is most of its entries, before nearly
    all others. Entries that are zero in both similarities are counted and not listed, so the cost
    is O(d + k log k) for k atoms.

    >>> from safescreen.hdsl import SparseSimilarity
    >>> truth = SparseSimilarity(np.array([[0, 1, 1]]), np.array([1.0]), 1.0, 4)
    >>> other = SparseSimilarity(np.array([[1, 2, 1]]), np.array([1.0]), 1.0, 4)
    >>> recovery_auc(truth, truth), recovery_auc(other, truth).features
    (Recovery(features=1.0, entries=1.0), 0.5)
    """
    d = truth.d
    if similarity.d != d:
        raise ValueError(f"similarity must have the {d} features of truth, got {similarity.d}")
    entries, active_entries = _entries(similarity), _entries(truth)
    active_features = dict.fromkeys(truth.features.tolist(), 1.0)
    return Recovery(
        _auc(_rows(similarity), active_features, d), _auc(entries, active_entries, d * (d - 1) // 2)
    )


def _entries(similarity):
    """Return ``|M_ij|`` by (i, j), i < j, those that are not zero."""
    M = similarity.to_sparse()
    i, j = M.coords
    keep = (i < j) & (M.data != 0.0)
    return dict(
        zip(
            zip(i[keep].tolist(), j[keep].tolist(), strict=True),
            np.abs(M.data[keep]).tolist(),
            strict=True,
        )
    )


def _rows(similarity):
    """Return ``sum_j |M_ij|`` by feature i, those that are not zero."""
    sums = np.asarray(abs(similarity.to_sparse()).sum(axis=1)).ravel()
    rows = np.flatnonzero(sums)
    return dict(zip(rows.tolist(), sums[rows].tolist(), strict=True))


def _auc(scores, active, total):
    """Area under the ROC curve of `scores` (missing ones are 0) for the keys of `active` among
    `total`.
    """
    inside = np.array([scores.get(key, 0.0) for key in active])
    outside = np.sort([score for key, score in scores.items() if key not in active])
    zeros = total - inside.size - outside.size
    n_outside = total - inside.size
    below, upto = (
        np.searchsorted(outside, inside, "left"),
        np.searchsorted(outside, inside, "right"),
    )
    wins = 0.5 * (below + upto) + zeros * np.where(inside > 0.0, 1.0, 0.5)
    return float(wins.sum() / (inside.size * n_outside))
