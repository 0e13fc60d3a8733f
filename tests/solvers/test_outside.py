"""An outside solver: the same optimum from a general convex program, and a gap that is certified
there.
"""

import cvxpy as cp
import numpy as np
import pytest

import safescreen as ss
from instances import KINDS, instance


def by_cvxpy(of, gamma, lam, linear=None):
    """Return the optimum by SCS; the plain hinge by Clarabel."""
    A = of.A.reshape(len(of.A), -1)
    size = float(np.abs(A).max())
    scaled, weight = A / size, lam / size**2  # in units of x size, where numbers are of order one
    if of.kind == "full":
        d = of.X.shape[1]
        x = cp.Variable((d, d), PSD=True)
        flat = cp.vec(x, order="C")
    else:
        x = flat = cp.Variable(A.shape[1], nonneg=of.kind == "diagonal")
    slack = cp.pos(1.0 - scaled @ flat)
    loss = cp.sum(cp.huber(slack, gamma)) / (2.0 * gamma) if gamma else cp.sum(slack)
    objective = loss + 0.5 * weight * cp.sum_squares(flat)
    if linear is not None:
        objective -= np.ravel(linear) @ flat / size
    program = cp.Problem(cp.Minimize(objective))
    if gamma:
        program.solve(solver="SCS", eps_abs=1e-10, eps_rel=1e-10, max_iters=200_000)
    else:
        program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert program.status == "optimal"
    return x.value / size, program.value


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_same_optimum(kind, gamma):
    of = instance(kind)
    problem = of.problem(gamma)
    lam = of.lam(0.05)
    solution = ss.solve(
        problem, lam, tol=0.0, rtol=1e-13 if gamma else 3e-13, screening=("RRPB", "PGB")
    )
    x, value = by_cvxpy(of, gamma, lam)
    size = np.linalg.norm(x)
    assert np.linalg.norm(solution.x - x) <= (1e-6 if gamma else 3e-6) * size
    assert solution.primal == pytest.approx(value, rel=1e-7)
    # the certificate holds for the outside solution too: distance and value
    x = problem.cone.project(x)
    assert (
        np.linalg.norm(solution.x - x)
        <= solution.eps + ss.spheres.duality_gap_bound(problem, x, lam, solution.alpha).radius
    )
    assert problem.primal(x, lam) >= solution.primal - solution.gap
    assert problem.dual(solution.alpha, lam) <= problem.primal(x, lam)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_same_optimum_with_a_linear_term(kind):
    of = instance(kind)
    lam, c = of.lam(0.05), 0.1 * np.ravel(of.A.sum(axis=0)).reshape(of.A.shape[1:])
    solution = ss.solve(
        of.problem(0.05, linear=c), lam, tol=0.0, rtol=1e-13, screening=("RRPB", "PGB")
    )
    x, value = by_cvxpy(of, 0.05, lam, c)
    assert np.linalg.norm(solution.x - x) <= 1e-6 * np.linalg.norm(x)
    assert solution.primal == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("kind", ["full", "diagonal", "dense"])
def test_path(kind):
    of = instance(kind)
    lams = of.lam(1.0) * np.array([0.5, 0.2, 0.05])
    for solution in ss.path(
        of.problem(0.05), lams, tol=0.0, rtol=1e-13, ranges=True, screening=("RRPB", "PGB")
    ):
        x, _ = by_cvxpy(of, 0.05, solution.lam)
        assert np.linalg.norm(solution.x - x) <= 1e-6 * np.linalg.norm(x)
