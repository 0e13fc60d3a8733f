"""Support vector classifier that chooses its C by cross-validation along warm, screened paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike

from safescreen.estimators._cross_validation import CrossValidation, collect, delegated
from safescreen.estimators._data import check_values
from safescreen.estimators._folds import Fold, advance, is_best, may_win, search
from safescreen.estimators._training import quiet, warn_of
from safescreen.estimators.safe_svc import SafeSVC


class SafeSVCCV(CrossValidation):
    """:class:`SafeSVC` with the C of the best cross-validated score, without solving for every C.

    Each fold is one path: a solution is the start for the next C, and takes samples out of it. For
    a C that is not solved for, the solutions for its neighbours give a ball that holds the optimum
    (:func:`safescreen.spheres.midpoint_gap_bound`), hence an interval for each decision value of
    the validation points, and so bounds of the accuracy. C goes from coarse to fine: a value is
    left out if its upper bound, mean of the folds, is below the lower bound of another, or equal to
    that of a smaller one.

    Parameters
    ----------
    estimator : SafeSVC, optional
        Everything but C; the last fit is its copy with the C chosen, with its `callback`, `verbose`
        and path.
    Cs : int or array
        In any order, sorted in `Cs_`; an int stands for so many from 1e-3 to 1e3, equal steps of
        the logarithm.
    cv : int, splitter or iterable, optional
        As everywhere in scikit-learn; 5 stratified folds if left out.
    scoring : str or callable, optional
        As everywhere in scikit-learn; the accuracy if left out. With any other score all C are
        solved for, and nothing is certified.
    refit : bool
        Fit all samples with the C chosen.
    n_jobs : int, optional
        Folds that are worked on at the same time, in threads unless :func:`joblib.parallel_config`
        says otherwise.
    certify : bool
        Leave out values of C that cannot be chosen; the choice is the same without it.
    verbose : bool
        Show a progress bar of the cross-validation on a terminal.

    Attributes
    ----------
    best_estimator_ : SafeSVC
        Fitted to all samples, what :meth:`predict` and :meth:`decision_function` ask; there with
        `refit` only.
    C_ : float
        The C chosen: the one with the largest mean of `scores_`, of equal ones the smallest.
    certified_ : bool
        Whether the bounds prove that `C_` is the best C, of equal ones the smallest, at the exact
        solutions.
    Cs_ : array of shape (n_values,)
    scores_ : array of shape (n_folds, n_values)
        NaN where the score was not needed, or missing after Ctrl-C. Each lies within its bounds.
    score_bounds_ : array of shape (2, n_folds, n_values)
        Lower and upper bounds of the accuracies at the exact solutions. They are equal where an
        accuracy is certain, and -inf and inf where nothing is known, as for any other score.
    best_score_ : float
        Mean score of the C chosen.
    best_index_, best_params_, cv_results_, n_splits_
        As in :class:`sklearn.model_selection.GridSearchCV`. Scores and seconds are NaN where a C
        was left out, and its rank is the last.
    certified_out_ : boolean array of shape (n_values,)
        Values proved not to be the best, by the bounds alone, without a solution in every fold.
    n_solves_ : int
        How many pairs of a fold and a C were solved, of ``n_folds * n_values``.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SafeSVC : For one C.

    Notes
    -----
    `scores_` are the accuracies at the exact solutions wherever those are certain. Where `tol`
    leaves a validation point undecided, the fold is solved further, down to a relative gap of 1e-13
    or to what rounding allows. What is undecided after that leaves the bounds apart, and `scores_`
    count it by this rule: the class with the largest computed decision value is predicted; of
    classes whose values are within rounding of each other, as at ``f(x) = 0``, the first one in
    `classes_` is. Such a fold is solved once more from nothing, and that solution decides. So
    neither the order of the solves nor leaving some out changes the choice. The one exception is a
    solve from nothing that stalls above `tol`, as on badly scaled data: then the earlier solution
    decides.

    Bounds of validation errors over stretches of the regularization are due to Shibagaki, Suzuki,
    Karasuyama and Takeuchi (NIPS 2015).

    Ctrl-C ends the cross-validation with a warning: C is the best by the scores there are, of
    values with a score in all folds or of folds with all scores, whichever are more, and all
    samples are fitted with it. Without either, and in the last fit, Ctrl-C is passed on; `scores_`
    has been set by then, in the last fit `C_` too. Folds that are worked on at the same time count
    when they are finished.

    What it saves depends on grid and data. From 1e-3 to 1e2, on five data sets of 178 to 3000
    samples, 3 to 38 % of the solves were left out for 26 values and 13 to 49 % for 101; the time
    changed by -40 to +15 %, and by -13 to -36 %: solves that are warm-started and screened are
    short to begin with. Little is saved where neighbours differ by a sample or two.

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
        cv: Any = None,
        scoring: str | Callable | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        certify: bool = True,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.certify = certify
        self.verbose = verbose

    predict = delegated(SafeSVC.predict)
    decision_function = delegated(SafeSVC.decision_function)

    def _grid(self, model, data):
        return check_values(self.Cs, "Cs", (1e-3, 1e3), "SafeSVC")

    def _validate(self, model, data, splits, grid, judge, scores):
        if self.scoring in (None, "accuracy"):
            weights = judge.params.get("sample_weight")
            judge = None
        else:
            weights = None
        folds = [Fold(model, *data, *split, weights) for split in splits]
        certify = bool(self.certify and judge is None)
        is_complete = True
        with quiet(), self._bar(scores.score.size, "solve") as bar:

            def solve(asked):
                def keep(number, advanced):
                    folds[number], trials = advanced
                    for place, trial in zip(np.flatnonzero(asked[number]), trials, strict=False):
                        scores.keep(number, place, trial)
                    bar.update(len(trials))

                tasks = []
                for fold, wanted in zip(folds, asked, strict=True):
                    tasks.append(delayed(advance)(fold, model, grid[wanted], judge))
                return collect(tasks, keep, self.n_jobs)

            def bounds(fold, C):
                return folds[fold].bounds(C)

            try:
                search(grid, scores, solve, bounds if certify else None)
            except KeyboardInterrupt:
                is_complete = False
        solutions = []
        for fold in folds:
            for of_machines, _, _ in fold.solved.values():
                solutions.extend(of_machines)
        warn_of(model, solutions, data[0])
        self.Cs_ = grid
        self.score_bounds_ = np.array([scores.low, scores.high])
        self.n_solves_ = int(scores.fitted.sum())
        left_out = ~scores.fitted.all(axis=0)
        self.certified_out_ = (
            left_out & ~may_win(scores) if certify else np.zeros(grid.size, dtype=bool)
        )
        return is_complete

    def _settle(self, model, data, grid, best):
        self.certified_ = is_best(*self.score_bounds_, best)
        return grid, lambda: model.set_params(C=float(grid[best]))._fit(*data)
