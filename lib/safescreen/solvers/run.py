"""Solve what a reduction leaves, and judge the result on the whole problem."""

from dataclasses import replace

import numpy as np

from safescreen._warnings import warn
from safescreen.problem import Problem
from safescreen.solvers.methods import Method
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.schedule import iterations_left
from safescreen.solvers.settings import Descent, Limits, Settings
from safescreen.solvers.solution import Solution, pack
from safescreen.spheres.path import reference_accuracy
from safescreen.terms.base import LossSums

ROUNDS = 12
"""How often more accuracy is asked of the reduced problem where screened terms cost something at
its solution.
"""


class ConvergenceWarning(UserWarning):
    """The gap did not reach the tolerance."""


def run(
    reduction: Reduction, state: Descent, settings: Settings, method: Method
) -> tuple[Solution, tuple[Problem, LossSums]]:
    """Solve what a reduction leaves; `state` says where to start, and for which lam.

    Returns also a problem and its sums at the solution, the reference of a neighbouring lam:
    evaluated there for any lam they give what the whole problem would."""
    limits = settings.limits
    schedule = settings.schedule
    whole = reduction.whole
    lam = whole.check_reach(state.lam)

    def screen(evaluation):
        """Screen at an evaluated point; return whether the problem that is left has changed."""
        left = iterations_left(
            state.history, state.expected, evaluation, limits.goal(evaluation.primal)
        )
        nonlocal counted
        schedule.count(reduction.problem, state.n_iter - counted)
        counted = state.n_iter
        return schedule.screen(reduction, evaluation, limits.enlargement(evaluation), left)

    target = limits
    counted = state.n_iter
    for _ in range(ROUNDS):
        reached = method.run(
            reduction, state, replace(settings, limits=target), screen if schedule else None
        )
        schedule.count(reduction.problem, state.n_iter - counted)
        counted = state.n_iter
        evaluation = state.evaluation
        eps = reference_accuracy(state.evaluation)
        # every screened term is in its region at x: nothing is left out
        if eps < reduction.enlargement:
            sums = reduction.problem, evaluation.sums
            break
        if state.alpha is None:
            found = whole.terms.loss_sums(state.x, whole.loss)
        else:
            found = state.alpha.hinge_sums(whole.terms, state.x)
        sums = (whole, found)
        evaluation = whole.assemble(found, state.x, lam)
        if not reached or state.stopped or limits.reached(evaluation):
            break
        # screened terms cost something at x: ask for more accuracy of the reduced problem
        target = Limits(0.1 * target.tol, 0.1 * target.rtol, limits.max_iter)
    # linear parts of screened terms included
    loss = evaluation.primal - 0.5 * lam * whole.cone.inner(state.x, state.x)
    if whole.linear is not None:
        loss += whole.cone.inner(whole.linear, state.x)
    solution = Solution(
        x=state.x,
        lam=lam,
        gap=evaluation.gap,
        primal=evaluation.primal,
        loss=loss,
        n_iter=state.n_iter,
        converged=bool(limits.reached(evaluation)),
        history=state.history,
        n_terms=len(whole),
        n_L=reduction.n_L,
        n_R=reduction.n_R,
        eps=float(np.fmin(reference_accuracy(evaluation), eps)),
        step=state.step,
        problem=whole,
        packed=pack(reduction.status) if settings.keep_masks and reduction.explicit else None,
        dual_point=state.alpha,
    )
    return solution, sums


def warn_if_not_converged(solution: Solution, limits: Limits) -> None:
    """Warn with the gap reached."""
    if not solution.converged:
        warn(shortfall(solution, limits), ConvergenceWarning)


def shortfall(solution: Solution, limits: Limits) -> str:
    """Return how far a solution is from the gap that it was to reach."""
    goal = limits.goal(solution.primal)
    return (
        f"lam = {solution.lam:g}: duality gap {solution.gap:.3g} after {solution.n_iter} "
        f"iterations, asked for {goal:.3g}"
    )
