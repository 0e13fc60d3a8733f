"""Newton steps over cones: each solves its equation, and they bring small lam within reach,
smoothed or not.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import safescreen as ss
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.solvers.semismooth import Semismooth


def labelled(load=load_wine, every=1):
    X, y = load(return_X_y=True)
    return ((X - X.min(axis=0)) / np.ptp(X, axis=0) * 2.0 - 1.0)[::every], y[::every]


@pytest.mark.parametrize(
    "cone", [PSDCone(5), NonNegativeCone(5)], ids=lambda cone: type(cone).__name__
)
def test_slope_of_the_projection(cone):
    rng = np.random.default_rng(0)
    for _ in range(5):
        y, v = rng.standard_normal((2, *cone.shape))
        y, v = (y + y.T, v + v.T) if len(cone.shape) == 2 else (y, v)
        into, back, Z = cone.slope(y)
        h = 1e-6
        difference = (cone.project(y + h * v) - cone.project(y - h * v)) / (2.0 * h)
        np.testing.assert_allclose(back(Z * into(v)), difference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_products_with_the_curvature(diagonal, weighted):
    X, y = labelled(every=12)
    rng = np.random.default_rng(1)
    plain = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal)
    weights = rng.uniform(0.5, 2.0, len(plain)) if weighted else None
    terms = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal, weights=weights)
    v = rng.standard_normal(terms.cone.shape)
    v = v if diagonal else v + v.T
    numbers = np.flatnonzero(rng.uniform(size=len(terms)) < 0.3)
    product = terms.curvature(numbers, 0.2)
    a = terms.elements(numbers)[0].reshape(len(numbers), -1)
    scales = np.ones(len(numbers)) if weights is None else weights[numbers]
    expected = a.T @ (scales / 0.2 * (a @ v.ravel()))
    np.testing.assert_allclose(
        product(v).ravel(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_newton_step_solves_its_equation(diagonal):
    solver = Semismooth(accuracy=1e-12, products=1000)
    terms = ss.Triplets.from_labels(*labelled(every=3), k=3, diagonal=diagonal)
    problem, lam = ss.Problem(terms, ss.SmoothedHinge(0.5)), 0.5
    x, cone = ss.solve(problem, lam, rtol=1e-2, tol=0.0).x, problem.cone
    e, s = problem.evaluate(x, lam), 0.1 / lam
    margins = terms.margins(x)
    product = terms.curvature(np.flatnonzero((margins > 0.5) & (margins < 1.0)), 0.5)
    y, _ = solver.newton_point(problem, e, s, product)
    start = x - s * e.gradient
    ahead, (into, back, Z) = cone.project(start), cone.slope(start)
    assert 0.0 < Z.mean() < 1.0
    w = back(Z * into(y - start))
    F = (start - ahead) / s + e.gradient + lam * (ahead - x) + product(ahead - x)
    residual = (y - start - w) / s + lam * w + product(w) + F
    assert np.linalg.norm(residual) <= 1e-8 * np.linalg.norm(F)


def test_a_newton_step_that_has_overflowed_is_not_taken(monkeypatch):
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(), k=5), ss.SmoothedHinge(0.05))
    newton_point = Semismooth.newton_point
    monkeypatch.setattr(
        Semismooth, "newton_point", lambda *args: (1e300 * (1e300 * newton_point(*args)[0]), 3)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        assert ss.solve(problem, 10.0, tol=1e-6, method="semismooth", max_iter=3000).converged


@pytest.mark.parametrize(("load", "lam"), [(load_wine, 0.05), (load_wine, 1e-3), (load_iris, 1e-3)])
def test_the_hinge_at_small_lam(load, lam):
    """A tenth of the iterations allowed are enough, at either end of the small lam."""
    problem = ss.Problem(ss.Triplets.from_labels(*labelled(load), k=5), ss.Hinge())
    solution = ss.solve(problem, lam, tol=0.0, rtol=1e-6, screening=("RRPB", "PGB"))
    assert solution.converged and solution.n_iter <= 1000
    assert (
        problem.primal(solution.x, lam) - problem.dual(solution.alpha, lam)
        <= 1e-6 * solution.primal
    )


def test_a_path_of_the_hinge_in_long_steps():
    """Hard margins: what is left violated costs more than a larger x, so the gap is that of its
    best multiple.
    """
    X, y = labelled()
    problem = ss.Problem(ss.Triplets.from_labels(X[::4], y[::4], k=5), ss.Hinge())
    path = ss.path(
        problem,
        problem.lam_max() * np.geomspace(1e-4, 1e-7, 4),
        tol=0.0,
        rtol=1e-6,
        screening=("RRPB", "PGB"),
    )
    assert all(solution.converged and solution.n_iter <= 1500 for solution in path)
    assert path[-1].gap <= 1e-6 * path[-1].primal
