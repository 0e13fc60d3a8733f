"""Paths of several methods on one grid, with the processor time of each lam and of its rules."""

import time
from dataclasses import dataclass, field

import numpy as np

import safescreen as ss
from safescreen._checks import check_count
from safescreen.solvers.methods import check_method, policy_of, solver_of
from safescreen_book.protocols.path_runs.grids import algorithm


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
