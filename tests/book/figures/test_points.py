"""Points of the plane, each once, with its colour and shape, and the lines between them."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book import figures
from safescreen_book.figures import COLOURS

X, y = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.5], [0.0, -2.0]]), np.array([1, 1, -1, -1])
SCREENED = ss.Screened(np.array([True, False, False, False]), np.array([False, True, True, False]))


def test_points_and_metric():
    ax = figures.points_and_metric(
        np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), [0, 0, 1], np.diag([1.0, 4.0])
    )
    assert [len(part.get_offsets()) for part in ax.collections] == [2, 1]
    width, height = np.ptp(ax.lines[0].get_xdata()), np.ptp(ax.lines[0].get_ydata())
    assert width == pytest.approx(2.0 * height, rel=1e-3)


def test_every_sample_once_with_its_colour_and_shape():
    ax = figures.samples(X, y, np.array([1.0, 1.0]), SCREENED)
    colours = {
        tuple(p): to_hex(part.get_facecolor()[0]).upper()
        for part in ax.collections
        for p in part.get_offsets()
    }
    assert [colours[tuple(x)] for x in X] == [COLOURS[key] for key in "LRRC"]
    assert [text.get_text().rsplit(": ", 1)[1] for text in ax.get_legend().get_texts()] == [
        "1",
        "1",
        "2",
    ]
    ax = figures.samples(X, y, screened=SCREENED, rest="at 1")
    assert ax.get_legend().get_texts()[0].get_text() == "at 1: 1"


def test_lines_of_the_margin_pass_where_it_has_its_levels():
    w = np.array([1.0, -2.0])
    ax = figures.samples(X, y, w)
    levels = [np.round(w @ np.array(line.get_data()), 12).tolist() for line in ax.lines]
    assert levels == [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    assert ax.get_legend() is None
