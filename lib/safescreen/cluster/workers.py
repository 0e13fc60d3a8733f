"""Checks that the workers of a Dask cluster compute the same as this process, and a safe way to
wait for them.

dask.distributed comes with ``pip install 'safescreen[cluster]'`` and is imported only when a
function here is called."""

import asyncio
import platform
import time
import warnings
from concurrent.futures import CancelledError
from functools import cache
from importlib import metadata
from typing import Any

from safescreen._numba import source_hash

NUMERICAL = ("numpy", "scipy", "numba")


POLL = 1.0
"""Seconds between two checks whether a cluster that has not answered yet has workers."""


class ClusterError(RuntimeError):
    """The error for a cluster that cannot be used: it does not answer, has no workers, or has
    workers of another version. The message says what to do.
    """


@cache
def stamp() -> dict[str, str]:
    """Return the versions that must or should agree between a client and its workers.

    ``python`` (major.minor) and ``source`` (a hash of the sources of safescreen) have to agree. The
    versions of numpy, scipy and numba should agree; with other versions the results are the same up
    to rounding.
    """
    versions = {name: metadata.version(name) for name in NUMERICAL}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "source": source_hash()[:12], **versions}


def check_client(client: Any) -> Any:
    """Return `client` if it is a synchronous ``distributed.Client`` whose workers may be used.
    Raise a TypeError or a ClusterError otherwise.
    """
    if not isinstance(client, distributed().Client):
        raise TypeError(f"client must be a distributed.Client, got {type(client).__name__}")
    if client.asynchronous:
        raise TypeError("client must be synchronous, got one with asynchronous=True")
    check_workers(client)
    return client


def check_workers(client: Any) -> None:
    """Compare every worker of a cluster with this process.

    Raises
    ------
    ClusterError
        There are no workers, or a worker does not have safescreen, has other sources of safescreen,
        or has another version of Python.

    Warns
    -----
    UserWarning
        The versions of numpy, scipy or numba differ.
    """
    here = stamp()
    answers = client.run(stamp, on_error="return")
    if not answers:
        raise ClusterError(
            f"the scheduler at {client.scheduler.address} has no workers; start some with: "
            "dask worker ADDRESS"
        )
    for address, stamped in sorted(answers.items()):
        if isinstance(stamped, Exception):
            raise ClusterError(
                f"worker {address} must have safescreen as it is here, and cannot import it: "
                f"{stamped}"
            )
        different = [name for name in here if stamped[name] != here[name]]
        versions = ", ".join(f"{name} {stamped[name]} (here {here[name]})" for name in different)
        if set(different) - set(NUMERICAL):
            raise ClusterError(f"worker {address} has {versions}; install the same on every worker")
        if different:
            warnings.warn(
                f"worker {address} has {versions}: results may differ in their last digits",
                stacklevel=3,
            )


def gather(client: Any, futures: list, patience: float, lost: str) -> list:
    """Return the results of futures. Unlike ``client.gather``, the function does not wait for ever
    if there are no workers.

    Parameters
    ----------
    client : distributed.Client
    futures : list of distributed.Future
    patience : float
        Seconds for which the cluster may be without any worker.
    lost : str
        What cannot be computed without workers, for the message of the error.

    Returns
    -------
    list

    Raises
    ------
    ClusterError
        The cluster was without workers for longer than `patience`.
    """
    return client.sync(_gather, client, futures, patience, lost)


async def _gather(client, futures, patience, lost):
    with client.as_current():
        done = distributed().wait(futures)
    await _patiently(client, done, futures, patience, lost)
    return await _patiently(client, client.gather(futures), futures, patience, lost)


async def _patiently(client, work, futures, patience, lost):
    """Wait for a client's futures, and cancel them if the cluster has no workers for too long."""
    task = asyncio.ensure_future(work)
    seen = time.monotonic()
    while not task.done():
        await asyncio.wait([task], timeout=min(POLL, patience))
        if task.done() or await _has_workers(client):
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            await client.cancel(futures)
            await asyncio.wait([task])
            alone = _left_alone(client.scheduler.address, patience, lost)
            raise ClusterError(alone) from task.exception()
    try:
        return task.result()
    except CancelledError as error:
        ended = f"the scheduler at {client.scheduler.address} ended or was started again"
        raise ClusterError(f"{lost} are lost: {ended}; make them again") from error


async def _has_workers(client):
    try:
        return bool(await client.nthreads())
    except OSError:  # the scheduler does not answer
        return False


def _left_alone(address, patience, lost):
    return (
        f"the scheduler at {address} has had no worker for {patience:g} seconds: "
        f"{lost} cannot be computed; start workers with: dask worker {address}, "
        "or wait longer for them with a larger `patience`"
    )


def distributed() -> Any:
    """Return the module dask.distributed. If it is missing, a ModuleNotFoundError names the extra
    to install.
    """
    try:
        import distributed as module
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a Dask cluster needs: pip install 'safescreen[cluster]'", name=error.name
        ) from error
    return module
