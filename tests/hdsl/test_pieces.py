"""Line searches, triplets, similarities and neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from naive.similarities import smooth_loss
from safescreen import hdsl
from safescreen.hdsl.line_search import bisection, exact
from safescreen.hdsl.losses import LOSSES, MarginLoss


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.sampled_from([1e-3, 0.3, 1.0, 4.0]),
    st.sampled_from([1e-3, 1.0, 50.0]),
    st.sampled_from(list(LOSSES)),
)
def test_line_search_is_optimal(seed, T, gamma, size, name):
    rng = np.random.default_rng(seed)
    u, v, top = (
        rng.normal(0.5, 1.0, T),
        size * rng.normal(0.2, 1.0, T),
        float(rng.choice((0.01, 1.0, 3.0))),
    )
    step = exact(u, v, top, MarginLoss(name, gamma))
    assert 0.0 <= step <= top

    def mean_loss(u, gamma):
        return smooth_loss(name, u, gamma)[0].mean()

    kinks = np.concatenate(
        (
            (1.0 - u) / v,
            (1.0 - gamma - u) / v,
            np.linspace(0, top, 50),
            step + np.array([-1e-7, 1e-7]) * top,
        )
    )
    others = min(mean_loss(u + s * v, gamma) for s in kinks if 0.0 <= s <= top)
    assert mean_loss(u + step * v, gamma) <= others + 1e-13 * (1.0 + others)
    halved = bisection(u, v, top, MarginLoss(name, gamma), tol=1e-10)
    found = mean_loss(u + halved * v, gamma)
    assert found <= mean_loss(u, gamma) * (1.0 + 1e-13) + 1e-13
    bend = smooth_loss(name, u + halved * v, gamma)[2].max() + 1.0 / gamma
    assert found <= mean_loss(u + step * v, gamma) + 1e-6 * size + 1e-19 * bend * size**2 + 1e-13


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize("search", [exact, bisection])
def test_line_search_counts_a_direction_as_often_as_its_weight(search):
    rng = np.random.default_rng(2)
    for loss in (MarginLoss(smoothing=0.2), *map(MarginLoss, LOSSES)):
        u, v, weights = rng.normal(0.5, 1.0, 30), rng.normal(0.4, 1.0, 30), rng.integers(0, 4, 30)
        step = search(u, v, 2.0, loss, weights=weights.astype(float))
        assert step == pytest.approx(
            search(np.repeat(u, weights), np.repeat(v, weights), 2.0, loss), abs=1e-7
        )
        assert 0.0 < step < 2.0 and abs(step - search(u, v, 2.0, loss)) > 1e-3


@pytest.mark.parametrize("loss", [MarginLoss(name) for name in LOSSES])
@pytest.mark.parametrize("search", [exact, bisection])
def test_line_search_ends(search, loss):
    assert search(np.zeros(2), np.ones(2), 0.25, loss) == 0.25
    assert search(np.zeros(2), -np.ones(2), 1.0, loss) == 0.0


def test_line_search_where_exponentials_overflow():
    """From a margin of -500 to +500 with another that falls; the end of the segment costs more
    than any float.
    """
    u, v = np.array([-500.0, 0.0]), np.array([1000.0, -1.0])
    for name in ("exponential", "log_loss"):
        step = exact(u, v, 1.0, MarginLoss(name))
        assert bisection(u, v, 1.0, MarginLoss(name)) == pytest.approx(step, abs=1e-7)
    assert exact(u, v, 1.0, MarginLoss("exponential")) == pytest.approx(
        (500.0 + np.log(1000.0)) / 1001.0, abs=1e-13
    )
    u, v = np.array([0.5, 0.0]), np.array([1.0, -2e3])
    assert (
        exact(u, v, 1.0, MarginLoss("exponential"))
        == 0.0
        == bisection(u, v, 1.0, MarginLoss("exponential"))
    )
    u, v = np.array([-9.0, 0.0]), np.array([1.0, -2e3])
    step = exact(u, v, 1.0, MarginLoss("exponential"))
    assert step == pytest.approx((9.0 - np.log(2e3)) / 2001.0, abs=1e-13)


def by_sorting(X, y, n_targets, n_impostors):
    S, found = X @ X.T, []
    for i in range(len(y)):
        order = sorted(range(len(y)), key=lambda j: (-S[i, j], j))
        same = [j for j in order if y[j] == y[i] and j != i][:n_targets]
        other = [j for j in order if y[j] != y[i]][:n_impostors]
        found += [[i, a, b] for a in same for b in other]
    return found


@pytest.mark.parametrize("block_bytes", [1, 1000, 1 << 26])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nearest_triplets(block_bytes, kind):
    rng = np.random.default_rng(0)
    # ties, and a class of one
    X, y = rng.integers(0, 3, (15, 4)).astype(float), np.append(rng.integers(0, 3, 14), 7)
    found = hdsl.nearest_triplets(kind(X), y, 3, 5, block_bytes)
    assert found.dtype == np.int32 and found.tolist() == by_sorting(X, y, 3, 5)


def test_random_triplets():
    y = np.array([0, 1, 0, 1, 1, 2, 0, 2, 9])
    found = hdsl.random_triplets(y, 200, random_state=1)
    x, a, b = found.T
    assert len(found) == 200 * 8 and 8 not in x  # the last one is alone in its class
    assert np.all(y[x] == y[a]) and np.all(x != a) and np.all(y[x] != y[b])
    for i in range(8):
        assert set(a[x == i]) == set(np.flatnonzero(y == y[i])) - {i}
        assert set(b[x == i]) == set(np.flatnonzero(y != y[i]))
    assert np.array_equal(found, hdsl.random_triplets(y, 200, random_state=1))


def test_bad_triplets():
    with pytest.raises(ValueError, match="n_targets must be a positive int, got 0"):
        hdsl.nearest_triplets(np.eye(3), [0, 0, 1], 0)
    with pytest.raises(TypeError, match="n_per_point must be a positive int"):
        hdsl.random_triplets([0, 0, 1], 1.5)
    with pytest.raises(ValueError, match="class of at least two points"):
        hdsl.random_triplets([0, 1, 2])
    with pytest.raises(ValueError, match="two classes"):
        hdsl.nearest_triplets(np.eye(3), [1, 1, 1])


@pytest.fixture(params=[0, 1])
def learned(request, make):
    X, triplets = make(request.param, n=20, d=9, T=80, density=[0.02, 0.6][request.param])
    return X, triplets, hdsl.FrankWolfe(3.0, max_iter=30).fit(X, triplets).similarity_


def test_similarity_by_its_factor(learned):
    X, triplets, similarity = learned
    M, L = similarity.to_sparse().toarray(), similarity.factor().toarray()
    assert np.allclose(L.T @ L, M, atol=1e-13) and L.shape == (len(similarity), 9)
    assert np.allclose(similarity.transform(X).toarray(), X.toarray() @ L.T, atol=1e-13)
    S = X.toarray() @ M @ X.toarray().T
    assert np.allclose(similarity(X), S, atol=1e-12) and np.allclose(
        similarity(X[:3], X), S[:3], atol=1e-12
    )
    x, y, z = triplets.T
    assert np.allclose(similarity.margins(X, triplets), S[x, y] - S[x, z], atol=1e-12)
    assert set(similarity.features) == set(similarity.atoms[:, :2].ravel())
    with pytest.raises(ValueError, match="X must have 9 features, got shape"):
        similarity(X[:, :4])


def test_neighbours_do_not_depend_on_the_order_of_points():
    rng = np.random.default_rng(0)
    products, y = rng.integers(0, 4, (40, 12)).astype(float), rng.integers(0, 3, 12)
    shuffled = rng.permutation(12)
    for k in (1, 2, 3, 12, 50):
        one = hdsl.predict_neighbors(products, y, k)
        assert np.array_equal(one, hdsl.predict_neighbors(products[:, shuffled], y[shuffled], k))


def test_tied_neighbours_share_their_votes():
    # one vote each: the more similar class
    assert hdsl.predict_neighbors([[2.0, 1.0, 1.0, 1.0]], [0, 1, 1, 1], 2).tolist() == [0]
    assert hdsl.predict_neighbors([[1.0, 1.0, 1.0, 1.0]], [0, 1, 1, 1], 3).tolist() == [1]


@pytest.mark.parametrize("block_bytes", [1, 1 << 26])
def test_neighbor_error(learned, block_bytes):
    X, _, similarity = learned
    y = np.arange(20) % 3
    S = X.toarray() @ similarity.to_sparse().toarray() @ X.toarray().T
    expected = np.mean(hdsl.predict_neighbors(np.round(S[12:, :12], 9), y[:12]) != y[12:])
    error = hdsl.NeighborError(X[:12], y[:12], X[12:], y[12:], block_bytes=block_bytes)
    found = error(lambda A, B: np.round(similarity(A, B), 9))
    assert found == expected
    dot = np.mean(hdsl.predict_neighbors((X[12:] @ X[:12].T).toarray(), y[:12]) != y[12:])
    assert error(None) == dot
    weights = np.arange(8.0) ** 2
    judge = hdsl.NeighborError(
        X[:12], y[:12], X[12:], y[12:], block_bytes=block_bytes, weights=weights
    )
    wrong = hdsl.predict_neighbors((X[12:] @ X[:12].T).toarray(), y[:12]) != y[12:]
    assert judge(None) == pytest.approx(np.average(wrong, weights=weights)) != dot
    for bad, text in (
        (weights[1:], r"weights must have shape \(8,\)"),
        (-weights, "weights must be at least 0"),
        (0 * weights, "all are 0"),
    ):
        with pytest.raises(ValueError, match=text):
            hdsl.NeighborError(X[:12], y[:12], X[12:], y[12:], weights=bad)


def test_bad_neighbours():
    with pytest.raises(ValueError, match="products must have two dimensions"):
        hdsl.predict_neighbors([1.0], [0, 1])
    with pytest.raises(ValueError, match=r"y_new must have shape \(2,\), got \(3,\)"):
        hdsl.NeighborError(np.eye(2), [0, 1], np.eye(2), [0, 1, 1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_default_scale_holds_the_dot_product(container):
    """There are weights of atoms whose combination is the dot product, of margins with the
    median 1, and of no smaller scale.
    """
    X = np.abs(np.random.default_rng(0).standard_normal((12, 6))) * [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    triplets = hdsl.random_triplets(np.arange(12) % 2, 4)
    scale = hdsl.default_scale(container(X), triplets)
    atoms = np.array([(0, 2, 1), (0, 2, -1), (3, 5, 1), (3, 5, -1)])
    similarity = hdsl.SparseSimilarity(atoms, np.full(4, 0.25), scale, 6)
    M = similarity.to_sparse().toarray()
    np.testing.assert_allclose(M, M[0, 0] * np.diag(X.any(axis=0)), atol=1e-12)
    assert np.median(np.abs(similarity.margins(X, triplets))) == pytest.approx(1.0)
    assert hdsl.default_scale(np.zeros((3, 2)), [[0, 1, 2]]) == 1.0


@pytest.mark.parametrize(
    ("of_rows", "of_columns"), [(np.int64, np.int32), (np.int32, np.int64), (np.int64, np.int64)]
)
@pytest.mark.parametrize("stored", [0.0, 0.5])
def test_integers_of_sparse_points(of_rows, of_columns, stored):
    """Row pointers and column numbers may be of two types."""
    plain = sparse.random(30, 8, 0.4, format="csr", random_state=0)
    plain.data[3] = stored
    X = plain.copy()
    X.indptr = X.indptr.astype(of_rows)
    X.indices = X.indices.astype(of_columns)
    triplets = hdsl.random_triplets(np.arange(30) % 2, 3, 0)
    expected = hdsl.FrankWolfe(2.0, max_iter=10).fit(plain, triplets).similarity_
    found = hdsl.FrankWolfe(2.0, max_iter=10).fit(X, triplets).similarity_
    np.testing.assert_array_equal(found(X), expected(plain))
    assert X.indptr.dtype == of_rows and X.data[3] == stored
