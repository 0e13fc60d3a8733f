"""Two hinge problems decide that a term lies between its thresholds: against exact optima."""

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from naive.harness import truth
from safescreen.rules import RULES
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy


def between(prob, ball, rule):
    """Return the terms above ``tau - gamma`` and below ``tau`` in the whole region."""
    lower = prob.terms.with_threshold(prob.terms.threshold - prob.loss.width)
    above = rule(ss.Problem(lower, ss.Hinge()), ball).in_R
    return above & rule(ss.Problem(prob.terms, ss.Hinge()), ball).in_L


@pytest.mark.parametrize("kind", ["full", "diagonal", "dense", "kernel"])
@pytest.mark.parametrize("data", ["normal", "ties", "outlier"])
def test_what_is_in_between_by_a_ball_is_so_at_the_optimum(kind, data):
    of, kept = instance(kind, data), 0
    for gamma, fraction in ((0.05, 0.02), (0.5, 0.02), (1.0, 0.5)):
        prob, lam = of.problem(gamma), of.lam(fraction)
        solution, known = truth(prob, of.exact(gamma), lam)
        outside = known.must_L | known.must_R
        for shift in (0.0, 1e-9, 1e-3, 0.1):
            x = prob.cone.project((1.0 + shift) * solution.x)
            path = PathReference(
                x0=x, lam0=1.01 * lam, eps=reference_accuracy(prob.evaluate(x, 1.01 * lam))
            )
            reference = BallReference(prob, prob.evaluate(x, lam), path)
            for name, family in SPHERES.items():
                for rule in RULES.values():
                    mask = between(prob, family.build(reference), rule)
                    assert not (mask & outside).any(), (name, gamma, shift)
                    kept += np.count_nonzero(mask)
    assert kept > 0
