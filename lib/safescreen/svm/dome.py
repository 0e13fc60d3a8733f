"""The dome test: a ball around 0 and a half-space, for a whole interval of C (SSS13 Theorem 2,
SSS14 Theorem 11).
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from safescreen import rules
from safescreen._checks import check_scalar
from safescreen._repr import brief_repr
from safescreen.losses import Loss
from safescreen.rounding import UNIT, ElementLike, upper
from safescreen.rules import Screened
from safescreen.spheres import Sphere
from safescreen.svm.balls import ball_of
from safescreen.svm.references import ReferenceLike, as_reference, problem_of
from safescreen.svm.totals import norm_of_ball
from safescreen.terms import Terms


@dataclass(frozen=True)
class Dome:
    """The points w of a ball with ``<normal, w> >= offset``.

    Attributes
    ----------
    ball : Sphere
        A ball around 0.
    normal : element of the space
    offset : float
        A lower bound that includes rounding.
    """

    ball: Sphere
    normal: ElementLike
    offset: float

    __repr__ = brief_repr


def dome(
    terms: Terms, reference_a: ReferenceLike, bound: ReferenceLike | float, loss: Loss | None = None
) -> Dome:
    """Return the dome that contains the solutions for all C in ``[C_a, C_b]``: ``||w|| <= ||w_b||``
    and ``<w_a, w> >= ||w_a||^2``.

    SSS13 Lemma 1. For C >= C_a the total loss of ``w(C)`` is at most the total loss of ``w_a``, and
    no vector with such a total loss is shorter than ``w_a``. The half-space follows. For C <= C_b
    the norm of ``w(C)`` is at most ``||w_b||``.

    Parameters
    ----------
    terms : Samples or other terms
    reference_a : Reference or Solution
        For C_a, exact or not.
    bound : Reference, Solution or float
        A solution for C_b >= C_a, exact or not; or an upper bound R of the norm of the solutions.
        For example, R may be the norm of a vector whose total loss is at most the total loss of the
        solution for C_b.
    loss : SmoothedHinge, optional
        If left out, the loss of the reference; the hinge if the reference has none.

    Returns
    -------
    Dome

    Raises
    ------
    ValueError, TypeError
        `bound` belongs to a smaller C than `reference_a`, is a negative number, or is neither a
        number nor a reference.

    Notes
    -----
    Cost: one evaluation of the problem for each reference. Safe in floating point: the half-space
    is moved outward by bounds of the error of the reference and of all rounding errors.

    Let c and eps be the center and the radius of the midpoint gap bound of `reference_a`. The exact
    solution u for C_a lies within eps of c. Every solution w for a larger C satisfies
    ``<u, w - u> >= 0``, that is, ``||u - w/2|| <= ||w||/2``. So ``||c - w/2|| <= ||w||/2 + eps``,
    that is::

        <c, w> >= ||c||^2 - eps (eps + ||w||) >= ||c||^2 - eps (eps + R)

    No smaller shift of the half-space is valid for every u within eps of c.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> region = dome(samples, ss.svm.solution_below_c_min(samples, 0.125), 0.5)
    >>> region.normal.tolist(), region.ball.radius
    ([0.375], 0.5)
    """
    a = as_reference(reference_a, "reference_a")
    prob = problem_of(terms, loss, a)
    cone = prob.cone
    near = ball_of(prob, a.w, a.C, a.alpha, "MGB")
    if isinstance(bound, numbers.Real):
        R = check_scalar(bound, "bound", low=0.0)
    else:
        b = as_reference(bound, "bound")
        if b.C < a.C:
            raise ValueError(
                "bound must be a reference for a C of at least that of reference_a, "
                f"{a.C:g}, got {b.C:g}"
            )
        R = norm_of_ball(cone, ball_of(prob, b.w, b.C, b.alpha, "MGB"))[1]
    norm = cone.norm_lower(near.center)
    square = norm * norm
    shift = upper(near.radius * (near.radius + R), 4)
    return Dome(
        Sphere(cone.zeros(), R, None, "DT"),
        near.center,
        square - shift - 8.0 * UNIT * (square + shift),
    )


def dome_test(
    terms: Terms, reference_a: ReferenceLike, bound: ReferenceLike | float, loss: Loss | None = None
) -> Screened:
    """Screen with :func:`dome`, for all C in ``[C_a, C_b]`` at once (SSS13 Theorem 2, SSS14 Theorem
    11).

    Parameters
    ----------
    terms, reference_a, bound, loss
        As for :func:`dome`.

    Returns
    -------
    Screened

    Notes
    -----
    Cost: one product with the data more than :func:`dome`. Safe in floating point, because the rule
    :func:`~safescreen.rules.halfspace` is.

    Let ``A = ||w_a||^2`` and ``B = ||w_b||^2``. For an exact reference the minimum of ``<z_i, w>``
    is ``-sqrt(B) ||z_i||`` if ``-<z_i, w_a>/||z_i|| >= A/sqrt(B)``. Otherwise it is
    ``<z_i, w_a> - sqrt((B - A)/A (A ||z_i||^2 - <z_i, w_a>^2))``.

    SSS14 Theorem 11 defines its gammas as A and B, but prints the first case and both conditions as
    if they were ``A/2`` and ``B/2``. The printed condition is then
    ``-<z_i, w_a>/||z_i|| >= sqrt(2) A/sqrt(B)``. Between the two conditions Theorem 11 as printed
    uses the second case although the first case is the right one, and its bound does not hold.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0], [-8.0]], [1, -1, 1])
    >>> start = ss.svm.solution_below_c_min(samples, 1 / 64)
    >>> dome_test(samples, start, 0.2).in_L.tolist()
    [True, True, False]
    """
    a = as_reference(reference_a, "reference_a")
    prob = problem_of(terms, loss, a)
    region = dome(terms, a, bound, prob.loss)
    if not (math.isfinite(region.ball.radius) and math.isfinite(region.offset)):
        return rules.sphere(prob, region.ball)
    return rules.halfspace(prob, region.ball, region.normal, region.offset)


def safe_screening(
    terms: Terms, reference_a: ReferenceLike, feasible: ElementLike, loss: Loss | None = None
) -> Screened:
    """Screen the s-form for every s from the total loss of the feasible point to the total loss of
    the solution w_a (SSS13 Theorem 2, Algorithm 1).

    For ``s >= H(w^)`` no solution of the s-form is longer than the feasible point ``w^``. So the
    test is :func:`dome_test` with ``R = ||w^||``.

    Parameters
    ----------
    terms : Samples or other terms
    reference_a : Reference or Solution
        The solution for the largest s, exact or not.
    feasible : element of the space
        ``w^``.
    loss : SmoothedHinge, optional
        As for :func:`dome`.

    Returns
    -------
    Screened

    Notes
    -----
    Cost: the same as :func:`dome_test`. Safe in floating point, because :func:`dome_test` is.

    Algorithm 1 tests
    only samples with ``<z_i, w_a> > 1`` for R. This restriction makes no difference, because
    ``w_a`` lies in the dome.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0], [-8.0]], [1, -1, 1])
    >>> safe_screening(samples, ss.svm.solution_below_c_min(samples, 1 / 64), [-0.2]).in_L.tolist()
    [True, True, False]
    """
    a = as_reference(reference_a, "reference_a")
    prob = problem_of(terms, loss, a)
    return dome_test(
        terms, a, prob.cone.norm_upper(prob.cone.check_feasible(feasible, "feasible")), prob.loss
    )
