"""Problems of the classes of a SafeSVC, and the starts of their solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._checks import check_scalar
from safescreen.estimators._atomic import earlier
from safescreen.estimators._data import class_factors, label
from safescreen.estimators._features import Features
from safescreen.estimators._keywords import are_pairs
from safescreen.estimators._votes import pairs
from safescreen.losses import Loss, SmoothedHinge, SquaredHinge
from safescreen.memory import WHOLE
from safescreen.problem import Problem

WHOLE_FOR_PAIRS = 10_000
"""Largest number of dense points for which the pairs of classes of a search share one kernel
matrix.
"""

WIDE = 128
"""Smallest number of columns of X at which the pairs of classes of a fit share one kernel matrix of
any size, if there is memory for it. With fewer columns, a pair of more than :data:`WHOLE` points
takes less time and memory if it computes its own rows.
"""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One problem of a classifier: some of the training points, with the labels 1 and -1.

    Attributes
    ----------
    places : array or slice
        The training points of the problem.
    signs : array
        The labels of these points.
    rows : array or int
        For each of these points, the row of the table of all coefficients that holds its
        coefficient.
    """

    places: Any
    signs: NDArray
    rows: Any


def tasks_of(codes: NDArray, present: NDArray, in_pairs: bool) -> list[Task]:
    """Return the problems of points with the class numbers `codes`. `present` holds the numbers of
    the classes that occur.

    With two classes the second class has the label 1. With more classes, each class has the label 1
    in its problem against all others. In the problem of a pair the first class has the label 1; the
    table of coefficients then has a row for each class other than the class of the point, in the
    order of the classes, as in SVC.
    """
    everything = slice(None)
    if not in_pairs:
        positive = present[1:] if present.size == 2 else present
        return [
            Task(places=everything, signs=np.where(codes == k, 1.0, -1.0), rows=number)
            for number, k in enumerate(positive)
        ]
    own = [np.flatnonzero(codes == k) for k in present]
    tasks = []
    for i, j in zip(*pairs(present.size), strict=True):
        sizes = own[i].size, own[j].size
        tasks.append(
            Task(
                places=np.concatenate((own[i], own[j])),
                signs=np.repeat((1.0, -1.0), sizes),
                rows=np.repeat((j - 1, i), sizes),
            )
        )
    return tasks


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The problems of all classes over the same training points.

    Attributes
    ----------
    features : Features
    numbers : array of shape (n,)
        The numbers of the training points.
    codes : array of shape (n,)
        The class number of each training point.
    present : array
        The numbers of the classes that have a sample.
    weights : array of shape (n,) or None
    loss : Loss
    in_pairs : bool
        Whether each problem separates a pair of classes, instead of one class from all others.
    tasks : list of Task
    """

    features: Features
    numbers: NDArray
    codes: NDArray
    present: NDArray
    weights: NDArray | None
    loss: Loss
    in_pairs: bool
    tasks: list[Task]

    def problem(self, task: Task) -> Problem:
        """Return the problem of a task."""
        weights = None if self.weights is None else self.weights[task.places]
        return Problem(self.features.terms(task.signs, weights, task.places), self.loss)

    def table(self, values):
        """Return the table of all coefficients. `values` has one array of coefficients for each
        task.
        """
        n_rows = 1 + max(int(np.max(task.rows)) for task in self.tasks)
        table = np.zeros((n_rows, self.numbers.size))
        for task, own in zip(self.tasks, values, strict=True):
            table[task.rows, task.places] = own
        return table

    def used(self, coefs):
        """Return the numbers of the columns that are not all 0, class by class."""
        places = np.flatnonzero(coefs.any(axis=0))
        return places[np.argsort(self.codes[places], kind="stable")]


def pose(model, X, y, numbers, weights, part=None, rows=slice(None)) -> Machines:
    """Return the :class:`Machines` of the training points with these numbers and weights. The
    weights None stand for weights of 1. Only classes with a sample of positive weight take part.

    The `classes_` of the model must be set. ``part(numbers)`` returns the features of the points
    with these numbers; without `part` the features are computed. `rows` are all training points,
    whatever their weights. Balanced class weights are computed from the number of these rows in
    each class, as in SVC; with ``kernel="linear"`` they are computed from the weights, as in
    LinearSVC.
    """
    if model.class_weight is not None:
        counted = (y[numbers], weights) if model.kernel == "linear" else (y[rows], None)
        factors = class_factors(model.class_weight, model.classes_, *counted)
        factors = factors[np.searchsorted(model.classes_, y[numbers])]
        positive = factors > 0.0
        weights = (factors if weights is None else factors * weights)[positive]
        numbers = numbers[positive]
    codes = np.searchsorted(model.classes_, y[numbers])
    in_pairs = are_pairs(model, model.classes_.size)
    if in_pairs:  # the points of a pair are then two slices of all points
        order = np.argsort(codes, kind="stable")
        numbers = numbers[order]
        codes = codes[order]
        weights = None if weights is None else weights[order]
    present = np.unique(codes)
    if present.size < 2:
        _refuse(model, present)
    if part is None:
        given = model.kernel == "precomputed"
        points = X[np.ix_(numbers, numbers)] if given else X[numbers]
        features = Features.of(model, points, whole_of_fit(model, points))
    else:
        features = part(numbers)
    return Machines(
        features=features,
        numbers=numbers,
        codes=codes,
        present=present,
        weights=weights,
        loss=loss_of(model),
        in_pairs=in_pairs,
        tasks=tasks_of(codes, present, in_pairs),
    )


def whole_of(model) -> int | None:
    """Return the largest number of dense points whose kernel matrix is kept for pairs of classes to
    share it; None without pairs.
    """
    return WHOLE_FOR_PAIRS if are_pairs(model, model.classes_.size) else None


def whole_of_fit(model, X) -> int | None:
    """Return the largest number of dense points whose kernel matrix is kept in one fit to points X;
    None without pairs.
    """
    n_classes = model.classes_.size
    if not are_pairs(model, n_classes):
        return None
    return X.shape[0] if X.shape[1] >= WIDE else WHOLE * n_classes // 2


def _refuse(model, present):
    """Raise a ValueError that says which one class is left, if any."""
    left = f"one class: {label(model.classes_[present[0]])}" if present.size else "none"
    if isinstance(model.class_weight, dict):
        rule = "class_weight must give a positive weight to two classes of y at least"
        raise ValueError(f"{rule}, got {model.class_weight!r}, which leaves {left}")
    raise ValueError(f"y must hold at least two classes, got {left}")


def loss_of(model) -> Loss:
    """Return the loss of a SafeSVC."""
    smoothing = check_scalar(model.smoothing, "smoothing", low=0.0)
    if not isinstance(model.loss, str) or model.loss not in ("hinge", "squared_hinge"):
        raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {model.loss!r}")
    if model.loss == "hinge":
        return SmoothedHinge(smoothing)
    if smoothing > 0.0:
        raise ValueError(
            f"smoothing must be 0 for the squared hinge, which is smooth, got {smoothing:g}"
        )
    return SquaredHinge(0.5)


def starts_of(model, setup):
    """Return the starts of the solves of a warm start, by number of the problem."""
    last = earlier(model)
    points = getattr(last, "_dual_points_", [])
    features = setup.features
    is_linear = features.kernel == "linear"
    tasks = setup.tasks
    if hasattr(last, "coef_") is not is_linear:
        return {}
    if is_linear:
        is_of_use = last.n_features_in_ == model.n_features_in_
    else:
        sizes = [point.packed[0] for point in points]
        is_of_use = sizes == [task.signs.size for task in tasks]
    if not is_of_use:
        return {}
    return {
        k: last_point(last, k, features, task, setup.numbers.size)
        for k, task in enumerate(tasks[: len(points)])
    }


def last_point(model, k, features, task, n):
    """Return the solution of problem `k` of a fitted model as the keywords `x0` and `alpha0` of
    :func:`~safescreen.solve`.

    `x0` is an element of the space of `features`, and `alpha0` a dual point. `n` is the number of
    training points.
    """
    alpha = model._dual_points_[k].unpack()
    if features.kernel != "linear":
        table = np.zeros((len(model._weights_), n))
        table[:, model._places_] = model._weights_
        return {"x0": table[task.rows, task.places] * task.signs, "alpha0": alpha}
    coef = model.coef_[[k]]
    x = (coef.toarray() if sparse.issparse(coef) else coef)[0, features.columns]
    if features.constant:
        b = 0.0 if features.is_free else model.intercept_[k]
        x = np.append(x, b / features.constant)
    return {"x0": x, "alpha0": alpha}
