"""What all floors of the library show on the way: progress, iterations, and a warning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from safescreen._repr import brief_repr
from safescreen.rounding import ElementLike


class ConvergenceWarning(UserWarning):
    """The gap did not reach the tolerance."""


class Iteration(NamedTuple):
    """State of a solver at one iteration, as it is kept in a history.

    `primal` and `gap` say where the optimum of the whole problem lies. Once terms have left, they
    are computed from those that are left. These have the same optimum, and elsewhere an objective
    that is lower or the same. What the whole problem has at an iterate is in :class:`Progress`.

    Attributes
    ----------
    iteration : int
        Iterations so far.
    primal, gap : float
        The optimum lies between ``primal - gap`` and `primal`, up to the rounding of `primal`, and
        the iterate at most ``sqrt(2 gap/lam)`` from the solution. As long as no term has left they
        are the objective and the duality gap at the iterate.
    n_terms, n_L, n_R : int
        Terms that are left, and terms certified to be in the linear and in the zero region.
    seconds : float
        Since the start.
    """

    iteration: int
    primal: float
    gap: float
    n_terms: int
    n_L: int
    n_R: int
    seconds: float


class Deferred:
    """A field of a record that may be given as a function of no arguments. The function is called
    when the field is first read.
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, record, owner=None):
        if record is None:
            raise AttributeError(self.name)  # the field has no default
        value = vars(record)[self.name]
        if callable(value):
            value = vars(record)[self.name] = value()
        return value

    def __set__(self, record, value):
        vars(record)[self.name] = value


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The record that a callback gets from :func:`safescreen.solve`, paths, Frank-Wolfe and the
    estimators.

    If the callback returns a true value, the work ends, and its result so far is kept. What it
    writes to the arrays of the record changes nothing: they are copies.

    Attributes
    ----------
    iteration : int
        Iterations so far; along a path, how many parameters are solved.
    x : element
        The iterate: M, w, or the similarity of Frank-Wolfe.
    primal, gap : float
        Objective of the whole problem and certified duality gap there. Once terms have left, an
        evaluation of all terms computes both when one of them is first read. For Frank-Wolfe they
        are the mean loss and its gap; with the exact direction the optimum is at most `gap` lower.
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
    primal: float = Deferred()  # type: ignore[assignment]
    gap: float = Deferred()  # type: ignore[assignment]
    n_terms: int
    n_L: int = 0
    n_R: int = 0
    seconds: float
    lam: float | None = None
    solution: Any = field(default=None, repr=False)
    error: float | None = None

    __repr__ = brief_repr

    def __getstate__(self):
        return {name: getattr(self, name) for name in vars(self)}
