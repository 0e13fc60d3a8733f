"""Trials of a cross-validation as scikit-learn's grid search tabulates, ranks and chooses them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV


class _Reported(BaseEstimator):
    """Stands for the models of one candidate. Its fit to a fold raises what the trial's fit has
    raised; to fit all of the folds is nothing.
    """

    def __init__(self, trials=None):
        self.trials = trials

    def set_params(self, **candidate):
        """Become another candidate."""
        self.candidate = candidate
        return self

    def fit(self, X, y=None):
        """Raise what the fit to this fold has raised."""
        error = self.trials.of(self, X).fit_error if len(X) == 1 else None
        if error is not None:
            raise RuntimeError(error)
        return self


class _Trials:
    """The trials of each candidate in each fold, which copies of an estimator share."""

    def __init__(self, table, candidates):
        self.table = table
        self.candidates = candidates

    def __deepcopy__(self, memo):
        return self

    def of(self, model, X):
        """Return the trial of a candidate in the fold whose number is X."""
        return self.table[int(X[0, 0]), self.candidates.index(model.candidate)]

    def score(self, model, X, y=None):
        """Return the scores of a trial."""
        scores = self.of(model, X).test_scores
        return dict(scores) if isinstance(scores, dict) else scores


def tabulated(
    table: np.ndarray, candidates: list[dict], refit: Any, error_score: Any, is_complete: bool
) -> GridSearchCV:
    """Return a fitted :class:`sklearn.model_selection.GridSearchCV` whose results are those of a
    table of trials, shape (n_folds, n_candidates). If the table is not complete, missing scores are
    not warned of.
    """
    trials = _Trials(table, candidates)
    folds = np.arange(len(table))[:, None]
    search = GridSearchCV(
        _Reported(trials),
        [{name: [value] for name, value in candidate.items()} for candidate in candidates],
        scoring=trials.score,
        refit=refit,
        cv=[(fold, fold) for fold in folds],
        error_score=error_score,
    )
    with warnings.catch_warnings():
        if not is_complete:
            warnings.filterwarnings("ignore", "One or more of the test scores", UserWarning)
        search.fit(folds)
    for name in ("fit_time", "score_time"):
        seconds = np.array([[getattr(trial, name) for trial in row] for row in table], dtype=float)
        search.cv_results_[f"mean_{name}"] = seconds.mean(axis=0)
        search.cv_results_[f"std_{name}"] = seconds.std(axis=0)
    search.cv_results_["params"] = candidates
    return search
