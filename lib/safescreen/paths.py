"""Regularization paths: a problem is solved for a decreasing sequence of lam, and each solution
screens terms for the next lam.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_callback, check_count, check_flag, check_grid, check_scalar
from safescreen._progress import progress_bar
from safescreen._threads import with_small_blas
from safescreen._warnings import warn
from safescreen.problem import Evaluation, Problem, check_problem
from safescreen.records import ConvergenceWarning, Progress
from safescreen.solvers.drive import drive, finished
from safescreen.solvers.methods import set_up, with_screening
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction, reference
from safescreen.solvers.setup import Policy, Setup
from safescreen.solvers.solution import Solution
from safescreen.solvers.solve import shortfall, solution_of
from safescreen.solvers.state import Look, Neighbour, State
from safescreen.spheres import relaxed_path_bound
from safescreen.spheres.base import PathReference

__all__ = ["Path", "path"]

KEEP_BELOW = 100_000
"""Paths over at most this many terms keep the screened masks of every solution."""

FIRST_RATIO = 0.8
"""With ``ranges=True``, terms are certified together for a stretch of lam. This is the end of the
first stretch divided by its first lam.
"""

ENOUGH = 0.8
"""A stretch that certifies less than this fraction of the terms makes the next stretch shorter."""

PLENTY = 0.92
"""A stretch that certifies more than this fraction of the terms makes the next stretch longer."""


@dataclass(frozen=True)
class Path(Sequence):
    """Solutions along a path, in the order in which they were computed.

    Attributes
    ----------
    solutions : list of Solution
        The last solution may not have reached the tolerance, see ``Solution.converged``.
    path_rates : list of float
        For each lam the fraction of terms that was screened before its first iteration.
    reason : str
        Why the path ends: ``"grid"`` (all given lam are solved), ``"paper"`` (the stopping rule),
        ``"length"`` (`max_lams`), ``"not converged"`` (the last solve did not reach the tolerance),
        ``"time"`` (`max_seconds`; the last solution is the best point so far), ``"callback"`` or
        ``"interrupted"``.
    """

    solutions: list[Solution]
    path_rates: list[float]
    reason: str

    @property
    def stop_reason(self) -> str:
        """Former name of `reason`."""
        return self.reason

    def __repr__(self) -> str:
        return f"Path({', '.join(self._facts())}, reason={self.reason!r})"

    def _facts(self):
        """Return texts with the number of solutions, the first and the last lam, and the number of
        converged solutions.
        """
        if not self.solutions:
            return ["0 solutions"]
        first = self.solutions[0].lam
        last = self.solutions[-1].lam
        converged = sum(solution.converged for solution in self.solutions)
        return [
            f"{len(self)} solutions",
            f"lam {first:.4g} to {last:.4g}",
            f"{converged} converged",
        ]

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, item: Any) -> Any:
        return self.solutions[item]

    def without_problem(self) -> Self:
        """Return the same path with solutions that do not hold their problem and its data."""
        return replace(self, solutions=[s.without_problem() for s in self.solutions])

    @property
    def lams(self) -> NDArray:
        """Regularization parameters, shape (len,)."""
        return np.array([s.lam for s in self.solutions])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per lam.

        Columns: lam, primal, loss, gap, n_iter, n_L, n_R, screening_rate, converged, path_rate,
        seconds."""
        import pandas as pd

        columns = (
            "lam",
            "primal",
            "loss",
            "gap",
            "n_iter",
            "n_L",
            "n_R",
            "screening_rate",
            "converged",
        )
        frame = pd.DataFrame({name: [getattr(s, name) for s in self.solutions] for name in columns})
        frame["path_rate"] = self.path_rates
        frame["seconds"] = [s.history[-1].seconds if s.history else 0.0 for s in self.solutions]
        return frame


@with_small_blas
def path(
    prob: Problem,
    lams: ArrayLike | Callable[[list[Solution]], float | None] | None = None,
    ratio: float = 0.9,
    tol: float | None = None,
    rtol: float | None = None,
    screening: str | Iterable[str] | Policy = "auto",
    dynamic: str | Iterable[str] | Policy | None = None,
    ranges: bool = False,
    active_set: bool = False,
    stop: str | None = "paper",
    freq: int = 10,
    max_iter: int = 10_000,
    max_lams: int = 1000,
    extrapolate: bool = True,
    keep_masks: bool | None = None,
    callback: Callable[[Progress], Any] | None = None,
    progress: bool = False,
    method: str = "auto",
    max_seconds: float | None = None,
) -> Path:
    """Solve a problem for a decreasing sequence of lam with warm starts and screening (STS19
    Algorithm 2).

    Parameters
    ----------
    prob : Problem
    lams : array or callable, optional
        Strictly decreasing. The path solves for exactly these, whether a solve reaches its
        tolerance or not. A function gets the solutions so far and returns the next lam, or None to
        end the path. Without `lams` the path begins at ``lam_max()`` and multiplies lam by `ratio`
        each time. It ends at the latest with the first solve that does not reach its tolerance.
    ratio : float in (0, 1)
        Each lam of a path without `lams` divided by the previous lam.
    tol, rtol : float >= 0, optional
        As in :func:`safescreen.solve`, for every lam: the gap is at most ``max(tol, rtol |P|)``. If
        one of them is left out it counts as 0. If both are left out, ``rtol`` is 1e-6.
    screening : "auto" or tuple of str
        As for :func:`safescreen.solve`. A named sphere screens before the first iteration, with the
        last solution as its reference (RRPB is then the path bound of STS19 Theorem 6). During the
        solve it screens again, with the iterate as its reference.
    dynamic : "auto" or tuple of str, optional
        How to screen during a solve, if this differs from `screening`; ``()`` screens only before
        the solve.
    ranges : bool
        Certify terms for whole stretches of the path with the range of RRPB (STS19 Theorem 10):
        inside a stretch no rule is evaluated for the certified terms.
    active_set : bool
        As in :func:`safescreen.solve`.
    stop : {"paper", None}
        When a path without `lams` ends: with "paper" when the loss changes by less than 1 %
        relative to the step of lam (STS19 section 7), with None only after `max_lams`.
    freq, max_iter
        As in :func:`safescreen.solve`.
    max_lams : int
        Largest length of a path without `lams`.
    extrapolate : bool
        Start from a point on the line through the last two solutions instead of the last solution,
        if this point has a smaller gap.
    keep_masks : bool, optional
        Keep ``Solution.screened`` of each solution, 2 bits for each term. If left out, masks are
        kept for at most 100 000 terms.
    callback : callable, optional
        ``callback(progress)`` after each lam, with a :class:`~safescreen.solvers.Progress` that
        holds the solution. A true return value ends the path.
    progress : bool
        Show a progress bar on a terminal.
    method : str
        As in :func:`safescreen.solve`.
    max_seconds : float, optional
        End the path with the first iteration after this many seconds.

    Returns
    -------
    Path
        Its ``reason`` says why it ends. Ctrl-C ends the path with a warning; the solutions so far
        are returned.

    Warns
    -----
    ConvergenceWarning
        Given once if a solve did not reach the tolerance. The message says at which lam the path
        ended or, with `lams`, how many solves did not reach it.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> solutions = path(ss.Problem(triplets, ss.SmoothedHinge(0.05)), lams=[800.0, 400.0, 200.0])
    >>> [s.converged for s in solutions]
    [True, True, True]
    """
    started = time.perf_counter()
    walk = begin_path(
        prob,
        dynamic=dynamic,
        ranges=ranges,
        extrapolate=extrapolate,
        keep_masks=keep_masks,
        freq=freq,
        tol=tol,
        rtol=rtol,
        max_iter=max_iter,
        max_seconds=max_seconds,
        method=method,
        screening=screening,
        active_set=active_set,
    )
    limits = walk.setup.limits
    callback = check_callback(callback)
    progress = check_flag(progress, "progress")
    max_lams = check_count(max_lams, "max_lams")
    if stop is not None and not (isinstance(stop, str) and stop == "paper"):
        raise ValueError(f"stop must be 'paper' or None, got {stop!r}")
    solutions, rates = [], []
    reason = "length" if lams is None else "grid"
    if callable(lams):
        grid = _called(lams, solutions)
        n_grid = None
    else:
        ratio = check_scalar(ratio, "ratio", low=0.0, high=1.0, open_low=True)
        grid = _grid(walk.prob, lams, ratio, max_lams)
        n_grid = len(grid)
    try:
        with progress_bar(progress, "path", total=n_grid, unit="lam") as bar:
            for lam in grid:
                seconds_left = limits.max_seconds - (time.perf_counter() - started)
                solution, rate = walk.step(float(lam), seconds_left)
                solutions.append(solution)
                rates.append(rate)
                bar.update()
                seconds = time.perf_counter() - started
                if callback is not None and callback(_progress(solutions, seconds)):
                    reason = "callback"
                    break
                if solution.reason == "time":
                    reason = "time"
                    break
                if lams is None and not solution.converged:
                    reason = "not converged"
                    break
                if lams is None and stop == "paper" and _settled(solutions):
                    reason = "paper"
                    break
    except KeyboardInterrupt:
        reason = "interrupted"
        warn(f"path interrupted: {len(solutions)} of its solutions are returned", RuntimeWarning)
    solved = Path(solutions, rates, reason)
    _warn_if_not_converged(solved, limits)
    return solved


def begin_path(
    prob: Problem,
    *,
    dynamic: str | Iterable[str] | Policy | None = None,
    ranges: bool = False,
    extrapolate: bool = True,
    keep_masks: bool | None = None,
    freq: int = 10,
    **options: Any,
) -> _Walk:
    """Return an object that solves a problem for one lam after another. Each lam is smaller than
    the previous lam.

    The parameters are the same as in :func:`path`.
    """
    prob = check_problem(prob)
    setup = set_up(prob, freq=freq, **options)
    before = setup.policy
    if dynamic is not None:
        setup = with_screening(setup, dynamic, prob, freq, "dynamic")
    ranges = check_flag(ranges, "ranges")
    if keep_masks is None:
        keep_masks = len(prob) <= KEEP_BELOW
    keep_masks = check_flag(keep_masks, "keep_masks")
    if ranges:
        prob.terms.require("singles", by="ranges=True")
        prob.terms.regions(prob.loss)  # a TypeError with a free intercept
    return _Walk(
        prob=prob,
        setup=setup,
        before=before,
        ranges=ranges,
        extrapolate=check_flag(extrapolate, "extrapolate"),
        keep_masks=keep_masks,
    )


def _warn_if_not_converged(solved, limits):
    """Give one warning for all solutions of a path that have not reached the tolerance."""
    short = [solution for solution in solved if not solution.converged]
    if not short:
        return
    text = (
        f"{len(short)} of {len(solved)} solves of the path did not converge, the first at "
        f"{shortfall(short[0], limits)}"
    )
    if solved.reason == "not converged":
        text = (
            f"the path ends with solve {len(solved)}, which did not converge at "
            f"{shortfall(short[0], limits)}"
        )
    warn(f"{text}: take a larger tol, rtol or max_iter", ConvergenceWarning)


@dataclass
class _Walk:
    """A path that is being solved: its options, and the final states for the last lam and for the
    lam before it.
    """

    prob: Problem
    setup: Setup
    before: Policy | None
    ranges: bool = False
    extrapolate: bool = True
    keep_masks: bool = True
    state: State | None = None
    earlier: State | None = None

    def __post_init__(self):
        self.ahead = _Ahead(self.prob) if self.ranges else None

    def step(self, lam: float, seconds_left: float = np.inf) -> tuple[Solution, float]:
        """Solve for the next lam. Return the solution, and the screening rate before its first
        iteration.
        """
        limits = replace(self.setup.limits, max_seconds=seconds_left)
        setup = replace(self.setup, limits=limits)
        if self.state is None:
            reduction = Reduction(self.prob)
            start = State.begin(Point(self.prob.cone.zeros()), lam, limits)
        else:
            reduction, start = self._following(self.state, lam, limits)
        rate = (reduction.n_L + reduction.n_R) / len(self.prob)
        state = finished(reduction, drive(reduction, setup, start), setup)
        solution = solution_of(reduction, state, self.keep_masks)
        # a caller may change what it is given
        solution = replace(solution, x=copy.copy(solution.x))
        self.earlier, self.state = self.state, state
        return solution, rate

    @property
    def evaluation(self) -> Any:
        """The evaluation of the problem at the last solution; None if terms were screened."""
        last: Any = self.state
        return last.evaluation if last.problem is self.prob else None

    def _following(self, last, lam, limits):
        """Return the reduction of the problem for the next lam after screening with the last
        solution, and the start of the solve.
        """
        at_last = last.problem.assemble(last.evaluation.sums, last.evaluation.x, lam)
        reduction = self.screened_before(last, at_last)
        n_iter = last.n_iter
        solver = last.point.solver
        if not n_iter:  # a solve without an iteration tells nothing about the solver
            n_iter = last.neighbour.n_iter
            solver = last.neighbour.solver
        is_same = self.before is not None and self.before == self.setup.policy
        start = State.begin(
            self._start(reduction, last, at_last),
            lam,
            limits,
            neighbour=Neighbour(last.lam, at_last.dual, n_iter, solver),
            screened=Look(at_last.gap) if is_same else Look(),
        )
        return reduction, start

    def screened_before(self, last: State, at_last: Evaluation) -> Reduction:
        """Return the reduction of the problem after screening with the last solution as
        reference.
        """
        if self.ahead is None:
            linear = last.problem.linear  # includes terms that were linear for the last lam
            reduction = Reduction(self.prob, () if linear is None else (linear,))
        else:
            reduction = self.ahead.reduction(last, at_last.lam, self.setup.limits)
        if self.before is not None:
            near = PathReference(x0=last.evaluation.x, eps=last.eps, lam0=last.lam)
            tests = self.before.tests(Look(at_last.gap, 0), Look(), reduction.problem.terms)
            enlargement = self.setup.limits.enlargement(at_last)
            reduction.screen(tests, reference(at_last, near), enlargement)
        return reduction

    def _start(self, reduction, last, at_last):
        """Return the start of a solve: a point on the line through the last two solutions, or the
        last solution if this point is not better.
        """
        alpha = None
        is_kinked = self.prob.loss.smoothing == 0.0
        if is_kinked and last.best_dual is not None and self.prob.terms.explicit:
            alpha = reduction.restrict(last.best_dual.unpack())
        x = last.evaluation.x
        point = Point(x, alpha=alpha, step=last.point.step)
        starts_from_alpha = self.setup.starts_from_alpha and last.best_dual is not None
        if not self.extrapolate or self.earlier is None or starts_from_alpha:
            return point
        factor = (at_last.lam - last.lam) / (last.lam - self.earlier.lam)
        x_ahead = self.prob.cone.project(x + factor * (x - self.earlier.evaluation.x))
        ahead = reduction.problem.evaluate(x_ahead, at_last.lam)
        return point._replace(x=x_ahead, evaluation=ahead) if ahead.gap < at_last.gap else point


class _Ahead:
    """Terms that are certain for a whole stretch of the path (STS19 Theorem 10), so that no rule is
    evaluated for them in the stretch.

    The rule of RRPB, multiplied by lam, is linear in lam below lam0, and positive at lam0 if it is
    positive at a smaller lam. So one pass with the ball for the end of the stretch certifies its
    terms for every lam in between. The eps of the reference is enlarged by the accuracy of the
    later solutions. The enlargement grows by ``lam0/lam`` in the ball; the accuracy shrinks along
    the path as long as the objective falls.
    """

    def __init__(self, prob):
        self.prob = prob
        self.base = None
        self.start = np.inf
        self.end = np.inf
        self.ratio = FIRST_RATIO

    def reduction(self, last, lam, limits):
        """Return the reduction to use at lam: it screens the terms that are certain on the current
        stretch of the path. A new stretch begins where the last one ends.
        """
        if lam < self.end:
            enlargement = limits.accuracy(last.evaluation.primal, last.lam)
            self.start = last.lam
            self.end = self.ratio * lam
            self.base = Reduction(self.prob)
            if last.eps + enlargement < np.inf:
                eps = last.eps + enlargement
                ball = relaxed_path_bound(last.evaluation.x, eps, last.lam, self.end)
                self.base.apply(ball)
            self.base.enlargement = enlargement
            rate = (self.base.n_L + self.base.n_R) / len(self.prob)
            if rate < ENOUGH:
                self.ratio = min(self.ratio**0.5, 0.97)
            elif rate > PLENTY:
                self.ratio = max(self.ratio**1.5, 0.3)
        reduction = self.base.copy()
        reduction.enlargement *= self.start / lam
        return reduction


def _called(following, solutions):
    """Yield the lam that a function of the solutions so far returns, until it returns None."""
    shown = []
    while True:
        shown.extend(map(_copied, solutions[len(shown) :]))
        lam = following(list(shown))
        if lam is None:
            return
        lam = check_scalar(lam, "lams(solutions)", low=0.0, open_low=True)
        if solutions and lam >= solutions[-1].lam:
            raise ValueError(
                f"lams must be strictly decreasing, got {lam:g} after {solutions[-1].lam:g}"
            )
        yield lam


def _grid(prob, lams, ratio, max_lams):
    if lams is not None:
        lams = check_grid(lams, "lams", falling=True)
        prob.check_reach(float(lams[-1]))
        return lams
    if ratio >= 1.0:
        raise ValueError(f"ratio must be less than 1, got {ratio:g}")
    start = prob.lam_max()
    if not 0.0 < start < np.inf:
        raise ValueError(f"lams must be given, because lam_max() of this problem is {start:g}")
    return start * ratio ** np.arange(max_lams)


def _copied(solution):
    """Return a copy of a solution that the user may change."""
    return replace(solution, x=copy.copy(solution.x), history=list(solution.history))


def _settled(solutions):
    if len(solutions) < 2:
        return False
    before, now = solutions[-2], solutions[-1]
    if before.loss <= 0.0:
        return True
    change = (before.loss - now.loss) / before.loss * before.lam / (before.lam - now.lam)
    return change < 0.01


def _progress(solutions, seconds):
    last = solutions[-1]
    return Progress(
        iteration=len(solutions),
        x=copy.copy(last.x),
        primal=last.primal,
        gap=last.gap,
        n_terms=len(last.problem) - last.n_L - last.n_R,
        n_L=last.n_L,
        n_R=last.n_R,
        seconds=seconds,
        lam=last.lam,
        solution=_copied(last),
    )
