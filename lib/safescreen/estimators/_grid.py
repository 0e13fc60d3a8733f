"""Tabulate, rank and choose trials of a cross-validation as scikit-learn's grid search does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV


class _Reported(BaseEstimator):
    """Estimator that stands for the models of one candidate. Its fit to one fold raises the error
    of the trial, if the trial failed. Its fit to all folds does nothing.
    """

    def __init__(self, trials=None):
        self.trials = trials

    def set_params(self, **candidate):
        """Become another candidate."""
        self.candidate = candidate
        return self

    def fit(self, X, y=None):
        """Raise the error of the trial in this fold, if the trial failed."""
        error = self.trials.of(self, X).fit_error if len(X) == 1 else None
        if error is not None:
            raise RuntimeError(error)
        return self


class _Trials:
    """Trials of each candidate in each fold. A deep copy is the object itself, so that all copies
    of an estimator share it.
    """

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
    """Return a fitted :class:`sklearn.model_selection.GridSearchCV` with the results of a table of
    trials, shape (n_folds, n_candidates). If the table is not complete, there is no warning of
    missing scores.
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
