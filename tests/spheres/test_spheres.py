"""Spheres against the printed formulas, and the facts that relate them."""

import numpy as np
import pytest

import safescreen as ss
from instances import GAMMAS, KINDS, instance
from naive import relaxed_path_bound, screen_by_definition
from safescreen import spheres

every = pytest.mark.parametrize("kind", KINDS)
widths = pytest.mark.parametrize("gamma", GAMMAS)


def same(ball, expected, size):
    """Equal to rounding: a radius is a square root of differences, so half of the digits where it nearly vanishes."""
    center, radius = expected
    assert np.allclose(ball.center, center, rtol=1e-11, atol=1e-12 * size)
    assert radius * (1.0 - 1e-9) - 1e-7 * size <= ball.radius <= radius * (1.0 + 1e-9) + 1e-7 * size


def cases(kind, gamma):
    """Yield ``(instance, problem, naive, lam, x, alpha, size)`` for plain and reduced problems."""
    of, rng = instance(kind), np.random.default_rng(0)
    lam, which = of.lam(0.3), rng.integers(0, 3, len(of.terms))
    pairs = [(of.problem(gamma), of.naive(gamma)), (of.problem(gamma, linear=of.feasible(rng, lam)), None)]
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
        same(spheres.projected_gradient_bound(problem, x, lam), naive.projected_gradient_bound(x, lam), size)
        for dual in (None, alpha):
            same(spheres.duality_gap_bound(problem, x, lam, dual), naive.duality_gap_bound(x, lam, dual), size)
            same(spheres.midpoint_gap_bound(problem, x, lam, dual), naive.midpoint_gap_bound(x, lam, dual), size)
        same(spheres.constrained_duality_gap_bound(problem, alpha, lam), naive.constrained_duality_gap_bound(alpha, lam), size)
        for lam1 in (0.3 * lam, lam, 2.0 * lam):
            same(spheres.relaxed_path_bound(x, 0.01, lam, lam1), relaxed_path_bound(x, 0.01, lam, lam1), size)
            same(spheres.path_bound(x, lam, lam1), relaxed_path_bound(x, 0.0, lam, lam1), size)


@widths
@every
def test_the_sphere_rule_is_its_definition(kind, gamma):
    for _, problem, naive, _, x, _, size in cases(kind, gamma):
        for radius in (0.0, 1e-3 * size, 0.1 * size, size):
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
        gb, pgb = spheres.gradient_bound(problem, x, lam), spheres.projected_gradient_bound(problem, x, lam)
        assert pgb.radius <= gb.radius * up + tiny
        for dual in (None, alpha):
            dgb, mgb = (f(problem, x, lam, dual) for f in (spheres.duality_gap_bound, spheres.midpoint_gap_bound))
            assert mgb.radius <= dgb.radius / np.sqrt(2.0) * up + tiny
            assert np.linalg.norm(mgb.center - dgb.center) + mgb.radius <= dgb.radius * up + tiny  # inside
        mgb, dgb = spheres.midpoint_gap_bound(problem, x, lam), spheres.duality_gap_bound(problem, x, lam)
        if of.cone == "free":
            assert mgb.radius == pytest.approx(0.5 * dgb.radius, rel=1e-8, abs=tiny)
            assert np.allclose(mgb.center, gb.center, atol=1e-12 * size)
            assert mgb.radius == pytest.approx(gb.radius, rel=1e-8, abs=tiny)
            assert pgb.radius == pytest.approx(gb.radius, rel=1e-8, abs=tiny)
        at = problem.x_of(alpha, lam)
        cdgb, special = spheres.constrained_duality_gap_bound(problem, alpha, lam), spheres.midpoint_gap_bound(problem, at, lam, alpha)
        assert np.allclose(cdgb.center, special.center, atol=1e-12 * size)
        assert cdgb.radius == pytest.approx(special.radius, rel=1e-12)
        eps = dgb.radius
        rrpb = spheres.relaxed_path_bound(x, eps, lam, lam)
        assert np.array_equal(rrpb.center, dgb.center) and rrpb.radius == pytest.approx(eps, rel=1e-12, abs=1e-14 * size)


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
        reference = spheres.base.Reference(problem, problem.evaluate(best.x, lam))
        assert ss.SPHERES[name].build(reference).radius <= 1e-5 * size, name
    gb = spheres.gradient_bound(problem, best.x, lam)
    minus = problem.evaluate(best.x, lam).minus  # STS19 Theorem 9: what is left of GB is the cone's active part
    assert gb.radius == pytest.approx(np.linalg.norm(minus) / (2.0 * lam), rel=1e-4, abs=1e-5 * size)


@every
def test_normals_are_half_spaces_of_the_cone(kind):
    of, rng = instance(kind), np.random.default_rng(0)
    problem, lam = of.problem(0.05), of.lam(0.3)
    reference = spheres.base.Reference(problem, problem.evaluate(of.feasible(rng, 1e-2), lam))
    for name, family in ss.SPHERES.items():
        ball = family.build(reference)
        assert ball.name == name and ball.contains(ball.center)
        if ball.normal is not None:
            for _ in range(5):
                assert np.vdot(ball.normal, of.feasible(rng)) >= -1e-12 * np.linalg.norm(ball.normal)


def test_a_sphere_may_have_radius_nan():
    assert not ss.Sphere(np.zeros(2), np.nan).contains(np.zeros(2))


def test_bad_input_is_named():
    problem = instance("full").problem(0.05)
    x, n = np.eye(3), len(problem)
    functions = [spheres.gradient_bound, spheres.projected_gradient_bound, spheres.duality_gap_bound, spheres.midpoint_gap_bound]
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
