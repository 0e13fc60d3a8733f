"""The plan of a run: what it needs before it starts, and how its result is installed when it has
ended.
"""

import math
import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safescreen_book import places
from safescreen_book.parameters import PLACES
from safescreen_book.parts import FOLDER
from safescreen_book.runner import fingerprint, folders, notebooks
from safescreen_book.runner.manifest import RECORDS, Manifest, Run
from safescreen_book.runner.worker import UNFINISHED, where_it_stopped


@dataclass(frozen=True)
class Plan:
    """The plan of a run: what it needs, and whether it has to be executed."""

    run: Run
    folder: Path  # the run's
    notebook: Any  # not executed
    parameters: Mapping[str, Any]  # the value of every one
    hashes: Mapping[str, Any]  # see `fingerprint.hashes`
    missing: Sequence[str]  # data sets that are not there
    state: folders.Status  # what the folder holds now
    data: tuple[str, ...]  # data sets it reads
    outputs: tuple[str, ...]  # files it must leave
    record: bool  # whether the result is kept whatever code would answer now
    profile: str
    notebooks: Path  # folder of the notebooks
    deadline: float = math.inf  # time after which neither the run nor a part of it begins
    fresh: bool = False  # whether parts of earlier attempts are computed again

    @property
    def status(self) -> str:
        """The state of the run's folder, or that its data are missing."""
        if self.missing and self.state.status in ("not run", "changed", "damaged"):
            return f"data missing: {', '.join(self.missing)}"
        text = self.state.status + (f": {self.state.why}" if self.state.why else "")
        n_parts = (
            0
            if self.state.done
            else len(list(folders.parts_folder(self.folder).glob("[!.]*.json")))
        )
        return text + (f"; parts kept of an unfinished attempt: {n_parts}" if n_parts else "")

    def text(self) -> str:
        """Return the notebook, as a text, for a worker."""
        return notebooks.to_text(self.notebook)

    def spec(self) -> dict[str, Any]:
        """Return the specification for a worker, as plain values for JSON."""
        return {
            "experiment": self.run.experiment,
            "run": self.run.name,
            "profile": self.profile,
            "notebooks": str(self.notebooks),
            "git": fingerprint.git_state(self.notebooks),
            "given": dict(self.run.parameters),
            "parameters": {
                name: value for name, value in self.parameters.items() if name not in PLACES
            },
            "data": list(self.data),
            "hashes": dict(self.hashes),
            "outputs": list(self.outputs),
            "began": datetime.now(UTC).isoformat(),
            "deadline": self.deadline,
            "parts": str(folders.parts_folder(self.folder).resolve()),
            "older_parts": str((self.folder / FOLDER).resolve()) if not self.fresh else "",
        }

    def is_late(self) -> bool:
        """Return whether the run must not begin any more."""
        return time.time() >= self.deadline

    def begin(self) -> Path | None:
        """Make the folder of an attempt and return it. None if another process is executing the
        run, or has finished it since it was planned.
        """
        scratch = folders.scratch_folder(self.folder)
        now = folders.state(self.folder, self.hashes, record=self.record)
        if scratch is not None and now.done and now.result != self.state.result:
            folders.release(scratch)
            return None
        if scratch is not None and self.fresh:
            folders.forget_parts(self.folder)
        return scratch

    def elsewhere(self) -> tuple[str, str]:
        """Return a sentence on a run that another process is executing."""
        return "elsewhere", f"{self.run}: done or under way in another process"

    def late(self) -> tuple[str, str]:
        """Return a sentence on a run that has not begun in time."""
        return "unfinished", f"{self.run}: not begun, the time is over"

    def failed(self, error: Exception) -> tuple[str, str]:
        """Return a sentence on a run whose folder cannot be written."""
        return "failed", f"{self.run}: FAILED: {error}"

    def finish(self, scratch: Path, code: int) -> tuple[str, str]:
        """Install the result of a worker that has ended, or write down why there is none. Return
        "done", "unfinished" or "failed", and a sentence.
        """
        if code == UNFINISHED:
            return "unfinished", f"{self.run}: unfinished: {_why(scratch, code)}"
        if code == 0:
            folders.install(scratch / "result", self.folder)
            folders.forget_parts(self.folder)
            result = folders.state(self.folder).result
            seconds, peak = result["seconds"]["wall"], result["peak_memory_mb"]
            return "done", f"{self.run}: done in {seconds:.1f} s" + (
                f", {peak:.0f} MB" if peak else ""
            )
        partial = scratch / "result" / "notebook.ipynb"
        try:
            stopped = where_it_stopped(notebooks.read(partial))
        except (OSError, ValueError):
            stopped = {}
        failure = {
            "status": "failed",
            **stopped,
            "error": _told(stopped.get("error") or _why(scratch, code)),
            "parameters": dict(self.run.parameters),
            "hashes": dict(self.hashes),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        folders.record_failure(self.folder, failure, partial)
        cell = f" in cell {failure['cell']} ({failure['line']})" if "cell" in failure else ""
        kept = self.folder / "notebook.failed.ipynb"
        where = f"; see {places.shown(kept)}" if kept.is_file() else ""
        return "failed", f"{self.run}: FAILED{cell}: {failure['error']}{where}"


def plan(manifest: Manifest, runs: Sequence[Run], profile: str, outputs: Path) -> list[Plan]:
    """Make the plan of each run of a manifest before any is started. Unknown parameters and data
    sets are refused.
    """
    plans = []
    for run in runs:
        experiment = manifest.experiments[run.experiment]
        values = manifest.check_parameters(run)
        nb = notebooks.read_source(manifest.folder, experiment.notebook)
        data = experiment.data_of(run)
        try:
            checksums, missing = fingerprint.data_checksums(data)
        except ValueError as error:
            raise ValueError(f"run {run}: {error}") from error
        hashes = fingerprint.hashes(nb, values, checksums)
        folder = folders.run_folder(outputs, profile, run)
        record = profile == RECORDS
        state = folders.state(folder, hashes, record=record)
        if state.result and state.failure is None:
            absent = [name for name in experiment.outputs if not (folder / name).is_file()]
            if absent:
                state = replace(state, status="changed", why=f"files ({', '.join(absent)})")
        plans.append(
            Plan(
                run=run,
                folder=folder,
                notebook=nb,
                parameters=values,
                hashes=hashes,
                missing=missing,
                state=state,
                data=data,
                outputs=experiment.outputs,
                record=record,
                profile=profile,
                notebooks=manifest.folder,
            )
        )
    return plans


def _told(error: str) -> str:
    """Return an error with what it means: notebooks assert promises, and nothing else."""
    if error.startswith("AssertionError"):
        return f"a promise is broken: {error}"
    if re.match(r"\w+(Error|Exception)\b", error):
        return f"the program failed: {error}"
    return error


def _why(scratch: Path, code: int) -> str:
    error = scratch / "error.txt"
    if error.is_file():
        return error.read_text(encoding="utf-8")
    if code < 0:
        name = signal.Signals(-code).name
        return f"the process was ended by {name}" + (
            " (out of memory?)" if name == "SIGKILL" else ""
        )
    log = (scratch / "worker.log").read_text(encoding="utf-8", errors="replace")
    lines = [line for line in log.splitlines() if line.strip()] or ["no message"]
    return f"the process ended with code {code}: {lines[-1].strip()}"
