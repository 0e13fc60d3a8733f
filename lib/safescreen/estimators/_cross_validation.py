"""Base of the estimators that choose a parameter of another estimator by cross-validation. Each
fold is one path. Scores and choice are the same as in
:class:`sklearn.model_selection.GridSearchCV`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from time import perf_counter
from traceback import format_exc
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, metadata_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safescreen._checks import NO_NUMBERS, check_count
from safescreen._progress import progress_bar
from safescreen._threads import with_small_blas
from safescreen._warnings import warn
from safescreen.estimators._atomic import atomic
from safescreen.estimators._data import naming
from safescreen.estimators._folds import UNKNOWN, Fold, Judge, Trial, is_best, missed
from safescreen.estimators._grid import tabulated
from safescreen.estimators._parameters import Estimator
from safescreen.estimators._training import collect, quiet

ABSENT = {
    "return_train_score": "it is not there, as held-out rows alone are scored; GridSearchCV has it",
    "pre_dispatch": "it is not there: leave it out",
}
"""Keywords of scikit-learn's search that are absent here, and what to do instead."""


class CrossValidation(ClassifierMixin, MetaEstimatorMixin, Estimator):
    """Estimator that chooses one parameter of a prototype by cross-validation. The parameter
    `estimator` holds the prototype; None stands for a prototype with default parameters.
    `best_estimator_` is a fitted copy of the prototype.
    """

    __metadata_request__fit = {"groups": metadata_routing.UNUSED}  # an argument of the splitter
    prototype: type
    """The class of the prototype."""
    chosen: str
    """The name of the parameter that is chosen."""
    _warn: Callable
    """Function that warns of the solution farthest above the tolerance, if there is one."""

    @classmethod
    def _instead(cls, name):
        if name in ABSENT:
            return ABSENT[name]
        if name in (cls.chosen, "param_grid"):
            return f"give values of {cls.chosen} as {cls.chosen}s"
        kind = cls.prototype.__name__
        if name in cls.prototype._get_param_names():
            return f"it is one of the prototype, {cls.__name__}({kind}({name}=...))"
        return super()._instead(name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._prototype()).input_tags
        return tags

    def get_metadata_routing(self) -> metadata_routing.MetadataRouter:
        """Return the routing of the other arguments of :meth:`fit`. This estimator takes weights,
        the splitter takes groups, and the scorer may take weights, groups and other arguments.
        """
        router = metadata_routing.MetadataRouter(owner=self).add_self_request(self)
        mapping = metadata_routing.MethodMapping
        router.add(splitter=self.cv, method_mapping=mapping().add(caller="fit", callee="split"))
        return router.add(
            scorer=self._scorer(), method_mapping=mapping().add(caller="fit", callee="score")
        )

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. ``estimator__name`` sets the parameter `name` of the prototype.
        If `estimator` is None, a prototype is made first.
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
            advice = f"give values of {self.chosen} as {self.chosen}s"
            if isinstance(self.estimator, Pipeline):
                grid = f"{{'{name.lower()}__{self.chosen}': ...}}"
                advice = f"for a pipeline write GridSearchCV(pipeline, {grid})"
            raise TypeError(f"estimator must be a {name} or None, got {kind}: {advice}")
        return self.estimator

    def _scorer(self):
        """Return the scorer, which computes one score or several scores."""
        raises = isinstance(self.error_score, str) and self.error_score == "raise"
        return check_scoring(self._prototype(), self.scoring, raise_exc=raises)

    @atomic
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
            Not negative. Fits use the weights as the prototype does. Scores use them as weights of
            the samples if the scorer takes weights; with metadata routing, only if the scorer
            requests them.
        groups : array of shape (n,), optional
            Groups of the samples, for a splitter that takes groups.
        **params : dict
            Other arguments that the splitter and the scorer request, with metadata routing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The prototype refuses the data or a parameter; or `cv` makes no folds, or names rows
            that do not exist.

        Warns
        -----
        FitFailedWarning
            A fold cannot be fitted, for instance because only one class is left in it. Its scores
            are `error_score`.
        RuntimeWarning
            Ctrl-C ended the cross-validation.
        """
        model = clone(self._prototype())
        given = {"sample_weight": sample_weight, "groups": groups, **params}
        data = X, y, weights = model._read(X, y, sample_weight)
        if get_config()["enable_metadata_routing"]:
            routed = metadata_routing.process_routing(
                self, "fit", **{name: it for name, it in given.items() if it is not None}
            )
            split = routed["splitter"]["split"]
            score = routed["scorer"]["score"]
        elif params:
            raise ValueError(
                f"{', '.join(params)}: {type(self).__name__}.fit passes other arguments on if "
                "sklearn.set_config(enable_metadata_routing=True) was called before"
            )
        else:
            split = {"groups": groups}
            score = {} if weights is None else {"sample_weight": weights}
        splits = check_cv(self.cv, y, classifier=True).split(X, y, **split)
        return self._choose(model, data, splits, score, self._scorer())

    def _choose(self, model, data, splits, score_params, scorer):
        """Choose the parameter of `model`, a copy of the prototype that has read the data."""
        self._check_flags()
        n_cells = check_count(self.intervals, "intervals", optional=True) or 0
        X, y, _ = data
        is_own = self.scoring is None and type(model).score is ClassifierMixin.score
        is_accuracy = y.ndim == 1 and (is_own or self.scoring == "accuracy")
        scorers = several(self.scoring, model)
        judge = Judge(scorer, score_params, X, y, self.error_score, is_accuracy, tuple(scorers))
        self._check_search(judge)
        splits = checked_splits(splits, len(y))
        candidates, refit = self._candidates(model, data)
        table = np.empty((len(splits), len(candidates)), dtype=object)
        is_complete = self._validate(model, data, splits, judge, n_cells, table)
        compared = ""
        if not is_complete:
            table, compared = finished(table, judge, candidates)
        type(self)._warn(model, [trial.short for trial in table.flat if trial.short], X)

        search = tabulated(table, candidates, self.refit, self.error_score, is_complete)
        results = search.cv_results_
        self.multimetric_ = search.multimetric_
        metric = self.refit if self.multimetric_ else "score"
        self.scorer_ = scorers or scorer
        self.cv_results_ = results
        self.n_splits_ = len(table)
        shape = self._shape(candidates)
        if f"mean_test_{metric}" in results:
            folds = [results[f"split{fold}_test_{metric}"] for fold in range(len(table))]
            self.scores_ = np.reshape(folds, (-1, *shape))
        best = getattr(search, "best_index_", None)
        if best is not None:
            best = int(best)
            self.best_index_ = best
            self.best_params_ = candidates[best]
            if not callable(self.refit):
                self.best_score_ = float(results[f"mean_test_{metric}"][best])
            for name, value in self.best_params_.items():
                setattr(self, f"{name}_", value)
        self._certify(table, shape, best, n_cells)
        if compared:
            named = [f"{name}={value:.6g}" for name, value in candidates[best or 0].items()]
            chosen = "" if best is None else f"{', '.join(named)} is the best of "
            text = f"cross-validation interrupted: {chosen}{compared}"
            warn(text, RuntimeWarning)
        for known in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(model, known):
                setattr(self, known, getattr(model, known))
        if self.refit:
            start = perf_counter()
            self.best_estimator_ = refit(best)
            self.refit_time_ = perf_counter() - start
            setattr(self, f"{self.chosen}_", getattr(self.best_estimator_, f"{self.chosen}_"))
        return self

    def _check_search(self, judge):
        """Raise the errors of scikit-learn's search before anything is fitted."""
        if not isinstance(self.refit, bool | np.bool_ | str) and not callable(self.refit):
            kind = type(self.refit).__name__
            raise TypeError(f"refit must be a bool, a name or a function, got {kind}")
        if isinstance(self.error_score, NO_NUMBERS):
            raise TypeError(f"error_score must be a number or 'raise', got {self.error_score!r}")
        trial = np.array([[None]], dtype=object)
        trial[0, 0] = Trial(judge.instead(0.0), 0.0, 0.0)
        if not callable(self.refit) and (judge.names or not callable(self.scoring)):
            tabulated(trial, [{}], self.refit, self.error_score, True)

    def _validate(self, model, data, splits, judge, n_cells, table):
        """Fill the table with trials. Return False if Ctrl-C ended the trials, and True
        otherwise.
        """
        model = copy.copy(model)
        model.set_params(callback=None, verbose=False)
        vars(model).pop("feature_names_in_", None)  # scorers get points without names
        bar = progress_bar(self.verbose, type(self).__name__, total=len(splits), unit="fold")
        with quiet(), bar as bar:
            for places, values, folds in self._rounds(model, data, splits, judge, n_cells):

                def keep(number, trials, places=places):
                    for place, trial in zip(places, trials, strict=False):
                        table[number, place] = trial
                    bar.update()

                tasks = (delayed(follow)(fold, values, judge) for fold in folds)
                if not collect(tasks, keep, self.n_jobs):
                    return False
        return True

    def _certify(self, table, shape, best, n_cells):
        """Set the attributes that hold bounds of the scores, at all values and between them."""
        bounds = np.array([trial.bounds for trial in table.flat], dtype=object)
        bounds = bounds.T.reshape(2, *table.shape)
        self.score_bounds_ = bounds.astype(float).reshape(2, -1, *shape)
        means = bounds.sum(axis=1) / len(table)
        self.certified_ = best is not None and is_best(*means, best)
        if not n_cells:
            return
        unknown = [UNKNOWN] * n_cells
        cells = np.array([trial.between or unknown for trial in table.flat], dtype=object)
        low, high = np.moveaxis(cells.reshape(*table.shape, n_cells, 2).sum(axis=0), -1, 0)
        # no interval ends at the first value
        own = np.arange(table.shape[1]) >= table.shape[1] // shape[0]
        interval_bounds = np.array([low.min(axis=-1)[own], high.max(axis=-1)[own]]) / len(table)
        self.interval_bounds_ = interval_bounds.astype(float).reshape(2, -1, *shape[1:])
        if best is not None:
            self.epsilon_ = missed([*means[1], *interval_bounds[1]], means[0][best])

    def _candidates(self, model, data) -> tuple[list[dict], Callable[[int], Any]]:
        """Return the candidates, as in `params` of ``cv_results_``, and a function. The function
        takes the number of a candidate, and fits the copy of the prototype to all samples with the
        values of this candidate.
        """
        raise NotImplementedError

    def _shape(self, candidates) -> tuple[int, ...]:
        """Return the shape of the array of candidates. Its first axis belongs to the parameter that
        the paths follow.
        """
        return (len(candidates),)

    def _rounds(self, model, data, splits, judge, n_cells) -> Iterator[tuple]:
        """Yield ``(places, values, folds)``: the numbers of some candidates, their values in the
        order in which the paths follow them, and the folds.
        """
        raise NotImplementedError


def follow(fold: Fold, values: NDArray, judge: Judge) -> tuple[list[Trial], bool]:
    """Return a trial of each value, and whether all values were tried. Ctrl-C ends the trials. If
    one fit fails, all later fits of the fold fail too.
    """
    trials: list[Trial] = []
    judge = judge.part(fold.test)
    n_to_come = np.size(values)
    error = None
    try:
        for value in values:
            start = perf_counter()
            n_to_come -= 1
            try:
                model = None if error else fold.solve(value, n_to_come)
            except Exception:
                if judge.error_score == "raise":
                    raise
                model = None
                error = format_exc()
            solved = perf_counter()
            scores = judge.instead(judge.error_score) if model is None else judge.score(model, fold)
            scored = perf_counter()
            found = {} if model is None else fold.found()
            trials.append(Trial(scores, solved - start, scored - solved, error, **found))
    except KeyboardInterrupt:
        return trials, False
    fold.end()
    return trials, True


def checked_splits(splits: Iterable, n: int) -> list[tuple]:
    """Return the splits as arrays of row numbers. Raise a ValueError if there are no splits, or if
    a number is out of range.
    """
    rows = np.arange(n)
    try:
        with naming("cv", "groups"):
            checked = [tuple(rows[np.asarray(part)] for part in split) for split in splits]
    except IndexError as error:
        raise ValueError(f"cv must hold numbers of the {n} rows: {error}") from None
    if not checked:
        raise ValueError("cv must make at least one split, got none: give a number of folds")
    return checked


def finished(table: np.ndarray, judge: Judge, candidates: list[dict]) -> tuple[np.ndarray, str]:
    """Return the trials of a table that are compared after Ctrl-C, and a text about them. If
    candidates differ in several parameters, the text says how many values of each are compared.

    Either the values with a trial in every fold are compared on all folds, or all values are
    compared on the finished folds, whichever comparison has more trials. If neither is possible, a
    KeyboardInterrupt is raised. A trial that is missing in the returned table has the score NaN.
    """
    known = table != None  # noqa: E711
    n_folds, n_values = table.shape
    n_whole_folds = int(known.all(axis=1).sum())
    n_whole_values = int(known.all(axis=0).sum())
    if n_whole_folds * n_values > n_whole_values * n_folds:
        text = f"{n_values} of {n_values} values in {n_whole_folds} of {n_folds} folds"
        return table[known.all(axis=1)], text
    if not n_whole_values:
        raise KeyboardInterrupt
    table = table.copy()
    missing = Trial(judge.like(table[known][0].test_scores, np.nan), np.nan, np.nan)
    for place in np.argwhere(~known):
        table[*place] = missing
    compared = [candidates[place] for place in np.flatnonzero(known.all(axis=0))]
    values = f"{n_whole_values} of {n_values} values{_by_name(compared, candidates)}"
    return table, f"{values} in {n_folds} of {n_folds} folds"


def _by_name(compared, candidates):
    """Return a text that says how many values of each parameter are compared. It is empty if the
    candidates have one parameter only.
    """
    if len(candidates[0]) == 1:
        return ""
    counts = []
    for name in candidates[0]:
        tried = {its[name] for its in compared}
        every = {its[name] for its in candidates}
        counts.append(f"{len(tried)} of {len(every)} {name}")
    return f" ({', '.join(counts)})"


def several(scoring: Any, model: Any) -> dict[str, Any]:
    """Return the scorers by name if `scoring` asks for several scores, and an empty dict if it asks
    for one score.
    """
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return {}
    named = scoring if isinstance(scoring, dict) else {name: name for name in scoring}
    return {name: check_scoring(model, one) for name, one in named.items()}


def _refitted(search):
    if not (search.refit or hasattr(search, "best_estimator_")):
        raise AttributeError("refit=False makes no best_estimator_: fit with refit=True")
    return True


def delegated(method: Callable) -> Any:
    """Make a method of the prototype a method of the search. The search calls it on
    `best_estimator_`. Without `refit` the search does not have the method.
    """

    @available_if(_refitted)
    @wraps(method)
    def ask(self, *args, **options):
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method.__name__)(*args, **options)

    return ask
