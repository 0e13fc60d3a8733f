"""The folder of one run: what it holds, and how it is replaced as a whole.

`outputs/<profile>/<experiment>/<run>/` is either absent or the last finished result: `result.json` and what the notebook
recorded; beside it `notebook.ipynb`, as executed, may be removed. A later failure adds `notebook.failed.ipynb` and `failure.json`
and leaves the rest alone. Work in progress lives beside it in `.<run>.work/`, which one process at a time has locked.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from safescreen_book._common import read_json, write_json
from safescreen_book.runner.fingerprint import changed, sha256_file
from safescreen_book.runner.manifest import Run

try:
    import fcntl
except ImportError:
    fcntl = None

_LOCKS: dict[Path, IO] = {}


@dataclass(frozen=True)
class State:
    """What is known of a run."""

    status: str  # complete, out of date, failed (the last attempt, whatever older result there is), not run, unreadable (a damaged result)
    result: Mapping[str, Any] | None = None  # `result.json` of the last finished run
    failure: Mapping[str, Any] | None = None  # `failure.json` of a failed last attempt
    why: str = ""  # by name, what has changed since a result that is out of date


def run_folder(outputs: Path, profile: str, run: Run) -> Path:
    """Return where a run's result goes; the folder need not exist."""
    return outputs / profile / run.experiment / run.name


def state(folder: Path, hashes: Mapping[str, Any] | None = None) -> State:
    """Return what a run folder holds: a result counts if each of its files is unchanged, and made with `hashes`, if given.

    It may have been made with packages that are not installed here; a failed attempt with other hashes does not count against it.
    """
    _recover(folder)
    result, failure = read_json(folder / "result.json") or {}, read_json(folder / "failure.json")
    sound = result.get("status") == "complete" and all(isinstance(result.get(part), dict) for part in ("files", "hashes", "seconds"))
    if not sound:
        damaged = "unreadable" if (folder / "result.json").is_file() else "not run"
        return State(damaged if failure is None else "failed", None, failure)
    touched = [name for name, checksum in result["files"].items() if not _holds(folder, name, checksum)]
    why = f"files ({', '.join(touched)})" if touched else changed(result["hashes"], hashes or result["hashes"], lacking=False)
    if failure is not None and (why or not hashes or failure.get("hashes") in (None, hashes)):
        return State("failed", result, failure)
    return State("out of date" if why else "complete", result, why=why)


def _holds(folder: Path, name: str, checksum) -> bool:
    """Whether a file of a folder has a checksum; one that lies elsewhere is not read."""
    file = folder / name
    return file.is_file() and file.resolve().is_relative_to(folder.resolve()) and sha256_file(file) == checksum


def install(new: Path, folder: Path) -> None:
    """Put a finished folder of the same file system in the place of the older one; at no time is it half old and half new."""
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
    """Note a failed attempt, and keep its notebook if there is one, beside whatever older result there is."""
    _recover(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "notebook.failed.ipynb"
    kept.unlink(missing_ok=True)
    if notebook.is_file():
        notebook.replace(kept)
    write_json(folder / "failure.json", failure)


def scratch_folder(folder: Path) -> Path | None:
    """Make the empty folder of an attempt beside a run folder, after clearing what a dead process left; None while a living one has it.

    An OSError names a folder that no attempt can have made, a symbolic link or one that holds files and no lock; it is left as it is.
    """
    scratch = folder.with_name(f".{folder.name}.work")
    if scratch in _LOCKS:
        return None
    while scratch not in _LOCKS:
        _refuse_what_is_not_ours(scratch)
        scratch.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError), ExitStack() as held:  # once more if it was released and removed in between
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
            raise OSError(f"{path} is a symbolic link, and not followed; remove it")
    with suppress(FileNotFoundError):
        names = os.listdir(scratch)
        if names and "lock" not in names:
            raise OSError(f"{scratch} holds files that no run has made; move them away")


def descriptors(scratch: Path) -> tuple[int, ...]:
    """Return what a worker has to hold, so that its folder is nobody else's while it lives, whatever becomes of this process."""
    return (_LOCKS[scratch].fileno(),) if fcntl else ()


def release(scratch: Path) -> None:
    """Remove the folder of an attempt and let others have it; what cannot be removed is left to the next attempt."""
    with suppress(OSError):
        _empty(scratch)
        (scratch / "lock").unlink()
        scratch.rmdir()
    _LOCKS.pop(scratch).close()


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


def _set_aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _recover(folder: Path) -> None:
    """Undo a replacement that was cut between its two renames."""
    old = _set_aside(folder)
    if not folder.exists() and old.is_dir() and not old.is_symlink():
        old.rename(folder)
