"""Regularization path bounds: RPB and RRPB."""

from __future__ import annotations

from safescreen._checks import check_element, check_lam, check_scalar
from safescreen.problem import Evaluation
from safescreen.rounding import ElementLike, gamma, magnitude, norm_upper, upper
from safescreen.spheres.base import Sphere, gap_radius


def path_bound(x0: ElementLike, lam0: float, lam1: float) -> Sphere:
    """Return the regularization path bound (RPB): center ``(lam0 + lam1)/(2 lam1) x0``, radius
    ``|lam0 - lam1|/(2 lam1) ||x0||``.

    STS19 Theorem 5. It holds for the *exact* solution x0 for lam0. A computed solution needs
    :func:`relaxed_path_bound`.

    Parameters
    ----------
    x0 : element of the space
        Exact solution for lam0.
    lam0, lam1 : float > 0
        The lam of x0, and the lam whose optimum the ball contains.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `x0` is not a finite element of a space, or a lam is not positive.

    Notes
    -----
    Cost: one norm, and no evaluation of the problem. Safe in floating point if x0 is exact: the
    radius includes the rounding errors of the center and of the radius itself.

    Examples
    --------
    >>> import numpy as np
    >>> path_bound(np.array([2.0]), 2.0, 1.0).center.tolist()
    [3.0]
    """
    return _bound(x0, 0.0, lam0, lam1, "RPB")


def relaxed_path_bound(x0: ElementLike, eps: float, lam0: float, lam1: float) -> Sphere:
    """Return the relaxed regularization path bound (RRPB) from an approximate solution x0 for lam0.

    Its center is ``(lam0 + lam1)/(2 lam1) x0``, its radius
    ``|lam0 - lam1|/(2 lam1) ||x0|| + (|lam0 - lam1| + lam0 + lam1)/(2 lam1) eps`` (STS19 Theorem
    6). It is DGB for ``lam1 = lam0`` when eps is the radius of DGB.

    Parameters
    ----------
    x0 : element of the space
        Approximate solution for lam0.
    eps : float >= 0
        Upper bound of the distance of x0 from the exact solution for lam0, such as the radius of
        DGB there.
    lam0, lam1 : float > 0
        The lam of x0, and the lam whose optimum the ball contains.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `x0` is not a finite element of a space, `eps` is negative, or a lam is not positive.

    Notes
    -----
    Cost: one norm, and no evaluation of the problem. Safe in floating point: the radius includes
    the rounding errors of the center and of the radius itself.

    Examples
    --------
    >>> import numpy as np
    >>> round(relaxed_path_bound(np.array([2.0]), 0.5, 2.0, 1.0).radius, 12)
    2.0
    """
    return _bound(x0, check_scalar(eps, "eps", low=0.0), lam0, lam1, "RRPB")


def reference_accuracy(evaluation: Evaluation) -> float:
    """Return eps for :func:`relaxed_path_bound`: an upper bound of ``||x - x*||``, the radius of
    DGB at the evaluated point.
    """
    return upper(gap_radius(evaluation) + evaluation.x_error, 4)


def _bound(x0, eps, lam0, lam1, name):
    x0 = check_element(x0, None, "x0")
    lam0, lam1 = check_lam(lam0, "lam0"), check_lam(lam1, "lam1")
    factor = (lam0 + lam1) / (2.0 * lam1)
    x_norm = norm_upper(x0)
    radius = abs(lam0 - lam1) / (2.0 * lam1) * x_norm + max(lam0, lam1) / lam1 * eps
    # each entry of the center is rounded three times
    radius = upper(radius, 8) + gamma(4) * factor * magnitude(x0)
    return Sphere(factor * x0, upper(radius, 4), None, name)
