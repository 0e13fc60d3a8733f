"""The free intercept, against optima in fractions and definitions."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from naive.free_intercept import ExactMachine, instance
from naive.loop import begin, driven
from safescreen.solvers.coordinate_descent import CoordinateDescent
from safescreen.solvers.every import Every
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import SMOOTH
from safescreen.solvers.proximal_intercept import Centre, ProximalIntercept
from safescreen.solvers.reduction import Reduction, parse_screening, reference
from safescreen.terms._intercepts import balance, balanced_sum, certain_bound, root_interval

LOSSES = (ss.Hinge(), ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5))
TESTS = ("MGB", "GB", "DGB", "CDGB", "BT2", "RRPB", "DGB+halfspace", "MGB&DGB")


def posed(seed, loss):
    """Return a problem, lam, points, labels and weights; dense and sparse rows and kernels in
    turn.
    """
    X, y, weights = instance(seed)
    size = float(X.std()) or 1.0
    lam = size**2 * 10.0 ** (1 - (seed // 7) % 4)
    if seed % 4 == 2:
        K = X @ X.T
        constant = float(np.sqrt(np.diag(K).mean())) or 1.0
        samples = ss.KernelSamples(K + constant**2, y, weights=weights)
        terms = ss.FreeIntercept(samples, y, constant)
    else:
        points = sparse.csr_array(X) if seed % 4 == 1 else X
        terms = ss.FreeIntercept.from_points(points, y, weights=weights)
    return ss.Problem(terms, loss), lam, X, y, np.ones(len(y)) if weights is None else weights


def assert_masks_hold(machine, exact, masks):
    """Check that margins are on the side that the masks say, whichever optimal b it is."""
    alpha, low, high = exact
    for i, product in enumerate(machine.products(alpha)):
        margins = (product + machine.y[i] * low, product + machine.y[i] * high)
        if masks.in_R[i]:
            assert min(margins) > 1
        if masks.in_L[i]:
            assert max(margins) < 1 - machine.g * machine.cap
    return masks.n_L + masks.n_R


def primal_at(problem, machine, X, x):
    """Return the objective at x and its best intercept as computed, exactly."""
    b = Fraction(problem.terms.intercept(x, problem.loss))
    coef = [Fraction(float(v)) for v in np.asarray(x)]
    if isinstance(x, np.ndarray):
        *rest, last = coef
        last *= Fraction(problem.terms.constant)
        f = [sum(Fraction(float(v)) * w for v, w in zip(p, rest, strict=True)) + last for p in X]
        return machine.objective(f, b, sum(w * w for w in coef))
    signed = [v * y for v, y in zip(coef, machine.y, strict=True)]
    f = [sum(k * v for k, v in zip(row, signed, strict=True)) for row in machine.K]
    square = sum(v * u for v, u in zip(signed, f, strict=True))
    return machine.objective(f, b + Fraction(problem.terms.constant) ** 2 * sum(signed), square)


def check_one(seed, loss):
    """Check masks and gaps of a problem; return how many decisions were made, None where the
    optimum is not known.
    """
    problem, lam, X, y, weights = posed(seed, loss)
    machine = ExactMachine.of(X, y, weights, lam, loss)
    with warnings.catch_warnings(action="ignore", category=ss.ConvergenceWarning):
        solution = ss.solve(problem, lam, rtol=1e-13, screening=(), max_iter=5000)
        exact = machine.optimum(solution.alpha)
        if exact is None:
            return None
        n_decisions = 0
        for screening in (("MGB",), ("DGB+halfspace", "MGB&BT2")):
            found = ss.solve(problem, lam, rtol=1e-10, screening=screening, max_iter=5000)
            n_decisions += assert_masks_hold(machine, exact, found.screened)
    best = machine.primal(exact[0], exact[1])
    rng = np.random.default_rng(seed)
    for number, factor in enumerate((1.0, 1.0 - 1e-9, 0.99, 0.5)):
        slopes = np.clip(factor * solution.alpha + 1e-12 * rng.random(len(y)), 0.0, loss.cap)
        x = problem.x_of(slopes, lam)
        given = (None, slopes)
        for alpha in given if number == 0 else given[(number + seed // 2) % 2 :][:1]:
            e = problem.evaluate(x, lam, alpha)
            assert primal_at(problem, machine, X, x) - best <= Fraction(e.gap)
            for name in TESTS:
                reduction = Reduction(problem)
                reduction.screen(parse_screening(name, problem), reference(e))
                n_decisions += assert_masks_hold(machine, exact, reduction.screened())
    return n_decisions


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "smoothed", "squared"])
@pytest.mark.slow
def test_no_decision_and_no_gap_is_wrong(loss):
    counts = [check_one(seed, loss) for seed in range(28)]
    known = [count for count in counts if count is not None]
    assert len(known) > 20 and sum(count > 0 for count in known) > 6


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "smoothed", "squared"])
def test_no_decision_and_no_gap_is_wrong_exhaustively(loss):
    counts = [check_one(seed, loss) for seed in range(1000, 3000)]
    known = [count for count in counts if count is not None]
    assert len(known) > 1500 and sum(count > 0 for count in known) > 500


# ------------------------------------------------------------------ order statistics


def exact_balance(kinks, signs, w, width, cap, b):
    """Return the balance at b in fractions, as an interval: its ends differ at a kink of the
    hinge only.
    """
    low = high = Fraction(0)
    for k, y, c in zip(kinks, signs, w, strict=True):
        slack = int(y) * (Fraction(float(k)) - b)
        if width > 0.0:
            alpha = max(slack / Fraction(width), Fraction(0))
            alpha = alpha if cap == np.inf else min(alpha, Fraction(cap))
            low += int(y) * Fraction(float(c)) * alpha
            high += int(y) * Fraction(float(c)) * alpha
        elif slack >= 0:
            part = int(y) * Fraction(float(c))
            low += part if slack > 0 else min(part, Fraction(0))
            high += part if slack > 0 else max(part, Fraction(0))
    return low, high


def scene(seed):
    """Return kinks, with ties, signs and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    kinks = np.round(rng.standard_normal(n), int(rng.integers(0, 4))) * 10.0 ** rng.integers(-5, 5)
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return kinks, signs, rng.choice([1.0, 0.5, 0.1], n) if seed % 2 else np.ones(n)


@pytest.mark.parametrize(("width", "cap"), [(0.0, 1.0), (0.5, 1.0), (0.5, np.inf)])
def test_no_root_is_outside_its_bounds(width, cap):
    rng = np.random.default_rng(0)
    n_finite = 0
    for seed in range(300):
        kinks, signs, w = scene(seed)
        target = float(rng.choice([0.0, 0.0, 0.3, -0.3]))
        fixed = (signs, w, width, cap, target)
        low = certain_bound(kinks, *fixed, 1e-9, -1)
        high = certain_bound(kinks, *fixed, 1e-9, 1)
        assert low <= high
        doubt = Fraction(1e-9)
        if np.isfinite(low):
            at_low = exact_balance(kinks, signs, w, width, cap, Fraction(low))
            assert at_low[1] > Fraction(target) + doubt
        if np.isfinite(high):
            at_high = exact_balance(kinks, signs, w, width, cap, Fraction(high))
            assert at_high[0] < Fraction(target) - doubt
        n_finite += np.isfinite(low) and np.isfinite(high)
    assert n_finite > 100


@pytest.mark.parametrize(("width", "cap"), [(0.0, 1.0), (0.5, 1.0), (0.5, np.inf)])
def test_the_root_is_where_the_balance_is_the_target(width, cap):
    n_inside = 0
    for seed in range(300):
        kinks, signs, w = scene(seed)
        low, high = root_interval(kinks, signs, w, width, cap, 0.25)
        if not np.isfinite(low):
            continue
        n_inside += 1
        size = 1e-9 * (1.0 + np.abs(kinks).max())
        before = exact_balance(kinks, signs, w, width, cap, Fraction(low - size))
        after = exact_balance(kinks, signs, w, width, cap, Fraction(low + size))
        rounding = Fraction(1e-12)
        assert before[1] >= Fraction(0.25) - rounding and after[0] <= Fraction(0.25) + rounding
        if np.isfinite(high) and high > low:  # between them the balance does not change
            middle = exact_balance(kinks, signs, w, width, cap, Fraction(0.5 * (low + high)))
            assert abs(middle[0] - Fraction(0.25)) < 1e-9
    assert n_inside > 100


def test_a_value_that_is_not_a_number_bounds_nothing():
    kinks = np.array([0.0, np.nan, 1.0])
    signs = np.array([1.0, -1.0, -1.0])
    for width in (0.0, 0.5):
        for side in (-1, 1):
            bound = certain_bound(kinks, signs, np.ones(3), width, 1.0, 0.0, 0.0, side)
            assert bound == side * np.inf


def test_sums_of_signs_are_nearly_exact():
    rng = np.random.default_rng(0)
    for n in (1, 10, 1000):
        signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        alpha = rng.random(n)
        w = rng.choice([0.1, 1.0, 1e8], n)
        offset = -float(np.sum(w * alpha * signs))  # what is left is the rounding of this sum
        total, size = balanced_sum(signs, w, alpha, offset)
        parts = zip(w.tolist(), alpha.tolist(), signs.tolist(), strict=True)
        exact = Fraction(offset) + sum(Fraction(c * a) * int(s) for c, a, s in parts)
        assert abs(Fraction(total) - exact) <= Fraction(2.0**-52) * abs(exact) + Fraction(
            n * n * 2.0**-104 * size
        )
    assert balance(np.array([1.0]), np.ones(1), np.ones(1), 0.5, 1.0, 0.9)[0] == pytest.approx(0.2)


# ------------------------------------------------------------------ the family


def pair(**options):
    X = np.array([[0.0], [1.0], [3.0], [-2.0]])
    return ss.FreeIntercept.from_points(X, [-1, -1, 1, -1], **options)


def test_a_dual_point_is_balanced():
    problem = ss.Problem(pair(), ss.Hinge())
    x = problem.cone.zeros()
    for alpha in ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.2, 0.3, 0.5, 0.0]):
        balanced = problem.terms.balanced(np.array(alpha), x, problem.loss)
        assert problem.terms.signs @ balanced == 0.0
        assert (balanced >= 0.0).all() and (balanced <= 1.0).all()
    assert np.array_equal(balanced, [0.2, 0.3, 0.5, 0.0])


def test_what_is_screened_leaves_an_offset():
    problem = ss.Problem(pair(), ss.Hinge())
    smaller = problem.reduce([False, True, False, False], [True, False, False, True])
    assert smaller.terms.offset == -1.0
    one = ss.solve(problem, 5.0, rtol=1e-10, screening=())
    other = ss.solve(smaller, 5.0, rtol=1e-10, screening=())
    assert one.alpha.tolist() == pytest.approx([0.0, 1.0, 1.0, 0.0])
    assert other.alpha.tolist() == pytest.approx([1.0])
    assert other.primal == pytest.approx(one.primal)
    assert np.allclose(one.x, other.x, atol=1e-6)


def test_parts_keep_thresholds_of_their_own():
    rng = np.random.default_rng(0)
    terms = ss.FreeIntercept.from_points(rng.standard_normal((9, 2)), [1, -1, 1] * 3)
    tau = rng.uniform(0.5, 2.0, 9)
    keep = np.arange(9) % 2 == 0
    assert terms.with_threshold(tau).select(keep).threshold.tolist() == tau[keep].tolist()
    undecided, *_ = terms.with_threshold(tau).partition(np.where(keep, 0, 2))
    assert undecided.threshold.tolist() == tau[keep].tolist()


def test_the_offset_of_weighted_samples_is_known_to_its_error():
    """In fractions; what one part is off by, its own parts are off by too."""
    rng = np.random.default_rng(0)
    n_off = 0
    for _ in range(20):
        signs = rng.permutation([1.0, -1.0] * 20)
        w = rng.choice([0.1, 0.7, 1.3], 40)
        terms = ss.FreeIntercept.from_points(rng.standard_normal((40, 2)), signs, weights=w)
        in_L = rng.random(40) < 0.5
        part, *_ = terms.partition(np.where(in_L, 1, 0))
        exact = sum(Fraction(a) * Fraction(s) for a, s in zip(w[in_L], signs[in_L], strict=True))
        off = abs(Fraction(part.offset) - exact)
        again, *_ = part.partition(np.zeros(len(part), dtype=np.int64))
        assert again.offset == part.offset
        assert off <= Fraction(part._offset_error) <= Fraction(again._offset_error)
        n_off += off > 0
    assert n_off > 5


def test_what_is_not_balanced_is_in_the_gap():
    """A sum that is only known up to something is balanced by a dual point that far away."""
    problem = ss.Problem(pair(), ss.Hinge())
    alpha = problem.terms.balanced(np.full(4, 0.5), problem.cone.zeros(), problem.loss)
    x = problem.x_of(alpha, 1.0)
    known = problem.terms.loss_sums(x, problem.loss, alpha)
    problem.terms._offset_error = 0.125
    rough = problem.terms.loss_sums(x, problem.loss, alpha)
    longest = problem.terms.norms.max()
    slack = np.abs(
        1.0
        - problem.terms.margins(x)
        - problem.terms.signs * problem.terms.intercept(x, problem.loss)
    ).max()
    assert rough.adjoint_error >= known.adjoint_error + 0.125 * longest
    assert rough.fenchel >= known.fenchel + 0.125 * slack > known.fenchel + 0.05


def test_spreads_are_norms_without_the_constant():
    X = np.random.default_rng(0).standard_normal((30, 4)) * 10.0 ** np.linspace(-6, 2, 30)[:, None]
    y = np.where(np.arange(30) % 2, 1, -1)
    terms = ss.FreeIntercept.from_points(X, y)
    for costly, point in ((False, X.mean(axis=0)), (True, 0.0)):
        terms._spreads = None
        terms.costly = costly
        lengths = np.linalg.norm(X - point, axis=1)
        assert (terms.spreads >= lengths).all()
        assert np.allclose(terms.spreads[25:], lengths[25:], rtol=1e-5)


def test_the_center_goes_a_proximal_step_then_along_a_line():
    method = ProximalIntercept(SMOOTH["hybrid"])
    first = method._moved(Centre(b=0.5, x=None, alpha=None), 0.25, 1.0)
    assert first.b == 1.5 == first.low and first.high == np.inf
    second = method._moved(first, 0.125, 0.5)
    assert second.b == pytest.approx(2.5)  # half as large a residual: as far again
    third = method._moved(replace(second, b=9.0), -1e-3, -4e-3)
    assert third.low < third.b < third.high < 9.0


def test_the_tests_of_the_papers_know_the_intercept():
    n_decisions = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(30) < 0.4, 1, -1)
        X = rng.standard_normal((30, 2)) + 1.2 * y[:, None] + 2.0
        terms = ss.FreeIntercept.from_points(X, y)
        problem = ss.Problem(terms, ss.Hinge())
        first, last, between = (ss.solve(problem, 1.0 / C, rtol=1e-11) for C in (0.1, 0.12, 0.11))
        known = [ss.svm.reference(one) for one in (first, last)]
        margins = terms.margins(between.x) + y * between.intercept
        for masks in (
            ss.svm.ball_test_1(terms, 0.11, known[0]),
            ss.svm.ball_test_2(terms, 0.11, first.x, first.alpha),
            ss.svm.intersection_test(terms, 0.11, known[0]),
            ss.svm.dome_test(terms, known[0], known[1]),
        ):
            assert (margins[masks.in_R] > 1.0 - 1e-6).all()
            assert (margins[masks.in_L] < 1.0 + 1e-6).all()
            n_decisions += masks.n_L + masks.n_R
    assert n_decisions > 200


def test_ranges_are_refused():
    problem = ss.Problem(pair(), ss.SmoothedHinge(0.5))
    with pytest.raises(TypeError, match="free intercept"):
        ss.path(problem, [1.0, 0.5], ranges=True)
    with pytest.raises(TypeError, match="free intercept"):
        ss.ranges.relaxed_path(problem, problem.cone.zeros(), 0.1, 1.0)
    with pytest.raises(TypeError, match="free intercept"):
        ss.svm.total_loss(problem.terms, problem.cone.zeros())
    with pytest.raises(ValueError, match="lams must be given"):
        ss.path(problem)
    assert problem.lam_max() == np.inf


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="y must hold"):
        ss.FreeIntercept.from_points([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="constant"):
        ss.FreeIntercept(ss.Samples([[0.0], [1.0]], [1, -1]), [1, -1], 0.0)
    with pytest.raises(TypeError, match="FreeIntercept needs"):
        ss.FreeIntercept(ss.Triplets([[0.0], [1.0], [3.0]], [[0, 1, 2]]), [1], 1.0)


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "smoothed", "squared"])
def test_a_path_is_that_of_its_solves(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40) < 0.3, 1, -1)
    X = rng.standard_normal((40, 3)) + 0.8 * y[:, None] + 5.0
    problem = ss.Problem(ss.FreeIntercept.from_points(X, y), loss)
    lams = 30.0 * 0.5 ** np.arange(8)
    path = ss.path(problem, lams, rtol=1e-9, screening=("MGB",))
    assert max(path.path_rates) > 0.3
    for solution in path:
        alone = ss.solve(problem, solution.lam, rtol=1e-9, screening=())
        assert solution.primal == pytest.approx(alone.primal, rel=3e-9)
        assert solution.intercept == pytest.approx(alone.intercept, abs=1e-3)
        assert problem.terms.residual(solution.alpha)[0] == pytest.approx(0.0, abs=1e-12)


def with_a_kernel(weights=None, n=120):
    rng = np.random.default_rng(5)
    y = np.where(rng.random(n) < 0.35, 1, -1)
    X = rng.standard_normal((n, 3)) + 0.7 * y[:, None]
    return ss.FreeIntercept.from_points(X, y, "rbf", gamma=0.4, weights=weights)


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "smoothed", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_alone_solve_samples_with_a_kernel(loss, weighted):
    """To the optimum that the proximal method finds, in a few steps, with screening too."""
    weights = np.random.default_rng(1).uniform(0.3, 3.0, 120) if weighted else None
    problem = ss.Problem(with_a_kernel(weights), loss)
    solver = CoordinateDescent()
    for lam in (2.0, 0.2, 0.02):
        expected = ss.solve(problem, lam, method="newton", tol=0.0, rtol=1e-8, max_iter=5000)
        for policy in (None, Every(parse_screening("MGB", problem), 1)):
            start = begin(problem.cone.zeros(), lam)
            limits = Limits(0.0, 1e-7, 400)
            found = driven(Reduction(problem), solver, policy, start, limits)
            assert found.reason == "converged"
            assert found.n_iter < 200
            doubt = found.evaluation.gap + expected.gap + 1e-13 * expected.primal
            assert abs(found.evaluation.primal - expected.primal) <= doubt


def test_a_sweep_balances_the_classes_first():
    terms = with_a_kernel()
    loss = ss.Hinge()
    alpha = np.linspace(0.0, 1.0, 120)
    H = terms.weighted_sum(alpha)[0]
    H, _, n_sweeps, _ = terms.sweep(alpha, H, 0.5, loss, 1e-6, 50, 0)
    assert n_sweeps > 0
    assert alpha.min() >= 0.0
    assert alpha.max() <= 1.0
    assert abs(terms.residual(alpha)[0]) < 1e-13
    assert np.allclose(H.coef, terms.weighted_sum(alpha)[0].coef, atol=1e-13)


def test_a_solve_ends_where_the_gap_is_rounding():
    problem = ss.Problem(with_a_kernel(), ss.Hinge())
    with pytest.warns(ss.ConvergenceWarning, match="duality gap"):
        solution = ss.solve(problem, 0.01, tol=0.0, rtol=1e-15, max_iter=5000)
    assert solution.gap < 1e-7 * solution.primal
    assert solution.n_iter < 200
