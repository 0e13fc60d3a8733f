"""Pages of results show what ran, say what did not, and stand broken files."""

import html
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from _ext.results import _asked, _mark, caption, described, nearest_picture, short
from safescreen_book import evidence, ledger
from safescreen_book.places import notebooks_folder
from safescreen_book.runner.loading import load_manifest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(book):
    """The folder of the pages of one size, made where an earlier book has left a page."""
    for file in earlier(book):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# An experiment that is no more\n", encoding="utf-8")
    assert book.make("report", "--profile", "smoke").endswith("outputs/smoke/report/index.html\n")
    return book.outputs / "smoke/report"


def earlier(book, name="third"):
    """Where the source and the page of an experiment are."""
    source = book.outputs / ".sphinx/smoke/source/results/smoke" / f"{name}.md"
    return source, book.outputs / "smoke/report/results/smoke" / f"{name}.html"


@pytest.fixture(scope="module")
def page(report):
    """The page of the experiment."""
    return (report / "results/smoke/tiny.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sections(page):
    """The part of the page on each run."""
    parts = re.split(r'<section id="run-([\w-]+)">', page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_what_a_run_left_is_shown(sections):
    done = sections["done"]
    for shown in (
        "110.9",
        "1.235",
        "0.1235",
        "The first 40 of 50 rows",
        "since *it* is &lt;small&gt;",
    ):
        assert shown in done
    assert done.count("<td>PGB</td>") == 40
    assert ">complete<" in done and "results.csv" in done and "notebook.ipynb" in done


def test_conclusions_are_sentences_with_what_was_asked_below_them(sections):
    judged = sections["judged"]
    said = text(judged)
    for sentence in (
        "<RRPB> pays: 2.4 (95 % interval 2.0 to 2.8, 3 draws); the paper: 6.4. "
        "The direction stands; the size was not asked.",
        "PGB beside it pays: 0.70 (one draw, no interval). Undecided: one draw decides nothing.",
        "Nothing is lost: no (all is lost). Does not stand.",
        "At the paper's size: stands, 1 of 1 data sets agree. Here: stands <RRPB> pays",
        "it stands if the 95 % interval of the mean is above 1",
        "It is our own question, which is not counted among the paper's conclusions (STS19-F9).",
        "what was asked, and what was found: 2 stand, 2 do not, 1 need more draws",
        "Too few draws here to decide 1 of 5 questions. At the paper's size, of these: ",
    ):
        assert sentence in said, sentence
    assert 'pill does-not"' in judged


def test_a_run_says_first_what_it_found_of_the_figure_and_whether_that_counts(sections):
    said = text(sections["judged"])
    headline = (
        "STS19-F9 iris: RRPB made the path 2.4 times faster. (Not counted: other settings here, or "
        "the paper's own number does not show it.)"
    )
    places = [said.index(part) for part in (headline, "seconds (judged)", "what was asked")]
    assert places == sorted(places)


def test_a_small_run_ends_in_cards_with_a_mark_each(report):
    index = (report / "index.html").read_text(encoding="utf-8")
    card = index[index.index("STS19-F9") :].partition("All figures")[0]
    said = "RRPB made the path 2.4 times faster. differs The paper, as we read it: RRPB and PGB"
    assert said in re.sub(r"\s+", " ", text(card)) and ">agrees<" not in card
    assert "The paper's conclusions: 1 stands, 1 does not." in text(card)
    assert 'loading="lazy"' in index[: index.index("STS19-F9")].rpartition("<div")[2]
    drawn = text(index[index.index("SSS13-F1") :].partition("In notebook")[0])
    assert ">not judged at this size<" not in drawn and "reproduced" in drawn


ASKED = {
    ("paper", "paper"): "The paper, as we read it: GB saves least.",
    ("paper", "own"): (
        "The paper, as we read it: GB saves least. No run had the paper's data and settings; this "
        "one stands in."
    ),
    ("own", "own"): "We also asked whether GB saves least.",
}


@pytest.mark.parametrize("whose", ASKED, ids=str)
@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("stands", ("agrees", "yes")),
        ("does not", ("differs", "no")),
        ("undecided", ("undecided",) * 2),
    ],
)
def test_a_mark_is_of_the_question_beside_it(whose, verdict, words):
    rule = SimpleNamespace(whose=whose[0], asks="GB saves least")
    row = {"verdict": verdict, "whose": whose[1]}
    assert _asked(row, rule, small=False) == ASKED[whose]
    assert "stands in" not in _asked(row, rule, small=True)
    mark = "not counted" if whose == ("paper", "own") else words[rule.whose == "own"]
    assert _mark(row, rule, verdict, small=False).astext() == mark
    if verdict == "undecided":
        assert _mark(row, rule, verdict, small=True).astext() == "too few draws to decide"


def test_every_drawing_has_a_picture_of_its_own_and_a_sentence_with_a_number_computed():
    folder = notebooks_folder()
    served = {name for experiment in load_manifest(folder) for name in experiment.claims}
    drawn = [c for c in ledger.load_claims(folder) if c.kind in "FB" and c.id not in served]
    assert all("{" in evidence.headline(claim.evidence) for claim in drawn)
    figures = [claim for claim in drawn if claim.kind == "F"]
    pictures = {nearest_picture(folder / f"{c.notebook}.ipynb", c.cell)[1] for c in figures}
    assert len(pictures) == len(figures) > 8


def test_a_small_run_says_that_few_draws_decide_little(page, report):
    for made in (page, (report / "index.html").read_text(encoding="utf-8")):
        assert "These runs are small. What two or three draws cannot decide" in text(made)
    assert "the same at the paper" in text((report / "index.html").read_text(encoding="utf-8"))


def test_figures_have_the_captions_of_the_notebook_in_the_order_of_the_manifest(report, sections):
    images = re.findall(r'<img alt="([^"]+)" src="([^"]+)"', sections["done"])
    assert [words for words, _ in images] == [
        "done: seconds",
        "done: A line against n. It ends high up.",
    ]
    assert all(
        (report / "results/smoke" / file).resolve().read_bytes()[:4] == b"<svg"
        for _, file in images
    )
    captions = [
        text(part)
        for part in re.findall(r'<span class="caption-text">.*?</span>', sections["done"], re.S)
    ]
    assert captions == ["seconds (done)", "A curve of n (done)"]


def text(part):
    """What is read on a part of a page."""
    return html.unescape(re.sub(r"<[^>]*>", "", part))


def test_what_did_not_run_is_said_with_the_command(sections):
    failed, missing = text(sections["failed"]), text(sections["missing"])
    assert "failed in cell 4 (assert n <= 100): AssertionError: n too large" in failed
    assert (
        "not run" in missing and "To run it: safescreen run tiny/missing --profile smoke" in missing
    )


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ("ragged", "results.csv"),
        ("no-summary", "smoke/tiny/no-summary/summary.json: AttributeError"),
        ("no-verdict", "smoke/tiny/no-verdict/conclusions.csv: KeyError: 'dataset'"),
        ("no-result", "smoke/tiny/no-result/result.json"),
        ("linked", "BookError: "),
    ],
)
def test_a_broken_file_is_named(sections, run, named):
    assert named in text(sections[run]) and "annot be read" in sections[run]


def test_the_table_of_experiments(report):
    table = (report / "index.html").read_text(encoding="utf-8")
    assert "3 of 9" in table and "2 stand, 2 do not, 1 need more draws" in table
    assert ">damaged<" in table
    assert (
        'href="results/smoke/tiny.html"' in table and 'href="claims/STS19.html#STS19-F9"' in table
    )


def test_titles_are_text(page, report):
    for made in (page, (report / "index.html").read_text(encoding="utf-8")):
        assert "A &lt;b&gt;tiny&lt;/b&gt; *one*" in made and "<b>tiny" not in made


def test_numbers_are_short():
    assert [short(value) for value in (12.34567, 546668.2, 1.3e-7, 0.0, 1e9)] == [
        "12.35",
        "546668",
        "1.3e-07",
        "0",
        "1e+09",
    ]


def test_a_link_out_of_the_outputs_is_not_followed(book, report, sections):
    assert re.search(
        r"(table_linked.csv|linked.svg|notebook.failed.ipynb) leads out of outputs/",
        text(sections["linked"]),
    )
    secret = (book.outputs.parent / "kept-to-ourselves").read_bytes().split()[-1]
    assert [
        path.name for path in report.rglob("*") if path.is_file() and secret in path.read_bytes()
    ] == []


def test_nothing_that_lies_in_the_outputs_is_unpickled(book, report):
    assert (book.outputs / ".sphinx/smoke/doctrees/environment.pickle").is_file() and not (
        book.outputs / "planted"
    ).exists()


def test_a_report_is_whole_and_no_more_than_results_and_ledger(report, faults):
    assert faults(report) == []
    assert (
        (report / "claims.html").is_file()
        and not (report / "notebooks").exists()
        and not (report / "reference").exists()
    )


def test_pages_of_what_is_no_more_go(book, report):
    assert all(file.is_file() for file in earlier(book, "second"))
    assert not any(file.exists() for file in earlier(book))


def figures_of_the_book():
    """The notebook and the name of every figure of the manifest."""
    manifest = load_manifest(Path(__file__).resolve().parents[2] / "notebooks")
    for experiment in manifest:
        for name in experiment.outputs:
            if name.endswith(".svg"):
                path = manifest.folder / f"{experiment.notebook}.ipynb"
                yield path, name.removesuffix(".svg")


def test_every_figure_of_the_book_has_a_caption():
    for notebook, name in figures_of_the_book():
        assert caption(notebook, name) != name, (notebook.stem, name)


def test_every_figure_of_the_book_has_words_for_those_who_do_not_see_it():
    for notebook, name in figures_of_the_book():
        words = described(notebook, name)
        assert len(words.split()) > 4 and "\0" not in words, (notebook.stem, name)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ('"Two lines. They cross."', "Two lines. They cross."),
        (
            'f"Bars of seconds, one a method: {n}. In the end: {n}."',
            "Bars of seconds, one a method.",
        ),
        (
            '"Two lines. " f"Below, a bar for each of the methods of the paper: {n}. All fall."',
            "Two lines. Below, a bar for each of the methods of the paper. All fall.",
        ),
        ('f"{n} lines."', "A heading"),
        ("words", "A heading"),
    ],
)
def test_a_number_of_one_run_is_not_said_of_another(tmp_path, shown, said):
    source = f'record.figure("curve", figure)\nfigures.show({shown})'
    cells = [
        {"cell_type": "markdown", "source": ["## A heading"]},
        {"cell_type": "code", "source": [source]},
    ]
    (tmp_path / "made.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert described(tmp_path / "made.ipynb", "curve") == said
