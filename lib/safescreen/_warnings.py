"""Warnings that point at the line of whoever called the library."""

import contextlib
import os
import sys
import warnings

import numba

_OWN = (
    os.path.dirname(__file__) + os.sep,
    os.path.dirname(numba.__file__) + os.sep,
    contextlib.__file__,
)
"""Files that are passed over: the library's, numba's, which compiles for it, and that of decorators
and contexts around it."""


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the nearest line that is outside of the library."""
    frame = sys._getframe()
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)
