"""Compressed files."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path

UNPACKERS = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


def _only_member(stream):
    """Open the one file of a zip archive."""
    archive = zipfile.ZipFile(stream)
    files = [each for each in archive.namelist() if not each.startswith("__MACOSX/")]
    files = [each for each in files if not each.endswith("/")]
    if len(files) != 1:
        raise ValueError(f"it holds {len(files)} files in place of one")
    return archive.open(files[0])


_OPENERS = UNPACKERS | {".zip": _only_member}

_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error)
_BROKEN += (zipfile.BadZipFile, RuntimeError, NotImplementedError)  # a password; an unknown method


def most(packed: int) -> int:
    """Bytes that so many packed ones are trusted to become: 200 times as many or 64 MB, 8 GB at
    the most.
    """
    return min(2**33, max(2**26, 200 * packed))


def unpack(path, limit: int | None = None) -> bytes:
    """Content of a file, decompressed when its name ends in ``.xz``, ``.bz2``, ``.gz`` or ``.zip``
    (of one file); a ValueError if above `limit` (`most`) bytes.
    """
    path = Path(path)
    raw = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix not in _OPENERS:
        return raw
    limit = most(len(raw)) if limit is None else limit
    unpacked = bytearray()
    try:
        with _OPENERS[suffix](io.BytesIO(raw)) as stream:
            while len(unpacked) <= limit and (piece := stream.read(2**18)):
                unpacked += piece
    except (*_BROKEN, ValueError) as error:
        raise ValueError(f"{path.name}: not a readable {path.suffix} file ({error})") from None
    if len(unpacked) > limit:
        raise ValueError(f"{path.name}: its {len(raw)} bytes unpack to more than `limit` = {limit}")
    return bytes(unpacked)
