"""The features rule: coordinates that are 0 at the optimum over the non-negative cone."""

from __future__ import annotations

import math
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen.losses import Loss
from safescreen.problem import Evaluation, Problem, check_problem, evaluated
from safescreen.rounding import ElementLike, upper
from safescreen.spheres.slopes import slope_radius
from safescreen.terms.base import Terms

NEEDS = ("features",)

FeatureMask: TypeAlias = NDArray[np.bool_]
"""Shape (d,): true for coordinates that are certainly 0."""


class Columned(Protocol):
    """Terms with the capability "features", which the rule needs.

    Attributes
    ----------
    feature_norms : array of shape (d,)
        Upper bounds of ``sqrt(sum_t w_t a_tj^2)`` for every coordinate j.
    """

    feature_norms: NDArray

    def on_features(self, keep: NDArray) -> Self:
        """Return the terms in the coordinates of the boolean mask `keep` only."""
        ...


def can_leave_out(terms: Terms, loss: Loss) -> bool:
    """Return whether the features rule holds for these terms and this loss."""
    return terms.offers.issuperset(NEEDS) and loss.smoothing > 0.0


def features(
    prob: Problem, x: ElementLike, lam: float, alpha: ArrayLike | None = None
) -> FeatureMask:
    """Return which coordinates are certainly 0 at the optimum over the non-negative cone.

    At the optimum ``lam x* = [H*]_+`` with ``H* = c + sum_t w_t alpha*_t a_t``, so that
    ``H*_j <= 0`` means ``x*_j = 0``. A smooth loss makes the dual objective strongly concave: the
    optimal slopes are at most rho from alpha, see :func:`safescreen.spheres.slopes.slope_radius`.
    Coordinate j is 0 if ``H_j(alpha) + rho sqrt(sum_t w_t a_tj^2) < 0``.

    Parameters
    ----------
    prob : Problem
        Its terms are terms of a diagonal metric.
    x : element of the cone
        Any point of the cone. The nearer it is to the optimum, the more coordinates are decided.
    lam : float > 0
    alpha : array of shape (T,), optional
        Dual point in [0, 1]; ``alpha(x)`` if left out.

    Returns
    -------
    bool array of shape (d,)

    Raises
    ------
    ValueError, TypeError
        The terms have no coordinates that can be left out, the loss is the hinge, x is not in the
        cone, or `lam` is not positive.

    Notes
    -----
    A ball around x* alone never proves that a coordinate is 0: it contains points at which the
    coordinate is positive, unless its radius is 0.

    Cost: one evaluation, and once O(T d) for the norms of the coordinates. Safe in floating point:
    the radius, the norms and the error of H are upper bounds; equality and NaN leave a coordinate
    undecided.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1]])
    >>> problem = ss.Problem(ss.Triplets(X, [[0, 1, 2]], diagonal=True), ss.SmoothedHinge(0.5))
    >>> features(problem, np.array([0.243, 0.0]), 1.0).tolist()
    [False, True]
    """
    need_features(check_problem(prob))
    return zero_features(prob, evaluated(prob, x, lam, alpha))


def need_features(prob: Problem) -> None:
    """Raise a TypeError if the features rule does not hold for the terms or the loss."""
    prob.terms.require(*NEEDS, by="the features rule")
    if not prob.loss.smoothing > 0.0:
        raise TypeError(
            f"the features rule needs a smooth loss such as SmoothedHinge(0.05), got {prob.loss!r}"
        )


def zero_features(prob: Problem, e: Evaluation, enlargement: float = 0.0) -> FeatureMask:
    """Return which coordinates are certainly 0, from an evaluation of the problem itself. The
    radius of the ball of slopes grows by `enlargement`.
    """
    reach = slope_radius(e, prob.loss.smoothing) + enlargement
    if not reach < math.inf:
        return np.zeros(prob.cone.shape, dtype=np.bool_)
    terms: Any = prob.terms  # Columned, which NEEDS asks for
    allowance = upper(reach * terms.feature_norms + e.H_error, 8)
    return e.H + allowance < 0.0  # the sign of a sum of two numbers is exact
