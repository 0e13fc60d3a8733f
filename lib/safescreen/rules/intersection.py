"""The intersection rule: bounds of ``<a, x>`` over the points that lie in two balls."""

import math

from safescreen.problem import Problem, check_problem
from safescreen.rounding import UNIT
from safescreen.rules._extremes import TwoBalls, intersection_kernel
from safescreen.rules.ball import ball_kernel, sphere
from safescreen.rules.base import Screened, apply, parts_of
from safescreen.spheres import Sphere


def intersection(prob: Problem, ball1: Sphere, ball2: Sphere) -> Screened:
    """Screen with the extreme values of ``<a, x>`` over the intersection of two balls. The rule
    screens what either ball screens, and more.

    SSS14 Theorem 8 (the Intersection Test), here for terms of any kind. For every t in [0, 1], the
    points that lie in both balls also lie in the ball with center ``(1-t) Q1 + t Q2`` and squared
    radius ``(1-t) r1^2 + t r2^2 - t (1-t) ||Q1 - Q2||^2``. By the duality of convex quadratics the
    minimum over the intersection is the largest of the minima over these balls. If the best t is
    inside (0, 1), this is the third case of the theorem; t = 0 and t = 1 are its first two cases.

    Parameters
    ----------
    prob : Problem
    ball1, ball2 : Sphere
        Two balls that contain the optimum.

    Notes
    -----
    Cost: two margins and three square roots per term. Safe in floating point: any t gives a valid
    bound. The bound at the computed t is evaluated with all its roundings, and with a lower bound
    of the distance of the centers. If the balls have the same center, or one lies inside the other,
    the rule decides what the single balls decide. Two balls without a common point cannot both
    contain the optimum: terms about which they then disagree stay undecided.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[0.0, 0.5], [1.0, 0.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> ball1, ball2 = ss.Sphere(np.array([-4.0, 0.0]), 4.1), ss.Sphere(np.array([4.0, 0.0]), 4.1)
    >>> alone = sphere(problem, ball1) | sphere(problem, ball2)
    >>> alone.in_L.tolist(), intersection(problem, ball1, ball2).in_L.tolist()
    ([False, True], [True, True])
    """
    cone = check_problem(prob).cone
    Q1, r1 = parts_of(prob, ball1, "ball1")
    Q2, r2 = parts_of(prob, ball2, "ball2")
    apart = Q1 - Q2
    distance = cone.norm(apart)
    if not (distance > 0.0 and 0.0 <= r1 < math.inf and 0.0 <= r2 < math.inf):
        return _either(sphere(prob, ball1), sphere(prob, ball2))
    t0 = 0.5 * (1.0 + (r1 - r2) / distance * ((r1 + r2) / distance))
    h = math.sqrt(max((r1 - distance * t0) * (r1 + distance * t0), 0.0))
    # lower bound of the distance; the 16 units of the kernel include the rounding of its square
    shortest = max(cone.norm_lower(apart) - 4.0 * UNIT * cone.magnitude(apart), 0.0)
    balls = TwoBalls(
        square1=r1 * r1,
        square2=r2 * r2,
        distance=distance,
        distance_square=shortest * shortest,
        t0=t0,
        h=h,
    )

    def decide(products, norms, thresholds, in_L, in_R):
        """Decide a chunk of terms: by either ball, then by both together."""
        ball_kernel(products[0], norms, r1, thresholds, in_L, in_R)
        second_L, second_R = in_L.copy(), in_R.copy()
        ball_kernel(products[1], norms, r2, thresholds, second_L, second_R)
        both = _either(Screened(in_L, in_R), Screened(second_L, second_R))
        in_L[:] = both.in_L
        in_R[:] = both.in_R
        intersection_kernel(*products, norms, balls, thresholds, in_L, in_R)

    return apply(prob, (Q1, Q2), (r1, r2), decide)


def _either(first, second):
    both = first | second
    disagree = both.in_L & both.in_R
    return Screened(both.in_L & ~disagree, both.in_R & ~disagree)
