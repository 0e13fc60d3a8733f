"""What estimators have in common that choose a parameter of another one by cross-validation."""

import warnings
from functools import wraps

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safescreen._progress import progress_bar

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

    def set_params(self, **params):
        """Set parameters, ``estimator__name`` those of the prototype, which takes the place of None.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self
        """
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

    def _begin(self, X, y, sample_weight, groups):
        """Return a copy of the prototype that has read the data, what it has read, and the splits; sets what both know of them."""
        model = clone(self._prototype())
        X, y, weights = model._read(X, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return model, (X, y, weights), list(check_cv(self.cv, y, classifier=True).split(X, y, groups))

    def _bar(self, total, unit):
        return progress_bar(self.verbose, type(self).__name__, total=total, unit=unit)

    def _warn(self, part, value):
        if part is not None:
            text = f"cross-validation interrupted: {self.chosen}={value:.6g} is the best of {part}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)


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
