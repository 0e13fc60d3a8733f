"""What the figures of the Frank-Wolfe notebooks draw."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from safescreen.hdsl import SparseSimilarity
from safescreen_book.figures import frank_wolfe as pictures

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def similarity():
    return SparseSimilarity(np.array([[0, 1, 1], [2, 3, -1]]), np.array([0.75, 0.25]), 2.0, 4)


def test_matrices_are_drawn_on_their_own_symmetric_scale():
    axes = pictures.matrices({"a": similarity(), "b": similarity()})
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b"]
    image = axes[0].get_images()[0]
    assert np.array_equal(image.get_array(), similarity().to_sparse().toarray())
    assert image.get_clim() == (-1.5, 1.5)


def test_pixel_pairs_join_the_pixels_of_each_atom():
    ax = pictures.pixel_pairs(similarity(), (2, 2), background=np.ones((2, 2)), title="title")
    first, second = ax.get_lines()
    assert first.get_xydata().tolist() == [[0, 0], [1, 0]]
    assert second.get_xydata().tolist() == [[0, 1], [1, 1]]
    assert first.get_color() != second.get_color() and first.get_linewidth() > second.get_linewidth()
    assert ax.get_title(loc="left") == "title"


def test_steps_are_coloured_by_kind_and_leave_out_the_start():
    ax = pictures.steps([4.0, 3.0, 2.0, 0.0], ["forward", "forward", "drop", "away"], {"bound": [9, 8, 7, 6]})
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert list(drawn) == ["bound", "forward: 1", "drop: 1"]
    assert drawn["bound"].get_xydata().tolist() == [[1, 8], [2, 7], [3, 6]]
    assert drawn["drop: 1"].get_xydata().tolist() == [[2, 2]]
    assert to_hex(drawn["drop: 1"].get_color()).upper() == pictures.STEPS["drop"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_curves_go_through_the_points():
    figure, ax = plt.subplots()
    assert pictures.curves({"a": ([1, 2], [3, 4]), "b": ([1], [1])}, ax=ax, log="y", marks=True, xlabel="x", title="t") is ax
    first, second = ax.get_lines()
    assert first.get_xydata().tolist() == [[1, 3], [2, 4]] and first.get_marker() == "o"
    assert first.get_color() != second.get_color()
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel(), ax.get_title(loc="left")) == ("linear", "log", "x", "t")
