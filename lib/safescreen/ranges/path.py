"""The range of RRPB: the lam for which the sphere rule with the relaxed path bound decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safescreen._checks import check_lam, check_scalar
from safescreen._numba import njit
from safescreen._repr import brief_repr
from safescreen.problem import Problem, check_problem
from safescreen.rounding import FLOOR, UNIT, ElementLike, norm_upper
from safescreen.rules.base import Screened
from safescreen.terms.base import Thresholds


@dataclass(frozen=True)
class Ranges:
    """Two open intervals of lam for each term, over which the category of the term is certain.

    Attributes
    ----------
    L_low, L_high : arrays of shape (T,)
        The term is in the linear region for ``L_low < lam < L_high``. Both are nan if nothing is
        known. `L_high` may be infinite.
    R_low, R_high : arrays of shape (T,)
        The same for the zero region.
    """

    L_low: NDArray
    L_high: NDArray
    R_low: NDArray
    R_high: NDArray

    __repr__ = brief_repr

    def __len__(self) -> int:
        return self.L_low.size

    def at(self, lam: float) -> Screened:
        """Return which terms are certain at one lam.

        Parameters
        ----------
        lam : float > 0

        Returns
        -------
        Screened
            :class:`~safescreen.rules.Screened`; cost O(T).
        """
        lam = check_lam(lam)
        return Screened(
            (self.L_low < lam) & (lam < self.L_high), (self.R_low < lam) & (lam < self.R_high)
        )


def relaxed_path(prob: Problem, x0: ElementLike, eps: float, lam0: float) -> Ranges:
    """Return the intervals of lam over which the sphere rule with the relaxed path bound (RRPB)
    screens each term.

    STS19 section 6.1 and Theorem 10, which treats R only. Let ``h = <a, x0>``, ``n = ||a||`` and
    ``m = ||x0||``, and let tau be the threshold. The term is in R for ``lamA < lam < lamB``::

        lamA = lam0 (n m - h + 2 eps n)/(n m + h - 2 tau)
        lamB = lam0 (n m + h)/(n m - h + 2 eps n + 2 tau)

    This needs ``h - eps n > tau``, which is the rule at lam0 itself; otherwise nothing is known.
    The denominator of lamB may be 0 or negative, for negative tau: the rule then holds for all
    ``lam > lamA``. For L, replace h by ``-h`` and tau by ``-(tau - gamma)``.

    Parameters
    ----------
    prob : Problem
    x0 : element of the cone
        Approximate solution for lam0.
    eps : float >= 0
        Upper bound of the distance of x0 from the exact solution.
    lam0 : float > 0

    Returns
    -------
    Ranges
        Each non-empty interval contains lam0.

    Raises
    ------
    ValueError, TypeError
        `x0` is not an element of the space, `eps` is negative, or `lam0` is not positive.

    Notes
    -----
    Cost: one margin per term. Safe in floating point: every end is rounded towards lam0.

    The rule is ``2 lam (min - tau) > 0``, and ``2 lam (min - tau)`` is ``h (lam + lam0) - n m |lam
    - lam0| - 2 max(lam, lam0) eps n - 2 lam tau``. It decreases with ``n m`` and ``n``, and
    increases with h. So the rule stays safe with upper bounds of the norms and a lower bound of h.
    On each side of lam0 it is linear in lam, and its root is rounded towards lam0. Both numerators
    are non-negative, because ``n m >= |h|``.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> ranges = relaxed_path(problem, np.array([1.0]), 0.0, 1.0)
    >>> [f"{low:.6f} {high:.6f}" for low, high in zip(ranges.R_low, ranges.R_high)]
    ['nan nan', '0.000000 2.000000']
    """
    x0 = check_problem(prob).cone.check(x0, "x0")
    eps = check_scalar(eps, "eps", low=0.0)
    lam0 = check_lam(lam0, "lam0")
    terms = prob.terms
    m = norm_upper(x0)
    ends = np.empty((4, len(terms)))
    products = terms.inner_products(x0)
    norms = terms.norms
    for start, stop, low, high in terms.regions(prob.loss):
        margins = products.chunk(start, stop)
        thresholds = Thresholds.of(low, high)
        part = ends[:, start:stop]
        interval_kernel(margins, norms[start:stop], m, eps, lam0, thresholds, part)
    if not prob.loss.has_linear_region:  # no term is ever linear
        ends[:2] = np.nan
    return Ranges(*ends)


@njit
def _interval(h, nm, en, tau, lam0):
    """Return ``(lamA, lamB)`` rounded towards lam0; (nan, nan) if the rule fails at lam0.

    The arguments h, ``n m``, ``eps n`` and tau may each have one rounding error. Apart from this
    error h is at most its exact value, and the other arguments are at least their exact values.
    Where the rule holds, ``|h|`` is at most ``n m`` or ``|tau|``. So the roundings of the
    arguments, of the two differences and of their quotient are at most 12 units of the sum below;
    16 are taken.
    """
    allowance = 16.0 * UNIT * (nm + 2.0 * en + 2.0 * abs(tau)) + FLOOR
    top = max(nm - h + 2.0 * en, 0.0) + allowance
    bottom = nm + h - 2.0 * tau - allowance
    low = lam0 * (top / bottom) + FLOOR if bottom > 0.0 else np.inf
    top = nm + h - allowance
    bottom = nm - h + 2.0 * (en + tau) + allowance
    high = lam0 * (max(top, 0.0) / bottom) if bottom > 0.0 else np.inf
    # each of the two comparisons is the rule at lam0 itself
    if low < lam0 and lam0 < high:
        return low, high
    return np.nan, np.nan


@njit
def interval_kernel(margins, norms, m, eps, lam0, thresholds, ends):
    """Write both ends of both intervals of consecutive terms into the rows ``L_low, L_high, R_low,
    R_high`` of `ends`, shape (4, T), from their margins at x0 and ``m >= ||x0||``.
    """
    q, errors = margins
    low, high, step = thresholds
    for t in range(q.size):
        a, b = low[t * step], high[t * step]
        nm = norms[t] * m
        en = eps * norms[t]
        ends[0, t], ends[1, t] = _interval(-q[t] - errors[t], nm, en, -a, lam0)
        ends[2, t], ends[3, t] = _interval(q[t] - errors[t], nm, en, b, lam0)
