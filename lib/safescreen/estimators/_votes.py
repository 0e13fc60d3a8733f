"""Votes of pairs of classes: each pair votes for one of its two classes, as in scikit-learn's SVC.

The pairs (0, 1), (0, 2), ..., (1, 2), ... stand in this order. A positive decision value of a pair
is a vote for its first class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNEQUAL = 0.5
"""Among classes with equal votes the first class leads by less than this many votes."""


def votes(values: NDArray, n_classes: int) -> NDArray:
    """Return how many pairs vote for each class, shape (n_points, n_classes), from the decision
    values of the pairs.
    """
    return _counts(values > 0.0, values <= 0.0, n_classes)


def confidences(values: NDArray, n_classes: int) -> NDArray:
    """Return the votes for each class plus a number between -1/3 and 1/3 that orders classes with
    equal votes. The number is ``s/(3 (|s| + 1))``, where s is the sum of all decision values for
    the class.
    """
    first, second = pairs(n_classes)
    sums = values @ (np.eye(n_classes)[first] - np.eye(n_classes)[second])
    return votes(values, n_classes) + sums / (3.0 * (np.abs(sums) + 1.0))


def ordered(counts: NDArray) -> NDArray:
    """Return votes such that no two classes have the same number. Among classes with equal votes
    the first class leads.
    """
    n_classes = counts.shape[1]
    return counts - UNEQUAL * np.arange(n_classes) / n_classes


def bounds(low: NDArray, high: NDArray, n_classes: int) -> tuple[NDArray, NDArray]:
    """Return the fewest and the most votes for each class, from bounds of the decision values. A
    pair whose value may be 0, or is NaN, may vote for either of its classes.
    """
    is_first = low > 0.0
    is_second = high < 0.0
    fewest = _counts(is_first, is_second, n_classes)
    return fewest, _counts(~is_second, ~is_first, n_classes)


def pairs(n_classes: int) -> tuple[NDArray, NDArray]:
    """Return the first and the second class of each pair."""
    return np.triu_indices(n_classes, 1)


def _counts(for_first, for_second, n_classes):
    first, second = pairs(n_classes)
    classes = np.eye(n_classes)
    return for_first @ classes[first] + for_second @ classes[second]
