"""The yardstick: triplet metric learning compiled the plain way, d^2 operations a triplet and
iteration.

Each triplet's margin is a d x d quadratic form and its share of the gradient a rank-two update, as
the papers count the cost of a pass. Half of each symmetric matrix is left out. Everything else is
the same as in the library: warm starts along the path, Barzilai-Borwein steps, the relative duality
gap as the stopping rule. Nothing here is shared with the solvers it is compared with."""

from dataclasses import dataclass

import numpy as np

from safescreen._numba import njit

__all__ = ["PlainSolution", "plain_path"]


@dataclass(frozen=True)
class PlainSolution:
    """Solution for one lam: objective and gap of the problem that screening left, steps, and the
    part of triplets left out before them.
    """

    M: np.ndarray
    lam: float
    primal: float
    gap: float
    n_iter: int
    screening_rate: float


def plain_path(X, index, lams, gamma=0.05, rtol=1e-6, screening=False, max_iter=10_000):
    """Solve triplet metric learning for decreasing lam to a relative duality gap, `gamma` the width
    of the smoothed hinge.

    With `screening` the relaxed path bound (STS19 Theorem 6) and the sphere rule leave triplets out
    before the first step of each lam.

    >>> X = np.array([[0.0], [1.0], [4.0], [5.5]])
    >>> [s] = plain_path(X, np.array([[0, 1, 2], [2, 3, 0]]), [1000.0])
    >>> round(float(s.M[0, 0]), 6)  # both triplets linear: (15 + 13.75)/1000
    0.02875
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    index = np.ascontiguousarray(index, dtype=np.int32)
    whole = _Terms(X, index, gamma)
    M, step, solutions = np.zeros((X.shape[1],) * 2), None, []
    for lam in map(float, lams):
        terms = _screened(whole, solutions[-1], lam, rtol) if screening and solutions else whole
        point = _Point(terms, M, lam)
        if len(solutions) > 1:
            before, last = solutions[-2:]
            ahead = _positive(M + (lam - last.lam) / (last.lam - before.lam) * (M - before.M))
            ahead = _Point(terms, ahead, lam)
            point = ahead if ahead.gap < point.gap else point
        step, n_iter, origin = step or 1.0 / lam, 0, None
        while point.gap > rtol * abs(point.primal):
            if n_iter == max_iter:
                raise RuntimeError(f"lam = {lam:g}: gap {point.gap:.3g} after {max_iter} steps")
            step = _barzilai_borwein(point, origin, lam) if origin else step
            origin, point = point, _Point(terms, _positive(point.M - step * point.gradient), lam)
            n_iter += 1
        M = point.M
        solutions.append(
            PlainSolution(
                M, lam, point.primal, point.gap, n_iter, 1.0 - len(terms.index) / len(index)
            )
        )
    return solutions


@dataclass(frozen=True)
class _Terms:
    """Triplets in the sums, and the sum and number of those known to be linear."""

    X: np.ndarray
    index: np.ndarray
    gamma: float
    linear: np.ndarray | float = 0.0
    n_linear: int = 0


class _Point:
    """Objective, duality gap and gradient at M: one pass over the triplets."""

    def __init__(self, terms, M, lam):
        gamma, n = terms.gamma, terms.n_linear
        H, sums = np.zeros_like(M), np.zeros(3)
        _pass(terms.X, terms.index, M, gamma, H, sums)
        H = terms.linear + np.tril(H) + np.tril(H, -1).T
        loss = sums[0] + n * (1.0 - 0.5 * gamma) - np.vdot(terms.linear, M) if n else sums[0]
        self.M, self.primal = M, float(loss + 0.5 * lam * np.vdot(M, M))
        plus = _positive(H)
        dual = sums[1] + n - 0.5 * gamma * (sums[2] + n) - np.vdot(plus, plus) / (2.0 * lam)
        self.gap = self.primal - float(dual)
        self.gradient = lam * M - H


def _barzilai_borwein(point, origin, lam):
    dM, dG = point.M - origin.M, point.gradient - origin.gradient
    MM, MG, GG = np.vdot(dM, dM), np.vdot(dM, dG), np.vdot(dG, dG)
    return float(0.5 * (MG / GG + MM / MG)) if MG > 0.0 else 1.0 / lam


def _positive(A):
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def _screened(whole, last, lam, rtol):
    """Return the terms that the path bound leaves."""
    eps = np.sqrt(2.0 * max(last.gap, rtol * abs(last.primal)) / last.lam)
    change = abs(last.lam - lam)
    radius = (change * np.linalg.norm(last.M) + (change + last.lam + lam) * eps) / (2.0 * lam)
    center = (last.lam + lam) / (2.0 * lam) * last.M
    left, H, counts = np.empty_like(whole.index), np.zeros_like(last.M), np.zeros(2, dtype=np.int64)
    _screen(whole.X, whole.index, center, radius, whole.gamma, left, H, counts)
    linear = np.tril(H) + np.tril(H, -1).T
    return _Terms(whole.X, left[: counts[0]], whole.gamma, linear, int(counts[1]))


@njit
def _pass(X, index, M, gamma, H, sums):
    """Add to the lower half of H the sum of alpha_t H_t, and ``sums += (loss, 1'alpha,
    alpha'alpha)``.
    """
    d = X.shape[1]
    u, v = np.empty(d), np.empty(d)
    for t in range(index.shape[0]):
        margin = _margin(X, index, t, M, u, v)
        alpha = min(max((1.0 - margin) / gamma, 0.0), 1.0)
        if alpha > 0.0:
            sums[0] += alpha * (1.0 - margin - 0.5 * gamma * alpha)
            sums[1] += alpha
            sums[2] += alpha * alpha
            _add(alpha, u, v, H)


@njit
def _screen(X, index, Q, radius, gamma, left, H, counts):
    """Copy undecided triplets to `left`, add linear ones to the lower half of H, count both."""
    d = X.shape[1]
    u, v = np.empty(d), np.empty(d)
    for t in range(index.shape[0]):
        q = _margin(X, index, t, Q, u, v)
        uu, uv, vv = 0.0, 0.0, 0.0
        for a in range(d):
            uu += u[a] * u[a]
            uv += u[a] * v[a]
            vv += v[a] * v[a]
        reach = radius * np.sqrt(max(uu * uu + vv * vv - 2.0 * uv * uv, 0.0))
        if q + reach < 1.0 - gamma:
            counts[1] += 1
            _add(1.0, u, v, H)
        elif not q - reach > 1.0:
            left[counts[0]] = index[t]
            counts[0] += 1


@njit(inline="always")
def _margin(X, index, t, M, u, v):
    """Fill u, v with the two differences of triplet t; return ``u'Mu - v'Mv``."""
    d = X.shape[1]
    i, j, m = index[t, 0], index[t, 1], index[t, 2]
    for a in range(d):
        u[a] = X[i, a] - X[m, a]
        v[a] = X[i, a] - X[j, a]
    margin = 0.0
    for a in range(d):
        row = 0.0
        for b in range(a):
            row += M[a, b] * (u[a] * u[b] - v[a] * v[b])
        margin += 2.0 * row + M[a, a] * (u[a] * u[a] - v[a] * v[a])
    return margin


@njit(inline="always")
def _add(alpha, u, v, H):
    for a in range(u.size):
        for b in range(a + 1):
            H[a, b] += alpha * (u[a] * u[b] - v[a] * v[b])
