"""The next C of an approximation path: as printed for exact references, and true for any."""

import math

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from safescreen import svm
from safescreen.svm.paths import is_eps_good


def solved(prob, C, rtol=1e-12):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


@pytest.mark.parametrize("rtol", [1e-12, 1e-4, 5e-3])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", ["dense", "csr", "kernel"])
def test_true_for_every_C_between(kind, gamma, rtol):
    """Equation 35, by solving again; and the largest C by this bound: a little further the bound
    itself fails.
    """
    of, eps = instance(kind), 1e-2
    prob, C0 = of.problem(gamma), 1.0 / of.lam(0.3)
    reference = svm.reference(solved(prob, C0, rtol))
    last = svm.eps_next_C(prob.terms, reference, eps)
    assert C0 <= last < 2.0 * C0
    for C in np.linspace(C0, last, 5):
        best = solved(prob, C)
        optimum = C * (best.primal - best.gap)
        assert optimum - C * prob.dual(reference.alpha, 1.0 / C) <= eps * optimum * (1.0 + 1e-9)
    beyond = 1.0 / (1.001 * last)
    assert prob.gap(reference.w, beyond, reference.alpha) > eps * prob.dual(reference.alpha, beyond)


def test_an_inexact_reference_gets_less_far():
    of = instance("dense")
    prob, C0 = of.problem(0.0), 20.0 * svm.c_min(of.terms)
    assert svm.eps_next_C(of.terms, solved(prob, C0, 5e-3), 1e-2) < svm.eps_next_C(
        of.terms, solved(prob, C0), 1e-2
    )


def test_at_c_min_and_without_direction():
    terms = instance("dense").terms
    start = svm.solution_below_c_min(terms, svm.c_min(terms))
    assert svm.eps_next_C(terms, start, 1e-2) > start.C
    balanced = ss.Samples([[1.0], [1.0]], [1, -1])
    assert svm.eps_next_C(balanced, svm.Reference(np.zeros(1), np.ones(2), 3.0), 1e-2) == math.inf


def test_bad_input_is_named():
    terms = instance("dense").terms
    bad = svm.Reference(np.ones(3), np.zeros(len(terms)), 1.0)
    with pytest.raises(
        ValueError, match="reference must have a gap of at most 0.001 of its dual value"
    ):
        svm.eps_next_C(terms, bad)
    with pytest.raises(ValueError, match="eps must be greater than 0"):
        svm.eps_next_C(terms, bad, 0.0)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_the_gap_itself_is_looked_at(gamma):
    """The C returned is certified by the gap, rounding included; a reference that is good of its
    primal value only is refused.
    """
    of = instance("dense")
    prob = of.problem(gamma)
    for factor in (0.1, 0.2, 0.3, 0.5, 0.8):
        C0 = 1.0 / of.lam(factor)
        for rtol in (1e-12, 1e-5, 1e-3, 1e-1):
            reference = svm.reference(solved(prob, C0, rtol))
            e = prob.evaluate(reference.w, 1.0 / C0, reference.alpha)
            for eps in (1e-2, 3e-2, 0.2):
                if e.gap <= eps * e.dual:
                    assert is_eps_good(prob, e, svm.eps_next_C(prob.terms, reference, eps), eps)
            if e.gap > 1e-3 * e.primal:
                eps = 0.5 * (e.gap / e.primal + e.gap / e.dual)
                with pytest.raises(ValueError, match="reference must have a gap of at most"):
                    svm.eps_next_C(prob.terms, reference, eps)
