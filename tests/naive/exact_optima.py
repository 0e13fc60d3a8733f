"""Regions and problems whose extremes and optima are known exactly: cones, all-linear problems,
references of ranges.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import safescreen as ss
from naive.dyadic import Dyadic, Surd, dot, dyadic
from naive.exact_rules import orthant
from naive.exact_scenes import Family, family, pair_elements, points_of

__all__ = [
    "all_linear",
    "commuting",
    "cone_point",
    "next_up",
    "orthant_scene",
    "range_reference",
    "whole_rotation",
]


def next_up(square):
    """Return a float that is at least the root of an exact number, and next to it."""
    r = float(-Surd(0.0 * square, square).nearest())
    while (dyadic(r) * r < square).any():
        r = float(np.nextafter(r, np.inf))
    return r


def orthant_scene(rng, data):
    """Return ``(family, ball, low, high)`` of triplets with a diagonal metric, or None where
    ball and orthant do not meet.
    """
    f = family("diagonal", data, rng)
    shape = f.terms.cone.shape
    if data == "integers":
        Q, r = rng.integers(-4, 7, shape) * 1.0, float(rng.choice([3, 5, 13]))
    else:
        Q = rng.normal(size=shape) + rng.choice([-0.5, 0.5, 3.0])
        if data in ("mixed", "extreme"):
            Q *= 10.0 ** rng.uniform(-4, 4, shape)
        minus = float(np.linalg.norm(np.minimum(Q, 0.0)))
        r = minus * (1.0 + float(rng.choice([1e-6, 0.03, 0.5]))) + float(
            rng.choice([0.0, 1e-3, 0.5])
        ) * float(np.linalg.norm(Q))
    low, high = (orthant(g * f.A, dyadic(Q), dyadic(r)) for g in (1.0, -1.0))
    return None if low is None else (f, ss.Sphere(Q, r, f.terms.cone.split(Q)[1]), low, high)


def whole_rotation(rng, d, layers=3):
    """Return an integer matrix U with ``U'U = 25**layers`` times the identity: products of
    rotations by (3, 4) and (4, 3).
    """
    U = np.eye(d, dtype=np.int64)
    for _ in range(layers):
        G, order = 5 * np.eye(d, dtype=np.int64), rng.permutation(d)
        for p, q in zip(order[::2], order[1::2], strict=False):
            c, s = rng.permutation([3, 4])
            G[p, p], G[p, q], G[q, p], G[q, q] = c, s, -s, c
        U = G @ U
    return U


def commuting(rng, d):
    """Return ``(X, ball, low, high)``: a triplet ``s^2 e e' - t^2 f f'`` and a center with the same
    eigenvectors, rotated, all integers.

    Averaging over the signs of the eigenvectors leaves a point in ball and cone, so that the
    minimum is the one over the orthant of eigenvalues. None where ball and cone do not meet."""
    layers = 3 if d < 10 else 2
    U, N = whole_rotation(rng, d, layers), 25**layers
    s, t = (int(v) for v in rng.integers(1, 12, 2))
    q = (
        rng.integers(-3, 9, d)
        if rng.random() < 0.7
        else rng.integers(0, 2 ** int(rng.integers(3, 20)), d)
    )
    X = np.array([0 * U[:, 0], t * U[:, 1], s * U[:, 0]]) + rng.integers(-9, 10, d)
    Q = (U * q) @ U.T
    scale = 2.0 ** int(rng.integers(-40, 40))
    eigen, level = np.zeros((1, d), dtype=np.int64), q * N
    eigen[0, 0], eigen[0, 1] = N * s * s, -N * t * t
    minus = float(np.linalg.norm(np.minimum(level, 0)))
    r = minus * (1.0 + float(rng.choice([1e-6, 0.05]))) + float(
        rng.choice([0.0, 1e-3, 0.3])
    ) * float(np.linalg.norm(level))
    r = float(np.ceil(r)) if rng.random() < 0.5 else r
    a, Qe = (Dyadic(v.astype(object)) for v in (eigen, level))
    low, high = (orthant(g * a, Qe * scale, dyadic(r * scale)) for g in (1.0, -1.0))
    return None if low is None else (X * 1.0, Q * scale, r * scale, low, high)


def cone_point(rng, data, d, sign):
    """Return ``(X, Q, r, surd)`` of a triplet: ``sign <a, x>`` at a point x of the cone on the
    sphere around Q, next to the minimum.

    x is ``[Q - t sign a]_K`` from computed eigenvectors, taken as the exact product of its computed
    factor; what is lost is of second order in the roundings. Any rule that claims more than its
    value is wrong."""
    X = points_of(data, rng, 9, d)[[8, 0, 4]]
    x = dyadic(X)
    A = pair_elements(x, [0], [2], [0], [1])[0]
    a = A.floats().reshape(d, d)
    B = rng.normal(size=(d, d if rng.random() < 0.6 else 1 + d // 2))
    if data == "mixed":
        B *= 10.0 ** rng.uniform(-4, 4, (d, 1))
    Q = B @ B.T
    if rng.random() < 0.5:
        v = rng.normal(size=d) * 10.0 ** rng.uniform(-4, 0) * np.sqrt(np.linalg.norm(Q) / d)
        Q -= np.outer(v, v)
    Q = 0.5 * (Q + Q.T)
    t = float(rng.choice([1e-3, 0.1, 0.5, 2.0])) * np.linalg.norm(Q) / np.linalg.norm(a)
    values, vectors = np.linalg.eigh(Q - sign * t * a)
    L = dyadic(vectors[:, values > 0.0] * np.sqrt(values[values > 0.0]))
    if L.n.shape[1] == 0:
        return None
    point = (L @ L.T).reshape(d * d)
    apart = point - dyadic(Q.ravel())
    r = next_up(dot(apart, apart))
    return X, Q, r, Surd(sign * dot(A, point).reshape(1), 0.0)


@dataclass
class Reference:
    """A problem with a reference (x, alpha) for lam0, and what its balls are made of, exactly:
    H, its parts, and the Fenchel terms.
    """

    family: Family
    problem: Any
    x: Any
    alpha: Any
    lam0: float
    H: Any
    plus: Any
    minus: Any
    phi: Any


def range_reference(rng, name, data):
    """Return a :class:`Reference` near the optimum, its Fenchel terms and ``<x, H_->`` not 0."""
    f = family(name, data, rng)
    T, shape = len(f.terms), f.terms.cone.shape
    gamma = float(rng.choice([0.0, 0.25, 0.5]))
    alpha = rng.choice([0.0, 1.0, 0.5, float(rng.uniform())], T)
    H = dot(f.A.T, dyadic(alpha))
    free = name != "diagonal"
    plus = H if free else H.positive()
    lam0 = float(rng.choice([1.0, 0.3, 7.0])) * float(f.terms.norms.max()) ** 2
    w = plus.floats().reshape(shape) / lam0
    noise = float(rng.choice([0.0, 1e-12, 1e-6, 1e-3, 1e-2]))
    x = w * (1.0 + noise * rng.normal(size=shape))
    if not free:
        x = np.where(
            x > 0.0,
            x,
            float(rng.choice([0.0, noise])) * float(np.abs(w).max()) * rng.uniform(size=shape),
        )
    m = f.products(x)
    size = f.terms.norms * float(np.linalg.norm(x))
    gap = (
        np.where(alpha == 1.0, 1.0, np.where(alpha == 0.0, -1.0, 0.0))
        * size
        * 10.0 ** rng.uniform(-3, 1, T)
    )
    tau = m.floats() + gamma * alpha + gap
    tau += np.where(rng.random(T) < 0.2, noise * size * rng.normal(size=T), 0.0)
    problem = ss.Problem(f.terms.with_threshold(tau), ss.SmoothedHinge(gamma))
    return Reference(f, problem, x, alpha, lam0, H, plus, plus - H, fenchel(m, tau, alpha, gamma))


def fenchel(m, tau, alpha, gamma):
    """Return ``sum_t loss(m_t) + loss*(-alpha_t) + alpha_t m_t`` exactly; gamma is 0 or a power
    of two.
    """
    slack, alpha = dyadic(tau) - m, dyadic(alpha)
    if gamma:
        best = (slack * (1.0 / gamma)).positive()
        best = 1.0 - (1.0 - best).positive()
        loss = best * (slack - best * (gamma / 2.0))
    else:
        loss = slack.positive()
    return (loss + alpha * alpha * (gamma / 2.0) - alpha * slack).sum()


def all_linear(rng, name, data, kink=False):
    """Return ``(family, problem, lam, H)`` with every alpha* = 1, so that ``lam x* = [H]_K``;
    `kink`: margins of x* are the thresholds.
    """
    f = family(name, data, rng)
    if kink:  # multiples of one integer vector
        z = rng.integers(1, 6, 3)
        rows = np.outer(rng.integers(1, 5, 8), z) * 1.0
        signs = np.where(np.arange(8) % 2, -1.0, 1.0)
        f = Family(ss.Samples(rows * signs[:, None], signs), dyadic(rows))
    H = f.A.sum(axis=0)
    plus = H if name != "diagonal" else H.positive()
    lam = (
        2.0 ** int(rng.integers(-3, 4))
        if kink
        else float(rng.choice([1.0, 0.3, 7.0])) * float(f.terms.norms.max()) ** 2
    )
    margins = f.products(plus).floats() / lam  # exact for the kink
    gamma = 0.0 if kink else float(rng.choice([0.0, 0.25, 0.3]))
    tau = margins if kink else margins + gamma + 4.0 * np.abs(margins).max()
    return f, ss.Problem(f.terms.with_threshold(tau), ss.SmoothedHinge(gamma)), lam, plus
