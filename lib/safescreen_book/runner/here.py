"""Runs on the cores of this machine. Each run is a process, and a thread waits for it."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from safescreen_book.runner import folders, worker
from safescreen_book.runner.plans import Plan


class Here:
    """Execute some runs at a time on this machine, in processes with the given environment."""

    def __init__(self, jobs: int, environment: Mapping[str, str]):
        self._executor = ThreadPoolExecutor(jobs)
        self._environment = environment
        self._closed = threading.Event()
        self._began: dict[str, float] = {}

    def submit(self, item: Plan) -> Future:
        """Start a run when it is its turn."""
        return self._executor.submit(self._attempt, item)

    def outcome(self, item: Plan, future: Future) -> tuple[str, str]:
        """Return the outcome of a run that has ended, and a sentence on it."""
        return future.result()

    def running(self) -> dict[str, float]:
        """Return the seconds that the running runs have taken."""
        now = time.monotonic()
        return {name: now - began for name, began in list(self._began.items())}

    def check(self, waiting: Mapping[Future, Plan]) -> None:
        """Do nothing: this machine cannot be lost."""

    def close(self) -> None:
        """End all runs that are under way, without a record of them."""
        self._closed.set()
        self._executor.shutdown(cancel_futures=True)

    def _attempt(self, item: Plan) -> tuple[str, str] | None:
        if item.is_late():
            return item.late()
        scratch = item.begin()
        if scratch is None:
            return item.elsewhere()
        self._began[str(item.run)] = time.monotonic()
        try:
            keep = folders.descriptors(scratch)
            closed = self._closed.is_set
            code = worker.run(scratch, item.text(), item.spec(), self._environment, closed, keep)
            return None if code is None else item.finish(scratch, code)
        finally:
            del self._began[str(item.run)]
            folders.release(scratch)
