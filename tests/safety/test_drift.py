"""Many small reductions are one: linear terms stay within their error bound, and paths carry
nothing along.
"""

import numpy as np
import pytest
from mpmath import mpf

import safescreen as ss
from instances import ADVERSARIAL, WITH_KERNEL, instance
from naive.exact import minus
from naive.extremes import norm
from naive.features import flat


def error_of(problem, exact_problem):
    """Return the true error of the linear term."""
    return norm(minus(flat(problem.linear), exact_problem.linear))


@pytest.mark.parametrize("data", ["normal", *ADVERSARIAL])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_one_at_a_time_is_all_at_once(kind, data):
    of = instance(kind, data)
    whole, truth, n = of.problem(0.05), of.exact(0.05), len(of.terms)
    rng = np.random.default_rng(0)
    in_L = rng.uniform(size=n) < 0.6
    in_R = ~in_L & (rng.uniform(size=n) < 0.5)
    once, true = whole.reduce(in_L, in_R), truth.reduce(in_L, in_R)
    left, problem = np.arange(n), whole
    for part in np.array_split(rng.permutation(np.flatnonzero(in_L | in_R)), 25):
        here = np.isin(left, part)
        problem = problem.reduce(here & in_L[left], here & in_R[left])
        left = left[~here]
    assert np.array_equal(left, np.flatnonzero(~(in_L | in_R))) and len(problem) == len(once)
    scale = float(np.sum(whole.terms.norms))
    for reduced in (once, problem):
        assert error_of(reduced, true) <= mpf(reduced.linear_error)
        assert reduced.constant == pytest.approx(float(true.constant), rel=1e-13, abs=1e-12)
        if data == "normal":
            assert reduced.linear_error <= 1e-11 * scale
    assert np.array_equal(problem.terms.norms, once.terms.norms)
    apart = norm(minus(flat(once.linear), flat(problem.linear)))
    assert apart <= mpf(once.linear_error) + mpf(problem.linear_error)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_reduction_of_a_problem_with_a_linear_term(kind):
    of = instance(kind)
    rng, n = np.random.default_rng(1), len(of.terms)
    c = of.feasible(rng, 1e3)
    which = rng.integers(0, 3, n)
    problem = of.problem(0.05, linear=c, constant=2.5).reduce(which == 1, which == 2)
    true = of.exact(0.05, linear=flat(c), constant=2.5).reduce(which == 1, which == 2)
    assert error_of(problem, true) <= mpf(problem.linear_error)
    assert problem.constant == pytest.approx(float(true.constant), rel=1e-13)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_path_with_ranges_keeps_a_true_linear_term(kind, gamma, monkeypatch):
    """What certain terms leave in the linear term of a stretch is the exact sum of those that
    have left the arrays as linear.
    """
    of, seen = instance(kind), []
    whole, original = of.problem(gamma), ss.paths._Ahead.reduction

    def reduction(ahead, *args):
        found = original(ahead, *args)
        gone = np.zeros(len(whole), dtype=np.int8)
        if found._ids is not None:
            gone[:] = found.status
            gone[found._ids] = 0
        linear = whole.cone.zeros() if found.problem.linear is None else found.problem.linear
        seen.append((linear, found.problem.linear_error, gone))
        return found

    monkeypatch.setattr(ss.paths._Ahead, "reduction", reduction)
    ss.path(
        whole,
        of.lam(1.0) * 0.9 ** np.arange(25),
        tol=0.0,
        rtol=1e-6,
        ranges=True,
        screening=("RRPB", "PGB"),
    )
    truth = of.exact(gamma)
    assert len(seen) == 24 and any((category == 1).any() for *_, category in seen)
    for linear, bound, category in seen:
        total = truth.adjoint([mpf(int(c == 1)) for c in category])
        assert norm(minus(flat(linear), total)) <= mpf(bound)
