"""What all floors of the library show on the way: progress, iterations, and a warning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from safescreen._repr import brief_repr
from safescreen.rounding import ElementLike


class ConvergenceWarning(UserWarning):
    """The gap did not reach the tolerance."""


class Iteration(NamedTuple):
    """State of a solver at one iteration, as it is kept in a history."""

    iteration: int
    primal: float
    gap: float
    n_terms: int
    n_L: int
    n_R: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The record that a callback gets from :func:`safescreen.solve`, paths, Frank-Wolfe and the
    estimators.

    If the callback returns a true value, the work ends, and its result so far is kept.

    Attributes
    ----------
    iteration : int
        Iterations so far; along a path, how many parameters are solved.
    x : element
        The iterate: M, w, or the similarity of Frank-Wolfe. Not a copy.
    primal, gap : float
        Objective and certified duality gap there; for Frank-Wolfe the mean loss and its gap, which
        is exact with the exact direction only.
    n_terms, n_L, n_R : int
        Terms that are left, and terms certified to be in the linear and in the zero region.
    seconds : float
        Since the start.
    lam : float or None
        Regularization parameter.
    solution : Solution or None
        Along a path: the one just found.
    error : float or None
        What the monitor of Frank-Wolfe said.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> seen = []
    >>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    >>> _ = ss.solve(problem, 100.0, tol=1e-6, callback=lambda progress: seen.append(progress.gap))
    >>> seen[-1] <= 1e-6
    True
    """

    iteration: int
    x: ElementLike = field(repr=False)
    primal: float
    gap: float
    n_terms: int
    n_L: int = 0
    n_R: int = 0
    seconds: float
    lam: float | None = None
    solution: Any = field(default=None, repr=False)
    error: float | None = None

    __repr__ = brief_repr
