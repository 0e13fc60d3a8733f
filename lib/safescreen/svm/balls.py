"""Ball tests 1 and 2 and the intersection test (SSS14 Theorems 6, 7 and 8).

Both balls are the midpoint gap bound, :func:`safescreen.spheres.midpoint_gap_bound`, of a feasible
point ``w~`` and a dual point alpha. The center is ``(w~ + C sum_i alpha_i z_i)/2``, and the squared
radius ``||center||^2 + C (xi~ - 1'alpha)``. If ``alpha = s`` is binary, the bound is ball 2. If
alpha is the dual optimum ``alpha0`` for C0, then ``sum_i alpha0_i z_i = w0/C0``, and
``1'alpha0 = xi0 + ||w0||^2/C0`` because the primal and the dual objective for C0 are equal. Then
the bound is ball 1.

The printed radii are differences of large numbers. The library computes the same radius as a sum of
non-negative numbers, for fractional alpha, for an inexact w0 and for any loss of the family.
"""

from __future__ import annotations

from numpy.typing import ArrayLike, NDArray

from safescreen import rules
from safescreen._checks import check_lam, check_vector
from safescreen.losses import Loss
from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.rules import Screened
from safescreen.spheres import Sphere
from safescreen.spheres.gap import from_evaluation_mgb
from safescreen.svm.references import ReferenceLike, as_reference, problem_of
from safescreen.terms import Terms


def ball_of(
    prob: Problem, w: ElementLike, C: float, alpha: ArrayLike, name: str, argument: str = "w"
) -> Sphere:
    """Return the midpoint gap bound of (w, alpha) for C as a ball called `name`. Errors call w
    `argument`.
    """
    w = prob.cone.check_feasible(w, argument)
    ball = from_evaluation_mgb(prob.cone, prob.evaluate(w, 1.0 / check_lam(C, "C"), alpha))
    return Sphere(ball.center, ball.radius, ball.normal, name)


def ball_1(
    terms: Terms,
    C: float,
    reference: ReferenceLike,
    feasible: ElementLike | None = None,
    loss: Loss | None = None,
) -> Sphere:
    """Return the ball of test 1: center ``(w~ + C/C0 w0)/2``,
    ``r^2 = ||center||^2 - C/C0 ||w0||^2 + C (xi~ - xi0)``.

    SSS14 Theorem 6. The reference (w0, alpha0) for C0 need not be exact: ``sum_i alpha0_i z_i``
    takes the place of ``w0/C0``, and the ball contains the optimum for C in spite of rounding. If
    `feasible` is left out and the reference is exact, the center is ``(C + C0)/(2 C0) w0`` and the
    radius ``|C - C0|/(2 C0) ||w0||``. This ball is the bound of the DVI test (SSS14 appendix C) and
    of STS19 Theorem 5.

    Parameters
    ----------
    terms : Samples or other terms
    C : float > 0
        The C whose optimum the ball contains.
    reference : Reference or Solution
        For some other C, larger or smaller.
    feasible : element of the space, optional
        ``w~``, any point; the w of the reference if left out.
    loss : SmoothedHinge, optional
        If left out, the loss of the reference; the hinge if the reference has none.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `C` is not positive, `reference` is neither a Reference nor a Solution, or it does not fit
        `terms`.

    Notes
    -----
    Cost: one product with the data and one with their transpose. Safe in floating
    point, because :func:`~safescreen.spheres.midpoint_gap_bound` makes the ball.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> start = ss.svm.solution_below_c_min(samples, 0.125)
    >>> ball = ball_1(samples, 0.25, start)
    >>> ball.center.tolist(), round(ball.radius, 12)
    ([0.5625], 0.1875)
    """
    reference = as_reference(reference)
    prob = problem_of(terms, loss, reference)
    w = reference.w if feasible is None else feasible
    return ball_of(prob, w, C, reference.alpha, "BT1", _named(feasible))


def ball_2(
    terms: Terms, C: float, feasible: ElementLike, s: ArrayLike, loss: Loss | None = None
) -> Sphere:
    """Return the ball of test 2: center ``(w~ + C z_s)/2``, ``r^2 = ||center||^2 + C (xi~ - s'1)``,
    where ``z_s = sum_i s_i z_i``.

    SSS14 Theorem 7. In the paper s lies in {0, 1}^n. Here s may be any point of [0, 1]^n, such as
    the result of :func:`choose_s`.

    Parameters
    ----------
    terms, C
        As for :func:`ball_1`.
    feasible : element of the space
        ``w~``, any point.
    s : array of shape (n,)
        Numbers in [0, 1].
    loss : SmoothedHinge, optional
        The hinge if left out.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError
        `C` is not positive, `feasible` is not an element of the space, or `s` is not in [0, 1]^n.

    Notes
    -----
    Cost: one product with the data and one with their transpose. Safe in floating
    point, because :func:`~safescreen.spheres.midpoint_gap_bound` makes the ball.

    Examples
    --------
    >>> import safescreen as ss
    >>> ball_2(ss.Samples([[1.0], [-2.0]], [1, -1]), 0.25, [0.5], [1.0, 0.0]).center.tolist()
    [0.375]
    """
    prob = problem_of(terms, loss)
    s = check_vector(s, len(prob), "s", low=0.0, high=prob.loss.cap)
    return ball_of(prob, feasible, C, s, "BT2", "feasible")


def choose_s(
    terms: Terms,
    C: float,
    reference: ReferenceLike,
    feasible: ElementLike | None = None,
    loss: Loss | None = None,
) -> NDArray:
    """Return the s that maximises ``||m1 - m2||^2 - r2^2``: the squared distance of the two centers
    minus the squared radius of ball 2.

    SSS14 equation 25. Written out, ``||m1 - m2||^2 - r2^2 = const + C sum_i s_i (1 - <z_i, m1>)``
    for any ``w~``. So ``s_i`` is 1 if the margin at the center of ball 1 is below 1, and 0
    otherwise. With thresholds and the smoothed hinge the summands are
    ``s_i (tau_i - <z_i, m1>) - gamma/2 s_i^2``. The best s is then the dual point ``alpha(m1)`` of
    the center of ball 1, which is fractional if gamma > 0.

    Parameters
    ----------
    terms, C, reference, feasible, loss
        As for :func:`ball_1`.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> choose_s(samples, 0.25, ss.svm.solution_below_c_min(samples, 0.125)).tolist()
    [1.0, 0.0]
    """
    reference = as_reference(reference)
    prob = problem_of(terms, loss, reference)
    return prob.alpha(ball_1(terms, C, reference, feasible, prob.loss).center)


def ball_test_1(
    terms: Terms,
    C: float,
    reference: ReferenceLike,
    feasible: ElementLike | None = None,
    loss: Loss | None = None,
) -> Screened:
    """Screen with ball 1 (SSS14 Theorem 6 and Lemma 1).

    Parameters
    ----------
    terms, C, reference, feasible, loss
        As for :func:`ball_1`.

    Returns
    -------
    Screened

    Notes
    -----
    Cost: one product with the data more than :func:`ball_1`. Safe in floating point, because the
    rule :func:`~safescreen.rules.sphere` is.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> ball_test_1(samples, 0.25, ss.svm.solution_below_c_min(samples, 0.125)).in_L.tolist()
    [True, False]
    """
    reference = as_reference(reference)
    prob = problem_of(terms, loss, reference)
    return rules.sphere(prob, ball_1(terms, C, reference, feasible, prob.loss))


def ball_test_2(
    terms: Terms, C: float, feasible: ElementLike, s: ArrayLike, loss: Loss | None = None
) -> Screened:
    """Screen with ball 2 (SSS14 Theorem 7 and Lemma 1).

    Parameters
    ----------
    terms, C, feasible, s, loss
        As for :func:`ball_2`.

    Returns
    -------
    Screened

    Notes
    -----
    Cost: one product with the data more than :func:`ball_2`. Safe in floating point, because the
    rule :func:`~safescreen.rules.sphere` is.

    Examples
    --------
    >>> import safescreen as ss
    >>> ball_test_2(ss.Samples([[1.0], [-2.0]], [1, -1]), 0.25, [0.5], [1.0, 0.0]).in_L.tolist()
    [True, False]
    """
    return rules.sphere(problem_of(terms, loss), ball_2(terms, C, feasible, s, loss))


def intersection_test(
    terms: Terms,
    C: float,
    reference: ReferenceLike,
    s: ArrayLike | None = None,
    feasible: ElementLike | None = None,
    loss: Loss | None = None,
) -> Screened:
    """Screen with the intersection of ball 1 and ball 2, which share ``w~`` (SSS14 Theorem 8). The
    test screens everything that ball test 1 or ball test 2 screens, and more.

    Parameters
    ----------
    terms, C, reference
        As for :func:`ball_1`.
    s : array of shape (n,), optional
        As for :func:`ball_2`; the result of :func:`choose_s` if left out.
    feasible, loss
        As for :func:`ball_1`.

    Returns
    -------
    Screened

    Notes
    -----
    Cost: two products with the data more than :func:`ball_1` and :func:`ball_2` together. Safe in
    floating point, because the rule :func:`~safescreen.rules.intersection` is. The balls may
    have the same center, and one ball may contain the other.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.Samples([[1.0], [-2.0]], [1, -1])
    >>> intersection_test(samples, 0.25, ss.svm.solution_below_c_min(samples, 0.125)).in_L.tolist()
    [True, False]
    """
    reference = as_reference(reference)
    prob = problem_of(terms, loss, reference)
    w = reference.w if feasible is None else feasible
    first = ball_of(prob, w, C, reference.alpha, "BT1", _named(feasible))
    s = prob.alpha(first.center) if s is None else s
    s = check_vector(s, len(prob), "s", low=0.0, high=prob.loss.cap)
    return rules.intersection(prob, first, ball_of(prob, w, C, s, "BT2", _named(feasible)))


def _named(feasible):
    """Return the name that errors use for the point ``w~``."""
    return "reference.w" if feasible is None else "feasible"
