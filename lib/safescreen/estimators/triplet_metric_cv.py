"""Metric from triplets that chooses its lam by cross-validation along warm, screened paths."""

import warnings

import numpy as np
from joblib import delayed
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from safescreen._checks import check_vector
from safescreen.estimators._search import choose_interrupted, collect
from safescreen.estimators.triplet_metric import TripletMetric
from safescreen.paths import path

__all__ = ["TripletMetricCV"]


class TripletMetricCV(TripletMetric):
    """:class:`TripletMetric` with the lam of the best cross-validated score: one warm path with screening a fold.

    All lam are solved for in all folds. A ball around the optimum of a lam that is not solved for says much of the margins of triplets, but
    little of a k-nearest-neighbour classifier, whose error depends on the order of all distances: there is no cheap certificate that a
    lam cannot be the best, as :class:`SafeSVCCV` has for C.

    Parameters
    ----------
    lams : int or array
        Decreasing; an int stands for so many, equal steps of the logarithm, from 1 to 1e-4 times the lam from which on all triplets are in
        the linear region, of the training points of each fold and of all points.
    cv : int, splitter or iterable, optional
        As everywhere in scikit-learn, ``ShuffleSplit(1)`` for a single validation set; 5 stratified folds if left out.
    scoring : str or callable, optional
        As everywhere in scikit-learn; the accuracy of the nearest neighbours if left out.
    refit : bool
        Come down to the lam chosen with all points.
    n_jobs : int, optional
        Folds that are worked on at the same time.
    k, diagonal, product, gamma, tol, screening, active_set, max_iter, n_neighbors
        As in :class:`TripletMetric`.
    callback : callable, optional
        ``callback(solution)`` of the last path; a true value ends it.
    verbose : bool
        Show progress bars on a terminal.

    Attributes
    ----------
    lam_ : float
        The lam chosen; of equal scores the largest. What the metric is for, should Ctrl-C end the last path before.
    lams_ : array of shape (n_values,)
        For all points.
    scores_ : array of shape (n_folds, n_values)
        NaN where missing after Ctrl-C.
    best_score_ : float
        Mean score of the lam chosen.
    components_, n_iter_, dual_gap_, screening_, path_, solution_, classes_, n_features_in_, feature_names_in_
        As in :class:`TripletMetric`, of the path of all points down to `lam_`; without `refit` the last three only.

    See Also
    --------
    TripletMetric : For one lam.

    Notes
    -----
    Ctrl-C ends the cross-validation with a warning: lam is the best by the scores there are, of values with a score in all folds or of
    folds with all scores, whichever are more, and the metric of all points is learned with it. Without either Ctrl-C is passed on;
    `scores_` has been set by then. Folds in processes of their own count when they are finished. In the last path it ends that path, as in
    :class:`TripletMetric`.

    Examples
    --------
    >>> from safescreen import TripletMetricCV
    >>> from safescreen_book import datasets
    >>> X, y = datasets.load("iris", return_X_y=True)
    >>> metric = TripletMetricCV(lams=5, cv=3, k=3).fit(X, y)
    >>> metric.scores_.shape, bool(metric.best_score_ > 0.9), metric.lam_ in metric.lams_
    ((3, 5), True, True)
    """

    lam, lam_ratio, with_path, path_ratio, warm_start = None, None, True, None, False  # what TripletMetric asks for

    def __init__(
        self,
        lams=13,
        *,
        cv=None,
        scoring=None,
        refit=True,
        n_jobs=None,
        k=5,
        diagonal=False,
        product=False,
        gamma=0.05,
        tol=1e-4,
        screening=("RRPB", "PGB"),
        active_set=False,
        max_iter=10_000,
        n_neighbors=5,
        callback=None,
        verbose=False,
    ):
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.k = k
        self.diagonal = diagonal
        self.product = product
        self.gamma = gamma
        self.tol = tol
        self.screening = screening
        self.active_set = active_set
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.callback = callback
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose lam, and learn the metric of all points with it.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        y : array of shape (n,)
            Class labels; at least two classes, one of them with two points.
        sample_weight : array of shape (n,), optional
            Not negative; a triplet has the weight of its anchor, a validation point its own. Points of weight 0 are left out.
        groups : array of shape (n,), optional
            For a splitter that takes them.

        Returns
        -------
        self

        Warns
        -----
        RuntimeWarning
            After Ctrl-C.
        """
        X, y, keep, weights = self._check_rows(X, y, sample_weight)
        full = np.where(keep, 1.0, 0.0)
        if weights is not None:
            full[keep] = weights
        lams = _grid(self.lams)
        scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        tasks = (delayed(_fold)(self, X, y, full, train, test, lams, scorer) for train, test in splits)
        self.scores_ = np.full((len(splits), _size(lams)), np.nan)
        with _bar(self.verbose, len(splits)) as bar:

            def keep_scores(number, found):
                self.scores_[number, : len(found)] = found
                bar.update()

            whole = collect(tasks, keep_scores, self.n_jobs)
        if whole:
            mean, part = self.scores_.mean(axis=0), None
            best = int(np.argmax(mean))
            self.best_score_ = float(mean[best])
        else:
            best, self.best_score_, part = choose_interrupted(self.scores_)
        X, y = X[keep], y[keep]
        prob = self._problem(self._terms(X, y, weights))
        self.lams_ = _for_problem(lams, prob)
        self.lam_ = float(self.lams_[best])
        if part is not None:
            text = f"cross-validation interrupted: lam={self.lam_:.6g} is the best of {part}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        if self.refit:
            self._come_down(prob, self.lams_[: best + 1])
            self._classifier = self._neighbours(X, y)
        return self

    def fit_triplets(self, X, triplets, triplet_weight=None):
        """Raise a TypeError: there is nothing to validate on without labels."""
        raise TypeError("TripletMetricCV needs labels to choose lam: use fit(X, y), or TripletMetric(lam).fit_triplets(X, triplets)")


def _fold(model, X, y, weights, train, test, lams, scorer):
    """Return the scores along the path of one fold, and whether that came to its end or was interrupted."""
    names = TripletMetric().get_params()
    settings = {name: value for name, value in model.get_params(deep=False).items() if name in names}
    part = TripletMetric(**{**settings, "callback": None, "verbose": False})
    train, inner = train[weights[train] > 0.0], None
    if not (weights == 1.0).all():
        inner = weights[train]
    part.classes_, part.n_features_in_ = np.unique(y[train]), X.shape[1]
    prob = part._problem(part._terms(X[train], y[train], inner))
    options, scores = {} if inner is None else {"sample_weight": weights[test]}, []

    def judge(solution):
        part._keep(solution)
        part._classifier = part._neighbours(X[train], y[train])
        scores.append(float(part.score(X[test], y[test], **options) if scorer is None else scorer(part, X[test], y[test], **options)))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "path interrupted", RuntimeWarning)  # fit says what became of it
        solutions = path(prob, _for_problem(lams, prob), keep_masks=False, callback=judge, **part._limits())
    return scores, solutions.stop_reason != "interrupted"


def _grid(lams):
    """Return decreasing values, or decreasing ratios wrapped in a tuple."""
    if np.ndim(lams):
        return check_vector(lams, np.size(lams), "lams")
    if isinstance(lams, bool) or not isinstance(lams, int | np.integer):
        raise TypeError(f"lams must be an int or an array, got {type(lams).__name__}: for one value use TripletMetric")
    if lams < 2:
        raise ValueError(f"lams must be at least 2 values, got {lams}: for one value use TripletMetric")
    return (np.geomspace(1.0, 1e-4, int(lams)),)


def _size(lams):
    return len(lams[0] if isinstance(lams, tuple) else lams)


def _for_problem(lams, prob):
    """Return the values of lam for a problem."""
    if not isinstance(lams, tuple):
        return lams
    largest = prob.lam_max()
    return lams[0] * (largest if 0.0 < largest < np.inf else 1.0)


def _bar(verbose, total):
    from tqdm import tqdm

    return tqdm(desc="TripletMetricCV", total=total, unit="fold", disable=None if verbose else True)
