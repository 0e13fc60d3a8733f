"""Proximal methods: the smoothed problems of the hinge, the penalised ones of a free intercept, and
the order in which they are solved.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.solvers import proximal_hinge, proximal_intercept
from safescreen.solvers.limits import Limits
from safescreen.solvers.line_search import best_multiple
from safescreen.solvers.newton import Newton
from safescreen.solvers.proximal_hinge import ProximalHinge, Rounds, around, evaluate_hinge
from safescreen.solvers.proximal_intercept import Centre, ProximalIntercept, penalised
from safescreen.solvers.trace import Point, Start, Trace

LAM = 0.5
HINGE = ss.Hinge()


def samples():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    X = rng.standard_normal((20, 3)) + 0.6 * y[:, None]
    terms = ss.Samples(X, y, weights=rng.uniform(0.2, 2.0, 20))
    return ss.Problem(terms.with_threshold(rng.uniform(0.5, 2.0, 20)), HINGE)


def triplets(family=ss.Triplets.from_labels):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.standard_normal((12, 3)) + 1.2 * y[:, None] * (np.arange(3) == 0)
    return ss.Problem(family(X, y, k=2), HINGE)


# ----------------------------------------------------------------------------- the smoothed problem


def test_the_dual_point_of_a_smoothed_problem_is_the_proximal_one():
    """``max_a a (tau - m) - g/2 (a - alpha_k)^2`` over [0, 1], term by term."""
    problem = samples()
    center = np.linspace(0.0, 1.0, 20)
    x = np.array([0.3, -0.2, 0.5])
    slack = problem.terms.threshold - problem.terms.margins(x)
    for width in (0.1, 3.0):
        found = around(problem, center, width).alpha(x)
        np.testing.assert_allclose(found, np.clip(center + slack / width, 0.0, 1.0), atol=1e-12)
        found = around(problem, None, width).alpha(x)
        np.testing.assert_allclose(found, np.clip(slack / width, 0.0, 1.0), atol=1e-12)
    assert center[-1] == 1.0


def test_the_gap_is_that_of_x_or_of_its_best_multiple():
    problem = samples()
    alpha = np.full(20, 0.5)
    for size in (0.01, 100.0):
        x = size * problem.x_of(alpha, LAM)
        e = evaluate_hinge(problem, x, LAM, alpha, 0.1)
        np.testing.assert_array_equal(e.x, best_multiple(problem, x, LAM))
        assert e.primal < problem.primal(x, LAM)
    best = problem.x_of(alpha, LAM)
    for _ in range(3):
        best = best_multiple(problem, best, LAM)
    e = evaluate_hinge(problem, best, LAM, alpha, 0.1)
    lowest = min(problem.primal(best, LAM), problem.primal(best_multiple(problem, best, LAM), LAM))
    assert e.primal == lowest and e.gap == problem.gap(e.x, LAM, alpha)


def test_the_gap_of_terms_without_numbers_is_that_of_a_width():
    problem = triplets(ss.ProductTriplets)
    x = np.eye(3)
    e = evaluate_hinge(problem, x, LAM, None, 0.2)
    assert e.x is x and e.primal == pytest.approx(problem.primal(x, LAM))
    listed = triplets()
    slack = 1.0 - listed.terms.margins(x)
    dual = listed.dual(np.clip(slack / 0.2, 0.0, 1.0), LAM)
    assert e.dual == pytest.approx(dual)


# --------------------------------------------------------------------------------- the first rounds


@pytest.fixture
def solved(monkeypatch):
    """Smoothed problems that are not solved: each moves x by one, in 5 iterations."""
    record = []

    def drive(reduction, solver, policy, start, limits):
        problem = reduction.problem
        record.append(
            SimpleNamespace(
                width=problem.loss.smoothing,
                moved=problem.terms.threshold,
                start=start,
                limits=limits,
                solver=solver,
            )
        )
        assert policy is None
        evaluation = SimpleNamespace(x=start.x + 1.0)
        return SimpleNamespace(evaluation=evaluation, step=0.5 * len(record), n_iter=5)

    monkeypatch.setattr(proximal_hinge, "drive", drive)
    return record


def trace_of(gap=1.0, primal=8.0, best=None, tol=0.0, rtol=1e-4, lam=LAM):
    limits = Limits(tol, rtol, 1000)
    return SimpleNamespace(
        lam=lam,
        limits=limits,
        limits_left=Limits(tol, rtol, 100, 50.0),
        evaluation=SimpleNamespace(gap=gap),
        best=SimpleNamespace(gap=gap if best is None else best, primal=primal),
    )


def test_over_the_whole_space_the_first_round_is_of_the_first_width(solved):
    problem = samples()
    solver = ProximalHinge()
    assert solver.width <= 0.5 and solver.pace <= 1.0 and solver.needs == solver.inner.needs
    for alpha in (None, np.linspace(0.0, 1.0, 20)):
        solved.clear()
        start = Start(np.zeros(3), 1e-9, alpha=alpha, step=0.25)
        point, state = solver.init(problem, start, trace_of(lam=1e-9))
        (one,) = solved
        center = np.full(20, 0.5) if alpha is None else alpha
        assert one.width == state.width == solver.width and one.solver is solver.inner
        np.testing.assert_allclose(one.moved, problem.terms.threshold + one.width * center)
        assert one.start.step == 0.25 and one.start.lam == 1e-9 and one.start.alpha is None
        assert one.limits.tol == 0.0 and 1e-4 <= one.limits.rtol <= 1e-2
        assert one.limits.max_iter == 100 and one.limits.max_seconds == 50.0
        # the point: what was reached, its dual point and what it took
        assert point.iterations == 5 and point.others == solver.others and point.step == 0.5
        smoothed = around(problem, center, one.width)
        np.testing.assert_array_equal(point.alpha, smoothed.alpha(np.ones(3)))
        assert point.width == 0.0 and state.alpha is point.alpha and state.iterations == 0
        e = evaluate_hinge(problem, np.ones(3), 1e-9, point.alpha, one.width)
        assert point.evaluation.gap == e.gap and np.array_equal(point.x, e.x)


@pytest.mark.parametrize("factor", [1.5, 5.0, 12.0, 1e3, 1e5])
def test_over_a_cone_widths_fall_to_that_of_a_small_lam(solved, factor):
    """From ``lam_max/lam`` times `widest` on, to a tenth of that, or to the first width; the next
    one is a proximal one.
    """
    problem = triplets()
    solver = ProximalHinge()
    assert solver.widest < 0.01 and solver.narrower < 0.9
    largest = factor * solver.width
    lam = solver.widest * problem.lam_max() / largest
    trace = trace_of(lam=lam, tol=1e-7)
    _, state = solver.init(problem, Start(np.zeros((3, 3)), lam), trace)
    *before, last = solved
    width = max(solver.width, 0.1 * largest)
    widths = np.array([one.width for one in before])
    assert last.width == state.width == pytest.approx(width)
    np.testing.assert_allclose(widths[1:] / widths[:-1], solver.narrower)
    assert widths[-1] == width and largest / 1.0001 <= widths[0] < largest / solver.narrower
    n = len(before)
    for k, one in enumerate(solved):
        assert one.limits.max_iter == 100 - 5 * k and one.limits.tol == 1e-7
        np.testing.assert_array_equal(one.start.x, float(k) * np.ones((3, 3)))
        assert one.start.step == (0.5 * k if k else None)
    assert {one.limits.rtol for one in before} == {0.01} and last.limits.rtol == 1e-3
    # they are around zero, the last one around their dual point
    np.testing.assert_array_equal(np.concatenate([np.ravel(one.moved) for one in before]), 1.0)
    alpha = around(problem, None, width).alpha(float(n) * np.ones((3, 3)))
    np.testing.assert_allclose(last.moved, 1.0 + width * alpha)


def test_rough_solutions_are_not_finer_than_the_limits(solved):
    problem = triplets()
    lam = 1e-6 * problem.lam_max()
    ProximalHinge().init(problem, Start(np.zeros((3, 3)), lam), trace_of(lam=lam, rtol=0.3))
    assert {one.limits.rtol for one in solved[:-1]} == {0.3}


def test_iterations_of_all_problems_count(solved):
    problem = triplets()
    lam = 1e-6 * problem.lam_max()
    point, _ = ProximalHinge().init(problem, Start(np.zeros((3, 3)), lam), trace_of(lam=lam))
    assert len(solved) > 2 and point.iterations == 5 * len(solved)


@pytest.mark.parametrize("factor", [0.0, 1e-3, 0.5, 0.999, math.inf])
def test_over_a_cone_a_large_lam_is_as_any_other(solved, factor):
    problem = triplets()
    solver = ProximalHinge()
    lam = 1.0
    if factor in (0.0, math.inf):
        problem.lam_max = lambda: factor
    else:
        lam = solver.widest * problem.lam_max() / (factor * solver.width)
    solver.init(problem, Start(np.zeros((3, 3)), lam), trace_of(lam=lam))
    assert [one.width for one in solved] == [solver.width]


@pytest.mark.parametrize("given", ["x", "alpha"])
def test_over_a_cone_from_elsewhere_there_is_no_way_to_go(solved, given):
    problem = triplets()
    solver = ProximalHinge()
    n = len(problem)
    alpha = np.full(n, 0.25) if given == "alpha" else None
    x = np.zeros((3, 3)) if given == "alpha" else np.eye(3)
    lam = 1e-6 * problem.lam_max()
    solver.init(problem, Start(x, lam, alpha=alpha), trace_of(lam=lam))
    (one,) = solved
    assert one.width == pytest.approx(0.1 * solver.widest * 1e6)
    center = 0.5 if alpha is None else alpha
    np.testing.assert_allclose(one.moved, 1.0 + one.width * center * np.ones(n))


def test_terms_without_numbers_have_no_dual_point(solved):
    problem = triplets(ss.ProductTriplets)
    solver = ProximalHinge()
    lam = 1e-6 * problem.lam_max()
    point, state = solver.init(problem, Start(np.zeros((3, 3)), lam), trace_of(lam=lam))
    assert len(solved) > 2 and point.alpha is None and state.alpha is None
    assert point.width == state.width == solved[-1].width
    assert solved[-1].moved == 1.0
    assert solver.reduce(problem, state, None).alpha is None


# ---------------------------------------------------------------------------------- the next rounds


class Rounded(ProximalHinge):
    """Rounds that are not solved, and of which the tolerance is noted."""

    def _solve(self, problem, trace, state, tol, rtol=0.0):
        return Point(None), SimpleNamespace(tol=tol, rtol=rtol, **vars(state))


def following(gap, lowest, explicit=True, n_stalled=0, width=0.1, solver=None, **options):
    problem = SimpleNamespace(terms=SimpleNamespace(explicit=explicit))
    state = Rounds(None, None, width, None, lowest=lowest, n_stalled=n_stalled)
    solver = Rounded(**options) if solver is None else solver
    moved = solver.step(problem, trace_of(gap), state)
    return None if moved is None else moved[1]


@pytest.mark.parametrize(
    ("gap", "lowest", "width", "n_stalled", "lowest_after"),
    [
        (1.0, None, 0.1, 0, 1.0),
        (0.9, 1.0, 0.1, 0, 0.9),
        (0.96, 1.0, 0.03, 0, 0.96),
        (0.995, 1.0, 0.03, 3, 0.995),
        (1.5, 1.0, 0.03, 3, 1.0),
        (2.4, 2.0, 0.03, 3, 2.0),
        (1.95, 2.0, 0.03, 0, 1.95),
        (1.8, 2.0, 0.1, 0, 1.8),
        (0.475, 0.5, 0.03, 0, 0.475),
        (0.495, 0.5, 0.03, 3, 0.495),
    ],
)
def test_a_slow_round_narrows_the_width(gap, lowest, width, n_stalled, lowest_after):
    """Where the gap falls by less than 5 %; by less than 1 % the method has stalled."""
    state = following(gap, lowest, n_stalled=2)
    assert state.width == pytest.approx(width)
    assert state.n_stalled == n_stalled and state.lowest == lowest_after


def test_terms_without_numbers_narrow_the_width_each_time():
    for gap in (0.5, 2.0):
        assert following(gap, 1.0, explicit=False).width == pytest.approx(0.03)


@pytest.mark.parametrize("explicit", [True, False])
def test_the_narrowest_width(explicit):
    assert ProximalHinge().narrowest <= 1e-5
    least = 1e-4 * (1.0 if explicit else 1e-3)
    for width in (2.0 * least, 0.1 * least):
        state = following(2.0, 1.0, explicit, width=width, narrowest=1e-4)
        assert state.width == pytest.approx(least)
    assert following(2.0, 1.0, explicit, width=10.0 * least, narrowest=1e-4).width > 2.0 * least


def test_a_method_that_has_stalled_ends():
    for n_stalled, ends in ((2, False), (3, True), (9, True)):
        assert (following(1.0, 1.0, n_stalled=n_stalled, stalled=4) is None) == ends
    assert following(0.9, 1.0, n_stalled=9, stalled=4) is not None
    assert Rounds(None, None, 0.1, None).n_stalled == 0


@pytest.mark.parametrize(
    ("gap", "best", "tol", "rtol", "expected"),
    [
        (1.0, None, 0.0, 1e-9, 0.25),
        (1.0, 0.5, 0.0, 1e-9, 0.125),
        (1.0, 0.5, 0.0, 0.01, 0.2),
        (1.0, 0.5, 0.125, 1e-9, 0.3125),
        (1.0, 0.5, 0.03, 0.01, 0.2),
    ],
)
def test_how_exact_a_round_is(gap, best, tol, rtol, expected):
    """A part of the lowest gap, or of ten times what is asked for."""
    problem = SimpleNamespace(terms=SimpleNamespace(explicit=True))
    state = Rounds(None, None, 0.1, None)
    trace = trace_of(gap, -8.0, best, tol, rtol)
    _, state = Rounded(accuracy=0.25).step(problem, trace, state)
    assert state.tol == pytest.approx(expected) and state.rtol == 0.0


def test_a_step_solves_around_the_last_dual_point(solved):
    problem = samples()
    state = Rounds(np.zeros(3), np.linspace(0.0, 1.0, 20), 0.1, 0.75, lowest=2.0)
    point, _ = ProximalHinge().step(problem, trace_of(1.0, best=0.5), state)
    (one,) = solved
    np.testing.assert_allclose(one.moved, problem.terms.threshold + 0.1 * np.linspace(0, 1, 20))
    assert one.limits.rtol == 0.0 and one.limits.tol < 0.25 and one.start.step == 0.75
    assert point.iterations == 5 and state.lowest == 1.0
    half = np.arange(20) < 10
    alpha = state.alpha
    assert np.array_equal(ProximalHinge().reduce(problem, state, half).alpha, alpha[half])


def n_rounds(problem, lam, solver=None, rtol=1e-7):
    """Return after how many rounds the gap is small enough, and the iterations of all."""
    solver = ProximalHinge() if solver is None else solver
    start = Start(problem.cone.zeros(), lam)
    trace = Trace(start, Limits(0.0, rtol, 100_000))
    point, state = solver.init(problem, start, trace)
    trace.move(problem, point)
    n = 1
    while not trace.limits.reached(trace.evaluation):
        point, state = solver.step(problem, trace, state)
        trace.move(problem, point)
        n += 1
        assert n < 200
    return n, trace.n_iter


def test_some_rounds_are_enough():
    assert n_rounds(samples(), LAM, ProximalHinge(Newton()))[0] <= 12
    problem = triplets()
    for factor in (0.1, 1e-3):
        n, n_iter = n_rounds(problem, factor * problem.lam_max())
        assert n <= 20 and n_iter <= 2000


def test_rounds_of_terms_without_numbers():
    problem = triplets(ss.ProductTriplets)
    assert n_rounds(problem, 0.1 * problem.lam_max(), rtol=1e-3)[0] <= 12


# ---------------------------------------------------------------------------------- free intercepts

CONSTANT = 2.0


def move(s, b=3.0, last=None, low=-math.inf, high=math.inf, far=10.0):
    """Return the state after the residual s at the center b; rho is ``lam/constant^2 = 1/8``."""
    terms = SimpleNamespace(constant=CONSTANT, residual=lambda alpha: (alpha, "size"))
    state = Centre(b=b, x=None, alpha=None, last=last, low=low, high=high)
    ProximalIntercept(None, far=far)._move(terms, LAM, state, s)
    assert state.last == (b, s)
    return state


@pytest.mark.parametrize(("s", "b"), [(0.25, 5.0), (-0.25, 1.0), (0.5, 7.0), (1e-3, 3.008)])
def test_the_first_center_is_a_proximal_step_away(s, b):
    """``s/rho``, and the best one lies beyond."""
    state = move(s)
    assert state.b == pytest.approx(b)
    assert (state.low, state.high) == ((state.b, math.inf) if s > 0.0 else (-math.inf, state.b))


@pytest.mark.parametrize(
    ("last", "s", "b"),
    [
        # half, a third, a fifth of the residual is left
        ((1.0, 0.5), 0.25, 5.0),
        ((1.0, 0.75), 0.25, 5.0),
        ((2.5, 1.25), 0.25, 5.0),
        ((5.0, 0.125), 0.25, 7.0),
        ((1.0, -0.25), 0.25, 5.0),
        ((5.0, -0.5), 0.25, 5.0),
        ((5.0, -0.5), -0.25, 1.0),
        # ten proximal steps away at most, here of 2
        ((1.0, 0.2525), 0.25, 23.0),
        ((5.0, -0.2525), -0.25, -17.0),
        # no line, or one that rises: a proximal step
        ((1.0, 0.25), 0.25, 5.0),
        ((1.0, 0.125), 0.25, 5.0),
        ((3.0, 0.5), 0.25, 5.0),
        ((5.0, 0.5), 0.25, 5.0),
    ],
)
def test_the_next_center_is_where_a_line_is_zero(last, s, b):
    """The line through the last two residuals, but no nearer than a proximal step."""
    assert move(s, last=last).b == pytest.approx(b)


@pytest.mark.parametrize(
    ("s", "last", "low", "high", "b"),
    [
        # the line leads to 13, the proximal step to 5
        (0.25, (1.0, 0.3), -math.inf, math.inf, 13.0),
        (0.25, (1.0, 0.3), -math.inf, 13.5, 13.0),
        (0.25, (1.0, 0.3), -math.inf, 9.0, 7.0),
        (0.25, (1.0, 0.3), 12.5, 20.0, 13.0),
        (0.25, (1.0, 0.3), 15.0, 20.0, 17.5),
        (0.25, (1.0, 0.3), 15.0, math.inf, 5.0),
        (0.25, None, -math.inf, 9.0, 5.0),
        (-0.25, (5.0, -0.3), -math.inf, math.inf, -7.0),
        (-0.25, (5.0, -0.3), -3.0, math.inf, -1.0),
        (-0.25, (5.0, -0.3), -math.inf, -9.0, 1.0),
        (-0.25, None, -5.0, math.inf, 1.0),
        # bounds that contradict each other bound nothing
        (0.25, (1.0, 0.3), -math.inf, 4.0, 13.0),
        (-0.25, (5.0, -0.3), 2.0, math.inf, -7.0),
    ],
)
def test_a_center_that_cannot_be_the_best_one_is_not_tried(s, last, low, high, b):
    """The middle of the bounds is, or else the proximal step."""
    state = move(s, last=last, low=low, high=high)
    assert state.b == pytest.approx(b)
    nearest = 5.0 if s > 0.0 else 1.0
    assert state.low == (max(low, nearest) if s > 0.0 else low)
    assert state.high == (high if s > 0.0 else min(high, nearest))


def free_intercept(loss=HINGE, n=16):
    rng = np.random.default_rng(2)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    X = rng.standard_normal((n, 2)) + 0.8 * y[:, None] + 5.0
    weights = rng.uniform(0.5, 2.0, n)
    return ss.Problem(ss.FreeIntercept.from_points(X, y, weights=weights), loss)


def test_a_penalised_problem_has_its_intercept_around_the_center():
    problem = free_intercept()
    signs = problem.terms.signs
    around = penalised(problem, 1.5)
    np.testing.assert_allclose(around.terms.threshold, 1.0 - signs * 1.5)
    assert around.loss is problem.loss and around.terms.offers.issuperset({"sweeps"})


@pytest.fixture
def inner(monkeypatch):
    """Penalised problems that are not solved: x moves by one in 5 iterations, and has the dual
    point that it is given.
    """
    record = SimpleNamespace(asked=[], alpha=None)

    def drive(reduction, solver, policy, start, limits):
        asked = SimpleNamespace(
            threshold=reduction.problem.terms.threshold, start=start, limits=limits, solver=solver
        )
        record.asked.append(asked)
        assert policy is None
        dual_point = None
        if record.alpha is not None:
            dual_point = SimpleNamespace(unpack=lambda: record.alpha)
        evaluation = SimpleNamespace(x=start.x + 1.0)
        return SimpleNamespace(evaluation=evaluation, dual_point=dual_point, n_iter=5)

    monkeypatch.setattr(proximal_intercept, "drive", drive)
    return record


@pytest.mark.parametrize("loss", [HINGE, ss.SmoothedHinge(0.5)], ids=str)
@pytest.mark.parametrize("rtol", [1e-6, 0.25])
def test_the_first_penalised_problem_is_around_the_best_intercept(inner, loss, rtol):
    problem = free_intercept(loss)
    terms = problem.terms
    inner.alpha = np.linspace(0.1, 0.9, 16) if loss is HINGE else None
    solver = ProximalIntercept("inner solver")
    assert solver.rough <= 0.1 and solver.pace <= 1.0 and solver.accuracy <= 0.5
    x = np.array([0.3, -0.4, 0.25])
    b = terms.intercept(x, loss)
    assert abs(b) > 0.5
    given = np.full(16, 0.3)
    trace = trace_of(tol=1e-7, rtol=rtol)
    point, state = solver.init(problem, Start(x, LAM, alpha=given), trace)
    (asked,) = inner.asked
    np.testing.assert_allclose(asked.threshold, 1.0 - terms.signs * b)
    assert asked.start.x is x and asked.start.alpha is given and asked.start.lam == LAM
    assert asked.solver == "inner solver"
    limits = asked.limits
    assert (limits.tol, limits.max_iter, limits.max_seconds) == (1e-7, 100, 50.0)
    assert limits.rtol == max(solver.rough, rtol)
    # its dual point says where to go on
    around = penalised(problem, b)
    alpha = around.alpha(x + 1.0) if inner.alpha is None else inner.alpha
    s = terms.residual(alpha)[0]
    assert state.last == (b, s) and state.b == pytest.approx(b + s * terms.constant**2 / LAM)
    bounds = (state.b, math.inf) if s > 0.0 else (-math.inf, state.b)
    assert (state.low, state.high) == bounds
    assert point.iterations == 5 and np.array_equal(point.x, x + 1.0)
    if loss is HINGE:
        assert state.alpha is inner.alpha
        np.testing.assert_array_equal(point.alpha, terms.balanced(inner.alpha, x + 1.0, loss))
    else:
        assert point.alpha is None and state.alpha is given
    half = np.arange(16) < 8
    before = state.alpha
    assert np.array_equal(solver.reduce(problem, state, half).alpha, before[half])


def test_a_best_intercept_of_zero_is_the_first_center(inner):
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    problem = ss.Problem(ss.FreeIntercept.from_points(X, [1, 1, -1, -1]), HINGE)
    inner.alpha = np.full(4, 0.5)
    _, state = ProximalIntercept(None).init(problem, Start(np.zeros(2), LAM), trace_of())
    np.testing.assert_array_equal(inner.asked[0].threshold, np.ones(4))
    assert state.last == (0.0, 0.0) and state.b == 0.0


class Moved(ProximalIntercept):
    """Rounds that are not solved, and of which the tolerance is noted."""

    def _solve(self, problem, trace, state, tol, rtol=0.0):
        return (tol, rtol), state


@pytest.mark.parametrize(
    ("gap", "n_stalled", "after", "tol"),
    [
        (0.5, 0, 0, 0.25 * 0.5),
        (0.89, 3, 0, 0.25 * 0.89),
        (0.9, 0, 1, 0.25**2 * 0.9),
        (0.95, 0, 1, 0.25**2 * 0.95),
        (2.0, 1, 2, 0.25**3),
        (1e-3, 0, 0, 0.25 * 0.02),
    ],
)
def test_a_round_that_has_not_lowered_the_gap_makes_the_next_one_more_exact(
    gap, n_stalled, after, tol
):
    """And the bounds of the center are forgotten."""
    state = Centre(b=0.0, x=None, alpha=None, low=-1.0, high=2.0, lowest=1.0, n_stalled=n_stalled)
    trace = trace_of(gap, primal=-2.0, rtol=0.01)
    asked, following = Moved(None, accuracy=0.25).step(None, trace, state)
    assert following is state and state.n_stalled == after and state.lowest == min(gap, 1.0)
    assert asked == (pytest.approx(tol), 0.0)
    unbounded = (-math.inf, math.inf)
    assert (state.low, state.high) == (unbounded if after else (-1.0, 2.0))


@pytest.mark.parametrize(("lowest", "after"), [(2.0, 0), (0.5, 1), (math.inf, 0)])
def test_progress_is_a_tenth_of_the_lowest_gap(lowest, after):
    state = Centre(b=0.0, x=None, alpha=None, lowest=lowest)
    Moved(None).step(None, trace_of(1.0), state)
    assert state.n_stalled == after


def test_rounds_that_bring_nothing_end():
    for n_stalled, ends in ((2, False), (3, True), (4, True)):
        state = Centre(b=0.0, x=None, alpha=None, lowest=1.0, n_stalled=n_stalled)
        following = Moved(None, stalled=3).step(None, trace_of(1.0), state)
        assert (following is None) == ends
    assert Centre(b=0.0, x=None, alpha=None).n_stalled == 0


def test_later_rounds_have_an_absolute_goal(inner):
    problem = free_intercept()
    inner.alpha = np.linspace(0.1, 0.9, 16)
    state = Centre(b=0.5, x=np.zeros(3), alpha=None, lowest=1.0)
    ProximalIntercept(None).step(problem, trace_of(0.5), state)
    assert inner.asked[0].limits.rtol == 0.0
    np.testing.assert_allclose(inner.asked[0].threshold, 1.0 - problem.terms.signs * 0.5)


@pytest.mark.parametrize("loss", [HINGE, ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)], ids=str)
def test_a_few_rounds_find_the_intercept(loss):
    problem = free_intercept(loss)
    solver = ProximalIntercept(Newton() if loss.smoothing else ProximalHinge(Newton()))
    start = Start(problem.cone.zeros(), LAM)
    trace = Trace(start, Limits(0.0, 1e-8, 100_000))
    point, state = solver.init(problem, start, trace)
    trace.move(problem, point)
    n = 1
    while not trace.limits.reached(trace.evaluation):
        point, state = solver.step(problem, trace, state)
        trace.move(problem, point)
        n += 1
        assert n <= 20
    assert n <= 10
