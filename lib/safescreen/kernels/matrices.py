"""Kernel matrices: a given matrix in memory, and a matrix whose entries are computed from points,
in tiles, when they are needed.

Both have the methods ``diagonal()`` and ``block(rows, columns)``, and two methods for sums
``sum_k values[k] K[used[k], at]``. ``product`` is exact up to the rounding of a sum. ``add`` is for
the steps of a solver, which uses the same rows again and again, and may work with rows of lower
precision. ``light_block(rows)`` returns entries in this precision for the steps.
"""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen._blocks import squares
from safescreen._checks import PointsLike
from safescreen._numba import njit
from safescreen._threads import share
from safescreen.kernels.functions import Kernel, dense_if_full, has_few, roundings

TILE = 256
"""Number of rows of a tile. The value of an entry does not depend on how threads share the
tiles.
"""

WIDE = 2048
"""Number of columns of a tile."""

LEAST_ROWS = 512
"""Smallest number of rows in the cache. A step of the solver needs as many."""


TOGETHER = 16
"""Number of columns of a tile that are computed before they are written into its rows."""

ROUGH = 1e-3
"""The cache keeps rows in single precision if that changes no entry by more than this relative
error.
"""

KEPT = 4096
"""With at most this many points, the rows that a sum has used are also kept in full precision,
because a path uses them again and again.
"""


class GivenMatrix:
    """A kernel matrix in memory, a C-contiguous array of shape (n, n), which is not copied."""

    def __init__(self, K: NDArray):
        self.K = K
        self.most_rows = len(K)

    def parts(self) -> tuple[NDArray, NDArray, tuple, NDArray]:
        """Return the matrix, the number in the matrix of each sample, two runs, and the diagonal.
        In a run ``(start, stop, shift)`` sample i, from ``start`` to ``stop - 1``, is row
        ``i + shift`` of the matrix.
        """
        n = self.most_rows
        return self.K, np.arange(n), ((0, n, 0), (n, n, 0)), self.diagonal().copy()

    def diagonal(self) -> NDArray:
        """Return the diagonal."""
        return np.diagonal(self.K)

    def block(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Return a copy of the entries of some rows and columns."""
        block = np.empty((rows.size, columns.size))
        gather(self.K, rows, columns, block)
        return block

    def light_block(self, rows: NDArray) -> NDArray:
        """Return a copy of the entries of some rows and the same columns."""
        return self.block(rows, rows)

    def product(self, used: NDArray, values: NDArray, at: NDArray | None = None) -> NDArray:
        """Return ``K c`` at all samples, where c has the coefficients `values` at the samples
        `used`. `at` is ignored.
        """
        out = np.zeros(len(self.K))
        if 2 * used.size > out.size:
            out[used] = values
            return self.K @ out
        add_run(self.K, used, values, 0, out)
        return out

    def add(self, used: NDArray, values: NDArray, at: NDArray, out: NDArray, passing=None):
        """Add ``values @ K[used, at]`` to `out`."""
        sums = np.zeros(len(self.K))
        add_run(self.K, used, values, 0, sums)
        out += sums[at]


class TwoRuns(GivenMatrix):
    """The submatrix of two runs of neighbouring rows, such as two classes, and the same columns of
    a kernel matrix in memory. Nothing is copied.
    """

    def __init__(self, whole: NDArray, ids: NDArray):
        super().__init__(whole)
        self.ids = ids
        self.most_rows = ids.size
        n = ids.size
        breaks = np.flatnonzero(np.diff(ids) != 1)
        if breaks.size > 1:
            raise ValueError(f"ids must be at most two runs of neighbours, got {breaks.size + 1}")
        cut = 1 + int(breaks[0]) if breaks.size else n
        self.runs = (0, cut, int(ids[0])), (cut, n, int(ids[cut]) - cut if cut < n else 0)

    def parts(self) -> tuple[NDArray, NDArray, tuple, NDArray]:
        """Return the same as :meth:`GivenMatrix.parts`."""
        return self.K, self.ids, self.runs, self.diagonal()

    def diagonal(self) -> NDArray:
        """Return the diagonal."""
        return np.diagonal(self.K)[self.ids]

    def block(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Return a copy of the entries of some rows and columns."""
        return super().block(self.ids[rows], self.ids[columns])

    def product(self, used: NDArray, values: NDArray, at: NDArray | None = None) -> NDArray:
        """Return ``K c`` at all samples, where c has the coefficients `values` at the samples
        `used`. `at` is ignored.
        """
        out = np.zeros(self.ids.size)
        for start, stop, shift in self.runs:
            add_run(self.K, self.ids[used], values, start + shift, out[start:stop])
        return out

    def add(
        self,
        used: NDArray,
        values: NDArray,
        at: NDArray,
        out: NDArray,
        passing: NDArray | None = None,
    ) -> None:
        """Add ``values @ K[used, at]`` to `out`."""
        out += self.product(used, values)[at]


class KernelRows:
    """A kernel matrix of points that is not stored. Its entries are computed in tiles. A cache
    holds rows for the solver and, if there are few points, rows in full precision that sums have
    used.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    kernel : Kernel
    gigabytes : float
        Size of the cache together with a copy of the points in the precision of the cache.

    Notes
    -----
    Cost: O(d) per entry. For sparse points it is less, at best the number of values that a row
    stores. A row of the cache holds the columns that the solver still uses. When the columns become
    fewer, the cache has room for more rows. Each tile is computed by one thread, so results do not
    depend on the number of threads.
    """

    def __init__(self, X: PointsLike, kernel: Kernel, gigabytes: float):
        n, d = X.shape
        self.gigabytes = gigabytes
        self.squares = squares(X)
        n_roundings = roundings(X)
        self._has_few = has_few(X)
        self.X = X = X if self._has_few else dense_if_full(X)
        self.kernel = kernel
        is_exact_enough = kernel.error(n_roundings, float(self.squares.max()), 2.0**-24) <= ROUGH
        single = is_exact_enough and (self._has_few or not sparse.issparse(X))
        self._light = X.astype(np.float32) if single else X
        item = 4 if single else 8
        copy = 0
        if single:
            copy = 2 * X.nnz + n if self._has_few else n * d
        least = min(LEAST_ROWS, n) * n
        numbers = int(1e9 * gigabytes / item) - copy
        if numbers < least:
            text = (
                f"X holds {n} points: a cache for rows of their kernel matrix needs "
                f"{1e-9 * item * (least + copy):.3g} GB"
            )
            raise ValueError(
                f"{text} at least, {gigabytes:.3g} GB are allowed: raise max_gigabytes, "
                "free memory, or take fewer points"
            )
        self.shape = (n, n)
        self.most_rows = numbers // n
        self._dtype = np.float32 if single else np.float64
        self._cache = _RowCache(n, min(numbers, n * n), self._dtype)
        taken = item * (copy + n * n)
        fits = n <= KEPT and taken + 8 * n * n <= 1e9 * gigabytes
        self._exact = _RowCache(n, n * n if fits else 0, np.float64)

    def diagonal(self) -> NDArray:
        """Return the diagonal."""
        return self.kernel.diagonal(self.squares)

    def block(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Compute and return the entries of some rows and columns."""
        return self._fill(np.empty((rows.size, columns.size)), self.X, rows, columns)

    def light_block(self, rows: NDArray) -> NDArray:
        """Return the entries of some rows and the same columns, in the precision of the cache.
        Entries of rows in the cache are not computed again.
        """
        block = np.empty((rows.size, rows.size), self._dtype)
        missing = self._cache.read(rows, block)
        some = rows[missing]
        entries = self._fill(np.empty((some.size, some.size), self._dtype), self._light, some, some)
        if some.size == rows.size:
            return entries
        block[np.ix_(missing, missing)] = entries
        return block

    def product(self, used: NDArray, values: NDArray, at: NDArray | None = None) -> NDArray:
        """Return ``K c``, where c has the coefficients `values` at the samples `used`. Entries at
        other samples than `at` are NaN. If `at` is left out, it is all samples.
        """
        n = self.squares.size
        at = np.arange(n) if at is None else at
        sums = np.zeros(at.size)
        is_kept = self._exact.size > 0 and (2 * at.size > n or self._exact.has(used))
        if is_kept and used.size:
            fill = partial(self._tile, self.X)
            rows, slots, _ = self._exact.rows(used, np.arange(n), fill)
            self._add_rows(rows, slots, values, None if at.size == n else at, sums)
        else:
            self._add_anew(self.X, used, values, at, sums)
        out = np.full(n, np.nan)
        out[at] = sums
        return out

    def add(
        self,
        used: NDArray,
        values: NDArray,
        at: NDArray,
        out: NDArray,
        passing: NDArray | None = None,
    ) -> None:
        """Add ``values @ K[used, at]`` to `out`, in the precision of the cache; `used` holds at
        most `most_rows` samples. Rows of the mask `passing` are computed but not kept.
        """
        if passing is not None:
            self._add_anew(self._light, used[passing], values[passing], at, out)
            used = used[~passing]
            values = values[~passing]
        if used.size == 0:
            return
        rows, slots, places = self._cache.rows(used, at, partial(self._tile, self._light))
        self._add_rows(rows, slots, values, None if rows.shape[1] == at.size else places, out)

    def _add_rows(self, rows, slots, values, places, out):
        """Add ``values @ rows[slots, places]`` to `out`; all columns if `places` is None."""

        def work(piece):
            columns = piece if places is None else places[piece]
            add_rows(rows, slots, values, columns, out[piece])

        share(work, out.size, WIDE)

    def _add_anew(self, X, used, values, at, out):
        """Add ``values @ K[used, at]`` to `out`, with entries computed from the points X."""

        def work(piece):
            columns = at[piece]
            points = self._points(X, at, piece)
            for start in range(0, used.size, TILE):
                rows = used[start : start + TILE]
                tile = np.empty((rows.size, columns.size), X.dtype)
                self._fill(tile, X, rows, columns, points)
                factors = values[start : start + TILE]
                everything = slice(0, columns.size)
                add_rows(tile, np.arange(rows.size), factors, everything, out[piece])

        if used.size:
            share(work, at.size, WIDE)

    def _tile(self, X, out, slots, rows, columns):
        """Write the entries of some rows and columns into rows of `out`. X holds the points in the
        precision of `out`.
        """

        def work(piece):
            some = columns[piece]
            points = self._points(X, columns, piece)
            tile = np.empty((rows.size, some.size), out.dtype)
            out[slots, piece] = self._fill(tile, X, rows, some, points)

        share(work, columns.size, WIDE)

    def _points(self, X, at, piece):
        """Return the points of a piece of the samples `at`, without a copy if `at` is all samples.
        Return None if the points have few entries, since they are then read in place.
        """
        if self._has_few:
            return None
        return X[piece] if at.size == X.shape[0] else X[at[piece]]

    def _fill(self, tile, X, rows, columns, points=None):
        if self._has_few:
            factors = np.zeros((X.shape[1], rows.size), X.dtype)
            _scatter(X.indptr, X.indices, X.data, rows, factors)
            _add_entries(X.indptr, X.indices, X.data, factors, columns, tile)
            return self.kernel.apply(tile, self.squares[rows], self.squares[columns])
        return self.kernel.values(
            X[rows],
            X[columns] if points is None else points,
            self.squares[rows],
            self.squares[columns],
            tile,
        )


class _RowCache(threading.local):
    """A cache of rows of a matrix at some columns. A new row replaces the least recently used row.
    Each thread has its own cache, and a copy is empty.
    """

    def __init__(self, n, numbers, dtype):
        self._made = n, numbers, dtype
        self._store = np.empty(numbers, dtype)
        self._columns = np.arange(n if numbers == n * n else 0)
        self._slot = np.full(n, -1)
        self._owner = np.empty(0, dtype=np.intp)
        self._used = np.empty(0, dtype=np.int64)
        self._time = 0

    def __reduce__(self):
        return _RowCache, self._made

    @property
    def size(self):
        """Number of entries that the cache can hold."""
        return self._store.size

    def has(self, numbers):
        """Return whether the cache holds all these rows."""
        return bool(self._slot[numbers].min(initial=0) >= 0)

    def rows(self, numbers, columns, fill):
        """Return the array of the cache, the places of the rows `numbers` in it, and the places of
        the columns. `fill` computes missing rows.
        """
        places = columns
        if self._store.size < self._slot.size**2:
            if not np.array_equal(columns, self._columns):
                self._rearrange(columns)
            places = np.arange(columns.size)
        self._time += 1
        here = self._slot[numbers]
        self._used[here[here >= 0]] = self._time
        missing = numbers[here < 0]
        if missing.size:
            free = len(self._matrix()) - self._owner.size
            fresh = np.arange(self._owner.size, self._owner.size + min(free, missing.size))
            oldest = np.argsort(self._used, kind="stable")[: missing.size - fresh.size]
            self._slot[self._owner[oldest]] = -1
            self._owner = np.append(self._owner, np.zeros(fresh.size, self._owner.dtype))
            self._used = np.append(self._used, np.zeros(fresh.size, self._used.dtype))
            slots = np.append(fresh, oldest)
            fill(self._matrix(), slots, missing, self._columns)
            self._slot[missing] = slots
            self._owner[slots] = missing
            self._used[slots] = self._time
        return self._matrix(), self._slot[numbers], places

    def read(self, numbers, out):
        """Write the entries of some rows and the same columns into `out`, if the row or the column
        is in the cache (the matrix is symmetric). Return the places of the other rows.
        """
        places = numbers
        if self._store.size < self._slot.size**2:
            place = np.full(self._slot.size, -1)
            place[self._columns] = np.arange(self._columns.size)
            places = place[numbers]
        slots = self._slot[numbers]
        missing = np.flatnonzero(slots < 0)
        if missing.size == numbers.size or places.min() < 0:
            return np.arange(numbers.size)
        _read_symmetric(self._matrix(), slots, places, missing, out)
        return missing

    def _matrix(self):
        m = self._columns.size
        return self._store[: self._store.size // m * m].reshape(-1, m)

    def _rearrange(self, columns):
        """Keep the rows if they have all the given columns, which may be fewer; otherwise empty the
        cache.
        """
        place = np.full(self._slot.size, -1)
        place[self._columns] = np.arange(self._columns.size)
        take = place[columns]
        if take.min() < 0:
            self._slot[:] = -1
            self._owner = self._owner[:0]
            self._used = self._used[:0]
        _keep_columns(self._store, self._owner.size, self._columns.size, take)
        self._columns = columns


@njit(nogil=True)
def add_rows(K, used, values, at, out):
    """Add ``sum_k values[k] K[used[k]][at]`` to `out`, four rows at a time; `at` is a slice, or
    an array of columns.
    """
    m = used.size
    m_fours = m - m % 4
    for k in range(0, m_fours, 4):
        a = K[used[k]][at]
        b = K[used[k + 1]][at]
        c = K[used[k + 2]][at]
        d = K[used[k + 3]][at]
        p = values[k]
        q = values[k + 1]
        r = values[k + 2]
        s = values[k + 3]
        for i in range(out.size):
            out[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i])
    for k in range(m_fours, m):
        a = K[used[k]][at]
        p = values[k]
        for i in range(out.size):
            out[i] += p * a[i]


@njit(nogil=True)
def add_run(K, used, values, start, out):
    """Do the same as :func:`add_rows` for consecutive columns that begin at `start`. A call with a
    slice takes longer.
    """
    add_rows(K, used, values, slice(start, start + out.size), out)


@njit(nogil=True)
def _scatter(indptr, indices, data, rows, out):
    """Add rows of a CSR matrix to the columns of `out`."""
    for j in range(rows.size):
        for k in range(indptr[rows[j]], indptr[rows[j] + 1]):
            out[indices[k], j] += data[k]


@njit(nogil=True)
def _add_entries(indptr, indices, data, factors, columns, out):
    """Write ``factors' x`` for the rows x = `columns` of a CSR matrix into the columns of `out`.

    Entries of a row are added four at a time. The sums of a few columns are computed in a buffer
    before they are written, since the rows of `out` are far apart in memory.
    """
    sums = np.empty((TOGETHER, factors.shape[1]), factors.dtype)
    for start in range(0, columns.size, TOGETHER):
        width = min(TOGETHER, columns.size - start)
        for c in range(width):
            t = columns[start + c]
            total = sums[c]
            total[:] = 0.0
            first = indptr[t]
            last = indptr[t + 1]
            end_of_fours = first + (last - first) // 4 * 4
            for k in range(first, end_of_fours, 4):
                p = factors[indices[k]]
                q = factors[indices[k + 1]]
                r = factors[indices[k + 2]]
                s = factors[indices[k + 3]]
                a = data[k]
                b = data[k + 1]
                e = data[k + 2]
                f = data[k + 3]
                for i in range(total.size):
                    total[i] += (a * p[i] + b * q[i]) + (e * r[i] + f * s[i])
            for k in range(end_of_fours, last):
                p = factors[indices[k]]
                a = data[k]
                for i in range(total.size):
                    total[i] += a * p[i]
        for i in range(out.shape[0]):
            row = out[i]
            for c in range(width):
                row[start + c] = sums[c, i]


@njit(nogil=True)
def gather(K, rows, columns, out):
    """Write the entries of some rows and columns into `out`."""
    for i in range(rows.size):
        row = K[rows[i]]
        for j in range(columns.size):
            out[i, j] = row[columns[j]]


@njit(nogil=True)
def _read_symmetric(store, slots, places, missing, out):
    """Write the entries of stored rows into `out`, and, by symmetry, into its columns for the other
    rows.
    """
    for i in range(slots.size):
        if slots[i] >= 0:
            row = store[slots[i]]
            for j in range(places.size):
                out[i, j] = row[places[j]]
            for j in missing:
                out[j, i] = row[places[j]]


@njit
def _keep_columns(store, rows, old, take):
    """Move the columns `take`, in order, of rows with `old` columns to the front of the store, row
    by row.
    """
    m = take.size
    for k in range(rows):  # no write overwrites an entry that is read later
        for j in range(m):
            store[k * m + j] = store[k * old + take[j]]
