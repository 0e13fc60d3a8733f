"""The intersection rule against the definition: a convex program, and 60-digit arithmetic."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import safescreen as ss
from naive.extremes import exact, negative, over_two_balls, triplet
from safescreen.rounding import UNIT
from safescreen.rules import intersection, sphere


def extremes(rows, Q1, r1, Q2, r2):
    balls = exact(Q1), mpf(r1), exact(Q2), mpf(r2)
    rows = [exact(row) for row in rows]
    return [over_two_balls(a, *balls) for a in rows], [
        -over_two_balls(negative(a), *balls) for a in rows
    ]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_naive_formula_is_the_minimum(d):
    rng = np.random.default_rng(d)
    x, a, Q1, Q2 = cp.Variable(d), cp.Parameter(d), cp.Parameter(d), cp.Parameter(d)
    r1, r2 = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
    program = cp.Problem(cp.Minimize(a @ x), [cp.norm(x - Q1) <= r1, cp.norm(x - Q2) <= r2])
    for _ in range(10):
        a.value, Q1.value, Q2.value = rng.normal(size=(3, d))
        distance = float(np.linalg.norm(Q1.value - Q2.value))
        r1.value = float(rng.uniform(0.2, 1.5) * distance)
        r2.value = float(abs(distance - r1.value) + rng.uniform(0.1, 0.8) * distance)
        naive = over_two_balls(
            exact(a.value), exact(Q1.value), mpf(r1.value), exact(Q2.value), mpf(r2.value)
        )
        assert abs(program.solve(solver="CLARABEL") - float(naive)) < 1e-5


@pytest.mark.parametrize("far", [0.0, 1e5])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_decisions_are_those_of_exact_arithmetic(d, scale, far, make_samples, check_extremes):
    """Centers far from 0 make the roundings of the margins matter, not only those of the radii."""
    rng = np.random.default_rng(20 * d)
    for overlap in (0.05, 0.5, 0.9, 1.5, 2.5):
        Q1, Q2 = (rng.normal(size=(2, d)) + far * rng.normal(size=d)) * scale
        D = float(np.linalg.norm(Q1 - Q2))
        r1 = float(rng.uniform(0.3, 1.0) * D)
        r2 = float(abs(D - r1) + overlap * r1)
        rows = rng.normal(size=(16, d)) * 10.0 ** rng.integers(-6, 7, size=(16, 1))
        rows[1], rows[2] = (Q1 - Q2) / D, -3.0 * (Q1 - Q2) / D  # along the line of centers
        scales = np.linalg.norm(rows, axis=1) * (np.linalg.norm(Q1) + np.linalg.norm(Q2) + r1 + r2)
        balls = ss.Sphere(Q1, r1), ss.Sphere(Q2, r2)
        rule = lambda prob, balls=balls: intersection(prob, *balls)  # noqa: E731
        check_extremes(rule, make_samples(rows), *extremes(rows, Q1, r1, Q2, r2), scales)


def test_triplets(check_extremes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(8, 3))
    index = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 0]])
    terms = ss.Triplets(X, index)
    Q1, Q2 = (v + v.T for v in rng.normal(size=(2, 3, 3)))
    r1 = r2 = float(0.6 * np.linalg.norm(Q1 - Q2))
    balls = exact(Q1.ravel()), mpf(r1), exact(Q2.ravel()), mpf(r2)
    rows = [triplet(X, *row) for row in index]
    lows = [over_two_balls(a, *balls) for a in rows]
    highs = [-over_two_balls(negative(a), *balls) for a in rows]
    rule = lambda prob: intersection(prob, ss.Sphere(Q1, r1), ss.Sphere(Q2, r2))  # noqa: E731
    check_extremes(rule, terms, lows, highs, terms.norms * (r1 + np.linalg.norm(Q1)))


@pytest.mark.nojit
def test_integer_data_exactly_on_the_threshold(make_samples, make_problem):
    # radii 5 around (-4, 0) and (4, 0): the lens has corners (0, +-3) and ends at (+-1, 0)
    terms, balls = (
        make_samples([[0, 1], [1, 0], [0, -2]]),
        [ss.Sphere(np.array([c, 0.0]), 5.0) for c in (-4.0, 4.0)],
    )
    for side, values, outward in (("in_R", [-3, -1, -6], -1.0), ("in_L", [3, 1, 6], 1.0)):
        for shift, expected in ((0.0, False), (-1e-12, False), (1e-6, True)):
            got = getattr(
                intersection(make_problem(terms, np.array(values) + outward * shift), *balls), side
            )
            assert (got == expected).all(), (side, shift, got)


def test_a_radius_two_percent_too_small_is_caught(make_samples, make_problem):
    problem = make_problem(make_samples([[0, 1], [0, -2]]), [-3.0 + 1e-3, -6.0 + 1e-3])
    for factor, expected in ((1.0, False), (0.98, True)):
        balls = [ss.Sphere(np.array([c, 0.0]), 5.0 * factor) for c in (-4.0, 4.0)]
        assert (intersection(problem, *balls).in_R == expected).all()


def test_disjoint_balls_never_contradict(make_samples, make_problem):
    problem = make_problem(make_samples([[1.0], [2.0]]), [0.0, 0.0])
    got = intersection(problem, ss.Sphere(np.array([-3.0]), 1.0), ss.Sphere(np.array([3.0]), 1.0))
    assert not (got.in_L & got.in_R).any()


small = st.integers(-3, 3)
vectors = st.lists(small, min_size=2, max_size=2)


@settings(max_examples=150)
@given(
    st.lists(vectors, min_size=2, max_size=4),
    vectors,
    vectors,
    st.integers(0, 4),
    st.integers(0, 4),
    small,
)
def test_degenerate_geometry(rows, Q1, Q2, r1, r2, threshold):
    rows = np.array(rows, dtype=float)
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    terms = ss.Samples(rows * signs[:, None], signs)
    terms.threshold = float(threshold)
    problem = ss.Problem(terms, ss.Hinge())
    balls = [ss.Sphere(np.array(Q, dtype=float), float(r)) for Q, r in ((Q1, r1), (Q2, r2))]
    got, alone = (
        intersection(problem, *balls),
        sphere(problem, balls[0]) | sphere(problem, balls[1]),
    )
    disjoint = np.linalg.norm(np.subtract(Q1, Q2)) > r1 + r2
    if not disjoint:
        assert (got.in_L >= alone.in_L).all() and (got.in_R >= alone.in_R).all()
    for t, a in enumerate(exact(row) for row in rows):
        args = exact(Q1), mpf(r1), exact(Q2), mpf(r2)
        low, high = over_two_balls(a, *args), over_two_balls(negative(a), *args)
        if low is not None:
            assert not got.in_R[t] or low > threshold
            assert not got.in_L[t] or -high < threshold


def test_bad_input_is_named(make_samples, make_problem):
    problem, ball = make_problem(make_samples(np.eye(2)), [1.0, 1.0]), ss.Sphere(np.ones(2), 1.0)
    with pytest.raises(ValueError, match="ball2.center must have shape"):
        intersection(problem, ball, ss.Sphere(np.ones(3), 1.0))


def test_centers_that_are_sums_of_large_numbers(make_samples, make_problem, monkeypatch):
    """Their difference is rounded by half, so 8 may be 7.5: the lens may end at ``+-3.3``."""
    problem = make_problem(make_samples([[0.0, 1.0], [0.0, 1.0]]), [-3.1, -4.8])
    balls = [ss.Sphere(np.array([c, 0.0]), 5.0) for c in (-4.0, 4.0)]
    assert intersection(problem, *balls).in_R.tolist() == [True, True]
    monkeypatch.setattr(type(problem.cone), "magnitude", lambda self, x: 0.5 / UNIT)
    assert intersection(problem, *balls).in_R.tolist() == [False, True]
