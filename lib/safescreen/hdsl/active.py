"""The active set: atoms of an iterate and their weights on the simplex."""

import numpy as np

__all__ = ["ActiveSet"]


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
        self._append(atom, 1.0)

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
        place = self._places.get(atom)
        if place is None:
            self._append(atom, weight)
        else:
            self._weights[place] += weight

    def _append(self, atom, weight):
        place = len(self)
        if place == self._weights.size:
            self._atoms, self._weights = np.concatenate((self._atoms,) * 2), np.concatenate((self._weights,) * 2)
        self._atoms[place], self._weights[place] = atom, weight
        self._places[atom] = place
        for feature in atom[:2]:
            self._uses[feature] = self._uses.get(feature, 0) + 1

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
