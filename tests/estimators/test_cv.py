"""Searches along paths: the scores, the choice and the table of an exhaustive search, with less
work.
"""

import pickle
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from safescreen import HDSL, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV
from safescreen.estimators import safe_svc_cv
from safescreen.estimators._features import Features
from safescreen.kernels import checked
from safescreen_book import datasets

CS = np.geomspace(1e-3, 1e2, 6)
FINE = SafeSVC(tol=1e-9)
"""So that paths and single fits classify the same."""


def made(seed, n_classes=2, n=150):
    return make_classification(
        n,
        6,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.05,
        class_sep=0.8,
        random_state=seed,
    )


def exhaustive(search, **options):
    """Return the search of scikit-learn over the same grid."""
    grid = {"C": np.sort(search.Cs)}
    if search.gammas is not None:
        grid["gamma"] = np.sort(search.gammas)
    names = ("cv", "scoring", "refit", "error_score")
    given = {name: getattr(search, name) for name in names}
    return GridSearchCV(search._prototype(), grid, **{**given, **options})


def assert_same(search, grid):
    """Assert that two searches have the same table, and chose the same."""
    results, expected = search.cv_results_, grid.cv_results_
    assert set(results) == set(expected) and results["params"] == expected["params"]
    for name in results:
        if "_test_" in name:
            np.testing.assert_allclose(results[name], expected[name], atol=1e-12, err_msg=name)
        elif "_time" in name:
            assert (results[name] >= 0.0).all()
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_", "multimetric_"):
        assert hasattr(search, name) == hasattr(grid, name), name
        if hasattr(grid, name):
            assert getattr(search, name) == getattr(grid, name), name


def two_largest(results):
    """Return the number of the value with the second largest score."""
    return int(np.argsort(results["mean_test_score"])[-2])


SEVERAL = ["accuracy", "balanced_accuracy", "roc_auc"]


def both(model, X, y):
    return {"right": model.score(X, y), "wrong": 1.0 - model.score(X, y)}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "accuracy"},
        {"scoring": "roc_auc"},
        {"scoring": make_scorer(accuracy_score), "cv": StratifiedKFold(4)},
        {"scoring": SEVERAL, "refit": "balanced_accuracy"},
        {"scoring": SEVERAL, "refit": False},
        {"scoring": {"a": "f1", "b": "accuracy"}, "refit": "a"},
        {"scoring": both, "refit": "right"},
        {"refit": two_largest},
        {"refit": lambda results: 0},
        {"refit": False},
        {"cv": [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]},
    ],
)
def test_table_and_choice_are_those_of_a_grid_search(options):
    X, y = made(4)
    search = SafeSVCCV(FINE, CS, **{"cv": 3, **options}).fit(X, y)
    assert_same(search, exhaustive(search).fit(X, y))
    if search.refit and not callable(search.refit):
        assert search.C_ == search.best_estimator_.C == search.best_params_["C"]
    if "scoring" in options and options["scoring"] != "accuracy":
        assert np.isinf(search.score_bounds_).all() and not search.certified_
    else:
        low, high = search.score_bounds_
        assert (low <= search.scores_).all() and (search.scores_ <= high).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n_classes"),
    [
        ({"kernel": "rbf", "gamma": 0.2}, 3),
        ({"kernel": "rbf"}, 2),
        ({"kernel": "poly", "degree": 2, "intercept": "penalised"}, 3),
        ({"smoothing": 0.5, "intercept": "free"}, 2),
        ({"class_weight": "balanced"}, 3),
        ({"loss": "squared_hinge", "fit_intercept": False}, 2),
    ],
    ids=str,
)
def test_so_it_is_for_every_machine(options, n_classes):
    X, y = made(5, n_classes)
    weights = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    for given in (None, weights):
        search = SafeSVCCV(SafeSVC(tol=1e-8, **options), CS, cv=3).fit(X, y, given)
        grid = exhaustive(search).fit(X, y, sample_weight=given)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=0.01
        )
        low, high = search.score_bounds_
        assert (low <= search.scores_ + 1e-12).all() and (search.scores_ <= high + 1e-12).all()
        assert np.mean(high - low) < 0.2  # it proves something


def test_a_smaller_tol_proves_more():
    X, y = made(1)
    widths = []
    for tol in (1e-2, 1e-4, 1e-8):
        search = SafeSVCCV(SafeSVC(tol=tol), CS, cv=3, refit=False).fit(X, y)
        widths.append(np.diff(search.score_bounds_, axis=0).mean())
    assert widths[0] > widths[1] > widths[2] and search.certified_


@pytest.mark.slow
def test_equal_means_are_no_proof():
    """Two values with 7 and 7, and with 8 and 6 of 13 points right in two folds: the first is the
    best, whatever the roundings of the means say.
    """
    X, y = datasets.load("iris", return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:65]
    certified = 0
    for seed in range(4):
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        search = SafeSVCCV(SafeSVC(tol=1e-9), 21, cv=cv, refit=False).fit(X[rows], y[rows])
        right = np.rint(search.scores_ * 13.0).sum(axis=0)  # folds of 13
        if search.certified_:
            certified += 1
            assert search.best_index_ == right.argmax()
    assert certified


# ------------------------------------------------------------------ C and gamma


def in_two_moons(n=120):
    X, y = make_moons(n, noise=0.3, random_state=0)
    return X, y, [30.0, 0.3, 3.0], [1.0, 0.1, 10.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("intercept", "kernel", "whole"),
    [
        ("penalised", "rbf", 4000),
        ("penalised", "poly", 50),
        ("free", "rbf", 50),
        ("free", "poly", 4000),
    ],
)
def test_pairs_of_C_and_gamma(intercept, kernel, whole, monkeypatch):
    """Of all kernel values in memory, and of rows on demand."""
    monkeypatch.setattr(checked, "WHOLE", whole)
    monkeypatch.setattr(safe_svc_cv, "WHOLE_FOR_FOLDS", whole)
    X, y, Cs, gammas = in_two_moons()
    model = SafeSVC(kernel=kernel, degree=2, intercept=intercept, tol=1e-8)
    search = SafeSVCCV(model, Cs=Cs, gammas=gammas, cv=3).fit(X, y)
    assert_same(search, exhaustive(search).fit(X, y))
    assert search.best_params_ == {"C": search.C_, "gamma": search.gamma_}
    assert search.best_estimator_.gamma == search.gamma_
    assert search.scores_.shape == (3, 3, 3) == search.score_bounds_.shape[1:]
    low, high = search.score_bounds_
    assert (low <= search.scores_).all() and (search.scores_ <= high).all()
    assert (low == high).mean() > 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_kernel_matrix_at_a_time_is_in_memory(n_classes, monkeypatch):
    """That of one gamma is gone before that of the next is made."""
    X, y = made(0, n_classes)
    matrices = []
    of = Features.of.__func__

    def recorded(cls, *args):
        assert all(matrix() is None for matrix in matrices)
        features = of(cls, *args)
        matrices.append(weakref.ref(features.data))
        return features

    monkeypatch.setattr(Features, "of", classmethod(recorded))
    SafeSVCCV(SafeSVC(kernel="rbf"), [0.1, 1.0], gammas=[0.1, 0.2, 0.4], cv=3).fit(X, y)
    assert len(matrices) == 4  # with the last fit


def test_memory_does_not_grow_with_the_number_of_values():
    """Of all values, the solutions for two are in memory."""
    X, y = made(0, 3, n=60)
    rng = np.random.default_rng(0)
    X = sparse.hstack([X, sparse.random(60, 20_000, 0.02, random_state=rng)], format="csr")
    peaks = []
    for n_values in (6, 6, 18):  # the first one compiles
        tracemalloc.start()
        SafeSVCCV(SafeSVC(), n_values, cv=2, intervals=2).fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]


def test_gammas_of_a_linear_machine():
    X, y, _, gammas = in_two_moons(20)
    with pytest.raises(ValueError, match="gammas are for the kernels 'rbf' and 'poly', got"):
        SafeSVCCV(gammas=gammas).fit(X, y)


@pytest.mark.parametrize(
    ("gammas", "error", "text"),
    [
        ([0.1, 1.0, 0.1], ValueError, "gammas must hold each value once, holds 0.1 twice"),
        (["scale", 0.1], TypeError, r"found a name: .* write 1 / \(X.shape\[1\] \* X.var\(\)\)"),
        ("auto", TypeError, r"found a name: .* for 'auto' 1 / X.shape\[1\]"),
        ({"gamma": [0.1]}, TypeError, r"got dict: write gammas=\[...\]"),
        ([0.1, None], TypeError, "gammas must hold real numbers"),
    ],
)
def test_gammas_that_are_refused(gammas, error, text):
    X, y = made(0)
    with pytest.raises(error, match=text):
        SafeSVCCV(SafeSVC(kernel="rbf"), gammas=gammas).fit(X, y)


# ------------------------------------------------------------------ data of all kinds


def test_sparse_precomputed_groups_jobs_pickle():
    X, y = made(3)
    dense, csr = (SafeSVCCV(FINE, CS, cv=3).fit(data, y) for data in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.scores_, csr.scores_)
    kernel = SafeSVCCV(SafeSVC(kernel="rbf", gamma=0.2, tol=1e-8), CS, cv=3).fit(X, y)
    given = SafeSVCCV(SafeSVC(kernel="precomputed", tol=1e-8), CS, cv=3)
    given.fit(rbf_kernel(X, gamma=0.2), y)
    assert given.C_ == kernel.C_
    np.testing.assert_array_equal(given.scores_, kernel.scores_)
    groups = np.arange(y.size) % 4
    together = SafeSVCCV(FINE, CS, cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert together.scores_.shape == (4, 6)
    with parallel_backend("threading"):
        again = SafeSVCCV(FINE, CS, cv=GroupKFold(4), n_jobs=2).fit(X, y, groups=groups)
    np.testing.assert_array_equal(again.scores_, together.scores_)
    np.testing.assert_array_equal(again.score_bounds_, together.score_bounds_)
    copied = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(copied.predict(X), dense.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_that_a_fold_holds_twice_count_twice(kernel):
    X, y = made(2, 2 if kernel == "linear" else 3)
    train = np.concatenate([np.arange(100), np.arange(50)])
    test = np.concatenate([np.arange(100, 150), np.arange(120, 130)])
    model = clone(FINE).set_params(kernel=kernel)
    search = SafeSVCCV(model, CS, cv=[(train, test)], refit=False).fit(X, y)
    assert_same(search, exhaustive(search).fit(X, y))
    low, high = search.score_bounds_
    assert (low <= search.scores_).all() and (search.scores_ <= high).all()


def test_a_class_may_be_missing_in_a_fold():
    """One row of a class: it is missing where it is held out, and never predicted there."""
    X, y = made(3)
    y = y.astype(int)
    y[7] = 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for model in (FINE, SafeSVC(kernel="rbf", tol=1e-8)):
            search = SafeSVCCV(model, CS, cv=3).fit(X, y)
            assert_same(search, exhaustive(search).fit(X, y))
            low, high = search.score_bounds_
            assert (low <= search.scores_).all() and (search.scores_ <= high).all()
            assert search.classes_.tolist() == [0, 1, 2]


def test_one_class_in_a_fold_is_a_fit_that_failed():
    X, y = made(3)
    cv = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1)), (np.arange(100), np.arange(100, 150))]
    with pytest.warns(FitFailedWarning, match="6 fits failed out of a total of 12"):
        search = SafeSVCCV(FINE, CS, cv=cv, error_score=0.0).fit(X, y)
    assert (search.scores_[0] == 0.0).all() and (search.scores_[1] > 0.0).all()
    assert np.isinf(search.score_bounds_[:, 0]).all() and not search.certified_
    with pytest.raises(ValueError, match="at least two classes"):
        SafeSVCCV(FINE, CS, cv=cv, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="All the 6 fits failed"):
        SafeSVCCV(FINE, CS, cv=cv[:1]).fit(X, y)


def test_in_a_pipeline():
    X, y = datasets.load("wine", return_X_y=True)
    assert (
        cross_val_score(make_pipeline(MinMaxScaler(), SafeSVCCV(Cs=4, cv=3)), X, y, cv=2).mean()
        > 0.9
    )
    model = make_pipeline(MinMaxScaler(), TripletMetricCV(TripletMetric(k=2), 4, cv=3)).fit(X, y)
    assert model.score(X, y) > 0.95 and model[:-1].transform(X).shape == X.shape


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"Cs": 1}, ValueError, "Cs must stand for at least 2 values, got 1"),
        ({"Cs": 0.5}, TypeError, "for one value use SafeSVC"),
        ({"Cs": [1.0, 0.1, 1.0]}, ValueError, "Cs must hold each value once, holds 1 twice"),
        ({"Cs": {"C": [1.0, 0.1]}}, TypeError, r"got dict: write Cs=\[...\]"),
        ({"cv": StratifiedKFold(300)}, ValueError, "n_splits=300"),
        ({"cv": []}, ValueError, "cv must make at least one split, got none"),
        ({"cv": [([0, 1, 200], [3])]}, ValueError, "cv must hold numbers of the 150 rows: .*200"),
        ({"cv": [([0, 1], [-151])]}, ValueError, "cv must hold numbers of the 150 rows: .*-151"),
        ({"scoring": ["f1", "accuracy"]}, ValueError, "refit must be set to a scorer key"),
        ({"refit": lambda results: 99}, IndexError, "best_index_ index out of range"),
    ],
)
def test_errors(options, error, text):
    X, y = made(0)
    search = SafeSVCCV(**{"cv": 3, "Cs": [0.1, 1.0], **options})
    with pytest.raises(error, match=text):
        search.fit(X, y)
    assert not [name for name in vars(search) if name.endswith("_")]


def test_holds_a_prototype():
    X, y = made(0)
    model = SafeSVCCV(Cs=[0.1, 1.0], cv=3).set_params(estimator__kernel="rbf", estimator__gamma=0.2)
    assert (
        model.get_params()["estimator__kernel"] == "rbf"
        and clone(model).estimator is not model.estimator
    )
    assert hasattr(model, "decision_function") and not hasattr(model, "transform")
    with pytest.raises(NotFittedError):
        model.predict(X)
    best = model.fit(X, y).best_estimator_
    assert (
        best.kernel == "rbf"
        and best.C == model.C_ == best.C_
        and not hasattr(model.estimator, "classes_")
    )
    np.testing.assert_array_equal(model.decision_function(X), best.decision_function(X))
    np.testing.assert_array_equal(model.classes_, best.classes_)
    grid = GridSearchCV(
        SafeSVCCV(Cs=[0.1, 1.0], cv=2), {"estimator__smoothing": [0.1, 1.0]}, cv=2
    ).fit(X, y)
    assert grid.best_params_["estimator__smoothing"] in (0.1, 1.0)
    unfitted = SafeSVCCV(Cs=[0.1, 1.0], cv=3, refit=False).fit(X, y)
    assert unfitted.C_ in unfitted.Cs_ and not hasattr(unfitted, "predict")
    with pytest.raises(
        TypeError, match="estimator must be a SafeSVC or None, got list: give values of C as Cs"
    ):
        SafeSVCCV([0.1, 1.0]).fit(X, y)
    pipeline = make_pipeline(MinMaxScaler(), SafeSVC())
    with pytest.raises(TypeError, match="got Pipeline: for a pipeline write GridSearchCV") as error:
        SafeSVCCV(pipeline).fit(X, y)
    known = {"GridSearchCV": GridSearchCV, "pipeline": pipeline}
    code = str(error.value).partition(" write ")[2].replace("...", "[0.1, 1.0]")
    assert eval(code, known).fit(X, y).best_params_["safesvc__C"] in (0.1, 1.0)


def test_an_error_leaves_the_search_of_before():
    X, y = made(0)
    search = SafeSVCCV(Cs=[0.1, 1.0], cv=3).fit(X, y)
    before = dict(vars(search))
    with pytest.raises(ValueError, match="one class"):
        search.fit(X[:, :3], np.ones(y.size))
    assert vars(search) == before
    refit = search.fit(X[:, :3], np.where(y, "a", "b"))
    assert refit.n_features_in_ == 3 and refit.classes_.tolist() == ["a", "b"]


def test_the_time_of_a_prototype_is_that_of_a_fit():
    """Its `max_seconds` ends each solve, and no path."""
    X, y = made(0)
    search = SafeSVCCV(SafeSVC(max_seconds=1e-9, tol=1e-12), CS, cv=3)
    with pytest.warns(match="max_seconds=1e-09 is reached"):
        search.fit(X, y)
    assert np.isfinite(search.scores_).all()


# ------------------------------------------------------------------ TripletMetricCV


@pytest.mark.parametrize("options", [{}, {"scoring": SEVERAL[:2], "refit": "accuracy"}], ids=str)
def test_metric_scores_are_those_of_single_fits(options):
    X, y = datasets.load("iris", return_X_y=True)
    lams, cv = np.array([100.0, 10.0, 1.0]), StratifiedKFold(3)
    prototype = TripletMetric(k=3, tol=1e-7)
    model = TripletMetricCV(prototype, lams, cv=cv, **options).fit(X, y)
    assert_same(model, GridSearchCV(prototype, {"lam": lams}, cv=cv, **options).fit(X, y))
    best = int(model.scores_.mean(axis=0).argmax())
    assert model.lam_ == lams[best] and len(model.best_estimator_.path_) == best + 1
    single = TripletMetric(model.lam_, k=3, tol=1e-7).fit(X, y)
    apart = model.best_estimator_.solution_.eps + single.solution_.eps
    assert apart < 0.1
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), single.get_mahalanobis_matrix(), rtol=0.0, atol=apart
    )
    assert model.get_feature_names_out()[0] == "tripletmetric0"


def test_a_grid_search_chooses_the_scale_of_a_similarity():
    X, y = datasets.load("digits", return_X_y=True)
    search = GridSearchCV(HDSL(max_iter=40), {"scale": [1.0, 20.0, 400.0]}, cv=3)
    assert search.fit(X[:150], y[:150]).best_score_ > 0.7
