"""The s-form: bounds of the total loss at a point and at the optimum, and its monotony."""

from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import safescreen as ss
from instances import instance
from naive.harness import flat, truth
from safescreen import svm
from safescreen.svm import totals
from safescreen_book.protocols import pathwise

KINDS = ("dense", "csr", "kernel", "tiles")


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_total_loss_is_bracketed(kind, gamma):
    of = instance(kind)
    rng, terms = np.random.default_rng(0), of.terms
    for scale in (1e-8, 1.0, 1e6):
        w = of.feasible(rng, scale)
        low, high = svm.total_loss(terms, w, ss.SmoothedHinge(gamma))
        true = of.exact(gamma).loss(flat(w))
        assert low <= true <= high
        assert high - low <= 1e-10 * (high + scale)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_s_is_bracketed(kind, gamma):
    of = instance(kind)
    prob, exact_problem = of.problem(gamma), of.exact(gamma)
    C = 1.0 / of.lam(0.5)
    solution, known = truth(prob, exact_problem, 1.0 / C)
    s, width = exact_problem.loss(known.x), known.eps * mpmath.fsum(exact_problem.norms)
    found = {}
    for factor in (0.6, 0.9, 1.0, 1.3):
        for rtol in (1e-12, 1e-3, 0.3):
            found[factor, rtol] = svm.reference(
                ss.solve(prob, 1.0 / (factor * C), tol=0.0, rtol=rtol, screening=())
            )
    for r in found.values():
        low, high = svm.s_bounds(prob.terms, C, r)
        assert low <= s + width and s - width <= high
    low, high = svm.s_bounds(prob.terms, C, list(found.values()))
    assert low <= s + width and s - width <= high
    assert float(high) - float(low) < 1e-4 * float(s)
    low, _ = svm.s_bounds(prob.terms, C, [found[0.9, 1e-12], found[1.3, 1e-12]])
    # what the larger C says at least
    assert low > svm.s_bounds(prob.terms, 1.3 * C, found[1.3, 1e-12])[0] - 1e-9 * float(s)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_s_falls_and_the_norm_grows_with_C(gamma):
    of = instance("dense")
    solutions = [
        ss.solve(of.problem(gamma), of.lam(f), tol=0.0, rtol=1e-10) for f in (3.0, 1.0, 0.3, 0.1)
    ]
    totals = [svm.total_loss(of.terms, v.x, ss.SmoothedHinge(gamma))[0] for v in solutions]
    assert (np.diff(totals) < 0.0).all()
    assert (np.diff([np.linalg.norm(v.x) for v in solutions]) > 0.0).all()


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_C_of_s_inverts_s_of_C(gamma):
    of, loss = instance("dense"), ss.SmoothedHinge(gamma)
    for C in (0.5 * svm.c_min(of.terms, loss), 10.0 * svm.c_min(of.terms, loss)):
        wanted = ss.solve(of.problem(gamma), 1.0 / C, tol=0.0, rtol=1e-12)
        found, solution = pathwise.C_of_s(of.terms, wanted.loss, loss, rtol=1e-6)
        assert solution.loss == pytest.approx(wanted.loss, abs=1e-6 * len(of.terms))
        np.testing.assert_allclose(solution.x, wanted.x, rtol=1e-2, atol=1e-3)
        if gamma > 0.0:
            assert found == pytest.approx(C, rel=1e-2)


def test_feasible_point_between():
    of, loss = instance("dense"), ss.Hinge()
    terms, prob = of.terms, of.problem(0.0)
    a, T = (svm.reference(ss.solve(prob, of.lam(f), tol=0.0, rtol=1e-10)) for f in (1.0, 0.1))
    s_a, s_T = (svm.total_loss(terms, r.w)[1] for r in (a, T))
    before = np.linalg.norm(a.w)
    for part in (0.1, 0.5, 0.9):
        s = s_a + part * (s_T - s_a)
        w = pathwise.feasible_between(terms, a, T, s, loss)
        assert svm.total_loss(terms, w)[1] <= s
        assert svm.total_loss(terms, w)[0] >= s - 1e-4 * s_a  # and no further than it must
        assert before < np.linalg.norm(w) < np.linalg.norm(T.w)
        before = np.linalg.norm(w)
    assert pathwise.feasible_between(terms, a, T, 0.99 * s_T) is None


def test_bad_input_is_named():
    terms = instance("dense").terms
    with pytest.raises(ValueError, match="s must be below the total loss 40 of w = 0, got 50"):
        pathwise.C_of_s(terms, 50.0)
    with pytest.raises(ValueError, match="references must hold at least one"):
        svm.s_bounds(terms, 1.0, [])
    with pytest.raises(ValueError, match="which solves this problem for every C"):
        pathwise.C_of_s(ss.Samples([[1.0], [1.0]], [1, -1]), 1.0)
    with pytest.raises(ValueError, match="was not reached in 3 solves"):
        pathwise.C_of_s(terms, 1e-9, max_solves=3)


def exact_total(A, w, weights=None, tau=None):
    """The total hinge loss in fractions."""
    w, n = [Fraction(v) for v in w], len(A)
    weights, tau = (
        (np.ones(n) if weights is None else weights),
        (np.ones(n) if tau is None else tau),
    )
    margins = [sum(Fraction(a) * b for a, b in zip(row, w, strict=True)) for row in A]
    return sum(
        Fraction(c) * max(Fraction(0), Fraction(t) - m)
        for c, t, m in zip(weights, tau, margins, strict=True)
    )


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_total_loss_near_the_kink(size):
    """Margins of 1 up to rounding, from products of that size: the loss is nothing but rounding,
    and bracketed all the same.
    """
    beyond = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        w, across = rng.standard_normal((2, 12))
        across -= across @ w / (w @ w) * w
        A = w / (w @ w) + size * rng.standard_normal((30, 1)) * across
        A /= (A @ w)[:, None]
        y = np.where(np.arange(30) % 2, 1, -1)
        low, high = svm.total_loss(ss.Samples(A * y[:, None], y), w)
        true, rounded = exact_total(A, w), np.maximum(1.0 - A @ w, 0.0).sum()
        assert Fraction(low) <= true <= Fraction(high)
        beyond += abs(Fraction(rounded) - true) > Fraction(1, 1000) * true
    assert beyond > 5  # what the plain sum gets wrong


def test_weights_and_thresholds_count():
    of, rng = instance("dense"), np.random.default_rng(1)
    weights, tau, w = (
        rng.uniform(0.3, 3.0, 40),
        rng.uniform(0.6, 1.5, 40),
        rng.standard_normal(of.A.shape[1]),
    )
    for kind, tau_ in (
        (ss.Samples(of.X, of.y, weights=weights), None),
        (ss.Samples(of.X, of.y, weights=weights).with_threshold(tau), tau),
    ):
        low, high = svm.total_loss(kind, w)
        true = exact_total(of.X * np.asarray(of.y)[:, None], w, weights, tau_)
        assert Fraction(low) <= true <= Fraction(high) and high - low < 1e-10 * high


def test_the_best_of_several_references():
    """Several references for one C give no less than each of them."""
    of = instance("dense")
    prob, C = of.problem(0.0), 1.0 / of.lam(0.02)
    solutions = [
        ss.solve(prob, 1.0 / (f * C), tol=0.0, rtol=1e-9, screening=())
        for f in (0.3, 0.6, 0.9, 0.99)
    ]
    several = [svm.Reference(s.x, s.alpha, C) for s in solutions]  # ever better pairs for C
    low, high = svm.s_bounds(prob.terms, C, several)
    for one in several:
        alone = svm.s_bounds(prob.terms, C, one)
        assert low >= alone[0] and high <= alone[1]
    assert low > svm.s_bounds(prob.terms, C, several[0])[0]
    for k in range(1, 4):  # a better one never hurts, a worse one neither
        assert (
            svm.s_bounds(prob.terms, C, several[:k])[0]
            <= svm.s_bounds(prob.terms, C, several[: k + 1])[0]
        )


def test_line_search_keeps_its_budget():
    """With weights; and with the budget of the far end itself, which ``a + 1 (T - a)`` may miss
    by rounding.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(40) % 2, 1, -1)
        X, weights = rng.standard_normal((40, 3)) + 0.7 * y[:, None], rng.uniform(0.3, 3.0, 40)
        terms = ss.Samples(X, y, weights=weights)
        prob, C = ss.Problem(terms, ss.Hinge()), 3.0 * svm.c_min(terms)
        a, T = (svm.reference(ss.solve(prob, 1.0 / c, tol=0.0, rtol=1e-9)) for c in (C, 20.0 * C))
        s_a, s_T = (svm.total_loss(terms, r.w)[1] for r in (a, T))
        for part in (0.2, 0.7, 1.0):
            s = s_a + part * (s_T - s_a) if part < 1.0 else s_T
            w = pathwise.feasible_between(terms, a, T, s)
            assert svm.total_loss(terms, w)[1] <= s
            assert svm.total_loss(terms, w)[0] >= s - 1e-4 * s_a
        # points the bisection meets, where the sum as computed is s, and not certain to be
        for v in (0.25, 0.5, 0.75):
            margins = terms.margins(a.w) + v * (terms.margins(T.w) - terms.margins(a.w))
            s = float(np.sum(weights * ss.Hinge().value(margins, terms.threshold)))
            assert svm.total_loss(terms, pathwise.feasible_between(terms, a, T, s))[1] <= s


def test_the_rounding_of_a_long_sum_is_in_its_bounds():
    """At w = 0 all losses are 1 without an error, and the sum of equal weights is rounded by
    more than each of them.
    """
    beyond, y = 0, np.where(np.arange(127) % 2, 1, -1)
    for weight in np.random.default_rng(0).uniform(1.0, 2.0, 200):
        weights, true = np.full(127, weight), 127 * Fraction(weight)
        low, high = svm.total_loss(
            ss.Samples(np.ones((127, 1)), y, weights=weights), np.zeros(1), ss.Hinge()
        )
        assert Fraction(low) <= true <= Fraction(high)
        room = 4.0 * 2.0**-53  # what every single loss is allowed
        beyond += (
            Fraction(np.sum(weights * (1.0 - room))) > true
            or Fraction(np.sum(weights * (1.0 + room))) < true
        )
    assert beyond > 5


def test_losses_that_underflow_are_in_the_bounds():
    """A weight that is the smallest number of the machine, times a loss below 1, is that number
    or 0.
    """
    X, y = np.array([[0.4], [0.4], [-0.4]]), [1, 1, -1]
    for w in (1.0, 1.5):
        low, high = svm.total_loss(
            ss.Samples(X, y, weights=np.full(3, 5e-324)), np.array([w]), ss.Hinge()
        )
        assert (
            Fraction(low)
            <= exact_total(np.full((3, 1), 0.4), [w], np.full(3, 5e-324))
            <= Fraction(high)
        )


def test_roundings_between_exact_bounds(monkeypatch):
    """Norms, losses and gaps that are known exactly: what follows from them is rounded, and has
    to stay on its side.
    """
    beyond = np.zeros(4, dtype=int)
    for seed in range(60):
        C, P, n, r = (
            np.random.default_rng(seed)
            .uniform([0.1, 5.0, 0.5, 0.1], [3.0, 50.0, 2.0, 0.4])
            .tolist()
        )
        c, p, square = Fraction(C), Fraction(P), Fraction(n) ** 2
        low, high = totals._total(C, [(P, P, n, n)])
        assert Fraction(low) <= p - square / (2 * c) <= Fraction(high)
        beyond[0] += Fraction(P - 0.5 * n**2 / C) != p - square / (2 * c)

        cone = SimpleNamespace(
            norm_lower=lambda _, n=n: n, norm_upper=lambda _, n=n: n, check_feasible=lambda w, _: w
        )
        low, high = totals.norm_of_ball(cone, ss.Sphere(np.zeros(1), r))
        assert Fraction(low) <= Fraction(n) - Fraction(r) and Fraction(n) + Fraction(r) <= Fraction(
            high
        )
        beyond[1] += Fraction(n - r) > Fraction(n) - Fraction(r)
        beyond[2] += Fraction(n + r) < Fraction(n) + Fraction(r)

        prob = SimpleNamespace(
            cone=cone, terms=None, loss=None, evaluate=lambda *_, r=r: SimpleNamespace(gap=r)
        )
        monkeypatch.setattr(totals, "total_loss", lambda *_, P=P: (P, P))
        monkeypatch.setattr(totals, "from_evaluation_mgb", lambda *_: ss.Sphere(np.zeros(1), 0.0))
        P_low, P_high = totals._optimum(prob, C, SimpleNamespace(w=np.zeros(1), alpha=None))[:2]
        primal = p + square / (2 * c)
        assert Fraction(P_low) <= primal - Fraction(r) and primal <= Fraction(P_high)
        beyond[3] += Fraction(P + 0.5 * (1.0 / C) * n**2) < primal
    assert (beyond > 5).all()
