"""Samples against rows written out, dense and sparse; bad input."""

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from instances import instance
from naive import sample_elements

X = np.random.default_rng(0).standard_normal((11, 4)) * (
    np.random.default_rng(1).uniform(size=(11, 4)) < 0.6
)
Y = np.where(np.arange(11) % 3 == 0, -1, 1)


@pytest.mark.nojit
@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.csc_array]
)
def test_definition(form):
    terms, A = ss.Samples(form(X), Y), sample_elements(X, Y)
    w, rng = np.random.default_rng(2).standard_normal(4), np.random.default_rng(3)
    assert len(terms) == 11 and terms.cone == ss.FreeSpace(4)
    assert np.allclose(terms.margins(w), A @ w, rtol=1e-13, atol=1e-14)
    assert np.allclose(terms.norms, np.linalg.norm(A, axis=1), rtol=1e-13, atol=1e-150)
    for weights in (rng.uniform(size=11), rng.standard_normal(11)):
        assert np.allclose(terms.adjoint(weights), A.T @ weights, rtol=1e-13, atol=1e-14)
    rows, errors = terms.elements(np.array([3, 0]))
    assert np.array_equal(rows, A[[3, 0]]) and not errors.any()


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_sums_and_parts(kind):
    of = instance(kind)
    rng, w = np.random.default_rng(0), np.array([0.5, -0.2, 0.1])
    for gamma in (0.0, 0.05, 0.5, 1.0):
        naive = of.naive(gamma)
        for alpha in (None, rng.uniform(size=len(of.terms))):
            sums = of.terms.loss_sums(w, ss.SmoothedHinge(gamma), alpha)
            used = naive.alpha(w) if alpha is None else alpha
            assert sums.loss == pytest.approx(naive.losses(w).sum(), rel=1e-12)
            assert np.allclose(sums.adjoint, naive.H(used), rtol=1e-12, atol=1e-12)
            assert sums.alpha_sum == pytest.approx(
                used.sum()
            ) and sums.alpha_square == pytest.approx(used @ used)
    keep = rng.uniform(size=len(of.terms)) < 0.5
    part = of.terms.with_threshold(np.arange(40.0)).select(keep)
    assert np.array_equal(part.margins(w), of.terms.margins(w)[keep])
    assert np.array_equal(part.threshold, np.arange(40.0)[keep]) and np.array_equal(
        part.norms, of.terms.norms[keep]
    )


def test_dense_and_sparse_solve_alike():
    dense, csr = instance("dense"), instance("csr")
    lam = dense.lam(0.2)
    for gamma in (0.0, 0.05):
        one, other = (
            ss.solve(of.problem(gamma), lam, tol=0.0, rtol=1e-10, screening=("RRPB", "PGB"))
            for of in (dense, csr)
        )
        assert np.allclose(one.x, other.x, atol=one.eps + other.eps)


def test_duplicate_entries_of_a_sparse_matrix_are_summed():
    rows = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert ss.Samples(rows, [1, -1]).margins(np.ones(2)).tolist() == [3.0, -3.0]
    assert rows.nnz == 3, "the input is left as it was"


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_norms_of_extreme_rows(scale):
    terms = ss.Samples(np.array([[3.0, 4.0], [0.0, 0.0]]) * scale, [1, -1])
    assert terms.norms[0] == pytest.approx(5.0 * scale, rel=1e-12) and terms.norms[0] >= 5.0 * scale


@pytest.mark.parametrize(
    ("points", "y", "error", "message"),
    [
        (X, np.ones(11), ValueError, "y must hold at least two classes, found only"),
        (X, np.arange(11) % 2, ValueError, r"y must hold -1 and \+1 only, found \[0\]"),
        (X, Y[:5], ValueError, r"y must have shape \(11,\)"),
        (np.full((11, 4), np.nan), Y, ValueError, "X must be finite, got nan"),
        (sparse.csr_array(np.full((11, 4), np.inf)), Y, ValueError, "X must be finite, got inf"),
        (X[:, :0], Y, ValueError, "X must have at least one row and one column"),
        (X[:, 0], Y, ValueError, "X must have two dimensions"),
        (X.astype(str), Y, TypeError, "X must hold real numbers"),
    ],
)
def test_bad_input_is_named(points, y, error, message):
    with pytest.raises(error, match=message):
        ss.Samples(points, y)


def test_empty_columns_bring_no_rounding():
    """Neither to norms nor to margins of samples, nor to kernels: bounds are those of the
    entries that are stored.
    """
    narrow = sparse.csr_array(X)
    wide = sparse.csr_array((narrow.data, narrow.indices, narrow.indptr), shape=(11, 2**22))
    w = np.zeros(2**22)
    w[:4] = np.random.default_rng(0).standard_normal(4)
    one, other = ss.Samples(narrow, Y), ss.Samples(wide, Y)
    assert np.array_equal(one.norms, other.norms)
    (_, small), (_, large) = (
        terms.inner_products(x).chunk(0, 11) for terms, x in ((one, w[:4]), (other, w))
    )
    assert np.allclose(small, large, rtol=1e-6, atol=0.0)
    for kernel in ("linear", "polynomial", "rbf"):
        errors = [
            ss.KernelSamples.from_points(points, Y, kernel, gamma=0.5).cone.relative_error
            for points in (narrow, wide)
        ]
        assert errors[0] == errors[1]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [5, 2000])
def test_a_sweep_ends_at_its_goal(form, d):
    """The gap it sees is that of its dual point, and a relative goal is one of the objective: in
    few dimensions most of that is loss, in many the norm.
    """
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1000) % 2 == 0, 1, -1)
    terms = ss.Samples(form(rng.standard_normal((1000, d)) + 0.2 * y[:, None]), y)
    prob = ss.Problem(terms, ss.Hinge())
    primal = ss.solve(prob, 1.0).primal
    for part in (1e-2, 1e-3, 1e-4):
        sweeps = []
        for goal in ((part * primal, 0.0), (0.0, part)):
            alpha = np.zeros(1000)
            H, _, done, _ = terms.sweep(
                alpha, np.zeros(d), 1.0, ss.Hinge(), 1e-12, 5000, 1, True, goal
            )
            assert prob.evaluate(H, 1.0, alpha).gap <= 2.0 * part * primal
            sweeps.append(done)
        assert sweeps[1] <= 1.3 * sweeps[0] + 1
