"""Samples of a binary classification problem: a support vector machine without an intercept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from safescreen._blocks import CsrRows, roundings, row_length, row_products, squares
from safescreen._checks import PointsLike, check_mask, check_points
from safescreen.cones import FreeSpace
from safescreen.losses import Loss
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms._sample_kernels import (
    DualObjective,
    DualSum,
    UpdateLimits,
    begin,
    sweep,
)
from safescreen.terms.base import (
    InnerProducts,
    LossSums,
    Terms,
    check_signs,
    check_weights,
    levels_of,
)

PIECE = 1e7
"""Numbers that sweeps read between two calls of `is_over`. Reading them takes some hundredths of a
second.
"""


class Samples(Terms):
    """Sample terms ``z_i = y_i x_i`` (SSS14 section II); ``<z_i, w>`` is the margin of sample i.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Labels -1 and +1; both must occur.
    weights : array of shape (n,), optional
        Positive factors of the losses, 1 if left out.

    Raises
    ------
    ValueError, TypeError
        `X` is not finite or has no row, `y` holds other values than -1 and +1 or only one of the
        two, or a weight is not positive.

    Notes
    -----
    In the notation of the papers ``C = 1/lam``, and the dual variables are ``C alpha``. There is no
    intercept. A constant column in `X` adds a penalised intercept, and
    :class:`~safescreen.FreeIntercept` adds a free one. Cost: O(n d) for all margins, or for a sum
    over all terms; with CSR data the number of stored entries takes the place of n d.

    Examples
    --------
    >>> samples = Samples([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    >>> samples.margins(np.array([1.0, 1.0])).tolist()
    [1.0, -2.0]
    """

    offers = frozenset({"singles", "elements", "sweeps", "rows"})
    costly = False

    def __init__(self, X: PointsLike, y: ArrayLike, *, weights: ArrayLike | None = None):
        X = check_points(X, allow_sparse=True)
        signs = check_signs(y, X.shape[0])
        if sparse.issparse(X):
            Z = X.copy()
            Z.data *= np.repeat(signs, np.diff(X.indptr))
        else:
            Z = X * signs[:, None]
        self._set(Z, weights=check_weights(weights, X.shape[0]))

    def _set(self, Z: Any, norms=None, threshold=1.0, weights=None):
        self._Z = Z
        self._transposed = None
        self._roundings = roundings(row_length(Z))
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
    def stored(self) -> int:
        """Number of entries that a pass over all samples reads."""
        return self._Z.nnz if sparse.issparse(self._Z) else self._Z.size

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||z_i||``, shape (n,). They are computed once."""
        if self._norms is None:
            Z = self._Z
            self._norms = np.sqrt(squares(Z)) * (1.0 + gamma(self._roundings + 4)) + 1e-160
            for i in np.flatnonzero(~(self._norms < 1e140) | (self._norms < 1e-140)):
                row = Z[[i]].toarray().ravel() if sparse.issparse(Z) else Z[i]
                self._norms[i] = norm_upper(row)
        return self._norms

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return all margins at once; a chunk of them is a slice."""
        return InnerProducts.of(*self._margins(x))

    def margins(self, x: ElementLike) -> NDArray:
        """Return ``<z_i, x>`` for every sample, shape (n,)."""
        return row_products(self._Z, self.cone.check(x))

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all samples. Cost: one product with the data, and one with their
        transpose.
        """
        return margin_sums(self, self.inner_products(x), loss, alpha)

    def _margins(self, x) -> tuple[NDArray, NDArray]:
        """Return the margins, and bounds of their errors."""
        relative = gamma(self._roundings + 4)  # entries that are not stored add an exact 0
        return row_products(self._Z, x), self.norms * upper(relative * norm_upper(x), 4) + 1e-300

    def weighted_sum(self, weights: NDArray) -> tuple[NDArray, float]:
        """Return ``(sum_i w_i weights_i z_i, error bound)``."""
        weights = np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            weights = self.weights * weights
        scale = float(np.abs(weights) @ self.norms)
        if self._transposed is None:
            self._transposed = self._Z.T
        return np.asarray(self._transposed @ weights), upper(
            gamma(len(self) + 4) * scale, len(self) + 4
        )

    def elements(self, numbers: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(z, errors)``: some samples as dense rows, shape (B, d), and their errors. The
        rows are exact, so the errors are 0.
        """
        rows = self._Z[numbers]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return rows, np.zeros(rows.shape[0])

    def rows(self, numbers: NDArray) -> NDArray | sparse.csr_array:
        """Return some samples as rows, shape (B, d), dense or CSR as the data are."""
        return self._Z[numbers]

    def gram(self, numbers: NDArray) -> NDArray:
        """Return the inner products of some samples with each other, shape (B, B)."""
        rows = self._Z[numbers]
        product = rows @ rows.T
        return product.toarray() if sparse.issparse(product) else product

    def sweep(
        self,
        alpha: NDArray,
        H: ElementLike,
        lam: float,
        loss: Loss,
        tolerance: float,
        epochs: int,
        state: int,
        shrinking: bool = True,
        goal: tuple[float, float] = (0.0, 0.0),
        is_over: Callable[[], bool] | None = None,
    ) -> tuple[NDArray, float, int, int]:
        """Improve a dual point by coordinate descent, as ``Swept.sweep`` of
        :mod:`safescreen.solvers.coordinate_descent` says.

        Cost: O(n d) for a sweep, see :mod:`safescreen.terms._sample_kernels`.
        """
        H = np.array(H)
        tau, w = map(np.array, levels(self))
        objective = DualObjective(tau=tau, w=w, smoothing=loss.smoothing, cap=loss.cap, lam=lam)
        Z = self._Z
        if sparse.issparse(Z):
            csr = CsrRows(_unsigned(Z.indptr), _unsigned(Z.indices), Z.data)
            rows = (np.empty((0, 0)), csr)
        else:
            rows = (Z, None)
        n = len(self)
        most = epochs * n
        piece = most
        if is_over is not None:
            piece = max(1, int(PIECE / (8.0 + self.stored / max(1, n))))
        fixed = (*rows, self.norms, DualSum(alpha, H), objective)
        begun = begin(n, state)
        while True:
            limits = UpdateLimits(tolerance, *goal, updates=min(begun.visits + piece, most))
            spread, is_done, visits, seed = sweep(*fixed, limits, shrinking, begun)
            if is_done or visits >= most or (is_over is not None and is_over()):
                return H, spread, min(-(-visits // max(n, 1)), epochs), seed
            begun = begun._replace(visits=visits, seed=seed)

    def select(self, keep: NDArray) -> Samples:
        """Return the samples of the mask `keep`, with a copy of their rows."""
        keep = check_mask(keep, len(self), "keep")
        selected = Samples.__new__(Samples)
        selected._set(self._Z[keep], self.norms[keep], *levels_of(self, keep))
        return selected


def _unsigned(numbers):
    """Return indices as unsigned numbers, so that compiled loops do not test their signs."""
    return numbers.view(f"u{numbers.itemsize}")
