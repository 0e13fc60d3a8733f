"""Small constraints, and what the sparse code computes, written densely from the definitions."""

import itertools

import numpy as np
from scipy import sparse


class Dense:
    """The problem with all ``A_t`` and all atoms as d x d arrays."""

    def __init__(self, X, triplets, scale, gamma=1.0, weights=None):
        X, triplets = np.asarray(X), np.asarray(triplets)
        x, y, z = (X[triplets[:, c]] for c in range(3))
        self.A, self.scale, self.gamma = np.einsum("ti,tj->tij", x, y - z), scale, gamma
        self.shares = np.full(len(triplets), 1.0 / len(triplets)) if weights is None else weights / np.sum(weights)
        self.keys, self.atoms = [], []
        for i, j in itertools.combinations(range(X.shape[1]), 2):
            for sign in (1, -1):
                e = np.zeros(X.shape[1])
                e[i], e[j] = 1.0, sign
                self.keys.append((i, j, sign))
                self.atoms.append(scale * np.outer(e, e))
        self.atoms = np.array(self.atoms)

    def margins(self, M):
        return np.einsum("tij,ij->t", self.A, M)

    def objective(self, M):
        u, gamma = self.margins(M), self.gamma
        return self.shares @ np.where(u >= 1, 0.0, np.where(u <= 1 - gamma, 1 - u - gamma / 2, (1 - u) ** 2 / (2 * gamma)))

    def gradient(self, M):
        slopes = np.clip((1 - self.margins(M)) / self.gamma, 0, 1)
        return -np.einsum("t,tij->ij", self.shares * slopes, self.A)

    def products(self, M):
        """``<G, B>`` of all atoms."""
        return np.einsum("kij,ij->k", self.atoms, self.gradient(M))

    def gap(self, M):
        return np.sum(self.gradient(M) * M) - self.products(M).min()

    def optimum(self):
        import cvxpy as cp

        weights = cp.Variable(len(self.atoms), nonneg=True)
        scores = np.einsum("tij,kij->tk", self.A, self.atoms)
        size = max(1.0, float(np.abs(scores).max()))
        slack = cp.pos(1.0 / size - (scores / size) @ weights)
        value = self.shares @ cp.huber(slack * size, self.gamma) / (2 * self.gamma)
        program = cp.Problem(cp.Minimize(value), [cp.sum(weights) == 1])
        program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        assert program.status == "optimal"
        return program.value


def instance(seed, n=12, d=6, T=30, density=0.6, signed=False):
    """Sparse random points, some features empty perhaps, and random triplets."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < density)
    if signed:
        X *= rng.choice((-1, 1), (n, d))
    triplets = np.array([rng.choice(n, 3, replace=False) for _ in range(T)])
    return sparse.csr_array(X), triplets
