"""Set-up of numba: a compiler of our own kernels that can be trusted, and the place of ``njit``.

AVX-512 code is not generated: with numba 0.68 (LLVM 22) on processors of the ``znver4`` and
``znver5`` kind, a loop that stores to two arrays under a condition on one of them loses some of the
stores once it is vectorized (a fault of LLVM's, known from other languages too: rust-lang/rust
issue 158622), and a lost flag here would be an unsafe decision. ``tests/test_numba.py`` runs that
loop. ``NUMBA_CPU_FEATURES`` or ``NUMBA_CPU_NAME`` in the environment overrule this choice.

numba makes one code generator per target and process, when the first function is declared for the
target, and compiles everything with it. So our kernels have a target of their own: the CPU, with a
code generator of less. What numba itself brings (sorting, norms) is compiled for each target apart.
Kernels of other packages, numba's settings and the environment stay as they are, and it does not
matter who is imported or compiled first."""

import functools
import os
import platform
import threading
import types
from typing import Any

import numba
from numba import prange
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.registry import CPUDispatcher, CPUTarget
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.utils import threadsafe_cached_property

from safescreen._kernel_cache import cache_of, lock_of, source_hash
from safescreen._threads import later_interrupts

# numba.config gets its attributes when it is read, and numba does not declare `_target`:
# pyright: reportAttributeAccessIssue=false, reportPrivateImportUsage=false, reportCallIssue=false

__all__ = ["Shared", "njit", "prange", "source_hash"]

TARGET = "safescreen"


class _Target(CPU):
    """The target's place among numba's: whatever numba has for the CPU is ours, too."""


class _Codegen(JITCPUCodegen):
    def _get_host_cpu_features(self):
        features = super()._get_host_cpu_features()
        is_chosen = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
        if is_chosen or platform.machine().lower() not in ("x86_64", "amd64"):
            return features
        return f"{features},-avx512f" if features else "-avx512f"  # the last word counts


class _Context(CPUContext):
    def init(self):
        super().init()
        self._internal_codegen = _Codegen("safescreen.exec")


class _TargetDescriptor(CPUTarget):
    @threadsafe_cached_property
    def _toplevel_target_context(self):
        return _Context(self.typing_context, self._target_name)


target_registry[TARGET] = _Target


class _Kernel(CPUDispatcher):
    """A compiled function; one process at a time compiles or loads it, and the next one finds it in
    the cache.
    """

    targetdescr = _TargetDescriptor(TARGET)
    is_kept = False

    def enable_caching(self):
        """Keep what is compiled. The cache is chosen when there is something to keep, because a
        kernel may call another one that is declared after it.
        """
        self.is_kept = True

    def compile(self, sig):
        """Compile or load the kernel for a signature."""
        # first numba's lock, as it takes the threads of a process one at a time anyway
        # an exception would be lost where LLVM calls back, and the kernel with it
        with global_compiler_lock, target_override(TARGET), later_interrupts():
            # a kernel may be compiled for other types while it is compiled
            if not self.is_kept or self._compiling_counter:
                return super().compile(sig)
            self._cache = cache_of(self)
            with lock_of(self.py_func):
                return super().compile(sig)


dispatcher_registry[_Target] = _Kernel
jit_registry[_Target] = functools.partial(numba.jit, _target=TARGET)


def njit(*args, **options) -> Any:
    """``numba.njit`` for our target, with the cache on; ``fastmath`` is refused because safety is
    decided in kernels.
    """
    if options.get("fastmath"):
        raise ValueError("fastmath=True is not allowed: kernels decide safety in IEEE arithmetic")
    options.setdefault("cache", True)
    options.setdefault("nogil", True)
    options.setdefault("error_model", "numpy")
    return numba.njit(*args, _target=TARGET, **options)


class Shared:
    """A kernel whose ``prange`` loops are shared among threads, and the same one without:
    :attr:`alone`.

    Of the threads of a process one at a time shares its loops, others run alone meanwhile. So does
    a fork of a process in which numba has started its threads, for whatever kernel: they are not
    there, and the most common library of them (OpenMP of GCC) ends such a process. A kernel must
    have the same result either way."""

    lock = threading.Lock()
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
            return self.together(*args)
        finally:
            lock.release()


def _after_fork():
    Shared.lock = threading.Lock()
    try:
        numba.threading_layer()
    except ValueError:  # no threads were started
        return
    Shared.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
