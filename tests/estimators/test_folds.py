"""Parts of a cross-validation: what bounds of decision values decide, how much held-out points
count, which value is certainly the best.
"""

from fractions import Fraction

import numpy as np
import pytest

from safescreen import SafeSVCCV
from safescreen.estimators._cross_validation import finished
from safescreen.estimators._folds import Judge, Trial, cells, certain, counted, is_best, missed


def test_one_decision_value_decides_between_two_classes():
    low = np.array([[0.1], [-0.2], [-0.1], [0.0], [np.nan]])
    high = np.array([[0.2], [-0.1], [0.1], [0.0], [np.nan]])
    right, possible = certain(low, high, np.array([1, 1, 1, 1, 1]))
    assert right.tolist() == [True, False, False, False, False]
    assert possible.tolist() == [True, False, True, True, True]
    right, possible = certain(low, high, np.array([0, 0, 0, 0, 0]))
    assert right.tolist() == [False, True, False, False, False]
    assert possible.tolist() == [False, True, True, True, True]


def test_the_largest_of_several_decision_values_decides():
    low = np.array([[0.1, 0.5, -1.0], [0.1, 0.3, -1.0], [np.nan, 0.5, -1.0], [0.5, 0.5, 0.0]])
    high = np.array([[0.2, 0.6, -0.5], [0.4, 0.6, -0.5], [np.nan, 0.6, -0.5], [0.5, 0.5, 0.0]])
    for code, rights, possibles in (
        (0, [False] * 4, [False, True, True, True]),
        (1, [True, False, False, False], [True] * 4),
        (2, [False] * 4, [False, False, True, False]),
    ):
        right, possible = certain(low, high, np.full(4, code))
        assert right.tolist() == rights and possible.tolist() == possibles


@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_class_that_is_missing_is_never_predicted(n_columns):
    values = np.ones((2, n_columns))
    right, possible = certain(values, values, np.array([-1, -1]))
    assert not right.any() and not possible.any()


def test_weights_are_counted_as_integers():
    numbers, counts = counted(np.array([3, 1, 3]), None)
    assert numbers.tolist() == [1, 3] and counts.tolist() == [1, 2]
    weights = np.array([0.0, 0.1, 0.0, 1e-300, 3.0])
    _, counts = counted(np.array([1, 3, 3, 4]), weights)
    exact = [Fraction(0.1), 2 * Fraction(1e-300), Fraction(3.0)]
    shares = [Fraction(int(count), int(counts.sum())) for count in counts]
    assert shares == [part / sum(exact) for part in exact]
    assert counted(np.array([0, 2]), weights)[1] is None  # nothing counts
    assert counted(np.array([0, 1]), np.array([-1.0, 2.0]))[1] is None


def test_means_are_compared_without_rounding():
    """7/13 + 7/13 and 8/13 + 6/13 are equal, and differ by a unit in floating point."""
    means = [Fraction(7, 13) + Fraction(7, 13), Fraction(8, 13) + Fraction(6, 13)]
    assert 7 / 13 + 7 / 13 != 8 / 13 + 6 / 13
    assert is_best(means, means, 0) and not is_best(means, means, 1)


@pytest.mark.parametrize(
    ("low", "high", "best"),
    [
        ([0.5, 0.8, 0.5], [0.7, 0.8, 0.8], [1]),  # a later one may be as good
        ([0.5, 0.8, 0.5], [0.8, 0.8, 0.7], []),  # an earlier one may not
        ([0.5, 0.7, 0.5], [0.6, 0.8, 0.75], []),
    ],
)
def test_the_best_is_certain(low, high, best):
    assert [number for number in range(3) if is_best(low, high, number)] == best


def test_how_much_is_missed():
    assert missed([0.5, 0.625, 0.75, 0.5], 0.625) == pytest.approx(0.125)
    assert missed([Fraction(7, 8), 0.5], 0.625) == pytest.approx(0.25)
    assert missed([0.5, 0.75], 0.75) == 0.0
    assert Fraction(missed([Fraction(2, 3)], Fraction(1, 3))) >= Fraction(1, 3)


def test_cells_end_at_the_values():
    for start, stop in ((0.1, 0.3), (7.3, 0.1)):
        ends = cells(start, stop, 7)
        assert ends[0] == start and ends[-1] == stop and ends.size == 8
        assert len(set(np.sign(np.diff(ends)))) == 1


def table(*rows):
    made = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, score in np.ndenumerate(np.array(rows, dtype=float)):
        if not np.isnan(score):
            made[place] = Trial(score, 0.0, 0.0)
    return made


def test_what_is_compared_after_an_interrupt():
    judge = Judge(None, {}, None, np.zeros(1), np.nan)
    nan = np.nan
    candidates = [{"C": C} for C in (1.0, 2.0, 3.0)]
    values, text = finished(table([0.1, 0.2, nan], [0.3, 0.0, 0.9]), judge, candidates)
    assert values.shape == (2, 3) and np.isnan(values[0, 2].test_scores)
    assert text == "2 of 3 values in 2 of 2 folds"
    folds, text = finished(table([0.1, nan, nan], [0.3, 0.0, 0.9]), judge, candidates)
    assert [trial.test_scores for trial in folds[0]] == [0.3, 0.0, 0.9] and len(folds) == 1
    assert text == "3 of 3 values in 1 of 2 folds"
    with pytest.raises(KeyboardInterrupt):
        finished(table([0.1, nan], [nan, 0.3]), judge, candidates[:2])
    candidates = [{"gamma": gamma, "C": C} for gamma in (0.1, 0.2) for C in (1.0, 2.0)]
    _, text = finished(table([0.1, 0.2, 0.3, nan], [0.3, 0.0, nan, nan]), judge, candidates)
    assert text == "2 of 4 values (1 of 2 gamma, 2 of 2 C) in 2 of 2 folds"


def certified(best, *folds, n_cells=0):
    """Return a search of two values that has been told what these folds prove."""
    made = np.empty((len(folds), 2), dtype=object)
    for fold, (first, second, between) in enumerate(folds):
        made[fold, 0] = Trial(0.5, 0.0, 0.0, bounds=first)
        made[fold, 1] = Trial(0.5, 0.0, 0.0, bounds=second, between=between)
    search = SafeSVCCV()
    search._certify(made, (2,), best, n_cells)
    return search


def test_equal_means_of_folds_certify_the_first():
    exact = [[Fraction(n, 13)] * 2 for n in range(14)]
    folds = (exact[7], exact[8], None), (exact[7], exact[6], None)
    turned = [(second, first, None) for first, second, _ in folds]
    for each in (folds, turned):
        assert certified(0, *each).certified_ and not certified(1, *each).certified_


def test_bounds_of_an_interval_are_those_of_its_worst_cell():
    part = [Fraction(n, 8) for n in range(9)]
    half = (part[4], part[4])
    folds = (
        (half, half, [(part[2], part[4]), (part[4], part[8])]),
        (half, half, [(part[4], part[6]), (part[0], part[6])]),
    )
    search = certified(0, *folds, n_cells=2)
    assert search.interval_bounds_.tolist() == [[0.25], [0.875]]
    assert search.epsilon_ == pytest.approx(0.375)


def test_a_value_of_the_grid_may_be_what_is_missed():
    part = [Fraction(n, 4) for n in range(5)]
    fold = ((part[1], part[3]), (part[2], part[4]), [(part[0], part[2])])
    assert certified(0, fold, n_cells=1).epsilon_ == pytest.approx(0.75)
