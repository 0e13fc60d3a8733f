"""The ball that contains the slopes of all terms at the optimum."""

from safescreen.problem import Evaluation
from safescreen.rounding import sqrt_upper, upper


def slope_radius(e: Evaluation, smoothing: float) -> float:
    """Return an upper bound of ``sqrt(sum_t w_t (alpha_t - alpha*_t)^2)``, the distance of an
    evaluated dual point from the optimal dual point.

    With the radius r of MGB, the slopes s of the losses at x and the width g of a smooth loss,
    ``lam ||(x + x(alpha))/2 - x*||^2 + g ||(s + alpha)/2 - alpha*||^2 <= lam r^2``: the ball of MGB
    holds for x and for the slopes at once. Half the distance of s from alpha is at most the root of
    ``fenchel/(2 g)``, which is 0 up to rounding if alpha is s. For any alpha, the dual objective
    alone gives ``g ||alpha - alpha*||^2 <= 2 lam r^2``.

    The result is NaN if the evaluation contains NaN; it then proves nothing.
    """
    apart = e.distance + e.x_alpha_error
    square = upper(e.lam * (apart * apart / 4.0 + e.excess) / smoothing, 16)
    shift = sqrt_upper(upper(0.5 * e.fenchel / smoothing, 4))
    return upper(min(sqrt_upper(upper(2.0 * square, 2)), sqrt_upper(square) + shift), 4)
