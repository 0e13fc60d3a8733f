"""Screening from the solutions of other programs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from instances import instance
from naive.harness import truth
from naive.libsvm import svc as libsvm_svc
from safescreen.solvers.dual_points import dual_point
from safescreen_book import datasets


@pytest.mark.parametrize(
    "screening", [("MGB",), ("DGB", "BT2"), ("MGB&BT2",), ("GB+halfspace",), ("RRPB",)]
)
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
        difference = prob.primal(x, lam) - prob.dual(prob.alpha(x), lam)
        assert found.gap - found.gap_rounding == pytest.approx(
            max(difference, 0.0), rel=1e-6, abs=1e-9 * abs(prob.primal(x, lam))
        )
        rates.append(found.rate)
    assert rates[0] > 0.3 and rates[0] >= rates[-1]


def test_speeds_up_other_programs_without_changing_their_answer():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    y = np.where(y == y.max(), 1, -1)
    prob, C0, C = ss.Problem(ss.Samples(X, y), ss.Hinge()), 0.1, 0.11
    first = LinearSVC(
        loss="hinge", C=C0, fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0
    ).fit(X, y)
    alpha = dual_point(prob, first.coef_[0], C0)
    found = ss.screen(prob, first.coef_[0], 1.0 / C, alpha, lam0=1.0 / C0)
    assert found.in_R.mean() > 0.5
    options = {
        "loss": "hinge",
        "C": C,
        "fit_intercept": False,
        "tol": 1e-8,
        "max_iter": 100_000,
        "random_state": 0,
    }
    whole, part = (
        LinearSVC(**options).fit(X, y),
        LinearSVC(**options).fit(X[~found.in_R], y[~found.in_R]),
    )
    lam = 1.0 / C
    assert prob.primal(part.coef_[0], lam) == pytest.approx(
        prob.primal(whole.coef_[0], lam), rel=1e-7
    )
    assert (whole.decision_function(X)[found.in_R] * y[found.in_R] > 1.0 - 1e-4).all()


def test_with_the_dual_point_of_libsvm():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 2, 1, -1)
    X = rng.standard_normal((200, 2)) + 1.5 * y[:, None]
    terms, C = ss.KernelSamples.from_points(X, y, "rbf", gamma=0.5), 1.0
    prob = ss.Problem(terms, ss.Hinge())
    reference = libsvm_svc(terms, C)
    found = ss.screen(prob, reference.w, 1.0 / C, reference.alpha)
    assert found.rate > 0.8
    free = SVC(C=C, gamma=0.5).fit(X, y)  # a free intercept is another problem
    assert abs(free.intercept_[0]) > 0.0


@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_and_triplets_from_arrays(loss, weighted):
    of = instance("full")
    triplets = ss.Triplets.from_labels(of.X, of.y, k=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(triplets)) if weighted else None
    for diagonal in (False, True):
        terms = ss.Triplets(of.X, triplets.index, diagonal=diagonal, weights=weights)
        prob = ss.Problem(terms, loss)
        x = ss.solve(prob, 50.0, tol=1e-300, rtol=1e-4).x
        one = ss.screen_triplets(
            of.X,
            triplets.index,
            x,
            55.0,
            lam0=50.0,
            triplet_weight=weights,
            loss=loss,
            screening=("RRPB", "MGB"),
        )
        two = ss.screen(prob, x, 55.0, lam0=50.0, screening=("RRPB", "MGB"))
        np.testing.assert_array_equal(one.in_R, two.in_R)
        np.testing.assert_array_equal(one.in_L, two.in_L)
        path = ss.spheres.relaxed_path_bound(
            x, ss.spheres.duality_gap_bound(prob, x, 50.0).radius, 50.0, 55.0
        )
        np.testing.assert_allclose(two.balls[0].center, path.center, rtol=1e-12)
        assert two.balls[0].radius == pytest.approx(path.radius, rel=1e-6)
    X, y = datasets.load("breast-cancer", return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else None
    terms = ss.Samples(ss.svm.add_intercept(X, 2.0), np.where(y == y.max(), 1, -1), weights=weights)
    prob = ss.Problem(terms, loss)
    solution, exact = (
        ss.solve(prob, 10.0, tol=1e-300, rtol=1e-5),
        ss.solve(prob, 9.0, tol=1e-300, rtol=1e-11),
    )
    w, b = solution.x[:-1], 2.0 * solution.x[-1]
    names = np.where(y == y.max(), "yes", "no")
    for alpha in (None, solution.alpha):
        found = ss.screen_samples(
            X,
            names,
            w,
            1 / 9,
            alpha,
            C0=0.1,
            intercept=b,
            intercept_scaling=2.0,
            sample_weight=weights,
            loss=loss,
        )
        given = dual_point(prob, solution.x, 0.1) if alpha is None else alpha
        same = ss.screen(prob, np.append(w, b / 2.0), 9.0, given, lam0=10.0)
        np.testing.assert_array_equal(found.in_R, same.in_R)
        np.testing.assert_array_equal(found.in_L, same.in_L)
        assert found.gap == same.gap
        margins = terms.margins(exact.x)
        assert (margins[found.in_R] > 1.0 - 1e-4).all() and (
            margins[found.in_L] < 1.0 - loss.gamma + 1e-4
        ).all()
        assert found.in_R.mean() > 0.2 and found.in_L.any() == loss.has_linear_region


def test_errors_from_arrays():
    X, y = datasets.load("iris", return_X_y=True)
    with pytest.raises(
        ValueError, match="two classes, found 3: screen each class against the others"
    ):
        ss.screen_samples(X, y, np.zeros(4), 1.0)
    with pytest.raises(ValueError, match=r"w must have shape \(4,\), got \(3,\)"):
        ss.screen_samples(X[:100], y[:100], np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="C must be greater than 0"):
        ss.screen_samples(X[:100], y[:100], np.zeros(4), 0.0)
    with pytest.raises(ValueError, match="intercept must be finite"):
        ss.screen_samples(X[:100], y[:100], np.zeros(4), 1.0, intercept=np.nan)
    with pytest.raises(ValueError, match="M must"):
        ss.screen_triplets(X, [[0, 1, 60]], -np.eye(4), 1.0)
    with pytest.raises(ValueError, match="M must have shape"):
        ss.screen_triplets(X, [[0, 1, 60]], np.eye(3), 1.0)


def test_errors():
    of = instance("full")
    with pytest.raises(
        TypeError, match="screen needs single terms, .* which ProductTriplets do not offer"
    ):
        ss.screen(
            ss.Problem(ss.ProductTriplets(of.X, of.y), ss.SmoothedHinge(0.05)), np.eye(3), 1.0
        )
    prob = of.problem(0.05)
    with pytest.raises(ValueError, match="unknown sphere 'ABC'"):
        ss.screen(prob, np.eye(3), 1.0, screening=("ABC",))
    with pytest.raises(ValueError, match="lam0 must"):
        ss.screen(prob, np.eye(3), 1.0, lam0=-1.0)
    with pytest.raises(ValueError, match="x must"):
        ss.screen(prob, -np.eye(3), 1.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_dual_points_of_sparse_samples_are_as_good(weighted):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 30)) * (rng.uniform(size=(120, 30)) < 0.3)
    y = np.where(X @ rng.standard_normal(30) + rng.standard_normal(120) > 0.0, 1, -1)
    weights = rng.uniform(0.5, 2.0, 120) if weighted else None
    dense, csr = (
        ss.Problem(ss.Samples(form(X), y, weights=weights), ss.Hinge())
        for form in (np.asarray, sparse.csr_array)
    )
    solution = ss.solve(dense, 2.0, tol=0.0, rtol=1e-8)
    gaps = [prob.gap(solution.x, 2.0, dual_point(prob, solution.x, 0.5)) for prob in (dense, csr)]
    assert (
        max(gaps) < 1e-7 * solution.primal and dense.gap(solution.x, 2.0) > 1e-3 * solution.primal
    )
