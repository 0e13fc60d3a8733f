"""Samples of a binary classification problem: support vector machines without intercept."""

import numpy as np
from scipy import sparse

from safescreen._checks import check_points
from safescreen.cones import FreeSpace
from safescreen.rounding import gamma, norm_upper, upper
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms._sample_kernels import sweep_dense, sweep_sparse
from safescreen.terms.base import InnerProducts, Terms, check_signs, check_weights

__all__ = ["Samples"]


class Samples(Terms):
    """Sample terms ``z_i = y_i x_i`` (SSS14 section II), so that ``<z_i, w>`` is the margin of sample i.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Labels -1 and +1, both present.
    weights : array of shape (n,), optional
        Positive factors of the losses.

    Notes
    -----
    In the papers' notation ``C = 1/lam`` and the dual variables are ``C alpha``. There is no intercept; a constant column in `X` gives
    one that is penalised. Margins and their adjoint cost O(n d), or O(stored entries).

    Examples
    --------
    >>> samples = Samples([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    >>> samples.margins(np.array([1.0, 1.0])).tolist()
    [1.0, -2.0]
    """

    offers = frozenset({"singles", "elements", "sweeps", "rows"})

    def __init__(self, X, y, *, weights=None):
        X = check_points(X, allow_sparse=True)
        signs = check_signs(y, X.shape[0])
        Z = X * signs[:, None] if not sparse.issparse(X) else sparse.csr_array(X.multiply(signs[:, None]))
        self._set(Z, weights=check_weights(weights, X.shape[0]))

    def _set(self, Z, norms=None, threshold=1.0, weights=None):
        self._Z, self._transposed = Z, None
        self.cone = FreeSpace(Z.shape[1])
        self._norms = norms
        self.threshold = threshold
        self.weights = weights

    def __len__(self):
        return self._Z.shape[0]

    def __repr__(self):
        kind = "sparse" if sparse.issparse(self._Z) else "dense"
        return f"<{len(self)} {kind} samples in {self._Z.shape[1]} dimensions>"

    @property
    def stored(self):
        """How many numbers a pass over all samples reads."""
        return self._Z.nnz if sparse.issparse(self._Z) else self._Z.size

    @property
    def norms(self):
        """Upper bounds of ``||z_i||``, shape (n,); computed once."""
        if self._norms is None:
            Z = self._Z
            if sparse.issparse(Z):
                square = np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
            else:
                square = np.einsum("ij,ij->i", Z, Z)
            self._norms = np.sqrt(square) * (1.0 + gamma(Z.shape[1] + 4)) + 1e-160
            for i in np.flatnonzero(~(self._norms < 1e140) | (self._norms < 1e-140)):
                row = Z[[i]].toarray().ravel() if sparse.issparse(Z) else Z[i]
                self._norms[i] = norm_upper(row)
        return self._norms

    def inner_products(self, x):
        """Return all margins at once; chunks are slices."""
        return InnerProducts.of(*self._margins(x))

    def margins(self, x):
        """Return ``<z_i, x>`` for every sample, shape (n,)."""
        return np.asarray(self._Z @ self.cone.check(x))

    def loss_sums(self, x, loss, alpha=None):
        """Return sums over all samples; one product with the data and one with its transpose."""
        return margin_sums(self, *self._margins(x), loss, alpha)

    def _margins(self, x):
        """Return margins, and bounds of their errors."""
        relative = gamma(self._Z.shape[1] + 4)
        return np.asarray(self._Z @ x), self.norms * upper(relative * norm_upper(x), 4) + 1e-300

    def weighted_sum(self, weights):
        """Return ``(sum_i w_i weights_i z_i, error bound)``."""
        weights = np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            weights = self.weights * weights
        scale = float(np.abs(weights) @ self.norms)
        if self._transposed is None:
            self._transposed = self._Z.T
        return np.asarray(self._transposed @ weights), upper(gamma(len(self) + 4) * scale, len(self) + 4)

    def elements(self, numbers):
        """Return ``(z, errors)``: the samples of those numbers as dense rows, shape (B, d); they are exact, errors are 0."""
        rows = self._Z[numbers]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return rows, np.zeros(rows.shape[0])

    def rows(self, numbers):
        """Return the samples of those numbers as rows, shape (B, d), dense or CSR as the data are."""
        return self._Z[numbers]

    def gram(self, numbers):
        """Return the inner products of the samples of those numbers, shape (B, B)."""
        rows = self._Z[numbers]
        product = rows @ rows.T
        return product.toarray() if sparse.issparse(product) else product

    def sweep(self, alpha, H, lam, loss, tolerance, epochs, state, shrinking=True):
        """Improve a dual point coordinate by coordinate (see :mod:`safescreen.terms._sample_kernels`); O(n d) a sweep.

        Parameters
        ----------
        alpha : array of shape (n,)
            Dual point; overwritten.
        H : array of shape (d,)
            ``c + sum_i w_i alpha_i z_i``.
        lam : float
        loss : SmoothedHinge
        tolerance : float
            Stop when the projected slopes, in units of the margin, differ by no more.
        epochs : int
            Largest number of sweeps.
        state : int
            State of the random generator that orders them.
        shrinking : bool
            Leave out, for a while, coordinates that sit firmly at a bound.

        Returns
        -------
        H, spread, n_sweeps, state
        """
        H = np.array(H)
        fixed = (*levels(self), loss.smoothing, loss.cap, lam, tolerance, epochs, state, shrinking)
        if sparse.issparse(self._Z):
            Z = self._Z
            return H, *sweep_sparse(Z.data, Z.indices, Z.indptr, self.norms, alpha, H, *fixed)
        return H, *sweep_dense(self._Z, self.norms, alpha, H, *fixed)

    def select(self, keep):
        """Return the samples of the mask `keep`; their rows are copied."""
        keep = self._check_keep(keep)
        part = Samples.__new__(Samples)
        threshold = self.threshold[keep] if np.ndim(self.threshold) else self.threshold
        part._set(self._Z[keep], self.norms[keep], threshold, None if self.weights is None else self.weights[keep])
        return part
