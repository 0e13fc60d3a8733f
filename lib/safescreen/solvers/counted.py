"""Screen when counted operations say that it pays, with the ball that saves most.

A pass of screening costs operations now and saves some in every iteration that is left. The cost is
counted; how many iterations are left follows from how fast the gap has fallen so far, or from the
neighbouring lam; how much a ball would save is seen on a sample of the terms. No clock is read: the
same input makes the same decisions on any machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from safescreen.problem import Problem
from safescreen.solvers.drive import Moment
from safescreen.solvers.reduction import Reduction, Test, reference
from safescreen.solvers.trace import Point, Trace
from safescreen.spheres import SPHERES

CANDIDATES = tuple(Test((SPHERES[name],), "sphere") for name in ("MGB", "PGB"))
"""Balls that are built from an evaluation alone; over the whole space and for blocks the first
one is enough.
"""


@dataclass(frozen=True)
class Decision:
    """One decision: at which lam and gap, evaluations expected, operations of one of them and of
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


@dataclass
class Counted:
    """What ``screening="auto"`` stands for; pass one of your own to see its decisions.

    Attributes
    ----------
    fallen : float
        To what part the gap has to fall before another look at the same problem.
    call : float
        Operations that any look at a sample costs, however small it is.
    budget : float
        Which part of all operations so far may go into looks that led to nothing.
    profit : float
        How many times its cost a pass has to save.
    decisions : list of Decision
        Every one but those that nothing was looked at for.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> y = np.where(np.arange(40_000) % 2, 1, -1)
    >>> X = np.random.default_rng(0).standard_normal((40_000, 20)) + 0.5 * (y[:, None] > 0)
    >>> problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.05))
    >>> policy = Counted()
    >>> lams = problem.lam_max() * 0.5 ** np.arange(1, 15)
    >>> solutions = ss.path(problem, lams, tol=0.0, rtol=1e-9, screening=policy)
    >>> any(decision.screens for decision in policy.decisions)
    True
    """

    fallen: float = 0.5
    call: float = 2e5
    budget: float = 0.02
    profit: float = 1.25

    is_automatic = True

    decisions: list[Decision] = field(default_factory=list, init=False)

    def __post_init__(self):
        # operations of all iterations, of looks that led to nothing, and what was not saved
        self.done = 0.0
        self.spent = 0.0
        self.missed = 0.0
        # iterations, and the evaluations that they took
        self._n_iter = 0.0
        self._n_evaluations = 0.0
        # what a pass saved over what the sample had promised: terms that share work leave less of
        # it behind there
        self._kept = 1.0
        # decisions so far for this lam, and for each of them the test and what it saved at the
        # neighbouring lam
        self._stage = 0
        self._saved: dict[int, tuple[Test | None, float]] = {}
        self._sampled: tuple[Any, Any] = (None, None)
        self._costs: tuple[Any, float, float] = (None, 0.0, 0.0)
        self._chosen: Test | None = None
        self._promised = 0.0

    def is_due(self, trace: Trace) -> bool:
        """Return whether the gap has fallen far enough for another look."""
        return trace.evaluation.gap < self.fallen * trace.tried

    def count(self, problem: Problem, point: Point) -> None:
        """Add up the operations of what was evaluated for a point."""
        work, _ = self._operations(problem)
        evaluations = point.iterations + point.others
        self._n_iter += point.iterations
        self._n_evaluations += evaluations
        self.done += evaluations * (work + 0.05 * self.call)

    def tests(self, moment: Moment) -> tuple[Test, ...]:
        """Return the test that saves most, if that is more than it costs."""
        work, cost = self._operations(moment.problem)
        self._stage += 1
        if moment.near is not None:
            self._stage = 0
            self._n_iter *= 0.5  # the last lam says most of the next one
            self._n_evaluations *= 0.5
        test, saved = self._choose(moment, work, cost)
        if test is None:
            return ()
        left = self._left(moment)
        profit = left * work * saved - self.profit * cost
        once = moment.problem.terms.preparation_work
        screens = profit > 0.0 and self.missed + (1.0 + moment.lams_to_come) * profit >= once
        if not screens:
            self.missed += max(profit, 0.0)
        self.decisions.append(
            Decision(
                lam=moment.evaluation.lam,
                gap=moment.evaluation.gap,
                left=left,
                work=work,
                cost=cost + once,
                ball=test.spheres[0].title,
                saved=saved,
                screens=screens,
            )
        )
        return (test,) if screens else ()

    def learn(self, moment: Moment, problem: Problem) -> None:
        """Compare what the last test has saved with what was promised."""
        work, _ = self._operations(moment.problem)
        saved = 1.0 - problem.terms.work / work
        if self._promised > 0.0:
            self._kept = 0.5 * (self._kept + min(saved / self._promised, 1.0))
        self._saved[self._stage] = (self._chosen, saved)
        self.decisions[-1] = replace(self.decisions[-1], saved=saved)

    def _choose(self, moment, work, cost):
        """Return a test and which part of the operations it saves: the one that saved enough at
        this stage of the last lam, or the best one on a sample; None where neither is worth it.
        """
        self._promised = 0.0
        test, saved = self._saved.get(self._stage, (None, 0.0))
        worth = self._left(moment) * work
        if test is None or worth * saved < self.profit * cost:
            test, self._promised = self._look(moment, worth, cost)
            saved = self._kept * self._promised
        self._chosen = test
        return test, saved

    def _left(self, moment):
        """Return how many evaluations are expected: as many an iteration as so far."""
        return moment.left * self._n_evaluations / self._n_iter if self._n_iter else moment.left

    def _operations(self, problem):
        """Return the operations of an iteration on a problem, and of a pass of screening."""
        if self._costs[0] is not problem:
            cost = problem.terms.screening_work + self.call
            self._costs = (problem, problem.terms.work, cost)
        return self._costs[1:]

    def _look(self, moment, worth, cost):
        """Return the test that saves most on a sample of the terms, and which part of the
        operations; None where looking does not pay.
        """
        tests = candidates(moment.problem)
        look = len(tests) * self.call
        if self._is_dear(look, worth, cost):
            return None, 0.0
        sample = self._sample(moment.problem)
        look += len(tests) * sample.terms.screening_work
        if self._is_dear(look, worth, cost):
            return None, 0.0
        work = max(sample.terms.work, 1.0)
        best = None
        most = -1.0
        for test in tests:
            trial = Reduction(sample)
            trial.screen((test,), reference(moment.evaluation), moment.enlargement)
            saved = 1.0 - trial.problem.terms.work / work
            if saved > most:
                best = test
                most = saved
        if worth * self._kept * most < self.profit * cost:
            self.spent += look
        return best, most

    def _is_dear(self, look, worth, cost):
        is_small = worth < self.profit * (cost + look)
        return is_small or self.spent + look > self.budget * self.done

    def _sample(self, problem):
        if self._sampled[0] is not problem:
            sample = problem.with_terms(problem.terms.sample(), problem.loss)
            self._sampled = (problem, sample)
        return self._sampled[1]


def candidates(problem: Problem) -> tuple[Test, ...]:
    """Return the tests that may pay for a problem."""
    has_one = problem.cone.is_whole_space or not problem.terms.explicit
    return CANDIDATES[:1] if has_one else CANDIDATES
