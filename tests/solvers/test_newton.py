"""Newton's method: its system in all forms, its step, and when it ends."""

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen.solvers.line_search import _line_search
from safescreen.solvers.newton import Newton

KINDS = ("dense", "csr", "kernel")


def samples(kind, weighted, n=14, d=4):
    """Return samples, their rows ``y_i x_i``, and their weights."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.4 * y[:, None]
    weights = rng.uniform(0.2, 3.0, n) if weighted else None
    if kind == "kernel":
        terms = ss.KernelSamples.from_points(X, y, "linear", weights=weights)
    else:
        terms = ss.Samples(sparse.csr_array(X) if kind == "csr" else X, y, weights=weights)
    return terms, y[:, None] * X, np.ones(n) if weights is None else weights


def plain(kind, Z, element):
    """Return an element as a vector, also that of an expansion."""
    return Z.T @ np.asarray(element) if kind == "kernel" else element


@pytest.mark.parametrize("largest", [3000, 5, 3, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_directions_solve_the_system(kind, weighted, largest):
    """Both forms of it; larger ones than `largest` by conjugate gradients, to a thousandth."""
    terms, Z, weights = samples(kind, weighted)
    rng = np.random.default_rng(1)
    gradient = terms.adjoint(rng.uniform(-1.0, 1.0, len(terms)))
    g = plain(kind, Z, gradient)
    for lam, width in ((0.7, 0.2), (3.0, 1.5), (50.0, 1.5)):
        for size in (0, 1, 3, 4, 5, 12):
            curved = np.sort(rng.choice(len(terms), size, replace=False))
            found = Newton(largest=largest)._direction(terms, gradient, curved, width, lam)
            v = plain(kind, Z, found)
            slope = lam * np.eye(4) + (Z[curved].T * (weights[curved] / width)) @ Z[curved]
            best = np.linalg.solve(slope, -g)
            small = size if kind == "kernel" else min(size, 4)
            if small <= largest:
                np.testing.assert_allclose(v, best, rtol=1e-9, atol=1e-9)
            else:
                assert np.linalg.norm(v - best) <= 0.03 * np.linalg.norm(best)


def test_the_ridge_of_a_singular_system_is_raised():
    """As little as makes it solvable: what can be solved is, and the step descends."""
    ones = np.full((5, 5), 3e13)
    for matrix, b in (
        (ones, np.arange(5.0)),
        (ones, np.ones(5)),
        (ones + 1e-3 * np.eye(5), -np.ones(5)),
        (np.diag([1.0, 1.0, 1.0, 0.0, -1e-13]), np.ones(5)),
        (np.diag([1.0, 1.0, 1.0, 0.0, -1e-10]), np.ones(5)),
    ):
        solution = Newton()._solve(matrix.copy(), 0.0, b)
        assert np.isfinite(solution).all() and solution @ b > 0.0
        whole = np.linalg.pinv(matrix, rcond=1e-6) @ b
        rounding = 6.0 * np.finfo(float).eps * np.max(np.abs(matrix) @ np.abs(solution))
        np.testing.assert_allclose(matrix @ solution, matrix @ whole, atol=0.05 + rounding)


@pytest.mark.parametrize("loss", [ss.SmoothedHinge(0.6), ss.SquaredHinge(0.6)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_goes_along_the_direction_of_the_terms_between_their_regions(kind, loss):
    terms, Z, weights = samples(kind, True)
    problem = ss.Problem(terms, loss)
    rng = np.random.default_rng(5)
    lam = 0.8
    for _ in range(5):
        x = terms.adjoint(rng.uniform(-0.02, 0.1, len(terms)))
        e = problem.evaluate(x, lam)
        slack = 1.0 - terms.margins(x)
        between = (slack > 0.0) & (slack < (0.6 if loss.has_linear_region else np.inf))
        assert 0 < between.sum() < len(terms)
        slope = lam * np.eye(4) + (Z[between].T * (weights[between] / 0.6)) @ Z[between]
        direction = np.linalg.solve(slope, -plain(kind, Z, e.gradient))
        step = Newton()._step(problem, e)
        v = plain(kind, Z, step)
        share = float(v @ direction / (direction @ direction))
        np.testing.assert_allclose(v, share * direction, rtol=1e-8, atol=1e-10)
        values = [problem.primal(x + s * step, lam) for s in (1.0, 0.99, 1.01)]
        assert share > 0.0 and values[0] <= min(values[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_steps_from_anywhere(kind):
    terms, *_ = samples(kind, True)
    problem = ss.Problem(terms, ss.SmoothedHinge(0.6))
    found = ss.solve(problem, 0.5, tol=1e-12, screening=(), method="newton")
    assert found.converged and 1 < found.n_iter < 12


@pytest.mark.parametrize("method", ["auto", "newton"])
@pytest.mark.parametrize("C", [1e4, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("seed", [0, 3])
def test_columns_of_very_different_scales(seed, C, method):
    """From 1e-4 to 1e4: the gap that is asked for is reached."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1000, 10))
    y = points[:, 0] + 0.5 * rng.standard_normal(1000) > 0.0
    X = points * 10.0 ** rng.integers(-4, 5, 10)
    model = ss.SafeSVC(C=C, method=method).fit(X, y)  # warnings are errors
    assert model.reason_ == "converged" and model.relative_gap_ <= 1e-4


def test_a_short_step_is_found():
    """Of a direction that is 1e20 times as long."""
    slack = np.array([1.2, -0.1, -0.2])
    slopes = np.array([1.5, -4.5, -1.7])
    for size in (1.0, 1e20):
        t = _line_search(
            slack, size * slopes, np.ones(1), 0, 0.5, 1.0, -1.5 * size, 1e-12 * size * size
        )
        assert size * t == pytest.approx(1.6 / 27.0, rel=1e-9)
