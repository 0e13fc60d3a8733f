"""The best of a grid of values by cross-validation, without computing the score of those that provably do not have it."""

import warnings

import numpy as np
from joblib import Parallel

__all__ = ["Scores", "choose", "collect", "search"]


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

    ``solve(wanted)`` gets a boolean array like `scores.solved` and returns two arrays of that shape, scores and where there are some,
    and whether there are all that are wanted, or Ctrl-C was pressed. ``bounds(fold, value) -> (low, high)`` follow from what has been
    solved: each `stride`-th value comes first, then the middle of each stretch of values that may still win. Without bounds everything is
    solved, in order.
    """
    n = len(values)
    wanted = np.arange(n) if bounds is None else np.arange(0, n, min(stride, max(1, n // 4)))
    while wanted.size:
        asked = np.zeros(scores.solved.shape, dtype=bool)
        asked[:, wanted] = ~scores.known[:, wanted]
        found, done, whole = solve(asked)
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


def collect(tasks, keep, n_jobs=None):
    """Work on joblib's tasks; return whether all came to their end, or Ctrl-C was pressed.

    Each returns what it found, for ``keep(number, found)``, called in order, and whether it came to its end.
    """
    results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    try:
        for number, (found, whole) in enumerate(results):
            keep(number, found)
            if not whole:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # joblib's, of tasks that are not worked on any more
            results.close()
        return False
    return True


def choose(scores, whole=True):
    """Return the number of the value with the largest mean score, of equal ones the first, that score, and what it was compared with.

    Scores, of shape (n_folds, n_values), are NaN where they are missing: not needed if they are `whole`, and that value is none to choose.
    After Ctrl-C values are compared by the same folds: those with a score in each by all folds, or all values by the folds that are
    finished, whichever are more scores; without either Ctrl-C is passed on.

    >>> choose(np.array([[0.5, 0.75, 0.625], [0.5, np.nan, np.nan]]), False)
    (1, 0.75, '3 of 3 values in 1 of 2 folds')
    """
    known = ~np.isnan(scores)
    (n_folds, n_values), folds, columns = scores.shape, known.all(axis=1), known.all(axis=0)
    if not whole and folds.sum() * n_values > columns.sum() * n_folds:
        columns[:] = True
    else:
        folds[:] = True
    if not (whole or columns.any()):
        raise KeyboardInterrupt
    mean = np.where(columns, scores[folds].mean(axis=0), -np.inf)
    best = int(np.argmax(mean))
    part = None if whole else f"{columns.sum()} of {n_values} values in {folds.sum()} of {n_folds} folds"
    return best, float(mean[best]), part


def _middles(numbers):
    """Return the middle of each run of consecutive numbers."""
    if not numbers.size:
        return numbers
    return np.array([run[run.size // 2] for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)])
