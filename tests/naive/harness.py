"""The safety check itself: a reference certified in 50 digits, against which spheres and screened masks are judged."""

import warnings
from dataclasses import dataclass

import mpmath
import numpy as np
from mpmath import mpf

import safescreen as ss
from naive.exact import minus, split
from naive.extremes import exact, norm

__all__ = ["Truth", "truth"]


@dataclass(frozen=True)
class Truth:
    """What is known for certain of the optimum of one problem at one lam.

    Attributes
    ----------
    x : list
        A point, exactly.
    eps : mpf
        Its distance from the optimum is at most that: the duality gap bound, evaluated in 50 digits.
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
        return norm(minus(self.x, exact(np.ravel(sphere.center)))) <= mpf(float(sphere.radius)) + self.eps

    def right(self, screened):
        """Return whether no screened term is certainly somewhere else."""
        wrong = (screened.in_L & ~self.may_L) | (screened.in_R & ~self.may_R) | (screened.in_L & screened.in_R)
        return not wrong.any()


def certify(exact_problem, x, lam, alpha=None):
    """Return the :class:`Truth` that a float point x (and alpha, for the hinge) gives; x is projected exactly first."""
    x = split(exact(np.ravel(x)), exact_problem.cone)[0]
    alpha = exact_problem.alpha(x) if alpha is None else exact(alpha)
    gap = exact_problem.gap(x, lam, alpha)
    eps = mpmath.sqrt(max(2 * gap / mpf(float(lam)), mpf(0))) + mpf(10) ** -40 * norm(x)
    gamma, rows = exact_problem.gamma, []
    for m, n, tau in zip(exact_problem.margins(x), exact_problem.norms, exact_problem.tau, strict=True):
        low, high = m - eps * n, m + eps * n
        rows.append((low < tau - gamma, high > tau, high < tau - gamma, low > tau))
    return Truth(x, eps, *np.array(rows).T)


def truth(prob, exact_problem, lam):
    """Solve as accurately as the solver can, without screening; return the solution and its :class:`Truth`."""
    hinge = prob.loss.gamma == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        limits = {"rtol": 1e-14, "max_iter": 1000} if hinge else {"rtol": 1e-17, "max_iter": 600}
        solution = ss.solve(prob, lam, tol=0.0, screening=(), **limits)
    return solution, certify(exact_problem, solution.x, lam, solution.alpha if hinge else None)
