"""Checks of points, labels and weights. An error says what is wrong, and what to do."""

import numbers
import re
from contextlib import contextmanager
from datetime import date, timedelta

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, get_tags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y, validate_data

from safescreen._checks import (
    NO_NUMBERS,
    as_array,
    check_count,
    check_grid,
    check_scalar,
    check_vector,
    unique_labels,
)

UNSCALED = 100.0
"""A warning says that two columns are not scaled if the ratio of their spans is above this number.
"""

NUMBERS = "biuf"
"""Kinds of dtypes of real numbers."""

TIMES = "mM"
"""Kinds of dtypes of dates and durations."""

DATES = "replace them by numbers, such as days since the first one, or drop them"
"""What to do with dates."""


def check_values(values, name, spaced, single, *, falling=False):
    """Return a sorted grid of values, whatever the order of `values`. With `falling` the largest
    value is the first. An int stands for that many values, with equal steps of the logarithm
    between the two numbers `spaced`.
    """
    if as_array(values, name).ndim:
        return sorted_grid(values, name, falling=falling)
    if isinstance(values, dict):
        raise TypeError(f"{name} must be an int or an array, got dict: write {name}=[...]")
    if isinstance(values, NO_NUMBERS) or not isinstance(values, numbers.Integral):
        raise TypeError(
            f"{name} must be an int or an array, got {type(values).__name__}: for one value "
            f"use {single}"
        )
    if values < 2:
        raise ValueError(
            f"{name} must stand for at least 2 values, got {values}: for one value use {single}"
        )
    return np.geomspace(*spaced, check_count(values, name))


def sorted_grid(values, name, *, falling=False):
    """Return positive numbers in increasing order, or with `falling` in decreasing order. An error
    says which value `values` holds twice.
    """
    values = np.sort(check_vector(values, np.size(values), name))
    repeated = values[1:][np.diff(values) == 0.0]
    if repeated.size:
        raise ValueError(f"{name} must hold each value once, holds {repeated[0]:g} twice")
    return check_grid(values[::-1] if falling else values, name, falling=falling)


def read(model, X, *y, reset=False, min_features=1):
    """Return points, and labels if they are given, as arrays. With `reset` the model stores the
    number and the names of the features, and its boolean parameters are checked.
    """
    if reset:
        model._check_flags()
    check_dimensions(X, "X.reshape(len(X), -1) makes one row of each point")
    _check_kinds(X)
    options = {
        "accept_sparse": "csr" if get_tags(model).input_tags.sparse else False,
        "dtype": np.float64,
        "ensure_min_features": min_features,
    }
    try:
        with naming("X", "y") if y else naming("X"):
            return _validated(model, X, y, reset, options)
    except (TypeError, ValueError):
        _explain(X)
        raise


def _validated(model, X, y, reset, options):
    """Return points, and labels if there are any, as scikit-learn validates them."""
    if not _is_frame(X) or not all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return validate_data(model, X, *y, reset=reset, **options)
    # scikit-learn would look at each column of the frame
    validate_data(model, X, reset=reset, skip_check_array=True)
    if y:
        return check_X_y(X.to_numpy(), *y, estimator=model, **options)
    return check_array(X.to_numpy(), input_name="X", estimator=model, **options)


@contextmanager
def naming(*names):
    """Add the names of arguments to errors of scikit-learn and NumPy that name none of them."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{names[0]} must be finite, found an integer beyond 1.8e308") from None
    except (TypeError, ValueError) as error:
        # a NotFittedError is an AttributeError too
        if isinstance(error, AttributeError) or any(
            re.search(rf"\b{name}\b", str(error)) for name in names
        ):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{' and '.join(names)}: {error}") from error


def read_unnamed(model, X):
    """Return the points of an array without column names, in the form that a fitted model takes."""
    accept = "csr" if get_tags(model).input_tags.sparse else False
    with naming("X"):
        X = check_array(X, accept_sparse=accept, dtype=np.float64, estimator=model, input_name="X")
    d = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != d:
        name = type(model).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {d} features")
    return X


def formed(X, preprocessor, ndim):
    """Return the points that a preprocessor makes from numbers or names of points.

    Numbers or names are an array of `ndim` dimensions. An array with another number of dimensions
    holds points already, and is returned unchanged.

    The preprocessor is a table whose rows are the points, or a function of an array of names.
    """
    if preprocessor is None or np.ndim(X) != ndim:
        return X
    names = np.asarray(X)
    if callable(preprocessor):
        return preprocessor(names)
    n = preprocessor.shape[0] if hasattr(preprocessor, "shape") else len(preprocessor)
    if names.dtype.kind not in "iu":
        raise TypeError(
            "numbers of points, which are rows of the preprocessor, must be integers, "
            f"got dtype {names.dtype}"
        )
    if names.size and not 0 <= names.min() <= names.max() < n:
        raise ValueError(
            f"numbers of points, which are rows of the preprocessor, must lie in 0..{n - 1}, "
            f"found {names.min() if names.min() < 0 else names.max()}"
        )
    if not hasattr(preprocessor, "shape"):
        return [preprocessor[name] for name in names]
    return getattr(preprocessor, "iloc", preprocessor)[names]


def tuples_of(tuples, size, what, preprocessor):
    """Return points, and the rows that make up each tuple, int array of shape (n, size).

    Tuples have the shape (n, size, d), or (n, size) with a preprocessor, which makes each point
    once. If a tuple compares a point with itself, or a pair with itself, the repeated point gets a
    row of its own. Tuples of shape (n, size, d) have a row for each of their points anyway.
    """
    tuples = as_array(tuples, what)
    is_formed = tuples.ndim == 3
    is_named = tuples.ndim == 2 and preprocessor is not None
    if tuples.shape[1:2] != (size,) or not (is_formed or is_named):
        raise ValueError(
            f"{what} must have shape (n, {size}, d), or (n, {size}) for a preprocessor, "
            f"got {tuples.shape}"
        )
    if is_formed:
        return tuples.reshape(-1, tuples.shape[2]), np.arange(len(tuples) * size).reshape(-1, size)
    names, rows = np.unique(tuples, return_inverse=True)
    rows = rows.reshape(tuples.shape)
    repeats = _repeats(rows)
    names = np.append(names, tuples[repeats])
    rows[repeats] = np.arange(names.size - np.count_nonzero(repeats), names.size)
    return formed(names, preprocessor, 1), rows


def _repeats(rows):
    """Return a mask of the repeated points of pairs, triplets or quadruplets. If every marked point
    is replaced by a copy, no tuple compares a point or a pair with itself.
    """
    repeats = np.zeros(rows.shape, dtype=bool)
    if rows.shape[1] < 4:
        for b in range(1, rows.shape[1]):
            repeats[:, b] = (rows[:, :b] == rows[:, b : b + 1]).any(axis=1)
    else:
        near, far = np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)
        repeats[:, 1] = near[:, 0] == near[:, 1]
        repeats[:, 3] = (far[:, 0] == far[:, 1]) | (near == far).all(axis=1)
    return repeats


def read_labelled(model, X, y, sample_weight, min_features=1, non_negative=True):
    """Return points, labels of at least two classes, and weights that are not all 0. Weights of 1
    are returned as None. With ``non_negative=False`` a negative weight counts as 0.
    """
    labels = y
    try:
        X, y = read(model, X, labels, reset=True, min_features=min_features)
        _check_classes(y)
    except (TypeError, ValueError):
        _explain_labels(labels)
        raise
    if sample_weight is None:
        return X, y, None
    weights = as_array(sample_weight, "sample_weight")
    if weights.dtype.kind not in NUMBERS or weights.any():
        with naming("sample_weight"):
            weights = _checked_weights(weights, X.shape[0], non_negative)
    weights = np.maximum(weights, 0.0)
    if not weights.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. sample_weight must hold a "
            "positive weight"
        )
    if np.unique(y[weights > 0.0]).size < 2:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class: y must "
            "hold at least two classes with positive weight, got one class: "
            f"{label(y[weights > 0.0][0])}"
        )
    return X, y, None if (weights == 1.0).all() else weights


def _checked_weights(weights, n, non_negative):
    """Return weights of n samples as floats. A number stands for n equal weights."""
    if weights.ndim == 0:
        return np.full(n, check_scalar(weights.item(), "sample_weight"))
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}")
    if non_negative and weights.min() < 0.0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: found {weights.min():g}"
        )
    return weights


def class_factors(class_weight, classes, y, weights):
    """Return the factor of C for each class, shape (n_classes,).

    A class that a dict leaves out has the factor 1. A dict that leaves no class out may name labels
    that y does not hold, as in scikit-learn.
    """
    factors = np.ones(classes.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = np.unique(y)
        factors[np.searchsorted(classes, present)] = compute_class_weight(
            "balanced", classes=present, y=y, sample_weight=weights
        )
        return factors
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
    known = classes.tolist()
    unknown = [name for name in class_weight if name not in known]
    missing = [name for name in known if name not in class_weight]
    if unknown and missing:
        raise ValueError(
            f"class_weight must have the labels of y as its keys, found {label(unknown[0])}, which "
            f"y does not hold, and no weight of {label(missing[0])}"
        )
    for number, name in enumerate(known):
        factor = class_weight.get(name, 1.0)
        factors[number] = check_scalar(factor, f"class_weight[{label(name)}]", low=0.0)
    return factors


def kept(weights, numbers):
    """Return the numbers of the samples with positive weight, and the weights of these samples. The
    weights are None if all are 1.
    """
    if weights is None:
        return numbers, None
    numbers = numbers[weights[numbers] > 0.0]
    return numbers, None if (weights[numbers] == 1.0).all() else weights[numbers]


def need_partners(y):
    """Return the classes, the class number of each point, and the size of each class. Raise a
    ValueError if no class has two points.
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.max() < 2:
        raise ValueError(
            "y must have a class with at least two points to make triplets, found one point in "
            "every class: is y an identifier?"
        )
    return classes, codes, counts


def need_points(value, name, codes, others=0):
    """Return `value`, a number of neighbours. Raise a ValueError if it is larger than the number of
    points minus `others`.

    `codes` are the class numbers of the points. The error gives the sizes of the classes.
    """
    count = check_count(value, name)
    limit = len(codes) - others
    if count > limit:
        sizes = ", ".join(str(size) for size in np.bincount(codes)[:10])
        if codes.max() > 9:
            sizes += ", ..."
        rule = f"{name} must be at most {limit}, as there are {len(codes)} points"
        raise ValueError(f"{rule}, got {count}: the classes have {sizes} points")
    return count


def check_dimensions(X, instead):
    """Raise a ValueError if X has three dimensions or more. `instead` says what to do."""
    shape = X.shape if hasattr(X, "shape") else as_array(X, "X").shape
    if len(shape) > 2:
        raise ValueError(f"X must have shape (n, d), one point a row, got shape {shape}: {instead}")


def column_name(model, number):
    """Return the name of a column of X if the model knows it, else its number."""
    names = getattr(model, "feature_names_in_", None)
    return number if names is None else names[number]


def uneven_columns(model, X):
    """Return a text about the columns with the largest and the smallest span. The text is empty if
    the ratio of the two spans is at most `UNSCALED`.

    For sparse points the largest absolute entry of a column takes the place of the span. Columns
    with a span of 0 do not count.
    """
    if sparse.issparse(X):
        spans = np.abs(X).max(axis=0).toarray().ravel()
    else:
        spans = np.ptp(X, axis=0)
    used = np.flatnonzero(spans > 0.0)
    if used.size == 0:
        return ""
    wide = int(np.argmax(spans))
    narrow = int(used[np.argmin(spans[used])])
    if not UNSCALED * spans[narrow] < spans[wide] < np.inf:
        return ""
    most = f"column {column_name(model, wide)} spans {spans[wide]:.3g}"
    return f"{most} and column {column_name(model, narrow)} only {spans[narrow]:.3g}"


def label(value):
    """Return a class label as it is written in Python."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _check_classes(y):
    with naming("y"):
        check_classification_targets(y)
    classes = unique_labels(y)
    if classes.size < 2:
        text = f"y must hold at least two classes, got one class: {label(classes[0])}"
        raise ValueError(f"{text}; take another column as y, or add rows of another class")


def _check_kinds(X):
    """Raise an error if X holds dates, or is a data frame with words. The error names the columns
    of a data frame.

    Columns with a numeric dtype are not examined.
    """
    if getattr(getattr(X, "dtype", None), "kind", "O") in TIMES:
        raise TypeError(f"X must hold numbers, got an array of dates: {DATES}")
    if not _is_frame(X):
        return
    import pandas as pd

    others = X.loc[:, [dtype.kind not in NUMBERS for dtype in X.dtypes]]
    if not others.shape[1]:
        return
    is_date = [dtype.kind in TIMES or isinstance(dtype, pd.PeriodDtype) for dtype in others.dtypes]
    if any(is_date):
        names = _some(others.columns[is_date])
        raise TypeError(f"X must hold numbers, these columns hold dates: {names}; {DATES}")
    numbers = others.apply(pd.to_numeric, errors="coerce")
    words = others.columns[(numbers.isna() & others.notna()).any()]
    if words.size:
        raise ValueError(
            f"X must hold numbers, these columns do not: {_some(words)}; encode them "
            "(OneHotEncoder) or drop them"
        )


def _explain(X):
    """Raise a more precise error for points that scikit-learn has refused, if the cause is known:
    missing values in columns of a data frame, or dates among the objects of an array.
    """
    if _is_frame(X):
        gaps = X.columns[X.isna().any()]
        if gaps.size:
            raise ValueError(
                f"X must not contain NaN, these columns do: {_some(gaps)}; fill them "
                "(SimpleImputer) or drop the rows"
            ) from None
    elif not sparse.issparse(X):
        entries = np.asarray(X, dtype=object).flat
        if any(isinstance(entry, date | timedelta | np.datetime64) for entry in entries):
            raise TypeError(f"X must hold numbers, found dates: {DATES}") from None


def _explain_labels(y):
    """Raise a more precise error for labels that scikit-learn has refused, if the cause is known:
    missing values among words, or labels of several types.
    """
    labels = np.asarray(y, dtype=object)
    if labels.ndim != 1 or not any(isinstance(value, str) for value in labels):
        return
    # NaN does not equal itself, and a comparison with pandas.NA gives no boolean
    gaps = [value is None or (value == value) is not True for value in labels]
    if any(gaps):
        first = gaps.index(True)
        raise ValueError(
            f"y must have no gaps, found {labels[first]} at index {first}, and {sum(gaps)} gaps "
            f"in {len(labels)} labels: drop these rows of X and y"
        ) from None
    kinds = sorted({type(value).__name__ for value in labels})
    if len(kinds) > 1:
        raise TypeError(
            f"y must hold labels of one kind, found {' and '.join(kinds)}: "
            "numpy.asarray(y, dtype=str) makes words of all"
        ) from None


def _is_frame(X):
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")


def _some(names):
    return ", ".join(map(str, names[:5])) + (
        f" and {len(names) - 5} more" if len(names) > 5 else ""
    )
