"""When policies of named spheres are due; whose turn it is; which terms are active."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.solvers.active_set import ActiveSet
from safescreen.solvers.every import Every
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.relay import Relay
from safescreen.solvers.trace import Start, Trace, Trial
from safescreen.solvers.when_fallen import WhenFallen


def moment(gap=1.0, tried=math.inf, tried_at=None, n_iter=0):
    evaluation = SimpleNamespace(gap=gap)
    return SimpleNamespace(evaluation=evaluation, screened=Trial(tried, tried_at), n_iter=n_iter)


def test_every_few_iterations():
    policy = Every((), freq=4)
    for tried_at in (0, 3, 4, 40):
        due = [
            n for n in range(tried_at, tried_at + 9) if policy.is_due(moment(0.1, 1.0, tried_at, n))
        ]
        assert due == list(range(tried_at + 4, tried_at + 9))
    # a solve may begin later, as that of a smaller problem does
    assert [n for n in range(1, 7) if policy.is_due(moment(n_iter=n))] == [4, 5, 6]


def test_the_first_point_unless_it_has_been_screened():
    for policy in (Every((), freq=4), Every((), freq=4, fallen=0.5)):
        assert policy.is_due(moment(1.0))
        assert not policy.is_due(moment(1.0, 1.0)) and not policy.is_due(moment(3.0, 4.0))
        assert policy.is_due(moment(0.3, 1.0)) and policy.is_due(moment(1.0, 4.0))
    assert not Every((), fallen=0.1).is_due(moment(0.3, 1.0))


def test_when_the_gap_has_fallen():
    for policy in (WhenFallen(()), WhenFallen((), 0.3)):
        assert policy.is_due(moment(1.0)) and policy.is_due(moment(1.0, 4.0))
        assert not policy.is_due(moment(1.0, 2.0)) and not policy.is_due(moment(0.9, 1.0))
        assert not policy.is_due(moment(math.inf)) and not policy.is_due(moment(3.0, 1.0))
    assert WhenFallen((), 0.8).is_due(moment(0.7, 1.0))


@dataclass
class Counting:
    """A solver that notes the problems of its steps, and ends after some."""

    ends_after: int = 10**6
    limits: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    needs = ()
    pace = 0.25

    def init(self, problem, start, trace):
        self.sizes.append("init")
        return Point(start.x), self

    def step(self, problem, trace, state):
        if len(self.sizes) > self.ends_after:
            return None
        assert trace.evaluation.gap > 0.0
        self.sizes.append(len(problem))
        return Point(trace.point.x, iterations=1), self

    def reduce(self, problem, state, kept):
        self.sizes.append("reduce")
        return self


def samples(n=12):
    """Return samples whose margins at 1 are 0.5, 0.6, 0.7, ..."""
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    X = ((0.5 + 0.1 * np.arange(n)) * signs)[:, None]
    return ss.Problem(ss.Samples(X, signs), ss.SmoothedHinge(0.05))


@pytest.mark.parametrize(("buffer", "kept"), [(0.0, 5), (0.25, 8), (-0.25, 3), (9.0, 12)])
def test_active_terms_are_those_with_a_loss_or_nearly(buffer, kept):
    problem = samples()
    active = ActiveSet(buffer=buffer)._active(problem, np.array([1.0 + 1e-9]))
    margins = active.terms.margins(np.ones(1))
    np.testing.assert_allclose(margins, 0.5 + 0.1 * np.arange(kept))


@pytest.mark.parametrize(
    ("freq", "max_iter", "done", "ends", "expected"),
    [(4, 99, 0, 99, 4), (1, 99, 0, 99, 1), (9, 5, 2, 99, 3), (9, 99, 0, 6, 6), (7, 3, 2, 99, 1)],
)
def test_steps_between_two_looks_at_all_terms(freq, max_iter, done, ends, expected):
    """As many as are asked for, and allowed; the first with all terms."""
    problem = samples()
    inner = Counting(ends_after=ends)
    solver = ActiveSet(inner, freq=freq, buffer=0.25)
    x = np.array([1.0 + 1e-9])
    trace = Trace.begin(Start(x, 0.5), Limits(1e-12, 0.0, max_iter))
    point, state = solver.init(problem, Start(x, 0.5), trace)
    trace = trace.moved(problem, point._replace(iterations=done))
    point, _ = solver.step(problem, trace, state)
    assert inner.sizes == ["init", 12, *[8] * (expected - 1)]
    assert point.iterations == expected and point.evaluation is None
    assert trace.n_iter == done


def test_active_terms_that_are_solved_are_left():
    problem = samples()
    inner = Counting()
    solver = ActiveSet(inner, freq=5, buffer=0.25)
    x = ss.solve(problem, 0.5, tol=1e-10, screening=()).x
    trace = Trace.begin(Start(x, 0.5), Limits(1e-6, 0.0, 99))
    point, state = solver.init(problem, Start(x, 0.5), trace)
    trace = trace.moved(problem, point)
    point, _ = solver.step(problem, trace, state)
    assert inner.sizes == ["init", 12] and point.iterations == 1


def test_the_second_solver_begins_where_the_first_gives_up():
    """Once, and for good; where it gives up too, the solve ends."""
    problem = samples()
    first, second = Counting(ends_after=2), Counting(ends_after=3)
    solver = Relay(first, second)
    assert solver.pace == 0.25 and solver.needs == ()
    start = Start(np.ones(1), 0.5)
    trace = Trace.begin(start, Limits(1e-12, 0.0, 99))
    following = solver.init(problem, start, trace)
    turns = []
    while following is not None:
        point, state = following
        assert point.solver == "Counting"
        turns.append(("first", "second")[state.number])
        trace = trace.moved(problem, point)
        following = solver.step(problem, trace, state)
    assert turns == ["first"] * 3 + ["second"] * 4
    assert first.sizes == ["init", 12, 12] and second.sizes == ["init", 12, 12, 12]
    solver.reduce(problem, state, None)
    assert second.sizes[-1] == "reduce" and "reduce" not in first.sizes
