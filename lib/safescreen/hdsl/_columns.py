"""Columns of sparse points, in memory that does not grow with the number of features."""

import numpy as np
from scipy import sparse


def take_columns(X: sparse.csr_array, features: np.ndarray) -> sparse.csr_array:
    """Return ``X[:, features]`` of a CSR array, `features` sorted; scipy's indexing makes an array of length d.

    Cost O(nnz(X) log m) for m features, memory O(nnz(X)).

    Examples
    --------
    >>> take_columns(sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]]), np.array([0, 2])).toarray().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    if not features.size:
        return sparse.csr_array((X.shape[0], 0))
    places = np.minimum(np.searchsorted(features, X.indices), features.size - 1)
    kept = features[places] == X.indices
    indptr = np.concatenate(([0], np.cumsum(kept)))[X.indptr]
    return sparse.csr_array((X.data[kept], places[kept], indptr), shape=(X.shape[0], features.size))
