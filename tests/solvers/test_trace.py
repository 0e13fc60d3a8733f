"""What a solve remembers: the best point, when the gap fell, what is left of its limits."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from instances import instance, points
from safescreen.records import Iteration
from safescreen.solvers.limits import Limits
from safescreen.solvers.solution import DualPoint
from safescreen.solvers.trace import Point, Start, Trace, iterations_left

LIMITS = Limits(1e-3, 0.0, 99, 50.0)


def evaluation(gap, primal=1.0, dual=None):
    return SimpleNamespace(
        gap=gap, primal=primal, dual=primal - gap if dual is None else dual, x=gap
    )


def seen(gaps, each=1, **fields):
    """Return a trace that has gone through points with these gaps, `each` iterations apart."""
    trace = Trace(Start(0.0, 1.0), LIMITS)
    for number, gap in enumerate(gaps):
        known = evaluation(gap, **fields)
        trace.move(None, Point(gap, each * (number > 0), evaluation=known))
        assert trace.evaluation is known
    return trace


def test_what_is_not_known_at_the_start():
    start = Start(0.0, 1.0)
    assert start.tried == math.inf and start.expected == 0.0 and start.lams_to_come == 0.0
    trace = Trace(start, LIMITS)
    assert trace.tried == math.inf and trace.tried_at is None
    assert (trace.n_iter, trace.halved_at, trace.fell_at, trace.rounds) == (0, 0, 0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_point_and_when_the_gap_fell(seed):
    """By definition: a mark is set anew where the gap is below a part of what it was at the last
    mark.
    """
    rng = np.random.default_rng(seed)
    gaps = (10.0 ** -np.cumsum(rng.normal(0.003 + 0.05 * (seed % 2), 0.06, size=200))).tolist()
    for count in (1, 2, 50, 200):
        trace = seen(gaps[:count], 3)
        assert trace.best.gap == min(gaps[:count]) == trace.best_start().x
        for part, at in ((0.5, trace.halved_at), (0.99, trace.fell_at)):
            mark, marked = gaps[0], 0
            for number, gap in enumerate(gaps[:count]):
                if gap < part * mark:
                    mark = gap
                    marked = 3 * number
            assert at == marked


def test_a_point_with_the_dual_point_that_is_known():
    of = instance("dense")
    problem, lam = of.problem(0.05), of.lam(0.3)
    x = np.full(3, 0.1)
    alpha = np.linspace(0.0, 1.0, len(problem))
    assert Point(x).iterations == Point(x).others == 0 and Point(x).dual_point() is None
    assert Point(x).evaluated(problem, lam).gap == problem.evaluate(x, lam).gap
    found = Point(x, alpha=alpha).evaluated(problem, lam)
    assert found.gap == problem.evaluate(x, lam, alpha).gap > problem.evaluate(x, lam).gap
    assert np.array_equal(Point(x, alpha=alpha).dual_point().unpack(), alpha)
    assert Point(x, evaluation=found).evaluated(problem, lam) is found


def test_a_width_stands_for_a_dual_point():
    X, y = points(n=12, seed=2)
    problem = ss.Problem(ss.ProductTriplets(X, y), ss.Hinge())
    x = np.eye(3) * 0.1
    for width in (1e-3, 0.3):
        point = Point(x, width=width)
        sums = problem.terms.hinge_sums(x, width)
        assert point.evaluated(problem, 2.0).gap == problem.assemble(sums, x, 2.0).gap
        stored = point.dual_point()
        assert isinstance(stored, DualPoint) and stored.width == width and not stored.packed


def test_a_start_from_the_best_point():
    """With the dual point that belongs to it, if that has numbers."""
    alpha = np.array([0.0, 0.3, 1.0])
    for given in ({"alpha": alpha}, {"width": 0.2}, {}):
        trace = Trace(Start(0.0, 1.0), LIMITS)
        best = Point(7.0, evaluation=evaluation(2.0), **given)
        worse = Point(8.0, 1, alpha=alpha[::-1], evaluation=evaluation(3.0))
        for point in (best, worse):
            trace.move(None, point)
            assert trace.evaluation is point.evaluation
        start = trace.best_start()
        assert start.evaluation is best.evaluation and start.lam == 1.0
        assert np.array_equal(start.alpha, alpha) if "alpha" in given else start.alpha is None


def test_a_gap_of_roundings():
    """The objectives differ by less than half of a gap that is mostly allowance."""
    for difference, expected in ((1e-10, True), (3e-10, False), (-1e-10, True), (4e-10, False)):
        trace = seen([4e-10], primal=3.0, dual=3.0 - difference)
        assert trace.is_rounding == expected
    assert not seen([1e3], primal=3e3, dual=2e3).is_rounding


@pytest.mark.parametrize(
    ("gap", "dual", "each", "starts"),
    [
        (1e-2, 1.0, 1, True),
        (1e-2, 1.5, 1, True),  # the dual value is above the primal one by rounding
        (1e-3, 1.0, 1, False),  # as large as the gap to reach
        (1e-2, 0.994, 1, False),  # six tenths of the gap are none of the allowance's
        (1.2e-3, 1.0 - 0.48e-3, 1, False),  # what is left of the gap is below the one to reach
    ],
)
def test_a_start_at_rounding(gap, dual, each, starts):
    assert seen([gap], dual=dual).starts_at_rounding is starts
    assert not seen([gap, gap], each, dual=dual).starts_at_rounding


def test_a_smaller_problem_and_another_one_take_no_iterations():
    of = instance("dense")
    problem, lam = of.problem(0.05), of.lam(0.3)
    trace = Trace(Start(np.zeros(3), lam), LIMITS)
    trace.move(problem, Point(np.zeros(3), iterations=4, others=7))
    kept = np.arange(3, len(problem))
    smaller = problem.reduce(np.zeros(len(problem), bool), np.arange(len(problem)) < 3)
    elsewhere = trace.at(smaller, Point(np.ones(3), iterations=5, others=2))
    assert elsewhere.point.others == elsewhere.point.iterations == 0
    assert elsewhere.n_iter == 4 and elsewhere.evaluation.gap == smaller.gap(np.ones(3), lam)
    assert trace.evaluation.gap == problem.gap(np.zeros(3), lam)
    trace.reduce(smaller, kept)
    assert trace.point.others == trace.point.iterations == 0
    assert trace.n_iter == 4 and trace.evaluation.gap == smaller.gap(np.zeros(3), lam)


def test_what_is_left_of_the_limits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    trace = seen([3.0, 2.0, 1.0], 7)
    now[0] = 108.0
    assert trace.seconds == 8.0
    left = trace.limits_left
    assert (left.tol, left.rtol, left.max_iter, left.max_seconds) == (1e-3, 0.0, 85, 42.0)


def test_more_is_asked_for():
    trace = Trace(Start(0.0, 1.0), Limits(1e-3, 1e-5, 99))
    trace.ask_for_more()
    trace.ask_for_more()
    assert trace.rounds == 3 and trace.limits.max_iter == 99
    assert trace.limits.tol == pytest.approx(1e-5) and trace.limits.rtol == pytest.approx(1e-7)


def history(iterations, gaps):
    rows = zip(iterations, gaps, strict=True)
    return [Iteration(number, 0.0, gap, 1, 0, 0, 0.0) for number, gap in rows]


@pytest.mark.parametrize("done", [5, 6, 40])
def test_iterations_left_at_a_steady_rate(done):
    """The gap falls by 0.8 an iteration in the second half; what it did before does not count."""
    gaps = [7.0] * (done // 2) + (7.0 * 0.8 ** np.arange(done + 1 - done // 2)).tolist()
    known = history(range(done + 1), gaps)
    for more in (0.5, 3.0, 20.0):
        left = iterations_left(known, 1e4, gaps[-1], gaps[-1] * 0.8**more)
        assert left == pytest.approx(more, rel=1e-9)


def test_iterations_left_where_no_rate_is_known():
    """As many as are expected, at least as many as have been done; none at the goal."""
    assert iterations_left([], 12.0, 5.0, 1.0) == 12.0
    assert iterations_left([], 12.0, 5.0, 5.0) == 0.0
    few = history(range(3), [4.0, 2.0, 1.0])
    steady = history(range(11), [5.0] * 11)
    rising = history(range(11), np.arange(1.0, 12.0).tolist())
    unbounded = history(range(11), [math.inf] * 10 + [5.0])
    falling = history(range(11), (100.0 * 0.5 ** np.arange(11)).tolist())
    for known, done in ((few, 2), (steady, 10), (rising, 10), (unbounded, 10)):
        for expected in (0.0, 50.0):
            left = iterations_left(known, expected, known[-1].gap, 0.1)
            assert left == max(expected - done, done)
    assert iterations_left(falling, 50.0, falling[-1].gap, 0.0) == 40.0
    # the first point may be that of a later iteration
    late = history([8, 12], [4.0, 1.0])
    assert iterations_left(late, 0.0, 1.0, 0.25) == pytest.approx(4.0)


def test_iterations_left_are_some_times_those_done():
    """A gap that hardly falls: a rate says little about what is far away."""
    known = history(range(11), (1.0 - 1e-6 * np.arange(11)).tolist())
    assert 10.0 <= iterations_left(known, 0.0, known[-1].gap, 1e-9) <= 200.0
