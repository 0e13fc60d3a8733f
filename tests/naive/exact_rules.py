"""Minima of ``<a, x>`` over the regions of the rules, from exact inner products; a maximum is minus
the minimum for ``-a``.

Every minimum is a :class:`~naive.dyadic.Surd`; which case of a formula applies is decided without
rounding, by squaring."""

from itertools import combinations

import numpy as np

from naive.dyadic import Dyadic, Surd, above_two_roots, dyadic, where

__all__ = [
    "ball",
    "halfspace",
    "orthant",
    "path_rule_holds",
    "relaxed_ball_rule_holds",
    "two_balls",
    "two_balls_meet",
]


def _at_most(G, nn, B):
    """Return whether ``G sqrt(nn) <= B``."""
    left, right = G * G * nn, B * B
    return np.where(G <= 0.0, (B >= 0.0) | (right <= left), (B >= 0.0) & (right >= left))


def ball(q, nn, r):
    """Over ``||x - Q|| <= r``: ``q = <a, Q>``, ``nn = ||a||^2``."""
    return Surd(q, nn * r * r)


def halfspace(q, nn, s, r, D, PP):
    """Over a ball and ``<P, x - Q> >= D``: ``s = <a, P>``, ``PP = ||P||^2``; they meet if ``D^2
    <= r^2 PP`` or ``D <= 0``.
    """
    # the ball's own minimiser, or an idle half-space
    own = _at_most(D, nn, -(s * r)) | (r * r * PP <= D * D)
    W = (r * r * PP - D * D) * (nn * PP - s * s)
    return Surd(where(own, q, q * PP + D * s), where(own, nn * r * r, W), where(own, 1.0, PP))


def two_balls_meet(DD, r1, r2):
    return bool((DD <= (r1 + r2) * (r1 + r2)).all())


def two_balls(q1, q2, nn, DD, r1, r2):
    """Over two balls with centers at the squared distance `DD` (three cases, SSS14 Theorem 8)."""
    A, G = q1 - q2, DD + r2 * r2 - r1 * r1
    first = _at_most(DD + r1 * r1 - r2 * r2, nn, r1 * A * 2.0)
    second = ~first & _at_most(G, nn, r2 * A * -2.0)
    N = where(first, q1, where(second, q2, DD * q2 * 2.0 + G * A))
    W = (DD * r2 * r2 * 4.0 - G * G) * (nn * DD - A * A)
    W = where(first, nn * r1 * r1, where(second, nn * r2 * r2, W))
    return Surd(N, W, where(first | second, 1.0, DD * 2.0))


def orthant(a, Q, r):
    """Over a ball and ``x >= 0``, one row of `a` after the other: ``x = max(Q - t a, 0)`` on the
    sphere; None where they do not meet.

    With F the coordinates that are not 0 and E the others, ``t^2 ||a_F||^2 = r^2 - ||Q_E||^2``, and
    the minimum is ``<a_F, Q_F>`` less the root of ``(r^2 - ||Q_E||^2) ||a_F||^2``. F is tried from
    the breaks of t, at last every F; that its x and multipliers have the right signs is decided
    exactly, and suffices."""
    Q, r = (Q - r * 0.0), (r + Q.sum() * 0.0)  # one exponent for both
    e = min(Q.e, r.e)
    level, radius = [int(v) << (Q.e - e) for v in Q.n], int(r.n) << (r.e - e)
    N, W = [], []
    for row in a.n:
        found = _orthant([int(v) for v in row], level, radius * radius)
        if found is None:
            return None
        N.append(found[0])
        W.append(found[1])
    return Surd(
        Dyadic(np.array(N, dtype=object), a.e + e), Dyadic(np.array(W, dtype=object), 2 * (a.e + e))
    )


def _orthant(a, Q, square):
    d = len(a)
    least = square - sum(v * v for v in Q if v < 0)
    if least < 0:
        return None
    if (
        min(a) >= 0
        and square - sum(v * v for v, k in zip(Q, a, strict=True) if k > 0 or v < 0) >= 0
    ):
        return 0, 0
    breaks = sorted({q / k for q, k in zip(Q, a, strict=True) if k and q / k > 0})
    middles = [
        0.0,
        *(
            (p + q) / 2
            for p, q in zip([0.0, *breaks], [*breaks, 2.0 * (breaks or [0.5])[-1]], strict=True)
        ),
        float("inf"),
    ]
    likely = ([k for k in range(d) if Q[k] - (t * a[k] if a[k] else 0) > 0] for t in middles)
    every = (F for size in range(d + 1) for F in combinations(range(d), size))
    for supports in (likely, every):
        for F in map(set, supports):
            room, reach = (
                square - sum(Q[k] ** 2 for k in range(d) if k not in F),
                sum(a[k] ** 2 for k in F),
            )
            if (
                reach > 0
                and room >= 0
                and all(_at_or_above(Q[k], a[k], room, reach, k in F) for k in range(d))
            ):
                return sum(a[k] * Q[k] for k in F), room * reach
    raise AssertionError("no support is optimal")


def _at_or_above(q, a, room, reach, inside):
    """Return whether ``q - t a >= 0`` (inside) or ``<= 0``, with ``t = sqrt(room/reach)``."""
    sign = 1 if inside else -1
    q, a = sign * q, sign * a
    if a <= 0:
        return q >= 0 or a * a * room >= q * q * reach
    return q >= 0 and a * a * room <= q * q * reach


def path_rule_holds(h, nn, mm, eps, lam0, lam, tau):
    """Whether the relaxed path bound's rule holds: ``h (lam + lam0) - 2 lam tau > n (m |lam -
    lam0| + 2 max(lam, lam0) eps)``.
    """
    lam0, lam = dyadic(lam0), dyadic(lam)
    apart, larger = where(lam >= lam0, lam - lam0, lam0 - lam), where(lam >= lam0, lam, lam0)
    return above_two_roots(
        h * (lam + lam0) - lam * tau * 2.0,
        nn * mm * apart * apart,
        nn * larger * larger * eps * eps * 4.0,
    )


def relaxed_ball_rule_holds(center, reach, extra, nn, tau, lam):
    """Return whether ``center - tau lam > n (sqrt(reach) + sqrt(extra))``; everything but tau is
    multiplied by lam.
    """
    return above_two_roots(center - tau * lam, nn * reach, nn * extra)
