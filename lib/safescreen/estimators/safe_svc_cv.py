"""Support vector classifier with C chosen by cross-validation along paths."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safescreen._checks import as_array
from safescreen.estimators._cross_validation import CrossValidation, delegated
from safescreen.estimators._data import check_values, kept, sorted_grid
from safescreen.estimators._features import Features, SharedFeatures, coefficient
from safescreen.estimators._folds import Fold, Proof, Votes, counted
from safescreen.estimators._keywords import are_pairs
from safescreen.estimators._machines import pose, whole_of
from safescreen.estimators._training import solver_options, warn_of
from safescreen.estimators.safe_svc import SafeSVC
from safescreen.memory import kernel_limit
from safescreen.paths import begin_path
from safescreen.validation import HeldOut

WHOLE_FOR_FOLDS = 10_000
"""Largest number of dense points for which the folds share one kernel matrix, if memory allows two
matrices.
"""


class SafeSVCCV(CrossValidation):
    """:class:`SafeSVC` with the C of the best cross-validated score. Each fold is one path, in
    which each solution is the start for the next C and screens samples for it.

    Scores and choice are the same as in ``GridSearchCV(SafeSVC(...), {"C": Cs})``, up to
    differences that `tol` allows. Of equal scores the smallest C is chosen, in whatever order `Cs`
    is. With `gammas` the coefficient of the kernel is chosen together with C. The kernel matrix for
    a gamma is computed once, for all folds, and kept for up to 10,000 dense points; only for
    ``gamma="scale"`` each fold has a matrix of its own. If the score is the accuracy, the solutions
    also prove bounds of the scores of the exact solutions, without another solve.

    Parameters
    ----------
    estimator : SafeSVC, optional
        The prototype: all parameters except C. The last fit uses a copy of it with the chosen C and
        with its `callback` and `verbose`. A `tol` of 1e-3 makes a search faster; a smaller `tol`
        gives tighter bounds.
    Cs : int or array
        Values in any order; `Cs_` increases. An int n stands for n values from 1e-3 to 1e3, with
        equal steps of the logarithm.
    gammas : array, optional
        Coefficients of the kernel "rbf" or "poly" to choose from, in any order; `gammas_`
        increases. Without `gammas` all fits use the gamma of the estimator.
    cv : int, splitter or iterable, optional
        As in scikit-learn; 5 stratified folds if left out.
    scoring : str, callable, list, tuple or dict, optional
        As in :class:`sklearn.model_selection.GridSearchCV`; the accuracy if left out.
    refit : bool, str or callable
        Whether to fit all samples with the chosen C. As in GridSearchCV, it can also be the name of
        the score that chooses C if there are several, or a function of `cv_results_` that returns
        the number of the chosen candidate.
    error_score : "raise" or float
        Score of a fold that cannot be fitted or scored.
    n_jobs : int, optional
        Number of folds that are computed at the same time, in threads unless
        :func:`joblib.parallel_config` says otherwise.
    verbose : bool
        Show a progress bar of the cross-validation on a terminal.
    intervals : int, optional
        Number of cells into which each interval between two neighbouring `Cs` is divided for
        `interval_bounds_` and `epsilon_`. The two attributes need no further solve, and exist only
        if `intervals` is given. The score must be the accuracy.

    Attributes
    ----------
    best_estimator_ : SafeSVC
        Fitted to all samples. :meth:`predict` and :meth:`decision_function` use it. It exists only
        with `refit`.
    C_ : float
        The chosen C: the smallest C with the largest mean score. Like all attributes about the
        choice, it does not exist if there are several scores and `refit` is False.
    gamma_ : float
        Only with `gammas`. The gamma that is chosen with C. Among pairs with equal scores the
        smallest C is chosen, and then the smallest gamma.
    certified_ : bool
        Whether the bounds prove that `C_` has the best mean accuracy at the exact solutions, and is
        the smallest C with this accuracy. Means are compared as fractions, without rounding. With
        `gammas`, whether they prove that no other pair is better, and no earlier pair is equally
        good.
    Cs_ : array of shape (n_values,)
    gammas_ : array of shape (n_gammas,)
        Only with `gammas`. Then `scores_` and `score_bounds_` have one more axis of this length.
        `best_index_` and `cv_results_` number the pairs, all gammas of the smallest C first.
    scores_ : array of shape (n_folds, n_values)
        The scores by which C is chosen. NaN where a score is missing after Ctrl-C.
    score_bounds_ : array of shape (2, n_folds, n_values)
        Lower and upper bounds of the accuracies at the exact solutions. They are equal where an
        accuracy is certain, and -inf and inf where nothing is known, as for any other score.
    best_score_ : float
        Mean score of the chosen C. It does not exist if `refit` is a function.
    best_index_, best_params_, cv_results_, n_splits_, scorer_, multimetric_, refit_time_
        As in :class:`sklearn.model_selection.GridSearchCV`.
    interval_bounds_ : array of shape (2, n_values - 1)
        Only with `intervals`. Lower and upper bounds of the mean accuracy at the exact solutions
        for *every* C between two neighbouring `Cs_`; with `gammas` of shape (2, n_values - 1,
        n_gammas).
    epsilon_ : float
        Only with `intervals`. No C from the smallest to the largest of `Cs_`, on the grid or
        between, has a mean accuracy that exceeds the mean accuracy of `C_` by more than `epsilon_`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SafeSVC : For one C. HeldOut : Computes the bounds.

    Notes
    -----
    `scores_` belong to the solutions as computed; `score_bounds_` hold for the exact solutions. A
    solution gives a ball that contains the exact solution, and so an interval for each decision
    value of the held-out points. A point is undecided if its interval contains 0. A smaller `tol`
    makes intervals shorter and decides more points, as far as rounding allows. A point whose exact
    decision value is 0 is never decided.

    Bounds of validation errors over intervals of the regularization are due to Shibagaki, Suzuki,
    Karasuyama and Takeuchi (NIPS 2015). The bounds in `interval_bounds_` come from two balls for
    each cell (notebook 48). They are as tight as the solutions for the neighbouring C allow: more
    `Cs`, and more `intervals`, make `epsilon_` smaller.

    A step of a pipeline before the search sees the rows that the folds hold out. A scaler may; if
    the step selects features, fills in missing values or encodes by the labels, use GridSearchCV
    around the whole pipeline.

    Ctrl-C ends the cross-validation with a warning. `gammas` are tried one after the other, from
    the smallest, and the warning says how many. C is then chosen by the scores that exist:
    among the values with a score in all folds, or by the folds with all scores, whichever has more
    scores. All samples are fitted with this C. If there is no such value and no such fold, or if
    Ctrl-C comes during the last fit, a KeyboardInterrupt is raised and the search stays as it was
    before. Folds that are computed at the same time count only when they are finished.

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
    _warn = staticmethod(warn_of)

    def __init__(
        self,
        estimator: SafeSVC | None = None,
        Cs: int | ArrayLike = 13,
        *,
        gammas: ArrayLike | None = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool | str | Callable = True,
        error_score: float | str = np.nan,
        n_jobs: int | None = None,
        verbose: bool = False,
        intervals: int | None = None,
    ):
        self.estimator = estimator
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.error_score = error_score
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.intervals = intervals

    predict = delegated(SafeSVC.predict)
    decision_function = delegated(SafeSVC.decision_function)

    def _candidates(self, model, data):
        self.Cs_ = check_values(self.Cs, "Cs", (1e-3, 1e3), "SafeSVC")
        candidates = [{"C": C} for C in self.Cs_.tolist()]
        if self.gammas is not None:
            if model.kernel not in ("rbf", "poly", "polynomial"):
                raise ValueError(
                    f"gammas are for the kernels 'rbf' and 'poly', got kernel={model.kernel!r}"
                )
            self.gammas_ = check_gammas(self.gammas)
            gammas = self.gammas_.tolist()
            candidates = [{**its, "gamma": gamma} for its in candidates for gamma in gammas]
        return candidates, lambda best: model.set_params(**candidates[best])._fit(*data)

    def _shape(self, candidates):
        n = self.Cs_.size
        return (n,) if self.gammas is None else (n, len(candidates) // n)

    def _rounds(self, model, data, splits, judge, n_cells):
        if n_cells and not judge.is_accuracy:
            raise ValueError(
                f"intervals are for the accuracy, got scoring={self.scoring!r}: leave it out"
            )
        gammas = [model.gamma] if self.gammas is None else self.gammas_
        places = len(gammas) * np.arange(self.Cs_.size)
        free = []
        # memory holds the matrix of all points and the matrix of one fold
        whole = min(WHOLE_FOR_FOLDS, math.isqrt(int(kernel_limit(model.max_gigabytes)) // 16))
        for number, gamma in enumerate(gammas):
            own = copy.copy(model)
            own.gamma = gamma
            # "scale" stands for another number in each fold
            features = None if _is_scaled(own) else Features.of(own, data[0], whole)
            weights = judge.params.get("sample_weight")
            proof = (n_cells, weights) if judge.is_accuracy else None
            folds = (_MachineFold(own, data, split, features, proof, free) for split in splits)
            yield places + number, self.Cs_, folds
            features = None  # free its memory before the next kernel matrix


def check_gammas(values):
    """Return the values of gamma in increasing order. The error for a name or a dict says what to
    write.
    """
    if isinstance(values, dict):
        raise TypeError("gammas must be an array, got dict: write gammas=[...]")
    values = np.atleast_1d(as_array(values, "gammas"))
    if values.dtype.kind == "U":
        raise TypeError(
            "gammas must hold numbers, found a name: for 'scale' write "
            "1 / (X.shape[1] * X.var()), and for 'auto' 1 / X.shape[1]"
        )
    return sorted_grid(values, "gammas")


def _is_scaled(model):
    """Return whether the coefficient of the kernel depends on the training points."""
    return model.kernel in ("rbf", "poly", "polynomial") and model.gamma == "scale"


class _MachineFold(Fold):
    """Fold with a path through increasing C for each of its problems.

    Without `features` of all points the fold computes features of its own. `proof` holds the number
    of cells of each interval and the weights of the accuracy; None proves no bounds. `free` holds
    blocks of memory that finished folds leave to later folds.
    """

    def __init__(self, model, data, split, features, proof, free):
        super().__init__(model, *split)
        self.data = data
        self.features = features
        self.wanted = proof
        self.free = free
        self.paths = None
        self.setup = None

    def _pose(self):
        X, y, weights = self.data
        model = copy.copy(self.model)  # threads may work on several folds
        own = np.bincount(self.train, minlength=len(y)).astype(float)
        if weights is not None:
            own *= weights
        numbers, weights = kept(own, np.flatnonzero(own))
        model.classes_ = np.unique(y[self.train])
        test, counts = counted(self.test, None if self.wanted is None else self.wanted[1])
        self.places = np.searchsorted(test, self.test)
        self.model = model

        def part(numbers):
            features = self.features
            if features is None:
                model.gamma = coefficient(model.gamma, X[numbers])
                features = Features.of(model, X, whole_of(model))
            in_pairs = are_pairs(model, model.classes_.size)
            return SharedFeatures.part(features, numbers, test, in_pairs, self.free)

        self.setup = pose(model, X, y, numbers, weights, part, self.train)
        options = solver_options(model, "method")
        self.paths = [
            begin_path(self.setup.problem(task), keep_masks=False, **options)
            for task in self.setup.tasks
        ]
        if self.wanted is not None and counts is not None:
            present = model.classes_[self.setup.present]
            places = np.minimum(np.searchsorted(present, y[test]), present.size - 1)
            codes = np.where(present[places] == y[test], places, -1)
            pairs = zip(self.paths, self.setup.features.held_out, strict=True)
            held_out = [HeldOut(path.prob, terms) for path, terms in pairs]
            self.proof = Proof(held_out, codes, counts, self.wanted[0], self._votes())

    def _votes(self):
        """Return what :class:`Proof` takes as `votes`."""
        if not self.setup.in_pairs:
            return None
        return Votes(self.setup.present.size, bool(self.model.break_ties))

    def solve(self, value, n_to_come):
        if self.paths is None:
            self._pose()
        seconds = self.paths[0].setup.limits.max_seconds
        self.solutions = [path.step(1.0 / float(value), seconds)[0] for path in self.paths]
        self.evaluations = [path.evaluation for path in self.paths]
        machine = copy.copy(self.model)
        machine.C = float(value)
        solutions = self.solutions
        features = self.setup.features
        if features.kernel == "linear" and self.wanted is not None:  # enough for the accuracy
            machine._keep_linear(self.setup, solutions)
            return machine
        if features.kernel != "linear":  # x has coefficients of held-out points too
            alone = [solution.without_problem() for solution in solutions]
            solutions = [
                replace(solution, x=features.own(solution.x, task.places))
                for solution, task in zip(alone, self.setup.tasks, strict=True)
            ]
        machine._keep(self.setup, solutions)
        return machine

    def predict(self, model, points):
        features = self.setup.features
        if features.kernel == "linear":
            return super().predict(model, points)
        values = [
            terms.inner_products(solution.x).chunk(0, len(terms))[0] + (solution.intercept or 0.0)
            for terms, solution in zip(features.held_out, self.solutions, strict=True)
        ]
        return model._named(np.column_stack(values)[self.places])

    def end(self):
        if self.setup is not None and self.setup.features.block is not None:
            self.free.append(self.setup.features.block)
        self.setup = self.paths = self.proof = None
