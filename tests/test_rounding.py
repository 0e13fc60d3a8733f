"""Bounds of rounding errors are bounds, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from naive.extremes import exact, norm
from safescreen.rounding import FLOOR, TINY, UNIT, gamma, norm_upper, sqrt_upper, upper


@given(st.integers(0, 10**9))
def test_gamma(n):
    u = Fraction(1, 2**53)
    assert Fraction(gamma(n)) >= n * u / (1 - n * u)
    assert gamma(n) <= 1.001 * n * UNIT * (1.0 + 2e-7)


def test_gamma_gives_up():
    assert gamma(2**52) == math.inf and gamma(2**52 - 1) > 0.0 and gamma(0) == 0.0


def test_the_numbers_of_double_precision():
    assert UNIT == np.finfo(float).eps / 2.0
    # each of the two products of `upper` may lose the smallest normal number
    assert TINY == 2.0 * np.finfo(float).tiny
    # what any number of underflows takes away, and nothing beside a number that is not tiny
    assert 1e6 * np.finfo(float).tiny <= FLOOR <= 1e-290


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_upper_covers_roundings_that_all_go_down(n):
    assert Fraction(upper(1.0, n)) >= 1 / (1 - Fraction(1, 2**53)) ** n


@given(st.lists(st.floats(0.0, 1e300), min_size=1, max_size=40))
def test_upper_covers_a_sum(values):
    total = 0.0
    for v in values:
        total += v
    assert Fraction(upper(total, len(values))) >= sum(map(Fraction, values))


@given(st.floats(0.0, 1e300))
def test_sqrt_upper(value):
    assert Fraction(sqrt_upper(value)) ** 2 >= Fraction(value)
    assert sqrt_upper(value) <= math.sqrt(value) * (1.0 + 1e-14) + 1e-300


@pytest.mark.parametrize("value", [-1e-300, -1.0, math.nan])
def test_a_broken_square_is_not_zero(value):
    assert math.isnan(sqrt_upper(value))


magnitudes = st.floats(-1e307, 1e307, allow_subnormal=True)


@given(st.lists(magnitudes, min_size=1, max_size=12))
def test_norm_upper(values):
    bound, true = norm_upper(np.array(values)), norm(exact(values))
    assert mpf(bound) >= true
    assert bound <= float(true) * (1.0 + 1e-13) + 2e-160


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=8), st.integers(-320, 300))
def test_norm_upper_at_every_scale(values, exponent):
    values = np.array(values) * 10.0**exponent
    assert mpf(norm_upper(values)) >= norm(exact(values))


def test_norm_upper_of_what_is_not_a_number():
    assert (
        math.isnan(norm_upper(np.array([1.0, np.nan])))
        and norm_upper(np.array([1.0, -np.inf])) == math.inf
    )
    assert norm_upper(np.zeros((2, 2))) == 0.0 and norm_upper(np.empty(0)) == 0.0


@pytest.mark.parametrize("bits", range(36, 44))
def test_norm_upper_where_a_long_sum_rounds_down_again_and_again(bits):
    """Squares that are a little less than half a unit of their sum, where that is ``2**-bits``."""
    x = np.full(1 << 20, 1.0 + 2.0 ** -(bits + 2) - 2.0**-50)
    x[0] = 2.0
    square = 4 + (x.size - 1) * Fraction(x[1]) ** 2
    assert Fraction(norm_upper(x)) ** 2 >= square
    assert Fraction(norm_upper(np.ldexp(x, 600))) ** 2 >= square * 4**600
