"""A ball that holds the solution, and what it may be built from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from safescreen._repr import brief_repr
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike, norm, sqrt_upper, upper


@dataclass(frozen=True)
class Sphere:
    """A closed ball that contains the optimal x.

    Attributes
    ----------
    center : element of the space
    radius : float
        An upper bound that includes the rounding errors of the center and of the radius itself. NaN
        screens nothing.
    normal : element, optional
        A half-space ``<normal, x> >= 0`` known to contain the cone.
    name : str
        The name of its family, such as "DGB".

    Examples
    --------
    >>> bool(Sphere(0.5, 1.0).contains(1.2))
    True
    """

    center: ElementLike
    radius: float
    normal: ElementLike | None = field(default=None, repr=False)
    name: str = ""

    __repr__ = brief_repr

    @property
    def decides(self) -> bool:
        """Whether it can decide anything at all: a finite, non-negative radius."""
        return 0.0 <= self.radius < math.inf

    def contains(self, x: ElementLike) -> bool:
        """Return whether x lies in the ball, as computed."""
        return norm(x - self.center) <= self.radius


@dataclass(frozen=True, kw_only=True)
class PathReference:
    """An approximate solution x0 for lam0, at most ``eps`` away from the exact one."""

    x0: ElementLike
    lam0: float
    eps: float

    __repr__ = brief_repr


@dataclass(frozen=True)
class Reference:
    """What a sphere may be built from during a solve.

    Attributes
    ----------
    problem : Problem
    evaluation : Evaluation
        The problem at the current iterate and its dual point: ``alpha(x)``, or a better one (for
        the hinge, fractional at the kink).
    path : PathReference or None
        The solution of a neighbouring lam.
    """

    problem: Problem
    evaluation: Evaluation
    path: PathReference | None = None

    __repr__ = brief_repr


def gap_radius(evaluation: Evaluation, factor: float = 2.0) -> float:
    """Return an upper bound of ``sqrt(factor gap/lam)``."""
    return sqrt_upper(upper(factor * evaluation.gap / evaluation.lam, 4))
