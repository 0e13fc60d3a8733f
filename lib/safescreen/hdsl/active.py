"""The active set: the atoms of an iterate, and their weights on the simplex."""

from dataclasses import dataclass

import numpy as np

from safescreen.hdsl.similarity import SparseSimilarity


def check_start(start: SparseSimilarity, scale: float) -> SparseSimilarity:
    """Return a similarity to start from. Raise a TypeError or a ValueError unless it is a convex
    combination of atoms of the domain of size `scale`.
    """
    if not isinstance(start, SparseSimilarity):
        raise TypeError(f"start must be a SparseSimilarity, got {type(start).__name__}")
    if start.scale != scale:
        raise ValueError(
            f"start must have the scale {scale:g}, got {start.scale:g}: "
            f"dataclasses.replace(start, scale={scale:g}) has it"
        )
    atoms = np.asarray(start.atoms)
    weights = np.asarray(start.weights)
    if (
        atoms.ndim != 2
        or atoms.shape[1] != 3
        or weights.shape != atoms.shape[:1]
        or not weights.size
    ):
        raise ValueError(
            f"start must have atoms of shape (k, 3) and k weights, got {atoms.shape} and "
            f"{weights.shape}"
        )
    i, j, sign = atoms.T
    is_atom = (i >= 0) & (i < j) & (j < start.d) & (np.abs(sign) == 1)
    if atoms.dtype.kind not in "iu" or not is_atom.all():
        raise ValueError(
            f"start must have atoms (i, j, s) of integers with features i < j below {start.d} and "
            f"a sign s of -1 or 1, found {atoms[is_atom.argmin()].tolist()}"
        )
    if not (weights > 0.0).all() or not abs(weights.sum() - 1.0) <= 1e-9:
        raise ValueError(
            "start must have positive weights of sum 1, found a smallest of "
            f"{weights.min():g} and the sum {weights.sum():g}"
        )
    return start


@dataclass(frozen=True, eq=False)
class AtomSet:
    """Atoms (i, j, sign) with i < j, and their positive weights of sum 1, arrays of the shapes (k,
    3) and (k,). A step does not change these arrays, but returns new ones, in O(k).

    Examples
    --------
    >>> active = AtomSet.of([(0, 1, 1)], [1.0]).moved(0.25, to=(0, 2, -1))
    >>> active.weights.tolist(), active.n_features
    ([0.75, 0.25], 3)
    """

    atoms: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, atoms, weights):
        """Return the active set of atoms with weights. Equal atoms are merged."""
        held = np.empty((0, 3), dtype=np.int64)
        shares = np.empty(0)
        for atom, weight in zip(atoms, weights, strict=True):
            held, shares = _with(held, shares, atom, weight)
        return cls(held, shares / shares.sum())

    def __len__(self):
        return self.weights.size

    @property
    def n_features(self):
        """Number of features that the active atoms use."""
        return int(np.count_nonzero(np.bincount(self.atoms[:, :2].ravel())))

    def moved(self, step, *, to=None, place=None, drop=False):
        """Return the set after weight has moved from the atom at `place` to the atom `to`. With
        `drop` the atom at `place` loses all its weight. Without `place` the weight is taken from
        all atoms in proportion, and without `to` it is given to all atoms in proportion.

        Atoms without weight are removed, and the weights are divided by their sum.
        """
        atoms = self.atoms
        if place is None:
            weights = (1.0 - step) * self.weights
        elif to is None:
            weights = (1.0 + step) * self.weights
        else:
            weights = self.weights.copy()
        if place is not None:
            weights[place] = 0.0 if drop else weights[place] - step
        if to is not None:
            atoms, weights = _with(atoms, weights, to, step)
        positive = weights > 0.0
        weights = weights[positive]
        return AtomSet(atoms[positive], weights / weights.sum())


def _with(atoms, weights, atom, weight):
    """Return atoms and weights with another atom. If the atom is among `atoms`, its weight is
    changed in place.
    """
    same = (atoms == atom).all(axis=1)
    if same.any():
        weights[same] += weight
        return atoms, weights
    return np.vstack((atoms, atom)), np.append(weights, weight)
