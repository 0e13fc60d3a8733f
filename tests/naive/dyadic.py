"""Exact arithmetic on arrays of floats: every float is an integer times a power of two, and sums
and products of such are too.
"""

from math import isqrt

import numpy as np

__all__ = ["Dyadic", "Surd", "above_two_roots", "dot", "dyadic", "outer", "stack", "where"]

BEYOND = 256
"""How many bits finer than its parts a square root is rounded, where it is only to be near."""


class Dyadic:
    """An array of numbers ``n 2**e``: `n` is an array of integers of any length, `e` one int."""

    __slots__ = ("e", "n")
    __array_ufunc__ = None

    def __init__(self, n, e=0):
        self.n = n if isinstance(n, np.ndarray) else np.array(n, dtype=object)
        self.e = e

    def __repr__(self):
        return f"Dyadic({self.floats()!r})"

    def __len__(self):
        return len(self.n)

    def __getitem__(self, where):
        return Dyadic(self.n[where], self.e)

    @property
    def T(self):
        return Dyadic(self.n.T, self.e)

    def reshape(self, *shape):
        return Dyadic(self.n.reshape(*shape), self.e)

    def _with(self, other):
        """Return both arrays of integers at the smaller exponent, and that."""
        other = dyadic(other)
        e = min(self.e, other.e)
        return (
            self.n << (self.e - e) if self.e > e else self.n,
            other.n << (other.e - e) if other.e > e else other.n,
            e,
        )

    def __add__(self, other):
        x, y, e = self._with(other)
        return Dyadic(x + y, e)

    def __sub__(self, other):
        x, y, e = self._with(other)
        return Dyadic(x - y, e)

    def __rsub__(self, other):
        return dyadic(other) - self

    def __neg__(self):
        return Dyadic(-self.n, self.e)

    def __mul__(self, other):
        other = dyadic(other)
        return Dyadic(self.n * other.n, self.e + other.e)

    __radd__, __rmul__ = __add__, __mul__

    def __matmul__(self, other):
        return Dyadic(self.n @ other.n, self.e + other.e)

    def sum(self, axis=-1):
        return Dyadic(self.n.sum(axis=axis), self.e)

    def __gt__(self, other):
        x, y, _ = self._with(other)
        return np.asarray(x > y, dtype=bool)

    def __ge__(self, other):
        x, y, _ = self._with(other)
        return np.asarray(x >= y, dtype=bool)

    def __lt__(self, other):
        return dyadic(other) > self

    def __le__(self, other):
        return dyadic(other) >= self

    def positive(self):
        """Return ``max(x, 0)``."""
        return Dyadic(self.n * np.asarray(self.n > 0, dtype=object), self.e)

    def floats(self):
        """Return the nearest floats."""
        return np.array([_quotient(int(v), 1, self.e) for v in self.n.ravel()]).reshape(
            self.n.shape
        )


def dyadic(x):
    """Return floats, or a number, as they are."""
    if isinstance(x, Dyadic):
        return x
    x = np.asarray(x, dtype=np.float64)
    m, e = np.frexp(x)
    e = np.where(m != 0.0, e - 53, 0)
    low = int(e[m != 0.0].min()) if m.any() else 0
    e = np.where(m != 0.0, e - low, 0)
    return Dyadic(
        np.asarray(
            np.ldexp(m, 53).astype(np.int64).astype(object) << e.astype(object), dtype=object
        ),
        low,
    )


def dot(x, y):
    """Return inner products along the last axis."""
    return (x * y).sum()


def outer(x, y):
    """Return ``x y'`` of the last axes, flat."""
    return (x[..., :, None] * y[..., None, :]).reshape(*x.n.shape[:-1], -1)


def where(mask, x, y):
    x, y, e = dyadic(x)._with(y)
    return Dyadic(np.where(mask, x, y), e)


def stack(parts):
    """Return arrays as rows of one."""
    e = min(p.e for p in parts)
    return Dyadic(np.stack([p.n << (p.e - e) for p in parts]), e)


def _quotient(n, d, e):
    """Return the float nearest to ``n/d 2**e``."""
    return (n << e) / d if e >= 0 else n / (d << -e)


class Surd:
    """Numbers ``(N - sqrt(W))/D``, ``W >= 0``, ``D > 0``: what the minimum of a linear function
    over balls and half-spaces is.
    """

    def __init__(self, N, W, D=1.0):
        self.N, self.W, self.D = dyadic(N), dyadic(W), dyadic(D)
        assert (self.W >= 0.0).all() and (self.D > 0.0).all()

    def __getitem__(self, where):
        shape = self.N.n.shape
        return Surd(
            *(Dyadic(np.broadcast_to(v.n, shape)[where], v.e) for v in (self.N, self.W, self.D))
        )

    def above(self, tau):
        """Return whether the number is above `tau`, exactly: ``N - tau D > sqrt(W)`` by
        squaring.
        """
        left = self.N - dyadic(tau) * self.D
        return (left > 0.0) & (left * left > self.W)

    def equals(self, tau):
        left = self.N - dyadic(tau) * self.D
        square = left * left
        return (left >= 0.0) & (square >= self.W) & (square <= self.W)

    def nearest(self):
        """Return floats next to the numbers."""
        odd = self.W.e % 2
        half = (self.W.e - odd) // 2
        e = min(self.N.e, half) - BEYOND
        shape = np.broadcast_shapes(self.N.n.shape, self.W.n.shape, self.D.n.shape)
        out = np.empty(shape)
        arrays = (np.broadcast_to(v.n, shape).ravel() for v in (self.N, self.W, self.D))
        for k, (n, w, d) in enumerate(zip(*arrays, strict=True)):
            root = isqrt((int(w) << odd) << (2 * (half - e)))
            out.flat[k] = _quotient((int(n) << (self.N.e - e)) - root, int(d), e - self.D.e)
        return out


def above_two_roots(N, W1, W2):
    """Return whether ``N > sqrt(W1) + sqrt(W2)``, exactly, by squaring twice."""
    rest = N * N - W1 - W2
    return (N > 0.0) & ((rest >= 0.0) & (rest * rest > W1 * W2 * 4.0))
