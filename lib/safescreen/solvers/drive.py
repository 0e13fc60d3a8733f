"""The one loop: evaluate, keep the better point, show it, stop, screen, step.

STS19 Algorithm 1 with any solver and any policy. A solver says where to go on to; a policy says
when to screen, and with which tests; the loop does everything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from safescreen.problem import Evaluation, Problem
from safescreen.records import Iteration
from safescreen.solvers.feature_trials import FeatureTrials
from safescreen.solvers.limits import Limits
from safescreen.solvers.reduction import Reduction, Test, reference
from safescreen.solvers.solution import DualPoint
from safescreen.solvers.trace import Point, Start, Trace
from safescreen.spheres.base import PathReference
from safescreen.spheres.path import reference_accuracy
from safescreen.terms.base import LossSums

ROUNDS = 12
"""How often more accuracy is asked of the reduced problem where screened terms cost something at
its solution.
"""

Observe = Callable[[Reduction, Trace], Any]
"""Is shown the trace at every evaluated point; a true value ends the solve."""


class Solver(Protocol):
    """Two methods, and a third for what changes when terms leave: see CONTRIBUTING, "Add a solver".

    A solver is a frozen record of its options; what it learns on the way is its `state`, an object
    of its own choice that the loop passes back to it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the terms, see :data:`safescreen.terms.base.CAPABILITIES`."""
        ...

    @property
    def pace(self) -> float | None:
        """Named spheres are used again when the gap has fallen to this part of what it was; None:
        each `freq` iterations.
        """
        ...

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Any]:
        """Return the first point and the state."""
        ...

    def step(self, problem: Problem, trace: Trace, state: Any) -> tuple[Point, Any] | None:
        """Return the next point and the state, or None where no step makes progress."""
        ...

    def reduce(self, problem: Problem, state: Any, kept: Any) -> Any:
        """Return the state for a smaller problem, whose terms had the numbers `kept`."""
        ...


@dataclass(frozen=True)
class Moment:
    """An evaluated point at which a policy is asked for tests.

    Attributes
    ----------
    problem : Problem
        What is left.
    evaluation : Evaluation
    enlargement : float
        By how much balls are enlarged.
    left : float
        How many iterations are expected from here on.
    lams_to_come : float
        As in :class:`~safescreen.solvers.trace.Start`.
    near : PathReference, optional
        The solution of the neighbouring lam, given before the first iteration.
    """

    problem: Problem
    evaluation: Evaluation
    enlargement: float
    left: float
    lams_to_come: float = 0.0
    near: PathReference | None = None


@runtime_checkable
class Policy(Protocol):
    """When to screen, and with which tests."""

    @property
    def is_automatic(self) -> bool:
        """Whether the policy may choose not to screen."""
        ...

    def is_due(self, trace: Trace) -> bool:
        """Return whether to ask for tests at the last point."""
        ...

    def tests(self, moment: Moment) -> tuple[Test, ...]:
        """Return the tests to screen with, none where that does not pay."""
        ...

    def learn(self, moment: Moment, problem: Problem) -> None:
        """Note which problem the tests have left."""
        ...

    def count(self, problem: Problem, point: Point) -> None:
        """Note what has been done on that problem for a point."""
        ...


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


def drive(
    reduction: Reduction,
    solver: Solver,
    policy: Policy | None,
    start: Start,
    limits: Limits,
    observe: Observe | None = None,
    features: FeatureTrials | None = None,
) -> Outcome:
    """Solve what a reduction leaves, screen on the way, and judge the best point on the whole
    problem.

    Where screened terms cost something at a point that is good enough for the reduced problem, a
    tenth of the gap is asked of that. Where features leave, the solver begins again without them.
    Ctrl-C after the first point raises :class:`Interrupted`."""
    reduction.whole.check_reach(start.lam)
    trace = Trace(start, limits, policy)
    point, state = solver.init(reduction.problem, start, trace)
    judged = None
    reason = ""
    try:
        while True:
            trace.move(reduction.problem, point)
            trace.record(len(reduction.problem), reduction.n_L, reduction.n_R)
            _count(reduction.problem, point, policy, features)
            ends = observe is not None and observe(reduction, trace)
            reason = _reason(trace, ends)
            if reason == "converged":
                judged = judge(reduction, trace)
                if not limits.reached(judged.evaluation):
                    trace.ask_for_more()
                    reason = _reason_to_give_up(trace, ends)
            if reason:
                break
            kept = _screen(reduction, policy, trace, limits)
            if kept is not None:
                state = solver.reduce(reduction.problem, state, kept)
            fewer = _leave_out(reduction, features, trace, limits, kept is not None)
            if fewer is not None:
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
            _outcome(reduction, trace, judge(reduction, trace), "interrupted")
        ) from None
    if judged is None or reason != "converged":
        judged = judge(reduction, trace)
        reason = "converged" if limits.reached(judged.evaluation) else reason
    return _outcome(reduction, trace, judged, reason)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a solve; `outcome` is how far it was."""

    def __init__(self, outcome: Outcome):
        super().__init__("a solve was interrupted")
        self.outcome = outcome


def _outcome(reduction, trace, judged, reason):
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
    )


class Judged(NamedTuple):
    """The best point of a solve, evaluated for the whole problem: see :class:`Outcome`."""

    evaluation: Evaluation
    problem: Problem
    sums: LossSums
    eps: float


def judge(reduction: Reduction, trace: Trace) -> Judged:
    """Return the best point of a trace, judged on the whole problem."""
    best = trace.best
    eps = reference_accuracy(best)
    # every screened term is in its region at x: nothing is left out
    if eps < reduction.enlargement and reduction.has_all_features:
        return Judged(best, reduction.problem, best.sums, eps)
    whole = reduction.whole
    x = reduction.embed(best.x)
    dual_point = _expanded(reduction, trace)
    if dual_point is None:
        sums = whole.terms.loss_sums(x, whole.loss)
    else:
        sums = dual_point.hinge_sums(whole.terms, x)
    evaluation = whole.assemble(sums, x, trace.lam)
    eps = float(np.fmin(reference_accuracy(evaluation), eps))
    return Judged(evaluation, whole, sums, eps)


def screen(reduction: Reduction, policy: Policy, moment: Moment) -> Any:
    """Screen as a policy says; return the numbers of the terms that are kept, or None where the
    problem has not changed.
    """
    tests = policy.tests(moment)
    if not tests:
        return None
    kept = reduction.screen(tests, reference(moment.evaluation, moment.near), moment.enlargement)
    policy.learn(moment, reduction.problem)
    return kept


def _screen(reduction, policy, trace, limits):
    """Screen at the last point of a trace, if that is due."""
    if policy is None or not policy.is_due(trace):
        return None
    evaluation = trace.evaluation
    moment = Moment(
        problem=reduction.problem,
        evaluation=evaluation,
        enlargement=limits.enlargement(evaluation),
        left=trace.iterations_left(limits.goal(evaluation.primal)),
        lams_to_come=trace.lams_to_come,
    )
    trace.note_trial()
    kept = screen(reduction, policy, moment)
    if kept is not None:
        trace.reduce(reduction.problem, kept)
    return kept


def _count(problem, point, policy, features):
    """Tell who counts operations which problem was evaluated for a point."""
    if policy is not None:
        policy.count(problem, point)
    if features is not None:
        features.count(problem, point)


def _leave_out(reduction, features, trace, limits, have_terms_left):
    """Leave out features at the last point of a trace, if that is due; return where to start with
    those that are left, or None.
    """
    if features is None:
        return None
    if have_terms_left:
        features.terms_left()
    if not features.are_due(reduction.problem, trace):
        return None
    e = trace.evaluation
    keep = reduction.leave_out(e, limits.slope_enlargement(e, reduction.whole.loss.smoothing))
    if keep is None:
        return None
    trace.forget()
    return Start(
        x=e.x[keep],
        lam=trace.lam,
        step=trace.point.step,
        expected=max(trace.expected, trace.n_iter),
        lams_to_come=trace.lams_to_come,
    )


def _reason(trace, ends):
    """Return why to stop at the last point of a trace, "" if there is no reason."""
    if trace.limits.reached(trace.best):
        return "converged"
    return _reason_to_give_up(trace, ends)


def _reason_to_give_up(trace, ends):
    """Return why to stop short of the limits, "" if there is no reason."""
    if ends:
        return "callback"
    if trace.n_iter >= trace.limits.max_iter:
        return "iterations"
    if trace.seconds >= trace.limits.max_seconds:
        return "time"
    return "stalled" if trace.rounds > ROUNDS else ""


def _expanded(reduction, trace):
    """Return the best dual point, for the whole problem."""
    dual_point = trace.best_dual_point
    if dual_point is None or reduction.whole.loss.smoothing > 0.0:
        return None
    if not dual_point.packed:
        return dual_point
    alpha = dual_point.unpack()
    if alpha.size != len(reduction.problem):  # Ctrl-C came while terms were leaving
        return None
    return DualPoint(reduction.expand(alpha))
