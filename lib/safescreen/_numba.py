"""Set-up of numba: a compiler target for our own kernels, and ``njit`` for this target.

AVX-512 code is not generated: with numba 0.68 (LLVM 22) on processors of the ``znver4`` and
``znver5`` kind, a loop that stores to two arrays under a condition on one of the arrays loses some
of the stores if it is vectorized. This is a fault of LLVM, which other languages have met too
(rust-lang/rust issue 158622). A lost flag in a kernel would be an unsafe decision.
``tests/test_numba.py`` runs that loop. ``NUMBA_CPU_FEATURES`` or ``NUMBA_CPU_NAME`` in the
environment overrule this choice.

numba makes one code generator per target and process, when the first function is declared for the
target, and compiles everything with it. So our kernels have a target of their own: the CPU, with a
code generator that leaves out AVX-512. The functions of numba itself (sorting, norms) are compiled
separately for each target. Kernels of other packages, the settings of numba and the environment
stay unchanged, and the order of imports and compilations does not matter.
"""

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
    """Target for our kernels, which inherits everything that numba has for the CPU."""


class _Codegen(JITCPUCodegen):
    def _get_host_cpu_features(self):
        features = super()._get_host_cpu_features()
        is_chosen = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
        if is_chosen or platform.machine().lower() not in ("x86_64", "amd64"):
            return features
        return f"{features},-avx512f" if features else "-avx512f"  # the last flag counts


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
    """Compiled function. One process at a time compiles or loads it, and the next process finds it
    in the cache.
    """

    targetdescr = _TargetDescriptor(TARGET)
    is_kept = False

    def enable_caching(self):
        """Keep compiled code in the cache. The cache is chosen at the first compilation, because a
        kernel may call another kernel that is declared after it.
        """
        self.is_kept = True

    def compile(self, sig):
        """Compile or load the kernel for a signature."""
        # numba's lock is first, because it admits one thread of a process at a time anyway;
        # Ctrl-C waits, because an exception in a callback of LLVM would be lost with the kernel
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
    """Compile a function with ``numba.njit`` for our target, with the cache on. ``fastmath`` is
    refused because kernels decide safety.
    """
    if options.get("fastmath"):
        raise ValueError("fastmath=True is not allowed: kernels decide safety in IEEE arithmetic")
    options.setdefault("cache", True)
    options.setdefault("nogil", True)
    options.setdefault("error_model", "numpy")
    return numba.njit(*args, _target=TARGET, **options)


class Shared:
    """Kernel whose ``prange`` loops are shared among threads, and the same kernel without threads,
    :attr:`alone`.

    One thread of a process at a time shares its loops. Meanwhile other threads run :attr:`alone`. A
    fork of a process in which numba has started threads, for any kernel, runs :attr:`alone` too:
    the threads do not exist in the fork, and the most common library of threads (OpenMP of GCC)
    would end the fork. A kernel must have the same result in both cases.
    """

    lock = threading.Lock()
    forked = False

    def __init__(self, function):
        copy = types.FunctionType(function.__code__, function.__globals__, function.__name__)
        # numba's cache uses this name
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
