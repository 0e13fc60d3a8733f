"""Points that are no samples of a space: their margins, and how accurate these are."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import safescreen as ss
from safescreen.kernels.others import OtherPoints


def space(seed, error=0.0):
    """Return samples, some points that are none, their kernel values, and coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    new = rng.normal(size=(8, 3))
    signs = np.where(np.arange(30) % 3, 1.0, -1.0)
    samples = ss.KernelSamples(rbf_kernel(X, gamma=0.3) + 1.0, signs, relative_error=error)
    return samples, rbf_kernel(X, new, gamma=0.3) + 1.0, rng.normal(size=30)


@pytest.mark.parametrize("is_free", [False, True])
def test_margins_are_those_of_samples(is_free):
    samples, values, coef = space(0)
    x = samples.cone.expansion(coef)
    rows = np.arange(30)[::-1]
    terms = ss.FreeIntercept(samples, samples.cone.signs, 1.0) if is_free else samples
    others = OtherPoints(terms, values[::-1].copy(), rows, np.full(8, 2.0))
    found, errors = others.inner_products(x).chunk(0, len(others))
    exact = values.T.astype(np.longdouble) @ (samples.cone.signs * coef)
    assert (abs(found - exact) <= errors).all() and errors.max() < 1e-12
    assert (others.norms >= np.sqrt(2.0)).all()
    assert ("intercept" in others.offers) is is_free
    with pytest.raises(TypeError, match="no samples of a space have no sums"):
        others.weighted_sum(np.ones(8))


def test_kernel_values_have_their_errors():
    """Values that are off by 1e-3 of their norms, the largest error that the samples declare."""
    samples, values, coef = space(1, error=1e-3)
    others = OtherPoints(samples, values * (1.0 + 0.9e-3), np.arange(30), np.full(8, 2.0))
    found, errors = others.inner_products(samples.cone.expansion(coef)).chunk(0, len(others))
    apart = abs(found - values.T @ (samples.cone.signs * coef))
    assert (apart <= errors).all() and (apart > 0.0).any()
