"""Ctrl-C in a cross-validation: what is finished counts, and is named; what is not does not."""

import threading

import numpy as np
import pytest
from joblib import delayed
from sklearn.base import clone
from sklearn.datasets import make_classification

from safescreen import SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV, paths
from safescreen._threads import stop_if_asked
from safescreen.estimators import _training
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
    whole = SafeSVCCV(None, CS, cv=3, scoring=scoring).fit(X, y)
    interrupt(monkeypatch, paths._Walk, "step", number)
    model = SafeSVCCV(None, CS, cv=3, scoring=scoring)
    with pytest.warns(
        RuntimeWarning, match=f"cross-validation interrupted: C=.* is the best of {text}$"
    ):
        model.fit(X, y)
    done = np.arange(15).reshape(3, 5) < number - 1
    expected = np.where(done, whole.scores_, np.nan)[list(folds)]
    np.testing.assert_array_equal(model.scores_, expected)
    assert model.n_splits_ == len(folds)
    mean = whole.scores_[np.ix_(folds, values)].mean(axis=0)
    assert model.C_ == CS[values][mean.argmax()] and model.best_score_ == mean.max()
    np.testing.assert_array_equal(model.best_estimator_.coef_, SafeSVC(model.C_).fit(X, y).coef_)


def test_a_search_over_gammas_says_how_many_it_tried(monkeypatch, points):
    interrupt(monkeypatch, paths._Walk, "step", 20)
    search = SafeSVCCV(SafeSVC(kernel="rbf"), CS, gammas=[0.1, 1.0, 10.0], cv=3)
    with pytest.warns(RuntimeWarning) as seen:
        search.fit(*points)
    text = "5 of 15 values (5 of 5 C, 1 of 3 gamma) in 3 of 3 folds"
    assert [str(w.message).split(" is the best of ")[1] for w in seen] == [text]
    assert seen[0].filename == __file__ and search.gamma_ == 0.1


@pytest.mark.parametrize("where", ["folds", "refit"])
def test_nothing_usable_leaves_the_search_of_before(monkeypatch, points, where):
    """Neither a value in all folds nor a fold with all values; or all of them, and no last fit."""
    search = SafeSVCCV(None, CS, cv=3).fit(*points)
    before = dict(vars(search))
    unfitted = clone(search)
    owner, name, number = {
        "folds": (paths._Walk, "step", 4),
        "refit": (_training, "solve", 1),
    }[where]
    for model in (search, unfitted):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            interrupt(patch, owner, name, number)
            model.fit(*points)
    assert vars(search) == before
    assert not [name for name in vars(unfitted) if name.endswith("_")]


def test_threads_end_with_the_main_thread():
    """Of two threads one gets Ctrl-C; the other ends where it next asks whether to go on."""
    started, ended = threading.Event(), threading.Event()

    def long():
        started.set()
        try:
            while True:
                stop_if_asked()
        finally:
            ended.set()

    def short():
        started.wait()
        return None, False

    stop_if_asked()
    tasks = (delayed(work)() for work in (short, long))
    assert not _training.collect(tasks, lambda number, found: None, 2)
    assert ended.wait(10.0)


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
        expected = np.where(np.arange(12).reshape(3, 4) < number - 1, whole, np.nan)
        np.testing.assert_array_equal(model.scores_, expected[list(folds)])
