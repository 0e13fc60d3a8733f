"""A fit is atomic: its attributes are set together at its end, or none is."""

from collections.abc import Callable
from functools import wraps
from typing import Any

EARLIER = "_earlier_"
"""Where a fit finds the attributes of the fit before it, by name."""


def atomic(fit: Callable) -> Callable:
    """Make a method that fits an estimator set all its attributes together at its end.

    The method works on a draft: an estimator with the same parameters that is not fitted. When it
    has come to its end, one assignment gives its attributes to the estimator, in place of those of
    the fit before. An error or Ctrl-C at any moment leaves the estimator as it was.
    """

    @wraps(fit)
    def whole(self, *args: Any, **options: Any) -> Any:
        if EARLIER in vars(self):  # a fit that another fit calls
            return fit(self, *args, **options)
        draft = type(self).__new__(type(self))
        vars(draft).update(_others(self))
        vars(draft)[EARLIER] = _fitted(self)
        fit(draft, *args, **options)
        fitted = _fitted(draft)
        del fitted[EARLIER]
        self.__dict__ = {**_others(self), **fitted}
        return self

    return whole


def earlier(model: Any, name: str) -> Any:
    """Return an attribute of the fit before the one that is running; None if there is none."""
    return vars(model).get(EARLIER, {}).get(name)


def _fitted(model):
    """Return the attributes of a fit, whose names end with an underscore."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def _others(model):
    """Return the attributes that are not those of a fit, such as parameters."""
    return {name: value for name, value in vars(model).items() if not name.endswith("_")}
