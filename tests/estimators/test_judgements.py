"""Judgements of people: they repeat and contradict each other, and are what a metric is fitted
to and scored by.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import safescreen as ss
from safescreen import HDSL, TripletMetric, TripletMetricCV


def judged(n=24, d=4, T=160, seed=0):
    """Return points and judgements by the first coordinates alone, a fifth of them wrong, some
    twice.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    triplets = np.array([rng.choice(n, 3, replace=False) for _ in range(T)])
    i, j, m = X[triplets][:, :, : d // 2].transpose(1, 0, 2)
    wrong = (np.sum((i - j) ** 2, axis=1) > np.sum((i - m) ** 2, axis=1)) ^ (
        rng.uniform(size=T) < 0.2
    )
    triplets[wrong] = triplets[wrong][:, [0, 2, 1]]
    return X, np.vstack((triplets, triplets[:30], triplets[20:40][:, [0, 2, 1]]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"diagonal": True},
        {"with_path": True},
        {"active_set": True},
        {"screening": ("RRPB", "MGB")},
    ],
)
def test_repetitions_are_weights_and_contradictions_count(options):
    X, triplets = judged()
    distinct, counts = np.unique(triplets, axis=0, return_counts=True)
    assert counts.max() > 1 and len(
        np.unique(np.vstack((distinct, distinct[:, [0, 2, 1]])), axis=0)
    ) < 2 * len(distinct)
    model = TripletMetric(lam=3.0, tol=1e-8, **options)
    listed = clone(model).fit_triplets(X, triplets)
    weighted = clone(model).fit_triplets(X, distinct, triplet_weight=counts)
    apart = listed.solution_.eps + weighted.solution_.eps
    assert apart < 1e-2
    assert (
        np.linalg.norm(listed.get_mahalanobis_matrix() - weighted.get_mahalanobis_matrix()) <= apart
    )
    prob = ss.Problem(
        ss.Triplets(X, triplets, diagonal="diagonal" in options), ss.SmoothedHinge(0.05)
    )
    assert prob.gap(listed.solution_.x, 3.0) <= 1.1e-8 * prob.primal(listed.solution_.x, 3.0)
    assert 0.6 < listed.score_triplets(X, triplets) < 1.0


@pytest.mark.parametrize(
    "model", [TripletMetric(lam=1.0), HDSL(20.0, max_iter=50)], ids=["metric", "similarity"]
)
def test_agreement_by_its_definition(model):
    X, triplets = judged()
    model.fit_triplets(X, triplets)
    M = model.get_mahalanobis_matrix()
    M = M if isinstance(M, np.ndarray) else M.toarray()

    def closeness(x, y):
        return x @ M @ y if isinstance(model, HDSL) else -np.sqrt((x - y) @ M @ (x - y))

    right = np.array([float(closeness(X[i], X[j]) > closeness(X[i], X[m])) for i, j, m in triplets])
    assert model.score_triplets(X, triplets) == pytest.approx(right.mean())
    assert model.score_triplets(X[triplets]) == pytest.approx(right.mean())
    weights = np.random.default_rng(0).integers(0, 3, len(right))
    assert model.score_triplets(X, triplets, weights) == pytest.approx(
        weights @ right / weights.sum()
    )
    assert model.score_triplets(np.vstack((X, X[:1])), [[1, 0, len(X)], [2, len(X), 0]]) == 0.5
    pairs = X[triplets][:, :2]
    np.testing.assert_allclose(
        model.pair_score(pairs), [closeness(x, y) for x, y in pairs], atol=1e-10
    )
    metric, before = model.get_metric(), model.pair_distance(pairs[:3])
    np.testing.assert_allclose([metric(x, y) for x, y in pairs[:3]], before)
    model.fit_triplets(X, triplets[:5])
    np.testing.assert_allclose([metric(x, y) for x, y in pairs[:3]], before)


@pytest.mark.parametrize(
    "model", [TripletMetric(lam=1.0), HDSL(20.0, max_iter=50)], ids=["metric", "similarity"]
)
def test_triplets_as_features(model):
    X, triplets = judged()
    one, two = clone(model).fit_triplets(X, triplets), clone(model).fit_triplets(X[triplets])
    np.testing.assert_allclose(
        one.pair_distance(X[triplets][:, :2]),
        two.pair_distance(X[triplets][:, :2]),
        rtol=1e-2,
        atol=1e-2,
    )
    for wrong, given in ((X[triplets], triplets), (X[triplets][:, :2], None)):
        with pytest.raises(
            ValueError,
            match=r"X must have shape \(T, 3, d\) without triplets, or \(n, d\) with them, got",
        ):
            model.fit_triplets(wrong, given)
    with pytest.raises(ValueError, match="triplets must be given with points X of shape"):
        model.fit_triplets(X)


BAD = [
    (
        [[0, 1, 1]],
        None,
        ValueError,
        r"triplets: closer and farther must be different points, row 0 is \[0, 1, 1\]",
    ),
    ([[0, 0, 1]], None, ValueError, "triplets: anchor and closer must be different"),
    ([[0, 1, 24]], None, ValueError, "triplets must lie in 0..23, found 24"),
    ([[0.0, 1.0, 2.0]], None, TypeError, "triplets must hold integers"),
    (
        [[0, 1]],
        None,
        ValueError,
        r"triplets must have shape \(T, 3\): anchor, closer, farther; got \(1, 2\)",
    ),
    (np.empty((0, 3), dtype=int), None, ValueError, "triplets must hold at least one triplet"),
    ([[0, 1, 2]], [1.0, 2.0], ValueError, r"triplet_weight must have shape \(1,\)"),
    ([[0, 1, 2]], [-1.0], ValueError, "triplet_weight must be at least 0, found -1"),
    ([[0, 1, 2]], [0.0], ValueError, "triplet_weight must hold a positive weight"),
    ([[0, 1, 2]], [np.nan], ValueError, "triplet_weight must be finite"),
]


@pytest.mark.parametrize(("triplets", "weights", "error", "text"), BAD)
def test_messages_are_in_the_words_of_the_estimator(triplets, weights, error, text):
    X, good = judged()
    for model in (
        TripletMetric(lam=1.0),
        TripletMetricCV(TripletMetric(), 2),
        HDSL(1.0, max_iter=5),
    ):
        with pytest.raises(error, match=text):
            model.fit_triplets(X, triplets, weights)
    with pytest.raises(error, match=text):
        TripletMetric(lam=1.0).fit_triplets(X, good).score_triplets(X, triplets, weights)
    with pytest.raises(error, match=text):
        ss.screen_triplets(X, triplets, np.eye(4), 1.0, triplet_weight=weights)


def test_lam_by_held_out_agreement():
    X, triplets = judged(T=300)
    lams, cv = np.array([100.0, 3.0, 0.01]), KFold(3, shuffle=True, random_state=0)
    search = TripletMetricCV(TripletMetric(tol=1e-6), lams, cv=cv).fit_triplets(X, triplets)
    for row, (train, test) in enumerate(cv.split(triplets)):
        expected = [
            TripletMetric(lam, tol=1e-6)
            .fit_triplets(X, triplets[train])
            .score_triplets(X, triplets[test])
            for lam in lams
        ]
        np.testing.assert_allclose(search.scores_[row], expected, atol=0.02)
    assert search.lam_ == lams[search.scores_.mean(axis=0).argmax()] == search.best_estimator_.lam_
    assert search.score_triplets(X, triplets) > 0.6 and search.pair_score(X[None, :2]).shape == (1,)
    with pytest.raises(AttributeError, match="not fitted with labels"):
        search.predict(X)
    weights = np.tile([0.5, 2.0], len(triplets))[: len(triplets)]
    other = TripletMetricCV(TripletMetric(), 3, cv=cv).fit_triplets(X, triplets, weights)
    assert other.scores_.shape == (3, 3) and other.lams_[0] > other.lams_[-1]
    with pytest.raises(
        TypeError, match="scoring must be a function or None for triplets, got 'accuracy'"
    ):
        TripletMetricCV(TripletMetric(), 3, scoring="accuracy").fit_triplets(X, triplets)


def test_weight_zero_in_screening():
    X, triplets = judged()
    weights = np.arange(len(triplets)) % 3 * 1.0
    M = (
        TripletMetric(lam=50.0, tol=1e-8)
        .fit_triplets(X, triplets, weights)
        .get_mahalanobis_matrix()
    )
    found, kept = ss.screen_triplets(X, triplets, M, 50.0, triplet_weight=weights), weights > 0.0
    alone = ss.screen_triplets(X, triplets[kept], M, 50.0, triplet_weight=weights[kept])
    np.testing.assert_array_equal(found.in_L[kept], alone.in_L)
    np.testing.assert_array_equal(found.in_R[kept], alone.in_R)
    assert (
        alone.rate > 0.5 and found.gap == alone.gap and not (found.in_L | found.in_R)[~kept].any()
    )
    alpha = np.linspace(0.0, 1.0, len(triplets))
    given = ss.screen_triplets(X, triplets, M, 50.0, alpha, triplet_weight=weights)
    assert (
        found.gap
        < given.gap
        == ss.screen_triplets(
            X, triplets[kept], M, 50.0, alpha[kept], triplet_weight=weights[kept]
        ).gap
    )
