"""Dense and CSR data in numpy's `.npz`."""

import io

import numpy as np
import scipy.sparse as sp


def read_npz(raw: bytes, where: str = "data", suffix: str = "", key: str = "X"):
    """Read ``X`` (dense; or another `key`) or ``data, indices, indptr, shape`` (CSR) as float64, and ``y``, int64, from an ``.npz`` file.

    `suffix` ends every key, such as ``_test``. An array that is missing, of the wrong shape, or not finite is named.
    """
    arrays = load_arrays(raw, where)
    sparse = "indptr" + suffix in arrays
    wanted = ["data", "indices", "indptr", "shape"] if sparse else [key]
    for name in [*wanted, "y"]:
        if name + suffix not in arrays:
            raise ValueError(f"{where}: no array {name + suffix!r}, only {', '.join(sorted(arrays))}")
    first, *rest = (arrays[name + suffix] for name in wanted)
    first = np.ascontiguousarray(first, dtype=np.float64)
    if not np.isfinite(first).all():
        raise ValueError(f"{where}: {wanted[0] + suffix} holds NaN or infinite values")
    if sparse:
        indices, indptr, shape = rest
        try:
            X = sp.csr_array((first, indices, indptr), shape=tuple(map(int, shape)))
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{where}: not a CSR array ({error})") from None
    else:
        X = first
    y = arrays["y" + suffix]
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(f"{where}: X has shape {X.shape} and y {y.shape}")
    if not np.issubdtype(y.dtype, np.integer):
        raise ValueError(f"{where}: y holds {y.dtype}, not integers")
    return X, y.astype(np.int64)


def load_arrays(raw: bytes, where: str = "data") -> dict[str, np.ndarray]:
    """All arrays of an ``.npz`` file; ValueError if it is not one or holds pickled objects."""
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception as error:
        raise ValueError(f"{where}: not a readable .npz file ({error})") from None
