"""No legend of a figure covers what is drawn."""

import numpy as np
import pytest

from safescreen_book import figures
from safescreen_book.figures.legends import _covers, tidy

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def covered(ax):
    ax.figure.canvas.draw()
    return _covers(ax, ax.get_legend().get_window_extent())


DRAWN = {
    "a line": lambda ax: ax.plot([0, 1], [0, 1], label="a"),
    "marks": lambda ax: ax.plot(np.linspace(0, 1, 40), np.linspace(0, 1, 40), "o", label="a"),
    "dots": lambda ax: ax.scatter(np.linspace(0, 1, 40), np.linspace(0, 1, 40), label="a"),
    "an area": lambda ax: ax.fill_between([0, 1], [0, 0], [1, 1], label="a"),
    "bars": lambda ax: ax.bar([0, 1], [1, 1], label="a"),
    "a map": lambda ax: (ax.pcolormesh(np.eye(3)), ax.plot([], [], label="a")),
}


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_a_legend_over_what_is_drawn_goes_below_and_the_figure_grows(drawn):
    figure, ax = figures.panels(1)
    drawn(ax)
    ax.legend(loc="upper right")
    assert covered(ax)
    height = figure.get_figheight()
    tidy(figure)
    assert not covered(ax) and figure.get_figheight() > height
    place = ax.get_legend().get_window_extent()
    assert place.y1 <= ax.bbox.y0 and place.y0 >= 0.0


def test_a_legend_that_covers_nothing_stays():
    figure, ax = figures.panels(1)
    ax.plot([0, 1], [0, 1], label="a")
    ax.legend(loc="lower right")
    kept = ax.get_legend()
    tidy(figure)
    assert ax.get_legend() is kept


@pytest.mark.parametrize("colour", ["C0", "C1"])
def test_panels_with_the_same_entries_share_one_legend(colour):
    figure, axes = figures.panels(2)
    for ax, own in zip(axes, ("C0", colour), strict=True):
        ax.plot([0, 1], [0, 1], color=own, label="a")
        ax.legend()
    tidy(figure)
    shared = colour == "C0"
    assert len(figure.legends) == shared
    assert all((ax.get_legend() is None) == shared for ax in axes)


def test_panels_share_the_legend_that_has_all_entries():
    figure, axes = figures.panels(2)
    for ax, labels in zip(axes, ("a", "ab"), strict=True):
        for label in labels:
            ax.plot([0, 1], [0, 1], color=f"C{ord(label)}", label=label)
        ax.legend()
    tidy(figure)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_a_legend_does_not_touch_the_label_of_the_axis():
    ax = figures.balls(*balls_of_a_plane())
    tidy(ax.figure)
    assert not covered(ax)


def balls_of_a_plane():
    import safescreen as ss

    ball = ss.Sphere(np.zeros(2), 1.0)
    return ss.cones.FreeSpace(2), {"GB": ball, "PGB": ball}, {}


def test_rows_of_a_shared_legend_are_of_equal_length():
    figure, axes = figures.panels(2, width=6.0)
    for ax in axes:
        figures.lines({f"a rather long entry {k}": [0.0, 1.0] for k in range(4)}, ax=ax)
    tidy(figure)
    (legend,) = figure.legends
    assert legend._ncols == 2
