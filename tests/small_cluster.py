"""A Dask scheduler in this process and workers in processes of their own, which a test may kill."""

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from distributed import Client, LocalCluster


@dataclass(frozen=True)
class SmallCluster:
    """Its client, its address, and its workers' processes by address."""

    client: Any
    address: str
    processes: dict

    def kill_one(self, future):
        """Kill the worker that holds a result, without a farewell; return its address."""
        ((address, *_),) = self.client.who_has([future]).values()
        process = self.processes.pop(address)
        process.kill()
        process.wait()
        return address


@contextmanager
def small_cluster(folder, n_workers, **variables):
    """Yield a :class:`SmallCluster` of processes with one thread each; none is left at the end."""
    library = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": library, "NUMBA_NUM_THREADS": "1", **variables}
    options = [
        "--no-nanny",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--death-timeout",
        "60",
        "--local-directory",
        str(folder),
    ]
    started = []
    with LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address=":0", processes=True
    ) as scheduler:
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            scheduler.scheduler_address,
            *options,
        ]
        try:
            for number in range(n_workers):
                worker = [*command, "--name", f"worker-{number}"]
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                started.append(subprocess.Popen(worker, env=environment, cwd=folder, **quiet))
            with Client(scheduler, set_as_default=False) as client:
                client.wait_for_workers(n_workers, timeout=60)
                numbers = {pid: address for address, pid in client.run(os.getpid).items()}
                processes = {numbers[process.pid]: process for process in started}
                yield SmallCluster(client, scheduler.scheduler_address, processes)
        finally:
            for process in started:
                process.kill()
            for process in started:
                process.wait()
