"""Metric learning from triplets, with safe screening."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from safescreen._checks import check_scalar, need_memory
from safescreen._warnings import warn
from safescreen.estimators._atomic import earlier, of_one_fit
from safescreen.estimators._data import kept, label, need_partners, need_points, uneven_columns
from safescreen.estimators._mahalanobis import Mahalanobis, Posed, dense, keep
from safescreen.estimators._metric import Metric
from safescreen.estimators._training import solver_options, train, watching
from safescreen.memory import triplets_bytes
from safescreen.paths import path
from safescreen.problem import Problem
from safescreen.products import ProductTriplets
from safescreen.records import Progress
from safescreen.terms import Triplets
from safescreen.terms.neighbors import class_sizes

LISTED = 10_000_000
"""The largest number of triplets that ``product="auto"`` lists."""


class TripletMetric(Mahalanobis, Metric):
    """Mahalanobis metric learned from triplets:
    ``min_M sum_t w_t loss(d_M(i, l)^2 - d_M(i, j)^2) + lam/2 ||M||^2`` over positive semidefinite
    M, with ``d_M(i, j)^2 = (x_i - x_j)'M(x_i - x_j)``.

    STS19 equation 2.2, solved to a certified duality gap. As a transformer it maps x to L x with
    ``M = L'L``. As a classifier it is the k-nearest-neighbour rule in that space.

    With more features than points, the full matrix is computed in the span of the points. The
    optimum lies in this span, because all differences of points do, and any other component of M
    only increases ``||M||``.

    Parameters
    ----------
    lam : float > 0, optional
        Weight of the regularization. Give it or `lam_ratio`, not both.
    lam_ratio : float > 0, optional
        Weight of the regularization, relative to the smallest lam at which all triplets lie in the
        linear region. It does not depend on the scale of the data or on the number of triplets. If
        neither is given, it is 0.01.
    k : int or None
        The triplets of a point are all combinations of its k nearest points in its class and its k
        nearest points in other classes. None takes all points. If a class has fewer than k points,
        all of them are taken, with a warning. A ValueError is raised if k is larger than the number
        of all other points.
    diagonal : bool
        Learn a weight for each feature instead of a full matrix.
    product : bool or "auto"
        Keep the triplets as products of lists and never list them one by one. This is for very many
        triplets, and needs weights of 1. "auto" keeps products for more than 10 million triplets.
        Products are not screened: `screening` must be "auto" or ().
    smoothing : float > 0
        Width of the smoothed hinge.
    tol : float > 0
        Duality gap to reach, relative to the objective; the `rtol` of :func:`safescreen.solve`.
    with_path : bool
        Solve for decreasing lam, from ``lam_max`` to the requested lam. Each solution is the start
        for the next lam, and screens triplets for it. `path_` keeps the path.
    path_ratio : float in (0, 1]
        Each lam of the path divided by the lam before it.
    screening : "auto" or tuple of str
        When to screen, and with which spheres, as in :func:`safescreen.solve`.
    active_set : bool
        Iterate on the triplets with a non-zero loss only, as in :func:`safescreen.solve`.
    max_iter : int
        Largest number of iterations for one lam.
    max_seconds : float, optional
        End the training with the first iteration after this many seconds. The metric is then the
        best metric so far, with its certified gap, and `reason_` is "time".
    n_neighbors : int
        Number of neighbours that the classifier uses. A ValueError is raised if :meth:`fit` gets
        fewer points of positive weight. :meth:`fit_triplets` does not use it.
    warm_start : bool
        Start from the metric of the last ``fit`` if the number of features is the same.
    callback : callable, optional
        ``callback(progress)`` with a :class:`~safescreen.Progress`, at each iteration, or at each
        lam of a path. A true return value ends the training.
    verbose : bool
        Show a progress bar on a terminal.
    keep_problem : bool
        Keep the problem, which holds all triplets, in `solution_` and in the solutions of `path_`.
    n_components : int, optional
        Number of rows of `components_`, at most d. If it is left out, it is the rank of M. A number
        below the rank gives the nearest metric of that rank, or the largest weights of a diagonal
        metric. A number above the rank adds rows of 0.
    preprocessor : array, data frame or sparse matrix of shape (n, d), or callable, optional
        Makes points from numbers or names. Points are then given by an array of shape (n,), and
        pairs and triplets by arrays of the shapes (n_pairs, 2) and (T, 3). A table holds the points
        as its rows. A function takes an array of names and returns an array of points of shape (n,
        d).
    l1 : float in [0, 1)
        Penalty of the sum of the weights of a diagonal metric, as a fraction of the smallest
        penalty that makes all weights 0. It makes most weights 0. A ValueError is raised if it is
        positive for a full matrix. Features that are certain to have the weight 0 are left out
        during the training.

    Attributes
    ----------
    components_ : array of shape (rank, d), or (n_components, d)
        The factor L. The first r rows of the factor of a full matrix give the nearest metric of
        rank r, so ``transform(X)[:, :2]`` can be plotted.
    lam_ : float
        The lam for which the metric was learned.
    l1_ : float
        The penalty of the sum of the weights, in units of the objective.
    n_iter_ : int
        Number of iterations; with a path, the number for its last lam.
    reason_ : str
        Why the training ended, see :class:`safescreen.Solution`.
    dual_gap_ : float
        Certified duality gap, in units of the objective. With more features than points, it
        certifies the problem in rounded coordinates of the span of the points.
    relative_gap_ : float
        The duality gap relative to the objective, in the unit of `tol`.
    screening_ : Screened or None
        The triplets that are certain at the exact optimum. Some were screened during the fit; the
        ball of the solution decides the others at the end. It is None for products, and after a
        path over more than 100,000 triplets; after such a path `solution_` only has the numbers
        ``n_L`` and ``n_R``.
    path_ : Path or None
        The path; None without `with_path`. Ctrl-C ends the path: the finished solutions are kept,
        and the metric belongs to the last of their lam, `lam_`.
    solution_ : Solution
        The solution, with its ``problem`` if `keep_problem` is true. With more features than
        points, its x is a matrix in coordinates of the span of the points.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn. There are no classes after :meth:`fit_triplets`.

    Warns
    -----
    UserWarning
        The ranges of two columns differ by a factor of more than 100, as in unscaled data; or k is
        larger than some class allows.
    ConvergenceWarning
        The tolerance was not reached. The warning is both scikit-learn's and the library's
        ConvergenceWarning. The message says which gap was reached, and why the solver stopped.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = TripletMetric(k=5).fit(X, y)
    >>> metric.get_mahalanobis_matrix().shape, bool(metric.score(X, y) > 0.95)
    ((4, 4), True)
    """

    def __init__(
        self,
        lam: float | None = None,
        *,
        lam_ratio: float | None = None,
        k: int | None = 5,
        diagonal: bool = False,
        product: bool | str = "auto",
        smoothing: float = 0.05,
        tol: float = 1e-4,
        with_path: bool = False,
        path_ratio: float = 0.8,
        screening: str | tuple[str, ...] = "auto",
        active_set: bool = False,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        n_neighbors: int = 5,
        warm_start: bool = False,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
        keep_problem: bool = False,
        n_components: int | None = None,
        preprocessor: Any = None,
        l1: float = 0.0,
    ):
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.k = k
        self.diagonal = diagonal
        self.product = product
        self.smoothing = smoothing
        self.tol = tol
        self.with_path = with_path
        self.path_ratio = path_ratio
        self.screening = screening
        self.active_set = active_set
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_neighbors = n_neighbors
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.keep_problem = keep_problem
        self.n_components = n_components
        self.preprocessor = preprocessor
        self.l1 = l1

    @of_one_fit
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the fraction of each class among the nearest training points of the points X,
        shape (n, n_classes).
        """
        X = self._compared(X)
        return self._neighbors_.predict_proba(self._map(X))

    # ------------------------------------------------------------------ pieces of fit

    def _check_sizes(self, X):
        super()._check_sizes(X)
        uneven = "" if sparse.issparse(X) else uneven_columns(self, X)
        if uneven:
            advice = (
                "so the largest decide which points are near: scale them (MinMaxScaler or "
                "StandardScaler)"
            )
            text = f"X has columns of very different sizes: {uneven}, {advice}"
            warn(text, UserWarning)

    def _fit_labels(self, X, y, weights):
        return self._learn(pose(self, X, y, weights), X)

    def _fit_triplets(self, X, triplets, weights):
        return self._fit_labels(X, triplets, weights)

    def _train(self, posed, lam):
        options = self._options()
        if self.with_path:
            factor = check_scalar(self.path_ratio, "path_ratio", low=0.0, high=1.0, open_low=True)
            return come_down(posed.problem, _lams_down_to(lam, posed.problem, factor), **options)
        start = self._start(posed.basis) if self.warm_start else None
        return train(posed.problem, lam, start, **options), None

    def _options(self):
        return {**solver_options(self, "active_set"), **watching(self)}

    def _start(self, basis):
        """Return the metric of the last fit as the start of a solve, or None if that fit had
        another number of features.
        """
        factor = getattr(earlier(self), "components_", None)
        if factor is None or factor.shape[1] != self.n_features_in_:
            return None
        factor = factor if basis is None else factor @ basis
        return {"x0": np.sum(factor * factor, axis=0) if self.diagonal else factor.T @ factor}

    def _labelled(self, X, y, weights, numbers=None):
        """Return the posed problem of the points with these numbers and a positive weight. Without
        `numbers` it has all points with a positive weight.
        """
        if numbers is None:
            numbers = np.arange(len(y))
        numbers, weights = kept(weights, numbers)
        X = dense(X[numbers])
        y = y[numbers]
        self.classes_, codes, counts = need_partners(y)
        need_points(self.n_neighbors, "n_neighbors", codes)
        if self.k is not None:
            most = np.minimum(counts - 1, len(y) - counts)
            few = int(np.argmin(np.where(counts > 1, most, len(y))))
            if most[few] < need_points(self.k, "k", codes, others=1):
                partners = (
                    f"{counts[few] - 1} others in its class and {len(y) - counts[few]} outside"
                )
                name = label(self.classes_[few])
                text = (
                    f"k={self.k} is larger than class {name} allows, where a point has {partners}: "
                    "its points get fewer triplets"
                )
                warn(f"{text}; take a smaller k or join small classes", UserWarning)
        product = self._product(codes, weights)
        coordinates, basis = self._coordinates(X)
        options = {"k": self.k, "diagonal": self.diagonal, "coordinates": coordinates}
        if product:
            terms = ProductTriplets(X, codes, **options)
        else:
            terms = Triplets.from_labels(X, codes, **options)
        if weights is not None:
            terms = Triplets(
                coordinates, terms.index, diagonal=self.diagonal, weights=weights[terms.index[:, 0]]
            )
        return Posed(self._problem(terms), basis, partial(self._remember, X, y))

    def _judged(self, X, triplets, weights, numbers=slice(None)):
        """Return the posed problem of the numbered triplets, by default of all triplets."""
        if self.product is True:
            raise ValueError("product=True needs labels: use fit, or product=False")
        weights = None if weights is None else weights[numbers]
        options = {"diagonal": self.diagonal, "weights": weights}
        return self._of_tuples(X, triplets[numbers], partial(Triplets, **options))

    def _problem(self, terms):
        """Return the problem of the terms, with the l1 penalty."""
        l1 = check_scalar(self.l1, "l1", low=0.0)
        if l1 >= 1.0:
            raise ValueError(f"l1 must be less than 1, which makes all weights 0, got {l1:g}")
        if l1 > 0.0 and not self.diagonal:
            raise ValueError(
                f"l1 penalises the weights of a diagonal metric, got l1={l1:g} with "
                "diagonal=False: use diagonal=True, or leave l1 out"
            )
        problem = super()._problem(terms)
        self.l1_ = 0.0
        if l1 == 0.0:
            return problem
        at_zero = problem.evaluate(problem.cone.zeros(), 1.0)
        # with the largest entry of H at 0 as the penalty, the optimum is 0
        self.l1_ = l1 * float(at_zero.plus.max())
        return Problem(terms, problem.loss, linear=np.full(problem.cone.d, -self.l1_))

    def _product(self, codes, weights):
        """Return whether the triplets are kept as products of lists. Raise a MemoryError if they
        must be listed and there are too many.
        """
        is_auto = isinstance(self.product, str) and self.product == "auto"
        if not isinstance(self.product, bool) and not is_auto:
            raise ValueError(f"product must be True, False or 'auto', got {self.product!r}")
        most = len(codes) if self.k is None else self.k
        n = float(np.dot(*(np.minimum(sizes, most).astype(float) for sizes in class_sizes(codes))))
        if self.product is True and weights is not None:
            raise ValueError(
                "product=True takes no sample_weight: leave it out, or use product=False"
            )
        product = self.product is True or (is_auto and weights is None and n > LISTED)
        if not product:
            advice = "leave sample_weight out" if weights is not None else "use product=True"
            need_memory(
                triplets_bytes(n),
                f"k={self.k} makes {n:.3g} triplets, which",
                f"{advice}, or take a smaller k",
            )
        return product

    def _remember(self, X, y):
        self._neighbors_ = KNeighborsClassifier(self.n_neighbors).fit(self._map(X), y)
        return self

    def _vote(self, X):
        return self._neighbors_.predict(self._map(X))


def pose(model, X, y, *others) -> Posed:
    """Return the :class:`Posed` problem for points that have been read, and their labels or
    triplets y.
    """
    if y.ndim == 2:
        return model._judged(X, y, *others)
    return model._labelled(X, y, *others)


def _lams_down_to(lam, prob, factor):
    """Return the decreasing lam of a path from ``lam_max`` to `lam`. Each lam is `factor` times the
    previous lam, except the last.
    """
    top = prob.lam_max()
    steps = 0
    if lam < top < np.inf and factor < 1.0:
        steps = int(np.ceil((np.log(lam) - np.log(top)) / np.log(factor)))
    return np.unique([*(top * factor ** np.arange(steps, dtype=float)), lam])[::-1]


def come_down(prob, lams, *, callback=None, bar="", keep_problem=False, **options):
    """Return the last solution of the path over decreasing lam, and the path. Ctrl-C ends the path;
    a KeyboardInterrupt is raised if there is no solution yet.

    The other parameters are the same as in :func:`~safescreen.estimators._training.train`.
    """
    solutions = path(prob, lams, callback=callback, progress=bool(bar), **options)
    if not len(solutions):
        raise KeyboardInterrupt
    solutions = solutions if keep_problem else solutions.without_problem()
    return solutions[-1], solutions


def fit_path(model, posed: Posed, lams) -> None:
    """Solve a posed problem for decreasing lam, and set the attributes of a fit from the path."""
    keep(model, posed, *come_down(posed.problem, lams, **model._options()))
