"""Sparse similarity learning by Frank-Wolfe, as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, check_random_state

from safescreen._checks import check_scalar, need_memory
from safescreen._warnings import warn
from safescreen.estimators._atomic import earlier, of_one_fit
from safescreen.estimators._data import kept, naming, need_partners, need_points
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

    As a transformer it maps x to coordinates, one for each atom of M, in which the similarity is
    the dot product. As a classifier it is the k-nearest-neighbour rule of the similarity.

    Parameters
    ----------
    scale : float > 0, optional
        Size of the domain of M, the lambda of the paper. If it is left out,
        :func:`~safescreen.hdsl.default_scale` computes it from the data: the smallest scale at
        which a multiple of the dot product has a median margin of 1, in absolute value.
    n_targets, n_impostors : int
        The triplets of a point are all combinations of its `n_targets` most similar points in its
        class and its `n_impostors` most similar points in other classes, by the dot product. If a
        class has fewer points, all of them are taken. A ValueError is raised if a number is larger
        than the number of all other points.
    triplets : {"nearest", "random"}
        "nearest" chooses triplets as above. "random" draws ``n_targets * n_impostors`` triplets for
        each point; the weights do not change the draw.
    loss : {"smoothed_hinge", "squared_hinge", "log_loss", "exponential"}
        Loss of the margin of a triplet (HDSL19 Remark 1). The last two are never 0.
    forward : {"heuristic", "exact"}
        How the next atom is chosen, see :class:`~safescreen.hdsl.FrankWolfe`.
    variant : {"away", "pairwise", "plain"}
        Which steps are taken, see :class:`~safescreen.hdsl.FrankWolfe`.
    max_iter : int
        Largest number of iterations.
    max_seconds : float, optional
        End the training with the first iteration after this many seconds; `reason_` is then "time".
    tol : float, optional
        Frank-Wolfe gap at which the training stops, in units of the mean loss and not relative to
        it. Without `tol`, a gap of 0 stops the training: the objective is then at its minimum.
    early_stopping : bool
        Set a part of the training points aside, and keep the similarity with the smallest neighbour
        error on these points.
    validation_fraction : float in (0, 1)
        The fraction of the training points that is set aside.
    patience, check_every : int
        The neighbour error is computed every `check_every` iterations. The training ends when the
        error has not fallen `patience` times in a row.
    n_neighbors : int
        Number of neighbours that the classifier uses. A ValueError is raised if :meth:`fit` gets
        fewer points of positive weight. :meth:`fit_triplets` does not use it.
    random_state : int, RandomState or None
        Seed of the heuristic, of random triplets and of the points that are set aside.
    warm_start : bool
        Start from the similarity of the last fit if the number of features is the same. Its atoms
        are scaled if `scale` has changed.
    callback : callable, optional
        ``callback(progress)`` with a :class:`~safescreen.Progress`, every `check_every` iterations.
        A true return value ends the training, and so does Ctrl-C.
    verbose : bool
        Show a progress bar on a terminal.
    preprocessor : array, data frame or sparse matrix of shape (n, d), or callable, optional
        As for :class:`TripletMetric`.

    Attributes
    ----------
    similarity_ : SparseSimilarity
        The learned similarity.
    scale_ : float
        The scale that was used.
    components_ : array of shape (n_atoms, d)
        The factor L of ``M = L'L``. It is computed on each access, and is a CSR array if X was
        sparse.
    features_ : array of int
        The features that M uses.
    n_iter_ : int
        Number of iterations.
    reason_ : str
        Why the training ended, see :class:`~safescreen.hdsl.FrankWolfe`.
    dual_gap_ : float
        Exact Frank-Wolfe gap of the last iterate: an upper bound of how far its objective is above
        the minimum. It is nan if Ctrl-C ended the training before the gap was computed; the model
        can still be used.
    history_ : list
        Records of the training, see :class:`~safescreen.hdsl.FrankWolfe`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn. There are no classes after :meth:`fit_triplets`.

    Warns
    -----
    ConvergenceWarning
        `tol` is given, and the gap did not reach it. The message says which gap was reached, and
        why the training ended.

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
    @of_one_fit
    def components_(self) -> Any:
        """The factor L of ``M = L'L``, shape (n_atoms, d); a CSR array if X was sparse."""
        return self._written(self.similarity_.factor())

    @of_one_fit
    def get_mahalanobis_matrix(self) -> Any:
        """Return the learned matrix M, shape (d, d).

        Returns
        -------
        array or COO array
            A sparse array if X was sparse: d may then be a million, and M has at most four entries
            for each atom.

        Raises
        ------
        MemoryError
            X was dense, and M takes more memory than is free. ``similarity_.to_sparse()`` always
            returns M as a sparse array.

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

    @of_one_fit
    def pair_score(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned similarities ``x'My`` of pairs of points. `pairs` are as for
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
            share = check_scalar(self.validation_fraction, "validation_fraction")
            try:
                train, validation = train_test_split(
                    train, test_size=share, random_state=seed, stratify=codes
                )
            except ValueError as error:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} cannot set a part of y "
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
        self._neighbors_ = X, codes, self.n_neighbors
        return self

    def _constraints(self, X, codes, seed):
        if not isinstance(self.triplets, str) or self.triplets not in ("nearest", "random"):
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
        last = getattr(earlier(self), "similarity_", None) if self.warm_start else None
        start = (
            replace(last, scale=solver.scale) if last is not None and last.d == X.shape[1] else None
        )
        with quiet():
            solver.fit(X, index, monitor, weights=weights, start=start, callback=self.callback)
        self.scale_ = solver.scale
        self.similarity_ = solver.similarity_
        self.history_ = solver.history_
        self.features_ = self.similarity_.features
        self._sparse_ = sparse.issparse(X)
        self.n_iter_ = solver.n_iter_
        self.dual_gap_ = solver.gap_
        self.reason_ = solver.reason_
        if solver.tol is not None and self.reason_ not in ("converged", "interrupted"):
            self._warn_of_gap(X)
        return self

    def _warn_of_gap(self, X):
        """Warn that the gap did not reach `tol`, and say why."""
        reasons = {
            "iterations": f"max_iter={self.max_iter} is reached",
            "time": f"max_seconds={self.max_seconds} is reached",
            "callback": "the callback ended it",
            "stalled": f"early_stopping ended it with patience={self.patience}",
        }
        text = f"gap {self.dual_gap_:.3g} after {self.n_iter_} iterations"
        reason = reasons[self.reason_] + scaling_hint(self, X)
        warn(f"{text}, asked for tol={self.tol:g}: {reason}", NotConverged)

    def _written(self, matrix):
        """Return a sparse matrix unchanged if X was sparse, else as a dense array."""
        if self._sparse_:
            return matrix
        n, d = matrix.shape
        sparse_ones = "use similarity_.factor() or similarity_.to_sparse(), which are sparse"
        need_memory(8.0 * n * d, f"a matrix of shape ({n}, {d})", sparse_ones)
        return matrix.toarray()

    def _seed(self):
        with naming("random_state"):
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
        points, codes, n_neighbors = self._neighbors_
        return self.classes_[predict_neighbors(self.similarity_(X, points), codes, n_neighbors)]
