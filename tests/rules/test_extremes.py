"""The lower bounds of `rules/_extremes.py` and the tests of `rules/ball.py` by themselves: below
what they bound, in 60-digit arithmetic, for arguments of any size beside each other.

Where one argument dwarfs the others its roundings are all that counts, so no share of an allowance
can be missing."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from safescreen.rounding import UNIT
from safescreen.rules._extremes import (
    Cap,
    TwoBalls,
    _over_halfspace,
    _over_two_balls,
    halfspace_kernel,
    intersection_kernel,
)
from safescreen.rules.ball import ball_kernel
from safescreen.terms.base import Margins, Thresholds

SIZES = (1.0, 1e8, 1e20)
"""By which factors arguments are larger or smaller than each other."""
TINY = 1e-150
"""A length whose products underflow."""


def exactly(*values):
    return [mpf(float(value)) for value in values]


def size_of(rng):
    return float(rng.uniform(1.0, 2.0) * rng.choice(SIZES) ** rng.choice([-1, 1]))


def halfspace_case(rng, length):
    """Return random arguments of `_over_halfspace`, and the exact minimum for the worst margins
    that they allow; `length` is the size of n and r.
    """
    n, r = (length * size_of(rng) for _ in range(2))
    s = float(n * rng.choice([-1.0, 1.0]) * (1.0 - rng.choice([1e-12, 1e-3, 0.3, 0.9, 1.0])))
    delta = float(r * rng.choice([-1.0, 1.0]) * (1.0 - rng.choice([1e-6, 1e-3, 0.3, 0.9, 1.0])))
    s_error = float(n * rng.choice([0.0, 1e-17, 1e-14, 1e-3]))
    q, e = (n * r * rng.normal() * size_of(rng) for _ in range(2))
    e = abs(e) * rng.choice([0.0, 1.0])
    root = float(np.sqrt((r - delta) * (r + delta)))
    return (q, e, s, s_error, n, r, delta, root), minimum_over_halfspace(
        *exactly(q, e, s, s_error, n, r, delta)
    )


def minimum_over_halfspace(q, e, s, s_error, n, r, delta):
    """Return the minimum of the least ``<a, x>`` over ``||x - Q|| <= r, <p, x - Q> >= delta``."""
    s = max(s - s_error, -n)
    across = mpmath.sqrt((n - s) * (n + s))
    root = mpmath.sqrt((r - delta) * (r + delta))
    if s * root + delta * across <= 0:  # the ball's own
        return q - e - r * n
    return q - e + delta * s - root * across


@pytest.mark.parametrize("length", [1.0, TINY])
def test_over_a_halfspace(length):
    rng = np.random.default_rng(0)
    finite = 0
    for _ in range(3000):
        arguments, least = halfspace_case(rng, length)
        if arguments[-1] == 0.0:  # the rule leaves such a half-space alone
            continue
        with np.errstate(all="ignore"):
            bound = _over_halfspace(*map(np.float64, arguments))
        assert mpf(float(bound)) <= least, arguments
        q, e, s, s_error, n, r, delta, root = arguments
        if np.isfinite(bound):
            finite += 1
            k = s + delta * np.sqrt((n - s) * (n + s)) / root
            size = abs(q) + e + (r + abs(delta)) * (n + k) + 1e-290
            if length == 1.0 and s_error <= 1e-12 * n and abs(s) <= 0.8 * n:
                assert least - mpf(float(bound)) <= 1e-12 * size, arguments
    assert finite > (500 if length == 1.0 else 100)


def two_balls_case(rng, length):
    """Return random arguments of `_over_two_balls`, and the exact minimum for the worst margins
    that they allow; None if the balls do not meet.
    """
    n, distance = length * size_of(rng), length * size_of(rng)
    t0 = float(rng.choice([-3.0, 0.01, 0.5, 0.99, 3.0]))
    r1 = float(distance * (abs(t0) + rng.choice([1e-6, 0.1, 3.0, 1e6])))
    r2 = float(np.sqrt(max(r1 * r1 - distance * distance * (2.0 * t0 - 1.0), 0.0)))
    q1 = float(n * distance * rng.normal() * size_of(rng))
    q2 = float(q1 + n * distance * rng.choice([0.0, rng.uniform(-1.0, 1.0), 0.999, -0.999]))
    e1, e2 = (abs(float(n * distance * rng.normal() * size_of(rng))) for _ in range(2))
    e1, e2 = (e * float(rng.choice([0.0, 1e-9, 1.0])) for e in (e1, e2))
    if rng.uniform() < 0.3:
        e1 = e2
    if not (r2 > 0.0 and abs(r1 - r2) < distance < r1 + r2):
        return None
    N, D, R1, R2 = exactly(n, distance, r1, r2)
    middle = (1 + (R1 - R2) * (R1 + R2) / D**2) / 2
    half = mpmath.sqrt(max(R1**2 - (D * middle) ** 2, 0))
    square = distance * distance * (1.0 - 4.0 * UNIT)
    t0 = 0.5 * (1.0 + (r1 - r2) / distance * ((r1 + r2) / distance))
    h = float(np.sqrt(max((r1 - distance * t0) * (r1 + distance * t0), 0.0)))
    balls = TwoBalls(
        square1=r1 * r1, square2=r2 * r2, distance=distance, distance_square=square, t0=t0, h=h
    )
    arguments = (q1, e1, q2, e2, n, balls)
    low1, low2 = mpf(q1) - mpf(e1), mpf(q2) - mpf(e2)
    f = (low2 - low1) / (N * D)
    if abs(f) >= 1:
        t = mpf(0) if f < 0 else mpf(1)
    else:
        t = min(max(middle + half * f / (D * mpmath.sqrt(1 - f**2)), mpf(0)), mpf(1))
    radius = mpmath.sqrt(max((1 - t) * R1**2 + t * R2**2 - t * (1 - t) * D**2, 0))
    return arguments, (1 - t) * low1 + t * low2 - N * radius


@pytest.mark.parametrize("length", [1.0, TINY])
def test_over_two_balls(length):
    rng = np.random.default_rng(1)
    finite = 0
    for _ in range(4000):
        case = two_balls_case(rng, length)
        if case is None:
            continue
        arguments, least = case
        with np.errstate(all="ignore"):
            bound = _over_two_balls(*arguments)
        assert mpf(float(bound)) <= least, arguments
        if np.isfinite(bound):
            finite += 1
            q1, e1, q2, e2, n, balls = arguments
            squares = balls.square1 + balls.square2 + balls.distance**2
            size = abs(q1) + abs(q2) + n * np.sqrt(squares) + 1e-290
            if length == 1.0 and max(e1, e2) < 1e-12 * size:
                assert least - mpf(float(bound)) <= 1e-7 * size, arguments
    assert finite > (200 if length == 1.0 else 20)


def decide(kernel, arguments, low, high):
    """Return ``(in_L, in_R)`` of one term."""
    in_L, in_R = np.zeros(1, dtype=bool), np.zeros(1, dtype=bool)
    with np.errstate(all="ignore"):
        kernel(*arguments, Thresholds(np.array([low]), np.array([high]), 0), in_L, in_R)
    return bool(in_L[0]), bool(in_R[0])


def kernel_cases(rng):
    """Yield ``(kernel, its arguments, the same for minus the term, the bound, the exact one)``."""

    def one_margin(value, error):
        return Margins(np.array([value]), np.array([error]))

    (q, e, s, s_error, n, r, delta, root), _ = halfspace_case(rng, 1.0)
    scale = float(rng.choice([0.6, 1.0, 5.3]))
    s, s_error = s * scale, s_error * scale
    least = minimum_over_halfspace(
        *exactly(q, e),
        *(value / mpf(scale) for value in exactly(s, s_error)),
        *exactly(n, r, delta),
    )
    with np.errstate(all="ignore"):
        bound = _over_halfspace(
            *map(np.float64, (q, e, s / scale, s_error / scale, n, r, delta, root))
        )
    fixed = (np.array([n]), Cap(r, delta, root, scale))
    one, minus = (
        (one_margin(sign * q, e), one_margin(sign * s, s_error), *fixed) for sign in (1.0, -1.0)
    )
    yield halfspace_kernel, one, minus, float(bound), least
    case = two_balls_case(rng, 1.0)
    if case is not None:
        (q1, e1, q2, e2, n, balls), least = case
        with np.errstate(all="ignore"):
            bound = _over_two_balls(q1, e1, q2, e2, n, balls)
        fixed = (np.array([n]), balls)
        one, minus = (
            (one_margin(sign * q1, e1), one_margin(sign * q2, e2), *fixed) for sign in (1.0, -1.0)
        )
        yield intersection_kernel, one, minus, float(bound), least


def test_kernels_at_their_own_bounds():
    """A term whose threshold is its bound stays undecided, one beyond is decided."""
    rng = np.random.default_rng(4)
    tried = equal = 0
    for _ in range(300):
        for kernel, one, minus, bound, _ in kernel_cases(rng):
            if not np.isfinite(bound):
                continue
            tried += 1
            beyond = 64.0 * UNIT * abs(bound)
            assert decide(kernel, one, bound, bound) == (False, False)
            assert decide(kernel, one, bound - beyond, bound - beyond)[1]
            assert decide(kernel, minus, beyond - bound, beyond - bound)[0]
            for steps in range(16):
                level = -bound + steps * np.spacing(abs(bound))
                if level - 4.0 * UNIT * (abs(level) + abs(level)) == -bound:
                    equal += 1
                    assert decide(kernel, minus, level, level) == (False, False)
    assert tried > 100 and equal > 20


def test_kernels_where_the_linear_region_begins_far_below_the_threshold():
    """``tau - gamma`` is as rough as tau, which is large."""
    rng = np.random.default_rng(5)
    tried = 0
    for _ in range(300):
        for kernel, _, minus, bound, least in kernel_cases(rng):
            if not np.isfinite(bound):
                continue
            gamma = 2.0 ** (np.frexp(bound)[1] + 30)
            high = gamma - bound
            for tau in (high - np.spacing(high), high, np.nextafter(high, 0.0)):
                if mpf(float(tau)) - mpf(float(gamma)) <= -least:
                    tried += 1
                    assert decide(kernel, minus, tau - gamma, tau) == (False, False)
    assert tried > 100


@pytest.mark.parametrize("shared", [True, False])
def test_the_ball_kernel_at_exact_thresholds(shared):
    """Thresholds a few units in the last place around ``q -+ (e + r n)``."""
    rng = np.random.default_rng(2)
    undecided = 0
    for _ in range(6000):
        size, n = size_of(rng), size_of(rng)
        share = rng.choice([0.0, 1e-12, 1.0], size=4) * np.append(rng.normal(), rng.uniform(size=3))
        q, e, r, width = map(float, size * share)
        r /= n
        width *= float(rng.choice([1.0, 1e6]))
        low = mpf(q) - mpf(e) - mpf(r) * mpf(n)
        sign = float(rng.choice([-1.0, 1.0]))
        nearest = float(low)
        high = sign * (nearest + float(rng.integers(-2, 9)) * np.spacing(abs(nearest)))
        if sign < 0.0:
            high += width
        thresholds = Thresholds(np.array([high - width]), np.array([high]), 0 if shared else 1)
        in_L, in_R = np.zeros(1, dtype=bool), np.zeros(1, dtype=bool)
        margins = Margins(np.array([sign * q]), np.array([e]))
        ball_kernel(margins, np.array([n]), r, thresholds, in_L, in_R)
        if sign > 0.0:
            assert not in_R[0] or low > mpf(high)
        else:
            assert not in_L[0] or -low < mpf(high) - mpf(width)
        undecided += not (in_L[0] or in_R[0])
    assert undecided > 2000
