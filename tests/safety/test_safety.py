"""Every sphere contains the optimum and every rule is right: all spheres, rules, losses and
cones, on friendly and on hostile data.
"""

from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest

import safescreen as ss
from instances import ADVERSARIAL, WITH_KERNEL, instance
from naive.features import size
from naive.harness import rules_for, truth
from safescreen.rules import RULES
from safescreen.solvers.methods import SMOOTH, policy_of
from safescreen.solvers.reduction import Reduction
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy

FRACTIONS = (0.5, 0.02)
HOSTILE = ("full", "diagonal", "dense", "kernel", "tiles")
LOSSES = (0.0, 0.05, 1.0)


@lru_cache
def solved(kind, data, gamma, fraction):
    """Return an instance with its problem, lam, accurate solution and the truth about it."""
    of = instance(kind, data)
    prob, lam = of.problem(gamma), of.lam(fraction)
    solution, known = truth(prob, of.exact(gamma), lam)
    assert float(known.eps) < 1e-4 * size(solution.x), "a reference this vague would prove nothing"
    return of, prob, lam, solution, known


def visited(of, prob, lam, solution, seed=0):
    """Return points of the cone: iterates of a solve that screens, and points no solver would
    look at.
    """
    found, rng, length = [], np.random.default_rng(seed), size(solution.x)
    ss.solve(
        prob,
        lam,
        tol=0.0,
        rtol=1e-6,
        freq=3,
        callback=lambda progress: found.append(progress.x),
        screening=("RRPB", "PGB"),
    )
    found = [*found[:3], *found[3::40], found[-1]]
    found += [
        prob.cone.zeros(),
        solution.x,
        1e6 * solution.x,
        1e-6 * solution.x,
        prob.all_linear() / lam,
    ]
    found += [of.feasible(rng, length * s) for s in (1e-3, 1.0, 1e3)]
    for relative in (1e-12, 1e-9, 1e-6, 1e-3):
        found.append(prob.cone.project(solution.x + of.feasible(rng, relative * length)))
    return found


def references(prob, points, lam, alphas=(None,)):
    """Yield what spheres may be built from: each point alone, and as the solution of
    neighbouring lam.
    """
    for x in points:
        here = prob.evaluate(x, lam)
        for alpha in alphas:
            yield BallReference(prob, here if alpha is None else prob.evaluate(x, lam, alpha))
        for factor in (1.0, 0.9, 1.02, 3.0):
            eps = reference_accuracy(prob.evaluate(x, factor * lam))
            yield BallReference(prob, here, PathReference(x0=x, lam0=factor * lam, eps=eps))


def balls(reference):
    """Yield the balls of all families; those that do not use the path only once a point."""
    for name, family in SPHERES.items():
        if family.uses_path or reference.path is None:
            yield name, family.build(reference)


@lru_cache
def tiny(kind):
    """Return a problem of eight points, what is known of its optimum, and references near and far
    from it: alone, and as solutions of neighbouring lam.
    """
    of = instance(kind, n=8)
    prob, lam = of.problem(0.05), of.lam(0.5)
    solution, known = truth(prob, of.exact(0.05), lam)
    rng = np.random.default_rng(0)
    length = size(solution.x)
    near = [solution.x + of.feasible(rng, part * length) for part in (1e-9, 1e-3, 0.3)]
    points = [prob.cone.zeros(), solution.x, *map(prob.cone.project, near)]
    return prob, known, list(references(prob, points, lam, (None, solution.alpha)))


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("sphere", list(SPHERES))
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_each_on_a_tiny_problem(kind, sphere, rule):
    prob, known, all_references = tiny(kind)
    n_screened = 0
    for reference in all_references:
        if reference.path is None and SPHERES[sphere].uses_path:
            continue
        ball = SPHERES[sphere].build(reference)
        screened = RULES[rule](prob, ball)
        assert known.contained(ball)
        assert known.right(screened)
        n_screened += int(screened.in_L.sum() + screened.in_R.sum())
    assert n_screened > 0


CASES = [
    (kind, "normal", gamma, fraction)
    for kind in WITH_KERNEL
    for gamma in LOSSES
    for fraction in FRACTIONS
]
CASES += [
    (kind, data, *((0.0, 0.02), (0.05, 0.5))[(i + j) % 2])
    for i, kind in enumerate(HOSTILE)
    for j, data in enumerate(ADVERSARIAL)
]
"""On hostile data each kind, and each of the data, has both losses."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "data", "gamma", "fraction"), CASES)
def test_contained_and_right(kind, data, gamma, fraction):
    of, prob, lam, solution, known = solved(kind, data, gamma, fraction)
    alphas = (None, solution.alpha, np.random.default_rng(1).uniform(size=len(prob)))
    for n, reference in enumerate(references(prob, visited(of, prob, lam, solution), lam, alphas)):
        for m, (name, ball) in enumerate(balls(reference)):
            assert known.contained(ball), name
            for rule in rules_for(n + m):
                assert known.right(RULES[rule](prob, ball)), (name, rule)


@pytest.mark.parametrize("gamma", LOSSES)
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_intersections_and_halfspaces_are_right(kind, gamma):
    of, prob, lam, solution, known = solved(kind, "normal", gamma, 0.5)
    for x in visited(of, prob, lam, solution)[::3]:
        found = [ball for reference in references(prob, [x], lam) for _, ball in balls(reference)]
        for first, second in combinations(found, 2):
            assert known.right(ss.rules.intersection(prob, first, second)), (
                first.name,
                second.name,
            )
        if of.cone != "free":  # the cones are their own duals
            for ball in found:
                assert known.right(
                    ss.rules.halfspace(prob, ball, of.feasible(np.random.default_rng(2)))
                ), ball.name


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_public_functions_contain(kind, gamma):
    of, prob, lam, solution, known = solved(kind, "normal", gamma, 0.5)
    rng, s = np.random.default_rng(3), ss.spheres
    for x in (prob.cone.zeros(), solution.x, *(of.feasible(rng, t) for t in (1e-3, 1e-1, 10.0))):
        for alpha in (
            None,
            np.zeros(len(prob)),
            np.ones(len(prob)),
            rng.uniform(size=len(prob)),
            solution.alpha,
        ):
            assert known.contained(s.duality_gap_bound(prob, x, lam, alpha))
            assert known.contained(s.midpoint_gap_bound(prob, x, lam, alpha))
            if alpha is not None:
                assert known.contained(s.constrained_duality_gap_bound(prob, alpha, lam))
        assert known.contained(s.gradient_bound(prob, x, lam))
        assert known.contained(s.projected_gradient_bound(prob, x, lam))
        for lam0 in (0.3 * lam, lam, 2.0 * lam):
            eps = s.duality_gap_bound(prob, x, lam0).radius
            assert known.contained(s.relaxed_path_bound(x, eps, lam0, lam))
    exact_solution = prob.all_linear() / (3.0 * prob.lam_max()), 3.0 * prob.lam_max()
    ball = s.path_bound(*exact_solution, lam)
    assert known.contained(ss.Sphere(ball.center, ball.radius * (1.0 + 1e-12)))


class Watch:
    """Looks at every ball a solver uses and at every decision it takes."""

    def __init__(self, monkeypatch):
        self.known, self.n_balls, self.n_screened = None, 0, 0
        original = Reduction.apply

        def apply(reduction, *balls, rule="sphere"):
            changed = original(reduction, *balls, rule=rule)
            assert all(self.known.contained(ball) for ball in balls), [ball.name for ball in balls]
            assert self.known.right(reduction.screened()), ([ball.name for ball in balls], rule)
            self.n_balls += len(balls)
            self.n_screened = max(self.n_screened, reduction.n_L + reduction.n_R)
            return changed

        monkeypatch.setattr(Reduction, "apply", apply)


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_inside_a_solve(kind, gamma, rule, monkeypatch):
    *_, prob, lam, solution, known = solved(kind, "normal", gamma, 0.5)
    for name in SPHERES:
        for active_set, rtol in (
            (False, 1e-9 if gamma else 1e-6),
            (True, 1e-9 if gamma else 1e-6),
            (False, 0.1),
        ):
            watch = Watch(monkeypatch)
            watch.known = known
            got = ss.solve(
                prob,
                lam,
                rtol=rtol,
                tol=0.0,
                screening=(f"{name}+{rule}",),
                freq=1,
                active_set=active_set,
            )
            monkeypatch.undo()
            last = got.history[-1]
            assert (watch.n_balls > 0 or rtol == 0.1) and watch.n_screened == last.n_L + last.n_R
            assert known.right(got.screened)


@pytest.mark.slow
@pytest.mark.parametrize("screening", [("RRPB", "PGB"), "auto"], ids=str)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_along_a_path(kind, gamma, screening):
    ranges = (WITH_KERNEL.index(kind) + (gamma > 0.0) + (screening == "auto")) % 2 == 0
    of = instance(kind)
    prob, lams = of.problem(gamma), of.lam(1.0) * 0.8 ** np.arange(8)
    path = ss.path(prob, lams, tol=0.0, rtol=1e-7, ranges=ranges, screening=screening)
    for solution, rate in zip(path, path.path_rates, strict=True):
        known = truth(prob, of.exact(gamma), solution.lam)[1]
        assert known.right(solution.screened)
        assert known.contained(ss.Sphere(solution.x, solution.eps))
        assert 0.0 <= rate <= 1.0
    is_screened = screening != "auto" or policy_of("auto", prob, SMOOTH["gradient"]) is not None
    assert max(path.path_rates) > 0.1 or not is_screened


@pytest.mark.parametrize("gamma", [0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_screening_screens(kind, gamma):
    """With an accurate reference each sphere screens nearly all terms off the quadratic part,
    and even a poor one screens some.
    """
    of, prob, lam, solution, known = solved(kind, "normal", gamma, 0.5)
    certain = known.must_L | known.must_R
    assert certain.sum() > 10
    for name, ball in balls(BallReference(prob, prob.evaluate(solution.x, lam))):
        # the radius of GB does not vanish where the cone is active; what it leaves of the cone does
        rule = "semidefinite" if name == "GB" and of.cone != "free" else "sphere"
        found = RULES[rule](prob, ball)
        decided = found.in_L | found.in_R
        assert decided[certain].mean() > 0.9, name
    rough = prob.cone.project(
        solution.x + of.feasible(np.random.default_rng(0), 0.02 * size(solution.x))
    )
    for name, ball in balls(BallReference(prob, prob.evaluate(rough, lam))):
        assert ss.rules.sphere(prob, ball).rate > 0.0, name
    before = truth(prob, of.exact(gamma), lam / 0.98)[0]
    near = PathReference(x0=before.x, lam0=before.lam, eps=before.eps)
    ball = SPHERES["RRPB"].build(BallReference(prob, prob.evaluate(before.x, lam), near))
    assert ss.rules.sphere(prob, ball).rate > 0.2
