"""Folds of a cross-validation. A fold follows a path through the values of a parameter, scores the
models of the path, and derives bounds of the scores from the solutions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from traceback import format_exc
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen.estimators import _votes
from safescreen.estimators._training import farthest
from safescreen.estimators._votes import ordered
from safescreen.problem import Evaluation
from safescreen.rounding import upper
from safescreen.solvers import Solution
from safescreen.validation import HeldOut, keep_next

UNKNOWN = (-math.inf, math.inf)
"""Bounds of an unknown score."""


class Judge(NamedTuple):
    """Scorer of fitted models on samples, or on triplets `y`, as in
    :class:`sklearn.model_selection.GridSearchCV`. `params` are passed to the scorer. With
    `is_accuracy` the score is the accuracy, and the scorer need not be called. `names` are the
    names of several scores, as far as they are known.
    """

    scorer: Any
    params: dict
    X: Any
    y: np.ndarray
    error_score: Any
    is_accuracy: bool = False
    names: tuple[str, ...] = ()

    def part(self, test: NDArray) -> Judge:
        """Return a judge that scores on the samples, or triplets, with these numbers."""
        points = self.X[test] if self.y.ndim == 1 else self.X
        params = {
            name: np.asarray(value)[test] if np.shape(value)[:1] == self.y.shape[:1] else value
            for name, value in self.params.items()
        }
        return self._replace(X=points, y=self.y[test], params=params)

    def score(self, model: Any, fold: Fold) -> Any:
        """Return the score of a fitted model, or a dict of several scores. If the score is the
        accuracy without `params`, the fold makes the predictions.
        """
        if self.is_accuracy and not self.params:
            return float(np.mean(fold.predict(model, self.X) == self.y))
        try:
            scores = self.scorer(model, self.X, self.y, **self.params)
        except Exception:
            if self.error_score == "raise":
                raise
            return self._failed(format_exc())
        if isinstance(scores, dict):
            failed = {name: text for name, text in scores.items() if isinstance(text, str)}
            return scores | {name: self._failed(text) for name, text in failed.items()}
        return scores

    def _failed(self, details: str) -> float:
        """Warn of a score that failed, and return the value that replaces it."""
        warnings.warn(
            "Scoring failed. The score on this train-test partition for these parameters will be "
            f"set to {self.error_score}. Details: \n{details}",
            UserWarning,
            stacklevel=2,
        )
        return self.error_score

    def instead(self, value: float) -> Any:
        """Return `value`, or a dict with `value` for each name if there are several scores."""
        return dict.fromkeys(self.names, value) if self.names else value

    def like(self, scores: Any, value: float) -> Any:
        """Return `value` in the form of `scores`: a number, or a dict with the same names."""
        return dict.fromkeys(scores, value) if isinstance(scores, dict) else value


class Trial(NamedTuple):
    """Result of one value of the parameter in one fold. The first four fields have the names of
    scikit-learn.

    Attributes
    ----------
    test_scores : float or dict
    fit_time, score_time : float
        Seconds.
    fit_error : str or None
        The traceback of a fit that failed.
    short : Solution or None
        The solution that is farthest above the tolerance; None if all have reached it.
    bounds : pair of Fraction
        Lower and upper bounds of the score at the exact solutions.
    between : list of pairs, or None
        The same bounds for all values between the previous value and this value, one pair for each
        cell of the interval.
    """

    test_scores: Any
    fit_time: float
    score_time: float
    fit_error: str | None = None
    short: Solution | None = None
    bounds: tuple = UNKNOWN
    between: list | None = None


class Fold:
    """The training part of a split, and the path of its solutions.

    Attributes
    ----------
    model : estimator
        The estimator, with all parameters except the parameter whose values are tried.
    test : array
        Numbers of the rows that are held out.
    solutions : list of Solution
        The solutions for the last value, one for each problem.
    evaluations : list
        The evaluation of each solution; None where it is not known.
    proof : Proof or None
        Computes bounds of the scores; None if no bounds are asked for.
    """

    def __init__(self, model: Any, train: NDArray, test: NDArray):
        self.model = model
        self.train = train
        self.test = test
        self.solutions: list[Solution] = []
        self.evaluations: list[Evaluation | None] = []
        self.proof: Proof | None = None

    def solve(self, value: float, n_to_come: int) -> Any:
        """Return a fitted model for the next value; `n_to_come` more values follow it. The first
        call poses the problems.
        """
        raise NotImplementedError

    def predict(self, model: Any, points: Any) -> NDArray:
        """Return the classes that the last model predicts for the points that are held out."""
        return model._vote(points)

    def end(self) -> None:
        """Release everything that only further values would need."""

    def found(self) -> dict:
        """Return the fields of a :class:`Trial` that the last solutions determine, by name."""
        short = farthest(self.model, self.solutions)
        if short is not None:
            short = replace(short, x=np.empty(0), problem=None)
        bounds = {}
        if self.proof is not None:
            bounds = self.proof.add(self.solutions, self.evaluations)
        return {"short": short, **bounds}


class Votes(NamedTuple):
    """Number of classes for which pairs vote, and whether ties are broken by more than the order of
    the classes.
    """

    n_classes: int
    break_ties: bool

    def bounds(self, low: NDArray, high: NDArray) -> tuple[NDArray, NDArray]:
        """Return bounds of a value for each class. The largest value decides the prediction."""
        fewest, most = _votes.bounds(low, high, self.n_classes)
        return (fewest, most) if self.break_ties else (ordered(fewest), ordered(most))


class Proof:
    """Bounds of the share of held-out points that the exact solutions classify correctly.

    Parameters
    ----------
    held_out : list of HeldOut
        The held-out points in each problem. Their margins are decision values: of each class; of
        the second class if there are two; or, for pairs of classes, of the first class of each
        pair.
    codes : int array of shape (n_points,)
        Numbers of the classes of the points; -1 for a class that is never predicted.
    counts : array of shape (n_points,)
        How much each point counts: integers, so that shares are exact.
    n_cells : int
        The number of cells into which the interval between two values is divided; with 0 the
        interval gets no bounds.
    votes : Votes, optional
        How pairs of classes vote; None if the problems are not pairs of classes.
    """

    def __init__(
        self,
        held_out: Sequence[HeldOut],
        codes: NDArray,
        counts: NDArray,
        n_cells: int = 0,
        votes: Votes | None = None,
    ):
        self.held_out = held_out
        self.codes = codes
        self.counts = counts
        self.n_cells = n_cells
        self.votes = votes
        self.lam: float | None = None  # lam of the last solutions

    def add(self, solutions: Sequence[Solution], evaluations: Sequence[Evaluation | None]) -> dict:
        """Return the fields `bounds` and `between` of a :class:`Trial` for the next solutions.
        `evaluations` has the evaluation of each solution, or None where it is not known.
        """
        for held_out, *one in zip(self.held_out, solutions, evaluations, strict=True):
            keep_next(held_out, *one)
        lam = float(solutions[0].lam)
        between = None
        if self.n_cells and self.lam is not None:
            between = [self.share(*cell) for cell in pairwise(cells(lam, self.lam, self.n_cells))]
        self.lam = lam
        return {"bounds": self.share(lam, lam), "between": between}

    def share(self, low: float, high: float) -> tuple[Fraction, Fraction]:
        """Return bounds of the share that hold for every lam of an interval."""
        margins = [held_out.margins(low, high) for held_out in self.held_out]
        lows = np.column_stack([one.low for one in margins])
        highs = np.column_stack([one.high for one in margins])
        if self.votes is not None:
            lows, highs = self.votes.bounds(lows, highs)
        right, possible = certain(lows, highs, self.codes)
        total = int(self.counts.sum())
        least = Fraction(int(self.counts[right].sum()), total)
        return least, Fraction(int(self.counts[possible].sum()), total)


def certain(low: NDArray, high: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
    """Return which points certainly get the class of their number in `codes`, and which may get it.

    The class with the largest decision value is predicted, and the first of classes with equal
    values. `low` and `high` are bounds of the decision values, shape (n_points, n_classes). One
    column holds bounds for the second of two classes, which is predicted where its value is
    positive. A bound that is NaN decides nothing.
    """
    is_there = codes >= 0
    if low.shape[1] == 1:
        are_above = low[:, 0] > 0.0
        are_below = high[:, 0] < 0.0
        are_second = codes == 1
        right = np.where(are_second, are_above, are_below)
        wrong = np.where(are_second, are_below, are_above)
    else:
        is_own = np.arange(low.shape[1]) == codes[:, None]
        own_low = np.where(is_own, low, np.inf).min(axis=1)
        own_high = np.where(is_own, high, -np.inf).max(axis=1)
        right = own_low > np.where(is_own, -np.inf, high).max(axis=1)
        wrong = own_high < np.where(is_own, -np.inf, low).max(axis=1)
    return is_there & right, is_there & ~wrong


def counted(test: NDArray, weights: ArrayLike | None) -> tuple[NDArray, NDArray | None]:
    """Return the distinct numbers of the held-out points, and the count of each.

    The count is the weight of the point, times how often the point is held out, times a common
    factor that makes all counts integers. The counts are None if one is negative or all are 0.
    """
    numbers, counts = np.unique(test, return_counts=True)
    if weights is None:
        return numbers, counts
    parts = [Fraction(float(weight)) for weight in np.asarray(weights)[numbers]]
    common = max(part.denominator for part in parts)  # all are powers of 2
    counts = counts * np.array([int(part * common) for part in parts], dtype=object)
    return numbers, counts if counts.min() >= 0 and counts.max() > 0 else None


def is_best(low: NDArray, high: NDArray, number: int) -> bool:
    """Return whether the value with this number certainly has the largest mean score, and is the
    first of the values with this mean. `low` and `high` are exact bounds of all means.
    """
    least = low[number]
    return all(least > most for most in high[:number]) and all(
        least >= most for most in high[number + 1 :]
    )


def missed(high: Sequence, least: Any) -> float:
    """Return by how much scores with these upper bounds may exceed `least`, rounded up."""
    most = max(high)
    return upper(float(most - least), 2) if most > least else 0.0


def cells(start: float, stop: float, number: int) -> NDArray:
    """Return the ends of `number` cells of an interval, with equal steps of the logarithm. `start`
    may be above `stop`.
    """
    ends = np.geomspace(start, stop, number + 1)
    ends[0] = start
    ends[-1] = stop
    return ends
