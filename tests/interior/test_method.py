"""The interior-point method: its solutions against an outside solver, in some tens of steps
whatever lam is.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import safescreen as ss
from naive.loop import begin, driven
from safescreen.interior import InteriorPoint
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import SMOOTH
from safescreen.solvers.reduction import Reduction, parse_screening
from safescreen.solvers.when_fallen import WhenFallen


def labelled(load=load_wine, every=1):
    X, y = load(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[::every], y[::every]


def run(problem, lam, x=None, rtol=1e-6, most=40, policy=None):
    """Return the best evaluation and the number of steps."""
    start = begin(problem.cone.zeros() if x is None else x, lam)

    def inside(reduction, state):
        e = state.evaluation
        assert problem.cone.violation(e.x) <= e.x_error

    limits = Limits(0.0, rtol, most)
    ended = driven(Reduction(problem), InteriorPoint(), policy, start, limits, inside)
    return ended.evaluation, ended.n_iter


# ------------------------------------------------------------------------------------ its solutions

LOSSES = [ss.SmoothedHinge(0.05), ss.Hinge(), ss.SquaredHinge(0.5)]


def outside(problem, lam):
    """Return the optimum of an outside solver."""
    cp = pytest.importorskip("cvxpy")
    cone = problem.cone
    full = len(cone.shape) == 2
    x = cp.Variable(cone.shape, PSD=True) if full else cp.Variable(cone.d, nonneg=True)
    a = problem.terms.elements(np.arange(len(problem)))[0].reshape(len(problem), -1)
    slack = problem.terms.threshold - a @ (cp.vec(x, order="C") if full else x)
    bound = cp.Variable(len(problem), nonneg=True)
    loss = problem.loss
    weights = np.ones(len(problem)) if problem.terms.weights is None else problem.terms.weights
    constraints = []
    if loss.smoothing == 0.0:
        constraints.append(bound >= slack)
        cost = weights @ bound
    elif np.isinf(loss.cap):
        constraints.append(bound >= slack)
        cost = weights @ cp.square(bound) / (2.0 * loss.smoothing)
    else:
        # the smoothed hinge is an infimal convolution of hinge and square
        rest = cp.Variable(len(problem))
        constraints.append(bound >= slack - rest)
        cost = weights @ (bound + cp.square(rest) / (2.0 * loss.smoothing))
        constraints.append(rest >= 0.0)
    cost += 0.5 * lam * cp.sum_squares(x)
    if problem.linear is not None:
        cost -= cp.sum(cp.multiply(problem.linear, x))
    reference = cp.Problem(cp.Minimize(cost), constraints)
    with warnings.catch_warnings():
        # on some machines it misses its own tolerances; the tests compare what it found
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        reference.solve(solver="CLARABEL")
    return float(reference.value)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_optimum_of_an_outside_solver(loss, diagonal, plain):
    X, y = labelled(load_iris, every=6)
    rng = np.random.default_rng(7)
    count = len(ss.Triplets.from_labels(X, y, k=2))
    weights = None if plain else rng.uniform(0.2, 5.0, count)
    terms = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal, weights=weights)
    linear = (
        None if plain else ss.pull(X, rng.permutation(len(X))[:10].reshape(5, 2), diagonal=diagonal)
    )
    problem = ss.Problem(terms, loss, linear=linear)
    for lam in (10.0, 0.1, 1e-3):
        e, n = run(problem, lam, rtol=1e-8)
        assert e.gap <= 1e-8 * abs(e.primal), n
        assert e.primal == pytest.approx(outside(problem, lam), rel=1e-6)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("smoothing", [0.05, 0.0])
def test_some_tens_of_steps_whatever_lam_is(smoothing, diagonal):
    terms = ss.Triplets.from_labels(*labelled(), k=3, diagonal=diagonal)
    problem = ss.Problem(terms, ss.SmoothedHinge(smoothing))
    lam_max = problem.lam_max()
    for exponent in range(0, 10):
        e, n = run(problem, lam_max * 10.0**-exponent)
        assert e.gap <= 1e-6 * e.primal
        assert n <= 30, exponent


def test_all_linear_at_lam_max_and_beyond():
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(every=4), k=3), ss.SmoothedHinge(0.05))
    for factor in (1.0, 100.0):
        lam = factor * problem.lam_max()
        e, _ = run(problem, lam, rtol=1e-9)
        assert e.gap <= 1e-9 * e.primal
        expected = problem.all_linear() / lam
        error = np.linalg.norm(e.x - expected)
        assert error <= np.sqrt(2.0 * e.gap / lam) * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_optimum_at_the_tip_of_the_cone(loss):
    # the other point is nearer than the same one in every direction: no metric helps
    X = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0]])
    problem = ss.Problem(ss.Triplets(X, [[0, 1, 2]]), loss)
    e, _ = run(problem, 1.0, rtol=1e-7)
    assert e.gap <= 1e-7 * e.primal
    assert np.linalg.norm(e.x) <= np.sqrt(2.0 * e.gap)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_ties_repetitions_and_contradictions(loss):
    # triplets that repeat, and that contradict each other at the same distances
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    index = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 3, 2], [0, 2, 3], [0, 1, 4], [0, 1, 3]]
    problem = ss.Problem(ss.Triplets(X, index), loss)
    for lam in (1.0, 1e-4, 1e-8):
        e, _ = run(problem, lam, rtol=1e-7)
        assert e.gap <= 1e-7 * abs(e.primal)
        if lam == 1.0:
            assert e.primal == pytest.approx(outside(problem, lam), rel=1e-6)


def test_margins_at_the_kinks():
    # thresholds are moved so that many margins end exactly at a kink
    terms = ss.Triplets.from_labels(*labelled(load_iris, every=3), k=3)
    lam = 1.0
    x = run(ss.Problem(terms, ss.Hinge()), lam, rtol=1e-9)[0].x
    margins = terms.margins(x)
    for loss in (ss.Hinge(), ss.SmoothedHinge(0.05)):
        moved = np.where(np.arange(len(terms)) % 2, margins, margins + loss.smoothing)
        problem = ss.Problem(terms.with_threshold(moved), loss)
        e, _ = run(problem, lam, x, rtol=1e-8)
        assert e.gap <= 1e-8 * abs(e.primal)


@pytest.mark.parametrize("spread", [3, 6])
def test_badly_scaled_columns(spread):
    X, y = labelled()
    X = X * 10.0 ** np.linspace(-spread / 2, spread / 2, X.shape[1])
    problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
    for exponent in (2, 5, 8):
        e, n = run(problem, problem.lam_max() * 10.0**-exponent)
        assert e.gap <= 1e-6 * e.primal
        assert n <= 40


@pytest.mark.slow
def test_products_of_lists_are_listed():
    X, y = labelled(every=2)
    loss = ss.SmoothedHinge(0.05)
    found = []
    for terms in (ss.Triplets.from_labels(X, y, k=3), ss.ProductTriplets(X, y, k=3)):
        problem = ss.Problem(terms, loss)
        e, _ = run(problem, 1e-4 * problem.lam_max(), rtol=1e-8)
        assert e.gap <= 1e-8 * e.primal
        found.append(e.primal)
    assert found[0] == pytest.approx(found[1], rel=1e-7)


# --------------------------------------------------------------------------- what screening removes


@pytest.mark.parametrize("smoothing", [0.05, 0.0])
@pytest.mark.parametrize("diagonal", [False, True])
def test_terms_removed_on_the_way(diagonal, smoothing):
    terms = ss.Triplets.from_labels(*labelled(), k=3, diagonal=diagonal)
    problem = ss.Problem(terms, ss.SmoothedHinge(smoothing))
    lam = 1e-3 * problem.lam_max()
    policy = WhenFallen(parse_screening(("DGB",), problem), 0.5)
    reduction = Reduction(problem)
    left = []
    start = begin(problem.cone.zeros(), lam)
    ended = driven(
        reduction,
        InteriorPoint(),
        policy,
        start,
        Limits(0.0, 1e-9, 40),
        lambda reduction, state: left.append(len(reduction.problem)),
    )
    assert ended.reason == "converged"
    assert len(set(left)) >= 3 and left[-1] < 0.5 * len(problem)
    plain, _ = run(problem, lam, rtol=1e-9)
    assert ended.evaluation.primal == pytest.approx(plain.primal, rel=1e-8)


@pytest.mark.parametrize("smoothing", [0.05, 0.0])
def test_slow_gradient_steps_hand_over(smoothing):
    """At a small lam "auto" goes on with interior-point steps, at a large one it never does."""
    problem = ss.Problem(
        ss.Triplets.from_labels(*labelled(every=2), k=3), ss.SmoothedHinge(smoothing)
    )
    top = problem.lam_max()
    large = ss.solve(problem, 0.1 * top)
    assert large.converged and large.solver != "InteriorPoint"
    path = ss.path(problem, top * np.geomspace(1e-6, 1e-8, 6), rtol=1e-6)
    assert all(solution.converged for solution in path)
    assert smoothing == 0.0 or min(solution.n_iter for solution in path[1:]) < 40


def test_a_path_keeps_the_solver_that_ended_its_last_lam():
    """From the first lam that interior-point steps end, they begin the others: gradient steps would
    take at least 20 steps before they hand over.
    """
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(every=2), k=3), ss.SmoothedHinge(0.05))
    handover: Any = SMOOTH["handover"]
    path = ss.path(problem, problem.lam_max() * np.geomspace(1e-4, 1e-6, 9), rtol=1e-6)
    first = [solution.solver for solution in path].index("InteriorPoint")
    later = list(path)[first + 1 :]
    assert len(later) >= 5 and all(solution.solver == "InteriorPoint" for solution in later)
    most = handover.first * InteriorPoint().worth(problem)
    assert all(solution.converged and solution.n_iter < most for solution in later)


def test_many_terms_are_screened_before_interior_points():
    """After a lam that interior-point steps ended, gradient steps begin if interior-point steps
    with all terms are expensive.
    """
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(every=9), k=2), ss.SmoothedHinge(0.05))
    handover: Any = SMOOTH["handover"]
    state = begin(problem.cone.zeros(), 1e-4 * problem.lam_max(), limits=Limits(0.0, 1e-6, 40))
    state = state._replace(neighbour=state.neighbour._replace(solver="InteriorPoint"))
    for again, first in ((0.0, "ProjectedGradient"), (handover.again, "InteriorPoint")):
        point, _ = replace(handover, again=again).init(problem, state)
        assert point.solver == first


def test_no_terms_are_left():
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(every=9), k=2), ss.SmoothedHinge(0.05))
    lam = 2.0 * problem.lam_max()
    every = np.ones(len(problem), dtype=bool)
    e, _ = run(problem.reduce(every, ~every), lam, rtol=1e-9)
    np.testing.assert_allclose(e.x, problem.all_linear() / lam, rtol=1e-6)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("smoothing", [0.05, 0.0])
def test_as_far_as_rounding_allows(smoothing, diagonal):
    terms = ss.Triplets.from_labels(*labelled(every=2), k=3, diagonal=diagonal)
    problem = ss.Problem(terms, ss.SmoothedHinge(smoothing))
    for exponent in (2, 6, 10):
        # no gap is as small as that: steps end by themselves, and nothing gets worse; with the
        # hinge and a small lam the objective is small beside the rounding of the margins
        e, _ = run(problem, problem.lam_max() * 10.0**-exponent, rtol=1e-300, most=60)
        assert e.gap <= 1e-8 * e.primal


def test_same_steps_each_time():
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(every=3), k=3), ss.Hinge())
    lam = 1e-4 * problem.lam_max()
    first = run(problem, lam)[0].x
    np.testing.assert_array_equal(first, run(problem, lam)[0].x)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.slow
def test_data_of_any_scale_end_with_a_point_and_its_gap(scale, loss, diagonal):
    """Where squares underflow the method says that it has stalled, and "auto" goes on without."""
    X = scale * np.random.default_rng(0).standard_normal((12, 3))
    terms = ss.Triplets.from_labels(X, np.arange(12) % 2, k=2, diagonal=diagonal)
    problem = ss.Problem(terms, loss)
    one = ss.solve(problem, 1.0, method="interior", max_iter=80)
    other = ss.solve(problem, 1.0, max_iter=500)
    assert one.reason in ("converged", "stalled", "iterations")
    assert abs(one.primal - other.primal) <= one.gap + other.gap + 1e-9 * abs(other.primal)


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_steps_that_bring_nothing_but_rounding_are_given_up():
    """The gap is as low as rounding allows after 11 steps. Unlike most, these steps never fail."""
    X = 1e8 * np.random.default_rng(0).standard_normal((7, 3))
    terms = ss.Triplets.from_labels(X, np.arange(7) >= 3, k=2, diagonal=True)
    most = terms.total()[0].max()
    problem = ss.Problem(terms, ss.SmoothedHinge(1.5), linear=np.full(3, -0.5 * most))
    solution = ss.solve(problem, 0.1 * most, method="interior", screening=(), rtol=1e-10)
    assert solution.reason == "stalled" and solution.n_iter < 50
    assert solution.relative_gap < 1e-9


@pytest.mark.parametrize("fraction", [1e-1, 1e-4])
def test_from_anywhere_with_a_linear_term_that_pulls_towards_zero(fraction):
    """The best multiple of the identity is 0 here, which is not inside the cone."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 30))
    X[:, :3] += 2.0 * np.eye(3)[y]
    terms = ss.Triplets.from_labels(X, y, k=4, diagonal=True)
    linear = np.full(30, -0.1 * terms.total()[0].max())
    problem = ss.Problem(terms, ss.SmoothedHinge(0.05), linear=linear)
    lam = fraction * problem.lam_max()
    solution = ss.solve(problem, lam, rtol=1e-9, method="interior", screening=())
    assert solution.converged and solution.n_iter < 40


@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.05)])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("n_triplets", [1, 20])
def test_linear_terms_of_any_size_that_pull_out(n_triplets, diagonal, loss):
    """The objective is negative at the best multiple of the identity, where the steps begin."""
    rng = np.random.default_rng(0)
    index = np.array([rng.choice(8, 3, replace=False) for _ in range(n_triplets)])
    terms = ss.Triplets(rng.standard_normal((8, 3)), index, diagonal=diagonal)
    A = rng.standard_normal((3, 5))
    linear = A @ A.T
    linear = np.diag(linear).copy() if diagonal else linear
    for size in (1e-8, 1.0, 1e2, 1e4, 1e8, 1e12):
        problem = ss.Problem(terms, loss, linear=size * linear)
        assert ss.solve(problem, 1.0, method="interior", max_iter=40).converged


@pytest.mark.parametrize("diagonal", [False, True])
def test_numbers_out_of_range_end_the_steps(diagonal):
    problem = ss.Problem(
        ss.Triplets.from_labels(*labelled(every=9), k=2, diagonal=diagonal), ss.SmoothedHinge(0.05)
    )
    lam = 0.1 * problem.lam_max()
    state = begin(problem.cone.zeros(), lam, limits=Limits(0.0, 1e-6, 40))
    point, own = InteriorPoint().init(problem, state)
    state = state.moved(problem, point)
    assert InteriorPoint().step(problem, state, own) is not None
    wide = replace(own, x=1e160 * own.x, S=1e-160 * own.S)
    assert InteriorPoint().step(problem, state, wide) is None
