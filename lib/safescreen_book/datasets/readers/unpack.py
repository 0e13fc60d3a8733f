"""Compressed files."""

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path

UNPACKERS = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


def most(packed: int) -> int:
    """Bytes that so many packed ones are trusted to become: 200 times as many or 64 MB, 8 GB at
    the most.
    """
    return min(2**33, max(2**26, 200 * packed))


def unpack(path, limit: int | None = None) -> bytes:
    """Content of a file, decompressed when its name ends in ``.xz``, ``.bz2`` or ``.gz``; a
    ValueError if above `limit` (`most`) bytes.
    """
    path = Path(path)
    raw = path.read_bytes()
    if path.suffix not in UNPACKERS:
        return raw
    limit = most(len(raw)) if limit is None else limit
    unpacked = bytearray()
    try:
        with UNPACKERS[path.suffix](io.BytesIO(raw)) as stream:
            while len(unpacked) <= limit and (piece := stream.read(2**18)):
                unpacked += piece
    except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
        raise ValueError(f"{path.name}: not a readable {path.suffix} file ({error})") from None
    if len(unpacked) > limit:
        raise ValueError(f"{path.name}: its {len(raw)} bytes unpack to more than `limit` = {limit}")
    return bytes(unpacked)
