"""Sums over terms whose margins are all at hand."""

import numpy as np

from safescreen._checks import check_vector
from safescreen.rounding import gamma, upper
from safescreen.terms.base import LossSums

__all__ = ["margin_sums"]


def margin_sums(terms, margins, errors, loss, alpha=None):
    """Return the :class:`~safescreen.terms.base.LossSums` of terms from their margins; one ``weighted_sum`` beside O(T).

    Parameters
    ----------
    terms : Terms
    margins, errors : arrays of shape (T,)
        ``<a_t, x>`` as computed, and bounds of their rounding errors.
    loss : SmoothedHinge or SquaredHinge
    alpha : array of shape (T,), optional
        Dual point; ``alpha(<a_t, x>)`` if left out.
    """
    n, tau, half = len(terms), terms.threshold, 0.5 * loss.smoothing
    weights = 1.0 if terms.weights is None else terms.weights
    slack = tau - margins
    best = loss.alpha(margins, tau)
    reach = np.minimum(loss.gamma, np.abs(slack))  # where the loss is quadratic
    delta = errors + gamma(8) * (np.abs(tau) + reach)
    if loss.smoothing > 0.0:
        square = delta * delta / (2.0 * loss.smoothing)
        rounding = np.minimum(delta, square) if loss.has_linear_region else square
    else:
        rounding = np.where(np.abs(slack) <= 2.0 * delta, 2.0 * delta, 0.0)
    fenchel = upper(float((weights * rounding).sum()), n + 4)
    total = float((weights * (best * (slack - half * best))).sum())
    if alpha is None:
        alpha = best
    else:
        alpha = check_vector(alpha, n, "alpha", low=0.0, high=loss.cap)
        apart, mean = weights * np.abs(best - alpha), half * (best + alpha)
        phi = np.maximum((best - alpha) * (slack - mean), 0.0)
        fenchel += upper(float((weights * phi).sum()), n + 8)
        fenchel += upper(float((apart * (2.0 * delta + gamma(16) * (np.abs(slack) + mean))).sum()), n + 8)
        fenchel += upper(float((weights * (delta if loss.smoothing == 0.0 else rounding)).sum()), n + 4)
    adjoint, error = terms.weighted_sum(alpha)
    weighted = weights * alpha
    return LossSums(total, adjoint, error, fenchel, float((tau * weighted).sum()), float(weighted @ alpha))
