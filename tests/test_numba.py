"""The code generator keeps conditional stores, concerns nobody else, and refuses fastmath."""

import os
import platform
import signal
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from safescreen._numba import njit

ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_DISABLE_JIT")
}


@njit
def _store_under_flag(flags, values, clear):
    for r in range(flags.size):
        if not flags[r]:
            values[r] = 1.0
            flags[r] = clear


@pytest.mark.parametrize("size", [7, 16, 40, 64, 200, 1000])
@pytest.mark.parametrize("clear", [False, True])
def test_conditional_stores_survive_vectorization(size, clear):
    rng = np.random.default_rng(size)
    flags, values = rng.random(size) < 0.5, rng.normal(size=size)
    expected_values = np.where(flags, values, 1.0)
    expected_flags = flags | clear
    _store_under_flag(flags, values, clear)
    assert np.array_equal(values, expected_values)
    assert np.array_equal(flags, expected_flags)


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="not x86")
def test_kernels_know_no_avx512():
    if numba.config.DISABLE_JIT or numba.config.CPU_NAME or numba.config.CPU_FEATURES:
        pytest.skip("the environment chooses how kernels are compiled")
    features = _store_under_flag.targetctx.codegen().magic_tuple()[2].split(",")
    assert features[-1] == "-avx512f"


NEIGHBOURS = """
import os, sys
import llvmlite.binding as llvm, numba, numpy as np

def settings():
    values = {name: repr(value) for name, value in vars(numba.config).items() if name.isupper()}
    return values | {name: value for name, value in os.environ.items() if name[:5] == "NUMBA"}

def store(flags, values, clear):
    for r in range(flags.size):
        if not flags[r]:
            values[r] = 1.0
            flags[r] = clear

def square(x, y):
    for i in numba.prange(x.size):
        y[i] += x[i] * x[i]

def smooth(x, y):
    y += np.cumsum(x * x)

def wide(kernel):
    return any("zmm" in code for code in kernel.inspect_asm().values())

def run(square, smooth, store):
    for kernel in square, smooth:
        kernel(np.ones(100), np.ones(100))
    store(np.zeros(100, bool), np.zeros(100), False)

before = settings()
theirs = [numba.njit(parallel=True)(square), numba.njit(smooth), numba.njit(store)]
if sys.argv[1] != "ours":
    run(*theirs)
if sys.argv[1] == "alone":
    print(int(wide(theirs[0])))
    sys.exit()
from safescreen._numba import njit
ours = [njit(parallel=True, cache=False)(square), njit(cache=False)(smooth)]
ours.append(njit(cache=False)(store))
run(*ours)
run(*theirs)
assert settings() == before
assert not any(map(wide, ours))
features = theirs[0].targetctx.codegen().magic_tuple()[2].split(",")
has_it = bool(llvm.get_host_cpu_features().get("avx512f"))
assert ("+avx512f" in features) == has_it and "-avx512f" not in features[-1:], "theirs lack AVX-512"
assert wide(theirs[0]) == bool(int(sys.argv[2])), "theirs are not as wide as alone"
flags, values = np.arange(1000) % 3 == 0, np.zeros(1000)
expected = np.where(flags, values, 1.0)
ours[2](flags, values, False)
assert np.array_equal(values, expected)
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_other_packages_keep_their_target_and_settings(first):
    """Some processors with AVX-512 prefer narrower vectors: theirs are as wide as without ours."""
    command = [sys.executable, "-c", NEIGHBOURS]
    alone = subprocess.check_output([*command, "alone"], env=ENVIRONMENT, text=True)
    subprocess.run([*command, first, alone], env=ENVIRONMENT, check=True)


@pytest.mark.slow
def test_the_environment_chooses_the_target():
    code = "import safescreen; from safescreen.rules.ball import ball_kernel as kernel; "
    code += "print(kernel.targetctx.codegen().magic_tuple()[1:])"
    for variables, expected in (
        ({"NUMBA_CPU_NAME": "generic"}, ("generic", "")),
        ({"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse4.2"}, ("nehalem", "+sse4.2")),
    ):
        printed = subprocess.run(
            [sys.executable, "-c", code],
            env=ENVIRONMENT | variables,
            capture_output=True,
            text=True,
        ).stdout
        assert printed.strip() == str(expected)


def test_fastmath_is_refused():
    with pytest.raises(ValueError, match="fastmath"):
        njit(fastmath=True)


def test_a_kernel_that_cannot_be_compiled_leaves_no_lock():
    @njit
    def kernel(x):
        return x.missing

    for _ in range(2):  # the second would wait for a lock that is left
        with pytest.raises(numba.TypingError, match="missing"):
            kernel(1)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles a kernel")
def test_ctrl_c_waits_until_a_kernel_is_compiled(monkeypatch):
    """An exception in the middle of it would be lost in LLVM, and the kernel with it."""
    compile_kernel = CPUDispatcher.compile

    def interrupted(kernel, sig):
        signal.raise_signal(signal.SIGINT)
        return compile_kernel(kernel, sig)

    @njit(cache=False)
    def unused(x):
        return x + 1

    @njit
    def kept(x):
        return x + 2

    monkeypatch.setattr(CPUDispatcher, "compile", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for kernel in (unused, kept):
            with pytest.raises(KeyboardInterrupt):
                kernel(1)
            assert len(kernel.signatures) == 1
    finally:
        signal.signal(signal.SIGINT, before)
