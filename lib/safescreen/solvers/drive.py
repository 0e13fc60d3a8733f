"""The one loop: evaluate, keep the better point, show it, stop, screen, step.

STS19 Algorithm 1 with any solver and any policy. A solver says where to go on to; a policy says
when to screen, and with which tests; the loop does everything else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from safescreen._threads import stop_if_asked
from safescreen.problem import Evaluation, Problem
from safescreen.records import Iteration
from safescreen.solvers.ledger import Ledger
from safescreen.solvers.reduction import Reduction, reference
from safescreen.solvers.setup import Moment, Policy, Setup
from safescreen.solvers.solution import DualPoint
from safescreen.solvers.trace import Start, Trace, Trial
from safescreen.spheres.path import reference_accuracy
from safescreen.terms.base import LossSums

ROUNDS = 12
"""How often more accuracy is asked of the reduced problem where screened terms cost something at
its solution.
"""

Observe = Callable[[Reduction, Trace], Any]
"""Is shown the trace at every evaluated point; a true value ends the solve."""


@dataclass(frozen=True)
class Outcome:
    """How a solve ended.

    Attributes
    ----------
    evaluation : Evaluation
        The best point, judged on the whole problem.
    problem, sums : Problem, LossSums
        A problem and its sums at that point: evaluated there for any lam they give what the whole
        problem would, so they are the reference of a neighbouring lam.
    eps : float
        Upper bound of the distance of the point from the optimum.
    dual_point : DualPoint or None
        Dual point of the whole problem; None for ``alpha(x)``.
    reason : str
        "converged", "iterations", "time", "callback", "interrupted" or "stalled".
    solver : str
        Who made the last point.
    ledger, memory : Ledger, object
        Operations so far, and what the policy of screening remembers.
    """

    evaluation: Evaluation
    problem: Problem
    sums: LossSums
    eps: float
    dual_point: DualPoint | None
    reason: str
    n_iter: int
    step: float | None
    history: list[Iteration]
    solver: str
    ledger: Ledger
    memory: Any


def drive(
    reduction: Reduction, setup: Setup, start: Start, observe: Observe | None = None
) -> Outcome:
    """Solve what a reduction leaves, screen on the way, and judge the best point on the whole
    problem.

    Where screened terms cost something at a point that is good enough for the reduced problem, a
    tenth of the gap is asked of that. Where features leave, the solver begins again without them.
    Ctrl-C after the first point raises :class:`Interrupted`."""
    reduction.whole.check_reach(start.lam)
    solver = setup.solver
    limits = setup.limits
    trace = Trace.begin(start, limits, setup.policy)
    point, state = solver.init(reduction.problem, start, trace)
    judged = None
    reason = ""
    try:
        while True:
            stop_if_asked()
            trace = trace.moved(reduction.problem, point)
            trace.record(len(reduction.problem), reduction.n_L, reduction.n_R)
            ends = observe is not None and observe(reduction, trace)
            reason = _reason(trace, ends)
            if reason == "converged":
                judged = judge(reduction, trace)
                if not limits.reached(judged.evaluation):
                    trace = trace.asking_for_more()
                    reason = _reason_to_give_up(trace, ends)
            if reason:
                break
            trace, kept = _screen(reduction, trace, limits)
            if kept is not None:
                state = solver.reduce(reduction.problem, state, kept)
            trace, keep = _leave_out(reduction, setup, trace)
            if keep is not None:
                fewer = _start_of(trace, keep)
                trace = trace.without_features()
                point, state = solver.init(reduction.problem, fewer, trace)
                continue
            following = solver.step(reduction.problem, trace, state)
            if following is None:
                reason = "stalled"
                break
            point, state = following
    except KeyboardInterrupt:
        if not trace.history:
            raise
        raise Interrupted(
            _outcome(reduction, setup, trace, judge(reduction, trace), "interrupted")
        ) from None
    if judged is None or reason != "converged":
        judged = judge(reduction, trace)
        reason = "converged" if limits.reached(judged.evaluation) else reason
    return _outcome(reduction, setup, trace, judged, reason)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a solve; `outcome` is how far it was."""

    def __init__(self, outcome: Outcome):
        super().__init__("a solve was interrupted")
        self.outcome = outcome


def _outcome(reduction, setup, trace, judged, reason):
    return Outcome(
        evaluation=judged.evaluation,
        problem=judged.problem,
        sums=judged.sums,
        eps=judged.eps,
        dual_point=_expanded(reduction, trace),
        reason=reason,
        n_iter=trace.n_iter,
        step=trace.point.step,
        history=trace.history,
        solver=trace.point.solver or type(setup.solver).__name__,
        ledger=trace.ledger,
        memory=trace.memory,
    )


class Judged(NamedTuple):
    """The best point of a solve, evaluated for the whole problem: see :class:`Outcome`."""

    evaluation: Evaluation
    problem: Problem
    sums: LossSums
    eps: float


def judge(reduction: Reduction, trace: Trace) -> Judged:
    """Return the best point of a trace, judged on the whole problem."""
    best = trace.best.evaluation
    eps = reference_accuracy(best)
    if reduction.agrees_within(eps):
        return Judged(best, reduction.problem, best.sums, eps)
    whole = reduction.whole
    x = reduction.embed(best.x)
    evaluation = _evaluate(whole, x, trace.lam, _expanded(reduction, trace))
    eps = float(np.fmin(reference_accuracy(evaluation), eps))
    return Judged(evaluation, whole, evaluation.sums, eps)


def judged_later(reduction: Reduction, trace: Trace) -> Callable[[], Values]:
    """Return a function that computes objective and gap of the whole problem at the last point of a
    trace. It may be called whenever they are wanted, and changes nothing for the solve.
    """
    e = trace.evaluation
    is_whole = reduction.problem is reduction.whole
    if is_whole or reduction.agrees_within(reference_accuracy(e)):
        known = Values(e.primal, e.gap)
        return lambda: known
    x = reduction.embed(e.x)
    lam = e.lam
    dual_point = trace.point.dual_point()
    # what is known now; terms that are decided later are among those that alpha has a number for
    now = copy.copy(reduction)
    now.problem = now.whole

    @cache
    def values():
        dual = dual_point
        if dual is not None and dual.packed:
            dual = DualPoint(now.expand(dual.unpack()))
        at_x = _evaluate(now.whole, x, lam, dual)
        return Values(at_x.primal, at_x.gap)

    return values


class Values(NamedTuple):
    """Objective and certified gap of the whole problem at a point."""

    primal: float
    gap: float


def _evaluate(problem, x, lam, dual_point):
    """Return the evaluation of a problem at x and a dual point, None for ``alpha(x)``."""
    x = problem.terms.prepared(x)
    if dual_point is None:
        sums = problem.terms.loss_sums(x, problem.loss)
    else:
        sums = dual_point.loss_sums(problem.terms, x, problem.loss)
    return problem.assemble(sums, x, lam)


def screen(reduction: Reduction, policy: Policy, moment: Moment) -> tuple[Ledger, Any, Any]:
    """Screen as a policy says; return the ledger, the memory of the policy, and the numbers of the
    terms that are kept, None where the problem has not changed.
    """
    plan = policy.plan(copy.copy(moment))
    if not plan.tests:
        return plan.ledger, plan.memory, None
    at_point = reference(moment.evaluation, moment.near)
    kept = reduction.screen(plan.tests, at_point, moment.enlargement)
    memory = policy.learn(plan.memory, moment.problem, reduction.problem)
    return plan.ledger, memory, kept


def _screen(reduction, trace, limits):
    """Screen at the last point of a trace, if that is due; return what is known then, and what
    :func:`screen` returns last.
    """
    policy = trace.policy
    if policy is None or not policy.is_due(trace):
        return trace, None
    evaluation = trace.evaluation
    moment = Moment(
        problem=reduction.problem,
        evaluation=evaluation,
        enlargement=limits.enlargement(evaluation),
        left=trace.iterations_left(trace.limits.goal(evaluation.primal)),
        lams_to_come=trace.start.lams_to_come,
        ledger=trace.ledger,
        memory=trace.memory,
    )
    ledger, memory, kept = screen(reduction, policy, moment)
    tried = Trial(evaluation.gap, trace.n_iter)
    trace = trace._replace(screened=tried, ledger=ledger, memory=memory)
    if kept is not None:
        trace = trace.reduced(reduction.problem, kept)
    return trace, kept


def _leave_out(reduction, setup, trace):
    """Leave out features at the last point of a trace, if that is due; return what is known then,
    and which features are kept, None for all.
    """
    features = setup.features
    if features is None or not features.are_due(reduction.problem, trace):
        return trace, None
    e = trace.evaluation
    ledger = trace.ledger._replace(since_features=0.0)
    trace = trace._replace(left_out=Trial(e.gap, trace.n_iter), ledger=ledger)
    smoothing = reduction.whole.loss.smoothing
    return trace, reduction.leave_out(e, setup.limits.slope_enlargement(e, smoothing))


def _start_of(trace, keep):
    """Return where to start with the features that are kept."""
    start = trace.start
    return replace(
        start,
        x=trace.evaluation.x[keep],
        alpha=None,
        step=trace.point.step,
        evaluation=None,
        expected=max(start.expected, trace.n_iter),
    )


def _reason(trace, ends):
    """Return why to stop at the last point of a trace, "" if there is no reason."""
    if trace.limits.reached(trace.best.evaluation):
        return "converged"
    return _reason_to_give_up(trace, ends)


def _reason_to_give_up(trace, ends):
    """Return why to stop short of the limits, "" if there is no reason."""
    if ends:
        return "callback"
    if trace.n_iter >= trace.limits.max_iter:
        return "iterations"
    if trace.is_late:
        return "time"
    return "stalled" if trace.rounds > ROUNDS else ""


def _expanded(reduction, trace):
    """Return the best dual point, for the whole problem."""
    dual_point = trace.best.dual_point
    if dual_point is None:
        return None
    if not dual_point.packed or reduction.problem is reduction.whole:
        return dual_point
    alpha = dual_point.unpack()
    if alpha.size != len(reduction.problem):  # Ctrl-C came while terms were leaving
        return None
    return DualPoint(reduction.expand(alpha))
