"""Extreme values of linear functions over small regions, from the definitions, in 60-digit
arithmetic.

Inputs are floats and stand for themselves, exactly. Every function returns a minimum; a maximum is
minus the minimum for ``-a``."""

import mpmath
from mpmath import mpf
from mpmath.libmp import from_float, mpf_mul, mpf_sum

mpmath.mp.dps = 60


def exact(values):
    """Return floats as a list of exact numbers."""
    return [mpmath.mp.make_mpf(from_float(float(v))) for v in values]


def dot(x, y):
    """Return the sum of the exact products, rounded once (`mpmath.fdot`, but for what it asks)."""
    pairs = zip(map(mpmath.mp.convert, x), map(mpmath.mp.convert, y), strict=True)
    products = [mpf_mul(p._mpf_, q._mpf_) for p, q in pairs]
    return mpmath.mp.make_mpf(mpf_sum(products, mpmath.mp.prec, "n"))


def norm(x):
    return mpmath.sqrt(dot(x, x))


def negative(a):
    return [-v for v in a]


def triplet(X, i, j, m):
    """Return ``(x_i - x_m)(x_i - x_m)' - (x_i - x_j)(x_i - x_j)'`` row by row, as one exact
    list.
    """
    xi, xj, xm = exact(X[i]), exact(X[j]), exact(X[m])
    u, v = (
        [p - q for p, q in zip(xi, xm, strict=True)],
        [p - q for p, q in zip(xi, xj, strict=True)],
    )
    return [p * q - s * t for p, s in zip(u, v, strict=True) for q, t in zip(u, v, strict=True)]


def over_ball(a, Q, r):
    return dot(a, Q) - r * norm(a)


def over_halfspace(a, Q, r, P, b):
    """Minimum over a ball and a half-space ``<P, x> >= b``; None if they do not meet."""
    n, length = norm(a), norm(P)
    if length == 0:
        return over_ball(a, Q, r) if b <= 0 else None
    delta, s = (b - dot(P, Q)) / length, dot(a, P) / length
    if delta > r:
        return None
    if delta <= -r or n == 0 or -r * s >= delta * n:
        return over_ball(a, Q, r)
    return dot(a, Q) + delta * s - mpmath.sqrt(r**2 - delta**2) * mpmath.sqrt(max(n**2 - s**2, 0))


def over_two_balls(a, Q1, r1, Q2, r2):
    """Minimum over two balls (three cases of SSS14 Theorem 8, told apart by where the minimisers
    lie); None if they do not meet.
    """
    phi, n = [p - q for p, q in zip(Q1, Q2, strict=True)], norm(a)
    D = norm(phi)
    if D > r1 + r2:
        return None
    if n == 0:
        return mpf(0)
    minimisers = [
        [q - r * v / n for q, v in zip(Q, a, strict=True)] for Q, r in ((Q1, r1), (Q2, r2))
    ]
    for x, Q, r in ((minimisers[0], Q2, r2), (minimisers[1], Q1, r1)):
        if norm([p - q for p, q in zip(x, Q, strict=True)]) <= r * (1 + mpf(10) ** -50):
            return dot(a, x)
    zeta = (D**2 + r2**2 - r1**2) / (2 * D)
    psi = [q + zeta * p / D for q, p in zip(Q2, phi, strict=True)]
    across = mpmath.sqrt(max(n**2 - (dot(a, phi) / D) ** 2, 0))
    return dot(a, psi) - mpmath.sqrt(max(r2**2 - zeta**2, 0)) * across


def distance_to_orthant_cut(a, Q, C):
    """Smallest ``||x - Q||^2`` over ``x >= 0, <a, x> >= C``, by trying every support; inf if
    there is no such point.
    """
    best, d = mpmath.inf, len(Q)
    for bits in range(2**d):
        free = [k for k in range(d) if bits >> k & 1]
        base = [Q[k] if k in free else mpf(0) for k in range(d)]
        points = [base]
        square = dot([a[k] for k in free], [a[k] for k in free])
        if square > 0:
            y = (C - dot(a, base)) / square
            points.append([base[k] + (y * a[k] if k in free else 0) for k in range(d)])
        for x in points:
            slack = mpf(10) ** -50 * (1 + abs(C))
            if min(x) >= -slack and dot(a, x) >= C - slack:
                best = min(
                    best,
                    dot(
                        [p - q for p, q in zip(x, Q, strict=True)],
                        [p - q for p, q in zip(x, Q, strict=True)],
                    ),
                )
    return best
