"""Triplets made from labels, as products of lists: sums over all of them without a list of them."""

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_mask, check_points
from safescreen.losses import Loss
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms import _product_kernels as kernels
from safescreen.terms import _product_screening as screening
from safescreen.terms._triplet_kernels import fill_products
from safescreen.terms.base import InnerProducts, LossSums, Terms
from safescreen.terms.neighbors import AnchorLists
from safescreen.terms.pairs import PairTable, Points
from safescreen.terms.triplets import Triplets, labelled_lists

__all__ = ["BlockScreening", "ProductTriplets"]

EXPLICIT_LIMIT = 50_000_000
"""Most triplets that are ever listed one by one."""

SERIAL_WORK = 2_000_000
"""Below this many operations starting threads costs more than it gains."""


class ProductTriplets(Terms):
    """The triplets of ``Triplets.from_labels(X, y, k)``, same sums and order, kept as the products J_i x L_i they are.

    Parameters
    ----------
    X : array of shape (n, d)
    y, k, diagonal
        As for :meth:`Triplets.from_labels`.

    Attributes
    ----------
    points : Points
    anchors : int32 array
        Those that have triplets.
    lists : AnchorLists
        Their lists.

    Notes
    -----
    Sums over the triplets cost O(pairs (d + log n) + n d^2) time; memory is O(pairs) for the lists (4 bytes a pair) and O(n d) for
    temporaries. What needs a number for each triplet (``norms``, ``index``, margins, masks, a given alpha) is made from a list of them, on
    demand, and refused beyond 50 million.

    Rounding: an anchor's margins are rounded to a grid of 2**-49 of their range (coarser for lists beyond 255 points), which is
    part of the bound of their error; sums over the grid are exact, so the pair weights are those of dual variables in [0, 1] up to
    three roundings. With ``s = |x_i| + |x_j|`` (centred points) the error of the adjoint is at most ``gamma_m sum w_ij s^2``, `m` the
    length of the longest sum. Results do not depend on the number of threads.

    Examples
    --------
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [0, 0, 1]
    >>> triplets = ProductTriplets(X, y)
    >>> triplets.index.tolist()
    [[0, 1, 2], [1, 0, 2]]
    >>> triplets.margins(np.eye(2)).tolist()
    [3.0, 4.0]
    """

    offers = frozenset({"blocks"})

    def __init__(self, X: ArrayLike, y: ArrayLike, k: int | None = None, *, diagonal: bool = False):
        X = check_points(X)
        lists = labelled_lists(X, y, k)
        self._set(Points(X, diagonal=bool(diagonal)), np.arange(X.shape[0], dtype=np.int32), lists)

    @classmethod
    def of(cls, points: Points, anchors: NDArray, lists: AnchorLists) -> Self:
        """Return the triplets of the lists of any anchors; nothing is checked."""
        self = cls.__new__(cls)
        self._set(points, anchors, lists)
        return self

    def _set(self, points, anchors, lists):
        p, q = np.diff(lists.same_ptr), np.diff(lists.other_ptr)
        used = (p > 0) & (q > 0)  # the lists of any other anchor are empty
        self.points, self.anchors = points, np.ascontiguousarray(anchors[used])
        same_ptr, other_ptr = (np.append(ptr[:-1][used], members.size) for ptr, members in lists.sides)
        self.lists = AnchorLists(same_ptr, lists.same, other_ptr, lists.other)
        self._p, self._q = p[used], q[used]
        self._size = int(np.dot(self._p, self._q))
        self._norms = self._scales = self._XT = None
        self.cone = points.cone
        n_pairs = lists.same.size + lists.other.size
        rows = self._p + self._q
        n_chunks = int(np.clip(n_pairs // 4096, 1, max(1, min(16, 2**28 // (8 * points.X.size)))))
        ends = np.concatenate(([0], np.cumsum(rows)))
        self._bounds = np.searchsorted(ends, np.linspace(0, n_pairs, n_chunks + 1)).astype(np.int64)
        self._bounds[0], self._bounds[-1] = 0, self.anchors.size
        self._dense = 2 * n_pairs >= points.n * self.anchors.size > 0
        self._serial = n_pairs * (points.d + 20) < SERIAL_WORK
        widest = int(max(self._p.max(initial=1), self._q.max(initial=1)))
        self._bits = min(50, 58 - widest.bit_length())
        # a row of Y sums a row of pairs, once an anchor, and the chunks; X'Y is a dot product of length n
        self._length = points.n + self.anchors.size + int(rows.max(initial=0)) + n_chunks + 24

    def __len__(self):
        return self._size

    def __repr__(self):
        return f"<{len(self)} triplets, as products, of {self.points}>"

    # ------------------------------------------------------------------ sums, never a list

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all triplets; O(pairs (d + log n) + n d^2), with `alpha` given O(T) more, and ValueError beyond 50 million."""
        if alpha is not None:
            return self.to_triplets().loss_sums(x, loss, alpha)
        errors = self._margin_errors(x, loss.smoothing)
        near = 2.0 * errors if loss.smoothing == 0.0 else np.zeros_like(errors)
        adjoint, error, sums = self._run(x, loss.smoothing, near)
        fenchel = sums[3] if loss.smoothing == 0.0 else self._fenchel_bound(errors, loss.smoothing)
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(sums[0], adjoint, error, upper(fenchel, self._length), alpha_sum, sums[2])

    def hinge_sums(self, x: ElementLike, width: float) -> LossSums:
        """Return the :class:`LossSums` of the hinge for the dual point of the smoothed hinge of that width > 0; cost as one call.

        Where ``0 < slack < width``, ``alpha = slack/width`` and ``loss(m) + loss*(-alpha) + alpha m = slack - slack^2/width``;
        elsewhere it is 0, or at most the error of the margin. Everything is a sum of non-negative numbers, nothing cancels.
        """
        near = 2.0 * self._margin_errors(x, width)
        adjoint, error, sums = self._run(x, width, near)
        fenchel = sums[4] + sums[3] + gamma(16) * width * sums[1]
        if near.max(initial=0.0) >= width:
            fenchel += float(np.sum(self._p * self._q * near))
        loss = sums[0] + 0.5 * width * sums[2] + sums[4]
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(loss, adjoint, error, upper(fenchel, self._length), alpha_sum, sums[2])

    def _run(self, x, gamma_, near):
        p, factors = self.points, self._factors(x)
        n_chunks, shape = self._bounds.size - 1, (p.d + 1, p.n) if self._dense else p.zero_rows().shape
        Y, sums = np.zeros((n_chunks, *shape)), np.zeros((n_chunks, 6))
        points, fixed = (*factors, p.norms), (float(self.threshold), gamma_, near, self._bits, p.diagonal)
        if self._serial:
            for c, (first, last) in enumerate(pairwise(self._bounds)):
                kernels.chunk_loss_sums(points, self._arrays, first, last, *fixed, Y[c], sums[c])
        else:
            kernels.parallel_loss_sums(points, self._arrays, self._bounds, *fixed, Y, sums)
        sums = [float(v) for v in sums.sum(axis=0)]
        adjoint = self._close_dense(_add(Y)) if self._dense else p.close(_add(Y))
        return adjoint, upper(gamma(self._length) * sums[5], self._length), sums

    def total(self) -> tuple[NDArray, float]:
        """Return ``(sum_t a_t, bound of its rounding error)``; O(pairs d + n d^2)."""
        return self._gram(np.repeat(self._q, self._p).astype(float), np.repeat(self._p, self._q).astype(float))

    def max_inner_product(self, x: ElementLike) -> float:
        """Return ``max_t <a_t, x>``, ``-inf`` if there are no triplets; O(pairs d)."""
        if len(self) == 0:
            return -np.inf
        same, other = self._pair_values(x)
        nearest = np.minimum.reduceat(same, self.lists.same_ptr[:-1])
        return float(np.max(np.maximum.reduceat(other, self.lists.other_ptr[:-1]) - nearest))

    def screen_blocks(self, ball: Any, loss: Loss) -> "BlockScreening":
        """Screen pairs whose triplets are certain against every pair left in the anchor's other list; no triplet is visited.

        What is left are products of lists again; nothing is screened by a radius that is NaN, infinite or negative.

        Notes
        -----
        With ``||H_ijl|| <= |x_i - x_l|^2 + |x_i - x_j|^2`` the sphere rule (STS19 equation 4.1) is implied by intervals of the two
        distances: it separates. A pair is compared with the extreme ends of the other list, so a call costs O(pairs d).
        Comparisons are strict, and the rounding errors of distances, sizes and differences widen the intervals.
        """
        center = self.cone.check(ball.center, "ball.center")
        radius = float(ball.radius)
        if len(self) == 0 or not (0.0 <= radius < np.inf):
            return BlockScreening(self, self.cone.zeros(), 0.0, 0, 0)
        p, lists = self.points, self.lists
        outs = np.zeros(lists.same.size, dtype=np.bool_), np.zeros(lists.other.size, dtype=np.bool_)
        weights = np.zeros(lists.same.size), np.zeros(lists.other.size)
        counts = np.zeros((self._bounds.size - 1, 2), dtype=np.int64)
        relative = upper(gamma(2 * p.d + 10) * norm_upper(center), 4)
        tau = float(self.threshold)
        limits = np.nextafter(tau - loss.smoothing, -np.inf), tau
        points, fixed = (*self._factors(center), p.norms), (radius, relative, *limits, p.diagonal, (*outs, *weights))
        if self._serial:
            for c, (first, last) in enumerate(pairwise(self._bounds)):
                screening.screen_chunk(points, self._arrays, first, last, *fixed, counts[c])
        else:
            screening.parallel_screen(points, self._arrays, self._bounds, *fixed, counts)
        n_L, n_R = (int(c) for c in counts.sum(axis=0))
        if n_L + n_R == 0:
            return BlockScreening(self, self.cone.zeros(), 0.0, 0, 0)
        total, error = self._gram(*weights) if n_L else (self.cone.zeros(), 0.0)
        return BlockScreening(self._without(*outs), total, error, n_L, n_R)

    def _without(self, same_out, other_out):
        parts = []
        for (ptr, members), out in zip(self.lists.sides, (same_out, other_out), strict=True):
            left = np.concatenate(([0], np.cumsum(~out)))
            parts += left[ptr], members[~out]
        part = ProductTriplets.of(self.points, self.anchors, AnchorLists(*parts))
        part.threshold = self.threshold
        return part

    # ------------------------------------------------------------------ what needs a number for each triplet

    def to_triplets(self) -> Triplets:
        """Return the same terms as explicit :class:`Triplets`; ValueError beyond 50 million."""
        if len(self) > EXPLICIT_LIMIT:
            raise ValueError(f"{len(self)} triplets are too many for listing them, at most {EXPLICIT_LIMIT} are; screen blocks first")
        same, other = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        fill_products(self.lists.same_ptr, self.lists.other_ptr, same, other)
        same_pairs, other_pairs = (PairTable(self.points, pairs) for pairs in self.lists.pairs(self.anchors))
        triplets = Triplets.of(self.points, same_pairs, other_pairs, same, other)
        triplets.threshold = self.threshold
        return triplets

    @property
    def index(self) -> NDArray:
        """Triplets as an int32 array of shape (T, 3): anchor, same, other; ValueError beyond 50 million."""
        return self.to_triplets().index

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||H_t||``, shape (T,); computed once, O(T d), ValueError beyond 50 million."""
        if self._norms is None:
            self._norms = self.to_triplets().norms
        return self._norms

    def select(self, keep: NDArray) -> Terms:
        """Return the triplets of the mask `keep`, explicit unless all are kept; ValueError beyond 50 million."""
        keep = check_mask(keep, len(self), "keep")
        return self if keep.all() else self.to_triplets().select(keep)

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the inner products of the listed triplets with x; ValueError beyond 50 million."""
        return self.to_triplets().inner_products(x)

    def weighted_sum(self, weights: NDArray) -> tuple[NDArray, float]:
        """Return ``(sum_t weights_t H_t, error bound)``; O(T + pairs d + n d^2), ValueError beyond 50 million."""
        return self.to_triplets().weighted_sum(weights)

    # ------------------------------------------------------------------ pieces

    @property
    def _arrays(self):
        lists = self.lists
        return self.anchors, lists.same_ptr, lists.same, lists.other_ptr, lists.other

    def _transformed(self, x):
        return self.points.X * x if self.points.diagonal else self.points.X @ x

    def _factors(self, x):
        """Return X, its image under x, and both transposed (without columns while lists are short)."""
        X, Z = self.points.X, self._transformed(x)
        if not self._dense:
            return X, Z, np.empty((X.shape[1], 0)), np.empty((X.shape[1], 0))
        if self._XT is None:
            self._XT = np.ascontiguousarray(X.T)
        return X, Z, self._XT, np.ascontiguousarray(Z.T)

    def _pair_values(self, x):
        Z, values = self._transformed(x), []
        for ptr, members in self.lists.sides:
            values.append(np.empty(members.size))
            kernels.pair_values(self.points.X, Z, self.anchors, ptr, members, values[-1])
        return values

    def _farthest(self):
        """Upper bounds, an anchor, of ``(|x_i| + |x_j|)^2`` over its two lists, added."""
        if len(self) == 0:
            return np.zeros(0)
        norms, total = self.points.norms, 0.0
        for ptr, members in self.lists.sides:
            total = total + (norms[self.anchors] + np.maximum.reduceat(norms[members], ptr[:-1])) ** 2
        return total

    def _margin_errors(self, x, gamma_):
        """Bounds, an anchor, of the distance between a margin at the exact x and the one on the grid.

        Pair values are off by ``gamma_{2d+10} |M| s^2``, the cone by ``32 d u |M|`` (see :class:`PairTable`); an anchor's entries,
        threshold and gamma span at most ``2 |M| s^2 + tau + gamma``, of which the grid rounds away ``2**(2 - bits)`` at most.
        """
        if self._scales is None:
            self._scales = self._farthest()
        grid = 2.0 ** (2 - self._bits)
        relative = (gamma(34 * self.points.d + 10) + 4.0 * grid) * norm_upper(x)
        absolute = (gamma(8) + 2.0 * grid) * (gamma_ + abs(float(self.threshold)))
        return (relative * self._scales + absolute) * (1.0 + 16.0 * grid)

    def _fenchel_bound(self, errors, gamma_):
        # loss(m) + loss*(-a) + a m when m is off by at most e: Lipschitz, and quadratic for gamma > 0
        return float(np.sum(self._p * self._q * np.minimum(errors, errors * errors / (2.0 * gamma_))))

    def _close_dense(self, rows):
        """Return ``X' diag(degrees) X - X'WX - (X'WX)'`` from the rows ``X'W`` and, last, the degrees of the weights W."""
        X, products, degrees = self.points.X, rows[:-1], rows[-1]
        if self.points.diagonal:
            return np.square(self._XT) @ degrees - 2.0 * np.einsum("kj,jk->k", products, X)
        half = (0.5 * (self._XT * degrees) - products) @ X
        return half + half.T

    def _gram(self, same_weights, other_weights):
        points, Y = self.points, self.points.zero_rows()
        scale = kernels.gram(points.X, points.norms, *self._arrays, same_weights, other_weights, points.diagonal, Y)
        return points.close(Y), upper(gamma(self._length) * scale, self._length)


class BlockScreening(NamedTuple):
    """What :meth:`ProductTriplets.screen_blocks` found.

    The undecided triplets that are `remaining`, as products of shorter lists (none when its length is 0); the `total` of those certified
    to be linear, `error` being a bound of its rounding error; and how many are certain to be in the linear and in the zero region.
    """

    remaining: Terms
    total: NDArray
    error: float
    n_L: int
    n_R: int


def _add(parts):
    """Return the sum of the parts, in order (in place)."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
