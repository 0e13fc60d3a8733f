"""Load a data set the way the papers use it."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from safescreen_book.datasets import readers, store
from safescreen_book.datasets.registry import Info, Part, info
from safescreen_book.datasets.scaling import SCALINGS


@dataclass(frozen=True)
class Dataset:
    """One part of a data set."""

    name: str  # of the set
    split: str  # of the part
    X: np.ndarray | sp.csr_array = field(repr=False)  # float64 of shape (n, d), C-contiguous or CSR
    # int64, -1 and +1 when there are two classes; None where they were never published
    y: np.ndarray | None = field(repr=False)
    info: Info = field(repr=False)
    # empty when the source names none
    feature_names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape


def _embedded(name: str):
    """(X, y, feature names) of a set that scikit-learn carries."""
    from sklearn import datasets

    bunch = getattr(datasets, "load_" + name.replace("-", "_"))()
    return (
        np.array(bunch.data, dtype=np.float64),
        bunch.target.astype(np.int64),
        tuple(map(str, bunch.feature_names)),
    )


def _rows(arrays: dict, key: str, n: int) -> np.ndarray:
    """Row numbers in `arrays[key]`, or all others for ``~key``."""
    if key.removeprefix("~") not in arrays:
        raise ValueError(
            f"the file must say which rows are in the part by an array {key.removeprefix('~')!r}, "
            "and has none"
        )
    if not key.startswith("~"):
        return arrays[key]
    keep = np.ones(n, dtype=bool)
    keep[arrays[key[1:]]] = False
    return np.flatnonzero(keep)


def _from_files(entry: Info, part: Part, raw: bool):
    """(X, y) of a part read from its files, each checked against its checksum."""

    def content(name):
        spec = entry.files[name]
        return store.content(store.obtain(entry, spec), spec)

    first = part.data[0]
    y = None
    match part.format:
        case "libsvm":
            pieces = [readers.read_libsvm(content(name), name, part.shape[1]) for name in part.data]
            X = sp.vstack([X for X, _ in pieces], format="csr")
            y = np.concatenate([y for _, y in pieces])
        case "nips-sparse":
            X = readers.read_nips_sparse(content(first), first, part.shape[1])
        case "nips-dense":
            X = readers.read_table(content(first), first)
        case "table":
            X, y = readers.split_labels(
                readers.read_table(content(first), first, part.delimiter, part.codes), first
            )
        case "idx":
            X = readers.read_idx(content(first), first)
            X = X.reshape(len(X), -1).astype(np.float64)
            y = readers.read_idx(content(part.labels), part.labels).astype(np.int64)
        case "npz":
            packed = content(first)
            key = "X_raw" if raw and entry.scaling == "shipped" else "X"
            X, y = readers.read_npz(packed, first, part.suffix, key)
            if part.rows:
                rows = _rows(readers.load_arrays(packed, first), part.rows, len(y))
                X, y = X[rows], y[rows]
    if part.labels and y is None:
        y = readers.whole_numbers(
            readers.read_table(content(part.labels), part.labels).ravel(), part.labels
        )
    return X.toarray() if part.dense else X, y


def _read(entry: Info, split: str, raw: bool):
    """(X, y, feature names) as the source has them, checked against the shape the registry
    states.
    """
    part = entry.part(split)
    names = ()
    if entry.embedded:
        X, y, names = _embedded(entry.name)
    else:
        X, y = _from_files(entry, part, raw)
    if X.shape != part.shape or (y is not None and y.shape != X.shape[:1]):
        labels = "" if y is None else f" with {len(y)} labels"
        raise ValueError(
            f"{entry.name}, part {split}: read {X.shape}{labels}, expected {part.shape}"
        )
    return X, y, names


def load(
    name: str, split: str | None = None, *, scale: str | None = "paper", return_X_y: bool = False
):
    """Load one part of a data set: find its files or download them, and check them.

    Parameters
    ----------
    name : str
        One of `names`.
    split : str or None
        One of the parts that `info(name).parts` lists; by default the first, which is nearly always
        ``train``.
    scale : {"paper", None}
        Scale as in the papers' experiments (`Info.scaling`; the range is that of the set's first
        part), or leave the values of the source.
    return_X_y : bool
        Return the two arrays only.

    Returns
    -------
    Dataset or (X, y)
        X is float64, a C-contiguous array or CSR; y is int64, -1 and +1 for two classes.

    Raises
    ------
    ValueError
        If the set, part or scale is unknown, or a file is not what it should be.
    DataNotFoundError
        If a file is not here and cannot be fetched. The message says which file to put where.

    Examples
    --------
    >>> X, y = load("breast-cancer", return_X_y=True)
    >>> X.shape, sorted(set(y.tolist()))
    ((569, 30), [-1, 1])
    """
    if scale not in ("paper", None):
        raise ValueError(f"scale must be 'paper' or None, got {scale!r}")
    entry = info(name)
    first = next(iter(entry.parts))
    split = first if split is None else split
    X, y, names = _read(entry, split, raw=scale is None)
    if scale == "paper" and entry.scaling in SCALINGS:
        reference = X if split == first else _read(entry, first, raw=False)[0]
        X = SCALINGS[entry.scaling](X, reference)
    if y is not None and entry.labels:
        y = np.array([entry.labels.get(label, label) for label in y.tolist()], dtype=np.int64)
    if not sp.issparse(X):
        X = np.ascontiguousarray(X)
    return (X, y) if return_X_y else Dataset(name, split, X, y, entry, names)


def subsample(X, y, fraction: float = 0.9, seed: int = 0):
    """Return a random share of the rows of X and y, as the papers draw it for each repeat: without
    replacement, and in the order of X.

    The number of rows is rounded. A ValueError is raised if `fraction` is not in (0, 1], if no row
    is left, or if X and y differ in length.

    >>> import numpy as np
    >>> X, y = subsample(np.eye(10), np.arange(10), fraction=0.5, seed=1)
    >>> X.shape, y.shape
    ((5, 10), (5,))
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be in (0, 1], got {fraction!r}")
    n = X.shape[0]
    if len(y) != n:
        raise ValueError(f"X has {n} rows and y {len(y)}")
    size = round(fraction * n)
    if size == 0:
        raise ValueError(f"fraction {fraction} of {n} rows leaves none")
    rows = np.sort(np.random.default_rng(seed).choice(n, size=size, replace=False))
    return X[rows], np.asarray(y)[rows]
