"""Exact line searches against bisection on the slope from the definition."""

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from safescreen.solvers.line_search import _line_search, best_multiple, line_search, past_kinks

SHAPES = {"smoothed": (0.2, 1.0), "narrow": (1e-12, 1.0), "squared": (0.7, np.inf)}


def slope(t, slack, slopes, w, width, cap, down, square):
    """Return the slope of the objective at t, up to roundings of size `scale`, and `scale`."""

    def alpha(s):
        return np.clip(s / width, 0.0, cap)

    parts = w * (alpha(slack - t * slopes) - alpha(slack)) * slopes
    return down + t * square - parts.sum()


def minimum(*line):
    """Return where the slope changes its sign, by bisection; 0 if it is nowhere negative."""
    low, high = 0.0, 1.0
    if slope(1e-9, *line) >= 0.0:
        return 0.0
    while slope(high, *line) < 0.0:
        low = high
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if slope(middle, *line) < 0.0:
            low = middle
        else:
            high = middle
    return low


def random_line(rng, width, cap, weighted, size):
    """Return slack, slopes, weights, width, cap, slope at 0 and curvature; of a convex function
    that has a minimum, at some t of any size.
    """
    n = int(rng.integers(1, 12))
    slack, slopes = rng.normal(size=(2, n))
    w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    square = float(rng.uniform(0.01, 2.0))
    down = -float(rng.uniform(0.0, 5.0))
    return slack, slopes / size, w, width, cap, down / size, square / size**2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_minimum_is_found(shape, weighted):
    """Steps of any length, all terms on any piece; without weights one weight stands for all."""
    rng = np.random.default_rng(3)
    width, cap = SHAPES[shape]
    for trial in range(25):
        size = 10.0 ** rng.uniform(-4, 4)
        slack, slopes, w, *rest = random_line(rng, width, cap, weighted, size)
        expected = minimum(slack, slopes, w, *rest)
        weights = w if weighted else np.ones(1)
        t = _line_search(slack, slopes, weights, int(weighted), *rest)
        assert t == pytest.approx(expected, rel=1e-8, abs=1e-7 * size), trial


@pytest.mark.parametrize("shape", SHAPES)
def test_near_the_minimum_nothing_cancels(shape):
    """Where a hundred large slacks stay large, their part of the slope is exact to many digits."""
    width, cap = SHAPES[shape]
    rng = np.random.default_rng(5)
    slack = rng.uniform(1e6, 1e7, 100)
    slopes = rng.normal(size=100)
    down, square = -1e-9, 2.0
    curvature = square + ((slopes**2).sum() / width if cap == np.inf else 0.0)
    t = _line_search(slack, slopes, np.ones(1), 0, width, cap, down, square)
    assert t == pytest.approx(-down / curvature, rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_direction_that_does_not_descend_is_not_taken(shape):
    width, cap = SHAPES[shape]
    rng = np.random.default_rng(6)
    for _ in range(20):
        slack, slopes = rng.normal(size=(2, 8))
        t = _line_search(slack, slopes, np.ones(1), 0, width, cap, 1.0, 0.5)
        assert 0.0 <= t <= 1e-10


def test_a_line_without_curvature_is_left():
    """Of a linear function no t is best: it returns."""
    far = np.full(2, 50.0)
    assert np.isfinite(_line_search(far, np.ones(2), np.ones(1), 0, 0.2, 1.0, -1.0, 0.0))


def test_a_step_that_overflows_is_doubled_instead():
    """Where slope over curvature is infinite: finite steps, longer ones as long as it descends."""
    far = np.full(2, -1.0)
    t = _line_search(far, np.zeros(2), np.ones(1), 0, 0.2, 1.0, -1e300, 1e-300)
    assert 1e6 < t < np.inf


@pytest.mark.parametrize("gamma", [0.05, 0.5])
@pytest.mark.parametrize("kind", ["dense", "weighted"])
def test_along_a_direction_of_a_problem(kind, gamma):
    of = instance("dense")
    problem = of.problem(gamma)
    rng = np.random.default_rng(1)
    if kind == "weighted":
        weights = rng.uniform(0.2, 3.0, len(of.terms))
        terms = ss.Samples(of.X, np.where(of.y == 1, 1, -1), weights=weights)
        problem = ss.Problem(terms, problem.loss, linear=rng.normal(size=3))
    for lam in of.lam(1.0) * np.array([1e-3, 0.1, 3.0]):
        x = of.feasible(rng, 0.3)
        e = problem.evaluate(x, lam)
        direction = -e.gradient
        slack = problem.terms.threshold - problem.terms.margins(x)
        t = line_search(problem, e, slack, direction)
        values = [problem.primal(x + s * t * direction, lam) for s in (1.0, 0.999, 1.001)]
        assert t > 0.0 and values[0] <= min(values[1:]) + 1e-12 * abs(values[0])
        assert values[0] < problem.primal(x, lam)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_multiple(weighted):
    """No multiple is better, a longer, a shorter or none; the linear term counts."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(25, 3)), np.where(np.arange(25) % 2, 1, -1)
    weights = rng.uniform(0.2, 3.0, 25) if weighted else None
    samples = ss.Samples(X + 0.4 * y[:, None], y, weights=weights)
    for threshold in (1.0, rng.integers(-1, 3, 25) / 2.0):
        for linear in (None, rng.normal(size=3) * 5.0):
            terms = samples.with_threshold(threshold)
            problem = ss.Problem(terms, ss.Hinge(), linear=linear)
            for lam in (1e-2, 1.0, 100.0):
                x = rng.normal(size=3)
                best = best_multiple(problem, x, lam)
                reached = problem.primal(best, lam)
                shares = np.concatenate(([0.0], np.geomspace(1e-3, 1e3, 13)))
                others = [problem.primal(t * x, lam) for t in shares]
                others += [problem.primal(t * best, lam) for t in (1.0 - 1e-6, 1.0 + 1e-6)]
                assert reached <= min(others) + 1e-9 * abs(reached)
                assert best @ x >= 0.0


def two_at_the_kink():
    """Return a problem, its solution and its dual point; a third term is long, and far beyond."""
    terms = ss.Samples([[1.0, 0.0], [0.0, -2.0], [1e9, 0.0]], [1, -1, 1], weights=[1.0, 0.25, 1.0])
    problem = ss.Problem(terms, ss.Hinge())
    return problem, np.array([1.0, 0.5]), np.array([0.25, 0.25, 0.0])


def test_past_the_kinks_of_the_terms_inside():
    """Further than twice their errors, and no further than a few, whatever other terms have."""
    problem, x, alpha = two_at_the_kink()
    e = problem.evaluate(x, 0.25, alpha)
    larger, cost = past_kinks(problem, e, alpha)
    values, errors = problem.terms.inner_products(larger.x).chunk(0, 3)
    assert np.all(values[:2] - 1.0 >= 2.0 * errors[:2])
    assert np.all(values[:2] - 1.0 <= 4.0 * errors[:2] + 1e-14)
    assert larger.gap < 0.7 * e.gap
    assert 0.9 * cost <= larger.gap <= 1.25 * cost


def test_where_no_term_is_inside_nothing_is_past():
    """Nor where a multiple does not help, as for a term that is at a kink at 0 or below."""
    problem, x, alpha = two_at_the_kink()
    for tau, given in ((1.0, np.rint(alpha)), (0.0, alpha), (-1.0, alpha)):
        problem = ss.Problem(problem.terms.with_threshold(tau), ss.Hinge())
        e = problem.evaluate(x, 0.25, given)
        assert past_kinks(problem, e, given) == (e, 0.0)
