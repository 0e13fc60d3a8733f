"""The interface of every family of loss terms.

Problems, spheres, rules, ranges and solvers use terms only through this interface. An operation
that only some families have is a named capability (:data:`CAPABILITIES`). A family lists its
capabilities in ``Terms.offers``. A rule, sphere or solver lists the ones it needs in ``needs``.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safescreen._checks import check_kind, check_labels, check_scalar, check_vector
from safescreen._repr import brief_repr
from safescreen.losses import Loss, SmoothedHinge
from safescreen.rounding import ElementLike, gamma, upper

CAPABILITIES = {
    "singles": "single terms, a number for each",
    "elements": "terms that can be written out singly",
    "sweeps": "terms over the whole space, such as Samples",
    "rows": "terms with coordinates",
    "curvature": "terms over a cone, such as Triplets",
    "differences": "terms that are differences of pairs, such as Triplets",
    "intercept": "terms with a free intercept, FreeIntercept",
    "features": "terms that can do without some coordinates, such as diagonal Triplets",
}
"""The capabilities that a family may have besides sums over all its terms, and the words for them
in error messages.
"""

CHUNK = 1 << 15
"""Number of terms that a rule reads at a time, so that its temporary arrays stay in the processor's
cache.
"""


@dataclass(frozen=True)
class LossSums:
    """Sums over all terms at a point x.

    Attributes
    ----------
    loss : float
        ``sum_t w_t loss(<a_t, x>)``.
    adjoint : element of the space
        ``sum_t w_t alpha_t a_t``, where ``alpha_t`` is ``alpha(<a_t, x>)`` or the alpha that was
        passed in.
    adjoint_error : float
        Upper bound of the rounding error of `adjoint`, in the norm of the space.
    fenchel : float
        Upper bound of ``sum_t w_t (loss(<a_t, x>) + loss*(-alpha_t) + alpha_t <a_t, x>)``. Every
        summand is non-negative, and 0 in exact arithmetic when ``alpha_t = alpha(<a_t, x>)``.
    alpha_sum, alpha_square : float
        ``sum_t w_t tau_t alpha_t`` and ``sum_t w_t alpha_t^2``.
    intercept : float or None
        The best intercept at x if the terms have a free intercept.
    """

    loss: float
    adjoint: ElementLike
    adjoint_error: float
    fenchel: float
    alpha_sum: float
    alpha_square: float
    intercept: float | None = None

    __repr__ = brief_repr


class Margins(NamedTuple):
    """Inner products of some terms with one element: the `values` as computed, and bounds of their
    rounding `errors`, both of shape (T,).
    """

    values: NDArray
    errors: NDArray


class Thresholds(NamedTuple):
    """The pieces of the loss for some terms: the loss of a margin below `low` is linear, and the
    loss of a margin above `high` is 0. The entries of term t are ``low[t * step]`` and
    ``high[t * step]``, so the arrays have the shape (1,) for ``step = 0``, and (T,) for
    ``step = 1``.
    """

    low: NDArray
    high: NDArray
    step: int

    @classmethod
    def of(cls, low: NDArray, high: NDArray) -> Self:
        """Return the thresholds given by two arrays that :meth:`Terms.regions` yields."""
        return cls(low, high, int(high.size > 1))


class InnerProducts:
    """Inner products ``<a_t, x>`` of all terms with one x, computed a chunk at a time by a function
    ``(start, stop) -> (values, errors)``.
    """

    def __init__(self, chunk: Callable[[int, int], tuple[NDArray, NDArray]]):
        self._chunk = chunk

    def chunk(self, start: int, stop: int) -> Margins:
        """Return the :class:`Margins` of the terms ``start:stop``."""
        return Margins(*self._chunk(start, stop))

    @classmethod
    def of(cls, values: NDArray, errors: NDArray) -> InnerProducts:
        """Return the inner products that are given as two arrays of shape (T,)."""
        return cls(lambda start, stop: (values[start:stop], errors[start:stop]))


class Terms(ABC):
    """A finite family of elements a_t of a Euclidean space, one for each loss term.

    Attributes
    ----------
    offers : frozenset of str
        The :data:`CAPABILITIES` of the family.
    cone : Cone
        The cone in which the solution of a problem with these terms lies.
    threshold : float or array of shape (T,)
        ``tau_t``: the smallest margin at which term t costs nothing.
    weights : array of shape (T,) or None
        ``w_t > 0``: factors of the losses; None stands for 1. Dual variables do not contain them:
        ``alpha_t`` is minus the slope of the loss without its weight, and ``w_t alpha_t``
        multiplies ``a_t``.
    norms : array of shape (T,)
        Upper bounds of ``||a_t||``, tight to rounding.
    """

    cone: Any
    threshold: Any = 1.0
    weights: NDArray | None = None
    offers: frozenset[str] = frozenset({"singles"})

    @property
    def explicit(self) -> bool:
        """Whether the family stores numbers for each term, such as a norm, an entry of a mask or a
        dual variable.
        """
        return "singles" in self.offers

    def require(self, *capabilities: str, by: str, instead: str = "") -> None:
        """Raise a TypeError if these terms do not offer the capabilities. The error names the
        missing capabilities, the operation `by` that needs them, and what to do `instead`.
        """
        for name in capabilities:
            if name not in self.offers:
                text = f"{by} needs {CAPABILITIES[name]}, which {type(self).__name__} do not offer"
                raise TypeError(f"{text}: {instead}" if instead else text)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of terms T."""

    @property
    @abstractmethod
    def norms(self) -> NDArray:
        """Upper bounds of the norms ``||a_t||``, shape (T,)."""

    @property
    def longest(self) -> float:
        """An upper bound of all norms. The bound may be rough, so that no term has to be read."""
        return float(self.norms.max(initial=0.0))

    @abstractmethod
    def inner_products(self, x: ElementLike) -> InnerProducts:
        """Return the :class:`InnerProducts` with x.

        This call computes values that several terms share, such as one distance per pair.
        """

    @abstractmethod
    def loss_sums(self, x: ElementLike, loss: Loss, alpha: NDArray | None = None) -> LossSums:
        """Return the :class:`LossSums` at x. If `alpha` is given, shape (T,), it replaces
        ``alpha(<a_t, x>)``.
        """

    def hinge_sums(self, x: ElementLike, width: float) -> LossSums:
        """Return the hinge's :class:`LossSums` at x, with the dual point of the smoothed hinge of a
        width g > 0.

        ``loss_0(m) + loss_0*(-a) + a m``, summed over all terms, is
        ``sum loss_0 - sum loss_g - g/2 ||a||^2`` plus the Fenchel terms of the smoothed hinge. So
        no array of length T is needed. Cost: two calls of :meth:`loss_sums`.
        """
        kinked = self.loss_sums(x, SmoothedHinge(0.0))
        smooth = self.loss_sums(x, SmoothedHinge(width))
        difference = kinked.loss - smooth.loss - 0.5 * width * smooth.alpha_square
        rounding = gamma(len(self) + 100) * (
            kinked.loss + smooth.loss + width * smooth.alpha_square
        )
        fenchel = upper(max(difference, 0.0) + rounding + kinked.fenchel + smooth.fenchel, 8)
        return LossSums(
            loss=kinked.loss,
            adjoint=smooth.adjoint,
            adjoint_error=smooth.adjoint_error,
            fenchel=fenchel,
            alpha_sum=smooth.alpha_sum,
            alpha_square=smooth.alpha_square,
        )

    @abstractmethod
    def weighted_sum(self, weights: NDArray) -> tuple[ElementLike, float]:
        """Return ``(sum_t w_t weights_t a_t, bound of its rounding error)``; `weights` has the
        shape (T,) and is float or boolean.
        """

    @abstractmethod
    def select(self, keep: NDArray) -> Terms:
        """Return the terms of the boolean mask `keep`, in order. They share data with this object
        where possible.
        """

    def prepared(self, x: ElementLike) -> ElementLike:
        """Return x in a form from which inner products with these terms are cheap: x itself, or a
        copy of x with stored products. x does not change.
        """
        return x

    def sum_near(self, weights: NDArray, near: Iterable[Any]) -> tuple[ElementLike, float]:
        """Return the result of :meth:`weighted_sum`. A family whose sums are expensive may compute
        it from the known sums in the elements `near`; other families ignore `near`.
        """
        return self.weighted_sum(weights)

    def partition(
        self, status: NDArray, near: Iterable[Any] = ()
    ) -> tuple[Terms, ElementLike, float, NDArray]:
        """Return ``(undecided, total, error, numbers)``: the terms of status 0, the sum of the
        terms of status 1, a bound of the rounding error of that sum, and the numbers of the
        undecided terms.

        `status` is an int8 array of shape (T,): 0 undecided, 1 linear, 2 zero. The sum may be
        computed as :meth:`sum_near` does.
        """
        total, error = self.sum_near(status == 1, near)
        return self.select(status == 0), total, error, np.flatnonzero(status == 0).astype(np.int32)

    def total(self) -> tuple[ElementLike, float]:
        """Return ``(sum_t w_t a_t, bound of its rounding error)``."""
        return self.weighted_sum(np.ones(len(self), dtype=np.bool_))

    def max_inner_product(self, x: ElementLike) -> float:
        """Return ``max_t <a_t, x>``; ``-inf`` if there are no terms."""
        products = self.inner_products(x)
        return max(
            (float(products.chunk(*span)[0].max()) for span in self.chunks()), default=-np.inf
        )

    def margins(self, x: ElementLike) -> NDArray:
        """Return ``<a_t, x>`` for every term, shape (T,)."""
        products = self.inner_products(self.cone.check(x))
        out = np.empty(len(self))
        for start, stop in self.chunks():
            out[start:stop] = products.chunk(start, stop)[0]
        return out

    def adjoint(self, alpha: ArrayLike) -> ElementLike:
        """Return ``sum_t w_t alpha_t a_t``, an element of the space."""
        return self.weighted_sum(check_vector(alpha, len(self), "alpha"))[0]

    def alpha(self, x: ElementLike, loss: Loss) -> NDArray:
        """Return ``alpha(<a_t, x>)`` for every term, shape (T,)."""
        out = self.margins(x)
        for start, stop in self.chunks():
            out[start:stop] = loss.alpha(out[start:stop], self.thresholds(start, stop))
        return out

    def thresholds(self, start: int = 0, stop: int | None = None) -> Any:
        """Return the thresholds of the terms ``start:stop``: one number if all terms share it, else
        an array.
        """
        return self.threshold if np.ndim(self.threshold) == 0 else self.threshold[start:stop]

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ``(start, stop)`` pairs that cover all terms."""
        for start in range(0, len(self), CHUNK):
            yield start, min(start + CHUNK, len(self))

    def regions(self, loss: Loss) -> Iterator[tuple[int, int, NDArray, NDArray]]:
        """Yield ``(start, stop, low, high)`` over all terms: the loss of a margin below `low` is
        linear, and the loss of a margin above `high` is 0.

        `low` and `high` are arrays of length 1 or of the length of the chunk. For a loss without a
        linear region `low` equals `high`, and the caller drops the terms that lie below it.
        """
        width = loss.width if loss.has_linear_region else 0.0
        for start, stop in self.chunks():
            high = np.atleast_1d(np.asarray(self.thresholds(start, stop), dtype=float))
            yield start, stop, high - width, high

    @property
    def spreads(self) -> NDArray:
        """Upper bounds of the norms that count for one ball: `norms`, or smaller ones if a free
        intercept absorbs what all terms have in common.
        """
        return self.norms

    def regions_in(
        self,
        loss: Loss,
        views: Sequence[InnerProducts],
        radii: Sequence[float],
        norms: NDArray,
    ) -> Iterator[tuple[int, int, NDArray, NDArray]]:
        """Yield the :meth:`regions` that hold for a solution that lies in several balls.

        `views` are the inner products with the centers Q, and
        ``|<a_t, x*> - <a_t, Q>| <= radius norms_t`` for each of them. The thresholds depend on the
        balls only for a free intercept.
        """
        return self.regions(loss)

    def intercept(self, x: ElementLike, loss: Loss) -> float | None:
        """Return the best intercept at x if the intercept is free ("intercept"), else None."""
        return None

    def balanced(self, alpha: NDArray, x: ElementLike, loss: Loss) -> NDArray:
        """Return `alpha`; for a free intercept ("intercept"), a dual point near `alpha` that
        balances the classes up to rounding.
        """
        return alpha

    def with_threshold(self, threshold: ArrayLike) -> Self:
        """Return the same terms with another threshold, which is one number or an array of shape
        (T,).
        """
        terms = copy.copy(self)
        if np.ndim(threshold) == 0:
            terms.threshold = check_scalar(threshold, "threshold")
        elif self.explicit:
            terms.threshold = check_vector(threshold, len(self), "threshold")
        else:
            raise TypeError(
                f"threshold must be one number for {type(self).__name__}, got an array of "
                f"shape {np.shape(threshold)}"
            )
        return terms


def levels_of(terms: Terms, numbers: NDArray) -> tuple[Any, NDArray | None]:
    """Return the thresholds and the weights of some terms, given by a mask or by their numbers."""
    threshold = terms.threshold[numbers] if np.ndim(terms.threshold) else terms.threshold
    return threshold, None if terms.weights is None else terms.weights[numbers]


def check_weights(weights: ArrayLike | None, n: int, name: str = "weights") -> NDArray | None:
    """Return a copy of the weights of n terms, which must be positive and finite; return None for
    None.
    """
    if weights is None:
        return None
    weights = np.array(check_vector(weights, n, name))
    if n and not weights.min() > 0.0:
        raise ValueError(
            f"{name} must be positive, found {weights.min():g} at index {int(weights.argmin())}"
        )
    return weights


def check_signs(y: ArrayLike, n: int) -> NDArray:
    """Return the labels of n samples as floats. They must be -1 and +1, and both must occur."""
    if isinstance(y, np.ndarray) and y.dtype == np.float64 and y.shape == (n,) and n > 1:
        if (np.abs(y) == 1.0).all() and y.min() < y.max():
            return y.copy()
    y = check_labels(y, n)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(
            f"y must hold -1 and +1 only, found {np.setdiff1d(y, (-1, 1))[:5].tolist()}; "
            "SafeSVC takes any labels"
        )
    return y.astype(np.float64)


def check_terms(terms: Terms, name: str = "terms") -> Terms:
    """Return `terms` if they are a family of terms. Raise a TypeError otherwise."""
    return check_kind(terms, Terms, name, "a family of terms such as Triplets or Samples")
