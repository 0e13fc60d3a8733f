"""Dual points for a w of another solver: as good as any, whatever the samples are stored in."""

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen.solvers.dual_points import dual_point

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}


def problem(form, weights=None, loss=None):
    """Return samples of which those at +-1 and, with their weights, +-0.5 decide."""
    X = np.array([[1.0], [-1.0], [0.5], [0.25], [3.0], [-4.0], [0.1]])
    y = [1, -1, 1, 1, 1, -1, -1]
    samples = ss.Samples(FORMS[form](X), y, weights=weights)
    return ss.Problem(samples, ss.Hinge() if loss is None else loss)


def best_alpha(prob, lam):
    """Return w and the dual point of a solve that is nearly exact."""
    found = ss.solve(prob, lam, tol=0.0, rtol=1e-13, screening=(), method="newton")
    return found.x, found.alpha


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.5, 0.7, 1.0, 3.0, 0.3]])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.05, 0.4, 5.0])
def test_samples_at_the_threshold_get_what_the_optimum_gives_them(form, C, weights):
    prob = problem(form, weights)
    w, _ = best_alpha(prob, 1.0 / C)
    margins = prob.terms.margins(w)
    alpha = dual_point(prob, w, C)
    size = prob.primal(w, 1.0 / C)
    assert prob.gap(w, 1.0 / C, alpha) <= 1e-8 * size
    assert prob.gap(w, 1.0 / C) > 1e-4 * size or not (np.abs(margins - 1.0) < 1e-9).any()
    assert ((alpha >= 0.0) & (alpha <= 1.0)).all()
    assert (alpha[margins < 1.0 - 1e-6] == 1.0).all() and (alpha[margins > 1.0 + 1e-6] == 0.0).all()


@pytest.mark.parametrize("form", FORMS)
def test_many_samples_at_the_threshold(form):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 4)) * 4.0) / 4.0
    X[:, 1:] *= 0.1  # so that samples are far from orthogonal, and a few sweeps are not enough
    X[:, 0] = 1.0  # w = (1, 0, 0, 0) has all margins at 1
    signs = np.where(np.arange(30) % 2, 1.0, -1.0)
    terms = ss.Samples(FORMS[form](X * signs[:, None]), signs)
    alpha = rng.uniform(size=30)
    alpha[:5] = 0.0
    alpha[5:9] = 1.0
    w = np.array([1.0, 0.0, 0.0, 0.0])
    lam = float(alpha @ X @ w)
    # a linear term that makes w optimal: alpha is its dual point
    linear = lam * w - alpha @ X
    prob = ss.Problem(terms, ss.Hinge(), linear=linear)
    without = prob.gap(w, lam)
    assert prob.gap(w, lam, dual_point(prob, w, 1.0 / lam)) <= 1e-9 * without
    assert prob.gap(w, lam, alpha) <= 1e-9 * without


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [(1.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
def test_entries_at_their_bounds(alpha, form):
    """Dependent samples at the threshold: without bounds some weights would not be in [0, 1]."""
    Z = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    signs = np.array([1.0, -1.0, 1.0])
    terms = ss.Samples(FORMS[form](Z * signs[:, None]), signs)
    w = np.array([1.0, 0.0])
    prob = ss.Problem(terms, ss.Hinge(), linear=2.0 * w - np.array(alpha) @ Z)
    found = dual_point(prob, w, 0.5)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(found @ Z, np.array(alpha) @ Z, atol=1e-6)
    assert prob.gap(w, 2.0, found) <= 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_never_worse_than_the_smoothed_one_and_the_best_of_the_widths(form):
    """Of any w, for several widths, in any order."""
    prob = problem(form)
    for number in range(40):
        w = np.random.default_rng(number).normal(size=1) * 10.0 ** (number % 4 - 2)
        widths = (1e-3, 1.0, 0.1, 3.0)
        gaps = {width: prob.gap(w, 2.0, dual_point(prob, w, 0.5, [width])) for width in widths}
        assert max(gaps.values()) <= prob.gap(w, 2.0)
        assert prob.gap(w, 2.0, dual_point(prob, w, 0.5, widths)) == min(gaps.values())
        assert prob.gap(w, 2.0, dual_point(prob, w, 0.5, [])) == prob.gap(w, 2.0)


@pytest.mark.parametrize("loss", [ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5)])
def test_with_a_smooth_loss_it_is_that_of_the_loss(loss):
    """Of any w; here samples are at the threshold, and alpha(w) is far from the best."""
    prob = problem("dense", loss=loss)
    for w in (np.array([0.7]), np.array([1.0]), np.array([2.0])):
        assert np.array_equal(dual_point(prob, w, 0.5), prob.alpha(w))


def test_samples_without_rows_are_named():
    kernel = ss.Problem(ss.KernelSamples.from_points(np.eye(3), [1, -1, 1]), ss.Hinge())
    with pytest.raises(TypeError, match="dual_point needs"):
        dual_point(kernel, kernel.cone.zeros(), 1.0)
