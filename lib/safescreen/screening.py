"""Screening from anybody's approximate solution: masks, and the certificate they rest on."""

from dataclasses import dataclass, field

from safescreen._checks import check_lam
from safescreen.rules import Screened
from safescreen.solvers.reduction import Reduction, parse_screening
from safescreen.solvers.solve import check_problem
from safescreen.spheres import PathReference, Reference, reference_accuracy

__all__ = ["Certificate", "screen"]


@dataclass(frozen=True)
class Certificate(Screened):
    """Masks of terms, and what proves them.

    Attributes
    ----------
    in_L, in_R : boolean arrays of shape (T,)
        Terms that are certainly linear (dual variable 1), and certainly zero (dual variable 0), at the exact solution for `lam`.
    lam : float
        What the masks are for.
    gap : float
        Upper bound of the duality gap of the point passed in, for `lam`; roundings included.
    gap_rounding : float
        How much of it is allowance for rounding.
    balls : tuple of Sphere
        The balls used, in order; each contains the exact solution.
    """

    lam: float
    gap: float
    gap_rounding: float
    balls: tuple = field(repr=False)


def screen(prob, x, lam, alpha=None, *, lam0=None, screening=("MGB",)):
    """Return which terms are certain, given any point x, from whatever solver it comes and however good it is.

    Parameters
    ----------
    prob : Problem
    x : element of the cone
        For instance an approximate solution, for `lam` or for another regularization parameter.
    lam : float > 0
        What the answer is for.
    alpha : array of shape (T,), optional
        Dual point that belongs to x, in [0, 1]; ``alpha(x)`` if left out. With the hinge pass the solver's own if it has one: at the kink
        the slope is not known from x.
    lam0 : float > 0, optional
        What x was computed for, if that is not `lam`; used by "RRPB".
    screening : tuple of str
        Spheres and rules as in :func:`safescreen.solve`; each screens what those before have left.

    Returns
    -------
    Certificate
        Its masks go into :meth:`Problem.reduce`, or select the terms another solver is to see.

    Raises
    ------
    ValueError, TypeError
        x is not in the cone, alpha not a dual point, a name is unknown, or the terms come in blocks.

    Notes
    -----
    Cost: one evaluation, and a margin of each ball's center a term. A good x screens much, a bad one little; none makes a wrong decision.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> problem = ss.Problem(ss.Samples([[1.0], [-4.0]], [1, -1]), ss.SmoothedHinge(0.5))
    >>> found = screen(problem, np.array([0.7]), 0.5)
    >>> found.in_R.tolist(), found.balls[0].name
    ([False, True], 'MGB')
    """
    prob, lam = check_problem(prob), check_lam(lam)
    if not prob.terms.explicit:
        raise TypeError(f"prob must have single terms, {type(prob.terms).__name__} are screened in blocks")
    x = prob.cone.check_feasible(x)
    tests = parse_screening(screening, prob)
    here = prob.evaluate(x, lam, alpha)
    path = None
    if lam0 is not None:
        there = prob.assemble(here.sums, x, check_lam(lam0, "lam0"))
        path = PathReference(x0=x, lam0=there.lam, eps=reference_accuracy(there))
    reduction = _Recording(prob)
    reduction.screen(tests, lambda problem: Reference(problem, here, path))
    masks, rounding = reduction.screened(), max(here.gap - max(here.primal - here.dual, 0.0), 0.0)
    return Certificate(masks.in_L, masks.in_R, lam, here.gap, rounding, tuple(reduction.balls))


class _Recording(Reduction):
    """A reduction that remembers the balls it was screened with."""

    def __init__(self, whole):
        super().__init__(whole)
        self.balls = []

    def apply(self, *balls, rule="sphere"):
        self.balls.extend(balls)
        return super().apply(*balls, rule=rule)
