"""SafeSVC for data as they come: wide, far from 0, large; what a fitted model keeps, and where
it agrees with scikit-learn's.
"""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn import exceptions
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from safescreen import SafeSVC, SafeSVCCV, memory
from safescreen.estimators._features import Features
from safescreen.kernels import checked
from safescreen.kernels.matrices import KernelRows
from safescreen_book import datasets

WIDE = 2**20


def made(n=60, d=4, seed=0):
    X, y = make_classification(
        n, d, n_informative=3, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=seed
    )
    return X, y


def mirrored(n=40):
    """Points and their mirror images of the other class: the best free intercept is 0."""
    X, y = made(n)
    return np.vstack([X, -X]), np.append(y, 1 - y)


def padded(X, d=WIDE):
    """The same points, sparse, in so many columns."""
    X = sparse.csr_matrix(X)
    return sparse.csr_matrix(
        (X.data, X.indices * (d // X.shape[1]), X.indptr), shape=(X.shape[0], d)
    )


# ------------------------------------------------------------------ wide sparse points


def test_empty_columns_change_nothing():
    X, y = made()
    for kernel in ("linear", "rbf", "poly"):
        one, other = (
            SafeSVC(kernel=kernel, gamma=0.3, tol=1e-10).fit(points, y)
            for points in (sparse.csr_matrix(X), padded(X))
        )
        # kernels of dense and of sparse points round differently, which steps near the end show
        if kernel == "linear":
            assert one.n_iter_ == other.n_iter_
            assert other.dual_gap_ == pytest.approx(one.dual_gap_, rel=1e-6)
        assert np.allclose(
            one.decision_function(sparse.csr_matrix(X)),
            other.decision_function(padded(X)),
            rtol=0,
            atol=1e-9,
        )
        if kernel == "linear":
            assert other.coef_.shape == (1, WIDE) and np.array_equal(
                other.coef_[0, :: WIDE // 4], one.coef_[0]
            )
            assert np.count_nonzero(other.coef_) == 4
    assert np.allclose(
        other.decision_function(padded(X[:5]).toarray()),
        other.decision_function(padded(X[:5])),
        rtol=1e-12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_wide_points_are_never_written_out(kernel):
    X, y = load_wine(return_X_y=True)
    X = padded(minmax_scale(X), 2**22)
    tracemalloc.start()
    model = SafeSVC(kernel=kernel, gamma=0.5).fit(X, y)
    search = SafeSVCCV(SafeSVC(kernel=kernel, gamma=0.5), [0.1, 1.0], cv=3).fit(X, y)
    assert model.score(X, y) > 0.95 and search.score(X, y) > 0.95
    samples, w = ss.Samples(X, np.where(y == 0, 1, -1)), np.zeros(2**22)
    path = ss.svm.path(samples, [0.01, 0.1])
    found = ss.screen_samples(X, y == 0, path[-1].x, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        found.rate > 0.1
        and path[-1].converged
        and peak < 40 * w.nbytes < 0.25 * len(samples) * w.nbytes
    )


# ------------------------------------------------------------------ far from 0, and large


def test_no_singular_matrix_escapes():
    x = np.array([[422706.3], [422705.7], [422703.6], [422707.4], [422704.7], [422708.0]])
    SafeSVCCV(SafeSVC(max_iter=500), Cs=4, cv=3).fit(x, [0, 1, 0, 1, 0, 1])
    with pytest.warns(
        exceptions.ConvergenceWarning,
        match=r"C=.* column 0 has a mean of 4.23e\+08 and a standard deviation of .*Scaler",
    ) as seen:
        SafeSVCCV(SafeSVC(max_iter=3), Cs=4, cv=3).fit(1e3 * x, [0, 1, 0, 1, 0, 1])
    assert len(seen) <= 2, "once for the folds, once for the last fit"


def test_rbf_does_not_mind_where_points_are():
    X, y = made()
    far = 1e8 + np.round(X, 3)
    near = far - 1e8  # exact
    models = [SafeSVC(kernel="rbf", gamma=0.3, tol=1e-9).fit(points, y) for points in (near, far)]
    assert np.allclose(
        models[0].decision_function(near), models[1].decision_function(far), rtol=0, atol=1e-6
    )
    assert np.allclose(
        models[1].decision_function(sparse.csr_matrix(far)),
        models[1].decision_function(far),
        rtol=0,
        atol=1e-12,
    )
    K, centred = (
        ss.KernelSamples.from_points(points, 2 * y - 1, gamma=0.3) for points in (far, near)
    )
    assert (
        np.allclose(K.gram([0, 1, 2]), centred.gram([0, 1, 2]), rtol=0, atol=1e-13)
        and K.cone.relative_error < 1e-12
    )


def test_a_gap_that_is_not_reached_is_told_in_the_words_of_the_estimator():
    X, y = made()
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"C=3: relative duality gap .* after 2 .* tol=0.0001: max_iter=2 is reached$",
    ) as seen:
        SafeSVC(3.0, max_iter=2).fit(X, y)
    assert len(seen) == 1 and issubclass(seen[0].category, exceptions.ConvergenceWarning)
    assert seen[0].filename == __file__
    with pytest.warns(ss.ConvergenceWarning, match="column 2 has a mean of -3e"):
        SafeSVC(3.0, max_iter=1, tol=1e-13, kernel="poly").fit(X - [0, 0, 3e3, 0], y)


def test_columns_of_very_different_sizes_are_named_and_why_a_solve_has_stopped():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    X = X - X.mean(axis=0)
    X[:, 4] *= 1e8
    reached = r"C=1: relative duality gap \S+ after \d+ iterations, asked for tol=1e-15"
    why = "further iterations hardly lowered it, because of rounding or a badly conditioned problem"
    stalled = f"{reached}: it stalled: {why}"
    column = r"column 4 spans \S+ and column \d+ only \S+: put a StandardScaler before it$"
    with pytest.warns(ss.ConvergenceWarning, match=rf"^{stalled}; {column}"):
        SafeSVC(tol=1e-15).fit(X, y)
    frame = pd.DataFrame(X).rename(columns={4: "area"}).rename(columns=str)
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"max_iter=3 is reached; column area spans \S+ and column \d+ only",
    ):
        SafeSVC(max_iter=3).fit(frame, y)
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"; column 4 spans \S+ and column \d+ only \S+: put a MaxAbsScaler before it$",
    ):
        SafeSVC(max_iter=3).fit(sparse.csr_array(X), y)
    with pytest.warns(ss.ConvergenceWarning, match=r"iterations, .*: the callback ended it"):
        SafeSVC(callback=lambda now: True).fit(X, y)
    with pytest.warns(ss.ConvergenceWarning, match=r"max_iter=3 is reached$"):
        SafeSVC(max_iter=3, kernel="precomputed").fit(X @ X.T, y)


@pytest.mark.parametrize("method", ["auto", "newton"])
def test_what_would_overflow_is_named(method):
    X, y = made()
    for points, C, weights in (
        (1e160 * X, 1.0, None),
        (X, 1e200, None),
        (X, 1.0, np.full(60, 1e160)),
    ):
        with pytest.raises(
            ValueError, match="X, weights and lam must not differ so much .*, which is 1/C for SVMs"
        ):
            SafeSVC(C, method=method).fit(points, y, weights)
        if C == 1.0:
            with pytest.raises(
                ValueError,
                match="X, weights and lam must not differ so much .*, which is 1/C for SVMs",
            ):
                SafeSVCCV(SafeSVC(method=method), [1.0, 2.0], cv=2).fit(points, y, weights)
    with pytest.raises(ValueError, match="gamma='scale' needs the variance of X, which"):
        SafeSVC(kernel="rbf").fit(1e160 * X, y)


# ------------------------------------------------------------------ what is kept


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "smoothing": 0.1}])
def test_a_fitted_model_keeps_no_data(options):
    X, y = made(600, 20)
    model = SafeSVC(0.1, **options).fit(X, y)
    copied = pickle.dumps(model)
    size = model.support_vectors_.nbytes + 7 * model.dual_coef_.nbytes
    assert len(copied) < 6000 + size and not hasattr(model, "solutions_")
    np.testing.assert_array_equal(
        pickle.loads(copied).decision_function(X), model.decision_function(X)
    )
    (whole,) = SafeSVC(0.1, keep_problem=True, **options).fit(X, y).solutions_
    assert whole.problem.gap(whole.x, whole.lam, whole.alpha) == pytest.approx(
        model.dual_gap_, rel=1e-3
    )
    assert ss.svm.reference(whole).C == 0.1 and whole.screening_rate == model.screening_[0].rate


def test_no_more_memory_is_taken_than_there_is(monkeypatch):
    X, y = made(600, 20)
    for free, kind in ((1e9, np.ndarray), (2.7e6, KernelRows)):
        monkeypatch.setattr(memory, "free_memory", lambda: free)  # noqa: B023
        model = SafeSVC(kernel="rbf", tol=1e-3, keep_problem=True).fit(X, y)
        assert type(model.solutions_[0].problem.cone.K) is kind
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    with pytest.raises(
        ValueError, match=r"needs 0\.00128 GB at least, 0\.0007 GB are allowed: raise"
    ):
        SafeSVC(kernel="rbf").fit(X, y)


# ----------------------------------------------------------------- scikit-learn's words and results


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_is_svc_where_the_intercept_is_zero(kernel):
    X, y = mirrored()
    options = {"C": 0.7, "kernel": kernel, "gamma": 0.3, "coef0": 1.0 if kernel == "rbf" else 0.0}
    ours, theirs = (
        SafeSVC(fit_intercept=False, tol=1e-11, **options).fit(X, y),
        SVC(tol=1e-10, **options).fit(X, y),
    )
    if kernel == "rbf":  # of the others a point and its mirror image are one and the same term
        assert np.array_equal(ours.support_, theirs.support_) and np.array_equal(
            ours.n_support_, theirs.n_support_
        )
        assert np.array_equal(ours.support_vectors_, theirs.support_vectors_)
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape and np.allclose(
            ours.dual_coef_, theirs.dual_coef_, atol=1e-5
        )
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    if kernel == "poly":
        same = SafeSVC(fit_intercept=False, tol=1e-11, **{**options, "kernel": "polynomial"}).fit(
            X, y
        )
        assert np.array_equal(same.decision_function(X), ours.decision_function(X))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_is_linear_svc(loss):
    X, y = made()
    names = np.array(["no", "yes"])[y]
    ours = SafeSVC(0.5, loss=loss, intercept_scaling=2.0, tol=1e-12).fit(X, names)
    theirs = LinearSVC(
        C=0.5, loss=loss, intercept_scaling=2.0, tol=1e-8, max_iter=1_000_000, dual=True
    ).fit(X, names)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5) and np.allclose(
        ours.intercept_, theirs.intercept_, atol=1e-5
    )
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_several_classes_are_each_against_the_others():
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    names = np.array(["white", "red", "rose"])[y]
    model = SafeSVC(kernel="rbf", tol=1e-9, multi_class="ovr").fit(X, names)
    assert (
        model.dual_coef_.shape == (3, model.support_.size)
        and model.n_support_.sum() == model.support_.size
    )
    assert (np.diff(np.searchsorted(model.classes_, names[model.support_])) >= 0).all()
    for k, name in enumerate(model.classes_):
        alone = SafeSVC(kernel="rbf", tol=1e-9).fit(X, names == name)
        dual = np.zeros((2, len(X)))
        dual[0, model.support_], dual[1, alone.support_] = model.dual_coef_[k], alone.dual_coef_[0]
        assert np.array_equal(dual[0], dual[1])
    together = SafeSVC(kernel="rbf", tol=1e-9, multi_class="ovr", n_jobs=2)
    with parallel_backend("threading"):
        assert np.array_equal(
            together.fit(X, names).decision_function(X), model.decision_function(X)
        )
    assert np.array_equal(together.fit(X, names).decision_function(X), model.decision_function(X))


def test_of_many_points_only_the_rows_that_are_wanted_are_computed(monkeypatch):
    X, y = made(300)
    model = SafeSVC(kernel="rbf", tol=1e-9)
    whole = clone(model).fit(X, y)
    for limit, kind in ((300, np.ndarray), (299, KernelRows)):
        monkeypatch.setattr(checked, "WHOLE", limit)
        assert isinstance(Features.of(model, X).data, kind)
    np.testing.assert_allclose(
        clone(model).fit(X, y).decision_function(X), whole.decision_function(X), atol=1e-4
    )
    poly = SafeSVC(kernel="poly")
    assert isinstance(Features.of(poly, sparse.csr_array(X)).data, KernelRows)
    assert isinstance(Features.of(poly, padded(X)).data, np.ndarray)  # few entries


# ------------------------------------------------------------------ bounds of rounding


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_constant_feature_is_squared_in_a_kernel(kernel):
    """A constant feature of value s adds s^2 to every value of the kernel, and the intercept is
    what it adds to a decision value.
    """
    X, y = made()
    K = (
        rbf_kernel(X, gamma=0.3)
        if kernel == "rbf"
        else polynomial_kernel(X, gamma=0.3, degree=3, coef0=1.0)
    )
    options = {"C": 0.5, "intercept": "penalised", "intercept_scaling": 3.0, "tol": 1e-8}
    model = SafeSVC(kernel=kernel, gamma=0.3, **options).fit(X, y)
    given = SafeSVC(kernel="precomputed", **options).fit(K, y)
    plain = SafeSVC(kernel="precomputed", fit_intercept=False, C=0.5, tol=1e-8).fit(K + 9.0, y)
    wanted = plain.decision_function(K + 9.0)
    assert np.allclose(model.decision_function(X), wanted, rtol=0, atol=1e-2)
    assert np.allclose(given.decision_function(K), wanted, rtol=0, atol=1e-2)
    for one in (model, given):
        parts = K[:, one.support_] @ one.dual_coef_[0] + one.intercept_
        assert np.allclose(parts, wanted, rtol=0, atol=1e-2) and one.intercept_ == pytest.approx(
            9.0 * one.dual_coef_.sum(), rel=1e-9
        )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_support_is_numbered_among_all_samples(kernel):
    """Those of weight 0 are left out of the problem, and keep their numbers."""
    X, y = made()
    weights = np.where(np.arange(60) % 3, 1.0, 0.0)
    model = SafeSVC(kernel=kernel, gamma=0.3).fit(X, y, weights)
    assert model.support_.max() > 40 and (weights[model.support_] > 0.0).all()
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert np.array_equal(model.n_support_, np.bincount(y[model.support_]))
    assert (model.dual_coef_[0] * (2 * y[model.support_] - 1) >= 0.0).all()


def test_a_given_matrix_is_known_as_kernel_samples_take_it():
    X, y = made(20)
    K = rbf_kernel(X, gamma=0.3)
    features = Features.of(SafeSVC(kernel="precomputed", intercept="penalised"), K)
    known = ss.KernelSamples(K + features.constant**2, 2 * y - 1).cone.relative_error
    assert features.terms(2.0 * y - 1.0, None).cone.relative_error == known
