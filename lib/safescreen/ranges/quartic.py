"""Compiled ends of ranges: lower bounds of the first root of a quartic. The root is approached from
the side on which the quartic is positive, and never passed.

Let ``t = lam0/lam``. Every ball of :mod:`safescreen.ranges.general` has the radius ``sqrt(q(t)) + f
sqrt(t)``, where q is a quadratic, and gives the rule ``A + B t - n f sqrt(t) > n sqrt(q(t))``. For
falling t (rising lam) put ``u = sqrt(t)``. For rising t put ``u = 1/sqrt(t)`` and multiply the rule
by ``u^2``. In both cases the rule is ``g(u) > n sqrt(Q(u))``, which compares a quadratic with the
root of a quartic, and u runs from 1 down to 0.

In ``z = 1 - u`` the rule holds from ``z = 0`` to the first root of ``p(z) = g^2 - n^2 Q``: while p
is positive, neither ``g - n sqrt(Q)`` nor ``g + n sqrt(Q)`` can change its sign. Since ``z >= 0``,
a polynomial with smaller coefficients is a lower bound. So all roundings are subtracted from the
coefficients, and the root of the polynomial that remains is approached from the left only.
"""

from typing import NamedTuple

import numpy as np

from safescreen._numba import njit
from safescreen.rounding import FLOOR, UNIT

STEPS = 60


class MovingRadius(NamedTuple):
    """Radius of a ball as a function of ``t = lam0/lam``. All lengths are divided by `scale`, a
    power of two.

    Attributes
    ----------
    form : tuple of float
        ``(q0, up1, up2, down1, down2, f)`` stands for ``sqrt(q(t)) + f sqrt(t)``. With
        ``y = 1 - t`` the square ``q(t)`` is ``q0 + up1 y + up2 y^2``. With ``y = 1 - 1/t`` the
        square divided by ``t^2`` is ``q0 + down1 y + down2 y^2``.
    steady, rising : float
        The radius is enlarged by ``steady + rising t`` for the errors of x and w.
    scale : float
    """

    form: tuple
    steady: float
    rising: float
    scale: float


@njit
def _root(p, n1, n2, n3, n4, h):
    """Return the root of ``N(h) = p - n1 h - n2 h^2 - n3 h^3 - n4 h^4`` up to roundings, or the
    given h if that is smaller. p is positive, and all n are non-negative.

    N falls and is concave, so Newton's steps stay to the right of the root. They start where no
    single power exceeds p, so that ``N >= -3 p`` there; six steps reach the root. The caller goes
    back a little and checks N there.
    """
    if n1 > 0.0:
        h = min(h, p / n1)
    if n2 > 0.0:
        h = min(h, np.sqrt(p / n2))
    if n3 > 0.0:
        h = min(h, np.cbrt(p / n3))
    if n4 > 0.0:
        h = min(h, np.sqrt(np.sqrt(p / n4)))
    for _ in range(6):
        value = p - h * (n1 + h * (n2 + h * (n3 + h * n4)))
        if value >= 0.0:
            break
        h += value / (n1 + h * (2.0 * n2 + h * (3.0 * n3 + h * 4.0 * n4)))
    return h


@njit
def _around(d0, d1, d2, d3, d4, z):
    """Return lower bounds of the coefficients of ``d0 + d1 (z + h) + ... + d4 (z + h)^4`` as a
    polynomial in h, except the last coefficient, which is d4.

    A coefficient is rounded by at most 9 units of the sum of the absolute values of its terms; 16
    units are subtracted.
    """
    e1, e2, e3, e4 = abs(d1), abs(d2), abs(d3), abs(d4)
    p0 = d0 + z * (d1 + z * (d2 + z * (d3 + z * d4)))
    p0 -= 16.0 * UNIT * (d0 + z * (e1 + z * (e2 + z * (e3 + z * e4))))
    p1 = d1 + z * (2.0 * d2 + z * (3.0 * d3 + z * 4.0 * d4))
    p1 -= 16.0 * UNIT * (e1 + z * (2.0 * e2 + z * (3.0 * e3 + z * 4.0 * e4)))
    p2 = d2 + z * (3.0 * d3 + z * 6.0 * d4) - 16.0 * UNIT * (e2 + z * (3.0 * e3 + z * 6.0 * e4))
    p3 = d3 + z * 4.0 * d4 - 16.0 * UNIT * (e3 + z * 4.0 * e4)
    return p0, p1, p2, p3


@njit
def _is_positive(p, n1, n2, n3, n4, h):
    """Return whether ``p - n1 h - n2 h^2 - n3 h^3 - n4 h^4`` is positive, including rounding and an
    error of a few units in h. p is positive, and all n are non-negative.
    """
    loss = h * (n1 + h * (n2 + h * (n3 + h * n4))) + FLOOR
    return p - loss > 32.0 * UNIT * (p + loss)


@njit
def first_root(d0, d1, d2, d3, d4):
    """Return a z in [0, 1], as large as roundings allow, with ``d0 + d1 z + ... + d4 z^4 > 0``
    everywhere on ``[0, z]``; ``d0 > 0`` is needed.

    At each point z the polynomial is written in ``h = z' - z >= 0``. Without its positive
    coefficients of powers of h it is a decreasing lower bound, whose root is the next point. Near a
    simple root this is Newton's method. The result is nan if a coefficient is not finite.
    """
    z = 0.0
    if not np.isfinite(d0 + d1 + d2 + d3 + d4):
        return np.nan
    n4 = max(-d4, 0.0)
    for _ in range(STEPS):
        p0, p1, p2, p3 = _around(d0, d1, d2, d3, d4, z)
        if not p0 > FLOOR:
            break
        n1, n2, n3 = max(-p1, 0.0), max(-p2, 0.0), max(-p3, 0.0)
        rest = 1.0 - z
        if _is_positive(p0, n1, n2, n3, n4, rest):
            return 1.0
        h = _root(p0, n1, n2, n3, n4, rest) * (1.0 - 2e-14) - 4.0 * UNIT * z
        new = z + h
        step = (new - z) * (1.0 + 8.0 * UNIT)
        if not (new > z and _is_positive(p0, n1, n2, n3, n4, step)):
            break
        z = new
        if step < 1e-15 * z:
            break
    return z


@njit
def _below(s, size, r):
    """Return a lower bound of ``s - r``. s has an error of at most 6 units of `size`, and r of at
    most 6 units of itself, including the rounding of the difference; 8 units are subtracted.
    """
    return s - r - (8.0 * UNIT * (size + abs(r)) + FLOOR)


@njit
def _coefficients(a, nn, r):
    """Return lower bounds of the coefficients of ``(a0 + a1 z + a2 z^2)^2 - nn (r0 + r1 z + ... +
    r4 z^4)``, whose numbers have each been rounded once.
    """
    a0, a1, a2 = a
    r0, r1, r2, r3, r4 = r
    s1 = 2.0 * a0 * a1
    s3 = 2.0 * a1 * a2
    d0 = _below(a0 * a0, a0 * a0, nn * r0)
    d1 = _below(s1, abs(s1), nn * r1)
    d2 = _below(a1 * a1 + 2.0 * a0 * a2, a1 * a1 + 2.0 * a0 * abs(a2), nn * r2)
    d3 = _below(s3, abs(s3), nn * r3)
    d4 = _below(a2 * a2, a2 * a2, nn * r4)
    return d0, d1, d2, d3, d4


@njit
def _least_t(g0, g1, n, q0, q1, q2, f):
    """Return the smallest ``u^2``, as far as it is proved and up to 3 units, such that ``g > n
    sqrt(Q)`` holds from u to 1; nan if the inequality fails at 1.

    ``g = g0 + g1 y - n f (1 - z)`` is a lower bound and ``Q = q0 + q1 y + q2 y^2`` an upper bound,
    with ``y = 1 - u^2 = 2 z - z^2``. If f is 0, everything is quadratic in y.

    A larger f makes g smaller everywhere on ``[0, 1]``, so a single number ``nf >= n f`` serves in
    both coefficients of g. Then ``n^2`` and each coefficient of g and Q are rounded once, relative
    to themselves.
    """
    nn = n * n + FLOOR
    if f == 0.0:
        a0 = g0
        a1 = g1
        a2 = 0.0
        r0 = q0
        r1 = q1
        r2 = q2
        r3 = 0.0
        r4 = 0.0
    else:
        nf = n * f * (1.0 + 4.0 * UNIT) + FLOOR
        a0 = g0 - nf
        a1 = 2.0 * g1 + nf
        a2 = -g1
        r0 = q0
        r1 = 2.0 * q1
        r2 = 4.0 * q2 - q1
        r3 = -4.0 * q2
        r4 = q2
    if not a0 > 0.0:
        return np.nan
    d0, d1, d2, d3, d4 = _coefficients((a0, a1, a2), nn, (r0, r1, r2, r3, r4))
    if not d0 > 0.0:
        return np.nan
    complement = 1.0 - first_root(d0, d1, d2, d3, d4)
    return complement if f == 0.0 else complement * complement


@njit
def _interval(A, B, n, form, lam0):
    """Return the open interval around lam0 on which ``A + B t`` is above ``n`` radii; (nan, nan) if
    it is not above at lam0.
    """
    q0, up1, up2, down1, down2, f = form
    # this rounding error does not shrink with t, and ``g0 - n f`` may be no larger than it
    g0 = A + B - 4.0 * UNIT * abs(A + B)
    least_up = _least_t(g0, -B, n, q0, up1, up2, f)
    least_down = _least_t(g0, -A, n, q0, down1, down2, f)
    low = lam0 * least_down * (1.0 + 8.0 * UNIT)
    high = np.inf if least_up == 0.0 else lam0 / least_up * (1.0 - 8.0 * UNIT)
    if low < lam0 and lam0 < high:  # false if one of them is nan
        return low, high
    return np.nan, np.nan


@njit
def ball_interval_kernel(at_x, at_w, norms, shares, radius, lam0, thresholds, ends):
    """Write both ends of both intervals of consecutive terms into the rows ``L_low, L_high, R_low,
    R_high`` of `ends`, shape (4, T).

    The center of the ball is ``share_A x + share_B t w``. share_A is 1 or 1/2 and share_B is 0 or
    1/2; both are exact. `at_x` and `at_w` are the margins of the terms at x and at w; `at_w` is not
    read if ``share_B = 0``.
    """
    h, h_errors = at_x
    k, k_errors = at_w
    share_A, share_B = shares
    form, steady, rising, scale = radius
    low, high, step = thresholds
    for t in range(h.size):
        a, b = low[t * step], high[t * step]
        n = norms[t] * scale
        A = share_A * h[t]
        A_error = share_A * h_errors[t] + n * steady
        B = 0.0
        B_error = n * rising
        if share_B > 0.0:
            B = share_B * k[t]
            B_error = share_B * k_errors[t] + n * rising
        A_error += 8.0 * UNIT * (abs(A) + A_error + abs(a) + abs(b)) + FLOOR
        B_error += 8.0 * UNIT * (abs(B) + B_error) + FLOOR
        ends[0, t], ends[1, t] = _interval(a - A - A_error, -B - B_error, n, form, lam0)
        ends[2, t], ends[3, t] = _interval(A - b - A_error, B - B_error, n, form, lam0)
