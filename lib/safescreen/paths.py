"""Regularization paths: a problem for a decreasing sequence of lam, each solution screening for the next."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from safescreen._checks import check_scalar, check_vector
from safescreen._numba import njit
from safescreen.ranges.path import lower_end_kernel
from safescreen.rounding import norm_upper
from safescreen.solvers.projected_gradient import Descent
from safescreen.solvers.reduction import Reduction, parse_screening, reference
from safescreen.solvers.solve import accuracy_of, accuracy_slack, check_freq, check_limits, check_problem, run, warn_if_not_converged
from safescreen.spheres import PathReference

__all__ = ["Path", "path"]

KEEP_BELOW = 100_000
"""Paths over at most so many terms keep the screened masks of every solution."""

BLOCK = 1 << 17
"""How many terms have their ranges renewed at a time."""


@dataclass(frozen=True)
class Path(Sequence):
    """Solutions along a path, in the order they were solved.

    Attributes
    ----------
    solutions : list of Solution
    path_rates : list of float
        For each lam the fraction of terms that was screened before its first iteration.
    stop_reason : str
        ``"grid"`` (all given lam solved), ``"paper"`` (the stopping rule), ``"length"`` or ``"interrupted"``.
    """

    solutions: list
    path_rates: list = field(repr=False)
    stop_reason: str

    def __len__(self):
        return len(self.solutions)

    def __getitem__(self, item):
        return self.solutions[item]

    @property
    def lams(self):
        """Regularization parameters, shape (len,)."""
        return np.array([s.lam for s in self.solutions])

    def to_frame(self):
        """Return a pandas DataFrame, a row a lam.

        Columns: lam, primal, loss, gap, n_iter, n_L, n_R, screening_rate, converged, path_rate, seconds.
        """
        import pandas as pd

        columns = ("lam", "primal", "loss", "gap", "n_iter", "n_L", "n_R", "screening_rate", "converged")
        frame = pd.DataFrame({name: [getattr(s, name) for s in self.solutions] for name in columns})
        frame["path_rate"] = self.path_rates
        frame["seconds"] = [s.history[-1].seconds if s.history else 0.0 for s in self.solutions]
        return frame


def path(
    prob,
    lams=None,
    ratio=0.9,
    tol=1e-6,
    rtol=0.0,
    screening=("RRPB", "PGB"),
    ranges=False,
    active_set=False,
    stop="paper",
    freq=10,
    max_iter=10_000,
    max_lams=1000,
    extrapolate=True,
    keep_masks=None,
    callback=None,
    progress=False,
):
    """Solve a problem for a decreasing sequence of lam with warm starts and screening (STS19 Algorithm 2).

    Parameters
    ----------
    prob : Problem
    lams : array, optional
        Strictly decreasing regularization parameters: exactly these are solved. Left out: ``lam_max()`` and on by factors of `ratio`.
    ratio : float in (0, 1)
    tol, rtol, freq, active_set, max_iter
        As in :func:`safescreen.solve`, for every lam.
    screening : tuple of str
        Spheres; each is used before the first iteration with the last solution as its reference (RRPB as a path bound, STS19
        Theorem 6), and again
        every `freq` iterations with the iterate.
    ranges : bool
        Keep, for each term, the range of lam in which it is certain (STS19 Theorem 10): no rule is evaluated for it in that range.
    stop : {"paper", None}
        Without `lams`: end when the loss changes by less than 1 % relative to the step of lam (STS19 section 7), or only after `max_lams`.
    extrapolate : bool
        Start from the line through the last two solutions instead of the last one.
    keep_masks : bool, optional
        Keep ``Solution.screened`` of each solution, 2 bits a term; left out: for at most 100 000 terms.
    callback : callable, optional
        ``callback(solution)`` after each lam; returning a true value ends the path.
    progress : bool
        Show a progress bar where there is a terminal.

    Returns
    -------
    Path
        Ctrl-C ends the path and returns the solutions so far, with a warning.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> solutions = path(ss.Problem(triplets, ss.SmoothedHinge(0.05)), lams=[800.0, 400.0, 200.0])
    >>> [s.converged for s in solutions]
    [True, True, True]
    """
    prob = check_problem(prob)
    limits = check_limits(tol, rtol, max_iter)
    freq = check_freq(freq)
    families = parse_screening(screening)
    if stop not in ("paper", None):
        raise ValueError(f"stop must be 'paper' or None, got {stop!r}")
    if ranges and not prob.terms.explicit:
        raise ValueError("ranges=True needs explicit terms; these are screened in blocks")
    grid = _grid(prob, lams, check_scalar(ratio, "ratio", low=0.0, high=1.0, open_low=True), max_lams)
    walk = _Walk(prob, limits, families, freq, bool(active_set), bool(ranges), bool(extrapolate))
    walk.keep_masks = len(prob) <= KEEP_BELOW if keep_masks is None else bool(keep_masks)
    solutions, rates, reason = [], [], "grid" if lams is not None else "length"
    try:
        for lam in _bar(grid, progress):
            solution, rate = walk.step(float(lam))
            warn_if_not_converged(solution, limits)
            solutions.append(solution)
            rates.append(rate)
            if callback is not None and callback(solution):
                reason = "callback"
                break
            if lams is None and stop == "paper" and _settled(solutions):
                reason = "paper"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
        warnings.warn(f"path interrupted: {len(solutions)} of its solutions are returned", RuntimeWarning, stacklevel=2)
    return Path(solutions, rates, reason)


class _Walk:
    """One path: what is carried from lam to lam."""

    def __init__(self, prob, limits, families, freq, active_set, ranges, extrapolate):
        self.prob, self.limits, self.families, self.freq = prob, limits, families, freq
        self.active_set, self.extrapolate = active_set, extrapolate
        self.last = self.before = self.sums = None
        self.ranges = _RangeBook(prob) if ranges else None
        self.keep_masks = True

    def step(self, lam):
        """Solve for the next lam; return its solution and the rate of screening before the first iteration."""
        prob = self.prob
        if self.last is None:
            reduction, state, alpha = Reduction(prob), Descent(prob.cone.zeros()), None
        else:
            problem, sums = self.sums
            here = problem.assemble(sums, self.last.x, lam)  # the last solution, judged for the new lam
            reduction = self._screened_before(here)
            state = self._start(here, reduction)
            alpha = self.last.fractional.unpack() if self.last.fractional is not None else None
        rate = (reduction.n_L + reduction.n_R) / len(prob)
        options = (self.limits, self.families, self.freq, self.active_set, None)
        solution, self.sums = run(reduction, lam, state, *options, alpha=alpha, keep_masks=self.keep_masks)
        self.before, self.last = self.last, solution
        return solution, rate

    def _screened_before(self, here):
        last, lam = self.last, here.lam
        near = PathReference(x0=last.x, eps=last.eps, lam0=last.lam)
        slack = accuracy_slack(here, self.limits)
        if not self.ranges:
            reduction = Reduction(self.prob)
            reduction.screen(self.families, reference(here, near), slack)
            return reduction
        reduction = self.ranges.reduction(last, lam, self.limits)
        # what the path bound certifies is known from the ranges already
        reduction.screen([f for f in self.families if not f[0].uses_path], reference(here), slack)
        return reduction

    def _start(self, here, reduction):
        """Return where to start: the line through the last two solutions, or the last one if that is no better."""
        last, before, lam = self.last, self.before, here.lam
        if self.extrapolate and before is not None:
            factor = (lam - last.lam) / (last.lam - before.lam)
            ahead = self.prob.cone.project(last.x + factor * (last.x - before.x))
            evaluation = reduction.problem.evaluate(ahead, lam)
            if evaluation.gap < here.gap:
                return Descent(ahead, last.step, evaluation=evaluation)
        return Descent(last.x, last.step)


class _RangeBook:
    """For each term its certain category, and down to which lam that holds; terms are looked at again only when it ends.

    Ranges are computed for an accuracy of the reference enlarged by the accuracy of the solutions to come, which needs no more
    than a factor
    ``lam0/lam`` at a later lam as long as the objective falls along the path.
    """

    def __init__(self, prob):
        self.prob = prob
        self.category = np.zeros(len(prob), dtype=np.int8)
        self.until = np.full(len(prob), np.inf, dtype=np.float32)
        self.tally = prob.terms.tally()
        self.counts = np.zeros(2, dtype=np.int64)

    def reduction(self, last, lam, limits):
        """Return the reduction for lam; ranges that have run out are computed anew from the last solution."""
        prob = self.prob
        slack = accuracy_of(limits, last.primal, last.lam)
        products, m = prob.terms.inner_products(last.x), norm_upper(last.x)
        near = m, last.eps + slack, last.lam
        left = [self._renew(start, lam, products, near) for start in range(0, len(prob), BLOCK)]
        left = np.concatenate(left)
        total, error = self.tally.total()
        height = self._height() - 0.5 * prob.loss.gamma * int(self.counts[0])
        problem = prob.with_linear_part(prob.terms.take(left), total, error, height)
        known = self.category, (int(self.counts[0]), int(self.counts[1])), slack * last.lam / lam
        return Reduction.resume(prob, problem, left, *known)

    def _renew(self, start, lam, products, near):
        """Look again at a block of terms; return the numbers of those that are undecided."""
        out = np.flatnonzero(self.until[start : start + BLOCK] >= lam).astype(np.int32)
        if out.size == 0:
            return out
        out += start
        terms, gamma = self.prob.terms, self.prob.loss.gamma
        high = np.atleast_1d(np.asarray(terms.threshold, dtype=float))
        high = high if high.size == 1 else high[out]
        L_low, R_low = np.empty(out.size), np.empty(out.size)
        thresholds = high - gamma, high, int(high.size > 1)
        lower_end_kernel(*products.at(out), terms.norms[out], *near, *thresholds, L_low, R_low)
        removed, added, left = (np.empty(out.size, dtype=np.int32) for _ in range(3))
        state = self.category, self.until, self.counts
        sizes = _renew(out, L_low, R_low, lam, *state, removed, added, left)
        self.tally.remove(removed[: sizes[0]])
        self.tally.add(added[: sizes[1]])
        return left[: sizes[2]]

    def _height(self):
        tau = self.prob.terms.threshold
        return float(tau) * int(self.counts[0]) if np.ndim(tau) == 0 else float(np.sum(tau[self.category == 1]))


@njit
def _renew(out, L_low, R_low, lam, category, until, counts, removed, added, left):
    """Write new categories and the ends of their ranges; return how many terms leave L, enter L, and stay undecided."""
    n_removed, n_added, n_left = 0, 0, 0
    for n in range(out.size):
        t = out[n]
        old, new, low = category[t], 0, np.inf
        if L_low[n] < lam:  # NaN, an empty range, compares false
            new, low = 1, L_low[n]
        elif R_low[n] < lam:
            new, low = 2, R_low[n]
        else:
            left[n_left] = t
            n_left += 1
        if old != 0:
            counts[old - 1] -= 1
        if new != 0:
            counts[new - 1] += 1
        if old == 1 and new != 1:
            removed[n_removed] = t
            n_removed += 1
        elif new == 1 and old != 1:
            added[n_added] = t
            n_added += 1
        category[t] = new
        until[t] = np.float32(low * (1.0 + 1e-6))  # rounded up: a range may only end early
    return n_removed, n_added, n_left


def _grid(prob, lams, ratio, max_lams):
    if lams is not None:
        lams = np.asarray(lams)
        lams = check_vector(lams, lams.size, "lams")
        if lams.size == 0:
            raise ValueError("lams must hold at least one value, got none")
        if lams.min() <= 0.0:
            raise ValueError(f"lams must be positive, found {lams.min():g}")
        if (np.diff(lams) >= 0.0).any():
            raise ValueError("lams must be strictly decreasing")
        return lams
    if ratio >= 1.0:
        raise ValueError(f"ratio must be less than 1, got {ratio:g}")
    start = prob.lam_max()
    if not 0.0 < start < np.inf:
        raise ValueError(f"lams must be given: lam_max() of this problem is {start:g}")
    return start * ratio ** np.arange(max_lams)


def _settled(solutions):
    if len(solutions) < 2:
        return False
    before, now = solutions[-2], solutions[-1]
    if before.loss <= 0.0:
        return True
    change = (before.loss - now.loss) / before.loss * before.lam / (before.lam - now.lam)
    return change < 0.01


def _bar(grid, progress):
    if not progress:
        return grid
    from tqdm import tqdm

    return tqdm(grid, desc="path", unit="lam", disable=None)
