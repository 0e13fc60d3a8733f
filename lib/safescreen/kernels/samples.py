"""Samples of a binary classification problem with a kernel: a support vector machine without an
intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from safescreen._blocks import squares
from safescreen._checks import PointsLike, as_array, check_mask, check_points, check_scalar
from safescreen.kernels.checked import (
    LARGEST_ERROR,
    check_kernel_matrix,
    default_error,
    kernel_matrix,
)
from safescreen.kernels.exchanges import can_exchange, improve_by_exchanges
from safescreen.kernels.functions import centred, kernel_of
from safescreen.kernels.matrices import KernelRows
from safescreen.kernels.space import Expansion, KernelSpace, n_changes
from safescreen.kernels.working_sets import WorkingPoint, improve
from safescreen.losses import Loss
from safescreen.problem import conjugates
from safescreen.rounding import UNIT, upper
from safescreen.terms._margin_sums import levels, margin_sums
from safescreen.terms._sample_kernels import DualObjective, UpdateLimits
from safescreen.terms.base import (
    InnerProducts,
    LossSums,
    Terms,
    check_signs,
    check_weights,
    levels_of,
)
from safescreen.terms.free_intercept import WITH_CONSTANT, constant_for

ROUNDS = 20
"""Largest number of times that a call of `sweep` computes its products anew, because updates by
working sets accumulate rounding errors.
"""


class KernelSamples(Terms):
    """Sample terms ``z_i = y_i phi(x_i)``, known only through ``Q_ij = <z_i, z_j> = y_i y_j K_ij``
    (SSS14 section IV-D).

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix, symmetric and positive semidefinite. A C- or F-contiguous float64 array is
        not copied and must not be changed.
    y : array of shape (n,)
        Labels -1 and +1; both must occur.
    weights : array of shape (n,), optional
        Positive factors of the losses, 1 if left out.
    relative_error : float, optional
        Accuracy of the entries: there is a positive semidefinite K* with
        ``|K_ij - K*_ij| <= relative_error sqrt(K*_ii K*_jj)``. All results hold for the kernel K*.
        If it is left out, it is ``4 n + 64`` units of roundoff in the precision of K; see also
        :meth:`from_points`.

    Raises
    ------
    ValueError, TypeError
        K is not square, finite or symmetric, or has an entry that is larger than its diagonal
        allows. Or K has a negative eigenvalue that `relative_error` does not explain; for more than
        500 samples a dozen Lanczos steps search for one.

    Notes
    -----
    An element of the space is an :class:`~safescreen.kernels.Expansion` in *all* samples that this
    object was made from. Selected samples (:meth:`select`) keep the space.

    Cost: O(n) for the margins of an element. A sum costs O(n) for each non-zero weight. A sum at an
    element that is a multiple of another sum, such as ``H(alpha)/lam``, costs O(n) for each weight
    in which the two differ.

    In the notation of the papers ``C = 1/lam``, and the dual variables are ``C alpha``. There is no
    intercept. A constant added to K adds a penalised intercept, and
    :class:`~safescreen.FreeIntercept` adds a free one.

    Examples
    --------
    >>> import safescreen as ss
    >>> samples = ss.KernelSamples([[1.0, 0.0], [0.0, 4.0]], [1, -1])
    >>> w = samples.adjoint([1.0, 0.5])
    >>> w.coef.tolist(), samples.margins(w).tolist()
    ([1.0, 0.5], [1.0, 2.0])
    >>> problem = ss.Problem(samples, ss.SmoothedHinge(0.5))
    >>> problem.lam_max()
    8.0
    """

    offers = frozenset({"singles", "sweeps"})
    costly = True
    stored = 0

    def __init__(
        self,
        K: ArrayLike,
        y: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        relative_error: float | None = None,
    ):
        if sparse.issparse(K):
            raise TypeError(
                f"K must be a dense array, got a sparse {type(K).__name__} of shape {np.shape(K)}"
            )
        K = as_array(K, "K")
        if K.dtype.kind not in "fiub":
            raise TypeError(f"K must hold real numbers, got dtype {K.dtype}")
        if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
            raise ValueError(f"K must be a square matrix, got shape {K.shape}")
        signs = check_signs(y, len(K))
        error = default_error(K) if relative_error is None else relative_error
        error = check_scalar(error, "relative_error", low=0.0, high=LARGEST_ERROR)
        self._set(
            KernelSpace(check_kernel_matrix(K, error), signs, error),
            weights=check_weights(weights, len(K)),
        )

    @classmethod
    def from_points(
        cls,
        X: PointsLike,
        y: ArrayLike,
        kernel: str = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        *,
        constant: float = 0.0,
        weights: ArrayLike | None = None,
        max_gigabytes: float = 4.0,
    ) -> Self:
        """Return the samples of some points, with a bound of the rounding errors of their kernel
        matrix.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        y : array of shape (n,)
            Labels -1 and +1; both must occur.
        kernel : {"rbf", "polynomial", "linear"}
            ``exp(-gamma |x - x'|^2)``, ``(gamma x'x + coef0)^degree``, ``x'x``.
        gamma : float > 0, optional
            Coefficient of the kernel; ``1/d`` if left out.
        degree : int >= 1
            Degree of the polynomial kernel.
        coef0 : float >= 0
            Constant in the polynomial kernel.
        constant : float >= 0
            A number that is added to the kernel. It is the square of a constant feature, whose
            coefficient is a penalised intercept.
        weights : array of shape (n,), optional
            Positive factors of the losses, 1 if left out.
        max_gigabytes : float
            Size of the largest kernel matrix that is stored. If the matrix is larger, or for more
            than 1,000 dense points, its entries are computed when they are needed. Then
            `max_gigabytes` is the size of a cache of rows for the solver. With up to 4,096 points
            the cache also keeps the rows that sums have used, if there is room.

        Returns
        -------
        KernelSamples

        Raises
        ------
        ValueError, TypeError
            A point, a label or a parameter is out of its range, or a cache of `max_gigabytes`
            cannot hold the rows of one step of the solver.

        Notes
        -----
        Cost: O(n^2 d). The bound of the errors is about d units of roundoff. For "rbf" it grows
        with ``gamma max |x|^2``. So for "rbf" dense points are centred first, which keeps their
        distances and makes this number small. Sparse points are not centred.

        Examples
        --------
        >>> import safescreen as ss
        >>> X, y = [[0.0], [1.0], [3.0]], [1, 1, -1]
        >>> ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2).gram([0, 2])
        array([[  1.,  -1.],
               [ -1., 100.]])
        """
        X = check_points(X, allow_sparse=True)
        signs = check_signs(y, X.shape[0])
        weights = check_weights(weights, X.shape[0])
        function = kernel_of(X.shape[1], kernel, gamma, degree, coef0, constant)
        K, error = kernel_matrix(centred(X, kernel)[0], function, max_gigabytes)
        return cls.of_matrix(K, error, signs, weights)

    @classmethod
    def of_matrix(
        cls, K: NDArray | KernelRows, error: float, signs: NDArray, weights: NDArray | None = None
    ) -> Self:
        """Return the samples of a kernel matrix with the relative error `error`, and with the given
        labels and weights. Nothing is checked.
        """
        samples = cls.__new__(cls)
        samples._set(KernelSpace(K, signs, error), weights=weights)
        return samples

    def _set(self, space, ids=None, view=None, threshold=1.0, weights=None):
        self.cone = space
        self._ids = ids  # numbers of the terms among the samples of the space; None: all
        # the samples at which products are computed: the terms, and the samples of the linear term
        self._view = view
        self._left: Expansion | None = None  # the sum of the terms that were removed as linear
        self._norms = space.norms if ids is None else space.norms[ids]
        self.threshold = threshold
        self.weights = weights

    def __len__(self):
        return self._norms.size

    def __repr__(self):
        return f"<{len(self)} samples with a kernel, in the span of {self.cone.signs.size}>"

    @property
    def norms(self) -> NDArray:
        """Upper bounds of ``||z_i||``, shape (n,)."""
        return self._norms

    def prepared(self, x: Expansion) -> Expansion:
        """Return x with its image at all samples of the family."""
        return x.known_at(self._ids)

    def inner_products(self, x: Expansion) -> InnerProducts:
        """Return all margins at once; a chunk of them is a slice."""
        return InnerProducts.of(*self._margins(x))

    def loss_sums(self, x: Expansion, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return sums over all samples. The margins are the image of x, and the adjoint is one
        sum.
        """
        return margin_sums(self, self.inner_products(x), loss, alpha, near=(x,))

    def _margins(self, x) -> tuple[NDArray, NDArray]:
        """Return the margins at an expansion, and bounds of their errors."""
        x = self.prepared(x)
        values = x.image if self._ids is None else x.image[self._ids]
        return values, self._norms * x.error + 1e-300

    def weighted_sum(self, weights: NDArray) -> tuple[Expansion, float]:
        """Return ``(sum_i w_i weights_i z_i, error bound)``. The error is the rounding of
        ``w_i weights_i``, and 0 for samples without weights.
        """
        return self.sum_near(weights, ())

    def sum_near(self, weights: NDArray, near: Iterable[Expansion]) -> tuple[Expansion, float]:
        """Return :meth:`weighted_sum`. If few weights differ, it is computed from a known sum, from
        which one of the elements `near` is made.
        """
        return self._sum(weights, self._view, near)

    def _sum(self, weights, view, near):
        weights = np.asarray(weights, dtype=np.float64)
        if self.weights is not None:
            weights = self.weights * weights
        if self._ids is not None:
            coef = np.zeros(self.cone.shape)
            coef[self._ids] = weights
            weights = coef
        known = [expansion for element in near for expansion in element.known_sums]
        total = self._beside_what_left(weights, view, known)
        if total is None:
            total = self.cone.expansion(weights, view, known)
        return total, 0.0 if self.weights is None else upper(UNIT * total.scale, 4)

    def _beside_what_left(self, coef, view, sums):
        """Return a sum as ``H - c``, where c is the sum of the terms that were removed as linear.
        Return None if H is not nearer to a known sum than the required sum is, or if the error
        would be too large.

        H is useful because a solver knows it. The coefficients of the required sum and of c do not
        overlap, so the difference has exactly the required coefficients.
        """
        left = self._left
        if left is None:
            return None
        whole = coef + left.coef
        fewest = min([np.count_nonzero(coef), *(n_changes(coef, known) for known in sums)])
        if not any(n_changes(whole, known) < fewest for known in sums):
            return None
        H = self.cone.expansion(whole, view, sums)
        total = replace(H - left, near=H)
        return total if total.error <= self.cone.drifted(H) else None

    def select(self, keep: NDArray) -> KernelSamples:
        """Return the samples of the mask `keep`, in the same space."""
        keep = check_mask(keep, len(self), "keep")
        ids = self._where(np.flatnonzero(keep))
        selected = KernelSamples.__new__(KernelSamples)
        selected._set(self.cone, ids, ids, *levels_of(self, keep))
        return selected

    def partition(
        self, status: NDArray, near: Iterable[Expansion] = ()
    ) -> tuple[KernelSamples, Expansion, float, NDArray]:
        """Return the result of :meth:`Terms.partition`. From now on, products at samples of status
        2 are not computed.
        """
        undecided = self.select(status == 0)
        numbers = np.flatnonzero(status == 0).astype(np.int32)
        view = np.arange(self.cone.signs.size) if self._view is None else self._view
        undecided._view = np.setdiff1d(
            view, self._where(np.flatnonzero(status == 2)), assume_unique=True
        )
        total, error = self._sum(status == 1, undecided._view, near)
        total = replace(total, near=None)  # `total` goes into the linear term; sums are not near it
        undecided._left = total if self._left is None else self._left + total
        return undecided, total, error, numbers

    def gram(self, numbers: NDArray) -> NDArray:
        """Return the inner products of some samples with each other, shape (B, B)."""
        ids = self._where(numbers)
        signs = self.cone.signs[ids]
        block = self.cone.matrix.block(ids, ids)
        block *= signs
        block *= signs[:, None]
        return block

    def gram_operator(self, numbers: NDArray) -> Callable[[NDArray], NDArray]:
        """Return the function ``v -> Q_BB v`` for some samples, which stores no array of size
        B^2.
        """
        ids = self._where(numbers)
        return lambda v: self.cone.product(ids, v, ids)[ids]

    def sweep(
        self,
        alpha: NDArray,
        H: Expansion,
        lam: float,
        loss: Loss,
        tolerance: float,
        epochs: int,
        state: int,
        shrinking: bool = True,
        goal: tuple[float, float] = (0.0, 0.0),
        is_balanced: bool = False,
        is_over: Callable[[], bool] | None = None,
    ) -> tuple[Expansion, float, int, int]:
        """Improve a dual point in working sets. Each step is in the pair of coordinates with the
        largest gain, and n updates count as a sweep.

        The parameters and the result are as for ``Swept.sweep`` of
        :mod:`safescreen.solvers.coordinate_descent`. `state` has no effect. With `is_balanced` the
        sum of ``w_t y_t alpha_t`` does not change. `is_over` is called after each working set.
        """
        ids = self._where(np.arange(len(self)))
        weights = 1.0 if self.weights is None else self.weights
        tau, w = (np.array(values) for values in levels(self))
        objective = DualObjective(tau, w, loss.smoothing, loss.cap, lam)
        begins = is_balanced and can_exchange(self.cone.matrix, ids)
        done = 0
        spread = np.inf
        rest = H.coef.copy()
        rest[ids] -= weights * alpha
        for _ in range(ROUNDS):  # each round computes the products anew
            H = self.prepared(H)
            point = WorkingPoint(
                matrix=self.cone.matrix,
                ids=ids,
                signs=self.cone.signs,
                products=self._margins(H)[0].copy(),
                norms=self._norms,
                alpha=alpha,
                has_moved=np.zeros(ids.size, dtype=np.bool_),
                objective=objective,
                is_balanced=is_balanced,
            )
            dual = conjugates(self, loss, alpha) - 0.5 * self.cone.inner(H, H) / lam
            limits = UpdateLimits(tolerance, *goal, updates=epochs * len(self) - done)
            if begins:
                spread, steps, is_enough = improve_by_exchanges(point, limits, dual, is_over)
            else:
                spread, steps = improve(point, limits, dual, shrinking, is_over)
                is_enough = steps == 0
            begins = False
            if steps > 0:
                done += steps
                coef = rest.copy()
                coef[ids] += weights * alpha
                H = self.cone.expansion(coef, self._view, H.known_sums)
            if is_enough or (is_over is not None and is_over()):
                break
        return H, spread, -(-done // max(1, len(self))), state

    def _where(self, numbers):
        numbers = np.asarray(numbers, dtype=np.intp)
        return numbers if self._ids is None else self._ids[numbers]


def _with_constant(X, y, kernel, *parameters, **options):
    """Return the samples of points with a constant added to their kernel, and the root of this
    constant.
    """
    constant = constant_for(kernel_of(X.shape[1], kernel, *parameters).diagonal(squares(X)))
    options["constant"] = constant**2
    return KernelSamples.from_points(X, y, kernel, *parameters, **options), constant


WITH_CONSTANT.update(rbf=_with_constant, polynomial=_with_constant)
