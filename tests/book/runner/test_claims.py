"""The ledger is believed only with a cell that ran and asserts."""

import nbformat
import pandas as pd
import pytest

from safescreen_book import ledger as claims
from safescreen_book._common import BookError
from safescreen_book.protocols.conclusions import Conclusions

HEAD = "STS19:\n  - "
OPEN = 'id: STS19-T1, kind: T, what: "a", status: open'


def ledger(folder, text):
    (folder / "claims.yml").write_text(text, encoding="utf-8")
    return claims.load_claims(folder)


def cell(source, tags=("STS19-T1",), count=1, outputs=()):
    code = nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))
    code.metadata["tags"] = list(tags)
    return code


def write(folder, *cells):
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), folder / "11-bound.ipynb")


def test_defaults(tmp_path):
    (claim,) = ledger(tmp_path, f'{HEAD}{{{OPEN}, sts18: "3.10", also: App. A}}\n')
    assert (claim.paper, claim.cell, claim.notebook, claim.also) == (
        "STS19",
        "STS19-T1",
        None,
        "App. A, STS18 3.10",
    )
    assert claims.counts([claim])["STS19"]["open"] == 1
    assert list(claims.problems([claim], tmp_path)) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{kind: T}", "expected a mapping with an id"),
        (f"{{{OPEN}, wath: x}}", "claim STS19-T1: unknown key 'wath'"),
        ('{id: STS19-T1, kind: T, what: "a"}', "claim STS19-T1: key 'status' is missing"),
        ('{id: STS19-T1, kind: X, what: "a", status: open}', "kind 'X' is not one of"),
        ('{id: STS19-T1, kind: T, what: "a", status: proven}', "status 'proven' is not one of"),
        (
            '{id: STS19-T1, kind: T, what: "a", status: verified, evidence: x}',
            "verified without notebook",
        ),
        (
            '{id: STS19-T1, kind: T, what: "a", status: partial, notebook: x}',
            "partial without evidence",
        ),
        (f"{{{OPEN}}}\n  - {{{OPEN}}}", "these ids occur twice: STS19-T1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, entry, message):
    with pytest.raises(BookError, match=message):
        ledger(tmp_path, f"{HEAD}{entry}\n")


ERROR = nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([cell("assert r < 1")], None),
        ([cell("x = 1", tags=()), cell("assert r < 1")], None),
        ([cell("assert r < 1", tags=("STS19-T2",))], "has no code cell tagged 'STS19-T1'"),
        ([cell("assert r < 1", count=None)], "was not executed"),
        ([cell("assert r < 1", outputs=[ERROR])], "ended in an error"),
        ([cell("print(r < 1)")], "asserts nothing"),
        ([cell("assert True")], "asserts nothing"),
    ],
)
def test_evidence(tmp_path, cells, problem):
    entry = '{id: STS19-T1, kind: T, what: "a", status: verified, notebook: 11-bound, evidence: x}'
    found = ledger(tmp_path, f"{HEAD}{entry}\n")
    assert list(claims.problems(found, tmp_path)) == [
        "claim STS19-T1: there is no notebook 11-bound"
    ]
    write(tmp_path, *cells)
    if problem is None:
        assert list(claims.problems(found, tmp_path)) == []
    else:
        (said,) = claims.problems(found, tmp_path)
        assert said.endswith(problem)


@pytest.mark.parametrize(
    ("status", "missing", "right"),
    [("reproduced", "{}", True), ("partial", "{}", False), ("partial", "{time: sensit}", True)],
)
def test_a_status_follows_from_committed_conclusions(tmp_path, status, missing, right):
    book, run = tmp_path / "notebooks", tmp_path / "outputs" / "paper" / "51-time" / "iris"
    book.mkdir()
    run.mkdir(parents=True)
    write(book, cell("assert r < 1"))
    entry = (
        f'{{id: STS19-T1, kind: F, what: "a", status: {status}, notebook: 11-bound, evidence: '
        f"x, missing: {missing}}}"
    )
    claim = ledger(book, f"{HEAD}{entry}\n")
    assert list(claims.problems(claim, book)) == []
    found = Conclusions("STS19-T1", "iris")
    found.fact(True, "it pays", "3", note="")
    beside = Conclusions("-", "iris")
    beside.fact(False, "nothing of the papers", "-", note="", whose="own")
    pd.concat([found.frame(), beside.frame()]).to_csv(run / "conclusions.csv", index=False)
    assert list(claims.problems(claim, book)) == (
        [] if right else ["claim STS19-T1: partial in the ledger, reproduced by its runs"]
    )
    assert list(claims.problems([], book)) == [
        "claim STS19-T1: judged by runs, and not in the ledger"
    ]
    # its cell decides
    assert (
        list(claims.problems(ledger(book, f"{HEAD}{entry.replace('kind: F', 'kind: A')}\n"), book))
        == []
    )


def test_markdown_cell_is_no_evidence(tmp_path):
    markdown = nbformat.v4.new_markdown_cell("assert r < 1")
    markdown.metadata["tags"] = ["STS19-T1"]
    write(tmp_path, markdown)
    assert claims.find_cell(nbformat.read(tmp_path / "11-bound.ipynb", 4), "STS19-T1") is None
