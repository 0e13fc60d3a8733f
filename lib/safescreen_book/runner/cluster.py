"""Runs on the workers of a Dask cluster. A run is sent as text, and its finished folder comes back
as bytes.

A worker needs this package and the data sets, and nothing else. It need not share the file system
with this process.
"""

import io
import os
import shutil
import signal
import socket
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safescreen.cluster import workers as _cluster
from safescreen_book import places
from safescreen_book.datasets.store import ENVIRONMENT
from safescreen_book.runner import folders, worker
from safescreen_book.runner.plans import Plan

PATIENCE = 300.0
"""Seconds for which a cluster may be without any worker."""

LOOK = 1.0
"""Seconds between two checks whether a cluster has workers."""


@contextmanager
def connect(
    address: str,
    n_workers: int = 1,
    threads: Mapping[str, str] | None = None,
    timeout: float = 10.0,
) -> Iterator["Cluster"]:
    """Yield the cluster of the scheduler at an address such as `tcp://host:8786`, or `local`: of
    `n_workers` processes started here.

    A ClusterError is raised if its workers do not have this version of the package, or if nobody
    answers within `timeout` seconds. `threads` are variables of the environment of each run.
    """
    with _client(address, n_workers, timeout) as client:
        executor = client.get_executor(pure=False)
        try:
            yield Cluster(client, executor, threads or {})
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _client(address: str, n_workers: int, timeout: float) -> Iterator[Any]:
    distributed = _cluster.distributed()
    if address == "local":
        options = {
            "n_workers": n_workers,
            "threads_per_worker": 1,
            "host": "127.0.0.1",
            "dashboard_address": ":0",
            "silence_logs": "ERROR",
        }
        with (
            tempfile.TemporaryDirectory(prefix="safescreen-", ignore_cleanup_errors=True) as folder,
            distributed.LocalCluster(local_directory=folder, **options) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
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


def _knock(address: str, timeout: float) -> None:
    """Open and close a connection: a client that finds nobody there leaves much behind, so it is
    not made.
    """
    from distributed.comm import get_address_host_port

    socket.create_connection(get_address_host_port(address), timeout).close()


def _leave_interrupts_to_the_client() -> None:
    """Ctrl-C in a terminal reaches every process started there; the one that was typed at ends
    the others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Cluster:
    """The workers of a Dask cluster. If a worker is lost, another one executes its run again, up to
    the scheduler's `allowed-failures` (3) times.
    """

    def __init__(self, client, executor, threads: Mapping[str, str]):
        self._client = client
        self._executor = executor
        self._threads = threads
        self._looked = self._seen = time.monotonic()

    def submit(self, item: Plan) -> Future:
        """Send a run to the cluster."""
        spec = {**item.spec(), "elsewhere": True, "parts": ""}  # which would stay there
        data = os.environ.get(ENVIRONMENT)
        return self._executor.submit(run_task, item.text(), spec, self._threads, data)

    def outcome(self, item: Plan, future: Future) -> tuple[str, str]:
        """Return the outcome of a run that has ended, and a sentence on it."""
        scratch = item.begin()
        if scratch is None:
            return item.elsewhere()
        try:
            error = future.exception()
            if error is not None:
                (scratch / "error.txt").write_text(_reason(error), encoding="utf-8")
                return item.finish(scratch, 1)
            code, packed = future.result()
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                archive.extractall(scratch)
            return item.finish(scratch, code)
        finally:
            folders.release(scratch)

    def running(self) -> dict[str, float]:
        """Return nothing: a scheduler does not say for how long a run has been under way."""
        return {}

    def check(self, waiting: Mapping[Future, Plan]) -> None:
        """Raise a ClusterError that names the runs that are lost, if the scheduler has forgotten
        them or has had no worker for `PATIENCE` seconds.
        """
        now = time.monotonic()
        if any(future.cancelled() for future in waiting):
            why = "ended or was started again"
        elif now - self._looked < LOOK:
            return
        else:
            self._looked = now
            if self._has_workers():
                self._seen = now
            if now - self._seen <= PATIENCE:
                return
            why = f"has had no worker for {PATIENCE:g} seconds"
        names = " ".join(str(item.run) for item in waiting.values())
        raise _cluster.ClusterError(
            f"the scheduler at {self._client.scheduler.address} {why}: these runs are lost: "
            f"{names}. Finished runs are kept; start workers with `dask worker ADDRESS`, then run "
            "again to go on"
        )

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except OSError:  # the scheduler does not answer
            return False


def _reason(error: BaseException) -> str:
    """Return in one line why a run on a cluster has no result."""
    if isinstance(error, _cluster.distributed().KilledWorker):
        return "the workers that ran it were lost, one after the other (out of memory?)"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def run_task(
    notebook: str, spec: Mapping[str, Any], threads: Mapping[str, str], data: str | None
) -> tuple[int | None, bytes]:
    """Execute one run on a worker, in a process of its own; return its exit code and the files of
    its folder as a zip archive.

    `spec` is that of `Plan.spec`, `threads` are variables of the environment, and `data` is a
    folder to look for data sets in, if it exists here."""
    from distributed import get_worker

    dask_worker = get_worker()
    key = dask_worker.get_current_task()

    def unwanted() -> bool:
        task = dask_worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    one_thread = dict.fromkeys(worker.THREAD_VARIABLES, "1")
    environment = {**one_thread, **places.environment(), **threads}
    if data and Path(data).is_dir():
        environment[ENVIRONMENT] = data
    with tempfile.TemporaryDirectory(
        prefix="run-", dir=dask_worker.local_directory, ignore_cleanup_errors=True
    ) as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        if not Path(spec["notebooks"]).is_dir():
            spec = {**spec, "notebooks": str(scratch)}
        code = worker.run(scratch, notebook, spec, environment, unwanted)
        return code, Path(shutil.make_archive(f"{folder}/packed", "zip", scratch)).read_bytes()
