"""Solve a problem for one lam."""

import warnings

import numpy as np

from safescreen._checks import check_callback, check_lam, check_scalar
from safescreen.problem import Problem
from safescreen.rounding import sqrt_upper, upper
from safescreen.solvers.methods import METHODS, check_method
from safescreen.solvers.projected_gradient import Descent, Limits
from safescreen.solvers.reduction import Reduction, parse_screening, reference
from safescreen.solvers.solution import PackedDual, PackedMasks, Solution
from safescreen.spheres import reference_accuracy

__all__ = [
    "ConvergenceWarning",
    "accuracy_of",
    "accuracy_slack",
    "check_freq",
    "check_limits",
    "check_problem",
    "run",
    "solve",
    "warn_if_not_converged",
]


class ConvergenceWarning(UserWarning):
    """The gap did not reach the tolerance."""


def solve(
    prob,
    lam,
    tol=1e-6,
    rtol=0.0,
    x0=None,
    screening=("RRPB", "PGB"),
    freq=10,
    active_set=False,
    callback=None,
    max_iter=10_000,
    method="auto",
):
    """Solve a problem for one lam, screening as it goes.

    STS19 Algorithm 1. Over a cone: projected gradient (Barzilai-Borwein steps). Over the whole space: dual coordinate descent, then
    semismooth Newton steps. The hinge through a proximal method of multipliers where a solver needs a smooth loss.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    tol, rtol : float >= 0
        Stop when the duality gap is at most ``max(tol, rtol |P|)``, in units of the objective and relative to it. The gap is an upper
        bound that includes rounding, and it is the gap of `prob` itself, screened terms included.
    x0 : element of the cone, optional
        Where to start; zero if left out.
    screening : tuple of str
        Spheres by name from ``SPHERES``, each with the sphere rule, or with another rule: ``"GB+halfspace"``; or two spheres and the points
        that lie in both: ``"MGB&BT2"``. ``()`` screens nothing.
    freq : int
        Screen each `freq` iterations.
    active_set : bool
        Iterate on terms with non-zero loss only, between checks of all terms.
    callback : callable, optional
        ``callback(iteration, x)``, with an :class:`Iteration`; returning a true value stops the solve.
    max_iter : int
        Largest number of iterations: gradient or Newton steps, or sweeps of coordinate descent.
    method : {"auto", "gradient", "newton", "coordinate", "unshrunk", "hybrid"}
        The last four for terms over the whole space, such as samples: Newton's method, coordinate descent with and without shrinking, and
        coordinate descent that hands over to Newton's method where it is slow, which is what "auto" means there.

    Returns
    -------
    Solution

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not reached; the message gives the gap.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> solution = solve(ss.Problem(triplets, ss.SmoothedHinge(0.05)), 100.0)
    >>> solution.converged, solution.x.round(4).tolist(), solution.gap <= 1e-6
    (True, [[0.1208]], True)
    """
    prob = check_problem(prob)
    lam = check_lam(lam)
    limits = check_limits(tol, rtol, max_iter)
    tests = parse_screening(screening, prob)
    x = prob.cone.zeros() if x0 is None else prob.cone.check_feasible(x0, "x0")
    options = (limits, tests, check_freq(freq), bool(active_set), check_callback(callback))
    solution, _ = run(Reduction(prob), lam, Descent(x), *options, method=check_method(method, prob))
    warn_if_not_converged(solution, limits)
    return solution


def run(reduction, lam, state, limits, tests, freq, active_set, callback, *, alpha=None, method=None, keep_masks=True):
    """Solve what a reduction leaves, and judge the result on the whole problem.

    Returns
    -------
    Solution, (Problem, LossSums)
        A problem and its sums at the solution, the reference of a neighbouring lam: evaluated there for any lam they give what the
        whole problem would.
    """

    def screen(evaluation):
        """Screen at an evaluated point; return whether the problem that is left has changed."""
        reduction.tried = evaluation.gap
        return reduction.screen(tests, reference(evaluation), accuracy_slack(evaluation, limits))

    whole = reduction.whole
    method = METHODS["gradient"] if method is None else method
    options = {"screen": screen if tests else None, "freq": freq, "active_set": active_set, "callback": callback}
    target = limits
    for _ in range(12):
        reached, alpha = method(reduction, lam, state, target, alpha, **options)
        evaluation, eps = state.evaluation, reference_accuracy(state.evaluation)
        if eps < reduction.slack:  # every screened term is in its region at x: nothing is left out
            sums = reduction.problem, evaluation.sums
            break
        sums = whole, _sums(whole, state.x, alpha)
        evaluation = whole.assemble(sums[1], state.x, lam)
        if not reached or state.stopped or limits.reached(evaluation.gap, evaluation.primal):
            break
        # screened terms cost something at x: ask for more accuracy of the reduced problem
        target = Limits(0.1 * target.tol, 0.1 * target.rtol, limits.max_iter)
    loss = evaluation.primal - 0.5 * lam * whole.cone.inner(state.x, state.x)  # linear parts of screened terms included
    if whole.linear is not None:
        loss += whole.cone.inner(whole.linear, state.x)
    solution = Solution(
        x=state.x,
        lam=lam,
        gap=evaluation.gap,
        primal=evaluation.primal,
        loss=loss,
        n_iter=state.n_iter,
        converged=bool(limits.reached(evaluation.gap, evaluation.primal)),
        history=state.history,
        n_L=reduction.n_L,
        n_R=reduction.n_R,
        eps=float(np.fmin(reference_accuracy(evaluation), eps)),
        step=state.step,
        problem=whole,
        packed=PackedMasks(reduction.status) if keep_masks and reduction.explicit else None,
        fractional=PackedDual(alpha) if alpha is not None and reduction.explicit else None,
    )
    return solution, sums


def accuracy_of(limits, primal, lam):
    """Return an upper bound of ``||x - x*||`` for any x whose gap the limits accept, when its objective is at most `primal`."""
    gap = max(limits.tol, limits.rtol * (1.0 + 4.0 * limits.rtol) * abs(primal))
    return upper(sqrt_upper(2.0 * gap / lam), 8)


def accuracy_slack(evaluation, limits):
    """Return by how much balls are enlarged so that any x the limits will accept lies in them too."""
    return upper(accuracy_of(limits, evaluation.primal, evaluation.lam) + 2.0 * evaluation.x_error, 4)


def _sums(problem, x, alpha):
    if alpha is None or np.ndim(alpha):
        return problem.terms.loss_sums(x, problem.loss, alpha)
    return problem.terms.hinge_sums(x, alpha)


def warn_if_not_converged(solution, limits):
    """Warn with the gap reached."""
    if not solution.converged:
        goal = max(limits.tol, limits.rtol * abs(solution.primal))
        text = f"lam = {solution.lam:g}: duality gap {solution.gap:.3g} after {solution.n_iter} iterations, asked for {goal:.3g}"
        warnings.warn(text, ConvergenceWarning, stacklevel=3)


def check_limits(tol, rtol, max_iter):
    """Return the checked :class:`Limits`."""
    tol, rtol = check_scalar(tol, "tol", low=0.0), check_scalar(rtol, "rtol", low=0.0)
    if tol == 0.0 and rtol == 0.0:
        raise ValueError("tol and rtol must not both be 0")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive int, got {max_iter!r}")
    return Limits(tol, rtol, int(max_iter))


def check_freq(freq):
    """Return the checked screening frequency."""
    if isinstance(freq, bool) or not isinstance(freq, int | np.integer) or freq < 1:
        raise ValueError(f"freq must be a positive int, got {freq!r}")
    return int(freq)


def check_problem(prob):
    """Return `prob` if it is a Problem; TypeError otherwise."""
    if not isinstance(prob, Problem):
        raise TypeError(f"prob must be a Problem, got {type(prob).__name__}")
    return prob
