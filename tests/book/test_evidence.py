"""Evidence holds no typed number, and says when what it names is no longer there."""

import nbformat
import pytest

from safescreen_book import evidence, ledger
from safescreen_book._common import BookError
from safescreen_book.protocols.conclusions import Conclusions


@pytest.fixture
def sources(tmp_path):
    """A notebook with two cells, and a run with a conclusion and a table."""
    book, run = tmp_path / "notebooks", tmp_path / "outputs" / "paper" / "51-time" / "iris"
    book.mkdir()
    run.mkdir(parents=True)
    cells = []
    for tag, lines in (("P-T1", "45 problems, 0.622 of 3140 terms\n"), ("other", "7 problems\n")):
        output = nbformat.v4.new_output("stream", text=lines)
        code = nbformat.v4.new_code_cell("assert gap < 1e-9", execution_count=1, outputs=[output])
        code.metadata["tags"] = [tag]
        cells.append(code)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), book / "11-bound.ipynb")
    found = Conclusions("PPP11-F1", "iris")
    found.above(1.0, [2.2, 2.5, 2.4], "it pays", "3", paper=6.4, log=True)
    found.frame().to_csv(run / "conclusions.csv", index=False)
    (run / "table_time.csv").write_text("method,seconds\nPGB,1.25\n")
    return evidence.Sources(book)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{problems#1} problems", "45 problems"),
        ("{terms#2|.0%} of {terms#3}", "62 % of 3140"),
        ("to {code: assert gap#1}", "to 1e-9"),
        ("{51-time/iris: it pays} times ({51-time/iris: it pays.paper})", "2.36 times (6.40)"),
        ("{51-time/iris/table_time: PGB.seconds} s", "1.25 s"),
        ("{PPP11-F1: it pays.stands} of {PPP11-F1: it pays.of}", "1 of 1"),
        ("`8 L lam^2` at C in `[0.1, 10]`", "8 L lam^2 at C in [0.1, 10]"),
    ],
)
def test_references_stand_for_what_ran(sources, text, shown):
    assert evidence.render(text, sources, "11-bound", "P-T1") == shown
    assert list(evidence.wrong(text, sources, "11-bound", "P-T1")) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("45 problems", "typed numbers: 45"),
        ("to 1e-9, in 62 % and 5 %", "typed numbers: 1e-9, 62, 5"),
        ("means over five random draws, of two balls", "typed numbers: five random draws"),
        ("{PPP11-F1: it costs}", "PPP11-F1 has no conclusion 'it costs' of the paper"),
        ("{gone#1}", "one line must have 'gone', found 0"),
        ("{problems#4}", "must have 4 numbers, found 3"),
        ("{problems}", "expected WORDS#NUMBER"),
        ("{12-none: problems#1}", "there is no notebook 12-none"),
        (
            "{51-time/iris: it costs}",
            "one conclusion of 51-time/iris must have 'it costs', found 0",
        ),
        ("{51-time/wine: it pays}", "no conclusions.csv in outputs/paper/51-time/wine"),
        ("{51-time/iris/table_time: GB.seconds}", "must have one row 'GB' and a column"),
    ],
)
def test_what_stands_for_nothing_is_named(sources, text, problem):
    (said,) = evidence.wrong(text, sources, "11-bound", "P-T1")
    assert problem in said


def test_a_number_that_is_printed_otherwise_parts_the_two(sources):
    (sources.folder / "claims.yml").write_text(
        'P:\n  - {id: P-T1, kind: T, what: "a", status: verified, notebook: 11-bound, '
        'evidence: "{problems#1} problems, {lost#1} lost"}\n'
    )
    claims = ledger.load_claims(sources.folder)
    problems = list(ledger.problems(claims, sources.folder))
    assert "claim P-T1: evidence {lost#1}: one line must have 'lost', found 0" in problems
    assert not [problem for problem in problems if "{problems#1}" in problem]
    with pytest.raises(BookError, match="claim P-T1: evidence {lost#1}"):
        ledger.with_evidence(claims, sources.folder)


def test_numbers_of_statements_and_formulas_are_no_measurements():
    text = "Theorem 10, section 3.6, formulas 15 to 18, (25), Figures 10 and 11, SSS14, `d = 12`"
    assert evidence.typed(text) == []
    assert evidence.typed("three cones, 2 of 3, x_10, n^12") == []
