"""Paths in C (SSS14 section IV-B, appendix D and Algorithm 1): each solution is the reference of
the tests for the next C.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from safescreen import paths
from safescreen._checks import check_count, check_grid, check_lam, check_scalar
from safescreen.losses import Loss
from safescreen.problem import Evaluation, Problem
from safescreen.solvers.methods import without_features
from safescreen.solvers.reduction import parse_screening
from safescreen.svm.references import ReferenceLike, as_reference, c_min, problem_of
from safescreen.terms import Terms

TESTS = {"BT1": ("MGB",), "BT2": ("BT2",), "IT": ("MGB&BT2",), None: ()}
"""The papers' tests as screening of :func:`safescreen.path`.

Ball 1 is the midpoint gap bound of the last solution. Ball 2 uses the result of ``choose_s`` in
place of the dual point of that solution.
"""


def path(
    terms: Terms,
    Cs: ArrayLike,
    test: str | None = "IT",
    loss: Loss | None = None,
    *,
    tol: float | None = None,
    rtol: float | None = None,
    screening: str | tuple[str, ...] = "auto",
    **options: Any,
) -> paths.Path:
    """Solve for an increasing sequence of C. Before each solve but the first, a test with the last
    solution screens samples.

    The function calls :func:`safescreen.path` with ``lam = 1/C``.

    Parameters
    ----------
    terms : Samples or other terms
    Cs : array
        Positive and strictly increasing.
    test : {"IT", "BT1", "BT2", None}
        The intersection test, ball test 1, ball test 2, or none.
    loss : SmoothedHinge, optional
        The hinge if left out.
    tol, rtol : float >= 0, optional
        A solve stops when its duality gap on all samples is at most ``max(tol, rtol |P|)``, where P
        is the objective divided by C. If only one is given, the other is 0; if both are left out,
        `rtol` is 1e-6.
    screening : "auto" or tuple of str
        How a solve screens during its iterations. The papers do not screen during a solve; ``()``
        does not either.
    **options
        ``ranges``, ``freq``, ``max_iter``, ``method``, ``callback``, ``progress`` and other options
        of :func:`safescreen.path`.

    Returns
    -------
    Path
        Its ``lams`` are ``1/C``, and its ``path_rates`` are the screening rates of the test alone.

    Raises
    ------
    ValueError, TypeError
        `Cs` does not increase or is not positive, or `test` is unknown; and as for
        :func:`safescreen.path`.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, -1])
    >>> [solution.converged for solution in path(samples, [0.1, 0.2, 0.4])]
    [True, True, True]
    """
    lams = 1.0 / check_grid(Cs, "Cs")
    prob = problem_of(terms, loss)
    return paths.path(
        prob,
        lams,
        screening=_screening(test),
        dynamic=_checked(screening, prob),
        tol=tol,
        rtol=rtol,
        **options,
    )


def eps_path(
    terms: Terms,
    C_max: float,
    eps: float = 1e-3,
    test: str | None = "IT",
    loss: Loss | None = None,
    *,
    tol: float | None = None,
    rtol: float | None = None,
    screening: str | tuple[str, ...] = "auto",
    max_solutions: int = 10_000,
    **options: Any,
) -> paths.Path:
    """Solve for values of C from ``C_min`` to `C_max`. Up to the next value, each solution, scaled,
    is optimal to a relative error `eps`.

    SSS14 Algorithm 1, with the next C of :func:`eps_next_C`.

    Parameters
    ----------
    terms : Samples or other terms
    C_max : float
        Larger than ``C_min``.
    eps : float > 0
        Relative error of the dual objective.
    test, loss
        As for :func:`path`.
    tol, rtol : float >= 0, optional
        Gap of each solution, as for :func:`path`. `rtol` must be at most ``eps/2``; if both are
        left out, it is ``eps/1000``.
    screening, max_solutions, **options
        As for :func:`path`; `max_solutions` is the largest number of solutions.

    Returns
    -------
    Path
        Its ``reason`` is ``"grid"`` (`C_max` is reached), ``"no L"`` (no sample is in L any more,
        so w is the same for all larger C), ``"length"`` (the path has `max_solutions` solutions),
        ``"not converged"`` (the last solution is not optimal to `eps`), ``"rounding"`` (for no
        larger C is the scaled solution certain to be optimal to `eps`), or a reason of
        :func:`safescreen.path`.

    Raises
    ------
    ValueError, TypeError
        `C_max` is not larger than ``C_min``, ``C_min`` is not positive, `eps` is not positive, or
        `rtol` is above ``eps/2``.

    Examples
    --------
    >>> import safescreen as ss
    >>> len(eps_path(ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, -1]), 1.0, eps=0.1)) > 2
    True
    """
    prob = problem_of(terms, loss)
    C_max = check_lam(C_max, "C_max")
    start = c_min(terms, loss)
    eps = check_scalar(eps, "eps", low=0.0, open_low=True)
    if tol is None and rtol is None:
        rtol = 1e-3 * eps
    if rtol is not None:
        rtol = check_scalar(rtol, "rtol", low=0.0, high=0.5 * eps)
    if not 0.0 < start < C_max:
        raise ValueError(
            f"C_max must be larger than C_min = {start:g}, which must be positive; got {C_max:g}"
        )
    most = check_count(max_solutions, "max_solutions")
    reason = ["grid"]

    def following(solutions):
        """Return the next lam, given the solutions so far."""
        if not solutions:
            return 1.0 / start
        last = solutions[-1]
        if last.lam * C_max <= 1.0:
            return None
        if len(solutions) >= most:
            reason[0] = "length"
        elif not (last.alpha >= 1.0).any():
            reason[0] = "no L"
        elif not last.converged and not is_eps_good(
            last.problem, last.problem.evaluate(last.x, last.lam, last.alpha), 1.0 / last.lam, eps
        ):
            reason[0] = "not converged"
        else:
            C = eps_next_C(last.problem.terms, last, eps, prob.loss)
            lam = max(1.0 / C, 1.0 / C_max)
            if lam < last.lam:
                return lam
            reason[0] = "rounding"
        return None

    solved = paths.path(
        prob,
        following,
        screening=_screening(test),
        dynamic=_checked(screening, prob),
        tol=tol,
        rtol=rtol,
        **options,
    )
    return replace(solved, reason=reason[0]) if solved.reason == "grid" else solved


def eps_next_C(
    terms: Terms, reference: ReferenceLike, eps: float = 1e-3, loss: Loss | None = None
) -> float:
    """Return the largest C up to which the scaled reference is optimal to a relative error `eps`.
    The range begins at the C0 of the reference.

    SSS14 equation 35: ``D_C(alpha*) - D_C(rho alpha0) <= eps D_C(alpha*)`` with ``rho = C/C0`` and
    dual variables in the scale of the paper.

    Parameters
    ----------
    terms : Samples or other terms
    reference : Reference or Solution
        For C0, exact or not.
    eps : float > 0
    loss : SmoothedHinge, optional
        If left out, the loss of the reference; the hinge if the reference has none.

    Returns
    -------
    float
        C; infinite if ``v0 = 0``, and C0 if, because of rounding, no larger C is certain.

    Raises
    ------
    ValueError
        The relative gap of the reference is above `eps`.

    Notes
    -----
    The left side of equation 35 is at most the duality gap of ``(w0, rho alpha0)``, and
    ``D_C(alpha*) >= D_C(rho alpha0)``. Let ``v0 = C0 sum_i alpha0_i z_i`` and
    ``c = sum_i tau_i alpha0_i - gamma/2 alpha0_i^2``, and let ``phi >= 0`` be the Fenchel terms of
    the reference. Then equation 35 follows from::

        ||w0 - rho v0||^2/2 + rho C0 phi  <=  eps (rho C0 c - rho^2 ||v0||^2/2)

    rho is the larger root of this quadratic. The left side minus the right side is convex in rho,
    so the inequality holds between 1 and rho if it holds at both. For an exact reference
    ``v0 = w0``, ``phi = 0`` and ``C0 c = C0 xi0 + ||w0||^2``, and the inequality is the one of the
    paper.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> round(eps_next_C(samples, ss.svm.solution_below_c_min(samples, 0.125), 0.1), 6)
    0.194733
    """
    reference = as_reference(reference)
    eps = check_scalar(eps, "eps", low=0.0, open_low=True)
    prob = problem_of(terms, loss, reference)
    cone = prob.cone
    C0 = reference.C
    w = cone.check_feasible(reference.w, "reference.w")
    e = prob.evaluate(w, 1.0 / C0, reference.alpha)
    if not is_eps_good(prob, e, C0, eps):
        raise ValueError(
            f"reference must have a gap of at most {eps:g} of its dual value {e.dual:.3g}, "
            f"found {e.gap:.3g}"
        )
    v = e.x_alpha
    square = cone.inner(w, w)
    conjugate = e.dual + 0.5 / C0 * cone.inner(v, v)
    a = 0.5 * (1.0 + eps) * cone.inner(v, v)
    b = (
        cone.inner(w, v)
        - C0 * (max(cone.inner(w, e.minus), 0.0) + e.fenchel)
        + eps * C0 * conjugate
    )
    if not a > 0.0:
        return math.inf
    rho = (b + math.sqrt(max(b * b - 2.0 * a * square, 0.0))) / (2.0 * a)
    for shrink in (0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1e-2, 0.1, 0.5):
        C = C0 * (1.0 + (rho - 1.0) * (1.0 - shrink))
        if C > C0 and is_eps_good(prob, e, C, eps):
            return C
    return C0


def is_eps_good(prob: Problem, e: Evaluation, C: float, eps: float) -> bool:
    """Return whether the gap for C at an evaluated point is at most `eps` times the dual value. The
    gap includes rounding.
    """
    at_C = prob.assemble(e.sums, e.x, 1.0 / check_lam(C, "C"))
    return at_C.gap <= eps * at_C.dual


def _checked(screening, prob):
    """Check a user's `screening`, so that errors name this argument, and return it."""
    names, _ = without_features(screening, prob)
    if isinstance(names, tuple):
        parse_screening(names, prob)
    return screening


def _screening(test):
    if not isinstance(test, str | None) or test not in TESTS:
        raise ValueError(
            f"test must be one of {', '.join(t for t in TESTS if t)} or None, got {test!r}"
        )
    return TESTS[test]
