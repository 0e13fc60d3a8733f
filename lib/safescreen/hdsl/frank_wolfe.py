"""Frank-Wolfe with away steps for sparse similarities (HDSL19 Algorithm 3)."""

import math
import time
import warnings
from typing import NamedTuple

import numpy as np

from safescreen._checks import check_callback, check_count, check_scalar
from safescreen._progress import progress_bar
from safescreen.hdsl.active import ActiveSet, check_start
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import FORWARD, exact
from safescreen.hdsl.line_search import LINE_SEARCHES
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.losses import SmoothedHinge
from safescreen.solvers import ConvergenceWarning, Progress

__all__ = ["VARIANTS", "FrankWolfe", "Iteration"]

VARIANTS = ("away", "pairwise", "plain")


class Iteration(NamedTuple):
    """State before a step, and the step: "forward", "away", "drop" (an away step to the end), "pairwise", "swap", "none"."""

    iteration: int
    objective: float
    gap: float
    n_atoms: int
    n_features: int
    step: str
    size: float
    error: float
    seconds: float


class FrankWolfe:
    """Minimise ``f(M) = 1/T sum_t loss(<A_t, M>)`` over ``D = conv{scale (e_i +- e_j)(e_i +- e_j)', i < j}`` (HDSL19 problem 4).

    With weights of the constraints ``f(M) = sum_t w_t loss(<A_t, M>) / sum_t w_t``.

    Each iteration moves towards the atom of the forward direction or away from an active one, whichever is steeper. The slope of the
    forward direction, ``<G, M - B>``, is the Frank-Wolfe gap. With ``forward="exact"`` and no `batch` it is an upper bound of
    ``f(M) - f*``; otherwise B is one atom of many and the number is a lower bound of the gap: :attr:`gap_`, computed at the end with the
    exact direction, is the certificate.

    Parameters
    ----------
    scale : float > 0
        The lambda of the paper.
    forward : {"heuristic", "exact"}
        How the atom is found, see :mod:`safescreen.hdsl.forward`.
    variant : {"away", "pairwise", "plain"}
        Away steps as in the paper; pairwise, which moves weight from the worst active atom to the new one; or forward steps only.
    line_search : {"exact", "bisection"}
    smoothing : float > 0
        Width of the quadratic part of the smoothed hinge, 1 in the paper.
    batch : int, optional
        Directions use so many constraints, drawn anew in each iteration without replacement; line searches use all. Weights do not change
        how they are drawn: with them as factors the mean of the batch is an unbiased estimate of the gradient.
    max_iter : int
    tol : float, optional
        Stop when the exact gap is at most this. With an approximate direction the exact gap is computed when the approximate one
        is below `tol`, at most every `check_every` iterations.
    check_every : int
        Iterations between two calls of the monitor.
    patience : int
        Stop when so many calls of the monitor in a row found no smaller error.
    random_state : int or numpy.random.Generator
        Draws the first atom, features and batches.
    progress : bool
        Show a progress bar on a terminal.

    Attributes
    ----------
    similarity_ : SparseSimilarity
        With a monitor the one of the smallest error, of equal ones the first; otherwise the last.
    gap_ : float
        Exact Frank-Wolfe gap of the last iterate; nan if it was interrupted.
    history_ : list of Iteration
    n_iter_ : int
    converged_ : bool
        Whether `tol` was reached.

    Notes
    -----
    Atoms ``i = j`` are no part of D, as in the paper: ``e_i e_i' + e_j e_j'`` is half the sum of two atoms. A feature without any entry
    in X is a feature like others; atoms of two of them change no similarity of the training points.

    Interrupting (Ctrl-C) ends the training as if `max_iter` had been reached, with a warning.

    Cost of an iteration ``O(P s + nnz(X) + T + k c)`` at most for P pairs of points, s entries a point, k atoms that touch c pairs each;
    nothing grows with d.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> solver = FrankWolfe(1.0, forward="exact", tol=1e-9).fit(X, [[0, 1, 2]])
    >>> solver.similarity_.atoms.tolist(), solver.gap_
    ([[0, 1, 1]], 0.0)
    """

    def __init__(
        self,
        scale,
        *,
        forward="heuristic",
        variant="away",
        line_search="exact",
        smoothing=1.0,
        batch=None,
        max_iter=10_000,
        tol=None,
        check_every=50,
        patience=20,
        random_state=0,
        progress=False,
    ):
        self.scale = check_scalar(scale, "scale", low=0.0, open_low=True)
        self.smoothing = check_scalar(smoothing, "smoothing", low=0.0, open_low=True)
        self.forward = _check_choice(forward, "forward", FORWARD)
        self.variant = _check_choice(variant, "variant", VARIANTS)
        self.line_search = _check_choice(line_search, "line_search", LINE_SEARCHES)
        self.batch = None if batch is None else check_count(batch, "batch")
        self.tol = None if tol is None else check_scalar(tol, "tol", low=0.0)
        self.max_iter, self.check_every = check_count(max_iter, "max_iter"), check_count(check_every, "check_every")
        self.patience = check_count(patience, "patience")
        self.random_state, self.progress = random_state, progress

    def fit(self, X, triplets, monitor=None, *, weights=None, start=None, callback=None):
        """Learn a similarity.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        triplets : int array of shape (T, 3)
            Rows (x, y, z): x should be more similar to y than to z.
        monitor : callable, optional
            ``monitor(similarity)`` returns an error, for instance :class:`NeighborError` on validation data; called every `check_every`
            iterations.
        weights : array of shape (T,), optional
            Not negative, one of them positive; only their ratios count. An integer stands for so many copies of a constraint, 0 leaves it
            out.
        start : SparseSimilarity, optional
            First iterate, of the same scale and number of features, for instance `similarity_` of another fit; one random atom if left out.
        callback : callable, optional
            ``callback(progress)`` every `check_every` iterations and at the end, with a :class:`~safescreen.solvers.Progress`; a true value
            ends the training.

        Returns
        -------
        FrankWolfe
            Itself.

        Raises
        ------
        TypeError
            `start` is no :class:`SparseSimilarity`.
        ValueError
            Points, triplets or weights that make no problem, `start` of another one, a `batch` of more constraints than have a weight.

        Warns
        -----
        ConvergenceWarning
            If `tol` was given and not reached.
        RuntimeWarning
            If it was interrupted.

        Notes
        -----
        Weights cost nothing; a start of k atoms costs O(k T) once, and its features join those the directions look at.

        Examples
        --------
        >>> X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
        >>> triplets, solver = [[0, 1, 2], [1, 2, 0]], FrankWolfe(2.0, forward="exact", tol=1e-9)
        >>> plain = solver.fit(X, triplets).similarity_
        >>> weighted = solver.fit(X, triplets, weights=[1.0, 3.0], start=plain).similarity_
        >>> plain.margins(X, triplets).round(3).tolist(), weighted.margins(X, triplets).round(3).tolist()
        ([0.8, 0.6], [0.571, 0.714])
        """
        if start is not None:
            check_start(start, self.scale)
        constraints = Constraints(X, triplets, weights, () if start is None else start.features)
        if start is not None and start.d != constraints.d:
            raise ValueError(f"start must have the {constraints.d} features of X, got {start.d}")
        run = _Run(self, constraints, monitor, start, check_callback(callback))
        try:
            run.loop()
        except KeyboardInterrupt:
            run.interrupted = True
        self.history_, self.n_iter_, self.converged_ = run.history, len(run.history), run.converged
        self.similarity_ = run.similarity() if run.best is None else run.best
        self.gap_ = math.nan if run.interrupted else run.exact_gap()
        if run.interrupted:
            text = f"Frank-Wolfe interrupted: what {self.n_iter_} iterations have found is returned"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        elif self.tol is not None and not self.converged_:
            text = f"gap {self.gap_:.3g} above tol={self.tol:g} after {self.n_iter_} iterations"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self


class _Run:
    """One training: the iterate as atoms and weights, and its margins u."""

    def __init__(self, settings, constraints, monitor, start=None, callback=None):
        self.settings, self.constraints, self.monitor, self.callback = settings, constraints, monitor, callback
        self.T, self.factors, self.loss = len(constraints), constraints.factors, SmoothedHinge(settings.smoothing)
        if settings.batch is not None and settings.batch > self.T:
            raise ValueError(f"batch must be at most the number of triplets {self.T} (of positive weight), got {settings.batch}")
        self.rng = np.random.default_rng(settings.random_state)
        self.forward, self.search = FORWARD[settings.forward], LINE_SEARCHES[settings.line_search]
        self.history, self.best, self.best_error, self.stale = [], None, math.inf, 0
        self.converged = self.interrupted = self.stopped = False
        self.scores, self.away_scores, self.values = np.empty(self.T), np.empty(self.T), np.empty(16)
        if start is None:
            first, second = sorted(self.rng.choice(constraints.features.size, 2, replace=False).tolist())
            self.active = ActiveSet((first, second, int(self.rng.choice((-1, 1)))))
        else:
            places = np.searchsorted(constraints.features, start.atoms[:, :2])
            self.active = ActiveSet.of(np.column_stack((places, start.atoms[:, 2])), start.weights)
        self.u = self.margins()

    def loop(self):
        settings, begun, gap = self.settings, time.perf_counter(), math.inf
        last_exact = -settings.check_every
        with progress_bar(settings.progress, "Frank-Wolfe", total=settings.max_iter) as bar:
            for k in range(settings.max_iter):
                error = self.check(k, gap, begun) if k and k % settings.check_every == 0 else math.nan
                if self.stale >= settings.patience or self.stopped:
                    return
                objective = self.objective()
                direction, gap, place, away_gap = self.directions()
                if settings.tol is not None and gap <= settings.tol and k - last_exact >= settings.check_every:
                    last_exact = k
                    self.converged = (gap if self.is_exact else self.exact_gap()) <= settings.tol
                elif self.is_exact and max(gap, away_gap) <= 0.0:
                    self.converged = True
                counts = len(self.active), self.active.n_features
                name, size = ("none", 0.0) if self.converged else self.step(direction, gap, place, away_gap)
                seconds = time.perf_counter() - begun
                self.history.append(Iteration(k, objective, gap, *counts, name, size, error, seconds))
                bar.update()
                if self.converged:
                    return
                if k % 500 == 499:
                    self.u = self.margins()  # what rounding has added up is taken away
            self.check(settings.max_iter, gap, begun)

    @property
    def is_exact(self):
        """Whether the gap of an iteration is a certificate."""
        return self.forward is exact and self.settings.batch is None

    def objective(self):
        """Return f(M)."""
        values = self.loss.value(self.u)
        return float((values if self.factors is None else self.factors * values).mean())

    def slopes(self):
        """Return ``g_t = -w_t loss'(u_t)``, weights of mean 1."""
        slopes = self.loss.alpha(self.u)
        return slopes if self.factors is None else self.factors * slopes

    def line_search(self, change, top):
        """Return the step in [0, top] along a change of the margins."""
        return self.search(self.u, change, top, self.settings.smoothing, weights=self.factors)

    def directions(self):
        """Return the forward atom and its slope, the place of the away atom and its slope, of all constraints or of a batch."""
        slopes, batch = self.slopes(), self.settings.batch
        if batch is not None:
            drawn = np.zeros(self.T)
            drawn[self.rng.choice(self.T, batch, replace=False, shuffle=False)] = 1.0
            slopes *= drawn
        count = self.T if batch is None else batch
        self.constraints.set_slopes(slopes)
        if len(self.active) > self.values.size:
            self.values = np.empty(2 * len(self.active))
        values = self.constraints.atom_values(self.active.atoms, self.values)
        place = int(np.argmin(values))
        direction = self.forward(self.constraints, self.rng)
        here, factor = float(slopes @ self.u) / count, self.settings.scale / count
        return direction, factor * direction.value - here, place, here - factor * float(values[place])

    def exact_gap(self):
        """Return ``max over atoms of <G, M - B>``, of all constraints and atoms: an upper bound of ``f(M) - f*``."""
        slopes = self.slopes()
        self.constraints.set_slopes(slopes)
        return (self.settings.scale * exact(self.constraints).value - float(slopes @ self.u)) / self.T

    def step(self, direction, gap, place, away_gap):
        """Take the step; return its kind and size."""
        variant, active = self.settings.variant, self.active
        atom, weight = tuple(direction[:3]), float(active.weights[place])
        worst = tuple(active.atoms[place].tolist())
        if variant == "plain" or (variant == "away" and (gap >= away_gap or len(active) == 1)):
            change = self.atom_scores(atom, self.scores)
            change -= self.u
            size = self.line_search(change, 1.0)
            if size > 0.0:
                active.forward(atom, size)
            name = "forward"
        elif variant == "away":
            change = np.subtract(self.u, self.atom_scores(worst, self.scores), out=self.scores)
            top = weight / (1.0 - weight)
            size = self.line_search(change, top)
            name = "drop" if size >= top else "away"
            if size > 0.0:
                active.away(place, size, name == "drop")
        else:
            change = self.atom_scores(atom, self.scores)
            change -= self.atom_scores(worst, self.away_scores)
            size = self.line_search(change, weight) if atom != worst else 0.0
            name = "swap" if size >= weight else "pairwise"
            if size > 0.0:
                active.shift(atom, place, size, name == "swap")
        if size <= 0.0:
            return "none", 0.0
        change *= size
        self.u += change
        return name, size

    def atom_scores(self, atom, out):
        """Return ``<A_t, B>`` of an atom, written to `out`."""
        return self.constraints.atom_scores(*atom, self.settings.scale, out)

    def margins(self):
        """Return ``u_t = <A_t, M>`` from the active set; O(k T)."""
        u = np.zeros(self.T)
        for atom, weight in zip(self.active.atoms.tolist(), self.active.weights, strict=True):
            u += weight * self.atom_scores(atom, self.scores)
        return u

    def check(self, k, gap, begun):
        """Ask the monitor, and keep the best similarity; tell the callback."""
        if self.monitor is None and self.callback is None:
            return math.nan
        similarity, error = self.similarity(), math.nan
        if self.monitor is not None:
            error = float(self.monitor(similarity))
            if error < self.best_error:
                self.best, self.best_error, self.stale = similarity, error, 0
            else:
                self.stale += 1
        if self.callback is not None:
            now = {"iteration": k, "primal": self.objective(), "gap": gap, "n_terms": self.T, "seconds": time.perf_counter() - begun}
            self.stopped = bool(self.callback(Progress(x=similarity, error=None if self.monitor is None else error, **now)))
        return error

    def similarity(self):
        """Return the iterate, in the features of X, sorted by them."""
        atoms, weights = self.active.atoms.copy(), self.active.weights / self.active.weights.sum()
        atoms[:, :2] = self.constraints.features[atoms[:, :2]]
        order = np.lexsort(atoms.T[::-1])
        return SparseSimilarity(atoms[order], weights[order], self.settings.scale, self.constraints.d)


def _check_choice(value, name, choices):
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value
