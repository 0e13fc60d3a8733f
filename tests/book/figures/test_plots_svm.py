"""Figures of support vector machines show the samples, lines and regions they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book import figures
from safescreen_book.figures import COLOURS

matplotlib.use("Agg")

import matplotlib.pyplot as plt

X, y = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.5], [0.0, -2.0]]), np.array([1, 1, -1, -1])
SCREENED = ss.Screened(np.array([True, False, False, False]), np.array([False, True, True, False]))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_every_sample_once_with_its_colour_and_shape():
    ax = figures.svm.samples(X, y, np.array([1.0, 1.0]), SCREENED)
    counts = {}
    for part in ax.collections:
        for offset in part.get_offsets():
            counts[tuple(offset)] = to_hex(part.get_facecolor()[0]).upper()
    expected = [COLOURS[key] for key in "LRRC"]
    assert [counts[tuple(x)] for x in X] == expected
    assert [text.get_text().rsplit(": ", 1)[1] for text in ax.get_legend().get_texts()] == ["1", "1", "2"]
    ax = figures.svm.samples(X, y, screened=SCREENED, rest="at 1")
    assert ax.get_legend().get_texts()[0].get_text() == "at 1: 1"


def test_lines_of_the_margin_pass_where_it_has_its_levels():
    w = np.array([1.0, -2.0])
    ax = figures.svm.samples(X, y, w)
    levels = [np.round(w @ np.array(line.get_data()), 12).tolist() for line in ax.lines]
    assert levels == [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    assert ax.get_legend() is None


def test_weight_space_has_a_line_for_every_sample_that_is_not_zero():
    Z = np.vstack([X * y[:, None], np.zeros(2)])
    known = ss.Screened(np.append(SCREENED.in_L, False), np.append(SCREENED.in_R, False))
    ax = figures.svm.weight_space(Z, {"ball": ss.Sphere(np.zeros(2), 1.0)}, {"optimum": np.ones(2)}, known)
    narrow = figures.svm.weight_space(Z, {"ball": ss.Sphere(np.zeros(2), 1.0)}, {"optimum": np.ones(2)}, room=0.0)
    assert np.ptp(ax.get_xlim()) == pytest.approx(1.6 * np.ptp(narrow.get_xlim()))
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert len(drawn) == 4
    for z, line, key in zip(Z, drawn, "LRRC", strict=False):
        np.testing.assert_allclose(z @ np.array(line.get_data()), 1.0)
        assert line.get_color() == COLOURS[key]


def test_expanded_space_shades_the_projection():
    z, C = np.array([1.0, -0.5, 2.0]), 0.5
    ax = figures.svm.expanded_space(z, C, (0.0, 3.0), {"tangent": (0.0, 2.0)}, (0.5, 1.75), span=(-2.0, 2.0))
    bar = next(line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 5)
    assert set(bar.get_ydata()) == {ax.get_ylim()[0]}
    np.testing.assert_allclose(bar.get_xdata(), [-np.sqrt(C), np.sqrt(C)], atol=0.005)
    total = next(line for line in ax.lines if line.get_label() == "total loss")
    w, values = total.get_data()
    np.testing.assert_allclose(values, [np.maximum(1.0 - v * z, 0.0).sum() for v in w])
    empty = figures.svm.expanded_space(z, C, (0.0, 3.0), {"too high": (0.0, 4.0)}, span=(-2.0, 2.0))
    assert not [line for line in empty.lines if line.get_linewidth() == 5]


def test_along_ratio_draws_each_curve_as_it_is():
    ratios, curves = np.linspace(0.5, 1.0, 6), {"BT1": np.arange(6.0), "BT2": np.arange(6.0) ** 2}
    ax = figures.svm.along_ratio(ratios, curves, ylabel="share")
    for line, (label, values) in zip(ax.lines, curves.items(), strict=True):
        assert line.get_label() == label
        np.testing.assert_array_equal(line.get_data(), [ratios, values])
    assert ax.get_yscale() == "linear" and figures.svm.along_ratio(ratios, curves, log=True).get_yscale() == "log"
