"""Triplets spread over the workers of a Dask cluster."""

from __future__ import annotations

import copy
import math
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import (
    check_count,
    check_flag,
    check_mask,
    check_points,
    check_scalar,
    check_vector,
)
from safescreen.cluster import _shards
from safescreen.cluster.workers import check_client, gather
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.losses import Loss
from safescreen.products.triplets import EXPLICIT_LIMIT
from safescreen.rounding import ElementLike, gamma, upper
from safescreen.terms.base import InnerProducts, LossSums, Terms
from safescreen.terms.indices import check_triplets
from safescreen.terms.neighbors import AnchorLists, class_sizes
from safescreen.terms.triplets import COLUMNS, labelled_codes, labelled_lists

SHARDS = 8
"""Smallest default number of shards. The default does not depend on the cluster."""

SHARD_SIZE = 16_000_000
"""Largest number of triplets of a shard, if the number of shards is the default."""

PATIENCE = 300.0
"""Default number of seconds for which the cluster may be without any worker. A cluster that
replaces lost machines has new ones within that time.
"""


class ShardedTriplets(Terms):
    """The terms of :class:`~safescreen.Triplets`, split into shards that workers of a Dask cluster
    hold in memory.

    Parameters
    ----------
    client : distributed.Client
        The cluster; its workers need the same safescreen and Python as this process.
    X : array of shape (n, d)
        Points. Each worker gets all of them.
    index : int array of shape (T, 3)
        One triplet per row: anchor, same, other, as for :class:`~safescreen.Triplets`. A
        memory-mapped array is read in parts.
    n_shards : int, optional
        Number of shards, each of consecutive rows. All worker threads are busy if there are at
        least as many shards as threads. The default is 8, or more if a shard would otherwise hold
        over 16 million triplets.
    diagonal : bool
        As for :class:`~safescreen.Triplets`.
    patience : float
        Seconds for which the cluster may be without any worker, now and in later computations; 300
        by default. A worker that joins within that time computes lost results again.

    Raises
    ------
    ValueError, TypeError, ClusterError
        As for :class:`~safescreen.Triplets`. A ClusterError is raised if the cluster has no workers
        or workers of another version. A later computation raises it if the cluster was without
        workers for longer than `patience`.

    Notes
    -----
    Sums over triplets are sums over shards, which this process adds in the order of the shards. An
    evaluation sends x, O(d^2) numbers, to each shard and gets as many numbers back, in one round
    trip (about 10 ms in addition to the computation). This process keeps no array of length T. So,
    as with :class:`~safescreen.ProductTriplets`, nothing is screened, and a solution has no masks.
    Arrays with a number for each triplet (``margins``, ``norms``, ``alpha``, ``index``, an active
    set) are gathered on demand.

    The rounding of a result depends on `n_shards`. The rounding does not depend on the number of
    workers, on which worker computes what, or on the loss of a worker. A shard is a pure function
    of its rows of the index, so another worker can compute the shard again. The scheduler keeps the
    index (12 bytes per triplet; with :meth:`from_labels` 4 bytes per pair, or 8 bytes per point
    without k). Workers hold 16 bytes per triplet. During a solve they hold 16 or 24 more for each
    remaining triplet. Each worker should be a process with one thread.

    Rounding: see :func:`add`.

    Examples
    --------
    >>> from distributed import Client
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> workers = {"n_workers": 1, "threads_per_worker": 1}
    >>> with Client(processes=False, dashboard_address=":0", **workers) as client:
    ...     triplets = ShardedTriplets(client, X, [[0, 1, 2], [1, 0, 2]])
    ...     triplets, triplets.margins(np.eye(2)).tolist()
    (<2 triplets in 2 shards, of 3 points in 2 dimensions, full metric>, [3.0, 4.0])
    """

    offers = frozenset()

    def __init__(
        self,
        client: Any,
        X: ArrayLike,
        index: ArrayLike,
        n_shards: int | None = None,
        *,
        diagonal: bool = False,
        patience: float = PATIENCE,
    ):
        client = check_client(client)
        X = check_points(X)
        index = check_triplets(index, X.shape[0], COLUMNS, "index")
        bounds = np.linspace(0, len(index), _number(n_shards, len(index), len(index)) + 1).astype(
            np.int64
        )
        parts = [np.array(index[a:b], dtype=np.int32) for a, b in pairwise(bounds)]
        self._start(
            client, X, check_flag(diagonal, "diagonal"), patience, _shards.from_index, parts
        )

    @classmethod
    def from_labels(
        cls,
        client,
        X: ArrayLike,
        y: ArrayLike,
        k: int | None = None,
        n_shards: int | None = None,
        *,
        diagonal=False,
        products=False,
        patience=PATIENCE,
    ) -> Self:
        """Return the triplets of labelled points: the same triplets in the same order as
        ``Triplets.from_labels(X, y, k)``.

        The workers list the triplets. This process needs O(n^2 d) time and O(pairs) memory if `k`
        is given, and O(n) time and memory if it is not.

        Parameters
        ----------
        client : distributed.Client
        X : array of shape (n, d)
        y : array of shape (n,)
            Class labels.
        k : int or None
            As for :meth:`safescreen.Triplets.from_labels`.
        n_shards : int, optional
            Number of shards. Each shard holds consecutive anchors, and all shards hold about the
            same number of triplets.
        diagonal : bool
        products : bool
            Keep each shard as products of lists (:class:`~safescreen.ProductTriplets`). Then memory
            and time depend on the number of pairs, and not on the number of triplets.
        patience : float
            Seconds for which the cluster may be without any worker, as in the constructor.
        """
        client = check_client(client)
        X = check_points(X)
        lists = labelled_codes(X, y) if k is None else labelled_lists(X, y, k)
        sizes = np.multiply(
            *(lists.sizes if isinstance(lists, AnchorLists) else class_sizes(lists))
        )
        ends = np.cumsum(sizes)
        n_shards = _number(n_shards, 0 if products else int(ends[-1]), int(np.count_nonzero(sizes)))
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, n_shards) / n_shards) + 1
        bounds = np.unique(np.concatenate(([0], cuts, [sizes.size])))
        largest = int(np.add.reduceat(sizes, bounds[:-1]).max())
        if largest > EXPLICIT_LIMIT and not products:
            raise ValueError(
                f"n_shards must be larger, or products=True: a shard would list {largest} "
                f"triplets, at most {EXPLICIT_LIMIT} are listed"
            )
        parts = [
            (int(a), int(b - a), lists.part(a, b) if isinstance(lists, AnchorLists) else lists)
            for a, b in pairwise(bounds)
        ]
        self = cls.__new__(cls)
        self._start(
            client,
            X,
            check_flag(diagonal, "diagonal"),
            patience,
            _shards.from_lists,
            parts,
            products=check_flag(products, "products"),
        )
        return self

    def _start(self, client, X, diagonal, patience, build, parts, **options):
        self._client = client
        self._size = X.shape
        self._diagonal = diagonal
        self._patience = check_scalar(patience, "patience", low=0.0, open_low=True)
        self.cone = NonNegativeCone(X.shape[1]) if diagonal else PSDCone(X.shape[1])
        points = self._submit(_shards.center, [X], diagonal=diagonal)[0]
        shards = self._spread(partial(build, **options), parts, points)
        lengths = self._submit(_shards.ask, shards, method="__len__")
        self._hold(shards, gather(client, lengths, self._patience, f"{len(shards)} shards"))

    def _hold(self, shards, lengths):
        self._shards = [shard for shard, n in zip(shards, lengths, strict=True) if n]
        self._offsets = np.cumsum([0, *(n for n in lengths if n)])
        self._norms = None

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def __repr__(self) -> str:
        kind = "diagonal" if self._diagonal else "full"
        n, d = self._size
        return (
            f"<{len(self)} triplets in {len(self._shards)} shards, of {n} points in {d} "
            f"dimensions, {kind} metric>"
        )

    # ------------------------------------------------------------- sums, O(d^2) numbers a shard

    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all triplets, in one round trip. If `alpha` is given, its T numbers are
        sent to the workers.
        """
        if alpha is None:
            own = ()
        else:
            own = (self._cut(check_vector(alpha, len(self), "alpha", low=0.0, high=loss.cap)),)
        return add(self._ask("loss_sums", x, loss, own=own), self.cone)

    def hinge_sums(self, x: ElementLike, width: float) -> LossSums:
        """Return the sums of the hinge at x, with the dual point of the smoothed hinge of the given
        width > 0, in one round trip.
        """
        return add(self._ask("hinge_sums", x, width), self.cone)

    def weighted_sum(self, weights: NDArray) -> tuple[ElementLike, float]:
        """Return ``(sum_t weights_t H_t, error bound)``. The T weights are sent to the workers."""
        return _add_elements(
            self._ask("weighted_sum", own=(self._cut(np.asarray(weights)),)), self.cone
        )

    def total(self) -> tuple[ElementLike, float]:
        """Return ``(sum_t H_t, bound of its rounding error)``, in one round trip."""
        return _add_elements(self._ask("total"), self.cone)

    def max_inner_product(self, x: ElementLike) -> float:
        """Return ``max_t <H_t, x>``, or ``-inf`` if there are no triplets, in one round trip."""
        return max(self._ask("max_inner_product", x), default=-np.inf)

    def with_threshold(self, threshold: ArrayLike) -> Self:
        """Return the same triplets with another threshold, one number."""
        if np.ndim(threshold):
            return super().with_threshold(threshold)
        threshold = check_scalar(threshold, "threshold")
        twin = self._with(
            self._submit(_shards.part, self._shards, own=threshold, method="with_threshold"),
            np.diff(self._offsets),
        )
        twin.threshold = threshold
        return twin

    # --------------------------------------------------------- what needs a number for each triplet

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||H_t||``, shape (T,). They are gathered from the workers once."""
        if self._norms is None:
            self._norms = self._gathered(attrgetter("terms.norms"), np.empty(0))
        return self._norms

    @property
    def longest(self) -> float:
        """Upper bound of all norms, in one round trip."""
        return max(
            self._gather(self._submit(attrgetter("terms.longest"), self._shards)), default=0.0
        )

    @property
    def index(self) -> NDArray:
        """Triplets as an int32 array of shape (T, 3): anchor, same, other. The array is gathered
        from the workers.
        """
        return self._gathered(attrgetter("terms.index"), np.empty((0, 3), dtype=np.int32))

    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return all inner products with x. 16 bytes per triplet are gathered from the workers."""
        return InnerProducts.of(
            *self._gathered(_shards.inner_products, np.empty((2, 0)), axis=1, x=x)
        )

    def select(self, keep: NDArray) -> Self:
        """Return the triplets of the mask `keep`, which is sent to the workers."""
        keep = self._cut(check_mask(keep, len(self), "keep"))
        return self._with(
            self._submit(_shards.part, self._shards, keep, method="select"),
            [np.count_nonzero(own) for own in keep],
        )

    # ------------------------------------------------------------------ traffic

    def _submit(self, function, *parts, **common):
        """Return a future for each part: the result of a pure function of it."""
        if not parts[0]:
            return []
        # `common` is not passed to map as keywords: map would store a large value under the bare
        # name of the keyword, which is the same for all calls
        with _data_in_recipes():
            return self._client.map(partial(function, **common), *parts, pure=False)

    def _spread(self, build, parts, points):
        """Return a future for each part: the result of `build` for this part. Each worker thread
        gets the same number of parts, and later tasks run where their part is.

        Without this the scheduler might put all parts on the worker that has the points first.
        """
        places = []
        for address, threads in self._client.nthreads().items():
            places.extend([address] * threads)
        with _data_in_recipes():
            return [
                self._client.submit(
                    build,
                    part,
                    points,
                    workers=[places[n % len(places)]],
                    allow_other_workers=True,
                    pure=False,
                )
                for n, part in enumerate(parts)
            ]

    def _gather(self, futures):
        return gather(
            self._client,
            futures,
            self._patience,
            f"{len(self._shards)} shards of {len(self)} triplets",
        )

    def _ask(self, method, *arguments, own=()):
        return self._gather(
            self._submit(_shards.ask, self._shards, *own, method=method, arguments=arguments)
        )

    def _gathered(self, function, empty, axis=0, **common):
        return np.concatenate(
            [empty, *self._gather(self._submit(function, self._shards, **common))], axis=axis
        )

    def _cut(self, array):
        if array.shape != (len(self),):
            raise ValueError(f"weights must have shape ({len(self)},), got {array.shape}")
        return [array[a:b] for a, b in pairwise(self._offsets)]

    def _with(self, shards, lengths):
        twin = copy.copy(self)
        twin._hold(shards, lengths)
        return twin


def _data_in_recipes():
    """Return a context without warnings about large data in submitted tasks. The tasks contain the
    data on purpose, so that lost shards can be computed again.
    """
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def add(sums: list[LossSums], cone: Any) -> LossSums:
    """Return the sums of all shards, added in their order.

    The sum of each shard comes with a bound of its own error. When m elements are added one after
    the other, each entry of the sum has an error of at most ``gamma_{m-1}`` times the sum of their
    absolute values. So the norm of the error is at most ``gamma_{m-1} sum_s ||A_s||``, where
    ``A_s`` is the element of shard s. A number that is no smaller is added to the bound. The
    Fenchel terms are upper bounds of non-negative numbers, and their sum is rounded upwards. So the
    bounds hold for this order of summation too.
    """
    adjoint, error = _add_elements([(s.adjoint, s.adjoint_error) for s in sums], cone)
    return LossSums(
        loss=float(sum(s.loss for s in sums)),
        adjoint=adjoint,
        adjoint_error=error,
        fenchel=upper(float(sum(s.fenchel for s in sums)), len(sums) + 2),
        alpha_sum=float(sum(s.alpha_sum for s in sums)),
        alpha_square=float(sum(s.alpha_square for s in sums)),
    )


def _add_elements(parts, cone):
    total = cone.zeros()
    error = 0.0
    size = 0.0
    for element, bound in parts:
        total = total + element
        error += bound
        size += cone.norm_upper(_shards.aligned(element))
    return total, upper(error + gamma(len(parts)) * size, len(parts) + 4)


def _number(n_shards, n_triplets, most):
    """Return the number of shards, at most `most`: the given number, or a default that depends on
    the triplets only.
    """
    if n_shards is None:
        n_shards = max(SHARDS, math.ceil(n_triplets / SHARD_SIZE))
    return min(check_count(n_shards, "n_shards"), most)
