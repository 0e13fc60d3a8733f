"""Triplets of labelled points as products of lists: sums over all triplets without a list of the
triplets.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_flag, check_mask, check_points
from safescreen.losses import Loss
from safescreen.products.classes import ClassProducts
from safescreen.products.listed import ListedProducts
from safescreen.products.sums import SlackCosts
from safescreen.rounding import ElementLike, gamma, norm_upper, upper
from safescreen.terms._triplet_kernels import fill_products
from safescreen.terms.base import InnerProducts, LossSums, Terms
from safescreen.terms.neighbors import AnchorLists
from safescreen.terms.pairs import PairTable, Points
from safescreen.terms.triplets import Triplets, check_coordinates, labelled_codes, labelled_lists

__all__ = ["ProductTriplets"]

EXPLICIT_LIMIT = 50_000_000
"""Largest number of triplets that are listed one by one."""


class ProductTriplets(Terms):
    """The triplets of ``Triplets.from_labels(X, y, k)``, kept as products of lists and never
    listed.

    The triplets of anchor i are all combinations of a list J_i of points of its class and a list
    L_i of points of other classes. The triplets have the same sums and the same order as the result
    of :meth:`Triplets.from_labels`.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    y, k, diagonal, coordinates
        As for :meth:`Triplets.from_labels`.

    Attributes
    ----------
    points : Points
    products : ListedProducts or ClassProducts
        The products, with their `anchors` and `lists`.

    Raises
    ------
    ValueError, TypeError
        As for :meth:`Triplets.from_labels`. Everything that needs a number for each triplet
        (``norms``, ``index``, margins, masks, a given alpha) first makes a list of the triplets. It
        raises a ValueError if there are more than 50 million triplets.

    Notes
    -----
    Cost: a sum over all triplets takes O(pairs (d + log n) + n d^2) time, and O(n d) memory besides
    the lists. If k is given, the lists take 4 bytes per pair. If it is not, they take no memory:
    1.9e13 triplets of 60,000 points need less than 0.5 GB. Products are not screened, and
    ``screening="auto"`` screens nothing: where screening saves time, listed Triplets are faster
    (notebook 25b).

    Rounding: the margins of an anchor are rounded to a grid of 2**-49 of their range; the grid is
    coarser for lists of more than 255 points. The bound of the margins' error includes this
    rounding. Sums over the grid are exact, so the pair weights are, up to three roundings, the sums
    of dual variables in [0, 1]. With centred points and ``s = |x_i| + |x_j|`` the error of the
    adjoint is at most ``gamma_m sum w_ij s^2``, where m is the length of the longest sum. Results
    do not depend on the number of threads.

    Examples
    --------
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [0, 0, 1]
    >>> triplets = ProductTriplets(X, y)
    >>> triplets.index.tolist()
    [[0, 1, 2], [1, 0, 2]]
    >>> triplets.margins(np.eye(2)).tolist()
    [3.0, 4.0]
    """

    offers = frozenset({"differences"})

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
        points = Points(
            check_coordinates(coordinates, X), diagonal=check_flag(diagonal, "diagonal")
        )
        self._set(
            products_of(
                points if k is None else points.merged(),
                np.arange(X.shape[0], dtype=np.int32),
                lists,
            )
        )

    @classmethod
    def of(cls, products: ListedProducts | ClassProducts) -> Self:
        """Return the triplets of given products of lists. Nothing is checked."""
        self = cls.__new__(cls)
        self._set(products)
        return self

    def _set(self, products):
        self.products = products
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
        """The numbers of the points that have triplets, an int32 array."""
        return self.products.anchors

    def __getattr__(self, name):
        hint = ": products are not screened, to_triplets() are" if name == "screen_blocks" else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    @property
    def n_bytes(self) -> int:
        """Number of bytes that the data of the pairs take."""
        return self.products.n_bytes

    # ------------------------------------------------------------------ sums, never a list

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all triplets; cost O(pairs (d + log n) + n d^2).

        If `alpha` is given, the triplets are listed, which costs O(T) more and raises a ValueError
        beyond 50 million triplets.
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
            fenchel=upper(fenchel, self.products.length),
            alpha_sum=alpha_sum,
            alpha_square=sums[2],
        )

    def hinge_sums(self, x: ElementLike, width: float) -> LossSums:
        """Return the hinge's :class:`LossSums` with the dual point of the smoothed hinge of a width
        > 0. Cost: the same as a call of :meth:`loss_sums`.

        Where ``0 < slack < width``, we have ``alpha = slack/width`` and
        ``loss(m) + loss*(-alpha) + alpha m = slack - slack^2/width``. For other slacks this sum is
        0, or at most the error of the margin. All sums have non-negative terms, so nothing cancels.

        An error e of the margin costs at most e where ``0 < slack < width`` as computed. For other
        slacks it costs nothing unless the slack and the computed slack differ in sign. In this case
        the slack is at most e, and so is the cost. So a cost of e is added for every slack up to e,
        however small the width is.
        """
        near = self._margin_errors(x, width)
        adjoint, error, sums = self._run(x, width, near)
        fenchel = sums[4] + sums[3] + gamma(16) * width * sums[1]
        loss = sums[0] + 0.5 * width * sums[2] + sums[4]
        alpha_sum = float(self.threshold) * sums[1]
        return LossSums(
            loss=loss,
            adjoint=adjoint,
            adjoint_error=error,
            fenchel=upper(fenchel, self.products.length),
            alpha_sum=alpha_sum,
            alpha_square=sums[2],
        )

    def _run(self, x, gamma_, near):
        costs = SlackCosts(float(self.threshold), gamma_, self._bits)
        adjoint, scale, sums = self.products.sums(x, costs, near)
        return adjoint, self._error(scale), sums

    def _error(self, scale):
        return upper(gamma(self.products.length) * scale, self.products.length)

    def total(self) -> tuple[NDArray, float]:
        """Return ``(sum_t a_t, bound of its rounding error)``; O(pairs d + n d^2)."""
        total, scale = self.products.total()
        return total, self._error(scale)

    def max_inner_product(self, x: ElementLike) -> float:
        """Return ``max_t <a_t, x>``, or ``-inf`` if there are no triplets; O(pairs d)."""
        return self.products.widest_margin(x) if len(self) else -np.inf

    # --------------------------------------------------------- what needs a number for each triplet

    def to_triplets(self) -> Triplets:
        """Return the same terms as listed :class:`Triplets`. Raise a ValueError beyond 50 million
        triplets.
        """
        if len(self) > EXPLICIT_LIMIT:
            raise ValueError(
                f"{len(self)} triplets are too many to be listed, at most {EXPLICIT_LIMIT} are: "
                "take fewer points or a smaller k"
            )
        same, other = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        anchors = self.anchors
        lists = self.products.lists
        fill_products(lists.same_ptr, lists.other_ptr, same, other)
        same_pairs, other_pairs = (PairTable(self.points, pairs) for pairs in lists.pairs(anchors))
        triplets = Triplets.of(self.points, same_pairs, other_pairs, same, other)
        triplets.threshold = self.threshold
        return triplets

    def differences(self) -> Triplets:
        """Return the listed triplets. Raise a ValueError beyond 50 million triplets."""
        return self.to_triplets()

    @property
    def index(self) -> NDArray:
        """The triplets as an int32 array of shape (T, 3): anchor, same, other. Raises a ValueError
        beyond 50 million triplets.
        """
        return self.to_triplets().index

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||H_t||``, shape (T,). They are computed once, in O(T d). Raises a
        ValueError beyond 50 million triplets.
        """
        if self._norms is None:
            self._norms = self.to_triplets().norms
        return self._norms

    @property
    def longest(self) -> float:
        """Upper bound of all norms, computed without the norms."""
        return self.points.longest

    def select(self, keep: NDArray) -> Terms:
        """Return the triplets of the mask `keep`. If some are left out, the result is a list of
        triplets. Raise a ValueError beyond 50 million triplets.
        """
        keep = check_mask(keep, len(self), "keep")
        return self if keep.all() else self.to_triplets().select(keep)

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the inner products of the listed triplets with x. Raise a ValueError beyond 50
        million triplets.
        """
        return self.to_triplets().inner_products(x)

    def weighted_sum(self, weights: NDArray) -> tuple[NDArray, float]:
        """Return ``(sum_t weights_t H_t, error bound)``; cost O(T + pairs d + n d^2). Raise a
        ValueError beyond 50 million triplets.
        """
        return self.to_triplets().weighted_sum(weights)

    # ------------------------------------------------------------------ pieces

    def _margin_errors(self, x, gamma_):
        """Return, for each anchor, a bound of the distance between a margin at the exact x and the
        margin on the grid.

        The error of a pair value is at most ``gamma_{2d+10} |M| s^2`` (see :class:`PairTable`), or
        ``gamma_{3d+12} |M| s^2`` if the value is computed as ``x_i'z_i + x_j'z_j - 2 x_i'z_j`` with
        ``Z = X M``: M is made symmetric, a dot product of length d gives Z, another dot product
        gives the first two terms, and 4 + d sums follow. The error of each of these roundings is
        relative to a number of at most ``|M| s^2``. Differences of centred points add 4 roundings.
        Feasibility of x in the cone has an error of ``32 d u |M|``. An anchor's entries, threshold
        and gamma span at most ``2 |M| s^2 + tau + gamma``, and rounding to the grid changes a
        margin by at most ``2**(2 - bits)`` of this span.
        """
        if self._scales is None:
            self._scales = self.products.farthest()
        grid = 2.0 ** (2 - self._bits)
        relative = (gamma(35 * self.points.d + 12) + 4.0 * grid) * norm_upper(x)
        absolute = (gamma(8) + 2.0 * grid) * (gamma_ + abs(float(self.threshold)))
        return (relative * self._scales + absolute) * (1.0 + 16.0 * grid)

    def _fenchel_bound(self, errors, gamma_):
        # loss(m) + loss*(-a) + a m, if the error of m is at most e, grows linearly in e, and for
        # gamma > 0 quadratically at first
        return float(
            np.sum(self.products.sizes * np.minimum(errors, errors * errors / (2.0 * gamma_)))
        )


def products_of(
    points: Points, anchors: NDArray, lists: AnchorLists | NDArray
) -> ListedProducts | ClassProducts:
    """Return the products of some anchors: of given lists, or of the classes of all points. Nothing
    is checked.
    """
    kind = ListedProducts if isinstance(lists, AnchorLists) else ClassProducts
    return kind(points, anchors, lists)
