"""A dual point for a primal point that comes without one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._checks import check_lam
from safescreen.problem import Problem

SWEEPS = 1000
"""Sweeps of coordinate descent at most."""


def dual_point(
    prob: Problem,
    w: NDArray,
    C: float,
    widths: Iterable[float] = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
) -> NDArray:
    """Return a dual point for a w that comes without one.

    Samples further than a width from the threshold get 0 or 1; the rest minimise
    ``||w - C (sum_i alpha_i z_i + c)||`` within [0, 1], c the linear term if there is one: a
    bounded least squares problem, for sparse samples by coordinate descent: their rows are short
    and many, and nearly orthogonal. Of the given widths the one with the smallest gap is taken.
    With a smoothed or squared hinge it is ``alpha(w)``."""
    terms = prob.terms
    lam = 1.0 / check_lam(C, "C")
    best = prob.alpha(w)
    if prob.loss.smoothing > 0.0:
        return best
    terms.require("rows", by="dual_point")
    # a fifth of what importing this package would take, for a function few call
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
        if sparse.issparse(rows):  # with thresholds 0 the dual is the square norm alone
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
