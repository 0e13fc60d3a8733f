"""Atomic fits: all attributes of a fit are set together at its end, or none is set. Every answer of
a model comes from one fit.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from types import SimpleNamespace
from typing import Any

EARLIER = "_earlier_"
"""Name of the attribute that holds the attributes of the previous fit while a fit runs."""

FITTED = "_fitted_"
"""Name of the attribute that holds the names of all attributes that the last fit has set."""


def atomic(fit: Callable) -> Callable:
    """Decorate a fitting method so that it sets all attributes of the estimator together at its
    end.

    The method works on a draft, an unfitted estimator with the same parameters. At the end of the
    method, one assignment gives the new attributes of the draft to the estimator, in place of the
    attributes of the previous fit. An error or Ctrl-C at any moment leaves the estimator as it was.
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
    """Return the attributes of the previous fit, for the fit that is running."""
    return SimpleNamespace(**vars(model).get(EARLIER, {}))


PARAMETERS = "_parameters_"
"""Name of the attribute that holds the parameters that describe the last fit, by name."""


def keep_parameters(model: Any, names: Iterable[str]) -> None:
    """Store the present values of the named parameters in an estimator that is being fitted."""
    vars(model)[PARAMETERS] = {name: getattr(model, name) for name in names}


def as_fitted(model: Any) -> Any:
    """Return a copy of the estimator as its last fit has left it. Later fits, in other threads too,
    do not change the copy. The stored parameters have the values that they had during the fit.
    """
    state = vars(model).copy()
    state.update(state.get(PARAMETERS, {}))
    twin = object.__new__(type(model))
    vars(twin).update(state)
    return twin


def of_one_fit(method: Callable) -> Callable:
    """Decorate a method that answers for points so that it reads the last fit only."""

    @wraps(method)
    def ask(self, *args: Any, **options: Any) -> Any:
        return method(as_fitted(self), *args, **options)

    return ask


def _without(model, names):
    """Return the attributes of an estimator by name, except the attributes in `names`."""
    return {name: value for name, value in vars(model).items() if name not in names}
