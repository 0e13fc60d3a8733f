"""Solve a problem for one lam."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from safescreen._checks import check_callback, check_flag, check_lam, check_vector
from safescreen._threads import with_small_blas
from safescreen._warnings import warn
from safescreen.problem import Problem, check_problem
from safescreen.records import ConvergenceWarning, Progress
from safescreen.rounding import ElementLike
from safescreen.rules import Screened
from safescreen.solvers.drive import Interrupted, Observe, drive, finished, judged_later
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import set_up
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.setup import Policy
from safescreen.solvers.solution import Solution, pack
from safescreen.solvers.state import State


@with_small_blas
def solve(
    prob: Problem,
    lam: float,
    tol: float | None = None,
    rtol: float | None = None,
    x0: ElementLike | None = None,
    screening: str | Iterable[str] | Policy = "auto",
    freq: int = 10,
    active_set: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    max_iter: int = 10_000,
    method: str = "auto",
    max_seconds: float | None = None,
    keep_interrupted: bool = True,
    alpha0: NDArray | None = None,
) -> Solution:
    """Solve a problem for one lam, screen during the solve, and decide terms with the ball of the
    solution at the end.

    STS19 Algorithm 1. Over a cone the solver takes projected gradient steps (Barzilai-Borwein), and
    changes to an interior-point method if these steps are slow. Over the whole space it takes
    sweeps of dual coordinate descent, and changes to semismooth Newton steps if the sweeps are
    slow. For the hinge a proximal method of multipliers wraps solvers that need a smooth loss.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    tol, rtol : float >= 0, optional
        Stop when the duality gap is at most ``max(tol, rtol |P|)``: `tol` is absolute, in units of
        the objective P, and `rtol` is relative to P. If only one is given, the other is 0; if both
        are left out, ``rtol`` is 1e-6. The gap is an upper bound that includes rounding. It is the
        gap of `prob` itself, screened terms included.
    x0 : element of the cone, optional
        The start; zero if left out.
    screening : "auto" or tuple of str
        "auto" screens listed triplets, pairs and quadruplets with "MGB" each time the gap has
        fallen to a tenth, at the earliest ten iterations after the last time. "auto" screens no
        other terms. In particular it screens no samples, because shrinking leaves out the same
        samples at no cost. A tuple names spheres of ``SPHERES``, each with the sphere rule.
        ``"GB+halfspace"`` uses another rule, and ``"MGB&BT2"`` uses the intersection of two balls.
        ``()`` screens nothing, not even at the end. The name "features" leaves out coordinates that
        are certainly 0, see :func:`safescreen.rules.features`; "auto" also leaves out features for
        a diagonal metric and a problem with a linear term, such as an l1 penalty.
    freq : int
        Screen every `freq` iterations, if spheres are named.
    active_set : bool
        Iterate on the terms with a non-zero loss only, and check all terms now and then.
    callback : callable, optional
        ``callback(progress)``, with a :class:`Progress`; returning a true value stops the solve.
        Its objective and its gap are those of `prob`. After terms have been removed, reading these
        numbers costs an evaluation of all terms.
    max_iter : int
        Largest number of iterations: gradient or Newton steps, or sweeps of coordinate descent.
    method : str
        For terms over a cone: "gradient"; "semismooth", projected gradient with Newton steps in
        between; "interior", an interior-point method that takes some tens of steps whatever lam is;
        "handover", gradient steps, then interior-point steps if they are slow. For terms over a
        cone "auto" means "handover". For terms over the whole space, such as samples: "newton";
        "coordinate" and "unshrunk", coordinate descent with and without shrinking; "hybrid",
        coordinate descent that hands over to Newton's method if it is slow. For terms over the
        whole space "auto" means "hybrid".
    max_seconds : float, optional
        End with the first iteration after this number of seconds. If it is left out, no clock is
        read, and the same input gives the same solution. Exception: if kernel values are computed
        on demand, the last digits of the solution may depend on earlier solves of the problem.
    keep_interrupted : bool
        On Ctrl-C return the best point so far, if there is one, with a warning. If it is false,
        KeyboardInterrupt is raised instead, for a caller that has more to solve.
    alpha0 : array of shape (T,), optional
        The dual point that goes with `x0`, such as the ``alpha`` of an earlier solution: in [0,
        1]^T, or any ``alpha >= 0`` for the squared hinge. Each term must have its own dual
        variable. For the hinge with a free intercept the solver starts from the pair (`x0`,
        `alpha0`), so a solution takes no iteration. For the hinge without a free intercept the
        first point is another x, made from the pair, whose gap may be larger. For another loss,
        coordinate descent uses `alpha0` to judge `x0`, and starts from the slopes at `x0` if `x0`
        is not a solution.

    Returns
    -------
    Solution
        Its gap is certified however the solve ended; `reason` says how it ended.

    Warns
    -----
    ConvergenceWarning
        The tolerance was not reached. The warning points to the line of the caller, and gives the
        gap.
    RuntimeWarning
        The solve was interrupted.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> solution = solve(ss.Problem(triplets, ss.SmoothedHinge(0.05)), 100.0)
    >>> solution.converged, solution.x.round(4).tolist()
    (True, [[0.1208]])
    >>> bool(solution.gap <= 1e-6 * solution.primal)
    True
    """
    prob = check_problem(prob)
    lam = check_lam(lam)
    setup = set_up(
        prob,
        tol=tol,
        rtol=rtol,
        max_iter=max_iter,
        max_seconds=max_seconds,
        method=method,
        screening=screening,
        freq=freq,
        active_set=active_set,
    )
    x = prob.cone.zeros() if x0 is None else copy.copy(prob.cone.check_feasible(x0, "x0"))
    alpha = None
    if alpha0 is not None:
        prob.terms.require("singles", by="alpha0")
        alpha = check_vector(alpha0, len(prob), "alpha0", low=0.0, high=prob.loss.cap).copy()
    reduction = Reduction(prob)
    observe = observer(check_callback(callback))
    keep_interrupted = check_flag(keep_interrupted, "keep_interrupted")
    start = State.begin(Point(x, alpha=alpha), lam, setup.limits)
    try:
        state = drive(reduction, setup, start, observe)
    except Interrupted as pressed:
        if not keep_interrupted:
            raise
        state = pressed.state
        warn("the solve was interrupted: the best point so far is returned", RuntimeWarning)
    return _finished(reduction, setup, state)


@with_small_blas
def solve_screened(
    prob: Problem,
    lam: float,
    screened: Screened,
    x0: ElementLike | None = None,
    alpha0: NDArray | None = None,
    *,
    screening: Iterable[str] = (),
    **options: Any,
) -> Solution:
    """Solve the problem without the terms that a test has screened, and judge the result on the
    whole problem.

    Terms in R are dropped, and terms in L become part of the linear term. The gap is the gap of
    `prob`, screened terms included. If it is too large at the solution of the reduced problem, the
    reduced problem is solved more accurately.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    screened : Screened
        The terms that are certain for lam.
    x0 : element, optional
        The start.
    alpha0 : array of shape (T,), optional
        The dual point that goes with `x0`, as in :func:`solve`.
    screening : tuple of str
        As in :func:`solve`.
    **options : dict
        `tol`, `rtol`, `freq`, `max_iter`, `method` and `max_seconds`, as in :func:`solve`.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-4.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> solve_screened(problem, 0.5, ss.screen(problem, np.array([0.7]), 0.5)).x.round(3).tolist()
    [0.8]
    """
    prob = check_problem(prob)
    lam = check_lam(lam)
    prob.terms.require("singles", by="solve_screened")
    setup = set_up(prob, screening=screening, **options)
    reduction = Reduction(prob).known(screened)
    alpha = None if alpha0 is None else reduction.restrict(alpha0)
    x = prob.cone.zeros() if x0 is None else x0
    start = State.begin(Point(x, alpha=alpha), lam, setup.limits)
    return _finished(reduction, setup, drive(reduction, setup, start))


def _finished(reduction, setup, state):
    """Return the solution at the end of a solve, and warn if it has not converged."""
    solution = solution_of(reduction, finished(reduction, state, setup))
    warn_if_not_converged(solution, setup.limits)
    return solution


def observer(callback: Callable[[Progress], Any] | None) -> Observe | None:
    """Return the function that shows each point to a user's callback."""
    if callback is None:
        return None

    def observe(reduction, state):
        now = state.history[-1]
        values = judged_later(reduction, state)
        return callback(
            Progress(
                iteration=now.iteration,
                x=copy.copy(reduction.embed(state.evaluation.x)),
                primal=lambda: values().primal,
                gap=lambda: values().gap,
                n_terms=now.n_terms,
                n_L=now.n_L,
                n_R=now.n_R,
                seconds=now.seconds,
                lam=state.lam,
            )
        )

    return observe


def solution_of(reduction: Reduction, state: State, keep_masks: bool = True) -> Solution:
    """Return the solution of a finished state, with the masks of screening if `keep_masks`."""
    whole = reduction.whole
    cone = whole.cone
    evaluation = state.evaluation
    x = evaluation.x
    # linear parts of screened terms included
    loss = evaluation.primal - 0.5 * evaluation.lam * cone.inner(x, x)
    if whole.linear is not None:
        loss += cone.inner(whole.linear, x)
    intercept = evaluation.sums.intercept
    if state.problem is not whole or intercept is None:
        intercept = whole.terms.intercept(x, whole.loss)
    return Solution(
        x=x,
        lam=evaluation.lam,
        gap=evaluation.gap,
        primal=evaluation.primal,
        loss=loss,
        n_iter=state.n_iter,
        reason=state.reason,
        history=state.history,
        n_terms=len(whole),
        n_L=reduction.n_L,
        n_R=reduction.n_R,
        eps=state.eps,
        step=state.point.step,
        solver=state.point.solver,
        problem=whole,
        packed=pack(reduction.status) if keep_masks and whole.terms.explicit else None,
        dual_point=state.best_dual,
        intercept=intercept,
        zero_features=reduction.zero_features,
    )


def warn_if_not_converged(solution: Solution, limits: Limits) -> None:
    """Warn if the solution has not converged."""
    if not solution.converged:
        warn(shortfall(solution, limits), ConvergenceWarning)


def shortfall(solution: Solution, limits: Limits) -> str:
    """Return a text that says how far the gap of a solution is from the required gap."""
    goal = limits.goal(solution.primal)
    return (
        f"lam = {solution.lam:g}: duality gap {solution.gap:.3g} after {solution.n_iter} "
        f"iterations, asked for {goal:.3g}"
    )
