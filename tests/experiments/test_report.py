"""The report shows what ran and says what did not."""

import json
import re

import nbformat
import pytest

from safescreen.experiments import folders, load_manifest, pages, report, runner
from safescreen.experiments.notebooks import read_source

COMPARISON = "quantity,paper,ours,note\ntotal time,110.9,1.23456,seconds\n"
CONCLUSION = {"claim": "screening pays", "paper": "5x", "ours": "<7x>", "stands": True}
ENVIRONMENT = {"versions": {"python": "3"}, "threads": 1, "cores": 2, "machine": "Linux", "git": None}


def finish(book, name, **files):
    """Leave the result of a run as a worker would, without running it."""
    manifest = load_manifest(book.folder)
    runs = manifest.select([f"tiny/{name}"], "smoke")
    (item,) = runner.plan(manifest, runs, "smoke", book.outputs)
    item.folder.mkdir(parents=True)
    nbformat.write(item.notebook, item.folder / "notebook.ipynb")
    for file, content in files.items():
        (item.folder / file.replace("_dot_", ".")).write_bytes(content.encode())
    made = {
        "status": "complete",
        "hashes": item.hashes,
        "parameters": {"n": 2},
        "files": {"results.csv": folders.sha256_file(item.folder / "results.csv")},
        "seconds": {"wall": 1.0, "run": 0.5},
        "peak_memory_mb": 100.0,
        "started": "then",
        **ENVIRONMENT,
    }
    folders.write_json(item.folder / "result.json", made)


@pytest.fixture
def page(book):
    book.runs(done={"n": 2}, failed={"n": 200}, missing={"n": 4})
    finish(
        book,
        "done",
        results_dot_csv="lam,method\n" + "0.123456,PGB\n" * 50,
        comparison_dot_csv=COMPARISON,
        curve_dot_png="png",
        summary_dot_json=json.dumps({"conclusions": [CONCLUSION]}),
    )
    failure = {"cell": 4, "line": "assert n <= 100", "error": "AssertionError: n too large"}
    folders.record_failure(book.run_folder("failed"), failure, book.folder / "none.ipynb")
    index = report.render(load_manifest(book.folder), "smoke", book.outputs)
    return index, index.read_text(encoding="utf-8")


def test_results_are_shown(page):
    index, text = page
    for shown in ("screening pays", "&lt;7x&gt;", "110.9", "1.235", "0.1235", "results, 50 rows", "PGB"):
        assert shown in text
    assert text.count("<td>PGB</td>") == 40
    assert (index.parent / "files/tiny/done/curve.png").read_bytes() == b"png"
    assert "1 of 3" in text


def test_what_did_not_run_is_said_with_the_command(page):
    _, text = page
    assert "AssertionError: n too large" in text and "cell 4" in text
    assert "safescreen run tiny/missing --profile smoke" in text
    assert re.search(r'missing <span class="pill not-run">not run</span>', text)


def test_claims_are_listed(page):
    _, text = page
    assert "STS19-T1" in text and "STS19-F9" in text and '<span class="pill open">open</span>' in text


def test_every_link_leads_somewhere_inside(page):
    index, text = page
    texts = {index: text, **{path: path.read_text() for path in (index.parent / "notebooks").iterdir()}}
    links = 0
    for path, content in texts.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', content):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_relative_to(index.parent), link
            assert target.is_file(), link
            assert not anchor or f'id="{anchor}"' in target.read_text(), link
            links += 1
        assert "<script" not in content and "@import" not in content
    assert links >= 9


def test_rendering_again_replaces_the_older_report(page, book):
    index, _ = page
    (index.parent / "stale.txt").touch()
    report.render(load_manifest(book.folder), "smoke", book.outputs)
    assert index.is_file() and not (index.parent / "stale.txt").exists()
    assert sorted(path.name for path in (book.outputs / "smoke").iterdir()) == ["report", "tiny"]


def test_claim_links_to_its_cell(book):
    book.runs(a={"n": 2})
    text = (book.folder / "claims.yml").read_text()
    done = "status: verified, notebook: tiny, evidence: seen"
    text = text.replace("status: open, notebook: null, evidence: null", done, 1)
    (book.folder / "claims.yml").write_text(text)
    source = read_source(book.folder, "tiny")
    nbformat.write(source, book.folder / "tiny.ipynb")
    index = report.render(load_manifest(book.folder), "smoke", book.outputs)
    link = f"notebooks/tiny.html#cell-id={source.cells[3].id}"
    assert f'<a href="{link}">tiny</a>' in index.read_text()
    assert f'id="cell-id={source.cells[3].id}"' in (index.parent / "notebooks/tiny.html").read_text()


def test_formulas_in_headings_leave_links_whole():
    pytest.importorskip("latex2mathml")
    text = "# Which $\\lambda$, $x_0$ and **all**\n\n## Step 1: $a < b$ and `$c$`\n\n## [A link $x$](#there)\n"
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    assert pages.title(nb, "none") == "Which λ, x0 and all"
    page = pages.body(nb)
    assert page.count("<math") == 4 and "SAFESCREENFORMULA" not in page
    for tag in re.findall(r"<(?:h\d|a)\b[^>]*>", page):
        assert re.fullmatch(r"<\w+(?: [\w-]+=\"[^\"<>]*\")*>", tag), tag
    (anchor,) = re.findall(r'<h2 id="(Step[^"]*)">', page)
    assert f'href="#{anchor}"' in page and "a-b" in anchor


def test_titles_are_shown_as_text(book):
    pytest.importorskip("latex2mathml")
    book.runs(a={"n": 2})
    source = read_source(book.folder, "tiny")
    source.cells[0].source = "# For which $\\lambda$?"
    nbformat.write(source, book.folder / "tiny.ipynb")
    index = report.render(load_manifest(book.folder), "smoke", book.outputs)
    assert "For which λ?</a>" in index.read_text(encoding="utf-8")
    assert "<title>For which λ?</title>" in (index.parent / "notebooks/tiny.html").read_text(encoding="utf-8")


def test_formulas_are_set_aside_and_code_is_not():
    pytest.importorskip("latex2mathml")
    text = "Inline $x^2$, `$y$`, 5$ and 6$.\n\n$$\\mathcal{T} < a_b$$\n\n```\n$z$\n```\n"
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    body = pages.body(nb)
    assert body.count("<math") == 2 and 'display="block"' in body
    assert "$y$" in body and "$z$" in body and "5$ and 6$" in body and "𝒯" in body
    assert nb.cells[0].source == text
