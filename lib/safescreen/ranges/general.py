"""Ranges of the spheres that are built from one evaluation: the gradient bound and the gap bounds.

Let ``t = lam0/lam``. The adjoint H and the Fenchel terms phi at x do not depend on lam. So all
these balls, and the ball of the path bound, have one form::

    center  x (DGB)  or  (x + t w)/2 (GB, MGB),      r^2 = kappa ||x - t w||^2 + t e

    ====  =====  ===========  ==========================
    ball  kappa  w            e
    ====  =====  ===========  ==========================
    GB    1/4    H/lam0       phi/lam0
    DGB   1      [H]_K/lam0   2 (phi + <x, H_->)/lam0
    MGB   1/4    [H]_K/lam0   (phi + <x, H_->)/lam0
    RPB   1/4    x            0
    ====  =====  ===========  ==========================

Multiplied out, this is the ``r^2 = a + b/lam + c/lam^2`` of STS19 appendix L, which cancels near
the optimum. ``x - t w = (x - w) + (1 - t) w`` does not cancel. PGB has no such form, because its
projection changes with lam.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from safescreen._checks import check_scalar
from safescreen.problem import Problem, evaluated
from safescreen.ranges.path import Ranges
from safescreen.ranges.quartic import MovingRadius, ball_interval_kernel
from safescreen.rounding import UNIT, ElementLike, sqrt_upper, upper
from safescreen.terms.base import Thresholds


def gradient(
    prob: Problem,
    x: ElementLike,
    lam0: float,
    accuracy: float = 0.0,
    alpha: ArrayLike | None = None,
) -> Ranges:
    """Return the intervals of lam over which the sphere rule with the gradient bound (GB) at x
    screens each term.

    Parameters
    ----------
    prob, x, lam0, accuracy, alpha
        As in :func:`duality_gap`.

    Returns
    -------
    Ranges
        As in :func:`duality_gap`.

    Notes
    -----
    Cost: the same as :func:`duality_gap`. STS19 appendix L.

    Safe in floating point, because :func:`duality_gap` is.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> ranges = gradient(problem, np.array([0.1875]), 16.0)
    >>> [f"{low:.4f} {high:.4f}" for low, high in zip(ranges.L_low, ranges.L_high)]
    ['6.0000 inf', '12.0000 inf']
    """
    e = evaluated(prob, x, lam0, alpha, "lam0")
    w_error = upper(e.H_error / e.lam + 4.0 * UNIT * prob.cone.magnitude(e.H) / e.lam, 4)
    return _ranges(prob, e, 0.25, e.H / e.lam, w_error, e.fenchel / e.lam, accuracy)


def duality_gap(
    prob: Problem,
    x: ElementLike,
    lam0: float,
    accuracy: float = 0.0,
    alpha: ArrayLike | None = None,
) -> Ranges:
    """Return the intervals of lam over which the sphere rule with the duality gap bound (DGB) at x
    screens each term.

    STS19 section 6.1 and appendices L, M. The reference x may be any point of the cone. It need not
    be a solution for lam0, which is only the lam around which intervals are computed.

    Parameters
    ----------
    prob : Problem
    x : element of the cone
        Reference.
    lam0 : float > 0
        Every non-empty interval contains it.
    accuracy : float >= 0
        Largest duality gap, in units of the objective, of the solutions for other lam with which
        the ranges are used. The radius is enlarged by ``sqrt(2 accuracy/lam)``. The screened terms
        are then in their region at every point of the cone whose gap is at most `accuracy`, not
        only at the exact optimum. At such a point the reduced problem and the whole problem have
        the same objective, gradient and gap, *for every lam*. So ranges may be computed from the
        reduced problem. With ``accuracy = 0`` they must not be computed from it (STS19 6.1.2).
    alpha : array of shape (T,), optional
        Dual point in [0, 1]^T; ``alpha(x)`` if left out.

    Returns
    -------
    Ranges
        For each term the interval around lam0, (nan, nan) if the rule does not screen the term at
        lam0. With ``accuracy = 0`` the rule screens the term nowhere else. With a positive accuracy
        the rule may fail outside the interval, and screen the term again farther away.

    Raises
    ------
    ValueError, TypeError
        `x` is not in the cone, `lam0` is not positive, `accuracy` is negative, or `alpha` is not a
        dual point.

    Notes
    -----
    Cost: one evaluation of the problem, one or two margins per term, and a few Newton steps for
    each end of an interval.

    Safe in floating point: the errors of x, of H and of its split into two parts enlarge the radius
    by ``c_0 + c_1 t``. The two constants come from the perturbation bounds of the spheres; the
    slope of the gap in H is ``x(alpha) - x``. Margins enter with bounds of their errors. The end of
    an interval is approached from inside, see :mod:`safescreen.ranges.quartic`.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> x = np.array([0.1875])
    >>> for ranges in (duality_gap(problem, x, 16.0), midpoint_gap(problem, x, 16.0)):
    ...     [f"{low:.4f} {high:.4f}" for low, high in zip(ranges.L_low, ranges.L_high)]
    ['6.0000 inf', '12.0000 24.0000']
    ['6.0000 inf', '12.0000 inf']
    """
    e = evaluated(prob, x, lam0, alpha, "lam0")
    return _ranges(
        prob, e, 1.0, e.x_alpha, e.x_alpha_error, 2.0 * _fenchel_and_product(prob.cone, e), accuracy
    )


def midpoint_gap(
    prob: Problem,
    x: ElementLike,
    lam0: float,
    accuracy: float = 0.0,
    alpha: ArrayLike | None = None,
) -> Ranges:
    """Return the intervals of lam over which the sphere rule with the midpoint gap bound (MGB) at x
    screens each term.

    Parameters
    ----------
    prob, x, lam0, accuracy, alpha
        As in :func:`duality_gap`.

    Returns
    -------
    Ranges
        As in :func:`duality_gap`, where the example compares the two.

    Notes
    -----
    Cost: the same as :func:`duality_gap`. Safe in floating point, because :func:`duality_gap` is.
    """
    e = evaluated(prob, x, lam0, alpha, "lam0")
    return _ranges(
        prob, e, 0.25, e.x_alpha, e.x_alpha_error, _fenchel_and_product(prob.cone, e), accuracy
    )


def _fenchel_and_product(cone, e):
    """Return an upper bound of ``(phi + <x, H_->)/lam0`` for the computed H. Here x stands for the
    point of the cone nearest to the computed x.
    """
    split_error = cone.split_error(e.H)
    x_norm, minus_norm = cone.norm_upper(e.x), cone.norm_upper(e.minus)
    product = max(cone.inner(e.x, e.minus), 0.0) + cone.inner_error(e.x, e.minus)
    product += split_error * x_norm + e.x_error * (minus_norm + split_error)
    return upper((e.fenchel + product) / e.lam, 8)


def _ranges(prob, e, kappa, w, w_error, linear, accuracy):
    """Return the :class:`Ranges` of a ball that has the form of this module's docstring.

    Let ``zeta = (error of x) + t (error of w)``. In all cases the radius about the computed center
    is at most ``sqrt(kappa ||x - t w||^2 + t e) + 2 zeta``. For GB and DGB ``||x - t w||`` changes
    by at most zeta, and the center by at most zeta. The square of MGB is ``||x - t w||^2/2 - ||x -
    t w||^2/4``, and an error counts in both summands: the radius changes by at most 3/2 zeta, and
    the center by at most 1/2 zeta.
    """
    accuracy = check_scalar(accuracy, "accuracy", low=0.0)
    radius = _form(prob.cone, e, kappa, w, w_error, linear, accuracy)
    shares = (1.0, 0.0) if kappa == 1.0 else (0.5, 0.5)
    terms = prob.terms
    norms = prob.terms.norms
    ends = np.empty((4, len(terms)))
    x_products = terms.inner_products(e.x)
    w_products = terms.inner_products(w) if shares[1] else None
    for start, stop, low, high in terms.regions(prob.loss):
        at_x = x_products.chunk(start, stop)
        at_w = w_products.chunk(start, stop) if w_products else at_x
        fixed = (norms[start:stop], shares, radius, e.lam, Thresholds.of(low, high))
        ball_interval_kernel(at_x, at_w, *fixed, ends[:, start:stop])
    if not prob.loss.has_linear_region:
        ends[:2] = np.nan
    return Ranges(*ends)


def _form(cone, e, kappa, w, w_error, linear, accuracy):
    """Return the :class:`MovingRadius` of the ball."""
    enlargement = sqrt_upper(upper(2.0 * accuracy / e.lam, 4)) if accuracy > 0.0 else 0.0
    lengths = (
        cone.largest(e.x),
        cone.largest(w),
        math.sqrt(linear) if linear >= 0.0 else math.nan,
        enlargement,
    )
    exponent = math.frexp(max(lengths))[1] if all(map(math.isfinite, lengths)) else 0
    x = cone.ldexp(e.x, -exponent)
    w = cone.ldexp(w, -exponent)
    x_error = math.ldexp(e.x_error, -exponent)
    w_error = math.ldexp(w_error, -exponent)
    linear = math.ldexp(math.ldexp(linear, -exponent), -exponent)
    f = math.ldexp(enlargement, -exponent)
    steady, rising = 2.0 * x_error, 2.0 * w_error
    D = x - w
    lost = 4.0 * UNIT * cone.magnitude(D)  # rounding of the subtraction
    x_norm = upper(cone.norm_upper(x), 4)
    w_norm = upper(cone.norm_upper(w), 4)
    D_norm = upper(cone.norm_upper(D) + lost, 4)
    q0 = upper(kappa * D_norm * D_norm + linear, 4)
    up = 2.0 * kappa * cone.inner(D, w)
    down = -2.0 * kappa * cone.inner(D, x)
    up1 = (
        up
        - linear
        + 4.0 * UNIT * (abs(up) + linear)
        + 4.0 * kappa * (cone.inner_error(D, w) + lost * w_norm)
    )
    down1 = (
        down
        - linear
        + 4.0 * UNIT * (abs(down) + linear)
        + 4.0 * kappa * (cone.inner_error(D, x) + lost * x_norm)
    )
    up2, down2 = upper(kappa * w_norm * w_norm, 4), upper(kappa * x_norm * x_norm, 4)
    if accuracy > 0.0:  # later solutions lie in the cone up to rounding, however large they are
        error = 2.0 * cone.projection_error
        root = 0.5 * (sqrt_upper(linear) + f)
        steady += error * (2.0 * x_norm + root)
        rising += error * (2.0 * w_norm + root)
    form = tuple(map(float, (q0, up1, up2, down1, down2, f)))
    return MovingRadius(form, upper(steady, 8), upper(rising, 8), math.ldexp(1.0, exponent))
