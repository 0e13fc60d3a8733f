"""Pictures of tests with two balls draw what they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book.figures.intersection import TESTS, expanded_line, rates_against, screened_points

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_rates_have_the_colours_of_the_tests_and_others_differ():
    ax = rates_against([0.5, 0.9], {"BT1": [0.1, 0.2], "a": [0.2, 0.3], "IT": [0.3, 0.4], "b": [0.4, 0.5]})
    found = {line.get_label(): line for line in ax.lines}
    assert {name: to_hex(found[name].get_color()).upper() for name in ("BT1", "IT")} == {name: TESTS[name] for name in ("BT1", "IT")}
    assert found["a"].get_color() != found["b"].get_color()
    np.testing.assert_array_equal(found["b"].get_xydata(), [[0.5, 0.4], [0.9, 0.5]])


def test_chords_meet_the_parabola_at_the_ends_of_the_intervals():
    ax = expanded_line((0.7, 0.9), (-0.5, 0.9))
    parabola, *others = ax.lines
    w, height = parabola.get_data()
    np.testing.assert_allclose(height, w**2)
    chord, ends = others[0].get_data(), others[1].get_data()
    np.testing.assert_allclose(ends, [[-0.2, 1.6], [0.04, 2.56]])
    np.testing.assert_allclose(chord[1] - chord[0] ** 2, 0.9**2 - (chord[0] - 0.7) ** 2, atol=1e-12)
    np.testing.assert_allclose(others[-1].get_xdata(), [-0.2, 0.4])


def test_screened_points_are_pale_and_none_is_lost():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1, -1, 1, -1])
    found = ss.Screened(np.array([True, False, False, False]), np.array([False, True, False, False]))
    ax = screened_points(X, y, found, lambda points: points[:, 0] - 0.5)
    dots = [c for c in ax.collections if len(c.get_offsets()) and c.get_alpha() is not None]
    pale = np.concatenate([c.get_offsets() for c in dots if c.get_alpha() < 0.5])
    full = np.concatenate([c.get_offsets() for c in dots if c.get_alpha() == 1.0])
    np.testing.assert_array_equal(np.sort(pale, axis=0), [[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(np.sort(full, axis=0), [[0.0, 1.0], [1.0, 1.0]])
