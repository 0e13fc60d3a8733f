"""References, C_min and a penalised intercept."""

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from instances import instance
from safescreen import svm


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "csr", "kernel"])
def test_c_min_and_its_solution(kind, gamma):
    of, loss = instance(kind), ss.SmoothedHinge(gamma)
    Q = np.array([[a @ b for b in of.A] for a in of.A])
    largest = svm.c_min(of.terms, loss)
    assert largest == pytest.approx((1.0 - gamma) / Q.sum(axis=1).max())
    for C in (1e-3 * largest, largest):
        known = svm.solution_below_c_min(of.terms, C, loss)
        assert (known.alpha == 1.0).all()
        assert of.problem(gamma).gap(known.w, 1.0 / C, known.alpha) < 1e-12 * len(of.terms)
    above = 1.01 * largest
    margins = of.terms.margins(ss.solve(of.problem(gamma), 1.0 / above, tol=0.0, rtol=1e-12).x)
    assert margins.max() > 1.0 - gamma - 1e-6  # and no larger C would do
    with pytest.raises(ValueError, match="C must be at most C_min"):
        svm.solution_below_c_min(of.terms, above, loss)


def test_c_min_is_infinite_only_if_the_samples_cancel():
    balanced = ss.Samples([[1.0, 2.0], [1.0, 2.0]], [1, -1])
    assert svm.c_min(balanced) == np.inf
    assert svm.solution_below_c_min(balanced, 1e6).w.tolist() == [0.0, 0.0]
    rng = np.random.default_rng(0)
    for _ in range(20):  # the mean of <z_i, sum z> is ||sum z||^2/n
        assert 0.0 < svm.c_min(ss.Samples(rng.standard_normal((6, 2)), [1, -1] * 3)) < np.inf


def test_squared_hinge_has_no_linear_region():
    terms = instance("dense").terms
    assert svm.c_min(terms, ss.SquaredHinge()) == 0.0
    with pytest.raises(ValueError, match="C must be at most C_min = 0"):
        svm.solution_below_c_min(terms, 1.0, ss.SquaredHinge())


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_intercept_is_one_more_feature(wrap):
    X, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([-1, -1, 1, 1])
    for scale in (1.0, 10.0):
        larger = svm.add_intercept(wrap(X), scale)
        assert larger.shape == (4, 2)
        dense = larger.toarray() if sparse.issparse(larger) else larger
        np.testing.assert_array_equal(dense[:, 1], scale)
    w = ss.solve(ss.Problem(ss.Samples(larger, y), ss.Hinge()), 1e-3, tol=0.0, rtol=1e-8).x
    # the middle, as the intercept is hardly penalised
    assert -10.0 * w[1] / w[0] == pytest.approx(3.0, abs=0.1)
    with pytest.raises(ValueError, match="scale must be greater than 0"):
        svm.add_intercept(X, 0.0)


def test_a_reference_is_the_solution():
    """Its own point and dual point, at the kink of the hinge too, and C = 1/lam."""
    of = instance("dense")
    solution = ss.solve(of.problem(0.0), of.lam(0.1), tol=1e-10)
    assert ((solution.alpha > 0.01) & (solution.alpha < 0.99)).any()
    reference = svm.reference(solution)
    assert (
        reference.w is solution.x
        and reference.C == 1.0 / solution.lam
        and reference.loss == ss.Hinge()
    )
    np.testing.assert_array_equal(reference.alpha, solution.alpha)


def test_a_reference_comes_from_a_solution_only():
    with pytest.raises(TypeError, match="solution must be a Solution, got ndarray"):
        svm.reference(np.zeros(3))
    with pytest.raises(ValueError, match="C must be greater than 0"):
        svm.Reference(np.zeros(1), np.zeros(2), 0.0)
