"""When a solve may end, and how far from the optimum a point that it may end with can be."""

import math
from types import SimpleNamespace

import pytest

from safescreen.solvers.limits import Limits
from safescreen.spheres.path import reference_accuracy


def evaluation(primal, gap, lam=0.7, x_error=0.0):
    return SimpleNamespace(primal=primal, gap=gap, lam=lam, x_error=x_error)


def test_without_tolerances_the_gap_is_a_millionth_of_the_objective():
    limits = Limits.checked(None, None, 5)
    assert limits.goal(-2e3) == pytest.approx(2e-3, rel=1e-14)
    assert limits.max_iter == 5 and limits.max_seconds == math.inf


def test_a_tolerance_that_is_given_is_the_only_one():
    assert Limits.checked(0.25, None, 5).goal(1e9) == 0.25
    assert Limits.checked(None, 0.25, 5).goal(8.0) == 2.0
    assert Limits.checked(0.25, 0.5, 5).goal(0.1) == 0.25
    assert Limits.checked(0.25, 0.5, 5).goal(8.0) == 4.0
    assert Limits.checked(0.25, 0.0, 5, 0.0).max_seconds == 0.0
    assert 0.0 < Limits.checked(0.0, 0.5, 5).goal(0.0) < 1e-200


@pytest.mark.parametrize(
    ("given", "name"),
    [((-0.5, None, 5), "tol"), ((None, -0.5, 5), "rtol"), ((0.5, None, 5, -0.5), "max_seconds")],
)
def test_no_limit_is_negative(given, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 0"):
        Limits.checked(*given)


@pytest.mark.parametrize("given", [(0.0, 0.0), (0.0, None), (None, 0.0)])
def test_a_gap_of_zero_is_not_asked_for(given):
    with pytest.raises(ValueError, match="tol and rtol must not both be 0"):
        Limits.checked(*given, 5)


def test_a_gap_that_is_as_large_as_it_may_be_is_accepted():
    limits = Limits(0.25, 0.5, 5)
    assert limits.reached(evaluation(8.0, 4.0)) and limits.reached(evaluation(0.1, 0.25))
    assert not limits.reached(evaluation(8.0, math.nextafter(4.0, 5.0)))
    assert not limits.reached(evaluation(8.0, math.nan))


@pytest.mark.parametrize("x_error", [0.0, 1e-9, 3.0])
@pytest.mark.parametrize("primal", [0.03, 1.0, 40.0])
@pytest.mark.parametrize("rtol", [0.0, 1e-4, 0.1, 0.4, 0.7])
def test_what_is_accepted_later_lies_in_the_enlarged_balls(rtol, primal, x_error):
    """An accepted point has an objective of at most the optimum and its own gap, ``rtol`` of it.
    Its distance from the optimum, as the loop judges it, is less than the enlargement, so that
    screened terms cost nothing there. The enlargement is not much more than that.
    """
    limits = Limits(1e-9, rtol, 5)
    for lam in (0.01, 0.7, 300.0):
        now = evaluation(primal, math.inf, lam, x_error)
        for accepted in (primal, primal / (1.0 - rtol)):
            gap = limits.goal(accepted)
            later = evaluation(accepted, gap, lam, x_error)
            assert limits.reached(later)
            assert reference_accuracy(later) < limits.enlargement(now)
            assert math.sqrt(2.0 * gap / lam) < limits.accuracy(primal, lam)
        if rtol < 1e-3:
            known = math.sqrt(2.0 * limits.goal(primal) / lam)
            assert limits.accuracy(primal, lam) <= 1.01 * known
            assert limits.enlargement(now) <= 1.01 * (known + 2.0 * x_error)
