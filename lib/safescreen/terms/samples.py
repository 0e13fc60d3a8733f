"""Samples of a binary classification problem: support vector machines without intercept."""

import numpy as np
from scipy import sparse

from safescreen._checks import check_labels, check_points, check_vector
from safescreen.cones import FreeSpace
from safescreen.rounding import gamma, norm_upper, upper
from safescreen.terms.base import LossSums, Terms, check_weights

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

    def __init__(self, X, y, *, weights=None):
        X = check_points(X, allow_sparse=True)
        y = check_labels(y, X.shape[0])
        if not np.isin(y, (-1, 1)).all():
            raise ValueError(f"y must hold -1 and +1 only, found {np.setdiff1d(y, (-1, 1))[:5].tolist()}")
        signs = y.astype(np.float64)
        Z = X * signs[:, None] if not sparse.issparse(X) else sparse.csr_array(X.multiply(signs[:, None]))
        self._set(Z, weights=check_weights(weights, X.shape[0]))

    def _set(self, Z, norms=None, threshold=1.0, weights=None):
        self._Z = Z
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
        return SampleProducts(self, x)

    def loss_sums(self, x, loss, alpha=None):
        """Return sums over all samples; one product with the data and one with its transpose."""
        margins = self._Z @ x
        tau, half = self.threshold, 0.5 * loss.smoothing
        weights = 1.0 if self.weights is None else self.weights
        slack = tau - margins
        best = loss.alpha(margins, tau)
        reach = np.minimum(loss.gamma, np.abs(slack))  # where the loss is quadratic
        delta = upper(gamma(self._length()) * norm_upper(x), 4) * self.norms + gamma(8) * (np.abs(tau) + reach)
        if loss.smoothing > 0.0:
            square = delta * delta / (2.0 * loss.smoothing)
            rounding = np.minimum(delta, square) if loss.has_linear_region else square
        else:
            rounding = np.where(np.abs(slack) <= 2.0 * delta, 2.0 * delta, 0.0)
        fenchel = upper(float((weights * rounding).sum()), len(self) + 4)
        total = float((weights * (best * (slack - half * best))).sum())
        if alpha is None:
            alpha = best
        else:
            alpha = check_vector(alpha, len(self), "alpha", low=0.0, high=loss.cap)
            apart, mean = weights * np.abs(best - alpha), half * (best + alpha)
            phi = np.maximum((best - alpha) * (slack - mean), 0.0)
            fenchel += upper(float((weights * phi).sum()), len(self) + 8)
            fenchel += upper(float((apart * (2.0 * delta + gamma(16) * (np.abs(slack) + mean))).sum()), len(self) + 8)
            fenchel += upper(float((weights * (delta if loss.smoothing == 0.0 else rounding)).sum()), len(self) + 4)
        adjoint, error = self.weighted_sum(alpha)
        weighted = weights * alpha
        return LossSums(total, adjoint, error, fenchel, float((tau * weighted).sum()), float(weighted @ alpha))

    def weighted_sum(self, weights):
        """Return ``(sum_i w_i weights_i z_i, error bound)``."""
        weights = np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            weights = self.weights * weights
        scale = float(np.abs(weights) @ self.norms)
        return np.asarray(self._Z.T @ weights), upper(gamma(len(self) + 4) * scale, len(self) + 4)

    def elements(self, numbers):
        """Return ``(z, errors)``: the samples of those numbers as dense rows, shape (B, d); they are exact, errors are 0."""
        rows = self._Z[numbers]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return rows, np.zeros(rows.shape[0])

    def select(self, keep):
        """Return the samples of the mask `keep`; their rows are copied."""
        keep = self._check_keep(keep)
        part = Samples.__new__(Samples)
        threshold = self.threshold[keep] if np.ndim(self.threshold) else self.threshold
        part._set(self._Z[keep], self.norms[keep], threshold, None if self.weights is None else self.weights[keep])
        return part

    def _length(self):
        return self._Z.shape[1] + 4


class SampleProducts:
    """Margins ``<z_i, x>`` of samples at one x."""

    def __init__(self, samples, x):
        self._values = np.asarray(samples._Z @ x)
        self._errors = samples.norms * upper(gamma(samples._length()) * norm_upper(x), 4) + 1e-300

    def chunk(self, start, stop):
        """Return ``(values, errors)`` of samples ``start:stop``."""
        return self._values[start:stop], self._errors[start:stop]
