"""What estimators have in common that choose a parameter of another one by cross-validation."""

import warnings
from functools import wraps
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safescreen._progress import progress_bar
from safescreen._threads import with_small_blas
from safescreen.estimators._search import choose, collect

__all__ = ["CrossValidation", "delegated"]


class CrossValidation(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Holds a prototype, None standing for one with its defaults; of a copy of it `best_estimator_` is made."""

    prototype: type
    """What the prototype is an instance of."""
    chosen: str
    """Its parameter that is chosen."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._prototype()).input_tags
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, ``estimator__name`` those of the prototype, which takes the place of None."""
        if self.estimator is None and any(name.startswith("estimator__") for name in params):
            params = {"estimator": self.prototype(), **params}
        return super().set_params(**params)

    def _prototype(self):
        if self.estimator is None:
            return self.prototype()
        if not isinstance(self.estimator, self.prototype):
            name, kind = self.prototype.__name__, type(self.estimator).__name__
            raise TypeError(f"estimator must be a {name} or None, got {kind}: values of {self.chosen} go into {self.chosen}s")
        return self.estimator

    @with_small_blas
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Choose the parameter, and fit all samples with it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            What the prototype takes.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Not negative; in fits as the prototype takes them, in scores as factors of what is counted.
        groups : array of shape (n,), optional
            For a splitter that takes them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for the prototype, or a class is missing in the training part of a fold.

        Warns
        -----
        RuntimeWarning
            After Ctrl-C in the cross-validation.
        """
        model = clone(self._prototype())
        data = X, y, _ = model._read(X, y, sample_weight)
        return self._choose(model, data, check_cv(self.cv, y, classifier=True).split(X, y, groups))

    def _choose(self, model, data, splits):
        """Choose the parameter of a copy of the prototype, which has read the data."""
        grid, name, splits = self._grid(), f"{self.chosen}_", list(splits)
        for known in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(known, None)
            if hasattr(model, known):
                setattr(self, known, getattr(model, known))
        whole = self._validate(model, data, splits, grid)
        best, self.best_score_, part = choose(self.scores_, whole)
        value, refit = self._settle(model, data, grid, best)
        setattr(self, name, value)
        if part is not None:
            text = f"cross-validation interrupted: {self.chosen}={value:.6g} is the best of {part}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        if self.refit:
            self.best_estimator_ = refit()
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _grid(self):
        """Return the values to choose from, as the next two take them."""
        raise NotImplementedError

    def _validate(self, model, data, splits, grid):
        """Set `scores_`; return whether all that are needed are there, or Ctrl-C was pressed."""
        raise NotImplementedError

    def _settle(self, model, data, grid, best):
        """Return the value of that number, and a function that fits the copy of the prototype to all samples with it."""
        raise NotImplementedError

    def _collect(self, tasks, n_folds, n_values):
        """Set `scores_` from tasks, one a fold, that return its scores; return what :func:`~safescreen.estimators._search.collect` does."""
        self.scores_ = np.full((n_folds, n_values), np.nan)
        with self._bar(n_folds, "fold") as bar:

            def keep(number, found):
                self.scores_[number, : len(found)] = found
                bar.update()

            return collect(tasks, keep, self.n_jobs)

    def _bar(self, total, unit):
        return progress_bar(self.verbose, type(self).__name__, total=total, unit=unit)


def _refitted(search):
    if not search.refit:
        raise AttributeError("with refit=False there is no best_estimator_")
    return True


def delegated(method):
    """Return a method of the prototype as one that `best_estimator_` is asked for; without `refit` there is none."""

    @available_if(_refitted)
    @wraps(method)
    def ask(self, *args, **options):
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method.__name__)(*args, **options)

    return ask
