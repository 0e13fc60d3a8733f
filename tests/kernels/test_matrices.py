"""Kernel matrices that are not in memory: every value, sum and row they give, against those of a
matrix and in 40 digits.
"""

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import sparse
from threadpoolctl import threadpool_limits

from safescreen._blocks import row_length, squares
from safescreen.kernels import functions, matrices
from safescreen.kernels.functions import Kernel
from safescreen.kernels.matrices import GivenMatrix, KernelRows, _RowCache

KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", 0.5, 3, 1.0, 0.25),
    Kernel("rbf", 0.3),
    Kernel("rbf", 0.3, constant=2.0),
]
every = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.name}-{k.constant:g}")


def points(n=60, d=3, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).standard_normal((n, d))


class Log:
    """The rows and columns of every tile that is computed."""

    def __init__(self, monkeypatch):
        self.tiles, original = [], KernelRows._fill

        def fill(made, tile, X, rows, columns, points=None):
            self.tiles.append((X is made._light, set(rows.tolist()), set(columns.tolist())))
            return original(made, tile, X, rows, columns, points)

        monkeypatch.setattr(KernelRows, "_fill", fill)

    def clear(self):
        self.tiles.clear()

    def seen(self):
        return set().union(*(rows | columns for _, rows, columns in self.tiles))


@pytest.fixture
def log(monkeypatch):
    return Log(monkeypatch)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(matrices, "TILE", 7)
    monkeypatch.setattr(matrices, "WIDE", 11)
    monkeypatch.setattr(matrices, "LEAST_ROWS", 10)


def test_exponentials():
    """Less than 4 units in double precision, down to 1e-300; some units in single precision,
    from where it has them.
    """
    rng = np.random.default_rng(0)
    near = np.log(2.0) * (np.arange(120) + 0.5)  # where the integer part changes
    x = np.concatenate(
        [
            rng.uniform(0.0, 1.0, 400),
            rng.uniform(0.0, 690.0, 400),
            near,
            near - 1e-9,
            [0.0, 690.0, 1e-300, 1e-9],
        ]
    )
    tile = np.zeros((1, x.size))
    functions._gaussians(tile, np.zeros(1), x, 1.0, 0.0)
    with mpmath.workdps(40):
        worst = max(
            abs(mpf(float(v)) / mpmath.exp(-mpf(float(e))) - 1)
            for v, e in zip(tile[0], x, strict=True)
        )
    assert worst < 4 * mpf(2) ** -53
    light = np.zeros((1, x.size), dtype=np.float32)
    functions._light_gaussians(light, np.zeros(1), x.astype(np.float32), 1.0, 0.0)
    few = x < 80.0
    assert np.allclose(light[0][few], np.exp(-x.astype(np.float32)[few].astype(float)), rtol=1e-6)
    functions._gaussians(tile, np.zeros(1), np.full(x.size, 1e6), 1.0, 0.0)
    assert 0.0 < tile.max() < 1e-300  # there is no underflow


@pytest.mark.parametrize("scale", [1.0, 30.0])
@every
def test_values_have_the_error_they_say(kernel, scale):
    """Dense and sparse, in both precisions."""
    X = points(12, 3, scale)
    X[3], X[5] = X[4], 0.0
    exact = [[mpf(float(v)) for v in x] for x in X]

    def true(p, q):
        if kernel.name == "rbf":
            return mpmath.exp(
                -mpf(kernel.gamma) * mpmath.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True))
            ) + mpf(kernel.constant)
        product = mpmath.fsum(a * b for a, b in zip(p, q, strict=True))
        return (
            product if kernel.name == "linear" else (mpf(kernel.gamma) * product + 1) ** 3
        ) + mpf(kernel.constant)

    with mpmath.workdps(40):
        roots = [mpmath.sqrt(true(p, p)) for p in exact]
        for form, unit in (
            (np.asarray, 2.0**-53),
            (sparse.csr_array, 2.0**-53),
            (np.float32, 2.0**-24),
        ):
            Z = form(X)
            found = kernel.values(
                Z, Z, out=np.empty((12, 12), np.float32 if unit > 1e-10 else float)
            )
            u = mpf(kernel.error(3, float(squares(X).max()), unit))
            diagonal = kernel.diagonal(squares(Z.astype(float)))
            for i in range(12):
                assert abs(mpf(float(diagonal[i])) - roots[i] ** 2) <= u * roots[i] ** 2
                for j in range(12):
                    assert (
                        abs(mpf(float(found[i, j])) - true(exact[i], exact[j]))
                        <= u * roots[i] * roots[j]
                    )
            assert u < (1e-10 if unit < 1e-10 else 0.5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@every
def test_sums_are_those_of_the_matrix(kernel, form, small, monkeypatch):
    for dense in (True, False):
        monkeypatch.setattr(functions, "SPARSER", 32 if dense else 0)
        X, rng = form(points()), np.random.default_rng(1)
        made, given = KernelRows(X, kernel, 2e-5), GivenMatrix(kernel.values(X, X))
        assert np.allclose(made.diagonal(), given.diagonal(), rtol=1e-13) and made.shape == (60, 60)
        assert sparse.issparse(made.X) == (form is not np.asarray and not dense)
        for n_used in (1, 4, 9, 40):
            used, at = (np.sort(rng.permutation(60)[:k]) for k in (n_used, 25))
            values = rng.standard_normal(n_used)
            whole, part = given.product(used, values), made.product(used, values, at)
            assert np.allclose(
                made.product(used, values), whole, rtol=1e-12, atol=1e-12 * np.abs(whole).max()
            )
            assert np.allclose(part[at], whole[at], rtol=1e-12, atol=1e-12 * np.abs(whole).max())
            assert np.isnan(np.delete(part, at)).all()
            assert np.allclose(made.block(used, at), given.block(used, at), rtol=1e-12, atol=1e-13)
            if n_used <= 10:
                sums, expected = np.ones(25), np.ones(25)
                made.add(used, values, at, sums)
                given.add(used, values, at, expected)
                assert np.allclose(sums, expected, rtol=1e-5, atol=1e-5 * np.abs(whole).max())


@every
def test_points_of_few_entries(kernel, small):
    rng = np.random.default_rng(4)
    few = points(60, 40) * (rng.random((60, 40)) < np.linspace(0.0, 0.3, 60)[:, None])
    made = KernelRows(sparse.csr_array(few), kernel, 1e-4)
    assert sparse.issparse(made.X) and made.light_block(np.arange(2)).dtype == np.float32
    values = kernel.values(few, few)
    size = np.sqrt(np.outer(values.diagonal(), values.diagonal()))
    rows, columns = rng.permutation(60)[:50], rng.permutation(60)[:37]
    u = kernel.error(row_length(made.X), float(squares(few).max()))
    off = np.abs(made.block(rows, columns) - values[np.ix_(rows, columns)])
    assert (off <= 2.0 * u * size[np.ix_(rows, columns)]).all()
    off = np.abs(made.light_block(rows) - values[np.ix_(rows, rows)])
    assert (off <= 1e-5 * size[np.ix_(rows, rows)]).all()
    coef = rng.standard_normal(50)
    whole = values[:, rows] @ coef
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            sums = np.zeros(60)
            made.add(rows[:9], coef[:9], np.arange(60), sums)
            found.append((made.product(rows, coef), sums))
    assert all(np.array_equal(one, two) for one, two in zip(*found, strict=True))
    assert np.allclose(found[0][0], whole, rtol=1e-12, atol=1e-12 * np.abs(whole).max())
    expected = values[:, rows[:9]] @ coef[:9]
    assert np.allclose(found[0][1], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("gigabytes", [1e-3, 1.5e-4])
@every
def test_a_block_is_the_same_with_rows_that_are_known(kernel, gigabytes, small):
    """Some of its rows are in the cache, none, or all, at all columns or at some; or the cache has
    others of its columns.
    """
    X, rng = points(200, 9), np.random.default_rng(3)
    values = kernel.values(X, X)
    made = KernelRows(X, kernel, gigabytes)
    at = np.sort(rng.permutation(200)[:120])
    for columns in (np.arange(200), at):
        made.add(at[::3], np.ones(40), columns, np.zeros(columns.size))
        for rows in (at, at[1::3], at[::3], np.setdiff1d(np.arange(200), at), np.arange(200)):
            block = made.light_block(rows)
            assert block.dtype == np.float32
            whole = values[np.ix_(rows, rows)]
            assert np.allclose(block, whole, rtol=1e-5, atol=1e-5 * np.abs(values).max())


@pytest.mark.parametrize("gigabytes", [1e-3, 1e-4])
@every
def test_the_same_bits_for_any_number_of_threads(kernel, gigabytes, small):
    X, rng = points(200, 9), np.random.default_rng(2)
    used, values, found = np.arange(0, 200, 3), rng.standard_normal(67), []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            made, sums = KernelRows(X, kernel, gigabytes), np.zeros(200)
            made.add(used[:10], values[:10], np.arange(200), sums)
            found.append((made.product(used, values), sums))
    assert all(np.array_equal(one, two) for one, two in zip(*found, strict=True))


@every
def test_a_sum_is_the_same_with_rows_that_are_kept(kernel, log, monkeypatch):
    """All columns or some are wanted, all rows are kept, some, or none; none is computed twice."""
    n, rng = 600, np.random.default_rng(5)
    X, everything = points(n, 9), np.arange(n)
    kept = KernelRows(X, kernel, 1e-2)
    monkeypatch.setattr(matrices, "KEPT", n - 1)
    anew = KernelRows(X, kernel, 1e-2)
    log.clear()
    for used in (everything[::3], everything[::2], everything[1::6], everything[:0]):
        values = rng.standard_normal(used.size)
        for at in (None, everything[5::7], everything[:400]):
            found, wanted = kept.product(used, values, at), anew.product(used, values, at)
            assert np.array_equal(found, wanted, equal_nan=True)
    log.clear()
    kept.product(everything[::2], np.ones(n // 2))
    assert not log.tiles
    anew.product(everything[::2], np.ones(n // 2))
    assert log.tiles


def rows_of(log):
    found = set().union(*(rows for _, rows, _ in log.tiles))
    log.clear()
    return found


def test_rows_are_computed_once(log, small):
    n, everything = 600, np.arange(600)
    # room for 520 rows in single precision
    made = KernelRows(points(n, 4), KERNELS[2], 4e-9 * (520 * n + n * 4))
    made.add(np.arange(5), np.ones(5), everything, np.zeros(n))
    assert {light for light, *_ in log.tiles} == {True} and rows_of(log) == set(range(5))
    made.add(np.arange(3, 7), np.ones(4), everything, np.zeros(n))
    assert rows_of(log) == {5, 6}
    sums, columns = np.zeros(n // 2), everything[::2]
    made.add(np.arange(7), np.ones(7), columns, sums)  # fewer columns of the same rows
    assert not log.tiles and np.allclose(
        sums, made.block(np.arange(7), columns).sum(axis=0), rtol=1e-5
    )
    log.clear()
    made.add(np.arange(2), np.ones(2), everything, np.zeros(n))  # columns that it no longer has
    assert rows_of(log) == {0, 1}


@every
def test_a_whole_matrix_that_fits_is_computed_once(kernel, log):
    """Rows for a solver are taken from there: at any columns, in any order."""
    n, rng = 600, np.random.default_rng(4)
    made = KernelRows(points(n, 4), kernel, 1e-9 * (8.0 * n * n + 16.0 * n))
    K = made.block(np.arange(n), np.arange(n))
    log.clear()
    for n_used, n_columns in ((5, 40), (7, n), (n, 200), (530, n)):
        used, at = (
            np.sort(rng.choice(n, n_used, replace=False)),
            np.sort(rng.choice(n, n_columns, replace=False)),
        )
        values, sums = rng.standard_normal(n_used), np.zeros(n_columns)
        made.add(used, values, at, sums)
        room = 1e-5 * (np.abs(values) @ np.abs(K[np.ix_(used, at)]))
        assert np.all(np.abs(sums - values @ K[np.ix_(used, at)]) <= room)
    asked = [row for _, rows, columns in log.tiles for row in rows if 0 in columns]
    assert sorted(asked) == list(range(n))


def test_rows_that_pass_are_not_kept(log, small):
    n, everything = 60, np.arange(60)
    made = KernelRows(points(n, 4), KERNELS[2], 1e-3)
    values, passing = np.arange(1.0, 7.0), np.arange(6) < 4
    K = made.block(np.arange(6), everything)
    for asked in (set(range(6)), set(range(4)), set(range(4))):
        sums = np.ones(n)
        log.clear()
        made.add(np.arange(6), values, everything, sums, passing)
        assert np.allclose(sums, 1.0 + values @ K, rtol=1e-5) and rows_of(log) == asked


def test_rows_used_longest_ago_make_room():
    K, asked = np.random.default_rng(3).standard_normal((20, 20)), []

    def fill(out, slots, rows, columns):
        asked.extend(rows.tolist())
        out[slots] = K[np.ix_(rows, columns)]

    cache, columns = _RowCache(20, 6 * 20, np.float64), np.arange(20)
    for numbers, missing in (
        ([0, 1, 2], [0, 1, 2]),
        ([3, 4, 5], [3, 4, 5]),
        ([0, 1], []),
        ([6, 7], [6, 7]),  # instead of 2 and one of 3, 4, 5
        ([0, 1, 6, 7], []),
        ([2], [2]),
    ):
        asked.clear()
        rows, slots, _ = cache.rows(np.array(numbers), columns, fill)
        assert asked == missing and np.array_equal(rows[slots], K[numbers])
    columns = columns[1::3]
    asked.clear()
    # there is room for more of them now
    rows, slots, _ = cache.rows(np.array([0, 1, 2, 6, 7, 8, 9, 10]), columns, fill)
    assert asked == [8, 9, 10] and rows.shape == (120 // 7, 7)
    assert np.array_equal(rows[slots], K[np.ix_([0, 1, 2, 6, 7, 8, 9, 10], columns)])


def test_precision_of_the_cache():
    """Single where that changes little, which for points far from 0 it does not do."""
    assert KernelRows(points(600), KERNELS[2], 2e-3)._light.dtype == np.float32
    assert KernelRows(points(600) + 300.0, KERNELS[2], 2.6e-3)._light.dtype == np.float64
    # nor does room for all of it
    assert KernelRows(points(600), KERNELS[2], 3e-3)._light.dtype == np.float32


def test_the_least_that_is_needed():
    X = points(600, 4)
    needed = 4e-9 * (512 * 600 + 600 * 4)
    KernelRows(X, KERNELS[2], 1.001 * needed)
    with pytest.raises(
        ValueError,
        match=(
            "X holds 600 points: a cache for rows .* needs 0.00124 GB at least, 0.001 GB are "
            "allowed"
        ),
    ):
        KernelRows(X, KERNELS[2], 0.001)


def test_the_longest_row_says_how_much_is_rounded():
    """Products of one full row among sparse ones are rounded by more than the length of the
    others allows.
    """
    rng = np.random.default_rng(3)
    X = np.zeros((6, 4000))
    X[1:, 0], X[0] = rng.standard_normal(5), 0.1
    points = sparse.csr_array(X)
    assert (
        row_length(points) == 4000
        and row_length(X) == 4000
        and row_length(sparse.csr_array((0, 7))) == 0
    )
    assert row_length(points[1:]) == 1
    with mpmath.workdps(40):
        true = 4000 * mpf(0.1) ** 2
        off = abs(mpf(float(Kernel("linear").values(points, points)[0, 0])) - true) / true
    assert Kernel("linear").error(1, 1.0) < off <= Kernel("linear").error(row_length(points), 1.0)


@pytest.mark.parametrize("constant", [1e-3, 1.0, 1e3])
def test_a_constant_brings_one_rounding(constant):
    """Values with a constant are known as well as those without, and no worse than they say."""
    for kernel in (
        Kernel("rbf", 1.0, constant=constant),
        Kernel("polynomial", 0.5, 1, 1.0, constant),
    ):
        assert kernel.error(1, 0.01) == Kernel(kernel.name, kernel.gamma, 1, 1.0).error(1, 0.01)
        x = np.linspace(0.0, 0.1, 60)[:, None]
        found, u = kernel.values(x, x), mpf(kernel.error(1, 0.01))
        with mpmath.workdps(40):
            values = [mpf(float(v)) for v in x[:, 0]]
            for i, p in enumerate(values):
                for j, q in enumerate(values):
                    true = (mpmath.exp(-((p - q) ** 2)), 1 + p * q / 2)[kernel.name != "rbf"] + mpf(
                        constant
                    )
                    size = (mpf(1), mpmath.sqrt((1 + p * p / 2) * (1 + q * q / 2)))[
                        kernel.name != "rbf"
                    ] + mpf(constant)
                    assert abs(mpf(float(found[i, j])) - true) <= u * size
