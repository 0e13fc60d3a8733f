"""Certificates by their definition: the largest lower bound of the distance of what a claim denies,
and the bracket that finds it. Cheap, and so the first to notice an error.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from safescreen.rules._certificates import (
    Claims,
    Region,
    _Bracket,
    certify_orthant,
    certify_semidefinite,
    passes,
)


def region_and_claim(a, Q, C, square, product):
    """Return the region of a ball, and one claim of a term without errors."""
    norm = float(np.linalg.norm(Q))
    minus = float(np.linalg.norm(np.minimum(Q, 0.0) if Q.ndim == 1 else negative_part(Q)))
    region = Region(
        center=Q,
        square=square,
        norm_low=norm * (1.0 - 1e-14),
        norm=norm * (1.0 + 1e-14),
        minus_norm=minus,
        split_error=0.0 if Q.ndim == 1 else 1e-14,
    )
    zero = np.zeros(1)
    claims = Claims(
        a=a[None],
        a_error=zero,
        q=np.array([np.sum(a * Q)]),
        q_error=zero,
        n=np.array([np.linalg.norm(a) * (1.0 + 1e-14)]),
        C=np.array([C]),
        C_error=zero,
        product=np.array([product]),
    )
    return region, claims


def negative_part(Z):
    values, vectors = np.linalg.eigh(Z)
    return (vectors * np.minimum(values, 0.0)) @ vectors.T


def bound(a, Q, C):
    """Return the maximum of ``g(y) = 2 y C + ||Q||^2 - ||(Q + y a)_+||^2`` over ``y >= 0`` for an
    orthant, piece by piece; infinite if it grows for ever.
    """
    ends = [-q / v for q, v in zip(Q, a, strict=True) if v != 0.0 and -q / v > 0.0]
    ends = [0.0, *sorted(ends)]
    g = lambda y: 2.0 * y * C + Q @ Q - np.sum(np.maximum(Q + y * a, 0.0) ** 2)  # noqa: E731
    best = max(map(g, ends))
    for low, high in zip(ends, [*ends[1:], np.inf], strict=True):
        inside = Q + (low + 1.0 if high == np.inf else 0.5 * (low + high)) * a > 0.0
        square = float(np.sum(a[inside] ** 2))
        rise = C - float(a[inside] @ Q[inside])
        if square > 0.0:
            best = max(best, g(min(max(rise / square, low), high)))
        elif high == np.inf and rise > 0.0:
            return np.inf
    return best


@pytest.mark.parametrize("size", [1.0, 2.0**-20, 2.0**20])
def test_over_an_orthant_what_is_certified_is_what_the_bound_says(size):
    """A little inside of the bound everything is certified, a little outside nothing."""
    rng = np.random.default_rng(14)
    certified = without_end = 0
    for trial in range(250):
        d = int(rng.integers(1, 6))
        if trial % 2:  # zeros, several changes of sign at one y, pieces on which nothing rises
            a = rng.integers(-2, 3, size=d).astype(float)
            Q = rng.integers(-2, 3, size=d).astype(float)
        else:
            a, Q = rng.normal(size=(2, d))
        if not a.any():
            continue
        Q = Q * size
        product = float(a @ np.maximum(Q, 0.0))
        C = product + size * float(rng.uniform(0.05, 3.0))
        square = bound(a, Q, C)
        scale = size**2 + Q @ Q
        for share, expected in ((1.0 - 1e-7, True), (1.0 + 1e-7, square == np.inf)):
            largest = 1e3 * scale if square == np.inf else square * share
            region, claims = region_and_claim(a, Q, C, largest, product)
            with np.errstate(all="ignore"):
                got = certify_orthant(region, claims)[0]
            assert got == expected, (a, Q, C)
        certified += 1
        without_end += square == np.inf
    assert certified > 200 and without_end > 10


@pytest.mark.parametrize("d", [1, 2, 3, 17])
def test_over_the_semidefinite_cone_what_is_certified_is_what_the_bound_says(d):
    """Diagonal matrices are certified as over the orthant, at any of a few steps' costs; centers
    in the cone and out of it.
    """
    rng = np.random.default_rng(d)
    for trial in range(16):
        a = rng.normal(size=d)
        Q = np.abs(rng.normal(size=d)) if trial % 2 else rng.normal(size=d)
        if d == 17:  # a term has one negative eigenvalue at most
            a[:] = 0.0
            a[:2] = rng.normal(), -abs(rng.normal())
        product = float(a @ np.maximum(Q, 0.0))
        C = product + float(rng.uniform(0.05, 3.0))
        square = bound(a, Q, C)
        if square == np.inf:
            continue
        for share, expected in ((1.0 - 1e-6, True), (1.0 + 1e-6, False)):
            region, claims = region_and_claim(np.diag(a), np.diag(Q), C, square * share, product)
            with np.errstate(all="ignore"):
                got = certify_semidefinite(region, claims, 60)[0]
            assert got == expected, (a, Q, C)


def test_claims_of_a_batch_do_not_mix():
    """Each is certified or not as it is alone."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(30, 3, 3))
    Q = A[0] + A[0].T
    values, vectors = np.linalg.eigh(Q)
    plus = (vectors * np.maximum(values, 0.0)) @ vectors.T
    terms = A + A.transpose(0, 2, 1)
    claims = []
    for a in terms:
        product = float(np.sum(a * plus))
        C = product + float(rng.uniform(0.1, 3.0))
        region, claim = region_and_claim(a, Q, C, 0.1 + float(np.sum((Q - plus) ** 2)), product)
        claims.append(claim)
    names = [name for name in Claims.__dataclass_fields__]
    batch = Claims(**{n: np.concatenate([getattr(c, n) for c in claims]) for n in names})
    for steps in (1, 2, 60):
        with np.errstate(all="ignore"):
            alone = [bool(certify_semidefinite(region, c, steps)[0]) for c in claims]
            assert certify_semidefinite(region, batch, steps).tolist() == alone
    assert 3 < sum(alone) < 27


# ------------------------------------------------------------------ the bracket


def brackets(rng, size=40):
    """Return concave ``g(y) = v - k (y - c)^2`` with ``g(0) >= 0``, and brackets that know 0."""
    v, k, c = rng.uniform(0.5, 3.0, size=(3, size))
    k = np.minimum(k, 0.99 * v / c**2)
    curvature = k * rng.choice([1.0, 4.0], size=size)
    at_zero = v - k * c**2
    ups = []
    for low, slope in zip(at_zero, k * c, strict=True):
        claims = SimpleNamespace(q=np.zeros(1), C=np.array([2.0 * slope]), product=np.array(slope))
        ups.append(_Bracket.start(SimpleNamespace(minus_norm=np.sqrt(low)), claims))
    names = list(_Bracket.__dataclass_fields__)
    bracket = _Bracket(**{n: np.concatenate([getattr(b, n) for b in ups]) for n in names})
    return v, k, c, np.sqrt(curvature), bracket


def look(bracket, v, k, c, y):
    bracket.update(y, v - k * (y - c) ** 2, k * (c - y))


def test_a_bracket_begins_at_zero():
    v, k, c, _, bracket = brackets(np.random.default_rng(0))
    np.testing.assert_allclose(bracket.low_value, v - k * c**2, atol=1e-12)
    np.testing.assert_allclose(bracket.low_slope, k * c, rtol=1e-12)
    assert (bracket.low == 0.0).all() and (bracket.high == np.inf).all()
    assert (bracket.highest_value() == np.inf).all()


@pytest.mark.parametrize("first", [0.3, 0.9, 1.4])
def test_the_secant_finds_the_maximum_of_a_quadratic(first):
    """From either side, with the other end or with the point before."""
    v, k, c, n, bracket = brackets(np.random.default_rng(1))
    look(bracket, v, k, c, first * c)
    np.testing.assert_allclose(bracket.next(n), c, rtol=1e-9)
    look(bracket, v, k, c, 0.5 * (c + np.minimum(1.0, first) * c))
    np.testing.assert_allclose(bracket.guess, c, rtol=1e-9)
    look(bracket, v, k, c, 1.2 * c if first < 1.0 else 0.99 * c)
    np.testing.assert_allclose(bracket.guess, c, rtol=1e-9)


def test_ends_are_the_last_points_on_either_side():
    v, k, c, n, bracket = brackets(np.random.default_rng(2))
    for share in (0.2, 1.7, 0.6, 1.3):
        look(bracket, v, k, c, share * c)
    for share, side in ((0.6, "low"), (1.3, "high")):
        y = share * c
        np.testing.assert_array_equal(getattr(bracket, side), y)
        np.testing.assert_array_equal(getattr(bracket, f"{side}_value"), v - k * (y - c) ** 2)
        np.testing.assert_array_equal(getattr(bracket, f"{side}_slope"), k * (c - y))


def test_the_maximum_is_below_where_the_tangents_meet():
    """And no bound from the two tangents is lower."""
    v, k, c, _, bracket = brackets(np.random.default_rng(3))
    for low, high in ((0.1, 1.9), (0.5, 1.6), (0.9, 1.05)):
        look(bracket, v, k, c, low * c)
        look(bracket, v, k, c, high * c)
        y = np.linspace(low * c, high * c, 4001)
        up = bracket.low_value + 2.0 * bracket.low_slope * (y - bracket.low)
        down = bracket.high_value + 2.0 * bracket.high_slope * (y - bracket.high)
        best = np.minimum(up, down).max(axis=0)
        top = bracket.highest_value()
        assert (top >= v).all() and (top >= best * (1.0 - 1e-12)).all()
        np.testing.assert_allclose(top, best, rtol=1e-3)
    # a value that is off: the maximum is at an end
    bracket.high_value[:] = bracket.low_value + 1e3
    width = 2.0 * bracket.low_slope * (bracket.high - bracket.low)
    np.testing.assert_allclose(bracket.highest_value(), bracket.low_value + width, rtol=1e-9)
    bracket.high_value[:] = bracket.low_value - 1e3
    np.testing.assert_allclose(bracket.highest_value(), bracket.low_value, rtol=1e-12)


def test_the_next_point_is_where_the_maximum_can_be():
    """``0 <= -g''/2 <= n^2`` keeps it from the ends; after two steps on one side, the middle."""
    v, k, c, n, bracket = brackets(np.random.default_rng(4))
    look(bracket, v, k, c, 1.8 * c)
    look(bracket, v, k, c, 0.2 * c)
    for guess in (-np.inf, -5.0, 50.0, np.inf, np.nan):
        bracket.guess[:] = guess
        y = bracket.next(n)
        low = 0.2 * c + k * 0.8 * c / n**2
        high = 1.8 * c - k * 0.8 * c / n**2
        expected = np.where(guess < 0.0, low, high) if np.isfinite(guess) else 0.5 * (low + high)
        np.testing.assert_allclose(y, expected, rtol=1e-9)
    bracket.guess[:] = 0.9 * c
    plain = bracket.next(n)
    look(bracket, v, k, c, 0.3 * c)
    bracket.guess[:] = 0.9 * c
    middle = 0.5 * (0.3 * c + k * 0.7 * c / n**2 + 1.8 * c - k * 0.8 * c / n**2)
    np.testing.assert_allclose(bracket.next(n), middle, rtol=1e-9)
    assert (np.abs(plain - middle) > 1e-3 * c).any()
    look(bracket, v, k, c, 1.7 * c)
    bracket.guess[:] = 1.2 * c
    high = 1.7 * c - k * 0.7 * c / n**2
    low = 0.3 * c + k * 0.7 * c / n**2
    np.testing.assert_allclose(bracket.next(n), np.clip(1.2 * c, low, high), rtol=1e-9)
    look(bracket, v, k, c, 1.6 * c)
    bracket.guess[:] = 1.2 * c
    middle = 0.5 * (low + 1.6 * c - k * 0.6 * c / n**2)
    np.testing.assert_allclose(bracket.next(n), middle, rtol=1e-9)


def test_a_bracket_without_an_upper_end_goes_up():
    v, k, c, n, bracket = brackets(np.random.default_rng(5))
    for share in (0.1, 0.2, 0.3, 0.4):  # on one side as often as one likes: there is no middle
        look(bracket, v, k, c, share * c)
        np.testing.assert_allclose(bracket.next(n), c, rtol=1e-9)
    bracket.guess[:] = np.nan
    assert (bracket.next(n) > bracket.low).all()
    part = bracket.take(np.arange(40) == 7)
    assert part.low.tolist() == [bracket.low[7]] and part.guess.size == 1


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize("name", ["q_error", "C_error"])
def test_errors_of_a_claim_are_multiplied_by_y(name):
    """Beside an error that is not small nothing is certified, beside a small one it is, whatever
    the size of y: ``g(y) = 2 y - y^2`` for a term and a center at right angles.
    """
    a, Q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for y in (0.01, 0.5):
        g = 2.0 * y - y * y
        region, claims = region_and_claim(a, Q, 1.0, 0.9 * g, 0.0)
        parts = np.array([np.sqrt(1.0 + y * y)]), np.zeros(1)
        for error, expected in ((0.0, True), (0.02, True), (0.2, False)):
            wrong = replace(claims, **{name: np.array([error])})
            assert passes(region, wrong, np.array([y]), *parts)[0] == expected


def test_what_is_far_too_large_is_not_certified():
    """Where squares leave the range of double precision a term stays undecided."""
    a = np.array([1.0])
    for Q, C in ((-1e150, 1.0), (0.0, 1e150)):
        region, claims = region_and_claim(a, np.array([Q]), C, 1.0, 0.0)
        with np.errstate(all="ignore"):
            assert not certify_orthant(region, claims)[0]
            matrices = region_and_claim(a[:, None], np.array([[Q]]), C, 1.0, 0.0)
            assert not certify_semidefinite(*matrices, 20)[0]
