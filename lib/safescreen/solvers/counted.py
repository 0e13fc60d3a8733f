"""Screen when counted operations say that it pays, with the ball that saves most.

A pass of screening costs operations now and saves some in every iteration that is left. The cost is
counted; how many iterations are left follows from how fast the gap has fallen so far, or from the
neighbouring lam; how much a ball would save is seen on a sample of the terms. No clock is read: the
same input makes the same decisions on any machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from safescreen.problem import Problem
from safescreen.solvers.reduction import Reduction, Test, reference
from safescreen.solvers.setup import Moment, Plan
from safescreen.solvers.trace import Trace
from safescreen.spheres import SPHERES

CANDIDATES = tuple(Test((SPHERES[name],), "sphere") for name in ("MGB", "PGB"))
"""Balls that are built from an evaluation alone; over the whole space the first one is enough."""


class Decision(NamedTuple):
    """One decision whether to screen.

    Attributes
    ----------
    lam, gap : float
        At which lam, and at which gap.
    left : float
        How many evaluations are expected.
    work, cost : float
        Operations of one of them, and of a pass of screening.
    ball : str
        The ball that saves most.
    saved : float
        Which part of the operations it saves.
    screens : bool
        Whether screening followed.
    """

    lam: float
    gap: float
    left: float
    work: float
    cost: float
    ball: str
    saved: float
    screens: bool


class Promise(NamedTuple):
    """A test, which part of the operations it is expected to save, and what part of that a sample
    has promised, 0 where no sample was looked at.
    """

    test: Test | None
    saved: float
    on_sample: float = 0.0


class Memory(NamedTuple):
    """What is remembered of earlier looks, an immutable value.

    Attributes
    ----------
    kept : float
        What a pass saved over what the sample had promised: terms that share work leave less of it
        behind there.
    stage : int
        How many decisions there were for this lam.
    saved : dict of int to Promise
        For each stage the test, and what it saved, at the last lam that came so far.
    pending : Promise
        That of the test that is used.
    decisions : tuple of Decision
        Those for this lam.
    """

    kept: float = 1.0
    stage: int = 0
    saved: dict[int, Promise] = {}
    pending: Promise = Promise(None, 0.0)
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True)
class Counted:
    """What ``screening="auto"`` stands for; pass one with other options in its place.

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

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> y = np.where(np.arange(40_000) % 2, 1, -1)
    >>> X = np.random.default_rng(0).standard_normal((40_000, 20)) + 0.5 * (y[:, None] > 0)
    >>> problem = ss.Problem(ss.Samples(X, y), ss.Hinge())
    >>> lams = problem.lam_max() * 0.5 ** np.arange(1, 15)
    >>> solutions = ss.path(problem, lams, tol=0.0, rtol=1e-9, screening=Counted(profit=2.0))
    >>> any(decision.screens for solution in solutions for decision in solution.decisions)
    True
    """

    fallen: float = 0.5
    call: float = 2e5
    budget: float = 0.02
    profit: float = 1.25

    is_automatic = True

    def begin(self, memory: Memory | None) -> Memory:
        """Return what is remembered at the first lam, or the next one."""
        if memory is None:
            return Memory()
        return memory._replace(stage=0, decisions=())

    def is_due(self, trace: Trace) -> bool:
        """Return whether the gap has fallen far enough for another look."""
        return trace.evaluation.gap < self.fallen * trace.screened.gap

    def plan(self, moment: Moment) -> Plan:
        """Return the test that saves most, if that is more than it costs."""
        memory = moment.memory
        ledger = moment.ledger
        memory = memory._replace(stage=0 if moment.near is not None else memory.stage + 1)
        costs = moment.problem.terms.costs()
        cost = costs.screening + self.call
        left = ledger.evaluations_of(moment.left)
        worth = left * costs.evaluation
        # what saved enough at this stage of the last lam, or else the best one on a sample
        promise = memory.saved.get(memory.stage, Promise(None, 0.0))
        if promise.test is None or worth * promise.saved < self.profit * cost:
            promise, looked = self._look(moment, worth, cost)
            ledger = ledger._replace(spent=ledger.spent + looked)
        if promise.test is None:
            return Plan((), ledger, memory)
        profit = worth * promise.saved - self.profit * cost
        once = costs.preparation
        screens = profit > 0.0 and ledger.missed + (1.0 + moment.lams_to_come) * profit >= once
        if not screens:
            ledger = ledger._replace(missed=ledger.missed + max(profit, 0.0))
        decision = Decision(
            lam=moment.evaluation.lam,
            gap=moment.evaluation.gap,
            left=left,
            work=costs.evaluation,
            cost=cost + once,
            ball=promise.test.spheres[0].title,
            saved=promise.saved,
            screens=screens,
        )
        memory = memory._replace(pending=promise, decisions=(*memory.decisions, decision))
        return Plan((promise.test,) if screens else (), ledger, memory)

    def learn(self, memory: Memory, before: Problem, after: Problem) -> Memory:
        """Compare what the last test has saved with what was promised."""
        promise = memory.pending
        saved = 1.0 - after.terms.costs().evaluation / before.terms.costs().evaluation
        kept = memory.kept
        if promise.on_sample > 0.0:
            kept = 0.5 * (kept + min(saved / promise.on_sample, 1.0))
        decision = memory.decisions[-1]._replace(saved=saved)
        return memory._replace(
            kept=kept,
            saved=memory.saved | {memory.stage: Promise(promise.test, saved)},
            decisions=(*memory.decisions[:-1], decision),
        )

    def _look(self, moment: Moment, worth: float, cost: float) -> tuple[Promise, float]:
        """Return the test that saves most on a sample of the terms, and what looking has cost if
        it led to nothing; no test where looking does not pay.
        """
        tests = candidates(moment.problem)
        look = len(tests) * self.call
        nothing = Promise(None, 0.0), 0.0
        if self._is_dear(look, worth, cost, moment.ledger):
            return nothing
        sample: Any = moment.problem.sample
        sampled = sample.terms.costs()
        look += len(tests) * sampled.screening
        if self._is_dear(look, worth, cost, moment.ledger):
            return nothing
        work = max(sampled.evaluation, 1.0)
        best = None
        most = -1.0
        for test in tests:
            trial = Reduction(sample)
            trial.screen((test,), reference(moment.evaluation), moment.enlargement)
            saved = 1.0 - trial.problem.terms.costs().evaluation / work
            if saved > most:
                best = test
                most = saved
        saved = moment.memory.kept * most
        has_led_to_nothing = worth * saved < self.profit * cost
        return Promise(best, saved, on_sample=most), look if has_led_to_nothing else 0.0

    def _is_dear(self, look, worth, cost, ledger):
        if worth < self.profit * (cost + look):
            return True
        done = ledger.done + 0.05 * self.call * ledger.evaluations
        return ledger.spent + look > self.budget * done


def candidates(problem: Problem) -> tuple[Test, ...]:
    """Return the tests that may pay for a problem."""
    return CANDIDATES[:1] if problem.cone.is_whole_space else CANDIDATES
