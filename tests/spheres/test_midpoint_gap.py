"""The midpoint gap bound on problems with exactly known solutions: against its definition, holding
the solution, inside the balls it is said to lie in (notebook 28-midpoint-gap-bound).
"""

import numpy as np
import pytest

import safescreen as ss
from safescreen import spheres

N_TERMS = 6


def nearest_metric(h):
    d = round(np.sqrt(h.size))
    values, vectors = np.linalg.eigh(h.reshape(d, d))
    return (vectors * np.maximum(values, 0.0) @ vectors.T).ravel()


PROJECTIONS = {
    "metric": nearest_metric,
    "diagonal metric": lambda h: np.maximum(h, 0.0),
    "support vectors": lambda h: h,
}


def by_definition(arrays, project, x, alpha, lam, gamma):
    """Center and radius from P - D."""
    A, tau, c = arrays
    margin, H = A @ x, c + A.T @ alpha
    slope = np.clip((tau - margin) / gamma, 0.0, 1.0) if gamma else (margin < tau).astype(float)
    primal = slope @ (tau - margin) - gamma / 2 * slope @ slope - c @ x + lam / 2 * x @ x
    dual = alpha @ tau - gamma / 2 * alpha @ alpha - project(H) @ project(H) / (2 * lam)
    x_alpha = project(H) / lam
    square = (primal - dual) / lam - (x - x_alpha) @ (x - x_alpha) / 4
    return (x + x_alpha) / 2, np.sqrt(max(square, 0.0))


def terms_of(kind, rng):
    """Terms of the library, and the same as rows."""
    if kind == "support vectors":
        A, signs = rng.standard_normal((N_TERMS, 3)), np.where(np.arange(N_TERMS) % 2, 1.0, -1.0)
        return ss.Samples(signs[:, None] * A, signs), A
    diagonal = kind == "diagonal metric"
    points = rng.standard_normal((2 * N_TERMS + 1, 2 + diagonal))
    index = np.array([(0, 1 + t, 1 + N_TERMS + t) for t in range(N_TERMS)])
    far = points[0] - points[index[:, 2]]
    near = points[0] - points[index[:, 1]]
    matrices = far[:, :, None] * far[:, None] - near[:, :, None] * near[:, None]
    rows = matrices.reshape(N_TERMS, -1)
    return ss.Triplets(points, index, diagonal=diagonal), rows[:, ::4] if diagonal else rows


def known_problem(kind, rng):
    """A problem made backwards from a dual point: its thresholds are such that it is optimal."""
    terms, A = terms_of(kind, rng)
    c = 0.3 * (A[0] if kind == "metric" else rng.standard_normal(3))
    lam, gamma = 10.0 ** rng.uniform(-1, 1), rng.choice([0.0, 0.05, 0.5])
    alpha = np.clip(rng.uniform(-1.0, 2.0, N_TERMS), 0.0, 1.0)
    x = PROJECTIONS[kind](c + A.T @ alpha) / lam
    away = rng.exponential(0.3, N_TERMS)
    tau = A @ x + gamma * alpha + np.where(alpha == 1.0, away, 0.0)
    tau -= np.where(alpha == 0.0, away, 0.0)
    shape = terms.cone.zeros().shape
    problem = ss.Problem(
        terms.with_threshold(tau), ss.SmoothedHinge(gamma), linear=c.reshape(shape)
    )
    return problem, (A, tau, c), lam, alpha, x.reshape(shape)


def references(kind, source, rng, n):
    """Known problems with a primal point at any distance and a dual point of a kind."""
    for _ in range(n):
        prob, arrays, lam, alpha_star, star = known_problem(kind, rng)
        noise = rng.standard_normal(star.shape)
        noise = 0.5 * (noise + noise.T) if star.ndim == 2 else noise
        size = (np.linalg.norm(star) + 0.1) * 10.0 ** rng.uniform(-3, 0.5)
        x = prob.cone.project(star + size * noise)
        alpha = rng.uniform(0.0, 1.0, N_TERMS)
        if source == "near":
            alpha = np.clip(alpha_star + 0.1 * (alpha - 0.5), 0.0, 1.0)
        if source == "slopes":
            alpha = prob.alpha(x)
        yield prob, arrays, lam, (x, alpha), (star, alpha_star)


def inside(inner, outer, tiny):
    apart = np.linalg.norm(inner.center - outer.center)
    return apart + inner.radius <= outer.radius + tiny


def same(one, other, tiny):
    apart = np.linalg.norm(one.center - other.center)
    return apart <= tiny and abs(one.radius - other.radius) <= tiny


@pytest.mark.slow
@pytest.mark.parametrize("source", ["slopes", "near", "anywhere"])
@pytest.mark.parametrize("kind", PROJECTIONS)
def test_what_is_said_of_it(kind, source):
    rng, farthest = np.random.default_rng(7), 0.0
    for prob, arrays, lam, (x, alpha), (star, alpha_star) in references(kind, source, rng, 400):
        ball = spheres.midpoint_gap_bound(prob, x, lam, alpha)
        dgb = spheres.duality_gap_bound(prob, x, lam, alpha)
        tiny = 1e-7 * (1.0 + np.linalg.norm(x) + np.linalg.norm(ball.center))
        gamma = prob.loss.gamma
        center, radius = by_definition(arrays, PROJECTIONS[kind], x.ravel(), alpha, lam, gamma)
        assert np.linalg.norm(ball.center.ravel() - center) < 3.0 * tiny
        assert abs(ball.radius - radius) < 3.0 * tiny
        distance = np.linalg.norm(star - ball.center)
        assert distance <= ball.radius + 1e-3 * tiny
        farthest = max(farthest, distance / (ball.radius + tiny))
        # inside the ball of the gap, with at most 1/sqrt 2 of its radius
        assert inside(ball, dgb, tiny)
        assert ball.radius <= np.sqrt(0.5) * dgb.radius + tiny
        # CDGB is the ball at x(alpha)
        cdgb = spheres.constrained_duality_gap_bound(prob, alpha, lam)
        at_alpha = spheres.midpoint_gap_bound(prob, prob.x_of(alpha, lam), lam, alpha)
        assert same(cdgb, at_alpha, tiny)
        assert np.linalg.norm(star - cdgb.center) <= cdgb.radius + 1e-3 * tiny
        # at another lam: inside RRPB of the same pair; of the exact pair it is RPB
        l1 = lam / rng.choice([0.5, 0.9, 1.1, 2.0, 5.0])
        there = spheres.midpoint_gap_bound(prob, x, l1, alpha)
        assert inside(there, spheres.relaxed_path_bound(x, dgb.radius, lam, l1), 10 * tiny)
        exact = spheres.midpoint_gap_bound(prob, star, l1, alpha_star)
        rpb = spheres.path_bound(star, lam, l1)
        assert np.linalg.norm(exact.center - rpb.center) <= 10 * tiny
        assert abs(exact.radius - rpb.radius) <= 1e-5 * (1 + rpb.radius)
    if source != "near":
        assert farthest > 0.9  # some solutions are close to the surface


@pytest.mark.parametrize("kind", PROJECTIONS)
def test_next_to_the_gradient_bounds(kind):
    """With the slopes at x, PGB is not wider; without a cone it, GB and the midpoint bound are one
    ball of half the radius of DGB.
    """
    rng = np.random.default_rng(8)
    for prob, _, lam, (x, alpha), _ in references(kind, "slopes", rng, 100):
        ball = spheres.midpoint_gap_bound(prob, x, lam, alpha)
        tiny = 1e-7 * (1.0 + np.linalg.norm(x) + np.linalg.norm(ball.center))
        pgb = spheres.projected_gradient_bound(prob, x, lam)
        assert pgb.radius <= ball.radius + tiny
        if kind == "support vectors":
            dgb = spheres.duality_gap_bound(prob, x, lam, alpha)
            assert same(spheres.gradient_bound(prob, x, lam), ball, tiny)
            assert abs(pgb.radius - ball.radius) <= tiny
            assert abs(ball.radius - dgb.radius / 2) <= tiny
