"""What a result depends on, and what it was made with."""

import ast
import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from safescreen_book.runner import imports

_PACKAGES = {"metric_learn": "metric-learn", "sklearn": "scikit-learn"}
_PACKAGES |= {name: name for name in ("numba", "numpy", "pandas", "pylmnn", "scipy")}
"""What numbers depend on outside of the library: what is imported, and what it is installed as."""


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


def hashes(nb, parameters: Mapping[str, Any], data: Mapping[str, str]) -> dict[str, Any]:
    """Return all that a run depends on, by name below what it is, and the hash of it, `key`.

    That is the code of the notebook without comments and docstrings, the values of its parameters, the checksums of data, the modules of
    library and book that the code imports (`imports.closure`), and the versions of numerical packages among what those import.
    """
    cells = (cell for cell in nb.cells if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ()))
    trees = [imports.parsed(cell.source) for cell in cells]
    whole = ast.Module([statement for tree in trees for statement in tree.body], [])
    files, others = imports.closure(frozenset(imports.uses(whole)))
    python = {"python": platform.python_version().rpartition(".")[0]}
    found = {
        "notebook": {f"code cell {n}": sha256(text) for n, text in enumerate(filter(None, map(imports.canonical, trees)), start=1)},
        "parameters": {name: repr(value) for name, value in parameters.items() if name != "output_dir"},
        "data": dict(data),
        "library": files,
        "versions": python | versions(_PACKAGES[name] for name in others & _PACKAGES.keys()),
    }
    return found | {"key": sha256(json.dumps(found, sort_keys=True))}


def changed(before: Mapping[str, Any], after: Mapping[str, Any], *, lacking: bool = True) -> str:
    """Return by name what differs between two `hashes`, the former anybody's; `lacking` packages, not installed any more, count or not.

    >>> changed({"library": {"a.py": "1"}, "versions": {"numpy": "2.4.6"}}, {"library": {"a.py": "2"}, "versions": {"numpy": "2.5"}})
    'library (a.py), numpy 2.4.6 -> 2.5'
    """
    parts = []
    for what in (what for what in after if what != "key"):
        old, new = (side.get(what) if isinstance(side.get(what), dict) else {} for side in (before, after))
        names = sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n) and (lacking or new.get(n) != "not installed"))
        if what in ("parameters", "versions"):
            parts += [f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}" for name in names]
        elif names:
            parts.append(f"{what} ({', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''})")
    return ", ".join(parts)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages, sorted by name."""
    found = {}
    for package in sorted(packages):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def environment() -> dict[str, Any]:
    """Return the versions, threads and machine of this process."""
    packages = versions(("safescreen", "numpy", "scipy", "numba", "scikit-learn", "papermill"))
    return {
        "versions": {"python": platform.python_version()} | packages,
        "threads": int(os.environ.get("NUMBA_NUM_THREADS") or cores()),
        "cores": cores(),
        "machine": machine(),
    }


def machine() -> str:
    """Return the processor, its cores that may be used, memory and system in words, as far as the system tells."""
    parts = [platform.processor() or platform.machine(), f"{cores()} cores"]
    with suppress(OSError, TypeError):
        parts[0] = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1] + f" ({platform.machine()})"
    with suppress(OSError, ValueError, AttributeError):
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB")
    return ", ".join([*parts, platform.system()])


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit a folder is at and whether tracked files but results differ; None outside a repository, or without git."""

    def git(*arguments: str) -> str:
        """Return what git prints, without the ends."""
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)outputs")
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        return None
