"""Readers of the file formats of the data sets. Each of them rejects a file that has anything but a
finite number where a number should be.

Every reader takes the unpacked bytes and the name of the file for its messages. It needs at most
three times those bytes, 64 bytes for each number, 256 for each byte of the longest line, and a
megabyte.
"""

from safescreen_book.datasets.readers.delimited import read_any
from safescreen_book.datasets.readers.idx import read_idx
from safescreen_book.datasets.readers.npz import load_arrays, read_npz
from safescreen_book.datasets.readers.text import (
    read_libsvm,
    read_nips_sparse,
    read_table,
    split_labels,
    whole_numbers,
)
from safescreen_book.datasets.readers.unpack import UNPACKERS, unpack

__all__ = [
    "UNPACKERS",
    "load_arrays",
    "read_any",
    "read_idx",
    "read_libsvm",
    "read_nips_sparse",
    "read_npz",
    "read_table",
    "split_labels",
    "unpack",
    "whole_numbers",
]
