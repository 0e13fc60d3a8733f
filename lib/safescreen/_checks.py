"""Checks of arguments that users pass. Each check raises a ValueError or TypeError that names the
argument and says what was found.
"""

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from safescreen.rounding import Element, ElementLike

PointsLike: TypeAlias = Any
"""Anything that can be made into an array of points, one per row, or into a sparse matrix of
points.
"""

LARGEST_INT = 2**63 - 1
"""Largest number that compiled kernels can count to."""

NO_NUMBERS = bool | np.bool_ | np.timedelta64
"""Types that Python or NumPy takes for numbers, and the library does not."""


def check_scalar(
    value: Any,
    name: str,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
) -> float:
    """Return `value` as a finite float inside ``[low, high]`` (``open_low``: strictly above
    ``low``).
    """
    if isinstance(value, NO_NUMBERS) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        value = float(value) + 0.0  # -0.0 is 0.0
    except OverflowError:
        raise ValueError(
            f"{name} must be finite as a float, got {_shown(value)}, beyond 1.8e308"
        ) from None
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if low is not None and (value < low or (open_low and value == low)):
        raise ValueError(
            f"{name} must be {'greater than' if open_low else 'at least'} {low:g}, got {value:g}"
        )
    if high is not None and value > high:
        raise ValueError(f"{name} must be at most {high:g}, got {value:g}")
    return value


def check_lam(lam: Any, name: str = "lam") -> float:
    """Return the regularization parameter `lam` as a positive finite float."""
    return check_scalar(lam, name, low=0.0, open_low=True)


def check_kernel_parameters(gamma: Any, degree: Any, coef0: Any) -> tuple[float | None, int, float]:
    """Return the parameters of a kernel, each in its range; gamma may be None."""
    g = None if gamma is None else check_scalar(gamma, "gamma", low=0.0, open_low=True)
    p = check_scalar(degree, "degree", low=1)
    c = check_scalar(coef0, "coef0", low=0.0)
    if p != int(p):
        raise ValueError(f"degree must be an integer, got {degree}")
    return g, int(p), c


def check_count(value: Any, name: str, *, optional: bool = False) -> Any:
    """Return `value` as a positive int. With `optional` None is returned as None."""
    if value is None and optional:
        return None
    wanted = "a positive int or None" if optional else "a positive int"
    if isinstance(value, NO_NUMBERS) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {wanted}, got {value!r}")
    value = int(value)
    if value < 1:
        raise ValueError(f"{name} must be {wanted}, got {_shown(value)}")
    if value > LARGEST_INT:
        raise ValueError(f"{name} must be at most {LARGEST_INT}, got {_shown(value)}")
    return value


def check_flag(value: Any, name: str) -> bool:
    """Return `value` as a bool; an int counts as in Python."""
    if isinstance(value, np.timedelta64) or not isinstance(value, np.bool_ | numbers.Integral):
        raise TypeError(f"{name} must be True or False, got {_named(value)}")
    return bool(value)


def check_kind(value: Any, kind: type, name: str, what: str | None = None) -> Any:
    """Return `value` if it is of a kind. Otherwise raise a TypeError that says `what` was
    expected.
    """
    if not isinstance(value, kind):
        expected = f"a {kind.__name__}" if what is None else what
        raise TypeError(f"{name} must be {expected}, got {_named(value)}")
    return value


def check_choice(value: Any, choices: Iterable[str], name: str) -> str:
    """Return `value` if it is one of some words."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


def check_seed(seed: Any, name: str = "random_state") -> np.random.Generator:
    """Return the random generator of a seed, or a given generator itself."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a seed or a numpy.random.Generator: {error}") from None


def check_grid(values: ArrayLike, name: str, *, falling: bool = False) -> NDArray:
    """Return positive numbers that strictly increase, or decrease, as a float64 vector."""
    values = as_array(values, name)
    values = check_vector(values, values.size, name)
    if values.size == 0:
        raise ValueError(f"{name} must hold at least one value, got none")
    if not values.min() > 0.0:
        raise ValueError(f"{name} must be positive, found {values.min():g}")
    steps = np.diff(values)
    wrong = np.flatnonzero(steps >= 0.0 if falling else steps <= 0.0)
    if wrong.size:
        order = "decreasing" if falling else "increasing"
        first, second = values[wrong[0] : wrong[0] + 2]
        raise ValueError(f"{name} must be strictly {order}, got {second:g} after {first:g}")
    return values


def check_function(value: Any, name: str) -> Callable | None:
    """Return `value` if it can be called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {type(value).__name__}")
    return value


def check_callback(callback: Any) -> Callable | None:
    """Return `callback` as a function that returns a bool, or None."""
    if check_function(callback, "callback") is None:
        return None

    def ends(progress):
        answer = callback(progress)
        try:
            return bool(answer)
        except ValueError:
            kind = type(answer).__name__
            raise TypeError(f"callback must return a true or a false value, got {kind}") from None

    return ends


@overload
def check_points(
    X: PointsLike, name: str = "X", *, allow_sparse: Literal[False] = False
) -> NDArray: ...  # numpydoc ignore=GL08
@overload
def check_points(
    X: PointsLike, name: str = "X", *, allow_sparse: bool
) -> Any: ...  # numpydoc ignore=GL08
def check_points(X: PointsLike, name: str = "X", *, allow_sparse: bool = False) -> Any:
    """Return points as a C-contiguous float64 array of shape (n, d), or as a CSR array if
    `allow_sparse` is true and X is sparse.
    """
    if sparse.issparse(X):
        if not allow_sparse:
            raise TypeError(
                f"{name} must be a dense array here, got a sparse {type(X).__name__} of "
                f"shape {X.shape}"
            )
        X = sparse.csr_array(X, dtype=np.float64)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        X = _reals(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} must have two dimensions (n, d), got shape {X.shape}")
        X = np.ascontiguousarray(X, dtype=np.float64)
        values = X
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}")
    _check_finite(values, name)
    return X


def check_labels(y: ArrayLike, n: int, name: str = "y") -> NDArray:
    """Return labels as a one-dimensional array of length `n` with at least two different values."""
    y = as_array(y, name)
    if y.ndim != 1 or y.shape[0] != n:
        raise ValueError(f"{name} must have shape ({n},), got {y.shape}")
    if y.dtype.kind == "f":
        _check_finite(y, name)
    classes = unique_labels(y, name)
    if classes.size < 2:
        raise ValueError(f"{name} must hold at least two classes, found only {classes.tolist()}")
    return y


def unique_labels(y: NDArray, name: str = "y") -> NDArray:
    """Return the different labels of an array, sorted."""
    try:
        return np.unique(y)
    except TypeError as error:
        raise TypeError(f"{name} must hold labels that can be sorted: {error}") from None


def check_vector(
    value: ArrayLike, n: int, name: str, *, low: float | None = None, high: float | None = None
) -> NDArray:
    """Return a float64 vector of length `n` with finite entries in ``[low, high]``."""
    value = _reals(value, name)
    if value.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {value.shape}")
    value = _check_finite(np.ascontiguousarray(value, dtype=np.float64), name)
    if low is not None and n and value.min() < low:
        raise ValueError(f"{name} must be at least {low:g}, found {value.min():.17g}")
    if high is not None and n and value.max() > high:
        raise ValueError(f"{name} must be at most {high:g}, found {value.max():.17g}")
    return value


def check_mask(mask: ArrayLike, n: int, name: str) -> NDArray:
    """Return a boolean mask of length `n`."""
    mask = as_array(mask, name)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} must be a boolean mask, got dtype {mask.dtype}")
    if mask.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {mask.shape}")
    return mask


def check_element(x: Any, shape: tuple | None, name: str = "x") -> ElementLike:
    """Return an element of the space: a finite float64 array of the given shape (None allows any
    shape), or an :class:`Element`, which its own space checks.
    """
    if isinstance(x, Element):
        if shape is not None:
            raise TypeError(
                f"{name} must be an array of shape {shape}, got an {type(x).__name__} of "
                "another space"
            )
        return x.space.check(x, name)
    if sparse.issparse(x):
        raise TypeError(
            f"{name} must be a dense array of shape {shape}, got a sparse {type(x).__name__}"
        )
    x = _reals(x, name)
    if shape is not None and x.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {x.shape}")
    return _check_finite(np.ascontiguousarray(x, dtype=np.float64), name)


def free_memory() -> float:
    """Return the bytes of memory that Linux can give without swapping; infinity on other
    systems.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(
                1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
            )
    except (OSError, StopIteration):
        return math.inf


def need_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise a MemoryError if `what` needs more memory than is free. The error says what to do
    `instead`.
    """
    free = free_memory()
    if n_bytes > free:
        raise MemoryError(
            f"{what} would take {n_bytes / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free: {instead}"
        )


def _named(value) -> str:
    """Return the name of the type of a value, or the name of a type."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def _shown(value) -> str:
    """Return a number as text. An int of more than 128 bits is shown as a power of 2."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1} or more"
    return str(value)


def as_array(value: Any, name: str) -> NDArray:
    """Return `value` as an array; the error for rows of different lengths names the argument."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array: {error}") from None


def _reals(value, name) -> NDArray:
    value = as_array(value, name)
    if value.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {value.dtype}")
    return value


def _check_finite(values, name) -> NDArray:
    bad = ~np.isfinite(values)
    if bad.any():
        position = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"{name} must be finite, got {values[*position]} at index "
            f"{tuple(position) if len(position) > 1 else position[0]}"
        )
    return values
