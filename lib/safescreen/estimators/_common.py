"""What the estimators share."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from safescreen._checks import check_scalar

__all__ = ["Stopper", "check_positive", "positive_weights"]


def check_positive(value, name):
    """Return a positive number."""
    return check_scalar(value, name, low=0.0, open_low=True)


def positive_weights(sample_weight, X):
    """Return ``(mask of the samples of positive weight, their weights or None)``; None where all weights are equal to 1."""
    n = X.shape[0]
    if sample_weight is None:
        return np.ones(n, dtype=bool), None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    keep = weights > 0.0
    if not keep.any():
        raise ValueError("sample_weight must hold a positive weight, all are 0")
    return keep, None if (weights[keep] == 1.0).all() else weights[keep]


class Stopper:
    """Passes iterations on to a user's callback and to a progress bar of the duality gap.

    Parameters
    ----------
    callback : callable or None
        ``callback(iteration, x)``; a true value ends the training.
    verbose : bool
        Whether to show a bar, on a terminal.
    name : str
    """

    def __init__(self, callback, verbose, name):
        from tqdm import tqdm

        self.callback = callback
        self.bar = tqdm(desc=name, unit="it", disable=None) if verbose else None

    def __call__(self, iteration, x):
        if self.bar is not None:
            self.bar.set_postfix(gap=f"{iteration.gap:.2e}", terms=iteration.n_terms)
            self.bar.update(iteration.iteration - self.bar.n)
        return bool(self.callback(iteration, x)) if self.callback is not None else False

    def close(self):
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()
