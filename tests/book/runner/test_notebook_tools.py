"""Notebooks are made from their texts, the same each time."""

import io

import nbformat
import numpy as np
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

from safescreen_book.figures.style import METHODS, OTHERS
from safescreen_book.runner import notebooks
from safescreen_book.runner.png import small_png

pytestmark = pytest.mark.slow

TEXT = (
    '# %% [markdown]\n# # Title\n\n# %% tags=["STS19-T1"]\nx = 2\nprint(x)\n\n# %%\nassert x == 2\n'
)


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


SURFACES = (241, 237, 227), (242, 232, 237)
LINES = np.array(
    [
        [int(name[i : i + 2], 16) for i in (1, 3, 5)]
        for name in sorted({*OTHERS, *(m["color"] for m in METHODS.values())})
    ]
)


def picture(noise):
    """A PNG of the book's colours, each fading into a random one with noise, and of two surfaces
    that are nearly the same.
    """
    rng, way = np.random.default_rng(0), np.linspace(0.0, 1.0, 120)[:, None, None]
    fading = LINES + way * (rng.integers(0, 256, LINES.shape) - LINES)
    fading = np.repeat(fading, 6, axis=1) + noise * rng.standard_normal((120, 6 * len(LINES), 3))
    surfaces = np.repeat(np.array(SURFACES)[None], 120, axis=0).repeat(50, axis=1)
    out = io.BytesIO()
    Image.fromarray(
        np.clip(np.concatenate((fading, surfaces), axis=1), 0, 255).astype(np.uint8)
    ).save(out, "PNG")
    return out.getvalue()


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_a_picture_becomes_small_and_its_colours_stay_apart():
    raw = picture(2.0)
    made = small_png(raw)
    assert made == small_png(raw) and len(made) < 0.5 * len(raw)
    assert np.abs(pixels(made) - pixels(raw)).max() <= 20
    assert [tuple(colour) for colour in pixels(made)[60, [-60, -10]].tolist()] == list(SURFACES)
    few = picture(0.0)
    assert len(
        {tuple(colour) for colour in pixels(small_png(few))[0, : 6 * len(LINES)].tolist()}
    ) == len(LINES)


def test_a_tagged_picture_is_written_for_pages(tmp_path):
    (tmp_path / "big.png").write_bytes(picture(2.0))
    cell = "from IPython.display import Image\nprint(1)\ndisplay(Image('big.png'))\n"
    (tmp_path / "a.py").write_text(f'# %%\n{cell}\n# %% tags=["figure:shown", "STS19-T1"]\n{cell}')
    nb = notebooks.read(notebooks.refresh(tmp_path, "a"))
    (written,) = (tmp_path / "figures").iterdir()
    assert written.name == "shown.png" and written.read_bytes() == small_png(picture(2.0))
    assert notebooks.pictures(nb) == {"shown": written.read_bytes()}


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


def test_ids_depend_on_name_place_and_content(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("# %%\nx = 1\n\n# %%\nx = 1\n")
    ids = [
        cell.id for name in ("a", "b", "a") for cell in notebooks.read_source(tmp_path, name).cells
    ]
    assert len(set(ids)) == 4 and ids[:2] == ids[4:]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 3000,
        '{"cells": 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        "{}",
        '{"nbformat": 4}',
    ],
)
def test_what_is_no_notebook_is_named(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(ValueError, match="a.ipynb: not a notebook"):
        notebooks.read(tmp_path / "a.ipynb")
