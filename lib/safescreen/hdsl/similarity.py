"""The result of Frank-Wolfe: a similarity ``x'Mx'`` whose M is a convex combination of atoms with
four entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from safescreen.hdsl.constraints import check_sparse_points, take_columns
from safescreen.terms.indices import check_index


@dataclass(frozen=True)
class SparseSimilarity:
    """Similarity ``S(x, x') = x'Mx'`` with ``M = sum_k w_k scale (e_i + s e_j)(e_i + s e_j)'``
    (HDSL19 section 3.1).

    Attributes
    ----------
    atoms : int array of shape (k, 3)
        Rows (i, j, s): features i < j, and a sign s of -1 or +1.
    weights : array of shape (k,)
        Positive weights, which add up to 1.
    scale : float
        Size of the domain, the lambda of the paper.
    d : int
        Number of features of the data.

    Examples
    --------
    >>> similarity = SparseSimilarity(np.array([[0, 2, -1]]), np.array([1.0]), 4.0, 3)
    >>> similarity.to_sparse().toarray().tolist()
    [[4.0, 0.0, -4.0], [0.0, 0.0, 0.0], [-4.0, 0.0, 4.0]]
    >>> similarity([[1.0, 5.0, 0.0]], [[1.0, 5.0, 0.0], [0.0, 5.0, 1.0]]).tolist()
    [[4.0, -4.0]]
    """

    atoms: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    scale: float
    d: int

    def __len__(self) -> int:
        return self.weights.size

    @property
    def features(self) -> np.ndarray:
        """The features that the atoms use, sorted."""
        return np.unique(self.atoms[:, :2])

    def factor(self) -> sparse.csr_array:
        """Return the factor L of ``M = L'L``, a CSR array of shape (k, d) with the rows
        ``sqrt(w_k scale) (e_i + s e_j)'``.
        """
        root = np.sqrt(self.weights * self.scale)
        data = np.column_stack((root, root * self.atoms[:, 2])).ravel()
        indptr = np.arange(0, 2 * len(self) + 1, 2)
        return sparse.csr_array(
            (data, self.atoms[:, :2].ravel(), indptr), shape=(len(self), self.d)
        )

    def to_sparse(self) -> sparse.coo_array:
        """Return M, a COO array of shape (d, d) with at most 4k entries, without duplicates."""
        weights = self.weights * self.scale
        i, j, sign = self.atoms.T
        entries = np.concatenate((weights, weights, sign * weights, sign * weights))
        M = sparse.coo_array(
            (entries, (np.concatenate((i, j, i, j)), np.concatenate((i, j, j, i)))),
            shape=(self.d, self.d),
        )
        M.sum_duplicates()
        return M

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the points mapped by the factor, ``X L'``, a CSR array of shape (n, k). The dot
        products of its rows are the similarities.
        """
        X = check_sparse_points(X)
        if X.shape[1] != self.d:
            raise ValueError(f"X must have {self.d} features, got shape {X.shape}")
        features = self.features
        return sparse.csr_array(
            take_columns(X, features) @ take_columns(self.factor(), features).T.tocsr()
        )

    def __call__(self, X1: Any, X2: Any = None) -> np.ndarray:
        """Return the similarities of the rows of X1 and X2, a dense array of shape (n1, n2). If X2
        is left out, it is X1.

        Cost: the product ``(X1 L')(X2 L')'``.
        """
        left = self.transform(X1)
        right = left if X2 is None else self.transform(X2)
        if left.nnz > 0.02 * left.shape[0] * left.shape[1]:  # BLAS is faster if few entries are 0
            return left.toarray() @ right.toarray().T
        return (left @ right.T).toarray()

    def margins(self, X: Any, triplets: ArrayLike) -> np.ndarray:
        """Return ``<A_t, M> = S(x_t, y_t) - S(x_t, z_t)``, shape (T,).

        Cost: one product of mapped rows for each triplet.
        """
        projected = self.transform(X)
        triplets = check_index(triplets, projected.shape[0], ("x", "y", "z"), "triplets")
        x, y, z = (projected[triplets[:, c]] for c in range(3))
        return np.asarray(x.multiply(y - z).sum(axis=1)).ravel()
