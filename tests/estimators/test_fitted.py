"""Certificates from what scikit-learn has fitted, against its own accurate solutions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from safescreen.estimators.fitted import _around_mean
from safescreen_book import datasets


def data(seed=0, n=300):
    return make_classification(n, 5, n_informative=4, n_redundant=0, flip_y=0.05, class_sep=1.0, weights=[0.65], random_state=seed)


def check(model, whole, X, y, found, accuracy=1e-6):
    """Assert that what was found is right at an accurate solution, and that dropping R changes nothing."""
    margins = np.where(y == whole.classes_[1], 1.0, -1.0) * whole.decision_function(X)
    assert (margins[found.in_R] > 1.0 - accuracy).all() and (margins[found.in_L] < 1.0 + accuracy).all()
    part = model.fit(X[~found.in_R], y[~found.in_R])
    np.testing.assert_allclose(part.decision_function(X), whole.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("factor", [1.0, 1.05, 0.9, 2.0])
def test_svc_with_its_free_intercept(kernel, factor, tol):
    for seed in range(3):
        X, y = data(seed)
        X += 3.0 if kernel == "linear" else 0.0
        options = {"kernel": kernel, "gamma": 0.2, "degree": 2}
        found = ss.screen_fitted(SVC(C=0.5, tol=tol, **options).fit(X, y), X, y, 0.5 * factor)
        whole = SVC(C=0.5 * factor, tol=1e-10, **options).fit(X, y)
        assert found.intercept[0] <= whole.intercept_[0] + 1e-7 and whole.intercept_[0] - 1e-7 <= found.intercept[1]
        check(SVC(C=0.5 * factor, tol=1e-10, **options), whole, X, y, found)
        if factor == 1.0 and tol == 1e-8:
            margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
            assert found.in_R.sum() >= 0.95 * (margins > 1.0 + 1e-3).sum() > 0.0
            assert found.in_L.sum() >= 0.95 * (margins < 1.0 - 1e-3).sum() > 0.0
            assert 0.0 < found.gap_rounding <= found.gap


def test_svc_weights_and_sparse():
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.2, 3.0, y.size)
    options = {"kernel": "linear", "class_weight": {0: 1.0, 1: 2.5}}
    model = SVC(C=0.2, tol=1e-6, **options).fit(X, y, sample_weight=weights)
    found = ss.screen_fitted(model, X, y, 0.21, sample_weight=weights)
    whole = SVC(C=0.21, tol=1e-10, **options).fit(X, y, sample_weight=weights)
    assert found.in_R.mean() > 0.2
    margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
    assert (margins[found.in_R] > 1.0 - 1e-6).all() and (margins[found.in_L] < 1.0 + 1e-6).all()
    X = np.where(X > 0.0, X, 0.0)
    csr = sparse.csr_matrix(X)
    found = ss.screen_fitted(SVC(kernel="linear", C=0.2, tol=1e-6).fit(csr, y), csr, y, 0.21)
    assert found.in_R.any()
    check(SVC(kernel="linear", C=0.21, tol=1e-10), SVC(kernel="linear", C=0.21, tol=1e-10).fit(csr, y), csr, y, found)


@pytest.mark.parametrize("offset", [3.0, 20.0])
def test_sparse_points_far_from_the_origin(offset):
    """They are centred as dense ones are, without being written out."""
    X, y = data()
    X += offset
    options = {"kernel": "linear", "C": 0.5, "tol": 1e-8}
    rows = sparse.csr_array(X)
    found, csr = (ss.screen_fitted(SVC(**options).fit(points, y), points, y) for points in (X, rows))
    assert csr.in_R.sum() >= found.in_R.sum() - 2 > 50 and csr.in_L.any()
    check(SVC(**options), SVC(**options).fit(X, y), X, y, csr, 1e-5)
    norms, length = _around_mean(rows, np.linalg.norm(X, axis=1) * (1.0 + 1e-12))
    exact = np.linalg.norm(X - X.mean(axis=0), axis=1)
    assert (exact <= norms).all() and (norms <= exact * (1.0 + 1e-9 * offset)).all() and length >= np.linalg.norm(X.mean(axis=0))
    wide = sparse.csr_array((rows.data, rows.indices, rows.indptr), (len(X), 1 << 20))  # 2.5 GB if written out
    found = ss.screen_fitted(SVC(**options).fit(wide, y), wide, y)
    assert found.gap == pytest.approx(csr.gap, rel=1e-3) and found.in_R.any()


def test_the_ball_holds_the_solution_and_not_by_far():
    """The distance of the solution is below the radius, and above 70 % of it somewhere: a smaller one would be wrong."""
    shares = []
    for seed in range(6):
        X, y = data(seed)
        model = SVC(C=0.5, kernel="rbf", gamma=0.2, tol=1e-8).fit(X, y)
        for C in (0.55, 1.0, 2.0):
            found, whole = ss.screen_fitted(model, X, y, C), SVC(C=C, kernel="rbf", gamma=0.2, tol=1e-10).fit(X, y)
            ball, signs = found.balls[0], np.where(y == model.classes_[1], 1.0, -1.0)
            center = signs * 0.5 * (1.0 + C / 0.5) * (model.decision_function(X) - model.intercept_[0])
            ends = np.sort(np.outer(found.intercept, signs), axis=0)  # of what the intercept adds to a margin
            assert (center + ends[0] - ball.radius > 1.0)[found.in_R].all() and (center + ends[1] + ball.radius < 1.0)[found.in_L].all()
            points = np.vstack([model.support_vectors_, whole.support_vectors_])
            coef = np.concatenate([ball.center, -whole.dual_coef_[0]])
            shares.append(np.sqrt(coef @ rbf_kernel(points, gamma=0.2) @ coef) / ball.radius)
    assert 0.7 < max(shares) <= 1.0


def test_one_after_the_other():
    X, y = data(n=500)
    model, kept = SVC(kernel="rbf", gamma=0.1, C=1.0, tol=1e-6).fit(X, y), np.ones(y.size, dtype=bool)
    for C in 1.0 * 1.03 ** np.arange(1, 6):
        kept = ~ss.screen_fitted(model, X, y, C, kept=kept).in_R
        assert not kept.all()
        model, whole = (SVC(kernel="rbf", gamma=0.1, C=C, tol=1e-6).fit(X[rows], y[rows]) for rows in (kept, slice(None)))
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-4)
    with pytest.raises(ValueError, match="if samples were taken out, use kept"):
        ss.screen_fitted(model, X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_svc(loss, intercept):
    X, y = data(n=600)
    options = {"loss": loss, "fit_intercept": intercept, "intercept_scaling": 2.0, "random_state": 0, "max_iter": 1_000_000}
    model = LinearSVC(C=0.1, tol=1e-4, **options).fit(X, y)
    for C in (0.1, 0.11):
        found, whole = ss.screen_fitted(model, X, y, C), LinearSVC(C=C, tol=1e-9, **options).fit(X, y)
        assert found.in_R.any() and found.in_L.any() == (loss == "hinge")
        margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
        assert found.in_R.sum() >= 0.9 * (margins > 1.0 + 0.3).sum() > 0.0
        check(LinearSVC(C=C, tol=1e-9, **options), whole, X, y, found, 1e-5)


def test_same_as_from_the_coefficients():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    model = LinearSVC(C=0.1, loss="hinge", random_state=0, max_iter=1_000_000).fit(X, y)
    one = ss.screen_fitted(model, X, y, 0.12)
    two = ss.screen_samples(X, y, model.coef_[0], 0.12, C0=0.1, intercept=model.intercept_[0])
    np.testing.assert_array_equal(one.in_R, two.in_R)
    assert one.gap == two.gap


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (SVC(kernel="sigmoid"), ValueError, "kernel linear, poly or rbf, got 'sigmoid'"),
        (SVC(), ValueError, "gamma='scale' would change .* fit with the number it stands for, gamma=0"),
        (SVC(kernel="linear", class_weight="balanced"), ValueError, "give it as a dict of numbers"),
        (LinearSVC(penalty="l1"), ValueError, "penalty 'l2', got 'l1'"),
    ],
)
def test_errors(model, error, text):
    X, y = data()
    with pytest.raises(error, match=text):
        ss.screen_fitted(model.fit(X, y), X, y, 1.0)


def test_errors_of_the_call():
    X, y = data()
    model = SVC(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="found other support vectors"):
        ss.screen_fitted(model, X[::-1].copy(), y)
    with pytest.raises(ValueError, match="other classes or another number of columns"):
        ss.screen_fitted(model, X[:, 1:], y)
    with pytest.raises(ValueError, match="model must be fitted: call"):
        ss.screen_fitted(SVC(), X, y)
    with pytest.raises(TypeError, match="LinearSVC or an SVC, got str"):
        ss.screen_fitted("svc", X, y)
    with pytest.raises(ValueError, match="two classes, got 3"):
        ss.screen_fitted(SVC(kernel="linear").fit(X, np.arange(y.size) % 3), X, y)
    with pytest.raises(ValueError, match="must be positive"):
        ss.screen_fitted(model, X, y, sample_weight=np.zeros(y.size))
