"""Diagonal similarity ``sum_j w_j x_j x'_j`` learned from triplets, the baseline "diag" (HDSL19
section 5.2.1).
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from safescreen._checks import check_count, check_lam, check_scalar
from safescreen.hdsl.constraints import check_sparse_points
from safescreen.losses import SmoothedHinge
from safescreen.solvers import ConvergenceWarning
from safescreen.terms.indices import check_triplets, number_pairs


@dataclass(frozen=True)
class DiagonalSimilarity:
    """Similarity ``S(x, x') = sum_j w_j x_j x'_j``, weights of either sign; `objective` is mean
    loss and penalty.

    >>> DiagonalSimilarity(np.array([2.0, 0.0]), 0.0, 0)([[1.0, 1.0]], [[3.0, 1.0]]).tolist()
    [[6.0]]
    """

    weights: np.ndarray = field(repr=False)
    objective: float
    n_iter: int

    @property
    def features(self):
        """Features of non-zero weight."""
        return np.flatnonzero(self.weights)

    def __call__(self, X1, X2=None):
        """Return the similarities of the rows of X1 and X2 (default X1), dense, shape (n1, n2)."""
        X1 = check_sparse_points(X1, "X1")
        X2 = X1 if X2 is None else check_sparse_points(X2, "X2")
        return (X1.multiply(self.weights).tocsr() @ X2.T).toarray()


def fit_diagonal(X, triplets, lam, penalty="l2", *, tol=1e-6, max_iter=5000):
    """Minimise ``1/T sum_t loss(<A_t, diag(w)>) + lam Omega(w)``, Omega the squared l2 or the l1
    norm, over all w in R^d.

    The loss is the smoothed hinge of width 1. Accelerated proximal gradient with restarts; the
    signs of w are free, as in the paper. An iteration costs the number of features the pairs of
    points share, and O(d).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    triplets : int array of shape (T, 3)
    lam : float > 0
    penalty : {"l2", "l1"}
    tol, max_iter : float, int
        Stop when a step is at most `tol` times the norm of w; a ConvergenceWarning if it is not
        after `max_iter`.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    >>> fit_diagonal(X, [[0, 1, 2]], 0.1, "l1").weights.round(3).tolist()
    [0.475, 0.0]
    """
    X = check_sparse_points(X)
    triplets = check_triplets(triplets, X.shape[0])
    lam = check_lam(lam)
    tol = check_scalar(tol, "tol", low=0.0)
    max_iter = check_count(max_iter, "max_iter")
    if penalty not in ("l2", "l1"):
        raise ValueError(f"penalty must be one of l2, l1; got {penalty!r}")
    problem = _Diagonal(X, triplets, lam, penalty, SmoothedHinge(1.0))
    w = momentum = np.zeros(X.shape[1])
    u = ahead = np.zeros(len(triplets))
    t = 1.0
    last = problem.value(w, u)
    converged = False
    iteration = 0
    while iteration < max_iter and not converged:
        iteration += 1
        new = problem.proximal_step(momentum, ahead)
        new_u = problem.margins(new)
        objective = problem.value(new, new_u)
        if objective > last and t > 1.0:
            t = 1.0
            momentum = w
            ahead = u
            continue
        converged = np.linalg.norm(new - momentum) <= tol * np.linalg.norm(new)
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        factor = (t - 1.0) / after
        momentum = new + factor * (new - w)
        ahead = new_u + factor * (new_u - u)
        w = new
        u = new_u
        t = after
        last = objective
    if not converged:
        warnings.warn(
            f"diagonal similarity: tol={tol:g} not reached in {max_iter} iterations",
            ConvergenceWarning,
            stacklevel=2,
        )
    return DiagonalSimilarity(w, float(last), iteration)


class _Diagonal:
    """Margins, value and proximal step; products of shared features are stored once for each
    distinct pair of points.
    """

    def __init__(self, X, triplets, lam, penalty, loss):
        T = len(triplets)
        pairs, numbers = number_pairs(
            np.concatenate((triplets[:, :2], triplets[:, ::2])), X.shape[0]
        )
        self.shared = sparse.csr_array(X[pairs[:, 0]].multiply(X[pairs[:, 1]]))
        self.same, self.other = numbers[:T], numbers[T:]
        self.lam = lam
        self.penalty = penalty
        self.loss = loss
        curvature = _largest_eigenvalue(lambda w: self.adjoint(self.margins(w)), X.shape[1]) / (
            loss.smoothing * T
        )
        self.step = 1.0 / (1.02 * curvature + 1e-300)

    def margins(self, w):
        """``<A_t, diag(w)>``, shape (T,)."""
        products = self.shared @ w
        return products[self.same] - products[self.other]

    def adjoint(self, slopes):
        """Return ``sum_t slopes_t diag(A_t)``, shape (d,)."""
        P = self.shared.shape[0]
        return self.shared.T @ (
            np.bincount(self.same, slopes, P) - np.bincount(self.other, slopes, P)
        )

    def value(self, w, u):
        """Return the objective at w with margins u."""
        return self.loss.value(u).mean() + self.lam * (
            w @ w if self.penalty == "l2" else np.abs(w).sum()
        )

    def proximal_step(self, w, u):
        """Return the proximal gradient step from w with margins u."""
        w = w + self.step / u.size * self.adjoint(self.loss.alpha(u))
        shrink = self.step * self.lam
        return (
            w / (1.0 + 2.0 * shrink)
            if self.penalty == "l2"
            else np.maximum(w - shrink, 0.0) + np.minimum(w + shrink, 0.0)
        )


def _largest_eigenvalue(product, d, iterations=100):
    """Largest eigenvalue of a positive semi-definite operator by the power method, from a fixed
    start.
    """
    v = np.random.default_rng(0).standard_normal(d)
    size = 0.0
    for _ in range(iterations):
        v = product(v / np.linalg.norm(v))
        before = size
        size = float(np.linalg.norm(v))
        if size == 0.0 or abs(size - before) <= 1e-6 * size:
            break
    return size
