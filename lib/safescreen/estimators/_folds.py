"""The folds of the cross-validation of a support vector classifier.

A fold holds solutions for some C. They give bounds of the accuracy for every C, and so prove which
C may still be the best.
"""

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from safescreen.estimators._cross_validation import Trial, until_interrupted
from safescreen.estimators._data import kept
from safescreen.estimators._features import SharedFeatures
from safescreen.estimators._training import quiet, solver_options
from safescreen.rounding import UNIT, upper
from safescreen.rules import Screened, sphere
from safescreen.solvers import solve, solve_screened
from safescreen.spheres.gap import from_evaluation_mgb

FIRST = 1e-4
"""Relative gap of first solutions of folds that may wait: that decides most points."""

FINEST = 1e-13
"""Smallest relative gap that a solve is asked for."""

NEAR = 1e-7
"""Decision values of x that differ by at most this times ``sqrt(2 C P) ||x||`` are near each other.

``sqrt(2 C P)`` is an upper bound of the norm of the solution. Decision values of two solutions of a
relative gap of `FINEST` are near each other.
"""


class Fold:
    """Training points, validation points and solutions, for a SafeSVC that knows its classes and
    has read the data.

    The accuracies count samples by the weights `scored`; 1 if left out. If the `features` of all
    points are given, so is their kernel matrix, and this fold uses a part of it. A fold that
    `may_wait` is solved only to the tolerance when a C is asked for the first time.
    """

    def __init__(self, model, X, y, weights, train, test, scored=None, features=None):
        self.test = test
        self.may_wait = False
        numbers, own = kept(weights, np.unique(train))
        shared = None if features is None else SharedFeatures(features, numbers)
        self.setup = model.pose(X, y, numbers, own, shared)
        self.options = solver_options(model, "method")
        self.codes = np.searchsorted(model.classes_, y[test])
        self.weights = np.ones(len(test)) if scored is None else np.asarray(scored)[test]
        if not self.weights.sum() > 0.0:
            raise ValueError(
                "sample_weight must hold a positive weight in every validation part of cv, "
                "found a part with zeros only"
            )
        self.validation = NewPoints(self.setup, X, test) if shared is None else KnownPoints(test)
        self.solved = {}  # C: (solutions, dual points, loss sums), one a problem
        self.decided = {}  # C: Decisions at these solutions

    def solve(self, C, sure=True):
        """Solve all problems for C, starting from the known solutions and with the samples that
        they screen.

        If `sure`, the problems are solved further while the accuracy at the exact solutions may be
        another one: down to a relative gap of `FINEST`, or to what rounding allows. If a point is
        still undecided then, or is decided by less than `NEAR`, the problems are solved once more
        without a warm start. So the score does not depend on the order in which the C are solved
        for. Folds that may wait are solved for in one order, and are not solved twice.
        """
        rtol = self.options["rtol"]
        with quiet():
            if not sure:
                self._solve_all(C, max(rtol, FIRST))
                return
            self._solve_all(C, rtol)
            while rtol > FINEST and not np.equal(*self.bounds(C)):
                rtol = max(1e-2 * rtol, FINEST)
                self._solve_all(C, rtol)
                if not all(solution.converged for solution in self.solved[C][0]):
                    break
            if self.may_wait:
                return
            if self.decisions(C).are_near or not np.equal(*self.bounds(C)):
                known = self.solved[C]
                self._solve_all(C, FINEST, warm=False)
                if not self._is_solved(C):  # it stalled without the warm start
                    self._keep(C, known)

    def _solve_all(self, C, rtol, warm=True):
        solved = []
        for number, prob in enumerate(self.setup.problems):
            start = self._evaluation(prob, number, C) if warm else None
            solved.append(self._solve(prob, start, C, rtol))
        self._keep(C, tuple(zip(*solved, strict=True)))

    def _keep(self, C, solved):
        self.solved[C] = solved
        self.decided.pop(C, None)

    def _is_solved(self, C):
        """Return whether the solutions for C are as accurate as the estimator asks."""
        rtol = self.options["rtol"]
        return all(s.gap <= rtol * abs(s.primal) for s in self.solved[C][0])

    def _solve(self, prob, start, C, rtol):
        """Return a solution, its dual point and its loss sums.

        `start` is an evaluation and its dual point, or None.
        """
        options = {**self.options, "tol": 0.0, "rtol": rtol}
        if start is None:
            solution = solve(prob, 1.0 / C, keep_interrupted=False, **options)
        else:
            evaluation, alpha = start
            masks = Screened(*np.zeros((2, len(prob)), dtype=bool))
            if options["screening"]:
                masks = sphere(prob, from_evaluation_mgb(prob.cone, evaluation))
            solution = solve_screened(prob, 1.0 / C, masks, evaluation.x, alpha, **options)
        alpha = solution.alpha
        return solution, alpha, solution.problem.terms.loss_sums(solution.x, prob.loss, alpha)

    def score(self, C):
        """Return the accuracy at the solutions for C, see :attr:`Decisions.predicted`."""
        return self._accuracy(self.decisions(C).predicted == self.codes)

    def bounds(self, C):
        """Return ``(low, high)``, bounds of the accuracy at the exact solutions for C, and of
        :meth:`score`.
        """
        decisions = self.decisions(C)
        low = self._accuracy(decisions.must_be(self.codes))
        return low, self._accuracy(decisions.may_be(self.codes))

    def fitted(self, model, C):
        """Return a copy of the model, which knows its classes, with the solutions for C."""
        machine = clone(model).set_params(C=float(C))
        machine.classes_ = model.classes_
        machine.n_features_in_ = model.n_features_in_
        solutions = self.solved[C][0]
        if isinstance(self.setup.features, SharedFeatures):
            numbers = self.setup.numbers
            solutions = [replace(s, x=np.asarray(s.x)[numbers]) for s in solutions]
        machine.keep(self.setup, solutions)
        return machine

    def decisions(self, C):
        """Return the :class:`Decisions` for C: what is certain of the decision values of the
        validation points.

        The midpoint gap bound for C is a ball ``(m, r)`` around the solution. So a decision value
        ``f(x)`` lies in ``<x, m> -+ r ||x||``. If C has not been solved for, the interval is
        enlarged by `near`, so that it also holds for :meth:`score`.
        """
        if C in self.decided:
            return self.decided[C]
        values, half_widths, near = np.empty((3, self.codes.size, len(self.setup.problems)))
        for number, prob in enumerate(self.setup.problems):
            evaluation, _ = self._evaluation(prob, number, C)
            values[:, number], half_widths[:, number] = self._values(number, evaluation, C)
            near[:, number] = self.validation.norms(prob)
            if self.setup.features.is_free:
                near[:, number] += prob.terms.longest
            near[:, number] *= NEAR * np.sqrt(2.0 * C * max(evaluation.primal, 0.0))
        if C not in self.solved:
            return Decisions.of(values, upper(half_widths + near, 2), near)
        self.decided[C] = Decisions.of(values, half_widths, near)
        return self.decided[C]

    def _values(self, number, evaluation, C):
        """Return the decision values of one problem at the center of the ball of an evaluation, and
        how far those of a solution in the ball may be from them; C is the largest that the solution
        may be for.
        """
        prob = self.setup.problems[number]
        ball = from_evaluation_mgb(prob.cone, evaluation)
        signs = self.setup.signs[number]
        values, rounding = self.validation.values(prob, signs, ball, 1.0 / C)
        half_widths = self.validation.norms(prob) * upper(ball.radius + rounding, 8)
        if self.setup.features.is_free:
            b = prob.terms.intercept(ball.center, prob.loss)
            low, high = prob.terms.intercepts(ball, prob.loss)
            values = values + b
            doubt = max(high - b, b - low) + 4.0 * UNIT * (np.abs(values) + abs(b))
            half_widths = upper(half_widths + doubt, 8)
        return values, half_widths

    def between(self, C_low, C_high):
        """Return ``(low, high)``, bounds of the accuracy at the exact solutions for *every* C of an
        interval.

        One pair (x, alpha) makes a ball for each C. The two balls of the ends hold the solutions
        for all C between them, see :class:`~safescreen.HeldOut`. The pairs are the solutions for
        the nearest C on both sides, and the one between them.
        """
        if not self.solved:
            return 0.0, 1.0
        shape = self.codes.size, len(self.setup.problems)
        low = np.full(shape, -np.inf)
        high = np.full(shape, np.inf)
        middle = np.sqrt(C_low * C_high)
        below = max((C for C in self.solved if C <= middle), default=middle)
        above = min((C for C in self.solved if C >= middle), default=middle)
        for number in range(shape[1]):
            for C in {below, middle, above}:
                own = self._hull(number, C, (C_low, C_high))
                low[:, number] = np.fmax(low[:, number], own[0])
                high[:, number] = np.fmin(high[:, number], own[1])
        decisions = Decisions.within(low, high)
        right = self._accuracy(decisions.must_be(self.codes))
        return right, self._accuracy(decisions.may_be(self.codes))

    def _hull(self, number, C, ends):
        """Return bounds of the decision values of a problem in the two balls of the pair for C."""
        prob = self.setup.problems[number]
        pair, _ = self._evaluation(prob, number, C)
        low = []
        high = []
        for end in ends:
            evaluation = prob.assemble(pair.sums, pair.x, 1.0 / end)
            values, half_widths = self._values(number, evaluation, max(ends))
            low.append(values - half_widths)
            high.append(values + half_widths)
        return np.minimum(*low), np.maximum(*high)

    def _evaluation(self, prob, number, C):
        """Return ``(evaluation for C, its dual point)`` from the solutions for the nearest C on
        both sides; None if there are none.

        Between them w and ``C alpha`` are taken to be linear in C. This is exact as long as no
        sample changes its region. The dual point is feasible because ``C alpha <= C`` holds at both
        ends; it is clipped because of rounding.
        """
        below = [c for c in self.solved if c <= C]
        above = [c for c in self.solved if c > C]
        if C in self.solved or not below or not above:
            if not below and not above:
                return None
            nearest = max(below) if below else min(above)
            solutions, alphas, sums = self.solved[nearest]
            return prob.assemble(sums[number], solutions[number].x, 1.0 / C), alphas[number]
        C_below = max(below)
        C_above = min(above)
        t = (C - C_below) / (C_above - C_below)
        solutions_below, alphas_below, _ = self.solved[C_below]
        solutions_above, alphas_above, _ = self.solved[C_above]
        x = (1.0 - t) * solutions_below[number].x + t * solutions_above[number].x
        alpha = (
            (1.0 - t) * C_below * alphas_below[number] + t * C_above * alphas_above[number]
        ) / C
        alpha = np.clip(alpha, 0.0, prob.loss.cap)
        return prob.evaluate(x, 1.0 / C, alpha), alpha

    def _accuracy(self, right):
        return float(np.sum(self.weights * right) / np.sum(self.weights))


class NewPoints:
    """Validation points that are not in the problems of a setup."""

    def __init__(self, setup, X, test):
        features = setup.features
        if features.kernel == "precomputed":
            rows = X[np.ix_(test, setup.numbers)]
            points = X[test, test]
        else:
            rows = points = X[test]
        self._features = features
        self._rows = features.rows(rows)
        self._norms = features.norms(points)
        self._error = features.error(points)

    def norms(self, prob):
        """Return upper bounds of the norms of the points."""
        return self._norms

    def values(self, prob, signs, ball, lam):
        """Return the decision values at the center of a ball, for a problem with these signs, and a
        bound of their rounding errors, divided by the norms of the points.
        """
        rounding = self._features.rounding(self._rows, self._error, prob, ball, lam)
        return self._features.products(self._rows, ball.center, signs), rounding


class KnownPoints:
    """Validation points that have rows in the kernel matrix of the problems, see
    :class:`~safescreen.estimators._features.SharedFeatures`.
    """

    def __init__(self, test):
        self._test = test

    def norms(self, prob):
        """Return what :meth:`NewPoints.norms` returns."""
        return prob.cone.norms[self._test]

    def values(self, prob, signs, ball, lam):
        """Return what :meth:`NewPoints.values` returns; an expansion knows the error of its
        products.
        """
        values = ball.center.at(self._test)
        return values, ball.center.error


class Decisions(NamedTuple):
    """Decision values of the classes at validation points, arrays of shape (n_points, n_classes).

    The class with the largest value is predicted, of equal ones the first.

    Attributes
    ----------
    values : array
        At the computed solutions.
    low, high : array
        Bounds of the values at the exact solutions.
    near : array
        Two values are near each other if they differ by no more than the sum of their entries here.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    near: np.ndarray

    @classmethod
    def of(cls, values, half_widths, near):
        """Return the decisions for all classes. For two classes the given values are those of the
        second; the first has the same with the other sign.
        """
        if values.shape[1] == 1:
            values = np.hstack([-values, values])
            half_widths = np.hstack([half_widths, half_widths])
            near = np.hstack([near, near])
        return cls(values, values - half_widths, values + half_widths, near)

    @classmethod
    def within(cls, low, high):
        """Return decisions of which only bounds of the values are known, of the second class if
        there are two.
        """
        if low.shape[1] == 1:
            low, high = np.hstack([-high, low]), np.hstack([-low, high])
        unknown = np.full(low.shape, np.nan)
        return cls(unknown, low, high, unknown)

    def must_be(self, codes):
        """Return where it is certain that the class of the given number, one for each point, is
        predicted.
        """
        own = np.take_along_axis(self.low, codes[:, None], axis=1)
        return ((own > self.high) | self._are(codes)).all(axis=1)

    def may_be(self, codes):
        """Return where it is not certain that a class other than that of the given number is
        predicted.
        """
        own = np.take_along_axis(self.high, codes[:, None], axis=1)
        return ~((self.low > own) & ~self._are(codes)).any(axis=1)

    @property
    def predicted(self):
        """Numbers of the classes that are predicted, one for each point.

        If the class is not certain, it is the first of the classes that may be predicted and whose
        values are near the largest one.
        """
        largest = self.values.argmax(axis=1)
        possible = self.high >= self.low.max(axis=1, keepdims=True)
        first = (self._near_the_largest & possible).argmax(axis=1)
        return np.where(self.must_be(largest), largest, first)

    @property
    def are_near(self):
        """Whether at some point the values of two classes are near the largest one."""
        return bool((self._near_the_largest.sum(axis=1) > 1).any())

    @property
    def _near_the_largest(self):
        largest = self.values.argmax(axis=1)[:, None]
        least = np.take_along_axis(self.values - self.near, largest, axis=1)
        return self.values + self.near >= least

    def _are(self, codes):
        return np.arange(self.values.shape[1]) == codes[:, None]


def advance(fold, model, Cs, judge):
    """Solve a fold for some C. Return it with a trial of each C, and whether all C were tried;
    Ctrl-C ends the trials.

    Without a judge the scores are accuracies, and the fold is solved until they are certain, if
    they can be. A fold that may wait does so only when it is asked for a C for the second time.
    Until then an accuracy that is not certain is NaN.
    """

    def trial(C):
        start = perf_counter()
        waits = fold.may_wait and C not in fold.solved
        fold.solve(C, judge is None and not waits)
        solved = perf_counter()
        if judge is None:
            bounds = fold.bounds(C)
            score = np.nan if waits and bounds[0] < bounds[1] else fold.score(C)
        else:
            score = judge(fold.fitted(model, C), fold.test)
            bounds = ()
        return Trial(score, solved - start, perf_counter() - solved, *bounds)

    trials, is_complete = until_interrupted(trial, map(float, Cs))
    return (fold, trials), is_complete


def may_win(scores):
    """Return which values may have the largest mean score, of equal ones be the first. Rounding of
    the mean is monotone, so it changes no comparison.
    """
    low, high = scores.low.mean(axis=0), scores.high.mean(axis=0)
    before = np.concatenate(([-np.inf], np.maximum.accumulate(low)[:-1]))
    return (high >= low.max()) & ~(before >= high)


def is_best(low, high, number):
    """Return whether the value of this number is certain to have the largest mean score, and to be
    the first of equal ones.

    `low` and `high` are bounds of the scores, of shape (n_folds, n_values).
    """
    least = low.mean(axis=0)[number]
    most = high.mean(axis=0)
    return bool((least > most[:number]).all() and (least >= most[number + 1 :]).all())


def search(values, scores, solve, bounds=None, stride=8, numbers=None):
    """Try values until the best one is known; KeyboardInterrupt after Ctrl-C.

    `numbers` are the places of the values in `scores`, which may hold others too. ``solve(wanted)``
    gets a boolean array of shape (n_folds, n_values), keeps trials in `scores`, and returns False
    after Ctrl-C. ``bounds(fold, value)`` returns ``(low, high)``, from what has been solved.

    Each `stride`-th value is tried first, then the middle of each run of values that may still win.
    Without bounds everything is solved, in order. If a computed score is still undecided, its
    bounds stay as they are.
    """
    n = len(values)
    numbers = np.arange(n) if numbers is None else numbers
    wanted = np.arange(n) if bounds is None else np.arange(0, n, min(stride, max(1, n // 4)))
    while wanted.size:
        asked = np.zeros(scores.score.shape, dtype=bool)
        asked[:, numbers[wanted]] = np.isnan(scores.score[:, numbers[wanted]])
        if not solve(asked):
            raise KeyboardInterrupt
        if bounds is None:
            return
        for fold, place in np.argwhere(np.isnan(scores.score[:, numbers])):
            scores.bound(fold, numbers[place], *bounds(fold, values[place]))
        unknown = np.isnan(scores.score[:, numbers]).any(axis=0)
        wanted = _middles(np.flatnonzero(may_win(scores)[numbers] & unknown))


def _middles(numbers):
    """Return the middle of each run of consecutive numbers."""
    if not numbers.size:
        return numbers
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return np.array([run[run.size // 2] for run in runs])
