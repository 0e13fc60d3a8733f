"""Paths in C: the same solutions as without any test, certified on all samples."""

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from safescreen import svm
from safescreen.solvers.reduction import Reduction
from safescreen.svm.paths import TESTS
from safescreen.svm.totals import norm_of_ball
from safescreen_book.protocols import pathwise


def check(of, gamma, found, Cs, rtol=1e-8):
    """Compare a path with solutions on all samples, and its masks with the optimum."""
    np.testing.assert_allclose(1.0 / found.lams, Cs)
    prob = of.problem(gamma)
    for solution in found:
        assert solution.converged
        assert solution.gap <= rtol * solution.primal
        assert prob.gap(solution.x, solution.lam, solution.alpha) <= 1.01 * rtol * solution.primal
        best = ss.solve(prob, solution.lam, tol=0.0, rtol=1e-12, screening=())
        assert float(prob.cone.norm(solution.x - best.x)) <= solution.eps + best.eps
        margins, reach = of.terms.margins(best.x), best.eps * of.terms.norms
        assert (margins[solution.screened.in_R] > 1.0 - reach[solution.screened.in_R]).all()
        assert (margins[solution.screened.in_L] < 1.0 - gamma + reach[solution.screened.in_L]).all()
        room = 1e-5 + (reach / gamma if gamma else 0.0)  # on a threshold the dual variable tells
        assert (best.alpha <= room)[solution.screened.in_R].all() and (best.alpha >= 1.0 - room)[
            solution.screened.in_L
        ].all()


@pytest.mark.parametrize("test", [*TESTS, None])
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "csr", "kernel", "tiles"])
def test_path_finds_the_solutions(kind, gamma, test):
    of, loss = instance(kind), ss.SmoothedHinge(gamma)
    smallest = svm.c_min(of.terms, loss)
    Cs = smallest * np.array([0.5, 1.0, 2.0, 2.5, 3.0, 30.0])
    for screening in ((), ("MGB",)):
        found = svm.path(of.terms, Cs, test, loss, rtol=1e-8, screening=screening)
        check(of, gamma, found, Cs)
        assert (max(found.path_rates) > 0.2) == (test is not None)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "kernel", "tiles"])
def test_eps_path_covers_every_C(kind, gamma):
    of, loss, eps = instance(kind), ss.SmoothedHinge(gamma), 0.02
    smallest = svm.c_min(of.terms, loss)
    found = svm.eps_path(of.terms, 10.0 * smallest, eps, "IT", loss)
    Cs = 1.0 / found.lams
    assert found.reason == "grid"
    assert Cs[0] == pytest.approx(smallest) and Cs[-1] == pytest.approx(10.0 * smallest)
    assert len(found) > 5
    check(of, gamma, found, Cs, 1e-3 * eps)
    prob = of.problem(gamma)
    for former, C0, C1 in zip(found, Cs, Cs[1:], strict=False):
        for C in (0.5 * (C0 + C1), C1):
            best = ss.solve(prob, 1.0 / C, tol=0.0, rtol=1e-10, screening=())
            assert best.primal - prob.dual(former.alpha, 1.0 / C) <= eps * best.primal * (
                1.0 + 1e-8
            )


def test_eps_path_ends_where_no_sample_is_in_L():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    terms = ss.Samples(rng.standard_normal((20, 2)) * 0.3 + 2.0 * y[:, None], y)
    found = svm.eps_path(terms, 1e6, 0.05)
    assert found.reason == "no L"
    assert found.lams[-1] > 1e-3
    assert (terms.margins(found[-1].x) > 0.99).all()
    assert svm.eps_path(terms, 1e6, 0.05, max_solutions=3).reason == "length"


def test_eps_path_ends_with_a_solution_that_is_not_optimal_to_eps():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    terms = ss.Samples(rng.standard_normal((40, 5)) + 0.5 * y[:, None], y)
    with pytest.warns(ss.ConvergenceWarning) as caught:
        found = svm.eps_path(terms, 1e4, 0.01, max_iter=5)
    assert (
        len(caught) == 1
        and found.reason == "not converged"
        and len(found) > 2
        and not found[-1].converged
    )


def test_eps_path_ends_where_rounding_lets_no_larger_C_be_certain(monkeypatch):
    """The solutions so far are returned, where the next C would be that of the last one."""
    terms = instance("dense").terms
    steps = iter([1.5, 1.2, 1.0])
    monkeypatch.setattr(
        svm.paths, "eps_next_C", lambda terms, last, *_: next(steps) * (1.0 / last.lam)
    )
    found = svm.eps_path(terms, 1e6, 0.05)
    assert found.reason == "rounding" and len(found) == 3
    assert all(solution.converged for solution in found)


def test_the_next_C_leaves_room_for_rounding(monkeypatch):
    """With a gap whose allowance for rounding takes a third of eps, a smaller step is certain."""
    terms = instance("dense").terms
    prob = ss.Problem(terms, ss.Hinge())
    last = ss.solve(prob, 1.0 / (2.0 * svm.c_min(terms)), tol=0.0, rtol=1e-9)
    at_once = svm.eps_next_C(terms, last, 0.01)
    good = svm.paths.is_eps_good
    monkeypatch.setattr(
        svm.paths, "is_eps_good", lambda prob, e, C, eps: good(prob, e, C, eps / 1.5)
    )
    C = svm.eps_next_C(terms, last, 0.01)
    assert 1.0 / last.lam < C < at_once


@pytest.mark.parametrize("M", [1, 2, 5])
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "kernel", "tiles"])
def test_safe_screening_path_finds_the_solutions(kind, gamma, M):
    of, loss = instance(kind), ss.SmoothedHinge(gamma)
    Cs = svm.c_min(of.terms, loss) * np.geomspace(1.2, 6.0, 9)
    found = pathwise.safe_screening_path(of.terms, Cs, loss, M=M, rtol=1e-8)
    check(of, gamma, found, Cs)
    assert max(found.path_rates) > 0.0
    assert found.path_rates[0] == found.path_rates[-1] == 0.0


def test_bad_input_is_named():
    terms = instance("dense").terms
    for Cs, text in (
        ([], "at least one"),
        ([0.0, 1.0], "must be positive"),
        ([2.0, 1.0], "strictly increasing"),
    ):
        with pytest.raises(ValueError, match=text):
            svm.path(terms, np.array(Cs))
    with pytest.raises(ValueError, match="test must be one of BT1, BT2, IT or None, got 'DT'"):
        svm.path(terms, [1.0], "DT")
    with pytest.raises(ValueError, match="C_max must be larger than C_min"):
        svm.eps_path(terms, 1e-9)
    with pytest.raises(ValueError, match="M must be a positive int"):
        pathwise.safe_screening_path(terms, [1.0, 2.0], M=0)
    with pytest.raises(ValueError, match="Cs must hold at least two values"):
        pathwise.safe_screening_path(terms, [1.0])


def test_missed_tolerances_warn():
    terms = instance("dense").terms
    with pytest.warns(ss.ConvergenceWarning):
        svm.path(terms, [1.0], rtol=1e-10, max_iter=1)


@pytest.fixture
def without_last_look(monkeypatch):
    """Let a solution tell only what was screened before its last look."""
    monkeypatch.setattr(Reduction, "decide", lambda reduction, reference_of: None)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "kernel", "tiles"])
def test_names_of_the_tests(kind, gamma, without_last_look):
    """What a path screens before a solve is what the test of that name screens, but for what its
    enlarged balls leave out.
    """
    of, loss, apart = instance(kind), ss.SmoothedHinge(gamma), dict.fromkeys(("IT", "BT1"), 0)
    for C in svm.c_min(of.terms, loss) * np.array([3.0, 10.0, 30.0, 100.0]):
        found, expected = {}, {}
        for test in TESTS:
            last, solution = svm.path(of.terms, [C, 1.1 * C], test, loss, rtol=1e-7, screening=())
            found[test], s = solution.screened, svm.choose_s(of.terms, 1.1 * C, last)
            expected["BT1"] = svm.ball_test_1(of.terms, 1.1 * C, last)
            expected["BT2"] = svm.ball_test_2(of.terms, 1.1 * C, last.x, s, loss)
            expected["IT"] = svm.intersection_test(of.terms, 1.1 * C, last)
            if test is None:
                assert found[None].rate == 0.0
                continue
            for name in ("in_L", "in_R"):
                assert not (getattr(found[test], name) & ~getattr(expected[test], name)).any()
            assert found[test].rate > expected[test].rate - 0.1
        apart["IT"] += (found["IT"].in_R & ~expected["BT1"].in_R).sum() + (
            found["IT"].in_L & ~expected["BT1"].in_L
        ).sum()
        apart["BT1"] += (found["BT1"].in_R & ~expected["BT2"].in_R).sum() + (
            found["BT1"].in_L & ~expected["BT2"].in_L
        ).sum()
    assert min(apart.values()) > 0


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["dense", "kernel", "tiles"])
def test_rules_of_the_s_form_path(kind, gamma, without_last_look):
    """One rule between two solutions serves for those in between, and for the farthest the best
    norm that is certain.
    """
    of, loss = instance(kind), ss.SmoothedHinge(gamma)
    Cs = svm.c_min(of.terms, loss) * np.geomspace(2.0, 6.0, 10)
    found = pathwise.safe_screening_path(of.terms, Cs, loss, M=4, rtol=1e-9)
    screened = 0
    for i in (1, 5):
        a, far, T = found[i - 1], found[i + 3], found[-1]
        between = svm.dome_test(of.terms, a, far)
        balls = [
            svm.ball_1(of.terms, C, r) for C, r in ((Cs[i + 3], a), (Cs[i + 3], T), (Cs[-1], T))
        ]
        first = svm.dome_test(
            of.terms, a, min(norm_of_ball(of.problem(gamma).cone, ball)[1] for ball in balls)
        )
        for k, rule in [(i + j, between) for j in range(3)] + [(i + 3, first)]:
            np.testing.assert_array_equal(found[k].screened.in_L, rule.in_L)
            np.testing.assert_array_equal(found[k].screened.in_R, rule.in_R)
            screened += rule.n_L + rule.n_R
    assert screened > 0
