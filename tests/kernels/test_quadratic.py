"""Working sets of samples with a kernel: their quadratic problems, with and without balance."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from safescreen.kernels.quadratic import minimise, newton_step, solve_balanced, solve_box


def working_set(dtype=np.float64, cap=1.0, n=40):
    """Return a positive definite Q, a linear term, a point and its bounds, of both signs."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, n + 20)) + 1.0  # a direction that all share, as an intercept is
    Q = (Z @ Z.T / n).astype(dtype)
    signs = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    low = np.where(signs > 0.0, 0.0, -cap)
    high = np.where(signs > 0.0, cap, 0.0)
    v = signs * np.minimum(rng.uniform(0.0, 1.0, n), cap)
    linear = rng.standard_normal(n) - 0.5 * signs
    return Q, linear, v, low, high


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_steps_in_pairs_reach_the_minimum(cap, dtype):
    """Where no coordinate gains any more, the slope of each is 0 or held by a bound; repeated rows
    and one of zeros do no harm.
    """
    Q, linear, v, low, high = working_set(dtype, cap)
    Q[7] = Q[8]
    Q[:, 7] = Q[:, 8]
    Q[11] = Q[:, 11] = 0.0
    linear[11] = 0.5 if high[11] > 0.0 else -0.5
    slopes = linear + Q @ v
    before = 0.5 * v @ Q @ v + linear @ v
    done = solve_box(Q, slopes, v, low, high, 1e-16, 100_000)
    assert 0 < done < 100_000
    assert (low <= v).all()
    assert (v <= high).all()
    assert np.allclose(slopes, linear + Q.astype(float) @ v, atol=1e-9)
    held = ((v == low) & (slopes > 0.0)) | ((v == high) & (slopes < 0.0))
    assert np.abs(slopes[~held]).max() < 1e-6
    assert v[11] == 0.0
    assert held.any()
    assert not held.all()
    assert 0.5 * v @ Q @ v + linear @ v < before


@pytest.mark.parametrize("product", [1.5, -1.0])
def test_a_step_is_the_best_one_of_its_pair(product):
    Q = np.array([[2.0, product], [product, 1.3]])
    v = np.zeros(2)
    slopes = np.array([-1.0, -1.2])
    wanted = np.linalg.solve(Q, -slopes)
    assert solve_box(Q, slopes, v, np.zeros(2), np.full(2, 10.0), 0.0, 2) == 2
    if wanted.min() > 0.0:
        assert np.allclose(v, wanted)
    else:  # a bound holds one of them
        assert v.min() == 0.0
        assert np.allclose(v.max(), 1.2 / 1.3)


def test_a_balanced_step_is_the_best_one_of_its_pair():
    """The one that rises most, with the one that gains most by falling as far."""
    Q, linear, v, _, _ = working_set(n=16)
    low = np.full(16, -100.0)
    high = np.full(16, 100.0)
    slopes = linear + Q @ v
    gains = {}
    i = int(np.argmin(slopes))
    for j in range(16):
        curvature = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
        if j != i and slopes[j] > slopes[i]:
            gains[j] = 0.5 * (slopes[j] - slopes[i]) ** 2 / curvature
    best = max(gains, key=gains.get)
    far = (slopes[best] - slopes[i]) / (Q[i, i] + Q[best, best] - 2.0 * Q[i, best])
    moved = v.copy()
    assert solve_balanced(Q, slopes, moved, low, high, 0.0, 2) == 2
    expected = np.zeros(16)
    expected[i] = far
    expected[best] = -far
    assert np.allclose(moved - v, expected, rtol=1e-12)
    assert np.allclose(slopes, linear + Q @ moved)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cap", [0.3, 1.0, np.inf])
@pytest.mark.parametrize("is_balanced", [False, True])
def test_a_working_set_is_solved(is_balanced, cap, dtype):
    """Its optimality conditions hold: slopes are 0, or with balance one level, but at bounds; and
    no point that another solver finds is lower.
    """
    Q, linear, v, low, high = working_set(dtype, cap)
    total = v.sum()
    slopes = linear + Q @ v
    done = minimise(Q, slopes, v, low, high, 1e-24, 20_000, is_balanced)
    assert done < 20_000
    assert (low <= v).all()
    assert (v <= high).all()
    exact = Q.astype(float)
    assert np.allclose(slopes, linear + exact @ v, atol=1e-11)
    level = 0.0
    if is_balanced:
        assert v.sum() == pytest.approx(total, abs=1e-12)
        level = np.median(slopes[(low < v) & (v < high)])
    assert np.abs(slopes - level)[(low < v) & (v < high)].max() < 1e-10
    assert (slopes - level)[v == low].min(initial=0.0) > -1e-10
    assert (slopes - level)[v == high].max(initial=0.0) < 1e-10
    found = minimize(
        lambda u: 0.5 * u @ exact @ u + linear @ u,
        np.where(low < 0.0, -0.1, 0.1),
        jac=lambda u: exact @ u + linear,
        bounds=list(zip(low, high, strict=True)),
        constraints=[LinearConstraint(np.ones((1, 40)), total, total)] if is_balanced else (),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert 0.5 * v @ exact @ v + linear @ v <= found.fun + 1e-9


@pytest.mark.parametrize("is_balanced", [False, True])
def test_a_newton_step_ends_at_the_minimum_or_at_a_bound(is_balanced):
    Q, linear, v, _, _ = working_set()
    wide = np.full(40, 1e3)
    slopes = linear + Q @ v
    moved = v.copy()
    assert newton_step(Q, slopes, moved, -wide, wide, is_balanced) == pytest.approx(1.0)
    level = slopes.mean() if is_balanced else 0.0
    assert np.abs(slopes - level).max() < 1e-9
    assert moved.sum() == pytest.approx(v.sum()) or not is_balanced
    way = moved - v
    # a bound a quarter of the way, on the side it goes to, and one coordinate at its bound already
    low = np.where(way < 0.0, v + 0.25 * way, -1e3)
    high = np.where(way > 0.0, v + 0.25 * way, 1e3)
    slopes = linear + Q @ v
    cut = v.copy()
    assert newton_step(Q, slopes, cut, low, high, is_balanced) == pytest.approx(0.25)
    assert np.allclose(cut, v + 0.25 * way, rtol=1e-9)
    assert np.any((cut == low) | (cut == high))
    assert np.allclose(slopes, linear + Q @ cut)
    high[3] = low[3] = v[3]
    slopes = linear + Q @ v
    held = v.copy()
    assert newton_step(Q, slopes, held, low, high, is_balanced) > 0.0
    assert held[3] == v[3]
