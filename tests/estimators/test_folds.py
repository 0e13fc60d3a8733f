"""What solutions for some C prove of a fold's accuracy for others, and which values of C may yet
be the best.
"""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

from safescreen import SafeSVC
from safescreen.estimators import _folds
from safescreen.estimators._cross_validation import Scores
from safescreen.estimators._folds import Decisions, Fold, may_win


def made(seed, n=90):
    return make_classification(
        n, 4, n_informative=3, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=seed
    )


def fold_of(model, X, y):
    model.classes_ = np.unique(y)
    train, test = next(StratifiedKFold(3).split(X, y))
    return Fold(model, X, y, None, train, test)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_bounds_hold_with_a_large_constant_feature(kernel):
    """A constant feature of 10 makes points long, and their decision values move far: the
    accuracy for other C is not known.
    """
    away = 0
    for seed in range(4):
        X, y = made(seed)
        data = X @ X.T if kernel == "precomputed" else X
        options = {"intercept": "penalised", "intercept_scaling": 10.0}
        model = SafeSVC(kernel=kernel, gamma=0.3, tol=1e-8, **options)
        known, exact = fold_of(model, data, y), fold_of(model, data, y)
        known.solve(0.01)
        for C in (0.003, 0.03, 0.1, 0.3, 1.0):
            exact.solve(C)
            low, high = known.bounds(C)
            assert low <= exact.score(C) <= high
            away += exact.score(C) != known.score(0.01)
    assert away > 5


def test_between_two_solutions_the_dual_point_is_that_of_the_line():
    """While no sample changes its region, C alpha and w are linear in C: what lies between is as
    certain as the ends.
    """
    X, y = made(1)
    model = SafeSVC(kernel="rbf", gamma=0.3, tol=1e-10)
    both, one = fold_of(model, X, y), fold_of(model, X, y)
    both.solve(1.0), both.solve(1.01), one.solve(1.0)
    radii = []
    for fold in (both, one):
        evaluation, alpha = fold._evaluation(fold.setup.problems[0], 0, 1.0065)
        assert (alpha >= 0.0).all() and (alpha <= 1.0).all()
        radii.append(evaluation.gap / evaluation.primal)
    assert radii[0] < 1e-9 and radii[1] > 1e-5


def test_solutions_are_solved_to_what_the_estimator_asks():
    X, y = made(1)
    fold = fold_of(SafeSVC(kernel="rbf", gamma=0.3, tol=1e-6), X, y)
    fold.solve(1.0)
    assert fold._is_solved(1.0)
    fold.options["rtol"] = 1e-30
    assert not fold._is_solved(1.0)


def test_two_classes_are_one_and_its_opposite():
    """Of two classes the first is above the second where the only decision value is negative."""
    values, reach = np.array([[-2.5], [0.0], [3.5]]), np.array([[0.5], [1.0], [1.5]])
    decisions = Decisions.of(values, reach, 0.1 * reach)
    assert np.array_equal(decisions.low, [[2.0, -3.0], [-1.0, -1.0], [-5.0, 2.0]])
    assert np.array_equal(decisions.high, [[3.0, -2.0], [1.0, 1.0], [-2.0, 5.0]])
    assert decisions.near.shape == (3, 2)
    three = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(Decisions.of(three, three, three).high, 2.0 * three)


def test_what_is_predicted_may_be():
    """Class 0 is near the largest value, and certainly below that of class 1: where 1 and 2 are
    undecided it is not in question.
    """
    values = np.array([[1.0, 1.01, 1.01]])
    decisions = Decisions(
        values, values - [0.001, 0.001, 0.1], values + [0.001, 0.001, 0.1], np.full((1, 3), 0.01)
    )
    assert decisions.are_near and decisions.predicted.tolist() == [1]
    assert not decisions.may_be(np.array([0]))[0] and not decisions.must_be(np.array([1]))[0]


@pytest.mark.parametrize(
    ("low", "high", "wins"),
    [
        (
            [0.5, 0.8, 0.8],
            [0.8, 0.8, 0.8],
            [True, True, False],
        ),  # the first may tie, and would be chosen; the last is chosen never
        ([0.5, 0.8, 0.5], [0.7, 0.8, 0.9], [False, True, True]),
        ([0.8, 0.2, 0.1], [0.8, 0.8, 0.81], [True, False, True]),
    ],
)
def test_values_that_may_be_chosen(low, high, wins):
    """Of equal means the first value is chosen: an earlier one that may tie has to be solved
    for, a later one has not.
    """
    scores = Scores(2, 3)
    assert may_win(scores).all()
    scores.low[:], scores.high[:] = low, high
    assert may_win(scores).tolist() == wins


def test_bounds_between_solutions_leave_room_for_what_is_near(monkeypatch):
    """A score counts values that are near each other by a rule, which bounds for another C do not
    know: what is near is undecided there.
    """
    X, y = made(2)
    fold = fold_of(SafeSVC(kernel="rbf", gamma=0.3, tol=1e-10), X, y)
    fold.solve(1.0)
    fold.solve(1.001)
    low, high = fold.bounds(1.0005)
    assert high - low < 0.5
    monkeypatch.setattr(_folds, "NEAR", 10.0)
    assert fold.bounds(1.0005) == (0.0, 1.0) and fold.bounds(1.0) != (0.0, 1.0)


def folds_with_ties():
    """Yield folds of integers, some of whose validation points have a decision value of 0."""
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, (40, 2)).astype(float)
    y = (X[:, 0] + rng.normal(0, 1, 40) > 0).astype(int)
    model = SafeSVC()
    model.classes_ = np.array([0, 1])
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        yield lambda train=train, test=test: Fold(model, X, y, None, train, test)


def undecided(decisions):
    zeros = np.zeros(len(decisions.values), dtype=int)
    return decisions.may_be(zeros) & decisions.may_be(zeros + 1)


def test_ties_count_for_the_first_class():
    """Computed values of a tie are roundings, of either sign."""
    ties = above = 0
    for make in folds_with_ties():
        fold = make()
        for C in np.geomspace(1e-3, 1e3, 25):
            fold.solve(C)
            decisions = fold.decisions(C)
            tied = undecided(decisions)
            assert not decisions.predicted[tied].any()
            ties += np.count_nonzero(tied)
            above += np.count_nonzero(decisions.values[tied, 1] > 0.0)
    assert ties > 50 and above > 10


def test_what_is_undecided_is_solved_from_nothing():
    """The same numbers to the last digit, whatever has been solved before."""
    compared = 0
    for make in folds_with_ties():
        for C in np.geomspace(1e-3, 1e3, 9):
            found = []
            for before in ([], [C / 30.0], [20.0 * C, 3.0 * C]):
                fold = make()
                for value in (*before, C):
                    fold.solve(value)
                found.append(fold.decisions(C))
            if undecided(found[0]).any():
                compared += 1
                assert all(np.array_equal(found[0].values, other.values) for other in found)
    assert compared > 5
