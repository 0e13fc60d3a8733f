"""What a solve knows at its end: the terms that its solution's ball decides, and the better dual
point.
"""

import numpy as np
import pytest

import safescreen as ss

FAMILIES = {
    "linear": ss.Samples,
    "free": ss.FreeIntercept.from_points,
    "rbf": lambda X, y: ss.KernelSamples.from_points(X, y, "rbf", gamma=0.5),
}


def problem(family, loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 0.0, 1, -1)
    return ss.Problem(FAMILIES[family](X, y), loss)


@pytest.mark.parametrize("loss", [ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_ball_of_a_rough_solution_decides_is_so_at_an_accurate_one(family, loss):
    n_decided = 0
    for seed in range(8):
        prob = problem(family, loss, seed)
        accurate = ss.solve(prob, 1.0, rtol=1e-12).alpha
        for rtol in (1e-1, 1e-2, 1e-3):
            rough = ss.solve(prob, 1.0, rtol=rtol)
            assert rough.history[-1].n_L + rough.history[-1].n_R == 0
            assert not (rough.screened.in_R & (accurate > 1e-5)).any()
            assert not (rough.screened.in_L & (accurate < 1.0 - 1e-5)).any()
            n_decided += rough.n_L + rough.n_R
    assert n_decided > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_who_asks_for_no_screening_gets_no_look(family):
    prob = problem(family, ss.SmoothedHinge(0.5), 0)
    assert ss.solve(prob, 1.0, screening=()).screening_rate == 0.0
    assert ss.solve(prob, 1.0, screening=iter(())).screening_rate == 0.0
    assert ss.path(prob, [1.0], screening=())[0].screening_rate == 0.0
    assert ss.path(prob, [1.0], screening=(), dynamic="auto")[0].screening_rate > 0.0
    assert ss.path(prob, [1.0])[0].screening_rate > 0.0


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_a_solve_that_ends_early_has_the_better_dual_point():
    for seed in range(5):
        prob = problem("linear", ss.SmoothedHinge(0.5), seed)
        x0 = np.full(3, 5.0)
        alpha0 = np.ones(80)
        found = ss.solve(prob, 1e-3, x0=x0, alpha0=alpha0, rtol=1e-9, max_seconds=0.0)
        assert found.gap <= prob.gap(found.x, 1e-3, alpha0)
        assert found.gap <= prob.gap(found.x, 1e-3) * (1.0 + 1e-9)
        assert found.gap == pytest.approx(prob.gap(found.x, 1e-3, found.alpha), rel=1e-9)
