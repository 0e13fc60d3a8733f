"""Newton system of an interior-point method, solved by conjugate gradients with a preconditioner
from the terms that weigh most.

In scaled coordinates the system is ``M = R + B'B``, where R is a diagonal matrix with entries of at
least 1 and ``B'B = sum_t k_t b_t b_t'`` over all terms. Far from the solution all terms count, near
it a few hundred. Terms whose ``k_t ||b_t||^2`` sum to at most a budget are left out of the
factorized matrix. The products with M include all terms, so that the solution is as exact as it has
to be. The smaller of the two forms ``R + B'B`` and ``I + B R^-1 B'`` is factorized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from safescreen._cholesky import cholesky, solve_with
from safescreen._threads import large_blas
from safescreen.interior.pair_system import PairSystem
from safescreen.interior.scalings import Scaling
from safescreen.rounding import ElementLike


class Change(NamedTuple):
    """Change of the point and of all margins, and ``sum_t k_t dm_t a_t`` for the changes dm of the
    margins.
    """

    x: ElementLike
    margins: NDArray
    sums: ElementLike


@dataclass(frozen=True, kw_only=True)
class Factorization:
    """Factor of the system without the terms that weigh least.

    Attributes
    ----------
    budget : float
        Largest sum of the terms that are left out.
    is_complete : bool
        Whether no term is left out.
    factor : array
        The Cholesky factor of ``R + B'B``, or of ``I + B R^-1 B'`` if `rows` are given.
    root : array
        The square root of R.
    rows : array, optional
        ``B R^-1/2``.
    work, product : float
        Operations of this factorization, and of one product with M plus one solution with the
        factor. An operation takes about a nanosecond.
    """

    budget: float
    is_complete: bool
    factor: NDArray
    root: NDArray
    rows: NDArray | None = None
    work: float
    product: float

    def solve(self, b: NDArray) -> NDArray:
        """Return the solution of the factorized system."""
        if self.rows is None:
            return solve_with(self.factor, b)
        b = b / self.root
        if len(self.rows):
            b = b - solve_with(self.factor, self.rows @ b) @ self.rows
        return b / self.root


class Effort(NamedTuple):
    """Factorization in use, and the effort of all solutions of a system so far: products beyond the
    first product of each solution, and further factorizations.
    """

    factorization: Factorization
    products: int = 0
    refactored: int = 0

    @property
    def next_budget(self) -> float:
        """Budget at which products and factorization of the next system cost about the same, if the
        next system is like this one.
        """
        used = self.factorization
        if self.refactored:
            return used.budget
        ratio = used.work / (self.products * used.product + 0.02 * used.work + 1.0)
        return used.budget * min(max(ratio, 0.5), 30.0)


@dataclass(frozen=True)
class NewtonSystem:
    """Newton system at one point, for several right-hand sides.

    Attributes
    ----------
    terms : PairSystem
    scaling : Scaling
    scales : array of shape (T,)
        The k_t.
    ridge : array
        The diagonal of R.
    sizes : array of shape (T,)
        Upper bounds of ``k_t ||b_t||^2``.
    less : float
        The factor that lowers the budget if conjugate gradients do not reach their goal.
    fewest : int
        Smallest number of products before the budget is lowered.
    """

    terms: PairSystem
    scaling: Scaling
    scales: NDArray
    ridge: NDArray
    sizes: NDArray
    less: float = 1.0 / 30.0
    fewest: int = 30

    @classmethod
    def of(cls, terms: PairSystem, scaling: Scaling, lam: float, scales: NDArray) -> Self:
        """Return the system with these weights of the terms."""
        sizes = scales * terms.squares(scaling.root)
        return cls(terms, scaling, scales, scaling.ridge(lam), sizes)

    def factorize(self, budget: float) -> Factorization:
        """Return a factorization that leaves out terms whose sizes sum to at most the budget."""
        heavy = self.sizes >= _largest_sum(self.sizes, budget)
        n, blocks = self.terms.rows(np.where(heavy, self.scales, 0.0), self.scaling.root)
        width = self.terms.width
        root = np.sqrt(self.ridge)
        rows = None
        with large_blas(min(n, width)):
            if n * n * (width + n / 3.0) < width * width * (n + width / 3.0):
                rows = _stacked(n, blocks, root)
                matrix = _products_of_rows(rows)
                work = 0.02 * n * n * (width + n / 3.0) + 3.0 * n * width
                solution = n * (0.8 * width + 0.5 * n)
            else:
                matrix = _in_coordinates(blocks, self.ridge)
                work = 0.02 * width * width * (n + width / 3.0) + 2.0 * n * width
                solution = 0.5 * width * width
            factor = cholesky(matrix)
        return Factorization(
            budget=budget,
            is_complete=bool(heavy.all()),
            factor=factor,
            root=root,
            rows=rows,
            work=work,
            product=self.terms.work + solution,
        )

    def solve(self, b: NDArray, precision: float, effort: Effort) -> tuple[Change, Effort]:
        """Return the change that solves the system for the right-hand side b, and the updated
        effort. The residual has at most the norm `precision`, unless rounding or the limits of
        products and of two more factorizations end the solve earlier.
        """
        used, products, refactored = effort
        change = Change(0.0 * self.scaling.back(b), np.zeros(len(self.scales)), 0.0)
        residual = b
        towards = None
        fall = 0.0
        n = 0
        while True:
            if n > max(self.fewest, int(0.3 * used.work / used.product)):
                if used.is_complete or refactored > 1:
                    break
                refactored += 1
                used = self.factorize(self.less * used.budget if refactored == 1 else 0.0)
                towards = None
                n = 0
            z = used.solve(residual)
            before = fall
            fall = float(residual @ z)
            if fall == 0.0:
                raise np.linalg.LinAlgError("squares underflow or overflow")
            towards = z if towards is None else z + (fall / before) * towards
            step, product = self._apply(towards)
            curvature = float(towards @ product)
            if not curvature > 0.0:
                raise np.linalg.LinAlgError("squares underflow or overflow")
            length = fall / curvature
            if not np.isfinite(length):
                break
            change = Change(*(old + length * new for old, new in zip(change, step, strict=True)))
            residual = residual - length * product
            n += 1
            if float(np.linalg.norm(residual)) <= precision:
                break
            products += 1
        return change, Effort(used, products, refactored)

    def _apply(self, y):
        """Return the change of the point y in scaled coordinates, and ``M y``."""
        x = self.scaling.back(y)
        margins = self.terms.products(x)
        sums = self.terms.sums(self.scales * margins)
        return Change(x, margins, sums), self.ridge * y + self.scaling.into(sums)


def _largest_sum(numbers, budget):
    """Return a power of two such that the numbers below it sum to at most `budget`."""
    if not numbers.size:
        return np.inf
    exponents = np.frexp(numbers)[1]
    lowest = int(exponents.min())
    sums = np.cumsum(np.bincount(exponents - lowest, weights=numbers))
    n_left_out = int(np.searchsorted(sums, budget, side="right"))
    if n_left_out == sums.size:
        return np.inf
    return float(np.ldexp(1.0, lowest + n_left_out - 1))


def _in_coordinates(blocks, ridge):
    """Return the lower half of ``R + B'B`` for the rows B of all blocks."""
    width = len(ridge)
    matrix = np.zeros((width, width), order="F")
    for block in blocks:
        matrix = blas.dsyrk(1.0, block.T, beta=1.0, c=matrix, lower=1, overwrite_c=1)
    matrix.flat[:: width + 1] += ridge
    return matrix


def _stacked(n, blocks, root):
    """Return the rows of all blocks, at most n rows, divided by the root."""
    rows = np.empty((n, len(root)))
    n_rows = 0
    for block in blocks:
        np.divide(block, root, out=rows[n_rows : n_rows + len(block)])
        n_rows += len(block)
    return rows[:n_rows]


def _products_of_rows(rows):
    """Return the lower half of ``I + Z Z'`` for the rows Z."""
    n = len(rows)
    if n == 0:
        return np.empty((0, 0), order="F")
    matrix = blas.dsyrk(1.0, rows.T, trans=1, lower=1)
    matrix.flat[:: n + 1] += 1.0
    return matrix
