"""What a result depends on, and what it was made with."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from safescreen_book.runner.notebooks import signature

_LIBRARY = Path(__file__).resolve().parents[2]
_NUMERICAL = ("safescreen/", "safescreen_book/datasets/", "safescreen_book/figures/", "safescreen_book/protocols/")
_NOT_NUMERICAL = ("safescreen/__main__.py", "safescreen/warmup.py", "safescreen_book/datasets/cli.py")


def sha256(*parts: str | bytes) -> str:
    """Return the SHA-256 of several texts; their borders count.

    >>> sha256("ab", "c") == sha256("a", "bc")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        part = part.encode() if isinstance(part, str) else part
        digest.update(str(len(part)).encode() + b":" + part)
    return digest.hexdigest()


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def library_files() -> dict[str, Path]:
    """Return the sources of the library and of the book's protocols, data sets and figures, by name; the batch job does not count."""
    files = {path.relative_to(_LIBRARY).as_posix(): path for path in sorted(_LIBRARY.rglob("*.py"))}
    return {name: path for name, path in files.items() if name.startswith(_NUMERICAL) and name not in _NOT_NUMERICAL}


@cache
def library_hash() -> str:
    """Return the hash of `library_files`, names and contents."""
    return sha256(*(part for name, path in library_files().items() for part in (name, path.read_bytes())))


def hashes(nb, parameters: Mapping[str, Any], data: Mapping[str, str]) -> dict[str, str]:
    """Return the hashes of all a run depends on, notebook, values of its parameters, library and checksums of data, and their `key`."""
    found = {
        "notebook": sha256(json.dumps(signature(nb))),
        "parameters": sha256(json.dumps(dict(parameters), sort_keys=True)),
        "library": library_hash(),
        "data": sha256(json.dumps(dict(data), sort_keys=True)),
    }
    return {**found, "key": sha256(*found.values())}


def environment() -> dict[str, Any]:
    """Return the versions, threads and machine of this process."""
    packages = ("safescreen", "numpy", "scipy", "numba", "scikit-learn", "papermill")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "versions": versions,
        "threads": int(os.environ.get("NUMBA_NUM_THREADS") or cores()),
        "cores": cores(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit a folder is at and whether tracked files differ from it; None outside a repository, or without git."""

    def git(*arguments: str) -> str:
        """Return what git prints, without the ends."""
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.CalledProcessError):
        return None
