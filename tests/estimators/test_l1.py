"""Sparse diagonal metrics: the l1 parameter of TripletMetric."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen import TripletMetric

CHOICES = [
    {},
    {"product": True},
    {"with_path": True},
    {"smoothing": 1.5},
    {"screening": ()},
    {"active_set": True},
]


def data(n_noise=12):
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).uniform(size=(len(X), n_noise))
    return np.hstack([X[::3], 3.0 * noise[::3]]), y[::3]


@pytest.mark.parametrize("options", CHOICES)
def test_it_is_the_solution_of_the_penalised_problem(options):
    X, y = data()
    metric = TripletMetric(k=3, diagonal=True, l1=0.2, tol=1e-8, **options).fit(X, y)
    terms = ss.Triplets.from_labels(X, y, k=3, diagonal=True)
    loss = ss.SmoothedHinge(options.get("smoothing", 0.05))
    plain = ss.Problem(terms, loss)
    alpha = plain.alpha(np.zeros(16))
    assert metric.l1_ == pytest.approx(0.2 * terms.adjoint(alpha).max(), rel=1e-12)
    prob = ss.Problem(terms, loss, linear=np.full(16, -metric.l1_))
    best = ss.solve(prob, metric.lam_, rtol=1e-11, screening=())
    x = np.diag(metric.get_mahalanobis_matrix())
    assert np.linalg.norm(x - best.x) <= metric.solution_.eps + best.eps + 1e-9
    assert metric.dual_gap_ <= 1e-8 * metric.solution_.primal
    assert metric.relative_gap_ == metric.dual_gap_ / metric.solution_.primal
    assert 0 < np.count_nonzero(x) < 8
    if options.get("screening") is None and not options.get("product"):
        assert metric.solution_.zero_features is not None


def test_at_the_penalty_that_it_is_relative_to_all_weights_are_zero():
    X, y = data()
    metric = TripletMetric(k=3, diagonal=True, l1=0.5).fit(X, y)
    terms = ss.Triplets.from_labels(X, y, k=3, diagonal=True)
    for factor, is_zero in ((2.0001, True), (1.99, False)):
        linear = np.full(16, -factor * metric.l1_)
        prob = ss.Problem(terms, ss.SmoothedHinge(0.05), linear=linear)
        assert (not ss.solve(prob, 1.0, rtol=1e-10).x.any()) == is_zero


def test_judgements_and_pipelines_take_it():
    X, y = data()
    triplets = ss.Triplets.from_labels(X, y, k=2).index
    metric = clone(TripletMetric(diagonal=True, l1=0.3)).fit_triplets(X, triplets)
    assert metric.l1 == 0.3 and metric.l1_ > 0.0
    assert metric.transform(X).shape[1] < 8
    assert TripletMetric(diagonal=True).fit(X, y).l1_ == 0.0


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"l1": 0.1}, ValueError, "got l1=0.1 with diagonal=False: use diagonal=True"),
        ({"l1": 1.0, "diagonal": True}, ValueError, "l1 must be less than 1"),
        ({"l1": -0.1, "diagonal": True}, ValueError, "l1 must be at least 0"),
        ({"l1": np.nan, "diagonal": True}, ValueError, "l1 must be finite"),
        ({"l1": "much", "diagonal": True}, TypeError, "l1 must be a real number"),
    ],
)
def test_what_it_refuses(options, error, text):
    X, y = data()
    with pytest.raises(error, match=text):
        TripletMetric(k=3, **options).fit(X, y)
