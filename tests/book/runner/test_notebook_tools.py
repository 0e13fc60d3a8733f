"""Notebooks are made from their texts, the same each time."""

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from safescreen_book.runner import notebooks

TEXT = '# %% [markdown]\n# # Title\n\n# %% tags=["STS19-T1"]\nx = 2\nprint(x)\n\n# %%\nassert x == 2\n'


def test_refresh_is_deterministic_bare_and_clean(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    first = notebooks.refresh(tmp_path, "a").read_bytes()
    assert notebooks.refresh(tmp_path, "a").read_bytes() == first
    nb = nbformat.reads(first.decode(), as_version=4)
    assert set(nb.metadata) == {"kernelspec", "language_info"}
    assert nb.metadata.kernelspec.name == "python3"
    assert nb.cells[1].metadata == {"tags": ["STS19-T1"]}
    assert nb.cells[1].outputs[0].text == "2\n"
    assert list(notebooks.problems(tmp_path)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "a.py"]


def test_failing_notebook_keeps_the_older_one(tmp_path):
    (tmp_path / "a.py").write_text("# %%\nraise ValueError('boom')\n")
    (tmp_path / "a.ipynb").write_text("older")
    with pytest.raises(CellExecutionError, match="boom"):
        notebooks.refresh(tmp_path, "a")
    assert (tmp_path / "a.ipynb").read_text() == "older"


def test_problems_are_named(tmp_path):
    for name in ("pair", "differs", "tags", "never"):
        (tmp_path / f"{name}.py").write_text(TEXT)
        nb = notebooks.read_source(tmp_path, name)
        for count, cell in enumerate(nb.cells[1:], start=1):
            cell.execution_count = count
        if name == "differs":
            nb.cells[2].source = "assert x == 3"
        if name == "tags":
            nb.cells[1].metadata.clear()
        if name == "never":
            nb.cells[1].execution_count = None
        nbformat.write(nb, tmp_path / f"{name}.ipynb")
    (tmp_path / "alone.py").write_text(TEXT)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "orphan.ipynb")
    assert list(notebooks.problems(tmp_path)) == [
        "alone: alone.ipynb missing",
        "differs: differs.py and differs.ipynb differ from cell 3 on",
        "never: never.ipynb was not executed from top to bottom",
        "orphan: orphan.py missing",
        "tags: tags.py and tags.ipynb differ from cell 2 on",
    ]


def test_missing_cell_is_a_difference(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    nb = notebooks.read_source(tmp_path, "a")
    nb.cells[1].execution_count = 1
    del nb.cells[2]
    nbformat.write(nb, tmp_path / "a.ipynb")
    assert list(notebooks.problems(tmp_path)) == ["a: a.py and a.ipynb differ from cell 3 on"]


def test_ids_depend_on_name_place_and_content(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("# %%\nx = 1\n\n# %%\nx = 1\n")
    ids = [cell.id for name in ("a", "b", "a") for cell in notebooks.read_source(tmp_path, name).cells]
    assert len(set(ids)) == 4 and ids[:2] == ids[4:]


def test_unknown_notebook(tmp_path):
    with pytest.raises(FileNotFoundError, match="notebook 'a': neither a.py nor a.ipynb"):
        notebooks.read_source(tmp_path, "a")
