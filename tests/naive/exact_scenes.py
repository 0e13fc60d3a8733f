"""Terms with their elements as exact numbers, and balls and half-spaces around them that hurt."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import safescreen as ss
from naive.dyadic import Dyadic, Surd, dot, dyadic, outer

__all__ = ["DATA", "FAMILIES", "Scene", "family", "flat", "scene"]

DATA = ("integers", "mixed", "cancelling", "far", "extreme")
"""Small integers; magnitudes from 1e-8 to 1e8; nearly equal or nearly orthogonal; far from the
origin; 1e-150 against 1e150.
"""

FAMILIES = (
    "line",
    "plane",
    "space",
    "five",
    "wide",
    "triplets",
    "diagonal",
    "quadruplets",
    "pairs",
    "kernel",
    "powers",
    "sharp",
)
"""Samples in 1, 2, 3, 5 and 300 dimensions, there with 4 entries each; pair terms; samples with
kernels of degree 1 and 2; `Sharp` ones.
"""

WHOLE = {  # integer vectors of integer length
    1: [[1], [3], [7]],
    2: [[3, 4], [5, 12], [8, 15], [7, 24], [0, 1], [9, 40]],
    3: [[1, 2, 2], [2, 3, 6], [4, 4, 7], [0, 3, 4], [6, 6, 7], [0, 0, 1]],
    5: [[1, 1, 1, 2, 3], [1, 1, 1, 1, 0], [2, 4, 5, 6, 0], [1, 2, 2, 4, 0], [2, 2, 2, 2, 3]],
}


@dataclass
class Family:
    """Terms of the library beside their elements, or (kernels) the elements' inner products G."""

    terms: Any
    A: Any = None
    G: Any = None

    def products(self, x):
        """Return ``<a_t, x>``; x is an element of the library."""
        return self.A @ flat(x) if self.G is None else self.G @ flat(x)

    def inner(self, x, y):
        return dot(flat(x), flat(y)) if self.G is None else dot(flat(x), self.G @ flat(y))

    @property
    def squares(self):
        return (
            dot(self.A, self.A)
            if self.G is None
            else self.G[np.arange(len(self.G)), np.arange(len(self.G))]
        )

    def element(self, values, *known):
        """Return an element of the library: floats of the shape of the cone, made symmetric, or
        an expansion, which the samples may compute from known ones.
        """
        values = np.asarray(values, dtype=float)
        if values.ndim == 2:
            values = 0.5 * (values + values.T)
        if self.G is not None:
            return self.terms.sum_near(values, known)[0]
        return self.terms.cone.check(values)


class Sharp(ss.Samples):
    """Samples whose bounds are as good as floats can be, so that nothing covers for what a rule
    itself has to allow.
    """

    @property
    def norms(self):
        if self._norms is None:
            Z = dyadic(self._Z)
            self._norms = -Surd(0.0 * Z.sum(), dot(Z, Z)).nearest()
            self._norms = np.where(
                dyadic(self._norms) * dyadic(self._norms) >= dot(Z, Z),
                self._norms,
                np.nextafter(self._norms, np.inf),
            )
        return self._norms

    def _margins(self, x):
        exact = dyadic(self._Z) @ dyadic(x)
        values = exact.floats()
        errors = np.abs((exact - dyadic(values)).floats())
        return values, np.where(errors > 0.0, np.nextafter(errors, np.inf), 0.0)


def flat(x):
    """Return an element of the library as a flat exact vector (an expansion: its coefficients)."""
    return x if isinstance(x, Dyadic) else dyadic(np.ravel(np.asarray(x)))


def family(name, data, rng, Q=None, n_terms=16):
    """Return a :class:`Family`; samples are made for a center Q where they are to cancel."""
    d = {
        "line": 1,
        "plane": 2,
        "space": 3,
        "five": 5,
        "wide": 300,
        "kernel": 3,
        "powers": 2,
        "sharp": 2,
    }.get(name)
    if d is not None:
        n_terms = 64 if name == "sharp" else n_terms  # what is left to the rule shows seldom
        rows = rows_of(data, rng, n_terms, d, Q)
        if name == "kernel" and data == "cancelling":
            rows[1::2] = rows[::2] * (1.0 + 1e-7 * rng.normal(size=(n_terms // 2, d)))
        signs = np.where(np.arange(n_terms) % 2, -1.0, 1.0)
        X = rows * signs[:, None]
        Z = dyadic(rows)
        if name == "wide":
            return Family(ss.Samples(sparse.csr_matrix(X), signs), Z)
        if name == "kernel":
            return Family(ss.KernelSamples.from_points(X, signs, "linear"), G=Z @ Z.T)
        if name == "powers":
            K = dyadic(X) @ dyadic(X).T * 0.5 + 1.0
            terms = ss.KernelSamples.from_points(X, signs, "polynomial", gamma=0.5, degree=2)
            return Family(terms, G=K * K * dyadic(np.outer(signs, signs)))
        return Family((Sharp if name == "sharp" else ss.Samples)(X, signs), Z)
    d = int(rng.integers(2, 4)) if name != "triplets" else int(rng.choice([2, 3, 5]))
    X, i = points_of(data, rng, 9, d), rng.permuted(np.tile(np.arange(9), (n_terms, 1)), axis=1)
    x = dyadic(X)
    # pairs of points that nearly coincide, away from the mean
    if data == "cancelling" and name in ("quadruplets", "pairs"):
        i[:, 0] = np.arange(n_terms) % 4
        i[:, 1], i[:, 2], i[:, 3] = i[:, 0] + 4, (i[:, 0] + 1) % 4, (i[:, 0] + 1) % 4 + 4
    if name == "quadruplets":
        return Family(
            ss.Quadruplets(X, i[:, :4]), pair_elements(x, i[:, 2], i[:, 3], i[:, 0], i[:, 1])
        )
    if name == "pairs":
        half, u = n_terms // 2, x[i[:, 0]] - x[i[:, 1]]
        terms = ss.Pairs(X, i[half:, :2], i[:half, :2], 1.0, 1.0)
        return Family(terms, outer(u, u) * dyadic(np.repeat([[1.0], [-1.0]], half, axis=0)))
    if data == "cancelling":  # same and other point nearly coincide
        i[:, 1] = i[:, 0] % 4
        i[:, 2] = i[:, 1] + 4
        i[:, 0] = 8
    diagonal = name == "diagonal"
    return Family(
        ss.Triplets(X, i[:, :3], diagonal=diagonal),
        pair_elements(x, i[:, 0], i[:, 2], i[:, 0], i[:, 1], diagonal),
    )


def pair_elements(x, k, m, i, j, diagonal=False):
    """``(x_k - x_m)(x_k - x_m)' - (x_i - x_j)(x_i - x_j)'``."""
    u, v = x[k] - x[m], x[i] - x[j]
    return u * u - v * v if diagonal else outer(u, u) - outer(v, v)


def rows_of(data, rng, n, d, Q):
    if d == 300:
        rows = np.zeros((n, d))
        for row in rows:
            where = (
                rng.choice(12, size=4, replace=False) * 25
                if data != "far"
                else rng.choice(d, size=4, replace=False)
            )
            row[where] = rows_of(data, rng, 1, 4, None)[0]
        return rows
    if data == "integers":
        table = np.array(WHOLE.get(d) or [row + [0] for row in WHOLE[3]], dtype=float)
        rows = (
            table[rng.integers(0, len(table), n)]
            * rng.choice([1, 2, 3, 5, 7], (n, 1))
            * rng.choice([-1, 1], (n, d))
        )
        return rng.permuted(rows, axis=1)
    rows = rng.normal(size=(n, d))
    if data == "mixed":
        rows *= 10.0 ** rng.uniform(-8, 8, (n, d))
    elif data == "cancelling" and d > 1 and np.size(Q) == d:
        rows -= np.outer(rows @ Q / (Q @ Q), Q)
    elif data == "extreme":
        rows *= 10.0 ** rng.choice([-150, -75, 75])
    return rows


def points_of(data, rng, n, d):
    if data == "integers":
        return rng.integers(-6, 7, (n, d)) * 1.0 + np.arange(n)[:, None] * 13.0
    X = rng.normal(size=(n, d))
    if data == "mixed":
        X *= 10.0 ** rng.uniform(-8, 8, d)
    elif data == "cancelling":
        X[4:8] = X[:4] * (1.0 + 1e-8 * rng.normal(size=(4, d)))
    elif data == "far":
        X += 1e8
    elif data == "extreme":
        X *= 10.0 ** rng.choice([-60, -30, 30])
    return X


@dataclass
class Scene:
    """A family with a ball (Q, r), a second one (Q2, r2) and a half-space ``<P, x> >= b``, none
    of which miss each other.
    """

    family: Family
    Q: Any
    r: float
    P: Any
    b: float
    Q2: Any
    r2: float


def scene(name, data, rng):
    """Return a :class:`Scene`."""
    d = {
        "line": 1,
        "plane": 2,
        "space": 3,
        "five": 5,
        "wide": 300,
        "kernel": 3,
        "powers": 2,
        "sharp": 2,
    }.get(name)
    still = rng.random() < 0.25  # a center of 0, where margins have no error to hide behind
    size = (
        10.0 ** rng.choice([-150, -75, 75])
        if data == "extreme" and name in ("line", "plane", "space", "five", "wide", "sharp")
        else 1.0
    )
    if data == "extreme" and size < 1.0:
        size = 1.0 / size
    vector = rng.normal(size=d or 1)
    if data == "far":
        vector *= 1e8
    f = family(name, data, rng, vector if d not in (None, 300) else None)
    if data == "extreme":
        size = 1.0 / float(np.median(f.terms.norms))
    shape = f.terms.cone.shape
    whole = data == "integers"

    def element():
        values = rng.integers(-6, 7, shape) * 1.0 if whole else rng.normal(size=shape) * size
        if data == "mixed":
            values = values * 10.0 ** rng.uniform(-8, 8, shape)
        if data == "far" and len(shape) == 1 and f.G is None:
            values = values * 1e8
        if data == "cancelling" and f.G is not None:
            values[1::2] = -values[::2]
        return values

    Q = f.element(
        np.zeros(shape)
        if still
        else vector * size
        if data == "cancelling" and np.shape(vector) == shape
        else element()
    )
    if f.G is not None:  # from sums, and from expansions that differ in one coefficient
        for _ in range(0 if still else int(rng.choice([0, 1, 5]))):
            Q = 0.5 * Q + f.element(element()) - f.element(element())
            coef = np.array(Q)
            Q = f.element(coef, Q) if rng.random() < 0.7 else Q
            coef[rng.integers(coef.size)] += float(rng.choice([1.0, 1e-9]))
            Q = f.element(coef, Q) if rng.random() < 0.7 else Q
        step = f.element(np.eye(1, shape[0], int(rng.integers(shape[0])))[0])
        for _ in range(0 if still else int(rng.choice([0, 0, 200]))):
            Q = Q + step
    length = (
        float(np.sqrt(max(f.inner(Q, Q).floats(), 0.0)))
        or float(np.sqrt(f.inner(*[f.element(element())] * 2).floats()))
        or size
    )
    r = (
        float(rng.choice([0.0, 1e-3, 0.3, 3.0][still:])) * length
        if not whole
        else float(rng.choice([0, 5, 13, 25][still:]))
    )
    P = f.element(element())
    if rng.random() < 0.3 and f.G is None:  # along a term
        P = np.reshape(f.A[int(rng.integers(len(f.A)))].floats(), shape)
        P = f.element(P * (1.0 + float(rng.choice([0.0, 1e-5])) * rng.normal(size=shape)))
    if whole and len(shape) == 1 and f.G is None:
        P = np.zeros(shape)
        P[rng.integers(shape[0])] = float(rng.choice([1, -3]))
    PP = float(np.sqrt(f.inner(P, P).floats()))
    level = (
        float(rng.choice([-0.9, -0.3, 0.0, 0.4, 0.95, 0.9999, 0.99999999]))
        if not whole
        else float(rng.choice([-4, -3, 0, 3, 4])) / 5.0
    )
    b = float(f.inner(P, Q).floats()) + level * r * PP
    step = f.element(element())
    if whole and len(shape) == 1 and f.G is None:
        step = P / np.linalg.norm(P)
    apart = float(np.sqrt(f.inner(step, step).floats())) or 1.0
    wanted = r * float(rng.uniform(0.4, 1.5)) if not whole else float(rng.choice([6, 8, 2]))
    Q2 = f.element(np.asarray(Q) + np.asarray(step) * ((wanted or length) / apart))
    difference = dyadic(np.ravel(np.asarray(Q))) - dyadic(np.ravel(np.asarray(Q2)))
    D = float(np.sqrt(f.inner(difference, difference).floats()))
    r2 = abs(D - r) + float(rng.choice([0.02, 0.4, 0.9, 1.6])) * min(r, D) if not whole else r
    return Scene(f, Q, r, P, b, Q2, r2)
