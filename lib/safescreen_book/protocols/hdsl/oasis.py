"""OASIS: a bilinear similarity learned online from triplets, in a space of few dimensions (HDSL19 section 5.2.1)."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from safescreen._checks import check_count, check_points, check_scalar
from safescreen._numba import njit
from safescreen.terms.indices import check_triplets

__all__ = ["BilinearSimilarity", "Projection", "fit_oasis", "pca_projection", "random_projection"]


@dataclass(frozen=True)
class BilinearSimilarity:
    """Similarity ``S(x, x') = x'Mx'`` with a dense M, which need not be symmetric; `n_updates` triplets have changed it."""

    M: np.ndarray = field(repr=False)
    n_updates: int

    def __call__(self, X1, X2=None):
        """Return the similarities of the rows of X1 and X2 (default X1), shape (n1, n2)."""
        return (X1 @ self.M) @ (X1 if X2 is None else X2).T


@dataclass(frozen=True)
class Projection:
    """Affine map ``x -> (x - mean) R`` to r dimensions, R of shape (d, r)."""

    R: np.ndarray = field(repr=False)
    mean: np.ndarray | None = field(default=None, repr=False)

    def __call__(self, X):
        """Return the projected points, dense, shape (n, r)."""
        projected = np.asarray(X @ self.R)
        return projected if self.mean is None else projected - self.mean @ self.R


def random_projection(d, r, random_state=0):
    """Return the projection ``x -> R'x/sqrt(r)`` from d to r dimensions, with independent standard normal entries.

    >>> random_projection(1000, 20)(np.eye(1000)[:2]).shape
    (2, 20)
    """
    r = check_count(r, "r")
    return Projection(np.random.default_rng(random_state).standard_normal((check_count(d, "d"), r)) / np.sqrt(r))


def pca_projection(X, r):
    """Return the projection of X, dense or CSR, on its first r principal components; fewer if there are not as many.

    By the eigenvectors of the centred n x n Gram matrix, in O(n^3 + n nnz(X)): for n << d.

    >>> pca_projection([[0.0, 0.0], [2.0, 0.0], [1.0, 0.1]], 1)(np.array([[1.0, 5.0]])).round(6).tolist()
    [[0.0]]
    """
    X = check_points(X, allow_sparse=True)
    r = check_count(r, "r")
    gram = X @ X.T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    mean = gram.mean(axis=0)
    gram = gram - mean[:, None] - mean[None, :] + mean.mean()
    values, vectors = np.linalg.eigh(gram)
    keep = np.flatnonzero(values > 1e-12 * max(values[-1], 1e-300))[::-1][:r]
    weights = vectors[:, keep] / np.sqrt(values[keep])
    return Projection(np.asarray(X.T @ (weights - weights.mean(axis=0))), np.asarray(X.mean(axis=0)).ravel())


def fit_oasis(Z, triplets, aggressiveness, n_steps, random_state=0):
    """Learn M by passive-aggressive steps on triplets drawn at random, from the identity (Chechik et al., JMLR 2010).

    Each of the steps moves M by ``tau x (y - z)'`` with ``tau = min(aggressiveness, hinge/||x (y - z)'||^2)`` and costs O(r^2) for points Z
    of r dimensions.

    >>> fit_oasis(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [[0, 1, 2]], 1.0, 1).M.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    Z = check_points(Z, "Z")
    triplets = np.ascontiguousarray(check_triplets(triplets, Z.shape[0]), dtype=np.int64)
    limit = check_scalar(aggressiveness, "aggressiveness", low=0.0, open_low=True)
    M = np.eye(Z.shape[1])
    order = np.random.default_rng(random_state).integers(len(triplets), size=check_count(n_steps, "n_steps"))
    return BilinearSimilarity(M, int(_passive_aggressive(Z, triplets, order, limit, M)))


@njit
def _passive_aggressive(Z, triplets, order, limit, M):
    """Run the steps on M in place; return how many changed it."""
    updates = 0
    for t in order:
        x, y, z = Z[triplets[t, 0]], Z[triplets[t, 1]], Z[triplets[t, 2]]
        margin, norm_x, norm_v = 0.0, 0.0, 0.0
        for a in range(x.size):
            inner = 0.0
            for b in range(x.size):
                inner += M[a, b] * (y[b] - z[b])
            margin += x[a] * inner
            norm_x += x[a] * x[a]
            norm_v += (y[a] - z[a]) ** 2
        hinge, norm = 1.0 - margin, norm_x * norm_v
        if hinge > 0.0 and norm > 0.0:
            tau = min(limit, hinge / norm)
            updates += 1
            for a in range(x.size):
                for b in range(x.size):
                    M[a, b] += tau * x[a] * (y[b] - z[b])
    return updates
