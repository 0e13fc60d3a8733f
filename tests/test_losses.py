"""The smoothed hinge: values, slopes, conjugate, limits, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import safescreen as ss

WIDTHS = (0.0, 0.05, 0.5, 1.0, 3.0)


def by_definition(u, gamma, tau):
    u = u - tau + 1.0
    if u > 1.0:
        return 0.0
    if gamma > 0.0 and u >= 1.0 - gamma:
        return (1.0 - u) ** 2 / (2.0 * gamma)
    return 1.0 - u - gamma / 2.0


@pytest.mark.parametrize("tau", [1.0, -2.0, 0.0])
@pytest.mark.parametrize("gamma", WIDTHS)
def test_value_and_slope(gamma, tau):
    loss, u = ss.SmoothedHinge(gamma), np.linspace(-6.0, 6.0, 481)
    expected = [by_definition(v, gamma, tau) for v in u]
    assert np.allclose(loss.value(u, tau), expected, rtol=1e-13, atol=1e-14)
    away = (np.abs(u - tau) > 1e-3) & (np.abs(u - tau + gamma) > 1e-3)
    slope = (loss.value(u + 1e-5, tau) - loss.value(u - 1e-5, tau)) / 2e-5
    assert np.allclose(-slope[away], loss.alpha(u, tau)[away], atol=1e-8)
    assert loss.value(1.5, tau).shape == () and loss.alpha([[1.0, 2.0]], tau).shape == (1, 2)


@pytest.mark.parametrize("gamma", WIDTHS)
def test_conjugate_is_the_maximum(gamma):
    loss = ss.SmoothedHinge(gamma)
    for tau in (1.0, -0.5):
        for a in (0.0, 0.3, 1.0):
            found = minimize_scalar(
                lambda u, a=a, tau=tau: a * u + float(loss.value(u, tau)),
                bounds=(-20, 20),
                method="bounded",
            )
            assert -found.fun == pytest.approx(float(loss.conjugate(a, tau)), abs=1e-5)
    assert np.isinf(loss.conjugate([-1e-9, 1.0 + 1e-9])).all()


@given(st.floats(-1e3, 1e3), st.floats(0.0, 1.0), st.sampled_from(WIDTHS), st.floats(-3.0, 3.0))
def test_fenchel_young(u, a, gamma, tau):
    loss = ss.SmoothedHinge(gamma)
    size = 1.0 + abs(u) + abs(tau) + gamma
    assert loss.value(u, tau) + loss.conjugate(a, tau) + a * u >= -1e-14 * size
    best = float(loss.alpha(u, tau))
    assert abs(loss.value(u, tau) + loss.conjugate(best, tau) + best * u) <= 1e-14 * size


def test_the_hinge_is_the_limit():
    u = np.linspace(-3.0, 3.0, 61)
    for gamma in (1e-3, 1e-9, 5e-324):
        apart = ss.Hinge().value(u) - ss.SmoothedHinge(gamma).value(u)
        assert (apart >= -1e-15).all() and (apart <= gamma / 2.0 + 1e-15).all()
    assert ss.Hinge() == ss.SmoothedHinge(0) and ss.Hinge().gamma == 0.0
    assert ss.Hinge().alpha([0.0, 1.0, 2.0]).tolist() == [1.0, 0.0, 0.0]


def test_bad_input_is_named():
    for error, values in ((ValueError, (-1e-9, np.nan, np.inf)), (TypeError, ("1", True, None))):
        for bad in values:
            with pytest.raises(error, match="gamma"):
                ss.SmoothedHinge(bad)


def test_widths_by_default():
    assert ss.SmoothedHinge() == ss.SmoothedHinge(gamma=0.05)  # that of STS19
    assert ss.SquaredHinge() == ss.SquaredHinge(gamma=1.0)
