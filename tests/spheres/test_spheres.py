"""Spheres against the printed formulas, and the facts that relate them."""

from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import safescreen as ss
from instances import GAMMAS, KINDS, instance
from naive import relaxed_path_bound, screen_by_definition
from naive.extremes import dot, exact, norm
from safescreen import spheres
from safescreen.cones import FreeSpace, NonNegativeCone
from safescreen.problem import Evaluation
from safescreen.rounding import UNIT, Element, norm_upper
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.gap import from_evaluation_dgb, from_evaluation_mgb
from safescreen.spheres.gradient import from_evaluation_gb, from_evaluation_pgb
from safescreen.spheres.path import reference_accuracy

every = pytest.mark.parametrize("kind", KINDS)
widths = pytest.mark.parametrize("gamma", GAMMAS)


def same(ball, expected, size):
    """Equal to rounding: a radius is a square root of differences, so half of the digits where
    it nearly vanishes.
    """
    center, radius = expected
    assert np.allclose(ball.center, center, rtol=1e-11, atol=1e-12 * size)
    assert radius * (1.0 - 1e-9) - 1e-7 * size <= ball.radius <= radius * (1.0 + 1e-9) + 1e-7 * size


def cases(kind, gamma):
    """Yield ``(instance, problem, naive, lam, x, alpha, size)`` for plain and reduced problems."""
    of, rng = instance(kind), np.random.default_rng(0)
    lam, which = of.lam(0.3), rng.integers(0, 3, len(of.terms))
    pairs = [
        (of.problem(gamma), of.naive(gamma)),
        (of.problem(gamma, linear=of.feasible(rng, lam)), None),
    ]
    pairs[1] = (pairs[1][0], of.naive(gamma, linear=pairs[1][0].linear))
    pairs.append(tuple(p.reduce(which == 1, which == 2) for p in pairs[0]))
    for problem, naive in pairs:
        size = float(np.linalg.norm(problem.all_linear())) / lam
        for scale in (0.0, 0.1, 1.0):
            x = of.feasible(rng, scale * size)
            yield of, problem, naive, lam, x, rng.uniform(size=len(problem)), size


@widths
@every
def test_printed_formulas(kind, gamma):
    for _, problem, naive, lam, x, alpha, size in cases(kind, gamma):
        same(spheres.gradient_bound(problem, x, lam), naive.gradient_bound(x, lam), size)
        same(
            spheres.projected_gradient_bound(problem, x, lam),
            naive.projected_gradient_bound(x, lam),
            size,
        )
        for dual in (None, alpha):
            same(
                spheres.duality_gap_bound(problem, x, lam, dual),
                naive.duality_gap_bound(x, lam, dual),
                size,
            )
            same(
                spheres.midpoint_gap_bound(problem, x, lam, dual),
                naive.midpoint_gap_bound(x, lam, dual),
                size,
            )
        same(
            spheres.constrained_duality_gap_bound(problem, alpha, lam),
            naive.constrained_duality_gap_bound(alpha, lam),
            size,
        )
        for lam1 in (0.3 * lam, lam, 2.0 * lam):
            same(
                spheres.relaxed_path_bound(x, 0.01, lam, lam1),
                relaxed_path_bound(x, 0.01, lam, lam1),
                size,
            )
            same(spheres.path_bound(x, lam, lam1), relaxed_path_bound(x, 0.0, lam, lam1), size)


@widths
@every
def test_the_sphere_rule_is_its_definition(kind, gamma):
    """No radius is the norm of a centre. A term parallel to the centre would be a tie then, which
    rounding decides in the definition.
    """
    for _, problem, naive, _, x, _, size in cases(kind, gamma):
        for radius in (0.0, 1e-3 * size, 0.09 * size, 0.9 * size):
            found = ss.rules.sphere(problem, ss.Sphere(x, radius))
            in_L, in_R = screen_by_definition(naive, x, radius)
            assert np.array_equal(found.in_L, in_L) and np.array_equal(found.in_R, in_R)
            assert found.rate == pytest.approx((in_L.sum() + in_R.sum()) / len(problem))
            assert (found.n_L, found.n_R) == (in_L.sum(), in_R.sum())


@widths
@every
def test_order(kind, gamma):
    up = 1.0 + 1e-9
    for of, problem, _, lam, x, alpha, size in cases(kind, gamma):
        tiny = 1e-7 * size
        gb, pgb = (
            spheres.gradient_bound(problem, x, lam),
            spheres.projected_gradient_bound(problem, x, lam),
        )
        assert pgb.radius <= gb.radius * up + tiny
        for dual in (None, alpha):
            dgb, mgb = (
                f(problem, x, lam, dual)
                for f in (spheres.duality_gap_bound, spheres.midpoint_gap_bound)
            )
            assert mgb.radius <= dgb.radius / np.sqrt(2.0) * up + tiny
            # inside
            assert np.linalg.norm(mgb.center - dgb.center) + mgb.radius <= dgb.radius * up + tiny
        mgb, dgb = (
            spheres.midpoint_gap_bound(problem, x, lam),
            spheres.duality_gap_bound(problem, x, lam),
        )
        if of.cone == "free":
            assert mgb.radius == pytest.approx(0.5 * dgb.radius, rel=1e-8, abs=tiny)
            assert np.allclose(mgb.center, gb.center, atol=1e-12 * size)
            assert mgb.radius == pytest.approx(gb.radius, rel=1e-8, abs=tiny)
            assert pgb.radius == pytest.approx(gb.radius, rel=1e-8, abs=tiny)
        at = problem.x_of(alpha, lam)
        cdgb, special = (
            spheres.constrained_duality_gap_bound(problem, alpha, lam),
            spheres.midpoint_gap_bound(problem, at, lam, alpha),
        )
        assert np.allclose(cdgb.center, special.center, atol=1e-12 * size)
        assert cdgb.radius == pytest.approx(special.radius, rel=1e-12)
        eps = dgb.radius
        rrpb = spheres.relaxed_path_bound(x, eps, lam, lam)
        assert np.array_equal(rrpb.center, dgb.center) and rrpb.radius == pytest.approx(
            eps, rel=1e-12, abs=1e-14 * size
        )


@pytest.mark.parametrize("gamma", [0.05, 0.5])
@every
def test_at_the_exact_optimum_of_lam0(kind, gamma):
    """STS19 Theorems 7 and 8: PGB is RPB, and DGB has twice its radius and contains it."""
    of = instance(kind)
    problem, lam0 = of.problem(gamma), of.lam(0.3)
    best = ss.solve(problem, lam0, tol=0.0, rtol=1e-13, screening=())
    size = np.linalg.norm(best.x)
    for lam1 in (0.5 * lam0, 0.9 * lam0, 1.5 * lam0):
        rpb = spheres.path_bound(best.x, lam0, lam1)
        pgb = spheres.projected_gradient_bound(problem, best.x, lam1)
        dgb = spheres.duality_gap_bound(problem, best.x, lam1)
        assert np.allclose(pgb.center, rpb.center, atol=1e-5 * size)
        assert pgb.radius == pytest.approx(rpb.radius, rel=1e-4)
        assert dgb.radius == pytest.approx(2.0 * rpb.radius, rel=1e-4)
        assert np.linalg.norm(rpb.center - dgb.center) + rpb.radius <= dgb.radius * (1.0 + 1e-4)


@pytest.mark.parametrize("gamma", [0.05, 0.5])
@every
def test_radii_at_the_optimum(kind, gamma):
    of = instance(kind)
    problem, lam = of.problem(gamma), of.lam(0.3)
    best = ss.solve(problem, lam, tol=0.0, rtol=1e-13, screening=())
    size = np.linalg.norm(best.x)
    for name in ("PGB", "DGB", "CDGB", "MGB", "RRPB"):
        reference = spheres.base.BallReference(problem, problem.evaluate(best.x, lam))
        assert ss.SPHERES[name].build(reference).radius <= 1e-5 * size, name
    gb = spheres.gradient_bound(problem, best.x, lam)
    # STS19 Theorem 9: what is left of GB is the cone's active part
    minus = problem.evaluate(best.x, lam).minus
    assert gb.radius == pytest.approx(
        np.linalg.norm(minus) / (2.0 * lam), rel=1e-4, abs=1e-5 * size
    )


@every
def test_normals_are_half_spaces_of_the_cone(kind):
    of, rng = instance(kind), np.random.default_rng(0)
    problem, lam = of.problem(0.05), of.lam(0.3)
    reference = spheres.base.BallReference(problem, problem.evaluate(of.feasible(rng, 1e-2), lam))
    for name, family in ss.SPHERES.items():
        ball = family.build(reference)
        assert ball.name == name and ball.contains(ball.center)
        if ball.normal is not None:
            for _ in range(5):
                assert np.vdot(ball.normal, of.feasible(rng)) >= -1e-12 * np.linalg.norm(
                    ball.normal
                )


class Rough(NonNegativeCone):
    """A cone whose split is off: each part by a vector of its own, of length `off` at most."""

    def __init__(self, d, on_plus, on_minus, off):
        super().__init__(d)
        self.__dict__.update(on_plus=on_plus, on_minus=on_minus, off=off)

    def split(self, H):
        plus, minus = super().split(H)
        return plus + self.on_plus, minus + self.on_minus

    def split_error(self, H):
        return self.off

    def inner(self, x, y):
        return super().inner(x, y) - self.off

    def inner_error(self, x, y):
        return self.off


def evaluation(x, H, lam=1.0, gap=0.0, **errors):
    """Return what spheres look at of an evaluation, over the whole space unless said otherwise,
    with declared errors.
    """
    fields = dict.fromkeys(Evaluation.__dataclass_fields__, 0.0)
    values = {
        "x": x,
        "H": H,
        "lam": lam,
        "gap": gap,
        "x_alpha": H / lam,
        "distance": float(np.linalg.norm(x - H / lam)),
    }
    return Evaluation(**(fields | values | errors))


def gradient_ball(x, H, lam):
    return (x + H / lam) / 2, np.linalg.norm(x - H / lam) / 2


def test_declared_errors_are_in_the_radius():
    """Whatever moves x, H or x(alpha) by what the evaluation declares, the ball of what was
    moved lies in the ball.
    """
    cone, lam, off, up = FreeSpace(3), 2.0, 0.01, 1.0 + 1e-9
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, H = rng.standard_normal((2, 3))
        e = evaluation(x, H, lam)
        unit = (x - H / lam) / np.linalg.norm(x - H / lam)
        for step in (unit, -unit, *(v / np.linalg.norm(v) for v in rng.standard_normal((3, 3)))):
            for build in (from_evaluation_gb, from_evaluation_pgb):  # the same over the whole space
                for moved, errors in (
                    ((x, H - off * step), {"H_error": off}),
                    ((x + off * step, H), {"x_error": off}),
                ):
                    ball = build(cone, replace(e, **errors))
                    center, radius = gradient_ball(*moved, lam)
                    assert np.linalg.norm(ball.center - center) + radius <= ball.radius * up
                    assert ball.radius <= np.linalg.norm(x - H / lam) / 2 + 1.1 * off
            for moved in ({"x": x + off * step}, {"x_alpha": H / lam - off * step}):
                errors = (
                    {"x_error": off, "distance": e.distance + off}
                    if "x" in moved
                    else {"x_alpha_error": off}
                )
                ball, true = from_evaluation_mgb(cone, replace(e, **errors)), replace(e, **moved)
                radius = np.linalg.norm(true.x - true.x_alpha) / 2
                assert (
                    np.linalg.norm(ball.center - (true.x + true.x_alpha) / 2) + radius
                    <= ball.radius * up
                )
        ball = from_evaluation_mgb(
            cone, replace(e, x_error=off, x_alpha_error=off, distance=e.distance + off)
        )
        assert ball.radius <= (e.distance / 2 + 2 * off) * up  # and not more
        with_gap = evaluation(x, H, lam, gap=0.3, x_error=off)
        ball, radius = from_evaluation_dgb(with_gap), np.sqrt(2 * 0.3 / lam)
        assert (
            radius + off <= ball.radius * up and radius + off <= reference_accuracy(with_gap) * up
        )
        assert max(ball.radius, reference_accuracy(with_gap)) <= (radius + off) * up


def test_declared_errors_of_a_split_are_in_the_radius():
    """PGB in the quarter plane: the points of the true cap's rim lie in the ball of a split that
    is off.
    """
    off, zero = 0.01, np.zeros(2)

    def rim(x, Q):
        plus = np.maximum(Q, 0.0)
        radius = np.sqrt(np.sum((x - plus) ** 2) + 2 * x @ (plus - Q))
        return [plus + radius * np.array(side) for side in ((1.0, 0.0), (-1.0, 0.0))]

    x, Q = np.array([10.0, 0.1]), np.array([10.0, -1.0])  # x is long: the error of minus counts
    # nothing is cut off, and x is short: the error of plus counts
    far, near = zero, np.array([2.0, 0.0])
    along = np.array([1.0, 0.0])
    for start, middle, on_plus, on_minus in (
        (x, Q, zero, -off * x / np.linalg.norm(x)),
        (far, near, -off * along, zero),
    ):
        ball = from_evaluation_pgb(
            Rough(2, on_plus, on_minus, off), evaluation(start, 2 * middle - start)
        )
        for point in rim(start, middle):
            assert np.linalg.norm(ball.center - point) <= ball.radius
    # x moved along minus, which is long
    x, Q, step = np.array([10.0, 0.0]), np.array([10.0, -5.0]), np.array([0.0, off])
    ball = from_evaluation_pgb(NonNegativeCone(2), evaluation(x, 2 * Q - x, x_error=off))
    for point in rim(x + step, Q + step / 2):
        assert np.linalg.norm(ball.center - point) <= ball.radius


def test_declared_errors_of_a_split_that_add_up():
    """PGB on the half-line, with x and both parts of the split moved either way."""
    moves, places = (-1.0, -0.5, 0.0, 0.5, 1.0), (-2.0, -1.0, 0.0, 0.5, 2.0)
    for x, Q, dx, on_plus, on_minus in product((0.0, 0.5, 2.0), places, moves, moves, moves):
        true_x = x + dx
        if true_x < 0.0:
            continue
        H = 2.0 * Q - x
        true_Q = (true_x + H) / 2.0
        apart = true_x - max(true_Q, 0.0)
        radius = np.sqrt(apart**2 + 2.0 * true_x * max(-true_Q, 0.0))
        off = max(abs(on_plus), abs(on_minus))
        cone = Rough(1, np.array([on_plus]), np.array([on_minus]), off)
        ball = from_evaluation_pgb(cone, evaluation(np.array([x]), np.array([H]), x_error=abs(dx)))
        assert abs(ball.center[0] - max(true_Q, 0.0)) + radius <= ball.radius


class Coefficients(FreeSpace):
    """A space whose elements are sums of large numbers: `sizes` of them, by name."""

    def __init__(self, d, **sizes):
        super().__init__(d)
        self.__dict__.update(sizes=sizes, names={})

    def magnitude(self, x):
        return self.sizes.get(self.names.get(id(x), "plus"), 0.0)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", ["x", "H", "plus", "x_alpha"])
def test_roundings_of_what_nearly_cancels_are_in_the_radius(name, lam):
    """Elements that are sums of coefficients change by the size of these when they are rounded."""
    rounded = 0.25 * (lam if name == "H" else 1.0)
    cone = Coefficients(3, **{name: rounded / UNIT})
    x = np.ones(3)
    e = evaluation(x, lam * (x + 2.0 / np.sqrt(3.0)), lam)
    cone.names.update({id(getattr(e, part)): part for part in ("x", "H", "x_alpha")})
    moved = 1.0 + 0.25 / 2.0  # the exact radius, and a rounding of one half
    if name != "x_alpha":
        assert from_evaluation_pgb(cone, e).radius >= moved
    if name in ("x", "H"):
        assert from_evaluation_gb(cone, e).radius >= moved
    if name in ("x", "x_alpha"):
        assert from_evaluation_mgb(cone, e).radius >= moved


class Sum(Element):
    """A number that is the sum of large ones."""

    def __init__(self, value, size):
        self.value = value
        self.size = size
        self.space = self

    def check(self, x, name="x"):
        return x

    def __rmul__(self, factor):
        return Sum(factor * self.value, factor * self.size)

    def norm_upper(self):
        return self.value

    def magnitude(self):
        return self.size


def test_path_bounds_of_what_nearly_cancels():
    for lam1 in (1.0, 0.01):
        ball = spheres.path_bound(Sum(1.0, 1e20), 1.0, lam1)
        assert ball.radius >= 3.0 * UNIT * ball.center.size


def evaluations_of_any_size():
    """Yield evaluations over three coordinates in which x, H/lam and the Fenchel terms are as
    large as each other or not, and x is H/lam or not.
    """
    rng = np.random.default_rng(3)
    sizes = (1e-7, 0.3, 1.0, 7.0, 1e9)
    for size, other, lam, phi, near in product(
        sizes, sizes, (1e-3, 0.7, 300.0), (0.0, 1e-30, 1.0), (True, False)
    ):
        x = size * rng.uniform(size=3)
        x_alpha = other * rng.uniform(size=3)
        if near:
            x_alpha = x * (1.0 + 1e-15 * rng.standard_normal(3))
        H = np.where(rng.uniform(size=3) < 0.3, -1.0, 1.0) * x_alpha * lam
        x_alpha = np.maximum(H, 0.0) / lam
        fenchel = phi * lam * size * size
        distance = norm_upper(x - x_alpha)
        yield evaluation(
            x, H, lam, x_alpha=x_alpha, distance=distance, fenchel=fenchel, excess=fenchel / lam
        )


def test_roundings_are_in_the_radius():
    """The exact ball lies in the computed one, also where its radius is less than the rounding
    of its center.
    """
    cone = NonNegativeCone(3)
    for e in evaluations_of_any_size():
        x, H, x_alpha = exact(e.x), exact(e.H), exact(e.x_alpha)
        lam, phi, half = mpf(e.lam), mpf(float(e.fenchel)) / mpf(e.lam), mpf(0.5)
        Q = [half * (p + q / lam) for p, q in zip(x, H, strict=True)]
        plus = [max(q, 0) for q in Q]
        apart = [p - q for p, q in zip(plus, x, strict=True)]
        pgb = dot(apart, apart) + 2 * dot(x, [p - q for p, q in zip(plus, Q, strict=True)]) + phi
        apart = [p - q for p, q in zip(x, Q, strict=True)]
        gb = dot(apart, apart) + phi
        midpoint = [half * (p + q) for p, q in zip(x, x_alpha, strict=True)]
        mgb = mpf(e.distance) ** 2 / 4 + mpf(float(e.excess))
        for build, center, square in (
            (from_evaluation_gb, Q, gb),
            (from_evaluation_pgb, plus, pgb),
            (from_evaluation_mgb, midpoint, mgb),
        ):
            ball = build(cone, e)
            moved = norm([p - q for p, q in zip(exact(ball.center), center, strict=True)])
            radius = mpmath.sqrt(square)
            assert moved + radius <= mpf(ball.radius)
            assert ball.radius <= radius * (1 + mpf(10) ** -9) + 1e-7 * float(norm(x) + norm(Q))


def test_path_bounds_in_fractions():
    """The exact ball lies in the computed one, also where its radius is less than the rounding
    of its center.
    """
    rng = np.random.default_rng(1)
    for _ in range(200):
        x0, lam0 = rng.standard_normal(3), rng.uniform(0.5, 2.0)
        for lam1 in (np.nextafter(lam0, 0.0), np.nextafter(lam0, 9.0), 0.3 * lam0, 7.0 * lam0):
            for eps in (0.0, 1e-20, 0.1):
                ball = spheres.relaxed_path_bound(x0, eps, lam0, lam1)
                a, b, true = mpf(lam0), mpf(lam1), exact(x0)
                center = [(a + b) / (2 * b) * v for v in true]
                radius = abs(a - b) / (2 * b) * norm(true) + max(a, b) / b * mpf(eps)
                apart = mpmath.sqrt(
                    mpmath.fsum(
                        (v - w) ** 2 for v, w in zip(exact(ball.center), center, strict=True)
                    )
                )
                assert apart + radius <= mpf(ball.radius)


@every
def test_families_are_their_functions(kind):
    of, rng = instance(kind), np.random.default_rng(0)
    problem, lam = of.problem(0.05), of.lam(0.3)
    x, alpha = of.feasible(rng, 1e-2), rng.uniform(size=len(of.terms))
    for dual in (None, alpha):
        e = problem.evaluate(x, lam, dual)
        reference = BallReference(problem, e)
        dgb, mgb = (
            f(problem, x, lam, dual)
            for f in (spheres.duality_gap_bound, spheres.midpoint_gap_bound)
        )
        wanted = {
            "DGB": dgb,
            "MGB": mgb,
            "RRPB": dgb,
            "CDGB": spheres.midpoint_gap_bound(problem, e.x_alpha, lam),
            "BT2": spheres.midpoint_gap_bound(problem, x, lam, problem.alpha(mgb.center)),
        }
        if dual is None:
            wanted |= {
                "GB": spheres.gradient_bound(problem, x, lam),
                "PGB": spheres.projected_gradient_bound(problem, x, lam),
            }
        for name, ball in wanted.items():
            found = ss.SPHERES[name].build(reference)
            assert found.name == name and np.allclose(
                found.center, ball.center, rtol=1e-13, atol=0.0
            )
            assert found.radius == pytest.approx(ball.radius, rel=1e-12)
        minus = problem.evaluate(e.x_alpha, lam).minus
        assert np.array_equal(ss.SPHERES["CDGB"].build(reference).normal, minus)
        path = PathReference(x0=x, lam0=1.3 * lam, eps=0.02)
        found, ball = (
            ss.SPHERES["RRPB"].build(BallReference(problem, e, path)),
            spheres.relaxed_path_bound(x, 0.02, 1.3 * lam, lam),
        )
        assert np.array_equal(found.center, ball.center) and found.radius == ball.radius


def test_a_sphere_contains_what_is_within_its_radius():
    ball = ss.Sphere(np.array([1.0, 0.0]), 0.5)
    assert ball.contains(np.array([1.0, 0.5])) and not ball.contains(np.array([1.0, 0.51]))
    for radius, decides in (
        (0.0, True),
        (1.0, True),
        (np.nan, False),
        (np.inf, False),
        (-1.0, False),
    ):
        assert ss.Sphere(np.zeros(2), radius).decides == decides


def test_a_sphere_may_have_radius_nan():
    assert not ss.Sphere(np.zeros(2), np.nan).contains(np.zeros(2))


def test_bad_input_is_named():
    problem = instance("full").problem(0.05)
    x, n = np.eye(3), len(problem)
    functions = [
        spheres.gradient_bound,
        spheres.projected_gradient_bound,
        spheres.duality_gap_bound,
        spheres.midpoint_gap_bound,
    ]
    for function in functions:
        with pytest.raises(ValueError, match="x must lie in the PSDCone"):
            function(problem, -x, 1.0)
        with pytest.raises(ValueError, match="lam must be greater than 0"):
            function(problem, x, 0.0)
        with pytest.raises(ValueError, match="x must be finite"):
            function(problem, x * np.nan, 1.0)
    for function in functions[2:]:
        with pytest.raises(ValueError, match="alpha must be at most 1"):
            function(problem, x, 1.0, np.full(n, 2.0))
    with pytest.raises(ValueError, match="alpha must have shape"):
        spheres.constrained_duality_gap_bound(problem, np.ones(n - 1), 1.0)
    with pytest.raises(ValueError, match="eps must be at least 0"):
        spheres.relaxed_path_bound(x, -1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="eps must be finite"):
        spheres.relaxed_path_bound(x, np.nan, 1.0, 1.0)
    with pytest.raises(ValueError, match="lam0 must be greater than 0"):
        spheres.path_bound(x, 0.0, 1.0)
    with pytest.raises(ValueError, match="lam1 must be greater than 0"):
        spheres.path_bound(x, 1.0, -1.0)
    with pytest.raises(ValueError, match="x0 must be finite"):
        spheres.path_bound(x * np.nan, 1.0, 1.0)
