"""Working sets of samples with a kernel: their quadratic problems, and what balances them."""

import numpy as np
import pytest

from safescreen.terms._gram_kernels import balance, solve_box


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_steps_in_pairs_reach_the_minimum(cap, dtype):
    """Where no coordinate gains any more, the slope of each is 0 or held by a bound; repeated rows
    and one of zeros do no harm.
    """
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 60)) + 1.0  # a direction that all share, as an intercept is
    Z[7] = Z[8]
    Q = (Z @ Z.T).astype(dtype)
    Q[11] = Q[:, 11] = 0.0
    alpha = np.minimum(rng.uniform(0.0, 1.0, 40), cap)
    linear = rng.standard_normal(40) - Q @ alpha
    linear[11] = 0.5
    slopes = linear + Q @ alpha
    before = 0.5 * alpha @ Q @ alpha + linear @ alpha
    done = solve_box(Q, slopes, alpha, cap, 1e-16, 100_000)
    assert 0 < done < 100_000 and alpha.min() >= 0.0 and alpha.max() <= cap
    assert np.allclose(slopes, linear + Q.astype(float) @ alpha, atol=1e-9)
    held = ((alpha == 0.0) & (slopes > 0.0)) | ((alpha == cap) & (slopes < 0.0))
    assert np.abs(slopes[~held]).max() < 1e-6 and alpha[11] == 0.0
    assert held.any() and not held.all()
    assert 0.5 * alpha @ Q @ alpha + linear @ alpha < before


@pytest.mark.parametrize("product", [1.5, -1.0])
def test_a_step_is_the_best_one_of_its_pair(product):
    Q = np.array([[2.0, product], [product, 1.3]])
    alpha, slopes = np.zeros(2), np.array([-1.0, -1.2])
    wanted = np.linalg.solve(Q, -slopes)
    assert solve_box(Q, slopes, alpha, 10.0, 0.0, 2) == 2
    if wanted.min() > 0.0:
        assert np.allclose(alpha, wanted)
    else:  # a bound holds one of them
        assert alpha.min() == 0.0 and np.allclose(alpha.max(), 1.2 / 1.3)


def test_updates_are_limited():
    alpha = np.zeros(5)
    assert solve_box(np.eye(5), -np.ones(5), alpha, 10.0, 0.0, 2) == 2
    assert np.count_nonzero(alpha) == 2 and np.all(alpha[alpha > 0.0] == 1.0)


def test_a_level_balances_what_rises_and_what_falls():
    rng = np.random.default_rng(2)
    forces = rng.standard_normal(1000) + 3.0
    can_rise = rng.random(1000) < 0.7
    can_fall = ~can_rise | (rng.random(1000) < 0.1)
    level = balance(forces, can_rise, can_fall)
    rising = np.count_nonzero(can_rise & (forces > level))
    falling = np.count_nonzero(can_fall & (forces < level))
    assert abs(rising - falling) < 30 and rising > 100
