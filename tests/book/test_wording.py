"""Conclusions in words: the number with its interval, the paper's, and the verdict."""

import numpy as np
import pytest

from safescreen_book import wording
from safescreen_book.protocols.conclusions import CLOCK, Conclusions

FASTER = "PGB made the path {} times {faster|slower}"


def judged(way, *given, **options):
    """The sentence of one conclusion."""
    found = Conclusions("STS19-F9", "iris", options.pop("counted", "draws"))
    getattr(found, way)(*given, "PGB pays", "section 7.2", **options)
    (sentence,) = found.sentences()
    return sentence


@pytest.mark.parametrize(
    ("values", "paper", "sentence"),
    [
        (
            [2.8, 3.0, 3.2],
            5.5,
            "PGB made the path 3.0 times faster (95 % interval 2.5 to 3.5, 3 draws); "
            "the paper: 5.5 times. The direction stands; the size was not asked.",
        ),
        (
            [2.8, 3.0, 3.2],
            3.1,
            "PGB made the path 3.0 times faster (95 % interval 2.5 to 3.5, 3 draws); "
            "the paper: 3.1 times. Stands.",
        ),
        (
            [0.48, 0.5, 0.52],
            2.0,
            "PGB made the path 2.0 times slower (95 % interval 1.8 to 2.2, 3 draws); "
            "the paper: 2.0 times faster. Does not stand.",
        ),
        (
            [0.48, 0.5, 0.52],
            0.25,
            "PGB made the path 2.0 times slower (95 % interval 1.8 to 2.2, 3 draws); "
            "the paper: 4.0 times. Does not stand, as in the paper's own number for these data.",
        ),
        ([0.9, 1.3], None, "Undecided at this size."),
        ([2.0], None, "(one draw, no interval). Undecided: one draw decides nothing."),
    ],
)
def test_a_ratio_is_said_as_what_it_is(values, paper, sentence):
    options = {} if paper is None else {"paper": paper}
    assert judged("faster", values, found=FASTER, **options).endswith(sentence)


def test_a_difference_chooses_its_word_by_its_sign():
    words = "The error was {} points {below|above} it"
    assert judged("above", 0.0, [1.0, 1.2, 1.1], found=words) == (
        "The error was 1.1 points below it (95 % interval 0.85 to 1.3, 3 draws). Stands."
    )
    assert judged("above", 0.0, [-1.0, -1.2, -1.1], found=words, paper=0.4) == (
        "The error was 1.1 points above it (95 % interval 0.85 to 1.3, 3 draws); "
        "the paper: 0.40 points below. Does not stand."
    )


def test_digits_tell_the_ends_from_the_bound():
    said = judged("above", 1.0, [1.003, 1.004, 1.005], found="It was {} times it", log=True)
    assert said == "It was 1.004 times it (95 % interval 1.002 to 1.006, 3 draws). Stands."


def test_without_a_sentence_of_its_own_the_question_is_answered():
    found = Conclusions("STS19-F9", "iris", "splits")
    found.below(2.0, [1.0, 1.1], "it is small", "-")
    found.fact(True, "nothing is lost", "-", note="0 of 10 wrong", whose="own")
    found.fact(False, "all is kept", "-", note="", found="Some were lost")
    assert found.sentences() == [
        "It is small: 1.1 (95 % interval 0.41 to 1.7, 2 splits). Stands.",
        "Nothing is lost: yes (0 of 10 wrong). Stands.",
        "Some were lost. Does not stand.",
    ]


def test_rows_on_several_data_sets_name_theirs():
    rows = []
    for name in ("iris", "wine"):
        found = Conclusions("STS19-B2", name)
        found.fact(True, "it has the size", "-", note="")
        rows += found.frame().to_dict("records")
    assert [text.partition(":")[0] for text in wording.sentences(rows)] == ["iris", "wine"]


def test_a_clock_needs_a_margin_and_the_question_says_so():
    found = Conclusions("STS19-F9", "iris")
    just = [1.01, 1.011, 1.012]
    assert found.above(1.0, just, "it pays", "-", log=True) == "stands"
    assert found.faster(just, "it pays", "-") == "undecided"
    assert found.faster([1.0 / value for value in just], "it pays", "-") == "undecided"
    assert found.below(1.02, just, "it is cheap", "-", clock=True) == "undecided"
    assert found.faster([1.1, 1.101, 1.102], "it pays", "-") == "stands"
    row = found.frame().to_dict("records")[1]
    assert row["rule"] == "95% interval above 1 by 3%" and CLOCK == 0.03
    assert "by more than 3 %, since a busy machine" in wording.question(row)


def test_a_draw_of_the_paper_is_told_with_where_it_lies_and_with_the_mean():
    found = Conclusions("P-F1", "toy")
    values = np.linspace(70.0, 90.0, 1001)
    for theirs in (84, 60):
        found.among(theirs, values, "it pays", "3", found="more than {} % of the samples")
    found.among(84, [80.0, 81.5], "it pays", "3", found="more than {} % of the samples")
    within, outside, few = found.sentences()
    lies = "what 95 % of 1,001 draws gave, 70.5 to 89.5 %; their mean is 80 %."
    assert within == f"The paper's draw, more than 84 % of the samples, lies within {lies} Stands."
    assert outside == (
        f"The paper's draw, more than 60 % of the samples, lies outside {lies} Does not stand."
    )
    assert few == (
        "The paper's draw: more than 84 % of the samples; the mean of 2 draws is 80.8 %. "
        "Undecided at this size."
    )
    row = found.frame().iloc[0].to_dict()
    assert wording.headline(row) == within.removesuffix(" Stands.")
    assert "it stands if the paper's draw is among the central 95 % of ours" in (
        wording.question(row)
    )


def test_counts_are_numbers_with_their_verbs():
    assert wording.counts(["does not", "stands", "does not"]) == "1 stands, 2 do not"
    assert wording.counts(["does not", "undecided"]) == "1 does not, 1 undecided"


def test_an_older_note_is_told_in_the_words_of_today():
    note = "largest relative difference 1e-11, short of the gap in 2 of 31 solves"
    told = judged("fact", True, note=note)
    assert "difference 1e-11; 2 of 31 solves did not reach the gap asked for" in told
