"""What is known of terms, from any masks of any tests; what is left; names of tests."""

from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from instances import points
from safescreen.rules import Screened
from safescreen.solvers import reduction as module
from safescreen.solvers.reduction import (
    Reduction,
    _merge,
    can_be_screened,
    parse_screening,
    reference,
)
from safescreen.spheres import SPHERES


def problem(n=20, gamma=0.5):
    """Return a problem of n samples whose margins at x = 1 are 1, 2, ..., n."""
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    X = (np.arange(n) + 1.0) * signs
    return ss.Problem(ss.Samples(X[:, None], signs), ss.SmoothedHinge(gamma))


def margins_left(reduction):
    """Return the margins of the terms that are left at x = 1: each term's number, plus 1."""
    return np.round(reduction.problem.terms.margins(np.ones(1))).astype(int).tolist()


class Masks:
    """A rule that says what it is told, term by term."""

    needs = ()

    def __init__(self, monkeypatch):
        self.balls = []
        self.to_say = []
        monkeypatch.setitem(module.RULES, "sphere", self)
        monkeypatch.setattr(module, "intersection", self.of_two)

    def __call__(self, prob, ball):
        return self.answer(prob, ball)

    def of_two(self, prob, first, second):
        return self.answer(prob, first, second)

    def answer(self, prob, *balls):
        self.balls.append(balls)
        if self.to_say:
            self.say(*self.to_say.pop(0))
        numbers = np.round(prob.terms.margins(np.ones(1))).astype(int) - 1
        return Screened(np.isin(numbers, self.in_L), np.isin(numbers, self.in_R))

    def say(self, in_L, in_R):
        self.in_L = list(in_L)
        self.in_R = list(in_R)


@pytest.fixture
def masks(monkeypatch):
    return Masks(monkeypatch)


# ------------------------------------------------------------------ names of tests


def test_names_of_tests():
    prob = problem()
    (one,) = parse_screening("PGB", prob)
    assert one.spheres == (SPHERES["PGB"],) and one.rule == "sphere"
    with_rule, both = parse_screening(("GB+halfspace", "MGB&BT2"), prob)
    assert with_rule.spheres == (SPHERES["GB"],) and with_rule.rule == "halfspace"
    assert both.spheres == (SPHERES["MGB"], SPHERES["BT2"]) and both.rule == "sphere"
    assert parse_screening((), prob) == ()
    for wrong in ("MGB&BT2&PGB", "MGB&BT2+halfspace", "MGB&BT2&PGB+halfspace"):
        with pytest.raises(
            ValueError, match="one ball and a rule, or two balls without a rule, got"
        ):
            parse_screening(wrong, prob)


# ------------------------------------------------------------------ terms


def test_nothing_is_known_at_first():
    left = Reduction(problem())
    assert (left.n_L, left.n_R, left.enlargement) == (0, 0, np.inf)
    assert left.status.tolist() == [0] * 20 and len(left.problem) == 20
    X, y = points(n=12)
    products = Reduction(ss.Problem(ss.ProductTriplets(X, y), ss.SmoothedHinge(0.5)))
    assert not can_be_screened(products.whole.terms) and can_be_screened(left.whole.terms)
    assert (products.n_L, products.n_R, products.agrees_within(1.0)) == (0, 0, True)


@pytest.mark.parametrize("seed", range(4))
def test_decisions_add_up(seed, masks):
    """By definition: a term has the first decision that is made of it, L before R; what leaves is
    decided, and the numbers of what stays are those among what was left.
    """
    rng = np.random.default_rng(seed)
    left = Reduction(problem())
    expected = np.zeros(20, dtype=int)
    for _ in range(6):
        before = margins_left(left)
        in_L, in_R = (np.flatnonzero(rng.uniform(size=20) < 0.15) for _ in range(2))
        open_ = np.array([number - 1 for number in before])
        for number in open_[expected[open_] == 0]:
            expected[number] = 1 if number in in_L else 2 if number in in_R else 0
        masks.say(in_L, in_R)
        kept = left.apply(ss.Sphere(np.zeros(1), 1.0))
        assert left.status.tolist() == expected.tolist()
        assert (left.n_L, left.n_R) == ((expected == 1).sum(), (expected == 2).sum())
        assert np.array_equal(left.screened().in_L, expected == 1)
        assert np.array_equal(left.screened().in_R, expected == 2)
        after = margins_left(left)
        assert set(np.flatnonzero(expected == 0) + 1) <= set(after)
        assert after == (before if kept is None else [before[number] for number in kept])
        alpha = rng.uniform(size=len(left.problem))
        whole = left.expand(alpha)
        assert np.array_equal(left.restrict(whole), alpha)
        gone = np.setdiff1d(np.arange(20), np.array(after) - 1)
        assert np.array_equal(whole[gone], (expected[gone] == 1).astype(float))
    assert len(left.problem) < 12


@pytest.mark.parametrize(("n", "leaves"), [(20, True), (21, False), (5, True), (1, True)])
def test_terms_leave_when_they_are_a_twentieth(n, leaves, masks):
    for side in range(2):
        left = Reduction(problem(max(n, 2)))
        left.problem = left.whole if n > 1 else left.whole.reduce_by(np.array([0, 2], np.int8))[0]
        left._ids = None if n > 1 else np.array([0])
        masks.say(*(([0], []) if side == 0 else ([], [0])))
        kept = left.apply(ss.Sphere(np.zeros(1), 1.0))
        assert (left.n_L, left.n_R) == ((1, 0) if side == 0 else (0, 1))
        assert left.status[0] == 1 + side
        assert (kept is not None) == leaves and len(left.problem) == n - leaves
    masks.say([], [])
    assert Reduction(problem(n=2)).apply(ss.Sphere(np.zeros(1), 1.0)) is None


def test_merged_decisions_by_definition():
    status, in_L, in_R = (np.array(v) for v in zip(*np.ndindex(3, 2, 2), strict=True))
    merged = status.astype(np.int8)
    counts = _merge(merged, in_L.astype(bool), in_R.astype(bool))
    expected = np.where(status != 0, status, np.where(in_L, 1, np.where(in_R, 2, 0)))
    assert merged.tolist() == expected.tolist()
    new = status == 0
    assert counts == (
        (new & (expected == 1)).sum(),
        (new & (expected == 2)).sum(),
        (expected != 0).sum(),
    )


@pytest.mark.parametrize(("n_L", "n_R"), [(0, 0), (3, 3), (4, 0), (0, 5)])
def test_masks_of_others(n_L, n_R):
    """A term that is said to be in both regions counts as linear."""
    numbers = np.arange(20)
    in_L = numbers < n_L
    in_R = (numbers < n_L + n_R) & ((numbers >= n_L) | (numbers == 1))
    prob = problem()
    left = Reduction(prob).known(Screened(in_L, in_R))
    assert (left.enlargement, left.n_L, left.n_R) == (0.0, n_L, n_R)
    assert left.status.tolist() == np.where(in_L, 1, np.where(in_R, 2, 0)).tolist()
    assert margins_left(left) == (numbers[~in_L & ~in_R] + 1).tolist()
    x = np.full(1, 0.1)
    status = left.status
    slack = prob.terms.threshold - prob.terms.margins(x)
    linear = (slack[status == 1] - 0.5 * prob.loss.smoothing).sum()
    open_ = np.maximum(slack[status == 0], 0.0)
    rest = np.where(open_ < 0.5, open_**2, open_ - 0.25).sum()
    assert left.problem.primal(x, 2.0) == pytest.approx(linear + rest + float(x @ x), rel=1e-12)


def test_a_copy_learns_on_its_own(masks):
    left = Reduction(problem())
    twin = left.copy()
    masks.say([1, 2], [3])
    twin.apply(ss.Sphere(np.zeros(1), 1.0))
    assert (left.n_L, left.n_R) == (0, 0) and not left.status.any()
    assert (twin.n_L, twin.n_R) == (2, 1) and len(left.problem) == 20


# ------------------------------------------------------------------ balls


def test_every_ball_is_enlarged(masks):
    """By what is asked for, nothing if that is left out; the least enlargement is kept. A ball
    that decides nothing is passed over.
    """
    prob = problem()
    e = prob.evaluate(np.full(1, 0.1), 1.0)
    tests = parse_screening(("DGB", "GB&DGB"), prob)
    radii = [[s.build(reference(e)(prob)).radius for s in test.spheres] for test in tests]
    masks.say([], [])
    left = Reduction(prob)
    smallest = np.inf
    for enlargement in (0.25, 3.0, 0.125, None):
        masks.balls.clear()
        given = {} if enlargement is None else {"enlargement": enlargement}
        assert left.screen(tests, reference(e), **given) is None
        found = [[ball.radius for ball in balls] for balls in masks.balls]
        more = enlargement or 0.0
        smallest = min(smallest, more)
        assert left.enlargement == smallest
        for wanted, got in zip(radii, found, strict=True):
            for radius, enlarged in zip(wanted, got, strict=True):
                assert radius + more <= enlarged <= (radius + more) * (1.0 + 1e-12)


def test_a_ball_that_decides_nothing_is_not_used(masks):
    prob = problem()
    e = prob.evaluate(np.full(1, 0.1), 1.0)
    (test,) = parse_screening("DGB", prob)
    useless = SPHERES["DGB"].build(reference(e)(prob)).__class__(np.zeros(1), np.inf)
    assert not useless.decides
    family = SimpleNamespace(build=lambda known: useless)
    left = Reduction(prob)
    masks.say([0, 1], [2])
    unused = module.Test((family,), "sphere")
    assert left.screen([unused], reference(e), 0.5) is None
    assert left.enlargement == np.inf and not masks.balls
    assert left.screen([unused, test], reference(e), 0.5) is not None
    assert left.enlargement == 0.5 and len(left.problem) == 17


def test_the_numbers_of_what_several_tests_leave(masks):
    """Among the terms before the first test; each test sees what the one before has left."""
    prob = problem()
    e = prob.evaluate(np.full(1, 0.1), 1.0)
    tests = parse_screening(("DGB", "GB", "DGB"), prob)
    masks.to_say = [([3, 4], [19]), ([0, 5], []), ([], [])]
    left = Reduction(prob)
    kept = left.screen(tests, reference(e), 0.1)
    assert kept.tolist() == [n for n in range(20) if n not in (0, 3, 4, 5, 19)]
    assert margins_left(left) == (kept + 1).tolist()


def test_the_last_term_is_screened_too(masks):
    prob = problem(n=2)
    e = prob.evaluate(np.full(1, 0.1), 1.0)
    left = Reduction(prob).known(Screened(np.array([True, False]), np.zeros(2, bool)))
    masks.say([], [1])
    tests = parse_screening("DGB", prob)
    assert left.screen(tests, reference(e)).tolist() == []
    assert (left.n_L, left.n_R) == (1, 1) and len(left.problem) == 0
    masks.balls.clear()
    assert left.screen(tests, reference(e)) is None and not masks.balls


def test_features_leave_by_the_smallest_ball_unless_another_is_asked_for():
    X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1]])
    terms = ss.Triplets(X, [[0, 1, 2]], diagonal=True)
    prob = ss.Problem(terms, ss.SmoothedHinge(0.5))
    e = prob.evaluate(np.array([0.243, 0.0]), 1.0)
    assert Reduction(prob).leave_out(e).tolist() == [True, False]
    assert Reduction(prob).leave_out(e, 1.0) is None


def test_features_leave_when_they_are_a_twentieth(monkeypatch):
    rng = np.random.default_rng(0)
    for d, leaves in ((20, True), (21, False)):
        terms = ss.Triplets(rng.normal(size=(3, d)), [[0, 1, 2]], diagonal=True)
        prob = ss.Problem(terms, ss.SmoothedHinge(0.5))
        left = Reduction(prob)
        left.enlargement = 1.0
        monkeypatch.setattr(module, "zero_features", lambda *args: np.arange(args[0].cone.d) == 3)
        keep = left.leave_out(prob.evaluate(prob.cone.zeros(), 1.0))
        assert left.zero_features.nonzero()[0].tolist() == [3]
        assert (keep is not None) == leaves and left.problem.cone.d == d - leaves
        assert left.has_all_features != leaves
        x = np.arange(d, dtype=float)
        assert left.extract(x).tolist() == [j for j in range(d) if not (leaves and j == 3)]
        # what is left has the objective of the whole near the optimum alone, and with all features
        assert left.agrees_within(0.5) != leaves and not left.agrees_within(2.0)
