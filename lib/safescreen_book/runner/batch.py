"""Run what is asked for, skip what is unchanged, keep what is finished."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tqdm import tqdm

from safescreen_book import datasets, places
from safescreen_book._common import BookError
from safescreen_book.runner import cluster, fingerprint, folders, notebooks, progress
from safescreen_book.runner.manifest import RECORDS, Manifest, Run
from safescreen_book.runner.plans import Plan, plan
from safescreen_book.runner.worker import THREAD_VARIABLES, start


def run_all(
    manifest: Manifest,
    runs: Sequence[Run],
    profile: str,
    outputs: Path,
    *,
    jobs: int | None = None,
    force: bool = False,
    dirty: bool = False,
    data_required: bool = False,
    command: str = "safescreen run",
    scheduler: str | None = None,
    pages: progress.Pages | None = None,
) -> int:
    """Execute runs in processes of their own, `jobs` at a time (as many as cores), say what became
    of each, and return the exit code.

    That is 0, 1 when a run failed (or lacks data, if `data_required`), 130 when interrupted; then
    `command` is what to type to go on. With `force` also what is complete and unchanged is done.
    Records are made from a tree without uncommitted changes, or with `dirty`. `scheduler` is the
    address of a Dask scheduler whose workers do the runs, or `local` for a cluster of `jobs`
    processes started here; the results come back to `outputs`. Of `pages`, if there are any, the
    first are made when the shortest run is done, with which all begins then; the others follow from
    the longest on."""
    counts = dict.fromkeys(("done", "unchanged", "data missing", "elsewhere", "failed"), 0)
    todo, failed = [], []
    for item in plan(manifest, runs, profile, outputs):
        if item.state.done and not force:
            counts["unchanged"] += 1
            tqdm.write(f"{item.run}: unchanged")
        elif item.missing:
            counts["data missing"] += 1
            tqdm.write(
                f"{item.run}: data missing: {' '.join(item.missing)} "
                f"({datasets.advice(item.missing)})"
            )
        else:
            todo.append(item)
            if item.state.why:
                tqdm.write(f"{item.run}: {item.status}")
    if todo and profile == RECORDS and not dirty:
        _need_clean_tree(manifest.folder)
    seconds = {str(item.run): progress.expected(item, manifest, profile) for item in todo}
    todo.sort(key=lambda item: seconds[str(item.run)] or math.inf, reverse=True)
    if pages is not None:
        todo = todo[-1:] + todo[:-1]
    here, interrupted = scheduler in (None, "local"), False
    jobs = max(1, min(jobs or fingerprint.cores(), len(todo))) if here else 1
    if todo:
        how = (
            f"{jobs} at a time with {_threads(jobs)} of {fingerprint.cores()} cores each"
            if here
            else "on the workers of a cluster"
        )
        how += ", the longest first" * (len(todo) > 1)
        tqdm.write(progress.announcement(seconds.values(), how, jobs if here else None))
    with _terminated_like_interrupted(), closing(progress.Progress(seconds, jobs, pages)) as shown:
        try:
            if jobs > 1:
                _compile_once()
            if scheduler is None:
                execution = _execute(todo, manifest.folder, profile, jobs, shown)
            else:
                execution = _execute_on_cluster(todo, manifest.folder, profile, jobs, scheduler)
            with closing(execution) as ended:
                for item, what, sentence in ended:
                    counts[what] += 1
                    failed += [str(item.run)] * (what == "failed")
                    shown.ended(str(item.run), sentence)
        except KeyboardInterrupt:
            interrupted = True
    summary = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    left = " ".join(shown.left if interrupted else failed)
    again = (
        f"With --force the same command does all of it again; left: {left}"
        if force
        else f"To go on: {command}"
    )
    if interrupted:
        print(
            f"Interrupted: {summary or 'nothing done'}, {len(shown.left)} left; what is "
            f"finished is kept. {again}",
            flush=True,
        )
        return 130
    print(
        f"{summary or 'nothing to do'}. Results: "
        f"{places.shown(outputs / profile)}{f'. {again}' if left else ''}",
        flush=True,
    )
    return int(counts["failed"] > 0 or (data_required and counts["data missing"] > 0))


def _execute(
    todo, folder: Path, profile: str, jobs: int, shown: progress.Progress
) -> Iterator[tuple[Plan, str, str]]:
    """Yield each plan when it has ended, and what became of it; stop all workers on the way out."""
    environment = _environment(jobs)
    waiting, running = list(reversed(todo)), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                item, scratch = waiting.pop(), None
                try:
                    scratch = _begin(item)
                    if scratch is None:
                        yield item, *item.elsewhere()
                        continue
                    running[scratch] = item, None, 0.0  # cleared away even if the start fails
                    text, keep = notebooks.to_text(item.notebook), folders.descriptors(scratch)
                    process = start(scratch, text, item.spec(folder, profile), environment, keep)
                    running[scratch] = item, process, time.monotonic()
                except OSError as error:
                    if running.pop(scratch, None):
                        folders.release(scratch)
                    yield item, *item.failed(error)
            time.sleep(0.05)
            shown.show(
                {str(item.run): time.monotonic() - began for item, _, began in running.values()}
            )
            for scratch, (item, process, _) in list(running.items()):
                if process.poll() is not None:
                    process.communicate()  # which closes what was open to it
                    try:
                        ended = item.finish(scratch, process.returncode)
                    except OSError as error:
                        ended = item.failed(error)
                    del running[scratch]
                    folders.release(scratch)
                    yield item, *ended
    finally:
        processes = [process for _, process, _ in running.values() if process is not None]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        for scratch in running:
            folders.release(scratch)


def _execute_on_cluster(
    todo, folder: Path, profile: str, jobs: int, scheduler: str
) -> Iterator[tuple[Plan, str, str]]:
    """Yield each plan when a worker of the cluster has ended it, and what became of it."""
    if not todo:
        return
    threads, environment = {}, _environment(jobs)
    if scheduler == "local":
        threads = {name: environment[name] for name in THREAD_VARIABLES}
    common = {"threads": threads, "data": os.environ.get("SAFESCREEN_DATA")}
    tasks = [
        {"notebook": notebooks.to_text(item.notebook), "spec": item.spec(folder, profile), **common}
        for item in todo
    ]
    with (
        cluster.connect(scheduler, jobs) as client,
        closing(cluster.execute(client, tasks)) as ended,
    ):
        for rank, code, packed in ended:
            item, scratch = todo[rank], None
            try:
                scratch = _begin(item)
                if scratch is None:
                    outcome = item.elsewhere()
                elif code is None:
                    (scratch / "error.txt").write_text(packed, encoding="utf-8")
                    outcome = item.finish(scratch, 1)
                else:
                    cluster.unpack(packed, scratch)
                    outcome = item.finish(scratch, code)
            except OSError as error:
                outcome = item.failed(error)
            finally:
                if scratch is not None:
                    folders.release(scratch)
            yield item, *outcome


def _begin(item: Plan) -> Path | None:
    """The folder of an attempt; None if another process has one, or has finished the run since
    it was planned.
    """
    scratch, now = (
        folders.scratch_folder(item.folder),
        folders.state(item.folder, item.hashes, record=item.record),
    )
    if scratch is not None and now.done and now.result != item.state.result:
        folders.release(scratch)
        return None
    return scratch


def _environment(jobs: int) -> dict[str, str]:
    """The worker's environment: this package, and its share of the cores."""
    threads, environment = _threads(jobs), places.environment()
    for name in THREAD_VARIABLES:
        given = environment.get(name, "")
        environment[name] = str(
            min(threads, int(given)) if given.isdigit() and int(given) else threads
        )
    return environment


def _need_clean_tree(folder: Path) -> None:
    git = fingerprint.git_state(folder)
    if git is not None and git["dirty"]:
        raise BookError(
            "a record names the commit it was made from, and tracked files have changes "
            "that are not committed: commit, or add --dirty"
        )


def _threads(jobs: int) -> int:
    return max(1, fingerprint.cores() // jobs)


def _compile_once() -> None:
    """Fill the cache of compiled kernels before several processes would each do it."""
    tqdm.write("Compiling what is not compiled yet, half a minute at the first time ...")
    command = [sys.executable, "-m", "safescreen.warmup"]
    subprocess.run(command, env=_environment(1), stdout=subprocess.DEVNULL, check=False)


@contextmanager
def _terminated_like_interrupted():
    """Within, SIGTERM (a batch system's farewell) is treated like Ctrl-C."""
    try:
        older = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, older)
