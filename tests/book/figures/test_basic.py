"""Figures show the numbers they are given, and leave matplotlib as it was."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import safescreen as ss
from safescreen_book import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def problem():
    X = np.array([[0.0, 0.0], [1.0, 0.2], [0.5, 2.0], [1.5, 2.5], [3.0, 1.0], [3.5, 1.5]])
    return ss.Problem(ss.Triplets.from_labels(X, [0, 0, 1, 1, 2, 2]), ss.SmoothedHinge(0.3))


def dots(ax):
    return {text.get_text(): len(part.get_offsets()) for text, part in zip(ax.get_legend().texts, ax.collections, strict=True)}


def test_terms_on_loss_counts_and_places_every_term(problem):
    margins = np.array([-0.5, 0.8, 1.2, 2.0])
    screened = ss.Screened(np.array([True, False, False, False]), np.array([False, False, False, True]))
    ax = figures.terms_on_loss(problem.loss, margins, screened)
    assert dots(ax) == {"undecided: 2": 2, "linear part, L: 1": 1, "zero part, R: 1": 1}
    assert ax.collections[1].get_offsets().tolist() == [[-0.5, 1.5 - 0.15]]
    assert dots(figures.terms_on_loss(problem.loss, margins))["undecided: 4"] == 4


def test_a_ball_is_cut_by_the_plane(problem):
    cone = ss.PSDCone(2)
    plane = np.zeros((2, 2)), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    through, beside = ss.Sphere(np.eye(2), 0.5), ss.Sphere(np.array([[1.0, 0.3], [0.3, 1.0]]), 0.5)
    ax = figures.balls(cone, {"a": through, "b": beside}, {"optimum": np.eye(2)}, plane=plane)
    radii = [np.ptp(line.get_xdata()) / 2 for line in ax.lines if line.get_xdata().size > 10]
    np.testing.assert_allclose(radii, [0.5, np.sqrt(0.25 - 2 * 0.09)], rtol=1e-3)
    assert [text.get_text() for text in ax.texts] == ["optimum"]


def test_balls_over_the_whole_space():
    ax = figures.balls(ss.FreeSpace(2), {"GB": ss.Sphere(np.zeros(2), 1.0)}, {"x": np.ones(2)})
    assert matplotlib.colors.to_hex(ax.get_facecolor()) == figures.COLOURS["cone"].lower()


def test_shares_add_up_to_one(problem):
    solutions = ss.path(problem, [100.0, 50.0, 25.0])
    ax = figures.shares(solutions, title="shares")
    tops = [part.get_paths()[0].vertices[:, 1].max() for part in ax.collections]
    assert tops[-1] == 1.0 and ax.get_title(loc="left") == "shares"


def test_rates_lines_and_bars_show_their_numbers():
    ax = figures.rates({"GB": ([4.0, 2.0, 1.0], [0.1, 0.5, 0.9])})
    assert ax.lines[0].get_ydata().tolist() == [0.1, 0.5, 0.9]
    assert ax.get_xlim()[0] > ax.get_xlim()[1]
    ax = figures.lines({"GB": [1.0, 0.5], "other": [0.1]}, title="radius", log=True)
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1.0, 0.5], [0.1]]
    assert ax.get_yscale() == "log" and ax.get_title(loc="left") == "radius"
    ax = figures.bars({"none": 2.0, "GB": np.nan, "PGB": 0.5})
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.0, 0.5]
    assert [text.get_text() for text in ax.texts] == ["2.00", "", "0.50"]


def test_points_and_metric():
    ax = figures.points_and_metric(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), [0, 0, 1], np.diag([1.0, 4.0]))
    assert [len(part.get_offsets()) for part in ax.collections] == [2, 1]
    width, height = np.ptp(ax.lines[0].get_xdata()), np.ptp(ax.lines[0].get_ydata())
    assert width == pytest.approx(2.0 * height, rel=1e-3)


def test_the_style_does_not_leak():
    before = dict(matplotlib.rcParams)
    figures.panels(3)
    figures.bars({"none": 1.0})
    assert dict(matplotlib.rcParams) == before


def test_colours_are_distinct():
    assert len(set(figures.METHODS.values())) == len(figures.METHODS)
    assert len(set(figures.COLOURS.values())) == len(figures.COLOURS)


def test_matplotlib_is_not_imported_with_the_package():
    code = "import sys, safescreen, safescreen_book.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
