"""The squared hinge: values, sums, gap, optimum, safety; only its zero region is ever screened."""

import pickle

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf
from scipy.optimize import minimize_scalar

import safescreen as ss
from instances import KINDS, instance
from naive import Naive
from naive.exact import Exact, exact
from naive.harness import truth
from safescreen.rules import RULES
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy

GAMMAS = (0.3, 1.0, 4.0)
kinds = pytest.mark.parametrize("kind", KINDS)


class Squared(Naive):
    """The naive problem with ``max(0, tau - u)^2/(2 gamma)``."""

    def losses(self, x):
        return np.array(
            [
                max(tau - u, 0.0) ** 2 / (2.0 * self.gamma)
                for u, tau in zip(self.margins(x), self.tau, strict=True)
            ]
        )

    def alpha(self, x):
        return np.maximum(self.tau - self.margins(x), 0.0) / self.gamma


class ExactSquared(Exact):
    """The same in 50 digits; its linear region lies at minus infinity."""

    def _slopes(self, x):
        slacks = [tau - m for tau, m in zip(self.tau, self.margins(x), strict=True)]
        return [(max(s / self.gamma, mpf(0)), s) for s in slacks]


def squared(of, gamma=1.0, terms=None):
    return ss.Problem(terms or of.terms, ss.SquaredHinge(gamma))


@pytest.mark.parametrize("tau", [1.0, -2.0, 0.0])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_value_and_slope(gamma, tau):
    loss, u = ss.SquaredHinge(gamma), np.linspace(-6.0, 6.0, 481)
    assert np.allclose(
        loss.value(u, tau), np.maximum(tau - u, 0.0) ** 2 / (2.0 * gamma), rtol=1e-14
    )
    slope = (loss.value(u + 1e-5, tau) - loss.value(u - 1e-5, tau)) / 2e-5
    assert np.allclose(-slope, loss.alpha(u, tau), atol=1e-4)
    for a in (0.0, 0.3, 2.5):
        found = minimize_scalar(
            lambda u, a=a: a * u + float(loss.value(u, tau)), bounds=(-40, 40), method="bounded"
        )
        assert -found.fun == pytest.approx(float(loss.conjugate(a, tau)), abs=1e-5)
    assert np.isinf(loss.conjugate(-1e-9))


@given(st.floats(-1e3, 1e3), st.floats(0.0, 100.0), st.sampled_from(GAMMAS))
def test_fenchel_young(u, a, gamma):
    loss, size = (
        ss.SquaredHinge(gamma),
        (1.0 + abs(u)) ** 2 / gamma + gamma * a * a + a * (1.0 + abs(u)),
    )
    assert loss.value(u) + loss.conjugate(a) + a * u >= -1e-14 * size
    best = float(loss.alpha(u))
    assert abs(loss.value(u) + loss.conjugate(best) + best * u) <= 1e-14 * size


def test_a_wide_smoothed_hinge_is_one():
    u = np.linspace(-3.0, 3.0, 61)
    assert np.allclose(ss.SquaredHinge(50.0).value(u), ss.SmoothedHinge(50.0).value(u), rtol=1e-14)
    assert not np.allclose(ss.SquaredHinge(2.0).value(u), ss.SmoothedHinge(2.0).value(u))
    loss = ss.SquaredHinge(0.5)
    assert loss == ss.SquaredHinge(gamma=0.5) != ss.SquaredHinge(1.0) and loss != ss.SmoothedHinge(
        0.5
    )
    assert repr(loss) == "SquaredHinge(gamma=0.5)" and pickle.loads(pickle.dumps(loss)) == loss
    assert (
        not loss.has_linear_region
        and ss.SmoothedHinge(50.0).has_linear_region
        and ss.Hinge().has_linear_region
    )


def test_the_smallest_width_is_where_its_inverse_is_finite():
    assert ss.SquaredHinge(6e-309).gamma == 6e-309
    with pytest.raises(ValueError, match="gamma must have a finite inverse"):
        ss.SquaredHinge(5e-309)


def test_bad_input_is_named():
    for bad in (0.0, -1.0, np.nan, np.inf, 5e-324):
        with pytest.raises(ValueError, match="gamma"):
            ss.SquaredHinge(bad)
    with pytest.raises(TypeError, match="gamma"):
        ss.SquaredHinge("1")
    of = instance("full")
    with pytest.raises(
        TypeError,
        match="no linear region, needs single terms, .* which ProductTriplets do not offer",
    ):
        ss.Problem(ss.ProductTriplets(of.X, of.y), ss.SquaredHinge())
    problem, some = squared(of), np.arange(len(of.terms)) == 3
    with pytest.raises(ValueError, match="in_L must be empty.*found term 3"):
        problem.reduce(some, ~some)
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        problem.dual(-np.ones(len(problem)), 1.0)
    assert problem.lam_max() == np.inf
    with pytest.raises(ValueError, match="lams must be given"):
        ss.path(problem, screening=("RRPB", "PGB"))


@pytest.mark.nojit
@pytest.mark.boundscheck
@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_objectives(kind, weighted):
    of, rng = instance(kind), np.random.default_rng(0)
    n, lam = len(of.terms), of.lam(0.1)
    times, tau = (
        (rng.integers(1, 4, n), rng.uniform(-1.0, 2.0, n))
        if weighted
        else (np.ones(n, dtype=int), np.ones(n))
    )
    terms = of.terms
    if weighted:
        weights = times.astype(float)
        if of.index is None:
            terms = ss.Samples(of.X, of.y, weights=weights)
        else:
            terms = ss.Triplets(of.X, of.index, diagonal=kind == "diagonal", weights=weights)
        terms = terms.with_threshold(tau)
    for gamma in GAMMAS:
        problem = squared(of, gamma, terms)
        naive = Squared(np.repeat(of.A, times, axis=0), of.cone, gamma, np.repeat(tau, times))
        for x in (of.feasible(rng), 10.0 * problem.all_linear() / lam):
            for alpha in (None, rng.uniform(0.0, 5.0, n)):
                sums, used = (
                    terms.loss_sums(x, problem.loss, alpha),
                    naive.alpha(x) if alpha is None else np.repeat(alpha, times),
                )
                assert sums.loss == pytest.approx(naive.losses(x).sum(), rel=1e-11)
                assert np.allclose(
                    sums.adjoint, naive.H(used), rtol=1e-10, atol=1e-10 * np.abs(used).max()
                )
                assert problem.gap(x, lam, alpha) == pytest.approx(
                    naive.gap(x, lam, used), rel=1e-7
                )
                assert problem.evaluate(x, lam, alpha).dual == pytest.approx(
                    naive.dual(used, lam), rel=1e-10
                )
                if alpha is not None:
                    assert problem.dual(alpha, lam) == pytest.approx(
                        naive.dual(used, lam), rel=1e-10
                    )
                    assert np.allclose(
                        problem.x_of(alpha, lam), naive.x_of(used, lam), rtol=1e-9, atol=1e-10
                    )
            assert problem.primal(x, lam) == pytest.approx(naive.primal(x, lam), rel=1e-11)
            assert np.allclose(
                np.repeat(problem.alpha(x), times), naive.alpha(x), rtol=1e-9, atol=1e-9
            )


@kinds
@pytest.mark.parametrize("data", ["normal", "near", "huge", "tiny", "outlier"])
def test_the_gap_is_an_upper_bound(kind, data):
    of = instance(kind, data)
    rng, lam = np.random.default_rng(1), of.lam(0.5)
    whole, problem = ExactSquared(of.exact_elements, of.cone, 1.0), squared(of)
    for x in (np.zeros(of.A.shape[1:]), problem.all_linear() / lam, of.feasible(rng, 1e-3)):
        for alpha in (None, rng.uniform(0.0, 3.0, len(of.terms))):
            e = problem.evaluate(x, lam, alpha)
            used = exact(problem.alpha(x) if alpha is None else alpha)
            flat = exact(np.ravel(x))
            assert e.fenchel >= whole.fenchel(flat, used) - mpf(10) ** -40 * (1 + whole.loss(flat))
            assert e.gap >= whole.gap(flat, lam, used) * (1 - mpf(10) ** -9) - mpf(10) ** -40


@kinds
def test_outside_solver(kind):
    of = instance(kind)
    for gamma in (0.3, 4.0):
        problem, lam = squared(of, gamma), 2.0 * of.lam(0.5)
        solution = ss.solve(problem, lam, tol=0.0, rtol=1e-12, screening=("RRPB", "PGB"))
        A = of.A.reshape(len(of.A), -1)
        size = float(np.abs(A).max())
        if kind == "full":
            x = cp.Variable((3, 3), PSD=True)
            flat = cp.vec(x, order="C")
        else:
            x = flat = cp.Variable(A.shape[1], nonneg=kind == "diagonal")
        objective = cp.sum_squares(cp.pos(1.0 - A / size @ flat)) / (
            2.0 * gamma
        ) + 0.5 * lam / size**2 * cp.sum_squares(flat)
        program = cp.Problem(cp.Minimize(objective))
        program.solve(solver="SCS", eps_abs=1e-10, eps_rel=1e-10, max_iters=200_000)
        assert program.status == "optimal"
        found = x.value / size
        assert np.linalg.norm(solution.x - found) <= solution.eps + 1e-6 * np.linalg.norm(found)
        assert solution.primal == pytest.approx(program.value, rel=1e-7)


@kinds
@pytest.mark.parametrize("gamma", [0.3, 4.0])
@pytest.mark.slow
def test_screening_is_safe(kind, gamma):
    of = instance(kind, seed=3)
    problem, lam = squared(of, gamma), of.lam(0.02) / gamma
    solution, known = truth(problem, ExactSquared(of.exact_elements, of.cone, gamma), lam)
    assert mpmath.mpf(0) <= known.eps < 1e-4 * np.linalg.norm(solution.x)
    points, n_R = [], {rule: 0 for rule in RULES}
    ss.solve(
        problem,
        lam,
        tol=0.0,
        rtol=1e-6,
        freq=3,
        callback=lambda progress: points.append(progress.x),
        screening=("RRPB", "PGB"),
    )
    for x in (np.zeros_like(solution.x), 1e3 * solution.x, *points[::6], solution.x):
        references = [
            BallReference(problem, problem.evaluate(x, lam, alpha))
            for alpha in (None, solution.alpha, 0.5 * solution.alpha)
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
            ranges = ss.ranges.relaxed_path(problem, x, eps, factor * lam)
            assert np.isnan(ranges.L_low).all() and np.isnan(ranges.L_high).all()
            assert known.right(ranges.at(lam))
        for reference in references:
            for name, family in SPHERES.items():
                if not family.uses_path or reference.path is not None:
                    ball = family.build(reference)
                    assert known.contained(ball), name
                    for rule in RULES:
                        found = RULES[rule](problem, ball)
                        assert known.right(found) and not found.in_L.any(), (name, rule)
                        n_R[rule] = max(n_R[rule], found.n_R)
    both = ss.rules.intersection(
        problem,
        *(ss.spheres.duality_gap_bound(problem, p, lam) for p in (solution.x, 1.0001 * solution.x)),
    )
    assert known.right(both) and not both.in_L.any() and both.n_R > 0
    assert min(n_R.values()) > 0, n_R


@kinds
def test_path(kind):
    of = instance(kind, seed=3)
    problem, lams = squared(of, 0.3), of.lam(1.0) * np.array([0.3, 0.2, 0.1, 0.05])
    plain = ss.path(problem, lams, tol=0.0, rtol=1e-10, screening=())
    for options in ({"active_set": True}, {"ranges": True}):
        options["screening"] = ("RRPB", "PGB")
        for solution, other in zip(
            ss.path(problem, lams, tol=0.0, rtol=1e-10, **options), plain, strict=True
        ):
            assert (
                solution.converged
                and np.linalg.norm(solution.x - other.x) <= solution.eps + other.eps
            )
            assert solution.primal == pytest.approx(other.primal, rel=1e-9) and solution.n_L == 0
        assert solution.n_R > 0 and solution.alpha.max() > 1.0
