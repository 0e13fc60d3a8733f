"""The code generator keeps conditional stores, and refuses fastmath."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import TypingError

from safescreen._numba import njit


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


def test_fastmath_is_refused():
    with pytest.raises(ValueError, match="fastmath"):
        njit(fastmath=True)


@pytest.mark.parametrize("first", ["numba", "safescreen"])
def test_cache_is_named_by_the_sources_whoever_is_imported_first(first, tmp_path):
    code = (
        f"import {first}, numba; from safescreen._numba import source_hash; "
        "print(numba.config.CACHE_DIR.find(source_hash()[:20]))"
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"
    } | {"XDG_CACHE_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert int(shown) > 0


KERNEL = """
import os, sys
from safescreen import _numba
_numba.PATIENCE = float(sys.argv[1])

@_numba.njit
def kernel(x):
    return x + 1

print(kernel(1), len(kernel.stats.cache_hits))
"""


@pytest.fixture
def kernel_of_a_process(tmp_path):
    """Start processes of one kernel, by their patience, with an empty cache of their own."""
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def start(patience=60.0):
        command = [sys.executable, str(tmp_path / "kernel.py"), str(patience)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    return start, tmp_path / "cache" / "__main__.kernel.lock"


@pytest.mark.slow
def test_processes_wait_for_the_one_that_compiles(kernel_of_a_process):
    start, _ = kernel_of_a_process
    processes = [start() for _ in range(3)]
    printed = sorted(process.communicate()[0].split() for process in processes)
    assert printed == [["2", "0"], ["2", "1"], ["2", "1"]]


@pytest.mark.slow
def test_a_process_compiles_when_another_takes_too_long(kernel_of_a_process):
    fcntl = pytest.importorskip("fcntl")
    start, lock = kernel_of_a_process
    lock.parent.mkdir()
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert start(0.1).communicate()[0].split() == ["2", "0"]


@pytest.mark.slow
def test_a_cache_without_locks_is_used(kernel_of_a_process):
    start, lock = kernel_of_a_process
    lock.mkdir(parents=True)  # cannot be opened
    assert start().communicate()[0].split() == ["2", "0"]
    assert start().communicate()[0].split() == ["2", "1"]


def test_a_kernel_that_cannot_be_compiled_leaves_no_lock():
    @njit
    def kernel(x):
        return x.missing

    for _ in range(2):  # the second would wait for a lock that is left
        with pytest.raises(TypingError, match="missing"):
            kernel(1)


def test_a_kernel_calls_itself():
    @njit
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    assert factorial(5) == 120
