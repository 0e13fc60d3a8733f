"""OASIS: a bilinear similarity learned online from triplets, in a space of few dimensions
(HDSL19 section 5.2.1).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from safescreen._checks import check_count, check_points, check_scalar
from safescreen._numba import njit
from safescreen.terms.indices import check_triplets


@dataclass(frozen=True)
class BilinearSimilarity:
    """Similarity ``S(x, x') = x'Mx'`` with a dense M, which need not be symmetric."""

    M: np.ndarray = field(repr=False)

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
    """Return the projection ``x -> R'x/sqrt(r)`` from d to r dimensions, with independent standard
    normal entries.

    >>> random_projection(1000, 20)(np.eye(1000)[:2]).shape
    (2, 20)
    """
    r = check_count(r, "r")
    R = np.random.default_rng(random_state).standard_normal((check_count(d, "d"), r))
    R /= np.sqrt(r)  # in place: it may be all the memory there is
    return Projection(R)


def pca_projection(X, r):
    """Return the projection of X, dense or CSR, on its first r principal components; fewer if there
    are not as many.

    By the eigenvectors of the centred n x n Gram matrix, in O(n^3 + n nnz(X)): for n << d.

    >>> project = pca_projection([[0.0, 0.0], [2.0, 0.0], [1.0, 0.1]], 1)
    >>> project(np.array([[1.0, 5.0]])).round(6).tolist()
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
    return Projection(
        np.asarray(X.T @ (weights - weights.mean(axis=0))), np.asarray(X.mean(axis=0)).ravel()
    )


def fit_oasis(Z, triplets, aggressiveness, n_steps, random_state=0):
    """Learn M by passive-aggressive steps on triplets drawn at random, from the identity (Chechik
    et al., JMLR 2010).

    Each of the steps moves M by ``tau x (y - z)'`` with
    ``tau = min(aggressiveness, hinge/||x (y - z)'||^2)``, so that ``M = I + Z'CZ``. A step on C
    costs O(n) for n points whatever their dimension r, Gram matrix and M cost O(n r (n + r)) once.

    >>> fit_oasis(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [[0, 1, 2]], 1.0, 1).M.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    Z = check_points(Z, "Z")
    n, r = Z.shape
    triplets = np.ascontiguousarray(check_triplets(triplets, n), dtype=np.int64)
    limit = check_scalar(aggressiveness, "aggressiveness", low=0.0, open_low=True)
    order = np.random.default_rng(random_state).integers(
        len(triplets), size=check_count(n_steps, "n_steps")
    )
    C = np.zeros((n, n))
    _passive_aggressive(Z @ Z.T, triplets, order, limit, C, np.zeros((n, n)))
    return BilinearSimilarity(np.eye(r) + Z.T @ (sparse.csr_array(C) @ Z))


@njit
def _passive_aggressive(G, triplets, order, limit, C, GC):
    """Run the steps on C in place, with the Gram matrix G; GC, in place too, is ``(C G)'``."""
    for t in order:
        x, y, z = triplets[t]
        margin = G[x, y] - G[x, z]
        for a in range(len(G)):
            margin += G[x, a] * (GC[y, a] - GC[z, a])
        hinge = 1.0 - margin
        norm = G[x, x] * (G[y, y] - 2.0 * G[y, z] + G[z, z])
        if hinge > 0.0 and norm > 0.0:
            tau = min(limit, hinge / norm)
            C[x, y] += tau
            C[x, z] -= tau
            for b in range(len(G)):
                GC[b, x] += tau * (G[y, b] - G[z, b])
