"""Cases that others met with other libraries, and reported in public: each with its right value."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from safescreen import ConvergenceWarning, PairLearner, SafeSVC

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.parametrize("balanced", [None, "balanced"])
def test_a_class_whose_weights_are_zero(balanced):
    """Three classes of corners of a cube, one of weight 0, which SVC answers with two columns under
    three classes (scikit-learn 25380 and 5150).
    """
    X = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    model = SafeSVC(kernel="linear", intercept="free", class_weight=balanced, tol=1e-9)
    model.fit(X, y, np.array([1, 1, 1, 1, 1, 1, 0, 0]))
    alone = SVC(kernel="linear", class_weight=balanced, tol=1e-9).fit(X[:6], y[:6])
    values = model.decision_function(X)
    assert model.classes_.tolist() == [0, 1, 2] and values.shape == (8, 3)
    np.testing.assert_allclose(values[:, 1], alone.decision_function(X), atol=1e-3)
    assert (values.argmax(axis=1) == model.predict(X)).all() and 2 not in model.predict(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"class_weight": "balanced"}])
def test_bagging_with_a_rare_class(form, options):
    """One row of the third species, which most bootstrap samples leave out (scikit-learn 24801 and
    8409).
    """
    X, y = form(IRIS)[:101], SPECIES[:101]
    bag = BaggingClassifier(SafeSVC(**options), random_state=0).fit(X, y)
    without = [2 not in y[rows] for rows in bag.estimators_samples_]
    assert any(without) and not all(without)
    for model, is_missing in zip(bag.estimators_, without, strict=True):
        assert model.classes_.tolist() == [0, 1, 2] and model.decision_function(X).shape == (101, 3)
        assert not is_missing or set(model.predict(X)) == {0, 1}
    assert bag.decision_function(X).shape == (101, 3) and bag.score(X, y) >= 100 / 101


def test_class_weights_of_labels_that_read_as_numbers():
    """The labels "1" and "2" (scikit-learn 34883)."""
    y = np.array(["1", "2"])[(SPECIES > 0).astype(int)]
    model = SafeSVC(class_weight={"1": 5, "2": 1}).fit(IRIS, y)
    plain = SafeSVC().fit(IRIS, y, np.where(y == "1", 5.0, 1.0))
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_two_points_far_from_zero_with_a_polynomial_kernel():
    """It never returned (scikit-learn 4648). A warning names the column and says what to do."""
    X = [[1, 99999], [2, 99999]]
    model = SafeSVC(kernel="poly", degree=2, gamma=0.5)
    with pytest.warns(ConvergenceWarning, match="column 1 has a mean of 1e.05 .*StandardScaler"):
        model.fit(X, [0, 1])
    scaled = make_pipeline(StandardScaler(), clone(model)).fit(X, [0, 1])
    assert scaled.predict(X).tolist() == [0, 1] and scaled[-1].reason_ == "converged"


def test_equal_points_with_a_polynomial_kernel():
    """NuSVC on six rows, two of them nearly equal, sometimes never returned (scikit-learn
    13075).
    """
    row = [0, 0, 0.3, 0, 0, 1, 0.625, 0, 0, 0.31865753, 0, 0, 0]
    X = np.array(
        [
            row,
            [0, 0, 0, 0, 0, 1 / 3, 0.61538462, 0, 0, 0.59230137, 1, 0, 1],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0.31778082, 1, 0, 0],
            [2 / 3, 0, 0, 0.5, 1, 0.8, 0, 1, 0.5625, 0.36430137, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0.33638356, 1, 0, 0],
            [*row[:9], 0.31843836, 0, 0, 0],
        ]
    )
    y = np.array([False, True, True, False, True, False])
    model = SafeSVC(kernel="poly", coef0=10.0, gamma="auto", tol=1e-6).fit(X, y)
    assert model.reason_ == "converged" and (model.predict(X) == y).all()


@pytest.mark.parametrize("C", [1.0, 1e-3, 1e-6, 1e-9])
def test_weights_that_are_nearly_one_change_nearly_nothing(C):
    """With a tiny C such weights made SVC predict one class (scikit-learn 4144): there every dual
    variable is at its bound, and the intercept is any number of an interval that weights close.
    """
    X, y = make_classification(200, 5, class_sep=1.0, random_state=0)
    weights = 1.0 + 1e-8 * np.random.default_rng(0).standard_normal(200)
    for options in ({}, {"kernel": "rbf"}, {"intercept": "free"}):
        plain = SafeSVC(C, tol=1e-9, **options).fit(X, y)
        near = SafeSVC(C, tol=1e-9, **options).fit(X, y, weights)
        np.testing.assert_allclose(
            near.decision_function(X) - near.intercept_[0],
            plain.decision_function(X) - plain.intercept_[0],
            rtol=1e-3,
            atol=1e-4 * min(C, 1.0),
        )


def test_one_sparse_row_is_classified_as_among_others():
    """A single row of text got another value than twice the same row (scikit-learn-intelex
    1880).
    """
    words = TfidfVectorizer()
    X = words.fit_transform(["hello world there", "hello planet earth"])
    one = words.transform(["earth"])
    two = words.transform(["earth", "earth"])
    for kernel in ("linear", "rbf", "poly"):
        model = SafeSVC(kernel=kernel).fit(X, [1, 0])
        value = model.decision_function(one)
        assert model.predict(one).tolist() == [0]
        np.testing.assert_allclose(model.decision_function(two), np.repeat(value, 2), rtol=1e-14)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("gamma", [0.01, 1.0])
def test_rare_positives_score_as_with_libsvm(C, gamma):
    """F1 scores on unbalanced data differed by tenths (scikit-learn-intelex 1074)."""
    X, y = make_classification(400, 6, n_informative=4, weights=[0.93], random_state=1)
    ours = SafeSVC(C, kernel="rbf", gamma=gamma, tol=1e-6).fit(X[::2], y[::2])
    theirs = SVC(C=C, gamma=gamma, tol=1e-8).fit(X[::2], y[::2])
    scores = [f1_score(y[1::2], model.predict(X[1::2])) for model in (ours, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)


def test_zero_weights_and_sparse_rows():
    """SVC of sparse rows raised "indices and data should have the same size" for some zero weights
    (scikit-learn 19654).
    """
    X = sparse.csr_array(IRIS * (IRIS > 2.0))
    weights = (np.arange(150) % 4 > 0).astype(float)
    model = SafeSVC(kernel="rbf", gamma=0.3).fit(X, SPECIES, weights)
    alone = SafeSVC(kernel="rbf", gamma=0.3).fit(X[weights > 0.0], SPECIES[weights > 0.0])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-9)
    assert (weights[model.support_] > 0.0).all()


def test_pairs_of_a_point_with_itself():
    """ITML failed on pairs of one feature, some of them of a point with itself (metric-learn
    177).
    """
    rows = np.random.default_rng(0).integers(0, 150, (60, 2))
    rows[:5, 1] = rows[:5, 0]
    signs = np.where(SPECIES[rows[:, 0]] == SPECIES[rows[:, 1]], 1, -1)
    learner = PairLearner(lam_ratio=1e-3).fit(IRIS[rows][:, :, :1], signs)
    M = learner.get_mahalanobis_matrix()
    assert M.shape == (1, 1) and M[0, 0] > 0.0
    assert (learner.predict(IRIS[rows[:5]][:, :, :1]) == 1).all()
    assert learner.score(IRIS[rows][:, :, :1], signs) > 0.5
