"""Ball tests 1 and 2 and the intersection test: right for any reference, equal to what is
printed for exact ones.
"""

import warnings
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from naive import naive_svm
from naive.harness import truth
from safescreen import svm

KINDS = ("dense", "csr", "kernel", "tiles")
GAMMAS = (0.0, 0.05, 0.5)
HINGE = ss.Hinge()


@lru_cache
def solved(kind, data, gamma, fraction=0.1):
    """Return the instance, its problem, C and the truth about the solution there."""
    of = instance(kind, data)
    prob, lam = of.problem(gamma), of.lam(fraction)
    known = truth(prob, of.exact(gamma), lam)[1]
    return of, prob, 1.0 / lam, known


def references(of, prob, C):
    """Yield references: good, bad and arbitrary, for larger and smaller C."""
    rng = np.random.default_rng(0)
    for factor, rtol in product((0.5, 0.9, 1.0, 1.2), (1e-12, 1e-4, 0.3)):
        with warnings.catch_warnings():  # on hostile data a reference is as inexact as it comes out
            warnings.simplefilter("ignore", ss.ConvergenceWarning)
            solution = ss.solve(
                prob, 1.0 / (factor * C), tol=0.0, rtol=rtol, screening=(), max_iter=300
            )
        yield svm.reference(solution)
    yield svm.Reference(of.feasible(rng, 0.5), rng.uniform(size=len(prob)), C, prob.loss)
    smallest = svm.c_min(prob.terms, prob.loss)
    if 0.0 < smallest < np.inf:
        yield svm.solution_below_c_min(prob.terms, smallest, prob.loss)


CASES = [(kind, "normal", gamma) for kind in KINDS for gamma in GAMMAS]
CASES += [
    ("dense", data, gamma)
    for data in ("duplicates", "zeros", "ties", "tiny", "huge", "outlier")
    for gamma in (0.0, 0.05)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "data", "gamma"), CASES)
def test_contained_and_right(kind, data, gamma):
    of, prob, C, known = solved(kind, data, gamma)
    rng, terms, loss = np.random.default_rng(1), prob.terms, prob.loss
    for reference in references(of, prob, C):
        best = svm.choose_s(terms, C, reference)
        for feasible in (
            None,
            prob.cone.zeros(),
            of.feasible(rng, float(prob.cone.norm(reference.w))),
        ):
            w = reference.w if feasible is None else feasible
            assert known.contained(svm.ball_1(terms, C, reference, feasible))
            assert known.right(svm.ball_test_1(terms, C, reference, feasible))
            for s in (best, rng.integers(0, 2, len(terms)), rng.uniform(size=len(terms))):
                assert known.contained(svm.ball_2(terms, C, w, s, loss))
                assert known.right(svm.ball_test_2(terms, C, w, s, loss))
                assert known.right(svm.intersection_test(terms, C, reference, s, feasible))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("kind", KINDS)
def test_intersection_screens_what_either_ball_does_and_they_screen(kind, gamma):
    _, prob, C, _ = solved(kind, "normal", gamma)
    terms, n_found, n_more = prob.terms, 0, 0
    for factor in (0.3, 0.7, 0.9):
        reference = svm.reference(ss.solve(prob, 1.0 / (factor * C), tol=0.0, rtol=1e-9))
        s = svm.choose_s(terms, C, reference)
        alone = svm.ball_test_1(terms, C, reference) | svm.ball_test_2(
            terms, C, reference.w, s, prob.loss
        )
        both = svm.intersection_test(terms, C, reference)
        assert not (alone.in_L & ~both.in_L).any() and not (alone.in_R & ~both.in_R).any()
        n_found, n_more = n_found + alone.n_L + alone.n_R, n_more + both.n_L + both.n_R
    assert n_more > n_found > 20


def printed_case(seed=0, n=30, d=3):
    """Return samples, their rows, a C0 and an exact reference for it."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.8 * y[:, None]
    terms = ss.Samples(X, y)
    C0 = 20.0 * svm.c_min(terms)
    return (
        terms,
        X * y[:, None],
        C0,
        svm.reference(
            ss.solve(ss.Problem(terms, HINGE), 1.0 / C0, tol=0.0, rtol=1e-13, screening=())
        ),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [1.05, 1.5, 0.7])
def test_exact_references_give_the_printed_balls(seed, factor):
    terms, Z, C0, reference = printed_case(seed)
    rng, C = np.random.default_rng(seed), factor * C0
    for feasible in (reference.w, np.zeros(3), 1.1 * reference.w, rng.standard_normal(3)):
        ball = svm.ball_1(terms, C, reference, feasible)
        center, radius = naive_svm.ball_1(Z, C, reference.w, C0, feasible)
        np.testing.assert_allclose(ball.center, center, rtol=1e-6, atol=1e-9)
        assert ball.radius == pytest.approx(radius, rel=1e-5)
        s = rng.integers(0, 2, len(terms)).astype(float)
        ball = svm.ball_2(terms, C, feasible, s)
        center, radius = naive_svm.ball_2(Z, C, feasible, s)
        np.testing.assert_allclose(ball.center, center, rtol=1e-12, atol=1e-12)
        assert ball.radius == pytest.approx(radius, rel=1e-9)
    np.testing.assert_array_equal(
        svm.choose_s(terms, C, reference), naive_svm.best_s(Z, C, reference.w, C0)
    )


def test_degenerate_pairs_of_balls():
    terms, _, C0, reference = printed_case()
    C = 1.2 * C0
    first = svm.ball_test_1(terms, C, reference)
    same = svm.intersection_test(terms, C, reference, s=reference.alpha)  # the same ball twice
    np.testing.assert_array_equal(same.in_R, first.in_R)
    np.testing.assert_array_equal(same.in_L, first.in_L)
    # ball 1 well inside ball 2
    huge = svm.intersection_test(terms, C, reference, s=np.zeros(len(terms)), feasible=reference.w)
    assert not (first.in_R & ~huge.in_R).any() and not (first.in_L & ~huge.in_L).any()
    below = 0.5 * svm.c_min(terms)  # all in L; the reference is exact and the ball a point
    assert svm.intersection_test(terms, below, svm.solution_below_c_min(terms, below)).in_L.all()


def test_a_solution_is_its_own_reference_and_brings_its_loss():
    terms = printed_case()[0]
    solution = ss.solve(ss.Problem(terms, ss.SmoothedHinge(0.5)), 2.0, tol=1e-9)
    reference = svm.reference(solution)
    assert reference.C == 0.5 and reference.loss == ss.SmoothedHinge(0.5)
    for test in (svm.ball_test_1, svm.intersection_test):
        with_solution, with_reference = (
            test(terms, 0.6, solution),
            test(terms, 0.6, reference, loss=ss.SmoothedHinge(0.5)),
        )
        np.testing.assert_array_equal(with_solution.in_R, with_reference.in_R)


def masks(screened):
    return np.array([screened.in_L, screened.in_R])


def test_tests_are_the_rules_of_their_balls_for_the_loss_given():
    """A loss that is given goes before the reference's; thresholds and every argument reach ball
    and rule.
    """
    rng = np.random.default_rng(4)
    terms = printed_case()[0].with_threshold(rng.uniform(0.6, 1.4, 30))
    C, loss = 2.0, ss.SmoothedHinge(0.5)
    reference = svm.reference(ss.solve(ss.Problem(terms, HINGE), 1.0 / (0.9 * C), tol=1e-10))
    prob, found = ss.Problem(terms, loss), []
    star = ss.solve(prob, 1.0 / C, tol=1e-10)
    near, s = 1.001 * star.x, np.clip(star.alpha + 0.01 * rng.standard_normal(30), 0.0, 1.0)
    for feasible in (None, near):
        w = reference.w if feasible is None else feasible
        ball_1, ball_2, second = (
            ss.spheres.midpoint_gap_bound(prob, x, 1.0 / C, alpha)
            for x, alpha in ((w, reference.alpha), (near, s), (w, s))
        )
        for ball, expected in (
            (svm.ball_1(terms, C, reference, feasible, loss), ball_1),
            (svm.ball_2(terms, C, near, s, loss), ball_2),
        ):
            np.testing.assert_array_equal(ball.center, expected.center)
            assert ball.radius == expected.radius
        pairs = (
            (svm.ball_test_1(terms, C, reference, feasible, loss), ss.rules.sphere(prob, ball_1)),
            (svm.ball_test_2(terms, C, near, s, loss), ss.rules.sphere(prob, ball_2)),
            (
                svm.intersection_test(terms, C, reference, s, feasible, loss),
                ss.rules.intersection(prob, ball_1, second),
            ),
        )
        for got, expected in pairs:
            np.testing.assert_array_equal(masks(got), masks(expected))
            found.append((got.n_L, got.n_R))
        np.testing.assert_array_equal(
            svm.choose_s(terms, C, reference, feasible, loss), prob.alpha(ball_1.center)
        )
    assert min(found[1]) > 2 and min(map(min, found[3:])) > 2


def test_bad_input_is_named():
    terms, _, C0, reference = printed_case()
    with pytest.raises(ValueError, match="C must be greater than 0"):
        svm.ball_1(terms, 0.0, reference)
    with pytest.raises(TypeError, match="reference must be a Reference or a Solution, got ndarray"):
        svm.ball_1(terms, 1.0, reference.w)
    with pytest.raises(ValueError, match=r"s must have shape"):
        svm.ball_2(terms, 1.0, reference.w, np.zeros(3))
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        svm.Reference(reference.w, -reference.alpha, C0)
    with pytest.raises(ValueError, match="feasible must have shape"):
        svm.ball_2(terms, 1.0, np.zeros(2), reference.alpha)
