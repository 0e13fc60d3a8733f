"""Duality gap bounds: DGB, CDGB and MGB."""

from __future__ import annotations

from numpy.typing import ArrayLike

from safescreen._checks import check_lam, check_vector
from safescreen.cones import Cone
from safescreen.problem import Evaluation, Problem, check_problem, evaluated
from safescreen.rounding import UNIT, ElementLike, sqrt_upper, upper
from safescreen.spheres.base import Sphere, gap_radius


def duality_gap_bound(
    prob: Problem, x: ElementLike, lam: float, alpha: ArrayLike | None = None
) -> Sphere:
    """Return the duality gap bound (DGB): center x, radius ``sqrt(2 (P(x) - D(alpha))/lam)``.

    STS19 Theorem 4.

    Parameters
    ----------
    prob : Problem
    x : element of the cone
        Any point of the cone. The nearer it is to the optimum, the smaller is the ball.
    lam : float > 0
        The lam whose optimum the ball contains.
    alpha : array of shape (T,), optional
        Dual point in [0, 1]^T; ``alpha(x)`` if left out.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `x` is not in the cone, `lam` is not positive, or `alpha` is not a dual point.

    Notes
    -----
    Cost: one evaluation of the problem. Safe in floating point: the gap is an upper bound that
    includes rounding, and the radius includes the error of x.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> duality_gap_bound(problem, np.array([0.25]), 12.0).radius < 1e-7
    True
    """
    return from_evaluation_dgb(evaluated(prob, x, lam, alpha))


def constrained_duality_gap_bound(prob: Problem, alpha: ArrayLike, lam: float) -> Sphere:
    """Return the constrained duality gap bound (CDGB): center ``x(alpha)``, radius
    ``sqrt((P(x(alpha)) - D(alpha))/lam)``.

    STS19 Theorem 14 (appendix F).

    Parameters
    ----------
    prob : Problem
    alpha : array of shape (T,)
        Dual point in [0, 1]^T.
    lam : float > 0

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `alpha` is not a dual point, or `lam` is not positive.

    Notes
    -----
    Cost: the computation of ``x(alpha)``, and one evaluation of the problem there. Safe in floating
    point like :func:`midpoint_gap_bound`, which includes this bound as a case.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> constrained_duality_gap_bound(problem, np.ones(2), 12.0).center.tolist()
    [0.25]
    """
    lam = check_lam(lam)
    alpha = check_vector(alpha, len(check_problem(prob)), "alpha", low=0.0, high=prob.loss.cap)
    e = prob.evaluate(prob.x_of(alpha, lam), lam, alpha)
    sphere = from_evaluation_mgb(prob.cone, e)
    return Sphere(sphere.center, sphere.radius, None, "CDGB")


def midpoint_gap_bound(
    prob: Problem, x: ElementLike, lam: float, alpha: ArrayLike | None = None
) -> Sphere:
    """Return the midpoint gap bound (MGB): center ``(x + x(alpha))/2``,
    ``r^2 = (P(x) - D(alpha))/lam - ||x - x(alpha)||^2/4``.

    It lies inside DGB. CDGB is its case ``x = x(alpha)``. Over the whole space GB and BT2 are cases
    of it too. It is very likely the RYU ball (arXiv 2312.00640), carried over to a cone.

    Parameters
    ----------
    prob : Problem
    x, lam, alpha
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
    Cost: one evaluation of the problem. The dual value needs the only projection. Safe in floating
    point: the radius is computed as ``r^2 = ||x - x(alpha)||^2/4 + (<x, H_-> + Fenchel
    terms)/lam``, a sum of non-negative numbers, in which nothing cancels. Error bounds are added.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> midpoint_gap_bound(problem, np.zeros(1), 12.0).center.tolist()
    [0.125]
    """
    e = evaluated(prob, x, lam, alpha)
    return from_evaluation_mgb(prob.cone, e)


def from_evaluation_dgb(e: Evaluation) -> Sphere:
    """Return DGB from an evaluation. Nothing more is evaluated."""
    return Sphere(e.x, upper(gap_radius(e) + e.x_error, 4), e.minus, "DGB")


def from_evaluation_mgb(cone: Cone, e: Evaluation) -> Sphere:
    """Return MGB from an evaluation. Nothing more is evaluated."""
    center, error, apart = midpoint(cone, e)
    square = apart * apart / 4.0 + e.excess
    return Sphere(center, upper(sqrt_upper(upper(square, 8)) + error, 4), e.minus, "MGB")


def midpoint(cone: Cone, e: Evaluation) -> tuple[ElementLike, float, float]:
    """Return ``(center of MGB, bound of its error, upper bound of ||x - x(alpha)||)``."""
    center = 0.5 * (e.x + e.x_alpha)
    error = 0.5 * (e.x_error + e.x_alpha_error) + 2.0 * UNIT * (
        cone.magnitude(e.x) + cone.magnitude(e.x_alpha)
    )
    return center, error, e.distance + e.x_alpha_error
