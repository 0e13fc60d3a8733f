"""Ends of ranges by their definition, in exact arithmetic: polynomials and numbers alone, no terms.

First the parts that the others are made of, each a bound to the safe side that is not far away.
"""

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from safescreen.ranges import quartic
from safescreen.ranges.quartic import (
    MovingRadius,
    _around,
    _coefficients,
    _interval,
    _is_positive,
    _least_t,
    _root,
    ball_interval_kernel,
    first_root,
)
from safescreen.rounding import FLOOR, UNIT
from safescreen.terms.base import Margins, Thresholds

U = Fraction(UNIT)


def value(coefficients, z):
    """Return a polynomial at z, exactly; the constant comes first."""
    return sum(Fraction(d) * Fraction(z) ** k for k, d in enumerate(coefficients))


def some(rng, size):
    """Return numbers of either sign and of many sizes, some of them 0."""
    numbers = rng.choice([-1.0, 1.0], size) * 2.0 ** rng.uniform(-3.0, 3.0, size)
    return np.where(rng.uniform(size=size) < 0.4, 0.0, numbers)


# ------------------------------------------------------------------ bounds of coefficients


def test_a_polynomial_around_another_point():
    """Below the coefficients of ``p(z + h)`` in h, by not many units of the sizes of their sums;
    of fewer where there is one term alone.
    """
    rng = np.random.default_rng(0)
    for trial in range(700):
        d = some(rng, 5)
        d[0] = abs(d[0])
        if trial % 3 == 0:
            d = np.where(np.arange(5) == rng.integers(5), rng.uniform(1.0, 1.1), 0.0)
            d[1:] *= rng.choice([-1.0, 1.0])
        z = float(rng.choice([0.0, 1.0, 0.5 * rng.uniform(1.0, 1.1), *rng.uniform(size=4)]))
        alone = np.count_nonzero(d) == 1
        for k, low in enumerate(_around(*d.tolist(), z)):
            terms = [comb(j, k) * Fraction(d[j]) * Fraction(z) ** (j - k) for j in range(k, 5)]
            size = sum(map(abs, terms))
            assert low <= sum(terms), (d, z, k)
            assert low >= sum(terms) - (Fraction(41, 2) if alone else 26) * U * size, (d, z, k)


def test_coefficients_of_a_square_less_another_polynomial():
    """Every number may be rounded once, and a product of two has two of such roundings."""
    rng = np.random.default_rng(1)
    for trial in range(700):
        a = some(rng, 3)
        a[0] = abs(a[0])
        nn, r = float(rng.uniform(1.0, 4.0)), some(rng, 5)
        exact = [Fraction(v) for v in a]
        squares = [exact[0] ** 2, 2 * exact[0] * exact[1], exact[1] ** 2 + 2 * exact[0] * exact[2]]
        squares += [2 * exact[1] * exact[2], exact[2] ** 2]
        sizes = [*map(abs, squares)]
        sizes[2] = exact[1] ** 2 + abs(2 * exact[0] * exact[2])
        if trial % 2:  # the difference is a few units
            r = np.array([float(s) / nn for s in squares])
        for k, low in enumerate(_coefficients(tuple(a.tolist()), nn, tuple(r.tolist()))):
            other = Fraction(nn) * Fraction(r[k])
            units = U * (sizes[k] + abs(other))
            assert low <= squares[k] - other - 2 * units, (a, nn, r, k)
            assert low >= squares[k] - other - 13 * units - 2 * Fraction(FLOOR), (a, nn, r, k)


# ------------------------------------------------------------------ falling polynomials


def test_what_is_called_positive_is_and_what_is_clearly_positive_is_called_so():
    """For all h that are larger by up to ten units."""
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(2000):
        n = np.abs(some(rng, 4))
        h = float(rng.choice([1.0, 2.0 ** -rng.uniform(0.0, 20.0)]))
        loss = value([0.0, *n], h)
        if loss == 0:
            continue
        p = float(loss * (1 + U * int(rng.integers(-20, 200))))
        got = _is_positive(p, *n.tolist(), h)
        assert not got or Fraction(p) > value([0.0, *n], Fraction(h) * (1 + 10 * U))
        assert got or Fraction(p) < loss * (1 + 90 * U)
        called += got
    assert 400 < called < 1400
    assert _is_positive(1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert not _is_positive(0.99 * FLOOR, 0.0, 0.0, 0.0, 0.0, 1.0)


def test_newtons_steps_reach_the_root():
    """From the right, up to what whoever asks goes back."""
    beyond = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        p, *n = (10.0 ** rng.uniform(-8, 8, 5)).tolist() if seed else (1.0, 1.0, 1.0, 1.0, 1.0)
        for k in np.flatnonzero(rng.uniform(size=4) < 0.5):
            n[k] = 0.0
        h = _root(p, *n, 1e3)
        falls = [p, *(-v for v in n)]
        assert value(falls, Fraction(h) * (1 - Fraction(2, 10**14))) >= 0
        assert h == 1e3 or value(falls, Fraction(h) * (1 + Fraction(2, 10**14))) <= 0
        beyond += h < 1e3
    assert beyond > 150


# ------------------------------------------------------------------ first roots


@pytest.mark.parametrize("kind", range(4))
def test_first_root_against_all_roots(kind):
    rng = np.random.default_rng(kind)
    for _ in range(25):
        if kind == 0:
            d = rng.normal(size=5)
        elif kind == 1:
            d = rng.normal(size=5) * 10.0 ** rng.uniform(-12, 0, 5)
        elif kind == 2:
            d = np.poly([*rng.uniform(0.0, 1.5, 2), *rng.normal(size=2)])[::-1]
        else:  # nearly a double root
            root = rng.uniform(0.2, 0.9)
            d = np.poly([root, root + 1e-6, 1.5, -0.3])[::-1]
        d = d * np.sign(d[0])
        z = first_root(*d)
        roots = mpmath.polyroots([mpf(float(v)) for v in d[::-1]], maxsteps=300, extraprec=200)
        roots = [
            mpmath.re(r)
            for r in roots
            if abs(mpmath.im(r)) < mpf(10) ** -30 and 0 < mpmath.re(r) <= 1
        ]
        first = min(roots, default=mpf(1))
        assert first * (1 - mpf(10) ** -6) <= z <= first
    assert np.isnan(first_root(1.0, np.inf, 0.0, 0.0, 0.0))


def test_the_root_of_a_polynomial_that_falls():
    """Up to a few units, whichever coefficients there are; positive at what is returned."""
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(500):
        d = -np.abs(some(rng, 5))
        d[0] = 2.0 ** rng.uniform(-30.0, 2.0)
        z = first_root(*d.tolist())
        assert 0.0 < z <= 1.0 and value(d, z) > 0
        assert z == 1.0 or value(d, Fraction(z) * (1 + Fraction(1, 10**13))) < 0
        below += z < 1.0
    assert below > 250


def test_a_root_among_cancelling_terms():
    """Positive at what is returned, and no sign changes before."""
    rng = np.random.default_rng(4)
    below = 0
    for _ in range(500):
        d = some(rng, 5)
        d[0] = 2.0 ** rng.uniform(-6.0, 2.0)
        d *= float(rng.choice([1.0, 2.0**20])) ** np.arange(5)
        z = first_root(*d.tolist())
        roots = np.roots(np.trim_zeros(d[::-1], "f"))
        real = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0)]
        first = min([1.0, *real])
        assert value(d, z) > 0 and z <= first * (1.0 + 1e-7)
        assert z >= first * (1.0 - 1e-6), d
        below += z < 1.0
    assert below > 200


def test_a_root_that_is_too_far_is_not_believed(monkeypatch):
    """Each step is checked, wherever it comes from."""
    plain = getattr(first_root, "py_func", first_root)
    d = (1.0, -1.0, -1.0, 0.5, -2.0)
    for far in (1.5, 1.0 + 1e-12):
        with monkeypatch.context() as patch:
            patch.setattr(quartic, "_root", lambda *numbers, far=far: far * _root(*numbers))
            z = plain(*d)
        assert 0.0 <= z <= 0.5 and value(d, z) > 0


# ------------------------------------------------------------------ ends


def ball(rng):
    """Return the square of a radius, ``c0 + c1 t + c2 t^2 > 0``, as three numbers whose sums are
    exact.
    """
    c0, c2 = (rng.integers(1, 65, 2) / 64.0).tolist()
    return c0, float(rng.integers(-64, 65)) / 64.0 * min(c0, c2), c2


def margin(A, B, n, square, f, lam0, lam):
    """Return ``A + B t - n f sqrt(t) - n sqrt(square(t))`` for ``t = lam0/lam``, in many digits."""
    t = Fraction(lam0) / Fraction(lam)
    t = mpf(t.numerator) / t.denominator
    c0, c1, c2 = map(mpf, square)
    radius = mpmath.sqrt(max(c0 + c1 * t + c2 * t**2, mpf(0))) + mpf(f) * mpmath.sqrt(t)
    return mpf(A) + mpf(B) * t - mpf(n) * radius


@pytest.mark.parametrize("f", [0.0, 0.25])
def test_ends_are_where_the_rule_stops_to_hold(f):
    """In both directions, to the last digits, and the rule does not hold a little further."""
    rng = np.random.default_rng(5)
    ends = infinite = without = 0
    for _ in range(350):
        A, B = (rng.integers(-64, 128, 2) / 16.0).tolist()
        n, lam0 = float(rng.uniform(0.25, 2.0)), float(2.0 ** rng.uniform(-2.0, 2.0))
        c0, c1, c2 = ball(rng)
        form = (c0 + c1 + c2, -c1 - 2.0 * c2, c2, -c1 - 2.0 * c0, c0, f)
        low, high = _interval(A, B, n, form, lam0)
        rule = (A, B, n, (c0, c1, c2), f, lam0)
        if np.isnan(low):
            assert np.isnan(high) and margin(*rule, lam0) < 1e-12
            without += 1
            continue
        assert low < lam0 < high
        for end, outward in ((low, -1), (high, 1)):
            if end in (0.0, np.inf):
                assert margin(*rule, Fraction(10) ** (20 * outward)) > 0
                infinite += 1
                continue
            end = Fraction(end)
            for share in (0, Fraction(1, 10), Fraction(1, 2)):
                assert margin(*rule, end + share * (Fraction(lam0) - end)) > 0
            assert margin(*rule, end * (1 + outward * Fraction(1, 10**6))) < 1e-9
            ends += 1
    assert ends > 100 and infinite > 20 and without > 20


def test_a_norm_whose_square_underflows():
    """Is as large as a margin if the radius is large enough."""
    for g, holds in ((1e-13, False), (0.9e-10, False), (2.0, True)):
        assert np.isnan(_least_t(g, 0.0, 1e-160, 1e300, 0.0, 0.0, 0.0)) != holds


def test_sums_of_margins_are_rounded():
    """Of a margin that is an enlargement and a few units little is left for the radius."""
    rng = np.random.default_rng(6)
    above = 0
    for _ in range(2000):
        n, f = rng.uniform(1.0, 1.4, 2).tolist()
        A = 0.5 * n * f * (1.0 + 1e-6 * float(rng.uniform(-1.0, 1.0)))  # least at lam0
        B = n * f * (1.0 + 2.0**-53 * int(rng.integers(-8, 24))) - A
        r = 2.0**-53 * float(rng.uniform(0.0, 8.0))
        low, _ = _interval(A, B, n, (r * r, 0.0, 0.0, 0.0, 0.0, f), 1.0)
        rest = Fraction(A) + Fraction(B) - Fraction(n) * Fraction(f)
        exactly = rest > 0 and rest**2 > Fraction(n) ** 2 * Fraction(r * r)
        assert exactly or np.isnan(low)
        above += not np.isnan(low)
    assert 200 < above < 1800


@pytest.mark.parametrize("shares", [(1.0, 0.0), (0.5, 0.5)])
def test_intervals_of_terms(shares):
    """With all errors in the bad direction, beyond the threshold of the side, in the unit of the
    lengths; with thresholds of each term or of all.
    """
    rng = np.random.default_rng(7)
    lam0, scale, T = 1.5, 8.0, 60
    known = 0
    for step in (0, 1):
        h, k, low = rng.integers(-64, 65, (3, T)) / 8.0
        norms = rng.integers(1, 9, T) / 16.0
        h_errors, k_errors = rng.integers(0, 8, (2, T)) / 64.0
        if shares[1] == 0.0:  # what is not there is not read
            k[:] = k_errors[:] = np.nan
        if step == 0:
            low[:] = 0.5
        high = low + 1.0
        c0, c1, c2 = 1.0 / 64.0, -1.0 / 64.0, 1.0 / 32.0
        steady, rising, f = 1.0 / 128.0, 1.0 / 64.0, 1.0 / 32.0
        form = (c0 + c1 + c2, -c1 - 2.0 * c2, c2, -c1 - 2.0 * c0, c0, f)
        ends = np.empty((4, T))
        limits = (low, high) if step else (low[:1], high[:1])
        margins = Margins(h, h_errors), Margins(k, k_errors)
        radius = MovingRadius(form, steady, rising, scale)
        thresholds = Thresholds(*limits, step)
        ball_interval_kernel(*margins, norms, shares, radius, lam0, thresholds, ends)
        for t in range(T):
            n = scale * norms[t]
            A, A_error = shares[0] * h[t], shares[0] * h_errors[t] + n * steady
            B, B_error = 0.0, n * rising
            if shares[1] > 0.0:
                B, B_error = shares[1] * k[t], shares[1] * k_errors[t] + n * rising
            for row, sign, limit in ((0, -1.0, low[t]), (2, 1.0, high[t])):
                sides = (sign * (A - limit) - A_error, sign * B - B_error)
                least, most = ends[row : row + 2, t]
                expected = _interval(*sides, n, form, lam0)
                np.testing.assert_allclose((least, most), expected, rtol=1e-11)
                for end in (least, most):
                    if 0.0 < end < np.inf:
                        assert margin(*sides, n, (c0, c1, c2), f, lam0, end) > 0
                known += not np.isnan(least)
    assert known > 40


# ------------------------------------------------------------------ each allowance for rounding


@pytest.mark.parametrize("enlarged", [False, True])
def test_radii_a_few_ulps_from_the_margin(enlarged):
    """Margin and radius at lam0 differ by rounding alone: the exact difference says whether
    anything is certain.
    """
    rng, decided, wrong = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        n, f = (
            rng.uniform([0.5, 0.5], [2.0, 1.0]).tolist()
            if enlarged
            else (float(rng.uniform(0.5, 2.0)), 0.0)
        )
        # what is left of g0 - n f is a few ulps, and the rest of the radius is nearly as much
        if enlarged:
            ulp, k = np.spacing(n * f), int(rng.integers(1, 40))
            g0, q0 = (
                n * f + k * ulp,
                float(((k - rng.uniform() * rng.choice([1.0, k])) * ulp / n) ** 2),
            )
        else:
            g0 = float(rng.uniform(1.0, 2.0))
            q0 = g0 * g0 / (n * n) * (1.0 - 2.0**-53 * rng.integers(-6, 40))
        holds = not np.isnan(_least_t(g0, 0.0, n, q0, 0.0, 0.0, f))
        rest = Fraction(g0) - Fraction(n) * Fraction(f)
        exactly = rest > 0 and rest**2 > Fraction(n) ** 2 * Fraction(q0)
        assert exactly or not holds
        decided += holds
        wrong += not exactly
    assert decided > 100 and wrong > 100


def test_ends_near_lam0_are_not_beyond_the_exact_ones():
    """Where the margin is linear and the radius constant, in ``lam0/lam`` or in ``lam/lam0``, up
    to the last digit.
    """
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n, r, slope, lam0 = rng.uniform([0.5, 0.1, 0.2, 0.5], [2.0, 1.0, 2.0, 2.0]).tolist()
        rest = n * r - slope * (1.0 - 10.0 ** rng.uniform(-6, -1))
        form = (r * r, 0.0, 0.0, 0.0, 0.0, 0.0)
        low, high = (
            _interval(slope, rest, n, form, lam0)[0],
            _interval(rest, slope, n, form, lam0)[1],
        )
        for share in (Fraction(low) / Fraction(lam0), Fraction(lam0) / Fraction(high)):
            margin = Fraction(rest) + Fraction(slope) * share
            assert margin > 0 and margin**2 >= Fraction(n) ** 2 * Fraction(r * r)
            assert share < 1


def test_an_interval_has_lam0_inside_or_is_none():
    """Where the rule holds by a few units, and stops to hold a few units further."""
    rng = np.random.default_rng(8)
    known = 0
    for _ in range(1500):
        n, r, slope, lam0 = rng.uniform([0.5, 0.1, 0.2, 0.5], [2.0, 1.0, 2.0, 2.0]).tolist()
        rest = n * r - slope * (1.0 - 10.0 ** rng.uniform(-15.5, -13.5))
        form = (r * r, 0.0, 0.0, 0.0, 0.0, 0.0)
        for sides in ((slope, rest), (rest, slope)):
            low, high = _interval(*sides, n, form, lam0)
            assert np.isnan(low) if np.isnan(high) else low < lam0 < high
            known += not np.isnan(low)
    assert 500 < known < 2500


@pytest.mark.parametrize("part", ["A", "B", "A and B"])
def test_sums_near_a_threshold_are_not_above_it_by_rounding(part):
    """A margin, its errors and the threshold cancel but for some ulps, and there is no radius:
    the exact sum decides.
    """
    rng, beyond = np.random.default_rng(0), 0
    for _ in range(1500):
        n, far = rng.uniform([0.5, 0.1], [2.0, 1.0]).tolist()
        off = int(rng.integers(-3, 4))
        few = float(rng.integers(-8, 9)) * 2.0**-54
        h = h_error = k_error = steady = rising = 0.0
        if part == "A":  # the part that does not move with lam, and the threshold
            h, h_error = rng.uniform(0.2, 5.0, 2).tolist()
            k, steady = few, far
            b = 0.5 * h - 0.5 * h_error - n * far + off * 2.0**-53
        elif part == "B":  # the part that does
            k = float(rng.uniform(2.0, 6.0))
            rising, b = far, few
            k_error = abs(k - 2.0 * n * far + off * 2.0**-52)
        else:  # the part that does, and the threshold
            k = float(rng.uniform(2.0, 6.0))
            h, h_error, k_error, steady = (0.001 * rng.uniform(size=4)).tolist()
            b = 0.5 * (h + k - h_error - k_error) - n * steady + off * 2.0**-53
        for side in (1.0, -1.0):
            at_x = Margins(np.array([side * h]), np.array([h_error]))
            at_w = Margins(np.array([side * k]), np.array([k_error]))
            radius = MovingRadius((0.0,) * 6, steady, rising, 1.0)
            ends, limits = np.empty((4, 1)), np.array([side * b])
            other = np.zeros(1) if part == "A and B" else limits
            both = (other, limits) if side > 0.0 else (limits, other)
            fixed = (np.array([n]), (0.5, 0.5), radius, 1.0, Thresholds(*both, 0))
            ball_interval_kernel(at_x, at_w, *fixed, ends)
            margin = side * ((Fraction(h) + Fraction(k)) / 2 - Fraction(b))
            reach = (Fraction(h_error) + Fraction(k_error)) / 2 + Fraction(n) * (
                Fraction(steady) + Fraction(rising)
            )
            above, below = not np.isnan(ends[2, 0]), not np.isnan(ends[0, 0])
            if other is limits or side > 0.0:
                assert not above or margin > reach
            if other is limits or side < 0.0:
                assert not below or margin < -reach
        beyond += abs(abs(margin) - reach) < Fraction(1, 10**14)
    assert beyond > 200
