"""Threads of the linear algebra: one for small matrices, for which waiting threads cost more time
than they save, and all for large matrices.

A solve runs in :func:`small_blas`. Operations on large matrices use more threads explicitly.
:func:`matmul` gives fixed tiles of rows to threads of its own, each with one thread of BLAS, so
that the result is the same to the last bit for any number of threads. Factorizations run in
:func:`large_blas`.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

LARGE_PRODUCT = 2e8
"""Number of multiplications from which a product is shared among threads."""

TILE = 5e7
"""Number of multiplications in a tile of a product that is shared among threads."""

LARGE_ORDER = 512
"""Smallest order of a matrix whose factorization uses all threads of BLAS."""

_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class _Libraries:
    """BLAS libraries of the process, their numbers of threads before the solves, and the number of
    running solves.
    """

    controllers: list[Any] | None = None
    before: tuple[int, ...] = ()
    running = 0

    @classmethod
    def set(cls, threads: tuple[int, ...]) -> None:
        for library, n in zip(cls.controllers or (), threads, strict=True):
            library.set_num_threads(n)


@contextmanager
def small_blas() -> Iterator[None]:
    """Limit BLAS to one thread. The first caller that enters sets the limit, and the last caller
    that leaves restores the former numbers of threads.
    """
    with _lock:
        libraries = _Libraries.controllers
        if libraries is None:
            libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            _Libraries.controllers = libraries
        if _Libraries.running == 0:
            _Libraries.before = tuple(library.get_num_threads() for library in libraries)
            _Libraries.set((1,) * len(_Libraries.before))
        _Libraries.running += 1
    try:
        yield
    finally:
        with _lock:
            _Libraries.running -= 1
            if _Libraries.running == 0:
                _Libraries.set(_Libraries.before)


@contextmanager
def large_blas(order: int) -> Iterator[None]:
    """Give BLAS its threads back inside a solve, if the order of the matrix is large."""
    if order < LARGE_ORDER or _Libraries.running == 0:
        yield
        return
    _Libraries.set(_Libraries.before)
    try:
        yield
    finally:
        _Libraries.set((1,) * len(_Libraries.before))


with_small_blas = small_blas()
"""Decorator of functions that run in :func:`small_blas`. Each call enters the context anew."""


def matmul(A: NDArray, B: NDArray) -> NDArray:
    """Return ``A @ B``. A large product is computed in tiles of rows of A, as many at a time as
    BLAS has threads outside of the solve.
    """
    n = A.shape[0]
    work = A.shape[0] * B.size
    if work < LARGE_PRODUCT or A.ndim < 2 or B.ndim < 2:
        return A @ B
    out = np.empty((n, B.shape[1]))
    share(lambda rows: np.matmul(A[rows], B, out=out[rows]), n, max(32, int(TILE / B.size)))
    return out


def share(work: Callable[[slice], Any], size: int, width: int) -> None:
    """Call ``work(slice)`` for the slices of ``range(size)`` of the given width, as many at a time
    as BLAS has threads outside of the solve.
    """
    pieces = [slice(start, min(start + width, size)) for start in range(0, size, width)]
    with small_blas():
        threads = min(max(1, *_Libraries.before), len(pieces))
        if threads <= 1:
            for piece in pieces:
                work(piece)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, pieces))


class Stop:
    """Signal with which one thread ends the work of other threads, for instance after Ctrl-C, which
    only the main thread receives.

    Once :meth:`set` is called, :func:`stop_if_asked` raises KeyboardInterrupt in each thread that
    works in :meth:`run`. Other processes have copies, which are never set.
    """

    _here = threading.local()

    def __init__(self):
        self._event = threading.Event()

    def __reduce__(self):
        return Stop, ()

    def set(self) -> None:
        """End the work."""
        self._event.set()

    def run(self, work: Callable, *args: Any, **options: Any) -> Any:
        """Return what ``work(*args, **options)`` returns."""
        before = getattr(Stop._here, "event", None)
        Stop._here.event = self._event
        try:
            return work(*args, **options)
        finally:
            Stop._here.event = before


def is_stopped() -> bool:
    """Return whether another thread asks this one to end its work."""
    event = getattr(Stop._here, "event", None)
    return event is not None and event.is_set()


def stop_if_asked() -> None:
    """Raise KeyboardInterrupt if another thread asks this one to end its work."""
    if is_stopped():
        raise KeyboardInterrupt


@contextmanager
def later_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of a block that it would break. Processes that start in the block
    never receive Ctrl-C, if the system can block signals.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        with _blocked(signal.SIGINT):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _blocked(number: int) -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
