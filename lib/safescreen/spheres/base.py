"""A ball that contains the optimum, and the references from which balls are built."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from safescreen._repr import brief_repr
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike, norm, sqrt_upper, upper


@dataclass(frozen=True)
class Sphere:
    """A closed ball ``||x - center|| <= radius`` that contains the optimum.

    Attributes
    ----------
    center : element of the space
    radius : float
        In units of x. It is an upper bound, which includes the rounding errors of the center and of
        the radius itself. A ball whose radius is NaN decides nothing.
    normal : element of the space, optional
        Normal of a half-space ``<normal, x> >= 0`` that contains the cone.
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
        """Whether the ball can decide anything: its radius is finite and not negative."""
        return 0.0 <= self.radius < math.inf

    def contains(self, x: ElementLike) -> bool:
        """Return whether x lies in the ball, as computed. The comparison makes no allowance for
        rounding.
        """
        return norm(x - self.center) <= self.radius


@dataclass(frozen=True, kw_only=True)
class PathReference:
    """An approximate solution x0 for lam0. The exact solution is at most ``eps`` away from it."""

    x0: ElementLike
    lam0: float
    eps: float

    __repr__ = brief_repr


@dataclass(frozen=True)
class BallReference:
    """The data from which a sphere may be built during a solve.

    Attributes
    ----------
    problem : Problem
    evaluation : Evaluation
        The problem at the current iterate and at a dual point. The dual point is ``alpha(x)`` or a
        better dual point. For the hinge, its entries may be fractional where the margin is at the
        kink.
    path : PathReference or None
        The solution for a neighbouring lam.
    """

    problem: Problem
    evaluation: Evaluation
    path: PathReference | None = None

    __repr__ = brief_repr


def gap_radius(evaluation: Evaluation, factor: float = 2.0) -> float:
    """Return an upper bound of ``sqrt(factor gap/lam)``."""
    return sqrt_upper(upper(factor * evaluation.gap / evaluation.lam, 4))
