"""Kernel matrices: computed from points, with a bound of their rounding errors, or given and then
checked.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh_tridiagonal

from safescreen._blocks import matrix_products, squares
from safescreen._numba import njit
from safescreen.kernels.functions import is_dense, roundings
from safescreen.kernels.matrices import KernelRows
from safescreen.memory import BLOCK, WHOLE, kernel_limit, matrix_bytes
from safescreen.rounding import UNIT

LARGEST_ERROR = 0.1
"""Largest accepted relative error of a kernel matrix."""

EIGENVALUES_UP_TO = 500
"""Largest n for which all eigenvalues are computed."""

LANCZOS_STEPS = 12
"""Number of Lanczos steps that search for a negative eigenvalue, for larger n."""


def default_error(K):
    """Return the default of the relative error of a given kernel matrix: ``4 n + 64`` units of its
    precision.

    The default is usually enough for entries that are sums of up to n, or of some tens of, rounded
    products. For longer sums, or if the software that computed the matrix is less accurate, pass
    another number.
    """
    unit = np.finfo(K.dtype).eps / 2.0 if K.dtype.kind == "f" else UNIT
    return (4.0 * len(K) + 64.0) * max(float(unit), UNIT)


def kernel_matrix(X, kernel, max_gigabytes, whole=None):
    """Return ``(K, relative error)`` for checked points, dense or CSR. K is an array, or
    :class:`KernelRows` if an array would be too large.

    K is also :class:`KernelRows` for more than `whole` dense points; `whole` is `WHOLE` if left
    out. The matrix or the cache takes no more memory than :func:`~safescreen.memory.kernel_limit`
    allows.
    """
    limit = kernel_limit(max_gigabytes)
    n = X.shape[0]
    norms = squares(X)
    error = kernel.error(roundings(X), float(norms.max()))
    if not error <= LARGEST_ERROR:
        raise ValueError(
            "X must have smaller entries for this kernel, whose values rounding would change by "
            f"{error:.1g}: center or scale X"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        if (n > (whole or WHOLE) and is_dense(X)) or matrix_bytes(n) > limit:
            K = KernelRows(X, kernel, 1e-9 * limit)
        else:
            K = _products(X)
            norms = K.diagonal().copy()
            for start in range(0, n, BLOCK):
                kernel.apply(K[start : start + BLOCK], norms[start : start + BLOCK], norms)
        diagonal = K.diagonal()
    _check_diagonal(diagonal, "the kernel matrix of X")
    return K, error


def _products(X):
    if is_dense(X):
        X = X.toarray() if sparse.issparse(X) else X
        return matrix_products(X, X, np.empty((X.shape[0], X.shape[0])))
    K = np.empty((X.shape[0], X.shape[0]))
    transposed = sparse.csr_array(X.T)
    for start in range(0, X.shape[0], BLOCK):
        K[start : start + BLOCK] = (X[start : start + BLOCK] @ transposed).toarray()
    return K


def check_kernel_matrix(K, relative_error, name="K"):
    """Return a given kernel matrix as C-contiguous float64, without a copy if it already is. Raise
    a ValueError if it is not a kernel matrix. Errors call it `name`.

    The matrix must be square, finite and symmetric. No entry may be larger than the diagonal allows
    (all 2 x 2 minors). No eigenvalue of the matrix, scaled to unit diagonal, may be below ``-u n``:
    errors of u = `relative_error` in the entries can move an eigenvalue from 0 to ``-u n``. For
    ``n <= 500`` all eigenvalues are computed. For larger n a dozen Lanczos steps estimate the
    smallest eigenvalue, and an indefinite matrix may pass the check.
    """
    n = len(K)
    K = np.asarray(K.T if K.flags.f_contiguous else K, dtype=np.float64, order="C")
    _check_diagonal(K.diagonal(), name)
    roots = np.sqrt(K.diagonal())
    u = relative_error / (1.0 - relative_error)
    fault, i, j = _inspect(K, roots, 2.0 * u + 8.0 * UNIT)
    if fault == 1:
        raise ValueError(f"{name} must be finite, got {K[i, j]} at index ({i}, {j})")
    if fault == 2:
        raise ValueError(
            f"{name} must be symmetric, found {K[i, j]:.17g} and {K[j, i]:.17g} at index ({i}, "
            f"{j}) and its mirror image"
        )
    if fault == 3:
        raise ValueError(
            f"{name} must be positive semidefinite, found {K[i, j]:g} at index ({i}, {j}), more "
            "than its diagonal entries allow"
        )
    scaling = np.divide(1.0, roots, out=np.zeros(n), where=roots > 0.0)
    if n <= EIGENVALUES_UP_TO:
        lowest = float(np.linalg.eigvalsh(scaling[:, None] * K * scaling).min())
    else:
        lowest = _lanczos(lambda v: scaling * (K @ (scaling * v)), n)
    if lowest < -(u + (4.0 * n + 64.0) * UNIT) * n:
        raise ValueError(
            f"{name} must be positive semidefinite, found an eigenvalue of at most {lowest:.3g} "
            "when scaled to unit diagonal"
        )
    return K


def _check_diagonal(diagonal, name):
    for i in np.flatnonzero(~((diagonal == 0.0) | ((diagonal >= 1e-250) & (diagonal <= 1e250))))[
        :1
    ]:
        raise ValueError(
            f"{name} must have diagonal entries that are 0 or from 1e-250 to 1e250, found "
            f"{diagonal[i]:g} at index {i}"
        )


def _lanczos(product, n):
    """Return the smallest Ritz value of a dozen Lanczos steps: up to rounding, an upper bound of
    the smallest eigenvalue.
    """
    v = np.random.default_rng(0).standard_normal(n)
    before = np.zeros(n)
    beta = 0.0
    v /= np.linalg.norm(v)
    diagonal = []
    off = []
    for _ in range(LANCZOS_STEPS):
        w = product(v) - beta * before
        diagonal.append(float(v @ w))
        w -= diagonal[-1] * v
        beta = float(np.linalg.norm(w))
        if beta <= 1e-8 * (abs(diagonal[-1]) + sum(off)):
            break
        off.append(beta)
        before = v
        v = w / beta
    return float(eigvalsh_tridiagonal(np.array(diagonal), np.array(off[: len(diagonal) - 1])).min())


@njit
def _inspect(K, roots, allowance):
    """Return ``(fault, i, j)`` for the first entry with a fault, in an order by tiles. The faults
    are 1 not finite, 2 not symmetric, and 3 larger than the diagonal allows; 0 is no fault.
    """
    n = roots.size
    for top in range(0, n, 64):
        for left in range(0, top + 1, 64):
            for i in range(top, min(top + 64, n)):
                for j in range(left, min(left + 64, i + 1)):
                    a = K[i, j]
                    b = K[j, i]
                    bound = roots[i] * roots[j]
                    if not (np.isfinite(a) and np.isfinite(b)):
                        return 1, (i if not np.isfinite(a) else j), (j if not np.isfinite(a) else i)
                    if abs(a - b) > allowance * bound:
                        return 2, i, j
                    if max(abs(a), abs(b)) > (1.0 + allowance) * bound:
                        return 3, i, j
    return 0, 0, 0
