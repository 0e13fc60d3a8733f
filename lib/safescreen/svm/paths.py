"""Paths in C (SSS14 section IV-B and Algorithm 1): each solution is the reference of the tests for the next."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from safescreen import paths
from safescreen._checks import check_grid, check_lam, check_scalar
from safescreen.losses import Loss
from safescreen.svm.eps import eps_next_C
from safescreen.svm.references import c_min, problem_of
from safescreen.terms import Terms

TESTS = {"BT1": ("MGB",), "BT2": ("BT2",), "IT": ("MGB&BT2",), None: ()}
"""The papers' tests as screening of :func:`safescreen.path`: ball 1 is the midpoint gap bound of the last solution, ball 2 the one with
``choose_s`` in place of its dual point."""


def path(
    terms: Terms,
    Cs: ArrayLike,
    test: str | None = "IT",
    loss: Loss | None = None,
    *,
    rtol: float = 1e-6,
    tol: float = 0.0,
    screening: str | tuple[str, ...] = "auto",
    **options: Any,
) -> paths.Path:
    """Solve for an increasing sequence of C; before each but the first a test with the last solution takes samples out.

    It is :func:`safescreen.path` for ``lam = 1/C``.

    Parameters
    ----------
    terms : Samples or other terms
    Cs : array
        Strictly increasing.
    test : {"IT", "BT1", "BT2", None}
    loss : SmoothedHinge, optional
        The hinge if left out.
    rtol, tol : float
        Stop each solve when its duality gap on all samples is at most ``max(tol, rtol |P|)``, P the objective divided by C.
    screening : "auto" or tuple of str
        How a solve screens on as it goes, which the papers do not; ``()`` is the papers' form.
    **options
        ``ranges``, ``freq``, ``max_iter``, ``method``, ``callback``, ``progress`` and others of :func:`safescreen.path`.

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
    lams = 1.0 / check_grid(Cs, "Cs")
    return paths.path(problem_of(terms, loss), lams, screening=_screening(test), dynamic=screening, rtol=rtol, tol=tol, **options)


def eps_path(
    terms: Terms,
    C_max: float,
    eps: float = 1e-3,
    test: str | None = "IT",
    loss: Loss | None = None,
    *,
    rtol: float | None = None,
    tol: float = 0.0,
    screening: str | tuple[str, ...] = "auto",
    max_solutions: int = 10_000,
    **options: Any,
) -> paths.Path:
    """Solve from ``C_min`` up to `C_max` so that between neighbours the former, scaled, is optimal to a relative error `eps`.

    SSS14 Algorithm 1 with the next C of :func:`eps_next_C`. It ends early when no sample is left in L, from where on w is the same. The
    path's ``stop_reason`` is ``"grid"`` (`C_max` reached), ``"no L"``, ``"length"``, or one of those of :func:`safescreen.path`.

    Parameters
    ----------
    terms : Samples or other terms
    C_max : float
        Larger than ``C_min``.
    eps : float > 0
    test, loss
        As for :func:`path`.
    rtol : float, optional
        Relative gap of each solution, well below `eps`; ``eps/1000`` if left out.
    tol, screening, max_solutions, **options
        As for :func:`path`; `max_solutions` is an int.

    Examples
    --------
    >>> import safescreen as ss
    >>> len(eps_path(ss.Samples([[1.0], [-2.0], [0.5]], [1, -1, -1]), 1.0, eps=0.1)) > 2
    True
    """
    prob, C_max, start = problem_of(terms, loss), check_lam(C_max, "C_max"), c_min(terms, loss)
    eps = check_scalar(eps, "eps", low=0.0, open_low=True)
    rtol = 1e-3 * eps if rtol is None else check_scalar(rtol, "rtol", low=0.0, high=0.5 * eps)
    if not 0.0 < start < C_max:
        raise ValueError(f"C_max must be larger than C_min = {start:g}, which must be positive; got {C_max:g}")
    reason = ["grid"]

    def following(solutions):
        """Return the next lam, given the solutions so far."""
        if not solutions:
            return 1.0 / start
        last = solutions[-1]
        if last.lam * C_max <= 1.0:
            return None
        if len(solutions) >= max_solutions:
            reason[0] = "length"
        elif not (last.alpha >= 1.0).any():
            reason[0] = "no L"
        else:
            return max(1.0 / eps_next_C(terms, last, eps, prob.loss), 1.0 / C_max)
        return None

    found = paths.path(prob, following, screening=_screening(test), dynamic=screening, rtol=rtol, tol=tol, **options)
    return replace(found, stop_reason=reason[0]) if found.stop_reason == "grid" else found


def _screening(test):
    if test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(t for t in TESTS if t)} or None, got {test!r}")
    return TESTS[test]
