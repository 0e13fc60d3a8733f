"""The Newton system of an interior-point method: conjugate gradients, preconditioned with the
terms that weigh most.

In scaled coordinates the system is ``M = R + B'B``, R a diagonal matrix of entries from 1 on and
``B'B = sum_t k_t b_t b_t'`` over all terms. Far from the solution all terms count, near it a few
hundred. Terms whose ``k_t ||b_t||^2`` sum to at most a budget are left out of the matrix that is
factorized, but not of the products with M, so that the solution is as exact as it has to be. The
factorization is that of the smaller of the two forms, ``R + B'B`` or ``I + B R^-1 B'``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from safescreen._threads import large_blas
from safescreen.rounding import ElementLike
from safescreen.solvers import _interior_kernels as kernels
from safescreen.solvers._scalings import Scaling
from safescreen.terms.pair_system import PairSystem

RAISES = (0.0, 1e-14, 1e-11, 1e-8)
"""What is added to the diagonal of a matrix that rounding has made indefinite, in parts of its
largest entry.
"""

LESS = 1.0 / 30.0
"""The factor by which the budget falls where conjugate gradients do not reach their goal."""

FEWEST = 30
"""Products before that, at least."""


class Change(NamedTuple):
    """A change of the point, of all margins, and ``sum_t k_t dm_t a_t`` for the changes dm."""

    x: ElementLike
    margins: NDArray
    sums: ElementLike


class HeavyTerms:
    """The system at one point, for several right-hand sides.

    Parameters
    ----------
    system : PairSystem
    scaling : Scaling
    lam : float
    scales : array of shape (T,)
        The k_t.
    budget : float
        What the terms that are left out may sum to.
    """

    def __init__(
        self, system: PairSystem, scaling: Scaling, lam: float, scales: NDArray, budget: float
    ):
        self._system = system
        self._scaling = scaling
        self._scales = scales
        self._ridge = scaling.ridge(lam)
        self._sizes = scales * system.squares(scaling.root)
        self.products = 0
        self.refactored = 0
        self._factorize(budget)

    def _factorize(self, budget):
        self._budget = budget
        heavy = self._sizes >= kernels.largest_sum(self._sizes, budget)
        self._complete = bool(heavy.all())
        n, blocks = self._system.rows(np.where(heavy, self._scales, 0.0), self._scaling.root)
        width = self._system.width
        self._small = n * n * (width + n / 3.0) < width * width * (n + width / 3.0)
        with large_blas(min(n, width)):
            if self._small:
                matrix = self._rows_system(n, blocks)
            else:
                matrix = np.zeros((width, width), order="F")
                for block in blocks:
                    matrix = blas.dsyrk(1.0, block.T, beta=1.0, c=matrix, lower=1, overwrite_c=1)
                matrix.flat[:: width + 1] += self._ridge
            self._factor = _cholesky(matrix)
        self._assembly, solve = self._operations(n, width)
        self._product = self._system.work + solve

    def _rows_system(self, n, blocks):
        """Keep the rows ``B R^-1/2``, and return ``I + B R^-1 B'``."""
        self._root = np.sqrt(self._ridge)
        rows = np.empty((n, self._system.width))
        n_rows = 0
        for block in blocks:
            np.divide(block, self._root, out=rows[n_rows : n_rows + len(block)])
            n_rows += len(block)
        self._rows = rows[:n_rows]
        if n_rows == 0:
            return np.empty((0, 0), order="F")
        matrix = blas.dsyrk(1.0, self._rows.T, trans=1, lower=1)
        matrix.flat[:: n_rows + 1] += 1.0
        return matrix

    def _operations(self, n, width):
        """Return the operations, of about a nanosecond, of the factorization and of a solve."""
        if self._small:
            return 0.02 * n * n * (width + n / 3.0) + 3.0 * n * width, n * (0.8 * width + 0.5 * n)
        return 0.02 * width * width * (n + width / 3.0) + 2.0 * n * width, 0.5 * width * width

    @property
    def next_budget(self) -> float:
        """The budget with which products and factorization of the next system, if it is like
        this one, cost about the same.
        """
        if self.refactored:
            return self._budget
        ratio = self._assembly / (self.products * self._product + 0.02 * self._assembly + 1.0)
        return self._budget * min(max(ratio, 0.5), 30.0)

    def solve(self, b: NDArray, precision: float) -> Change:
        """Return the change that solves the system for the right-hand side b, up to a residual of
        norm `precision`, as far as rounding and some products with two more factorizations let it.
        """
        change = Change(0.0 * self._scaling.back(b), np.zeros(len(self._scales)), 0.0)
        residual = b
        towards = None
        fall = 0.0
        n = 0
        while True:
            if n > max(FEWEST, int(0.3 * self._assembly / self._product)):
                if self._complete or self.refactored > 1:
                    break
                self.refactored += 1
                self._factorize(LESS * self._budget if self.refactored == 1 else 0.0)
                towards = None
                n = 0
            z = self._precondition(residual)
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
            self.products += 1
        return change

    def _precondition(self, r):
        if not self._small:
            return lapack.dpotrs(self._factor, r, lower=1)[0]
        r = r / self._root
        if len(self._rows):
            r = r - lapack.dpotrs(self._factor, self._rows @ r, lower=1)[0] @ self._rows
        return r / self._root

    def _apply(self, y):
        x = self._scaling.back(y)
        margins = self._system.products(x)
        sums = self._system.sums(self._scales * margins)
        return Change(x, margins, sums), self._ridge * y + self._scaling.into(sums)


def _cholesky(matrix):
    """Return the lower factor of a positive definite matrix, of which the lower half is read; it
    is raised where rounding has made it indefinite.
    """
    n = len(matrix)
    if n == 0:
        return matrix
    diagonal = matrix.flat[:: n + 1].copy()
    for part in RAISES:
        matrix.flat[:: n + 1] = diagonal + part * diagonal.max()
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=0)
        if not failed:
            return factor
    raise np.linalg.LinAlgError("the Newton system of an interior-point step is not definite")
