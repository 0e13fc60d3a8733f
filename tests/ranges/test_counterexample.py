"""Ranges and balls from a reduced problem's gap: wrong without the enlarged radius, right with
it.
"""

from dataclasses import replace

import numpy as np
import pytest

import safescreen as ss
from ranges.counterexample import BALL_PROBE, RANGE_PROBE, counterexample
from safescreen.ranges import duality_gap, gradient, midpoint_gap

RANGES = {"GB": gradient, "DGB": duality_gap, "MGB": midpoint_gap}


def solution(problem, lam):
    return ss.solve(problem, lam, tol=1e-12, screening=()).x


def guard_dropped(case):
    """Return the problem without the guard, which the ball around the earlier iterate screens,
    and which terms are left.
    """
    masks = case.screened_by()
    masks = replace(masks, in_L=np.zeros_like(masks.in_L), in_R=masks.in_R & case.guard)
    return case.reduced(masks), ~masks.in_R


def test_the_story_is_the_one_of_the_figure():
    case = counterexample()
    assert case.screened_by().in_R[case.guard].all()
    best = solution(case.problem, case.lam0)
    assert (case.problem.terms.margins(best)[case.guard] > 1.0).all()  # rightly screened
    reduced, _ = guard_dropped(case)
    assert reduced.gap(case.x0, case.lam0) <= case.tol < case.problem.gap(case.earlier, case.lam0)
    losses = case.problem.loss.value(case.problem.terms.margins(case.x0))
    assert (losses[case.guard] > 0.0).all()  # but the solution accepted pays for it
    assert np.linalg.norm(case.x0 - best) <= case.enlargement


def test_the_ball_of_the_reduced_gap_misses_the_solution():
    case = counterexample(probe=BALL_PROBE)
    reduced, left = guard_dropped(case)
    x = solution(case.problem, case.lam_ball)
    wrong = ss.spheres.duality_gap_bound(reduced, case.x0, case.lam_ball)
    assert np.linalg.norm(x - wrong.center) > 0.01 > 1e3 * wrong.radius
    assert ss.spheres.duality_gap_bound(case.problem, case.x0, case.lam_ball).contains(x)
    margin = case.problem.terms.margins(x)[case.probe][0]
    assert margin < 1.0 - 1e-3
    for around in RANGES.values():  # a range that starts there is as wrong
        assert (
            around(reduced, case.x0, case.lam_ball).at(case.lam_ball).in_R[case.probe[left]].all()
        )


@pytest.mark.parametrize("name", ["GB", "MGB"])
def test_the_range_of_the_reduced_gap_around_lam0_is_wrong(name):
    case = counterexample(probe=RANGE_PROBE)
    reduced, left = guard_dropped(case)
    around = RANGES[name]
    margin = case.problem.terms.margins(solution(case.problem, case.lam_range))[case.probe][0]
    assert margin < 1.0 - 1e-3
    assert around(reduced, case.x0, case.lam0).at(case.lam_range).in_R[case.probe[left]].all()
    assert not around(case.problem, case.x0, case.lam0).at(case.lam_range).in_R[case.probe].any()


@pytest.mark.parametrize("probe", [BALL_PROBE, RANGE_PROBE])
@pytest.mark.parametrize("name", RANGES)
def test_with_the_enlarged_radius_all_is_well(name, probe):
    case = counterexample(probe=probe)
    found = RANGES[name](case.problem, case.earlier, case.lam0, case.tol).at(case.lam0)
    # something is screened, the guard is not
    assert not found.in_R[case.guard].any() and found.n_L > 0
    reduced, left = case.reduced(found), ~(found.in_L | found.in_R)
    ours, whole = (RANGES[name](p, case.x0, case.lam0) for p in (reduced, case.problem))
    # the gap of the reduced problem is the one of the whole, for every lam
    for end in ("L_low", "L_high", "R_low", "R_high"):
        np.testing.assert_allclose(getattr(ours, end), getattr(whole, end)[left], rtol=1e-6)
    for lam in (case.lam0, case.lam_ball, case.lam_range):
        x = solution(case.problem, lam)
        assert ss.spheres.duality_gap_bound(reduced, case.x0, lam).contains(x)
        decided = RANGES[name](reduced, case.x0, lam).at(lam)
        margins = case.problem.terms.margins(x)[left]
        assert (margins[decided.in_R] > 1.0).all() and (margins[decided.in_L] < 0.5).all()


def test_an_enlargement_too_small_lets_the_guard_go():
    case = counterexample()
    assert not case.screened_by(case.enlargement).in_R[case.guard].any()
    assert case.screened_by(0.1 * case.enlargement).in_R[case.guard].all()
