"""The folder of one run: its state, and how it is replaced as a whole.

`outputs/<profile>/<experiment>/<run>/` is either absent or the last finished result: `result.json`
and what the notebook recorded; beside it `notebook.ipynb`, as executed, may be removed. A later
failure adds `notebook.failed.ipynb` and `failure.json` and leaves the rest alone. Work in progress
lives beside it in `.<run>.work/`, which one process at a time has locked. Parts of a run that is
not finished are in `.<run>.parts/`; those of a result are in its folder."""

import json
import math
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from safescreen_book._common import read_json, write_json
from safescreen_book.recorder import is_shown
from safescreen_book.runner.fingerprint import CODE, QUESTION, changed, sha256_file
from safescreen_book.runner.manifest import Run
from safescreen_book.wording import numbered

try:
    import fcntl
except ImportError:
    fcntl = None

_LOCKS: dict[Path, IO] = {}


REPLAYS = "replays.jsonl"
"""File beside a record with one line for each replay: what it compared, and whether it agreed."""

DONE = ("complete", "current", "confirmed", "historic")
"""The states of a run with a valid result."""


@dataclass(frozen=True)
class Status:
    """What is known of a run.

    `status` is one of the following. A result of this library is *complete*, and if it is a record,
    *current*. A record of another library is *confirmed* if its last replay agreed, and *historic*
    otherwise. *changed* means that parameters or data have changed, or, if it is no record, the
    code. *damaged* means that it cannot be read, or that a file has changed. *failed* means that
    the last attempt failed, even if there is an older result. *not run* means that there is
    nothing.
    """

    status: str
    result: Mapping[str, Any] | None = None  # `result.json` of the last finished run
    failure: Mapping[str, Any] | None = None  # `failure.json` of a failed last attempt
    why: str = ""  # what has changed or is damaged, what confirmed it, or why it is historic

    @property
    def done(self) -> bool:
        """Whether there is a valid result, so that the run need not be executed."""
        return self.status in DONE


def run_folder(outputs: Path, profile: str, run: Run) -> Path:
    """Return the folder of a run's result, which need not exist."""
    return outputs / profile / run.experiment / run.name


def state(folder: Path, hashes: Mapping[str, Any] | None = None, *, record: bool = False) -> Status:
    """Return the state of a run folder, compared with today's question and code
    (`fingerprint.hashes`) if these are given.

    A `record` stays valid whatever code made it. A failed attempt with other hashes does not make a
    result invalid.
    """
    _recover(folder)
    result, failure = read_result(folder), read_json(folder / "failure.json")
    if result is None:
        damaged = "damaged" if (folder / "result.json").is_file() else "not run"
        return Status(damaged if failure is None else "failed", None, failure)
    status, why = _judged(folder, result, hashes or result["hashes"], record)
    if failure is not None and (
        status in ("damaged", "changed") or not hashes or failure.get("hashes") in (None, hashes)
    ):
        return Status("failed", result, failure)
    return Status(status, result, why=why)


def read_result(folder: Path) -> dict[str, Any] | None:
    """Return `result.json` of a finished run; None if there is none, or if one of its parts is not
    what its readers take it for.
    """
    result = read_json(folder / "result.json") or {}
    parts = [result.get(part) for part in ("files", "hashes", "seconds")]
    parts += [result.get(part, {}) for part in ("parameters", "versions")]
    parts += [result.get("git") or {}]  # None where there was no git
    if result.get("status") != "complete" or not all(isinstance(part, dict) for part in parts):
        return None
    if not all(isinstance(result.get(name), str) for name in ("experiment", "run", "profile")):
        return None
    if not _is_date(result.get("started")):
        return None
    asked = {name: repr(value) for name, value in result.get("parameters", {}).items()}
    if not result["hashes"].get("parameters", {}).items() <= asked.items():
        return None
    for value in result["seconds"].values():
        if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
            return None
    return result


def _is_date(text: Any) -> bool:
    """Whether something is a date and a time as a result has them."""
    try:
        return bool(datetime.fromisoformat(text))
    except (TypeError, ValueError):
        return False


def _judged(
    folder: Path, result: Mapping[str, Any], hashes: Mapping[str, Any], record: bool
) -> tuple[str, str]:
    touched = [
        name
        for name, checksum in result["files"].items()
        if not is_shown(name) and not _holds(folder, name, checksum)
    ]
    summary = folder / "summary.json"
    if summary.is_file() and not isinstance(read_json(summary), dict):
        touched.append(summary.name)
    if touched:
        return "damaged", f"files ({', '.join(touched)})"
    if why := changed(result["hashes"], hashes, QUESTION):
        return "changed", why
    why = changed(result["hashes"], hashes, CODE)
    if not record:
        return ("changed" if why else "complete"), why
    if not why:
        return "current", ""
    replays = read_replays(folder)
    if not replays:
        return "historic", "the library has changed since, and no replay was made"
    last = replays[-1]
    made = f"{last.get('version')} on {str(last.get('date'))[:10]}"
    if last.get("agrees") is True:
        return "confirmed", f"by a replay with {made}: {numbered(last.get('rows'), 'rows')}"
    return (
        "historic",
        f"a replay with {made} differs: {'; '.join(map(str, last.get('differences', ())))}",
    )


def read_replays(folder: Path) -> list[dict]:
    """Return the replays of a record, the latest one last, without lines that are no replays."""
    file = folder / REPLAYS
    try:
        lines = [] if file.is_symlink() else file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                found.append(entry)
    return found


def _holds(folder: Path, name: str, checksum) -> bool:
    """Whether a file of a folder has a checksum; one that lies elsewhere is not read."""
    file = folder / name
    return (
        file.is_file()
        and file.resolve().is_relative_to(folder.resolve())
        and sha256_file(file) == checksum
    )


def install(new: Path, folder: Path) -> None:
    """Replace the older folder by a finished one of the same file system. At no time is it half old
    and half new.
    """
    _recover(folder)
    old = _set_aside(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        with suppress(OSError):
            _remove(old)
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:  # somebody who looked in between has put the older one back
        shutil.rmtree(folder)
        new.rename(folder)
    with suppress(OSError):
        _remove(old)


def record_failure(folder: Path, failure: Mapping[str, Any], notebook: Path) -> None:
    """Write down a failed attempt and keep its notebook, if there is one. An older result stays as
    it is.
    """
    _recover(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "notebook.failed.ipynb"
    kept.unlink(missing_ok=True)
    if notebook.is_file():
        notebook.replace(kept)
    write_json(folder / "failure.json", failure)


def scratch_folder(folder: Path) -> Path | None:
    """Make the empty folder of an attempt beside a run folder; None while a living process has it.

    Remains of a dead process are removed. If the folder cannot come from an attempt, because it is
    a symbolic link or holds files and no lock, an OSError names it, and it is left as it is.
    """
    scratch = folder.with_name(f".{folder.name}.work")
    if scratch in _LOCKS:
        return None
    while scratch not in _LOCKS:
        _refuse_what_is_not_ours(scratch)
        scratch.mkdir(parents=True, exist_ok=True)
        # once more if it was released and removed in between
        with suppress(FileNotFoundError), ExitStack() as held:
            lock = held.enter_context((scratch / "lock").open("a"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            except (AttributeError, OSError):  # a system without such locks
                pass
            if os.path.samestat(os.fstat(lock.fileno()), os.stat(lock.name)):
                held.pop_all()
                _LOCKS[scratch] = lock
    _empty(scratch)
    return scratch


def _refuse_what_is_not_ours(scratch: Path) -> None:
    """An attempt makes a folder, a lock before all else in it, and removes that last."""
    for path in (scratch, scratch / "lock"):
        if path.is_symlink():
            raise OSError(f"{path} is a symbolic link, which is not followed; remove it")
    with suppress(FileNotFoundError):
        names = os.listdir(scratch)
        if names and "lock" not in names:
            raise OSError(f"{scratch} holds files that no run has made; move them away")


def descriptors(scratch: Path) -> tuple[int, ...]:
    """Return what a worker has to hold, so that its folder is its own even when this process is
    dead.
    """
    return (_LOCKS[scratch].fileno(),) if fcntl else ()


def release(scratch: Path) -> None:
    """Remove the folder of an attempt and release its lock. If a file cannot be removed, the next
    attempt tries again.
    """
    lock = _LOCKS.pop(scratch)
    if fcntl is None:  # Windows does not remove an open file
        lock.close()
    with suppress(OSError):
        _empty(scratch)
        (scratch / "lock").unlink()
        scratch.rmdir()
    lock.close()


def _empty(scratch: Path) -> None:
    """Remove all but the lock, which says whose the rest is."""
    for left in scratch.iterdir():
        if left.name != "lock":
            _remove(left)


def _remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; of a symbolic link only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def parts_folder(folder: Path) -> Path:
    """Return the folder of the parts of a run that is not finished."""
    return folder.with_name(f".{folder.name}.parts")


def forget_parts(folder: Path) -> None:
    """Remove the parts of a run that is not finished."""
    with suppress(OSError):
        _remove(parts_folder(folder))


def _set_aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _recover(folder: Path) -> None:
    """Undo a replacement that was cut between its two renames."""
    old = _set_aside(folder)
    if not folder.exists() and old.is_dir() and not old.is_symlink():
        old.rename(folder)
