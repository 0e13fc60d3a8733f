"""Certificates by their definition: the largest lower bound of the distance of what a claim denies,
and the bracket that finds it. Cheap, and so the first to notice an error.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from safescreen.rounding import UNIT
from safescreen.rules import _certificates, _splits
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
            a = rng.integers(-2, 3, size=d) * rng.choice([-1.0, 1.0], size=d)  # zeros of both signs
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
        finite = ((1.0 - 1e-7, True), (1.0 + 1e-7, False))
        for share, expected in ((1e-3, True), (1e3, True)) if square == np.inf else finite:
            largest = share * (scale if square == np.inf else square)
            region, claims = region_and_claim(a, Q, C, largest, product)
            with np.errstate(all="ignore"):
                got = certify_orthant(region, claims, 1)[0]
            assert got == expected, (a, Q, C)
        certified += 1
        without_end += square == np.inf
    assert certified > 200 and without_end > 10


@pytest.mark.parametrize("length", [1.0, 2.0**-20])
def test_over_an_orthant_where_sums_lose_their_digits(length):
    """Some coordinates of a term are so large that, once they are 0, sums from which they are
    taken know nothing of the others.
    """
    rng = np.random.default_rng(5)
    for _ in range(100):
        a = np.append(-(2.0 ** rng.uniform(21.0, 24.0, 2)), rng.uniform(0.5, 1.0, 3) * 2.0**-10)
        Q = length * rng.uniform(0.3, 1.0, size=5)
        product = float(a @ Q)
        C = float(a[2:] @ Q[2:]) * float(rng.uniform(1.5, 3.0))
        square = bound(a, Q, C)
        for share, expected in ((1.0 - 1e-3, True), (1.0 + 1e-3, False)):
            region, claims = region_and_claim(a, Q, C, square * share, product)
            with np.errstate(all="ignore"):
                assert certify_orthant(region, claims, 1)[0] == expected, (a, Q, C)


@pytest.mark.parametrize("length", [2.0**-30, 1.0, 2.0**30])
def test_over_an_orthant_units_do_not_matter(length):
    """Of what terms and points are measured in: what is certified depends on ratios alone."""
    rng = np.random.default_rng(6)
    certified = 0
    for _ in range(150):
        d = int(rng.integers(2, 6))
        a, Q = rng.normal(size=(2, d)) * 10.0 ** rng.uniform(-8.0, 0.0, (2, d))
        product = float(a @ np.maximum(Q, 0.0))
        C = product + float(10.0 ** rng.uniform(-8.0, 1.0))
        largest = 0.999 * min(bound(a, Q, C), 1e3 * (1.0 + Q @ Q))
        got = []
        for unit in (2.0**-40, 1.0, 2.0**40):
            numbers = (unit * a, length * Q, unit * length * C, length**2 * largest)
            with np.errstate(all="ignore"):
                region, claims = region_and_claim(*numbers, unit * length * product)
                got += certify_orthant(region, claims, 1).tolist()
        assert got[0] == got[1] == got[2]
        certified += got[1]
    assert certified > 75


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


def diagonal_claims(rng, size):
    """Yield terms, centers and thresholds of diagonal matrices, all units of 2 or 3 numbers, with
    the product of the term and the projected center, and the bound.
    """
    while size:
        a, Q = rng.normal(size=(2, int(rng.integers(2, 4))))
        product = float(a @ np.maximum(Q, 0.0))
        C = product + float(rng.uniform(0.05, 3.0))
        if bound(a, Q, C) < np.inf:
            size -= 1
            yield a, Q, C, product, bound(a, Q, C)


def steps_of(monkeypatch, a, Q, C, square, product, max_iter=12):
    """Return the y of each step that a claim of diagonal matrices takes."""
    taken = []

    def split(Z, a, vectors):
        taken.append(float(np.sum((Z[0] - np.diag(Q)) * a[0]) / np.sum(a[0] ** 2)))
        return _splits.split_all(Z, a, vectors)

    region, claims = region_and_claim(np.diag(a), np.diag(Q), C, square, product)
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(_certificates, "split_all", split)
        certify_semidefinite(region, claims, max_iter)
    return taken


def reason_to_stop(a, Q, C, square, taken):
    """Return why the last of some steps should be the last, "" if there is no reason, None if
    rounding decides.
    """
    g = lambda y: 2.0 * y * C + Q @ Q - np.sum(np.maximum(Q + y * a, 0.0) ** 2)  # noqa: E731
    slope = lambda y: 2.0 * (C - a @ np.maximum(Q + y * a, 0.0))  # noqa: E731
    rising = [0.0, *(y for y in taken if slope(y) > 0.0)]
    falling = [y for y in taken if slope(y) <= 0.0]
    tangents = np.inf
    if falling:
        low, high = rising[-1], falling[-1]
        width = high - low
        meet = (g(high) - g(low) - slope(high) * width) / (slope(low) - slope(high))
        tangents = g(low) + slope(low) * min(max(meet, 0.0), width)
    farthest = np.sum((np.maximum(Q + taken[-1] * a, 0.0) - Q) ** 2)
    values = np.array([g(taken[-1]), farthest, tangents])
    near = np.abs(values / square - 1.0) < 1e-7
    if near.any() or abs(slope(taken[-1])) < 1e-9:
        return None
    if values[0] > square:
        return "certified"
    if slope(taken[-1]) <= 0.0 and farthest < square:
        return "counter-example"
    return "tangents" if tangents < square else ""


def test_steps_end_when_there_is_a_reason(monkeypatch):
    """A claim is certified, or Z_+ is a counter-example, or the tangents stay below the square."""
    rng = np.random.default_rng(2)
    reasons = dict.fromkeys(("certified", "counter-example", "tangents", ""), 0)
    for a, Q, C, product, best in diagonal_claims(rng, 120):
        for share in (0.99, 1.001, 1.03, 1.2):
            taken = steps_of(monkeypatch, a, Q, C, share * best, product)
            numbers = (a, Q, C, share * best)
            known = [reason_to_stop(*numbers, taken[:n]) for n in range(1, len(taken) + 1)]
            if None in known:
                continue
            assert set(known[:-1]) <= {""}
            assert known[-1] or len(taken) == 12
            for reason in known:
                reasons[reason] += 1
    assert min(reasons.values()) > 20, reasons


def test_steps_do_not_depend_on_units(monkeypatch):
    rng = np.random.default_rng(3)
    for a, Q, C, product, best in diagonal_claims(rng, 30):
        plain = steps_of(monkeypatch, a, Q, C, 1.01 * best, product)
        for unit, length in ((8.0, 1.0), (0.125, 1.0), (1.0, 8.0), (1.0, 0.125)):
            both = unit * length
            numbers = (unit * a, length * Q, both * C, length**2 * 1.01 * best, both * product)
            scaled = steps_of(monkeypatch, *numbers)
            np.testing.assert_allclose(scaled, np.array(plain) * length / unit, rtol=1e-6)


@pytest.mark.parametrize(
    ("d", "lowest", "one"), [(16, 0.1, True), (15, 0.1, False), (16, -0.1, False)]
)
def test_one_pair_is_asked_for_of_large_matrices_and_centers_in_the_cone(
    monkeypatch, d, lowest, one
):
    asked = []
    for name in ("split_one", "split_all"):
        split = getattr(_splits, name)
        noted = lambda *parts, name=name, split=split: (asked.append(name), split(*parts))[1]  # noqa: E731
        monkeypatch.setattr(_certificates, name, noted)
    a, Q = np.zeros(d), np.linspace(lowest, 1.0, d)
    a[:2] = -1.0, 1.0
    product = float(a @ np.maximum(Q, 0.0))
    certify_semidefinite(*region_and_claim(np.diag(a), np.diag(Q), product + 1.0, 0.1, product), 3)
    assert set(asked) == {"split_one" if one else "split_all"}


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


def lower_bounds(region, claims, y, plus, minus):
    """Return the largest squares of radii with which claims pass, to the last digit; -1 where not
    even 0 does.
    """
    low = np.zeros(y.size, dtype=np.int64)  # positive doubles are in the order of their bits
    high = np.full(y.size, np.inf).view(np.int64)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        passed = passes(replace(region, square=middle.view(np.float64)), claims, y, plus, minus)
        low = np.where(passed, middle, low)
        high = np.where(passed, high, middle)
    at_all = passes(replace(region, square=0.0), claims, y, plus, minus)
    return np.where(at_all, low.view(np.float64), -1.0)


def claims_of_any_size(rng, size, d, width):
    """Return a region and claims, y, and norms of parts that may belong to them; all sizes are
    within `width` powers of two of 1.
    """
    names = ("y", "n", "C", "q", "plus", "minus", "N")
    draw = {name: 2.0 ** rng.uniform(-width, width, size) for name in names}
    y, n, plus, minus = draw["y"], draw["n"], draw["plus"], draw["minus"]
    C, q = (rng.choice([-1.0, 1.0], size) * draw[name] for name in ("C", "q"))
    cancels = 0.5 * y * n**2 * rng.uniform(0.9, 1.5, size)
    C = np.where(rng.uniform(size=size) < 0.4, q + cancels, C)
    none = rng.uniform(size=(4, size)) < 0.5
    share = np.where(none, 0.0, 2.0 ** rng.uniform(-50.0, 0.0, (4, size)))
    norm = np.abs(np.hypot(plus, minus) + y * n * rng.uniform(-1.0, 1.0, size))
    region = Region(
        center=np.zeros(d),
        square=0.0,
        norm_low=norm,
        norm=norm,
        minus_norm=0.0,
        split_error=share[0],
    )
    claims = Claims(
        a=np.zeros((size, d)),
        a_error=share[1] * n,
        q=q,
        q_error=share[2] * np.abs(q),
        n=n,
        C=C,
        C_error=share[3] * np.abs(C),
        product=np.zeros(size),
    )
    return region, claims, y, plus, minus


def both_forms(region, claims, y, plus, minus, number, off):
    """Return both forms of g, exactly, with every error in the bad direction; `off` of a part,
    ``y n`` and ``||Q|| + y n`` is by how many units the part is off beyond what is declared.
    """
    y, plus, minus = Fraction(y[number]), Fraction(plus[number]), Fraction(minus[number])
    C, q, yn = (Fraction(getattr(claims, name)[number]) for name in ("C", "q", "n"))
    errors = (Fraction(getattr(claims, name)[number]) for name in ("a_error", "q_error", "C_error"))
    a_error, q_error, C_error = errors
    yn *= y
    low, norm = Fraction(region.norm_low[number]), Fraction(region.norm[number]) + yn
    declared = y * a_error + Fraction(region.split_error[number]) * norm
    minus -= declared + off(minus, yn, norm) * Fraction(UNIT)
    plus += declared + off(plus, yn, norm) * Fraction(UNIT)
    first = 2 * y * (C - C_error - q - q_error) - yn**2 + max(minus, 0) ** 2
    return first, 2 * y * (C - C_error) + low**2 - plus**2


def sizes_of_both(region, claims, y, plus, minus, number):
    """Return the sums of the sizes of what the forms are made of, and what they may lose by an
    error of q.
    """
    y, plus, minus = Fraction(y[number]), Fraction(plus[number]), Fraction(minus[number])
    names = ("C", "C_error", "q", "q_error")
    products = 2 * y * sum(abs(Fraction(getattr(claims, name)[number])) for name in names)
    yn, N = y * Fraction(claims.n[number]), Fraction(region.norm[number])
    first = products + yn**2 + minus**2
    return first, products + N**2 + plus**2, 2 * y * Fraction(claims.q_error[number])


@pytest.mark.parametrize("width", [0.01, 3.0, 60.0])
@pytest.mark.parametrize("d", [1, 40])
def test_the_lower_bound_is_below_g_and_not_far(d, width):
    """To its last digit, whatever is large: with the errors that are declared, and those of parts
    whose entries are products and sums, squared, added and rooted in floating point.
    """
    numbers = claims_of_any_size(np.random.default_rng(d), 500, d, width)
    tight = 0
    for number, bound in enumerate(lower_bounds(*numbers)):
        rounded = lambda part, yn, norm: (Fraction(d, 2) + 2) * part + yn  # noqa: E731
        assert bound < max(0, *both_forms(*numbers, number, rounded)), number
        allowed = lambda part, yn, norm: (d + 10) * norm  # noqa: E731
        first, second = both_forms(*numbers, number, allowed)
        of_first, of_second, of_q = sizes_of_both(*numbers, number)
        first -= 30 * Fraction(UNIT) * of_first
        second -= 30 * Fraction(UNIT) * of_second + of_q
        wanted = max(first, second)
        assert bound >= wanted or wanted < 0, number
        tight += wanted > 0
    assert tight > 50


def test_roundings_in_one_direction():
    """Where g is a small difference of two numbers, and each operation rounds by nearly a unit."""
    rng = np.random.default_rng(7)
    size = 3000
    y, n = 1.0 + rng.uniform(0.0, 2.0**-6, (2, size))
    q = -rng.uniform(2.0**-54, 2.0**-52, size)
    C = 0.5 * y * n**2 * (1.0 + 2.0**-12)
    region, claims, *_ = claims_of_any_size(rng, size, 1, 0.0)
    zero = np.zeros(size)
    claims = replace(claims, C=C, q=q, n=n, a_error=zero, q_error=zero, C_error=zero)
    region = replace(region, split_error=zero)
    numbers = region, claims, y, np.full(size, 9.0), zero
    highest = 0.0
    for number, bound in enumerate(lower_bounds(*numbers)):
        first = both_forms(*numbers, number, lambda *_: 0)[0]
        assert 0.0 < bound < first
        computed = 2.0 * y[number] * (C[number] - q[number]) - (y[number] * n[number]) ** 2
        highest = max(highest, float(computed - first) / UNIT)
    assert highest > 4.0


def test_squares_that_underflow():
    """A point that is nearer than the radius, however small both are, is not certified away."""
    a, Q = np.ones(1), np.zeros(1)
    for C in 2.0 ** np.arange(-540.0, -480.0, 8.0):
        for share, expected in ((0.9, C > 1e-149), (1.1, False)):
            numbers = (C, share * C * C, 0.0)
            with np.errstate(all="ignore"):
                got = certify_orthant(*region_and_claim(a, Q, *numbers), 1)[0]
                matrices = region_and_claim(a[:, None], Q[:, None], *numbers)
                of_matrices = certify_semidefinite(*matrices, 20)[0]
            assert got == of_matrices == expected, C


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


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_the_length_of_a_step_is_what_is_too_large(size):
    """Not its number y, nor what y is in terms of anything but the size of the term."""
    a, Q = np.array([size]), np.zeros(1)
    for length, expected in ((1e50, True), (1e150, False)):
        with np.errstate(all="ignore"):
            numbers = (length * size, 0.5 * length**2, 0.0)
            assert certify_orthant(*region_and_claim(a, Q, *numbers), 1)[0] == expected
            matrices = region_and_claim(a[:, None], Q[:, None], *numbers)
            assert certify_semidefinite(*matrices, 20)[0] == expected


def test_what_is_far_too_large_is_not_certified():
    """Where squares leave the range of double precision a term stays undecided."""
    a = np.array([1.0])
    for Q, C in ((-1e150, 1.0), (0.0, 1e150)):
        region, claims = region_and_claim(a, np.array([Q]), C, 1.0, 0.0)
        with np.errstate(all="ignore"):
            assert not certify_orthant(region, claims, 1)[0]
            matrices = region_and_claim(a[:, None], np.array([[Q]]), C, 1.0, 0.0)
            assert not certify_semidefinite(*matrices, 20)[0]
