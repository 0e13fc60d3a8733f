"""Readers of the file formats data sets come in; each rejects what is not a finite number in its place.

Every reader takes the unpacked bytes and the name to use in messages; `read` opens a path, packed or not.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from safescreen_book.datasets.readers.idx import read_idx
from safescreen_book.datasets.readers.npz import load_arrays, read_npz
from safescreen_book.datasets.readers.sparse_text import read_libsvm, read_nips_sparse
from safescreen_book.datasets.readers.table import code_words, read_table, split_labels
from safescreen_book.datasets.readers.unpack import UNPACKERS, unpack

__all__ = [
    "READERS",
    "UNPACKERS",
    "code_words",
    "load_arrays",
    "read",
    "read_idx",
    "read_libsvm",
    "read_nips_sparse",
    "read_npz",
    "read_table",
    "split_labels",
    "unpack",
]

READERS = {
    "libsvm": read_libsvm,
    "nips-sparse": read_nips_sparse,
    "nips-dense": read_table,
    "table": read_table,
    "csv": partial(read_table, delimiter=","),
    "idx": read_idx,
    "npz": read_npz,
}


def read(path, format: str, **options):
    """Read one file, packed (``.xz``, ``.bz2``, ``.gz``) or not.

    Parameters
    ----------
    path : str or path
        The file.
    format : str
        Key of `READERS`: ``libsvm``, ``nips-sparse``, ``nips-dense``, ``table``, ``csv``, ``idx``, ``npz``.
    **options
        Passed to the reader, such as ``n_features``.

    Returns
    -------
    tuple or array
        What the reader of that format returns.
    """
    if format not in READERS:
        raise ValueError(f"format must be one of {', '.join(READERS)}, got {format!r}")
    return READERS[format](unpack(path), Path(path).name, **options)
