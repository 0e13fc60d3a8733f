"""What a notebook is given is checked by the batch job, and by the notebook when papermill hands
it over alone.
"""

import contextlib
import math

import nbformat
import papermill
import pytest

from safescreen_book import places
from safescreen_book._common import BookError
from safescreen_book.parameters import assigned, check

DEFAULTS = {
    "dataset": "iris",
    "k": 5,
    "n_max": 0,
    "n_lams": 60,
    "seed": 7,
    "fraction": 0.5,
    "low": -2.0,
    "on": False,
    "output_dir": "",
}


@pytest.mark.parametrize(
    "given",
    [
        {"k": 1, "n_max": 0, "n_lams": 0, "seed": 0, "fraction": 0.0, "low": -1e9},
        {"fraction": 1, "low": 3, "on": True, "dataset": ""},
    ],
)
def test_what_is_accepted(given):
    check(given, DEFAULTS, "run a")


def test_papermill_is_told_how_to_give_a_text():
    """`papermill -p label 4` hands over a number, and `-p label None` a None."""
    with pytest.raises(
        BookError, match="label = 4 is of another type .*'class'; give it as text with -r label 4"
    ):
        check(assigned("label = 4", "papermill"), {"label": "class"}, "papermill")
    with pytest.raises(
        BookError, match="label = None .*; if it is a text, give it with -r label None"
    ):
        assigned("label = None", "papermill")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"datset": "wine"}, r"run a: unknown parameter 'datset'; did you mean dataset\?"),
        ({"k": 0}, "run a: k must be at least 1, found 0"),
        ({"n_max": -1}, "n_max must be at least 0, found -1"),
        ({"seed": -1}, "seed must be at least 0, found -1"),
        ({"fraction": -0.5}, "fraction must be at least 0, found -0.5"),
        ({"fraction": math.inf}, "fraction must be at least 0, found inf"),
        ({"low": math.nan}, "low must be finite, found nan"),
        ({"k": 2.5}, "k = 2.5 is of another type than the notebook's k = 5"),
        ({"k": True}, "k = True is of another type"),
        ({"on": 1}, "on = 1 is of another type"),
        ({"dataset": 3}, "dataset = 3 is of another type"),
        ({"fraction": "half"}, "fraction = 'half' is of another type"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(BookError, match=message):
        check(given, DEFAULTS, "run a")


def test_values_in_brackets_and_with_types():
    assert assigned('a: float = -1e-3\nb = (\n    "x,"\n    "y"\n)', "cell") == {
        "a": -1e-3,
        "b": "x,y",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 2}, None),
        ({"n": 0}, "papermill: n must be at least 1, found 0"),
    ],
)
def test_papermill_alone(tmp_path, monkeypatch, given, message):
    monkeypatch.setenv("PYTHONPATH", places.environment()["PYTHONPATH"])
    tagged = nbformat.v4.new_code_cell('output_dir = ""\nn = 3', metadata={"tags": ["parameters"]})
    record = nbformat.v4.new_code_cell("from safescreen_book import Recorder\nRecorder(output_dir)")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(
        nbformat.v4.new_notebook(cells=[tagged, record], metadata=kernel), tmp_path / "a.ipynb"
    )
    ends = contextlib.nullcontext()
    if message:
        ends = pytest.raises(papermill.PapermillExecutionError, match=message)
    with ends:
        papermill.execute_notebook(
            tmp_path / "a.ipynb",
            tmp_path / "b.ipynb",
            parameters=given,
            progress_bar=False,
            kernel_name="python3",
        )
