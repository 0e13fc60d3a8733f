"""Semismooth Newton steps: the system against a dense one, when a step is tried, and what follows
one that fails.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.cones import FreeSpace
from safescreen.solvers import semismooth
from safescreen.solvers.limits import Limits
from safescreen.solvers.projected_gradient import Walk
from safescreen.solvers.semismooth import NewtonWalk, Semismooth
from safescreen.solvers.trace import Point, Start, Trace

LAM = 0.5
STEP = 0.3


def triplets(diagonal):
    rng = np.random.default_rng(0)
    y = np.arange(14) % 2
    X = rng.standard_normal((14, 4)) + 1.2 * y[:, None] * (np.arange(4) == 0)
    terms = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal)
    return ss.Problem(terms, ss.SmoothedHinge(0.5))


# ------------------------------------------------------------------------------- the Newton system


class System:
    """The Newton system at a point where some of the cone's directions are cut off, as a matrix
    over the coordinates in which the derivative of the projection is a diagonal one.
    """

    def __init__(self, diagonal):
        self.problem = problem = triplets(diagonal)
        cone = problem.cone
        rng = np.random.default_rng(1)
        v = rng.standard_normal(cone.shape)
        x = cone.project(v if diagonal else v + v.T)
        self.e = e = problem.evaluate(x, LAM)
        slack = 1.0 - problem.terms.margins(x)
        self.curved = np.flatnonzero((slack > 0.0) & (slack < 0.5))
        assert self.curved.size >= 3
        self.y = e.x - STEP * e.gradient
        self.into, self.back, self.Z = cone.slope(self.y)
        assert 0.0 < np.mean(self.Z > 0.0) < 1.0
        self.calls = 0
        self.J = self._matrix(problem.terms.curvature(self.curved, 0.5))
        self.way = self.into(cone.project(self.y) - e.x).ravel()
        self.F = (LAM * np.eye(len(self.J)) + self.J) @ self.way - self.way / STEP

    def _matrix(self, product):
        columns = []
        for unit in np.eye(self.Z.size):
            unit = unit.reshape(self.Z.shape)
            symmetric = unit if unit.ndim == 1 else 0.5 * (unit + unit.T)
            columns.append(self.into(product(self.back(symmetric))).ravel())
        return np.array(columns).T

    def product(self, v):
        self.calls += 1
        return self.problem.terms.curvature(self.curved, 0.5)(v)

    def newton_point(self, solver):
        """Return the change of y, in coordinates, and how many products it took."""
        self.calls = 0
        y, products = solver.newton_point(self.problem, self.e, STEP, self.product)
        assert products == self.calls
        return self.into(y - self.y).ravel(), products

    def residual(self, dy):
        """Return what the solution w that belongs to dy leaves of the equation, relative to what
        w = 0 leaves, in the norm of conjugate gradients with Z as preconditioner.
        """
        Z = self.Z.ravel()
        inside = Z > 0.0
        identity = np.eye(len(Z))
        w = np.linalg.solve(identity - STEP * (LAM * identity + self.J), dy + STEP * self.F)
        bend = np.where(inside, (1.0 / np.where(inside, Z, 1.0) - 1.0) / STEP + LAM, 0.0)
        rest = np.where(inside, -self.F - bend * w - self.J @ w, 0.0)
        return math.sqrt((Z * rest) @ rest / ((Z * self.F) @ self.F))


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_newton_step_is_that_of_the_dense_system(diagonal):
    """F and its slope: ``(dy - w)/s + lam w + J w = -F`` with ``w = Z dy``."""
    system = System(diagonal)
    dy, _ = system.newton_point(Semismooth(accuracy=1e-13, products=1000))
    Z = np.diag(system.Z.ravel())
    identity = np.eye(len(Z))
    slope = (identity - Z) / STEP + LAM * Z + system.J @ Z
    np.testing.assert_allclose(slope @ dy, -system.F, atol=1e-9 * np.abs(system.F).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_products_end_where_the_residual_is_small_enough(diagonal):
    """At the first product behind which it is, for the accuracy of the solver and a finer one."""
    system = System(diagonal)
    assert Semismooth().accuracy == 0.03
    for accuracy in (0.03, 1e-3):
        dy, products = system.newton_point(Semismooth(accuracy=accuracy))
        assert system.residual(dy) <= accuracy * (1.0 + 1e-9)
        assert products > 3
        dy, fewer = system.newton_point(Semismooth(accuracy=accuracy, products=products - 1))
        assert fewer == products - 1 and system.residual(dy) > accuracy
    dy, _ = system.newton_point(Semismooth())
    np.testing.assert_array_equal(dy, system.newton_point(Semismooth(accuracy=0.03))[0])


def test_no_more_products_than_allowed():
    """A rounding is out of reach: what ends the products is their number, 60."""
    rng = np.random.default_rng(2)
    factors = 10.0 ** rng.uniform(-9, 9, 200)
    problem = SimpleNamespace(cone=FreeSpace(200))
    gradient = rng.standard_normal(200) / (factors + 1.0)  # all of F alike
    e = SimpleNamespace(lam=1e-9, x=np.zeros(200), gradient=gradient)
    for most, expected in ((60, 60), (7, 7)):
        solver = Semismooth() if most == 60 else Semismooth(products=most)
        _, products = solver.newton_point(problem, e, 1.0, lambda v: factors * v)
        assert products == expected


def test_without_curvature_the_gradient_step_of_length_1_over_lam_is_the_newton_step():
    problem = triplets(True)
    e = problem.evaluate(np.ones(4), 1.0)
    y, products = Semismooth().newton_point(problem, e, 1.0, lambda v: 0.0 * v)
    np.testing.assert_array_equal(y, e.x - e.gradient)
    assert products == 2


# ---------------------------------------------------------------------------- when a step is tried


class Noted(Semismooth):
    """Newton steps that lead to a given point, and note what they were asked for."""

    def newton_point(self, problem, e, s, product):
        problem.asked.append((s, product))
        return problem.target, 33


class Made:
    """A problem of terms with given slacks; the width of their loss is 1."""

    def __init__(self, slacks, target=None):
        self.asked = []
        self.cone = FreeSpace(2)
        self.target = np.array([3.0, 4.0]) if target is None else target
        margins = 1.0 - np.array(slacks)
        self.terms = SimpleNamespace(
            threshold=1.0,
            margins=lambda x: margins,
            curvature=lambda numbers, smoothing: (numbers.tolist(), smoothing),
        )
        self.loss = SimpleNamespace(width=1.0, smoothing=0.25)
        self.n = len(slacks)

    def __len__(self):
        return self.n


def jump(solver, problem, n_steps, fallen, left, products=20, after=3):
    """Return where a jump leads to after gradient steps, when the gap has fallen by that many
    powers of two and as many are left; and the state.
    """
    gap = 0.25
    e = SimpleNamespace(gap=gap, primal=10.0, x=np.zeros(2))
    limits = Limits(gap * 2.0**-left, 0.0, 99)
    trace = SimpleNamespace(limits=limits, evaluation=e, best=SimpleNamespace(gap=0.5))
    first_gap = gap * 2.0**fallen
    state = NewtonWalk(Walk(None, n_steps=n_steps), products, after, first_gap=first_gap)
    return solver._jump(problem, trace, state, e, 0.7), state


HALF = [0.5, 0.25, -1.0, 2.0, 0.75, 0.125, 0.0, 1.0]
"""Four of eight are strictly on the curved piece."""


@pytest.mark.parametrize(
    ("slacks", "products", "pays"),
    [
        # steps (2 + cost products) fallen, cost = 1/4 + share/4
        (HALF, 20, 3 * (2.0 + 0.375 * 20)),
        (HALF, 40, 3 * (2.0 + 0.375 * 40)),
        ([0.5, 0.5], 20, 3 * (2.0 + 0.5 * 20)),
        ([0.5], 20, 3 * (2.0 + 0.5 * 20)),
        ([-1.0, 2.0], 20, 3 * (2.0 + 0.25 * 20)),
    ],
)
def test_a_jump_is_tried_where_gradient_steps_cost_more(slacks, products, pays):
    for n_steps in (10, 30):
        for fallen in (2.0, 5.0):
            least = pays * fallen / n_steps
            problem = Made(slacks)
            ahead, state = jump(Noted(), problem, n_steps, fallen, 0.99 * least, products)
            assert ahead is None and not problem.asked and state.origin is None
            assert state.next == n_steps + 3 and state.products == products
            ahead, state = jump(Noted(), problem, n_steps, fallen, 1.01 * least, products)
            assert np.array_equal(ahead, [3.0, 4.0]) and state.next == 3


def test_what_a_jump_is_asked_for():
    problem = Made(HALF)
    _, state = jump(Noted(), problem, 20, 1.0, 40.0)
    assert problem.asked == [(0.7, ([0, 1, 4, 5], 0.25))]
    assert state.products == 33 and state.gap_before == 0.5 and state.origin.gap == 0.25


def test_no_jump_where_a_few_gradient_steps_will_do():
    """Twice as many as Newton steps: whatever one costs, and without another wait."""
    for factor, following in ((0.99, 3), (1.0, 3), (1.01, 15)):
        ahead, state = jump(Noted(), Made(HALF), 12, 2.0, factor * 6 * 2.0 / 12)
        assert ahead is None and state.next == following


def test_no_jump_where_gradient_steps_cost_as_much():
    ahead, state = jump(Noted(), Made([0.5]), 9, 1.0, 4.0)
    assert ahead is None and state.next == 12


def test_no_jump_before_its_time():
    for after, tried in ((21, False), (20, True), (19, True)):
        ahead, _ = jump(Noted(), Made(HALF), 20, 1.0, 40.0, after=after)
        assert (ahead is not None) == tried


def test_no_jump_from_an_infinite_gap():
    e = SimpleNamespace(gap=math.inf, primal=10.0, x=np.zeros(2))
    state = NewtonWalk(Walk(None, n_steps=20), 20, 3, first_gap=1.0)
    trace = SimpleNamespace(limits=Limits(1.0, 0.0, 99), evaluation=e, best=e)
    assert Noted()._jump(Made(HALF), trace, state, e, 0.7) is None


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_no_jump_to_what_has_overflowed(value):
    with np.errstate(invalid="ignore"):
        ahead, state = jump(Noted(), Made(HALF, np.array([1.0, value])), 20, 1.0, 40.0)
    assert ahead is None and state.origin is None


def test_the_first_jump_is_after_three_gradient_steps():
    problem = triplets(False)
    start = Start(problem.cone.zeros(), LAM)
    _, state = Semismooth().init(problem, start, Trace(start, Limits(1e-6, 0.0, 99)))
    assert state.next == 3 and state.products == 20 and state.wait == 1


# ----------------------------------------------------------------------------- what follows a jump


def step_after(monkeypatch, primal, gap, t=0.5, wait=4):
    """Return the point and the state after a jump from 0 to (2, 4), whose objective was 10 and
    before which the lowest gap was 2; None for the point where the jump is kept.
    """
    searches = []

    def search(problem, origin, slack, way):
        searches.append((slack.tolist(), way.tolist()))
        return t

    monkeypatch.setattr(semismooth, "line_search", search)
    kept = SimpleNamespace(step=lambda problem, trace, walk, jump: None)
    solver = Semismooth(kept)
    origin = SimpleNamespace(primal=10.0, x=np.zeros(2))
    e = SimpleNamespace(primal=primal, gap=gap, x=np.array([2.0, 4.0]))
    walk = Walk(0.75, n_steps=20)
    state = NewtonWalk(walk, 20, 3, wait=wait, origin=origin, gap_before=2.0)
    following = solver.step(Made(HALF), SimpleNamespace(evaluation=e), state)
    assert state.origin is None and state.first_gap == gap
    if following is None:
        assert not searches
        return None, state
    assert searches == [(HALF, [2.0, 4.0])]
    return following


@pytest.mark.parametrize(
    ("primal", "gap", "kept"),
    [
        (9.0, 5.0, True),
        (10.0, 5.0, False),
        (11.0, 5.0, False),
        (11.0, 0.9, True),
        (11.0, 1.0, False),
        (11.0, 1.1, False),
    ],
)
def test_a_jump_is_kept_where_it_lowers_the_objective_or_halves_the_gap(
    monkeypatch, primal, gap, kept
):
    assert (step_after(monkeypatch, primal, gap)[0] is None) == kept


@pytest.mark.parametrize(
    ("t", "x", "following", "wait"),
    [
        (0.005, [0.01, 0.02], 24, 8),
        (0.01, [0.02, 0.04], 3, 1),
        (0.25, [0.5, 1.0], 3, 1),
        (1.5, [2.0, 4.0], 3, 1),
    ],
)
def test_the_best_point_on_the_way_is_next(monkeypatch, t, x, following, wait):
    """Where it is next to nothing of the way the next trial has to wait, twice as long each
    time.
    """
    point, state = step_after(monkeypatch, 11.0, 5.0, t)
    np.testing.assert_allclose(point.x, x)
    assert point.step == 0.75 and point.iterations == 0
    assert state.next == following and state.wait == wait


def test_no_jump_is_judged_where_there_was_none():
    state = NewtonWalk(Walk(None), 20, 3)
    kept = SimpleNamespace(step=lambda problem, trace, walk, jump: (Point(7.0), walk))
    trace = SimpleNamespace(evaluation=SimpleNamespace(gap=2.0))
    point, following = Semismooth(kept).step(Made(HALF), trace, state)
    assert point.x == 7.0 and following is state and state.first_gap == 2.0


def test_few_steps_from_a_neighbouring_solution():
    """A finite method: from near by a few Newton steps reach a gap that gradient steps do not."""
    problem = triplets(False)
    lam = 1e-3 * problem.lam_max()
    near = ss.solve(problem, 1.2 * lam, rtol=1e-9, method="semismooth").x
    n_iter = {}
    for method in ("semismooth", "gradient"):
        solution = ss.solve(problem, lam, rtol=1e-9, x0=near, method=method, screening=())
        assert solution.converged
        n_iter[method] = solution.n_iter
    assert 2 * n_iter["semismooth"] <= n_iter["gradient"]
