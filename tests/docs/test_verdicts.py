"""A page says one thing of one number: the mark, the headline and the picture of a card are of the
same runs, and no sentence has two verdicts.
"""

import re

import pytest

import filled
from _ext import numbers
from safescreen_book import cli, ledger, verdicts, wording
from safescreen_book.places import notebooks_folder
from safescreen_book.protocols import judging

MARKS = {"agrees": "stands", "differs": "does not", "undecided": "undecided"}


@pytest.fixture(scope="module")
def rows():
    return ledger.judged(notebooks_folder())


@pytest.fixture(scope="module")
def known():
    return {claim.id: claim for claim in ledger.load_claims(notebooks_folder())}


@pytest.fixture(scope="module")
def cards():
    """The text of each card of a table or figure, by its claim."""
    page = (filled.FOLDER / "results.md").read_text(encoding="utf-8").replace("\\_", "_")
    page = page.replace("&lt;", "<").replace("\\*", "*")
    found = re.split(r"(?m)^---$", page)
    return {
        name[1]: text for text in found if (name := re.search(r"^\[([A-Z]+\d+-\w+)\]", text, re.M))
    }


def checked(card, rows, claim):
    """Return what is wrong with a card that tells a conclusion: nothing, or a word for it."""
    of_claim = rows[rows["claim"] == claim.id]
    told = [
        row
        for row in of_claim.to_dict("records")
        if f"{row['dataset']}: {wording.headline(row)}" in card
    ]
    asked = r"(?m)^\*\*([\w ]+)\*\* The paper, as we read it: (.*?)\.(?: |$)"
    mark, asks = re.search(asked, card).groups()
    told = [row for row in told if row["conclusion"].startswith(asks[:30])]
    if not told:
        return "no such headline"
    same = of_claim[of_claim["conclusion"] == told[0]["conclusion"]]
    counted = same[same["whose"] == "paper"]
    if mark == "not counted":
        return "counted rows are passed over" if len(counted) else ""
    told = [row for row in told if row["whose"] == "paper"]
    if not told:
        return "the headline does not count"
    (together,) = verdicts.summarize(counted)["verdict"]
    if MARKS[mark] != together:
        return "the mark is not that of all rows"
    says = set(
        verdicts.of_the_paper(counted[counted["dataset"].isin({r["dataset"] for r in told})])
    )
    if together not in says and together in set(verdicts.of_the_paper(counted)):
        return "the headline says otherwise than the mark"
    picture = re.search(r"\(\S*/outputs/paper/([\w-]+)/([\w-]+)/\w+\.svg\)", card)
    if picture and picture.groups() not in {(row["experiment"], row["run"]) for row in told}:
        return "the picture is of another run"
    counts = wording.counts(verdicts.summarize(of_claim[of_claim["whose"] == "paper"])["verdict"])
    if f"conclusions: {counts}. In the ledger: {claim.status}." not in card:
        return "the counts are not those of the ledger"
    return ""


def test_mark_headline_and_picture_of_each_card_are_of_the_rows_that_count(cards, rows, known):
    judged = {claim: known[claim] for claim in judging.load().headlines}
    assert set(judged) <= set(cards)
    assert {
        name: checked(cards[name], rows, claim) for name, claim in judged.items()
    } == dict.fromkeys(judged, "")


@pytest.mark.parametrize(
    ("claim", "old", "new", "problem"),
    [
        ("STS19-F10", "**agrees**", "**differs**", "the mark is not that of all rows"),
        ("STS19-F10", " faster.", " slower.", "no such headline"),
        ("STS19-F10", "In the ledger: reproduced", "In the ledger: differs", "the counts are not"),
        ("STS19-F10", "56-hinge/segment/", "56-hinge/wine/", "the picture is of another run"),
        ("SSS13-B1", "**differs**", "**not counted**", "counted rows are passed over"),
    ],
)
def test_a_card_that_contradicts_itself_is_found(cards, rows, known, claim, old, new, problem):
    assert old in cards[claim]
    changed = cards[claim].replace(old, new)
    assert checked(changed, rows, known[claim]).startswith(problem)


def test_no_sentence_has_two_verdicts(rows):
    """Two questions about one number say what each of them asks."""
    said = rows.assign(said=[wording.headline(row) for row in rows.to_dict("records")])
    several = said.groupby(["experiment", "run", "claim", "dataset", "said"])["verdict"].nunique()
    assert several[several > 1].index.tolist() == []


def test_no_sentence_says_yes_of_what_does_not_stand(rows):
    for row in rows.to_dict("records"):
        sentence = wording.sentence(row)
        if re.search(r": yes( \(|\.)", sentence):
            assert row["verdict"] == "stands", sentence
        if re.search(r": no( \(|\.)", sentence):
            assert row["verdict"] == "does not", sentence


def test_the_article_and_the_terminal_count_alike(rows, known, capsys):
    cli.main(["claims"])
    said = capsys.readouterr().out
    article = (filled.FOLDER / "article.md").read_text(encoding="utf-8")
    found = ledger.stands(known.values(), rows)
    for paper in ("STS19", "SSS13", "SSS14", "HDSL19"):
        counts = wording.counts(found[paper].elements())
        assert re.search(rf"(?m)^{paper} .*; conclusions: {counts}$", said)
        assert re.search(rf"\| {counts}(;| \|)", article)
    told = numbers.numbers()
    absent = ledger.absent(known.values(), rows, judging.load().rules)
    for cause, number in absent["cause"].value_counts().items():
        assert told[f"conclusions {cause}"] == f"{number}", cause


def test_pages_and_terminal_say_the_same_hours_of_all_runs(capsys):
    hours = numbers.numbers()["hours of records"]
    for page in ("article", "codecheck"):
        text = (filled.FOLDER / f"{page}.md").read_text(encoding="utf-8")
        assert re.findall(r"(\d+) hours of one core", " ".join(text.split())) == [hours], page
    cli.main(["list", "--profile", "paper"])
    assert f"all of them take about {hours} h" in capsys.readouterr().out
