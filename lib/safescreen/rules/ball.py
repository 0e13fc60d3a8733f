"""The sphere rule: bounds of ``<a, x>`` over a ball."""

from safescreen._numba import njit
from safescreen.problem import Problem
from safescreen.rounding import UNIT
from safescreen.rules.base import Screened, apply, needs, parts_of
from safescreen.spheres import Sphere


@needs()
def sphere(prob: Problem, ball: Sphere) -> Screened:
    """Screen with ``<a, Q> -+ r ||a||``, the extreme values of ``<a, x>`` over the ball.

    STS19 section 4.1 (equation 4.1), SSS14 Lemma 1: a term is in L if the maximum is below ``tau -
    gamma``, and in R if the minimum is above ``tau``.

    Parameters
    ----------
    prob : Problem
    ball : Sphere
        A ball that contains the optimum.

    Notes
    -----
    Cost: one margin and two comparisons per term. Safe in floating point: the norm and the radius
    are upper bounds, and the test adds the error bound of the margin and its own roundings.
    Equality and NaN leave a term undecided.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-4.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> sphere(problem, ss.Sphere(np.array([0.7]), 0.1)).in_R.tolist()
    [False, True]
    """
    center, radius = parts_of(prob, ball)

    def decide(products, norms, thresholds, in_L, in_R):
        """Decide a chunk of terms."""
        ball_kernel(products[0], norms, radius, thresholds, in_L, in_R)

    return apply(prob, (center,), (radius,), decide, prob.terms.spreads)


@njit
def ball_kernel(margins, norms, radius, thresholds, in_L, in_R):
    """Decide terms by their margins at the center.

    The rounding of ``tau - gamma`` needs no allowance of its own: where it could decide, it is at
    most one unit of ``|q| + allowance``."""
    values, errors = margins
    low, high, step = thresholds
    if step == 0:  # one pair of thresholds for all terms: the loop vectorizes
        a, b = low[0], high[0]
        for t in range(values.size):
            q = values[t]
            allowance = errors[t] + radius * norms[t]
            allowance += 8.0 * UNIT * (abs(q) + allowance)
            in_R[t] = q - allowance > b
            in_L[t] = q + allowance < a
    else:
        for t in range(values.size):
            q = values[t]
            a = low[t]
            b = high[t]
            allowance = errors[t] + radius * norms[t]
            allowance += 8.0 * UNIT * (abs(q) + allowance)
            in_R[t] = q - allowance > b
            in_L[t] = q + allowance < a
