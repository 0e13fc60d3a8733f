"""Screening from an approximate solution of any solver: masks, and the certificate that proves
them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import (
    PointsLike,
    as_array,
    check_labels,
    check_lam,
    check_points,
    check_scalar,
    check_vector,
)
from safescreen._threads import with_small_blas
from safescreen.losses import Hinge, Loss, SmoothedHinge
from safescreen.problem import Problem, check_problem
from safescreen.rounding import ElementLike
from safescreen.rules import Screened
from safescreen.solvers.dual_points import dual_point
from safescreen.solvers.methods import without_features
from safescreen.solvers.reduction import Reduction, parse_screening
from safescreen.spheres import Sphere
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy
from safescreen.terms import Samples, Triplets, add_intercept
from safescreen.terms.base import check_weights
from safescreen.terms.indices import check_judgements

__all__ = ["Certificate", "screen", "screen_samples", "screen_triplets"]


@dataclass(frozen=True, repr=False)
class Certificate(Screened):
    """Masks of the terms that are certain, and the balls that prove them.

    Attributes
    ----------
    in_L, in_R : boolean arrays of shape (T,)
        Terms that are certainly linear (dual variable 1), and certainly zero (dual variable 0), at
        the exact solution for `lam`.
    lam : float
        The lam for which the masks hold.
    gap : float
        Upper bound of the duality gap of the given point for `lam`, including rounding.
    gap_rounding : float
        The allowance for rounding that is included in `gap`.
    balls : tuple of Sphere
        The balls that were used, in order. Each contains the exact solution, in the coordinates
        that were not screened before.
    zero_features : boolean array of shape (d,) or None
        Coordinates that are certainly 0 at the exact solution; None without "features" in
        `screening`.
    """

    lam: float
    gap: float
    gap_rounding: float
    balls: tuple[Sphere, ...] = field(repr=False)
    zero_features: NDArray | None = field(default=None, repr=False, kw_only=True)


@with_small_blas
def screen(
    prob: Problem,
    x: ElementLike,
    lam: float,
    alpha: ArrayLike | None = None,
    *,
    lam0: float | None = None,
    screening: tuple[str, ...] = ("MGB",),
) -> Certificate:
    """Return which terms are certain, given any point x of any solver, however inaccurate it is.

    Parameters
    ----------
    prob : Problem
    x : element of the cone
        For instance an approximate solution, for `lam` or for another regularization parameter.
    lam : float > 0
        The lam for which terms are screened.
    alpha : array of shape (T,), optional
        Dual point that belongs to x, in [0, 1]; ``alpha(x)`` if left out. For the hinge, pass the
        dual point of the solver if it has one, because x does not determine the slope at the kink.
    lam0 : float > 0, optional
        The lam for which x was computed, if it is not `lam`. "RRPB" uses it.
    screening : tuple of str
        Spheres and rules as in :func:`safescreen.solve`. Each screens the terms that are still
        undecided. With "features" among them, features and terms are screened in turn, until
        neither test decides more: fewer undecided terms shorten the norms of the features, and
        fewer features shorten the norms of the terms.

    Returns
    -------
    Certificate
        Pass its masks to :meth:`Problem.reduce`, or use them to select terms for another solver.

    Raises
    ------
    ValueError, TypeError
        x is not in the cone, alpha not a dual point, a name is unknown, or the terms are not
        numbered singly, such as products of lists.

    Notes
    -----
    Cost: one evaluation, and for each ball one margin of its center for each term. An accurate x
    screens many terms, and an inaccurate x few. No x leads to a wrong decision.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-4.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> found = screen(problem, np.array([0.7]), 0.5)
    >>> found.in_R.tolist(), found.balls[0].name
    ([False, True], 'MGB')
    """
    prob = check_problem(prob)
    lam = check_lam(lam)
    prob.terms.require("singles", by="screen")
    x = copy.copy(prob.cone.check_feasible(x))
    names, has_features = without_features(screening, prob)
    tests = parse_screening(names, prob)
    alpha = None if alpha is None else check_vector(alpha, len(prob), "alpha")
    e = prob.evaluate(x, lam, alpha)
    path = None
    if lam0 is not None:
        at_lam0 = prob.assemble(e.sums, x, check_lam(lam0, "lam0"))
        path = PathReference(x0=x, lam0=at_lam0.lam, eps=reference_accuracy(at_lam0))
    reduction = _Recording(prob)
    reduction.screen(tests, lambda problem: BallReference(problem, e, path))
    if has_features:
        _alternate(reduction, tests, x, lam, alpha)
    masks = reduction.screened()
    rounding = max(e.gap - max(e.primal - e.dual, 0.0), 0.0)
    return Certificate(
        in_L=masks.in_L,
        in_R=masks.in_R,
        lam=lam,
        gap=e.gap,
        gap_rounding=rounding,
        balls=tuple(reduction.balls),
        zero_features=reduction.zero_features,
    )


def _alternate(reduction, tests, x, lam, alpha):
    """Screen features and terms in turn, until neither test decides more."""
    n_decided = -1
    while reduction.n_decided > n_decided:
        n_decided = reduction.n_decided
        for screen_part in (reduction.leave_out, partial(_screen_terms, reduction, tests)):
            left = None if alpha is None else reduction.restrict(alpha)
            screen_part(reduction.problem.evaluate(reduction.extract(x), lam, left))


def _screen_terms(reduction, tests, e):
    reduction.screen(tests, lambda problem: BallReference(problem, e))


class _Recording(Reduction):
    """Reduction that records the balls with which it was screened."""

    def __init__(self, whole):
        super().__init__(whole)
        self.balls = []

    @property
    def n_decided(self):
        """Number of terms and features that are certain."""
        n_zero = 0 if self.zero_features is None else int(np.count_nonzero(self.zero_features))
        return self.n_L + self.n_R + n_zero

    def apply(self, *balls, rule="sphere"):
        self.balls.extend(balls)
        return super().apply(*balls, rule=rule)


def screen_samples(
    X: PointsLike,
    y: ArrayLike,
    w: ArrayLike,
    C: float,
    alpha: ArrayLike | None = None,
    *,
    C0: float | None = None,
    intercept: float | None = None,
    intercept_scaling: float = 1.0,
    sample_weight: ArrayLike | None = None,
    loss: Loss | None = None,
    screening: tuple[str, ...] = ("MGB",),
) -> Certificate:
    """Return which samples of a linear support vector machine are certain for C, given any w.

    ``min ||w||^2/2 + C sum_i loss(y_i <x_i, w>)``. A penalised intercept, as in LIBLINEAR, is the
    coefficient of one more feature, which is constant.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Two classes; the larger label is the positive one.
    w : array of shape (d,)
    C : float > 0
        The C for which samples are screened.
    alpha : array of shape (n,), optional
        Dual point in [0, 1]: the dual variables of the solver divided by C. By default a dual point
        is computed from w and `C0`.
    C0 : float > 0, optional
        The C for which w was computed; by default C.
    intercept : float, optional
        The intercept that belongs to w. By default there is no intercept.
    intercept_scaling : float > 0
        Value of the constant feature.
    sample_weight : array of shape (n,), optional
        Positive factors of C.
    loss : Loss, optional
        The hinge if left out. The squared hinge of LIBLINEAR is ``SquaredHinge(0.5)``.
    screening : tuple of str
        As for :func:`screen`.

    Examples
    --------
    >>> found = screen_samples([[1.0], [-4.0]], ["yes", "no"], [0.7], 2.0, loss=SmoothedHinge(0.5))
    >>> found.in_R.tolist()
    [False, True]
    """
    X = check_points(X, allow_sparse=True)
    y = check_labels(y, X.shape[0])
    C = check_lam(C, "C")
    w = as_array(w, "w")
    scale = check_scalar(intercept_scaling, "intercept_scaling", low=0.0, open_low=True)
    C0 = C if C0 is None else check_lam(C0, "C0")
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(
            f"y must hold two classes, found {classes.size}: screen each class against the others"
        )
    if intercept is not None:
        X = add_intercept(X, scale)
        b = check_scalar(intercept, "intercept")
        w = np.append(w, b / scale)
    weights = check_weights(sample_weight, X.shape[0], "sample_weight")
    samples = Samples(X, np.where(y == classes[1], 1.0, -1.0), weights=weights)
    prob = Problem(samples, Hinge() if loss is None else loss)
    x = prob.cone.check(w, "w")
    alpha = dual_point(prob, x, C0) if alpha is None else alpha
    return screen(prob, x, 1.0 / C, alpha, lam0=1.0 / C0, screening=screening)


def screen_triplets(
    X: ArrayLike,
    triplets: ArrayLike,
    M: ArrayLike,
    lam: float,
    alpha: ArrayLike | None = None,
    *,
    lam0: float | None = None,
    triplet_weight: ArrayLike | None = None,
    loss: Loss | None = None,
    screening: tuple[str, ...] = ("MGB",),
) -> Certificate:
    """Return which triplets are certain for lam, given any metric M.

    Parameters
    ----------
    X : array of shape (n, d)
    triplets : int array of shape (T, 3)
        Rows (anchor, closer, farther); they may repeat and contradict each other.
    M : array of shape (d, d) or (d,)
        Positive semidefinite matrix, or non-negative weights of the features.
    lam, alpha, lam0
        As for :func:`screen`, for M in place of x.
    triplet_weight : array of shape (T,), optional
        Factors of the losses, not negative. Triplets of weight 0 are left out, and stay undecided.
    loss : Loss, optional
        ``SmoothedHinge(0.05)`` if left out.
    screening : tuple of str
        As for :func:`screen`.

    Examples
    --------
    >>> X, triplets = [[0.0], [1.0], [4.0], [5.5]], [[0, 1, 2], [1, 0, 3]]
    >>> found = screen_triplets(X, triplets, [[0.003]], 1e4)
    >>> found.in_L.tolist(), found.in_R.tolist()
    ([True, True], [False, False])
    """
    X = check_points(X)
    triplets, weights = check_judgements(triplets, triplet_weight, len(X))
    used = np.arange(len(triplets)) if weights is None else np.flatnonzero(weights)
    weights = None if weights is None else weights[used]
    terms = Triplets(X, triplets[used], diagonal=as_array(M, "M").ndim == 1, weights=weights)
    prob = Problem(terms, SmoothedHinge(0.05) if loss is None else loss)
    alpha = None if alpha is None else check_vector(alpha, len(triplets), "alpha")[used]
    M = prob.cone.check_feasible(M, "M")
    certificate = screen(prob, M, lam, alpha, lam0=lam0, screening=screening)
    masks = np.zeros((2, len(triplets)), dtype=bool)
    masks[:, used] = certificate.in_L, certificate.in_R
    return replace(certificate, in_L=masks[0], in_R=masks[1])
