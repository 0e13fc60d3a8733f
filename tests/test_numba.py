"""The code generator keeps conditional stores, and refuses fastmath."""

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
