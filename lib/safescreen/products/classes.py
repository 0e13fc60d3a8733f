"""Products of lists that are not stored: all points of the class of an anchor, and all other
points.
"""

import numpy as np

from safescreen.products import class_kernels as kernels
from safescreen.products.listed import SERIAL_WORK
from safescreen.products.sums import SlackCosts
from safescreen.terms.neighbors import AnchorLists

BLOCK_BYTES = 1 << 26
"""Largest memory for the distances of a block of anchors, unless the block has 64 anchors."""


class ClassProducts:
    """The products of the lists of some anchors, where the lists are all points of the anchor's
    class and all other points. Memory: O(n d), and one row of n numbers for each anchor of a block.

    With ``a_i = x_i' M x_i`` the value of a pair is ``a_i + a_j - 2 x_i' M x_j``. The values are
    computed by products of matrices, for one block of anchors at a time.
    """

    n_bytes = 0

    def __init__(self, points, anchors, codes):
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(codes.max() + 2))
        place = np.argsort(order)
        class_sizes = np.diff(starts)[codes[anchors]]
        self.anchors = anchors[(class_sizes > 1) & (class_sizes < codes.size)]
        classes = codes[self.anchors]
        first = starts[classes]
        last = starts[classes + 1]
        rows = place[self.anchors]
        self._place = (rows, first, last)
        n = points.n
        self.p = last - first - 1
        self.q = n - (last - first)
        self.sizes = self.p * self.q
        self.points = points
        self._order = order
        self._XT = np.ascontiguousarray(points.X[order].T)
        self._norms = points.norms[order]
        longest = np.maximum.reduceat(self._norms, starts[:-1])
        longest_of_others = np.array(
            [np.delete(longest, c).max(initial=0.0) for c in range(longest.size)]
        )
        same = self._norms[rows] + longest[classes]
        other = self._norms[rows] + longest_of_others[classes]
        self._farthest = same**2 + other**2
        self.serial = rows.size * n * (points.d + 20) < SERIAL_WORK
        self._step = int(np.clip(BLOCK_BYTES // (8 * n), 64, 256))
        # an entry of X'W, or a degree, is a sum over the anchors; the dot products of the last
        # product have length n
        self.length = n + rows.size + 24

    @property
    def lists(self):
        """The :class:`AnchorLists`. They are made at each call, in O(pairs)."""
        same = []
        other = []
        for i, low, high in zip(*self._place, strict=True):
            same.append(np.delete(self._order[low:high], i - low).astype(np.int32))
            other.append(np.sort(np.delete(self._order, slice(low, high))).astype(np.int32))
        return AnchorLists.of(same, other)

    def farthest(self):
        """Return, for each anchor i, an upper bound of ``(|x_i| + |x_j|)^2 + (|x_i| + |x_l|)^2``
        over the points j of its first list and l of its second list.
        """
        return self._farthest

    def sums(self, x, costs, near):
        """Return the adjoint at x, the scale of its error and the sums of :func:`product_sums`."""
        Y = np.zeros((self.points.d + 1, self.points.n))
        sums = np.zeros((self.anchors.size, 6))
        start = 0
        for W, place in self._values(x):
            rows = slice(start, start + len(W))
            start += len(W)
            self._run(kernels.sum_rows)(W, place, self._norms, costs, near[rows], sums[rows])
            A = np.ones((len(Y), len(W)))
            A[:-1] = self._XT[:, place[0]]
            self._run(kernels.multiply_add)(A, W, Y)
        *sums, scale = sums.sum(axis=0).tolist()
        return self._close(Y[:-1], Y[-1]), scale, sums

    def total(self):
        """Return ``sum_t a_t`` and the scale of its error."""
        return self.sums(None, SlackCosts(0.0, 0.0, 0), np.zeros(self.anchors.size))[:2]

    def widest_margin(self, x):
        """Return ``max_t <a_t, x>``."""
        widest = -np.inf
        for W, place in self._values(x):
            for row, i, low, high in zip(W, *place, strict=True):
                row[i] = np.inf
                nearest = row[low:high].min()
                row[low:high] = -np.inf
                widest = max(widest, float(row.max() - nearest))
        return widest

    def _values(self, x):
        """Yield, for each block of anchors, an array W of the values of its pairs, and the places
        of the anchors. If x is None, the values are not set.
        """
        XT = self._XT
        W = np.empty((min(self._step, self.anchors.size), self.points.n))
        if x is not None:
            ZT = x[:, None] * XT if self.points.diagonal else (0.5 * (x + x.T)) @ XT
            own = np.einsum("kj,kj->j", XT, ZT)
        for first in range(0, self.anchors.size, self._step):
            rows, lows, highs = (array[first : first + self._step] for array in self._place)
            if x is not None:
                np.add(own[rows, None], own, out=W[: rows.size])
                self._run(kernels.multiply_add)(
                    np.ascontiguousarray(-2.0 * XT[:, rows].T), ZT, W[: rows.size]
                )
            yield W[: rows.size], (rows, lows, highs)

    def _run(self, kernel):
        return kernel.alone if self.serial else kernel

    def _close(self, products, degrees):
        """Return ``X' diag(degrees) X - X'WX - (X'WX)'`` from ``X'W`` and the column sums of W. The
        entries of each row of W add up to 0, because the weights of each triplet add up to 0.
        """
        XT = self._XT
        if self.points.diagonal:
            return np.square(XT) @ degrees - 2.0 * np.einsum("kj,kj->k", products, XT)
        half = (0.5 * (XT * degrees) - products) @ XT.T
        return half + half.T
