"""A class whose samples all have weight 0: the others are learned, and it is never predicted."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from safescreen import HDSL, SafeSVC, TripletMetric

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.where(Y == 1, 0.0, 1.0)
FOUR = np.where((Y == 2) & (np.arange(150) % 2 == 0), 3, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_two_of_three_classes_are_one_problem(kernel, missing):
    points = X @ X.T if kernel == "precomputed" else X
    keep = missing != Y
    options = {"kernel": kernel, "gamma": 0.1, "multi_class": "ovr"}
    model = SafeSVC(**options).fit(points, Y, keep.astype(float))
    part = points[np.ix_(keep, keep)] if kernel == "precomputed" else X[keep]
    alone = SafeSVC(**options).fit(part, Y[keep])
    f = alone.decision_function(points[:, keep] if kernel == "precomputed" else X)
    values = model.decision_function(points)
    first, second = np.flatnonzero(np.arange(3) != missing)
    np.testing.assert_array_equal(values[:, second], f)
    np.testing.assert_array_equal(values[:, first], -f)
    np.testing.assert_array_equal(values[:, missing], -np.abs(f) - 1.0)
    assert model.classes_.tolist() == [0, 1, 2] and model.n_support_[missing] == 0
    assert model.dual_coef_.shape[0] == model.intercept_.size == len(model.screening_) == 1
    np.testing.assert_array_equal(model.predict(points), np.where(f > 0.0, second, first))


def test_three_of_four_classes_are_three_problems():
    model = SafeSVC(class_weight={1: 0.0, 3: 2.0}, with_path=True).fit(X, FOUR)
    keep = FOUR != 1
    alone = SafeSVC(class_weight={3: 2.0}, with_path=True).fit(X[keep], FOUR[keep])
    values = model.decision_function(X)
    np.testing.assert_array_equal(values[:, [0, 2, 3]], alone.decision_function(X))
    np.testing.assert_array_equal(values[:, 1], values[:, [0, 2, 3]].min(axis=1) - 1.0)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert len(model.path_) == 3 and model.coef_.shape == (3, 4)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(keep)[alone.support_])


def test_balanced_weights_are_those_of_the_classes_that_are_there():
    keep = Y != 1
    rows = keep & (np.arange(150) % 3 > 0)
    model = SafeSVC(class_weight="balanced").fit(X, Y, rows.astype(float))
    alone = SafeSVC(class_weight="balanced").fit(X[rows], Y[rows])
    np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize("model", [TripletMetric(k=2), HDSL(max_iter=10)])
def test_metrics_know_the_classes_that_are_there(model):
    model.fit(X, Y, WEIGHTS)
    assert model.classes_.tolist() == [0, 2] and set(model.predict(X)) == {0, 2}


@pytest.mark.parametrize(
    ("options", "weights", "text"),
    [
        ({}, Y == 2, "two classes with positive weight, got one class: 2"),
        (
            {"class_weight": {0: 0, 1: 0}},
            None,
            r"class_weight must give a positive weight to two classes of y at least, got "
            r"\{0: 0, 1: 0\}, which leaves one class: 2",
        ),
        ({"class_weight": {0: 0, 1: 0, 2: 0}}, None, "which leaves none"),
        ({"class_weight": {0: 0}}, Y != 1, "which leaves one class: 2"),
    ],
)
def test_one_class_is_none(options, weights, text):
    with pytest.raises(ValueError, match=text):
        SafeSVC(**options).fit(X, Y, weights)


def test_class_weights_go_by_the_label():
    """Whatever the label could be read as: "1" is no number."""
    words = np.array(["01", "1"])[(Y > 0).astype(int)]
    plain = SafeSVC().fit(X, words, np.where(words == "1", 5.0, 2.0))
    for factors in ({"1": 5, "01": 2}, {"1": 5, "01": 2, "other": 7}):
        np.testing.assert_array_equal(
            SafeSVC(class_weight=factors).fit(X, words).coef_, plain.coef_
        )


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        (
            {"dog": 1},
            "class_weight must have the labels of y as its keys, found 'dog', which y does",
        ),
        ({"1": 1}, "found '1', which y does not hold, and no weight of 0"),
        ({0: -1.0}, r"class_weight\[0\] must be at least 0, got -1"),
        ({2: np.nan}, r"class_weight\[2\] must be finite"),
        ("auto", "class_weight must be a dict, 'balanced' or None, got 'auto'"),
        ([1, 2, 3], "class_weight must be a dict, 'balanced' or None"),
    ],
)
def test_other_class_weights_are_refused(factors, text):
    with pytest.raises(ValueError, match=text):
        SafeSVC(class_weight=factors).fit(X, Y)
