"""Domes and curves are drawn where they are."""

import matplotlib
import numpy as np
import pytest

import safescreen as ss
from safescreen_book.figures import METHODS
from safescreen_book.figures.dome import curves, domes

matplotlib.use("Agg")


def test_the_dome_is_cut_where_the_half_space_ends():
    import matplotlib.pyplot as plt

    normal, ball = np.array([0.6, 0.8]), ss.Sphere(np.array([1.0, 1.0]), 0.5)
    ax = domes(normal, 2.0, {"ball": ball}, {"a": normal, "optimum": np.array([1.0, 1.2])})
    edge, ring, *points = (np.array(line.get_data()) for line in ax.lines)
    assert np.linalg.norm(edge, axis=0) == pytest.approx(2.0)
    assert (normal @ edge).min() == pytest.approx(1.0)
    assert normal @ edge[:, 0] == pytest.approx(1.0) and normal @ edge[:, -2] == pytest.approx(1.0)
    assert np.hypot(*(ring - 1.0)) == pytest.approx(0.5)
    assert [p.ravel().tolist() for p in points] == [[0.6, 0.8], [1.0, 1.2]]
    assert [text.get_text() for text in ax.texts] == ["a", "optimum"]
    assert ax.get_legend_handles_labels()[1] == ["dome", "ball"]
    plt.close("all")


@pytest.mark.parametrize("radius", [0.9, 0.0])
def test_no_dome(radius):
    with pytest.raises(ValueError, match="radius must be at least the norm of normal, 1"):
        domes(np.array([1.0, 0.0]), radius, {}, {})


def test_curves_and_their_scales():
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_hex

    ax = curves({"MGB": ([1.0, 2.0], [3.0, 4.0]), "other": ([1.0], [1.0])}, dots={"seen": ([1.5], [2.0])}, log="y")
    assert [line.get_label() for line in ax.lines] == ["MGB", "other", "seen"]
    assert to_hex(ax.lines[0].get_color()).upper() == METHODS["MGB"]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "None"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    plt.close("all")
