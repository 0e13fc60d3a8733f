"""Newton's method for terms over the whole space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from safescreen._cholesky import cholesky, solve_with
from safescreen._threads import large_blas
from safescreen.problem import Problem
from safescreen.solvers.line_search import line_search
from safescreen.solvers.point import Point
from safescreen.solvers.state import State


class Coupled(Protocol):
    """What Newton's method needs of terms besides sums: their inner products, which terms with the
    capability "sweeps" have.
    """

    def gram(self, numbers: NDArray) -> NDArray:
        """Return the inner products of some terms with each other, shape (B, B)."""
        ...


class Applied(Coupled, Protocol):
    """What Newton's method needs of terms without coordinates, which may be too many for a
    matrix.
    """

    def gram_operator(self, numbers: NDArray) -> Callable[[NDArray], NDArray]:
        """Return the function ``v -> G v``, where G is the matrix of :meth:`Coupled.gram`."""
        ...


class Rowed(Coupled, Protocol):
    """What Newton's method needs of terms with coordinates: the capability "rows"."""

    def rows(self, numbers: NDArray) -> Any:
        """Return some terms as rows, shape (B, d), dense or CSR as the data are."""
        ...


@dataclass
class Descent:
    """The lowest objective so far, and the number of steps since it decreased."""

    lowest: float = math.inf
    n_stalled: int = 0


@dataclass(frozen=True)
class Newton:
    """Semismooth Newton method: ``x <- x - t (slope at x)^-1 gradient``, with an exact line search
    for t.

    The gradient ``lam x - H(alpha(x))`` is piecewise linear. Its slope at x is
    ``lam I + sum_{t in C} w_t/gamma a_t a_t'``, where C are the terms in the curved region of the
    loss. The method ends after finitely many steps (Sun & Han 1997), a handful from a warm start.
    Each step solves a linear system in the smaller of two forms, d x d or (Woodbury) C x C. The d x
    d form is used if Woodbury's form would lose most digits, as for columns of very different
    scales.

    Cost of a step: three products with the data, ``|C| d min(|C|, d)`` to build the system, and
    ``min(|C|, d)^3`` to solve it.

    Attributes
    ----------
    stalled : int
        A solve ends after more than this many steps in a row that do not lower the objective by
        more than rounding.
    largest : int
        The solver factorizes systems up to this size, and uses conjugate gradients for larger ones.
    uneven : float
        Woodbury's form loses most digits where ``||a_t||^2`` exceeds ``lam gamma/w_t`` by more than
        this factor.
    """

    stalled: int = 3
    largest: int = 3000
    uneven: float = 1e11

    needs = ("singles", "sweeps")
    pace = 0.1

    def init(self, problem: Problem, state: State) -> tuple[Point, Descent]:
        """Begin at the start x with the dual point ``alpha(x)``."""
        start = state.point
        evaluation = start.evaluation if start.alpha is None else None
        return Point(start.x, evaluation=evaluation), Descent()

    def step(self, problem: Problem, state: State, own: Descent) -> tuple[Point, Descent] | None:
        """Take one step. Return None if the step does not descend, or if more than `stalled` steps
        in a row have not lowered the objective.
        """
        e = state.evaluation
        has_fallen = e.primal < own.lowest * (1.0 - 1e-14)
        own.n_stalled = 0 if has_fallen else own.n_stalled + 1
        own.lowest = min(own.lowest, e.primal)
        if own.n_stalled > self.stalled:
            return None
        step = self._step(problem, e)
        if step is None:
            return None
        return Point(problem.cone.project(e.x + step), iterations=1), own

    def reduce(self, problem: Problem, own: Descent, kept: Any) -> Descent:
        """Forget the lowest objective, since the objective has changed."""
        return Descent()

    def _step(self, problem, e):
        """Return the Newton step at an evaluated point, shortened by an exact line search. Return
        None if the step does not descend, or if its system overflows or is far from definite.
        """
        terms: Any = problem.terms  # Coupled, and Applied or Rowed
        loss = problem.loss
        margins = terms.margins(e.x)
        slack = terms.threshold - margins
        curved = np.flatnonzero((slack > 0.0) & (slack < loss.smoothing * loss.cap))
        try:
            with large_blas(min(curved.size, problem.cone.shape[0])):
                direction = self._direction(terms, e.gradient, curved, loss.smoothing, e.lam)
        except np.linalg.LinAlgError:
            return None
        if not math.isfinite(problem.cone.magnitude(direction)):
            return None
        t = line_search(problem, e, slack, direction)
        return t * direction if t > 0.0 else None

    def _direction(self, terms, gradient, curved, width, lam):
        """Return ``-(lam I + sum_{t in C} w_t/width a_t a_t')^-1 gradient``."""
        if curved.size == 0:
            return (-1.0 / lam) * gradient
        ridge = (
            np.full(curved.size, width) if terms.weights is None else width / terms.weights[curved]
        )
        rows = terms.rows(curved) if "rows" in terms.offers else None
        is_small = rows is None or curved.size <= min(rows.shape[1], self.largest)
        if is_small and not self._cancels(terms, curved, rows, ridge, lam):
            return self._dual_direction(terms, gradient, curved, rows, ridge, lam)
        if rows.shape[1] <= self.largest:
            if sparse.issparse(rows):
                scaled = rows.multiply(1.0 / ridge[:, None]).tocsr()
            else:
                scaled = rows / ridge[:, None]
            slope = rows.T @ scaled
            slope = slope.toarray() if sparse.issparse(slope) else slope
            return -self._solve(slope, lam, gradient)
        return -_conjugate_gradients(lambda v: lam * v + rows.T @ ((rows @ v) / ridge), gradient)

    def _cancels(self, terms, curved, rows, ridge, lam):
        """Return whether Woodbury's form, a difference of two products divided by lam, would lose
        most digits, and the other form is available.
        """
        if rows is None or rows.shape[1] > self.largest:
            return False
        longest = float(terms.norms[curved].max())
        return longest * longest > self.uneven * lam * float(ridge.min())

    def _dual_direction(self, terms, gradient, curved, rows, ridge, lam):
        """Solve with Woodbury's form: ``-(gradient - Z' (lam D + Z Z')^-1 Z gradient)/lam``, where
        Z are the rows of C and D is their ridge.
        """
        products = terms.margins(gradient)[curved] if rows is None else rows @ gradient
        if curved.size <= self.largest:
            gram = terms.gram(curved)
            solution = self._solve(gram, lam * ridge, products)
        else:
            apply = terms.gram_operator(curved)
            solution = _conjugate_gradients(lambda v: apply(v) + lam * ridge * v, products)
        if rows is not None:
            return (-1.0 / lam) * (gradient - rows.T @ solution)
        weights = np.zeros(len(terms))
        weights[curved] = solution if terms.weights is None else solution / terms.weights[curved]
        return (-1.0 / lam) * (gradient - terms.weighted_sum(weights)[0])

    def _solve(self, matrix, ridge, b):
        """Return ``(matrix + diag(ridge))^-1 b`` for a positive semidefinite matrix; the matrix is
        overwritten.

        If the computed sum is singular, the ridge is raised until the sum is not singular. The step
        still descends.
        """
        matrix.flat[:: len(matrix) + 1] += ridge
        return solve_with(cholesky(matrix.T, lower=False), b, lower=False)


def _conjugate_gradients(apply, b):
    return cg(LinearOperator((b.size, b.size), matvec=apply), b, rtol=1e-3, maxiter=200)[0]
