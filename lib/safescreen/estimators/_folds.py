"""Folds of a support vector classifier's cross-validation: solutions for some C, what they prove of the score for all others, and which of
those may yet be the best.
"""

import numpy as np
from sklearn.base import clone

from safescreen.estimators._cross_validation import until_interrupted
from safescreen.estimators._data import kept
from safescreen.estimators._training import quiet, solver_options
from safescreen.rounding import upper
from safescreen.rules import Screened, sphere
from safescreen.solvers import solve, solve_screened
from safescreen.spheres.gap import from_evaluation_mgb

FINEST = 1e-9
"""Smallest relative gap that is asked for."""


class Fold:
    """Training points, validation points and solutions, for a SafeSVC that knows its classes and the data it has read.

    Accuracies are those by the weights `scored` of the samples, 1 if left out.
    """

    def __init__(self, model, X, y, weights, train, test, scored=None):
        self.test, self.setup = test, model._setup(X, y, *kept(weights, np.unique(train)))
        self.options = solver_options(model, "method")
        features, self.codes = self.setup.features, np.searchsorted(model.classes_, y[test])
        self.weights = np.ones(len(test)) if scored is None else np.asarray(scored)[test]
        if not self.weights.sum() > 0.0:
            raise ValueError("sample_weight must hold a positive weight in every validation part of cv, one has only zeros")
        if features.kernel == "precomputed":
            rows, points = X[np.ix_(test, self.setup.numbers)], X[test, test]
        else:
            rows = points = X[test]
        self.rows, self.norms, self.error = features.rows(rows), features.norms(points), features.error(points)
        self.found = {}  # C: (solutions, dual points, loss sums), one a problem

    def solve(self, C, sure=True):
        """Solve all problems for C, from what is known of it and with what that proves.

        If `sure`, they are solved further, down to a relative gap of ``FINEST``, while the accuracy may yet be another one at the exact
        solutions: so it does not depend on the order in which C are solved for.
        """
        tol = self.options["rtol"]
        with quiet():
            self.found[C] = self._solve_all(C, tol)
            while sure and tol > FINEST and not np.equal(*self.bounds(C)):
                tol = max(1e-2 * tol, FINEST)
                self.found[C] = self._solve_all(C, tol)

    def _solve_all(self, C, tol):
        return tuple(zip(*[self._solve(prob, number, C, tol) for number, prob in enumerate(self.setup.problems)], strict=True))

    def _solve(self, prob, number, C, tol):
        options, here = {**self.options, "rtol": tol}, self._evaluation(prob, number, C)
        if here is None:
            solution = solve(prob, 1.0 / C, **options)
        else:
            evaluation, alpha = here
            masks = Screened(*np.zeros((2, len(prob)), dtype=bool))
            if options["screening"]:
                masks = sphere(prob, from_evaluation_mgb(prob.cone, evaluation))
            solution = solve_screened(prob, 1.0 / C, masks, evaluation.x, alpha, **options)
        alpha = solution.alpha
        return solution, alpha, prob.terms.loss_sums(solution.x, prob.loss, alpha)

    def score(self, C):
        """Return the accuracy at the solutions for C."""
        features = self.setup.features
        pairs = zip(self.found[C][0], self.setup.signs, strict=True)
        values = np.column_stack([features.products(self.rows, solution.x, sign) for solution, sign in pairs])
        return self._accuracy(_by_class(values, values)[0].argmax(axis=1) == self.codes)

    def fitted(self, model, C):
        """Return a copy of the model, which knows its classes, with the solutions for C."""
        part = clone(model).set_params(C=float(C))
        part.classes_, part.n_features_in_ = model.classes_, model.n_features_in_
        part._keep(self.setup, self.found[C][0])
        return part

    def bounds(self, C):
        """Return ``(low, high)``, bounds of the accuracy at the exact solutions for C.

        The midpoint gap bound for C is a ball ``(m, r)`` around the solution: a decision value ``f(x)`` lies in ``<x, m> -+ r ||x||``.
        """
        features, (low, high) = self.setup.features, np.empty((2, self.codes.size, len(self.setup.problems)))
        for number, prob in enumerate(self.setup.problems):
            ball = from_evaluation_mgb(prob.cone, self._evaluation(prob, number, C)[0])
            reach = self.norms * upper(ball.radius + features.rounding(self.rows, self.error, prob, ball, 1.0 / C), 8)
            values = features.products(self.rows, ball.center, self.setup.signs[number])
            low[:, number], high[:, number] = values - reach, values + reach
        low, high = _by_class(low, high)
        rows = np.arange(self.codes.size)
        own_low, own_high = low[rows, self.codes], high[rows, self.codes]
        low[rows, self.codes] = high[rows, self.codes] = -np.inf
        return self._accuracy(own_low > high.max(axis=1)), self._accuracy(~(own_high < low.max(axis=1)))

    def _evaluation(self, prob, number, C):
        """Return ``(evaluation for C, its dual point)`` from the solutions for the nearest C on both sides; None if there are none.

        Between them w and ``C alpha`` are taken to be linear in C, which is exact as long as no sample changes its region; the dual point
        is feasible because ``C alpha <= C`` holds at both ends, and clipped because that may be rounded.
        """
        below, above = [c for c in self.found if c <= C], [c for c in self.found if c > C]
        if C in self.found or not below or not above:
            if not below and not above:
                return None
            solutions, alphas, sums = self.found[max(below) if below else min(above)]
            return prob.assemble(sums[number], solutions[number].x, 1.0 / C), alphas[number]
        a, b = max(below), min(above)
        t = (C - a) / (b - a)
        (one, alpha_one, _), (two, alpha_two, _) = self.found[a], self.found[b]
        x = (1.0 - t) * one[number].x + t * two[number].x
        alpha = ((1.0 - t) * a * alpha_one[number] + t * b * alpha_two[number]) / C
        alpha = np.clip(alpha, 0.0, prob.loss.cap)
        return prob.evaluate(x, 1.0 / C, alpha), alpha

    def _accuracy(self, right):
        return float(np.sum(self.weights * right) / np.sum(self.weights))


def _by_class(low, high):
    """Return bounds of the decision values of each class; of two classes the first has those of the second with the other sign."""
    return (np.column_stack([-high, low]), np.column_stack([-low, high])) if low.shape[1] == 1 else (low, high)


def advance(fold, model, Cs, judge):
    """Solve a fold for some C; return it with their scores, and whether that came to its end, or Ctrl-C was pressed.

    Without a judge they are accuracies, for which it is solved until they are sure.
    """

    def score(C):
        fold.solve(float(C), judge is None)
        return fold.score(C) if judge is None else judge(fold.fitted(model, C), fold.test)

    scores, whole = until_interrupted(score, Cs)
    return (fold, scores), whole


class Scores:
    """Bounds `low` and `high` of the scores, and what has been `solved`: arrays of shape (n_folds, n_values)."""

    def __init__(self, n_folds, n_values):
        self.low, self.high = np.full((2, n_folds, n_values), [[[-np.inf]], [[np.inf]]])
        self.solved = np.zeros((n_folds, n_values), dtype=bool)

    @property
    def known(self):
        """Where both bounds are the score."""
        return self.low == self.high

    def can_win(self):
        """Return which values may have the largest mean score, of equal ones the first; rounding of the mean is monotone."""
        low, high = self.low.mean(axis=0), self.high.mean(axis=0)
        before = np.concatenate(([-np.inf], np.maximum.accumulate(low)[:-1]))
        return (high >= low.max()) & ~(before >= high)


def search(values, scores, solve, bounds=None, stride=8):
    """Fill in scores until the best value is known; KeyboardInterrupt if Ctrl-C was pressed before.

    ``solve(wanted)`` gets a boolean array like `scores.solved` and returns scores of that shape, NaN where there is none, and whether there
    are all that are wanted, or Ctrl-C was pressed. ``bounds(fold, value) -> (low, high)`` follow from what has been solved: each
    `stride`-th value comes first, then the middle of each stretch of values that may still win. Without bounds everything is solved, in
    order.
    """
    n = len(values)
    wanted = np.arange(n) if bounds is None else np.arange(0, n, min(stride, max(1, n // 4)))
    while wanted.size:
        asked = np.zeros(scores.solved.shape, dtype=bool)
        asked[:, wanted] = ~scores.known[:, wanted]
        found, whole = solve(asked)
        done = ~np.isnan(found)
        scores.low[done] = scores.high[done] = found[done]
        scores.solved |= done
        if not whole:
            raise KeyboardInterrupt
        if bounds is None:
            return
        for fold, number in zip(*np.nonzero(~scores.known), strict=True):
            low, high = bounds(fold, values[number])
            scores.low[fold, number] = max(scores.low[fold, number], low)
            scores.high[fold, number] = min(scores.high[fold, number], high)
        wanted = _middles(np.flatnonzero(scores.can_win() & ~scores.known.all(axis=0)))


def _middles(numbers):
    """Return the middle of each run of consecutive numbers."""
    if not numbers.size:
        return numbers
    return np.array([run[run.size // 2] for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)])
