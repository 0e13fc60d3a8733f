"""One training by Frank-Wolfe: the iterate, its directions and its steps."""

import math
import time
from typing import NamedTuple

import numpy as np

from safescreen._progress import progress_bar
from safescreen.hdsl.active import ActiveSet
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import FORWARD, exact
from safescreen.hdsl.line_search import LINE_SEARCHES
from safescreen.hdsl.looks import Looks
from safescreen.hdsl.losses import MarginLoss
from safescreen.hdsl.screening import (
    SCREENED_LOSSES,
    Sizes,
    atoms_excluded,
    features_excluded,
    slope_ball,
)
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.records import Progress

LARGEST_MARGIN = 1e120
"""Largest product of the scale and a squared entry of X."""


class Iteration(NamedTuple):
    """The state before a step, and the step: "forward", "away", "drop" (an away step that removes
    its atom), "pairwise", "swap" (a pairwise step that removes its atom), or "none".
    """

    iteration: int
    objective: float
    gap: float
    n_atoms: int
    n_features: int
    step: str
    size: float
    error: float
    seconds: float


class Training:
    """One training: the iterate as atoms and weights, and its margins u."""

    def __init__(
        self,
        settings,
        constraints: Constraints,
        monitor=None,
        start: SparseSimilarity | None = None,
        callback=None,
    ):
        self.settings = settings
        self.constraints = constraints
        self.all_constraints = constraints
        self.sizes: Sizes | None = None
        self.looks = looks_of(settings)
        self.monitor = monitor
        self.callback = callback
        self.T = len(constraints)
        self.factors = constraints.factors
        self.loss = MarginLoss(settings.loss, settings.smoothing)
        if settings.batch is not None and settings.batch > self.T:
            raise ValueError(
                f"batch must be at most {self.T}, the number of triplets of positive weight, "
                f"got {settings.batch}"
            )
        entry = float(np.abs(constraints.X.data).max(initial=0.0))
        largest = settings.scale * entry * entry
        if largest > LARGEST_MARGIN:
            raise ValueError(
                f"scale must be smaller: {settings.scale:g} makes margins of size {largest:.3g}, "
                "whose squares overflow"
            )
        self.rng = np.random.default_rng(settings.random_state)
        self.forward = FORWARD[settings.forward]
        self.search = LINE_SEARCHES[settings.line_search]
        self.history: list[Iteration] = []
        self.best = None
        self.best_error = math.inf
        self.stale = 0
        self.reason = ""
        self.scores = np.empty(self.T)
        self.away_scores = np.empty(self.T)
        self.values = np.empty(16)
        if start is None:
            first, second = sorted(
                self.rng.choice(constraints.features.size, 2, replace=False).tolist()
            )
            self.active = ActiveSet([(first, second, int(self.rng.choice((-1, 1))))], [1.0])
        else:
            places = np.searchsorted(constraints.features, start.atoms[:, :2])
            self.active = ActiveSet(np.column_stack((places, start.atoms[:, 2])), start.weights)
        self.u = self.margins()
        if not math.isfinite(self.objective()):
            raise ValueError(
                f"scale must be smaller: the loss {settings.loss!r} overflows at the first "
                f"iterate, which has the margin {self.u.min():.3g}"
            )

    def loop(self):
        settings = self.settings
        begun = time.perf_counter()
        gap = math.inf
        last_exact = -settings.check_every
        if settings.tol is not None:
            goal = settings.tol
        else:
            goal = -math.inf if self.is_exact else 0.0
        with progress_bar(settings.progress, "Frank-Wolfe", total=settings.max_iter) as bar:
            for k in range(settings.max_iter):
                error = math.nan
                if k and k % settings.check_every == 0:
                    error = self.check(k, gap, begun)
                if not self.reason and k and time.perf_counter() - begun >= settings.max_seconds:
                    self.reason = "time"
                if self.reason:
                    return
                direction, gap, place, away_gap = self.directions()
                if self.is_look_due(gap):
                    self.look(gap)
                    direction, gap, place, away_gap = self.directions()
                objective = self.objective()
                if gap <= goal and k - last_exact >= settings.check_every:
                    last_exact = k
                    is_whole = self.is_exact and self.constraints.is_whole
                    is_reached = (gap if is_whole else self.exact_gap()) <= goal
                    self.reason = "converged" if is_reached else ""
                elif self.is_exact and max(gap, away_gap) <= 0.0:
                    self.reason = "converged"
                n_atoms = len(self.active)
                n_features = self.active.n_features
                if self.reason:
                    name = "none"
                    size = 0.0
                else:
                    name, size = self.step(direction, gap, place, away_gap)
                self.history.append(
                    Iteration(
                        iteration=k,
                        objective=objective,
                        gap=gap,
                        n_atoms=n_atoms,
                        n_features=n_features,
                        step=name,
                        size=size,
                        error=error,
                        seconds=time.perf_counter() - begun,
                    )
                )
                bar.update()
                if self.reason:
                    return
                if k % 500 == 499:
                    self.u = self.margins()  # removes the rounding errors that have added up
            self.check(settings.max_iter, gap, begun)
            self.reason = "iterations"

    @property
    def is_exact(self):
        """Whether the gap of an iteration is a certificate."""
        return self.forward is exact and self.settings.batch is None

    def objective(self):
        """Return f(M)."""
        values = self.loss.value(self.u)
        return float((values if self.factors is None else self.factors * values).mean())

    def slopes(self):
        """Return ``g_t = -w_t loss'(u_t)``, with weights of mean 1."""
        slopes = self.loss.alpha(self.u)
        return slopes if self.factors is None else self.factors * slopes

    def directions(self):
        """Return the forward atom and its slope, and the place of the away atom and its slope, for
        all constraints or for a batch.
        """
        slopes = self.slopes()
        batch = self.settings.batch
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
        here = float(slopes @ self.u) / count
        factor = self.settings.scale / count
        return (
            direction,
            factor * direction.value - here,
            place,
            here - factor * float(values[place]),
        )

    def exact_gap(self):
        """Return ``max over atoms of <G, M - B>``, of all constraints and atoms, those that
        screening has excluded among them: an upper bound of ``f(M) - f*``.
        """
        slopes = self.slopes()
        self.all_constraints.set_slopes(slopes)
        best = exact(self.all_constraints).value
        return max(self.settings.scale * best - float(slopes @ self.u), 0.0) / self.T

    def is_look_due(self, gap):
        """Say whether to look for features that no optimum uses."""
        if self.looks.mode == "none":
            return False
        slopes = self.loss.alpha(self.u)
        counts = 1.0 if self.factors is None else self.factors
        inner = float((counts * slopes) @ self.u) / self.T
        harmful = np.where(self.u > 0.0, slopes > 0.0, slopes < self.loss.cap) * self.u
        norm = math.sqrt(float(np.sum(counts * harmful**2)) / self.T / self.loss.smoothing)
        return self.looks.is_due(self.constraints, gap, inner, norm)

    def look(self, gap):
        """Take excluded active atoms out, and leave excluded features out of the constraints.

        The margins are computed anew. One line search moves away from all excluded active atoms at
        once: each is worse than the iterate, so that is a direction of descent. Features of atoms
        that keep a weight stay."""
        constraints = self.constraints
        if self.sizes is None:
            self.sizes = Sizes.of(constraints)
        atoms = self.active.atoms
        settings = self.settings
        ball = slope_ball(
            constraints, self.sizes, self.loss, settings.scale, atoms, self.active.weights
        )
        self.u = ball.margins.copy()
        gone = atoms_excluded(constraints, ball, atoms)
        if gone.any() and not gone.all():
            self.move_away(gone)
        left = ~features_excluded(constraints, self.sizes, ball)
        left[self.active.atoms[:, :2].ravel()] = True
        n_excluded = int(left.size - np.count_nonzero(left))
        if n_excluded:
            places = np.flatnonzero(left)
            constraints = constraints.restricted(places)
            sizes = self.sizes.restricted(places)
            atoms = self.active.renamed(np.cumsum(left) - 1)
            # with no call in between, so that Ctrl-C finds atoms and features that belong together
            self.constraints = constraints
            self.sizes = sizes
            self.active.atoms = atoms
        self.looks.record(gap, n_excluded)

    def move_away(self, gone):
        """Move weight from the atoms marked in `gone` to the others, as far as the loss falls."""
        weights = self.active.weights
        share = float(weights[gone].sum())
        away = np.zeros(self.T)
        for atom, weight in zip(self.active.atoms[gone].tolist(), weights[gone], strict=True):
            away += weight * self.atom_scores(tuple(atom), self.scores)
        # the others alone, with all the weight, less the iterate
        change = (self.u - away) / (1.0 - share) - self.u
        size = self.search(self.u, change, 1.0, self.loss, weights=self.factors)
        if size > 0.0:
            self.active.lighten(gone, size)
            self.u = self.margins()

    def step(self, direction, gap, place, away_gap):
        """Take the step, and return its kind and its size."""
        variant = self.settings.variant
        active = self.active
        atom = tuple(direction[:3])
        worst = tuple(active.atoms[place].tolist())
        weight = float(active.weights[place])
        if variant == "plain" or (variant == "away" and (gap >= away_gap or len(active) == 1)):
            name = "forward"
            to_the_end = "forward"
            top = 1.0
            change = self.atom_scores(atom, self.scores)
            change -= self.u
        elif variant == "away":
            name = "away"
            to_the_end = "drop"
            top = weight / (1.0 - weight)
            change = np.subtract(self.u, self.atom_scores(worst, self.scores), out=self.scores)
        else:
            name = "pairwise"
            to_the_end = "swap"
            top = 0.0 if atom == worst else weight
            change = self.atom_scores(atom, self.scores)
            change -= self.atom_scores(worst, self.away_scores)
        size = self.search(self.u, change, top, self.loss, weights=self.factors)
        if size <= 0.0:
            return "none", 0.0
        if name == "forward":
            active.move(1.0 - size, size, to=atom)
        elif name == "away":
            active.move(1.0 + size, size, place=place, drop=size >= top)
        else:
            active.move(1.0, size, to=atom, place=place, drop=size >= top)
        change *= size
        self.u += change
        return to_the_end if size >= top else name, size

    def atom_scores(self, atom, out):
        """Return ``<A_t, B>`` of an atom, written to `out`."""
        return self.constraints.atom_scores(*atom, self.settings.scale, out)

    def margins(self):
        """Return ``u_t = <A_t, M>`` from the active set; cost O(k T)."""
        u = np.zeros(self.T)
        for atom, weight in zip(self.active.atoms.tolist(), self.active.weights, strict=True):
            u += weight * self.atom_scores(atom, self.scores)
        return u

    def check(self, k, gap, begun):
        """Call the monitor and keep the best similarity; call the callback. Return the error, nan
        without a monitor.
        """
        if self.monitor is None and self.callback is None:
            return math.nan
        similarity = self.similarity()
        error = math.nan
        if self.monitor is not None:
            error = float(self.monitor(similarity))
            if error < self.best_error:
                self.best = similarity
                self.best_error = error
                self.stale = 0
            else:
                self.stale += 1
                if self.stale >= self.settings.patience:
                    self.reason = "stalled"
        if self.callback is not None:
            now = {
                "iteration": k,
                "primal": self.objective(),
                "gap": gap,
                "n_terms": self.T,
                "seconds": time.perf_counter() - begun,
            }
            now["error"] = None if self.monitor is None else error
            if self.callback(Progress(x=similarity, **now)):
                self.reason = "callback"
        return error

    def similarity(self):
        """Return the iterate in the features of X, with its atoms sorted by them."""
        atoms = self.active.atoms.copy()
        weights = self.active.weights / self.active.weights.sum()
        atoms[:, :2] = self.constraints.features[atoms[:, :2]]
        order = np.lexsort(atoms.T[::-1])
        return SparseSimilarity(
            atoms[order], weights[order], self.settings.scale, self.constraints.d
        )


def looks_of(settings):
    """Return the looks that settings ask for. Those of "auto" need a gap that is a certificate
    in every iteration: that of the exact direction, of all constraints.
    """
    is_exact = FORWARD[settings.forward] is exact and settings.batch is None
    if settings.screening == "auto" and not (is_exact and settings.loss in SCREENED_LOSSES):
        return Looks("none")
    return Looks(settings.screening)
