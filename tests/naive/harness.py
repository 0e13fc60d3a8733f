"""The safety check itself: a reference certified in 50 digits, against which spheres and
screened masks are judged.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import mpmath
import numpy as np
from mpmath import mpf

import safescreen as ss
from naive.exact import minus, split
from naive.extremes import dot, exact, norm
from naive.features import flat, rounded
from safescreen.rules import RULES

__all__ = ["Truth", "certify", "flat", "rules_for", "truth"]


EVERY = {"sphere": 1, "halfspace": 2, "semidefinite": 8}
"""One in how many balls a rule is tried with: what costs more, with fewer."""


def rules_for(number):
    """Yield the rules that a ball is tried with. An odd number of balls is made of a point, so each
    way to make one meets each rule.
    """
    assert set(EVERY) == set(RULES)
    for rule, every in EVERY.items():
        if number % every == 0:
            yield rule


@dataclass(frozen=True)
class Truth:
    """What is known for certain of the optimum of one problem at one lam.

    Attributes
    ----------
    x : list
        A point, exactly.
    eps : mpf
        Its distance from the optimum is at most that: the duality gap bound, evaluated in 50
        digits.
    may_L, may_R : boolean arrays of shape (T,)
        Terms that can be in the linear and in the zero region, as far as `x` and `eps` tell.
    must_L, must_R : boolean arrays of shape (T,)
        Terms that are.
    """

    x: list
    eps: mpf
    may_L: np.ndarray
    may_R: np.ndarray
    must_L: np.ndarray
    must_R: np.ndarray

    def contained(self, sphere):
        """Return whether the ball may contain the optimum; a NaN radius claims nothing."""
        if np.isnan(sphere.radius):
            return True
        center, error = rounded(sphere.center)
        lengths = np.linalg.norm(self._rounded) + np.linalg.norm(center)
        distance = np.linalg.norm(self._rounded - center) + error
        if distance + 1e-13 * lengths < sphere.radius:  # far from a question of rounding
            return True
        return norm(minus(self.x, flat(sphere.center))) <= mpf(float(sphere.radius)) + self.eps

    @cached_property
    def _rounded(self):
        return np.array(self.x, dtype=float)

    def right(self, screened):
        """Return whether no screened term is certainly somewhere else."""
        wrong = (
            (screened.in_L & ~self.may_L)
            | (screened.in_R & ~self.may_R)
            | (screened.in_L & screened.in_R)
        )
        return not wrong.any()


def certify(exact_problem, x, lam, alpha=None):
    """Return the :class:`Truth` that a point x (and a dual one, for the hinge) gives, exact flat
    lists; x is projected first.
    """
    x = split(x, exact_problem.cone)[0]
    alpha = exact_problem.alpha(x) if alpha is None else alpha
    gap = exact_problem.gap(x, lam, alpha)
    eps = mpmath.sqrt(max(2 * gap / mpf(float(lam)), mpf(0))) + mpf(10) ** -40 * norm(x)
    gamma, rows = exact_problem.gamma, []
    for m, n, tau in zip(
        exact_problem.margins(x), exact_problem.norms, exact_problem.tau, strict=True
    ):
        low, high = m - eps * n, m + eps * n
        rows.append((low < tau - gamma, high > tau, high < tau - gamma, low > tau))
    return Truth(x, eps, *np.array(rows).T)


def truth(prob, exact_problem, lam):
    """Solve as accurately as the solver can, without screening; return the solution and its
    :class:`Truth`.
    """
    hinge = prob.loss.gamma == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        limits = {"rtol": 1e-14, "max_iter": 1000} if hinge else {"rtol": 1e-17, "max_iter": 600}
        solution = ss.solve(prob, lam, tol=0.0, screening=(), **limits)
    if not hinge:
        return solution, certify(exact_problem, flat(solution.x), lam)
    known = certify(exact_problem, flat(solution.x), lam, exact(solution.alpha))
    # as far as double precision goes: on in exact arithmetic
    if known.eps > mpf(10) ** -5 * norm(known.x):
        known = min(
            known,
            certify(exact_problem, *ascend(exact_problem, lam, exact(solution.alpha))),
            key=lambda k: k.eps,
        )
    return solution, at_the_kink(prob, solution, known)


def at_the_kink(prob, solution, known):
    """Take from a :class:`Truth` the terms at the kink of the hinge that cannot be screened,
    whatever digits say of their margins.

    Without such a term, or with its linear part in place of its loss, the problem has values below
    the optimum of the whole one: it is neither in R, where its dual variable would be 0, nor in L,
    where it would be 1."""
    may_L, may_R, none = known.may_L.copy(), known.may_R.copy(), np.zeros(len(prob), dtype=bool)
    lowest = solution.primal - solution.gap - 1e-10 * abs(solution.primal)
    for t in np.flatnonzero((solution.alpha > 1e-3) & (solution.alpha < 1.0 - 1e-3)):
        only = np.arange(len(prob)) == t
        for may, masks in ((may_L, (only, none)), (may_R, (none, only))):
            may[t] &= not falls_below(prob.reduce(*masks), solution, ~only, lowest)
    return replace(known, may_L=may_L, may_R=may_R)


def falls_below(other, solution, kept, value):
    """Return whether another problem, of the terms that are kept, has values below one: from the
    solution down, until that is known.
    """
    found = []

    def is_known(now):
        found.append(now.primal < value)
        return found[-1] or now.primal - now.gap >= value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)  # any value will do
        ss.solve(
            other,
            solution.lam,
            x0=solution.x,
            alpha0=solution.alpha[kept],
            tol=0.0,
            rtol=1e-9,
            screening=(),
            callback=is_known,
            max_iter=1000,
        )
    return any(found)


def ascend(exact_problem, lam, alpha, sweeps=2):
    """Return ``(x(alpha), lam, alpha)`` after dual ascent, by secants, in a few fractional
    entries of a dual point of the hinge.
    """
    weight = mpf(float(lam))

    def x_of():
        return [v / weight for v in split(exact_problem.H(alpha), exact_problem.cone)[0]]

    for _ in range(sweeps):
        for t in [t for t, a in enumerate(alpha) if 0 < a < 1][:4]:
            a = exact_problem.A[t]
            slope = exact_problem.tau[t] - dot(a, x_of())  # of the dual in alpha_t; it falls
            step = weight * slope / dot(a, a)
            for _ in range(6):
                alpha[t] = min(max(alpha[t] + step, mpf(0)), mpf(1))
                before, slope = slope, exact_problem.tau[t] - dot(a, x_of())
                if slope in (0, before):
                    break
                step *= slope / (before - slope)
    return x_of(), lam, alpha
