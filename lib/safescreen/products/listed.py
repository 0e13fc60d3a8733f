"""Products of stored lists, for triplets of nearest neighbours."""

import numpy as np

from safescreen.products import listed_kernels as kernels
from safescreen.terms.neighbors import AnchorLists

SERIAL_WORK = 2_000_000
"""Below this number of operations, starting threads costs more than they save."""


class ListedProducts:
    """The products of the :class:`AnchorLists` of some anchors. Memory and time: O(pairs).

    If the points are merged, equal anchors with equal lists are computed once, and `copies` is the
    number of such anchors.
    """

    def __init__(self, points, anchors, lists):
        p, q = lists.sizes
        used = (p > 0) & (q > 0)  # the lists of the other anchors are empty
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
        # a row of Y is a sum over the pairs of a point, over anchors and over chunks; X'Y has dot
        # products of length n
        self.length = points.n + self.anchors.size + int(rows.max(initial=0)) + n_chunks + 25

    def _merge(self):
        """Set the rows of the distinct anchors, their lists as rows, and their numbers of
        copies.
        """
        self._rows = self.anchors
        self._distinct = self.lists
        self.copies = np.ones(self.anchors.size, dtype=np.int64)
        rows = self.points.rows
        if rows is None or self.anchors.size == 0:
            return
        same = _sorted_rows(rows, self.lists.same_ptr, self.lists.same)
        other = _sorted_rows(rows, self.lists.other_ptr, self.lists.other)
        keys = [
            (row, of_same.tobytes(), of_other.tobytes())
            for row, of_same, of_other in zip(rows[self.anchors].tolist(), same, other, strict=True)
        ]
        numbers = {}
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        first = np.unique(group, return_index=True)[1]
        self.copies = np.bincount(group)
        self._rows = rows[self.anchors[first]]
        self._distinct = AnchorLists.of([same[m] for m in first], [other[m] for m in first])

    @property
    def n_bytes(self):
        """Number of bytes of the lists."""
        return 4 * (self.lists.same.size + self.lists.other.size)

    def farthest(self):
        """Return, for each anchor i, an upper bound of ``(|x_i| + |x_j|)^2 + (|x_i| + |x_l|)^2``
        over the points j of its first list and l of its second list.
        """
        if self.anchors.size == 0:
            return np.zeros(0)
        norms = self.points.norms
        total = 0.0
        for ptr, members in self._distinct.sides:
            total = total + (norms[self._rows] + np.maximum.reduceat(norms[members], ptr[:-1])) ** 2
        return total

    def sums(self, x, costs, near):
        """Return the adjoint at x, the scale of its error and the sums of :func:`product_sums`."""
        p = self.points
        n_chunks = self._bounds.size - 1
        Y = np.zeros((n_chunks, *p.zero_rows().shape))
        sums = np.zeros((n_chunks, 6))
        run = kernels.loss_sums.alone if self.serial else kernels.loss_sums
        run(self._rows_at(x), self._arrays, self._bounds, costs, near, Y, sums)
        for chunk_rows in Y[1:]:
            Y[0] += chunk_rows
        *sums, scale = sums.sum(axis=0).tolist()
        return p.close(Y[0]), scale, sums

    def total(self):
        """Return ``sum_t a_t`` and the scale of its error."""
        points = self.points
        same_weights = np.repeat(self.q, self.p).astype(float)
        other_weights = np.repeat(self.p, self.q).astype(float)
        rows = kernels.Rows(points.X, points.X, points.norms, points.diagonal)
        Y = points.zero_rows()
        scale = kernels.gram(rows, self._arrays, same_weights, other_weights, Y)
        return points.close(Y), scale

    def widest_margin(self, x):
        """Return ``max_t <a_t, x>``."""
        lists = self._distinct
        rows = self._rows_at(x)
        same = self._values(rows, lists.same_ptr, lists.same)
        other = self._values(rows, lists.other_ptr, lists.other)
        nearest = np.minimum.reduceat(same, lists.same_ptr[:-1])
        farthest = np.maximum.reduceat(other, lists.other_ptr[:-1])
        return float(np.max(farthest - nearest))

    def _values(self, rows, ptr, members):
        """Return the values of the pairs (anchor, member of its list) of all anchors."""
        values = np.empty(members.size)
        kernels.pair_values(rows.X, rows.Z, self._rows, ptr, members, values)
        return values

    def _rows_at(self, x):
        points = self.points
        Z = points.X * x if points.diagonal else points.X @ x
        return kernels.Rows(points.X, Z, points.norms, points.diagonal)


def _sorted_rows(rows, ptr, members):
    """Return, for each list, the sorted rows of its members."""
    owners = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    of_members = rows[members]
    return np.split(of_members[np.lexsort((of_members, owners))], ptr[1:-1])
