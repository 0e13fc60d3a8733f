"""Small constraints, and what the sparse code computes, written densely from the definitions."""

import itertools

import numpy as np
from scipy import sparse


def smooth_loss(name, u, gamma=1.0):
    """Values, slopes and curvatures of the losses of HDSL19 section 3.1 and Remark 1, written
    case by case.
    """
    u = np.asarray(u, dtype=float)
    slack = np.maximum(1.0 - u, 0.0)
    if name == "smoothed_hinge":
        cases = [u >= 1, u <= 1 - gamma]
        value = np.select(cases, [0.0, 1 - u - gamma / 2], (1 - u) ** 2 / (2 * gamma))
        return (
            value,
            np.select(cases, [0.0, -1.0], (u - 1) / gamma),
            np.select(cases, [0.0, 0.0], 1 / gamma),
        )
    if name == "squared_hinge":
        return slack**2 / (2 * gamma), -slack / gamma, (u < 1) / gamma
    if name == "exponential":
        return np.exp(-u), -np.exp(-u), np.exp(-u)
    # log(1 + e^-u) and its derivatives, from the side that does not overflow
    e = np.exp(-np.abs(u))
    slope = np.where(u > 0, e, 1.0) / (1 + e)
    return np.log1p(e) + np.maximum(-u, 0.0), -slope, e / (1 + e) ** 2


class Dense:
    """The problem with all ``A_t`` and all atoms as d x d arrays."""

    def __init__(self, X, triplets, scale, gamma=1.0, weights=None, loss="smoothed_hinge"):
        self.loss = loss
        X, triplets = np.asarray(X), np.asarray(triplets)
        x, y, z = (X[triplets[:, c]] for c in range(3))
        self.A, self.scale, self.gamma = np.einsum("ti,tj->tij", x, y - z), scale, gamma
        self.shares = (
            np.full(len(triplets), 1.0 / len(triplets))
            if weights is None
            else weights / np.sum(weights)
        )
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
        return self.shares @ smooth_loss(self.loss, self.margins(M), self.gamma)[0]

    def gradient(self, M):
        return np.einsum(
            "t,tij->ij",
            self.shares * smooth_loss(self.loss, self.margins(M), self.gamma)[1],
            self.A,
        )

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
        value = {
            "smoothed_hinge": lambda: (
                self.shares @ cp.huber(slack * size, self.gamma) / (2 * self.gamma)
            ),
            "squared_hinge": lambda: self.shares @ cp.square(slack * size) / (2 * self.gamma),
            "log_loss": lambda: self.shares @ cp.logistic(-scores @ weights),
            "exponential": lambda: self.shares @ cp.exp(-scores @ weights),
        }[self.loss]()
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
