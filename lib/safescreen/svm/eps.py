"""The next C of an approximation path (SSS14 appendix D)."""

import math

from safescreen._checks import check_lam, check_scalar
from safescreen.losses import Loss
from safescreen.problem import Evaluation, Problem
from safescreen.svm.references import ReferenceLike, as_reference, problem_of
from safescreen.terms import Terms


def eps_next_C(terms: Terms, reference: ReferenceLike, eps: float = 1e-3, loss: Loss | None = None) -> float:
    """Return the largest C for which the reference, scaled, is optimal to a relative error `eps` from its own C0 up to there.

    SSS14 equation 35: ``D_C(alpha*) - D_C(rho alpha0) <= eps D_C(alpha*)`` with ``rho = C/C0`` and dual variables in the paper's scale.
    The difference is at most the duality gap of ``(w0, rho alpha0)``, and ``D_C(alpha*) >= D_C(rho alpha0)``. With
    ``v0 = C0 sum_i alpha0_i z_i``, ``c = sum_i tau_i alpha0_i - gamma/2 alpha0_i^2`` and ``phi >= 0`` the Fenchel terms of the reference::

        ||w0 - rho v0||^2/2 + rho C0 phi  <=  eps (rho C0 c - rho^2 ||v0||^2/2)

    implies it; rho is the larger root of that quadratic, and C infinite if ``v0 = 0``. Both sides' difference is convex in rho, so what
    holds at 1 and at rho holds in between. For an exact reference ``v0 = w0``, ``phi = 0`` and ``C0 c = C0 xi0 + ||w0||^2``, the
    inequality of the paper.

    Parameters
    ----------
    terms : Samples or other terms
    reference : Reference or Solution
        For C0, exact or not.
    eps : float > 0
    loss : SmoothedHinge, optional

    Raises
    ------
    ValueError
        The reference's own relative gap is above `eps`.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> round(eps_next_C(samples, ss.svm.solution_below_c_min(samples, 0.125), 0.1), 6)
    0.194733
    """
    reference, eps = as_reference(reference), check_scalar(eps, "eps", low=0.0, open_low=True)
    prob = problem_of(terms, loss, reference)
    cone, C0 = prob.cone, reference.C
    w = cone.check_feasible(reference.w, "reference.w")
    e = prob.evaluate(w, 1.0 / C0, reference.alpha)
    if not is_eps_good(prob, e, C0, eps):
        raise ValueError(f"reference must have a gap of at most {eps:g} of its dual value {e.dual:.3g}, found {e.gap:.3g}")
    v, square = e.x_alpha, cone.inner(w, w)
    conjugate = e.dual + 0.5 / C0 * cone.inner(v, v)
    a = 0.5 * (1.0 + eps) * cone.inner(v, v)
    b = cone.inner(w, v) - C0 * (max(cone.inner(w, e.minus), 0.0) + e.fenchel) + eps * C0 * conjugate
    if not a > 0.0:
        return math.inf
    rho = (b + math.sqrt(max(b * b - 2.0 * a * square, 0.0))) / (2.0 * a)
    for shrink in (0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3):
        C = C0 * (1.0 + (rho - 1.0) * (1.0 - shrink))
        if C > C0 and is_eps_good(prob, e, C, eps):
            return C
    return C0


def is_eps_good(prob: Problem, e: Evaluation, C: float, eps: float) -> bool:
    """Return whether, for C, the gap at an evaluated point is at most `eps` of the dual value; the gap includes rounding."""
    here = prob.assemble(e.sums, e.x, 1.0 / check_lam(C, "C"))
    return here.gap <= eps * here.dual
