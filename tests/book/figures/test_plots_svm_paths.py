"""Figures of rates and seconds along C."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from safescreen_book import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_along_draws_each_curve_in_its_colour():
    Cs = np.geomspace(0.1, 10.0, 5)
    ax = figures.svm_paths.along({"BT1": (Cs, Cs / 10.0), "IT": (Cs, Cs / 20.0)}, title="t")
    assert [line.get_color() for line in ax.lines] == [figures.svm_paths.TESTS["BT1"], figures.svm_paths.TESTS["IT"]]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), Cs / 20.0)
    assert ax.get_xscale() == "log" and ax.get_ylim() == (-0.02, 1.02)


def test_along_other_axes():
    ax = figures.svm_paths.along({"naive": ([1.0, 2.0], [0.1, 3.0])}, log_x=False, log_y=True, ylabel="seconds", marks=True)
    assert ax.get_xscale() == "linear" and ax.get_yscale() == "log" and ax.lines[0].get_marker() == "o"


def test_dots_of_both_and_what_was_stopped():
    ax = figures.svm_paths.dots({"full": 10.0, "shrink": 1.0}, {"full": 300.0}, cut=["full"])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [10.0, 1.0])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [300.0, np.nan])
    assert [text.get_text() for text in ax.texts] == ["stopped"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["full", "shrink"]


def test_dots_without_a_paper():
    figure, own = plt.subplots()
    ax = figures.svm_paths.dots({"full": 2.0}, ax=own)
    assert ax is own and len(ax.lines) == 1
