"""A similarity as a table of its atoms, and back."""

from typing import Any

from safescreen.hdsl import SparseSimilarity


def table_of(similarity: SparseSimilarity) -> Any:
    """Return a pandas.DataFrame with a row an atom: features `i` and `j`, `sign` and `weight`."""
    import pandas as pd

    i, j, sign = similarity.atoms.T
    return pd.DataFrame({"i": i, "j": j, "sign": sign, "weight": similarity.weights})


def similarity_of(table, scale: float, d: int) -> SparseSimilarity:
    """Return the similarity of a table of atoms.

    >>> import numpy as np
    >>> similarity = SparseSimilarity(np.array([[0, 2, -1]]), np.array([1.0]), 4.0, 3)
    >>> similarity_of(table_of(similarity), 4.0, 3).to_sparse().toarray().tolist()
    [[4.0, 0.0, -4.0], [0.0, 0.0, 0.0], [-4.0, 0.0, 4.0]]
    """
    atoms = table[["i", "j", "sign"]].to_numpy(dtype=int)
    return SparseSimilarity(atoms, table["weight"].to_numpy(dtype=float), scale, d)
