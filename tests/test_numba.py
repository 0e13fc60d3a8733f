"""The code generator keeps conditional stores, and refuses fastmath."""

import os
import subprocess
import sys

import numpy as np
import pytest

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
