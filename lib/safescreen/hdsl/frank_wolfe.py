"""Frank-Wolfe with away steps for sparse similarities (HDSL19 Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from safescreen._checks import (
    check_callback,
    check_choice,
    check_count,
    check_flag,
    check_function,
    check_scalar,
    check_seed,
)
from safescreen._threads import with_small_blas
from safescreen._warnings import warn
from safescreen.hdsl._run import FrankWolfeIteration, run
from safescreen.hdsl.active import check_start
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import FORWARD
from safescreen.hdsl.line_search import LINE_SEARCHES
from safescreen.hdsl.losses import LOSSES
from safescreen.hdsl.settings import Settings
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.hdsl.training import Training
from safescreen.records import ConvergenceWarning, Progress

VARIANTS = ("away", "pairwise", "plain")


class _Before05:
    """The errors for what :class:`FrankWolfe` had up to version 0.4. They say what to write
    instead.
    """

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        if "screening" in parameters:
            raise TypeError(
                "FrankWolfe has no 'screening' of atoms since 0.5: leave it out, every feature is "
                "searched and the optimum is the same"
            )
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name == "n_features_left_":
            text += " since 0.5: every feature is searched, similarity_.features are those in use"
        raise AttributeError(text)


class FrankWolfe(_Before05):
    """A Frank-Wolfe solver that minimises ``f(M) = 1/T sum_t loss(<A_t, M>)`` over
    ``D = conv{scale (e_i +- e_j)(e_i +- e_j)', i < j}`` (HDSL19 problem 4).

    If the constraints have weights, ``f(M) = sum_t w_t loss(<A_t, M>) / sum_t w_t``.

    Each iteration moves towards the atom B of the forward direction, or away from an active atom,
    whichever direction is steeper. The slope of the forward direction, ``<G, M - B>`` with the
    gradient G, is the Frank-Wolfe gap. With ``forward="exact"`` and no `batch` it is an upper bound
    of ``f(M) - f*``. With the heuristic the slope is only a lower bound of the gap, and with a
    batch it is an estimate. The certificate is :attr:`gap_`, which is computed at the end with the
    exact direction.

    Parameters
    ----------
    scale : float > 0
        Size of the domain, the lambda of the paper.
    forward : {"heuristic", "exact"}
        How to search for the atom of the forward direction, see :mod:`safescreen.hdsl.forward`.
    variant : {"away", "pairwise", "plain"}
        "away" takes forward and away steps as in the paper. "pairwise" moves weight from the worst
        active atom to the new one. "plain" takes forward steps only.
    line_search : {"exact", "bisection"}
        How to compute the length of a step, see :mod:`safescreen.hdsl.line_search`.
    loss : {"smoothed_hinge", "squared_hinge", "log_loss", "exponential"}
        A loss of HDSL19 Remark 1, see :class:`~safescreen.hdsl.losses.MarginLoss`.
    smoothing : float > 0
        The smoothing of the two hinges. For the smoothed hinge it is the width of the quadratic
        piece, 1 in the paper. The squared hinge with smoothing 1/2 is ``max(0, 1 - u)^2``.
    batch : int, optional
        Number of constraints from which the directions are computed. These constraints are drawn
        anew in each iteration, without replacement. Line searches use all constraints. Weights do
        not change the probabilities of the draw. They multiply the terms of the batch, so the mean
        over the batch is an unbiased estimate of the gradient.
    max_iter : int
        Largest number of iterations.
    max_seconds : float, optional
        Stop with the first iteration after this number of seconds.
    tol : float, optional
        Stop when the exact gap is at most this, in units of the mean loss; 0 if left out. If the
        direction is not exact, the exact gap is computed when the gap of the iteration is at most
        `tol`, but not more often than every `check_every` iterations.
    check_every : int
        Number of iterations between two calls of the monitor.
    patience : int
        Stop after this many calls of the monitor in a row without a smaller error.
    random_state : int or numpy.random.Generator
        The generator, or its seed, that draws the first atom, features and batches.
    progress : bool
        Show a progress bar on a terminal.

    Attributes
    ----------
    similarity_ : SparseSimilarity
        With a monitor the first similarity with the smallest error, otherwise the last similarity.
    gap_ : float
        Exact Frank-Wolfe gap of the last iterate; nan if the training was interrupted.
    history_ : list of FrankWolfeIteration
        One record for each iteration: its number, objective, gap, number of atoms, number of
        features, kind and size of the step, error of the monitor, and seconds.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.
    reason_ : str
        Why the training ended: "converged", "iterations", "time", "callback", "interrupted", or
        "stalled" (`patience` calls of the monitor gave no smaller error).

    Raises
    ------
    ValueError, TypeError
        A parameter is out of its range.

    Notes
    -----
    As in the paper, there are no atoms with ``i = j``: ``e_i e_i' + e_j e_j'`` is half the sum of
    two atoms. A feature without any entry in X is treated like the other features. An atom of two
    such features changes no similarity of the training points.

    Ctrl-C ends the training as if `max_iter` had been reached, with a warning.

    Cost of an iteration: at most ``O(P s + nnz(X) + T + k c)``, for P pairs of points, s entries a
    point, and k atoms that touch c pairs each. It does not depend on d.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> solver = FrankWolfe(1.0, forward="exact", tol=1e-9).fit(X, [[0, 1, 2]])
    >>> solver.similarity_.atoms.tolist(), solver.gap_
    ([[0, 1, 1]], 0.0)
    """

    def __init__(
        self,
        scale: float,
        *,
        forward: str = "heuristic",
        variant: str = "away",
        line_search: str = "exact",
        loss: str = "smoothed_hinge",
        smoothing: float = 1.0,
        batch: int | None = None,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        tol: float | None = None,
        check_every: int = 50,
        patience: int = 20,
        random_state: int | np.random.Generator = 0,
        progress: bool = False,
    ):
        self.scale = check_scalar(scale, "scale", low=0.0, open_low=True)
        self.smoothing = check_scalar(smoothing, "smoothing", low=0.0, open_low=True)
        self.loss = check_choice(loss, LOSSES, "loss")
        self.forward = check_choice(forward, FORWARD, "forward")
        self.variant = check_choice(variant, VARIANTS, "variant")
        self.line_search = check_choice(line_search, LINE_SEARCHES, "line_search")
        self.batch = None if batch is None else check_count(batch, "batch")
        self.tol = None if tol is None else check_scalar(tol, "tol", low=0.0)
        self.max_iter = check_count(max_iter, "max_iter")
        if max_seconds is None:
            max_seconds = math.inf
        else:
            max_seconds = check_scalar(max_seconds, "max_seconds", low=0.0)
        self.max_seconds = max_seconds
        self.check_every = check_count(check_every, "check_every")
        self.patience = check_count(patience, "patience")
        check_seed(random_state)
        self.random_state = random_state
        self.progress = check_flag(progress, "progress")

    @with_small_blas
    def fit(
        self,
        X: Any,
        triplets: ArrayLike,
        monitor: Callable[[SparseSimilarity], float] | None = None,
        *,
        weights: ArrayLike | None = None,
        start: SparseSimilarity | None = None,
        callback: Callable[[Progress], Any] | None = None,
    ) -> Self:
        """Learn a similarity.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        triplets : int array of shape (T, 3)
            Rows (x, y, z): x should be more similar to y than to z.
        monitor : callable, optional
            ``monitor(similarity)`` returns an error, such as :class:`NeighborError` on validation
            data. It is called every `check_every` iterations, and when `max_iter` is reached.
        weights : array of shape (T,), optional
            Non-negative weights, not all 0. Only their ratios count. A weight of 3 is like three
            copies of a constraint, and a weight of 0 leaves it out.
        start : SparseSimilarity, optional
            First iterate, of the same scale and number of features, such as `similarity_` of
            another fit. If it is left out, the first iterate is a random atom.
        callback : callable, optional
            ``callback(progress)`` with a :class:`~safescreen.Progress`, every `check_every`
            iterations, and when `max_iter` is reached. Returning a true value ends the training.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The points, triplets or weights are out of their range, `start` is not a
            :class:`SparseSimilarity` or belongs to another problem, or `batch` is larger than the
            number of constraints with a weight.

        Warns
        -----
        ConvergenceWarning
            `tol` is given and was not reached.
        RuntimeWarning
            Ctrl-C ended the training.

        Notes
        -----
        Cost: weights cost nothing. A start of k atoms costs O(k T) once, and the directions also
        search its features.

        Examples
        --------
        >>> X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
        >>> triplets, solver = [[0, 1, 2], [1, 2, 0]], FrankWolfe(2.0, forward="exact", tol=1e-9)
        >>> plain = solver.fit(X, triplets).similarity_
        >>> weighted = solver.fit(X, triplets, weights=[1.0, 3.0], start=plain).similarity_
        >>> plain.margins(X, triplets).round(3).tolist()
        [0.8, 0.6]
        >>> weighted.margins(X, triplets).round(3).tolist()
        [0.571, 0.714]
        """
        settings = Settings.of(self)
        if start is not None:
            check_start(start, settings.scale)
        constraints = Constraints(X, triplets, weights, () if start is None else start.features)
        if start is not None and start.d != constraints.d:
            raise ValueError(f"start must have the {constraints.d} features of X, got {start.d}")
        callback = check_callback(callback)
        monitor = check_function(monitor, "monitor")
        training = Training(settings, constraints)
        outcome = run(training, training.first(start), monitor, callback)
        iterate = outcome.iterate
        interrupted = outcome.reason == "interrupted"
        similarity = training.similarity(iterate) if outcome.best is None else outcome.best
        gap = math.nan if interrupted else training.exact_gap(iterate)
        self.history_: list[FrankWolfeIteration] = outcome.history
        self.n_iter_ = len(outcome.history)
        self.reason_ = outcome.reason
        self.converged_ = outcome.reason == "converged"
        self.similarity_ = similarity
        self.gap_ = gap
        if interrupted:
            warn(
                f"Frank-Wolfe was interrupted: the result of {self.n_iter_} iterations is returned",
                RuntimeWarning,
            )
        elif self.tol is not None and not self.converged_:
            text = f"gap {self.gap_:.3g} above tol={self.tol:g} after {self.n_iter_} iterations"
            warn(text, ConvergenceWarning)
        return self
