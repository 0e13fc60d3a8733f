"""The folder of one run: what it holds, and how it is replaced as a whole.

`outputs/<profile>/<experiment>/<run>/` is either absent or the last finished result: `notebook.ipynb`,
`result.json` and what the notebook recorded. A later failure adds `notebook.failed.ipynb` and `failure.json`
and leaves the rest alone. Work in progress lives beside it in `.<run>.<process id>/`.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safescreen_book._common import read_json, write_json
from safescreen_book.runner.fingerprint import sha256_file
from safescreen_book.runner.manifest import Run


@dataclass(frozen=True)
class State:
    """What is known of a run.

    Attributes
    ----------
    status : {"complete", "out of date", "failed", "not run", "unreadable"}
        `failed` when the last attempt failed, whatever older result there is; `unreadable` when `result.json` is damaged.
    result : dict or None
        `result.json` of the last finished run.
    failure : dict or None
        `failure.json` of a failed last attempt.
    """

    status: str
    result: Mapping[str, Any] | None = None
    failure: Mapping[str, Any] | None = None


def run_folder(outputs: Path, profile: str, run: Run) -> Path:
    """Return where a run's result goes; the folder need not exist."""
    return outputs / profile / run.experiment / run.name


def state(folder: Path, key: str | None = None) -> State:
    """Return what a run folder holds: a result counts if each of its files is unchanged, and made with `key`, if given."""
    _recover(folder)
    result, failure = read_json(folder / "result.json") or {}, read_json(folder / "failure.json")
    sound = result.get("status") == "complete" and all(isinstance(result.get(part), dict) for part in ("files", "hashes", "seconds"))
    if failure is not None:
        return State("failed", result if sound else None, failure)
    if not sound:
        return State("unreadable" if (folder / "result.json").is_file() else "not run")
    for name, checksum in result["files"].items():
        if not (folder / name).is_file() or sha256_file(folder / name) != checksum:
            return State("out of date", result)
    return State("complete" if key in (None, result["hashes"].get("key")) else "out of date", result)


def install(new: Path, folder: Path) -> None:
    """Put a finished folder of the same file system in the place of the older one; at no time is it half old and half new."""
    _recover(folder)
    old = _set_aside(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:  # somebody who looked in between has put the older one back
        shutil.rmtree(folder)
        new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def record_failure(folder: Path, failure: Mapping[str, Any], notebook: Path) -> None:
    """Note a failed attempt, and keep its notebook if there is one, beside whatever older result there is."""
    _recover(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "notebook.failed.ipynb"
    kept.unlink(missing_ok=True)
    if notebook.is_file():
        notebook.replace(kept)
    write_json(folder / "failure.json", failure)


def scratch_folder(folder: Path) -> Path:
    """Make the empty folder of an attempt beside a run folder, after clearing those whose process is gone."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for stale in folder.parent.glob(f".{folder.name}.*"):
        pid = stale.name.rpartition(".")[2]
        if pid.isdigit() and (int(pid) == os.getpid() or not _alive(int(pid))):
            shutil.rmtree(stale, ignore_errors=True)
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}")
    scratch.mkdir()
    return scratch


def _set_aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _recover(folder: Path) -> None:
    """Undo a replacement that was cut between its two renames."""
    if not folder.exists() and _set_aside(folder).is_dir():
        _set_aside(folder).rename(folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
