"""Sums over terms whose margins have all been computed."""

from typing import NamedTuple

import numpy as np

from safescreen._checks import check_vector
from safescreen._numba import njit
from safescreen.rounding import UNIT, upper
from safescreen.terms.base import LossSums


class LossConstants(NamedTuple):
    """The constants of a loss that sums need: its smoothing g, the width of its quadratic piece,
    its largest slope, and whether it has a linear region.
    """

    g: float
    width: float
    cap: float
    has_linear_region: bool


def margin_sums(terms, products, loss, alpha=None, near=()):
    """Return the :class:`LossSums` of terms, given their :class:`InnerProducts`. The bounds include
    the errors of the margins. Cost: O(T) and one :meth:`Terms.sum_near`, to which `near` is passed.
    """
    n = len(terms)
    has_alpha = alpha is not None
    sums = np.zeros(4)
    alpha = check_vector(alpha, n, "alpha", low=0.0, high=loss.cap) if has_alpha else np.empty(n)
    tau, w = levels(terms)
    constants = LossConstants(loss.smoothing, loss.width, loss.cap, loss.has_linear_region)
    for start, stop in terms.chunks():
        chunk = products.chunk(start, stop), tau[start:stop], w[start:stop]
        _add_sums(*chunk, constants, alpha[start:stop], has_alpha, sums)
    adjoint, error = terms.sum_near(alpha, near)
    total, fenchel, height, square = map(float, sums)
    return LossSums(
        loss=total,
        adjoint=adjoint,
        adjoint_error=error,
        fenchel=upper(fenchel, n + 16),
        alpha_sum=height,
        alpha_square=square,
    )


def levels(terms):
    """Return the thresholds and the weights as arrays of shape (T,). A number that all terms share
    is stored once.
    """
    weights = 1.0 if terms.weights is None else terms.weights
    return _for_each(terms.threshold, len(terms)), _for_each(weights, len(terms))


def _for_each(values, n):
    """Return `values` as an array of n values. It is such an array already, or one number for all.

    ``np.broadcast_to`` would take several microseconds, a tenth of a pass over 2,000 samples.
    """
    values = np.asarray(values, dtype=float)
    return values if values.ndim else np.ndarray((n,), float, values.copy(), 0, (0,))


@njit
def _add_sums(products, tau, w, constants, alpha, has_alpha, sums):
    """Add to `sums` the loss, the Fenchel terms with their roundings, ``sum w tau alpha`` and
    ``sum w alpha^2``.

    Unless `has_alpha` says that `alpha` holds a dual point, the dual point of the margins is
    written into it. The rounding errors of the sums themselves are not included; the caller adds
    them.
    """
    margins, errors = products
    g, width, cap, has_linear_region = constants
    loss, fenchel, height, square = sums
    for t in range(margins.size):
        level = tau[t]
        weight = w[t]
        slack = level - margins[t]
        size = abs(slack)
        delta = errors[t] + 16.0 * UNIT * (abs(level) + min(width, size))
        if g > 0.0:
            best = min(max(slack / g, 0.0), cap)
            error = delta * delta / (2.0 * g)
            if has_linear_region:
                error = min(error, delta)
        else:
            best = 1.0 if slack > 0.0 else 0.0
            error = 2.0 * delta if size <= 2.0 * delta else 0.0
        a = best
        if has_alpha:
            a = alpha[t]
            mean = 0.5 * g * (best + a)
            phi = max((best - a) * (slack - mean), 0.0)
            phi += abs(best - a) * (2.0 * delta + 32.0 * UNIT * (size + mean))
            # away from the kink the sign of the hinge's slack is certain, and phi includes the
            # rounding error
            error += phi if g == 0.0 else phi + error
        else:
            alpha[t] = best
        loss += weight * best * (slack - 0.5 * g * best)
        fenchel += weight * error + 0.0 * slack  # NaN is kept
        height += weight * level * a
        square += weight * a * a
    # one by one: for `sums[:] = ...` numba would compile the text of an error, which takes two
    # seconds
    sums[0] = loss
    sums[1] = fenchel
    sums[2] = height
    sums[3] = square
