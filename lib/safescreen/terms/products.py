"""Triplets made from labels, as products of lists: sums over all of them without a list of them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_mask, check_points
from safescreen.losses import Loss
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms._class_products import ClassProducts
from safescreen.terms._listed_products import ListedProducts
from safescreen.terms._triplet_kernels import fill_products
from safescreen.terms.base import InnerProducts, LossSums, Terms
from safescreen.terms.neighbors import AnchorLists
from safescreen.terms.pair_system import PairSystem
from safescreen.terms.pairs import PairTable, Points
from safescreen.terms.triplets import Triplets, check_coordinates, labelled_codes, labelled_lists

__all__ = ["BlockScreening", "ProductTriplets"]

EXPLICIT_LIMIT = 50_000_000
"""Most triplets that are ever listed one by one."""


class ProductTriplets(Terms):
    """The triplets of ``Triplets.from_labels(X, y, k)``, same sums and order, kept as the products
    J_i x L_i they are.

    Parameters
    ----------
    X : array of shape (n, d)
    y, k, diagonal, coordinates
        As for :meth:`Triplets.from_labels`.

    Attributes
    ----------
    points : Points

    Notes
    -----
    Sums over the triplets cost O(pairs (d + log n) + n d^2) time, and O(n d) memory beside the
    lists: those take 4 bytes a pair with k, nothing without it until they are screened (1.9e13
    triplets of 60,000 points need less than 0.5 GB). Beyond 2**25 pairs nothing is screened without
    k. What needs a number for each triplet (``norms``, ``index``, margins, masks, a given alpha) is
    made from a list of them, on demand, and refused beyond 50 million.

    Rounding: an anchor's margins are rounded to a grid of 2**-49 of their range (coarser for lists
    beyond 255 points), which is part of the bound of their error; sums over the grid are exact, so
    the pair weights are those of dual variables in [0, 1] up to three roundings. With
    ``s = |x_i| + |x_j|`` (centred points) the error of the adjoint is at most
    ``gamma_m sum w_ij s^2``, `m` the length of the longest sum. Results do not depend on the number
    of threads.

    Examples
    --------
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [0, 0, 1]
    >>> triplets = ProductTriplets(X, y)
    >>> triplets.index.tolist()
    [[0, 1, 2], [1, 0, 2]]
    >>> triplets.margins(np.eye(2)).tolist()
    [3.0, 4.0]
    """

    offers = frozenset({"blocks", "systems"})

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        k: int | None = None,
        *,
        diagonal: bool = False,
        coordinates: ArrayLike | None = None,
    ):
        X = check_points(X)
        lists = labelled_codes(X, y) if k is None else labelled_lists(X, y, k)
        points = Points(check_coordinates(coordinates, X), diagonal=bool(diagonal))
        self._set(
            products_of(
                points if k is None else points.merged(),
                np.arange(X.shape[0], dtype=np.int32),
                lists,
            )
        )

    @classmethod
    def of(cls, products: ListedProducts | ClassProducts) -> Self:
        """Return the triplets of products of lists."""
        self = cls.__new__(cls)
        self._set(products)
        return self

    def _set(self, products):
        self._products = products
        self.points = products.points
        self.cone = products.points.cone
        self._size = int(products.sizes.sum())
        self._norms = self._scales = None
        widest = int(max(products.p.max(initial=1), products.q.max(initial=1)))
        self._bits = min(50, 58 - widest.bit_length())

    def __len__(self):
        return self._size

    def __repr__(self):
        return f"<{len(self)} triplets, as products, of {self.points}>"

    @property
    def anchors(self) -> NDArray:
        """Those that have triplets, an int32 array."""
        return self._products.anchors

    @property
    def work(self) -> float:
        """Operations of an evaluation, one for each pair of distances and more of its sums."""
        return self._products.work[0]

    @property
    def screening_work(self) -> float:
        """Operations of a pass of :meth:`screen_blocks`."""
        return self._products.work[1]

    @property
    def preparation_work(self) -> float:
        """Operations of listing the pairs, which only screening needs; infinite if they are too
        many for that.
        """
        return self._products.work[2]

    def sample(self) -> ProductTriplets:
        """Return the triplets of a hundred of the anchors."""
        sample = ProductTriplets.of(
            self._products.part(
                np.unique(np.linspace(0, self.anchors.size - 1, 100).astype(np.int64))
            )
        )
        sample.threshold = self.threshold
        return sample

    @property
    def n_bytes(self) -> int:
        """Memory of what is stored a pair."""
        return self._products.n_bytes

    # ------------------------------------------------------------------ sums, never a list

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all triplets; O(pairs (d + log n) + n d^2), with `alpha` given O(T)
        more, and ValueError beyond 50 million.
        """
        if alpha is not None:
            return self.to_triplets().loss_sums(x, loss, alpha)
        errors = self._margin_errors(x, loss.smoothing)
        near = errors if loss.smoothing == 0.0 else np.zeros_like(errors)
        adjoint, error, sums = self._run(x, loss.smoothing, near)
        fenchel = sums[3] if loss.smoothing == 0.0 else self._fenchel_bound(errors, loss.smoothing)
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(
            loss=sums[0],
            adjoint=adjoint,
            adjoint_error=error,
            fenchel=upper(fenchel, self._products.length),
            alpha_sum=alpha_sum,
            alpha_square=sums[2],
        )

    def hinge_sums(self, x: ElementLike, width: float) -> LossSums:
        """Return the :class:`LossSums` of the hinge for the dual point of the smoothed hinge of
        that width > 0; cost as one call.

        Where ``0 < slack < width``, ``alpha = slack/width`` and
        ``loss(m) + loss*(-alpha) + alpha m = slack - slack^2/width``; elsewhere it is 0, or at most
        the error of the margin. Everything is a sum of non-negative numbers, nothing cancels.

        An error e of the margin costs at most e where ``0 < slack < width`` as computed. Elsewhere
        it costs nothing unless the slack has another sign than the computed one, which is at most e
        then, and the cost too: slacks up to e are charged, however small the width."""
        near = self._margin_errors(x, width)
        adjoint, error, sums = self._run(x, width, near)
        fenchel = sums[4] + sums[3] + gamma(16) * width * sums[1]
        loss = sums[0] + 0.5 * width * sums[2] + sums[4]
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(
            loss=loss,
            adjoint=adjoint,
            adjoint_error=error,
            fenchel=upper(fenchel, self._products.length),
            alpha_sum=alpha_sum,
            alpha_square=sums[2],
        )

    def _run(self, x, gamma_, near):
        adjoint, scale, sums = self._products.sums(
            x, float(self.threshold), gamma_, near, self._bits
        )
        return adjoint, self._error(scale), sums

    def _error(self, scale):
        return upper(gamma(self._products.length) * scale, self._products.length)

    def total(self) -> tuple[NDArray, float]:
        """Return ``(sum_t a_t, bound of its rounding error)``; O(pairs d + n d^2)."""
        total, scale = self._products.total()
        return total, self._error(scale)

    def max_inner_product(self, x: ElementLike) -> float:
        """Return ``max_t <a_t, x>``, ``-inf`` if there are no triplets; O(pairs d)."""
        return self._products.widest_margin(x) if len(self) else -np.inf

    def screen_blocks(self, ball: Any, loss: Loss) -> BlockScreening:
        """Screen pairs whose triplets are certain against every pair left in the anchor's other
        list; no triplet is visited.

        What is left are products of lists again; nothing is screened by a radius that is NaN,
        infinite or negative.

        Notes
        -----
        With ``||H_ijl|| <= |x_i - x_l|^2 + |x_i - x_j|^2`` the sphere rule (STS19 equation 4.1) is
        implied by intervals of the two distances: it separates. A pair is compared with the extreme
        ends of the other list, so a call costs O(pairs d). Comparisons are strict, and the rounding
        errors of distances, sizes and differences widen the intervals."""
        center = self.cone.check(ball.center, "ball.center")
        radius = float(ball.radius)
        if len(self) == 0 or not (0.0 <= radius < np.inf):
            return BlockScreening(remaining=self, total=self.cone.zeros(), error=0.0, n_L=0, n_R=0)
        relative = upper(gamma(3 * self.points.d + 12) * norm_upper(center), 4)
        tau = float(self.threshold)
        limits = np.nextafter(tau - loss.smoothing, -np.inf), tau
        products, total, scale, n_L, n_R = self._products.screen(center, radius, relative, *limits)
        if n_L + n_R == 0:
            return BlockScreening(remaining=self, total=self.cone.zeros(), error=0.0, n_L=0, n_R=0)
        undecided = ProductTriplets.of(products)
        undecided.threshold = self.threshold
        return BlockScreening(
            remaining=undecided, total=total, error=self._error(scale), n_L=n_L, n_R=n_R
        )

    # --------------------------------------------------------- what needs a number for each triplet

    def to_triplets(self) -> Triplets:
        """Return the same terms as explicit :class:`Triplets`; ValueError beyond 50 million."""
        if len(self) > EXPLICIT_LIMIT:
            raise ValueError(
                f"{len(self)} triplets are too many for listing them, at most "
                f"{EXPLICIT_LIMIT} are; screen blocks first"
            )
        same, other = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        anchors, lists = self._products.explicit()
        fill_products(lists.same_ptr, lists.other_ptr, same, other)
        same_pairs, other_pairs = (PairTable(self.points, pairs) for pairs in lists.pairs(anchors))
        triplets = Triplets.of(self.points, same_pairs, other_pairs, same, other)
        triplets.threshold = self.threshold
        return triplets

    def system(self) -> PairSystem:
        """Return the :class:`PairSystem` of the listed triplets; ValueError beyond 50 million."""
        return self.to_triplets().system()

    @property
    def system_rows(self) -> int:
        """Number of the triplets or of their pairs, whichever is smaller."""
        return min(len(self), int(self._products.p.sum() + self._products.q.sum()))

    @property
    def index(self) -> NDArray:
        """Triplets as an int32 array of shape (T, 3): anchor, same, other; ValueError beyond 50
        million.
        """
        return self.to_triplets().index

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||H_t||``, shape (T,); computed once, O(T d), ValueError beyond 50
        million.
        """
        if self._norms is None:
            self._norms = self.to_triplets().norms
        return self._norms

    @property
    def longest(self) -> float:
        """Upper bound of the norms: differences are at most twice as long as the points."""
        return 8.0 * float(self.points.norms.max(initial=0.0)) ** 2

    def select(self, keep: NDArray) -> Terms:
        """Return the triplets of the mask `keep`, explicit unless all are kept; ValueError
        beyond 50 million.
        """
        keep = check_mask(keep, len(self), "keep")
        return self if keep.all() else self.to_triplets().select(keep)

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the inner products of the listed triplets with x; ValueError beyond 50 million."""
        return self.to_triplets().inner_products(x)

    def weighted_sum(self, weights: NDArray) -> tuple[NDArray, float]:
        """Return ``(sum_t weights_t H_t, error bound)``; O(T + pairs d + n d^2), ValueError
        beyond 50 million.
        """
        return self.to_triplets().weighted_sum(weights)

    # ------------------------------------------------------------------ pieces

    def _margin_errors(self, x, gamma_):
        """Bounds, an anchor, of the distance between a margin at the exact x and the one on the
        grid.

        Pair values are off by ``gamma_{2d+10} |M| s^2`` (see :class:`PairTable`), or
        ``gamma_{3d+12} |M| s^2`` where they are ``x_i'z_i + x_j'z_j - 2 x_i'z_j`` with ``Z = X M``:
        M is made symmetric, a dot product of length d gives Z, another one the first two terms, and
        4 + d sums follow; each of these roundings is one of a part of ``|M| s^2``, and centred
        differences are off by 4 more. The cone is off by ``32 d u |M|``; an anchor's entries,
        threshold and gamma span at most ``2 |M| s^2 + tau + gamma``, of which the grid rounds away
        ``2**(2 - bits)`` at most."""
        if self._scales is None:
            self._scales = self._products.farthest()
        grid = 2.0 ** (2 - self._bits)
        relative = (gamma(35 * self.points.d + 12) + 4.0 * grid) * norm_upper(x)
        absolute = (gamma(8) + 2.0 * grid) * (gamma_ + abs(float(self.threshold)))
        return (relative * self._scales + absolute) * (1.0 + 16.0 * grid)

    def _fenchel_bound(self, errors, gamma_):
        # loss(m) + loss*(-a) + a m when m is off by at most e: Lipschitz, and quadratic for gamma >
        # 0
        return float(
            np.sum(self._products.sizes * np.minimum(errors, errors * errors / (2.0 * gamma_)))
        )


class BlockScreening(NamedTuple):
    """What :meth:`ProductTriplets.screen_blocks` found.

    The undecided triplets that are `remaining`, as products of shorter lists (none when its length
    is 0); the `total` of those certified to be linear, `error` being a bound of its rounding error;
    and how many are certain to be in the linear and in the zero region."""

    remaining: Terms
    total: NDArray
    error: float
    n_L: int
    n_R: int


def products_of(
    points: Points, anchors: NDArray, lists: AnchorLists | NDArray
) -> ListedProducts | ClassProducts:
    """Return the products of some anchors: of their lists, or of the classes of all points;
    nothing is checked.
    """
    kind = ListedProducts if isinstance(lists, AnchorLists) else ClassProducts
    return kind(points, anchors, lists)
