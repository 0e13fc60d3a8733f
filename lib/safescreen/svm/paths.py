"""Paths in C (SSS14 section IV-B and Algorithm 1): each solution is the reference of the tests for the next."""

import warnings
from dataclasses import replace

import numpy as np

from safescreen._checks import check_lam, check_scalar, check_vector
from safescreen.paths import Path
from safescreen.rules import Screened
from safescreen.solvers import ConvergenceWarning, Solution, solve
from safescreen.solvers.solution import PackedDual, PackedMasks
from safescreen.spheres import reference_accuracy
from safescreen.svm.balls import ball_test_1, ball_test_2, choose_s, intersection_test
from safescreen.svm.eps import eps_next_C
from safescreen.svm.references import as_reference, c_min, problem_of, solution_below_c_min

__all__ = ["TESTS", "check_grid", "eps_path", "path", "solve_screened"]


def _second(terms, C, reference, loss=None):
    reference = as_reference(reference)
    return ball_test_2(terms, C, reference.w, choose_s(terms, C, reference, loss=loss), loss)


TESTS = {"BT1": ball_test_1, "BT2": _second, "IT": intersection_test}
"""Tests that take a path from one C to the next: ``test(terms, C, reference, loss=...)``."""


def path(terms, Cs, test="IT", loss=None, *, rtol=1e-6, tol=0.0, screening=("MGB",), **options):
    """Solve for an increasing sequence of C; before each a test with the last solution as its reference takes samples out.

    Parameters
    ----------
    terms : Samples or other terms
    Cs : array
        Strictly increasing; the first is solved with ``C_min`` as its reference if it is larger than that.
    test : {"IT", "BT1", "BT2", None}
    loss : SmoothedHinge, optional
        The hinge if left out.
    rtol, tol : float
        Stop each solve when its duality gap on all samples is at most ``max(tol, rtol |P|)``, P the objective divided by C.
    screening : tuple of str
        Spheres by which a solve screens on as it goes, which the papers do not; ``()`` is the papers' form.
    **options
        For :func:`safescreen.solve`.

    Returns
    -------
    Path
        ``lams`` are ``1/C``; ``path_rates`` the rates of the test alone.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, -1])
    >>> [solution.converged for solution in path(samples, [0.1, 0.2, 0.4])]
    [True, True, True]
    """
    Cs = check_grid(Cs)
    return _walk(problem_of(terms, loss), iter(Cs[1:]), Cs[0], test, {"rtol": rtol, "tol": tol, "screening": screening, **options})


def eps_path(terms, C_max, eps=1e-3, test="IT", loss=None, *, rtol=None, tol=0.0, screening=("MGB",), max_solutions=10_000, **options):
    """Solve from ``C_min`` up to `C_max` so that between neighbours the former, scaled, is optimal to a relative error `eps`.

    SSS14 Algorithm 1 with the next C of :func:`eps_next_C`. It ends early when no sample is left in L, from where on w is the same.

    Parameters
    ----------
    terms, test, loss, tol, screening, **options
        As for :func:`path`.
    C_max : float
        Larger than ``C_min``.
    eps : float > 0
    rtol : float, optional
        Relative gap of each solution, well below `eps`; ``eps/1000`` if left out.
    max_solutions : int

    Returns
    -------
    Path
        ``stop_reason`` is ``"grid"`` (`C_max` reached), ``"no L"`` or ``"length"``.
    """
    prob, C_max, start = problem_of(terms, loss), check_lam(C_max, "C_max"), c_min(terms, loss)
    eps = check_scalar(eps, "eps", low=0.0, open_low=True)
    rtol = 1e-3 * eps if rtol is None else check_scalar(rtol, "rtol", low=0.0, high=0.5 * eps)
    if not 0.0 < start < C_max:
        raise ValueError(f"C_max must be larger than C_min = {start:g}, which must be positive; got {C_max:g}")
    reason = []

    def following():
        """Yield the next C, given the last solution."""
        solution = yield
        for _ in range(max_solutions - 1):
            if solution.lam * C_max <= 1.0:
                reason.append("grid")
                return
            if not (solution.alpha >= 1.0).any():
                reason.append("no L")
                return
            solution = yield min(eps_next_C(terms, solution, eps, prob.loss), C_max)
        reason.append("length")

    found = _walk(prob, following(), start, test, {"rtol": rtol, "tol": tol, "screening": screening, **options})
    return replace(found, stop_reason=reason[0])


def _walk(prob, grid, first, test, options):
    """Solve for `first`, then for each C of `grid`; a generator is told the last solution."""
    if test is not None and test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(TESTS)} or None, got {test!r}")
    terms, n = prob.terms, len(prob)
    smallest = c_min(terms, prob.loss)
    reference = solution_below_c_min(terms, min(first, smallest), prob.loss) if smallest > 0.0 else None
    solutions, rates, C = [], [], first
    if hasattr(grid, "send"):
        next(grid)
    while True:
        screened = None if test is None or reference is None else TESTS[test](terms, C, reference, loss=prob.loss)
        screened = Screened(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)) if screened is None else screened
        start = None if reference is None else reference.w
        solutions.append(solve_screened(prob, C, screened, start, **options))
        rates.append(screened.rate)
        reference = as_reference(solutions[-1])
        try:
            C = grid.send(solutions[-1]) if hasattr(grid, "send") else float(next(grid))
        except StopIteration:
            return Path(solutions, rates, "grid")


def solve_screened(prob, C, screened, x0=None, *, rtol=1e-6, tol=0.0, **options) -> Solution:
    """Solve for C what a test leaves of a problem, and judge the result on all of it.

    Samples in R are dropped, those in L folded into the linear term (:meth:`safescreen.Problem.reduce`). The gap is that of `prob`,
    screened samples included: where they cost something at a point that is optimal to a tolerance only, the smaller problem is solved
    further.
    """
    lam, alpha, status = 1.0 / C, np.zeros(len(prob)), screened.in_L + 2 * screened.in_R
    reduced, left = prob.reduce(screened.in_L, screened.in_R), ~(screened.in_L | screened.in_R)
    n_iter, factor = 0, 1.0
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            part = solve(reduced, lam, rtol=factor * rtol, tol=factor * tol, x0=x0, **options)
        n_iter += part.n_iter
        alpha[screened.in_L], alpha[left] = 1.0, part.alpha
        e = prob.evaluate(part.x, lam, alpha)
        converged = bool(e.gap <= max(tol, rtol * abs(e.primal)))
        if converged or not part.converged or factor < 1e-4:
            break
        x0, factor = part.x, 0.1 * factor
    if not converged:
        text = f"C = {C:g}: duality gap {e.gap:.3g} after {n_iter} iterations, asked for {max(tol, rtol * abs(e.primal)):.3g}"
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    if part.screened is not None:
        status[left] = part.screened.in_L + 2 * part.screened.in_R
    return replace(
        part,
        gap=e.gap,
        primal=e.primal,
        loss=e.loss,
        n_iter=n_iter,
        converged=converged,
        n_L=int(np.count_nonzero(status == 1)),
        n_R=int(np.count_nonzero(status == 2)),
        eps=reference_accuracy(e),
        problem=prob,
        packed=PackedMasks(status),
        fractional=PackedDual(alpha),
    )


def check_grid(Cs):
    """Return a strictly increasing array of positive C."""
    Cs = check_vector(Cs, np.size(Cs), "Cs")
    if Cs.size == 0:
        raise ValueError("Cs must hold at least one value, got none")
    if not Cs[0] > 0.0:
        raise ValueError(f"Cs must be positive, found {Cs[0]:g}")
    if (np.diff(Cs) <= 0.0).any():
        raise ValueError("Cs must be strictly increasing")
    return Cs
