"""Steps of the interior-point method: where it begins, its directions against the equations that
they solve, and how many it takes.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

import safescreen as ss
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.solvers import interior
from safescreen.solvers.interior import (
    BAND,
    InteriorPoint,
    State,
    _best_multiple,
    _best_scaled,
    _Goal,
    _Parts,
    _point,
    _Step,
    _symmetric,
    _Way,
    width_of,
)
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.trace import Start, Trace

LAM = 0.4
HINGE, SMOOTHED, SQUARED = ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5)
LOSSES = (HINGE, SMOOTHED, SQUARED)


def triplets(loss, diagonal=False, weighted=False, moved=False, apart=1.2):
    rng = np.random.default_rng(0)
    y = np.arange(10) % 2
    X = rng.standard_normal((10, 3)) + apart * y[:, None] * (np.arange(3) == 0)
    n = len(ss.Triplets.from_labels(X, y, k=2))
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    terms = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal, weights=weights)
    linear = None
    if moved:
        linear = np.diag([0.5, -0.3, 0.8])
        linear = np.diag(linear) if diagonal else linear
    return ss.Problem(terms, loss, linear=linear)


CASES = [
    pytest.param(loss, diagonal, diagonal == is_odd, id=f"{loss}-{diagonal}")
    for loss, is_odd in zip(LOSSES, (True, False, True), strict=True)
    for diagonal in (False, True)
]
"""Each loss over both cones; half of them with weights and a linear term."""


class Scene:
    """A state somewhere inside, that solves none of the equations."""

    def __init__(self, loss, diagonal, plain, lam=LAM, budget=0.0):
        rng = np.random.default_rng(1)
        self.problem = triplets(loss, diagonal, not plain, not plain)
        self.cone = self.problem.cone
        self.loss = loss
        self.lam = lam
        system = self.problem.terms.system()
        self.parts = _Parts.of(self.problem, system)
        n = len(self.problem)
        duals = rng.uniform(0.1, 0.9, (3, n))
        if loss is SQUARED:
            duals[1] = 0.0
            duals[0] *= 3.0
        x, S = (self.inside(rng) for _ in range(2))
        self.state = State(x, S, duals, budget, system)
        self.step = _Step(self.problem, self.parts, lam, self.state)
        terms = self.problem.terms
        self.w = np.ones(n) if terms.weights is None else terms.weights
        self.unit = float(self.w.mean())
        self.rng = rng

    def inside(self, rng):
        if len(self.cone.shape) == 1:
            return rng.uniform(0.5, 2.0, 3)
        A = rng.standard_normal((3, 3))
        return A @ A.T + 0.5 * np.eye(3)

    def H(self, alpha):
        a = self.problem.terms.elements(np.arange(len(alpha)))[0]
        total = np.tensordot(self.w * alpha, a, 1)
        return total if self.problem.linear is None else total + self.problem.linear

    def bounds(self, duals):
        """Return the products of the bounds of alpha, shape (2, T)."""
        room = 0.0 if self.loss is SQUARED else 1.0 - duals[0]
        return np.array([duals[1] * room, duals[2] * duals[0]])

    def products(self, x, S, duals):
        """Return the weighted sum of all products."""
        return float((self.w * self.bounds(duals)).sum()) + self.cone.inner(x, S)

    def at(self, way, t):
        state = self.state
        return state.x + t * way.x, state.S + t * way.S, state.duals + t * way.duals


# -------------------------------------------------------------------------------- the Newton system


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_a_direction_solves_the_equations(loss, diagonal, plain):
    """``lam x - H(alpha) = S``, what is left of each term's, the products and the scaled sum."""
    scene = Scene(loss, diagonal, plain)
    step, state = scene.step, scene.state
    n = len(scene.problem)
    bounds = scene.rng.standard_normal((2, n))
    if loss is SQUARED:
        bounds[0] = 0.0
    cone = scene.rng.standard_normal(scene.cone.shape)
    goal = _Goal(bounds, cone if diagonal else cone + cone.T)
    step.coarsest = 0.0
    way = step.towards(goal, 1e-11)
    x, S, duals = scene.at(way, 1.0)
    np.testing.assert_allclose(LAM * x - scene.H(duals[0]), S, atol=1e-8)
    alpha, above, below = duals
    margins = scene.problem.terms.margins(x)
    left = 1.0 - margins - loss.smoothing * alpha - above + below
    np.testing.assert_allclose(left, 0.0, atol=1e-8)
    da, dc, db = way.duals
    a, above, below = state.duals
    np.testing.assert_allclose(a * db + below * da, bounds[1], atol=1e-8)
    if loss is not SQUARED:
        np.testing.assert_allclose((1.0 - a) * dc - above * da, bounds[0], atol=1e-8)
    for one, two in zip(way.scaled, step.scaling.scaled(way.x, way.S), strict=True):
        np.testing.assert_allclose(one, two)
    np.testing.assert_allclose(sum(way.scaled), goal.cone, atol=1e-8)


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_products_along_a_direction(loss, diagonal, plain):
    """A polynomial, and the first of all numbers to vanish ends the longest step."""
    scene = Scene(loss, diagonal, plain)
    step = scene.step
    before = scene.products(scene.state.x, scene.state.S, scene.state.duals)
    assert step.products == pytest.approx(before)
    assert step.mu == pytest.approx(before / scene.parts.count)
    assert step.root == pytest.approx(math.sqrt(scene.unit * step.mu))
    way = step.predict()
    for t in (0.3, 1.0):
        after = scene.products(*scene.at(way, t))
        assert after == pytest.approx(step.products + t * way.first + t * t * way.second)
    x, S, duals = scene.at(way, way.longest)
    ends = [np.linalg.eigvalsh(v).min() if v.ndim == 2 else v.min() for v in (x, S)]
    ends += [duals[0].min(), duals[2].min()]
    if loss is not SQUARED:
        ends += [duals[1].min(), (1.0 - duals[0]).min()]
    assert min(ends) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_the_predictor_makes_all_products_vanish_to_first_order(loss, diagonal, plain):
    scene = Scene(loss, diagonal, plain)
    step = scene.step
    step.coarsest = 0.0
    goals = []
    towards = step.towards
    step.towards = lambda goal, precision: goals.append((goal, precision)) or towards(goal, 1e-11)
    way = step.predict()
    ((goal, precision),) = goals
    assert precision == pytest.approx(0.1 * step.root)
    np.testing.assert_allclose(goal.bounds, -scene.bounds(scene.state.duals))
    np.testing.assert_array_equal(goal.cone, step.scaling.affine())
    assert way.first == pytest.approx(-step.products)


@pytest.mark.parametrize("precision", [1e-6, 10.0])
def test_how_exact_a_direction_is(precision):
    """As it is asked for, but no more than a small part of what is left of the equation of H."""
    scene = Scene(HINGE, False, True)
    step = scene.step
    residual = LAM * scene.state.x - scene.H(scene.state.duals[0]) - scene.state.S
    np.testing.assert_allclose(step.residual, residual)
    size = float(np.linalg.norm(step.scaling.into(residual)))
    assert 0.0 < interior.COARSEST <= 1e-3
    assert step.coarsest == pytest.approx(interior.COARSEST * size)
    asked = []
    solve = step.system.solve
    step.system.solve = lambda rhs, precision: asked.append(precision) or solve(rhs, 1e-9)
    step.towards(_Goal(np.zeros((2, len(scene.problem))), step.scaling.affine()), precision)
    assert asked == [max(precision, step.coarsest)]


@pytest.mark.parametrize(
    ("longest", "first", "second", "factor"),
    [
        (1.0, -0.5, 0.0, 0.5**3),
        (0.5, -0.5, 0.0, 0.75**3),
        (0.5, -0.5, -0.5, 0.625**3),
        (9.0, -0.5, 0.25, 0.75**3),
        (1.0, -0.9999, 0.0, 1e-6),
        (1.0, 0.5, 0.0, 1.0),
    ],
)
def test_mu_falls_with_the_cube_of_the_products_after_the_predictor(longest, first, second, factor):
    scene = Scene(HINGE, False, True)
    step = scene.step
    way = SimpleNamespace(
        longest=longest, first=first * step.products, second=second * step.products
    )
    assert step.centered(way) == pytest.approx(factor * step.mu)


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_the_goal_of_a_corrector(loss, diagonal, plain):
    """Products of mu, less what the changes of the predictor add to them."""
    scene = Scene(loss, diagonal, plain)
    step = scene.step
    way = step.predict()
    mu = 0.2
    goal = step.goal(way, mu)
    da, dc, db = way.duals
    expected = mu - scene.bounds(scene.state.duals)
    expected[1] -= da * db
    expected[0] = 0.0 if loss is SQUARED else expected[0] + da * dc
    np.testing.assert_allclose(goal.bounds, expected)
    cone = step.scaling.towards(scene.unit * mu, *way.scaled)
    np.testing.assert_allclose(goal.cone, cone)


@pytest.mark.parametrize(
    ("longest", "length"), [(0.2, 0.5), (0.6, 0.9), (0.64, 0.96), (0.8, 1.0), (3.0, 1.0)]
)
@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES[:4])
def test_the_goal_of_a_further_corrector(loss, diagonal, plain, longest, length):
    """Half as long a step again, by 0.3 at least and no longer than 1: products that would leave
    their band are brought back.
    """
    scene = Scene(loss, diagonal, plain)
    step = scene.step
    made = step.predict()
    way = SimpleNamespace(longest=longest, duals=made.duals, scaled=made.scaled)
    after = scene.bounds(scene.state.duals + length * made.duals)
    assert 0.0 < BAND[0] < 1.0 < BAND[1]
    for mu in (0.2, 0.002):  # some products are above the band
        goal = step.goal(made, mu)
        found = step.corrected(goal, way, mu)
        low, high = (bound * mu for bound in BAND)
        change = np.maximum(np.clip(after, low, high) - after, -high)
        np.testing.assert_allclose(found.bounds - goal.bounds, change, atol=1e-12)
        low, high = (bound * scene.unit * mu for bound in BAND)
        cone = step.scaling.correct(*made.scaled, length, low, high)
        np.testing.assert_allclose(found.cone - goal.cone, cone, atol=1e-12)
    assert (after > 1.1 * BAND[1] * mu).any()


def test_products_that_rounding_has_made_negative_end_a_solve():
    scene = Scene(SMOOTHED, False, True)
    for factor in (-1e9, 0.0, np.inf):
        state = State(factor * scene.state.x, scene.state.S, scene.state.duals, 0.0)
        if factor == 0.0:
            state.duals[1:] = 0.0
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(np.linalg.LinAlgError, match="products of a state negative"),
        ):
            _Step(scene.problem, scene.parts, LAM, state)


def test_products_that_have_overflowed_end_a_solve():
    scene = Scene(SMOOTHED, True, True)
    x = np.array([np.inf, 1.0, 1.0])
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(np.linalg.LinAlgError, match="products of a state negative"),
    ):
        _Step(scene.problem, scene.parts, LAM, State(x, np.ones(3), scene.state.duals, 0.0))


def test_a_state_after_a_step():
    scene = Scene(HINGE, False, True, budget=30.0)
    step = scene.step
    way = step.predict()
    moved = step.moved(way, 0.25)
    x, S, duals = scene.at(way, 0.25)
    np.testing.assert_array_equal(moved.x, x)
    np.testing.assert_allclose(moved.S, S, atol=1e-12)
    np.testing.assert_array_equal(moved.duals, duals)
    assert moved.budget == step.system.next_budget and moved.system is scene.parts.system
    np.testing.assert_array_equal(moved.S, moved.S.T)
    for first, second in ((np.inf, 0.0), (0.0, np.nan), (np.inf, np.inf)):
        wrong = _Way(way.x, way.S, way.scaled, way.duals, 1.0, first, second)
        with pytest.raises(np.linalg.LinAlgError, match="not finite"):
            step.moved(wrong, 0.25)


def test_symmetric_parts():
    S = np.array([[1.0, 2.0], [4.0, 8.0]])
    np.testing.assert_array_equal(_symmetric(S), [[1.0, 3.0], [3.0, 8.0]])
    np.testing.assert_array_equal(_symmetric(S[0]), S[0])


# ----------------------------------------------------------------------------- how a step is chosen


class Made:
    """A step of which the lengths of the directions are given."""

    mu = 8.0
    root = 3.0

    def __init__(self, *lengths):
        self.lengths = list(lengths)
        self.asked = []

    def predict(self):
        return SimpleNamespace(longest=0.1)

    def centered(self, way):
        return 2.0

    def goal(self, way, mu):
        assert mu == 2.0
        return 0

    def corrected(self, goal, way, mu):
        assert mu == 2.0
        return goal + 1

    def towards(self, goal, precision):
        self.asked.append((goal, precision))
        return SimpleNamespace(longest=self.lengths[goal], number=goal)

    def moved(self, way, length):
        return way.number, length


@pytest.mark.parametrize(
    ("lengths", "number", "asked"),
    [
        ((2.0,), 0, 1),
        ((1.0 / 0.75,), 0, 1),
        ((1.2, 1.3, 1.31), 1, 3),
        ((0.5, 0.51), 0, 2),
        ((0.5, 0.52), 0, 2),
        ((0.5, 0.53, 0.6, 0.7), 3, 4),
        ((0.5, 0.53, 0.55), 1, 3),
        ((0.5, 0.53, 2.0), 2, 3),
        ((0.5, 0.53, 0.6, 0.7, 0.9), 3, 4),
        ((0.5, 0.4), 0, 2),
    ],
)
def test_correctors_as_long_as_the_step_grows(lengths, number, asked):
    """By 5 % at least, three at most, and none where the step is long enough."""
    lengths = (*lengths, 2.0) if asked > len(lengths) else lengths
    step = Made(*lengths)
    solver = InteriorPoint(fraction=0.75, precision=0.1, correctors=3)
    found = solver._moved(step)
    assert found == (number, pytest.approx(min(1.0, 0.75 * lengths[number])))
    assert [goal for goal, _ in step.asked] == list(range(asked))
    precisions = [precision for _, precision in step.asked]
    np.testing.assert_allclose(precisions, 0.1 * 2.0 / 8.0 * 3.0)


def test_a_step_stays_inside():
    solver = InteriorPoint()
    assert 0.5 < solver.fraction < 1.0 and solver.precision < 1.0 and solver.near <= 0.5
    number, length = solver._moved(Made(0.5, 0.5))
    assert number == 0 and length == solver.fraction * 0.5


def run_one(problem, state, lam=LAM):
    start = Start(state.x, lam)
    trace = Trace.begin(start, Limits(0.0, 1e-6, 99))
    trace = trace.moved(problem, Point(state.x))
    return InteriorPoint().step(problem, trace, state)


def test_a_step_without_terms_leads_to_the_optimum():
    problem = triplets(SMOOTHED)
    all_of = np.ones(len(problem), dtype=bool)
    empty = problem.reduce(all_of, ~all_of)
    point, _ = run_one(empty, State(np.eye(3), np.eye(3), np.empty((3, 0)), 1.0))
    np.testing.assert_allclose(point.x, problem.all_linear() / LAM)
    assert point.iterations == 1
    start = Start(np.eye(3), LAM)
    point, state = InteriorPoint().init(empty, start, None)
    assert state.duals.shape == (3, 0) and point.x is start.x and state.system is not None


def test_numbers_of_terms_that_nobody_knows_are_central():
    scene = Scene(SMOOTHED, False, False)
    x = scene.state.x
    mu = scene.cone.inner(x, scene.state.S) / (3.0 * scene.unit)
    duals = interior._central(scene.parts, x, mu)
    # products are mu, and the equations hold
    np.testing.assert_allclose(scene.bounds(duals), mu)
    left = 1.0 - scene.problem.terms.margins(x) - 0.3 * duals[0] - duals[1] + duals[2]
    np.testing.assert_allclose(left, 0.0, atol=1e-8)
    seen = []
    solver = InteriorPoint()
    trace = SimpleNamespace(lam=LAM)
    original = interior._Step
    try:
        interior._Step = lambda problem, parts, lam, state: (
            seen.append(state) or original(problem, parts, lam, state)
        )
        solver.step(scene.problem, trace, State(x, scene.state.S, None, 1.0))
        solver.step(scene.problem, trace, State(x, scene.state.S, scene.state.duals, 1.0))
    finally:
        interior._Step = original
    np.testing.assert_array_equal(seen[0].duals, duals)
    assert seen[1].duals is scene.state.duals


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_point_of_a_state(loss):
    """For the hinge with its dual point; what a step takes besides one evaluation is counted."""
    scene = Scene(loss, False, True)
    state = State(scene.state.x, scene.state.S, np.array([[-0.5, 0.3, 1.5]] * 3), 1.0)
    point = _point(scene.problem, state)
    assert point.x is state.x and point.iterations == 1
    if loss is HINGE:
        np.testing.assert_array_equal(point.alpha, [0.0, 0.3, 1.0])
    else:
        assert point.alpha is None
    solver = InteriorPoint()
    moved, _ = run_one(scene.problem, scene.state)
    assert moved.others == int(solver.work(scene.problem) / scene.problem.terms.costs().evaluation)


def test_a_system_that_is_not_definite_ends_a_solve():
    scene = Scene(HINGE, False, True)
    assert (
        run_one(scene.problem, State(-scene.state.x, scene.state.S, scene.state.duals, 1.0)) is None
    )


def test_what_is_kept_when_terms_leave():
    scene = Scene(SMOOTHED, False, True)
    solver = InteriorPoint()
    kept = np.arange(len(scene.problem)) % 2 == 0
    state = solver.reduce(scene.problem, scene.state, kept)
    np.testing.assert_array_equal(state.duals, scene.state.duals[:, kept])
    assert state.x is scene.state.x and state.S is scene.state.S and state.system is None
    assert state.budget == scene.state.budget and state.duals.flags.c_contiguous
    unknown = State(scene.state.x, scene.state.S, None, 1.0)
    assert solver.reduce(scene.problem, unknown, kept).duals is None
    blocks = SimpleNamespace(terms=SimpleNamespace(explicit=False))
    assert solver.reduce(blocks, scene.state, kept).duals is None


# ---------------------------------------------------------------------------------- where it begins


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_weights_and_sums(loss, diagonal, plain):
    scene = Scene(loss, diagonal, plain)
    parts = scene.parts
    n = len(scene.problem)
    assert parts.total == pytest.approx(scene.w.sum()) and parts.unit == pytest.approx(scene.unit)
    assert parts.step == int(not plain)
    bounds = 1.0 if loss is SQUARED else 2.0
    assert parts.count == pytest.approx(bounds * scene.w.sum() + 3.0 * scene.unit)
    alpha = scene.rng.uniform(size=n)
    np.testing.assert_allclose(parts.H(alpha), scene.H(alpha), atol=1e-12)
    slacks = 1.0 - scene.problem.terms.margins(scene.state.x)
    np.testing.assert_allclose(parts.slacks(scene.state.x), slacks, atol=1e-12)


def test_no_terms_have_a_unit():
    system = SimpleNamespace(terms=range(0))
    system.terms = type("Empty", (), {"__len__": lambda self: 0, "weights": None})()
    parts = _Parts.of(triplets(HINGE), system)
    assert parts.unit == 1.0 and parts.total == 0.0


@pytest.mark.parametrize("lam", [1e-3, 0.4, 30.0])
@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_the_best_multiple_of_the_identity(loss, diagonal, plain, lam):
    scene = Scene(loss, diagonal, plain)
    problem = scene.problem
    unit = np.ones(3) if diagonal else np.eye(3)
    r = _best_multiple(problem, scene.parts, unit, lam)
    best = optimize.minimize_scalar(
        lambda s: problem.primal(math.exp(s) * unit, lam),
        bounds=(-20.0, 10.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert problem.primal(r * unit, lam) <= best.fun * (1.0 + 1e-9)
    assert r == pytest.approx(math.exp(best.x), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e15])
def test_the_best_multiple_is_any_number(size):
    """``lam r 3 = sum_t w_t`` times the margins where all terms are linear."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    problem = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), HINGE)
    parts = _Parts.of(problem, problem.terms.system())
    slope = 8.0
    lam = slope / 2.0 / min(size, 0.1)
    r = _best_multiple(problem, parts, np.eye(2), lam)
    assert r == pytest.approx(min(slope / (2.0 * lam), 1.0 / slope), rel=1e-6)


@pytest.mark.parametrize("lam", [1e-4, 0.4])
@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_a_cold_start(loss, diagonal, plain, lam):
    """At a multiple of the identity, with products of mu and a slack that is not too small."""
    scene = Scene(loss, diagonal, plain)
    problem = scene.problem
    parts = scene.parts
    solver = InteriorPoint()
    unit = np.ones(3) if diagonal else np.eye(3)
    x, S, mu = solver._cold(problem, parts, lam)
    r = _best_multiple(problem, parts, unit, lam)
    np.testing.assert_allclose(x, r * unit)
    assert mu == pytest.approx(solver.losses * problem.primal(x, lam) / scene.w.sum())
    H = scene.H(np.full(len(problem), 0.5))
    largest = np.abs(H).max() if diagonal else np.abs(np.linalg.eigvalsh(H)).max()
    expected = max(scene.unit * mu / r, solver.slack * largest)
    np.testing.assert_allclose(S, expected * unit)
    assert solver.slack < 0.1


def test_both_bounds_of_a_cold_slack_count():
    scene = Scene(HINGE, False, True)
    solver = InteriorPoint(slack=1e3)
    H = scene.H(np.full(len(scene.problem), 0.5))
    _, S, _ = solver._cold(scene.problem, scene.parts, LAM)
    np.testing.assert_allclose(S, 1e3 * np.linalg.norm(H, 2) * np.eye(3))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_best_multiple_of_a_dual_point(loss, given):
    problem = triplets(loss, weighted=True)
    x = 0.02 * np.eye(3)
    alpha = np.linspace(0.0, 0.1, len(problem)) if given else None
    e = problem.evaluate(x, LAM, alpha)
    dual, scaled = _best_scaled(problem, e, alpha)
    start = problem.alpha(x) if alpha is None else alpha
    best = optimize.minimize_scalar(
        lambda s: -problem.dual(np.clip(s * start, 0.0, loss.cap), LAM),
        bounds=(0.0, 1.0 / start.max()),
        method="bounded",
        options={"xatol": 1e-12},
    )
    if scaled is None:
        assert dual is e and -best.fun <= e.dual + 1e-9 * abs(e.dual)
        return
    assert dual.gap < e.gap and dual.gap == problem.gap(x, LAM, scaled)
    if scaled.max() < loss.cap:  # what is clipped is no multiple any more
        assert dual.dual == pytest.approx(-best.fun, rel=1e-9)
        np.testing.assert_allclose(scaled, best.x * start, rtol=1e-4)


def test_some_multiples_of_dual_points_are_better():
    n_better = 0
    for loss in LOSSES:
        for size in (1e-3, 0.1, 1.0):
            problem = triplets(loss)
            n = len(problem)
            alpha = np.full(n, size)
            e = problem.evaluate(0.02 * np.eye(3), 3.0, alpha)
            dual, scaled = _best_scaled(problem, e, alpha)
            n_better += scaled is not None and dual.gap < 0.99 * e.gap
            if scaled is not None:
                np.testing.assert_allclose(scaled / scaled[0], np.ones(n))
    assert n_better >= 4


def test_multiples_of_nothing_are_not_tried():
    problem = triplets(SMOOTHED)
    n = len(problem)
    for e, alpha in (
        (problem.evaluate(np.eye(3), LAM, np.zeros(n)), np.zeros(n)),
        (
            triplets(SMOOTHED, moved=True).evaluate(np.eye(3), LAM, np.full(n, 1e-3)),
            np.full(n, 1e-3),
        ),
    ):
        of = problem if alpha[0] == 0.0 else triplets(SMOOTHED, moved=True)
        found = _best_scaled(of, e, alpha)
        assert found[0] is e and found[1] is None
    # H has no positive part: nothing is curved
    X = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0]])
    tip = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), HINGE)
    e = tip.evaluate(np.zeros((2, 2)), LAM, np.array([0.5]))
    assert not e.plus.any() and _best_scaled(tip, e, np.array([0.5])) == (e, None)
    moved = ss.Problem(problem.terms, SMOOTHED, linear=1e-9 * np.eye(3))
    e = moved.evaluate(0.02 * np.eye(3), 3.0, np.full(n, 1e-3))
    assert _best_scaled(moved, e, np.full(n, 1e-3)) == (e, None)
    still = ss.Problem(problem.terms, SMOOTHED, linear=np.zeros((3, 3)))
    e = still.evaluate(0.02 * np.eye(3), 3.0, np.full(n, 1e-3))
    assert _best_scaled(still, e, np.full(n, 1e-3))[1] is not None


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("diagonal", [False, True])
def test_a_start_that_is_near_is_left_for_the_central_path(loss, diagonal):
    """For fifteen times its gap: x and S solve ``lam x - S = h`` and their product is mu."""
    problem = triplets(loss, diagonal, weighted=True)
    solver = InteriorPoint()
    near = ss.solve(problem, LAM, rtol=1e-3, method="interior", screening=(), max_iter=60)
    start = Start(near.x, LAM, alpha=near.alpha if loss is HINGE else None)
    point, state = solver.init(problem, start, None)
    assert point.x is near.x and point.evaluation.gap < 0.1 * point.evaluation.primal
    parts = _Parts.of(problem, problem.terms.system())
    e, _ = _best_scaled(problem, point.evaluation, start.alpha)
    mu = solver.back * e.gap / parts.count
    np.testing.assert_allclose(LAM * state.x - state.S, LAM * near.x - e.minus, atol=1e-9)
    product = state.x * state.S if diagonal else state.x @ state.S
    unit = np.ones(3) if diagonal else np.eye(3)
    np.testing.assert_allclose(product, parts.unit * mu * unit, rtol=1e-6, atol=1e-6 * mu)
    bounds = [state.duals[2] * state.duals[0]]
    if loss is not SQUARED:
        bounds.append(state.duals[1] * (1.0 - state.duals[0]))
    np.testing.assert_allclose(np.concatenate(bounds), mu, rtol=1e-6)
    assert state.budget == solver.budget


def test_a_multiple_that_is_used_pulls_the_duals():
    """Their equations hold with a pull towards it, and without one where it is not used."""
    problem = triplets(SMOOTHED, apart=9.0)
    lam = 1e-5 * problem.lam_max()
    x = ss.solve(problem, 2.0 * lam, rtol=1e-6, method="interior", screening=(), max_iter=60).x
    solver = InteriorPoint()
    point, state = solver.init(problem, Start(x, lam), None)
    e, towards = _best_scaled(problem, point.evaluation, None)
    assert towards is not None and e.gap <= solver.near * abs(e.primal)
    a, above, below = state.duals
    slack = 1.0 - problem.terms.margins(state.x)
    left = slack - 0.3 * a - above + below
    np.testing.assert_allclose(left, solver.pull * (a - towards), atol=1e-6)
    cold, state = solver.init(problem, Start(np.zeros((3, 3)), lam), None)
    a, above, below = state.duals
    left = 1.0 - problem.terms.margins(state.x) - 0.3 * a - above + below
    np.testing.assert_allclose(left, 0.0, atol=1e-6)
    assert cold.evaluation is not None


@pytest.mark.parametrize(("near", "warm"), [(1e-9, False), (0.9, True)])
def test_a_start_that_is_not_near_is_not_used(near, warm):
    problem = triplets(SMOOTHED)
    x = ss.solve(problem, LAM, rtol=1e-3, method="interior", screening=(), max_iter=60).x
    solver = InteriorPoint(near=near)
    _, state = solver.init(problem, Start(x, LAM), None)
    cold, _, _ = solver._cold(problem, _Parts.of(problem, problem.terms.system()), LAM)
    assert np.allclose(state.x, cold) != warm
    # x = 0 is no start, however near
    problem = triplets(HINGE)
    lam = 1e6 * problem.lam_max()
    ones = np.ones(len(problem))
    gap = problem.gap(np.zeros((3, 3)), lam, ones)
    assert gap < 0.1 * problem.primal(np.zeros((3, 3)), lam)
    _, state = InteriorPoint().init(problem, Start(np.zeros((3, 3)), lam, alpha=ones), None)
    cold, _, _ = solver._cold(problem, _Parts.of(problem, problem.terms.system()), lam)
    np.testing.assert_allclose(state.x, cold)


def test_a_start_just_as_near_as_asked_for_is_used():
    problem = triplets(SMOOTHED)
    x = ss.solve(problem, LAM, rtol=1e-3, method="interior", screening=(), max_iter=60).x
    e, _ = _best_scaled(problem, problem.evaluate(x, LAM), None)
    x_cold, _, _ = InteriorPoint()._cold(problem, _Parts.of(problem, problem.terms.system()), LAM)
    for factor, warm in ((0.9, False), (1.1, True)):
        solver = InteriorPoint(near=factor * e.gap / e.primal)
        _, state = solver.init(problem, Start(x, LAM), None)
        assert np.allclose(state.x, x_cold) != warm


# ----------------------------------------------------------------------------- who can use it, when


def test_who_is_able():
    solver = InteriorPoint(largest=6)
    for problem, able in (
        (triplets(HINGE), True),
        (triplets(HINGE, diagonal=True), True),
        (ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), HINGE), False),
    ):
        assert solver.is_able(problem) == able
    assert not InteriorPoint(largest=5).is_able(triplets(HINGE))
    assert InteriorPoint(largest=3).is_able(triplets(HINGE, diagonal=True))
    assert InteriorPoint.pace < 1.0
    X = np.random.default_rng(0).standard_normal((8, 3))
    blocks = ss.ProductTriplets(X, np.arange(8) % 2, k=2)
    assert solver.is_able(ss.Problem(blocks, SMOOTHED))
    assert not solver.is_able(ss.Problem(blocks, HINGE))
    with pytest.raises(TypeError, match="the interior-point method for the hinge"):
        solver.init(ss.Problem(blocks, HINGE), Start(np.eye(3), LAM), None)
    solver.init(ss.Problem(blocks, SMOOTHED), Start(np.eye(3), LAM), None)


@pytest.mark.parametrize(
    ("cone", "width"),
    [(PSDCone(3), 6), (PSDCone(1), 1), (NonNegativeCone(3), 3), (PSDCone(10), 55)],
)
def test_coordinates_of_an_element(cone, width):
    assert width_of(SimpleNamespace(cone=cone)) == width


# -------------------------------------------------------------------------------- how many it takes


def n_steps(problem, lam, x=None, rtol=1e-6):
    solver = InteriorPoint()
    start = Start(problem.cone.zeros() if x is None else x, lam)
    trace = Trace.begin(start, Limits(0.0, rtol, 99))
    point, state = solver.init(problem, start, trace)
    trace = trace.moved(problem, point)
    n = 0
    while not trace.limits.reached(trace.evaluation) and n < 60:
        following = solver.step(problem, trace, state)
        assert following is not None
        point, state = following
        trace = trace.moved(problem, point)
        n += 1
    return n, trace.best.evaluation.x


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_some_tens_of_steps_whatever_lam_is(loss, diagonal):
    """Some 20, and from the solution of a neighbouring lam some 6."""
    problem = triplets(loss, diagonal)
    lam_max = triplets(SMOOTHED, diagonal).lam_max()
    counts = [n_steps(problem, lam_max * 10.0**-k)[0] for k in (2, 7)]
    assert max(counts) <= 18, counts
    lams = lam_max * 0.05 * 0.7 ** np.arange(3)
    x = None
    warm = []
    for lam in lams:
        n, x = n_steps(problem, lam, x)
        warm.append(n)
    assert sum(warm[1:]) <= 2 * 8, warm
