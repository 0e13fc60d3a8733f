"""The semidefinite rule against a convex program, and at the last bit against exact distances."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from mpmath import fsum, mpf, sqrt

import safescreen as ss
from naive.extremes import distance_to_orthant_cut, exact, negative, triplet
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.rounding import UNIT, norm_upper
from safescreen.rules import RULES, semidefinite, sphere
from safescreen.rules._certificates import Claims, Region, certify_orthant, passes
from safescreen.rules.semidefinite import _region


def program_extremes(elements, Q, r):
    x = cp.Variable(Q.shape, PSD=True) if Q.ndim == 2 else cp.Variable(Q.shape, nonneg=True)
    a = cp.Parameter(Q.shape)
    program = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(a, x))), [cp.norm(cp.vec(x - Q, order="C")) <= r]
    )
    out = []
    for sign in (1.0, -1.0):
        for element in elements:
            a.value = sign * element
            out.append(sign * program.solve(solver="CLARABEL"))
    return np.array(out).reshape(2, -1)


def instance(seed, d, diagonal):
    rng = np.random.default_rng(seed)
    terms = ss.Triplets.from_labels(
        rng.normal(size=(10, d)), np.arange(10) % 2, k=1, diagonal=diagonal
    )
    A = rng.normal(size=(d, d))
    Q = rng.normal(size=d) if diagonal else 0.5 * (A + A.T)
    minus = terms.cone.split(Q)[1]
    return terms, ss.Sphere(Q, float(np.linalg.norm(minus) + rng.uniform(0.02, 0.6)), minus)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_thresholds_around_the_exact_extremes(d, diagonal, make_problem):
    gained = 0
    for seed in range(3):
        terms, ball = instance(seed, d, diagonal)
        lows, highs = program_extremes(
            terms.elements(np.arange(len(terms)))[0], ball.center, ball.radius
        )
        shift = 1e-4 * (1.0 + np.abs(lows) + np.abs(highs))
        for side, values, outward in (("in_R", lows, -1.0), ("in_L", highs, 1.0)):
            problem = make_problem(terms, values + outward * shift)
            assert getattr(semidefinite(problem, ball, max_iter=60), side).all()
            gained += np.count_nonzero(~getattr(sphere(problem, ball), side))
            assert not getattr(
                semidefinite(make_problem(terms, values - outward * shift), ball), side
            ).any()
    assert gained > 0


@pytest.mark.parametrize("diagonal", [False, True])
def test_nothing_of_the_other_rules_is_lost(diagonal):
    decided = []
    for seed in range(6):
        terms, ball = instance(seed, 3, diagonal)
        problem = ss.Problem(terms, ss.SmoothedHinge(0.3))
        results = [RULES[name](problem, ball) for name in ("sphere", "halfspace", "semidefinite")]
        for less, more in zip(results, results[1:], strict=False):
            assert (more.in_L >= less.in_L).all() and (more.in_R >= less.in_R).all()
        decided.append([s.n_L + s.n_R for s in results])
        assert not (results[-1].in_L & results[-1].in_R).any()
    totals = np.sum(decided, axis=0)
    assert totals[0] < totals[1] < totals[2]


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("diagonal", [False, True])
def test_decisions_are_those_of_exact_arithmetic(diagonal, scale, make_problem):
    """Axis-aligned triplets ``diag(-s^2, t^2)`` and diagonal centers: the radius at which a
    decision turns is known to 60 digits.
    """
    rng = np.random.default_rng(3)
    certified = 0
    for _ in range(12):
        s, t = rng.uniform(0.5, 2.0, size=2) * scale
        X = np.array([[0.0, 0.0], [s, 0.0], [0.0, t], [0.0, -t]])
        terms = ss.Triplets(X, [[0, 1, 2]], diagonal=diagonal)
        a = [-(mpf(float(s)) ** 2), mpf(float(t)) ** 2]
        Q = rng.normal(size=2)
        threshold = float(np.array([-s * s, t * t]) @ Q + rng.normal() * s * t)
        problem = make_problem(terms, threshold)
        for side, b, C in (("in_L", a, mpf(threshold)), ("in_R", negative(a), -mpf(threshold))):
            square = distance_to_orthant_cut(b, exact(Q), C)
            if not float(np.sum(np.minimum(Q, 0.0) ** 2)) * (1 + 1e-9) < square < 100:
                # the nearest point of the cone is beyond the threshold: a smaller ball would miss
                # the cone
                continue
            turn = sqrt(square)
            radii = [float(turn) * (1 + k * 2.0**-52) for k in range(-4, 5)]
            for r in (*radii, float(turn) * (1 - 1e-6), float(turn) * 0.9):
                ball = ss.Sphere(Q if diagonal else np.diag(Q), r)
                got = getattr(semidefinite(problem, ball, max_iter=80), side)[0]
                assert not got or mpf(r) < turn
                assert got or r > float(turn) * (1 - 1e-6)
                certified += got
    assert certified > 20


@pytest.mark.parametrize("far", [1.0, 1e5])
def test_diagonal_decisions_are_those_of_exact_arithmetic(far, make_problem):
    """General triplets; centers far from 0 against a radius that is not."""
    rng = np.random.default_rng(9)
    certified = 0
    for _ in range(25):
        X = rng.normal(size=(3, 3))
        terms, Q = ss.Triplets(X, [[0, 1, 2]], diagonal=True), rng.normal(size=3) * [far, far, 1.0]
        a = triplet(X, 0, 1, 2)[::4]
        slope = np.linalg.norm(np.array(a, dtype=float))
        threshold = float(np.array(a, dtype=float) @ np.maximum(Q, 0.0)) + rng.choice(
            [-1.0, 1.0]
        ) * slope * rng.uniform(0.1, 1.0)
        problem = make_problem(terms, threshold)
        for side, b, C in (("in_L", a, mpf(threshold)), ("in_R", negative(a), -mpf(threshold))):
            turn = sqrt(distance_to_orthant_cut(b, exact(Q), C))
            if not float(np.linalg.norm(np.minimum(Q, 0.0))) * (1 + 1e-9) < turn < 1e9:
                continue
            for r in (
                *(float(turn) * (1 + k * 2.0**-52) for k in range(-6, 7)),
                float(turn) * 0.99,
            ):
                got = getattr(semidefinite(problem, ss.Sphere(Q, r)), side)[0]
                assert not got or mpf(r) < turn
                certified += got
            assert got or far > 1.0
    assert certified > 10


def test_a_radius_two_percent_too_small_is_caught(make_problem):
    terms = ss.Triplets(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), [[0, 1, 2]])
    # at the point (0, 3/8), 0.325 from the center, the product is 1.5
    problem = make_problem(terms, 1.5)
    for r, expected in (
        (np.hypot(0.3, 0.125) * (1 + 1e-9), False),
        (np.hypot(0.3, 0.125) * 0.98, True),
    ):
        assert semidefinite(problem, ss.Sphere(np.diag([-0.3, 0.5]), r)).in_R[0] == expected


def test_a_threshold_no_point_of_the_cone_reaches(make_problem):
    X = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]])  # diag: 1 - 1, 1 - 4
    for diagonal in (True, False):
        terms = ss.Triplets(X, [[0, 1, 2]], diagonal=diagonal)
        Q = np.array([0.2, 0.1])
        ball = ss.Sphere(Q if diagonal else np.diag(Q), 2.0)
        expected = diagonal  # for a full metric the other entries make a positive product possible
        assert semidefinite(make_problem(terms, 0.5), ball).in_L[0] == expected


def test_over_the_whole_space_it_is_the_sphere_rule(make_samples, make_problem):
    rng = np.random.default_rng(0)
    problem, ball = (
        make_problem(make_samples(rng.normal(size=(40, 3))), 0.2),
        ss.Sphere(rng.normal(size=3), 0.3),
    )
    assert (semidefinite(problem, ball).in_R == sphere(problem, ball).in_R).all()


def test_skipped_terms_are_not_tried(make_problem):
    terms, ball = instance(4, 5, False)
    problem, ball = (
        ss.Problem(terms, ss.SmoothedHinge(0.3)),
        ss.Sphere(ball.center, 0.3 * ball.radius, ball.normal),
    )
    skip = np.ones(len(terms), dtype=bool)
    linear = RULES["halfspace"](problem, ball)
    assert semidefinite(problem, ball).in_R.sum() > linear.in_R.sum()
    assert (semidefinite(problem, ball, skip=skip).in_R == linear.in_R).all()
    assert (semidefinite(problem, ball, skip=~skip).in_R == semidefinite(problem, ball).in_R).all()


@pytest.mark.parametrize("radius", [np.nan, np.inf, -1.0])
def test_a_useless_radius_screens_nothing(radius):
    terms, ball = instance(1, 3, True)
    got = semidefinite(ss.Problem(terms, ss.Hinge()), ss.Sphere(ball.center, radius))
    assert radius == -1.0 or got.rate == 0.0


def test_extreme_scales_do_no_harm(make_problem):
    for scale in (1e-75, 1e75):
        X = np.array([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0]]) * scale
        for diagonal in (False, True):
            terms = ss.Triplets(X, [[0, 1, 2]], diagonal=diagonal)
            Q = np.array([-0.3, 0.5])
            semidefinite(make_problem(terms, 1.0), ss.Sphere(Q if diagonal else np.diag(Q), 0.4))


def test_bad_input_is_named():
    terms, ball = instance(1, 3, False)
    problem = ss.Problem(terms, ss.Hinge())
    for bad in (0, 2.5):
        with pytest.raises((TypeError, ValueError), match="max_iter must be a positive int"):
            semidefinite(problem, ball, max_iter=bad)
    with pytest.raises(TypeError, match="skip must be a boolean mask"):
        semidefinite(problem, ball, skip=np.zeros(len(terms)))


def random_claim(rng, d):
    """Return a claim over an orthant, some y, and the norms of the parts of Z and g there."""
    Q, a, y = rng.normal(size=d), rng.normal(size=d), rng.uniform(0.1, 2.0)
    C, q = float(rng.normal() + np.maximum(a @ Q, 0.0)), float(a @ Q)
    Z = Q + y * a
    plus, minus = np.linalg.norm(np.maximum(Z, 0.0)), np.linalg.norm(np.maximum(-Z, 0.0))
    g = 2.0 * y * C + Q @ Q - plus**2
    return Q, a, y, C, q, plus, minus, g


@pytest.mark.parametrize("wrong", ["nothing", "q", "C", "a", "split"])
def test_the_certificate_holds_for_all_within_its_errors(wrong):
    """Inputs that are off by all that their errors allow, in the bad direction: never above the
    true g(y), and not far below.
    """
    rng, size = np.random.default_rng(8), 1e-5
    for _ in range(200):
        d = int(rng.integers(2, 6))
        Q, a, y, C, q, plus, minus, g = random_claim(rng, d)
        off = {name: size * (name == wrong) for name in ("q", "C", "a", "split")}
        n, norm = float(np.linalg.norm(a)), float(np.linalg.norm(Q))
        reach = norm + y * n
        # what a and the split may add to the negative, and take from the positive part
        move = y * off["a"] + off["split"] * reach
        claims = Claims(
            a=a[None],
            a_error=np.array([off["a"]]),
            q=np.array([q - off["q"]]),
            q_error=np.array([off["q"]]),
            n=np.array([n * (1.0 + 1e-13)]),
            C=np.array([C + off["C"]]),
            C_error=np.array([off["C"]]),
            product=np.array([0.0]),
        )
        parts = np.array([max(plus - move, 0.0)]), np.array([minus + move])
        for square, expected in (
            (g + 1e-12 * reach**2, False),
            (g - 200.0 * size * (1.0 + reach**2 + abs(C)) * y - 1e-11 * reach**2, True),
        ):
            region = Region(
                Q, square, norm * (1.0 - 1e-14), norm * (1.0 + 1e-14), 0.0, off["split"]
            )
            assert passes(region, claims, np.array([y]), *parts)[0] == expected, (wrong, square, g)


def test_both_forms_of_the_certificate_are_needed():
    """Far from 0 the second form of g has no digits left; with a large y the first has none."""
    for Q, a, y, C, g in (
        ([1e8, 0.5], [0.0, 1.0], 0.5, 1.0, 0.25),
        ([1.0, 1.0], [-1.0, -1.0], 1e9, 1e-9, 4.0),
    ):
        Q, a = np.array(Q), np.array(a)
        Z, zero = Q + y * a, np.zeros(1)
        n, norm = np.array([np.linalg.norm(a)]) * (1.0 + 1e-15), float(np.linalg.norm(Q))
        claims = Claims(a[None], zero, np.array([a @ Q]), zero, n, np.array([C]), zero, zero)
        parts = [np.array([np.linalg.norm(np.maximum(sign * Z, 0.0))]) for sign in (1.0, -1.0)]
        for factor, expected in ((0.9, True), (1.1, False)):
            region = Region(Q, factor * g, norm * (1.0 - 1e-14), norm * (1.0 + 1e-14), 0.0, 0.0)
            assert passes(region, claims, np.array([y]), *parts)[0] == expected


def claim_of_any_size(rng):
    """Return a claim over an orthant whose parts may dwarf each other, some y, and g there exactly,
    for the worst that the errors allow.
    """
    d = int(rng.integers(1, 4))
    size = lambda: float(rng.choice([1.0, 1e6, 1e12]) ** rng.choice([-1, 1]))  # noqa: E731
    Q, a, y = rng.normal(size=d) * size(), rng.normal(size=d) * size(), rng.uniform(1, 2) * size()
    C, q_error, C_error = (float(rng.normal() * size() * rng.choice([0.0, 1.0])) for _ in range(3))
    q_error, C_error = abs(q_error), abs(C_error)
    if rng.uniform() < 0.5:  # the two first terms of g cancel
        C = float(a @ Q) + 0.5 * y * float(a @ a)
    q, n = float(a @ Q), norm_upper(a)
    Z = [p + mpf(y) * r for p, r in zip(exact(Q), exact(a), strict=True)]
    plus, minus = (sqrt(fsum(max(sign * z, 0) ** 2 for z in Z)) for sign in (1, -1))
    low_C = mpf(C) - mpf(C_error)
    first = 2 * mpf(y) * (low_C - mpf(q) - mpf(q_error)) - (mpf(y) * mpf(n)) ** 2 + minus**2
    second = 2 * mpf(y) * low_C + fsum(p**2 for p in exact(Q)) - plus**2
    claims = Claims(
        a=a[None],
        a_error=np.zeros(1),
        q=np.array([q]),
        q_error=np.array([q_error]),
        n=np.array([n]),
        C=np.array([C]),
        C_error=np.array([C_error]),
        product=np.zeros(1),
    )
    return Q, y, claims, max(first, second)


@pytest.mark.slow
def test_no_rounding_of_the_certificate_is_forgotten():
    """The lower bound of g is one, whichever of its parts is by far the largest."""
    rng = np.random.default_rng(12)
    cone = NonNegativeCone(1)
    decided = 0
    for _ in range(6000):
        Q, y, claims, g = claim_of_any_size(rng)
        norm = norm_upper(Q)
        Z = Q + y * claims.a[0]
        parts = [np.array([np.linalg.norm(np.maximum(sign * Z, 0.0))]) for sign in (1.0, -1.0)]
        size = float(abs(g)) + norm**2 + (y * claims.n[0]) ** 2
        for square in (float(g), float(g) + UNIT * size, float(g) - 1e-3 * size):
            region = Region(Q, square, cone.norm_lower(Q), norm, 0.0, 0.0)
            got = passes(region, claims, np.array([y]), *parts)[0]
            assert not got or g > mpf(square), (Q, y, claims, square)
            decided += got
    assert decided > 1000


def claim(a, Q, C, r):
    """Return the region of a ball around a point of small integers, and a claim without errors."""
    zero, product = np.zeros(1), float(a @ np.maximum(Q, 0.0))
    square = float(Q @ Q)
    region = Region(Q, r * r, np.sqrt(square) * (1.0 - 1e-15), norm_upper(Q), 0.0, 0.0)
    claims = Claims(
        a=a[None],
        a_error=zero,
        q=np.array([float(a @ Q)]),
        q_error=zero,
        n=np.array([norm_upper(a)]),
        C=np.array([C]),
        C_error=zero,
        product=np.array([product]),
    )
    return region, claims, product


@pytest.mark.parametrize("step", [1.0, 0.5, 2.0**-20, 2.0**20])
@pytest.mark.slow
def test_over_an_orthant_every_true_claim_is_certified(step):
    """Small integers: zeros, several changes of sign at one y, pieces on which nothing rises."""
    rng = np.random.default_rng(14)
    certified = 0
    for _ in range(700):
        d = int(rng.integers(1, 5))
        a, Q = rng.integers(-2, 3, size=d).astype(float), step * rng.integers(-2, 3, size=d)
        if not a.any():
            continue
        C = step * float(rng.integers(1, 9)) / 2.0 + float(a @ np.maximum(Q, 0.0))
        turn = sqrt(distance_to_orthant_cut(list(map(mpf, a)), exact(Q), mpf(C)))
        far = 3.0 * step * (1.0 + float(np.abs(Q).max()) / step)
        radius = far if turn > 1e6 * step else float(turn) * (1.0 - 1e-6)
        for r, expected in ((radius, True), (radius * (1.0 + 2e-6), turn > 1e6 * step)):
            region, claims, _ = claim(a, Q, C, r)
            with np.errstate(all="ignore"):
                assert certify_orthant(region, claims, 1)[0] == expected, (a, Q, C, r)
            certified += expected
    assert certified > 300


@pytest.mark.parametrize("d", [2, 4, 17])
def test_true_claims_take_a_few_steps(d):
    """Over the semidefinite cone: four steps decide all that two hundred do."""
    decided = {1: 0, 4: 0, 200: 0}
    for seed in range(6):
        terms, ball = instance(seed, d, False)
        problem = ss.Problem(terms, ss.SmoothedHinge(0.3))
        center = ball.center if seed % 2 else terms.cone.split(ball.center)[0]
        for factor in np.linspace(0.1, 1.3, 13):
            smaller = ss.Sphere(center, factor * max(ball.radius, 0.3))
            for steps in decided:
                found = semidefinite(problem, smaller, max_iter=steps)
                decided[steps] += found.n_L + found.n_R
    assert 0 < decided[1] < decided[4] == decided[200]


def test_the_region_is_bounded_from_both_sides():
    rng = np.random.default_rng(13)
    for d in (1, 2, 5):
        for cone in (NonNegativeCone(d), PSDCone(d)):
            for scale in (1.0, 1e-155, 1e-161, 3e-162, 1e75):
                for _ in range(20):
                    Q = rng.normal(size=cone.shape) * scale
                    if Q.ndim == 2:
                        Q = Q + Q.T
                    r = float(rng.uniform() * scale)
                    region, _ = _region(cone, Q, r)
                    true = sqrt(fsum(v**2 for v in exact(Q.ravel())))
                    assert mpf(region.norm_low) <= true <= mpf(region.norm)
                    assert mpf(region.square) >= mpf(r) ** 2
                    assert scale < 1e-100 or region.norm_low >= true * (1 - mpf(10) ** -13)


def test_the_orthant_is_not_taken_for_the_whole_space(make_samples, make_problem):
    """Points of the ball that are not in an orthant count."""
    problem = make_problem(make_samples([[1.0], [1.0]]), [-1.2, -0.8])
    got = semidefinite(problem, ss.Sphere(np.array([-1.0]), 0.5))
    assert not got.in_L.any() and not got.in_R.any()


def test_where_the_linear_region_begins_far_below_the_threshold():
    """``tau - gamma`` is as rough as tau, which is large: terms at it are not linear."""
    terms = ss.Triplets(np.array([[0.0], [1.0], [2.0]]), [[0, 1, 2]], diagonal=True)  # a = 3
    tried = 0
    for exponent in range(20, 50):
        gamma = 2.0**exponent
        for r in np.random.default_rng(exponent).uniform(0.1, 1.0, size=10):
            highest = 3 * (Fraction(0.7) + Fraction(r))
            tau = gamma + float(highest)
            for level in (tau - np.spacing(tau), tau, tau + np.spacing(tau)):
                if Fraction(level) - Fraction(gamma) <= highest:
                    tried += 1
                    problem = ss.Problem(terms.with_threshold(level), ss.SmoothedHinge(gamma))
                    assert not semidefinite(problem, ss.Sphere(np.array([0.7]), r)).in_L[0]
    assert tried > 300


@pytest.mark.parametrize("name", RULES)
def test_terms_in_chunks_are_decided_as_all_at_once(name, monkeypatch):
    terms, ball = instance(2, 3, True)
    problem = ss.Problem(terms, ss.SmoothedHinge(0.3))
    whole = RULES[name](problem, ball)
    pieces = [(start, min(start + 3, len(terms))) for start in range(0, len(terms), 3)]
    monkeypatch.setattr(type(terms), "chunks", lambda self: iter(pieces))
    got = RULES[name](problem, ball)
    assert len(pieces) > 2 and whole.rate > 0.0
    assert (got.in_L == whole.in_L).all() and (got.in_R == whole.in_R).all()
