"""Keywords that an estimator does not have."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any, Self

from sklearn.base import BaseEstimator

from safescreen._checks import check_flag


class Estimator(BaseEstimator):
    """An estimator whose error for an unknown keyword says what to do instead."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        takes_any = cls.__init__.__code__.co_flags & inspect.CO_VARKEYWORDS  # of a subclass
        own = cls._get_param_names() if parameters else []
        for name in () if takes_any else parameters:
            if name not in own:
                text = f"{cls.__name__} got an unexpected keyword argument {name!r}"
                raise TypeError(f"{text}: {cls._instead(name)}")
        return super().__new__(cls)

    def check_flags(self) -> None:
        """Raise a TypeError that names a parameter if it should be a bool and is none."""
        for name, parameter in inspect.signature(type(self)).parameters.items():
            if parameter.annotation == "bool":
                check_flag(getattr(self, name), name)

    @classmethod
    def _instead(cls, name: str) -> str:
        """Return what to do in place of an unknown keyword."""
        own = cls._get_param_names()
        alike = get_close_matches(name, own, n=1)
        return f"take {alike[0]!r}" if alike else f"take one of {', '.join(own)}"
