"""The active set: atoms of an iterate and their weights on the simplex."""

import numpy as np

from safescreen.hdsl.similarity import SparseSimilarity


def check_start(start: SparseSimilarity, scale: float) -> SparseSimilarity:
    """Return a similarity to start from, a convex combination of atoms of the domain of size `scale`; TypeError or ValueError otherwise."""
    if not isinstance(start, SparseSimilarity):
        raise TypeError(f"start must be a SparseSimilarity, got {type(start).__name__}")
    if start.scale != scale:
        raise ValueError(f"start must have the scale {scale:g}, got {start.scale:g}: dataclasses.replace(start, scale={scale:g}) has it")
    atoms, weights = np.asarray(start.atoms), np.asarray(start.weights)
    if atoms.ndim != 2 or atoms.shape[1] != 3 or weights.shape != atoms.shape[:1] or not weights.size:
        raise ValueError(f"start must have atoms of shape (k, 3) and k weights, got {atoms.shape} and {weights.shape}")
    i, j, sign = atoms.T
    if atoms.dtype.kind not in "iu" or not ((i >= 0) & (i < j) & (j < start.d) & (np.abs(sign) == 1)).all():
        raise ValueError(f"start must have atoms (i, j, s) of features i < j below {start.d} and a sign s = -1 or 1")
    if not (weights > 0.0).all() or not abs(weights.sum() - 1.0) <= 1e-9:
        raise ValueError(f"start must have positive weights of sum 1, found a smallest of {weights.min():g} and the sum {weights.sum():g}")
    return start


class ActiveSet:
    """Atoms (i, j, sign), i < j, with positive weights of sum 1; starts with one atom.

    Adding, looking up and dropping an atom take O(1), a step O(k); memory O(k).

    Examples
    --------
    >>> active = ActiveSet((0, 1, 1))
    >>> active.forward((0, 2, -1), 0.25)
    >>> active.weights.tolist(), active.n_features
    ([0.75, 0.25], 3)
    """

    def __init__(self, atom):
        self._atoms, self._weights = np.empty((16, 3), dtype=np.int64), np.empty(16)
        self._places, self._uses = {}, {}
        self._add(atom, 1.0)

    @classmethod
    def of(cls, atoms, weights):
        """Return the set of given atoms; weights of the same one are added up, and their sum becomes 1."""
        atoms = [tuple(atom) for atom in np.asarray(atoms).tolist()]
        active = cls(atoms[0])
        active._weights[0] = 0.0
        for atom, weight in zip(atoms, weights, strict=True):
            active._add(atom, weight)
        active.weights[:] /= active.weights.sum()
        return active

    def __len__(self):
        return len(self._places)

    @property
    def atoms(self):
        """Rows (i, j, sign) of the active atoms, a view of shape (k, 3)."""
        return self._atoms[: len(self)]

    @property
    def weights(self):
        """Weights of the active atoms, a view of shape (k,)."""
        return self._weights[: len(self)]

    @property
    def n_features(self):
        """Number of features that some active atom uses."""
        return len(self._uses)

    def forward(self, atom, step):
        """Replace M by ``(1 - step) M + step atom``; a step of 1 leaves this atom only."""
        if step >= 1.0:
            self.__init__(atom)
            return
        self.weights[:] *= 1.0 - step
        self._add(atom, step)

    def away(self, place, step, drop):
        """Replace M by ``M + step (M - atom)``; `drop` takes the atom out, as the largest step does."""
        self.weights[:] *= 1.0 + step
        self._weights[place] -= step
        self._settle(place, drop)

    def shift(self, atom, place, step, drop):
        """Move the weight `step` from the atom at `place` to another atom."""
        self._weights[place] -= step
        self._add(atom, step)
        self._settle(place, drop)

    def _settle(self, place, drop):
        if drop or self._weights[place] <= 0.0:
            self._remove(place)
        self.weights[:] /= self.weights.sum()

    def _add(self, atom, weight):
        if atom not in self._places:
            place = len(self)
            if place == self._weights.size:
                self._atoms, self._weights = np.concatenate((self._atoms,) * 2), np.concatenate((self._weights,) * 2)
            self._atoms[place], self._weights[place], self._places[atom] = atom, 0.0, place
            for feature in atom[:2]:
                self._uses[feature] = self._uses.get(feature, 0) + 1
        self._weights[self._places[atom]] += weight

    def _remove(self, place):
        atom, last = tuple(self._atoms[place].tolist()), len(self) - 1
        moved = tuple(self._atoms[last].tolist())
        self._atoms[place], self._weights[place] = self._atoms[last], self._weights[last]
        self._places[moved] = place
        del self._places[atom]
        for feature in atom[:2]:
            self._uses[feature] -= 1
            if not self._uses[feature]:
                del self._uses[feature]
