"""Inner products of long rows: their errors in exact fractions, and their roundings counted."""

import types
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from safescreen import _blocks
from safescreen._blocks import (
    BLOCK,
    COLUMNS,
    LANES,
    LONG,
    matrix_products,
    matrix_roundings,
    roundings,
    row_products,
    squares,
)
from safescreen.rounding import gamma

LENGTHS = [LONG + 1, LONG + 2 * LANES - 1, 2 * BLOCK, 2 * BLOCK + 1, 7 * BLOCK + LANES + 3]


class Rounded:
    """A number that counts how often it has been rounded; a sum with an exact 0 is exact."""

    def __init__(self, times=0):
        self.times = times

    def __mul__(self, other):
        return Rounded(max(self.times, other.times) + 1)

    def __add__(self, other):
        if isinstance(other, float) and other == 0.0:
            return self
        return Rounded(max(self.times, other.times) + 1)

    __radd__ = __add__


def plain(kernel):
    """Return a kernel as the Python function that is compiled, and so those that it calls."""
    function = getattr(kernel, "py_func", kernel)
    total = getattr(_blocks._total, "py_func", _blocks._total)
    return types.FunctionType(function.__code__, {**vars(_blocks), "_total": total})


def numbers(*shape):
    return np.array([Rounded() for _ in range(np.prod(shape))], dtype=object).reshape(shape)


@pytest.mark.parametrize("length", [*LENGTHS, 2 * BLOCK - 1, 4 * BLOCK, 8 * BLOCK])
def test_roundings_are_counted(length):
    dense = np.empty(1, dtype=object)
    plain(_blocks._dense_products)(numbers(1, length), numbers(1, length), dense)
    rows = np.empty(2, dtype=object)
    starts = np.array([0, length, length + 5])
    columns = np.arange(length + 5)
    x = numbers(length + 5)
    plain(_blocks._sparse_products)(numbers(length + 5), columns, starts, x, rows)
    assert dense[0].times == rows[0].times <= roundings(length)
    assert rows[1].times <= roundings(length)
    if length % BLOCK == 0:
        assert dense[0].times == roundings(length)


@pytest.mark.parametrize("d", [LONG - 1, LONG, LONG + 1, 6 * COLUMNS])
def test_roundings_of_matrix_products_are_counted(d):
    """In whatever order BLAS adds, a block has as many as one after the other."""
    out = matrix_products(numbers(2, d), numbers(2, d), np.empty((2, 2), dtype=object))
    assert {value.times for value in out.ravel()} == {matrix_roundings(d)}


def test_short_rows_may_be_rounded_each_time():
    assert [roundings(n) for n in (1, 10, LONG)] == [1, 10, LONG]
    assert all(roundings(n) <= roundings(n + 1) for n in range(LONG + 1, 20 * BLOCK, 7))


def vectors(kind, n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n))
    if kind == "badly scaled":
        x *= 10.0 ** rng.uniform(-8.0, 8.0, n)
        y *= 10.0 ** rng.uniform(-8.0, 8.0, n)
    elif kind == "cancelling":
        y -= x * (x @ y) / (x @ x)
    elif kind == "rounded down":  # a little less than half a unit of the sum is lost each time
        x = np.full(n, 2.0**-53 - 2.0**-80)
        x[:LANES] = 1.0
        y = np.ones(n)
    return x, y


def exact(x, y):
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))


@pytest.mark.parametrize("kind", ["random", "badly scaled", "cancelling", "rounded down"])
@pytest.mark.parametrize("length", LENGTHS)
def test_errors_are_within_their_bound(kind, length):
    x, y = vectors(kind, length, length)
    true = exact(x, y)
    size = exact(np.abs(x), np.abs(y))
    rows = np.array([x, y])
    empty = np.zeros(length)
    some = sparse.csr_array(np.array([x, empty, y * (np.arange(length) < 9)]))
    few = Fraction(0) + exact(y[:9], y[:9])
    bound = Fraction(gamma(roundings(length)))
    for found in (row_products(rows, y)[0], row_products(some, y)[0]):
        assert abs(Fraction(found) - true) <= bound * size
    assert row_products(some, y)[1] == 0.0
    assert abs(Fraction(row_products(some, y)[2]) - few) <= bound * few
    for found in (squares(rows), squares(sparse.csr_array(rows))):
        for value, row in zip(found, rows, strict=True):
            assert abs(Fraction(value) - exact(row, row)) <= bound * exact(row, row)
    products = matrix_products(rows, rows, np.empty((2, 2)))
    assert abs(Fraction(products[0, 1]) - true) <= Fraction(gamma(matrix_roundings(length))) * size
    assert products[0, 1] == products[1, 0]


def test_rows_that_are_not_long_are_summed_as_ever():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, LONG))
    x = rng.standard_normal(LONG)
    S = sparse.csr_array(A * (A > 0.0))
    assert np.array_equal(row_products(A, x), A @ x)
    assert np.array_equal(row_products(S, x), S @ x)
    assert np.array_equal(squares(A), np.einsum("ij,ij->i", A, A))
    assert np.array_equal(squares(S), S.multiply(S).sum(axis=1))
    assert np.array_equal(matrix_products(A, A, np.empty((7, 7))), A @ A.T)
