"""The sums that dual coordinate descent goes on from."""

import numpy as np
import pytest

import safescreen as ss
from naive.loop import begin
from safescreen.solvers.coordinate_descent import CoordinateDescent, path_alpha
from safescreen.solvers.limits import Limits
from safescreen.solvers.newton import Newton
from safescreen.solvers.state import Neighbour


def points(n=60):
    """Points of two classes that overlap."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 4))
    return X, np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0.0, 1, -1)


@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.5)], ids=str)
@pytest.mark.parametrize("is_free", [False, True])
def test_where_terms_leave_the_sum_is_that_of_the_dual_point(is_free, loss):
    """Also where terms leave as linear whose dual variable is not 1 yet, so that the classes are
    out of balance.
    """
    make = ss.FreeIntercept if is_free else ss.KernelSamples
    whole = ss.Problem(make.from_points(*points(), kernel="rbf", gamma=0.3), loss)
    solver = CoordinateDescent()
    state = begin(whole.cone.zeros(), 1.0, limits=Limits.checked(0.0, 1e-2, 100))
    point, own = solver.init(whole, state)
    point, own = solver.step(whole, state.moved(whole, point), own)
    status = np.zeros(len(whole), dtype=np.int8)
    status[:10] = 1
    left, kept = whole.reduce_by(status)
    own = solver.reduce(left, own, kept)
    H = left.linear + left.terms.weighted_sum(own.alpha)[0]
    assert np.allclose(own.H.coef, H.coef) and np.allclose(own.H.image, H.image)


def test_a_smooth_loss_starts_from_x_alone():
    X, y = points()
    problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.5))
    x0 = ss.solve(problem, 2.0).x
    wrong = np.random.default_rng(4).uniform(size=len(y))
    one, other = (ss.solve(problem, 0.5, x0=x0, alpha0=a, rtol=1e-8) for a in (None, wrong))
    assert one.n_iter == other.n_iter and one.primal == other.primal


@pytest.mark.parametrize("loss", [ss.SquaredHinge(0.5), ss.SmoothedHinge(0.05)], ids=str)
def test_sweeps_judge_a_smooth_loss_by_their_own_dual_point(loss):
    X, y = points()
    problem = ss.Problem(ss.Samples(X * np.geomspace(1.0, 3.0, 4), y), loss)
    found = ss.solve(problem, 1.0, rtol=1e-2, method="coordinate", screening=())
    assert found.converged
    assert problem.gap(found.x, 1.0, found.alpha) <= found.gap * (1.0 + 1e-9)
    assert problem.gap(found.x, 1.0) > 10.0 * found.gap


@pytest.mark.parametrize("loss", [ss.SquaredHinge(0.5), ss.SmoothedHinge(0.5)], ids=str)
def test_a_solution_with_its_dual_point_is_solved_already(loss):
    problem = ss.Problem(ss.Samples(*points()), loss)
    options = {"rtol": 1e-8, "method": "coordinate"}
    found = ss.solve(problem, 0.5, **options)
    assert ss.solve(problem, 0.5, x0=found.x, alpha0=found.alpha, **options).n_iter == 0


def test_newton_steps_begin_with_the_slopes_at_x():
    problem = ss.Problem(ss.Samples(*points()), ss.SquaredHinge(0.5))
    x = ss.solve(problem, 2.0).x
    alpha = np.ones(len(problem))
    state = begin(x, 1.0, alpha, evaluation=problem.evaluate(x, 1.0, alpha))
    point, _ = Newton().init(problem, state)
    slopes = point.evaluated(problem, 1.0).H
    assert np.allclose(slopes, problem.terms.weighted_sum(problem.alpha(x))[0])


def test_newton_steps_solve_for_the_squared_hinge():
    """At once where they cost next to nothing, and with more columns from the lam on for which
    sweeps have given up.
    """
    rng = np.random.default_rng(5)
    loss = ss.SquaredHinge(0.5)
    for screening in ("auto", "MGB", ()):
        problem = ss.Problem(ss.Samples(*points()), loss)
        alone = ss.solve(problem, 1.0, rtol=1e-8, screening=screening)
        assert alone.solver == "Newton" and alone.n_iter < 10
    X = rng.standard_normal((200, 50))
    y = np.where(X[:, 0] + rng.standard_normal(200) > 0.0, 1, -1)
    lams = 1.0 / np.geomspace(1e-3, 10.0, 20)
    solved = ss.path(ss.Problem(ss.Samples(X, y), loss), lams, rtol=1e-8)
    moved = [solution for solution in solved if solution.n_iter > 0]
    solvers = [solution.solver for solution in moved]
    first = solvers.index("Newton")
    assert first > 0 and set(solvers[first:]) == {"Newton"}
    assert max(solution.n_iter for solution in moved[first + 1 :]) < 10


@pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")
def test_sweeps_end_where_dual_variables_overflow():
    """Those of the squared hinge have no upper bound. 0 is as good as a solution here."""
    samples = ss.KernelSamples.from_points(np.zeros((3, 1)), [-1, -1, 1], "rbf", gamma=1.0)
    solution = ss.solve(ss.Problem(samples, ss.SquaredHinge(0.5)), 1e300)
    assert solution.converged and np.isfinite(solution.alpha).all()


@pytest.mark.parametrize("fall", [0.5, 0.01])
def test_a_path_starts_from_the_better_dual_point(fall):
    """Its sum is that of a balanced dual point, whose value is no smaller than that of the last
    one.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(0.0, 0.7, 60) > 0.0, 1.0, -1.0)
    prob = ss.Problem(ss.FreeIntercept.from_points(X, y, "rbf", 1.0), ss.Hinge())
    last = ss.solve(prob, 1.0, rtol=1e-6)
    lam = fall * last.lam
    dual = prob.dual(last.alpha, lam)
    alpha, H = path_alpha(prob, begin(last.x, lam, last.alpha, neighbour=Neighbour(last.lam, dual)))
    is_at_bound = (last.alpha == 0.0) | (last.alpha == 1.0)
    assert 3 < np.count_nonzero(~is_at_bound)
    assert alpha.min() >= 0.0 and alpha.max() <= 1.0 and abs(y @ alpha) < 1e-10
    assert prob.dual(alpha, lam) > dual
    np.testing.assert_allclose(H.coef, alpha)
    assert np.count_nonzero(alpha[is_at_bound] != last.alpha[is_at_bound]) < 5
