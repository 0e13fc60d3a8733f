"""Held-out errors of the similarities and machines that HDSL19 compares, for the choice of their parameters."""

import warnings
from typing import NamedTuple

import numpy as np

from safescreen.hdsl.frank_wolfe import FrankWolfe
from safescreen.hdsl.neighbors import NeighborError
from safescreen_book.protocols.hdsl.diagonal import fit_diagonal
from safescreen_book.protocols.hdsl.oasis import Projection, fit_oasis, pca_projection, random_projection
from safescreen_book.protocols.hdsl.svm import SVM_KINDS, fit_svm

__all__ = ["Checkpoint", "Fold", "Outcome", "baseline", "cross_validation", "iterates", "projected"]


class Fold(NamedTuple):
    """Points to learn from, points to be judged by, and the triplets of the former."""

    X: object
    y: np.ndarray
    X_new: object
    y_new: np.ndarray
    triplets: np.ndarray

    def neighbor_error(self, k=3):
        """Return the error of k nearest neighbours as a function of the similarity."""
        return NeighborError(self.X, self.y, self.X_new, self.y_new, k)


class Checkpoint(NamedTuple):
    """A similarity on the way: after how many iterations, its error on the points held out, and its size."""

    iteration: int
    error: float
    n_features: int
    n_atoms: int


class Outcome(NamedTuple):
    """Error on the points held out, and the number of features used."""

    error: float
    n_features: int


def cross_validation(X, y, triplets, n_folds=5, n_repeats=1, random_state=0):
    """Return the :class:`Fold` s of a stratified cross-validation, each repeat in another random order.

    ``triplets(X, y, random_state)`` makes the triplets of the points left in.

    >>> from safescreen.hdsl import random_triplets
    >>> folds = cross_validation(np.eye(6), [0, 0, 0, 1, 1, 1], lambda X, y, seed: random_triplets(y, 2, seed), 3)
    >>> [(fold.X.shape, fold.y_new.tolist(), len(fold.triplets)) for fold in folds]
    [((4, 6), [0, 1], 8), ((4, 6), [0, 1], 8), ((4, 6), [0, 1], 8)]
    """
    from sklearn.model_selection import RepeatedStratifiedKFold

    y = np.asarray(y)
    split = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=random_state)
    folds = []
    for number, (left, out) in enumerate(split.split(np.zeros(y.size), y)):
        folds.append(Fold(X[left], y[left], X[out], y[out], triplets(X[left], y[left], random_state + number)))
    return folds


def iterates(fold, scale, max_iter, every, random_state=0):
    """Train for `max_iter` steps and judge the similarity after each `every`; return the list of Checkpoint, and the fitted solver.

    >>> fold = Fold(np.eye(3), np.array([0, 0, 1]), np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]]))
    >>> checkpoints, solver = iterates(fold, 1.0, 20, 10)
    >>> [checkpoint.iteration for checkpoint in checkpoints]
    [10, 20]
    """
    judge, found = fold.neighbor_error(), []

    def monitor(similarity):
        """Every check counts as better: nothing stops early, and the last similarity is kept."""
        found.append(Checkpoint((len(found) + 1) * every, judge(similarity), similarity.features.size, len(similarity)))
        return -len(found)

    solver = FrankWolfe(scale, max_iter=max_iter, check_every=every, random_state=random_state).fit(fold.X, fold.triplets, monitor)
    while len(found) < max_iter // every:  # it was at its optimum before
        monitor(solver.similarity_)
    return found[: max_iter // every], solver


def baseline(name, fold, parameter, random_state=0):
    """Return the :class:`Outcome` of a method the paper compares with, converged or not.

    Parameters
    ----------
    name : {"dot", "diag-l2", "diag-l1", "linear-l2", "linear-l1", "poly-2", "poly-3"}
    fold : Fold
    parameter : float
        The regularization of the diagonal, C of a machine; not used by "dot".
    random_state : int

    Examples
    --------
    >>> fold = Fold(np.eye(3), np.array([0, 0, 1]), np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]]))
    >>> baseline("linear-l2", fold, 10.0)
    Outcome(error=0.0, n_features=3)
    """
    d = fold.X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at one end of the grid the machines, and the diagonal, do not converge
        if name == "dot":
            return Outcome(fold.neighbor_error()(None), d)
        if name.startswith("diag-"):
            similarity = fit_diagonal(fold.X, fold.triplets, parameter, name[5:], tol=1e-4, max_iter=2000)
            return Outcome(fold.neighbor_error()(similarity), similarity.features.size)
        if name not in SVM_KINDS:
            raise ValueError(f"name must be dot, diag-l2, diag-l1, {', '.join(SVM_KINDS)}; got {name!r}")
        machine = fit_svm(fold.X, fold.y, name, parameter, random_state=random_state, max_iter=5000)
        wrong = machine.predict(fold.X_new) != fold.y_new
        return Outcome(float(wrong.mean()), machine.features.size if name.startswith("linear") else d)


def projected(kind, fold, dimensions, rates, random_state=0):
    """Return the errors after a projection to few dimensions: of the dot product there, and of OASIS at several rates.

    The array has a row a dimension, the dot product in its first column. One projection (`kind` is "rp" or "pca") is made, to the largest
    dimension; the others are its first columns. `rates` are the aggressiveness of OASIS, run over as many random triplets as there are.

    >>> fold = Fold(np.eye(3), np.array([0, 0, 1]), np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]]))
    >>> projected("pca", fold, [2], [0.1]).shape
    (1, 2)
    """
    d, top = fold.X.shape[1], max(dimensions)
    whole = pca_projection(fold.X, top) if kind == "pca" else random_projection(d, top, random_state)
    errors = np.empty((len(dimensions), 1 + len(rates)))
    for place, r in enumerate(dimensions):
        r = min(r, whole.R.shape[1])
        part = Projection(np.ascontiguousarray(whole.R[:, :r]), whole.mean)
        Z = np.ascontiguousarray(part(fold.X))
        inside = Fold(Z, fold.y, part(fold.X_new), fold.y_new, fold.triplets).neighbor_error()
        errors[place, 0] = inside(None)
        for column, rate in enumerate(rates, 1):
            errors[place, column] = inside(fit_oasis(Z, fold.triplets, rate, len(fold.triplets), random_state))
    return errors
