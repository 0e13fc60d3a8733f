"""Keywords that people type for SVC and LinearSVC: without effect, or refused with what to do."""

import copy
import pickle
import re

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

import safescreen as ss
from safescreen import SafeSVC, screen_fitted


@pytest.mark.parametrize(
    ("kind", "name", "remedy"),
    [
        (ss.SafeSVC, "kernl", "take 'kernel'"),
        (ss.SafeSVC, "zzz", "take one of C, "),
        (ss.SafeSVC, "with_path", "safescreen.path makes a path of solutions of a problem"),
        (ss.SafeSVC, "path_ratio", "SafeSVCCV searches for C along paths"),
        (ss.SafeSVCCV, "kernel", "SafeSVCCV(SafeSVC(kernel=...))"),
        (ss.SafeSVCCV, "C", "give values of C as Cs"),
        (ss.SafeSVCCV, "param_grid", "give values of C as Cs"),
        (ss.SafeSVCCV, "gama", "take 'gammas'"),
        (ss.SafeSVCCV, "return_train_score", "it is not there, as held-out rows alone are scored"),
        (ss.TripletMetricCV, "pre_dispatch", "it is not there: leave it out"),
        (ss.TripletMetricCV, "k", "TripletMetricCV(TripletMetric(k=...))"),
        (ss.TripletMetric, "n_neighbor", "take 'n_neighbors'"),
        (ss.HDSL, "scales", "take 'scale'"),
        (ss.PairLearner, "bound", "take 'bounds'"),
    ],
)
def test_an_unknown_keyword_is_told_what_to_do(kind, name, remedy):
    text = f"{kind.__name__} got an unexpected keyword argument {name!r}: "
    with pytest.raises(TypeError, match=re.escape(text) + ".*" + re.escape(remedy)):
        kind(**{name: 1})


def made():
    return make_classification(60, 4, flip_y=0.1, random_state=0)


@pytest.mark.parametrize(
    "options",
    [
        {"random_state": 3},
        {"dual": True, "penalty": "l2", "multi_class": "ovr"},
        {"shrinking": False, "cache_size": 500},
        {"decision_function_shape": "ovr", "break_ties": True, "probability": False},
        {"decision_function_shape": "ovo"},
        {"max_iter": -1},
    ],
)
def test_they_change_nothing(options):
    X, y = made()
    with_them = clone(SafeSVC(**options)).fit(X, y)
    assert np.array_equal(with_them.coef_, SafeSVC().fit(X, y).coef_)
    assert options.items() <= with_them.get_params().items()


@pytest.mark.parametrize(
    ("options", "error", "advice"),
    [
        ({"penalty": "l1"}, ValueError, r"LinearSVC\(penalty='l1'"),
        ({"penalty": "l1"}, ValueError, "Unsupported set of arguments.*'l1'.*'hinge'.*'auto'"),
        ({"multi_class": "crammer_singer"}, ValueError, "crammer_singer"),
        ({"decision_function_shape": "all"}, ValueError, "multi_class='ovo' trains pairs"),
        ({"probability": True}, ValueError, "CalibratedClassifierCV"),
        ({"dual": 3}, ValueError, "method"),
        ({"kernel": "sigmoid"}, ValueError, "not positive semidefinite"),
        ({"kernel": rbf_kernel}, TypeError, "precomputed"),
        ({"kernel": "rbv"}, ValueError, "one of linear"),
    ],
)
def test_what_is_refused_says_what_does_it(options, error, advice):
    with pytest.raises(error, match=advice):
        SafeSVC(**options).fit(*made())


def test_decision_values_of_pairs_need_pairs():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="must be 'ovr', got 'ovo': .*multi_class='ovo' trains"):
        SafeSVC(decision_function_shape="ovo").fit(X, y)
    model = SafeSVC(decision_function_shape="ovo", multi_class="ovo").fit(X, y)
    assert model.decision_function(X).shape == (150, 3)


def test_a_sparse_kernel_matrix_is_refused():
    with pytest.raises(TypeError, match=r"Sparse precomputed .*toarray\(\)"):
        SafeSVC(kernel="precomputed").fit(sparse.eye_array(2), [0, 1])


def test_the_advice_works():
    X, y = load_iris(return_X_y=True)
    for machine in (OneVsOneClassifier(SafeSVC()), CalibratedClassifierCV(SafeSVC())):
        assert machine.fit(X, y).score(X, y) > 0.9
    model = SafeSVC(kernel="precomputed").fit(rbf_kernel(X, X), y)
    assert model.score(rbf_kernel(X, X), y) > 0.9


def test_weights_that_are_not_positive_are_left_out_as_in_svc():
    X, y = made()
    weights = np.random.default_rng(0).choice([-1.0, 0.0, 1.0, 2.0], 60)
    options = {"kernel": "rbf", "gamma": 0.3}
    ours = SafeSVC(tol=1e-10, **options).fit(X, y, weights)
    theirs = SVC(tol=1e-8, **options).fit(X, y, weights)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    for weights, text in (
        (-np.ones(60), "zero or negative weights"),
        (np.zeros(60), "zero or negative weights"),
        (np.where(y, 1.0, -1.0), "belong to the same class"),
    ):
        for model in (SVC(), SafeSVC()):
            with pytest.raises(ValueError, match=f"Invalid input.*{text}"):
                model.fit(X, y, weights)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_coefficients_can_be_sparse_and_changed(form):
    X, y = load_iris(return_X_y=True)
    for labels in (y, y == 1):
        model = SafeSVC().fit(form(X), labels)
        scores = model.decision_function(form(X))
        assert model.sparsify() is model and sparse.issparse(model.coef_)
        assert np.allclose(model.decision_function(form(X)), scores, rtol=0, atol=1e-12)
        assert isinstance(model.densify().coef_, np.ndarray)
        model.coef_ *= 2.0
        model.intercept_ = 2.0 * model.intercept_
        assert np.allclose(model.decision_function(form(X)), 2.0 * scores, rtol=0, atol=1e-12)
    with pytest.raises(AttributeError):
        SafeSVC(kernel="rbf").fit(X, y).sparsify()


def text(n=300, d=2**20):
    """Return rows of 30 words out of 2,000, in so many columns."""
    rng = np.random.default_rng(0)
    columns = rng.choice(d, 2000, replace=False)[rng.integers(0, 2000, (n, 30))]
    indptr = np.arange(0, 30 * n + 1, 30)
    X = sparse.csr_array((np.ones(30 * n), columns.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    return X, rng.integers(0, 7, n)


@pytest.mark.slow
def test_a_model_of_text_is_small():
    """What is stored grows with the columns that have an entry, not with all of them, and each
    coefficient is stored once.
    """
    X, y = text()
    d = X.shape[1]
    model = SafeSVC(tol=1e-3).fit(X, y)
    packed = pickle.dumps(model)
    # a coefficient, a dual coefficient and the number of a column in 8 bytes, a dual point in 12 at
    # most, two masks
    least = 8 * 8 * 2000 + 300 * 7 * (8 + 12 + 2)
    assert model.coef_.shape == (7, d) and len(packed) < least + 10_000
    again = pickle.loads(packed)
    assert np.array_equal(again.coef_, model.coef_) and again.coef_.flags.writeable
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(again).get_params() == model.get_params()


def test_a_copy_has_the_columns_of_all_classes():
    """Of four columns with an entry among a hundred, one is of no use to the first class."""
    X = np.zeros((60, 100))
    X[:, :4] = np.eye(4)[np.arange(60) % 4]
    X[:, 3] = 0.0
    X[::2, 90] = np.arange(30) % 7
    model = SafeSVC(fit_intercept=False).fit(sparse.csr_array(X), np.arange(60) % 3)
    model.coef_[0, 90] = 0.0
    again = pickle.loads(pickle.dumps(model))
    assert model.coef_[1:, 90].all() and np.array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, np.asarray])
@pytest.mark.parametrize("options", [{}, {"intercept": "free"}, {"fit_intercept": False}])
def test_a_copy_starts_fits_and_gives_certificates_as_the_model(form, options):
    X, y = made()
    if form is not np.asarray:
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        X = np.hstack([X, np.zeros((60, 40))])  # columns without an entry are left out
    X = form(X)
    model = SafeSVC(0.3, warm_start=True, tol=1e-8, **options).fit(X, y)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    assert hasattr(again, "support_vectors_") is (form is np.asarray)
    assert np.array_equal(again.coef_, model.coef_) and again.coef_.flags.writeable
    assert np.array_equal(again.dual_coef_, model.dual_coef_)
    assert np.array_equal(again.screening_[0].in_R, model.screening_[0].in_R)
    told, same = (screen_fitted(it, X, y, 0.3) for it in (model, again))
    assert np.array_equal(told.in_R, same.in_R) and told.in_R.any()
    with pytest.raises(ValueError, match="found other support vectors"):
        screen_fitted(model, 1.1 * X, y)
    cold = SafeSVC(0.31, tol=1e-8, **options).fit(X, y)
    warm = clone(model).fit(X, y).set_params(C=0.31).fit(X, y)
    assert again.set_params(C=0.31).fit(X, y).n_iter_ == warm.n_iter_
    assert np.array_equal(again.coef_, warm.coef_)
    assert np.allclose(again.coef_, cold.coef_, atol=1e-3)
    assert hasattr(again, "support_vectors_")


def test_a_copy_keeps_what_somebody_has_changed():
    X, y = made()
    model = SafeSVC().fit(sparse.csr_array(X), y)
    model.coef_ *= 2.0
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.coef_, model.coef_)
    wide = SafeSVC().fit(sparse.csr_array(np.hstack([X, np.zeros((60, 40))])), y)
    wide.coef_[0, -1] = 3.0  # of a column without an entry
    assert pickle.loads(pickle.dumps(wide)).coef_[0, -1] == 3.0
    again = pickle.loads(pickle.dumps(model.sparsify()))
    assert sparse.issparse(again.coef_)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_coefficients_go_with_their_kernel():
    X, y = made()
    model = SafeSVC().fit(sparse.csr_array(X), y)
    model.set_params(kernel="rbf").fit(sparse.csr_array(X), y)
    assert not hasattr(model, "coef_")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.support_vectors_ != model.support_vectors_).nnz == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_copies_in_memory_and_in_files(kernel, tmp_path):
    X, y = made()
    X = X @ X.T if kernel == "precomputed" else X
    model = SafeSVC(0.3, kernel=kernel, gamma=0.3, warm_start=True, tol=1e-8)
    model.fit(X, y, np.arange(60) % 7 > 0)
    joblib.dump(model, tmp_path / "model")
    read = joblib.load(tmp_path / "model", mmap_mode="r")
    for again in (copy.deepcopy(model), read):
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
        again.fit(X, y, np.arange(60) % 7 > 0)  # from the solution
        assert np.all(again.n_iter_ <= 1)


def test_what_is_missing_of_svc_says_what_to_do():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    machine = SafeSVC(kernel="rbf").fit(X, y)
    assert not hasattr(machine, "predict_proba") and not hasattr(machine, "coef_")
    with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
        machine.predict_proba(X)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        machine.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="safescreen.path makes a path of solutions"):
        machine.path_  # noqa: B018
    with pytest.raises(AttributeError, match="attribute 'coefs_'$"):
        machine.coefs_  # noqa: B018
    assert hasattr(SafeSVC().fit(X, y), "coef_")
