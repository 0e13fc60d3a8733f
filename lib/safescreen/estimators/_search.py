"""The best of a grid of values by cross-validation, without computing the score of those that provably do not have it."""

import numpy as np

__all__ = ["Scores", "search"]


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
