"""Dask clusters: make sure that the workers of one compute what this process would.

dask.distributed comes with ``pip install 'safescreen[cluster]'`` and is imported only when a function here is called.
"""

import platform
import warnings
from functools import cache
from importlib import metadata
from typing import Any

from safescreen._numba import source_hash

NUMERICAL = ("numpy", "scipy", "numba")


class ClusterError(RuntimeError):
    """A cluster cannot be used: no answer, no workers, or workers with another version; the message says what to do."""


@cache
def stamp() -> dict[str, str]:
    """Return what has to agree between a client and its workers, and what should.

    ``python`` (major.minor) and ``source`` (hash of the sources of safescreen) have to agree, the versions of numpy, scipy and
    numba should: other ones compute the same up to rounding.
    """
    versions = {name: metadata.version(name) for name in NUMERICAL}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "source": source_hash()[:12], **versions}


def check_client(client: Any) -> Any:
    """Return `client` if it is a synchronous ``distributed.Client`` whose workers may be used; TypeError or ClusterError otherwise."""
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
        There are no workers, safescreen is missing on one, or its version, its sources or Python's version differ from those here.

    Warns
    -----
    UserWarning
        If versions of numpy, scipy or numba differ.
    """
    here = stamp()
    answers = client.run(stamp, on_error="return")
    if not answers:
        raise ClusterError(f"the scheduler at {client.scheduler.address} has no workers; start some with: dask worker ADDRESS")
    for address, there in sorted(answers.items()):
        if isinstance(there, Exception):
            raise ClusterError(f"worker {address} needs safescreen as it is here, and cannot import it ({there})")
        different = [name for name in here if there[name] != here[name]]
        found = ", ".join(f"{name} {there[name]} (here {here[name]})" for name in different)
        if set(different) - set(NUMERICAL):
            raise ClusterError(f"worker {address} has {found}; install the same on every worker")
        if different:
            warnings.warn(f"worker {address} has {found}: results may differ in their last digits", stacklevel=3)


def distributed() -> Any:
    """Return the module dask.distributed; ModuleNotFoundError that names the extra if it is missing."""
    try:
        import distributed as module
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a Dask cluster needs: pip install 'safescreen[cluster]'", name=error.name) from error
    return module
