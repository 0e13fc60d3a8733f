"""What is proved of a choice of lam, and of terms that are left out, against solves."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import safescreen as ss
from held_out import KINDS, apart, family, lam_of, points, truth
from naive import machines
from safescreen_book.protocols import certified_choice
from safescreen_book.protocols.certified_choice import choose_lam, leave_one_out_bounds


def test_bad_input_is_named():
    prob = ss.Problem(ss.Samples([[1.0], [-2.0]], [1, -1]), ss.SmoothedHinge(0.5))
    with pytest.raises(TypeError, match="folds"):
        choose_lam([prob], 1.0, 2.0)
    X = np.arange(8.0)[:, None]
    blocks = ss.Problem(ss.ProductTriplets(X, np.arange(8) % 2), prob.loss)
    with pytest.raises(TypeError, match="ProductTriplets"):
        leave_one_out_bounds(blocks, np.eye(1), 1.0)


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
    bounds = leave_one_out_bounds(prob, solution.x, lam, solution.alpha)
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
    for seed in range(10):
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
@pytest.mark.parametrize("seed", range(6))
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
    bounds = leave_one_out_bounds(prob, solution.x, lam, solution.alpha)
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
    bounds = leave_one_out_bounds(prob, x, lam)
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
        bounds = leave_one_out_bounds(prob, np.array([x]), lam)
        exact = np.array([1.0, 2.0, 1.0]) * (4.0 - np.array([1.0, 2.0, 1.0])) / lam
        assert (bounds.low <= exact).all() and (exact <= bounds.high).all()
        np.testing.assert_allclose(bounds.low, exact, atol=1e-6)


def test_a_poor_dual_point_widens_the_bounds():
    """x = 0 with alpha = 0 knows nothing; the third sample is an error at the solution."""
    prob = ss.Problem(ss.Samples([[1.0], [2.0], [1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
    bounds = leave_one_out_bounds(prob, np.zeros(1), 30.0, np.zeros(3))
    exact = np.array([1.0, 2.0, -1.0]) * (2.0 - np.array([1.0, 2.0, -1.0])) / 30.0
    assert (bounds.low <= exact).all() and (exact <= bounds.high).all()


def test_weights_of_what_is_left_out():
    """All terms linear: the term of weight 3 takes three times its point with it."""
    terms = ss.Samples([[1.0], [2.0], [-1.0]], [1, 1, -1], weights=[3.0, 1.0, 1.0])
    prob = ss.Problem(terms, ss.SmoothedHinge(0.5))
    bounds = leave_one_out_bounds(prob, np.array([6.0 / 40.0]), 40.0)
    np.testing.assert_allclose(bounds.low, np.array([3.0, 8.0, 5.0]) / 40.0, atol=1e-6)
    assert (bounds.low <= np.array([3.0, 8.0, 5.0]) / 40.0).all()


def test_a_free_intercept_knows_what_is_above_and_what_is_below():
    """Two groups far apart, and one sample of the other class in each."""
    X = [[-4.0], [-4.1], [-4.2], [-3.0], [3.0], [4.0], [4.1], [4.2], [-3.9], [4.0]]
    y = [-1, -1, -1, -1, 1, 1, 1, 1, 1, -1]
    prob = ss.Problem(ss.FreeIntercept.from_points(X, y), ss.SmoothedHinge(0.1))
    solution = ss.solve(prob, 2.0, rtol=1e-10)
    bounds = leave_one_out_bounds(prob, solution.x, 2.0, solution.alpha)
    with_all = prob.terms.margins(solution.x) + np.array(y) * solution.intercept
    above = with_all > 1.0 + 1e-3
    below = with_all < 0.999
    assert above.any() and (with_all[[8, 9]] < 0.0).all()
    assert bounds.are_right.tolist() == above.tolist()
    assert np.isfinite(bounds.high).tolist() == below.tolist()
    assert bounds.are_errors.tolist() == (with_all < 0.0).tolist()
    assert (bounds.low[above] >= 1.0).all()


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
    for seed in (1, 2, 3):
        folds = folds_of(kind, seed)
        size = max(float(folds[0].problem.terms.norms.max()) ** 2, 1e-12)
        epsilon = (0.0, 0.05, 0.1)[seed % 3]
        choice = choose_lam(folds, 0.05 * size, 5.0 * size, epsilon, rtol=1e-7, max_lams=12)
        assert 0.05 * size <= choice.lam <= 5.0 * size
        assert choice.ends[0] == 0.05 * size and choice.ends[-1] == 5.0 * size
        assert (np.diff(choice.ends) > 0.0).all() and len(choice.lams) <= 12
        n_proved += choice.epsilon <= epsilon
        lams = np.geomspace(0.05 * size, 5.0 * size, 13)
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
    choice = choose_lam(fold, 0.5, 2.0, 0.0, n_splits=1, max_lams=3)
    assert choice.error == (0.0, 0.5) and 0.5 <= choice.epsilon < 0.5001
    assert choice.n_solves == 3 and choice.lam == 2.0  # of equal ones the largest
    assert choose_lam(fold, 0.5, 2.0, 0.5).n_solves == 2
    assert choose_lam(fold, 1.0, 1.0, 0.5).n_solves == 1


def test_a_broken_square_decides_nothing():
    roots = certified_choice._roots(np.array([4.0, -1e-30, np.nan]))
    assert roots[0] >= 2.0 and np.isnan(roots[1:]).all()
