"""The loop of every solve: evaluate, keep the better point, show it, stop, screen, step.

STS19 Algorithm 1 with any solver and any policy. A solver makes the next point. A policy says when
to screen, and with which tests. The loop does everything else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from safescreen._threads import stop_if_asked
from safescreen.solvers.reduction import Reduction, can_be_screened, reference
from safescreen.solvers.setup import Setup
from safescreen.solvers.solution import DualPoint
from safescreen.solvers.state import State
from safescreen.spheres.path import reference_accuracy

ROUNDS = 12
"""How many times the loop asks for a tenth of the gap on the reduced problem because the best point
is not good enough for the whole problem.
"""

Observe = Callable[[Reduction, State], Any]
"""Called with the state at every evaluated point; a true value ends the solve."""


def drive(
    reduction: Reduction, setup: Setup, state: State, observe: Observe | None = None
) -> State:
    """Solve the reduced problem of a reduction, screen during the solve, and return the last state.
    This state is at the best point, judged on the whole problem.

    The best point may be good enough for the reduced problem but not for the whole problem, because
    some screened terms are outside their regions at this point. Then the loop asks for a tenth of
    the gap on the reduced problem. When features leave, the solver begins again without them.
    Ctrl-C after the first point raises :class:`Interrupted`.
    """
    reduction.whole.check_reach(state.lam)
    solver = setup.solver
    state = state._replace(screens=setup.policy is not None)
    point, own = solver.init(reduction.problem, state)
    try:
        while True:
            stop_if_asked()
            state = state.moved(reduction.problem, point)
            state.record(reduction.n_L, reduction.n_R)
            ends = observe is not None and observe(reduction, state)
            state = _stopped(reduction, setup, state, ends)
            if state.reason:
                break
            state, kept = _screened(reduction, setup, state)
            if kept is not None:
                own = solver.reduce(reduction.problem, own, kept)
            state, keep = _left_out(reduction, setup, state)
            if keep is not None:
                state = state.on_features(keep)
                point, own = solver.init(reduction.problem, state)
                continue
            following = solver.step(reduction.problem, state, own)
            if following is None:
                state = state._replace(reason="stalled")
                break
            point, own = following
    except KeyboardInterrupt:
        if not state.history:
            raise
        state = judged(reduction, state._replace(reason="interrupted"), setup)
        raise Interrupted(state) from None
    return state if state.reason == "converged" else judged(reduction, state, setup)


class Interrupted(KeyboardInterrupt):
    """The exception for a solve that Ctrl-C has ended; `state` is the last state."""

    def __init__(self, state: State):
        super().__init__("a solve was interrupted")
        self.state = state


def _stopped(reduction, setup, state, ends):
    """Return the state, with a reason to stop if there is one. If the best point is good enough for
    the reduced problem, judge it on the whole problem; if it is not good enough for the whole
    problem, ask for more accuracy on the reduced problem.
    """
    if state.limits.reached(state.best):
        whole = judged(reduction, state, setup)
        if whole.reason == "converged":
            return whole
        state = state.asking_for_more()
    if ends:
        return state._replace(reason="callback")
    if state.n_iter >= state.limits.max_iter:
        return state._replace(reason="iterations")
    if state.is_late:
        return state._replace(reason="time")
    return state._replace(reason="stalled") if state.rounds >= ROUNDS else state


def judged(reduction: Reduction, state: State, setup: Setup) -> State:
    """Return the state at its best point, judged on the whole problem. The reason is "converged" if
    the gap of this point is within the limits.
    """
    best = state.best
    eps = reference_accuracy(best)
    dual_point = _expanded(reduction, state)
    problem = reduction.problem
    evaluation = best
    if not reduction.agrees_within(eps):
        problem = reduction.whole
        evaluation = _evaluate(problem, reduction.embed(best.x), state.lam, dual_point)
        eps = float(np.fmin(reference_accuracy(evaluation), eps))
    solver = state.point.solver or type(setup.solver).__name__
    return state._replace(
        point=state.point._replace(solver=solver),
        problem=problem,
        evaluation=evaluation,
        best_dual=dual_point,
        eps=eps,
        reason="converged" if setup.limits.reached(evaluation) else state.reason,
    )


def finished(reduction: Reduction, state: State, setup: Setup) -> State:
    """Return the state of the solution, after the ball of the best point has decided terms.

    If the limits were not reached, two other dual points are tried: ``alpha(x)`` for a smooth loss,
    and 0, whose gap is at most the objective if there is no linear term.
    """
    if not can_be_screened(reduction.whole.terms):
        return state
    if setup.looks:
        reduction.decide(reference(state.best))
    limits = setup.limits
    if limits.reached(state.evaluation):
        return state
    whole = reduction.whole
    x = reduction.embed(state.best.x)
    trials = []
    if whole.loss.smoothing > 0.0 and state.best_dual is not None:
        trials.append(None)
    if not state.evaluation.gap <= abs(state.evaluation.primal):
        trials.append(DualPoint(np.zeros(len(whole))))
    for dual_point in trials:
        evaluation = _evaluate(whole, x, state.lam, dual_point)
        if evaluation.gap < state.evaluation.gap:
            state = state._replace(evaluation=evaluation, problem=whole, best_dual=dual_point)
    eps = float(np.fmin(reference_accuracy(state.evaluation), state.eps))
    reason = "converged" if limits.reached(state.evaluation) else state.reason
    return state._replace(eps=eps, reason=reason)


def judged_later(reduction: Reduction, state: State) -> Callable[[], Values]:
    """Return a function that computes objective and gap of the whole problem at the last point of a
    state. The function may be called at any time, and has no effect on the solve.
    """
    e = state.evaluation
    is_whole = reduction.problem is reduction.whole
    if is_whole or reduction.agrees_within(reference_accuracy(e)):
        known = Values(e.primal, e.gap)
        return lambda: known
    x = reduction.embed(e.x)
    lam = e.lam
    dual_point = state.point.dual_point()
    # the decisions so far: alpha also has entries for terms that are decided later
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
    """Return the evaluation of a problem at x and a dual point; None stands for ``alpha(x)``."""
    x = problem.terms.prepared(x)
    if dual_point is None:
        sums = problem.terms.loss_sums(x, problem.loss)
    else:
        sums = dual_point.loss_sums(problem.terms, x, problem.loss)
    return problem.assemble(sums, x, lam)


def _screened(reduction, setup, state):
    """Screen terms at the last point, if the policy says so. Return the new state, and the numbers
    of the terms that are kept, or None if the problem has not changed.
    """
    if setup.policy is None:
        return state, None
    tests = setup.policy.tests(state.look, state.screened, reduction.problem.terms)
    if not tests:
        return state, None
    e = state.evaluation
    kept = reduction.screen(tests, reference(e), setup.limits.enlargement(e))
    state = state._replace(screened=state.look)
    if kept is not None:
        state = state.reduced(reduction.problem, kept)
    return state, kept


def _left_out(reduction, setup, state):
    """Leave out features at the last point, if a trial is due. Return the new state, and the mask
    of the features that are kept, or None if the problem has not changed.
    """
    features = setup.features
    if features is None or not features.are_due(state.look, state.left_out):
        return state, None
    e = state.evaluation
    state = state._replace(left_out=state.look)
    smoothing = reduction.whole.loss.smoothing
    return state, reduction.leave_out(e, setup.limits.slope_enlargement(e, smoothing))


def _expanded(reduction, state):
    """Return the best dual point, extended to the whole problem."""
    dual_point = state.best_dual
    if dual_point is None:
        return None
    if not dual_point.packed or reduction.problem is reduction.whole:
        return dual_point
    alpha = dual_point.unpack()
    if alpha.size != len(reduction.problem):  # Ctrl-C came while terms were removed
        return None
    return DualPoint(reduction.expand(alpha))
