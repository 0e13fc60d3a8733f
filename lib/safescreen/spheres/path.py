"""Regularization path bounds: RPB and RRPB."""

from __future__ import annotations

from safescreen._checks import check_element, check_lam, check_scalar
from safescreen.problem import Evaluation
from safescreen.rounding import ElementLike, gamma, magnitude, norm_upper, upper
from safescreen.spheres.base import Sphere, gap_radius


def path_bound(x0: ElementLike, lam0: float, lam1: float) -> Sphere:
    """Return the regularization path bound (RPB): center ``(lam0 + lam1)/(2 lam1) x0``, radius
    ``|lam0 - lam1|/(2 lam1) ||x0||``.

    STS19 Theorem 5, for the *exact* solution x0 of lam0; a computed one needs
    :func:`relaxed_path_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> path_bound(np.array([2.0]), 2.0, 1.0).center.tolist()
    [3.0]
    """
    return _bound(x0, 0.0, lam0, lam1, "RPB")


def relaxed_path_bound(x0: ElementLike, eps: float, lam0: float, lam1: float) -> Sphere:
    """Return the relaxed path bound (RRPB), for an approximate solution x0 of lam0.

    STS19 Theorem 6: center ``(lam0 + lam1)/(2 lam1) x0``, radius
    ``|lam0 - lam1|/(2 lam1) ||x0|| + (|lam0 - lam1| + lam0 + lam1)/(2 lam1) eps``. With
    ``lam1 = lam0`` it is DGB when eps is its radius.

    Parameters
    ----------
    x0 : element
    eps : float >= 0
        Upper bound of the distance of x0 from the exact solution of lam0, e.g. the radius of DGB
        there.
    lam0, lam1 : float > 0
        The solved and the new regularization parameter.

    Examples
    --------
    >>> import numpy as np
    >>> round(relaxed_path_bound(np.array([2.0]), 0.5, 2.0, 1.0).radius, 12)
    2.0
    """
    return _bound(x0, check_scalar(eps, "eps", low=0.0), lam0, lam1, "RRPB")


def reference_accuracy(evaluation: Evaluation) -> float:
    """Return eps for :func:`relaxed_path_bound`: an upper bound of ``||x - x*||`` by DGB at the
    evaluated point.
    """
    return upper(gap_radius(evaluation) + evaluation.x_error, 4)


def _bound(x0, eps, lam0, lam1, name):
    x0 = check_element(x0, None, "x0")
    lam0, lam1 = check_lam(lam0, "lam0"), check_lam(lam1, "lam1")
    factor = (lam0 + lam1) / (2.0 * lam1)
    x_norm = norm_upper(x0)
    radius = abs(lam0 - lam1) / (2.0 * lam1) * x_norm + max(lam0, lam1) / lam1 * eps
    # of the center each number is rounded three times
    radius = upper(radius, 8) + gamma(4) * factor * magnitude(x0)
    return Sphere(factor * x0, upper(radius, 4), None, name)
