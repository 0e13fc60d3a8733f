"""What the estimators share."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from safescreen._checks import check_scalar

__all__ = ["Stopper", "check_classes", "check_pairs", "check_positive", "check_table", "label", "positive_weights"]


def check_positive(value, name):
    """Return a positive number."""
    return check_scalar(value, name, low=0.0, open_low=True)


def check_table(X):
    """Raise a ValueError that names the columns of a data frame that hold words or gaps; whatever else X is passes."""
    if not (type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")):
        return
    import pandas as pd

    words, gaps = [], []
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column) and pd.to_numeric(column, errors="coerce").notna().sum() < column.notna().sum():
            words.append(str(name))
        elif column.isna().any():
            gaps.append(str(name))
    if words:
        raise ValueError(f"X must hold numbers, these columns do not: {_some(words)}; encode them (OneHotEncoder) or drop them")
    if gaps:
        raise ValueError(f"X must not contain NaN, these columns do: {_some(gaps)}; fill them (SimpleImputer) or drop the rows")


def check_classes(y, among=""):
    """Return the distinct labels, at least two; the error says what to look at."""
    check_classification_targets(y)
    classes = np.unique(y)
    if classes.size < 2:
        text = f"y must hold at least two classes{among}, got one class: {label(classes[0])}"
        raise ValueError(f"{text}; there is nothing to tell it from: take another column, or rows of another class too")
    return classes


def label(value):
    """Return a class label as it is written in Python."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def check_pairs(pairs, d):
    """Return pairs of points as a finite array of shape (n_pairs, 2, d)."""
    pairs = np.asarray(pairs, dtype=np.float64)
    if pairs.ndim != 3 or pairs.shape[1:] != (2, d):
        raise ValueError(f"pairs must have shape (n_pairs, 2, {d}), got {pairs.shape}")
    if not np.isfinite(pairs).all():
        raise ValueError("pairs must be finite, found NaN or infinity")
    return pairs


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


def _some(names):
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


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
