"""Learners of pairs, triplets and quadruplets: what they learn, how they classify, and that
scikit-learn's tools take them.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

import safescreen as ss
from safescreen import HDSL, PairLearner, QuadrupletLearner, TripletLearner, TripletMetric

SIZES = {PairLearner: 2, TripletLearner: 3, QuadrupletLearner: 4}
COMPARED = {TripletLearner: ((0, 1), (0, 2)), QuadrupletLearner: ((0, 1), (2, 3))}


def tuples(kind, n=24, d=4, T=120, seed=0):
    """Return points, tuples of their rows, and labels of which a tenth is wrong: by the first half
    of the features pairs are near, or one is nearer than the other.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    rows = np.array([rng.choice(n, SIZES[kind], replace=False) for _ in range(T)])
    columns = COMPARED.get(kind, ((0, 1),))
    apart = [
        np.linalg.norm((X[rows[:, i]] - X[rows[:, j]])[:, : d // 2], axis=1) for i, j in columns
    ]
    right = apart[0] < (apart[1] if len(apart) > 1 else 1.5)
    return X, rows, np.where(right ^ (rng.uniform(size=T) < 0.1), 1, -1)


def distances(M, X, rows, i, j):
    apart = X[rows[:, i]] - X[rows[:, j]]
    return np.sqrt(np.maximum(np.einsum("td,de,te->t", apart, M, apart), 0.0))


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_metric_is_the_solution_of_the_problem(kind, diagonal):
    X, rows, y = tuples(kind)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    learner = kind(lam=2.0, tol=1e-8, diagonal=diagonal, preprocessor=X).fit(rows, y, weights)
    used = weights > 0.0
    r, s, w = rows[used], y[used], weights[used]
    if kind is PairLearner:
        order = np.argsort(s, kind="stable")  # dissimilar pairs first
        terms = ss.Pairs(
            X, r[s > 0], r[s < 0], upper=1.0, lower=2.0, diagonal=diagonal, weights=w[order]
        )
    elif kind is TripletLearner:
        turned = np.where(s[:, None] > 0, r, r[:, [0, 2, 1]])
        terms = ss.Triplets(X, turned, diagonal=diagonal, weights=w)
    else:
        turned = np.where(s[:, None] > 0, r, r[:, [2, 3, 0, 1]])
        terms = ss.Quadruplets(X, turned, diagonal=diagonal, weights=w)
    prob = ss.Problem(terms, ss.SmoothedHinge(0.05))
    M = learner.get_mahalanobis_matrix()
    x = np.diag(M).copy() if diagonal else M
    assert np.abs(x).max() > 1e-3
    assert prob.gap(x, 2.0) <= 2e-8 * prob.primal(x, 2.0)


@pytest.mark.parametrize("kind", COMPARED)
def test_decisions_compare_two_distances(kind):
    X, rows, y = tuples(kind)
    learner = kind(preprocessor=X).fit(rows, y)
    near, far = (distances(learner.get_mahalanobis_matrix(), X, rows, *p) for p in COMPARED[kind])
    decisions = learner.decision_function(rows)
    np.testing.assert_allclose(decisions, far - near, atol=1e-9)
    (i, j), (k, m) = COMPARED[kind]
    np.testing.assert_array_equal(
        decisions, learner.pair_score(rows[:, [i, j]]) - learner.pair_score(rows[:, [k, m]])
    )
    np.testing.assert_array_equal(learner.predict(rows), np.where(far > near, 1, -1))
    assert learner.score(rows, y) == np.mean(learner.predict(rows) == y) > 0.75
    assert learner.score(rows) == np.mean(far > near)
    only = np.arange(len(y)) == 3
    assert learner.score(rows, y, only) == float(learner.predict(rows)[3] == y[3])
    same = np.repeat(rows[:5, :1], SIZES[kind], axis=1)
    assert learner.predict(same).tolist() == [-1] * 5  # ties
    turned = rows[:, [0, 2, 1]] if kind is TripletLearner else rows[:, [2, 3, 0, 1]]
    again = clone(learner).fit(turned, -y)
    np.testing.assert_allclose(again.decision_function(rows), decisions, atol=1e-2)


def test_triplets_are_those_of_the_metric():
    X, rows, _ = tuples(TripletLearner)
    learner = TripletLearner(lam_ratio=0.1, preprocessor=X).fit(rows)
    metric = TripletMetric(lam_ratio=0.1).fit_triplets(X, rows)
    np.testing.assert_array_equal(learner.components_, metric.components_)
    assert learner.score(rows) == metric.score_triplets(X, rows)


@pytest.mark.parametrize("kind", SIZES)
def test_points_numbers_and_names_are_the_same(kind):
    X, rows, y = tuples(kind)
    names = np.array([f"thing {i:02}" for i in range(len(X))])
    frame = pd.DataFrame(X, columns=list("abcd"))
    asked = []

    def looked_up(some):
        asked.append(len(some))
        return X[[int(name.split()[1]) for name in some]]

    learner = kind(lam=1.0, preprocessor=X).fit(rows, y)
    expected = learner.decision_function(rows)
    for preprocessor, given in (
        (frame, rows),
        (X.tolist(), rows.tolist()),
        (sparse.csr_array(X), pd.DataFrame(rows)),
        (looked_up, names[rows]),
    ):
        other = kind(lam=1.0, preprocessor=preprocessor).fit(given, y)
        np.testing.assert_allclose(other.decision_function(given), expected, atol=1e-9)
        np.testing.assert_allclose(other.decision_function(X[rows]), expected, atol=1e-9)
    assert set(asked) == {len(np.unique(rows))}  # each point once
    assert list(kind(lam=1.0, preprocessor=frame).fit(rows, y).feature_names_in_) == list("abcd")
    alone = kind(lam=1.0, tol=1e-10).fit(X[rows], y)
    np.testing.assert_allclose(alone.decision_function(X[rows]), expected, atol=0.05)
    np.testing.assert_array_equal(learner.transform([3, 1]), learner.transform(X[[3, 1]]))


@pytest.mark.parametrize("kind", SIZES)
def test_scikit_learn_searches_and_scores_them(kind):
    X, rows, y = tuples(kind)
    learner = kind(preprocessor=X)
    cv = KFold(3)
    by_hand, predicted = [], np.empty(len(y))
    for train, test in cv.split(rows):
        fold = clone(learner).fit(rows[train], y[train])
        by_hand.append(fold.score(rows[test], y[test]))
        predicted[test] = fold.predict(rows[test])
    np.testing.assert_array_equal(cross_val_score(learner, rows, y, cv=cv), by_hand)
    np.testing.assert_array_equal(cross_val_predict(learner, rows, y, cv=cv), predicted)
    accuracies = cross_val_score(learner, rows, y, cv=cv, scoring="accuracy")
    assert accuracies.mean() == pytest.approx(np.mean(predicted == y))
    assert (cross_val_score(learner, X[rows], y, cv=cv, scoring="roc_auc") > 0.7).all()
    search = GridSearchCV(learner, {"lam_ratio": [0.9, 1e-2]}, cv=cv).fit(rows, y)
    assert search.best_params_ == {"lam_ratio": 1e-2}
    pipeline = make_pipeline(clone(learner)).fit(rows, y)
    assert pipeline.score(rows, y) == clone(learner).fit(rows, y).score(rows, y) > 0.7
    if kind is not PairLearner:
        good = np.where(
            y[:, None] > 0, rows, rows[:, [0, 2, 1] + [3] * (kind is QuadrupletLearner)]
        )
        assert np.isfinite(cross_val_score(learner, good[:, : SIZES[kind]], cv=cv)).all()


STRATEGIES = [
    ({}, lambda y, p: accuracy_score(y, p)),
    ({"strategy": "f_beta", "beta": 0.5}, lambda y, p: fbeta_score(y, p, beta=0.5)),
    ({"strategy": "f_beta", "beta": 2.0}, lambda y, p: fbeta_score(y, p, beta=2.0)),
    (
        {"strategy": "max_tpr", "min_rate": 0.7},
        lambda y, p: (p[y > 0] > 0).mean() if (p[y < 0] < 0).mean() >= 0.7 else -1.0,
    ),
    (
        {"strategy": "max_tnr", "min_rate": 0.7},
        lambda y, p: (p[y < 0] < 0).mean() if (p[y > 0] > 0).mean() >= 0.7 else -1.0,
    ),
]


@pytest.mark.parametrize(("options", "measure"), STRATEGIES)
def test_the_threshold_is_the_best_of_all(options, measure):
    X, rows, y = tuples(PairLearner)
    rows, y = np.vstack((rows, rows[:40])), np.append(y, y[:40])  # equal distances
    learner = PairLearner(preprocessor=X).fit(rows, y)
    found = learner.calibrate_threshold(rows, y, **options).threshold_
    best = measure(y, learner.predict(rows))
    apart = learner.pair_distance(rows)
    others = {}
    for threshold in (apart.min() - 1.0, *apart, apart.max() + 1.0):
        others[threshold] = measure(y, learner.set_threshold(threshold).predict(rows))
    assert best == pytest.approx(max(others.values())) and len(set(others.values())) > 3
    assert found == min(t for t, value in others.items() if value >= best - 1e-12)
    assert learner.score(rows, y) == roc_auc_score(y, -apart)


def test_the_threshold_may_reject_or_accept_all_and_counts_weights():
    X, rows, y = tuples(PairLearner)
    learner = PairLearner(preprocessor=X).fit(rows, y)
    assert (learner.calibrate_threshold(rows, -np.ones(len(y))).predict(rows) == -1).all()
    assert (learner.calibrate_threshold(rows, np.ones(len(y))).predict(rows) == 1).all()
    learner.calibrate_threshold(rows, y, sample_weight=np.where(y > 0, 1.0, 1e-9))
    assert (learner.predict(rows)[y > 0] == 1).all()
    for options, error, text in (
        ({"strategy": "best"}, ValueError, "strategy must be 'accuracy', 'f_beta', 'max_tpr' or"),
        ({"strategy": "max_tpr"}, TypeError, "min_rate must be a real number"),
        ({"strategy": "max_tnr", "min_rate": 1.5}, ValueError, "min_rate must be at most 1"),
        ({"strategy": "f_beta", "beta": "big"}, TypeError, "beta must be a real number"),
    ):
        with pytest.raises(error, match=text):
            learner.calibrate_threshold(rows, y, **options)


LABELS = {
    TripletLearner: "1 for tuples in the right order and -1 for the others",
    PairLearner: "1 for similar pairs and -1 for dissimilar ones",
}


@pytest.mark.parametrize("kind", SIZES)
def test_what_is_wrong_is_named(kind):
    X, rows, y = tuples(kind)
    name, size = kind._what, SIZES[kind]
    with pytest.raises(NotFittedError):
        kind(preprocessor=X).predict(rows)
    shape = rf"{name} must have shape \(n, {size}, d\), or \(n, {size}\) for a preprocessor, got"
    for wrong in (rows, X[rows][:, 1:], X[rows][0, 0], np.zeros((2, size, 2, 2))):
        with pytest.raises(ValueError, match=shape):
            kind().fit(wrong, y)
    cases = [
        (
            rows,
            2 * y,
            ValueError,
            f"y must hold {LABELS.get(kind, LABELS[TripletLearner])}, found [-]?2",
        ),
        (rows, y[1:], ValueError, "y must have shape"),
        (rows - 1, y, ValueError, "rows of the preprocessor, must lie in 0..23, found -1"),
        (rows + 1, y, ValueError, "rows of the preprocessor, must lie in 0..23, found 24"),
        (rows * 1.0, y, TypeError, "rows of the preprocessor, must be integers, got dtype float64"),
        (np.where(rows[:, :, None] < 3, np.nan, X[rows]), y, ValueError, "NaN"),
    ]
    for given, labels, error, text in cases:
        with pytest.raises(error, match=text):
            kind(preprocessor=X).fit(given, labels)
    for weights in (np.zeros(len(y)), -np.ones(len(y))):
        with pytest.raises(ValueError, match="sample_weight must"):
            kind(preprocessor=X).fit(rows, y, weights)
    with pytest.raises(ValueError, match="lam and lam_ratio must not both be given"):
        kind(1.0, lam_ratio=0.1, preprocessor=X).fit(rows, y)
    learner = kind(preprocessor=X).fit(rows, y)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        learner.predict(X[rows][:, :, :3])
    if kind is PairLearner:
        with pytest.raises(
            ValueError, match="y must hold a -1 for at least one dissimilar pair, found only 1"
        ):
            kind(preprocessor=X).fit(rows, np.ones(len(y)))


@pytest.mark.parametrize("diagonal", [False, True])
def test_components_are_as_many_as_asked_for(diagonal):
    X, rows, y = tuples(TripletLearner, d=6)
    whole = TripletLearner(diagonal=diagonal, preprocessor=X).fit(rows, y)
    M, rank = whole.get_mahalanobis_matrix(), len(whole.components_)
    assert 2 < rank <= 6
    for n in range(1, 7):
        part = clone(whole).set_params(n_components=n).fit(rows, y)
        assert part.components_.shape == (n, 6)
        assert part.transform(X).shape == (len(X), n) == (len(X), len(part.get_feature_names_out()))
        lost = np.linalg.eigvalsh(M)[: max(6 - n, 0)]
        error = np.linalg.norm(part.get_mahalanobis_matrix() - M)
        assert error == pytest.approx(np.linalg.norm(lost), abs=1e-9)  # Eckart and Young
    for wrong in (0, 7, 2.0):
        with pytest.raises(ValueError, match=r"n_components must be in 1..6 or None, got"):
            clone(whole).set_params(n_components=wrong).fit(rows, y)


@pytest.mark.parametrize("model", [TripletMetric(k=3, lam_ratio=0.01), HDSL(max_iter=30)])
def test_labelled_points_by_their_numbers(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = rng.standard_normal((40, 5)) + y[:, None]
    numbers = rng.permutation(40)[:30]
    plain = clone(model).fit(X[numbers], y[numbers])
    named = clone(model).set_params(preprocessor=X).fit(numbers, y[numbers])
    np.testing.assert_array_equal(named.predict(numbers), plain.predict(X[numbers]))
    np.testing.assert_array_equal(named.transform(numbers), plain.transform(X[numbers]))
    pairs = numbers.reshape(-1, 2)
    np.testing.assert_array_equal(named.pair_score(pairs), plain.pair_score(X[pairs]))
    np.testing.assert_array_equal(named.pair_distance(pairs), plain.pair_distance(X[pairs]))
    with pytest.warns(FutureWarning, match="score_pairs is an old name"):
        np.testing.assert_array_equal(named.score_pairs(pairs), plain.pair_distance(X[pairs]))
    rows = rng.permutation(30).reshape(-1, 3)
    assert named.score_triplets(rows) == plain.score_triplets(X, rows)
    scores = cross_val_score(clone(named), np.arange(40), y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(clone(plain), X, y, cv=3))


@pytest.mark.parametrize(
    ("learner", "odd"),
    [
        (ss.PairLearner, [[3, 3], [5, 5]]),
        (ss.TripletLearner, [[0, 0, 2], [1, 4, 4], [2, 5, 2], [7, 7, 7]]),
        (ss.QuadrupletLearner, [[4, 4, 2, 3], [2, 3, 6, 6], [1, 2, 1, 2], [1, 2, 2, 1], [5] * 4]),
    ],
)
def test_a_point_with_itself_by_number_is_one_by_coordinates(learner, odd):
    """Such a tuple adds a constant to the objective, and may decide nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    size = len(odd[0])
    usual = [rng.choice(20, size, replace=False) for _ in range(30)]
    rows = np.array([*odd, *usual])
    y = np.where(np.arange(len(rows)) % 2, 1, -1)
    options = {"lam": 0.5, "tol": 1e-9}
    by_number = learner(preprocessor=X, **options).fit(rows, y)
    by_coordinates = learner(**options).fit(X[rows], y)
    found, expected = (m.get_mahalanobis_matrix() for m in (by_number, by_coordinates))
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    without = learner(preprocessor=X, **options).fit(rows[len(odd) :], y[len(odd) :])
    if learner is ss.PairLearner:
        np.testing.assert_allclose(found, without.get_mahalanobis_matrix(), atol=1e-3)
    np.testing.assert_array_equal(by_number.predict(rows), by_coordinates.predict(X[rows]))
