"""Sparse similarity learning by Frank-Wolfe as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, check_random_state

from safescreen._checks import need_memory
from safescreen._warnings import warn
from safescreen.estimators._data import kept, need_partners, need_points
from safescreen.estimators._metric import Metric
from safescreen.estimators._training import NotConverged, quiet, scaling_hint
from safescreen.hdsl import (
    FrankWolfe,
    NeighborError,
    default_scale,
    nearest_triplets,
    predict_neighbors,
    random_triplets,
)
from safescreen.records import Progress


class HDSL(Metric):
    """Sparse bilinear similarity ``x'My`` for very many features, learned by Frank-Wolfe with away
    steps (HDSL19).

    As a transformer it maps x to the coordinates in which the similarity is the dot product, one
    for each atom of M; as a classifier it is the k-nearest-neighbour rule of the similarity.

    Parameters
    ----------
    scale : float > 0, optional
        Size of the domain, the lambda of the paper; left out that of
        :func:`~safescreen.hdsl.default_scale`, from the data: the smallest in which a multiple of
        the dot product has margins of 1.
    n_targets, n_impostors : int
        Constraints of each point: its targets of the same class times its impostors of others, the
        most similar by the dot product. Fewer where a class has not so many; ValueError if they are
        more than all other points.
    triplets : {"nearest", "random"}
        How they are chosen; "random" draws ``n_targets * n_impostors`` a point, uniformly whatever
        the weights.
    loss : {"smoothed_hinge", "squared_hinge", "log_loss", "exponential"}
        Of the margins of the triplets (HDSL19 Remark 1); the last two never let go of a triplet.
    forward : {"heuristic", "exact"}
    variant : {"away", "pairwise", "plain"}
    max_iter : int
    max_seconds : float, optional
        Stop with the first iteration after so many seconds; `reason_` is "time" then.
    tol : float, optional
        Frank-Wolfe gap to stop at, in units of the mean loss, not relative to it; left out, 0:
        nothing is left to gain.
    early_stopping : bool
        Keep the similarity with the smallest neighbour error on a part of the training points that
        is set aside.
    validation_fraction : float in (0, 1)
    patience, check_every : int
        Iterations between two looks at that error, and how many without a gain end the training.
    n_neighbors : int
        Of the classifier; ValueError if :meth:`fit` gets fewer points of positive weight.
        :meth:`fit_triplets` does not use it.
    random_state : int, RandomState or None
    warm_start : bool
        Start from the similarity of the last fit, with other atoms for another `scale`, if that had
        the same number of features.
    callback : callable, optional
        ``callback(progress)`` with a :class:`~safescreen.Progress`, every `check_every` iterations;
        a true value, or Ctrl-C, ends the training.
    verbose : bool
        Show a progress bar on a terminal.
    preprocessor : array, data frame or sparse matrix of shape (n, d), or callable, optional
        As for :class:`TripletMetric`.

    Attributes
    ----------
    similarity_ : SparseSimilarity
    scale_ : float
    components_ : array of shape (n_atoms, d)
        Factor L of ``M = L'L``, computed when it is asked for; a CSR array where X was sparse.
    features_ : array of int
        Features that M uses.
    n_iter_ : int
    reason_ : str
        Why training ended, as :class:`~safescreen.hdsl.FrankWolfe` tells it.
    dual_gap_ : float
        Exact Frank-Wolfe gap of the last iterate, an upper bound of how far its objective is from
        the optimum; nan if Ctrl-C ended the training there, which leaves a model.
    history_ : list
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; no classes after :meth:`fit_triplets`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = HDSL(max_iter=300).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:600], y[300:600]) > 0.8)
    True
    """

    _min_features = 2

    def __init__(
        self,
        scale: float | None = None,
        *,
        n_targets: int = 3,
        n_impostors: int = 5,
        triplets: str = "nearest",
        loss: str = "smoothed_hinge",
        forward: str = "heuristic",
        variant: str = "away",
        max_iter: int = 1000,
        max_seconds: float | None = None,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        patience: int = 20,
        check_every: int = 50,
        n_neighbors: int = 3,
        random_state: int | np.random.RandomState | None = 0,
        warm_start: bool = False,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
    ):
        self.scale = scale
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.triplets = triplets
        self.loss = loss
        self.forward = forward
        self.variant = variant
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.check_every = check_every
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.preprocessor = preprocessor

    @property
    def components_(self) -> Any:
        """Factor L of ``M = L'L``, shape (n_atoms, d); a CSR array where X was sparse."""
        return self._written(self.similarity_.factor())

    def get_mahalanobis_matrix(self) -> Any:
        """Return the learned matrix M, shape (d, d).

        Returns
        -------
        array or COO array
            A sparse one where X was sparse: there d may be a million, and M has at most four
            entries an atom.

        Raises
        ------
        MemoryError
            X was dense, and M would be more than the machine has; ``similarity_.to_sparse()`` is M
            as a sparse array in any case.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = HDSL(max_iter=20).fit(X[:200], y[:200])
        >>> M = model.get_mahalanobis_matrix()
        >>> M.shape, bool(np.linalg.eigvalsh(M)[0] > -1e-9)
        ((64, 64), True)
        >>> np.allclose(M, model.components_.T @ model.components_)
        True
        """
        check_is_fitted(self)
        return self._written(self.similarity_.to_sparse())

    def pair_score(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned similarities ``x'My`` of pairs of points, given as for
        :meth:`pair_distance`.
        """
        check_is_fitted(self)
        X, rows = self._read_tuples(pairs, 2, "pairs")
        mapped = self._map(X)
        return self._score(mapped[rows[:, 0]], mapped[rows[:, 1]])

    # ------------------------------------------------------------------ pieces of fit

    def _fit_labels(self, X, y, weights):
        numbers, weights = kept(weights, np.arange(y.size))
        X = X[numbers]
        codes = need_partners(y[numbers])[1]
        need_points(self.n_neighbors, "n_neighbors", codes)
        train = np.arange(numbers.size)
        seed = self._seed()
        monitor = None
        if self.early_stopping:
            try:
                train, validation = train_test_split(
                    train, test_size=self.validation_fraction, random_state=seed, stratify=codes
                )
            except ValueError as error:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} sets no part of y "
                    f"aside: {error}"
                ) from None
            shares = None if weights is None else weights[validation]
            monitor = NeighborError(
                X=X[train],
                y=codes[train],
                X_new=X[validation],
                y_new=codes[validation],
                k=self.n_neighbors,
                weights=shares,
            )
        index = self._constraints(X[train], codes[train], seed)
        self._fit_triplets(
            X[train], index, None if weights is None else weights[train][index[:, 0]], seed, monitor
        )
        self._neighbors = X, codes
        return self

    def _constraints(self, X, codes, seed):
        if self.triplets not in ("nearest", "random"):
            raise ValueError(f"triplets must be 'nearest' or 'random', got {self.triplets!r}")
        if self.triplets == "nearest":
            need_points(self.n_targets, "n_targets", codes, others=1)
            need_points(self.n_impostors, "n_impostors", codes, others=1)
            return nearest_triplets(X, codes, self.n_targets, self.n_impostors)
        return random_triplets(codes, self.n_targets * self.n_impostors, seed)

    def _fit_triplets(self, X, index, weights, seed=None, monitor=None):
        scale = default_scale(X, index) if self.scale is None else self.scale
        names = ("loss", "forward", "variant", "max_iter", "max_seconds", "tol", "check_every")
        options = {name: getattr(self, name) for name in (*names, "patience")}
        solver = FrankWolfe(
            scale,
            random_state=self._seed() if seed is None else seed,
            progress=self.verbose,
            **options,
        )
        last = self.__dict__.get("similarity_") if self.warm_start else None
        start = (
            replace(last, scale=solver.scale) if last is not None and last.d == X.shape[1] else None
        )
        with quiet():
            solver.fit(X, index, monitor, weights=weights, start=start, callback=self.callback)
        self.scale_ = solver.scale
        self.similarity_ = solver.similarity_
        self.history_ = solver.history_
        self.features_ = self.similarity_.features
        self._sparse = sparse.issparse(X)
        self.n_iter_ = solver.n_iter_
        self.dual_gap_ = solver.gap_
        self.reason_ = solver.reason_
        if solver.tol is not None and self.reason_ not in ("converged", "interrupted"):
            self._warn_of_gap(X)
        return self

    def _warn_of_gap(self, X):
        """Warn that the gap asked for was not reached, and say why."""
        reasons = {
            "iterations": f"max_iter={self.max_iter} is reached",
            "time": f"max_seconds={self.max_seconds} is reached",
            "callback": "the callback ended it",
            "stalled": f"early_stopping with patience={self.patience} ended it",
        }
        text = f"gap {self.dual_gap_:.3g} after {self.n_iter_} iterations"
        reason = reasons[self.reason_] + scaling_hint(self, X)
        warn(f"{text}, asked for tol={self.tol:g}: {reason}", NotConverged)

    def _written(self, matrix):
        """Return a sparse matrix as it is where X was sparse, else written out."""
        if self._sparse:
            return matrix
        n, d = matrix.shape
        sparse_ones = "similarity_.factor() and similarity_.to_sparse() are sparse"
        need_memory(8.0 * n * d, f"a matrix of shape ({n}, {d})", sparse_ones)
        return matrix.toarray()

    def _seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _n_features_out(self):
        return len(self.similarity_)

    def _factor(self):
        return self.similarity_.factor()

    def _map(self, X):
        return self.similarity_.transform(X).toarray()

    def _score(self, first, second):
        return np.sum(first * second, axis=1)

    def _vote(self, X):
        points, codes = self._neighbors
        return self.classes_[
            predict_neighbors(self.similarity_(X, points), codes, self.n_neighbors)
        ]
