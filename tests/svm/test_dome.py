"""The dome test: right for every C of its interval, where the printed one is not."""

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from naive import naive_svm
from naive.harness import truth
from safescreen import svm


def solved(prob, C, rtol=1e-12):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", ["dense", "csr", "kernel"])
def test_right_for_all_C_between(kind, gamma):
    of = instance(kind)
    prob, lam = of.problem(gamma), of.lam(0.5)
    C_a, C_b, n_found = 1.0 / lam, 1.3 / lam, 0
    domes = []
    for rtol in (1e-12, 1e-6, 1e-2, 0.3):
        a, b = solved(prob, C_a, rtol), solved(prob, C_b, rtol)
        domes += [(svm.dome(prob.terms, a, b), svm.dome_test(prob.terms, a, b))]
        n_found += domes[-1][1].n_L + domes[-1][1].n_R
    assert n_found > 0
    for C in (C_a, 1.1 * C_a, C_b):
        known = truth(prob, of.exact(gamma), 1.0 / C)[1]
        x = np.array([float(v) for v in known.x])
        for region, screened in domes:
            assert known.contained(region.ball)
            assert known.right(screened)
            if kind != "kernel":
                slack = float(known.eps) * np.linalg.norm(region.normal) + 1e-12 * abs(
                    region.offset
                )
                assert region.normal @ x >= region.offset - slack
            best = solved(prob, C)
            assert (best.alpha[screened.in_R] < 1e-6).all() and (
                best.alpha[screened.in_L] > 1.0 - 1e-6
            ).all()


def cloud(seed, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, 2)) + 1.2 * y[:, None]
    return ss.Samples(X, y), X * y[:, None]


@pytest.mark.parametrize("seed", range(4))
def test_corrected_bounds_are_the_extremes_and_decide_alike(seed):
    terms, Z = cloud(seed)
    prob, C = ss.Problem(terms, ss.Hinge()), 4.0 * svm.c_min(terms)
    a, b = solved(prob, C, 1e-13), solved(prob, 1.5 * C, 1e-13)
    angles = np.linspace(0.0, 2.0 * np.pi, 100_001)
    circle = np.linalg.norm(b.x) * np.array([np.cos(angles), np.sin(angles)])
    # linear functions have their extremes on the arc of the dome, or at its ends
    circle = circle[:, a.x @ circle >= a.x @ a.x]
    bounds = np.array([naive_svm.dome_bounds(z, a.x, b.x @ b.x) for z in Z])
    np.testing.assert_allclose(bounds[:, 0], (Z @ circle).min(axis=1), atol=1e-3)
    np.testing.assert_allclose(bounds[:, 1], (Z @ circle).max(axis=1), atol=1e-3)
    found, sure = svm.dome_test(terms, a, b), np.abs(bounds - 1.0).min(axis=1) > 1e-4
    np.testing.assert_array_equal(found.in_R[sure], bounds[sure, 0] > 1.0)
    np.testing.assert_array_equal(found.in_L[sure], bounds[sure, 1] < 1.0)
    np.testing.assert_array_equal(
        svm.safe_screening(terms, a, b.x).in_R[sure], naive_svm.non_sv_rule(Z, a.x, b.x)[1][sure]
    )


def test_a_norm_serves_as_bound():
    terms, _ = cloud(0)
    prob, C = ss.Problem(terms, ss.Hinge()), 4.0 * svm.c_min(terms)
    a, b = solved(prob, C), solved(prob, 1.2 * C)
    by_norm = svm.dome_test(terms, a, float(np.linalg.norm(b.x)) * (1.0 + 1e-9))
    by_solution = svm.dome_test(terms, a, b)
    assert by_norm.n_L + by_norm.n_R >= by_solution.n_L + by_solution.n_R > 0
    nothing = svm.dome_test(terms, a, 1e300)
    assert not nothing.in_R.any()


def test_bad_input_is_named():
    terms, _ = cloud(0)
    start = svm.solution_below_c_min(terms, svm.c_min(terms))
    smaller = svm.solution_below_c_min(terms, 0.5 * svm.c_min(terms))
    with pytest.raises(ValueError, match="bound must be a reference for a C of at least"):
        svm.dome(terms, start, smaller)
    with pytest.raises(ValueError, match="bound must be at least 0"):
        svm.dome(terms, start, -1.0)
    with pytest.raises(TypeError, match="bound must be a Reference or a Solution, got str"):
        svm.dome(terms, start, "far")


def test_overflow_leaves_the_ball():
    """The slack of a poor reference times a huge norm is infinite, the half-space empty of
    meaning; the ball stays.
    """
    terms, _ = cloud(0)
    poor = svm.Reference(np.array([30.0, 0.0]), np.zeros(len(terms)), 1.0)
    region = svm.dome(terms, poor, 1.7e308)
    assert np.isfinite(region.ball.radius) and region.offset == -np.inf
    nothing = svm.dome_test(terms, poor, 1.7e308)
    assert not nothing.in_R.any() and not nothing.in_L.any()
