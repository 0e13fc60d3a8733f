"""Slow oracles, straight from the definitions, in plain numpy: every term written out, every sum
a loop.
"""

import numpy as np

__all__ = ["Naive", "project", "sample_elements", "screen_by_definition", "triplet_elements"]


def triplet_elements(X, index, diagonal=False):
    """Return ``H_ijl`` of every triplet, shape (T, d, d), or their diagonals, shape (T, d)."""
    out = []
    for i, j, m in index:
        u, v = X[i] - X[m], X[i] - X[j]
        H = np.outer(u, u) - np.outer(v, v)
        out.append(np.diag(H) if diagonal else H)
    return np.array(out)


def sample_elements(X, y):
    """Return ``z_i = y_i x_i``, shape (n, d)."""
    return np.array([label * row for row, label in zip(X, y, strict=True)], dtype=float)


def project(H, cone):
    """Return ``[H]_K`` for the cone "psd", "nonneg" or "free"."""
    if cone == "free":
        return H
    if cone == "nonneg":
        return np.where(H > 0.0, H, 0.0)
    values, vectors = np.linalg.eigh(H)
    return sum(max(s, 0.0) * np.outer(v, v) for s, v in zip(values, vectors.T, strict=True))


class Naive:
    """The problem of explicit elements `A`, shape (T, ...), over a cone."""

    def __init__(self, A, cone, gamma, tau=1.0, linear=None, constant=0.0):
        self.A, self.cone, self.gamma = A, cone, gamma
        self.tau = np.broadcast_to(tau, len(A))
        self.linear = np.zeros(A.shape[1:]) if linear is None else linear
        self.constant = constant

    def margins(self, x):
        return np.array([np.sum(a * x) for a in self.A])

    def losses(self, x):
        out = []
        for u, tau in zip(self.margins(x), self.tau, strict=True):
            s = tau - u
            if s < 0.0:
                out.append(0.0)
            elif s <= self.gamma and self.gamma > 0.0:
                out.append(s * s / (2.0 * self.gamma))
            else:
                out.append(s - 0.5 * self.gamma)
        return np.array(out)

    def alpha(self, x):
        slack = self.tau - self.margins(x)
        if self.gamma == 0.0:
            return np.where(slack > 0.0, 1.0, 0.0)
        return np.minimum(np.maximum(slack / self.gamma, 0.0), 1.0)

    def H(self, alpha):
        return self.linear + sum(
            (w * a for w, a in zip(alpha, self.A, strict=True)), np.zeros_like(self.linear)
        )

    def x_of(self, alpha, lam):
        return project(self.H(alpha), self.cone) / lam

    def primal(self, x, lam):
        return (
            self.losses(x).sum()
            - np.sum(self.linear * x)
            + self.constant
            + 0.5 * lam * np.sum(x * x)
        )

    def dual(self, alpha, lam):
        conjugate = sum(
            tau * a - 0.5 * self.gamma * a * a for tau, a in zip(self.tau, alpha, strict=True)
        )
        return (
            conjugate + self.constant - np.sum(project(self.H(alpha), self.cone) ** 2) / (2.0 * lam)
        )

    def gap(self, x, lam, alpha=None):
        return self.primal(x, lam) - self.dual(self.alpha(x) if alpha is None else alpha, lam)

    def lam_max(self):
        x, found = project(self.H(np.ones(len(self.A))), self.cone), [0.0]
        for value, limit in zip(self.margins(x), self.tau - self.gamma, strict=True):
            if limit > 0.0:
                found.append(value / limit)
            elif value > 0.0 or limit < 0.0:
                found.append(np.inf)
        return max(found)

    # spheres as printed, (center, radius)

    def gradient(self, x, lam):
        return lam * x - self.H(self.alpha(x))

    def gradient_bound(self, x, lam):
        g = self.gradient(x, lam)
        return x - g / (2.0 * lam), np.linalg.norm(g) / (2.0 * lam)

    def projected_gradient_bound(self, x, lam):
        Q, r = self.gradient_bound(x, lam)
        plus = project(Q, self.cone)
        return plus, np.sqrt(max(r**2 - np.sum((Q - plus) ** 2), 0.0))

    def duality_gap_bound(self, x, lam, alpha=None):
        return x, np.sqrt(2.0 * self.gap(x, lam, alpha) / lam)

    def constrained_duality_gap_bound(self, alpha, lam):
        x = self.x_of(alpha, lam)
        return x, np.sqrt(self.gap(x, lam, alpha) / lam)

    def midpoint_gap_bound(self, x, lam, alpha=None):
        alpha = self.alpha(x) if alpha is None else alpha
        other = self.x_of(alpha, lam)
        square = self.gap(x, lam, alpha) / lam - np.sum((x - other) ** 2) / 4.0
        return 0.5 * (x + other), np.sqrt(square)

    def reduce(self, in_L, in_R):
        """Return the reduced problem (STS19 Lemma 1)."""
        keep = ~(in_L | in_R)
        linear = self.linear + sum(self.A[in_L], np.zeros_like(self.linear))
        constant = self.constant + sum(self.tau[in_L]) - 0.5 * self.gamma * in_L.sum()
        return Naive(self.A[keep], self.cone, self.gamma, self.tau[keep], linear, constant)


def relaxed_path_bound(x0, eps, lam0, lam1):
    """Return the printed (center, radius) of STS19 Theorem 6; Theorem 5 with ``eps = 0``."""
    away = abs(lam0 - lam1)
    radius = away / (2.0 * lam1) * np.linalg.norm(x0) + (away + lam0 + lam1) / (2.0 * lam1) * eps
    return (lam0 + lam1) / (2.0 * lam1) * x0, radius


def screen_by_definition(naive, center, radius):
    """Return ``(in_L, in_R)`` by the sphere rule, a term at a time."""
    in_L, in_R = [], []
    for a, tau in zip(naive.A, naive.tau, strict=True):
        q, reach = np.sum(a * center), radius * np.linalg.norm(a)
        in_L.append(q + reach < tau - naive.gamma)
        in_R.append(q - reach > tau)
    return np.array(in_L), np.array(in_R)
