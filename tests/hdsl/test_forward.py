"""The gradient on demand and the forward directions against the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safescreen.hdsl import _kernels as kernels
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact, heuristic


def gradient(X, triplets, slopes):
    """``T G = -sum g_t x_t (y_t - z_t)'``, dense."""
    x, y, z = (X[triplets[:, c]] for c in range(3))
    return -np.einsum("t,ti,tj->ij", slopes, x, y - z)


def prepared(X, triplets, slopes):
    constraints = Constraints(X, triplets)
    constraints.set_slopes(slopes[constraints.order])
    return constraints


@pytest.fixture(params=[0, 1, 2])
def case(request, make):
    X, triplets = make(request.param, signed=request.param == 2)
    slopes = np.random.default_rng(7).random(len(triplets))
    constraints = prepared(X, triplets, slopes)
    return constraints, gradient(X.toarray(), triplets, slopes), X.toarray(), triplets


@pytest.mark.nojit
@pytest.mark.boundscheck
def test_rows_and_diagonal_of_the_gradient(case):
    constraints, G, *_ = case
    features = constraints.features
    assert np.allclose(constraints.diagonal(), -np.diag(G)[features], atol=1e-14)
    for i in range(features.size):
        assert np.allclose(constraints.row(i), -(G + G.T)[features[i], features], atol=1e-14)


def test_the_diagonal_without_the_list_of_shared_features(case):
    constraints, G, _, triplets = case
    constraints._overlaps = None
    slopes = np.random.default_rng(7).random(len(triplets))
    constraints.set_slopes(slopes[constraints.order])
    assert np.allclose(constraints.diagonal(), -np.diag(G)[constraints.features], atol=1e-14)


@pytest.mark.nojit
@pytest.mark.boundscheck
def test_scores_and_values_of_atoms(case):
    constraints, G, X, triplets = case
    x, y, z = (X[triplets[constraints.order, c]] for c in range(3))
    atoms = np.array([(0, 1, 1), (0, 3, -1), (2, 4, 1)])
    values = constraints.atom_values(atoms, np.empty(5))
    for (i, j, sign), value in zip(atoms.tolist(), values, strict=True):
        e = np.zeros(X.shape[1])
        e[constraints.features[[i, j]]] = 1.0, sign
        assert np.allclose(
            constraints.atom_scores(i, j, sign, 2.5), 2.5 * (x @ e) * ((y - z) @ e), atol=1e-14
        )
        assert value == pytest.approx(-e @ G @ e, abs=1e-13)
    assert not constraints._column.any()  # the work array is left clean


def test_exact_searches_each_row_that_may_hold_the_best():
    """Three hundred problems, so that bounds of rows, and their order, matter in some."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8, 7)) * 10.0 ** rng.uniform(-1.0, 1.0, 7)
        triplets = np.array([rng.choice(8, 3, replace=False) for _ in range(6)])
        slopes = rng.random(6)
        G = gradient(X, triplets, slopes)
        pairs = [(a, b, s) for a in range(7) for b in range(a) for s in (1, -1)]
        best = max(-(G[a, a] + G[b, b] + s * (G[a, b] + G[b, a])) for a, b, s in pairs)
        assert exact(prepared(X, triplets, slopes)).value == pytest.approx(best, rel=1e-10)


@given(
    st.integers(0, 10**6),
    st.integers(3, 8),
    st.integers(2, 7),
    st.integers(1, 12),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.booleans(),
)
def test_exact_is_the_best_of_all_atoms(seed, n, d, T, density, integers):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float) if integers else rng.standard_normal((n, d))
    X *= rng.random((n, d)) < density
    triplets = np.array([rng.choice(n, 3, replace=False) for _ in range(T)])
    slopes = rng.integers(0, 2, T).astype(float) if integers else rng.random(T)
    constraints = prepared(X, triplets, slopes)
    G = gradient(X, triplets, slopes)
    found = exact(constraints)
    i, j = constraints.features[[found.i, found.j]]
    best = max(
        -(G[a, a] + G[b, b] + s * (G[a, b] + G[b, a]))
        for a in range(d)
        for b in range(a)
        for s in (1, -1)
    )
    own = -(G[i, i] + G[j, j] + found.sign * (G[i, j] + G[j, i]))
    assert (
        i < j
        and own == pytest.approx(best, abs=1e-10)
        and found.value == pytest.approx(best, abs=1e-10)
    )
    norms = np.empty(constraints.features.size)
    kernels._sum_norms(constraints._near, constraints._columns, constraints._sums, norms)
    bounds = -np.diag(G)[constraints.features] + 0.5 * norms * np.linalg.norm(
        X[:, constraints.features], axis=0
    )
    assert np.sort(bounds)[-2:].sum() >= best - 1e-10 and not constraints._sums.any()
    nearly = heuristic(constraints, np.random.default_rng(seed))
    assert nearly.i < nearly.j and nearly.value <= best + 1e-10


def test_features_without_entries_are_searched_too():
    """Every present feature has a positive gradient, so the best atom joins two absent ones, of
    value 0.
    """
    X = np.zeros((3, 6))
    X[0, 1], X[2, 1] = 1.0, 1.0  # similar to the wrong point only
    found = exact(constraints := prepared(X, np.array([[0, 1, 2]]), np.ones(1)))
    assert constraints.features[[found.i, found.j]].tolist() == [0, 2] and found.value == 0.0
    assert constraints.features.tolist() == [0, 1, 2]
    assert [constraints.compact(f) for f in range(6)] == [0, 1, 2, 0, 0, 0]
