"""The result of a rule, and the loop over terms that all rules share."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safescreen._checks import check_kind
from safescreen._repr import brief_repr
from safescreen.problem import Problem, check_problem
from safescreen.rounding import ElementLike
from safescreen.spheres import Sphere
from safescreen.terms.base import Thresholds


@dataclass(frozen=True)
class Screened:
    """Masks of the screened terms: it is certain on which piece of the loss they lie at the
    optimum.

    Attributes
    ----------
    in_L, in_R : boolean arrays of shape (T,)
        Terms in the linear region (dual variable 1), terms in the zero region (dual variable 0).
    """

    in_L: NDArray
    in_R: NDArray

    __repr__ = brief_repr

    @property
    def n_L(self) -> int:
        """Number of terms certified to be in the linear region."""
        return int(np.count_nonzero(self.in_L))

    @property
    def n_R(self) -> int:
        """Number of terms certified to be in the zero region."""
        return int(np.count_nonzero(self.in_R))

    @property
    def rate(self) -> float:
        """Fraction of all terms that is screened."""
        return (self.n_L + self.n_R) / max(1, self.in_L.size)

    def __or__(self, other: Screened) -> Screened:
        return Screened(self.in_L | other.in_L, self.in_R | other.in_R)


def needs(*capabilities: str) -> Callable:
    """Return a decorator for a rule. The decorated rule states the capabilities that the terms of
    the problem must offer, and checks them at each call.
    """

    def declare(function):
        @functools.wraps(function)
        def checked(prob, *args, **options):
            check_problem(prob)
            prob.terms.require(*capabilities, by=f"the {function.__name__} rule")
            return function(prob, *args, **options)

        checked.needs = capabilities
        return checked

    return declare


def parts_of(prob: Problem, ball: Sphere, name: str = "ball") -> tuple[ElementLike, float]:
    """Return center and radius of a ball in the space of a problem. Raise a TypeError if `ball` is
    no :class:`Sphere`.
    """
    check_kind(ball, Sphere, name)
    radius = check_kind(ball.radius, numbers.Real, f"{name}.radius", "a real number")
    return prob.cone.check(ball.center, f"{name}.center"), float(radius)


def apply(
    prob: Problem,
    elements: Sequence[ElementLike],
    radii: Sequence[float],
    decide: Callable,
    norms: NDArray | None = None,
) -> Screened:
    """Run a rule over all terms, a chunk at a time.

    ``decide(products, norms, thresholds, in_L, in_R)`` fills the two masks of a chunk; `products`
    holds the :class:`Margins` of the terms at each of the `elements`. The first elements are the
    centers of balls with these `radii`. `norms` are the norms of the terms, or their
    :attr:`~Terms.spreads` for a rule that only uses one ball. The :class:`Thresholds` are ``tau -
    gamma`` and ``tau``. For a loss without a linear region L is empty: the first threshold is then
    ``tau``, and terms below it are dropped from L.
    """
    terms = prob.terms
    in_L, in_R = np.zeros(len(terms), dtype=np.bool_), np.zeros(len(terms), dtype=np.bool_)
    views = [terms.inner_products(element) for element in elements]
    norms = terms.norms if norms is None else norms
    balls = views[: len(radii)]
    for start, stop, low, high in terms.regions_in(prob.loss, balls, radii, norms):
        products = [view.chunk(start, stop) for view in views]
        thresholds = Thresholds.of(low, high)
        decide(products, norms[start:stop], thresholds, in_L[start:stop], in_R[start:stop])
    if not prob.loss.has_linear_region:
        in_L[:] = False
    return Screened(in_L, in_R)
