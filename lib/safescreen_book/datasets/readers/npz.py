"""Dense and CSR data in numpy's `.npz`."""

import io
import math
import re
import zipfile

import numpy as np

from safescreen_book.datasets.readers.text import csr, whole_numbers
from safescreen_book.datasets.readers.unpack import most


def read_npz(raw: bytes, where: str = "data", suffix: str = "", key: str = "X"):
    """Read ``X`` (dense; or another `key`) or ``data, indices, indptr, shape`` (CSR) as float64,
    and ``y``, int64, from an ``.npz`` file.

    Every key ends with `suffix`, such as ``_test``. The error for an array that is missing, of the
    wrong kind or shape, or not finite has the name of the array.
    """
    arrays = load_arrays(raw, where)
    sparse = "indptr" + suffix in arrays
    wanted = (
        {"data": "fiub", "indices": "iu", "indptr": "iu", "shape": "iu"}
        if sparse
        else {key: "fiub"}
    )
    found = []
    for name, kinds in {**wanted, "y": "iu"}.items():
        array = arrays.get(name + suffix)
        if array is None:
            raise ValueError(
                f"{where}: no array {name + suffix!r}, only {', '.join(sorted(arrays))}"
            )
        if array.dtype.kind not in kinds:
            raise ValueError(
                f"{where}: {name + suffix} holds {array.dtype}, not "
                f"{'numbers' if 'f' in kinds else 'integers'}"
            )
        found.append(array)
    values, *rest, y = found
    values = np.array(values, dtype=np.float64, order="C")
    if not np.isfinite(values).all():
        raise ValueError(f"{where}: {next(iter(wanted)) + suffix} holds NaN or infinite values")
    try:
        X = csr(values, *rest[:2], tuple(rest[2].tolist())) if sparse else values
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: not a CSR array ({error})") from None
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(f"{where}: X has shape {X.shape} and y {y.shape}")
    return X, whole_numbers(y, where)


def load_arrays(raw: bytes, where: str = "data", limit: int | None = None) -> dict[str, np.ndarray]:
    """Return all arrays of an ``.npz`` file, read-only. A ValueError is raised if the file is of
    another kind, holds pickled objects, or states sizes of more than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            files = archive.infolist()
            size = sum(file.file_size for file in files)
            limit = most(len(raw)) if limit is None else limit
            if size > limit:
                raise ValueError(f"it promises {size} bytes, more than `limit` = {limit}")
            for file in files:
                if not re.fullmatch(r"\w+\.npy", file.filename):
                    raise ValueError(f"it holds a file {file.filename[:40]!r}")
            return {
                file.filename.removesuffix(".npy"): _array(archive.read(file)) for file in files
            }
    except Exception as error:
        raise ValueError(f"{where}: not a readable .npz file ({error})") from None


def _array(raw: bytes) -> np.ndarray:
    """The array of an ``.npy`` file, a view of its bytes: there are as many as its heading
    promises, so that it asks for no memory.
    """
    stream = io.BytesIO(raw)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another version than 1.0")
    shape, fortran, kind = np.lib.format.read_array_header_1_0(stream)
    if kind.hasobject or len(raw) - stream.tell() != math.prod(shape) * kind.itemsize:
        raise ValueError(
            f"{len(raw) - stream.tell()} bytes of data for the shape {shape} of {kind}"
        )
    return np.frombuffer(raw, kind, offset=stream.tell()).reshape(
        shape, order="F" if fortran else "C"
    )
