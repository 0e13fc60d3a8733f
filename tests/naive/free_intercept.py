"""Support vector machines with a free intercept in fractions: an optimum that is checked to be one,
exactly."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

ONE = Fraction(1)


class ExactMachine(NamedTuple):
    """``K_ij = <x_i, x_j>``, labels, weights, lam, smoothing g and cap (None: no cap)."""

    K: list
    y: list
    c: list
    lam: Fraction
    g: Fraction
    cap: Fraction | None

    @classmethod
    def of(cls, X, y, c, lam, loss):
        """Return the machine of points whose numbers are taken as they are."""
        rows = [[Fraction(float(v)) for v in row] for row in X]
        K = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
        cap = ONE if loss.has_linear_region else None
        numbers = [Fraction(float(v)) for v in c]
        signs = [int(v) for v in y]
        return cls(K, signs, numbers, Fraction(lam), Fraction(loss.smoothing), cap)

    def products(self, alpha):
        """Return ``y_i <x_i, w(alpha)>``."""
        coef = [c * a * y / self.lam for c, a, y in zip(self.c, alpha, self.y, strict=True)]
        return [
            y * sum(k * v for k, v in zip(row, coef, strict=True))
            for y, row in zip(self.y, self.K, strict=True)
        ]

    def loss(self, margin):
        """Return the loss of a margin."""
        slack = ONE - margin
        if slack <= 0:
            return Fraction(0)
        if self.g > 0 and (self.cap is None or slack <= self.g * self.cap):
            return slack * slack / (2 * self.g)
        return self.cap * (slack - self.g * self.cap / 2)

    def objective(self, f, b, square):
        """Return ``sum_i c_i loss(y_i (f_i + b)) + lam/2 square``."""
        terms = zip(self.c, self.y, f, strict=True)
        return sum(c * self.loss(y * (u + b)) for c, y, u in terms) + self.lam * square / 2

    def primal(self, alpha, b):
        """Return the objective at ``w(alpha)`` and b."""
        products = self.products(alpha)
        weighted = zip(self.c, alpha, products, strict=True)
        square = sum(c * a * p for c, a, p in weighted) / self.lam
        return self.objective([y * p for y, p in zip(self.y, products, strict=True)], b, square)

    def optimum(self, near):
        """Return ``(alpha, smallest b, largest b)``, exactly optimal, from a dual point near one;
        None if the guess which variables are at a bound is not confirmed.
        """
        alpha = [Fraction(float(a)) for a in near]
        free = []
        for i, a in enumerate(alpha):
            if a <= 1e-5:
                alpha[i] = Fraction(0)
            elif self.cap is not None and a >= self.cap - Fraction(1e-5):
                alpha[i] = self.cap
            else:
                free.append(i)
        b = None
        if free:
            solved = self._free(alpha, free)
            if solved is None:
                return None
            alpha, b = solved
        low, high = self._intercepts(alpha)
        is_balanced = sum(c * a * y for c, a, y in zip(self.c, alpha, self.y, strict=True)) == 0
        if not is_balanced or min(alpha) < 0 or low > high:
            return None
        if self.cap is not None and max(alpha) > self.cap:
            return None
        return None if b is not None and not low <= b <= high else (alpha, low, high)

    def _free(self, alpha, free):
        """Return alpha with its free entries, and b, from the equations of those."""
        margins = self.products(alpha)
        rows = []
        for i in free:
            row = [self.y[i] * self.K[i][j] * self.y[j] * self.c[j] / self.lam for j in free]
            row[free.index(i)] += self.g
            rows.append([*row, Fraction(self.y[i]), ONE - margins[i] - self.g * alpha[i]])
        balance = sum(c * a * y for c, a, y in zip(self.c, alpha, self.y, strict=True))
        rows.append([*(self.c[j] * self.y[j] for j in free), Fraction(0), -balance])
        steps = eliminate(rows)
        if steps is None:
            return None
        alpha = list(alpha)
        for j, step in zip(free, steps[:-1], strict=True):
            alpha[j] += step
        return alpha, steps[-1]

    def _intercepts(self, alpha):
        """Return the ends of the b that go with alpha: all slacks on their sides."""
        low = Fraction(-(10**30))
        high = Fraction(10**30)
        for y, a, p in zip(self.y, alpha, self.products(alpha), strict=True):
            kink = y * (ONE - p - self.g * a)
            at_least = a == 0  # the margin is at least 1
            at_most = self.cap is not None and a == self.cap
            if at_least or not at_most:
                low, high = (max(low, kink), high) if y > 0 else (low, min(high, kink))
            if at_most or not at_least:
                low, high = (low, min(high, kink)) if y > 0 else (max(low, kink), high)
        return low, high


def eliminate(rows):
    """Return a solution of the linear equations ``[A | b]``, free unknowns 0; None if there is
    none.
    """
    n = len(rows[0]) - 1
    pivots = []
    for column in range(n):
        place = len(pivots)
        found = [k for k in range(place, len(rows)) if rows[k][column] != 0]
        if not found:
            continue
        rows[place], rows[found[0]] = rows[found[0]], rows[place]
        factor = rows[place][column]
        rows[place] = [v / factor for v in rows[place]]
        for k in range(len(rows)):
            if k != place and rows[k][column] != 0:
                scale = rows[k][column]
                rows[k] = [u - scale * v for u, v in zip(rows[k], rows[place], strict=True)]
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    if any(row[-1] != 0 for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * n
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def instance(seed):
    """Return points, labels and weights of a small problem: ties, few columns, one class rare,
    tiny or huge, in turn.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    d = int(rng.integers(1, 4))
    kind = seed % 5
    X = rng.standard_normal((n, d))
    if kind == 1:
        X = rng.integers(-1, 2, (n, d)).astype(float)
    X *= {2: 2.0**-30, 3: 2.0**30}.get(kind, 1.0)
    if kind == 4:
        X += 2.0**7  # far from the origin
    y = np.where(rng.random(n) < rng.choice([0.2, 0.5]), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = None if seed % 3 else rng.choice([0.5, 1.0, 3.0, 0.1], n)
    return X, y, weights
