"""Solve a problem for one lam."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from safescreen._checks import check_lam
from safescreen._threads import with_small_blas
from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.rules import Screened
from safescreen.solvers.methods import check_method
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.run import run, warn_if_not_converged
from safescreen.solvers.settings import Descent, Settings
from safescreen.solvers.solution import DualPoint, Progress, Solution


@with_small_blas
def solve(
    prob: Problem,
    lam: float,
    tol: float | None = None,
    rtol: float | None = None,
    x0: ElementLike | None = None,
    screening: str | Iterable[str] = "auto",
    freq: int = 10,
    active_set: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    max_iter: int = 10_000,
    method: str = "auto",
) -> Solution:
    """Solve a problem for one lam, screening as it goes.

    STS19 Algorithm 1. Over a cone: projected gradient (Barzilai-Borwein steps), for the hinge with
    semismooth Newton steps. Over the whole space: dual coordinate descent, then semismooth Newton
    steps. The hinge through a proximal method of multipliers where a solver needs a smooth loss.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    tol, rtol : float >= 0, optional
        Stop when the duality gap is at most ``max(tol, rtol |P|)``: `tol` is absolute, in units of
        the objective P, `rtol` is relative to it. One that is left out counts as 0; without either
        ``rtol`` is 1e-6. The gap is an upper bound that includes rounding, and it is the gap of
        `prob` itself, screened terms included.
    x0 : element of the cone, optional
        Where to start; zero if left out.
    screening : "auto" or tuple of str
        When and with which ball follows from counted operations, see
        :mod:`safescreen.solvers.schedule`. Or spheres by name from ``SPHERES``, each with the
        sphere rule, or with another rule: ``"GB+halfspace"``; or two spheres and the points that
        lie in both: ``"MGB&BT2"``. ``()`` screens nothing.
    freq : int
        Screen each `freq` iterations, if spheres are named.
    active_set : bool
        Iterate on terms with non-zero loss only, between checks of all terms.
    callback : callable, optional
        ``callback(progress)``, with a :class:`Progress`; returning a true value stops the solve.
    max_iter : int
        Largest number of iterations: gradient or Newton steps, or sweeps of coordinate descent.
    method : {"auto", "gradient", "semismooth", "newton", "coordinate", "unshrunk", "hybrid"}
        "semismooth" is projected gradient with Newton steps between, which "auto" means for the
        hinge of single terms over a cone. The last four are for terms over the whole space, such as
        samples: Newton's method, coordinate descent with and without shrinking, and coordinate
        descent that hands over to Newton's method where it is slow, which is what "auto" means
        there.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not reached, at the line of the caller; the message gives the gap.

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
    settings = Settings.checked(prob, tol, rtol, max_iter, screening, freq, active_set, callback)
    prob.cone.forget()
    x = prob.cone.zeros() if x0 is None else prob.cone.check_feasible(x0, "x0")
    solution, _ = run(Reduction(prob), Descent(x, lam), settings, check_method(method, prob))
    warn_if_not_converged(solution, settings.limits)
    return solution


@with_small_blas
def solve_screened(
    prob: Problem,
    lam: float,
    screened: Screened,
    x0: ElementLike | None = None,
    alpha0: NDArray | None = None,
    *,
    tol: float | None = None,
    rtol: float | None = None,
    screening: Iterable[str] = (),
    freq: int = 10,
    max_iter: int = 10_000,
    method: str = "auto",
) -> Solution:
    """Solve what a test leaves of a problem, and judge the result on all of it.

    Terms in R are dropped, those in L folded into the linear term. The gap is that of `prob`,
    screened terms included: where they cost something at a point that is optimal to a tolerance
    only, the smaller problem is solved further.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    screened : Screened
        What is certain for lam.
    x0 : element, optional
        Where to start.
    alpha0 : array of shape (T,), optional
        The dual point that goes with it; used for the hinge.
    tol, rtol, screening, freq, max_iter, method
        As in :func:`solve`.

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
    settings = Settings.checked(prob, tol, rtol, max_iter, screening, freq)
    state = Descent(prob.cone.zeros() if x0 is None else x0, lam)
    if alpha0 is not None and prob.loss.smoothing == 0.0:
        state.alpha = DualPoint(alpha0)
    solution, _ = run(Reduction(prob).known(screened), state, settings, check_method(method, prob))
    warn_if_not_converged(solution, settings.limits)
    return solution


def check_problem(prob: Problem) -> Problem:
    """Return `prob` if it is a Problem; TypeError otherwise."""
    if not isinstance(prob, Problem):
        raise TypeError(f"prob must be a Problem, got {type(prob).__name__}")
    return prob
