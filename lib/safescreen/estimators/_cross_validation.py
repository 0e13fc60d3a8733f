"""What estimators share that choose a parameter of another estimator by cross-validation."""

from __future__ import annotations

import numbers
import warnings
from functools import wraps
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
)
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, metadata_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params, check_is_fitted

from safescreen._checks import LARGEST_INT, check_kind
from safescreen._progress import progress_bar
from safescreen._threads import with_small_blas
from safescreen.estimators._metric import Metric
from safescreen.rounding import upper


class Judge(NamedTuple):
    """The score of a fitted model on held-out samples, or on held-out triplets y. `params`, such as
    weights, are restricted to them and passed on.
    """

    scorer: Any
    params: dict
    X: Any
    y: np.ndarray

    def __call__(self, model, test):
        """Return the score on the samples of these numbers."""
        points = self.X[test] if self.y.ndim == 1 else self.X
        return float(
            self.scorer(
                model,
                points,
                self.y[test],
                **_check_method_params(self.y, self.params, indices=test),
            )
        )


class Trial(NamedTuple):
    """The score of one value in one fold, with the seconds that the fit and the score took, and
    bounds of the score if they are known. `between` are bounds for every value between the one
    before and this one, array of shape (2, n_cells).
    """

    score: float
    fit_seconds: float
    score_seconds: float
    low: float = -np.inf
    high: float = np.inf
    between: Any = None


class Scores:
    """The scores that are known: arrays of shape (n_folds, n_values).

    Attributes
    ----------
    score : array
        NaN where it is not known.
    low, high : array
        Bounds of the scores.
    between : array of shape (2, n_folds, n_values, n_cells)
        Lower and upper bounds of the scores for every value between the one before and this one, in
        each cell of that interval. Without cells nobody asked for them.
    fit_seconds, score_seconds : array
        NaN where nothing was fitted.
    """

    def __init__(self, n_folds, n_values, n_cells=0):
        shape = n_folds, n_values
        self.between = np.empty((2, *shape, n_cells))
        self.between[0] = -np.inf
        self.between[1] = np.inf
        self.score = np.full(shape, np.nan)
        self.fit_seconds = np.full(shape, np.nan)
        self.score_seconds = np.full(shape, np.nan)
        self.low = np.full(shape, -np.inf)
        self.high = np.full(shape, np.inf)

    @property
    def fitted(self):
        """Where something was fitted."""
        return ~np.isnan(self.fit_seconds)

    def keep(self, fold, number, trial):
        """Keep a trial of the value of this number."""
        self.score[fold, number] = trial.score
        self.fit_seconds[fold, number] = trial.fit_seconds
        self.score_seconds[fold, number] = trial.score_seconds
        self._tighten(fold, number, trial.low, trial.high)
        if trial.between is not None:
            self.between[:, fold, number] = trial.between

    def mean_between(self):
        """Return bounds of the mean score for every value between the one before and this one,
        array of shape (2, n_values).
        """
        low, high = self.between.mean(axis=1)
        return np.array([low.min(axis=-1), high.max(axis=-1)])

    def bound(self, fold, number, low, high):
        """Keep bounds of a score that has not been computed. If they are equal, the score is
        known.
        """
        self._tighten(fold, number, low, high)
        if self.low[fold, number] == self.high[fold, number]:
            self.score[fold, number] = self.low[fold, number]

    def _tighten(self, fold, number, low, high):
        self.low[fold, number] = max(self.low[fold, number], low)
        self.high[fold, number] = min(self.high[fold, number], high)

    def results(self, values):
        """Return the scores in the form of ``cv_results_`` of scikit-learn's searches; `values` are
        the values of the parameters by name.
        """
        mean = self.score.mean(axis=0)
        missing = np.isnan(mean)
        results = {f"param_{name}": np.ma.array(its, mask=False) for name, its in values.items()}
        results["params"] = [params_of(values, number) for number in range(mean.size)]
        for what, seconds in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            results[f"mean_{what}_time"] = seconds.mean(axis=0)
            results[f"std_{what}_time"] = seconds.std(axis=0)
        results |= {f"split{fold}_test_score": row.copy() for fold, row in enumerate(self.score)}
        results |= {"mean_test_score": mean, "std_test_score": self.score.std(axis=0)}
        worst = np.nanmin(mean) - 1.0 if not missing.all() else 0.0
        ranks = rankdata(-np.where(missing, worst, mean), method="min")
        results["rank_test_score"] = ranks.astype(np.int32)
        return results


class CrossValidation(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """An estimator with a prototype in its parameter `estimator`; None stands for a prototype with
    its defaults. `best_estimator_` is a copy of it.
    """

    __metadata_request__fit = {"groups": metadata_routing.UNUSED}  # the splitter's
    prototype: type
    """The class of the prototype."""
    chosen: str
    """The name of the parameter that is chosen."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._prototype()).input_tags
        return tags

    def get_metadata_routing(self) -> metadata_routing.MetadataRouter:
        """Return who takes the other arguments of :meth:`fit`: this estimator takes weights, the
        splitter groups, and the scorer both and more.
        """
        router = metadata_routing.MetadataRouter(owner=self).add_self_request(self)
        mapping = metadata_routing.MethodMapping
        router.add(splitter=self.cv, method_mapping=mapping().add(caller="fit", callee="split"))
        return router.add(
            scorer=self._scorer(), method_mapping=mapping().add(caller="fit", callee="score")
        )

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. ``estimator__name`` is a parameter of the prototype, which is
        made first if `estimator` is None.
        """
        if self.estimator is None and any(name.startswith("estimator__") for name in params):
            params = {"estimator": self.prototype(), **params}
        return super().set_params(**params)

    def _prototype(self):
        if self.estimator is None:
            return self.prototype()
        if not isinstance(self.estimator, self.prototype):
            name = self.prototype.__name__
            kind = type(self.estimator).__name__
            raise TypeError(
                f"estimator must be a {name} or None, got {kind}: give values of {self.chosen} "
                f"as {self.chosen}s"
            )
        return self.estimator

    def _scorer(self):
        return check_scoring(self._prototype(), scoring=self.scoring)

    @with_small_blas
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Choose the parameter by cross-validation, and fit all samples with it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            The points, as the prototype takes them.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Not negative. Fits use the weights as the prototype does. Scores use them as factors of
            what is counted; with metadata routing only if the scorer requests them.
        groups : array of shape (n,), optional
            For a splitter that takes groups.
        **params : dict
            Other arguments that the splitter and the scorer request, with metadata routing.

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
            Ctrl-C ended the cross-validation.
        """
        model = clone(self._prototype())
        given = {"sample_weight": sample_weight, "groups": groups, **params}
        data = X, y, weights = model._read(X, y, sample_weight)
        if metadata_routing._routing_enabled():
            routed = metadata_routing.process_routing(
                self, "fit", **{name: it for name, it in given.items() if it is not None}
            )
            split = routed["splitter"]["split"]
            score = routed["scorer"]["score"]
        else:
            metadata_routing._raise_for_params(params, self, "fit")
            split = {"groups": groups}
            score = {} if weights is None else {"sample_weight": weights}
        return self._choose(
            model,
            data,
            check_cv(self.cv, y, classifier=True).split(X, y, **split),
            Judge(self._scorer(), score, X, y),
        )

    def _choose(self, model, data, splits, judge):
        """Choose the parameter of a copy of the prototype, which has read the data."""
        for proved in ("score_bounds_", "certified_", "interval_bounds_", "epsilon_"):
            self.__dict__.pop(proved, None)  # of an earlier fit
        for known in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(known, None)
            if hasattr(model, known):
                setattr(self, known, getattr(model, known))
        grid = self._grid(model, data)
        splits = list(splits)
        scores = Scores(len(splits), len(grid), self._count_cells(judge))
        is_complete = self._validate(model, data, splits, grid, judge, scores)
        self.scores_ = scores.score
        self.n_splits_ = len(splits)
        self.best_index_, self.best_score_, compared = choose(self.scores_, is_complete)
        values, refit = self._settle(model, data, grid, self.best_index_)
        self.best_params_ = params_of(values, self.best_index_)
        for name, value in self.best_params_.items():
            setattr(self, f"{name}_", value)
        self.cv_results_ = scores.results(values)
        if compared is not None:
            chosen = ", ".join(f"{name}={value:.6g}" for name, value in self.best_params_.items())
            text = f"cross-validation interrupted: {chosen} is the best of {compared}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        if self.refit:
            self.best_estimator_ = refit()
            name = f"{self.chosen}_"
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _count_cells(self, judge):
        """Return into how many cells each interval between two values is divided if bounds are
        wanted there, else 0. A ValueError says why there are none.
        """
        return 0

    def _grid(self, model, data):
        """Return the values to choose from, in the form that the next three methods take."""
        raise NotImplementedError

    def _validate(self, model, data, splits, grid, judge, scores):
        """Fill in the :class:`Scores`. Return True if all that are needed are there, False after
        Ctrl-C.
        """
        quiet = clone(model).set_params(callback=None, verbose=False)
        with self._bar(len(splits), "fold") as bar:

            def keep(number, found):
                for place, trial in enumerate(found):
                    scores.keep(number, place, trial)
                bar.update()

            return collect(
                (delayed(self._fold)(quiet, *data, *split, grid, judge) for split in splits),
                keep,
                self.n_jobs,
            )

    @staticmethod
    def _fold(model, X, y, weights, train, test, grid, judge):
        """Return a :class:`Trial` of each value in one fold, and whether all values were tried;
        Ctrl-C ends the trials.
        """
        raise NotImplementedError

    def _settle(self, model, data, grid, best):
        """Return the values for all samples by the name of their parameter, and a function that
        fits the copy of the prototype to all samples with the best value.
        """
        raise NotImplementedError

    def _bar(self, total, unit):
        return progress_bar(self.verbose, type(self).__name__, total=total, unit=unit)


def cells(start, stop, number):
    """Return the ends of so many cells of an interval, with equal steps of the logarithm; start may
    be above stop.
    """
    ends = np.geomspace(start, stop, number + 1)
    ends[0] = start
    ends[-1] = stop
    return ends


def most_missed(intervals, high, least):
    """Return by how much a score may exceed `least`, given upper bounds of the scores of all values
    and of those between them.
    """
    most = max(np.max(intervals[1], initial=-np.inf), np.max(high))
    return upper(most - least, 2) if most > least else 0.0


def params_of(values, number):
    """Return the parameters of this number, from arrays of values by name."""
    return {name: float(its[number]) for name, its in values.items()}


def until_interrupted(trial, values):
    """Return trials of the values, one after the other, and whether all values were tried; Ctrl-C
    ends the trials.
    """
    trials = []
    try:
        for value in values:
            trials.append(trial(value))
    except KeyboardInterrupt:
        return trials, False
    return trials, True


def collect(tasks, keep, n_jobs=None):
    """Run joblib's tasks; return True if all came to their end, False after Ctrl-C.

    A task returns ``(found, is_complete)``. ``keep(number, found)`` is called for each task in
    order.
    """
    if n_jobs is not None:
        check_kind(n_jobs, numbers.Integral, "n_jobs", "an int or None")
        if abs(n_jobs) > LARGEST_INT:
            raise ValueError(f"n_jobs must be at most {LARGEST_INT}, got more")
    results = Parallel(n_jobs=n_jobs, return_as="generator", prefer="threads")(tasks)
    try:
        for number, (result, is_complete) in enumerate(results):
            keep(number, result)
            if not is_complete:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        # joblib warns of the tasks that are not run any more
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            results.close()
        return False
    return True


def choose(scores, is_complete=True):
    """Return the number of the value with the largest mean score, of equal ones the first; that
    score; and a text on what it was compared with.

    `scores` has the shape (n_folds, n_values), and is NaN where a score is missing. If the search
    `is_complete`, a missing score was not needed, and its value cannot be chosen. After Ctrl-C
    values are compared on the same folds: the values with a score in every fold on all folds, or
    all values on the finished folds, whichever are more scores. If there are neither, Ctrl-C is
    passed on.

    >>> choose(np.array([[0.5, 0.75, 0.625], [0.5, np.nan, np.nan]]), False)
    (1, 0.75, '3 of 3 values in 1 of 2 folds')
    """
    known = ~np.isnan(scores)
    n_folds, n_values = scores.shape
    folds = known.all(axis=1)
    columns = known.all(axis=0)
    if not is_complete and folds.sum() * n_values > columns.sum() * n_folds:
        columns[:] = True
    else:
        folds[:] = True
    if not (is_complete or columns.any()):
        raise KeyboardInterrupt
    mean = np.where(columns, scores[folds].mean(axis=0), -np.inf)
    best = int(np.argmax(mean))
    compared = None
    if not is_complete:
        compared = f"{columns.sum()} of {n_values} values in {folds.sum()} of {n_folds} folds"
    return best, float(mean[best]), compared


def _refitted(search):
    if not search.refit:
        raise AttributeError("refit=False makes no best_estimator_: fit with refit=True")
    return True


def delegated(method):
    """Return a method of the prototype as a method of the search, which calls it on
    `best_estimator_`. Without `refit` the search does not have it.
    """

    @available_if(_refitted)
    @wraps(method)
    def ask(self, *args, **options):
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method.__name__)(*args, **options)

    return ask


class MetricSearch(TransformerMixin, CrossValidation):
    """A search whose prototype is a metric: it passes on to the best one, and learns from
    judgements too.
    """

    predict = delegated(Metric.predict)
    transform = delegated(Metric.transform)
    pair_distance = delegated(Metric.pair_distance)
    pair_score = delegated(Metric.pair_score)
    score_pairs = delegated(Metric.score_pairs)
    score_triplets = delegated(Metric.score_triplets)
    get_metric = delegated(Metric.get_metric)
    get_feature_names_out = delegated(Metric.get_feature_names_out)

    @with_small_blas
    def fit_triplets(
        self,
        X: ArrayLike,
        triplets: ArrayLike | None = None,
        triplet_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameter by the agreement with judgements that are held out, and learn from
        all of them with it.

        Parameters
        ----------
        X, triplets, triplet_weight
            As in :meth:`TripletMetric.fit_triplets`. `scoring` is a function
            ``(model, X, triplets, triplet_weight=...)``, left out
            :meth:`TripletMetric.score_triplets`; `cv` splits the triplets, an int or None into runs
            of them: shuffle what is sorted.
        groups : array of shape (T,), optional
            Who has judged, say, for a splitter such as ``GroupKFold``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for the prototype, or triplets of weight 0 beside groups.

        Examples
        --------
        >>> from safescreen import HDSL, HDSLCV
        >>> X = np.array([[2.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.1, 1.0]])
        >>> judgements = [[0, 1, 2], [1, 0, 3], [2, 3, 1], [3, 2, 0]]
        >>> search = HDSLCV(HDSL(max_iter=20), scales=[0.1, 1.0], cv=2).fit_triplets(X, judgements)
        >>> search.scores_.shape, search.score_triplets(X, judgements)
        ((2, 2), 1.0)
        """
        model = clone(self._prototype())
        data = X, triplets, weights = model._read_triplets(X, triplets, triplet_weight)
        scorer = self.prototype.score_triplets if self.scoring is None else self.scoring
        if not callable(scorer):
            raise TypeError(f"scoring must be a function or None for triplets, got {scorer!r}")
        params = {} if weights is None else {"triplet_weight": weights}
        splits = check_cv(self.cv).split(triplets, groups=groups)
        return self._choose(model, data, splits, Judge(scorer, params, X, triplets))
