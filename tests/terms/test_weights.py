"""Weights and thresholds of single terms: a term of weight 3 is the same term three times, a
threshold is where it stops to cost.
"""

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from instances import KINDS, instance
from naive import Naive
from naive.exact import Exact, exact, minus
from naive.extremes import norm
from safescreen.terms import base

GAMMAS = (0.0, 0.05, 0.5)
kinds = pytest.mark.parametrize("kind", KINDS)


def with_weights(of, weights):
    """Return the terms of an instance with these weights."""
    if of.kind in ("full", "diagonal"):
        return ss.Triplets(of.X, of.index, diagonal=of.kind == "diagonal", weights=weights)
    return ss.Samples(of.X if of.kind == "dense" else sparse.csr_array(of.X), of.y, weights=weights)


class Repeated:
    """Terms with weights 1, 2, 3 and thresholds, and the same terms without weights, each
    written out as often as it counts.
    """

    def __init__(self, kind, thresholds=True):
        self.of, rng = instance(kind), np.random.default_rng(7)
        n = len(self.of.terms)
        self.times = rng.integers(1, 4, n)
        self.tau = rng.uniform(0.6, 1.5, n) if thresholds else np.ones(n)
        self.terms = with_weights(self.of, self.times.astype(float))
        if thresholds:
            self.terms = self.terms.with_threshold(self.tau)

    def repeat(self, values):
        return np.repeat(values, self.times, axis=0)

    def naive(self, gamma):
        return Naive(self.repeat(self.of.A), self.of.cone, gamma, self.repeat(self.tau))

    def exact(self, gamma):
        rows = [
            a
            for a, times in zip(self.of.exact_elements, self.times, strict=True)
            for _ in range(times)
        ]
        return Exact(rows, self.of.cone, gamma, self.repeat(self.tau))

    def points(self):
        rng, lam = np.random.default_rng(1), self.of.lam(0.1)
        return [
            self.of.feasible(rng),
            ss.Problem(self.terms, ss.SmoothedHinge(0.05)).all_linear() / lam,
        ]


@pytest.mark.nojit
@pytest.mark.boundscheck
@kinds
@pytest.mark.parametrize("thresholds", [False, True])
def test_sums(kind, thresholds):
    case, rng = Repeated(kind, thresholds), np.random.default_rng(0)
    for gamma in GAMMAS:
        naive, loss = case.naive(gamma), ss.SmoothedHinge(gamma)
        for x in case.points():
            for alpha in (None, rng.uniform(size=len(case.terms))):
                sums = case.terms.loss_sums(x, loss, alpha)
                used = naive.alpha(x) if alpha is None else case.repeat(alpha)
                assert sums.loss == pytest.approx(naive.losses(x).sum(), rel=1e-12)
                assert np.allclose(sums.adjoint, naive.H(used), rtol=1e-11, atol=1e-11)
                assert sums.alpha_sum == pytest.approx(used @ naive.tau, rel=1e-12)
                assert sums.alpha_square == pytest.approx(used @ used, rel=1e-12)
    hinge = case.terms.hinge_sums(x, 0.3)
    smooth, kinked = (case.terms.loss_sums(x, ss.SmoothedHinge(g)) for g in (0.3, 0.0))
    assert hinge.loss == kinked.loss and hinge.alpha_sum == smooth.alpha_sum
    naive, used = case.naive(0.0), case.naive(0.3).alpha(x)
    expected = naive.losses(x).sum() - used @ (naive.tau - naive.margins(x))
    assert expected <= hinge.fenchel + 1e-12 * kinked.loss and hinge.fenchel == pytest.approx(
        expected, abs=1e-12 * kinked.loss
    )


@kinds
def test_sums_of_several_chunks(kind, monkeypatch):
    case, rng = Repeated(kind), np.random.default_rng(3)
    alpha = rng.uniform(size=len(case.terms))
    for x in case.points():
        whole, of_hinge = (
            case.terms.loss_sums(x, ss.SmoothedHinge(0.3), alpha),
            case.terms.loss_sums(x, ss.Hinge()),
        )
        with monkeypatch.context() as patch:
            patch.setattr(base, "CHUNK", 7)
            parts = (
                case.terms.loss_sums(x, ss.SmoothedHinge(0.3), alpha),
                case.terms.loss_sums(x, ss.Hinge()),
            )
        for one, other in zip((whole, of_hinge), parts, strict=True):
            for name in ("loss", "fenchel", "alpha_sum", "alpha_square", "adjoint_error"):
                assert getattr(one, name) == getattr(other, name)


@kinds
@pytest.mark.parametrize("gamma", GAMMAS)
def test_objectives(kind, gamma):
    case = Repeated(kind)
    problem, naive, lam = (
        ss.Problem(case.terms, ss.SmoothedHinge(gamma)),
        case.naive(gamma),
        case.of.lam(0.1),
    )
    alpha = np.random.default_rng(2).uniform(size=len(problem))
    for x in case.points():
        assert problem.primal(x, lam) == pytest.approx(naive.primal(x, lam), rel=1e-12)
        assert problem.dual(alpha, lam) == pytest.approx(
            naive.dual(case.repeat(alpha), lam), rel=1e-11
        )
        assert problem.gap(x, lam) == pytest.approx(naive.gap(x, lam), rel=1e-9)
        assert problem.gap(x, lam, alpha) == pytest.approx(
            naive.gap(x, lam, case.repeat(alpha)), rel=1e-9
        )
        assert np.allclose(case.repeat(problem.alpha(x)), naive.alpha(x), atol=1e-12)
    assert np.allclose(
        problem.x_of(alpha, lam), naive.x_of(case.repeat(alpha), lam), rtol=1e-11, atol=1e-12
    )
    assert problem.lam_max() == pytest.approx(naive.lam_max(), rel=1e-11)
    reduced, rng = problem, np.random.default_rng(3)
    for _ in range(2):  # twice: a part of a part
        where = rng.integers(0, 3, len(reduced))
        reduced, expected = (
            reduced.reduce(where == 1, where == 2),
            naive.reduce(*(case.repeat(where == k) for k in (1, 2))),
        )
        assert np.allclose(reduced.linear, expected.linear, rtol=1e-11, atol=1e-11)
        assert reduced.constant == pytest.approx(expected.constant, rel=1e-12)
        assert reduced.primal(x, lam) == pytest.approx(expected.primal(x, lam), rel=1e-11)
        case.times, naive = case.times[where == 0], expected
        assert np.array_equal(reduced.terms.weights, case.times)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_rounding_bounds_hold(kind, weighted):
    case = Repeated(kind)
    terms, whole = (
        (case.terms, case.exact(0.05)) if weighted else (case.of.terms, case.of.exact(0.05))
    )
    rng = np.random.default_rng(4)
    for alpha in (
        rng.uniform(size=len(terms)),
        rng.standard_normal(len(terms)),
        rng.uniform(size=len(terms)) < 0.5,
    ):
        total, error = terms.weighted_sum(alpha)
        used = case.repeat(alpha) if weighted else alpha
        assert (
            norm(minus(exact(np.ravel(total)), whole.adjoint(exact(used))))
            <= error
            <= 1e-10 * np.linalg.norm(total)
        )


@kinds
def test_a_partition_sums_what_is_linear(kind):
    terms, rng = Repeated(kind).terms, np.random.default_rng(5)
    inside = rng.uniform(size=len(terms)) < 0.3
    left, total, error, ids = terms.partition(inside.astype(np.int8))
    assert np.array_equal(total, terms.weighted_sum(inside)[0]) and error >= 0.0
    assert np.array_equal(ids, np.flatnonzero(~inside)) and np.array_equal(
        left.weights, terms.weights[~inside]
    )
    assert np.array_equal(left.threshold, terms.threshold[~inside])


@pytest.mark.parametrize("diagonal", [False, True])
def test_quadruplets_and_pairs_have_weights(diagonal):
    of, rng = instance("full"), np.random.default_rng(8)
    i, j, m = of.index.T
    near, far = np.unique(of.index[:, :2], axis=0), np.unique(of.index[:, ::2], axis=0)
    x = of.feasible(rng)[np.arange(3), np.arange(3)] if diagonal else of.feasible(rng)
    loss = ss.SmoothedHinge(0.5)
    for family, where in (
        (ss.Quadruplets, [np.column_stack((i, j, i, m))]),
        (ss.Pairs, [near, far, 0.5, 2.0]),
    ):
        plain = family(of.X, *where, diagonal=diagonal)
        weights, alpha = rng.uniform(0.5, 2.0, len(plain)), rng.uniform(size=len(plain))
        terms = family(of.X, *where, diagonal=diagonal, weights=weights)
        assert np.allclose(
            terms.adjoint(alpha), plain.adjoint(weights * alpha), rtol=1e-12, atol=1e-12
        )
        sums, used = terms.loss_sums(x, loss), plain.alpha(x, loss)
        assert sums.loss == pytest.approx(
            weights @ loss.value(plain.margins(x), plain.threshold), rel=1e-11
        )
        assert sums.alpha_sum == pytest.approx(np.sum(weights * plain.threshold * used), rel=1e-11)
        assert np.allclose(sums.adjoint, plain.adjoint(weights * used), rtol=1e-11, atol=1e-11)
        keep = rng.uniform(size=len(plain)) < 0.5
        part = terms.select(keep)
        assert np.array_equal(part.weights, weights[keep]) and np.array_equal(
            part.norms, terms.norms[keep]
        )
        linear = terms.partition((~keep).astype(np.int8))[1]
        assert np.allclose(linear, plain.adjoint(weights * ~keep), rtol=1e-12, atol=1e-12)


@kinds
@pytest.mark.parametrize("gamma", GAMMAS)
def test_outside_solver(kind, gamma, assert_optimal):
    of, rng = instance(kind), np.random.default_rng(6)
    weights, tau = rng.uniform(0.1, 3.0, len(of.terms)), rng.uniform(0.6, 1.5, len(of.terms))
    problem = ss.Problem(with_weights(of, weights).with_threshold(tau), ss.SmoothedHinge(gamma))
    solution = assert_optimal(problem, of.lam(0.1), of.A, of.cone, tau=tau, weights=weights)
    assert solution.n_L + solution.n_R > 0, "screened on the way"
    for found in ss.path(
        problem,
        [2.0 * of.lam(0.1), of.lam(0.1)],
        tol=0.0,
        rtol=1e-10,
        active_set=True,
        screening=("RRPB", "PGB"),
    )[1:]:
        assert np.linalg.norm(found.x - solution.x) <= found.eps + solution.eps


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_screening_is_safe(kind, gamma, assert_safe):
    case = Repeated(kind)
    problem, lam = ss.Problem(case.terms, ss.SmoothedHinge(gamma)), case.of.lam(0.1)
    repeated = case.exact(gamma)

    class Once:
        """The exact problem with one dual variable for all copies of a term."""

        cone, gamma = repeated.cone, repeated.gamma
        norms, tau = case.of.exact(gamma).norms, exact(case.tau)

        def alpha(self, x):
            return Exact(case.of.exact_elements, self.cone, gamma, case.tau).alpha(x)

        def margins(self, x):
            return case.of.exact(gamma).margins(x)

        def gap(self, x, lam, alpha):
            return repeated.gap(
                x,
                lam,
                [a for a, times in zip(alpha, case.times, strict=True) for _ in range(times)],
            )

    assert assert_safe(problem, Once(), lam).sum() > 0


@kinds
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_thresholds_in_ranges_and_paths(kind, gamma):
    of, tau = instance(kind), np.linspace(0.5, 1.5, len(instance(kind).terms))
    problem, lam = ss.Problem(of.terms.with_threshold(tau), ss.SmoothedHinge(gamma)), of.lam(0.3)
    naive = of.naive(gamma, tau=tau)
    assert problem.lam_max() == pytest.approx(naive.lam_max(), rel=1e-11)
    near = ss.solve(problem, lam, tol=0.0, rtol=1e-9, screening=("RRPB", "PGB"))
    ranges, n_found = ss.ranges.relaxed_path(problem, near.x, near.eps, lam), 0
    lams = lam * np.array([1.3, 1.0, 0.8, 0.5])
    for with_ranges in (False, True):
        for solution in ss.path(
            problem, lams, tol=0.0, rtol=1e-9, ranges=with_ranges, screening=("RRPB", "PGB")
        ):
            margins, reach = (
                naive.margins(solution.x),
                solution.eps * np.array([np.linalg.norm(a) for a in of.A]),
            )
            for found in (ranges.at(solution.lam), solution.screened):
                n_found += found.n_L + found.n_R
                assert (margins[found.in_L] - reach[found.in_L] < (tau - gamma)[found.in_L]).all()
                assert (margins[found.in_R] + reach[found.in_R] > tau[found.in_R]).all()
            assert solution.converged and solution.primal == pytest.approx(
                naive.primal(solution.x, solution.lam), rel=1e-10
            )
    assert n_found > 0


def test_weights_of_one_change_nothing_and_a_common_factor_is_a_factor_of_lam():
    for kind in KINDS:
        of = instance(kind)
        lam, n = of.lam(0.1), len(of.terms)
        plain = ss.solve(of.problem(0.05), lam, tol=0.0, rtol=1e-12, screening=("RRPB", "PGB"))
        for factor in (1.0, 8.0):
            problem = ss.Problem(with_weights(of, np.full(n, factor)), ss.SmoothedHinge(0.05))
            other = ss.solve(problem, factor * lam, tol=0.0, rtol=1e-12, screening=("RRPB", "PGB"))
            assert np.linalg.norm(other.x - plain.x) <= other.eps + plain.eps
            assert other.primal == pytest.approx(factor * plain.primal, rel=1e-10)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(3), ValueError, r"weights must have shape \(40,\)"),
        (np.zeros(40), ValueError, "weights must be positive, found 0 at index 0"),
        (-np.ones(40), ValueError, "weights must be positive, found -1"),
        (np.full(40, np.inf), ValueError, "weights must be finite"),
        (np.full(40, np.nan), ValueError, "weights must be finite"),
        (np.full(40, "1"), TypeError, "weights must hold real numbers"),
    ],
)
def test_bad_weights_are_named(weights, error, message):
    of = instance("dense")
    with pytest.raises(error, match=message):
        ss.Samples(of.X, of.y, weights=weights)
    with pytest.raises(error, match=message.replace("40", "1")):
        ss.Triplets(of.X, [[0, 2, 1]], weights=weights[:1] if len(weights) == 40 else weights)


def test_bad_thresholds_are_named():
    terms = instance("full").terms
    for bad, error in (
        (np.nan, ValueError),
        (np.ones(3), ValueError),
        (np.full(len(terms), np.inf), ValueError),
        ("1", TypeError),
    ):
        with pytest.raises(error, match="threshold"):
            terms.with_threshold(bad)
    products = ss.ProductTriplets(instance("full").X, instance("full").y)
    with pytest.raises(TypeError, match="threshold must be one number for ProductTriplets"):
        products.with_threshold(np.ones(len(products)))
