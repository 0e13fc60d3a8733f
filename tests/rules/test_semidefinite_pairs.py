"""The semidefinite rule by one eigenpair: the same decisions as by all of them, and never false,
whatever pair is used.
"""

import numpy as np
import pytest

import safescreen as ss
from safescreen.rules import _certificates, _splits, semidefinite, sphere


def instance(d, T, seed=0, rank=None):
    """Return triplets, a ball around a point of the cone, and thresholds between the ball's
    minima and the center's values.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) / np.sqrt(d)
    index = np.unique(
        np.column_stack([rng.integers(low, low + 20, size=T) for low in (0, 20, 40)]), axis=0
    )
    terms = ss.Triplets(X, index)
    A = rng.normal(size=(d, rank or d))
    Q = A @ A.T / d
    radius = 0.3 * np.linalg.norm(Q)
    margins, reach = terms.margins(Q), radius * terms.norms
    side = np.where(np.arange(len(terms)) % 2, 1.0, -1.0)
    thresholds = margins + side * reach * rng.uniform(0.5, 1.02, size=len(terms))
    return ss.Problem(terms.with_threshold(thresholds), ss.Hinge()), ss.Sphere(Q, radius)


def full(monkeypatch, problem, ball, **options):
    with monkeypatch.context() as patch:
        patch.setattr(_certificates, "split_one", _splits.split_all)
        return semidefinite(problem, ball, **options)


@pytest.mark.parametrize(
    ("d", "T", "rank"),
    [(16, 200, None), (24, 100, 5), (48, 20, None), (95, 12, None), (95, 12, 10)],
)
def test_one_pair_decides_what_all_do(d, T, rank, monkeypatch):
    problem, ball = instance(d, T, rank=rank)
    one, every = semidefinite(problem, ball), full(monkeypatch, problem, ball)
    assert (one.in_L == every.in_L).all() and (one.in_R == every.in_R).all()
    assert one.n_L > 0 and one.n_R > 0
    assert one.rate > sphere(problem, ball).rate


def test_it_is_used_when_the_center_is_in_the_cone(monkeypatch):
    called = []
    for d, shift, expected in ((16, 0.0, True), (15, 0.0, False), (16, 0.3, False)):
        called.clear()
        problem, ball = instance(d, 20)
        with monkeypatch.context() as patch:
            patch.setattr(
                _certificates,
                "split_one",
                lambda *args: (called.append(1), _splits.split_one(*args))[1],
            )
            semidefinite(problem, ss.Sphere(ball.center - shift * np.eye(d), ball.radius))
        assert bool(called) == expected


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("d", [2, 5, 20, 95])
def test_parts_of_the_lowest_pair(d, sign):
    """At most one eigenvalue is negative, so that the pair gives both parts exactly."""
    rng = np.random.default_rng(d)
    A, u, v = rng.normal(size=(6, d, d)), rng.normal(size=(6, d)), rng.normal(size=(6, d))
    Q = A @ A.transpose(0, 2, 1) / d
    a = sign * (u[:, :, None] * u[:, None, :] - v[:, :, None] * v[:, None, :])
    Z = Q + 3.0 * a
    negative = np.count_nonzero(np.linalg.eigvalsh(Z) < 0.0, axis=1)
    assert negative.max() == 1 and negative.sum() >= 4
    by_pair, q = _splits.split_one(Z, a)
    again, _ = _splits.split_one(Z, a, q)
    by_all, _ = _splits.split_all(Z, a)
    for name in ("plus", "minus", "plus_product", "minus_product"):
        np.testing.assert_allclose(
            getattr(by_pair, name), getattr(by_all, name), rtol=1e-5, atol=1e-8
        )
        np.testing.assert_allclose(
            getattr(again, name), getattr(by_all, name), rtol=1e-5, atol=1e-8
        )


@pytest.mark.parametrize("d", [1, 2, 7])
def test_any_vector_gives_bounds_of_the_parts(d, monkeypatch):
    rng = np.random.default_rng(d)
    Z = rng.normal(size=(300, d, d))
    Z += Z.transpose(0, 2, 1)
    true, _ = _splits.split_all(Z, Z)
    for q in (rng.normal(size=(300, d)), np.linalg.eigh(Z)[1][:, :, 0] * 3.0):
        monkeypatch.setattr(_splits, "lowest_vectors", lambda *args, q=q: q)
        got, _ = _splits.split_one(Z, Z)
        assert (got.plus >= true.plus * (1.0 - 1e-13)).all()
        assert (got.minus <= true.minus * (1.0 + 1e-13)).all()
        np.testing.assert_allclose(got.plus**2 + got.minus**2, np.sum(Z * Z, axis=(1, 2)))


def test_wrong_pairs_decide_less_and_nothing_else(monkeypatch):
    problem, ball = instance(16, 300)
    every = full(monkeypatch, problem, ball, max_iter=60)
    rng = np.random.default_rng(1)
    right = _splits.lowest_vectors
    for noise in (0.01, 0.1, 1.0):
        monkeypatch.setattr(
            _splits,
            "lowest_vectors",
            lambda Z, a, start, noise=noise: (
                right(Z, a, start) + noise * rng.normal(size=Z.shape[:2])
            ),
        )
        got = semidefinite(problem, ball)
        assert not (got.in_L & ~every.in_L).any() and not (got.in_R & ~every.in_R).any()
        assert noise < 1.0 or got.rate < every.rate


def test_a_negative_part_two_percent_too_large_is_caught(monkeypatch):
    problem, ball = instance(16, 300)
    every = full(monkeypatch, problem, ball, max_iter=60)

    def overstated(Z, a, start):
        parts, q = _splits.split_one(Z, a, start)
        plus = np.sqrt(np.maximum(parts.plus**2 - 0.0404 * parts.minus**2, 0.0))
        return _splits.Parts(plus, 1.02 * parts.minus, parts.plus_product, parts.minus_product), q

    monkeypatch.setattr(_certificates, "split_one", overstated)
    got = semidefinite(problem, ball)
    assert (got.in_L & ~every.in_L).any() or (got.in_R & ~every.in_R).any()


@pytest.mark.parametrize("d", [16, 95])
def test_solvers_that_fail_cost_decisions_only(d, monkeypatch):
    import scipy.sparse.linalg

    problem, ball = instance(d, 40 if d < 90 else 8)
    every = semidefinite(problem, ball)

    def refuse(*args, **kwargs):
        raise scipy.sparse.linalg.ArpackNoConvergence(
            "no convergence", np.empty(0), np.empty((d, 0))
        )

    monkeypatch.setattr(_splits, "eigsh", refuse)
    by_lapack = semidefinite(problem, ball)
    assert (by_lapack.in_L == every.in_L).all() and (by_lapack.in_R == every.in_R).all()
    monkeypatch.setattr(
        _splits.lapack,
        "dsyevr",
        lambda Z, **options: (np.zeros(1), np.full((d, 1), np.nan), 0, 0, 1),
    )
    left = semidefinite(problem, ball)
    assert not (left.in_L & ~every.in_L).any() and not (left.in_R & ~every.in_R).any()
    assert left.rate < every.rate


def test_a_loss_without_a_linear_region_screens_R_alone():
    problem, ball = instance(16, 60)
    squared = semidefinite(ss.Problem(problem.terms, ss.SquaredHinge(1.0)), ball)
    assert (squared.in_R == semidefinite(problem, ball).in_R).all()
    assert squared.n_R > 0 and squared.n_L == 0


def test_thresholds_around_what_a_convex_program_finds():
    """At the extremes of ``<a, x>`` over ball and cone, in 16 dimensions, by a program of
    another kind.
    """
    import cvxpy as cp

    problem, ball = instance(16, 6, seed=3)
    x = cp.Variable((16, 16), PSD=True)
    elements = problem.terms.elements(np.arange(2))[0]
    for side, sign in (("in_R", 1.0), ("in_L", -1.0)):
        for t, a in enumerate(elements):
            inside = cp.norm(cp.vec(x - ball.center, order="C")) <= ball.radius
            program = cp.Problem(cp.Minimize(sign * cp.sum(cp.multiply(a, x))), [inside])
            extreme = sign * program.solve(solver="CLARABEL")
            for shift, expected in ((-1e-4, True), (1e-4, False)):
                moved = problem.terms.with_threshold(np.full(len(problem), extreme + sign * shift))
                assert (
                    getattr(semidefinite(ss.Problem(moved, ss.Hinge()), ball, max_iter=60), side)[t]
                    == expected
                )
