"""The semidefinite rule: whether ``<a, x>`` passes a threshold at a point of the cone in a ball."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_count, check_mask
from safescreen.problem import Problem
from safescreen.rounding import UNIT, upper
from safescreen.rules._certificates import CERTIFICATES, Claims, Region
from safescreen.rules.base import Screened, needs
from safescreen.rules.halfspace import cone_halfspace
from safescreen.spheres import Sphere

BATCH = 1 << 18
"""Number of matrix entries in one batch."""


@needs()
def semidefinite(
    prob: Problem, ball: Sphere, *, max_iter: int = 20, skip: ArrayLike | None = None
) -> Screened:
    """Screen with the extreme values of ``<a, x>`` over the points of a ball that lie in the cone.

    STS19 section 4.2 for the semidefinite cone, section 6.2 (Theorems 11 and 12, Algorithm 3) for
    the non-negative cone. A term is certified if all points of the cone beyond its threshold C are
    farther than r from the center Q::

        max_{y >= 0} 2 y C + ||Q||^2 - ||[Q + y a]_K||^2 > r^2

    with ``C = tau - gamma`` for L, and with ``-a`` and ``C = -tau`` for R. Over the whole space
    this is the sphere rule.

    Parameters
    ----------
    prob : Problem
        Its terms must offer "elements": single terms written out.
    ball : Sphere
        A ball that contains the optimum.
    max_iter : int
        Largest number of eigendecompositions per term (the diagonal case needs none).
    skip : boolean array of shape (T,), optional
        Terms to which only the sphere rule and the linear rule are applied.

    Returns
    -------
    Screened
        All terms that the sphere rule screens, all terms that the linear rule screens if the ball
        has a `normal`, and more.

    Raises
    ------
    TypeError, ValueError
        The terms cannot be written out one by one; `max_iter` is not a positive int; `skip` is not
        a mask of the terms.

    Notes
    -----
    Cost: one margin per term. Then each undecided term that ``[Q]_K`` does not refute costs O(d^3)
    per step, or O(d log d) in all for a diagonal metric. When Q is in the cone a step needs one
    eigenpair instead of all (a term has at most one negative eigenvalue). On random triplets this
    took 0.6 to 0.8 of the time at d = 19, 0.35 to 0.5 at d = 68, 0.2 at d = 200. Safe in floating
    point by weak duality: any y may certify a term, the steps end at the first y that does, and the
    value at y is a lower bound that includes the errors of the split, of the term and of every
    operation.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [[0, 1, 2]])
    >>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.5))
    >>> ball = ss.Sphere(np.diag([-0.3, 0.5]), 0.32)
    >>> ss.rules.sphere(problem, ball).in_R.tolist(), semidefinite(problem, ball).in_R.tolist()
    ([False], [True])
    """
    first = cone_halfspace(prob, ball)
    cone = prob.cone
    radius = float(ball.radius)
    steps = check_count(max_iter, "max_iter")
    undecided = ~(first.in_L | first.in_R)
    if skip is not None:
        undecided &= ~check_mask(skip, len(prob), "skip")
    certificate = CERTIFICATES.get(cone.nonnegative)
    if certificate is None or not 0.0 <= radius < math.inf:
        return first
    prob.terms.require("elements", by="the semidefinite rule")
    region, plus = _region(cone, cone.check(ball.center, "ball.center"), radius)
    certify = partial(certificate, region, max_iter=steps)
    batch_size = max(1, BATCH // math.prod(cone.shape))
    at_center, at_plus = (prob.terms.inner_products(element) for element in (ball.center, plus))
    for start, stop, low, high in prob.terms.regions(prob.loss):
        numbers = start + np.flatnonzero(undecided[start:stop])
        if not numbers.size:
            continue
        places = numbers - start
        q, q_errors = at_center.chunk(start, stop)
        products, _ = at_plus.chunk(start, stop)
        low = np.broadcast_to(low, q.shape)[places]
        high = np.broadcast_to(high, q.shape)[places]
        candidates = _Candidates(
            numbers=numbers,
            q=q[places],
            q_errors=q_errors[places],
            products=products[places],
            C_errors=4.0 * UNIT * (np.abs(low) + np.abs(high)),
        )
        _certify_side(first.in_R, -1.0, -high, candidates, prob, certify, batch_size)
        if prob.loss.has_linear_region:
            _certify_side(first.in_L, 1.0, low, candidates, prob, certify, batch_size)
    return first


class Written(Protocol):
    """Terms with the capability "elements", which the rule needs."""

    def elements(self, numbers: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(a, errors)``: some terms written out, one for each row, and bounds of their
        rounding errors.
        """
        ...


class _Candidates(NamedTuple):
    """Undecided terms: their numbers, their margins at the center of the ball with error bounds,
    their margins at the projection of the center, and error bounds of their thresholds.
    """

    numbers: NDArray
    q: NDArray
    q_errors: NDArray
    products: NDArray
    C_errors: NDArray


def _certify_side(mask, sign, C, candidates, prob, certify, batch_size):
    """Set `mask` for the candidates that are certified to have ``sign <a, x> < C`` at all points of
    the region.

    A candidate is skipped if the projection of the center is a counter-example.
    """
    tried = np.flatnonzero(sign * candidates.products < C)
    for places in np.split(tried, range(batch_size, tried.size, batch_size)):
        numbers = candidates.numbers[places]
        terms: Any = prob.terms  # Written, which the rule has asked for
        a, a_errors = terms.elements(numbers)
        claims = Claims(
            a=sign * a,
            a_error=a_errors,
            q=sign * candidates.q[places],
            q_error=candidates.q_errors[places],
            n=prob.terms.norms[numbers],
            C=C[places],
            C_error=candidates.C_errors[places],
            product=sign * candidates.products[places],
        )
        with np.errstate(all="ignore"):  # what overflows or is NaN certifies nothing
            mask[numbers] = certify(claims)


def _region(cone, center, radius):
    """Return the :class:`Region` of a ball and the projection of its center."""
    plus, minus = cone.split(center)
    norm = cone.norm_upper(center)
    unit = cone.zeros()
    unit.flat[0] = 1.0  # the error of a split is proportional to the norm of the element
    region = Region(
        center=center,
        square=upper(radius * radius, 2),
        norm_low=max(cone.norm_lower(center) - 1e-150, 0.0),  # squares may underflow
        norm=norm,
        minus_norm=cone.norm(minus),
        split_error=cone.split_error(unit),
    )
    return region, plus
