"""Checks of what users pass in: each raises a ValueError or TypeError that names the argument and what was found."""

import numbers

import numpy as np
from scipy import sparse

from safescreen.rounding import Element


def check_scalar(value, name, *, low=None, high=None, open_low=False):
    """Return `value` as a finite float inside ``[low, high]`` (``open_low``: strictly above ``low``)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.floating | np.integer):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    value = float(value)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if low is not None and (value < low or (open_low and value == low)):
        raise ValueError(f"{name} must be {'greater than' if open_low else 'at least'} {low:g}, got {value:g}")
    if high is not None and value > high:
        raise ValueError(f"{name} must be at most {high:g}, got {value:g}")
    return value


def check_lam(lam, name="lam"):
    """Return the regularization parameter `lam` as a positive finite float."""
    return check_scalar(lam, name, low=0.0, open_low=True)


def check_count(value, name, *, optional=False):
    """Return `value` as a positive int; `optional` lets None pass."""
    if value is None and optional:
        return None
    wanted = "a positive int or None" if optional else "a positive int"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be {wanted}, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be {wanted}, got {value}")
    return int(value)


def check_grid(values, name, *, falling=False):
    """Return positive numbers that strictly increase, or decrease, as a float64 vector."""
    values = check_vector(values, np.size(values), name)
    if values.size == 0:
        raise ValueError(f"{name} must hold at least one value, got none")
    if not values.min() > 0.0:
        raise ValueError(f"{name} must be positive, found {values.min():g}")
    steps = np.diff(values)
    if ((steps >= 0.0) if falling else (steps <= 0.0)).any():
        raise ValueError(f"{name} must be strictly {'decreasing' if falling else 'increasing'}")
    return values


def check_callback(callback):
    """Return `callback` if it can be called, or None."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function or None, got {type(callback).__name__}")
    return callback


def check_points(X, name="X", *, allow_sparse=False):
    """Return points as a C-contiguous float64 array of shape (n, d), or as CSR where that is allowed."""
    if sparse.issparse(X):
        if not allow_sparse:
            raise TypeError(f"{name} must be a dense array here, got a sparse {type(X).__name__} of shape {X.shape}")
        X = sparse.csr_array(X, dtype=np.float64)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        X = np.asarray(X)
        if X.dtype == object or X.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, got dtype {X.dtype}")
        if X.ndim != 2:
            raise ValueError(f"{name} must have two dimensions (n, d), got shape {X.shape}")
        X = np.ascontiguousarray(X, dtype=np.float64)
        values = X
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {_first_bad(values)}")
    return X


def check_labels(y, n, name="y"):
    """Return labels as a one-dimensional array of length `n` with at least two different values."""
    y = np.asarray(y)
    if y.ndim != 1 or y.shape[0] != n:
        raise ValueError(f"{name} must have shape ({n},), got {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{name} must be finite, got {_first_bad(y)}")
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(f"{name} must hold at least two classes, found only {classes.tolist()}")
    return y


def check_vector(value, n, name, *, low=None, high=None):
    """Return a float64 vector of length `n` with finite entries in ``[low, high]``."""
    value = np.asarray(value)
    if value.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {value.dtype}")
    if value.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {value.shape}")
    value = np.ascontiguousarray(value, dtype=np.float64)
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, got {_first_bad(value)}")
    if low is not None and n and value.min() < low:
        raise ValueError(f"{name} must be at least {low:g}, found {value.min():.17g}")
    if high is not None and n and value.max() > high:
        raise ValueError(f"{name} must be at most {high:g}, found {value.max():.17g}")
    return value


def check_mask(mask, n, name):
    """Return a boolean mask of length `n`."""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} must be a boolean mask, got dtype {mask.dtype}")
    if mask.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {mask.shape}")
    return mask


def check_element(x, shape, name="x"):
    """Return an element of the space: a finite float64 array of the given shape (None: of any), or what knows its space itself."""
    if isinstance(x, Element):
        if shape is not None:
            raise TypeError(f"{name} must be an array of shape {shape}, got an {type(x).__name__} of another space")
        return x.space.check(x, name)
    if sparse.issparse(x):
        raise TypeError(f"{name} must be a dense array of shape {shape}, got a sparse {type(x).__name__}")
    x = np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")
    if shape is not None and x.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {x.shape}")
    x = np.ascontiguousarray(x, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {_first_bad(x)}")
    return x


def _first_bad(values):
    bad = np.argwhere(~np.isfinite(values))
    where = tuple(int(i) for i in bad[0])
    return f"{values[where]} at index {where if len(where) > 1 else where[0]}"
