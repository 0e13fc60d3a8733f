"""The command line: what it prints, and its exit codes."""

import io
import os
import subprocess
import sys

import pytest

from safescreen_book import wording
from safescreen_book.cli import _value, main

pytestmark = pytest.mark.slow


@pytest.fixture
def said(capsys):
    """Run a command; its exit code and all it printed."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_help_names_every_command(said):
    code, text = said("--help")
    assert code == 0
    for command in ("run", "list", "report", "claims", "data", "notebooks"):
        assert f"\n    {command}" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required"),
        (["run", "--jobs", "0"], "'0' is not a positive integer"),
        (["run", "--profile", "huge"], "invalid choice: 'huge'"),
        (["run", "--data", "no/such/folder"], "--data: no/such/folder is not a folder"),
        (["list", "--notebooks", "no/such/folder"], "no/such/folder is not a folder"),
        (["notebooks", "--check", "90-repot"], "did you mean 90-report?"),
    ],
)
def test_request_that_makes_no_sense(said, arguments, message):
    code, text = said(*arguments)
    assert code == 2 and message in text
    assert "Traceback" not in text


def test_unknown_experiment(said, book):
    book.runs(a={"n": 2})
    code, text = said("run", "tinny", "--profile", "smoke", *book.options)
    assert code == 2 and "unknown experiment 'tinny'; did you mean tiny? Known: tiny" in text


def test_list(said, book):
    book.runs(a={"n": 2}, b={})
    code, text = said("list", *book.options)
    assert code == 0
    assert "tiny  A tiny one  (STS19-F9)" in text and "smoke: about 1 s, 100 MB" in text
    assert "smoke: 2 runs, 2 not run; all of them take about 1 s" in text.splitlines()
    assert text.splitlines()[-1].startswith("To run all of a size: safescreen run")
    assert "tiny/a  not run" in text and "tiny/b  not run" in text


def test_claims(said, book):
    code, text = said("claims", "--notebooks", book.folder)
    assert code == 0 and "STS19-T1  open" in text and "STS19     2 open" in text
    ledger = book.folder / "claims.yml"
    done = "status: verified, notebook: tiny, evidence: x"
    ledger.write_text(
        ledger.read_text().replace("status: open, notebook: null, evidence: null", done, 1)
    )
    code, text = said("claims", "--notebooks", book.folder)
    assert code == 1 and "WRONG: claim STS19-T1: there is no notebook tiny" in text


def test_a_claim_tells_the_paper_s_conclusions_first(said):
    code, text = said("claims", "STS19-F9")
    titles = [f"{title}:\n" for title in wording.WHOSE.values()]
    places = [text.index(title) for title in titles if title in text]
    assert code == 0 and len(places) > 1 and places == sorted(places)


def test_notebooks(said, book):
    code, text = said("notebooks", "--check", "--notebooks", book.folder)
    assert (code, text) == (1, "tiny: tiny.ipynb missing\n")
    code, text = said("notebooks", "tiny", "--notebooks", book.folder)
    assert code == 0 and "tiny: executed" in text
    code, text = said("notebooks", "--check", "--notebooks", book.folder)
    assert code == 0
    (book.folder / "bad.py").write_text("# %%\nraise ValueError('boom')\n")
    code, text = said("notebooks", "bad", "--notebooks", book.folder)
    assert code == 1 and "bad: FAILED" in text and "boom" in text


def test_a_folder_that_cannot_be_written_is_named(said, book):
    book.runs(a={"n": 2})
    book.outputs.write_text("a file")
    code, text = said("run", "--profile", "smoke", *book.options)
    assert code == 1 and "Traceback" not in text
    assert all(part in text for part in ("tiny/a: FAILED: ", str(book.outputs), "1 failed"))


def test_values_of_parameters():
    values = {"3": 3, "1e-6": 1e-6, "true": True, "wine": "wine", "1.5": 1.5}
    assert {text: _value(text) for text in values} == values


def python(*arguments, **options):
    """Run Python with this library."""
    library = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": library, "PYTHONUNBUFFERED": ""}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([sys.executable, *arguments], text=True, env=environment, **pipes)


def test_module_and_light_import():
    """The command starts without the heavy packages of notebooks and estimators."""
    code = (
        "import sys, safescreen_book.cli, safescreen_book.runner.batch\n"
        "heavy = {'sklearn', 'pandas', 'matplotlib.pyplot', 'papermill', 'nbconvert', 'jupytext'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert python("-c", code).stdout == "[]\n"
    assert python("-m", "safescreen", "--help").stdout.startswith("usage: safescreen")


@pytest.mark.parametrize("module", ["yaml", "pooch"])
def test_without_what_the_book_needs(module):
    code = f"import sys; sys.modules[{module!r}] = None; from safescreen.__main__ import main; "
    done = python("-c", code + "sys.exit(main())")
    assert done.returncode == 2
    assert done.stderr.startswith(f"safescreen: {module} is not installed; in the checkout:")


def test_a_reader_that_leaves_early():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = python("-m", "safescreen", "data", "list", stdout=pipe)
    assert done.returncode == 141 and done.stderr == ""


def test_each_line_reaches_a_file_when_it_is_printed(book, monkeypatch):
    sent = []

    class File(io.RawIOBase):
        def writable(self):
            return True

        def write(self, text):
            sent.append(bytes(text))
            return len(text)

    book.runs(a={"n": 2}, b={})
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(File())))
    assert main(["list", *map(str, book.options)]) == 0
    assert len(sent) >= len(b"".join(sent).splitlines()) > 5
