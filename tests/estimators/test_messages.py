"""What users do wrong, and how they stop: each message says what was found and what to do next."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import exceptions
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV

from safescreen import HDSL, ConvergenceWarning, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV
from safescreen_book import datasets

SEARCHES = [SafeSVCCV(None, [0.1, 1.0], cv=2), TripletMetricCV(TripletMetric(k=2), 2, cv=2)]
SMALL = [SafeSVC(C=0.1), TripletMetric(k=2), HDSL(max_iter=10), *SEARCHES]
METRICS = [*SMALL[1:3], SEARCHES[1]]


def table():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return (X / X.max())[::3].reset_index(drop=True), np.array(["red", "rose", "white"])[y][::3]


@pytest.mark.parametrize("model", SMALL, ids=lambda model: type(model).__name__)
class TestEveryEstimator:
    def test_column_of_words(self, model):
        X, y = table()
        X = X.assign(colour=y, origin="here")
        with pytest.raises(
            ValueError, match=r"these columns do not: colour, origin; encode them .* or drop them"
        ):
            model.fit(X, y)

    def test_gaps(self, model):
        X, y = table()
        X.loc[3, "ash"] = np.nan
        with pytest.raises(
            ValueError,
            match=r"must not contain NaN, these columns do: ash; fill them .* or drop the rows",
        ):
            model.fit(X, y)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.fit(X.to_numpy(), y)

    @pytest.mark.parametrize("kind", ["dates", "zones", "durations", "periods"])
    def test_dates(self, model, kind):
        X, y = table()
        days = pd.date_range("2026-01-01", periods=len(X))
        columns = {
            "dates": days,
            "zones": days.tz_localize("UTC"),
            "durations": days - days[0],
            "periods": days.to_period("D"),
        }
        X = X.assign(day=columns[kind])
        text = "these columns hold dates: day; replace them by numbers, such as days since"
        with pytest.raises(TypeError, match=text):
            model.fit(X, y)
        with pytest.raises(TypeError, match=text):
            model.fit(X[["day"]], y)

    def test_dates_without_names(self, model):
        y = table()[1]
        days = np.datetime64("2026-01-01") + np.arange(len(y))[:, None] * [1, 2]
        for X in (days, days - days[0], days.astype(object), days.astype(object).tolist()):
            with pytest.raises(TypeError, match=r"X must hold numbers, .*dates: replace them by"):
                model.fit(X, y)

    def test_wrong_columns_later(self, model):
        X, y = table()
        model.fit(X, y)
        with pytest.raises(ValueError, match="feature names should match.*\n.*\n.*water"):
            model.predict(X.rename(columns={"alcohol": "water"}))
        with pytest.raises(ValueError, match="X has 12 features, but .* is expecting 13"):
            model.fit(X.to_numpy(), y).predict(X.to_numpy()[:, 1:])

    def test_one_class(self, model):
        X, y = table()
        with pytest.raises(
            ValueError,
            match="got one class: 'red'; take another column as y, or add rows of another class",
        ):
            model.fit(X, np.full(y.size, "red"))

    @pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
    def test_gaps_among_labels(self, model, gap):
        X, y = table()
        y = y.astype(object)
        y[[3, 7]] = gap
        with pytest.raises(ValueError, match=f"y must have no gaps, found {gap} at index 3, and 2"):
            model.fit(X, y)

    def test_labels_of_two_kinds(self, model):
        X, y = table()
        y = y.astype(object)
        y[5] = 1
        with pytest.raises(TypeError, match="y must hold labels of one kind, found int and str"):
            model.fit(X, y)

    def test_numbers_in_place_of_classes(self, model):
        X, _ = table()
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            model.fit(X, X["alcohol"] + 0.123)


@pytest.mark.parametrize(
    "model", [TripletMetric(k=2), HDSL(max_iter=10)], ids=lambda model: type(model).__name__
)
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_identifiers_in_place_of_classes(model):
    X, y = table()
    with pytest.raises(ValueError, match="found one point in every class: is y an identifier"):
        model.fit(X.to_numpy(), np.arange(y.size))


def test_a_kernel_matrix_goes_by_the_name_of_the_argument():
    K = [[1.0, 1.0], [0.0, 1.0]]
    for has_intercept, text in (
        (False, "X must .* found 0 and 1"),
        (True, "X [+] 1 must .* 1 and 2"),
    ):
        with pytest.raises(ValueError, match=text):
            SafeSVC(kernel="precomputed", fit_intercept=has_intercept).fit(K, [0, 1])


@pytest.mark.parametrize("product", [False, True])
def test_k_larger_than_a_class(product):
    X, y = datasets.load("iris", return_X_y=True)
    rows = np.r_[0:30, 50:54]
    with pytest.warns(
        UserWarning,
        match="k=5 is larger than class 1 allows, where a point has 3 others .* "
        "take a smaller k or join",
    ):
        model = TripletMetric(k=5, product=product, keep_problem=True).fit(X[rows], y[rows])
    assert len(model.solution_.problem) == 30 * 5 * 4 + 4 * 3 * 5


def test_columns_of_very_different_sizes():
    X, y = load_wine(return_X_y=True)
    spans = r"column 12 spans 1.4e\+03 and column 7 only 0.53"
    hint = (
        rf"sizes: {spans}, so the largest decide which points are near: "
        r"scale them \(MinMaxScaler or StandardScaler\)"
    )
    for fit in (
        lambda: TripletMetric(k=2, tol=1e-2).fit(X, y),
        lambda: TripletMetric(tol=1e-2).fit_triplets(X, [[0, 1, 70], [70, 71, 0]]),
        lambda: TripletMetricCV(TripletMetric(k=2, tol=1e-2), 2, cv=2).fit(X, y),
    ):
        with pytest.warns(UserWarning, match=hint) as caught:
            fit()
        assert len(caught) == 1 and caught[0].filename == __file__
    spans = X / np.ptp(X, axis=0)
    TripletMetric(k=2, tol=1e-2).fit(spans * np.geomspace(1.0, 99.0, 13), y)
    TripletMetric(k=2, tol=1e-2).fit(np.column_stack((spans, np.ones(len(X)))), y)


def test_what_stopped_a_metric_and_which_column_made_it_hard():
    X, y = table()
    with pytest.warns(UserWarning) as caught:
        TripletMetric(k=2, max_iter=1).fit(X.assign(proline=1e3 * X["proline"]), y)
    found = [str(warning.message) for warning in caught]
    columns = r"column proline spans \S+ and column \w+ only \S+"
    assert {warning.filename for warning in caught} == {__file__}
    assert len(found) == 2 and re.search(
        f"very different sizes: {columns}, so the largest", found[0]
    )
    reached = (
        r"lam=\S+: relative duality gap \S+ after 1 iterations, "
        r"asked for tol=0.0001: max_iter=1 is reached"
    )
    assert re.search(f"^{reached}; {columns}: put a StandardScaler before it$", found[1])
    with pytest.warns(
        ConvergenceWarning, match="after 2 iterations, .*: the callback ended it$"
    ) as caught:
        TripletMetric(k=2, lam_ratio=1e-4, callback=lambda now: now.iteration == 2).fit(X, y)
    assert len(caught) == 1 and issubclass(caught[0].category, exceptions.ConvergenceWarning)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 is reached") as caught:
        TripletMetric(k=2, max_iter=1, with_path=True, path_ratio=0.3).fit(X, y)
    assert len(caught) == 1  # of a path the worst


def test_arrays_of_triplets_or_images():
    X, y = table()
    triplets = np.stack((X[:12], X[12:24], X[40:52]), axis=1)
    advice = (
        r"for triplets call fit_triplets: \(X\) of shape \(T, 3, d\), "
        r"or \(points, rows of triplets\)"
    )
    for model in (*METRICS[:2], HDSL(max_iter=10)):
        for labels in ((), (y[:12],), (np.ones(12),)):
            with pytest.raises(
                ValueError,
                match=rf"X must have shape \(n, d\), .* got shape \(12, 3, 13\): {advice}",
            ):
                model.fit(triplets, *labels)
        with pytest.raises(
            ValueError, match=rf"requires y to be passed, but the target y is None; {advice}"
        ):
            model.fit(X)
        model.fit_triplets(triplets)
        with pytest.raises(
            ValueError,
            match=r"got shape \(12, 3, 13\): score_triplets takes triplets of points, "
            r"pair_distance",
        ):
            model.transform(triplets)
    for points in (triplets, triplets.tolist()):
        for call in (SafeSVC().fit, SafeSVCCV().fit):
            with pytest.raises(
                ValueError,
                match=r"got shape \(12, 3, 13\): X.reshape\(len\(X\), -1\) "
                r"makes one row of each point",
            ):
                call(points, y[:12])
    model = SafeSVC(0.1).fit(triplets.reshape(12, -1), np.arange(12) % 2)
    with pytest.raises(ValueError, match=r"X.reshape\(len\(X\), -1\) makes one row of each point"):
        model.predict(triplets)


def test_more_neighbours_than_points():
    X, y = datasets.load("iris", return_X_y=True)
    X, y = X[::3], y[::3]
    sizes = "the classes have 17, 17, 16 points"
    for model in (TripletMetric(n_neighbors=1000), HDSL(n_neighbors=1000, max_iter=5)):
        with pytest.raises(
            ValueError,
            match=f"n_neighbors must be at most 50, as there are 50 points, got 1000: {sizes}",
        ):
            model.fit(X, y)
        with pytest.raises(
            ValueError, match="n_neighbors must be at most 40, as there are 40 points"
        ):
            model.set_params(n_neighbors=50).fit(X, y, np.arange(50) >= 10)
        assert set(model.fit(X, y).predict(X)) <= {0, 1, 2}
    for model, name in (
        (TripletMetric(k=50), "k"),
        (HDSL(n_targets=50), "n_targets"),
        (HDSL(n_impostors=50), "n_impostors"),
    ):
        with pytest.raises(
            ValueError, match=f"^{name} must be at most 49, as there are 50 points, got 50: {sizes}"
        ):
            model.fit(X, y)
    with pytest.warns(UserWarning, match="k=49 is larger than class 2 allows, where a point has"):
        TripletMetric(k=49, tol=1e-2).fit(X, y)
    triplets = [[0, 1, 20], [20, 21, 0]]
    assert (
        TripletMetric(n_neighbors=1000, k=1000)
        .fit_triplets(X, triplets)
        .score_triplets(X, triplets)
        == 1.0
    )
    with pytest.raises(TypeError, match="n_neighbors must be a positive int, got 2.5"):
        TripletMetric(n_neighbors=2.5).fit(X, y)


def test_lam_and_lam_ratio():
    X, y = datasets.load("iris", return_X_y=True)
    both = TripletMetric(lam=3.0, lam_ratio=0.1)
    for fit in (
        lambda: both.fit(X, y),
        lambda: both.fit_triplets(X, [[0, 1, 60]]),
        lambda: clone(both).fit(X, y),
    ):
        with pytest.raises(
            ValueError,
            match=(
                "lam and lam_ratio must not both be given, got lam=3.0 and lam_ratio=0.1: leave one"
            ),
        ):
            fit()
    assert both.set_params(lam_ratio=None).fit(X, y).lam_ == 3.0
    assert both.set_params(lam=None, lam_ratio=0.1).fit(X, y).lam_ == pytest.approx(
        10.0 * TripletMetric().fit(X, y).lam_
    )
    assert TripletMetric(lam_ratio=0.01).fit(X, y).lam_ == TripletMetric().fit(X, y).lam_
    assert TripletMetric().get_params()["lam"] is TripletMetric().get_params()["lam_ratio"] is None
    for grid in ({"lam": [1.0, 100.0]}, {"lam_ratio": [0.01, 0.1]}):
        assert GridSearchCV(TripletMetric(tol=1e-2), grid, cv=2).fit(X, y).best_score_ > 0.9
    with pytest.raises(ValueError, match="All the 4 fits failed"):
        GridSearchCV(TripletMetric(lam_ratio=0.1), {"lam": [1.0, 100.0]}, cv=2).fit(X, y)


def test_only_zero_weights_of_a_class():
    X, y = table()
    for model in (TripletMetric(), HDSL(), SafeSVC()):
        with pytest.raises(
            ValueError, match="two classes with positive weight, got one class: 'red'"
        ):
            model.fit(X, y, sample_weight=(y == "red").astype(float))


def test_triplets_have_no_classes():
    X, _ = datasets.load("iris", return_X_y=True)
    triplets = np.array([[0, 1, 60], [60, 61, 2], [1, 2, 100]])
    for model in (TripletMetric(), HDSL(max_iter=10)):
        model.fit_triplets(X, triplets)
        assert model.transform(X).shape[0] == len(X) and model.pair_distance(X[None, :2]).shape == (
            1,
        )
        with pytest.raises(AttributeError, match="not fitted with labels"):
            model.predict(X)
    with pytest.raises(ValueError, match="product=True needs labels: use fit"):
        TripletMetric(product=True).fit_triplets(X, triplets)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.pair_distance(np.full((1, 2, 4), np.nan))
    weighted = TripletMetric(lam=1.0).fit_triplets(X, triplets, triplet_weight=[1.0, 2.0, 3.0])
    plain = TripletMetric(lam=1.0).fit_triplets(X, triplets)
    assert np.abs(weighted.get_mahalanobis_matrix() - plain.get_mahalanobis_matrix()).max() > 1e-3
    fewer = TripletMetric(lam=1.0).fit_triplets(X, triplets, triplet_weight=[1.0, 0.0, 1.0])
    np.testing.assert_array_equal(
        fewer.components_, TripletMetric(lam=1.0).fit_triplets(X, triplets[[0, 2]]).components_
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_infinite_C(kernel):
    """The two lines are right: no dual coefficient reaches C, so a larger C changes nothing."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    with pytest.raises(ValueError, match="C must be finite, got inf: for a hard margin") as error:
        SafeSVC(C=np.inf, kernel=kernel).fit(X, y)
    known = {"SafeSVC": partial(SafeSVC, kernel=kernel, tol=1e-6), "X": X, "y": y}
    exec("\n".join(str(error.value).splitlines()[1:]), known)
    larger = SafeSVC(C=3e6, kernel=kernel, tol=1e-5).fit(X, y).decision_function(X)
    np.testing.assert_allclose(known["model"].decision_function(X), larger, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *[(SafeSVC(kernel="rbf"), name) for name in ("C", "gamma", "tol", "smoothing")],
        *[(SafeSVC(), name) for name in ("intercept_scaling", "max_seconds")],
        *[(TripletMetric(k=2), name) for name in ("lam", "lam_ratio", "smoothing", "l1", "tol")],
        *[(HDSL(), name) for name in ("scale", "tol", "max_seconds")],
    ],
)
def test_numbers_beyond_floats(model, name):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"^{name} must be finite"):
        clone(model).set_params(**{name: 10**400}).fit(X, y)


@pytest.mark.parametrize("model", [SafeSVC(), TripletMetric(k=2), HDSL()])
def test_data_beyond_floats(model):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="^X must be finite, found an integer beyond"):
        clone(model).fit([[10**400, 1]] * 150, y)
    with pytest.raises(ValueError, match="^sample_weight must be finite, found an integer beyond"):
        clone(model).fit(X, y, [10**400, *[1] * 149])


def test_columns_of_numbers_are_not_looked_at_one_by_one(monkeypatch):
    """A data frame of many columns costs as much as its array."""
    monkeypatch.setattr(pd, "to_numeric", None)
    monkeypatch.setattr(pd.DataFrame, "isna", None)
    X, y = table()
    model = SafeSVC().fit(X.assign(n=1, flag=True), y)
    assert model.predict(X.assign(n=1, flag=True)).shape == y.shape


# ------------------------------------------------------------------ stopped runs


class Interrupt:
    """Stands in for Ctrl-C after so many solutions."""

    def __init__(self, after):
        self.left = after

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_interrupted_path_of_a_metric():
    X, y = datasets.load("iris", return_X_y=True)
    with pytest.warns(RuntimeWarning, match="3 of its solutions"):
        model = TripletMetric(k=3, with_path=True, callback=Interrupt(3)).fit(X, y)
    assert len(model.path_) == 3 and model.path_.stop_reason == "interrupted"
    assert model.lam_ == model.path_.lams[-1] and model.score(X, y) > 0.8
    single = TripletMetric(model.lam_, k=3).fit(X, y)
    assert (
        np.abs(model.get_mahalanobis_matrix() - single.get_mahalanobis_matrix()).max()
        <= model.solution_.eps + single.solution_.eps
    )


def test_callback_ends_a_path_and_frank_wolfe():
    X, y = datasets.load("iris", return_X_y=True)
    stopped = TripletMetric(
        k=3,
        with_path=True,
        callback=lambda progress: progress.solution is not None and progress.iteration == 2,
    )
    assert len(stopped.fit(X, y).path_) == 2 and stopped.path_.stop_reason == "callback"
    errors = []
    model = HDSL(
        max_iter=100,
        check_every=10,
        early_stopping=True,
        callback=lambda now: errors.append(now.error) or now.iteration == 20,
    )
    assert (
        model.fit(X, y).n_iter_ == 20
        and len(errors) == 2
        and 0.0 <= min(errors) <= max(errors) <= 1.0
    )
    with pytest.raises(TypeError, match="callback must be a function or None, got int"):
        SafeSVC(callback=3).fit(X, y)


@pytest.mark.parametrize("make", [SafeSVC, TripletMetric, partial(HDSL, tol=1e-12)])
def test_a_limit_of_time_returns_what_there_is_and_says_so(make):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_seconds=0 is reached"):
        model = make(max_seconds=0).fit(X, y)
    assert model.reason_ == "time" and np.isfinite(model.dual_gap_)
    assert model.predict(X).shape == y.shape
    assert make(max_seconds=600, max_iter=5000).fit(X, y).reason_ in ("converged", "iterations")
    with pytest.raises(ValueError, match="max_seconds must be at least 0, got -1"):
        make(max_seconds=-1).fit(X, y)
