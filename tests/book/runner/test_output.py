"""What a notebook records is whole, plain and checked."""

import json

import numpy as np
import pandas as pd
import pytest

from safescreen_book import Recorder


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = Recorder("")
    assert out.table("results", pd.DataFrame({"a": [1]})) is None
    assert out.summary(timings={"run": 1.0}) is None
    assert list(tmp_path.iterdir()) == []


def test_table_figure_and_summary(tmp_path):
    from matplotlib.figure import Figure

    out = Recorder(tmp_path / "new")
    assert (
        out.table("results", pd.DataFrame({"a": [0.1], "b": ["x"]})).read_text() == "a,b\n0.1,x\n"
    )
    assert out.figure("curve", Figure()).read_text().startswith("<?xml")
    out.summary(n=np.int64(3), values=np.arange(2.0), timings={"run": 1.5})
    out.summary(n=4, explanation=["short"], dense=np.True_)
    assert json.loads((tmp_path / "new" / "summary.json").read_text()) == {
        "n": 4,
        "values": [0.0, 1.0],
        "timings": {"run": 1.5},
        "explanation": ["short"],
        "dense": True,
    }
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "curve.svg",
        "results.csv",
        "summary.json",
    ]


@pytest.mark.slow
def test_what_is_dense_is_a_picture_inside_of_its_figure(tmp_path):
    from matplotlib.figure import Figure

    for shape, pictures in (((5, 5), 0), ((50, 50), 2)):
        fig = Figure()
        axes = fig.subplots(2)
        axes[0].pcolormesh(np.zeros(shape))
        axes[1].scatter(*np.zeros((2, shape[0] * shape[1])))
        axes[1].plot(np.arange(5000.0))
        first, again = (Recorder(tmp_path).figure("dense", fig).read_text() for _ in range(2))
        assert first.count("<image") == pictures and first == again
    for clouds, pictures in ((9, 0), (11, 11)):  # each below the limit, many of them above
        fig = Figure()
        for axes in fig.subplots(clouds, squeeze=False).flat:
            axes.scatter(*np.zeros((2, 200)))
        assert Recorder(tmp_path).figure("many", fig).read_text().count("<image") == pictures


def test_a_figure_that_nobody_reads_is_not_written_and_must_be_drawable(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    monkeypatch.setattr(Recorder, "saves_figures", False)
    fig = Figure()
    axes = fig.subplots()
    assert Recorder(tmp_path).figure("curve", fig) is None
    assert list(tmp_path.iterdir()) == []
    axes.set_title(r"$\frac{1$")
    with pytest.raises(ValueError, match="frac"):
        Recorder(tmp_path).figure("curve", fig)


@pytest.mark.parametrize("output_dir", ["", "here"])
def test_bad_input_is_refused_with_and_without_a_folder(tmp_path, output_dir):
    out = Recorder(tmp_path / output_dir if output_dir else "")
    with pytest.raises(ValueError, match="name: '../x' is not a plain file name"):
        out.table("../x", pd.DataFrame())
    with pytest.raises(TypeError, match="frame: expected a pandas.DataFrame, found list"):
        out.table("results", [1])
    with pytest.raises(ValueError, match="a comparison has columns"):
        out.table("comparison", pd.DataFrame({"ours": [1]}))
    with pytest.raises(ValueError, match="gap: cannot be written to JSON: Out of range float"):
        out.summary(gap={"x": [1.0, float("nan")]})
    with pytest.raises(ValueError, match="timings: expected a dict of seconds"):
        out.summary(timings={"run": "long"})
    with pytest.raises(TypeError, match="f: cannot be written to JSON: 'function' object"):
        out.summary(f=lambda: 0)
