"""The problem in 50-digit arithmetic: floats stand for themselves, exactly; elements are flat
lists.
"""

import mpmath
import numpy as np
from mpmath import mpf

from naive.extremes import dot, exact, norm

__all__ = ["Exact", "exact_samples", "exact_triplets", "minus", "split"]


def exact_triplets(X, index, diagonal=False):
    """Return the elements of triplets, from the points as they are."""
    out = []
    for i, j, m in index:
        xi, xj, xm = exact(X[i]), exact(X[j]), exact(X[m])
        u, v = minus(xi, xm), minus(xi, xj)
        if diagonal:
            out.append([p * p - s * s for p, s in zip(u, v, strict=True)])
        else:
            out.append(
                [
                    p * q - s * t
                    for p, s in zip(u, v, strict=True)
                    for q, t in zip(u, v, strict=True)
                ]
            )
    return out


def exact_samples(X, y):
    """Return the elements ``y_i x_i``."""
    return [[mpf(float(label)) * v for v in exact(row)] for row, label in zip(X, y, strict=True)]


def minus(x, y):
    return [p - q for p, q in zip(x, y, strict=True)]


def split(H, cone):
    """Return ``([H]_K, [H]_K - H)`` of a flat list."""
    if cone == "free":
        return H, [mpf(0)] * len(H)
    if cone == "nonneg":
        return [max(v, mpf(0)) for v in H], [max(-v, mpf(0)) for v in H]
    d = round(len(H) ** 0.5)
    size = max((abs(v) for v in H), default=mpf(0))
    if size == 0:
        return list(H), list(H)
    M = mpmath.matrix(
        [[(H[i * d + j] + H[j * d + i]) / 2 / size for j in range(d)] for i in range(d)]
    )
    values, vectors = mpmath.eigsy(M)
    parts = []
    for sign in (1, -1):
        weights = [max(sign * values[k], mpf(0)) * size for k in range(d)]
        parts.append(
            [
                mpmath.fsum(weights[k] * vectors[i, k] * vectors[j, k] for k in range(d))
                for i in range(d)
                for j in range(d)
            ]
        )
    return parts[0], parts[1]


class Exact:
    """The problem of exact elements over the cone "psd", "nonneg" or "free"; `linear` is a flat
    list.
    """

    def __init__(self, elements, cone, gamma, tau=1.0, linear=None, constant=0):
        self.A, self.cone, self.gamma, self.constant = (
            elements,
            cone,
            mpf(float(gamma)),
            mpf(float(constant)),
        )
        self.tau = exact(np.broadcast_to(tau, len(elements)))
        self.linear = [mpf(0)] * len(elements[0]) if linear is None else [mpf(v) for v in linear]
        self.norms = [norm(a) for a in elements]

    def margins(self, x):
        return [dot(a, x) for a in self.A]

    def loss(self, x):
        return mpmath.fsum(a * (s - self.gamma * a / 2) for a, s in self._slopes(x))

    def alpha(self, x):
        return [a for a, _ in self._slopes(x)]

    def _slopes(self, x):
        slacks = [tau - m for tau, m in zip(self.tau, self.margins(x), strict=True)]
        if self.gamma == 0:
            return [(mpf(bool(s > 0)), s) for s in slacks]
        return [(min(max(s / self.gamma, mpf(0)), mpf(1)), s) for s in slacks]

    def adjoint(self, alpha):
        if not self.A:
            return [mpf(0)] * len(self.linear)
        return [dot(alpha, column) for column in zip(*self.A, strict=True)]

    def H(self, alpha):
        return [c + h for c, h in zip(self.linear, self.adjoint(alpha), strict=True)]

    def reduce(self, in_L, in_R):
        """Return the reduced problem (STS19 Lemma 1), its linear term without any rounding."""
        keep = [t for t in range(len(self.A)) if not (in_L[t] or in_R[t])]
        part = Exact(
            [self.A[t] for t in keep],
            self.cone,
            self.gamma,
            [float(self.tau[t]) for t in keep],
            self.linear,
        )
        part.linear = self.H([mpf(bool(v)) for v in in_L])
        part.constant = self.constant + mpmath.fsum(
            self.tau[t] - self.gamma / 2 for t in np.flatnonzero(in_L)
        )
        return part

    def gap(self, x, lam, alpha):
        """Return ``P(x) - D(alpha)``."""
        lam = mpf(float(lam))
        primal = self.loss(x) - dot(self.linear, x) + lam / 2 * dot(x, x)
        plus = split(self.H(alpha), self.cone)[0]
        # constants cancel
        dual = (
            dot(self.tau, alpha) - self.gamma / 2 * dot(alpha, alpha) - dot(plus, plus) / (2 * lam)
        )
        return primal - dual

    def fenchel(self, x, alpha):
        """Return ``sum_t loss(m_t) + loss*(-alpha_t) + alpha_t m_t``."""
        conjugates = mpmath.fsum(
            self.gamma * a * a / 2 - tau * a for a, tau in zip(alpha, self.tau, strict=True)
        )
        return self.loss(x) + conjugates + dot(alpha, self.margins(x))
