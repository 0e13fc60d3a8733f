"""Steps of projected gradient: their length, when the method restarts, halves and gives up."""

from types import SimpleNamespace

import numpy as np
import pytest

from safescreen.cones import FreeSpace, NonNegativeCone
from safescreen.solvers.limits import Limits
from safescreen.solvers.projected_gradient import ProjectedGradient, Walk, _length
from safescreen.solvers.trace import Point, Start, Trace

LAM = 0.25


class Scene:
    """A solver that is told what its points are worth, and tells where steps begin."""

    def __init__(self, step=None, cone=None, **options):
        self.solver = ProjectedGradient(**options)
        self.problem = SimpleNamespace(cone=FreeSpace(1) if cone is None else cone)
        start = Start(np.array([8.0]), LAM, step=step)
        self.trace = Trace(start, Limits(1e-9, 0.0, 10**6))
        self.point, self.walk = self.solver.init(self.problem, start, self.trace)
        self.begun = None
        self.length = None

    def go(self, gap=1.0, primal=5.0, gradient=1.0, dual=0.0):
        """Evaluate the point, take a step, and return "back" where it was halved, "on" where a
        step began there, "best" where it began at the best point, "end".
        """
        e = SimpleNamespace(
            x=self.point.x,
            gap=gap,
            primal=primal,
            dual=dual,
            lam=LAM,
            gradient=np.full(1, gradient),
            x_alpha=np.full(1, 77.0),
        )
        self.trace.move(self.problem, self.point._replace(evaluation=e))
        assert self.trace.evaluation is e
        self.begun = None
        following = self.solver.step(self.problem, self.trace, self.walk, self._jump)
        if following is None:
            return "end"
        self.point = following[0]
        assert self.point.iterations == 1 and self.point.step == self.walk.length
        if self.begun is None:
            return "back"
        return "on" if self.begun is e else "best"

    def _jump(self, e, length):
        self.begun = e
        self.length = length
        return None

    def guarded(self):
        """Restart, at an objective of 5 and a gap of 1."""
        assert [self.go() for _ in range(3)] == ["on", "on", "best"] and self.walk.is_guarded
        return self


def test_a_walk_begins_with_nothing():
    walk = Walk(0.5)
    assert walk.length == 0.5 and walk.origin is None and walk.recent == []
    numbers = (walk.n_steps, walk.n_halvings, walk.waited, walk.counted_at, walk.halved_at)
    assert numbers == (0, 0, 0, 0, 0) and not walk.is_guarded


def test_the_first_step():
    """By ``1/lam``, to ``x(alpha)``, unless a length is known."""
    scene = Scene()
    assert scene.go() == "on"
    assert scene.point.x.tolist() == [77.0] and scene.length == scene.point.step == 1.0 / LAM
    scene = Scene(step=0.5)
    assert scene.go(gradient=3.0) == "on"
    assert scene.point.x.tolist() == [8.0 - 0.5 * 3.0] and scene.point.step == 0.5
    scene = Scene(step=0.5, cone=NonNegativeCone(1))
    scene.go(gradient=100.0)
    assert scene.point.x.tolist() == [0.0]
    assert scene.walk.n_steps == 1


def test_steps_of_the_mean_length():
    cone = FreeSpace(3)
    origin = (np.array([1.0, -1.0, 2.0]), np.array([0.5, 0.5, 0.0]))
    dx, dg = np.array([1.0, 2.0, 0.0]), np.array([3.0, 1.0, -1.0])
    x, gradient = origin[0] + dx, origin[1] + dg
    walk = Walk(9.0, origin)
    assert _length(cone, walk, x, gradient, LAM) == pytest.approx((5 / 11 + 5 / 5) / 2, rel=1e-14)
    small = _length(cone, walk, origin[0] + 0.1 * dx, origin[1] + 0.1 * dg, LAM)
    assert small == pytest.approx((5 / 11 + 5 / 5) / 2, rel=1e-12)
    unit = _length(cone, walk, origin[0] + [4.0, 0.0, 0.0], origin[1] + [1.0, 0.0, 0.0], LAM)
    assert unit == pytest.approx(4.0, rel=1e-14)


@pytest.mark.parametrize(
    ("dx", "dg"), [(1.0, -1.0), (0.0, 1.0), (0.0, 0.0), (1e10, 1e-170), (3.0, 0.0)]
)
def test_where_there_is_no_curvature_the_step_is_that_of_the_square(dx, dg):
    walk = Walk(9.0, (np.zeros(1), np.zeros(1)))
    assert _length(FreeSpace(1), walk, np.full(1, dx), np.full(1, dg), LAM) == 1.0 / LAM


def test_the_second_step_goes_by_the_first():
    scene = Scene(step=0.5)
    scene.go(gradient=3.0)
    assert scene.go(gradient=1.0) == "on"  # dx = -1.5, dg = -2
    assert scene.length == pytest.approx(0.75, rel=1e-14)
    assert scene.point.x == pytest.approx(6.5 - 0.75)


def test_a_step_may_lead_elsewhere():
    scene = Scene(step=0.5)
    scene._jump = lambda e, length: np.full(1, 42.0)
    scene.go()
    assert scene.point.x.tolist() == [42.0] and scene.walk.n_steps == 1


@pytest.mark.parametrize("halved", [None, 1, 3])
def test_it_restarts_where_the_gap_is_not_halved(halved):
    """After `patience` iterations from the best point; then after five times as many."""
    scene = Scene(step=0.5, patience=6)
    first = 0 if halved is None else halved
    seen = []
    for number in range(60):
        low = halved is not None and number >= halved
        gap = 0.1 if low else 1.0
        is_best = number == first
        seen.append(scene.go(gap=gap if is_best else 1.2 * gap))
    restarts = [number for number, what in enumerate(seen) if what == "best"]
    assert restarts == [first + 6, first + 36]
    assert seen.count("on") == 58


def test_restarted_steps_begin_with_the_last_length():
    scene = Scene(step=0.5, patience=2)
    scene.go(gradient=3.0)
    scene.go(gap=2.0, gradient=1.0)
    assert scene.go(gap=2.0, gradient=7.0) == "best"
    assert scene.length == pytest.approx(0.75, rel=1e-14)
    assert scene.point.x == pytest.approx(8.0 - 0.75 * 3.0)
    assert scene.walk.recent == [5.0]


def test_free_steps_may_raise_the_objective():
    scene = Scene(step=0.5, patience=1000)
    assert [scene.go(primal=10.0**number) for number in range(8)] == ["on"] * 8


@pytest.mark.parametrize("primal", [5.0, 5.0 * (1.0 + 1e-15), 4.0, 5.0 * (1.0 + 1e-12), 7.0, 1e9])
def test_guarded_steps_are_halved_where_they_raise_the_objective(primal):
    """By more than rounding, so often, and halfway each time."""
    scene = Scene(step=0.5, patience=2, halvings=4).guarded()
    for _ in range(2):
        back = scene.walk.origin[0]
        n_steps = scene.walk.n_steps
        expected = scene.point.x
        for _ in range(4 if primal > 5.0 * (1.0 + 1e-13) else 0):
            assert scene.go(gap=1.0, primal=primal) == "back"
            expected = 0.5 * (back + expected)
            assert scene.point.x == pytest.approx(expected, rel=1e-14)
        assert scene.walk.n_steps == n_steps
        assert scene.go(primal=primal) == "on" and scene.walk.n_steps == n_steps + 1
        scene.walk.recent = [5.0]


def test_a_guarded_step_is_compared_with_the_last_few():
    scene = Scene(step=0.5, patience=2, memory=3).guarded()
    assert [scene.go(primal=p) for p in (4.0, 3.0, 2.0, 3.9)] == ["on"] * 4
    assert scene.go(primal=3.95) == "back"  # the last three are 3, 2 and 3.9
    assert scene.go(primal=3.9) == "on"
    assert scene.walk.recent == [2.0, 3.9, 3.9]


def test_halvings_are_not_waited_for():
    """Of guarded steps that are halved each time none counts."""
    scene = Scene(step=0.5, patience=2).guarded()
    for _ in range(30):
        assert scene.go(gap=1.5, primal=6.0) == "back"
        assert scene.go(gap=1.5, primal=5.0) == "on"
    seen = [scene.go(gap=1.5) for _ in range(11)]
    assert seen.count("best") == 1


def test_what_holds_for_the_larger_problem_is_forgotten():
    scene = Scene(step=0.5, patience=2).guarded()
    walk = scene.solver.reduce(scene.problem, scene.walk, None)
    assert walk is scene.walk and walk.origin is None and walk.recent == []
    assert scene.go(primal=1e9) == "on" and scene.length == walk.length


@pytest.mark.parametrize("fell", [0, 4])
@pytest.mark.parametrize("rounding", [True, False])
def test_a_gap_of_roundings_is_given_up(fell, rounding):
    scene = Scene(step=0.5, hopeless=20, patience=10**6)
    for number in range(60):
        gap = 1.0 if number < fell or fell == 0 else 0.9
        dual = 5.0 - 0.1 * gap if rounding else 5.0 - gap
        found = scene.go(gap=gap, primal=5.0, dual=dual)
        assert (found == "end") == (rounding and number >= fell + 20), number
    assert isinstance(scene.point, Point)
