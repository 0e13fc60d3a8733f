"""Triplets made from labels, as products of lists: sums over all of them without a list of them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from safescreen._checks import check_points, check_vector
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.rounding import gamma, norm_upper, upper
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
    y : array of shape (n,)
        Class labels.
    k : int or None
        For each anchor, the k nearest points of its class times the k nearest of the other classes; None: all of them.
    diagonal : bool
        Keep only the diagonal of ``H``: the metric is a vector of d non-negative weights (STS19 section 6.2).

    Notes
    -----
    Sums over the triplets cost O(pairs (d + log n) + n d^2) time; memory is O(pairs) for the lists (4 bytes a pair) and O(n d) for
    temporaries. What needs a number for each triplet (``norms``, ``index``, masks) is made on demand, and refused beyond 50 million.

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

    def __init__(self, X, y, k=None, *, diagonal=False):
        X = check_points(X)
        lists = labelled_lists(X, y, k)
        self._set(Points(X, diagonal=bool(diagonal)), np.arange(X.shape[0], dtype=np.int32), lists)

    def _set(self, points, anchors, lists):
        p, q = np.diff(lists.same_ptr), np.diff(lists.other_ptr)
        used = (p > 0) & (q > 0)  # the lists of any other anchor are empty
        self._points, self._anchors = points, np.ascontiguousarray(anchors[used])
        self._lists = AnchorLists(
            np.append(lists.same_ptr[:-1][used], lists.same.size),
            lists.same,
            np.append(lists.other_ptr[:-1][used], lists.other.size),
            lists.other,
        )
        self._p, self._q = p[used], q[used]
        self._offsets = np.concatenate(([0], np.cumsum(self._p * self._q)))
        self._norms = self._scales = self._XT = None
        self.cone = PSDCone(points.d) if not points.diagonal else NonNegativeCone(points.d)
        n_pairs = lists.same.size + lists.other.size
        rows = self._p + self._q
        n_chunks = int(np.clip(n_pairs // 4096, 1, max(1, min(16, 2**28 // (8 * points.X.size)))))
        ends = np.concatenate(([0], np.cumsum(rows)))
        self._bounds = np.searchsorted(ends, np.linspace(0, n_pairs, n_chunks + 1)).astype(np.int64)
        self._bounds[0], self._bounds[-1] = 0, self._anchors.size
        self._dense = 2 * n_pairs >= points.n * self._anchors.size > 0
        self._serial = n_pairs * (points.d + 20) < SERIAL_WORK
        widest = int(max(self._p.max(initial=1), self._q.max(initial=1)))
        self._bits = min(50, 58 - widest.bit_length())
        # a row of Y sums a row of pairs, once an anchor, and the chunks; X'Y is a dot product of length n
        self._length = points.n + self._anchors.size + int(rows.max(initial=0)) + n_chunks + 24

    def __len__(self):
        return int(self._offsets[-1])

    def __repr__(self):
        kind = "diagonal" if self._points.diagonal else "full"
        size = f"{self._points.n} points in {self._points.d} dimensions"
        return f"<{len(self)} triplets, as products, of {size}, {kind} metric>"

    # ------------------------------------------------------------------ sums, never a list

    def loss_sums(self, x, loss, alpha=None):
        """Return sums over all triplets; O(pairs (d + log n) + n d^2), with `alpha` given O(T) more."""
        errors = self._margin_errors(x, loss.smoothing)
        if alpha is not None:
            return self._sums_of(x, loss, alpha, errors)
        near = 2.0 * errors if loss.smoothing == 0.0 else np.zeros_like(errors)
        adjoint, error, sums = self._run(x, loss.smoothing, near)
        fenchel = sums[3] if loss.smoothing == 0.0 else self._conjugate_slack(errors, loss.smoothing)
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(sums[0], adjoint, error, upper(fenchel, self._length), alpha_sum, sums[2])

    def hinge_sums(self, x, width):
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
        p, factors = self._points, self._factors(x)
        shape = (p.d + 1, p.n) if self._dense else self._rows_shape()
        Y, sums = np.zeros((self._bounds.size - 1, *shape)), np.zeros((self._bounds.size - 1, 6))
        points, fixed = (*factors, p.norms), (float(self.threshold), gamma_, near, self._bits, p.diagonal)
        if self._serial:
            for c, (first, last) in enumerate(pairwise(self._bounds)):
                kernels.chunk_loss_sums(points, self._arrays, first, last, *fixed, Y[c], sums[c])
        else:
            kernels.parallel_loss_sums(points, self._arrays, self._bounds, *fixed, Y, sums)
        sums = [float(v) for v in sums.sum(axis=0)]
        adjoint = self._close_dense(_add(Y)) if self._dense else self._close(_add(Y))
        return adjoint, upper(gamma(self._length) * sums[5], self._length), sums

    def total(self):
        """Return ``(sum_t a_t, bound of its rounding error)``; O(pairs d + n d^2)."""
        return self._gram(np.repeat(self._q, self._p).astype(float), np.repeat(self._p, self._q).astype(float))

    def max_inner_product(self, x):
        """Return ``max_t <a_t, x>``, ``-inf`` if there are no triplets; O(pairs d)."""
        if len(self) == 0:
            return -np.inf
        same, other = self._pair_values(x)
        nearest = np.minimum.reduceat(same, self._lists.same_ptr[:-1])
        return float(np.max(np.maximum.reduceat(other, self._lists.other_ptr[:-1]) - nearest))

    def screen_blocks(self, ball, loss):
        """Screen pairs whose triplets are certain against every pair left in the anchor's other list; no triplet is visited.

        Parameters
        ----------
        ball : Sphere
            Contains the optimum.
        loss : SmoothedHinge

        Returns
        -------
        BlockScreening
            What is left is a product of lists again; nothing is screened by a radius that is NaN, infinite or negative.

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
        p, lists = self._points, self._lists
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
        lists, parts = self._lists, []
        for ptr, members, out in ((lists.same_ptr, lists.same, same_out), (lists.other_ptr, lists.other, other_out)):
            left = np.concatenate(([0], np.cumsum(~out)))
            parts += left[ptr], members[~out]
        part = ProductTriplets.__new__(ProductTriplets)
        part._set(self._points, self._anchors, AnchorLists(*parts))
        part.threshold = self.threshold
        return part

    # ------------------------------------------------------------------ what needs a number for each triplet

    def to_triplets(self):
        """Return the same terms as explicit :class:`Triplets`; ValueError beyond 50 million."""
        self._check_listable("listing them")
        lists, points = self._lists, self._points
        same, other = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        fill_products(lists.same_ptr, lists.other_ptr, same, other)
        tables = []
        for ptr, members in ((lists.same_ptr, lists.same), (lists.other_ptr, lists.other)):
            tables.append(PairTable(points, np.column_stack((np.repeat(self._anchors, np.diff(ptr)), members))))
        triplets = Triplets.__new__(Triplets)
        triplets._set(points, *tables, same, other)
        triplets.threshold = self.threshold
        return triplets

    @property
    def index(self):
        """Triplets as an int32 array of shape (T, 3): anchor, same, other; ValueError beyond 50 million."""
        return self.to_triplets().index

    @property
    def norms(self):
        """Upper bounds of ``||H_t||``, shape (T,); computed once, O(T d), ValueError beyond 50 million."""
        if self._norms is None:
            self._norms = self.to_triplets().norms
        return self._norms

    def select(self, keep):
        """Return the triplets of the mask `keep`, explicit unless all are kept; ValueError beyond 50 million."""
        keep = self._check_keep(keep)
        return self if keep.all() else self.to_triplets().select(keep)

    def inner_products(self, x):
        """Return the pair values of x, from which chunks of margins are one subtraction a triplet; O(pairs d)."""
        values, p = self._pair_values(x), self._points
        relative = upper(gamma(2 * p.d + 10) * norm_upper(x), 4)

        def chunk(start, stop):
            found, first = (np.empty(stop - start), np.empty(stop - start)), int(np.searchsorted(self._offsets, start, side="right")) - 1
            kernels.chunk_products(*self._arrays, self._offsets, p.norms, *values, relative, first, start, *found)
            return found

        return InnerProducts(chunk)

    def weighted_sum(self, weights):
        """Return ``(sum_t weights_t H_t, error bound)``; O(T + pairs d + n d^2)."""
        shapes = self._lists.same.size, self._lists.other.size
        same, other, same_sizes, other_sizes = (np.zeros(size) for size in shapes * 2)
        lists = self._lists.same_ptr, self._lists.other_ptr
        kernels.product_weights(*lists, self._offsets, weights, same, other, same_sizes, other_sizes)
        adjoint, error = self._gram(same, other)
        count = int(max(self._p.max(initial=0), self._q.max(initial=0)))
        return adjoint, upper(error + gamma(count + self._length) * self._weight_scale(same_sizes, other_sizes), 4)

    def _sums_of(self, x, loss, alpha, errors):
        alpha = check_vector(alpha, len(self), "alpha", low=0.0, high=1.0)
        sums = np.zeros(6)
        tau = float(self.threshold)
        lists = self._lists.same_ptr, self._lists.other_ptr, self._offsets
        kernels.product_fenchel(*lists, *self._pair_values(x), tau, loss.smoothing, alpha, 2.0 * errors, sums)
        adjoint, error = self.weighted_sum(alpha)
        fenchel = float(np.sum(self._p * self._q * errors))
        if loss.smoothing > 0.0:
            fenchel = self._conjugate_slack(errors, loss.smoothing)
        fenchel = upper(fenchel + float(sums[3] + sums[4] + gamma(16) * sums[5]), len(self) + self._length)
        return LossSums(float(sums[0]), adjoint, error, fenchel, tau * float(sums[1]), float(sums[2]))

    def _check_listable(self, what):
        if len(self) > EXPLICIT_LIMIT:
            raise ValueError(f"{len(self)} triplets are too many for {what}, at most {EXPLICIT_LIMIT} are; screen blocks first")

    # ------------------------------------------------------------------ pieces

    @property
    def _arrays(self):
        lists = self._lists
        return self._anchors, lists.same_ptr, lists.same, lists.other_ptr, lists.other

    def _transformed(self, x):
        return self._points.X * x if self._points.diagonal else self._points.X @ x

    def _factors(self, x):
        """Return X, its image under x, and both transposed (without columns while lists are short)."""
        X, Z = self._points.X, self._transformed(x)
        if not self._dense:
            return X, Z, np.empty((X.shape[1], 0)), np.empty((X.shape[1], 0))
        if self._XT is None:
            self._XT = np.ascontiguousarray(X.T)
        return X, Z, self._XT, np.ascontiguousarray(Z.T)

    def _pair_values(self, x):
        Z, lists = self._transformed(x), self._lists
        same, other = np.empty(lists.same.size), np.empty(lists.other.size)
        kernels.pair_values(self._points.X, Z, self._anchors, lists.same_ptr, lists.same, same)
        kernels.pair_values(self._points.X, Z, self._anchors, lists.other_ptr, lists.other, other)
        return same, other

    def _farthest(self):
        """Upper bounds, an anchor, of ``(|x_i| + |x_j|)^2`` over its two lists, added."""
        if len(self) == 0:
            return np.zeros(0)
        norms, lists, total = self._points.norms, self._lists, 0.0
        for ptr, members in ((lists.same_ptr, lists.same), (lists.other_ptr, lists.other)):
            total = total + (norms[self._anchors] + np.maximum.reduceat(norms[members], ptr[:-1])) ** 2
        return total

    def _margin_errors(self, x, gamma_):
        """Bounds, an anchor, of the distance between a margin at the exact x and the one on the grid.

        Pair values are off by ``gamma_{2d+10} |M| s^2``, the cone by ``32 d u |M|`` (see :class:`PairTable`); an anchor's entries,
        threshold and gamma span at most ``2 |M| s^2 + tau + gamma``, of which the grid rounds away ``2**(2 - bits)`` at most.
        """
        if self._scales is None:
            self._scales = self._farthest()
        grid = 2.0 ** (2 - self._bits)
        relative = (gamma(34 * self._points.d + 10) + 4.0 * grid) * norm_upper(x)
        absolute = (gamma(8) + 2.0 * grid) * (gamma_ + abs(float(self.threshold)))
        return (relative * self._scales + absolute) * (1.0 + 16.0 * grid)

    def _conjugate_slack(self, errors, gamma_):
        # loss(m) + loss*(-a) + a m when m is off by at most e: Lipschitz, and quadratic for gamma > 0
        return float(np.sum(self._p * self._q * np.minimum(errors, errors * errors / (2.0 * gamma_))))

    def _rows_shape(self):
        return (1, self._points.d) if self._points.diagonal else self._points.X.shape

    def _close(self, rows):
        """Return the element of Laplacian rows ``sum_j w_ij (x_i - x_j)``; for a diagonal metric they are the element."""
        if self._points.diagonal:
            return rows[0]
        adjoint = self._points.X.T @ rows
        return 0.5 * (adjoint + adjoint.T)

    def _close_dense(self, rows):
        """Return ``X' diag(degrees) X - X'WX - (X'WX)'`` from the rows ``X'W`` and, last, the degrees of the weights W."""
        X, products, degrees = self._points.X, rows[:-1], rows[-1]
        if self._points.diagonal:
            return np.square(self._XT) @ degrees - 2.0 * np.einsum("kj,jk->k", products, X)
        half = (0.5 * (self._XT * degrees) - products) @ X
        return half + half.T

    def _gram(self, same_weights, other_weights):
        Y, scale = np.zeros((1, *self._rows_shape())), np.zeros(1)
        points = self._points
        weights = same_weights, other_weights
        kernels.gram(points.X, points.norms, *self._arrays, *weights, points.diagonal, Y[0], scale)
        return self._close(Y[0]), upper(gamma(self._length) * float(scale[0]), self._length)

    def _weight_scale(self, same_weights, other_weights):
        scale, norms, lists = 0.0, self._points.norms, self._lists
        for ptr, members, w in ((lists.same_ptr, lists.same, same_weights), (lists.other_ptr, lists.other, other_weights)):
            s = norms[np.repeat(self._anchors, np.diff(ptr))] + norms[members]
            scale += float(np.dot(w, s * s))
        return upper(scale, lists.same.size + lists.other.size)


class BlockScreening(NamedTuple):
    """What :meth:`ProductTriplets.screen_blocks` found.

    Attributes
    ----------
    remaining : ProductTriplets
        The undecided triplets, as products of shorter lists; none are left when its length is 0.
    total : element
        Sum of the triplets certified to be linear; `error` bounds its rounding error.
    error : float
    n_L, n_R : int
        Number of triplets certified to be in the linear and in the zero region.
    """

    remaining: ProductTriplets
    total: np.ndarray
    error: float
    n_L: int
    n_R: int


def _add(parts):
    """Return the sum of the parts, in order (in place)."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
