"""Support vector classifier with C chosen by cross-validation along screened paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from safescreen._checks import check_count, check_grid
from safescreen.estimators._cross_validation import (
    CrossValidation,
    cells,
    collect,
    delegated,
    most_missed,
)
from safescreen.estimators._data import check_values
from safescreen.estimators._features import Features
from safescreen.estimators._folds import Fold, advance, is_best, may_win, search
from safescreen.estimators._training import farthest, quiet, warn_of
from safescreen.estimators.safe_svc import SafeSVC

FINE = 1e-6
"""Largest relative gap of solutions that scores of pairs of C and gamma are taken from."""


class SafeSVCCV(CrossValidation):
    """:class:`SafeSVC` with the C of the best cross-validated score, found without solving for
    every C.

    Each fold is one path: a solution is the start for the next C, and screens samples for it. For a
    C that has not been solved for, the solutions for its neighbours give a ball that contains the
    optimum (:func:`safescreen.spheres.midpoint_gap_bound`). The ball gives an interval for each
    decision value of the validation points, and so bounds of the accuracy. The search goes from
    coarse to fine. A C is left out if the upper bound of its mean accuracy is below the lower bound
    of another C, or equal to that of a smaller one.

    With `gammas` the coefficient of the kernel is chosen together with C. The kernel matrix for a
    gamma is computed once, for all folds. All pairs are first solved to a relative gap of 1e-4.
    Only pairs that may still be the best are solved further.

    Parameters
    ----------
    estimator : SafeSVC, optional
        Everything but C. The last fit is a copy of it with the chosen C, with its `callback`,
        `verbose` and path.
    Cs : int or array
        Values in any order; `Cs_` increases. An int n stands for n values from 1e-3 to 1e3, with
        equal steps of the logarithm.
    gammas : array, optional
        Coefficients of the kernel "rbf" or "poly" to choose from, in any order; `gammas_`
        increases. If they are left out, gamma is that of the estimator.
    cv : int, splitter or iterable, optional
        As in scikit-learn; 5 stratified folds if left out.
    scoring : str or callable, optional
        As in scikit-learn; the accuracy if left out. With any other score all C are solved for, and
        nothing is certified.
    refit : bool
        Fit all samples with the chosen C.
    n_jobs : int, optional
        How many folds are computed at the same time, in threads unless
        :func:`joblib.parallel_config` says otherwise.
    certify : bool
        Leave out values of C that cannot be the best. The chosen C is the same without it.
    verbose : bool
        Show a progress bar of the cross-validation on a terminal.
    intervals : int, optional
        Into how many cells each interval between two neighbouring `Cs` is divided for
        `interval_bounds_` and `epsilon_`, which nothing is solved for; neither exists if it is left
        out. Only for the accuracy.

    Attributes
    ----------
    best_estimator_ : SafeSVC
        Fitted to all samples. :meth:`predict` and :meth:`decision_function` use it. It exists only
        with `refit`.
    C_ : float
        The chosen C: the one with the largest mean of `scores_`, of equal ones the smallest.
    gamma_ : float
        With `gammas`: the gamma that is chosen with C. Of equal scores the pair with the smallest C
        is chosen, and of these the one with the smallest gamma.
    certified_ : bool
        Whether the bounds prove that `C_` is the best C at the exact solutions, of equal ones the
        smallest. With `gammas`: that no other pair is better, or equal and earlier in the order of
        the pairs.
    Cs_ : array of shape (n_values,)
    gammas_ : array of shape (n_gammas,)
        Only with `gammas`. Then `scores_`, `score_bounds_` and `certified_out_` have one more axis
        of this length. `best_index_` and `cv_results_` number the pairs, all gammas of the smallest
        C first.
    scores_ : array of shape (n_folds, n_values)
        NaN where the score was not needed, or is missing after Ctrl-C. Each score lies within its
        bounds.
    score_bounds_ : array of shape (2, n_folds, n_values)
        Lower and upper bounds of the accuracies at the exact solutions. They are equal where an
        accuracy is certain. They are -inf and inf where nothing is known, and for any other score.
    best_score_ : float
        Mean score of the chosen C.
    best_index_, best_params_, cv_results_, n_splits_
        As in :class:`sklearn.model_selection.GridSearchCV`. If a C was left out, its scores and
        seconds are NaN and its rank is the last.
    certified_out_ : boolean array of shape (n_values,)
        Which values the bounds alone prove not to be the best, without a solution in every fold;
        with `gammas` without a score in every fold.
    interval_bounds_ : array of shape (2, n_values - 1)
        Only with `intervals`. Lower and upper bounds of the mean accuracy at the exact solutions
        for *every* C between two neighbouring `Cs_`; with `gammas` of shape (2, n_values - 1,
        n_gammas).
    epsilon_ : float
        Only with `intervals`. No C from the smallest to the largest of `Cs_`, on the grid or
        between, has a mean accuracy that is larger than that of `C_` by more than this.
    n_solves_ : int
        Number of pairs of a fold and a C that were solved for, of ``n_folds * n_values``.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SafeSVC : For one C.

    Notes
    -----
    `scores_` are the accuracies at the exact solutions wherever those are certain. If `tol` leaves
    a validation point undecided, its fold is solved further, down to a relative gap of 1e-13 or to
    what rounding allows. If a point is still undecided then, the bounds stay apart, and `scores_`
    count the point by this rule: the class with the largest computed decision value is predicted;
    if the values of several classes are within rounding of each other, as at ``f(x) = 0``, the
    first of them in `classes_` is. Such a fold is solved once more without a warm start, and that
    solution decides. So the choice depends neither on the order of the solves nor on which were
    left out. There is one exception: a solve without a warm start may stall above `tol`, as on
    badly scaled data. Then the earlier solution decides.

    Bounds of validation errors over intervals of the regularization are due to Shibagaki, Suzuki,
    Karasuyama and Takeuchi (NIPS 2015). Those of `interval_bounds_` come from two balls for each
    cell, notebook 48. They are as tight as the solutions for the neighbouring C allow: more `Cs`,
    and more `intervals`, make `epsilon_` smaller.

    Ctrl-C ends the cross-validation with a warning. C is then chosen by the scores that there are:
    either of the values with a score in all folds, or by the folds with all scores, whichever are
    more. All samples are fitted with that C. If there are neither, Ctrl-C is passed on, and so it
    is in the last fit. `scores_` are set by then, and in the last fit `C_` too. Folds that are
    computed at the same time count when they are finished.

    How much is saved depends on the grid and on the data. From 1e-3 to 1e2, on five data sets of
    178 to 3000 samples, 3 to 38 % of the solves were left out for 26 values, and 13 to 49 % for
    101. The time changed by -40 to +15 %, and by -13 to -36 %: solves with a warm start and with
    screening are short anyway. Little is saved where neighbouring C differ in a sample or two.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> search = SafeSVCCV(SafeSVC(smoothing=0.1), Cs=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    >>> search.C_, bool(search.best_score_ > 0.95), search.scores_.shape
    (1.0, True, (3, 3))
    """

    prototype = SafeSVC
    chosen = "C"

    def __init__(
        self,
        estimator: SafeSVC | None = None,
        Cs: int | ArrayLike = 13,
        *,
        gammas: ArrayLike | None = None,
        cv: Any = None,
        scoring: str | Callable | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        certify: bool = True,
        verbose: bool = False,
        intervals: int | None = None,
    ):
        self.estimator = estimator
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.certify = certify
        self.verbose = verbose
        self.intervals = intervals

    predict = delegated(SafeSVC.predict)
    decision_function = delegated(SafeSVC.decision_function)

    def _count_cells(self, judge):
        n_cells = check_count(self.intervals, "intervals", optional=True)
        if n_cells and self.scoring not in (None, "accuracy"):
            raise ValueError(
                f"intervals are for the accuracy, got scoring={self.scoring!r}: leave it out"
            )
        return n_cells or 0

    def _grid(self, model, data):
        Cs = check_values(self.Cs, "Cs", (1e-3, 1e3), "SafeSVC")
        if self.gammas is None:
            return Grid(Cs)
        if model.kernel not in ("rbf", "poly", "polynomial"):
            raise ValueError(
                f"gammas are for the kernels 'rbf' and 'poly', got kernel={model.kernel!r}"
            )
        return Grid(Cs, check_grid(np.sort(np.atleast_1d(self.gammas)), "gammas"))

    def _validate(self, model, data, splits, grid, judge, scores):
        weights = None
        if self.scoring in (None, "accuracy"):
            weights = judge.params.get("sample_weight")
            judge = None
        certify = bool(self.certify and judge is None)
        is_complete = True
        hardest = []
        with quiet(), self._bar(scores.score.size, "solve") as bar:
            for gamma in grid.order():
                own, features = self._of_width(model, data, gamma)
                folds = [Fold(own, *data, *split, weights, features) for split in splits]
                for fold in folds:
                    fold.may_wait = certify and features is not None
                work = _Work(own, folds, grid.Cs, grid.numbers(gamma), scores, judge, bar)
                try:
                    work.search(certify, self.n_jobs)
                except KeyboardInterrupt:
                    is_complete = False
                hardest += work.hardest()
                if not is_complete:
                    break
                work.bound_between()
        warn_of(model, hardest, data[0])
        self.Cs_ = grid.Cs
        self.score_bounds_ = np.array([scores.low, scores.high])
        if self.intervals is not None:
            self.interval_bounds_ = scores.mean_between()
        self.n_solves_ = int(scores.fitted.sum())
        known = scores.fitted if grid.gammas is None else ~np.isnan(scores.score)
        left_out = ~known.all(axis=0)
        self.certified_out_ = (
            left_out & ~may_win(scores) if certify else np.zeros(len(grid), dtype=bool)
        )
        return is_complete

    def _of_width(self, model, data, gamma):
        """Return the model of a gamma, and the features of all points, which its folds share; the
        model itself and None if gamma is None.
        """
        if gamma is None:
            return model, None
        own = clone(model).set_params(gamma=float(gamma), tol=min(model.tol, FINE))
        own.classes_ = model.classes_
        own.n_features_in_ = model.n_features_in_
        return own, Features(own, data[0])

    def _settle(self, model, data, grid, best):
        self.certified_ = is_best(*self.score_bounds_, best)
        if self.intervals is not None:
            low, high = self.score_bounds_.mean(axis=1)
            n_gammas = len(grid) // grid.Cs.size
            self.interval_bounds_ = self.interval_bounds_[:, n_gammas:]
            self.epsilon_ = most_missed(self.interval_bounds_, high, low[best])
        values = grid.values()
        chosen = {name: float(its[best]) for name, its in values.items()}
        if grid.gammas is not None:
            shape = (-1, grid.Cs.size, grid.gammas.size)
            self.gammas_ = grid.gammas
            self.scores_ = self.scores_.reshape(shape)
            self.score_bounds_ = self.score_bounds_.reshape(2, *shape)
            self.certified_out_ = self.certified_out_.reshape(shape[1:])
            if self.intervals is not None:
                self.interval_bounds_ = self.interval_bounds_.reshape(2, -1, shape[2])
        return values, lambda: model.set_params(**chosen)._fit(*data)


@dataclass(frozen=True)
class Grid:
    """The values of C, or, if gamma is chosen too, the pairs of C and gamma, all gammas of the
    smallest C first.
    """

    Cs: np.ndarray
    gammas: np.ndarray | None = None

    def __len__(self):
        return self.Cs.size * (1 if self.gammas is None else self.gammas.size)

    def order(self):
        """Return the values of gamma from the middle of the grid to its ends, where the best pair
        rarely is; ``[None]`` if gamma is not chosen.
        """
        if self.gammas is None:
            return [None]
        middle = 0.5 * (self.gammas.size - 1)
        return sorted(self.gammas, key=lambda gamma: abs(np.sum(self.gammas < gamma) - middle))

    def numbers(self, gamma):
        """Return the numbers of the pairs of a gamma."""
        if gamma is None:
            return np.arange(self.Cs.size)
        place = int(np.searchsorted(self.gammas, gamma))
        return place + self.gammas.size * np.arange(self.Cs.size)

    def values(self):
        """Return the values of the parameters by name, one for each pair."""
        if self.gammas is None:
            return {"C": self.Cs}
        return {
            "C": np.repeat(self.Cs, self.gammas.size),
            "gamma": np.tile(self.gammas, self.Cs.size),
        }


@dataclass
class _Work:
    """The folds of one gamma, and the table in which their scores are kept."""

    model: SafeSVC
    folds: list
    Cs: np.ndarray
    numbers: np.ndarray
    scores: Any
    judge: Any
    bar: Any

    def search(self, certify, n_jobs):
        """Try values of C until the best is known; KeyboardInterrupt after Ctrl-C."""

        def solve(asked):
            def keep(number, advanced):
                self.folds[number], trials = advanced
                places = np.flatnonzero(asked[number])
                for place, trial in zip(places, trials, strict=False):
                    self.scores.keep(number, place, trial)
                self.bar.update(len(trials))

            tasks = []
            for fold, wanted in zip(self.folds, asked[:, self.numbers], strict=True):
                tasks.append(delayed(advance)(fold, self.model, self.Cs[wanted], self.judge))
            return collect(tasks, keep, n_jobs)

        def bounds(fold, C):
            return self.folds[fold].bounds(C)

        search(self.Cs, self.scores, solve, bounds if certify else None, numbers=self.numbers)

    def bound_between(self):
        """Keep bounds of the scores between neighbouring values, if the table has room for them."""
        n_cells = self.scores.between.shape[-1]
        if not n_cells:
            return
        for place in range(1, self.Cs.size):
            ends = cells(self.Cs[place - 1], self.Cs[place], n_cells)
            number = self.numbers[place]
            for fold, solved in enumerate(self.folds):
                for cell in range(n_cells):
                    bounds = solved.between(ends[cell], ends[cell + 1])
                    self.scores.between[:, fold, number, cell] = bounds

    def hardest(self):
        """Return a list of the one solution that is farthest from the tolerance, without its
        problem; an empty list if all have reached it.
        """
        solutions = []
        for fold in self.folds:
            for of_machines, _, _ in fold.solved.values():
                solutions.extend(of_machines)
        found = farthest(self.model, solutions)
        return [] if found is None else [replace(found, x=np.empty(0), problem=None)]
