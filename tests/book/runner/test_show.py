"""What is shown of rows follows the rules of now, and computes nothing."""

import pandas as pd
import pytest

from safescreen_book import Recorder
from safescreen_book.cli import main
from safescreen_book.runner import notebooks

pytestmark = pytest.mark.slow

SOURCE = """# %% tags=["parameters"]
output_dir = ""
rows_dir = ""
n = 3

# %%
import pandas as pd

from safescreen_book import Recorder

record = Recorder(output_dir, rows_dir)
if record.computes:
    squares = [i * i / 3.0 for i in range(n)]
    record.rows("results", pd.DataFrame({"i": range(n), "square": squares}))

# %%
results = record.read("results")
assert list(results["i"]) == list(range(n))
LIMIT = 1.0
above = int((results["square"] > LIMIT).sum())
record.table("conclusions", pd.DataFrame({"above": [above], "limit": [LIMIT]}))
record.table("table_mean", pd.DataFrame({"mean": [results["square"].mean()]}))
"""


@pytest.fixture
def made(book):
    """A result of a notebook that computes first and shows then."""
    (book.folder / "tiny.py").write_text(SOURCE, encoding="utf-8")
    book.runs(a={"n": 5})
    assert main(["run", *book.options, "--profile", "smoke"]) == 0
    return book


def show(book, *options):
    return main(["show", "--profile", "smoke", "--jobs", "1", *options, *book.options])


def test_another_rule_judges_the_same_rows(made, capsys):
    folder = made.run_folder("a")
    notebook = made.folder / "tiny.py"
    notebook.write_text(SOURCE.replace("LIMIT = 1.0", "LIMIT = 4.0").replace("i * i", "i * i * i"))
    rows = (folder / "results.csv").read_bytes()
    old = (folder / "conclusions.csv").read_text()
    assert show(made, "--check") == 1
    assert "tiny/a: conclusions.csv" in capsys.readouterr().out
    assert (folder / "conclusions.csv").read_text() == old
    assert show(made) == 0
    assert (folder / "conclusions.csv").read_text() == "above,limit\n1,4\n"
    assert (folder / "results.csv").read_bytes() == rows
    assert show(made, "--check") == 0


def test_rows_are_read_as_they_were_written(tmp_path):
    frame = pd.DataFrame({"x": [1.0 / 3.0, 2.0e-300], "name": ["a", "b"], "holds": [True, False]})
    first = Recorder(tmp_path)
    first.rows("results", frame)
    without_folder = Recorder()
    without_folder.rows("results", frame)
    shown = Recorder(rows_dir=tmp_path)
    assert first.computes and not shown.computes
    for record in (first, without_folder, shown):
        pd.testing.assert_frame_equal(record.read("results"), shown.read("results"))
    assert shown.read("results")["x"][0] == 0.333333333


def test_a_run_says_whose_rows_it_shows(made, tmp_path):
    assert Recorder().origin() == "This run computes its rows, with the parameters above."
    said = " ".join(Recorder(rows_dir=made.run_folder("a")).origin().split())
    assert said.startswith("The outputs below show the record tiny/a, which safescreen ")
    assert "in place of those above: n = 5." in said
    (tmp_path / "rows").mkdir()
    said = Recorder(rows_dir=tmp_path / "rows").origin()
    assert said == "The outputs below show the rows in the folder rows."


def test_a_notebook_is_executed_on_the_rows_of_the_record_that_the_manifest_names(book):
    cell = "\n# %%\nprint(n, record.computes, results['square'].max())\n"
    (book.folder / "tiny.py").write_text(SOURCE + cell, encoding="utf-8")
    runs = {"seconds": 1, "memory_mb": 100, "runs": {"a": {"n": 5}, "b": {"n": 7}}}
    book.write({"tiny": {"title": "A tiny one", "shown": "b", "profiles": {"paper": runs}}})
    command = ["notebooks", "tiny", "--notebooks", str(book.folder)]
    assert main(command) == 1  # there is no record yet
    assert main(["run", "--profile", "paper", *book.options]) == 0
    assert main(command) == 0
    made = notebooks.read(book.folder / "tiny.ipynb")
    assert made.cells[-1].outputs[0].text == "7 False 12.0\n"
    assert list(notebooks.problems(book.folder, ["tiny"])) == []


def test_bad_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match="rows_dir: 'nowhere' is not a folder"):
        Recorder(rows_dir="nowhere")
    with pytest.raises(TypeError, match="rows_dir: expected a string or a path, found int"):
        Recorder(rows_dir=3)
    shown = Recorder(rows_dir=tmp_path)
    with pytest.raises(
        ValueError, match="the rows 'results' must not be computed, because rows_dir"
    ):
        shown.rows("results", pd.DataFrame())
    with pytest.raises(ValueError, match="the folder lacks the rows 'results'"):
        shown.read("results")
    assert shown.read("results", optional=True) is None
    record = Recorder()
    with pytest.raises(ValueError, match="has not computed the rows 'results'"):
        record.read("results")
    with pytest.raises(ValueError, match="'table_time' must not be the name of a table or figure"):
        record.rows("table_time", pd.DataFrame())


def test_to_show_nothing_is_no_success(book, capsys):
    book.runs(a={"n": 5})
    assert main(["show", "--profile", "smoke", *book.options]) == 1
    assert "nothing to show: no run named has a result at profile smoke" in capsys.readouterr().out
