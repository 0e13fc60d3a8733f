"""A fit is atomic: its attributes are set together at its end, or none is. What a model says comes
from one fit.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from types import SimpleNamespace
from typing import Any

EARLIER = "_earlier_"
"""Where a fit finds the attributes of the fit before it, by name."""

FITTED = "_fitted_"
"""Where an estimator keeps the names of the attributes that its fit has set."""


def atomic(fit: Callable) -> Callable:
    """Make a method that fits an estimator set all its attributes together at its end.

    The method works on a draft: an estimator with the same parameters that is not fitted. When it
    has come to its end, one assignment gives what it has set to the estimator, in place of what the
    fit before had set. An error or Ctrl-C at any moment leaves the estimator as it was.
    """

    @wraps(fit)
    def whole(self, *args: Any, **options: Any) -> Any:
        if EARLIER in vars(self):  # a fit that another fit calls
            return fit(self, *args, **options)
        before = vars(self).get(FITTED, frozenset())
        start = _without(self, before)
        draft = type(self).__new__(type(self))
        vars(draft).update(start)
        vars(draft)[EARLIER] = {name: vars(self)[name] for name in before & vars(self).keys()}
        fit(draft, *args, **options)
        del vars(draft)[EARLIER]
        fitted = {
            name: value
            for name, value in vars(draft).items()
            if name not in start or value is not start[name]
        }
        fitted[FITTED] = frozenset({*fitted, FITTED})
        self.__dict__ = {**_without(self, before), **fitted}
        return self

    return whole


def earlier(model: Any) -> SimpleNamespace:
    """Return the attributes of the fit before the one that is running."""
    return SimpleNamespace(**vars(model).get(EARLIER, {}))


PARAMETERS = "_parameters_"
"""Where an estimator keeps the parameters of its fit that say what was fitted, by name."""


def keep_parameters(model: Any, names: Iterable[str]) -> None:
    """Keep the parameters of these names of an estimator that is being fitted."""
    vars(model)[PARAMETERS] = {name: getattr(model, name) for name in names}


def as_fitted(model: Any) -> Any:
    """Return the estimator as its last fit has left it: later fits, in other threads too, do not
    change it, and the parameters are those of the fit.
    """
    state = vars(model).copy()
    state.update(state.get(PARAMETERS, {}))
    twin = object.__new__(type(model))
    vars(twin).update(state)
    return twin


def of_one_fit(method: Callable) -> Callable:
    """Make a method that says something of points read one fit only, the last one."""

    @wraps(method)
    def ask(self, *args: Any, **options: Any) -> Any:
        return method(as_fitted(self), *args, **options)

    return ask


def _without(model, names):
    """Return the attributes of an estimator, by name, without those of these names."""
    return {name: value for name, value in vars(model).items() if name not in names}
