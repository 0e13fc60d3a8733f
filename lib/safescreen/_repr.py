"""Short texts of records, which fit on a few lines: an array is shown by its shape, and a long
sequence by its length.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

FEW = 3
"""Sequences of at most this many items are shown item by item."""


def brief(value: Any) -> str:
    """Return a short text for a value. A mask is shown by its number of true entries, and any other
    array by its shape.

    >>> brief(np.zeros((30, 30))), brief(np.arange(5) > 3), brief(0.1 + 0.2), brief([1.5] * 20)
    ('<array (30, 30)>', '<1 of 5>', '0.3', '<20 float>')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        return f"<{np.count_nonzero(value)} of {value.size}>"
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"<array {value.shape}>"
    if isinstance(value, list | tuple):
        return _sequence(value)
    return repr(value)


def _sequence(values):
    """Return the items of a short list or tuple, or the number and the type of the items of a long
    one.
    """
    if len(values) > FEW:
        return f"<{len(values)} {type(values[0]).__name__}>"
    items = ", ".join(map(brief, values))
    return f"[{items}]" if isinstance(values, list) else f"({items})"


def brief_repr(self: Any) -> str:
    """Return the text of a dataclass with short values. A class takes this function as its
    ``__repr__``.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Ball:
    ...     center: np.ndarray
    ...     radius: float
    ...     __repr__ = brief_repr
    >>> Ball(np.zeros(2000), 0.5)
    Ball(center=<array (2000,)>, radius=0.5)
    """
    shown = [
        f"{entry.name}={brief(getattr(self, entry.name))}" for entry in fields(self) if entry.repr
    ]
    return f"{type(self).__qualname__}({', '.join(shown)})"
