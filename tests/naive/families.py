"""What the families of terms are judged by: an outside solver, and references certified in 50
digits.
"""

import cvxpy as cp
import numpy as np
import pytest

import safescreen as ss
from naive.features import size
from naive.harness import rules_for, truth
from safescreen.rules import RULES
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy


def optimum(A, cone, lam, gamma, tau=1.0, weights=1.0, linear=None):
    """Return ``(x, value)`` of the problem of elements `A` by a general convex program: SCS, the
    plain hinge by Clarabel.
    """
    shape, A = A.shape[1:], A.reshape(len(A), -1)
    size = float(np.abs(A).max())
    if cone == "psd":
        x = cp.Variable(shape, PSD=True)
        flat = cp.vec(x, order="C")
    else:
        x = flat = cp.Variable(A.shape[1], nonneg=cone == "nonneg")
    slack = cp.pos(np.broadcast_to(tau, len(A)) - A / size @ flat)
    losses = cp.huber(slack, gamma) / (2.0 * gamma) if gamma else slack
    objective = np.broadcast_to(weights, len(A)) @ losses + 0.5 * lam / size**2 * cp.sum_squares(
        flat
    )
    if linear is not None:
        objective -= np.ravel(linear) @ flat / size
    program = cp.Problem(cp.Minimize(objective))
    if gamma:
        program.solve(solver="SCS", eps_abs=1e-10, eps_rel=1e-10, max_iters=200_000)
    else:
        program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert program.status == "optimal"
    return x.value / size, program.value


@pytest.fixture
def assert_optimal():
    """Check a solution against an outside solver: point, value, and that the certificate covers
    the outside point too.
    """

    def check(problem, lam, A, cone, **data):
        gamma = problem.loss.gamma
        solution = ss.solve(
            problem, lam, tol=0.0, rtol=1e-12 if gamma else 1e-10, screening=("RRPB", "PGB")
        )
        x, value = optimum(A, cone, lam, gamma, **data)
        assert np.linalg.norm(solution.x - x) <= solution.eps + 1e-6 * np.linalg.norm(x)
        assert solution.primal == pytest.approx(value, rel=1e-7)
        x = problem.cone.project(x)
        rounding = 1e-13 * abs(value)
        assert problem.primal(x, lam) >= solution.primal - solution.gap - rounding
        assert problem.dual(solution.alpha, lam) <= problem.primal(x, lam) + rounding
        return solution

    return check


@pytest.fixture
def assert_safe():
    """Check every sphere with every rule, at iterates, at the optimum and from neighbouring lam;
    return how many terms they screen.
    """

    def check(problem, exact, lam):
        solution, known = truth(problem, exact, lam)
        assert float(known.eps) < 1e-4 * size(solution.x), (
            "a reference this vague would prove nothing"
        )
        points = []
        screened = np.zeros(2, dtype=int)
        number = 0
        ss.solve(
            problem,
            lam,
            tol=0.0,
            rtol=1e-6,
            freq=3,
            callback=lambda progress: points.append(progress.x),
            screening=("RRPB", "PGB"),
        )
        zero, rng = problem.cone.zeros(), np.random.default_rng(0)
        alphas = (None, solution.alpha, rng.uniform(size=len(problem)) * min(problem.loss.cap, 3.0))
        for x in (zero, 1e3 * solution.x, *points[::6], solution.x):
            references = [
                BallReference(problem, problem.evaluate(x, lam, alpha)) for alpha in alphas
            ]
            for factor in (0.9, 1.05):
                eps = reference_accuracy(problem.evaluate(x, factor * lam))
                references.append(
                    BallReference(
                        problem,
                        problem.evaluate(x, lam),
                        PathReference(x0=x, lam0=factor * lam, eps=eps),
                    )
                )
            for reference in references:
                for name, family in SPHERES.items():
                    if family.uses_path and reference.path is None:
                        continue
                    ball = family.build(reference)
                    assert known.contained(ball), name
                    number += 1
                    for rule in rules_for(number):
                        found = RULES[rule](problem, ball)
                        assert known.right(found), (name, rule)
                        screened = np.maximum(screened, (found.n_L, found.n_R))
        return screened

    return check
