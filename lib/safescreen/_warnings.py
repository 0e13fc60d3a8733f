"""Warnings that point at the line that called the library."""

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
"""Files that a warning passes over: the files of the library, of numba, which compiles for the
library, and of decorators and contexts.
"""


def warn(text: str, category: type[Warning]) -> None:
    """Issue a warning that points at the innermost caller outside of the library."""
    frame = sys._getframe()
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)
