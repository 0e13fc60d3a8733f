"""Ranges of the relaxed path bound against its sphere rule in 60-digit arithmetic, and against
solved problems.
"""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import safescreen as ss
from naive.extremes import dot, exact, norm, triplet
from safescreen.ranges import relaxed_path
from safescreen.ranges.path import Ranges, interval_kernel
from safescreen.rounding import norm_upper
from safescreen.rules import sphere
from safescreen.spheres import relaxed_path_bound
from safescreen.terms.base import Margins, Thresholds


def rule_holds(side, a, x0, eps, lam0, threshold, lam):
    """Return whether the sphere rule of RRPB screens a term at lam, in exact arithmetic (STS19
    Theorem 6, section 4.1).
    """
    lam, lam0, eps = mpf(float(lam)), mpf(float(lam0)), mpf(float(eps))
    h, n, m = dot(a, x0), norm(a), norm(x0)
    center = (lam0 + lam) / (2 * lam) * h
    radius = abs(lam0 - lam) / (2 * lam) * m + (abs(lam0 - lam) + lam0 + lam) / (2 * lam) * eps
    return center - n * radius > threshold if side == "R" else center + n * radius < threshold


def check(ranges, rows, x0, eps, lam0, tau, gamma, tight=None):
    """Check that the rule holds all over every interval, and fails `tight` outside.

    Ends that are tiny or huge because the exact ones are 0 or infinite need not be tight.
    """
    for t, a in enumerate(rows):
        threshold = {"R": mpf(float(tau)), "L": mpf(float(tau)) - mpf(float(gamma))}
        for side in "LR":
            low, high = (getattr(ranges, f"{side}_{end}")[t] for end in ("low", "high"))
            holds = partial(rule_holds, side, a, x0, eps, lam0, threshold[side])
            if np.isnan(low):
                assert np.isnan(high)
                assert tight is None or not holds(lam0)
                continue
            assert low < lam0 < high
            top = min(np.nextafter(high, 0.0), 1e12 * lam0)
            bottom = np.nextafter(low, np.inf)
            for lam in (bottom, top, lam0, *np.geomspace(bottom, top, 9).clip(bottom, top)):
                assert holds(lam), (side, t, low, high, lam)
            if tight is not None:
                assert low < 1e-3 * lam0 or not holds(low * (1.0 - tight))
                assert high > 1e3 * lam0 or not holds(high * (1.0 + tight))


@pytest.mark.parametrize("tau", [1.0, 0.0, -1.5])
@pytest.mark.parametrize("d", [1, 3])
def test_intervals_are_where_the_rule_holds(d, tau, make_samples):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(60, d)) * 3.0
    x0 = rng.normal(size=d) + 1.0
    rows[:4] = np.outer([3.0, -3.0, 1.0, -1.0], x0)  # h = +-n m: the ends may be 0 or infinite
    terms = make_samples(rows)
    terms.threshold = tau
    found = np.zeros(4, dtype=int)
    for eps, lam0, gamma in ((0.0, 1.0, 0.05), (0.03, 0.7, 0.5), (1e-7, 123.0, 0.0)):
        ranges = relaxed_path(ss.Problem(terms, ss.SmoothedHinge(gamma)), x0, eps, lam0)
        check(ranges, [exact(a) for a in rows], exact(x0), eps, lam0, tau, gamma, tight=1e-9)
        found += [
            np.isfinite(v).sum() for v in (ranges.L_low, ranges.L_high, ranges.R_low, ranges.R_high)
        ]
    assert found.sum() > 0 and (d == 1 or (found > 0).all())
    if tau < 0.0:
        assert np.isinf(ranges.R_high).any()
    elif tau > 0.0:
        assert np.isinf(ranges.L_high).any()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_badly_scaled_and_cancelling_triplets(scale):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(12, 3)) * scale
    X[6:9] = X[:3] + 1e-9 * scale * rng.normal(size=(3, 3))
    index = np.array([[(i + 1) % 6, i, i + 6] for i in range(6)])
    A = rng.normal(size=(3, 3))
    x0 = A @ A.T / scale**2
    rows = [triplet(X, *row) for row in index]
    problem = ss.Problem(ss.Triplets(X, index), ss.SmoothedHinge(0.05))
    ranges = relaxed_path(problem, x0, 1e-3 / scale**2, 10.0)
    check(ranges, rows, exact(x0.ravel()), 1e-3 / scale**2, 10.0, 1.0, 0.05)
    assert np.isfinite(ranges.L_low).any()


@pytest.mark.parametrize("steps", range(-3, 4))
def test_thresholds_a_few_ulps_from_a_margin(steps, make_samples):
    """At lam0 with an exact reference the rule is the comparison of a margin and the threshold,
    to the last bit.
    """
    rng = np.random.default_rng(7)
    rows, x0 = rng.normal(size=(150, 5)), rng.normal(size=5)
    margins = [dot(exact(a), exact(x0)) for a in rows]
    thresholds = np.array([float(h) for h in margins])
    for _ in range(abs(steps)):
        thresholds = np.nextafter(thresholds, np.inf * np.sign(steps))
    terms = make_samples(rows)
    for shift, expected in ((0.0, None), (1e-12, True)):
        for side, outward in (("R", -1.0), ("L", 1.0)):
            terms.threshold = thresholds + outward * shift
            known = ~np.isnan(
                getattr(relaxed_path(ss.Problem(terms, ss.Hinge()), x0, 0.0, 1.0), f"{side}_low")
            )
            for t in np.flatnonzero(known):
                assert outward * (float(terms.threshold[t]) - margins[t]) > 0
            assert expected is None or known.all()


def test_thresholds_of_margins_that_cancel():
    """Margins that are differences of distances 10^6 times as large, of terms whose norms are
    small.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3)) * 1e3
    X[40:] = X[:40] + 1e-4 * rng.normal(size=(40, 3))
    index = np.array([[(i + 1) % 40, i, i + 40] for i in range(40)])
    A = rng.normal(size=(3, 3))
    x0 = A @ A.T
    margins = [dot(triplet(X, *row), exact(x0.ravel())) for row in index]
    for shift in (-1e-6, 0.0, 1e-6):
        thresholds = np.array([float(h) for h in margins]) + shift
        terms = ss.Triplets(X, index).with_threshold(thresholds)
        ranges = relaxed_path(ss.Problem(terms, ss.Hinge()), x0, 0.0, 1.0)
        in_L, in_R = ~np.isnan(ranges.L_low), ~np.isnan(ranges.R_low)
        for t in range(40):
            assert not in_R[t] or margins[t] > thresholds[t]
            assert not in_L[t] or margins[t] < thresholds[t]
        assert shift == 0.0 or (in_R if shift < 0.0 else in_L).all()


def kernel_case(rng, length):
    """Return random arguments of `interval_kernel` but for the threshold, which is near that at
    lam0, and the exact parts of the rule; `length` is the size of norms.
    """

    def size():
        return float(rng.uniform(1.0, 2.0) * rng.choice([1.0, 1e7, 1e14]) ** rng.choice([-1, 1]))

    n, m, eps = (length * size() for _ in range(3))
    eps *= float(rng.choice([0.0, 1e-16, 1e-3, 1.0]))
    q = float(n * m * rng.choice([-1.0, 1.0]) * (1.0 - rng.choice([0.0, 1e-15, 0.1, 0.9, 1.0])))
    error = float(n * m * rng.choice([0.0, 1e-17, 1e-3, 1e3]))
    return q, error, n, m, eps


def slack_of_the_rule(h, nm, en, tau, lam0, lam):
    """Return ``2 lam (min - tau)``, positive where the rule holds."""
    return h * (lam + lam0) - nm * abs(lam - lam0) - 2 * max(lam, lam0) * en - 2 * lam * mpf(tau)


@pytest.mark.parametrize("length", [1.0, 1e-152])
@pytest.mark.slow
def test_no_rounding_is_forgotten(length):
    """One argument may dwarf the others; thresholds are a few units in the last place from where
    the rule fails at lam0, or far away.
    """
    rng = np.random.default_rng(9)
    known = 0
    for _ in range(4000):
        q, error, n, m, eps = kernel_case(rng, length)
        lam0 = float(rng.choice([1.0, 0.3, 1e-290, 1e9]))
        h, nm, en = mpf(q) - mpf(error), mpf(n) * mpf(m), mpf(eps) * mpf(n)
        at_lam0 = float(h - en)
        size = float(nm + abs(h) + en)
        far = float(rng.choice([1e-3, 1.0, 1e6, -1.0])) * size
        near = float(rng.integers(0, 80)) * np.spacing(size)
        tau = at_lam0 - float(rng.choice([near, far]))
        gamma = float(rng.choice([0.0, abs(tau), 1e-9 * abs(tau), 1e9 * size]))
        for sign in (1.0, -1.0):
            high = tau if sign > 0.0 else gamma - tau
            ends = np.empty((4, 1))
            margins = Margins(np.array([sign * q]), np.array([error]))
            limits = np.array([high - gamma]), np.array([high])
            thresholds = Thresholds(*limits, int(rng.integers(2)))
            interval_kernel(margins, np.array([n]), m, eps, lam0, thresholds, ends)
            low, high_end = ends[2:, 0] if sign > 0.0 else ends[:2, 0]
            if np.isnan(low):
                continue
            known += 1
            assert low < lam0 < high_end
            level = mpf(high) if sign > 0.0 else mpf(gamma) - mpf(high)
            for lam in (low, min(high_end, 1e300)):
                slack = slack_of_the_rule(h, nm, en, level, mpf(lam0), mpf(float(lam)))
                assert slack >= 0, (q, error, n, m, eps, lam0, tau, gamma, sign)
    assert known > 1000


def test_two_terms_with_thresholds_of_their_own(make_samples):
    terms = make_samples(np.ones((2, 1)))
    terms.threshold = np.array([0.5, 5.0])
    ranges = relaxed_path(ss.Problem(terms, ss.Hinge()), np.ones(1), 0.0, 1.0)
    assert np.isnan(ranges.R_low).tolist() == [False, True]
    assert np.isnan(ranges.L_low).tolist() == [True, False]


def test_intervals_are_open():
    one, two = np.ones(1), np.full(1, 2.0)
    ranges = Ranges(one, two, one, two)
    for lam, inside in ((1.0, False), (1.5, True), (2.0, False)):
        assert ranges.at(lam).n_L == ranges.at(lam).n_R == inside


@settings(max_examples=200)
@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=2, max_size=4),
    st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([1.0, 3.0]),
    st.integers(-3, 3),
)
def test_small_integers(rows, x0, eps, lam0, tau):
    """Norms, products and thresholds that meet exactly; zero terms and references."""
    rows, x0 = np.array(rows, dtype=float), np.array(x0, dtype=float)
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    terms = ss.Samples(rows * signs[:, None], signs)
    terms.threshold = float(tau)
    ranges = relaxed_path(ss.Problem(terms, ss.SmoothedHinge(0.5)), x0, eps, lam0)
    check(ranges, [exact(a) for a in rows], exact(x0), eps, lam0, tau, 0.5)
    for t, a in enumerate(rows):
        if a @ x0 - eps * np.linalg.norm(a) > tau + 1e-9:
            assert ranges.R_low[t] < lam0 < ranges.R_high[t]
        elif a @ x0 - eps * np.linalg.norm(a) <= tau - 1e-9 or eps == 0.0 and a @ x0 == tau:
            assert np.isnan(ranges.R_low[t])


def test_at_one_lam_they_are_the_sphere_rule(make_samples):
    rng = np.random.default_rng(2)
    problem = ss.Problem(make_samples(rng.normal(size=(400, 4)) * 2.0), ss.SmoothedHinge(0.1))
    x0, eps, lam0 = rng.normal(size=4), 0.01, 2.0
    ranges = relaxed_path(problem, x0, eps, lam0)
    assert len(ranges) == 400
    for lam in (0.5, 1.7, 2.0, 2.3, 40.0):
        by_range, by_rule = ranges.at(lam), sphere(problem, relaxed_path_bound(x0, eps, lam0, lam))
        assert (by_range.in_L == by_rule.in_L).all() and (by_range.in_R == by_rule.in_R).all()
        assert by_rule.n_L + by_rule.n_R > 0


def test_decisions_inside_hold_at_solved_problems():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)
    X += 0.7 * y[:, None]
    terms, gamma, lam0 = ss.Samples(X, y), 0.3, 4.0
    problem = ss.Problem(terms, ss.SmoothedHinge(gamma))
    w, lam = cp.Variable(3), cp.Parameter(nonneg=True)
    slack = cp.pos(1 - cp.multiply(y, X @ w))
    # Huber's function of half-width gamma, halved and divided by gamma, is the smoothed hinge
    program = cp.Problem(
        cp.Minimize(cp.sum(cp.huber(slack, gamma)) / (2 * gamma) + lam / 2 * cp.sum_squares(w))
    )

    def solution(value):
        lam.value = value
        program.solve(solver="CLARABEL")
        return w.value

    x0 = solution(lam0)
    eps = ss.spheres.duality_gap_bound(problem, x0, lam0).radius
    ranges = relaxed_path(problem, x0, eps, lam0)
    checked = 0
    for factor in (0.6, 0.85, 1.0, 1.2, 2.0):
        margins, decided = terms.margins(solution(factor * lam0)), ranges.at(factor * lam0)
        assert (margins[decided.in_R] > 1.0 - 1e-6).all() and (
            margins[decided.in_L] < 1.0 - gamma + 1e-6
        ).all()
        checked += decided.n_L + decided.n_R
    assert checked > 20


def test_an_accuracy_two_percent_too_small_is_caught():
    a, x0 = [exact([3.0, 1.0])], np.array([2.0, 0.1])
    terms = ss.Samples([[3.0, 1.0], [1.0, 1.0]], [1, -1])
    ranges = relaxed_path(ss.Problem(terms, ss.Hinge()), x0, 0.98 * 0.5, 1.0)
    with pytest.raises(AssertionError):
        check(ranges, a, exact(x0), 0.5, 1.0, 1.0, 0.0)
    check(
        relaxed_path(ss.Problem(terms, ss.Hinge()), x0, 0.5, 1.0), a, exact(x0), 0.5, 1.0, 1.0, 0.0
    )


@pytest.mark.parametrize("per_term", [False, True])
def test_kernels_work_in_chunks(per_term, make_samples):
    rng = np.random.default_rng(3)
    terms = make_samples(rng.normal(size=(50, 3)))
    if per_term:
        terms.threshold = rng.uniform(0.5, 1.5, size=50)
    problem, x0 = ss.Problem(terms, ss.SmoothedHinge(0.2)), rng.normal(size=3)
    whole = relaxed_path(problem, x0, 0.01, 2.0)
    products, ends = terms.inner_products(x0), np.empty((4, 50))
    for start, stop in ((0, 7), (7, 30), (30, 50)):
        high = np.atleast_1d(np.asarray(terms.thresholds(start, stop), dtype=float))
        args = (products.chunk(start, stop), terms.norms[start:stop], norm_upper(x0), 0.01, 2.0)
        limits = Thresholds(high - 0.2, high, int(per_term))
        interval_kernel(*args, limits, ends[:, start:stop])
    np.testing.assert_array_equal(ends, [whole.L_low, whole.L_high, whole.R_low, whole.R_high])


def test_a_loss_without_a_linear_region_has_ranges_of_R_alone(make_samples):
    rng = np.random.default_rng(4)
    terms, x0 = make_samples(rng.normal(size=(60, 3)) * 3.0), rng.normal(size=3)
    squared, hinge = (
        relaxed_path(ss.Problem(terms, loss), x0, 0.01, 2.0)
        for loss in (ss.SquaredHinge(1.0), ss.Hinge())
    )
    assert (
        np.isnan(squared.L_low).all()
        and np.isnan(squared.L_high).all()
        and np.isfinite(hinge.L_low).any()
    )
    np.testing.assert_array_equal(squared.R_low, hinge.R_low)
    np.testing.assert_array_equal(squared.R_high, hinge.R_high)


def test_bad_input_is_named(make_samples):
    problem = ss.Problem(make_samples(np.eye(2)), ss.Hinge())
    with pytest.raises(ValueError, match="x0 must have shape"):
        relaxed_path(problem, np.ones(3), 0.1, 1.0)
    with pytest.raises(ValueError, match="eps must be at least 0"):
        relaxed_path(problem, np.ones(2), -0.1, 1.0)
    with pytest.raises(ValueError, match="lam0 must be greater than 0"):
        relaxed_path(problem, np.ones(2), 0.1, 0.0)
    with pytest.raises(ValueError, match="lam must be greater than 0"):
        relaxed_path(problem, np.ones(2), 0.1, 1.0).at(-1.0)
