"""Coordinate descent: where it starts, where each run of sweeps ends, and when it gives up."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

import safescreen as ss
from safescreen.cones import FreeSpace
from safescreen.solvers.coordinate_descent import (
    CoordinateDescent,
    Sweeps,
    dual_sum,
    first_alpha,
)
from safescreen.solvers.limits import Limits
from safescreen.solvers.trace import Start, Trace

LAM = 0.5


def samples(loss, linear=None, weighted=True, kernel=False):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    X = rng.standard_normal((20, 3)) + 0.6 * y[:, None]
    weights = rng.uniform(0.2, 2.0, 20) if weighted else None
    if kernel:
        terms = ss.KernelSamples.from_points(X, y, "linear", weights=weights)
    else:
        terms = ss.Samples(X, y, weights=weights)
    return ss.Problem(terms.with_threshold(rng.uniform(0.5, 2.0, 20)), loss, linear=linear)


HINGE, SMOOTHED = ss.Hinge(), ss.SmoothedHinge(0.5)

# ------------------------------------------------------------------------------- where sweeps start


@pytest.mark.parametrize("linear", [None, np.array([0.5, -0.3, 0.8])])
@pytest.mark.parametrize("lam", [0.5, 20.0, 1e4])
def test_the_hinge_starts_from_the_best_equal_entries(lam, linear):
    problem = samples(HINGE, linear)
    alpha = first_alpha(problem, np.zeros(3), lam)
    ones = np.ones(20)
    best = optimize.minimize_scalar(
        lambda entry: -problem.dual(entry * ones, lam),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    np.testing.assert_allclose(alpha, best.x, atol=1e-5)


def test_equal_entries_are_not_negative():
    total = samples(HINGE).terms.total()[0]
    assert not first_alpha(samples(HINGE, 1e3 * total), np.zeros(3), LAM).any()


def test_equal_entries_of_terms_that_cancel():
    """Their sum costs nothing: the best entries are the largest."""
    terms = ss.Samples(np.array([[1.0, 2.0], [1.0, 2.0]]), [1, -1])
    alpha = first_alpha(ss.Problem(terms, HINGE), np.zeros(2), LAM)
    np.testing.assert_array_equal(alpha, [1.0, 1.0])


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("loss", [HINGE, SMOOTHED], ids=str)
def test_elsewhere_sweeps_start_from_alpha_of_x(loss, kernel):
    problem = samples(loss, kernel=kernel)
    x = problem.x_of(np.full(20, 0.1), 100.0)
    np.testing.assert_array_equal(first_alpha(problem, x, LAM), problem.alpha(x))
    nothing = problem.cone.zeros()
    start = first_alpha(problem, nothing, LAM)
    if kernel:  # a sum of all of them costs more than sweeps
        assert not start.any()
    elif loss is SMOOTHED:
        np.testing.assert_array_equal(start, problem.alpha(nothing))
    else:
        assert start.any()


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("loss", [HINGE, SMOOTHED], ids=str)
@pytest.mark.parametrize("where", ["zero", "elsewhere"])
def test_the_first_point(loss, kernel, where):
    """With a slope, x itself; without one, or where its dual point is dear, that of the dual
    point.
    """
    problem = samples(loss, kernel=kernel)
    x = problem.cone.zeros() if where == "zero" else problem.x_of(np.full(20, 0.1), 1.0)
    given = np.linspace(0.0, 1.0, 20)
    evaluation = problem.evaluate(x, LAM)
    for alpha in (None, given):
        start = Start(x, LAM, alpha=alpha, evaluation=evaluation)
        point, state = CoordinateDescent().init(problem, start, None)
        expected = first_alpha(problem, x, LAM) if alpha is None else given
        np.testing.assert_array_equal(state.alpha, expected)
        assert state.alpha is not given and state.patience is None and state.tolerance == 1.0
        if loss is SMOOTHED and not (kernel and where == "zero"):
            assert point.x is x and point.alpha is None and point.evaluation is evaluation
        else:
            assert point.alpha is state.alpha and point.evaluation is None
            sum_of = problem.terms.adjoint(state.alpha)
            np.testing.assert_allclose(np.asarray(point.x), np.asarray(sum_of) / LAM)


def test_the_sum_of_a_dual_point():
    linear = np.array([0.5, -0.3, 0.8])
    alpha = np.linspace(0.0, 1.0, 20)
    for problem, pull in ((samples(HINGE), 0.0), (samples(HINGE, linear), linear)):
        np.testing.assert_allclose(dual_sum(problem, alpha), problem.terms.adjoint(alpha) + pull)
    state = Sweeps(alpha)
    half = np.arange(20) < 10
    smaller = problem.reduce(half & False, ~half)
    CoordinateDescent().reduce(smaller, state, half)
    np.testing.assert_array_equal(state.alpha, alpha[half])
    np.testing.assert_allclose(state.H, smaller.terms.adjoint(alpha[half]) + linear)


# --------------------------------------------------------------------------------- where sweeps end


class Swept:
    """Terms whose sweeps end as they are told to, and note what they were asked for."""

    costly = False

    def __init__(self, spread=0.5, n_sweeps=7, sees_gap=False, norms=(1.0,)):
        self.ends = (np.array([2.0, 4.0]), spread, n_sweeps, 99)
        self.norms = np.array(norms)
        self.sees = sees_gap
        self.asked = []

    def sees_gap(self, loss):
        return self.sees

    def sweep(self, alpha, H, lam, loss, spread, most, seed, shrinking, goal=None):
        self.asked.append((H, lam, spread, most, shrinking, goal))
        return self.ends


def problem_of(terms, smoothing=0.0):
    return SimpleNamespace(
        terms=terms, loss=SimpleNamespace(smoothing=smoothing), cone=FreeSpace(2)
    )


def trace_of(gap=1e9, dual=8.0, tol=0.25, rtol=0.125, policy=None, expected=0.0, **options):
    e = SimpleNamespace(gap=gap, lam=LAM, dual=dual, H="H of the evaluation")
    options = {"max_iter": 10**6, "n_iter": 0, "max_seconds": math.inf} | options
    limits = Limits(tol, rtol, options["max_iter"], options["max_seconds"])
    return SimpleNamespace(
        evaluation=e,
        latest=e,
        lam=LAM,
        limits=limits,
        n_iter=options["n_iter"],
        policy=policy,
        expected=expected,
    )


def stop(terms, trace, tolerance=1.0):
    return CoordinateDescent()._next_stop(problem_of(terms), trace, tolerance)


POLICY = SimpleNamespace(is_automatic=False)
AUTO = SimpleNamespace(is_automatic=True)


def test_sweeps_that_do_not_see_the_gap_end_by_the_slopes():
    assert stop(Swept(), trace_of(policy=POLICY), 0.5) == (0.5, None, False)


@pytest.mark.parametrize("tolerance", [1.0, 0.25])
@pytest.mark.parametrize(
    ("tol", "rtol", "dual"), [(0.25, 0.125, 8.0), (4.0, 0.125, 8.0), (0.25, 0.125, 0.5)]
)
def test_sweeps_end_at_half_of_the_limits(tol, rtol, dual, tolerance):
    """Or where slopes are a small part as far apart as they may be."""
    found = stop(Swept(sees_gap=True), trace_of(dual=dual, tol=tol, rtol=rtol), tolerance)
    goal = max(tol, rtol * dual)
    assert found.gap == (0.5 * tolerance * goal, 0.5 * tolerance * rtol)
    assert not found.is_early and 0.0 < found.spread <= 1e-5 * tolerance


@pytest.mark.parametrize("tolerance", [1.0, 0.25])
@pytest.mark.parametrize("longest", [0.25, 0.5, 4.0])
def test_sweeps_end_early_where_screening_decides(longest, tolerance):
    """Where the ball is as large as half a width of margins, ``gap = lam/(4 longest^2)``."""
    decides = 0.25 * tolerance * LAM / longest**2
    terms = Swept(sees_gap=True, norms=(0.5 * longest, longest))
    for gap, limit, is_early in (
        (3.0 * decides, 0.5 * decides, True),
        (2.0 * decides, 0.5 * decides, False),
        (1.5 * decides, 0.5 * decides, False),
        (3.0 * decides, decides, False),
        (3.0 * decides, 2.0 * decides, False),
        (1.0 * decides, 2.0 * decides, False),
    ):
        # half of the tolerance times the limit is `limit`
        trace = trace_of(gap=gap, tol=limit / (0.5 * tolerance), rtol=0.0, policy=POLICY)
        found = stop(terms, trace, tolerance)
        assert found.is_early == is_early
        assert found.gap == (decides if is_early else limit, 0.0)


@pytest.mark.parametrize("norms", [(), (0.0, 0.0)])
def test_no_early_end_for_terms_of_no_length(norms):
    trace = trace_of(tol=1e-3, rtol=0.0, policy=POLICY)
    assert not stop(Swept(sees_gap=True, norms=norms), trace).is_early


@pytest.mark.parametrize(
    ("policy", "expected", "looks"),
    [
        (None, 0.0, False),
        (None, 50.0, False),
        (POLICY, 0.0, True),
        (POLICY, 5.0, True),
        (AUTO, 0.0, True),
        (AUTO, 0.5, False),
        (AUTO, 9.0, False),
        (AUTO, 12.0, True),
        (AUTO, 50.0, True),
    ],
)
def test_an_early_look_has_to_be_worth_it(policy, expected, looks):
    """Nobody looks where nothing is screened, and a policy that may choose does where the
    neighbouring lam took some sweeps, or is not known.
    """
    trace = trace_of(tol=1e-3, rtol=0.0, policy=policy, expected=expected)
    terms = Swept(sees_gap=True, norms=(1.0,))
    assert CoordinateDescent()._looks_early(problem_of(terms), trace) == looks
    assert stop(terms, trace).is_early == looks


@pytest.mark.parametrize(
    ("policy", "expected", "looks"), [(POLICY, 0.0, True), (AUTO, 0.0, False), (AUTO, 12.0, True)]
)
def test_an_early_look_at_costly_terms_needs_a_neighbour(policy, expected, looks):
    terms = Swept(sees_gap=True, norms=(1.0,))
    terms.costly = True
    trace = trace_of(tol=1e-3, rtol=0.0, policy=policy, expected=expected)
    assert CoordinateDescent()._looks_early(problem_of(terms), trace) == looks


def test_an_early_look_after_just_as_many_sweeps_as_asked_for():
    solver = CoordinateDescent(few=10)
    assert solver._looks_early(problem_of(Swept()), trace_of(policy=AUTO, expected=10.0))


@pytest.mark.parametrize(
    ("patience", "options", "most"),
    [
        (None, {}, 8),
        (5, {}, 5),
        (50, {}, 50),
        (None, {"max_iter": 30, "n_iter": 23}, 7),
        (5, {"max_iter": 30, "n_iter": 27}, 3),
        (None, {"max_seconds": 9.0}, 1),
        (None, {"max_seconds": 9.0, "n_iter": 3}, 3),
        (None, {"max_seconds": 9.0, "n_iter": 20}, 8),
        (None, {"n_iter": 3}, 8),
    ],
)
def test_how_many_sweeps_there_are_between_two_looks(patience, options, most):
    terms = Swept()
    solver = CoordinateDescent(sweeps=8)
    solver.step(problem_of(terms), trace_of(**options), Sweeps(None, patience))
    assert terms.asked[0][3] == most


# ------------------------------------------------------------------------------ what follows a look


@pytest.mark.parametrize(
    ("tolerance", "spread", "n_sweeps", "sees_gap", "early", "following"),
    [
        # by the slopes: a tenth of where they are
        (0.5, 0.25, 7, False, False, 0.025),
        (0.5, 0.75, 7, False, False, 0.05),
        (0.5, 0.25, 8, False, False, 0.5),
        (0.5, 1e-9, 7, True, False, 1e-10),
        # by the gap, at the end: a tenth of its part
        (0.5, 0.25, 7, True, False, 0.05),
        (0.5, 0.25, 0, True, False, 0.05),
        (0.5, 0.25, 8, True, False, 0.5),
        # before the end: the same, unless the end was there already
        (0.5, 0.25, 7, True, True, 0.5),
        (0.5, 0.25, 0, True, True, 0.05),
        (0.5, 0.25, 8, True, True, 0.5),
    ],
)
def test_how_far_slopes_may_spread_next(tolerance, spread, n_sweeps, sees_gap, early, following):
    terms = Swept(spread, n_sweeps, sees_gap)
    trace = trace_of(tol=1e-3, rtol=0.0, policy=POLICY if early else None)
    solver = CoordinateDescent(sweeps=8)
    state = Sweeps(None, tolerance=tolerance)
    point, state = solver.step(problem_of(terms), trace, state)
    assert state.tolerance == pytest.approx(following, rel=1e-12) and not state.has_given_up
    assert point.iterations == n_sweeps and state.seed == 99
    assert (terms.asked[0][5] is not None) == sees_gap


def test_slopes_that_spread_exactly_as_far_as_they_may():
    """They have ended the sweeps, not the gap."""
    terms = Swept(0.25e-6, 7, sees_gap=True)
    solver = CoordinateDescent(least=1e-6)
    _, state = solver.step(problem_of(terms), trace_of(), Sweeps(None, tolerance=0.25))
    assert state.tolerance == pytest.approx(0.25e-7)


@pytest.mark.parametrize(
    ("patience", "n_sweeps", "spread", "gives_up"),
    [
        (None, 8, 0.5, False),
        (5, 5, 0.5, True),
        (5, 4, 0.5, False),
        (None, 7, 1e-16, True),
        (None, 7, 1e-14, False),
        (5, 4, 1e-16, True),
    ],
)
def test_when_to_give_up(patience, n_sweeps, spread, gives_up):
    """After too many sweeps without a look, or where slopes are rounding."""
    terms = Swept(spread, n_sweeps)
    solver = CoordinateDescent(sweeps=8)
    problem = problem_of(terms)
    _, state = solver.step(problem, trace_of(), Sweeps(None, patience))
    assert state.has_given_up == gives_up
    assert (solver.step(problem, trace_of(), state) is None) == gives_up


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_sums_are_kept_where_alpha_is_that_of_x(smoothing):
    """For the hinge the evaluation sums them anew."""
    terms = Swept()
    problem = problem_of(terms, smoothing)
    alpha = np.array([0.5])
    state = Sweeps(alpha)
    solver = CoordinateDescent(shrinking=False)
    for _ in range(2):
        point, state = solver.step(problem, trace_of(), state)
        np.testing.assert_array_equal(point.x, np.array([2.0, 4.0]) / LAM)
        assert point.alpha is (None if smoothing else alpha)
    first, second = terms.asked
    assert first[:2] == ("H of the evaluation", LAM) and not first[4]
    assert second[0] is terms.ends[0] if smoothing else second[0] == "H of the evaluation"


class Sizes:
    """Terms that are nothing but sizes."""

    def __init__(self, n, stored, costly=False, d=12):
        self.n = n
        self.stored = stored
        self.costly = costly
        self.cone = FreeSpace(d)

    def __len__(self):
        return self.n


@pytest.mark.parametrize(
    ("terms", "patience"),
    [
        (Sizes(10_000, 0), 60),
        (Sizes(100, 0, True), 60),
        (Sizes(2_000, 0, True), 200),
        (Sizes(20_000, 0, True), 500),
        # a factorization of 12^3/3 = 576 against sweeps of four operations a number
        (Sizes(50, 12), 60 * 12),
        (Sizes(50, 48), 60 * 3),
        (Sizes(50, 1_000), 60),
        (Sizes(6, 6), 60 * 3),
        (Sizes(50, 1), 1_000),
    ],
)
def test_newton_is_cheaper_after_as_many_sweeps_as_its_system_costs(terms, patience):
    solver = CoordinateDescent(patience=60, most_patience=1_000 if terms.stored else 500)
    assert solver._patience(terms) == patience


def test_patience_is_for_those_that_give_up():
    problem = samples(SMOOTHED)
    start = Start(np.zeros(3), LAM)
    for gives_up in (False, True):
        solver = CoordinateDescent(gives_up=gives_up)
        state = solver.init(problem, start, None)[1]
        assert (state.patience is not None) == gives_up
        assert not gives_up or 50 <= state.patience <= 100


# -------------------------------------------------------------------------------- what comes out


@pytest.mark.parametrize("loss", [HINGE, SMOOTHED], ids=str)
def test_a_solve_takes_a_few_looks(loss):
    """Each look is ten times as sharp, or ends where it is asked to."""
    problem = samples(loss)
    start = Start(np.zeros(3), LAM)
    trace = Trace(start, Limits(0.0, 1e-6, 1000))
    solver = CoordinateDescent()
    assert solver.pace < 1.0
    point, state = solver.init(problem, start, trace)
    trace.move(problem, point)
    n_looks = 0
    while not trace.limits.reached(trace.evaluation) and n_looks < 20:
        point, state = solver.step(problem, trace, state)
        trace.move(problem, point)
        n_looks += 1
    assert n_looks <= (2 if loss is HINGE else 8)
