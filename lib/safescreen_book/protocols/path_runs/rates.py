"""What the timed paths say: ratios of seconds, whether the optima agree, rates and counts."""

import numpy as np


def cpu_ratios(frame, baseline="none"):
    """Return the processor seconds of each method divided by those of a baseline, as medians over
    repeats. The rows are decreasing lam.
    """
    seconds = (
        frame.groupby(["lam", "method"], sort=False)["seconds"]
        .median()
        .unstack()
        .sort_index(ascending=False)
    )
    return seconds.div(seconds[baseline], axis=0).drop(columns=baseline)[
        [m for m in frame["method"].unique() if m != baseline]
    ]


def same_optimum(frame, rtol, tol):
    """Return whether the solutions of each draw and lam reached the wanted gap and agree to within
    their gaps, and a note on it.
    """
    objective = frame.groupby(["draw", "lam"])["primal"]
    short = int((~frame["converged"]).sum())
    spread = float((objective.max() / objective.min() - 1.0).max())
    # the rounding of long sums
    holds = not short and spread <= 2.0 * max(rtol, tol / frame["primal"].min()) + 1e-10
    return (
        holds,
        f"largest relative difference {spread:.1e}; {short} of {len(frame)} solves did not reach "
        "the gap asked for",
    )


def dynamic_rates(path, removable, freq=10):
    """Return the screening rate during the solves of a path, with a row for each round of screening
    and a column for each lam.

    Row 0 is the rate before the first iteration, after screening from the last solution. Row r is
    the rate after dynamic screening at iteration ``freq (r - 1)``, with the freq of the path. After
    the last round of a lam the entries are NaN. `removable` is that of the :class:`LamGrid`.
    """
    columns = []
    for solution, most in zip(path, removable, strict=True):
        rounds = {0: solution.history[0].n_L + solution.history[0].n_R}
        # a state is recorded before the screening of its iteration
        for state in solution.history[1:]:
            rounds[1 + (state.iteration - 1) // freq] = state.n_L + state.n_R
        column = np.full(max(rounds) + 1, np.nan)
        for number, screened in sorted(rounds.items()):
            column[number:] = screened / max(most, 1)
        columns.append(column)
    out = np.full((max(map(len, columns)), len(columns)), np.nan)
    for place, column in enumerate(columns):
        out[: len(column), place] = column
    return out


def range_counts(ranges, lams):
    """Return how many terms have their range around each of m decreasing lam, in O(T log m).

    >>> import numpy as np, safescreen as ss
    >>> none = np.full(2, np.nan)
    >>> ranges = ss.ranges.Ranges(none, none, np.array([1.0, 2.0]), np.array([4.0, np.inf]))
    >>> range_counts(ranges, np.array([5.0, 3.0, 1.0]))
    array([1, 2, 0])
    """
    rising = np.asarray(lams, dtype=float)[::-1]
    steps = np.zeros(rising.size + 1, dtype=np.int64)
    for low, high in ((ranges.L_low, ranges.L_high), (ranges.R_low, ranges.R_high)):
        known = ~np.isnan(low)
        first = np.searchsorted(rising, low[known], side="right")
        last = np.maximum(np.searchsorted(rising, high[known], side="left"), first)
        steps += np.bincount(first, minlength=steps.size) - np.bincount(last, minlength=steps.size)
    return np.cumsum(steps)[-2::-1]
