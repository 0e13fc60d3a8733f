"""When to screen, and with which ball: as asked for, or as counted operations say.

A pass of screening costs operations now and saves some in every iteration that is left. The cost is
counted; how many iterations are left follows from how fast the gap has fallen so far, or from the
neighbouring lam; how much a ball would save is seen on a sample of the terms. No clock is read: the
same input makes the same decisions on any machine."""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from safescreen.problem import Evaluation, Problem
from safescreen.solvers.reduction import Reduction, Test, parse_screening, reference
from safescreen.spheres import SPHERES
from safescreen.spheres.base import PathReference

CALL = 3e5
"""Operations that any look at a sample costs, however small it is."""

BUDGET = 0.02
"""Which part of all operations so far may go into looks that led to nothing."""

PROFIT = 1.25
"""How many times its cost a pass has to save."""

AGAIN = 0.5
"""To what part the gap has to fall before another look at the same problem."""


@dataclass(frozen=True)
class Decision:
    """One decision: at which lam and gap, iterations expected, operations of one of them and of
    a pass, the ball that saves most, which part of the operations it saves, and whether
    screening followed.
    """

    lam: float
    gap: float
    left: float
    work: float
    cost: float
    ball: str
    saved: float
    screens: bool


class Schedule:
    """The tests to screen with at an evaluated point: those that were asked for, each time, or with
    None what pays.

    Attributes
    ----------
    tests : tuple of Test, or None
        None, the default, is what ``screening="auto"`` stands for; pass a schedule of your own to
        see its decisions.
    to_come : float
        How many lam are still to be solved after this one, as far as is known.
    decisions : list of Decision
        Every one but those that nothing was looked at for.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> y = np.where(np.arange(40_000) % 2, 1, -1)
    >>> X = np.random.default_rng(0).standard_normal((40_000, 20)) + 0.5 * (y[:, None] > 0)
    >>> problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.05))
    >>> schedule = Schedule()
    >>> lams = problem.lam_max() * 0.5 ** np.arange(1, 15)
    >>> solutions = ss.path(problem, lams, tol=0.0, rtol=1e-9, screening=schedule)
    >>> any(decision.screens for decision in schedule.decisions)
    True
    """

    def __init__(self, tests: tuple[Test, ...] | None = None):
        self.tests = tests
        self.decisions = []
        self.done = self.spent = self.missed = self.to_come = 0.0
        # what a pass saved over what the sample had promised: terms that share work leave less of
        # it behind there
        self._kept = 1.0
        self._sampled: tuple[Any, Any] = (None, None)
        self._costs: tuple[Any, float, float] = (None, 0.0, 0.0)
        self._ahead: tuple[Test | None, float] = (None, 0.0)

    def __bool__(self):
        return self.tests is None or bool(self.tests)

    @property
    def automatic(self) -> bool:
        """Whether it decides by itself."""
        return self.tests is None

    def count(self, problem: Problem, iterations: int) -> None:
        """Note that so many iterations on that problem have been done."""
        if self.automatic:
            self.done += iterations * (self._operations(problem)[0] + 0.03 * CALL)

    def screen(
        self,
        reduction: Reduction,
        evaluation: Evaluation,
        enlargement: float,
        left: float,
        near: PathReference | None = None,
    ) -> bool:
        """Screen at an evaluated point when about so many iterations are `left`, if that pays;
        return whether the problem has changed.

        `near` is the solution of the neighbouring lam, given before the first iteration.
        """
        if self.tests is not None:
            schedule, x = reduction.seen
            # nearly the same balls once more
            if schedule is self and x is evaluation.x and evaluation.gap > AGAIN * reduction.tried:
                return False
            reduction.tried = evaluation.gap if self.tests else np.inf
            reduction.seen = (self, evaluation.x)
            return reduction.screen(self.tests, reference(evaluation, near), enlargement)
        problem = reduction.problem
        gap = evaluation.gap
        if not gap < AGAIN * reduction.tried:
            return False
        reduction.tried = gap
        work, cost = self._operations(problem)
        test = None
        saved = 0.0
        if near is not None:
            test, saved = self._ahead
        promised = 0.0
        if test is None or left * work * saved < PROFIT * cost:
            test, promised = self._look(problem, evaluation, enlargement, left * work)
            saved = self._kept * promised
        if test is None:
            return False
        profit = left * work * saved - PROFIT * cost
        once = problem.terms.preparation_work
        screens = profit > 0.0 and self.missed + (1.0 + self.to_come) * profit >= once
        self.missed += max(profit, 0.0) if not screens else 0.0
        changed = screens and reduction.screen((test,), reference(evaluation), enlargement)
        if screens:
            saved = 1.0 - reduction.problem.terms.work / work
            self._kept = (
                0.5 * (self._kept + min(saved / promised, 1.0)) if promised > 0.0 else self._kept
            )
            self._ahead = (test, saved) if near is not None else self._ahead
        self.decisions.append(
            Decision(
                lam=evaluation.lam,
                gap=gap,
                left=left,
                work=work,
                cost=cost + once,
                ball=test.spheres[0].title,
                saved=saved,
                screens=screens,
            )
        )
        return changed

    def _operations(self, problem):
        """Return the operations of an iteration on a problem, and of a pass of screening."""
        if self._costs[0] is not problem:
            self._costs = problem, problem.terms.work, problem.terms.screening_work + CALL
        return self._costs[1:]

    def _look(self, problem, evaluation, enlargement, worth):
        """Return the test that saves most on a sample of the terms, and which part of the
        operations; None where looking does not pay.
        """
        cost = self._operations(problem)[1]
        look = 2.0 * CALL + 0.02 * cost
        if worth < PROFIT * cost + 5.0 * look or self.spent + look > BUDGET * self.done:
            return None, 0.0
        if self._sampled[0] is not problem:
            self._sampled = problem, problem.with_terms(problem.terms.sample(), problem.loss)
        sample = self._sampled[1]
        found = []
        for test in (
            CANDIDATES
            if "sweeps" not in problem.terms.offers and problem.terms.explicit
            else CANDIDATES[:1]
        ):
            part = Reduction(sample)
            part.screen((test,), reference(evaluation), enlargement)
            found.append((1.0 - part.problem.terms.work / max(sample.terms.work, 1.0), test))
        saved, test = max(found, key=lambda pair: pair[0])
        self.spent += look if worth * self._kept * saved < PROFIT * cost else 0.0
        return test, saved


CANDIDATES = tuple(Test((SPHERES[name],), "sphere") for name in ("MGB", "PGB"))
"""Balls that are built from an evaluation alone; over the whole space and for blocks the first
one is enough.
"""


def schedule_of(screening: str | Iterable[str] | Schedule, prob: Problem) -> Schedule:
    """Return the schedule of a user's `screening`: ``"auto"``, names as for
    :func:`parse_screening`, or one that is to be used.
    """
    if isinstance(screening, Schedule):
        return screening
    if isinstance(screening, str) and screening == "auto":
        return Schedule()
    return Schedule(parse_screening(screening, prob))


def iterations_left(history: list, expected: float, evaluation: Evaluation, goal: float) -> float:
    """Return how many iterations are left at the rate at which the gap fell in the second half
    of those done, or of those expected.
    """
    gap = evaluation.gap
    if gap <= goal or not history:
        return 0.0 if gap <= goal else expected
    done = history[-1].iteration
    earlier = history[
        max(bisect_right(history, done // 2, key=lambda state: state.iteration) - 1, 0)
    ]
    if done - earlier.iteration < 3 or not (gap < earlier.gap < math.inf) or goal <= 0.0:
        return max(expected - done, float(done))
    return min(
        math.log(gap / goal) * (done - earlier.iteration) / math.log(earlier.gap / gap), 10.0 * done
    )
