"""Ctrl-C in a cross-validation: what is finished counts, and is named; what is not does not."""

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.datasets import make_classification

from safescreen import SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV, paths
from safescreen.estimators import _training
from safescreen.estimators._cross_validation import choose
from safescreen.estimators._folds import Fold
from safescreen_book import datasets

pytestmark = pytest.mark.slow

CS = np.geomspace(1e-3, 1e2, 5)
LAMS = [100.0, 30.0, 10.0, 3.0]


def interrupt(monkeypatch, owner, name, number):
    """Press Ctrl-C in place of a call of this number."""
    whole, calls = getattr(owner, name), []

    def broken(*args, **options):
        calls.append(args)
        if len(calls) == number:
            raise KeyboardInterrupt
        return whole(*args, **options)

    monkeypatch.setattr(owner, name, broken)


@pytest.fixture(scope="module")
def points():
    return make_classification(
        150,
        5,
        n_informative=4,
        n_redundant=0,
        n_clusters_per_class=1,
        flip_y=0.1,
        class_sep=0.7,
        random_state=4,
    )


@pytest.fixture(scope="module")
def truth(points):
    return SafeSVCCV(None, CS, cv=3, certify=False, refit=False).fit(*points).scores_


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
@pytest.mark.parametrize(
    ("number", "folds", "values", "text"),
    [
        (13, [0, 1], range(5), "5 of 5 values in 2 of 3 folds"),
        (15, range(3), range(4), "4 of 5 values in 3 of 3 folds"),
        (6, [0], range(5), "5 of 5 values in 1 of 3 folds"),
    ],
)
def test_the_choice_is_that_of_the_finished_part(
    monkeypatch, points, scoring, number, folds, values, text
):
    X, y = points
    whole = SafeSVCCV(None, CS, cv=3, certify=False, scoring=scoring).fit(X, y)
    interrupt(monkeypatch, Fold, "solve", number)
    model = SafeSVCCV(None, CS, cv=3, certify=False, scoring=scoring)
    with pytest.warns(
        RuntimeWarning, match=f"cross-validation interrupted: C=.* is the best of {text}$"
    ):
        model.fit(X, y)
    done = np.arange(15).reshape(3, 5) < number - 1
    np.testing.assert_array_equal(model.scores_, np.where(done, whole.scores_, np.nan))
    mean = whole.scores_[np.ix_(folds, values)].mean(axis=0)
    assert (
        model.C_ == CS[values][mean.argmax()]
        and model.best_score_ == mean.max()
        and model.n_solves_ == number - 1
    )
    np.testing.assert_array_equal(model.best_estimator_.coef_, SafeSVC(model.C_).fit(X, y).coef_)
    assert not model.certified_out_.any()


def test_between_the_rounds_of_a_search(monkeypatch, points, truth):
    """After a first, coarse round: its values are compared; what is ruled out is so by proof,
    not because nobody looked.
    """
    X, y = points
    Cs = np.geomspace(1e-3, 1e2, 17)
    whole = SafeSVCCV(None, Cs, cv=3, certify=False, refit=False).fit(X, y).scores_.mean(axis=0)
    interrupt(monkeypatch, Fold, "solve", 3 * 5 + 2)
    with pytest.warns(RuntimeWarning, match=r"C=.* is the best of \d of 17 values in 3 of 3 folds"):
        model = SafeSVCCV(None, Cs, cv=3).fit(X, y)
    known = ~np.isnan(model.scores_).any(axis=0)
    assert (
        5 <= known.sum() < 17
        and model.n_solves_ == 16
        and model.C_ == Cs[np.where(known, whole, 0.0).argmax()]
    )
    assert (whole[model.certified_out_] <= model.best_score_).all() and not model.certified_out_[
        list(Cs).index(model.C_)
    ]
    assert not model.certified_out_[whole.argmax()] and model.predict(X).shape == y.shape
    low, high = model.score_bounds_.mean(axis=1)
    assert (low <= whole).all() and (whole <= high).all()


def test_a_rough_solution_is_no_score(monkeypatch, points):
    """Ctrl-C while a fold is solved further: its first solution may have another accuracy than
    the exact one.
    """
    interrupt(monkeypatch, Fold, "bounds", 3)
    model = SafeSVCCV(None, CS, cv=3, certify=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*points)
    assert (~np.isnan(model.scores_)).sum() == model.n_solves_ <= 2


def test_nothing_finished_is_passed_on(monkeypatch, points, truth):
    interrupt(monkeypatch, Fold, "solve", 4)
    model = SafeSVCCV(None, CS, cv=3, certify=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*points)
    np.testing.assert_array_equal(model.scores_[0, :3], truth[0, :3])
    assert np.isnan(model.scores_).sum() == 12 and not hasattr(model, "best_estimator_")


def test_in_the_last_fit(monkeypatch, points, truth):
    interrupt(monkeypatch, _training, "solve", 1)
    model = SafeSVCCV(None, CS, cv=3, certify=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*points)
    assert model.C_ == CS[truth.mean(axis=0).argmax()]
    np.testing.assert_array_equal(model.scores_, truth)


def test_in_a_score(points):
    X, y = points
    left = [9]

    def scoring(model, X, y):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return model.score(X, y)

    with pytest.warns(RuntimeWarning, match="5 of 5 values in 1 of 3 folds"):
        model = SafeSVCCV(None, CS, cv=3, scoring=scoring).fit(X, y)
    assert np.isnan(model.scores_).sum() == 15 - 8 and model.n_solves_ == 8


@pytest.mark.parametrize(
    "model",
    [
        SafeSVCCV(None, CS, cv=3, certify=False, refit=False, n_jobs=2),
        TripletMetricCV(TripletMetric(k=2), LAMS, cv=3, n_jobs=2),
    ],
)
def test_folds_worked_on_at_the_same_time(monkeypatch, points, model):
    """Which are finished is left to chance: they have the scores they have otherwise."""
    X, y = points
    whole = clone(model).fit(X, y).scores_
    if isinstance(model, SafeSVCCV):
        interrupt(monkeypatch, Fold, "solve", 9)
    else:
        interrupt(monkeypatch, paths._Walk, "step", 9)
    with parallel_backend("threading"):
        try:
            with pytest.warns(RuntimeWarning, match="cross-validation interrupted"):
                model.fit(X, y)
        except KeyboardInterrupt:
            pass
    known = ~np.isnan(model.scores_)
    assert not known.all()
    np.testing.assert_array_equal(model.scores_[known], whole[known])


# ------------------------------------------------------------------ TripletMetricCV


@pytest.mark.parametrize("where", ["path", "score"])
@pytest.mark.parametrize(
    ("number", "folds", "values", "text"),
    [
        (10, [0, 1], range(4), "4 of 4 values in 2 of 3 folds"),
        (12, range(3), range(3), "3 of 4 values in 3 of 3 folds"),
        (3, None, None, None),
    ],
)
def test_metric(monkeypatch, where, number, folds, values, text):
    X, y = datasets.load("iris", return_X_y=True)
    whole = TripletMetricCV(TripletMetric(k=2), LAMS, cv=3, refit=False).fit(X, y).scores_
    interrupt(
        monkeypatch,
        *((paths._Walk, "step") if where == "path" else (TripletMetric, "score")),
        number,
    )
    model = TripletMetricCV(TripletMetric(k=2), LAMS, cv=3)
    if folds is None:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with pytest.warns(RuntimeWarning) as seen:
            model.fit(X, y)
        mean = whole[np.ix_(folds, values)].mean(axis=0)
        best = int(mean.argmax())
        assert [str(w.message) for w in seen] == [
            f"cross-validation interrupted: lam={LAMS[best]:g} is the best of {text}"
        ]
        assert (
            model.lam_ == LAMS[best]
            and model.best_score_ == mean[best]
            and len(model.best_estimator_.path_) == best + 1
        )
        assert model.predict(X).shape == y.shape
    np.testing.assert_array_equal(
        model.scores_, np.where(np.arange(12).reshape(3, 4) < number - 1, whole, np.nan)
    )


def test_metric_in_the_last_path():
    X, y = datasets.load("iris", return_X_y=True)
    calls = []

    def callback(progress):
        calls.append(progress.solution)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="path interrupted: 2 of its solutions"):
        prototype = TripletMetric(k=2, callback=callback)
        model = TripletMetricCV(
            prototype, [30.0, 10.0, 1.0, 0.1], cv=2, scoring=lambda model, X, y: -model.lam_
        ).fit(X, y)
    assert model.scores_.tolist() == [[-30.0, -10.0, -1.0, -0.1]] * 2 and model.best_score_ == -0.1
    assert (
        model.lam_ == 10.0
        and len(model.best_estimator_.path_) == 2
        and model.predict(X).shape == y.shape
    )


def test_choice():
    nan = np.nan
    assert choose(np.array([[0.1, 0.2, nan], [0.3, 0.0, 0.9]]), False) == (
        0,
        0.2,
        "2 of 3 values in 2 of 2 folds",
    )
    assert choose(np.array([[0.1, nan, nan], [0.3, 0.0, 0.9]]), False) == (
        2,
        0.9,
        "3 of 3 values in 1 of 2 folds",
    )
    with pytest.raises(KeyboardInterrupt):
        choose(np.array([[0.1, nan], [nan, 0.3]]), False)
