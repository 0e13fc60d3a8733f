"""Primal-dual interior-point method on the problem that screening leaves, for terms over a cone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas, lapack

from safescreen._numba import njit
from safescreen._threads import large_blas
from safescreen.cones import PSDCone
from safescreen.rounding import ElementLike

STATS = {}


@dataclass
class State:
    system: Any
    x: Any
    S: Any
    duals: NDArray  # (3, T): alpha, its two multipliers
    margins: NDArray
    budget: float = 1e4
    log: list = field(default_factory=list)


@dataclass(frozen=True)
class InteriorPoint:
    correctors: int = 3
    fraction: float = 0.95
    budget: float = 1e4
    warm: float = 15.0
    most: int = 40
    cone_weight: float = 1.0
    cold: float = 0.01
    needs = ("systems",)

    def init(self, problem, x, alpha, lam):
        system = problem.terms.system()
        terms = system.terms
        n = len(terms)
        cone = problem.cone
        w, w_step = _weights(terms)
        W = float(w.sum()) if w_step else float(n)
        unit = self.cone_weight * W / max(n, 1)
        nu = 2.0 * W + unit * cone.d
        e = problem.evaluate(x, lam, alpha)
        if cone.norm(x) > 0.0 and e.gap < 0.3 * abs(e.primal):
            mu = self.warm * e.gap / nu
            h = lam * x - e.minus
            x, S = _central(cone, h, lam, unit * mu)
        else:
            x = _identity(cone)
            x = x * _scale(problem, system, x, lam)
            H = system.sums(0.5 * np.broadcast_to(w, n))
            H = H if problem.linear is None else H + problem.linear
            mu = self.cold * _largest(cone, H) * float(x.flat[0]) / unit
            S = unit * mu * _inverse(cone, x)
        margins = system.products(x)
        duals = np.empty((3, n))
        tau, tau_step = _levels(terms)
        _center(margins, tau, tau_step, problem.loss.smoothing, problem.loss.cap, mu, duals)
        return State(system, x, S, duals, margins, self.budget)

    def reduce(self, state, problem, kept):
        return State(
            problem.terms.system(),
            state.x,
            state.S,
            np.ascontiguousarray(state.duals[:, kept]),
            np.ascontiguousarray(state.margins[kept]),
            state.budget,
            state.log,
        )

    def step(self, problem, lam, state):
        system = state.system
        terms = system.terms
        cone = problem.cone
        loss = problem.loss
        n = len(terms)
        w, w_step = _weights(terms)
        tau, tau_step = _levels(terms)
        W = float(w.sum()) if w_step else float(n)
        unit = self.cone_weight * W / max(n, 1)
        nu = 2.0 * W + unit * cone.d
        x, S, duals = state.x, state.S, state.duals
        alpha = duals[0]
        H = system.sums(w * alpha if w_step else alpha)
        if problem.linear is not None:
            H = H + problem.linear
        rd = lam * x - H - S
        scaling = (_Semidefinite if isinstance(cone, PSDCone) else _Orthant)(x, S)
        k = np.empty(n)
        rp = np.empty(n)
        targets = np.empty((2, n))
        comp = _eliminate(
            state.margins, tau, tau_step, w, w_step, loss.smoothing, loss.cap, duals, k, rp
        )
        comp += cone.inner(x, S)
        mu = comp / nu
        # the matrix
        newton = _Newton(system, scaling, lam, k, state.budget, self.most)

        def solve(rx_rs, R, precision):
            values = np.empty(n)
            _values(duals, rp, rx_rs, k, loss.cap, values)
            v = system.sums(values)
            rt = scaling.into(v - rd) + scaling.turned(R)
            dx, dm, u = newton.solve(rt, precision)
            direction = np.empty((3, n))
            t, c1, c2 = _direction(
                duals, rp, rx_rs, k, w, w_step, dm, values, loss.cap, direction
            )
            dS = lam * dx - (v - u) + rd
            t_cone, dxt, dst = scaling.step(dx, dS)
            return _Way(dx, dS, direction, dm, min(t, t_cone), c1, c2, dxt, dst, R)

        _targets(duals, loss.cap, 0.0, targets)
        root = np.sqrt(unit * mu)
        way = solve(targets, -scaling.square() / scaling.lam_mean(), 0.1 * root)
        t = min(1.0, way.t)
        after = (
            comp
            + t * way.c1
            + t * t * way.c2
            + t * (cone.inner(way.dx, S) + cone.inner(x, way.dS))
            + t * t * cone.inner(way.dx, way.dS)
        )
        sigma = min(1.0, max((after / comp) ** 3, 1e-6))
        t_aff = t
        _targets(duals, loss.cap, sigma * mu, targets)
        _second_order(way.direction, loss.cap, targets)
        R = scaling.complement(sigma * mu * unit, way.dxt, way.dst)
        precision = 0.1 * sigma * root
        way = solve(targets, R, precision)
        accepted = 0
        for _ in range(self.correctors):
            if way.t > 0.95 / 0.95:
                break
            t = min(1.0, max(1.5 * way.t, way.t + 0.3))
            more = targets.copy()
            _corrector(duals, way.direction, loss.cap, t, sigma * mu, more)
            R = way.R + scaling.corrector(way.dxt, way.dst, t, sigma * mu * unit)
            trial = solve(more, R, precision)
            if not trial.t > 1.05 * way.t:
                break
            targets = more
            way = trial
            accepted += 1
        t = min(1.0, self.fraction * way.t)
        x = x + t * way.dx
        S = S + t * way.dS
        if x.ndim == 2:
            x = 0.5 * (x + x.T)
            S = 0.5 * (S + S.T)
        new = State(system, x, S, duals + t * way.direction, system.products(x), newton.budget_next(), state.log)
        state.log.append(
            dict(mu=mu, rd=cone.norm(rd) / max(cone.norm(H), 1e-300), rp=float(np.abs(rp).max()), t_aff=t_aff, sigma=sigma, t=t, acc=accepted, **newton.stats)
        )
        return x, np.clip(new.duals[0], 0.0, loss.cap), new


@dataclass
class _Way:
    dx: Any
    dS: Any
    direction: Any
    dm: Any
    t: float
    c1: float
    c2: float
    dxt: Any
    dst: Any
    R: Any


class _Newton:
    def __init__(self, system, scaling, lam, k, budget, most):
        self.system = system
        self.scaling = scaling
        self.k = k
        self.most = most
        self.ridge = scaling.ridge(lam)
        self.squares = k * system.squares(scaling.W)
        self.stats = dict(cg=0, sq=float(self.squares.max(initial=0)), again=0)
        self.budget = budget
        self.factorize(budget)

    def factorize(self, budget):
        self.budget = budget
        limit = _threshold(self.squares, budget)
        kept = np.where(self.squares > limit, self.k, 0.0)
        n_kept = int(np.count_nonzero(kept))
        self.all_kept = n_kept == len(kept)
        n, blocks = self.system.rows(kept, self.scaling.root)
        D = self.system.width
        self.stats.update(kept=n_kept, rows=n)
        self.n = n
        self.dual = n * n * (D + n / 3) < D * D * (n + D / 3)
        with large_blas(min(n, D)):
            if self.dual:
                self.B = np.concatenate([b.copy() for b in blocks]) if n else np.empty((0, D))
                self.Bd = self.B / self.ridge
                M = self.Bd @ self.B.T
                M.flat[:: len(M) + 1] += 1.0
            else:
                M = np.zeros((D, D), order="F")
                for B in blocks:
                    M = blas.dsyrk(1.0, B.T, beta=1.0, c=M, lower=1, overwrite_c=1)
                M.flat[:: D + 1] += self.ridge
            if len(M):
                self.c, info = lapack.dpotrf(M, lower=1, overwrite_a=1, clean=0)
                if info:
                    raise np.linalg.LinAlgError("potrf")

    def budget_next(self):
        D = self.system.width
        n = self.n
        if self.dual:
            assembly = 0.02 * n * n * (2 * D + n / 3) + 2.0 * n * D
            solve = 1.0 * n * D + 0.5 * n * n
        else:
            assembly = 0.02 * D * D * (n + D) + 2.0 * n * D
            solve = 0.5 * D * D
        products = self.stats["cg"] * (self.system.work + solve)
        if products > 1.5 * assembly + 1e5:
            return self.budget / 4.0
        if products < 0.5 * assembly:
            return self.budget * 4.0
        return self.budget

    def precondition(self, r):
        if self.dual:
            if not len(self.B):
                return r / self.ridge
            y = lapack.dpotrs(self.c, self.Bd @ r, lower=1)[0]
            return (r - self.B.T @ y) / self.ridge
        return lapack.dpotrs(self.c, r, lower=1)[0]

    def apply(self, p):
        dx = self.scaling.back(p)
        dm = self.system.products(dx)
        u = self.system.sums(self.k * dm)
        return dx, dm, u, self.ridge * p + self.scaling.into(u)

    def solve(self, b, precision):
        y = self.precondition(b)
        dx, dm, u, Ay = self.apply(y)
        r = b - Ay
        z = p = None
        rz = 0.0
        for i in range(self.most + 1):
            if np.linalg.norm(r) <= precision:
                break
            if i == self.most:
                if self.all_kept:
                    break
                self.stats["again"] += 1
                self.factorize(0.0 if self.stats["again"] > 1 else 1e-3 * self.budget)
                return self.solve(b, precision)
            self.stats["cg"] += 1
            z = self.precondition(r)
            before = rz
            rz = float(r @ z)
            p = z if p is None else z + (rz / before) * p
            dxp, dmp, up, Ap = self.apply(p)
            step = rz / float(p @ Ap)
            dx = dx + step * dxp
            dm = dm + step * dmp
            u = u + step * up
            r = r - step * Ap
        return dx, dm, u


class _Semidefinite:
    def __init__(self, x, S):
        L = np.linalg.cholesky(x)
        R = np.linalg.cholesky(S)
        _, self.lam, Vt = np.linalg.svd(R.T @ L)
        self.G = L @ Vt.T / np.sqrt(self.lam)
        Q, scales, self.turn = np.linalg.svd(self.G)
        self.root = Q * scales
        self.omega = scales * scales
        self.W = self.root @ self.root.T
        # inverse of G
        self.Gi = (self.turn.T / scales) @ Q.T
        d = len(x)
        self.i, self.j = np.triu_indices(d)
        self.factor = np.where(self.i == self.j, 1.0, np.sqrt(2.0))

    def ridge(self, lam):
        return 1.0 + lam * self.omega[self.i] * self.omega[self.j]

    def lam_mean(self):
        return 0.5 * (self.lam[:, None] + self.lam)

    def square(self):
        return np.diag(self.lam**2)

    def vec(self, v):
        return v[self.i, self.j] * self.factor

    def into(self, v):
        return self.vec(self.root.T @ v @ self.root)

    def turned(self, R):
        return self.vec(self.turn @ R @ self.turn.T)

    def back(self, y):
        M = np.zeros((len(self.lam),) * 2)
        M[self.i, self.j] = y / self.factor
        M[self.j, self.i] = M[self.i, self.j]
        M = self.root @ M @ self.root.T
        return 0.5 * (M + M.T)

    def step(self, dx, dS):
        dxt = self.Gi @ dx @ self.Gi.T
        dst = self.G.T @ dS @ self.G
        scale = 1.0 / np.sqrt(self.lam)
        low = min(
            np.linalg.eigvalsh(scale[:, None] * dxt * scale)[0],
            np.linalg.eigvalsh(scale[:, None] * dst * scale)[0],
        )
        return -1.0 / low if low < 0.0 else np.inf, dxt, dst

    def complement(self, mu, dxt, dst):
        product = dxt @ dst
        rhs = mu * np.eye(len(self.lam)) - np.diag(self.lam**2) - 0.5 * (product + product.T)
        return rhs / self.lam_mean()

    def corrector(self, dxt, dst, t, mu):
        X = np.diag(self.lam) + t * dxt
        S = np.diag(self.lam) + t * dst
        V = X @ S
        v, Q = np.linalg.eigh(0.5 * (V + V.T))
        change = np.maximum(np.clip(v, 0.1 * mu, 10.0 * mu) - v, -10.0 * mu)
        return ((Q * change) @ Q.T) / self.lam_mean()


class _Orthant:
    def __init__(self, x, S):
        self.lam = np.sqrt(x * S)
        self.root = np.sqrt(x / S)
        self.W = self.root

    def ridge(self, lam):
        return 1.0 + lam * self.root * self.root

    def lam_mean(self):
        return self.lam

    def square(self):
        return self.lam**2

    def into(self, v):
        return v * self.root

    def turned(self, R):
        return R

    def back(self, y):
        return y * self.root

    def step(self, dx, dS):
        dxt = dx / self.root
        dst = dS * self.root
        low = min((dxt / self.lam).min(), (dst / self.lam).min())
        return -1.0 / low if low < 0.0 else np.inf, dxt, dst

    def complement(self, mu, dxt, dst):
        return (mu - self.lam**2 - dxt * dst) / self.lam

    def corrector(self, dxt, dst, t, mu):
        v = (self.lam + t * dxt) * (self.lam + t * dst)
        return np.maximum(np.clip(v, 0.1 * mu, 10.0 * mu) - v, -10.0 * mu) / self.lam


def _weights(terms):
    return (np.ones(1), 0) if terms.weights is None else (terms.weights, 1)


def _levels(terms):
    tau = np.atleast_1d(np.asarray(terms.threshold, dtype=float))
    return tau, int(np.ndim(terms.threshold) > 0)


def _identity(cone):
    return np.eye(cone.d) if len(cone.shape) == 2 else np.ones(cone.d)


def _inverse(cone, x):
    return np.linalg.inv(x) if len(cone.shape) == 2 else 1.0 / x


def _largest(cone, H):
    return float(np.linalg.norm(H, 2)) if H.ndim == 2 else float(np.abs(H).max())


def _central(cone, h, lam, mu):
    """Return x and S = lam x - h with x S = mu."""
    if len(cone.shape) == 2:
        v, Q = np.linalg.eigh(h)
        xv, sv = _central_values(v, lam, mu)
        return (Q * xv) @ Q.T, (Q * sv) @ Q.T
    return _central_values(h, lam, mu)


def _central_values(v, lam, mu):
    root = np.sqrt(v * v + 4.0 * lam * mu)
    large = 0.5 * (np.abs(v) + root)
    small = lam * mu / large
    x = np.where(v > 0.0, large, small) / lam
    return x, np.where(v > 0.0, small, large)


def _scale(problem, system, x, lam):
    m = system.products(x)
    terms = system.terms
    w, _ = _weights(terms)
    down = 0.0 if problem.linear is None else problem.cone.inner(problem.linear, x)
    square = lam * problem.cone.inner(x, x)

    def slope(r):
        a = problem.loss.alpha(r * m, terms.threshold)
        return r * square - down - float(np.sum(w * a * m))

    low, high = 1e-30, 1e30
    for _ in range(60):
        r = np.sqrt(low * high)
        if slope(r) > 0.0:
            high = r
        else:
            low = r
    return np.sqrt(low * high)


@njit
def _threshold(squares, budget):
    """Return a limit such that the numbers up to it sum to at most `budget`."""
    sums = np.zeros(2100)
    for t in range(squares.size):
        v = squares[t]
        if v > 0.0:
            e = int(np.floor(np.log2(v))) + 1075
            sums[min(max(e, 0), 2099)] += v
    total = 0.0
    for e in range(2100):
        total += sums[e]
        if total > budget:
            return 2.0 ** (e - 1075)
    return np.inf


@njit
def _center(margins, tau, tau_step, g, cap, mu, duals):
    """alpha, xi, s with slack = g alpha + xi - s, xi (cap - alpha) = mu = s alpha."""
    finite = cap < np.inf
    for t in range(margins.size):
        r = tau[t * tau_step] - margins[t]
        if not finite:
            # g a - mu/a = r
            b = np.sqrt(r * r + 4.0 * g * mu)
            a = 0.5 * (r + b) / g if r > 0.0 else 2.0 * mu / (b - r)
            duals[0, t] = a
            duals[1, t] = 0.0
            duals[2, t] = mu / a
            continue
        # in the nearer half: b = distance to the nearer end
        mid = r - 0.5 * g
        up = mid > 0.0
        # a = 1 - b (up) or a = b: g/2 - g b + mu/b - mu/(1-b) = |mid|  for b in (0, 1/2]
        goal = abs(mid)
        low = 0.0
        high = 0.5
        b = min(0.5, mu / (goal + 2.0 * mu))
        for _ in range(60):
            f = g * (0.5 - b) + mu / b - mu / (1.0 - b) - goal
            if f > 0.0:
                low = b
            else:
                high = b
            step = f / (g + mu / (b * b) + mu / ((1.0 - b) * (1.0 - b)))
            following = b + step
            if not (following > low and following < high):
                following = 0.5 * (low + high)
            if abs(following - b) <= 1e-10 * b:
                b = following
                break
            b = following
        if up:
            duals[0, t] = 1.0 - b
            duals[1, t] = mu / b
            duals[2, t] = mu / (1.0 - b)
        else:
            duals[0, t] = b
            duals[1, t] = mu / (1.0 - b)
            duals[2, t] = mu / b


@njit
def _eliminate(margins, tau, tau_step, w, w_step, g, cap, duals, k, rp):
    total = 0.0
    finite = cap < np.inf
    for t in range(margins.size):
        a = duals[0, t]
        s = duals[2, t]
        q = g + s / a
        r = tau[t * tau_step] - margins[t] - g * a + s
        product = s * a
        if finite:
            xi = duals[1, t]
            q += xi / (cap - a)
            r -= xi
            product += xi * (cap - a)
        weight = w[t * w_step]
        k[t] = weight / q
        rp[t] = r
        total += weight * product
    return total


@njit
def _targets(duals, cap, mu, targets):
    finite = cap < np.inf
    for t in range(duals.shape[1]):
        targets[0, t] = mu - duals[1, t] * (cap - duals[0, t]) if finite else 0.0
        targets[1, t] = mu - duals[2, t] * duals[0, t]


@njit
def _second_order(direction, cap, targets):
    finite = cap < np.inf
    for t in range(direction.shape[1]):
        if finite:
            targets[0, t] += direction[0, t] * direction[1, t]
        targets[1, t] -= direction[0, t] * direction[2, t]


@njit
def _corrector(duals, direction, cap, step, mu, targets):
    finite = cap < np.inf
    low = 0.1 * mu
    high = 10.0 * mu
    for t in range(direction.shape[1]):
        a = duals[0, t] + step * direction[0, t]
        if finite:
            v = (cap - a) * (duals[1, t] + step * direction[1, t])
            targets[0, t] += max(min(max(v, low), high) - v, -high)
        v = a * (duals[2, t] + step * direction[2, t])
        targets[1, t] += max(min(max(v, low), high) - v, -high)


@njit
def _values(duals, rp, targets, k, cap, values):
    finite = cap < np.inf
    for t in range(rp.size):
        a = duals[0, t]
        r = rp[t] + targets[1, t] / a
        if finite:
            r -= targets[0, t] / (cap - a)
        values[t] = k[t] * r


@njit
def _direction(duals, rp, targets, k, w, w_step, dm, values, cap, direction):
    """Fill the direction; return the largest step, and how the complementarity changes with it."""
    finite = cap < np.inf
    ratio = 0.0  # 1/step
    c1 = 0.0
    c2 = 0.0
    for t in range(dm.size):
        a = duals[0, t]
        s = duals[2, t]
        weight = w[t * w_step]
        da = (values[t] - k[t] * dm[t]) / weight
        ds = (targets[1, t] - s * da) / a
        direction[0, t] = da
        direction[2, t] = ds
        ratio = max(ratio, -da / a, -ds / s)
        first = s * da + a * ds
        second = da * ds
        dxi = 0.0
        if finite:
            xi = duals[1, t]
            room = cap - a
            dxi = (targets[0, t] + xi * da) / room
            ratio = max(ratio, da / room, -dxi / xi)
            first += room * dxi - xi * da
            second -= da * dxi
        direction[1, t] = dxi
        c1 += weight * first
        c2 += weight * second
    return (1.0 / ratio if ratio > 0.0 else np.inf), c1, c2
