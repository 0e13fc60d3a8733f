"""Weights and warm starts of HDSL."""

import numpy as np
import pytest
from scipy import sparse

from safescreen import HDSL, ConvergenceWarning
from safescreen.estimators._training import NotConverged
from safescreen.hdsl import nearest_triplets
from safescreen_book import datasets


@pytest.fixture(scope="module")
def digits():
    X, y = datasets.load("digits", return_X_y=True)
    return X[:150] + 1.0, y[:150]


def same(one, two):
    np.testing.assert_array_equal(one.similarity_.atoms, two.similarity_.atoms)
    np.testing.assert_array_equal(one.similarity_.weights, two.similarity_.weights)
    assert one.dual_gap_ == two.dual_gap_


@pytest.mark.parametrize(
    "options",
    [{}, {"triplets": "random"}, {"early_stopping": True, "check_every": 10, "patience": 3}],
)
def test_points_of_weight_zero_are_left_out_and_equal_weights_change_nothing(digits, options):
    X, y = digits
    some = np.arange(y.size) % 3 > 0
    model, other = (HDSL(20.0, max_iter=60, **options) for _ in range(2))
    for points in (X, sparse.csr_array(X)):
        same(model.fit(points, y, sample_weight=0.3 * some), other.fit(points[some], y[some]))
        np.testing.assert_array_equal(model.predict(points), other.predict(points))
    same(model.fit(X, y, np.full(y.size, 3.0)), other.fit(X, y))


def test_a_triplet_has_the_weight_of_its_anchor(digits):
    X, y = digits
    weights = np.random.default_rng(0).exponential(1.0, y.size)
    model = HDSL(20.0, max_iter=80).fit(X, y, weights)
    triplets = nearest_triplets(X, y)
    same(model, HDSL(20.0, max_iter=80).fit_triplets(X, triplets, weights[triplets[:, 0]]))
    plain = HDSL(20.0, max_iter=80).fit(X, y)
    assert np.abs(model.get_mahalanobis_matrix() - plain.get_mahalanobis_matrix()).max() > 1e-2


def test_the_points_set_aside_count_with_their_weights(digits):
    """Without weights an error is a number of points of those set aside, divided by all of them."""
    X, y = digits
    options = {"early_stopping": True, "check_every": 10, "max_iter": 40}
    errors = [
        row.error for row in HDSL(20.0, **options).fit(X, y).history_ if not np.isnan(row.error)
    ]
    weights = np.where(y == 3, 50.0, 1.0)
    heavy = [
        row.error
        for row in HDSL(20.0, **options).fit(X, y, weights).history_
        if not np.isnan(row.error)
    ]
    assert len(errors) == len(heavy) == 3 and errors[0] != heavy[0]
    n_held = round(0.2 * y.size)
    assert all(round(e * n_held, 9) % 1.0 == 0.0 for e in errors) and any(
        round(e * n_held, 9) % 1.0 for e in heavy
    )


def test_dense_points_make_dense_matrices_and_sparse_ones_sparse(digits):
    X, y = digits
    dense, csr = (
        HDSL(20.0, max_iter=60).fit(X, y),
        HDSL(20.0, max_iter=60).fit(sparse.csr_array(X), y),
    )
    L, M = dense.components_, dense.get_mahalanobis_matrix()
    assert isinstance(L, np.ndarray) and isinstance(M, np.ndarray) and M.shape == (64, 64)
    assert np.linalg.eigvalsh(M)[0] > -1e-10 * np.linalg.norm(M)
    np.testing.assert_allclose(L.T @ L, M, atol=1e-12)
    np.testing.assert_allclose(dense.transform(X[:5]), X[:5] @ L.T, atol=1e-12)
    assert sparse.issparse(csr.components_) and sparse.issparse(csr.get_mahalanobis_matrix())
    np.testing.assert_array_equal(csr.components_.toarray(), L)
    np.testing.assert_array_equal(csr.get_mahalanobis_matrix().toarray(), M)
    assert csr.get_metric()(X[0], X[1]) == dense.get_metric()(X[0], X[1])
    assert not hasattr(HDSL(), "components_") and csr.get_feature_names_out().size == len(L)


def test_a_matrix_that_is_too_large_is_refused_with_its_size(digits, monkeypatch):
    X, y = digits
    model = HDSL(20.0, max_iter=20).fit(X, y)
    monkeypatch.setattr("safescreen._checks.free_memory", lambda: 1e4)
    text = (
        r"a matrix of shape \(64, 64\) would take 3.28e-05 GB, .*: "
        r"use similarity_.factor\(\) or similarity_.to_sparse"
    )
    with pytest.raises(MemoryError, match=text):
        model.get_mahalanobis_matrix()
    assert model.similarity_.to_sparse().shape == (64, 64) and len(
        model.get_feature_names_out()
    ) == len(model.similarity_)
    csr = HDSL(20.0, max_iter=20).fit(sparse.csr_array(X), y)
    assert csr.get_mahalanobis_matrix().shape == (64, 64)


def test_why_the_gap_asked_for_is_not_reached(digits):
    X, y = digits
    options = {"tol": 1e-9, "check_every": 5}
    with pytest.warns(
        NotConverged,
        match=r"^gap .* after 20 iterations, asked for tol=1e-09: max_iter=20 is reached$",
    ) as seen:
        HDSL(20.0, max_iter=20, **options).fit(X, y)
    assert len(seen) == 1 and issubclass(seen[0].category, ConvergenceWarning)
    assert seen[0].filename == __file__
    with pytest.warns(NotConverged, match="after 10 iterations, .*: the callback ended it$"):
        HDSL(20.0, callback=lambda now: now.iteration == 10, **options).fit(X, y)
    with pytest.warns(NotConverged, match=r"early_stopping ended it with patience=1$"):
        HDSL(20.0, early_stopping=True, patience=1, **options).fit(X, y)
    uneven = X * np.where(np.arange(64) == 20, 1e4, 1.0)
    with pytest.warns(
        NotConverged,
        match=r"; column 20 spans \S+e\+0[45] and column \d+ only \S+: "
        r"put a StandardScaler before it$",
    ):
        HDSL(max_iter=20, **options).fit(uneven, y)


def test_errors_name_the_argument(digits):
    X, y = digits
    with pytest.raises(
        ValueError, match="at least two classes with positive weight, got one class"
    ):
        HDSL().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        HDSL().fit(X, y, sample_weight=-np.ones(y.size))
    model, triplets = HDSL(max_iter=5), [[0, 10, 1], [1, 11, 0]]
    for weights, text in (
        ([1.0], r"triplet_weight must have shape \(2,\)"),
        ([1.0, -1.0], "triplet_weight must be at least 0"),
        ([0.0, 0.0], "triplet_weight must hold a positive weight"),
    ):
        with pytest.raises(ValueError, match=text):
            model.fit_triplets(X, triplets, triplet_weight=weights)
    with pytest.raises(ValueError, match=r"triplets must have shape \(T, 3\)"):
        model.fit_triplets(X, 5, triplet_weight=[1.0])
