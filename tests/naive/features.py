"""Expansions written out in explicit features, so that what is known through a kernel matrix
alone can be checked.
"""

from weakref import WeakKeyDictionary

import numpy as np

from naive.extremes import dot, exact

__all__ = ["FEATURES", "flat", "rounded", "size"]

FEATURES = WeakKeyDictionary()
"""For each kernel space the exact elements ``z_j``, flat lists."""
_ROUNDED = WeakKeyDictionary()
"""The same as rows of floats."""


def flat(x):
    """Return an element as an exact flat list; an expansion as ``sum_j c_j z_j``."""
    if not hasattr(x, "space"):
        return exact(np.ravel(x))
    elements = FEATURES[x.space]
    coef = exact(x.coef)
    return [dot(coef, column) for column in zip(*elements, strict=True)]


def rounded(x):
    """Return an element as a flat array of floats, and a bound of its error."""
    if not hasattr(x, "space"):
        return np.ravel(x), 0.0
    if x.space not in _ROUNDED:
        _ROUNDED[x.space] = np.array(FEATURES[x.space], dtype=float)
    elements = _ROUNDED[x.space]
    most = np.abs(x.coef) @ np.abs(elements)
    return x.coef @ elements, 1e-15 * len(x.coef) * float(np.linalg.norm(most))


def size(x):
    """Return the norm of an element, as computed."""
    return x.norm() if hasattr(x, "space") else float(np.linalg.norm(x))
