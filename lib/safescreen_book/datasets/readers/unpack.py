"""Compressed files."""

import bz2
import gzip
import lzma
from pathlib import Path

UNPACKERS = {".xz": lzma.decompress, ".bz2": bz2.decompress, ".gz": gzip.decompress}


def unpack(path) -> bytes:
    """Content of a file, decompressed when its name ends in ``.xz``, ``.bz2`` or ``.gz``."""
    path = Path(path)
    raw = path.read_bytes()
    if path.suffix not in UNPACKERS:
        return raw
    try:
        return UNPACKERS[path.suffix](raw)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise ValueError(f"{path.name}: not a readable {path.suffix} file ({error})") from None
