"""More features than points, sparse points, many triplets, and what a fitted metric keeps."""

import gc
import pickle
import weakref
from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import safescreen as ss
from safescreen import TripletMetric, TripletMetricCV, _checks
from safescreen.estimators import _mahalanobis, triplet_metric
from safescreen_book import datasets


def wide(n=24, d=36, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 100.0 + 0.5 * (y[:, None] == np.arange(d) % 4), y


@lru_cache
def listed_and_solved(k):
    """Return the problem of all features, its solution, and a metric fitted to listed triplets."""
    X, y = wide()
    prob = ss.Problem(ss.Triplets.from_labels(X, y, k=k), ss.SmoothedHinge(0.05))
    direct = ss.solve(prob, 0.01 * prob.lam_max(), tol=0.0, rtol=1e-9)
    return prob, direct, TripletMetric(k=k, tol=1e-9, product=False).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("k", [2, None])
def test_the_span_of_the_points_holds_the_optimum(product, k):
    X, y = wide()
    prob, direct, listed = listed_and_solved(k)
    model = TripletMetric(k=k, tol=1e-9, product=True).fit(X, y) if product else listed
    assert model.lam_ == pytest.approx(direct.lam, rel=1e-9)
    assert model.components_.shape[1] == 36 and model.solution_.x.shape == (24, 24)
    M = model.get_mahalanobis_matrix()
    assert prob.gap(M, model.lam_) <= 2e-9 * prob.primal(M, model.lam_)
    apart = direct.eps + model.solution_.eps
    assert apart < 1e-3 * np.linalg.norm(M)
    assert np.linalg.norm(M - direct.x) <= apart
    values = model.components_ @ model.components_.T
    np.testing.assert_allclose(
        values,
        np.diag(np.sort(np.linalg.eigvalsh(M))[::-1][: len(values)]),
        atol=1e-12 * values[0, 0],
    )
    np.testing.assert_array_equal(model.predict(X), listed.predict(X))


@pytest.mark.slow
def test_triplets_weights_paths_and_choices_of_lam_in_the_span():
    X, y = wide()
    triplets, weights = ss.Triplets.from_labels(X, y, k=2).index, 1.0 + np.arange(24) % 2
    model = TripletMetric(lam=500.0, k=2, tol=1e-8)
    terms = ss.Triplets(X, triplets, weights=weights[triplets[:, 0]])
    expected = ss.solve(ss.Problem(terms, ss.SmoothedHinge(0.05)), 500.0, tol=0.0, rtol=1e-8)
    for fitted in (
        clone(model).fit(X, y, weights),
        clone(model).fit_triplets(X, triplets, weights[triplets[:, 0]]),
        clone(model).set_params(with_path=True).fit(X, y, weights),
        TripletMetricCV(model, [2000.0, 500.0], cv=2, scoring=lambda m, X, y, **_: -m.lam_).fit(
            X, y, weights
        ),
    ):
        best = getattr(fitted, "best_estimator_", fitted)
        assert (
            np.linalg.norm(fitted.get_mahalanobis_matrix() - expected.x)
            <= best.solution_.eps + expected.eps
            < 1e-2
        )
    scores = TripletMetricCV(model, [2000.0, 500.0], cv=2).fit(X, y).scores_
    assert scores.shape == (2, 2) and (scores > 0.3).all()


def test_neighbours_are_those_of_the_points_as_they_came():
    """Points of few integers tie in their distances, and the lower index comes first, whatever
    rounding makes of coordinates.
    """
    X, y = np.random.default_rng(1).integers(0, 2, (20, 30)) * 1.0, np.arange(20) % 2
    listed = ss.Triplets.from_labels(X, y, 2)
    for product in (False, True):
        terms = (
            TripletMetric(lam=1.0, k=2, product=product, keep_problem=True)
            .fit(X, y)
            .solution_.problem.terms
        )
        np.testing.assert_array_equal(terms.index, listed.index)
        assert terms.points.d == 20
    with pytest.raises(
        ValueError, match=r"coordinates must be those of the 20 points of X, got shape \(19, 3\)"
    ):
        ss.Triplets.from_labels(X, y, 2, coordinates=np.ones((19, 3)))


def test_very_many_features():
    X, y = wide(30, 30_000)
    model = TripletMetric(k=3).fit(X, y)
    assert (
        model.components_.shape == (len(model.components_), 30_000) and len(model.components_) <= 30
    )
    assert model.score(X, y) > 0.9
    assert len(pickle.dumps(model)) < 30 * 30_000 * 8 + 100_000
    many = TripletMetric(k=3).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(many.predict(sparse.csr_array(X)), model.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("diagonal", [False, True])
def test_sparse_points_are_dense_ones(container, diagonal):
    X, y = wide(24, 5 if diagonal else 30)
    X = np.where(X > 100.0, X - 100.0, 0.0)
    weights, model = 1.0 + np.arange(24) % 2, TripletMetric(k=3, diagonal=diagonal)
    dense, same = clone(model).fit(X, y, weights), clone(model).fit(container(X), y, weights)
    np.testing.assert_array_equal(same.components_, dense.components_)
    np.testing.assert_allclose(same.transform(container(X)), dense.transform(X), atol=1e-12)
    triplets = ss.Triplets.from_labels(X, y, k=2).index
    same.fit_triplets(container(X), triplets)
    assert same.score_triplets(container(X), triplets) == pytest.approx(
        dense.fit_triplets(X, triplets).score_triplets(X, triplets)
    )


def test_what_does_not_fit_says_what_to_do(monkeypatch):
    X, y = datasets.load("iris", return_X_y=True)
    model = TripletMetric(k=3).fit(X, y)
    monkeypatch.setattr(_checks, "free_memory", lambda: 100.0)
    with pytest.raises(
        MemoryError,
        match=r"a matrix of shape \(4, 4\) would take 1.28e-07 GB, and 1e-07 GB are free: "
        r"use its factor, components_",
    ):
        model.get_mahalanobis_matrix()
    monkeypatch.setattr(_checks, "free_memory", lambda: 2e7)
    with pytest.raises(
        MemoryError,
        match=(
            "k=None makes 7.35e\\+05 triplets, which would take 0.0294 GB.*: use product=True, "
            "or take a smaller"
        ),
    ):
        TripletMetric(k=None, product=False).fit(X, y)
    monkeypatch.setattr(_checks, "free_memory", lambda: 1e5)
    with pytest.raises(
        MemoryError,
        match="k=5 makes 3.75e\\+03 triplets, .*: leave sample_weight out, or take a smaller k",
    ):
        TripletMetric().fit(X, y, 1.0 + np.arange(150))
    with pytest.raises(
        MemoryError,
        match=r"solving Problem.* would take .* are free: "
        r"take fewer features \(PCA, diagonal=True\)",
    ):
        TripletMetric(k=1).fit(np.eye(100), np.arange(100) % 2)
    with pytest.raises(
        MemoryError,
        match=r"a metric of sparse X of shape \(150, 4\) .*: "
        r"put a TruncatedSVD before it, or use HDSL",
    ):
        monkeypatch.setattr(_checks, "free_memory", lambda: 1e4)
        TripletMetric().fit(sparse.csr_array(X), y)


def test_products_where_there_are_many(monkeypatch):
    X, y = datasets.load("iris", return_X_y=True)
    y = np.where(np.arange(150) == 3, 7, y)  # a class of one point has no triplets
    for k in (3, None):
        n = len(ss.Triplets.from_labels(X, y, k))
        for limit, kind in ((n, ss.Triplets), (n - 1, ss.ProductTriplets)):
            monkeypatch.setattr(triplet_metric, "LISTED", limit)
            terms = (
                TripletMetric(k=k, tol=1e-2, keep_problem=True).fit(X, y).solution_.problem.terms
            )
            assert type(terms) is kind and len(terms) == n
    weighted = (
        TripletMetric(k=None, tol=1e-2, keep_problem=True)
        .fit(X, y, 1.0 + np.arange(150) % 2)
        .solution_.problem.terms
    )
    assert type(weighted) is ss.Triplets
    for product in ("maybe", 1):
        with pytest.raises(
            ValueError, match=f"product must be True, False or 'auto', got {product!r}"
        ):
            TripletMetric(product=product).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"with_path": True}, {"product": True}, {"product": True, "with_path": True}]
)
def test_a_fitted_metric_keeps_no_triplets(monkeypatch, options):
    X, y = datasets.load("iris", return_X_y=True)
    made, problem = [], TripletMetric._problem
    monkeypatch.setattr(
        TripletMetric,
        "_problem",
        lambda self, terms: made.append(weakref.ref(terms)) or problem(self, terms),
    )
    model = TripletMetric(k=20, path_ratio=0.5, **options).fit(X, y)
    gc.collect()
    assert len(made) == 1 and made[0]() is None
    solutions = [model.solution_, *(model.path_ or ())]
    assert all(
        s.n_terms == 60_000 and s.problem is None and 0.0 <= s.screening_rate <= 1.0
        for s in solutions
    )
    size = 3 * 60_000 + 40_000 * len(solutions)  # masks, and dual points, some bits a triplet
    again = pickle.loads(pickle.dumps(model))
    assert (
        len(pickle.dumps(model)) < size
        and again.dual_gap_ == model.dual_gap_ == again.solution_.gap
    )
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    kept = TripletMetric(k=20, path_ratio=0.5, keep_problem=True, **options).fit(X, y)
    assert {s.problem for s in (kept.path_ or ())} <= {kept.solution_.problem} and len(
        kept.solution_.problem
    ) == 60_000
    if "product" in options:
        with pytest.raises(
            AttributeError, match="computed from the problem, which this solution does not hold"
        ):
            print(model.solution_.alpha)
    else:
        np.testing.assert_array_equal(model.solution_.alpha, kept.solution_.alpha)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("d", [4, 60])
def test_a_warm_start_is_the_last_metric(d, diagonal):
    X, y = wide(30, d)
    model = TripletMetric(lam_ratio=0.02, k=3, diagonal=diagonal, warm_start=True, tol=1e-5).fit(
        X, y
    )
    cold = model.n_iter_
    again = pickle.loads(pickle.dumps(model)).fit(X, y)
    assert cold > 5 and again.n_iter_ <= 1
    assert model.fit(X[:, ::-1], y).n_iter_ > 1
    other = model.fit(X[:, 1:], y)
    np.testing.assert_array_equal(other.components_, clone(model).fit(X[:, 1:], y).components_)


def test_labelled_points_give_their_weight_to_the_triplets_they_anchor():
    """Not to those they take part in: a point of weight 100 changes the metric around it."""
    X, y = wide(24, 4)
    weights = np.where(np.arange(24) == 5, 100.0, 1.0)
    model = TripletMetric(lam=50.0, k=2, tol=1e-8).fit(X, y, weights)
    index = ss.Triplets.from_labels(X, y, k=2).index
    found = {}
    for place in range(3):
        prob = ss.Problem(
            ss.Triplets(X, index, weights=weights[index[:, place]]), ss.SmoothedHinge(0.05)
        )
        found[place] = prob.gap(model.get_mahalanobis_matrix(), 50.0) / prob.primal(
            model.get_mahalanobis_matrix(), 50.0
        )
    assert found[0] <= 1e-7 and min(found[1], found[2]) > 1e-3


def test_points_far_from_the_origin_keep_their_distances_in_the_span():
    """Coordinates are those of differences from the mean: of the points themselves the last
    digits would be lost.
    """
    X, _ = wide()
    near = np.round(1024.0 * X) / 1024.0
    far = near + 2.0**38  # exact
    kept, _ = TripletMetric()._coordinates(far)
    wanted = ((near[:, None] - near[None]) ** 2).sum(axis=2)
    found = ((kept[:, None] - kept[None]) ** 2).sum(axis=2)
    assert kept.shape == (24, 24) and np.allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("smallest", [1e-9, 1e-11])
def test_a_factor_has_the_rank_of_the_metric(smallest):
    """Eigenvalues that are rounding are no dimensions, and small ones that are not are kept."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    values = np.array([3.0, 1.0, smallest, 0.0, 0.0, 0.0])
    M = (Q * values) @ Q.T
    factor = _mahalanobis._factor(0.5 * (M + M.T))
    assert factor.shape == (3, 6)
    assert np.allclose(factor.T @ factor, M, rtol=0, atol=1e-14)
    assert np.allclose(np.linalg.norm(factor, axis=1) ** 2, values[:3], rtol=1e-4)
    largest = factor[np.arange(3), np.abs(factor).argmax(axis=1)]
    assert (largest > 0.0).all()  # of two opposite rows the same one, whatever LAPACK gives
    assert (
        _mahalanobis._factor(np.zeros((4, 4))).shape
        == _mahalanobis._factor(np.zeros(4)).shape
        == (1, 4)
    )
