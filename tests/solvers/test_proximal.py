"""Proximal methods: the smoothed problems of the hinge, and the penalised ones of a free
intercept.
"""

import numpy as np
import pytest

import safescreen as ss
from naive.loop import begin
from safescreen.solvers.limits import Limits
from safescreen.solvers.line_search import best_multiple
from safescreen.solvers.newton import Newton
from safescreen.solvers.proximal_hinge import ProximalHinge, around, evaluate_hinge
from safescreen.solvers.proximal_intercept import ProximalIntercept, penalised

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


@pytest.mark.parametrize("loss", [HINGE, ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)], ids=str)
def test_a_few_rounds_find_the_intercept(loss):
    problem = free_intercept(loss)
    solver = ProximalIntercept(Newton() if loss.smoothing else ProximalHinge(Newton()))
    state = begin(problem.cone.zeros(), LAM, limits=Limits(0.0, 1e-8, 100_000))
    point, own = solver.init(problem, state)
    state = state.moved(problem, point)
    n = 1
    while not state.limits.reached(state.evaluation):
        point, own = solver.step(problem, state, own)
        state = state.moved(problem, point)
        n += 1
        assert n <= 20
    assert n <= 10


def free(seed, loss):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 80)), int(rng.integers(1, 8))
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return ss.Problem(ss.FreeIntercept.from_points(X, y), loss), 10.0 ** rng.uniform(-2.0, 2.0)


@pytest.mark.parametrize("loss", [HINGE, ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)], ids=str)
def test_a_solution_with_a_free_intercept_is_solved_already(loss):
    for seed in range(20):
        problem, lam = free(seed, loss)
        first = ss.solve(problem, lam)
        again = ss.solve(problem, lam, x0=first.x, alpha0=first.alpha)
        assert again.n_iter == 0 and again.converged
        assert again.history[0].gap <= first.gap + 1e-9 * first.primal


def test_a_pair_that_is_no_solution_leads_to_one():
    """Of a solution for another lam, and an alpha that does not balance the classes."""
    for seed in range(10):
        problem, lam = free(seed, HINGE)
        x0 = ss.solve(problem, 0.3 * lam).x
        alpha0 = np.random.default_rng(seed).uniform(0.0, 1.0, len(problem))
        found = ss.solve(problem, lam, x0=x0, alpha0=alpha0)
        best = ss.solve(problem, lam)
        assert found.converged and abs(found.primal - best.primal) <= found.gap + best.gap
        assert abs(problem.terms.residual(found.alpha)[0]) <= 1e-9 * len(problem)


@pytest.mark.parametrize("loss", [HINGE, ss.SmoothedHinge(0.5)], ids=str)
def test_a_far_start_leads_to_a_solution(loss):
    """The best intercept of a far x0 is far away, with or without a dual point."""
    for seed in range(20):
        problem, lam = free(seed, loss)
        x0 = 100.0 * np.random.default_rng(seed).standard_normal(problem.cone.shape)
        best = ss.solve(problem, lam)
        for alpha0 in (None, np.ones(len(problem))):
            found = ss.solve(problem, lam, x0=x0, alpha0=alpha0)
            assert found.converged and abs(found.primal - best.primal) <= found.gap + best.gap
