"""What comes is said before it comes, the longest run is the first, and pages are made while
others run.
"""

import sys

import pytest

from safescreen_book import cli
from safescreen_book.runner import batch, progress
from safescreen_book.runner.loading import load_manifest

pytestmark = pytest.mark.slow


def planned(book, *names):
    manifest = load_manifest(book.folder)
    return manifest, manifest.select(names, "smoke"), "smoke", book.outputs


def test_pages_are_there_while_a_run_is_under_way(book, capsys):
    """The second run ends when there is a page, which is made after the first."""
    page = book.folder / "page"
    book.runs(a={"n": 2}, b={"mode": "wait", "marker": str(page)})
    source = book.folder / "tiny.py"
    waiting = (
        'for _ in range(600 if mode == "wait" else 0):\n    time.sleep(0.0 if '
        "Path(marker).exists() else 0.1)\n"
    )
    text = source.read_text().replace("if marker:\n    Path(marker).touch()\n", waiting)
    source.write_text(text.replace("time.sleep(600)", "assert Path(marker).exists()"))
    pages = progress.Pages([sys.executable, "-c", f"open({str(page)!r}, 'w')"], page)
    manifest, runs, *rest = planned(book)
    # of equal length: the last is the first
    assert batch.run_all(manifest, runs[::-1], *rest, jobs=1, pages=pages) == 0
    printed = capsys.readouterr().out
    assert (
        printed.index("tiny/a: done")
        < printed.index("The first results can be read: open")
        < printed.index("tiny/b: done")
    )


@pytest.mark.parametrize(
    ("ran", "built", "code"), [(0, 0, 0), (1, 0, 1), (0, 2, 2), (130, None, 130)]
)
def test_run_makes_the_last_pages_unless_interrupted(book, monkeypatch, ran, built, code):
    book.runs(a={"n": 2})
    commands, calls = [], []
    monkeypatch.setattr(
        cli.batch, "run_all", lambda *_, pages, **__: commands.append(pages._command) or ran
    )
    monkeypatch.setattr(cli, "_pages", lambda options: calls.append(options.profile) or built)
    assert cli.main(["run", "--report", "--profile", "smoke", *book.options]) == code
    (command,) = commands
    assert (
        command[1:5] == ["-m", "safescreen_book", "report", "--profile"]
        and str(book.outputs) in command
    )
    assert calls == ([] if built is None else ["smoke"])
