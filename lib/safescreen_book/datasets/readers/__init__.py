"""Readers of the file formats data sets come in; each rejects what is not a finite number in its place.

Every reader takes the unpacked bytes and the name to use in messages.
"""

from safescreen_book.datasets.readers.idx import read_idx
from safescreen_book.datasets.readers.npz import load_arrays, read_npz
from safescreen_book.datasets.readers.sparse_text import read_libsvm, read_nips_sparse
from safescreen_book.datasets.readers.table import code_words, read_table, split_labels
from safescreen_book.datasets.readers.unpack import UNPACKERS, unpack

__all__ = [
    "UNPACKERS",
    "code_words",
    "load_arrays",
    "read_idx",
    "read_libsvm",
    "read_nips_sparse",
    "read_npz",
    "read_table",
    "split_labels",
    "unpack",
]
