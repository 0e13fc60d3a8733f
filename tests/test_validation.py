"""What is proved of held-out terms, against solves for every lam and without every term."""

from fractions import Fraction
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

import safescreen as ss
from held_out import KINDS, apart, family, lam_of, truth
from safescreen.paths import begin_path
from safescreen.validation import _with_intercepts, ball_margins, keep_next

# ------------------------------------------------------------------ intervals


def interval_faults(kind, seed):
    """Return what is wrong with the bounds over a few intervals, as a list of words; and how many
    margins are decided.
    """
    rng = np.random.default_rng([seed, 7])
    terms, loss, train = family(kind, seed)
    prob = ss.Problem(terms.select(train), loss)
    fold = ss.HeldOut(prob, terms.select(~train))
    lam = lam_of(prob, rng)
    lams = lam * np.array([1.0, 1.6, 4.0])
    rtol = float(rng.choice([1e-3, 1e-6, 1e-9]))
    for each in lams[[0, 2]] if seed % 3 else lams[[1]]:
        fold.keep(ss.solve(prob, each, rtol=rtol))
    faults = []
    n_decided = 0
    for low, high in ((lams[0], lams[2]), (lams[0], 1.1 * lams[0]), (lams[1], 1.05 * lams[1])):
        bounds = fold.margins(low, high)
        least, most = fold.error(low, high)
        n_decided += np.sum(bounds.are_right | bounds.are_errors)
        for at in np.geomspace(low, high, 5):
            known = truth(prob, at, fold.terms)
            if apart(bounds, known):
                faults.append(f"margins at {at:g} of {low:g} to {high:g}")
            known_least, known_most = known.error()
            if least > known_most or most < known_least:
                faults.append(f"error at {at:g} of {low:g} to {high:g}")
    return faults, n_decided


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_solution_of_an_interval_lies_within_the_bounds(kind):
    total = 0
    for seed in range(20):
        faults, n_decided = interval_faults(kind, seed)
        assert faults == [], seed
        total += n_decided
    assert total > 60  # it decides something


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_solution_of_an_interval_in_300_problems(kind):
    assert {seed: f for seed in range(20, 320) if (f := interval_faults(kind, seed)[0])} == {}


def test_two_balls_are_needed_and_enough():
    """One feature: the held-out margin is x itself. The balls of the two ends are intervals; their
    hull holds the solutions in between and ends at a solution.
    """
    prob = ss.Problem(ss.Samples([[1.0], [1.0], [-1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
    fold = ss.HeldOut(prob, ss.Samples([[1.0], [1.0]], [1, -1]).select(np.array([True, False])))
    fold.keep(ss.solve(prob, 12.0, rtol=1e-13))  # all terms are linear: x = 3/lam
    bounds = fold.margins(8.0, 20.0)
    assert bounds.low[0] == pytest.approx(3 / 20, abs=1e-6) and bounds.low[0] <= 3 / 20
    assert bounds.high[0] == pytest.approx(3 / 8, abs=1e-6) and bounds.high[0] >= 3 / 8
    assert fold.margins(12.0).low[0] == pytest.approx(0.25, abs=1e-6)


def test_a_pair_between_two_solutions_is_a_solution_where_no_term_changes():
    prob = ss.Problem(ss.Samples([[1.0], [0.5]], [1, -1]), ss.SmoothedHinge(0.5))
    terms = ss.Samples([[1.0], [0.5]], [1, -1])
    fold = ss.HeldOut(prob, terms)
    for lam in (2.0, 4.0):  # all terms are linear: x = 0.5/lam
        fold.keep(ss.solve(prob, lam, rtol=1e-13))
    middle = 8.0**0.5
    x, sums = fold._between(2.0, 4.0, middle)
    assert x[0] == pytest.approx(0.5 / middle, rel=1e-12)
    assert prob.assemble(sums, x, middle).gap < 1e-12
    narrow = fold.margins(middle)
    assert narrow.high[0] - narrow.low[0] < 1e-5
    assert narrow.low[0] <= 0.5 / middle <= narrow.high[0]


def test_a_pair_between_two_solutions_with_a_term_between_its_thresholds():
    """One term with 0 < alpha < 1 at both ends: C alpha = x = 1, so the pair is the solution."""
    prob = ss.Problem(ss.Samples([[1.0], [1.0]], [1, -1]).select([True, False]), ss.Hinge())
    fold = ss.HeldOut(prob, prob.terms)
    for lam in (0.25, 0.5):  # the kink: x = 1, alpha = lam
        fold.keep(ss.solve(prob, lam, rtol=1e-12))
    middle = 0.125**0.5
    x, sums = fold._between(0.25, 0.5, middle)
    assert x[0] == pytest.approx(1.0, rel=1e-12)
    assert prob.assemble(sums, x, middle).gap < 1e-12


def test_the_pair_between_two_solutions_makes_bounds_narrower():
    class WithoutPair(ss.HeldOut):
        def _references(self, low, high):
            return list(super()._references(low, high))[:2]

    rng = np.random.default_rng(5)
    samples = ss.Samples(rng.normal(size=(40, 3)), np.repeat([-1, 1], 20))
    prob = ss.Problem(samples, ss.SmoothedHinge(0.5))
    with_pair, without = (kind(prob, samples) for kind in (ss.HeldOut, WithoutPair))
    for lam in (10.0, 12.0):
        solution = ss.solve(prob, lam, rtol=1e-12)
        with_pair.keep(solution)
        without.keep(solution)
    narrow, wide = with_pair.margins(11.0), without.margins(11.0)
    assert (narrow.high - narrow.low < 0.5 * (wide.high - wide.low)).all()


def test_between_a_solution_and_itself_there_is_no_pair():
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    fold = ss.HeldOut(prob, prob.terms)
    fold.keep(ss.solve(prob, 4.0, rtol=1e-9))
    assert np.isfinite(fold.margins(1.0, 16.0).low).all()  # 4 is in the middle


# ------------------------------------------------------------------ rounding


def of_sizes(rng, n):
    """Numbers of very different sizes."""
    return rng.uniform(-1.0, 1.0, n) * 10.0 ** rng.integers(-6, 7, n)


def farther(bounds, low, high):
    """Assert that bounds reach at least from low to high, which are exact, and hardly farther."""
    for i in range(len(low)):
        assert Fraction(bounds.low[i]) <= low[i] and Fraction(bounds.high[i]) >= high[i], i
        size = max(abs(low[i]), abs(high[i]), abs(low[i] - high[i]))
        room = size * Fraction(1, 10**14)
        assert (
            low[i] - Fraction(bounds.low[i]) <= room and Fraction(bounds.high[i]) - high[i] <= room
        )


def test_margins_in_a_ball_are_rounded_outwards():
    """Products and norms are exact here, so nothing else makes room for the rounding of sums."""
    rng = np.random.default_rng(3)
    values, norms, radius = of_sizes(rng, 400), np.abs(of_sizes(rng, 400)), 1.5
    products = SimpleNamespace(chunk=lambda start, stop: (values[start:stop], 0.0))
    terms = MagicMock(norms=norms, offers=(), **{"inner_products.return_value": products})
    terms.__len__.return_value = 400
    terms.chunks.return_value = [(0, 150), (150, 400)]
    bounds = ball_margins(MagicMock(), terms, SimpleNamespace(center=None, radius=radius))
    reach = [Fraction(radius) * Fraction(norm) for norm in norms]
    exact = [Fraction(value) for value in values]
    farther(
        bounds,
        [value - one for value, one in zip(exact, reach, strict=True)],
        [value + one for value, one in zip(exact, reach, strict=True)],
    )


def test_margins_with_an_intercept_are_rounded_outwards():
    rng = np.random.default_rng(4)
    for _ in range(100):
        low, high = np.sort(of_sizes(rng, 12).reshape(2, 6), axis=0)
        b = np.sort(of_sizes(rng, 2))
        signs = rng.choice([-1.0, 1.0], 6)
        bounds = _with_intercepts(low, high, signs, b)
        moved = [sorted(Fraction(sign) * Fraction(end) for end in b) for sign in signs]
        farther(
            bounds,
            [Fraction(one) + least for one, (least, _) in zip(low, moved, strict=True)],
            [Fraction(one) + most for one, (_, most) in zip(high, moved, strict=True)],
        )


# ------------------------------------------------------------------ what is unknown, and input


def test_zero_is_on_no_side():
    bounds = ss.MarginBounds(np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    assert not bounds.are_right.any() and not bounds.are_errors.any()
    assert bounds.error() == (0.0, 1.0)


def test_what_nothing_is_known_of():
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    fold = ss.HeldOut(prob, prob.terms)
    assert fold.error(1.0, 2.0) == (0.0, 1.0)
    assert np.isinf(fold.margins(1.0).low).all()
    broken = ss.MarginBounds(np.array([np.nan]), np.array([np.nan]))
    assert broken.error() == (0.0, 1.0)
    known = ss.MarginBounds(np.array([1.0]), np.array([2.0]))
    assert (broken & known).are_right.all() and not (broken | known).are_right.any()


def test_weights_of_the_held_out():
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    held_out = ss.Samples([[1.0], [1.0], [0.0]], [1, -1, 1])
    fold = ss.HeldOut(prob, held_out, [0.75, 1.0, 0.25])
    fold.keep(ss.solve(prob, 1.0, rtol=1e-9))
    assert fold.error(0.9, 1.1) == (0.5, 0.625)  # a margin of 0 is never decided


def test_bad_input_is_named():
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    with pytest.raises(ValueError, match="space of the problem"):
        ss.HeldOut(prob, ss.Samples([[1.0, 2.0], [3.0, 1.0]], [1, -1]))
    with pytest.raises(ValueError, match="weights"):
        ss.HeldOut(prob, prob.terms, [0.0, 0.0])
    with pytest.raises(TypeError, match="ProductTriplets"):
        X = np.arange(8.0)[:, None]
        blocks = ss.ProductTriplets(X, np.arange(8) % 2)
        ss.HeldOut(ss.Problem(ss.Triplets.from_labels(X, np.arange(8) % 2), prob.loss), blocks)
    free = ss.FreeIntercept.from_points([[0.0], [1.0]], [1, -1])
    with pytest.raises(TypeError, match="free intercept"):
        ss.HeldOut(ss.Problem(free, ss.Hinge()), ss.Samples([[0.0, 1.0], [1.0, 1.0]], [1, -1]))
    fold = ss.HeldOut(prob, prob.terms)
    with pytest.raises(ValueError, match="alpha"):
        other = ss.Problem(ss.Samples([[1.0], [-2.0], [3.0]], [1, -1, 1]), prob.loss)
        fold.keep(ss.solve(other, 1.0))
    with pytest.raises(ValueError, match="low must not be above high"):
        fold.margins(2.0, 1.0)


def test_held_out_margins_know_the_intercept():
    X = [[0.0], [1.0], [3.0], [4.0]]
    every = ss.FreeIntercept.from_points(X, [-1, -1, 1, 1])
    train = np.array([False, True, True, False])
    prob = ss.Problem(every.select(train), ss.Hinge())
    fold = ss.HeldOut(prob, every.select(~train))
    fold.keep(ss.solve(prob, 0.1, rtol=1e-12))  # f(x) = x - 2 while lam is at most 1/2
    bounds = fold.margins(0.09, 0.11)
    assert (bounds.low <= 2.0).all() and (bounds.high >= 2.0).all()
    assert bounds.are_right.all() and fold.error(0.09, 0.11) == (0.0, 0.0)
    fold.keep(ss.solve(prob, 1e4, rtol=1e-12))  # f is nearly b, and every b in [-1, 1] is optimal
    bounds = fold.margins(1e4)
    assert (bounds.low <= -0.99).all() and (bounds.high >= 0.99).all()


@pytest.mark.parametrize("screening", [(), ("MGB",)])
def test_what_a_path_has_evaluated_proves_as_much(screening):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1, -1)
    samples = ss.Samples(rng.standard_normal((60, 2)) + 1.5 * (y[:, None] > 0), y)
    train = np.arange(60) < 40
    prob = ss.Problem(samples.select(train), ss.SmoothedHinge(0.5))
    walk = begin_path(prob, screening=screening, tol=0.0, rtol=1e-10)
    given = ss.HeldOut(prob, samples.select(~train))
    anew = ss.HeldOut(prob, samples.select(~train))
    known = []
    lams = prob.lam_max() * np.array([0.5, 0.1, 0.02])
    for lam in lams:
        solution, _ = walk.step(float(lam))
        known.append(walk.evaluation is not None)
        keep_next(given, solution, walk.evaluation)
        anew.keep(solution)
    assert all(known) if not screening else not all(known)  # terms had left
    for low, high in ((lams[1], lams[1]), (lams[2], lams[0]), (0.9 * lams[1], 1.1 * lams[1])):
        one = given.margins(low, high)
        other = anew.margins(low, high)
        np.testing.assert_allclose(one.low, other.low, atol=1e-7)
        np.testing.assert_allclose(one.high, other.high, atol=1e-7)
