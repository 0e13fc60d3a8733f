"""The safety harness catches what is unsafe: radii 2 % too small, and rules that forget what
they stand on.
"""

from dataclasses import replace

import numpy as np
import pytest

import safescreen as ss
from instances import WITH_KERNEL, instance
from naive.exact import Exact, exact_samples
from naive.features import size
from naive.harness import certify, flat, truth
from safescreen.rules import RULES, Screened
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference


def tight_cases(name):
    """Yield ``(reference, truth)`` for which the optimum lies on the boundary of the sphere."""
    if name == "CDGB":  # two equal samples with margin 1 at the optimum
        X, y = np.array([[2.0, 1.0], [-2.0, -1.0]]), np.array([1.0, -1.0])
        prob, lam = ss.Problem(ss.Samples(X, y), ss.Hinge()), 10.0
        known = certify(
            Exact(exact_samples(X, y), "free", 0.0), flat(prob.all_linear() / lam), lam, [1, 1]
        )
        for alpha in (0.2, 0.5, 0.9):
            yield BallReference(prob, prob.evaluate(np.zeros(2), lam, np.full(2, alpha))), known
        return
    # over the whole space, with all terms linear at both ends
    for kind in ("dense", "csr", "kernel"):
        of = instance(kind)
        for gamma in (0.0, 0.05, 0.5):
            prob = of.problem(gamma)
            lam = 2.0 * prob.lam_max()
            best = prob.all_linear() / lam
            known = certify(of.exact(gamma), flat(best), lam)
            for factor in (0.9, 0.2, 1.3):
                path = (
                    PathReference(x0=best / factor, lam0=lam * factor, eps=0.0)
                    if name == "RRPB"
                    else None
                )
                yield BallReference(prob, prob.evaluate(factor * best, lam), path), known


@pytest.mark.parametrize("name", list(SPHERES))
def test_a_radius_two_percent_too_small_is_caught(name):
    n_cases = 0
    for reference, known in tight_cases(name):
        ball = SPHERES[name].build(reference)
        assert known.contained(ball)
        assert not known.contained(replace(ball, radius=0.98 * ball.radius))
        n_cases += 1
    assert n_cases >= 3


def test_path_bound_is_tight_too():
    prob = instance("dense").problem(0.05)
    lam = 2.0 * prob.lam_max()
    known = certify(instance("dense").exact(0.05), flat(prob.all_linear() / lam), lam)
    ball = ss.spheres.path_bound(prob.all_linear() / (3.0 * lam), 3.0 * lam, lam)
    assert known.contained(ball)
    assert not known.contained(replace(ball, radius=0.98 * ball.radius))


def without_radius(prob, ball):
    return ss.rules.sphere(prob, replace(ball, radius=0.0))


def with_wrong_threshold(prob, ball):
    """Take the threshold of the zero region for the linear one."""
    wide = ss.Problem(prob.terms.with_threshold(1.0 + prob.loss.gamma), prob.loss)
    return Screened(ss.rules.sphere(wide, ball).in_L, ss.rules.sphere(prob, ball).in_R)


def with_sides_exchanged(prob, ball):
    found = ss.rules.sphere(prob, ball)
    return Screened(found.in_R, found.in_L)


def with_the_nearer_end(prob, ball):
    """Take the minimum over the ball for the maximum."""
    q, reach = prob.terms.margins(ball.center), ball.radius * prob.terms.norms
    return Screened(q - reach < 1.0 - prob.loss.gamma, np.zeros(len(prob), dtype=bool))


@pytest.mark.parametrize(
    "rule", [without_radius, with_wrong_threshold, with_sides_exchanged, with_the_nearer_end]
)
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_an_unsafe_rule_is_caught(kind, rule):
    of = instance(kind)
    prob, lam = of.problem(0.5), of.lam(0.5)
    solution, known = truth(prob, of.exact(0.5), lam)
    rng, caught = np.random.default_rng(0), 0
    for relative in (0.0, 1e-3, 0.3, 1.0):
        step = of.feasible(rng, relative * size(solution.x))
        e = prob.evaluate(prob.cone.project(solution.x + step), lam)
        for family in SPHERES.values():
            ball = family.build(BallReference(prob, e))
            assert all(known.right(safe(prob, ball)) for safe in RULES.values())
            caught += not known.right(rule(prob, ball))
    assert caught > 0


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_reduction_that_drops_too_much_is_caught(kind):
    of = instance(kind)
    prob, lam = of.problem(0.05), of.lam(0.5)
    solution, known = truth(prob, of.exact(0.05), lam)
    wrong = np.zeros(len(prob), dtype=bool)
    wrong[np.flatnonzero(known.must_L)[0]] = True
    other = ss.solve(
        prob.reduce(np.zeros_like(wrong), wrong),
        lam,
        rtol=1e-10,
        tol=0.0,
        screening=("RRPB", "PGB"),
    )
    assert not known.contained(ss.Sphere(other.x, other.eps))
    right = ss.solve(
        prob.reduce(known.must_L, known.must_R), lam, rtol=1e-10, tol=0.0, screening=("RRPB", "PGB")
    )
    assert known.contained(ss.Sphere(right.x, right.eps))
