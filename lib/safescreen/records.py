"""Records that all parts of the library report during a solve: progress, iterations, and a
warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from safescreen._repr import brief_repr
from safescreen.rounding import ElementLike


class ConvergenceWarning(UserWarning):
    """Warning that the gap did not reach the tolerance."""


class Iteration(NamedTuple):
    """State of a solver at one iteration, as a history keeps it.

    `primal` and `gap` bound the optimum of the whole problem. After terms have been screened, both
    numbers belong to the reduced problem. It has the same optimum, and its objective is nowhere
    larger than the objective of the whole problem. :class:`Progress` has the numbers of the whole
    problem at an iterate.

    Attributes
    ----------
    iteration : int
        Iterations so far.
    primal, gap : float
        The optimum lies between ``primal - gap`` and `primal`, up to the rounding of `primal`, and
        the iterate is at most ``sqrt(2 gap/lam)`` from the solution. Until a term is screened they
        are the objective and the duality gap at the iterate.
    n_terms, n_L, n_R : int
        Terms that are not screened, and terms certified to be in the linear and in the zero region.
    seconds : float
        Seconds since the start.
    """

    iteration: int
    primal: float
    gap: float
    n_terms: int
    n_L: int
    n_R: int
    seconds: float


class Deferred:
    """Field of a record that may be given as a function without arguments. The function is called
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
    """Record that a callback gets from :func:`safescreen.solve`, paths, Frank-Wolfe and the
    estimators.

    If the callback returns a true value, the solve ends, and its result so far is kept. The arrays
    of the record are copies, so writing to them changes nothing.

    Attributes
    ----------
    iteration : int
        Number of iterations so far; along a path, the number of lam solved so far.
    x : element
        The iterate: M, w, or the similarity of Frank-Wolfe.
    primal, gap : float
        Objective of the whole problem at x, and its certified duality gap. After terms have been
        screened, an evaluation of all terms computes both numbers when one of them is first read.
        For Frank-Wolfe they are the mean loss and its gap; with the exact direction the optimum is
        at most `gap` lower.
    n_terms, n_L, n_R : int
        Terms that are not screened, and terms certified to be in the linear and in the zero region.
    seconds : float
        Seconds since the start.
    lam : float or None
        Regularization parameter.
    solution : Solution or None
        Along a path, the solution that was just computed.
    error : float or None
        The error that the monitor of Frank-Wolfe returned.

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
