"""Points that are not samples of a space, such as held-out points, given by their kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safescreen.kernels.matrices import add_run
from safescreen.kernels.space import Expansion, lengths
from safescreen.terms.base import InnerProducts, Terms


class OtherPoints(Terms):
    """Points in the space of kernel samples, with the label 1. They are known only through the
    margins of elements of the space at these points.

    Parameters
    ----------
    terms : KernelSamples or FreeIntercept
        The samples. If they have a free intercept, it is part of the margins of the points too.
    values : array of shape (m, n_points)
        Kernel values of samples and points.
    rows : int array of shape (n,)
        The row of `values` that belongs to each sample of the space.
    squares : array of shape (n_points,)
        Kernel values of the points with themselves.
    """

    def __init__(self, terms: Any, values: NDArray, rows: NDArray, squares: NDArray):
        self.cone = terms.cone
        self.offers = frozenset({"singles", "intercept"} & terms.offers)
        self._norms = lengths(squares, self.cone.relative_error)
        self.signs = np.ones(squares.size)
        self._values = values
        self._rows = rows

    def __len__(self):
        return self.signs.size

    @property
    def norms(self) -> NDArray:
        """Upper bounds of the norms, shape (n_points,)."""
        return self._norms

    def inner_products(self, x: Expansion) -> InnerProducts:
        """Return all inner products; O(n_points) for each coefficient that is not 0. The error
        bound is the bound for samples, whose kernel values have the same accuracy.
        """
        used = np.flatnonzero(x.coef)
        sums = np.zeros(len(self))
        coef = (self.cone.signs * x.coef)[used]
        add_run(self._values, self._rows[used], coef, 0, sums)
        error = self.cone.product_error(used.size, x.scale)
        return InnerProducts.of(sums, self.norms * error + 1e-300)

    def _have_no_sums(self, *args: Any, **options: Any) -> Any:
        """Raise a TypeError."""
        raise TypeError("points that are no samples of a space have no sums in it")

    loss_sums = weighted_sum = select = _have_no_sums
