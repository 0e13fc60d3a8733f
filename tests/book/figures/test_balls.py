"""Balls, domes and the expanded space are drawn where they are."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book import figures
from safescreen_book.figures import COLOURS

X, y = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.5], [0.0, -2.0]]), np.array([1, 1, -1, -1])
SCREENED = ss.Screened(
    np.array([True, False, False, False, False]), np.array([False, True, True, False, False])
)


def test_a_ball_is_cut_by_the_plane():
    plane = np.zeros((2, 2)), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    through, beside = ss.Sphere(np.eye(2), 0.5), ss.Sphere(np.array([[1.0, 0.3], [0.3, 1.0]]), 0.5)
    ax = figures.balls(
        ss.PSDCone(2), {"a": through, "b": beside}, {"optimum": np.eye(2)}, plane=plane
    )
    radii = [np.ptp(line.get_xdata()) / 2 for line in ax.lines if line.get_xdata().size > 10]
    np.testing.assert_allclose(radii, [0.5, np.sqrt(0.25 - 2 * 0.09)], rtol=1e-3)
    assert [text.get_text() for text in ax.texts] == ["optimum"]


def test_balls_over_the_whole_space():
    ax = figures.balls(ss.FreeSpace(2), {"GB": ss.Sphere(np.zeros(2), 1.0)}, {"x": np.ones(2)})
    assert to_hex(ax.get_facecolor()) == COLOURS["cone"].lower()


def test_weight_space_has_a_line_for_every_sample_that_is_not_zero():
    Z = np.vstack([X * y[:, None], np.zeros(2)])
    ax = figures.weight_space(
        Z, {"ball": ss.Sphere(np.zeros(2), 1.0)}, {"optimum": np.ones(2)}, SCREENED
    )
    narrow = figures.weight_space(
        Z, {"ball": ss.Sphere(np.zeros(2), 1.0)}, {"optimum": np.ones(2)}, room=0.0
    )
    assert np.ptp(ax.get_xlim()) == pytest.approx(1.6 * np.ptp(narrow.get_xlim()))
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert len(drawn) == 4
    for z, line, key in zip(Z, drawn, "LRRC", strict=False):
        np.testing.assert_allclose(z @ np.array(line.get_data()), 1.0)
        assert line.get_color() == COLOURS[key]


def test_the_dome_is_cut_where_the_half_space_ends():
    normal, ball = np.array([0.6, 0.8]), ss.Sphere(np.array([1.0, 1.0]), 0.5)
    ax = figures.domes(normal, 2.0, {"ball": ball}, {"a": normal, "optimum": np.array([1.0, 1.2])})
    edge, ring, *points = (np.array(line.get_data()) for line in ax.lines)
    assert np.linalg.norm(edge, axis=0) == pytest.approx(2.0)
    assert (normal @ edge).min() == pytest.approx(1.0)
    assert normal @ edge[:, 0] == pytest.approx(1.0) and normal @ edge[:, -2] == pytest.approx(1.0)
    assert np.hypot(*(ring - 1.0)) == pytest.approx(0.5)
    assert [p.ravel().tolist() for p in points] == [[0.6, 0.8], [1.0, 1.2]]
    assert [text.get_text() for text in ax.texts] == ["a", "optimum"]
    assert ax.get_legend_handles_labels()[1] == ["dome", "ball"]


def test_chords_meet_the_parabola_at_the_ends_of_the_intervals():
    parabola, *others = figures.expanded_line((0.7, 0.9), (-0.5, 0.9)).lines
    w, height = parabola.get_data()
    np.testing.assert_allclose(height, w**2)
    chord, ends = others[0].get_data(), others[1].get_data()
    np.testing.assert_allclose(ends, [[-0.2, 1.6], [0.04, 2.56]])
    np.testing.assert_allclose(chord[1] - chord[0] ** 2, 0.9**2 - (chord[0] - 0.7) ** 2, atol=1e-12)
    np.testing.assert_allclose(others[-1].get_xdata(), [-0.2, 0.4])


def test_expanded_space_shades_the_projection():
    z, C = np.array([1.0, -0.5, 2.0]), 0.5
    ax = figures.expanded_space(
        z, C, (0.0, 3.0), {"tangent": (0.0, 2.0)}, (0.5, 1.75), span=(-2.0, 2.0)
    )
    bar = next(
        line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 5
    )
    assert set(bar.get_ydata()) == {ax.get_ylim()[0]}
    np.testing.assert_allclose(bar.get_xdata(), [-np.sqrt(C), np.sqrt(C)], atol=0.005)
    total = next(line for line in ax.lines if line.get_label() == "total loss")
    w, values = total.get_data()
    np.testing.assert_allclose(values, [np.maximum(1.0 - v * z, 0.0).sum() for v in w])
    empty = figures.expanded_space(
        z, C, (0.0, 3.0), {"too high": (0.0, 4.0)}, (0.5, 1.75), span=(-2.0, 2.0)
    )
    assert not [line for line in empty.lines if line.get_linewidth() == 5]
