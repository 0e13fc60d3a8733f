"""A dual point for a primal point without one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._checks import check_lam
from safescreen.problem import Problem

SWEEPS = 1000
"""Largest number of sweeps of coordinate descent."""


def dual_point(
    prob: Problem,
    w: NDArray,
    C: float,
    widths: Iterable[float] = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
) -> NDArray:
    """Return a dual point for a given w.

    Samples whose margin is further than a width from the threshold get 0 or 1. The entries of the
    other samples solve a bounded least squares problem: they minimise
    ``||w - C (sum_i alpha_i z_i + c)||`` within [0, 1], where c is the linear term. Coordinate
    descent solves it for sparse samples, whose rows are short, many and nearly orthogonal. The
    function tries the given widths and returns the dual point with the smallest gap. With a
    smoothed or squared hinge the dual point is ``alpha(w)``.
    """
    terms = prob.terms
    lam = 1.0 / check_lam(C, "C")
    best = prob.alpha(w)
    if prob.loss.smoothing > 0.0:
        return best
    terms.require("rows", by="dual_point")
    # this import takes a fifth of the time of importing safescreen, and few users call the function
    from scipy.optimize import lsq_linear

    slack = terms.threshold - terms.margins(w)
    gap = prob.evaluate(w, lam, best).gap
    target = lam * w if prob.linear is None else lam * w - prob.linear
    for width in widths:
        near = np.abs(slack) <= width
        if not near.any():
            continue
        trial = np.where(near, 0.5, slack > width)
        part: Any = terms.select(near).with_threshold(0.0)  # Swept, with rows
        found = np.full(np.count_nonzero(near), 0.5)
        rest = terms.weighted_sum(trial)[0] - target
        rows = part.rows(np.arange(found.size))
        if sparse.issparse(rows):  # with thresholds 0 the dual objective is the squared norm alone
            part.sweep(found, rest, 1.0, prob.loss, 1e-14, SWEEPS, 1)
        else:
            columns = rows.T if part.weights is None else (rows * part.weights[:, None]).T
            found = 0.5 + lsq_linear(columns, -rest, (-0.5, 0.5), tol=1e-14).x
        trial[near] = np.clip(found, 0.0, 1.0)
        reached = prob.evaluate(w, lam, trial).gap
        if reached < gap:
            best = trial
            gap = reached
    return best
