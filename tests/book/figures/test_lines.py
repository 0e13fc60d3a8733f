"""Lines and rows show the numbers they are given."""

import numpy as np
import pytest

from safescreen_book import figures

LAMS = np.array([8.0, 4.0, 2.0, 1.0])


def test_a_path_runs_from_large_to_small():
    ax = figures.lines({"GB": [0.1, 0.2, 0.5, 0.9]}, LAMS, path=True, share=True)
    left, right = ax.get_xlim()
    assert left > 8.0 > 1.0 > right and ax.get_xscale() == "log" and ax.get_ylim() == (-0.02, 1.02)
    assert ax.get_xlabel() == r"$\lambda$, from large to small"
    assert (
        figures.lines({"GB": [0.1, 0.2, 0.5, 0.9]}, LAMS, path=True, xlabel="other").get_xlabel()
        == "other"
    )


@pytest.mark.parametrize(("n_curves", "n_points"), [(3, 30), (7, 10), (8, 35), (5, 3)])
def test_each_of_equal_curves_shows_a_mark_where_no_other_has_one(n_curves, n_points):
    equal = {f"m = {k}": np.ones(n_points) for k in range(n_curves)}
    ax = figures.lines(equal, marks="apart")
    places = [line.get_markevery() for line in ax.lines]
    taken = [set(range(n_points)[start::step]) for start, step in places]
    assert all(taken) and len({line.get_marker() for line in ax.lines}) == n_curves
    if n_points >= n_curves:
        assert sum(map(len, taken)) == len(set.union(*taken))


def test_dots_are_marks_and_all_are_in_the_legend():
    ax = figures.lines(
        {"MGB": ([1.0, 2.0], [3.0, 4.0])},
        dots={"seen": ([1.5], [2.0]), "drop: 1": ([1.0], [1.0])},
        log="y",
    )
    assert [line.get_linestyle() for line in ax.lines] == ["-", "None", "None"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["MGB", "seen", "drop: 1"]
    assert len({line.get_color() for line in ax.lines}) == 3


def test_bars_show_their_numbers():
    ax = figures.bars({"none": 2.0, "GB": np.nan, "PGB": 0.5})
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.0, 0.5]
    assert [text.get_text() for text in ax.texts] == ["2.00", "", "0.50"]


@pytest.mark.parametrize("span", [1.03, 1.4, 2.7, 6.0, 40.0, 1e4])
def test_numbers_of_a_logarithmic_axis_do_not_stand_over_each_other(span):
    figure, axes = figures.panels(2, height=2.6)
    lams = 1.1e14 * np.geomspace(span, 1.0, 9)
    figures.lines({"GB": np.linspace(0.0, 1.0, 9)}, lams, ax=axes[0], path=True)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes[0].get_xticklabels() if text.get_text()]
    low, high = sorted(axes[0].get_xlim())
    shown = [box for box, at in zip(boxes, axes[0].get_xticks(), strict=False) if low <= at <= high]
    assert len(shown) > 1
    shown.sort(key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in zip(shown[:-1], shown[1:], strict=True))


def test_the_line_at_one_is_drawn_above_the_grid():
    ax = figures.lines({"GB": [0.5, 2.0]}, ratio=True)
    grid = ax.yaxis.get_gridlines()[0]
    assert grid.get_visible() and ax.get_axisbelow() is True
    assert ax.lines[-1].get_zorder() > ax.yaxis.get_zorder()  # the axis draws its grid
