"""Ranges of GB, DGB and MGB against their spheres on a grid of lam, in 50-digit arithmetic, and
against solved problems.
"""

from functools import lru_cache
from itertools import product
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import safescreen as ss
from instances import instance
from naive.exact import minus, split
from naive.extremes import dot, exact, norm
from safescreen.ranges import duality_gap, general, gradient, midpoint_gap, relaxed_path
from safescreen.rounding import UNIT

BALLS = {
    "GB": (gradient, ss.spheres.gradient_bound),
    "DGB": (duality_gap, ss.spheres.duality_gap_bound),
    "MGB": (midpoint_gap, ss.spheres.midpoint_gap_bound),
}
ENDS = ("L_low", "L_high", "R_low", "R_high")


@lru_cache
def solved(kind, gamma, data="normal", tol=1e-3):
    """Return an instance, its problem, a lam with terms of every category and a rough solution."""
    inst = instance(kind, data)
    problem, lam0 = inst.problem(gamma), inst.lam(0.3)
    return inst, problem, lam0, ss.solve(problem, lam0, tol=0.0, rtol=tol, screening=()).x


def at_every(problem, build, x, lams, accuracy):
    """Return two arrays of shape (len(lams), T): what the sphere rule decides at each lam."""
    rows = []
    for lam in lams:
        ball = build(problem, x, lam)
        found = ss.rules.sphere(
            problem, ss.Sphere(ball.center, ball.radius + np.sqrt(2.0 * accuracy / lam))
        )
        rows.append((found.in_L, found.in_R))
    return np.array(rows).transpose(1, 0, 2)


def check_grid(ranges, lams, lam0, decided, slack=1e-6):
    """Check that each interval is the run of decided lams around lam0, to the grid's spacing;
    return how many there are.
    """
    count, inside_of = 0, np.searchsorted(lams, lam0)
    for side, table in zip("LR", decided, strict=True):
        low, high = getattr(ranges, f"{side}_low"), getattr(ranges, f"{side}_high")
        for t in range(len(ranges)):
            if np.isnan(low[t]):
                assert not table[inside_of, t], (side, t)
                continue
            assert low[t] < lam0 < high[t]
            inside = (lams > low[t] * (1 + slack)) & (lams < high[t] * (1 - slack))
            assert table[inside, t].all(), (side, t, low[t], high[t])
            above, below = lams > high[t] * (1 + slack), lams < low[t] * (1 - slack)
            # the first lam beyond each end is not decided, unless a hole narrower than the grid
            # lies before it
            for beyond in (lams[above][:1], lams[below][-1:]):
                at = np.isin(lams, beyond)
                assert not table[at, t].any(), (side, t, low[t], high[t], beyond)
            count += 1
    return count


@pytest.mark.parametrize("part", [0.0, 1e-3])
@pytest.mark.parametrize("name", BALLS)
@pytest.mark.parametrize(
    ("kind", "gamma"), [("full", 0.05), ("diagonal", 0.5), ("dense", 0.05), ("csr", 0.0)]
)
def test_intervals_are_where_the_rule_holds(kind, gamma, name, part):
    inst, problem, lam0, x = solved(kind, gamma)
    around, build = BALLS[name]
    accuracy = part * problem.primal(x, lam0)
    lams = np.sort(np.append(lam0 * np.geomspace(1e-2, 1e3, 300), lam0))
    decided = at_every(problem, build, x, lams, accuracy)
    count = check_grid(around(problem, x, lam0, accuracy), lams, lam0, decided)
    assert count > 3 or gamma == 0.0


def test_from_any_reference_and_any_dual_point():
    """Far from a solution, where the rule may hold on more than one interval."""
    rng, total = np.random.default_rng(4), 0
    inst, problem, lam0, solution = solved("full", 0.05)
    for size in (0.0, 0.02, 0.1):
        x = problem.cone.project(
            solution * (1.0 + size) + size * inst.feasible(rng, np.linalg.norm(solution))
        )
        alpha = np.clip(
            problem.alpha(solution) + size * rng.uniform(-1.0, 1.0, len(problem)), 0.0, 1.0
        )
        lams = np.sort(np.append(lam0 * np.geomspace(0.1, 10.0, 200), lam0))
        for name, e_of in (
            ("DGB", lambda _, e: ss.spheres.gap.from_evaluation_dgb(e)),
            ("MGB", ss.spheres.gap.from_evaluation_mgb),
        ):

            def build(problem, x, lam, e_of=e_of, alpha=alpha):
                return e_of(problem.cone, problem.evaluate(x, lam, alpha))

            decided = at_every(problem, build, x, lams, 0.0)
            total += check_grid(BALLS[name][0](problem, x, lam0, alpha=alpha), lams, lam0, decided)
    assert total > 30


def rule_holds(name, side, a, x, H, plus, phi_and_product, threshold, accuracy, lam):
    """Return whether the enlarged sphere rule holds at lam, all in 50 digits, each radius from
    its definition.
    """
    lam = mpf(float(lam))
    other = H if name == "GB" else plus
    distance = norm(minus(x, [v / lam for v in other]))
    extra = phi_and_product[0] / lam if name == "GB" else sum(phi_and_product) / lam
    if name == "DGB":
        q, square = dot(a, x), distance**2 + 2 * extra
    else:
        q, square = (dot(a, x) + dot(a, other) / lam) / 2, distance**2 / 4 + extra
    reach = norm(a) * (mpmath.sqrt(square) + mpmath.sqrt(2 * mpf(float(accuracy)) / lam))
    return q - reach > threshold if side == "R" else q + reach < threshold


@pytest.mark.parametrize("accuracy", [0.0, 1e-2])
@pytest.mark.parametrize("name", BALLS)
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("dense", "normal"),
        ("dense", "huge"),
        ("diagonal", "near"),
        ("diagonal", "tiny"),
        ("full", "offset"),
    ],
)
def test_ends_in_exact_arithmetic(kind, data, name, accuracy):
    """At the last number inside each end, and at some between, the rule holds exactly; the ends
    are tight.
    """
    inst, problem, lam0, x = solved(kind, 0.5, data)
    alpha = problem.alpha(x)
    ranges = BALLS[name][0](problem, x, lam0, accuracy, alpha=alpha)
    oracle = inst.exact(0.5)
    point = split(exact(np.ravel(x)), inst.cone)[0]
    H = oracle.H(exact(alpha))
    plus, negative = split(H, inst.cone)
    parts = oracle.fenchel(point, exact(alpha)), dot(point, negative)
    count = 0
    for side, shift in (("L", mpf(0.5)), ("R", mpf(0))):
        low, high = (getattr(ranges, f"{side}_{end}") for end in ("low", "high"))
        for t in np.flatnonzero(~np.isnan(low))[:6]:
            fixed = (oracle.A[t], point, H, plus, parts, oracle.tau[t] - shift, accuracy)
            top, bottom = (
                min(np.nextafter(high[t], 0.0), 1e12 * lam0),
                max(np.nextafter(low[t], np.inf), 1e-12 * lam0),
            )
            for lam in (bottom, top, lam0, *np.geomspace(bottom, top, 5).clip(bottom, top)):
                assert rule_holds(name, side, *fixed, lam), (side, t, low[t], high[t], lam)
            if data == "normal":
                assert high[t] > 1e3 * lam0 or not rule_holds(
                    name, side, *fixed, high[t] * (1 + 1e-6)
                )
                assert low[t] < 1e-3 * lam0 or not rule_holds(
                    name, side, *fixed, low[t] * (1 - 1e-6)
                )
            count += 1
    assert count > 0 or data in ("offset", "near")


@pytest.mark.parametrize(
    ("data", "steps"), [*(("normal", k) for k in range(-2, 3)), ("offset", 0), ("offset", 1)]
)
@pytest.mark.parametrize("name", BALLS)
def test_thresholds_a_few_ulps_from_where_the_rule_turns(name, data, steps):
    """Of terms whose dual value is 0 and whose loss is, so that the threshold enters nowhere but in
    the rule.

    With an offset the sum H cancels, and its rounding error is what matters most.
    """
    inst, problem, lam0, x = solved("dense", 0.5, data)
    point, known = exact(x), []
    for t in range(0, len(problem), 4):
        alpha, thresholds = problem.alpha(x), np.ones(len(problem))
        alpha[t], thresholds[t] = 0.0, -1e3
        oracle = inst.exact(0.5, tau=thresholds)
        a, H, lam = oracle.A[t], oracle.H(exact(alpha)), mpf(float(lam0))
        other, extra = [v / lam for v in H], oracle.fenchel(point, exact(alpha)) / lam
        distance = norm(minus(point, other))
        if name == "DGB":
            turn = dot(a, point) - norm(a) * mpmath.sqrt(distance**2 + 2 * extra)
        else:
            turn = (dot(a, point) + dot(a, other)) / 2 - norm(a) * mpmath.sqrt(
                distance**2 / 4 + extra
            )
        threshold = float(turn)
        for _ in range(abs(steps)):
            threshold = np.nextafter(threshold, np.inf * np.sign(steps))
        for shift, expected in ((0.0, None), (1e-5, True), (-1e-5, False)):
            thresholds[t] = threshold - shift * (1.0 + abs(threshold))
            moved = ss.Problem(inst.terms.with_threshold(thresholds.copy()), problem.loss)
            decided = not np.isnan(BALLS[name][0](moved, x, lam0, alpha=alpha).R_low[t])
            assert not decided or thresholds[t] < turn
            assert expected is None or decided == expected
            known.append(decided)
    assert 10 <= np.count_nonzero(known) < len(known)


@pytest.mark.parametrize("name", BALLS)
def test_solutions_for_other_lam_lie_where_the_ranges_say(name):
    """With an accuracy, not the optimum alone but whatever a solver of that tolerance returns."""
    inst, problem, lam0, x = solved("full", 0.05)
    accuracy, checked = 1e-2 * problem.primal(x, lam0), 0
    exactly, roughly = BALLS[name][0](problem, x, lam0), BALLS[name][0](problem, x, lam0, accuracy)
    for end, inward in zip(ENDS, (1, -1, 1, -1), strict=True):
        tight, wide = getattr(roughly, end), getattr(exactly, end)
        known = ~np.isnan(tight)
        assert (inward * tight[known] >= inward * wide[known]).all() and not np.isnan(
            wide[known]
        ).any()
    for factor in (0.5, 0.8, 1.0, 1.3, 3.0):
        best = ss.solve(problem, factor * lam0, tol=0.0, rtol=1e-10, screening=())
        rough = ss.solve(problem, factor * lam0, tol=0.9 * accuracy, x0=x, screening=())
        for solution, ranges in ((best, exactly), (rough, roughly)):
            margins, decided = problem.terms.margins(solution.x), ranges.at(factor * lam0)
            assert (margins[decided.in_R] > 1.0 - 1e-7).all() and (
                margins[decided.in_L] < 0.95 + 1e-7
            ).all()
            checked += decided.n_L + decided.n_R
    assert checked > 50


def test_a_radius_two_percent_too_small_is_caught(monkeypatch):
    inst, problem, lam0, x = solved("full", 0.05)
    lams = np.sort(np.append(lam0 * np.geomspace(0.1, 10.0, 400), lam0))
    decided = at_every(problem, ss.spheres.duality_gap_bound, x, lams, 0.0)
    check_grid(duality_gap(problem, x, lam0), lams, lam0, decided)
    monkeypatch.setattr(type(inst.terms), "norms", 0.98 * problem.terms.norms)
    with pytest.raises(AssertionError):
        check_grid(duality_gap(problem, x, lam0), lams, lam0, decided)


def test_an_exact_solution_has_the_range_of_the_path_bound():
    inst, problem, lam0, x = solved("dense", 0.5, tol=1e-15)
    path = relaxed_path(problem, x, 0.0, lam0)
    for around in (gradient, midpoint_gap):
        for end in ENDS:
            np.testing.assert_allclose(
                getattr(around(problem, x, lam0), end), getattr(path, end), rtol=1e-4
            )


@pytest.mark.parametrize("kappa", [0.25, 1.0])
def test_coefficients_are_upper_bounds(kappa):
    """Of the square of the radius as a polynomial in 1 - t and in 1 - 1/t, in exact arithmetic."""
    rng = np.random.default_rng(9)
    for trial in range(300):
        x = rng.standard_normal(3) * 10.0 ** rng.uniform(-3, 3, 3)
        w = (
            x * (1.0 + 10.0 ** -rng.uniform(0, 9) * rng.standard_normal(3))
            if trial % 2
            else rng.standard_normal(3)
        )
        linear = float(rng.choice([0.0, 1e-9, 1e9]) * rng.uniform() * float(x @ x))
        e = SimpleNamespace(x=x, lam=2.0, x_error=1e-12, projection_error=0.0)
        (q0, up1, up2, down1, down2, f), steady, rising, scale = general._form(
            ss.cones.FreeSpace(3), e, kappa, w, 1e-11, linear, 0.0
        )
        X, W, unit = exact(x), exact(w), mpf(scale) ** 2
        D = minus(X, W)
        assert q0 * unit >= mpf(kappa) * dot(D, D) + mpf(linear)
        assert up1 * unit >= 2 * mpf(kappa) * dot(D, W) - mpf(linear)
        assert down1 * unit >= -2 * mpf(kappa) * dot(D, X) - mpf(linear)
        assert up2 * unit >= mpf(kappa) * dot(W, W) and down2 * unit >= mpf(kappa) * dot(X, X)
        assert f == 0.0 and steady * scale >= 2e-12 and rising * scale >= 2e-11
        tight, tiny = 1 + mpf(10) ** -9, mpf(10) ** -20 * dot(X, X)
        assert q0 * unit <= (mpf(kappa) * dot(D, D) + mpf(linear)) * tight + tiny
        assert steady * scale <= 2e-12 * tight and rising * scale <= 2e-11 * tight


class Rough(ss.cones.FreeSpace):
    """A space of sums of large numbers, with a projection that is off."""

    size = 0.0
    projection_error = 0.0

    off = 0.0
    split_off = 0.0

    def magnitude(self, x):
        return self.size

    def split_error(self, H):
        return self.split_off

    def inner(self, x, y):
        return super().inner(x, y) - self.off

    def inner_error(self, x, y):
        return super().inner_error(x, y) + self.off


def form_of(cone, x, w, kappa=1.0, linear=0.0, accuracy=0.0, lam=2.0):
    """Return ``(form, steady, rising, scale)`` without declared errors."""
    e = SimpleNamespace(x=x, lam=lam, x_error=0.0)
    return general._form(cone, e, kappa, w, 0.0, linear, accuracy)


@pytest.mark.parametrize("kappa", [0.25, 1.0])
def test_a_difference_of_sums_of_large_numbers_is_rough(kappa):
    """Each number of ``x - w`` is rounded once."""
    x, w = np.tile([1.0, 2.0, 2.0], 16), np.tile([2.0, 3.0, 6.0], 16)
    cone, D = Rough(48), np.sqrt(16 * 18.0)
    cone.size = D / 4.0 / 8.0 / UNIT  # all lengths are divided by 8
    (q0, up1, _, down1, _, _), _, _, scale = form_of(cone, x, w, kappa)
    assert scale == 8.0
    unit, off = scale**2, D / 4.0
    assert q0 * unit >= kappa * (D + off) ** 2
    assert up1 * unit >= 2.0 * kappa * ((x - w) @ w + off * 28.0)
    assert down1 * unit >= 2.0 * kappa * (off * 12.0 - (x - w) @ x)


def test_the_quotient_of_the_gradient_bound_is_rounded(monkeypatch):
    rng, cone = np.random.default_rng(3), ss.cones.FreeSpace(3)
    monkeypatch.setattr(general, "_ranges", lambda prob, e, kappa, w, w_error, *rest: (w, w_error))
    for error in (0.0, 0.1):
        for lam in rng.uniform(1e-3, 1e3, size=100):
            H = rng.normal(size=3)
            e = SimpleNamespace(x=H, H=H, lam=lam, H_error=error, fenchel=0.0)
            monkeypatch.setattr(general, "evaluated", lambda *arguments, e=e: e)
            w, w_error = gradient(SimpleNamespace(cone=cone), H, lam)
            true = [h / mpf(lam) for h in exact(H)]
            assert norm(minus(exact(w), true)) + mpf(error) / lam <= mpf(w_error)
            assert w_error <= 1.001 * error / lam + 1e-14 * np.linalg.norm(H) / lam


def test_errors_of_a_split_and_of_x_add_up():
    """Of ``(phi + <x, H_->)/lam`` on the half-line, everything moved either way."""
    cone, lam = Rough(1), 0.5
    for x, m, dx, dm, off, phi in product(
        (0.0, 0.5, 2.0), (0.0, 0.5, 2.0), (0.0, 0.5, 1.0), (0.0, 0.5, 1.0), (0.0, 0.3), (0.0, 3.0)
    ):
        cone.off = off
        cone.split_off = dm
        e = SimpleNamespace(
            x=np.array([x]), minus=np.array([m]), H=None, x_error=dx, fenchel=phi, lam=lam
        )
        worst = phi + (x + dx) * (m + dm)
        assert general._fenchel_and_product(cone, e) >= worst / lam


@pytest.mark.parametrize("largest", ["x", "w", "linear", "accuracy", "linear accuracy", ""])
@pytest.mark.parametrize("kappa", [0.25, 1.0])
def test_solutions_to_come_are_in_the_cone_up_to_rounding(kappa, largest):
    """As large as the ball allows, times the error of a projection."""
    cone, sizes = Rough(16), dict.fromkeys(("x", "w", "linear", "accuracy"), 0.3)
    cone.projection_error = 0.01
    sizes |= dict.fromkeys(largest.split(), 1e6)
    x, w = np.full(16, sizes["x"]), np.full(16, -sizes["w"])
    linear, accuracy, lam = sizes["linear"], sizes["accuracy"], 2.0
    _, steady, rising, scale = form_of(cone, x, w, kappa, linear, accuracy, lam)
    for t in (1e-3, 0.5, 1.0, 2.0, 1e3):
        center = x if kappa == 1.0 else (x + t * w) / 2.0
        radius = np.sqrt(kappa * np.sum((x - t * w) ** 2) + t * linear)
        farthest = np.linalg.norm(center) + radius + np.sqrt(2.0 * accuracy * t / lam)
        assert (steady + rising * t) * scale >= 0.01 * farthest


def test_the_form_does_not_depend_on_the_unit_of_length():
    """A power of two changes the scale and nothing else."""
    cone, x, w = ss.cones.FreeSpace(3), np.array([0.3, 0.2, 0.1]), np.array([0.1, -0.2, 0.2])
    form, steady, rising, scale = form_of(cone, x, w, 0.25, 0.2, 0.3)
    for exponent in (-450, 450):
        scaled = (np.ldexp(v, exponent) for v in (x, w))
        squares = (float(np.ldexp(v, 2 * exponent)) for v in (0.2, 0.3))
        other = form_of(cone, *scaled, 0.25, *squares)
        assert other == (form, steady, rising, float(np.ldexp(scale, exponent)))


@pytest.mark.parametrize("name", BALLS)
def test_two_terms_with_thresholds_of_their_own(name):
    terms = ss.Samples([[1.0], [-1.0]], [1, -1]).with_threshold(np.array([-100.0, 5.0]))
    ranges = BALLS[name][0](ss.Problem(terms, ss.Hinge()), np.ones(1), 1.0)
    assert np.isnan(ranges.R_low).tolist() == [False, True]


@pytest.mark.parametrize("name", BALLS)
def test_a_loss_without_a_linear_region_has_ranges_of_R_alone(name):
    inst, lam0 = instance("dense"), instance("dense").lam(0.01)
    problem = ss.Problem(inst.terms, ss.SquaredHinge(1.0))
    x = ss.solve(problem, lam0, tol=0.0, rtol=1e-6, screening=()).x
    around, build = BALLS[name]
    ranges = around(problem, x, lam0)
    lams = np.sort(np.append(lam0 * np.geomspace(1e-2, 1e3, 300), lam0))
    assert check_grid(ranges, lams, lam0, at_every(problem, build, x, lams, 0.0)) >= 1
    assert np.isnan(ranges.L_low).all() and np.isnan(ranges.L_high).all()


def test_extreme_scales_do_no_harm():
    for scale in (1e-75, 1e70):
        X, y = np.array([[1.0, 0.3], [0.2, 2.0], [0.4, -1.0]]) * scale, [1, -1, 1]
        problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.05))
        x = np.array([1.0, -1.0]) / scale
        for around, _ in BALLS.values():
            found = around(problem, x, 0.3 * scale**2, 1e-9)
            for side in "LR":
                low, high = getattr(found, f"{side}_low"), getattr(found, f"{side}_high")
                assert (np.isnan(low) == np.isnan(high)).all()


def test_at_zero_without_any_gap():
    problem = ss.Problem(ss.Samples([[1.0, 0.0], [0.0, -2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    for around, _ in BALLS.values():
        found = around(problem, np.zeros(2), 100.0, 0.0)
        assert (
            (found.L_low < 100.0).all()
            and np.isinf(found.L_high).all()
            and np.isnan(found.R_low).all()
        )


def test_bad_input_is_named():
    problem = solved("dense", 0.5)[1]
    for around, _ in BALLS.values():
        with pytest.raises(ValueError, match="x must have shape"):
            around(problem, np.ones(9), 1.0)
        with pytest.raises(ValueError, match="lam0 must be greater than 0"):
            around(problem, np.ones(3), 0.0)
        with pytest.raises(ValueError, match="accuracy must be at least 0"):
            around(problem, np.ones(3), 1.0, -1.0)
        with pytest.raises(ValueError, match="alpha must be at most 1"):
            around(problem, np.ones(3), 1.0, alpha=np.full(len(problem), 2.0))
