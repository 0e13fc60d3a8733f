"""Paths as the experiment notebooks measure them: data, the grid of lam, and processor time and
rates for each lam.

>>> import numpy as np, safescreen as ss
>>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
>>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
>>> grid = paper_grid(problem, ratio=0.5, n_lams=3)
>>> grid.lams.round(1).tolist(), grid.removable.tolist()
([2124.5, 1062.2, 531.1], [8, 7, 7])
>>> runs = measure(problem, {"none": {"screening": ()}, "PGB": {"screening": ("PGB",)}}, grid)
>>> runs.frame.groupby("method")["final_rate"].mean().round(2).to_dict()
{'PGB': 0.55, 'none': 0.0}
"""

import math
import time
from dataclasses import dataclass, field

import numpy as np

import safescreen as ss
from safescreen._checks import check_count, check_scalar
from safescreen.solvers.methods import check_method, policy_of, solver_of
from safescreen_book import datasets

K_OF_PAPER = {
    "segment": 20,
    "satimage": 15,
    "phishing": 7,
    "a9a": 5,
    "mnist": 5,
    "usps": 10,
    "madelon": 20,
    "gisette_valid": 15,
}
"""Neighbours of either kind in Tables 2 and 4 of STS19; all of them for the sets that are not
here.
"""


def whose(theirs, rtol, tol):
    """Return whose accuracy a run has: "paper" for the gap that STS19 prints, "program" for the gap
    of its authors' program, "own" if not `theirs`.

    >>> whose(True, 0.0, 1e-6), whose(True, 1e-6, 0.0)
    ('paper', 'program')
    >>> whose(True, 1e-4, 0.0), whose(False, 0.0, 1e-6)
    ('own', 'own')
    """
    return (
        {(0.0, 1e-6): "paper", (1e-6, 0.0): "program"}.get((rtol, tol), "own") if theirs else "own"
    )


def draw(name, fraction=1.0, seed=0, *, n_components=0, n_max=0):
    """Return ``(X, y)`` of a data set, dense: rows drawn at random, reduced to principal components
    if `n_components` is not 0.

    STS19 section 7 draws "90 %" of the rows. By the numbers of triplets in its Table 2 these are
    ``floor(0.9 n) + 1`` rows.

    Parameters
    ----------
    name : str
    fraction : float
        1 for all rows; otherwise ``floor(fraction n) + 1`` are drawn.
    seed : int
    n_components : int
        Principal components kept (of all rows, centered, not scaled); 0 keeps the features.
    n_max : int
        The largest number of rows; 0 for no limit.
    """
    X, y = datasets.load(name, next(iter(datasets.info(name).parts)), return_X_y=True)
    X = X.toarray() if hasattr(X, "toarray") else X
    if n_components:
        X = X - X.mean(axis=0)
        _, vectors = np.linalg.eigh(X.T @ X)
        X = np.ascontiguousarray(X @ vectors[:, : -n_components - 1 : -1])
    n = len(y)
    fraction = check_scalar(fraction, "fraction", low=0.0, high=1.0, open_low=True)
    rows = n if fraction == 1.0 else math.floor(fraction * n) + 1
    rows = min(rows, n_max or n, n)
    return datasets.subsample(X, y, rows / n, seed)


class TimedPolicy:
    """A policy for ``screening=`` that adds up the processor `seconds` of rules and of reducing the
    problem. It leaves every decision to another policy.
    """

    def __init__(self, policy):
        self.policy = policy
        self.seconds = 0.0

    @classmethod
    def of(cls, screening, prob):
        """Return the timed policy of what a user may ask for by ``screening=``."""
        method = check_method(algorithm(prob)["method"], prob)
        return cls(policy_of(screening, prob, solver_of(method, prob)))

    def tests(self, now, then, terms):
        """Ask the policy; the time is taken while its tests are used, one after the other."""
        tests = () if self.policy is None else self.policy.tests(now, then, terms)
        return self._timed(tests) if tests else ()

    def _timed(self, tests):
        started = time.process_time()
        try:
            yield from tests
        finally:
            self.seconds += time.process_time() - started


def algorithm(prob):
    """Return the options that make :func:`safescreen.solve` take the steps of STS19 Algorithm 1.

    They are projected gradient steps and need a smooth loss. For another loss, which the
    algorithm does not cover, the library chooses.
    """
    return {"method": "gradient" if prob.loss.gamma > 0.0 else "auto"}


@dataclass(frozen=True)
class LamGrid:
    """The lam of a path, the number of terms that can be screened at each of them, and the whole
    path from ``lam_max()`` on.

    `removable` counts the terms outside the quadratic piece of the loss at the solution: the
    denominator of the screening rate (STS19 section 7.1)."""

    lams: np.ndarray
    removable: np.ndarray
    path: ss.Path = field(repr=False)


def paper_grid(prob, ratio=0.9, n_lams=0, **options):
    """Return the :class:`LamGrid` of STS19 section 7.

    It is a part of the geometric sequence from ``prob.lam_max()``. It begins with the first lam at
    which a term is on the zero piece of the loss, and ends where the loss changes by less than 1 %
    relative to the step of lam.

    Parameters
    ----------
    prob : Problem
    ratio : float in (0, 1)
    n_lams : int
        The largest number of lam; 0 for no limit.
    **options
        For :func:`safescreen.path`: accuracy, and screening, which changes nothing but the time.
    """
    width = prob.loss.gamma
    counts = []
    zero = []

    def count(solution):
        margins = prob.terms.margins(solution.x)
        counts.append(int(np.count_nonzero((margins > 1.0) | (margins < 1.0 - width))))
        zero.append(bool((margins > 1.0).any()))
        return n_lams and sum(zero) >= n_lams

    path = ss.path(
        prob, ratio=ratio, keep_masks=False, callback=count, **{"max_lams": 20_000, **options}
    )
    if path.reason == "not converged":
        raise ValueError(
            "prob must reach the gap asked for at every lam of the paper's grid, and did not at "
            f"lam={path.lams[-1]:g}"
        )
    if True not in zero or path.reason == "length":
        found = "a path without end" if True in zero else "none"
        raise ValueError(
            "prob must have a term on the zero piece of the loss somewhere on its path, "
            f"found {found} at {len(zero)} lam"
        )
    start = zero.index(True)
    return LamGrid(path.lams[start:], np.array(counts[start:]), path)


@dataclass(frozen=True)
class Runs:
    """The results of :func:`measure`: a row for each method, repeat and lam, and by method the
    paths of the first repeat.

    Columns: method, repeat, lam, seconds (of the processor, everything for this lam), n_iter,
    path_rate, final_rate, primal, gap, converged."""

    frame: object
    paths: dict = field(repr=False)


def measure(prob, methods, grid, *, repeats=1, warm=8, **options):
    """Solve along a grid with each method and record, for each lam, processor time and screening
    rates, as :class:`Runs`.

    The methods take turns. Each is first run over a few lam to compile, without a record. Each
    solve starts from the last solution, as in STS19 section 7.

    Parameters
    ----------
    prob : Problem
    methods : dict of dict
        By name, options for :func:`safescreen.path`; ``"prob"`` among them stands for another
        problem with the same solutions.
    grid : LamGrid
    repeats, warm : int
        The number of timings of each method, and the number of lam of the first run; 0 for no first
        run.
    **options
        For all paths. Their steps are those of :func:`algorithm` unless it says otherwise.
    """
    import pandas as pd

    def solve(name, lams):
        chosen = {
            "prob": prob,
            "keep_masks": False,
            "extrapolate": False,
            **algorithm(prob),
            **options,
            **methods[name],
        }
        clock = [time.process_time()]
        path = ss.path(
            lams=lams, callback=lambda solution: clock.append(time.process_time()), **chosen
        )
        return path, np.diff(clock)

    for name in methods if warm else ():
        solve(name, grid.lams[:: max(1, len(grid.lams) // warm)])
    frames = []
    paths = {}
    for repeat in range(check_count(repeats, "repeats")):
        for name in methods:
            path, seconds = solve(name, grid.lams)
            paths.setdefault(name, path)
            frame = path.to_frame()
            removable = np.maximum(grid.removable, 1)
            last = [solution.history[-1] for solution in path]
            rates = {
                "path_rate": frame["path_rate"] * len(prob) / removable,
                "final_rate": [now.n_L + now.n_R for now in last] / removable,
            }
            frame = frame.assign(method=name, repeat=repeat, seconds=seconds, **rates)
            frames.append(
                frame[
                    [
                        "method",
                        "repeat",
                        "lam",
                        "seconds",
                        "n_iter",
                        "path_rate",
                        "final_rate",
                        "primal",
                        "gap",
                        "converged",
                    ]
                ]
            )
    return Runs(pd.concat(frames, ignore_index=True), paths)


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
