"""Screening from the solutions of other programs."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from instances import instance
from naive.harness import truth
from safescreen import datasets


@pytest.mark.parametrize("screening", [("MGB",), ("DGB", "BT2"), ("MGB&BT2",), ("GB+halfspace",), ("RRPB",)])
@pytest.mark.parametrize("kind", ["full", "diagonal", "dense", "csr", "kernel"])
def test_right_from_any_point(kind, screening):
    of = instance(kind)
    prob, lam = of.problem(0.05), of.lam(0.1)
    solution, known = truth(prob, of.exact(0.05), lam)
    rng, rates = np.random.default_rng(0), []
    for relative in (0.0, 1e-6, 1e-3, 0.1, 10.0):
        step = of.feasible(rng, relative * float(prob.cone.norm(solution.x)))
        x = prob.cone.project(solution.x + step) if relative else solution.x
        found = ss.screen(prob, x, lam, screening=screening, lam0=1.1 * lam)
        assert known.right(found)
        assert all(known.contained(ball) for ball in found.balls) and found.balls
        assert 0.0 <= found.gap_rounding <= found.gap
        rates.append(found.rate)
    assert rates[0] > 0.3 and rates[0] >= rates[-1]


def test_speeds_up_other_programs_without_changing_their_answer():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    y = np.where(y == y.max(), 1, -1)
    prob, C0, C = ss.Problem(ss.Samples(X, y), ss.Hinge()), 0.1, 0.11
    first = LinearSVC(loss="hinge", C=C0, fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)
    alpha = ss.svm.outside.dual_point(prob, first.coef_[0], C0)
    found = ss.screen(prob, first.coef_[0], 1.0 / C, alpha, lam0=1.0 / C0)
    assert found.in_R.mean() > 0.5
    options = {"loss": "hinge", "C": C, "fit_intercept": False, "tol": 1e-8, "max_iter": 100_000, "random_state": 0}
    whole, part = LinearSVC(**options).fit(X, y), LinearSVC(**options).fit(X[~found.in_R], y[~found.in_R])
    lam = 1.0 / C
    assert prob.primal(part.coef_[0], lam) == pytest.approx(prob.primal(whole.coef_[0], lam), rel=1e-7)
    assert (whole.decision_function(X)[found.in_R] * y[found.in_R] > 1.0 - 1e-4).all()


def test_with_the_dual_point_of_libsvm():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 2, 1, -1)
    X = rng.standard_normal((200, 2)) + 1.5 * y[:, None]
    terms, C = ss.KernelSamples.from_points(X, y, "rbf", gamma=0.5), 1.0
    prob = ss.Problem(terms, ss.Hinge())
    reference = ss.svm.outside.svc(terms, C)
    found = ss.screen(prob, reference.w, 1.0 / C, reference.alpha)
    assert found.rate > 0.8
    free = SVC(C=C, gamma=0.5).fit(X, y)  # a free intercept is another problem
    assert abs(free.intercept_[0]) > 0.0


def test_errors():
    of = instance("full")
    with pytest.raises(TypeError, match="ProductTriplets are screened in blocks"):
        ss.screen(ss.Problem(ss.ProductTriplets(of.X, of.y), ss.SmoothedHinge(0.05)), np.eye(3), 1.0)
    prob = of.problem(0.05)
    with pytest.raises(ValueError, match="unknown sphere 'ABC'"):
        ss.screen(prob, np.eye(3), 1.0, screening=("ABC",))
    with pytest.raises(ValueError, match="lam0 must"):
        ss.screen(prob, np.eye(3), 1.0, lam0=-1.0)
    with pytest.raises(ValueError, match="x must"):
        ss.screen(prob, -np.eye(3), 1.0)
