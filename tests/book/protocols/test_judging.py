"""Rules as data: what is compared, whose the answer is, ties in the papers, and mistakes in the
file.
"""

import re

import numpy as np
import pytest

from safescreen_book import ledger, places, wording
from safescreen_book._common import BookError
from safescreen_book.protocols import judging
from safescreen_book.protocols.conclusions import CLOCK, COLUMNS

RULES = """
printed:
  Table 1:
    seconds:
      iris: {none: 10.0, GB: 8.0, PGB: 4.0, DGB: 5.0}
      wine: {none: 10.0, GB: 10.2, PGB: 10.1, DGB: 10.3}
      segment: {none: 10.0, GB: 12.0, PGB: 13.0, DGB: 14.0}
51-time:
  names: {GB: the ball GB}
  rules:
    - {id: a, claim: P-F1, asks: the best ball is faster, whose: paper, place: Figure 1,
       ratio: [none, {smallest: [GB, PGB, DGB]}], of: seconds, above: 1.0, clock: true,
       paper: Table 1, found: "$second was {} times {faster|slower}", since: "0.2.0, 12345678"}
    - {id: b-$k, each: [{k: 3}, {k: 4}], claim: P-F1, asks: "$k steps are few", whose: own,
       value: steps of $k, below: $most, found: "There were {} steps", since: "0.2.0, 12345678"}
    - {id: c, claim: P-F2, asks: it is safe, whose: paper, place: section 1, settings: safety,
       fact: safe, found: "All decisions {were|were not} right", since: "0.2.0, 12345678"}
    - {id: d, claim: P-F2, asks: GB screens less, whose: paper, place: section 1, needs: [DGB],
       difference: [PGB, GB], of: rates, above: 0.0, paper: {iris: -0.1},
       found: "$second screened {} {less|more} than $first", since: "0.2.0, 12345678"}
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A folder with these rules in place of the book's."""
    (tmp_path / "conclusions.yml").write_text(RULES)
    monkeypatch.setattr(places, "notebooks_folder", lambda folder=None: tmp_path)
    return tmp_path


SECONDS = {"none": [4.0, 4.0], "GB": [2.0, 2.2], "PGB": [3.8, 1.0], "DGB": [1.9, 1.9]}


def one(dataset="iris", tables=None, **options):
    (row,) = judging.judge("51-time", dataset, tables, **options).to_dict("records")
    return row


def test_one_rival_stands_for_all_draws_and_the_papers_is_chosen_from_its_own_table(book):
    """Ours is DGB, by the mean of logarithms; in the paper's table it is PGB, at 10 over 4."""
    row = one(tables={"seconds": SECONDS})
    assert row["found"] == "DGB was {} times {faster|slower}"
    assert row["ours"] == pytest.approx(4.0 / 1.9, rel=1e-5) and row["paper"] == 2.5
    row = one(tables={"seconds": SECONDS | {"PGB": [3.0, 1.0]}})
    assert row["found"].startswith("PGB") and row["paper"] == 2.5
    assert list(judging.judge("51-time", "iris", {}).columns) == list(COLUMNS)


def test_a_tie_in_the_paper_is_none_of_its_conclusions(book):
    """10 over 10.1 is within the margin of 3 %, so that no interval of ours could agree."""
    row = one("wine", {"seconds": SECONDS})
    assert (row["whose"], row["paper"]) == ("own", pytest.approx(10.0 / 10.1, rel=1e-5))
    assert "a tie in the paper" in row["note"]
    assert one("iris", {"seconds": SECONDS})["whose"] == "paper"


def test_a_paper_whose_own_number_says_the_contrary_does_not_conclude_it_there(book):
    """A table with 10 for no ball and 12 for the best one does not say that a ball is faster."""
    row = one("segment", {"seconds": SECONDS})
    assert (row["whose"], row["note"]) == ("own", f"otherwise {judging.NOT_ITS}")
    for paper, side, shown in (
        (1.2, "above", ""),
        (1.2, "below", "otherwise"),
        (1.0, "above", "a tie"),
    ):
        assert judging.against(paper, 1.0, side, 0.0, log=False) == shown


def test_what_a_run_has_no_values_for_is_not_asked(book):
    rates = {"GB": [0.1, 0.2], "PGB": [0.4, 0.5]}
    assert judging.judge("51-time", "iris", {"rates": rates}).empty
    row = one(tables={"rates": rates | {"DGB": [0.3, 0.3]}})
    assert (row["claim"], row["verdict"], bool(row["agrees"])) == ("P-F2", "stands", False)
    assert wording.sentence(row).startswith("The ball GB screened 0.30 less than PGB")


def test_words_bounds_settings_and_facts(book):
    whose = {"safety": "program", "": "paper"}
    facts = {"safe": (False, "two were not")}
    steps = {"values": {"steps of 3": [1.0, 2.0, 3.0]}}
    found = judging.judge("51-time", "iris", steps, facts=facts, words={"most": 9}, whose=whose)
    assert found[["conclusion", "whose", "verdict"]].to_numpy().tolist() == [
        ["3 steps are few", "own", "stands"],
        ["it is safe", "program", "does not"],
    ]
    assert found["rule"].tolist() == ["95% interval below 9", "exact"]
    assert wording.sentence(found.iloc[1]) == (
        "All decisions were not right (two were not). Does not stand."
    )
    assert judging.judge("51-time", "iris", {}, facts=facts, claims=("P-F1",)).empty


def test_kept_ratios_and_what_is_special_to_two_methods(book):
    pairs = {("none", "GB"): [2.0, 2.1], ("none", "PGB"): [3.0, 3.1], ("none", "DGB"): [1.0, 1.1]}
    several = ("GB", "PGB", "DGB")
    row = one(
        tables={"seconds": pairs},
        chosen={several: "GB"},
        about=lambda first, second: {"whose": "own", "note": f"{first} over {second}"},
    )
    assert (row["ours"], row["whose"]) == (pytest.approx(np.sqrt(4.2), rel=1e-5), "own")
    assert row["note"] == "none over GB"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("fact: safe", "fact: safe, value: x", "c: expected one of ratio, difference"),
        ("above: 1.0", "above: 1.0, below: 2.0", "a: expected one of above, below and draw"),
        ("above: 1.0", "above: 1.0, draw: 2.0", "a: expected one of above, below and draw"),
        ("whose: own", "whose: mine", "whose: expected 'paper' or 'own', found 'mine'"),
        (", place: Figure 1", "", "a: a conclusion of the paper needs its place"),
        ("clock: true", "clocked: true", "a: unknown key 'clocked'; did you mean clock?"),
        ("id: c", "id: a", "these ids occur twice: a"),
        ("$k steps are", "$n steps are", "must not depend on the run"),
        ('steps", since: "0.2.0, 12345678"', 'steps"', "b-3: .*since"),
        ("fact: safe", "fact: safe, changed: [{what: it}]", "changed: expected what, why"),
    ],
)
def test_mistakes_are_named(book, old, new, error):
    assert old in RULES
    (book / "conclusions.yml").write_text(RULES.replace(old, new))
    judging._load.cache_clear()
    with pytest.raises(BookError, match=error):
        judging.load()


def test_the_headline_of_a_figure_is_a_conclusion_of_the_paper(book):
    text = RULES + "headlines:\n  P-F1: {rule: b-3}\n"
    (book / "conclusions.yml").write_text(text)
    judging._load.cache_clear()
    with pytest.raises(BookError, match="headlines, P-F1: b-3 is a question of ours"):
        judging.load()


def test_a_conclusion_of_the_paper_that_does_not_count_is_not_called_ours(book):
    own = {"claim": "P-F1", "conclusion": "the best ball is faster", "whose": "own"}
    rules = judging.load()
    assert rules.whose(own) == "beside" and rules.whose(own | {"whose": "paper"}) == "paper"
    assert rules.whose(own | {"conclusion": "3 steps are few"}) == "own"


def test_a_rule_about_one_draw_of_the_paper_names_no_bound(book):
    text = RULES.replace("below: $most", "draw: 6.5")
    (book / "conclusions.yml").write_text(text)
    judging._load.cache_clear()
    row = one(tables={"values": {"steps of 3": np.arange(101.0)}})
    assert (row["rule"], row["verdict"], row["whose"]) == (wording.AMONG, "stands", "own")
    assert (row["paper"], row["ours"], row["low"], row["high"]) == (6.5, 50, 2.5, 97.5)


@pytest.fixture(scope="module")
def rules():
    return judging.load(places.notebooks_folder())


def test_every_rule_has_a_history(rules):
    for rule in rules.rules:
        assert re.fullmatch(r"\d\.\d\.\d, [0-9a-f]{8}", rule.since), rule.id
    for change in [*rules.changed, *(one for rule in rules.rules for one in rule.changed)]:
        assert set(change) - {"which"} == set(judging.CHANGED)
        assert all(str(value).strip() for value in change.values())
        assert " -> " in change["verdict"] and re.fullmatch(r"[0-9a-f]{8}", change["commit"])


def test_rules_answer_the_rows_of_records_and_claims_of_the_ledger(rules):
    claims = {claim.id for claim in ledger.load_claims(places.notebooks_folder())} | {"-"}
    assert {rule.claim for rule in rules.rules} <= claims
    judged = ledger.judged(places.notebooks_folder())
    for row in judged[judged["experiment"].isin(rules.counted)].itertuples():
        rule = rules.named(row.claim, row.conclusion)
        assert rule is not None, (row.claim, row.conclusion)
        assert row.whose == "own" or (rule.whose, rule.place) == ("paper", row.place), rule.id


def test_no_conclusion_of_a_paper_is_one_that_its_own_value_ties(rules):
    judged = ledger.judged(places.notebooks_folder())
    judged = judged[judged["experiment"].isin(rules.counted)]
    found = judged[judged["whose"].ne("own") & judged["rule"].str.contains(" by ")]
    bound = found["rule"].str.extract(r"(?:above|below) (\S+) by")[0].astype(float)
    near = np.abs(np.log(found["paper"] / bound)) <= np.log1p(CLOCK)
    assert len(found) > 20 and not found[near]["conclusion"].tolist()
