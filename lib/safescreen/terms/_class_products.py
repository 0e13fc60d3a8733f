"""Products of lists that are not stored: an anchor's class, and everything else."""

import copy

import numpy as np

from safescreen.terms import _class_kernels as kernels
from safescreen.terms._listed_products import SERIAL_WORK
from safescreen.terms.neighbors import AnchorLists

BLOCK_BYTES = 1 << 26
"""Most memory for the distances of a block of anchors, if those are 64 anchors or more."""

KEEP_BYTES = 1 << 28
"""Most memory for the flags of pairs that are left, one byte a pair; where it is too little nothing is screened."""


class ClassProducts:
    """The products of the lists of some anchors, all points of the anchor's class and all of the others; O(n d + a block x n) memory.

    Once pairs have been screened, a byte for each pair tells which are left. With ``a_i = x_i' M x_i`` the values are
    ``a_i + a_j - 2 x_i' M x_j``: products of matrices, block by block of anchors.
    """

    def __init__(self, points, anchors, codes):
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(codes.max() + 2))
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        anchors = np.asarray(anchors)[np.argsort(place[anchors])]
        lows, highs = starts[codes[anchors]], starts[codes[anchors] + 1]
        used = (highs - lows > 1) & (highs - lows < order.size)
        self.points, self._order = points, order
        self._XT, self._norms = np.ascontiguousarray(points.X[order].T), points.norms[order]
        most = np.maximum.reduceat(self._norms, starts[:-1])
        beyond = np.array([np.delete(most, c).max(initial=0.0) for c in range(most.size)])
        codes, norms = codes[anchors], points.norms[anchors]
        self._farthest = ((norms + most[codes]) ** 2 + (norms + beyond[codes]) ** 2)[used]
        rows, lows, highs = place[anchors][used], lows[used], highs[used]
        self._set(rows, lows, highs, np.empty((rows.size, 0), dtype=np.bool_), highs - lows - 1, order.size - (highs - lows))

    def _set(self, rows, lows, highs, keep, p, q):
        self._place, self.p, self.q, n, d = (rows, lows, highs, keep), p, q, self.points.n, self.points.d
        self.anchors = np.sort(self._order[rows]).astype(np.int32)
        self.serial = rows.size * n * (d + 20) < SERIAL_WORK
        self._step = int(np.clip(BLOCK_BYTES // (8 * n), 64, 256))
        # an entry of X'W and a degree sum the anchors; the closing product is of length n
        self.length = n + rows.size + 24

    @property
    def work(self):
        """Elementary operations of an evaluation and of a screening, roughly, in what fits a nanosecond times 20."""
        n_pairs, products = int(self.p.sum() + self.q.sum()), self.anchors.size * self.points.n * self.points.d
        return 4 * products + 250 * n_pairs, 8 * products + 400 * n_pairs

    @property
    def n_bytes(self):
        """Memory of the flags of pairs that are left."""
        return self._place[-1].nbytes

    def explicit(self):
        """Return the anchors and their lists."""
        (rows, lows, highs, keep), lists = self._place, ([], [])
        for m in np.argsort(self._order[rows]):
            left = np.ones(self.points.n, dtype=np.bool_) if keep.shape[1] == 0 else keep[m].copy()
            left[rows[m]] = False
            own = np.arange(lows[m], highs[m])[left[lows[m] : highs[m]]]
            left[lows[m] : highs[m]] = False
            for side, places in zip(lists, (own, left), strict=True):
                side.append(np.sort(self._order[places]).astype(np.int32))
        return self.anchors, AnchorLists.of(*lists)

    def farthest(self):
        """Return upper bounds, an anchor, of ``(|x_i| + |x_j|)^2`` over its two lists, added."""
        return self._farthest

    def sums(self, x, tau, width, near, bits):
        """Return the adjoint at x, the scale of its error and the sums of :func:`product_sums`."""
        Y, sums = self._rows_of_weights(), np.zeros((self.anchors.size, 6))
        for part, W, place in self._values(x):
            fixed = W, place, self._norms, tau, width, near[part], bits
            if self.serial:
                kernels.sum_rows(*fixed, 0, len(W), sums[part])
            else:
                kernels.parallel_sum_rows(*fixed, sums[part])
            self._add(W, place, Y)
        *sums, scale = sums.sum(axis=0).tolist()
        return self._close(Y), scale, sums

    def total(self):
        """Return ``sum_t a_t`` and the scale of its error."""
        Y, sums = self._rows_of_weights(), np.zeros((self.anchors.size, 6))
        for part, W, place in self._values(None):
            kernels.total_rows(W, place, self._norms, sums[part])
            self._add(W, place, Y)
        return self._close(Y), float(sums[:, 5].sum())

    def widest_margin(self, x):
        """Return ``max_t <a_t, x>``."""
        return max(kernels.widest_margin(W, place) for _, W, place in self._values(x))

    def screen(self, center, radius, relative, low, high):
        """Return the products that are left, the sum of the linear triplets, the scale of its error, their number and that of zero ones."""
        p, (rows, lows, highs, _), Y = self.points, self._place, self._rows_of_weights()
        if rows.size * p.n > KEEP_BYTES:
            return self, p.cone.zeros(), 0.0, 0, 0
        left, counts, scales = np.zeros((rows.size, p.n), np.bool_), np.zeros((rows.size, 4), np.int64), np.zeros(rows.size)
        X = np.ascontiguousarray(self._XT.T)
        for part, W, place in self._values(center):
            fixed = W, place, (X, self._XT, self._norms), radius, relative, low, high, p.diagonal
            if self.serial:
                kernels.screen_rows(*fixed, 0, len(W), left[part], counts[part], scales[part])
            else:
                kernels.parallel_screen_rows(*fixed, left[part], counts[part], scales[part])
            if counts[part, 0].any():
                self._add(W, place, Y)
        n_L, n_R, *_ = counts.sum(axis=0).tolist()
        if n_L + n_R == 0:
            return self, p.cone.zeros(), 0.0, 0, 0
        used, twin = counts[:, 2] > 0, copy.copy(self)
        twin._farthest = self._farthest[used]
        twin._set(rows[used], lows[used], highs[used], left[used], counts[used, 2], counts[used, 3])
        return twin, self._close(Y), float(scales.sum()), n_L, n_R

    def _values(self, x):
        """Yield slices of the anchors with an array W of values of their pairs, not set if x is None, and their places."""
        (rows, lows, highs, keep), XT = self._place, self._XT
        W = np.empty((min(self._step, rows.size), self.points.n))
        if x is not None:
            ZT = x[:, None] * XT if self.points.diagonal else (0.5 * (x + x.T)) @ XT
            own = np.einsum("kj,kj->j", XT, ZT)
        for first in range(0, rows.size, self._step):
            part = slice(first, min(first + self._step, rows.size))
            block, here = W[: part.stop - first], rows[part]
            if x is not None:
                np.add(own[here, None], own, out=block)
                self._multiply_add(np.ascontiguousarray(-2.0 * XT[:, here].T), ZT, block)
            yield part, block, (here, lows[part], highs[part], keep[part])

    def _multiply_add(self, A, B, C):
        if self.serial:
            kernels.multiply_add(A, B, C, 0, C.shape[1])
        else:
            kernels.parallel_multiply_add(A, B, C)

    def _rows_of_weights(self):
        return np.zeros((self.points.d + 1, self.points.n))

    def _add(self, W, place, Y):
        """Add to Y the rows ``X'W`` of the weights W and, last, their column sums; row sums are 0, one of either sign a triplet."""
        A = np.ones((len(Y), len(W)))
        A[:-1] = self._XT[:, place[0]]
        self._multiply_add(A, W, Y)

    def _close(self, Y):
        """Return ``X' diag(degrees) X - X'WX - (X'WX)'`` from the rows ``X'W`` and, last, the degrees."""
        XT, products, degrees = self._XT, Y[:-1], Y[-1]
        if self.points.diagonal:
            return np.square(XT) @ degrees - 2.0 * np.einsum("kj,kj->k", products, XT)
        half = (0.5 * (XT * degrees) - products) @ XT.T
        return half + half.T
