"""Diagonal similarities against an outside solver, OASIS against its definition, projections,
machines.
"""

import cvxpy as cp
import numpy as np
import pytest

import safescreen as ss
from safescreen_book.protocols.hdsl.diagonal import fit_diagonal
from safescreen_book.protocols.hdsl.oasis import fit_oasis, pca_projection
from safescreen_book.protocols.hdsl.svm import fit_svm


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("lam", [1e-3, 0.03])
def test_diagonal_is_the_optimum_of_an_outside_solver(make, penalty, lam):
    X, triplets = make(0, n=15, d=8, T=60, signed=True)
    found = fit_diagonal(X, triplets, lam, penalty, tol=1e-10, max_iter=50_000)
    x, y, z = (X.toarray()[triplets[:, c]] for c in range(3))
    w = cp.Variable(8)
    norm = cp.sum_squares(w) if penalty == "l2" else cp.norm1(w)
    program = cp.Problem(
        cp.Minimize(cp.sum(cp.huber(cp.pos(1 - (x * (y - z)) @ w), 1.0)) / (2 * 60) + lam * norm)
    )
    program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert program.status == "optimal"
    assert found.objective == pytest.approx(program.value, abs=1e-8)
    assert np.allclose(found.weights, w.value, atol=1e-4)
    S = X.toarray() * found.weights @ X.toarray().T
    assert np.allclose(found(X), S, atol=1e-14) and np.allclose(found(X[:2], X), S[:2], atol=1e-14)


def test_a_large_l1_weight_leaves_no_feature(make):
    X, triplets = make(1)
    assert fit_diagonal(X, triplets, 10.0, "l1").features.size == 0
    sizes = [fit_diagonal(X, triplets, lam, "l1").features.size for lam in (1e-3, 1e-1)]
    assert sizes[0] > sizes[1]


def test_diagonal_errors(make):
    X, triplets = make(2)
    with pytest.raises(ValueError, match="penalty must be one of l2, l1; got 'l0'"):
        fit_diagonal(X, triplets, 1.0, "l0")
    with pytest.raises(ValueError, match="lam must be greater than 0"):
        fit_diagonal(X, triplets, 0.0)
    with pytest.warns(ss.ConvergenceWarning, match="not reached in 2 iterations"):
        fit_diagonal(X, triplets, 1e-3, tol=1e-12, max_iter=2)


def test_oasis_is_its_definition():
    rng = np.random.default_rng(0)
    Z, triplets = (
        rng.standard_normal((10, 4)),
        np.array([rng.choice(10, 3, replace=False) for _ in range(20)]),
    )
    found = fit_oasis(Z, triplets, 0.05, 100, random_state=5)
    M = np.eye(4)
    for t in np.random.default_rng(5).integers(20, size=100):
        x, y, z = Z[triplets[t]]
        V = np.outer(x, y - z)
        hinge = 1.0 - np.sum(V * M)
        if hinge > 0:
            M = M + min(0.05, hinge / np.sum(V * V)) * V
    assert np.allclose(found.M, M, atol=1e-12)
    assert np.allclose(found(Z[:3], Z), Z[:3] @ M @ Z.T, atol=1e-12)
    with pytest.raises(ValueError, match="aggressiveness must be greater than 0"):
        fit_oasis(Z, triplets, 0.0, 1)


def test_pca_is_the_singular_value_decomposition(make):
    X, _ = make(3, n=14, d=9)
    projection = pca_projection(X, 4)
    centred = X.toarray() - X.toarray().mean(axis=0)
    vectors = np.linalg.svd(centred, full_matrices=False)[2][:4]
    assert np.allclose(
        projection(X) @ projection(X).T, centred @ vectors.T @ vectors @ centred.T, atol=1e-10
    )
    assert np.allclose(projection.R.T @ projection.R, np.eye(4), atol=1e-10)
    assert pca_projection(X, 100).R.shape == (9, 9)


@pytest.mark.parametrize("kind", ["linear-l2", "linear-l1", "poly-2", "poly-3"])
def test_machines_separate_three_classes(make, kind):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.eye(3)[y] + 0.1 * rng.random((60, 3))
    machine = fit_svm(X, y, kind, 10.0)
    assert np.array_equal(machine.predict(X), y)
    if kind.startswith("linear"):
        assert set(machine.features) <= {0, 1, 2} and machine.features.size
