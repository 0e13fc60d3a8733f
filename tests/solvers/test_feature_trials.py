"""Leaving features out during a solve: when it is asked, what is left, and that the answer is that
of the whole problem.
"""

import numpy as np
import pytest

import safescreen as ss
from naive.loop import begin, driven
from safescreen.solvers.drive import Interrupted
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import SMOOTH, without_features
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.solve import solve_screened
from safescreen.solvers.when_fallen import WhenFallen

BOTH = ("MGB", "features")
METHODS = ("gradient", "semismooth", "interior", "handover")


def problem(penalty=0.1, n=60, d=30, seed=0, gamma=0.05, **options):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :3] += 2.0 * np.eye(3)[y]
    terms = ss.Triplets.from_labels(X, y, k=4, diagonal=True, **options)
    linear = None if penalty is None else np.full(d, -penalty * terms.total()[0].max())
    return ss.Problem(terms, ss.SmoothedHinge(gamma), linear=linear)


def test_who_is_asked():
    prob = problem()
    assert without_features(("MGB", "features"), prob) == (("MGB",), True)
    assert without_features("features", prob) == ((), True)
    assert without_features("MGB", prob) == (("MGB",), False)
    assert without_features("auto", prob) == ("auto", True)
    assert without_features("auto", problem(penalty=None)) == ("auto", False)
    policy = WhenFallen(())
    assert without_features(policy, prob) == (policy, False)
    hinge = ss.Problem(prob.terms, ss.Hinge(), linear=prob.linear)
    assert without_features("auto", hinge) == ("auto", False)
    blocks = ss.ProductTriplets(np.eye(4), [0, 0, 1, 1], diagonal=True)
    with pytest.raises(TypeError, match="the features rule needs terms that can do without"):
        without_features(BOTH, ss.Problem(blocks, ss.SmoothedHinge(0.5)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("screening", [BOTH, ("features",), "auto"])
@pytest.mark.slow
def test_the_solution_is_that_of_the_whole_problem(method, screening):
    prob = problem()
    lam = 1e-3 * prob.lam_max()
    best = ss.solve(prob, lam, rtol=1e-11, screening=())
    seen = []
    options = {"rtol": 1e-9, "method": method, "screening": screening, "freq": 3}
    found = ss.solve(prob, lam, callback=lambda p: seen.append(p.x.size), **options)
    assert found.converged and found.x.shape == (30,) and set(seen) == {30}
    assert found.gap <= 1e-9 * found.primal
    assert np.linalg.norm(found.x - best.x) <= found.eps + best.eps
    assert found.zero_features.sum() > 15
    assert (best.x[found.zero_features] <= best.eps).all()
    assert not found.x[found.zero_features].any()
    assert found.gap == pytest.approx(prob.gap(found.x, lam), rel=0.5)
    assert found.primal == pytest.approx(prob.primal(found.x, lam), rel=1e-12)


def test_the_solver_works_with_the_features_that_are_left():
    prob = problem()
    lam = 1e-3 * prob.lam_max()
    sizes = []

    def watch(reduction, state):
        sizes.append(state.evaluation.x.size)
        assert reduction.problem.cone.d == sizes[-1]
        assert reduction.embed(state.evaluation.x).size == 30

    reduction = Reduction(prob)
    start = begin(prob.cone.zeros(), lam)
    limits = Limits(tol=0.0, rtol=1e-10, max_iter=500)
    ended = driven(reduction, SMOOTH["gradient"], None, start, limits, watch, has_features=True)
    assert ended.reason == "converged"
    assert sizes[0] == 30 and sizes[-1] < 15
    assert sorted(sizes, reverse=True) == sizes
    assert ended.problem is prob and ended.evaluation.x.size == 30
    kept = ~reduction.zero_features
    assert kept.sum() <= sizes[-1]
    x = np.arange(30.0)
    assert (reduction.embed(reduction.extract(x))[kept] == x[kept]).all()


def test_the_gap_of_what_is_left_is_that_of_the_whole_problem():
    """The enlargement keeps H of what left negative at every point that will be accepted."""
    prob = problem()
    lam = 1e-3 * prob.lam_max()
    limits = Limits(tol=0.0, rtol=1e-6, max_iter=500)
    reduction = Reduction(prob)
    e = prob.evaluate(ss.solve(prob, lam, rtol=1e-8).x, lam)
    size = limits.slope_enlargement(e, 0.05)
    assert size == pytest.approx(np.sqrt(1e-6 * e.primal / 0.05), rel=1e-4)
    keep = reduction.leave_out(e, size)
    assert 0 < keep.sum() < 30
    rough = ss.solve(reduction.problem, lam, rtol=1e-6, screening=())
    assert prob.gap(reduction.embed(rough.x), lam) == pytest.approx(rough.gap, rel=1e-6)


def test_at_least_one_feature_stays():
    prob = problem(penalty=1.5)
    solution = ss.solve(prob, 1.0, screening=("features",), method="gradient")
    assert solution.converged and not solution.x.any()
    reduction = Reduction(prob)
    keep = reduction.leave_out(prob.evaluate(prob.cone.zeros(), 1.0))
    assert keep.sum() == 1 and reduction.problem.cone.d == 1
    assert reduction.zero_features.all()


def test_a_path_with_and_without():
    prob = problem()
    lams = prob.lam_max() * 0.5 ** np.arange(1, 10)
    plain = ss.path(prob, lams, rtol=1e-9, screening=())
    for screening in (BOTH, "auto", ("RRPB", "features")):
        found = ss.path(prob, lams, rtol=1e-9, screening=screening)
        assert all(s.converged for s in found)
        for a, b in zip(plain, found, strict=True):
            assert np.linalg.norm(a.x - b.x) <= a.eps + b.eps
            zero = b.zero_features
            assert zero is None or (a.x[zero] <= a.eps).all()
        assert sum(s.zero_features is not None and s.zero_features.any() for s in found) >= 5
    apart = ss.path(prob, lams, rtol=1e-9, screening=("MGB",), dynamic=("features",))
    assert apart[-1].zero_features.any()
    assert ss.path(prob, lams[:2], screening=BOTH, dynamic=())[-1].zero_features is None


def test_an_active_set_and_known_terms_go_with_it():
    prob = problem()
    lam = 1e-3 * prob.lam_max()
    best = ss.solve(prob, lam, rtol=1e-11, screening=())
    active = ss.solve(
        prob, lam, rtol=1e-9, screening=BOTH, active_set=True, method="gradient", freq=3
    )
    known = ss.screen(prob, best.x, lam)
    rest = solve_screened(prob, lam, known, rtol=1e-9, screening=("features",))
    for found in (active, rest):
        assert found.converged and found.zero_features.sum() > 15
        assert np.linalg.norm(found.x - best.x) <= found.eps + best.eps


def test_ctrl_c_where_features_have_left():
    prob = problem()
    lam = 1e-3 * prob.lam_max()

    def press(reduction, state):
        if not reduction.has_all_features:
            raise KeyboardInterrupt

    limits = Limits(tol=0.0, rtol=1e-12, max_iter=500)
    start = begin(prob.cone.zeros(), lam)
    with pytest.raises(Interrupted) as pressed:
        driven(Reduction(prob), SMOOTH["gradient"], None, start, limits, press, has_features=True)
    e = pressed.value.state.evaluation
    assert e.x.size == 30 and e.gap == pytest.approx(prob.gap(e.x, lam), rel=1e-6)


def test_screening_in_turn_decides_more_than_each_alone():
    prob = problem(n=120, d=60)
    lam = 1e-2 * prob.lam_max()
    x = ss.solve(prob, lam, rtol=1e-3, screening=()).x
    terms = ss.screen(prob, x, lam)
    features = ss.screen(prob, x, lam, screening=("features",))
    both = ss.screen(prob, x, lam, screening=BOTH)
    alpha = ss.screen(prob, x, lam, prob.alpha(x), screening=BOTH)
    assert terms.zero_features is None
    assert both.rate > terms.rate > 0.0
    assert both.zero_features.sum() > features.zero_features.sum() > 0
    assert (features.zero_features == ss.rules.features(prob, x, lam)).all()
    assert (alpha.zero_features == both.zero_features).all()
    assert not (terms.in_L & ~both.in_L).any() and not (terms.in_R & ~both.in_R).any()
    names = [ball.name for ball in both.balls]
    assert len(names) >= 3 and set(names) == {"MGB"}
