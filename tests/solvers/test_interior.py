"""The interior-point method: its equations against the definitions, its solutions against an
outside solver, and that some tens of steps do whatever lam is.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import safescreen as ss
from naive.loop import driven
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.solvers import _heavy_terms
from safescreen.solvers import _interior_kernels as kernels
from safescreen.solvers._heavy_terms import HeavyTerms
from safescreen.solvers._scalings import central, scaling_of
from safescreen.solvers.interior import InteriorPoint
from safescreen.solvers.limits import Limits
from safescreen.solvers.reduction import Reduction, parse_screening
from safescreen.solvers.trace import Start, Trace
from safescreen.solvers.when_fallen import WhenFallen


def labelled(load=load_wine, every=1):
    X, y = load(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[::every], y[::every]


def run(problem, lam, x=None, rtol=1e-6, most=40, policy=None):
    """Return the best evaluation and the number of steps."""
    start = Start(problem.cone.zeros() if x is None else x, lam)

    def inside(reduction, trace):
        e = trace.evaluation
        assert problem.cone.violation(e.x) <= e.x_error

    limits = Limits(0.0, rtol, most)
    outcome = driven(Reduction(problem), InteriorPoint(), policy, start, limits, inside)
    return outcome.evaluation, outcome.n_iter


def coordinates(terms):
    """Return the terms, one a row, in coordinates in which inner products are those of vectors."""
    a = terms.elements(np.arange(len(terms)))[0]
    return _coordinates(a)


def _coordinates(a):
    if a.ndim == 2:
        return a
    i, j = np.triu_indices(a.shape[1])
    return a[:, i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def inside(cone, rng):
    if not isinstance(cone, PSDCone):
        return rng.uniform(0.1, 2.0, cone.d)
    A = rng.standard_normal((cone.d, cone.d))
    return A @ A.T + 0.1 * np.eye(cone.d)


def symmetric(cone, rng):
    v = rng.standard_normal(cone.shape)
    return v if v.ndim == 1 else v + v.T


# ------------------------------------------------------------------------------ the system of terms


def families():
    X, y = labelled(every=9)
    rng = np.random.default_rng(0)
    for diagonal in (False, True):
        name = "diagonal" if diagonal else "full"
        yield f"neighbours {name}", ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal)
        yield f"all {name}", ss.Triplets.from_labels(X[:, :5], y, diagonal=diagonal)
        pairs = rng.integers(0, len(X), (40, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        args = dict(similar=pairs[::2], dissimilar=pairs[1::2], upper=1.0, lower=4.0)
        yield f"pairs {name}", ss.Pairs(X, diagonal=diagonal, **args)


FAMILIES = dict(families())


@pytest.mark.parametrize("name", FAMILIES)
def test_system_is_that_of_the_terms(name):
    terms = FAMILIES[name]
    rng = np.random.default_rng(1)
    system = terms.system()
    a = coordinates(terms)
    v = symmetric(terms.cone, rng)
    weights = rng.standard_normal(len(terms))
    np.testing.assert_allclose(
        system.products(v), a @ _coordinates(v[None])[0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        _coordinates(system.sums(weights)[None])[0], weights @ a, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("dropped", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_have_the_products_of_the_terms(name, dropped):
    terms = FAMILIES[name]
    rng = np.random.default_rng(2)
    d = terms.cone.d
    diagonal = isinstance(terms.cone, NonNegativeCone)
    root = rng.uniform(0.5, 2.0, d) if diagonal else rng.standard_normal((d, d))
    weights = 10.0 ** rng.uniform(-6, 6, len(terms)) * (rng.uniform(size=len(terms)) >= dropped)
    a = terms.elements(np.arange(len(terms)))[0]
    b = _coordinates(a * root if diagonal else root.T @ a @ root)
    system = terms.system()
    n, blocks = system.rows(weights, root)
    rows = np.concatenate([np.empty((0, system.width)), *(block.copy() for block in blocks)])
    assert (
        len(rows) <= n <= np.count_nonzero(weights) + len(terms.same_pairs) + len(terms.other_pairs)
    )
    expected = (weights[:, None] * b).T @ b
    np.testing.assert_allclose(rows.T @ rows, expected, atol=1e-12 * np.abs(expected).max())
    squares = system.squares(root)
    assert (squares >= (1.0 - 1e-12) * np.einsum("ij,ij->i", b, b)).all()


def test_neighbours_take_fewer_rows_than_terms():
    terms = ss.Triplets.from_labels(*labelled(), k=5)
    n, blocks = terms.system().rows(np.ones(len(terms)), np.eye(terms.cone.d))
    # 9 for the 25 of each of 178 anchors
    assert sum(len(block) for block in blocks) == 9 * 178 < n < len(terms)


# --------------------------------------------------------------------------------------- the pieces


@pytest.mark.parametrize("g", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_central_duals(g, cap):
    if g == 0.0 and cap == np.inf:
        return
    slacks = np.array([-1e6, -3.0, -1e-9, 0.0, 0.02, g / 2, g, 1.0, 1e6])
    for mu in (1e-12, 1e-3, 10.0):
        duals = np.empty((3, slacks.size))
        kernels.center(slacks, g, cap, mu, 0.0, np.empty(0), duals)
        a, above, below = duals
        np.testing.assert_allclose(below * a, mu, rtol=1e-9)
        if cap == 1.0:
            # 1 - a cancels where a is nearly 1
            np.testing.assert_allclose(above * (1.0 - a), mu, rtol=1e-6, atol=1e-15 * above.max())
        left = slacks - (g * a + above - below)
        assert (np.abs(left) <= 1e-8 * (np.abs(slacks) + above + below + g)).all()


@pytest.mark.parametrize("cone", [PSDCone(6), NonNegativeCone(6)], ids=lambda c: type(c).__name__)
def test_scaling_makes_point_and_slack_the_same(cone):
    rng = np.random.default_rng(3)
    x = inside(cone, rng)
    S = inside(cone, rng)
    scaling = scaling_of(cone, x, S)
    scaled = np.diag(scaling.values) if x.ndim == 2 else scaling.values
    for found in scaling.scaled(x, S):
        np.testing.assert_allclose(found, scaled, atol=1e-9 * scaling.values.max())
    # coordinates keep inner products
    dx = symmetric(cone, rng)
    y = rng.standard_normal(scaling.into(dx).size)
    assert np.vdot(scaling.back(y), dx) == pytest.approx(y @ scaling.into(dx), rel=1e-9)
    # the longest step ends at the boundary
    change = scaling.scaled(dx, dx)[0]
    t = scaling.longest(change)
    assert cone.violation(x + (1.0 - 1e-9) * t * dx) == 0.0
    assert cone.violation(x + (1.0 + 1e-6) * t * dx) > 0.0


@pytest.mark.parametrize("cone", [PSDCone(5), NonNegativeCone(5)], ids=lambda c: type(c).__name__)
def test_central_point_of_the_cone(cone):
    rng = np.random.default_rng(4)
    h = symmetric(cone, rng)
    x, S = central(cone, h, 1e-3, 1e-7)
    np.testing.assert_allclose(1e-3 * x - S, h, atol=1e-12)
    product = x @ S if h.ndim == 2 else x * S
    expected = 1e-7 * (np.eye(5) if h.ndim == 2 else np.ones(5))
    scale = np.linalg.norm(x) * np.linalg.norm(S)
    np.testing.assert_allclose(product, expected, rtol=1e-6, atol=1e-14 * scale)


@pytest.mark.parametrize("budget", [0.0, 30.0, np.inf])
@pytest.mark.parametrize("diagonal", [False, True])
def test_system_is_solved_whatever_is_left_out(diagonal, budget):
    terms = ss.Triplets.from_labels(*labelled(every=6), k=3, diagonal=diagonal)
    rng = np.random.default_rng(5)
    cone = terms.cone
    scaling = scaling_of(cone, inside(cone, rng), inside(cone, rng))
    scales = 10.0 ** rng.uniform(-9, 0, len(terms))
    lam = 0.1
    heavy = HeavyTerms(terms.system(), scaling, lam, scales, budget)
    b = rng.standard_normal(scaling.ridge(lam).size)
    change = heavy.solve(b, 1e-9)
    a = coordinates(terms)
    np.testing.assert_allclose(
        change.margins, a @ _coordinates(change.x[None])[0], rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        _coordinates(change.sums[None])[0], (scales * change.margins) @ a, rtol=1e-6, atol=1e-9
    )
    # lam dx + W^-1 dx W^-1 + sum k <a, dx> a, in scaled coordinates
    x = scaling.scaled(change.x, change.x)[0]
    left = scaling.turned(x) + scaling.into(lam * change.x + change.sums) - b
    assert np.linalg.norm(left) <= 1e-7


def test_a_precision_out_of_reach_costs_two_factorizations_at_most():
    terms = ss.Triplets.from_labels(*labelled(every=6), k=3)
    rng = np.random.default_rng(8)
    cone = terms.cone
    scaling = scaling_of(cone, inside(cone, rng), inside(cone, rng))
    scales = 10.0 ** rng.uniform(-12, 12, len(terms))
    heavy = HeavyTerms(terms.system(), scaling, 0.1, scales, 1e12)
    b = rng.standard_normal(scaling.ridge(0.1).size)
    for _ in range(2):
        change = heavy.solve(b, 0.0)
        x = scaling.scaled(change.x, change.x)[0]
        left = scaling.turned(x) + scaling.into(0.1 * change.x + change.sums) - b
        assert np.linalg.norm(left) <= 1e-4 * np.linalg.norm(b)
    assert heavy.refactored == 2
    most = max(_heavy_terms.FEWEST, int(0.3 * heavy._assembly / heavy._product)) + 1
    assert heavy.products <= 4 * most


def test_what_is_left_out_sums_to_the_budget_at_most():
    numbers = 10.0 ** np.random.default_rng(6).uniform(-12, 12, 1000)
    for budget in (0.0, 1e-9, 1.0, 1e6, 1e20):
        limit = kernels.largest_sum(numbers, budget)
        assert numbers[numbers <= limit].sum() <= budget
    assert kernels.largest_sum(numbers, 1e20) == np.inf


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


def test_steps_from_the_solution_of_the_last_lam():
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(), k=3), ss.SmoothedHinge(0.05))
    lams = problem.lam_max() * 0.7 ** np.arange(15, 25)
    cold = warm = 0
    start = None
    for lam in lams:
        cold += run(problem, lam)[1]
        e, n = run(problem, lam, start)
        assert e.gap <= 1e-6 * e.primal
        warm += n
        start = e.x
    assert warm < 0.7 * cold


def test_duals_are_kept_where_they_are_wanted():
    towards = np.array([0.0, 0.3, 0.9, 1.0])
    slacks = np.zeros(4)
    duals = np.empty((3, 4))
    kernels.center(slacks, 0.05, 1.0, 1e-9, 10.0, towards, duals)
    np.testing.assert_allclose(duals[0], towards, atol=0.01)
    left = slacks + 10.0 * (towards - duals[0]) - 0.05 * duals[0]
    np.testing.assert_allclose(left, duals[1] - duals[2], atol=1e-8)


@pytest.mark.parametrize("smoothing", [0.05, 0.0])
def test_dual_variables_fall_with_a_small_lam(smoothing):
    # all terms can be fulfilled: nearly the same x, dual variables that are proportional to lam
    terms = ss.Triplets.from_labels(*labelled(), k=3)
    problem = ss.Problem(terms, ss.SmoothedHinge(smoothing))
    lam = 1e-7 * problem.lam_max()
    x = run(problem, lam)[0].x
    cold = run(problem, 0.7 * lam)[1]
    e, warm = run(problem, 0.7 * lam, x)
    assert e.gap <= 1e-6 * e.primal
    assert warm <= (0.6 if smoothing else 1.0) * cold


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
    start = Start(problem.cone.zeros(), lam)
    outcome = driven(
        reduction,
        InteriorPoint(),
        policy,
        start,
        Limits(0.0, 1e-9, 40),
        lambda reduction, trace: left.append(len(reduction.problem)),
    )
    assert outcome.reason == "converged"
    assert len(set(left)) >= 3 and left[-1] < 0.5 * len(problem)
    plain, _ = run(problem, lam, rtol=1e-9)
    assert outcome.evaluation.primal == pytest.approx(plain.primal, rel=1e-8)


@pytest.mark.slow
def test_blocks_removed_on_the_way():
    problem = ss.Problem(ss.ProductTriplets(*labelled(every=2), k=5), ss.SmoothedHinge(0.05))
    lam = 1e-3 * problem.lam_max()
    one = ss.solve(problem, lam, rtol=1e-8, method="interior", screening=("MGB",))
    other = ss.solve(problem, lam, rtol=1e-8, method="gradient", screening=())
    assert one.n_L + one.n_R > 0 and one.converged and one.n_iter < 40
    assert np.linalg.norm(one.x - other.x) <= one.eps + other.eps


@pytest.mark.parametrize("smoothing", [0.05, 0.0])
def test_slow_gradient_steps_hand_over(smoothing):
    """At a small lam "auto" goes on with interior-point steps, and begins with them at the next
    lam; at a large one it never does.
    """
    problem = ss.Problem(
        ss.Triplets.from_labels(*labelled(every=2), k=3), ss.SmoothedHinge(smoothing)
    )
    top = problem.lam_max()
    large = ss.solve(problem, 0.1 * top)
    plain = ss.solve(problem, 0.1 * top, method="gradient" if smoothing else "semismooth")
    assert large.n_iter == plain.n_iter and np.array_equal(large.x, plain.x)
    path = ss.path(problem, top * np.geomspace(1e-6, 1e-8, 6), rtol=1e-6)
    assert all(solution.converged for solution in path)
    assert smoothing == 0.0 or min(solution.n_iter for solution in path[1:]) < 40


def test_the_rest_of_a_path_is_left_to_who_solved_the_last_lam():
    X, y = labelled()
    problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
    path = ss.path(problem, problem.lam_max() * 0.5 ** np.arange(24), rtol=1e-4)
    assert all(solution.converged for solution in path)
    by_interior_steps = [solution.step is None for solution in path]
    first = by_interior_steps.index(True, 1)
    assert 3 < first < 20 and all(by_interior_steps[first:])
    assert max(solution.n_iter for solution in path[first + 1 :]) < 40 < path[first].n_iter


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


def test_counted_operations_grow_with_the_problem():
    X, y = labelled()
    solver = InteriorPoint()
    loss = ss.SmoothedHinge(0.05)
    few = ss.Problem(ss.Triplets.from_labels(X, y, k=2), loss)
    many = ss.Problem(ss.Triplets.from_labels(X, y, k=5), loss)
    diagonal = ss.Problem(ss.Triplets.from_labels(X, y, k=5, diagonal=True), loss)
    listed = ss.Problem(ss.ProductTriplets(X, y, k=5), loss)
    assert solver.work(few) < solver.work(many)
    assert solver.work(diagonal) < solver.work(many)
    assert 0.2 < solver.work(listed) / solver.work(many) < 5.0


def test_terms_that_have_no_system():
    problem = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    with pytest.raises(TypeError, match="a Newton system in coordinates needs"):
        run(problem, 1.0)


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
    other = ss.solve(problem, 1.0)
    assert one.reason in ("converged", "stalled", "iterations")
    assert abs(one.primal - other.primal) <= one.gap + other.gap + 1e-9 * abs(other.primal)


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
    start = Start(problem.cone.zeros(), lam)
    trace = Trace.begin(start, Limits(0.0, 1e-6, 40))
    point, state = InteriorPoint().init(problem, start, trace)
    trace = trace.moved(problem, point)
    assert InteriorPoint().step(problem, trace, state) is not None
    wide = replace(state, x=1e160 * state.x, S=1e-160 * state.S)
    assert InteriorPoint().step(problem, trace, wide) is None
