"""The features rule: its formula, its norms, its roundings, and a case in which its radius is
needed to the last part.
"""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.rules.features import can_leave_out, features, need_features, zero_features
from safescreen.spheres.slopes import slope_radius


def problem(gamma=0.5, penalty=0.2, seed=0, n=12, d=5, weighted=False, scale=1.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, d))
    X[: n // 2, 0] += 2.0 * scale
    y = np.arange(n) < n // 2
    index = ss.Triplets.from_labels(X, y, k=3).index
    weights = rng.uniform(0.5, 3.0, len(index)) if weighted else None
    terms = ss.Triplets(X, index, diagonal=True, weights=weights)
    linear = -penalty * terms.total()[0].max() * (1.0 + 0.01 * np.arange(d))
    return ss.Problem(terms, ss.SmoothedHinge(gamma), linear=linear), X, index


def elements(X, index):
    u, v = X[index[:, 0]] - X[index[:, 2]], X[index[:, 0]] - X[index[:, 1]]
    return u * u - v * v


def tight():
    """Return a problem of one term, its optimum, and a point whose slope is exactly the radius
    away from the optimal one. The optimal weight of the second feature is tiny, and not 0.
    """
    terms = ss.Triplets(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), [[0, 1, 2]], diagonal=True)
    prob = ss.Problem(terms, ss.SmoothedHinge(1.0), linear=np.array([0.0, 0.5 + 1e-6]))
    return prob, ss.solve(prob, 1.0, rtol=1e-14).x, np.array([0.3, 0.0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
def test_it_is_the_formula(gamma, weighted):
    prob, X, index = problem(gamma, weighted=weighted)
    A = elements(X, index)
    w = np.ones(len(A)) if prob.terms.weights is None else prob.terms.weights
    lam = 0.05 * prob.lam_max() if np.isfinite(prob.lam_max()) else 1.0
    best = ss.solve(prob, lam, rtol=1e-13, screening=())
    rng = np.random.default_rng(1)
    n_out = 0
    for part in (1e-6, 1e-3, 1e-2, 0.3):
        x = np.maximum(best.x * (1.0 + part * rng.standard_normal(best.x.size)), 0.0)
        for alpha in (None, rng.uniform(size=len(A)), best.alpha):
            s = prob.alpha(x)
            a = s if alpha is None else alpha
            H = prob.linear + (w * a) @ A
            x_a = np.maximum(H, 0.0) / lam
            gap = prob.primal(x, lam) - prob.dual(a, lam)
            r2 = gap / lam - np.sum((x - x_a) ** 2) / 4.0
            fenchel = gap - 0.5 * lam * np.sum((x - x_a) ** 2) - x @ np.maximum(-H, 0.0)
            shift = math.sqrt(max(fenchel, 0.0) / (2.0 * gamma))
            rho = min(math.sqrt(2.0 * lam * r2 / gamma), math.sqrt(lam * r2 / gamma) + shift)
            e = prob.evaluate(x, lam, alpha)
            assert slope_radius(e, gamma) == pytest.approx(rho, rel=1e-5, abs=1e-6)
            assert np.sqrt(w @ (a - best.alpha) ** 2) <= slope_radius(e, gamma) + 1e-6
            out = features(prob, x, lam, alpha)
            norms = np.sqrt(w @ A**2)
            margin = H + rho * norms
            sure = np.abs(margin) > 1e-4 * np.abs(H).max()
            assert (out == (margin < 0.0))[sure].all()
            n_out += out.sum()
    assert n_out > 0


def test_a_radius_two_percent_too_small_throws_out_what_is_not_zero():
    prob, best, x = tight()
    assert best[1] > 5e-7
    e = prob.evaluate(x, 1.0)
    rho = slope_radius(e, 1.0)
    assert rho == pytest.approx(0.2, rel=1e-5)
    assert zero_features(prob, e).tolist() == [False, False]
    short = zero_features(prob, e, -0.02 * rho)
    assert short.tolist() == [False, True]
    assert zero_features(prob, prob.evaluate(best, 1.0)).tolist() == [False, False]


def test_a_dual_point_of_another_point():
    """Where alpha is not alpha(x), its own distance from alpha(x) is part of the radius."""
    prob, best, x = tight()
    optimal = float(prob.alpha(best)[0])
    for a in (0.0, 0.3, 0.55, 1.0):
        for point in (x, best, np.array([0.9, 0.1])):
            e = prob.evaluate(point, 1.0, np.array([a]))
            assert abs(a - optimal) <= slope_radius(e, 1.0) + 1e-9
    e = prob.evaluate(best, 1.0, np.array([0.7]))  # one of the two bounds is too small without it
    apart = e.distance + e.x_alpha_error
    assert math.sqrt(apart * apart / 4.0 + e.excess) < 0.2 <= slope_radius(e, 1.0) < 0.25


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9, 1e-80, 1e70])
@pytest.mark.parametrize("weighted", [False, True])
def test_norms_are_upper_bounds_and_tight(scale, weighted):
    prob, X, index = problem(penalty=0.0, weighted=weighted, scale=scale)
    norms = prob.terms.feature_norms
    weights = np.ones(len(index)) if prob.terms.weights is None else prob.terms.weights
    for j in range(X.shape[1]):
        column = [Fraction(float(v)) for v in X[:, j]]
        square = Fraction(0)
        for (i, k, m), w in zip(index, weights, strict=True):
            a = (column[i] - column[m]) ** 2 - (column[i] - column[k]) ** 2
            square += Fraction(float(w)) * a * a
        bound = Fraction(float(norms[j])) ** 2
        assert square <= bound <= square * (1 + Fraction(1, 10**11))


def test_norms_of_hostile_columns():
    """A column far from 0, one of equal entries, and one whose pairs nearly cancel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 4))
    X[:, 1] = 3.0
    X[:, 2] = 1e7 + rng.standard_normal(9)
    X[:, 3] = np.arange(9) % 2 + 1e-9 * rng.standard_normal(9)
    index = np.array([[0, 2, 4], [1, 3, 5], [0, 1, 3], [8, 6, 4]])
    norms = ss.Triplets(X, index, diagonal=True).feature_norms
    for j in range(4):
        column = [Fraction(float(v)) for v in X[:, j]]
        square = sum(
            ((column[i] - column[m]) ** 2 - (column[i] - column[k]) ** 2) ** 2 for i, k, m in index
        )
        assert square <= Fraction(float(norms[j])) ** 2
    assert norms[1] < 1e-12


def test_the_norm_of_what_cancels_in_floating_point():
    """Two squares differ by a rounding, and so does their term from 0."""
    X = np.array([[1 / 3], [1 / 3 + 1.0], [1 / 3 - 1.0]])
    terms = ss.Triplets(X, [[0, 1, 2]], diagonal=True)
    a, b, c = (Fraction(float(v)) for v in X[:, 0])
    exact = abs((a - c) ** 2 - (a - b) ** 2)
    assert 0 < exact <= Fraction(float(terms.feature_norms[0])) < Fraction(1, 10**12)


def test_parts_of_the_coordinates():
    prob, X, index = problem(weighted=True)
    keep = np.array([True, False, True, True, False])
    part = prob.on_features(keep)
    A = elements(X, index)[:, keep]
    x = np.array([0.1, 0.2, 0.0])
    assert part.cone.d == 3
    assert np.allclose(part.terms.margins(x), A @ x, rtol=1e-12)
    assert np.allclose(part.terms.norms, np.linalg.norm(A, axis=1), rtol=1e-9)
    assert (part.terms.norms >= np.linalg.norm(A, axis=1) * (1.0 - 1e-15)).all()
    assert (part.linear == prob.linear[keep]).all()
    assert part.terms.weights is prob.terms.weights
    full = np.zeros(5)
    full[keep] = x
    assert part.primal(x, 2.0) == pytest.approx(prob.primal(full, 2.0), rel=1e-12)
    assert (part.terms.feature_norms == prob.terms.feature_norms[keep]).all()
    assert part.terms.points.d == 3 and prob.terms.points.d == 5
    with pytest.raises(ValueError, match="keep must hold a coordinate, got none of 5"):
        prob.on_features(np.zeros(5, dtype=bool))


def test_fewer_terms_have_shorter_features_and_fewer_features_shorter_terms():
    prob, _, _ = problem()
    none = np.zeros(len(prob), dtype=bool)
    some = np.arange(len(prob)) % 3 == 0
    assert (prob.reduce(none, some).terms.feature_norms < prob.terms.feature_norms).all()
    fewer = prob.on_features(np.arange(5) < 3)
    assert (fewer.terms.norms < prob.terms.norms).all()


def test_roundings_are_allowed_for():
    """Each part of the bound counts: the error of H, the enlargement; equality decides nothing."""
    prob, X, index = problem(penalty=0.5)
    lam = 0.1 * prob.lam_max()
    e = prob.evaluate(ss.solve(prob, lam, rtol=1e-12).x, lam)
    out = zero_features(prob, e)
    assert out.any() and not out.all()
    room = -e.H[out].max()
    assert not zero_features(prob, replace(e, H_error=1.01 * room)).all()
    assert (zero_features(prob, replace(e, H_error=0.9 * room)) == out).all()
    assert not zero_features(prob, replace(e, H_error=-2.0 * e.H.min())).any()
    assert not zero_features(prob, e, 1e6).any()
    reach = slope_radius(e, 0.5) * prob.terms.feature_norms + e.H_error
    at_tie = replace(e, H=-reach)
    assert not zero_features(prob, at_tie).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_evaluation_decides_nothing(value):
    prob, _, _ = problem(penalty=0.5)
    lam = 0.1 * prob.lam_max()
    e = prob.evaluate(ss.solve(prob, lam, rtol=1e-12).x, lam)
    for name in ("excess", "distance", "fenchel", "H_error"):
        broken = replace(e, **{name: value})
        if name == "fenchel":
            broken = replace(broken, excess=value)
        assert not zero_features(prob, broken).any()


def test_what_it_needs():
    prob, X, index = problem()
    full = ss.Problem(ss.Triplets(X, index), ss.SmoothedHinge(0.5))
    hinge = ss.Problem(prob.terms, ss.Hinge())
    assert can_leave_out(prob.terms, prob.loss)
    for wrong, text in ((full, "some coordinates"), (hinge, "smooth loss")):
        assert not can_leave_out(wrong.terms, wrong.loss)
        with pytest.raises(TypeError, match=text):
            need_features(wrong)
        with pytest.raises(TypeError, match=text):
            ss.solve(wrong, 1.0, screening=("features",))
        with pytest.raises(TypeError, match=text):
            features(wrong, wrong.cone.zeros(), 1.0)
    squared = ss.Problem(prob.terms, ss.SquaredHinge(0.5))
    assert features(squared, np.zeros(5), 1.0).dtype == bool
    with pytest.raises(TypeError, match="some coordinates"):
        full.terms.on_features(np.ones(5, dtype=bool))
    with pytest.raises(TypeError, match="some coordinates"):
        _ = full.terms.feature_norms


def test_no_ball_around_the_optimum_proves_a_zero():
    """Every ball of positive radius that contains x* contains points with a positive weight."""
    prob, _, _ = problem(penalty=0.5)
    lam = 0.1 * prob.lam_max()
    x = ss.solve(prob, lam, rtol=1e-12).x
    ball = ss.spheres.midpoint_gap_bound(prob, x, lam)
    assert ball.radius > 0.0
    assert (ball.center + ball.radius > 0.0).all()
    assert features(prob, x, lam).any()


def test_the_radius_of_slopes_by_its_definition():
    """Errors of x(alpha) are in it; with a Fenchel term the smaller of two bounds counts."""
    parts = {"lam": 2.0, "distance": 1.0, "x_alpha_error": 0.5, "excess": 0.0, "fenchel": 0.0}
    assert slope_radius(SimpleNamespace(**parts), 0.5) == pytest.approx(1.5, rel=1e-12)
    assert slope_radius(SimpleNamespace(**parts), 0.5) >= 1.5
    some = SimpleNamespace(**(parts | {"excess": 0.25, "fenchel": 0.04}))
    square = 2.0 * (1.5**2 / 4.0 + 0.25) / 0.5
    assert slope_radius(some, 0.5) == pytest.approx(math.sqrt(square) + 0.2, rel=1e-12)
    much = SimpleNamespace(**(parts | {"fenchel": 100.0}))
    assert slope_radius(much, 0.5) == pytest.approx(math.sqrt(2.0) * 1.5, rel=1e-12)
