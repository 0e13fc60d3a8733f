"""Gradient bounds: GB and PGB."""

from __future__ import annotations

from safescreen.cones import Cone
from safescreen.problem import Evaluation, Problem, evaluated
from safescreen.rounding import UNIT, ElementLike, sqrt_upper, upper
from safescreen.spheres.base import Sphere


def gradient_bound(prob: Problem, x: ElementLike, lam: float) -> Sphere:
    """Return the gradient bound (GB): center ``x - g/(2 lam)``, radius ``||g||/(2 lam)``, where g
    is a subgradient of the objective at x.

    STS19 Theorem 1.

    Parameters
    ----------
    prob : Problem
    x, lam
        As in :func:`duality_gap_bound`.

    Returns
    -------
    Sphere
        Its `normal` belongs to the half-space that contains the cone and that the center violates.

    Raises
    ------
    ValueError, TypeError
        As in :func:`duality_gap_bound`.

    Notes
    -----
    Cost: one evaluation of the problem, and one projection for the normal. Safe in floating point:
    a computed ``alpha(x)`` is the exact slope of the loss only up to rounding, so the radius is
    ``sqrt(||g||^2/(4 lam^2) + phi/lam)``, where phi stands for the Fenchel terms of the evaluation.
    The proof of Theorem 1 adds up one inequality per loss. With the Fenchel terms, the inequalities
    give this radius for any alpha.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> gradient_bound(problem, np.zeros(1), 12.0).center.tolist()
    [0.125]
    """
    e = evaluated(prob, x, lam)
    return from_evaluation_gb(prob.cone, e)


def projected_gradient_bound(prob: Problem, x: ElementLike, lam: float) -> Sphere:
    """Return the projected gradient bound (PGB): center ``[Q]_K``,
    ``r^2 = r_GB^2 - ||Q - [Q]_K||^2``, where Q is the center of GB.

    STS19 Theorems 2 and 3. Its radius is at most the radius of GB.

    Parameters
    ----------
    prob : Problem
    x, lam
        As in :func:`duality_gap_bound`.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        As in :func:`duality_gap_bound`.

    Notes
    -----
    Cost: one evaluation of the problem and one projection. Safe in floating point: the difference
    of squares, which would cancel, is computed as ``||[Q]_K - x||^2 + 2 <x, Q_->`` with ``Q_- =
    [Q]_K - Q``, where both summands are non-negative. Error bounds are added.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> projected_gradient_bound(problem, np.zeros(1), 12.0).center.tolist()
    [0.125]
    """
    e = evaluated(prob, x, lam)
    return from_evaluation_pgb(prob.cone, e)


def from_evaluation_gb(cone: Cone, e: Evaluation) -> Sphere:
    """Return GB from an evaluation. The only projection is for the half-space."""
    half, error = _center(cone, e)
    g_half = 0.5 * (e.x - e.H / e.lam)
    norm = upper(cone.norm_upper(g_half) + error, 2)
    square = norm * norm + e.fenchel / e.lam
    radius = sqrt_upper(upper(square, 4)) + error + e.x_error
    return Sphere(half, upper(radius, 4), cone.split(half)[1], "GB")


def from_evaluation_pgb(cone: Cone, e: Evaluation) -> Sphere:
    """Return PGB from an evaluation, with one projection."""
    Q, error = _center(cone, e)
    plus, minus = cone.split(Q)
    split_error = cone.split_error(Q)
    moved = (
        error + split_error + e.x_error + 4.0 * UNIT * (cone.magnitude(plus) + cone.magnitude(e.x))
    )
    apart = cone.norm_upper(plus - e.x) + moved
    x_norm = cone.norm_upper(e.x)
    minus_norm = cone.norm_upper(minus)
    product = max(cone.inner(e.x, minus), 0.0) + cone.inner_error(e.x, minus)
    product += x_norm * split_error + e.x_error * (minus_norm + split_error)
    square = apart * apart + 2.0 * product + e.fenchel / e.lam
    return Sphere(plus, upper(sqrt_upper(upper(square, 8)) + error + split_error, 4), None, "PGB")


def _center(cone, e):
    Q = 0.5 * (e.x + e.H / e.lam)
    error = 0.5 * e.H_error / e.lam + 4.0 * UNIT * (
        cone.magnitude(e.x) + cone.magnitude(e.H) / e.lam
    )
    return Q, upper(error, 4)
