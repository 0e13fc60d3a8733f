"""A fit is atomic: whatever ends it, the model is that of the fit before, whole, or the new one."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import safescreen
from safescreen import (
    HDSL,
    PairLearner,
    QuadrupletLearner,
    SafeSVC,
    SafeSVCCV,
    TripletLearner,
    TripletMetric,
    TripletMetricCV,
)

LIBRARY = str(Path(safescreen.__file__).parent)

IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = IRIS[[*range(0, 50, 5), *range(50, 100, 5), *range(100, 150, 5)]]
NAMED = pd.DataFrame(ROWS, columns=["sepal", "width", "petal", "colour"])
LABELS = np.repeat(["a", "b", "c"], 10)
OTHER = ROWS[:, ::-1]
TWO = np.where(LABELS == "a", 7, 8)
SIGNS = np.where(np.arange(10) % 3, 1, -1)


def tuples(size, seed):
    """Return ten tuples of points."""
    return ROWS[np.random.default_rng(seed).permuted(np.tile(np.arange(30), (10, 1)), axis=1)][
        :, :size
    ]


POINTS = ((NAMED, LABELS), (ROWS[:, 1:], TWO))
"""Three classes with names of columns, and then two classes of fewer columns without names."""
REVERSED = ((ROWS[:, 1:], TWO), (NAMED, LABELS))
SAME = ((ROWS, LABELS), (OTHER, LABELS[::-1]))
"""Of one shape, so that a warm start begins with the first fit."""
SHORT = {"tol": 1e-2, "max_iter": 6}
FITS = {
    "linear": (SafeSVC(tol=1e-2), POINTS),
    "free": (SafeSVC(intercept="free", tol=1e-2), REVERSED),
    "rbf": (SafeSVC(kernel="rbf", tol=1e-2), POINTS),
    "warm": (SafeSVC(warm_start=True, tol=1e-2), SAME),
    "metric": (TripletMetric(k=2, tol=1e-2), POINTS),
    "metric-path": (TripletMetric(k=2, with_path=True, path_ratio=0.1, tol=1e-2), REVERSED),
    "metric-warm": (TripletMetric(k=2, warm_start=True, tol=1e-2), SAME),
    "similarity": (HDSL(max_iter=5, check_every=1), POINTS),
    "similarity-warm": (HDSL(max_iter=5, check_every=1, warm_start=True), SAME),
    "similarity-stop": (HDSL(max_iter=5, check_every=1, early_stopping=True), POINTS),
    "triplets": (TripletLearner(**SHORT), ((tuples(3, 0), SIGNS), (tuples(3, 1)[:, :, 1:],))),
    "quadruplets": (QuadrupletLearner(**SHORT), ((tuples(4, 0),), (tuples(4, 1)[:, :, 1:],))),
    "pairs": (PairLearner(**SHORT), ((tuples(2, 0), SIGNS), (tuples(2, 1)[:, :, 1:], -SIGNS))),
}


def ended(error, number, fit, data):
    """Return whether an error in place of this call of a function of the library ended a fit, and
    how many functions were called.
    """
    calls = [0]

    def count(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(LIBRARY):
            calls[0] += 1
            if calls[0] == number:
                raise error

    sys.setprofile(count)
    try:
        fit(*data)
    except error:
        return True, calls[0]
    finally:
        sys.setprofile(None)
    return False, calls[0]


def moments(n_calls):
    """Return numbers of calls: ten from the first to the last, and each of the last ten."""
    return sorted({*np.linspace(1, n_calls, 10, dtype=int), *range(n_calls - 10, n_calls + 1)})


def told(model, X):
    """Return what a model says of points."""
    values = model.decision_function(X) if hasattr(model, "decision_function") else None
    return values, model.predict(X), getattr(model, "feature_names_in_", None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "error"),
    [(name, (KeyboardInterrupt, MemoryError)[number % 2]) for number, name in enumerate(FITS)],
)
def test_at_every_moment(name, error):
    """Where Ctrl-C ends a path or Frank-Wolfe, the model is that of the finished part."""
    model, (first, second) = FITS[name]
    whole = clone(model).fit(*first)
    before = vars(whole).copy()
    answers = told(whole, first[0])
    new = vars(clone(model).fit(*second)).keys()
    _, n_calls = ended(error, 0, clone(whole).fit, second)
    failed = 0
    for number in moments(n_calls):
        again = clone(model)
        vars(again).update(before)
        if not ended(error, number, again.fit, second)[0]:
            assert vars(again).keys() == new and again.n_features_in_ == np.shape(second[0])[-1]
            assert len(again.predict(second[0])) == len(second[0])
            continue
        failed += 1
        now = vars(again)
        assert now.keys() == before.keys() and all(now[key] is before[key] for key in now)
        for one, other in zip(told(again, first[0]), answers, strict=True):
            np.testing.assert_array_equal(one, other)
        unfitted = clone(model)
        if failed % 2 and ended(error, number, unfitted.fit, second)[0]:
            with pytest.raises(NotFittedError):
                check_is_fitted(unfitted)
            with pytest.raises(NotFittedError):
                unfitted.predict(second[0])
    assert failed >= 5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("name", FITS)
def test_in_every_callback(name, error):
    model, (first, second) = FITS[name]
    fitted = vars(clone(model).fit(*first))
    number = 1
    while True:
        calls = []

        def callback(progress, calls=calls, number=number):
            calls.append(progress)
            if len(calls) == number:
                raise error

        again = clone(model)
        vars(again).update(fitted)
        before = fitted.copy()
        again.callback = before["callback"] = callback
        try:
            again.fit(*second)
        except error:
            now = vars(again)
            assert now.keys() == before.keys() and all(now[key] is before[key] for key in now)
        else:
            assert again.n_features_in_ == np.shape(second[0])[-1]
            assert len(again.predict(second[0])) == len(second[0])
        if len(calls) < number:
            break
        number += 1
    assert number > 1


def test_a_fit_forgets_the_fit_before():
    """Judgements have no classes, an array has no names, a kernel no coefficients."""
    metric = TripletMetric(k=2).fit(NAMED, LABELS)
    metric.note = "mine"
    metric.fit_triplets(ROWS, [[0, 1, 10], [11, 12, 0]])
    assert not {"classes_", "feature_names_in_", "_neighbors_"} & vars(metric).keys()
    assert metric.note == "mine"
    model = SafeSVC().fit(NAMED, LABELS)
    model.set_params(kernel="rbf").fit(ROWS, TWO)
    assert not {"coef_", "feature_names_in_"} & vars(model).keys()


def test_a_callback_may_note_things():
    """What is set on the model during a fit stays."""
    model = SafeSVC()
    model.callback = lambda progress: setattr(model, "seen", progress.iteration)
    assert model.fit(ROWS, TWO).seen >= 0 and not hasattr(clone(model), "seen")


def test_a_warning_that_is_an_error_leaves_the_model():
    model = SafeSVC().fit(ROWS, LABELS)
    before = vars(model).copy()
    with warnings.catch_warnings(action="error"), pytest.raises(safescreen.ConvergenceWarning):
        model.set_params(max_iter=1, tol=1e-12).fit(OTHER, TWO)
    assert model.coef_ is before["coef_"] and model.classes_ is before["classes_"]


class Scaled(SafeSVC):
    """What users write: a step of their own before the fit."""

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        return super().fit(self.scaler_.transform(X), y)


def test_what_a_subclass_sets_stays():
    model = Scaled(kernel="rbf").fit(NAMED, LABELS)
    model.fit(ROWS[:, 1:], TWO)
    assert model.scaler_.n_features_in_ == 3 and model.n_features_in_ == 3
    assert model.predict(model.scaler_.transform(ROWS[:, 1:])).tolist() == TWO.tolist()


OTHER_VALUES = {
    "C": 3.0,
    "kernel": "rbf",
    "gamma": 0.3,
    "degree": 2,
    "coef0": 2.0,
    "loss": "squared_hinge",
    "smoothing": 0.5,
    "fit_intercept": False,
    "intercept": "free",
    "intercept_scaling": 3.0,
    "class_weight": "balanced",
    "tol": 0.1,
    "with_path": True,
    "path_ratio": 0.3,
    "screening": (),
    "method": "newton",
    "max_iter": 7,
    "max_seconds": 1e-9,
    "max_gigabytes": 1e-6,
    "warm_start": True,
    "callback": print,
    "verbose": False,
    "n_jobs": 2,
    "keep_problem": True,
    "multi_class": "ovo",
    "penalty": "l1",
    "probability": True,
    "dual": True,
    "shrinking": False,
    "cache_size": 1,
    "random_state": 5,
    "lam": 9.0,
    "lam_ratio": 0.5,
    "k": 1,
    "diagonal": True,
    "product": True,
    "active_set": True,
    "n_neighbors": 25,
    "n_components": 1,
    "l1": 0.5,
    "scale": 7.0,
    "n_targets": 1,
    "n_impostors": 1,
    "triplets": "random",
    "forward": "exact",
    "variant": "simple",
    "early_stopping": True,
    "validation_fraction": 0.5,
    "patience": 1,
    "check_every": 1,
    "bounds": (0.1, 5.0),
    "estimator": None,
    "Cs": 5,
    "gammas": [1.0, 2.0],
    "lams": 3,
    "cv": 2,
    "scoring": "f1",
    "refit": False,
    "error_score": "raise",
    "intervals": 2,
}
"""For each parameter another value than that of the fits below."""
HOW_TO_PREDICT = {"decision_function_shape", "break_ties", "preprocessor"}
"""As in SVC; and in which form points are given."""
MODELS = {
    **{name: (model, data) for name, (model, (data, *_)) in FITS.items() if "-" not in name},
    "poly": (SafeSVC(kernel="poly", tol=1e-2), SAME[0]),
    "precomputed": (SafeSVC(kernel="precomputed", tol=1e-2), (ROWS @ ROWS.T, LABELS)),
    "search": (SafeSVCCV(SafeSVC(tol=1e-2), [0.1, 1.0], cv=2), SAME[0]),
    "metrics": (TripletMetricCV(TripletMetric(k=2, tol=1e-2), [10.0, 1.0], cv=2), SAME[0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_parameters_change_nothing_that_is_fitted(name):
    """A parameter that is set after a fit is for the next fit."""
    model, data = MODELS[name]
    model = clone(model).fit(*data)
    before = told(model, data[0])
    for parameter, value in model.get_params(deep=False).items():
        if parameter in HOW_TO_PREDICT:
            continue
        other = OTHER_VALUES[parameter]
        if parameter == "kernel" and value == other:
            other = "linear"
        after = told(model.set_params(**{parameter: other}), data[0])
        for one, another in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, another, err_msg=parameter)
        model.set_params(**{parameter: value})
    model.set_params(**{"kernel": "linear"} if hasattr(model, "kernel") else {})
    np.testing.assert_array_equal(model.predict(data[0]), before[1])


def test_a_certificate_is_of_what_was_fitted():
    """Whatever the parameters are now."""
    model = SafeSVC(0.1, tol=1e-6).fit(ROWS, TWO)
    before = safescreen.screen_fitted(model, ROWS, TWO)
    after = safescreen.screen_fitted(model.set_params(kernel="rbf", smoothing=0.5), ROWS, TWO)
    assert before.in_R.any()
    np.testing.assert_array_equal(after.in_R, before.in_R)


class Refitting:
    """Points during whose conversion to an array the model is fitted to other data."""

    def __init__(self, model, data, points):
        self.model = model
        self.data = data
        self.points = points
        self.shape = points.shape

    def __len__(self):
        return len(self.points)

    def __array__(self, dtype=None, copy=None):
        self.model.fit(*self.data)
        return np.array(self.points, dtype=dtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FITS if "-" not in name])
def test_predictions_are_of_one_fit(name):
    """Of the one before a fit that comes in between, of data with other columns."""
    model, (first, second) = FITS[name]
    model = clone(model)
    points = np.asarray(first[0])
    methods = ("decision_function", "predict", "predict_proba", "transform", "pair_distance")
    n_asked = 0
    for method in methods:
        if not hasattr(model, method) or (method == "pair_distance" and name != "pairs"):
            continue
        if method == "transform" and points.ndim == 3:
            continue
        said = getattr(model.fit(points, *first[1:]), method)
        before = said(points)
        asked = getattr(model, method)(Refitting(model, second, points))
        np.testing.assert_array_equal(asked, before, err_msg=method)
        n_asked += 1
    assert n_asked >= 2 or name in ("triplets", "quadruplets")
