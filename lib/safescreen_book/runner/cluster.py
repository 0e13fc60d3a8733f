"""Runs on the workers of a Dask cluster: a run goes out as text, and its finished folder comes back
as bytes.

A worker needs this package and the data sets, nothing else: it may share the file system with this
process or not."""

import io
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safescreen.cluster import workers as _cluster
from safescreen_book import datasets, places
from safescreen_book.datasets.store import ENVIRONMENT
from safescreen_book.runner import fingerprint, plans, worker

POLL = 0.1
"""Seconds between two looks at a notebook that runs on a worker."""

PATIENCE = 15.0
"""Seconds it has to end itself when its result is no longer wanted."""


@contextmanager
def connect(address: str, n_workers: int = 1, timeout: float = 10.0) -> Iterator[Any]:
    """Yield a client of the scheduler at an address such as `tcp://host:8786`, or `local`: of
    `n_workers` processes started here.

    Its workers have this version of the package; a ClusterError says why not, or that nobody
    answers within `timeout` seconds."""
    distributed = _cluster.distributed()
    if address == "local":
        options = {
            "n_workers": n_workers,
            "threads_per_worker": 1,
            "host": "127.0.0.1",
            "dashboard_address": ":0",
            "silence_logs": "ERROR",
        }
        with tempfile.TemporaryDirectory(
            prefix="safescreen-", ignore_cleanup_errors=True
        ) as folder:
            with distributed.LocalCluster(local_directory=folder, **options) as cluster:
                with distributed.Client(cluster, set_as_default=False) as client:
                    client.register_worker_callbacks(_leave_interrupts_to_the_client)
                    yield client
        return
    try:
        _knock(address, timeout)
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise _cluster.ClusterError(
            f"no Dask scheduler answers at {address} ({reason}); start one with: dask scheduler"
        ) from error
    with client:
        _cluster.check_workers(client)
        yield client


def _leave_interrupts_to_the_client() -> None:
    """Ctrl-C in a terminal reaches every process started there; the one that was typed at ends
    the others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def execute(
    client, tasks: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[int, int | None, bytes | str]]:
    """Send tasks to a cluster; yield the number of each as it ends, and what `run_task` returned.

    A worker that is lost has its tasks done again by another, up to the scheduler's
    `allowed-failures` (3) times."""
    distributed = _cluster.distributed()
    ranks = {}
    for rank, task in enumerate(tasks):
        ranks[client.submit(run_task, task, pure=False, priority=-rank)] = rank
    try:
        for future in distributed.as_completed(list(ranks), loop=client.loop):
            rank = ranks.pop(future)
            try:
                ended = future.result()
            except distributed.KilledWorker:
                ended = (
                    None,
                    "the workers that ran it were lost, one after the other (out of memory?)",
                )
            except Exception as error:
                ended = None, f"{type(error).__name__}: {error}".splitlines()[0]
            future.release()
            yield rank, *ended
    finally:
        client.cancel(list(ranks))


def run_task(task: Mapping[str, Any]) -> tuple[int | None, bytes | str]:
    """Execute one run on a worker, in a process of its own; return its exit code and packed folder,
    or None and why it was not started.

    A task is a `notebook` (text), its `spec` (see `Plan.spec`), `threads` (variables of the
    environment) and `data` (a folder to look for data sets in, if it exists here, or None)."""
    import nbformat
    from distributed import get_worker

    spec, host = dict(task["spec"]), socket.gethostname()
    with _data_folder(task["data"]):
        sums, missing = plans.data_checksums(spec["data"])
        environment = {
            **dict.fromkeys(worker.THREAD_VARIABLES, "1"),
            **places.environment(),
            **task["threads"],
        }
    if missing:
        return (
            None,
            f"worker on {host} lacks data: {' '.join(missing)} (there, {datasets.advice(missing)})",
        )
    here = fingerprint.hashes(
        nbformat.reads(task["notebook"], as_version=4), spec["parameters"], sums
    )
    if other := fingerprint.changed(spec["hashes"], here, here):
        return None, f"worker on {host} differs: {other}; install the same on every worker"
    dask_worker = get_worker()
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=dask_worker.local_directory))
    try:
        if not Path(spec["notebooks"]).is_dir():
            spec["notebooks"] = str(scratch)
        process = worker.start(scratch, task["notebook"], spec, environment)
        return _wait(process, dask_worker), pack(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _data_folder(folder: str | None) -> Iterator[None]:
    """Let this process look for data sets in a folder, if it is here, and then where it did
    before.
    """
    before = os.environ.get(ENVIRONMENT)
    if folder and Path(folder).is_dir():
        os.environ[ENVIRONMENT] = folder
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(ENVIRONMENT, None)
        else:
            os.environ[ENVIRONMENT] = before


def pack(folder: Path) -> bytes:
    """Return the files below a folder as a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder).as_posix())
    return buffer.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """Write the files of an archive below an existing folder."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)


def _wait(process: subprocess.Popen, dask_worker) -> int:
    """Return the exit code of a process; end it when nobody waits for the task's result any
    more.
    """
    key = dask_worker.get_current_task()
    try:
        while process.poll() is None:
            task = dask_worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                process.terminate()
                process.wait(PATIENCE)
            time.sleep(POLL)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    return process.returncode


def _knock(address: str, timeout: float) -> None:
    """Open and close a connection: a client that finds nobody there leaves much behind, so it is
    not made.
    """
    from distributed.comm import get_address_host_port

    socket.create_connection(get_address_host_port(address), timeout).close()
