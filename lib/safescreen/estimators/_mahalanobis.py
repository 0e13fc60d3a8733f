"""A Mahalanobis metric as the solution of a problem over a cone of matrices or of vectors.

The problem is posed and solved, and the factor L is taken from its solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from safescreen._checks import NO_NUMBERS, check_lam, need_memory
from safescreen.estimators._atomic import of_one_fit
from safescreen.estimators._metric import LinearMap
from safescreen.estimators._training import quiet, solver_options, train, warn_of_metric
from safescreen.losses import SmoothedHinge
from safescreen.memory import dense_bytes, matrix_bytes
from safescreen.paths import Path
from safescreen.problem import Problem
from safescreen.solvers import Solution
from safescreen.terms.base import Terms

LAM_RATIO = 0.01
"""The default of lam_ratio, if lam is not given either."""


def dense(X):
    """Return points as a dense array."""
    if not sparse.issparse(X):
        return X
    need_memory(
        dense_bytes(*X.shape),
        f"a metric of sparse X of shape {X.shape}",
        "put a TruncatedSVD before it, or use HDSL",
    )
    return X.toarray()


def span(X):
    """Return the coordinates of the points in the space that they span, and a basis of this space,
    shape (d, n). If X has no more features than points, return X and None.

    With more features than points ``(X - mean)' = Q R``. The rows of R' differ from each other as
    the points do in the basis Q.
    """
    if X.shape[0] >= X.shape[1]:
        return X, None
    basis, coordinates = np.linalg.qr((X - X.mean(axis=0)).T)
    return coordinates.T, basis


@dataclass(frozen=True)
class Posed:
    """A problem of metric learning.

    Attributes
    ----------
    problem : Problem
    basis : array of shape (d, n) or None
        A basis of the space of its metric; None for the space of the features.
    complete : callable
        Sets the remaining attributes of an estimator that has the metric, and returns the
        estimator.
    """

    problem: Problem
    basis: np.ndarray | None
    complete: Callable[[], Any]


class Mahalanobis(LinearMap):
    """A metric whose factor L is taken from the solution of a problem."""

    @of_one_fit
    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return the learned matrix M, shape (d, d).

        Raises
        ------
        MemoryError
            M takes more memory than is free.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        need_memory(matrix_bytes(d), f"a matrix of shape ({d}, {d})", "use its factor, components_")
        return self.components_.T @ self.components_

    # ------------------------------------------------------------------ pieces of fit

    def _check_sizes(self, X):
        super()._check_sizes(X)
        n, d = self.n_components, X.shape[1]
        if n is not None and (
            isinstance(n, NO_NUMBERS) or not isinstance(n, Integral) or not 1 <= n <= d
        ):
            raise ValueError(f"n_components must be in 1..{d} or None, got {n!r}")

    def _learn(self, posed, X):
        """Solve the posed problem of the points X, complete the estimator, and return it."""
        with quiet():
            self._solve(posed)
        warn_of_metric(self, [self.solution_] if self.path_ is None else self.path_, X)
        return posed.complete()

    def _of_tuples(self, X, rows, terms: Callable[[np.ndarray, np.ndarray], Terms]) -> Posed:
        """Return the posed problem of tuples of points; ``terms(points, rows)`` makes the terms."""
        used, numbers = np.unique(rows, return_inverse=True)
        coordinates, basis = self._coordinates(dense(X[used]))
        made = terms(coordinates, numbers.reshape(rows.shape))
        return Posed(self._problem(made), basis, lambda: self)

    def _coordinates(self, X):
        """Return :func:`span` of the points. For a diagonal metric return the points and None."""
        return (X, None) if self.diagonal else span(X)

    def _problem(self, terms):
        return Problem(terms, SmoothedHinge(check_lam(self.smoothing, "smoothing")))

    def _top(self, prob):
        """Return the lam that `lam_ratio` is relative to."""
        return prob.lam_max()

    def _solve(self, posed):
        """Solve a posed problem for the lam asked for, and keep its solution."""
        if self.lam is not None and self.lam_ratio is not None:
            given = f"got lam={self.lam!r} and lam_ratio={self.lam_ratio!r}"
            raise ValueError(f"lam and lam_ratio must not both be given, {given}: leave one out")
        top = self._top(posed.problem)
        if self.lam is not None:
            lam = check_lam(self.lam, "lam")
        else:
            ratio = LAM_RATIO if self.lam_ratio is None else check_lam(self.lam_ratio, "lam_ratio")
            lam = ratio * (top if 0.0 < top < np.inf else 1.0)
            lam = check_lam(lam, f"lam_ratio={ratio:g} times the largest lam")
        keep(self, posed, *self._train(posed, lam))

    def _train(self, posed, lam) -> tuple[Solution, Path | None]:
        """Return the solution of a posed problem for lam, and None or the path to it."""
        return train(posed.problem, lam, callback=self.callback, **solver_options(self)), None


def keep(model, posed, solution, path=None) -> None:
    """Set the metric and all other attributes of a fit from the solution of a posed problem."""
    model.path_ = path
    model.solution_ = solution
    model.lam_ = solution.lam
    model.n_iter_ = solution.n_iter
    model.reason_ = solution.reason
    model.dual_gap_ = solution.gap
    model.relative_gap_ = solution.relative_gap
    model.screening_ = solution.screened
    factor = _factor(solution.x, model.n_components)
    factor = factor if posed.basis is None else factor @ posed.basis.T
    missing = 0 if model.n_components is None else model.n_components - len(factor)
    if missing > 0:
        factor = np.vstack((factor, np.zeros((missing, factor.shape[1]))))
    model.components_ = factor


def _factor(x, n_components=None):
    """Return L with ``L'L = M``: one row for each positive eigenvalue of M, and at least one row.
    With `n_components` L has at most that many rows, for the largest eigenvalues.
    """
    if x.ndim == 1:
        used = np.argsort(-x, kind="stable")[: max(1, np.count_nonzero(x > 0.0))]
        used = np.sort(used[:n_components])
        return np.sqrt(np.maximum(x[used], 0.0))[:, None] * np.eye(x.size)[used]
    values, vectors = np.linalg.eigh(x)
    values = values[::-1]
    vectors = vectors[:, ::-1]
    rank = max(1, int(np.count_nonzero(values > 1e-12 * max(values[0], 0.0))))
    rank = rank if n_components is None else min(rank, n_components)
    vectors = vectors * np.where(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(values.size)] < 0.0, -1.0, 1.0
    )
    return np.sqrt(np.maximum(values[:rank], 0.0))[:, None] * vectors[:, :rank].T
