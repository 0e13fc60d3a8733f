"""LIBLINEAR and LIBSVM reach the optimum of this library, on all samples and on what a test
leaves.
"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import safescreen as ss
from instances import instance
from naive.libsvm import svc
from safescreen import svm
from safescreen_book import datasets
from safescreen_book.protocols.outside import linear_svc


def primal(terms, C, loss=None):
    """Return the optimal value."""
    return ss.solve(ss.Problem(terms, loss or ss.Hinge()), 1.0 / C, tol=0.0, rtol=1e-10).primal


@pytest.mark.parametrize("solver", [linear_svc, svc])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("factor", [0.5, 3.0, 50.0])
def test_same_optimum(kind, factor, solver):
    terms = instance(kind).terms
    C = factor * svm.c_min(terms)
    found = solver(terms, C, tol=1e-9)
    assert found.n_fed == len(terms)
    assert found.gap <= 1e-6 * found.primal
    assert found.primal == pytest.approx(primal(terms, C), rel=1e-6)


def test_libsvm_with_a_kernel():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    terms = ss.KernelSamples.from_points(
        rng.standard_normal((40, 2)) + 0.6 * y[:, None], y, "rbf", gamma=0.5
    )
    for C in (0.1, 1.0, 10.0):
        found = svc(terms, C, tol=1e-9)
        assert found.gap <= 1e-6 * found.primal
        assert found.primal == pytest.approx(primal(terms, C), rel=1e-6)
    with pytest.raises(
        TypeError, match="LIBLINEAR needs terms with coordinates, which KernelSamples do not offer"
    ):
        linear_svc(terms, 1.0)


def test_doubling_the_samples_takes_the_intercept_out():
    """LIBSVM on the samples as they are solves another problem."""
    of = instance("dense")
    C = 20.0 * svm.c_min(of.terms)
    free = SVC(C=C, kernel="linear", tol=1e-9).fit(of.X, of.y)
    ours = svc(of.terms, C, tol=1e-9)
    assert abs(free.intercept_[0]) > 1e-2
    assert np.linalg.norm(free.coef_[0] - ours.w) > 1e-2 * np.linalg.norm(ours.w)


@pytest.mark.parametrize("solver", [linear_svc, svc])
def test_fed_with_what_a_test_leaves(solver):
    X, labels = datasets.load("breast-cancer", return_X_y=True)
    y = np.where(labels == labels[0], 1.0, -1.0)
    terms = ss.Samples(X, y)
    C0 = 50.0 * svm.c_min(terms)
    first = solver(terms, C0)
    # an outside solution is a reference like any other
    screened = svm.intersection_test(terms, C0 / 0.95, first)
    assert screened.n_R > 50
    second = solver(terms, C0 / 0.95, screened)
    assert second.n_fed == len(terms) - screened.n_R
    assert second.gap <= 1e-5 * second.primal
    assert second.primal == pytest.approx(primal(terms, C0 / 0.95), rel=1e-6)


def test_weights_and_the_squared_hinge():
    of = instance("dense")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(of.terms))
    terms = ss.Samples(of.X, of.y, weights=weights)
    for solver in (linear_svc, svc):
        found = solver(terms, 0.05, tol=1e-9)
        assert found.gap <= 1e-6 * found.primal
    squared = ss.SquaredHinge(0.5)
    found = linear_svc(terms, 0.05, loss=squared, tol=1e-9)
    assert found.gap <= 1e-6 * found.primal
    assert found.primal == pytest.approx(primal(terms, 0.05, squared), rel=1e-8)


def test_one_sample_or_none_left():
    terms = instance("dense").terms
    for n_kept in (0, 1):
        masks = ss.Screened(np.zeros(len(terms), dtype=bool), np.arange(len(terms)) >= n_kept)
        for solver in (linear_svc, svc):
            found = solver(terms, 1e-3, masks)
            assert found.n_fed == n_kept
            alone = 1e-3 * n_kept * terms.elements(np.array([0]))[0][0]
            np.testing.assert_allclose(found.w, alone, atol=1e-9)


def test_what_they_cannot_take_is_named():
    terms = instance("dense").terms
    with pytest.raises(ValueError, match="loss must be the hinge or a squared hinge for LIBLINEAR"):
        linear_svc(terms, 1.0, loss=ss.SmoothedHinge(0.5))
    with pytest.raises(ValueError, match="loss must be the hinge for LIBSVM"):
        svc(terms, 1.0, loss=ss.SmoothedHinge(0.5))
    with pytest.raises(ValueError, match="terms must have thresholds 1"):
        svc(terms.with_threshold(2.0), 1.0)
    with pytest.warns(ConvergenceWarning):
        linear_svc(terms, 100.0, max_iter=1)
