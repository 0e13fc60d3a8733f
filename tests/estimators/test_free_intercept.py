"""SafeSVC with a free intercept, beside SVC."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import safescreen as ss
from safescreen import SafeSVC, SafeSVCCV

KERNELS = ("linear", "rbf", "poly", "precomputed")


def made(seed=0):
    X, y = make_classification(60, 4, flip_y=0.1, weights=[0.7], random_state=seed)
    return X + 2.0, y


def data_of(kernel, X):
    return X @ X.T if kernel == "precomputed" else X


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
def test_is_svc(kernel, form):
    X, y = made()
    data = form(data_of(kernel, X)) if kernel != "precomputed" else data_of(kernel, X)
    options = {"C": 0.7, "kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0}
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 60)
    ours = SafeSVC(intercept="free", tol=1e-10, **options).fit(data, y, weights)
    theirs = SVC(tol=1e-9, **options).fit(data, y, weights)
    assert np.allclose(ours.decision_function(data), theirs.decision_function(data), atol=1e-4)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    coef = np.zeros(60)
    coef[ours.support_] = ours.dual_coef_[0]
    coef[theirs.support_] -= sparse.csr_array(theirs.dual_coef_).toarray()[0]
    assert np.abs(coef).max() < 1e-3
    assert abs(ours.dual_coef_.sum()) < 1e-13
    rows = data_of(kernel, X)
    if kernel in ("linear", "precomputed"):
        kernel_values = rows if kernel == "precomputed" else X @ X.T
        f = kernel_values[:, ours.support_] @ ours.dual_coef_[0] + ours.intercept_
        assert np.allclose(f, ours.decision_function(data), atol=1e-4)


def test_without_free_support_vectors_the_intercept_is_the_middle():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    ours = SafeSVC(0.01, intercept="free", tol=1e-9).fit(X + 3.0, y)
    theirs = SVC(kernel="linear", C=0.01, tol=1e-9).fit(X + 3.0, y)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-9)


def test_the_default_is_that_of_scikit_learn():
    X, y = made()
    for kernel, same in (("linear", "penalised"), ("rbf", "free")):
        values = [
            SafeSVC(kernel=kernel, gamma=0.3, intercept=kind).fit(X, y).decision_function(X)
            for kind in ("auto", same)
        ]
        assert np.array_equal(*values)
    assert SafeSVC(kernel="rbf", fit_intercept=False).fit(X, y).intercept_ == 0.0
    with pytest.raises(ValueError, match="intercept must be"):
        SafeSVC(intercept="none").fit(X, y)


def test_weights_that_leave_one_class_are_refused():
    X, y = made()
    with pytest.raises(ValueError, match="two classes with positive weight"):
        SafeSVC(kernel="rbf").fit(X, y, np.where(y == 1, 1.0, 0.0))


def test_a_path_comes_down_to_the_same_machine():
    X, y = made()
    model = SafeSVC(5.0, intercept="free", tol=1e-9, keep_problem=True).fit(X, y)
    problem = model.solutions_[0].problem
    along = ss.path(problem, 0.2 * 2.0 ** np.arange(5, -1, -1), rtol=1e-9, screening=("MGB",))
    assert along[-1].lam == 0.2 and along[-1].screening_rate > 0.3
    w = model.coef_[0]
    assert np.allclose(along[-1].x[: w.size], w, atol=1e-3)
    assert along[-1].intercept == pytest.approx(model.intercept_[0], abs=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_certain_of_a_fitted_machine(kernel):
    X, y = made()
    data = data_of(kernel, X)
    model = SafeSVC(0.5, kernel=kernel, gamma=0.3, coef0=1.0, intercept="free", tol=1e-9)
    found = ss.screen_fitted(model.fit(data, y), data, y)
    assert found.rate > 0.5
    low, high = found.intercept
    assert low <= model.intercept_ <= high and high - low < 0.1
    exact = SVC(C=0.5, kernel=kernel, gamma=0.3, coef0=1.0, tol=1e-10).fit(data, y)
    # SVC keeps kernel values in single precision, at any tolerance
    assert low <= exact.intercept_ + 1e-5 and exact.intercept_ - 1e-5 <= high
    margins = np.where(y == 1, 1.0, -1.0) * exact.decision_function(data)
    assert (margins[found.in_R] > 1.0 - 1e-6).all() and (margins[found.in_L] < 1.0 + 1e-6).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_bounds_of_searches_know_the_intercept_is_not_exact(kernel, tol):
    """They hold the scores of far more accurate machines, and prove something."""
    for seed in range(3):
        X, y = made(seed)
        options = {"kernel": kernel, "gamma": 0.3, "intercept": "free"}
        searches = (
            SafeSVCCV(SafeSVC(tol=each, **options), np.logspace(-2, 2, 9), cv=3, refit=False)
            for each in (tol, 1e-8)
        )
        rough, exact = (search.fit(X, y) for search in searches)
        low, high = rough.score_bounds_
        assert (low <= exact.scores_).all() and (exact.scores_ <= high).all()
        assert np.mean(high - low) < 0.9


def test_several_classes():
    X, _ = made()
    y = np.random.default_rng(0).integers(0, 3, 60)
    model = SafeSVC(kernel="rbf", gamma=0.3, tol=1e-9, multi_class="ovr").fit(X, y)
    for k in range(3):
        alone = SafeSVC(kernel="rbf", gamma=0.3, tol=1e-9).fit(X, y == k)
        scores = model.decision_function(X)[:, k]
        assert np.allclose(scores, alone.decision_function(X), atol=1e-5)


def test_starts_from_the_last_machine():
    X, y = made()
    model = SafeSVC(kernel="rbf", gamma=0.3, warm_start=True, tol=1e-8).fit(X, y)
    again = model.set_params(C=1.05).fit(X, y).decision_function(X)
    alone = SafeSVC(1.05, kernel="rbf", gamma=0.3, tol=1e-8).fit(X, y).decision_function(X)
    assert np.allclose(again, alone, atol=1e-3)
