"""Products of stored lists, for triplets of nearest neighbours."""

import numpy as np

from safescreen.products import listed_kernels as kernels
from safescreen.products import screening as screening
from safescreen.terms.neighbors import AnchorLists

SERIAL_WORK = 2_000_000
"""Below this number of operations it costs more to start threads than they gain."""


class ListedProducts:
    """The products of the :class:`AnchorLists` of some anchors; O(pairs) memory and time.

    If the points hold repeated points once, equal anchors with equal lists are computed once;
    `copies` is their number.
    """

    def __init__(self, points, anchors, lists):
        p, q = lists.sizes
        used = (p > 0) & (q > 0)  # the lists of any other anchor are empty
        self.points = points
        self.anchors = np.ascontiguousarray(anchors[used])
        same_ptr, other_ptr = (
            np.append(ptr[:-1][used], members.size) for ptr, members in lists.sides
        )
        self.lists = AnchorLists(same_ptr, lists.same, other_ptr, lists.other)
        self._merge()
        lists = self._distinct
        self._arrays = kernels.Lists(
            anchors=self._rows,
            copies=self.copies,
            same_ptr=lists.same_ptr,
            same=lists.same,
            other_ptr=lists.other_ptr,
            other=lists.other,
        )
        self.p, self.q = lists.sizes
        self.sizes = self.p * self.q * self.copies
        rows = self.p + self.q
        n_pairs = int(rows.sum())
        n_chunks = int(np.clip(n_pairs // (4 * len(points.X)), 1, 16))
        self._bounds = np.searchsorted(
            np.cumsum(rows), np.linspace(0, n_pairs, n_chunks + 1)
        ).astype(np.int64)
        self._bounds[0] = 0
        self._bounds[-1] = rows.size
        self.serial = n_pairs * (points.d + 20) < SERIAL_WORK
        # a row of Y is a sum over a row of pairs, over anchors and over chunks; X'Y has dot
        # products of length n
        self.length = points.n + self.anchors.size + int(rows.max(initial=0)) + n_chunks + 25

    def _merge(self):
        """Set the rows of distinct anchors, their numbers of copies, their lists of rows, and where
        the pairs of all anchors are in these lists.
        """
        self._rows = self.anchors
        self._distinct = self.lists
        self._where = (slice(None), slice(None))
        self.copies = np.ones(self.anchors.size, dtype=np.int64)
        if self.points.rows is None or self.anchors.size == 0:
            return
        owners = [np.repeat(np.arange(self.anchors.size), size) for size in self.lists.sizes]
        members = [self.points.rows[members] for _, members in self.lists.sides]
        orders = [np.lexsort(keys) for keys in zip(members, owners, strict=True)]
        lists = [
            np.split(row[order], ptr[1:-1])
            for row, order, (ptr, _) in zip(members, orders, self.lists.sides, strict=True)
        ]
        numbers = {}
        rows = self.points.rows[self.anchors]
        keys = (
            (row, same.tobytes(), other.tobytes())
            for row, same, other in zip(rows.tolist(), *lists, strict=True)
        )
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        first = np.unique(group, return_index=True)[1]
        self.copies = np.bincount(group)
        self._rows = rows[first]
        self._distinct = AnchorLists.of(*([side[m] for m in first] for side in lists))
        self._where = tuple(np.empty(owner.size, dtype=np.int64) for owner in owners)
        for where, owner, order, (ptr, _), (to, _) in zip(
            self._where, owners, orders, self.lists.sides, self._distinct.sides, strict=True
        ):
            where[order] = to[group[owner]] + np.arange(owner.size) - ptr[owner]

    @property
    def n_bytes(self):
        """Bytes of memory of the lists."""
        return 4 * (self.lists.same.size + self.lists.other.size)

    def part(self, numbers):
        """Return the products of some of the anchors."""
        sides = [
            [members[ptr[m] : ptr[m + 1]] for m in numbers] for ptr, members in self.lists.sides
        ]
        return ListedProducts(self.points, self.anchors[numbers], AnchorLists.of(*sides))

    def explicit(self):
        """Return the anchors and their lists."""
        return self.anchors, self.lists

    def farthest(self):
        """Return for each anchor an upper bound of ``(|x_i| + |x_j|)^2`` over its one list plus one
        over its other list.
        """
        if self.anchors.size == 0:
            return np.zeros(0)
        norms = self.points.norms
        total = 0.0
        for ptr, members in self._distinct.sides:
            total = total + (norms[self._rows] + np.maximum.reduceat(norms[members], ptr[:-1])) ** 2
        return total

    def sums(self, x, *fixed):
        """Return the adjoint at x, the scale of its error and the sums of :func:`product_sums`."""
        p = self.points
        n_chunks = self._bounds.size - 1
        Y = np.zeros((n_chunks, *p.zero_rows().shape))
        sums = np.zeros((n_chunks, 6))
        run = kernels.loss_sums.alone if self.serial else kernels.loss_sums
        run(self._rows_at(x), self._arrays, self._bounds, *fixed, Y, sums)
        for chunk_rows in Y[1:]:
            Y[0] += chunk_rows
        *sums, scale = sums.sum(axis=0).tolist()
        return p.close(Y[0]), scale, sums

    def total(self):
        """Return ``sum_t a_t`` and the scale of its error."""
        return self._gram(
            np.repeat(self.q, self.p).astype(float), np.repeat(self.p, self.q).astype(float)
        )

    def widest_margin(self, x):
        """Return ``max_t <a_t, x>``."""
        X, Z, *_ = self._rows_at(x)
        values = []
        for ptr, members in self._distinct.sides:
            values.append(np.empty(members.size))
            kernels.pair_values(X, Z, self._rows, ptr, members, values[-1])
        nearest = np.minimum.reduceat(values[0], self._distinct.same_ptr[:-1])
        return float(
            np.max(np.maximum.reduceat(values[1], self._distinct.other_ptr[:-1]) - nearest)
        )

    def screen(self, center, *fixed):
        """Return the products that are left, the sum of the linear triplets, the scale of the error
        of that sum, and the numbers of linear and of zero triplets.
        """
        lists = self._distinct
        outs = np.zeros(lists.same.size, dtype=np.bool_), np.zeros(lists.other.size, dtype=np.bool_)
        weights = np.zeros(lists.same.size), np.zeros(lists.other.size)
        counts = np.zeros((self._bounds.size - 1, 2), dtype=np.int64)
        run = screening.screen.alone if self.serial else screening.screen
        run(
            self._rows_at(center),
            self._arrays,
            self._bounds,
            *fixed,
            (*outs, *weights),
            counts,
        )
        n_L, n_R = (int(c) for c in counts.sum(axis=0))
        return (self._without(*outs) if n_L + n_R else self), *self._gram(*weights), n_L, n_R

    def _without(self, *outs):
        parts = []
        for (ptr, members), where, out in zip(self.lists.sides, self._where, outs, strict=True):
            out = out[where]
            remaining_before = np.concatenate(([0], np.cumsum(~out)))
            parts += remaining_before[ptr], members[~out]
        return ListedProducts(self.points, self.anchors, AnchorLists(*parts))

    def _rows_at(self, x):
        points = self.points
        Z = points.X * x if points.diagonal else points.X @ x
        return kernels.Rows(points.X, Z, points.norms, points.diagonal)

    def _gram(self, *weights):
        points = self.points
        Y = points.zero_rows()
        rows = kernels.Rows(points.X, points.X, points.norms, points.diagonal)
        scale = kernels.gram(rows, self._arrays, *weights, Y)
        return points.close(Y), scale
