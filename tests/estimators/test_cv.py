"""Estimators that choose their parameter: the choice of an exhaustive search, with less work."""

import pickle

import numpy as np
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from safescreen import HDSL, HDSLCV, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV
from safescreen.estimators import _features
from safescreen.estimators._cross_validation import Scores, Trial, choose
from safescreen.estimators._folds import Fold, is_best, may_win, search
from safescreen.terms import _kernel_matrices
from safescreen_book import datasets

CS = np.geomspace(1e-3, 1e2, 21)


def made(seed, n_classes=2, n=240):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "rbf", "gamma": 0.2}, {"smoothing": 0.5}, {"class_weight": {0: 1.0, 1: 3.0}}],
)
@pytest.mark.parametrize("seed", range(3))
def test_same_choice_as_the_exhaustive_search(seed, options):
    X, y = made(seed)
    plain, quick = (
        SafeSVCCV(SafeSVC(**options), CS, cv=4, refit=False, certify=certify).fit(X, y)
        for certify in (False, True)
    )
    assert (quick.C_, quick.best_score_) == (plain.C_, plain.best_score_)
    assert plain.n_solves_ == 4 * CS.size and not plain.certified_out_.any()
    low, high = quick.score_bounds_
    assert (low <= plain.scores_).all() and (plain.scores_ <= high).all()
    known = ~np.isnan(quick.scores_)
    np.testing.assert_array_equal(quick.scores_[known], plain.scores_[known])


def test_three_classes_and_weights():
    X, y = made(5, 3)
    weights = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    plain, quick = (
        SafeSVCCV(None, CS[::2], cv=3, refit=False, certify=certify).fit(X, y, weights)
        for certify in (False, True)
    )
    assert (quick.C_, quick.best_score_) == (plain.C_, plain.best_score_)
    assert (quick.score_bounds_[0] <= plain.scores_).all() and (
        plain.scores_ <= quick.score_bounds_[1]
    ).all()


def test_leaves_values_out():
    X, y = datasets.load("digits", return_X_y=True)
    X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))]
    model = SafeSVCCV(SafeSVC(kernel="rbf"), CS, refit=False).fit(X, y)
    assert model.certified_out_.sum() >= 3 and model.n_solves_ < 0.8 * 5 * CS.size
    lost = model.score_bounds_[1].mean(axis=0)[model.certified_out_]
    assert (lost <= model.best_score_).all() and not model.certified_out_[list(CS).index(model.C_)]


def test_bounds_hold_between_solutions_and_can_fail():
    X, y = made(1)
    model = SafeSVC(kernel="rbf", gamma=0.3, intercept="penalised")
    model.classes_ = np.unique(y)
    train, test = next(StratifiedKFold(3).split(X, y))
    fold, exact = Fold(model, X, y, None, train, test), Fold(model, X, y, None, train, test)
    values = np.geomspace(0.5, 20.0, 15)
    for C in (1.0, 2.0, 10.0):
        fold.solve(C)
    for C in values:
        exact.solve(C)
    bounds = np.array([fold.bounds(C) for C in values])
    truth = np.array([exact.score(C) for C in values])
    assert ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).all()
    assert np.ptp(bounds, axis=1).min() < 0.5
    assert np.ptp(fold.bounds(2.0)) == 0.0
    far = Fold(model, X, y, None, train, test)
    far.solve(0.02)
    bounds = np.array([far.bounds(C) for C in values])
    assert ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).all()
    far.validation._norms *= 0.0  # balls without a radius claim to know everything, and are wrong
    bounds = np.array([far.bounds(C) for C in values])
    assert not ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).all()


def searched(truth, undecided=()):
    """Return the scores of a search with bounds of 0.15 either side, and what was asked for;
    some scores stay undecided by 0.05.
    """
    scores, asked = Scores(1, truth.shape[1]), []

    def solve(wanted):
        for number in np.flatnonzero(wanted[0]).tolist():
            asked.append(number)
            room = 0.05 if number in undecided else 0.0
            scores.keep(
                0,
                number,
                Trial(truth[0, number], 0.0, 0.0, truth[0, number] - room, truth[0, number] + room),
            )
        return True

    search(
        np.arange(truth.shape[1]),
        scores,
        solve,
        lambda fold, i: (truth[fold, i] - 0.15, truth[fold, i] + 0.15),
        stride=4,
    )
    return scores, asked


def test_search_by_itself():
    scores, asked = searched(np.array([[0.1, 0.2, 0.5, 0.9, 0.9, 0.7, 0.3, 0.2, 0.1]]))
    assert (
        choose(scores.score) == (3, 0.9, None)
        and sorted(asked) == sorted(set(asked))
        and len(asked) < 9
    )
    assert set(asked) >= {3, 4} or not may_win(scores)[4]
    assert is_best(scores.low, scores.high, 3) and not is_best(scores.low, scores.high, 4)


def test_an_undecided_score_rules_nothing_out_by_itself():
    """The score of 3 is 0.9 as computed, and may be 0.85: 4, with 0.87, is looked at, and which
    is the best stays open.
    """
    truth = np.array([[0.1, 0.2, 0.5, 0.9, 0.87, 0.7, 0.3, 0.2, 0.1]])
    scores, asked = searched(truth, undecided=[3])
    assert choose(scores.score)[0] == 3 and 4 in asked and may_win(scores)[[3, 4]].all()
    assert (scores.low[0, 3], scores.high[0, 3]) == (0.9 - 0.05, 0.9 + 0.05) and not is_best(
        scores.low, scores.high, 3
    )


def integers_with_ties():
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, (40, 2)).astype(float)
    return (
        X,
        (X[:, 0] + rng.normal(0, 1, 40) > 0).astype(int),
        StratifiedKFold(4, shuffle=True, random_state=0),
    )


def test_ties_at_zero_are_broken_by_the_same_rule():
    X, y, cv = integers_with_ties()
    quick, plain = (
        SafeSVCCV(SafeSVC(), 25, cv=cv, refit=False, certify=certify).fit(X, y)
        for certify in (True, False)
    )
    assert (quick.C_, quick.best_score_) == (plain.C_, plain.best_score_)
    low, high = plain.score_bounds_
    assert (low < high).any() and ((low <= plain.scores_) & (plain.scores_ <= high)).all()
    known = ~np.isnan(quick.scores_)
    np.testing.assert_array_equal(quick.scores_[known], plain.scores_[known])


@pytest.mark.parametrize("scale", [1e-5, 1e-7, 1e-9])
def test_tiny_scales_are_decided_or_left_open(scale):
    """At 1e-5 a gap of 1e-9 leaves every sign open, one of 1e-13 decides; at 1e-9 nothing does,
    and bounds say so.
    """
    X = scale * np.random.default_rng(0).standard_normal((60, 2))
    y = X[:, 0] > 0
    model = SafeSVC(loss="squared_hinge", fit_intercept=False)
    search = SafeSVCCV(model, [0.01, 0.1, 1.0], refit=False).fit(X, y)
    low, high = search.score_bounds_
    for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        # up to a factor: every slack is 1, up to the square of the scale
        w = X[train].T @ np.where(y[train], 1.0, -1.0)
        exact = ((X[test] @ w > 0.0) == y[test]).mean()
        assert (low[fold] <= exact).all() and (exact <= high[fold]).all()
    if scale == 1e-5:
        np.testing.assert_allclose(search.scores_.mean(axis=0), [0.95, 0.95, 0.95])
        assert search.C_ == 0.01 and search.certified_
    if scale == 1e-9:
        assert (low < high).all() and not search.certified_


def test_rows_of_zeros_count_for_the_first_class():
    """Without an intercept f(0) = 0 for every w: a tie that no gap decides."""
    X = np.concatenate([np.array([[1.0], [2.0], [-1.0], [-2.0]] * 3), np.zeros((6, 1))])
    y = np.array([1, 1, 0, 0] * 3 + [0, 0, 1, 1, 1, 1])
    cv = [(np.arange(12), np.arange(12, 18))]
    search = SafeSVCCV(SafeSVC(fit_intercept=False), [0.1, 1.0], cv=cv, refit=False).fit(X, y)
    np.testing.assert_array_equal(search.scores_, [[2 / 6, 2 / 6]])
    assert (
        (search.score_bounds_[0] < search.score_bounds_[1]).all()
        and search.C_ == 0.1
        and not search.certified_
    )


@pytest.mark.parametrize(
    "search",
    [
        SafeSVCCV(Cs=[0.1, 1.0, 10.0], cv=3, certify=False, refit=False),
        SafeSVCCV(Cs=[0.1, 1.0, 10.0], cv=3, scoring="roc_auc", refit=False),
        TripletMetricCV(TripletMetric(k=2), lams=[100.0, 10.0, 1.0], cv=3, refit=False),
        HDSLCV(HDSL(max_iter=20), scales=[1.0, 5.0, 20.0], cv=3, refit=False),
    ],
    ids=["certain", "area", "metric", "similarity"],
)
@pytest.mark.slow
def test_results_are_those_of_a_grid_search(search):
    X, y = made(4)
    search = clone(search).fit(X, y)
    values = {"C": "Cs_", "lam": "lams_", "scale": "scales_"}[search.chosen]
    grid = GridSearchCV(
        search.prototype(), {search.chosen: getattr(search, values)}, cv=3, refit=False
    )
    expected = grid.fit(X, y).cv_results_
    assert set(search.cv_results_) == set(expected)
    assert search.cv_results_["params"] == [
        {search.chosen: value} for value in getattr(search, values)
    ]
    np.testing.assert_array_equal(
        search.cv_results_[f"param_{search.chosen}"], getattr(search, values)
    )
    for fold in range(3):
        np.testing.assert_array_equal(
            search.cv_results_[f"split{fold}_test_score"], search.scores_[fold]
        )
    mean = search.cv_results_["mean_test_score"]
    assert (
        mean[search.best_index_] == search.best_score_
        and search.cv_results_["rank_test_score"][search.best_index_] == 1
    )
    assert (
        search.best_params_ == {search.chosen: getattr(search, f"{search.chosen}_")}
        and search.n_splits_ == 3
    )
    assert (search.cv_results_["mean_fit_time"] > 0.0).all() and (
        search.cv_results_["std_score_time"] >= 0.0
    ).all()
    if search.chosen == "C" and search.scoring:
        assert np.isinf(search.score_bounds_).all() and not search.certified_


def test_results_of_what_was_left_out():
    X, y = made(0)
    search = SafeSVCCV(SafeSVC(smoothing=0.5), CS, cv=3, refit=False).fit(X, y)
    left_out = np.isnan(search.scores_).any(axis=0)
    assert left_out.any() and np.isnan(search.cv_results_["mean_test_score"][left_out]).all()
    ranks = search.cv_results_["rank_test_score"]
    assert (ranks[left_out] == (~left_out).sum() + 1).all() and ranks[search.best_index_] == 1


def test_is_the_grid_search_of_scikit_learn():
    X, y = made(2)
    grid = GridSearchCV(SafeSVC(tol=1e-9), {"C": CS[::4]}, cv=3).fit(X, y)
    model = SafeSVCCV(SafeSVC(tol=1e-9), CS[::4], cv=3, certify=False).fit(X, y)
    assert model.C_ == grid.best_params_["C"] and model.best_score_ == pytest.approx(
        grid.best_score_
    )
    np.testing.assert_allclose(model.scores_.mean(axis=0), grid.cv_results_["mean_test_score"])
    np.testing.assert_allclose(model.best_estimator_.coef_, grid.best_estimator_.coef_, atol=1e-4)
    area = SafeSVCCV(SafeSVC(tol=1e-9), CS[::4], cv=3, scoring="roc_auc").fit(X, y)
    other = GridSearchCV(SafeSVC(tol=1e-9), {"C": CS[::4]}, cv=3, scoring="roc_auc").fit(X, y)
    np.testing.assert_allclose(
        area.scores_.mean(axis=0), other.cv_results_["mean_test_score"], atol=1e-3
    )


def test_sparse_precomputed_groups_jobs_pickle():
    X, y = made(3)
    dense, csr = (SafeSVCCV(None, CS[::4], cv=3).fit(data, y) for data in (X, sparse.csr_array(X)))
    assert dense.C_ == csr.C_
    kernel = SafeSVCCV(SafeSVC(kernel="rbf", gamma=0.2), CS[::4], cv=3).fit(X, y)
    given = SafeSVCCV(SafeSVC(kernel="precomputed"), CS[::4], cv=3).fit(rbf_kernel(X, gamma=0.2), y)
    assert given.C_ == kernel.C_
    np.testing.assert_array_equal(given.scores_, kernel.scores_)
    groups = np.arange(y.size) % 4
    together = SafeSVCCV(None, CS[::4], cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert together.scores_.shape == (4, 6)
    with parallel_backend("threading"):
        assert (
            SafeSVCCV(None, CS[::4], cv=GroupKFold(4), n_jobs=2).fit(X, y, groups=groups).C_
            == together.C_
        )
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict(X), dense.predict(X))


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
        ({"Cs": [1.0, 0.1, 1.0]}, ValueError, "Cs must be strictly increasing"),
        ({"cv": StratifiedKFold(300)}, ValueError, "n_splits=300"),
        ({"cv": [(np.arange(3), np.arange(3, 9))]}, ValueError, "y must hold"),
    ],
)
def test_errors(options, error, text):
    X, y = made(0)
    order = np.argsort(y, kind="stable")
    with pytest.raises(error, match=text):
        SafeSVCCV(**{"cv": 3, **options}).fit(X[order], y[order])


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


# ------------------------------------------------------------------ TripletMetricCV


def test_metric_scores_are_those_of_single_fits():
    X, y = datasets.load("iris", return_X_y=True)
    lams, cv = np.array([100.0, 10.0, 1.0]), StratifiedKFold(3)
    model = TripletMetricCV(TripletMetric(k=3, tol=1e-7), lams, cv=cv).fit(X, y)
    for column, lam in enumerate(lams):
        expected = cross_val_score(TripletMetric(lam, k=3, tol=1e-7), X, y, cv=cv)
        np.testing.assert_allclose(model.scores_[:, column], expected)
    best = int(model.scores_.mean(axis=0).argmax())
    assert model.lam_ == lams[best] and len(model.best_estimator_.path_) == best + 1
    single = TripletMetric(model.lam_, k=3, tol=1e-7).fit(X, y)
    apart = model.best_estimator_.solution_.eps + single.solution_.eps
    assert apart < 0.1
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), single.get_mahalanobis_matrix(), rtol=0.0, atol=apart
    )
    assert model.get_feature_names_out()[0] == "tripletmetric0"


def test_metric_ratios_products_and_one_validation_set():
    X, y = datasets.load("iris", return_X_y=True)
    cv = ShuffleSplit(1, test_size=0.3, random_state=0)
    listed, products = (
        TripletMetricCV(TripletMetric(k=3, product=product, tol=1e-6), 4, cv=cv).fit(X, y)
        for product in (False, True)
    )
    assert listed.scores_.shape == (1, 4) and listed.lams_[-1] / listed.lams_[0] == pytest.approx(
        1e-4
    )
    np.testing.assert_array_equal(listed.scores_, products.scores_)
    assert listed.lam_ == pytest.approx(products.lam_)
    only = TripletMetricCV(
        TripletMetric(k=3), 4, cv=cv, refit=False, scoring="balanced_accuracy"
    ).fit(X, y)
    assert not hasattr(only, "best_estimator_") and only.lam_ in only.lams_
    with pytest.raises(ValueError, match="lams must be strictly decreasing"):
        TripletMetricCV(lams=[1.0, 2.0, 1.0], cv=cv).fit(X, y)
    with pytest.raises(TypeError, match="for one value use TripletMetric"):
        TripletMetricCV(lams=1.0, cv=cv).fit(X, y)


# ------------------------------------------------------------------ HDSLCV


def test_similarity_scores_are_those_of_single_fits():
    X, y = datasets.load("digits", return_X_y=True)
    X, y, weights = X[:150], y[:150], 1.0 + np.arange(150) % 2
    scales, cv = np.array([1.0, 20.0, 400.0]), StratifiedKFold(3)
    search = HDSLCV(HDSL(max_iter=60), scales, cv=cv).fit(sparse.csr_array(X), y, weights)
    for row, (train, test) in enumerate(cv.split(X, y)):
        fitted = [
            HDSL(scale, max_iter=60).fit(X[train], y[train], weights[train]) for scale in scales
        ]
        np.testing.assert_allclose(
            search.scores_[row], [model.score(X[test], y[test], weights[test]) for model in fitted]
        )
    assert (
        search.scale_
        == scales[search.scores_.mean(axis=0).argmax()]
        == search.best_estimator_.scale_
    )
    np.testing.assert_array_equal(
        search.predict(X), HDSL(search.scale_, max_iter=60).fit(X, y, weights).predict(X)
    )
    with parallel_backend("threading"):
        again = HDSLCV(HDSL(max_iter=60), scales, cv=cv, n_jobs=2).fit(X, y, weights)
    np.testing.assert_array_equal(again.scores_, search.scores_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).predict(X), search.predict(X))
    relative = HDSLCV(HDSL(max_iter=20), 3, cv=ShuffleSplit(1, random_state=0), refit=False).fit(
        X, y
    )
    np.testing.assert_allclose(
        relative.scales_ / HDSL(max_iter=1).fit(X, y).scale_, [1 / 30, 1.0, 30.0]
    )
    with pytest.raises(
        ValueError, match="scales must stand for at least 2 values, got 1: for one value use HDSL"
    ):
        HDSLCV(scales=1).fit(X, y)


def test_interrupted_search_of_a_scale():
    X, y = datasets.load("iris", return_X_y=True)
    calls = []

    def scorer(model, X, y):
        calls.append(model.scale_)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return -abs(model.scale_ - 2.0)

    with pytest.warns(
        RuntimeWarning,
        match="cross-validation interrupted: scale=2 is the best of 3 of 3 values in 1 of 3 folds",
    ):
        search = HDSLCV(HDSL(max_iter=20), [1.0, 2.0, 3.0], cv=3, scoring=scorer).fit(X, y)
    assert (
        search.scale_ == 2.0 and np.isnan(search.scores_[2]).all() and search.scores_[1, 0] == -1.0
    )


def in_two_moons(n=150):
    X, y = make_moons(n, noise=0.3, random_state=0)
    return X, y, [30.0, 0.3, 3.0], [1.0, 0.1, 10.0]


@pytest.mark.parametrize("whole", [4000, 50])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.slow
def test_pairs_of_C_and_gamma(intercept, kernel, whole, monkeypatch):
    """The choice, the scores and the tie of a grid search over SafeSVC, of all kernel values in
    memory and of rows on demand; bounds hold for the pairs that are left out. A free intercept may
    have several best values, and predictions that differ between them cannot be certified.
    """
    monkeypatch.setattr(_kernel_matrices, "WHOLE", whole)
    X, y, Cs, gammas = in_two_moons()
    model = SafeSVC(kernel=kernel, degree=2, intercept=intercept)
    search = SafeSVCCV(model, Cs=Cs, gammas=gammas, cv=3).fit(X, y)
    every = SafeSVCCV(model, Cs=Cs, gammas=gammas, cv=3, certify=False).fit(X, y)
    grid = {"C": np.sort(Cs), "gamma": np.sort(gammas)}
    plain = GridSearchCV(model.set_params(tol=1e-7), grid, cv=3).fit(X, y)
    for found in (search, every):
        assert found.best_params_ == plain.best_params_ == {"C": found.C_, "gamma": found.gamma_}
        assert found.best_index_ == plain.best_index_
        assert found.certified_ or intercept == "free"
        assert found.best_estimator_.gamma == found.gamma_
        assert found.scores_.shape == (3, 3, 3) == found.score_bounds_.shape[1:]
    scores = plain.cv_results_["mean_test_score"].reshape(3, 3)
    assert np.allclose(every.scores_.mean(axis=0), scores, rtol=0.0, atol=1e-12)
    low, high = search.score_bounds_
    assert (low <= every.scores_).all() and (every.scores_ <= high).all()
    out = search.certified_out_
    assert out.any() or intercept == "free"
    assert np.isnan(search.scores_[:, out]).any(axis=0).all()
    assert every.cv_results_["params"] == plain.cv_results_["params"]


def test_one_kernel_matrix_a_gamma(monkeypatch):
    made = []
    original = _features.kernel_matrix
    monkeypatch.setattr(
        _features, "kernel_matrix", lambda *args: made.append(args) or original(*args)
    )
    X, y, Cs, gammas = in_two_moons(60)
    model = SafeSVC(kernel="rbf")
    SafeSVCCV(model, Cs=Cs, gammas=gammas, cv=5, refit=False).fit(X, y)
    assert len(made) == 3


def test_pairs_by_another_score():
    X, y, Cs, gammas = in_two_moons()
    model = SafeSVC(kernel="rbf", tol=1e-6)
    options = {"cv": 3, "scoring": "f1"}
    search = SafeSVCCV(model, Cs=Cs, gammas=gammas, **options).fit(X, y)
    grid = {"C": np.sort(Cs), "gamma": np.sort(gammas)}
    plain = GridSearchCV(model, grid, **options).fit(X, y)
    assert np.allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.02
    )
    assert not search.certified_


def test_gammas_of_a_linear_machine():
    X, y, _, gammas = in_two_moons(20)
    with pytest.raises(ValueError, match="gammas are for the kernels 'rbf' and 'poly', got"):
        SafeSVCCV(gammas=gammas).fit(X, y)
