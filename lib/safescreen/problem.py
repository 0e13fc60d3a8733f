"""The problem of the package: losses of linear terms, a linear term and a square norm over a cone.

::

    P(x; lam) = sum_t w_t loss(<a_t, x>) - <c, x> + constant + lam/2 ||x||^2,   x in K
    D(alpha; lam) = sum_t w_t (tau_t alpha_t - gamma/2 alpha_t^2) + constant
                    - 1/(2 lam) ||[H(alpha)]_K||^2,   0 <= alpha <= 1

with ``H(alpha) = c + sum_t w_t alpha_t a_t`` and weights ``w_t``, which are 1 unless the terms have
other weights. For the squared hinge gamma stands for its smoothing, and alpha has no upper bound.
Triplet metric learning is the case of the semidefinite or the non-negative cone, support vector
machines are the case of the whole space.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import (
    check_kind,
    check_lam,
    check_mask,
    check_scalar,
    check_vector,
    need_memory,
)
from safescreen._repr import brief_repr
from safescreen._threads import with_small_blas
from safescreen.losses import Loss
from safescreen.memory import problem_bytes
from safescreen.rounding import UNIT, ElementLike, magnitude, upper
from safescreen.terms.base import LossSums, Terms, check_terms

__all__ = ["Evaluation", "Problem"]

REACH = 1e100
"""Largest size of weights, terms, solutions and objectives, at which a product of three such
numbers does not overflow.
"""


@dataclass(frozen=True)
class Evaluation:
    """Values of a problem at one pair (x, alpha), which spheres and solvers use.

    Attributes
    ----------
    x, lam : element, float
        The point, taken to lie in the cone up to ``x_error``.
    primal, dual : float
        Values of the two objectives.
    loss : float
        The sum of the losses, including constants of screened terms.
    gap : float
        Upper bound of the exact duality gap, rounding included.
    fenchel : float
        Upper bound of ``sum_t w_t (loss(m_t) + loss*(-alpha_t) + alpha_t m_t) >= 0``.
    H, plus, minus : elements
        ``H(alpha) = plus - minus``, ``plus = [H(alpha)]_K``.
    x_alpha : element
        ``x(alpha) = [H(alpha)]_K / lam``.
    distance : float
        Upper bound of ``||x - x(alpha)||``.
    excess : float
        ``gap/lam - distance^2/2``, computed without cancellation as ``(<x, minus> + fenchel)/lam``
        plus the rounding allowance.
    x_error, H_error, x_alpha_error : float
        Bounds of the rounding errors of `x` (its distance from the cone), `H` and `x_alpha`.
    sums : LossSums
        The sums from which the evaluation was computed; they do not depend on lam.
    """

    x: ElementLike
    lam: float
    primal: float
    dual: float
    loss: float
    gap: float
    fenchel: float
    H: ElementLike
    plus: ElementLike
    minus: ElementLike
    x_alpha: ElementLike
    distance: float
    excess: float
    x_error: float
    H_error: float
    x_alpha_error: float
    sums: LossSums

    __repr__ = brief_repr

    def __copy__(self):
        names = ("x", "H", "plus", "minus", "x_alpha")
        return replace(self, **{name: copy.copy(getattr(self, name)) for name in names})

    @property
    def gradient(self) -> ElementLike:
        """A subgradient of the primal at x, ``lam x - H``, when alpha is ``alpha(x)``."""
        return self.lam * self.x - self.H


class Problem:
    """Sum of losses of linear terms with a square-norm regularizer over a cone (STS19 Primal, SSS14
    equation 1).

    Parameters
    ----------
    terms : Terms
        The elements a_t. They determine the cone.
    loss : Loss
        The loss of a margin, such as :class:`~safescreen.SmoothedHinge`.
    linear : element, optional
        The fixed linear term c, such as the pull term of LMNN (:func:`safescreen.pull`). Its
        entries are taken to be exact.
    constant : float, optional
        Constant added to both objectives.

    Attributes
    ----------
    cone : Cone
    linear_error : float
        Upper bound of the rounding error of `linear`, to which screening adds the terms of L. It is
        0 for a problem that has not been reduced.

    Raises
    ------
    MemoryError
        A solve would need more memory than is free. It needs at least 17 arrays of the size of x
        over a cone (30 with the hinge, 10 over the whole space), and 2 bytes for each term (24 with
        the hinge).

    Examples
    --------
    >>> import safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> problem.lam_max()
    12.0
    >>> round(problem.gap(np.array([0.25]), 12.0), 12)
    0.0
    """

    def __init__(
        self, terms: Terms, loss: Loss, *, linear: ElementLike | None = None, constant: float = 0.0
    ):
        check_terms(terms)
        check_kind(loss, Loss, "loss", "a Loss such as SmoothedHinge(0.05)")
        if not loss.has_linear_region:
            terms.require("singles", by=f"{loss!r}, which has no linear region,")
        self.terms = terms
        self.loss = loss
        self.cone = terms.cone
        self.linear = None if linear is None else self.cone.check(linear, "linear")
        self.constant = check_scalar(constant, "constant")
        self.linear_error = 0.0
        n_bytes = problem_bytes(
            math.prod(self.cone.shape),
            len(terms) if terms.explicit else 0,
            is_whole_space=self.cone.is_whole_space,
            is_kinked=loss.smoothing == 0.0,
        )
        advice = (
            "take fewer features (PCA, diagonal=True) or fewer terms (a smaller k, ProductTriplets)"
        )
        need_memory(n_bytes, f"solving {self!r}", advice)

    def __len__(self):
        return len(self.terms)

    def __repr__(self):
        return f"Problem({self.terms!r}, {self.loss!r})"

    def check_reach(self, lam: float) -> float:
        """Return lam. Raise a ValueError if squares of the numbers in a solve would overflow.

        For terms of total weight n and norms up to r, the norm of H is at most ``n r + ||c||``, the
        norm of x at most ``||H||/lam``, and a margin at most r times the norm of x.
        """
        weights = self.terms.weights
        r = self.terms.longest
        n = float(len(self) if weights is None else weights.sum())
        x = (n * r + (0.0 if self.linear is None else self.cone.norm_upper(self.linear))) / lam
        if not max(n, r, x, n * r * x) <= REACH:
            text = (
                f"terms of norms up to {r:.3g}, weights that sum to {n:.3g} and lam={lam:.3g}, "
                "which is 1/C for SVMs"
            )
            raise ValueError(
                "X, weights and lam must not differ so much in size that squares overflow, got "
                f"{text}: scale X (StandardScaler)"
            )
        return lam

    # ------------------------------------------------------------------ objectives

    def primal(self, x: ElementLike, lam: float) -> float:
        """Return ``P(x; lam)`` at a feasible x."""
        return self.evaluate(self.cone.check_feasible(x), check_lam(lam)).primal

    def dual(self, alpha: ArrayLike, lam: float) -> float:
        """Return ``D(alpha; lam)`` at alpha in [0, 1]^T, or at any ``alpha >= 0`` for the squared
        hinge (STS19 Dual2).
        """
        lam = check_lam(lam)
        alpha = check_vector(alpha, len(self), "alpha", low=0.0, high=self.loss.cap)
        plus = self.cone.project(self._H(self.terms.weighted_sum(alpha)[0]))
        return (
            conjugates(self.terms, self.loss, alpha)
            + self.constant
            - 0.5 * self.cone.inner(plus, plus) / lam
        )

    def alpha(self, x: ElementLike) -> NDArray:
        """Return the dual point ``alpha(x) = -loss'(<a_t, x>)``, shape (T,) (STS19 equation
        2.6).
        """
        return self.terms.alpha(self.cone.check(x), self.loss)

    def x_of(self, alpha: ArrayLike, lam: float) -> ElementLike:
        """Return ``x(alpha; lam) = [H(alpha)]_K / lam`` (STS19 Dual2)."""
        lam = check_lam(lam)
        alpha = check_vector(alpha, len(self), "alpha", low=0.0, high=self.loss.cap)
        return self.cone.project(self._H(self.terms.weighted_sum(alpha)[0])) / lam

    def gap(self, x: ElementLike, lam: float, alpha: ArrayLike | None = None) -> float:
        """Return an upper bound of the duality gap ``P(x) - D(alpha)``, rounding errors
        included; alpha is ``alpha(x)`` if left out.
        """
        return self.evaluate(self.cone.check_feasible(x), check_lam(lam), alpha).gap

    def evaluate(self, x: ElementLike, lam: float, alpha: Any = None) -> Evaluation:
        """Return the :class:`Evaluation` at (x, alpha). `alpha` is ``alpha(x)`` by default. x is
        not checked.

        Notes
        -----
        The gap is not the difference of two large numbers but, by the equality case of Fenchel's
        inequality, the sum of terms that are each non-negative and vanish at the optimum::

            P(x) - D(alpha) = lam/2 ||x - x(alpha)||^2 + <x, H_->
                              + sum_t w_t (loss(m_t) + loss*(-alpha_t) + alpha_t m_t)

        Let ``dH`` bound the rounding error of H, ``dS`` the error of its split, and ``dx`` the
        distance of x from the cone. Let D be the first norm. The gap is differentiable in H with
        gradient ``x(alpha) - x`` and Lipschitz constant ``1/lam``, and in x (alpha fixed) with
        gradient ``lam (x - x(alpha)) + H_-`` apart from the Fenchel terms, whose own bound includes
        their change. So the allowance is ``(dH + dS + lam dx) D + (dH + dS + lam dx)^2/lam + dS
        ||x|| + dx ||H_-||`` plus the roundings of the two products.
        """
        x = self.terms.prepared(x)
        return self.assemble(self.terms.loss_sums(x, self.loss, alpha), x, lam)

    def assemble(self, sums: LossSums, x: ElementLike, lam: float) -> Evaluation:
        """Return the :class:`Evaluation` from loss sums that were computed at x and do not depend
        on lam. The cost is one projection.
        """
        cone = self.cone
        H = self._H(sums.adjoint)
        plus, minus = cone.split(H)
        x_alpha = plus / lam
        x_norm = cone.norm_upper(x)
        minus_norm = 0.0 if cone.is_whole_space else cone.norm_upper(minus)
        H_error = sums.adjoint_error + self.linear_error
        plus_size = cone.magnitude(plus)
        if self.linear is not None:  # each number of the sum is rounded once
            H_error += 2.0 * UNIT * (plus_size if plus is H else cone.magnitude(H))
        split_error = cone.split_error(H)
        x_error = cone.feasible_error(x)
        difference_error = 4.0 * UNIT * (cone.magnitude(x) + plus_size / lam)
        D = cone.norm_upper(x - x_alpha)
        moved = upper(H_error + split_error + lam * (x_error + difference_error), 8)
        allowance = moved * D + moved * moved / lam + split_error * x_norm + x_error * minus_norm
        product = 0.0
        if minus_norm > 0.0:
            product = max(cone.inner(x, minus), 0.0)
            allowance += cone.inner_error(x, minus)
        square = 0.5 * lam * D * D
        gap = upper(square + product + sums.fenchel + allowance, 12)
        excess = upper((product + sums.fenchel + allowance) / lam, 12)
        loss = sums.loss + self.constant
        primal = loss + 0.5 * lam * cone.inner(x, x)
        if self.linear is not None:
            primal -= cone.inner(self.linear, x)
        dual = sums.alpha_sum - 0.5 * self.loss.smoothing * sums.alpha_square + self.constant
        dual -= 0.5 * cone.inner(plus, plus) / lam
        distance = upper(D + difference_error + x_error, 4)
        x_alpha_error = upper((H_error + split_error) / lam + difference_error, 4)
        return Evaluation(
            x=cone.with_sum(x, H),
            lam=lam,
            primal=primal,
            dual=dual,
            loss=loss,
            gap=gap,
            fenchel=sums.fenchel,
            H=H,
            plus=plus,
            minus=minus,
            x_alpha=x_alpha,
            distance=distance,
            excess=excess,
            x_error=x_error,
            H_error=H_error,
            x_alpha_error=x_alpha_error,
            sums=sums,
        )

    # ------------------------------------------------------------------ reduction and range of lam

    def reduce(self, in_L: ArrayLike, in_R: ArrayLike) -> Problem:
        """Return the reduced problem without screened terms, which has the same optimum (STS19
        Lemma 1).

        Parameters
        ----------
        in_L, in_R : boolean masks of shape (T,)
            Terms known to lie in the linear region (moved into the linear term and a constant) and
            in the zero region (dropped).
        """
        in_L, in_R = check_mask(in_L, len(self), "in_L"), check_mask(in_R, len(self), "in_R")
        both = in_L & in_R
        if both.any():
            raise ValueError(
                f"in_L and in_R must be disjoint, both hold term {int(np.flatnonzero(both)[0])}"
            )
        if in_L.any() and not self.loss.has_linear_region:
            raise ValueError(
                f"in_L must be empty, {self.loss!r} has no linear region; found term "
                f"{int(np.flatnonzero(in_L)[0])}"
            )
        return self.reduce_by(in_L.view(np.int8) + 2 * in_R.view(np.int8))[0]

    def reduce_by(self, status: NDArray, near: Iterable[Any] = ()) -> tuple[Problem, NDArray]:
        """Return ``(reduced problem, numbers of its terms)`` from an array of the status of each
        term: 0 undecided, 1 linear, 2 zero. The array is not checked. See :meth:`Terms.sum_near`
        for the elements `near`.
        """
        undecided, total, error, numbers = self.terms.partition(status, near)
        constant = linear_constant(self.terms, self.loss, status == 1)
        return self._with(undecided, total, error, constant), numbers

    def on_features(self, keep: ArrayLike) -> Problem:
        """Return the problem in some of the coordinates. The other coordinates are 0.

        If the other coordinates are 0 at the optimum, the returned problem has the same optimum.

        Parameters
        ----------
        keep : boolean mask of shape (d,)
            The coordinates to keep, at least one. The terms must offer "features".
        """
        keep = check_mask(keep, self.cone.d, "keep")
        if not keep.any():
            raise ValueError(f"keep must hold a coordinate, got none of {keep.size}")
        terms: Any = self.terms
        terms.require("features", by="on_features")
        problem = self._copy(terms.on_features(keep), self.loss)
        if self.linear is not None:
            problem.linear = self.linear[keep]
        return problem

    def with_terms(self, terms: Terms, loss: Loss) -> Problem:
        """Return this problem with other terms and another loss; the linear term is kept."""
        return self._copy(terms, loss)

    def _copy(self, terms, loss):
        """Return this problem with other terms and another loss, which are not checked."""
        problem = copy.copy(self)
        problem.terms = terms
        problem.loss = loss
        problem.cone = terms.cone
        return problem

    def _with(self, terms, total, error, constant):
        problem = self._copy(terms, self.loss)
        problem.constant += float(constant)
        if self.linear is None:
            problem.linear = total
        else:
            problem.linear = self.linear + total
            error += 2.0 * UNIT * (magnitude(self.linear) + magnitude(total))
        problem.linear_error = upper(self.linear_error + error, 4)
        return problem

    @with_small_blas
    def lam_max(self) -> float:
        """Return the smallest lam at which every term lies in the linear region. At this lam and
        above, ``x = [c + sum_t w_t a_t]_K/lam``.

        It is ``max_t <a_t, [c + sum_t w_t a_t]_K>/(tau_t - gamma)`` (SSS14 Lemma 9: ``1/C_min``),
        and 0 if no inner product is positive. It is ``inf`` if a term with ``tau_t <= gamma`` can
        never become linear, and for the squared hinge, with which no term can. It is also ``inf``
        with a free intercept, which leaves terms of the heavier class at their threshold for any
        lam.
        """
        if "intercept" in self.terms.offers:
            return math.inf
        x = self.all_linear()
        if np.ndim(self.terms.threshold) == 0:
            return _linear_from(
                self.terms.max_inner_product(x), self.terms.threshold - self.loss.width
            )
        largest = 0.0
        products = self.terms.inner_products(x)
        for start, stop in self.terms.chunks():
            limits = self.terms.thresholds(start, stop) - self.loss.width
            largest = max(largest, *map(_linear_from, products.chunk(start, stop)[0], limits))
        return largest

    def all_linear(self) -> ElementLike:
        """Return ``[c + sum_t w_t a_t]_K``, lam times the solution for every
        ``lam >= lam_max()``.
        """
        return self.cone.project(self._H(self.terms.total()[0]))

    def _H(self, adjoint):
        return adjoint if self.linear is None else self.linear + adjoint


def _linear_from(value, limit):
    """Return the lam from which on ``value/lam <= limit`` holds; inf if there is none."""
    if limit > 0.0:
        return max(0.0, value / limit)
    return np.inf if value > 0.0 or limit < 0.0 else 0.0


def check_problem(prob: Problem) -> Problem:
    """Return `prob` if it is a Problem, and raise a TypeError otherwise."""
    return check_kind(prob, Problem, "prob")


def evaluated(
    prob: Problem, x: ElementLike, lam: float, alpha: Any = None, name: str = "lam"
) -> Evaluation:
    """Return the evaluation of a problem at a point and a lam, which are checked. `name` is the
    name of lam in errors.
    """
    x = check_problem(prob).cone.check_feasible(x)
    return prob.evaluate(copy.copy(x), check_lam(lam, name), alpha)


def conjugates(terms: Terms, loss: Loss, alpha: NDArray) -> float:
    """Return ``sum_t w_t (tau_t alpha_t - smoothing/2 alpha_t^2)``, the part of the dual value that
    is not a norm.
    """
    weighted = alpha if terms.weights is None else terms.weights * alpha
    square = float(weighted @ alpha)
    return float(np.sum(terms.threshold * weighted)) - 0.5 * loss.smoothing * square


def linear_constant(terms: Terms, loss: Loss, in_L: NDArray) -> float:
    """Return ``sum_t w_t (tau_t - gamma/2)`` over the mask `in_L`: the constant that screened terms
    of L add to the objective (STS19 Lemma 1).
    """
    n = int(np.count_nonzero(in_L))
    tau = terms.threshold
    if n == 0:
        return 0.0
    if terms.weights is not None:
        return float(np.sum((terms.weights * (tau - 0.5 * loss.smoothing))[in_L]))
    height = float(tau) * n if np.ndim(tau) == 0 else float(np.sum(tau[in_L]))
    return height - 0.5 * loss.smoothing * n
