"""Base of all estimators: errors for unknown keywords, warnings for pickles of other versions."""

from __future__ import annotations

import inspect
import sys
from difflib import get_close_matches
from functools import cache
from typing import Any, Self

from sklearn.base import BaseEstimator

from safescreen._checks import check_flag
from safescreen._warnings import warn

VERSION: str = sys.modules["safescreen"].__version__  # the package itself is above this module
"""The version of the library."""

WRITTEN_BY = "_safescreen_version"
"""Key in a pickle of the version of the library that wrote it."""


class Estimator(BaseEstimator):
    """Estimator whose error for an unknown keyword says what to do instead. A warning is given when
    a fitted estimator is read from a pickle of another version of the library.
    """

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        takes_any = cls.__init__.__code__.co_flags & inspect.CO_VARKEYWORDS  # of a subclass
        for name in () if takes_any else parameters:
            if name not in _parameters(cls):
                text = f"{cls.__name__} got an unexpected keyword argument {name!r}"
                raise TypeError(f"{text}: {cls._instead(name)}")
        return super().__new__(cls)

    def _check_flags(self) -> None:
        """Raise a TypeError if a boolean parameter is not a bool. The error names the parameter."""
        for name, parameter in _parameters(type(self)).items():
            if parameter.annotation == "bool":
                check_flag(getattr(self, name), name)

    def __getstate__(self):
        return {**super().__getstate__(), WRITTEN_BY: VERSION}

    def __setstate__(self, state):
        own = {name: value for name, value in state.items() if name != WRITTEN_BY}
        version = state.get(WRITTEN_BY, "0.4.0 or older")
        if version != VERSION and any(name.endswith("_") for name in own):
            text = f"this {type(self).__name__} was pickled by safescreen {version}"
            advice = "what it has learned may be missing or misread: fit it again"
            warn(f"{text}, and this is {VERSION}: {advice}", UserWarning)
        super().__setstate__(own)

    @classmethod
    def _instead(cls, name: str) -> str:
        """Return advice for an unknown keyword."""
        own = cls._get_param_names()
        alike = get_close_matches(name, own, n=1)
        return f"take {alike[0]!r}" if alike else f"take one of {', '.join(own)}"


@cache
def _parameters(cls):
    """Return the parameters of a class of estimators by name."""
    return inspect.signature(cls).parameters
