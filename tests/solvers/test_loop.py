"""The one loop by itself, with solvers and policies that do as they are told: why it ends, which
point it returns, on which problem that is judged.
"""

import time
from dataclasses import dataclass, field

import numpy as np
import pytest

import safescreen as ss
from naive.loop import begin, driven
from safescreen.rules import Screened
from safescreen.solvers.drive import ROUNDS, Interrupted
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction, parse_screening

X = np.array([[1.0], [1.0], [3.0], [-2.0]])
SIGNS = np.array([1, -1, 1, -1])


def problem(gamma=0.05):
    return ss.Problem(ss.Samples(X, SIGNS), ss.SmoothedHinge(gamma))


@dataclass(frozen=True)
class Told:
    """A solver that goes through given points, one an iteration, and ends after the last."""

    points: tuple
    first: Point | None = None
    log: list = field(default_factory=list)
    needs = ()
    pace = None

    def init(self, problem, state):
        return self.first or Point(state.point.x, alpha=state.point.alpha), 0

    def step(self, problem, state, own):
        self.log.append((len(problem), state.limits.tol))
        if own == len(self.points):
            return None
        point = self.points[own]
        if isinstance(point, BaseException):
            raise point
        point = point if isinstance(point, Point) else Point(np.full(1, float(point)))
        return point._replace(iterations=1), own + 1

    def reduce(self, problem, own, kept):
        self.log.append(("kept", kept.tolist()))
        return own


@dataclass
class Due:
    """A policy that is due at some iterations, and has some tests."""

    iterations: tuple
    use: tuple
    asked: list = field(default_factory=list)

    def tests(self, now, then, terms):
        if now.n_iter not in self.iterations:
            return ()
        self.asked.append((now.n_iter, then.n_iter))
        return self.use


def run(points, limits, policy=None, observe=None, reduction=None, alpha=None, gamma=0.05):
    reduction = Reduction(problem(gamma)) if reduction is None else reduction
    solver = Told(tuple(points))
    start = begin(np.zeros(1), 1.0, alpha)
    return driven(reduction, solver, policy, start, limits, observe), solver.log


def best_gap(points, gamma=0.05):
    return min(problem(gamma).gap(np.full(1, float(x)), 1.0) for x in (0.0, *points))


HARD = Limits(1e-12, 0.0, 99)


def test_it_ends_where_the_solver_does_with_the_best_point():
    points = (0.1, 0.3, 0.2, 0.9)
    ended, log = run(points, HARD)
    assert ended.reason == "stalled" and ended.n_iter == 4 and len(log) == 5
    assert ended.evaluation.gap == best_gap(points)
    assert [row.iteration for row in ended.history] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_it_takes_as_many_iterations_as_it_may(most):
    ended, log = run([0.1] * 9, Limits(1e-12, 0.0, most))
    assert ended.reason == "iterations" and ended.n_iter == len(log) == most


def test_it_ends_when_the_time_is_over(monkeypatch):
    """With the first iteration that ends after it, and at no time at all with the first point."""
    ticks = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: ticks[0])
    ended, log = run([0.1] * 9, Limits(1e-12, 0.0, 99, 0.0))
    assert ended.reason == "time" and len(ended.history) == 1 and not log

    def tick(reduction, state):
        ticks[0] += 1.0

    ended, log = run([0.1] * 9, Limits(1e-12, 0.0, 99, 4.0), observe=tick)
    assert ended.reason == "time" and len(ended.history) == 4


def test_it_ends_where_the_gap_is_small_or_an_observer_says_so():
    x = ss.solve(problem(), 1.0, tol=1e-12, screening=()).x[0]
    ended, _ = run([0.1, x, 0.2], Limits(1e-6, 0.0, 99))
    assert ended.reason == "converged" and ended.n_iter == 2
    seen = []
    observe = lambda reduction, state: seen.append(state.n_iter) or len(seen) == 3  # noqa: E731
    ended, _ = run([0.1] * 9, HARD, observe=observe)
    assert ended.reason == "callback" and seen == [0, 1, 2]


def test_the_solution_that_roundings_hid_has_converged():
    """What ends for another reason is judged all the same."""
    x = ss.solve(problem(), 1.0, tol=1e-12, screening=()).x[0]
    ended, _ = run([x], Limits(1e-6, 0.0, 1), observe=lambda *args: True)
    assert ended.reason == "callback"
    ended, _ = run([x, x], Limits(1e-6, 0.0, 1))
    assert ended.reason == "converged"


def wrong_reduction():
    """Return the problem without a term that is not zero, as somebody else's test has it, and the
    solution of what is left.
    """
    reduction = Reduction(problem()).known(
        Screened(np.zeros(4, bool), np.array([False, True, False, False]))
    )
    return reduction, ss.solve(reduction.problem, 1.0, tol=1e-15, rtol=0.0, screening=()).x[0]


@pytest.mark.parametrize(("goal", "n_steps"), [(1e-3, ROUNDS - 1), (1e12, 0)])
def test_more_is_asked_for_where_screened_terms_cost(goal, n_steps):
    """A tenth of the gap each time, so often; the whole problem judges."""
    reduction, x = wrong_reduction()
    start = begin(np.full(1, x), 1.0)
    solver = Told((x,) * 40)
    ended = driven(reduction, solver, None, start, Limits(goal, 0.0, 99))
    assert [tol for _, tol in solver.log] == pytest.approx(goal * 0.1 ** np.arange(1, n_steps + 1))
    assert ended.problem is reduction.whole and ended.evaluation.gap > 0.1
    assert ended.reason == ("stalled" if n_steps else "converged")


def test_the_best_point_after_more_was_asked_for_is_the_one_that_is_judged():
    reduction, x = wrong_reduction()
    shares = np.geomspace(1e-6, 1.0, 400)
    gaps = [reduction.problem.gap(np.full(1, x * (1.0 + share)), 1.0) for share in shares]
    # the first is good enough for what is left, the second better, not as good as asked for then
    first, second = (x * (1.0 + np.interp(gap, gaps, shares)) for gap in (9e-4, 4e-4))
    ended, log = run([first, second], Limits(1e-3, 0.0, 2), reduction=reduction)
    assert [tol for _, tol in log] == pytest.approx([1e-3, 1e-4])
    assert ended.reason == "iterations" and ended.evaluation.x[0] == second
    assert ended.evaluation.gap == pytest.approx(problem().gap(np.full(1, second), 1.0), rel=1e-9)


@pytest.mark.parametrize("enlargement", [0.0, 1e-9, 1e9])
def test_what_is_near_enough_is_judged_on_what_is_left(enlargement):
    """Within the enlargement screened terms are where screening says, and cost nothing."""
    reduction, x = wrong_reduction()
    reduction.enlargement = enlargement
    ended, _ = run([0.1], HARD, reduction=reduction)
    near = enlargement == 1e9
    assert ended.problem is (reduction.problem if near else reduction.whole)
    expected = ended.problem.gap(ended.evaluation.x, 1.0)
    assert ended.evaluation.gap == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_the_dual_point_is_returned(gamma):
    """For all terms, also those that are screened."""
    alpha = np.array([0.25, 1.0, 0.0, 0.5])
    ended, _ = run([], HARD, alpha=alpha, gamma=gamma)
    assert np.array_equal(ended.best_dual.unpack(), alpha)
    expected = problem(gamma).gap(np.zeros(1), 1.0, alpha)
    assert ended.evaluation.gap == pytest.approx(expected, rel=1e-12)
    masks = Screened(np.array([False, True, False, False]), np.array([False, False, True, False]))
    left = Reduction(problem(gamma)).known(masks)
    ended, _ = run([], HARD, alpha=alpha[[0, 3]], gamma=gamma, reduction=left)
    assert np.array_equal(ended.best_dual.unpack(), alpha)
    ended, _ = run([], HARD, gamma=gamma)
    assert ended.best_dual is None


@pytest.mark.slow
def test_a_width_is_returned_in_place_of_a_dual_point():
    blocks = ss.Problem(ss.ProductTriplets(X, [0, 0, 1, 1]), ss.Hinge())
    first, second = (Point(np.full((1, 1), size), width=size) for size in (0.2, 0.01))
    start = begin(np.zeros((1, 1)), 1.0)
    whole, left = Reduction(blocks), Reduction(blocks)
    left.problem = ss.Problem(blocks.terms, blocks.loss)
    for reduction in (whole, left):
        ended = driven(reduction, Told((second,), first), None, start, HARD)
        assert ended.best_dual.width in (0.2, 0.01) and not ended.best_dual.packed


def test_a_point_names_the_solver_that_found_it_or_it_is_the_one_asked():
    for name in ("", "another"):
        solver = Told((), Point(np.zeros(1), solver=name))
        ended = driven(Reduction(problem()), solver, None, begin(np.zeros(1), 1.0), HARD)
        assert ended.point.solver == (name or "Told")


def test_screening_when_it_is_due():
    use = parse_screening("DGB", problem())
    policy = Due((1, 3), use)
    ended, log = run([0.45, 0.5, 0.5, 0.5], HARD, policy=policy)
    assert policy.asked == [(1, None), (3, 1)]
    plain, _ = run([0.45, 0.5, 0.5, 0.5], HARD)
    assert ended.evaluation.gap <= plain.evaluation.gap * (1.0 + 1e-9)
    policy = Due((0, 1, 2, 3, 4), ())
    _, log = run([0.45, 0.5, 0.5, 0.5], HARD, policy=policy)
    assert len(policy.asked) == 5 and all(then is None for _, then in policy.asked)
    assert all(size == 4 for size, _ in log)


def test_terms_that_leave():
    """The solver is told which are kept, and goes on with them."""
    use = parse_screening("DGB", problem())
    x = ss.solve(problem(), 1.0, tol=1e-14, rtol=0.0, screening=()).x[0]
    policy = Due((1,), use)
    ended, log = run([x * 1.001, 0.3], HARD, policy=policy)
    kept = [entry for entry in log if entry[0] == "kept"]
    assert len(kept) == 1 and 0 < len(kept[0][1]) < 4
    assert [size for size, _ in log if size != "kept"] == [4, *[len(kept[0][1])] * 2]
    assert ended.history[-1].n_terms == len(kept[0][1])


def test_ctrl_c():
    """After the first point how far the solve was is kept; before it there is nothing to keep."""
    with pytest.raises(Interrupted) as caught:
        run([0.1, 0.3, KeyboardInterrupt()], HARD)
    ended = caught.value.state
    assert ended.reason == "interrupted" and ended.n_iter == 2
    assert ended.evaluation.gap == best_gap([0.1, 0.3])

    class Pressed(Reduction):
        @property
        def n_L(self):
            raise KeyboardInterrupt

        @n_L.setter
        def n_L(self, value):
            pass

    with pytest.raises(KeyboardInterrupt) as caught:
        run([0.1], HARD, reduction=Pressed(problem()))
    assert not isinstance(caught.value, Interrupted)
