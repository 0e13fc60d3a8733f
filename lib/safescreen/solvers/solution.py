"""The result of a solve."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from safescreen._repr import brief_repr
from safescreen.losses import Loss
from safescreen.records import Iteration
from safescreen.rounding import ElementLike
from safescreen.rules import Screened
from safescreen.terms.base import LossSums, Terms


class DualPoint:
    """A dual point as it is stored. Most of its entries are 0 or 1, so only two bits per term and
    the fractional entries are stored.

    Terms of products of lists are not numbered one by one. Their dual point is ``alpha(x)`` of the
    smoothed hinge of some width, and only the width is stored.
    """

    def __init__(self, alpha: NDArray | None = None, *, width: float = 0.0):
        self.width = width
        self.packed: tuple = ()
        if alpha is not None:
            where = np.flatnonzero((alpha != 0.0) & (alpha != 1.0)).astype(np.int32)
            parts = (np.packbits(alpha == 1.0), where, alpha[where])
            self.packed = alpha.size, *map(read_only, parts)

    def unpack(self) -> NDArray:
        """Return alpha, shape (T,)."""
        size, ones, where, values = self.packed
        alpha = np.unpackbits(ones, count=size).astype(np.float64)
        alpha[where] = values
        return alpha

    def loss_sums(self, terms: Terms, x: ElementLike, loss: Loss) -> LossSums:
        """Return the loss sums of all terms at x for this dual point."""
        if not self.packed:
            return terms.hinge_sums(x, self.width)
        return terms.loss_sums(x, loss, self.unpack())


def pack(status: NDArray) -> tuple[int, NDArray, NDArray]:
    """Return two bits per term: 1 certainly linear, 2 certainly zero."""
    linear, zero = (read_only(np.packbits(status == part)) for part in (1, 2))
    return status.size, linear, zero


def read_only(array: NDArray) -> NDArray:
    """Return the array, made read-only."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Solution:
    """Solution of a problem for one lam.

    Attributes
    ----------
    x : element of the cone
    alpha : array of shape (T,)
        The dual point to which `gap` belongs. It is the last dual point of the solver. For a smooth
        loss ``problem.alpha(x)`` may have a smaller gap. If a solve does not reach its tolerance,
        `alpha` is the best of three dual points: the last one, ``problem.alpha(x)`` and 0.
    lam : float
    gap : float
        Upper bound of the duality gap of the *whole* problem at (x, alpha), rounding included: the
        exact objective at x exceeds the optimal value by at most `gap`.
    relative_gap : float
        The gap relative to the objective.
    primal, loss : float
        ``P(x; lam)`` and its loss term, as computed. `gap` does not include the rounding errors of
        these two numbers, which may be larger than `gap`. So ``primal - gap`` is a lower bound of
        the optimal value only up to these errors.
    n_iter : int
    converged : bool
        Whether the tolerance was reached.
    reason : str
        Why the solve ended: "converged", "iterations" (`max_iter`), "time" (`max_seconds`),
        "callback", "interrupted" (Ctrl-C), or "stalled" (no step made progress any more).
    history : list of Iteration
        Objective, gap and numbers of certain terms at each evaluated point.
    n_terms, n_L, n_R : int
        Number of terms, and of terms that are proved to lie in the linear region and in the zero
        region at the optimum. The proof is screening during the solve, whose numbers are in
        `history`, or the ball of the solution, which tests all terms once at the end unless
        ``screening=()``.
    screened : Screened or None
        Masks of the terms that `n_L` and `n_R` count. None if a path did not keep the masks, or if
        terms are not numbered one by one.
    step : float or None
        The length of the last step, from which a solve for a neighbouring lam starts.
    eps : float
        Upper bound of the distance of x from the exact solution.
    intercept : float or None
        The best intercept at x if the terms have a free intercept.
    zero_features : bool array of shape (d,) or None
        Which coordinates screening proved to be 0 at the optimum; None if features were not
        screened.
    problem : Problem or None
        The problem that was solved; None if an estimator did not keep it.
    solver : str
        Name of the solver that made the last point.
    """

    x: ElementLike
    lam: float
    gap: float
    primal: float
    loss: float
    n_iter: int
    reason: str
    history: list[Iteration] = field(repr=False)
    n_terms: int
    n_L: int
    n_R: int
    eps: float
    step: float | None = field(repr=False)
    problem: Any = field(repr=False)
    packed: tuple[int, NDArray, NDArray] | None = field(default=None, repr=False)
    dual_point: DualPoint | None = field(default=None, repr=False)
    intercept: float | None = None
    zero_features: NDArray | None = field(default=None, repr=False)
    solver: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"{brief_repr(self)[:-1]}, relative_gap={self.relative_gap:.2g})"

    @property
    def relative_gap(self) -> float:
        """The gap relative to the objective, ``gap / |P(x; lam)|``, which `rtol` bounds; 0 if the
        gap is 0.
        """
        if self.gap == 0.0:
            return 0.0
        return self.gap / abs(self.primal) if self.primal != 0.0 else math.inf

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.reason == "converged"

    @property
    def alpha(self) -> NDArray:
        """The dual point to which `gap` belongs, shape (T,). If it is ``alpha(x)``, this property
        computes it on demand.
        """
        if self.dual_point is not None and self.dual_point.packed:
            return self.dual_point.unpack()
        if self.problem is None:
            raise AttributeError(
                "alpha of products of lists is computed from the problem, which this solution does "
                "not hold: estimators keep it with keep_problem=True"
            )
        return self.problem.alpha(self.x)

    @property
    def screened(self) -> Screened | None:
        """Masks of the screened terms, or None if they were not kept."""
        if self.packed is None:
            return None
        size, *packed = self.packed
        return Screened(*(np.unpackbits(bits, count=size).astype(np.bool_) for bits in packed))

    @property
    def screening_rate(self) -> float:
        """Fraction of all terms that are certain."""
        return (self.n_L + self.n_R) / max(1, self.n_terms)

    def without_problem(self) -> Self:
        """Return the solution without its problem, and so without its data. x is then an array. If
        x was an expansion, the array holds its coefficients.

        For products of lists, whose terms are not numbered one by one, alpha is lost.
        """
        dual_point = self.dual_point
        if dual_point is None or not dual_point.packed:
            dual_point = DualPoint(self.alpha) if self.problem.terms.explicit else None
        return replace(self, problem=None, x=np.array(self.x), dual_point=dual_point)
