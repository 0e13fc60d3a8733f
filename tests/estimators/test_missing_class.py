"""A class whose samples all have weight 0: the others are learned, and it is never predicted."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer
from sklearn.svm import SVC, LinearSVC

from safescreen import HDSL, SafeSVC, SafeSVCCV, TripletMetric

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
    model = SafeSVC(class_weight={1: 0.0, 3: 2.0}).fit(X, FOUR)
    keep = FOUR != 1
    alone = SafeSVC(class_weight={3: 2.0}).fit(X[keep], FOUR[keep])
    values = model.decision_function(X)
    np.testing.assert_array_equal(values[:, [0, 2, 3]], alone.decision_function(X))
    np.testing.assert_array_equal(values[:, 1], values[:, [0, 2, 3]].min(axis=1) - 1.0)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.coef_.shape == (3, 4)
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


def weighted():
    """Return two classes of 100 and 50 points, and weights of which some are 0."""
    points, labels = X[50:], np.repeat(["b", "a"], 50)
    weights = np.where(labels == "a", 3.0, 1.0) * (np.arange(100) % 5 > 0)
    rows = np.concatenate((np.arange(100), np.arange(50)))
    return points[rows], labels[rows], weights[rows]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SafeSVC(kernel="rbf", gamma=0.2, tol=1e-9), SVC(gamma=0.2, tol=1e-9)),
        (
            SafeSVC(kernel="poly", degree=2, gamma=0.2, tol=1e-9),
            SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.2, tol=1e-9),
        ),
        (SafeSVC(tol=1e-9), LinearSVC(loss="hinge", tol=1e-9, max_iter=10**6)),
    ],
    ids=["rbf", "poly", "linear"],
)
def test_balanced_counts_what_scikit_learn_counts(ours, theirs):
    """Samples with a kernel, those of weight 0 too; weights without one."""
    points, labels, weights = weighted()
    expected = clone(theirs).set_params(class_weight="balanced").fit(points, labels, weights)
    found = clone(ours).set_params(class_weight="balanced").fit(points, labels, weights)
    values = expected.decision_function(points)
    np.testing.assert_allclose(found.decision_function(points), values, atol=1e-3)
    unbalanced = clone(theirs).fit(points, labels, weights).decision_function(points)
    assert abs(unbalanced - values).max() > 0.05


def test_folds_count_the_samples_of_the_fold():
    """With the weights of 0 and the repeated rows that are in it."""
    points, labels, weights = weighted()
    rows = np.arange(150)
    fold = np.concatenate((rows[rows % 3 > 0], rows[:20])), rows[rows % 3 == 0]
    model = SafeSVC(kernel="rbf", gamma=0.2, class_weight="balanced", tol=1e-6)
    scoring = make_scorer(mean_value, response_method="decision_function")
    search = SafeSVCCV(model, [0.5, 2.0], cv=[fold], scoring=scoring, refit=False)
    found = search.fit(points, labels, sample_weight=weights).scores_[0]
    theirs = SVC(gamma=0.2, class_weight="balanced", tol=1e-9)
    for C, score in zip((0.5, 2.0), found, strict=True):
        machine = clone(theirs).set_params(C=C)
        machine.fit(points[fold[0]], labels[fold[0]], weights[fold[0]])
        values = machine.decision_function(points[fold[1]])
        assert score == pytest.approx(values.mean(), abs=1e-3)


def mean_value(labels, values, sample_weight=None):
    """Return the mean decision value."""
    return float(np.mean(values))
