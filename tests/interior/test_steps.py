"""Steps of the interior-point method: where it begins, its directions against the equations that
they solve, and who can use it.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.interior.method import (
    InteriorPoint,
    State,
    _best_scaled,
    _Goal,
    _Parts,
    _point,
    _Step,
)
from safescreen.interior.pair_system import pair_system
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import INTERIOR_HINGE
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
        system = pair_system(self.problem.terms)
        self.parts = _Parts.of(self.problem, system)
        n = len(self.problem)
        duals = rng.uniform(0.1, 0.9, (3, n))
        if loss is SQUARED:
            duals[1] = 0.0
            duals[0] *= 3.0
        x, S = (self.inside(rng) for _ in range(2))
        self.state = State(x, S, duals, budget, system)
        self.step = _Step(InteriorPoint(coarsest=0.0), self.parts, lam, self.state)
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
    way = step.towards(goal, 1e-11, step.effort)
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
def test_a_step_stays_inside(loss, diagonal, plain):
    """All numbers stay positive."""
    scene = Scene(loss, diagonal, plain)
    state = scene.state
    for _ in range(5):
        _, state = run_one(scene.problem, state)
        for v in (state.x, state.S):
            assert (np.linalg.eigvalsh(v).min() if v.ndim == 2 else v.min()) > 0.0
            np.testing.assert_array_equal(v, v.T)
        assert state.duals[0].min() > 0.0 and state.duals[2].min() > 0.0
        if loss is not SQUARED:
            assert state.duals[1].min() > 0.0 and state.duals[0].max() < 1.0


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
            _Step(InteriorPoint(), scene.parts, LAM, state)


def test_products_that_have_overflowed_end_a_solve():
    scene = Scene(SMOOTHED, True, True)
    x = np.array([np.inf, 1.0, 1.0])
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(np.linalg.LinAlgError, match="products of a state negative"),
    ):
        _Step(InteriorPoint(), scene.parts, LAM, State(x, np.ones(3), scene.state.duals, 0.0))


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
    assert run_one(scene.problem, scene.state)[0].others > 0


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


def assert_central(scene, state, mu, left=0.0):
    """The products of a state are mu, and the equations of its terms hold, up to what is left."""
    np.testing.assert_allclose(scene.bounds(state.duals)[1], mu, rtol=1e-6)
    if scene.loss is not SQUARED:
        np.testing.assert_allclose(scene.bounds(state.duals)[0], mu, rtol=1e-6)
    alpha, above, below = state.duals
    slack = 1.0 - scene.problem.terms.margins(state.x)
    equations = slack - scene.loss.smoothing * alpha - above + below
    np.testing.assert_allclose(equations, left, atol=1e-6)


@pytest.mark.parametrize("lam", [1e-4, 0.4, 1e4])
@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_a_start_from_anywhere(loss, diagonal, plain, lam):
    """At a multiple of the identity, inside the cone with its slack, and with central terms."""
    scene = Scene(loss, diagonal, plain)
    _, state = InteriorPoint().init(scene.problem, Start(scene.cone.zeros(), lam), None)
    for v in (state.x, state.S):
        np.testing.assert_allclose(v, v.flat[0] * scene.cone.unit)
        assert v.flat[0] > 0.0
    assert_central(scene, state, float((state.duals[0] * state.duals[2])[0]))


@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_a_start_that_is_near_is_left_for_the_central_path(loss, diagonal, plain):
    """x and S solve ``lam x - S = h`` and their product is that of the terms."""
    scene = Scene(loss, diagonal, plain)
    problem = scene.problem
    near = ss.solve(problem, LAM, rtol=1e-3, method="interior", screening=(), max_iter=60)
    start = Start(near.x, LAM, alpha=near.alpha if loss is HINGE else None)
    solver = InteriorPoint()
    point, state = solver.init(problem, start, None)
    assert point.x is near.x
    e, towards = _best_scaled(problem, point.evaluation, start.alpha)
    np.testing.assert_allclose(LAM * state.x - state.S, LAM * near.x - e.minus, atol=1e-9)
    mu = float((state.duals[0] * state.duals[2])[0])
    product = state.x * state.S if diagonal else state.x @ state.S
    expected = scene.unit * mu * scene.cone.unit
    np.testing.assert_allclose(product, expected, rtol=1e-6, atol=1e-6 * mu)
    pulled = 0.0 if towards is None else solver.pull * (state.duals[0] - towards)
    assert_central(scene, state, mu, pulled)


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize(("loss", "diagonal", "plain"), CASES)
def test_a_multiple_of_a_dual_point_is_one_and_better(loss, diagonal, plain, size):
    problem = Scene(loss, diagonal, plain).problem
    x = 0.02 * problem.cone.unit
    alpha = np.linspace(0.0, size, len(problem))
    e = problem.evaluate(x, 3.0, alpha)
    dual, scaled = _best_scaled(problem, e, alpha)
    if scaled is None:
        assert dual is e
        return
    assert plain and dual.gap == problem.gap(x, 3.0, scaled) < e.gap
    factor = (scaled[1:] / alpha[1:]).max()
    np.testing.assert_allclose(scaled, np.clip(factor * alpha, 0.0, loss.cap))


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
    assert not INTERIOR_HINGE.is_able(ss.Problem(blocks, HINGE))
    solver.init(ss.Problem(blocks, SMOOTHED), Start(np.eye(3), LAM), None)
