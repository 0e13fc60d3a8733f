"""Find, download and check the files of a data set."""

import hashlib
import io
import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pooch
from tqdm import tqdm

from safescreen_book import places
from safescreen_book._common import whole
from safescreen_book.datasets.readers import UNPACKERS, read_libsvm, unpack
from safescreen_book.datasets.registry import FileSpec, Info, info

ENVIRONMENT = "SAFESCREEN_DATA"
TIMEOUT = 30.0
"""Seconds without an answer after which a download is given up."""

DEADLINE = 3600.0
"""Seconds in all after which it is."""


class DataNotFoundError(FileNotFoundError):
    """A file of a data set is in none of the folders, and could not be fetched."""


def _download_folder() -> Path:
    """`data/` of the checkout; of the user's cache where there is none."""
    return (places.checkout() or Path(pooch.os_cache("safescreen"))) / "data"


def folders() -> tuple[Path, ...]:
    """Return the folders in which files are looked for: `$SAFESCREEN_DATA` if it is set (a
    ValueError if it is no folder), then the folder of downloads.

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
    """Return the files of a data set, or of one part of it. A set that scikit-learn carries has
    none.

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
    """Download the files of a data set, or of one part of it, that are in none of the folders, and
    return all its files.

    A DataNotFoundError is raised if a file has no address or if there is no network. A ValueError
    is raised if a download has the wrong checksum; the download is not kept.

    >>> fetch("iris")
    []
    """
    return _paths(name, split, download=True)


def advice(names: Iterable[str]) -> str:
    """Return a sentence that says how to get data sets that are not here.

    >>> advice(["a9a", "digit1"])
    'try: safescreen data fetch a9a; no public address: digit1, see data/README.md'
    """
    public, others = [], []
    for name in names:
        fetched = all(spec.url for spec in info(name).files.values())
        (public if fetched else others).append(name)
    parts = []
    if public:
        parts.append(f"try: safescreen data fetch {' '.join(public)}")
    if others:
        parts.append(f"no public address: {', '.join(others)}, see data/README.md")
    return "; ".join(parts)


def verify(name: str) -> list[Path]:
    """Compare the checksums of the files of a data set with the registry's, and return the files.

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
    raw = unpack(path)
    wanted = spec.sha256
    if spec.public and path.suffix != ".npz":
        X, y = read_libsvm(raw, path.name)
        X = X.toarray()
        wanted = spec.values
        found = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        converted = io.BytesIO()
        np.savez(converted, X=X, y=y)
        raw = converted.getvalue()
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
    return _download(entry, spec)


def _paths(name: str, split: str | None, download: bool) -> list[Path]:
    entry = info(name)
    files = entry.files if split is None else entry.part(split).files
    return [obtain(entry, entry.files[file], download) for file in files]


def _candidates(spec: FileSpec) -> list[str]:
    """Names under which `spec` may lie in a folder: packed or not, whoever packed it."""
    names = [spec.packed, spec.name]
    plain = spec.public or spec.name
    if not plain.endswith(".npz"):
        names += [plain + suffix for suffix in ("", *UNPACKERS)]
    return list(dict.fromkeys(name for name in names if name))


def _missing(entry: Info, spec: FileSpec, why: str) -> DataNotFoundError:
    where = " or ".join(str(folder) for folder in folders())
    chosen = os.environ.get(ENVIRONMENT) or "not set"
    third = (
        f"choose another data set: this file was converted from {entry.source} and has no address."
    )
    if spec.url:
        third = (
            f"fetch it where there is a network: safescreen data fetch {entry.name} ({spec.url})."
        )
    original = f", or the numbers of {spec.public}" if spec.public else ""
    return DataNotFoundError(
        f"data set {entry.name!r} needs the file {spec.name!r}: {why}. Do one of these:\n"
        f"  1. put the file ({' or '.join(_candidates(spec))}) in {where};\n"
        f"  2. set {ENVIRONMENT} to a folder that holds it (now: {chosen});\n"
        f"  3. {third}\n"
        f"Its unpacked content must have sha256 {spec.sha256}{original}."
    )


def _download(entry: Info, spec: FileSpec) -> Path:
    """Fetch one file to the download folder; it gets its name only after its checksum was right."""
    suffix = Path(spec.url).suffix
    name = (spec.public or spec.name) + (suffix if suffix in UNPACKERS else "")
    target = _download_folder() / name
    bar = _Bar(desc=Path(spec.url).name, unit="B", unit_scale=True, disable=None)
    headers = {"User-Agent": "safescreen", "Accept-Encoding": "identity"}
    get = pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT, headers=headers)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as partial:
            get(spec.url, partial, None)
            try:
                content(partial, spec)
            except ValueError as error:  # often the page of a network's log-in
                begin = partial.read_bytes()[:40]
                raise ValueError(
                    f"{spec.url}: {error}. It begins with {begin!r}; the download was not kept."
                ) from None
    except OSError as error:
        why = f"it is not here and the download failed ({type(error).__name__})"
        raise _missing(entry, spec, why) from None
    finally:
        bar.close()
    return target


class _Bar(tqdm):
    """A bar, on a terminal; an update later than `DEADLINE` seconds gives the download up."""

    def __init__(self, **options):
        super().__init__(**options)
        self._began = time.monotonic()

    def __bool__(self):  # tqdm has no truth without a total, which comes with the answer
        return True

    def update(self, n=1):
        """Count bytes; raise TimeoutError if they are late."""
        if time.monotonic() > self._began + DEADLINE:
            raise TimeoutError
        return super().update(n)
