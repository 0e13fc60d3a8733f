"""Reference solutions, from which the tests of the papers are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safescreen._checks import as_array, check_element, check_kind, check_lam, check_vector
from safescreen._repr import brief_repr
from safescreen.losses import Hinge, Loss
from safescreen.problem import Problem
from safescreen.rounding import ElementLike
from safescreen.solvers import Solution
from safescreen.terms import Terms


@dataclass(frozen=True)
class Reference:
    """A primal and a dual point, optimal for C or nearly so.

    A test is safe for any `w` and any `alpha`. The nearer these points are to the optimum, the more
    terms the test screens.

    Attributes
    ----------
    w : element of the space
    alpha : array of shape (n,)
        Dual variables in [0, 1], ``alpha_SVM/C``.
    C : float
        The C for which `w` and `alpha` were computed.
    loss : SmoothedHinge or None
        The loss for which `w` and `alpha` were computed; None stands for the hinge. Functions that
        take this reference use the loss by default.

    Examples
    --------
    >>> Reference(np.array([0.5]), np.array([1.0, 0.0]), 2.0).C
    2.0
    """

    w: ElementLike
    alpha: NDArray
    C: float
    loss: Loss | None = field(default=None, repr=False)

    __repr__ = brief_repr

    def __post_init__(self):
        object.__setattr__(self, "w", check_element(self.w, None, "w"))
        object.__setattr__(self, "C", check_lam(self.C, "C"))
        if self.loss is not None:
            check_kind(self.loss, Loss, "loss", "a Loss or None")
        alpha = as_array(self.alpha, "alpha")
        object.__setattr__(self, "alpha", check_vector(alpha, alpha.size, "alpha", low=0.0))


ReferenceLike: TypeAlias = Reference | Solution
"""A reference of the tests. A Solution is replaced by its :func:`reference`."""


def reference(solution: Solution) -> Reference:
    """Return the :class:`Reference` of a solution of the library: its x, its dual point and
    ``C = 1/lam``.

    Parameters
    ----------
    solution : Solution

    Returns
    -------
    Reference

    Raises
    ------
    ValueError, TypeError
        `solution` is no Solution, or does not hold its problem.

    Examples
    --------
    >>> import safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> reference(ss.solve(problem, 0.5)).C
    2.0
    """
    if not isinstance(solution, Solution):
        raise TypeError(f"solution must be a Solution, got {type(solution).__name__}")
    if solution.problem is None:
        raise ValueError(
            "solution must hold its problem, which was not kept: fit the estimator with "
            "keep_problem=True"
        )
    return Reference(solution.x, solution.alpha, 1.0 / solution.lam, solution.problem.loss)


def as_reference(value: Any, name: str = "reference") -> Reference:
    """Return `value` as a :class:`Reference`; a Solution is replaced by its :func:`reference`."""
    if isinstance(value, Reference):
        return value
    if isinstance(value, Solution):
        return reference(value)
    raise TypeError(f"{name} must be a Reference or a Solution, got {type(value).__name__}")


def problem_of(terms: Terms, loss: Loss | None = None, *references: Reference) -> Problem:
    """Return the problem of `terms` with the given loss. If no loss is given, take it from the
    first reference that has one; if none has, take the hinge.
    """
    for candidate in (loss, *(r.loss for r in references)):
        if candidate is not None:
            return Problem(terms, candidate)
    return Problem(terms, Hinge())


def c_min(terms: Terms, loss: Loss | None = None) -> float:
    """Return ``C_min = 1/max_i (Q 1)_i``, the largest C for which every sample is in L and
    ``alpha_SVM = C 1`` (SSS14 Lemma 9).

    Parameters
    ----------
    terms : Samples or other terms
    loss : SmoothedHinge, optional
        The hinge if left out.

    Returns
    -------
    float
        Infinite if the maximum is 0.

    Notes
    -----
    The mean of ``<z_i, sum_j z_j>`` is ``||sum_j z_j||^2/n``, so the maximum is never negative. It
    is 0 only if the sum of all ``z_i`` is 0, and then ``w = 0`` solves the problem for every C.
    With thresholds and the smoothed hinge C_min is ``1/max_i <z_i, sum_j z_j>/(tau_i - gamma)``.

    Examples
    --------
    >>> import safescreen as ss
    >>> c_min(ss.Samples([[1.0], [-2.0]], [1, -1]))
    0.16666666666666666
    """
    lam = problem_of(terms, loss).lam_max()
    return np.inf if lam == 0.0 else 1.0 / lam


def solution_below_c_min(terms: Terms, C: float, loss: Loss | None = None) -> Reference:
    """Return the solution for ``C <= C_min``: ``w = C sum_i z_i``, ``alpha = 1`` (SSS14 Lemma 9).

    Parameters
    ----------
    terms : Samples or other terms
    C : float > 0
    loss : SmoothedHinge, optional
        The hinge if left out.

    Returns
    -------
    Reference

    Raises
    ------
    ValueError
        C is larger than :func:`c_min`.

    Examples
    --------
    >>> import safescreen as ss
    >>> solution_below_c_min(ss.Samples([[1.0], [-2.0]], [1, -1]), 0.125).w.tolist()
    [0.375]
    """
    prob = problem_of(terms, loss)
    C = check_lam(C, "C")
    largest = c_min(terms, prob.loss)
    if C > largest:
        raise ValueError(f"C must be at most C_min = {largest:g} for the closed form, got {C:g}")
    return Reference(C * prob.all_linear(), np.ones(len(terms)), C, prob.loss)
