"""The problem against its definition: objectives, dual points, gap, reductions, lam_max, bad
input.
"""

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import mpf

import safescreen as ss
from instances import GAMMAS, KINDS, instance
from naive.extremes import dot, exact, norm
from safescreen import _checks
from safescreen.cones import NonNegativeCone
from safescreen.problem import _linear_from
from safescreen.terms.base import LossSums

every = pytest.mark.parametrize("kind", KINDS)
widths = pytest.mark.parametrize("gamma", GAMMAS)


def close(found, wanted, scale=1.0):
    assert np.allclose(found, wanted, rtol=1e-11, atol=1e-12 * scale), np.max(
        np.abs(np.asarray(found) - wanted)
    )


def variants(of, gamma):
    """Yield ``(problem, naive, number of terms)``: plain, with a linear term, with thresholds,
    reduced, reduced twice.
    """
    rng, n = np.random.default_rng(7), len(of.terms)
    c, tau = of.feasible(rng, 5.0) - of.feasible(rng, 3.0), rng.uniform(-0.5, 2.0, n)
    yield of.problem(gamma), of.naive(gamma)
    linear = {"linear": c, "constant": 2.5}
    yield of.problem(gamma, **linear), of.naive(gamma, **linear)
    terms = of.terms.with_threshold(tau)
    problem, naive = (
        ss.Problem(terms, ss.SmoothedHinge(gamma), **linear),
        of.naive(gamma, tau=tau, **linear),
    )
    yield problem, naive
    for _ in range(2):
        which = rng.integers(0, 4, len(problem))
        problem, naive = (
            problem.reduce(which == 1, which == 2),
            naive.reduce(which == 1, which == 2),
        )
        yield problem, naive


@widths
@every
def test_definition(kind, gamma):
    of, rng = instance(kind), np.random.default_rng(0)
    for problem, naive in variants(of, gamma):
        n, lam = len(problem), of.lam(0.3)
        size = float(np.linalg.norm(problem.all_linear())) / lam
        for x in (
            np.zeros(problem.cone.shape),
            *(of.feasible(rng, size * s) for s in (0.1, 1.0, 10.0)),
        ):
            value = abs(naive.primal(x, lam)) + n
            close(problem.primal(x, lam), naive.primal(x, lam), value)
            close(problem.alpha(x), naive.alpha(x), 1e2)
            close(problem.gap(x, lam), naive.gap(x, lam), value)
            for alpha in (rng.uniform(size=n), np.ones(n), np.zeros(n)):
                close(problem.dual(alpha, lam), naive.dual(alpha, lam), value)
                close(problem.x_of(alpha, lam), naive.x_of(alpha, lam), size)
                close(problem.gap(x, lam, alpha), naive.gap(x, lam, alpha), value)
                assert problem.gap(x, lam, alpha) > 0.0
                e = problem.evaluate(x, lam, alpha)
                close(e.primal, naive.primal(x, lam), value)
                close(e.dual, naive.dual(alpha, lam), value)
                close(e.H, naive.H(alpha), size * lam)
        close(problem.evaluate(x, lam).gradient, naive.gradient(x, lam), size * lam)


@pytest.mark.nojit
def test_definition_small():
    of = instance("full", n=6, d=2, k=1)
    problem, naive, x = of.problem(0.5), of.naive(0.5), np.array([[1.0, 0.2], [0.2, 0.3]])
    close(problem.primal(x, 2.0), naive.primal(x, 2.0))
    close(problem.gap(x, 2.0), naive.gap(x, 2.0))
    assert len(problem.reduce(naive.alpha(x) == 1.0, naive.alpha(x) == 0.0)) == np.sum(
        (naive.alpha(x) > 0) & (naive.alpha(x) < 1)
    )


@widths
@every
def test_sums_do_not_depend_on_lam(kind, gamma):
    of = instance(kind)
    problem, lam = of.problem(gamma), of.lam(0.3)
    x = of.feasible(np.random.default_rng(0), 0.1)
    sums = problem.terms.loss_sums(x, problem.loss)
    for factor in (0.5, 2.0):
        assert problem.assemble(sums, x, factor * lam).gap == problem.evaluate(x, factor * lam).gap


class Rough(NonNegativeCone):
    """The quarter plane, whose split is off by vectors of length `off` at most, and whose points
    may be off by `feasible`.
    """

    def __init__(self, on_plus, on_minus, off, feasible=0.0):
        super().__init__(2)
        self.__dict__.update(on_plus=on_plus, on_minus=on_minus, off=off, feasible=feasible)

    def split(self, H):
        plus, minus = super().split(H)
        return plus + self.on_plus, minus + self.on_minus

    def split_error(self, H):
        return self.off

    def feasible_error(self, x):
        return self.feasible


def test_declared_errors_are_in_the_gap():
    """Whatever moves H, its split or x by what is declared: the gap of what was moved is at most
    the one that is returned.
    """
    # a = (1, -1)
    terms = ss.Triplets(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), [[0, 1, 2]], diagonal=True)
    lam, off, zero = 2.0, 0.01, np.zeros(2)
    problem, rng = ss.Problem(terms, ss.SmoothedHinge(0.5)), np.random.default_rng(0)
    plain = problem.terms.loss_sums(np.array([3.0, 3.0]), problem.loss, np.zeros(1))

    def true_gap(x, H):
        plus, minus = np.maximum(H, 0.0), np.maximum(-H, 0.0)
        return lam / 2 * np.sum((x - plus / lam) ** 2) + x @ minus

    def found(x, H, cone=None, **errors):
        changed = problem._with(problem.terms, zero, errors.pop("linear_error", 0.0), 0.0)
        changed = changed._with(problem.terms, zero, errors.pop("linear_error_2", 0.0), 0.0)
        changed.cone = cone or problem.cone
        return changed.assemble(replace(plain, adjoint=H, fenchel=0.0, **errors), x, lam)

    for _ in range(20):
        x, H = (
            rng.uniform(0.5, 2.0, 2),
            rng.uniform(1.0, 5.0, 2) * np.array([1.0, rng.choice([-1.0, 1.0])]),
        )
        # there the distance is 0, and only the second order is left
        for at in (x, np.maximum(H, 0.0) / lam):
            steps = [
                off * v / np.linalg.norm(v)
                for v in (*rng.standard_normal((4, 2)), at - H / lam + 1e-3, H / lam - at + 1e-3)
            ]
            for step in steps:
                for name in ("adjoint_error", "linear_error", "linear_error_2"):
                    e = found(at, H, **{name: off})
                    assert true_gap(at, H + step) <= e.gap * (1.0 + 1e-12) + 1e-15
                    assert np.linalg.norm(
                        np.maximum(H + step, 0.0) / lam - e.x_alpha
                    ) <= e.x_alpha_error * (1.0 + 1e-12)
                    assert (
                        e.gap
                        <= true_gap(at, H) + off * (np.linalg.norm(at - e.x_alpha) + off) * 1.01
                    )
                moved = np.maximum(at + step, 0.0)
                e = found(at, H, Rough(zero, zero, 0.0, feasible=off))
                assert true_gap(moved, H) <= e.gap * (1.0 + 1e-12)
                assert np.linalg.norm(moved - e.x_alpha) <= e.distance * (1.0 + 1e-12)
                e = found(at, H, Rough(step, zero, off))
                assert true_gap(at, H) <= e.gap and np.linalg.norm(
                    np.maximum(H, 0.0) / lam - e.x_alpha
                ) <= e.x_alpha_error * (1.0 + 1e-12)
    # the last two terms alone: x is long, then minus is
    long, H = np.array([10.0, 0.5]), np.array([20.0, -10.0])
    e = found(long, H, Rough(zero, -off * long / np.linalg.norm(long), off))
    assert true_gap(long, H) <= e.gap
    e = found(np.array([10.0, 0.0]), H, Rough(zero, zero, 0.0, feasible=off))
    assert true_gap(np.array([10.0, off]), H) <= e.gap
    # and a reduction hands on what it has found
    reduced = problem._with(problem.terms, zero, off, 0.0)
    assert reduced.reduce(np.ones(1, dtype=bool), np.zeros(1, dtype=bool)).linear_error >= off


def distance(found, *parts):
    """Return the square of the distance of an array from a sum, in exact arithmetic."""
    parts = [np.ravel(part).tolist() for part in (found, *parts)]
    return sum(
        (Fraction(v) - sum(map(Fraction, others))) ** 2 for v, *others in zip(*parts, strict=True)
    )


def test_rounded_sums_of_the_linear_term_are_in_its_errors():
    """H is c and the sum of the terms, rounded: all that is built on it is off by as much."""
    of, rng, beyond = instance("dense"), np.random.default_rng(0), np.zeros(2, dtype=int)
    sums = of.terms.loss_sums(np.ones(3), ss.SmoothedHinge(0.5), np.zeros(len(of.terms)))
    for _ in range(20):
        c, adjoint = rng.standard_normal((2, 3))
        problem = of.problem(0.5, linear=c)
        e = problem.assemble(replace(sums, adjoint=adjoint, adjoint_error=0.0), np.ones(3), 0.7)
        off = distance(e.H, c, adjoint)
        assert off <= Fraction(e.H_error) ** 2 and e.H_error <= 1e-15 * np.linalg.norm(e.H)
        assert distance(0.7 * e.x_alpha, c, adjoint) <= Fraction(e.x_alpha_error) ** 2
        reduced = problem._with(of.terms, adjoint, 0.0, 0.0)
        assert distance(reduced.linear, c, adjoint) <= Fraction(reduced.linear_error) ** 2
        assert reduced.linear_error <= 1e-15 * (np.linalg.norm(c) + np.linalg.norm(adjoint))
        beyond += off > 0, reduced.linear_error > 0.0
    assert (beyond > 10).all()
    assert of.problem(0.5)._with(of.terms, adjoint, 0.0, 0.0).linear_error < 1e-300


@widths
@every
def test_a_right_reduction_keeps_the_optimum(kind, gamma):
    of = instance(kind)
    problem, lam = of.problem(gamma), of.lam(0.3)
    best = ss.solve(problem, lam, tol=0.0, rtol=1e-9, screening=())
    margins, reach = problem.terms.margins(best.x), best.eps * problem.terms.norms
    in_L, in_R = margins + reach < 1.0 - gamma, margins - reach > 1.0
    assert in_L.any() or in_R.any()
    rng = np.random.default_rng(0)
    for share in (1.0, 0.5):
        some_L, some_R = (mask & (rng.uniform(size=mask.size) < share) for mask in (in_L, in_R))
        reduced = problem.reduce(some_L, some_R)
        assert len(reduced) == len(problem) - some_L.sum() - some_R.sum()
        again = ss.solve(reduced, lam, tol=0.0, rtol=1e-9, screening=())
        assert np.linalg.norm(again.x - best.x) <= again.eps + best.eps
        # the dual of the reduced problem is the dual with those alphas fixed
        alpha = rng.uniform(size=len(problem))
        alpha[some_L], alpha[some_R] = 1.0, 0.0
        close(
            reduced.dual(alpha[~(some_L | some_R)], lam),
            problem.dual(alpha, lam),
            abs(problem.dual(alpha, lam)),
        )
        close(reduced.primal(best.x, lam), problem.primal(best.x, lam), best.primal)


def test_no_rounding_of_an_evaluation_is_forgotten():
    """Over an orthant, for x, H/lam and Fenchel terms as large as each other or not, against exact
    numbers.
    """
    terms = ss.Triplets(np.eye(3), [[0, 1, 2]], diagonal=True)
    problem, rng = ss.Problem(terms, ss.SmoothedHinge(0.5)), np.random.default_rng(0)
    sizes = (1e-7, 0.3, 1.0, 1e9)
    shares = (0.0, 1e-30, 1.0)
    for size, other, lam, phi, off, near in product(
        sizes, sizes, (1e-3, 0.7, 300.0), shares, shares, (1e-15, 1e-16, 1.0)
    ):
        x = size * rng.uniform(size=3)
        H = x * (1.0 + near * rng.standard_normal(3)) * lam
        if near == 1.0:
            H = other * rng.normal(size=3) * lam
        fenchel, error = phi * lam * size**2, off * lam * size
        e = problem.assemble(LossSums(0.0, H, error, fenchel, 0.0, 0.0), x, lam)
        true_x, true_H, weight = exact(x), exact(H), mpf(lam)
        x_alpha = [max(h, 0) / weight for h in true_H]
        apart = norm([p - q for p, q in zip(true_x, x_alpha, strict=True)])
        rest = dot(true_x, [max(-h, 0) for h in true_H]) + mpf(fenchel)
        moved = norm([p - q for p, q in zip(exact(e.x_alpha), x_alpha, strict=True)])
        assert mpf(e.gap) >= weight / 2 * apart**2 + rest
        assert mpf(e.excess) >= rest / weight
        assert mpf(e.distance) >= apart
        assert mpf(e.x_alpha_error) >= moved + mpf(error) / weight
        scale = mpf(float(np.linalg.norm(x))) + norm(x_alpha)
        slack = mpf(error) / weight + 1e-13 * scale
        assert e.x_alpha_error <= 1.001 * slack
        assert e.distance <= apart + slack
        assert e.excess <= rest / weight * (1 + mpf(10) ** -12) + 4 * slack * (scale + slack)


def test_masks_become_a_status_of_0_1_and_2(monkeypatch):
    of, seen = instance("full"), []
    problem = of.problem(0.5)
    partition = type(of.terms).partition
    monkeypatch.setattr(
        type(of.terms),
        "partition",
        lambda self, s, near: seen.append(s.tolist()) or partition(self, s),
    )
    numbers = np.arange(len(problem))
    problem.reduce(numbers % 3 == 1, numbers % 3 == 2)
    assert seen == [(numbers % 3).tolist()]


@pytest.mark.parametrize(
    ("value", "limit", "lam"),
    [(3.0, 2.0, 1.5), (0.5, 2.0, 0.25), (-1.0, 2.0, 0.0)]
    + [(0.5, 0.0, np.inf), (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)]
    + [(0.0, -0.5, np.inf), (-1.0, -0.5, np.inf)],
)
def test_from_which_lam_on_a_margin_is_low(value, limit, lam):
    """``value/lam <= limit`` from there on; where limit is negative it is never so in the end."""
    assert _linear_from(value, limit) == lam


def test_lam_max_with_thresholds_of_their_own_may_be_small():
    samples = ss.Samples([[0.1], [-0.2]], [1, -1])
    problem = ss.Problem(samples.with_threshold(np.ones(2)), ss.Hinge())
    assert problem.lam_max() == pytest.approx(ss.Problem(samples, ss.Hinge()).lam_max())
    assert 0.0 < problem.lam_max() < 0.1


@every
def test_all_terms_may_go(kind):
    of = instance(kind)
    problem, n = of.problem(0.05), len(of.terms)
    lam = 2.0 * problem.lam_max()
    empty = problem.reduce(np.ones(n, dtype=bool), np.zeros(n, dtype=bool))
    assert len(empty) == 0
    found = ss.solve(empty, lam)
    assert found.converged and np.allclose(found.x, problem.all_linear() / lam, atol=1e-12)
    nothing = problem.reduce(np.zeros(n, dtype=bool), np.ones(n, dtype=bool))
    assert not ss.solve(nothing, lam).x.any()


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@every
def test_lam_max(kind, gamma):
    of = instance(kind)
    for problem, naive in variants(of, gamma):
        if np.ndim(problem.terms.threshold) and problem.terms.threshold.min() <= gamma:
            assert problem.lam_max() == naive.lam_max() == np.inf
            continue
        lam_max = problem.lam_max()
        close(lam_max, naive.lam_max(), lam_max)
        for factor, linear in ((1.0 + 1e-9, True), (1.0 - 1e-9, False), (10.0, True)):
            x = problem.all_linear() / (factor * lam_max)
            assert np.all(naive.margins(x) < naive.tau - gamma) == linear
        above = problem.all_linear() / (1.5 * lam_max)
        assert problem.gap(above, 1.5 * lam_max) <= 1e-11 * (
            abs(problem.primal(above, lam_max)) + len(problem) + abs(problem.constant)
        )
        assert np.linalg.norm(
            ss.solve(problem, 1.5 * lam_max, tol=1e-9).x - above
        ) <= 1e-3 * np.linalg.norm(above)


def test_lam_max_at_its_ends():
    samples = ss.Samples([[1.0], [1.0]], [1, -1])
    assert ss.Problem(samples, ss.Hinge()).lam_max() == 0.0
    assert (
        ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(1.0)).lam_max() == np.inf
    )
    assert ss.Problem(samples.with_threshold(-1.0), ss.Hinge()).lam_max() == np.inf
    ones = ss.Samples([[1.0], [-1.0]], [1, -1])
    # all inner products are -3
    assert ss.Problem(ones, ss.Hinge(), linear=np.array([-5.0])).lam_max() == 0.0
    assert (
        ss.Problem(ones.with_threshold(np.array([1.0, 3.0])), ss.SmoothedHinge(0.5)).lam_max()
        == 4.0
    )


def test_diagonal_matrices_of_axis_aligned_points():
    """Points on the axes: every H is diagonal, and so is the optimum."""
    X = np.repeat(np.eye(3), 5, axis=0) * np.linspace(0.5, 3.0, 15)[:, None]
    X[1::5] = 0.0
    index = np.array(
        [
            (i, j, m)
            for i in (1, 6)
            for j in (0, 2, 7)
            for m in (3, 4, 8, 9, 12, 13)
            if len({i, j, m}) == 3
        ]
    )
    keep = [t for t, (i, j, m) in enumerate(index) if not X[i].any() or (X[j] * X[m]).any()]
    full, diagonal = (ss.Triplets(X, index[keep], diagonal=flag) for flag in (False, True))
    for gamma in (0.0, 0.05, 0.5):
        big, small = (ss.Problem(terms, ss.SmoothedHinge(gamma)) for terms in (full, diagonal))
        assert big.lam_max() == pytest.approx(small.lam_max(), rel=1e-12)
        for lam in (0.5 * small.lam_max(), 0.05 * small.lam_max()):
            M, m = (ss.solve(p, lam, tol=0.0, rtol=1e-10) for p in (big, small))
            assert np.linalg.norm(M.x - np.diag(m.x)) <= M.eps + m.eps
            x = np.abs(np.random.default_rng(0).standard_normal(3))
            assert big.gap(np.diag(x), lam) == pytest.approx(small.gap(x, lam), rel=1e-11)


def _problem():
    return instance("full").problem(0.05)


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("method", ["primal", "gap", "x_of", "dual"])
def test_bad_lam_is_named(method, lam):
    problem = _problem()
    first = np.eye(3) if method in ("primal", "gap") else np.ones(len(problem))
    with pytest.raises(ValueError, match="lam must be"):
        getattr(problem, method)(first, lam)


def test_bad_input_is_named():
    problem = _problem()
    n, eye, no = len(problem), np.eye(3), np.zeros(len(problem), dtype=bool)
    for call in (lambda x: problem.primal(x, 1.0), lambda x: problem.gap(x, 1.0)):
        with pytest.raises(ValueError, match="x must lie in the PSDCone"):
            call(np.diag([1.0, 1.0, -0.1]))
        with pytest.raises(ValueError, match="x must have shape"):
            call(np.eye(2))
        with pytest.raises(ValueError, match="x must be finite"):
            call(eye * np.nan)
    for call in (
        lambda a: problem.dual(a, 1.0),
        lambda a: problem.x_of(a, 1.0),
        lambda a: problem.gap(eye, 1.0, a),
    ):
        with pytest.raises(ValueError, match="alpha must be at most 1"):
            call(np.full(n, 1.0 + 1e-12))
        with pytest.raises(ValueError, match="alpha must be at least 0"):
            call(np.full(n, -1e-12))
        with pytest.raises(ValueError, match="alpha must be finite"):
            call(np.full(n, np.nan))
        with pytest.raises(ValueError, match="alpha must have shape"):
            call(np.ones(n + 1))
    with pytest.raises(ValueError, match="in_L and in_R must be disjoint, both hold term 2"):
        problem.reduce(np.arange(n) == 2, np.arange(n) >= 2)
    with pytest.raises(TypeError, match="in_R must be a boolean mask"):
        problem.reduce(no, no.astype(int))
    with pytest.raises(ValueError, match="in_L must have shape"):
        problem.reduce(no[1:], no)
    with pytest.raises(TypeError, match="terms must be a family of terms"):
        ss.Problem(np.eye(3), ss.Hinge())
    with pytest.raises(
        TypeError, match="loss must be a Loss such as SmoothedHinge.0.05., got float"
    ):
        ss.Problem(problem.terms, 0.05)
    with pytest.raises(
        TypeError, match="loss must be a Loss such as SmoothedHinge.0.05., got SquaredHinge"
    ):
        ss.Problem(problem.terms, ss.SquaredHinge)
    with pytest.raises(ValueError, match="linear must have shape"):
        ss.Problem(problem.terms, ss.Hinge(), linear=np.ones(3))
    with pytest.raises(TypeError, match="lam must be a real number"):
        problem.primal(eye, "1")
    assert len(repr(problem)) < 200 and "108 triplets" in repr(problem)


def test_a_tiny_problem_has_a_tiny_lam():
    samples = ss.Samples([[1e-60], [1e-60]], [1, -1])
    assert ss.Problem(samples, ss.Hinge()).check_reach(1e-101) == 1e-101


def test_sizes_that_overflow_are_named():
    X, y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12) % 2
    smooth = ss.SmoothedHinge(0.05)
    for terms in (ss.Triplets.from_labels(100.0 * X, y), ss.ProductTriplets(100.0 * X, y)):
        assert 1e4 < terms.norms.max() <= terms.longest < 1e7
    for make in (
        lambda X: ss.Triplets.from_labels(X, y),
        lambda X: ss.ProductTriplets(X, y),
        lambda X: ss.Samples(X, 2 * y - 1),
    ):
        for points, lam in ((X, 1e-99), (1e60 * X, 1.0), (1e40 * X, 1e-30)):
            prob = ss.Problem(make(points), smooth)
            for work in (
                lambda prob=prob, lam=lam: ss.solve(prob, lam),
                lambda prob=prob, lam=lam: ss.path(prob, [10.0 * lam, lam]),
            ):
                with pytest.raises(
                    ValueError,
                    match=r"X, weights and lam must not differ so much in size .*, "
                    r"got terms of norms up to .* and lam=",
                ):
                    work()
    terms = ss.Samples(X, 2 * y - 1)
    with pytest.raises(ValueError, match="got terms of norms up to"):
        ss.solve(ss.Problem(terms, smooth, linear=np.full(3, 1e60)), 1e-50)


@pytest.mark.parametrize(
    ("make", "loss", "n_bytes"),
    [
        (lambda X, y: ss.Triplets(X, [[0, 1, 2]]), ss.SmoothedHinge(0.05), 8 * 17 * 30**2),
        (lambda X, y: ss.Triplets(X, [[0, 1, 2]]), ss.Hinge(), 8 * 30 * 30**2),
        (
            lambda X, y: ss.Triplets(X, [[0, 1, 2]], diagonal=True),
            ss.SmoothedHinge(0.05),
            8 * 17 * 30,
        ),
        (
            lambda X, y: ss.Triplets.from_labels(X[:, :2], y),
            ss.SmoothedHinge(0.05),
            2 * 60 * 30 * 29,
        ),
        (lambda X, y: ss.Triplets.from_labels(X[:, :2], y), ss.Hinge(), 24 * 60 * 30 * 29),
        (lambda X, y: ss.ProductTriplets(X[:, :2], y), ss.SmoothedHinge(0.05), 8 * 17 * 4),
        (lambda X, y: ss.Samples(X, 2 * y - 1), ss.Hinge(), 8 * 10 * 30),
    ],
)
def test_what_needs_more_memory_than_is_free_says_so(monkeypatch, make, loss, n_bytes):
    """What is asked for is less than what a solve takes, and not by much."""
    X, y = np.random.default_rng(0).standard_normal((60, 30)), np.arange(60) % 2
    terms = make(X, y)
    monkeypatch.setattr(_checks, "free_memory", lambda: 1.0 * n_bytes - 1.0)
    with pytest.raises(
        MemoryError,
        match=r"solving Problem\(<.* GB are free: take fewer features .* "
        r"or fewer terms \(a smaller k",
    ):
        ss.Problem(terms, loss)
    monkeypatch.setattr(_checks, "free_memory", lambda: 1.5 * n_bytes + 8e4)
    problem = ss.Problem(terms, loss)
    problem.reduce(*np.zeros((2, len(problem)), dtype=bool))


@pytest.mark.parametrize("loss", [ss.Hinge(), ss.SmoothedHinge(0.05)], ids=repr)
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_the_memory_that_is_asked_for_is_taken(monkeypatch, loss):
    X, asked = np.random.default_rng(0).standard_normal((20, 200)), []
    monkeypatch.setattr(
        "safescreen.problem.need_memory", lambda n_bytes, *texts: asked.append(n_bytes)
    )
    problem = ss.Problem(ss.Triplets(X, [[0, 1, 2], [3, 4, 5]]), loss)
    for _ in range(2):  # the first run compiles
        tracemalloc.start()
        ss.solve(problem, 0.1 * problem.lam_max(), max_iter=20)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 0.7 * taken < asked[0] < taken
