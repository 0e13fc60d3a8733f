"""What is proved of held-out terms, against solves for every lam and without every term."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import safescreen as ss
from naive import machines
from safescreen import validation
from safescreen.validation import ball_margins

LOSSES = (ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5))
KINDS = ("linear", "rbf", "free", "free rbf", "metric", "diagonal")
MACHINES = ("linear", "rbf")


def points(rng, n, d):
    """Return points of one of four kinds, with many ties or none, and their labels."""
    kind = rng.choice(["integers", "normal", "copies", "tiny"])
    X = rng.normal(size=(n, d))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "copies":
        X = np.repeat(X[: n // 2 + 1], 2, axis=0)[:n]
    elif kind == "tiny":
        X *= 10.0 ** -int(rng.integers(2, 6))
    y = np.where(X[:, 0] + np.abs(X).max() * rng.normal(0.0, 0.7, n) > 0.0, 1, -1)
    y[:4] = [1, -1, 1, -1]
    return X, y


def judgements(rng, n, n_triplets):
    """Return triplets of n points; some repeat, some contradict each other."""
    index = np.array([rng.permutation(n)[:3] for _ in range(n_triplets)])
    index[1] = index[0]
    index[3] = index[2][[0, 2, 1]]
    return index


def family(kind, seed):
    """Return ``(all terms, loss, mask of the training terms)`` of a small random problem."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, d = int(rng.integers(12, 26)), int(rng.integers(1, 4))
    X, y = points(rng, n, d)
    loss = LOSSES[int(rng.integers(3))]
    train = np.arange(n) % 3 != 2
    train[:4] = True
    if seed % 5 == 0:  # a held-out part with one class only
        y[-1] = 1
        train |= y < 0
        train[-1] = False
    weights = rng.integers(1, 4, n) / 2.0 if seed % 2 else None
    if kind in ("metric", "diagonal"):
        loss = LOSSES[int(rng.integers(2))]
        index = judgements(rng, n, n)
        return (
            ss.Triplets(X, index, diagonal=kind == "diagonal", weights=weights),
            loss,
            train,
        )
    kernel = "rbf" if kind.endswith("rbf") else "linear"
    if kind.startswith("free"):
        terms = ss.FreeIntercept.from_points(X, y, kernel, 0.5, weights=weights)
    elif kernel == "rbf":
        terms = ss.KernelSamples.from_points(X, y, "rbf", 0.5, weights=weights)
    else:
        terms = ss.Samples(X, y, weights=weights)
    return terms, loss, train


def lam_of(prob, rng):
    """Return a lam at which some terms are in L, some in R."""
    size = max(float(prob.terms.norms.max()) ** 2, 1e-12)
    return size * 10.0 ** rng.uniform(-1.5, 1.0)


def truth(prob, lam, terms):
    """Return bounds of margins from a solve to all digits."""
    with np.errstate(all="ignore"):
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=20000)
    ball = ss.spheres.midpoint_gap_bound(prob, best.x, lam, best.alpha)
    return ball_margins(prob, terms, ball)


def apart(bounds, known):
    """Return whether bounds and what is known of the same margins exclude each other."""
    return bool((bounds.low > known.high).any() or (bounds.high < known.low).any())


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


def test_zero_is_on_no_side():
    bounds = ss.MarginBounds(np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    assert not bounds.are_right.any() and not bounds.are_errors.any()
    assert bounds.error() == (0.0, 1.0)


def test_a_broken_square_decides_nothing():
    roots = validation._roots(np.array([4.0, -1e-30, np.nan]))
    assert roots[0] >= 2.0 and np.isnan(roots[1:]).all()


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
    fold = ss.HeldOut(prob, held_out, [3.0, 4.0, 1.0])
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
    with pytest.raises(TypeError, match="folds"):
        ss.choose_lam([prob], 1.0, 2.0)
    with pytest.raises(TypeError, match="ProductTriplets"):
        blocks = ss.Problem(ss.ProductTriplets(X, np.arange(8) % 2), prob.loss)
        ss.leave_one_out_bounds(blocks, np.eye(1), 1.0)


# ------------------------------------------------------------------ leave one out


def without(prob, number):
    keep = np.arange(len(prob)) != number
    return ss.Problem(prob.terms.select(keep), prob.loss)


def left_out(prob, number):
    mask = np.arange(len(prob)) == number
    return prob.terms.select(mask)


def leave_one_out_faults(kind, seed):
    """Return the numbers of the terms whose refit contradicts the bounds, and how many are decided
    of how many.
    """
    rng = np.random.default_rng([seed, 11])
    terms, loss, train = family(kind, seed)
    prob = ss.Problem(terms.select(train), loss)
    lam = lam_of(prob, rng)
    rtol = float(rng.choice([1e-2, 1e-4, 1e-9]))
    solution = ss.solve(prob, lam, rtol=rtol)
    bounds = ss.leave_one_out_bounds(prob, solution.x, lam, solution.alpha)
    faults = []
    for number in range(len(prob)):
        smaller = without(prob, number)
        known = truth(smaller, lam, left_out(prob, number))
        own = ss.MarginBounds(bounds.low[[number]], bounds.high[[number]])
        if apart(own, known):
            faults.append(number)
    decided = bounds.are_right | bounds.are_errors
    return faults, int(decided.sum()), len(prob)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_refits_never_contradict(kind):
    n_decided, n_all = 0, 0
    for seed in range(20):
        if kind.startswith("free") and seed % 5 == 0:
            continue
        faults, decided, size = leave_one_out_faults(kind, seed)
        assert faults == [], seed
        n_decided += decided
        n_all += size
    assert n_decided > 0.2 * n_all


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_refits_never_contradict_in_200_problems(kind):
    seeds = [s for s in range(20, 220) if s % 5]
    assert {seed: f for seed in seeds if (f := leave_one_out_faults(kind, seed)[0])} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_refits_in_extended_precision_never_contradict(seed):
    """The machine without one sample, by its definition: both losses, linear and with a kernel."""
    rng = np.random.default_rng([seed, 13])
    X, y = points(rng, 14, 2)
    K = rbf_kernel(X, gamma=0.5) if seed % 2 else X @ X.T
    squared = seed % 3 == 0
    loss = ss.SquaredHinge(0.5) if squared else ss.Hinge()
    terms = ss.KernelSamples.from_points(X, y, "rbf", 0.5) if seed % 2 else ss.Samples(X, y)
    prob = ss.Problem(terms, loss)
    lam = lam_of(prob, rng)
    solution = ss.solve(prob, lam, rtol=1e-10)
    bounds = ss.leave_one_out_bounds(prob, solution.x, lam, solution.alpha)
    for i in range(y.size):
        keep = np.arange(y.size) != i
        coefs, radius = machines.reference(
            K[np.ix_(keep, keep)], y[keep], np.ones(y.size - 1), 1.0 / lam, squared
        )
        value = float(y[i] * (K[i, keep].astype(np.longdouble) @ coefs))
        doubt = np.sqrt(K[i, i]) * radius + 1e-13 * abs(K[i, keep]) @ abs(coefs).astype(float)
        assert bounds.low[i] <= value + doubt and value - doubt <= bounds.high[i], i


def test_the_lower_bound_is_reached():
    """One feature, all terms linear: without a sample the margin falls by s ||a||, no less."""
    prob = ss.Problem(ss.Samples([[1.0], [2.0], [-1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
    lam = 30.0
    x = np.array([4.0 / lam])
    bounds = ss.leave_one_out_bounds(prob, x, lam)
    exact = np.array([1.0, 2.0, 1.0]) * (4.0 - np.array([1.0, 2.0, 1.0])) / lam
    assert (bounds.low <= exact).all()
    np.testing.assert_allclose(bounds.low, exact, atol=1e-6)
    np.testing.assert_allclose(bounds.high, np.array([1.0, 2.0, 1.0]) * 4.0 / lam, atol=1e-6)


def test_an_inexact_solution_widens_the_bounds():
    """All terms linear, x too large: the ball of the problem without the term reaches from x to its
    solution, so nothing may be taken off the radius.
    """
    prob = ss.Problem(ss.Samples([[1.0], [2.0], [-1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
    lam = 30.0
    for x in (0.15, 0.2):
        bounds = ss.leave_one_out_bounds(prob, np.array([x]), lam)
        exact = np.array([1.0, 2.0, 1.0]) * (4.0 - np.array([1.0, 2.0, 1.0])) / lam
        assert (bounds.low <= exact).all() and (exact <= bounds.high).all()
        np.testing.assert_allclose(bounds.low, exact, atol=1e-6)


def test_a_poor_dual_point_widens_the_bounds():
    """x = 0 with alpha = 0 knows nothing; the third sample is an error at the solution."""
    prob = ss.Problem(ss.Samples([[1.0], [2.0], [1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
    bounds = ss.leave_one_out_bounds(prob, np.zeros(1), 30.0, np.zeros(3))
    exact = np.array([1.0, 2.0, -1.0]) * (2.0 - np.array([1.0, 2.0, -1.0])) / 30.0
    assert (bounds.low <= exact).all() and (exact <= bounds.high).all()


def test_weights_of_what_is_left_out():
    """All terms linear: the term of weight 3 takes three times its point with it."""
    terms = ss.Samples([[1.0], [2.0], [-1.0]], [1, 1, -1], weights=[3.0, 1.0, 1.0])
    prob = ss.Problem(terms, ss.SmoothedHinge(0.5))
    bounds = ss.leave_one_out_bounds(prob, np.array([6.0 / 40.0]), 40.0)
    np.testing.assert_allclose(bounds.low, np.array([3.0, 8.0, 5.0]) / 40.0, atol=1e-6)
    assert (bounds.low <= np.array([3.0, 8.0, 5.0]) / 40.0).all()


def test_a_free_intercept_knows_what_is_above_and_what_is_below():
    """Two groups far apart, and one sample of the other class in each."""
    X = [[-4.0], [-4.1], [-4.2], [-3.0], [3.0], [4.0], [4.1], [4.2], [-3.9], [4.0]]
    y = [-1, -1, -1, -1, 1, 1, 1, 1, 1, -1]
    prob = ss.Problem(ss.FreeIntercept.from_points(X, y), ss.SmoothedHinge(0.1))
    solution = ss.solve(prob, 2.0, rtol=1e-10)
    bounds = ss.leave_one_out_bounds(prob, solution.x, 2.0, solution.alpha)
    with_all = prob.terms.margins(solution.x) + np.array(y) * solution.intercept
    above = with_all > 1.0 + 1e-3
    below = with_all < 0.999
    assert above.any() and (with_all[[8, 9]] < 0.0).all()
    assert bounds.are_right.tolist() == above.tolist()
    assert np.isfinite(bounds.high).tolist() == below.tolist()
    assert bounds.are_errors.tolist() == (with_all < 0.0).tolist()
    assert (bounds.low[above] >= 1.0).all()


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


# ------------------------------------------------------------------ the choice of lam


def folds_of(kind, seed):
    terms, loss, _ = family(kind, seed)
    n = len(terms)
    folds = []
    for part in range(2):
        test = np.arange(n) % 4 == 2 + part
        folds.append(ss.HeldOut(ss.Problem(terms.select(~test), loss), terms.select(test)))
    return folds


def grid_errors(folds, lams):
    """Return bounds of the mean error at each lam, from solves to all digits."""
    bounds = [
        [truth(fold.problem, lam, fold.terms).error(fold.weights) for lam in lams] for fold in folds
    ]
    return np.mean(bounds, axis=0).T


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_no_lam_of_a_dense_grid_is_better_than_proved(kind):
    n_proved = 0
    for seed in (1, 2, 3, 4):
        folds = folds_of(kind, seed)
        size = max(float(folds[0].problem.terms.norms.max()) ** 2, 1e-12)
        epsilon = (0.0, 0.05, 0.1)[seed % 3]
        choice = ss.choose_lam(folds, 0.05 * size, 5.0 * size, epsilon, rtol=1e-7, max_lams=12)
        assert 0.05 * size <= choice.lam <= 5.0 * size
        assert choice.ends[0] == 0.05 * size and choice.ends[-1] == 5.0 * size
        assert (np.diff(choice.ends) > 0.0).all() and len(choice.lams) <= 12
        n_proved += choice.epsilon <= epsilon
        lams = np.geomspace(0.05 * size, 5.0 * size, 25)
        lows, highs = grid_errors(folds, lams)
        assert (highs >= choice.error[1] - choice.epsilon - 1e-12).all()
        cells = np.clip(np.searchsorted(choice.ends, lams) - 1, 0, len(choice.lows) - 1)
        assert (highs >= choice.lows[cells]).all()
        at_choice = grid_errors(folds, [choice.lam])
        assert choice.error[0] <= at_choice[1][0] and at_choice[0][0] <= choice.error[1]
    assert n_proved >= 1


def test_a_choice_says_how_far_it_came():
    """A margin of 0 at every lam is never decided: nothing better than its share is proved."""
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    fold = ss.HeldOut(prob, ss.Samples([[1.0], [0.0]], [1, -1]))
    choice = ss.choose_lam(fold, 0.5, 2.0, 0.0, n_splits=1, max_lams=3)
    assert choice.error == (0.0, 0.5) and 0.5 <= choice.epsilon < 0.5001
    assert choice.n_solves == 3 and choice.lam == 2.0  # of equal ones the largest
    assert ss.choose_lam(fold, 0.5, 2.0, 0.5).n_solves == 2
    assert ss.choose_lam(fold, 1.0, 1.0, 0.5).n_solves == 1
