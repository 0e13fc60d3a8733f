"""The linear rule against the definition: a convex program, and 60-digit arithmetic."""

import importlib

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import safescreen as ss
from naive.extremes import dot, exact, negative, over_ball, over_halfspace, triplet
from safescreen.cones import FreeSpace
from safescreen.rounding import norm_upper
from safescreen.rules import halfspace, sphere
from safescreen.rules.halfspace import _level


def extremes(rows, Q, r, P, b):
    rows = [exact(row) for row in rows]
    lows = [over_halfspace(a, exact(Q), mpf(r), exact(P), mpf(b)) for a in rows]
    highs = [-over_halfspace(negative(a), exact(Q), mpf(r), exact(P), mpf(b)) for a in rows]
    return lows, highs


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_naive_formula_is_the_minimum(d):
    rng = np.random.default_rng(d)
    x, a, P = cp.Variable(d), cp.Parameter(d), cp.Parameter(d)
    Q, b = cp.Parameter(d), cp.Parameter()
    program = cp.Problem(cp.Minimize(a @ x), [cp.norm(x - Q) <= 1.0, P @ x >= b])
    for _ in range(8):
        a.value, P.value, Q.value = rng.normal(size=(3, d))
        b.value = float(P.value @ Q.value + rng.uniform(-1.2, 0.95) * np.linalg.norm(P.value))
        args = (exact(a.value), exact(Q.value), mpf(1), exact(P.value), mpf(float(b.value)))
        assert abs(program.solve(solver="CLARABEL") - float(over_halfspace(*args))) < 1e-5


@pytest.mark.parametrize("far", [1.0, 1e5])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_decisions_are_those_of_exact_arithmetic(d, scale, far, make_samples, check_extremes):
    """A center far from 0 makes the roundings of the margins matter, not only those of the
    radius.
    """
    rng = np.random.default_rng(10 * d)
    for level in (-0.9, -0.3, 0.0, 0.4, 0.95, 0.9999):
        Q, P = rng.normal(size=(2, d)) * [[scale * far], [1.0 / scale]]
        rows = rng.normal(size=(16, d)) * 10.0 ** rng.integers(-6, 7, size=(16, 1))
        # parallel to the normal
        rows[1], rows[2] = (3.0 * P / np.linalg.norm(P), -P / np.linalg.norm(P))
        if d > 1:  # minimisers just outside the half-space
            unit = P / np.linalg.norm(P)
            across = rows[8:] - np.outer(rows[8:] @ unit, unit)
            across *= np.sqrt(1.0 - level**2) / np.linalg.norm(across, axis=1, keepdims=True)
            rows[8:] = across - (level - 1e-9) * unit
        r = float(rng.uniform(0.1, 1.0) * scale)
        b = float(P @ Q + level * r * np.linalg.norm(P))
        scales = np.linalg.norm(rows, axis=1) * (np.linalg.norm(Q) + r)
        ball = ss.Sphere(Q, r)
        rule = lambda prob, ball=ball, P=P, b=b: halfspace(prob, ball, P, b)  # noqa: E731
        check_extremes(rule, make_samples(rows), *extremes(rows, Q, r, P, b), scales)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_triplets_with_cancelling_norms(scale, check_extremes):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 3)) * scale
    X[6:] = X[:6] + 1e-9 * scale * rng.normal(size=(6, 3))  # same and other point nearly coincide
    index = np.array([[(i + 1) % 6, i, i + 6] for i in range(6)])
    rows = [triplet(X, *row) for row in index]
    Q, P = (v + v.T for v in rng.normal(size=(2, 3, 3)))
    r = 0.5
    b = float(np.vdot(P, Q) + 0.3 * r * np.linalg.norm(P))
    lows = [over_halfspace(a, exact(Q.ravel()), mpf(r), exact(P.ravel()), mpf(b)) for a in rows]
    highs = [
        -over_halfspace(negative(a), exact(Q.ravel()), mpf(r), exact(P.ravel()), mpf(b))
        for a in rows
    ]
    scales = np.full(6, scale**2 * 1e-3)
    check_extremes(
        lambda p: halfspace(p, ss.Sphere(Q, r), P, b),
        ss.Triplets(X, index),
        lows,
        highs,
        scales,
        1e-9,
    )


@pytest.mark.nojit
def test_integer_data_exactly_on_the_threshold(make_samples, make_problem):
    # x_1 >= 3 in the ball of radius 5: the corners are (3, +-4)
    terms = make_samples([[0, 1], [3, 4], [1, 0], [-1, 0]])
    lows, highs = np.array([-4.0, -7.0, 3.0, -5.0]), np.array([4.0, 25.0, 5.0, -3.0])
    for side, values, outward in (("in_R", lows, -1.0), ("in_L", highs, 1.0)):
        for shift, expected in ((0.0, False), (-1e-12, False), (1e-6, True)):
            problem = make_problem(terms, values + outward * shift)
            got = getattr(
                halfspace(problem, ss.Sphere(np.zeros(2), 5.0), np.array([1.0, 0.0]), 3.0), side
            )
            assert (got == expected).all(), (side, shift, got)


def test_a_radius_two_percent_too_small_is_caught(make_samples, make_problem):
    terms, normal = make_samples([[0, 1], [3, 4]]), np.array([1.0, 0.0])
    # exact minima are below: R would be wrong
    problem = make_problem(terms, np.array([-4.0, -7.0]) + 1e-3)
    assert not halfspace(problem, ss.Sphere(np.zeros(2), 5.0), normal, 3.0).in_R.any()
    assert halfspace(problem, ss.Sphere(np.zeros(2), 4.9), normal, 3.0).in_R.all()


small = st.integers(-3, 3)
vectors = st.lists(small, min_size=2, max_size=2)


@settings(max_examples=150)
@given(st.lists(vectors, min_size=2, max_size=4), vectors, vectors, small, st.integers(0, 4), small)
def test_degenerate_geometry(rows, Q, P, b, r, threshold):
    rows = np.array(rows, dtype=float)
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    terms = ss.Samples(rows * signs[:, None], signs)
    terms.threshold = float(threshold)
    problem, ball = ss.Problem(terms, ss.Hinge()), ss.Sphere(np.array(Q, dtype=float), float(r))
    got, alone = halfspace(problem, ball, np.array(P, dtype=float), float(b)), sphere(problem, ball)
    assert (got.in_L >= alone.in_L).all() and (got.in_R >= alone.in_R).all()
    for t, a in enumerate(exact(row) for row in rows):
        args = exact(Q), mpf(r), exact(P), mpf(b)
        low, high = over_halfspace(a, *args), over_halfspace(negative(a), *args)
        if low is None:
            continue
        assert not got.in_R[t] or low > threshold
        assert not got.in_L[t] or -high < threshold
        if over_ball(a, *args[:2]) - threshold > 1e-9:
            assert got.in_R[t]


@pytest.mark.parametrize("radius", [np.nan, np.inf])
def test_a_useless_radius_screens_nothing(radius, make_samples, make_problem):
    problem = make_problem(make_samples(np.eye(2)), [0.0, 0.0])
    got = halfspace(problem, ss.Sphere(np.ones(2), radius), np.ones(2))
    assert got.rate == 0.0


def test_bad_input_is_named(make_samples, make_problem):
    problem, ball = make_problem(make_samples(np.eye(2)), [1.0, 1.0]), ss.Sphere(np.ones(2), 1.0)
    with pytest.raises(ValueError, match="normal must have shape"):
        halfspace(problem, ball, np.ones(3))
    with pytest.raises(ValueError, match="normal must be finite"):
        halfspace(problem, ball, np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="offset must be finite"):
        halfspace(problem, ball, np.ones(2), np.inf)
    with pytest.raises(TypeError, match="offset"):
        halfspace(problem, ball, np.ones(2), "1")


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_computed_normal_is_moved_outward(diagonal, monkeypatch):
    """A normal may be outside of the dual cone by the error of its split; times the farthest
    point of the ball.
    """
    module = importlib.import_module("safescreen.rules.halfspace")
    rng, offsets = np.random.default_rng(6), []
    monkeypatch.setattr(
        module,
        "halfspace",
        lambda prob, ball, normal, offset: offsets.append(offset) or sphere(prob, ball),
    )
    terms = ss.Triplets.from_labels(
        rng.normal(size=(8, 3)), np.arange(8) % 2, k=1, diagonal=diagonal
    )
    for scale in (1e-3, 1.0, 1e3):
        A = rng.normal(size=(3, 3)) * scale
        Q = A[0] if diagonal else A + A.T
        normal, radius = terms.cone.split(Q)[1], 0.1
        module.cone_halfspace(ss.Problem(terms, ss.Hinge()), ss.Sphere(Q, radius, normal))
        error = terms.cone.feasible_error(normal)
        assert (error > 0.0) != diagonal
        assert offsets[-1] <= -error * (np.linalg.norm(Q) + radius) <= 0.0
        assert offsets[-1] >= -1.001 * error * (np.linalg.norm(Q) + radius) - 1e-300


@pytest.mark.parametrize("scale", [1.0, 1e-309, 1e-150, 1e140])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_level_is_below_the_exact_one(d, scale):
    """Also where the offset, or the product with the center, is nothing beside the other."""
    rng, cone = np.random.default_rng(d), FreeSpace(d)
    for _ in range(300):
        normal, center = rng.normal(size=(2, d))
        center *= scale * 10.0 ** rng.integers(-8, 9)
        product = dot(exact(normal), exact(center))
        offset = float(product * rng.choice([0.0, 1e-9, 0.9, 1.1, 1e9]))
        true = mpf(offset) - product
        level = _level(cone, normal, offset, center, scale)
        assert mpf(float(level)) <= true
        size = abs(offset) + norm_upper(normal) * norm_upper(center)
        assert true - mpf(float(level)) <= 1e-13 * size + 1e-299 * (1.0 + norm_upper(center))


def test_a_power_of_two_changes_nothing(make_samples, make_problem):
    """Neither the offset nor the length of the normal leaves the range of double precision."""
    problem = make_problem(make_samples([[0, 1], [3, 4]]), np.array([-4.0, -7.0]) - 1e-3)
    ball, normal = ss.Sphere(np.zeros(2), 5.0), np.array([1.0, 0.0])
    for exponent in (-1000, -600, 0, 600, 1000):
        found = halfspace(problem, ball, np.ldexp(normal, exponent), float(np.ldexp(3.0, exponent)))
        assert found.in_R.all()


def test_a_half_space_that_touches_the_ball(make_samples, make_problem):
    """Levels within units in the last place of plus and minus the radius."""
    problem = make_problem(make_samples([[0, 1], [1, 0]]), [-5.1, -4.9])
    normal, alone = np.array([1.0, 0.0]), None
    for r in (5.0, 7.9):  # two roundings of r are one unit in its last place, or two
        ball = ss.Sphere(np.zeros(2), r)
        alone = sphere(problem, ball)
        for level in (-r, r):
            for ulps in range(-200, 201):
                found = halfspace(problem, ball, normal, level + ulps * np.spacing(r))
                assert (found.in_R >= alone.in_R).all() and (found.in_L >= alone.in_L).all()
                if level < 0.0:
                    assert (found.in_R == alone.in_R).all()


def test_the_offset_is_0_by_default(make_samples, make_problem):
    problem = make_problem(make_samples([[1, 0], [1, 0]]), [-0.1, 0.1])
    found = halfspace(problem, ss.Sphere(np.zeros(2), 5.0), np.array([1.0, 0.0]))
    assert found.in_R.tolist() == [True, False]
