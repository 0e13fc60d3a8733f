"""What is kept of values gives the same mean and the same interval again."""

import numpy as np
import pytest

from safescreen_book.protocols import spread
from safescreen_book.protocols.conclusions import Conclusions

MEASURED = [
    [1.3],
    [0.9, 1.4],
    [1.1, 1.2, 0.7],
    [1.01, 1.07, 1.002, 1.3, 0.98],
    [2.0, 2.0, 2.0],
]


def judged(values, log):
    found = Conclusions("X1", "some data")
    found.above(1.0, values, "a sentence", "a place", log=log)
    return found.frame().loc[0, ["ours", "low", "high", "n", "verdict"]].tolist()


@pytest.mark.parametrize("values", MEASURED)
def test_a_conclusion_is_the_same_from_what_is_kept(values):
    same = judged(spread.again(spread.kept(values)), log=False)
    assert str(same) == str(judged(values, log=False))


@pytest.mark.parametrize("ratios", MEASURED)
def test_a_conclusion_on_ratios_is_the_same_from_what_is_kept(ratios):
    same = judged(spread.again_ratios(spread.kept_ratios(ratios)), log=True)
    assert str(same) == str(judged(ratios, log=True))


def test_as_many_values_as_there_were():
    assert [spread.again(spread.kept(values)).size for values in MEASURED] == [1, 2, 3, 5, 3]


def test_of_one_value_no_deviation_is_known():
    assert np.isnan(spread.kept([0.5])["deviation"])
    assert np.isnan(spread.kept_ratios([0.5])["deviation"])
