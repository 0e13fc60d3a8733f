"""Every bound of a rounding error is one: against 50-digit arithmetic, and not larger than it
has to be.
"""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import safescreen as ss
from instances import ADVERSARIAL, WITH_KERNEL, instance
from naive.exact import Exact, minus, split
from naive.extremes import dot, exact, norm
from naive.features import flat, size
from safescreen.cones import FreeSpace, NonNegativeCone, PSDCone

DATA = ("normal", *ADVERSARIAL)
every = pytest.mark.parametrize("kind", WITH_KERNEL)
hostile = pytest.mark.parametrize("data", DATA)


def points(of, prob, lam, seed=0):
    rng = np.random.default_rng(seed)
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-6, screening=("RRPB", "PGB")).x
    length = size(best)
    yield from (best, prob.cone.zeros(), 1e5 * best, of.feasible(rng, length))
    yield prob.cone.project(best + of.feasible(rng, 1e-8 * length))


def evaluations(of, gamma, fraction=0.3):
    """Yield ``(evaluation, dual point, exact problem)`` at several points, alpha given and not, for
    the whole problem and a reduced one in turn.
    """
    prob, truth, lam = of.problem(gamma), of.exact(gamma), of.lam(fraction)
    rng = np.random.default_rng(5)
    which = rng.integers(0, 3, len(prob))
    reduced = prob.reduce(which == 1, which == 2), truth.reduce(which == 1, which == 2)
    for i, (problem, exact_problem) in enumerate(((prob, truth), reduced)):
        for j, x in enumerate(points(of, problem, lam)):
            computed = problem.alpha(x)
            alphas = [
                rng.uniform(size=len(problem)),
                computed,
                np.round(rng.uniform(size=len(problem))),
                None,
            ]
            for alpha in alphas[(i + j) % 2 :: 2]:
                if alpha is not None:
                    yield problem.evaluate(x, lam, alpha), exact(alpha), exact_problem
                elif gamma > 0.0:
                    # the dual point as computed
                    yield problem.evaluate(x, lam), exact(computed), exact_problem


@hostile
@every
def test_inner_products(kind, data):
    of = instance(kind, data)
    rng, terms = np.random.default_rng(0), of.terms
    truth = of.exact(0.0)
    for x in (
        of.feasible(rng, 1.0),
        of.feasible(rng, 1e-12),
        of.feasible(rng, 1e12),
        -of.feasible(rng, 1.0),
    ):
        values, errors = terms.inner_products(x).chunk(0, len(terms))
        assert np.array_equal(values, terms.margins(x))
        for value, error, m, n in zip(
            values, errors, truth.margins(flat(x)), truth.norms, strict=True
        ):
            assert abs(mpf(float(value)) - m) <= mpf(float(error))
            if data == "normal":
                assert error <= 1e-12 * float(n) * np.linalg.norm(x) + 1e-299


@hostile
@every
def test_norms(kind, data):
    of = instance(kind, data)
    norms = of.exact(0.0).norms
    for bound, n in zip(of.terms.norms, norms, strict=True):
        assert mpf(float(bound)) >= n
        if data in ("normal", "tiny", "huge", "collinear", "zeros"):
            assert bound <= float(n) * (1.0 + 1e-12) + 1e-14 * float(max(norms))


@hostile
@every
def test_weighted_sums(kind, data):
    of = instance(kind, data)
    rng, terms, truth = np.random.default_rng(1), of.terms, of.exact(0.0)
    T = len(terms)
    for weights in (
        rng.uniform(size=T),
        rng.standard_normal(T),
        rng.uniform(size=T) < 0.5,
        np.ones(T),
    ):
        total, error = terms.weighted_sum(weights)
        true = truth.adjoint(exact(np.asarray(weights, dtype=float)))
        assert norm(minus(flat(total), true)) <= mpf(float(error))
        if data == "normal":
            assert error <= 1e-11 * float(np.abs(weights) @ terms.norms)


@pytest.mark.slow
@hostile
@every
def test_evaluations(kind, data):
    """Of each kind, and of each of the data, with and without a smoothed loss."""
    gamma = (0.0, 0.05)[(WITH_KERNEL.index(kind) + DATA.index(data)) % 2]
    of = instance(kind, data)
    for e, alpha, truth in evaluations(of, gamma):
        lam, x = mpf(float(e.lam)), split(flat(e.x), of.cone)[0]
        assert norm(minus(flat(e.x), x)) <= mpf(e.x_error) * (1 + mpf(10) ** -40)
        gap = truth.gap(x, e.lam, alpha)
        assert gap >= -(mpf(10) ** -35) * (1 + abs(gap))
        assert mpf(e.gap) >= gap
        fenchel = truth.fenchel(x, alpha)
        assert mpf(e.fenchel) >= fenchel - mpf(10) ** -30 * abs(gap)
        H = truth.H(alpha)
        plus, negative = split(H, of.cone)
        x_alpha = [v / lam for v in plus]
        assert norm(minus(flat(e.H), H)) <= mpf(e.H_error)
        assert norm(minus(flat(e.x_alpha), x_alpha)) <= mpf(e.x_alpha_error)
        distance = norm(minus(x, x_alpha))
        assert mpf(e.distance) + mpf(e.x_alpha_error) >= distance
        assert mpf(e.excess) >= (fenchel + dot(x, negative)) / lam
        if data == "normal":
            assert mpf(e.gap) <= gap * (1 + mpf(10) ** -9) + mpf(10) ** -12 * abs(mpf(e.primal))


@hostile
@every
def test_spheres_hold_their_exact_versions(kind, data):
    """Centers are computed, so each ball has to hold the exact ball of the same formula: its
    radius is not smaller.
    """
    of = instance(kind, data)
    prob, truth, lam = of.problem(0.05), of.exact(0.05), of.lam(0.3)
    for x in points(of, prob, lam):
        x_exact = split(flat(x), of.cone)[0]
        alpha = exact(prob.alpha(x))  # as computed: any dual point gives spheres
        half = mpf(0.5)
        gap = truth.gap(x_exact, lam, alpha) / mpf(float(lam))
        H = [v / mpf(float(lam)) for v in truth.H(alpha)]
        g = minus(x_exact, H)  # gradient over lam
        assert mpf(ss.spheres.gradient_bound(prob, x, lam).radius) >= half * norm(g)
        assert mpf(ss.spheres.duality_gap_bound(prob, x, lam).radius) >= mpmath.sqrt(
            max(2 * gap, 0)
        )
        Q = [half * (p + q) for p, q in zip(x_exact, H, strict=True)]
        square = half * half * dot(g, g) - dot(*[split(Q, of.cone)[1]] * 2)
        assert mpf(ss.spheres.projected_gradient_bound(prob, x, lam).radius) >= mpmath.sqrt(
            max(square, 0)
        )
        apart = minus(x_exact, split(H, of.cone)[0])
        square = gap - dot(apart, apart) / 4
        assert mpf(ss.spheres.midpoint_gap_bound(prob, x, lam).radius) >= mpmath.sqrt(
            max(square, 0)
        )


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_eigenvalue_splits(d):
    rng, cone = np.random.default_rng(d), PSDCone(d)
    for trial in range(12):
        L = rng.standard_normal((d, d))
        values = rng.standard_normal(d) * 10.0 ** rng.integers(-12, 3, d)
        Q = np.linalg.qr(L)[0]
        H = [
            L + L.T,
            Q * values @ Q.T,
            L @ L.T,
            -L @ L.T,
            np.outer(L[0], L[0]) - np.outer(L[-1], L[-1]),
        ][trial % 5]
        H = 0.5 * (H + H.T) * 10.0 ** (20 * (trial % 3 - 1))
        plus, negative = cone.split(H)
        exact_plus, exact_negative = split(flat(H), "psd")
        bound = mpf(cone.split_error(H))
        assert norm(minus(flat(plus), exact_plus)) <= bound
        assert norm(minus(flat(negative), exact_negative)) <= bound
        assert norm(split(flat(plus), "psd")[1]) <= mpf(cone.feasible_error(plus)) + bound
        assert bound <= 1e-13 * d * np.linalg.norm(H)


@pytest.mark.parametrize("cone", [NonNegativeCone(4), FreeSpace(4)])
def test_other_splits_are_exact(cone):
    H = np.random.default_rng(0).standard_normal(4)
    plus, negative = cone.split(H)
    assert (
        np.array_equal(plus - negative, H)
        and cone.split_error(H) == 0.0
        and cone.feasible_error(plus) == 0.0
    )
    assert np.array_equal(plus, np.maximum(H, 0.0) if isinstance(cone, NonNegativeCone) else H)


def test_the_exact_gap_is_that_of_the_definition():
    of = instance("full")
    truth, naive = Exact(of.exact_elements, "psd", 0.05), of.naive(0.05)
    x, alpha = (
        of.feasible(np.random.default_rng(0), 0.1),
        np.random.default_rng(1).uniform(size=len(of.terms)),
    )
    lam = of.lam(0.3)
    assert float(truth.gap(flat(x), lam, exact(alpha))) == pytest.approx(
        naive.gap(x, lam, alpha), rel=1e-10
    )
    assert float(truth.fenchel(flat(x), exact(alpha))) == pytest.approx(
        naive.losses(x).sum() + alpha @ naive.margins(x) - alpha.sum() + 0.025 * alpha @ alpha,
        rel=1e-10,
    )


def test_the_gap_at_a_kink_of_the_hinge():
    """One triplet whose margin is 1 up to rounding, x the best for its dual point: all that is
    left of the gap is the hinge at its kink.
    """
    needed = 0
    for p, q in product(range(1, 50), range(1, 50)):
        X = np.array([[0.0], [0.3 * p], [0.3 * (p + q)]])
        problem = ss.Problem(ss.Triplets(X, [[0, 1, 2]], diagonal=True), ss.Hinge())
        H = problem.all_linear()
        lam = float(H.ravel()[0]) ** 2
        e = problem.evaluate(H / lam, lam)
        # the computed margin says that the term is linear: alpha = 1
        if e.distance < 1e-12 * float(e.x.ravel()[0]):
            a, x, weight = (
                Fraction(X[2, 0]) ** 2 - Fraction(X[1, 0]) ** 2,
                Fraction(float(e.x.ravel()[0])),
                Fraction(lam),
            )
            gap = max(1 - a * x, Fraction(0)) + weight / 2 * x**2 - 1 + a**2 / (2 * weight)
            assert gap <= Fraction(e.gap)
            needed += gap > Fraction(e.gap) - Fraction(e.fenchel)
    assert needed > 10
