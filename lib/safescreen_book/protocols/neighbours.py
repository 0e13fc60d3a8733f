"""Metrics compared on a table: the errors of the nearest neighbours over repeated splits, each
method making all its choices within the rows for learning.
"""

import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import MinMaxScaler

import safescreen as ss
from safescreen.estimators._mahalanobis import span

__all__ = ["Compared", "compare", "error_of", "factor_of", "span", "warm_up"]

FREQUENT = "most frequent class"
EUCLID = "Euclid"
OURS = "TripletMetricCV"
ENDED = "the clock ended it early; raise seconds"
SHORT = "it stopped before it was as accurate as asked"
UNCHOSEN = "lambda is a hundredth of the largest, as classes have too few rows to choose it by"
NEIGHBOURS = 3
MOST_TRIPLETS = 5_000_000
"""Of :func:`lmnn`, about."""
EVERY = 5.0
"""Seconds between two lines that say how long it will take."""


@dataclass(frozen=True)
class Compared:
    """What was found.

    Attributes
    ----------
    errors : pandas.DataFrame
        A row a split, a column a method.
    found : pandas.DataFrame
        A row a class: its rows, and for each method the share of them that got their class.
    said : dict of int
        What is to be said of fits, and of how many.
    left_out : dict of str
        Methods that were left out, and why.
    n_folds : int
    is_balanced : bool
        Whether errors are means over classes.
    """

    errors: pd.DataFrame = field(repr=False)
    found: pd.DataFrame = field(repr=False)
    said: dict[str, int]
    left_out: dict[str, str]
    n_folds: int
    is_balanced: bool

    def gain(self, method: str, over: str = EUCLID):
        """Return by how much a method errs less than another one, and half the length of the 95 %
        interval.

        Folds share rows for learning, so the interval is widened (Nadeau and Bengio 2003).
        """
        gains = self.errors[over] - self.errors[method]
        widening = np.sqrt(1.0 / len(gains) + 1.0 / (self.n_folds - 1.0))
        quantile = stats.t.ppf(0.975, len(gains) - 1)
        return float(gains.mean()), float(quantile * widening * gains.std(ddof=1))

    def table(self):
        """Return a frame with a row for each method."""
        rows = {}
        for method in self.errors:
            gain, half = self.gain(method)
            rows[method] = {
                self.measure: round(self.errors[method].mean(), 4),
                "less than Euclid's by": "" if method == EUCLID else f"{gain:+.4f} ± {half:.4f}",
            }
        return pd.DataFrame(rows).T

    @property
    def measure(self) -> str:
        """The name of the errors."""
        return "balanced error" if self.is_balanced else "error"

    def remarks(self):
        """Return a sentence for each method whose fits are not what they should be, or that was
        left out.
        """
        n_splits = len(self.errors)
        said = [f"in {count} of {n_splits} fits, {what}" for what, count in self.said.items()]
        return said + [f"left out, {method}: {why}" for method, why in self.left_out.items()]

    def verdict(self) -> str:
        """Return in a few sentences whether the learned metric helps, and what limits the
        answer.
        """
        if OURS not in self.errors:
            return f"The metric was not learned: {self.left_out[OURS]}."
        if not any(map(self._beats_constant, (EUCLID, OURS))):
            said = [self._of_no_use(), self._of_the_best_other(), self._of_the_rarest()]
        else:
            said = [self._of_the_metric()]
        ended = self.said.get(f"{OURS}: {ENDED}", 0)
        if ended:
            said.append(
                f"The clock ended the search for the metric early in {ended} of {len(self.errors)} "
                "fits, so a longer search may find a better one: raise seconds."
            )
        return " ".join(filter(None, said))

    def _of_the_metric(self):
        """Return how the metric compares with Euclid's distance."""
        gain, half = self.gain(OURS)
        if gain - half > 0.0:
            return f"The metric helps: its {self.measure} is lower by {gain:.4f} ± {half:.4f}."
        if gain + half < 0.0:
            return (
                f"The metric harms: its {self.measure} is higher by {-gain:.4f} ± {half:.4f}. Use "
                "Euclid's distance, or other columns."
            )
        if (self.errors[OURS] == self.errors[EUCLID]).all():
            return (
                "The metric makes as many errors as Euclid's distance in every split "
                f"({self.errors[OURS].mean():.4f} on average). Euclid's distance is simpler."
            )
        return (
            f"No difference can be told: {gain:+.4f} ± {half:.4f}. Unless you have more rows, "
            "Euclid's distance is simpler."
        )

    def _of_no_use(self):
        """Return that neither distance is shown to do better than none."""
        mean = self.errors.mean()
        return (
            "Neither Euclid's distance nor the metric is shown to do better than the answer of "
            f"the most frequent class every time: the {self.measure} is "
            f"{mean[OURS]:.4f} with the metric, {mean[EUCLID]:.4f} with Euclid's distance and "
            f"{mean[FREQUENT]:.4f} without any."
        )

    def _of_the_best_other(self):
        """Return what the best of the other methods gains over the answer of one class."""
        others = [method for method in self.errors if method not in (FREQUENT, EUCLID, OURS)]
        others = list(filter(self._beats_constant, others)) or others
        best = max(others, key=lambda method: self.gain(method, over=FREQUENT)[0], default=None)
        if best is None or self.gain(best, over=FREQUENT)[0] <= 0.0:
            return ""
        gain, half = self.gain(best, over=FREQUENT)
        end = ", so the columns do tell something about the label"
        if gain <= half:
            end = ", which may be chance"
        return (
            f"The {self.measure} of {best} is lower than without any by {gain:.4f} ± {half:.4f}"
            f"{end}."
        )

    def _of_the_rarest(self):
        """Return how many rows the rarest class has."""
        rows = self.found["rows"]
        return (
            f"The rarest class, {rows.idxmin()}, has {rows.min():,} of the {rows.sum():,} rows "
            "here: with more rows the answer is surer."
        )

    def _beats_constant(self, method):
        gain, half = self.gain(method, over=FREQUENT)
        return gain - half > 0.0


def error_of(predicted, y, *, is_balanced: bool) -> float:
    """Return the share of wrong answers, or, balanced, the mean of the shares of the classes.

    >>> y = np.array([0, 0, 0, 1])
    >>> error_of(np.zeros(4), y, is_balanced=False), error_of(np.zeros(4), y, is_balanced=True)
    (0.25, 0.5)
    """
    wrong = predicted != y
    if not is_balanced:
        return float(wrong.mean())
    return float(np.mean([wrong[y == each].mean() for each in np.unique(y)]))


def factor_of(M, basis=None):
    """Return L with ``L'L = M``, the largest directions first; in the space of the features if M is
    given in a basis of a smaller one, as :func:`span` returns it.
    """
    values, vectors = np.linalg.eigh(M)
    L = np.sqrt(np.maximum(values, 0.0))[::-1, None] * vectors.T[::-1]
    return L if basis is None else L @ basis.T


def compare(
    X, y, *, k=5, seconds: float = 40.0, seed: int = 0, is_balanced=False, shown=True
) -> Compared:
    """Try all methods on the same splits.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        Every class has two rows.
    k : int
        Triplets of a row, as in :class:`safescreen.TripletMetric`.
    seconds : float
        For all fits together, about. A fit that takes more than its share ends early. A method that
        cannot be ended is left out after its first fit.
    seed : int
    is_balanced : bool
        Whether an error is the mean of those of the classes.
    shown : bool
        Print how many seconds are left, now and then.
    """
    counts = np.unique(y, return_counts=True)[1]
    # balanced errors are means over the same classes only if each fold has them all
    n_folds = int(np.clip(counts.min() if is_balanced else counts.max(), 2, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds, or than k
        folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=2, random_state=seed)
        splits = list(folds.split(X, y))
        run = _Run(X, y, k, seconds / len(splits), seed, is_balanced)
        started = said = time.perf_counter()
        for number, split in enumerate(splits, start=1):
            run.add(*split)
            now = time.perf_counter()
            if shown and now - said > EVERY and number < len(splits):
                said = now
                left = (now - started) / number * (len(splits) - number)
                print(f"split {number} of {len(splits)}, about {left:.0f} s to go")
    return run.compared(n_folds)


class _Run:
    """All methods on one split after another; `answers` counts those that are right."""

    def __init__(self, X, y, k, seconds_of_split, seed, is_balanced):
        self.X = X
        self.y = y
        self.k = k
        self.seconds_of_split = seconds_of_split
        self.seed = seed
        self.is_balanced = is_balanced
        self.errors = {method: [] for method in METHODS}
        self.right = {method: np.zeros(len(y)) for method in METHODS}
        self.said = Counter()
        self.left_out = {}
        self.asked = np.zeros(len(y))

    def add(self, inside, outside):
        """Fit all methods on the rows inside, and ask them about those outside."""
        scaler = MinMaxScaler().fit(self.X[inside])
        P = scaler.transform(self.X[inside])
        Q = scaler.transform(self.X[outside])
        basis = span(P)[1]
        if basis is not None:
            # a point outside is as far from the span for all of them: its neighbours are the same
            P, Q = P @ basis, Q @ basis
        self.asked[outside] += 1.0
        for method in METHODS:
            if method not in self.left_out:
                self._ask(method, P, Q, inside, outside)

    def _ask(self, method, P, Q, inside, outside):
        start = time.perf_counter()
        allowed = SHARES.get(method, 1.0) * self.seconds_of_split
        fit = Fit(P, self.y[inside], self.k, allowed, self.seed, self.is_balanced)
        try:
            predict, remark = METHODS[method](fit)
        except (MemoryError, ValueError) as error:
            self.left_out[method] = str(error).split("\n")[0]
            return
        taken = time.perf_counter() - start
        if method in SHARES and taken > EVERY + 3.0 * allowed:
            self.left_out[method] = (
                f"a fit takes {taken:.0f} seconds of its {allowed:.1f}; raise seconds, or take "
                "fewer columns"
            )
            return
        predicted = predict(Q)
        y = self.y[outside]
        if remark:
            self.said[f"{method}: {remark}"] += 1
        self.errors[method].append(error_of(predicted, y, is_balanced=self.is_balanced))
        self.right[method][outside] += predicted == y

    def compared(self, n_folds):
        """Return what was found."""
        methods = [method for method in METHODS if method not in self.left_out]
        found = pd.DataFrame({method: self.right[method] / self.asked for method in methods})
        by_class = found.groupby(self.y).mean()
        by_class.insert(0, "rows", pd.Series(self.y).value_counts().reindex(by_class.index))
        return Compared(
            errors=pd.DataFrame({method: self.errors[method] for method in methods}),
            found=by_class.rename_axis("class"),
            said=dict(self.said),
            left_out=self.left_out,
            n_folds=n_folds,
            is_balanced=self.is_balanced,
        )


def warm_up():
    """Compile what learning takes, on a few points, so that no limit of seconds counts it."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    P = rng.random((30, 3)) + y[:, None]
    prob = ss.Problem(ss.Triplets.from_labels(P, y, k=2), ss.SmoothedHinge(0.05))
    lams = prob.lam_max() * np.geomspace(0.9, 1e-5, 10)
    ss.path(prob, lams, rtol=1e-4, screening=("RRPB", "PGB"))
    wide = rng.random((60, 9)) + np.repeat(y[:, None], 2, axis=0)
    wide = ss.Problem(ss.Triplets.from_labels(wide, np.repeat(y, 2), k=5), prob.loss)
    for method in ("semismooth", "interior"):
        lam = 1e-4 * wide.lam_max()
        ss.solve(wide, lam, rtol=1e-4, screening=("PGB",), method=method)
    for is_balanced in (False, True):
        fit = Fit(P, y, 2, 60.0, 0, is_balanced)
        ours(fit)
    lmnn(fit)


# ------------------------------------------------------------------ methods


@dataclass(frozen=True)
class Fit:
    """What a method learns from: scaled points, labels, and the seconds it may take."""

    P: np.ndarray
    y: np.ndarray
    k: int
    seconds: float
    seed: int
    is_balanced: bool

    def neighbours(self, mapped):
        """Return a function that answers by the nearest of the points; `mapped` maps points."""
        n_neighbors = min(NEIGHBOURS, len(self.y))
        model = KNeighborsClassifier(n_neighbors).fit(mapped(self.P), self.y)
        return lambda points: model.predict(mapped(points))


def frequent(fit):
    """Answer with the most frequent class."""
    return DummyClassifier().fit(fit.P, fit.y).predict, ""


def euclid(fit):
    """Scaled features as they are."""
    return fit.neighbours(lambda points: points), ""


def ours(fit):
    """:class:`safescreen.TripletMetricCV`; without the choice of lam if folds of it had no class
    with two rows.
    """
    counts = np.unique(fit.y, return_counts=True)[1]
    cv = int(max(2, min(3, counts.max())))
    n_inside = len(fit.y) * (cv - 1) // cv
    k = max(1, min(fit.k, n_inside - 1))
    metric = ss.TripletMetric(k=k, n_neighbors=min(NEIGHBOURS, n_inside), tol=1e-3)
    if counts.max() < 3 or np.sort(counts)[-2] < 2:
        metric.set_params(max_seconds=fit.seconds).fit(fit.P, fit.y)
        return fit.neighbours(metric.transform), UNCHOSEN
    deadline = time.perf_counter() + fit.seconds
    options = {"scoring": "balanced_accuracy" if fit.is_balanced else None, "refit": False}
    # each lam of each fold may take so long; those of large lam take next to nothing
    metric.set_params(max_seconds=fit.seconds / (4 * cv))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ss.ConvergenceWarning)
        search = ss.TripletMetricCV(metric, lams=7, cv=cv, **options).fit(fit.P, fit.y)
        seconds = max(deadline - time.perf_counter(), fit.seconds / 4)
        metric.set_params(lam=float(search.lam_), with_path=True, path_ratio=0.2)
        metric.set_params(max_seconds=seconds).fit(fit.P, fit.y)
    return fit.neighbours(metric.transform), _shortfall(caught)


def _shortfall(caught):
    """Return what is to be said of solves that ended before they were accurate."""
    texts = [
        str(each.message) for each in caught if issubclass(each.category, ss.ConvergenceWarning)
    ]
    if any("max_seconds" in text for text in texts):
        return ENDED
    return SHORT if texts else ""


def nca(fit):
    """scikit-learn's neighbourhood components analysis."""
    last = []
    deadline = time.perf_counter() + fit.seconds

    def look(transformation, _):
        last[:] = [transformation.reshape(-1, fit.P.shape[1]).copy()]
        if time.perf_counter() > deadline:
            raise TimeoutError

    model = NeighborhoodComponentsAnalysis(max_iter=50, random_state=fit.seed, callback=look)
    try:
        return fit.neighbours(model.fit(fit.P, fit.y).transform), ""
    except TimeoutError:
        return fit.neighbours(lambda points: points @ last[0].T), ENDED


def lmnn(fit):
    """Large margin nearest neighbours: each row is pulled towards its nearest rows of the same
    class, and pushed away from all rows of other classes, from every second one or fewer where
    these would be too many. Nearly no norm of the metric is charged.
    """
    k = min(NEIGHBOURS, len(fit.y) - 1)
    targets = np.unique(ss.Triplets.from_labels(fit.P, fit.y, k=k).index[:, :2], axis=0)
    step = 1 + len(targets) * len(fit.y) // MOST_TRIPLETS
    others = [np.flatnonzero(fit.y != fit.y[i])[::step] for i, _ in targets]
    sizes = [len(rows) for rows in others]
    index = np.column_stack([np.repeat(targets, sizes, axis=0), np.concatenate(others)])
    pushed = ss.Problem(ss.Triplets(fit.P, index), ss.SmoothedHinge(0.05))
    problem = ss.Problem(pushed.terms, pushed.loss, linear=ss.pull(fit.P, targets))
    lam = 1e-5 * pushed.lam_max()
    solution = ss.solve(problem, lam, tol=0.0, rtol=1e-3, max_seconds=fit.seconds)
    L = factor_of(solution.x)
    remark = ""
    if not solution.converged:
        remark = ENDED if solution.reason == "time" else SHORT
    return fit.neighbours(lambda points: points @ L.T), remark


# each returns a function that answers for points, and a remark
METHODS = {FREQUENT: frequent, EUCLID: euclid, OURS: ours, "NCA": nca, "LMNN": lmnn}
SHARES = {OURS: 0.6, "NCA": 0.2, "LMNN": 0.2}
"""Of the seconds of a split."""
