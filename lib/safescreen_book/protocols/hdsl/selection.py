"""Held-out errors of the similarities and machines that HDSL19 compares, for the choice of their
parameters.

Each error is a pair: the errors on the first and on the second half of the held-out points, which
are in random order. Each half chooses the parameters for the other.
"""

import warnings
from typing import NamedTuple

import numpy as np

from safescreen.hdsl.frank_wolfe import FrankWolfe
from safescreen.hdsl.neighbors import NeighborError
from safescreen_book.protocols.hdsl.diagonal import fit_diagonal
from safescreen_book.protocols.hdsl.oasis import fit_oasis, pca_projection, random_projection
from safescreen_book.protocols.hdsl.svm import SVM_KINDS, fit_svm


class Split(NamedTuple):
    """Points to learn from, points held out, and the triplets of the former."""

    X: object
    y: np.ndarray
    X_new: object
    y_new: np.ndarray
    triplets: np.ndarray

    def halves(self):
        """Return the slices of the two halves of the points held out."""
        return slice(self.y_new.size // 2), slice(self.y_new.size // 2, None)

    def neighbor_error(self, k=3):
        """Return the errors of k nearest neighbours on both halves, shape (2,), as a function of
        the similarity.
        """
        errors = [
            NeighborError(self.X, self.y, self.X_new[half], self.y_new[half], k)
            for half in self.halves()
        ]
        return lambda similarity: np.array([error(similarity) for error in errors])


class Checkpoint(NamedTuple):
    """The similarity at some iteration: the number of the iteration, the errors on both halves of
    the held-out points, and the size.
    """

    iteration: int
    error: np.ndarray
    n_features: int
    n_atoms: int


class Errors(NamedTuple):
    """Errors on both halves of the points held out, and the number of features used."""

    error: np.ndarray
    n_features: int


def choose(errors):
    """Return for each half the setting with the smallest error on it, as a number in the flat grid,
    and the error of this setting on the other half.

    The array has the shape of the grid and a last axis of length two. Of equal errors the first one
    counts.

    >>> choose(np.array([[0.3, 0.1], [0.2, 0.4], [0.2, 0.0]]))
    (array([1, 2]), array([0.4, 0.2]))
    """
    errors = errors.reshape(-1, 2)
    best = errors.argmin(axis=0)
    return best, errors[best, [1, 0]]


def iterates(fold, scale, max_iter, every, random_state=0):
    """Train for `max_iter` steps and judge the similarity after each `every`; return the list of
    Checkpoint, and the fitted solver.

    >>> X, y, triplets = np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]])
    >>> fold = Split(X, y, X, y, triplets)
    >>> checkpoints, solver = iterates(fold, 1.0, 20, 10)
    >>> [checkpoint.iteration for checkpoint in checkpoints]
    [10, 20]
    """
    judge = fold.neighbor_error()
    found = []

    def monitor(similarity):
        """Every check counts as better: nothing stops early, and the last similarity is kept."""
        found.append(
            Checkpoint(
                (len(found) + 1) * every,
                judge(similarity),
                similarity.features.size,
                len(similarity),
            )
        )
        return -len(found)

    solver = FrankWolfe(scale, max_iter=max_iter, check_every=every, random_state=random_state).fit(
        fold.X, fold.triplets, monitor
    )
    if len(found) < max_iter // every:  # it was at its optimum before, and stays there
        monitor(solver.similarity_)
    while len(found) < max_iter // every:
        found.append(found[-1]._replace(iteration=(len(found) + 1) * every))
    return found[: max_iter // every], solver


def baseline(name, fold, parameter, random_state=0):
    """Return the :class:`Errors` of a method with which the paper compares, even if it has not
    converged.

    Parameters
    ----------
    name : {"dot", "diag-l2", "diag-l1", "linear-l2", "linear-l1", "poly-2", "poly-3"}
    fold : Split
    parameter : float
        The regularization of the diagonal, C of a machine; not used by "dot".
    random_state : int

    Examples
    --------
    >>> X, y, triplets = np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]])
    >>> fold = Split(X, y, X, y, triplets)
    >>> fold = fold._replace(X_new=np.eye(3)[[0, 1, 2, 2]], y_new=np.array([0, 0, 1, 0]))
    >>> baseline("linear-l2", fold, 10.0)
    Errors(error=array([0. , 0.5]), n_features=3)
    """
    d = fold.X.shape[1]
    with warnings.catch_warnings():
        # at one end of the grid the machines, and the diagonal, do not converge
        warnings.simplefilter("ignore")
        if name == "dot":
            return Errors(fold.neighbor_error()(None), d)
        if name.startswith("diag-"):
            similarity = fit_diagonal(
                fold.X, fold.triplets, parameter, name[5:], tol=1e-4, max_iter=2000
            )
            return Errors(fold.neighbor_error()(similarity), similarity.features.size)
        if name not in SVM_KINDS:
            raise ValueError(
                f"name must be dot, diag-l2, diag-l1, {', '.join(SVM_KINDS)}; got {name!r}"
            )
        machine = fit_svm(fold.X, fold.y, name, parameter, random_state=random_state, max_iter=5000)
        wrong = machine.predict(fold.X_new) != fold.y_new
        error = np.array([wrong[half].mean() for half in fold.halves()])
        return Errors(error, machine.features.size if name.startswith("linear") else d)


def projected(kind, fold, dimensions, rates, passes=1, random_state=0):
    """Return errors after a projection to few dimensions: those of the dot product, and those of
    OASIS with several rates.

    The array has a row for each dimension, the dot product in its first column, and pairs of
    errors. One projection is made, to the largest dimension (at most n for "pca"); `kind` is "rp"
    or "pca". The projections to fewer dimensions are its first columns, for "rp" in the scale of
    their dimension. `rates` are values of the aggressiveness of OASIS, which sees `passes` times as
    many random triplets as there are triplets.

    >>> X, y, triplets = np.eye(3), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]])
    >>> fold = Split(X, y, X, y, triplets)
    >>> projected("pca", fold, [2], [0.1]).shape
    (1, 2, 2)
    """
    top = max(dimensions)
    whole = (
        pca_projection(fold.X, top)
        if kind == "pca"
        else random_projection(fold.X.shape[1], top, random_state)
    )
    Z, Z_new = whole(fold.X), whole(fold.X_new)
    errors = np.empty((len(dimensions), 1 + len(rates), 2))
    for place, r in enumerate(dimensions):
        factor = 1.0 if kind == "pca" else np.sqrt(top / r)
        part = fold._replace(X=np.ascontiguousarray(factor * Z[:, :r]), X_new=factor * Z_new[:, :r])
        inside = part.neighbor_error()
        errors[place, 0] = inside(None)
        for column, rate in enumerate(rates, 1):
            errors[place, column] = inside(
                fit_oasis(part.X, fold.triplets, rate, passes * len(fold.triplets), random_state)
            )
    return errors
