"""Set-up of numba: a compile cache that cannot be stale, a code generator that can be trusted, and
one place to get ``njit``.

numba's own cache key is the file a kernel is written in; editing a kernel that another file inlines
would leave the caller stale. The cache folder is therefore named by a hash of every source file of
this package that kernels can depend on, and by numba's version, and is chosen before the first
kernel is declared; ``NUMBA_CACHE_DIR`` in the environment overrules it.

Processes that start together, as the workers of a grid search do, share that folder. One of them
compiles a kernel while the others that need it wait, and load it.

AVX-512 code is not generated: with numba 0.68 (LLVM 22) on processors of the ``znver4`` and
``znver5`` kind, a loop that stores to two arrays under a condition on one of them loses some of the
stores once it is vectorized (a fault of LLVM's, known from other languages too: rust-lang/rust
issue 158622), and a lost flag here would be an unsafe decision. ``tests/test_numba.py`` runs that
loop. ``NUMBA_CPU_FEATURES`` or ``NUMBA_CPU_NAME`` in the environment overrule this choice."""

import contextlib
import functools
import hashlib
import os
import platform
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

# numba.config gets its attributes when it is read:
# pyright: reportAttributeAccessIssue=false, reportPrivateImportUsage=false

__all__ = ["Shared", "njit", "prange", "source_hash"]


def source_hash():
    """Return the SHA-256 (hex) of the Python sources of the package, names included."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _cache_folder():
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", str(Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    from importlib.metadata import version

    return Path(base) / "safescreen" / "numba" / f"{source_hash()[:20]}-{version('numba')}"


def _features():
    if "NUMBA_CPU_NAME" in os.environ or platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    return os.environ.setdefault("NUMBA_CPU_FEATURES", "-avx512f")


FEATURES = _features()
os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache_folder()))

import numba  # noqa: E402  (the cache folder and the features have to be known first)
from numba import prange  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402

if not numba.config.CACHE_DIR:  # the same; looked up where a kernel is declared
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
if numba.config.CPU_FEATURES is None and FEATURES is not None:
    # numba was imported before this package; read at its first compilation
    numba.config.CPU_FEATURES = FEATURES

try:
    import fcntl
except ImportError:  # Windows: every process compiles
    fcntl = None

PATIENCE = 60.0
"""Seconds that a process waits for another one to compile a kernel, before it compiles it too."""


def njit(*args, **options) -> Any:
    """``numba.njit`` with the cache on; ``fastmath`` is refused because safety is decided in
    kernels.
    """
    if options.get("fastmath"):
        raise ValueError("fastmath=True is not allowed: kernels decide safety in IEEE arithmetic")
    options.setdefault("cache", True)
    options.setdefault("nogil", True)
    options.setdefault("error_model", "numpy")
    made = numba.njit(*args, **options)
    if args and callable(args[0]):
        return _compiled_once(made)
    return lambda function: _compiled_once(made(function))


def _compiled_once(kernel):
    """Have one process at a time compile or load a kernel; the next one finds it in the cache."""
    compile_or_load = getattr(kernel, "compile", None)
    if compile_or_load is None:  # NUMBA_DISABLE_JIT
        return kernel
    depth = 0  # a kernel may be compiled for other types while it is compiled

    @functools.wraps(compile_or_load)
    def compile_alone(signature):
        nonlocal depth
        with global_compiler_lock:  # first, as its threads are taken one at a time anyway
            outermost = depth == 0
            depth += 1
            try:
                with _lock_of(kernel.py_func) if outermost else contextlib.nullcontext():
                    return compile_or_load(signature)
            finally:
                depth -= 1

    kernel.compile = compile_alone
    return kernel


@contextlib.contextmanager
def _lock_of(function):
    """Hold the lock of a kernel among processes; go on without it after :data:`PATIENCE` seconds,
    or where files cannot be locked.
    """
    name = f"{function.__module__}.{function.__qualname__}.lock"
    file = None
    with contextlib.suppress(OSError):
        folder = Path(numba.config.CACHE_DIR)
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / name).open("ab")
    if file is None or fcntl is None:
        yield
        return
    with file:
        is_held = _wait_for(file)
        try:
            yield
        finally:
            if is_held:
                fcntl.flock(file, fcntl.LOCK_UN)  # a fork may have the file open, too


def _wait_for(file):
    """Lock a file; return whether it worked."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        except OSError:
            return False


class Shared:
    """A kernel whose ``prange`` loops are shared among threads, and the same one without:
    :attr:`alone`.

    Of the threads of a process one at a time shares its loops, others run alone meanwhile. So does
    a fork of a process that has shared some: the threads are not there, and the most common library
    of them (OpenMP of GCC) ends such a process. A kernel must have the same result either way."""

    lock = threading.Lock()
    used = False
    forked = False

    def __init__(self, function):
        copy = types.FunctionType(function.__code__, function.__globals__, function.__name__)
        # numba's cache goes by that name
        copy.__module__ = function.__module__
        copy.__qualname__ = f"{function.__qualname__}_alone"
        self.together = njit(parallel=True)(function)
        self.alone = njit(copy)

    def __call__(self, *args):
        """Run the kernel."""
        lock = Shared.lock
        if Shared.forked or not lock.acquire(blocking=False):
            return self.alone(*args)
        try:
            Shared.used = True
            return self.together(*args)
        finally:
            lock.release()


def _after_fork():
    Shared.lock = threading.Lock()
    Shared.forked = Shared.used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
