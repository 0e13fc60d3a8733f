"""Hashes of everything that a result depends on: the question, and the code that answers it."""

import ast
import hashlib
import importlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from safescreen_book.parameters import PLACES
from safescreen_book.runner import imports

QUESTION = ("parameters", "data")
"""The parts of the question: if one of them changes, another result is wanted."""

CODE = ("notebook", "library")
"""The parts of the code: if they change, the answer may still be the same."""

ROUNDING = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NPY_DISABLE_CPU_FEATURES")
"""Variables of the environment on which rounding depends."""

PACKAGES = ("numba", "numpy", "pandas", "scikit-learn", "scipy")
"""Packages outside of the project on which numbers depend."""


def sha256(*parts: str | bytes) -> str:
    """Return the SHA-256 of several texts, which depends on where one ends and the next begins.

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


def hashes(nb, parameters: Mapping[str, Any], data: Mapping[str, str]) -> dict[str, Any]:
    """Return the hashes of a run by name: of its question and of the code that answers it.

    The question consists of the values of its parameters and the checksums of data. The answer
    depends on the code of the notebook without comments and docstrings, on library and book (one
    hash for both), and on the versions of numerical packages.
    """
    cells = tuple(
        cell.source
        for cell in nb.cells
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ())
    )
    return {
        "parameters": {
            name: repr(value) for name, value in parameters.items() if name not in PLACES
        },
        "data": dict(data),
        "notebook": _code(cells),
        "library": library(imports.ROOT),
        "versions": {"python": platform.python_version().rpartition(".")[0]} | versions(PACKAGES),
    }


@lru_cache(maxsize=128)
def _code(cells: tuple[str, ...]) -> str:
    """Return the hash of cells without comments and docstrings."""
    statements = [statement for cell in cells for statement in imports.parsed(cell).body]
    return sha256(imports.canonical(ast.Module(statements, [])))


def data_checksums(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the checksums of data sets, missing ones too, and the names of the missing ones."""
    from safescreen_book import datasets

    sums = {}
    for entry in map(datasets.info, names):
        files = [file.sha256 for file in entry.files.values()]
        sums[entry.name] = sha256(repr((entry.parts, entry.scaling, entry.labels, files)))
    return sums, [name for name in sums if not datasets.available(name)]


@cache
def library(root: Path) -> str:
    """Return one hash of all code of the library and the book, which lie below a folder."""
    files = sorted(
        path
        for package in ("safescreen", "safescreen_book")
        for path in (root / package).rglob("*.py")
    )
    parts = [
        part for path in files for part in (path.relative_to(root).as_posix(), path.read_bytes())
    ]
    return sha256(*parts)


def changed(before: Mapping[str, Any], after: Mapping[str, Any], parts: Iterable[str]) -> str:
    """Return in words which of these parts differ between two `hashes`. The first may come from any
    file.

    >>> before = {"library": "1", "versions": {"numpy": "2.4.6"}}
    >>> after = {"library": "2", "versions": {"numpy": "2.5"}}
    >>> changed(before, after, ["library", "versions"])
    'library, numpy 2.4.6 -> 2.5'
    """
    differences = [_difference(part, before.get(part), after.get(part)) for part in parts]
    return ", ".join(filter(None, differences))


def _difference(part: str, old: Any, new: Any) -> str:
    """Return in words how a part of two `hashes` differs; empty if it does not."""
    if old == new:
        return ""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return part
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if part == "data":
        return f"data ({', '.join(names)})"
    return ", ".join(f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}" for name in names)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages, sorted by name."""
    return {package: _version(package) for package in sorted(packages)}


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def environment() -> dict[str, Any]:
    """Return the versions, threads and machine of this process."""
    packages = versions(("safescreen", "numpy", "scipy", "numba", "scikit-learn", "papermill"))
    return {
        "versions": {"python": platform.python_version()} | packages,
        "threads": int(os.environ.get("NUMBA_NUM_THREADS") or cores()),
        "cores": cores(),
        "machine": machine(),
        "blas": blas(),
    }


def blas() -> str:
    """Return the kernels that the BLAS of numpy uses here, or the name of a BLAS that does not tell
    them. Other kernels round differently, and that decides ties between neighbours.
    """
    np = importlib.import_module("numpy")  # which loads it
    numpy_files = str(Path(np.__file__).parent)  # numpy.libs is beside it, .dylibs inside
    libraries = [info for info in threadpool_info() if info.get("architecture")]
    libraries.sort(key=lambda info: not info.get("filepath", "").startswith(numpy_files))
    if libraries:
        return libraries[0]["architecture"]
    built = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return built.get("name", "")


def described() -> list[str]:
    """Return lines that say on what a result depends here: machine, kernels, threads, versions."""
    numba = importlib.import_module("numba")
    here = environment()
    libraries = [
        f"{info.get('prefix') or info['internal_api']} {info.get('version') or ''}, "
        f"{info.get('architecture', 'kernels unknown')}, {info['num_threads']} threads"
        for info in threadpool_info()
    ]
    given = [f"{name}={os.environ[name]}" for name in ROUNDING if name in os.environ]
    return [
        f"machine    {here['machine']}",
        f"BLAS       {here['blas'] or 'unknown'} (numpy)",
        *(f"library    {line}" for line in sorted(libraries)),
        f"numba      for {numba.config.CPU_NAME or 'this processor'}, {here['threads']} threads",
        f"given      {' '.join(given) or 'nothing'}",
        *(f"version    {name} {version}" for name, version in here["versions"].items()),
    ]


def machine() -> str:
    """Return in words the processor, the number of cores that this process may use, the memory and
    the system, as far as the system tells them.
    """
    parts = [platform.processor() or platform.machine(), f"{cores()} cores"]
    with suppress(OSError, TypeError):
        parts[0] = (
            re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1]
            + f" ({platform.machine()})"
        )
    with suppress(OSError, ValueError, AttributeError):
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB")
    return ", ".join([*parts, platform.system()])


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit of a folder, and whether tracked files other than results differ from it.
    None outside of a repository, or without git.
    """

    def git(*arguments: str) -> str:
        """Return what git prints, without the ends."""
        return subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)outputs"
        )
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        return None
