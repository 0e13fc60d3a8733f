"""Metadata routing: weights and groups reach who requests them, as in scikit-learn, and nobody
else.
"""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from safescreen import HDSL, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV
from safescreen_book import datasets

SINGLE = [SafeSVC(0.1), TripletMetric(k=2), HDSL(max_iter=20)]
SEARCHES = [
    SafeSVCCV(Cs=[0.01, 0.1]),
    TripletMetricCV(TripletMetric(k=2, tol=1e-2), 2),
]


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def data():
    X, y = datasets.load("iris", return_X_y=True)
    rng = np.random.default_rng(0)
    return X, y, rng.uniform(0.5, 2.0, y.size), rng.permutation(y.size) % 5


def name(model):
    return type(model).__name__


@pytest.mark.parametrize("model", [*SINGLE, *SEARCHES], ids=name)
def test_requests_are_those_of_the_signatures(model):
    requests = clone(model).set_fit_request(sample_weight=True).get_metadata_routing()
    own = getattr(requests, "_self_request", requests) or requests
    assert own.fit.requests == {"sample_weight": True} and own.score.requests == {
        "sample_weight": None
    }
    assert requests.consumes("fit", ["sample_weight", "groups", "colour"]) == {"sample_weight"}


@pytest.mark.parametrize("model", SINGLE, ids=name)
def test_weights_through_a_pipeline_in_a_search(model):
    X, y, weights, groups = data()
    key = name(model).lower()
    pipe = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        clone(model).set_fit_request(sample_weight=True),
    )
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    grid = {f"{key}__{'C' if key == 'safesvc' else 'n_neighbors'}": [1, 3]}
    search = GridSearchCV(pipe, grid, cv=GroupKFold(3), scoring=scorer).fit(
        X, y, sample_weight=weights, groups=groups
    )
    alone = pipe.set_params(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    scored = cross_validate(
        pipe,
        X,
        y,
        cv=GroupKFold(3),
        scoring=scorer,
        params={"sample_weight": weights, "groups": groups},
    )
    assert search.best_score_ == pytest.approx(scored["test_score"].mean())
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(type(model)()).fit(X, y, sample_weight=weights)


def sklearn_refuses_weights_of_which_a_scorer_says_nothing():
    """Return whether GridSearchCV refuses them: 1.9 does, 1.7 and 1.8 score without them."""
    X, y, weights, _ = data()
    estimator = SVC().set_fit_request(sample_weight=True)
    search = GridSearchCV(estimator, {"C": [1.0]}, scoring=make_scorer(accuracy_score), cv=3)
    try:
        search.fit(X, y, sample_weight=weights)
    except UnsetMetadataPassedError:
        return True
    return False


@pytest.mark.parametrize("model", SEARCHES, ids=name)
def test_groups_are_the_splitters_and_weights_the_scorers_if_it_wants_them(model):
    X, y, weights, groups = data()
    model, scores = clone(model).set_fit_request(sample_weight=True), {}
    for wanted in (True, False):
        model = model.set_params(
            cv=GroupKFold(3),
            scoring=make_scorer(accuracy_score).set_score_request(sample_weight=wanted),
            refit=False,
        )
        scores[wanted] = model.fit(X, y, sample_weight=weights, groups=groups).scores_
    for row, (_, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        shares = scores[False][row] * test.size  # of points, not of weights
        np.testing.assert_allclose(shares, np.round(shares))
    assert (scores[True] != scores[False]).any()
    model.set_params(scoring=make_scorer(accuracy_score))
    if sklearn_refuses_weights_of_which_a_scorer_says_nothing():
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            model.fit(X, y, sample_weight=weights, groups=groups)
    else:
        unsaid = model.fit(X, y, sample_weight=weights, groups=groups).scores_
        np.testing.assert_array_equal(unsaid, scores[False])
    with pytest.raises(TypeError, match="unexpected argument.*colour"):
        model.fit(X, y, colour=weights)
    with pytest.raises(TypeError, match="unexpected argument.*groups"):
        model.set_params(cv=3).fit(X, y, groups=groups)
    routed = make_pipeline(model.set_params(cv=GroupKFold(3))).fit(X, y, groups=groups)
    assert routed[-1].scores_.shape[0] == 3


def test_without_routing_weights_are_in_every_score():
    X, y, weights, groups = data()
    model = SafeSVCCV(
        SafeSVC().set_score_request(sample_weight=True),
        3,
        cv=GroupKFold(3),
        refit=False,
    )
    scores = model.fit(X, y, weights, groups).scores_
    with config_context(enable_metadata_routing=False):
        np.testing.assert_array_equal(model.fit(X, y, weights, groups=groups).scores_, scores)
        with pytest.raises(ValueError, match="colour"):
            model.fit(X, y, colour=weights)
