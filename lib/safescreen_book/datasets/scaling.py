"""The scalings of the papers' data sets. Each takes its range from a reference part."""

import numpy as np
import scipy.sparse as sp


def minmax(X: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Map each feature linearly so that its range in `reference` becomes [-1, 1]. Values outside of
    that range are mapped beyond.

    As LIBSVM's ``svm-scale`` does, except that a feature constant in `reference` becomes 0.

    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> minmax(X, X)
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """
    low, high = reference.min(axis=0), reference.max(axis=0)
    varies = high > low
    scaled = 2.0 * (X - low) / np.where(varies, high - low, 1.0) - 1.0
    scaled[:, ~varies] = 0.0
    return scaled


def unit(X, reference):
    """Divide each feature, dense or CSR, by its maximum in the non-negative `reference`. A feature
    that is 0 everywhere in `reference` becomes 0.
    """
    low = reference.min()
    top = reference.max(axis=0)
    if low < 0:
        raise ValueError(f"reference: unit scaling needs non-negative values, found {low}")
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).ravel()
    factor = np.divide(1.0, top, out=np.zeros_like(top), where=top > 0)
    if not sp.issparse(X):
        return X * factor
    scaled = X.copy()
    scaled.data *= factor[scaled.indices]
    scaled.eliminate_zeros()
    return scaled


def div255(X, reference=None):
    """Divide grey values 0..255 by 255. `reference` is not used; it is an argument because all
    scalings have it.
    """
    return X / 255.0


SCALINGS = {"minmax": minmax, "unit": unit, "div255": div255}
