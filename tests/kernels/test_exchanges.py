"""Exchanges of two coordinates over a kernel matrix in memory."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import safescreen as ss
from safescreen.kernels.exchanges import improve_by_exchanges
from safescreen.kernels.matrices import GivenMatrix, TwoRuns
from safescreen.kernels.quadratic import End, exchange
from safescreen.kernels.working_sets import WorkingPoint
from safescreen.terms._sample_kernels import DualObjective, UpdateLimits


def problem(seed, n=40):
    """Return ``(K, ridge, signs, low, high)`` of a balanced problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    signs = np.where(rng.permutation(n) % 2, 1.0, -1.0)
    largest = rng.uniform(0.1, 3.0, n)
    low = np.where(signs > 0.0, 0.0, -largest)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    return K + 0.5, rng.uniform(0.0, 1.0, n), signs, low, low + largest


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("has_ridge", [False, True])
def test_no_pair_is_steeper_than_it_says(seed, has_ridge):
    K, ridge, signs, low, high = problem(seed)
    ridge = ridge if has_ridge else np.zeros(signs.size)
    v = np.zeros(signs.size)
    slopes = -signs.copy()
    steps = exchange(GivenMatrix(K).parts(), ridge, slopes, v, low, high, End(1e-9, 0.0, 10**6))
    assert 0 < steps < 10**6 and (low <= v).all() and (v <= high).all()
    assert abs(v.sum()) < 1e-12
    exact = K @ v + ridge * v - signs
    np.testing.assert_allclose(slopes, exact, atol=1e-9)
    steepest = exact[v > low].max() - exact[v < high].min()
    assert steepest <= 1e-8
    assert ((v > low) & (v < high)).any() and ((v == low) | (v == high)).any()


def test_updates_are_limited_and_balanced_values_stay():
    K, ridge, signs, low, high = problem(0)
    v = np.zeros(signs.size)
    slopes = -signs.copy()
    assert exchange(GivenMatrix(K).parts(), ridge, slopes, v, low, high, End(1e-9, 0.0, 6)) == 6
    assert np.count_nonzero(v) <= 6
    assert exchange(GivenMatrix(K).parts(), ridge, slopes, v, low, high, End(10.0, 0.0, 6)) == 0


@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5)])
def test_solutions_are_those_of_other_methods(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, 60)
    for lam in (1e-3, 0.1, 10.0):
        terms = ss.FreeIntercept.from_points(X, y, "rbf", gamma=0.5, weights=weights)
        problem = ss.Problem(terms, loss)
        found = ss.solve(problem, lam, rtol=1e-7)
        other = ss.solve(problem, lam, rtol=1e-7, method="newton")
        assert found.converged and other.converged
        slack = 1e-12 * other.primal  # of two objectives that are rounded
        assert found.primal - found.gap <= other.primal + slack
        assert other.primal - other.gap <= found.primal + slack


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5)])
def test_the_goal_is_reached_and_products_are_up_to_date(seed, loss):
    K, w, signs, *_ = problem(seed)
    rng = np.random.default_rng(seed)
    tau = rng.uniform(0.5, 1.5, signs.size)
    lam = 0.1
    Q = signs[:, None] * K * signs
    alpha = np.where(rng.random(signs.size) < 0.3, 0.4, 0.0)
    total = signs @ (w * alpha)
    products = Q @ (w * alpha)
    norms = np.sqrt(np.diagonal(Q))
    dual = w @ (tau * alpha - 0.5 * loss.smoothing * alpha**2) - 0.5 * w * alpha @ products / lam
    point = WorkingPoint(
        matrix=GivenMatrix(K),
        ids=np.arange(signs.size),
        signs=signs,
        products=products,
        norms=norms,
        alpha=alpha,
        has_moved=np.zeros(signs.size, dtype=bool),
        objective=DualObjective(tau, w, loss.smoothing, loss.cap, lam),
        is_balanced=True,
    )
    limits = UpdateLimits(tolerance=1e-12, gap=0.0, relative_gap=1e-6, updates=10**6)
    spread, steps, is_enough = improve_by_exchanges(point, limits, dual)
    assert steps > 0 and is_enough and spread > 1e-12
    assert alpha.min() >= 0.0 and alpha.max() <= loss.cap
    np.testing.assert_allclose(products, Q @ (w * alpha), rtol=1e-12, atol=1e-12)
    assert abs(signs @ (w * alpha) - total) < 1e-12
    value = w @ (tau * alpha - 0.5 * loss.smoothing * alpha**2) - 0.5 * w * alpha @ products / lam
    kinks = signs * (tau - products / lam)

    def at(b):
        slack = signs * (kinks - b)
        best = np.where(slack > 0.0, 1.0, 0.0)
        if loss.smoothing > 0.0:
            best = np.clip(slack / loss.smoothing, 0.0, loss.cap)
        return total * b + w @ (best * (slack - 0.5 * loss.smoothing * best))

    ends = kinks.min() - 10.0, kinks.max() + 10.0
    least = minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun
    least = min(least, *(at(b) for b in kinks))
    primal = least + 0.5 * w * alpha @ products / lam
    assert -1e-9 < primal - value < 1e-6 * (w @ tau)


@pytest.mark.parametrize("ids", [[5, 6, 7, 20, 21, 22], [3, 4, 5, 6, 7, 8]], ids=str)
def test_two_runs_of_a_matrix_are_a_matrix(ids):
    K, *_ = problem(0)
    ids = np.array(ids)
    some = TwoRuns(K, ids)
    part = K[np.ix_(ids, ids)]
    values = np.array([0.5, -2.0])
    np.testing.assert_array_equal(some.diagonal(), np.diagonal(part))
    np.testing.assert_allclose(some.product(np.array([1, 4]), values), part[:, [1, 4]] @ values)
    sums = np.ones(2)
    some.add(np.array([0, 4]), values, np.array([3, 5]), sums)
    np.testing.assert_allclose(sums, 1.0 + values @ part[np.ix_([0, 4], [3, 5])])
    columns = np.array([2, 5])
    np.testing.assert_array_equal(some.block(columns, columns), part[np.ix_(columns, columns)])
    np.testing.assert_array_equal(some.light_block(np.arange(6)), part)
    v, slopes = np.zeros(6), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    copy = v.copy(), slopes.copy()
    limits = np.zeros(6), np.minimum(slopes, 0.0), np.maximum(slopes, 0.0)
    for matrix, (x, its) in ((some, (v, slopes)), (GivenMatrix(part), copy)):
        exchange(matrix.parts(), limits[0], its, x, -limits[2], -limits[1], End(1e-6, 0.0, 100))
    np.testing.assert_array_equal(v, copy[0])
    assert v.any()


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_sweeps_that_rounding_spoils_leave_no_larger_gap_than_0():
    points = 1e6 * np.random.default_rng(0).normal(size=(40, 3))
    labels = np.where(points[:, 0] > 0.0, 1, -1)
    machine = ss.SafeSVC(kernel="rbf", gamma=1.0, fit_intercept=True).fit(points, labels)
    assert machine.relative_gap_ <= 1.001


def test_three_runs_are_refused():
    with pytest.raises(ValueError, match="two runs of neighbours, got 3"):
        TwoRuns(np.eye(9), np.array([0, 1, 3, 4, 8]))


@pytest.mark.boundscheck
def test_samples_that_have_left_are_not_written():
    K, *_ = problem(0)
    n = len(K) // 2
    slopes = np.where(np.arange(len(K)) % 2, 1.0, -1.0)
    rest = slopes[n:].copy()
    ones = np.ones(n)
    end = End(1e-6, 0.0, 100)
    done = exchange(GivenMatrix(K).parts(), 0.0 * ones, slopes[:n], 0.0 * ones, -ones, ones, end)
    assert done > 0
    np.testing.assert_array_equal(slopes[n:], rest)
