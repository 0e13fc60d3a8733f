"""Where the files of a data set are: folders that are looked in, checksums, downloads."""

import hashlib
import io
import os
import threading
import time
import urllib.request
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pooch
from tqdm import tqdm

from safescreen_book import places
from safescreen_book._common import whole
from safescreen_book.datasets.readers import UNPACKERS, read_libsvm, unpack
from safescreen_book.datasets.registry import FileSpec, Info, info

ENVIRONMENT = "SAFESCREEN_DATA"
# seconds without an answer, and in all, before a download is given up
TIMEOUT, DEADLINE = 30.0, 3600.0
_DOWNLOADS = threading.Lock()


class DataNotFoundError(FileNotFoundError):
    """A file of a data set is in none of the folders, and could not be fetched."""


def _download_folder() -> Path:
    """`data/` of the checkout; of the user's cache where there is none."""
    return (places.checkout() or Path(pooch.os_cache("safescreen"))) / "data"


def folders() -> tuple[Path, ...]:
    """Return the folders looked in: `$SAFESCREEN_DATA` if set (a ValueError if it is no folder),
    then where downloads go.

    >>> folders()[-1].name
    'data'
    """
    chosen = os.environ.get(ENVIRONMENT, "")
    if not chosen:
        return (_download_folder(),)
    if not Path(chosen).is_dir():
        raise ValueError(f"${ENVIRONMENT} is {chosen!r}, which is not a folder")
    return Path(chosen), _download_folder()


def find(name: str, split: str | None = None) -> list[Path]:
    """Return the files of a data set, or of one part of it, that are here; none for a set that
    scikit-learn carries.

    Nothing is read or downloaded; a DataNotFoundError names the first file that is not here.

    >>> find("iris")
    []
    """
    return _paths(name, split, download=False)


def available(name: str, split: str | None = None) -> bool:
    """Return whether a data set, or one part of it, can be loaded without a download.

    >>> available("wine")
    True
    """
    try:
        find(name, split)
    except DataNotFoundError:
        return False
    return True


def fetch(name: str, split: str | None = None) -> list[Path]:
    """Return the files of a data set, or of one part of it, after downloading those that are in
    none of the folders.

    A DataNotFoundError says that one has no address, or that there is no network; a ValueError that
    a download had the wrong checksum, and it is not kept.

    >>> fetch("iris")
    []
    """
    return _paths(name, split, download=True)


def advice(names: Iterable[str]) -> str:
    """Return what to do about data sets that are not here.

    >>> advice(["a9a", "digit1"])
    'try: safescreen data fetch a9a; no public address: digit1, see data/README.md'
    """
    public = {name: all(spec.url for spec in info(name).files.values()) for name in names}
    fetched, others = (
        [name for name in public if public[name] is to_fetch] for to_fetch in (True, False)
    )
    parts = [f"try: safescreen data fetch {' '.join(fetched)}"] if fetched else []
    return "; ".join(
        parts + ([f"no public address: {', '.join(others)}, see data/README.md"] if others else [])
    )


def verify(name: str) -> list[Path]:
    """Return the files of a data set after comparing their checksums with the registry's.

    A DataNotFoundError names a file that is not here; a ValueError one with another checksum, which
    is left as it is.

    >>> verify("iris")
    []
    """
    paths = find(name)
    for path, spec in zip(paths, info(name).files.values(), strict=True):
        content(path, spec)
    return paths


def locate(spec: FileSpec) -> Path | None:
    """First file that `spec` may be, unchecked; None when no folder has one."""
    paths = (folder / name for folder in folders() for name in _candidates(spec))
    return next((path for path in paths if path.is_file()), None)


def content(path: Path, spec: FileSpec) -> bytes:
    """Unpacked content of `path` once its checksum is that of `spec`; if it is another, the file is
    left as it is.

    The public original of a converted file is converted, and its numbers are what has the checksum:
    it may be written as it likes."""
    raw, wanted = unpack(path), spec.sha256
    if spec.public and path.suffix != ".npz":
        (X, y), wanted, converted = read_libsvm(raw, path.name), spec.values, io.BytesIO()
        X = X.toarray()
        np.savez(converted, X=X, y=y)
        found, raw = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest(), converted.getvalue()
    else:
        found = hashlib.sha256(raw).hexdigest()
    if found != wanted:
        raise ValueError(
            f"{path}: wrong checksum: its content should have sha256 {wanted}, found {found}"
        )
    return raw


def obtain(entry: Info, spec: FileSpec, download: bool = True) -> Path:
    """Path of one file: where it is, or downloaded now."""
    path = locate(spec)
    if path is not None:
        return path
    if not download or spec.url is None:
        raise _missing(entry, spec, "it is not here")
    with _DOWNLOADS:  # who waited for another thread finds the file
        return locate(spec) or _download(entry, spec)


def _paths(name: str, split: str | None, download: bool) -> list[Path]:
    entry = info(name)
    files = entry.files if split is None else entry.part(split).files
    return [obtain(entry, entry.files[file], download) for file in files]


def _candidates(spec: FileSpec) -> list[str]:
    """Names under which `spec` may lie in a folder: packed or not, whoever packed it."""
    plain = spec.public or ("" if spec.name.endswith(".npz") else spec.name)
    packed = [plain + suffix for suffix in ("", *UNPACKERS) if plain]
    return list(dict.fromkeys([*([spec.packed] if spec.packed else []), spec.name, *packed]))


def _missing(entry: Info, spec: FileSpec, why: str) -> DataNotFoundError:
    where = " or ".join(str(folder) for folder in folders())
    chosen = os.environ.get(ENVIRONMENT) or "not set"
    lines = [
        f"data set {entry.name!r} needs the file {spec.name!r}: {why}. Do one of these:",
        f"  1. put the file ({' or '.join(_candidates(spec))}) in {where};",
        f"  2. set {ENVIRONMENT} to a folder that holds it (now: {chosen});",
        f"  3. fetch it where there is a network: safescreen data fetch {entry.name} ({spec.url})."
        if spec.url
        else (
            f"  3. choose another data set: this file was converted from {entry.source} and has "
            "no address."
        ),
        f"Its unpacked content must have sha256 {spec.sha256}"
        + (f", or the numbers of {spec.public}." if spec.public else "."),
    ]
    return DataNotFoundError("\n".join(lines))


def _download(entry: Info, spec: FileSpec) -> Path:
    """Fetch one file to the download folder; it gets its name only after its checksum was right."""
    suffix = Path(spec.url).suffix
    target = _download_folder() / (
        (spec.public or spec.name) + (suffix if suffix in UNPACKERS else "")
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as partial:
            _stream(spec.url, partial)
            try:
                content(partial, spec)
            except ValueError as error:  # often the page of a network's log-in
                begin = partial.read_bytes()[:40]
                raise ValueError(
                    f"{spec.url}: {error}. It begins with {begin!r}; the download was not kept."
                ) from None
    except (OSError, HTTPException) as error:
        raise _missing(
            entry, spec, f"it is not here and the download failed ({type(error).__name__})"
        ) from None
    return target


def _stream(url: str, target: Path) -> None:
    """Write what an address answers to a file, with a bar on a terminal; an OSError if that
    takes more than `DEADLINE` seconds.
    """
    began, request = (
        time.monotonic(),
        urllib.request.Request(url, headers={"User-Agent": "safescreen"}),
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, target.open("wb") as out:
        with tqdm(
            total=answer.length, desc=Path(url).name, unit="B", unit_scale=True, disable=None
        ) as bar:
            while piece := answer.read1(2**16):
                bar.update(out.write(piece))
                if time.monotonic() > began + DEADLINE:
                    raise TimeoutError
        if answer.length:
            raise ConnectionError("it ended early")
