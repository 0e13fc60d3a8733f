"""The estimators keep scikit-learn's contract and give what the library gives."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import safescreen as ss
from safescreen import HDSL, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV
from safescreen_book import datasets

NEIGHBOURS = (
    "a repeated point is a neighbour of itself, so repetition changes the triplets and the k "
    "nearest; a weight does not"
)
EXEMPT = {
    f"check_sample_weight_equivalence_on_{kind}_data": NEIGHBOURS for kind in ("dense", "sparse")
}
FINE = {"tol": 1e-14}  # two of the checks compare seven digits of decision values
METRICS = (TripletMetric, TripletMetricCV, HDSL)
CHECKED = [
    SafeSVC(**FINE),
    # "scale" is a variance without weights, as in SVC; a free intercept is as exact as the gap
    # promises, 1e-7 at 1e-14, where a penalised one happens to be more exact
    SafeSVC(kernel="rbf", gamma=0.2, smoothing=0.1, intercept="penalised", **FINE),
    SafeSVCCV(SafeSVC(**FINE), [0.1, 1.0], cv=2),
    TripletMetric(),
    TripletMetricCV(TripletMetric(k=2, tol=0.1, max_iter=40), 2, cv=2),
    HDSL(max_iter=20),
]


@pytest.mark.slow
@parametrize_with_checks(
    CHECKED,
    expected_failed_checks=lambda estimator: EXEMPT if isinstance(estimator, METRICS) else {},
)
@pytest.mark.filterwarnings(
    "ignore::safescreen.ConvergenceWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)
@pytest.mark.filterwarnings("ignore:k=:UserWarning", "ignore:The least populated class:UserWarning")
def test_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y


@pytest.mark.parametrize(
    "estimator", [SafeSVC(C=0.1), TripletMetric(k=3), HDSL(10.0, max_iter=100)]
)
def test_in_a_pipeline(wine, estimator):
    X, y = wine
    model = make_pipeline(StandardScaler(), MinMaxScaler(), clone(estimator))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_data_frames_and_names(wine):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X / X.max()
    names = np.array(["red", "rose", "white"])[y]
    for model in (SafeSVC(C=1e-1), TripletMetric(k=2), HDSL(max_iter=20)):
        model.fit(X, names)
        assert list(model.feature_names_in_) == list(X.columns)
        assert set(model.predict(X)) <= {"red", "rose", "white"}
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(X.rename(columns={"alcohol": "water"}))
    metric = TripletMetric(k=2).set_output(transform="pandas").fit(X, names)
    assert isinstance(metric.transform(X), pd.DataFrame)


# ------------------------------------------------------------------ SafeSVC


def two_classes():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    return X, y


def test_svc_is_the_problem_of_the_library():
    X, y = two_classes()
    for smoothing in (0.0, 0.2):
        options = {"C": 0.3, "intercept_scaling": 2.0, "screening": ("MGB",), "tol": 1e-6}
        options["keep_problem"] = True
        model = SafeSVC(smoothing=smoothing, **options).fit(X, y)
        signs = np.where(y == model.classes_[1], 1.0, -1.0)
        terms = ss.Samples(np.hstack([X, np.full((len(X), 1), 2.0)]), signs)
        prob = ss.Problem(terms, ss.SmoothedHinge(smoothing))
        w = np.append(model.coef_[0], model.intercept_[0] / 2.0)
        assert prob.gap(w, 1 / 0.3, model.solutions_[0].alpha) <= 1.01e-6 * prob.primal(w, 1 / 0.3)
        np.testing.assert_allclose(
            model.decision_function(X), X @ model.coef_[0] + model.intercept_[0]
        )
        rebuilt = np.zeros(len(X))
        rebuilt[model.support_] = model.dual_coef_[0]
        assert model.screening_[0].rate > 0.3
        assert model.dual_gap_ == model.solutions_[0].gap
        assert model.relative_gap_ == model.dual_gap_ / model.solutions_[0].primal
        assert np.abs(rebuilt).max() <= 0.3 * (1 + 1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_svc_kernels_agree_with_the_expansion(kernel):
    X, y = two_classes()
    model = SafeSVC(C=0.5, kernel=kernel, gamma=0.05, degree=2).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
    if kernel == "linear":
        other = SafeSVC(C=0.5, kernel="precomputed", intercept="penalised")
        other.fit(X[::2] @ X[::2].T, y[::2])
        np.testing.assert_allclose(
            other.decision_function(X[1::2] @ X[::2].T), model.decision_function(X[1::2]), atol=5e-3
        )
    if kernel == "rbf":
        model.set_params(tol=1e-10).fit(X[::2], y[::2])
        other = SafeSVC(C=0.5, kernel="precomputed", tol=1e-10)
        other.fit(rbf_kernel(X[::2], gamma=0.05), y[::2])
        np.testing.assert_allclose(
            other.decision_function(rbf_kernel(X[1::2], X[::2], gamma=0.05)),
            model.decision_function(X[1::2]),
            atol=1e-6,
        )


def test_svc_sparse_warm_start_callback():
    X, y = two_classes()
    dense, csr = SafeSVC(C=0.1).fit(X, y), SafeSVC(C=0.1).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-3)
    seen = []
    SafeSVC(C=0.1, callback=lambda progress: seen.append(progress.gap)).fit(X, y)
    assert 0.0 <= seen[-1] <= seen[0]
    model = SafeSVC(C=0.1, warm_start=True, smoothing=0.1).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"C": 0.0}, "C must be"),
        (
            {"kernel": "sigmoid"},
            "kernel must be one of linear, rbf, poly, polynomial, precomputed, got 'sigmoid'",
        ),
        (
            {"kernel": "rbf", "gamma": "size"},
            "gamma must be a positive number, 'scale' or 'auto', got 'size'",
        ),
        ({"tol": -1.0}, "tol must"),
        ({"screening": ("XYZ",)}, "unknown sphere 'XYZ'"),
        ({"method": "simplex"}, "method must be"),
    ],
)
def test_svc_errors(options, text):
    X, y = two_classes()
    with pytest.raises(ValueError, match=text):
        SafeSVC(**options).fit(X[:50], y[:50])


# ------------------------------------------------------------------ TripletMetric


def test_metric_is_the_problem_of_the_library():
    X, y = datasets.load("iris", return_X_y=True)
    model = TripletMetric(k=4, lam=50.0).fit(X, y)
    prob = ss.Problem(ss.Triplets.from_labels(X, y, k=4), ss.SmoothedHinge(0.05))
    M = model.get_mahalanobis_matrix()
    assert prob.gap(M, 50.0) <= 1.1e-4 * prob.primal(M, 50.0)
    pairs = np.stack([X[:10], X[10:20]], axis=1)
    u = pairs[:, 0] - pairs[:, 1]
    np.testing.assert_allclose(
        model.pair_distance(pairs), np.sqrt(np.einsum("ij,jk,ik->i", u, M, u))
    )
    np.testing.assert_allclose(
        model.pair_distance(pairs),
        np.linalg.norm(model.transform(X[:10]) - model.transform(X[10:20]), axis=1),
    )
    assert model.get_feature_names_out().size == len(model.components_)


@pytest.mark.slow
def test_metric_ways_to_the_same_optimum():
    X, y = datasets.load("iris", return_X_y=True)
    full = TripletMetric(k=4, tol=1e-8).fit(X, y)
    for other in (
        TripletMetric(k=4, tol=1e-8, product=True),
        TripletMetric(k=4, tol=1e-8, with_path=True),
        TripletMetric(k=4, tol=1e-8, active_set=True),
    ):
        other.fit(X, y)
        assert other.lam_ == pytest.approx(full.lam_)
        np.testing.assert_allclose(
            other.get_mahalanobis_matrix(), full.get_mahalanobis_matrix(), atol=1e-3
        )
    triplets = ss.Triplets.from_labels(X, y, k=4).index
    given = TripletMetric(tol=1e-8).fit_triplets(X, triplets)
    np.testing.assert_allclose(
        given.get_mahalanobis_matrix(), full.get_mahalanobis_matrix(), atol=1e-6
    )
    with pytest.raises(AttributeError, match="no classes|not fitted with labels"):
        given.predict(X)


def test_metric_diagonal_weights_and_path():
    X, y = datasets.load("wine", return_X_y=True)
    diagonal = TripletMetric(k=3, diagonal=True).fit(X, y)
    M = diagonal.get_mahalanobis_matrix()
    assert np.count_nonzero(M - np.diag(np.diag(M))) == 0
    model = TripletMetric(k=3, with_path=True, path_ratio=0.5, screening=("RRPB", "PGB")).fit(X, y)
    assert model.path_.lams[-1] == model.lam_ and len(model.path_) > 3
    assert model.screening_.rate > 0.3
    some = np.arange(len(X)) % 3 > 0
    dropped = TripletMetric(k=3, lam=10.0).fit(X, y, sample_weight=some.astype(float))
    alone = TripletMetric(k=3, lam=10.0).fit(X[some], y[some])
    np.testing.assert_allclose(dropped.components_, alone.components_)
    with pytest.raises(ValueError, match="product=True takes no sample_weight"):
        TripletMetric(product=True).fit(X, y, sample_weight=1.0 + some)


# ------------------------------------------------------------------ HDSL


def test_hdsl_is_its_similarity():
    X, y = datasets.load("digits", return_X_y=True)
    X, y = X[:300] + 1.0, y[:300]
    model = HDSL(5.0, max_iter=200, random_state=1).fit(sparse.csr_array(X), y)
    M = model.get_mahalanobis_matrix().toarray()
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ M @ X.T, rtol=1e-9, atol=1e-9)
    assert model.features_.size <= 2 * len(model.components_.toarray())
    assert model.dual_gap_ >= 0.0
    pairs = np.stack([X[:5], X[5:10]], axis=1)
    np.testing.assert_allclose(model.pair_distance(pairs), np.linalg.norm(Z[:5] - Z[5:10], axis=1))


def test_hdsl_stops_early_and_calls_back():
    X, y = datasets.load("digits", return_X_y=True)
    seen = []
    options = {"max_iter": 2000, "check_every": 20, "patience": 3, "callback": seen.append}
    model = HDSL(50.0, early_stopping=True, **options).fit(X[:300], y[:300])
    assert model.n_iter_ < 2000 and len(seen) >= 4
    assert model.score(X[300:600], y[300:600]) > 0.8
    with pytest.raises(ValueError, match="triplets must be 'nearest' or 'random', got 'all'"):
        HDSL(triplets="all").fit(X[:50], y[:50])


def pickled(model, version):
    """Return the pickle of a model, as another version of the library would have written it."""
    state = model.__getstate__()
    assert state.pop("_safescreen_version") == ss.__version__
    if version is not None:
        state["_safescreen_version"] = version
    return pickle.dumps(Pickled(type(model), state))


class Pickled:
    """What is read as an estimator of this class with this state."""

    def __init__(self, kind, state):
        self.kind = kind
        self.state = state

    def __reduce__(self):
        return self.kind, (), self.state


ESTIMATORS = (
    ss.SafeSVC,
    ss.SafeSVCCV,
    ss.TripletMetric,
    ss.TripletMetricCV,
    ss.HDSL,
    ss.TripletLearner,
    ss.QuadrupletLearner,
    ss.PairLearner,
)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_pickle_of_another_version_is_told(kind):
    """If it is of a fitted estimator."""
    model = kind()
    for version in (None, "0.3.0", "99.0"):
        pickle.loads(pickled(model, version))  # warnings are errors
    model.classes_ = np.arange(2)  # as a fit does
    assert pickle.loads(pickle.dumps(model)).classes_.tolist() == [0, 1]
    assert vars(copy.copy(model)).keys() == vars(model).keys()
    for version, said in ((None, "0.4.0 or older"), ("0.3.0", "0.3.0"), ("99.0", "99.0")):
        told = f"^this {kind.__name__} was pickled by safescreen {said}, and this is .*fit it again"
        with pytest.warns(UserWarning, match=told):
            assert pickle.loads(pickled(model, version)).classes_.tolist() == [0, 1]


def test_a_pickle_of_a_form_that_is_gone_is_refused():
    old = b"csafescreen.estimators.safe_svc\n_Packed\n."
    with pytest.raises(ValueError, match="pickled by safescreen 0.3 cannot be read: fit it again"):
        pickle.loads(old)
