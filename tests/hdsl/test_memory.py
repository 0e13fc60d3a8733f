"""Memory is O(T + k + nnz(X)): no array of length d, none of n x n, let alone d x d."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from safescreen import hdsl
from safescreen.hdsl.constraints import take_columns

pytestmark = pytest.mark.slow

N, D, S, T = 2500, 1_000_000, 4, 10_000
PER_NUMBER = 13  # numbers stored for each entry of a triplet or of X, see notebook 42
LIMIT = 8 * PER_NUMBER * (N * S + 3 * T)
STEP = 1 << 18


@pytest.fixture(scope="module")
def points():
    """Points of four entries in a million features, and triplets."""
    rng = np.random.default_rng(0)
    columns = rng.integers(D, size=N * S)
    X = sparse.csr_array(
        (1.0 + rng.random(N * S), (np.repeat(np.arange(N), S), columns)), shape=(N, D)
    )
    x = rng.integers(N, size=T)
    triplets = np.column_stack(
        (x, (x + rng.integers(1, N // 2, T)) % N, (x + rng.integers(N // 2, N, T)) % N)
    )
    return X, np.arange(N) % 2, triplets


def peak(function):
    """Most bytes allocated at a time while the function runs; once before, so that compiling is
    not counted.
    """
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_limit_would_be_passed_by_what_must_not_be_formed():
    """By one vector of d numbers, or one byte for each pair of points."""
    assert LIMIT < 8 * D and LIMIT < N * N
    assert peak(lambda: np.zeros(D)) > LIMIT < peak(lambda: np.zeros((N, N), dtype=bool))


@pytest.mark.parametrize(
    "settings", [{}, {"forward": "exact"}, {"batch": 1000}, {"variant": "pairwise"}]
)
def test_training(points, settings):
    X, y, triplets = points
    judge = hdsl.NeighborError(X[:50], y[:50], X[50:90], y[50:90])
    solver = hdsl.FrankWolfe(100.0, max_iter=10, check_every=5, **settings)
    assert peak(lambda: solver.fit(X, triplets, judge)) < LIMIT


@pytest.mark.parametrize("settings", [{}, {"forward": "exact"}])
def test_training_with_weights_from_a_similarity(points, settings):
    X, _, triplets = points
    solver = hdsl.FrankWolfe(100.0, max_iter=5, **settings)
    first, weights = solver.fit(X, triplets).similarity_, np.arange(T) % 3
    assert peak(lambda: solver.fit(X, triplets, weights=weights, start=first)) < LIMIT


def test_what_was_learned(points):
    X, _, triplets = points
    similarity = hdsl.FrankWolfe(100.0, max_iter=20).fit(X, triplets).similarity_
    for function in (
        lambda: similarity.transform(X),
        lambda: similarity.margins(X, triplets),
        similarity.factor,
        similarity.to_sparse,
    ):
        assert peak(function) < LIMIT


def test_triplets_and_neighbours(points):
    """By blocks of products: what they may take is added to the limit once for each of a few
    work arrays.
    """
    X, y, _ = points
    similarity = hdsl.SparseSimilarity(np.array([[0, D - 1, 1]]), np.array([1.0]), 1.0, D)
    assert peak(lambda: hdsl.nearest_triplets(X, y, block_bytes=STEP)) < LIMIT
    assert peak(lambda: hdsl.random_triplets(y, 4)) < LIMIT
    assert peak(lambda: hdsl.NeighborError(X, y, X, y, block_bytes=STEP)(similarity)) < LIMIT


@pytest.mark.parametrize("features", [[], [0], [6], [1, 4], [0, 1, 2, 3, 4, 5, 6]])
def test_columns_are_those_of_scipy(make, features):
    X, _ = make(3, n=9, d=7, density=0.4)
    assert np.array_equal(
        take_columns(X, np.array(features, dtype=int)).toarray(), X[:, features].toarray()
    )
