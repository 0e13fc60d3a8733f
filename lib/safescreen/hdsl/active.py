"""The active set: the atoms of an iterate, and their weights on the simplex."""

import numpy as np

from safescreen.hdsl.similarity import SparseSimilarity


def check_start(start: SparseSimilarity, scale: float) -> SparseSimilarity:
    """Return a similarity to start from; TypeError or ValueError unless it is a convex combination
    of atoms of the domain of size `scale`.
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


class ActiveSet:
    """Atoms (i, j, sign) with i < j, and their positive weights of sum 1, arrays of the shapes (k,
    3) and (k,). A step takes O(k).

    Examples
    --------
    >>> active = ActiveSet([(0, 1, 1)], [1.0])
    >>> active.move(0.75, 0.25, to=(0, 2, -1))
    >>> active.weights.tolist(), active.n_features
    ([0.75, 0.25], 3)
    """

    def __init__(self, atoms, weights):
        self.atoms = np.empty((0, 3), dtype=np.int64)
        self.weights = np.empty(0)
        for atom, weight in zip(atoms, weights, strict=True):
            self._add(atom, weight)
        self.weights /= self.weights.sum()

    def __len__(self):
        return self.weights.size

    @property
    def n_features(self):
        """Number of features that some active atom uses."""
        return int(np.count_nonzero(np.bincount(self.atoms[:, :2].ravel())))

    def move(self, factor, step, *, to=None, place=None, drop=False):
        """Multiply all weights by `factor`. Then add the weight `step` to the atom `to`, and
        subtract it from the atom at `place`, which loses all its weight with `drop`.

        Atoms without weight leave, and the weights are divided by their sum.
        """
        self.weights *= factor
        if place is not None:
            self.weights[place] = 0.0 if drop else self.weights[place] - step
        if to is not None:
            self._add(to, step)
        positive = self.weights > 0.0
        self._set(self.atoms[positive], self.weights[positive])
        self.weights /= self.weights.sum()

    def lighten(self, marked, size):
        """Move the part `size` of the weight of the marked atoms to the others, in proportion;
        with all of it the marked atoms leave.
        """
        share = float(self.weights[marked].sum())
        factor = 1.0 + size * share / (1.0 - share)
        self.weights = np.where(marked, (1.0 - size) * self.weights, factor * self.weights)
        self.move(1.0, 0.0)

    def renamed(self, places):
        """Return the atoms with ``places[i]`` in the place of each feature i."""
        return np.column_stack((places[self.atoms[:, :2]], self.atoms[:, 2]))

    def _add(self, atom, weight):
        same = (self.atoms == atom).all(axis=1)
        if same.any():
            self.weights[same] += weight
        else:
            self._set(np.vstack((self.atoms, atom)), np.append(self.weights, weight))

    def _set(self, atoms, weights):
        """Set both with no call in between, so that Ctrl-C finds as many weights as atoms."""
        self.atoms = atoms
        self.weights = weights
