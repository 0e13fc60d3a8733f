"""The parts of ``Z = Q + y a``, which certificates over the semidefinite cone need, from all
eigenpairs or from one.

A term has at most one negative eigenvalue, and so has minus a term (both are differences of two
matrices ``u u'``). If Q is in the cone, Z then has at most one negative eigenvalue itself (Weyl),
and the pair of this eigenvalue and its vector determines ``Z_-``.

A certificate need not trust the computed pair. For every unit vector q and ``s = max(0, -q'Zq)``::

    ||Z_-|| = max_{S in K, ||S|| <= 1} -<Z, S> >= s
    ||Z_+|| = min_{S in K} ||Z + S|| <= ||Z + s q q'||

so a wrong or missed pair makes a certificate weaker, never false.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import ArpackError, eigsh

PAIR_FROM = 16
"""Smallest d at which a single eigenpair is computed instead of a full decomposition."""

LANCZOS_FROM = 90
"""Smallest d at which Lanczos steps are the fastest way to compute a single eigenpair."""


@dataclass(frozen=True)
class Parts:
    """Norms of the parts of a batch of matrices, arrays of shape (B,). Up to rounding, `plus` is at
    least ``||Z_+||`` and `minus` is at most ``||Z_-||``. `plus_product` and `minus_product` are the
    inner products of a with both parts.
    """

    plus: np.ndarray
    minus: np.ndarray
    plus_product: np.ndarray
    minus_product: np.ndarray


def split_all(Z, a, start=None):
    """Return ``(Parts, None)`` by full eigendecompositions; shapes (B, d, d)."""
    values, vectors = np.linalg.eigh(Z)
    weights = np.einsum("bik,bik->bk", vectors, a @ vectors)
    positive = np.maximum(values, 0.0)
    negative = np.maximum(-values, 0.0)
    parts = Parts(
        plus=np.linalg.norm(positive, axis=1),
        minus=np.linalg.norm(negative, axis=1),
        plus_product=np.sum(positive * weights, axis=1),
        minus_product=np.sum(negative * weights, axis=1),
    )
    return parts, None


def split_one(Z, a, start=None):
    """Return ``(Parts, q)`` by the lowest eigenpair of each matrix.

    Microseconds per matrix on one core, for the batched full decomposition, for LAPACK ``dsyevr``
    with one pair, and for Lanczos steps (ARPACK), were 2, 3, - at d = 5; 18, 12, 103 at d = 20;
    287, 76, 108 at d = 68; 2947, 928, 249 at d = 200. LOBPCG was slower at each d. Lanczos steps
    start from `start`, the q of an earlier call, or from the column of a with the lowest diagonal
    entry.
    """
    q = lowest_vectors(Z, a, start)
    length = np.vecdot(q, q)
    s = np.maximum(-np.vecdot(q, (Z @ q[:, :, None])[:, :, 0]) / length, 0.0)
    minus_product = s / length * np.vecdot(q, (a @ q[:, :, None])[:, :, 0])
    flat = Z.shape[0], -1
    product = np.vecdot(Z.reshape(flat), a.reshape(flat))
    rest = q[:, :, None] * ((s / length)[:, None] * q)[:, None, :]
    rest += Z
    rest = rest.reshape(flat)
    return Parts(np.sqrt(np.vecdot(rest, rest)), s, product + minus_product, minus_product), q


def lowest_vectors(Z, a, start):
    """Return approximate eigenvectors of the lowest eigenvalues, shape (B, d)."""
    size, d = Z.shape[:2]
    if start is None and d >= LANCZOS_FROM:
        column = np.argmin(np.einsum("bii->bi", a), axis=1)
        start = a[np.arange(size), :, column]
    out = np.empty((size, d))
    for b in range(size):
        out[b] = _by_lapack(Z[b]) if d < LANCZOS_FROM else _by_lanczos(Z[b], start[b])
    return out


def _by_lapack(Z):
    """Return the eigenvector of the lowest eigenvalue, or an arbitrary unit vector if
    LAPACK fails.
    """
    _, vectors, _, _, info = lapack.dsyevr(Z, range="I", il=1, iu=1)
    if info == 0 and np.isfinite(vectors[:, 0]).all():
        return vectors[:, 0]
    return np.eye(1, len(Z))[0]


def _by_lanczos(Z, start):
    if not (np.isfinite(start).all() and start.any()):
        start = np.ones(len(Z))
    try:
        return eigsh(Z, 1, which="SA", tol=1e-4, ncv=8, v0=start, maxiter=100)[1][:, 0]
    except ArpackError:
        return _by_lapack(Z)
