"""What a solve returns: dual points and masks as they are stored, the loss, why it ended."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from instances import instance, points
from naive.loop import begin, driven
from safescreen.solvers import solve_screened
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import SMOOTH
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.solution import DualPoint, Solution, pack
from safescreen.solvers.solve import observer, solution_of


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 100])
def test_dual_points_are_stored_without_loss(n):
    rng = np.random.default_rng(n)
    for share in (0.0, 0.3, 1.0):
        alpha = np.where(rng.uniform(size=n) < share, rng.uniform(size=n), rng.integers(0, 2, n))
        stored = DualPoint(alpha)
        assert np.array_equal(stored.unpack(), alpha) and stored.width == 0.0
        fractional = ((alpha > 0.0) & (alpha < 1.0)).sum()
        assert stored.packed[3].size == fractional and stored.packed[1].size == (n + 7) // 8
    assert DualPoint(width=0.25).packed == () and DualPoint(width=0.25).width == 0.25
    assert DualPoint().width == 0.0


def test_sums_of_the_losses_for_a_dual_point():
    of = instance("dense")
    x = np.full(3, 0.2)
    alpha = np.linspace(0.0, 1.0, len(of.terms))
    for loss in (ss.Hinge(), ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)):
        found = DualPoint(alpha).loss_sums(of.terms, x, loss)
        problem = ss.Problem(of.terms, loss)
        assert problem.assemble(found, x, 2.0).gap == problem.gap(x, 2.0, alpha)
    X, y = points(n=12)
    blocks = ss.ProductTriplets(X, y)
    found = DualPoint(width=0.3).loss_sums(blocks, np.eye(3), ss.Hinge())
    problem = ss.Problem(blocks, ss.Hinge())
    expected = problem.assemble(blocks.hinge_sums(np.eye(3), 0.3), np.eye(3), 2.0).gap
    assert problem.assemble(found, np.eye(3), 2.0).gap == expected


def solution(n_terms, n_L, n_R, status=None, **fields):
    return Solution(
        x=np.full(1, 1.5),
        lam=1.0,
        gap=0.0,
        primal=0.0,
        loss=0.0,
        n_iter=0,
        reason="converged",
        history=[],
        n_terms=n_terms,
        n_L=n_L,
        n_R=n_R,
        eps=0.0,
        step=None,
        problem=fields.pop("problem", None),
        packed=None if status is None else pack(np.array(status, dtype=np.int8)),
        **fields,
    )


def test_a_gap_is_told_relative_to_the_size_of_the_objective():
    one = solution(1, 0, 0)
    assert one.relative_gap == 0.0
    assert replace(one, gap=0.5, primal=-4.0).relative_gap == 0.125
    assert replace(one, gap=0.5).relative_gap == math.inf


def test_rates():
    for n_terms, n_L, n_R, rate in (
        (10, 2, 3, 0.5),
        (1, 1, 0, 1.0),
        (4, 0, 4, 1.0),
        (0, 0, 0, 0.0),
    ):
        assert solution(n_terms, n_L, n_R).screening_rate == rate


def test_masks_are_those_that_were_stored():
    status = [0, 1, 2, 0, 1, 2, 2, 0, 1]
    screened = solution(9, 3, 3, status).screened
    assert screened.in_L.tolist() == [s == 1 for s in status]
    assert screened.in_R.tolist() == [s == 2 for s in status]
    assert solution(9, 3, 3).screened is None


def test_the_dual_point_is_the_stored_one_or_that_of_x():
    """It is what the gap belongs to, whatever is certain of its entries at the optimum."""
    problem = SimpleNamespace(alpha=lambda x: np.array([0.25, 0.5, 0.75]))
    assert solution(3, 1, 1, [1, 0, 2], problem=problem).alpha.tolist() == [0.25, 0.5, 0.75]
    assert solution(3, 0, 0, None, problem=problem).alpha.tolist() == [0.25, 0.5, 0.75]
    stored = DualPoint(np.array([1.0, 0.1, 0.0]))
    found = solution(3, 1, 1, [1, 0, 2], problem=problem, dual_point=stored)
    assert found.alpha.tolist() == [1.0, 0.1, 0.0]
    wide = solution(3, 0, 0, None, problem=problem, dual_point=DualPoint(width=0.1))
    assert wide.alpha.tolist() == [0.25, 0.5, 0.75]
    with pytest.raises(
        AttributeError, match="alpha of products of lists is computed from the problem, which"
    ):
        _ = solution(3, 1, 1).alpha


@pytest.mark.parametrize("linear", [None, [0.5, -1.0, 2.0]])
def test_the_loss_is_the_sum_over_the_terms(linear):
    of = instance("dense")
    c = None if linear is None else np.array(linear)
    problem = ss.Problem(of.terms, ss.SmoothedHinge(0.5), linear=c)
    for lam in (0.5, 20.0):
        found = ss.solve(problem, lam, screening=())
        slack = np.maximum(1.0 - of.terms.margins(found.x), 0.0)
        loss = np.where(slack < 0.5, slack**2, slack - 0.25).sum()
        assert found.loss == pytest.approx(loss, rel=1e-10) and found.converged


def test_the_intercept_is_the_best_for_all_terms():
    """Also where the last evaluation is that of the terms that are left."""
    X = np.array([[0.0], [1.0], [3.0], [4.0], [9.0]])
    problem = ss.Problem(ss.FreeIntercept.from_points(X, [-1, -1, -1, 1, 1]), ss.Hinge())
    start = begin(problem.cone.zeros(), 1.0)
    reduction = Reduction(problem)
    ended = driven(reduction, SMOOTH["gradient"], None, start, Limits(1e-3, 0.0, 99))
    x = ended.evaluation.x
    part = problem.reduce(np.zeros(5, dtype=bool), np.arange(5) == 2)
    assert part.terms.intercept(x, problem.loss) != problem.terms.intercept(x, problem.loss)
    left = ended._replace(problem=part, evaluation=part.evaluate(x, 1.0))
    assert solution_of(reduction, left).intercept == problem.terms.intercept(x, problem.loss)


def test_masks_are_kept_unless_told():
    problem = instance("dense").problem(0.5)
    reduction = Reduction(problem)
    start = begin(problem.cone.zeros(), 1.0)
    ended = driven(reduction, SMOOTH["gradient"], None, start, Limits(1e-3, 0.0, 99))
    assert solution_of(reduction, ended).screened is not None
    assert solution_of(reduction, ended, keep_masks=False).screened is None


def test_callbacks_see_the_last_iteration():
    seen = []
    observe = observer(lambda progress: seen.append(progress) or len(seen) == 3)
    problem = instance("dense").problem(0.5)
    start = begin(problem.cone.zeros(), 1.0)
    limits = Limits(1e-12, 0.0, 99)
    ended = driven(Reduction(problem), SMOOTH["gradient"], None, start, limits, observe)
    assert [progress.iteration for progress in seen] == [0, 1, 2]
    assert ended.reason == "callback" and len(ended.history) == 3
    assert observer(None) is None


def test_what_is_not_a_problem_is_named():
    with pytest.raises(TypeError, match="prob must be a Problem, got list"):
        ss.solve([], 1.0)


def test_an_interrupted_solve_is_kept_or_not():
    problem = instance("dense").problem(0.5)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.solve(problem, 1.0, callback=interrupt, keep_interrupted=False)
    with pytest.warns(RuntimeWarning, match="interrupted"), pytest.warns(ss.ConvergenceWarning):
        found = ss.solve(problem, 1.0, tol=1e-300, callback=interrupt)
    assert found.reason == "interrupted" and len(found.history) == 1


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_nothing_is_left_to_do_from_a_solution_and_its_dual_point(gamma):
    of = instance("dense")
    problem = of.problem(gamma)
    lam = of.lam(0.2)
    exact = ss.solve(problem, lam, rtol=1e-9, screening=())
    masks = ss.screen(problem, exact.x, lam, exact.alpha)
    assert 0 < masks.n_L + masks.n_R < len(problem)
    found = solve_screened(problem, lam, masks, exact.x, exact.alpha, rtol=1e-6)
    assert found.converged and found.n_iter == 0
    again = solve_screened(problem, lam, masks, rtol=1e-6)
    assert again.converged and again.n_iter > 0
