"""The linear rule: bounds of ``<a, x>`` over the part of a ball in a half-space."""

from __future__ import annotations

import math

import numpy as np

from safescreen._checks import check_scalar
from safescreen.problem import Problem, check_problem
from safescreen.rounding import UNIT, ElementLike, upper
from safescreen.rules._extremes import Cap, halfspace_kernel
from safescreen.rules.ball import ball_kernel, sphere
from safescreen.rules.base import Screened, apply, needs, parts_of
from safescreen.spheres import Sphere


def halfspace(prob: Problem, ball: Sphere, normal: ElementLike, offset: float = 0.0) -> Screened:
    """Screen with the extreme values of ``<a, x>`` over the points of a ball with ``<normal, x> >=
    offset``. The rule screens what the ball alone screens, and more.

    With ``p = P/||P||``, ``delta = b/||P|| - <p, Q>``, ``s = <a, p>``, ``n = ||a||`` (P the normal,
    b the offset) the minimum is ``<a, Q> - r n`` if the minimiser over the ball is in the
    half-space, that is ``-r s/n >= delta``. Otherwise it is ``<a, Q> + delta s - sqrt(r^2 -
    delta^2) sqrt(n^2 - s^2)``. The maximum is minus the minimum for ``-a``.

    STS19 Theorem 9 is the case ``offset = 0`` (its branch "``H = a P``", meant for ``a >= 0``, is a
    case of the formula above). The dome test, SSS14 Theorem 11, is the case of a ball around 0.

    Parameters
    ----------
    prob : Problem
    ball : Sphere
        A ball that contains the optimum.
    normal : element of the space
        Normal P of a half-space that contains the optimum; 0 stands for no half-space.
    offset : float
        Level b.

    Raises
    ------
    ValueError, TypeError
        `normal` is not a finite element of the space, `offset` not a finite number.

    Notes
    -----
    Cost: two margins and two square roots per term. Safe in floating point by weak duality: ``<a,
    Q> + k delta - r ||a - k p||`` is a lower bound for every ``k >= 0``, with equality at ``k = s +
    delta sqrt((n^2 - s^2)/(r^2 - delta^2))``; the bound is evaluated at the computed k, with the
    errors of both margins, of delta and of every operation. If the ball lies inside the half-space,
    or misses it (wrong input, or rounding), the ball alone decides.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[2.0, 1.0], [1.0, 0.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> ball = ss.Sphere(np.array([1.0, 1.0]), 1.0)
    >>> normal = np.array([1.0, 0.0])
    >>> sphere(problem, ball).in_R.tolist(), halfspace(problem, ball, normal, 1.0).in_R.tolist()
    ([False, False], [True, False])
    """
    cone = check_problem(prob).cone
    center, radius = parts_of(prob, ball)
    normal = cone.check(normal, "normal")
    offset = check_scalar(offset, "offset")
    largest = cone.largest(normal)
    if largest == 0.0:
        return sphere(prob, ball)
    exponent = -math.frexp(largest)[1]  # a power of two is exact, and keeps every product in range
    normal = cone.ldexp(normal, exponent)
    offset = float(np.ldexp(offset, exponent))
    scale = cone.norm_upper(normal)
    delta = _level(cone, normal, offset, center, radius) / scale
    if not abs(delta) < radius < math.inf:
        return sphere(prob, ball)
    delta -= 2.0 * UNIT * abs(delta)
    root = math.sqrt((radius - delta) * (radius + delta)) if -delta < radius else 0.0
    if not root > 0.0:
        return sphere(prob, ball)

    cap = Cap(radius, delta, root, scale)

    def decide(products, norms, thresholds, in_L, in_R):
        """Decide a chunk of terms: by the ball, then with the half-space."""
        ball_kernel(products[0], norms, radius, thresholds, in_L, in_R)
        halfspace_kernel(*products, norms, cap, thresholds, in_L, in_R)

    return apply(prob, (center, normal), (radius,), decide)


@needs()
def cone_halfspace(prob: Problem, ball: Sphere) -> Screened:
    """Screen with a ball and the half-space ``<ball.normal, x> >= 0``, if the ball has a normal.

    Parameters
    ----------
    prob : Problem
    ball : Sphere
        Its normal is a computed element of the dual cone. So ``<normal, x>`` may be negative, by at
        most the distance of the normal from the dual cone times ``||x|| <= ||Q|| + r``. The
        half-space is moved outward by this product.

    Notes
    -----
    Cost: the same as :func:`halfspace`. Safe in floating point, because :func:`halfspace` is.
    """
    center, radius = parts_of(prob, ball)
    if ball.normal is None or not ball.decides:
        return sphere(prob, ball)
    normal = prob.cone.check(ball.normal, "ball.normal")
    farthest = upper(prob.cone.norm_upper(center) + radius, 2)
    return halfspace(prob, ball, normal, -upper(prob.cone.feasible_error(normal) * farthest, 2))


def _level(cone, normal, offset, center, radius):
    """Return a lower bound of ``offset - <normal, center>``."""
    product = cone.inner(normal, center)
    error = cone.inner_error(normal, center) + 4.0 * UNIT * (abs(offset) + abs(product))
    underflow = 1e-300 * (1.0 + cone.norm_upper(center) + abs(radius))
    return offset - product - upper(error + underflow, 8)
