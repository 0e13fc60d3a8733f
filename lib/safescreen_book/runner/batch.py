"""Run what is asked for, skip what is unchanged, keep what is finished."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safescreen_book import places
from safescreen_book.runner import fingerprint, folders
from safescreen_book.runner.manifest import Manifest, ManifestError, Run
from safescreen_book.runner.worker import THREAD_VARIABLES, start, where_it_stopped


@dataclass(frozen=True)
class Plan:
    """What a run needs and whether it has to be done.

    Parameters
    ----------
    run : Run
        The run.
    folder : Path
        Its run folder.
    notebook : NotebookNode
        Its notebook, not executed.
    parameters : dict
        The value of every parameter.
    hashes : dict
        See `fingerprint.hashes`.
    missing : list of str
        Data sets that are not there.
    state : State
        What its folder holds now.
    data, outputs : tuple of str
        Data sets it reads, files it must leave.
    """

    run: Run
    folder: Path
    notebook: Any
    parameters: Mapping[str, Any]
    hashes: Mapping[str, str]
    missing: Sequence[str]
    state: folders.State
    data: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """What to say of the run: the state of its folder, or that it cannot be done for want of data."""
        if self.missing and self.state.status in ("not run", "out of date"):
            return f"data missing: {', '.join(self.missing)}"
        return self.state.status


def plan(manifest: Manifest, runs: Sequence[Run], profile: str, outputs: Path) -> list[Plan]:
    """Find out what each run needs, before any is started.

    Parameters
    ----------
    manifest : Manifest
        The manifest the runs are from.
    runs : sequence of Run
        What is asked for.
    profile : str
        Its profile.
    outputs : Path
        The outputs folder.

    Returns
    -------
    list of Plan
        One a run.

    Raises
    ------
    ManifestError
        For a parameter its notebook does not have, or a data set that does not exist.
    """
    from safescreen_book.runner.notebooks import read_source

    plans = []
    for run in runs:
        experiment = manifest.experiments[run.experiment]
        values = manifest.check_parameters(run)
        nb = read_source(manifest.folder, experiment.notebook)
        data = experiment.data_of(run)
        try:
            checksums, missing = fingerprint.data_checksums(data)
        except ValueError as error:
            raise ManifestError(f"run {run}: {error}") from error
        hashes = fingerprint.hashes(nb, values, checksums)
        folder = folders.run_folder(outputs, profile, run)
        state = folders.state(folder, hashes["key"])
        if state.result and any(name not in state.result["files"] for name in experiment.outputs):
            state = replace(state, status="out of date" if state.failure is None else "failed")
        plans.append(Plan(run, folder, nb, values, hashes, missing, state, data, experiment.outputs))
    return plans


def run_all(
    manifest: Manifest,
    runs: Sequence[Run],
    profile: str,
    outputs: Path,
    *,
    jobs: int = 1,
    force: bool = False,
    data_required: bool = False,
    command: str = "safescreen run",
    scheduler: str | None = None,
) -> int:
    """Execute runs in processes of their own and say what became of each.

    Parameters
    ----------
    manifest, runs, profile, outputs
        As for `plan`.
    jobs : int, default 1
        Processes at a time; each may use `cores // jobs` threads.
    force : bool, default False
        Also do what is complete and unchanged.
    data_required : bool, default False
        Whether a missing data set is a failure.
    command : str
        What to type to go on after an interruption.
    scheduler : str, optional
        Address of a Dask scheduler whose workers do the runs, or `local` for a cluster of `jobs` processes started here; their
        results come back to `outputs`. Left out, the processes are started by this one.

    Returns
    -------
    int
        Exit code: 0, 1 when a run failed, 130 when interrupted.

    Raises
    ------
    ClusterError
        If the cluster does not answer, or must not be used.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs: must be a positive integer, found {jobs!r}")
    from tqdm import tqdm

    counts = dict.fromkeys(("done", "unchanged", "data missing", "failed"), 0)
    todo = []
    for item in plan(manifest, runs, profile, outputs):
        if item.state.status == "complete" and not force:
            counts["unchanged"] += 1
            tqdm.write(f"{item.run}: unchanged")
        elif item.missing:
            counts["data missing"] += 1
            names = " ".join(item.missing)
            tqdm.write(f"{item.run}: data missing: {names} (try: safescreen data fetch {names})")
        else:
            todo.append(item)
    left, interrupted = [str(item.run) for item in todo], False
    with _terminated_like_interrupted(), tqdm(total=len(todo), unit="run", disable=None) as bar:
        try:
            if jobs > 1 and len(todo) > 1:
                _compile_once()
            if scheduler is None:
                execution = _execute(todo, manifest.folder, profile, jobs, bar)
            else:
                execution = _execute_on_cluster(todo, manifest.folder, profile, jobs, scheduler)
            with closing(execution) as ended:
                for item, failure in ended:
                    counts["failed" if failure else "done"] += 1
                    left.remove(str(item.run))
                    tqdm.write(_line(item, failure))
                    bar.update()
        except KeyboardInterrupt:
            interrupted = True
    summary = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    if interrupted:
        summary = summary or "nothing done"
        again = f"With --force the same command does all of it again; left: {' '.join(left)}" if force else f"To go on: {command}"
        print(f"Interrupted: {summary}, {len(left)} left; what is finished is kept. {again}", flush=True)
        return 130
    print(f"{summary or 'nothing to do'}. Results: {places.shown(outputs / profile)}", flush=True)
    return int(counts["failed"] > 0 or (data_required and counts["data missing"] > 0))


def _execute(todo, notebooks: Path, profile: str, jobs: int, bar) -> Iterator[tuple[Plan, dict | None]]:
    """Yield each plan when it has ended, with its failure if it failed; stop all workers on the way out."""
    environment = _environment(jobs)
    waiting, running = list(reversed(todo)), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                item = waiting.pop()
                scratch = folders.scratch_folder(item.folder)
                running[scratch] = item, None  # cleared away even if the start fails
                running[scratch] = item, _start(item, notebooks, profile, scratch, environment)
                bar.set_description(str(item.run))
            time.sleep(0.05)
            for scratch, (item, process) in list(running.items()):
                if process.poll() is not None:
                    failure = _finish(item, scratch, process.returncode)
                    del running[scratch]
                    shutil.rmtree(scratch, ignore_errors=True)
                    yield item, failure
    finally:
        processes = [process for _, process in running.values() if process is not None]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for scratch in running:
            shutil.rmtree(scratch, ignore_errors=True)


def _execute_on_cluster(todo, notebooks: Path, profile: str, jobs: int, scheduler: str) -> Iterator[tuple[Plan, dict | None]]:
    """Yield each plan when a worker of the cluster has ended it, with its failure if it failed."""
    if not todo:
        return
    from safescreen_book.runner import cluster

    threads, environment = {}, _environment(jobs)
    if scheduler == "local":
        threads = {name: environment[name] for name in THREAD_VARIABLES}
    tasks = {rank: {**_task(item, notebooks, profile), "threads": threads} for rank, item in enumerate(todo)}
    with cluster.connect(scheduler, jobs) as client, closing(cluster.execute(client, tasks)) as ended:
        for rank, code, packed in ended:
            item = todo[rank]
            scratch = folders.scratch_folder(item.folder)
            try:
                if code is None:
                    (scratch / "error.txt").write_text(packed, encoding="utf-8")
                else:
                    cluster.unpack(packed, scratch)
                failure = _finish(item, scratch, 1 if code is None else code)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            yield item, failure


def _task(item: Plan, notebooks: Path, profile: str) -> dict[str, Any]:
    """What a worker of a cluster needs for a run, all of it text."""
    import nbformat

    spec = {**_spec(item, notebooks, profile), "git": fingerprint.git_state(notebooks)}
    return {"notebook": nbformat.writes(item.notebook), "spec": spec, "data": os.environ.get("SAFESCREEN_DATA")}


def _spec(item: Plan, notebooks: Path, profile: str) -> dict[str, Any]:
    return {
        "experiment": item.run.experiment,
        "run": item.run.name,
        "profile": profile,
        "notebooks": str(notebooks),
        "given": dict(item.run.parameters),
        "parameters": {name: value for name, value in item.parameters.items() if name != "output_dir"},
        "data": list(item.data),
        "hashes": dict(item.hashes),
        "outputs": list(item.outputs),
    }


def _start(item: Plan, notebooks: Path, profile: str, scratch: Path, environment) -> subprocess.Popen:
    import nbformat

    nbformat.write(item.notebook, scratch / "source.ipynb")
    folders.write_json(scratch / "spec.json", _spec(item, notebooks, profile))
    return start(scratch, environment)


def _finish(item: Plan, scratch: Path, code: int) -> dict | None:
    """Install the result of a worker that has ended, or return and record why there is none."""
    if code == 0:
        folders.install(scratch / "result", item.folder)
        return None
    import nbformat

    partial = scratch / "result" / "notebook.ipynb"
    try:
        failure = where_it_stopped(nbformat.read(partial, as_version=4))
    except (OSError, ValueError):
        failure = {}
    failure.setdefault("error", _why(scratch, code))
    failure = {
        "status": "failed",
        **failure,
        "parameters": dict(item.run.parameters),
        "hashes": dict(item.hashes),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folders.record_failure(item.folder, failure, partial)
    return failure


def _why(scratch: Path, code: int) -> str:
    error = scratch / "error.txt"
    if error.is_file():
        return error.read_text(encoding="utf-8")
    if code < 0:
        name = signal.Signals(-code).name
        return f"the process was ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    log = (scratch / "worker.log").read_text(encoding="utf-8", errors="replace")
    lines = [line for line in log.splitlines() if line.strip()] or ["no message"]
    return f"the process ended with code {code}: {lines[-1].strip()}"


def _line(item: Plan, failure: dict | None) -> str:
    if failure is None:
        result = folders.state(item.folder).result
        seconds, peak = result["seconds"]["wall"], result["peak_memory_mb"]
        return f"{item.run}: done in {seconds:.1f} s" + (f", {peak:.0f} MB" if peak else "")
    cell = f" in cell {failure['cell']} ({failure['line']})" if "cell" in failure else ""
    kept = item.folder / "notebook.failed.ipynb"
    where = f"; see {places.shown(kept)}" if kept.is_file() else ""
    return f"{item.run}: FAILED{cell}: {failure['error']}{where}"


def _environment(jobs: int) -> dict[str, str]:
    """The worker's environment: this package, and its share of the cores."""
    threads = max(1, fingerprint.cores() // jobs)
    environment = places.environment()
    for name in THREAD_VARIABLES:
        given = environment.get(name, "")
        environment[name] = str(min(threads, int(given)) if given.isdigit() and int(given) else threads)
    return environment


def _compile_once() -> None:
    """Fill the cache of compiled kernels before several processes would each do it."""
    if importlib.util.find_spec("safescreen.warmup"):
        command = [sys.executable, "-m", "safescreen.warmup"]
        subprocess.run(command, env=_environment(1), stdout=subprocess.DEVNULL, check=False)


@contextmanager
def _terminated_like_interrupted():
    """Within, SIGTERM (a batch system's farewell) is treated like Ctrl-C."""

    def interrupt(*_):
        raise KeyboardInterrupt

    try:
        older = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, older)
