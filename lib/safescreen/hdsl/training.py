"""The computations of an iteration of Frank-Wolfe: directions, certificates and steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safescreen.hdsl.active import AtomSet
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import FORWARD, Direction, exact
from safescreen.hdsl.line_search import LINE_SEARCHES
from safescreen.hdsl.losses import MarginLoss
from safescreen.hdsl.settings import Settings
from safescreen.hdsl.similarity import SparseSimilarity

LARGEST_MARGIN = 1e120
"""Largest product of the scale and a squared entry of X that is accepted."""


class Iterate(NamedTuple):
    """An iterate, which never changes: a step returns the next iterate. So after Ctrl-C atoms and
    margins belong together.

    Attributes
    ----------
    active : AtomSet
        Atoms, and their weights.
    u : array of shape (T,)
        Margins ``<A_t, M>``.
    """

    active: AtomSet
    u: np.ndarray


class Directions(NamedTuple):
    """The two directions from an iterate.

    Attributes
    ----------
    forward : Direction
        The atom to move to.
    gap : float
        The slope ``<G, M - B>`` of the forward direction to the atom B, the Frank-Wolfe gap.
    place : int
        Place of the active atom to move away from.
    away_gap : float
        The slope ``<G, B - M>`` of the direction away from this atom B.
    """

    forward: Direction
    gap: float
    place: int
    away_gap: float


class Move(NamedTuple):
    """A move of weight to the atom `to` from the active atom at `place`. None stands for all active
    atoms, in proportion.

    Attributes
    ----------
    kind, to_the_end : str
        The name of a step, see :class:`FrankWolfeIteration`, and its name if its size is `top`.
    top : float
        Largest size of the step.
    to : tuple or None
        Places of two features, and a sign.
    place : int or None
    """

    kind: str
    to_the_end: str
    top: float
    to: tuple[int, int, int] | None = None
    place: int | None = None


class Step(NamedTuple):
    """A step: the iterate after it, its kind, see :class:`FrankWolfeIteration`, and its size."""

    iterate: Iterate
    kind: str
    size: float


class Training:
    """The objective of Frank-Wolfe, and the computations at an iterate. Only the random generator
    changes in the course of a training.
    """

    def __init__(self, settings: Settings, constraints: Constraints):
        self.settings = settings
        self.constraints = constraints
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

    def first(self, start: SparseSimilarity | None = None) -> Iterate:
        """Return the iterate of a similarity, or of a random atom if there is no start."""
        constraints = self.constraints
        if start is None:
            first, second = sorted(
                self.rng.choice(constraints.features.size, 2, replace=False).tolist()
            )
            active = AtomSet.of([(first, second, int(self.rng.choice((-1, 1))))], [1.0])
        else:
            places = np.searchsorted(constraints.features, start.atoms[:, :2])
            active = AtomSet.of(np.column_stack((places, start.atoms[:, 2])), start.weights)
        iterate = self.at(active)
        if not math.isfinite(self.objective(iterate)):
            raise ValueError(
                f"scale must be smaller: the loss {self.settings.loss!r} overflows at the first "
                f"iterate, which has the margin {iterate.u.min():.3g}"
            )
        return iterate

    def at(self, active: AtomSet) -> Iterate:
        """Return the iterate of an active set. The margins ``u_t = <A_t, M>`` are computed from its
        k atoms, in O(k T).
        """
        u = np.zeros(self.T)
        for atom, weight in zip(active.atoms.tolist(), active.weights, strict=True):
            u += weight * self._scores_of(atom)
        return Iterate(active, u)

    def objective(self, iterate: Iterate) -> float:
        """Return f(M)."""
        values = self.loss.value(iterate.u)
        return float((values if self.factors is None else self.factors * values).sum()) / self.T

    def slopes(self, iterate: Iterate) -> np.ndarray:
        """Return ``g_t = -w_t loss'(u_t)``, with weights of mean 1."""
        slopes = self.loss.alpha(iterate.u)
        return slopes if self.factors is None else self.factors * slopes

    def directions(self, iterate: Iterate) -> Directions:
        """Return the directions, computed from all constraints or from a batch."""
        slopes = self.slopes(iterate)
        batch = self.settings.batch
        if batch is not None:
            drawn = np.zeros(self.T)
            drawn[self.rng.choice(self.T, batch, replace=False, shuffle=False)] = 1.0
            slopes *= drawn
        count = self.T if batch is None else batch
        constraints = self.constraints
        constraints.set_slopes(slopes)
        values = constraints.atom_values(iterate.active.atoms, np.empty(len(iterate.active)))
        place = int(np.argmin(values))
        direction = self.forward(constraints, self.rng)
        here = float(slopes @ iterate.u) / count
        factor = self.settings.scale / count
        return Directions(
            forward=direction,
            gap=factor * direction.value - here,
            place=place,
            away_gap=here - factor * float(values[place]),
        )

    def exact_gap(self, iterate: Iterate) -> float:
        """Return the maximum of ``<G, M - B>`` over all atoms B, where G is the gradient for all
        constraints. It is an upper bound of ``f(M) - f*``.
        """
        slopes = self.slopes(iterate)
        self.constraints.set_slopes(slopes)
        best = exact(self.constraints).value
        return max(self.settings.scale * best - float(slopes @ iterate.u), 0.0) / self.T

    def step(self, iterate: Iterate, directions: Directions) -> Step:
        """Return the step from an iterate."""
        active, u = iterate
        move = self._move(active, directions)
        gaining = u if move.to is None else self._scores_of(move.to)
        losing = u if move.place is None else self._scores_of(active.atoms[move.place].tolist())
        change = gaining - losing
        size = self.search(u, change, move.top, self.loss, weights=self.factors)
        if size <= 0.0:
            return Step(iterate, "none", 0.0)
        is_at_the_end = size >= move.top
        active = active.moved(size, to=move.to, place=move.place, drop=is_at_the_end)
        change *= size
        kind = move.to_the_end if is_at_the_end else move.kind
        return Step(Iterate(active, u + change), kind, size)

    def _move(self, active: AtomSet, directions: Directions) -> Move:
        """Return the move to make: forward, away or pairwise."""
        variant = self.settings.variant
        atom = directions.forward.atom
        place = directions.place
        weight = float(active.weights[place])
        is_forward = directions.gap >= directions.away_gap or len(active) == 1
        if variant == "plain" or (variant == "away" and is_forward):
            return Move("forward", "forward", 1.0, to=atom)
        if variant == "away":
            return Move("away", "drop", weight / (1.0 - weight), place=place)
        is_same = atom == tuple(active.atoms[place].tolist())
        return Move("pairwise", "swap", 0.0 if is_same else weight, to=atom, place=place)

    def similarity(self, iterate: Iterate) -> SparseSimilarity:
        """Return the similarity of an iterate, in the features of X. Its atoms are sorted by their
        features.
        """
        active = iterate.active
        constraints = self.constraints
        atoms = active.atoms.copy()
        weights = active.weights / active.weights.sum()
        atoms[:, :2] = constraints.features[atoms[:, :2]]
        order = np.lexsort(atoms.T[::-1])
        return SparseSimilarity(atoms[order], weights[order], self.settings.scale, constraints.d)

    def _scores_of(self, atom):
        """Return ``<A_t, B>`` for an atom B."""
        return self.constraints.atom_scores(*atom, self.settings.scale)
