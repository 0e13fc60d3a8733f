"""A dual point for a primal point that comes without one."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._checks import check_lam
from safescreen.problem import Problem

__all__ = ["dual_point"]


def dual_point(prob: Problem, w: NDArray, C: float, widths: Iterable[float] = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)) -> NDArray:
    """Return a dual point for a w that comes without one.

    Samples further than a width from the threshold get 0 or 1; the rest minimise ``||w - C sum_i alpha_i z_i||`` within [0, 1], a bounded
    least squares problem. Of the given widths the one with the smallest gap is taken. With a smoothed or squared hinge it is ``alpha(w)``.
    """
    terms, lam = prob.terms, 1.0 / check_lam(C, "C")
    best = prob.alpha(w)
    if prob.loss.smoothing > 0.0:
        return best
    terms.require("rows", by="dual_point")
    from scipy.optimize import lsq_linear  # a fifth of what importing this package would take, for a function few call

    slack, gap = terms.threshold - terms.margins(w), prob.evaluate(w, lam, best).gap
    for width in widths:
        near = np.flatnonzero(np.abs(slack) <= width)
        if near.size == 0:
            continue
        trial = (slack > width).astype(float)
        target = lam * w - terms.weighted_sum(trial)[0]
        rows = terms.rows(near)
        scale = np.ones(near.size) if terms.weights is None else terms.weights[near]
        columns = sparse.csr_matrix(rows.multiply(scale[:, None])).T if sparse.issparse(rows) else (rows * scale[:, None]).T
        trial[near] = np.clip(lsq_linear(columns, target, (0.0, 1.0), tol=1e-14).x, 0.0, 1.0)
        found = prob.evaluate(w, lam, trial).gap
        if found < gap:
            best, gap = trial, found
    return best
